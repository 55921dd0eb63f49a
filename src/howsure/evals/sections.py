"""Sections on evals: means, differences, power."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from howsure.estimates import Estimate, State, chance
from howsure.evals.comparison import Comparison
from howsure.evals.gating import GateDecision, GateHistory
from howsure.evals.item_table import ItemTable
from howsure.evals.leaderboards import Leaderboard
from howsure.evals.overviews import LogOverview, claims_of
from howsure.evals.planning import PowerPlan
from howsure.evals.summaries import ALL, Summary
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock, Text
from howsure.results.leading import with_lead
from howsure.tables.outcomes import MISSING

__all__ = [
    "Truth",
    "comparison_section",
    "estimate_of",
    "gate_section",
    "history_section",
    "items_section",
    "leaderboard_section",
    "overview_sections",
    "power_section",
    "rank_text",
    "summary_section",
]

_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini–Hochberg"}
_MOST_ITEMS = 50  # rows of a table in the report; the download has all

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
            "Held equal": pair.held or None,
            **_true_value(truth, (pair.a, pair.b, pair.task), pair.difference),
        }
        for pair in comparison.pairs
    ]
    settings = comparison.provenance.settings
    method = (
        "Paired by item: the mean of A's attempts minus the mean of B's on every item that both tried, and every item counts once, "
        "and over several evals every eval that all compared subjects tried counts once, with a t interval over "
        f"clusters ({settings['cluster']}). The p-value is McNemar's exact test for single right-or-wrong answers and a "
        f"sign-flip test of whole clusters otherwise, corrected for the number of pairs ({_CORRECTIONS[settings['correction']]}). "
        "The within-item share is the share of the squared standard error that more repeats would remove; the rest can be reduced only by more items."
    )
    download = Download("compare.csv", csv_text(comparison.to_frame()))
    table = _table(rows, "Difference of each pair, with interval.")
    claims = claims_of(comparison, settings["level"])
    sure = [claim.sentence for claim in claims if claim.verdict == "supported"]
    unsure = [claim for claim in claims if claim.verdict != "supported"]
    told = (
        f"{len(sure)} of {len(claims)} differences between {_plural(settings.get('factor', 'model'))} are statistically significant "
        f"({settings['correction'].capitalize()}-corrected, {1 - settings['level']:.0%})."
    )
    title = (
        "Which model is better?"
        if settings.get("factor", "model") == "model"
        else f"Which {settings['factor']} is better?"
    )
    blocks: list[Block] = [
        ChartBlock(comparison.chart()),
        Text(comparison.statement),
        table,
        *_interaction_blocks(comparison),
        *_cost_blocks(comparison),
        Method(method),
        download,
    ]
    return Section(
        title,
        blocks,
        found=[told, *sure],
        unknown=[f"{claim.sentence} To decide: {claim.to_decide}." for claim in unsure],
        next_step=f"To decide between {unsure[0].a} and {unsure[0].b}: {unsure[0].to_decide}." if unsure else "",
    )


def _interaction_blocks(comparison: Comparison) -> list[Block]:
    """How much differences depend on other factors, where factors were crossed."""
    rows: list[dict[str, Cell]] = [
        {
            "Difference": f"{one.a1} − {one.a2}",
            "Depends on": f"{one.moderator}: {one.b1} − {one.b2}",
            "Held equal": one.held or None,
            "Interaction": one.interaction,
            "p, corrected": chance(one.p_adjusted),
            "Items": one.n_items,
        }
        for one in comparison.interactions
    ]
    return [_table(rows, "How much a difference depends on another factor; 0 means that it does not.")] if rows else []


def _cost_blocks(comparison: Comparison) -> list[Block]:
    """Scores beside money, time and tokens, where attempts say what they cost."""
    rows: list[dict[str, Cell]] = []
    for one in comparison.costs:
        spent = {
            "Cost": one.cost,
            "Seconds": one.seconds,
            "Tokens": one.tokens,
            "Cost per success": one.cost_per_success,
        }
        rows.append(
            {
                "Variant": one.name,
                "Held equal": one.held or None,
                "Score": one.score,
                **{title: amount if amount.value is not None else None for title, amount in spent.items()},
                "Efficient": "yes" if one.is_efficient else None,
            }
        )
    charts = [ChartBlock(chart) for name, chart in comparison.charts().items() if name == "pareto"]
    return [*charts, _table(rows, "Means per attempt, with intervals.")] if rows else []


def gate_section(gate: GateDecision) -> Section:
    """Whether the candidate may replace the base, eval by eval."""
    rows: list[dict[str, Cell]] = [
        {
            "Eval": row.eval,
            "Verdict": row.verdict,
            "Base": row.base,
            "Candidate": row.candidate,
            "Candidate − base": row.difference,
            "Margin": row.margin,
            "p (drop ≥ margin)": chance(row.p_ship),
            "p (no drop, Holm)": chance(row.p_block_adjusted),
            "Items": row.n_items,
            "Better": row.n_gains,
            "Worse": row.n_losses,
            "What would decide": row.advice or row.reason or None,
            "Method": row.method,
        }
        for row in gate.rows
    ]
    level = gate.provenance.settings["level"]
    method = (
        f"Paired by item. The ends of the difference are two one-sided limits of {level:.0%}. Ship: the lower limit is above −margin on every eval "
        "(intersection–union test, no correction needed). Block: the rule for ship is not met, and on one eval the upper limit is below 0 after Holm's correction. "
        "Single right-or-wrong answers: Tango's score limits, at least as wide as exact ones where fewer than 10 answers changed. Otherwise: a t "
        "limit over clusters with Hall's correction for skewness and half a cluster added at either end of the scale. What would decide: with a "
        "probability of 80 %, if candidate and base are equally good (or, where the estimate is below −margin, if it is the true difference)."
    )
    blocks: list[Block] = [
        Text(gate.sentence),
        ChartBlock(gate.chart()),
        _table(rows, "One row per eval."),
        Method(method),
    ]
    found = [gate.sentence] if gate.verdict != "cannot tell" else []
    unknown = [gate.sentence] if gate.verdict == "cannot tell" else []
    download = Download("gate.csv", csv_text(gate.to_frame()))
    return Section("May the candidate replace the base?", [*blocks, download], found=found, unknown=unknown)


def history_section(history: GateHistory) -> Section:
    """The candidates over commits."""
    rows: list[dict[str, Cell]] = [
        {
            "Run": row.position,
            "Time": row.time,
            "Commit": row.commit[:12] or None,
            "Eval": row.eval,
            "Verdict": row.verdict,
            "Candidate": row.candidate,
            "Candidate − base": row.difference,
        }
        for row in history.rows
    ]
    text = "Each line of the history includes the digest of the line before it; the chain is complete."
    return Section(
        "How did the candidates develop?",
        [ChartBlock(history.chart()), _table(rows, "One row per run and eval."), Text(text)],
    )


def power_section(plan: PowerPlan) -> Section:
    """How many items and repeats the next eval needs."""
    cells = [[row.attempts_per_item, row.items_needed, row.attempts_needed] for row in plan.rows]
    assurance = getattr(plan.design, "assurance", None)
    sure = f" with {assurance:.0%} confidence" if assurance else ""
    text = (
        f"To detect a true difference of {plan.effect:g} with {plan.target_power:.0%} power{sure}, a comparison on the same items needs "
        f"{plan.rows[0].items_needed:,} items with one attempt each, or {plan.rows[-1].items_needed:,} with {plan.rows[-1].attempts_per_item} attempts each."
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


def leaderboard_section(board: Leaderboard) -> Section:
    """Models in tiers, their rank intervals, and what would separate neighbours."""
    settings = board.provenance.settings
    rows: list[dict[str, Cell]] = [
        {
            "Model": place.subject,
            "Tier": place.tier,
            "Mean": place.mean,
            "Rank": rank_text(place.rank),
            "Rank, this model alone": rank_text(place.rank_marginal),
            "Items": place.n_items,
        }
        for place in board.places
    ]
    neighbours = [
        next(pair for pair in board.pairs if {pair.a, pair.b} == {first.subject, second.subject})
        for first, second in itertools.pairwise(board.places)
    ]
    pairs: list[dict[str, Cell]] = [
        {
            "A": pair.a,
            "B": pair.b,
            "A − B": pair.difference,
            "p, corrected": chance(pair.p_adjusted),
            "Separated": "yes" if pair.is_separated else "no",
            "Items needed": pair.items_needed,
            "Items": pair.n_items,
        }
        for pair in neighbours
    ]
    level, power = settings["level"], settings["power"]
    method = (
        f"All pairs of models are tested together by {board.method}, with the correction by the largest statistic of all pairs "
        f"(step-down, Romano and Wolf 2005): the probability of any wrong order is at most {1 - level:.0%}. Tier 1 contains the models "
        "that no model is significantly better than; tier 2 are those of the rest that no model of the rest is significantly "
        "better than; and so on. A rank interval runs from 1 + the number of significantly better models to the number of models − "
        "the number of significantly worse ones; the intervals in the column Rank contain all true ranks together, those of the "
        "last column are valid for one model alone. Items needed: items with which a test of this pair detects the observed difference with "
        f"{power:.0%} power, if the true difference is as observed; the interval comes from the interval of the difference. "
        f"Shown: {board.estimand}."
    )
    top = [place.subject for place in board.places if place.tier == 1]
    told = f"Tier 1, which contains the best model with {level:.0%} confidence: {len(top)} of {len(board.places)} models ({', '.join(top[:5])}{', …' if len(top) > 5 else ''})."
    blocks: list[Block] = [
        ChartBlock(board.chart()),
        _table(rows, "Models by mean score."),
        ChartBlock(board.chart("leaderboard_ranks")),
        _table(pairs, "Neighbouring models: items needed to separate them."),
        Method(method),
        *(Download(f"{name}.csv", csv_text(frame)) for name, frame in board.tables.items()),
    ]
    return Section("Which models differ significantly?", blocks, found=[told, board.separation])


def items_section(table: ItemTable) -> Section:
    """How saturated each eval is, where two models differ, and which keys to look at."""
    level = table.provenance.settings["level"]
    evals: list[dict[str, Cell]] = [
        {
            "Eval": row["eval"] or ALL,
            "Items": row["n_items"],
            "Highest mean": row["best_model"],
            "Mean": estimate_of(row, "best"),
            "Never solved": estimate_of(row, "never_solved"),
            "Always solved": estimate_of(row, "always_solved"),
            "Informative": estimate_of(row, "informative"),
        }
        for row in table.evals.iter_rows(named=True)
    ]
    flips: list[dict[str, Cell]] = [
        {
            "Eval": row["eval"] or None,
            "Item": row["task"],
            "Solved by": table.a if row["flip"] == "a" else table.b,
            table.a: row["score_a"],
            f"{table.b} ": row["score_b"],
            "Difference": estimate_of(row, "difference"),
            "Noise": estimate_of(row, "noise") if row["noise"] is not None else None,
        }
        for row in table.items.filter(table.items["flip"] != "").head(_MOST_ITEMS).iter_rows(named=True)
    ]
    suspects: list[dict[str, Cell]] = [
        {
            "Item": row["task"],
            "Success": estimate_of(row, "success"),
            "Discrimination": estimate_of(row, "discrimination"),
            "p, corrected": chance(row["p_adjusted"]),
        }
        for row in table.items.filter("is_suspect").sort("discrimination").head(_MOST_ITEMS).iter_rows(named=True)
    ]
    method = (
        "An item is solved by a model if the mean of its attempts is above 0.5; never (always) solved if no (every) attempt of any model "
        "scores above 0.5. Discrimination is the correlation over models of the score on the item with the mean on the other items of "
        "the eval, with Fisher's interval. Its one-sided p-value is the share of random orders of the models with a correlation as low, "
        f"corrected for the number of items (Benjamini–Hochberg, {1 - level:.0%}). A negative discrimination is a reason to look at "
        "the key, not a proof. Noise is the probability that two attempts of one model at the item disagree."
    )
    only_a, only_b = table.flips
    found = [
        f"{table.a} solves {only_a:,} items that {table.b} does not, and {table.b} solves {only_b:,} that {table.a} does not."
    ]
    if suspects:
        found.append(
            f"{int(table.items['is_suspect'].sum()):,} items are solved significantly less often by better models: look at their keys."
        )
    blocks: list[Block] = [ChartBlock(table.chart()), _table(evals, "Saturation of each eval.")]
    if flips:
        blocks.append(_table(flips, f"Items that only {table.a} or only {table.b} solves, the first {_MOST_ITEMS}."))
    if suspects:
        blocks += [
            ChartBlock(table.chart("items_discrimination")),
            _table(suspects, "Items whose key may be wrong, the most suspect first."),
        ]
    downloads = [Download(f"{name}.csv", csv_text(frame)) for name, frame in table.tables.items()]
    return Section("Which items?", [*blocks, Method(method), *downloads], found=found)


def overview_sections(overview: LogOverview) -> list[Section]:
    """The claims with their verdicts; what is in the logs; what to be careful about; means and differences in full."""
    level = overview.provenance.settings["level"]
    claims: list[dict[str, Cell]] = [
        {
            "Claim": f"{claim.a} is better than {claim.b}",
            "Tasks": claim.task,
            "Held equal": claim.held or None,
            "Verdict": claim.verdict,
            "Difference": claim.difference,
            "p, corrected": chance(claim.p_adjusted),
            "Items": claim.n_items,
            "Items that would decide": claim.items_needed if claim.verdict == "not decided" else None,
        }
        for claim in overview.claims
    ]
    contents: list[dict[str, Cell]] = [
        {
            "Model": row.subject,
            "Eval": row.eval,
            "Mean": row.mean,
            "Attempts": row.n,
            "Items": row.n_items,
            **{outcome.capitalize(): getattr(row, f"n_{outcome}") or None for outcome in MISSING},
            "Cost, dollars": row.cost,
            "Tokens": row.tokens,
        }
        for row in overview.contents
    ]
    warned: list[dict[str, Cell]] = [
        {"Kind": one.kind, "Warning": one.text, "What to do": one.advice} for one in overview.warnings
    ]
    method = (
        "Every pair gives one claim: that the one with the better mean is better. All claims are tested together and corrected with Holm's procedure, so "
        f"the probability that any supported claim is wrong is at most {1 - level:.0%}. The intervals of differences are not corrected. "
        "Items that would decide: for the planned power, at the level that Holm's procedure uses for the undecided claims, if the true difference is "
        "as observed."
    )
    factor = overview.comparison.provenance.settings["factor"] if overview.comparison else "model"
    headline = [ChartBlock(overview.chart())] if claims else []
    blocks: list[Block] = (
        [*headline, Text(f"Supported: {overview.tested}.")] if claims else [Text("There is nothing to compare.")]
    )
    if claims:
        blocks += [_table(claims, "One row per claim."), Method(method)]
    front = Section(
        "What may be claimed?",
        blocks,
        found=[*overview.standings, *(claim.sentence for claim in overview.supported)]
        if claims
        else overview.mean_lines,
        unknown=[f"{c.sentence} To decide: {c.to_decide}." for c in overview.undecided],
        question=f"Which {factor} is better?" if claims else "How well did each model do?",
        verdict="Supported" if claims else "Mean",
        caveat=overview.caveat,
        next_step=overview.next_step,
    )
    inside: list[Block] = [_table(contents, "One row per model and eval.")]
    sections = [front, Section("What is in the logs?", inside)]
    if warned:
        sections.append(Section("Warnings", [_table(warned, "The most serious first.")]))
    downloads = [Download(f"{name}.csv", csv_text(frame)) for name, frame in overview.tables.items()]
    means = summary_section(overview.means)
    return [*sections, Section(means.title, [*means.blocks, *downloads])]


def _plural(factor: str) -> str:
    return "models" if factor == "model" else f"values of {factor}"


def estimate_of(row: Mapping[str, Any], name: str) -> Estimate:
    """The estimate that a table's row holds in its columns ``name``, ``name_low``, ``name_high`` and ``name_state``."""
    state: State = row[f"{name}_state"] or "ok"
    return Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"], state=state)


def rank_text(rank: Estimate) -> str:
    """A rank with its interval, in whole numbers."""
    return f"{rank.value:.0f} [{rank.low:.0f}, {rank.high:.0f}]"


def _table(rows: Sequence[Mapping[str, Cell]], caption: str) -> TableBlock:
    """The rows as a table, without empty columns."""
    told = [name for name in rows[0] if any(row[name] not in (None, ALL) for row in rows)]
    return TableBlock(told, [[row[name] for name in told] for row in rows], caption)


def _true_value(truth: Truth | None, labels: tuple[str, ...], estimate: Estimate) -> dict[str, Cell]:
    value = None if truth is None else truth.get(labels)
    return {"True value": value, "Contained": None if value is None else "yes" if estimate.covers(value) else "no"}
