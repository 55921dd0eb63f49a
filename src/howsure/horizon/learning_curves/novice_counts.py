"""What novices did: answers and successes of each task at each attempt, and whose they were."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from howsure.compiled import kernel
from howsure.errors import InputError, OptionError
from howsure.stats._arrays import Bools, Floats, Ints
from howsure.stats.replicates import hierarchical_weights
from howsure.tables import Attempts

__all__ = ["NoviceCounts", "novice_counts"]


@dataclass(frozen=True, eq=False)
class NoviceCounts:
    """Successes and trials of novices, with a row a task and a column an attempt 1…N; scores between 0 and 1 count as parts of a success.

    A *course* is one learner's way through one task. Courses lie side by side by task: those of task t are
    ``start[t]:start[t + 1]``. ``learner`` says whose a course is, ``length`` how many answers it has, and its scores are
    ``scores[offset:offset + length]``, at the attempts ``attempt`` (from 0). An attempt between others may be missing.
    """

    tasks: tuple[str, ...]
    learners: tuple[str, ...]
    successes: Floats
    trials: Floats
    start: Ints
    learner: Ints
    length: Ints
    offset: Ints
    scores: Floats
    attempt: Ints
    notes: tuple[str, ...] = ()

    @property
    def attempts(self) -> Ints:
        """The numbers of the attempts, 1…N."""
        return np.arange(1, self.trials.shape[1] + 1)

    @property
    def last(self) -> Ints:
        """The number of each course's last attempt."""
        return np.asarray(self.attempt[self.offset + self.length - 1] + 1)

    @property
    def first_scores(self) -> Floats:
        """Each course's score on the first attempt; NaN where that is missing."""
        return np.where(self.attempt[self.offset] == 0, self.scores[self.offset], np.nan)

    @property
    def task(self) -> Ints:
        """Each course's task."""
        return np.repeat(np.arange(len(self.tasks)), np.diff(self.start))

    @property
    def n_learners(self) -> Ints:
        """How many learners tried each task."""
        return np.diff(self.start)

    @cached_property
    def residual_products(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What learners' answers do to novices' mean success on two attempts together, four times (attempts, attempts).

        An answer's influence on the mean over tasks is its distance from the task's mean on that attempt, divided by the task's answers and by the number of tasks. The products of
        these influences are summed over learners, then over courses; then both once more with the distance from the mean of the other learners. A task that only one learner
        answered tells nothing of how learners differ.
        """
        row = np.repeat(np.arange(len(self.learner)), self.length)
        attempt, task, n_attempts = self.attempt, self.task[row], self.trials.shape[1]
        answers = self.trials[task, attempt]
        residual = (self.scores - self.successes[task, attempt] / answers) / (answers * len(self.tasks))
        against_others = residual * np.where(answers > 1, answers / np.maximum(answers - 1, 1), 0.0)

        def products(values: Floats, group: Ints, n_groups: int) -> Floats:
            table = sparse.csr_array((values, (group, attempt)), shape=(n_groups, n_attempts))
            return np.asarray((table.T @ table).toarray())

        of_learner = self.learner[row]
        return (
            products(residual, of_learner, len(self.learners)),
            products(residual, row, len(self.learner)),
            products(against_others, of_learner, len(self.learners)),
            products(against_others, row, len(self.learner)),
        )

    def of_tasks(self, chosen: Bools) -> NoviceCounts:
        """The same on some of the tasks; learners who tried none of them are gone."""
        courses = chosen[self.task]
        rows = np.repeat(courses, self.length)
        length = self.length[courses]
        there, learner = np.unique(self.learner[courses], return_inverse=True)
        return replace(
            self,
            learners=tuple(self.learners[one] for one in there),
            tasks=tuple(name for name, kept in zip(self.tasks, chosen, strict=True) if kept),
            successes=self.successes[chosen],
            trials=self.trials[chosen],
            start=_starts(self.n_learners[chosen]),
            learner=learner.astype(np.int64),
            length=length,
            offset=_starts(length)[:-1],
            scores=self.scores[rows],
            attempt=self.attempt[rows],
        )

    def of_learners(self, chosen: Bools) -> NoviceCounts:
        """The same of some of the learners; all tasks stay, also those that none of them tried."""
        courses = chosen[self.learner]
        rows, length = np.repeat(courses, self.length), self.length[courses]
        cell = np.repeat(self.task[courses], length) * self.trials.shape[1] + self.attempt[rows]
        successes, trials = (
            np.bincount(cell, values, self.trials.size).reshape(self.trials.shape).astype(np.float64)
            for values in (self.scores[rows], None)
        )
        return replace(
            self,
            learners=tuple(name for name, kept in zip(self.learners, chosen, strict=True) if kept),
            successes=successes,
            trials=trials,
            start=_starts(np.bincount(self.task[courses], minlength=len(self.tasks))),
            learner=(np.cumsum(chosen) - 1)[self.learner[courses]],
            length=length,
            offset=_starts(length)[:-1],
            scores=self.scores[rows],
            attempt=self.attempt[rows],
        )

    def covered(self, *, answers: int = 1, attempts: int = 2, first: int = 1) -> Bools:
        """Which tasks have at least ``attempts`` attempts with ``answers`` answers each, and ``first`` first answers."""
        return np.asarray(((self.trials >= answers).sum(axis=1) >= attempts) & (self.trials[:, 0] >= first))

    def draw_learners(self, n_replicates: int, rng: np.random.Generator) -> Floats:
        """How often each learner is in each replicate of a resampling, (n_replicates, learners)."""
        return hierarchical_weights([np.arange(len(self.learners))], n_replicates, rng)

    def weighted(self, weights: Floats) -> tuple[Floats, Floats]:
        """Successes and trials, (replicates, tasks, attempts), when learners count as often as `weights` (replicates, learners) say.

        A learner keeps all courses: what makes a person good at several tasks stays in the replicate.
        """
        n_attempts = self.trials.shape[1]
        return _weigh(
            weights, self.start, self.learner, self.length, self.offset, self.scores, self.attempt, n_attempts
        )


def novice_counts(attempts: Attempts, *, last: int | None = None) -> NoviceCounts:
    """The people in an attempts table, in one streaming pass; attempts after ``last`` are left out.

    Attempts of people that do not count, because they have no score, are missing: the others keep their numbers.
    """
    if last is not None and last < 1:
        raise OptionError(f"last is {last}; give the number of the last attempt to use, from 1 up.")
    attempts = attempts.counted
    rows = attempts.lazy.filter(pl.col("kind") == "human")
    if attempts.has("n") and int(rows.select(attempts.n.max()).collect().item() or 1) > 1:
        raise InputError(
            "A learning curve needs one row per attempt of a person, but some rows count several (n above 1)."
        )
    rows = rows if last is None else rows.filter(pl.col("attempt") <= last)
    names = pl.col("task", "subject").cast(pl.Categorical)
    frame = rows.select(names, "attempt", "score").collect(engine="streaming")
    if not len(frame):
        raise InputError("There is no attempt of a person. Novices have the kind 'human': --set kind=human.")
    return _arranged(frame, attempts.notes)


def _arranged(frame: pl.DataFrame, notes: tuple[str, ...]) -> NoviceCounts:
    (tasks, task), (learners, learner) = _coded(frame["task"]), _coded(frame["subject"])
    attempt, scores = frame["attempt"].to_numpy().astype(np.int64), frame["score"].to_numpy()
    order = np.lexsort((attempt, learner, task))
    task, learner, attempt, scores = task[order], learner[order], attempt[order], scores[order]
    offset = np.flatnonzero((np.diff(task, prepend=-1) != 0) | (np.diff(learner, prepend=-1) != 0))
    shape = (len(tasks), int(attempt.max()))
    successes, trials = (
        np.bincount(task * shape[1] + attempt - 1, values, shape[0] * shape[1]).reshape(shape).astype(np.float64)
        for values in (scores, None)
    )
    return NoviceCounts(
        tasks=tasks,
        learners=learners,
        successes=successes,
        trials=trials,
        start=_starts(np.bincount(task[offset], minlength=len(tasks))),
        learner=learner[offset],
        length=np.diff(offset, append=len(scores)),
        offset=offset,
        scores=scores,
        attempt=attempt - 1,
        notes=notes,
    )


def _coded(names: pl.Series) -> tuple[tuple[str, ...], Ints]:
    """The names in order, and each row's place among them."""
    known = names.unique().cast(pl.String).sort()
    return tuple(known), names.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.int64)


