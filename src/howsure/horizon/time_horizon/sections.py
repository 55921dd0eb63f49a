"""Sections on time horizons: how long, how fast it doubles, whose is longer."""

from __future__ import annotations

import itertools
from functools import partial

from howsure.estimates import chance
from howsure.horizon.time_horizon.comparison import HorizonComparison, compare_horizons
from howsure.horizon.time_horizon.doubling import HorizonTrend
from howsure.horizon.time_horizon.durations import duration, times, told
from howsure.horizon.time_horizon.held_out import HeldOutRuns
from howsure.horizon.time_horizon.horizons import TimeHorizons
from howsure.horizon.time_horizon.sensitivity import FACTORS, Sensitivity
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock, Text
from howsure.results.leading import with_lead

__all__ = ["comparison_sections", "held_out_sections", "time_sections", "trend_sections"]

_METHOD = (
    "P(success) = σ(intercept + slope · log2 minutes), one curve per model, by weighted maximum likelihood with the penalty ½ · {regularisation:g} · slope². "
    "Weights: {weights}. The horizon at success rate q is 2^((logit q − intercept)/slope) minutes.\n\n"
    "{level:.0%} intervals are the middle of {n_replicates:,} refits. {resample} A replicate in which success does not fall with length has no horizon: it counts beyond both ends of the interval. Without "
    "any success the horizon is below the shortest task, without failure above the longest.\n\n"
    "The horizon is a length of task in this collection at which success is so likely, not a time that the model works. It moves with how minutes were measured, with which tasks were chosen "
    "and, far from the tasks' own lengths, with the shape of the curve."
)
_JOINT = (
    "logit P(success) = ability + slope · log2 minutes + task + family + model at task, for all models and tasks at once. Effects of tasks, families and of one model at one task are normal with "
    "variances that the data determine (half-t priors); slopes are normal around a common mean. {noise} The posterior is drawn by Gibbs sampling with Pólya–Gamma weights, {n_replicates:,} draws; "
    "{level:.0%} intervals are its quantiles.\n\n"
    "The horizon is marginal: the length at which the average over tasks of that length equals the success rate. The table of typical horizons has those of a task of typical difficulty. "
    "Both agree at one half and differ elsewhere."
)
_WEIGHTS = {
    "invsqrt": "a run counts 1/(runs of its task · √tasks of its family)",
    "task": "every task has the same weight",
    "equal": "every run has the same weight",
}
_RESAMPLE = {
    "hierarchy": "Families of tasks are drawn with replacement, then tasks within them, then runs of each task. That counts the sampling error of tasks and runs twice, so the intervals are somewhat too wide.",
    "families": "Families of tasks are drawn with replacement, with all their tasks and runs; quantiles are widened for a small number of families.",
}


def time_sections(found: TimeHorizons) -> list[Section]:
    """Horizons with curves and replicates, and what they are sensitive to."""
    charts = found.charts()
    settings = found.provenance.settings
    method = _METHOD.format(
        weights=_WEIGHTS[settings["weights"]],
        level=settings["level"],
        regularisation=settings["regularisation"],
        n_replicates=settings["n_replicates"],
        resample=_RESAMPLE[settings["resample"]],
    )
    if found.joint is not None:
        noise = settings["minutes_noise"] or 0
        said = (
            f"Human times have a stated error of {noise:g} doublings." if noise else "Human times are taken as exact."
        )
        method = _JOINT.format(noise=said, n_replicates=settings["n_replicates"], level=settings["level"])
    own = [ChartBlock(chart) for name, chart in charts.items() if name != "sensitivity"]
    blocks: list[Block] = [
        Text(_summary(found)),
        own[0],
        _horizons(found),
        *own[1:],
        *([] if found.joint is None else _typical(found)),
        Method(method),
        Download("time_horizons.csv", csv_text(found.to_frame())),
    ]
    rate = found.success_rates[0]
    rows = [(model, found.minutes(model, rate)) for model in found.models]
    headline = Section("Time horizons: how long are the tasks that each model can do?", blocks)
    p_longer = partial(_p_longer, found) if found.drawn else None
    sections = [with_lead(headline, f"{100 * rate:g} % time horizon in minutes", rows, p_greater=p_longer)]
    if "sensitivity" in charts:
        shaken: list[Block] = [
            Text(_sensitive_to(found)),
            ChartBlock(charts["sensitivity"]),
            _download(found.sensitivity),
        ]
        sections.append(Section("What are the horizons sensitive to?", shaken))
    return sections


def trend_sections(found: HorizonTrend) -> list[Section]:
    """How fast horizons double."""
    settings = found.provenance.settings
    since = f" from {settings['since']} on" if settings["since"] else ""
    text = (
        f"Over the {found.line.n} models that had the longest {100 * found.success_rate:g} % horizon on the day of their release{since}, the horizon doubles in {found.doubling_text} "
        f"(R² {found.line.r2 or 0:.2f}).\n\n" + "\n\n".join(found.provenance.notes)
    )
    method = (
        "log2 minutes = a + b · days by least squares over the frontier at release; the doubling time is 1/b. Its interval is the inverse of the t interval of b. Where the horizons have replicates, "
        "the variance of b over them is added: it includes the errors that models share through the same tasks. The points of a running maximum are not independent, so the interval is somewhat too narrow; "
        "and it does not say whether the trend will continue."
    )
    rows: list[list[Cell]] = [
        [row["model"], row["released"], duration(row["minutes"]), "yes" if row["is_used"] else "no"]
        for row in found.models.rows(named=True)
    ]
    table = TableBlock(
        ["Model", "Released", f"{100 * found.success_rate:g} % horizon", "In the trend"], rows, "Models by release."
    )
    charts = [ChartBlock(chart) for chart in found.charts().values()]
    download = Download("trend.csv", csv_text(found.to_frame()))
    blocks: list[Block] = [Text(text), *charts, table, Method(method), download]
    return [
        Section(
            "How fast do horizons double?",
            blocks,
            found=[f"The longest time horizon doubles in {found.doubling_text}."],
        )
    ]


