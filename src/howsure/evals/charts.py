"""Charts of summaries, comparisons and power."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from howsure.charts import (
    Caption,
    Field,
    Reference,
    bins,
    estimate_rows,
    histogram,
    interval_plot,
    line_with_band,
    points_with_trend,
)

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.evals.comparison import Comparison
    from howsure.evals.gating import GateDecision, GateHistory
    from howsure.evals.item_table import ItemTable
    from howsure.evals.leaderboards import Leaderboard
    from howsure.evals.overviews import LogOverview
    from howsure.evals.planning import PowerPlan
    from howsure.evals.summaries import Summary

__all__ = [
    "draw_claims",
    "draw_comparison",
    "draw_discrimination",
    "draw_gate",
    "draw_items",
    "draw_leaderboard",
    "draw_pareto",
    "draw_power",
    "draw_ranks",
    "draw_summary",
    "draw_trend",
]

_MOST_ROWS = 60  # more than this nobody reads in one picture
_CLAIM = "Claim: the first is better"


def draw_summary(summary: Summary) -> Chart:
    """Mean score of each subject, one colour per group of tasks."""
    shown = summary.rows[:_MOST_ROWS]
    groups = [row.task for row in shown]
    rows = estimate_rows((row.subject, row.mean) for row in shown).with_columns(
        group=pl.Series(groups, dtype=pl.String)
    )
    settings = summary.provenance.settings
    overall = {row.subject: row.n for row in reversed(summary.rows)}
    method = "independent attempts" if settings["cluster"] == "none" else f"clustered by {settings['cluster']}"
    return interval_plot(
        rows,
        title="Mean score",
        caption=Caption(sum(overall.values()), "attempts", settings["level"], method, _left_out(summary.rows)),
        label=Field("label", "Subject"),
        value=Field("value", "Mean score", "0–1"),
        group=Field("group", "Tasks") if len(set(groups)) > 1 else None,
    )


def draw_comparison(comparison: Comparison) -> Chart:
    """Differences with intervals around the line of no difference, the largest on top."""
    shown = comparison.pairs[:_MOST_ROWS]
    is_split = len({pair.task for pair in comparison.pairs}) > 1
    labels = [
        f"{pair.a} − {pair.b}" + (f", {pair.task}" if is_split else "") + (f" ({pair.held})" if pair.held else "")
        for pair in shown
    ]
    settings = comparison.provenance.settings
    return interval_plot(
        estimate_rows(zip(labels, (pair.difference for pair in shown), strict=True)),
        title="Difference of mean scores, paired by item",
        caption=Caption(
            max(pair.n_items for pair in comparison.pairs),
            "shared items at most",
            settings["level"],
            f"clustered by {settings['cluster']}",
            _left_out(comparison.pairs),
        ),
        label=Field("label", "Pair"),
        value=Field("value", "Difference", "score, −1 to 1"),
        reference=Reference(0, "no difference"),
    )


def draw_claims(overview: LogOverview) -> Chart:
    """The difference of each claim, the better one first, coloured by its verdict."""
    shown = overview.shown_claims
    labels = [f"{claim.a} − {claim.b}" + (f" {claim.where}" if claim.where else "") for claim in shown]
    title = _CLAIM
    if (
        overview.standings and len({claim.a for claim in shown}) == 1
    ):  # the name that all share need not be in every label
        labels, title = [claim.b for claim in shown], f"{shown[0].a} −"
    rows = estimate_rows(zip(labels, (claim.difference for claim in shown), strict=True)).with_columns(
        group=pl.Series([claim.verdict for claim in shown], dtype=pl.String)
    )
    settings = overview.provenance.settings
    n = max((claim.n_items for claim in overview.claims), default=0)
    about = f", those about {shown[0].a}" if title != _CLAIM else ""
    note = f"{len(shown)} of {len(overview.claims)} claims{about}" if len(shown) < len(overview.claims) else ""
    return interval_plot(
        rows,
        title="Difference of mean scores, paired by item",
        caption=Caption(n, "shared items at most", settings["level"], f"clustered by {settings['cluster']}", note),
        label=Field("label", title),
        value=Field("value", "Difference", "score"),
        group=Field("group", "Verdict") if len(set(rows["group"])) > 1 else None,
        reference=Reference(0, "no difference"),
        is_sorted=False,
    )


def draw_pareto(comparison: Comparison) -> Chart:
    """Score and cost of each cell; those that no other beats in both are named."""
    shown = [row for row in comparison.costs if row.cost.value is not None and row.score.value is not None]
    labels = [f"{row.name} ({row.held})" if row.held else row.name for row in shown]
    rows = estimate_rows(zip(labels, (row.score for row in shown), strict=True)).with_columns(
        cost=pl.Series([row.cost.value for row in shown], dtype=pl.Float64),
        kind=pl.Series(["efficient" if row.is_efficient else "not efficient" for row in shown]),
    )
    settings = comparison.provenance.settings
    method = "mean cost of an attempt; efficient: no other model scores as high at this cost or less"
    return points_with_trend(
        rows,
        title="Score and cost",
        caption=Caption(len(shown), "variants", settings["level"], method),
        x=Field(
            "cost", "Cost per attempt", "dollars", domain=(0, 1.15 * max(row.cost.value or 0.0 for row in shown) or 1)
        ),
        y=Field("value", "Mean score", "0–1"),
        label=Field("label", settings.get("factor", "model").capitalize()),
        group=Field("kind", "At its cost"),
        named=labels
        if len(labels) <= 12
        else [label for label, row in zip(labels, shown, strict=True) if row.is_efficient],
    )


def draw_gate(gate: GateDecision) -> Chart:
    """Differences with their one-sided limits, around no difference; the margin is in each label."""
    shown = gate.rows[:_MOST_ROWS]
    rows = estimate_rows((f"{row.eval} (margin {row.margin:g})", row.difference) for row in shown).with_columns(
        verdict=pl.Series([row.verdict for row in shown], dtype=pl.String)
    )
    settings = gate.provenance.settings
    margins = {row.margin for row in gate.rows}
    return interval_plot(
        rows,
        title=f"Candidate − base: {gate.verdict}",
        caption=Caption(
            sum(row.n_items for row in gate.rows),
            "common items",
            round(2 * settings["level"] - 1, 12),
            f"two one-sided limits of {settings['level']:.0%}",
            _left_out(gate.rows),
        ),
        label=Field("label", "Eval"),
        value=Field("value", "Difference", "score"),
        group=Field("verdict", "Verdict"),
        reference=Reference(-margins.pop(), "−margin") if len(margins) == 1 else Reference(0, "no difference"),
    )


def draw_trend(history: GateHistory) -> Chart:
    """The candidate's mean score over the runs of the gate, one line per eval."""
    known = [row for row in history.rows if row.candidate.value is not None]
    rows = pl.DataFrame(
        {
            "run": [row.position for row in known],
            "value": [row.candidate.value for row in known],
            "low": [row.candidate.value if row.candidate.low is None else row.candidate.low for row in known],
            "high": [row.candidate.value if row.candidate.high is None else row.candidate.high for row in known],
            "eval": [row.eval for row in known],
        }
    )
    n = len({row.position for row in history.rows})
    return line_with_band(
        rows,
        title="Candidates over commits",
        caption=Caption(n, "runs of the gate", 0.95, "each mean on its own; the gate compares paired items"),
        x=Field("run", "Run", "number", domain=(1, max(n, 2))),
        y=Field("value", "Mean score", "0–1"),
        group=Field("eval", "Eval") if rows["eval"].n_unique() > 1 else None,
    )


