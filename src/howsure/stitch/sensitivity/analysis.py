"""What a conclusion from the scale depends on: how it changes with the benchmarks, the organisations and the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, plain
from howsure.stats.replicates import replicate_interval
from howsure.stitch.model.anchors import Constraint
from howsure.stitch.model.problem import Bools, Floats, Problem
from howsure.stitch.model.solver import Solution
from howsure.stitch.scale import Scale, fit, solve_again
from howsure.stitch.sensitivity.crossvalidation import (
    DEFAULT,
    DEFAULT_2D,
    PAPER,
    PREDICTED,
    PREDICTED_2D,
    compare_models,
    folds_of,
)
from howsure.stitch.sensitivity.influence import drop_benchmarks, leave_benchmarks_out, leave_organisations_out
from howsure.stitch.sensitivity.sentences import Factor, factors_of, told
from howsure.stitch.sensitivity.settings import (
    change_anchor,
    change_duplicates,
    change_model,
    change_strength,
)
from howsure.stitch.sensitivity.variants import BaselineFit, Variant, frontier_slopes, variant_frame
from howsure.stitch.summaries import rank_columns
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["Robustness", "robustness"]

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
        One row per refit (`howsure.stitch.sensitivity.variants.Variant`).
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
