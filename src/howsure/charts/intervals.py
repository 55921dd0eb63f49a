"""Interval plots: one row per estimate, its value as a dot and its interval as a bar."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import polars as pl

from howsure.charts.drawing import Chart, layered, nominal, quantitative
from howsure.charts.encodings import NAMES, ON_TOP, by_group, position, reference_line, roles, tooltips
from howsure.charts.fields import Caption, Field, Reference
from howsure.charts.theme import LIGHT, ROW, captioned

__all__ = ["interval_plot"]

_MARGIN = 0.04  # of the axis, on either side
_NEAR = 0.2  # of the axis, from either end
_BESIDE = 15  # pixels of a row that shares its label with others
_EDGE = {"below_range": "triangle-left", "above_range": "triangle-right"}


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
