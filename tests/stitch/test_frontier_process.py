"""The frontier as a process that never falls: monotone, conditioned on today's best, calibrated in simulated data sets."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.stitch.forecasting.frontier import (
    AHEAD,
    FRONTIERS,
    Dated,
    _draw_months,
    draw_frontier,
    frontier_coverage,
    frontier_level,
    horizon_errors,
    simulate_frontier,
    summarise_horizons,
    years_of,
)

MONTHS = np.arange(1, 25) / 12


def test_the_frontier_is_the_best_so_far():
    days, capability = np.array([30, 10, 20]), np.array([3.0, 1.0, 0.5])
    found = frontier_level(days, capability, [5, 10, 25, 30, 99])
    assert np.isnan(found[0])
    assert found[1:].tolist() == [1.0, 1.0, 3.0, 3.0]


def test_draws_never_fall_and_start_at_todays_best():
    known = simulate_frontier("trend", 0).known
    draws = draw_frontier(known, MONTHS)
    assert draws.best == known.capability.max()
    assert (draws.gains >= 0).all()
    assert (np.diff(draws.gains, axis=1) >= 0).all()
    assert (draws.middle >= draws.best).all()
    assert (np.diff(draws.p_no_change) <= 0).all()


def test_no_change_is_the_most_likely_outcome_for_a_week_and_not_for_a_year():
    found = simulate_frontier("trend", 1)
    draws = draw_frontier(found.known, [0.02, 1.0], today=found.today)
    assert draws.p_no_change[0] > 0.8
    assert draws.p_no_change[1] < 0.3
    assert draws.middle[0] == draws.best


def test_the_interval_of_today_is_that_of_todays_best():
    found = simulate_frontier("trend", 2)
    low, high = draw_frontier(found.known, [1e-4], today=found.today).interval(0.9)
    top = found.known.drawn.max(axis=1)
    best = found.known.capability.max()
    # a basic bootstrap: the replicates mirrored at the estimate
    assert (low[0], high[0]) == pytest.approx(tuple(2 * best - np.quantile(top, [0.95, 0.05])), abs=0.03)


def test_without_replicates_the_interval_starts_at_todays_best():
    known = simulate_frontier("trend", 3).known
    sure = Dated(known.models, known.days, known.capability, np.empty((0, len(known.models))))
    assert draw_frontier(sure, MONTHS).interval(0.95)[0][0] == sure.capability.max()


def test_months_on_a_line_continue_on_it():
    past = -(np.arange(40) + 0.5) / 12
    rng = np.random.default_rng(0)
    future = (np.arange(24) + 0.5) / 12
    drawn = _draw_months(past, 0.9 * past + 0.05 * rng.normal(size=40), future, 4000, rng)
    assert np.median(drawn, axis=0) == pytest.approx(0.9 * future, abs=0.15)
    # further ahead is less certain
    assert drawn[:, 23].std() > 1.5 * drawn[:, 0].std()


def test_one_shape_is_the_regression_of_a_textbook(monkeypatch):
    # without deviations and bends the draws are those of the t prediction interval of least squares
    from howsure.stats.trends import fit_line

    monkeypatch.setattr("howsure.stitch.forecasting.frontier._LASTING", ())
    monkeypatch.setattr("howsure.stitch.forecasting.frontier._BENDS", (0.0,))
    rng = np.random.default_rng(1)
    past = -(np.arange(15) + 0.5) / 12
    newest = 0.7 * past + 0.2 * rng.normal(size=15)
    drawn = _draw_months(past, newest, np.array([0.5]), 60_000, rng)[:, 0]
    low, high = fit_line(past, newest).prediction([0.5], 0.9)
    assert np.quantile(drawn, [0.05, 0.95]) == pytest.approx([low[0], high[0]], abs=0.02)


def test_simulated_frontiers_are_covered_and_beat_no_change():
    found = frontier_coverage(30, kinds=("trend", "faster"), level=0.9)
    # 30 data sets: three Monte Carlo standard errors are 0.16
    assert found["coverage"].min() > 0.74
    assert found["coverage"].mean() > 0.88
    # what is needed is the share of the width that the intervals have to spare, or lack
    assert ((found["coverage"] >= 0.9) == (found["width_needed"] <= 1)).mean() > 0.8
    later = found.filter(pl.col("ahead").is_in(["6 months", "1 year", "2 years"]))
    assert (later["mae"] < later["mae_no_change"]).all()
    short = found.filter(ahead="1 month")
    assert (short["mae"] <= short["mae_no_change"] + 0.01).all()


def test_kinds_of_progress_differ_after_today_alone_or_before():
    rises = {}
    for kind in FRONTIERS:
        found = [simulate_frontier(kind, seed) for seed in range(3)]
        then = [
            frontier_level(f.days, f.capability, years_of(f.today) * 365.25 + np.array([-365, 0, 700])) for f in found
        ]
        rises[kind] = np.diff(np.mean(then, axis=0))
    assert (np.array(list(rises.values())) >= 0).all()
    assert rises["standstill"][1] < 0.5 * rises["trend"][1]
    assert rises["slower"][1] < rises["trend"][1] < rises["faster"][1]


def test_a_standstill_is_a_world_in_which_the_forecast_fails():
    found = frontier_coverage(30, kinds=("standstill",), level=0.9)
    assert found.filter(ahead="2 years")["coverage"][0] < 0.7
    assert found.filter(ahead="1 month")["coverage"][0] > 0.8


def test_errors_at_horizons_compare_process_line_and_no_change():
    found = simulate_frontier("trend", 4, ahead=0.6)
    today = Dated(tuple(map(str, range(len(found.days)))), found.days, found.capability, np.empty((0, len(found.days))))
    errors = horizon_errors(found.known, today, found.today, level=0.9)
    assert set(errors["ahead"]) == {"1 month", "3 months", "6 months"}
    assert set(errors["method"]) == {"process", "line", "no change"}
    assert errors.filter(method="no change")["low"].null_count() == 3
    summary = summarise_horizons(errors, 0.9)
    row = summary.filter(method="no change", ahead="6 months").row(0, named=True)
    actual = errors.filter(method="no change", ahead="6 months")["actual"][0]
    assert row["bias"] == pytest.approx(actual - found.known.capability.max())
    assert list(dict.fromkeys(summary["ahead"])) == [name for name in AHEAD.values() if name in set(summary["ahead"])]


def test_what_cannot_be_forecast_says_so():
    known = simulate_frontier("trend", 5).known
    short = known.days < known.days.min() + 200
    few = Dated(tuple(np.array(known.models)[short]), known.days[short], known.capability[short], known.drawn[:, short])
    with pytest.raises(InputError, match="months; a forecast of the frontier needs 12"):
        draw_frontier(few, [0.5])
    with pytest.raises(OptionError, match="positive and increasing"):
        draw_frontier(known, [0.5, 0.2])
    with pytest.raises(OptionError, match="kind of frontier"):
        simulate_frontier("sideways", 0)
    assert isinstance(simulate_frontier("random walk", 0).today, dt.date)
