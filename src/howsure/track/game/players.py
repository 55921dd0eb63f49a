"""Players that need no model: the perfect one, and baselines that remember little or nothing."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from howsure.errors import OptionError
from howsure.track.game.prompts import bracketed
from howsure.track.game.rules import Player
from howsure.track.game.statistics import Statistic, Step, Update, statistic

__all__ = ["PLAYERS", "player"]

Seed: TypeAlias = int | Sequence[int]

PLAYERS = ("oracle", "random", "largest", "window-K", "noisy-P")


def player(name: str, variant: str, *, seed: Seed = 0) -> Player:
    """The player called `name`, ready for one sequence of `variant`.

    ``oracle`` is always right. ``random`` says one of the numbers seen (see the statistic's `guess`). ``largest`` says the
    largest number so far. ``window-20`` tracks the last 20 turns from the start's state and has forgotten the rest. ``noisy-0.05`` is right, but
    errs with chance 0.05 in each turn. ``seed`` matters to ``random`` and ``noisy``: give a run's seed and the sample's, ``(run, sample)``.
    """
    word, _, number = name.partition("-")
    maker = _MAKERS.get((word, bool(number)))
    if maker is None:
        raise OptionError.unknown("player", name, PLAYERS)
    return maker(statistic(variant), name, seed)


class _Oracle:
    """Always right."""

    def __init__(self, kind: type[Statistic], name: str, seed: Seed) -> None:
        self._kind, self._state = kind, kind()

    def reply(self, step: Step) -> str:
        self._state.take(step)
        return bracketed(self._kind, self._state.answer())


class _Noisy:
    """Right, but with a chance of being one off in each turn: lasts a geometric time."""

    def __init__(self, kind: type[Statistic], name: str, seed: Seed) -> None:
        self._kind, self._state = kind, kind()
        self._chance = _number(name, "a probability from 0 to 1", r"0|1|0?\.\d+|1\.0+", "noisy-0.05")
        self._rng = np.random.default_rng(seed)

    def reply(self, step: Step) -> str:
        self._state.take(step)
        return bracketed(self._kind, self._state.answer() + (self._rng.random() < self._chance))


class _Window:
    """Knows the last K numbers only."""

    def __init__(self, kind: type[Statistic], name: str, seed: Seed) -> None:
        self._kind, self._state = kind, kind()
        self._size = int(_number(name, "a whole number, at least 1", r"[1-9]\d{0,8}", "window-20"))
        self._last: deque[Step] = deque(maxlen=self._size)

    def reply(self, step: Step) -> str:
        is_full = len(self._last) == self._size
        self._last.append(step)
        if is_full:
            self._state = self._kind()
        for one in self._last if is_full else (step,):
            self._state.take(one)
        return bracketed(self._kind, self._state.answer())


class _Largest:
    """Remembers one number."""

    def __init__(self, kind: type[Statistic], name: str, seed: Seed) -> None:
        if kind.intro() or kind.name == "lookback":
            raise OptionError(f"largest plays statistics of numbers, not {kind.name}. Choose another player.")
        self._kind, self._largest = kind, 0

    def reply(self, step: Step) -> str:
        self._largest = max(self._largest, *map(int, step if isinstance(step, list) else [step]))
        return bracketed(self._kind, self._largest)


class _Random:
    """Knows which numbers there were, and guesses."""

    def __init__(self, kind: type[Statistic], name: str, seed: Seed) -> None:
        self._kind, self._rng = kind, np.random.default_rng(seed)
        self._seen: list[Update] = []

    def reply(self, step: Step) -> str:
        self._seen += step if isinstance(step, list) else [step]
        return bracketed(self._kind, self._kind.guess(self._seen, self._rng))


_Maker: TypeAlias = Callable[[type[Statistic], str, Seed], Player]

_MAKERS: dict[tuple[str, bool], _Maker] = {
    ("oracle", False): _Oracle,
    ("random", False): _Random,
    ("largest", False): _Largest,
    ("window", True): _Window,
    ("noisy", True): _Noisy,
}


def _number(name: str, what: str, pattern: str, example: str) -> float:
    word, _, number = name.partition("-")
    if not re.fullmatch(pattern, number, re.ASCII):
        raise OptionError(f"Player {name!r}: after {word!r} comes {what}, for example {example}.")
    return float(number)
