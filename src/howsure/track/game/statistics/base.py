"""What everything that can be tracked offers: it follows the updates, answers, shows its state, and knows the likely mistakes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np

__all__ = ["Statistic", "Step", "Update", "shown"]

Update: TypeAlias = int | str
"""One change of the state: a number, or a short code that `Statistic.event` puts into words."""
Step: TypeAlias = Update | list[Update]
"""What one turn shows: an update, or a list of several."""


class Statistic(ABC):
    """A statistic of all numbers so far; `howsure.track.game.statistics.worlds` has states of other kinds.

    ``name`` stands in the answer's brackets, ``task`` says in the prompt what to keep track of, ``rule`` what to do where that is not
    unique, ``state`` what `render` shows, and ``example`` are updates on which the prompt works it out. ``explicit`` says what it is good for to show the state:
    it ``helps``, it is ``useless`` because the conversation shows as much, or it is ``impossible`` to write down what would help. ``size`` is the size of the
    state where that is a dial, else 0.
    """

    name: ClassVar[str]
    task: ClassVar[str]
    rule: ClassVar[str]
    state: ClassVar[str]
    example: ClassVar[tuple[Update, ...]]
    explicit: ClassVar[Literal["helps", "useless", "impossible"]]
    size: ClassVar[int] = 0
    sizes: ClassVar[tuple[int, int]] = (0, 0)

    def take(self, step: Step) -> None:
        """Take all updates of a turn."""
        for one in step if isinstance(step, list) else (step,):
            self.update(one)

    @abstractmethod
    def update(self, update: Update) -> None:
        """Take the next update."""

    @abstractmethod
    def answer(self) -> float:
        """What is right now."""

    @abstractmethod
    def render(self) -> str:
        """The state as plain text: all that is needed to go on without the updates so far."""

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

    @classmethod
    def guess(cls, seen: Sequence[Update], rng: np.random.Generator) -> float:
        """What somebody says who knows which numbers there were and tracks nothing: one of them."""
        return float(seen[int(rng.integers(len(seen)))])

    @classmethod
    def updates(cls, seed: int, n: int, low: int, high: int) -> list[Update]:
        """The first `n` updates of the sequence called `seed`; numbers are drawn from `low` up to, but not including, `high`."""
        return list(np.random.default_rng(seed).integers(low, high, size=n).tolist())

    @classmethod
    def event(cls, update: Update) -> str:
        """An update as it is shown."""
        return str(update)

    @classmethod
    def question(cls, update: Update) -> str:
        """What a turn asks at its end, where that is not the same in each."""
        return ""

    @classmethod
    def reference(cls) -> str:
        """What a player has to look up, the same in every turn: a model has it in the conversation, and people see it below each turn."""
        return ""

    @classmethod
    def intro(cls) -> str:
        """What is shown, and how it begins; empty where the numbers of the setting are shown."""
        return ""


def shown(answer: float) -> str:
    """An answer as one writes it: whole, or with one decimal.

    >>> shown(28.0), shown(40.5)
    ('28', '40.5')
    """
    return str(int(answer)) if answer == int(answer) else f"{answer:.1f}"
