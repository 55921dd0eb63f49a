"""How fast time horizons double: the frontier at release, and a line through its log₂ minutes."""

from __future__ import annotations

import datetime
import itertools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import as_date, checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.horizon.time_horizon.curves import in_minutes
from howsure.horizon.time_horizon.horizons import TimeHorizons, domain_horizons
from howsure.horizon.time_horizon.published import DatedHorizons, dated_horizons
from howsure.results import Provenance, Result, columns_of, plain
from howsure.stats._arrays import Bools, Floats, Ints, check_level, t_quantile
from howsure.stats.replicates import Interval, expanded_level
from howsure.stats.trends import Line, add_replicates, fit_censored_lines, fit_line, frontier_jackknife, is_frontier

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import One

__all__ = ["HorizonTrend", "fit_horizon_trend"]

_FEWEST = 3  # dates of which a line has an interval
_STEPS = 60
_YEAR = 365.25  # days


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
    domains : pl.DataFrame | None
        One row per domain, where asked for: its doubling time in days and its growth in doublings per year, with intervals, from the horizons on its tasks alone.
    differences : pl.DataFrame | None
        One row per pair of domains: the difference of their growth in doublings per year.
    """

    name: ClassVar[str] = "trend"

    doubling: Estimate
    plain: Estimate
    line: Line
    models: pl.DataFrame
    path: pl.DataFrame
    success_rate: float
    provenance: Provenance
    domains: pl.DataFrame | None = None
    differences: pl.DataFrame | None = None

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
        """``trend`` (one row per model), ``trend_line`` (the line with its band); by domain also ``trend_domains`` and ``trend_differences``."""
        by_domain = {"trend_domains": self.domains, "trend_differences": self.differences}
        return {
            "trend": self.models,
            "trend_line": self.path,
            **{name: frame for name, frame in by_domain.items() if frame is not None},
        }

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


@checked
def fit_horizon_trend(
    horizons: DatedHorizons | TimeHorizons | One,
    releases: Mapping[str, str | datetime.date] | One | None = None,
    *,
    success_rate: float = 0.5,
    since: str | datetime.date | None = None,
    by: str | None = None,
    level: float = 0.95,
) -> HorizonTrend:
    """How fast horizons double: a line through the models that had the longest horizon on the day of their release.

    Parameters
    ----------
    horizons : DatedHorizons, TimeHorizons, frame or path
        What `dated_horizons` returned, or anything that it reads.
    releases : mapping, frame or path, optional
        Release dates by model, where `horizons` has none.
    success_rate : float
        The success rate of the horizons, between 0 and 1; that of `horizons` where they are dated already.
    since : date or str, optional
        Models released earlier are excluded from the line.
    by : str, optional
        ``domain``: also a trend of the horizons on each domain's tasks, and the differences between domains. This needs a result of `time_horizons` with logistic curves, or its folder.
    level : float
        Coverage of the intervals.
    """
    since = None if since is None else as_date(since, "since")
    check_level(level)
    by_domain = {}
    if by is not None:
        if by != "domain":
            raise OptionError.unknown("grouping of a trend", by, ("domain",))
        horizons = _with_domains(horizons)
        fits = _domain_fits(horizons, releases, success_rate, since, level)
        by_domain = {"domains": _domain_rows(fits, level), "differences": _differences(fits, level)}
    if not isinstance(horizons, DatedHorizons):
        horizons = dated_horizons(horizons, releases, success_rate=success_rate)
    fit = _fit(horizons, since, level)
    notes = (*horizons.notes, *_influence(fit.frame, fit.scatter, fit.line))
    models = fit.frame.with_columns(is_frontier=pl.Series(fit.frontier), is_used=pl.Series(fit.used))
    settings = {**horizons.settings, "success_rate": horizons.success_rate, "since": since, "by": by, "level": level}
    return HorizonTrend(
        doubling=_doubling(fit.line, fit.scatter, fit.errors, level),
        plain=_doubling(fit.line, None, None, level),
        line=fit.line,
        models=models,
        path=_path(fit.line, fit.scatter, fit.errors, fit.days[fit.used], level),
        success_rate=horizons.success_rate,
        provenance=Provenance(settings, horizons.digest, horizons.seed, notes),
        **by_domain,
    )


@dataclass(frozen=True, eq=False)
class _TrendFit:
    """A line through the frontier, and what its intervals are made of."""

    frame: pl.DataFrame
    days: Ints
    frontier: Bools
    used: Bools
    line: Line
    scatter: _Scatter
    errors: _Errors | None


def _fit(horizons: DatedHorizons, since: datetime.date | None, level: float) -> _TrendFit:
    frame = horizons.frame
    days = frame["released"].to_physical().to_numpy().astype(np.int64)
    y = np.log2(frame["minutes"].to_numpy())
    frontier = is_frontier(days, y)
    used = frontier & ((frame["released"] >= since).to_numpy() if since else True)
    n_days = len(np.unique(days[used]))
    if n_days < _FEWEST:
        after = f" since {since}" if since else ""
        raise InputError(
            f"The frontier{after} has models of {n_days} {'date' if n_days == 1 else 'dates'}; a trend needs {_FEWEST}. Add models with release dates."
        )
    line = fit_line(days[used], y[used], level=level)
    included = (frame["released"] >= since).to_numpy() if since else np.ones(len(frame), dtype=np.bool_)
    scatter = _Scatter(*frontier_jackknife(days, y, included), len(frame))
    errors = _errors(days[used], horizons.drawn[:, used], horizons.edges[used], expanded_level(level, horizons.df))
    return _TrendFit(frame, days, frontier, used, line, scatter, errors)


def _with_domains(horizons: DatedHorizons | TimeHorizons | One) -> TimeHorizons:
    """A result of `time_horizons` whose tasks have domains."""
    if isinstance(horizons, str | os.PathLike) and Path(horizons).is_dir():
        horizons = TimeHorizons.load(horizons)
    if not isinstance(horizons, TimeHorizons):
        raise InputError("A trend by domain needs the runs: give the folder that `howsure horizon time -o` wrote.")
    if horizons.joint is not None:
        raise OptionError(
            "A trend by domain needs logistic curves: in the joint model a domain shifts all models alike, so that all domains grow alike."
        )
    if horizons.data.counts.tasks["domain"].drop_nulls().n_unique() < 2:
        raise InputError("The tasks do not have two domains. Add the column domain to the runs.")
    return horizons


def _domain_fits(
    horizons: TimeHorizons,
    releases: Mapping[str, str | datetime.date] | One | None,
    success_rate: float,
    since: datetime.date | None,
    level: float,
) -> dict[str, _TrendFit | str]:
    """The trend of the horizons on each domain's tasks, or why there is none."""
    fits: dict[str, _TrendFit | str] = {}
    for domain in horizons.data.counts.tasks["domain"].drop_nulls().unique().sort():
        try:
            own = domain_horizons(horizons, domain)
            fits[domain] = _fit(dated_horizons(own, releases, success_rate=success_rate), since, level)
        except InputError as error:
            fits[domain] = str(error)
    return fits


