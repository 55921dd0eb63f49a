"""Runs cut at a limit as censored: bounds against brute force, one number in three places, bias and coverage where the truth is known."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from howsure.errors import OptionError
from howsure.horizon import budget_horizons, coverage, crossvalidate, time_horizons
from howsure.horizon.run_counts import model_counts
from howsure.horizon.time_horizon.curves import fit_curves, outcome_bounds, timed
from howsure.horizon.time_horizon.simulator import simulate_limits, simulate_time
from howsure.horizon.time_horizon.specifications import (
    draw_horizons,
    fit_horizons,
    horizon_cells,
    horizon_estimates,
    plan_of,
    time_choices,
)
from howsure.tables import Attempts


@pytest.fixture(scope="module")
def runs():
    world = simulate_time({"one": 8.0, "two": 40.0}, n_families=12, n_tasks=2, n_runs=4, seed=3)
    return Attempts(simulate_limits(world, lasting="failures", seed=3))


@pytest.fixture(scope="module")
def unordered(runs):
    """The same runs without what they spent."""
    return Attempts(runs.frame.drop("tokens"))


@pytest.mark.parametrize("rate", [0.5, 0.8])
def test_no_outcome_of_cut_runs_gives_a_horizon_outside_the_bounds(unordered, rate):
    data = timed(model_counts(unordered, limits="bounds"))
    (least, shortest), (most, longest) = outcome_bounds(data, 0, rate)
    attained = [fit_curves(one).log2_minutes(rate)[0] for one in (shortest, longest)]
    assert attained == pytest.approx([least, most])
    rng, found = np.random.default_rng(0), []
    for _ in range(300):
        power = rng.choice([0.05, 1, 20])  # corners as well as shares
        share = rng.random(len(data.x)) ** power * (rng.random(len(data.x)) < rng.random())
        if rng.random() < 0.5:
            share *= (data.x < rng.choice(data.x)) == (rng.random() < 0.5)
        successes = data.counts.successes + share * data.counts.unknown * data.counts.n
        found.append(fit_curves(replace(data, counts=replace(data.counts, successes=successes))).log2_minutes(rate)[0])
    found = np.array(found)[np.isfinite(found)]
    assert len(found) > 200
    assert least - 1e-9 <= found.min() < found.max() <= most + 1e-9


def test_bounds_are_the_horizon_of_an_unlimited_budget(runs):
    found, budget = time_horizons(runs, limits="bounds", n_replicates=0), budget_horizons(runs, budgets=(1e15,))
    for row in budget.rows.rows(named=True):
        estimate = found.minutes(row["model"])
        assert (row["minutes"], row["minutes_low"], row["minutes_high"]) == pytest.approx(
            (estimate.value, estimate.low, estimate.high)
        )
    limits = found.tables["bounds"].filter(success_rate=0.5)
    assert limits["minutes_most"].to_list() == pytest.approx(budget.rows["minutes_at_best"].to_list())


def test_without_an_order_a_censored_run_says_nothing_but_that_it_may_have_failed(unordered):
    """By hand: the estimate is the fit to runs that were not cut, each with its weight; the interval includes all runs as scored."""
    found = time_horizons(unordered, limits="censored", n_replicates=0, weights="equal")
    dropped = time_horizons(unordered, limits="drop", n_replicates=0, weights="equal")
    scored = time_horizons(unordered, limits="scored", n_replicates=0, weights="equal")
    for model in found.models:
        own, other, worst = (one.minutes(model) for one in (found, dropped, scored))
        assert own.value == pytest.approx(other.value)
        assert own.low <= min(other.low, worst.low) + 1e-9
        assert own.high >= max(other.high, worst.high) - 1e-9
    assert any("so the outcomes of 30% of all runs are unknown" in note for note in found.provenance.notes)


def test_runs_that_spent_more_take_the_weight_of_a_cut_run(runs):
    counts, blind = (model_counts(one, limits="censored") for one in (runs, Attempts(runs.frame.drop("tokens"))))
    assert counts.unknown.sum() < 0.8 * blind.unknown.sum()
    assert blind.successes.sum() == runs.frame["score"].sum()
    assert counts.successes.sum() > blind.successes.sum()


def test_rows_that_count_several_runs_have_the_same_bounds(unordered):
    frame = unordered.frame.group_by("subject", "task", "family", "minutes", "limit").agg(
        pl.len().alias("n"), pl.col("score").sum().cast(pl.Int64).alias("n_success")
    )
    single, counted = (model_counts(one, limits="bounds") for one in (unordered, Attempts(frame)))
    assert counted.unknown == pytest.approx(single.unknown)
    assert counted.successes == pytest.approx(single.successes)


def test_without_cut_runs_nothing_changes(runs):
    whole = Attempts(runs.frame.filter(pl.col("limit").is_null()).drop("attempt"))
    for way in ("censored", "bounds"):
        one, other = (time_horizons(whole, limits=each, n_replicates=0).minutes("two") for each in (way, "scored"))
        assert one == other


def test_the_specification_of_a_claim_has_the_same_number(runs):
    cells = horizon_cells(runs, ["two", "one"])
    limits = next(one for one in time_choices(cells).choices if one.name == "limits")
    assert limits.values == ("scored", "drop", "censored")
    specification = {"limits": "censored"}
    points = fit_horizons(cells, [specification], 0.5)
    drawn = draw_horizons(cells, [specification], 0.5, n_replicates=20)
    estimates = horizon_estimates(cells, [specification], 0.5, points, drawn, 0.95)
    reported = time_horizons(runs, limits="censored", n_replicates=0)
    for m, model in enumerate(cells.models):
        own, ours = estimates[m][0], reported.minutes(model)
        assert (own.value, own.low, own.high) == pytest.approx((ours.value, ours.low, ours.high))
    plan = plan_of(cells, specification)
    whole = plan.refit(np.ones((1, len(cells.x))), cells.runs[None], 0.5)
    assert whole[0] == pytest.approx(points[0], abs=1e-6)
    assert np.isfinite(drawn).all()


def test_scored_cut_runs_make_horizons_too_short_and_censored_ones_do_not():
    """The smallest form of `howsure horizon coverage --of limits`."""
    scored, censored = (
        coverage("limits", containing=f"lasting neither, limits {way}", n_simulations=4).rows.row(0, named=True)
        for way in ("scored", "censored")
    )
    assert scored["coverage"] < 0.3 > scored["median_error"] + 1
    assert censored["coverage"] > 0.6
    assert abs(censored["median_error"]) < 0.5


@pytest.mark.evidence
def test_coverage_and_bias_where_a_limit_cut_three_of_ten_runs():
    """Small form of `howsure horizon coverage --of limits`: scored is far too short; censored holds unless successes last longer; bounds always do."""
    found = coverage("limits", n_simulations=10).rows.filter(quantity="50 % horizon")
    at = {row["design"].replace("lasting ", "").replace(" limits ", ""): row for row in found.rows(named=True)}
    assert at["neither,scored"]["coverage"] < 0.3 > at["neither,scored"]["median_error"] + 1
    assert abs(at["neither,censored"]["median_error"]) < 0.4
    assert min(at["neither,censored"]["coverage"], at["failures,censored"]["coverage"]) > 0.75
    assert at["failures,drop"]["coverage"] < 0.7 > at["successes,censored"]["coverage"]
    assert min(at[f"{lasting},bounds"]["coverage"] for lasting in ("neither", "failures", "successes")) == 1


def test_what_has_no_bounds_is_refused(runs):
    with pytest.raises(OptionError, match="limits censored needs logistic curves"):
        time_horizons(runs, limits="censored", method="joint")
    with pytest.raises(OptionError, match="limits bounds leaves outcomes unknown"):
        crossvalidate(runs, limits="bounds")


def test_a_model_whose_known_runs_all_failed_may_have_any_horizon():
    rows = [("m", f"t{k}", 0.0, "token" if k < 2 else None, 2.0**k) for k in range(6)]
    frame = pl.DataFrame(rows, schema=["subject", "task", "score", "limit", "minutes"], orient="row")
    found = time_horizons(Attempts(frame), limits="bounds", n_replicates=0).minutes("m")
    assert (found.state, found.value) == ("undefined", None)
    assert "unknown" in found.reason
    assert time_horizons(Attempts(frame), limits="censored", n_replicates=0).minutes("m").state == "below_range"
    assert math.isfinite(time_horizons(Attempts(frame), n_replicates=0).minutes("m").value)


@pytest.mark.parametrize(("lasting", "is_warned"), [("successes", True), ("failures", False), ("neither", False)])
def test_censored_warns_where_successes_last_longer(lasting, is_warned):
    """There the estimate is too short, and the runs show it: those that succeed spend more than those that fail by themselves."""
    world = simulate_time({"one": 8.0, "two": 40.0}, n_families=30, n_tasks=2, n_runs=6, seed=5)
    runs = Attempts(simulate_limits(world, lasting=lasting, seed=5))
    for way in ("censored", "bounds"):
        notes = " ".join(model_counts(runs, limits=way).notes)
        assert ("too short. Use --limits bounds." in notes) == (is_warned and way == "censored")
