"""Who leaves early: a curve of those who stay is not the curve of those who began.

Where people stop once they can do a task, the able leave first and the curve of the rest sags; where the discouraged leave, it rises
by itself. Both show in the first attempt, which everybody made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.compute import replicate
from howsure.estimates import Estimate
from howsure.horizon.learning_curves.novice_counts import NoviceCounts
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Bools, Floats
from howsure.stats.replicates import replicate_interval

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart

__all__ = ["ALARMING", "Attrition", "Leaving", "measure_attrition"]

ALARMING = 0.05
"""A difference in first-attempt success between early leavers and stayers that is surely larger than this is warned about."""

REPLICATES = 500
_FEWEST = 5
_ALL = "all"


@dataclass(frozen=True)
class Leaving:
    """Early leavers and stayers of a task, or of all: how many, and their success on the first attempt."""

    task: str
    n_leavers: int
    n_stayers: int
    leavers: float | None
    stayers: float | None
    difference: Estimate


@dataclass(frozen=True, kw_only=True, eq=False)
class Attrition(Result):
    """Learners who leave early, over all tasks and per task.

    An early leaver made fewer attempts at a task than the average learner. Over all tasks, leavers and stayers are compared within tasks, each task weighted n_leavers·n_stayers/(n_leavers + n_stayers).

    Parameters
    ----------
    overall : Leaving
        The comparison over all tasks.
    tasks : tuple[Leaving, ...]
        One entry per task.
    presence : pl.DataFrame
        One row per attempt: number and share of learners still present (n, share), and their success on the first attempt minus that of all learners of the same tasks (shift, shift_low, shift_high).
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "attrition"

    overall: Leaving
    tasks: tuple[Leaving, ...]
    presence: pl.DataFrame
    level: float
    provenance: Provenance

    @property
    def warning(self) -> str:
        """What to beware of, or nothing."""
        found = self.overall.difference
        if found.low is None or found.high is None or not (found.low > ALARMING or found.high < -ALARMING):
            return ""
        who, effect = ("able", "too low") if found.low > 0 else ("struggling", "too high")
        return (
            f"Attrition: the {who} leave early. Early leavers had {self.overall.leavers:.0%} success on their first attempt, those who stayed "
            f"{self.overall.stayers:.0%}, a difference of {found}. Late parts of the curves are likely {effect}; prefer people who all make the same number of attempts."
        )

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``attrition`` (one row over all tasks and one per task), ``presence`` (one row per attempt)."""
        rows = [
            {name: value for name, value in vars(one).items() if name != "difference"}
            | columns_of(difference=one.difference)
            for one in (self.overall, *self.tasks)
        ]
        kinds = dict.fromkeys(("leavers", "stayers", "difference", "difference_low", "difference_high"), pl.Float64)
        frame = pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)
        return {"attrition": frame, "presence": self.presence}

    def as_dict(self) -> dict[str, Any]:
        """The tables and the warning as plain JSON."""
        return {**super().as_dict(), "warning": self.warning or None}

    def charts(self) -> dict[str, Chart]:
        """How many are still there at each attempt, by file name."""
        from howsure.horizon.learning_curves.charts import draw_attrition

        return {"attrition": draw_attrition(self)}


@checked
def measure_attrition(counts: NoviceCounts, *, level: float = 0.95, seed: int = 0) -> Attrition:
    """Compare the first attempts of those who leave early and those who stay, with a bootstrap over learners.

    Parameters
    ----------
    counts : NoviceCounts
        What novices did (`howsure.horizon.learning_curves.novice_counts.novice_counts`).
    level : float
        Coverage of the intervals.
    seed : int
        Of the replicates.
    """
    average = np.add.reduceat(counts.last, counts.start[:-1]) / counts.n_learners
    is_leaver = counts.last < average[counts.task]
    observed = _measure(counts, is_leaver, np.ones((1, len(counts.learners))))
    drawn = replicate(partial(_draw, counts, is_leaver), REPLICATES, seed=seed)
    n, by_task, together, shifts = (np.concatenate(pair) for pair in zip(observed, drawn, strict=True))
    sizes = n[0].astype(int)
    tasks = tuple(_leaving(name, sizes[:, task], by_task[:, :, task], level) for task, name in enumerate(counts.tasks))
    return Attrition(
        overall=_leaving(_ALL, sizes.sum(axis=1), together, level),
        tasks=tasks,
        presence=_presence(counts, shifts, level),
        level=level,
        provenance=Provenance({"level": level, "n_replicates": REPLICATES}, seed=seed),
    )


def _draw(counts: NoviceCounts, is_leaver: Bools, rng: np.random.Generator, size: int) -> tuple[Floats, ...]:
    return _measure(counts, is_leaver, counts.draw_learners(size, rng))


def _measure(counts: NoviceCounts, is_leaver: Bools, weights: Floats) -> tuple[Floats, ...]:
    """For each replicate: leavers and stayers of each task, their success on the first attempt by task and over all, and the shifts."""
    sums = _sums(counts, is_leaver, weights)
    return sums[:, :2], _shares(sums), _shares(_standardised(sums))[:, :, 0], _shifts(counts, weights)


def _sums(counts: NoviceCounts, is_leaver: Bools, weights: Floats) -> Floats:
    """Replicates × (leavers, stayers, successes of leavers, of stayers) × tasks."""
    first, by_course = _first_attempts(counts, weights)
    parts = (is_leaver, ~is_leaver, is_leaver * first, ~is_leaver * first)
    return np.stack([np.add.reduceat(by_course * part, counts.start[:-1], axis=1) for part in parts], axis=1)


def _first_attempts(counts: NoviceCounts, weights: Floats) -> tuple[Floats, Floats]:
    """Each course's score on the first attempt, and its weight in each replicate: none where that attempt is missing."""
    first = counts.first_scores
    return np.nan_to_num(first), weights[:, counts.learner] * ~np.isnan(first)


