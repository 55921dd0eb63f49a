"""Lines with bands: one quantity as a function of another, with its interval at each point."""

from __future__ import annotations

from typing import Any

import polars as pl

from howsure.charts.drawing import Chart, layered
from howsure.charts.encodings import by_group, position, reference_line, roles, tooltips
from howsure.charts.fields import Caption, Field, Reference
from howsure.charts.theme import PALETTE, captioned

__all__ = ["band", "line_with_band"]

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
