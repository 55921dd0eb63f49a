"""What forecasts, progress and the map of time horizons look like."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.charts import Caption, Field, Reference, captioned, interval_plot, points_with_trend
from howsure.charts.drawing import Chart, layered, nominal
from howsure.charts.encodings import by_group, haloed, position, roles, tooltips
from howsure.charts.kinds import band
from howsure.charts.theme import LIGHT, PALETTE
from howsure.stitch.charts import CAPABILITY, readable, with_long_names
from howsure.stitch.forecasting.frontier import dates_of, years_of

if TYPE_CHECKING:
    from howsure.estimates import Estimate
    from howsure.stitch.forecasting.frontier_forecast import Forecast
    from howsure.stitch.forecasting.horizon_map import HorizonMap
    from howsure.stitch.forecasting.lags import Lags
    from howsure.stitch.forecasting.saturation import Saturation
    from howsure.stitch.forecasting.scaling import Progress

__all__ = [
    "draw_efficiency",
    "draw_forecast",
    "draw_gains",
    "draw_group_frontiers",
    "draw_horizon_map",
    "draw_lags",
    "draw_saturation",
    "draw_scaling",
    "draw_validation",
]

_MOST_GROUPS = 6
_RELEASE = Field("date", "Release")
_Y = Field("capability", "Capability", CAPABILITY)
_TICKS = {1 / 60: "1 s", 1: "1 min", 15: "15 min", 60: "1 h", 240: "4 h", 960: "16 h", 2400: "1 week", 9600: "1 month"}


def draw_forecast(found: Forecast) -> Chart:
    """The frontier so far with its line, and from the last model on the band in which it will be."""
    ending = "" if found.trend.has_replicates else "_ols"
    line = roles(
        found.path, x="date", value="capability", low=f"capability{ending}_low", high=f"capability{ending}_high"
    )
    layers = band(line, _RELEASE, _Y, hue=LIGHT["muted"])
    ahead = found.path.drop_nulls("frontier")
    chosen = found.models.filter("is_frontier").sort("date", descending=True)
    best = found.models.sort("capability")["capability"][-1]
    if len(ahead):
        start = {"date": found.models["date"].max(), "frontier": best, "frontier_low": best, "frontier_high": best}
        band_rows = pl.concat([pl.DataFrame([start]), ahead.select(*start)], how="vertical_relaxed")
        layers += band(
            roles(band_rows, x="date", value="frontier", low="frontier_low", high="frontier_high"), _RELEASE, _Y
        )
    layers += [*_dots(found.models.filter(~pl.col("is_frontier")), LIGHT["edge"], 24), *_dots(chosen, PALETTE[0], 70)]
    spanned = found.path.select(
        "date", pl.max_horizontal("frontier_high", f"capability{ending}_high").alias("capability")
    )
    within = pl.concat([spanned, found.models.select("date", "capability")])
    layers += _names(chosen, readable(chosen, "date", "capability", "model", within=within, most=6))
    kept = "least squares alone" if ending else "least squares and the uncertainty of the capabilities"
    method = f"blue for the best model by then, grey for the line; the line by {kept}"
    note = (
        f"The line rises by {found.trend.slope()} per year, R² {found.trend.line.r2 or 0:.2f}; {_told_coverage(found)}"
    )
    caption = Caption(found.trend.line.n, "frontier models", found.trend.level, method, note)
    return captioned(layered(layers), title="Forecast of the frontier", caption=caption, mark="Bands")


def draw_validation(found: Forecast) -> Chart:
    """What the chosen cut-off would have forecast, and what came."""
    held = found.backtest.chosen
    if held is None:
        raise ValueError("there is no validation to draw")
    errors = held.errors.filter(shape="line")
    known = held.known.select("model", "date", "capability", group=pl.lit("known then"))
    came = errors.select("model", "date", pl.col("actual").alias("capability"), group=pl.lit("came later"))
    points = pl.concat([known, came]).with_columns(pl.lit(None, pl.Float64).alias(end) for end in ("low", "high"))
    years = np.linspace(years_of(known["date"][0]), years_of(came["date"][-1]), 40)
    low, high = held.trend.prediction(years)
    columns: dict[str, Any] = {"date": dates_of(years), "capability": held.trend.line.predict(years)}
    trend = pl.DataFrame(columns | {"low": low, "high": high})
    spanned = pl.concat([trend.select("date", pl.col(end).alias("capability")) for end in ("low", "high")])
    kept, missed = int(errors["is_covered"].sum()), held.mean_absolute_error
    note = (
        f"{kept} of {len(errors)} later frontier models are inside the band; mean absolute error {missed:.2f}. "
        f"The scale was fitted to the {held.n_scores:,} scores from before {held.cutoff} alone"
    )
    return points_with_trend(
        points,
        trend,
        title=f"Forecast made with the data before {held.cutoff}",
        caption=Caption(len(known), "frontier models known then", held.trend.level, "for one new frontier model", note),
        x=_RELEASE,
        y=_Y,
        label=Field("model", "Model"),
        group=Field("group", "Models"),
        named=readable(points.sort("date", descending=True), "date", "capability", "model", within=spanned, most=5),
    )


def draw_saturation(found: Forecast) -> Chart:
    """When a model reaches the chosen score on each benchmark, the easiest benchmark on top."""
    late = [one for one in found.saturation if one.year.state != "below_range"]
    early = len(found.saturation) - len(late) if late else 0
    rows = pl.DataFrame(
        [_saturation_row(one) for one in late or found.saturation],
        schema_overrides={"value": pl.Float64, "low": pl.Float64, "high": pl.Float64},
        infer_schema_length=None,
    )
    reach = found.provenance.settings["reach"]
    years = range(found.path["date"][0].year, found.path["date"][-1].year + 2)
    note = "Without a bar: the release of the first model with that score"
    note += f". On {early} benchmarks guessing gives that score" if early else ""
    return interval_plot(
        rows,
        title=f"When a model scores {100 * reach:.3g} % on each benchmark",
        caption=Caption(len(found.models), "models", found.trend.level, "if no untested model has it already", note),
        label=Field("label", "Benchmark"),
        value=Field("value", "Date", "year", ticks={year: str(year) for year in years}),
        reference=Reference(_calendar(years_of(found.models["date"][-1])) or 0.0, "last model"),
        is_sorted=False,
    )


def draw_efficiency(found: Progress) -> Chart:
    """The compute that some fixed capabilities needed over time, and the models that needed least."""
    x, y = Field("date", "Release"), Field("compute", "Training compute", "FLOP", scale="log10", format=".0e")
    group = Field("group", "Capability")
    label = pl.col("capability").round(2).cast(pl.String).alias("group")
    lines = roles(found.needed.with_columns(label), x=x, value=y, low="compute_low", high="compute_high", group="group")
    rows = found.cheapest.with_columns(label)
    rate = found.rate("oom_per_year")
    layers = band(lines, x, y, group)
    if len(rows):
        dots = roles(rows, x=x, value=y, group="group", label="model")
        layers += [_marks(dots, lines, x, y, group)]
    note = f"Dots: the cheapest model so far. {rate} orders of magnitude less compute per year for the same capability"
    caption = Caption(len(found.models), "models of known compute", rate.level, _METHOD, note)
    return captioned(layered(layers), title="Compute for the same capability", caption=caption, mark="Bands")


def draw_gains(found: Progress) -> Chart:
    """Capability at fixed compute over time, with the models of each order of magnitude."""
    group = Field("group", "Training compute (FLOP)")
    lines = roles(
        found.fixed, x="date", value="capability", low="capability_low", high="capability_high", group="compute"
    )
    dots = roles(found.models.sort("compute"), x="date", value="capability", group="bracket", label="model")
    rate = found.rate("per_year")
    layers = [*band(lines, _RELEASE, _Y, group), _marks(dots, lines, _RELEASE, _Y, group)]
    note = f"Lines: the joint fit half-way through each order of magnitude. {rate} per year at the same compute"
    caption = Caption(len(found.models), "models of known compute", rate.level, _METHOD, note)
    return captioned(layered(layers), title="Capability at the same compute", caption=caption, mark="Bands")


def draw_scaling(found: Progress) -> Chart:
    """The scaling relation: capability over training compute, each model's year in colour, and the joint line at the middle of each year."""
    x = Field("compute", "Training compute", "FLOP", scale="log10", format=".0e")
    group = Field("group", "Year of release")
    year = pl.col("date").dt.year().cast(pl.String).alias("group")
    lines = roles(
        found.scaling.with_columns(pl.col("year").cast(pl.String).alias("group")),
        x="compute", value="capability", low="capability_low", high="capability_high", group="group",
    )  # fmt: skip
    shown = lines["group"].unique().to_list()
    dots = roles(
        found.models.with_columns(year).filter(pl.col("group").is_in(shown)).sort("group"),
        x="compute", value="capability", group="group", label="model",
    )  # fmt: skip
    layers = [*band(lines, x, _Y, group), _marks(dots, lines, x, _Y, group)]
    note = (
        f"Ten times the compute add {found.rate('per_oom')}; a year adds {found.rate('per_year')} at the same compute"
    )
    caption = Caption(len(found.models), "models of known compute", found.rate("per_oom").level, _METHOD, note)
    return captioned(layered(layers), title="Capability and training compute", caption=caption, mark="Bands")


