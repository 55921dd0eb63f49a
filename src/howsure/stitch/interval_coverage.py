"""How often the intervals of a scale contain the true value, by simulation: why `errors` is the default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from howsure.compute import replicate
from howsure.errors import OptionError
from howsure.results import Provenance, Result
from howsure.stats._arrays import check_level
from howsure.stats.replicates import replicate_interval
from howsure.stitch.cleaning import prepare_scores
from howsure.stitch.model.anchors import AnchorBenchmark
from howsure.stitch.model.layout import Floats, Ints
from howsure.stitch.model.presets import preset_called
from howsure.stitch.model.problem import Problem
from howsure.stitch.model.replicates import RESAMPLES, Resample, draw_replicates
from howsure.stitch.simulator import SimulatedScores, simulate

__all__ = ["PAIRS", "CapabilityCoverage", "coverage"]

PAIRS = ("any two models", "two models within 0.5", "two models of a family")
_MOST_PAIRS = 3000


@dataclass(frozen=True, eq=False, kw_only=True)
class CapabilityCoverage(Result):
    """Coverage of the intervals for differences of two capabilities, in simulations.

    Parameters
    ----------
    rows : pl.DataFrame
        resample, pairs, level, coverage (should equal ``level``), monte_carlo_se and mean_width (in units of the scale).
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "capability_coverage"

    rows: pl.DataFrame
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One row per way of redrawing and kind of pair."""
        return {"coverage": self.rows}


def coverage(
    n_simulations: int = 100,
    *,
    resamples: Sequence[Resample] = RESAMPLES,
    preset: str = "default",
    like: Problem | None = None,
    n_replicates: int = 400,
    level: float = 0.9,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CapabilityCoverage:
    """Coverage of the intervals that each way of redrawing gives, in simulated data sets.

    Differences are in units of the anchor's slope, the benchmark that most models have, in the simulated values and in each refit.

    Parameters
    ----------
    n_simulations : int
        Simulated data sets.
    resamples : sequence of str
        Ways of redrawing (`howsure.stitch.model.replicates`).
    preset : str
        What is fitted (`howsure.stitch.model.presets`).
    like : Problem, optional
        Dates, families and missing scores of a real table (`howsure.stitch.prepare_scores`).
    n_replicates : int
        Refits of each data set.
    level : float
        Nominal coverage, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    scheduler : str, optional
        Address of a Dask scheduler.
    progress : callable, optional
        Is called with the number of data sets done and their total.
    """
    check_level(level)
    if n_simulations < 2:
        raise OptionError(
            f"n_simulations is {n_simulations}; give at least 2. with 100 the Monte Carlo standard error is about 0.004."
        )
    work = partial(_try_simulations, tuple(resamples), preset, like, n_replicates, level)
    drawn = replicate(work, n_simulations, seed=seed, batch=1, scheduler=scheduler, progress=progress)
    rows = [
        _row(resample, pairs, level, drawn[:, r, k])
        for r, resample in enumerate(resamples)
        for k, pairs in enumerate(PAIRS)
    ]
    settings = {"n_simulations": n_simulations, "n_replicates": n_replicates, "preset": preset, "level": level}
    return CapabilityCoverage(rows=pl.DataFrame(rows), provenance=Provenance(settings, seed=seed))


def _try_simulations(
    resamples: tuple[Resample, ...], preset: str, like: Problem | None, n_replicates: int, level: float,
    rng: np.random.Generator, size: int,
) -> Floats:  # fmt: skip
    """Coverage and mean width: (data sets, ways of redrawing, kinds of pairs, 2)."""
    out = np.empty((size, len(resamples), len(PAIRS), 2))
    for w in range(size):
        world = simulate(like=like, seed=int(rng.integers(2**31)))
        problem = prepare_scores(world.scores, min_benchmarks=1)
        constraint = AnchorBenchmark(int(problem.n_by_benchmark.argmax()))
        solution = preset_called(preset).solve(problem, constraint, 1)
        truth, kinds = _truth(world, problem, constraint), _pairs(problem, _truth(world, problem, constraint), rng)
        for r, resample in enumerate(resamples):
            options = {"resample": resample, "seed": int(rng.integers(2**31)), "workers": 1}
            drawn = draw_replicates(solution, constraint, n_replicates, **options).capability  # type: ignore[arg-type]
            out[w, r] = [_tried(drawn, truth, first, second, level) for first, second in kinds]
    return out


def _truth(world: SimulatedScores, problem: Problem, constraint: AnchorBenchmark) -> Floats:
    """True capabilities in units of the anchor's slope, in the problem's order; their zero does not matter."""
    capability = dict(zip(world.models["model"], world.models["capability"], strict=True))
    slope = dict(zip(world.benchmarks["benchmark"], world.benchmarks["slope"], strict=True))
    unit = float(slope[problem.benchmarks[constraint.benchmark]])
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


def _row(resample: str, pairs: str, level: float, tried: Floats) -> dict[str, Any]:
    held, width = tried[np.isfinite(tried).all(axis=1)].T
    error = float(held.std(ddof=1) / np.sqrt(len(held)))
    return {
        "resample": resample,
        "pairs": pairs,
        "level": level,
        "coverage": float(held.mean()),
        "monte_carlo_se": error,
        "mean_width": float(width.mean()),
    }
