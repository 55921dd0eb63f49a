"""Where a curve crosses a success rate, as an estimate: its interval, and the states of the value and of both ends."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from howsure.estimates import Estimate, State
from howsure.horizon.time_horizon.curves import FARTHEST, SuccessCurves
from howsure.horizon.time_horizon.kernels import ABSENT, FITTED, NO_FAILURE, NO_SLOPE, NO_SUCCESS, SEPARATED
from howsure.stats._arrays import Floats
from howsure.stats.replicates import replicate_interval

__all__ = ["FAILED", "OUTCOMES", "horizon"]

OUTCOMES = {
    FITTED: "fitted",
    NO_SUCCESS: "no success",
    NO_FAILURE: "no failure",
    NO_SLOPE: "no slope",
    SEPARATED: "separated",
    ABSENT: "no runs",
}
"""What a fit can end in, by name."""

FAILED = tuple(OUTCOMES[kind] for kind in (NO_SLOPE, SEPARATED, ABSENT))
"""Outcomes of a replicate that could lie anywhere."""

_WHY: dict[int, tuple[State, str]] = {
    NO_SUCCESS: ("below_range", "no success in {:,} runs"),
    NO_FAILURE: ("above_range", "no failure in {:,} runs"),
    NO_SLOPE: ("undefined", "success does not fall with the length of tasks"),
    SEPARATED: ("undefined", "short tasks always succeed and long ones never; a regularisation above 0 gives a curve"),
}


def horizon(
    own: SuccessCurves,
    drawn: SuccessCurves | None,
    x: Floats,
    success_rate: float,
    level: float,
    n_runs: int,
    middle: float | None = None,
    ends: tuple[float, float] | None = None,
) -> Estimate:
    """One model's horizon at a success rate between 0 and 1.

    ``x`` has log₂ minutes of its tasks; ``ends`` are those of its interval (`curves.robust_ends`), otherwise the replicates give them and ``middle`` is the share of
    them that the interval contains, by default ``level``. Without success or without failure the value is the shortest or the longest task. A crossing beyond
    them is marked as extrapolated. Replicates without success or without failure lie below or above the range; those without a falling curve, and those
    that hold none of the model's runs, failed (see `stats.replicates`).
    """
    edges = float(2 ** x.min()), float(2 ** x.max())
    if own.outcome != FITTED:
        state, why = _WHY[int(own.outcome)]
        edge = {"below_range": edges[0], "above_range": edges[1]}.get(state)
        return Estimate.without(state, why.format(n_runs), value=edge, level=level)
    crossing = float(own.log2_minutes(success_rate))
    if np.isinf(crossing):
        return Estimate.without("unbounded", "the curve is almost flat", level=level)
    value = 2.0**crossing
    if ends is not None:
        if math.isnan(ends[0]):
            few: State = "too_few"
            reason = "; ".join(filter(None, (_beyond(value, edges), "fewer than 3 families; an interval needs 3")))
            return Estimate(value, level=level, reason=reason, low_state=few, high_state=few)
        low, high = (2.0**end if abs(end) <= FARTHEST else None for end in ends)
        low_state: State = "unbounded" if low is None else "ok"
        high_state: State = "unbounded" if high is None else "ok"
        return Estimate(
            value, low, high, level, reason=_beyond(value, edges), low_state=low_state, high_state=high_state
        )
    if drawn is None:
        return Estimate(value, level=level, reason=_beyond(value, edges))
    interval = replicate_interval(drawn.log2_minutes(success_rate), middle or level)
    found = interval.estimate(crossing, level=level, reason=_beyond(value, edges)).map(math.exp2)
    return replace(
        found,
        low=edges[0] if found.low_state == "below_range" and edges[0] < value else found.low,
        high=edges[1] if found.high_state == "above_range" and edges[1] > value else found.high,
    )


def _beyond(value: float, edges: tuple[float, float]) -> str:
    if edges[0] <= value <= edges[1]:
        return ""
    kind, edge = ("shortest", edges[0]) if value < edges[0] else ("longest", edges[1])
    return f"extrapolated: the {kind} task takes {edge:.4g} min"
