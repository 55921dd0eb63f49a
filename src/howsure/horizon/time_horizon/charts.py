"""What time horizons look like: success by length, horizons, replicates, sensitivity, trend, comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.charts import (
    Caption,
    Field,
    Reference,
    bins,
    captioned,
    heat_map,
    histogram,
    interval_plot,
    line_with_band,
    points_with_trend,
)
from howsure.charts.drawing import Chart, layered, nominal
from howsure.charts.encodings import position, tooltips
from howsure.charts.theme import LIGHT, PALETTE
from howsure.horizon.time_horizon.durations import duration_ticks, times, told
from howsure.horizon.time_horizon.horizons import TimeHorizons, success_bins, success_paths

if TYPE_CHECKING:
    from howsure.estimates import Estimate
    from howsure.horizon.time_horizon.budgets import BudgetHorizons
    from howsure.horizon.time_horizon.comparison import HorizonComparison
    from howsure.horizon.time_horizon.doubling import HorizonTrend
    from howsure.horizon.time_horizon.forecasting import HorizonForecast
    from howsure.horizon.time_horizon.horizons import ModelFit, TimeHorizons

__all__ = [
    "draw_budgets",
    "draw_comparison",
    "draw_forecast",
    "draw_horizons",
    "draw_replicates",
    "draw_sensitivity",
    "draw_success",
    "draw_time",
    "draw_trend",
]

_MOST_PANELS = 24
_PANEL: dict[str, Any] = {"width": 186, "height": 110}
_MOST_ROWS = 30
_LETTER, _LINE = 0.0115, 0.055  # of the width and height of a chart, as text takes them
_BEYOND = 5  # doublings beyond the shortest and longest task that charts show
_MANNER = {
    "hierarchy": "bootstrap over families, tasks and runs",
    "families": "jackknife over families of tasks",
    "joint": "quantiles of the posterior",
}
_FACTOR_WORDS = {
    "limits": "cut runs:",
    "errors": "errors:",
    "flags": "flagged:",
    "regularisation": "penalty",
    "weights": "weights:",
    "model": "model:",
    "curve": "curve:",
    "noise": "noise",
    "censored": "longest",
}


def draw_time(found: TimeHorizons) -> dict[str, Chart]:
    """Every chart of a result, by file name."""
    drawn: dict[str, Chart] = {"time_horizons": draw_horizons(found)}
    if any(fit.outcome == "fitted" for fit in found.fits):
        drawn |= {"success_by_length": draw_success(found)}
        drawn |= {"sensitivity": draw_sensitivity(found)} if found.sensitivity.rows else {}
        drawn |= {"replicates": draw_replicates(found)} if found.drawn is not None else {}
    return drawn


def draw_horizons(found: TimeHorizons) -> Chart:
    """Every model's horizon at each success rate, the longest on top."""
    shown = found.ranked[:_MOST_ROWS]
    low, high = _span(found)
    rows = [
        _on_axis(fit.horizons[rate], low, high) | {"label": fit.model, "group": f"{_percent(rate)} success"}
        for fit in shown
        for rate in found.success_rates
    ]
    kinds = dict.fromkeys(("value", "low", "high"), pl.Float64)
    return interval_plot(
        pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None),
        title="Time horizons",
        caption=_caption(found, _left_out(found, shown)),
        label=Field("label", "Model"),
        value=_minutes("value", "Length of task", low, high),
        group=Field("group", "Horizon at"),
        is_sorted=False,
    )


