"""Games of Track the Stat as attempts of people who learn, and the attempt at which they match a model."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.horizon.attempt_horizon.horizons import AttemptHorizons, attempt_horizons
from howsure.tables import Attempts
from howsure.track.samples import Samples

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["learning_attempts", "track_horizons"]


@checked
def learning_attempts(samples: Source | Samples, *, min_turns: int | None = None) -> Attempts:
    """Games as attempts at one task: the same statistic under the same conditions, with new numbers each time.

    A person's games count 1, 2, … in the order in which they were played; a model's are repeats.

    Parameters
    ----------
    samples : Samples, or what makes one (a frame or a file)
        The games.
    min_turns : int, optional
        The score is 1 for at least this many correct turns, else 0. Without it, the score is the share of correct turns.
    """
    return Samples.of(samples).attempts(by="board", min_turns=min_turns)


@checked
def track_horizons(samples: Source | Samples, *, min_turns: int | None = None, **options: Any) -> AttemptHorizons:
    """How many games a novice would need to do as well as each model that played Track the Stat.

    Novices are the people among the games; some of them must have played twice or more.

    Parameters
    ----------
    samples : Samples, or what makes one (a frame or a file)
        Games of models and people on the same board.
    min_turns : int, optional
        Success is at least this many correct turns. Without it, the score is the share of correct turns.
    **options
        Definitions, number of replicates, level, seed, …, as in `howsure.horizon.attempt_horizons`.

    Raises
    ------
    InputError
        If no person played twice, or no board was played by people and every model.
    """
    attempts = learning_attempts(samples, min_turns=min_turns)
    frame = attempts.frame
    people = frame.filter(pl.col("kind") == "human")
    if people.is_empty() or people["attempt"].max() == 1:
        told = "none is a person's" if people.is_empty() else "no person played twice"
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
            f"No board was played by people and every model ({played}). Scores of different boards cannot be compared: give games of one board."
        )
    kept = attempts.frame.filter(pl.col("task").is_in(shared))
    note = f"{len(attempts.frame) - len(kept):,} games on boards that not all played are excluded: {', '.join(others)}."
    return Attempts(kept, notes=(*attempts.notes, *([note] if others else [])))
