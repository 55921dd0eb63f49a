"""Which model of the scores predicts best what it has not seen: random holes, new models, later models, on identical splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.stats._arrays import check_level
from howsure.stats.bootstrap import hierarchical_weights, percentile
from howsure.stitch.model.anchors import AnchorBenchmark, most_used
from howsure.stitch.model.noise import expected, solve_hierarchy
from howsure.stitch.model.problem import Bools, Floats, Ints, Problem
from howsure.stitch.model.residuals import PredictedScores, fit_residuals
from howsure.stitch.model.solver import Solution, solve_ridge
from howsure.stitch.sensitivity import baselines
from howsure.tables.frames import parts_of

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = [
    "ALL_SPLITS",
    "DEFAULT",
    "DEFAULT_2D",
    "METHODS",
    "PAPER",
    "PREDICTED",
    "PREDICTED_2D",
    "RASCH",
    "SPLITS",
    "compare_models",
    "error_frame",
    "folds_of",
    "held_out_frame",
    "make_folds",
    "make_parts",
    "predicted_by",
]

Part: TypeAlias = tuple[str, Bools]
"""A split, and which scores are held out in one of its parts."""

SPLITS = ("random holes", "new models", "later models")
ALL_SPLITS = "all three"
RASCH, PAPER, DEFAULT, DEFAULT_2D = "Rasch (equal slopes)", "sigmoid (paper)", "default", "default, 2 dimensions"
PREDICTED, PREDICTED_2D = "predict", "predict, 2 dimensions"
_FAMILY_FOLDS = 5
_CUTOFFS = (0.5, 0.65, 0.8)  # shares of the models that are released before
_FEWEST = 10  # held-out scores of a split
_REPLICATES = 1000


def compare_models(
    problem: Problem,
    *,
    methods: Sequence[str] | None = None,
    folds: int | Ints = 10,
    n_known: int = 3,
    against: str = PREDICTED,
    anchor: str | None = None,
    level: float = 0.9,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Held-out error of each statistical model of the scores, in each split (`make_parts`).

    The default of a release is the method with the smallest mean logarithm of the ratio to ``paper`` over the three splits: ``ratio`` in the rows of the split "all three" is its exponential.
    Intervals are a cluster bootstrap over families and the models in them.

    Parameters
    ----------
    problem : Problem
        The scores.
    methods : Sequence[str] | None
        The methods to compare (`METHODS`); by default all.
    folds : int | Ints
        Number of folds of the random holes, or the fold of each score.
    n_known : int
        Scores that new and later models keep.
    against : str
        Method with which the others are compared; a negative difference is better.
    anchor : str | None
        Benchmark whose slope is not shrunk by the ridge of the paper; by default the one with most models.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        Seed of the random numbers.
    progress : Callable[[int, int], None] | None
        Called with the number of parts done and the total.

    Returns
    -------
    polars.DataFrame
        split, method, rmse, difference (from ``against``) and ratio (to the rmse of ``paper``), each with its interval, and n; in each split the smallest error first.
    """
    check_level(level)
    names = list(dict.fromkeys([*(METHODS if methods is None else methods), against, PAPER]))
    for name in names:
        if name not in METHODS:
            raise OptionError.unknown("model of the scores", name, METHODS)
    constraint = AnchorBenchmark(most_used(problem) if anchor is None else problem.benchmark_at(anchor))
    rng = np.random.default_rng(seed)
    parts = make_parts(problem, folds, n_known, rng)
    tried: dict[str, list[pl.DataFrame]] = {}
    for done, (split, is_held_out) in enumerate(parts, 1):
        known, new = problem.keep(~is_held_out), problem.keep(is_held_out)
        found = {name: METHODS[name](known, new, constraint) for name in names}
        tried.setdefault(split, []).append(held_out_frame(new, found))
        if progress:
            progress(done, len(parts))
    return error_frame({split: pl.concat(some) for split, some in tried.items()}, names, against, level, rng)


def held_out_frame(new: Problem, found: dict[str, Floats]) -> pl.DataFrame:
    """Held-out scores beside what each method predicts."""
    return pl.DataFrame({"family": new.family[new.model], "model": new.model, "score": new.score, **found})


