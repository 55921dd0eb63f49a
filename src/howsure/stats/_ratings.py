"""Checks of ratings that the modules on raters share: one row per item, one column per rater, NaN where nobody rated."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats._arrays import Bools, Floats

__all__ = ["certain", "rated", "ratings"]


def ratings(matrix: ArrayLike) -> Floats:
    """Ratings as floats, items × raters, with NaN for gaps; infinity and text are refused."""
    try:
        table = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Ratings are not a table of numbers: {error}. Give numbers, and NaN for gaps.") from error
    if table.ndim != 2:
        raise InputError(f"Ratings have {table.ndim} dimensions. Give one row per item and one column per rater.")
    if not np.isfinite(table).all() and np.isinf(table).any():
        row, column = np.argwhere(np.isinf(table))[0]
        raise InputError(f"Ratings: infinity at row {row}, column {column}. Correct it, or write NaN for a gap.")
    return table


def rated(table: Floats) -> tuple[Floats, Bools]:
    """The ratings without empty rows and columns, and which cells are filled."""
    is_there = ~np.isnan(table)
    if is_there.all():
        return table, is_there
    rows, columns = is_there.any(axis=1), is_there.any(axis=0)
    return table[rows][:, columns], is_there[rows][:, columns]


def certain(value: float, reason: str, level: float) -> Estimate:
    """An estimate without an interval: the data do not vary, so its error cannot be estimated."""
    return Estimate(value, level=level, reason=reason, low_state="undefined", high_state="undefined")
