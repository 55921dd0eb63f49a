"""Quasi-variances: exact for three estimates, published for six, and the bars that they make."""

import numpy as np
import pytest
from scipy.optimize import minimize

from howsure.errors import InputError
from howsure.stats.multiplicity import comparison_intervals, quasi_variances


def random_covariance(k, seed):
    root = np.random.default_rng(seed).normal(size=(k, k + 3))
    return root @ root.T


def test_three_estimates_are_exact():
    c = random_covariance(3, 0)
    v = np.diag(c)[:, None] + np.diag(c) - 2 * c
    expected = [(v[0, 1] + v[0, 2] - v[1, 2]) / 2, (v[0, 1] + v[1, 2] - v[0, 2]) / 2, (v[0, 2] + v[1, 2] - v[0, 1]) / 2]
    found = quasi_variances(c)
    assert found.values == pytest.approx(expected, rel=1e-9)
    assert found.worst == pytest.approx(0, abs=1e-9)


def test_independent_estimates_keep_their_variances_whatever_is_the_zero():
    variances = np.array([0.5, 1.0, 2.0, 0.1, 3.0])
    shift = np.eye(5) - 1 / 5
    assert quasi_variances(np.diag(variances)).values == pytest.approx(variances, rel=1e-8)
    assert quasi_variances(shift @ np.diag(variances) @ shift).values == pytest.approx(variances, rel=1e-8)


def test_they_are_the_least_squares_of_the_logarithms():
    c = random_covariance(7, 1)
    i, j = np.triu_indices(7, 1)
    v = c[i, i] + c[j, j] - 2 * c[i, j]

    def loss(log_q):
        q = np.exp(log_q)
        return ((np.log(q[i] + q[j]) - np.log(v)) ** 2).sum()

    best = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-9})
    found = quasi_variances(c).values
    assert loss(np.log(found)) == pytest.approx(best.fun, abs=1e-7)


def test_bars_of_equal_variances_touch_at_the_significance_limit():
    low, high, _ = comparison_intervals([0.0, 1.0], np.eye(2), 0.95)
    assert high[0] - low[0] == pytest.approx(1.959964 * np.sqrt(2), rel=1e-6)
    low, high, _ = comparison_intervals([0.0, 1.959964 * np.sqrt(2)], np.eye(2), 0.95)
    assert high[0] == pytest.approx(low[1], rel=1e-6)


def test_overlap_agrees_with_the_tests_of_pairs():
    """Of replicates with a large shared error, which cancels in differences; the share is counted pair by pair."""
    rng = np.random.default_rng(4)
    value, sd = rng.normal(0, 3, 40), rng.uniform(0.5, 1.5, 40)
    drawn = value + 2 * rng.standard_normal((2000, 1)) + sd * rng.standard_normal((2000, 40))
    c = np.cov(drawn.T)
    low, high, agreement = comparison_intervals(value, c, 0.9)
    same = [
        (max(low[i], low[j]) > min(high[i], high[j]))
        == (abs(value[i] - value[j]) > 1.644854 * np.sqrt(c[i, i] + c[j, j] - 2 * c[i, j]))
        for i in range(40)
        for j in range(i)
    ]
    assert agreement == pytest.approx(np.mean(same))
    assert 0.95 < agreement < 1


def test_a_single_estimate_has_no_pairs():
    assert np.isnan(comparison_intervals([1.0], [[1.0]]).agreement)


def test_what_has_no_variance_is_refused():
    with pytest.raises(InputError, match="without variance"):
        quasi_variances(np.ones((3, 3)))
    with pytest.raises(InputError, match="square"):
        quasi_variances([[1.0, 2.0]])
