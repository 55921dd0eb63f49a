"""The kinds of charts: intervals, lines with bands, points, heat maps and histograms."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.charts.drawing import Chart, layered, nominal, quantitative
from howsure.charts.encodings import (
    NAMES,
    ON_TOP,
    Caption,
    Field,
    Reference,
    by_group,
    estimate_rows,
    haloed,
    kind,
    position,
    reference_line,
    roles,
    tooltips,
)
from howsure.charts.theme import DIVERGING, LIGHT, PALETTE, ROW, SEQUENTIAL, WIDTH, captioned

if TYPE_CHECKING:
    from howsure.estimates import Estimate

__all__ = ["band", "heat_map", "histogram", "interval_plot", "line_with_band", "points_with_trend"]

_MARGIN = 0.04  # of the axis, on either side
_NEAR = 0.2  # of the axis, from either end
_BESIDE = 15  # pixels of a row that shares its label with others
_EDGE = {"below_range": "triangle-left", "above_range": "triangle-right"}


# Interval plots: one row per estimate, its value as a dot and its interval as a bar.


def interval_plot(
    rows: pl.DataFrame,
    *,
    title: str,
    caption: Caption,
    label: Field,
    value: Field,
    low: str = "low",
    high: str = "high",
    group: Field | None = None,
    reference: Reference | None = None,
    is_sorted: bool = True,
) -> Chart:
    """Estimates with their intervals, one line per label, the largest on top: means, differences, rankings.

    A missing `low` or `high` is an open end and gets an arrow. Where the rows have the columns ``state`` and ``text`` of `estimate_rows`, a value at the edge of the observed range is drawn as an arrowhead, and a row without value says why.
    An estimate without both ends has no interval, and no bar; with a true value in the column ``is_open`` its interval is open at both ends.

    Parameters
    ----------
    rows : pl.DataFrame
        One row per estimate.
    title : str
        Title of the chart.
    caption : Caption
        Number of observations, level and method.
    label : Field
        Column of the labels.
    value : Field
        Column of the estimates.
    low : str
        Column with the lower ends.
    high : str
        Column with the upper ends.
    group : Field | None
        Column of the groups, which are drawn side by side in different colours.
    reference : Reference | None
        A vertical line to compare with.
    is_sorted : bool
        Whether to sort by value; False keeps the order of the rows.
    """
    known = {
        role: name for role, name in (("state", "state"), ("told", "text"), ("open", "is_open")) if name in rows.columns
    }
    drawn = roles(rows, label=label, value=value, low=low, high=high, group=group, **known)
    field = replace(value, domain=value.domain or _edges(drawn, value, reference))
    drawn = _with_ends(drawn, field)
    base = Chart(drawn).encode(
        y=_rows(drawn, label, is_sorted=is_sorted),
        tooltip=tooltips(drawn, label=label, group=group, told=Field("told", value.label)),
        **_grouped(drawn, group),
    )
    x = position("x", drawn, "value", field)
    layers = [
        *reference_line(reference, "x", align=_alignment(field, reference)),
        _bars(base, x),
        _heads(base, x, drawn),
        _words(base, x),
    ]
    chart = layered(layers, height=_height(drawn))
    return captioned(chart, title=title, caption=caption, mark="Bars")


def _edges(rows: pl.DataFrame, value: Field, reference: Reference | None) -> tuple[float, float]:
    """The ends of the axis: all that is drawn, and a margin on the axis's own scale."""
    numbers = [number for name in ("value", "low", "high") for number in rows[name].drop_nulls()]
    numbers += [reference.value] if reference else []
    is_log = value.scale != "linear"
    places = [math.log(number) if is_log else number for number in numbers if number > 0 or not is_log] or [0, 1]
    margin = (max(places) - min(places)) * _MARGIN or 0.5
    low, high = min(places) - margin, max(places) + margin
    return (math.exp(low), math.exp(high)) if is_log else (low, high)


def _alignment(value: Field, reference: Reference | None) -> str | None:
    """Where the label of the reference begins or ends: a line near an end of the axis has it on the inner side, off the title of the names."""
    if reference is None or value.domain is None:
        return None
    is_log = value.scale != "linear"
    low, high, at = (math.log(n) if is_log and n > 0 else n for n in (*value.domain, reference.value))
    share = (at - low) / (high - low) if high > low else 0.5
    return "left" if share < _NEAR else "right" if share > 1 - _NEAR else None


