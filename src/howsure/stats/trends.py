"""A straight line through points, with its confidence band and its prediction band."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Bools, Floats, Ints, aligned, check_level, t_quantile
from howsure.stats.replicates import Interval, replicate_interval

__all__ = [
    "Line",
    "add_replicates",
    "clustered_slope",
    "fit_censored_lines",
    "fit_line",
    "frontier_jackknife",
    "is_frontier",
    "truncated_normal",
]


_MOST_STEPS = 500
_TINY = 1e-300
_FEWEST_CLUSTERS = 3


@dataclass(frozen=True)
class Line:
    """A line fitted by least squares: y = intercept + slope·x.

    ``r2`` is the share of the variance of y that it explains (None where y does not vary), ``sigma`` the standard deviation
    of a point of weight 1 around it (None for two points). ``x_mean``, ``y_mean`` and ``x_spread`` = Σw(x − x̄)² make the bands.
    """

    slope: Estimate
    intercept: Estimate
    r2: float | None
    sigma: float | None
    n: int
    x_mean: float
    y_mean: float
    x_spread: float
    weight: float

    def predict(self, x: ArrayLike) -> Floats:
        """The line's height at x."""
        # around the mean, since years squared cost digits
        assert self.slope.value is not None
        return self.y_mean + self.slope.value * (np.asarray(x, dtype=np.float64) - self.x_mean)

    def confidence(self, x: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Where the line itself may run at x: low and high. Two points leave it open: ±∞."""
        return self._band(x, 0.0, level)

    def prediction(self, x: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Where one new point of weight 1 may lie at x: low and high. Wider, as points scatter around the line."""
        return self._band(x, 1.0, level)

    def _band(self, x: ArrayLike, scatter: float, level: float) -> tuple[Floats, Floats]:
        check_level(level)
        height, distance = self.predict(x), np.asarray(x, dtype=np.float64) - self.x_mean
        if self.sigma is None:
            return np.full_like(height, -np.inf), np.full_like(height, np.inf)
        se = self.sigma * np.sqrt(scatter + 1 / self.weight + distance**2 / self.x_spread)
        reach = t_quantile(level, self.n - 2) * se
        return height - reach, height + reach


def add_replicates(scatter: ArrayLike, drawn: Floats, level: float) -> tuple[Floats, Floats, Interval]:
    """How far an interval reaches below and above its estimate: scatter around a line, and errors of the points themselves.

    The two are independent parts, whose squares are added. The second is taken from quantiles around the median, so that one replicate
    far away does not matter.

    Parameters
    ----------
    scatter : float or array, shape (…)
        Half the width of the t interval for the scatter.
    drawn : array, shape (n_replicates, …)
        The same quantity in each replicate; NaN failed.
    level : float
        Coverage, between 0 and 1.

    Returns
    -------
    below, above : array, shape (…)
        How far the interval reaches to each side.
    Interval
        That of the replicates alone, with its state.
    """
    found = replicate_interval(drawn, level)
    is_failed = np.isnan(drawn).all(axis=0)  # the interval will say so
    middle = np.nanmedian(np.where(is_failed, 0.0, drawn), axis=0)
    return np.hypot(scatter, middle - found.low), np.hypot(scatter, found.high - middle), found


def fit_line(x: ArrayLike, y: ArrayLike, *, weights: ArrayLike | None = None, level: float = 0.95) -> Line:
    """The line of least squares through points, with t intervals on n − 2 degrees of freedom.

    ``weights`` are inverse variances up to a factor; without them all points count alike. Points are taken as independent: those
    of a running maximum are not, and its band is too narrow (see `frontier_jackknife`). Two points give a line whose slope and intercept have no
    interval; fewer, or points above one another, give none.
    """
    check_level(level)
    x, y, w = _checked(x, y, weights)
    x_mean, y_mean = np.average(x, weights=w), np.average(y, weights=w)
    dx, dy = x - x_mean, y - y_mean
    x_spread, y_spread = (w * dx**2).sum(), (w * dy**2).sum()
    slope = (w * dx * dy).sum() / x_spread
    unexplained = (w * (dy - slope * dx) ** 2).sum()
    sigma = float(np.sqrt(unexplained / (len(x) - 2))) if len(x) > 2 else None
    at_zero = np.sqrt(1 / w.sum() + x_mean**2 / x_spread)
    return Line(
        slope=_coefficient(slope, 1 / np.sqrt(x_spread), sigma, len(x), level),
        intercept=_coefficient(y_mean - slope * x_mean, at_zero, sigma, len(x), level),
        r2=float(1 - unexplained / y_spread) if y_spread else None,
        sigma=sigma,
        n=len(x),
        x_mean=float(x_mean),
        y_mean=float(y_mean),
        x_spread=float(x_spread),
        weight=float(w.sum()),
    )


def fit_censored_lines(x: ArrayLike, low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    """Lines through points of which some are only known to lie in an interval: slopes, and the points with these filled in.

    Normal regression with interval censoring, by expectation–maximisation (Tobin 1958; Dempster, Laird and Rubin 1977): a censored point is replaced
    by its mean, given the line, its scatter and its bounds, until nothing moves.

    Parameters
    ----------
    x : array, shape (n,)
        Where the points are, the same for all lines.
    low, high : array, shape (n_lines, n)
        Bounds of each point. Equal bounds are a point that is known; −inf and inf leave one side open, both together say nothing about it.

    Returns
    -------
    slopes : array, shape (n_lines,)
        NaN where fewer than two values of x have a known point.
    filled : array, shape (n_lines, n)
        The points, the censored ones by their expected value; NaN where the slope is.

    Examples
    --------
    >>> slopes, filled = fit_censored_lines([0, 1, 2, 3], [[0.0, 1.0, 2.0, 2.5]], [[0.0, 1.0, 2.0, float("inf")]])
    >>> round(float(slopes[0]), 3), round(float(filled[0, 3]), 3)
    (1.0, 3.0)
    """
    x, low, high = (np.asarray(values, dtype=np.float64) for values in (x, low, high))
    is_known = low == high
    at = np.where(is_known, x, np.nan)
    has_line = is_known.any(axis=1)
    has_line[has_line] = np.nanmax(at[has_line], axis=1) > np.nanmin(at[has_line], axis=1)
    filled = np.where(is_known, low, np.nan)
    filled[~has_line] = np.nan
    rows = np.flatnonzero(has_line & ~is_known.all(axis=1))
    if len(rows):
        filled[rows] = _fill(x, low[rows], high[rows])
    dx = x - x.mean()
    return filled @ dx / (dx**2).sum(), filled


def clustered_slope(
    x: Floats, y: Floats, cluster: Ints, *, level: float, drawn_x: Floats | None = None, drawn_y: Floats | None = None
) -> Estimate:
    """The slope of y on x, with an interval for points that come in clusters and for values that are estimates.

    Parameters
    ----------
    x, y : array, shape (n,)
        Plain least squares gives the slope.
    cluster : array of int
        The cluster of each point, numbered from 0: points of one cluster resemble each other.
    level : float
        Coverage, between 0 and 1.
    drawn_x, drawn_y : array, shape (n_replicates, n), optional
        Replicates of x and y, where they are estimates.

    Returns
    -------
    Estimate
        The variance is that of the jackknife over clusters plus that of the slope over the replicates, the interval that of t with one
        degree of freedom less than there are clusters; its state is `too_few` with fewer than 3 clusters.
    """
    value, n = _raw_slope(x, y), int(cluster.max()) + 1
    kept = [cluster != f for f in range(n)]
    if n < _FEWEST_CLUSTERS or any(np.ptp(x[some]) == 0 for some in kept):
        reason = f"{n} clusters; an interval needs {_FEWEST_CLUSTERS}"
        return Estimate(value, level=level, reason=reason, low_state="too_few", high_state="too_few")
    without = np.array([_raw_slope(x[some], y[some]) for some in kept])
    variance = (n - 1) / n * ((without - without.mean()) ** 2).sum()
    n_drawn = max(0 if drawn is None else len(drawn) for drawn in (drawn_x, drawn_y))
    if n_drawn > 1:
        each = [
            np.resize(values if drawn is None or not len(drawn) else drawn, (n_drawn, len(values)))
            for values, drawn in ((x, drawn_x), (y, drawn_y))
        ]
        variance += np.var([_raw_slope(*pair) for pair in zip(*each, strict=True)], ddof=1)
    reach = t_quantile(level, n - 1) * math.sqrt(variance)
    return Estimate(value, value - reach, value + reach, level)


def is_frontier(days: Ints, values: Floats, top_n: int = 1) -> Bools:
    """Which points were among the ``top_n`` highest on their day, of all up to the end of it.

    Parameters
    ----------
    days : array of int, shape (n,)
        When each point was made.
    values : array, shape (…, n)
        How high each is; leading axes are replicates.
    top_n : int
        How many are the frontier.

    Returns
    -------
    array of bool, shape (…, n)
    """
    if top_n < 1:
        raise OptionError(f"top_n is {top_n}; the frontier is at least the best 1.")
    best = np.full((*values.shape[:-1], top_n), -np.inf)
    found = np.zeros(values.shape, dtype=bool)
    for day in np.unique(days):
        today = days == day
        new = values[..., today]
        best = np.sort(np.concatenate([best, new], axis=-1), axis=-1)[..., -top_n:]
        found[..., today] = new >= best[..., :1]
    return found


def frontier_jackknife(days: Ints, values: Floats, included: Bools) -> tuple[Floats, Floats]:
    """The line through the frontier without each point in turn, where the frontier is chosen again every time.

    The points of a running maximum are selected, so the scatter around their line is too small, and who sets an early record matters for all that follow. The jackknife
    over all points, those below the frontier too, includes both.

    Parameters
    ----------
    days : array of int, shape (n,)
        When each point was made.
    values : array, shape (n,)
        How high each is.
    included : array of bool, shape (n,)
        Points that the line may go through; the others only count for the frontier.

    Returns
    -------
    slopes, heights : array, shape (n_lines,)
        The slope, and the height at the mean day of the line through all. Frontiers of fewer than two days have no line and are left out.
    """
    middle = days[is_frontier(days, values) & included].mean()
    lines = []
    for out in range(len(days)):
        kept = np.arange(len(days)) != out
        used = is_frontier(days[kept], values[kept]) & included[kept]
        x, y = days[kept][used].astype(np.float64), values[kept][used]
        if len(x) and np.ptp(x) > 0:
            slope = _raw_slope(x, y)
            lines.append((slope, y.mean() + slope * (middle - x.mean())))
    found = np.array(lines).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _fill(x: Floats, low: Floats, high: Floats) -> Floats:
    """Expected values of censored points under the line of largest likelihood, starting from the line through the known ones."""
    is_known = low == high
    n_known = is_known.sum(axis=1, keepdims=True)
    known = np.where(is_known, low, 0.0)
    dx, y_mean = x - (is_known * x).sum(axis=1, keepdims=True) / n_known, known.sum(axis=1, keepdims=True) / n_known
    slope = (dx * np.where(is_known, known - y_mean, 0)).sum(axis=1, keepdims=True) / (is_known * dx**2).sum(
        axis=1, keepdims=True
    )
    fitted, around = y_mean + slope * dx, x - x.mean()
    least = 1e-6 * (np.ptp(np.where(is_known, low, y_mean), axis=1, keepdims=True) + _TINY)
    spread = np.sqrt((np.where(is_known, low - fitted, 0) ** 2).sum(axis=1, keepdims=True) / n_known)
    values = known
    for _ in range(_MOST_STEPS):
        spread = np.maximum(spread, least)
        mean, variance = truncated_normal((low - fitted) / spread, (high - fitted) / spread)
        before, values = values, np.where(is_known, low, fitted + spread * mean)
        variance = np.where(is_known, 0, spread**2 * variance)
        centre, slope = values.mean(axis=1, keepdims=True), (values @ around / (around**2).sum())[:, None]
        fitted = centre + slope * around
        spread = np.sqrt(((values - fitted) ** 2 + variance).mean(axis=1, keepdims=True))
        if np.abs(values - before).max() < 1e-9 * np.abs(values).max():
            break
    return values


def truncated_normal(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of a standard normal variable between bounds."""
    is_right = low > 0  # mirrored, since Φ keeps its digits on the left
    low, high = np.where(is_right, -high, low), np.where(is_right, -low, high)
    mass = np.maximum(ndtr(high) - ndtr(low), _TINY)
    density = [np.exp(-(np.minimum(np.abs(z), 100) ** 2) / 2) / np.sqrt(2 * np.pi) for z in (low, high)]
    moved = [np.where(np.isfinite(z), z, 0) * d for z, d in zip((low, high), density, strict=True)]
    mean = np.clip((density[0] - density[1]) / mass, low, high)
    variance = np.clip(1 + (moved[0] - moved[1]) / mass - np.clip(mean, -1e9, 1e9) ** 2, 0, 1)
    return np.where(is_right, -mean, mean), variance


def _raw_slope(x: Floats, y: Floats) -> float:
    away = x - x.mean()
    return float(away @ y / (away @ away))


def _checked(x: ArrayLike, y: ArrayLike, weights: ArrayLike | None) -> tuple[Floats, ...]:
    x, y, w = aligned(x=x, y=y, weights=np.ones(np.size(x)) if weights is None else weights)
    if (w <= 0).any():
        raise InputError(f"weights: {w.min():g} at position {w.argmin()}. Remove points without weight.")
    if len(x) < 2 or np.ptp(x) == 0:
        raise InputError(
            f"{len(x)} points at {len(np.unique(x))} values of x make no line. Give at least 2 values of x."
        )
    return x, y, w


def _coefficient(value: float, factor: float, sigma: float | None, n: int, level: float) -> Estimate:
    """A coefficient whose standard error is sigma times ``factor``."""
    if sigma is None:
        return Estimate.without("too_few", "2 points; an interval needs 3", value=value, level=level)
    reach = t_quantile(level, n - 2) * sigma * factor
    return Estimate(value, value - reach, value + reach, level)
