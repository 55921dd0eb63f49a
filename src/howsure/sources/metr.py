"""METR's runs and their relatives: agents and people at tasks whose length in expert minutes is known.

Five layouts, told apart by their keys:

- runs: one line per run, with ``task_id``, ``alias``, ``score_binarized`` and mostly ``human_minutes``;
- practice (NAME): runs with ``attempt_number`` and ``learner_type``, where a person tries the same task again and again;
- counts: ``n_successes`` out of ``n_runs`` for each subject and task; they stay counts;
- task results (YAML): ``agents`` → tasks (by name, or as a list) → ``n_successes`` and ``n_runs``, which are counts as well; ``tasks`` beside them may hold ``human_minutes``;
- published results (YAML): the average score and the horizons of each model, which become scores;
- release dates (YAML): ``date`` by model, which become the dates of the runs that are read with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError
from howsure.sources import Progress
from howsure.sources._reading import head, keys, leave_out, number_attempts, read_each, saw
from howsure.sources._records import Found, as_table, day, inner, items, number, text
from howsure.tables import Attempts, Scores, Table
from howsure.tables.frames import Part, parts_of
from howsure.yaml_files import read_yaml

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "METR runs, runs with practice (NAME), and counts of successes a subject and task (jsonl, csv, parquet); task results, published results and release dates (YAML)"
OPTIONS = frozenset({"strict"})

_RUNS = ("task_id", "alias", "score_binarized")
_PRACTICE = (*_RUNS, "attempt_number", "learner_type")
_COUNTS = ("n_successes", "n_runs")
LAYOUTS = {"runs": frozenset(_RUNS), "practice": frozenset(_PRACTICE), "counts": frozenset(_COUNTS)}

# our column, and what the files call it: the first that is there
_NAMES = {
    "subject": ("subject", "alias"),
    "task": ("task", "task_id"),
    "family": ("family", "task_family"),
    "domain": ("domain", "task_domain", "task_source"),
    "minutes": ("minutes", "human_minutes"),
    "source": ("source", "run_id"),
    "human_source": ("human_source",),
}
_YAML = (".yaml", ".yml")
_LIMIT = "usageLimits"  # in fatal_error_from: the run was cut at a limit of time, tokens or cost
_LAST_DAY = 253_402_300_799_000  # 9999-12-31, in milliseconds


def recognise(path: Path) -> str | None:
    """Counts, practice or runs, by the keys that the file begins with."""
    if path.suffix.lower() in _YAML:
        layout = _yaml_layout(path)
        return f"it has METR's {layout}" if layout else None
    there = keys(path) if path.is_file() else ()
    for layout, known in (("counts", _COUNTS), ("practice", _PRACTICE), ("runs", _RUNS)):
        if set(known) <= set(there):
            return f"it has {', '.join(known)}, as METR {layout} do"
    return None


def read(
    paths: Sequence[Path], *, divide_by: float = 1, progress: Progress | None = None, strict: bool = False
) -> Table:
    """Runs as attempts, numbered by when they started, or by practice where the file counts it; published results as scores.

    Of several files, damaged ones are skipped and named in the notes, unless ``strict``.
    """
    dates = {path: _releases(path) for path in paths if _yaml_layout(path) == "release dates"}
    published = [path for path in paths if _yaml_layout(path) == "published results"]
    runs = [path for path in paths if path not in dates and path not in published]
    if published and not runs:
        return as_table(published, _published, divide_by=divide_by, progress=progress, strict=strict)
    if not runs:
        raise InputError(f"{paths[0]}: has release dates and no results; read it together with the runs.")

    def load(path: Path) -> list[_Shaped]:
        names = [theirs for names in _NAMES.values() for theirs in names]
        if _yaml_layout(path) == "task results":
            return [_from_counts(replace(part.parsed(), path=path)) for part in parts_of(_task_results(path))]
        held = [part.parsed() for part in parts_of(path, names)]
        return [_layout(part)(part) for part in held]

    loaded, skipped = read_each(runs, load, strict=strict or len(runs) == 1, progress=progress)
    parts = [part for several in loaded for part, _ in several]
    notes = [*skipped, *(note for several in loaded for _, told in several for note in told)]
    if published:
        notes.append(f"Not read, because runs are there: {', '.join(path.name for path in published)}.")
    for path, releases in dates.items():
        parts, told = _with_releases(parts, releases, path)
        notes += told
    practised = [part for part in parts if "attempt" in part.rows.collect_schema()]
    others = [part for part in parts if "attempt" not in part.rows.collect_schema()]
    numbered = number_attempts(others, order="#start") if others else []
    plain = [replace(part, rows=part.rows.drop("#start")) for part in numbered]
    saw(sum(int(part.rows.select(pl.len()).collect().item()) for part in parts))
    return Attempts([*practised, *plain], divide_by=divide_by, notes=tuple(dict.fromkeys(notes)))


_Shaped = tuple[Part, list[str]]


def _yaml_layout(path: Path) -> str | None:
    if path.suffix.lower() not in _YAML or not path.is_file():
        return None
    start = head(path)
    if re.search(r"^results:\s*$", start, re.M) and re.search(r"^ {2,}metrics:\s*$", start, re.M):
        return "published results"
    if re.search(r"\bn_successes\s*:", start) and re.search(r"\bn_runs\s*:", start):
        return "task results"
    return (
        "release dates"
        if re.match(r"(?:\s*#.*\n|\s*\n)*date:\s*\n(?:\s+.+:\s*['\"]?\d{4}-\d{2}-\d{2})", start)
        else None
    )


def _task_results(path: Path) -> pl.DataFrame:
    """One row per agent and task: agents (or the whole file) → tasks → n_successes, n_runs, where tasks are named or a list; what ``tasks`` says of a task is added.

    An agent's release is the date of its rows. A task without family has the one that its name begins with, as in METR's runs.
    """
    held = inner(read_yaml(path).value)
    agents, about = inner(held, "agents") or {k: v for k, v in held.items() if k != "tasks"}, _by_task(path, held)
    rows = []
    for agent, own in agents.items():
        results = _by_task(path, own) or _by_task(path, own, "task_results") or inner(own)
        for task, counts in results.items():
            if isinstance(counts, dict) and "n_runs" in counts:
                row = {"alias": str(agent), "task_id": str(task), "date": day(inner(own).get("release_date"))}
                row |= {"task_family": str(task).partition("/")[0]} if "/" in str(task) else {}
                rows.append(row | inner(about, str(task)) | counts)
    if not rows:
        raise InputError(
            f"{path}: no agent has tasks with n_successes and n_runs. Write agents: NAME: tasks: TASK: {{n_successes: 1, n_runs: 4}}."
        )
    known = {
        "alias",
        "task_id",
        "n_successes",
        "n_runs",
        "date",
        *(name for names in _NAMES.values() for name in names),
    }
    plain = [{k: v for k, v in row.items() if k in known and not isinstance(v, dict | list)} for row in rows]
    return pl.DataFrame(plain, infer_schema_length=None)


def _by_task(path: Path, held: Any, name: str = "tasks") -> dict[str, Any]:
    """Tasks by name: a mapping, or a list of rows with ``task_id`` (or ``task``)."""
    found: dict[str, Any] = {}
    for row in items(held, name):
        task = text(inner(row).get("task_id")) or text(inner(row).get("task"))
        if task is None or task in found:
            raise InputError(
                f"{path}: tasks: {task or 'a task'} {'is there twice' if task else 'has no task_id'}. Give each task one row."
            )
        found[task] = row
    return found or inner(held, name)


def _releases(path: Path) -> dict[str, date]:
    """Release dates by model."""
    listed = {str(name): day(value) for name, value in inner(read_yaml(path).value, "date").items()}
    return {name: value for name, value in listed.items() if value}


def _with_releases(parts: Sequence[Part], releases: dict[str, date], path: Path) -> tuple[list[Part], list[str]]:
    """The runs with the release of their model as date."""
    known = pl.LazyFrame(
        {"subject": list(releases), "#released": list(releases.values())},
        schema={"subject": pl.String, "#released": pl.Date},
    )
    dated = [
        replace(
            part,
            rows=part.rows.with_columns(pl.col("subject").cast(pl.String))
            .join(known, on="subject", how="left", maintain_order="left")
            .with_columns(pl.col("#released").alias("date"))
            .drop("#released"),
        )
        for part in parts
    ]
    subjects = {
        name
        for part in dated
        for name in part.rows.select(pl.col("subject").unique()).collect()["subject"].to_list()
        if name
    }
    without = sorted(subjects - releases.keys())
    told = [
        f"{path.name}: release dates of {len(subjects) - len(without)} of {len(subjects)} subjects are their dates."
    ]
    return dated, told + (
        [f"No release date: {', '.join(without[:5])}{' …' if len(without) > 5 else ''}."] if without else []
    )


def _published(path: Path) -> Found:
    """Each model's average score; its horizons are further columns."""
    held = read_yaml(path).value
    found = Found(path, Scores)
    for name, model in inner(held, "results").items():
        metrics = inner(model, "metrics")
        horizons: dict[str, Any] = {
            f"{rate}_minutes": number(inner(metrics, f"{rate}_horizon_length").get("estimate"))
            for rate in ("p50", "p80")
        }
        found.add(
            model=text(name),
            benchmark=text(inner(held).get("benchmark_name")) or "METR",
            score=number(inner(metrics, "average_score").get("estimate")),
            date=day(inner(model).get("release_date")),
            source=path.name,
            **horizons,
        )
    return found


