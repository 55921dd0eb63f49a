"""What a table of scores and a scale look like."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howsure.charts import (
    Caption,
    Field,
    Reference,
    captioned,
    heat_map,
    histogram,
    interval_plot,
    line_with_band,
    points_with_trend,
)
from howsure.charts.drawing import Chart, layered, nominal
from howsure.charts.encodings import MAX_ROWS, NAMES, ON_TOP, by_group, position, reference_line, roles, tooltips
from howsure.charts.theme import LIGHT, PALETTE, ROW, config
from howsure.stitch.forecasting.frontier import Dated, Trend, dates_of
from howsure.stitch.model.curves import curve_frame, residual_frame
from howsure.stitch.summaries import intervals_to_compare

if TYPE_CHECKING:
    from howsure.stitch.baskets import DomainIndices
    from howsure.stitch.benchmark_gaps import BenchmarkGaps
    from howsure.stitch.exploration import Exploration
    from howsure.stitch.preferences import VoteRanking
    from howsure.stitch.scale import Scale
    from howsure.stitch.updating import ScaleUpdate

__all__ = [
    "CAPABILITY",
    "draw_capabilities",
    "draw_coverage",
    "draw_curves",
    "draw_difficulties",
    "draw_domains",
    "draw_gaps",
    "draw_joint",
    "draw_months",
    "draw_overlap",
    "draw_ranking",
    "draw_residuals",
    "draw_scale",
    "draw_update",
    "draw_votes",
    "readable",
    "with_long_names",
]

CAPABILITY = "units of the scale"
_LONG = 400  # pixels of a label
_MOST_ROWS = 50  # more than this nobody reads in one picture
_MOST_CELLS = 30  # benchmarks on a side of the overlap
_LIT = 6  # curves that are told apart by colour
_LETTER, _LINE = 0.0105, 0.06  # of a label, as shares of the picture


def draw_scale(scale: Scale) -> dict[str, Chart]:
    """All pictures of a fit, by file name; those over time where models or benchmarks have dates."""
    drawn = {
        "ranking": draw_ranking(scale),
        "curves": draw_curves(scale),
        "residuals": draw_residuals(scale),
    }
    if scale.models["date"].is_not_null().any():
        drawn["capabilities"] = draw_capabilities(scale)
    if scale.benchmarks["date"].is_not_null().any():
        drawn["difficulties"] = draw_difficulties(scale)
    return drawn


def draw_overlap(found: Exploration) -> Chart:
    """How many models two benchmarks share, the most covered benchmarks first."""
    names = found.benchmarks["benchmark"].to_list()[:_MOST_CELLS]
    rows = found.overlap.filter(pl.col("benchmark").is_in(names), pl.col("other").is_in(names))
    # an axis cuts long names at their end, where they differ
    rows = rows.with_columns(pl.col("other").replace_strict(_told_apart(names, 40)))
    return heat_map(
        rows,
        title="Models that two benchmarks share",
        caption=Caption(found.overview.n_models, "models", None, "counts", _cut(len(found.benchmarks), _MOST_CELLS)),
        x=Field("other", "Benchmark"),
        y=Field("benchmark", "Benchmark"),
        value=Field("n_models", "Models on both", "number", format=",d"),
    )


def draw_months(found: Exploration) -> Chart:
    """Scores by the month in which their model was released."""
    rows = found.months.with_columns(pl.col("month").dt.offset_by("1mo").alias("end"))
    undated = found.overview.n_undated
    note = f"{undated} models have no date" if undated else ""
    return histogram(
        rows,
        title="Scores by the release of their model",
        caption=Caption(int(found.months["n_scores"].sum()), "scores", None, "counts", note),
        x=Field("month", "Release of the model"),
        count=Field("n_scores", "Scores", "per month"),
    )


def draw_coverage(found: Exploration) -> Chart:
    """How many models each benchmark has."""
    shown = found.benchmarks.head(_MOST_ROWS)
    rows = roles(shown, label="benchmark", value="n_models", count="n_scores")
    names, counts = Field("label", "Benchmark"), Field("value", "Models", "number", format=",d")
    across = position("x", rows, "value", counts) | {"scale": {"zero": True}}
    bars = (
        Chart(rows)
        .mark("bar", opacity=0.85)
        .encode(
            x=across,
            y=_names(rows["label"].to_list(), "Benchmark"),
            color={"value": PALETTE[0]},
            tooltip=tooltips(rows, label=names, value=counts, count=Field("count", "Scores", "number", format=",d")),
        )
    )
    four = int((found.models["n_benchmarks"] >= 4).sum())
    note = f"{four} of {found.overview.n_models} models are on four benchmarks or more. {_cut(len(found.benchmarks), _MOST_ROWS)}".strip()
    caption = Caption(found.overview.n_pairs, "pairs of model and benchmark", None, "counts", note)
    chart = layered([bars], height=len(rows) * ROW * 0.75)
    return captioned(chart, title="Models on each benchmark", caption=caption)


def draw_ranking(scale: Scale, n: int = 40) -> Chart:
    """The most capable models with intervals for comparing them with each other, where there are any."""
    agreement = intervals_to_compare(scale.estimate.capability, scale.replicates, scale.level).agreement
    has_comparison = np.isfinite(agreement)
    middle, bar = pl.col("capability"), pl.col("comparison_half_width")
    low, high = (
        (middle - bar, middle + bar) if has_comparison else (pl.col("capability_low"), pl.col("capability_high"))
    )
    is_exact = (low == high).fill_null(value=False)  # a model that fixes the scale has no bar
    low, high = (pl.when(~is_exact).then(end) for end in (low, high))
    rows = scale.models.head(n).select(
        "model", "capability", low=low, high=high, state="capability_state", text=_told(scale, n)
    )
    cut = f"The first {n}" if len(scale.models) > n else ""
    held = [name for name in scale.provenance.settings.get("anchor_models") or () if name in set(rows["model"])]
    if held:
        cut = (
            f"{cut}. Without a bar: {' and '.join(held)}, which {'fix' if len(held) > 1 else 'fixes'} the scale".strip(
                " ."
            )
        )
    caption = _caption(scale, cut)
    if has_comparison:
        note = (
            f"Two models whose bars do not overlap differ significantly (for {agreement:.0%} of all pairs the bars agree with the "
            "test of the pair); the interval of a single capability is wider"
        )
        caption = replace(caption, method="for comparisons (quasi-variances)", note=f"{note}. {cut}".strip(" ."))
    return interval_plot(
        rows,
        title="The most capable models" if len(scale.models) > n else "Capabilities",
        caption=caption,
        label=Field("model", "Model"),
        value=Field("capability", "Capability", CAPABILITY),
    )


def draw_capabilities(scale: Scale, *, top_n: int = 1, level: float | None = None) -> Chart:
    """Capabilities by release date, the frontier marked, with its trend."""
    dated = Dated.of(scale)
    chosen = dated.is_frontier(top_n)
    where = pl.DataFrame({"model": dated.models, "group": np.where(chosen, "frontier", "others").tolist()})
    points = scale.models.join(where, on="model").sort("group", "date", descending=True).head(MAX_ROWS)
    trend = dated.trend(top_n=top_n, level=level or scale.level)
    told = "" if trend is None else f"The frontier rises by {trend.slope()} per year; the band is for its line"
    return points_with_trend(
        points,
        None if trend is None else _line(trend, dated),
        title="Capabilities over time",
        caption=_caption(scale, told),
        x=Field("date", "Release"),
        y=Field("capability", "Capability", CAPABILITY),
        low="capability_low",
        high="capability_high",
        label=Field("model", "Model"),
        group=Field("group", "Models"),
        named=readable(points.filter(group="frontier"), "date", "capability", "model", within=points),
    )


def draw_difficulties(scale: Scale) -> Chart:
    """Difficulties by publication date, beside the trend of the frontier."""
    points = scale.benchmarks.drop_nulls(["date", "difficulty"]).head(MAX_ROWS)
    has_dates = scale.models["date"].is_not_null().any()
    dated = Dated.of(scale) if has_dates else None
    trend = None if dated is None else dated.trend(level=scale.level)
    told = "" if trend is None else "The line is the trend of the most capable models"
    ends = {f"capability{end}": f"difficulty{end}" for end in ("", "_low", "_high")}
    line = None if trend is None or dated is None else _line(trend, dated).rename(ends)
    return points_with_trend(
        points,
        line,
        title="Difficulties over time",
        caption=_caption(scale, told, "benchmarks", len(points)),
        x=Field("date", "Publication"),
        y=Field("difficulty", "Difficulty", CAPABILITY),
        low="difficulty_low",
        high="difficulty_high",
        label=Field("benchmark", "Benchmark"),
        named=readable(points.sort("n_models", descending=True), "date", "difficulty", "benchmark"),
    )


def draw_curves(scale: Scale) -> Chart:
    """All benchmarks on one scale: each benchmark's curve over the capability axis, with the scores of models on some of them."""
    lit = _spread_out(scale)
    lines = roles(curve_frame(scale), x="capability", value="score", group="benchmark")
    points = residual_frame(scale).filter(pl.col("benchmark").is_in(lit)).head(MAX_ROWS)
    dots = roles(points, x="capability", value="score", group="benchmark", label="model")
    x, y = Field("capability", "Capability", CAPABILITY), Field("score", "Score", "0–1", domain=(0, 1))
    group = Field("benchmark", "Benchmark")
    over = lines.filter(pl.col("group").is_in(lit))
    over = over.sort(pl.col("group").replace_strict({name: i for i, name in enumerate(lit)}, return_dtype=pl.Int64))
    places = {"x": position("x", lines, "x", x), "y": position("y", lines, "value", y)}
    colour = by_group(over, group)["color"]
    dashed = by_group(over, group, "strokeDash", symbolType="stroke", symbolSize=500, symbolStrokeWidth=2.5)
    tips = tooltips(lines, group=group, x=x, value=y)
    layers = [
        Chart(lines.filter(~pl.col("group").is_in(lit)))
        .mark("line", strokeWidth=1, opacity=0.5, color=LIGHT["edge"])
        .encode(**places, detail=nominal("group"), tooltip=tips),
        Chart(dots)
        .mark("point", size=26, opacity=0.55)
        .encode(**places, color=colour, tooltip=[*tooltips(dots, label=Field("label", "Model")), *tips]),
        Chart(over).mark("line").encode(**places, **dashed, tooltip=tips),
    ]
    grey = len(scale.benchmarks) - len(lit)
    note = (
        f"Dots: scores of models on the coloured benchmarks. Grey: the other {grey}"
        if grey
        else "Dots: scores of models"
    )
    caption = Caption(scale.quality.n_observations, "scores", None, "curves as fitted", note)
    return captioned(layered(layers), title="All benchmarks on one scale", caption=caption)