def _domain_rows(fits: Mapping[str, _TrendFit | str], level: float) -> pl.DataFrame:
    rows = []
    for domain, fit in fits.items():
        if isinstance(fit, str):
            none = Estimate.without("too_few", fit, level=level)
            rows.append({"domain": domain} | columns_of(doubling_days=none, per_year=none) | {"n_models": 0, "n_frontier": 0, "reason": fit})  # fmt: skip
            continue
        doubling = _doubling(fit.line, fit.scatter, fit.errors, level)
        below, above, _ = _reach(fit.line, fit.scatter, fit.errors, np.zeros(1), level, of_slope=True)
        slope = fit.line.slope.value or 0.0
        growth = _per_year(slope, float(below[0]), float(above[0]), level)
        rows.append(
            {"domain": domain}
            | columns_of(doubling_days=doubling, per_year=growth)
            | {"n_models": len(fit.frame), "n_frontier": fit.line.n, "reason": doubling.reason}
        )
    kinds = dict.fromkeys(
        (f"{name}{end}" for name in ("doubling_days", "per_year") for end in ("", "_low", "_high")), pl.Float64
    )
    return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)


def _per_year(slope: float, below: float, above: float, level: float) -> Estimate:
    """Doublings per year, of a slope per day; an end is open where replicates without a line reach it."""
    if math.isnan(below) or math.isnan(above):
        return Estimate(slope * _YEAR, level=level, low_state="undefined", high_state="undefined")
    low, high = (end * _YEAR if math.isfinite(end) else None for end in (slope - below, slope + above))
    return Estimate(
        slope * _YEAR, low, high, level,
        low_state="unbounded" if low is None else "ok", high_state="unbounded" if high is None else "ok",
    )  # fmt: skip


