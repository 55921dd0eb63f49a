"""What plans look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from howsure.charts import Caption, Field, Reference, estimate_rows, interval_plot, line_with_band

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.study.planning.plans import DesignRow, StudyPlan

__all__ = ["draw_designs", "draw_power"]


def draw_designs(plan: StudyPlan) -> Chart:
    """How often each design meets all criteria, if all is as assumed and when the model's scores are unrelated to fidelity."""
    n = plan.provenance.settings["simulations"]
    rows = [(_name(row, plan), world, chance) for row in plan.rows for world, chance in plan.chances_of(row).items()]
    frame = estimate_rows((name, chance) for name, _, chance in rows)
    return interval_plot(
        frame.with_columns(group=pl.Series([world for _, world, _ in rows])),
        title="Chance that a study meets all criteria at once",
        caption=Caption(
            n,
            "simulated studies a dot",
            plan.level,
            "of the simulation",
            f"Designs are pairs × raters, with the minutes of one rater. Recommended: {plan.recommended}",
        ),
        label=Field("label", "Design"),
        value=Field("value", "Share of studies", "0–1", domain=(0, 1)),
        group=Field("group", "When"),
        reference=Reference(plan.wanted_power, f"{plan.wanted_power:.0%}"),
        is_sorted=False,
    )


def draw_power(plan: StudyPlan) -> Chart:
    """The chance that a correlation reaches its threshold over the number of pairs, one line per true correlation."""
    from howsure.study.planning.plans import TRUE_R

    curve = plan.curve().with_columns(pl.format("true r {}", "true_r").alias("truth"))
    most = int(curve["pairs"].to_numpy().max())
    raters = plan.asked.design.raters
    return line_with_band(
        curve,
        title=f"Chance that r reaches {plan.least_r:g} and differs from 0, with {raters} raters",
        caption=Caption(
            most,
            "pairs at the most",
            None,
            "exact for normal scores",
            f"One rater's reliability is taken as {plan.assumptions.icc:g}; noise makes a true r of {TRUE_R[0]:g} look like {TRUE_R[0] * plan.asked.ceiling:.2f}",
        ),
        x=Field("pairs", "Pairs", "number", scale="log10", domain=(3, most), ticks=_ticks(most)),
        y=Field("power", "Power", "0–1", domain=(0, 1)),
        low=None,
        high=None,
        group=Field("truth", "Model and people"),
        reference=Reference(plan.wanted_power, f"{plan.wanted_power:.0%}"),
    )


def _name(row: DesignRow, plan: StudyPlan) -> str:
    mark = "asked for: " if row.design == plan.asked.design else ""
    return f"{mark}{row.design}, {row.minutes:.0f} min"


def _ticks(most: int) -> dict[float, str]:
    return {float(n): str(n) for n in (3, 5, 7, 10, 15, 20, 30, 50, 80, 120, 200) if n <= most}
