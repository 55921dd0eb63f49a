"""How able each model is and how hard each benchmark, on one scale."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance
from howsure.stats._arrays import check_level
from howsure.stats.replicates import MOST_FAILED, replicate_interval
from howsure.stitch.cleaning import Duplicates, Floors, listed, pose
from howsure.stitch.presets import Preset, preset_called
from howsure.stitch.solver.gauge import Aligned, AnchorModels, Gauge, align, choose_gauge
from howsure.stitch.solver.noise import Noise, expected
from howsure.stitch.solver.problem import Problem
from howsure.stitch.solver.replicates import Replicates, Resample, draw_replicates
from howsure.stitch.solver.solutions import Solution
from howsure.stitch.summaries import benchmark_frame, estimate_of, model_frame, pair_frame, reversed_benchmarks
from howsure.tables import Scores

if TYPE_CHECKING:
    import altair as alt

__all__ = ["CapabilityPrior", "Facts", "Scale", "assemble", "fit"]


@dataclass(frozen=True)
class Facts:
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


@dataclass(frozen=True, eq=False)
class Scale:
    """A fitted scale: what it says of models and benchmarks, and what made it.

    ``models`` (best first) and ``benchmarks`` (easiest first) are the tables to read; ``estimate`` holds the same numbers in the order of
    ``problem``, the scores that were fitted. Intervals are at ``level`` and need ``replicates``.
    """

    models: pl.DataFrame
    benchmarks: pl.DataFrame
    facts: Facts
    problem: Problem
    estimate: Aligned
    noise: Noise
    prior: CapabilityPrior
    is_by_noise: bool
    level: float
    replicates: Replicates | None
    provenance: Provenance

    @property
    def usable_replicates(self) -> Replicates | None:
        """The refits that have a scale; None without replicates, and where more than 10 % of them failed."""
        return None if self.replicates is None else self.replicates.usable()

    @property
    def without_replicates(self) -> str:
        """Why trends on this scale cannot know how uncertain its capabilities are; nothing where they can."""
        if self.usable_replicates is not None:
            return ""
        if self.replicates is None:
            return "the scale has no replicates. Fit it with bootstrap=1000"
        failed = f"{self.replicates.n_failed} of {len(self.replicates)} refits of the scale failed"
        return f"{failed}, more than {MOST_FAILED:.0%}. Anchor it by models that lie further apart, or add scores"

    def to_frame(self) -> pl.DataFrame:
        """One row a model, best first."""
        return self.models

    def capability(self, model: str) -> Estimate:
        """The capability of a model, with its interval where there are replicates."""
        self.problem.model_at(model)
        row = self.models.row(by_predicate=pl.col("model") == model, named=True)
        reason = {"above_range": "all its scores are at the ceiling", "below_range": "all its scores are at the floor"}
        return estimate_of(row, self.level, reason=reason.get(row["state"], ""))

    def pairs(self, models: Sequence[str] | None = None) -> pl.DataFrame:
        """How much better one model is than another and how probable it is that it is better at all.

        Columns model, other, difference, low, high, p_better, interval_state: all pairs of ``models``, or each model with the next in rank.
        """
        chosen = None if models is None else [self.problem.model_at(name) for name in dict.fromkeys(models)]
        return pair_frame(self.problem.models, self.estimate.capability, self.replicates, self.level, chosen)

    def predict(self, model: str, benchmark: str) -> Estimate:
        """The score to be expected of a model on a benchmark, whether it has one there or not."""
        m, b = self.problem.model_at(model), self.problem.benchmark_at(benchmark)
        floor, ceiling = self.problem.floors[b], self.problem.ceilings[b]
        value = floor + (ceiling - floor) * self.estimate.shares(self.estimate, m)[b]
        if self.replicates is None:
            return Estimate(float(value), level=self.level)
        drawn = floor + (ceiling - floor) * self.replicates.shares(self.replicates, m)[:, b]
        return replicate_interval(drawn, self.level).estimate(float(value), level=self.level)

    def place(self, scores: Scores, *, seed: int = 0) -> pl.DataFrame:
        """Where new models stand, with the benchmarks as they are: model, capability, low, high, n_benchmarks, state."""
        from howsure.stitch.placing import place

        return place(self, scores, seed=seed)

    def next_benchmark(self, model: str) -> pl.DataFrame:
        """Which benchmark would tell most about a model, the most telling first."""
        from howsure.stitch.placing import next_benchmark

        return next_benchmark(self, model)

    def chart(self) -> alt.LayerChart:
        """The ranking with intervals; all pictures of a scale are in `howsure.stitch.charts.scale`."""
        from howsure.stitch.charts.scale import draw_ranking

        return draw_ranking(self)

    def save(self, folder: str | Path) -> list[Path]:
        """Write models.csv, benchmarks.csv, pairs.csv, scores.csv, fit.json and, if there are any, replicates.parquet."""
        from howsure.stitch.store import save

        return save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> Scale:
        """A scale that was saved: the same numbers again."""
        from howsure.stitch.store import load

        return load(Path(folder))

    def __repr__(self) -> str:
        n = 0 if self.replicates is None else len(self.replicates)
        facts = self.facts
        return f"<Scale: {facts.n_models} models on {facts.n_benchmarks} benchmarks, rmse {facts.rmse:.4f}, {n} replicates>"


def fit(
    scores: Scores,
    *,
    preset: str = "howsure",
    anchor: str | None = None,
    anchor_difficulty: float = 0.0,
    anchor_slope: float = 1.0,
    anchor_models: Mapping[str, float] | None = None,
    min_benchmarks: int = 4,
    since: str | datetime.date | None = None,
    duplicates: Duplicates | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    floors: Floors | None = None,
    bootstrap: int = 0,
    resample: Resample | None = None,
    level: float = 0.9,
    dimensions: int = 1,
    seed: int = 0,
    cluster: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Scale:
    r"""Capabilities and difficulties on one scale.

    .. math:: \text{score} \approx \text{floor}_b + (\text{ceiling}_b - \text{floor}_b)\; \sigma(\text{slope}_b\, (C_m - D_b))

    ``preset`` says what is fitted (see `howsure.stitch.presets`); it decides ``since`` ("" for no limit), ``duplicates`` and ``resample``
    where they are None. An ``anchor`` benchmark with its difficulty and slope fixes the scale, by default the one that most models
    have, or ``anchor_models`` do, two models with their values. `howsure.stitch.cleaning.pose` tells which scores count. Intervals at
    ``level`` come from ``bootstrap`` refits on data redrawn as ``resample`` says (see `howsure.stitch.solver.replicates`). With two ``dimensions`` models
    also differ in a trait that benchmarks ask for to different degrees.
    """
    chosen = preset_called(preset)
    _refuse_misfits(chosen, dimensions, bootstrap, level, floors)
    cleaning = {
        "min_benchmarks": min_benchmarks,
        "since": chosen.since if since is None else since,
        "duplicates": duplicates or chosen.duplicates,
        "include": tuple(include),
        "exclude": tuple(exclude),
        "floors": floors,
    }
    problem = _pose(scores, chosen, cleaning)
    if anchor is None and anchor_models is None:
        anchor_models = _anchors_of(chosen, problem)
    gauge = choose_gauge(problem, anchor, anchor_difficulty, anchor_slope, anchor_models)
    solution = chosen.solve(problem, gauge, dimensions)
    redrawn = resample or chosen.resample
    drawn = None
    if bootstrap:
        drawn = draw_replicates(
            solution, gauge, bootstrap, resample=redrawn, seed=seed, cluster=cluster, progress=progress
        )
    drawing = {"dimensions": dimensions, "bootstrap": bootstrap, "resample": redrawn, "level": level}
    settings = {"preset": preset, **_told(gauge, problem), **cleaning, **drawing}
    against = [
        f"{name}: scores fall as capability rises (r = {r:.2f}), so its slope and difficulty are undefined. "
        "If a lower score is better there, give 1 − score; else exclude it."
        for name, r in reversed_benchmarks(solution).items()
    ]
    notes = (*problem.notes, *against, *_failures(drawn))
    return assemble(solution, gauge, drawn, level, Provenance(settings, scores.digest, seed, notes))


def assemble(
    solution: Solution, gauge: Gauge, replicates: Replicates | None, level: float, provenance: Provenance
) -> Scale:
    """The scale that a solution and its replicates make."""
    estimate = align(gauge, solution.theta, solution.layout)
    if not np.isfinite(estimate.capability).all():
        raise InputError(_out_of_order(gauge, solution.problem))
    return Scale(
        model_frame(solution, estimate, replicates, level),
        benchmark_frame(solution, estimate, replicates, level),
        _facts(solution),
        solution.problem,
        estimate,
        solution.noise,
        _capability_prior(solution, gauge),
        solution.is_by_noise,
        level,
        replicates,
        replace(provenance, settings={**provenance.settings, "learned": dict(solution.learned)}),
    )


def _refuse_misfits(chosen: Preset, dimensions: int, bootstrap: int, level: float, floors: Floors | None) -> None:
    check_level(level)
    if not 1 <= dimensions <= chosen.most_dimensions:
        most = "1 dimension" if chosen.most_dimensions == 1 else "1 or 2 dimensions"
        raise OptionError(f"dimensions is {dimensions}; the preset {chosen.name!r} knows {most}.")
    if bootstrap < 0 or bootstrap == 1:
        raise OptionError(f"bootstrap is {bootstrap}; give 0 for no intervals, or 1000 for good ones.")
    if floors is not None and not chosen.uses_floors:
        raise OptionError(f"The preset {chosen.name!r} knows no floors; leave them out, or take the preset 'howsure'.")


def _pose(scores: Scores, chosen: Preset, cleaning: Mapping[str, Any]) -> Problem:
    """The scores to be fitted; what the preset leaves out can be included by name."""
    there = set(scores.frame["benchmark"].unique())
    left_out = [name for name in chosen.left_out() if name in there and name not in cleaning["include"]]
    notes = []
    if chosen.drops_superseded and scores.has("superseded_by"):
        pairs = scores.frame.select("benchmark", "superseded_by").drop_nulls().unique(maintain_order=True).rows()
        newer = {old: new for old, new in pairs if old not in cleaning["include"]}
        left_out += [name for name in newer if name not in left_out]
        told = listed([f"{old} (by {new})" for old, new in newer.items()])
        notes += [f"Superseded benchmarks are excluded by the preset {chosen.name!r}: {told}."] if newer else []
    options = {**cleaning, "exclude": (*cleaning["exclude"], *left_out)}
    problem = pose(scores, **options, by_family=chosen.by_family)
    if chosen.needs_floors and not problem.floors.any():
        notes.append(
            f"The preset {chosen.name!r} uses the score of guessing, but no benchmark here has a floor: all are taken as 0. "
            "Give them as the column floor, or in a file (floors)."
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


def _told(gauge: Gauge, problem: Problem) -> dict[str, Any]:
    if isinstance(gauge, AnchorModels):
        ends = ((gauge.low, gauge.low_value), (gauge.high, gauge.high_value))
        return {"anchor_models": {problem.models[index]: value for index, value in ends}}
    name = problem.benchmarks[gauge.benchmark]
    return {"anchor": name, "anchor_difficulty": gauge.difficulty, "anchor_slope": gauge.slope}


def _failures(drawn: Replicates | None) -> tuple[str, ...]:
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


def _out_of_order(gauge: Gauge, problem: Problem) -> str:
    if not isinstance(gauge, AnchorModels):
        raise ValueError("a capability is not finite")
    low, high = problem.models[gauge.low], problem.models[gauge.high]
    return (
        f"{low} comes out at least as able as {high}, so the scale cannot have them at {gauge.low_value:g} and "
        f"{gauge.high_value:g}. Anchor it by two models that lie further apart, in their order."
    )


def _facts(solution: Solution) -> Facts:
    problem, fitted = solution.problem, solution.fitted
    residual = problem.score - expected(solution.rows, solution.theta)[0]
    around = problem.score - problem.score.mean()
    return Facts(
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


def _capability_prior(solution: Solution, gauge: Gauge) -> CapabilityPrior:
    """The solver's prior of a capability, moved to the reported scale."""
    at, dates = solution.layout, solution.problem.dates
    shift, factor = (float(one) for one in gauge.stretch(solution.theta, at))
    precision = float(solution.prior.precision[at.capability][0]) / factor**2
    known = dates[~np.isnat(dates)]
    mean_date = known.astype(np.int64).mean().astype("datetime64[D]").item() if len(known) else None
    trend = solution.learned.get("trend", 0.0)
    return CapabilityPrior(gauge.origin - shift * factor, trend * factor, precision, solution.is_by_noise, mean_date)
