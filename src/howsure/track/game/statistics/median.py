"""The running median. Its explicit state, the sorted list, makes the answer a look at the middle."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from howsure.track.game.statistics.base import Statistic, Update

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Tracker"]


class Tracker(Statistic):
    """The middle of the sorted numbers; of an even count, the mean of the two in the middle."""

    name = "median"
    task = "the median of all numbers shown so far: the one in the middle when they are sorted"
    rule = "When the count of numbers is even, the median is the mean of the two in the middle, which may end in .5."
    state = "the numbers so far, sorted"
    example = (8, 3, 10, 3)
    explicit = "helps"

    def __init__(self) -> None:
        self._sorted: list[int] = []

    def update(self, update: Update) -> None:
        """Find the place by halving, O(log n)."""
        insort(self._sorted, int(update))

    def answer(self) -> float:
        """The middle, or the mean of the two in the middle."""
        n = len(self._sorted)
        return (self._sorted[(n - 1) // 2] + self._sorted[n // 2]) / 2

    def render(self) -> str:
        """The sorted list."""
        return str(self._sorted)

    def by_another_rule(self) -> Collection[float]:
        """The lower and the upper middle, where there are two."""
        n = len(self._sorted)
        return () if n % 2 else (self._sorted[n // 2 - 1], self._sorted[n // 2])

    def one_off(self) -> Collection[float]:
        """The middle with one of its numbers taken one place too low or too high."""
        n = len(self._sorted)
        low, high = (n - 1) // 2, n // 2
        places = {(low - 1, high), (low, high + 1), (low - 1, high - 1), (low + 1, high + 1)}
        return [(self._sorted[a] + self._sorted[b]) / 2 for a, b in places if a >= 0 and b < n]

    def probability(self, said: float) -> float:
        """The share of numbers, or of pairs of them, that give it."""
        n, twice = len(self._sorted), 2 * said
        counts: Counter[float] = Counter(self._sorted)
        if n % 2:
            return counts[said] / n
        return sum(times * counts[twice - number] for number, times in counts.items()) / (n * n)

    @classmethod
    def guess(cls, seen: Sequence[Update], rng: np.random.Generator) -> float:
        """One of the numbers, or for an even count the mean of two, each drawn from all."""
        drawn = [int(seen[int(place)]) for place in rng.integers(len(seen), size=2 - len(seen) % 2)]
        return sum(drawn) / len(drawn)
