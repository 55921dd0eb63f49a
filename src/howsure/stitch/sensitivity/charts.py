"""What robustness and the check by eye look like."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from howsure.charts import (
    Caption,
    Field,
    Reference,
    bins,
    histogram,
    interval_plot,
    line_with_band,
    points_with_trend,
)
from howsure.charts.encodings import MAX_ROWS
from howsure.estimates import Estimate
from howsure.stitch.charts import readable, with_long_names
from howsure.stitch.sensitivity.crossvalidation import ALL_SPLITS

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.stitch.sensitivity.analysis import Robustness
    from howsure.stitch.sensitivity.inspection import ScaleCheck
    from howsure.stitch.sensitivity.second_trait import SecondTrait

__all__ = [
    "draw_dropped",
    "draw_factors",
    "draw_influence",
    "draw_loadings",
    "draw_path",
    "draw_ranks",
    "draw_residuals",
    "draw_robustness",
    "draw_sample",
    "draw_supports",
    "draw_traits",
    "draw_validation",
]

_MOST_ROWS = 25
_ROUNDING = 1e-9
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
    ).with_columns(_bars("low", "high"))
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
        "benchmark": ("The frontier's slope without each benchmark", "Excluded", "benchmarks"),
        "organisation": ("The frontier's slope without each organisation", "Excluded", "organisations"),
        "anchor": ("The frontier's slope with each benchmark as anchor", "Anchor", "anchors"),
    }
    title, label, counted = titles[kind]
    part, value = found.of(kind).drop_nulls("linked_slope"), found.slope.value or 0.0
    far = part.sort((pl.col("linked_slope") - value).abs(), descending=True).head(_MOST_ROWS)
    low, high = _noise(found)
    shown = f"The {len(far)} with the largest effect. " if len(far) < len(part) else ""
    note = f"{shown}With only errors of the scores: {Estimate(value, low, high)}"
    return interval_plot(
        far.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64)),
        title=title,
        caption=Caption(len(part), counted, None, "each dot is one refit, in the unit of the original fit", note),
        label=Field("label", label),
        value=replace(_SLOPE, domain=_reach([low, high, *far["linked_slope"]])),
        reference=Reference(value, "as fitted"),
    )


def _bars(low: str, high: str) -> list[pl.Expr]:
    """Both ends, without those of bars that have no length: they cannot be drawn, and the engine complains on the terminal."""
    return [pl.when(pl.col(high) - pl.col(low) > _ROUNDING).then(pl.col(end)).alias(end) for end in (low, high)]


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
    # models that hold the unit hold it in these refits too
    is_same = bool((part["slope"] - part["linked_slope"]).abs().fill_null(0.0).max() <= _ROUNDING)  # type: ignore[operator]
    path = (
        pl.concat([part, fitted]).sort("strength").unpivot(index="strength", variable_name="unit", value_name="value")
    )
    names = {"slope": "the anchor's unit", "linked_slope": "the unit as fitted"}
    settings = found.provenance.settings["fit"]
    return line_with_band(
        path.filter((pl.col("unit") == "slope") | (not is_same))
        .with_columns(pl.col("unit").replace_strict(names))
        .drop_nulls(),
        title="The frontier's slope with weaker and stronger priors",
        caption=Caption(len(part), "refits", None, "each point is one refit", f"1 is the preset {settings['preset']}"),
        x=Field("strength", "Strength of the priors", "times the preset's", scale="log10"),
        y=Field("value", "Slope of the frontier", "capability per year"),
        low=None,
        high=None,
        group=None if is_same else Field("unit", "In"),
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
    """Held-out error of each model of the scores, in each split, divided by that of the published model."""
    settings, rows = found.provenance.settings, found.validation.filter(pl.col("split") != ALL_SPLITS)
    last = found.validation["split"][-1]  # all three, where there are three
    order = found.validation.filter(pl.col("split") == last)["method"].to_list()
    place = pl.col("method").replace_strict({name: k for k, name in enumerate(order)}, return_dtype=pl.Int64)
    return interval_plot(
        rows.sort(place, maintain_order=True).with_columns(_bars("ratio_low", "ratio_high")),
        title="Held-out error of each model of the scores",
        caption=Caption(
            int(rows.group_by("split").agg(pl.col("n").first())["n"].sum()),
            "held-out scores",
            settings["level"],
            "cluster bootstrap over families and their models",
            "All on the same splits; smaller is better",
        ),
        label=Field("method", "Model of the scores"),
        value=Field("ratio", "Held-out error", "divided by that of paper"),
        low="ratio_low",
        high="ratio_high",
        group=Field("split", "Held out"),
        reference=Reference(1.0, "paper"),
        is_sorted=False,
    )


def draw_loadings(found: SecondTrait) -> Chart:
    """How much each benchmark asks of the second trait."""
    return interval_plot(
        found.benchmarks,
        title="Loadings on the second trait",
        caption=Caption(
            len(found.models),
            "models",
            found.level,
            f"{found.provenance.settings['n_replicates']:,} refits",
            "Principal axes: uncorrelated with the first trait. Models with more of the trait score higher on the benchmarks on top and lower on those at the bottom",
        ),
        label=Field("benchmark", "Benchmark"),
        value=Field("second", "Loading", "logits per standard deviation of the trait"),
        low="second_low",
        high="second_high",
        reference=Reference(0.0, "no loading"),
    )


def draw_traits(found: SecondTrait) -> Chart:
    """Models by both traits."""
    ends = pl.concat([found.models.head(8), found.models.tail(8)]).unique("model", maintain_order=True)
    return points_with_trend(
        found.models.head(MAX_ROWS),
        title="Models by both traits",
        caption=Caption(
            len(found.models),
            "models",
            found.level,
            f"{found.provenance.settings['n_replicates']:,} refits, of the second trait",
            f"Upper end: {found.title.partition(' against ')[0]}",
        ),
        x=Field("first", "First trait", "standard deviations"),
        y=Field("second", "Second trait", "standard deviations"),
        low="second_low",
        high="second_high",
        label=Field("model", "Model"),
        named=readable(ends, "first", "second", "model", within=found.models),
    )


def draw_sample(check: ScaleCheck) -> Chart:
    """The sampled models on the scale, coloured by the third of all models in which they lie."""
    chart = interval_plot(
        check.sample.with_columns(label=pl.format("{} · {}", "rank", "model")),
        title="Is this the order that you would expect?",
        caption=Caption(
            len(check.sample),
            "models drawn at random",
            check.level,
            "bootstrap refits",
            "Number: rank among all models",
        ),
        label=Field("label", "Rank and model"),
        value=Field("capability", "Capability", "on the scale"),
        low="capability_low",
        high="capability_high",
        group=Field("third", "Among all models"),
        is_sorted=False,
    )
    return with_long_names(chart)


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
        low="prediction_low",
        high="prediction_high",
        is_sorted=False,
    )
    return with_long_names(chart)


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
    return with_long_names(chart)
