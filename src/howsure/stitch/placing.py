"""New models on a finished scale, and the benchmark that would tell most about one."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.results import Provenance, Result
from howsure.stats.replicates import replicate_interval
from howsure.stitch.cleaning import listed, prepare_all_scores
from howsure.stitch.model.fits import Solution, expected
from howsure.stitch.model.problem import Aligned, Floats, Ints, Prior, Problem, Rows, sampling_variance
from howsure.stitch.model.residuals import ResidualProcess, fit_residuals
from howsure.stitch.model.solver import fit as minimise
from howsure.stitch.prediction import prediction_frame
from howsure.stitch.scale import Scale, solve_again
from howsure.stitch.summaries import interval_state, states_of_models, with_interval_state
from howsure.tables import Scores
from howsure.tables.spellings import fold_name, near_names

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = [
    "NextBenchmark",
    "PlacedModels",
    "capabilities_on",
    "information_at",
    "information_frame",
    "match_benchmarks",
    "next_benchmark",
    "place",
    "score",
]

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
    predictions : pl.DataFrame
        Scores to expect of these models on the benchmarks that they lack, as `howsure.stitch.Predictions` has them.
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "placed"

    models: pl.DataFrame
    predictions: pl.DataFrame
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One row per model (main); one row per model and benchmark that it lacks."""
        return {"placed": self.models, "placed_predictions": self.predictions}


@dataclass(frozen=True, eq=False, kw_only=True)
class NextBenchmark(Result):
    """The benchmarks that a model lacks, by how much a score would tell about its capability, and a set of them that tells most about all its other scores.

    Parameters
    ----------
    model : str | None
        The model; None for a new one without scores.
    benchmarks : pl.DataFrame
        benchmark, expected (score), information, sd_now and sd_after (standard deviation of the capability without and with the score, given the benchmarks' parameters), n_items (null where unknown); the most informative first.
    together : pl.DataFrame
        A set to run, in this order: step, benchmark, expected (score), n_others (benchmarks that the model then still lacks), error_now and error (root mean square standard deviation of the expected
        scores there, without any and with all scores up to this step).
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "next"

    model: str | None
    benchmarks: pl.DataFrame
    together: pl.DataFrame
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One row per benchmark (main); one row per benchmark of the set."""
        return {"next": self.benchmarks, "next_together": self.together}


@checked
def score(
    scale: Scale | str | os.PathLike[str],
    scores: Source | Scores,
    *,
    weights: Mapping[str, float] | None = None,
    seed: int = 0,
) -> PlacedModels:
    """Capabilities of the models of a new table, with the benchmarks as they are; best first.

    Benchmarks are matched by `match_benchmarks`; those that the scale does not have are excluded and named in the column ``unmatched``. The interval covers errors of
    the scores and, where the scale has replicates, that the benchmarks' difficulties and slopes are themselves estimates. ``predictions`` are the scores to expect on the other
    benchmarks, by the same process as `howsure.stitch.predict`.

    Parameters
    ----------
    scale : Scale or path
        A finished scale; its level is that of the intervals.
    scores : Scores, frame or path
        Scores of new models, one row per model and benchmark.
    weights : mapping of str to float, optional
        How much a benchmark counts beside its precision; 1 by default.
    seed : int
        The same seed gives the same numbers.
    """
    scale = Scale.loaded(scale)
    scores = Scores.of(scores)
    models, problem, theta = place(scale, scores, weights=weights, seed=seed)
    at = problem.rows(1 if scale.estimate.trait is None else 2).layout
    predictions = _others_of(scale, problem, theta[at.capability], theta[at.trait] if at.n_dimensions == 2 else None)
    settings = {"level": scale.level, "scale": scale.provenance.settings}
    provenance = Provenance(settings, scores.digest, seed, problem.notes)
    return PlacedModels(models=models, predictions=predictions, level=scale.level, provenance=provenance)


def place(
    scale: Scale, scores: Scores, *, weights: Mapping[str, float] | None = None, seed: int = 0
) -> tuple[pl.DataFrame, Problem, Floats]:
    """The models of `score`, without predictions of their other scores, which take longer; with the scores that count and the parameters θ."""
    scores = match_benchmarks(scale, scores)
    problem, rows, theta, settled = _settled_on(scale, scores, weights)
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
            "capability_state": with_interval_state(state, found),
            "n_benchmarks": problem.n_by_model,
            "interval_state": interval_state(found),
        }
    ).join(_unmatched(scale, scores), on="model", how="left")
    ranked = frame.with_columns(pl.col(pl.Float64).fill_nan(None)).sort("capability", "model", descending=[True, False])
    return ranked, problem, theta


