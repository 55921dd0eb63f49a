"""Means where every rater meets every item: intervals that speak of other raters and of other items.

Ratings come as one row per item and one column per rater, with NaN for gaps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, check_level, normal_quantile, t_quantile
from howsure.stats._ratings import rated, ratings
from howsure.stats.components import mean_squares
from howsure.stats.means import Bounds, Mean
from howsure.stats.proportions import score_bounds

__all__ = ["crossed_difference", "crossed_mean"]


def crossed_mean(matrix: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Mean:
    r"""The mean of all ratings, with an interval for other items and other raters.

    .. math:: se^2 = \frac{\sigma^2_{item}}{n} + \frac{\sigma^2_{rater}}{k} + \frac{\sigma^2_e}{nk}
                   = \frac{MS_{item} + MS_{rater} - MS_e}{nk}

    with components below 0 set to 0, t on Satterthwaite's degrees of freedom, and with gaps the components of REML and the
    shares of ratings that each item and rater has. Within ``bounds`` the interval is Wilson's with effective size
    x̄(1 − x̄)/se² on the unit scale, as in `clustered_mean`; with ``bounds=None`` it is x̄ ± t·se.

    `howsure.study.coverage` simulates how often it contains the true value. Where all ratings are equal, the smaller of the two
    numbers counts as that many yes-or-no trials, and ``reason`` says so.
    """
    check_level(level)
    table, is_there = rated(ratings(matrix))
    values = table[is_there]
    _check_within(values, bounds)
    squares = mean_squares(table, is_there) if len(values) else "no rating"
    if isinstance(squares, str):
        value = float(values.mean()) if len(values) else None
        return Mean(Estimate.without("too_few", squares, value=value, level=level), None, len(values), len(table), None)
    n = len(values)
    crowding = [float((is_there.sum(axis=axis) ** 2).sum()) / n**2 for axis in (1, 0)]
    parts = [
        _Part(squares.item, squares.df_item, crowding[0] / squares.per_item),
        _Part(squares.rater, squares.df_rater, crowding[1] / squares.per_rater),
    ]
    se, df = _combined(parts, _Part(squares.error, squares.df_error, 1 / n))
    return Mean(_estimate(float(values.mean()), se, df, min(table.shape), level, bounds), se, n, len(table), df)


def crossed_difference(a: ArrayLike, b: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Mean:
    r"""The mean of the items ``a`` minus that of the items ``b``, which the same raters rated.

    .. math:: se^2 = h \sigma^2_{item} + \frac{\sigma^2_{rater \times group}}{k} + \frac{h \sigma^2_e}{k}, \qquad
              h = \frac{1}{n_a} + \frac{1}{n_b}

    A rater's severity cancels. The variance of items comes from within the two groups, so each needs two items: the only item
    of a group cannot be told from its group. The interval is d ± t·se on Satterthwaite's degrees of freedom, cut at what
    ``bounds`` of the ratings allow.
    """
    check_level(level)
    groups = [ratings(a), ratings(b)]
    if groups[0].shape[1] != groups[1].shape[1]:
        raise InputError(
            f"{groups[0].shape[1]} and {groups[1].shape[1]} raters. Give the same columns on both sides, NaN for gaps."
        )
    groups = [table[(~np.isnan(table)).any(axis=1)] for table in groups]
    by_rater = _column_means(groups[0]) - _column_means(groups[1])
    by_rater = by_rater[~np.isnan(by_rater)]
    n_items, n = [len(table) for table in groups], int(sum((~np.isnan(table)).sum() for table in groups))
    value = float(_row_means(groups[0]).mean() - _row_means(groups[1]).mean()) if min(n_items) else None
    if min(n_items) < 2 or len(by_rater) < 2:
        reason = (
            f"{n_items[0]} and {n_items[1]} items, rated by {len(by_rater)} raters on both sides; 2 of each are needed"
        )
        return Mean(Estimate.without("too_few", reason, value=value, level=level), None, n, sum(n_items), None)
    assert value is not None
    se, df = _spread_of_difference(groups, by_rater)
    return Mean(_difference(value, se, df, level, bounds), se, n, sum(n_items), df)


class _Part(NamedTuple):
    """A mean square, its degrees of freedom, and its factor in the variance of the mean."""

    square: float
    df: float
    factor: float


def _combined(parts: list[_Part], error: _Part) -> tuple[float, float]:
    """Standard error and degrees of freedom; a part that is less than error alone would give adds nothing."""
    used = [part for part in parts if part.square > error.square]
    rest = error._replace(factor=error.factor - sum(part.factor for part in used))
    terms = [part.factor * part.square for part in (*used, rest)]
    variance = math.fsum(terms)
    if variance <= 0:
        return 0.0, error.df
    spread = math.fsum(term**2 / part.df for term, part in zip(terms, (*used, rest), strict=True))
    return math.sqrt(variance), max(variance**2 / spread, 1.0)


def _estimate(value: float, se: float, df: float, n_units: int, level: float, bounds: Bounds) -> Estimate:
    if bounds is None:
        if not se:
            return Estimate.without("undefined", "all ratings are equal, and no bounds are known", value=value, level=level)  # fmt: skip
        reach = t_quantile(level, df) * se
        return Estimate(value, value - reach, value + reach, level)
    low, width = bounds[0], bounds[1] - bounds[0]
    share = min(max((value - low) / width, 0.0), 1.0)
    is_spread = se > 0 and 0 < share < 1
    trials = share * (1 - share) * (width / se) ** 2 if is_spread else float(n_units)
    quantile = t_quantile(level, df) if is_spread else normal_quantile(level)
    below, above = score_bounds(share, trials, quantile)
    reason = "" if is_spread else f"all ratings are equal, so the interval takes them as {n_units} yes-or-no trials"
    return Estimate(value, low + width * float(below), low + width * float(above), level, reason=reason)


def _spread_of_difference(groups: list[Floats], by_rater: Floats) -> tuple[float, float]:
    k, h = len(by_rater), sum(1 / len(table) for table in groups)
    rests = [table - _row_means(table)[:, None] - _column_means(table) + np.nanmean(table) for table in groups]
    error_df = sum((len(table) - 1) * (k - 1) for table in groups)
    error = sum(float(np.nansum(rest**2)) for rest in rests) / error_df
    item_df = sum(len(table) for table in groups) - 2
    item = sum(float(((_row_means(table) - _row_means(table).mean()) ** 2).sum()) for table in groups) / item_df
    parts = [_Part(k * item, item_df, h / k), _Part(float(by_rater.var(ddof=1)) / h, k - 1, h / k)]
    return _combined(parts, _Part(error, error_df, h / k))


def _difference(value: float, se: float, df: float, level: float, bounds: Bounds) -> Estimate:
    if not se:
        reason = "all items of a group are rated alike, so nothing tells how far the difference may be off"
        return Estimate.without("undefined", reason, value=value, level=level)
    reach, width = t_quantile(level, df) * se, math.inf if bounds is None else bounds[1] - bounds[0]
    return Estimate(value, max(value - reach, -width), min(value + reach, width), level)


def _row_means(table: Floats) -> Floats:
    return _column_means(table.T)


def _column_means(table: Floats) -> Floats:
    """NaN where a column is empty."""
    is_there = ~np.isnan(table)
    counts = is_there.sum(axis=0)
    return np.asarray(np.where(is_there, table, 0.0).sum(axis=0) / np.where(counts, counts, np.nan))


def _check_within(values: Floats, bounds: Bounds) -> None:
    if bounds is None or not len(values):
        return
    slack = 1e-9 * (bounds[1] - bounds[0])
    if values.min() < bounds[0] - slack or values.max() > bounds[1] + slack:
        raise InputError(
            f"Ratings from {values.min():g} to {values.max():g} are not between {bounds[0]:g} and {bounds[1]:g}. Rescale, or pass the bounds that hold (None for none)."
        )
