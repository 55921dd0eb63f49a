"""What robustness and the check by eye look like."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from howsure.charts import Caption, Field, Reference, bins, histogram, interval_plot, line_with_band
from howsure.charts.theme import config
from howsure.estimates import Estimate

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.stitch.sensitivity.analysis import Robustness
    from howsure.stitch.sensitivity.inspection import ScaleCheck

__all__ = [
    "draw_dropped",
    "draw_factors",
    "draw_influence",
    "draw_path",
    "draw_ranks",
    "draw_residuals",
    "draw_robustness",
    "draw_sample",
    "draw_supports",
    "draw_validation",
]

_MOST_ROWS = 25
_LONG = 400  # pixels of a label
_SLOPE = Field("linked_slope", "Slope of the frontier", "capability per year")


def draw_robustness(found: Robustness) -> dict[str, Chart]:
    """All charts of a result, by file name; those of the slope only where there is one."""
    drawn = {"ranks": draw_ranks(found), "validation": draw_validation(found)}
    if found.slope.value is None:
        return drawn
    # in one unit an anchor may change nothing at all: equal dots say nothing
    kinds = [kind for kind in ("benchmark", "organisation", "anchor") if len(found.of(kind)) and _varies(found, kind)]
    parts = {kind: draw_influence(found, kind) for kind in kinds}
    slopes = {"factors": draw_factors(found), "dropped": draw_dropped(found), "prior": draw_path(found)}
    return slopes | parts | drawn


def _varies(found: Robustness, kind: str) -> bool:
    slopes = found.of(kind)["linked_slope"].drop_nulls()
    low, high = slopes.min(), slopes.max()
    return isinstance(low, float) and isinstance(high, float) and high - low > 1e-6 * max(abs(high), 1e-9)


def draw_factors(found: Robustness) -> Chart:
    """Between which values the frontier's slope comes out when each thing is varied, in one unit."""
    rows = pl.DataFrame(
        {
            "label": [f"{one.title[0].upper()}{one.title[1:]}" for one in found.factors],
            "value": [found.slope.value] * len(found.factors),
            "low": [one.linked_min for one in found.factors],
            "high": [one.linked_max for one in found.factors],
        }
    )
    return interval_plot(
        rows,
        title="Sensitivity of the frontier's slope",
        caption=Caption(
            len(found.variants),
            "refits",
            found.slope.level,
            "where refits are drawn at random, and all of them elsewhere",
            "Every refit is in the unit of the original fit",
        ),
        label=Field("label", "Varied"),
        value=Field("value", "Slope of the frontier", "capability per year"),
        reference=Reference(found.slope.value or 0.0, "as fitted"),
        is_sorted=False,
    )


