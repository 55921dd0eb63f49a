"""Horizons in attempts from a table: the law, states, groups, pairs, files."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from horizon.people import people
from howsure.errors import InputError, OptionError
from howsure.horizon.attempt_horizon.estimator import HorizonEstimator, SharedTasks, from_learners
from howsure.horizon.attempt_horizon.horizons import HorizonSettings, attempt_horizons, horizons_on
from howsure.horizon.simulator import draw_suite, simulate
from howsure.results import Provenance
from howsure.sources import read
from howsure.tables import Attempts

PLANTED = {"one": 1.5, "two": 3.0, "three": 6.0}
HALF = np.array([0.5])


@pytest.fixture(scope="module")
def world():
    return simulate(draw_suite(40, seed=3), n_learners=25, n_runs=8, seed=3)


@pytest.fixture(scope="module")
def found(world):
    return attempt_horizons(world.attempts, definitions=("matching", "regression", "irt"), n_replicates=150)


def measured(shared, n_replicates=60, **settings):
    return horizons_on(shared, HorizonSettings(n_replicates=n_replicates, **settings), Provenance({}))


# the law


@pytest.mark.parametrize("kind", ["easy", "hard"])
def test_a_model_like_a_novice_on_attempt_n_has_horizon_n(kind):
    """The mean over worlds is within 5 % of the truth, by matching."""
    drawn = [simulate(draw_suite(kind=kind, seed=seed), true_horizons=PLANTED, seed=seed).counts for seed in range(25)]
    horizons = np.array([HorizonEstimator(one, ("matching",), HALF).horizons[:, 0, 0] for one in drawn])
    assert np.isfinite(horizons).all()
    np.testing.assert_allclose(horizons.mean(axis=0), list(PLANTED.values()), rtol=0.05)


def test_lost_attempts_leave_the_numbers_of_the_others(tmp_path):
    """Renumbered, true horizons of 3 and 6 were 1.96 and 3.63 where only odd attempts were recorded, and 2.6 for 3 where a tenth was lost."""
    world = simulate(draw_suite(40, seed=1), true_horizons={"three": 3.0, "six": 6.0}, n_learners=40, seed=1)
    frame = world.attempts.frame
    rng, is_model = np.random.default_rng(0), pl.col("kind") == "model"
    lost = frame.filter(is_model | pl.Series(rng.random(len(frame)) > 0.1))
    whole = attempt_horizons(world.attempts, n_replicates=2).headline()
    for number, part in enumerate((frame.filter(is_model | (pl.col("attempt") % 2 == 1)), lost)):
        part.write_csv(tmp_path / f"{number}.csv")
        for given in (read(tmp_path / f"{number}.csv"), Attempts(part)):
            found = attempt_horizons(given, n_replicates=2)
            for model, row in whole.items():
                assert found.headline()[model].horizon.value == pytest.approx(row.horizon.value, rel=0.08)
            assert any("left attempts out" in note for note in found.provenance.notes)
    rows = [
        json.dumps(row)
        for row in world.frame.filter(
            (pl.col("learner_type") != "human_novice") | (pl.col("attempt_number") % 2 == 1)
        ).to_dicts()
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(rows), "utf-8")
    same = attempt_horizons(read(tmp_path / "runs.jsonl"), n_replicates=2).headline()
    odd = attempt_horizons(read(tmp_path / "0.csv"), n_replicates=2).headline()
    assert {model: row.horizon.value for model, row in same.items()} == pytest.approx(
        {model: row.horizon.value for model, row in odd.items()}
    )


def test_weak_below_medium_below_strong_in_fifty_seeds():
    for seed in range(50):
        estimator = HorizonEstimator(simulate(seed=seed).counts, ("matching",), HALF)
        weak, medium, strong = estimator.horizons[:, 0, 0]
        assert weak < medium < strong, f"seed {seed}"


def covered(kind, n_worlds, n_replicates, definitions=("matching",)):
    """How often the interval holds the truth, (definitions, models)."""
    hits = []
    for seed in range(n_worlds):
        estimator = HorizonEstimator(
            simulate(draw_suite(kind=kind, seed=seed), true_horizons=PLANTED, seed=seed).counts, definitions, HALF
        )
        drawn = estimator.replicates(n_replicates, seed=seed)
        hits.append(
            [
                [estimator.horizon(drawn, row, place, 0, 0.95).covers(n) for row, n in enumerate(PLANTED.values())]
                for place in range(len(definitions))
            ]
        )
    return np.mean(hits, axis=0)


def test_intervals_mostly_hold_the_truth():
    assert covered("hard", 8, 100).mean() > 0.8


@pytest.mark.evidence
@pytest.mark.parametrize("kind", ["easy", "hard"])
def test_intervals_hold_the_truth_at_their_rate(kind):
    """Within 95 % ± about two standard errors of 60 studies; `howsure horizon coverage --of attempts` is the whole table."""
    (rates,) = covered(kind, 60, 200)
    assert abs(rates.mean() - 0.95) < 0.05, rates
    assert (rates >= 0.86).all(), rates


def test_irt_is_close_to_the_law_too():
    rates = covered("hard", 6, 60, ("irt",))
    assert rates.mean() > 0.7


# states


def altered(world, success):
    """The world's table with models that always, or never, succeed."""
    rows = world.attempts.frame.with_columns(
        score=pl.when(pl.col("kind") == "model").then(float(success)).otherwise("score")
    )
    return Attempts(rows)


