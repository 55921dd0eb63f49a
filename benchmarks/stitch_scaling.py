"""How the time of a fit grows with the table, up to 5,000 models on 500 benchmarks at 10 % density (250,000 scores).

``…_seconds`` are CPU seconds from zeros to the optimum, of the published objective (``paper``) and of the default fit with its learned priors (``howsure``).
``…_exponent`` is the slope of log time on log scores over the last three sizes: 1 is linear, 2 would be quadratic.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from howsure.stitch.model.fits import solve_hierarchy, solve_ridge
from howsure.stitch.model.problem import AnchorBenchmark, Problem

MODELS, BENCHMARKS, DENSITY = (125, 625, 1_250, 2_500, 5_000), 500, 0.1


def measure() -> dict[str, float]:
    """Seconds at each size, and how they grow."""
    figures: dict[str, float] = {}
    ways: dict[str, Callable[[Problem], Any]] = {
        "paper": lambda problem: solve_ridge(problem, AnchorBenchmark(0)),
        "howsure": solve_hierarchy,
    }
    for name, way in ways.items():
        way(_table(40))  # compiles the kernels
        problems = [_table(n) for n in MODELS]
        seconds = [_seconds(way, problem) for problem in problems]
        sizes = [problem.n_observations for problem in problems]
        figures |= {f"{name}_seconds_{size // 1000}k_scores": s for size, s in zip(sizes, seconds, strict=True)}
        figures[f"{name}_exponent"] = float(np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0])
    return figures


def _seconds(way: Callable[[Problem], Any], problem: Problem) -> float:
    begin = time.process_time()
    way(problem)
    return time.process_time() - begin


def _table(n_models: int, seed: int = 0) -> Problem:
    """Scores of models that were tested on benchmarks at random."""
    rng = np.random.default_rng(seed)
    model, benchmark = (index.astype(np.int64) for index in np.nonzero(rng.random((n_models, BENCHMARKS)) < DENSITY))
    years = np.sort(rng.uniform(0, 3, n_models))
    capability, difficulty = years + rng.normal(0, 0.5, n_models), rng.normal(1.5, 1.2, BENCHMARKS)
    slope = np.exp(rng.normal(0, 0.4, BENCHMARKS))
    expected = expit(slope[benchmark] * (capability[model] - difficulty[benchmark]))
    return Problem(
        tuple(f"model {i:05}" for i in range(n_models)),
        tuple(f"benchmark {i:03}" for i in range(BENCHMARKS)),
        model,
        benchmark,
        np.clip(expected + rng.normal(0, 0.06, len(model)), 0, 1),
        np.full(len(model), np.nan),
        np.full(len(model), np.nan),
        np.zeros(BENCHMARKS),
        np.ones(BENCHMARKS),
        np.datetime64("2023-01-01") + (years * 365).astype("timedelta64[D]"),
        np.full(BENCHMARKS, np.datetime64("NaT"), dtype="datetime64[D]"),
        tuple(f"family {i // 2}" for i in range(n_models)),
        (None,) * n_models,
        np.full(n_models, np.nan),
    )