def capabilities_on(scale: Scale, scores: Scores) -> dict[str, float]:
    """The capabilities of `place` alone, without intervals, which take longest."""
    problem, rows, theta, _ = _settled_on(scale, match_benchmarks(scale, scores), None)
    return dict(zip(problem.models, theta[rows.layout.capability].tolist(), strict=True))


def _settled_on(
    scale: Scale, scores: Scores, weights: Mapping[str, float] | None
) -> tuple[Problem, Rows, Floats, Floats]:
    """The scores that count, the parameters θ with the scale's curves, and the weights of the scores."""
    keep_overlaps = scale.provenance.settings.get("keep_overlaps", False)
    problem = _on_known(scale, prepare_all_scores(scores, keep_overlaps=keep_overlaps))
    rows = problem.rows(1 if scale.estimate.trait is None else 2)
    factor = np.array([(weights or {}).get(name, 1.0) for name in problem.benchmarks])[problem.benchmark]
    return problem, rows, *_settle(scale, problem, rows, factor)


def match_benchmarks(scale: Scale, scores: Scores) -> Scores:
    """The scores with the scale's names of benchmarks: case, spaces and punctuation do not count. Benchmarks that the scale knows as parts of others are marked so (column part_of).

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
    frame = scores.frame.with_columns(pl.col("benchmark").replace(renamed))
    whole = pl.col("benchmark").replace_strict(scale.problem.whole_by_part, default=None, return_dtype=pl.String)
    stated = [pl.col("part_of").replace(renamed)] if scores.has("part_of") else []
    return Scores(frame.with_columns(part_of=pl.coalesce(*stated, whole)), notes=(*scores.notes, *notes))


@checked
def next_benchmark(scale: Scale | str | os.PathLike[str], model: str | None = None, *, n: int = 5) -> NextBenchmark:
    r"""How much information a score on each missing benchmark would give about a model's capability, and which ``n`` of them together predict its other scores best.

    .. math:: I_b = \frac{(s_b\, a_b\, p (1 - p))^2}{\mathrm{Var}(y_b) + \mathrm{Var}(\hat y_b)}, \qquad
              \mathrm{sd}_{\text{after}} = (J_m + I_b)^{-1/2}

    with p the expected share of the way from floor to ceiling; the second variance is that of the benchmark's own curve, and J is what
    the model's scores and the prior already say. The set is chosen step by step: each benchmark reduces the sum of the variances of the scores to be expected on
    all others (`howsure.stitch.model.residuals`) most.

    Parameters
    ----------
    scale : Scale or path
        A finished scale.
    model : str, optional
        A model on it; without it a new model of the latest date, without scores and of no known organisation.
    n : int
        How many benchmarks the set has.
    """
    scale = Scale.loaded(scale)
    if n < 1:
        raise OptionError(f"n is {n}; choose at least 1 benchmark.")
    problem, solution, frame = scale.problem, solve_again(scale)[0], information_frame(scale, model)
    if model is None:
        solution, m = (
            _extended(solution, _newcomer(problem, np.datetime64(_latest(problem))), None, None),
            len(problem.models),
        )
    else:
        m = problem.model_at(model)
    states = dict(scale.benchmarks.select("benchmark", "difficulty_state").iter_rows())
    names = [name for name in frame["benchmark"] if states[name] in ("ok", "unbounded")]
    lacking = np.sort(np.array([problem.benchmarks.index(name) for name in names], dtype=np.int64))
    process = fit_residuals(solution)
    together = _chosen_together(process, m, lacking, n)
    b = np.array([problem.benchmarks.index(name) for name in frame["benchmark"]], dtype=np.int64)
    found = prediction_frame(scale, [""] * len(b), b, process.predict(np.full(len(b), m), b))
    frame = found.select("benchmark", "expected").join(frame, on="benchmark", maintain_order="right")
    made = Provenance({"model": model, "n": n, "scale": scale.provenance.settings}, scale.provenance.digest)
    return NextBenchmark(model=model, benchmarks=frame, together=together, provenance=made)


def information_frame(scale: Scale, model: str | None) -> pl.DataFrame:
    """The benchmarks that a model, or a new one, lacks, with what each would say about its capability: the first table of `next_benchmark`."""
    problem, of = scale.problem, scale.estimate
    has = np.zeros(len(problem.benchmarks), dtype=bool)
    if model is None:
        information = _information(scale, scale.prior.mean(_latest(problem)), 0.0)
    else:
        m = problem.model_at(model)
        has[problem.benchmark[problem.model == m]] = True
        information = _information(scale, of.capability[m], 0.0 if of.trait is None else of.trait[m])
    known = float(information[has].sum())
    known += scale.prior.precision if scale.prior.is_learned else 0.0
    return (
        pl.DataFrame(
            {
                "benchmark": np.array(problem.benchmarks, dtype=object)[~has].tolist(),
                "information": information[~has],
                "sd_now": np.full((~has).sum(), known**-0.5 if known else np.nan),
                "sd_after": (known + information[~has]) ** -0.5,
                "n_items": problem.items_by_benchmark[~has],
            },
            schema_overrides={"benchmark": pl.String},
        )
        .with_columns(pl.col("n_items", "sd_now").fill_nan(None))
        .sort("information", "benchmark", descending=[True, False])
    )


def _chosen_together(process: ResidualProcess, m: int, lacking: Ints, n: int) -> pl.DataFrame:
    """Benchmarks one by one, each the one that leaves least variance in the expected scores on the others."""
    problem, left, rows = process.solution.problem, list(range(len(lacking))), list[dict[str, Any]]()
    covariance, noise = process.covariance(m, lacking) if left else (np.empty((0, 0)), np.empty(0))
    value = process.predict(np.full(len(lacking), m), lacking).expected
    now = np.diagonal(covariance).copy()
    while left and len(rows) < n:
        total = (covariance[np.ix_(left, left)] ** 2).sum(axis=0) - np.diagonal(covariance)[left] ** 2
        gains = total / (np.diagonal(covariance)[left] + noise[left])
        k = left.pop(int(np.argmax(gains)))
        covariance = covariance - np.outer(covariance[:, k], covariance[k]) / (covariance[k, k] + noise[k])
        spread = [float(np.sqrt(one[left].mean())) if left else None for one in (now, np.diagonal(covariance))]
        rows.append(
            {
                "step": len(rows) + 1,
                "benchmark": problem.benchmarks[lacking[k]],
                "expected": float(value[k]),
                "n_others": len(left),
                "error_now": spread[0],
                "error": spread[1],
            }
        )
    kinds = {"step": pl.Int64, "benchmark": pl.String, "expected": pl.Float64, "n_others": pl.Int64}
    return pl.DataFrame(rows, schema=kinds | {"error_now": pl.Float64, "error": pl.Float64})


def _others_of(scale: Scale, new: Problem, capability: Floats, trait: Floats | None) -> pl.DataFrame:
    """Scores to expect of new models on the benchmarks of the scale that they lack; their older scores on the scale do not count."""
    solution, constraint = solve_again(scale)
    shift, factor = (float(one) for one in constraint.stretch(solution.theta, solution.layout))
    place = shift + (capability - constraint.origin) / factor
    solution = _extended(solution, new, place, trait)
    n_before, is_old = len(scale.problem.models), np.isin(scale.problem.models, new.models)
    kept = ~np.concatenate([is_old[scale.problem.model], np.zeros(new.n_observations, dtype=bool)])
    problem = solution.problem.keep(kept)
    known = replace(
        solution, problem=problem, rows=problem.rows(len(solution.rows.dimensions)), weights=solution.weights[kept]
    )
    lacks = np.ones((len(new.models), len(new.benchmarks)), dtype=bool)
    lacks[new.model, new.benchmark] = False
    m, b = np.nonzero(lacks)
    found = fit_residuals(known).predict(n_before + m, b)
    frame = prediction_frame(scale, [new.models[i] for i in m], b, found)
    return frame.with_columns(observed=pl.lit(None, pl.Float64))  # as `Predictions` has it


def _newcomer(problem: Problem, date: np.datetime64) -> Problem:
    """A model without scores, of its own family."""
    none = problem.keep(np.zeros(problem.n_observations, dtype=bool))
    return replace(
        none, models=("new model",), dates=np.array([date], "datetime64[D]"), families=("new model",), organisations=(None,),
        compute=np.array([np.nan]),
    )  # fmt: skip


def _extended(solution: Solution, new: Problem, capability: Floats | None, trait: Floats | None) -> Solution:
    """The solution with new models at its end: at these places, or where the prior expects them."""
    old, at = solution.problem, solution.layout
    n, p = len(new.models), at.n_dimensions
    years = np.where(np.isnat(new.dates), 0.0, (new.dates - _mean_day(old)).astype(np.float64) / 365.25)
    mean = np.zeros((n, p))
    mean[:, 0] = solution.learned.get("trend", 0.0) * years
    theta = mean.copy()
    if capability is not None:
        theta[:, 0] = capability
    if trait is not None:
        theta[:, 1] = trait

    def joined(ours: Floats, theirs: Floats) -> Floats:
        return np.concatenate([ours[: at.n_models * p], theirs.ravel(), ours[at.n_models * p :]])

    def alike(ours: Floats) -> Floats:
        return joined(ours, np.repeat(ours[None, :p], n, axis=0))

    before = solution.prior
    prior = Prior(
        joined(before.mean, mean), alike(before.precision), alike(before.low), alike(before.high), before.on_slope
    )
    problem = replace(
        old,
        models=(*old.models, *new.models),
        families=(*old.families, *new.families),
        organisations=(*old.organisations, *new.organisations),
        model=np.concatenate([old.model, at.n_models + new.model]),
        benchmark=np.concatenate([old.benchmark, new.benchmark]),
        score=np.concatenate([old.score, new.score]),
        se=np.concatenate([old.se, new.se]),
        n_effective=np.concatenate([old.n_effective, new.n_effective]),
        dates=np.concatenate([old.dates, new.dates]),
        compute=np.concatenate([old.compute, new.compute]),
    )
    rows, whole = problem.rows(p), joined(solution.theta, theta)
    share = expected(rows, whole)[1][len(old.score) :]
    variance = solution.noise.of(
        share, new.benchmark, sampling_variance(expected(rows, whole)[0][len(old.score) :], new.n_effective)
    )
    weights = 1 / variance if solution.is_by_noise else 1 / rows.span[new.benchmark] ** 2
    return replace(
        solution, problem=problem, rows=rows, weights=np.concatenate([solution.weights, weights]), prior=prior,
        fitted=solution.fitted._replace(theta=whole), prior_sd=alike(solution.prior_sd),
    )  # fmt: skip


def _mean_day(problem: Problem) -> np.datetime64:
    """The day from which `Problem.years` counts."""
    known = problem.dates[~np.isnat(problem.dates)]
    return known.astype(np.int64).mean().astype("datetime64[D]") if len(known) else np.datetime64("1970-01-01", "D")


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
    factor = scale.provenance.settings.get("error_factor", 1.0)
    scores = problem.score + factor * scale.noise.draw(expected(rows, theta)[1], problem, rng, n)
    shift = scale.prior.sd * rng.standard_normal((n, at.n_models))
    out = np.full((n, at.n_models), np.nan)
    for r in range(n) if drawn is None else np.flatnonzero(~drawn.has_failed).tolist():
        start, prior = _frozen(scale, problem, rows, scale.estimate if drawn is None else drawn.row(r))
        start[at.capability] = theta[at.capability]
        prior.mean[at.capability] += shift[r]
        out[r] = minimise(rows._replace(score=scores[r]), weights, start, prior, _TOLERANCE, _MOST).theta[at.capability]
    return out


def _latest(problem: Problem) -> datetime.date | None:
    dated = problem.dates[~np.isnat(problem.dates)]
    return dated.max().item() if len(dated) else None


def information_at(scale: Scale, of: Aligned, share: Floats, of_curves: Floats | float = 0.0) -> Floats:
    """What a score on each benchmark says about a model that is expected at ``share``, (..., n_benchmarks), of the way from floor to ceiling; ``of_curves`` is the variance of the curves there."""
    problem = scale.problem
    floor, span = problem.floors, problem.ceilings - problem.floors
    sampling = sampling_variance(floor + span * share, problem.items_by_benchmark)
    found: Floats = (span * of.slope * share * (1 - share)) ** 2 / (
        scale.noise.of(share, np.arange(len(floor)), sampling) + of_curves
    )
    return found


def _information(scale: Scale, capability: float, trait: float) -> Floats:
    """What a score on each benchmark tells about a model."""
    problem, of = scale.problem, scale.estimate
    model = Aligned(np.array([capability]), of.difficulty, of.slope, np.array([trait]), of.loading)
    span, drawn = problem.ceilings - problem.floors, scale.usable_replicates
    of_curves = 0.0 if drawn is None else (span * drawn.shares(model, 0)).var(axis=0)
    return information_at(scale, of, of.shares(model, 0), of_curves)
