"""P-values of many tests at once: adjusted, so that each can be compared with the level as if it were the only one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.stats._arrays import Floats, finite

__all__ = ["benjamini_hochberg", "holm", "step_down_max"]


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
