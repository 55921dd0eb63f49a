"""How able each model is and how hard each benchmark, on one scale."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, plain
from howsure.stats._arrays import check_level
from howsure.stats.replicates import MOST_FAILED
from howsure.stitch.cleaning import Duplicates, Floors, listed, named_in, prepare_scores
from howsure.stitch.model.fits import ScoreNoise, Solution, expected
from howsure.stitch.model.problem import (
    Aligned,
    AnchorBenchmark,
    AnchorModels,
    Constraint,
    Problem,
    ReferenceModels,
    align,
    choose_constraint,
    hold_reference,
    linked,
)
from howsure.stitch.model.replicates import (
    Preset,
    Resample,
    ScaleReplicates,
    draw_replicates,
    half_disagreement,
    preset_called,
)
from howsure.stitch.summaries import benchmark_frame, estimate_of, model_frame, pair_frame, reversed_benchmarks
from howsure.tables import Scores
from howsure.tables.frames import parts_of

if TYPE_CHECKING:
    from howsure.results.blocks import Section
    from howsure.stitch.placing import NextBenchmark, PlacedModels
    from howsure.stitch.prediction import Predictions
    from howsure.tables.frames import Source

__all__ = [
    "LEAST_REFERENCE",
    "CapabilityPrior",
    "FitQuality",
    "Reference",
    "Scale",
    "assemble",
    "fit",
    "prepared_for",
    "solve_again",
]

Reference: TypeAlias = "str | os.PathLike[str] | Sequence[str] | Scale"
"""What holds the unit in refits: "all", "none", names of models, a file or a folder of a fit, or a scale."""
LEAST_REFERENCE = 5  # models whose mean and spread hold a unit
_NO_SPREAD = 1e-9  # of capabilities
_WIDER = 1.05  # factor of the errors that is worth a note
_FEW_DEGREES = 5.0  # of freedom behind the noise; fewer are worth a note


@dataclass(frozen=True)
class FitQuality:
    """How well the curves meet the scores, and how the solver ended."""

    n_observations: int
    n_models: int
    n_benchmarks: int
    cost: float
    rmse: float
    mae: float
    r2: float
    gradient_norm: float
    iterations: int
    converged: bool


@dataclass(frozen=True)
class CapabilityPrior:
    """What is expected of a model before it has scores: ``at`` the mean date and ``per_year`` from there, on the scale.

    ``precision`` is its weight beside the scores'. A prior that ``is_learned`` is drawn in replicates; a penalty is not.
    """

    at: float
    per_year: float
    precision: float
    is_learned: bool
    mean_date: datetime.date | None

    def mean(self, date: datetime.date | None) -> float:
        """The expected capability of a model of this date."""
        if date is None or self.mean_date is None:
            return self.at
        return self.at + self.per_year * (date - self.mean_date).days / 365.25

    @property
    def sd(self) -> float:
        """How far models lie from what is expected, 0 for a penalty, which knows no such thing."""
        return self.precision**-0.5 if self.is_learned else 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Scale(Result):
    """A fitted capability scale.

    Parameters
    ----------
    models : pl.DataFrame
        One row per model, best first.
    benchmarks : pl.DataFrame
        One row per benchmark, easiest first.
    quality : FitQuality
        Goodness of fit.
    problem : Problem
        The scores that were fitted.
    estimate : Aligned
        The parameters in the order of ``problem``.
    noise : ScoreNoise
        Noise of the scores, per benchmark.
    prior : CapabilityPrior
        Prior of the capabilities.
    is_by_noise : bool
        Whether scores were weighted by their noise.
    level : float
        Coverage of the intervals, between 0 and 1.
    replicates : ScaleReplicates | None
        Bootstrap refits; None without intervals.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    compared : tuple[str, ...] | None
        Models whose pairs are in the table ``pairs``; by default each model and the next in rank.
    """

    name: ClassVar[str] = "fit"

    models: pl.DataFrame
    benchmarks: pl.DataFrame
    quality: FitQuality
    problem: Problem
    estimate: Aligned
    noise: ScoreNoise
    prior: CapabilityPrior
    is_by_noise: bool
    level: float
    replicates: ScaleReplicates | None
    provenance: Provenance
    compared: tuple[str, ...] | None = None

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Models, benchmarks, pairs of models, the models that hold the unit, and the scores that were fitted."""
        return {
            "models": self.models,
            "benchmarks": self.benchmarks,
            "pairs": self.pairs(self.compared),
            "reference": self.models.filter(pl.col("model").is_in(self.reference)).select("model", "capability"),
            "scores": self.problem.to_frame(),
        }

    def as_dict(self) -> dict[str, Any]:
        """How well the curves fit, the level, the numbers of refits, the tables of models, benchmarks and pairs, and the provenance."""
        drawn = self.replicates
        told = super().as_dict()
        del told["scores"], told["reference"]
        n_replicates = {
            "n_replicates": 0 if drawn is None else len(drawn),
            "n_failed": 0 if drawn is None else drawn.n_failed,
        }
        return {**plain(self.quality), "level": self.level, **n_replicates, **told}

    @property
    def usable_replicates(self) -> ScaleReplicates | None:
        """The refits that have a scale; None without replicates, and where more than 10 % of them failed."""
        return None if self.replicates is None else self.replicates.usable()

    @property
    def without_replicates(self) -> str:
        """Why trends on this scale cannot know how uncertain its capabilities are; nothing where they can."""
        if self.usable_replicates is not None:
            return ""
        if self.replicates is None:
            return "the scale has no replicates. Fit it with n_replicates=1000"
        failed = f"{self.replicates.n_failed} of {len(self.replicates)} refits of the scale failed"
        return f"{failed}, more than {MOST_FAILED:.0%}. Anchor it by models that lie further apart, or add scores"

    @property
    def reference(self) -> tuple[str, ...]:
        """The models whose mean and standard deviation hold the unit in refits; none where an anchor does."""
        names = self.provenance.settings.get("reference", "none")
        if names == "none":
            return ()
        return self.problem.models if names == "all" else tuple(names)

    def link(self, capabilities: Mapping[str, float]) -> dict[str, float]:
        """Capabilities of another scale, or true (simulated) ones, in the unit of this scale (mean–sigma linking).

        They are moved and stretched until the reference models (all models where there are none) have the mean and the standard deviation that they have here.

        Parameters
        ----------
        capabilities : mapping
            Capability by model, of at least five models that both have; also of models that this scale does not have.

        Returns
        -------
        dict
            The same models with their values on this scale.
        """
        here = dict(zip(self.problem.models, self.estimate.capability.tolist(), strict=True))
        common = [name for name in self.reference or self.problem.models if name in capabilities]
        if len(common) < LEAST_REFERENCE:
            raise InputError(
                f"{len(common)} models are on both scales; at least {LEAST_REFERENCE} are needed to link them."
            )
        ours, theirs = (np.array([one[name] for name in common]) for one in (here, capabilities))
        moved = linked(np.array(list(capabilities.values()), np.float64), theirs, ours)
        return dict(zip(capabilities, moved.tolist(), strict=True))

    def capability(self, model: str) -> Estimate:
        """The capability of a model, with its interval where there are replicates."""
        self.problem.model_at(model)
        row = self.models.row(by_predicate=pl.col("model") == model, named=True)
        reason = {"above_range": "all its scores are at the ceiling", "below_range": "all its scores are at the floor"}
        return estimate_of(row, self.level, reason=reason.get(row["capability_state"], ""))

    def pairs(self, models: Sequence[str] | None = None) -> pl.DataFrame:
        """Differences between two capabilities, and the probability that the first is greater.

        Parameters
        ----------
        models : sequence of str, optional
            All pairs of these; without it, each model with the next in rank.

        Returns
        -------
        polars.DataFrame
            Columns a, b, difference, difference_low, difference_high, difference_state, p_a_greater.
        """
        chosen = None if models is None else [self.problem.model_at(name) for name in dict.fromkeys(models)]
        return pair_frame(self.problem.models, self.estimate.capability, self.replicates, self.level, chosen)

    def predict(
        self, models: str | Sequence[str] | None = None, benchmarks: str | Sequence[str] | None = None
    ) -> Predictions:
        """Scores to be expected of models on benchmarks, with or without a score there; see `howsure.stitch.predict`."""
        from howsure.stitch.prediction import predict

        return predict(self, models, benchmarks)

    def score(self, scores: Source | Scores, *, seed: int = 0) -> PlacedModels:
        """New models on this scale, the benchmarks as they are; see `howsure.stitch.score`."""
        from howsure.stitch.placing import score

        return score(self, scores, seed=seed)

    def next_benchmark(self, model: str | None = None, *, n: int = 5) -> NextBenchmark:
        """Which benchmarks would say most about a model, or about a new one; see `howsure.stitch.next`."""
        from howsure.stitch.placing import next_benchmark

        return next_benchmark(self, model, n=n)

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import scale_section

        return [scale_section(self)]

    def charts(self) -> Mapping[str, Any]:
        """Ranking, benchmarks, curves and more, by file name."""
        from howsure.stitch.charts import draw_scale

        return draw_scale(self)


