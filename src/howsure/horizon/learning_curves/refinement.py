"""Which tasks of a suite to keep: judged by what novices did, with the reason in one word."""

from __future__ import annotations

import numpy as np
import polars as pl

from howsure.horizon.learning_curves.bands import FEWEST_LEARNERS
from howsure.horizon.learning_curves.novice_counts import NoviceCounts
from howsure.stats._arrays import Floats, normal_quantile

__all__ = ["EASY", "HARD", "REASONS", "refine_tasks"]

EASY, HARD = 0.9, 0.1
"""A task is too easy if success on the first attempt is surely above the first, too hard if success on the last one is surely below the second."""

REASONS = {
    "": "keep",
    "too easy": f"success on the first attempt is above {EASY:.0%}, over the whole interval",
    "too hard": f"success on the last attempt is below {HARD:.0%}, over the whole interval",
    "not learned": "success does not rise from the first to the last attempt by 10 points, over the whole interval",
    "ambiguous": "learners who are better at the other tasks are worse at this one, over the whole interval: look for a wrong key or an unclear text",
    "too few": f"fewer than {FEWEST_LEARNERS} learners",
}
"""Why a task is dropped; the empty reason keeps it."""

_LEAST_RISE = 0.1


def refine_tasks(counts: NoviceCounts, curves: Floats, ends: Floats, rise: Floats, level: float) -> pl.DataFrame:
    """One row per task: task, verdict (keep, drop, unsure), reason, first and last success, rise, discrimination with its interval.

    Parameters
    ----------
    counts : NoviceCounts
        What novices did.
    curves : array, shape (tasks, attempts)
        Success at each attempt.
    ends : array, shape (2, tasks, attempts)
        Its interval.
    rise : array, shape (2, tasks)
        The interval of the rise from the first to the last attempt that was observed.
    level : float
        Coverage of the interval of the discrimination: the correlation, over learners, of success at this task and at the others, beyond what task and attempt explain.
    """
    last = np.array([int(np.flatnonzero(row)[-1]) for row in counts.trials])
    place = np.arange(len(counts.tasks))
    found, low, high = _discrimination(counts, curves, level)
    rows = []
    for t, name in enumerate(counts.tasks):
        reason = (
            "too few"
            if counts.n_learners[t] < FEWEST_LEARNERS
            else "too easy"
            if ends[0, t, 0] > EASY
            else "too hard"
            if ends[1, t, last[t]] < HARD
            else "ambiguous"
            if high[t] < 0
            else "not learned"
            if rise[1, t] < _LEAST_RISE
            else ""
        )
        verdict = "keep" if not reason else "unsure" if reason == "too few" else "drop"
        rows.append((name, verdict, reason, found[t], low[t], high[t]))
    names = ("task", "verdict", "reason", "discrimination", "discrimination_low", "discrimination_high")
    frame = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None).fill_nan(None)
    success = {"first": curves[:, 0], "last": curves[place, last], "rise": curves[place, last] - curves[:, 0]}
    return frame.with_columns(pl.Series(column, values) for column, values in success.items())


def _discrimination(counts: NoviceCounts, curves: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """The correlation of each task with the rest, with Fisher's interval over learners; NaN where fewer than 5 learners tried others too."""
    row = np.repeat(np.arange(len(counts.length)), counts.length)
    attempt = np.arange(len(counts.scores)) - counts.offset[row]
    beyond = counts.scores - curves[counts.task[row], attempt]
    total, n = np.bincount(row, beyond, len(counts.length)), counts.length
    of_learner, answers = np.bincount(counts.learner, total), np.bincount(counts.learner, n)
    rest_n = answers[counts.learner] - n
    here, rest = total / n, (of_learner[counts.learner] - total) / np.maximum(rest_n, 1)
    found = np.full((3, len(counts.tasks)), np.nan)
    reach = normal_quantile(level)
    for t in range(len(counts.tasks)):
        mine = np.arange(counts.start[t], counts.start[t + 1])
        mine = mine[rest_n[mine] > 0]
        if len(mine) < FEWEST_LEARNERS or not here[mine].std() or not rest[mine].std():
            continue
        r = float(np.corrcoef(here[mine], rest[mine])[0, 1])
        z, error = np.arctanh(np.clip(r, -0.999, 0.999)), reach / np.sqrt(max(len(mine) - 3, 1))
        found[:, t] = r, np.tanh(z - error), np.tanh(z + error)
    return found[0], found[1], found[2]
