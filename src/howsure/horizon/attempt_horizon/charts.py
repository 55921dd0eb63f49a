"""What horizons in attempts look like: the novices' curve that models cross, horizons, difficulty, censoring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.charts import (
    Caption,
    Field,
    Reference,
    captioned,
    estimate_rows,
    heat_map,
    histogram,
    interval_plot,
    line_with_band,
    points_with_trend,
)
from howsure.charts.drawing import Chart, layered, nominal, quantitative
from howsure.charts.encodings import by_group, position, roles, tooltips
from howsure.charts.kinds import band
from howsure.charts.theme import LIGHT, PALETTE
from howsure.horizon.attempt_horizon.horizons import rates_by_difficulty, sample_curves, success_table

if TYPE_CHECKING:
    from howsure.horizon.attempt_horizon.horizons import AttemptHorizons
    from howsure.horizon.attempt_horizon.study_size import StudySize

__all__ = [
    "charts_of",
    "draw_against_first",
    "draw_by_difficulty",
    "draw_censoring",
    "draw_crossing",
    "draw_curve_sample",
    "draw_difficulty",
    "draw_horizons",
    "draw_practice",
    "draw_practice_horizons",
    "draw_released",
    "draw_size",
]

_MOST = 60  # rows that a reader can follow
_LETTER = 0.0125  # of the width of a chart
_RESAMPLED = "bootstrap over families, tasks and learners"
_SUCCESS = Field("success", "Success", "0–1", domain=(0, 1))


def charts_of(found: AttemptHorizons) -> dict[str, Chart]:
    """Every chart by its name; the one over releases only where two models have a date and a horizon."""
    charts = {
        "crossing": draw_crossing(found),
        "horizons": draw_horizons(found),
        "curve_sample": draw_curve_sample(found),
        "against_first": draw_against_first(found),
        "by_difficulty": draw_by_difficulty(found),
        "difficulty": draw_difficulty(found),
        "censoring": draw_censoring(found),
    }
    if found.practised:
        charts |= {"practice": draw_practice(found), "practice_horizons": draw_practice_horizons(found)}
    return charts | ({"released": draw_released(found)} if found.trend else {})


def draw_crossing(found: AttemptHorizons) -> Chart:
    """Novices' success over attempts, each model's success as a line across it, and the attempt where they meet."""
    last = found.novices["attempt"].to_numpy()[-1]
    x = Field(
        "attempt", "Attempt", "number, log scale", scale="log2", domain=(0.95, last * 1.05), ticks=_attempts(int(last))
    )
    y = Field("success", "Success over all tasks", "0–1", domain=(0, 1))
    curve = roles(found.novices, x=x, value=y, low="success_low", high="success_high")
    models = _levels(found)
    layers = [*band(curve, x, y, hue=LIGHT["muted"]), *_crossings(models, x, y)]
    caption = Caption(
        len(found.tasks), "tasks", found.level, _RESAMPLED, "Dots: where novices reach the model's success rate"
    )
    return captioned(
        layered(layers),
        title="Novice-equivalent attempt of each model",
        caption=caption,
        mark="Grey band",
    )


def draw_practice(found: AttemptHorizons) -> Chart:
    """Success of models by the worked examples, or the attempts with feedback, that they saw before, beside novices by their earlier attempts."""
    novices = found.novices.select(
        (pl.col("attempt") - 1).cast(pl.Int64).alias("n_practice"), "success", "success_low", "success_high"
    )
    rows = pl.concat(
        [
            novices.with_columns(who=pl.lit("novices: earlier attempts")),
            found.practice.select(*novices.columns, who=pl.format("{}: {}", "model", "practice")),
        ]
    )
    return line_with_band(
        rows,
        title="Learning of models and of novices",
        caption=Caption(len(found.tasks), "tasks", found.level, _RESAMPLED),
        x=Field("n_practice", "Examples or attempts seen before", "number", ticks=_whole(rows["n_practice"], 0)),
        y=Field("success", "Success over all tasks", "0–1", domain=(0, 1)),
        low="success_low",
        high="success_high",
        group=Field("who", "Who"),
    )


def draw_practice_horizons(found: AttemptHorizons) -> Chart:
    """Horizons of models by the worked examples, or the attempts with feedback, that they saw before; those beyond novices' attempts lie at the edge."""
    last = int(found.tasks["n_attempts"].to_numpy().max())
    ends = [pl.col("horizon").clip(1, last)] + [
        pl.col(f"horizon{end}").fill_null(edge).clip(1, last).alias(f"horizon{end}")
        for end, edge in (("_low", 1), ("_high", last))
    ]
    rows = found.practice.with_columns(*ends, who=pl.format("{}: {}", "model", "practice")).drop_nulls("horizon")
    return line_with_band(
        rows,
        title="Horizon by the practice of a model",
        caption=Caption(len(found.tasks), "tasks", found.level, _RESAMPLED),
        x=Field("n_practice", "Examples or attempts seen before", "number", ticks=_whole(rows["n_practice"], 0)),
        y=Field(
            "horizon", "Horizon", "attempts, log scale", scale="log2", domain=(0.93, last * 1.07), ticks=_attempts(last)
        ),
        low="horizon_low",
        high="horizon_high",
        group=Field("who", "Who"),
    )


