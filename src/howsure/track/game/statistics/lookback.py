"""Lookback: the number that was shown so many places ago as the turn asks. Writing the state down is no help.

Which place will be asked for is known only when it is asked, and every place is asked for equally often. So there is no state shorter than the
sequence in its order, and that is what the conversation shows anyway. What remains is finding one's way in what was said.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from howsure.track.game.statistics.base import Statistic, Update

__all__ = ["Tracker"]


class Tracker(Statistic):
    """Count back from the newest number."""

    name = "lookback"
    task = "the number that was shown so many places before the newest one as the message asks"
    rule = "0 places back is the newest number itself, 1 place back the one before it."
    state = "the numbers so far, in the order in which they were shown"
    example = ("5 0", "3 1", "8 1", "6 3")
    explicit = "useless"

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._back = 0

    def update(self, update: Update) -> None:
        """Keep it, O(1)."""
        number, back = _parts(update)
        self._numbers.append(number)
        self._back = back

    def answer(self) -> float:
        """The number at the place that was asked for."""
        return self._numbers[max(-1 - self._back, -len(self._numbers))]  # of a shorter memory, the oldest

    def render(self) -> str:
        """The sequence itself."""
        return str(self._numbers)

    def one_off(self) -> Collection[float]:
        """The neighbours of the right place."""
        places = (self._back - 1, self._back + 1)
        return [self._numbers[-1 - place] for place in places if 0 <= place < len(self._numbers)]

    def probability(self, said: float) -> float:
        """The share of the numbers that equal it."""
        return self._numbers.count(int(said)) / len(self._numbers) if said == int(said) else 0.0

    @classmethod
    def guess(cls, seen: Sequence[Update], rng: np.random.Generator) -> float:
        """One of the numbers."""
        return _parts(seen[int(rng.integers(len(seen)))])[0]

    @classmethod
    def updates(cls, seed: int, n: int, low: int, high: int) -> list[Update]:
        """The numbers of the sequence, and how far back each turn asks: any place, each as likely as the other."""
        numbers = super().updates(seed, n, low, high)
        back = (np.random.default_rng([seed, 1]).random(n) * np.arange(1, n + 1)).astype(int)
        return [f"{number} {place}" for number, place in zip(numbers, back.tolist(), strict=True)]

    @classmethod
    def event(cls, update: Update) -> str:
        """The number."""
        return str(_parts(update)[0])

    @classmethod
    def question(cls, update: Update) -> str:
        """How far back."""
        back = _parts(update)[1]
        return f"Which number is {back} {'place' if back == 1 else 'places'} back?"


def _parts(update: Update) -> tuple[int, int]:
    number, back = str(update).split()
    return int(number), int(back)
