"""What the readers of JSON records share: rows as dictionaries, left out by reason, joined to one table."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.safe_io import count_json_values, read_bytes
from howsure.sources import Progress
from howsure.sources._reading import leave_out, read_each, saw
from howsure.tables import TABLES, Attempts, Scores, Table, Votes
from howsure.tables.metrics import better_by_name

__all__ = [
    "LOWER",
    "Found",
    "as_table",
    "content_digest",
    "day",
    "inner",
    "items",
    "load_json",
    "number",
    "text",
    "verdict",
]

LOWER = "lower is better, and nothing says what the highest value is"
"""Why an aggregate is no score."""
_MOST_VALUES = 60_000_000  # of JSON, each of which may take 80 bytes in memory
_LARGEST = 4 * 2**30
_TYPES = {"text": pl.String, "number": pl.Float64, "whole": pl.Int64, "date": pl.Date}


@dataclass
class Found:
    """What one file held: rows of a table, and the rows that cannot be in it, by reason.

    A row of Attempts whose ``score`` is None says in ``error``, ``limit``, or ``outcome`` and ``reason`` what became of it.
    """

    path: Path
    table: type[Table] = Attempts
    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    reported: dict[tuple[str, str], float] = field(default_factory=dict)
    """The mean that the tool itself states, by model and eval: a note says where ours differs."""

    def add(self, **row: Any) -> None:
        """Take a row, unless something that every row needs is missing; of a row with a score, its ``outcome`` and ``reason`` are dropped."""
        for column in self.table.columns:
            needed = column.required and column.name not in ("kind", "attempt", "score")
            if needed and not row.get(column.name):
                self.left_out[f"no {column.name}"] += 1
                return
        if self.table is not Attempts and "score" in row and row["score"] is None:
            self.left_out["no score"] += 1
            return
        if row.get("score") is not None:
            row = {name: value for name, value in row.items() if name not in ("outcome", "reason")}
        self.rows.append(row)


def as_table(
    paths: Sequence[Path],
    load: Callable[[Path], Found | Iterable[Found]],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    strict: bool = False,
    table: str | None = None,
    better: str | None = None,
    harness: Mapping[str, str] = {},
) -> Table:
    """All that `load` found in the files, as one table.

    Where some files hold attempts and others aggregates of them, the attempts are read, unless `table` says otherwise.
    `better` (higher, lower) is the direction of scores outside 0–1, where neither a row nor the name of its eval says it. `harness` is what the
    tool itself counts as wrong: our means are compared with those that it states.
    """
    loaded, skipped = read_each(paths, load, strict=strict, progress=progress)
    found = [one for several in loaded for one in ([several] if isinstance(several, Found) else several)]
    for one in found:
        saw(len(one.rows) + one.left_out.total())
        for reason, n in one.left_out.items():
            leave_out(reason, n)
    kind = _kind([one for one in found if one.rows], table, paths)
    others = [one for one in found if one.table is not kind]
    notes = [*skipped, *_others_notes(others, kind), *(note for one in found for note in one.notes)]
    rows = [row for one in found if one.table is kind for row in one.rows]
    if kind is Attempts:
        rows, anew = _told_apart(rows)
        notes += anew
    rows, more = _settle(rows, kind, divide_by, better)
    left = sum((one.left_out for one in found), Counter[str]())
    notes += [*more, *(f"{n:,} rows excluded: {reason}." for reason, n in sorted(left.items()))]
    if not rows:
        raise InputError(f"{paths[0]}: no row can be used. {' '.join(notes)}".strip())
    if kind is Attempts and all(row["score"] is None for row in rows):
        why = Counter(row.get("reason") or row.get("error") or row.get("limit") or "" for row in rows).most_common(1)
        raise InputError(
            f"{paths[0]}: none of the {len(rows):,} attempts has a score. {why[0][0]} {' '.join(notes)}".strip()
        )
    frame = _frame(rows, kind)
    if kind is Attempts:
        if "kind" not in frame.columns:
            frame = frame.with_columns(kind=pl.lit("model"))
        frame = frame.with_columns(attempt=pl.int_range(1, pl.len() + 1).over("subject", "task"))
    made = kind(frame, divide_by=divide_by, notes=notes)
    if isinstance(made, Attempts):
        made.notes = (*made.notes, *_differing(made.counting("harness", harness=harness).counted.frame, found))
    return made


def content_digest(*parts: Any) -> str:
    """A short hash of what an item asks: equal for equal parts."""
    return hashlib.blake2b("\n".join(map(str, parts)).encode(errors="replace"), digest_size=8).hexdigest()


def _told_apart(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Tasks that ask different things under one name, as they do when items are numbered after shuffling, named by what they ask."""
    asked: dict[str, set[str]] = {}
    for row in rows:
        if digest := row.get("item_digest"):
            asked.setdefault(row["task"], set()).add(digest)
    several = {task for task, digests in asked.items() if len(digests) > 1}
    if not several:
        return rows, []
    renamed = [
        row | {"task": f"{row['domain']}/{row['item_digest']}" if row.get("domain") else row["item_digest"]}
        if row["task"] in several and row.get("item_digest")
        else row
        for row in rows
    ]
    n = len(several)
    return renamed, [
        f"{n:,} names refer to different items in different runs: these items are paired by their content."
    ]