def draw_power(plan: PowerPlan) -> Chart:
    """Power as a function of the number of items, one line per number of attempts per item."""
    curve = plan.curve().with_columns(pl.format("{} per item", "attempts_per_item").alias("attempts"))
    most = int(curve["items"].to_numpy().max())
    return line_with_band(
        curve,
        title=f"Power to detect a true difference of {plan.effect:g}",
        caption=Caption(most, "items at most", None, "planned, not measured"),
        x=Field("items", "Items", "number", scale="log10", domain=(5, most)),
        y=Field("power", "Power", "0–1", domain=(0, 1)),
        low=None,
        high=None,
        group=Field("attempts", "Attempts of each model"),
        reference=Reference(plan.target_power, f"{plan.target_power:.0%}"),
    )


def draw_leaderboard(board: Leaderboard) -> Chart:
    """Mean score of each model, one colour per tier."""
    shown = board.places[:_MOST_ROWS]
    rows = estimate_rows((place.subject, place.mean) for place in shown).with_columns(
        group=pl.Series([f"tier {place.tier}" for place in shown], dtype=pl.String)
    )
    is_tiered = len({place.tier for place in shown}) > 1
    return interval_plot(
        rows,
        title="Models in tiers",
        caption=Caption(
            max(place.n_items for place in board.places),
            "items at most",
            board.provenance.settings["level"],
            "per model; tiers come from tests of pairs, not from these bars",
            _left_out(board.places),
        ),
        label=Field("label", "Model"),
        value=Field("value", "Mean score", "0–1"),
        group=Field("group", "Tier") if is_tiered else None,
    )


