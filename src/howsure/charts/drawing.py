"""A chart as plain Vega-Lite: frames and dictionaries, put together without another package.

>>> import polars as pl
>>> rows = pl.DataFrame({"model": ["a", "b"], "score": [0.4, 0.7]})
>>> dots = Chart(rows).mark("point").encode(x=quantitative("score"), y=nominal("model"))
>>> layered([dots], width=300).to_dict()["layer"][0]["mark"]
{'type': 'point'}
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.errors import need

if TYPE_CHECKING:
    import altair

__all__ = ["Chart", "above_each_other", "by_place", "layered", "nominal", "quantitative"]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.1.0.json"


class Chart:
    """A picture of rows: what is drawn (`mark`), by which columns (`encode`), of which rows (`where`).

    Every method gives a new chart. In a notebook it shows itself as a still picture; `to_altair` gives a chart that Altair can change.

    Parameters
    ----------
    data : polars.DataFrame, optional
        The rows; without them, those of the chart around it.
    **parts
        Further parts of the specification, in Vega-Lite's words.
    """

    def __init__(self, data: pl.DataFrame | None = None, **parts: Any) -> None:
        self._parts = ({} if data is None else {"data": data}) | parts

    def having(self, **parts: Any) -> Chart:
        """The chart with other parts, such as ``data``, ``height`` or ``title``."""
        return Chart(**{**self._parts, **parts})

    def mark(self, kind: str, **look: Any) -> Chart:
        """The chart drawn as points, lines, bars, …"""
        return self.having(mark={"type": kind, **look})

    def encode(self, **channels: Any) -> Chart:
        """The chart with these channels (x, y, color, …) beside those it has."""
        return self.having(encoding={**self._parts.get("encoding", {}), **channels})

    def where(self, test: str) -> Chart:
        """The chart of the rows for which a Vega expression is true."""
        return self.having(transform=[*self._parts.get("transform", ()), {"filter": test}])

    def facet(self, data: pl.DataFrame, facet: dict[str, Any], columns: int, **options: Any) -> Chart:
        """One panel per value of a column; the panels' layers have no data of their own."""
        return Chart(data, facet=facet, columns=columns, spec=self, **options)

    def to_dict(self, **_: Any) -> dict[str, Any]:
        """The whole specification, with its data inside."""
        frames: dict[int, tuple[str, pl.DataFrame]] = {}
        parts = _resolved(self, frames)
        datasets = {name: _rows(frame) for name, frame in frames.values()}
        return by_place({"$schema": _SCHEMA, **parts, "datasets": parts.get("datasets", {}) | datasets})

    def to_altair(self) -> altair.TopLevelMixin:
        """The same chart for Altair."""
        need("altair", "charts", "A chart for Altair")
        import altair

        chart: altair.TopLevelMixin = altair.Chart.from_dict(self.to_dict())
        return chart

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the chart; see `howsure.charts.save_chart`."""
        from howsure.charts.export import save_chart

        return save_chart(self, path)

    def __repr__(self) -> str:
        title = self._parts.get("title", "")
        return f"<Chart: {title.get('text', '') if isinstance(title, dict) else title}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from howsure.charts.export import to_spec
        from howsure.charts.pictures import svg

        return {"image/svg+xml": svg(to_spec(self)), "text/plain": repr(self)}


def layered(charts: Sequence[Chart], **parts: Any) -> Chart:
    """Charts on top of each other, the first one at the bottom."""
    return Chart(layer=list(charts), **parts)


def above_each_other(charts: Sequence[Chart], **parts: Any) -> Chart:
    """Charts in one column."""
    return Chart(vconcat=list(charts), **parts)


def nominal(field: str, **options: Any) -> dict[str, Any]:
    """A channel of names."""
    return {"field": field, "type": "nominal", **options}


def quantitative(field: str, **options: Any) -> dict[str, Any]:
    """A channel of numbers."""
    return {"field": field, "type": "quantitative", **options}


def _resolved(part: Any, frames: dict[int, tuple[str, pl.DataFrame]]) -> Any:
    """A part as plain JSON values; frames are gathered and named."""
    if isinstance(part, Chart):
        return _resolved(part._parts, frames)
    if isinstance(part, pl.DataFrame):
        name, _ = frames.setdefault(id(part), (f"data-{len(frames) + 1}", part))
        return {"name": name}
    if isinstance(part, dict):
        return {key: _resolved(inner, frames) for key, inner in part.items()}
    return [_resolved(inner, frames) for inner in part] if isinstance(part, list | tuple) else part


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as JSON values: times as local ISO text, what is not finite as null."""
    numbers, times = pl.selectors.float(), pl.selectors.date() | pl.selectors.datetime()
    plain = frame.with_columns(
        pl.when(numbers.is_finite()).then(numbers), times.cast(pl.Datetime).dt.to_string("%Y-%m-%dT%H:%M:%S")
    )
    return plain.to_dicts()


