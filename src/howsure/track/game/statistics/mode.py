"""The running mode. Its explicit state, number → count, makes the answer a look for the highest count."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from howsure.track.game.statistics.base import Statistic, Update

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Tracker"]


class Tracker(Statistic):
    """The number that was shown most often; among several, the largest."""

    name = "mode"
    task = "the mode of all numbers shown so far: the one that was shown most often"
    rule = "When several numbers were shown equally often, the mode is the largest of them."
    state = "how often each number was shown so far"
    example = (4, 9, 4, 9)
    explicit = "helps"

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._best = (0, 0)

    def update(self, update: Update) -> None:
        """Only the new number can overtake, so one comparison is enough."""
        number = int(update)
        count = self._counts[number] = self._counts.get(number, 0) + 1
        self._best = max(self._best, (count, number))

    def answer(self) -> float:
        """The number with the highest count."""
        return self._best[1]

    def render(self) -> str:
        """Number → count, by number."""
        return str(dict(sorted(self._counts.items())))

    def by_another_rule(self) -> Collection[float]:
        """The others that were shown as often."""
        return self._shown(self._best[0]) - {self._best[1]}

    def one_off(self) -> Collection[float]:
        """Those that were shown once less."""
        return self._shown(self._best[0] - 1)

    def _shown(self, count: int) -> set[int]:
        return {number for number, times in self._counts.items() if times == count}

    def probability(self, said: float) -> float:
        """One of the different numbers."""
        return 1 / len(self._counts) if said in self._counts else 0.0

    @classmethod
    def guess(cls, seen: Sequence[Update], rng: np.random.Generator) -> float:
        """One of the different numbers, each as likely as the other."""
        different = sorted({int(one) for one in seen})
        return different[int(rng.integers(len(different)))]
