"""How often each model succeeded at each task: what every horizon starts from."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.stats._arrays import Bools, Floats, Ints, codes
from howsure.stats.means import mean
from howsure.tables import Attempts
from howsure.tables.known_words import ALIASES

__all__ = [
    "ENDINGS",
    "MINUTES",
    "UNKNOWN_AS",
    "ModelCounts",
    "SpendingCells",
    "check_success_rates",
    "count_table",
    "join_tasks",
    "model_counts",
    "with_covariates",
]

ENDINGS = {
    "limits": ("scored", "drop", "success", "censored", "bounds"),
    "errors": ("scored", "drop"),
    "flags": ("scored", "drop", "failure"),
}
"""What runs count as that were cut at a limit of time, tokens or cost, that an error ended, or that a reviewer flagged: as they were scored; nothing;
a success (no larger limit can give a higher success rate); a failure; an outcome that is not known (censored, bounds)."""

UNKNOWN_AS = {"censored": "random", "bounds": "failure"}
"""Ways in which cut runs have no known outcome, and what the estimate takes them as: as the runs at tasks of that length whose outcome is known, or as failures."""

MINUTES = ("median", "first", "geometric-mean")
"""What is taken where the rows of a task disagree on its minutes."""

_COLUMNS = {"limits": "limit", "errors": "error", "flags": "flag"}
_ENDED = {"limit": "were cut at a limit", "error": "were ended by an error", "flag": "were flagged"}
_COUNT_AS = {"drop": "are excluded", "success": "count as successes", "failure": "count as failures"}
_CLOCKS = {"tokens": ("token",), "cost": ("cost",), "seconds": ("time", "working")}
"""What runs spend, and the limits that are measured in it."""

_FEWEST_TASKS = 5  # with successes and failures that ended by themselves, to compare what they spent

_ABOUT_TASKS = {"family": pl.String, "domain": pl.String, "minutes": pl.Float64}
_KEY = ["model", "task"]


@dataclass(frozen=True, eq=False)
class ModelCounts:
    """Successes and runs of each model at each task.

    ``tasks`` has a row a task (task, family, domain, minutes), those of a family side by side; ``successes`` and ``n`` have a row a model and
    a column a task, with n = 0 where a model never tried it. A task without family is its own; domain and minutes are null where unknown.
    Where scores are graded, ``successes`` adds them up and ``squares`` their squares. ``unknown`` is the share of a cell's runs whose outcome is not
    known because a limit cut them; ``successes`` counts them as failures.
    """

    models: tuple[str, ...]
    tasks: pl.DataFrame
    successes: Ints | Floats
    n: Ints
    notes: tuple[str, ...] = ()
    squares: Floats | None = None
    unknown: Floats | None = None

    @cached_property
    def minutes(self) -> Floats:
        """What an expert needs for each task; NaN where unknown."""
        return self.tasks["minutes"].fill_null(float("nan")).to_numpy()

    @cached_property
    def family(self) -> Ints:
        """Each task's family as a number."""
        return codes(self.tasks["family"].to_list(), "family")

    @cached_property
    def digest(self) -> str:
        """A short SHA-256 of the counts, to say later which input made a result."""
        return hashlib.sha256(self.to_frame().write_csv().encode()).hexdigest()[:16]

    def index(self, model: str) -> int:
        """A model's row."""
        if model not in self.models:
            raise OptionError.unknown("model", model, self.models)
        return self.models.index(model)

    def of_tasks(self, chosen: Bools) -> ModelCounts:
        """The same on some of the tasks; models that tried none of them are gone."""
        n = self.n[:, chosen]
        rows = np.flatnonzero(n.sum(axis=1))
        return replace(
            self,
            models=tuple(self.models[row] for row in rows),
            tasks=self.tasks.filter(pl.Series(chosen)),
            successes=self.successes[rows][:, chosen],
            n=n[rows],
            squares=None if self.squares is None else self.squares[rows][:, chosen],
            unknown=None if self.unknown is None else self.unknown[rows][:, chosen],
        )

    def to_frame(self) -> pl.DataFrame:
        """One row per model and task it tried: model, task, family, domain, minutes, successes, n."""
        row, column = np.nonzero(self.n)
        names = pl.Series("model", self.models, pl.String)[row]
        counts = [pl.Series("successes", self.successes[row, column]), pl.Series("n", self.n[row, column])]
        return pl.DataFrame([names]).hstack(self.tasks[column]).hstack(counts)


