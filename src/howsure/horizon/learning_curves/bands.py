"""Intervals of curves and of the attempts at which they reach a level, from refits to redrawn learners."""

from __future__ import annotations

import math

import numpy as np

from howsure.estimates import Estimate, State
from howsure.stats._arrays import Floats
from howsure.stats.replicates import MOST_FAILED, Interval, expanded_level, replicate_interval

__all__ = ["FEWEST_LEARNERS", "few", "interval", "reached", "whole_band"]

FEWEST_LEARNERS = 5
"""Resamples of fewer are mostly copies of each other."""


def interval(draws: Floats, level: float, n: int) -> Interval:
    """The middle ``level`` of the replicates (axis 0), made wider for few learners; those that had no data failed."""
    return replicate_interval(draws, expanded_level(level, n - 1))


def whole_band(draws: Floats, level: float, n: int) -> tuple[Floats, Floats]:
    """A band that holds ``level`` of the replicates' curves from end to end: draws (replicates, attempts) → (attempts,) each.

    At each attempt the k smallest and largest values are cut off, the same k throughout, the largest that leaves enough whole curves inside
    (Besag and others 1995). Made wider for few learners, as `interval`. A failed replicate lies in no band: too many of them leave it open (0 to 1), more
    than 10 % leave none (NaN).
    """
    curves = draws[~np.isnan(draws[:, 0])]
    ordered, size, n_failed = np.sort(curves, axis=0), len(curves), len(draws) - len(curves)
    if n_failed > MOST_FAILED * len(draws):
        return np.full(draws.shape[1], np.nan), np.full(draws.shape[1], np.nan)
    places = [
        np.searchsorted(column, ours, side)
        for side in ("right", "left")
        for column, ours in zip(ordered.T, curves.T, strict=True)
    ]
    below, above = np.split(np.array(places), 2)
    depth = np.sort(np.r_[np.zeros(n_failed, dtype=np.int64), np.minimum(below, size - above).min(axis=0)])
    cut = int(depth[math.floor((1 - expanded_level(level, n - 1)) * len(draws))])
    return (ordered[cut - 1], ordered[size - cut]) if cut else (np.zeros(draws.shape[1]), np.ones(draws.shape[1]))


def reached(value: float, draws: Floats, target: float, last: int, n: int, level: float) -> Estimate:
    """The attempt at which a level is reached, within 1 and the ``last`` attempt observed; beyond, a state.

    ``value`` and ``draws`` are as `Family.reach` gives them: −∞ above the level at the first attempt, ∞ never.
    """
    number, state = (None, "unbounded") if value == math.inf else _within(value, last)
    reason = {
        "below_range": f"success is above {target:.0%} at the first attempt",
        "above_range": f"success reaches {target:.0%} after the last attempt observed, if the fitted curve continues",
        "unbounded": f"the curve levels off below {target:.0%}",
    }.get(state, "")
    if state == "undefined":
        return Estimate.without("undefined", "there is no curve", level=level)
    if n < FEWEST_LEARNERS:
        return Estimate(number, None, None, level, state, reason or few(n))
    found = interval(draws, level, n)
    (low, low_state), (high, high_state) = (_within(float(end), last) for end in (found.low, found.high))
    reason = "; ".join(text for text in (reason, found.reason()) if text)
    ends: dict[str, State] = {"low_state": low_state, "high_state": high_state}
    return Estimate(number, low, high, level, state, reason, **ends)


def few(n: int) -> str:
    """Why there is no interval."""
    return f"{n} learners; an interval needs {FEWEST_LEARNERS}"


def _within(value: float, last: int) -> tuple[float | None, State]:
    if math.isnan(value):
        return None, "undefined"
    return (1.0, "below_range") if value < 1 else (float(last), "above_range") if value > last else (value, "ok")