def comparison_sections(found: HorizonComparison) -> list[Section]:
    """Whose tasks are longer."""
    rows: list[list[Cell]] = [
        [
            f"{100 * row.success_rate:g} %",
            *(told(row.a), told(row.b), told(row.ratio, times)),
            *(chance(row.p_a_greater), row.n_undefined),
        ]
        for row in found.rows
    ]
    columns = ["Success rate", found.a, found.b, "Ratio", f"P({found.a} longer)", "Replicates without ratio"]
    text = "\n\n".join([f"Both tried {found.n_shared_tasks:,} of the tasks.", *found.provenance.notes])
    method = (
        "Both models are fitted to the same drawn families and tasks in every replicate, so what the tasks have in common cancels. P is the share of replicates in which the first horizon is the "
        "longer, of those in which there is a ratio."
    )
    table = TableBlock(columns, rows, "Time horizons of both, with intervals.")
    charts = [ChartBlock(chart) for chart in found.charts().values()]
    download = Download("compare.csv", csv_text(found.to_frame()))
    return [Section("Which model has the longer time horizon?", [Text(text), table, *charts, Method(method), download])]


def held_out_sections(found: HeldOutRuns) -> list[Section]:
    """How well runs are predicted that were not fitted."""
    text = (
        f"{found.n_runs:,} runs in {found.provenance.settings['folds']} folds. Held-out cells are a model's runs at a task that other models tried; held-out families are tasks "
        "that no model's runs were fitted at. A model that knows tasks is better on cells; what a horizon claims is tested by families."
    )
    tables = [
        TableBlock(
            [name.replace("_", " ").capitalize() for name in table.columns],
            [list(row) for row in table.rows()],
            caption,
        )
        for table, caption in (
            (
                found.scores,
                "Log-loss per run (lower is better), mean expected and observed success, calibration slope (1 is calibrated).",
            ),
            (found.differences, "Differences in log-loss per run to the logistic curve, over families."),
        )
    ]
    return [Section("How well are held-out runs predicted?", [Text(text), *tables])]


def _summary(found: TimeHorizons) -> str:
    counts = found.data.counts
    n_families = int(counts.family.max()) + 1
    text = f"{int(counts.n.sum()):,} runs of {len(found.models)} models at {len(counts.tasks):,} tasks in {n_families:,} families."
    return "\n\n".join([text, *found.provenance.notes])


def _p_longer(found: TimeHorizons, a: str, b: str) -> float | None:
    """The probability that A's horizon is the longer, at the first success rate."""
    return compare_horizons(found, a, b).rows[0].p_a_greater


def _horizons(found: TimeHorizons) -> TableBlock:
    columns = [
        "Model",
        *(f"{100 * rate:g} %" for rate in found.success_rates),
        *([f"P(longer than the next, {100 * found.success_rates[0]:g} %)"] if found.drawn else []),
        "Slope",
        "Runs",
        "Tasks",
        "Success",
        "Without slope",
    ]
    rows: list[list[Cell]] = []
    followers = [fit.model for fit in found.ranked[1:]]
    for fit, follower in itertools.zip_longest(found.ranked, followers):
        facts: list[Cell] = [fit.slope, fit.n_runs, fit.n_tasks, fit.success, fit.outcomes.get("no slope", 0)]
        ahead: list[Cell] = [chance(_p_longer(found, fit.model, follower)) if follower else None] if found.drawn else []
        rows.append([fit.model, *map(told, fit.horizons.values()), *ahead, *facts])
    return TableBlock(
        columns, rows, f"Horizons with {found.level:.0%} intervals; the slope is in log-odds per doubling."
    )


def _typical(found: TimeHorizons) -> list[Block]:
    """The joint model's own tables: typical horizons, and how much tasks differ."""
    typical: list[list[Cell]] = [
        [fit.model, *(told(found.typical(fit.model, rate)) for rate in found.success_rates)] for fit in found.ranked
    ]
    spreads = found.tables["spreads"].select("effect", "spread", "spread_low", "spread_high")
    return [
        TableBlock(
            ["Model", *(f"{100 * rate:g} %" for rate in found.success_rates)],
            typical,
            "Horizons at a task of typical difficulty.",
        ),
        TableBlock(
            ["Effect", "Standard deviation", "Low", "High"],
            [list(row) for row in spreads.rows()],
            "How much tasks of the same length differ, in log-odds.",
        ),
    ]


def _sensitive_to(found: TimeHorizons) -> str:
    varied = {row.factor for row in found.sensitivity.rows}
    return "\n\n".join(
        _widest(found.sensitivity, factor, found.success_rates[0]) for factor in FACTORS if factor in varied
    )


def _widest(shaken: Sensitivity, factor: str, success_rate: float) -> str:
    most = shaken.widest(factor, success_rate)
    if most is None or most.ratio is None:
        return f"{factor.capitalize()}: no horizon to move."
    return f"{factor.capitalize()} ({FACTORS[factor]}): moves the {100 * success_rate:g} % horizon most for {most.model}, {times(most.ratio)} at {most.setting}."


def _download(shaken: Sensitivity) -> Download:
    return Download("sensitivity.csv", csv_text(shaken.to_frame()))