def model_counts(
    attempts: Attempts,
    *,
    kinds: Collection[str] = ("model",),
    threshold: float | None = None,
    is_graded: bool = False,
    limits: str = "scored",
    errors: str = "scored",
    flags: str = "scored",
    minutes: str = "median",
) -> ModelCounts:
    """The runs of an attempts table as counts, in one streaming pass.

    Subjects of other ``kinds``, such as people, are left out. A score of 1 is a success and of 0 a failure; ``threshold`` says from which score
    on a run counts as one where scores lie between, and ``is_graded`` lets such a score count as that share of a success.
    ``limits``, ``errors`` and ``flags`` say what runs count as that did not end by themselves or that are doubted (`ENDINGS`), ``minutes`` what is
    taken where rows of a task disagree (`MINUTES`). With ``limits`` censored or bounds, ``successes`` are those that `SpendingCells.incidence` gives without a limit.
    """
    if minutes not in MINUTES:
        raise OptionError.unknown("policy for minutes", minutes, MINUTES)
    attempts = attempts.counted
    chosen, notes = _as_counted(attempts, kinds, {"limits": limits, "errors": errors, "flags": flags})
    if attempts.is_free:
        raise InputError("Some scores are of any size (scale = free), but a horizon needs success (1) and failure (0).")
    score, counted = pl.col("score"), pl.col("n_success") if attempts.has("n") else pl.lit(None, pl.Int64)
    single = score if is_graded else (score == 1) if threshold is None else score >= threshold
    # a row that counts attempts: its successes are 1 and the others 0, whatever the threshold
    success = pl.when(counted.is_null()).then(single.cast(pl.Float64 if is_graded else pl.Int64)).otherwise(counted)
    is_strict = threshold is None and not is_graded
    is_between = (score > 0) & (score < 1) & counted.is_null()
    between = score.filter(is_between).first() if is_strict else pl.lit(None, pl.Float64)
    there = [name for name in _ABOUT_TASKS if attempts.has(name)]
    ends = [end for name in there for end in (pl.col(name).min(), pl.col(name).max().alias(f"#{name}"))]
    sums = chosen.group_by(pl.col("subject").alias("model"), "task")
    each = attempts.sums()
    counts = [success.sum().alias("successes"), each["n"].alias("#n"), between.alias("#between")]
    counts += [each["squares"].alias("squares")] if is_graded else []
    frame = sums.agg(*counts, *ends).rename({"#n": "n"}).collect(engine="streaming")
    if not len(frame):
        raise InputError(f"There is no attempt of kind {' or '.join(kinds)}. Set it with --set kind=model.")
    _refuse_between(frame)
    for name in there:
        if name != "minutes":
            _refuse_differing(frame, name, f"#{name}")
    told: list[str] = []
    if "minutes" in there:
        frame, told = _with_one_length(frame, "#minutes", chosen, minutes)
    found = _arranged(frame, (*notes, *told))
    if limits not in UNKNOWN_AS or not attempts.has("limit"):
        return found
    if is_graded:
        raise OptionError(f"limits {limits} needs successes and failures, not graded scores. Give a threshold.")
    return _censored(found, chosen, single, None if not attempts.has("n") else attempts.n - success, limits)


