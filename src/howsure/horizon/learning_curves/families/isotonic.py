"""Whatever rises: the success rates, attempt by attempt, that fit best among those that never fall."""

from __future__ import annotations

import numpy as np
from scipy.special import xlog1py, xlogy

from howsure.compiled import kernel
from howsure.horizon.learning_curves.families.base import CurveFamily, Fit, first_crossing
from howsure.stats._arrays import Floats

__all__ = ["Isotonic"]


class Isotonic(CurveFamily):
    """One level an attempt, none below the one before; between attempts the curve runs straight over log n, and stays level after the last.

    AIC charges one parameter for each distinct level, which is the expected number of degrees of freedom (Meyer and Woodroofe 2000).
    """

    name = "isotonic"
    parameters = ()
    formula = "P(1) ≤ P(2) ≤ …"

    def fit(self, successes: Floats, trials: Floats, *, is_rough: bool = False) -> Fit:
        """Pool neighbours that fall."""
        good, all_ = (np.ascontiguousarray(array, dtype=np.float64) for array in (successes, trials))
        levels = _pool(good, all_)
        terms = xlogy(good, levels) + xlog1py(all_ - good, -levels)
        return Fit(levels, np.where(np.isnan(levels[:, 0]), np.nan, np.nansum(terms, axis=1)))

    def curve(self, parameters: Floats, attempts: Floats) -> Floats:
        """P at each of the attempts."""
        knots, places = np.log(np.arange(1.0, parameters.shape[-1] + 1)), np.log(attempts)
        right = np.clip(np.searchsorted(knots, places), 1, max(len(knots) - 1, 1))
        if len(knots) == 1:
            return np.repeat(parameters, len(places), axis=-1)
        part = np.clip((places - knots[right - 1]) / (knots[right] - knots[right - 1]), 0, 1)
        return np.asarray(parameters[..., right - 1] * (1 - part) + parameters[..., right] * part)

    def reach(self, parameters: Floats, level: float) -> Floats:
        """Between the last attempt below the level and the first at it."""
        knots = np.log(np.arange(1.0, parameters.shape[-1] + 1))
        is_there = parameters >= level
        right = np.maximum(is_there.argmax(axis=-1), 1) if len(knots) > 1 else np.zeros(parameters.shape[:-1], np.int64)
        left = np.maximum(right - 1, 0)
        low, high = (np.take_along_axis(parameters, place[..., None], axis=-1)[..., 0] for place in (left, right))
        with np.errstate(all="ignore"):
            way = np.where(high > low, (level - low) / (high - low), 0.0)
        crossing = np.exp(knots[left] + way * (knots[right] - knots[left]))
        return first_crossing(parameters[..., 0], level, np.where(is_there.any(axis=-1), crossing, np.nan))

    def n_parameters(self, parameters: Floats) -> Floats:
        """Distinct levels."""
        return np.asarray(1.0 + (np.diff(parameters, axis=-1) > 0).sum(axis=-1))


@kernel
def _pool(successes: Floats, trials: Floats) -> Floats:
    """The shares, attempt by attempt, that fit best and never fall, for each row: neighbours that fall are pooled.

    Attempts without trials have the level of the one before.
    """
    levels = np.full(trials.shape, np.nan)
    good, all_, size = np.empty(trials.shape[1]), np.empty(trials.shape[1]), np.empty(trials.shape[1], np.int64)
    for row in range(len(trials)):
        if trials[row].sum() == 0.0:
            continue
        n = 0
        for k in range(trials.shape[1]):
            good[n], all_[n], size[n] = successes[row, k], trials[row, k], 1
            while n > 0 and good[n - 1] * all_[n] >= good[n] * all_[n - 1]:
                good[n - 1] += good[n]
                all_[n - 1] += all_[n]
                size[n - 1] += size[n]
                n -= 1
            n += 1
        k = 0
        for block in range(n):
            levels[row, k : k + size[block]] = good[block] / all_[block]
            k += size[block]
    return levels
