"""What every statistic offers: it follows the numbers, answers, shows its state, and knows the likely mistakes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Statistic", "shown"]


class Statistic(ABC):
    """A statistic of all numbers so far.

    ``name`` stands in the answer's brackets, ``task`` says in the prompt what to keep track of, ``rule`` what to do where that is not
    unique, ``state`` what `render` shows, and ``example`` are numbers on which the prompt works it out.
    """

    name: ClassVar[str]
    task: ClassVar[str]
    rule: ClassVar[str]
    state: ClassVar[str]
    example: ClassVar[tuple[int, ...]]

    @abstractmethod
    def update(self, number: int) -> None:
        """Take the next number."""

    @abstractmethod
    def answer(self) -> float:
        """The statistic of the numbers so far."""

    @abstractmethod
    def render(self) -> str:
        """The state as plain text: all that is needed to go on without the numbers so far."""

    def by_another_rule(self) -> Collection[float]:
        """What would be right under another rule for ties or even lengths."""
        return ()

    def one_off(self) -> Collection[float]:
        """What somebody says who is one rank, or one count, beside the answer."""
        return ()

    @abstractmethod
    def probability(self, said: float) -> float:
        """The probability that `guess` says this now."""

    def chance(self) -> float:
        """The probability that `guess` is right now."""
        return self.probability(self.answer())

    @staticmethod
    def guess(seen: Sequence[int], rng: np.random.Generator) -> float:
        """What somebody says who knows which numbers there were and tracks nothing: one of them."""
        return seen[int(rng.integers(len(seen)))]


def shown(answer: float) -> str:
    """An answer as one writes it: whole, or with one decimal.

    >>> shown(28.0), shown(40.5)
    ('28', '40.5')
    """
    return str(int(answer)) if answer == int(answer) else f"{answer:.1f}"
