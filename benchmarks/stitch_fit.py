"""One capability scale of 179 models on 38 benchmarks, against scipy's least squares as a user would write it.

``…_ratio`` is scipy's CPU time (finite differences, one BLAS thread, default tolerances) over ours, in one process. The cold fit is the published
objective from zeros to a gradient below 1e-8 (at least 100, aim 250); a refit starts at the optimum with new weights (at least 500, aim
1000). ``ten_thousand_refits_seconds`` is wall time of replicates of the default fit on all cores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from threadpoolctl import threadpool_limits

from howsure.stitch.cleaning import prepare_scores
from howsure.stitch.model.fits import MOST_ITERATIONS, solve_hierarchy, solve_ridge
from howsure.stitch.model.problem import AnchorBenchmark, Problem
from howsure.stitch.model.replicates import draw_replicates
from howsure.stitch.model.solver import fit
from howsure.stitch.simulator import simulate

REFITS, REPLICATES, ROUNDS = 100, 2_000, 5


def measure() -> dict[str, float]:
    """CPU seconds of each way, and their ratios."""
    world = prepare_scores(simulate(n_models=179, n_benchmarks=38, density=0.195, seed=0).scores)
    problem = replace(world, floors=np.zeros(len(world.benchmarks)))  # the published objective knows no floors
    constraint = AnchorBenchmark(int(problem.n_by_benchmark.argmax()))
    solution = solve_ridge(problem, constraint)
    start = np.zeros(solution.layout.size)
    weights = np.random.default_rng(0).exponential(size=(REFITS, problem.n_observations))

    def cold() -> Any:
        return fit(solution.rows, solution.weights, start, solution.prior, 1e-8, MOST_ITERATIONS)

    def refits() -> None:
        for drawn in weights:
            fit(solution.rows, drawn, solution.theta, solution.prior, 1e-8, MOST_ITERATIONS)

    with threadpool_limits(1):
        seconds = {
            "cold": _least(cold),
            "refit": _least(refits) / REFITS,
            "scipy": _least(lambda: _scipy(problem, constraint), 1),
        }
        learned = _least(lambda: solve_hierarchy(problem))
    default = solve_hierarchy(problem)
    draw_replicates(default, constraint, 10)
    begin = time.perf_counter()
    draw_replicates(default, constraint, REPLICATES)
    drawn = time.perf_counter() - begin
    return {
        "scores": problem.n_observations,
        "scipy_seconds": seconds["scipy"],
        "scipy_cost_above_ours": _scipy(problem, constraint) - cold().cost,
        "cold_milliseconds": 1e3 * seconds["cold"],
        "cold_ratio": seconds["scipy"] / seconds["cold"],
        "refit_milliseconds": 1e3 * seconds["refit"],
        "refit_ratio": seconds["scipy"] / seconds["refit"],
        "default_fit_milliseconds": 1e3 * learned,
        "ten_thousand_refits_seconds": drawn * 10_000 / REPLICATES,
    }


def _least(way: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """The least CPU time of several rounds; the first, in which kernels are compiled, does not count."""
    if rounds > 1:
        way()
    seconds = []
    for _ in range(rounds):
        begin = time.process_time()
        way()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def _scipy(problem: Problem, constraint: AnchorBenchmark) -> float:
    """The published objective as a script would fit it; returns the cost."""
    n, m = len(problem.models), len(problem.benchmarks)
    free = n + m + m - 1

    def residuals(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        capability, difficulty = parameters[:n], parameters[n : n + m]
        slope = np.insert(parameters[n + m :], constraint.benchmark, 1.0)
        logit = slope[problem.benchmark] * (capability[problem.model] - difficulty[problem.benchmark])
        penalty = np.sqrt(0.1 / free) * parameters
        return np.concatenate([1 / (1 + np.exp(-logit)) - problem.score, penalty])

    start = np.concatenate([np.zeros(n + m), np.ones(m - 1)])
    low = np.concatenate([np.full(n + m, -10.0), np.full(m - 1, 0.1)])
    return float(least_squares(residuals, start, bounds=(low, 10.0)).cost)
