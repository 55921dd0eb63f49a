"""Track the Stat as a thing that people learn: their games in order, and models beside them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import polars as pl

from howsure.errors import InputError
from howsure.horizon.attempt_horizon import AttemptHorizons, attempt_horizons
from howsure.tables import Attempts
from howsure.track.samples import Samples

__all__ = ["learning_attempts", "track_horizons"]


def learning_attempts(samples: Samples, *, at: int | None = None) -> Attempts:
    """Games as attempts at one task: the same statistic under the same conditions, with fresh numbers each time.

    A person's games count 1, 2, … in the order in which they were played; a model's are repeats. The score is the share of turns that were right,
    or with `at` whether that many turns were.
    """
    return samples.attempts(by="board", at=at)


def track_horizons(samples: Samples, *, at: int | None = None, **options: Any) -> AttemptHorizons:
    """How many games a novice would need to play to do as well as each model that ran Track the Stat.

    `options` are those of `howsure.horizon.attempt_horizon.attempt_horizons`. Novices are the people among the games; to see them
    learn, some must have played twice or more.
    """
    attempts = learning_attempts(samples, at=at)
    frame = attempts.frame
    people = frame.filter(pl.col("kind") == "human")
    if people.is_empty() or people["attempt"].max() == 1:
        told = "none is a person's" if people.is_empty() else "nobody played twice"
        raise InputError(
            f"{len(frame):,} games, but {told}: a horizon in attempts needs people who learn. Add games of `howsure track page` or `track human`."
        )
    return attempt_horizons(_on_shared_boards(attempts), **options)


def _on_shared_boards(attempts: Attempts) -> Attempts:
    """The games on boards that people and every model played: the share of correct turns means something else on another board."""
    boards: dict[str, set[str]] = defaultdict(set)
    for kind, subject, board in attempts.frame.select("kind", "subject", "task").unique().sort(pl.all()).iter_rows():
        if kind != "baseline":
            boards["people" if kind == "human" else subject].add(board)
    shared = set.intersection(*boards.values())
    others = sorted(set.union(*boards.values()) - shared)
    if not shared:
        played = "; ".join(f"{who}: {', '.join(sorted(names))}" for who, names in boards.items())
        raise InputError(
            f"No board was played by people and every model ({played}). Scores of different boards cannot be compared: give games of one."
        )
    kept = attempts.frame.filter(pl.col("task").is_in(shared))
    note = f"{len(attempts.frame) - len(kept):,} games on boards that not all played are excluded: {', '.join(others)}."
    return Attempts(kept, notes=(*attempts.notes, *([note] if others else [])))
