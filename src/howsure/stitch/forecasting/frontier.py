"""The frontier: models that were among the best on the day of their release, and the line that they make."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Bools, Floats, Ints, t_quantile
from howsure.stats.means import mean
from howsure.stats.trends import Line, add_replicates, fit_line, is_frontier

if TYPE_CHECKING:
    from howsure.stitch.scale import Scale

__all__ = [
    "AHEAD",
    "DAYS_A_YEAR",
    "FRONTIERS",
    "Dated",
    "FrontierDraws",
    "SimulatedFrontier",
    "Trend",
    "dates_of",
    "draw_frontier",
    "fit_trend",
    "frontier_coverage",
    "frontier_frame",
    "frontier_level",
    "horizon_errors",
    "simulate_frontier",
    "summarise_horizons",
    "years_of",
]

DAYS_A_YEAR = 365.25
_FEWEST = 3  # dates of which a line has an interval


@dataclass(frozen=True, eq=False)
class Dated:
    """Models whose release date is known: what every trend is made of.

    ``days`` count from 1970. ``drawn`` holds their capabilities in each replicate, one row each, and no row without replicates.
    """

    models: tuple[str, ...]
    days: Ints
    capability: Floats
    drawn: Floats

    @classmethod
    def of(cls, scale: Scale) -> Dated:
        """The dated models of a scale."""
        problem, value = scale.problem, scale.estimate.capability
        known = ~np.isnat(problem.dates)
        if not known.any():
            raise InputError("No model has a date, so there is no trend. Add the column date to the scores.")
        replicates = scale.usable_replicates
        drawn = np.empty((0, len(value))) if replicates is None else replicates.capability
        # a replicate that drew none of a model's scores tells nothing new about it
        drawn = np.where(np.isnan(drawn), value, drawn)
        names = tuple(name for name, is_known in zip(problem.models, known, strict=True) if is_known)
        return cls(names, problem.dates[known].astype(np.int64), value[known], drawn[:, known])

    @cached_property
    def years(self) -> Floats:
        """Release dates in years from 1970."""
        return self.days / DAYS_A_YEAR

    def is_frontier(self, top_n: int = 1) -> Bools:
        """Which models were among the ``top_n`` on the day of their release."""
        return is_frontier(self.days, self.capability, top_n)

    def trend(self, *, top_n: int = 1, level: float = 0.95) -> Trend | None:
        """`fit_trend`, or None where the frontier has too few dates."""
        try:
            return fit_trend(self, top_n=top_n, level=level)
        except InputError:
            return None


@dataclass(frozen=True, eq=False)
class Trend:
    """A line through the frontier, and how far the capabilities' own uncertainty moves it.

    An interval has two independent parts, whose squares are added (`howsure.stats.trends.add_replicates`). The first is the t interval of
    ordinary least squares. The second has the quantiles over replicates, in each of which the line is fitted again to the same
    models; it includes what their errors have in common, which no scatter around the line shows. Errors of single models are
    in both, which makes the interval wider; the points of a running maximum are not independent, which makes it narrower, and by more.
    ``drawn`` has the height at the mean date and the slope of each replicate's line.
    """

    line: Line
    drawn: Floats
    level: float

    @property
    def has_replicates(self) -> bool:
        """Whether the second part is known."""
        return len(self.drawn) > 1

    def slope(self, *, is_plain: bool = False) -> Estimate:
        """Capability per year; ``is_plain`` leaves out the second part."""
        value, sigma = self.line.slope.value, self.line.sigma
        if value is None or sigma is None:
            return self.line.slope
        reach = t_quantile(self.level, self.line.n - 2) * sigma / np.sqrt(self.line.x_spread)
        below, above = self._reach(reach, self.drawn[:, 1], is_plain=is_plain)
        return Estimate(value, value - float(below), value + float(above), self.level)

    def confidence(self, years: ArrayLike, *, is_plain: bool = False) -> tuple[Floats, Floats]:
        """Where the line itself may run: low and high."""
        return self._band(self.line.confidence(years, self.level), years, is_plain=is_plain)

    def prediction(self, years: ArrayLike, *, is_plain: bool = False) -> tuple[Floats, Floats]:
        """Where one new frontier model may lie: low and high."""
        return self._band(self.line.prediction(years, self.level), years, is_plain=is_plain)

    def _band(self, plain: tuple[Floats, Floats], years: ArrayLike, *, is_plain: bool) -> tuple[Floats, Floats]:
        middle, away = self.line.predict(years), np.asarray(years, dtype=np.float64) - self.line.x_mean
        drawn = np.add.outer(self.drawn[:, 0], np.zeros_like(away)) + np.multiply.outer(self.drawn[:, 1], away)
        below, above = self._reach(plain[1] - middle, drawn, is_plain=is_plain)
        return middle - below, middle + above

    def _reach(self, scatter: ArrayLike, drawn: Floats, *, is_plain: bool) -> tuple[Floats, Floats]:
        if is_plain or not self.has_replicates:
            return np.asarray(scatter), np.asarray(scatter)
        below, above, _ = add_replicates(scatter, drawn, self.level)
        return below, above


def fit_trend(dated: Dated, *, top_n: int = 1, level: float = 0.95) -> Trend:
    """The line through the frontier."""
    chosen = dated.is_frontier(top_n)
    n_days = len(np.unique(dated.days[chosen]))
    if n_days < _FEWEST:
        raise InputError(
            f"The frontier has models of {n_days} dates; a trend needs {_FEWEST}. Raise top_n, or add models with dates."
        )
    line = fit_line(dated.years[chosen], dated.capability[chosen], level=level)
    return Trend(line, _drawn_lines(line, dated.years[chosen], dated.drawn[:, chosen]), level)


def frontier_frame(dated: Dated, top_n: int = 1) -> pl.DataFrame:
    """Dated models in the order of their release: model, date, capability, is_frontier, p_frontier.

    ``p_frontier`` is the share of replicates in which a model was on the frontier.
    """
    drawn = is_frontier(dated.days, dated.drawn, top_n)
    return pl.DataFrame(
        {
            "model": dated.models,
            "date": dates_of(dated.years),
            "capability": dated.capability,
            "is_frontier": dated.is_frontier(top_n),
            "p_frontier": drawn.mean(axis=0) if len(drawn) else [None] * len(dated.models),
        },
        schema_overrides={"p_frontier": pl.Float64},
    ).sort("date", "capability", "model")


def years_of(date: datetime.date) -> float:
    """A date in years from 1970."""
    return (date - datetime.date(1970, 1, 1)).days / DAYS_A_YEAR


def dates_of(years: ArrayLike) -> pl.Series:
    """Years from 1970 as dates; NaN as none."""
    days = pl.Series(np.asarray(years, dtype=np.float64) * DAYS_A_YEAR, dtype=pl.Float64).fill_nan(None)
    return days.round().cast(pl.Int32).cast(pl.Date)


def _drawn_lines(line: Line, years: Floats, drawn: Floats) -> Floats:
    """Height at the line's mean date and slope of the line through each replicate's points."""
    away = years - line.x_mean
    return np.column_stack([drawn.mean(axis=1), drawn @ away / line.x_spread])


# The frontier as a process that never falls: where it will be, given where it is.
#
# The best capability so far, F(t), is the running maximum of the best new models of all months. The best new model of a month is
#
# .. math:: X_k = a + b\,t_k + w(t_k) + u(t_k) + \varepsilon_k
#
# a line, a slow change of its slope (w, integrated Brownian motion), a deviation that lasts about τ years (u, Ornstein–Uhlenbeck; almost a random walk for a
# long τ), and scatter. A month whose best new model is below F leaves F as it is, so for short horizons "no change" is the most likely outcome.
#
# Shapes are averaged: τ, and the sizes of u and w relative to the scatter, count by their likelihood with the line integrated out, which is analytic. Draws of the
# future months are joint, so they include the uncertainty of the line; by a basic bootstrap over the refits of the scale they also include that of today's best capability.


AHEAD = {1: "1 month", 3: "3 months", 6: "6 months", 9: "9 months", 12: "1 year", 18: "18 months", 24: "2 years"}
"""Horizons at which forecasts are compared with what happened: months and their names."""

_PATHS = 2000
_MONTH = 1 / 12
_FEWEST_MONTHS = 12
_FEWEST_RELEASES = 6  # months with a model
_LASTING = (0.5, 2.0, 8.0)  # years that a deviation from the line lasts
_DEVIATIONS = (0.5, 1.5, 4.5)  # its standard deviation, in units of the scatter
_BENDS = (0.0, 0.5)  # change of the slope in a year, relative to the slope


@dataclass(frozen=True, eq=False)
class FrontierDraws:
    """Draws of the frontier after today.

    Attributes
    ----------
    best : float
        Today's highest capability.
    gains : array, shape (n_draws, n_times)
        How far the frontier rises above it by each time; never negative, and never falling from one time to the next.
    errors : array, shape (n_draws,)
        Error of today's best capability, to be added to all times of a draw.
    newest : array, shape (n_draws, n_months)
        The best new model of each month after today; −inf where none is released.
    releases : array, shape (n_draws, n_months)
        When it is released, in years after today.
    """

    best: float
    gains: Floats
    errors: Floats
    newest: Floats
    releases: Floats

    @property
    def middle(self) -> Floats:
        """Today's best capability and the median gain."""
        return np.asarray(self.best + np.median(self.gains, axis=0))

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Low and high of the frontier at each time."""
        low, high = np.quantile(
            self.best + self.errors[:, None] + self.gains, [(1 - level) / 2, (1 + level) / 2], axis=0
        )
        return low, high

    @property
    def p_no_change(self) -> Floats:
        """The probability that no model is better than today's best by each time."""
        return np.asarray((self.gains == 0).mean(axis=0))


