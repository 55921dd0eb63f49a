"""One-sided limits of a paired difference that hold where few pairs differ: is it above −margin, is it below 0?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, ndtr, stdtr, stdtrit

from howsure.stats._arrays import Floats, hall_quantile, hall_statistic

__all__ = ["FEW_FLIPS", "Flips", "Smoothed"]

FEW_FLIPS = 10
"""Below this number of pairs that differ, limits are at least as wide as the exact ones."""

_LARGE = 0.25  # share of the largest possible difference from which a cluster differs much
_FEW_LARGE = 3  # with fewer such clusters, rare large losses may not have been seen


@dataclass(frozen=True)
class Flips:
    r"""Pairs of single right-or-wrong answers: how many changed for the better, how many for the worse, of how many.

    The limits are Tango's (1998) score limits: the values d at which

    .. math:: z(d) = \frac{g - l - nd}{\sqrt{n\,(2\hat q + d(1-d))}}

    reaches the normal quantile, with q̂ the estimate of the share of losses given d. With fewer than 10 flips they are at least as wide
    as two exact limits: that of McNemar's test (given the number of flips), and, where all flips go one way, Clopper and Pearson's limit of
    their share. So n pairs without a flip have the lower limit −(1 − α^{1/n}): 149 pairs exclude a drop of 0.02, 148 do not.

    Parameters
    ----------
    gains, losses : array
        Number of pairs in which the first is right and the second wrong, and the reverse; entry by entry.
    n : float
        Number of pairs.
    """

    gains: Floats
    losses: Floats
    n: float

    @classmethod
    def of(cls, gains: ArrayLike, losses: ArrayLike, n: float) -> Flips:
        """Counts as numbers or arrays."""
        return cls(np.asarray(gains, dtype=np.float64), np.asarray(losses, dtype=np.float64), float(n))

    @property
    def value(self) -> Floats:
        """The difference of the two shares of right answers."""
        return (self.gains - self.losses) / self.n

    def swapped(self) -> Flips:
        """The same pairs with the sides exchanged."""
        return Flips(self.losses, self.gains, self.n)

    def low(self, level: float) -> Floats:
        """The one-sided lower limit."""
        below, above = np.full_like(self.value, -1.0), self.value.copy()
        for _ in range(44):  # halving: 2/2^44 is the last digit that matters
            middle = (below + above) / 2
            is_excluded = self.p_below(middle) < 1 - level
            below, above = np.where(is_excluded, middle, below), np.where(is_excluded, above, middle)
        return below

    def high(self, level: float) -> Floats:
        """The one-sided upper limit."""
        return -self.swapped().low(level)

    def p_below(self, threshold: ArrayLike) -> Floats:
        """P-value of the hypothesis that the true difference is at most `threshold`: small where it is above."""
        at = np.asarray(threshold, dtype=np.float64)
        g, lost, n = self.gains, self.losses, self.n
        b, c = -g - lost + (2 * n - g + lost) * at, -lost * at * (1 - at)
        share = (np.sqrt(np.maximum(b * b - 8 * n * c, 0)) - b) / (4 * n)
        variance = n * np.maximum(2 * share + at * (1 - at), 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(
                variance > 0, (g - lost - n * at) / np.sqrt(variance), np.where(g - lost > n * at, np.inf, 0.0)
            )
            flips = g + lost
            # McNemar, given the flips: the share of gains among them if the difference were the threshold
            gain = np.clip((1 + at * n / np.maximum(flips, 1)) / 2, 0, 1)
        conditional = 1 - _at_most(g - 1, flips, gain)
        # without gains, the losses alone could be as many as a share −threshold
        exact = np.where(g > 0, conditional, _at_most(lost, n, np.clip(-at, 0, 1)))
        p: Floats = np.where(flips < FEW_FLIPS, np.maximum(ndtr(-z), exact), ndtr(-z))
        return p


@dataclass(frozen=True)
class Smoothed:
    r"""Mean of paired differences over clusters, with half a cluster added at either bound, and limits corrected for skewness.

    With totals :math:`t_c` over :math:`n_c` differences of G clusters, and half a cluster of the size :math:`\sum n_c^2 / \sum n_c` (the size that
    the mean difference belongs to) at +1 and at −1 (as Jeffreys' prior adds half a success and half a failure), the limits are those of Hall's
    (1992) transformed t:

    .. math:: T + \tfrac{\gamma}{3}T^2 + \tfrac{\gamma^2}{27}T^3 + \tfrac{\gamma}{6}, \qquad T = (\bar d - d)/se

    with γ the skewness of the cluster totals divided by √(G + 1). Where fewer than 3 clusters differ by a quarter of the scale or more, a rare
    large loss may not have been seen; the limits are then at least as wide as exact ones for such losses (`_Unseen`).
    All entries are arrays, one per data set.
    """

    value: Floats
    se: Floats
    skewness: Floats
    df: Floats
    losses: _Unseen | None = None
    gains: _Unseen | None = None

    @classmethod
    def of(cls, totals: ArrayLike, counts: ArrayLike, width: float | None = 1.0) -> Smoothed:
        """From sums of differences and numbers of differences, clusters along the last axis.

        Parameters
        ----------
        totals : array, shape (…, G)
            Sum of the differences of each cluster.
        counts : array, shape (G,)
            Number of differences in each cluster.
        width : float or None
            The largest possible difference; None where scores have no bounds, and then nothing is added.
        """
        total, count = np.asarray(totals, dtype=np.float64), np.asarray(counts, dtype=np.float64)
        size = (count**2).sum() / count.sum() if width is not None else 0.0
        n, n_clusters = count.sum() + size, len(count) + (width is not None)
        value = total.sum(-1) / n
        pulls = total - count * value[..., None]
        squares, cubes = (pulls**2).sum(-1), (pulls**3).sum(-1)
        for end in () if width is None else (-width, width):
            squares = squares + (size * (end - value)) ** 2 / 2
            cubes = cubes + (size * (end - value)) ** 3 / 2
        spread = np.sqrt(squares / max(n_clusters - 1, 1))
        skewness = np.divide(cubes / n_clusters, spread**3, out=np.zeros_like(value), where=spread > 1e-12)
        df = max(n**2 / ((count**2).sum() + size**2) - 1, 1.0)
        se = spread * np.sqrt(n_clusters) / n
        unseen = (None, None) if width is None else (_Unseen.of(total, count, width), _Unseen.of(-total, count, width))
        return cls(value, se, skewness / np.sqrt(n_clusters), np.full_like(value, df), *unseen)

    def low(self, level: float) -> Floats:
        """The one-sided lower limit."""
        limit: Floats = self.value - self.se * hall_quantile(stdtrit(self.df, level), self.skewness)
        return limit if self.losses is None else np.minimum(limit, self.losses.low(level))

    def high(self, level: float) -> Floats:
        """The one-sided upper limit."""
        limit: Floats = self.value - self.se * hall_quantile(stdtrit(self.df, 1 - level), self.skewness)
        return limit if self.gains is None else np.maximum(limit, -self.gains.low(level))

    def p_below(self, threshold: float) -> Floats:
        """P-value of the hypothesis that the true difference is at most `threshold`."""
        p: Floats = stdtr(self.df, -self._statistic(threshold))
        return p if self.losses is None else np.maximum(p, self.losses.p_below(threshold))

    def p_above(self, threshold: float) -> Floats:
        """P-value of the hypothesis that the true difference is at least `threshold`."""
        p: Floats = stdtr(self.df, self._statistic(threshold))
        return p if self.gains is None else np.maximum(p, self.gains.p_below(-threshold))

    def _statistic(self, threshold: float) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num((self.value - threshold) / self.se, nan=0.0, posinf=1e6, neginf=-1e6)
        return hall_statistic(t, self.skewness)


@dataclass(frozen=True)
class _Unseen:
    r"""How far losses that are rare and large could move a mean, by exact limits of their shares.

    With d̄ the mean and :math:`y = (\bar d - d_c)^+/(\bar d + w)` the loss of a cluster on a scale on which 1 is the largest possible,

    .. math:: \bar d - (\bar d + w) \int_0^1 \big(u(S_y) - S_y\big)\,dy

    where :math:`S_y` is the share of clusters with a loss above y, and u Clopper and Pearson's upper limit for it. G clusters that all
    agree have the limit :math:`\bar d - (1 - \alpha^{1/G})(\bar d + w)`; G counts effective clusters. It is used in rows in
    which few clusters differ much; elsewhere it sets no limit.
    """

    value: Floats
    room: Floats
    steps: Floats
    shares: Floats
    n_effective: float
    is_used: Any

    @classmethod
    def of(cls, totals: Floats, counts: Floats, width: float) -> _Unseen:
        n, means = counts.sum(), totals / counts
        value = totals.sum(-1) / n
        room = np.maximum(value + width, 1e-12)
        losses = np.maximum((value[..., None] - means) / room[..., None], 0.0)
        order = np.argsort(-losses, axis=-1)
        ends = np.take_along_axis(losses, order, -1)
        steps = -np.diff(np.minimum(ends, 1.0), axis=-1, prepend=1.0)
        part = counts[order] / n
        return cls(
            value,
            room,
            steps,
            np.cumsum(part, axis=-1) - part,
            float(n**2 / (counts**2).sum()),
            (np.abs(means) >= _LARGE * width).sum(-1) < _FEW_LARGE,
        )

    def low(self, level: float | Floats) -> Floats:
        """The lower limit; ∞ in rows in which it is not used."""
        level = np.asarray(level, dtype=np.float64)[..., None]
        n, hits = self.n_effective, self.shares * self.n_effective
        highest = betaincinv(hits + 1, np.maximum(n - hits, 1e-9), level)
        reach = ((highest - self.shares) * self.steps).sum(-1)
        return np.where(self.is_used, self.value - self.room * reach, np.inf)

    def p_below(self, threshold: float) -> Floats:
        """P-value of the hypothesis that the true difference is at most `threshold`; 0 in rows in which it is not used."""
        none, all_of = np.zeros_like(self.value), np.ones_like(self.value)
        if not np.any(self.is_used):
            return none
        for _ in range(40):  # halving: the limit rises with p
            middle = (none + all_of) / 2
            is_above = self.low(1 - middle) > threshold
            none, all_of = np.where(is_above, none, middle), np.where(is_above, middle, all_of)
        return np.where(self.is_used, all_of, 0.0)


def _at_most(k: Floats, n: Any, share: Any) -> Floats:
    """Probability of at most k successes in n trials."""
    inside = betainc(np.maximum(n - k, 1e-9), np.maximum(k + 1, 1e-9), 1 - np.asarray(share))
    return np.where(k >= n, 1.0, np.where(k < 0, 0.0, inside))