def make_parts(problem: Problem, folds: int | Ints, n_known: int, rng: np.random.Generator) -> list[Part]:
    """Which scores are held out, part by part.

    Random holes: each fold of the scores. New models: the families are divided into five parts; the models of each part keep ``n_known`` scores, drawn at random.
    Later models: the same for the models released after the first 50, 65 and 80 % of the models. A split that would hold out fewer than ten scores is left out.
    """
    if n_known < 1:
        raise OptionError(f"n_known is {n_known}; give at least 1 score that a new model keeps.")
    fold = make_folds(problem, folds, int(rng.integers(2**31))) if isinstance(folds, int) else np.asarray(folds)
    if len(fold) != problem.n_observations:
        raise InputError(f"folds: {len(fold)} for {problem.n_observations} scores. Give each score its fold.")
    drawn = rng.random(problem.n_observations)
    order = np.lexsort((drawn, problem.model))
    place = np.empty(problem.n_observations, dtype=np.int64)
    place[order] = np.arange(problem.n_observations) - np.searchsorted(problem.model, problem.model[order])
    is_spare = place >= n_known
    family = rng.permutation(np.arange(problem.family.max() + 1) % _FAMILY_FOLDS)[problem.family[problem.model]]
    dated, day = ~np.isnat(problem.dates), problem.dates.astype(np.int64)
    wanted = [(SPLITS[0], fold == k) for k in np.unique(fold)]
    wanted += [(SPLITS[1], (family == k) & is_spare) for k in range(_FAMILY_FOLDS)]
    if dated.sum() >= _FEWEST:
        cuts = np.quantile(day[dated], _CUTOFFS)
        wanted += [(SPLITS[2], (dated & (day >= cut))[problem.model] & is_spare) for cut in cuts]
    enough = {split for split in SPLITS if sum(int(held.sum()) for name, held in wanted if name == split) >= _FEWEST}
    return [(split, held) for split, held in wanted if split in enough and held.any()]


def error_frame(
    tried: dict[str, pl.DataFrame], names: Sequence[str], against: str, level: float, rng: np.random.Generator
) -> pl.DataFrame:
    """The table of `compare_models` from the held-out scores of each split, in which each method is a column."""
    rows: list[dict[str, Any]] = []
    logs: dict[str, list[tuple[float, Floats]]] = {name: [] for name in names}
    for split, frame in tried.items():
        weights = hierarchical_weights([frame["family"].to_numpy(), frame["model"].to_numpy()], _REPLICATES, rng)
        squares = {name: (frame[name].to_numpy() - frame["score"].to_numpy()) ** 2 for name in names}
        rmse = {name: float(np.sqrt(one.mean())) for name, one in squares.items()}
        drawn = {name: np.sqrt(weights @ one / weights.sum(axis=1)) for name, one in squares.items()}
        for name in names:
            logs[name].append((np.log(rmse[name] / rmse[PAPER]), np.log(drawn[name] / drawn[PAPER])))
            quantities = {
                "rmse": (rmse[name], drawn[name]),
                "difference": (rmse[name] - rmse[against], drawn[name] - drawn[against]),
                "ratio": (rmse[name] / rmse[PAPER], drawn[name] / drawn[PAPER]),
            }
            rows.append({"split": split, "method": name, **_with_intervals(quantities, level), "n": len(frame)})
    n = sum(len(frame) for frame in tried.values())
    for name in names if len(tried) == len(SPLITS) else ():
        value = float(np.exp(np.mean([one for one, _ in logs[name]])))
        many = np.exp(np.mean([drawn for _, drawn in logs[name]], axis=0))
        ratio = _with_intervals({"ratio": (value, many)}, level)
        rows.append({"split": ALL_SPLITS, "method": name, **ratio, "n": n})
    columns = [f"{name}{end}" for name in ("rmse", "difference", "ratio") for end in ("", "_low", "_high")]
    frame = pl.DataFrame(rows, schema={"split": pl.String, "method": pl.String, **dict.fromkeys(columns, pl.Float64), "n": pl.Int64})  # fmt: skip
    order = pl.col("split").replace_strict({name: k for k, name in enumerate((*SPLITS, ALL_SPLITS))})
    return frame.sort(order, "ratio", maintain_order=True)


def _with_intervals(quantities: dict[str, tuple[float, Floats]], level: float) -> dict[str, float]:
    columns: dict[str, float] = {}
    for name, (value, drawn) in quantities.items():
        columns[name] = value
        low, high = percentile(drawn, level)
        columns |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return columns


