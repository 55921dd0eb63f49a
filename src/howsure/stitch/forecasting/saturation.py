"""When the frontier reaches a given score on each benchmark."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import logit

from howsure.errors import OptionError
from howsure.estimates import Estimate, State
from howsure.stats._arrays import Floats
from howsure.stats.replicates import replicate_interval
from howsure.stitch.forecasting.frontier import Dated, Trend, dates_of, years_of

if TYPE_CHECKING:
    from howsure.stitch.scale import Scale

__all__ = ["Saturation", "crossing", "saturate", "saturation_frame"]

_UNFIT: dict[str, tuple[State, str]] = {
    "too_few": ("too_few", "fewer than three models have a score there"),
    "undefined": ("undefined", "all models have the same score there, or scores fall as capability rises"),
}


@dataclass(frozen=True)
class Saturation:
    """When a model reaches a score on one benchmark.

    ``first_model`` is the first model that has the score: then ``year``, in years from 1970, is its release, without an interval. Otherwise
    ``year`` is where the frontier's trend reaches ``needed``, the capability that gives the score: ``above_range`` when it lies beyond the forecast and
    ``below_range`` when it lies before the first frontier model.
    """

    benchmark: str
    reach: float
    needed: Estimate
    year: Estimate
    first_model: str | None = None
    first_date: datetime.date | None = None


def saturate(scale: Scale, trend: Trend, *, reach: float, until: datetime.date, seed: int = 0) -> list[Saturation]:
    r"""When each benchmark's score of ``reach`` was observed, or where the trend crosses the capability for it, the easiest first.

    .. math:: C^* = D_b + \frac1{a_b} \operatorname{logit} \frac{\text{reach} - \text{floor}_b}{\text{ceiling}_b - \text{floor}_b}

    Line and benchmark are drawn in the same replicates, so what moves the whole scale moves neither past the other.
    In two dimensions it is for a model of middling second trait.
    """
    if not 0 < reach < 1:
        raise OptionError(f"The score to reach is {reach:g}; choose one between 0 and 1, such as 0.5.")
    dated = Dated.of(scale)
    state_of = dict(scale.benchmarks.select("benchmark", "difficulty_state").iter_rows())
    found = []
    for index, name in enumerate(scale.problem.benchmarks):
        first = None if reach <= scale.problem.floors[index] else _first(scale, index, reach)
        given = _UNFIT.get(state_of[name]) or _out_of_reach(scale, index, reach)
        if given is None:
            value, drawn = _needed(scale, index, reach)
            needed = _with_ends(value, drawn, trend.level)
        else:
            needed = Estimate.without(*given, level=trend.level)
        if first is not None:
            year = Estimate(years_of(first[1]), level=trend.level, reason="observed")
        elif given is None:
            year = _limited(crossing(trend, value, drawn, seed=seed), float(dated.years.min()), years_of(until))
        else:
            year = needed
        found.append(Saturation(name, reach, needed, year, *(first or ())))
    return sorted(found, key=lambda one: (one.needed.value is None, one.needed.value, one.benchmark))


def crossing(trend: Trend, height: float, drawn: Floats | None = None, *, seed: int = 0) -> Estimate:
    """Where the line reaches a height, with the middle of where drawn lines reach drawn heights.

    ``drawn`` holds the height in each replicate of the trend. Lines that do not rise reach it never, and leave an end open.
    """
    level, slope = trend.level, trend.line.slope.value or 0.0
    if slope <= 0:
        return Estimate.without("undefined", "the frontier does not rise", level=level)
    value = trend.line.x_mean + (height - trend.line.y_mean) / slope
    at_mean, rising = trend.draw(np.random.default_rng(seed))
    wanted = height if drawn is None else np.resize(drawn, len(at_mean))
    with np.errstate(divide="ignore"):
        years = np.where(rising > 0, trend.line.x_mean + (wanted - at_mean) / rising, np.inf)
    # no interpolation: between a year and never there is nothing
    low, high = np.quantile(years, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    (low, low_state), (high, high_state) = _closed(float(low)), _closed(float(high))
    return Estimate(value, low, high, level, low_state=low_state, high_state=high_state)


def saturation_frame(found: Sequence[Saturation]) -> pl.DataFrame:
    """One row per benchmark: what is needed, the date with its ends and states, and the first model that had it."""
    return pl.DataFrame([_row(one) for one in found], infer_schema_length=None).with_columns(
        dates_of(pl.Series([getattr(one.year, end) for one in found], dtype=pl.Float64).fill_null(np.nan)).alias(name)
        for name, end in (("date", "value"), ("date_low", "low"), ("date_high", "high"))
    )


def _closed(end: float) -> tuple[float | None, State]:
    return (end, "ok") if math.isfinite(end) else (None, "unbounded")


def _out_of_reach(scale: Scale, index: int, reach: float) -> tuple[State, str] | None:
    floor, ceiling = scale.problem.floors[index], scale.problem.ceilings[index]
    if reach <= floor:
        return "below_range", f"guessing gives {floor:.2g}"
    return ("undefined", f"its ceiling is {ceiling:.2g}") if reach >= ceiling else None


def _needed(scale: Scale, index: int, reach: float) -> tuple[float, Floats | None]:
    floor, ceiling = scale.problem.floors[index], scale.problem.ceilings[index]
    distance = float(logit((reach - floor) / (ceiling - floor)))
    value = float(scale.estimate.difficulty[index] + distance / scale.estimate.slope[index])
    replicates = scale.usable_replicates  # those of the trend, row by row
    if replicates is None:
        return value, None
    return value, replicates.difficulty[:, index] + distance / replicates.slope[:, index]


def _with_ends(value: float, drawn: Floats | None, level: float) -> Estimate:
    if drawn is None:
        return Estimate(value, level=level)
    return replicate_interval(drawn, level).estimate(value, level=level)


def _first(scale: Scale, index: int, reach: float) -> tuple[str, datetime.date] | None:
    """The first dated model that has the score on this benchmark, the better one of a day."""
    problem = scale.problem
    has_it = (problem.benchmark == index) & (problem.score >= reach) & ~np.isnat(problem.dates[problem.model])
    if not has_it.any():
        return None
    model, score = problem.model[has_it], problem.score[has_it]
    first = model[np.lexsort((-score, problem.dates[model]))[0]]
    return problem.models[first], problem.dates[first].item()


def _limited(year: Estimate, first: float, last: float) -> Estimate:
    """The same with what lies outside the frontier's and the forecast's time as a state."""
    if year.value is None:
        return year
    (value, state), (low, low_state), (high, high_state) = (
        _edge(number, was, first, last)
        for number, was in ((year.value, year.state), (year.low, year.low_state), (year.high, year.high_state))
    )
    return Estimate(value, low, high, year.level, state, year.reason, low_state, high_state)


def _edge(number: float | None, state: State, first: float, last: float) -> tuple[float | None, State]:
    if number is None or first <= number <= last:
        return number, state
    return (last, "above_range") if number > last else (first, "below_range")


def _row(one: Saturation) -> dict[str, Any]:
    year = one.year
    return {
        "benchmark": one.benchmark,
        "reach": one.reach,
        "needed": one.needed.value,
        "needed_low": one.needed.low,
        "needed_high": one.needed.high,
        "needed_state": one.needed.state,
        "date": None,
        "date_low": None,
        "date_high": None,
        "date_state": year.state,
        "date_low_state": year.low_state,
        "date_high_state": year.high_state,
        "reason": year.reason,
        "first_model": one.first_model,
        "first_date": one.first_date,
    }
