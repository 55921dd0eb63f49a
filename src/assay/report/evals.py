"""Sections on any eval: means, differences, plans."""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates import Estimate
from assay.evals.compare import Comparison
from assay.evals.power import Plan
from assay.evals.summary import ALL, Summary
from assay.report.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock, Text

__all__ = ["Truth", "comparison_section", "plan_section", "summary_section"]

Truth = Mapping[tuple[str, ...], float]
"""What a simulated world knows, by the labels of a row."""


def summary_section(summary: Summary, truth: Truth | None = None) -> Section:
    """Mean score of each subject; with `truth`, beside the planted values."""
    columns = ["Subject", "Tasks", "Mean", "Attempts", "Clusters", "Design effect"]
    cells: list[list[Cell]] = []
    for row in summary.rows:
        shown: list[Cell] = [row.subject, row.task, row.mean, row.n, row.n_clusters, row.design_effect]
        cells.append(shown + _planted(truth, (row.subject, row.task), row.mean))
    cluster = summary.provenance.settings["cluster"]
    method = (
        f"Mean over attempts. Attempts of one {cluster} are not independent, so the standard error adds up whole "
        f"clusters: se² = G/(G−1) · Σ (total − n·mean)² / n². The interval is Wilson's with the effective number of "
        "attempts that this standard error implies, and stays between 0 and 1. The design effect is how many times "
        "larger the variance is than if all attempts were independent."
    )
    blocks: list[Block] = [
        ChartBlock(summary.chart()),
        TableBlock(columns + _planted_titles(truth), cells, "Mean score of each subject, with interval."),
        Method(method),
        Download("summary.csv", summary.to_frame().write_csv()),
    ]
    return Section("How well did each do?", blocks)


def comparison_section(comparison: Comparison, truth: Truth | None = None) -> Section:
    """Differences of all pairs; with `truth`, beside the planted values."""
    columns = ["A", "B", "Tasks", "A − B", "p, corrected", "P(A better)", "Shared tasks", "From repeats"]
    cells: list[list[Cell]] = []
    for pair in comparison.pairs:
        shown: list[Cell] = [
            pair.a,
            pair.b,
            pair.task,
            pair.difference,
            pair.p_adjusted,
            pair.p_better,
            pair.n_tasks,
            pair.from_repeats,
        ]
        cells.append(shown + _planted(truth, (pair.a, pair.b, pair.task), pair.difference))
    settings = comparison.provenance.settings
    method = (
        f"Paired by task: the mean of A's attempts minus the mean of B's on every task that both tried, with a t interval over "
        f"clusters ({settings['cluster']}). The p-value is McNemar's exact test for single right-or-wrong answers and a "
        f"sign-flip test of whole clusters otherwise, corrected for the number of pairs ({settings['correction']}). "
        "“From repeats” is the share of the squared standard error that more repeats would remove; the rest needs more tasks."
    )
    blocks: list[Block] = [
        ChartBlock(comparison.chart()),
        TableBlock(columns + _planted_titles(truth), cells, "Difference of each pair, with interval."),
        Method(method),
        Download("compare.csv", comparison.to_frame().write_csv()),
    ]
    return Section("Who is better?", blocks)


def plan_section(plan: Plan) -> Section:
    """What a next eval needs."""
    cells = [[row.epochs, row.items_needed, row.attempts_needed] for row in plan.rows]
    text = (
        f"To see a true difference of {plan.effect:g} with {plan.wanted_power:.0%} power, a comparison on the same items needs "
        f"{plan.rows[0].items_needed:,} items with one try each, or {plan.rows[-1].items_needed:,} with {plan.rows[-1].epochs} tries."
    )
    method = (
        "se² = (ω² + σ²_A/K + σ²_B/K)/n · (1 + (m−1)ρ), after Miller (2024); power by the noncentral t distribution."
    )
    caption = "Items needed for each number of tries a model has at an item."
    table = TableBlock(["Tries at an item", "Items needed", "Tries in all"], cells, caption)
    return Section("What would a next eval need?", [Text(text), ChartBlock(plan.chart()), table, Method(method)])


def _planted(truth: Truth | None, labels: tuple[str, ...], estimate: Estimate) -> list[Cell]:
    if truth is None:
        return []
    value = truth.get(labels, truth.get((*labels[:-1], ALL)))
    return [value, None if value is None else "yes" if estimate.covers(value) else "no"]


def _planted_titles(truth: Truth | None) -> list[str]:
    return [] if truth is None else ["Planted truth", "Covered"]
