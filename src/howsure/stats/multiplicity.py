"""P-values of many tests at once: adjusted, so that each can be compared with the level as if it were the only one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.stats._arrays import Floats, finite, normal_quantile, t_quantile

__all__ = [
    "ComparisonIntervals",
    "QuasiVariances",
    "benjamini_hochberg",
    "comparison_intervals",
    "holm",
    "quasi_variances",
    "step_down_max",
]


def holm(p: ArrayLike) -> Floats:
    """P-values adjusted so that the probability of any false finding is at most the level, whatever the dependence.

    The i-th smallest of m is multiplied by m − i + 1 and never falls below a smaller one's. Holm (1979). The order is kept.
    """
    values = _checked(p)
    order = np.argsort(values)
    factors = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1)
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """P-values adjusted so that the expected share of false findings among all findings is at most the level.

    The i-th smallest of m is multiplied by m/i and never exceeds a larger one's. Holds for independent or positively dependent
    tests. Benjamini and Hochberg (1995). The order is kept.
    """
    values = _checked(p)
    if not len(values):
        return values
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(values, method="bh"))


def step_down_max(statistics: ArrayLike, draws: ArrayLike) -> Floats:
    r"""P-values of many correlated directional tests, by the maximum of their statistics under the null hypothesis.

    Each statistic belongs to two one-sided hypotheses, θ ≤ 0 and θ ≥ 0. The probability that any true one of all of these is
    rejected is at most the level, so the direction of a significant difference may be stated too. With the statistics ordered
    :math:`t_1 \ge t_2 \ge \dots` by size, each oriented so that it is positive, the k-th p-value is the share of draws with

    .. math:: \max\big( \max_{l \ge k} |t^*_l|, \; \max_{l < k} -t^*_l \big) \ge t_k

    and never below an earlier one: hypotheses that are rejected already leave the maximum. It uses the correlation of the
    tests, so it rejects more than Holm's correction. Westfall and Young (1993), Romano and Wolf (2005).

    Parameters
    ----------
    statistics : array, shape (n_tests,)
        Standardised estimates, 0 under the null hypothesis.
    draws : array, shape (n_draws, n_tests)
        The statistics in data sets drawn under the null hypothesis, all tests together in each.

    Returns
    -------
    array, shape (n_tests,)
        Adjusted p-values, in the order given; 1 / (n_draws + 1) is the smallest.
    """
    observed, drawn = finite(statistics, "statistics"), np.asarray(draws)
    if drawn.ndim != 2 or drawn.shape[1] != len(observed):
        raise InputError(f"draws: shape {drawn.shape} where (n_draws, {len(observed)}) is needed.")
    order = np.argsort(-np.abs(observed), kind="stable")
    oriented = drawn[:, order] * np.where(observed[order] < 0, -1, 1).astype(drawn.dtype)
    largest = np.maximum.accumulate(np.abs(oriented)[:, ::-1], axis=1)[:, ::-1]
    opposite = np.maximum.accumulate(-oriented[:, :-1], axis=1)
    largest[:, 1:] = np.maximum(largest[:, 1:], opposite)
    # the same sum in another order may differ by rounding
    sizes = np.abs(observed[order]) * (1 - 1e-6)
    p = (1 + (largest >= sizes).sum(axis=0)) / (1 + len(drawn))
    adjusted = np.empty(len(observed))
    adjusted[order] = np.maximum.accumulate(p)
    return adjusted


def _checked(p: ArrayLike) -> Floats:
    values = finite(p, "p")
    outside = (values < 0) | (values > 1)
    if outside.any():
        first = int(np.argmax(outside))
        raise InputError(f"p: {values[first]:g} at position {first} is not between 0 and 1. Give p-values.")
    return values


# Intervals to compare many estimates with one another by eye: bars that do not overlap differ significantly.


_LEAST = 1e-3  # of the mean variance of a difference: a quasi-variance is not smaller


class QuasiVariances(NamedTuple):
    """One number per estimate whose sums are about the variances of differences.

    ``worst`` is the largest relative error of a standard error of a difference that is computed from them.
    """

    values: Floats
    worst: float


class ComparisonIntervals(NamedTuple):
    """Ends of the bars, and ``agreement``: the share of pairs of which the bars say the same as the test of their difference."""

    low: Floats
    high: Floats
    agreement: float


def quasi_variances(covariance: ArrayLike) -> QuasiVariances:
    r"""Quasi-variances q of k estimates: q_i + q_j is about the variance of their difference, for all pairs (Firth and de Menezes 2004).

    .. math:: \min_q \sum_{i<j} \big(\log(q_i + q_j) - \log V_{ij}\big)^2, \qquad V_{ij} = C_{ii} + C_{jj} - 2 C_{ij}

    They do not depend on the zero of the scale. With three estimates they are exact.

    Parameters
    ----------
    covariance : array, shape (k, k)
        Covariance of the estimates, in any identification constraint.

    Returns
    -------
    QuasiVariances
        Values that are at least 0.001 times the mean variance of a difference, and their worst error.

    Examples
    --------
    >>> quasi_variances([[2.0, 0.5, 0.5], [0.5, 1.5, 0.5], [0.5, 0.5, 1.0]]).values.round(3).tolist()
    [1.5, 1.0, 0.5]
    """
    matrix = np.asarray(covariance, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise InputError(f"covariance: a finite square matrix is needed, not shape {matrix.shape}.")
    k = len(matrix)
    if k < 2:
        return QuasiVariances(np.diag(matrix).copy(), 0.0)
    variance = np.diag(matrix)[:, None] + np.diag(matrix) - 2 * matrix
    pairs = np.triu_indices(k, 1)
    target = variance[pairs]
    if (target <= 0).any():
        raise InputError("covariance: two estimates have a difference without variance. Leave one of them out.")
    if k == 2:
        return QuasiVariances(np.full(2, target[0] / 2), 0.0)
    least = _LEAST * float(target.mean())
    # the means of a row of V are q_i + the mean of the others: a start that is exact where the sums are
    row = variance.sum(axis=1)
    q = np.maximum((row - variance.sum() / (2 * (k - 1))) / (k - 2), least)
    for _ in range(100):
        total = q[pairs[0]] + q[pairs[1]]
        rest, slope = np.log(target / total), 1 / total
        # Gauss–Newton: the rows of the Jacobian are 1/(q_i + q_j) at i and at j
        squares = np.zeros((k, k))
        np.add.at(squares, (pairs[0], pairs[1]), slope**2)
        squares += squares.T
        squares[np.diag_indices(k)] = squares.sum(axis=1)
        right = np.bincount(pairs[0], slope * rest, k) + np.bincount(pairs[1], slope * rest, k)
        held = (q <= least) & (right < 0)
        squares[held], right[held] = 0, 0
        squares[held, held] = 1
        step = np.linalg.solve(squares, right)
        q = np.maximum(q + step, least)
        if np.abs(step).max() < 1e-12 * q.max():
            break
    ratio = np.sqrt((q[pairs[0]] + q[pairs[1]]) / target)
    return QuasiVariances(q, float(np.abs(ratio - 1).max()))


def comparison_intervals(
    values: ArrayLike, covariance: ArrayLike, level: float = 0.95, df: float = np.inf
) -> ComparisonIntervals:
    r"""Bars for a chart: two that do not overlap belong to estimates that differ significantly, and conversely, up to an approximation.

    .. math:: \hat\theta_i \pm c\,t\,\sqrt{q_i}, \qquad
              c = \text{mean over pairs of } \frac{\sqrt{q_i + q_j}}{\sqrt{q_i} + \sqrt{q_j}}

    q are the quasi-variances, t is the quantile of the level. c is 0.71 for equal q, and larger for unequal ones (Goldstein and Healy 1995). A single bar is not an
    interval for its value: it is only to be compared with other bars, and no correction for many pairs is made.

    Parameters
    ----------
    values : array, shape (k,)
        The estimates.
    covariance : array, shape (k, k)
        Their covariance.
    level : float, default 0.95
        1 − the significance level of the test of one pair.
    df : float, default inf
        Degrees of freedom of the t quantile.

    Returns
    -------
    ComparisonIntervals
        The ends of the bars, shape (k,), and for which share of pairs they say the same as the test of that pair; NaN for a single estimate.
    """
    estimates, matrix = finite(values, "values"), np.asarray(covariance, dtype=np.float64)
    q = quasi_variances(matrix).values
    root = np.sqrt(q)
    first, second = np.triu_indices(len(q), 1)
    share = float(np.mean(np.sqrt(q[first] + q[second]) / (root[first] + root[second]))) if len(q) > 1 else 1.0
    quantile = normal_quantile(level) if np.isinf(df) else t_quantile(level, df)
    reach = share * quantile * root
    variance = matrix[first, first] + matrix[second, second] - 2 * matrix[first, second]
    distance = np.abs(estimates[first] - estimates[second])
    is_same = (distance > reach[first] + reach[second]) == (distance > quantile * np.sqrt(variance))
    agreement = float(is_same.mean()) if len(q) > 1 else float("nan")
    return ComparisonIntervals(estimates - reach, estimates + reach, agreement)
