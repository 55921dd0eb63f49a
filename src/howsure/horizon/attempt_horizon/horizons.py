"""Novice-equivalent attempts of each model (NAME): with intervals, by domain, and for pairs of models."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.horizon.asking.replies import practice_of
from howsure.horizon.attempt_horizon.definitions import DEFINITIONS, regression
from howsure.horizon.attempt_horizon.estimator import (
    AUTOMATED,
    HorizonEstimator,
    HorizonReplicates,
    SharedTasks,
    shared_tasks,
)
from howsure.horizon.learning_curves.attrition import measure_attrition
from howsure.horizon.learning_curves.learning_model import Completion, complete_novices
from howsure.horizon.learning_curves.novice_counts import NoviceCounts
from howsure.horizon.run_counts import check_success_rates
from howsure.results import Provenance, Result, columns_of, end_states, plain
from howsure.stats._arrays import Bools, check_level
from howsure.stats.means import clustered_mean, wilson
from howsure.stats.replicates import probability_greater, replicate_differences, replicate_interval
from howsure.stats.trends import Line, fit_line
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = [
    "ALL",
    "EARLY_LEAVERS",
    "AttemptHorizons",
    "Horizon",
    "HorizonPair",
    "HorizonSettings",
    "attempt_horizons",
    "horizons_on",
    "novice_table",
    "rates_by_difficulty",
    "sample_curves",
    "success_table",
    "task_table",
]

ALL = "all"
EARLY_LEAVERS = ("predict", "ignore")
"""What becomes of the answers that learners who left a task early did not give: they are predicted, or later attempts are those of the others."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Horizon:
    """A model's horizon on a group of tasks, by one definition at one success rate.

    ``ratio_to_first`` is how many times as often the model succeeds as novices on their first attempt; ``share_below``,
    ``share_above`` and ``share_failed`` are the shares of replicates whose horizon lies below the first attempt, above the last, and that have none.
    """

    model: str
    group: str
    definition: str
    success_rate: float
    horizon: Estimate
    n_tasks: int
    success: Estimate
    ratio_to_first: float | None
    share_below: float
    share_above: float
    share_failed: float


@dataclass(frozen=True)
class HorizonPair:
    """The ratio of a's horizon to b's over the same replicates, and the probability that a's is larger."""

    a: str
    b: str
    definition: str
    success_rate: float
    ratio: Estimate
    p_a_greater: float | None
    n_tasks: int


