"""Spread and middle of the number of right turns, with intervals that know which games share a sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from howsure.estimates import Estimate
from howsure.stats.bootstrap import hierarchical_weights, percentile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["REPLICATES", "median_turns", "stddev_turns"]

REPLICATES = 2000
_FEWEST = 5  # sequences; resamples of fewer are mostly copies of each other


def stddev_turns(turns: Floats, seeds: Ints, *, length: int, level: float, seed: int) -> Estimate:
    r"""The standard deviation, as the eval has always given it (divided by n), with a bootstrap-t interval of its logarithm.

    .. math:: se(\log s) = \frac{1}{2 s^2 n} \sqrt{\frac{G}{G-1} \sum_c \Big(\sum_{i \in c} (x_i - \bar x)^2 - s^2\Big)^2}

    over G sequences c. Where a few games last much longer than the rest, even 250 samples leave much open: a 95 % interval then holds
    in 86–96 % of cases (with 20 samples in 78–95 %), where percentile and BCa intervals hold in 72–92 %. No spread exceeds half the length.
    """
    value = float(turns.std()) if len(turns) else None
    clusters = np.unique(seeds, return_inverse=True)[1]
    n_clusters = len(np.unique(clusters))
    if value is None or n_clusters < _FEWEST:
        return Estimate.without("too_few", _told_few(n_clusters), value=value, level=level)
    sums = np.array([np.bincount(clusters, (turns - turns.mean()) ** power) for power in (0, 1, 2)])
    ((centre,), (se,)) = _log_spread(sums, np.ones((1, n_clusters)))
    drawn, drawn_se = _log_spread(sums, _weights(np.arange(n_clusters), seed))
    is_known = drawn_se > 0
    if not (se and is_known.any()):
        return Estimate.without("undefined", "the games are too alike", value=value, level=level)
    low, high = percentile((drawn - centre)[is_known] / drawn_se[is_known], level)
    return Estimate(value, float(np.exp(centre - high * se)), min(float(np.exp(centre - low * se)), length / 2), level)


def median_turns(turns: Floats, seeds: Ints, *, level: float, seed: int) -> Estimate:
    """The median, with the percentile interval of medians of resampled sequences."""
    value = float(np.median(turns)) if len(turns) else None
    n_clusters = len(np.unique(seeds))
    if value is None or n_clusters < _FEWEST:
        return Estimate.without("too_few", _told_few(n_clusters), value=value, level=level)
    order = np.argsort(turns, kind="stable")
    low, high = percentile(_medians(turns[order], _weights(seeds[order], seed)), level)
    return Estimate(value, float(low), float(high), level)


def _weights(labels: Ints, seed: int) -> Floats:
    return hierarchical_weights([labels], REPLICATES, np.random.default_rng(seed))


def _told_few(n_clusters: int) -> str:
    return f"{n_clusters} sequences were played; an interval needs {_FEWEST}" if n_clusters else "no game was played"


def _log_spread(sums: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Log s of each replicate and its standard error, from the sums of 1, x and x² in each sequence; 0 where there is no spread."""
    counts, first, second = sums
    total = weights @ counts
    mean = weights @ first / total
    variance = np.maximum(weights @ second / total - mean**2, 0.0)
    has_spread = variance > 1e-12 * second.sum() / counts.sum()
    variance = np.where(has_spread, variance, 1.0)
    excess = second - 2 * mean[:, None] * first + (mean**2 - variance)[:, None] * counts
    n_clusters = sums.shape[1]
    se = np.sqrt((weights * excess**2).sum(axis=1) * n_clusters / (n_clusters - 1)) / (2 * variance * total)
    return np.log(variance) / 2, np.where(has_spread, se, 0.0)


def _medians(turns: Floats, weights: Floats) -> Floats:
    """Medians of sorted turns under weights: the mean of the two in the middle where these are two."""
    below = weights.cumsum(axis=1)
    half = below[:, -1:] / 2
    low, high = (below < half).sum(axis=1), (below <= half).sum(axis=1)
    return np.asarray((turns[low] + turns[np.minimum(high, len(turns) - 1)]) / 2)
