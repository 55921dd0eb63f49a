"""A number that says how sure it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from howsure.errors import StateError

__all__ = ["Estimate", "State", "chance", "stated"]

State = Literal["ok", "below_range", "above_range", "unbounded", "undefined", "too_few"]

_MOST_DECIMALS = 6
_OPEN = ("below_range", "above_range", "unbounded")  # states of an end that an interval has, but not as a number


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval, or the state that says why there is none.

    ``state`` is a value, not an exception: ``ok``; ``below_range`` and ``above_range`` (the true value is beyond the observed
    range, and ``value`` is the edge of that range, if known); ``unbounded`` (nothing in the data limits it); ``undefined`` (no such
    number exists here, and ``reason`` says why); ``too_few`` (more data would define it).
    ``low_state`` and ``high_state`` say the same of the two ends of the interval. ``float(estimate)`` gives the value where the
    state is ``ok`` and raises otherwise.

    >>> print(Estimate(0.7812, 0.731, 0.829))
    0.78 [0.73, 0.83]
    >>> print(Estimate.without("too_few", "one cluster; two are needed"))
    too few (one cluster; two are needed)
    >>> float(Estimate(0.7812, 0.731, 0.829))
    0.7812

    Parameters
    ----------
    value : float | None
        The estimate; None where it is not defined.
    low : float | None
        Lower end of the interval; None where it is open or unknown.
    high : float | None
        Upper end of the interval; None where it is open or unknown.
    level : float
        Coverage of the interval, between 0 and 1.
    state : State
        State of the value.
    reason : str
        Why there is no value or no interval, in words.
    low_state : State
        State of the lower end.
    high_state : State
        State of the upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    state: State = "ok"
    reason: str = ""
    low_state: State = "ok"
    high_state: State = "ok"

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            number = getattr(self, name)
            if number is None:
                continue
            number = float(number)
            if not math.isfinite(number):
                raise ValueError(f"Estimate.{name} is {number}: give a state instead")
            object.__setattr__(self, name, number)
        if self.state == "ok" and self.value is None:
            raise ValueError("an Estimate without value needs a state other than 'ok'")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"the interval's low end {self.low} is above its high end {self.high}")
        if not 0 < self.level < 1:
            raise ValueError(f"level {self.level} is not between 0 and 1")

    @classmethod
    def without(cls, state: State, reason: str, *, value: float | None = None, level: float = 0.95) -> Estimate:
        """An estimate that has no interval, and says why."""
        return cls(value, level=level, state=state, reason=reason)

    def __float__(self) -> float:
        """The value of an estimate whose state is ``ok``.

        Raises
        ------
        StateError
            If the state is not ``ok``: an edge of the range, or nothing, is not the value.
        """
        if self.state != "ok" or self.value is None:
            raise StateError(
                f"The estimate has no number: {self}. Look at its state ({self.state}) first, or use .value, which may be None."
            )
        return self.value

    @property
    def width(self) -> float | None:
        """Width of the interval, or None when an end is open."""
        return None if self.low is None or self.high is None else self.high - self.low

    def __neg__(self) -> Estimate:
        """The estimate with the opposite sign; its interval and the states of its ends change sides."""
        value, low, high = (None if number is None else -number for number in (self.value, self.low, self.high))
        opposite: dict[State, State] = {"below_range": "above_range", "above_range": "below_range"}
        state, low_state, high_state = (opposite.get(one, one) for one in (self.state, self.low_state, self.high_state))
        return replace(self, value=value, low=high, high=low, state=state, low_state=high_state, high_state=low_state)

    def map(self, function: Callable[[float], float]) -> Estimate:
        """The estimate on another scale, by an increasing function."""
        moved = [None if number is None else function(number) for number in (self.value, self.low, self.high)]
        return replace(self, value=moved[0], low=moved[1], high=moved[2])

    def covers(self, truth: float) -> bool:
        """Whether the interval contains the true value `truth`; an end that is open, or beyond the observed range, excludes nothing."""
        is_above = self.low is None or self.low_state != "ok" or self.low <= truth
        return is_above and (self.high is None or self.high_state != "ok" or truth <= self.high)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON: no NaN, no infinity; ``reason`` and the ends' states only where they say something."""
        told: dict[str, Any] = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "state": self.state,
        }
        told |= {"reason": self.reason} if self.reason else {}
        told |= {k: v for k in ("low_state", "high_state") if (v := getattr(self, k)) != "ok"}
        return told

    def __str__(self) -> str:
        return self.text(self.decimals())

    def text(self, digits: int) -> str:
        """As it prints, with this many decimals.

        >>> print(Estimate(2, 1, 4).text(0))
        2 [1, 4]
        """
        if self.value is None:
            return self.state.replace("_", " ") + (f" ({self.reason})" if self.reason else "")
        edge = {"below_range": "< ", "above_range": "> "}.get(self.state, "")
        text = f"{edge}{_number(self.value, digits)}"
        is_open = self.low_state in _OPEN and self.high_state in _OPEN
        if self.low is not None or self.high is not None or is_open:
            low = _end(self.low, self.low_state, "−∞", digits)
            high = _end(self.high, self.high_state, "∞", digits)
            text += f" [{low}, {high}]"
        elif self.low_state == "undefined":
            text += " [undefined]"
        if self.state in ("undefined", "unbounded", "too_few"):
            text += f" {self.state.replace('_', ' ')}"
        return text

    def against(self, threshold: float) -> str:
        """As it prints, with as many digits as show on which side of `threshold` the value and each end lie.

        >>> print(Estimate(0.14, -0.0004, 0.281).against(0))
        0.1400 [-0.0004, 0.2810]
        """
        # a threshold such as 0.7 cannot be compared with [-1.0, 1.0]
        least = max(len(f"{threshold:g}".partition(".")[2]), 2 if 0 < abs(threshold) < 1 else 0)
        digits = max(self.decimals(), least)
        return self.text(_decimals_apart(digits, threshold, (self.value, self.low, self.high)))

    def decimals(self) -> int:
        """As many as make the interval at least eight steps wide, or three digits of the value itself.

        An interval with 0 inside shows that: neither end is rounded to 0.
        """
        if self.width:
            digits = min(max(0, math.ceil(-math.log10(self.width / 8))), _MOST_DECIMALS)
            has_zero_inside = self.low is not None and self.high is not None and self.low < 0 < self.high
            return _decimals_apart(digits, 0, (self.low, self.high)) if has_zero_inside else digits
        if not self.value:
            return 2
        return min(max(0, 2 - math.floor(math.log10(abs(self.value)))), _MOST_DECIMALS)


