"""Spread: the median distance between two of the numbers. The state that would help cannot be written down.

The answer is the middle of a list that has a distance for every pair: n(n − 1)/2 of them, 44,850 after 300 numbers. Each turn adds n
entries all over that list, so no reply can contain or update it. What fits in a reply, the sorted numbers, leaves the whole work to do.
(Shamos 1976; a robust measure of scale.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from howsure.track.game.statistics.base import Statistic, Update

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Tracker"]


class Tracker(Statistic):
    """The middle of all |a − b|; 0 for a single number."""

    name = "spread"
    task = "the median of the distances between any two of the numbers shown so far"
    rule = (
        "Every pair of numbers has one distance: the larger minus the smaller. When the count of distances is even, take the mean of the two in "
        "the middle, which may end in .5. For the first number alone, the answer is 0."
    )
    state = "the numbers so far, sorted"
    example = (8, 3, 10, 3)
    explicit = "impossible"

    def __init__(self) -> None:
        self._counts: NDArray[np.int64] = np.zeros(100, dtype=np.int64)
        self._distances = self._counts.copy()
        self._n = 0

    def update(self, update: Update) -> None:
        """Add its distance to every other number: work that grows with the range, not with n."""
        number = int(update)
        self._make_room(number)
        below, above = self._counts[number::-1], self._counts[number:]
        self._distances[: len(below)] += below
        self._distances[1 : len(above)] += above[1:]
        self._counts[number] += 1
        self._n += 1

    def answer(self) -> float:
        """The middle of the distances."""
        low, high = self._middle()
        return (low + high) / 2

    def render(self) -> str:
        """The sorted list of numbers."""
        return str(np.repeat(np.arange(len(self._counts)), self._counts).tolist())

    def by_another_rule(self) -> Collection[float]:
        """The lower and the upper middle of the distances, where there are two."""
        return () if self._n_pairs % 2 else self._middle()

    def one_off(self) -> Collection[float]:
        """The next smaller and the next larger distance."""
        there, answer = np.flatnonzero(self._distances), self.answer()
        return [*there[there < answer][-1:].tolist(), *there[there > answer][:1].tolist()]

    def probability(self, said: float) -> float:
        """The share of pairs, each number also with itself, that have this distance."""
        if said != int(said) or not 0 <= said < len(self._distances):
            return 0.0
        pairs = 2 * int(self._distances[int(said)]) + (self._n if said == 0 else 0)
        return pairs / (self._n * self._n)

    @property
    def _n_pairs(self) -> int:
        return self._n * (self._n - 1) // 2

    def _middle(self) -> tuple[int, int]:
        """The two distances in the middle, which are the same one where their count is odd."""
        if not self._n_pairs:
            return 0, 0
        ranks = [(self._n_pairs - 1) // 2, self._n_pairs // 2]
        low, high = np.searchsorted(self._distances.cumsum(), ranks, side="right").tolist()
        return low, high

    def _make_room(self, number: int) -> None:
        more = number + 1 - len(self._counts)
        if more > 0:
            self._counts, self._distances = np.pad(self._counts, (0, more)), np.pad(self._distances, (0, more))

    @classmethod
    def guess(cls, seen: Sequence[Update], rng: np.random.Generator) -> float:
        """The distance between two of the numbers, each drawn from all."""
        first, second = (int(seen[int(place)]) for place in rng.integers(len(seen), size=2))
        return abs(first - second)
