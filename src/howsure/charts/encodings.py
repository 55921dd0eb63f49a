"""From rows and fields to what Altair draws: shared by every chart.

Columns are renamed to their role (x, value, low, high, …), and `howsure.charts.drawing` replaces what is in them by places in a list, so no name from the
data reaches Vega's expression language.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from howsure.charts.drawing import Chart, nominal, quantitative
from howsure.charts.theme import DASHES, LIGHT, PALETTE, SHAPES, WIDTH
from howsure.errors import OptionError
from howsure.estimates import Estimate

if TYPE_CHECKING:
    import polars as pl

    from howsure.estimates import Estimate

__all__ = [
    "MAX_ROWS",
    "NAMES",
    "ON_TOP",
    "Caption",
    "Field",
    "Reference",
    "bins",
    "by_group",
    "estimate_rows",
    "haloed",
    "kind",
    "position",
    "reference_line",
    "roles",
    "tooltips",
]

MAX_ROWS = 5000
"""What a page draws without delay; beyond it, aggregate first."""

NAMES: dict[str, Any] = {"labelColor": LIGHT["ink"], "domain": False, "ticks": False}
"""How an axis of names looks."""

ON_TOP: dict[str, Any] = {"titleAngle": 0, "titleAlign": "right", "titleX": -10, "titleY": -9}
"""The title of an axis of names stands above them, where it takes no width."""

_DIGITS = 7  # more than a screen can show, fewer bytes in the page
_KINDS = {"label": pl.String, "group": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
_LETTER, _SYMBOL = 6.5, 46  # pixels of a legend's letter, and of its symbol with the space around


def roles(rows: pl.DataFrame, **columns: Field | str | None) -> pl.DataFrame:
    """The rows with just the named columns, called by their role, and ``told``: value, low and high as they print."""
    wanted = {role: given.column if isinstance(given, Field) else given for role, given in columns.items() if given}
    for name in wanted.values():
        if name not in rows.columns:
            raise OptionError.unknown("column in the rows to draw", name, rows.columns)
    if rows.is_empty():
        raise OptionError("There are no rows to draw. Check what was filtered out before.")
    if len(rows) > MAX_ROWS:
        raise OptionError(
            f"The chart would contain {len(rows):,} rows; a page draws up to {MAX_ROWS:,}. Aggregate first."
        )
    named = rows.select(pl.col(name).alias(role) for role, name in wanted.items())
    named = named.cast({role: kind_of for role, kind_of in _KINDS.items() if role in wanted})
    numbers = pl.selectors.float()
    named = named.with_columns(pl.when(numbers.is_finite()).then(numbers.round_sig_figs(_DIGITS)))
    is_telling = {"value", "low", "high"} <= set(wanted) and "told" not in wanted
    return named.with_columns(_told(named)) if is_telling else named


def kind(rows: pl.DataFrame, role: str) -> Literal["quantitative", "temporal", "nominal"]:
    """What sort of thing a column holds, in Vega's words."""
    dtype = rows.schema[role]
    return "quantitative" if dtype.is_numeric() else "temporal" if dtype.is_temporal() else "nominal"


def position(
    channel: Literal["x", "y"], rows: pl.DataFrame, role: str, field: Field, *, grid: bool = True
) -> dict[str, Any]:
    """The options of a position channel: field, type, title with unit, scale and ticks."""
    sort = kind(rows, role)
    if sort == "quantitative" and not field.unit:
        raise ValueError(f"the field {field.column!r} draws numbers: give its unit")
    shown = {"field": role, "type": sort, "title": field.label, "axis": {"grid": grid, **_ticks(channel, field)}}
    return shown | ({"scale": {**_scale(field)}} if sort == "quantitative" else {})


def by_group(
    rows: pl.DataFrame, group: Field | None, *also: Literal["shape", "strokeDash"], hue: str = PALETTE[0], **symbol: Any
) -> dict[str, Any]:
    """Groups by colour, and `also` by shape or dashes for readers who do not see it; without groups, all in one `hue`.

    Groups keep the order of the rows. `symbol` is how the legend draws them.
    """
    if group is None:
        return {"color": {"value": hue}}
    names = rows["group"].unique(maintain_order=True).drop_nulls().to_list()
    known = [*group.groups, *(name for name in names if name not in group.groups)]
    values = {"color": PALETTE, "shape": SHAPES, "strokeDash": DASHES}
    return {
        name: nominal(
            "group",
            title=group.label,
            sort=names,
            scale={"domain": names, "range": [values[name][known.index(one) % len(values[name])] for one in names]},
            legend=_legend(names, symbol),
        )
        for name in ("color", *also)
    }


