"""When horizons reach a length: an exact line, shapes that are recognised, back-tests, targets in working time."""

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.horizon import fit_horizon_trend, forecast_horizons
from howsure.horizon.time_horizon.forecasting import SHAPES, parse_length
from howsure.horizon.time_horizon.published import DatedHorizons, dated_horizons

DAY = datetime.date(2020, 1, 1)
PUBLISHED = Path(__file__).parents[3] / "shared/data/metr/published_horizons_1_0.yaml"


def dated(log2_minutes, days, drawn=None):
    frame = pl.DataFrame(
        {
            "model": [f"m{k}" for k in range(len(days))],
            "released": [DAY + datetime.timedelta(days=int(day)) for day in days],
            "minutes": np.exp2(log2_minutes),
        }
    ).with_columns(pl.lit(None, pl.Float64).alias("minutes_low"), pl.lit(None, pl.Float64).alias("minutes_high"))
    bare = np.empty((0, len(days))) if drawn is None else drawn
    return DatedHorizons(frame, bare, np.tile([-np.inf, np.inf], (len(days), 1)), 0.5)


def test_an_exact_line_goes_on():
    days = np.arange(12) * 100.0
    found = forecast_horizons(dated(days / 200 + np.tile([0, 0.01], 6), days), targets=(2.0**9,))
    row = found.reached.row(0, named=True)
    expected = DAY + datetime.timedelta(days=1800)
    assert abs((row["date"] - expected).days) < 40
    assert row["date_low"] < expected < row["date_high"]
    n, total = found.past_coverage
    assert total == 8
    assert n >= 7


@pytest.mark.parametrize("shape", ["accelerating", "saturating"])
def test_a_bend_is_recognised(shape):
    rng, t = np.random.default_rng(3), np.linspace(0, 1, 24)
    y = 8 * t**2 if shape == "accelerating" else 8 * (1 - np.exp(-t / 0.6))
    found = forecast_horizons(dated(y + rng.normal(0, 0.03, 24), 2000 * t))
    weights = dict(zip(found.shapes["shape"], found.shapes["weight"], strict=True))
    assert sum(weights.values()) == pytest.approx(1)
    assert weights[shape] > weights["linear"]
    dates = {row["shape"]: row["date"] or datetime.date.max for row in found.shapes.rows(named=True)}
    assert (dates[shape] < dates["linear"]) == (shape == "accelerating")


def test_a_target_that_was_reached_has_its_date():
    days = np.arange(8) * 100.0
    row = forecast_horizons(dated(days / 100, days), targets=(4.0,)).reached.row(0, named=True)
    assert (row["is_reached"], row["date"]) == (True, DAY + datetime.timedelta(days=200))


def test_intervals_contain_the_date_in_simulated_trends():
    rng, held, past = np.random.default_rng(5), [], []
    for seed in range(6):
        days = np.sort(rng.uniform(0, 2000, 14))
        y = days / 200 + rng.normal(0, 0.25, 14)
        found = forecast_horizons(dated(y, days), targets=(2.0**13,), seed=seed)
        row = found.reached.row(0, named=True)
        truth = DAY + datetime.timedelta(days=2600)
        held.append((row["date_low"] or datetime.date.max) <= truth <= (row["date_high"] or datetime.date.max))
        past.append(found.past_coverage)
    assert np.mean(held) >= 0.8
    covered, total = np.sum(past, axis=0)
    assert covered / total >= 0.9


def test_errors_of_the_horizons_widen_the_interval():
    rng, days = np.random.default_rng(1), np.arange(10) * 150.0
    y = days / 200 + rng.normal(0, 0.1, 10)
    drawn = y + rng.normal(0, 0.001, (400, 1)) * (days - days.mean())
    exact, noisy = (forecast_horizons(dated(y, days, some)).reached.row(0, named=True) for some in (None, drawn))
    width = [row["date_high"] - row["date_low"] for row in (exact, noisy)]
    assert width[1] > 1.3 * width[0]


def test_lengths_are_working_time():
    assert [parse_length(text) for text in ("90", "4h", "2 hours", "1day", "1 week", "month", "1year")] == [
        *(90, 240, 120, 480, 2400, 10_020, 120_240),
    ]
    for text in ("soon", "-4h", "4 parsecs", ""):
        with pytest.raises(OptionError, match="is not a length"):
            parse_length(text)
    with pytest.raises(InputError, match="a forecast needs 4"):
        forecast_horizons(dated([1, 2, 3], [0, 100, 200]))


def test_the_published_horizons():
    if not PUBLISHED.is_file():
        pytest.skip("the published horizons are not here")
    found = forecast_horizons(dated_horizons(PUBLISHED), targets=(480.0, 10_020.0))
    assert found.shapes["shape"].to_list() == list(SHAPES)
    day, month = found.reached.rows(named=True)
    assert datetime.date(2026, 1, 1) < day["date"] < datetime.date(2027, 6, 1)
    assert day["date"] < month["date"] < datetime.date(2030, 1, 1)
    n, total = found.past_coverage
    assert n / total > 0.8


def test_no_date_lies_before_the_last_model():
    """A later model beside the frontier has not reached the length either; the lower limit was a year before its release."""
    rows = [(f"m{k}", DAY + datetime.timedelta(days=200 * k), 2.0**k) for k in range(7)]
    last = DAY + datetime.timedelta(days=1700)
    frame = pl.DataFrame([*rows, ("late", last, 3.0)], schema=["model", "released", "minutes"], orient="row")
    row = forecast_horizons(dated_horizons(frame), targets=(70.0,)).reached.row(0, named=True)
    assert not row["is_reached"]
    assert last <= row["date_low"] <= row["date"]


@pytest.mark.filterwarnings("error")
def test_intervals_that_reach_beyond_floats_leave_bands_open():
    """exp2 overflowed, with a warning and infinite minutes."""
    ends = {"minutes_low": [1e-300, 1e-200, 1e-100, 0.1, 0.1], "minutes_high": [1e300, 1e200, 1e300, 20.0, 200.0]}
    minutes = [1.0, 1.0001, 1.0002, 1.0003, 1.0004]
    for step in (365, 1):
        released = [DAY + datetime.timedelta(days=step * k) for k in range(5)]
        frame = pl.DataFrame({"model": [f"m{k}" for k in range(5)], "released": released, "minutes": minutes, **ends})
        horizons = dated_horizons(frame)
        path = fit_horizon_trend(horizons).path
        assert path["minutes_high"].null_count() > 0
        assert path["minutes_high"].drop_nulls().is_finite().all()
        ahead = forecast_horizons(horizons, targets=(1000.0,)).path["minutes_high"]
        assert ahead.drop_nulls().is_finite().all()
        assert (ahead.null_count() > 0) == (step == 1)
