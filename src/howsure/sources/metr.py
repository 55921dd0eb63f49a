"""METR's runs and their relatives: agents and people at tasks whose length in expert minutes is known.

Three layouts, told apart by their keys:

- runs: one line a run, with ``task_id``, ``alias``, ``score_binarized`` and mostly ``human_minutes``;
- practice (NAME): runs with ``attempt_number`` and ``learner_type``, where a person tries the same task again and again;
- counts: ``n_successes`` out of ``n_runs`` for each subject and task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from howsure.errors import InputError
from howsure.frames import Part, parts_of
from howsure.sources import Progress
from howsure.sources._reading import counted, number_attempts
from howsure.sources._sniff import keys
from howsure.tables import Attempts

__all__ = ["ABOUT", "OPTIONS", "read", "recognise"]

ABOUT = "METR runs, runs with practice (NAME), and counts of successes a subject and task (jsonl, csv, parquet)"
OPTIONS: frozenset[str] = frozenset()

_RUNS = ("task_id", "alias", "score_binarized")
_PRACTICE = (*_RUNS, "attempt_number", "learner_type")
_COUNTS = ("n_successes", "n_runs")
_MOST_RUNS = 20_000_000  # counts beyond this are a slip of the pen, and would fill the memory

# our column, and what the files call it: the first that is there
_NAMES = {
    "subject": ("subject", "alias"),
    "task": ("task", "task_id"),
    "family": ("family", "task_family"),
    "domain": ("domain", "task_domain", "task_source"),
    "minutes": ("minutes", "human_minutes"),
    "source": ("source", "run_id"),
}


def recognise(path: Path) -> str | None:
    """Counts, practice or runs, by the keys that the file begins with."""
    there = keys(path) if path.is_file() else ()
    for layout, known in (("counts", _COUNTS), ("practice", _PRACTICE), ("runs", _RUNS)):
        if set(known) <= set(there):
            return f"it has {', '.join(known)}, as METR {layout} do"
    return None


def read(paths: Sequence[Path], *, divide_by: float = 1, progress: Progress | None = None) -> Attempts:
    """Runs as attempts, numbered by when they started, or by practice where the file counts it; counts as that many runs."""
    parts, notes = [], []
    for path in counted(paths, progress):
        for part in parts_of(path, [theirs for names in _NAMES.values() for theirs in names]):
            held = part.parsed()
            shaped, told = _layout(held)(held)
            parts.append(shaped)
            notes += told
    practised = [part for part in parts if "attempt" in part.rows.collect_schema()]
    others = [part for part in parts if "attempt" not in part.rows.collect_schema()]
    numbered = number_attempts(others, order="#start") if others else []
    plain = [replace(part, rows=part.rows.drop("#start")) for part in numbered]
    return Attempts([*practised, *plain], divide_by=divide_by, notes=tuple(dict.fromkeys(notes)))


_Shaped = tuple[Part, list[str]]


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
    )
    return replace(part, rows=rows.with_columns(_kind(rows))), []


def _from_practice(part: Part) -> _Shaped:
    """People are told apart by their learner; models keep their alias."""
    there = part.rows.collect_schema().names()
    rows = part.rows.select(
        *_ours(part),
        pl.col("score_binarized").alias("score"),
        pl.col("attempt_number").alias("attempt"),
        *_when(there),
        _learner(there).alias("#learner"),
        pl.col("learner_type")
        .cast(pl.String)
        .replace({"human_novice": "human", "ai_zero_shot": "model", "ai_few_shot": "model"})
        .alias("kind"),
    )
    person = pl.when(kind="human").then("#learner").otherwise("subject").alias("subject")
    return replace(part, rows=rows.with_columns(person).drop("#learner")), []


def _from_counts(part: Part) -> _Shaped:
    """A row for each run; which of a task's runs succeeded is not known, so the successes come first."""
    frame = part.collect(part.rows).with_row_index("#row")
    runs, successes = _count(part, frame, "n_runs"), _count(part, frame, "n_successes")
    _refuse(part, frame, "n_successes", successes > runs, "is more than n_runs. Correct one of them")
    if (total := int(runs.sum())) > _MOST_RUNS:
        raise InputError(f"{part.path}: n_runs add up to {total:,}, more than can be read. Correct n_runs.")
    rows = frame.lazy().select("#row", *_ours(part), pl.int_ranges(0, runs).alias("#run"), successes.alias("#good"))
    rows = rows.with_columns(_kind(rows)).explode("#run").drop_nulls("#run")
    held = rows.with_columns(
        (pl.col("#run") < pl.col("#good")).alias("score"), pl.lit(None, pl.Float64).alias("#start")
    )
    frame = held.collect()
    told = ["Counts do not say which runs of a task succeeded: its successes are numbered first."]
    if empty := int((runs == 0).sum()):
        told.append(f"{part.path}: {empty:,} rows with no runs are left out.")
    numbers = frame["#row"]
    return Part(frame.drop("#row", "#run", "#good").lazy(), part.path, part.format, numbers), told


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
    """Seconds and date of a run from its start and end in milliseconds; people's runs start at 0 and have no date."""
    if "started_at" not in there:
        return []
    started, completed = _time(there, "started_at"), _time(there, "completed_at")
    day = pl.from_epoch(started.cast(pl.Int64), "ms").dt.date()
    return [((completed - started) / 1000).alias("seconds"), pl.when(started > 0).then(day).alias("date")]


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
