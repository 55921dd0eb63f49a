"""Refits on redrawn data: what intervals, rank probabilities and comparisons are made of.

Each replicate is a refit from the optimum, put on the same identification constraint (anchor). How the data are redrawn:

``errors``
    New errors are added to the scores, as large as each benchmark's noise and shared within a family on a benchmark as the residuals
    show; the noise itself, and the centres of learned priors, are drawn too. Where two halves of the benchmarks disagree more than the noise explains
    (`howsure.stitch.model.replicates`), errors are larger by that factor. The default: a model has too few scores to resample them.
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

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

import numpy as np

from howsure.compute import replicate
from howsure.errors import OptionError
from howsure.stats.replicates import MOST_FAILED, hierarchical_weights
from howsure.stitch.cleaning import Duplicates
from howsure.stitch.model.fits import MOST_ITERATIONS, RIDGE, Solution, expected, solve_hierarchy, solve_ridge
from howsure.stitch.model.problem import Aligned, AnchorBenchmark, Bools, Constraint, Floats, Problem, align
from howsure.stitch.model.solver import fit_many, spread

__all__ = [
    "PRESETS",
    "RESAMPLES",
    "Preset",
    "Resample",
    "ScaleReplicates",
    "draw_replicates",
    "half_disagreement",
    "preset_called",
]

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


# Do two halves of the benchmarks agree on the capabilities as well as the noise of the scores says?
#
# .. math:: \varphi = \frac{\sum_m (C_m^A - C_m^B)^2 / s_m^2}{\text{the same in scores that are simulated from the fit}}
#
# The benchmarks are divided into two halves A and B at random, and a scale is fitted to each half, its priors and noise learned anew. Capabilities of both are standardised. If the fit is right, φ is about 1. A
# second trait, or curves of another shape, make the halves disagree more; the residuals of one fit do not show this, since the fit follows the benchmarks that agree with each other.


_SPLITS, _SIMULATIONS = 6, 2
_MANY = 20_000  # scores; of larger tables fewer splits are made
_FEWEST_MODELS, _FEWEST_SCORES = 10, 2  # models that can be compared, each with so many scores in both halves
_SETTLED = 1e-2  # of the halves' priors: φ changes by less than 0.04 from that of 1e-3, in half of the time
_MOST_KEPT = 512
_kept: dict[bytes, float] = {}  # by digest of the fit: claims fit the same scores again and again


def half_disagreement(solution: Solution) -> float:
    """φ, at least 1; 1 also where it is unknown: for a fit without learned priors, in two dimensions, and where too few models have scores in both halves.

    Parameters
    ----------
    solution : Solution
        A fit. The halves are always the same, so that the width of intervals does not depend on the seed of the refits.
    """
    problem = solution.problem
    if not solution.is_by_noise or solution.layout.n_dimensions > 1:
        return 1.0
    parts = (problem.score, problem.model, problem.benchmark, solution.weights, solution.theta)
    key = hashlib.blake2b(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).digest()
    if key not in _kept:
        if len(_kept) == _MOST_KEPT:
            _kept.clear()
        _kept[key] = _disagreement(solution)
    return _kept[key]


def _disagreement(solution: Solution) -> float:
    problem = solution.problem
    rng = np.random.default_rng(0)
    value, share = expected(solution.rows, solution.theta)
    precision = 1 / spread(solution.rows, solution.weights, solution.theta, solution.prior).parameters
    by_size = np.argsort(-problem.n_by_benchmark, kind="stable")
    observed, simulated = 0.0, 0.0
    for _ in range(max(1, min(_SPLITS, _MANY // problem.n_observations))):
        is_first = np.zeros(len(by_size), dtype=bool)
        for k in range(0, len(by_size), 2):  # benchmarks with similar numbers of models go into different halves
            is_first[rng.permutation(by_size[k : k + 2])[0]] = True
        n_first = np.bincount(problem.model[is_first[problem.benchmark]], minlength=len(problem.models))
        is_there = np.minimum(n_first, problem.n_by_model - n_first) >= _FEWEST_SCORES
        if is_there.sum() < _FEWEST_MODELS:
            continue
        weights = precision[solution.layout.capability][is_there]
        observed += weights @ _differences(problem, is_first, is_there) ** 2
        if problem.has_single_items:
            scores = (rng.random((_SIMULATIONS, len(value))) < value).astype(np.float64)
        else:
            scores = np.clip(value + solution.noise.draw(share, problem, rng, _SIMULATIONS), 0, 1)
        for score in scores:
            again = _differences(replace(problem, score=score), is_first, is_there)
            simulated += weights @ again**2 / _SIMULATIONS
    return max(1.0, float(observed / simulated)) if simulated > 0 else 1.0


def _differences(problem: Problem, is_first: Bools, is_there: Bools) -> Floats:
    """Standardised capabilities by the first half of the benchmarks minus those by the second."""
    standardised = []
    for half in (is_first, ~is_first):
        found = solve_hierarchy(problem.keep(half[problem.benchmark]), settled=_SETTLED)
        capability = found.theta[found.layout.capability][is_there]
        if not capability.std() > 0:
            return np.zeros(len(capability))
        standardised.append((capability - capability.mean()) / capability.std())
    difference: Floats = standardised[0] - standardised[1]
    return difference


# Named ways to make a scale: which scores count, what is fitted, how it is anchored.


_PINNED = "Winogrande"
_CLIP = 1e-3


@dataclass(frozen=True)
class Preset:
    """What a preset decides unless it is told otherwise."""

    name: str
    about: str
    solve: Callable[..., Solution]
    since: str | None = None
    duplicates: Duplicates = "mean"
    by_family: bool = False
    left_out: Callable[[], Sequence[str]] = tuple
    anchor_models: Mapping[str, float] | None = None
    reference: str = "none"
    has_ridge: bool = True
    resample: Resample = "errors"
    most_dimensions: int = 1
    uses_floors: bool = True
    needs_floors: bool = False
    drops_superseded: bool = False
    keeps_overlaps: bool = True
    left_out_scores: tuple[tuple[str, str], ...] = ()


def preset_called(name: str) -> Preset:
    """The preset with this name."""
    if name not in PRESETS:
        raise OptionError.unknown("preset", name, PRESETS)
    return PRESETS[name]


def _solve_paper(problem: Problem, constraint: Constraint, n_dimensions: int, ridge: float | None = None) -> Solution:
    level = np.zeros(len(problem.benchmarks))
    plain = replace(problem, floors=level, ceilings=level + 1)
    return solve_ridge(plain, constraint, ridge=RIDGE if ridge is None else ridge)


def _solve_eci(problem: Problem, constraint: Constraint, n_dimensions: int, ridge: float | None = None) -> Solution:
    """Scores stretched from floor to ceiling, kept off both by 0.001, then the published objective.

    Stretching a score is weighing its error by the span: the curve itself can keep floor and ceiling.
    """
    floor, span = problem.floors[problem.benchmark], (problem.ceilings - problem.floors)[problem.benchmark]
    stretched = np.clip((problem.score - floor) / span, _CLIP, 1 - _CLIP)
    pinned = (
        problem.benchmarks.index(_PINNED) if _PINNED in problem.benchmarks else int(problem.n_by_benchmark.argmax())
    )
    clipped = replace(problem, score=floor + span * stretched)
    return solve_ridge(clipped, AnchorBenchmark(pinned), ridge=RIDGE if ridge is None else ridge)


def _solve_default(problem: Problem, constraint: Constraint, n_dimensions: int, ridge: float | None = None) -> Solution:
    return solve_hierarchy(problem, n_dimensions)


def _left_out_by_the_paper() -> tuple[str, ...]:
    from howsure.sources.epoch import paper_leaves_out

    return tuple(paper_leaves_out())


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "default",
            "learned priors, noise of each benchmark, known standard errors, floors and ceilings",
            _solve_default,
            reference="all",
            has_ridge=False,
            most_dimensions=2,
            keeps_overlaps=False,
        ),
        Preset(
            "paper",
            "the objective of A Rosetta Stone for AI Benchmarks, and its choice of scores",
            _solve_paper,
            since="2022-11-01",
            duplicates="max",
            left_out=_left_out_by_the_paper,
            uses_floors=False,
        ),
        Preset(
            "seed",
            "the paper's objective with the filtering rules of its first code: minimum of duplicates, all years, no OSUniverse, no o3-mini and o4-mini on SWE-Bench",
            _solve_paper,
            since="",
            duplicates="min",
            left_out=lambda: ("OSUniverse",),
            left_out_scores=(("o3-mini*", "SWE-Bench*"), ("o4-mini*", "SWE-Bench*")),
            uses_floors=False,
        ),
        Preset(
            "eci",
            "as Epoch's Capabilities Index: families as models, floors and ceilings, no superseded benchmarks, two models at 130 and 150",
            _solve_eci,
            since="2023-01-01",
            duplicates="max",
            by_family=True,
            anchor_models={"Claude 3.5 Sonnet": 130, "GPT-5": 150},
            resample="models",
            needs_floors=True,
            drops_superseded=True,
        ),
    )
}