def _differences(fits: Mapping[str, _TrendFit | str], level: float) -> pl.DataFrame:
    """The difference of growth of every two domains.

    The same models are in both domains, so a model that is left out is left out of both lines: what is common to a model's horizons cancels. Domains have different tasks, so the
    errors of their horizons are independent.
    """
    rows = []
    for (a, one), (b, other) in itertools.combinations(fits.items(), 2):
        if isinstance(one, str) or isinstance(other, str):
            missing = a if isinstance(one, str) else b
            found = Estimate.without("too_few", f"{missing} has no trend", level=level)
        else:
            slope = (one.line.slope.value or 0.0) - (other.line.slope.value or 0.0)
            t = t_quantile(level, min(one.line.n, other.line.n) - 2)
            variance = _joint_scatter(one, other)
            if one.errors is None or other.errors is None:
                below = above = np.array([t * math.sqrt(variance)])
            else:
                own = one.errors.in_slope + other.errors.in_slope
                n = min(len(one.errors.slopes), len(other.errors.slopes))
                drawn = one.errors.slopes[:n, None] - other.errors.slopes[:n, None]
                scatter = np.array([t * math.sqrt(max(variance - own, 0))])
                below, above, _ = add_replicates(scatter, drawn, max(one.errors.middle, other.errors.middle))
            found = _per_year(slope, float(below[0]), float(above[0]), level)
        rows.append({"a": a, "b": b} | columns_of(difference=found))
    kinds = dict.fromkeys(("difference", "difference_low", "difference_high"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)


def _joint_scatter(one: _TrendFit, other: _TrendFit) -> float:
    """The jackknife variance of the difference of two slopes, in which each model is left out of both lines at once."""
    fits = (one, other)
    if any(len(fit.scatter.slopes) != len(fit.frame) for fit in fits):
        # some lines without a model do not exist: the two as if independent
        return float(sum(fit.scatter.variance(np.zeros(1), of_slope=True)[0] for fit in fits))
    names = sorted({*one.frame["model"], *other.frame["model"]})
    without = []
    for fit in fits:
        by_model = dict(zip(fit.frame["model"], fit.scatter.slopes, strict=True))
        without.append(np.array([by_model.get(name, fit.line.slope.value) for name in names]))
    return float((len(names) - 1) * (without[0] - without[1]).var())


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
    centred = filled[known] - np.median(filled[known], axis=0) if known.any() else np.zeros((1, n))
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
    """The line from the first model to the last, with the band for the line itself; null where it is open."""
    x = np.linspace(days.min(), days.max(), _STEPS).round()
    middle = line.predict(x)
    below, above, _ = _reach(line, scatter, errors, x - line.x_mean, level)
    columns = {"minutes": middle, "minutes_low": middle - below, "minutes_high": middle + above}
    dates = pl.Series("released", x, pl.Int32, strict=False).cast(pl.Date)
    frame = pl.DataFrame([dates, *(pl.Series(name, in_minutes(values)) for name, values in columns.items())])
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))
