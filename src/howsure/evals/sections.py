"""Sections on evals: means, differences, power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from howsure.estimates import Estimate, chance
from howsure.evals.comparison import Comparison
from howsure.evals.planning import PowerPlan
from howsure.evals.summaries import ALL, Summary
from howsure.outside_text import csv_text
from howsure.results.blocks import Cell, ChartBlock, Download, Method, Section, TableBlock, Text
from howsure.results.leading import with_lead

__all__ = ["Truth", "comparison_section", "power_section", "summary_section"]

Truth = Mapping[tuple[str, ...], float]
"""True values of simulated data, by the labels of a row."""


def summary_section(summary: Summary, truth: Truth | None = None) -> Section:
    """Mean score of each subject; with `truth`, beside the true (simulated) values."""
    rows: list[dict[str, Cell]] = [
        {
            "Subject": row.subject,
            "Tasks": row.task,
            "Mean": row.mean,
            "Attempts": row.n,
            "Items": row.n_items,
            "Clusters": row.n_clusters,
            "Design effect": row.design_effect,
            **_true_value(truth, (row.subject, row.task), row.mean),
        }
        for row in summary.rows
    ]
    cluster = summary.provenance.settings["cluster"]
    independent = (
        "Attempts are taken as independent" if cluster == "none" else f"Items of one {cluster} are not independent"
    )
    method = (
        "Mean of item means: every item counts once, with the mean of its attempts; over several evals, every eval that all "
        f"subjects tried counts once. {independent}, so the standard error is that of the totals of "
        "clusters: se² = G/(G−1) · Σ (total − n·mean)² / n² in an eval. The interval is Wilson's with the effective number of "
        "attempts that this standard error implies, and stays between 0 and 1. The design effect is the variance divided by the "
        "variance if all attempts were independent."
    )
    download = Download("summary.csv", csv_text(summary.to_frame()))
    table = _table(rows, "Mean score of each subject, with interval.")
    section = Section("How well did each model do?", [ChartBlock(summary.chart()), table, Method(method), download])
    groups = {row.task for row in summary.rows}
    headline = ALL if ALL in groups else next(iter(groups)) if len(groups) == 1 else None
    return with_lead(section, "Mean score", [(row.subject, row.mean) for row in summary.rows if row.task == headline])


def comparison_section(comparison: Comparison, truth: Truth | None = None) -> Section:
    """Differences of all pairs; with `truth`, beside the true (simulated) values."""
    rows: list[dict[str, Cell]] = [
        {
            "A": pair.a,
            "B": pair.b,
            "Tasks": pair.task,
            "A − B": pair.difference,
            "p, corrected": chance(pair.p_adjusted),
            "P(A > B)": chance(pair.p_a_greater),
            "Shared items": pair.n_items,
            "Within-item share": pair.within_item_share if pair.within_item_share.value is not None else None,
            **_true_value(truth, (pair.a, pair.b, pair.task), pair.difference),
        }
        for pair in comparison.pairs
    ]
    settings = comparison.provenance.settings
    method = (
        "Paired by item: the mean of A's attempts minus the mean of B's on every item that both tried, every item counting once, "
        "and over several evals every eval that all compared subjects tried counting once, with a t interval over "
        f"clusters ({settings['cluster']}). The p-value is McNemar's exact test for single right-or-wrong answers and a "
        f"sign-flip test of whole clusters otherwise, corrected for the number of pairs ({settings['correction']}). "
        "The within-item share is the share of the squared standard error that more repeats would remove; the rest needs more items."
    )
    download = Download("compare.csv", csv_text(comparison.to_frame()))
    table = _table(rows, "Difference of each pair, with interval.")
    sure = [
        pair for pair in comparison.pairs if pair.p_adjusted is not None and pair.p_adjusted < 1 - settings["level"]
    ]
    told = (
        f"{len(sure)} of {len(comparison.pairs)} differences between models are statistically significant "
        f"({settings['correction'].capitalize()}-corrected, {1 - settings['level']:.0%})."
    )
    return Section(
        "Which model is better?", [ChartBlock(comparison.chart()), table, Method(method), download], found=[told]
    )


def power_section(plan: PowerPlan) -> Section:
    """How many items and repeats the next eval needs."""
    cells = [[row.epochs, row.items_needed, row.attempts_needed] for row in plan.rows]
    text = (
        f"To detect a true difference of {plan.effect:g} with {plan.target_power:.0%} power, a comparison on the same items needs "
        f"{plan.rows[0].items_needed:,} items with one attempt each, or {plan.rows[-1].items_needed:,} with {plan.rows[-1].epochs} attempts each."
    )
    method = (
        "se² = (ω² + σ²_A/K + σ²_B/K)/n · (1 + (m−1)ρ), after Miller (2024); power by the noncentral t distribution. "
        + " ".join(plan.assumptions)
    )
    caption = "Items needed per number of attempts of each model at each item."
    table = TableBlock(["Attempts per item", "Items needed", "Attempts in total"], cells, caption)
    return Section(
        "How many items does the next eval need?", [Text(text), ChartBlock(plan.chart()), table, Method(method)]
    )


def _table(rows: Sequence[Mapping[str, Cell]], caption: str) -> TableBlock:
    """The rows as a table, without empty columns."""
    told = [name for name in rows[0] if any(row[name] not in (None, ALL) for row in rows)]
    return TableBlock(told, [[row[name] for name in told] for row in rows], caption)


def _true_value(truth: Truth | None, labels: tuple[str, ...], estimate: Estimate) -> dict[str, Cell]:
    value = None if truth is None else truth.get(labels)
    return {"True value": value, "Contained": None if value is None else "yes" if estimate.covers(value) else "no"}