def _layout(part: Part) -> Callable[[Part], _Shaped]:
    there = set(part.rows.collect_schema().names())
    for known, shape in ((_COUNTS, _from_counts), (_PRACTICE, _from_practice), (_RUNS, _from_runs)):
        if set(known) <= there:
            return shape
    raise InputError(
        f"{part.path}: has neither {', '.join(_RUNS)} (runs) nor {', '.join(_COUNTS)} (counts). Rename its columns, or read it with --source files."
    )


def _from_runs(part: Part) -> _Shaped:
    there = part.rows.collect_schema().names()
    rows = part.rows.select(
        *_ours(part),
        pl.col("score_binarized").alias("score"),
        _time(there, "started_at").alias("#start"),
        *_when(there),
        *_ending(there),
        *_spent(there),
    )
    return replace(part, rows=rows.with_columns(_kind(rows))), _told(part)


def _from_practice(part: Part) -> _Shaped:
    """People are told apart by their learner; models keep their alias."""
    there = part.rows.collect_schema().names()
    rows = part.rows.select(
        *_ours(part),
        pl.col("score_binarized").alias("score"),
        pl.col("attempt_number").alias("attempt"),
        *_when(there),
        *_ending(there),
        *_spent(there),
        _learner(there).alias("#learner"),
        pl.col("learner_type")
        .cast(pl.String)
        .replace({"human_novice": "human", "ai_zero_shot": "model", "ai_few_shot": "model"})
        .alias("kind"),
    )
    person = pl.when(kind="human").then("#learner").otherwise("subject").alias("subject")
    return replace(part, rows=rows.with_columns(person).drop("#learner")), _told(part)


