"""Inspect's data frames: ``samples_df`` as attempts, ``evals_df`` as scores, from parquet, csv or a live frame."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.sources import Progress
from howsure.sources._reading import keys
from howsure.sources._records import Found, as_table, content_digest, day, number, text, verdict
from howsure.tables import Scores, Table
from howsure.tables.frames import format_of, parts_of
from howsure.tables.metrics import better_by_name

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "read_frames", "recognise", "recognise_columns"]

ABOUT = "Inspect's samples_df and evals_df (parquet, csv, or a live frame)"
OPTIONS = frozenset({"scorer", "table", "strict", "better"})
LAYOUTS = {
    "samples_df": frozenset({"sample_id", "eval_id", "id", "epoch"}),
    "evals_df": frozenset({"eval_id", "task_name", "model", "score_headline_value"}),
}


def recognise(path: Path) -> str | None:
    """By the columns that each of the two frames has."""
    return recognise_columns(keys(path)) if path.is_file() and format_of(path) else None


def recognise_columns(columns: Sequence[str]) -> str | None:
    """Why columns are those of one of Inspect's frames, or None."""
    found = _layout(columns)
    return f"it has the columns of Inspect's {found}" if found else None


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    scorer: str | None = None,
    table: str | None = None,
    strict: bool = False,
    better: str | None = None,
) -> Table:
    """Samples as attempts, or evals as scores by their headline metric; samples that lack model and task take them from the evals."""
    frames = {path: _frame(path) for path in dict.fromkeys(paths)}
    return _read(
        frames,
        divide_by=divide_by,
        progress=progress,
        scorer=scorer,
        table=table,
        strict=strict,
        better=better,
    )


def read_frames(frames: Sequence[pl.DataFrame], **options: Any) -> Table:
    """As `read`, of frames in memory."""
    return _read({Path(f"frame {place}"): frame for place, frame in enumerate(frames, 1)}, **options)


def _read(frames: dict[Path, pl.DataFrame], *, scorer: str | None = None, **options: Any) -> Table:
    evals = {
        row["eval_id"]: row
        for frame in frames.values()
        if _layout(frame.columns) == "evals_df"
        for row in frame.select("eval_id", "task_name", "model", pl.col("^score_headline_name$")).rows(named=True)
    }

    def load(path: Path) -> Found:
        frame = frames[path]
        is_samples = _layout(frame.columns) == "samples_df"
        return _samples(path, frame, evals, scorer) if is_samples else _evals(path, frame)

    return as_table(list(frames), load, **options)


def _layout(columns: Sequence[str]) -> str | None:
    return next((name for name, needed in LAYOUTS.items() if needed <= set(columns)), None)


def _frame(path: Path) -> pl.DataFrame:
    """The frame without the long texts of samples."""
    (part,) = parts_of(path)
    there = part.rows.collect_schema().names()
    return part.collect(part.rows.select(name for name in there if name not in ("choices", "model_usage", "messages")))


def _samples(path: Path, frame: pl.DataFrame, evals: dict[str, Any], wanted: str | None) -> Found:
    found = Found(path)
    scorers = [name.removeprefix("score_") for name in frame.columns if re.match(r"score_(?!headline_)", name)]
    headlines = [known.get("score_headline_name") for known in evals.values()]
    usual = next((name for name in headlines if name in scorers), None) or next(iter(scorers), "")
    name, _, key = (wanted or usual).partition(".")
    if wanted and name not in scorers:
        raise OptionError.unknown(f"scorer in {path}", name, scorers)
    if not wanted and len(scorers) > 1:
        found.notes.append(f"{path.name}: scored by {name}; --scorer chooses among {', '.join(scorers)}.")
    better = better_by_name(f"{name}.{key}")
    for row in frame.rows(named=True):
        known = evals.get(row["eval_id"], {})
        model, task = (text(row.get(one)) or text(known.get(one)) for one in ("model", "task_name"))
        eval_name = task or _of_log(row.get("log")) or text(row["eval_id"])
        value, error = _chosen(row.get(f"score_{name}"), key), text(row.get("error"))
        seconds = number(_number(row.get("total_time")))
        found.add(
            subject=model,
            task=f"{eval_name}/{text(row['id'])}",
            score=verdict(value),
            reason=error
            or text(row.get("limit"))
            or (f"the score is {value}" if text(value) else f"no value in score_{name}"),
            domain=eval_name,
            seconds=seconds,
            tokens=number(_number(row.get("total_tokens"))),
            limit=text(row.get("limit")),
            error=error,
            date=day(row.get("created")),
            item_digest=content_digest(row["input"], row.get("target")) if row.get("input") else None,
            source=path.name,
            better=better,
        )
    if not found.rows and found.left_out["no subject"]:
        raise InputError(
            f"{path}: names no model. Make it with samples_df(logs, columns=EvalInfo + EvalTask + EvalModel + SampleSummary), "
            "or read it together with evals_df of the same logs."
        )
    return found


def _chosen(value: Any, key: str) -> Any:
    """The value itself, or one of the values of a dictionary, which the frame holds as JSON."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            held = json.loads(value)
        except (ValueError, RecursionError):
            return None
        return held.get(key) if key else None
    return value


def _number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return value


def _of_log(log: Any) -> str | None:
    """The task in a log's name: ``<time>_<task>_<id>.eval``."""
    told = re.fullmatch(r".*?\d_(.+)_[A-Za-z0-9]{20,24}\.(?:eval|json)", str(log or "").rpartition("/")[2])
    return told[1] if told else None


def _evals(path: Path, frame: pl.DataFrame) -> Found:
    found = Found(path, Scores)
    for row in frame.rows(named=True):
        n = number(_number(row.get("completed_samples")))
        found.add(
            model=text(row["model"]),
            benchmark=text(row["task_name"]),
            score=number(_number(row["score_headline_value"])),
            se=number(_number(row.get("score_headline_stderr"))),
            n_items=int(n) if n and n >= 1 else None,
            source=path.name,
        )
    return found
