"""Variance components of ratings: items, raters and residual."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, fdtri

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Bools, Floats, check_level, normal_quantile, t_quantile
from howsure.stats.means import Bounds, Mean, score_bounds

__all__ = [
    "MeanSquares",
    "VarianceComponents",
    "certain",
    "crossed_difference",
    "crossed_mean",
    "mean_squares",
    "one_way_squares",
    "rated",
    "ratings",
    "variance_components",
    "without_raters",
]

_ROUNDING = 8 * np.finfo(np.float64).eps
_NEGLIGIBLE = 1e-7  # a residual this small against all variance is what the search leaves of none
_LEAST = 1e-14  # of the sum of squares: keeps the logarithm
_STARTS = ((0.7, 0.7), (4.0, 4.0))  # log(1 + λ); from one alone 2 of 2,500 random designs missed the maximum
_RANGE = (0.0, 18.0)  # up to 10⁸ times the residual
_SEARCH = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10}


class MeanSquares(NamedTuple):
    """Mean squares of ratings, or what REML's components make of them where cells are missing.

    ``per_item`` k₀ and ``per_rater`` n₀ are the numbers of raters and items when all cells are filled, and otherwise the
    numbers that give a mean square its expectation, k₀σ²(item) + σ²(error) and n₀σ²(rater) + σ²(error).
    """

    item: float
    rater: float
    error: float
    per_item: float
    per_rater: float
    df_item: int
    df_rater: int
    df_error: int


@dataclass(frozen=True)
class VarianceComponents:
    """The variance of one rating of a random item by a random rater, split into three.

    ``item`` is what there is to agree on, ``rater`` how much severities differ, ``residual`` what neither explains: noise and
    tastes. ``method`` is ``anova`` for a full table and ``reml`` where cells are missing.
    """

    item: Estimate
    rater: Estimate
    residual: Estimate
    method: Literal["anova", "reml"]
    n_items: int
    n_raters: int
    n_ratings: int

    @property
    def shares(self) -> dict[str, float] | None:
        """Each component over their sum, or None where nothing varies or nothing tells them apart."""
        parts = {name: getattr(self, name).value or 0.0 for name in ("item", "rater", "residual")}
        total = sum(parts.values())
        return {name: part / total for name, part in parts.items()} if total else None


def variance_components(
    matrix: ArrayLike, *, method: Literal["anova", "reml"] | None = None, level: float = 0.95
) -> VarianceComponents:
    r"""Variance between items, between raters, and residual, from ratings with one row per item and one column per rater.

    .. math:: x_{ij} = \mu + a_i + b_j + e_{ij}, \qquad
              \sigma^2_a = \frac{MS_a - MS_e}{k}, \quad \sigma^2_b = \frac{MS_b - MS_e}{n}, \quad \sigma^2_e = MS_e

    A full table is split by analysis of variance; one with gaps (NaN) by restricted maximum likelihood, which equals it on a
    full table unless a component falls below 0; ``method`` asks for one of them. A component below 0 is set to 0, and
    ``reason`` says so. The intervals of items and raters are those of Ting et al. (1990), exact where one mean square
    dominates; that of the residual comes from χ². With gaps they are approximate: the components stand for mean squares.
    """
    check_level(level)
    table, is_there = rated(ratings(matrix))
    used = _checked_method(method, has_gaps=not is_there.all())
    squares = _reml_squares(table, is_there) if used == "reml" else mean_squares(table, is_there)
    if isinstance(squares, str):
        item = rater = residual = Estimate.without("too_few", squares, level=level)
    else:
        item = _component(squares.item, squares.error, squares.per_item, squares.df_item, squares.df_error, level)
        rater = _component(squares.rater, squares.error, squares.per_rater, squares.df_rater, squares.df_error, level)
        residual = _residual(squares, level)
    n_items, n_raters = table.shape
    return VarianceComponents(item, rater, residual, used, n_items, n_raters, int(is_there.sum()))


def mean_squares(table: Floats, is_there: Bools) -> MeanSquares | str:
    """Mean squares of items, raters and error, by ANOVA for a full table and REML otherwise; or why there are none."""
    if not is_there.all():
        return _reml_squares(table, is_there)
    n, k = table.shape
    if n < 2 or k < 2:
        return _lack(n, k)
    centred = table - table.sum() / table.size
    items, raters = centred.sum(axis=1) / k, centred.sum(axis=0) / n
    rest = centred - items[:, None] - raters
    df_error, least = (n - 1) * (k - 1), _least(table)
    item = _positive(k * float(items @ items) / (n - 1), least)
    rater = _positive(n * float(raters @ raters) / (k - 1), least)
    error = _positive(float(np.vdot(rest, rest)) / df_error, least)
    return MeanSquares(item, rater, error, k, n, n - 1, k - 1, df_error)


def one_way_squares(table: Floats, is_there: Bools) -> MeanSquares | str:
    """Mean squares of items and, as error, of ratings within them: raters are not told apart."""
    n, n_ratings = len(table), int(is_there.sum())
    if n < 2 or n_ratings <= n:
        return f"{n} items, {n_ratings} ratings; 2 items and one of them rated twice tell agreement from noise"
    counts = is_there.sum(axis=1)
    centred = np.where(is_there, table - table[is_there].mean(), 0.0)
    items = centred.sum(axis=1) / counts
    rest = np.where(is_there, centred - items[:, None], 0.0)
    df_error, least = n_ratings - n, _least(table[is_there])
    item = _positive(float(counts @ items**2) / (n - 1), least)
    error = _positive(float(np.vdot(rest, rest)) / df_error, least)
    per_item = (n_ratings - float(counts @ counts) / n_ratings) / (n - 1)
    return MeanSquares(item, error, error, per_item, n, n - 1, n_ratings - n, df_error)


def without_raters(squares: MeanSquares) -> MeanSquares:
    """The one-way mean squares of a full table, from its two-way ones."""
    df_within = squares.df_rater + squares.df_error
    within = (squares.df_rater * squares.rater + squares.df_error * squares.error) / df_within
    return squares._replace(rater=within, error=within, df_rater=df_within, df_error=df_within)


def _checked_method(method: str | None, *, has_gaps: bool) -> Literal["anova", "reml"]:
    if method not in (None, "anova", "reml"):
        raise OptionError.unknown("method", str(method), ("anova", "reml"))
    if method == "anova" and has_gaps:
        raise OptionError(
            "Analysis of variance needs a full table, and this one has gaps. Ask for reml, or leave it open."
        )
    return "reml" if method == "reml" or has_gaps else "anova"


def _lack(n: int, k: int) -> str:
    return f"{n} items rated by {k} raters; at least 2 of each are needed"


def _least(values: Floats) -> float:
    """What rounding may leave of a mean square that is 0."""
    return values.size * (_ROUNDING * max(float(values.max()), -float(values.min()))) ** 2


def _positive(square: float, least: float) -> float:
    return square if square > least else 0.0


def _reml_squares(table: Floats, is_there: Bools) -> MeanSquares | str:
    """The mean squares that would give REML's components."""
    n, k = table.shape
    if n < 2 or k < 2:
        return _lack(n, k)
    n_ratings, n_islands = int(is_there.sum()), _count_islands(is_there)
    df_item, df_rater = n - n_islands, k - n_islands
    df_error = n_ratings - n - k + n_islands
    if min(df_item, df_rater, df_error) < 1:
        return f"{n_ratings} ratings link {n} items and {k} raters too thinly to tell raters from noise; let more raters share items"
    item, rater, error = _reml(table, is_there)
    per_item, per_rater = (n_ratings - k) / df_item, (n_ratings - n) / df_rater
    return MeanSquares(
        per_item * item + error, per_rater * rater + error, error, per_item, per_rater, df_item, df_rater, df_error
    )


