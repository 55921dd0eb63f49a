"""Charts of corrected success rates and of the map between two scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howsure.bridges.scales import SCALES, Link
from howsure.charts import Caption, Field, estimate_rows, interval_plot, points_with_trend

if TYPE_CHECKING:
    from howsure.bridges.judge_correction import Corrected
    from howsure.charts.drawing import Chart

__all__ = ["draw_corrected", "draw_link"]

_STEPS = 40


def draw_link(link: Link, level: float) -> Chart:
    """Models by both scales, with the line between them and where one new model may lie."""
    points = link.points.rename({"y_low": "low", "y_high": "high"})
    known = points["x"].to_numpy()
    spaced = np.linspace if link.x == "capability" else np.geomspace
    across = spaced(known.min(), known.max(), _STEPS)
    found = [link.predict(float(value), level) for value in across]
    trend = pl.DataFrame(
        {"x": across, "y": [e.value for e in found], "low": [e.low for e in found], "high": [e.high for e in found]}
    )
    return points_with_trend(
        points,
        trend,
        title=f"{SCALES[link.y][0]} against {SCALES[link.x][0].lower()}: r = {link.correlation}",
        caption=Caption(
            n=len(points), of="models", level=level, note="The band is the prediction interval for one new model."
        ),
        x=_axis("x", link.x, known),
        y=_axis("y", link.y),
        label=Field("model", "Model"),
        named=points["model"].to_list() if len(points) <= 12 else (),
    )


def _axis(column: str, scale: str, points: NDArray[np.float64] | None = None) -> Field:
    """The axis of a scale, with some room beside the points."""
    if scale != "capability":
        return Field(column, *SCALES[scale], scale="log2")
    if points is None:
        return Field(column, *SCALES[scale])
    room = 0.06 * float(np.ptp(points))
    return Field(column, *SCALES[scale], domain=(float(points.min()) - room, float(points.max()) + room))


def draw_corrected(found: Corrected) -> Chart:
    """Success of each model as judged and corrected in two ways."""
    ways = {"judged": "as judged", "powered": "PPI++", "corrected": "Rogan–Gladen"}
    pairs = [(row.model, getattr(row, name), told) for row in found.rows for name, told in ways.items()]
    rows = estimate_rows((model, one) for model, one, _ in pairs)
    return interval_plot(
        rows.with_columns(group=pl.Series([told for *_, told in pairs])),
        title="Success rates, as judged and corrected",
        caption=Caption(sum(row.n for row in found.rows), "judged attempts", found.rows[0].judged.level),
        label=Field("label", "Model"),
        value=Field("value", "Success rate", "0–1"),
        group=Field("group", "Estimate"),
    )
