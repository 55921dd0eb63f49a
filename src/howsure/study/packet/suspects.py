"""Rows of scores that nobody measured: blanks, copies, and statistics that repeat to the last digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

__all__ = ["MEASURED_SCORES", "Suspects", "find_suspects", "measured_columns"]

MEASURED_SCORES = ("score", "model_score", "pfi")
"""What a column of scores is usually called."""

_FINEST_STEP = 1000  # scores in steps of 1/1000 or more coarsely tie by chance
_SHOWN = 5


@dataclass(frozen=True)
class Suspects:
    """Why rows are refused, by their number, and what was found in sentences."""

    reasons: dict[int, str]
    findings: tuple[str, ...]


def find_suspects(frame: pl.DataFrame, scores: np.ndarray, column: str, lines: Sequence[int]) -> Suspects:
    """Rows without a score, copies, and rows whose measured statistics all repeat in rows that are called otherwise.

    Two texts that are measured to many digits never get the same statistics throughout, so equal statistics are a placeholder, a dry run or a
    copy. Statistics in coarse steps (up to 1/1000, as a mean of whole marks has) tie by chance: there only whole copies are refused.
    ``column`` is that of the ``scores``; ``lines`` are where the rows stand in their file.
    """
    blanks = {int(row): "no score" for row in np.flatnonzero(np.isnan(scores))}
    copies = _copies(frame, lines, without=blanks)
    kept = [row for row in range(len(frame)) if row not in blanks and row not in copies]
    measured = list(dict.fromkeys([*measured_columns(frame), column]))
    groups = _equal_groups(frame, measured, kept)
    is_fine = any(_is_fine(_numbers(frame[name])) for name in measured)
    alike = {row: _alike(group, lines) for group in groups if is_fine for row in group}
    findings = [
        *([f"{len(blanks)} of {len(frame)} rows have no {column}."] if blanks else []),
        *([f"{len(copies)} of {len(frame)} rows are copies of earlier ones in every column."] if copies else []),
        *(_told(frame, groups, measured, column, lines, is_fine=is_fine) if groups else []),
    ]
    return Suspects({**blanks, **copies, **alike}, tuple(findings))


def measured_columns(frame: pl.DataFrame) -> list[str]:
    """Columns of numbers with decimals: what was measured. Whole numbers may be labels, such as the number of a run."""
    return [name for name in frame.columns if _is_measured(_numbers(frame[name]))]


def _is_measured(numbers: pl.Series) -> bool:
    there = numbers.drop_nulls().drop_nans()
    return len(there) > 0 and len(there) == len(numbers) - numbers.null_count() and bool((there % 1 != 0).any())


def _numbers(column: pl.Series) -> pl.Series:
    """The column as numbers, NaN where text is none."""
    text = column.cast(pl.String).str.strip_chars()
    filled = text.set(text == "", None)
    return filled.cast(pl.Float64, strict=False).fill_null(float("nan")).set(filled.is_null(), None)


def _copies(frame: pl.DataFrame, lines: Sequence[int], without: dict[int, str]) -> dict[int, str]:
    first: dict[tuple[object, ...], int] = {}
    found = {}
    for row, cells in enumerate(frame.iter_rows()):
        if row not in without and first.setdefault(cells, row) != row:
            found[row] = f"a copy of line {lines[first[cells]]}"
    return found


def _equal_groups(frame: pl.DataFrame, measured: Sequence[str], kept: Sequence[int]) -> list[list[int]]:
    """Rows that agree in every measured statistic, two or more together."""
    statistics = pl.DataFrame({name: _numbers(frame[name]) for name in measured}).rows()
    groups: dict[tuple[object, ...], list[int]] = {}
    for row in kept:
        groups.setdefault(statistics[row], []).append(row)
    return [group for group in groups.values() if len(group) > 1]


def _is_fine(numbers: pl.Series) -> bool:
    """Whether no step of 1/1, 1/2, … 1/1000 explains all statistics."""
    values = numbers.drop_nulls().drop_nans().unique().to_numpy()
    scaled = np.outer(np.arange(1, _FINEST_STEP + 1), values[:_FINEST_STEP])
    return not (np.abs(scaled - np.round(scaled)) < 1e-6).all(axis=1).any()


def _alike(group: Sequence[int], lines: Sequence[int]) -> str:
    others = f"{len(group) - 1} other row" + ("s" if len(group) > 2 else "")
    return f"the same measured statistics as {others}, from line {lines[group[0]]} on"


def _told(
    frame: pl.DataFrame,
    groups: Sequence[Sequence[int]],
    measured: Sequence[str],
    column: str,
    lines: Sequence[int],
    *,
    is_fine: bool,
) -> list[str]:
    n_alike = sum(map(len, groups))
    if not is_fine:
        return [
            f"{n_alike} of {len(frame)} rows tie in {_listed(measured)}; in steps this coarse that is no wonder, so they stay."
        ]
    labels = [name for name in frame.columns if name not in measured]
    differ = [name for name in labels if any(frame[name][list(group)].n_unique() > 1 for group in groups)]
    called = f", though they differ in {_listed(differ)}" if differ else ""
    where_found = [f"{len(g)} from line {lines[g[0]]} ({column} {_numbers(frame[column])[g[0]]:.6g})" for g in groups]
    more = f" and {len(groups) - _SHOWN} more groups" if len(groups) > _SHOWN else ""
    return [
        f"{n_alike} of {len(frame)} rows agree with others to the last digit in {_listed(measured)}{called}: "
        f"{', '.join(where_found[:_SHOWN])}{more}. Different texts are not measured alike; "
        "this is what a dry run or copied values look like. None of these rows is used."
    ]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