def draw_success(found: TimeHorizons) -> Chart:
    """Success rate by length of the task: binned runs, the curve with its band, and where it crosses the first success rate."""
    shown = _fitted(found)[:_MOST_PANELS]
    names = [fit.model for fit in shown]
    rate = found.success_rates[0]
    rows = pl.concat(
        [
            success_paths(found).with_columns(part=pl.lit("curve")),
            success_bins(found).with_columns(part=pl.lit("bin")),
            _crossings(found, names, rate),
        ],
        how="diagonal_relaxed",
    ).filter(pl.col("model").is_in(names))
    low, high = 2.0 ** found.data.x.min(), 2.0 ** found.data.x.max()
    x = _minutes("minutes", "Length of task", low, high, thin=True)
    y = Field("success", "Success", "0–1", domain=(0, 1), ticks={0: "0", 0.5: "0.5", 1: "1"})
    layers = [*_success_layers(rows, x, y), *_crossing_layers(rows, x, y)]
    chart = layered(layers, **_PANEL).facet(data=rows, facet=_panel("model", names), columns=_columns(names))
    note = f"Dots: weighted success in steps of length. Vermilion: the {_percent(rate)} horizon with its interval"
    return captioned(
        chart,
        title="Success rate by length of the task",
        caption=_caption(found, note, _left_out(found, shown)),
        mark="Bands",
    )


def draw_replicates(found: TimeHorizons) -> Chart:
    """How each model's horizon at the first success rate varies over the replicates."""
    shown, rate = _fitted(found)[:_MOST_PANELS], found.success_rates[0]
    low, high = _span(found)
    names = [fit.model for fit in shown]
    rows = pl.concat([_binned(found, name, rate, low, high) for name in names])
    x, y = _minutes("start", "Horizon", low, high, thin=True), _shares(rows["share"])
    values = pl.DataFrame({"model": names, "start": [found.minutes(name, rate).value for name in names]})
    tips = tooltips(rows, start=x, end=Field("end", "up to", "minutes"), share=y)
    across = position("x", rows, "start", x, grid=False)
    bars = (
        Chart()
        .where("datum.end != null")
        .mark("bar", opacity=0.8)
        .encode(
            x=across,
            x2={"field": "end"},
            y=position("y", rows, "share", y),
            y2={"datum": 0},
            tooltip=tips,
        )
    )
    lines = Chart().where("datum.end == null").mark("rule", color=PALETTE[1], strokeWidth=2)
    both = pl.concat([rows, values.filter(pl.col("start").is_between(low, high))], how="diagonal")
    chart = layered([bars, lines.encode(x=across)], **_PANEL).facet(
        data=both, facet=_panel("model", names), columns=_columns(names)
    )
    note = "Lines: the estimate. Replicates without a horizon on this axis are not drawn"
    return captioned(
        chart,
        title=f"Replicates of the {_percent(rate)} horizon",
        caption=_caption(found, note, _left_out(found, shown), is_drawn=True),
    )


def draw_sensitivity(found: TimeHorizons) -> Chart:
    """By how many doublings the horizon at the first success rate moves under other settings."""
    shown, rate = _fitted(found)[:_MOST_ROWS], found.success_rates[0]
    names = [fit.model for fit in shown]
    frame = found.sensitivity.to_frame().filter(success_rate=rate).drop_nulls("ratio")
    order = pl.DataFrame({"model": names, "place": range(len(names))})
    rows = frame.join(order, on="model", maintain_order="left").sort("place", maintain_order=True)
    labels = pl.col("factor").replace_strict(_FACTOR_WORDS) + " " + pl.col("setting")
    note = (
        "Penalty: on the slope. Weights: of runs. Noise: error of the human times, standard deviation in doublings. "
        f"Longest: minutes of {len(found.sensitivity.censored)} tasks as a lower bound, multiplied by a factor"
        if found.joint is None
        else "Noise: error of the human times, in doublings. Model: another model of success"
    )
    return heat_map(
        rows.with_columns(setting=labels, change=pl.col("ratio").log(2)),
        title=f"How sensitive the {_percent(rate)} horizon is to other settings",
        caption=Caption(_n_runs(found), "runs", None, "the change under each setting, one at a time", note),
        x=Field("setting", "Setting"),
        y=Field("model", "Model"),
        value=Field("change", "Change", "doublings", format="+.2f", domain=(-2, 2)),
        midpoint=0,
    )