def _as_counted(
    attempts: Attempts, kinds: Collection[str], policies: Mapping[str, str]
) -> tuple[pl.LazyFrame, list[str]]:
    """The runs as the policies count those that did not end by themselves or that are doubted, and notes with their numbers."""
    chosen = attempts.lazy.filter(pl.col("kind").is_in(list(kinds)))
    notes = list(attempts.notes)
    for policy, way in policies.items():
        column = _COLUMNS[policy]
        if way not in ENDINGS[policy]:
            raise OptionError.unknown(policy, way, ENDINGS[policy])
        if way == "scored" or way in UNKNOWN_AS or not attempts.has(column):
            continue
        is_ended = pl.col(column).is_not_null()
        n_each = is_ended.cast(pl.Int64) * attempts.n
        n_ended, n_all = (
            chosen.select(n_each.sum(), attempts.sums()["n"].alias("all")).collect(engine="streaming").row(0)
        )
        if way == "drop":
            chosen = chosen.filter(~is_ended)
        else:
            given = {"score": pl.lit(float(way == "success"))}
            if attempts.has("n"):
                given["n_success"] = pl.col("n") * int(way == "success")
            if column == "flag" and attempts.has("limit"):
                given["limit"] = pl.lit(None, pl.String)  # a run that counts as a failure has a known outcome
            chosen = chosen.with_columns(
                pl.when(is_ended).then(value).otherwise(pl.col(name)).alias(name) for name, value in given.items()
            )
        notes.append(f"{n_ended:,} of {n_all:,} runs {_ENDED[column]} and {_COUNT_AS[way]}.")
    return chosen, notes


def _censored(
    counts: ModelCounts, chosen: pl.LazyFrame, is_success: pl.Expr, n_failures: pl.Expr | None, way: str
) -> ModelCounts:
    """The counts with runs that were cut at a limit as censored; `n_failures` of rows that count several runs, whose order is not known."""
    columns = chosen.collect_schema().names()
    clock: str | None = None
    if n_failures is not None:
        cut = chosen.filter(pl.col("limit").is_not_null()).group_by(pl.col("subject").alias("model"), "task")
        rows = cut.agg(n_failures.sum().alias("cut")).collect()
        place = {task: k for k, task in enumerate(counts.tasks["task"])}
        unknown = np.zeros(counts.n.shape)
        unknown[[counts.index(name) for name in rows["model"]], [place[name] for name in rows["task"]]] = rows["cut"]
        n_cut, each = int(unknown.sum()), np.maximum(counts.n, 1)
        known, unknown = counts.successes / each, unknown / each
    else:
        is_cut = pl.col("limit").is_not_null() & ~is_success.cast(pl.Boolean)
        frame = chosen.with_columns(is_cut.alias("#cut")).collect()
        named = frame.filter("#cut")["limit"].cast(pl.String).str.to_lowercase()
        clock = next(
            (
                name
                for name, words in _CLOCKS.items()
                if name in columns
                and frame.filter("#cut")[name].null_count() == 0
                and named.str.contains("|".join(words)).all()
            ),
            None,
        )
        n_cut = int(frame["#cut"].sum())
        known, unknown = SpendingCells.of(frame, counts, clock, is_success).incidence(np.inf)
    if not n_cut:
        return counts
    share = (unknown * counts.n).sum() / counts.n.sum()
    by = (
        f"Their weight goes to the runs of the same model and task that spent more {clock}; the outcomes of {share:.0%} of all runs stay unknown"
        if clock
        else f"No column says what each of them spent of its limit, so the outcomes of {share:.0%} of all runs are unknown"
    )
    taken = (
        "as often successful as runs at tasks of that length whose outcome is known; the interval includes that all of them failed"
        if UNKNOWN_AS[way] == "random"
        else "as failures; the interval includes every outcome that they could have had"
    )
    told = f"{n_cut:,} of {counts.n.sum():,} runs were cut at a limit without success. {by}. The estimate takes these {taken}."
    warned = _lasting_note(frame, clock, is_success) if clock and UNKNOWN_AS[way] == "random" else ()
    return replace(counts, successes=known * counts.n, unknown=unknown, notes=(*counts.notes, told, *warned))