def _decimals_apart(digits: int, threshold: float, numbers: Sequence[float | None]) -> int:
    """At least `digits`, and as many as keep numbers that are not the threshold from being rounded to it; `digits` where none suffice."""
    apart = [number for number in numbers if number is not None and number != threshold]
    enough = (d for d in range(digits, _MOST_DECIMALS + 1) if all(round(n, d) != round(threshold, d) for n in apart))
    return next(enough, digits)


def chance(probability: float | None) -> str | None:
    """A probability as it prints: three digits, and never quite 0 or 1.

    >>> chance(0.99999), chance(0.25)
    ('>0.999', '0.250')
    """
    if probability is None:
        return None
    return "<0.001" if probability < 0.0005 else ">0.999" if probability > 0.9995 else f"{probability:.3f}"


def stated(symbol: str, probability: float) -> str:
    """A probability or p-value as a sentence states it.

    >>> stated("p", 0.0000002), stated("p", 0.0321), stated("P(A > B)", 0.99999)
    ('p < 0.001', 'p = 0.032', 'P(A > B) > 0.999')
    """
    text = chance(probability) or ""
    return f"{symbol} {text[0]} {text[1:]}" if text[0] in "<>" else f"{symbol} = {text}"


def _end(number: float | None, state: State, open_end: str, digits: int) -> str:
    if number is None:
        return open_end
    edge = {"below_range": "<", "above_range": ">"}.get(state, "")
    return edge + _number(number, digits)


def _number(number: float, digits: int) -> str:
    text = f"{number:,.{digits}f}" if abs(number) < 1e9 else f"{number:.4g}"
    return "0" + text[2:] if text.startswith("-0") and not float(text.replace(",", "")) else text