def draw_group_frontiers(found: Lags) -> Chart:
    """The best capability so far of each group over time."""
    named = found.groups["group"].to_list()[:_MOST_GROUPS]
    group = Field("group", "Group")
    last = found.groups["date"].max()
    records = found.frontiers.filter(pl.col("group").is_in(named))
    ends = records.group_by("group", maintain_order=True).agg(pl.lit(last).alias("date"), pl.col("capability").max())
    steps = pl.concat([records.select("group", "date", "capability"), ends.select("group", "date", "capability")])
    order = {name: i for i, name in enumerate(named)}
    lines = roles(
        steps.sort(pl.col("group").replace_strict(order, return_dtype=pl.Int64), "date", "capability"),
        x="date", value="capability", group="group",
    )  # fmt: skip
    dots = roles(records, x="date", value="capability", group="group", label="model")
    layers = [*band(lines, _RELEASE, _Y, group, is_step=True), _marks(dots, lines, _RELEASE, _Y, group)]
    more = len(found.groups) - len(named)
    note = f"The {_MOST_GROUPS} groups with the best models; {more} more in the tables" if more else ""
    caption = Caption(records["model"].n_unique(), "record models", None, "best capability so far", note)
    return captioned(layered(layers), title="The frontier of each group", caption=caption)


