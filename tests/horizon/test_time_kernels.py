"""The logistic fit: derivatives, the optimum, what has none, and that counts are drawn as runs would be."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import ks_2samp

from howsure.horizon.time_horizon.kernels import (
    ABSENT,
    FITTED,
    NO_FAILURE,
    NO_SLOPE,
    NO_SUCCESS,
    SEPARATED,
    derive,
    fit,
    plain_cost,
    refit,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x, weight = rng.uniform(0, 10, 40), rng.dirichlet(np.ones(40))
    a = weight * rng.uniform(size=40)
    return x, a, weight - a


@pytest.mark.parametrize("penalty", [0.0, 1e-5, 0.3])
def test_derivatives_are_those_of_the_cost(data, penalty):
    x, a, b = data
    at = np.array([0.7, -0.4])

    def cost(move):
        return plain_cost(x, a, b, penalty, *(at + move))

    step = 1e-4
    up, tilt = np.eye(2) * step
    first = [(cost(move) - cost(-move)) / (2 * step) for move in (up, tilt)]
    second = [(cost(move) - 2 * cost(0 * move) + cost(-move)) / step**2 for move in (up, tilt)]
    mixed = (cost(up + tilt) - cost(up - tilt) - cost(tilt - up) + cost(-up - tilt)) / (4 * step**2)
    found = derive(x, a, b, len(x), penalty, *at)
    assert found[:2] == pytest.approx(first, abs=1e-6)
    assert found[2:] == pytest.approx((second[0], mixed, second[1]), abs=1e-5)


@pytest.mark.parametrize("penalty", [0.0, 1e-5, 0.1])
@pytest.mark.parametrize("start", [(0.0, 0.0), (30.0, 8.0), (-5.0, -20.0)])
def test_the_fit_is_the_least_cost_from_any_start(data, penalty, start):
    x, a, b = data
    intercept, slope, outcome = fit(x, a, b, len(x), penalty, *start)
    best = minimize(lambda at: plain_cost(x, a, b, penalty, *at), (0, 0), tol=1e-12)
    assert outcome == (FITTED if slope < 0 else NO_SLOPE)
    assert (intercept, slope) == pytest.approx(best.x, abs=1e-4)
    assert derive(x, a, b, len(x), penalty, intercept, slope)[:2] == pytest.approx((0, 0), abs=1e-12)


X = np.array([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("rates", "penalty", "expected"),
    [
        ((0, 0, 0, 0), 1e-5, NO_SUCCESS),
        ((1, 1, 1, 1), 1e-5, NO_FAILURE),
        ((0.2, 0.4, 0.6, 0.8), 1e-5, NO_SLOPE),
        ((0, 0, 1, 1), 0.0, NO_SLOPE),
        ((0.5, 0.5, 0.5, 0.5), 1e-5, NO_SLOPE),
        ((1, 1, 0, 0), 0.0, SEPARATED),
        ((1, 1, 0.5, 0), 0.0, SEPARATED),
        ((1, 1, 0, 0), 1e-5, FITTED),
        ((1, 0.4, 0.6, 0), 0.0, FITTED),
    ],
)
def test_what_becomes_of_a_fit(rates, penalty, expected):
    a = np.array(rates) / 4
    intercept, slope, outcome = fit(X, a, 0.25 - a, 4, penalty, 0.0, 0.0)
    assert outcome == expected
    if expected == FITTED:
        assert slope < 0
        assert 1 < -intercept / slope < 4


def test_tasks_of_one_length_have_no_slope():
    assert fit(np.ones(4), np.full(4, 0.1), np.full(4, 0.15), 4, 1e-5, 0.0, 0.0)[2] == NO_SLOPE


def test_a_model_without_drawn_tasks_is_absent():
    n = np.array([[4, 0, 0, 0]])
    drawn = np.array([[0.0, 1, 1, 2], [2, 0, 1, 1]])
    weight = np.array([[1.0, 0, 0, 0]])
    outcomes = refit(drawn, X, n // 2, n, weight, np.zeros((1, 2)), 1e-5, True, np.random.default_rng(0))[2]
    assert outcomes.ravel().tolist() == [ABSENT, NO_SLOPE]


def test_drawing_counts_is_drawing_runs():
    rng = np.random.default_rng(3)
    k, s = np.array([6, 10, 4, 8]), np.array([5, 6, 1, 1])
    weight = np.full(4, 0.25)
    drawn = rng.multinomial(4, weight, size=1500).astype(float)
    ours = refit(drawn, X, s[None], k[None], weight[None], np.zeros((1, 2)), 0.01, True, rng)[1][:, 0]
    theirs = []
    for copies in rng.multinomial(4, weight, size=1500):
        # every copy of a task has its runs drawn from those that were seen
        rows = [
            (x, rng.choice(np.arange(n) < good, n).mean())
            for x, n, good, m in zip(X, k, s, copies, strict=True)
            for _ in range(m)
        ]
        x, rate = np.array(rows).T
        theirs.append(fit(x, rate / 4, (1 - rate) / 4, 4, 0.01, 0.0, 0.0)[1])
    ours, theirs = (np.nan_to_num(one, nan=9) for one in (ours, np.array(theirs)))
    assert ks_2samp(ours, theirs).pvalue > 0.01
    assert np.median(ours) < 0


def test_without_redrawing_runs_stay_as_they_were():
    s, k, weight = np.array([[3, 2, 1, 0]]), np.full((1, 4), 4), np.full((1, 4), 0.25)
    found = refit(np.ones((2, 4)), X, s, k, weight, np.zeros((1, 2)), 1e-5, False, np.random.default_rng(0))
    rate = s[0] / 4
    assert found[1].ravel() == pytest.approx(fit(X, rate / 4, (1 - rate) / 4, 4, 1e-5, 0.0, 0.0)[1])