def draw_horizons(found: AttemptHorizons) -> Chart:
    """Horizons with intervals, one row per model, a colour per success rate or definition."""
    shown = found.rows[:_MOST]
    is_many = len(found.definitions) > 1
    groups = [f"{row.definition}, {row.success_rate:.0%}" if is_many else f"{row.success_rate:.0%}" for row in shown]
    rows = estimate_rows((row.model, row.horizon) for row in shown)
    is_open = [row.horizon.low_state == "below_range" and row.horizon.high_state == "above_range" for row in shown]
    rows = rows.with_columns(
        group=pl.Series(groups),
        low=_open(shown, "low"),
        high=_open(shown, "high"),
        is_open=pl.Series(is_open, dtype=pl.Boolean),
    )
    last = int(found.tasks["n_attempts"].to_numpy().max())
    return interval_plot(
        rows,
        title="Horizons in novice attempts",
        caption=Caption(len(found.tasks), "tasks", found.level, _RESAMPLED, _left_out(len(found.rows))),
        label=Field("label", "Model"),
        value=Field(
            "value", "Horizon", "attempts, log scale", scale="log2", domain=(0.93, last * 1.07), ticks=_attempts(last)
        ),
        group=Field("group", "Definition and success rate" if is_many else "Model succeeds"),
    )


def draw_curve_sample(found: AttemptHorizons) -> Chart:
    """How novices learn four tasks, from the easiest to the hardest."""
    rows = sample_curves(found.counts, found.tasks, found.level)
    return line_with_band(
        rows,
        title="How novices learn: four tasks, from the easiest to the hardest",
        caption=Caption(len(found.counts.novices.learners), "learners", found.level, "Wilson's, each attempt alone"),
        x=Field("attempt", "Attempt", "number", ticks=_whole(rows["attempt"], 1)),
        y=_SUCCESS,
        group=Field("task", "Task"),
    )