def _kind(found: Sequence[Found], table: str | None, paths: Sequence[Path]) -> type[Table]:
    there = {one.table for one in found}
    if table:
        if table not in TABLES:
            raise OptionError.unknown("table", table, TABLES)
        if TABLES[table] not in there:
            names = ", ".join(sorted(one.__name__.lower() for one in there)) or "nothing"
            raise InputError(f"{paths[0]}: contains {names}, not {table}; omit --table.")
        return TABLES[table]
    return next((kind for kind in (Attempts, Scores, Votes) if kind in there), Attempts)


def _others_notes(others: Sequence[Found], kind: type[Table]) -> list[str]:
    """Aggregates that are there besides the attempts are not read: they are the same results again."""
    n = sum(len(one.rows) for one in others)
    if not n:
        return []
    name = others[0].table.__name__.lower()
    leave_out(f"{name}, where {kind.__name__.lower()} are read (--table {name} reads them)", n)
    return [
        f"{n:,} {name} were not used, because {kind.__name__.lower()} are there; --table {name} reads them instead."
    ]


def _settle(
    rows: list[dict[str, Any]], kind: type[Table], divide_by: float, better: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """The direction and the scale of attempts, and aggregates without those that are not between 0 and 1."""
    notes = []
    if kind is Scores:
        outside = [row for row in rows if not 0 <= row["score"] / divide_by <= 1]
        if outside:
            reason = "the score is not between 0 and 1 (--percent or --divide-by says what the highest is)"
            leave_out(reason, len(outside))
            first = outside[0]
            notes.append(
                f"{len(outside):,} scores excluded because not between 0 and 1; the first is {first['score']:g} "
                f"({first['model']} on {first['benchmark']}). --percent or --divide-by says what the highest is."
            )
            rows = [row for row in rows if 0 <= row["score"] / divide_by <= 1]
    if kind is Attempts:
        rows, told = _free(rows, divide_by, better)
        notes += told
    return rows, notes


def _free(rows: list[dict[str, Any]], divide_by: float, better: str | None) -> tuple[list[dict[str, Any]], list[str]]:
    """Which scores are better. Evals with scores outside 0–1 are read as they are, if that is known."""
    free = {
        row.get("domain"): row.get("better")
        for row in rows
        if row["score"] is not None and not 0 <= row["score"] / divide_by <= 1
    }
    direction = {name: better or said or better_by_name(str(name)) for name, said in free.items()}
    shares = {row.get("domain"): better or row.get("better") for row in rows if row.get("domain") not in free}
    lower = sorted(str(name) for name, said in shares.items() if said == "lower")
    if not free and not lower:
        return [{name: value for name, value in row.items() if name != "better"} for row in rows], []
    kept = [row for row in rows if row.get("domain") not in free or direction[row.get("domain")]]
    notes = [f"Lower scores are better: {', '.join(lower)}. --higher-is-better says otherwise."] if lower else []
    if named := sorted(str(name) for name, said in direction.items() if said):
        notes.append(f"Scores outside 0–1 are read as they are: {', '.join(named)}.")
    if unknown := sorted(str(name) for name, said in direction.items() if not said):
        leave_out("outside 0–1, and nothing says which scores are better", len(rows) - len(kept))
        notes.append(
            f"{len(rows) - len(kept):,} scores excluded, because they are outside 0–1 and nothing says whether higher ones are better: "
            f"{', '.join(unknown)}. --higher-is-better or --lower-is-better includes them, --divide-by brings them to 0–1."
        )
    return [
        row
        | {"scale": "free" if row.get("domain") in free else "0-1"}
        | {"better": (direction | shares).get(row.get("domain")) or "higher"}
        for row in kept
    ], notes


def _differing(frame: pl.DataFrame, found: Sequence[Found]) -> list[str]:
    """Where the mean over items is not what the tool states."""
    stated = {place: mean for one in found for place, mean in one.reported.items()}
    if not stated or "domain" not in frame.columns:
        return []
    items = frame.group_by("subject", "domain", "task").agg(pl.col("score").mean())
    means = items.group_by("subject", "domain").agg(pl.col("score").mean(), pl.len()).sort("subject", "domain")
    return [
        f"{domain}: the mean over the {n:,} items of {subject} is {mean:.6g}, but the file states {stated[subject, domain]:.6g}."
        for subject, domain, mean, n in means.rows()
        if (subject, domain) in stated and abs(mean - stated[subject, domain]) > 1e-9 * max(1.0, abs(mean))
    ]


def _frame(rows: Sequence[Mapping[str, Any]], kind: type[Table]) -> pl.DataFrame:
    names = dict.fromkeys(name for row in rows for name in row)
    kinds = {column.name: column.kind for column in kind.columns}
    series = []
    for name in names:
        dtype = _TYPES[kinds.get(name, "text")]
        values = [row.get(name) for row in rows]
        if all(value is None for value in values):
            continue
        if dtype == pl.String:
            values = [None if value is None else text(value) for value in values]
        series.append(pl.Series(name, values, dtype=dtype, strict=False))
    return pl.DataFrame(series)


def load_json(path: Path) -> Any:
    """A JSON file, within bounds; NaN is allowed, as many tools write it."""
    data = read_bytes(path, _LARGEST)
    if count_json_values(data) > _MOST_VALUES:
        raise InputError(f"{path}: contains more than {_MOST_VALUES:,} values of JSON and was not read.")
    try:
        return json.loads(data.decode("utf-8-sig", errors="strict"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}). Save it as UTF-8.") from None
    except (ValueError, RecursionError) as error:
        told = error if isinstance(error, ValueError) else "nested too deeply"
        raise InputError(f"{path}: not a whole JSON file ({told}). Make or fetch it again.") from None


def inner(held: Any, *steps: str) -> dict[str, Any]:
    """A dictionary inside others, or an empty one."""
    for step in steps:
        held = held.get(step) if isinstance(held, dict) else None
    return held if isinstance(held, dict) else {}


def items(held: Any, name: str) -> list[Any]:
    """A list inside a dictionary, or an empty one."""
    found = held.get(name) if isinstance(held, dict) else None
    return found if isinstance(found, list) else []


def number(value: Any) -> float | None:
    """A finite number; true and false are 1 and 0."""
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, int | float) or abs(value) >= 1e300 or math.isnan(value):
        return None
    return float(value)


_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_FOLDED_WORDS = {"yes": 1.0, "true": 1.0, "pass": 1.0, "no": 0.0, "false": 0.0, "fail": 0.0}


def verdict(value: Any) -> float | None:
    """A number, a number as text, or one of the words that scorers use: C, I, P, N, yes, no, true, false."""
    if not isinstance(value, str):
        return number(value)
    word = _WORDS.get(value, _FOLDED_WORDS.get(value.lower()))
    try:
        return word if word is not None else number(float(value))
    except ValueError:
        return None


def text(value: Any) -> str | None:
    """A plain value as text without space around it, or None."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None if not isinstance(value, bool) else str(value).lower()
    return " ".join(str(value).split()) or None


def day(value: Any) -> date | None:
    """The day of a date, a time in ISO 8601, or seconds or milliseconds since 1970."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value > 1e11 else value
            return datetime.fromtimestamp(seconds, UTC).date() if seconds > 0 else None
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