def _lasting_note(frame: pl.DataFrame, clock: str, is_success: pl.Expr) -> tuple[str, ...]:
    """A warning where runs that succeed last longer than runs that fail by themselves, at the same task: then a limit cuts successes first."""
    ended = frame.filter(~pl.col("#cut") & (pl.col(clock) > 0)).with_columns(is_success.cast(pl.Boolean).alias("#won"))
    spent = pl.col(clock).log(2)
    cells = (
        ended.group_by("subject", "task", maintain_order=True)
        .agg((spent.filter("#won").mean() - spent.filter(~pl.col("#won")).mean()).alias("gap"))
        .drop_nulls("gap")
    )
    if cells["task"].n_unique() < _FEWEST_TASKS:
        return ()
    gap = mean(cells["gap"], cells["task"], bounds=None).estimate
    if gap.value is None or gap.low is None or gap.low <= 0:
        return ()
    return (
        f"Warning: at the same task, runs that succeeded spent {2**gap.value:.1f} times as many {clock} as runs that failed by themselves [{2**gap.low:.1f}, {2 ** (gap.high or gap.value):.1f}]. "
        "Then limits cut runs that would have succeeded more often than others, and horizons with --limits censored are too short. Use --limits bounds.",
    )


@dataclass(frozen=True, eq=False)
class SpendingCells:
    """Runs in the order of model, task and what they spent, from which success follows as a function of the budget (formula: `time_horizon.budgets`)."""

    shape: tuple[int, int]
    model: Ints
    task: Ints
    spent: Floats
    is_success: Bools
    is_cut: Bools

    @classmethod
    def of(cls, rows: pl.DataFrame, counts: ModelCounts, spending: str | None, is_success: pl.Expr) -> SpendingCells:
        """The cells of `counts`, from one row per run.

        Without `spending`, a column, cut runs come last: no run is known to have spent more. A run whose spending is not given comes first.
        """
        is_cut = pl.col("limit").is_not_null() if "limit" in rows.columns else pl.lit(False)
        spent = pl.col(spending).fill_null(-1) if spending else is_cut
        frame = rows.select(
            pl.col("subject").cast(pl.Enum(counts.models)).to_physical().cast(pl.Int64).alias("model"),
            pl.col("task").cast(pl.Enum(counts.tasks["task"])).to_physical().cast(pl.Int64).alias("task"),
            spent.cast(pl.Float64).alias("spent"),
            is_success.cast(pl.Boolean).alias("is_success"),
            is_cut.alias("is_cut"),
        ).with_columns(is_cut=pl.col("is_cut") & ~pl.col("is_success"))
        # of runs that spent the same, those that ended by themselves come first
        frame = frame.sort("model", "task", "spent", "is_cut")
        return cls(
            counts.n.shape, *(frame[name].to_numpy() for name in ("model", "task", "spent", "is_success", "is_cut"))
        )

    def incidence(self, budget: float) -> tuple[Floats, Floats]:
        """Cumulative incidence of success within a budget, and the share whose outcome there is unknown, of each model at each task.

        The weight of a run that was cut before the budget goes in equal parts to the runs of its cell that spent more (Efron 1967): what results is the
        estimate of Aalen and Johansen. If there are none, it is unknown.
        """
        rate, unknown = np.zeros(self.shape), np.zeros(self.shape)
        cell = self.model * self.shape[1] + self.task
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(cell)], strict=True):
            m, t, n = int(self.model[start]), int(self.task[start]), end - start
            weight = 1 / n
            for k in range(start, end):
                if self.spent[k] > budget or (self.is_cut[k] and self.spent[k] == budget):
                    break
                if self.is_cut[k]:
                    later = end - k - 1
                    if later:
                        weight += weight / later
                    else:
                        unknown[m, t] += weight
                elif self.is_success[k]:
                    rate[m, t] += weight
        return rate, unknown


