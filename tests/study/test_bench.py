"""The bench of judges, labels, drift, attacks and stops: published numbers, simulated truth, and the commands."""

import json
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure import study
from howsure.errors import InputError, OptionError
from howsure.stats.judges import (
    alternative_annotator_test,
    compare_judges,
    equal_terms,
    panel_ratings,
    power_of_replacement,
)
from howsure.stats.sequences import simulate_runs
from howsure.study.inputs import orders_beside
from howsure.study.judging.attacks import ATTACKS, attack_texts, with_attacks
from howsure.study.judging.bench import drift, style_of
from howsure.study.judging.ratings import Reply, joined, summarise_replies
from howsure.study.judging.sections import bench_table
from howsure.study.judging.simulator import simulate_bench
from howsure.study.verdict import Criterion
from howsure.tables import Ratings
from study.judging import small_study

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
BENCH = ROOT / "examples/study/bench"


@pytest.fixture(scope="module")
def world():
    return simulate_bench(n_items=60, n_raters=4, seed=2)


@pytest.fixture(scope="module")
def found(world):
    return study.bench(world.people, world.judges, orders=world.orders, texts=world.texts, costs=world.costs)


@pytest.mark.skipif(not SHARED.exists(), reason="no shared data")
def test_the_published_judges_of_wax_have_their_winning_rates():
    ratings = SHARED / "data/ratings"
    bench = study.bench(ratings / "wax_people.csv", ratings / "wax_judges.csv", kind="match", epsilon=0.1)
    reference = json.loads((SHARED / "reference/alt_test_wax.json").read_text())
    for row in bench.to_frame().iter_rows(named=True):
        if row["judge"] in reference:
            assert row["winning_rate"] == pytest.approx(reference[row["judge"]]["winning_rate"], abs=1e-12)
    assert "use gemini_pro" in bench.recommendation[0]


def test_one_judge_of_the_bench_is_what_validate_says(world, found):
    validated = study.validate(world.people, world.judges, orders=world.orders)
    for row in validated.rows:
        mine = found.to_frame().filter(judge=row.judge)
        for ours, theirs in (
            ("agreement", "judge_with_others"),
            ("bias", "judge_too_high"),
            ("correlation", "correlation"),
        ):
            assert mine[ours][0] == pytest.approx(row.statistics[theirs].value, rel=1e-9)


def test_differences_are_paired_and_corrected(world, found):
    apart = found.to_frame("judge_differences")
    assert len(apart) == 8 * 7 // 2
    assert (apart["p_holm"].fill_null(1) >= apart["p"].fill_null(1)).all()
    wide = world.judges.frame.pivot(on="rater", index="item", values="value").sort("item").drop("item").to_numpy()
    people = world.people.frame.pivot(on="rater", index="item", values="value").sort("item").drop("item").to_numpy()
    rows, pairs, n = compare_judges(wide, people)
    assert n == 60
    assert rows[0].agreement.value == pytest.approx(equal_terms(wide[:, 0], people).judge.value, rel=1e-12)
    assert pairs[0].difference.value == pytest.approx(rows[0].agreement.value - rows[1].agreement.value, rel=1e-9)


def test_effects_of_slot_length_and_family_are_in_one_model(found):
    effects = found.to_frame("effects")
    assert set(effects["effect"]) == {"slot 1 − slot 2", "twice the length", "lists", "own family"}
    truth = {"birch/small": 0.5, "birch/large": 0.0}
    slots = effects.filter(effect="slot 1 − slot 2")
    for judge, slot in truth.items():
        row = slots.filter(judge=judge).row(0, named=True)
        assert row["value"] == pytest.approx(slot, abs=0.2)


@pytest.mark.evidence
def test_effects_cover_their_true_values():
    hits = []
    for seed in range(8):
        world = simulate_bench(n_items=80, n_repeats=1, seed=seed)
        bench = study.bench(world.people, world.judges, orders=world.orders, texts=world.texts)
        truth = {row["judge"]: row for row in world.truth.iter_rows(named=True)}
        rows = bench.to_frame("effects").filter(effect="own family").iter_rows(named=True)
        # ratings are rounded and cut at 1 and 5, which shrinks effects a little
        hits += [row["value_low"] <= 0.95 * truth[row["judge"]]["own_family"] <= row["value_high"] for row in rows]
    assert np.mean(hits) >= 0.85


