"""Means and differences over exactly these items: only repeats of an item make them uncertain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, aligned, check_level, codes, normal_quantile
from howsure.stats.means import Mean, mean, paired_difference, score_bounds

__all__ = ["fixed_bounds", "fixed_difference", "fixed_difference_bounds", "fixed_mean"]

_PART_OF_A_TOSS = 0.0625  # a quarter of the variance of one toss of a coin


def fixed_mean(means: ArrayLike, n: ArrayLike, spread: ArrayLike, *, strata: Any = None, level: float = 0.95) -> Mean:
    r"""The mean over exactly these items of scores from 0 to 1, from the repeats of each item.

    .. math:: V = \sum_i \frac{w_i^2 s_i^2}{K_i}, \qquad
              \varphi = \min\Big(\frac{V + e}{V_0 + e}, 1\Big), \qquad
              df = \frac{2 V^2}{\sum_i (w_i^2 s_i^2 / K_i)^2} + 2

    The variance V comes from the variances :math:`s_i^2` within items. If all repeats were independent with the same chance, it
    would be V₀ = x̄(1 − x̄) Σ w²/K, and it is never above that in expectation. φ is the ratio of the two, with e = 1/16 of the mean
    w²/K in both, so that it is 1 where nothing varies. The interval is Wilson's with 1/(φ Σ w²/K) trials and a t quantile, and
    never wider than with φ = 1 and a normal quantile, which is conservative. An item that was tried once counts with the variance
    x̄(1 − x̄) of its stratum. Where no item was repeated, the variance within items is not identified: the interval is that of
    `howsure.stats.means.mean`, which includes the variance between items and is conservative here.

    Parameters
    ----------
    means, n, spread : array
        Mean, number and sum of squared deviations of the scores of each item.
    strata : array of labels, optional
        The mean of the strata's means is taken, each counting once.
    level : float, default 0.95
        Coverage of the interval, between 0 and 1.
    """
    check_level(level)
    means, n, spread = _checked(means, n, spread)
    if (n == 1).all():
        return mean(means, strata=strata, level=level)
    side = _Side.of(means, n, spread, strata)
    low, high = (float(end) for end in side.ends(float(stdtrit(side.df, (1 + level) / 2)), level))
    value, se = float(side.value), float(np.sqrt(side.variance))
    return Mean(Estimate(value, low, high, level), se, int(n.sum()), len(means), float(side.df))


def fixed_difference(
    a: tuple[ArrayLike, ArrayLike, ArrayLike],
    b: tuple[ArrayLike, ArrayLike, ArrayLike],
    *,
    strata: Any = None,
    level: float = 0.95,
) -> Mean:
    """The difference a − b over exactly these items; given the items, the two sides are independent.

    The interval joins those of the two means by squares (Newcombe 1998), with one t quantile whose degrees of freedom are
    Satterthwaite's for the sum of the two variances. Where neither side repeated an item, it is that of
    `howsure.stats.means.paired_difference`, which includes the variance between items and is conservative here.

    Parameters
    ----------
    a, b : (means, n, spread)
        As in `fixed_mean`, for the same items in the same order.
    strata : array of labels, optional
        The mean of the strata's mean differences is taken, each counting once.
    level : float, default 0.95
        Coverage of the interval, between 0 and 1.
    """
    check_level(level)
    first, second = _checked(*a), _checked(*b)
    if len(first[0]) != len(second[0]):
        raise InputError(f"Lengths differ: {len(first[0]):,} items of a, {len(second[0]):,} of b. Give the same items.")
    if (first[1] == 1).all() and (second[1] == 1).all():
        return paired_difference(first[0], second[0], strata=strata, level=level)
    sides = _Side.of(*first, strata), _Side.of(*second, strata)
    (low, high), (se, df) = _joined(*sides, level)
    value, cautious = float(sides[0].value - sides[1].value), float(np.sqrt(sum(side.cautious for side in sides)))
    return Mean(
        Estimate(value, float(low), float(high), level),
        float(se),
        int(first[1].sum() + second[1].sum()),
        len(first[0]),
        float(df),
        p_positive=float(stdtr(df, value / cautious)) if cautious else None,
    )


def fixed_bounds(means: Floats, n: Floats, spread: Floats, level: float) -> tuple[Floats, Floats]:
    """The ends of `fixed_mean` of repeated items, one per row of tables with one column per item."""
    side = _Side.of(means, n, spread)
    return side.ends(stdtrit(side.df, (1 + level) / 2), level)


def fixed_difference_bounds(
    a: tuple[Floats, Floats, Floats], b: tuple[Floats, Floats, Floats], level: float
) -> tuple[Floats, Floats]:
    """The ends of `fixed_difference` of repeated items, one per row of tables with one column per item."""
    return _joined(_Side.of(*a), _Side.of(*b), level)[0]


class _Side(NamedTuple):
    """A mean over fixed items: V, its degrees of freedom, V with e added, φ and the number of trials 1/Σ(w²/K)."""

    value: Floats
    variance: Floats
    df: Floats
    cautious: Floats
    ratio: Floats
    n_trials: Floats

    @classmethod
    def of(cls, means: Floats, n: Floats, spread: Floats, strata: Any = None) -> _Side:
        """Items along the last axis."""
        stratum = np.zeros(means.shape[-1], np.int64) if strata is None else codes(strata, "strata")
        sizes = np.bincount(stratum)
        weight = 1 / sizes[stratum] / len(sizes)
        n = np.broadcast_to(n, means.shape)
        inside = np.stack([means[..., stratum == s].mean(-1) for s in range(len(sizes))], axis=-1)
        trials = np.stack([n[..., stratum == s].sum(-1) for s in range(len(sizes))], axis=-1)
        smoothed = (inside * trials + 0.5) / (trials + 1)
        at_most = (inside * (1 - inside))[..., stratum]
        within = np.where(n > 1, spread / np.maximum(n - 1, 1), at_most)
        part = weight**2 / n
        variance, squares = (part * within).sum(-1), ((part * within) ** 2).sum(-1)
        extra = _PART_OF_A_TOSS * part.mean(-1)
        ratio = np.minimum((variance + extra) / ((part * at_most).sum(-1) + extra), 1.0)
        df = 2 * np.divide(variance**2, squares, out=np.zeros_like(squares), where=squares > 0) + 2
        # over several strata the binomial variance is that of each stratum around its own mean
        overall, of_strata = smoothed.mean(-1), (smoothed * (1 - smoothed))[..., stratum]
        n_trials = overall * (1 - overall) / (part * of_strata).sum(-1)
        return cls(means @ weight, variance, df, variance + extra, ratio, n_trials)

    def ends(self, quantile: float | Floats, level: float) -> tuple[Floats, Floats]:
        """Wilson's interval with φ times the stretch of independent trials, and never wider than those give."""
        widest = normal_quantile(level)
        reach = np.minimum(np.square(quantile) * self.ratio, widest**2)
        return score_bounds(self.value, self.n_trials, np.sqrt(reach))


def _joined(a: _Side, b: _Side, level: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Ends of the difference, and its standard error and degrees of freedom."""
    total = a.cautious + b.cautious
    df = total**2 / (a.cautious**2 / a.df + b.cautious**2 / b.df)
    quantile = stdtrit(df, (1 + level) / 2)
    (low_a, high_a), (low_b, high_b) = a.ends(quantile, level), b.ends(quantile, level)
    value = a.value - b.value
    ends = value - np.hypot(a.value - low_a, high_b - b.value), value + np.hypot(high_a - a.value, b.value - low_b)
    return ends, (np.sqrt(a.variance + b.variance), df)


def _checked(means: ArrayLike, n: ArrayLike, spread: ArrayLike) -> tuple[Floats, Floats, Floats]:
    means, n, spread = aligned(means=means, n=n, spread=spread)
    if not len(means):
        raise InputError("There is no item. Give at least 1.")
    if (n < 1).any():
        raise InputError("n: an item without an attempt. Remove it.")
    if (means < -1e-9).any() or (means > 1 + 1e-9).any():
        raise InputError("With fixed items, scores must be between 0 and 1. Rescale them.")
    return np.clip(means, 0, 1), n, spread
