"""A chart as a file: a page that needs no network, a picture, or its specification."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from howsure.charts.drawing import Chart, by_place
from howsure.charts.encodings import MAX_ROWS
from howsure.charts.pictures import Spec, png, svg
from howsure.errors import OptionError
from howsure.outside_text import drawn
from howsure.safe_io import write_atomic

__all__ = ["save_chart", "to_spec"]

_made: WeakKeyDictionary[Chart, Spec] = WeakKeyDictionary()


def save_chart(chart: Chart, path: str | os.PathLike[str]) -> Path:
    """Write a chart; the ending of the name sets the format: ``.html`` (interactive, offline), ``.png`` (1.5 dots per pixel), ``.svg``, ``.json``.

    Parameters
    ----------
    chart : Chart
        The chart.
    path : str or path
        The file to write.
    """
    target = Path(path)
    writer = _WRITERS.get(target.suffix.lower())
    if writer is None:
        raise OptionError(f"{target}: a chart is written as {', '.join(_WRITERS)}. End the name in one of them.")
    return write_atomic(target, writer(to_spec(chart)))


def to_spec(chart: Any) -> Spec:
    """The chart in Vega-Lite, with its data inside; made once for each chart.

    Parameters
    ----------
    chart : Chart
        The chart; a chart of Altair is accepted too.
    """
    if isinstance(chart, Chart) and chart in _made:
        return _made[chart]
    given = chart.to_dict() if isinstance(chart, Chart) else by_place(_of_altair(chart))
    spec: Spec = drawn(given)
    _refuse_outside_data(spec)
    _refuse_many_rows(spec)
    if isinstance(chart, Chart):
        _made[chart] = spec
    return spec


def _of_altair(chart: Any) -> Spec:
    """Altair's chart, independent of the themes and transformers that the session has set."""
    import altair as alt

    with alt.theme.enable("none"), alt.data_transformers.enable("default", max_rows=None):
        spec: Spec = chart.to_dict(validate=False)
    return spec


def _page(spec: Spec) -> str:
    from howsure.charts.page import page

    return page(spec)


def _json(spec: Spec) -> str:
    return json.dumps(spec, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


_WRITERS: dict[str, Callable[[Spec], str | bytes]] = {
    ".html": _page,
    ".png": png,
    ".svg": svg,
    ".json": _json,
}


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
            f"The chart contains {largest:,} rows; a page draws up to {MAX_ROWS:,}. Aggregate them before drawing."
        )