@dataclass(frozen=True, kw_only=True, eq=False)
class AttemptHorizons(Result):
    """Horizons in attempts of all models, over all tasks and by group of tasks, and ratios between models.

    Parameters
    ----------
    rows : tuple[Horizon, ...]
        One entry per model, definition and success rate.
    domains : tuple[Horizon, ...]
        The same per group of tasks.
    pairs : tuple[HorizonPair, ...]
        Ratios of the horizons of two models.
    novices : pl.DataFrame
        Success rate of novices over all tasks by attempt: attempt, success, success_low, success_high, answers.
    tasks : pl.DataFrame
        One row per task: success rate of novices on the first attempt, and the attempt on which half of them succeed.
    counts : SharedTasks
        Successes of novices and models on the tasks that both tried.
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "horizons"

    rows: tuple[Horizon, ...]
    domains: tuple[Horizon, ...]
    pairs: tuple[HorizonPair, ...]
    novices: pl.DataFrame
    tasks: pl.DataFrame
    counts: SharedTasks
    level: float
    provenance: Provenance

    @property
    def definitions(self) -> tuple[str, ...]:
        """The definitions, the headline's first."""
        return tuple(dict.fromkeys(row.definition for row in self.rows))

    @property
    def runs_per_task(self) -> int:
        """How many runs a model has at a task that it tried, in the median."""
        return int(np.median(self.counts.n[self.counts.n > 0]))

    def headline(self) -> dict[str, Horizon]:
        """Each model's horizon by the first definition at the first success rate."""
        first = self.rows[0]
        return {
            r.model: r for r in self.rows if (r.definition, r.success_rate) == (first.definition, first.success_rate)
        }

    @cached_property
    def trend(self) -> Line | None:
        """The line of log₂ horizon over years since 1970 at release, for models whose horizon is known; None for fewer than two dates."""
        known = self.dated().drop_nulls("horizon")
        return (
            fit_line(known["year"], np.log2(known["horizon"]), level=self.level)
            if known["year"].n_unique() > 1
            else None
        )

    def dated(self) -> pl.DataFrame:
        """Headline horizons by release, for models with a date: model, released, year, horizon, horizon_low, horizon_high; null where out of range."""
        released = self.counts.released
        rows = [
            {"model": m, "released": released[m], "horizon": one.value if one.state == "ok" else None}
            | {"horizon_low": one.low if one.low_state == "ok" else None}
            | {"horizon_high": one.high if one.high_state == "ok" else None}
            for m, one in ((m, r.horizon) for m, r in self.headline().items() if m in released)
        ]
        numbers = dict.fromkeys(("horizon", "horizon_low", "horizon_high"), pl.Float64)
        kinds = {"model": pl.String, "released": pl.Date, **numbers}
        frame = pl.DataFrame(rows, schema=kinds)
        return frame.with_columns((pl.col("released").to_physical() / 365.25).alias("year"))

    @cached_property
    def practised(self) -> list[tuple[str, str, int, Horizon]]:
        """The models' own learning: model, kind of practice (worked examples, or earlier attempts with feedback), how many of them, and the headline's row.

        A model without practice begins every curve; empty where no model had practice.
        """
        told = [(*practice_of(name), row) for name, row in self.headline().items()]
        curves = sorted({(model, kind) for model, kind, n, _ in told if n})
        return [
            (model, kind, n, row)
            for model, kind in curves
            for name, how, n, row in sorted(told, key=lambda one: one[2])
            if name == model and how in ("", kind)
        ]

    @property
    def practice(self) -> pl.DataFrame:
        """`practised` as a table: model, practice, n_practice, and the estimates success and horizon."""
        kinds = dict.fromkeys(("", "_low", "_high"), pl.Float64) | {"_state": pl.String}
        estimates = {f"{name}{end}": kind for name in ("success", "horizon") for end, kind in kinds.items()}
        rows = [
            {"model": model, "practice": kind, "n_practice": n} | columns_of(success=row.success, horizon=row.horizon)
            for model, kind, n, row in self.practised
        ]
        names = {"model": pl.String, "practice": pl.String, "n_practice": pl.Int64}
        return pl.DataFrame(rows, schema={**names, **estimates})

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``horizons`` (one row per model, definition and success rate), ``domains`` (by group of tasks), ``pairs``, ``tasks``, ``novices``; ``practice`` where a model had some."""
        return {
            "horizons": _frame(self.rows).drop("group"),
            "domains": _frame(self.domains),
            "pairs": _pairs_frame(self.pairs),
            "tasks": self.tasks,
            "novices": self.novices,
            **({"practice": self.practice} if self.practised else {}),
        }

    def as_dict(self) -> dict[str, Any]:
        """The tables and the line of horizons over release dates, as plain JSON."""
        return {**super().as_dict(), "trend": plain(self.trend)}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.attempt_horizon.sections import attempts_sections

        return attempts_sections(self)

    def charts(self) -> Mapping[str, Chart]:
        """Every chart by its name."""
        from howsure.horizon.attempt_horizon.charts import charts_of

        return charts_of(self)


@dataclass(frozen=True)
class HorizonSettings:
    """What is asked of the runs: which definitions at which success rates, and how intervals are made."""

    definitions: tuple[str, ...] = ("matching",)
    success_rates: tuple[float, ...] = (0.5, 0.8)
    n_replicates: int = 1000
    level: float = 0.95
    early_leavers: str = "predict"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.early_leavers not in EARLY_LEAVERS:
            raise OptionError.unknown("early_leavers", self.early_leavers, EARLY_LEAVERS)
        for name in self.definitions:
            if name not in DEFINITIONS:
                raise OptionError.unknown("definition", name, DEFINITIONS)
        check_success_rates(self.success_rates)
        if not self.definitions:
            raise OptionError("Give at least one definition.")
        check_level(self.level)


@checked
def attempt_horizons(
    attempts: Attempts | Source,
    *,
    definitions: Sequence[str] = ("matching",),
    success_rates: Sequence[float] = (0.5, 0.8),
    n_replicates: int = 1000,
    level: float = 0.95,
    threshold: float | None = None,
    last: int | None = None,
    early_leavers: str = "predict",
    seed: int = 0,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> AttemptHorizons:
    """The attempt on which novices do as well as each model (NAME, Novelty Achievement MeasurE).

    Parameters
    ----------
    attempts : Attempts or frame
        Attempts of novices (kind ``human``) and of models at the same tasks.
    definitions : sequence of str
        Any of ``matching``, ``regression`` and ``irt``.
    success_rates : sequence of float
        The model's probabilities of success, between 0 and 1.
    n_replicates : int
        Bootstrap replicates of families, tasks and learners.
    level : float
        Coverage of the intervals.
    threshold : float, optional
        The score from which an attempt is a success.
    last : int, optional
        Attempts of novices after this one are excluded.
    early_leavers : str
        ``predict``: answers that learners did not give because they left a task early are predicted from their other answers by the learning model (`fit_learning_model`);
        ``ignore``: a later attempt is that of those who stayed.
    seed : int
        Of the replicates.
    scheduler : str, optional
        A Dask scheduler, such as ``tcp://host:8786``.
    progress : callable, optional
        Called with the number of replicates that are done and their total.
    """
    table = Attempts.of(attempts)
    settings = HorizonSettings(tuple(definitions), tuple(success_rates), n_replicates, level, early_leavers, seed)
    counts = shared_tasks(table, threshold=threshold, last=last)
    asked = {name: value for name, value in vars(settings).items() if name != "seed"}
    provenance = Provenance(asked | {"threshold": threshold, "last": last}, table.digest, seed)
    return horizons_on(counts, settings, provenance, scheduler=scheduler, progress=progress)


def horizons_on(
    counts: SharedTasks,
    settings: HorizonSettings,
    provenance: Provenance,
    *,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> AttemptHorizons:
    """The same from counts."""
    observed, completion = counts, complete_novices(counts.novices) if settings.early_leavers == "predict" else None
    if completion:
        counts = replace(counts, novices=completion.table)
    groups = {ALL: np.ones(len(counts.tasks), dtype=np.bool_), **_groups(counts.tasks)}
    estimators, drawn = {}, {}
    for done, (name, chosen) in enumerate(groups.items()):
        part = completion.of_tasks(chosen) if completion else None
        on_tasks = counts.of_tasks(chosen)
        estimators[name] = HorizonEstimator(
            replace(on_tasks, novices=part.table) if part else on_tasks,
            settings.definitions,
            np.array(settings.success_rates),
            part,
        )
        step = partial(_inner, progress, done, len(groups)) if progress else None
        drawn[name] = estimators[name].replicates(
            settings.n_replicates, seed=settings.seed, scheduler=scheduler, progress=step
        )
    rows = {name: _rows(name, estimators[name], drawn[name], settings) for name in groups}
    left = [_predicted(completion)] if completion else _who_left(counts, settings)
    return AttemptHorizons(
        rows=rows[ALL],
        domains=tuple(row for name in groups if name != ALL for row in rows[name]),
        pairs=_pairs(estimators[ALL], drawn[ALL], settings),
        novices=novice_table(estimators[ALL], drawn[ALL], observed.novices, settings.level),
        tasks=task_table(estimators[ALL]),
        counts=observed,
        level=settings.level,
        provenance=replace(provenance, notes=(*counts.notes, *_notes(estimators[ALL], rows[ALL]), *left)),
    )


def _inner(progress: Progress, place: int, n_groups: int, done: int, total: int) -> None:
    progress(place * total + done, n_groups * total)


def _groups(tasks: pl.DataFrame) -> dict[str, Bools]:
    """Each domain, then the tasks that a rule verifies and those that are judged; none where there is nothing to tell apart."""
    domain = tasks["domain"].fill_null("(none)")
    domains = {name: (domain == name).to_numpy() for name in domain.unique().sort()}
    judged = (tasks["verification"] != AUTOMATED).to_numpy()
    kinds = {"verified automatically": ~judged, "judged": judged}
    return {
        name: chosen
        for parts in (domains, kinds)
        for name, chosen in parts.items()
        if all(part.any() for part in parts.values()) and len(parts) > 1
    }


def _rows(
    group: str, estimator: HorizonEstimator, drawn: HorizonReplicates, settings: HorizonSettings
) -> tuple[Horizon, ...]:
    """The most successful model first."""
    success = [estimator.success(drawn, row, settings.level) for row in range(len(estimator.counts.models))]
    order = sorted(range(len(success)), key=lambda row: -(success[row].value or 0))
    return tuple(
        Horizon(
            model=estimator.counts.models[row],
            group=group,
            definition=name,
            success_rate=rate,
            horizon=estimator.horizon(drawn, row, place, rank, settings.level),
            n_tasks=int((estimator.counts.n[row] > 0).sum()),
            success=success[row],
            ratio_to_first=estimator.ratio_to_first(row, rank),
            **estimator.interval(drawn, row, place, rank, settings.level).shares(),
        )
        for place, name in enumerate(settings.definitions)
        for rank, rate in enumerate(settings.success_rates)
        for row in order
    )


def _pairs(estimator: HorizonEstimator, drawn: HorizonReplicates, settings: HorizonSettings) -> tuple[HorizonPair, ...]:
    """Each pair once, the more successful model first."""
    models = estimator.counts.models
    tried = estimator.counts.n > 0
    order = sorted(range(len(models)), key=lambda row: -(estimator.success(drawn, row, settings.level).value or 0))
    return tuple(
        HorizonPair(
            a=models[a],
            b=models[b],
            definition=name,
            success_rate=rate,
            ratio=_ratio(estimator, drawn, (a, b), (place, rank), settings.level),
            p_a_greater=None if estimator.few(a) or estimator.few(b) else _p_a_greater(drawn, (a, b), (place, rank)),
            n_tasks=int((tried[a] & tried[b]).sum()),
        )
        for place, name in enumerate(settings.definitions)
        for rank, rate in enumerate(settings.success_rates)
        for a, b in itertools.combinations(order, 2)
    )


def _p_a_greater(drawn: HorizonReplicates, pair: tuple[int, int], at: tuple[int, int]) -> float | None:
    found = float(probability_greater(*(drawn.horizons[:, row, *at] for row in pair)))
    return None if math.isnan(found) else found


def _ratio(
    estimator: HorizonEstimator, drawn: HorizonReplicates, pair: tuple[int, int], at: tuple[int, int], level: float
) -> Estimate:
    """How many times as large a's horizon is as b's; an end is open where a replicate's horizon leaves the range there."""
    values = [float(estimator.horizons[row, *at]) for row in pair]
    if not np.isfinite(values).all():
        out = [estimator.counts.models[row] for row, value in zip(pair, values, strict=True) if not np.isfinite(value)]
        return Estimate.without("undefined", f"{' and '.join(out)} beyond the attempts that novices made", level=level)
    if few := estimator.few(pair[0]) or estimator.few(pair[1]):
        return Estimate.without("too_few", few, value=values[0] / values[1], level=level)
    logs = [np.log(h, out=h, where=np.isfinite(h)) for h in (drawn.horizons[:, row, *at].copy() for row in pair)]
    share = min(estimator.share_inside(row, level) for row in pair)
    value = math.log(values[0] / values[1])
    found = replicate_interval(replicate_differences(*logs), share).estimate(value, level=level)
    low, high = found.low, found.high
    around = replace(
        found, low=None if low is None else min(low, value), high=None if high is None else max(high, value)
    )
    return around.map(math.exp)


