"""Intervals to compare many estimates with one another by eye: bars that do not overlap differ significantly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.stats._arrays import Floats, finite, normal_quantile, t_quantile

__all__ = ["QuasiVariances", "comparison_intervals", "quasi_variances"]

_LEAST = 1e-3  # of the mean variance of a difference: a quasi-variance is not smaller


class QuasiVariances(NamedTuple):
    """One number per estimate whose sums are about the variances of differences.

    ``worst`` is the largest relative error of a standard error of a difference that is computed from them.
    """

    values: Floats
    worst: float


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
) -> tuple[Floats, Floats]:
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
    low, high : array, shape (k,)
        The ends of the bars.
    """
    estimates = finite(values, "values")
    q = quasi_variances(covariance).values
    root = np.sqrt(q)
    first, second = np.triu_indices(len(q), 1)
    share = float(np.mean(np.sqrt(q[first] + q[second]) / (root[first] + root[second]))) if len(q) > 1 else 1.0
    quantile = normal_quantile(level) if np.isinf(df) else t_quantile(level, df)
    reach = share * quantile * root
    return estimates - reach, estimates + reach