def make_folds(problem: Problem, n: int, seed: int = 0) -> Ints:
    """A random fold for each score, all of nearly the same size."""
    if not 2 <= n <= problem.n_observations:
        raise OptionError(f"folds is {n}; give from 2 to {problem.n_observations}, the number of scores.")
    return np.random.default_rng(seed).permutation(np.arange(problem.n_observations) % n)


def folds_of(problem: Problem, folds: int | Source) -> int | Ints:
    """How many folds, or the fold of each score from a table."""
    if isinstance(folds, int):
        return folds
    part = parts_of(folds)[0].parsed()
    table = part.collect(part.rows)
    for name in ("model", "benchmark", "fold"):
        if name not in table.columns:
            raise InputError(
                f"{part.path or 'The folds'}: no column {name!r}. A table of folds has model, benchmark, fold."
            )
    given = table.select(pl.col("model", "benchmark").str.strip_chars(), "fold").unique(
        ["model", "benchmark"], maintain_order=True
    )
    wanted = problem.to_frame().join(given, on=["model", "benchmark"], how="left", maintain_order="left")
    lacking = wanted.filter(pl.col("fold").is_null())
    if len(lacking):
        model, benchmark = lacking.select("model", "benchmark").row(0)
        raise InputError(
            f"{part.path or 'The folds'}: {len(lacking):,} scores have no fold, the first is {model} on {benchmark}."
        )
    return wanted["fold"].rank("dense").to_numpy().astype(np.int64)


def predicted_by(solution: Solution, new: Problem) -> PredictedScores:
    """What the residual process around a fit says of scores that it has not seen."""
    known = solution.problem
    items = np.where(np.isnan(new.n_effective), known.items_by_benchmark[new.benchmark], new.n_effective)
    return fit_residuals(solution).predict(new.model, new.benchmark, items)


def _by_variance(known: Problem, anchor: AnchorBenchmark) -> Solution:
    """The paper's objective, with each benchmark's errors weighed by how large they are."""
    solution = solve_ridge(known, anchor)
    for _ in range(5):
        solution = solve_ridge(known, anchor, variances=solution.noise.variance[known.benchmark])
    return solution


@lru_cache(maxsize=2)
def _hierarchy(known: Problem, n_dimensions: int = 1) -> Solution:
    """The learned fit of a training set, which several methods start from."""
    return solve_hierarchy(known, n_dimensions, flat=_hierarchy(known) if n_dimensions > 1 else None)


def _by_curves(solution: Solution, new: Problem) -> Floats:
    return expected(new.rows(solution.layout.n_dimensions), solution.theta)[0]


def _by_process(solution: Solution, new: Problem) -> Floats:
    return np.clip(predicted_by(solution, new).mean, 0, 1)


METHODS: dict[str, Callable[[Problem, Problem, AnchorBenchmark], Floats]] = {
    "benchmark mean": lambda known, new, anchor: baselines.benchmark_mean(known, new),
    "clipped linear": lambda known, new, anchor: baselines.clipped_linear(known, new),
    "two-way logit": lambda known, new, anchor: baselines.two_way_logit(known, new),
    "soft-impute": lambda known, new, anchor: baselines.soft_impute(known, new),
    "nearest neighbours": lambda known, new, anchor: baselines.nearest_neighbours(known, new),
    "five best benchmarks": lambda known, new, anchor: baselines.five_benchmarks(known, new),
    "Gaussian process": lambda known, new, anchor: baselines.gaussian_process(known, new),
    RASCH: lambda known, new, anchor: _by_curves(solve_ridge(known, anchor, equal_slopes=True), new),
    PAPER: lambda known, new, anchor: _by_curves(solve_ridge(known, anchor), new),
    "variance per benchmark": lambda known, new, anchor: _by_curves(_by_variance(known, anchor), new),
    DEFAULT: lambda known, new, anchor: _by_curves(_hierarchy(known), new),
    DEFAULT_2D: lambda known, new, anchor: _by_curves(_hierarchy(known, 2), new),
    PREDICTED: lambda known, new, anchor: _by_process(_hierarchy(known), new),
    PREDICTED_2D: lambda known, new, anchor: _by_process(_hierarchy(known, 2), new),
}
"""Each learns from one problem and predicts the scores of another with the same models and benchmarks.

The anchor's slope is fixed where a ridge on all the others makes that matter.
"""
