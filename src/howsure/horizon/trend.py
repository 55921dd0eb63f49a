"""How fast time horizons double: the frontier at release, and a line through its log₂ minutes."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.frames import write_frame
from howsure.horizon.published import DatedHorizons
from howsure.results import Provenance, plain, write_json
from howsure.stats._arrays import Bools, Floats, Ints, check_level, t_quantile
from howsure.stats.trends import Line, fit_line

if TYPE_CHECKING:
    import altair

__all__ = ["HorizonTrend", "fit_horizon_trend"]

_FEWEST = 3  # dates of which a line has an interval
_STEPS = 60


@dataclass(frozen=True, eq=False)
class HorizonTrend:
    r"""The doubling time of time horizons over the frontier.

    .. math:: \log_2 h = a + b \cdot \text{days}, \qquad \text{doubling time} = 1 / b, \qquad
              \operatorname{Var} b = \frac{\sigma^2}{\sum (x_i - \bar x)^2} + \operatorname{Var}_r\, b_r

    ``doubling`` is in days. Its interval has the scatter of models around the line and, where the horizons come with replicates, how the line
    moves over them, as models share their tasks. ``plain`` leaves the second part out. ``models`` has all models (model, released, minutes, low,
    high, is_frontier), ``path`` the line with its band.
    """

    doubling: Estimate
    plain: Estimate
    line: Line
    models: pl.DataFrame
    path: pl.DataFrame
    success: float
    provenance: Provenance

    @property
    def told(self) -> str:
        """The doubling time as it prints, in days with a tenth."""
        if self.doubling.value is None:
            return str(self.doubling)
        high = "∞" if self.doubling.high is None else f"{self.doubling.high:,.1f}"
        return f"{self.doubling.value:,.1f} days [{self.doubling.low or 0:,.1f}, {high}]"

    def to_frame(self) -> pl.DataFrame:
        """One row a model: model, released, minutes, low, high, is_frontier, is_used."""
        return self.models

    def as_dict(self) -> dict[str, Any]:
        """The whole result as plain JSON."""
        return {
            "success": self.success,
            "doubling_days": plain(self.doubling),
            "doubling_days_scatter_alone": plain(self.plain),
            "r2": self.line.r2,
            "n_models": self.line.n,
            "models": plain(self.models.to_dicts()),
            "provenance": plain(self.provenance),
        }

    def charts(self) -> dict[str, altair.LayerChart]:
        """Horizons by release with the trend, by file name."""
        from howsure.horizon.charts_time import draw_trend

        return draw_trend(self)

    def save(self, folder: Path) -> list[Path]:
        """Write trend.csv (models), trend_line.csv and trend.json."""
        return [
            write_frame(self.models, folder / "trend.csv"),
            write_frame(self.path, folder / "trend_line.csv"),
            write_json(self.as_dict(), folder / "trend.json"),
        ]


def fit_horizon_trend(
    horizons: DatedHorizons, *, since: datetime.date | None = None, level: float = 0.95
) -> HorizonTrend:
    """The line through models that had the longest horizon on the day of their release; `since` leaves out older ones."""
    check_level(level)
    frame = horizons.frame
    days = frame["released"].to_physical().to_numpy().astype(np.int64)
    y = np.log2(frame["minutes"].to_numpy())
    frontier = _is_frontier(days, y)
    used = frontier & ((frame["released"] >= since).to_numpy() if since else True)
    n_days = len(np.unique(days[used]))
    if n_days < _FEWEST:
        after = f" since {since}" if since else ""
        raise InputError(
            f"The frontier{after} has models of {n_days} dates; a trend needs {_FEWEST}. Add models with release dates."
        )
    line = fit_line(days[used], y[used], level=level)
    moves = _moves(line, days[used], horizons.drawn[:, used])
    models = frame.with_columns(is_frontier=pl.Series(frontier), is_used=pl.Series(used))
    settings = {"success": horizons.success, "since": since, "level": level, **horizons.settings}
    return HorizonTrend(
        _doubling(line, moves[1, 1], level),
        _doubling(line, 0.0, level),
        line,
        models,
        _path(line, moves, days[used], level),
        horizons.success,
        Provenance(settings, horizons.digest, horizons.seed, horizons.notes),
    )


def _is_frontier(days: Ints, y: Floats) -> Bools:
    """Models with the longest horizon of all that were out by the end of their day."""
    best = np.array([y[days <= day].max() for day in days])
    return np.asarray(y >= best)


def _moves(line: Line, days: Ints, drawn: Floats) -> Floats:
    """How the line's height at its mean and its slope vary over replicates."""
    whole = drawn[np.isfinite(drawn).all(axis=1)]
    if len(whole) < 2:
        return np.zeros((2, 2))
    slopes = whole @ (days - line.x_mean) / line.x_spread
    return np.cov(np.column_stack([whole.mean(axis=1), slopes]).T)


def _doubling(line: Line, extra: float, level: float) -> Estimate:
    """1/slope; an interval of the slope that reaches 0 leaves the doubling time open."""
    slope = line.slope.value
    assert slope is not None
    if slope <= 0:
        return Estimate.without("undefined", "the frontier does not rise", level=level)
    assert line.sigma is not None
    reach = t_quantile(level, line.n - 2) * float(np.sqrt(line.sigma**2 / line.x_spread + extra))
    if slope <= reach:
        return Estimate(1 / slope, 1 / (slope + reach), None, level, high_state="unbounded")
    return Estimate(1 / slope, 1 / (slope + reach), 1 / (slope - reach), level)


def _path(line: Line, moves: Floats, days: Ints, level: float) -> pl.DataFrame:
    """The line from the first model to the last, with the band for the line itself."""
    x = np.linspace(days.min(), days.max(), _STEPS).round()
    middle, away = line.predict(x), x - line.x_mean
    extra = moves[0, 0] + 2 * away * moves[0, 1] + away**2 * moves[1, 1]
    reach = np.hypot(line.confidence(x, level)[1] - middle, t_quantile(level, line.n - 2) * np.sqrt(extra))
    columns = {"minutes": middle, "low": middle - reach, "high": middle + reach}
    dates = pl.Series("released", x, pl.Int32, strict=False).cast(pl.Date)
    return pl.DataFrame([dates, *(pl.Series(name, np.exp2(values)) for name, values in columns.items())])