def draw_residuals(scale: Scale) -> Chart:
    """How far each score lies from what the scale expects, benchmark by benchmark, the worst fitted on top."""
    worst = scale.benchmarks.sort("rmse", "benchmark", descending=[True, False])["benchmark"].to_list()[:_MOST_ROWS]
    found = residual_frame(scale).filter(pl.col("benchmark").is_in(worst))
    found = found.sort(pl.col("residual").abs(), descending=True).head(MAX_ROWS)
    rows = roles(found, group="benchmark", value="residual", score="score", expected="expected", label="model")
    x = Field("residual", "Score − expected score", "−1 to 1", format="+.2f")
    fields = {
        "group": Field("benchmark", "Benchmark"),
        "label": Field("model", "Model"),
        "value": x,
        "score": Field("score", "Score", "0–1", format=".3f"),
        "expected": Field("expected", "Expected", "0–1", format=".3f"),
    }
    marks = (
        Chart(rows)
        .mark("point", size=34, opacity=0.45)
        .encode(
            x=position("x", rows, "value", x),
            y=_names(worst, "Benchmark", field="group"),
            color={"value": PALETTE[0]},
            tooltip=tooltips(rows, **fields),
        )
    )
    chart = layered([*reference_line(Reference(0, "as expected"), "x"), marks], height=len(worst) * ROW * 0.75)
    note = f"Root mean square {scale.quality.rmse:.3f}. {_cut(len(scale.benchmarks), _MOST_ROWS)}".strip()
    caption = Caption(scale.quality.n_observations, "scores", None, "single scores", note)
    return captioned(chart, title="Residuals of the fit", caption=caption)


