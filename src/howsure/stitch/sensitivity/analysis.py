"""What a conclusion from the scale depends on: how it changes with the benchmarks, the organisations and the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata

from howsure.arguments import checked
from howsure.compute import replicate
from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, plain
from howsure.stats.replicates import replicate_interval
from howsure.stats.trends import is_frontier
from howsure.stitch.cleaning import DUPLICATES
from howsure.stitch.forecasting.frontier import DAYS_A_YEAR
from howsure.stitch.model.fits import MOST_ITERATIONS, Solution, solve_hierarchy, solve_ridge
from howsure.stitch.model.problem import (
    AnchorBenchmark,
    Bools,
    Constraint,
    Floats,
    Ints,
    Prior,
    Problem,
    align,
    find_parts,
    most_used,
    single_names,
)
from howsure.stitch.model.solver import fit as minimise
from howsure.stitch.scale import Scale, fit, solve_again
from howsure.stitch.sensitivity.crossvalidation import (
    DEFAULT,
    DEFAULT_2D,
    PAPER,
    PREDICTED,
    PREDICTED_2D,
    RASCH,
    compare_models,
    folds_of,
)
from howsure.stitch.sensitivity.sentences import Factor, factors_of, told
from howsure.stitch.summaries import rank_columns
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = [
    "STRENGTHS",
    "BaselineFit",
    "Robustness",
    "Variant",
    "change_anchor",
    "change_duplicates",
    "change_model",
    "change_strength",
    "drop_benchmarks",
    "frontier_slopes",
    "leave_benchmarks_out",
    "leave_organisations_out",
    "refit_without",
    "robustness",
    "variant_frame",
]

Progress = Callable[[int, int], None]

_NOISE = 200  # refits on redrawn errors: the measure for all other changes
_STAGES = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class Robustness(Result):
    """Sensitivity of the frontier's slope and of the ranks to the choices of the analysis.

    Parameters
    ----------
    slope : Estimate
        Slope of the frontier per year, with an interval for the errors of the scores.
    factors : tuple[Factor, ...]
        One entry per choice that was varied.
    variants : pl.DataFrame
        One row per refit (`howsure.stitch.sensitivity.analysis.Variant`).
    ranks : pl.DataFrame
        Range of each model's rank when benchmarks are dropped.
    validation : pl.DataFrame
        Held-out error of each statistical model of the scores and of the baselines in three splits, and its difference from the one in use (`howsure.stitch.compare_models`).
    summary : tuple[str, ...]
        The results in sentences.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "robustness"

    slope: Estimate
    factors: tuple[Factor, ...]
    variants: pl.DataFrame
    ranks: pl.DataFrame
    validation: pl.DataFrame
    summary: tuple[str, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """What was varied (main), every refit, ranks when benchmarks are dropped, held-out errors of other models of the scores."""
        return {
            "robustness_factors": pl.DataFrame([vars(one) for one in self.factors], infer_schema_length=None),
            "robustness_refits": self.variants,
            "robustness_ranks": self.ranks,
            "robustness_models": self.validation,
        }

    def of(self, kind: str) -> pl.DataFrame:
        """The refits in which one thing was varied."""
        return self.variants.filter(pl.col("kind") == kind)

    @property
    def dropped_slope(self) -> Estimate:
        """The median slope of the refits without random benchmarks, with the middle of these refits."""
        slopes, level = self.of("drop")["slope"].drop_nulls(), self.slope.level
        return replicate_interval(slopes.to_numpy(), level).estimate(float(np.median(slopes)), level=level)

    def as_dict(self) -> dict[str, Any]:
        """The findings as sentences, the slope, the tables and the provenance as plain JSON."""
        return {"summary": list(self.summary), "slope": plain(self.slope), **super().as_dict()}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import robustness_section

        return [robustness_section(self)]

    def charts(self) -> dict[str, Chart]:
        """What moves the slope, how far ranks move, which benchmarks and organisations matter, the path of the prior, which model predicts best."""
        from howsure.stitch.sensitivity.charts import draw_robustness

        return {f"robustness_{name}": chart for name, chart in draw_robustness(self).items()}


@checked
def robustness(
    scores: Source | Scores,
    *,
    n_replicates: int = 100,
    share: float = 0.3,
    folds: int | Source = 10,
    level: float = 0.9,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Robustness:
    """Refit the scale under other defensible choices, and say what the conclusions are sensitive to.

    Refits without random benchmarks; without each benchmark and each organisation; with each benchmark as anchor, with the other rules for duplicates, with weaker
    and stronger priors, with other models of the scores; and those models beside strong baselines, cross-validated on random holes, new models and later models. Refits start from the fit
    as it is and take seconds; the cross-validation takes most of the time.

    Parameters
    ----------
    scores : Scores, frame or path
        One row per model and benchmark.
    n_replicates : int
        Refits without a random share of the benchmarks.
    share : float
        That share, between 0 and 1.
    folds : int, frame or path
        How many folds the random holes have, or a table with model, benchmark and fold.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    scheduler : str, optional
        Address of a Dask scheduler on which the refits run.
    progress : callable, optional
        Is called with the number of steps done and their total.
    **options
        Those of `howsure.stitch.fit`.
    """
    scores = Scores.of(scores)
    if n_replicates < 2:
        raise OptionError(
            f"n_replicates is {n_replicates}; at least 2 refits are needed to estimate their spread; 100 are better."
        )
    stage = _stages(progress)
    scale = fit(scores, **options, level=level, n_replicates=_NOISE, seed=seed, scheduler=scheduler, progress=stage(0))
    problem, used = scale.problem, _method(scale)
    fold, (solution, constraint) = folds_of(problem, folds), solve_again(scale)
    baseline = BaselineFit(problem.models, problem.dates, scale.estimate.capability)
    dropped, kept = drop_benchmarks(
        solution, constraint, n_replicates, share=share, seed=seed, scheduler=scheduler, progress=stage(1)
    )
    variants = [
        *_noisy(baseline, scale),
        *_dropped(baseline, problem, dropped, kept),
        *_varied(baseline, solution, constraint),
        *change_model(baseline, problem, used),
        *change_duplicates(baseline, scores, options, scale.provenance.settings["duplicates"]),
    ]
    stage(2)(1, 1)
    against = {DEFAULT: PREDICTED, DEFAULT_2D: PREDICTED_2D}.get(used, used)
    validation = compare_models(problem, folds=fold, against=against, level=level, seed=seed, progress=stage(3))
    settings = {
        "n_replicates": n_replicates,
        "share": share,
        "level": level,
        "method": against,
        "fit": plain(scale.provenance.settings),
    }
    made = Provenance(settings, scores.digest, seed, scale.provenance.notes)
    return _judged(variant_frame(variants), _slope(baseline, scale), _ranks(baseline, dropped, level), validation, made)


def _judged(
    variants: pl.DataFrame, slope: Estimate, ranks: pl.DataFrame, validation: pl.DataFrame, made: Provenance
) -> Robustness:
    leader = ranks["model"][0]
    factors = factors_of(variants, slope, leader, made.settings["level"])
    summary = told(slope, factors, variants, validation, leader, made.settings)
    return Robustness(
        slope=slope,
        factors=factors,
        variants=variants,
        ranks=ranks,
        validation=validation,
        summary=summary,
        provenance=made,
    )


def _stages(progress: Progress | None) -> Callable[[int], Progress]:
    """One progress out of several, each a stage of the same length."""

    def stage(number: int) -> Progress:
        def tell(done: int, total: int) -> None:
            if progress:
                progress(round(100 * (number + done / total)), 100 * _STAGES)

        return tell

    return stage


def _slope(baseline: BaselineFit, scale: Scale) -> Estimate:
    value = float(frontier_slopes(baseline.capability[None], baseline.dates)[0])
    if not np.isfinite(value):
        reason = "the frontier needs models of at least two dates, of which the later is better"
        return Estimate.without("undefined", reason, level=scale.level)
    drawn = np.empty(0) if scale.replicates is None else frontier_slopes(scale.replicates.capability, baseline.dates)
    return replicate_interval(drawn, scale.level).estimate(value, level=scale.level)


def _noisy(baseline: BaselineFit, scale: Scale) -> list[Variant]:
    n = len(scale.problem.benchmarks)
    drawn = () if scale.replicates is None else scale.replicates.capability
    return [baseline.compare("noise", f"redraw {r}", one, n_benchmarks=n) for r, one in enumerate(drawn, 1)]


def _dropped(baseline: BaselineFit, problem: Problem, capability: Floats, kept: Bools) -> list[Variant]:
    found = []
    names = np.array(problem.benchmarks, dtype=object)
    for one, is_in in zip(capability, kept, strict=True):
        n_scores = np.bincount(problem.model, is_in[problem.benchmark], minlength=len(problem.models)).astype(
            np.float64
        )
        label = "without " + ", ".join(names[~is_in])
        found.append(baseline.compare("drop", label, one, n_benchmarks=int(is_in.sum()), n_scores=n_scores))
    return found


def _varied(baseline: BaselineFit, solution: Solution, constraint: Constraint) -> Iterator[Variant]:
    """What needs no more than the optimum to start from."""
    for vary in (leave_benchmarks_out, leave_organisations_out, change_anchor, change_strength):
        yield from vary(baseline, solution, constraint)


def _ranks(baseline: BaselineFit, capability: Floats, level: float) -> pl.DataFrame:
    """Between which ranks each model lies when benchmarks are dropped, and how often it is the best."""
    ranks = rank_columns(baseline.capability, capability, level)
    columns = {"model": baseline.models, **ranks, "n_refits": np.isfinite(capability).sum(axis=0)}
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None)).sort("rank")