def _count_islands(is_there: Bools) -> int:
    """Into how many parts items and raters fall when a rating links the two."""
    from scipy.sparse import bmat, csr_array
    from scipy.sparse.csgraph import connected_components

    links = csr_array(is_there.astype(np.int8))
    return int(connected_components(bmat([[None, links], [links.T, None]]), directed=False)[0])


def _reml(table: Floats, is_there: Bools) -> tuple[float, float, float]:
    """Components of items, raters and residual at the maximum of the restricted likelihood."""
    from scipy.optimize import minimize

    if table.shape[1] > len(table):
        # the likelihood treats both alike, and the matrix to invert has the size of the second
        rater, item, residual = _reml(table.T, is_there.T)
        return item, rater, residual
    values = table[is_there]
    scale = float(values.std())
    if scale <= _ROUNDING * np.abs(values).max():
        return 0.0, 0.0, 0.0
    filled, shown = np.where(is_there, (table - values.mean()) / scale, 0.0), is_there.astype(np.float64)
    searches = [
        minimize(_on_log_scale, start, (filled, shown), jac=True, bounds=[_RANGE] * 2, options=_SEARCH)
        for start in _STARTS
    ]
    ratios = np.expm1(_polished(min(searches, key=lambda search: float(search.fun)).x, filled, shown))
    residual = _Profile.at(ratios, filled, shown).residual
    item, rater = scale**2 * residual * ratios
    return float(item), float(rater), scale**2 * residual if residual > _NEGLIGIBLE else 0.0


