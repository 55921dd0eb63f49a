"""The tables of a scale: one row a model, one row a benchmark, and who is probably better than whom."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howsure.stats.bootstrap import percentile
from howsure.stitch.solver.gauge import Aligned
from howsure.stitch.solver.layout import Bools, Floats
from howsure.stitch.solver.noise import expected
from howsure.stitch.solver.problem import Problem
from howsure.stitch.solver.replicates import Replicates
from howsure.stitch.solver.solutions import Solution

__all__ = ["benchmark_frame", "interval", "model_frame", "pair_frame", "states_of_models"]

Words: TypeAlias = NDArray[np.str_]
_FEW = 3  # models that a difficulty and a slope of one's own need at least


def model_frame(solution: Solution, aligned: Aligned, replicates: Replicates | None, level: float) -> pl.DataFrame:
    """Capability, rank and the chance to be the best, best model first.

    ``state`` is ``above_range`` for a model that no benchmark could challenge and ``below_range`` for one that none could: then the
    interval is open on that side.
    """
    problem = solution.problem
    state = states_of_models(problem)
    low, high = interval(None if replicates is None else replicates.capability, aligned.capability, level)
    columns = {
        "model": problem.models,
        "capability": aligned.capability,
        "low": np.where(state == "below_range", np.nan, low),
        "high": np.where(state == "above_range", np.nan, high),
        "n_benchmarks": problem.n_by_model,
        **_ranks(aligned.capability, replicates, level),
        "date": problem.dates,
        "state": state,
        "family": problem.families,
        "organisation": pl.Series(problem.organisations, dtype=pl.String),
        "compute": problem.compute,
    }
    if aligned.trait is not None:
        columns["trait"] = aligned.trait
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None)).sort("rank", "model")


def benchmark_frame(solution: Solution, aligned: Aligned, replicates: Replicates | None, level: float) -> pl.DataFrame:
    """Difficulty, slope and fit of each benchmark, easiest first.

    ``state`` is ``above_range`` where no model is above the floor and ``below_range`` where all are at the ceiling, so that the difficulty is
    open on that side; ``too_few`` where fewer than three models leave difficulty and slope to the prior; ``undefined`` where all have the same
    score; ``unbounded`` where the slope runs into its bound.
    """
    problem, state = solution.problem, _benchmark_states(solution)
    ends = {
        name: interval(None if replicates is None else getattr(replicates, name), getattr(aligned, name), level)
        for name in ("difficulty", "slope")
    }
    squares = (problem.score - expected(solution.rows, solution.theta)[0]) ** 2
    n = problem.n_by_benchmark
    columns = {
        "benchmark": problem.benchmarks,
        "difficulty": aligned.difficulty,
        "difficulty_low": np.where(state == "below_range", np.nan, ends["difficulty"][0]),
        "difficulty_high": np.where(state == "above_range", np.nan, ends["difficulty"][1]),
        "slope": aligned.slope,
        "slope_low": ends["slope"][0],
        "slope_high": ends["slope"][1],
        "n_models": n,
        "rmse": np.sqrt(np.bincount(problem.benchmark, squares, minlength=len(n)) / n),
        "noise_sd": np.sqrt(solution.noise.variance),
        "floor": problem.floors,
        "ceiling": problem.ceilings,
        "date": problem.benchmark_dates,
        "state": state,
    }
    if aligned.loading is not None:
        columns["loading"] = aligned.loading
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None)).sort("difficulty", "benchmark")


def pair_frame(
    models: Sequence[str], capability: Floats, replicates: Replicates | None, level: float, chosen: Sequence[int] | None
) -> pl.DataFrame:
    """How much better one model is than another, and how probable it is that it is better at all.

    All pairs of the ``chosen`` models, or each model with the next in rank.
    """
    order = np.argsort(-capability if chosen is None else -capability[list(chosen)], kind="stable")
    ranked = order if chosen is None else np.asarray(chosen)[order]
    pairs = list(pairwise(ranked) if chosen is None else combinations(ranked, 2))
    first, second = (np.array([pair[side] for pair in pairs], dtype=int) for side in (0, 1))
    drawn = None if replicates is None else replicates.capability[:, first] - replicates.capability[:, second]
    low, high = interval(drawn, capability[first] - capability[second], level)
    better = np.full(len(pairs), np.nan) if drawn is None else _share(drawn > 0, drawn)
    return pl.DataFrame(
        {
            "model": [models[i] for i in first],
            "other": [models[i] for i in second],
            "difference": capability[first] - capability[second],
            "low": low,
            "high": high,
            "p_better": better,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def interval(drawn: Floats | None, value: Floats, level: float) -> tuple[Floats, Floats]:
    """The middle of the replicates, column by column; NaN without any. Replicates that are NaN do not count."""
    if drawn is None or not len(drawn):
        return np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    if not np.isnan(drawn).any():
        return percentile(drawn, level)
    ends = [percentile(kept, level) if len(kept := c[~np.isnan(c)]) else (np.nan, np.nan) for c in drawn.T]
    low, high = np.array(ends, dtype=np.float64).T
    return low, high


def states_of_models(problem: Problem) -> Words:
    """``above_range`` for a model with all scores at the ceiling, ``below_range`` with all at the floor, else ``ok``."""
    n = len(problem.models)
    best = problem.score >= problem.ceilings[problem.benchmark]
    worst = problem.score <= problem.floors[problem.benchmark]
    is_top, is_bottom = (np.bincount(problem.model, ~one, minlength=n) == 0 for one in (best, worst))
    return np.select([is_top, is_bottom], ["above_range", "below_range"], "ok")


def _ranks(capability: Floats, replicates: Replicates | None, level: float) -> dict[str, Floats]:
    rank = _rank(capability[None])[0]
    nothing = np.full(len(rank), np.nan)
    if replicates is None:
        return {"rank": rank.astype(int), "rank_low": nothing, "rank_high": nothing, "p_best": nothing}
    drawn = np.where(np.isnan(replicates.capability), np.nan, _rank(replicates.capability))
    low, high = interval(drawn, rank, level)
    return {
        "rank": rank.astype(int),
        "rank_low": np.floor(low),
        "rank_high": np.ceil(high),
        "p_best": _share(drawn == 1, drawn),
    }


def _rank(capability: Floats) -> Floats:
    order = np.argsort(-capability, axis=1, kind="stable")
    return (np.argsort(order, axis=1, kind="stable") + 1).astype(np.float64)


def _share(holds: Bools, drawn: Floats) -> Floats:
    n = (~np.isnan(drawn)).sum(axis=0)
    share: Floats = np.divide(holds.sum(axis=0), n, out=np.full(drawn.shape[1], np.nan), where=n > 0)
    return share


def _benchmark_states(solution: Solution) -> Words:
    problem, at, prior = solution.problem, solution.layout, solution.prior
    low, high = np.full(len(problem.benchmarks), np.inf), np.full(len(problem.benchmarks), -np.inf)
    np.minimum.at(low, problem.benchmark, problem.score)
    np.maximum.at(high, problem.benchmark, problem.score)
    slope, least, most = (one[at.log_slope] for one in (solution.theta, prior.low, prior.high))
    is_bound = (least < most) & ((slope <= least) | (slope >= most))
    return np.select(
        [high <= problem.floors, low >= problem.ceilings, problem.n_by_benchmark < _FEW, low == high, is_bound],
        ["above_range", "below_range", "too_few", "undefined", "unbounded"],
        "ok",
    )
