"""Where a curve crosses a level, as an estimate: its interval, and the states of the value and of both ends."""

from __future__ import annotations

import numpy as np

from howsure.estimates import Estimate, State
from howsure.horizon.time_curves import Curves, ends
from howsure.horizon.time_kernels import ABSENT, FITTED, NO_FAILURE, NO_SLOPE, NO_SUCCESS, SEPARATED
from howsure.stats._arrays import Floats

__all__ = ["FARTHEST", "OUTCOMES", "horizon"]

OUTCOMES = {
    FITTED: "fitted",
    NO_SUCCESS: "no success",
    NO_FAILURE: "no failure",
    NO_SLOPE: "no slope",
    SEPARATED: "separated",
    ABSENT: "no runs",
}
"""What a fit can end in, by name."""

FARTHEST = 1000
"""Doublings of a minute up to which a crossing is a number: floats end soon after."""

_WHY: dict[int, tuple[State, str]] = {
    NO_SUCCESS: ("below_range", "no success in {:,} runs"),
    NO_FAILURE: ("above_range", "no failure in {:,} runs"),
    NO_SLOPE: ("undefined", "success does not fall with the length of tasks"),
    SEPARATED: ("undefined", "short tasks are always done and long ones never; a regularisation above 0 gives a curve"),
}


def horizon(
    own: Curves, drawn: Curves | None, x: Floats, success: float, level: float, n_runs: int, middle: float | None = None
) -> Estimate:
    """One model's horizon at a level of success in per cent.

    ``x`` has log₂ minutes of its tasks; ``middle`` is the share of replicates that the interval holds, by default ``level``. Without success or without failure the value is the shortest or the longest task. A crossing beyond
    them is told as extrapolated. Replicates without a falling curve could lie anywhere and so widen the interval at both ends.
    """
    edges = float(2 ** x.min()), float(2 ** x.max())
    if own.outcome != FITTED:
        state, why = _WHY[int(own.outcome)]
        edge = {"below_range": edges[0], "above_range": edges[1]}.get(state)
        return Estimate.without(state, why.format(n_runs), value=edge, level=level)
    crossing = float(own.log2_minutes(success))
    if abs(crossing) > FARTHEST:
        return Estimate.without("unbounded", "the curve is all but flat", level=level)
    value = 2.0**crossing
    if drawn is None:
        return Estimate(value, level=level, reason=_beyond(value, edges))
    draws = drawn.log2_minutes(success)[drawn.outcome != ABSENT]
    (low, low_state), (high, high_state) = _ends(draws, value, edges, middle or level)
    return Estimate(value, low, high, level, reason=_beyond(value, edges), low_state=low_state, high_state=high_state)


def _beyond(value: float, edges: tuple[float, float]) -> str:
    if edges[0] <= value <= edges[1]:
        return ""
    kind, edge = ("shortest", edges[0]) if value < edges[0] else ("longest", edges[1])
    return f"extrapolated: the {kind} task takes {edge:.4g} min"


_End = tuple[float | None, State]


def _ends(draws: Floats, value: float, edges: tuple[float, float], middle: float) -> tuple[_End, _End]:
    """Both ends; an open one lies beyond the shortest or longest task, unless nothing bounds it."""
    if not len(draws) or np.isnan(draws).mean() > (1 - middle) / 2:
        return (None, "unbounded"), (None, "unbounded")
    low, high = ends(draws, middle)
    at_low: _End = (edges[0] if edges[0] < value else None, "below_range")
    at_high: _End = (edges[1] if edges[1] > value else None, "above_range")
    return (
        at_low if low < -FARTHEST else (2.0**low, "ok") if low < FARTHEST else (None, "unbounded"),
        at_high if high > FARTHEST else (2.0**high, "ok") if high > -FARTHEST else (None, "unbounded"),
    )