def draw_against_first(found: AttemptHorizons) -> Chart:
    """Each model's success at each task against novices' on their first attempt; on the line they are equal."""
    x, y = (
        Field("first", "Novices' success on attempt 1", "0–1", domain=(0, 1)),
        Field("success", "Model's success", "0–1", domain=(0, 1)),
    )
    model = Field("model", "Model")
    kept = list(found.headline())[: len(PALETTE)]
    table = _ordered(success_table(found.counts, found.tasks), "model", found).filter(pl.col("model").is_in(kept))
    shown = table if len(table) <= 3000 else table.gather(np.linspace(0, len(table) - 1, 3000).astype(int))
    rows = roles(shown, x=x, value=y, label="task", group=model)
    tips = tooltips(rows, label=Field("task", "Task"), group=model, x=x, value=y)
    base = Chart(rows).encode(x=position("x", rows, "x", x), y=position("y", rows, "value", y), tooltip=tips)
    dots = base.mark("point", size=45, opacity=0.55).encode(**by_group(rows, model, "shape"))
    ends = Chart(pl.DataFrame({"x": [0.0, 1.0], "value": [0.0, 1.0]})).encode(
        x=quantitative("x"), y=quantitative("value")
    )
    line = ends.mark("line", strokeDash=[4, 3], strokeWidth=1.25, color=LIGHT["edge"])
    runs = found.runs_per_task
    told = ("Dashed: equal", f"{len(shown):,} of them are shown" if len(shown) < len(table) else "")
    note = ". ".join(filter(None, (*told, _most_able(found, len(kept)))))
    caption = Caption(len(table), "pairs of a model and a task", None, f"a dot is one task, mostly {runs} runs", note)
    return captioned(
        layered([line, dots], height=420),
        title="Models and novices' first attempt, per task",
        caption=caption,
    )


def draw_by_difficulty(found: AttemptHorizons) -> Chart:
    """Success of each model on tasks that take novices few or many attempts, beside novices' on their first."""
    rates = _ordered(rates_by_difficulty(found.counts, found.tasks, found.level), "who", found)
    kept = list(found.headline())[: len(PALETTE) - 1]  # novices are one more; two of one colour cannot be told apart
    rates = rates.filter(pl.col("who").is_in(kept) | ~pl.col("who").is_in(list(found.headline())))
    who, step = Field("who", "Who"), Field("step", "Attempts that half of the novices need", "steps")
    rows = roles(rates, x=step, value=_SUCCESS, low="low", high="high", group=who, n="n_tasks")
    steps = rates.sort("order")["step"].unique(maintain_order=True).to_list()
    names = rates["who"].unique(maintain_order=True).to_list()
    tips = tooltips(rows, group=who, x=step, told=_SUCCESS, n=Field("n", "Tasks", "number"))
    across = nominal("x", sort=steps, title=step.title, axis={"labelAngle": 0, "grid": False})
    base = Chart(rows).encode(x=across, xOffset=nominal("group", sort=names), tooltip=tips)
    up = position("y", rows, "value", _SUCCESS)
    bars = base.mark("rule", strokeWidth=2).encode(y=up | {"field": "low"}, y2={"field": "high"}, **by_group(rows, who))
    dots = base.mark("point", stroke=LIGHT["paper"], strokeWidth=0.8).encode(y=up, **by_group(rows, who, "shape"))
    caption = Caption(len(found.tasks), "tasks", found.level, "clustered by task", _most_able(found, len(kept)))
    chart = layered([bars, dots], width=640)
    return captioned(chart, title="Success on tasks that are easy and hard for novices", caption=caption, mark="Bars")


def draw_difficulty(found: AttemptHorizons) -> Chart:
    """How many tasks are how hard on the first attempt."""
    edges = np.linspace(0, 1, 21)
    counts = np.histogram(found.tasks["first"].to_numpy(), edges)[0]
    return histogram(
        pl.DataFrame({"start": edges[:-1], "end": edges[1:], "count": counts}),
        title="Difficulty of the tasks: novices' success on the first attempt",
        caption=Caption(len(found.tasks), "tasks", None, "a count of these tasks"),
        x=Field("start", "Novices' success on attempt 1", "0–1", domain=(0, 1)),
        count=Field("count", "Tasks", "number", ticks=_whole(pl.Series(counts), 0)),
    )