def tooltips(rows: pl.DataFrame, **fields: Field | None) -> list[dict[str, Any]]:
    """The text that a pointer shows: each field with its title."""

    def tip(role: str, field: Field) -> dict[str, Any]:
        shown: dict[str, Any] = {"format": field.format} if field.format else {}
        return {"field": role, "type": kind(rows, role), "title": field.label, **shown}

    return [tip(role, field) for role, field in fields.items() if field]


def reference_line(reference: Reference | None, channel: Literal["x", "y"], *, align: str | None = None) -> list[Chart]:
    """A dashed line at the reference, with its label above the plot or at the line's start; nothing without reference.

    `align` says where a label begins or ends that does not stand in the middle of its line.
    """
    if reference is None:
        return []
    at = Chart(pl.DataFrame({"at": [float(reference.value)], "label": [reference.label]}))
    other, look = ("y", _ABOVE) if channel == "x" else ("x", _INSIDE)
    look = look | ({"align": align} if align else {})
    here: dict[str, Any] = {channel: quantitative("at")}
    line = at.mark("rule", strokeDash=[4, 3], strokeWidth=1.25, color=LIGHT["edge"])
    start: dict[str, Any] = {other: {"value": 0}}
    return [
        line.encode(tooltip=nominal("label", title="Reference"), **here),
        *haloed(at.encode(text=nominal("label"), **here, **start), **look),
    ]


def haloed(chart: Chart, **look: Any) -> list[Chart]:
    """Text over a rim in the colour of the ground, so that it can be read across lines."""
    rim = {"stroke": LIGHT["paper"], "strokeWidth": 3.5, "strokeJoin": "round", "color": LIGHT["paper"]}
    return [chart.mark("text", **look | rim), chart.mark("text", **{"color": LIGHT["ink"]} | look)]


_ABOVE = {"align": "center", "baseline": "bottom", "dy": -3, "color": LIGHT["muted"]}
_INSIDE = {"align": "left", "baseline": "bottom", "dx": 6, "dy": -4, "color": LIGHT["muted"]}


def _told(rows: pl.DataFrame) -> pl.Series:
    """Each row's value and interval as an estimate prints them."""
    numbers = rows.select("value", "low", "high").iter_rows()
    told = [None if value is None else str(Estimate(value, low, high)) for value, low, high in numbers]
    return pl.Series("told", told, pl.String)


def _ticks(channel: Literal["x", "y"], field: Field) -> dict[str, Any]:
    if field.ticks:
        places, labels = json.dumps(list(field.ticks)), json.dumps(list(field.ticks.values()))
        return {"values": list(field.ticks), "labelExpr": f"{labels}[indexof({places}, datum.value)]"}
    room = "width / 80" if channel == "x" else "height / 48"
    return {"tickCount": {"expr": f"ceil({room})"}} | ({"format": field.format} if field.format else {})


def _scale(field: Field) -> dict[str, Any]:
    types: dict[str, dict[str, Any]] = {
        "linear": {"zero": False},
        "log2": {"type": "log", "base": 2},
        "log10": {"type": "log", "base": 10},
    }
    return types[field.scale] | ({"domain": list(field.domain), "nice": False} if field.domain else {})


def _legend(names: list[str], symbol: dict[str, Any]) -> dict[str, Any]:
    """As many columns as the width has room for; a narrower page counts again."""
    column = max(map(len, names), default=1) * _LETTER + _SYMBOL
    return {"columns": max(1, min(len(names), int(WIDTH / column))), **symbol}


# What a chart needs to be told besides its rows: columns with titles and units, the caption, the reference line.


