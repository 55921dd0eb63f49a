"""What the scale would be without some of its scores: benchmarks dropped at random, one benchmark or organisation left out.

Each refit starts from the optimum on all scores, with weight 0 for those left out. Learned priors and noise stay as they are; a ridge is shared
anew among the parameters that are left, as a fit of the smaller table would do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from howsure.compute import replicate
from howsure.errors import OptionError
from howsure.stitch.model.anchors import AnchorBenchmark, Constraint, align
from howsure.stitch.model.problem import Bools, Floats, Ints, Prior, Problem, find_parts, single_names
from howsure.stitch.model.solver import MOST_ITERATIONS, Solution
from howsure.stitch.model.solver import fit as minimise
from howsure.stitch.sensitivity.variants import BaselineFit, Variant

__all__ = ["drop_benchmarks", "leave_benchmarks_out", "leave_organisations_out", "refit_without"]

_TOLERANCE = 1e-7
_BATCH = 8


def refit_without(solution: Solution, constraint: Constraint, kept: Bools) -> Floats:
    """Capabilities fitted to the scores that are ``kept``; NaN for models without any.

    All are NaN where no scale can be had: the scores that are left fall into parts, or the solver did not converge.
    """
    problem = solution.problem
    n_scores = np.bincount(problem.model[kept], minlength=len(problem.models))
    weights = np.where(kept, solution.weights, 0.0)
    fitted = minimise(solution.rows, weights, solution.theta, _shared_anew(solution, kept), _TOLERANCE, MOST_ITERATIONS)
    is_whole = fitted.converged and _hangs_together(problem, kept)
    return np.where(is_whole & (n_scores > 0), align(constraint, fitted.theta, solution.layout).capability, np.nan)


def drop_benchmarks(
    solution: Solution,
    constraint: Constraint,
    n: int,
    *,
    share: float = 0.3,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Floats, Bools]:
    """Capabilities of ``n`` refits, each without a random ``share`` of the benchmarks, and which benchmarks it kept.

    The benchmark that anchors the scale is never dropped. Models that lose all their scores are NaN in that refit.
    """
    benchmarks = np.arange(len(solution.problem.benchmarks))
    n_dropped = int(share * len(benchmarks))
    can_go = benchmarks[benchmarks != _anchor(constraint)]
    if not 1 <= n_dropped <= len(benchmarks) - 2:
        raise OptionError(
            f"Dropping {share:.0%} of {len(benchmarks)} benchmarks leaves {len(benchmarks) - n_dropped}. "
            "Choose a share that drops at least one and leaves at least two."
        )
    work = partial(_draw_and_refit, solution, constraint, can_go, n_dropped)
    capability, is_in = replicate(work, n, seed=seed, batch=_BATCH, scheduler=scheduler, progress=progress)
    return capability, is_in


def leave_benchmarks_out(baseline: BaselineFit, solution: Solution, constraint: Constraint) -> Iterable[Variant]:
    """A refit without each benchmark in turn. Without the anchor there is no unit of its own, only the linked one."""
    problem = solution.problem
    for b, name in enumerate(problem.benchmarks):
        has_unit = b != _anchor(constraint)
        yield _without(baseline, solution, constraint, "benchmark", name, problem.benchmark != b, has_unit=has_unit)


def leave_organisations_out(baseline: BaselineFit, solution: Solution, constraint: Constraint) -> Iterable[Variant]:
    """A refit without the models of each organisation in turn; joint ones ("Google DeepMind,Google") belong to each of theirs."""
    problem = solution.problem
    makers = [set(single_names(name)) for name in problem.organisations]
    for name in sorted(set[str]().union(*makers)):
        kept = ~np.array([name in ours for ours in makers])[problem.model]
        if len(np.unique(problem.model[kept])) > 2:
            yield _without(baseline, solution, constraint, "organisation", name, kept)


def _without(
    baseline: BaselineFit,
    solution: Solution,
    constraint: Constraint,
    kind: str,
    label: str,
    kept: Bools,
    *,
    has_unit: bool = True,
) -> Variant:
    problem = solution.problem
    capability = refit_without(solution, constraint, kept)
    n_scores = np.bincount(problem.model[kept], minlength=len(problem.models)).astype(np.float64)
    n_benchmarks = len(np.unique(problem.benchmark[kept]))
    return baseline.compare(kind, label, capability, n_benchmarks=n_benchmarks, n_scores=n_scores, has_unit=has_unit)


def _draw_and_refit(
    solution: Solution, constraint: Constraint, can_go: Ints, n_dropped: int, rng: np.random.Generator, size: int
) -> tuple[Floats, Bools]:
    problem = solution.problem
    is_in = np.ones((size, len(problem.benchmarks)), dtype=bool)
    capability = np.empty((size, len(problem.models)))
    for r in range(size):
        is_in[r, rng.choice(can_go, n_dropped, replace=False)] = False
        capability[r] = refit_without(solution, constraint, is_in[r, problem.benchmark])
    return capability, is_in


def _anchor(constraint: Constraint) -> int | None:
    return constraint.benchmark if isinstance(constraint, AnchorBenchmark) else None


def _shared_anew(solution: Solution, kept: Bools) -> Prior:
    if "ridge" not in solution.learned:
        return solution.prior
    problem, at, prior = solution.problem, solution.layout, solution.prior
    has_scores = np.zeros(at.size, dtype=bool)
    has_scores[at.capability] = np.bincount(problem.model[kept], minlength=at.n_models) > 0
    has_scores[at.difficulty] = has_scores[at.log_slope] = (
        np.bincount(problem.benchmark[kept], minlength=at.n_benchmarks) > 0
    )
    is_free = prior.low < prior.high
    return prior._replace(precision=prior.precision * is_free.sum() / (is_free & has_scores).sum())


def _hangs_together(problem: Problem, kept: Bools) -> bool:
    models, model = np.unique(problem.model[kept], return_inverse=True)
    benchmarks, benchmark = np.unique(problem.benchmark[kept], return_inverse=True)
    names = [problem.models[m] for m in models], [problem.benchmarks[b] for b in benchmarks]
    return len(find_parts(model, benchmark, *names)) == 1