def _notes(estimator: HorizonEstimator, rows: Sequence[Horizon]) -> list[str]:
    """What to know before the numbers are used."""
    counts, longest = estimator.counts, estimator.counts.novices.trials.shape[1]
    told = [
        f"Not every task was tried {longest} times: matching sees to attempt {counts.last}, the last that every task has."
    ] * (counts.last < longest)
    if "regression" in estimator.definitions:
        told.append(
            f"regression: the attempt that half of the novices need is known from {np.median(counts.novices.n_learners):.0f} learners per task (median). Its error flattens the curve and moves horizons "
            "away from the middle of the tasks; `howsure horizon coverage --of attempts` shows how far. Where it differs from matching, report matching."
        )
    return told + [
        f"{row.model}, {row.definition} at {row.success_rate:.0%}: {row.share_failed:.1%} of the replicates have no horizon; they count beyond both ends of the interval."
        for row in rows
        if row.share_failed
    ]


def _predicted(completion: Completion) -> str:
    """How many answers were predicted."""
    return (
        f"Learners left tasks early or left attempts out: {completion.share_predicted:.0%} of novices' answers up to attempt {completion.last} were not given, and are predicted from each learner's "
        "other answers (early_leavers: predict)."
    )


def _who_left(counts: SharedTasks, settings: HorizonSettings) -> list[str]:
    """A warning where those who gave up early were better or worse than those who stayed."""
    if not np.ptp(counts.novices.last):
        return []
    warning = measure_attrition(counts.novices, level=settings.level, seed=settings.seed).warning
    return [warning] if warning else []