@checked
def fit(
    scores: Source | Scores,
    *,
    preset: str = "default",
    anchor: str | None = None,
    anchor_difficulty: float = 0.0,
    anchor_slope: float = 1.0,
    anchor_models: Mapping[str, float] | None = None,
    reference: Reference | None = None,
    min_benchmarks: int = 4,
    since: str | datetime.date | None = None,
    duplicates: Duplicates | None = None,
    include: Sequence[str | os.PathLike[str]] = (),
    exclude: Sequence[str | os.PathLike[str]] = (),
    floors: Floors | None = None,
    keep_overlaps: bool | None = None,
    ridge: float | None = None,
    n_replicates: int = 1000,
    resample: Resample | None = None,
    error_factor: float | None = None,
    level: float = 0.9,
    dimensions: int = 1,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Scale:
    r"""Capabilities and difficulties on one scale.

    .. math:: \text{score} \approx \text{floor}_b + (\text{ceiling}_b - \text{floor}_b)\; \sigma(\text{slope}_b\, (C_m - D_b))

    Parameters
    ----------
    scores : Scores, frame or path
        One row per model and benchmark, with scores between 0 and 1.
    preset : str
        What is fitted: ``default``, ``paper``, ``seed`` or ``eci`` (`howsure.stitch.model.replicates`).
    anchor : str, optional
        The benchmark that fixes the scale (the identification constraint); by default the one that most models have.
    anchor_difficulty, anchor_slope : float
        Difficulty and slope of the anchor.
    anchor_models : mapping, optional
        Instead of an anchor benchmark: two models with their values.
    reference : str, sequence of str, path or Scale, optional
        What holds the unit in refits. "all": the mean and standard deviation of all capabilities, the default of the preset ``default`` unless an anchor is given. "none": the
        anchor. Names of models, or a file with the column model: the mean and standard deviation of these. A file that also has the column capability, the folder of a fit,
        or a scale: the same, and the scale itself takes their mean and standard deviation from there, so that two scales have one unit.
    min_benchmarks : int
        Models on fewer benchmarks are excluded.
    since : str or date, optional
        Models released before are excluded; by default the preset decides, "" is no limit.
    duplicates : {"mean", "max", "min"}, optional
        What several scores of a model on a benchmark become; by default the preset decides.
    include, exclude : sequence of str
        Keep only these models and benchmarks; exclude models, benchmarks, or single scores as ``model@benchmark``. A path of a file is replaced by the names in it.
    floors : mapping or path, optional
        The score of guessing by benchmark, or a file with the columns benchmark, floor and, if known, ceiling.
    keep_overlaps : bool, optional
        Whether a score on a part of a benchmark (column part_of) counts where the model also has one on the whole; by default no, in ``paper`` and ``eci`` yes, as published.
    ridge : float, optional
        Strength of the penalty on all parameters, for the presets ``paper`` and ``eci``; by default 0.1.
    n_replicates : int
        Refits that make the intervals, 1000 by default as in `howsure stitch fit`; 0 for no intervals.
    resample : str, optional
        What the refits redraw (`howsure.stitch.model.replicates`); by default the preset decides.
    error_factor : float, optional
        Factor of redrawn errors; by default how much more two halves of the benchmarks disagree than the noise explains, in the preset ``default`` (`howsure.stitch.model.replicates`).
    level : float
        Coverage of the intervals, between 0 and 1.
    dimensions : int
        With 2, models also differ in a trait that benchmarks ask for to different degrees.
    seed : int
        The same seed gives the same numbers.
    scheduler : str, optional
        Address of a Dask scheduler on which the refits run.
    progress : callable, optional
        Is called with the number of refits done and their total.

    Returns
    -------
    Scale
        Capabilities, difficulties and slopes, with intervals where there are replicates.
    """
    scores = Scores.of(scores)
    chosen = preset_called(preset)
    _refuse_misfits(chosen, dimensions, n_replicates, level, floors, ridge)
    cleaning = _cleaning(
        chosen, min_benchmarks, since, duplicates, include, exclude, floors, keep_overlaps=keep_overlaps
    )
    problem = _prepare(scores, chosen, cleaning)
    if reference is None:
        reference = chosen.reference if anchor is None and anchor_models is None else "none"
    if anchor is None and anchor_models is None:
        anchor_models = _anchors_of(chosen, problem)
    anchored = choose_constraint(problem, anchor, anchor_difficulty, anchor_slope, anchor_models)
    solution = chosen.solve(problem, anchored, dimensions, ridge)
    if not solution.theta[solution.layout.capability].std() > _NO_SPREAD:
        raise InputError(
            "The scores give no scale: all models come out equally capable. Are their scores the same, or do some benchmarks order the models the other way? "
            "If a lower score is better on some, give 1 − score there."
        )
    constraint, unit, told = _held(reference, anchored, solution)
    redrawn = resample or chosen.resample
    drawn, factor = None, 1.0
    if n_replicates and redrawn == "errors":
        factor = half_disagreement(solution) ** 0.5 if error_factor is None else error_factor
    if n_replicates:
        drawing: dict[str, Any] = {"seed": seed, "scheduler": scheduler, "progress": progress}
        drawn = draw_replicates(solution, constraint, n_replicates, resample=redrawn, error_factor=factor, **drawing)
    options = {"dimensions": dimensions, "n_replicates": n_replicates, "resample": redrawn, "level": level}
    options |= {"error_factor": factor} | ({} if ridge is None else {"ridge": ridge})
    settings = {"preset": preset, **_constraint_settings(anchored, problem), **unit, **cleaning, **options}
    against = [
        f"{name}: scores fall as capability rises (r = {r:.2f}), so its slope and difficulty are undefined. "
        "If a lower score is better there, give 1 − score; else exclude it."
        for name, r in reversed_benchmarks(solution).items()
    ]
    width = []
    if factor > _WIDER:
        width.append(
            f"Capabilities by two halves of the benchmarks differ {factor:.2f} times as much as the noise of the scores explains; intervals are widened accordingly."
        )
    if drawn is not None and float(np.median(solution.noise.degrees)) < _FEW_DEGREES:
        width.append(
            "So few scores hardly show how large their own errors are: intervals are wide, and may still be too narrow."
        )
    notes = (*problem.notes, *told, *against, *width, *_failures(drawn))
    return assemble(solution, constraint, drawn, level, Provenance(settings, scores.digest, seed, notes))


def assemble(
    solution: Solution, constraint: Constraint, replicates: ScaleReplicates | None, level: float, provenance: Provenance
) -> Scale:
    """The scale that a solution and its replicates make."""
    estimate = align(constraint, solution.theta, solution.layout)
    if not np.isfinite(estimate.capability).all():
        raise InputError(_out_of_order(constraint, solution.problem))
    return Scale(
        models=model_frame(solution, estimate, replicates, level),
        benchmarks=benchmark_frame(solution, estimate, replicates, level),
        quality=_quality(solution),
        problem=solution.problem,
        estimate=estimate,
        noise=solution.noise,
        prior=_capability_prior(solution, constraint),
        is_by_noise=solution.is_by_noise,
        level=level,
        replicates=replicates,
        provenance=replace(provenance, settings={**provenance.settings, "learned": dict(solution.learned)}),
    )


def prepared_for(
    scores: Scores,
    *,
    preset: str = "default",
    min_benchmarks: int = 4,
    since: str | datetime.date | None = None,
    duplicates: Duplicates | None = None,
    include: Sequence[str | os.PathLike[str]] = (),
    exclude: Sequence[str | os.PathLike[str]] = (),
    floors: Floors | None = None,
    keep_overlaps: bool | None = None,
) -> Problem:
    """The scores that `fit` would fit with these options."""
    chosen = preset_called(preset)
    cleaning = _cleaning(
        chosen, min_benchmarks, since, duplicates, include, exclude, floors, keep_overlaps=keep_overlaps
    )
    return _prepare(scores, chosen, cleaning)


def _cleaning(
    chosen: Preset,
    min_benchmarks: int,
    since: str | datetime.date | None,
    duplicates: Duplicates | None,
    include: Sequence[str | os.PathLike[str]],
    exclude: Sequence[str | os.PathLike[str]],
    floors: Floors | None,
    *,
    keep_overlaps: bool | None,
) -> dict[str, Any]:
    return {
        "min_benchmarks": min_benchmarks,
        "since": chosen.since if since is None else since,
        "duplicates": duplicates or chosen.duplicates,
        "include": named_in(include),
        "exclude": named_in(exclude),
        "floors": floors,
        "keep_overlaps": chosen.keeps_overlaps if keep_overlaps is None else keep_overlaps,
    }


def solve_again(scale: Scale) -> tuple[Solution, Constraint]:
    """The optimum that a scale was made of, from which refits and predictions start, and its constraint."""
    told = scale.provenance.settings
    anchor = told.get("anchor"), told.get("anchor_difficulty", 0.0), told.get("anchor_slope", 1.0)
    anchored = choose_constraint(scale.problem, *anchor, told.get("anchor_models"))
    solution = preset_called(told["preset"]).solve(scale.problem, anchored, told["dimensions"], told.get("ridge"))
    if not scale.reference:
        return solution, anchored
    models = tuple(scale.problem.model_at(name) for name in scale.reference)
    return solution, ReferenceModels(models, told["reference_mean"], told["reference_sd"])


def _held(
    reference: Reference, anchored: Constraint, solution: Solution
) -> tuple[Constraint, dict[str, Any], tuple[str, ...]]:
    """What fixes the scale in the estimate and in refits, the settings that say so, and notes."""
    problem, at = solution.problem, solution.layout
    if isinstance(reference, str) and reference in ("all", "none"):
        if reference == "none":
            return anchored, {"reference": "none"}, ()
        held = hold_reference(anchored, solution.theta, at, range(len(problem.models)))
        return held, {"reference": "all", "reference_mean": held.mean, "reference_sd": held.sd}, ()
    names, values = _reference_table(reference)
    there = [name for name in names if name in problem.models]
    if len(there) < LEAST_REFERENCE:
        raise OptionError(
            f"reference names {len(names)} models, of which {len(there)} are in this fit; at least {LEAST_REFERENCE} are needed."
        )
    models = tuple(problem.models.index(name) for name in there)
    if values is None:
        held = hold_reference(anchored, solution.theta, at, models)
    else:
        known = np.array([values[name] for name in there])
        if not known.std() > 0:
            raise OptionError("The capabilities of the reference models are all the same, so they give no unit.")
        held = ReferenceModels(models, float(known.mean()), float(known.std()))
    settings = {"reference": there, "reference_mean": held.mean, "reference_sd": held.sd}
    absent = len(names) - len(there)
    note = f"{absent} of {len(names)} reference models are not in this fit; the other {len(there)} fix the unit."
    return held, settings, (note,) if absent else ()


def _reference_table(reference: Reference) -> tuple[list[str], dict[str, float] | None]:
    """Names of the reference models and, where they are given, their capabilities."""
    if isinstance(reference, Scale):
        rows = reference.tables["reference"] if reference.reference else reference.models
    elif isinstance(reference, str | os.PathLike):
        path = Path(reference)
        if path.is_dir():
            return _reference_table(Scale.load(path))
        rows = parts_of(path)[0].parsed().rows.collect()
        if "model" not in rows.columns:
            raise InputError(
                f"{path}: no column 'model'. A file of reference models has model and, if known, capability."
            )
    else:
        return list(dict.fromkeys(reference)), None
    rows = (
        rows.with_columns(pl.col("model").cast(pl.String).str.strip_chars())
        .drop_nulls("model")
        .unique("model", keep="first", maintain_order=True)
    )
    if "capability" not in rows.columns:
        return rows["model"].to_list(), None
    known = rows.with_columns(pl.col("capability").cast(pl.Float64, strict=False)).drop_nulls("capability")
    values = dict(known.select("model", "capability").iter_rows())
    return list(values), values


def _refuse_misfits(
    chosen: Preset, dimensions: int, n_replicates: int, level: float, floors: Floors | None, ridge: float | None
) -> None:
    check_level(level)
    if ridge is not None and not chosen.has_ridge:
        raise OptionError(
            f"The preset {chosen.name!r} learns its priors from the table and has no ridge; use 'paper' or 'eci'."
        )
    if ridge is not None and not ridge > 0:
        raise OptionError(f"ridge is {ridge:g}; it must be above 0, or nothing fixes the location of the scale.")
    if not 1 <= dimensions <= chosen.most_dimensions:
        most = "1 dimension" if chosen.most_dimensions == 1 else "1 or 2 dimensions"
        raise OptionError(f"dimensions is {dimensions}; the preset {chosen.name!r} knows {most}.")
    if n_replicates < 0 or n_replicates == 1:
        raise OptionError(f"n_replicates is {n_replicates}; give 0 for no intervals, or 1000 for good ones.")
    if floors is not None and not chosen.uses_floors:
        raise OptionError(f"The preset {chosen.name!r} uses no floors; omit them, or use the preset 'default'.")


def _prepare(scores: Scores, chosen: Preset, cleaning: Mapping[str, Any]) -> Problem:
    """The scores to be fitted; what the preset leaves out can be included by name."""
    there = set(scores.frame["benchmark"].unique())
    left_out = [name for name in chosen.left_out() if name in there and name not in cleaning["include"]]
    pairs = (
        scores.frame.select("model", "benchmark").unique(maintain_order=True).rows() if chosen.left_out_scores else []
    )
    for patterns in chosen.left_out_scores:
        left_out += [f"{m}@{b}" for m, b in pairs if fnmatchcase(m, patterns[0]) and fnmatchcase(b, patterns[1])]
    notes = []
    if chosen.drops_superseded and scores.has("superseded_by"):
        pairs = scores.frame.select("benchmark", "superseded_by").drop_nulls().unique(maintain_order=True).rows()
        newer = {old: new for old, new in pairs if old not in cleaning["include"]}
        left_out += [name for name in newer if name not in left_out]
        told = listed([f"{old} (by {new})" for old, new in newer.items()])
        notes += [f"Superseded benchmarks are excluded by the preset {chosen.name!r}: {told}."] if newer else []
    options = {**cleaning, "exclude": (*cleaning["exclude"], *left_out)}
    problem = prepare_scores(scores, **options, by_family=chosen.by_family)
    has_floors = cleaning["floors"] is not None or (scores.has("floor") and scores.frame["floor"].is_not_null().any())
    if chosen.needs_floors and not has_floors:
        notes.append(
            f"The preset {chosen.name!r} uses the score of guessing, but no benchmark here has a floor: all are taken as 0. "
            "Give them as the column floor, or in a file (floors), unless the scores are already stretched from guessing at 0."
        )
    return replace(problem, notes=(*problem.notes, *notes))


def _anchors_of(chosen: Preset, problem: Problem) -> Mapping[str, float] | None:
    """The two models by which the preset fixes the scale, if it does."""
    absent = [name for name in chosen.anchor_models or () if name not in problem.models]
    if absent:
        raise OptionError(
            f"The preset {chosen.name!r} fixes the scale by {absent[0]}, which is not among the models. Name two with anchor_models, or an anchor."
        )
    return chosen.anchor_models


def _constraint_settings(constraint: Constraint, problem: Problem) -> dict[str, Any]:
    if isinstance(constraint, AnchorModels):
        ends = ((constraint.low, constraint.low_value), (constraint.high, constraint.high_value))
        return {"anchor_models": {problem.models[index]: value for index, value in ends}}
    if not isinstance(constraint, AnchorBenchmark):
        raise ValueError("the estimate's unit comes from an anchor")
    name = problem.benchmarks[constraint.benchmark]
    return {"anchor": name, "anchor_difficulty": constraint.difficulty, "anchor_slope": constraint.slope}


def _failures(drawn: ScaleReplicates | None) -> tuple[str, ...]:
    if drawn is None:
        return ()
    n = len(drawn)
    counted = (
        "so there are no intervals"
        if drawn.n_failed > MOST_FAILED * n
        else "which count beyond both ends of every interval"
    )
    failed = [f"{drawn.n_failed} of {n} refits found no scale, {counted}."] if drawn.n_failed else []
    empty = int(np.isnan(drawn.capability[~drawn.has_failed]).any(axis=0).sum())
    lost = f"{empty} models have no scores in some refits, which count beyond both ends of their intervals."
    return (*failed, *([lost] if empty else []))


def _out_of_order(constraint: Constraint, problem: Problem) -> str:
    if isinstance(constraint, ReferenceModels):
        return "All reference models come out equally capable, so they give no unit. Name an anchor, or other models."
    if not isinstance(constraint, AnchorModels):
        raise ValueError("a capability is not finite")
    low, high = problem.models[constraint.low], problem.models[constraint.high]
    return (
        f"{low} comes out at least as able as {high}, so the scale cannot have them at {constraint.low_value:g} and "
        f"{constraint.high_value:g}. Anchor it by two models that lie further apart, in their order."
    )


def _quality(solution: Solution) -> FitQuality:
    problem, fitted = solution.problem, solution.fitted
    residual = problem.score - expected(solution.rows, solution.theta)[0]
    around = problem.score - problem.score.mean()
    return FitQuality(
        problem.n_observations,
        len(problem.models),
        len(problem.benchmarks),
        fitted.cost,
        float(np.sqrt(np.mean(residual**2))),
        float(np.mean(np.abs(residual))),
        float(1 - residual @ residual / (around @ around)),
        fitted.gradient_norm,
        fitted.iterations,
        fitted.converged,
    )


def _capability_prior(solution: Solution, constraint: Constraint) -> CapabilityPrior:
    """The solver's prior of a capability, moved to the reported scale."""
    at, dates = solution.layout, solution.problem.dates
    shift, factor = (float(one) for one in constraint.stretch(solution.theta, at))
    precision = float(solution.prior.precision[at.capability][0]) / factor**2
    known = dates[~np.isnat(dates)]
    mean_date = known.astype(np.int64).mean().astype("datetime64[D]").item() if len(known) else None
    trend = solution.learned.get("trend", 0.0)
    return CapabilityPrior(
        constraint.origin - shift * factor, trend * factor, precision, solution.is_by_noise, mean_date
    )