def _from_counts(part: Part) -> _Shaped:
    """Counts stay counts: a row stands for all runs of a subject at a task."""
    frame = part.collect(part.rows).with_row_index("#row")
    runs, successes = _count(part, frame, "n_runs"), _count(part, frame, "n_successes")
    _refuse(part, frame, "n_successes", successes > runs, "is more than n_runs. Correct one of them")
    is_empty = runs == 0
    date = [pl.col("date")] if "date" in frame.columns else []
    rows = frame.lazy().select("#row", *_ours(part), *date, runs.alias("n"), successes.alias("n_success"))
    kept = (
        rows.with_columns(_kind(rows))
        .filter(~is_empty)
        .with_columns(pl.lit(None, pl.Float64).alias("#start"))
        .collect()
    )
    told = []
    if n := int(is_empty.sum()):
        saw(n)
        leave_out("no runs", n)
        told.append(f"{part.path}: {n:,} rows with no runs are excluded.")
    return Part(kept.drop("#row").lazy(), part.path, part.format, kept["#row"]), told


def _ours(part: Part) -> list[pl.Expr]:
    """The columns that need nothing but our name."""
    there = part.rows.collect_schema().names()
    found = {ours: next((name for name in names if name in there), None) for ours, names in _NAMES.items()}
    for ours in ("subject", "task"):
        if found[ours] is None:
            raise InputError(
                f"{part.path}: no column {' or '.join(_NAMES[ours])}. Add it, or rename the one that says it."
            )
    kind = [pl.col("kind")] if "kind" in there else []
    return [*kind, *(pl.col(theirs).alias(ours) for ours, theirs in found.items() if theirs)]


