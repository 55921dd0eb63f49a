"""Which model of the scores predicts best what it has not seen: random holes, new models, later models, on identical splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, logit

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.stats._arrays import check_level
from howsure.stats.replicates import hierarchical_weights, percentile
from howsure.stitch.model.fits import Solution, expected, solve_hierarchy, solve_ridge
from howsure.stitch.model.problem import AnchorBenchmark, Bools, Floats, Ints, Problem, most_used
from howsure.stitch.model.residuals import PredictedScores, fit_residuals
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
    "benchmark_mean",
    "clipped_linear",
    "compare_models",
    "error_frame",
    "five_benchmarks",
    "folds_of",
    "gaussian_process",
    "held_out_frame",
    "make_folds",
    "make_parts",
    "nearest_neighbours",
    "predicted_by",
    "soft_impute",
    "two_way_logit",
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


@checked
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
    return predicted_by(solution, new).expected


METHODS: dict[str, Callable[[Problem, Problem, AnchorBenchmark], Floats]] = {
    "benchmark mean": lambda known, new, anchor: benchmark_mean(known, new),
    "clipped linear": lambda known, new, anchor: clipped_linear(known, new),
    "two-way logit": lambda known, new, anchor: two_way_logit(known, new),
    "soft-impute": lambda known, new, anchor: soft_impute(known, new),
    "nearest neighbours": lambda known, new, anchor: nearest_neighbours(known, new),
    "five best benchmarks": lambda known, new, anchor: five_benchmarks(known, new),
    "Gaussian process": lambda known, new, anchor: gaussian_process(known, new),
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


# Predictions of missing scores without a capability scale: what any model of the scores should beat.


_EDGE = 0.01  # scores are kept off 0 and 1 by this before their logit is taken
_SWEEPS, _LINE_SWEEPS, _IMPUTE_SWEEPS = 30, 200, 60
_ROW_RIDGE, _COLUMN_RIDGE = 0.3, 0.1  # residual variance over the variance of the effects
_GAIN_RIDGE, _CAPABILITY_RIDGE = 1.0, 0.01  # of the clipped line
_THRESHOLDS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of singular values
_INNER = 0.1  # share of the training scores that chooses among them
_NEIGHBOURS, _COMMON = 10, 3.0
_PREDICTORS, _SLOPE_RIDGE, _FEWEST_SHARED = 5, 2.0, 5
_SHARED = {"family": 0.5, "family on a benchmark": 0.3, "date": 0.1}


def benchmark_mean(known: Problem, new: Problem) -> Floats:
    """The benchmark's mean score."""
    n = known.n_by_benchmark
    total = np.bincount(known.benchmark, known.score, minlength=len(n))
    means: Floats = np.where(n > 0, total / np.maximum(n, 1), known.score.mean())
    return means[new.benchmark]


def clipped_linear(known: Problem, new: Problem) -> Floats:
    """Scores as clip(base_b + gain_b · C_m, 0, 1), by alternating least squares through the clip.

    Each regression is on the working response z + (y − clip(z)), z being the line as it is: a score of 1 asks nothing more of a line that is above 1.
    Gains have a ridge towards their mean, capabilities a small one towards 0, for models with few scores.
    """
    m, b, y = known.model, known.benchmark, known.score
    n_models, n_benchmarks, n = len(known.models), len(known.benchmarks), np.maximum(known.n_by_benchmark, 1)
    base, gain = np.bincount(b, y, minlength=n_benchmarks) / n, np.ones(n_benchmarks)
    capability = np.bincount(m, y - base[b], minlength=n_models) / np.maximum(known.n_by_model, 1)

    def working() -> Floats:
        line = base[b] + gain[b] * capability[m]
        response: Floats = line + (y - np.clip(line, 0, 1))
        return response

    for _ in range(_LINE_SWEEPS):
        spread = max(float(capability.std()), 1e-9)
        capability, gain = (capability - capability.mean()) / spread, gain * spread
        response = working()
        middle = np.bincount(b, capability[m], minlength=n_benchmarks) / n
        away = capability[m] - middle[b]
        rise, room = (np.bincount(b, away * values, minlength=n_benchmarks) for values in (response, away))
        gain = (rise + _GAIN_RIDGE * gain.mean()) / (room + _GAIN_RIDGE)
        base = np.bincount(b, response, minlength=n_benchmarks) / n - gain * middle
        rise = np.bincount(m, gain[b] * (working() - base[b]), minlength=n_models)
        capability = rise / (np.bincount(m, gain[b] ** 2, minlength=n_models) + _CAPABILITY_RIDGE)
    return np.clip(base[new.benchmark] + gain[new.benchmark] * capability[new.model], 0, 1)


def two_way_logit(known: Problem, new: Problem) -> Floats:
    """An effect of the model plus one of the benchmark, on logits, both shrunk."""
    return np.asarray(expit(_two_way(known)[new.model, new.benchmark]))


def soft_impute(known: Problem, new: Problem) -> Floats:
    """Low-rank completion of what two-way effects leave (Mazumder, Hastie and Tibshirani, 2010); a tenth of the training scores chooses the threshold."""
    is_inner = np.random.default_rng(0).random(known.n_observations) < _INNER
    part, rest = known.keep(~is_inner), known.keep(is_inner)
    errors = [np.mean((_completed(part, one)[rest.model, rest.benchmark] - rest.score) ** 2) for one in _THRESHOLDS]
    return _completed(known, _THRESHOLDS[int(np.argmin(errors))])[new.model, new.benchmark]