def frontier_level(days: Ints, capability: Floats, at: ArrayLike) -> Floats:
    """The highest capability of all models released up to each day of ``at``; NaN before the first."""
    order = np.argsort(days, kind="stable")
    best = np.maximum.accumulate(capability[order])
    place = np.searchsorted(days[order], np.asarray(at, dtype=np.float64), side="right") - 1
    return np.where(place >= 0, best[np.maximum(place, 0)], np.nan)


def draw_frontier(
    dated: Dated, ahead: ArrayLike, *, today: datetime.date | None = None, seed: int = 0, n_draws: int = _PATHS
) -> FrontierDraws:
    """Draws of the frontier after today, given the models that are there.

    Parameters
    ----------
    dated : Dated
        Models with their dates, capabilities and replicates.
    ahead : array
        Times in years after today, increasing.
    today : date, optional
        The release of the last model by default.
    seed : int
        The same seed gives the same draws.
    n_draws : int
        How many.

    Raises
    ------
    InputError
        If the models span less than a year, or came in fewer than 6 different months.
    """
    rng = np.random.default_rng(seed)
    times = np.atleast_1d(np.asarray(ahead, dtype=np.float64))
    if (times <= 0).any() or (np.diff(times) <= 0).any():
        raise OptionError("ahead: times after today must be positive and increasing.")
    now = float(dated.years.max()) if today is None else years_of(today)
    n_months = int((now - dated.years.min()) / _MONTH)
    if n_months < _FEWEST_MONTHS:
        raise InputError(f"The models span {n_months} months; a forecast of the frontier needs {_FEWEST_MONTHS}.")
    month = np.floor((now - dated.years) / _MONTH + 1e-9).astype(np.int64)
    newest = np.full(int(month.max()) + 1, -np.inf)
    np.maximum.at(newest, month, dated.capability)
    is_there = np.isfinite(newest)
    if is_there.sum() < _FEWEST_RELEASES:
        raise InputError(
            f"Models came in {is_there.sum()} different months; a forecast of the frontier needs {_FEWEST_RELEASES}."
        )
    past: Floats = -_MONTH * (np.flatnonzero(is_there).astype(np.float64) + 0.5)
    future: Floats = _MONTH * (np.arange(int(np.ceil(times[-1] / _MONTH - 1e-9)), dtype=np.float64) + 0.5)
    drawn = _draw_months(past, newest[is_there], future, n_draws, rng)
    # in a month without a release nothing changes
    drawn[rng.random(drawn.shape) > is_there.mean()] = -np.inf

    best = float(dated.capability.max())
    rises = np.maximum(np.maximum.accumulate(drawn, axis=1) - best, 0.0)
    before = np.column_stack([np.zeros(n_draws), rises])
    # a month's model may come on any of its days
    day = rng.random(drawn.shape)
    place = np.minimum(np.ceil(times / _MONTH - 1e-9).astype(np.int64) - 1, len(future) - 1)
    has_come = day[:, place] <= times / _MONTH - place
    gains = np.where(has_come, rises[:, place], before[:, place])
    errors = np.zeros(n_draws)
    if len(dated.drawn):
        errors = rng.choice(best - dated.drawn.max(axis=1), n_draws)
    releases = _MONTH * (np.arange(len(future)) + day)
    return FrontierDraws(best, gains, errors, drawn, releases)


