"""How much a stranger may ask of the collector."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Limits", "RateLimit"]


@dataclass(frozen=True)
class Limits:
    """What one request may weigh and last, and how many may come: per link, and per network address where the link is unknown.

    An address is a network's outermost one: a class room or a company shares it. So people who answer are never refused for having few places left; but where
    places run out, one that was taken and left idle, from an address with more than a quarter of all places, goes to somebody from another address.
    """

    body_bytes: int = 1_000_000
    body_seconds: float = 15
    head_seconds: float = 10
    connections: int = 800
    per_link: tuple[float, int] = (3, 60)  # requests a second in the long run, and at once
    per_stranger: tuple[float, int] = (1, 30)
    per_join: tuple[float, int] = (2, 60)  # from one address by the open link
    seats_per_address: int = 40  # that are taken and not yet finished
    idle_seconds: float = 300  # after which a place without any answer counts as idle


class RateLimit:
    """A bucket for each name: `burst` requests at once, refilled with `per_second`. The oldest names are forgotten first."""

    def __init__(
        self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic, n_names: int = 10_000
    ) -> None:
        self._per_second, self._burst, self._clock, self._n_names = per_second, burst, clock, n_names
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, name: str) -> bool:
        """Whether one more request of this name is within the rate; it is counted if it is."""
        now = self._clock()
        left, then = self._left.pop(name, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._per_second)
        self._left[name] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > self._n_names:
            self._left.popitem(last=False)
        return left >= 1