def draw_censoring(found: AttemptHorizons) -> Chart:
    """In each domain, how many tasks novices can half do at once, learn to within their attempts, or never do."""
    last = int(found.tasks["n_attempts"].to_numpy().max())
    words = {"below_range": "at once", "ok": f"1–{last}", "above_range": f"> {last}"}
    domains = found.tasks.select(pl.col("domain").fill_null("(none)"), "half_state")
    grid = pl.DataFrame({"half_state": list(words)}).join(domains.select("domain").unique().sort("domain"), how="cross")
    rows = grid.join(domains.group_by("domain", "half_state").len("n"), on=["domain", "half_state"], how="left")
    rows = rows.with_columns(pl.col("half_state").replace(words).alias("when"), pl.col("n").fill_null(0)).sort(
        "domain", maintain_order=True
    )
    return heat_map(
        rows,
        title="On which attempt half of the novices succeed",
        caption=Caption(
            len(found.tasks),
            "tasks",
            None,
            "a count of these tasks",
            "Outside the middle column the difficulty is censored",
        ),
        x=Field("when", "Attempt on which half of the novices succeed"),
        y=Field("domain", "Domain"),
        value=Field("n", "Tasks", "number", format=".0f"),
    )


def draw_released(found: AttemptHorizons) -> Chart:
    """Horizons by release, with the line of their doublings."""
    assert found.trend is not None
    last = float(found.novices["attempt"].to_numpy()[-1])
    points = (
        found.dated()
        .drop_nulls("horizon")
        .with_columns(pl.col("horizon_low").fill_null(1.0), pl.col("horizon_high").fill_null(last))
    )
    years = points["year"].to_numpy()
    margin = 0.16 * np.ptp(years)
    places = np.linspace(years.min() - margin, years.max() + margin, 40)
    low, high = (np.exp2(np.clip(end, -1, np.log2(2 * last))) for end in found.trend.confidence(places, found.level))
    dates = pl.Series((places * 365.25).round().astype(np.int64)).cast(pl.Int32).cast(pl.Date)
    trend = pl.DataFrame(
        {"released": dates, "horizon": np.exp2(found.trend.predict(places)), "horizon_low": low, "horizon_high": high}
    )
    slope = found.trend.slope
    doubling = "Line: no growth"
    if slope.value and slope.value > 0:
        soonest = f"{12 / slope.high:.1f}" if slope.high else "0"
        latest = f"{12 / slope.low:.1f}" if slope.low and slope.low > 0 else "∞"
        doubling = f"Line: doubling in {12 / slope.value:.1f} months [{soonest}, {latest}]"
    # a name stands before its point where there is room for it
    room = ((years - places[0]) / np.ptp(places)).tolist()
    names = points["model"].to_list()[:20]
    before = [name for name, share in zip(names, room, strict=False) if share > len(name) * _LETTER]
    return points_with_trend(
        points,
        trend,
        title="Horizon by release",
        caption=Caption(
            len(points),
            "models",
            found.level,
            f"bars: {_RESAMPLED}, cut at attempts 1 and {last:g}; band: t interval of the line",
            doubling,
        ),
        x=Field("released", "Released"),
        y=Field(
            "horizon",
            "Horizon",
            "attempts, log scale",
            scale="log2",
            domain=(0.9 * low.min(), 1.1 * high.max()),
            ticks=_attempts(int(2 * last)),
        ),
        label=Field("model", "Model"),
        low="horizon_low",
        high="horizon_high",
        named=before,
        named_after=[name for name in names if name not in before],
    )


