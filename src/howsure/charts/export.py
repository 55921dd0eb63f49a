"""A chart as a file: a page that needs no network, a picture, or its specification."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from howsure.charts.encodings import MAX_ROWS
from howsure.charts.names import by_place
from howsure.errors import OptionError
from howsure.outside_text import drawn
from howsure.safe_io import write_atomic

if TYPE_CHECKING:
    from altair.typing import ChartType

__all__ = ["save_chart", "svg", "to_spec"]

Spec = dict[str, Any]


def save_chart(chart: ChartType, path: str | os.PathLike[str]) -> Path:
    """Write a chart by the name's ending: ``.html`` (interactive, offline), ``.png`` (two dots a pixel), ``.svg``, ``.json``."""
    target = Path(path)
    writer = _WRITERS.get(target.suffix.lower())
    if writer is None:
        raise OptionError(f"{target}: a chart is written as {', '.join(_WRITERS)}. End the name in one of them.")
    return write_atomic(target, writer(to_spec(chart)))


def to_spec(chart: ChartType) -> Spec:
    """The chart in Vega-Lite, with its data inside; independent of themes and transformers the session has set."""
    import altair as alt

    with alt.theme.enable("none"), alt.data_transformers.enable("default", max_rows=None):
        spec: Spec = drawn(by_place(chart.to_dict(validate=False)))  # each part was checked when it was made
    _refuse_outside_data(spec)
    _refuse_many_rows(spec)
    return spec


def svg(spec: Spec, *, prefix: str = "", without: frozenset[str] = frozenset()) -> str:
    """The picture as SVG. Ids start with `prefix`, so that pictures can share a page; `without` drops attributes."""
    import vl_convert

    ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]))
    _count_ids_anew(root, prefix)
    for element in root.iter():
        for name in without & element.attrib.keys():
            del element.attrib[name]
    return ElementTree.tostring(root, encoding="unicode")


def _count_ids_anew(root: ElementTree.Element, prefix: str) -> None:
    """Vega counts ids on from chart to chart, so the same chart would not give the same picture twice."""
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    own = {old: f"{prefix}part{number}" for number, old in enumerate(ids, 1)}
    for element in root.iter():
        for name, value in element.items():
            if name == "id":
                element.set(name, own[value])
            elif value.startswith("url(#"):
                element.set(name, f"url(#{own[value[5:-1]]})")


def _page(spec: Spec) -> str:
    from howsure.charts.page import page

    return page(spec)


def _png(spec: Spec) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(_on_white(spec), scale=2, allowed_base_urls=[]))


def _svg_on_white(spec: Spec) -> str:
    return svg(_on_white(spec))


def _json(spec: Spec) -> str:
    return json.dumps(spec, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


_WRITERS: dict[str, Callable[[Spec], str | bytes]] = {
    ".html": _page,
    ".png": _png,
    ".svg": _svg_on_white,
    ".json": _json,
}


def _on_white(spec: Spec) -> Spec:
    return spec | {"background": "white"}


def _refuse_outside_data(part: Any) -> None:
    """No part of the chart may fetch its data when it is opened."""
    if isinstance(part, dict):
        if isinstance(part.get("data"), dict) and "url" in part["data"]:
            raise OptionError(
                f"The chart fetches its data from {part['data']['url']}. Read the data first and draw a frame."
            )
        for inner in (value for key, value in part.items() if key != "datasets"):
            _refuse_outside_data(inner)
    elif isinstance(part, list):
        for inner in part:
            _refuse_outside_data(inner)


def _refuse_many_rows(spec: Spec) -> None:
    largest = max((len(rows) for rows in spec.get("datasets", {}).values()), default=0)
    if largest > MAX_ROWS:
        raise OptionError(
            f"The chart holds {largest:,} rows; a page draws up to {MAX_ROWS:,}. Aggregate them before drawing."
        )