def _frame(rows: Sequence[Horizon]) -> pl.DataFrame:
    names = {"model": pl.String, "group": pl.String, "definition": pl.String, "success_rate": pl.Float64}
    horizon = {f"horizon{end}": pl.Float64 for end in ("", "_low", "_high")} | {"horizon_state": pl.String}
    success = {f"success{end}": pl.Float64 for end in ("", "_low", "_high")} | {"success_state": pl.String}
    states = {"horizon_low_state": pl.String, "horizon_high_state": pl.String}
    shares = dict.fromkeys(("ratio_to_first", "share_below", "share_above", "share_failed"), pl.Float64)
    return pl.DataFrame(
        [
            {"model": r.model, "group": r.group, "definition": r.definition, "success_rate": r.success_rate}
            | columns_of(horizon=r.horizon)
            | {"n_tasks": r.n_tasks}
            | columns_of(success=r.success)
            | end_states(horizon=r.horizon)
            | {name: getattr(r, name) for name in shares}
            for r in rows
        ],
        schema={**names, **horizon, "n_tasks": pl.Int64, **success, **states, **shares},
    )


def _pairs_frame(pairs: Sequence[HorizonPair]) -> pl.DataFrame:
    names = {"a": pl.String, "b": pl.String, "definition": pl.String, "success_rate": pl.Float64}
    ratio = {f"ratio{end}": pl.Float64 for end in ("", "_low", "_high")} | {"ratio_state": pl.String}
    return pl.DataFrame(
        [
            {"a": p.a, "b": p.b, "definition": p.definition, "success_rate": p.success_rate}
            | columns_of(ratio=p.ratio)
            | {"p_a_greater": p.p_a_greater, "n_tasks": p.n_tasks}
            for p in pairs
        ],
        schema={**names, **ratio, "p_a_greater": pl.Float64, "n_tasks": pl.Int64},
    )