def _with_ends(rows: pl.DataFrame, value: Field) -> pl.DataFrame:
    """Where each bar starts and ends: at the edge of the axis where the interval is open."""
    left, right = value.domain or (0, 1)
    is_open = pl.col("open") if "open" in rows.columns else pl.lit(value=False)
    known = pl.col("value").is_not_null() & (pl.col("low").is_not_null() | pl.col("high").is_not_null() | is_open)
    return rows.with_columns(
        start=pl.when(known).then(pl.col("low").fill_null(left)),
        end=pl.when(known).then(pl.col("high").fill_null(right)),
        left=pl.lit(left),
        state=pl.col("state") if "state" in rows.columns else pl.lit("ok"),
        told=pl.col("told").fill_null("no value"),
    )


def _rows(rows: pl.DataFrame, label: Field, *, is_sorted: bool) -> dict[str, Any]:
    best = rows.group_by("label", maintain_order=True).agg(pl.col("value").max())
    order = best.sort("value", descending=True, nulls_last=True, maintain_order=True) if is_sorted else best
    axis = {"grid": True, "gridDash": [1, 3], "labelPadding": 10, **NAMES, **ON_TOP}
    return nominal("label", title=label.label, sort=order["label"].to_list(), axis=axis)


def _grouped(rows: pl.DataFrame, group: Field | None) -> dict[str, Any]:
    colors = by_group(rows, group)
    if group is None or not rows["label"].is_duplicated().any():
        return colors
    return colors | {"yOffset": nominal("group", sort=rows["group"].unique(maintain_order=True).to_list())}


def _bars(base: Chart, x: dict[str, Any]) -> Chart:
    bars: Chart = base.where("datum.end != null").mark("rule", strokeWidth=2.5)
    return bars.encode(x=x | {"field": "start"}, x2={"field": "end"})


def _heads(base: Chart, x: dict[str, Any], rows: pl.DataFrame) -> Chart:
    heads: Chart = base.having(data=_glyphs(rows)).mark("point", stroke=LIGHT["paper"], strokeWidth=1)
    glyph = nominal("glyph", scale=None)
    return heads.encode(x=x | {"field": "place"}, shape=glyph, size=quantitative("size", scale=None))


def _glyphs(rows: pl.DataFrame) -> pl.DataFrame:
    """Dots; arrowheads where the value lies at the edge of what was observed, and at open ends."""
    at_value = rows.with_columns(place="value", glyph=pl.col("state").replace_strict(_EDGE, default="circle"), size=90)
    at_low = rows.filter(pl.col("low").is_null()).with_columns(place="start", glyph=pl.lit("triangle-left"), size=60)
    at_high = rows.filter(pl.col("high").is_null()).with_columns(place="end", glyph=pl.lit("triangle-right"), size=60)
    return pl.concat([at_value, at_low, at_high]).filter(pl.col("place").is_not_null())


def _words(base: Chart, x: dict[str, Any]) -> Chart:
    """Why a row has no value."""
    room = {"expr": "width - 8"}
    words: Chart = base.where("datum.value == null")
    words = words.mark("text", align="left", dx=4, fontStyle="italic", limit=room)
    return words.encode(x=x | {"field": "left"}, text=nominal("told"), color={"value": LIGHT["muted"]})


def _height(rows: pl.DataFrame) -> int:
    return max(rows["label"].n_unique() * ROW, len(rows) * _BESIDE)


# Lines with bands: one quantity as a function of another, with its interval at each point.


_STROKE: dict[str, Any] = {"symbolType": "stroke", "symbolSize": 500, "symbolStrokeWidth": 2.5}