def nearest_neighbours(known: Problem, new: Problem) -> Floats:
    """The mean score on the benchmark of the ten models whose other scores are the most alike, each weighed by how alike and on how many benchmarks."""
    table, has = _matrix(known, known.score)
    common = has.astype(np.float64) @ has.T
    squares = (table**2 * has) @ has.T + has @ (table**2 * has).T - 2 * (table * has) @ (table * has).T
    apart = (squares + _COMMON * 0.2**2) / (common + _COMMON)  # a few scores are no proof of likeness
    np.fill_diagonal(apart, np.inf)
    fallback, found = two_way_logit(known, new), np.empty(new.n_observations)
    for i, (m, b) in enumerate(zip(new.model, new.benchmark, strict=True)):
        there = np.flatnonzero(has[:, b] & (common[m] > 0))
        near = there[np.argsort(apart[m, there], kind="stable")[:_NEIGHBOURS]]
        weights = 1 / apart[m, near] ** 2
        found[i] = weights @ table[near, b] / weights.sum() if len(near) and weights.sum() > 0 else fallback[i]
    return found


def five_benchmarks(known: Problem, new: Problem) -> Floats:
    """A ridge regression of each benchmark on the five that correlate with it most, on logits; two-way effects fill what a model lacks."""
    filled, has = _two_way(known), _matrix(known, known.score)[1]
    filled = np.where(has, _matrix(known, _logit(known.score))[0], filled)
    found = np.empty(new.n_observations)
    for b in np.unique(new.benchmark):
        mine, here = new.benchmark == b, has[:, b]
        others = np.array(
            [c for c in range(len(known.benchmarks)) if c != b and (has[:, c] & here).sum() >= _FEWEST_SHARED]
        )
        if here.sum() < _FEWEST_SHARED or not len(others):
            found[mine] = two_way_logit(known, new)[mine]
            continue
        alike = np.array([_correlation(filled[has[:, c] & here][:, [b, c]]) for c in others])
        chosen = others[np.argsort(-alike, kind="stable")[:_PREDICTORS]]
        middle = filled[here][:, chosen].mean(axis=0)
        across, up = filled[here][:, chosen] - middle, filled[here, b]
        slopes = np.linalg.solve(
            across.T @ across + _SLOPE_RIDGE * np.eye(len(chosen)),
            across.T @ (up - up.mean()) + _SLOPE_RIDGE / len(chosen),
        )
        found[mine] = expit(up.mean() + (filled[new.model[mine]][:, chosen] - middle) @ slopes)
    return found


def gaussian_process(known: Problem, new: Problem) -> Floats:
    """A Gaussian process on logits: models, benchmarks, families, families on a benchmark and dates on a benchmark, with variances from two-way effects."""
    z, effects = _logit(known.score), _two_way(known)
    middle, rest = float(z.mean()), z - effects[known.model, known.benchmark]
    of_model, of_benchmark, left = (float(one.var()) for one in (effects.mean(axis=1), effects.mean(axis=0), rest))

    def between(m: Ints, b: Ints, m2: Ints, b2: Ints) -> Floats:
        is_family = known.family[m][:, None] == known.family[m2]
        is_same, is_here = m[:, None] == m2[None], b[:, None] == b2[None]
        apart = np.abs(known.years[m][:, None] - known.years[m2])
        models = of_model * ((1 - _SHARED["family"]) * is_same + _SHARED["family"] * is_family)
        cells = _SHARED["family on a benchmark"] * is_family + _SHARED["date"] * np.exp(-apart)
        covariance: Floats = models + is_here * (of_benchmark + left * cells)
        return covariance

    pairs = known.model, known.benchmark
    covariance = between(*pairs, *pairs)
    covariance[np.diag_indices(len(z))] += left * (1 - _SHARED["family on a benchmark"] - _SHARED["date"]) + 1e-6
    weights = cho_solve(cho_factor(covariance, lower=True), z - middle)
    return np.asarray(expit(middle + between(new.model, new.benchmark, *pairs) @ weights))


def _two_way(known: Problem) -> Floats:
    """Logits of all pairs by an effect of the model and one of the benchmark."""
    m, b, z = known.model, known.benchmark, _logit(known.score)
    middle, row, column = float(z.mean()), np.zeros(len(known.models)), np.zeros(len(known.benchmarks))
    for _ in range(_SWEEPS):
        column = np.bincount(b, z - middle - row[m], minlength=len(column)) / (known.n_by_benchmark + _COLUMN_RIDGE)
        row = np.bincount(m, z - middle - column[b], minlength=len(row)) / (known.n_by_model + _ROW_RIDGE)
    filled: Floats = middle + row[:, None] + column
    return filled


def _completed(known: Problem, threshold: float) -> Floats:
    effects = _two_way(known)
    rest, has = _matrix(known, _logit(known.score) - effects[known.model, known.benchmark])
    low = np.zeros_like(rest)
    for _ in range(_IMPUTE_SWEEPS):
        left, size, right = np.linalg.svd(np.where(has, rest, low), full_matrices=False)
        low = (left * np.maximum(size - threshold, 0)) @ right
    return np.asarray(expit(effects + low))


def _matrix(known: Problem, values: Floats) -> tuple[Floats, Bools]:
    """One row per model, one column per benchmark, 0 where there is no score; and where there is one."""
    table = np.zeros((len(known.models), len(known.benchmarks)))
    has = np.zeros(table.shape, dtype=bool)
    table[known.model, known.benchmark], has[known.model, known.benchmark] = values, True
    return table, has


def _logit(score: Floats) -> Floats:
    return np.asarray(logit(np.clip(score, _EDGE, 1 - _EDGE)))


def _correlation(two: Floats) -> float:
    return 0.0 if (two.std(axis=0) == 0).any() else float(np.asarray(np.corrcoef(two.T))[0, 1])
