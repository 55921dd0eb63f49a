"""Which kinds of errors came first, and which kinds guessing would have shown in the same turns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import polars as pl

from howsure.track.game.rules import ERROR_KINDS, ErrorKind, guess_kinds
from howsure.track.game.sequence import Setting

__all__ = ["BROKEN_OFF", "COMPLETE", "NO_ANSWER", "chance_kinds", "error_counts"]

NO_ANSWER, BROKEN_OFF, COMPLETE = "no_answer", "broken_off", "none"
"""How games end beside the kinds of errors: without an answer, interrupted, and without an error."""


def error_counts(games: pl.DataFrame) -> dict[str, int]:
    """How many games ended in each way."""
    word = {"complete": COMPLETE, "no_answer": NO_ANSWER, "interrupted": BROKEN_OFF, "limit": BROKEN_OFF}
    ends = pl.when(pl.col("ended_by") == "error").then("error_kind").otherwise(pl.col("ended_by").replace(word))
    counts = dict(games.select(ends.alias("end"))["end"].value_counts().iter_rows())
    return {kind: counts.get(kind, 0) for kind in (*ERROR_KINDS, NO_ANSWER, BROKEN_OFF, COMPLETE)}


def chance_kinds(games: pl.DataFrame) -> dict[str, float]:
    """The kinds of errors of somebody who guesses wrongly in the turns in which these games ended by a wrong answer: shares that add up to 1.

    Exact: over all wrong guesses of the player ``random``, given the numbers shown until then. Nothing where no game ended by a wrong answer.
    """
    wrong = games.filter(pl.col("ended_by") == "error", pl.col("error_kind") != "format")
    shares = [_kinds_at(*row) for row in wrong.select("variant", "setting", "length", "seed", "max_length").rows()]
    known = [one for one in shares if one]
    kinds = [kind for kind in ERROR_KINDS if kind != "format"]
    return {kind: sum(one.get(kind, 0.0) for one in known) / len(known) for kind in kinds} if known else {}


@lru_cache(maxsize=100_000)
def _kinds_at(variant: str, setting: str, length: int, seed: int, n_right: int) -> Mapping[ErrorKind, float]:
    return guess_kinds(variant, Setting.of(setting, length).steps(variant, seed)[: n_right + 1])
