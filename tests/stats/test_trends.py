import csv
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
import statsmodels.api as sm

from howsure.errors import InputError, OptionError
from howsure.stats.trends import fit_censored_lines, fit_line

FRONTIER = Path(__file__).parents[2] / "../shared/reference/stitch_paper/frontier.csv"


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    x = rng.uniform(2020, 2026, 14)
    return x, 3 + 0.5 * (x - 2022) + rng.normal(0, 0.4, 14), rng.uniform(0.5, 3, 14)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_statsmodels_agrees(points, is_weighted):
    x, y, w = points
    line = fit_line(x, y, weights=w if is_weighted else None, level=0.9)
    fitted = sm.WLS(y, sm.add_constant(x), weights=w if is_weighted else 1.0).fit()
    (low_0, high_0), (low_1, high_1) = fitted.conf_int(0.1)
    assert (line.intercept.value, line.slope.value) == pytest.approx(fitted.params)
    assert (line.intercept.low, line.intercept.high) == pytest.approx((low_0, high_0))
    assert (line.slope.low, line.slope.high) == pytest.approx((low_1, high_1))
    assert (line.r2, line.sigma**2) == pytest.approx((fitted.rsquared, fitted.scale))
    ahead = np.array([2019.0, 2023.5, 2030.0])
    told = fitted.get_prediction(sm.add_constant(ahead)).summary_frame(0.1)
    np.testing.assert_allclose(line.predict(ahead), told["mean"])
    np.testing.assert_allclose(line.confidence(ahead, 0.9), [told["mean_ci_lower"], told["mean_ci_upper"]])
    np.testing.assert_allclose(line.prediction(ahead, 0.9), [told["obs_ci_lower"], told["obs_ci_upper"]])


def test_published_frontier():
    """Published: slope 0.559 a year, R² 0.907, 3.316 [3.006, 3.625] for the line on 2026-11-30. Years are days / 365.25."""
    if not FRONTIER.exists():
        pytest.skip("the reference data are not here")
    with FRONTIER.open() as file:
        rows = list(csv.DictReader(file))
    years = [date.fromisoformat(row["date"]).toordinal() / 365.25 for row in rows]
    line = fit_line(years, [float(row["capability"]) for row in rows])
    ahead = date(2026, 11, 30).toordinal() / 365.25
    assert line.n == 12
    assert line.slope.value == pytest.approx(0.5588, abs=5e-5)
    assert line.r2 == pytest.approx(0.9068, abs=5e-5)
    assert float(line.predict(ahead)) == pytest.approx(3.316, abs=5e-4)
    assert line.confidence(ahead) == pytest.approx((3.006, 3.625), abs=5e-4)
    assert line.prediction(ahead) == pytest.approx((2.846, 3.785), abs=5e-4)


def test_shifted_years_give_the_same_line(points):
    x, y, _ = points
    near, far = fit_line(x - 2022, y), fit_line(x + 1e6, y)
    assert far.slope.value == pytest.approx(near.slope.value, rel=1e-7)
    assert far.predict(2025 + 1e6) == pytest.approx(near.predict(3.0))


def test_two_points_have_a_line_without_interval():
    line = fit_line([0, 1], [1, 3])
    assert (line.slope.value, line.slope.state, line.slope.low) == (2.0, "too_few", None)
    assert (line.intercept.value, line.sigma, line.r2) == (1.0, None, 1.0)
    low, high = line.confidence([2, 3])
    np.testing.assert_array_equal((low, high), [[-np.inf] * 2, [np.inf] * 2])
    np.testing.assert_allclose(line.predict([2, 3]), [5, 7])


def test_a_flat_line_has_no_r2():
    line = fit_line([0, 1, 2], [4, 4, 4])
    assert (line.slope.value, line.r2, line.sigma) == (0.0, None, 0.0)


@pytest.mark.parametrize(
    ("arrays", "weights", "text"),
    [
        (([], []), None, "0 points"),
        (([1], [1]), None, "1 points at 1 values of x"),
        (([2, 2, 2], [1, 2, 3]), None, "3 points at 1 values of x make no line"),
        (([1, 2], [1, np.nan]), None, "y: 1 of 2"),
        (([1, 2], [1]), None, "Lengths differ"),
        (([1, 2], [1, 2]), [1], "Lengths differ"),
        (([1, 2], [1, 2]), [1, 0], "weights: 0 at position 1"),
    ],
)
def test_wrong_input_is_named(arrays, weights, text):
    with pytest.raises(InputError, match=text):
        fit_line(*arrays, weights=weights)


def test_level_is_checked(points):
    with pytest.raises(OptionError, match="level 95"):
        fit_line(*points[:2]).confidence(0, 95)


def test_bands_cover_at_their_level():
    rng = np.random.default_rng(1)
    x, ahead, n_simulations = np.arange(6.0), 9.0, 1000
    line_held = point_held = 0
    for _ in range(n_simulations):
        line = fit_line(x, 1 - 2 * x + rng.normal(0, 1, 6))
        low, high = line.confidence(ahead)
        line_held += low < 1 - 2 * ahead < high
        low, high = line.prediction(ahead)
        point_held += low < 1 - 2 * ahead + rng.normal() < high
    assert 0.93 < line_held / n_simulations < 0.97
    assert 0.93 < point_held / n_simulations < 0.97


def test_censored_lines_have_the_largest_likelihood():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 8))
    low = high = 1 + 0.5 * x + rng.normal(0, 0.4, 8)
    low, high = low.copy(), high.copy()
    low[6:], high[6:] = (3.0, 4.0), np.inf
    low[0], high[0] = -np.inf, 1.5
    low[3], high[3] = -np.inf, np.inf
    is_known = low == high

    def loss(line):
        middle, sd = line[0] + line[1] * x, np.exp(line[2])
        known = scipy.stats.norm.logpdf(low[is_known], middle[is_known], sd)
        ends = [scipy.stats.norm.cdf(end[~is_known], middle[~is_known], sd) for end in (high, low)]
        return -known.sum() - np.log(ends[0] - ends[1]).sum()

    best = scipy.optimize.minimize(
        loss, [1, 0.5, -1], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 5000}
    )
    slopes, filled = fit_censored_lines(x, [low, np.full(8, -np.inf)], [high, np.full(8, np.inf)])
    assert slopes[0] == pytest.approx(best.x[1], rel=1e-5)
    assert np.isnan(slopes[1])
    np.testing.assert_array_equal(filled[0, is_known], low[is_known])
    assert ((filled[0] >= low) & (filled[0] <= high)).all()
    exact, _ = fit_censored_lines(x, [2 * x], [2 * x])
    assert exact[0] == pytest.approx(2)