# How hard each task is for novices, and how models do on hard and easy ones: what the charts show.


_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def novice_table(
    estimator: HorizonEstimator, drawn: HorizonReplicates, observed: NoviceCounts, level: float
) -> pl.DataFrame:
    """Novices' success over all tasks by attempt: attempt, success, success_low, success_high, answers (those that were given)."""
    found = replicate_interval(drawn.curves, level)
    low, high = np.clip([found.low, found.high], 0, 1)  # success that may be anything is 0 to 1
    curve = estimator.curve
    answers = observed.trials.sum(axis=0)[: len(curve)].astype(np.int64)
    success = {"success": curve, "success_low": low, "success_high": high}
    return pl.DataFrame({"attempt": np.arange(1, len(curve) + 1), **success, "answers": answers}).fill_nan(None)


def task_table(estimator: HorizonEstimator) -> pl.DataFrame:
    """A row a task: who tried it, how novices started, and the attempt ``half`` on which half of them succeed, or the edge it lies beyond."""
    novices = estimator.counts.novices
    places, last = regression.difficulties(estimator.drawn.successes, estimator.drawn.trials)
    states = np.select([np.isneginf(places[0]), np.isposinf(places[0])], ["below_range", "above_range"], "ok")
    found = {
        "n_learners": novices.n_learners,
        "n_attempts": np.exp2(last).round().astype(np.int64),
        "first": novices.successes[:, 0] / novices.trials[:, 0],
        "half": np.exp2(np.clip(places[0], 0, last)),
        "half_state": states,
    }
    return estimator.counts.tasks.with_columns(pl.Series(name, values) for name, values in found.items())


