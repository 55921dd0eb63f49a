"""Spreadsheets: the first sheet that has rows, read as any other table; the extra ``excel`` (fastexcel) is needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError, need
from howsure.safe_io import Archive
from howsure.sources import Progress, files
from howsure.tables import Table
from howsure.tables.frames import FAULTS, Part

__all__ = ["ABOUT", "OPTIONS", "read", "recognise"]

ABOUT = "spreadsheets (.xlsx, .xlsm), of which the first sheet with rows is read"
OPTIONS = files.OPTIONS

_ENDINGS = (".xlsx", ".xlsm")
_LOCK = "~$"  # how the file begins that a spreadsheet program keeps beside one that is open
_NO_NAME = "__UNNAMED__"
_MOST_TITLES = 20
_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")


def recognise(path: Path) -> str | None:
    """By the ending."""
    is_sheet = path.suffix.lower() in _ENDINGS and not path.name.startswith(_LOCK) and path.is_file()
    return "it is a spreadsheet" if is_sheet else None


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
            filled = {name: sheet for name, sheet in sheets.items() if len(sheet)}
            if not filled:
                raise InputError(f"{path}: no sheet has rows below a header.")
            first, *others = filled
            sheet, says = _below_titles(path, first, filled[first])
        except (*FAULTS, ValueError, RuntimeError) as error:
            told = " ".join(str(error).split())[:160]
            raise InputError(f"{path}: not a whole spreadsheet ({told}). Save it again, or as csv.") from None
        rows = sheet.with_columns(source=pl.lit(f"{path.name}, {first}")).lazy()
        frames.append(Part(rows, path, "xlsx", is_parsed=True, says=says))
        if others:
            notes.append(f"{path.name}: sheet {first} is read; not read: {', '.join(others)}.")
    table = files.read(frames, divide_by=divide_by, progress=progress, **options)
    table.notes = (*table.notes, *notes)
    return table


def _below_titles(path: Path, name: str, sheet: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The sheet from the first row with several texts and no number on, if its own first row is a title: one cell alone."""
    if sum(not column.startswith(_NO_NAME) for column in sheet.columns) > 1 or len(sheet.columns) < 2:
        return sheet, ()
    cells = pl.read_excel(path, sheet_name=name, has_header=False, infer_schema_length=0, drop_empty_rows=False)
    for place, row in enumerate(cells.head(_MOST_TITLES).iter_rows()):
        filled = [cell for cell in row if cell not in (None, "")]
        if len(filled) > 1:
            if any(_NUMBER.fullmatch(cell) for cell in filled):
                return sheet, ()
            n = cells.head(place).filter(~pl.all_horizontal(pl.all().is_null())).height
            below = pl.read_excel(
                path,
                sheet_name=name,
                infer_schema_length=None,
                read_options={"header_row": place},
                drop_empty_rows=True,
            )
            return below, (f"{n} row{'s' if n > 1 else ''} above the header left out",)
    return sheet, ()