def _standardised(sums: Floats) -> Floats:
    """Leavers and stayers over all tasks as if they had tried the same ones; a task with only one of them says nothing."""
    n, good = sums[:, :2], sums[:, 2:]
    weight = n.prod(axis=1, keepdims=True) / np.maximum(n.sum(axis=1, keepdims=True), 1e-300)
    shares = good / np.where(n > 0, n, 1)
    return np.asarray(np.concatenate([weight, weight, weight * shares], axis=1).sum(axis=2, keepdims=True))


def _shares(sums: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(sums[:, 2:] / sums[:, :2])


def _leaving(task: str, n: Floats, shares: Floats, level: float) -> Leaving:
    n_leavers, n_stayers = (int(one) for one in n)
    told = [None if np.isnan(share) else float(share) for share in shares[0]]
    return Leaving(task, n_leavers, n_stayers, told[0], told[1], _difference(n_leavers, n_stayers, shares, level))


def _difference(n_leavers: int, n_stayers: int, shares: Floats, level: float) -> Estimate:
    draws = shares[:, 0] - shares[:, 1]
    if not n_leavers or not n_stayers or np.isnan(draws[0]):
        return Estimate.without("undefined", "no learner left early", level=level)
    value = float(draws[0])
    if min(n_leavers, n_stayers) < _FEWEST:
        reason = f"{n_leavers} left and {n_stayers} stayed; an interval needs {_FEWEST} of each"
        return Estimate.without("too_few", reason, value=value, level=level)
    return replicate_interval(draws[1:], level).estimate(value, level=level)


def _shifts(counts: NoviceCounts, weights: Floats) -> Floats:
    """For each attempt, first-attempt success of the courses that get so far, against all that began the same task: replicates × attempts."""
    first, by_course = _first_attempts(counts, weights)
    begun = np.add.reduceat(by_course, counts.start[:-1], axis=1)
    mean = np.add.reduceat(by_course * first, counts.start[:-1], axis=1) / np.maximum(begun, 1e-300)
    above = by_course * (first - mean[:, counts.task])
    shifts = []
    for attempt in counts.attempts:
        is_there = counts.last >= attempt
        n = by_course[:, is_there].sum(axis=1)
        shifts.append(above[:, is_there].sum(axis=1) / np.where(n > 0, n, np.nan))
    return np.array(shifts).T


def _presence(counts: NoviceCounts, shifts: Floats, level: float) -> pl.DataFrame:
    n = np.array([int((counts.last >= attempt).sum()) for attempt in counts.attempts])
    found = replicate_interval(shifts[1:], level)
    low, high = np.clip([found.low, found.high], -1, 1)  # a difference of shares that may be anything
    told = {"attempt": counts.attempts, "n": n, "share": n / len(counts.length)}
    rounded = {
        name: values.round(12) for name, values in (("shift", shifts[0]), ("shift_low", low), ("shift_high", high))
    }
    return pl.DataFrame(told | rounded).fill_nan(None)