def draw_trend(found: HorizonTrend) -> dict[str, Chart]:
    """Horizons by release with the line through the frontier, by file name."""
    groups = pl.when("is_used").then(pl.lit("frontier")).otherwise(pl.lit("other models"))
    points = found.models.with_columns(group=groups).sort("is_used", descending=True, maintain_order=True)
    ends = pl.concat(
        [frame[name] for frame in (points, found.path) for name in ("minutes", "minutes_low", "minutes_high")]
    ).drop_nulls()
    used = points.filter("is_used")
    days = f"{found.doubling.value:.0f} days" if found.doubling.value else str(found.doubling)
    own = "bars: intervals of the horizons; band: scatter around the line"
    own += "" if found.doubling == found.plain else " and the errors of the horizons"
    note = f"Line: {found.line.n} models of the frontier, {found.doubling_text}"
    before, after = _apart(used, points)
    chart = points_with_trend(
        points,
        found.path,
        title=f"The {_percent(found.success_rate)} time horizon doubles every {days}",
        caption=Caption(len(points), "models", found.doubling.level, own, note),
        x=Field("released", "Release"),
        y=_minutes("minutes", "Time horizon", *_inside(ends)),
        label=Field("model", "Model"),
        low="minutes_low",
        high="minutes_high",
        group=Field("group", "Models"),
        named=before,
        named_after=after,
    )
    return {"trend": chart} | ({} if found.domains is None else {"trend_domains": _by_domain(found, found.domains)})


def _by_domain(found: HorizonTrend, domains: pl.DataFrame) -> Chart:
    """How fast the horizon grows in each domain."""
    rows = domains.select(
        pl.col("domain").alias("label"), value="per_year", low="per_year_low", high="per_year_high"
    ).drop_nulls("value")
    own = "scatter of the models around each line and the errors of the horizons" if found.doubling != found.plain else "scatter around each line"  # fmt: skip
    return interval_plot(
        rows,
        title=f"Growth of the {_percent(found.success_rate)} time horizon by domain",
        caption=Caption(len(found.models), "models", found.doubling.level, own),
        label=Field("label", "Domain"),
        value=Field("value", "Growth", "doublings per year"),
        is_sorted=True,
    )


def draw_forecast(found: HorizonForecast) -> dict[str, Chart]:
    """The models with the averaged forecast, by file name."""
    groups = pl.when("is_frontier").then(pl.lit("frontier")).otherwise(pl.lit("other models"))
    points = found.models.with_columns(group=groups).sort("is_frontier", descending=True, maintain_order=True)
    longest = max(float(found.path["minutes"].max()), float(found.reached["minutes"].max()))  # type: ignore[arg-type]
    low, high = _inside(pl.concat([points["minutes"], found.path["minutes"]]))
    high = min(high * 8, longest * 16)
    open_ends = (
        pl.col("minutes").fill_null(high),
        pl.col("minutes_low").fill_null(low),
        pl.col("minutes_high").fill_null(high),
    )
    path = found.path.with_columns(open_ends).with_columns(
        pl.col("minutes", "minutes_low", "minutes_high").clip(low, high)
    )
    days, all_days = (float(np.ptp(rows["released"].to_physical().to_numpy())) for rows in (points, path))
    up = float(np.ptp(np.log(points["minutes"].to_numpy())) / np.log(high / low))
    before, after = _apart(points.filter("is_frontier"), points, days / all_days, up)
    chart = points_with_trend(
        points.with_columns(pl.col("minutes_low", "minutes_high").clip(low, high)),
        path,
        title=f"The {_percent(found.success_rate)} time horizon of the frontier, and its forecast",
        caption=Caption(
            len(points), "models", found.level, "bars: intervals of the horizons; band: where a record would lie, averaged over shapes of growth",
        ),
        x=Field("released", "Release"),
        y=_minutes("minutes", "Time horizon", low, high),
        label=Field("model", "Model"),
        low="minutes_low",
        high="minutes_high",
        group=Field("group", "Models"),
        named=before,
        named_after=after,
    )  # fmt: skip
    return {"horizon_forecast": chart}