def success_table(counts: SharedTasks, tasks: pl.DataFrame) -> pl.DataFrame:
    """A row a model and task it tried: model, task, first (novices' success on attempt 1), success, runs."""
    row, column = np.nonzero(counts.n)
    won, n = counts.successes[row, column], counts.n[row, column]
    models = pl.Series("model", counts.models, pl.String)[row]
    columns = [pl.Series("success", won / n), pl.Series("runs", n.astype(np.int64)), pl.Series("won", won)]
    return pl.DataFrame([models]).hstack(tasks.select("task", "first", "half", "half_state")[column]).hstack(columns)


def rates_by_difficulty(counts: SharedTasks, tasks: pl.DataFrame, level: float) -> pl.DataFrame:
    """Success of each model, and of novices on attempt 1, on tasks of which half of the novices need about as many attempts.

    Columns: who, step, order, success, low, high, n_tasks. Intervals are clustered by task.
    """
    runs = success_table(counts, tasks).rename({"model": "who"})
    won, answers = pl.Series("won", counts.novices.successes[:, 0]), counts.novices.trials[:, 0].astype(np.int64)
    novices = tasks.select(
        pl.lit("novices, attempt 1").alias("who"), "half", "half_state", won, pl.Series("runs", answers)
    )
    rows = pl.concat([runs.select(novices.columns), novices])
    last = int(tasks["n_attempts"].to_numpy().max())
    places = [_step(half, state, last) for half, state in rows.select("half", "half_state").iter_rows()]
    rows = rows.with_columns(
        pl.Series("order", [place for place, _ in places]), pl.Series("step", [name for _, name in places])
    )
    found = []
    for (who, order, step), part in rows.sort("order").group_by("who", "order", "step", maintain_order=True):
        mean = clustered_mean(part["won"].to_numpy(), part["runs"].to_numpy(), level=level).estimate
        told = {"success": mean.value, "low": mean.low, "high": mean.high, "n_tasks": len(part)}
        found.append({"who": who, "order": order, "step": step} | told)
    return pl.DataFrame(found, infer_schema_length=None)


def sample_curves(counts: SharedTasks, tasks: pl.DataFrame, level: float, n: int = 4) -> pl.DataFrame:
    """Novices' success by attempt on `n` tasks from the easiest to the hardest: task, attempt, success, low, high."""
    order = np.argsort(-counts.novices.successes.sum(axis=1) / counts.novices.trials.sum(axis=1), kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, n).round().astype(int))]
    rows = []
    for place in chosen:
        for k in np.flatnonzero(counts.novices.trials[place]):
            one = wilson(counts.novices.successes[place, k], counts.novices.trials[place, k], level)
            row = {"task": tasks["task"][int(place)], "attempt": int(k) + 1, "success": one.value}
            rows.append(row | {"low": one.low, "high": one.high})
    return pl.DataFrame(rows)


def _step(half: float, state: str, last: int) -> tuple[int, str]:
    """The step of difficulty that a task is in: its place and its name."""
    if state == "below_range":
        return 0, "< 1"
    edges = [*(edge for edge in _STEPS if edge < last), float(last)]
    if state == "above_range":
        return len(edges), f"> {last}"
    place = max(1, int(np.searchsorted(edges, half)))
    return place, f"{edges[place - 1]:g}–{edges[place]:g}"
