"""The frontier: models that were among the best on the day of their release, and the line that they make."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats._arrays import Bools, Floats, Ints, t_quantile
from howsure.stats.trends import Line, add_replicates, fit_line, is_frontier

if TYPE_CHECKING:
    from howsure.stitch.scale import Scale

__all__ = ["DAYS_A_YEAR", "Dated", "Trend", "dates_of", "fit_trend", "frontier_frame", "years_of"]

DAYS_A_YEAR = 365.25
_FEWEST = 3  # dates of which a line has an interval
_DRAWS = 4000


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

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Heights at the mean date and slopes of lines that vary as both parts say; replicates follow one another, round after round."""
        line, sigma = self.line, self.line.sigma or 0.0
        around = self.drawn if self.has_replicates else np.array([[line.y_mean, line.slope.value]])
        lines = np.tile(around, (-(-_DRAWS // len(around)), 1))
        wide = sigma * np.sqrt((line.n - 2) / rng.chisquare(line.n - 2, len(lines)))
        scatter = rng.standard_normal(lines.shape) * np.sqrt([1 / line.weight, 1 / line.x_spread]) * wide[:, None]
        height, slope = (lines + scatter).T
        return height, slope

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
