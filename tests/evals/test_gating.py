"""The gate: its three verdicts, suites, bad input, history, and how often it is wrong."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.errors import InputError, OptionError
from howsure.evals.gate_simulation import gate_coverage
from howsure.evals.gating import append_history, gate, read_history, read_suite
from howsure.tables import Attempts

BANKS = Path(__file__).parents[3] / "shared/data/items"


def side(scores, model="m", **more):
    """One model, one row per attempt: scores by eval, or a list for one eval."""
    evals = scores if isinstance(scores, dict) else {"arith": scores}
    rows = [(model, eval_, f"{eval_}-{i}", float(score)) for eval_, own in evals.items() for i, score in enumerate(own)]
    frame = pl.DataFrame(rows, schema=["subject", "domain", "task", "score"], orient="row")
    return frame.with_columns(**more)


def test_thirty_items_without_a_flip_do_not_ship():
    same = [1, 0] * 15
    found = gate(side(same), side(same))
    assert found.verdict == "cannot tell"
    assert found.rows[0].difference.low == pytest.approx(-(1 - 0.05 ** (1 / 30)))
    assert found.rows[0].more_items > 100
    assert "more items" in found.sentence
    assert gate(side([1, 0] * 75), side([1, 0] * 75)).verdict == "ship"


def test_a_clear_drop_blocks_and_a_clear_gain_ships():
    base = [1] * 80 + [0] * 20
    assert gate(side(base), side([0] * 20 + base[20:])).verdict == "block"
    assert gate(side(base), side([1] * 95 + [0] * 5)).verdict == "ship"


def test_a_small_but_certain_drop_within_the_margin_ships():
    base, less = [0.8] * 400, [0.79 + 0.001 * (i % 3) for i in range(400)]
    found = gate(side(base), side(less), margin=0.05)
    assert found.verdict == "ship"
    assert found.rows[0].difference.high < 0


def test_a_margin_that_excludes_nothing_is_refused():
    """Someone who means 2 points and writes 2 must not ship everything."""
    with pytest.raises(OptionError, match=r"margin 2 is not below 1 .*write 0\.02 for 2 percentage points"):
        gate(side([1] * 40), side([0] * 40), margin=2)
    rewards = {"scale": pl.lit("free"), "better": pl.lit("higher")}
    seconds = [10 * i for i in range(40)]
    assert gate(side(seconds, **rewards), side(seconds, **rewards), margin=2).rows[0].margin == 2


def test_sides_without_a_common_eval_are_named():
    with pytest.raises(InputError, match=r"The base has arith; the candidate has an eval without a name\."):
        gate(side([1, 0] * 5), side([1, 0] * 5).drop("domain"))


def test_repeats_that_never_differ_count_once():
    """Five repeats at temperature 0 are no more evidence than one."""
    once = side([1, 0] * 20)
    five = pl.concat([once] * 5)
    found = [gate(one, one.clone()).rows[0].difference.low for one in (five, once)]
    assert found[0] == pytest.approx(found[1])


def test_a_suite_ships_only_as_a_whole_and_blocks_by_one_after_correction():
    good, base = [1] * 195 + [0] * 5, [1] * 180 + [0] * 20
    evals = {f"e{i}": base for i in range(5)}
    better = dict.fromkeys(evals, good)
    assert gate(side(evals), side(better)).verdict == "ship"
    assert gate(side(evals), side(better | {"e0": base[:10]})).verdict == "cannot tell"
    slightly = [0] * 6 + base[6:]  # p = 1/64 alone, 5/64 after correction
    one = gate(side({"e0": base}), side({"e0": slightly}))
    all_five = gate(side(evals), side(better | {"e0": slightly}))
    assert (one.verdict, all_five.verdict) == ("block", "cannot tell")
    assert all_five.rows[0].p_block_adjusted == pytest.approx(5 * all_five.rows[0].p_block)


def test_one_eval_without_common_items_is_a_state_and_prevents_shipping():
    base = {f"e{i}": [1] * 200 for i in range(10)}
    frame = side(base).with_columns(
        pl.when(pl.col("domain") == "e3").then(pl.col("task") + "-new").otherwise(pl.col("task")).alias("task")
    )
    found = gate(side(base), frame)
    row = next(row for row in found.rows if row.eval == "e3")
    assert (row.verdict, row.reason) == ("cannot tell", "base and candidate have no common item")
    assert row.difference.state == "undefined"
    assert found.verdict == "cannot tell"


@pytest.mark.parametrize(
    ("base", "candidate", "told"),
    [
        (side([1]), side([1]), "only one cluster of common items"),
        (side([1, 0]), side([1, 0], scale=pl.lit("free")), "different scales"),
        (side([3, 3], scale=pl.lit("free")), side([4, 4], scale=pl.lit("free")), "all items differ by the same amount"),
    ],
)
def test_what_cannot_be_judged_says_why(base, candidate, told):
    found = gate(base, candidate)
    assert found.verdict == "cannot tell"
    assert told in found.rows[0].reason


def test_bad_input_is_refused_in_one_line():
    with pytest.raises(InputError, match="several models .a, b"):
        gate(pl.concat([side([1, 0], "a"), side([1, 0], "b")]), side([1, 0]))
    with pytest.raises(InputError, match="share no eval. The base has arith; the candidate has other"):
        gate(side([1, 0]), side({"other": [1, 0]}))
    with pytest.raises(OptionError, match="margin 0 is not above 0"):
        gate(side([1, 0]), side([1, 0]), margin=0)


def test_a_score_that_is_not_a_number_is_left_out_and_said():
    found = gate(side([1, 0, float("nan")]), side([1, 0, 1]))
    assert (found.rows[0].n_items, found.rows[0].n_unshared) == (2, 1)
    assert any(note.startswith("base: ") for note in found.provenance.notes)


def test_lower_is_better_turns_the_difference_round():
    low, high = [1.0 + 0.1 * (i % 5) for i in range(60)], [2.0 + 0.1 * (i % 7) for i in range(60)]
    more = {"scale": pl.lit("free"), "better": pl.lit("lower")}
    assert gate(side(low, **more), side(high, **more)).verdict == "block"
    assert gate(side(high, **more), side(low, **more)).verdict == "ship"


def test_items_are_paired_by_content_after_shuffling():
    rng = np.random.default_rng(0)
    base = side(rng.integers(0, 2, 60), item_digest=pl.Series([f"d{i}" for i in range(60)]))
    order = rng.permutation(60)
    shuffled = base.with_columns(pl.col("score", "item_digest").gather(order))
    found = gate(base, shuffled)
    assert found.rows[0].n_gains == found.rows[0].n_losses == 0
    assert any("paired by content" in note for note in found.provenance.notes)


def test_items_that_changed_are_left_out_and_counted():
    base = side([1, 0] * 10, item_digest=pl.Series([f"d{i}" for i in range(20)]))
    changed = base.with_columns(
        pl.when(pl.col("task") == "arith-3").then(pl.lit("new")).otherwise(pl.col("item_digest")).alias("item_digest")
    )
    found = gate(base, changed)
    assert found.rows[0].n_items == 19
    assert any("1 item has other content" in note for note in found.provenance.notes)


def test_a_suite_file_names_evals_and_margins(tmp_path):
    path = tmp_path / "suite.yaml"
    path.write_text("margin: 0.03\nevals:\n  a:\n  b: {margin: 0.1}\n")
    assert read_suite(path).margins == {"a": 0.03, "b": 0.1}
    found = gate(
        side({"a": [1, 0] * 50, "b": [1, 0] * 50, "c": [1, 0]}), side({"a": [1, 0] * 50, "b": [1, 0] * 50}), suite=path
    )
    assert [(row.eval, row.margin, row.verdict) for row in found.rows] == [("a", 0.03, "ship"), ("b", 0.1, "ship")]
    path.write_text("evals:\n  a: {margin: -1}\n")
    with pytest.raises(InputError, match="line 2: margin -1 is not a number above 0"):
        read_suite(path)


def test_markdown_cannot_be_broken_by_names():
    evil = "a|b<script>`x`@all"
    text = gate(side({evil: [1, 0]}), side({evil: [1, 0]})).markdown()
    row = next(line for line in text.splitlines() if "script" in line)
    assert "<script>" not in text
    assert "@all" not in text
    assert row.replace("\\|", "").count("|") == 10


def test_items_that_one_side_lost_are_counted_and_said():
    base = [1, 0] * 40
    kept = side(base).filter(~pl.col("task").is_in([f"arith-{i}" for i in range(1, 20, 2)]))
    found = gate(side(base), kept)
    assert any("arith: 10 items do not count" in note for note in found.provenance.notes)
    assert (found.rows[0].n_missing_base, found.rows[0].n_missing_candidate) == (0, 10)
    assert set(found.missing["outcome"]) == {"absent"}
    assert gate(side(base), side(base)).provenance.notes == ()


def test_what_would_decide_does_decide():
    """With as many items as were asked for, most candidates that are as good as the base are shipped."""
    rng = np.random.default_rng(4)
    rates = rng.beta(4, 1, 4000)

    def draw(n):
        return side(rng.random(n) < rates[:n])

    first = gate(draw(150), draw(150), margin=0.05)
    while first.verdict != "cannot tell":
        first = gate(draw(150), draw(150), margin=0.05)
    n = 150 + first.rows[0].more_items
    verdicts = [gate(draw(n), draw(n), margin=0.05).verdict for _ in range(40)]
    assert verdicts.count("ship") >= 24


def test_history_only_grows_and_shows_where_it_was_changed(tmp_path):
    path = tmp_path / "kept" / "history.jsonl"
    found = gate(side([1, 0] * 20), side([1, 0] * 20))
    for commit in ("aaa", "bbb", "ccc"):
        append_history(path, found, commit=commit)
    history = read_history(path)
    assert [row.commit for row in history.rows] == ["aaa", "bbb", "ccc"]
    assert history.rows[0].difference == found.rows[0].difference
    lines = path.read_text().splitlines(keepends=True)
    for broken, told in (
        (lines[:1] + lines[2:], "line 2: does not follow"),
        ([lines[0].replace("aaa", "zzz"), *lines[1:]], "line 1: was changed"),
        ([*lines, "{}\n"], "line 4: is not a line"),
        ([*lines, "{"], "not complete"),
    ):
        path.write_text("".join(broken))
        with pytest.raises(InputError, match=told):
            read_history(path)
        with pytest.raises(InputError, match=told):
            append_history(path, found)


def test_two_processes_may_append_at_once(tmp_path):
    import subprocess
    import sys

    path = tmp_path / "history.jsonl"
    code = f"""
