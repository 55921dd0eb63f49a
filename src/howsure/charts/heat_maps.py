"""A number for every pair, as the colour of a cell."""

from __future__ import annotations

from typing import Any

import polars as pl

from howsure.charts.drawing import Chart, layered, quantitative
from howsure.charts.encodings import NAMES, ON_TOP, kind, roles, tooltips
from howsure.charts.fields import Caption, Field
from howsure.charts.theme import DIVERGING, LIGHT, ROW, SEQUENTIAL, WIDTH, captioned

__all__ = ["heat_map"]

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
