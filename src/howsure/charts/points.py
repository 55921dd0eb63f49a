"""Scatter plots: labelled points with their intervals, and their trend."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from howsure.charts.drawing import Chart, layered, nominal
from howsure.charts.encodings import by_group, haloed, position, reference_line, roles, tooltips
from howsure.charts.fields import Caption, Field, Reference
from howsure.charts.lines import band
from howsure.charts.theme import LIGHT, captioned

__all__ = ["points_with_trend"]


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