def with_covariates(counts: ModelCounts, attempts: Attempts | None, names: Sequence[str]) -> ModelCounts:
    """The counts with properties of tasks as further columns of `tasks`, numbers; tasks without one of them are excluded and counted.

    Parameters
    ----------
    counts : ModelCounts
        Whose tasks they describe.
    attempts : Attempts, optional
        Rows that have the columns; without them, `counts.tasks` must have them.
    names : sequence of str
        Columns, such as ``messiness``: one number per task.
    """
    tasks, notes = counts.tasks, list(counts.notes)
    for name in names:
        if (attempts is None and name not in tasks.columns) or (attempts is not None and not attempts.has(name)):
            raise InputError(f"There is no column {name!r}. Add the covariate to the runs or to the task table.")
        given = (
            tasks.select("task", name) if attempts is None else attempts.lazy.select("task", name).unique().collect()
        )
        given = given.drop_nulls(name).sort("task")
        numbers = given.with_columns(pl.col(name).cast(pl.Float64, strict=False))
        wrong = given.filter(numbers[name].is_null() | ~numbers[name].is_finite())
        if len(wrong):
            raise InputError(
                f"Task {wrong['task'][0]} has {name} {wrong[name][0]!r}. A covariate has one number per task."
            )
        numbers = numbers.unique(maintain_order=True)
        twice = numbers.filter(numbers["task"].is_duplicated())
        if len(twice):
            low, high = twice[name][:2]
            raise InputError(
                f"Task {twice['task'][0]} has {name} {low:g} in one row and {high:g} in another. Give each task one."
            )
        tasks = tasks.drop(name, strict=False).join(numbers, on="task", how="left", maintain_order="left")
        n_unknown = tasks[name].null_count()
        if n_unknown:
            notes.append(f"{n_unknown:,} of {len(tasks):,} tasks without {name} are excluded.")
        if tasks[name].drop_nulls().n_unique() < 2:
            raise InputError(f"The covariate {name} has the same value at all tasks, so it can have no effect.")
    known = tasks.select(pl.all_horizontal(pl.col(list(names)).is_not_null())).to_series().to_numpy()
    whole = replace(counts, tasks=tasks, notes=tuple(notes))
    return whole if known.all() else whole.of_tasks(known)