def line_with_band(
    rows: pl.DataFrame,
    *,
    title: str,
    caption: Caption,
    x: Field,
    y: Field,
    low: str | None = "low",
    high: str | None = "high",
    group: Field | None = None,
    reference: Reference | None = None,
    is_step: bool = False,
) -> Chart:
    """Lines with bands: learning curves, survival curves (`is_step`), forecasts.

    One line per group; groups differ in colour and dashes. Lines that are computed and not estimated, such as power curves, have no band: ``low=None, high=None``.

    Parameters
    ----------
    rows : pl.DataFrame
        One row per point of a line.
    title : str
        Title of the chart.
    caption : Caption
        Number of observations, level and method.
    x : Field
        Column of the horizontal axis.
    y : Field
        Column of the vertical axis.
    low : str | None
        Column with the lower end of the band.
    high : str | None
        Column with the upper end of the band.
    group : Field | None
        Column of the groups.
    reference : Reference | None
        A horizontal line to compare with.
    is_step : bool
        Whether the line is a step function.
    """
    drawn = roles(rows, x=x, value=y, low=low, high=high, group=group)
    layers = [*band(drawn, x, y, group, is_step=is_step), *reference_line(reference, "y")]
    return captioned(layered(layers), title=title, caption=caption, mark="Bands" if low else "")


def band(
    rows: pl.DataFrame, x: Field, y: Field, group: Field | None = None, *, is_step: bool = False, hue: str = PALETTE[0]
) -> list[Chart]:
    """A band, its line, and points that nobody sees but a pointer finds; for rows in the roles x, value, low, high."""
    is_sure = "low" not in rows.columns
    told = {"value": y} if is_sure else {"told": Field("told", y.label)}
    up, tips = position("y", rows, "value", y), tooltips(rows, group=group, x=x, **told)
    base = Chart(rows).encode(x=position("x", rows, "x", x, grid=False), y=up)
    color = by_group(rows, group, hue=hue, **_STROKE)
    step: dict[str, Any] = {"interpolate": "step-after"} if is_step else {}
    area = base.mark("area", opacity=0.18, **step).encode(
        y=up | {"field": "low"}, y2={"field": "high"}, tooltip=tips, **color
    )
    return [
        *([] if is_sure else [area]),
        base.mark("line", **step).encode(**by_group(rows, group, "strokeDash", hue=hue, **_STROKE)),
        base.mark("point", size=120, opacity=0).encode(tooltip=tips, **color),
    ]


# Scatter plots: labelled points with their intervals, and their trend.


def points_with_trend(
    points: pl.DataFrame,
    trend: pl.DataFrame | None = None,
    *,
    title: str,
    caption: Caption,
    x: Field,
    y: Field,
    label: Field,
    low: str = "low",
    high: str = "high",
    group: Field | None = None,
    named: Collection[str] = (),
    named_after: Collection[str] = (),
    reference: Reference | None = None,
) -> Chart:
    """Labelled points with vertical intervals, over a trend with its band: capability by date, horizon by release.

    Parameters
    ----------
    points : pl.DataFrame
        One row per point, with the columns of `x`, `y`, `low`, `high`, `label` and `group`.
    trend : pl.DataFrame | None
        One row per point of the trend, with the columns of `x`, `y`, `low` and `high`.
    title : str
        Title of the chart.
    caption : Caption
        Number of observations, level and method.
    x : Field
        Column of the horizontal axis.
    y : Field
        Column of the vertical axis.
    label : Field
        Column with the name of each point, for tooltips.
    low : str
        Column with the lower ends.
    high : str
        Column with the upper ends.
    group : Field | None
        Column of the groups.
    named : Collection[str]
        Labels that are also written beside their points, before and above them.
    named_after : Collection[str]
        Labels that are written after and below their points.
    reference : Reference | None
        A horizontal line to compare with.
    """
    drawn = roles(points, x=x, value=y, low=low, high=high, label=label, group=group)
    under = [] if trend is None else band(roles(trend, x=x, value=y, low=low, high=high), x, y, hue=LIGHT["muted"])
    over = [
        *_points(drawn, x, y, label, group),
        *_names(drawn, x, y, named, named_after),
        *reference_line(reference, "y"),
    ]
    return captioned(layered([*under, *over]), title=title, caption=caption, mark="Bars and bands" if under else "Bars")