def test_a_threshold_is_tested_where_it_was_not_chosen(found):
    rows = found.to_frame("thresholds")
    assert (rows["n_chosen_on"] + rows["n_tested_on"] == 60).all()
    assert rows["accuracy"].is_between(0.4, 1).all()


def test_the_recommendation_names_price_and_biases_of_the_judge_it_recommends():
    folder = ROOT / "examples/study/bench"
    found = study.bench(
        folder / "people.csv",
        folder / "judges.csv",
        orders=folder / "judge_orders.csv",
        texts=folder / "texts.csv",
        costs=folder / "costs.csv",
    )
    use, biased = found.recommendation[0], found.caveats[0]
    judge = use.removeprefix("quality: use ").partition(" ")[0]
    row = found.to_frame("bench").row(by_predicate=pl.col("judge") == judge, named=True)
    assert f"{row['cost_for_precision']:.3g}, where people's labels alone cost {row['cost_of_labels_alone']:.3g}" in use
    effects = found.to_frame("effects").filter(judge=judge)
    is_biased = (pl.col("value_low") > 0) | (pl.col("value_high") < 0)
    assert all(f"{effect} " in biased for effect in effects.filter(is_biased)["effect"])
    assert not any(f"{effect} " in biased for effect in effects.filter(~is_biased)["effect"])


def test_a_panel_of_judges_with_independent_errors_is_better():
    rng = np.random.default_rng(0)
    quality = rng.normal(0, 1, 200)
    people = quality[:, None] + rng.normal(0, 0.7, (200, 4))
    judges = quality[:, None] + rng.normal(0, [0.8, 1.0, 1.2, 8.0], (200, 4))
    weighted, equal, weights = panel_ratings(judges, people)
    with_mean = [np.corrcoef(one, people.mean(axis=1))[0, 1] for one in (weighted, equal, judges[:, 0])]
    assert with_mean[0] > with_mean[2] > with_mean[1], "a very noisy judge spoils equal weights"
    assert weights.argmin() == 3
    assert (weights >= 0).all()


def test_a_judge_as_good_as_a_rater_passes_more_often_in_larger_studies():
    rng = np.random.default_rng(1)
    people = np.clip(np.round(rng.normal(3, 1, 80)[:, None] + rng.normal(0, 0.8, (80, 5))), 1, 5)
    small, large = (
        power_of_replacement(people, n_items=n, n_raters=k, n_simulations=60, seed=1).value
        for n, k in ((30, 3), (150, 5))
    )
    assert small < large
    assert power_of_replacement(people, n_items=20, n_raters=3).state == "undefined"


def on_a_line(rng, n, k):
    return rng.normal(size=(n, 1)) + rng.normal(0, 0.8, (n, k))


def in_categories(rng, n, k):
    return np.where(rng.random((n, k)) < 0.7, rng.integers(0, 4, (n, 1)), rng.integers(0, 4, (n, k))).astype(float)


@pytest.mark.parametrize(("draw", "measure"), [(on_a_line, "closeness"), (in_categories, "match")])
def test_the_power_that_is_stated_is_the_share_of_simulated_studies_that_pass(draw, measure):
    """Draws from an item's own ratings have ties, which ratings on a line have not: they stated twice the power."""
    rng = np.random.default_rng(3)
    studies = [draw(rng, 60, 5) for _ in range(150)]
    true = np.mean([bool(alternative_annotator_test(one[:, 0], one[:, 1:], measure).may_replace) for one in studies])
    stated = [power_of_replacement(draw(rng, 60, 4), measure, n_simulations=50, seed=seed).value for seed in range(3)]
    assert np.mean(stated) == pytest.approx(true, abs=0.09)


def test_the_power_is_that_of_the_study_with_its_gaps():
    people = np.round(on_a_line(np.random.default_rng(5), 90, 4))
    full = power_of_replacement(people, n_simulations=80)
    people[np.arange(90)[:, None] % 2 == np.arange(4) % 2] = np.nan
    assert power_of_replacement(people, n_simulations=80).value < full.value - 0.1


