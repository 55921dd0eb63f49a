"""Sections on learning curves: how novices learn, which family suits, who leaves early."""

from __future__ import annotations

import polars as pl

from howsure.estimates import Estimate
from howsure.horizon.learning_curves.curves import REASONS, LearningCurves, TaskCurve
from howsure.horizon.learning_curves.families import FAMILIES
from howsure.horizon.learning_curves.held_out_learners import HeldOutLearners
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, KeyNumbers, Method, Section, TableBlock, Text

__all__ = ["curves_sections", "learners_sections"]


def curves_sections(curves: LearningCurves) -> list[Section]:
    """The curves, the contest of families where there was one, and attrition."""
    charts = {name: ChartBlock(chart) for name, chart in curves.charts().items()}
    sections = [_curves_section(curves, charts["curves"])]
    sections += [_families_section(curves, charts["family_wins"])] if "family_wins" in charts else []
    return [*sections, _refinement_section(curves), _attrition_section(curves, charts["attrition"])]


def _refinement_section(curves: LearningCurves) -> Section:
    dropped = curves.refinement.filter(pl.col("verdict") != "keep")
    n_kept = len(curves.refinement) - len(dropped)
    blocks: list[Block] = [Text(f"{n_kept:,} of {len(curves.refinement):,} tasks can be kept as they are.")]
    if len(dropped):
        rows: list[list[Cell]] = [
            [row["task"], row["verdict"], row["reason"], row["first"], row["last"], row["discrimination"]]
            for row in dropped.rows(named=True)
        ]
        columns = ["Task", "Verdict", "Reason", "First attempt", "Last attempt", "Discrimination"]
        told = "; ".join(f"{reason}: {words}" for reason, words in REASONS.items() if reason in set(dropped["reason"]))
        blocks += [
            TableBlock(columns, rows, "One row per task that is not kept."),
            Text(f"{told[0].upper()}{told[1:]}."),
        ]
    return Section("Which tasks to keep?", [*blocks, Download("refinement.csv", csv_text(curves.refinement))])


def learners_sections(found: HeldOutLearners) -> list[Section]:
    """How well each model predicts learners whom it has not seen."""
    level = float(found.provenance.settings["level"])
    rows: list[list[Cell]] = [
        [
            row["predictor"],
            Estimate(row["log_loss"], row["log_loss_low"], row["log_loss_high"], level),
            ""
            if row["difference_low"] is None
            else Estimate(row["difference"], row["difference_low"], row["difference_high"], level),
            row["calibration_slope"],
        ]
        for row in found.scores.sort("log_loss").rows(named=True)
    ]
    blocks: list[Block] = [
        Text(
            f"The model “{found.best}” has the smallest log-loss. {found.n_answers:,} answers of {found.n_learners:,} learners to {found.n_tasks:,} tasks were predicted."
        ),
        ChartBlock(found.charts()["learners"]),
        TableBlock(
            ["Model", "Log-loss per answer", "Minus PFA + learner", "Calibration slope"],
            rows,
            "One row per model, the best first.",
        ),
        Method(_LEARNERS),
        Download("learners.csv", csv_text(found.scores)),
    ]
    return [Section("Which model predicts new learners?", blocks)]


_LEARNERS = (
    "Learners are divided into folds. Each model is fitted to the learners of the other folds and predicts each answer of a held-out learner from the learner's earlier answers; "
    "learner effects are updated by the learner's answers at other tasks, in the order of their names. Constant: each task's success rate. AFM: additive factors model. PFA: performance factors analysis. "
    "BKT: Bayesian knowledge tracing by task. The others are the learning model: task, learner and course effects, without learning, with a slope over log n per task, with common steps per attempt, with both, and adaptive "
    "(also by successes, failures and the recent share of successes). Intervals are clustered by learner."
)


def _curves_section(curves: LearningCurves, chart: ChartBlock) -> Section:
    notes = [Text("\n\n".join(curves.provenance.notes))] if curves.provenance.notes else []
    targets = list(curves.rows[0].reach)
    columns = ["Task", "Curve", "First attempt", *(f"Attempts to {target:.0%}" for target in targets)]
    rows: list[list[Cell]] = [
        [curve.task, curve.family, curve.first, *(curve.reach[target] for target in targets), *_about(curve)]
        for curve in curves.rows
    ]
    columns += ["Same learner", "Learners", "Answers", "Thin"]
    blocks: list[Block] = [
        *notes,
        KeyNumbers({"Tasks": f"{len(curves.rows):,}", "Correlation of a learner's answers": curves.correlation}),
        chart,
        TableBlock(
            columns,
            rows,
            "One row per task. “<1” is above the level from the start, “>” after the last attempt observed.",
        ),
        Method(_METHOD.format(level=curves.level, replicates=curves.provenance.settings["n_replicates"])),
        Download("curves.csv", csv_text(curves.to_frame())),
        Download("curve_points.csv", csv_text(curves.points)),
    ]
    return Section("How do novices learn?", blocks)


def _about(curve: TaskCurve) -> list[Cell]:
    return [curve.correlation, curve.n_learners, curve.n_answers, "yes" if curve.is_thin else "no"]


_METHOD = (
    "Binomial likelihood for each task. Curves stay between 0 and 1. For a given rate, success on the first attempt and the asymptote have one best "
    "value each, so the search over the rate finds the global optimum. A task with fewer than 100 answers is thin and gets a weak prior: one learner with the average success over all tasks.\n\n"
    "Intervals of {level:.0%} come from {replicates} resamples of learners, each with all that learner's answers, and refits; where families compete, the family is chosen again in each resample. Percentiles are widened for few learners. The simultaneous band covers the whole curve, the pointwise interval a single attempt.\n\n"
    "The correlation of a learner's answers says how much learners differ beyond what task and attempt explain."
)


def _families_section(curves: LearningCurves, chart: ChartBlock) -> Section:
    told = ", ".join(f"{name} {share:.0%}" for name, share in curves.wins.items())
    rows: list[list[Cell]] = [
        [name, family.formula, ", ".join(family.parameters) or "one level per attempt", curves.wins.get(name)]
        for name, family in FAMILIES.items()
    ]
    table = TableBlock(["Family", "Formula", "Parameters", "Share won"], rows, "One row per family.")
    method = (
        "AIC = 2 k − 2 log L with k parameters; the smallest is chosen. AIC takes answers as independent; answers of one learner are not, so small "
        "differences decide little. The isotonic curve is not a candidate."
    )
    download = Download("families.csv", csv_text(curves.families))
    return Section("Which family of curves fits?", [Text(f"Won: {told}."), chart, table, Method(method), download])


def _attrition_section(curves: LearningCurves, chart: ChartBlock) -> Section:
    found = curves.attrition.overall
    told = curves.attrition.warning or (
        "No warning: those who left early and those who stayed had similar success on their first attempt, or no learner left early."
    )
    numbers: dict[str, Estimate | str] = {
        "Leavers − stayers, first attempt": found.difference,
        "Left early": f"{found.n_leavers:,} of {found.n_leavers + found.n_stayers:,}",
    }
    method = (
        "An early leaver made fewer attempts at a task than its average learner. Leavers and stayers are compared within tasks, weighted by "
        "n_leavers · n_stayers / (n_leavers + n_stayers). A warning is given if the interval of the difference is beyond 5 percentage points. In the lower chart, the learners still present at an attempt are compared with all learners of the same tasks, by their first answers."
    )
    download = Download("attrition.csv", csv_text(curves.attrition.to_frame()))
    return Section("Who leaves early?", [Text(told), KeyNumbers(numbers), chart, Method(method), download])
