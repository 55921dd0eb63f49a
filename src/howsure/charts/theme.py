"""One look for every chart, readable on light and on dark, with and without colour vision.

A chart is drawn in the light colours on a transparent ground. Pages swap each colour for its dark partner by style
sheet (`color_css`), so the same picture serves both; files on paper get a white ground.
The palette keeps the hues of Okabe and Ito (2008) and moves their lightness apart, so that the first three differ most,
each stands out from its ground (3:1), and no two merge under protanopia, deuteranopia or tritanopia.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.charts.encodings import Caption

__all__ = ["DARK", "DIVERGING", "LIGHT", "PALETTE", "PALETTE_DARK", "SEQUENTIAL", "captioned", "color_css", "config"]

PALETTE = ("#0072b2", "#d55e00", "#00563f", "#cc79a7", "#7d4e00", "#3a9bd9", "#000000")
"""Blue, vermilion, green, purple, brown, sky, and black last."""

PALETTE_DARK = ("#4fb0f0", "#e0660a", "#0b9a72", "#f3b4d4", "#f5e08a", "#2e78c8", "#ffffff")
"""The same hues on a dark ground, in the same order."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
DASHES = ([1, 0], [7, 3], [2, 3], [8, 3, 2, 3], [12, 4], [4, 3], [1, 4])

SEQUENTIAL = ("#edf4fa", "#c5dbee", "#8dbbdd", "#4f95c6", "#1f6fa8", "#0b4a7d", "#082b4e")
DIVERGING = ("#8a3300", "#bd5a12", "#f0b27c", "#f3f3f1", "#8dbbdd", "#2b7bb5", "#08406e")

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b2430",
    "muted": "#566270",
    "line": "#e1e6eb",
    "edge": "#8a96a3",
    "soft": "#f4f6f8",
}
DARK = {
    "paper": "#14181d",
    "ink": "#e8ecf0",
    "muted": "#a5b0bc",
    "line": "#2c343d",
    "edge": "#73808d",
    "soft": "#1c2228",
}

FONT = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif"
)

TITLE: dict[str, Any] = {
    "anchor": "start",
    "frame": "bounds",
    "align": "left",
    "fontSize": 16,
    "fontWeight": 600,
    "lineHeight": 21,
    "color": LIGHT["ink"],
    "subtitleFontSize": 12,
    "subtitleColor": LIGHT["muted"],
    "subtitleLineHeight": 16,
    "subtitlePadding": 5,
    "offset": 14,
}

WIDTH, HEIGHT, ROW = 640, 340, 26
_TITLE_LINE, _CAPTION_LINE = 72, 106  # characters that fit the width


def captioned(chart: Chart, *, title: str, caption: Caption, mark: str = "") -> Chart:
    """The chart in Howsure's theme, with its title and a caption that states n and the level of the intervals.

    Every chart passes through this function last: a captioned chart cannot be layered or concatenated any more.

    Parameters
    ----------
    chart : Chart
        The chart.
    title : str
        Its title.
    caption : Caption
        Number of observations, level and method.
    mark : str
        The marks that draw the intervals (Bars, Bands).
    """
    told = caption.told(mark)
    head = {"text": textwrap.wrap(title, _TITLE_LINE), "subtitle": textwrap.wrap(told, _CAPTION_LINE)}
    return chart.having(title=head, description=f"{title.rstrip('.')}. {told}", config=config())


def config() -> dict[str, Any]:
    """The look, as a Vega-Lite configuration."""
    return {
        "background": "transparent",
        "font": FONT,
        "padding": 8,
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT, "discreteHeight": {"step": ROW}},
        "title": TITLE,
        "axis": _axis(),
        "axisX": {"titleAnchor": "middle", "titlePadding": 10, "labelFlush": False},
        "axisY": {"titleAnchor": "middle", "titlePadding": 12, "labelLimit": 300},
        "legend": _legend(),
        "header": {"titleColor": LIGHT["ink"], "labelColor": LIGHT["ink"], "labelFontSize": 12, "labelFontWeight": 600},
        "range": {
            "category": list(PALETTE),
            "symbol": list(SHAPES),
            "ramp": list(SEQUENTIAL),
            "heatmap": list(SEQUENTIAL),
            "ordinal": list(SEQUENTIAL),
            "diverging": list(DIVERGING),
        },
        "mark": {"color": PALETTE[0]},
        "rule": {"color": LIGHT["edge"]},
        "text": {"color": LIGHT["ink"], "fontSize": 11.5},
        "line": {"strokeWidth": 2.25, "strokeJoin": "round"},
        "point": {"filled": True, "size": 70, "opacity": 1},
    }


def color_css() -> str:
    """Style sheet with the page's colours, and the swap of every chart colour on a dark screen. Print stays light."""
    swapped = {**dict(zip(PALETTE, PALETTE_DARK, strict=True)), **{LIGHT[name]: DARK[name] for name in LIGHT}}
    swaps = [
        f'.stage [{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in swapped.items()
        for attribute in ("fill", "stroke")
    ]
    dark = "\n".join((_variables(DARK, PALETTE_DARK), *swaps))
    return f"{_variables(LIGHT, PALETTE)}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def _axis() -> dict[str, Any]:
    return {
        "domainColor": LIGHT["edge"],
        "tickColor": LIGHT["edge"],
        "tickSize": 4,
        "gridColor": LIGHT["line"],
        "labelColor": LIGHT["muted"],
        "labelFontSize": 12,
        "labelPadding": 5,
        "titleColor": LIGHT["ink"],
        "titleFontSize": 12.5,
        "titleFontWeight": 500,
        "labelOverlap": True,
    }


def _legend() -> dict[str, Any]:
    return {
        "orient": "top",
        "direction": "horizontal",
        "titleColor": LIGHT["ink"],
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "labelColor": LIGHT["ink"],
        "labelFontSize": 12,
        "labelLimit": 240,
        "titleOrient": "left",
        "titleBaseline": "middle",
        "symbolSize": 90,
        "symbolOpacity": 1,
        "columnPadding": 18,
        "rowPadding": 4,
        "offset": 20,
        "gradientLength": 180,
        "gradientThickness": 10,
    }


def _variables(colors: dict[str, str], palette: tuple[str, ...]) -> str:
    named = {**colors, "accent": palette[0]}
    return ":root{" + ";".join(f"--{name}:{color}" for name, color in named.items()) + "}"
