"""Which model of the scores predicts best what it has not seen, on identical folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.stats._arrays import check_level
from howsure.stats.bootstrap import hierarchical_weights, percentile
from howsure.stitch.model.anchors import AnchorBenchmark
from howsure.stitch.model.hierarchy import solve_hierarchy
from howsure.stitch.model.layout import Floats, Ints
from howsure.stitch.model.noise import expected
from howsure.stitch.model.problem import Problem
from howsure.stitch.model.solutions import Solution, solve_ridge
from howsure.tables.frames import parts_of

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["METHODS", "compare_models", "folds_of", "held_out_errors", "make_folds"]

Method: TypeAlias = Callable[[Problem, Problem, AnchorBenchmark], Floats]
"""Learns from one problem and predicts the scores of another with the same models and benchmarks.

The anchor's slope is fixed where a ridge on all the others makes that matter.
"""

_REPLICATES = 2000
_SWEEPS = 200
_GAIN_RIDGE, _CAPABILITY_RIDGE = 1.0, 0.01  # of the clipped line


def compare_models(
    problem: Problem,
    *,
    methods: Sequence[str] | None = None,
    folds: int | Ints = 10,
    against: str = "sigmoid (paper)",
    anchor: str | None = None,
    level: float = 0.9,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Held-out error of each statistical model of the scores, best first: method, rmse, rmse_low, rmse_high, difference, difference_low, difference_high, n.

    Intervals are a cluster bootstrap over families and the models in them.

    Parameters
    ----------
    problem : Problem
        The scores.
    methods : Sequence[str] | None
        The methods to compare; by default all.
    folds : int | Ints
        Number of folds, or the fold of each score.
    against : str
        Method with which the others are compared; a negative difference is better.
    anchor : str | None
        Benchmark whose slope is not shrunk by the ridge of the paper; by default the one with most models.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        Seed of the random numbers.
    progress : Callable[[int, int], None] | None
        Called with the number of steps done and the total.
    """
    check_level(level)
    names = list(dict.fromkeys([*(METHODS if methods is None else methods), against]))
    errors = held_out_errors(problem, names, folds=folds, anchor=anchor, seed=seed, progress=progress)
    rng = np.random.default_rng(seed)
    weights = hierarchical_weights([problem.family[problem.model], problem.model], _REPLICATES, rng)
    drawn = {name: np.sqrt(weights @ error**2 / weights.sum(axis=1)) for name, error in errors.items()}
    rows = []
    for name in names:
        rmse, reference = _rms(errors[name]), _rms(errors[against])
        low, high = percentile(drawn[name], level)
        less, more = percentile(drawn[name] - drawn[against], level)
        rows.append((name, rmse, low, high, rmse - reference, less, more, problem.n_observations))
    columns = ["method", "rmse", "rmse_low", "rmse_high", "difference", "difference_low", "difference_high", "n"]
    return pl.DataFrame(rows, schema=columns, orient="row").sort("rmse")


def held_out_errors(
    problem: Problem,
    methods: Sequence[str],
    *,
    folds: int | Ints = 10,
    anchor: str | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Floats]:
    """Prediction minus score for every score, each method having learned from the other folds only."""
    for name in methods:
        if name not in METHODS:
            raise OptionError.unknown("model of the scores", name, METHODS)
    fold = make_folds(problem, folds, seed) if isinstance(folds, int) else np.asarray(folds)
    if len(fold) != problem.n_observations:
        raise InputError(f"folds: {len(fold)} for {problem.n_observations} scores. Give each score its fold.")
    constraint = AnchorBenchmark(
        int(problem.n_by_benchmark.argmax()) if anchor is None else problem.benchmark_at(anchor)
    )
    errors = {name: np.empty(problem.n_observations) for name in methods}
    for done, k in enumerate(parts := np.unique(fold), 1):
        is_held_out = fold == k
        known, new = problem.keep(~is_held_out), problem.keep(is_held_out)
        for name in methods:
            errors[name][is_held_out] = METHODS[name](known, new, constraint) - new.score
        if progress:
            progress(done, len(parts))
    return errors


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


def _rms(error: Floats) -> float:
    return float(np.sqrt(np.mean(error**2)))


def _benchmark_mean(known: Problem, new: Problem, anchor: AnchorBenchmark) -> Floats:
    n = known.n_by_benchmark
    total = np.bincount(known.benchmark, known.score, minlength=len(n))
    means: Floats = np.where(n > 0, total / np.maximum(n, 1), known.score.mean())
    return means[new.benchmark]


def _clipped_linear(known: Problem, new: Problem, anchor: AnchorBenchmark) -> Floats:
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

    for _ in range(_SWEEPS):
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


def _rasch(known: Problem, new: Problem, anchor: AnchorBenchmark) -> Floats:
    return _predicted(solve_ridge(known, anchor, equal_slopes=True), new)


def _paper(known: Problem, new: Problem, anchor: AnchorBenchmark) -> Floats:
    return _predicted(solve_ridge(known, anchor), new)


def _by_variance(known: Problem, new: Problem, anchor: AnchorBenchmark) -> Floats:
    """The paper's objective, with each benchmark's errors weighed by how large they are."""
    solution = solve_ridge(known, anchor)
    for _ in range(5):
        solution = solve_ridge(known, anchor, variances=solution.noise.variance[known.benchmark])
    return _predicted(solution, new)


def _default(known: Problem, new: Problem, anchor: AnchorBenchmark) -> Floats:
    return _predicted(solve_hierarchy(known), new)


def _default_2d(known: Problem, new: Problem, anchor: AnchorBenchmark) -> Floats:
    return _predicted(solve_hierarchy(known, 2), new)


def _predicted(solution: Solution, new: Problem) -> Floats:
    return expected(new.rows(solution.layout.n_dimensions), solution.theta)[0]


METHODS: dict[str, Method] = {
    "benchmark mean": _benchmark_mean,
    "clipped linear": _clipped_linear,
    "Rasch (equal slopes)": _rasch,
    "sigmoid (paper)": _paper,
    "variance per benchmark": _by_variance,
    "default": _default,
    "default, two dimensions": _default_2d,
}