_SPACE = "\u00a0"  # does not break
_PROPERTIES = frozenset(
    {
        *(
            "constructor",
            "hasOwnProperty",
            "isPrototypeOf",
            "propertyIsEnumerable",
            "toLocaleString",
            "toString",
            "valueOf",
        ),
        *("__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
    }
)


@dataclass(frozen=True)
class Field:
    """A column of a chart's data, and how it is labelled.

    Parameters
    ----------
    column : str
        Name of the column.
    title : str
        Title of the axis, legend or tooltip.
    unit : str
        Unit in brackets after the title (``0–1``, ``minutes``, ``log-odds``); every numeric column has one.
    format : str
        d3 number format.
    scale : Literal['linear', 'log2', 'log10']
        Scale of the axis.
    domain : tuple[float, float] | None
        The two ends of the axis.
    ticks : Mapping[float, str]
        Marks on the axis and their labels, such as ``{1: "1 min", 60: "1 h"}``.
    groups : tuple[str, ...]
        Groups that keep their colour in every chart, also where the data lack some of them.
    """

    column: str
    title: str
    unit: str = ""
    format: str = ""
    scale: Literal["linear", "log2", "log10"] = "linear"
    domain: tuple[float, float] | None = None
    ticks: Mapping[float, str] = field(default_factory=dict)
    groups: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The title with its unit, on one line."""
        # Vega writes titles into expressions: a line separator would end the text, and a property of every object be overwritten
        label = " ".join((f"{self.title} ({self.unit})" if self.unit else self.title).split())
        return f"{label}{_SPACE}" if label in _PROPERTIES else label


@dataclass(frozen=True)
class Caption:
    """Number of observations behind a chart, and the level and method of its intervals.

    A chart without intervals has ``level=None`` and a ``method`` that says why.

    >>> Caption(1204, "attempts", 0.95, "bootstrap over task families").told("Bars")
    'n = 1,204 attempts. Bars: 95 % interval, bootstrap over task families.'

    Parameters
    ----------
    n : int
        Number of observations.
    of : str
        What is counted: attempts, models, ratings.
    level : float | None
        Coverage of the intervals; None without intervals.
    method : str
        How the intervals were computed.
    note : str
        A further sentence.
    """

    n: int
    of: str
    level: float | None
    method: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.level is None and not self.method:
            raise ValueError("a Caption without level needs a method that says why there is no interval")
        if self.level is not None and not 0 < self.level < 1:
            raise ValueError(f"level {self.level} is not between 0 and 1")

    def told(self, mark: str = "") -> str:
        """The caption as text; `mark` is what draws the intervals (Bars, Bands)."""
        parts = [f"n = {self.n:,} {self.of}", self._interval(mark), self.note]
        return " ".join(f"{part.rstrip('.')}." for part in parts if part)

    def _interval(self, mark: str) -> str:
        if self.level is None:
            return f"No interval: {self.method}"
        made = f", {self.method}" if self.method else ""
        return (f"{mark}: " if mark else "") + f"{self.level * 100:.6g} % interval{made}"


@dataclass(frozen=True)
class Reference:
    """A line to compare with, such as chance level or no difference.

    Parameters
    ----------
    value : float
        Position of the line.
    label : str
        Text beside the line.
    """

    value: float
    label: str = ""


def estimate_rows(by_label: Mapping[str, Estimate] | Iterable[tuple[str, Estimate]]) -> pl.DataFrame:
    """Estimates as rows for a chart: ``label``, ``value``, ``low``, ``high``, ``state``, ``text`` (as printed).

    Parameters
    ----------
    by_label : Mapping[str, Estimate] | Iterable[tuple[str, Estimate]]
        Label → estimate, or pairs of them.
    """
    import polars as pl

    pairs = list(by_label.items() if isinstance(by_label, Mapping) else by_label)
    rows = [(label, one.value, one.low, one.high, one.state, str(one)) for label, one in pairs]
    kinds = [pl.String, pl.Float64, pl.Float64, pl.Float64, pl.String, pl.String]
    names = ["label", "value", "low", "high", "state", "text"]
    return pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")


def bins(values: Iterable[float], n_bins: int = 40) -> pl.DataFrame:
    """Number of values in each of `n_bins` equal steps: ``start``, ``end``, ``count``.

    Parameters
    ----------
    values : Iterable[float]
        Finite numbers.
    n_bins : int
        Number of steps.
    """
    import numpy as np
    import polars as pl

    counts, edges = np.histogram(np.fromiter(values, float), bins=n_bins)
    return pl.DataFrame({"start": edges[:-1], "end": edges[1:], "count": counts})