def _draw_months(past: Floats, newest: Floats, future: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Joint draws of the best new models of future months, given those of past months: (n_draws, n_future).

    Universal kriging: for each shape the line is integrated out with a flat prior and the variance with Jeffreys' prior; shapes count by their likelihood.
    """
    slope, height = np.polyfit(past, newest, 1)
    scatter = max(float(np.std(newest - height - slope * past)), 1e-6)
    start, n = past.min() - _MONTH, len(past)
    design, ahead = (np.column_stack([np.ones(len(x)), x]) for x in (past, future))
    times = np.concatenate([past, future])
    apart = np.abs(times[:, None] - times)
    first = np.minimum(times[:, None], times) - start
    bending = first**3 / 3 + apart * first**2 / 2
    shapes = [(1.0, 0.0), *((years, size) for years in _LASTING for size in _DEVIATIONS)]
    found, fits = [], []
    for years, size in shapes:
        for bend in _BENDS:
            covariance = np.eye(len(times)) + size**2 * np.exp(-apart / years)
            covariance += (bend * max(float(slope), 0.05) / scatter) ** 2 * bending
            root = np.linalg.cholesky(covariance[:n, :n])
            scaled, target = np.linalg.solve(root, design), np.linalg.solve(root, newest)
            normal = scaled.T @ scaled
            line = np.linalg.solve(normal, scaled.T @ target)
            squares = float(((target - scaled @ line) ** 2).sum())
            # the likelihood with the line and the variance integrated out
            fits.append(
                -np.log(np.diag(root)).sum() - 0.5 * np.linalg.slogdet(normal)[1] - 0.5 * (n - 2) * np.log(squares)
            )
            link = np.linalg.solve(covariance[:n, :n], covariance[:n, n:]).T
            middle = ahead @ line + link @ (newest - design @ line)
            beyond = ahead - link @ design
            spread = covariance[n:, n:] - link @ covariance[:n, n:] + beyond @ np.linalg.solve(normal, beyond.T)
            found.append((middle, np.linalg.cholesky(spread + 1e-9 * np.eye(len(future))), squares))
    # the shape without a deviation counts as much as each τ
    prior = np.repeat([1.0, *np.repeat(1 / len(_DEVIATIONS), len(shapes) - 1)], len(_BENDS))
    weights = prior * np.exp(np.array(fits) - max(fits))
    drawn = []
    for (middle, root, squares), n_own in zip(found, rng.multinomial(n_draws, weights / weights.sum()), strict=True):
        sd = np.sqrt(squares / rng.chisquare(n - 2, n_own))
        drawn.append(middle + sd[:, None] * (rng.standard_normal((n_own, len(future))) @ root.T))
    return np.concatenate(drawn)


def horizon_errors(then: Dated, today: Dated, cutoff: datetime.date, *, level: float, seed: int = 0) -> pl.DataFrame:
    """What forecasts of a cut-off said of the frontier at each of `AHEAD`, beside what came by today.

    Parameters
    ----------
    then, today : Dated
        The models as they were known at the cut-off and as they are known today, on one scale.
    cutoff : date
        The day of the forecast.
    level : float
        Coverage of the intervals.
    seed : int
        Of the draws.

    Returns
    -------
    polars.DataFrame
        cutoff, method (process, line, no change), ahead, actual, forecast, low, high; only the process and the line have intervals.
    """
    start, months = years_of(cutoff), [m for m in AHEAD if years_of(cutoff) + m / 12 <= today.years.max()]
    if not months:
        return pl.DataFrame()
    ahead = np.array(months) / 12
    draws, trend = draw_frontier(then, ahead, today=cutoff, seed=seed), fit_trend(then, level=level)
    actual = frontier_level(today.days, today.capability, (start + ahead) * DAYS_A_YEAR)
    nothing = np.full(len(ahead), np.nan)
    methods = {
        "process": (draws.middle, *draws.interval(level)),
        "line": (trend.line.predict(start + ahead), *trend.prediction(start + ahead)),
        "no change": (np.full(len(ahead), draws.best), nothing, nothing),
    }
    return pl.concat(
        [
            pl.DataFrame(
                {
                    "cutoff": [cutoff] * len(months),
                    "method": [method] * len(months),
                    "ahead": [AHEAD[m] for m in months],
                    "actual": actual,
                    "forecast": middle,
                    "low": low,
                    "high": high,
                }
            )
            for method, (middle, low, high) in methods.items()
        ]
    ).with_columns(pl.col("low", "high").fill_nan(None))


def summarise_horizons(errors: pl.DataFrame, level: float) -> pl.DataFrame:
    """One row per method and horizon: how far forecasts were off, and how often their intervals contained what came.

    ``errors`` are the rows of `horizon_errors` for many cut-offs. Cut-offs that see the same level of the frontier are not independent: the levels count.
    """
    rows = []
    order = {name: i for i, name in enumerate(AHEAD.values())}
    groups = errors.group_by("method", "ahead", maintain_order=True) if len(errors) else ()
    for (method, ahead), some in sorted(groups, key=lambda one: order[one[0][1]]):
        off = some["actual"].to_numpy() - some["forecast"].to_numpy()
        clusters = some["actual"].to_list()
        size = mean(np.abs(off), clusters, level=level, bounds=None).estimate
        inside = some.drop_nulls("low")
        covered = inside["actual"].is_between(inside["low"], inside["high"]).to_numpy().astype(float)
        share = mean(covered, inside["actual"].to_list(), level=level).estimate if len(inside) else None
        rows.append(
            {
                "method": method,
                "ahead": ahead,
                "n_cutoffs": len(some),
                "n_levels": len(set(clusters)),
                "mae": size.value,
                "mae_low": None if size.low is None else max(0.0, size.low),
                "mae_high": size.high,
                "bias": float(off.mean()),
                "coverage": None if share is None else share.value,
                "coverage_low": None if share is None else share.low,
                "coverage_high": None if share is None else share.high,
                "mean_width": float((inside["high"] - inside["low"]).mean()) if len(inside) else None,  # type: ignore[arg-type]
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


# simulated frontiers


@dataclass(frozen=True, eq=False)
class SimulatedFrontier:
    """Models known today with estimated capabilities, and the true frontier afterwards."""

    known: Dated
    days: Ints
    capability: Floats
    today: datetime.date


FRONTIERS = ("trend", "faster", "slower", "varying slope", "leaps", "random walk", "standstill")
"""Kinds of simulated frontiers: models scatter around a line; around a line that becomes steeper, or flatter; around one whose slope is a random walk; around a level that rises in
leaps; records are a random walk, below which models crowd; progress stops today."""


def simulate_frontier(
    kind: str, seed: int, *, years: float = 4.0, ahead: float = 2.0, error: float = 0.12
) -> SimulatedFrontier:
    """About 45 models per year, of whose capabilities only estimates are known.

    Parameters
    ----------
    kind : str
        One of `FRONTIERS`.
    seed : int
        The same seed gives the same numbers.
    years, ahead : float
        Years before and after today.
    error : float
        Standard error of the estimated capabilities.
    """
    if kind not in FRONTIERS:
        raise OptionError.unknown("kind of frontier", kind, FRONTIERS)
    rng, span = np.random.default_rng(seed), years + ahead
    time = np.sort(rng.random(rng.poisson(45 * span))) * span
    if kind == "random walk":
        jumps = np.sort(rng.random(rng.poisson(3.5 * (span + 1)))) * (span + 1) - 1
        records = np.cumsum(rng.exponential(0.8 / 3.5, len(jumps)))
        level = np.concatenate([[0.0], records])[np.searchsorted(jumps, time, side="right")]
        true = level - rng.exponential(0.5, len(time))
        first = np.searchsorted(time, jumps[jumps > 0])
        first = first[first < len(time)]
        true[first] = level[first]
    else:
        line = 0.8 * time
        if kind == "faster":
            line = 0.6 * time + 0.6 * np.maximum(time - 0.6 * years, 0)
        if kind == "slower":
            line = 0.9 * time - 0.45 * np.maximum(time - 0.6 * years, 0)
        if kind == "varying slope":
            grid = np.arange(0, span, 0.02)
            slopes = np.maximum(0.8 + 0.3 * np.cumsum(rng.normal(0, np.sqrt(0.02), len(grid))), 0.05)
            line = np.interp(time, grid, 0.02 * np.cumsum(slopes))
        if kind == "leaps":
            leaps = np.sort(rng.random(rng.poisson(2 * (span + 1)))) * (span + 1) - 1
            levels = np.concatenate([[0.0], np.cumsum(rng.gamma(2, 0.2, len(leaps)))])
            line = levels[np.searchsorted(leaps, time, side="right")]
        if kind == "standstill":
            line = 0.8 * np.minimum(time, years)
        true = line + 0.35 * rng.standard_normal(len(time))
    start = 18_000
    days = start + np.floor(time * DAYS_A_YEAR).astype(np.int64)
    seen = time < years
    estimate = true[seen] + error * rng.standard_normal(int(seen.sum()))
    drawn = estimate + error * rng.standard_normal((100, len(estimate)))
    names = tuple(f"model {i}" for i in range(len(estimate)))
    today = datetime.date(1970, 1, 1) + datetime.timedelta(days=start + round(years * DAYS_A_YEAR))
    return SimulatedFrontier(Dated(names, days[seen], estimate, drawn), days, true, today)


def frontier_coverage(
    n_simulations: int = 200, *, kinds: Sequence[str] = FRONTIERS, level: float = 0.95, seed: int = 0
) -> pl.DataFrame:
    """How often the intervals contain the true frontier, in simulated data sets: one row per kind and horizon.

    ``width_needed`` is the share of their width that would have sufficed for ``level``: above 1 they are too narrow.
    """
    rows = []
    for kind in kinds:
        for number in range(n_simulations):
            found = simulate_frontier(kind, seed * n_simulations + number)
            draws = draw_frontier(found.known, np.array(list(AHEAD)) / 12, today=found.today, seed=number, n_draws=1000)
            low, high = draws.interval(level)
            then = years_of(found.today) + np.array(list(AHEAD)) / 12
            actual = frontier_level(found.days, found.capability, then * DAYS_A_YEAR)
            middle = np.median(draws.best + draws.errors[:, None] + draws.gains, axis=0)
            off = np.where(actual > middle, (actual - middle) / (high - middle), (middle - actual) / (middle - low))
            rows += [
                {"kind": kind, "ahead": name, "covered": o <= 1, "needed": o, "width": b - a, "error": abs(t - m), "still": abs(t - draws.best)}
                for name, a, b, t, m, o in zip(AHEAD.values(), low, high, actual, draws.middle, off, strict=True)
            ]  # fmt: skip
    share = pl.col("covered").mean()
    return (
        pl.DataFrame(rows)
        .group_by("kind", "ahead", maintain_order=True)
        .agg(
            share.alias("coverage"),
            (share * (1 - share) / pl.len()).sqrt().alias("monte_carlo_se"),
            pl.col("width").mean().alias("mean_width"),
            pl.col("needed").quantile(level, "linear").alias("width_needed"),
            pl.col("error").mean().alias("mae"),
            pl.col("still").mean().alias("mae_no_change"),
        )
    )