def _points(rows: pl.DataFrame, x: Field, y: Field, label: Field, group: Field | None) -> list[Chart]:
    up, tips = (
        position("y", rows, "value", y),
        tooltips(rows, label=label, group=group, x=x, told=Field("told", y.label)),
    )
    base = Chart(rows).encode(x=position("x", rows, "x", x, grid=False), y=up, tooltip=tips)
    bars = base.mark("rule", strokeWidth=1.5, opacity=0.55).encode(y=up | {"field": "low"}, y2={"field": "high"})
    bars = bars.where("datum.low !== datum.high")  # the drawing engine complains of lines without length
    dots = base.mark("point", stroke=LIGHT["paper"], strokeWidth=0.8)
    return [bars.encode(**by_group(rows, group)), dots.encode(**by_group(rows, group, "shape"))]


def _names(rows: pl.DataFrame, x: Field, y: Field, before: Collection[str], after: Collection[str]) -> list[Chart]:
    drawn = []
    for names, place in (
        (before, {"align": "right", "dx": -8, "dy": -7}),
        (after, {"align": "left", "dx": 8, "dy": 9}),
    ):
        shown = rows.filter(pl.col("label").is_in(list(names)))
        if len(shown):
            at = Chart(shown).encode(x=position("x", rows, "x", x, grid=False), y=position("y", rows, "value", y))
            drawn += haloed(at.encode(text=nominal("label")), **place)
    return drawn


# A number for every pair, as the colour of a cell.


_COLUMN = 64  # pixels
_READABLE = 400  # cells that are large enough to hold their number
_FIGURE = "bandwidth('x') < 31 ? 0 : 11"  # numbers that would not fit their cells are left to the tooltip
_BRIGHT, _DARK = "#fefefe", "#010101"  # not quite white and black, which a dark page would swap


def heat_map(
    rows: pl.DataFrame,
    *,
    title: str,
    caption: Caption,
    x: Field,
    y: Field,
    value: Field,
    low: str | None = None,
    high: str | None = None,
    midpoint: float | None = None,
) -> Chart:
    """One coloured cell per pair of `x` and `y`, in the order of the rows; a cell without a row stays empty.

    Cells show their number while they are large enough to read it.

    Parameters
    ----------
    rows : pl.DataFrame
        One row per cell.
    title : str
        Title of the chart.
    caption : Caption
        Number of observations, level and method.
    x : Field
        Column of the horizontal axis.
    y : Field
        Column of the vertical axis.
    value : Field
        Column of the colour.
    low : str | None
        Column with the lower end of the interval, for tooltips.
    high : str | None
        Column with the upper end of the interval, for tooltips.
    midpoint : float | None
        Colours diverge from this value (0 for correlations, 0.5 for win rates); None for a sequential scale.
    """
    drawn = roles(rows, x=x, y=y, value=value, low=low, high=high)
    ends = value.domain or _ends(drawn, midpoint)
    drawn = drawn.with_columns(is_dark=_is_dark(ends, is_diverging=midpoint is not None))
    told = Field("told", value.label) if low and high else None
    tips = tooltips(drawn, x=x, y=y, **({"told": told} if told else {"value": value}))
    base = Chart(drawn).encode(x=_side(drawn, "x", x), y=_side(drawn, "y", y), tooltip=tips)
    layers = [
        base.mark("rect", stroke=LIGHT["paper"], strokeWidth=1).encode(color=_cell(value, ends, midpoint)),
        *_numbers(base, drawn, value),
    ]
    n_across, n_down = drawn["x"].n_unique(), drawn["y"].n_unique()
    chart = layered(layers, width=min(WIDTH, n_across * _COLUMN), height=n_down * ROW)
    return captioned(chart, title=title, caption=caption, mark="Tooltips" if told else "")


def _ends(rows: pl.DataFrame, midpoint: float | None) -> tuple[float, float]:
    numbers = rows["value"].drop_nulls().to_list() or [0.0, 1.0]
    if midpoint is None:
        return min(numbers), max(numbers)
    reach = max(abs(number - midpoint) for number in numbers) or 1.0
    return midpoint - reach, midpoint + reach


def _is_dark(ends: tuple[float, float], *, is_diverging: bool) -> pl.Expr:
    """Whether a cell needs bright figures."""
    place = (pl.col("value") - ends[0]) / ((ends[1] - ends[0]) or 1)
    return ((place - 0.5).abs() > 0.338) if is_diverging else (place > 0.615)


