r"""When will the time horizon of the frontier reach a length? Several shapes of growth, weighed by how well they predicted the past.

Each shape is a regression of log₂ minutes on functions of the date t of the models at the frontier:

- ``linear``: a + b t, a constant doubling time;
- ``break``: a + b t + c · max(0, t − k), where the rate changes at a date k;
- ``accelerating``: a + b t + c t² with c ≥ 0;
- ``saturating``: a + L (1 − e^{−t/T}), growth that runs out.

A back-test fits every shape to the models before each date and predicts the next record. The weights of the shapes are proportional to the product of their
predictive densities there, and the forecast is the mixture of the shapes with these weights.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.stats import t as student

from howsure.arguments import as_date, checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.horizon.time_horizon.curves import FARTHEST, in_minutes, with_ends
from howsure.horizon.time_horizon.horizons import TimeHorizons
from howsure.horizon.time_horizon.published import DatedHorizons, dated_horizons
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats, check_level
from howsure.stats.trends import is_frontier

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import One

__all__ = ["SHAPES", "HorizonForecast", "forecast_horizons", "parse_length"]

SHAPES = ("linear", "break", "accelerating", "saturating")
"""How log₂ minutes may grow with time."""

_UNITS = {"min": 1.0, "minute": 1.0, "h": 60.0, "hour": 60.0, "day": 480.0, "week": 2400.0, "month": 10_020.0, "year": 120_240.0}  # fmt: skip
_FEWEST = 4  # models at the frontier before the first back-test
_N_DRAWS = 4000
_FARTHEST = 20 * 365  # days after the last model up to which a date is a number
_STEPS = 120
_SLOWEST = 1e-9  # doublings per day
_BREAKS = (0.3, 0.4, 0.5, 0.6, 0.7)
_SATURATIONS = (0.3, 0.6, 1.0, 2.0, 4.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class HorizonForecast(Result):
    """When the horizon of the frontier reaches given lengths.

    Parameters
    ----------
    reached : pl.DataFrame
        One row per target: minutes, date with its interval (null where it is open) and state, ``share_never`` (of the draws that do not reach it within 20 years),
        ``is_reached`` (a model has it already).
    shapes : pl.DataFrame
        One row per shape: its weight, the mean log predictive density and the root mean squared error (doublings) in the back-test, and the date at which it
        reaches the first target.
    backtest : pl.DataFrame
        One row per date of the past: what was predicted for the next record, and what came.
    path : pl.DataFrame
        The forecast by date: median and interval of where a new record of the frontier would lie.
    models : pl.DataFrame
        The models with release and horizon; is_frontier.
    success_rate : float
        Success rate of the horizons.
    level : float
        Coverage of the intervals.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "horizon_forecast"

    reached: pl.DataFrame
    shapes: pl.DataFrame
    backtest: pl.DataFrame
    path: pl.DataFrame
    models: pl.DataFrame
    success_rate: float
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``horizon_forecast`` (targets), ``forecast_shapes``, ``forecast_backtest`` and ``forecast_path``."""
        return {
            "horizon_forecast": self.reached,
            "forecast_shapes": self.shapes,
            "forecast_backtest": self.backtest,
            "forecast_path": self.path,
            "forecast_models": self.models,
        }

    @property
    def past_coverage(self) -> tuple[int, int]:
        """How many records of the past lie in the interval that was predicted for them, and how many there are."""
        return int(self.backtest["is_covered"].sum()), len(self.backtest)

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.time_horizon.sections import forecast_sections

        return forecast_sections(self)

    def charts(self) -> dict[str, Chart]:
        """The forecast with the models, by file name."""
        from howsure.horizon.time_horizon.charts import draw_forecast

        return draw_forecast(self)


def parse_length(text: str) -> float:
    """Minutes of working time: ``90``, ``4h``, ``1 day`` (8 h), ``1 week`` (40 h), ``1 month`` (167 h), ``1 year`` (2,004 h).

    >>> parse_length("4h"), parse_length("1 month"), parse_length("30")
    (240.0, 10020.0, 30.0)
    """
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz").strip()
    unit = text.strip()[len(number) :].strip() or "min"
    times = _UNITS.get(unit, _UNITS.get(unit.removesuffix("s")))
    try:
        found = float(number or "1") * (times or math.nan) if text.strip() else math.nan
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise OptionError(
            f"{text!r} is not a length. Write it as 90, 4h, 1day, 1week, 1month or 1year of working time."
        )
    return found


@checked
def forecast_horizons(
    horizons: DatedHorizons | TimeHorizons | One,
    releases: Mapping[str, str | datetime.date] | One | None = None,
    *,
    targets: Sequence[float] = (10_020.0,),
    success_rate: float = 0.5,
    since: str | datetime.date | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> HorizonForecast:
    """When the horizon of the frontier reaches each target, averaged over shapes of growth by their back-test.

    Parameters
    ----------
    horizons : DatedHorizons, TimeHorizons, frame or path
        As in `fit_horizon_trend`.
    releases : mapping, frame or path, optional
        Release dates by model, where `horizons` has none.
    targets : sequence of float
        Minutes; 10,020 is a working month (167 hours).
    success_rate : float
        The success rate of the horizons, between 0 and 1.
    since : date or str, optional
        Models released earlier are excluded.
    level : float
        Coverage of the intervals.
    seed : int
        Of the draws.

    Returns
    -------
    HorizonForecast
        The interval of a date has the scatter around each shape, the errors of the horizons, and the choice of the shape. It assumes that one of the shapes goes on.
    """
    since = None if since is None else as_date(since, "since")
    check_level(level)
    if not targets or not all(0 < target < math.inf for target in targets):
        raise OptionError("targets: give lengths above 0 minutes.")
    dated = (
        horizons
        if isinstance(horizons, DatedHorizons)
        else dated_horizons(horizons, releases, success_rate=success_rate)
    )
    frame = dated.frame
    days = frame["released"].to_physical().to_numpy().astype(np.float64)
    y = np.log2(frame["minutes"].to_numpy())
    included = (frame["released"] >= since).to_numpy() if since else np.ones(len(frame), dtype=np.bool_)
    frontier = is_frontier(days.astype(np.int64), y) & included
    x, top = days[frontier], y[frontier]
    if len(np.unique(x)) < _FEWEST:
        n_days = len(np.unique(x))
        told = "date" if n_days == 1 else "dates"
        raise InputError(f"The frontier has models of {n_days} {told}; a forecast needs {_FEWEST}.")
    errors = _line_errors(x, dated, frontier)
    rng = np.random.default_rng(seed)
    past = _backtest(x, top, errors, level)
    weights = _weights(past)
    ahead = np.linspace(x.min(), days.max() + 5 * 365, 6 * _STEPS)
    drawn, shape_of = _draw(x, top, errors, weights, ahead, rng)
    # no model that is known has reached a target, also none that is not at the frontier
    now = float(days.max())
    reached = [_reached(target, drawn, ahead, top, x, now, level) for target in targets]
    rows = []
    for place, shape in enumerate(SHAPES):
        one = past.filter(shape=shape)
        own = drawn[shape_of == place]
        alone = own if len(own) >= 200 else _draw(x, top, errors, {shape: 1.0}, ahead, rng)[0]
        first = _reached(targets[0], alone, ahead, top, x, now, level)
        rows.append(
            {
                "shape": shape,
                "weight": weights[shape],
                "log_density": float(np.mean(one["log_density"].to_numpy())) if len(one) else 0.0,
                "error": float(np.sqrt(np.mean(one["error"].to_numpy() ** 2))) if len(one) else 0.0,
                "date": first["date"],
                "date_low": first["date_low"],
                "date_high": first["date_high"],
                "date_state": first["date_state"],
            }
        )
    ends = [(1 - level) / 2, 0.5, (1 + level) / 2]
    scatter = drawn + rng.standard_normal(drawn.shape) * _sigma(x, top, errors)
    low, middle, high = np.quantile(scatter, ends, axis=0)
    path = (
        pl.DataFrame(
            {
                "released": _dates(ahead),
                "minutes": in_minutes(middle),
                "minutes_low": in_minutes(low),
                "minutes_high": in_minutes(high),
            }
        )
        .gather_every(6)
        .fill_nan(None)
    )
    mixed = _mixture(past, weights, level)
    n, total = int(mixed["is_covered"].sum()), len(mixed)
    notes = [
        *dated.notes,
        f"Back-test: {n} of {total} later records lie in the {level:.0%} interval that the models before them gave.",
    ]
    settings = {
        **dated.settings,
        "targets": list(targets),
        "success_rate": dated.success_rate,
        "since": since,
        "level": level,
    }
    kinds = dict.fromkeys(("date", "date_low", "date_high"), pl.Date)  # all may be open
    return HorizonForecast(
        reached=pl.DataFrame(reached, schema_overrides=kinds),
        shapes=pl.DataFrame(rows, schema_overrides=kinds),
        backtest=mixed,
        path=path,
        models=frame.with_columns(is_frontier=pl.Series(frontier)),
        success_rate=dated.success_rate,
        level=level,
        provenance=Provenance(settings, dated.digest, seed, tuple(notes)),
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """A regression with known functions of the date: coefficients, their covariance up to σ², σ², degrees of freedom."""

    shape: str
    knot: float
    beta: Floats
    root: Floats
    sigma2: float
    df: int
    start: float
    span: float

    def design(self, days: Floats) -> Floats:
        return _design(self.shape, (days - self.start) / self.span, self.knot)


def _design(shape: str, t: Floats, knot: float) -> Floats:
    one = np.ones_like(t)
    if shape == "linear":
        return np.column_stack([one, t])
    if shape == "break":
        return np.column_stack([one, t, np.maximum(0, t - knot)])
    if shape == "accelerating":
        return np.column_stack([one, t, t * t])
    return np.column_stack([one, -np.expm1(-t / knot)])


def _fit(shape: str, x: Floats, y: Floats) -> _Fit:
    """The best fit of a shape; one that bends the wrong way, or has as many coefficients as dates, is a line."""
    start, span = float(x.min()), max(float(np.ptp(x)), 1.0)
    t = (x - start) / span
    knots = {"break": _BREAKS, "saturating": _SATURATIONS}.get(shape, (0.0,))
    best: _Fit | None = None
    for knot in knots:
        design = _design(shape, t, knot)
        df = len(x) - design.shape[1]
        if df < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
            continue
        beta = np.asarray(np.linalg.lstsq(design, y, rcond=None)[0], dtype=np.float64)
        left = float(((y - design @ beta) ** 2).sum())
        is_wrong = (shape == "accelerating" and beta[2] < 0) or (shape == "saturating" and beta[1] <= 0)
        if is_wrong:
            continue
        df -= 1 if shape == "break" else 0  # its date is chosen too
        if df < 1:
            continue
        root = np.linalg.cholesky(np.linalg.inv(design.T @ design))
        if best is None or left / df < best.sigma2:
            best = _Fit(shape, knot, beta, root, left / df, df, start, span)
    return best if best is not None else _fit("linear", x, y)


def _line_errors(x: Floats, dated: DatedHorizons, frontier: Any) -> Floats:
    """Deviations of the horizons from their middle in each replicate (log₂); beyond the range or without a horizon they are 0."""
    drawn = dated.drawn[:, frontier]
    if not len(drawn):
        return np.zeros((1, len(x)))
    with np.errstate(invalid="ignore"):
        away = drawn - np.nanmedian(np.where(np.isfinite(drawn), drawn, np.nan), axis=0)
    return np.asarray(np.clip(np.nan_to_num(away, nan=0.0, posinf=0.0, neginf=0.0), -5, 5))


def _sigma(x: Floats, y: Floats, errors: Floats) -> float:
    """The scatter of records around a line, less what the horizons' own errors add to it."""
    fit = _fit("linear", x, y)
    design = fit.design(x)
    hat = np.eye(len(x)) - design @ np.linalg.pinv(design)
    own = float(((errors @ hat) ** 2).sum(axis=1).mean()) / max(fit.df, 1)
    return math.sqrt(max(fit.sigma2 - own, 0.0))


