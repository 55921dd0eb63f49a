"""New models on a finished scale, and the benchmark that would tell most about one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.results import Provenance, Result
from howsure.stats.replicates import replicate_interval
from howsure.stitch.cleaning import listed, prepare_all_scores
from howsure.stitch.model.anchors import Aligned
from howsure.stitch.model.kernels import fit as minimise
from howsure.stitch.model.layout import Floats, Prior, Rows
from howsure.stitch.model.noise import expected
from howsure.stitch.model.problem import Problem, sampling_variance
from howsure.stitch.summaries import interval_state, states_of_models
from howsure.tables import Scores
from howsure.tables.spellings import fold_name, near_names

if TYPE_CHECKING:
    from howsure.stitch.scale import Scale
    from howsure.tables.frames import Source

__all__ = ["NextBenchmark", "PlacedModels", "match_benchmarks", "next_benchmark", "score"]

_DRAWS = 1000  # of errors, for a scale without replicates
_ROUNDS = 20  # of weights and capabilities, each from the other
_SETTLED = 1e-8
_TOLERANCE, _MOST = 1e-9, 200
_FAR = 20.0  # beyond the models and benchmarks there are, in units of the capabilities' spread


@dataclass(frozen=True, eq=False, kw_only=True)
class PlacedModels(Result):
    """New models on a finished scale, best first.

    Parameters
    ----------
    models : pl.DataFrame
        model, capability with interval and states, n_benchmarks, and the benchmarks that are not on the scale (unmatched).
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "placed"

    models: pl.DataFrame
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One row per model."""
        return {"placed": self.models}


@dataclass(frozen=True, eq=False, kw_only=True)
class NextBenchmark(Result):
    """The benchmarks that a model lacks, by how much a score would tell about its capability.

    Parameters
    ----------
    model : str
        The model.
    benchmarks : pl.DataFrame
        benchmark, expected (score), information, sd_now and sd_after (standard deviation of the capability without and with the score, given the benchmarks' parameters), n_items (null where unknown); the most informative first.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "next"

    model: str
    benchmarks: pl.DataFrame
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One row per benchmark."""
        return {"next": self.benchmarks}


def score(
    scale: Scale, scores: Source | Scores, *, weights: Mapping[str, float] | None = None, seed: int = 0
) -> PlacedModels:
    """Capabilities of the models of a new table, with the benchmarks as they are; best first.

    Benchmarks are matched by `match_benchmarks`; those that the scale does not have are excluded and named in the column ``unmatched``. The interval covers errors of
    the scores and, where the scale has replicates, that the benchmarks' difficulties and slopes are themselves estimates.

    Parameters
    ----------
    scale : Scale
        A finished scale; its level is that of the intervals.
    scores : Scores, frame or path
        Scores of new models, one row per model and benchmark.
    weights : mapping of str to float, optional
        How much a benchmark counts beside its precision; 1 by default.
    seed : int
        The same seed gives the same numbers.
    """
    scores = Scores.of(scores)
    scores = match_benchmarks(scale, scores)
    problem = _on_known(scale, prepare_all_scores(scores))
    rows = problem.rows(1 if scale.estimate.trait is None else 2)
    factor = np.array([(weights or {}).get(name, 1.0) for name in problem.benchmarks])[problem.benchmark]
    theta, settled = _settle(scale, problem, rows, factor)
    capability = theta[rows.layout.capability]
    drawn = _redrawn(scale, problem, rows, theta, settled, np.random.default_rng(seed))
    found = replicate_interval(drawn, scale.level)
    state = states_of_models(problem)
    frame = pl.DataFrame(
        {
            "model": problem.models,
            "capability": capability,
            "capability_low": np.where((state == "below_range") | np.isinf(found.low), np.nan, found.low),
            "capability_high": np.where((state == "above_range") | np.isinf(found.high), np.nan, found.high),
            "capability_state": state,
            "n_benchmarks": problem.n_by_model,
            "interval_state": interval_state(found),
        }
    ).join(_unmatched(scale, scores), on="model", how="left")
    ranked = frame.with_columns(pl.col(pl.Float64).fill_nan(None)).sort("capability", "model", descending=[True, False])
    provenance = Provenance.of(scores, seed=seed, level=scale.level, scale=scale.provenance.settings)
    return PlacedModels(models=ranked, level=scale.level, provenance=provenance)


def match_benchmarks(scale: Scale, scores: Scores) -> Scores:
    """The scores with the scale's names of benchmarks: case, spaces and punctuation do not count.

    The table's notes say which names were matched so, and which benchmarks are not on the scale, each with the nearest name that is.
    """
    known = scale.problem.benchmarks
    given = scores.frame["benchmark"].unique(maintain_order=True).to_list()
    by_fold: dict[str, list[str]] = {}
    for name in known:
        by_fold.setdefault(fold_name(name), []).append(name)
    alike = {name: by_fold.get(fold_name(name), []) for name in given if name not in known}
    renamed = {name: found[0] for name, found in alike.items() if len(found) == 1}
    absent = [name for name in alike if name not in renamed]
    notes = [f"Benchmark {name!r} is taken as {ours!r} of the scale." for name, ours in renamed.items()]
    if absent:
        nearest = {name: near_names(name, known) for name in absent}
        near = [f"{name} (nearest: {' or '.join(some)})" if some else name for name, some in nearest.items()]
        notes.append(
            f"{len(absent)} of {len(given)} benchmarks are not on the scale and are excluded: {', '.join(near)}."
        )
    return Scores(scores.frame.with_columns(pl.col("benchmark").replace(renamed)), notes=(*scores.notes, *notes))


def next_benchmark(scale: Scale, model: str) -> NextBenchmark:
    r"""How much each benchmark that a model lacks would say about its capability, the most informative first.

    .. math:: I_b = \frac{(s_b\, a_b\, p (1 - p))^2}{\mathrm{Var}(y_b) + \mathrm{Var}(\hat y_b)}, \qquad
              \mathrm{sd}_{\text{after}} = (J_m + I_b)^{-1/2}

    with p the expected share of the way from floor to ceiling; the second variance is that of the benchmark's own curve, and J is what
    the model's scores and the prior already say.

    Parameters
    ----------
    scale : Scale
        A finished scale.
    model : str
        A model on it.
    """
    m, problem = scale.problem.model_at(model), scale.problem
    information, value = _information(scale, m)
    has = np.zeros(len(problem.benchmarks), dtype=bool)
    has[problem.benchmark[problem.model == m]] = True
    known = information[has].sum() + (scale.prior.precision if scale.prior.is_learned else 0.0)
    frame = (
        pl.DataFrame(
            {
                "benchmark": np.array(problem.benchmarks, dtype=object)[~has].tolist(),
                "expected": value[~has],
                "information": information[~has],
                "sd_now": np.full((~has).sum(), known**-0.5),
                "sd_after": (known + information[~has]) ** -0.5,
                "n_items": problem.items_by_benchmark[~has],
            }
        )
        .with_columns(pl.col("n_items").fill_nan(None))
        .sort("information", "benchmark", descending=[True, False])
    )
    made = Provenance({"model": model, "scale": scale.provenance.settings}, scale.provenance.digest)
    return NextBenchmark(model=model, benchmarks=frame, provenance=made)


def _unmatched(scale: Scale, scores: Scores) -> pl.DataFrame:
    """For each model the benchmarks that are not on the scale, as text: model, unmatched."""
    is_absent = ~pl.col("benchmark").is_in(list(scale.problem.benchmarks))
    names = pl.col("benchmark").filter(is_absent).unique(maintain_order=True).str.join(", ")
    return scores.frame.group_by("model").agg(names.alias("unmatched"))


def _on_known(scale: Scale, new: Problem) -> Problem:
    """The new scores on the scale's benchmarks, with the scale's floors and ceilings."""
    known = scale.problem.benchmarks
    at = np.array([known.index(name) if name in known else -1 for name in new.benchmarks])
    kept = at[new.benchmark] >= 0
    if not kept.any():
        raise InputError(
            f"None of the new benchmarks ({listed(new.benchmarks)}) is on the scale. It knows {listed(known)}."
        )
    placed, benchmark = Problem.of(new.keep(kept).to_frame(), new.notes), at[new.benchmark][kept]
    return replace(
        placed,
        benchmarks=known,
        benchmark=benchmark,
        n_effective=np.where(
            np.isnan(placed.n_effective), scale.problem.items_by_benchmark[benchmark], placed.n_effective
        ),
        floors=scale.problem.floors,
        ceilings=scale.problem.ceilings,
        benchmark_dates=scale.problem.benchmark_dates,
    )


def _settle(scale: Scale, problem: Problem, rows: Rows, factor: Floats) -> tuple[Floats, Floats]:
    """Capabilities and weights, times a factor of each score, that agree with each other."""
    theta, prior = _frozen(scale, problem, rows, scale.estimate)
    weights = factor * _weights(scale, problem, np.full(problem.n_observations, 0.5))
    for _ in range(_ROUNDS):
        before, theta = theta, minimise(rows, weights, theta, prior, _TOLERANCE, _MOST).theta
        weights = factor * _weights(scale, problem, expected(rows, theta)[1])
        if np.abs(theta - before).max() < _SETTLED:
            break
    return theta, weights


def _weights(scale: Scale, problem: Problem, share: Floats) -> Floats:
    if scale.is_by_noise:
        return 1 / scale.noise.of(share, problem.benchmark, problem.sampling_variance(share))
    return 1 / (problem.ceilings - problem.floors)[problem.benchmark] ** 2


def _frozen(scale: Scale, problem: Problem, rows: Rows, of: Aligned) -> tuple[Floats, Prior]:
    """Where the search starts, and a prior that leaves the benchmarks where `of` has them."""
    at = rows.layout
    middle = [scale.prior.mean(None if np.isnat(date) else date.item()) for date in problem.dates]
    theta, precision = np.zeros(at.size), np.zeros(at.size)
    theta[at.capability], precision[at.capability] = middle, scale.prior.precision
    theta[at.difficulty], theta[at.log_slope] = of.difficulty, np.log(of.slope)
    if of.loading is not None:
        theta[at.loading], precision[at.trait] = of.loading, 1.0
    low, high = theta.copy(), theta.copy()
    reach = _FAR * float(np.std(np.concatenate([of.difficulty, scale.estimate.capability])))
    for part in (at.capability, at.trait) if at.n_dimensions == 2 else (at.capability,):
        low[part], high[part] = theta[part] - reach, theta[part] + reach
    return theta, Prior(theta.copy(), precision, low, high, False)


def _redrawn(
    scale: Scale, problem: Problem, rows: Rows, theta: Floats, weights: Floats, rng: np.random.Generator
) -> Floats:
    """Capabilities with errors, prior means and, where there are replicates, benchmarks resampled."""
    at, drawn = rows.layout, scale.replicates
    n = _DRAWS if drawn is None else len(drawn)
    scores = problem.score + scale.noise.draw(expected(rows, theta)[1], problem, rng, n)
    shift = scale.prior.sd * rng.standard_normal((n, at.n_models))
    out = np.full((n, at.n_models), np.nan)
    for r in range(n) if drawn is None else np.flatnonzero(~drawn.has_failed).tolist():
        start, prior = _frozen(scale, problem, rows, scale.estimate if drawn is None else drawn.row(r))
        start[at.capability] = theta[at.capability]
        prior.mean[at.capability] += shift[r]
        out[r] = minimise(rows._replace(score=scores[r]), weights, start, prior, _TOLERANCE, _MOST).theta[at.capability]
    return out


def _information(scale: Scale, m: int) -> tuple[Floats, Floats]:
    """What a score on each benchmark tells about model m, and the score to be expected."""
    problem, of = scale.problem, scale.estimate
    floor, span = problem.floors, problem.ceilings - problem.floors
    share = of.shares(of, m)
    rise = span * of.slope * share * (1 - share)
    every = np.arange(len(floor))
    variance = scale.noise.of(share, every, sampling_variance(floor + span * share, problem.items_by_benchmark))
    if scale.usable_replicates is not None:
        variance = variance + (span * scale.usable_replicates.shares(of, m)).var(axis=0)
    return rise**2 / variance, floor + span * share