def _side(rows: pl.DataFrame, role: str, field: Field) -> dict[str, Any]:
    names = _order(rows, role)
    is_long = max(len(str(name)) for name in names) > 8
    look = ON_TOP if role == "y" else {"labelAngle": -40 if is_long else 0, "labelLimit": 300}
    axis = {"labelOverlap": False, **NAMES, **look}
    ordered = "ordinal" if kind(rows, role) != "nominal" else "nominal"
    return {"field": role, "type": ordered, "sort": names, "title": field.label, "axis": axis}


def _order(rows: pl.DataFrame, role: str) -> list[Any]:
    """As the rows come; where the same things are on both sides, across as down."""
    across, down = (rows[side].unique(maintain_order=True).to_list() for side in ("x", "y"))
    return down if role == "y" or set(across) == set(down) else across


def _cell(value: Field, ends: tuple[float, float], midpoint: float | None) -> dict[str, Any]:
    scale = {
        "domain": list(ends),
        "range": list(SEQUENTIAL if midpoint is None else DIVERGING),
        "interpolate": "lab",
        "clamp": True,
    }
    return quantitative("value", title=value.label, scale=scale, legend={**_format(value)})


def _numbers(base: Chart, rows: pl.DataFrame, value: Field) -> list[Chart]:
    if len(rows) > _READABLE:
        return []
    text = quantitative("value", format=value.format or ".2f")
    ink = {"condition": {"test": "datum.is_dark", "value": _BRIGHT}, "value": _DARK}
    return [base.mark("text", fontSize={"expr": _FIGURE}).encode(text=text, color=ink)]


def _format(value: Field) -> dict[str, Any]:
    return {"format": value.format} if value.format else {}


# Histograms: the number of values in each step.


def histogram(
    rows: pl.DataFrame,
    *,
    title: str,
    caption: Caption,
    x: Field,
    count: Field,
    end: str = "end",
    estimate: Estimate | None = None,
    reference: Reference | None = None,
) -> Chart:
    """Counts in steps of `x`, as computed by `bins`.

    Parameters
    ----------
    rows : pl.DataFrame
        One row per step.
    title : str
        Title of the chart.
    caption : Caption
        Number of observations, level and method.
    x : Field
        Column with the start of a step.
    count : Field
        Column with the counts.
    end : str
        Column with the end of a step.
    estimate : Estimate | None
        An estimate of the same quantity, drawn as a line over the band of its interval.
    reference : Reference | None
        A vertical line to compare with.
    """
    drawn = roles(rows, x=x, end=end, count=count)
    across, up = (
        position("x", drawn, "x", x, grid=False),
        position("y", drawn, "count", count) | {"scale": {"zero": True}},
    )
    tips = tooltips(drawn, x=x, end=Field("end", "up to", x.unit, x.format), count=count)
    bars = Chart(drawn).mark("bar", opacity=0.8, stroke=LIGHT["paper"], strokeWidth=0.5)
    layers = [
        *_estimate(estimate, across, x),
        bars.encode(x=across, x2={"field": "end"}, y=up, y2={"datum": 0}, tooltip=tips),
        *reference_line(reference, "x"),
    ]
    return captioned(layered(layers), title=title, caption=caption, mark="Band" if estimate else "")


def _estimate(estimate: Estimate | None, across: dict[str, Any], x: Field) -> list[Chart]:
    """The estimate's value as a line, its interval as a band behind the bars."""
    if estimate is None or estimate.value is None:
        return []
    row = roles(estimate_rows({x.title: estimate}), value="value", low="low", high="high", told="text")
    base = Chart(row).encode(tooltip=tooltips(row, told=Field("told", x.label)))
    at = {role: across | {"field": role} for role in ("value", "low")}
    band = base.mark("rect", color=PALETTE[1], opacity=0.16).encode(x=at["low"], x2={"field": "high"})
    line = base.mark("rule", color=PALETTE[1], strokeWidth=2).encode(x=at["value"])
    return [band, line] if estimate.width is not None else [line]
