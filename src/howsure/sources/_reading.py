"""What sources of attempts share while they read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from howsure.frames import Part
from howsure.sources import Progress

__all__ = ["counted", "number_attempts"]


def counted(paths: Sequence[Path], progress: Progress | None) -> Iterator[Path]:
    """The paths one by one, each once however often it is named, with `progress` told after each."""
    once = dict.fromkeys(paths)
    for done, path in enumerate(once, 1):
        yield path
        if progress:
            progress(done, len(once))


def number_attempts(parts: Sequence[Part], *, order: str | None = None) -> list[Part]:
    """The parts with a column ``attempt``: 1, 2, … for each subject and task across the files, by `order` or as they stand."""
    frames = [part.collect(part.rows) for part in parts]
    by = [pl.col(order)] if order else []
    rows = pl.concat([frame.select("subject", "task", *by) for frame in frames]).with_row_index("#row")
    attempt = pl.int_range(1, pl.len() + 1).over("subject", "task", order_by=[*by, pl.col("#row")]).alias("attempt")
    numbers = rows.select(attempt)["attempt"]
    starts = [0]
    for frame in frames:
        starts.append(starts[-1] + len(frame))
    return [
        replace(part, rows=frame.with_columns(numbers.slice(start, len(frame))).lazy())
        for part, frame, start in zip(parts, frames, starts, strict=False)
    ]