@pytest.mark.parametrize("definition", ["matching", "regression", "irt"])
def test_never_is_below_range_and_tells_the_ratio(world, definition):
    found = attempt_horizons(altered(world, 0), definitions=(definition,), n_replicates=40)
    for row in found.rows:
        assert (row.horizon.state, row.horizon.value) == ("below_range", 1.0)
        assert (row.horizon.low_state, row.horizon.high_state) == ("below_range", "below_range")
        assert "0.00 times as often as novices on attempt 1" in row.horizon.reason
        assert row.ratio_to_first == 0
        assert str(row.horizon).startswith("< 1")


@pytest.mark.parametrize("definition", ["matching", "regression", "irt"])
def test_always_is_above_range(world, definition):
    found = attempt_horizons(altered(world, 1), definitions=(definition,), n_replicates=40)
    for row in found.rows:
        assert row.horizon.state == row.horizon.high_state == row.horizon.low_state == "above_range"
        assert row.horizon.value <= 10
        assert "novices on attempt 10" in row.horizon.reason


def test_an_end_of_an_interval_has_its_own_state():
    suite = draw_suite(20, seed=1)
    shared = simulate(suite, true_horizons={"first": 1.05, "late": 9.0}, n_learners=12, n_runs=6, seed=4).counts
    rows = {row.model: row.horizon for row in measured(shared, success_rates=(0.5,)).rows}
    assert rows["first"].low_state == "below_range"
    assert rows["late"].high_state == "above_range"
    assert {rows["first"].high_state, rows["late"].low_state} == {"ok"}
    assert "<1" in str(rows["first"])
    assert ">10" in str(rows["late"])


def test_a_slope_of_the_wrong_sign_is_undefined_and_says_so(world):
    shared = world.counts
    backwards = np.round(shared.n * (1 - world.chances))
    odd = replace(shared, successes=backwards)
    found = measured(odd, definitions=("regression",), success_rates=(0.5,))
    for row in found.rows:
        assert row.horizon.state == "undefined"
        assert "does not fall" in row.horizon.reason
        assert row.horizon.value is None
    assert all(pair.ratio.state == "undefined" for pair in found.pairs)
    assert any("replicates have no horizon" in note for note in found.provenance.notes)


def test_novices_who_never_succeed_leave_states_and_no_division_by_zero(world):
    rows = world.attempts.frame.with_columns(score=pl.when(pl.col("kind") == "human").then(0.0).otherwise("score"))
    found = attempt_horizons(Attempts(rows), definitions=("matching", "regression", "irt"), n_replicates=20)
    assert {row.horizon.state for row in found.rows} <= {"above_range", "undefined"}
    assert all(row.ratio_to_first is None for row in found.rows)


