"""A chart as plain Vega-Lite: frames and dictionaries, put together without another package.

>>> import polars as pl
>>> rows = pl.DataFrame({"model": ["a", "b"], "score": [0.4, 0.7]})
>>> dots = Chart(rows).mark("point").encode(x=quantitative("score"), y=nominal("model"))
>>> layered([dots], width=300).to_dict()["layer"][0]["mark"]
{'type': 'point'}
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.charts.names import by_place
from howsure.errors import need

if TYPE_CHECKING:
    import altair

__all__ = ["Chart", "above_each_other", "layered", "nominal", "quantitative"]

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
