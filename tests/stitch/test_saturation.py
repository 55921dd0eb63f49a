"""When a benchmark is saturated: by any score that was observed, or by draws of frontier and curve that agree with the scores."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

from howsure.errors import OptionError
from howsure.sources import epoch
from howsure.stitch import simulator
from howsure.stitch.forecasting.frontier import dates_of
from howsure.stitch.forecasting.saturation import saturate, saturation_frame
from howsure.stitch.scale import fit
from howsure.stitch.simulator import simulate
from howsure.tables import Scores

NOVEMBER = Path(__file__).parents[2] / "../shared/data/epoch-2025-11"
REACH = 0.9


@pytest.fixture(scope="module")
def world():
    return simulate(n_models=60, n_benchmarks=16, seed=3)


@pytest.fixture(scope="module")
def scale(world):
    return fit(world.scores, n_replicates=60)


@pytest.fixture(scope="module")
def found(scale):
    return saturate(scale, reach=REACH)


def called(found, name):
    return next(one for one in found if one.benchmark == name)


def open_one(found):
    """A benchmark on which nobody has the score, and which has a date."""
    return next(one for one in found if one.first_model is None and one.year.state == "ok" and one.p_reached < 0.9)


# what counts as reached


def with_rows(world, rows):
    frame = world.scores.frame
    return Scores(pl.concat([frame, pl.DataFrame(rows, schema_overrides={"date": pl.Date})], how="diagonal_relaxed"))


def test_the_first_score_counts_of_any_model_and_any_configuration(world, found):
    name = open_one(found).benchmark
    tested = world.scores.frame.filter(benchmark=name).sort("date")["model"][0]
    again = {"model": tested, "benchmark": name, "score": 0.95}  # beside a lower one: their mean is below
    stranger = {"model": "stranger", "benchmark": name, "score": 0.92, "date": dt.date(2024, 5, 1)}  # on one benchmark
    for extra in (again, stranger):
        one = called(saturate(fit(with_rows(world, [extra]), n_replicates=0), reach=REACH), name)
        assert one.first_model == extra["model"]
        assert one.year.reason == "observed"
        assert dates_of([one.year.value])[0] == one.first_date
        assert one.best_score == extra["score"]


def test_a_score_that_was_excluded_by_name_does_not_count(world, found):
    name = open_one(found).benchmark
    rows = [{"model": "stranger", "benchmark": name, "score": 0.92, "date": dt.date(2024, 5, 1)}]
    one = called(saturate(fit(with_rows(world, rows), exclude=["stranger"], n_replicates=0), reach=REACH), name)
    assert one.first_model is None


def test_a_model_without_a_date_has_reached_it_at_an_unknown_time(world, found):
    name = open_one(found).benchmark
    rows = [{"model": "undated", "benchmark": name, "score": 0.92, "date": None}]
    one = called(saturate(fit(with_rows(world, rows), n_replicates=0), reach=REACH), name)
    assert (one.year.state, one.year.reason) == ("undefined", "undated has reached it, but has no date")


def test_of_a_family_each_version_counts_with_its_own_name_and_date(world, found):
    name = open_one(found).benchmark
    rows = [{"model": "late", "benchmark": name, "score": 0.92, "date": dt.date(2026, 1, 5), "family": "family 1"}]
    told = fit(
        with_rows(world, rows), preset="eci", anchor="bench-05", since="", n_replicates=0, floors={"bench-01": 0.1}
    )
    assert "late" not in told.problem.models
    one = called(saturate(told, reach=REACH), name)
    assert (one.first_model, one.first_date) == ("late", dt.date(2026, 1, 5))


# dates of scores that nobody has


def test_no_date_lies_in_the_past_or_beyond_the_forecast(scale, found):
    frame = saturation_frame(found)
    last = scale.models["date"].max()
    ahead = frame.filter(pl.col("first_model").is_null(), pl.col("date").is_not_null())
    assert len(ahead) > 3
    for end in ("date_low", "date", "date_high"):
        assert ahead[end].min() >= last
        assert (ahead[end].max() - last).days <= 3 * 365.25 + 1
    assert ahead["p_reached"].is_between(0, 1).all()
    assert frame.filter(pl.col("first_model").is_not_null())["p_reached"].null_count() == len(frame) - len(ahead)
    scores = scale.problem.best
    for row in frame.rows(named=True):
        reached = scores.filter(pl.col("benchmark") == row["benchmark"], pl.col("score") >= REACH).sort("date")
        assert row["first_date"] == (reached["date"][0] if len(reached) else None)
        assert row["best_score"] == scores.filter(benchmark=row["benchmark"])["score"].max()


def test_harder_scores_are_later_and_less_likely_reached(scale, found):
    name = open_one(found).benchmark
    easier, harder = (called(saturate(scale, reach=reach), name) for reach in (0.88, 0.97))
    assert easier.year.value < harder.year.value
    assert easier.p_reached > harder.p_reached


def test_what_moves_the_whole_scale_moves_no_date(scale, found):
    """Refits that are shifted, models and benchmarks alike, show nothing new about when the ones reach the others."""
    one = open_one(found)
    shift = np.random.default_rng(0).normal(0, 3, (len(scale.replicates), 1))
    drawn = scale.replicates
    moved = replace(drawn, capability=drawn.capability + shift, difficulty=drawn.difficulty + shift)
    again = called(saturate(replace(scale, replicates=moved), reach=REACH), one.benchmark)
    assert again.p_reached == pytest.approx(one.p_reached, rel=1e-6)
    assert (again.year.value, again.year.low) == pytest.approx((one.year.value, one.year.low), rel=1e-9)


def test_the_draws_count_by_the_likelihood_that_the_tested_models_fell_short(scale, found):
    """Compared with scores that are simulated outright, where the curve is known and families are of one model."""
    one = open_one(found)
    b = scale.problem.benchmark_at(one.benchmark)
    n = len(scale.problem.models)
    noise = replace(scale.noise, degrees=np.full_like(scale.noise.degrees, 1e9))
    alone = replace(scale.problem, families=tuple(map(str, range(n))))
    known = replace(scale, replicates=None, noise=noise, problem=alone)
    problem, of = scale.problem, scale.estimate
    share = expit(of.slope[b] * (of.capability - of.difficulty[b]))
    mean = problem.floors[b] + (problem.ceilings[b] - problem.floors[b]) * share
    sd = np.sqrt(noise.of(share, np.full(n, b), np.zeros(n)))
    score = mean + sd * np.random.default_rng(1).standard_normal((20_000, n))
    is_tested = np.isin(problem.models, problem.best.filter(benchmark=one.benchmark)["model"].to_list())
    agrees = (score[:, is_tested] < REACH).all(axis=1)
    expected = (score[agrees][:, ~is_tested] >= REACH).any(axis=1).mean()
    assert called(saturate(known, reach=REACH), one.benchmark).p_reached == pytest.approx(expected, abs=0.015)


def test_a_curve_that_contradicts_the_scores_gives_no_date(scale, found):
    """The curve is moved until the models that were tested there should have the score many times over."""
    name = open_one(found).benchmark
    b = scale.problem.benchmark_at(name)
    easy = np.where(np.arange(len(scale.problem.benchmarks)) == b, -4.0, 0.0)
    of, drawn = scale.estimate, scale.replicates
    wrong = replace(
        scale,
        estimate=replace(of, difficulty=of.difficulty + easy),
        replicates=replace(drawn, difficulty=drawn.difficulty + easy),
    )
    one = called(saturate(wrong, reach=REACH), name)
    assert (one.year.value, one.year.state, one.p_reached) == (None, "undefined", None)
    assert one.year.reason == "the curve contradicts the scores"


def test_an_untested_model_that_surely_has_it_leaves_no_date(scale, found):
    name = open_one(found).benchmark
    stranger = {"benchmark": name, "model": "stranger", "fitted_as": "stranger", "score": 0.1, "date": None}
    rest = scale.problem.best.filter(pl.col("benchmark") != name)
    best = pl.concat([rest, pl.DataFrame([stranger], schema=rest.schema)])
    b = scale.problem.benchmark_at(name)
    easy = np.where(np.arange(len(scale.problem.benchmarks)) == b, -4.0, 0.0)
    drawn = scale.replicates
    untested = replace(
        scale,
        problem=replace(scale.problem, best=best),
        replicates=replace(drawn, difficulty=drawn.difficulty + easy),
    )
    one = called(saturate(untested, reach=REACH), name)
    assert (one.year.value, one.year.reason) == (None, "an untested model reaches it already, p > 0.999")


def test_a_history_too_short_for_the_frontier_gives_no_date(world):
    frame = world.scores.frame
    days = (pl.col("date") - pl.col("date").min()).dt.total_days() / 10
    short = fit(Scores(frame.with_columns(date=dt.date(2024, 1, 1) + pl.duration(days=days))), n_replicates=0)
    found = [one for one in saturate(short, reach=REACH) if one.first_model is None and one.needed.value is not None]
    assert {one.year.state for one in found} == {"too_few"}
    assert "a forecast of the frontier needs" in found[0].year.reason


def test_two_dimensions_count_each_models_second_trait(world):
    flat = saturate(fit(world.scores, dimensions=2, n_replicates=20), reach=REACH)
    assert any(one.p_reached is not None and one.year.state == "ok" for one in flat)


def test_a_level_below_guessing_or_above_the_ceiling_is_a_state(world):
    scale = fit(world.scores, floors=dict.fromkeys(world.benchmarks["benchmark"], 0.25), n_replicates=0)
    (low, *_) = saturate(scale, reach=0.2)
    assert (low.year.state, low.year.reason) == ("below_range", "guessing gives 0.25")
    with pytest.raises(OptionError, match="between 0 and 1"):
        saturate(scale, reach=1.0)


def test_the_needed_capability_gives_the_score(scale):
    for one in saturate(scale, reach=0.7)[:5]:
        b = scale.problem.benchmark_at(one.benchmark)
        floor, ceiling = scale.problem.floors[b], scale.problem.ceilings[b]
        distance = scale.estimate.slope[b] * (one.needed.value - scale.estimate.difficulty[b])
        assert distance == pytest.approx(logit((0.7 - floor) / (ceiling - floor)))


@pytest.mark.heavy
def test_on_the_table_of_november_2025_open_scores_are_not_dated_in_the_past():
    if not NOVEMBER.is_dir():
        pytest.skip("the real table is not on this machine")
    scale = fit(epoch.read([NOVEMBER]), n_replicates=60)
    found = saturate(scale, reach=0.5)
    last = scale.models["date"].max()
    for name, best in (("OSWorld", 0.381), ("The Agent Company", 0.429)):
        one = called(found, name)
        assert one.best_score == best
        assert one.p_reached > 0.7
        assert one.year.value is None or dates_of([one.year.value])[0] > last
    assert called(found, "Terminal Bench").first_date == dt.date(2025, 5, 22)  # another agent than in the mean


# simulated data sets in which models come after today, and all scores are known


def simulated(seed, departure=None):
    """A scale of three years, and for each model and benchmark of four and a half years the score that it would have."""
    rng = np.random.default_rng(seed)
    models, benchmarks = simulator._new_models(rng, 170, 4.5), simulator._new_benchmarks(rng, 24, 4.5)
    model, benchmark = simulator._linked_pairs(rng, models, benchmarks, 0.35)
    if departure == "second dimension":
        models, benchmarks = simulator._with_trait(rng, models, benchmarks)
    each = np.indices((170, 24)).reshape(2, -1)
    score = simulator._draw_scores(rng, models, benchmarks, *each, 0.45, departure)[0].reshape(170, 24)
    today = simulator.FIRST_DAY + np.timedelta64(round(3 * 365.25), "D")
    is_old = (models["date"].to_numpy()[model] < today) & (benchmarks["date"].to_numpy()[benchmark] < today)
    model, benchmark = model[is_old], benchmark[is_old]
    pairs = models.drop("capability", "trait", strict=False)[model].hstack(
        benchmarks.select("benchmark", "floor", benchmark_date="date")[benchmark]
    )
    scale = fit(Scores(pairs.with_columns(score=score[model, benchmark])), n_replicates=100, seed=seed)
    return scale, models, score


def compared(seeds, departure=None):
    """For each open benchmark the probability that an untested model reaches it and whether one does, and whether the interval contains the first date (which ends with the data)."""
    rows = []
    for seed in seeds:
        scale, models, score = simulated(seed, departure)
        day = models["date"].to_numpy().astype("datetime64[D]").astype(int) / 365.25
        today = day[np.isin(models["model"].to_numpy(), scale.problem.models)].max()
        for reach in (0.3, 0.5, 0.7, 0.9):
            for one in saturate(scale, reach=reach, seed=seed):
                if one.p_reached is None:
                    rows += [{"seed": seed, "reason": one.year.reason}] if one.year.value is None else []
                    continue
                has_it = score[:, int(one.benchmark.removeprefix("bench-")) - 1] >= reach
                is_here = np.isin(models["model"].to_numpy(), scale.problem.models)
                first = day[has_it & (day > today)].min(initial=np.inf)
                held = None
                if one.year.value is not None and not (has_it & is_here).any():
                    ends = [np.inf if s != "ok" else y for y, s in ((one.year.low, one.year.low_state), (one.year.high, one.year.high_state))]  # fmt: skip
                    held = ends[0] <= first <= ends[1] if np.isfinite(first) else ends[1] >= day.max()
                rows.append(
                    {"seed": seed, "p": one.p_reached, "is_reached": bool((has_it & is_here).any()), "held": held}
                )
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.mark.evidence
def test_probabilities_are_calibrated_and_intervals_contain_the_first_date():
    found = compared(range(30))
    assert found["p"].mean() == pytest.approx(found["is_reached"].mean(), abs=0.05)
    sure = found.filter(pl.col("p") > 0.8)
    assert sure["is_reached"].mean() > 0.75
    assert found["held"].mean() > 0.92