def test_one_learner_has_no_interval():
    shared = simulate(draw_suite(6, seed=1), true_horizons={"m": 2.0, "k": 3.0}, n_learners=1, seed=1).counts
    found = measured(shared)
    assert all(pair.p_a_greater is None for pair in found.pairs)
    for row in found.rows:
        assert row.horizon.low is row.horizon.high is row.success.low is None
        assert row.horizon.low_state == row.success.low_state == "too_few"
        assert row.horizon.reason == "1 learner; an interval needs 2"


@pytest.mark.parametrize("grade", [1.0, 0.5])
def test_one_task_stands_for_itself_and_chance_lies_in_learners_and_runs(grade):
    """A model that behaves like novices on attempt 3 of the only task; scores right or wrong, or half of that."""
    p = np.array([0.2, 0.4, 0.55, 0.65, 0.7])
    covered = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        people = [("human", f"h{i}", k + 1, float(rng.random() < p[k])) for i in range(80) for k in range(5)]
        runs = [("model", "m", k + 1, float(rng.random() < p[2])) for k in range(100)]
        kind, subject, attempt, score = zip(*people, *runs, strict=True)
        rows = pl.DataFrame({"kind": kind, "subject": subject, "attempt": attempt, "score": score, "task": "t"})
        found = attempt_horizons(Attempts(rows.with_columns(pl.col("score") * grade)), n_replicates=150, seed=seed)
        covered += found.rows[0].horizon.covers(3)
    assert covered >= 10


def test_small_designs_of_every_definition_give_ordered_intervals():
    """A replicate's hardest task may be harder than the data's; ends still lie around the value."""
    for seed in range(3):
        shared = simulate(draw_suite(8, seed=seed), n_learners=4, n_attempts=4, n_runs=2, seed=seed).counts
        for row in measured(shared, definitions=("matching", "regression", "irt")).rows:
            if row.horizon.low is not None:
                assert 1 <= row.horizon.low <= row.horizon.value <= row.horizon.high <= 4


def test_eighty_is_never_above_fifty(found):
    by_level = {(r.model, r.definition, r.success_rate): r.horizon for r in (*found.rows,)}
    for (model, definition, level), one in by_level.items():
        if level == 0.8:
            half = by_level[model, definition, 0.5]
            assert one.value <= half.value
            assert one.low <= half.low
            assert one.high <= half.high


# designs


def test_a_task_tried_less_often_limits_what_matching_sees(world):
    short = world.suite.tasks["task"][0]
    rows = world.attempts.frame.filter(
        ~((pl.col("task") == short) & (pl.col("kind") == "human") & (pl.col("attempt") > 4))
    )
    found = attempt_horizons(Attempts(rows), n_replicates=20, early_leavers="ignore")
    assert any("matching sees to attempt 4" in note for note in found.provenance.notes)
    assert len(found.novices) == 4


def test_tasks_that_one_side_never_tried_are_left_out_and_told(world):
    tasks = world.suite.tasks["task"]
    rows = world.attempts.frame.filter(
        ~((pl.col("task") == tasks[0]) & (pl.col("kind") == "human"))
        & ~((pl.col("task") == tasks[1]) & (pl.col("kind") == "model"))
    )
    found = attempt_horizons(Attempts(rows), n_replicates=20)
    assert len(found.tasks) == 38
    assert {row.n_tasks for row in found.rows} == {38}
    assert any("only novices tried" in note for note in found.provenance.notes)


def test_a_model_that_tried_fewer_tasks_is_compared_on_those(world):
    some = world.suite.tasks["task"].to_list()[::4]
    rows = world.attempts.frame.filter((pl.col("subject") != "baseline-weak") | pl.col("task").is_in(some))
    found = attempt_horizons(Attempts(rows), n_replicates=40)
    n_tasks = {row.model: row.n_tasks for row in found.rows}
    assert n_tasks == {"baseline-weak": 10, "baseline-medium": 40, "baseline-strong": 40}
    alone = attempt_horizons(Attempts(rows.filter(pl.col("task").is_in(some))), n_replicates=40)
    assert found.headline()["baseline-weak"].horizon.value == alone.headline()["baseline-weak"].horizon.value


