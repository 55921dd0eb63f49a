"""Where the frontier is going, how sure that is, and how good such forecasts have been."""

from __future__ import annotations

import calendar
import datetime
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import as_date, checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, plain
from howsure.stats._arrays import check_level
from howsure.stitch.forecasting.backtest import Backtest, BreakTest, backtest, find_break
from howsure.stitch.forecasting.frontier import (
    Dated,
    Trend,
    dates_of,
    draw_frontier,
    fit_trend,
    frontier_frame,
    years_of,
)
from howsure.stitch.forecasting.saturation import Saturation, saturate, saturation_frame
from howsure.stitch.scale import Scale

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section

__all__ = ["Forecast", "forecast"]

_BANDS = ("frontier", "confidence", "prediction")


@dataclass(frozen=True, eq=False, kw_only=True)
class Forecast(Result):
    """The frontier, its trend into the future, and the accuracy of earlier forecasts.

    Parameters
    ----------
    models : pl.DataFrame
        All dated models, with ``is_frontier``.
    trend : Trend
        The fitted trend.
    path : pl.DataFrame
        At each month's end after the last model ``frontier``, the highest capability by then (`howsure.stitch.forecasting.frontier`), with its interval, and ``p_no_change``. At all months the trend: ``capability`` with the confidence band of the line, ``prediction`` with the prediction band for one new frontier model, and both by ordinary least squares under ``…_ols``.
    backtest : Backtest
        Forecasts made from earlier data, compared with what happened.
    break_test : BreakTest
        Test of a change of the slope.
    saturation : tuple[Saturation, ...]
        Dates at which benchmarks are expected to saturate.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "forecast"

    models: pl.DataFrame
    trend: Trend
    path: pl.DataFrame
    backtest: Backtest
    break_test: BreakTest
    saturation: tuple[Saturation, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The trend month by month (main), the frontier, saturation, and the validation with its cut-offs and errors."""
        tables = {
            "forecast": self.path,
            "frontier": self.models.filter("is_frontier"),
            "saturation": saturation_frame(self.saturation),
            "validation_horizons": self.backtest.horizons,
            "validation": self.backtest.summary,
            "validation_cutoffs": self.backtest.cutoffs,
            "validation_errors": self.backtest.errors,
        }
        return {name: table for name, table in tables.items() if table.width}

    def at(self, date: str | datetime.date, band: str = "frontier", *, is_plain: bool = False) -> Estimate:
        """The frontier's capability on a day.

        Parameters
        ----------
        date : str or date
            For ``frontier`` a day after the last model and within the forecast.
        band : {"frontier", "confidence", "prediction"}
            The highest capability by then; the line; or one new frontier model around the line.
        is_plain : bool
            Bands of the line take the capabilities as if they were known.
        """
        if band not in _BANDS:
            raise OptionError.unknown("band", band, _BANDS)
        year = years_of(as_date(date, "date"))
        if band == "frontier":
            rows = self.path.drop_nulls("frontier")
            years = np.array([years_of(day) for day in rows["date"]])
            if not len(rows) or not years[0] <= year <= years[-1]:
                span = f"{rows['date'][0]} to {rows['date'][-1]}" if len(rows) else "no month: the history is too short"
                raise OptionError(f"date {date}: the frontier is forecast for {span}.")
            middle, low, high = (
                float(np.interp(year, years, rows[f"frontier{end}"].to_numpy())) for end in ("", "_low", "_high")
            )
            return Estimate(middle, low, high, self.trend.level)
        low, high = getattr(self.trend, band)(year, is_plain=is_plain)
        return Estimate(float(self.trend.line.predict(year)), float(low), float(high), self.trend.level)

    def as_dict(self) -> dict[str, Any]:
        """The slope, the break test, the tables and the provenance as plain JSON."""
        line, found = self.trend.line, self.backtest
        return {
            "slope_per_year": plain(self.trend.slope()),
            "slope_per_year_ols": plain(self.trend.slope(is_plain=True)),
            "r2": line.r2,
            "n_frontier": line.n,
            "n_models": len(self.models),
            "break": plain(self.break_test),
            "validation_notes": list(found.notes),
            **super().as_dict(),
        }

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import forecast_section

        return [forecast_section(self)]

    def charts(self) -> dict[str, Chart]:
        """The forecast, its validation, and when benchmarks are saturated, by file name."""
        from howsure.stitch.forecasting.charts import draw_forecast, draw_saturation, draw_validation

        drawn = {"forecast": draw_forecast(self), "saturation": draw_saturation(self)}
        return drawn | ({"validation": draw_validation(self)} if self.backtest.chosen else {})