def _on_log_scale(grown: Floats, filled: Floats, shown: Floats) -> tuple[float, Floats]:
    """Deviance and gradient by log(1 + λ), on which 0 is an ordinary bound and large ratios are near."""
    profile = _Profile.at(np.expm1(grown), filled, shown)
    return profile.deviance(), profile.gradient() * np.exp(grown)


def _polished(point: Floats, filled: Floats, shown: Floats) -> Floats:
    """The root of the gradient near the end of a search, which stops at about eight digits because the deviance is flat there."""
    free = np.flatnonzero((point > 1e-3) & (point < _RANGE[1] - 1e-3))
    for _ in range(2):
        slope = _on_log_scale(point, filled, shown)[1][free]
        steps = 1e-4 * np.eye(len(point))[free]
        bend = np.array(
            [
                (_on_log_scale(point + one, filled, shown)[1] - _on_log_scale(point - one, filled, shown)[1])[free]
                / 2e-4
                for one in steps
            ]
        ).reshape(len(free), len(free))
        try:
            move = np.linalg.solve(bend, slope)
        except np.linalg.LinAlgError:
            return point
        if np.abs(move).max(initial=0.0) > 1e-3:  # no maximum nearby: along a flat ridge
            return point
        point = point.copy()
        point[free] -= move
    return point


