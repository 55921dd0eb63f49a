"""What a sample shows, turn by turn, and lines that have nothing to do with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from howsure.errors import OptionError
from howsure.track.game.statistics import Step, statistic

__all__ = ["HIGH", "LENGTH", "LOW", "MODES", "OTHER", "STANDARD", "Mode", "Setting", "distractors", "numbers"]

LENGTH, LOW, HIGH = 300, 0, 100
STANDARD = "standard"
Mode = Literal["turns", "one-shot", "continue"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""How a game is played: turn by turn to the first error, all turns in one prompt, or turn by turn to the end whatever is answered."""

OTHER = "Other table:"  # before an update of another game

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
    Setting(length=50, low=0, high=100, distractors=0.5, is_brief=False, keeps_reasoning=False, takes_first=False, updates=1, interference=0.0, mode='turns', replaced=0.0, is_original=False)

    Parameters
    ----------
    length : int
        Turns per game.
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
    updates : int
        Numbers, or changes of the state, per turn.
    interference : float
        Probability that a turn also shows an update of another game, which must be ignored.
    mode : {"turns", "one-shot", "continue"}
        Turn by turn to the first error; all turns in one prompt; or turn by turn to the end, whatever is answered.
    replaced : float
        In the mode ``continue``: probability that the model's answer is replaced by a wrong one in the conversation that it reads afterwards.
    is_original : bool
        Whether the instructions have the order of the eval's first implementation: task, rule, example, format.
    """

    length: int = LENGTH
    low: int = LOW
    high: int = HIGH
    distractors: float = 0.0
    is_brief: bool = False
    keeps_reasoning: bool = False
    takes_first: bool = False
    updates: int = 1
    interference: float = 0.0
    mode: Mode = "turns"
    replaced: float = 0.0
    is_original: bool = False

    def __post_init__(self) -> None:
        if self.length < 1:
            raise OptionError(f"length {self.length} is too short. Give at least 1.")
        if not 0 <= self.low < self.high:
            raise OptionError(
                f"Numbers from {self.low} up to {self.high}: answers have no minus sign. Give 0 ≤ low < high."
            )
        for name in ("distractors", "interference", "replaced"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"{name} {getattr(self, name):g} is not a probability. Give a number from 0 to 1.")
        if self.updates < 1:
            raise OptionError(f"updates {self.updates} is too few. Give at least 1.")
        if self.mode not in MODES:
            raise OptionError.unknown("mode", self.mode, MODES)
        if self.replaced and self.mode != "continue":
            raise OptionError("Replaced answers stay in a conversation that goes on after an error: use mode continue.")
        if self.mode == "one-shot" and self.keeps_reasoning:
            raise OptionError("In one prompt there is no earlier reasoning to keep. Choose one of the two.")
        if self.is_brief and self.keeps_reasoning:
            raise OptionError(
                "Brief replies forbid a state in writing, and kept reasoning is one. Choose one of the two."
            )

    @classmethod
    def of(cls, label: str, length: int = LENGTH) -> Setting:
        """The setting with this `label` and `length`."""
        pairs = [] if label == STANDARD else [word.partition("=") for word in label.split() or [""]]
        try:
            return cls(length, **{name: _KINDS[name](value) for name, _, value in pairs})
        except (KeyError, ValueError):
            raise OptionError(
                f"Setting {label!r} is not known. Write {STANDARD!r}, or what differs: low=0 high=10 distractors=0.5 is_brief=1 keeps_reasoning=1 takes_first=1 updates=2 interference=0.5 mode=one-shot replaced=0.1 is_original=1."
            ) from None

    @property
    def label(self) -> str:
        """What differs from the original conditions, its length left aside; ``standard`` where nothing does."""
        differs = [field.name for field in fields(self)[1:] if getattr(self, field.name) != field.default]
        values = ((name, getattr(self, name)) for name in differs)
        return " ".join(f"{name}={v if isinstance(v, str) else f'{float(v):.15g}'}" for name, v in values) or STANDARD

    def steps(self, variant: str, seed: int) -> list[Step]:
        """What the sample called `seed` shows, turn by turn: a number or another update, or with several per turn a list of them."""
        if seed < 0:
            raise OptionError(f"seed {seed} is below 0. Samples are numbered from 0.")
        every = self.updates
        drawn = statistic(variant).updates(seed, self.length * every, self.low, self.high)
        return list(drawn) if every == 1 else [drawn[i : i + every] for i in range(0, len(drawn), every)]

    def lines(self, variant: str, seed: int) -> list[str]:
        """What stands before each turn and must be ignored: an irrelevant line, an update of another game, both, or nothing."""
        lines = distractors(seed, length=self.length, share=self.distractors)
        if self.interference:
            rng, kind = np.random.default_rng([seed, self.length, 1]), statistic(variant)
            others = kind.updates(seed + 10**6, self.length, self.low, self.high)
            is_due = rng.random(self.length) < self.interference
            told = [f"{OTHER} {kind.event(one)}" if due else "" for one, due in zip(others, is_due, strict=True)]
            lines = ["\n".join(filter(None, pair)) for pair in zip(lines, told, strict=True)]
        return lines


def _flag(text: str) -> bool:
    return bool(float(text))


def _count(text: str) -> int:
    return int(float(text))


_KINDS: dict[str, Callable[[str], Any]] = {
    "low": _count,
    "high": _count,
    "distractors": float,
    "is_brief": _flag,
    "keeps_reasoning": _flag,
    "takes_first": _flag,
    "updates": _count,
    "interference": float,
    "mode": str,
    "replaced": float,
    "is_original": _flag,
}