def test_people_and_judges_may_use_words():
    rng = np.random.default_rng(2)
    words = np.array(["good", "bad", "mixed"])
    true = rng.integers(0, 3, 40)

    def said(name, right):
        given = np.where(rng.random(40) < right, true, rng.integers(0, 3, 40))
        return pl.DataFrame(
            {"rater": name, "item": [f"i{n}" for n in range(40)], "dimension": "d", "value": words[given]}
        )

    people, judges = pl.concat([said(f"p{n}", 0.8) for n in range(3)]), pl.concat([said("j1", 0.9), said("j2", 0.3)])
    bench = study.bench(people, judges)
    assert bench.kind == "match"
    assert "use j1" in bench.recommendation[0]
    validated = study.validate(people, judges)
    assert validated.is_categorical
    with pytest.raises(OptionError, match="measured by match"):
        study.bench(people, judges, kind="pearson")
    estimates = study.estimate(people.filter(pl.col("item") < "i25"), judges.filter(rater="j1"))
    assert estimates.rows["mean"].sum() == pytest.approx(1, abs=0.1)


def test_names_and_dimensions_that_clash_are_told(world):
    with pytest.raises(InputError, match="is a judge and one of the people"):
        study.bench(world.people, world.people)
    other = world.judges.frame.with_columns(dimension=pl.lit("other"))
    with pytest.raises(InputError, match="share no dimension"):
        study.bench(world.people, other)


def test_labels_are_drawn_planned_and_used(world, tmp_path):
    plan = study.labels(world.judges, n_labels=20, pilot=world.people, sampling="stratified")
    assert (plan.drawn["is_drawn"] == "yes").sum() == pytest.approx(20, abs=2)
    assert plan.drawn["probability"].min() >= 0.05
    chosen = plan.drawn.filter(is_drawn="yes")["item"]
    given = world.people.frame.filter(pl.col("item").is_in(chosen.implode()))
    one = world.judges.frame.filter(rater="aster/large")
    estimates = study.estimate(given, one, drawn=plan.drawn)
    truth = world.people.frame["value"].mean()
    assert estimates.rows["mean"][0] == pytest.approx(truth, abs=0.5)
    extra = study.estimate(world.people, one, drawn=plan.drawn)
    assert any("were not drawn are excluded" in note for note in extra.provenance.notes)
    wide = study.labels(world.judges, half_width=0.2, pilot=world.people, cost_judge=0.01)
    assert "cost least" in wide.sentences[1] or "cheaper" in wide.sentences[1]
    with pytest.raises(OptionError, match="either the number of labels or the half width"):
        study.labels(world.judges)
    with pytest.raises(OptionError, match="needs a pilot"):
        study.labels(world.judges, half_width=0.2)


def test_an_alarm_of_one_of_many_judges_needs_more_evidence():
    """Six judges in three dimensions: 18 chances of a false alarm, 5 % over all of them together."""
    runs = [simulate_runs(n_runs=4, noise=0.5, shift=0.6, shift_at=1, seed=seed) for seed in range(18)]
    frames = [
        pl.DataFrame(
            [
                {"rater": f"j{k % 6}", "item": f"a{i}", "dimension": f"d{k // 6}", "value": runs[k][at][i]}
                for k in range(18)
                for i in range(30)
            ]
        )
        for at in range(4)
    ]
    many, one = drift(frames).rows, drift([f.filter(rater="j0", dimension="d0") for f in frames]).rows
    assert (many["evidence_needed"][0], one["evidence_needed"][0]) == pytest.approx((360, 20))
    same = many.filter(judge="j0", dimension="d0")
    assert same["evidence"][0] == pytest.approx(one["evidence"][0])
    assert (many["alarm"] == "yes").to_list() == [reached >= 360 for reached in _most_evidence(frames)]


def _most_evidence(frames):
    return drift(frames).course.group_by("judge", "dimension", maintain_order=True).agg(pl.col("evidence").max())["evidence"]  # fmt: skip


