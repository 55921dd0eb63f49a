"""Inversions: how many pairs are out of order. Writing the state down is no help.

Each turn adds the count of earlier numbers that are larger than the newest. For that one has to pass over all of them once, and it
is the same work on the conversation as it stands as on a sorted list of it; the sum so far is already there as the last answer.
So explicit state saves nothing, while the answer is different nearly every turn and cannot be guessed from the last ones, as a median or
mode that rests for long stretches can.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from howsure.track.game.statistics.base import Statistic, Update

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Tracker"]


class Tracker(Statistic):
    """The count of pairs in which the earlier number is larger than the later."""

    name = "inversions"
    task = "how many pairs of numbers shown so far are out of order: the earlier one is larger than the later one"
    rule = "Every pair counts, not only neighbours. Two equal numbers are in order."
    state = "how many pairs are out of order so far, and the numbers so far, sorted"
    example = (4, 7, 2, 4)
    explicit = "useless"

    def __init__(self) -> None:
        self._sorted: list[int] = []
        self._pairs = 0

    def update(self, update: Update) -> None:
        """Count the larger ones by halving, O(log n)."""
        number = int(update)
        self._pairs += len(self._sorted) - bisect_right(self._sorted, number)
        insort(self._sorted, number)

    def answer(self) -> float:
        """The count so far."""
        return self._pairs

    def render(self) -> str:
        """The count and the sorted list."""
        return f"{self._pairs}, {self._sorted}"

    def one_off(self) -> Collection[float]:
        """Miscounted by one."""
        return self._pairs - 1, self._pairs + 1

    def probability(self, said: float) -> float:
        """One of all counts that so many numbers can have."""
        most = len(self._sorted) * (len(self._sorted) - 1) // 2
        return 1 / (most + 1) if 0 <= said <= most and said == int(said) else 0.0

    @classmethod
    def guess(cls, seen: Sequence[Update], rng: np.random.Generator) -> float:
        """Any count that so many numbers can have."""
        return int(rng.integers(len(seen) * (len(seen) - 1) // 2 + 1))
