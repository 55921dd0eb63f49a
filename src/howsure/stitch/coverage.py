"""How often the intervals of a scale hold the truth, by simulation: why `errors` is the default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from howsure.compute import replicate
from howsure.errors import OptionError
from howsure.stats._arrays import check_level
from howsure.stats.replicates import replicate_interval
from howsure.stitch.cleaning import pose
from howsure.stitch.presets import preset_called
from howsure.stitch.simulate import World, simulate
from howsure.stitch.solver.gauge import AnchorBenchmark
from howsure.stitch.solver.layout import Floats, Ints
from howsure.stitch.solver.problem import Problem
from howsure.stitch.solver.replicates import RESAMPLES, Resample, draw_replicates

__all__ = ["PAIRS", "CoverageRow", "coverage_table"]

PAIRS = ("any two models", "two models within 0.5", "two models of a family")
_MOST_PAIRS = 3000


@dataclass(frozen=True)
class CoverageRow:
    """How often intervals for the difference of two capabilities hold the true one.

    ``coverage`` should be ``level``; ``monte_carlo_se`` is how far chance moves it from world to world; ``mean_width`` is in units of the scale.
    """

    resample: str
    pairs: str
    level: float
    coverage: float
    monte_carlo_se: float
    mean_width: float


def coverage_table(
    n_worlds: int = 100,
    *,
    resamples: Sequence[Resample] = RESAMPLES,
    preset: str = "howsure",
    like: Problem | None = None,
    bootstrap: int = 400,
    level: float = 0.9,
    seed: int = 0,
    cluster: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[CoverageRow]:
    """Coverage of the intervals that each way of redrawing gives, in worlds whose truth is known.

    ``like`` gives the worlds the dates, families and missing scores of a real table. Differences are in units of the anchor's slope, the
    benchmark that most models have, in the truth and in each refit.
    """
    check_level(level)
    if n_worlds < 2:
        raise OptionError(f"{n_worlds} worlds show nothing; give at least 2. 100 leave an error of about 0.004.")
    work = partial(_try_worlds, tuple(resamples), preset, like, bootstrap, level)
    drawn = replicate(work, n_worlds, seed=seed, batch=1, cluster=cluster, progress=progress)
    return [
        _row(resample, pairs, level, drawn[:, r, k])
        for r, resample in enumerate(resamples)
        for k, pairs in enumerate(PAIRS)
    ]


def _try_worlds(
    resamples: tuple[Resample, ...], preset: str, like: Problem | None, bootstrap: int, level: float,
    rng: np.random.Generator, size: int,
) -> Floats:  # fmt: skip
    """Coverage and mean width: (worlds, ways of redrawing, kinds of pairs, 2)."""
    out = np.empty((size, len(resamples), len(PAIRS), 2))
    for w in range(size):
        world = simulate(like=like, seed=int(rng.integers(2**31)))
        problem = pose(world.scores, min_benchmarks=1)
        gauge = AnchorBenchmark(int(problem.n_by_benchmark.argmax()))
        solution = preset_called(preset).solve(problem, gauge, 1)
        truth, kinds = _truth(world, problem, gauge), _pairs(problem, _truth(world, problem, gauge), rng)
        for r, resample in enumerate(resamples):
            options = {"resample": resample, "seed": int(rng.integers(2**31)), "workers": 1}
            drawn = draw_replicates(solution, gauge, bootstrap, **options).capability  # type: ignore[arg-type]
            out[w, r] = [_tried(drawn, truth, first, second, level) for first, second in kinds]
    return out


def _truth(world: World, problem: Problem, gauge: AnchorBenchmark) -> Floats:
    """True capabilities in units of the anchor's slope, in the problem's order; their zero does not matter."""
    capability = dict(zip(world.models["model"], world.models["capability"], strict=True))
    slope = dict(zip(world.benchmarks["benchmark"], world.benchmarks["slope"], strict=True))
    unit = float(slope[problem.benchmarks[gauge.benchmark]])
    return np.array([capability[name] for name in problem.models], np.float64) * unit


def _pairs(problem: Problem, truth: Floats, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    """Of each kind at most some thousands, drawn at random."""
    first, second = np.triu_indices(len(truth), 1)
    is_near = np.abs(truth[first] - truth[second]) < 0.5
    kinds = [np.ones(len(first), dtype=bool), is_near, problem.family[first] == problem.family[second]]
    chosen = [rng.permutation(np.flatnonzero(kind))[:_MOST_PAIRS] for kind in kinds]
    return [(first[some], second[some]) for some in chosen]


def _tried(drawn: Floats, truth: Floats, first: Ints, second: Ints, level: float) -> tuple[float, float]:
    if not len(first):
        return np.nan, np.nan
    true = truth[first] - truth[second]
    found = replicate_interval(drawn[:, first] - drawn[:, second], level)
    covers = np.where(found.state == "ok", (found.low <= true) & (true <= found.high), np.nan)
    width = (found.high - found.low)[np.isfinite(found.low) & np.isfinite(found.high)]
    return float(np.nanmean(covers)), float(width.mean())


def _row(resample: str, pairs: str, level: float, tried: Floats) -> CoverageRow:
    held, width = tried[np.isfinite(tried).all(axis=1)].T
    error = float(held.std(ddof=1) / np.sqrt(len(held)))
    return CoverageRow(resample, pairs, level, float(held.mean()), error, float(width.mean()))