def test_learners_with_one_task_each_are_a_design_too(world):
    people = world.attempts.frame.filter(kind="human").with_columns(subject=pl.col("subject") + "/" + pl.col("task"))
    models = world.attempts.frame.filter(kind="model")
    nested = attempt_horizons(Attempts(pl.concat([people, models])), n_replicates=100)
    crossed = attempt_horizons(world.attempts, n_replicates=100)
    for model, row in nested.headline().items():
        assert row.horizon.value == pytest.approx(crossed.headline()[model].horizon.value)
    assert from_learners(nested.counts.novices, np.eye(nested.counts.novices.trials.shape[1])).share == pytest.approx(
        0, abs=1e-6
    )


def test_graded_scores_count_as_shares_or_by_a_threshold(world):
    rows = world.attempts.frame.with_columns(score=pl.col("score") * 0.6 + 0.2)
    shares = attempt_horizons(Attempts(rows), success_rates=(0.5,), n_replicates=20)
    same = attempt_horizons(world.attempts, success_rates=(0.5,), n_replicates=20)
    for one, other in zip(shares.rows, same.rows, strict=True):
        assert one.horizon.value == pytest.approx(other.horizon.value)
    found = attempt_horizons(Attempts(rows), threshold=0.7, n_replicates=20)
    plain = attempt_horizons(world.attempts, n_replicates=20)
    assert [row.horizon for row in found.rows] == [row.horizon for row in plain.rows]


def test_tasks_in_common_are_needed(world):
    rows = world.attempts.frame.with_columns(
        task=pl.when(pl.col("kind") == "model").then(pl.col("task") + "x").otherwise("task")
    )
    with pytest.raises(InputError, match="none is the same"):
        attempt_horizons(Attempts(rows))


def test_wrong_options_are_refused(world):
    with pytest.raises(OptionError, match="Did you mean 'matching'"):
        attempt_horizons(world.attempts, definitions=("machting",))
    with pytest.raises(OptionError, match="80 is not between 0 and 1"):
        attempt_horizons(world.attempts, success_rates=(80,))


# groups and pairs


def test_domains_and_ways_to_verify_have_rows_of_their_own(world, found):
    groups = [
        row.group
        for row in found.domains
        if (row.definition, row.success_rate, row.model) == ("irt", 0.8, "baseline-weak")
    ]
    assert groups == [
        *("code_completion", "communication_tasks", "creative_writing", "logic_puzzle", "pattern_recognition"),
        *("verified automatically", "judged"),
    ]
    judged = next(row for row in found.domains if row.group == "judged")
    assert judged.n_tasks == 16
    weak = world.models.index(judged.model)
    is_judged = (world.suite.tasks["verification"] == "llm_judge").to_numpy()
    assert judged.success.value == pytest.approx(world.runs[weak][is_judged].mean())


def test_what_the_input_says_of_verification_wins_over_the_domain(world):
    rows = world.attempts.frame.with_columns(verification_type=pl.lit("automated"))
    found = attempt_horizons(Attempts(rows), n_replicates=20)
    assert "judged" not in {row.group for row in found.domains}


def test_pairs_are_compared_over_the_same_replicates(found):
    pairs = {(p.a, p.b): p for p in found.pairs if (p.definition, p.success_rate) == ("matching", 0.5)}
    assert list(pairs) == [
        ("baseline-strong", "baseline-medium"),
        ("baseline-strong", "baseline-weak"),
        ("baseline-medium", "baseline-weak"),
    ]
    pair = pairs["baseline-medium", "baseline-weak"]
    rows = found.headline()
    assert pair.ratio.value == pytest.approx(
        rows["baseline-medium"].horizon.value / rows["baseline-weak"].horizon.value
    )
    assert pair.p_a_greater > 0.95
    assert pair.n_tasks == 40


