"""Calibration of predictions: of the items with prediction 0.7, do about 70 % come true?

Predictions and outcomes are numbers from 0 to 1. Outcomes may be 0 and 1, or shares and mean ratings in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats import replicates
from howsure.stats._arrays import Bools, Floats, Ints, aligned, check_level, codes, t_quantile
from howsure.stats.components import certain
from howsure.stats.means import mean, paired_difference

__all__ = ["BrierParts", "Calibration", "CalibrationBin", "calibration"]

_FEWEST = 10  # items that a calibration depends on at least
_A_BIN = 10  # items in a bin, on average and at least
_MEAN_OF_NOISE = math.sqrt(2 / math.pi)  # of the absolute value of a standard normal
_THIRD_OF_NOISE = _MEAN_OF_NOISE * (4 / math.pi - 1)  # its third central moment


@dataclass(frozen=True)
class CalibrationBin:
    """Items of about the same prediction: from ``low`` to ``high``, on average ``prediction``; ``outcome`` is what came."""

    low: float
    high: float
    prediction: float
    outcome: Estimate
    n_items: int


@dataclass(frozen=True)
class BrierParts:
    """The mean squared error of predictions, and what it is made of: score = reliability − resolution + uncertainty + within.

    ``reliability`` is what miscalibration costs, ``resolution`` what telling items apart brings, ``uncertainty`` the spread of outcomes, which is the
    score of always predicting their mean. ``within`` is what differences inside a bin add or bring; 0 where a bin holds one value.
    """

    score: Estimate
    reliability: Estimate
    resolution: Estimate
    uncertainty: Estimate
    within: Estimate


@dataclass(frozen=True)
class Calibration:
    """Calibration of predictions.

    ``curve`` are the bins, ``error`` is the expected calibration error (ECE) and ``noise`` what a perfectly calibrated judge would show with
    so many items; ``bias`` is how far predictions lie above outcomes on average.
    """

    curve: tuple[CalibrationBin, ...]
    error: Estimate
    noise: float | None
    bias: Estimate
    brier: BrierParts
    n_items: int


def calibration(
    predictions: ArrayLike, outcomes: ArrayLike, *, n_bins: int = 10, clusters: Any = None, level: float = 0.95
) -> Calibration:
    r"""The reliability curve of predictions, their expected calibration error, and the parts of their Brier score.

    .. math:: ECE = \sum_k w_k |\bar f_k - \bar y_k|, \qquad
              \overline{(f - y)^2} = \underbrace{\sum_k w_k (\bar f_k - \bar y_k)^2}_{reliability}
              - \underbrace{\sum_k w_k (\bar y_k - \bar y)^2}_{resolution} + \underbrace{\overline{(y - \bar y)^2}}_{uncertainty} + within

    Bins hold about equally many items, ten or more on average; items of the same prediction stay together. Murphy (1973); ``within`` after
    Stephenson, Coelho and Jolliffe (2008).

    The ECE of a perfect judge is above 0, as noise in a bin has a size but no sign: ``noise`` is its expectation, Σ w se √(2/π). The interval
    allows for it. With normal noise e in the gaps d of the bins, Σ w|d| + Σ w sgn(d) e ≤ Σ w|d + e| ≤ Σ w|d| + Σ w|e|; so the true ECE
    lies at most t √(Σ w² se²) above the one found, and at most the 1 − α/2 quantile of Σ w|e| below. Both hold whatever the gaps
    are, so the interval covers at least at its level. With ``clusters`` (one label per item) the noise of the bins may be correlated in any way: the
    interval then reaches t Σ w se to both sides, with se over clusters and t on the number of clusters − 1 degrees of freedom.
    """
    check_level(level)
    if n_bins < 2:
        raise OptionError(f"{n_bins} bins show no curve. Give at least 2.")
    f, y = aligned(predictions=predictions, outcomes=outcomes)
    _check_unit(f, "predictions")
    _check_unit(y, "outcomes")
    if len(f) < _FEWEST:
        return _nothing(len(f), level, f"{len(f)} items; {_FEWEST} are needed")
    code = _bins(f, min(n_bins, len(f) // _A_BIN))
    labels = None if clusters is None else codes(clusters, "clusters")
    if labels is not None and labels.max() == 0:
        return _nothing(len(f), level, "1 cluster; 2 are needed")
    error, noise = _calibration_error(f, y, code, level, labels)
    return Calibration(
        curve=tuple(_bin(f, y, code == k, labels, level) for k in range(code.max() + 1)),
        error=error,
        noise=noise,
        bias=paired_difference(f, y, labels, level=level).estimate,
        brier=_brier(f, y, code, labels, level),
        n_items=len(f),
    )


def _check_unit(values: Floats, name: str) -> None:
    if len(values) and (values.min() < 0 or values.max() > 1):
        at = int(np.argmax((values < 0) | (values > 1)))
        raise InputError(f"{name}: {values[at]:g} at position {at} is not between 0 and 1. Rescale first.")


def _nothing(n: int, level: float, reason: str) -> Calibration:
    nothing = Estimate.without("too_few", reason, level=level)
    return Calibration((), nothing, None, nothing, BrierParts(*[nothing] * 5), n)


def _bins(f: Floats, n_bins: int) -> Ints:
    """The bin of each item: equal numbers as far as equal predictions, which stay together, allow."""
    values, counts = np.unique(f, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2) / len(f)
    bin_of_value = np.minimum((middle * n_bins).astype(np.int64), n_bins - 1)
    return np.unique(bin_of_value, return_inverse=True)[1][np.searchsorted(values, f)].astype(np.int64)


def _bin(f: Floats, y: Floats, is_in: Bools, labels: Ints | None, level: float) -> CalibrationBin:
    inside = f[is_in]
    outcome = mean(y[is_in], None if labels is None else labels[is_in], level=level).estimate
    return CalibrationBin(float(inside.min()), float(inside.max()), float(inside.mean()), outcome, len(inside))


def _calibration_error(
    f: Floats, y: Floats, code: Ints, level: float, labels: Ints | None = None
) -> tuple[Estimate, float]:
    gaps, n = f - y, np.bincount(code)
    mean_gap = np.bincount(code, gaps) / n
    rest = gaps - mean_gap[code]
    # a bin may agree by accident: one more item of average noise keeps it from being sure
    pooled = float(rest @ rest) / max(len(f) - len(n), 1)
    se = np.sqrt((_squares(rest, code, labels) + pooled) / n**2)
    share = n / len(f)
    error, size = float(share @ np.abs(mean_gap)), float(np.sqrt((share * se) @ (share * se)))
    noise = float(share @ se) * _MEAN_OF_NOISE
    if not size:
        return certain(error, "no item is off its bin, so nothing tells how rarely one would be", level), noise
    if labels is not None:
        far = t_quantile(level, int(labels.max())) * float(share @ se)
        return Estimate(error, max(error - far, 0.0), min(error + far, 1.0), level), noise
    quantile = t_quantile(level, len(f) - len(n))
    spread = size * math.sqrt(1 - 2 / math.pi)
    # sums of absolute values are skewed: the term of Cornish and Fisher
    skew = _THIRD_OF_NOISE * float(((share * se) ** 3).sum()) / spread**2
    down = noise + quantile * spread + (quantile**2 - 1) / 6 * skew
    return Estimate(error, max(error - down, 0.0), min(error + quantile * size, 1.0), level), noise


def _squares(rest: Floats, code: Ints, labels: Ints | None) -> Floats:
    """In each bin, the sum over its independent units (items or clusters) of their squared sums."""
    if labels is None:
        return np.asarray(np.bincount(code, rest**2), dtype=np.float64)
    n_clusters = int(labels.max()) + 1
    n_bins = int(code.max()) + 1
    sums = np.bincount(code * n_clusters + labels, rest, minlength=n_bins * n_clusters)
    return np.asarray((sums.reshape(n_bins, n_clusters) ** 2).sum(axis=1))


def _brier(f: Floats, y: Floats, code: Ints, labels: Ints | None, level: float) -> BrierParts:
    value = _parts(f, y, code)
    parts = replicates.groups(len(f), labels)
    left_out = np.array([_parts(np.delete(f, part), np.delete(y, part), np.delete(code, part)) for part in parts])
    least = (0.0, 0.0, 0.0, 0.0, -1.0)
    return BrierParts(
        *(
            replicates.estimate(one if abs(one) > 1e-12 else 0.0, without, level, least=low, most=1.0)
            for one, without, low in zip(value.tolist(), left_out.T, least, strict=True)
        )
    )


def _parts(f: Floats, y: Floats, code: Ints) -> Floats:
    n = np.bincount(code)
    is_there = n > 0
    share = n[is_there] / len(f)
    f_bin, y_bin = (np.bincount(code, values)[is_there] / n[is_there] for values in (f, y))
    score, uncertainty = float(np.mean((f - y) ** 2)), float(np.var(y))
    reliability, resolution = float(share @ (f_bin - y_bin) ** 2), float(share @ (y_bin - y.mean()) ** 2)
    within = score - reliability + resolution - uncertainty
    return np.array([score, reliability, resolution, uncertainty, within])
