"""What the results look like: averages beside baselines, survival over turns, kinds of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.charts import Caption, Field, captioned, line_with_band, points_with_trend
from howsure.charts.drawing import Chart, layered, nominal, quantitative
from howsure.charts.encodings import NAMES, ON_TOP, position, roles, tooltips
from howsure.charts.theme import DASHES, LIGHT, PALETTE, ROW
from howsure.track.adaptive import posterior_of
from howsure.track.game.rules import BROKEN_OFF, COMPLETE, NO_ANSWER
from howsure.track.game.sequence import Setting
from howsure.track.samples import DIRECT

if TYPE_CHECKING:
    from howsure.estimates import Estimate
    from howsure.track.adaptive import MedianLength
    from howsure.track.results import TrackResult, TrackRow
    from howsure.track.survival import Board

__all__ = ["ERROR_WORDS", "draw_averages", "draw_errors", "draw_lengths", "draw_reasoning", "draw_survival"]

ERROR_WORDS = {
    "format": "wrong format",
    "stale": "stale answer",
    "tie": "wrong tie rule",
    "rank": "one rank off",
    "other": "other",
    NO_ANSWER: "no answer",
    BROKEN_OFF: "interrupted",
    COMPLETE: "no error",
}
_MOST_CURVES = len(PALETTE)
_MOST_BARS = 60
_ORDER = ("model", "human", "baseline")
_AVERAGE = Field("value", "Average", "correct answers")


def draw_averages(results: TrackResult, board: Board) -> Chart:
    """Correct answers of each model, with and without the state shown; guessing, baselines and people as lines with bands."""
    shown = _with_bars(results, board)
    bars = _estimates((row.model, _solver(row), row.average) for row in shown)
    drawn = {"random", *(row.model for row in shown)}  # what `random` measured is there exactly
    lines = _estimates(("", y.name, y.average) for y in results.baselines if y.board == board and y.name not in drawn)
    ends = [number for rows in (bars, lines) for name in ("value", "high") for number in rows[name].drop_nulls()]
    field = Field("value", "Average", "correct answers", domain=(0, 1.03 * max(ends, default=1.0)))
    x = position("x", bars, "value", field)
    n_rows = bars.select("label", "group").n_unique()
    (band, line), (bar, interval) = _lines(lines, x), _bars(bars, x)
    chart = layered([band, bar, line, interval], height=max(n_rows, 2) * ROW)
    note = "Bands around the dashed lines: for guessing, the range of the average of one run; for others, the interval"
    caption = Caption(sum(row.n for row in shown), "games", results.level, "clustered by sequence", note)
    return captioned(
        chart, title=f"Correct answers before the first error: {board.title}", caption=caption, mark="Black bars"
    )


def draw_survival(results: TrackResult, board: Board) -> Chart:
    """The share of games without an error so far, one curve per model and solver."""
    known = [(row, row.survival) for row in _sorted(results, board) if row.survival]
    shown, n_more = known[:_MOST_CURVES], len(known[_MOST_CURVES:])
    curves = pl.concat([curve.to_frame().with_columns(group=pl.lit(_name(row))) for row, curve in shown]).rename(
        {"survival_low": "low", "survival_high": "high"}
    )
    note = f"{n_more} more in survival.csv" if n_more else ""
    n = sum(row.n for row, _ in shown)
    return line_with_band(
        curves,
        title=f"Survival curve: {board.title}",
        caption=Caption(n, "games", results.level, "Wilson's with Greenwood's variance", note),
        x=Field("turns", "Correct answers", "number", domain=(0, board.length)),
        y=Field("survival", "Games without an error so far", "0–1", domain=(0, 1)),
        group=Field("group", "Player"),
        is_step=True,
    )


def draw_lengths(found: MedianLength) -> Chart:
    """The probability of a correct last answer by the length of the sequence."""
    told = found.provenance.settings
    lengths = np.unique(np.geomspace(1, told["longest"], 120).round())
    posterior = posterior_of(found.trials, told["chance"], told["longest"])
    share, low, high = posterior.curve(lengths, told["level"])
    rows = pl.DataFrame({"length": lengths, "share": share, "low": low, "high": high})
    note = f"Median length: {found.median} turns"
    return line_with_band(
        rows,
        title=f"Correct last answers by length: {found.model}, {found.variant}",
        caption=Caption(len(found.trials), "calls", told["level"], "credible, of a logistic curve in log length", note),
        x=Field("length", "Length of the sequence", "turns", scale="log10"),
        y=Field("share", "Probability of a correct last answer", "0–1", domain=(0, 1)),
    )


def draw_errors(results: TrackResult, board: Board) -> Chart:
    """How games ended, as shares of the games of each model and solver."""
    known = [row for row in _sorted(results, board) if row.n][:_MOST_BARS]
    rows = pl.DataFrame(
        [
            {"label": _name(row), "group": ERROR_WORDS[kind], "value": count / row.n, "count": count, "order": place}
            for row in known
            for place, (kind, count) in enumerate(row.errors.items())
            if count
        ]
    )
    words = list(ERROR_WORDS.values())
    scale = {"domain": words, "range": [*PALETTE[: len(words) - 1], LIGHT["line"]]}
    told = {
        "label": Field("label", "Player"),
        "group": Field("group", "Ended by"),
        "count": Field("count", "Games", "number"),
    }
    bars = Chart(rows).encode(
        x=position("x", rows, "value", Field("value", "Share of games", "0–1", domain=(0, 1))),
        y=_names(rows),
        fill=nominal("group", title=None, scale=scale, legend={"columns": len(words), "symbolType": "square"}),
        order=quantitative("order"),
        tooltip=tooltips(rows, **told),
    )
    layer = bars.mark("bar", stroke=LIGHT["paper"], strokeWidth=1)
    caption = Caption(sum(row.n for row in known), "games", None, "shares of these games, as counted")
    chart = layered([layer], height=max(len(known), 2) * ROW)
    return captioned(chart, title=f"First errors: {board.title}", caption=caption)


def draw_reasoning(results: TrackResult, board: Board) -> Chart:
    """Correct answers of models against the reasoning tokens that they write per turn, with earlier reasoning dropped or kept."""
    known = [row for row in results.reasoning_rows()[board] if row.average.value is not None]
    rows, n_more = known[:_MOST_CURVES], len(known[_MOST_CURVES:])
    cells = [
        (
            f"{_name(row)}, {reasoning_history(row)}",
            row.reasoning.value,
            row.average.value,
            row.average.low,
            row.average.high,
        )
        for row in rows
    ]
    columns = {"label": pl.String} | dict.fromkeys(("reasoning", "value", "low", "high"), pl.Float64)
    points = pl.DataFrame(cells, schema=columns, orient="row")
    note = f"{n_more} more in track.csv" if n_more else ""
    label = Field("label", "Player, earlier reasoning")
    return points_with_trend(
        points,
        title=f"Correct answers against reasoning: {board.title}",
        caption=Caption(sum(row.n for row in rows), "games", results.level, "clustered by sequence", note),
        x=Field("reasoning", "Reasoning", "tokens per turn"),
        y=_AVERAGE,
        label=label,
        group=label,
    )


def reasoning_history(row: TrackRow) -> str:
    """Whether the reasoning of earlier turns stays in the conversation, in a word."""
    return "kept" if Setting.of(row.setting, row.length).keeps_reasoning else "dropped"


def _sorted(results: TrackResult, board: Board) -> list[TrackRow]:
    """Models first, then people, then baselines."""
    return sorted(results.on(board), key=lambda row: _ORDER.index(row.kind))


def _with_bars(results: TrackResult, board: Board) -> list[TrackRow]:
    """The models; where there is none, whoever played."""
    rows = _sorted(results, board)
    return ([row for row in rows if row.kind == "model"] or rows)[:_MOST_BARS]


def _estimates(told: Any) -> pl.DataFrame:
    """Rows in the roles label, group, value, low, high, with what a pointer is told."""
    rows: list[tuple[str, str, Estimate]] = list(told)
    cells = [(label, group, one.value, one.low, one.high) for label, group, one in rows]
    names = ("label", "group", "value", "low", "high")
    kinds = (pl.String, pl.String, pl.Float64, pl.Float64, pl.Float64)
    frame = pl.DataFrame(cells, schema=dict(zip(names, kinds, strict=True)), orient="row")
    return roles(frame, **{name: name for name in names})


def _lines(rows: pl.DataFrame, x: dict[str, Any]) -> tuple[Chart, Chart]:
    """Bands and lines of baselines, across all bars."""
    rows = rows.rename({"group": "baseline"})  # a legend of their own: Vega-Lite joins legends of one column
    names = rows["baseline"].to_list()
    hues, dashes = (
        [values[1:][place % (len(values) - 1)] for place in range(len(names))] for values in (PALETTE[1:], DASHES)
    )
    legend = {"symbolType": "stroke", "symbolSize": 250, "symbolStrokeWidth": 2.5, "columns": 4}
    told: dict[str, Any] = {"title": "Baseline", "legend": legend}
    stroke = nominal("baseline", scale={"domain": names, "range": hues}, **told)
    dash = nominal("baseline", scale={"domain": names, "range": dashes}, **told)
    base = Chart(rows).encode(tooltip=tooltips(rows, baseline=Field("baseline", "Baseline"), told=_AVERAGE))
    band = base.where("datum.low != null").mark("rect", color=LIGHT["edge"], opacity=0.25)
    return (
        band.encode(x=x | {"field": "low"}, x2={"field": "high"}),
        base.mark("rule", strokeWidth=2).encode(x=x, stroke=stroke, strokeDash=dash),
    )


def _bars(rows: pl.DataFrame, x: dict[str, Any]) -> tuple[Chart, Chart]:
    """Bars, and their intervals."""
    solvers = rows["group"].unique(maintain_order=True).to_list()
    scale = {"domain": solvers, "range": list(PALETTE[: len(solvers)])}
    legend = {"symbolType": "square"} if solvers != [""] else None
    offset: dict[str, Any] = {"yOffset": nominal("group", sort=solvers)} if len(solvers) > 1 else {}
    tips = tooltips(rows, label=Field("label", "Player"), group=Field("group", "State"), told=_AVERAGE)
    base = Chart(rows).encode(y=_names(rows), tooltip=tips, **offset)
    interval = base.where("datum.low != null").mark("rule", strokeWidth=2.5, color=LIGHT["ink"])
    return (
        base.mark("bar").encode(x=x, fill=nominal("group", title="State", scale=scale, legend=legend)),
        interval.encode(x=x | {"field": "low"}, x2={"field": "high"}),
    )


def _names(rows: pl.DataFrame) -> dict[str, Any]:
    order = rows["label"].unique(maintain_order=True).to_list()
    return nominal("label", title="Player", sort=order, axis={"grid": False, **NAMES, **ON_TOP})


def _solver(row: TrackRow) -> str:
    """How the state is kept, as the literature says it; nothing to say of players that are no model."""
    return "" if row.kind != "model" else "implicit" if row.solver == DIRECT else row.solver


def _name(row: TrackRow) -> str:
    return row.model if row.solver == DIRECT else f"{row.model}, {row.solver}"