def test_equal_models_are_equally_likely_ahead(world):
    models = world.attempts.frame.filter(subject="baseline-medium")
    twin = models.with_columns(subject=pl.lit("twin"))
    found = attempt_horizons(
        Attempts(pl.concat([world.attempts.frame.filter(kind="human"), models, twin])), n_replicates=40
    )
    for pair in found.pairs:
        assert pair.p_a_greater == 0.5
    assert found.pairs[0].ratio.value == found.pairs[0].ratio.low == 1


def test_a_pair_beyond_the_same_end_counts_half(world):
    found = attempt_horizons(world.attempts, success_rates=(0.95,), n_replicates=60)
    pair = next(p for p in found.pairs if p.a == "baseline-medium")
    assert found.headline()["baseline-medium"].horizon.state == "below_range"
    assert found.headline()["baseline-medium"].share_below > 0.95
    assert pair.p_a_greater == pytest.approx(0.5, abs=0.05)


def test_a_sparse_table_has_all_definitions():
    """Steps of the regression once went so far that all successes were certain, and divided by zero."""
    path = Path(__file__).parents[2] / "../shared/data/horizon/sparse_world.csv"
    if not path.is_file():
        pytest.skip("the sparse table is not here")
    found = attempt_horizons(
        read(path), definitions=("matching", "regression", "irt"), success_rates=(0.5,), n_replicates=300, seed=28
    )
    for row in found.rows:
        assert row.share_failed == 0
        assert row.horizon.covers({"m1.5": 1.5, "m3.0": 3.0, "m5.0": 5.0}[row.model])


@pytest.mark.parametrize("seed", range(6))
def test_very_few_learners_tasks_and_runs_still_have_a_result(seed):
    rng = np.random.default_rng(seed)
    suite = draw_suite(int(rng.integers(1, 7)), seed=seed)
    world = simulate(suite, n_learners=int(rng.integers(2, 6)), n_attempts=4, n_runs=int(rng.integers(1, 4)), seed=seed)
    rows = world.attempts.lazy.collect()
    courses = rows.select("subject", "task").unique(maintain_order=True)
    stops = courses.with_columns(stop=pl.Series(rng.integers(1, 5, len(courses)))).filter(
        pl.Series(rng.random(len(courses)) < 0.8)
    )
    some = rows.join(stops, on=["subject", "task"], maintain_order="left").filter(pl.col("attempt") <= pl.col("stop"))
    assert {"human", "model"} <= set(some["kind"])
    found = attempt_horizons(
        Attempts(some.drop("stop")), definitions=("matching", "regression", "irt"), n_replicates=40, seed=seed
    )
    assert found.rows
    assert found.novices["success"].is_between(0, 1).all()


# what comes out


def test_the_frame_begins_with_the_promised_columns(found):
    names = [
        "model",
        "definition",
        "success_rate",
        "horizon",
        "horizon_low",
        "horizon_high",
        "horizon_state",
        "n_tasks",
        "success",
    ]
    frame = found.to_frame()
    assert frame.columns[:9] == names
    assert frame["success_rate"].unique().sort().to_list() == [0.5, 0.8]
    assert len(frame) == 3 * 3 * 2


def test_results_are_saved_whole_and_say_what_made_them(tmp_path, world, found):
    written = {path.name for path in found.save(tmp_path)}
    assert written == {
        "horizons.csv",
        "horizons.json",
        "domains.csv",
        "pairs.csv",
        "tasks.csv",
        "novices.csv",
        "horizons.result.zip",
    }
    told = json.loads((tmp_path / "horizons.json").read_text())
    assert told["provenance"]["digest"] == world.attempts.digest
    assert told["provenance"]["settings"]["n_replicates"] == 150
    assert told["horizons"][0]["success_rate"] == 0.5
    assert pl.read_csv(tmp_path / "pairs.csv")["p_a_greater"].is_between(0, 1).all()


def test_one_model_has_no_pairs_and_its_files_are_whole(tmp_path, world):
    rows = world.attempts.frame.filter((pl.col("kind") == "human") | (pl.col("subject") == "baseline-weak"))
    found = attempt_horizons(Attempts(rows.drop("date", "domain", "family")), n_replicates=20)
    assert found.pairs == found.domains == ()
    assert found.trend is None
    assert "released" not in found.charts()
    found.save(tmp_path)
    assert pl.read_csv(tmp_path / "pairs.csv").columns[:2] == ["a", "b"]


