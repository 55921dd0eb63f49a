"""Checks of arguments, and two quantiles, that the modules of this package share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from howsure.errors import InputError, OptionError

__all__ = [
    "Bools",
    "Floats",
    "Ints",
    "aligned",
    "check_level",
    "cluster_sums",
    "codes",
    "finite",
    "hall_quantile",
    "hall_statistic",
    "normal_quantile",
    "t_quantile",
]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def finite(values: ArrayLike, name: str) -> Floats:
    """The values as a flat array of floats; NaN and infinity are refused."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions. Give one value per entry, in a flat array.")
    bad = ~np.isfinite(array)
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"{name}: {bad.sum():,} of {len(array):,} values are not finite, the first at position {first}. Remove them or correct them."
        )
    return array


def aligned(**named: ArrayLike) -> tuple[Floats, ...]:
    """Several finite arrays, once they are equally long."""
    arrays = tuple(finite(values, name) for name, values in named.items())
    if len({len(array) for array in arrays}) > 1:
        lengths = ", ".join(f"{name} {len(array):,}" for name, array in zip(named, arrays, strict=True))
        raise InputError(f"Lengths differ: {lengths}. Give arrays with one entry for the same thing at each position.")
    return arrays


def codes(labels: Any, name: str) -> Ints:
    """Labels of any hashable kind as integers 0, 1, …; a missing label is refused."""
    array = np.asarray(labels)
    if array.ndim == 1 and array.dtype.kind in "biuU":
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    seen: dict[Any, int] = {}
    for position, label in enumerate(labels):
        if label is None or (isinstance(label, float) and np.isnan(label)):
            raise InputError(f"{name}: nothing at position {position}. Give every row a label or leave the row out.")
        seen.setdefault(label, len(seen))
    return np.array([seen[label] for label in labels], dtype=np.int64)


def cluster_sums(values: Floats, clusters: Any) -> tuple[Floats, Floats]:
    """The sum and the number of values in each cluster; without labels each value is its own."""
    if clusters is None:
        return values, np.ones(len(values))
    code = codes(clusters, "clusters")
    if len(code) != len(values):
        raise InputError(
            f"Lengths differ: {len(values):,} values, {len(code):,} cluster labels. Give one label a value."
        )
    return np.bincount(code, weights=values).astype(np.float64), np.bincount(code).astype(np.float64)


def check_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1)."""
    if not 0 < level < 1:
        raise OptionError(f"level {level} is not between 0 and 1. Write 0.95 for 95 %.")


def normal_quantile(level: float) -> float:
    """How many standard errors a two-sided normal interval reaches: 1.96 for 0.95."""
    check_level(level)
    return float(ndtri((1 + level) / 2))


def t_quantile(level: float, df: float) -> float:
    """How many standard errors a two-sided t interval reaches."""
    check_level(level)
    return float(stdtrit(df, (1 + level) / 2))


def hall_statistic(t: Any, skewness: Any) -> Any:
    r"""A t statistic corrected for skewness: :math:`T + \tfrac{\gamma}{3}T^2 + \tfrac{\gamma^2}{27}T^3 + \tfrac{\gamma}{6}` (Hall 1992).

    ``skewness`` is that of the mean: the skewness of the observations divided by the root of their number.
    """
    return t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6


def hall_quantile(quantile: Any, skewness: Any) -> Any:
    """The inverse of `hall_statistic`: how many standard errors below the estimate a limit lies."""
    is_skew = np.abs(skewness) > 1e-6
    by = np.where(is_skew, skewness, 1.0)
    return np.where(is_skew, 3 / by * (np.cbrt(1 + by * (quantile - by / 6)) - 1), quantile)
