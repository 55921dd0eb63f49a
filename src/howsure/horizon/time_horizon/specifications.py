"""Time horizons under many specifications at once, over common draws of families.

In every replicate the families of tasks are drawn once, as `time_horizons` draws them, and every specification is refitted to that draw. So the difference
between two specifications has an interval of its own, and the default specification has the numbers of `time_horizons` and `compare_horizons`.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import polars as pl

from howsure.compute import replicate
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.horizon.run_counts import ModelCounts, model_counts
from howsure.horizon.time_horizon.curves import (
    CURVES,
    FARTHEST,
    WEIGHTS,
    SuccessCurves,
    Timed,
    family_errors,
    family_horizon,
    fewest_families,
    fit_curves,
    over_families,
    timed,
)
from howsure.horizon.time_horizon.kernels import ABSENT, FITTED, NO_FAILURE, NO_SUCCESS, refit_cells
from howsure.horizon.time_horizon.published import DatedHorizons
from howsure.results.choices import AnalysisChoice, AnalysisOption, Choices, Specification
from howsure.stats._arrays import Bools, Floats, Ints
from howsure.stats.replicates import expanded_level, hierarchical_weights, replicate_differences, replicate_interval
from howsure.stats.trends import is_frontier
from howsure.tables import Attempts

__all__ = [
    "HorizonCells",
    "SpecificationPlan",
    "dated_under",
    "draw_horizons",
    "fit_horizons",
    "horizon_cells",
    "horizon_estimates",
    "plan_of",
    "ratio_estimates",
    "time_choices",
    "trend_choices",
    "trend_draws",
]

_KWA = "Kwa et al. 2025, arXiv:2503.14499"
_RECENT = datetime.date(2024, 1, 1)  # since when METR sees horizons double faster
_FEWEST_DATES = 3
_AALEN = "right-censoring: Aalen and Johansen 1978"
_GOOD = np.arange(8) % 2 == 1  # which kinds of runs are successes
_MARCH = "METR, note on time horizons, March 2026"


@dataclass(frozen=True, eq=False)
class HorizonCells:
    """Runs of the claim's models, counted by task and by what a specification may treat differently.

    ``runs`` has shape (models, tasks, 8): 4 kinds of runs (neither cut nor ended by an error; cut at a limit; ended by an error; both), failures and then
    successes of each. ``is_measured`` and ``is_public`` describe tasks. ``censored`` has the counts with cut runs as censored, where runs were cut: as they are, and without runs that
    an error ended, by the option of ``errors``.
    """

    models: tuple[str, ...]
    counts: ModelCounts
    runs: Ints
    is_measured: Bools
    is_public: Bools
    notes: tuple[str, ...]
    censored: Mapping[str, ModelCounts] = field(default_factory=dict)

    @cached_property
    def x(self) -> Floats:
        """log₂ minutes of each task."""
        return np.asarray(np.log2(self.counts.minutes))

    def counts_under(self, specification: Specification) -> ModelCounts:
        """What is fitted under a specification: successes and runs per model and task."""
        kept, tasks = _kept(specification), self.tasks_under(specification)
        n, successes = self.runs[:, :, kept].sum(axis=2), self.runs[:, :, kept & _GOOD].sum(axis=2)
        unknown = None
        if specification.get("limits") == "censored":
            own = self.censored[specification.get("errors", "scored")]
            n, successes, unknown = own.n, own.successes, own.unknown
        n, successes = np.where(tasks, n, 0), np.where(tasks, successes, 0)
        return replace(self.counts, models=self.models, successes=successes, n=n, unknown=unknown)

    def tasks_under(self, specification: Specification) -> Bools:
        """The tasks that a specification includes."""
        used = np.ones(len(self.x), dtype=np.bool_)
        if specification.get("human_times") == "measured":
            used &= self.is_measured
        if specification.get("public_tasks") == "excluded":
            used &= ~self.is_public
        return used


def horizon_cells(attempts: Attempts, models: Sequence[str]) -> HorizonCells:
    """The runs of some models at tasks of known length, ready for many specifications.

    Parameters
    ----------
    attempts : Attempts
        With minutes; where it has them, the columns limit, error, human_source and public matter to the specifications.
    models : sequence of str
        Whose horizons are wanted.
    """
    counts = model_counts(attempts)
    places = [counts.index(name) for name in models]
    known = ~np.isnan(counts.minutes)
    if not known.any():
        raise InputError("No task has minutes, what an expert needs for it. Add the column minutes to the runs.")
    position = {task: place for place, task in enumerate(counts.tasks["task"])}
    is_cut = pl.col("limit").is_not_null() if attempts.has("limit") else pl.lit(False)
    is_error = pl.col("error").is_not_null() if attempts.has("error") else pl.lit(False)
    n = attempts.sums()["n"].alias("#n")
    good = (pl.col("n_success") if attempts.has("n") else pl.lit(None, pl.Int64)).fill_null(
        (pl.col("score") == 1).cast(pl.Int64)
    )
    rows = (
        attempts.lazy.filter(pl.col("subject").is_in(list(models)) & (pl.col("kind") == "model"))
        .group_by("subject", "task", (is_cut.cast(pl.Int64) + 2 * is_error.cast(pl.Int64)).alias("#kind"))
        .agg(n, good.sum().alias("#good"))
        .collect(engine="streaming")
    )
    runs = np.zeros((len(places), len(counts.tasks), 8), dtype=np.int64)
    m = [list(models).index(name) for name in rows["subject"]]
    t, kind = [position[name] for name in rows["task"]], rows["#kind"].to_numpy()
    runs[m, t, 2 * kind + 1] = rows["#good"].to_numpy()
    runs[m, t, 2 * kind] = rows["#n"].to_numpy() - rows["#good"].to_numpy()

    def tasks_with(column: str, is_so: pl.Expr) -> Bools:
        if not attempts.has(column):
            return np.zeros(len(counts.tasks), dtype=np.bool_)
        there = attempts.lazy.filter(is_so).select(pl.col("task").unique()).collect()["task"].to_list()
        return np.asarray(counts.tasks["task"].is_in(there).to_numpy())

    measured = tasks_with("human_source", pl.col("human_source").cast(pl.String) == "baseline")
    public = tasks_with("public", pl.col("public").cast(pl.String).str.to_lowercase().is_in(["yes", "true", "1"]))
    kept = counts.of_tasks(known)
    censored = {}
    if runs[:, known][:, :, [2, 6]].any():
        censored = {way: _censored(attempts, models, kept, way) for way in ("scored", "drop")}
    return HorizonCells(
        tuple(models), kept, runs[:, known], measured[known], public[known],
        (*counts.notes, *([f"{int((~known).sum())} tasks without minutes are excluded."] if not known.all() else [])), censored,
    )  # fmt: skip


def _censored(attempts: Attempts, models: Sequence[str], kept: ModelCounts, errors: str) -> ModelCounts:
    """The counts of some models at some tasks with cut runs as censored, as `time_horizons` has them."""
    own = model_counts(attempts, limits="censored", errors=errors)
    n, successes, unknown = (np.zeros((len(models), len(kept.tasks))) for _ in range(3))
    place = {task: k for k, task in enumerate(own.tasks["task"])}
    there = [k for k, task in enumerate(kept.tasks["task"]) if task in place]
    columns = [place[kept.tasks["task"][k]] for k in there]
    for m, name in enumerate(models):
        if name in own.models:
            row = own.index(name)
            n[m, there], successes[m, there] = own.n[row, columns], own.successes[row, columns]
            unknown[m, there] = 0 if own.unknown is None else own.unknown[row, columns]
    return replace(kept, models=tuple(models), n=n.astype(np.int64), successes=successes, unknown=unknown)


def time_choices(cells: HorizonCells) -> Choices:
    """The defensible choices of a time horizon that these runs allow, each with its reasons.

    Parameters
    ----------
    cells : HorizonCells
        The runs; a choice that would change nothing is not offered.
    """
    o = AnalysisOption
    offered = [
        AnalysisChoice(
            "weights",
            "What counts equally?",
            (
                o("invsqrt", "families of many similar tasks do not dominate", _KWA),
                o("task", "every task counts once", "sensitivity analysis of " + _KWA),
                o("equal", "every run counts once", "maximum likelihood without weights"),
            ),
            WEIGHTS,
        ),
        AnalysisChoice(
            "regularisation",
            "How strong is the penalty on the slope?",
            (
                o("1e-05", "next to none", "METR, published analysis code"),
                o("0.1", "keeps slopes of few data moderate", "METR, first version of its analysis code"),
            ),
            is_number=True,
        ),
        AnalysisChoice(
            "curve",
            "How does success fall with length?",
            (
                o("logistic", "in common use", _KWA),
                o("weibull", "a hazard of failure per minute; the shape moves horizons", "Ord 2025; " + _MARCH),
            ),
            CURVES,
        ),
        AnalysisChoice(
            "minutes_noise",
            "How large is the error of human times, in doublings (standard deviation)?",
            (
                o("0", "the times are taken as exact", _KWA),
                o("1", "one person's time is a noisy measure; curves are corrected for it", _MARCH),
            ),
            is_number=True,
        ),
    ]  # fmt: skip
    by_kind = cells.runs.reshape(*cells.runs.shape[:2], 4, 2).sum(axis=(0, 1, 3))
    if by_kind[1] + by_kind[3]:
        offered.append(
            AnalysisChoice(
                "limits",
                f"What do runs count as that were cut at a limit ({by_kind[1] + by_kind[3]:,} of {by_kind.sum():,})?",
                (
                    o("scored", "a run that did not finish within its budget did not succeed", _KWA),
                    o("drop", "the limit, not the ability, may have ended the run", "tasks count as before, by their other runs"),
                    *([o("censored", "the outcome is unknown; the interval includes that all of these runs failed", _AALEN)] if cells.censored else []),
                ),
            )
        )  # fmt: skip
    if by_kind[2] + by_kind[3]:
        offered.append(
            AnalysisChoice(
                "errors",
                f"What do runs count as that an error ended ({by_kind[2] + by_kind[3]:,} of {by_kind.sum():,})?",
                (o("scored", "as the log scored them"), o("drop", "the infrastructure failed, not the model")),
            )
        )
    n_tasks, tried = len(cells.x), cells.runs.sum(axis=(0, 2)) > 0
    for name, mask, question, everything, some, why, reference in (
        ("human_times", cells.is_measured, "Which human times are used? {} of {} tasks have measured times", "all", "measured",
         "estimates of how long a task takes are often too short or too long", "measured baselines alone"),
        ("public_tasks", ~cells.is_public, "Are public tasks included? {} of {} tasks are not public", "included", "excluded",
         "public tasks may be in the training data", _MARCH),
    ):  # fmt: skip
        used = mask & tried
        if 2 <= used.sum() < tried.sum():
            asked = question.format(int(mask.sum()), n_tasks)
            options = o(everything, "all tasks of the suite", _KWA), o(some, why, reference)
            offered.append(AnalysisChoice(name, f"{asked}.", options))
    return Choices(tuple(offered))


def trend_choices(cells: HorizonCells, releases: Mapping[str, datetime.date], success_rate: float) -> Choices:
    """The defensible choices of a trend of horizons: those of horizons, and which models the line goes through.

    Parameters
    ----------
    cells : HorizonCells
        The runs of all models with a release date.
    releases : mapping
        Release dates by model.
    success_rate : float
        At which the horizons are read, between 0 and 1.
    """
    o = AnalysisOption
    offered = time_choices(cells).choices
    days = np.array([releases[model].toordinal() for model in cells.models])
    y = fit_horizons(cells, [{}], success_rate)[0]
    dates = days[is_frontier(days, np.nan_to_num(y, nan=-np.inf)) & np.isfinite(y)]
    recent = len(set(dates[dates >= _RECENT.toordinal()].tolist()))
    if _FEWEST_DATES <= recent < len(set(dates.tolist())):
        options = (
            o("all", "one trend over all years", _KWA),
            o(_RECENT.isoformat(), f"horizons may double faster of late ({recent} dates of the frontier)", _KWA),
        )
        known = tuple(sorted({releases[model].isoformat() for model in cells.models}))
        offered = (*offered, AnalysisChoice("since", "From which release date on does the line go?", options, known))
    return Choices(offered)


def dated_under(
    cells: HorizonCells, releases: Mapping[str, datetime.date], specification: Specification, points: Floats, drawn: Floats, success_rate: float
) -> DatedHorizons | str:  # fmt: skip
    """The horizons of one specification with release dates, as `dated_horizons` makes them of a fit; or why there are none.

    Parameters
    ----------
    cells : HorizonCells
        The runs of all models with a release date.
    releases : mapping
        Release dates by model.
    specification : mapping
        The options by choice.
    points, drawn : array
        log₂ minutes of each model, and of each replicate and model.
    success_rate : float
        At which the horizons are read, between 0 and 1.
    """
    finite = np.flatnonzero(np.isfinite(points)).tolist()
    known = sorted(finite, key=lambda m: (releases[cells.models[m]], cells.models[m]))
    if not known:
        return "no model has a horizon"
    tried = cells.counts_under(specification).n[known] > 0
    frame = pl.DataFrame(
        {
            "model": [cells.models[m] for m in known],
            "released": [releases[cells.models[m]] for m in known],
            "minutes": np.exp2(points[known]),
        }
    ).with_columns(pl.lit(None, pl.Float64).alias("minutes_low"), pl.lit(None, pl.Float64).alias("minutes_high"))
    edges = np.array([[cells.x[one].min(), cells.x[one].max()] for one in tried])
    df = _df(cells, cells.tasks_under(specification))
    return DatedHorizons(frame, drawn[:, known], edges, success_rate, df, notes=cells.notes)


def trend_draws(dated: DatedHorizons | str, since: datetime.date | None, n_replicates: int) -> Floats:
    """log₂ of the doubling time in days in each replicate: one frontier and one line of each; ∞ where the frontier does not rise.

    Parameters
    ----------
    dated : DatedHorizons or str
        What `dated_under` returned.
    since : date, optional
        Models released earlier are not used for the line.
    n_replicates : int
        The number of replicates.
    """
    if isinstance(dated, str):
        return np.full(n_replicates, np.nan)
    days = dated.frame["released"].to_physical().to_numpy().astype(np.int64)
    # as in the estimate, an extrapolated horizon counts as it is and a model without success has none; without failure it is at least the longest task
    y = np.where(
        np.isneginf(dated.drawn),
        np.nan,
        np.minimum(dated.drawn, np.where(np.isposinf(dated.drawn), dated.edges[:, 1], np.inf)),
    )
    is_in = is_frontier(days, np.nan_to_num(y, nan=-np.inf)) & ~np.isnan(y)
    if since is not None:
        is_in &= (dated.frame["released"] >= since).to_numpy()
    w, y = is_in.astype(np.float64), np.nan_to_num(y)
    n = np.maximum(w.sum(axis=1, keepdims=True), 1)
    x = days - (w * days).sum(axis=1, keepdims=True) / n
    spread = (w * x**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (w * x * y).sum(axis=1) / spread
        found = np.where(slope > 0, -np.log2(slope), np.inf)
    return np.asarray(np.where(spread > 0, found, np.nan))


def fit_horizons(cells: HorizonCells, specifications: Sequence[Specification], success_rate: float) -> Floats:
    """log₂ minutes of each model's horizon under each specification, shape (specifications, models).

    −inf without success, inf without failure, NaN where success does not fall with length. With the logistic curve this is
    what `time_horizons` reports, also where the human times have an error.

    Parameters
    ----------
    cells : HorizonCells
        The runs.
    specifications : sequence of mapping
        The options by choice.
    success_rate : float
        At which the horizons are read, between 0 and 1.
    """
    plans = [plan_of(cells, one) for one in specifications]
    every, whole = np.ones((1, len(cells.x))), np.ascontiguousarray(cells.runs[None])
    found = np.empty((len(plans), len(cells.models)))
    for place, plan in enumerate(plans):
        is_logistic = plan.curve == 0
        found[place] = (
            plan.base.log2_minutes(success_rate) if is_logistic else plan.refit(every, whole, success_rate)[0]
        )
    return found


def draw_horizons(
    cells: HorizonCells,
    specifications: Sequence[Specification],
    success_rate: float,
    *,
    n_replicates: int,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Floats:
    """log₂ minutes in each replicate, shape (replicates, specifications, models), over draws that all specifications share.

    Parameters
    ----------
    cells : HorizonCells
        The runs.
    specifications : sequence of mapping
        The options by choice.
    success_rate : float
        At which the horizons are read, between 0 and 1.
    n_replicates : int
        Bootstrap replicates over families.
    seed : int
        Of the replicates.
    scheduler : str, optional
        A Dask scheduler, such as ``tcp://host:8786``.
    progress : callable, optional
        Called with the number of replicates that are done and their total.
    """
    plans = [plan_of(cells, one) for one in specifications]
    work = partial(_draw_all, cells, plans, success_rate)
    return replicate(work, n_replicates, seed=seed, scheduler=scheduler, progress=progress)


def horizon_estimates(
    cells: HorizonCells, specifications: Sequence[Specification], success_rate: float, points: Floats, drawn: Floats, level: float
) -> list[list[Estimate]]:  # fmt: skip
    """The horizon of each model (first axis) under each specification, with its interval.

    The interval of a logistic or Weibull curve comes from its families, as `time_horizons` reports it (`FamilyErrors`); that of a spline has the middle of the replicates.

    Parameters
    ----------
    cells : HorizonCells
        The runs.
    specifications : sequence of mapping
        The options by choice.
    success_rate : float
        At which the horizons are read, between 0 and 1.
    points, drawn : array
        What `fit_horizons` and `draw_horizons` returned.
    level : float
        Coverage of the intervals.
    """
    found: list[list[Estimate]] = [[] for _ in cells.models]
    for place, specification in enumerate(specifications):
        plan = plan_of(cells, specification)
        for m, own in enumerate(found):
            n = plan.data.counts.n[m]
            if plan.curve == 0 and n.any():
                errors = family_errors(plan.data, m)
                own.append(family_horizon(plan.data, plan.base.of(m), m, success_rate, level, errors)[0])
            elif np.isfinite(points[place, m]) and CURVES[plan.curve] == "weibull":
                errors = family_errors(plan.data, m, "weibull")
                assert errors is not None  # a curve that falls has a crossing
                own.append(over_families(Estimate(2.0 ** points[place, m], level=level), errors, success_rate))
            elif np.isfinite(points[place, m]):
                interval = replicate_interval(drawn[:, place, m], expanded_level(level, _df(cells, plan.used)))
                own.append(interval.estimate(float(points[place, m]), level=level).map(math.exp2))
            else:
                own.append(
                    Estimate.without(
                        "undefined",
                        "no curve that falls with length, no run, or no crossing within the lengths of the tasks",
                        level=level,
                    )
                )
    return found


def ratio_estimates(
    cells: HorizonCells, specifications: Sequence[Specification], points: Floats, drawn: Floats, level: float
) -> list[Estimate]:
    """The first model's horizon divided by the second's under each specification, as `compare_horizons` reports it.

    Parameters
    ----------
    cells : HorizonCells
        The runs of two models.
    specifications : sequence of mapping
        The options by choice.
    points, drawn : array
        What `fit_horizons` and `draw_horizons` returned.
    level : float
        Coverage of the intervals.
    """
    found = []
    for place, specification in enumerate(specifications):
        if not np.isfinite(points[place]).all():
            found.append(Estimate.without("undefined", "one of the models has no horizon", level=level))
            continue
        df = max(fewest_families(cells.counts_under(specification), cells.models) - 1, 1)
        interval = replicate_interval(
            replicate_differences(drawn[:, place, 0], drawn[:, place, 1]), expanded_level(level, df)
        )
        value = float(points[place, 0] - points[place, 1])
        found.append(interval.estimate(value, level=level).map(math.exp2))
    return found


def _df(cells: HorizonCells, used: Bools) -> float:
    """Degrees of freedom of the replicates: families less 1."""
    return max(len(np.unique(cells.counts.family[used])) - 1, 1)


@dataclass(frozen=True, eq=False)
class SpecificationPlan:
    """A specification as arrays."""

    kept: Bools
    used: Bools
    weight: Floats
    penalty: float
    x: Floats
    unknown: Floats
    curve: int
    base: SuccessCurves
    start: Floats
    data: Timed
    known: Floats | None = None

    def refit(self, copies: Floats, runs: Ints, success_rate: float) -> Floats:
        """log₂ minutes of each replicate and model; ``known`` is what censored counts add to `runs`."""
        counted = runs if self.known is None else runs + self.known[: runs.shape[1]]
        crossing, outcome = refit_cells(
            copies, counted, self.kept, self.used, self.x, self.unknown, self.weight, self.start, self.penalty, self.curve,
            success_rate,
        )  # fmt: skip
        crossing = np.where(np.abs(crossing) > FARTHEST, np.copysign(np.inf, crossing), crossing)
        crossing = np.where(outcome == FITTED, crossing, np.nan)
        crossing = np.where(outcome == NO_SUCCESS, -np.inf, crossing)
        return np.asarray(np.where(outcome == NO_FAILURE, np.inf, crossing))


def plan_of(cells: HorizonCells, specification: Specification) -> SpecificationPlan:
    """A specification as arrays, with the curves that fit all runs."""
    curve = specification.get("curve", "logistic")
    if curve not in CURVES:
        raise OptionError.unknown("curve", curve, CURVES)
    counts = cells.counts_under(specification)
    data = timed(
        _weighable(counts),
        weights=specification.get("weights", "invsqrt"),
        regularisation=float(specification.get("regularisation", "1e-05")),
        noise=float(specification.get("minutes_noise", "0")),
        unknown_as="random",
    )
    is_empty = counts.n.sum(axis=1) == 0
    data = replace(data, counts=counts)
    base = fit_curves(data)
    base = replace(base, outcome=np.where(is_empty, ABSENT, base.outcome))
    start = np.nan_to_num(np.column_stack([base.intercept, base.slope]))
    kept, used = _kept(specification), cells.tasks_under(specification)
    known = None
    if counts.unknown is not None:
        # successes and failures of known outcome, with the weights that runs have which spent more; kept kinds of single runs are taken off again
        known = np.zeros(cells.runs.shape)
        whole = counts.n * (1 - counts.unknown)
        known[:, :, 0] = whole - counts.successes - cells.runs[:, :, kept & ~_GOOD].sum(axis=2)
        known[:, :, 1] = counts.successes - cells.runs[:, :, kept & _GOOD].sum(axis=2)
    return SpecificationPlan(
        kept=kept, used=used, weight=data.weight, penalty=data.regularisation, x=data.lengths, unknown=data.unknown, curve=CURVES.index(curve),
        base=base, start=start, data=data, known=known,
    )  # fmt: skip


def _weighable(counts: ModelCounts) -> ModelCounts:
    """The same counts; a model without any run counts as if it had one everywhere, so that weights are numbers."""
    empty = counts.n.sum(axis=1, keepdims=True) == 0
    return replace(counts, n=np.where(empty, 1, counts.n))


def _kept(specification: Specification) -> Bools:
    """Which of the 8 kinds of runs a specification includes."""
    kind = np.repeat(np.arange(4), 2)
    kept = np.ones(8, dtype=np.bool_)
    if specification.get("limits") == "drop":
        kept &= kind % 2 == 0
    if specification.get("limits") == "censored":
        kept &= (kind % 2 == 0) | _GOOD  # a cut run that succeeded did
    if specification.get("errors") == "drop":
        kept &= kind < 2
    return kept


def _draw_all(
    cells: HorizonCells, plans: Sequence[SpecificationPlan], success_rate: float, rng: np.random.Generator, size: int
) -> Floats:
    """One batch of replicates, for all specifications."""
    copies = hierarchical_weights([cells.counts.family], size, rng)
    runs = np.repeat(cells.runs[None], size, axis=0)
    return np.stack([plan.refit(copies, runs, success_rate) for plan in plans], axis=1)
