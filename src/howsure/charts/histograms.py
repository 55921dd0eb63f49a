"""Histograms: the number of values in each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.charts.drawing import Chart, layered
from howsure.charts.encodings import position, reference_line, roles, tooltips
from howsure.charts.fields import Caption, Field, Reference, estimate_rows
from howsure.charts.theme import LIGHT, PALETTE, captioned

if TYPE_CHECKING:
    from howsure.estimates import Estimate

__all__ = ["histogram"]


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
