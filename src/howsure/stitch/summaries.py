"""The tables of a scale: one row per model, one row per benchmark, and the differences between models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howsure.estimates import Estimate
from howsure.stats._arrays import t_quantile
from howsure.stats.multiplicity import ComparisonIntervals, comparison_intervals
from howsure.stats.replicates import (
    Interval,
    probability_best,
    probability_greater,
    replicate_differences,
    replicate_interval,
)
from howsure.stitch.model.fits import Solution, expected
from howsure.stitch.model.problem import Aligned, Floats, Problem
from howsure.stitch.model.replicates import ScaleReplicates

__all__ = [
    "benchmark_frame",
    "estimate_of",
    "interval_state",
    "intervals_to_compare",
    "model_frame",
    "pair_frame",
    "rank_columns",
    "reversed_benchmarks",
    "states_of_models",
    "with_interval_state",
]

Words: TypeAlias = NDArray[np.str_]
_FEW_REVERSED = 5  # models that show whether a benchmark is reversed
_MOST_COMPARED = 500  # models: the time grows with the cube
_FEW = 3  # models that a difficulty and a slope of one's own need at least


def model_frame(solution: Solution, aligned: Aligned, replicates: ScaleReplicates | None, level: float) -> pl.DataFrame:
    """Capability, rank and the probability to be the best, best model first.

    ``capability_state`` is ``above_range`` for a model that no benchmark could challenge and ``below_range`` for one that none could: then the
    interval is open on that side. For every other model it is ``interval_state``: ``ok``, ``too_few`` without replicates, ``undefined`` where more than 10 % of them failed (then there
    are no rank interval and no probability either), ``unbounded`` where fewer failed ones open an end. ``comparison_half_width`` is half the length of a bar for comparing models with
    each other (`howsure.stats.multiplicity`): where the bars of two models, capability ± half-width, do not overlap, the models differ at the level; null in tables of more than 500 models.
    """
    problem = solution.problem
    state = states_of_models(problem)
    drawn = np.empty((0, len(problem.models))) if replicates is None else replicates.capability
    found, bars = replicate_interval(drawn, level), intervals_to_compare(aligned.capability, replicates, level)
    columns = {
        "model": problem.models,
        "capability": aligned.capability,
        "capability_low": np.where(state == "below_range", np.nan, found.low),
        "capability_high": np.where(state == "above_range", np.nan, found.high),
        "capability_state": with_interval_state(state, found),
        "n_benchmarks": problem.n_by_model,
        **rank_columns(aligned.capability, drawn, level),
        "date": problem.dates,
        "interval_state": interval_state(found),
        "comparison_half_width": (bars.high - bars.low) / 2,
        "family": problem.families,
        "organisation": pl.Series(problem.organisations, dtype=pl.String),
        "compute": problem.compute,
    }
    if aligned.trait is not None:
        columns["trait"] = aligned.trait
    return _closed(columns).sort("rank", "model")


def intervals_to_compare(capability: Floats, replicates: ScaleReplicates | None, level: float) -> ComparisonIntervals:
    """Intervals for comparing models with each other; NaN without whole replicates, in large tables, and where two models are fixed, so that their difference has no variance."""
    usable, none = None if replicates is None else replicates.usable(), np.full(len(capability), np.nan)
    nothing = ComparisonIntervals(none, none, float("nan"))
    if usable is None or not 3 <= len(capability) <= _MOST_COMPARED:
        return nothing
    drawn = usable.capability[np.isfinite(usable.capability).all(axis=1)]
    if len(drawn) < 2 or (drawn.std(axis=0) == 0).any():
        return nothing
    return comparison_intervals(capability, np.cov(drawn, rowvar=False), level)


def benchmark_frame(
    solution: Solution, aligned: Aligned, replicates: ScaleReplicates | None, level: float
) -> pl.DataFrame:
    """Difficulty, slope and fit of each benchmark, easiest first.

    ``difficulty_state`` is ``above_range`` where no model is above the floor and ``below_range`` where all are at the ceiling, so that the
    difficulty is open on that side (and ``slope_state`` is ``undefined``). Both are ``too_few`` where fewer than three models leave them to the prior,
    and ``undefined`` where all have the same score, or where scores fall as capability rises; ``slope_state`` is ``unbounded`` where the slope runs into its bound.
    These are states of the values; ``interval_state`` is that of their intervals.
    """
    problem, state = solution.problem, _benchmark_states(solution)
    none = np.empty((0, len(problem.benchmarks)))
    drawn = (none, none) if replicates is None else (replicates.difficulty, replicates.slope)
    difficulty, slope = (replicate_interval(one, level) for one in drawn)
    squares = (problem.score - expected(solution.rows, solution.theta)[0]) ** 2
    n = problem.n_by_benchmark
    no_curve = state == "undefined"
    no_slope = no_curve | np.isin(state, ("above_range", "below_range"))
    columns = {
        "benchmark": problem.benchmarks,
        "difficulty": np.where(no_curve, np.nan, aligned.difficulty),
        "difficulty_low": np.where(no_curve | (state == "below_range"), np.nan, difficulty.low),
        "difficulty_high": np.where(no_curve | (state == "above_range"), np.nan, difficulty.high),
        "difficulty_state": np.where(state == "unbounded", "ok", state),
        "slope": np.where(no_slope, np.nan, aligned.slope),
        "slope_low": np.where(no_slope, np.nan, slope.low),
        "slope_high": np.where(no_slope, np.nan, slope.high),
        "slope_state": np.where(no_slope, "undefined", state),
        "n_models": n,
        "rmse": np.sqrt(np.bincount(problem.benchmark, squares, minlength=len(n)) / n),
        "noise_sd": np.sqrt(solution.noise.variance),
        "floor": problem.floors,
        "ceiling": problem.ceilings,
        "date": problem.benchmark_dates,
        "interval_state": interval_state(difficulty),
    }
    if aligned.loading is not None:
        columns["loading"] = aligned.loading
    return _closed(columns).sort("difficulty", "benchmark")


def pair_frame(
    models: Sequence[str],
    capability: Floats,
    replicates: ScaleReplicates | None,
    level: float,
    chosen: Sequence[int] | None,
) -> pl.DataFrame:
    """Differences between two capabilities, and the probability that the first is greater.

    All pairs of the ``chosen`` models, or each model with the next in rank.
    """
    order = np.argsort(-capability if chosen is None else -capability[list(chosen)], kind="stable")
    ranked = order if chosen is None else np.asarray(chosen)[order]
    pairs = list(pairwise(ranked) if chosen is None else combinations(ranked, 2))
    first, second = (np.array([pair[side] for pair in pairs], dtype=int) for side in (0, 1))
    drawn = np.empty((0, len(models))) if replicates is None else replicates.capability
    found = replicate_interval(replicate_differences(drawn[:, first], drawn[:, second]), level)
    return _closed(
        {
            "a": [models[i] for i in first],
            "b": [models[i] for i in second],
            "difference": capability[first] - capability[second],
            "difference_low": found.low,
            "difference_high": found.high,
            "difference_state": interval_state(found),
            "p_a_greater": probability_greater(drawn[:, first], drawn[:, second]),
        }
    )


def interval_state(found: Interval) -> Words:
    """One state for both ends: that of the interval, or ``unbounded`` where failed replicates open an end."""
    is_open = (found.low_state == "unbounded") | (found.high_state == "unbounded")
    return np.where(is_open, "unbounded", found.state)


def with_interval_state(state: Words, found: Interval) -> Words:
    """The states of values, and where a value is ``ok`` that of its interval: ``ok`` says that both were computed."""
    return np.where(state == "ok", interval_state(found), state)


def estimate_of(row: Mapping[str, Any], level: float, name: str = "capability", *, reason: str = "") -> Estimate:
    """A parameter of a row of these tables, with its interval and states; ``reason`` says why it is out of range."""
    low, high = f"{name}_low", f"{name}_high"
    told = row.get(f"{name}_state", "ok")
    # any other state of a capability that has a value is that of its interval
    is_of_value = row[name] is None or (name == "capability" and told in ("above_range", "below_range"))
    state: Any = told if is_of_value else "ok"
    failed = row["interval_state"] if row.get("interval_state") in ("undefined", "unbounded") else "ok"
    ends: Any = [failed if row[end] is None else "ok" for end in (low, high)]
    return Estimate(row[name], row[low], row[high], level, state, reason, *ends)


def states_of_models(problem: Problem) -> Words:
    """``above_range`` for a model with all scores at the ceiling, ``below_range`` with all at the floor, else ``ok``."""
    n = len(problem.models)
    best = problem.score >= problem.ceilings[problem.benchmark]
    worst = problem.score <= problem.floors[problem.benchmark]
    is_top, is_bottom = (np.bincount(problem.model, ~one, minlength=n) == 0 for one in (best, worst))
    return np.select([is_top, is_bottom], ["above_range", "below_range"], "ok")


def rank_columns(capability: Floats, drawn: Floats, level: float) -> dict[str, Floats]:
    """Ranks by capability, their intervals over replicates, and the probability to be the best.

    ``drawn`` has one row per replicate, NaN for a model that is not on it. Where failed replicates open an end, it is the first or the last rank.
    """
    rank, n = _rank(capability[None])[0], len(capability)
    found = replicate_interval(np.where(np.isnan(drawn), np.nan, _rank(drawn)), level)
    is_known = found.state == "ok"
    return {
        "rank": rank.astype(int),
        "rank_low": np.where(is_known, np.clip(np.floor(found.low), 1, n), np.nan),
        "rank_high": np.where(is_known, np.clip(np.ceil(found.high), 1, n), np.nan),
        "p_best": probability_best(drawn),
    }


def _rank(capability: Floats) -> Floats:
    order = np.argsort(-capability, axis=1, kind="stable")
    return (np.argsort(order, axis=1, kind="stable") + 1).astype(np.float64)


def _closed(columns: Mapping[str, Any]) -> pl.DataFrame:
    """The columns as a frame, null where there is no number or an end is open."""
    numbers = pl.col(pl.Float64)
    return pl.DataFrame(columns).with_columns(pl.when(numbers.is_finite()).then(numbers))


def reversed_benchmarks(solution: Solution) -> dict[str, float]:
    """Benchmarks whose scores fall as capability rises, with the correlation: significant at 5 % (one-sided), over 5 models at least."""
    problem, capability = solution.problem, solution.theta[solution.layout.capability]
    found = {}
    for index, name in enumerate(problem.benchmarks):
        here = problem.benchmark == index
        n, across, up = int(here.sum()), capability[problem.model[here]], problem.score[here]
        if n < _FEW_REVERSED or np.ptp(up) == 0 or np.ptp(across) == 0:
            continue
        r = float(np.corrcoef(across, up)[0, 1])
        if r < 0 and -r * np.sqrt((n - 2) / max(1 - r * r, 1e-12)) > t_quantile(0.9, n - 2):
            found[name] = r
    return found


def _benchmark_states(solution: Solution) -> Words:
    problem, at, prior = solution.problem, solution.layout, solution.prior
    low, high = np.full(len(problem.benchmarks), np.inf), np.full(len(problem.benchmarks), -np.inf)
    np.minimum.at(low, problem.benchmark, problem.score)
    np.maximum.at(high, problem.benchmark, problem.score)
    slope, least, most = (one[at.log_slope] for one in (solution.theta, prior.low, prior.high))
    is_reversed = np.isin(problem.benchmarks, list(reversed_benchmarks(solution)))
    is_bound = (least < most) & ((slope <= least) | (slope >= most))
    return np.select(
        [
            high <= problem.floors,
            low >= problem.ceilings,
            problem.n_by_benchmark < _FEW,
            low == high,
            is_reversed,
            is_bound,
        ],
        ["above_range", "below_range", "too_few", "undefined", "undefined", "unbounded"],
        "ok",
    )
