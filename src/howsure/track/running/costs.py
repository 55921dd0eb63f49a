"""Tokens and cost of a run, before it is started.

The whole conversation is read again in each turn, so the tokens read grow with the square of the number of turns. Tokens are counted by
a rule of thumb, without a tokenizer: expect an error of up to a third.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.optimize import brentq

from howsure.arguments import checked
from howsure.errors import OptionError
from howsure.results import Provenance, Result
from howsure.running import Prices
from howsure.track.game.prompts import bracketed, instructions, state_message, turn_message
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import statistic
from howsure.track.samples import COT, DIRECT, EXPLICIT, SOLVERS

__all__ = ["Prices", "RunEstimate", "TokenEstimate", "count_tokens", "estimate_run", "estimate_tokens"]

_ENVELOPE = 4  # tokens around each message: its role and its ends
_TOKEN = re.compile(r"\d{1,3}|[^\W\d]{1,7}|[^\w\s]")


@dataclass(frozen=True)
class TokenEstimate:
    """Tokens of ``n_samples`` games with ``turns`` correct answers on average.

    ``repeated_tokens`` are the part of ``input_tokens`` that was read the turn before, which many providers charge less for.
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
        """The cost of the run."""
        return prices.cost(self.input_tokens - self.repeated_tokens, self.repeated_tokens, self.output_tokens)


@dataclass(frozen=True, kw_only=True, repr=False)
class RunEstimate(Result):
    """Expected tokens and cost of a run, by variant, solver and length of the games.

    Parameters
    ----------
    rows : tuple[TokenEstimate, ...]
        One entry per case.
    prices : Prices | None
        The prices, if given.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name = "estimate"

    rows: tuple[TokenEstimate, ...]
    prices: Prices | None
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``estimate``: one row per variant, solver and number of turns; ``cost`` is null without prices."""
        rows = [
            vars(row) | {"total_tokens": row.total_tokens, "cost": row.cost(self.prices) if self.prices else None}
            for row in self.rows
        ]
        return {"estimate": pl.DataFrame(rows, schema_overrides={"cost": pl.Float64})}


@checked
def estimate_run(
    variants: Sequence[str] = ("median", "mode"),
    solvers: Sequence[str] = (DIRECT, EXPLICIT),
    *,
    turns: Sequence[float] | None = None,
    n_samples: int = 250,
    setting: Setting | None = None,
    extra_output: float = 0,
    prices: Prices | None = None,
) -> RunEstimate:
    """Tokens and cost of a run before it is started. No model is called.

    Tokens are counted by a rule of thumb: expect an error of up to a third.

    Parameters
    ----------
    variants : sequence of str
        What to track: median, mode, boxes, ….
    solvers : sequence of str
        ``direct``, ``explicit`` (the state is shown), ``cot``, ….
    turns : sequence of float, optional
        Correct answers before the first error, on average; without it 10, 50 and all.
    n_samples : int
        Number of games.
    setting : Setting, optional
        Conditions of the games.
    extra_output : float
        Tokens written per turn beside the answer, such as reasoning.
    prices : Prices, optional
        Prices per million tokens; without them there is no cost.
    """
    setting = setting or Setting()
    averages = turns or sorted({min(10.0, setting.length), min(50.0, setting.length), float(setting.length)})
    rows = tuple(
        estimate_tokens(variant, solver, turns=average, n_samples=n_samples, setting=setting, extra_output=extra_output)
        for variant in variants
        for solver in solvers
        for average in averages
    )
    settings = {
        "n_samples": n_samples,
        "setting": setting.label,
        "length": setting.length,
        "extra_output": extra_output,
    }
    return RunEstimate(rows=rows, prices=prices, provenance=Provenance(settings))


@checked
def estimate_tokens(
    variant: str,
    solver: str = DIRECT,
    *,
    turns: float,
    n_samples: int,
    setting: Setting | None = None,
    extra_output: float = 0,
) -> TokenEstimate:
    """Tokens of a run whose games have `turns` correct answers on average, with a constant hazard.

    Parameters
    ----------
    variant : str
        Statistic to track.
    solver : str
        ``direct`` or ``explicit``.
    turns : float
        Correct answers before the first error, on average.
    n_samples : int
        Number of games.
    setting : Setting, optional
        Conditions of the games.
    extra_output : float
        Tokens written per turn beside the answer, such as reasoning (in one prompt: per game). They are read again where the setting keeps reasoning or the reply contains it.
    """
    setting = setting or Setting()
    if solver not in SOLVERS:
        raise OptionError.unknown("solver", solver, SOLVERS)
    length = setting.length
    shown, states, replies = _messages(variant, setting)
    opening = count_tokens(instructions(variant, setting, asks_for_reasoning=COT in solver)) + _ENVELOPE
    kept = replies + (extra_output if setting.keeps_reasoning or COT in solver else 0)
    told = opening + np.cumsum(shown) + np.concatenate([[0], np.cumsum(kept + _ENVELOPE)[:-1]])
    asked = _still_playing(length if setting.mode == "continue" else turns, length) * n_samples
    if setting.mode == "one-shot":  # every number is read once, and all answers are written whatever happens
        read, repeated = n_samples * (opening + shown.sum()), 0.0
        written = n_samples * ((replies + _ENVELOPE).sum() + extra_output)
    else:
        read = asked @ (told + (states if EXPLICIT in solver else 0))
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
    kind = statistic(variant)
    state, counts = kind(), []
    for step, line in zip(setting.steps(variant, 0), setting.lines(variant, 0), strict=True):
        state.take(step)
        texts = turn_message(kind, step, line), state_message(state)
        shown, explicit = (count_tokens(text) + _ENVELOPE for text in texts)
        counts.append((shown, explicit, count_tokens(bracketed(state, state.answer()))))
    numbers, states, replies = np.array(counts).T
    return numbers, states, replies


def _still_playing(turns: float, length: int) -> np.ndarray:
    """The share of games in which each turn is asked, so that their correct answers are `turns` on average."""
    if not 0 <= turns <= length:
        raise OptionError(f"{turns:g} turns are not between 0 and the length {length}.")
    every = np.arange(length + 1)
    chance = 1.0 if turns == length else 0.0 if turns == 0 else brentq(lambda p: (p ** every[1:]).sum() - turns, 0, 1)
    return np.asarray(chance ** every[:-1])