# Names from the data as numbers: what a chart sorts, groups and scales by is the place of a name in a list, never the name.
#
# Vega keeps categories as keys of plain JavaScript objects, and Vega-Lite writes them into expressions. There "constructor" or "__proto__"
# means something else, and a line separator ends the text. So a specification gets a column of numbers beside each column of names, and the
# names in a parameter, from which axes, legends and panels look them up. Texts and tooltips read the names themselves, which is harmless.


_GUIDES = {"facet": "header", "row": "header", "column": "header", "x": "axis", "y": "axis"}
_LEGENDS = ("color", "fill", "stroke", "shape", "strokeDash", "opacity", "size")
_SILENT = ("xOffset", "yOffset", "detail")
_VALUE = "datum.value"

Spec = dict[str, Any]


def by_place(spec: Spec) -> Spec:
    """The specification with the places of names wherever Vega would compute with the names."""
    names = _names(spec)
    if not names or "datasets" not in spec:
        return spec
    places = {field: {name: place for place, name in enumerate(known)} for field, known in names.items()}
    datasets = {key: [_placed(row, places) for row in rows] for key, rows in spec["datasets"].items()}
    params = [*spec.get("params", ()), *({"name": _list_of(field), "value": known} for field, known in names.items())]
    made: Spec = _rewritten(spec, places)
    return made | {"datasets": datasets, "params": params}


def _names(spec: Spec) -> dict[str, list[str]]:
    """By field, every name that a channel scales, sorts or groups by, in the order that Vega gives them by default."""
    fields = {channel["field"] for _, channel in _channels(spec)}
    rows = [row for data in spec.get("datasets", {}).values() for row in data]
    found = {field: {row[field] for row in rows if row.get(field) is not None} for field in sorted(fields)}
    listed = {field: known | set(_listed(spec, field)) for field, known in found.items()}
    return {field: sorted(known) for field, known in listed.items() if known and all(isinstance(n, str) for n in known)}


def _listed(spec: Spec, field: str) -> Iterator[str]:
    """Names that a scale or an order lists, whether or not they are in the data."""
    for _, channel in _channels(spec):
        if channel["field"] == field:
            for names in ((channel.get("scale") or {}).get("domain"), channel.get("sort")):
                yield from names if isinstance(names, list) else ()


def _channels(part: Any) -> Iterator[tuple[str, Spec]]:
    """Every channel of names that Vega computes with, wherever in the specification it stands."""
    if isinstance(part, list):
        for one in part:
            yield from _channels(one)
    if not isinstance(part, dict):
        return
    for key, one in part.items():
        if key == "encoding":
            yield from ((name, channel) for name, given in one.items() for channel in _of_names(name, given))
        elif key == "facet":
            yield from ((key, channel) for channel in _of_names(key, one))
        if key not in ("datasets", "config"):
            yield from _channels(one)


def _of_names(name: str, given: Any) -> Iterator[Spec]:
    for channel in given if isinstance(given, list) else [given]:
        if not isinstance(channel, dict) or channel.get("type") != "nominal" or "field" not in channel:
            continue
        has_own_values = "scale" in channel and channel["scale"] is None  # a column of shapes or colours
        if name in (*_GUIDES, *_LEGENDS, *_SILENT) and not has_own_values:
            yield channel


def _placed(row: Mapping[str, Any], places: Mapping[str, Mapping[str, int]]) -> Spec:
    return {**row, **{_place_of(f): known[row[f]] for f, known in places.items() if row.get(f) is not None}}


def _rewritten(part: Any, places: Mapping[str, Mapping[str, int]]) -> Any:
    if isinstance(part, list):
        return [_rewritten(one, places) for one in part]
    if not isinstance(part, dict):
        return part
    made = {key: one if key in ("datasets", "config") else _rewritten(one, places) for key, one in part.items()}
    for key in ("encoding", "facet"):
        if isinstance(part.get(key), dict):
            given = part[key] if key == "encoding" else {key: part[key]}
            own = {name: _channel(name, channel, places) for name, channel in given.items()}
            made[key] = {**made[key], **own} if key == "encoding" else {**made[key], **own[key]}
    return made


def _channel(name: str, given: Any, places: Mapping[str, Mapping[str, int]]) -> Any:
    if isinstance(given, list):
        return [_channel(name, one, places) for one in given]
    if not any(_of_names(name, given)) or given["field"] not in places:
        return given
    field = given["field"]
    known = places[field]
    made = {**given, "field": _place_of(field), "title": given.get("title", field)}
    if isinstance(given.get("sort"), list):
        made["sort"] = [known[one] for one in given["sort"]]
    if isinstance((given.get("scale") or {}).get("domain"), list):
        made["scale"] = {**given["scale"], "domain": [known[one] for one in given["scale"]["domain"]]}
    guide = _GUIDES.get(name) or ("legend" if name in _LEGENDS else "")
    if guide and not (guide in given and given[guide] is None):
        own = given.get(guide) or {}
        shown = own.get("labelExpr", _VALUE).replace(_VALUE, f"{_list_of(field)}[{_VALUE}]")
        made[guide] = {**own, "labelExpr": shown}
    return made


def _place_of(field: str) -> str:
    return f"{field}_place"


def _list_of(field: str) -> str:
    return f"names_of_{field}"
