"""Names from the data as numbers: what a chart sorts, groups and scales by is the place of a name in a list, never the name.

Vega keeps categories as keys of plain JavaScript objects, and Vega-Lite writes them into expressions. There "constructor" or "__proto__"
means something else, and a line separator ends the text. So a specification gets a column of numbers beside each column of names, and the
names in a parameter, from which axes, legends and panels look them up. Texts and tooltips read the names themselves, which is harmless.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["by_place"]

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
