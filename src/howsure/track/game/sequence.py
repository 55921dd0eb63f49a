"""The numbers of a sample, and lines that have nothing to do with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from howsure.errors import OptionError

__all__ = ["HIGH", "LENGTH", "LOW", "STANDARD", "Setting", "distractors", "numbers"]

LENGTH, LOW, HIGH = 300, 0, 100
STANDARD = "standard"

_WHO = ("The librarian", "A heron", "My neighbour", "The ferry", "An old clock", "The baker's dog", "A passing train")
_WHAT = ("is early today", "waits by the canal", "has lost a glove", "hums a tune", "looks at the clouds")
_WHERE = ("as usual", "in the rain", "near the market", "before lunch", "without a word", "under the bridge")


def numbers(seed: int, *, length: int = LENGTH, low: int = LOW, high: int = HIGH) -> list[int]:
    """The numbers of the sample called `seed`: from `low` up to, but not including, `high`.

    The draw is ``np.random.default_rng(seed).integers(low, high, size=length)``, as in the eval's first implementation.
    """
    if seed < 0:
        raise OptionError(f"seed {seed} is below 0. Samples are numbered from 0.")
    drawn: list[int] = np.random.default_rng(seed).integers(low, high, size=length).tolist()
    return drawn


def distractors(seed: int, *, length: int = LENGTH, share: float = 1.0) -> list[str]:
    """An irrelevant line to show before each number, without digits; empty where none is due.

    ``share`` is the chance that a turn has one. The lines do not depend on the numbers, nor the numbers on them.
    """
    rng = np.random.default_rng([seed, length])
    is_due = rng.random(length) < share
    picked = zip(*(rng.integers(len(words), size=length) for words in (_WHO, _WHAT, _WHERE)), strict=True)
    lines = [f"{_WHO[who]} {_WHAT[what]} {_WHERE[where]}." for who, what, where in picked]
    return [line if due else "" for line, due in zip(lines, is_due, strict=True)]


@dataclass(frozen=True)
class Setting:
    """Conditions of a game; results of different settings are never pooled.

    >>> Setting(distractors=0.5).label
    'distractors=0.5'
    >>> Setting.of("distractors=0.5", length=50)
    Setting(length=50, low=0, high=100, distractors=0.5, is_brief=False, keeps_reasoning=False, takes_first=False)

    Parameters
    ----------
    length : int
        Numbers per sequence.
    low : int
        Smallest number.
    high : int
        One more than the largest number.
    distractors : float
        Probability of an irrelevant line before a number.
    is_brief : bool
        Whether replies may contain only the answer. Reasoning before the reply is counted, not forbidden.
    keeps_reasoning : bool
        Whether the reasoning of earlier turns stays in the conversation, where a model can read its notes again.
    takes_first : bool
        Whether the first answer in brackets counts, as in the eval's first implementation, and not the last.
    """

    length: int = LENGTH
    low: int = LOW
    high: int = HIGH
    distractors: float = 0.0
    is_brief: bool = False
    keeps_reasoning: bool = False
    takes_first: bool = False

    def __post_init__(self) -> None:
        if self.length < 1:
            raise OptionError(f"length {self.length} is too short. Give at least 1.")
        if not 0 <= self.low < self.high:
            raise OptionError(
                f"Numbers from {self.low} up to {self.high}: answers have no minus sign. Give 0 ≤ low < high."
            )
        if not 0 <= self.distractors <= 1:
            raise OptionError(f"distractors {self.distractors:g} is not a probability. Give a number from 0 to 1.")
        if self.is_brief and self.keeps_reasoning:
            raise OptionError(
                "Brief replies forbid a state in writing, and kept reasoning is one. Choose one of the two."
            )

    @classmethod
    def of(cls, label: str, length: int = LENGTH) -> Setting:
        """The setting with this `label` and `length`."""
        pairs = [] if label == STANDARD else [word.partition("=") for word in label.split() or [""]]
        try:
            return cls(length, **{name: _KINDS[name](float(value)) for name, _, value in pairs})
        except (KeyError, ValueError):
            raise OptionError(
                f"Setting {label!r} is not known. Write {STANDARD!r}, or what differs: low=0 high=10 distractors=0.5 is_brief=1 keeps_reasoning=1 takes_first=1."
            ) from None

    @property
    def label(self) -> str:
        """What differs from the original conditions, its length left aside; ``standard`` where nothing does."""
        differs = [field.name for field in fields(self)[1:] if getattr(self, field.name) != field.default]
        return " ".join(f"{name}={float(getattr(self, name)):.15g}" for name in differs) or STANDARD

    def numbers(self, seed: int) -> list[int]:
        """The numbers of the sample called `seed`."""
        return numbers(seed, length=self.length, low=self.low, high=self.high)

    def lines(self, seed: int) -> list[str]:
        """The irrelevant lines before them, empty where none is due."""
        return distractors(seed, length=self.length, share=self.distractors)


_KINDS: dict[str, Callable[[float], Any]] = {
    "low": int,
    "high": int,
    "distractors": float,
    "is_brief": bool,
    "keeps_reasoning": bool,
    "takes_first": bool,
}