def test_the_trend_is_a_line_through_the_doublings(found):
    assert found.trend.n == 3
    assert found.trend.slope.value > 0.5  # doublings a year, as the models were planted
    dated = found.dated()
    assert dated["released"].to_list() == sorted(dated["released"].to_list(), reverse=True)


def test_every_chart_is_drawn(tmp_path, found):
    from howsure.charts import save_chart

    charts = found.charts()
    assert set(charts) == {
        *("crossing", "horizons", "curve_sample", "against_first"),
        *("by_difficulty", "difficulty", "censoring", "released"),
    }
    for name, chart in charts.items():
        picture = save_chart(chart, tmp_path / f"{name}.svg").read_text()
        assert "n = " in picture, name


def test_the_crossing_chart_puts_models_where_they_meet_the_curve(found):
    from howsure.charts import to_spec

    spec = to_spec(found.charts()["crossing"])
    values = [row for rows in spec["datasets"].values() for row in rows if row.get("at")]
    told = {row["label"]: row["at"] for row in values}
    for model, row in found.headline().items():
        assert told[model] == pytest.approx(row.horizon.value, rel=1e-5)


def test_the_report_tells_all(found):
    import datetime

    from howsure.horizon.attempt_horizon.sections import PAIRS, attempts_sections
    from howsure.reporting import Report, render

    page = render(Report("Horizons", attempts_sections(found), found.provenance, datetime.date(2025, 1, 1)))
    for title in ("Which attempt of a novice", "By domain", PAIRS, "Easy and hard tasks", "The novices"):
        assert title in page


@pytest.mark.evidence
def test_on_real_people_the_law_holds_as_well():
    """Models that do what people did on their second and fourth attempt, at Spanish words."""
    novices = people("spanish", last=6, answers=20, attempts=6, first=25)
    shares = novices.successes / novices.trials
    n = np.full((2, len(novices.tasks)), 400.0)
    won = np.round(n * shares[:, [1, 3]].T)
    tasks = pl.DataFrame({"task": novices.tasks, "family": novices.tasks}).with_columns(
        domain=pl.lit(None, pl.String), verification=pl.lit("automated")
    )
    shared = SharedTasks(tasks, novices, ("second", "fourth"), won, n, {})
    found = measured(shared, n_replicates=10, success_rates=(0.5,))
    horizons = {row.model: row.horizon for row in found.rows}
    assert len(novices.tasks) > 100
    assert horizons["second"].value == pytest.approx(2, rel=0.05)
    assert horizons["fourth"].value == pytest.approx(4, rel=0.1)
    assert horizons["second"].high < horizons["fourth"].high


# models that learn


def test_models_with_examples_have_a_learning_curve_beside_the_novices():
    """A model that is like attempt 1.5 alone, 3 after two examples and 6 after eight has these horizons at these numbers of examples."""
    planted = {"m": 1.5, "m (2-shot)": 3.0, "m (8-shot)": 6.0, "n": 2.0, "k (after 1 attempt)": 3.0}
    world = simulate(draw_suite(30, seed=2), true_horizons=planted, n_learners=30, n_runs=30, seed=2)
    found = attempt_horizons(world.attempts, success_rates=(0.5,), n_replicates=50)
    rows = found.practice.rows(named=True)
    assert [(row["model"], row["practice"], row["n_practice"]) for row in rows] == [
        ("k", "attempts with feedback", 1),
        ("m", "examples", 0),
        ("m", "examples", 2),
        ("m", "examples", 8),
    ]
    for row in rows[1:]:
        truth = planted["m" if not row["n_practice"] else f"m ({row['n_practice']}-shot)"]
        assert row["horizon_low"] < truth < row["horizon_high"]
    assert found.to_frame("practice").equals(found.practice)
    assert {"practice", "practice_horizons"} <= set(found.charts())


def test_without_practice_there_is_no_such_table(world):
    found = attempt_horizons(world.attempts, n_replicates=20)
    assert "practice" not in found.tables
    assert "practice" not in found.charts()