def draw_size(found: StudySize) -> Chart:
    """How far the interval reaches, over the number of learners, one line per number of tasks."""
    known = found.to_frame().drop_nulls("half_width")
    percent = [pl.col(name) * 100 for name in ("half_width", "half_width_low", "half_width_high")]
    rows = known.with_columns(*percent, pl.format("{} tasks", "n_tasks").alias("tasks"))
    settings = found.provenance.settings
    least, most = (int(end(known["n_learners"].to_list())) for end in (min, max))
    return line_with_band(
        rows,
        title=f"Precision of a horizon of {found.horizon:g} attempts",
        caption=Caption(settings["n_simulations"], "simulated studies per design", 0.95, "Monte Carlo error"),
        x=Field(
            "n_learners",
            "Learners",
            "number, log scale",
            scale="log2",
            domain=(least * 0.95, most * 1.05),
            ticks={float(n): f"{n}" for n in known["n_learners"].unique().sort()},
        ),
        y=Field("half_width", f"Half-width of the {settings['level']:.0%} interval", "± %"),
        low="half_width_low",
        high="half_width_high",
        group=Field("tasks", "Study of"),
        reference=Reference(100 * found.wanted, f"± {found.wanted:.0%}"),
    )


def _ordered(rows: pl.DataFrame, column: str, found: AttemptHorizons) -> pl.DataFrame:
    """The models in the order of the headline, so that each keeps its colour from chart to chart."""
    places = {model: place for place, model in enumerate(found.headline())}
    return rows.sort(pl.col(column).replace_strict(places, default=len(places)), maintain_order=True)


def _levels(found: AttemptHorizons) -> pl.DataFrame:
    """Each model's success, and the attempt where it meets the novices' curve: null outside their attempts."""
    rows = [
        {
            "model": model,
            "success": row.success.value,
            "at": row.horizon.value if row.horizon.state == "ok" else None,
            "told": str(row.horizon),
        }
        for model, row in found.headline().items()
    ]
    return pl.DataFrame(rows, schema={"model": pl.String, "success": pl.Float64, "at": pl.Float64, "told": pl.String})


def _crossings(models: pl.DataFrame, x: Field, y: Field) -> list[Chart]:
    """For each model a line at its success, a dot where it meets the curve, a line down to the axis, and its name."""
    rows = roles(models.head(12), label="model", value=y, at="at", group="model", told="told")
    up, across = (
        position("y", rows, "value", y),
        position("x", rows.with_columns(x="at"), "x", x, grid=False) | {"field": "at"},
    )
    tips = tooltips(rows, label=Field("label", "Model"), value=y, told=Field("told", "Horizon"))
    color: dict[str, Any] = {
        name: channel for name, channel in by_group(rows, Field("group", "Model")).items() if name == "color"
    }
    base = Chart(rows).encode(tooltip=tips, **color)
    lines = base.mark("rule", strokeWidth=1.5, strokeDash=[5, 3]).encode(y=up)
    drops = base.where("datum.at != null").mark("rule", strokeWidth=1.5).encode(x=across, y=up, y2={"datum": 0})
    dots = base.where("datum.at != null").mark("point", size=90).encode(x=across, y=up)
    return [lines, drops, dots]


def _whole(values: pl.Series, first: int, most: int = 10) -> dict[float, str]:
    """Marks at whole numbers from the first to the largest value."""
    last = int(np.ceil(values.cast(pl.Float64).fill_null(first).to_numpy().max(initial=first)))
    step = max(1, -(-(last - first) // most))
    return {float(n): f"{n:,}" for n in range(first, last + 1, step)}


def _attempts(last: int) -> dict[float, str]:
    """Ticks for attempts on a log scale."""
    places = [n for n in (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100) if n <= last]
    return {float(n): f"{n:g}" for n in dict.fromkeys([*places, last])}


def _open(rows: Any, end: str) -> pl.Series:
    """The ends of intervals, null where they lie beyond the novices' attempts."""
    ends = [getattr(r.horizon, end) if getattr(r.horizon, f"{end}_state") == "ok" else None for r in rows]
    return pl.Series(end, ends, pl.Float64)


def _most_able(found: AttemptHorizons, n: int) -> str:
    n_models = len(found.headline())
    return f"The {n} most successful of {n_models} models" if n < n_models else ""


def _left_out(n: int) -> str:
    return f"The first {_MOST} of {n} rows" if n > _MOST else ""
