"""Spreadsheets: the first sheet that has rows, read as any other table; the extra ``excel`` (fastexcel) is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError, need
from howsure.safe_io import Archive
from howsure.sources import Progress, files
from howsure.tables import Table
from howsure.tables.frames import FAULTS

__all__ = ["ABOUT", "OPTIONS", "read", "recognise"]

ABOUT = "spreadsheets (.xlsx, .xlsm), of which the first sheet with rows is read"
OPTIONS = files.OPTIONS

_ENDINGS = (".xlsx", ".xlsm")


def recognise(path: Path) -> str | None:
    """By the ending."""
    return "it is a spreadsheet" if path.suffix.lower() in _ENDINGS and path.is_file() else None


def read(paths: Sequence[Path], *, divide_by: float = 1, progress: Progress | None = None, **options: Any) -> Table:
    """The rows of the first sheet that has some, with columns recognised as in other files; other sheets are named in the notes."""
    need("fastexcel", "excel", f"{paths[0]}: reading spreadsheets")
    frames, notes = [], []
    for path in dict.fromkeys(paths):
        with Archive(path) as archive:
            for name in archive.names:
                archive.read(name)  # refused here if it unpacks beyond reason
        try:
            sheets = pl.read_excel(path, sheet_id=0, infer_schema_length=None)
        except (*FAULTS, ValueError, RuntimeError) as error:
            told = " ".join(str(error).split())[:160]
            raise InputError(f"{path}: not a whole spreadsheet ({told}). Save it again, or as csv.") from None
        filled = {name: sheet for name, sheet in sheets.items() if len(sheet)}
        if not filled:
            raise InputError(f"{path}: no sheet has rows below a header.")
        first, *others = filled
        frames.append(filled[first].with_columns(source=pl.lit(f"{path.name}, {first}")))
        if others:
            notes.append(f"{path.name}: sheet {first} is read; not read: {', '.join(others)}.")
    table = files.read(frames, divide_by=divide_by, progress=progress, **options)
    table.notes = (*table.notes, *notes)
    return table
