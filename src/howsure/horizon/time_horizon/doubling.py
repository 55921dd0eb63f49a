"""How fast time horizons double: the frontier at release, and a line through its log₂ minutes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.horizon.time_horizon.horizons import TimeHorizons
from howsure.horizon.time_horizon.published import DatedHorizons, dated_horizons
from howsure.results import Provenance, Result, plain
from howsure.stats._arrays import Floats, Ints, check_level, t_quantile
from howsure.stats.replicates import Interval, expanded_level
from howsure.stats.trends import Line, add_replicates, fit_censored_lines, fit_line, frontier_jackknife, is_frontier

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import One

__all__ = ["HorizonTrend", "fit_horizon_trend"]

_FEWEST = 3  # dates of which a line has an interval
_STEPS = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class HorizonTrend(Result):
    r"""The doubling time of time horizons over the frontier.

    .. math:: \log_2 h = a + b \cdot \text{days}, \qquad \text{doubling time} = 1 / b, \qquad
              \operatorname{Var} b = \max(0, J - \bar J_r) + \operatorname{Var}_r\, b_r, \qquad
              J = \frac{n - 1}{n} \sum_i (b_{(i)} - \bar b_{(\cdot)})^2

    ``doubling`` is in days. Its interval has two parts: how the line moves over replicates of the horizons (Var_r, from quantiles), and the scatter of the
    true horizons around a trend. The second is the jackknife J over all models, in which the frontier is chosen again without each model, less what the horizons' own errors
    contribute to it (the mean of J over the replicates' errors). In a replicate a
    model beyond the shortest or longest task is censored there, and a model without a horizon says nothing. ``plain`` has the scatter of the
    residuals alone. ``models`` has all models (model, released, minutes, minutes_low, minutes_high, is_frontier), ``path`` the line with its band.

    Parameters
    ----------
    doubling : Estimate
        Doubling time in days.
    plain : Estimate
        Doubling time with an interval from the residuals alone.
    line : Line
        The fitted line.
    models : pl.DataFrame
        One row per model: model, released, minutes, minutes_low, minutes_high, is_frontier.
    path : pl.DataFrame
        The line with its band, by date.
    success_rate : float
        Success rate of the horizons.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "trend"

    doubling: Estimate
    plain: Estimate
    line: Line
    models: pl.DataFrame
    path: pl.DataFrame
    success_rate: float
    provenance: Provenance

    @property
    def doubling_text(self) -> str:
        """The doubling time as it prints, in days with a tenth."""
        if self.doubling.value is None:
            return str(self.doubling)
        if self.doubling.low_state == "undefined":
            return f"{self.doubling.value:,.1f} days [undefined: {self.doubling.reason}]"
        high = "∞" if self.doubling.high is None else f"{self.doubling.high:,.1f}"
        return f"{self.doubling.value:,.1f} days [{self.doubling.low or 0:,.1f}, {high}]"

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``trend`` (one row per model), ``trend_line`` (the line with its band)."""
        return {"trend": self.models, "trend_line": self.path}

    def as_dict(self) -> dict[str, Any]:
        """The tables, the doubling time in days, and the fit of the line, as plain JSON."""
        fitted: dict[str, Any] = {
            "success_rate": self.success_rate,
            "doubling_days": self.doubling,
            "doubling_days_scatter_alone": self.plain,
            "r2": self.line.r2,
            "n_models": self.line.n,
        }
        return {**plain(fitted), **super().as_dict()}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.time_horizon.sections import trend_sections

        return trend_sections(self)

    def charts(self) -> dict[str, Chart]:
        """Horizons by release with the trend, by file name."""
        from howsure.horizon.time_horizon.charts import draw_trend

        return draw_trend(self)


def fit_horizon_trend(
    horizons: DatedHorizons | TimeHorizons | One,
    releases: Mapping[str, datetime.date] | None = None,
    *,
    success_rate: float = 0.5,
    since: datetime.date | None = None,
    level: float = 0.95,
) -> HorizonTrend:
    """How fast horizons double: a line through the models that had the longest horizon on the day of their release.

    Parameters
    ----------
    horizons : DatedHorizons, TimeHorizons, frame or path
        What `dated_horizons` returned, or anything that it reads.
    releases : mapping, optional
        Release dates by model, where `horizons` has none.
    success_rate : float
        The success rate of the horizons, between 0 and 1; that of `horizons` where they are dated already.
    since : date, optional
        Models released earlier are excluded from the line.
    level : float
        Coverage of the intervals.
    """
    if not isinstance(horizons, DatedHorizons):
        horizons = dated_horizons(horizons, releases, success_rate=success_rate)
    check_level(level)
    frame = horizons.frame
    days = frame["released"].to_physical().to_numpy().astype(np.int64)
    y = np.log2(frame["minutes"].to_numpy())
    frontier = is_frontier(days, y)
    used = frontier & ((frame["released"] >= since).to_numpy() if since else True)
    n_days = len(np.unique(days[used]))
    if n_days < _FEWEST:
        after = f" since {since}" if since else ""
        raise InputError(
            f"The frontier{after} has models of {n_days} dates; a trend needs {_FEWEST}. Add models with release dates."
        )
    line = fit_line(days[used], y[used], level=level)
    included = (frame["released"] >= since).to_numpy() if since else np.ones(len(frame), dtype=np.bool_)
    scatter = _Scatter(*frontier_jackknife(days, y, included), len(frame))
    notes = (*horizons.notes, *_influence(frame, scatter, line))
    errors = _errors(days[used], horizons.drawn[:, used], horizons.edges[used], expanded_level(level, horizons.df))
    models = frame.with_columns(is_frontier=pl.Series(frontier), is_used=pl.Series(used))
    settings = {**horizons.settings, "success_rate": horizons.success_rate, "since": since, "level": level}
    return HorizonTrend(
        doubling=_doubling(line, scatter, errors, level),
        plain=_doubling(line, None, None, level),
        line=line,
        models=models,
        path=_path(line, scatter, errors, days[used], level),
        success_rate=horizons.success_rate,
        provenance=Provenance(settings, horizons.digest, horizons.seed, notes),
    )


def _influence(frame: pl.DataFrame, scatter: _Scatter, line: Line) -> list[str]:
    """The model without which the doubling time would change most."""
    slope = line.slope.value
    if len(scatter.slopes) != len(frame) or not slope or slope <= 0:
        return []
    most = int(np.argmax(np.abs(scatter.slopes - slope)))
    without = scatter.slopes[most]
    told = f"{1 / without:,.1f} days" if without > 0 else "none, because the frontier would not rise"
    return [f"Most influential: without {frame['model'][most]} the doubling time would be {told}."]


@dataclass(frozen=True, eq=False)
class _Scatter:
    """Lines without each of `n` models: their slopes, and their heights at the mean date."""

    slopes: Floats
    heights: Floats
    n: int

    def variance(self, away: Floats, *, of_slope: bool) -> Floats:
        """That of the slope, or of the line at `away` days from its mean."""
        lines = self.slopes[:, None] if of_slope else self.heights[:, None] + self.slopes[:, None] * away
        return np.asarray((self.n - 1) * lines.var(axis=0)) * len(lines) / self.n


@dataclass(frozen=True, eq=False)
class _Errors:
    """How the line moves with the horizons' errors: its slope and its height at the mean date in each replicate.

    ``middle`` is the share of replicates that an interval contains; ``in_slope``, ``in_height`` and ``in_both`` what the errors add to a jackknife's variance
    of the slope, of the height, and to their covariance.
    """

    slopes: Floats
    heights: Floats
    middle: float
    in_slope: float
    in_height: float
    in_both: float


def _errors(days: Ints, drawn: Floats, edges: Floats, middle: float) -> _Errors | None:
    """The line through each replicate's horizons; None without replicates."""
    if not len(drawn):
        return None
    shortest, longest = edges.T
    low = np.select([np.isnan(drawn), drawn < shortest, drawn > longest], [-np.inf, -np.inf, longest], drawn)
    high = np.select([np.isnan(drawn), drawn < shortest, drawn > longest], [np.inf, shortest, np.inf], drawn)
    slopes, filled = fit_censored_lines(days, low, high)
    known = ~np.isnan(slopes)
    heights, x, n = filled.mean(axis=1), days - days.mean(), len(days)
    # leaving out point i moves the line by its residual over 1 − leverage
    centred = filled[known] - np.median(filled[known], axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    residuals = centred - (centred @ x / (x @ x))[:, None] * x
    pulls = residuals / (1 - 1 / n - x**2 / (x @ x)).clip(1e-9)
    by_slope, by_height = pulls * x / (x @ x), pulls / n
    share = (n - 1) / n
    return _Errors(
        slopes,
        heights,
        middle,
        *(share * float((a * b).sum(axis=1).mean()) for a, b in ((by_slope, by_slope), (by_height, by_height), (by_slope, by_height))),
    )  # fmt: skip


def _reach(
    line: Line, scatter: _Scatter | None, errors: _Errors | None, away: Floats, level: float, *, of_slope: bool = False
) -> tuple[Floats, Floats, Interval | None]:
    """How far the slope, or the line at `away` days from its mean, may lie below and above its estimate.

    A t interval for the scatter and the replicates' quantiles are independent parts, whose squares are added.
    """
    assert line.sigma is not None
    t = t_quantile(level, line.n - 2)
    if scatter is None:
        factor = np.full(len(away), 1 / line.x_spread) if of_slope else 1 / line.n + away**2 / line.x_spread
        reach = t * line.sigma * np.sqrt(factor)
        return reach, reach, None
    variance = scatter.variance(away, of_slope=of_slope)
    if errors is None:
        reach = t * np.sqrt(variance)
        return reach, reach, None
    drawn = errors.slopes[:, None] if of_slope else errors.heights[:, None] + errors.slopes[:, None] * away
    own = errors.in_slope if of_slope else errors.in_height + 2 * away * errors.in_both + away**2 * errors.in_slope
    return add_replicates(t * np.sqrt(np.maximum(variance - own, 0)), drawn, errors.middle)


def _doubling(line: Line, scatter: _Scatter | None, errors: _Errors | None, level: float) -> Estimate:
    """1/slope; an interval of the slope that reaches 0 leaves the doubling time open."""
    slope = line.slope.value
    assert slope is not None
    if slope <= 0:
        return Estimate.without("undefined", "the frontier does not rise", level=level)
    below, above, drawn = _reach(line, scatter, errors, np.zeros(1), level, of_slope=True)
    if drawn is not None and drawn.state[0] != "ok":
        return drawn.estimate(1 / slope, 0, level=level)
    low = 1 / (slope + float(above[0]))
    if not slope > below[0]:
        return Estimate(1 / slope, low, None, level, high_state="unbounded")
    return Estimate(1 / slope, low, 1 / (slope - float(below[0])), level)


def _path(line: Line, scatter: _Scatter, errors: _Errors | None, days: Ints, level: float) -> pl.DataFrame:
    """The line from the first model to the last, with the band for the line itself."""
    x = np.linspace(days.min(), days.max(), _STEPS).round()
    middle = line.predict(x)
    below, above, _ = _reach(line, scatter, errors, x - line.x_mean, level)
    columns = {"minutes": middle, "minutes_low": middle - below, "minutes_high": middle + above}
    dates = pl.Series("released", x, pl.Int32, strict=False).cast(pl.Date)
    frame = pl.DataFrame([dates, *(pl.Series(name, np.exp2(values)) for name, values in columns.items())])
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))
