"""Attempts without a score: no verdict stands that they could turn, and nothing of them is lost in silence."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.claims import check
from howsure.errors import InputError, OptionError
from howsure.evals.variants import reduce_attempts
from howsure.tables import Attempts
from howsure.tables.outcomes import Count, Policy, defensible

TRIALS = Path(__file__).parents[3] / "shared" / "data" / "trials" / "missing"
needs_trials = pytest.mark.skipif(not TRIALS.is_dir(), reason="the trial files are not beside the project")


def trial(name):
    frame = pl.read_csv(TRIALS / f"{name}.csv")
    return frame.rename({"model": "subject", "id": "task"}, strict=False).with_columns(pl.col("score").cast(pl.Float64))


def side(scores, name="m", **more):
    """A score per item; a text is what became of an attempt without one."""
    rows = {
        "subject": name,
        "task": [f"q{i}" for i in range(len(scores))],
        "score": [None if isinstance(one, str) else float(one) for one in scores],
        "outcome": [one if isinstance(one, str) else "scored" for one in scores],
    }
    return pl.DataFrame(rows, schema_overrides={"score": pl.Float64}).with_columns(**more)


def both(base, candidate, **more):
    return Attempts(pl.concat([side(base, "base", **more), side(candidate, "candidate", **more)]))


# rows and policies


def test_every_attempt_keeps_its_row_and_its_outcome():
    table = Attempts(side([1, "errored", "refused", 0, "unscored", "limit"], error=pl.lit(None, pl.String)))
    assert len(table) == 6
    assert table.outcomes == {"m": {"scored": 2, "errored": 1, "refused": 1, "unscored": 1, "limit": 1}}
    assert "without a score: 1 errored, 1 refused, 1 unscored, 1 ended by a limit" in repr(table)
    assert any("4 of 6 attempts have no score" in note for note in table.notes)


def test_the_outcome_follows_from_error_and_limit_where_nobody_says_it():
    frame = pl.DataFrame({"subject": "m", "task": list("abcd"), "score": [1.0, None, None, None]})
    frame = frame.with_columns(
        error=pl.Series([None, "Timeout", None, None]), limit=pl.Series([None, None, "token", None])
    )
    table = Attempts(frame).frame
    assert table["outcome"].to_list() == ["scored", "errored", "limit", "unscored"]
    assert table["reason"].to_list() == [None, "Timeout", "token", "blank"]


def test_a_score_counts_whatever_else_became_of_the_attempt():
    table = Attempts(side([1, 0]).with_columns(outcome=pl.lit("errored")))
    assert table.missing == []
    assert any("2 attempts have a score and another outcome" in note for note in table.notes)


def test_defensible_policies_count_own_failures_as_wrong_and_others_both_ways():
    found = defensible(["refused", "errored", "absent"], {})
    assert found[0] == Policy({"errored": "drop", "refused": "wrong", "absent": "drop"})
    assert {one.of("refused") for one in found} == {"wrong"}
    assert len(found) == 4
    assert defensible(["errored"], {"errored": "wrong"}) == [Policy({"errored": "wrong"})]


def test_what_the_user_decides_is_checked():
    assert Count.of("errored=wrong, unscored=drop").rules == {"errored": "wrong", "unscored": "drop"}
    assert set(Count.of("harness").rules.values()) == {"drop"}
    with pytest.raises(OptionError, match="Did you mean 'errored'"):
        Count.of("error=wrong")
    with pytest.raises(OptionError, match="rule for errored"):
        Count.of("errored=zero")


@pytest.mark.parametrize(("better", "worst"), [("higher", 0.0), ("lower", 1.0)])
def test_wrong_is_the_worse_end_of_the_scale(better, worst):
    table = Attempts(side([1, 0, "errored"], better=pl.lit(better)))
    assert table.under(Policy({"errored": "wrong"})).frame["score"].to_list() == [1.0, 0.0, worst]
    assert table.counted.frame["score"].to_list() == [1.0, 0.0]


def test_counts_of_attempts_are_filled_as_rows_are():
    frame = pl.DataFrame(
        {"subject": "m", "task": ["a", "b"], "n": [4, 3], "n_success": [3, None], "outcome": ["scored", "errored"]}
    )
    table = Attempts(frame)
    assert table.outcomes == {"m": {"scored": 4, "errored": 3}}
    assert howsure.summary(table).rows[0].mean.value == pytest.approx(0.75)
    means = {row.policy: row.mean.value for row in howsure.summary(table).policies}
    assert means["errored=wrong"] == pytest.approx(0.375)


# the gate


@needs_trials
@pytest.mark.parametrize("candidate", ["cand", "cand2"])
def test_a_candidate_that_crashes_does_not_ship(candidate):
    found = howsure.gate(trial("base"), trial(candidate))
    row = found.rows[0]
    assert (found.verdict, found.exit_code) == ("cannot tell", 3)
    assert "ship with errored=drop; block with errored=wrong" in row.reason
    n = trial(candidate)["score"].null_count()
    assert row.advice == f"run these {n} items again"
    assert row.lowest < row.difference.value <= row.highest
    assert found.provenance.outcomes["candidate"]["errored"] == n
    assert f"{n} attempts of the base" not in found.markdown()
    assert f"{n} of the candidate have no score" in found.markdown()


@needs_trials
def test_what_the_user_decides_decides_the_gate():
    base, candidate = (Attempts(trial(name)) for name in ("base", "cand"))
    assert howsure.gate(base.counting("errored=wrong"), candidate.counting("errored=wrong")).verdict == "block"
    with pytest.raises(OptionError, match="in different ways"):
        howsure.gate(base, candidate.counting("errored=wrong"))


@needs_trials
def test_items_that_the_candidate_lacks_do_not_ship_unless_that_was_meant():
    base, candidate = trial("base"), trial("cand").drop_nulls("score").drop("error")
    found = howsure.gate(base, candidate)
    assert found.verdict == "cannot tell"
    assert "absent" in found.rows[0].reason
    assert howsure.gate(base, candidate, subset=True).verdict == "ship"


def test_below_nine_tenths_of_the_items_nothing_ships():
    base = [1, 0] * 200
    few = ["errored"] * 60 + base[60:]
    row = howsure.gate(side(base, "b"), side(few, "c"), margin=0.3).rows[0]
    assert (row.verdict, row.n_items) == ("cannot tell", 340)
    assert row.reason == "only 340 of the base's 400 items have a score on both sides"
    assert howsure.gate(side(base, "b"), side(["errored"] * 20 + base[20:], "c"), margin=0.3).verdict == "ship"


def test_a_tipping_point_says_how_many_missing_answers_turn_the_verdict():
    base = [1] * 300 + [0] * 100
    found = howsure.gate(side(base, "b"), side(["errored"] * 12 + base[12:], "c"), margin=0.03).rows[0]
    n = int(found.tipping.partition("at least ")[2].partition(" of")[0])

    def verdict(n_wrong):
        return howsure.gate(
            side(base, "b"), side([0] * n_wrong + [1] * (12 - n_wrong) + base[12:], "c"), margin=0.03
        ).verdict

    assert found.tipping == f"ship unless at least {n} of the 12 missing answers were wrong"
    assert (verdict(n - 1), verdict(n) == "ship") == ("ship", False)


def test_both_ends_are_computed_from_attempts_that_are_filled_before_they_are_reduced():
    """pass@2 of 1, – and – is between pass@2 of 1, 0, 0 and of 1, 1, 1."""
    rows = [("base", f"q{i}", s) for i in range(10) for s in (1.0, 0.0, 0.0)]
    rows += [("candidate", f"q{i}", s) for i in range(10) for s in ((1.0, None, None) if i == 0 else (1.0, 0.0, 0.0))]
    table = Attempts(pl.DataFrame(rows, schema=["subject", "task", "score"], orient="row"))
    found = howsure.gate(reduce_attempts(table, "pass@2"), base="base", candidate="candidate").rows[0]
    assert found.lowest == pytest.approx(0.0)
    assert found.highest == pytest.approx((1 - 2 / 3) / 10)


def test_without_a_worst_score_nothing_ships_with_more_than_one_percent_missing():
    rng = np.random.default_rng(1)
    scores = (100 + rng.normal(size=200)).tolist()
    free = {"scale": pl.lit("free")}
    later = [score + rng.normal() / 10 for score in scores]
    base, candidate = side(scores, "b", **free), side(["errored"] * 10 + later[10:], "c", **free)
    row = howsure.gate(base, candidate, margin=1).rows[0]
    assert row.verdict == "cannot tell"
    assert "missing_score" in row.reason
    assert (row.lowest, row.highest) == (None, None)
    one = side(["errored", *later[1:]], "c", **free)
    assert howsure.gate(base, one, margin=1).verdict == "ship"
    sides = [Attempts(one).counting(None, 0.0) for one in (base, candidate)]
    assert "errored=wrong" in howsure.gate(*sides, margin=1).rows[0].reason


def test_all_numbers_of_a_row_are_over_the_same_items():
    base, candidate = [1] * 60 + [0] * 40, [0] * 10 + [1] * 40 + [0] * 40
    row = howsure.gate(side(base, "b"), side(candidate, "c")).rows[0]
    assert row.candidate.value - row.base.value == pytest.approx(row.difference.value)
    assert row.n_unshared == 10


def test_a_model_is_not_tested_against_itself(tmp_path):
    frame = both([1, 0] * 50, [1, 1] * 50).frame
    frame.write_csv(tmp_path / "both.csv")
    path = str(tmp_path / "both.csv")
    with pytest.raises(InputError, match="are the same input"):
        howsure.gate(path, path)
    found = howsure.gate(path, base="base", candidate="candidate")
    assert (found.verdict, found.rows[0].difference.value) == ("ship", 0.5)
    with pytest.raises(OptionError, match="are both 'base'"):
        howsure.gate(path, base="base", candidate="base")
    logs = frame.filter(subject="base").with_columns(log=pl.lit("a.eval"))
    with pytest.raises(InputError, match="the same run"):
        howsure.gate(logs, logs.clone())
    assert (
        howsure.gate(frame.filter(subject="base"), frame.filter(subject="base").clone(), margin=0.05).verdict == "ship"
    )


def test_sides_without_a_common_item_are_an_error():
    other = side([1, 0] * 20, "c").with_columns(task="x" + pl.col("task"))
    with pytest.raises(InputError, match="no item in common"):
        howsure.gate(side([1, 0] * 20, "b"), other)


# comparisons, overviews and claims


def test_a_difference_is_significant_only_under_every_policy():
    scores = [1] * 60 + [0] * 60
    table = both(scores, [*[1] * 24, *["errored"] * 40, *[0] * 4, *[1] * 20, *[1] * 32])
    (pair,) = howsure.compare(table).pairs
    by_policy = {one.policy: one for one in howsure.compare(table).policies}
    assert by_policy["errored=drop"].p < 0.001
    assert pair.p_policies == max(one.p for one in by_policy.values()) or pair.p_policies == 1.0
    assert pair.p_adjusted >= 0.05
    result = howsure.overview(table)
    assert result.claims[0].verdict == "not decided"
    assert result.claims[0].turns_on == "errored=wrong"
    assert "run the 40 attempts without a score again" in result.next_step
    assert result.warnings[0].kind == "missing outcomes"
    assert "candidate 40 of 120 (40 errored)" in result.warnings[0].text
    assert "40 of them have no score (40 errored)" in result.holdings


def test_differences_of_opposite_signs_support_nothing():
    crossed = both([1] * 50 + [0] * 50, ["errored"] * 50 + [1] * 30 + [0] * 20)
    (pair,) = howsure.compare(crossed).pairs
    assert pair.p < 0.05
    assert pair.p_policies == 1.0


def test_an_item_that_was_tried_is_not_absent():
    table = both([1, 0] * 30, ["errored"] * 3 + [1, 0] * 28 + [0])
    assert {one.policy for one in howsure.compare(table).policies} == {"errored=drop", "errored=wrong"}


def test_models_are_separated_only_under_every_policy():
    base = [1] * 40 + [0] * 60
    table = both(base, [1] * 40 + ["errored"] * 55 + [1] * 5)
    assert not howsure.leaderboard(table).pairs[0].is_separated
    dropped = howsure.leaderboard(table.counting("errored=drop"))
    assert dropped.pairs[0].is_separated == (howsure.compare(table.counting("errored=drop")).pairs[0].p < 0.05)


@needs_trials
def test_claims_have_the_choice_and_blanks_are_the_same_data_as_zeros():
    claim = {"kind": "difference", "model": "A", "than": "B"}
    blank, zero = (check([claim], Attempts(trial(name))).verdicts[0] for name in ("errors_blank", "errors_zero"))
    assert "count" in [one.name for one in blank.choices.choices]
    assert blank.verdict == "cannot tell"
    assert blank.turns_on == "count"
    estimates = {one.estimate.value for one in zero.specifications}
    assert estimates == {one.estimate.value for one in blank.specifications}


def test_options_that_give_identical_data_count_once():
    """An error and a limit ended the same attempts: to drop either of them is one analysis."""
    frame = side([1, 0, 1, 0, 1, 1], "m").with_columns(
        error=pl.when(pl.col("task") == "q1").then(pl.lit("e")),
        limit=pl.when(pl.col("task") == "q1").then(pl.lit("token")),
    )
    verdict = check([{"kind": "level", "model": "m", "at_least": 0.1}], Attempts(frame.drop("outcome"))).verdicts[0]
    assert (verdict.n_possible, verdict.n_specifications) == (4, 2)