def draw_comparison(found: HorizonComparison) -> dict[str, Chart]:
    """The ratio of two horizons over the replicates, by file name."""
    return {
        f"compare_p{100 * row.success_rate:g}": _ratio_histogram(found, place) for place, row in enumerate(found.rows)
    }


def draw_budgets(found: BudgetHorizons) -> dict[str, Chart]:
    """Horizons against budgets at the first success rate, by file name."""
    rate = found.rows["success_rate"][0]
    rows = found.rows.filter(pl.col("success_rate") == rate, pl.col("minutes_state") == "ok")
    if rows.is_empty():
        return {}
    last = rows.group_by("model").agg(pl.col("minutes").max()).sort("minutes", descending=True)["model"].to_list()[:8]
    rows = rows.filter(pl.col("model").is_in(last))
    ends = pl.concat([rows[name] for name in ("minutes", "minutes_low", "minutes_high")]).drop_nulls()
    middle = rows["minutes"]
    low = max(float(ends.min()), float(middle.min()) / 2**_BEYOND)  # type: ignore[arg-type]
    high = min(float(ends.max()), float(middle.max()) * 2**_BEYOND)  # type: ignore[arg-type]
    shown = rows.with_columns(
        pl.col("minutes_low").fill_null(low).clip(low, high), pl.col("minutes_high").fill_null(high).clip(low, high)
    )
    unit = {"tokens": "tokens per run", "cost": "dollars per run", "seconds": "seconds per run"}[found.spending]
    budgets = sorted(set(rows["budget"]))
    few = f", the {len(last)} models with the longest horizons" if len(last) < found.rows["model"].n_unique() else ""
    chart = line_with_band(
        shown,
        title=f"The {_percent(rate)} time horizon by budget",
        caption=Caption(found.n_runs, "runs", found.level, f"jackknife over families; {found.n_cut:,} runs were cut at a limit{few}"),
        x=Field("budget", "Budget", unit, scale="log10", domain=(budgets[0], budgets[-1]) if len(budgets) > 1 else None, format="~s"),
        y=_minutes("minutes", "Time horizon", low, high),
        low="minutes_low",
        high="minutes_high",
        group=Field("model", "Model"),
    )  # fmt: skip
    return {"horizon_by_budget": chart}