def draw_domains(found: DomainIndices, n: int = 10) -> Chart:
    """The best models of the scale, each with its capability in every domain."""
    best = found.models.unique("model").sort("overall", "model", descending=[True, False], nulls_last=True)
    shown = best["model"].head(n).to_list()
    rows = found.models.filter(pl.col("model").is_in(shown))
    order = {name: i for i, name in enumerate(shown)}
    rows = rows.sort(pl.col("model").replace_strict(order, return_dtype=pl.Int64), maintain_order=True)
    note = (
        f"The {len(shown)} models with the highest capability overall; models with few scores in a domain are not shown"
    )
    return interval_plot(
        rows.select("domain", "model", "capability", low="capability_low", high="capability_high"),
        title="Capabilities by domain",
        caption=Caption(
            rows["model"].n_unique(), "models", found.level, "benchmarks' curves as on the whole scale", note
        ),
        label=Field("model", "Model"),
        value=Field("capability", "Capability", CAPABILITY),
        group=Field("domain", "Domain"),
        is_sorted=False,
    )


def draw_update(found: ScaleUpdate, n: int = 25) -> Chart:
    """The largest changes of capabilities: the new value with its interval, the old one as a tick."""
    moved = found.moved.head(n)
    rows = roles(
        moved, label="model", value="capability", low="capability_low", high="capability_high", before="before"
    )
    x = Field("capability", "Capability", CAPABILITY)
    across = position("x", rows, "value", x) | {"scale": {"zero": False}}
    places = {"y": _names(rows["label"].to_list(), "Model")}
    tips = tooltips(rows, label=Field("model", "Model"), value=x, before=Field("before", "Before", CAPABILITY))
    layers = [
        Chart(rows.filter(pl.col("low") < pl.col("high"))).mark("rule", strokeWidth=2.5).encode(**places, x=across | {"field": "low"}, x2={"field": "high"}, color={"value": PALETTE[0]}, tooltip=tips),
        Chart(rows).mark("point", size=70).encode(**places, x=across, color={"value": PALETTE[0]}, tooltip=tips),
        Chart(rows).mark("tick", thickness=3, size=14).encode(**places, x=across | {"field": "before"}, color={"value": PALETTE[1]}, tooltip=tips),
    ]  # fmt: skip
    new = found.counts.n_new_scores
    caption = Caption(
        len(moved), "models", found.scale.level, "of the new scale", f"Tick: the old value. {new:,} new scores"
    )
    return captioned(
        layered(layers, height=len(rows) * ROW * 0.8),
        title="The largest changes of capabilities",
        caption=caption,
        mark="Bars",
    )


