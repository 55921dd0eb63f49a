"""What a run will use before it is started: tokens read and written, and their price.

A conversation grows turn by turn and is read anew in each, so what is read grows with the square of the turns. Tokens are counted by
a rule of thumb and no tokenizer: expect to be off by a third.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from howsure.errors import OptionError
from howsure.track.prompts import bracketed, instructions, state_message, turn_message
from howsure.track.samples import DIRECT, EXPLICIT
from howsure.track.sequence import Setting
from howsure.track.statistics import statistic

__all__ = ["SOLVERS", "Prices", "TokenEstimate", "count_tokens", "estimate_tokens"]

SOLVERS = (DIRECT, EXPLICIT)
_ENVELOPE = 4  # tokens around each message: its role and its ends
_TOKEN = re.compile(r"\d{1,3}|[^\W\d]{1,7}|[^\w\s]")


@dataclass(frozen=True)
class Prices:
    """What a million tokens cost, in any currency; ``cached`` for what was read the turn before, where a provider gives a discount."""

    reading: float
    writing: float
    cached: float | None = None


@dataclass(frozen=True)
class TokenEstimate:
    """What a run of ``n_samples`` games uses when they last ``turns`` right turns on average.

    ``repeated_tokens`` are those of ``input_tokens`` that the server has read the turn before, which many do not charge in full.
    """

    variant: str
    solver: str
    n_samples: int
    turns: float
    input_tokens: int
    repeated_tokens: int
    output_tokens: int

    @property
    def total_tokens(self) -> int:
        """Read and written."""
        return self.input_tokens + self.output_tokens

    def cost(self, prices: Prices) -> float:
        """The price of it all."""
        cached = prices.reading if prices.cached is None else prices.cached
        fresh = self.input_tokens - self.repeated_tokens
        return (fresh * prices.reading + self.repeated_tokens * cached + self.output_tokens * prices.writing) / 1e6


def estimate_tokens(
    variant: str,
    solver: str = DIRECT,
    *,
    turns: float,
    n_samples: int,
    setting: Setting | None = None,
    extra_output: float = 0,
) -> TokenEstimate:
    """Tokens of a run whose games last `turns` right turns on average, with the same risk in every turn.

    ``extra_output`` is what is written in a turn beside the answer, such as hidden reasoning. It is taken not to be read again.
    """
    setting = setting or Setting()
    if solver not in SOLVERS:
        raise OptionError.unknown("solver", solver, SOLVERS)
    shown, states, replies = _messages(variant, setting)
    opening = count_tokens(instructions(variant, setting)) + _ENVELOPE
    told = opening + np.cumsum(shown) + np.concatenate([[0], np.cumsum(replies + _ENVELOPE)[:-1]])
    asked = _still_playing(turns, setting.length) * n_samples
    read = asked @ (told + (states if solver == EXPLICIT else 0))
    repeated, written = asked[1:] @ told[:-1], asked @ (replies + extra_output)
    return TokenEstimate(variant, solver, n_samples, turns, *(round(float(n)) for n in (read, repeated, written)))


def count_tokens(text: str) -> int:
    """About how many tokens a text has: words of up to seven letters, numbers of up to three digits, and marks count one each.

    >>> count_tokens("[median: 40.5]")
    7
    """
    return len(_TOKEN.findall(text))


def _messages(variant: str, setting: Setting) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens of what is shown, of the state, and of the answer in each turn of the first sequence."""
    state = statistic(variant)()
    counts = []
    for number, line in zip(setting.numbers(0), setting.lines(0), strict=True):
        state.update(number)
        shown, explicit = (
            count_tokens(text) + _ENVELOPE for text in (turn_message(number, line), state_message(state))
        )
        counts.append((shown, explicit, count_tokens(bracketed(state, state.answer()))))
    numbers, states, replies = np.array(counts).T
    return numbers, states, replies


def _still_playing(turns: float, length: int) -> np.ndarray:
    """The share of games in which each turn is asked, so that their right turns are `turns` on average."""
    if not 0 <= turns <= length:
        raise OptionError(f"{turns:g} turns are not between 0 and the length {length}.")
    every = np.arange(length + 1)
    chance = 1.0 if turns == length else 0.0 if turns == 0 else brentq(lambda p: (p ** every[1:]).sum() - turns, 0, 1)
    return np.asarray(chance ** every[:-1])