@checked
def forecast(
    scale: Scale | str | os.PathLike[str],
    *,
    top_n: int = 1,
    years: float = 3,
    cutoff: str | datetime.date = "2024-07-01",
    reach: float = 0.5,
    level: float = 0.95,
    n_simulations: int = 999,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Forecast:
    """The frontier's trend ``years`` beyond the last model, with validation, a test for a break, and benchmark saturation.

    Parameters
    ----------
    scale : Scale or path
        A finished scale whose models have dates.
    top_n : int
        The frontier: models that were among so many best on the day of their release.
    years : float
        How far to forecast beyond the last model.
    cutoff : str or date
        The validation refits the scale on the scores from before this day, and from before the first of each month.
    reach : float
        The score, between 0 and 1, at which a benchmark counts as saturated.
    level : float
        Coverage of the intervals, between 0 and 1.
    n_simulations : int
        Simulated data sets without a break that calibrate the test for one.
    seed : int
        The same seed gives the same numbers.
    progress : callable, optional
        Is called with the number of refits done and their total.
    """
    scale = Scale.loaded(scale)
    check_level(level)
    if not 0 < years <= 100:
        raise OptionError(f"years is {years:g}; forecast more than 0 and at most 100.")
    dated, day = Dated.of(scale), as_date(cutoff, "cutoff")
    trend = fit_trend(dated, top_n=top_n, level=level)
    path = _with_frontier(_path_of(trend, dated, years), dated, level, seed)
    told = {
        "top_n": top_n,
        "years": years,
        "cutoff": day,
        "reach": reach,
        "level": level,
        "n_simulations": n_simulations,
    }
    settings = {**told, "scale": scale.provenance.settings}
    return Forecast(
        models=frontier_frame(dated, top_n),
        trend=trend,
        path=path,
        backtest=backtest(scale, day, top_n=top_n, level=level, progress=progress),
        break_test=find_break(
            dated.days, dated.capability, top_n=top_n, level=level, n_simulations=n_simulations, seed=seed
        ),
        saturation=tuple(saturate(scale, reach=reach, years=years, level=level, seed=seed)),
        provenance=Provenance(settings, scale.provenance.digest, seed, _notes(scale)),
    )


def _path_of(trend: Trend, dated: Dated, years: float) -> pl.DataFrame:
    """The trend at each month's end, from the first model to ``years`` beyond the last."""
    first, last = dates_of([dated.years.min(), dated.years.max() + years])
    dates = list(_month_ends(first, last))
    x = np.array([years_of(date) for date in dates])
    height, bands = trend.line.predict(x), dict[str, Any]()
    for ending, is_plain in (("", False), ("_ols", True)):
        for name, band in (("capability", trend.confidence), ("prediction", trend.prediction)):
            low, high = band(x, is_plain=is_plain)
            is_known = is_plain or trend.has_replicates
            ends = {"low": low, "high": high} if is_known else dict.fromkeys(("low", "high"), np.full(len(x), np.nan))
            stem = f"{name}{ending}"
            bands |= {stem: height, **{f"{stem}_{end}": values for end, values in ends.items()}}
    columns = {"date": dates, "is_forecast": x > dated.years.max(), **bands}
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))


def _with_frontier(path: pl.DataFrame, dated: Dated, level: float, seed: int) -> pl.DataFrame:
    """The path with the frontier's own forecast in the months after the last model; empty where the history is too short for one."""
    ahead = np.array([years_of(day) for day in path["date"]]) - float(dated.years.max())
    is_ahead = ahead > 0
    columns = {
        name: np.full(len(path), np.nan) for name in ("frontier", "frontier_low", "frontier_high", "p_no_change")
    }
    try:
        draws = draw_frontier(dated, ahead[is_ahead], seed=seed)
    except InputError:
        draws = None
    if draws is not None:
        found = (draws.middle, *draws.interval(level), draws.p_no_change)
        for name, values in zip(columns, found, strict=True):
            columns[name][is_ahead] = values
    known = {"date": path["date"], "is_forecast": path["is_forecast"], **columns}
    return pl.DataFrame(known).with_columns(pl.col(pl.Float64).fill_nan(None)).hstack(path.drop("date", "is_forecast"))


def _month_ends(first: datetime.date, last: datetime.date) -> Iterator[datetime.date]:
    """The ends of all months from the one of ``first`` to the last that is over by ``last``, or the first alone."""
    day = first
    while True:
        day = day.replace(day=calendar.monthrange(day.year, day.month)[1])
        if day > last and day > first + datetime.timedelta(days=31):
            return
        yield day
        day += datetime.timedelta(days=1)


def _notes(scale: Scale) -> tuple[str, ...]:
    notes = list(scale.provenance.notes)
    undated = int(np.isnat(scale.problem.dates).sum())
    notes += [f"{undated} models have no date and are not in the trend."] if undated else []
    notes += (
        [f"Bands do not include the uncertainty of the capabilities: {scale.without_replicates}."]
        if scale.without_replicates
        else []
    )
    return tuple(notes)
