"""What a forecast made at an earlier day would have said, from the scores of that day alone."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from howsure.compute import replicate
from howsure.errors import InputError
from howsure.estimates import Estimate, State
from howsure.stats._arrays import Bools, Floats, Ints, t_quantile
from howsure.stats.means import mean
from howsure.stats.trends import fit_line, is_frontier
from howsure.stitch.forecasting.frontier import (
    DAYS_A_YEAR,
    Dated,
    Trend,
    dates_of,
    fit_trend,
    horizon_errors,
    summarise_horizons,
    years_of,
)
from howsure.stitch.model.problem import linked
from howsure.stitch.scale import Scale, fit
from howsure.tables import Scores

__all__ = [
    "FEWEST_POINTS",
    "SHAPES",
    "Backtest",
    "BreakTest",
    "HeldOut",
    "Shape",
    "backtest",
    "best_break",
    "find_break",
    "hold_out",
    "knots_between",
    "monthly",
    "refit_before",
    "summarise_errors",
]

_MOST_REPLICATES = 100  # a refit; enough for the variance of a line
_HORIZONS = {
    "up to 6 months": (0.0, 0.5),
    "6 to 12 months": (0.5, 1.0),
    "over a year": (1.0, np.inf),
    "all": (0.0, np.inf),
}


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The forecast of one cut-off: its trend, the frontier it knew, and what came later.

    ``known`` has model, date, capability as the refit saw them; ``errors`` one row per shape and later frontier model: cutoff, shape, model, date,
    years_ahead, actual, forecast, error, forecast_low, forecast_high, is_covered, is_covered_ols. Bands are the line's prediction bands. ``at_horizons`` has the
    frontier itself at fixed times after the cut-off (`howsure.stitch.forecasting.frontier.horizon_errors`).
    """

    cutoff: datetime.date
    trend: Trend
    known: pl.DataFrame
    errors: pl.DataFrame
    n_scores: int = 0
    at_horizons: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def mean_absolute_error(self) -> float:
        """How far off the line's forecasts were, on average over the later frontier models."""
        return float(np.abs(self.errors.filter(shape="line")["error"].to_numpy()).mean())


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts from many cut-offs against what came: the chosen one, all errors, and their summary.

    ``summary`` has a row for each shape and distance into the future: n_cutoffs, n_models, mae with interval, rmse, bias, coverage with
    interval (the line's alone) and that of plain least squares. Cut-offs share their later models, so the models and not the pairs count as
    independent. ``horizons`` summarises forecasts of the frontier's level at fixed times: process, line and no change.
    """

    chosen: HeldOut | None
    errors: pl.DataFrame
    cutoffs: pl.DataFrame
    summary: pl.DataFrame
    horizons: pl.DataFrame
    notes: tuple[str, ...]


def backtest(
    scale: Scale,
    cutoff: datetime.date,
    *,
    top_n: int = 1,
    level: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> Backtest:
    """Refit before ``cutoff``, and before the first of each month that leaves enough on both sides, and compare.

    A score was there on a day when both its model and its benchmark were. The scale of the day is put on today's by the mean and the
    spread of the models that it holds, since a scale has no unit of its own; nothing else of today enters.
    """
    dated = Dated.of(scale)
    days = sorted({cutoff, *monthly(dated, top_n)})
    found: dict[datetime.date, HeldOut | str] = {}
    for done, day in enumerate(days, 1):
        found[day] = _attempt(scale, dated, day, top_n, level)
        if progress:
            progress(done, len(days))
    made = [one for one in found.values() if isinstance(one, HeldOut)]
    chosen = found[cutoff]
    failed = [f"No forecast from {day}: {one}" for day, one in found.items() if isinstance(one, str)]
    errors = pl.concat([one.errors for one in made]) if made else pl.DataFrame()
    return Backtest(
        chosen if isinstance(chosen, HeldOut) else None,
        errors,
        pl.DataFrame([_told(one) for one in made], infer_schema_length=None),
        summarise_errors(errors, level),
        summarise_horizons(
            pl.concat([one.at_horizons for one in made if len(one.at_horizons)] or [pl.DataFrame()]), level
        ),
        tuple(failed),
    )


def hold_out(dated: Dated, later: pl.DataFrame, cutoff: datetime.date, *, top_n: int, level: float) -> HeldOut:
    """Forecasts of ``later`` frontier models (model, date, capability) from the models known before ``cutoff``, in every shape."""
    chosen = dated.is_frontier(top_n)
    if chosen.sum() < FEWEST_POINTS:
        raise InputError(f"{chosen.sum()} frontier models came before it; {FEWEST_POINTS} are needed.")
    trend = fit_trend(dated, top_n=top_n, level=level)
    x, y = dated.years[chosen], dated.capability[chosen]
    known = pl.DataFrame({"model": np.array(dated.models)[chosen], "date": dates_of(x), "capability": y}).sort("date")
    ahead = np.array([years_of(day) for day in later["date"]])
    base = later.select(
        pl.lit(cutoff).alias("cutoff"),
        "model",
        "date",
        pl.Series("years_ahead", ahead - years_of(cutoff)),
        pl.col("capability").alias("actual"),
    )
    shaped = [
        base.with_columns(pl.lit(name).alias("shape"), pl.Series("forecast", shape(x, y)(ahead)))
        for name, shape in SHAPES.items()
    ]
    errors = pl.concat(shaped).with_columns(error=pl.col("actual") - pl.col("forecast"))
    return HeldOut(cutoff, trend, known, errors.join(_bands(base, trend, ahead), on=("shape", "model"), how="left"))


def refit_before(scale: Scale, cutoff: datetime.date, n_replicates: int = 0) -> Scale:
    """The scale that the scores of models and benchmarks from before ``cutoff`` give, with the settings of ``scale``."""
    rows = scale.problem.to_frame().filter(
        pl.col("date") < cutoff, pl.col("benchmark_date").fill_null(datetime.date.min) < cutoff
    )
    if not len(rows):
        raise InputError("no scores are older.")
    settings = scale.provenance.settings
    most_used: str = rows["benchmark"].mode().sort()[0]
    anchor = settings.get("anchor")
    return fit(
        Scores(rows),
        preset=settings["preset"],
        anchor=anchor if anchor in set(rows["benchmark"]) else most_used,
        min_benchmarks=settings["min_benchmarks"],
        reference="all" if scale.reference else "none",
        ridge=settings.get("ridge"),
        dimensions=settings["dimensions"],
        n_replicates=n_replicates,
        resample=settings["resample"],
        error_factor=settings.get("error_factor"),  # to find it again takes longer than the refits
        seed=scale.provenance.seed or 0,
    )


def monthly(dated: Dated, top_n: int) -> Iterator[datetime.date]:
    """The first of each month with enough frontier models before it and at least one after."""
    days = np.sort(dated.days[dated.is_frontier(top_n)])
    if len(days) <= FEWEST_POINTS:
        return
    first, last = dates_of(days[[FEWEST_POINTS - 1, -1]] / DAYS_A_YEAR)
    day = first.replace(day=1)
    while (day := (day + datetime.timedelta(days=32)).replace(day=1)) <= last:
        yield day


def summarise_errors(errors: pl.DataFrame, level: float) -> pl.DataFrame:
    """One row per shape and distance."""
    rows = []
    for shape in SHAPES if len(errors) else ():
        for horizon, (low, high) in _HORIZONS.items():
            chosen = errors.filter(pl.col("shape") == shape, pl.col("years_ahead") >= low, pl.col("years_ahead") < high)
            if len(chosen):
                rows.append({"shape": shape, "horizon": horizon, **_summary(chosen, level)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _attempt(scale: Scale, dated: Dated, cutoff: datetime.date, top_n: int, level: float) -> HeldOut | str:
    later = _later(dated, cutoff, top_n)
    n_replicates = 0 if scale.replicates is None else max(2, min(_MOST_REPLICATES, len(scale.replicates)))
    try:
        if not len(later):
            raise InputError("no frontier model came after it.")
        early = refit_before(scale, cutoff, n_replicates)
        then = _linked(early, dated)
        held = hold_out(then, later, cutoff, top_n=top_n, level=level)
        at_horizons = horizon_errors(then, dated, cutoff, level=level)
    except InputError as error:
        return str(error)
    return replace(held, n_scores=early.quality.n_observations, at_horizons=at_horizons)


def _later(dated: Dated, cutoff: datetime.date, top_n: int) -> pl.DataFrame:
    chosen = dated.is_frontier(top_n) & (dated.years >= years_of(cutoff))
    columns = {"model": np.array(dated.models)[chosen], "date": dates_of(dated.years[chosen])}
    return pl.DataFrame(columns | {"capability": dated.capability[chosen]}).sort("date")


def _linked(early: Scale, today: Dated) -> Dated:
    """The early scale's models with capabilities in today's unit and from today's zero."""
    then = Dated.of(early)
    place = {name: index for index, name in enumerate(today.models)}
    now = today.capability[[place[name] for name in then.models]]
    moved, drawn = (linked(values, then.capability, now) for values in (then.capability, then.drawn))
    return replace(then, capability=moved, drawn=drawn)


def _bands(base: pl.DataFrame, trend: Trend, ahead: Floats) -> pl.DataFrame:
    """The prediction bands of the line, and whether what came lies in them."""
    (low, high), (ols_low, ols_high) = (trend.prediction(ahead, is_plain=is_plain) for is_plain in (False, True))
    actual = pl.col("actual")
    return base.select(
        pl.lit("line").alias("shape"),
        "model",
        pl.Series("forecast_low", low),
        pl.Series("forecast_high", high),
        actual.is_between(pl.Series(low), pl.Series(high)).alias("is_covered"),
        actual.is_between(pl.Series(ols_low), pl.Series(ols_high)).alias("is_covered_ols"),
    )


def _told(held: HeldOut) -> dict[str, object]:
    line = held.errors.filter(shape="line")
    slope = held.trend.slope()
    return {
        "cutoff": held.cutoff,
        "n_scores": held.n_scores,
        "n_known": len(held.known),
        "slope": slope.value,
        "slope_low": slope.low,
        "slope_high": slope.high,
        "n_later": len(line),
        "mae": held.mean_absolute_error,
        "coverage": line["is_covered"].mean(),
    }


def _summary(errors: pl.DataFrame, level: float) -> dict[str, object]:
    models, covered = errors["model"].to_list(), errors["is_covered"].drop_nulls()
    error = errors["error"].to_numpy()
    mae = mean(np.abs(error), models, level=level, bounds=None).estimate
    told: dict[str, object] = {
        "n_cutoffs": errors["cutoff"].n_unique(),
        "n_models": errors["model"].n_unique(),
        "mae": mae.value,
        "mae_low": None if mae.low is None else max(0.0, mae.low),
        "mae_high": mae.high,
        "rmse": float(np.sqrt(np.mean(error**2))),
        "bias": float(error.mean()),
    }
    share = mean(covered.to_numpy().astype(float), models, level=level).estimate if len(covered) else None
    ends: Sequence[float | None] = (None,) * 3 if share is None else (share.value, share.low, share.high)
    told |= dict(zip(("coverage", "coverage_low", "coverage_high"), ends, strict=True))
    return told | {"coverage_ols": errors["is_covered_ols"].mean()}


# Shapes that a trend can have, each fitted to points and run on beyond them.


Curve: TypeAlias = Callable[[Floats], Floats]
Shape: TypeAlias = Callable[[Floats, Floats], Curve]

_A_SIDE = 3  # points on either side of a break, at least
_ROUNDING = 1e-9  # the real order is one of those that are simulated
FEWEST_POINTS = 2 * _A_SIDE
"""What every shape can be fitted to."""


def knots_between(x: Floats) -> Ints:
    """The points, in order of x, at which a line may break: three points up to it and three beyond."""
    ends = np.flatnonzero(np.diff(x) > 0)
    return ends[(ends >= _A_SIDE - 1) & (ends < len(x) - _A_SIDE)].astype(np.int64)


def best_break(x: Floats, y: Floats) -> tuple[int, float] | None:
    r"""Where a line that may bend once bends best, and how much better than a straight one it is; None for too few points.

    .. math:: F = \max_k \frac{RSS_0 - RSS_k}{RSS_k / (n - 3)}, \qquad \hat y_k = a + b x + c \max(0, x - x_k)

    ``x`` is sorted. The first number is the index of the knot k.
    """
    knots = knots_between(x)
    if not len(knots):
        return None
    straight = np.column_stack([np.ones(len(x)), x - x.mean()])
    hinges = np.maximum(0.0, x[:, None] - x[knots])
    # what the straight line leaves of y and of each hinge tells what the hinge explains
    both = np.column_stack([y, hinges])
    left = both - straight @ np.linalg.lstsq(straight, both, rcond=None)[0]
    rss, drop = left[:, 0] @ left[:, 0], (left[:, 0] @ left[:, 1:]) ** 2 / (left[:, 1:] ** 2).sum(axis=0)
    best = int(drop.argmax())
    unexplained = max(rss - drop[best], np.finfo(float).eps * (y @ y))
    return int(knots[best]), float(drop[best] / (unexplained / (len(x) - 3)))


def _line(x: Floats, y: Floats) -> Curve:
    return fit_line(x, y).predict


def _quadratic(x: Floats, y: Floats) -> Curve:
    curve: Curve = np.polynomial.Polynomial.fit(x, y, 2)
    return curve


def _two_segments(x: Floats, y: Floats) -> Curve:
    order = np.argsort(x, kind="stable")
    found = best_break(x[order], y[order])
    if found is None:
        return _line(x, y)
    middle, knot = x.mean(), x[order][found[0]]

    def design(at: Floats) -> Floats:
        return np.column_stack([np.ones(len(at)), at - middle, np.maximum(0.0, at - knot)])

    coefficients = np.linalg.lstsq(design(x), y, rcond=None)[0]
    return lambda at: np.asarray(design(np.atleast_1d(at)) @ coefficients)


def _no_change(x: Floats, y: Floats) -> Curve:
    best = y.max()
    return lambda at: np.full(np.shape(at), best)


SHAPES: dict[str, Shape] = {
    "line": _line,
    "two segments": _two_segments,
    "quadratic": _quadratic,
    "no change": _no_change,
}


# Whether the frontier's line breaks, or only looks as if it did.


@dataclass(frozen=True)
class BreakTest:
    """The best place for a break, and how often chance alone makes one as clear.

    ``p`` is the share of simulated data sets without any break whose statistic is at least as large, the real one counted with them: the larger of two, of which ``process`` is the
    one. Models ``scatter`` around a line, or ``records`` rise by steps that follow one another in random order. Called a break below 0.05, the test has a false positive in at most 5 %
    of data sets of either kind. The slopes are capability per year, as if the date had been known beforehand, and their intervals are too narrow for that.
    """

    date: datetime.date | None
    statistic: float | None
    p: float | None
    before: Estimate
    after: Estimate
    n_simulations: int
    process: Literal["scatter", "records"] | None = None
    state: State = "ok"
    reason: str = ""


def find_break(
    days: Ints, capability: Floats, *, top_n: int = 1, level: float = 0.95, n_simulations: int = 999, seed: int = 0
) -> BreakTest:
    """Test one break in the frontier's trend against simulated data sets without one, of the process for which it is the less surprising.

    Scatter: every model keeps its date, and the residuals of all models around their line are dealt out anew; then the frontier
    is picked and the best break sought as in the real one. So the false alarms that come from picking the break's place, from few
    points and from the frontier's being a running maximum are counted in. Records: the steps from each frontier model to the next, in time and in capability, come in random
    order. That allows for what scatter around a line does not: records that are high by chance are the ground of all later ones, so that a random walk seems to bend.
    """
    x, y = _sorted(days, capability, is_frontier(days, capability, top_n))
    found = best_break(x, y)
    if found is None:
        reason = f"{len(x)} frontier models; a break needs {FEWEST_POINTS}, three on either side"
        nothing = Estimate.without("too_few", reason, level=level)
        return BreakTest(None, None, None, nothing, nothing, 0, None, "too_few", reason)
    knot, statistic = found
    nulls: dict[Literal["scatter", "records"], Callable[[np.random.Generator, int], Floats]] = {
        "scatter": partial(_scattered, days, capability, top_n),
        "records": partial(_reordered, x, y),
    }
    drawn = {
        name: replicate(work, n_simulations, seed=seed, batch=100, what="simulations") for name, work in nulls.items()
    }
    p = {name: (1 + int((one >= statistic * (1 - _ROUNDING)).sum())) / (1 + len(one)) for name, one in drawn.items()}
    process = max(p, key=lambda name: p[name])
    before, after = _slopes(x, y, x[knot], level)
    day = datetime.date(1970, 1, 1) + datetime.timedelta(days=round(x[knot] * DAYS_A_YEAR))
    return BreakTest(day, statistic, p[process], before, after, len(drawn[process]), process)


def _sorted(days: Ints, capability: Floats, chosen: Bools) -> tuple[Floats, Floats]:
    order = np.argsort(days[chosen], kind="stable")
    return (days[chosen] / DAYS_A_YEAR)[order], capability[chosen][order]


def _scattered(days: Ints, capability: Floats, top_n: int, rng: np.random.Generator, size: int) -> Floats:
    """The statistic where models scatter around a line."""
    x = days / DAYS_A_YEAR
    expected = np.polynomial.Polynomial.fit(x, capability, 1)(x)
    simulated = expected + rng.permuted(np.tile(capability - expected, (size, 1)), axis=1)
    chosen = is_frontier(days, simulated, top_n)
    return _statistics(_sorted(days, each, one) for each, one in zip(simulated, chosen, strict=True))


def _reordered(x: Floats, y: Floats, rng: np.random.Generator, size: int) -> Floats:
    """The statistic where the steps from point to point come in random order."""
    steps = np.diff(np.column_stack([x, y]), axis=0)
    orders = rng.permuted(np.tile(np.arange(len(steps)), (size, 1)), axis=1)
    start = np.broadcast_to([x[0], y[0]], (size, 1, 2))
    points = np.cumsum(np.concatenate([start, steps[orders]], axis=1), axis=1)
    return _statistics((each[:, 0], each[:, 1]) for each in points)


def _statistics(frontiers: Iterable[tuple[Floats, Floats]]) -> Floats:
    """The statistic of each frontier; 0 for one that is too short."""
    found = [best_break(*each) for each in frontiers]
    return np.array([0.0 if one is None else one[1] for one in found])


def _slopes(x: Floats, y: Floats, knot: float, level: float) -> tuple[Estimate, Estimate]:
    """Capability per year on either side of the knot, with t intervals."""
    design = np.column_stack([np.ones(len(x)), np.minimum(0.0, x - knot), np.maximum(0.0, x - knot)])
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    residual = y - design @ coefficients
    variance = residual @ residual / (len(x) - 3) * np.diag(np.linalg.inv(design.T @ design))
    reach = t_quantile(level, len(x) - 3) * np.sqrt(variance)
    before, after = (
        Estimate(value, value - far, value + far, level) for value, far in zip(coefficients[1:], reach[1:], strict=True)
    )
    return before, after
