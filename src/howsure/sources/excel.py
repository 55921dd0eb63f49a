"""Spreadsheets: the first sheet that has rows, read as any other table; the extra ``excel`` (fastexcel) is needed."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
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
            parts = {name: archive.read(name) for name in archive.names}  # refused here if it unpacks beyond reason
        try:
            sheets = pl.read_excel(path, sheet_id=0, infer_schema_length=None)
            filled = {name: sheet for name, sheet in sheets.items() if len(sheet)}
            if not filled:
                raise InputError(f"{path}: no sheet has rows below a header.")
            first, *others = filled
            text = _sheet_text(parts, first)
            sheet, says = _below_titles(path, first, filled[first], text)
            sheet, also = _with_merged_cells(sheet, text)
        except (*FAULTS, ValueError, RuntimeError) as error:
            told = " ".join(str(error).split())[:160]
            raise InputError(f"{path}: not a whole spreadsheet ({told}). Save it again, or as csv.") from None
        rows = sheet.with_columns(source=pl.lit(f"{path.name}, {first}")).lazy()
        frames.append(Part(rows, path, "xlsx", is_parsed=True, says=(*says, *also)))
        if others:
            notes.append(f"{path.name}: sheet {first} is read; not read: {', '.join(others)}.")
    table = files.read(frames, divide_by=divide_by, progress=progress, **options)
    table.notes = (*table.notes, *notes)
    return table


def _below_titles(path: Path, name: str, sheet: pl.DataFrame, text: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
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
                read_options={"header_row": place + _corner(text)[1] - 1},  # empty rows at the top are not in `cells`
                drop_empty_rows=True,
            )
            return below, (f"{n} row{'s' if n > 1 else ''} above the header excluded",)
    return sheet, ()


def _sheet_text(parts: Mapping[str, bytes], name: str) -> str:
    """The XML of a sheet, found by the sheet's name, or nothing where the workbook does not say where it is."""
    book, links = (parts.get(f"xl/{one}", b"") for one in ("workbook.xml", "_rels/workbook.xml.rels"))
    attributes = [
        _attributes(tag)
        for tag in re.findall(r"<(?:\w+:)?(?:sheet|Relationship)\s[^>]*>", (book + links).decode(errors="replace"))
    ]
    number = next((one.get("r:id") for one in attributes if one.get("name") == name), None)
    target = next((one.get("Target", "") for one in attributes if number and one.get("Id") == number), "")
    return parts.get(f"xl/{target.removeprefix('/xl/')}", b"").decode(errors="replace")


def _attributes(tag: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in re.findall(r'([\w:]+)="([^"]*)"', tag)}


def _with_merged_cells(sheet: pl.DataFrame, text: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Cells that are merged over several rows hold their value for each of these rows, where no other cell of the column is empty."""
    hidden: Counter[int] = Counter()
    for left, top, right, bottom in re.findall(r'<(?:\w+:)?mergeCell ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"', text):
        if left == right:
            hidden[_column(left) - _corner(text)[0]] += int(bottom) - int(top)
    filled = [
        name
        for place, name in enumerate(sheet.columns)
        if hidden[place] and sheet[name].null_count() == hidden[place] and sheet[name][0] is not None
    ]
    if not filled:
        return sheet, ()
    told = f"merged cells of {', '.join(filled)} count for each of their rows"
    return sheet.with_columns(pl.col(filled).forward_fill()), (told,)


def _corner(text: str) -> tuple[int, int]:
    """The column and the row of the sheet's first cell, from 1."""
    said = re.search(r'<(?:\w+:)?dimension ref="([A-Z]+)(\d+)', text) or re.search(
        r'<(?:\w+:)?c r="([A-Z]+)(\d+)', text
    )
    return (_column(said[1]), int(said[2])) if said else (1, 1)


def _column(letters: str) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
