"""What a column may hold: its meaning, its type, and what can be wrong with a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import polars as pl

__all__ = ["Column", "Rule", "rules", "typed", "typed_name"]


@dataclass(frozen=True)
class Column:
    """What a column means and which values it takes."""

    name: str
    meaning: str
    kind: Literal["text", "number", "whole", "date"] = "text"
    required: bool = False
    low: float | None = None
    high: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    remedy: str = ""
    is_scaled: bool = False  # divided by `divide_by`, as scores on another scale are
    may_be_empty: bool = False  # a required column of which single values may be missing
    by_default: str = ""  # what a required column is filled with where the input lacks it


@dataclass(frozen=True)
class Rule:
    """What may be wrong with a column: an expression that is true where it is, and the words for it."""

    name: str
    column: Column
    bad: pl.Expr
    says: str
    remedy: str


def rules(column: Column, dtype: pl.DataType, *, is_free: pl.Expr | None = None) -> list[Rule]:
    """What can be wrong with a value, over the column as it was given and as `typed` makes it.

    ``is_free`` says of which rows the range is not checked.
    """
    raw, typed = _present(column, dtype), pl.col(typed_name(column))
    found: list[Rule] = []

    def rule(bad: pl.Expr, says: str, remedy: str = "") -> None:
        told = remedy or column.remedy or f"Correct it or leave {'the row' if column.required else 'it'} out."
        found.append(Rule(f"{column.name}/{len(found)}", column, bad.fill_null(False), says, told))

    if column.required and not column.may_be_empty:
        rule(raw.is_null(), "is missing", "Fill it in or leave the row out.")
    if column.kind == "text":
        text = raw.cast(pl.String)
        rule(text != text.str.strip_chars(), "has space around it", "Remove the space.")
        if column.choices:
            rule(~text.is_in(column.choices), f"is not one of {', '.join(column.choices)}")
        return found
    rule(raw.is_not_null() & typed.is_null(), f"is not {_KINDS[column.kind]}", _how_to_write(column))
    if column.kind == "date":
        return found
    number = typed.cast(pl.Float64)
    rule(~number.is_finite(), "is not a finite number", "Remove it or correct it.")
    finite = number.is_finite()
    if column.high is not None:
        outside = finite & ~number.is_between(column.low or 0, column.high)
        rule(
            outside if is_free is None else outside & ~is_free.fill_null(False),
            f"is not between {column.low:g} and {column.high:g}",
        )
    elif column.low is not None:
        rule(finite & (number < column.low), f"is below {column.low:g}")
    elif column.above is not None:
        rule(finite & (number <= column.above), f"is not above {column.above:g}")
    return found


_KINDS = {"number": "a number", "whole": "a whole number", "date": "a date"}
_WRITE = {
    "number": "Write it with digits and a point (0.75, not 0,75 or 75%; 1 and 0, not yes and no)",
    "whole": "Write it with digits",
    "date": "Write dates as 2025-01-31",
}


def _how_to_write(column: Column) -> str:
    absent = "leave the row out" if column.required else "leave it empty"
    return f"{_WRITE[column.kind]}, and {absent} where there is none."


def _present(column: Column, dtype: pl.DataType) -> pl.Expr:
    """The value as it was given, with an empty text as nothing."""
    raw = pl.col(column.name)
    return pl.when(raw != "").then(raw) if dtype == pl.String else raw


def typed_name(column: Column) -> str:
    """What the typed values are called while they stand beside the given ones."""
    return f"#{column.name}"


def typed(column: Column, dtype: pl.DataType, divide_by: float) -> pl.Expr:
    """The values as the column's kind, null where they are not of it."""
    cast = _CASTS[column.kind](_present(column, dtype), dtype, divide_by if column.is_scaled else 1)
    return cast.alias(typed_name(column))


def _as_number(raw: pl.Expr, dtype: pl.DataType, divide_by: float) -> pl.Expr:
    if dtype.is_temporal():
        return pl.lit(None, pl.Float64)
    number = raw.cast(pl.Float64, strict=False)
    if dtype == pl.String:
        lower = raw.str.to_lowercase()
        number = number.fill_null(pl.when(lower == "true").then(1.0).when(lower == "false").then(0.0))
    return number if divide_by == 1 else number / divide_by


def _as_whole(raw: pl.Expr, dtype: pl.DataType, divide_by: float) -> pl.Expr:
    if dtype.is_temporal():
        return pl.lit(None, pl.Int64)
    if dtype.is_integer():
        return raw.cast(pl.Int64, strict=False)
    number = raw.cast(pl.Float64, strict=False)
    return pl.when(number == number.round(0)).then(number).cast(pl.Int64, strict=False)


def _as_date(raw: pl.Expr, dtype: pl.DataType, divide_by: float) -> pl.Expr:
    if dtype in (pl.Date, pl.Datetime):
        return raw.cast(pl.Date)
    if dtype != pl.String:
        return pl.lit(None, pl.Date)
    day = raw.str.extract(r"^(\d{4}-\d{2}-\d{2})(?:[T ]\d.*)?$", 1)
    return day.str.to_date("%Y-%m-%d", strict=False)


def _as_text(raw: pl.Expr, dtype: pl.DataType, divide_by: float) -> pl.Expr:
    return raw.cast(pl.String, strict=False)


_CASTS: dict[str, Callable[[pl.Expr, pl.DataType, float], pl.Expr]] = {
    "text": _as_text,
    "number": _as_number,
    "whole": _as_whole,
    "date": _as_date,
}