def join_tasks(
    attempts: Attempts, tasks: pl.DataFrame, where: str = "the task table", *, covariates: Sequence[str] = ()
) -> Attempts:
    """The attempts with what a table says about their tasks: minutes, family, domain.

    Parameters
    ----------
    attempts : Attempts
        Whatever they say of these columns themselves is replaced where the table says something.
    tasks : polars.DataFrame
        One row per task: ``task`` (or ``task_id``), ``minutes`` (or ``human_minutes``, ``expert_minutes``) and, if known, ``family`` (or ``task_family``), ``domain``, ``human_source``.
    where : str
        What errors and notes call the table.
    covariates : sequence of str
        Further columns of the table that describe tasks, such as ``messiness``.

    Returns
    -------
    Attempts
        With a note that counts tasks without a row and rows without a task.
    """
    wanted = ("task", "minutes", "family", "domain", "human_source", *covariates)
    known = {
        name: (name, *(ALIASES[Attempts].get(name, ()) if name in ("task", "minutes", "family") else ()))
        for name in wanted
    }
    found = {ours: next((name for name in theirs if name in tasks.columns), None) for ours, theirs in known.items()}
    needed = ["task"] if attempts.has("minutes") else ["task", "minutes"]
    for name in needed:
        if found[name] is None:
            columns = ", ".join(tasks.columns)
            raise InputError(
                f"{where}: no column {name}; it has {columns}. Rename the one that {'names the task' if name == 'task' else 'has the minutes that an expert needs'}."
            )
    if not any(found[name] for name in wanted[1:]):
        raise InputError(f"{where}: has nothing about tasks but their names. Add minutes, family or domain.")
    kinds = {"minutes": pl.Float64}
    table = tasks.select(
        pl.col(theirs).cast(kinds.get(ours, pl.String), strict=False).alias(f"#{ours}" if ours != "task" else ours)
        for ours, theirs in found.items()
        if theirs
    )
    if minutes := found["minutes"]:
        given = tasks[minutes].cast(pl.String).replace("", None)
        wrong = (given.is_not_null() & ~(table["#minutes"] > 0).fill_null(False)).arg_true()
        if len(wrong):
            told = f"task {table['task'][wrong[0]]} has {minutes} {given[wrong[0]]!r}"
            raise InputError(f"{where}: {told}. Write a number above 0.")
    twice = table.filter(table["task"].is_duplicated())
    if len(twice):
        raise InputError(f"{where}: task {twice['task'][0]} is there twice. Give one row per task.")
    there = attempts.lazy.select(pl.col("task").unique()).collect()["task"]
    short = {name: name.rpartition("/")[2] for name in there}  # logs put the eval's name before the task's
    is_whole = there.is_in(table["task"].to_list()).any()
    keyed = pl.col("task") if is_whole else pl.col("task").replace_strict(short, return_dtype=pl.String)
    matched = there if is_whole else pl.Series(list(short.values()))
    n_unknown = int((~matched.is_in(table["task"].to_list())).sum())
    if n_unknown == len(there):
        raise InputError(f"{where}: none of its tasks is in the runs, such as {there[0]}. Check the names.")
    names = [name.removeprefix("#") for name in table.columns if name != "task"]
    rows = attempts.lazy.with_columns(keyed.alias("#task")).join(
        table.lazy(), left_on="#task", right_on="task", how="left", maintain_order="left"
    )
    rows = rows.with_columns(
        (pl.coalesce(f"#{name}", name) if attempts.has(name) else pl.col(f"#{name}")).alias(name) for name in names
    ).drop("#task", *(f"#{name}" for name in names))
    n_unused = int((~table["task"].is_in(matched.to_list())).sum())
    said = f"{where}: {len(there) - n_unknown:,} of {len(there):,} tasks have a row; {n_unused:,} rows name no task of the runs."
    return Attempts(attempts.derive(rows.collect().lazy(), said))


def count_table(frame: pl.DataFrame) -> ModelCounts:
    """Counts that were made elsewhere: one row per model and task.

    Columns: model, task, successes, n and, where known, family, domain, minutes.
    """
    missing = [name for name in (*_KEY, "successes", "n") if name not in frame.columns]
    if missing:
        raise InputError(f"The counts have no column {missing[0]!r}. Give model, task, successes and n, one row each.")
    whole = frame.with_columns(pl.col("successes", "n").cast(pl.Int64), *_cast(frame))
    twice = whole.filter(whole.select(_KEY).is_duplicated())
    if len(twice):
        raise InputError(f"{' on '.join(twice.row(0)[:2])} is there twice. Add up its counts.")
    wrong = whole.filter(~(pl.col("successes").is_between(0, pl.col("n")) & (pl.col("n") > 0)).fill_null(False))
    if len(wrong):
        row = wrong.row(0, named=True)
        raise InputError(
            f"{row['model']} on {row['task']}: {row['successes']} successes in {row['n']} runs. Correct one of them."
        )
    for name in {"family", "domain"} & set(whole.columns):
        _refuse_differing(whole, name, name)
    whole, told = (
        _with_one_length(whole, "minutes", whole.lazy(), "median") if "minutes" in whole.columns else (whole, [])
    )
    return _arranged(whole, told)


def _cast(frame: pl.DataFrame) -> list[pl.Expr]:
    return [pl.col(name).cast(kind) for name, kind in _ABOUT_TASKS.items() if name in frame.columns]


