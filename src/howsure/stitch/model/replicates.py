"""Refits on redrawn data: what intervals, rank probabilities and comparisons are made of.

Each replicate is a refit from the optimum, put on the same identification constraint (anchor). How the data are redrawn:

``errors``
    New errors are added to the scores, as large as each benchmark's noise and shared within a family on a benchmark as the residuals
    show; the noise itself, and the centres of learned priors, are drawn too. Where two halves of the benchmarks disagree more than the noise explains
    (`howsure.stitch.model.split_halves`), errors are larger by that factor. The default: a model has too few scores to resample them.
``families``
    Random weights (Bayesian bootstrap), one for each family on each benchmark.
``rows``, ``bayesian``
    Scores drawn with replacement; or weighted at random, so that none ever vanishes.
``models``
    Each model's scores drawn with replacement among themselves.
``benchmarks``
    Whole benchmarks drawn with replacement.

`howsure.stitch.interval_coverage` measures how often the intervals of each contain the true value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from howsure.compute import replicate
from howsure.errors import OptionError
from howsure.stats.bootstrap import hierarchical_weights
from howsure.stats.replicates import MOST_FAILED
from howsure.stitch.model.anchors import Aligned, Constraint, align
from howsure.stitch.model.kernels import fit_many
from howsure.stitch.model.layout import Bools, Floats
from howsure.stitch.model.noise import expected
from howsure.stitch.model.solutions import MOST_ITERATIONS, Solution

__all__ = ["RESAMPLES", "Resample", "ScaleReplicates", "draw_replicates"]

Resample = Literal["errors", "families", "rows", "bayesian", "models", "benchmarks"]
RESAMPLES: tuple[Resample, ...] = get_args(Resample)

_TOLERANCE = 1e-6
_NUMBERS_A_BATCH = 2_000_000
_Drawn = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class ScaleReplicates(Aligned):
    """Parameters of the bootstrap refits, one row per refit, on the reported scale.

    A refit that did not converge, or lost the identification constraint, is NaN; so is a model's capability in a refit without its scores. `howsure.stats.replicates` says how these count.

    Parameters
    ----------
    capability
        Shape (n_replicates, n_models).
    difficulty
        Shape (n_replicates, n_benchmarks).
    slope
        Shape (n_replicates, n_benchmarks).
    trait
        Second trait per model, in two dimensions.
    loading
        Loading of the second trait per benchmark, in two dimensions.
    """

    @classmethod
    def of(cls, parts: Sequence[Floats]) -> ScaleReplicates:
        """Replicates of capability, difficulty, slope and, in two dimensions, trait and loading."""
        return cls(*parts)

    @property
    def has_failed(self) -> Bools:
        """Which refits have no scale."""
        return np.asarray(np.isnan(self.difficulty).any(axis=1))

    @property
    def n_failed(self) -> int:
        """How many refits have no scale."""
        return int(self.has_failed.sum())

    def usable(self) -> ScaleReplicates | None:
        """The refits that have a scale, for sums over replicates such as covariances; None where more than 10 % have none."""
        failed = self.has_failed
        if not len(failed) or failed.mean() > MOST_FAILED:
            return None
        parts = (self.capability, self.difficulty, self.slope, self.trait, self.loading)
        return ScaleReplicates.of([part[~failed] for part in parts if part is not None])

    def __len__(self) -> int:
        return len(self.capability)

    def row(self, r: int) -> Aligned:
        """One of them."""
        second = () if self.trait is None or self.loading is None else (self.trait[r], self.loading[r])
        return Aligned(self.capability[r], self.difficulty[r], self.slope[r], *second)


def draw_replicates(
    solution: Solution,
    constraint: Constraint,
    n: int,
    *,
    resample: Resample = "errors",
    error_factor: float = 1.0,
    seed: int = 0,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ScaleReplicates:
    """`n` refits on redrawn data, the same for a seed wherever they are computed.

    ``error_factor`` multiplies redrawn errors.
    """
    if resample not in RESAMPLES:
        raise OptionError.unknown("resampling", resample, RESAMPLES)
    batch = max(1, min(64, _NUMBERS_A_BATCH // solution.problem.n_observations))
    work = partial(_refit, solution, constraint, resample, error_factor)
    *parts, converged = replicate(
        work, n, seed=seed, batch=batch, workers=workers, scheduler=scheduler, progress=progress
    )
    is_whole = converged & np.isfinite(parts[1]).all(axis=1)
    return ScaleReplicates.of([np.where(is_whole[:, None], part, np.nan) for part in parts])


def _refit(
    solution: Solution,
    constraint: Constraint,
    resample: Resample,
    error_factor: float,
    rng: np.random.Generator,
    size: int,
) -> tuple[Floats | Bools, ...]:
    scores, weights, means = _REDRAW[resample](solution, rng, size)
    if resample == "errors":
        scores = solution.problem.score + error_factor * (scores - solution.problem.score)
    thetas, converged = fit_many(
        solution.rows, scores, weights, means, solution.theta, solution.prior, _TOLERANCE, MOST_ITERATIONS
    )
    aligned = align(constraint, thetas, solution.layout, refit_of=solution.theta)
    capability = np.where(_has_scores(solution, weights), aligned.capability, np.nan)
    second = () if aligned.trait is None or aligned.loading is None else (aligned.trait, aligned.loading)
    return capability, aligned.difficulty, aligned.slope, *second, converged


def _has_scores(solution: Solution, weights: Floats) -> Bools:
    totals: Floats = np.add.reduceat(weights, solution.rows.start[:-1], axis=1)
    return totals > 0


def _redraw_errors(solution: Solution, rng: np.random.Generator, size: int) -> _Drawn:
    problem = solution.problem
    errors = solution.noise.draw(expected(solution.rows, solution.theta)[1], problem, rng, size)
    means = solution.prior.mean + solution.prior_sd * rng.standard_normal((size, solution.layout.size))
    return problem.score + errors, _repeated(solution.weights, size), means


def _reweigh(kind: str, solution: Solution, rng: np.random.Generator, size: int) -> _Drawn:
    problem = solution.problem
    drawn = {
        "families": lambda: hierarchical_weights([problem.cell], size, rng, kind="bayesian"),
        "rows": lambda: hierarchical_weights([np.arange(problem.n_observations)], size, rng),
        "bayesian": lambda: hierarchical_weights([np.arange(problem.n_observations)], size, rng, kind="bayesian"),
        "models": lambda: _within_models(solution, rng, size),
        "benchmarks": lambda: hierarchical_weights([problem.benchmark], size, rng),
    }[kind]()
    return _repeated(problem.score, size), drawn * solution.weights, _repeated(solution.prior.mean, size)


def _within_models(solution: Solution, rng: np.random.Generator, size: int) -> Floats:
    """How often each score is drawn when each model draws as many of its own as it has."""
    start, problem = solution.rows.start, solution.problem
    n, first = problem.n_by_model[problem.model], start[problem.model]
    drawn = first + (rng.random((size, problem.n_observations)) * n).astype(np.int64)
    counts = np.zeros((size, problem.n_observations))
    np.add.at(counts, (np.arange(size)[:, None], drawn), 1.0)
    return counts


def _repeated(values: Floats, size: int) -> Floats:
    return np.repeat(values[None], size, axis=0)


_REDRAW: dict[Resample, Callable[[Solution, np.random.Generator, int], _Drawn]] = {
    "errors": _redraw_errors,
    **{kind: partial(_reweigh, kind) for kind in RESAMPLES if kind != "errors"},
}