def draw_votes(found: VoteRanking, n: int = 40) -> Chart:
    """The ranking by votes, with bars that overlap only where the order of two models is uncertain."""
    rows = (
        found.models.drop_nulls("strength")
        .head(n)
        .select("model", "strength", low="comparison_from", high="comparison_to", group=pl.format("tier {}", "tier"))
    )
    note = f"Bars that do not overlap differ significantly. {found.fragility.sentence.rstrip('.')}"
    return interval_plot(
        rows,
        title="Models by votes",
        caption=Caption(
            found.fragility.n_votes, "votes", found.level, f"comparison intervals over {found.n_voters:,} voters", note
        ),
        label=Field("model", "Model"),
        value=Field("strength", "Strength in votes", "log odds"),
    )


def draw_joint(found: VoteRanking) -> Chart:
    """Strength in votes over capability on benchmarks."""
    if found.joint is None:
        raise ValueError("there is no scale to compare with")
    points = found.joint.models.filter(source="both").join(
        found.models.select("model", "strength_low", "strength_high"), on="model", how="left"
    )
    relation = found.joint.relation
    made = "bars over voters, band of models around the line"
    note = f"Correlation {relation['correlation']}, corrected for errors"
    return points_with_trend(
        points,
        found.joint.line(found.level),
        title="Votes and capability",
        caption=Caption(len(points), "models on both", found.level, made, note),
        x=Field("capability", "Capability", CAPABILITY),
        y=Field("strength", "Strength in votes", "log odds"),
        low="strength_low",
        high="strength_high",
        label=Field("model", "Model"),
        named=readable(points.sort("capability", descending=True), "capability", "strength", "model", most=8),
    )


