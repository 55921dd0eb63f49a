"""Fits of learning curves to many tasks and replicates at once, and which family suits a task best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from howsure.compute import replicate
from howsure.horizon.learning_curves.families import CONTEST, family_of
from howsure.horizon.learning_curves.learner_effect import LearnerEffect
from howsure.horizon.learning_curves.novice_counts import NoviceCounts
from howsure.stats._arrays import Bools, Floats, Ints

__all__ = ["THIN", "Contest", "CurveReplicates", "Support", "contest", "fit_batch", "resample"]

THIN = 100
"""Tasks with fewer answers are thin: they get one imaginary learner who does as everybody does on all tasks."""


def fit_batch(family: str, successes: Floats, trials: Floats) -> Floats:
    """Parameters of the family's best curve for each row of successes and trials by attempt: (…, attempts) → (…, parameters).

    Every row is searched anew, so that a replicate does not depend on where others ended. NaN where a row has no trial.
    """
    shape = np.broadcast_shapes(successes.shape, trials.shape)
    rows = [np.broadcast_to(array, shape).reshape(-1, shape[-1]) for array in (successes, trials)]
    found = family_of(family).fit(*rows).parameters
    return found.reshape(*shape[:-1], found.shape[-1])


@dataclass(frozen=True, eq=False)
class Support:
    """What is added to the counts of thin tasks: a weak prior, in the form of answers."""

    successes: Floats
    trials: Floats
    is_thin: Bools

    @classmethod
    def of(cls, counts: NoviceCounts) -> Support:
        """One answer at each attempt that the task has, with the success of all tasks together."""
        share = (counts.successes.sum(axis=0) + 0.5) / (counts.trials.sum(axis=0) + 1)
        is_thin = counts.trials.sum(axis=1) < THIN
        trials = (is_thin[:, None] & (counts.trials > 0)).astype(np.float64)
        return cls(trials * share, trials, is_thin)


@dataclass(frozen=True, eq=False)
class Contest:
    """Every family on every task: parameters by family, log-likelihood and AIC (families, tasks), and the winner among those that compete."""

    families: tuple[str, ...]
    parameters: dict[str, Floats]
    log_likelihood: Floats
    aic: Floats
    winner: Ints

    @property
    def winners(self) -> list[str]:
        """The name of each task's best family."""
        return [self.families[index] for index in self.winner]


def contest(counts: NoviceCounts, families: Sequence[str] = (*CONTEST, "isotonic")) -> Contest:
    """Fit every family to every task; the smallest AIC among those of `CONTEST` wins, or the only family."""
    support = Support.of(counts)
    successes, trials = counts.successes + support.successes, counts.trials + support.trials
    parameters, heights, charged = {}, [], []
    for name in families:
        fit = family_of(name).fit(successes, trials)
        parameters[name] = fit.parameters
        heights.append(fit.log_likelihood)
        charged.append(family_of(name).n_parameters(fit.parameters))
    aic = 2 * np.array(charged) - 2 * np.array(heights)
    competes = np.array([name in CONTEST or len(families) == 1 for name in families])
    winner = np.where(competes[:, None], aic, np.inf).argmin(axis=0)
    return Contest(tuple(families), parameters, np.array(heights), aic, winner)


@dataclass(frozen=True, eq=False)
class CurveReplicates:
    """What refits to redrawn learners give: P (replicates, tasks, attempts), the attempt at which levels are reached
    (replicates, tasks, levels), and the correlation of a learner's answers on each task, and on all.
    """

    curves: Floats
    reach: Floats
    correlation: Floats
    overall: Floats


def resample(
    counts: NoviceCounts,
    families: Sequence[str],
    effect: LearnerEffect,
    levels: Sequence[float],
    n: int,
    *,
    seed: int,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CurveReplicates:
    """Draw learners with replacement, all their courses with them, and refit each task, `n` times.

    Of several families each replicate takes its own best: an interval that kept to the first winner would not know that another sample
    might have chosen another.
    """
    work = partial(_draw, counts, Support.of(counts), tuple(families), effect, tuple(levels))
    found = replicate(work, n, seed=seed, workers=workers, scheduler=scheduler, progress=progress)
    return CurveReplicates(*found)


def _draw(
    counts: NoviceCounts,
    support: Support,
    families: Sequence[str],
    effect: LearnerEffect,
    levels: Sequence[float],
    rng: np.random.Generator,
    size: int,
) -> tuple[Floats, ...]:
    weights = counts.draw_learners(size, rng)
    successes, trials = counts.weighted(weights)
    is_there = trials.any(axis=-1, keepdims=True)
    successes += support.successes * is_there
    trials += support.trials * is_there
    rows = (size * len(counts.tasks), -1)
    curves, reach = _best(families, successes.reshape(rows), trials.reshape(rows), levels)
    return curves.reshape(trials.shape), reach.reshape(*trials.shape[:2], -1), *effect.correlations(weights)


def _best(families: Sequence[str], successes: Floats, trials: Floats, levels: Sequence[float]) -> tuple[Floats, Floats]:
    """P at each attempt and where the levels are reached, for the family with the smallest AIC in each row.

    No curve that rises or falls throughout fits better than the best monotone one, so a family is only fitted where that bound lets it win.
    """
    attempts = np.arange(1.0, trials.shape[1] + 1)
    curves, reach = np.full(trials.shape, np.nan), np.full((len(trials), len(levels)), np.nan)
    ceiling = _monotone_height(successes, trials) if len(families) > 1 else np.full(len(trials), np.inf)
    best = np.full(len(trials), np.inf)
    for family in map(family_of, families):
        rows = np.flatnonzero(2 * len(family.parameters) - 2 * ceiling < best)
        fit = family.fit(successes[rows], trials[rows], is_rough=True)
        aic = 2 * family.n_parameters(fit.parameters) - 2 * fit.log_likelihood
        is_better = aic < best[rows]
        rows, parameters = rows[is_better], fit.parameters[is_better]
        best[rows] = aic[is_better]
        curves[rows] = family.curve(parameters, attempts)
        for place, level in enumerate(levels):
            reach[rows, place] = family.reach(parameters, level)
    return curves, reach


def _monotone_height(successes: Floats, trials: Floats) -> Floats:
    """The log-likelihood of the best curve that never falls, or that never rises; ∞ where there is no answer."""
    isotonic = family_of("isotonic")
    rising = isotonic.fit(successes, trials).log_likelihood
    falling = isotonic.fit(successes[:, ::-1], trials[:, ::-1]).log_likelihood
    return np.nan_to_num(np.maximum(rising, falling), nan=np.inf)