def _draw(
    x: Floats, y: Floats, errors: Floats, weights: Mapping[str, float], ahead: Floats, rng: np.random.Generator
) -> tuple[Floats, Any]:
    """Paths of log₂ minutes over the dates `ahead`, and the shape of each: coefficients from their t distribution, moved by the horizons' errors."""
    names = [shape for shape in SHAPES if weights.get(shape, 0) > 0]
    shares = np.array([weights[name] for name in names])
    n_each = rng.multinomial(_N_DRAWS, shares / shares.sum())
    scatter = _sigma(x, y, errors)
    paths, shapes = [], []
    for name, n in zip(names, n_each, strict=True):
        if not n:
            continue
        fit = _fit(name, x, y)
        # independent scatter and shared errors of the horizons are two sources; the first is freed of the second
        ratio = min(1.0, scatter / math.sqrt(fit.sigma2)) if fit.sigma2 > 0 else 0.0
        noise = rng.standard_normal((n, len(fit.beta))) @ fit.root.T
        noise *= ratio * np.sqrt(fit.sigma2 * fit.df / rng.chisquare(fit.df, n))[:, None]
        moved = errors[rng.integers(len(errors), size=n)] @ np.linalg.pinv(fit.design(x)).T
        paths.append((fit.beta + noise + moved) @ fit.design(ahead).T)
        shapes.append(np.full(n, SHAPES.index(name)))
    return np.concatenate(paths), np.concatenate(shapes)