def _refuse_between(frame: pl.DataFrame) -> None:
    odd = frame.drop_nulls("#between").sort(_KEY)
    if len(odd):
        row = odd.row(0, named=True)
        raise InputError(
            f"Score {row['#between']:g} of {row['model']} on {row['task']} is neither success (1) nor failure (0). "
            "Say with --threshold from which score on a run counts as a success."
        )


def _with_one_length(frame: pl.DataFrame, high: str, rows: pl.LazyFrame, policy: str) -> tuple[pl.DataFrame, list[str]]:
    """Minutes that differ between the rows of a task become one number, and a note says how many did."""
    ends = frame.group_by("task").agg(pl.col("minutes").min().alias("low"), pl.col(high).max().alias("high"))
    odd = ends.filter(pl.col("low") != pl.col("high")).sort("task")
    if odd.is_empty():
        return frame, []
    minutes = pl.col("minutes").drop_nulls()
    one = {"median": minutes.median(), "first": minutes.first(), "geometric-mean": minutes.log().mean().exp()}[policy]
    some = rows.filter(pl.col("task").is_in(odd["task"].to_list()))
    chosen = some.group_by("task", maintain_order=True).agg(one.alias("minutes"))
    told = odd.select((pl.col("high") / pl.col("low")).max()).item()
    first = odd.row(0, named=True)
    frame = frame.join(
        chosen.collect(engine="streaming"), on="task", how="left", suffix=" chosen", maintain_order="left"
    )
    frame = frame.with_columns(minutes=pl.coalesce("minutes chosen", "minutes")).drop("minutes chosen")
    return frame, [
        f"{len(odd):,} of {len(ends):,} tasks have different minutes in different rows (up to {told:.3g} times as many; {first['task']}: "
        f"{first['low']:g} to {first['high']:g}). The {policy.replace('-', ' ')} over the rows of a task is taken."
    ]


def _refuse_differing(frame: pl.DataFrame, low: str, high: str) -> None:
    """A task has one family and one domain, whoever tried it."""
    ends = frame.group_by("task").agg(pl.col(low).min().alias("low"), pl.col(high).max().alias("high"))
    odd = ends.filter(pl.col("low") != pl.col("high")).sort("task")
    if len(odd):
        task, one, other = odd.row(0)
        raise InputError(f"Task {task} has {low} {one} in one row and {other} in another. Give each task one {low}.")


def _arranged(frame: pl.DataFrame, notes: Sequence[str]) -> ModelCounts:
    """Rows of models and tasks as two rectangles."""
    about = [pl.col(name).drop_nulls().first() for name in _ABOUT_TASKS if name in frame.columns]
    absent = [pl.lit(None, kind).alias(name) for name, kind in _ABOUT_TASKS.items() if name not in frame.columns]
    tasks = frame.group_by("task").agg(about).with_columns(absent)
    tasks = tasks.select("task", pl.col("family").fill_null(pl.col("task")), "domain", "minutes").sort("family", "task")
    models = frame["model"].unique().sort()
    row = frame["model"].cast(pl.Enum(models)).to_physical().to_numpy()
    column = frame["task"].cast(pl.Enum(tasks["task"])).to_physical().to_numpy()

    def rectangle(name: str) -> Any:
        counts = frame[name].to_numpy()
        filled = np.zeros((len(models), len(tasks)), dtype=np.float64 if counts.dtype.kind == "f" else np.int64)
        filled[row, column] = counts
        return filled

    squares = rectangle("squares") if "squares" in frame.columns else None
    return ModelCounts(tuple(models), tasks, rectangle("successes"), rectangle("n"), tuple(notes), squares)


# Success rates at which horizons are read: shares between 0 and 1, everywhere.


def check_success_rates(rates: Sequence[float]) -> None:
    """Refuse an empty list, and a rate that is not a share between 0 and 1."""
    if not rates:
        raise OptionError("No success rate is given. 0.5 means success in half of the attempts.")
    for rate in rates:
        if not 0 < rate < 1:
            raise OptionError(f"Success rate {rate:g} is not between 0 and 1. Write 0.5 for 50 %.")