def _method(scale: Scale) -> str:
    """What the cross-validation calls the model in use."""
    told = scale.provenance.settings
    if told["preset"] != "default":
        return PAPER
    return DEFAULT_2D if told["dimensions"] == 2 else DEFAULT


# What a scale says under another choice, beside what it says as it is.


_TOP = 10
_FEWEST = 3  # models that a comparison needs


@dataclass(frozen=True)
class Variant:
    """One refit under another choice, compared with the fit as it is over the models that both have.

    ``slope`` is that of the frontier, per year, in the variant's own unit, and ``linked_slope`` in the unit of the fit as it is: the variant is stretched until
    the models have the same mean and spread as before (mean–sigma linking), so what fixes the unit does not matter.
    ``rank_correlation`` is Spearman's, ``moved`` how far models move on the linked scale (root mean square), ``top_kept`` the share of the best
    that stay among the best. What is None cannot be had: no dates, a unit that depends on what was left out, or no scale at all, since the scores
    fall into parts.
    """

    kind: str
    label: str
    n_models: int
    n_benchmarks: int
    slope: float | None = None
    linked_slope: float | None = None
    rank_correlation: float | None = None
    moved: float | None = None
    top_kept: float | None = None
    leader: str | None = None


@dataclass(frozen=True, eq=False)
class BaselineFit:
    """The fit that variants are compared with: its models, when they were released, and their capabilities."""

    models: tuple[str, ...]
    dates: NDArray[np.datetime64]
    capability: Floats

    @property
    def n_top(self) -> int:
        """How many models are called the best: ten, or a quarter of a short list."""
        return min(_TOP, max(1, len(self.models) // 4))

    def compare(
        self,
        kind: str,
        label: str,
        capability: Floats,
        *,
        n_benchmarks: int,
        n_scores: Floats | None = None,
        has_unit: bool = True,
    ) -> Variant:
        """A variant whose models have ``n_scores`` scores each; those with NaN as capability are not on it.

        Models weigh in the linking as many as they have scores. ``has_unit`` is False where the variant's own unit means nothing.
        """
        there = np.isfinite(capability)
        if there.sum() < _FEWEST:
            return Variant(kind, label, int(there.sum()), n_benchmarks)
        before, after = self.capability[there], capability[there]
        weights = np.ones(len(after)) if n_scores is None else n_scores[there]
        factor = _spread(before, weights) / _spread(after, weights)
        linked = np.average(before, weights=weights) + (after - np.average(after, weights=weights)) * factor
        slope = float(frontier_slopes(capability[None], self.dates)[0])
        is_known = bool(np.isfinite(slope))
        return Variant(
            kind,
            label,
            int(there.sum()),
            n_benchmarks,
            slope if is_known and has_unit else None,
            slope * float(factor) if is_known else None,
            float(np.corrcoef(rankdata(before), rankdata(after))[0, 1]),
            float(np.sqrt(np.average((linked - before) ** 2, weights=weights))),
            self._kept(before, after),
            np.array(self.models, dtype=object)[there][after.argmax()],
        )

    def _kept(self, before: Floats, after: Floats) -> float:
        best = [set(np.argsort(-one, kind="stable")[: self.n_top]) for one in (before, after)]
        return len(best[0] & best[1]) / len(best[0])


def frontier_slopes(capability: Floats, dates: NDArray[np.datetime64]) -> Floats:
    """Slope per year of the line through the models that were the best at their release, for each row of capabilities.

    NaN is a model that a row does not have; a row whose frontier has fewer than two dates gives NaN.
    """
    known = ~np.isnat(dates)
    days, there = dates[known].astype(np.int64), np.isfinite(capability[:, known])
    height = np.where(there, capability[:, known], -np.inf)
    leads = is_frontier(days, height) & there
    years, n = days / DAYS_A_YEAR, np.maximum(leads.sum(axis=1, keepdims=True), 1)
    away = np.where(leads, years - (leads * years).sum(axis=1, keepdims=True) / n, 0.0)
    rise, spread = (away * np.where(leads, height, 0.0)).sum(axis=1), (away**2).sum(axis=1)
    slopes: Floats = np.divide(rise, spread, out=np.full(len(capability), np.nan), where=spread > 0)
    return slopes


def variant_frame(variants: list[Variant]) -> pl.DataFrame:
    """One row per variant."""
    kinds: dict[str, Any] = {
        **dict.fromkeys(("kind", "label", "leader"), pl.String),
        **dict.fromkeys(("n_models", "n_benchmarks"), pl.Int64),
    }
    schema = {name: kinds.get(name, pl.Float64) for name in Variant.__dataclass_fields__}
    return pl.DataFrame([vars(one) for one in variants], schema=schema)


def _spread(values: Floats, weights: Floats) -> float:
    return float(np.sqrt(np.average((values - np.average(values, weights=weights)) ** 2, weights=weights)))


# What the scale would be under other settings: another anchor, rule for duplicates, strength of the priors or model of the scores.


STRENGTHS = (0.01, 0.03, 0.1, 0.3, 3.0, 10.0, 30.0, 100.0)
"""Factors on the precision of all priors, or on the ridge."""

_TOLERANCE = 1e-7


def change_anchor(baseline: BaselineFit, solution: Solution, constraint: Constraint) -> Iterable[Variant]:
    """Each benchmark in turn as the anchor, with the difficulty and slope that the present one has.

    Where the anchor's slope is held while fitting, as in ``paper``, the ridge weighs differently under each anchor, and the fit is refitted;
    elsewhere an anchor only names the unit.
    """
    problem, at = solution.problem, solution.layout
    for b, name in enumerate(problem.benchmarks):
        other = (
            AnchorBenchmark(b, constraint.difficulty, constraint.slope)
            if isinstance(constraint, AnchorBenchmark)
            else AnchorBenchmark(b)
        )
        theta = _held_there(solution, constraint.benchmark, other) if _is_held(constraint, solution) else solution.theta
        capability = align(other, theta, at).capability
        yield baseline.compare("anchor", name, capability, n_benchmarks=len(problem.benchmarks))


def change_duplicates(
    baseline: BaselineFit, scores: Scores, options: Mapping[str, Any], policy: str
) -> Iterable[Variant]:
    """The fit with each other rule for several scores of a model on a benchmark than ``policy``, the present one."""
    for other in DUPLICATES:
        if other != policy:
            found = fit(scores, **{**options, "duplicates": other}, n_replicates=0)
            by_model = dict(zip(found.problem.models, found.estimate.capability, strict=True))
            capability = np.array([by_model.get(model, np.nan) for model in baseline.models])
            yield baseline.compare("duplicates", other, capability, n_benchmarks=len(found.problem.benchmarks))


def change_strength(baseline: BaselineFit, solution: Solution, constraint: Constraint) -> Iterable[Variant]:
    """The priors, or the ridge, weaker and stronger by each of `STRENGTHS`; each refit starts from its neighbour."""
    prior, found = solution.prior, {}
    for side in ([f for f in STRENGTHS if f < 1][::-1], [f for f in STRENGTHS if f > 1]):
        theta = solution.theta
        for factor in side:
            changed = prior._replace(precision=prior.precision * factor)
            theta = minimise(solution.rows, solution.weights, theta, changed, _TOLERANCE, MOST_ITERATIONS).theta
            found[factor] = align(constraint, theta, solution.layout).capability
    n_benchmarks = len(solution.problem.benchmarks)
    for factor in STRENGTHS:
        yield baseline.compare("prior", f"× {factor:g}", found[factor], n_benchmarks=n_benchmarks)


def change_model(baseline: BaselineFit, problem: Problem, used: str) -> Iterable[Variant]:
    """The same scores under each other model of them than the one ``used``; a model has its own unit, so only the linked one tells."""
    widest = AnchorBenchmark(most_used(problem))
    models: dict[str, Callable[[], Solution]] = {
        RASCH: lambda: solve_ridge(problem, widest, equal_slopes=True),
        PAPER: lambda: solve_ridge(problem, widest),
        DEFAULT: lambda: solve_hierarchy(problem),
        DEFAULT_2D: lambda: solve_hierarchy(problem, 2),
    }
    for name, solve in models.items():
        if name != used:
            solution = solve()
            capability = solution.theta[solution.layout.capability]
            n = len(problem.benchmarks)
            yield baseline.compare("model", name, capability, n_benchmarks=n, has_unit=False)


def _is_held(constraint: Constraint, solution: Solution) -> TypeGuard[AnchorBenchmark]:
    if not isinstance(constraint, AnchorBenchmark):
        return False
    low, high = (
        side[solution.layout.log_slope][constraint.benchmark] for side in (solution.prior.low, solution.prior.high)
    )
    return bool(low == high)


def _held_there(solution: Solution, here: int, there: AnchorBenchmark) -> Floats:
    """The optimum when the slope that is held is another benchmark's."""
    at, prior = solution.layout, solution.prior
    swapped = np.arange(at.size)
    slopes = swapped[at.log_slope].copy()
    swapped[slopes[[here, there.benchmark]]] = slopes[[there.benchmark, here]]
    held = prior._replace(precision=prior.precision[swapped], low=prior.low[swapped], high=prior.high[swapped])
    start, factor = solution.theta.copy(), there.stretch(solution.theta, at)[1]
    start[at.capability] *= factor
    start[at.difficulty] *= factor
    start[at.log_slope] -= np.log(factor)
    return minimise(solution.rows, solution.weights, start, held, _TOLERANCE, MOST_ITERATIONS).theta


# What the scale would be without some of its scores: benchmarks dropped at random, one benchmark or organisation left out.
#
# Each refit starts from the optimum on all scores, with weight 0 for those left out. Learned priors and noise stay as they are; a ridge is shared
# anew among the parameters that are left, as a fit of the smaller table would do.


_BATCH = 8


def refit_without(solution: Solution, constraint: Constraint, kept: Bools) -> Floats:
    """Capabilities fitted to the scores that are ``kept``; NaN for models without any.

    All are NaN where no scale can be had: the scores that are left fall into parts, or the solver did not converge.
    """
    problem = solution.problem
    n_scores = np.bincount(problem.model[kept], minlength=len(problem.models))
    weights = np.where(kept, solution.weights, 0.0)
    fitted = minimise(solution.rows, weights, solution.theta, _shared_anew(solution, kept), _TOLERANCE, MOST_ITERATIONS)
    is_whole = fitted.converged and _hangs_together(problem, kept)
    return np.where(is_whole & (n_scores > 0), align(constraint, fitted.theta, solution.layout).capability, np.nan)


def drop_benchmarks(
    solution: Solution,
    constraint: Constraint,
    n: int,
    *,
    share: float = 0.3,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Floats, Bools]:
    """Capabilities of ``n`` refits, each without a random ``share`` of the benchmarks, and which benchmarks it kept.

    The benchmark that anchors the scale is never dropped. Models that lose all their scores are NaN in that refit.
    """
    benchmarks = np.arange(len(solution.problem.benchmarks))
    n_dropped = int(share * len(benchmarks))
    can_go = benchmarks[benchmarks != _anchor(constraint)]
    if not 1 <= n_dropped <= len(benchmarks) - 2:
        raise OptionError(
            f"Dropping {share:.0%} of {len(benchmarks)} benchmarks leaves {len(benchmarks) - n_dropped}. "
            "Choose a share that drops at least one and leaves at least two."
        )
    work = partial(_draw_and_refit, solution, constraint, can_go, n_dropped)
    capability, is_in = replicate(work, n, seed=seed, batch=_BATCH, scheduler=scheduler, progress=progress)
    return capability, is_in


def leave_benchmarks_out(baseline: BaselineFit, solution: Solution, constraint: Constraint) -> Iterable[Variant]:
    """A refit without each benchmark in turn. Without the anchor there is no unit of its own, only the linked one."""
    problem = solution.problem
    for b, name in enumerate(problem.benchmarks):
        has_unit = b != _anchor(constraint)
        yield _without(baseline, solution, constraint, "benchmark", name, problem.benchmark != b, has_unit=has_unit)


def leave_organisations_out(baseline: BaselineFit, solution: Solution, constraint: Constraint) -> Iterable[Variant]:
    """A refit without the models of each organisation in turn; joint ones ("Google DeepMind,Google") belong to each of theirs."""
    problem = solution.problem
    makers = [set(single_names(name)) for name in problem.organisations]
    for name in sorted(set[str]().union(*makers)):
        kept = ~np.array([name in ours for ours in makers])[problem.model]
        if len(np.unique(problem.model[kept])) > 2:
            yield _without(baseline, solution, constraint, "organisation", name, kept)


def _without(
    baseline: BaselineFit,
    solution: Solution,
    constraint: Constraint,
    kind: str,
    label: str,
    kept: Bools,
    *,
    has_unit: bool = True,
) -> Variant:
    problem = solution.problem
    capability = refit_without(solution, constraint, kept)
    n_scores = np.bincount(problem.model[kept], minlength=len(problem.models)).astype(np.float64)
    n_benchmarks = len(np.unique(problem.benchmark[kept]))
    return baseline.compare(kind, label, capability, n_benchmarks=n_benchmarks, n_scores=n_scores, has_unit=has_unit)


def _draw_and_refit(
    solution: Solution, constraint: Constraint, can_go: Ints, n_dropped: int, rng: np.random.Generator, size: int
) -> tuple[Floats, Bools]:
    problem = solution.problem
    is_in = np.ones((size, len(problem.benchmarks)), dtype=bool)
    capability = np.empty((size, len(problem.models)))
    for r in range(size):
        is_in[r, rng.choice(can_go, n_dropped, replace=False)] = False
        capability[r] = refit_without(solution, constraint, is_in[r, problem.benchmark])
    return capability, is_in


def _anchor(constraint: Constraint) -> int | None:
    return constraint.benchmark if isinstance(constraint, AnchorBenchmark) else None


def _shared_anew(solution: Solution, kept: Bools) -> Prior:
    if "ridge" not in solution.learned:
        return solution.prior
    problem, at, prior = solution.problem, solution.layout, solution.prior
    has_scores = np.zeros(at.size, dtype=bool)
    has_scores[at.capability] = np.bincount(problem.model[kept], minlength=at.n_models) > 0
    has_scores[at.difficulty] = has_scores[at.log_slope] = (
        np.bincount(problem.benchmark[kept], minlength=at.n_benchmarks) > 0
    )
    is_free = prior.low < prior.high
    return prior._replace(precision=prior.precision * is_free.sum() / (is_free & has_scores).sum())


def _hangs_together(problem: Problem, kept: Bools) -> bool:
    models, model = np.unique(problem.model[kept], return_inverse=True)
    benchmarks, benchmark = np.unique(problem.benchmark[kept], return_inverse=True)
    names = [problem.models[m] for m in models], [problem.benchmarks[b] for b in benchmarks]
    return len(find_parts(model, benchmark, *names)) == 1