def _reached(
    target: float, drawn: Floats, ahead: Floats, top: Floats, x: Floats, now: float, level: float
) -> dict[str, Any]:
    """The first date after `now` at which each path is as high as a target, extended beyond the last date by its last rate."""
    goal = math.log2(target)
    if top.max() >= goal:
        day = float(x[top >= goal].min())
        known = dict.fromkeys(("date", "date_low", "date_high"), _date(day))
        return {"minutes": float(target), **known, "date_state": "ok", "share_never": 0.0, "is_reached": True}
    later = ahead >= now
    days = np.full(len(drawn), np.inf)
    is_there = (drawn >= goal) & later
    has = is_there.any(axis=1)
    days[has] = ahead[is_there[has].argmax(axis=1)]
    rate = (drawn[:, -1] - drawn[:, -2]) / (ahead[-1] - ahead[-2])
    rest = ~has & (rate > _SLOWEST)
    days[rest] = ahead[-1] + (goal - drawn[rest, -1]) / rate[rest]
    days[days > now + _FARTHEST] = np.inf
    low, middle, high = np.quantile(days, [(1 - level) / 2, 0.5, (1 + level) / 2], method="inverted_cdf")
    return {
        "minutes": float(target),
        "date": _date(middle),
        "date_low": _date(low),
        "date_high": _date(high),
        "date_state": "ok" if math.isfinite(middle) else "unbounded",
        "share_never": float(np.isinf(days).mean()),
        "is_reached": False,
    }