def draw_dropped(found: Robustness) -> Chart:
    """The frontier's slope when benchmarks are dropped at random, in the anchor's unit."""
    settings = found.provenance.settings
    slopes = found.of("drop")["slope"].drop_nulls()
    level = settings["level"]
    return histogram(
        bins(slopes, n_bins=min(40, max(10, len(slopes) // 5))),
        title=f"Slope of the frontier without {settings['share']:.0%} of the benchmarks",
        caption=Caption(len(slopes), "refits", level, "the middle of the refits"),
        x=Field("start", "Slope", "capability per year"),
        count=Field("count", "Refits", "count"),
        estimate=found.dropped_slope,
        reference=Reference(found.slope.value or 0.0, "all benchmarks"),
    )


def draw_influence(found: Robustness, kind: str) -> Chart:
    """The frontier's slope without each benchmark or organisation, or with each anchor; the most telling ones.

    The axis is never narrower than what errors of the scores leave open, so that nothing looks like much.
    """
    titles = {
        "benchmark": ("The frontier's slope without each benchmark", "Left out", "benchmarks"),
        "organisation": ("The frontier's slope without each organisation", "Left out", "organisations"),
        "anchor": ("The frontier's slope with each benchmark as anchor", "Anchor", "anchors"),
    }
    title, label, counted = titles[kind]
    part, value = found.of(kind).drop_nulls("linked_slope"), found.slope.value or 0.0
    far = part.sort((pl.col("linked_slope") - value).abs(), descending=True).head(_MOST_ROWS)
    low, high = _noise(found)
    shown = f"The {len(far)} that move it most. " if len(far) < len(part) else ""
    note = f"{shown}Errors of the scores alone leave {Estimate(value, low, high)}"
    return interval_plot(
        far.with_columns(low="linked_slope", high="linked_slope"),
        title=title,
        caption=Caption(len(part), counted, None, "each dot is one refit, in the unit of the original fit", note),
        label=Field("label", label),
        value=replace(_SLOPE, domain=_reach([low, high, *far["linked_slope"]])),
        reference=Reference(value, "as fitted"),
    )


def _noise(found: Robustness) -> tuple[float, float]:
    """Between which values errors of the scores alone leave the slope, in the unit of the original fit."""
    value = found.slope.value or 0.0
    one = next((factor for factor in found.factors if factor.kind == "noise"), None)
    low, high = (value, value) if one is None else (one.linked_min or value, one.linked_max or value)
    return min(low, value), max(high, value)


def _reach(numbers: list[float]) -> tuple[float, float]:
    margin = (max(numbers) - min(numbers)) * 0.05 or 0.5
    return min(numbers) - margin, max(numbers) + margin


def draw_path(found: Robustness) -> Chart:
    """The frontier's slope as the priors get weaker or stronger."""
    strength = pl.col("label").str.strip_prefix("× ").cast(pl.Float64)
    fitted = pl.DataFrame({"strength": [1.0], "slope": [found.slope.value], "linked_slope": [found.slope.value]})
    part = found.of("prior").select(strength.alias("strength"), "slope", "linked_slope")
    path = (
        pl.concat([part, fitted]).sort("strength").unpivot(index="strength", variable_name="unit", value_name="value")
    )
    names = {"slope": "the anchor's unit", "linked_slope": "the unit as fitted"}
    settings = found.provenance.settings["fit"]
    return line_with_band(
        path.with_columns(pl.col("unit").replace_strict(names)).drop_nulls(),
        title="The frontier's slope with weaker and stronger priors",
        caption=Caption(len(part), "refits", None, "each point is one refit", f"1 is the preset {settings['preset']}"),
        x=Field("strength", "Strength of the priors", "times the preset's", scale="log10"),
        y=Field("value", "Slope of the frontier", "capability per year"),
        low=None,
        high=None,
        group=Field("unit", "In"),
    )


def draw_ranks(found: Robustness) -> Chart:
    """Between which ranks the best models lie when benchmarks are dropped."""
    settings = found.provenance.settings
    best = found.ranks.head(_MOST_ROWS)
    return interval_plot(
        best,
        title=f"Ranks without {settings['share']:.0%} of the benchmarks",
        caption=Caption(
            settings["n_replicates"],
            "refits",
            settings["level"],
            "of the refits",
            f"The first {len(best)} of {len(found.ranks)} models",
        ),
        label=Field("model", "Model"),
        value=Field("rank", "Rank", "1 is best"),
        low="rank_low",
        high="rank_high",
        is_sorted=False,
    )


def draw_validation(found: Robustness) -> Chart:
    """Held-out error of each model of the scores."""
    settings = found.provenance.settings
    return interval_plot(
        found.validation.sort("rmse", descending=True),
        title="Held-out error of each model of the scores",
        caption=Caption(
            found.validation["n"][0],
            "scores",
            settings["level"],
            "cluster bootstrap over families and their models",
            "All on the same folds; smaller is better",
        ),
        label=Field("method", "Model of the scores"),
        value=Field("rmse", "Held-out error", "root mean square"),
        low="rmse_low",
        high="rmse_high",
    )


def draw_sample(check: ScaleCheck) -> Chart:
    """The sampled models on the scale, coloured by the third of all models in which they lie."""
    return interval_plot(
        check.sample.with_columns(label=pl.format("{} · {}", "rank", "model")),
        title="Is this the order that you would expect?",
        caption=Caption(
            len(check.sample),
            "models drawn at random",
            check.level,
            "bootstrap refits",
            "The number is the rank among all models",
        ),
        label=Field("label", "Rank and model"),
        value=Field("capability", "Capability", "on the scale"),
        low="capability_low",
        high="capability_high",
        group=Field("third", "Among all models"),
        is_sorted=False,
    )


def draw_residuals(check: ScaleCheck) -> Chart:
    """The scores with the largest residuals beside expected range of such scores."""
    found = check.surprises.residuals
    n = min(_MOST_ROWS, len(found))
    chart = interval_plot(
        found.head(n).with_columns(label=pl.format("{} on {}", "model", "benchmark")),
        title="The scores with the largest residuals",
        caption=Caption(
            len(found),
            "scores",
            check.level,
            "expected range of such scores",
            f"Dots: the {n} scores that are farthest from it",
        ),
        label=Field("label", "Score of"),
        value=Field("score", "Score", "0–1"),
        low="expected_low",
        high="expected_high",
        is_sorted=False,
    )
    return _with_long_names(chart)


def draw_supports(check: ScaleCheck) -> Chart:
    """The models whose rank rests most on one score: where they are, and where they would be without it."""
    found = check.surprises.supports
    n, ends = min(_MOST_ROWS, len(found)), (pl.col("rank"), pl.col("rank_without"))
    chart = interval_plot(
        found.head(n).with_columns(
            label=pl.format("{} without {}", "model", "benchmark"),
            low=pl.min_horizontal(*ends),
            high=pl.max_horizontal(*ends),
        ),
        title="Models whose rank depends on one benchmark",
        caption=Caption(
            len(found),
            "models",
            None,
            "bars go from the rank to the rank without that score",
            f"The {n} that move most",
        ),
        label=Field("label", "Model and score"),
        value=Field("rank", "Rank", "1 is best"),
        is_sorted=False,
    )
    return _with_long_names(chart)


def _with_long_names(chart: Chart) -> Chart:
    """Room for a model and a benchmark in one label."""
    look = config()
    return chart.having(config=look | {"axisY": look["axisY"] | {"labelLimit": _LONG}})
