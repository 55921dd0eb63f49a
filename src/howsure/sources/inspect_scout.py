"""Inspect Scout: a folder per scan with one parquet file per scanner, which has a value for each transcript.

Values that are true, false or a number become attempts of the transcript's model, each scanner an eval of its own. Note the direction:
1 means that the scanner found what it looks for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError
from howsure.sources import Progress
from howsure.sources._reading import keys
from howsure.sources._records import Found, as_table, content_digest, day, inner, number, text
from howsure.tables import Table
from howsure.tables.frames import format_of, parts_of

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "Inspect Scout results (one parquet file per scanner, or the folder of a scan)"
OPTIONS = frozenset({"scorer", "strict", "better"})
LAYOUTS = {"results": frozenset({"transcript_id", "scanner_key", "value", "value_type"})}

_USED = (
    *(
        "transcript_id",
        "transcript_source_uri",
        "transcript_date",
        "transcript_task_set",
        "transcript_task_id",
        "transcript_model",
    ),
    *(
        "transcript_total_time",
        "transcript_total_tokens",
        "transcript_limit",
        "transcript_metadata",
        "scanner_key",
        "label",
        "value",
        "value_type",
    ),
    *("scan_error",),
)


def recognise(path: Path) -> str | None:
    """By the columns of a scanner's results."""
    there = set(keys(path)) if path.is_file() and format_of(path) else set()
    return (
        "it contains a scanner's values of transcripts, as Inspect Scout writes them"
        if LAYOUTS["results"] <= there
        else None
    )


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    scorer: str | None = None,
    strict: bool = False,
    better: str | None = None,
) -> Table:
    """Every value as an attempt; `scorer` narrows them to one scanner."""

    def load(path: Path) -> Found:
        return _load(path, scorer)

    return as_table(paths, load, divide_by=divide_by, progress=progress, strict=strict, better=better)


def _load(path: Path, wanted: str | None) -> Found:
    (part,) = parts_of(path)
    there = part.rows.collect_schema().names()
    rows = part.collect(part.rows.select(name for name in _USED if name in there))
    found = Found(path)
    numeric = {*map(text, rows.filter(pl.col("value_type").is_in(["boolean", "number"]))["scanner_key"])}
    for row in rows.rows(named=True):
        scanner, kind = text(row["scanner_key"]), row["value_type"]
        if wanted and scanner != wanted:
            found.left_out[f"another scanner than {wanted}"] += 1
            continue
        error = text(row.get("scan_error"))
        if kind not in ("boolean", "number") and not error and (scanner not in numeric or kind not in (None, "null")):
            found.left_out[f"the value is of type {kind}, not one number"] += 1
            continue
        told = _metadata(row.get("transcript_metadata"))
        model = text(row.get("transcript_model")) or text(told.get("model"))
        eval_name = text(row.get("transcript_task_set")) or text(told.get("task_name"))
        ident = text(row.get("transcript_task_id")) or text(told.get("id")) or text(row["transcript_id"])
        found.add(
            subject=model,
            task=f"{scanner}/{eval_name}/{ident}",
            score=None if error else _value(row["value"]),
            reason=error or "the scanner gave no value",
            domain=scanner,
            family=eval_name,
            item_digest=content_digest(told["input"], told.get("target")) if told.get("input") else None,
            seconds=number(row.get("transcript_total_time")),
            tokens=number(row.get("transcript_total_tokens")),
            limit=text(row.get("transcript_limit")) or None,
            error=error,
            date=day(row.get("transcript_date")),
            log=text(row.get("transcript_source_uri")),
            source=path.name,
        )
    if not found.rows and not found.left_out.total():
        raise InputError(f"{path}: contains no row.")
    return found


def _metadata(held: Any) -> dict[str, Any]:
    try:
        return inner(json.loads(held)) if isinstance(held, str) else {}
    except (ValueError, RecursionError):
        return {}


def _value(held: Any) -> float | None:
    """The value, which is JSON in a column of texts."""
    if isinstance(held, str):
        try:
            held = json.loads(held)
        except (ValueError, RecursionError):
            return None
    return number(held)