def _backtest(x: Floats, y: Floats, errors: Floats, level: float) -> pl.DataFrame:
    """What each shape, fitted to the records before a date, predicts for the next record."""
    rows = []
    for n in range(_FEWEST, len(x)):
        before, own = (x[:n], y[:n]), float(errors[:, n].std()) if len(errors) > 1 else 0.0
        if len(np.unique(before[0])) < 3:
            continue
        for shape in SHAPES:
            fit = _fit(shape, *before)
            at = fit.design(x[n : n + 1])[0]
            mean = float(at @ fit.beta)
            spread = math.sqrt(fit.sigma2 * (1 + float(((at @ fit.root) ** 2).sum())) + own**2) + 1e-9
            error = float(y[n] - mean)
            rows.append(
                {
                    "shape": shape, "date": _date(x[n]), "n_before": n, "minutes": float(2.0 ** y[n]),
                    "error": error, "spread": spread, "df": fit.df, "log_density": float(student.logpdf(error / spread, fit.df) - math.log(spread)),
                }
            )  # fmt: skip
    kinds = {"shape": pl.String, "date": pl.Date, "n_before": pl.Int64, "df": pl.Int64} | dict.fromkeys(("minutes", "error", "spread", "log_density"), pl.Float64)  # fmt: skip
    order = ["shape", "date", "n_before", "minutes", "error", "spread", "df", "log_density"]
    return pl.DataFrame(rows, schema={name: kinds[name] for name in order})


def _weights(past: pl.DataFrame) -> dict[str, float]:
    """Shares proportional to the product of predictive densities; without a back-test all shapes count alike."""
    totals = np.array([past.filter(shape=shape)["log_density"].sum() for shape in SHAPES])
    shares = np.exp(totals - totals.max())
    return dict(zip(SHAPES, (shares / shares.sum()).tolist(), strict=True))


def _mixture(past: pl.DataFrame, weights: Mapping[str, float], level: float) -> pl.DataFrame:
    """The averaged prediction for each record of the past, with its interval."""
    rows = []
    for (day,), one in past.group_by("date", maintain_order=True):
        shares = np.array([weights[shape] for shape in one["shape"]])
        means = np.log2(one["minutes"].to_numpy()) - one["error"].to_numpy()
        grid = np.linspace(
            (means - 8 * one["spread"].to_numpy()).min(), (means + 8 * one["spread"].to_numpy()).max(), 2001
        )
        scaled = (grid[:, None] - means) / one["spread"].to_numpy()
        below = np.asarray(student.cdf(scaled, one["df"].to_numpy()) @ shares)
        low, middle, high = (
            float(grid[min(int(np.searchsorted(below, q)), len(grid) - 1)])
            for q in ((1 - level) / 2, 0.5, (1 + level) / 2)
        )
        found = with_ends(Estimate(2.0 ** min(max(middle, -FARTHEST), FARTHEST), level=level), low, high)
        rows.append(
            {"date": day, "n_before": one["n_before"][0], "minutes": one["minutes"][0]}
            | columns_of(predicted=found)
            | {"is_covered": found.covers(one["minutes"][0])}
        )
    kinds = {"date": pl.Date, "n_before": pl.Int64, "minutes": pl.Float64, "predicted": pl.Float64, "predicted_low": pl.Float64,
             "predicted_high": pl.Float64, "predicted_state": pl.String, "is_covered": pl.Boolean}  # fmt: skip
    return pl.DataFrame(rows, schema=kinds)


def _date(day: float) -> datetime.date | None:
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=round(day)) if math.isfinite(day) else None


def _dates(days: Floats) -> pl.Series:
    return pl.Series("released", days.round(), pl.Int32, strict=False).cast(pl.Date)