def _kind(rows: pl.LazyFrame) -> pl.Expr:
    """What the file says, or else human where the alias says so: "human", "Humans (expert)"."""
    if "kind" in rows.collect_schema():
        return pl.col("kind")
    is_person = pl.col("subject").cast(pl.String).str.contains(r"(?i)^humans?([^a-z]|$)")
    return pl.when(is_person).then(pl.lit("human")).otherwise(pl.lit("model")).alias("kind")


def _when(there: Sequence[str]) -> list[pl.Expr]:
    """Seconds and date of a run from its start and end in milliseconds; people's runs start at 0 and have no date. Impossible times are none."""
    if "started_at" not in there:
        return []
    started, completed = _time(there, "started_at"), _time(there, "completed_at")
    possible = ~_is_impossible(there)
    day = pl.from_epoch(pl.when(possible).then(started).cast(pl.Int64), "ms").dt.date()
    seconds = pl.when(possible).then((completed - started) / 1000)
    return [seconds.alias("seconds"), pl.when(started > 0).then(day).alias("date")]


def _is_impossible(there: Sequence[str]) -> pl.Expr:
    """Whether a run ends before it starts, or at a time that no calendar has; times that are missing are not impossible."""
    started, completed = _time(there, "started_at"), _time(there, "completed_at")
    is_sound = [time.is_null() | time.is_between(0, _LAST_DAY) for time in (started, completed)]
    return ~(is_sound[0] & is_sound[1] & (completed >= started).fill_null(True))


def _ending(there: Sequence[str]) -> list[pl.Expr]:
    """Which limit cut the run, or which error ended it."""
    if "fatal_error_from" not in there:
        return []
    ended = pl.col("fatal_error_from").cast(pl.String)
    return [
        pl.when(ended == _LIMIT).then(ended).alias("limit"),
        pl.when(ended != _LIMIT).then(ended).alias("error"),
    ]


def _spent(there: Sequence[str]) -> list[pl.Expr]:
    """Tokens and dollars of a run."""
    names = {"tokens": "total_tokens", "cost": "dollar_equivalent"}
    return [pl.col(name).cast(pl.Float64, strict=False).alias(ours) for ours, name in names.items() if name in there]


def _told(part: Part) -> list[str]:
    """How many runs were cut at a limit, ended by an error, or have impossible times."""
    there = part.rows.collect_schema().names()
    counts = {"n": pl.len()}
    if "started_at" in there:
        counts["impossible"] = _is_impossible(there).sum()
    for kind in _ending(there):
        counts[kind.meta.output_name()] = kind.count()
    found = (
        part.rows.select(expr.alias(name) for name, expr in counts.items())
        .collect(engine="streaming")
        .row(0, named=True)
    )
    says = {
        "limit": "were cut at a limit (column limit)",
        "error": "were ended by an error (column error)",
        "impossible": "have impossible start or end times; their seconds and date are excluded",
    }
    return [
        f"{part.path}: {found[name]:,} of {found['n']:,} runs ({found[name] / found['n']:.0%}) {text}."
        for name, text in says.items()
        if found.get(name)
    ]


def _time(there: Sequence[str], name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False) if name in there else pl.lit(None, pl.Float64)


def _learner(there: Sequence[str]) -> pl.Expr:
    if "learner_id" in there:
        return pl.col("learner_id").cast(pl.String)
    if "run_id" in there:
        return pl.col("run_id").cast(pl.String).str.extract(r"^(.+?)_attempt_\d+")
    return pl.lit(None, pl.String)


def _count(part: Part, frame: pl.DataFrame, name: str) -> pl.Series:
    number = frame[name].cast(pl.Float64, strict=False)
    whole = number.is_finite() & (number == number.round()) & (number >= 0)
    _refuse(part, frame, name, ~whole.fill_null(False), "is not a whole number from 0 up. Write counts with digits")
    return number.cast(pl.Int64)


def _refuse(part: Part, frame: pl.DataFrame, name: str, bad: pl.Series, says: str) -> None:
    rows = frame.filter(bad)
    if len(rows):
        value = "is empty; it" if rows[name][0] is None else rows[name][0]
        more = f" ({len(rows) - 1:,} more rows are like it)" if len(rows) > 1 else ""
        raise InputError(f"{part.where(rows['#row'][0])}: {name} {value} {says}{more}.")