def draw_lags(found: Lags) -> Chart:
    """How many months each group is behind the group with the best model."""
    leader = found.groups["group"][0]
    rows = found.lags.filter(behind=leader).select(
        pl.col("group").alias("label"), value="months", low="months_low", high="months_high", state="months_state"
    )
    note = "Mean over the capabilities that both reached"
    chart = interval_plot(
        rows.head(40),
        title=f"Months behind {leader}",
        caption=Caption(len(rows), "groups", found.level, "refits of the scale", note),
        label=Field("label", "Group"),
        value=Field("value", "Lag", "months"),
        reference=Reference(0, "no lag"),
    )
    return with_long_names(chart)


def draw_horizon_map(found: HorizonMap) -> Chart:
    """Published time horizons over capability, with the line for one new model."""
    seen = found.points["capability"].to_numpy()
    x = np.linspace(seen.min(), seen.max(), 40)
    level = found.slope.level
    low, high = found.line.prediction(x, level)
    ends = {"minutes_low": np.exp(low), "minutes_high": np.exp(high)}
    trend = {"capability": x, "minutes": np.exp(found.line.predict(x)), **ends}
    shown = found.points.sort("capability", descending=True)
    ticks = {place: told for place, told in _TICKS.items() if np.exp(low).min() / 2 <= place <= np.exp(high).max() * 2}
    note = (
        f"A unit of capability doubles the horizon {found.doublings} times. R² {found.line.r2 or 0:.2f}, "
        f"{found.held_out_r2} in held-out families. Bars: as published"
    )
    return points_with_trend(
        shown,
        pl.DataFrame(trend),
        title="Time horizons by capability",
        caption=Caption(found.line.n, "models with a published horizon", level, "for one new model", note),
        x=Field("capability", "Capability", CAPABILITY),
        y=Field("minutes", "Time horizon", "expert time", scale="log2", ticks=ticks),
        low="minutes_low",
        high="minutes_high",
        label=Field("model", "Model"),
        named=readable(shown.with_columns(pl.col("minutes").log()), "capability", "minutes", "model", most=8),
    )