def draw_ranks(board: Leaderboard) -> Chart:
    """The rank of each model with its simultaneous interval."""
    shown = board.places[:_MOST_ROWS]
    rows = estimate_rows((place.subject, place.rank) for place in shown)
    return interval_plot(
        rows,
        title="Ranks",
        caption=Caption(
            len(board.places),
            "models",
            board.provenance.settings["level"],
            "simultaneous: all true ranks together",
            _left_out(board.places),
        ),
        label=Field("label", "Model"),
        value=Field("value", "Rank", "1 is the best", domain=(0.5, len(board.places) + 0.5)),
        is_sorted=False,
    )


def draw_items(table: ItemTable) -> Chart:
    """How many items are solved by how large a share of the models."""
    success = table.items["success"].to_numpy()
    n_models = int(table.items["n_models"].to_numpy().max())
    return histogram(
        bins([*success, *((0.0, 1.0) if not len(success) else ())], n_bins=min(max(n_models, 5), 20)),
        title="Difficulty of the items",
        caption=Caption(len(success), "items", None, "a count of items by their mean score over models"),
        x=Field("start", "Mean score over models", "0–1"),
        count=Field("count", "Items", "count"),
    )


def draw_discrimination(table: ItemTable) -> Chart:
    """The items with the lowest discrimination, with intervals."""
    known = table.items.filter(pl.col("discrimination").is_not_null()).sort("discrimination", "task").head(30)
    rows = known.select(
        pl.col("task").alias("label"),
        pl.col("discrimination").alias("value"),
        pl.col("discrimination_low").alias("low"),
        pl.col("discrimination_high").alias("high"),
        pl.when(pl.col("is_suspect")).then(pl.lit("check the key")).otherwise(pl.lit("not significant")).alias("group"),
    )
    return interval_plot(
        rows,
        title="Items that better models solve less often",
        caption=Caption(
            int(table.items["n_models"].to_numpy().max()),
            "models at most",
            table.provenance.settings["level"],
            "per item, Fisher; the test is corrected for all items",
            f"The {len(known)} lowest of {len(table.items):,} items",
        ),
        label=Field("label", "Item"),
        value=Field("value", "Discrimination", "item–rest correlation"),
        group=Field("group", "Negative discrimination") if known["is_suspect"].any() else None,
        reference=Reference(0, "none"),
        is_sorted=False,
    )


def _left_out(rows: tuple[object, ...]) -> str:
    return f"The first {_MOST_ROWS} of {len(rows)} rows" if len(rows) > _MOST_ROWS else ""
