"""What learning curves look like: the curves themselves, which family suits, and who leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.charts import Caption, Field, captioned, estimate_rows, interval_plot
from howsure.charts.drawing import Chart, above_each_other, layered, nominal, quantitative
from howsure.charts.encodings import position, roles, tooltips
from howsure.charts.theme import LIGHT, PALETTE
from howsure.estimates import Estimate

if TYPE_CHECKING:
    from howsure.horizon.learning_curves.attrition import Attrition
    from howsure.horizon.learning_curves.curves import LearningCurves, TaskCurve
    from howsure.horizon.learning_curves.held_out_learners import HeldOutLearners

__all__ = ["draw_attrition", "draw_curves", "draw_learners", "draw_wins"]

_MOST_PANELS, _COLUMNS = 20, 4
_PANEL: dict[str, Any] = {"width": 144, "height": 104}
_SHARE = {0: "0", 0.5: "0.5", 1: "1"}


def draw_curves(curves: LearningCurves) -> Chart:
    """Small multiples: the curve of each task with its bands over what was observed, dots as large as the number of answers."""
    shown = _sample(curves)
    names = {curve.task: f"{_short(curve.task)}\n{curve.family}, n = {curve.n_learners:,}" for curve in shown}
    rows = curves.points.filter(pl.col("task").is_in(list(names))).with_columns(
        group=pl.col("task").replace_strict(names, return_dtype=pl.String)
    )
    drawn = roles(rows, **_ROLES)
    last = int(drawn["x"].to_numpy().max())
    x = Field("x", "Attempt", "number", domain=(0.5, last + 0.5), ticks=_attempts(last))
    y = Field("value", "Success", "0–1", domain=(0, 1), ticks=_SHARE)
    header = {"labelExpr": "split(datum.value, '\\n')", "labelFontSize": 11, "labelLimit": 170, "labelPadding": 4}
    facet = nominal("group", title=None, sort=list(names.values()), header=header)
    panel = layered(_layers(drawn, x, y), **_PANEL)
    chart = panel.facet(data=drawn, facet=facet, columns=_COLUMNS, spacing={"row": 14, "column": 18})
    n = sum(curve.n_answers for curve in shown)
    left_out = f"{len(shown)} of {len(curves.rows)} tasks, evenly spread over first-attempt success" * (
        len(shown) < len(curves.rows)
    )
    note = ". ".join(
        filter(
            None,
            ("Lighter: simultaneous band for the whole curve", "Dots: observed, larger for more answers", left_out),
        )
    )
    caption = Caption(n, "answers", curves.level, "bootstrap over learners, pointwise", note)
    return captioned(chart, title="How novices learn each task", caption=caption, mark="Bands")


def draw_wins(curves: LearningCurves) -> Chart:
    """The share of tasks on which each family has the smallest AIC."""
    n = len(curves.rows)
    return interval_plot(
        estimate_rows(curves.win_shares),
        title="Best family of curves per task, by AIC",
        caption=Caption(n, "tasks", curves.level, "Wilson's, as if the tasks were a sample of such tasks"),
        label=Field("label", "Family"),
        value=Field("value", "Tasks on which it has the smallest AIC", "share", domain=(0, 1)),
    )


def draw_learners(found: HeldOutLearners) -> Chart:
    """Log-loss of each model on held-out learners minus that of the baseline."""
    level = float(found.provenance.settings["level"])
    rows = found.scores.sort("log_loss").filter(pl.col("predictor") != "PFA + learner")
    differences = {
        row["predictor"]: Estimate(row["difference"], row["difference_low"], row["difference_high"], level)
        for row in rows.rows(named=True)
    }
    return interval_plot(
        estimate_rows(differences),
        title="Log-loss on held-out learners, minus PFA with a learner effect",
        caption=Caption(
            found.n_learners,
            "learners",
            level,
            "clustered by learner",
            "Below 0: better than PFA with a learner effect",
        ),
        label=Field("label", "Model"),
        value=Field("value", "Difference in log-loss per answer", "nats"),
    )


def draw_attrition(attrition: Attrition) -> Chart:
    """How many are still there at each attempt, and how they had done on their first compared with all who began."""
    rows = attrition.presence.with_columns(
        attempt=pl.col("attempt").cast(pl.Float64),
        percent=100 * pl.col("shift"),
        low=100 * pl.col("shift_low"),
        high=100 * pl.col("shift_high"),
    )
    drawn = roles(rows, x="attempt", value="percent", low="low", high="high", share="share", n="n")
    last = int(drawn["x"].to_numpy().max())
    x = Field("x", "Attempt", "number", domain=(0.4, last + 0.6), ticks=_attempts(last, 20))
    there = Field("share", "Still there", "share", domain=(0, 1), ticks=_SHARE)
    shift = Field("value", "Shift at the first attempt", "points", ticks=_points(drawn))
    tips = tooltips(drawn, x=x, n=Field("n", "Courses", "number"), share=there, told=Field("told", shift.label))
    across = position("x", drawn, "x", x, grid=False)
    base = Chart(drawn).encode(x=across, tooltip=tips)
    top = base.encode(x=across | {"title": None}, y=position("y", drawn, "share", there))
    bars = top.mark("rule", strokeWidth=14, color=LIGHT["edge"]).encode(y2={"datum": 0})
    labels = top.mark("text", baseline="bottom", dy=-3, fontSize=10, color=LIGHT["muted"])
    zero = (
        Chart(pl.DataFrame({"at": [0.0]}))
        .mark("rule", strokeDash=[4, 3], color=LIGHT["edge"])
        .encode(y=quantitative("at"))
    )
    up = position("y", drawn, "value", shift)
    # on the attempts that all made nothing has shifted: a line without length cannot be drawn
    moved = Chart(drawn.filter(pl.col("low") < pl.col("high"))).encode(x=across, tooltip=tips)
    rule = moved.mark("rule", strokeWidth=2.5, color=PALETTE[0]).encode(y=up | {"field": "low"}, y2={"field": "high"})
    dots = base.mark("point", color=PALETTE[0], size=60).encode(y=up)
    chart = above_each_other(
        [
            layered([bars, labels.encode(text=quantitative("n", format=","))], height=120, width=600),
            layered([zero, rule, dots], height=190, width=600),
        ],
        spacing=18,
    )
    note = "Shift: first-attempt success of the learners still present minus that of all learners of the same tasks; below 0: better learners left"
    caption = Caption(
        int(drawn["n"][0]), "courses, one per learner and task", attrition.level, "learners resampled", note
    )
    return captioned(chart, title="Share of learners still present", caption=caption, mark="Bars")


_ROLES = {"x": "attempt", "value": "p", "low": "p_low", "high": "p_high", "band_low": "band_low", "band_high": "band_high"} | {
    "n": "n", "share": "share", "group": "group", "task": "task"
}  # fmt: skip


def _layers(rows: pl.DataFrame, x: Field, y: Field) -> list[Chart]:
    """A band for the whole curve, one for each attempt, the curve, and what was observed."""
    seen = Field("share", "Observed", "0–1", format=".3f")
    tips = tooltips(
        rows,
        task=Field("task", "Task"),
        x=x,
        told=Field("told", y.label),
        share=seen,
        n=Field("n", "Answers", "number"),
    )
    base = Chart().encode(x=position("x", rows, "x", x, grid=False), tooltip=tips)
    up = position("y", rows, "value", y)
    bands = [
        base.mark("area", color=PALETTE[0], opacity=opacity).encode(y=up | {"field": low}, y2={"field": high})
        for low, high, opacity in (("band_low", "band_high", 0.12), ("low", "high", 0.2))
    ]
    size = quantitative("n", legend=None, scale={"type": "sqrt", "range": [6, 90], "zero": True})
    dots = base.mark("point", filled=True, color=PALETTE[1], opacity=0.85, strokeWidth=0).encode(
        y=up | {"field": "share"}, size=size
    )
    return [*bands, base.mark("line", color=PALETTE[0], strokeWidth=2).encode(y=up), dots]


def _sample(curves: LearningCurves) -> list[TaskCurve]:
    """All tasks, or as many as a page holds, evenly over first-attempt success; the easiest last."""
    ordered = sorted(curves.rows, key=lambda curve: curve.first.value or 0.0)
    places = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), _MOST_PANELS)).round().astype(int))
    return [ordered[place] for place in places]


def _attempts(last: int, most: int = 8) -> dict[float, str]:
    step = max(1, -(-last // most))
    return {float(attempt): str(attempt) for attempt in range(1, last + 1, step)}


def _points(rows: pl.DataFrame) -> dict[float, str]:
    """Marks on the axis of shifts; an axis of a chart in rows does not find its own."""
    low, high = (float(np.nanmin(rows["low"].to_numpy())), float(np.nanmax(rows["high"].to_numpy())))
    low, high = min(low, 0.0), max(high, 0.0)
    step = next((step for step in (0.5, 1, 2, 5, 10) if high - low <= 6 * step), 20)
    marks = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    return {float(mark): f"{mark:g}".replace("-", "−") for mark in marks}


def _short(task: str) -> str:
    """Tasks of one family differ at the end of their names."""
    return task if len(task) <= 22 else f"{task[:5]}…{task[-16:]}"