_METHOD = "jackknife over families, and the uncertainty of the capabilities"


def _dots(rows: pl.DataFrame, hue: str, size: int) -> list[Chart]:
    if not len(rows):
        return []
    drawn = roles(rows, x="date", value="capability", label="model")
    return [
        Chart(drawn)
        .mark("point", size=size, stroke=LIGHT["paper"], strokeWidth=0.8)
        .encode(
            x=position("x", drawn, "x", _RELEASE, grid=False),
            y=position("y", drawn, "value", _Y),
            color={"value": hue},
            tooltip=tooltips(drawn, label=Field("model", "Model"), x=_RELEASE, value=_Y),
        )
    ]


def _names(rows: pl.DataFrame, named: list[str]) -> list[Chart]:
    shown = rows.filter(pl.col("model").is_in(named))
    if not len(shown):
        return []
    drawn = roles(shown, x="date", value="capability", label="model")
    at = Chart(drawn).encode(
        x=position("x", drawn, "x", _RELEASE, grid=False),
        y=position("y", drawn, "value", _Y),
        text=nominal("label"),
    )
    return haloed(at, align="right", dx=-8, dy=-7)


def _marks(dots: pl.DataFrame, lines: pl.DataFrame, x: Field, y: Field, group: Field) -> Chart:
    """Points in the colours of the lines' groups."""
    marks: Chart = Chart(dots).mark("point", stroke=LIGHT["paper"], strokeWidth=0.8)
    return marks.encode(
        x=position("x", dots, "x", x, grid=False),
        y=position("y", dots, "value", y),
        color=by_group(lines, group)["color"],
        tooltip=tooltips(dots, label=Field("model", "Model"), group=group, x=x, value=y),
    )


def _told_coverage(found: Forecast) -> str:
    rows = found.backtest.horizons
    rows = rows.filter(method="process", ahead="1 year") if len(rows) else rows
    if not len(rows):
        return "no earlier forecast could be checked"
    row = rows.row(0, named=True)
    return (
        f"earlier forecasts contained {100 * row['coverage']:.0f} % of the frontier one year later "
        f"({row['n_cutoffs']} cut-offs, {row['n_levels']} levels)"
    )


def _saturation_row(one: Saturation) -> dict[str, Any]:
    """An end that lies outside the forecast is open."""
    year = one.year
    ends = {
        end: None if getattr(year, f"{end}_state") in ("above_range", "below_range") else _calendar(getattr(year, end))
        for end in ("low", "high")
    }
    told = {"state": year.state, "text": _told_year(year)}
    return {"label": one.benchmark, "value": _calendar(year.value), **ends, **told}


def _calendar(year: float | None) -> float | None:
    """Years from 1970 as a calendar year with fraction."""
    if year is None:
        return None
    day: datetime.date = dates_of([year])[0]
    return day.year + (day.timetuple().tm_yday - 1) / 365.25


def _told_year(year: Estimate) -> str:
    if year.value is None:
        return str(year)
    day, low, high = (dates_of([np.nan if end is None else end])[0] for end in (year.value, year.low, year.high))
    edge = {"above_range": "after ", "below_range": "before "}
    ends = [
        "?" if end is None else f"{edge.get(state, '')}{end}"
        for end, state in ((low, year.low_state), (high, year.high_state))
    ]
    return f"{edge.get(year.state, '')}{day} [{ends[0]}, {ends[1]}]"
