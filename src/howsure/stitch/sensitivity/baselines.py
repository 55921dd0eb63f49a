"""Predictions of missing scores without a capability scale: what any model of the scores should beat."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, logit

from howsure.stitch.model.problem import Bools, Floats, Ints, Problem

__all__ = [
    "benchmark_mean",
    "clipped_linear",
    "five_benchmarks",
    "gaussian_process",
    "nearest_neighbours",
    "soft_impute",
    "two_way_logit",
]

_EDGE = 0.01  # scores are kept off 0 and 1 by this before their logit is taken
_SWEEPS, _LINE_SWEEPS, _IMPUTE_SWEEPS = 30, 200, 60
_ROW_RIDGE, _COLUMN_RIDGE = 0.3, 0.1  # residual variance over the variance of the effects
_GAIN_RIDGE, _CAPABILITY_RIDGE = 1.0, 0.01  # of the clipped line
_THRESHOLDS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of singular values
_INNER = 0.1  # share of the training scores that chooses among them
_NEIGHBOURS, _COMMON = 10, 3.0
_PREDICTORS, _SLOPE_RIDGE, _FEWEST = 5, 2.0, 5
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
        others = np.array([c for c in range(len(known.benchmarks)) if c != b and (has[:, c] & here).sum() >= _FEWEST])
        if here.sum() < _FEWEST or not len(others):
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