def test_drift_and_its_exit_code(command, tmp_path):
    runs = simulate_runs(n_runs=8, shift=1.5, shift_at=3, seed=1)
    paths = []
    for number, run in enumerate(runs):
        frame = pl.DataFrame({"rater": "j", "item": [f"a{n}" for n in range(30)], "dimension": "q", "value": run})
        frame.write_csv(tmp_path / f"{number}.csv")
        paths.append(tmp_path / f"{number}.csv")
    quiet, loud = command("study", "drift", *paths[:3]), command("study", "drift", *paths)
    assert (quiet.returncode, loud.returncode) == (0, 1)
    assert "run" in loud.stdout


def test_the_bench_shows_how_far_attacks_move_each_judge_beside_its_agreement():
    world = simulate_bench(n_items=60, n_raters=4, seed=2)
    judges = Ratings.union([world.judges, world.attacked])
    found = study.bench(world.people, judges)
    clean = study.bench(world.people, world.judges)
    apart = study.attack(judges).rows
    rows = {row["judge"]: row for row in found.to_frame("bench").iter_rows(named=True)}
    assert found.to_frame("attacks").equals(apart)
    for judge, row in rows.items():
        mine = apart.filter(judge=judge)
        if mine.is_empty():  # a panel was not attacked
            assert row["attack_shift"] is None
            continue
        worst = mine.sort("shift").row(-1, named=True)
        assert (row["worst_attack"], row["attack_shift"]) == (worst["attack"], worst["shift"])
        # simultaneous over four attacks, so wider than that of one
        assert row["attack_shift_low"] < worst["shift_low"] < worst["shift_high"] < row["attack_shift_high"]
    assert rows["cedar/small"]["worst_attack"] == "injection"
    assert rows["cedar/small"]["attack_shift_low"] > 0
    assert "under the worst attack" in bench_table(found, is_short=True).columns
    assert "under the worst attack" not in bench_table(clean).columns
    same = ["judge", "agreement", "bias", "may_replace"]
    assert found.to_frame("bench").select(same).equals(clean.to_frame("bench").select(same))
    assert found.recommendation == clean.recommendation
    assert len(found.caveats) == len(clean.caveats) + 1


def test_orders_beside_two_files_of_judges_count_once():
    one, two = (orders_beside([BENCH / name for name in names])[0] for names in (["judges.csv"], ["judges.csv", "attacked.csv"]))  # fmt: skip
    assert one == two == [BENCH / "judge_orders.csv"]


def test_a_recommended_judge_that_attacks_move_is_told_with_one_that_they_do_not_move():
    rng = np.random.default_rng(3)
    quality = rng.normal(3, 1, 60)

    def rated(name, noise, items, shift=0.0):
        given = np.round(quality[: len(items)] + shift + rng.normal(0, noise, len(items)), 2)
        return [(name, item, "q", value) for item, value in zip(items, given, strict=True)]

    items = [f"i{n}" for n in range(60)]
    attacked = [f"{item}.attack-injection" for item in items[:30]]
    columns = ["rater", "item", "dimension", "value"]
    people = [row for n in range(4) for row in rated(f"p{n}", 0.7, items)]
    weak = [*rated("weak", 0.3, items), *rated("weak", 0.3, attacked, 1.0)]
    firm = [*rated("firm", 0.35, items), *rated("firm", 0.35, attacked)]
    frames = [pl.DataFrame(rows, schema=columns, orient="row") for rows in (people, weak + firm, firm)]
    told = study.bench(frames[0], frames[1]).caveats
    assert any(re.match(r"q: attacks move weak: injection 1.*use firm, which no attack moves", one) for one in told)
    told = study.bench(frames[0], frames[2]).caveats
    assert "q: no attack moves firm significantly (Holm-corrected)." in told


