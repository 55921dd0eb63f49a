"""A table's cells as text: numbers of a column to the same digit, and keys to sort them by."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from howsure.estimates import Estimate
from howsure.results.blocks import Cell, TableBlock

__all__ = ["DisplayCell", "DisplayColumn", "Kind", "shown_columns"]

Kind = Literal["number", "date", "name", "text"]
"""How a column is aligned, sorted and broken into lines; names are short texts that stay on one."""

_DIGITS, _MOST_DECIMALS = 3, 4  # significant digits of a column's middle number
_NAME = 28  # letters at the most


@dataclass(frozen=True)
class DisplayCell:
    """What a cell says, and what it is sorted by; an empty key comes last."""

    text: str
    key: str


@dataclass(frozen=True)
class DisplayColumn:
    """A column with its cells, aligned and sorted by their kind."""

    title: str
    kind: Kind
    cells: tuple[DisplayCell, ...]


def shown_columns(table: TableBlock) -> list[DisplayColumn]:
    """The table's columns, ready to be shown."""
    return [_column(title, [row[place] for row in table.rows]) for place, title in enumerate(table.columns)]


def _column(title: str, cells: Sequence[Cell]) -> DisplayColumn:
    there = [cell for cell in cells if cell is not None]
    decimals = _decimals([cell for cell in there if isinstance(cell, float)])
    return DisplayColumn(title, _kind(there), tuple(_shown(cell, decimals) for cell in cells))


def _kind(cells: Sequence[Cell]) -> Kind:
    if cells and all(_is_number(cell) for cell in cells):
        return "number"
    if cells and all(isinstance(cell, datetime.date) for cell in cells):
        return "date"
    return "text" if any(len(str(cell)) > _NAME for cell in cells) else "name"


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float | Estimate) and not isinstance(cell, bool)


def _decimals(numbers: Sequence[float]) -> int:
    """As many as show the middle number to three digits, so that a column ends at the same place."""
    sizes = sorted(abs(number) for number in numbers if math.isfinite(number) and number)
    middle = sizes[len(sizes) // 2] if sizes else 1.0
    return min(max(0, _DIGITS - 1 - math.floor(math.log10(middle))), _MOST_DECIMALS)


def _shown(cell: Cell, decimals: int) -> DisplayCell:
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return DisplayCell("–", "")
    if isinstance(cell, Estimate):
        return DisplayCell(str(cell), "" if cell.value is None else repr(cell.value))
    text = _text(cell, decimals)
    return DisplayCell(text, repr(cell) if _is_number(cell) else text)


def _text(cell: str | float | datetime.date, decimals: int) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return _number(cell, decimals) if isinstance(cell, float) else str(cell)


def _number(number: float, decimals: int) -> str:
    """To the column's digit; what would be shown as zero and is not, by its power of ten."""
    text = f"{number:,.{decimals}f}"
    return f"{number:.2g}" if number and not float(text.replace(",", "")) else text
