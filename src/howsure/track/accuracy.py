"""Accuracy by turn: where the answer changes and where it stays, and after errors where a game goes on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howsure.estimates import Estimate
from howsure.stats.means import clustered_mean
from howsure.track.game.endings import IS_ERROR
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import statistic

__all__ = ["Accuracy", "accuracy_of", "answer_changes"]


@dataclass(frozen=True)
class Accuracy:
    """Shares of correct answers among the turns that were answered, clustered by sequence.

    ``changed`` is the accuracy in turns whose answer is not that of the turn before, ``unchanged`` in the others, and ``share_changed`` how many turns are of the first
    kind: who repeats the last answer is right in the others. Where games go on after an error, ``overall`` is the accuracy of all turns, ``after_right`` and
    ``after_wrong`` that of turns after a correct and after a wrong answer: the second is the rate of recovery.
    """

    share_changed: float | None
    changed: Estimate
    unchanged: Estimate
    overall: Estimate
    after_right: Estimate
    after_wrong: Estimate


def accuracy_of(games: pl.DataFrame, *, level: float = 0.95) -> Accuracy:
    """The accuracy of one player's games on one board.

    Parameters
    ----------
    games : polars DataFrame
        Rows of a table of samples.
    level : float
        Coverage of the intervals, between 0 and 1.
    """
    marks = games["marks"].to_list() if "marks" in games.columns else [None] * len(games)
    is_error = games.select(IS_ERROR).to_series().to_list()
    rights, changes, seeds = [], [], []
    columns = ("variant", "setting", "length", "seed", "max_length")
    for row, told, failed in zip(games.select(columns).iter_rows(), marks, is_error, strict=True):
        right = np.array([mark == "1" for mark in told] if told else [True] * row[4] + [False] * failed, bool)
        rights.append(right)
        changes.append(answer_changes(*row[:4], len(right)))
        seeds.append(row[3])
    every, changed = np.concatenate(rights), np.concatenate(changes)
    goes_on = any(marks)
    before = np.concatenate([np.r_[np.nan, right[:-1]] if len(right) else right.astype(float) for right in rights])
    clusters = np.repeat(seeds, [len(right) for right in rights])

    def share(chosen: NDArray[np.bool_], *, is_asked: bool = True) -> Estimate:
        if not is_asked:
            return Estimate.without("undefined", "games ended at the first error", level=level)
        if not chosen.any():
            return Estimate.without("undefined", "there was no such turn", level=level)
        sums = (
            pl.DataFrame({"seed": clusters[chosen], "right": every[chosen]})
            .group_by("seed", maintain_order=True)
            .agg(pl.col("right").sum().cast(pl.Float64), pl.len().alias("n"))
        )
        return clustered_mean(sums["right"], sums["n"], level=level, bounds=(0.0, 1.0)).estimate

    return Accuracy(
        share_changed=float(changed.mean()) if len(changed) else None,
        changed=share(changed),
        unchanged=share(~changed),
        overall=share(np.ones(len(every), bool), is_asked=goes_on),
        after_right=share(before == 1, is_asked=goes_on),
        after_wrong=share(before == 0, is_asked=goes_on),
    )


@lru_cache(maxsize=100_000)
def answer_changes(variant: str, setting: str, length: int, seed: int, n_turns: int) -> NDArray[np.bool_]:
    """In which of the first turns of a sequence the right answer is not that of the turn before; in the first it is new."""
    state, answers = statistic(variant)(), []
    for step in Setting.of(setting, length).steps(variant, seed)[:n_turns]:
        state.take(step)
        answers.append(state.answer())
    return np.array([i == 0 or now != answers[i - 1] for i, now in enumerate(answers)], bool)
