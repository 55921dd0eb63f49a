"""Recall: the number that was shown as many turns ago as the newest number says. Writing the state down is no help.

Which place will be asked for is known only when it is asked, and every place can be. So there is no state shorter than the
sequence in its order, and that is what the conversation shows anyway: a list of it tells nothing new, and nothing can be worked out beforehand in
a scratchpad. What remains is finding one's way in what was said, which is the memory that one wants to measure.
"""

from __future__ import annotations

from collections.abc import Collection

from howsure.track.game.statistics.base import Statistic

__all__ = ["Tracker"]


class Tracker(Statistic):
    """Count back x turns from the newest number x; before the first comes the newest again."""

    name = "recall"
    task = "the number that was shown as many turns ago as the newest number says (0 turns ago is the newest number itself)"
    rule = "When that reaches back before the first number, go on from the newest: before the first number comes the newest again."
    state = "the numbers so far, in the order in which they were shown"
    example = (5, 3, 1, 6)

    def __init__(self) -> None:
        self._numbers: list[int] = []

    def update(self, number: int) -> None:
        """Keep it, O(1)."""
        self._numbers.append(number)

    def answer(self) -> float:
        """The number at the place that the newest points to."""
        return self._back(0)

    def render(self) -> str:
        """The sequence itself."""
        return str(self._numbers)

    def by_another_rule(self) -> Collection[float]:
        """The first number, for those who stop there."""
        return (self._numbers[0],) if self._numbers[-1] >= len(self._numbers) else ()

    def one_off(self) -> Collection[float]:
        """The neighbours of the right place."""
        return self._back(-1), self._back(1)

    def probability(self, said: float) -> float:
        """The share of the numbers that equal it."""
        return self._numbers.count(int(said)) / len(self._numbers) if said == int(said) else 0.0

    def _back(self, further: int) -> int:
        n = len(self._numbers)
        return self._numbers[n - 1 - (self._numbers[-1] + further) % n]