import polars as pl, howsure
from howsure.evals.gating import append_history
one = pl.DataFrame({{"subject": ["m"] * 4, "task": list("abcd"), "score": [1.0, 0, 1, 0]}})
found = howsure.gate(one, one.clone())
for _ in range(15): append_history({str(path)!r}, found)
"""
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [one.wait() for one in running] == [0, 0]
    assert len(read_history(path).rows) == 30


def test_python_and_command_say_the_same(command, tmp_path):
    base, candidate = tmp_path / "base.csv", tmp_path / "candidate.csv"
    side([1, 0] * 30).write_csv(base)
    side([1, 1, 0] * 20).write_csv(candidate)
    told = json.loads(command("gate", base, candidate, "--json").stdout)
    assert told["verdict"] == gate(Attempts(base), Attempts(candidate)).verdict
    assert told["gate"][0]["difference_low"] == pytest.approx(howsure.gate(base, candidate).rows[0].difference.low)


def test_it_is_rarely_wrong_on_a_simulated_bank():
    found = gate_coverage(n_simulations=1500, designs=[(30, 1), (60, 3)], margins=[0.05], seed=1)
    for row in found.rows:
        assert row.false_ship <= 0.05 + 3 * 0.0056
        assert row.false_block <= 0.05 + 3 * 0.0056
        assert row.true_block >= 0.8 - 3 * 0.0103


@pytest.mark.evidence
@pytest.mark.skipif(not BANKS.exists(), reason="the item banks are not beside the project")
def test_it_is_rarely_wrong_on_real_banks():
    names = {"subject": "model", "task": "example_id", "domain": "benchmark_id", "n": "count", "n_success": "correct"}
    banks = [Attempts(path, rename=names) for path in sorted(BANKS.glob("*.csv"))]
    found = gate_coverage(banks, n_simulations=1000, designs=[(30, 1), (30, 5), (100, 1), (100, 5)], margins=[0.02])
    assert len(found.rows) == 12
    for row in found.rows:
        assert row.false_ship <= 0.05 + 3 * row.monte_carlo_se
        assert row.false_block <= 0.05 + 3 * row.monte_carlo_se
        assert row.true_block >= 0.8 - 3 * 0.0126
