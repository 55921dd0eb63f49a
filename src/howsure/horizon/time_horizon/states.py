"""Where a curve crosses a success rate, as an estimate: its interval, and the states of the value and of both ends."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from howsure.estimates import Estimate, State
from howsure.horizon.time_horizon.curves import FARTHEST, SuccessCurves, Timed, outcome_bounds, robust_ends
from howsure.horizon.time_horizon.kernels import ABSENT, FITTED, NO_FAILURE, NO_SLOPE, NO_SUCCESS, SEPARATED
from howsure.stats._arrays import Floats
from howsure.stats.replicates import replicate_interval

__all__ = ["FAILED", "OUTCOMES", "censored_horizon", "horizon"]

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


def censored_horizon(
    data: Timed, model: int, found: Estimate, success_rate: float, level: float
) -> tuple[Estimate, float | None, float | None]:
    """An estimate whose interval includes all outcomes that one model's censored runs may have had; and the shortest and longest horizon of these, without sampling error.

    The interval reaches from the lower end at the outcomes that make the horizon shortest to the upper end at those that make it longest (`outcome_bounds`).
    """
    assert data.cut is not None
    if not data.cut[model].any():
        return found, found.value, found.value
    bounds = outcome_bounds(data, model, success_rate)
    least, most = (2.0**crossing if math.isfinite(crossing) else None for crossing, _ in bounds)
    if found.state in ("below_range", "above_range") and bounds[0][0] != bounds[1][0]:
        why = f"{found.reason}, but the outcomes of runs that were cut are unknown"
        return Estimate.without("undefined", why, level=level), least, most
    if found.state != "ok" or "too_few" in (found.low_state, found.high_state):
        return found, least, most
    (low, _), (_, high) = (
        robust_ends(changed, 0, success_rate, level) if math.isfinite(crossing) else (-math.inf, math.inf)
        for crossing, changed in bounds
    )
    low = min(low, -math.inf if found.low is None else math.log2(found.low))
    high = max(high, math.inf if found.high is None else math.log2(found.high))
    ends: list[tuple[float | None, State]] = [
        (2.0**end, "ok") if abs(end) <= FARTHEST else (None, "unbounded") for end in (low, high)
    ]
    reason = "; ".join(filter(None, (found.reason, "some outcomes are unknown")))
    (low_end, low_state), (high_end, high_state) = ends
    widened = replace(found, low=low_end, high=high_end, low_state=low_state, high_state=high_state, reason=reason)
    return widened, least, most


def _beyond(value: float, edges: tuple[float, float]) -> str:
    if edges[0] <= value <= edges[1]:
        return ""
    kind, edge = ("shortest", edges[0]) if value < edges[0] else ("longest", edges[1])
    return f"extrapolated: the {kind} task takes {edge:.4g} min"
