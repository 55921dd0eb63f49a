"""When a model reaches a given score on each benchmark.

A score is reached when any dated model has it in any configuration, also a model that is not in the fit. Where none has it, the future scores are drawn:

- the curves, capabilities and the frontier's errors of one draw are those of one refit of the scale, so that what moves all of them moves no date; scores scatter around the curves with
  the benchmark's noise, which is correlated within a family;
- each draw counts by the likelihood that the models that were tested there fell short of the score. Where fewer than 5 % of the draws agree with that, the curve contradicts the scores;
- a model that was not tested there may already reach it (``p_reached``). Dates are those if none does: the release of the first new model that reaches it, of the best new models of the
  coming months (`howsure.stitch.forecasting.frontier`).
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import expit, log_ndtr, logit

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, State, stated
from howsure.stats._arrays import Floats
from howsure.stats.replicates import replicate_interval
from howsure.stitch.forecasting.frontier import Dated, FrontierDraws, dates_of, draw_frontier, years_of
from howsure.stitch.model.problem import Aligned, sampling_variance

if TYPE_CHECKING:
    from howsure.stitch.scale import Scale

__all__ = ["Saturation", "saturate", "saturation_frame"]

_DRAWS = 4000
_LEAST_AGREEMENT = 0.05
_FEWEST_DRAWS = 50.0  # effective ones in which no untested model reaches the score, for a date
_UNFIT: dict[str, tuple[State, str]] = {
    "too_few": ("too_few", "fewer than three models have a score there"),
    "undefined": ("undefined", "all models have the same score there, or scores fall as capability rises"),
}


@dataclass(frozen=True, kw_only=True)
class Saturation:
    """When a model reaches a score on one benchmark.

    ``first_model`` is the first model that has the score: then ``year``, in years from 1970, is its release, without an interval. Otherwise
    ``year`` is when the first new model reaches it, if no model that was not tested there does so already: that has the probability ``p_reached``. The year is
    ``above_range`` when it lies beyond the forecast. ``best_score`` is the highest score so far, ``needed`` the capability for which the curve gives the score.
    """

    benchmark: str
    reach: float
    needed: Estimate
    year: Estimate
    best_score: float
    p_reached: float | None = None
    first_model: str | None = None
    first_date: datetime.date | None = None


def saturate(scale: Scale, *, reach: float, years: float = 3, level: float = 0.95, seed: int = 0) -> list[Saturation]:
    r"""When each benchmark's score of ``reach`` was observed, or is expected, the benchmark that needs the least capability first.

    .. math:: C^* = D_b + \frac1{a_b} \operatorname{logit} \frac{\text{reach} - \text{floor}_b}{\text{ceiling}_b - \text{floor}_b}

    In two dimensions it is for new models of middling second trait.

    Parameters
    ----------
    scale : Scale
        A finished scale whose models have dates.
    reach : float
        The score, between 0 and 1.
    years : float
        How far the forecast goes beyond the last model.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    """
    if not 0 < reach < 1:
        raise OptionError(f"The score to reach is {reach:g}; choose one between 0 and 1, such as 0.5.")
    try:
        drawn: _Joint | str = _draw(scale, years, seed)
    except InputError as error:
        drawn = str(error)
    state_of = dict(scale.benchmarks.select("benchmark", "difficulty_state").iter_rows())
    found = []
    for index, name in enumerate(scale.problem.benchmarks):
        scores = scale.problem.best.filter(benchmark=name)
        given = _UNFIT.get(state_of[name]) or _out_of_reach(scale, index, reach)
        needed = Estimate.without(*given, level=level) if given else _needed(scale, index, reach, level)
        p_reached, first = None, None if reach <= scale.problem.floors[index] else _first(scores, reach)
        if isinstance(first, str):
            year = Estimate.without("undefined", first, level=level)
        elif first is not None:
            year = Estimate(years_of(first[1]), level=level, reason="observed")
        elif given:
            year = needed
        elif isinstance(drawn, str):
            year = Estimate.without("too_few", drawn, level=level)
        else:
            year, p_reached = _ahead(scale, drawn, index, reach, scores["fitted_as"].to_list(), level)
        found.append(
            Saturation(
                benchmark=name,
                reach=reach,
                needed=needed,
                year=year,
                best_score=float(scores["score"].max()),  # type: ignore[arg-type]
                p_reached=p_reached,
                first_model=first[0] if isinstance(first, tuple) else None,
                first_date=first[1] if isinstance(first, tuple) else None,
            )
        )
    return sorted(found, key=lambda one: (one.needed.value is None, one.needed.value, one.benchmark))


def saturation_frame(found: Sequence[Saturation]) -> pl.DataFrame:
    """One row per benchmark: what is needed, the date with its ends and states, and the first model that had it."""
    return pl.DataFrame([_row(one) for one in found], infer_schema_length=None).with_columns(
        dates_of(pl.Series([getattr(one.year, end) for one in found], dtype=pl.Float64).fill_null(np.nan)).alias(name)
        for name, end in (("date", "value"), ("date_low", "low"), ("date_high", "high"))
    )


def _out_of_reach(scale: Scale, index: int, reach: float) -> tuple[State, str] | None:
    floor, ceiling = scale.problem.floors[index], scale.problem.ceilings[index]
    if reach <= floor:
        return "below_range", f"guessing gives {floor:.2g}"
    return ("undefined", f"its ceiling is {ceiling:.2g}") if reach >= ceiling else None


def _needed(scale: Scale, index: int, reach: float, level: float) -> Estimate:
    floor, ceiling = scale.problem.floors[index], scale.problem.ceilings[index]
    distance = float(logit((reach - floor) / (ceiling - floor)))
    value = float(scale.estimate.difficulty[index] + distance / scale.estimate.slope[index])
    replicates = scale.usable_replicates
    if replicates is None:
        return Estimate(value, level=level)
    drawn = replicates.difficulty[:, index] + distance / replicates.slope[:, index]
    return replicate_interval(drawn, level).estimate(value, level=level)


def _first(scores: pl.DataFrame, reach: float) -> tuple[str, datetime.date] | str | None:
    """The first dated model that has the score, the better one of a day; why its date is unknown; or None."""
    has_it = scores.filter(pl.col("score") >= reach)
    known = has_it.drop_nulls("date").sort("date", "score", "model", descending=[False, True, False])
    if len(known):
        return known["model"][0], known["date"][0]
    return f"{has_it['model'][0]} has reached it, but has no date" if len(has_it) else None


class _Joint(NamedTuple):
    """Draws of the scale, of its noise and of the best new models, row by row; times in years from 1970."""

    scale: Aligned
    variance: Floats  # of the noise: (draws, benchmarks)
    frontier: FrontierDraws
    newest: Floats  # on the scale of the draw
    today: float
    until: float
    rng: np.random.Generator


def _draw(scale: Scale, years: float, seed: int) -> _Joint:
    """Draws of the scale are its replicates, again and again; without replicates, the estimate."""
    dated, rng = Dated.of(scale), np.random.default_rng([seed, 1])
    today = float(dated.years.max())
    frontier = draw_frontier(dated, [years], seed=seed, n_draws=_DRAWS)
    replicates = scale.usable_replicates
    of: Aligned = scale.estimate if replicates is None else replicates
    row = np.zeros(_DRAWS, np.int64) if replicates is None else rng.permutation(np.arange(_DRAWS) % len(replicates))

    def redrawn(values: Floats) -> Floats:
        return np.asarray(np.atleast_2d(values)[row])

    second = () if of.trait is None or of.loading is None else (redrawn(of.trait), redrawn(of.loading))
    # a replicate that drew none of a model's scores tells nothing new about it
    capability = np.where(np.isnan(redrawn(of.capability)), scale.estimate.capability, redrawn(of.capability))
    error = capability[:, ~np.isnat(scale.problem.dates)].max(axis=1) - frontier.best
    variance = scale.noise.draw_variance(rng, _DRAWS)
    newest = frontier.newest + error[:, None]
    whole = Aligned(capability, redrawn(of.difficulty), redrawn(of.slope), *second)
    return _Joint(whole, variance, frontier, newest, today, today + years, rng)


def _ahead(
    scale: Scale, drawn: _Joint, index: int, reach: float, tested: Sequence[str], level: float
) -> tuple[Estimate, float | None]:
    """When the first new model reaches the score, and the probability that an untested one already does."""
    problem, noise, rng = scale.problem, scale.noise, drawn.rng
    slope, difficulty = (one[:, index, None] for one in (drawn.scale.slope, drawn.scale.difficulty))
    floor, ceiling = problem.floors[index], problem.ceilings[index]

    def curve(capability: Floats, shift: Floats | float = 0.0) -> tuple[Floats, Floats]:
        """Expected scores and their standard deviations."""
        share = expit(slope * (capability - difficulty) + shift)
        mean = floor + (ceiling - floor) * share
        sampling = sampling_variance(mean, np.full(mean.shape, problem.items_by_benchmark[index]))
        return mean, np.sqrt(noise.total(drawn.variance[:, index, None], share, sampling))

    trait, loading = drawn.scale.trait, drawn.scale.loading
    mean, sd = curve(
        drawn.scale.capability, 0.0 if trait is None or loading is None else loading[:, index, None] * trait
    )
    in_family = rng.standard_normal((_DRAWS, problem.family.max() + 1))[:, problem.family]
    distance = (reach - mean) / sd - np.sqrt(noise.correlation) * in_family
    falls_short = log_ndtr(distance / np.sqrt(1 - noise.correlation))
    is_tested = np.isin(problem.models, tested)
    agrees = np.exp(falls_short[:, is_tested].sum(axis=1))
    if agrees.mean() < _LEAST_AGREEMENT:
        return Estimate.without("undefined", "the curve contradicts the scores", level=level), None
    weight = agrees * np.exp(falls_short[:, ~is_tested].sum(axis=1))
    p_reached = float(1 - weight.sum() / agrees.sum())
    if weight.sum() ** 2 <= _FEWEST_DRAWS * (weight**2).sum():
        reason = f"an untested model reaches it already, {stated('p', p_reached)}"
        return Estimate.without("undefined", reason, level=level), p_reached
    mean, sd = curve(drawn.newest)
    is_reached = (mean + sd * rng.standard_normal(mean.shape) >= reach) & np.isfinite(drawn.newest)
    years = np.where(is_reached, drawn.today + drawn.frontier.releases, np.inf).min(axis=1)
    order = np.argsort(years)
    below = np.cumsum(weight[order]) / weight.sum()
    # no interpolation: between a year and never there is nothing
    at = [min(int(np.searchsorted(below, p)), _DRAWS - 1) for p in ((1 - level) / 2, 0.5, (1 + level) / 2)]
    ends = [_within(float(year), drawn.until) for year in years[order][at]]
    (low, low_state), (value, state), (high, high_state) = ends
    return Estimate(value, low, high, level, state, "", low_state, high_state), p_reached


def _within(year: float, until: float) -> tuple[float, State]:
    return (year, "ok") if year <= until else (until, "above_range")


def _row(one: Saturation) -> dict[str, Any]:
    year = one.year
    return {
        "benchmark": one.benchmark,
        "reach": one.reach,
        "best_score": one.best_score,
        "needed": one.needed.value,
        "needed_low": one.needed.low,
        "needed_high": one.needed.high,
        "needed_state": one.needed.state,
        "p_reached": one.p_reached,
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
