"""Rates from an automatic judge's verdicts, corrected by its errors that a few labels of people show."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from howsure.estimates import Estimate
from howsure.stats._arrays import normal_quantile
from howsure.stats.means import mean, wilson

__all__ = ["corrected_rate", "independent_trials"]


def independent_trials(is_hit: ArrayLike, clusters: Any = None) -> tuple[float, float]:
    """Hits and trials as `corrected_rate` takes them: as many independent trials as would give the standard error over clusters.

    Parameters
    ----------
    is_hit : array of bool
        One entry per trial.
    clusters : array, optional
        One label per trial: trials that belong together. Where all trials agree, nothing shows how alike those of a cluster are, and each
        cluster counts as one trial.
    """
    hits = np.asarray(is_hit, dtype=np.bool_)
    n = float(len(hits))
    if not n:
        return 0.0, 0.0
    if clusters is not None:
        found = mean(hits.astype(np.float64), clusters)
        n = float(found.n_clusters) if hits.all() or not hits.any() else n / max(found.design_effect or 1.0, 1.0)
    return float(hits.mean()) * n, n


def corrected_rate(
    positives: tuple[float, float],
    sensitivity: tuple[float, float],
    specificity: tuple[float, float],
    *,
    level: float = 0.95,
) -> Estimate:
    r"""The true rate of positives behind a judge's, whose errors were measured on items with known labels (Rogan and Gladen 1978).

    .. math:: \hat\theta = \frac{p + q_0 - 1}{q_0 + q_1 - 1}

    Each argument is (how many, of how many): ``positives`` p what the judge calls positive, ``sensitivity`` q₁ what it calls so of the
    true positives, ``specificity`` q₀ what it calls negative of the true negatives. The interval of Lang and Reiczigel (2014) adds
    z²/2 successes and failures to p and one of each to q₀ and q₁, and shifts the centre; it counts the uncertainty of all three. A
    rate beyond 0 or 1 is cut there, and ``reason`` says so. A judge no better than chance defines none, nor does one whose rate
    its measured errors cannot explain.
    """
    known = [wilson(*pair, level) for pair in (positives, sensitivity, specificity)]
    if any(share.value is None for share in known):
        reason = "no item to tell the judge's rate, its sensitivity or its specificity from"
        return Estimate.without("too_few", reason, level=level)
    p, hit, spare = (pair[0] / pair[1] for pair in (positives, sensitivity, specificity))
    if hit + spare <= 1:
        reason = f"sensitivity {hit:.2f} and specificity {spare:.2f} are no better than chance"
        return Estimate.without("undefined", reason, level=level)
    raw = (p + spare - 1) / (hit + spare - 1)
    low, high = _lang_reiczigel(positives, sensitivity, specificity, normal_quantile(level))
    if high < 0 or low > 1:
        reason = f"the judge's rate {p:.3g} does not fit its measured errors: labels and items differ in kind"
        return Estimate.without("undefined", reason, level=level)
    value = min(max(raw, 0.0), 1.0)
    reason = "" if value == raw else f"the judge's errors alone explain more: {raw:.3g} is cut at {value:g}"
    return Estimate(value, min(max(low, 0.0), value), max(min(high, 1.0), value), level, reason=reason)


def _lang_reiczigel(
    positives: tuple[float, float], sensitivity: tuple[float, float], specificity: tuple[float, float], quantile: float
) -> tuple[float, float]:
    p, p_variance = _smoothed(*positives, quantile**2 / 2)
    hit, hit_variance = _smoothed(*sensitivity, 1.0)
    spare, spare_variance = _smoothed(*specificity, 1.0)
    better = hit + spare - 1
    if better <= 0:
        return 0.0, 1.0
    centre = (p + spare - 1) / better
    shift = 2 * quantile**2 * (centre * hit_variance - (1 - centre) * spare_variance)
    far = quantile * math.sqrt(p_variance + (1 - centre) ** 2 * spare_variance + centre**2 * hit_variance) / better
    return centre + shift - far, centre + shift + far


def _smoothed(successes: float, n: float, extra: float) -> tuple[float, float]:
    """A share with ``extra`` successes and failures added, and its variance."""
    size = n + 2 * extra
    share = (successes + extra) / size
    return share, share * (1 - share) / size
