"""Minutes as people say them: 18 s, 4.3 min, 2.9 h."""

from __future__ import annotations

from collections.abc import Callable

from howsure.estimates import Estimate

__all__ = ["DURATIONS", "duration", "duration_ticks", "times", "told"]

DURATIONS: dict[float, str] = {
    1 / 60_000: "1 ms",
    1 / 60: "1 s",
    1 / 4: "15 s",
    1: "1 min",
    4: "4 min",
    15: "15 min",
    60: "1 h",
    240: "4 h",
    960: "16 h",
    3840: "64 h",
    15360: "256 h",
    60_000: "1,000 h",
    240_000: "4,000 h",
    960_000: "16,000 h",
}
"""Marks of an axis of minutes."""


_MOST = 60e6  # minutes beyond which the number says nothing any more


def duration(minutes: float) -> str:
    """Minutes in a unit that fits, with two digits.

    >>> duration(0.3), duration(61.2), duration(173)
    ('18 s', '61 min', '2.9 h')
    """
    if minutes < 1:
        return f"{minutes * 60:.2g} s" if minutes * 60 < 59.5 else "1 min"
    if minutes < 99.5:
        return f"{minutes:.2g} min"
    if minutes < _MOST:
        return f"{minutes / 60:.2g} h" if minutes < 5970 else f"{minutes / 60:,.0f} h"
    return f"> {_MOST / 60:,.0f} h"


def times(ratio: float) -> str:
    """A ratio with three digits: 1.61×; beyond a thousand, that it is."""
    if 0 < ratio < 0.001 or ratio > 1000:
        return "< 0.001×" if ratio < 1 else "> 1,000×"
    return f"{ratio:.3g}×" if ratio < 999.5 else "1,000×"


def told(found: Estimate, form: Callable[[float], str] = duration) -> str:
    """An estimate of minutes, or with `times` of a ratio, as it prints, with its interval.

    >>> told(Estimate(61.2, 17.0, 190.0))
    '61 min [17 min, 3.2 h]'
    """
    if found.value is None:
        return str(found)
    edge = {"below_range": "< ", "above_range": "> "}
    text = edge.get(found.state, "") + form(found.value)
    if found.low is None and found.high is None and found.low_state == found.high_state == "ok":
        return text
    if found.low_state in ("too_few", "undefined"):
        return f"{text} [{found.low_state.replace('_', ' ')}]"
    low = "0" if found.low is None else edge.get(found.low_state, "").strip() + form(found.low)
    high = "∞" if found.high is None else edge.get(found.high_state, "").strip() + form(found.high)
    return f"{text} [{low}, {high}]"


def duration_ticks(low: float, high: float) -> dict[float, str]:
    """The marks between two lengths."""
    return {place: name for place, name in DURATIONS.items() if low <= place <= high}