@dataclass(frozen=True)
class _Profile:
    r"""The restricted likelihood of two crossed random effects at given variance ratios.

    .. math:: d(\lambda) = \log|V| + \log 1'V^{-1}1 + (N - 1) \log Q, \qquad
              V = I + \lambda_a Z_a Z_a' + \lambda_b Z_b Z_b', \quad Q = (y - \hat\mu)'V^{-1}(y - \hat\mu)

    λ are the variances of items (a) and raters (b) over that of the residual, which is Q/(N − 1). Raters aside, V is inverted
    item by item: M = I − c_i 11' with c_i = λ_a/(1 + n_i λ_a). What is left is a matrix of raters by raters, H = I + λ_b W with
    W = Z_b'MZ_b, and Z_b'V⁻¹ = H⁻¹Z_b'M.
    """

    item: float
    rater: float
    shown: Floats  # 1 where there is a rating
    shrink: Floats  # 1/(1 + n_i λ_a)
    between: Floats  # W
    inverse: Floats  # H⁻¹
    turned: Floats  # Z_b'V⁻¹1
    weight: float  # 1'V⁻¹1
    by_rater: Floats  # Z_b'V⁻¹(y − μ)
    by_item: Floats  # Z_a'V⁻¹(y − μ)
    left: float  # Q

    @classmethod
    def at(cls, ratios: Floats, filled: Floats, shown: Floats) -> _Profile:
        """Solve for the mean, with 0 for the gaps in ``filled``."""
        item, rater = (float(ratio) for ratio in ratios)
        counts, sums = shown.sum(axis=1), filled.sum(axis=1)
        shrink = 1 / (1 + counts * item)
        between = np.diag(shown.sum(axis=0)) - (shown.T * (item * shrink)) @ shown
        ones, values = shown.T @ shrink, filled.sum(axis=0) - shown.T @ (item * shrink * sums)
        inverse = np.linalg.inv(np.eye(len(ones)) + rater * between)
        turned = inverse @ ones
        weight = float(counts @ shrink - rater * ones @ turned)
        mean = float(sums @ shrink - rater * values @ turned) / weight
        by_rater = inverse @ (values - mean * ones)
        by_item = shrink * (sums - counts * mean - rater * shown @ by_rater)
        errors = filled - shown * (mean + item * by_item[:, None] + rater * by_rater)
        left = float((errors**2).sum() + item * by_item @ by_item + rater * by_rater @ by_rater)
        return cls(item, rater, shown, shrink, between, inverse, turned, weight, by_rater, by_item, left)

    @property
    def residual(self) -> float:
        """The residual variance that goes with these ratios."""
        return self.left / float(self.shown.sum() - 1)

    def deviance(self) -> float:
        """Minus twice the restricted log-likelihood, up to a constant."""
        size = -np.linalg.slogdet(self.inverse)[1] - np.log(self.shrink).sum() + math.log(self.weight)
        return float(size + (self.shown.sum() - 1) * math.log(max(self.left, _LEAST)))

    def gradient(self) -> Floats:
        r"""By λ_a and λ_b: tr(Z'PZ) − (N − 1)|Z'Py|²/Q, with P = V⁻¹ − V⁻¹1 1'V⁻¹/1'V⁻¹1."""
        counts = self.shown.sum(axis=1)
        lent = self.rater * ((self.shown @ self.inverse) * self.shown).sum(axis=1)
        ones = self.shrink * (counts - self.rater * self.shown @ self.turned)
        items = (self.shrink * (counts - self.shrink * lent)).sum() - ones @ ones / self.weight
        raters = (self.inverse * self.between).sum() - self.turned @ self.turned / self.weight
        force = np.array([self.by_item @ self.by_item, self.by_rater @ self.by_rater]) / max(self.left, _LEAST)
        return np.asarray(np.array([items, raters]) - (self.shown.sum() - 1) * force)


def _component(signal: float, noise: float, size: float, df: int, df_noise: int, level: float) -> Estimate:
    """(signal − noise)/size with the interval of Ting et al. for a difference of mean squares."""
    tail, raw = (1 - level) / 2, (signal - noise) / size
    low = raw - _reach(signal, noise, df, df_noise, tail) / size
    high = raw + _reach(noise, signal, df_noise, df, tail) / size
    if high < 0:
        return certain(0.0, f"far less than noise alone would give ({raw:.3g}), set to 0", level)
    reason = f"less than noise alone would give ({raw:.3g}), set to 0" if raw < 0 else ""
    return Estimate(max(raw, 0.0), max(low, 0.0), high, level, reason=reason)


def _reach(kept: float, taken: float, df_kept: int, df_taken: int, tail: float) -> float:
    """How far kept − taken may lie too high: exact if either is 0."""
    shrink, grow = 1 - df_kept / chdtri(df_kept, tail), df_taken / chdtri(df_taken, 1 - tail) - 1
    ratio = fdtri(df_kept, df_taken, 1 - tail)
    mixed = ((ratio - 1) ** 2 - (shrink * ratio) ** 2 - grow**2) / ratio
    return math.sqrt(max((shrink * kept) ** 2 + (grow * taken) ** 2 + mixed * kept * taken, 0.0))


def _residual(squares: MeanSquares, level: float) -> Estimate:
    tail, total = (1 - level) / 2, squares.df_error * squares.error
    return Estimate(
        squares.error, total / chdtri(squares.df_error, tail), total / chdtri(squares.df_error, 1 - tail), level
    )


# Checks of ratings that the modules on raters share: one row per item, one column per rater, NaN where nobody rated.


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


# Means where every rater meets every item: intervals that speak of other raters and of other items.
#
# Ratings come as one row per item and one column per rater, with NaN for gaps.


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