def _starts(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)])


@kernel
def _weigh(
    weights: Floats,
    start: Ints,
    learner: Ints,
    length: Ints,
    offset: Ints,
    scores: Floats,
    attempt: Ints,
    n_attempts: int,
) -> tuple[Floats, Floats]:
    n_tasks = len(start) - 1
    successes = np.zeros((len(weights), n_tasks, n_attempts))
    trials = np.zeros((len(weights), n_tasks, n_attempts))
    for replicate in range(len(weights)):
        for task in range(n_tasks):
            for course in range(start[task], start[task + 1]):
                weight = weights[replicate, learner[course]]
                if weight == 0.0:
                    continue
                for k in range(offset[course], offset[course] + length[course]):
                    trials[replicate, task, attempt[k]] += weight
                    successes[replicate, task, attempt[k]] += weight * scores[k]
    return successes, trials


def _weigh_plainly(weights: Floats, counts: NoviceCounts) -> tuple[Floats, Floats]:
    """The same in numpy."""
    row_weights = weights[:, np.repeat(counts.learner, counts.length)]
    cell = np.repeat(counts.task, counts.length) * counts.trials.shape[1] + counts.attempt
    sums = [
        np.array([np.bincount(cell, row, counts.trials.size) for row in values]).reshape(-1, *counts.trials.shape)
        for values in (row_weights * counts.scores, row_weights)
    ]
    return sums[0], sums[1]
