"""What the scale would be under other settings: another anchor, rule for duplicates, strength of the priors or model of the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

import numpy as np

from howsure.stitch.cleaning import DUPLICATES
from howsure.stitch.model.anchors import AnchorBenchmark, Constraint, align, most_used
from howsure.stitch.model.noise import solve_hierarchy
from howsure.stitch.model.problem import Floats, Problem
from howsure.stitch.model.solver import MOST_ITERATIONS, Solution, solve_ridge
from howsure.stitch.model.solver import fit as minimise
from howsure.stitch.scale import fit
from howsure.stitch.sensitivity.crossvalidation import DEFAULT, DEFAULT_2D, PAPER, RASCH
from howsure.stitch.sensitivity.variants import BaselineFit, Variant
from howsure.tables import Scores

__all__ = [
    "STRENGTHS",
    "change_anchor",
    "change_duplicates",
    "change_model",
    "change_strength",
]

STRENGTHS = (0.01, 0.03, 0.1, 0.3, 3.0, 10.0, 30.0, 100.0)
"""Factors on the precision of all priors, or on the ridge."""

_TOLERANCE = 1e-7


def change_anchor(baseline: BaselineFit, solution: Solution, constraint: Constraint) -> Iterable[Variant]:
    """Each benchmark in turn as the anchor, with the difficulty and slope that the present one has.

    Where the anchor's slope is held while fitting, as in ``paper``, the ridge weighs differently under each anchor, and the fit is refitted;
    elsewhere an anchor only names the unit.
    """
    problem, at = solution.problem, solution.layout
    for b, name in enumerate(problem.benchmarks):
        other = (
            AnchorBenchmark(b, constraint.difficulty, constraint.slope)
            if isinstance(constraint, AnchorBenchmark)
            else AnchorBenchmark(b)
        )
        theta = _held_there(solution, constraint.benchmark, other) if _is_held(constraint, solution) else solution.theta
        capability = align(other, theta, at).capability
        yield baseline.compare("anchor", name, capability, n_benchmarks=len(problem.benchmarks))


def change_duplicates(
    baseline: BaselineFit, scores: Scores, options: Mapping[str, Any], policy: str
) -> Iterable[Variant]:
    """The fit with each other rule for several scores of a model on a benchmark than ``policy``, the present one."""
    for other in DUPLICATES:
        if other != policy:
            found = fit(scores, **{**options, "duplicates": other})
            by_model = dict(zip(found.problem.models, found.estimate.capability, strict=True))
            capability = np.array([by_model.get(model, np.nan) for model in baseline.models])
            yield baseline.compare("duplicates", other, capability, n_benchmarks=len(found.problem.benchmarks))


def change_strength(baseline: BaselineFit, solution: Solution, constraint: Constraint) -> Iterable[Variant]:
    """The priors, or the ridge, weaker and stronger by each of `STRENGTHS`; each refit starts from its neighbour."""
    prior, found = solution.prior, {}
    for side in ([f for f in STRENGTHS if f < 1][::-1], [f for f in STRENGTHS if f > 1]):
        theta = solution.theta
        for factor in side:
            changed = prior._replace(precision=prior.precision * factor)
            theta = minimise(solution.rows, solution.weights, theta, changed, _TOLERANCE, MOST_ITERATIONS).theta
            found[factor] = align(constraint, theta, solution.layout).capability
    n_benchmarks = len(solution.problem.benchmarks)
    for factor in STRENGTHS:
        yield baseline.compare("prior", f"× {factor:g}", found[factor], n_benchmarks=n_benchmarks)


def change_model(baseline: BaselineFit, problem: Problem, used: str) -> Iterable[Variant]:
    """The same scores under each other model of them than the one ``used``; a model has its own unit, so only the linked one tells."""
    widest = AnchorBenchmark(most_used(problem))
    models: dict[str, Callable[[], Solution]] = {
        RASCH: lambda: solve_ridge(problem, widest, equal_slopes=True),
        PAPER: lambda: solve_ridge(problem, widest),
        DEFAULT: lambda: solve_hierarchy(problem),
        DEFAULT_2D: lambda: solve_hierarchy(problem, 2),
    }
    for name, solve in models.items():
        if name != used:
            solution = solve()
            capability = solution.theta[solution.layout.capability]
            n = len(problem.benchmarks)
            yield baseline.compare("model", name, capability, n_benchmarks=n, has_unit=False)


def _is_held(constraint: Constraint, solution: Solution) -> TypeGuard[AnchorBenchmark]:
    if not isinstance(constraint, AnchorBenchmark):
        return False
    low, high = (
        side[solution.layout.log_slope][constraint.benchmark] for side in (solution.prior.low, solution.prior.high)
    )
    return bool(low == high)


def _held_there(solution: Solution, here: int, there: AnchorBenchmark) -> Floats:
    """The optimum when the slope that is held is another benchmark's."""
    at, prior = solution.layout, solution.prior
    swapped = np.arange(at.size)
    slopes = swapped[at.log_slope].copy()
    swapped[slopes[[here, there.benchmark]]] = slopes[[there.benchmark, here]]
    held = prior._replace(precision=prior.precision[swapped], low=prior.low[swapped], high=prior.high[swapped])
    start, factor = solution.theta.copy(), there.stretch(solution.theta, at)[1]
    start[at.capability] *= factor
    start[at.difficulty] *= factor
    start[at.log_slope] -= np.log(factor)
    return minimise(solution.rows, solution.weights, start, held, _TOLERANCE, MOST_ITERATIONS).theta