def draw_gaps(found: BenchmarkGaps) -> Chart:
    """How precisely a model of each capability is measured by all benchmarks together."""
    return line_with_band(
        found.precision,
        title="Where on the scale benchmarks measure well",
        caption=Caption(
            len(found.precision), "capabilities", found.level, "refits of the scale",
            "Standard error of a model with a score on every benchmark; the lower, the better",
        ),
        x=Field("capability", "Capability", CAPABILITY),
        y=Field("sd", "Standard error", CAPABILITY),
        low="sd_low",
        high="sd_high",
        reference=Reference(1.5 * found.provenance.settings["usual_sd"], "gap: above this"),
    )  # fmt: skip


def readable(
    points: pl.DataFrame, x: str, y: str, label: str, *, within: pl.DataFrame | None = None, most: int = 12
) -> list[str]:
    """Labels that can stand left of their points and cover neither one another, nor another point, nor the axis; earlier rows first.

    ``within`` spans the picture, where the points do not.
    """
    if not len(points):
        return []
    places, all_places = (_places(rows, x, y) for rows in (points, points if within is None else within))
    low, reach = all_places.min(axis=0), np.maximum(np.ptp(all_places, axis=0), 1e-9)
    dots = (places - low) / reach
    taken: dict[str, tuple[float, float, float]] = {}
    for name, (across, up) in zip(points[label], dots, strict=True):
        start = across - len(name) * _LETTER
        is_hidden = (dots[:, 0] > start) & (dots[:, 0] < across) & (abs(dots[:, 1] - up - _LINE / 3) < _LINE / 2)
        clear = all(start > end or across < begin or abs(up - at) > _LINE for begin, end, at in taken.values())
        if start >= 0 and clear and not is_hidden.any() and len(taken) < most:
            taken[name] = (start, across, up)
    return list(taken)


def _places(rows: pl.DataFrame, x: str, y: str) -> NDArray[np.float64]:
    return rows.select(pl.col(x, y).to_physical().cast(pl.Float64)).to_numpy()


def _cut(n: int, most: int) -> str:
    return f"The first {most} of {n} benchmarks" if n > most else ""


def _told_apart(names: list[str], most: int) -> dict[str, str]:
    """Long names without their middle; a name that would then be another's stays whole."""
    short = {name: name if len(name) <= most else f"{name[: most - 11]}…{name[-10:]}" for name in names}
    return {name: one if list(short.values()).count(one) == 1 else name for name, one in short.items()}


def _names(order: list[str], title: str, field: str = "label") -> dict[str, Any]:
    return nominal(field, title=title, sort=order, axis={**NAMES, **ON_TOP})


def _told(scale: Scale, n: int) -> pl.Series:
    return pl.Series([str(scale.capability(model)) for model in scale.models["model"].head(n)])


def _caption(scale: Scale, note: str, of: str = "models", n: int | None = None) -> Caption:
    count = len(scale.models) if n is None else n
    if scale.replicates is None:
        return Caption(count, of, None, "the fit has no replicates", note)
    resample = scale.provenance.settings["resample"]
    bootstrap = {"errors": "parametric bootstrap", "bayesian": "Bayesian bootstrap"}.get(resample)
    method = f"{len(scale.replicates):,} refits ({bootstrap or f'bootstrap over {resample}'})"
    return Caption(count, of, scale.level, method, note)


def _line(trend: Trend, dated: Dated) -> pl.DataFrame:
    """The trend over the time of the models, with its confidence band."""
    years = np.linspace(dated.years.min(), dated.years.max(), 40)
    low, high = trend.confidence(years)
    columns: dict[str, Any] = {"date": dates_of(years), "capability": trend.line.predict(years)}
    return pl.DataFrame(columns | {"capability_low": low, "capability_high": high})


def _spread_out(scale: Scale) -> list[str]:
    """Well covered benchmarks from easy to hard: the most covered of each sixth."""
    ranked = scale.benchmarks.sort("difficulty").with_row_index("place")
    sixth = (pl.col("place") * _LIT // len(ranked)).alias("sixth")
    best = ranked.group_by(sixth).agg(pl.col("benchmark").sort_by("n_models", descending=True).first()).sort("sixth")
    return best["benchmark"].to_list()


def with_long_names(chart: Chart) -> Chart:
    """Room for long labels, such as a model and a benchmark in one."""
    look = config()
    return chart.having(config=look | {"axisY": look["axisY"] | {"labelLimit": _LONG}})