def _ratio_histogram(found: HorizonComparison, place: int) -> Chart:
    row, drawn = found.rows[place], found.drawn[:, place]
    known = drawn[np.isfinite(drawn)]
    middle = known if len(known) else np.zeros(1)
    centre = np.sort(middle)[len(middle) // 2]
    near = middle[np.abs(middle - centre) <= 8]  # doublings: a few far draws would flatten the rest
    rows = bins(near.tolist()).with_columns((pl.col("start", "end") * np.log(2)).exp())
    lost = f"{row.n_undefined} replicates have no ratio. " if row.n_undefined else ""
    beyond = len(drawn) - row.n_undefined - len(near)
    lost += f"{beyond} lie beyond this axis" if beyond else ""
    low, high = float(rows["start"][0]), float(rows["end"][-1])
    # powers of 2 alone would leave a narrow axis with one mark or none
    between = (1, 1.25, 1.5, 1.75) if high < 3 * low else (1, 1.5) if high < 12 * low else (1,)
    places = [share * 2.0**k for k in range(-10, 11) for share in between]
    ticks = {place: times(place) for place in places if low <= place <= high}
    return histogram(
        rows,
        title=f"Ratio of {found.a}'s {_percent(row.success_rate)} horizon to {found.b}'s",
        caption=Caption(len(drawn), "replicates", row.ratio.level, f"paired; {told(row.ratio, times)}", lost),
        x=Field("start", "Ratio of horizons", "times", scale="log2", domain=(low, high), ticks=ticks),
        count=Field("count", "Replicates", "number"),
        estimate=row.ratio,
        reference=Reference(1, "as long") if low <= 1 <= high else None,
    )


def _success_layers(rows: pl.DataFrame, x: Field, y: Field) -> list[Chart]:
    up, across = position("y", rows, "success", y), position("x", rows, "minutes", x, grid=False)
    curve = Chart().where("datum.part == 'curve'").encode(x=across)
    seen = Chart().where("datum.part == 'bin'").encode(x=across, y=up)
    counted = Field("n_runs", "Runs", "number")
    return [
        curve.mark("area", opacity=0.18, color=PALETTE[0]).encode(y=up | {"field": "low"}, y2={"field": "high"}),
        curve.mark("line", color=PALETTE[0], strokeWidth=1.75).encode(y=up),
        seen.mark("point", size=28, color=LIGHT["ink"]).encode(
            tooltip=tooltips(rows, minutes=x, success=y, n_runs=counted)
        ),
    ]


def _crossing_layers(rows: pl.DataFrame, x: Field, y: Field) -> list[Chart]:
    up, across = position("y", rows, "success", y), position("x", rows, "minutes", x, grid=False)
    at = Chart().where("datum.part == 'crossing'").encode(y=up, tooltip=nominal("told", title="Horizon"))
    return [
        at.mark("rule", color=PALETTE[1], strokeWidth=2).encode(x=across | {"field": "from"}, x2={"field": "to"}),
        at.where("datum.minutes != null").mark("point", size=40, color=PALETTE[1]).encode(x=across),
    ]


def _crossings(found: TimeHorizons, names: list[str], success_rate: float) -> pl.DataFrame:
    """The horizons as rows of the success chart, cut at its edges."""
    low, high = 2.0 ** found.data.x.min(), 2.0 ** found.data.x.max()
    rows = []
    for name in names:
        one = found.minutes(name, success_rate)
        value = one.value if one.value is not None and low <= one.value <= high else None
        start, end = _cut(one.low, low, high, low), _cut(one.high, low, high, high)
        has_bar = one.state == "ok" and not one.low is one.high is None and start < end
        bar = {"from": start, "to": end} if has_bar else {"from": None, "to": None}
        rows.append({"model": name, "success": success_rate, "minutes": value, "told": told(one), **bar})
    kinds = dict.fromkeys(("minutes", "from", "to"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=kinds).with_columns(part=pl.lit("crossing"))


def _binned(found: TimeHorizons, model: str, success_rate: float, low: float, high: float) -> pl.DataFrame:
    """One model's replicates as shares in equal steps of the axis."""
    assert found.drawn is not None
    draws = found.drawn.of(found.models.index(model)).log2_minutes(success_rate)
    edges = np.linspace(np.log2(low), np.log2(high), 49)
    counts, _ = np.histogram(draws[np.isfinite(draws)], bins=edges)
    frame = pl.DataFrame({"start": np.exp2(edges[:-1]), "end": np.exp2(edges[1:]), "share": counts / len(draws)})
    return frame.filter(pl.col("share") > 0).select(pl.lit(model).alias("model"), "start", "end", "share")


def _shares(shares: pl.Series) -> Field:
    """An axis of shares with three marks."""
    top = float(np.ceil(max(shares.to_list(), default=0.01) * 50) / 50)
    ticks = {top * part: f"{100 * top * part:.3g} %" for part in (0.0, 0.5, 1.0)}
    return Field("share", "Replicates", "share", domain=(0, top), ticks=ticks)


def _apart(
    named: pl.DataFrame, points: pl.DataFrame, across_share: float = 1.0, up_share: float = 1.0
) -> tuple[list[str], list[str]]:
    """Models whose names can stand before and above their points without covering another name, or else after and below without covering anything, the latest first.

    All points take these shares of the chart.
    """

    def places(rows: pl.DataFrame) -> Any:
        return rows.select(pl.col("released").to_physical().cast(pl.Float64), pl.col("minutes").log()).to_numpy()

    first, span = places(points).min(axis=0), np.maximum(np.ptp(places(points), axis=0), 1e-9)
    dots = [(x, x, y) for x, y in (places(points) - first) / span]
    line, after = _LINE / up_share, 1 / across_share
    taken: list[tuple[float, float, float]] = []
    kept: dict[str, list[str]] = {"named": [], "named_after": []}
    rows = zip(*((places(named) - first) / span).T, named["model"], strict=True)
    for x, y, name in sorted(rows, reverse=True):
        width = len(name) * _LETTER / across_share
        ways = {
            "named": ((x - width, x, y + line / 3), taken),
            "named_after": ((x + line / 9, x + width, y - line / 3), taken + [dot for dot in dots if dot[2] != y]),
        }
        for side, ((left, right, level), others) in ways.items():
            is_free = all(left > end or right < start or abs(level - other) > line for start, end, other in others)
            if left >= 0 and right <= after and is_free:
                taken.append((left, right, level))
                kept[side].append(name)
                break
    return kept["named"], kept["named_after"]


def _on_axis(found: Estimate, low: float, high: float) -> dict[str, Any]:
    """An estimate as a row, with what lies beyond the axis drawn as open."""
    state = found.state
    value = found.value
    if value is not None and not low <= value <= high:
        value, state = (low, "below_range") if value < low else (high, "above_range")
    is_open = (
        (found.low_state != "ok" or (found.low or 0) < low),
        (found.high_state != "ok" or (found.high or 0) > high),
    )
    ends = {"low": None if is_open[0] else found.low, "high": None if is_open[1] else found.high}
    has_ends = not {"undefined", "too_few"} & {found.low_state, found.high_state}
    return {"value": value, **ends, "state": state, "text": told(found), "is_open": all(is_open) and has_ends}


def _cut(end: float | None, low: float, high: float, instead: float) -> float:
    return instead if end is None else min(max(end, low), high)


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _fitted(found: TimeHorizons) -> list[ModelFit]:
    return [fit for fit in found.ranked if fit.outcome == "fitted"]


def _span(found: TimeHorizons) -> tuple[float, float]:
    """The ends of an axis of horizons: the tasks', and as far beyond as there are horizons, within reason."""
    first, last = float(found.data.x.min()), float(found.data.x.max())
    values = [np.log2(e.value) for fit in found.fits for e in fit.horizons.values() if e.value]
    low = max(first - _BEYOND, min([first, *values]) - 0.5)
    high = min(last + _BEYOND, max([last, *values]) + 0.5)
    return 2.0**low, 2.0**high


def _inside(minutes: pl.Series) -> tuple[float, float]:
    """The ends of an axis that holds all these minutes."""
    return float(minutes.min()) / 1.5, float(minutes.max()) * 1.5  # type: ignore[arg-type]


def _minutes(column: str, title: str, low: float, high: float, *, thin: bool = False) -> Field:
    ticks = duration_ticks(low, high)
    kept = dict(list(ticks.items())[:: 1 + len(ticks) // 5]) if thin else ticks
    return Field(column, title, "expert time", scale="log2", domain=(low, high), ticks=kept)


def _panel(column: str, names: list[str]) -> dict[str, Any]:
    return nominal(column, title=None, sort=names, header={"labelFontSize": 11.5, "labelLimit": 186})


def _columns(names: list[str]) -> int:
    return 2 if len(names) in (2, 4) else 3


def _caption(found: TimeHorizons, *notes: str, is_drawn: bool = False) -> Caption:
    note = ". ".join(filter(None, notes))
    if found.drawn is None and (is_drawn or not found.is_over_families):
        return Caption(_n_runs(found), "runs", None, "no replicates were computed", note)
    way = "joint" if found.joint is not None else found.provenance.settings["resample"]
    drawn = {"families": "cluster bootstrap over families"}.get(way, _MANNER[way])
    own = _MANNER[way] + ("" if found.data.cut is None else ", with all outcomes that cut runs may have had")
    return Caption(_n_runs(found), "runs", found.level, drawn if is_drawn else own, note)


def _n_runs(found: TimeHorizons) -> int:
    return int(found.data.counts.n.sum())


def _left_out(found: TimeHorizons, shown: Sequence[ModelFit]) -> str:
    n = len(found.models)
    return f"{len(shown)} of {n} models" if len(shown) < n else ""