def test_attacks_change_answers_and_shifts_are_paired():
    texts = pl.DataFrame({"item": ["a", "b"], "text": ["One.", "Two words."]})
    made = attack_texts(texts)
    assert len(made) == 2 * (1 + len(ATTACKS))
    hidden = made.filter(item="a.attack-hidden")["text"][0]
    assert hidden != "One."
    assert "".join(letter for letter in hidden if letter.isascii()) == "One."
    rng = np.random.default_rng(0)
    clean = rng.integers(1, 5, 20).astype(float)
    rows = [("j", f"i{n}", "q", clean[n]) for n in range(20)]
    rows += [("j", f"i{n}.attack-injection", "q", clean[n] + 1 + rng.integers(0, 2)) for n in range(20)]
    rows += [("j", f"i{n}.attack-padding", "q", clean[n] + rng.integers(-1, 2)) for n in range(20)]
    found = study.attack(pl.DataFrame(rows, schema=["rater", "item", "dimension", "value"], orient="row"))
    by_name = {row["attack"]: row for row in found.rows.iter_rows(named=True)}
    assert by_name["injection"]["p_holm"] < 0.001
    assert by_name["padding"]["p_holm"] > 0.01
    with pytest.raises(InputError, match="beside a clean ITEM"):
        study.attack(pl.DataFrame({"rater": ["j"], "item": ["a"], "dimension": ["q"], "value": [1.0]}))
    attacked = with_attacks(small_study(2), ["padding"])
    assert [pair.id for pair in attacked.pairs] == [
        "pair-0",
        "pair-1",
        "pair-0.attack-padding",
        "pair-1.attack-padding",
    ]


def test_repeats_of_several_judges_are_averaged_by_order():
    pairs = small_study(2)
    dims = {name for one in pairs.dimensions for name in one.rated}
    replies = [
        Reply(pair.id, slot, dict.fromkeys(dims, 1.0) | {"voice": slot + repeat - 3.0}, None, repeat)
        for pair in pairs.pairs
        for slot in (1, 2)
        for repeat in (1, 2)
    ]
    judged = joined([summarise_replies(pairs, name, replies) for name in ("a", "b")])
    assert judged.ratings.filter(dimension="voice")["value"].unique().to_list() == [0.0]
    assert set(judged.orders["repeat"]) == {1, 2}
    assert set(judged.ratings["rater"]) == {"a", "b"}
    assert set(judged.position) == {f"{judge}: {name}" for judge in "ab" for name in dims}


def test_style_is_counted():
    style = style_of("# Title\n\n- one\n- two\n\n**bold** words")
    assert style["lists"] == 0.5
    assert (style["headings"], style["bold words"], style["code"]) == (1, 1, 0)
    assert style["twice the length"] == pytest.approx(math.log2(8))


def test_a_live_study_stops_when_everything_is_decided():
    rng = np.random.default_rng(3)
    rows = [
        (f"r{rater}", f"i{item}", system, "q", float(np.clip(round(rng.normal(3 + 1.2 * (system == "b"), 0.7)), 1, 5)))
        for rater in range(60)
        for item in range(5)
        for system in ("a", "b")
    ]
    frame = pl.DataFrame(rows, schema=["rater", "item", "system", "dimension", "value"], orient="row")
    criteria = [Criterion("b is better", "difference:q:b:a", 0.0), Criterion("agree", "reliability:q", 0.3)]
    early = study.stop(
        frame.filter(pl.col("rater").is_in(["r0", "r1"])), criteria, n_planned=60, scale=(1, 5), looks=[30]
    )
    assert not early.is_decided
    assert early.rows["reason"][1] == "the next planned look is at 30 raters"
    late = study.stop(frame, criteria, n_planned=60, scale=(1, 5), looks=[30])
    assert late.is_decided
    assert late.rows["decision"].to_list() == ["pass", "pass"]
    shares = study.stop(frame, [Criterion("few fives", "share:q:5.0", 0.9, "at_most")], n_planned=60)
    assert shares.is_decided
    with pytest.raises(OptionError, match="needs the scale"):
        study.stop(frame, criteria, n_planned=60)
    with pytest.raises(OptionError, match="No statistic 'median:q'"):
        study.stop(frame, [Criterion("x", "median:q", 0)], n_planned=60)


def test_the_commands_of_the_bench(command, tmp_path):
    told = command("study", "bench", BENCH / "people.csv", BENCH / "judges.csv", "--costs", BENCH / "costs.csv", "-o", tmp_path)  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert "quality: use" in told.stdout
    assert (tmp_path / "bench_report.html").exists()
    stop = command("study", "stop", BENCH / "people.csv", "--require", "mean:quality > 3", "--max-raters", "20")
    assert stop.returncode == 2
    assert "is no criterion" in stop.stderr
