"""Sections on time horizons: how long, how fast it doubles, whose is longer."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from howsure.estimates import Estimate, chance
from howsure.horizon.time_horizon.comparison import compare_horizons
from howsure.horizon.time_horizon.durations import duration, times, told
from howsure.horizon.time_horizon.sensitivity import FACTORS
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock, Text
from howsure.results.leading import with_lead

if TYPE_CHECKING:
    import polars as pl

    from howsure.horizon.time_horizon.budgets import BudgetHorizons
    from howsure.horizon.time_horizon.comparison import HorizonComparison
    from howsure.horizon.time_horizon.doubling import HorizonTrend
    from howsure.horizon.time_horizon.forecasting import HorizonForecast
    from howsure.horizon.time_horizon.held_out import HeldOutRuns
    from howsure.horizon.time_horizon.horizons import TimeHorizons
    from howsure.horizon.time_horizon.people_times import BaselinePlan
    from howsure.horizon.time_horizon.sensitivity import Sensitivity

__all__ = [
    "BOUNDS",
    "COVARIATES",
    "JOINT",
    "amount",
    "baseline_sections",
    "bounds_rows",
    "budget_sections",
    "comparison_sections",
    "covariate_rows",
    "domain_tables",
    "forecast_sections",
    "held_out_sections",
    "joint_rows",
    "row_estimate",
    "time_sections",
    "trend_sections",
    "when",
]

_METHOD = (
    "P(success) = σ(intercept + slope · log2 minutes), one curve per model, by weighted maximum likelihood with the penalty ½ · {regularisation:g} · slope². "
    "Weights: {weights}. The horizon at success rate q is 2^((logit q − intercept)/slope) minutes.\n\n"
    "{resample} Without "
    "any success the horizon is below the shortest task, without failure above the longest.\n\n"
    "The horizon is the length of tasks in this collection at which the model succeeds at this rate, not a time that the model works. It depends on how minutes were measured, on the choice of tasks "
    "and, outside the range of task lengths, on the shape of the curve."
)
_JOINT = (
    "logit P(success) = ability + slope · log2 minutes + {covariates}task + family + model at task, for all models and tasks at once. Effects of tasks, families and of one model at one task are normal with "
    "variances that the data determine (half-t priors); slopes are normal around a common mean. {noise} The posterior is drawn by Gibbs sampling with Pólya–Gamma weights, {n_replicates:,} draws; "
    "{level:.0%} intervals are its quantiles.\n\n"
    "The horizon is marginal: the length at which the average over tasks of that length equals the success rate. The table of typical horizons has those of a task of typical difficulty. "
    "Both agree at one half and differ elsewhere."
)
_UNMOVED = 0.005  # of a horizon: less than the digits that are shown
_WEIGHTS = {
    "invsqrt": "a run counts 1/(runs of its task · √tasks of its family)",
    "task": "every task has the same weight",
    "equal": "every run has the same weight",
}
_RESAMPLE = {
    "hierarchy": "{level:.0%} intervals are the middle of {n_replicates:,} refits, in which families of tasks are drawn with replacement, then tasks within them, then runs of each task. That counts the sampling error of tasks and runs twice, so the intervals are somewhat too wide. A replicate in which success does not fall with length has no horizon: it counts beyond both ends of the interval.",
    "families": "A {level:.0%} interval contains the lengths at which a test does not reject that the success rate equals q. The test uses the covariance of intercept and slope from a jackknife, in which each family of tasks is left out (one Newton step), and the t distribution with (effective families − 1) degrees of freedom: (Σs)²/Σs², where s is a family's share of the information on this model's curve. A limit is open if a slope of 0 is not rejected, or if without one family there is no success, no failure or no falling slope. With fewer than 4 effective families there is no interval. Comparisons use {n_replicates:,} refits to families drawn with replacement.",
}


BOUNDS = "Unknown: share of runs whose outcome is not known. Without sampling error; the intervals of the horizons include both ends."


def bounds_rows(found: TimeHorizons) -> tuple[list[str], list[list[Cell]]]:
    """What the unknown outcomes of runs that were cut could make of the horizons: columns and rows, in the order of the horizons."""
    by_key = {(row["model"], row["success_rate"]): row for row in found.tables["bounds"].rows(named=True)}

    def between(model: str, rate: float) -> str:
        if found.minutes(model, rate).state != "ok":
            return "–"
        ends = [by_key[model, rate][name] for name in ("minutes_least", "minutes_most")]
        return " to ".join("open" if end is None else duration(end) for end in ends)

    rates = found.success_rates
    rows: list[list[Cell]] = [
        [
            fit.model,
            f"{by_key[fit.model, rates[0]]['share_unknown']:.0%}",
            *(between(fit.model, rate) for rate in rates),
        ]
        for fit in found.ranked
    ]
    return ["model", "unknown", *(f"{100 * rate:g} % horizon" for rate in rates)], rows


JOINT = "Horizons by the joint model, which shares tasks and slopes among all models: for models whose own curve is determined by fewer than 4 effective families."


def joint_rows(joint: pl.DataFrame, level: float, spending: str = "") -> tuple[list[str], list[list[Cell]]]:
    """Horizons of the joint model beside those of logistic curves, with the budget where they have one: columns and rows."""
    rows: list[list[Cell]] = [
        [row["model"], *([amount(row["budget"], spending)] if spending else []), f"{100 * row['success_rate']:g} %", told(row_estimate(row, level))]
        for row in joint.rows(named=True)
    ]  # fmt: skip
    budget = [f"budget ({spending})"] if spending else []
    return ["model", *budget, "success rate", f"horizon, joint model [{level:.0%}]"], rows


COVARIATES = "Effect of one unit of the covariate, the same for all models. Doublings: the change of task length with the same effect (negative: shorter)."


def covariate_rows(found: TimeHorizons) -> tuple[list[str], list[list[Cell]]]:
    """The effects of covariates of tasks: columns and rows."""
    rows: list[list[Cell]] = [
        [
            row["covariate"],
            *(told(row_estimate(row, found.level, name), _signed) for name in ("log_odds", "doublings")),
            f"{row['mean']:.3g} ± {row['sd']:.3g}",
        ]
        for row in found.tables["covariates"].rows(named=True)
    ]
    level = f"[{found.level:.0%}]"
    return ["covariate", f"log-odds of success {level}", f"doublings {level}", "mean ± SD of tasks"], rows


def time_sections(found: TimeHorizons) -> list[Section]:
    """Horizons with curves and replicates, and what they are sensitive to."""
    charts = found.charts()
    settings = found.provenance.settings
    method = _METHOD.format(
        weights=_WEIGHTS[settings["weights"]],
        regularisation=settings["regularisation"],
        resample=_RESAMPLE[settings["resample"]].format(level=settings["level"], n_replicates=settings["n_replicates"]),
    )
    if found.joint is not None:
        noise = settings["minutes_noise"] or 0
        said = (
            f"Human times have a stated error of {noise:g} doublings." if noise else "Human times are taken as exact."
        )
        told_of = "".join(f"effect · {name} + " for name in settings.get("covariates", ()))
        method = _JOINT.format(
            covariates=told_of, noise=said, n_replicates=settings["n_replicates"], level=settings["level"]
        )
    own = [ChartBlock(chart) for name, chart in charts.items() if name != "sensitivity"]
    blocks: list[Block] = [
        Text(_summary(found)),
        own[0],
        _horizons(found),
        *([] if found.beside is None else [TableBlock(*joint_rows(found.beside, found.level), JOINT)]),
        *own[1:],
        *([] if found.data.cut is None else [TableBlock(*bounds_rows(found), BOUNDS)]),
        *([] if found.joint is None else _typical(found)),
        Method(method),
        Download("time_horizons.csv", csv_text(found.to_frame())),
    ]
    rate = found.success_rates[0]
    rows = [(model, found.minutes(model, rate)) for model in found.models]
    headline = Section("Time horizons: how long are the tasks that each model can do?", blocks)
    p_longer, ahead = (partial(_p_longer, found), partial(_ahead, found)) if found.drawn else (None, None)
    what = f"{100 * rate:g} % time horizon in minutes"
    sections = [with_lead(headline, what, rows, p_greater=p_longer, advantage=ahead)]
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
        "log2 minutes = a + b · days by least squares over the frontier at release; the doubling time is 1/b. Its interval is the inverse of that of b. The scatter of models around a trend comes from a "
        "jackknife over all models, in which the frontier is chosen again without each. Where the horizons have replicates or intervals, "
        "the variance of b over them is added: it includes the errors that models share through the same tasks. The interval does not say whether the trend will continue."
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
    by_domain = [TableBlock(columns, own, caption) for _, columns, own, caption in domain_tables(found)]
    blocks: list[Block] = [Text(text), *charts, table, *by_domain, Method(method), download]
    return [
        Section(
            "How fast do horizons double?",
            blocks,
            found=[f"The longest time horizon doubles in {found.doubling_text}."],
        )
    ]


def domain_tables(found: HorizonTrend) -> list[tuple[str, list[str], list[list[Cell]], str]]:
    """The trends by domain and the differences between domains: title, columns, rows and caption of each table."""
    if found.domains is None or found.differences is None:
        return []
    level = found.doubling.level
    rows: list[list[Cell]] = [
        [row["domain"], told(row_estimate(row, level, "doubling_days"), _days), _growth(row, "per_year", ".2f"), row["n_frontier"]]
        for row in found.domains.rows(named=True)
    ]  # fmt: skip
    pairs: list[list[Cell]] = [
        [row["a"], row["b"], _growth(row, "difference", "+.2f")] for row in found.differences.rows(named=True)
    ]
    interval = f"[{level:.0%}]"
    return [
        ("The trend by domain", ["domain", f"doubling time, days {interval}", f"doublings per year {interval}", "models of the frontier"], rows,
         "Horizons on the tasks of each domain alone, and the frontier of each."),
        ("Differences between domains", ["a", "b", f"a − b, doublings per year {interval}"], pairs,
         "The jackknife excludes a model from both lines at once, so errors that they share cancel. The intervals are not corrected for the number of pairs."),
    ]  # fmt: skip


def _growth(row: Mapping[str, Any], name: str, form: str) -> str:
    """Doublings per year with their interval, whose ends may be open to both sides."""
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return str(row[f"{name}_state"]).replace("_", " ")
    ends = "−∞" if low is None else format(low, form), "∞" if high is None else format(high, form)
    return f"{format(value, form)} [{ends[0]}, {ends[1]}]"


def _days(value: float) -> str:
    return f"{value:,.0f}"


def _signed(value: float) -> str:
    return f"{value:+.2f}"


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
        "Both models are fitted to the same drawn families and tasks in every replicate, so errors that they share cancel. P is the share of replicates in which the first horizon is the "
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
        "that no model's runs were fitted at. A model with task effects is better on cells; families test whether success can be predicted from length alone, as a horizon assumes."
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


def budget_sections(found: BudgetHorizons) -> list[Section]:
    """Horizons by budget."""
    text = "\n\n".join([
        f"{found.n_runs:,} runs, of which {found.n_cut:,} were cut at a limit. With a larger budget the success rate, and with it the horizon, cannot fall.",
        *found.provenance.notes,
    ])  # fmt: skip
    method = (
        "With a budget b, a run has succeeded where it ended with a correct answer after spending at most b. A run that ended by itself with a wrong answer fails at every larger budget. "
        "A run that was cut at a limit below b is censored: its weight goes to the runs of the same model and task that spent more (Aalen–Johansen). Where there are none, the outcome is unknown: the "
        "estimate counts it as a failure, and the interval allows for the case that all such runs succeed."
    )
    rows: list[list[Cell]] = [
        [row["model"], amount(row["budget"], found.spending), f"{100 * row['success_rate']:g} %", told(row_estimate(row, found.level)),
         row["success"], f"{row['share_unknown']:.0%}"]
        for row in found.rows.rows(named=True)
    ]  # fmt: skip
    columns = ["Model", f"Budget ({found.spending})", "Success rate", "Horizon", "Success within the budget", "Unknown"]
    table = TableBlock(columns, rows, f"Horizons with {found.level:.0%} intervals.")
    joint = [] if found.beside is None else [TableBlock(*joint_rows(found.beside, found.level, found.spending), JOINT)]
    charts = [ChartBlock(chart) for chart in found.charts().values()]
    download = Download("horizon_by_budget.csv", csv_text(found.to_frame()))
    return [
        Section(
            "How does the horizon grow with the budget?", [Text(text), *charts, table, *joint, Method(method), download]
        )
    ]


def row_estimate(row: Mapping[str, Any], level: float, name: str = "minutes") -> Estimate:
    """The estimate whose columns a row has; without states of its ends, one that is missing is open."""
    ends = {end: row[f"{name}_{end}"] for end in ("low", "high")}
    has_any = row[f"{name}_state"] == "ok"
    states: dict[str, Any] = {
        f"{end}_state": row.get(f"{name}_{end}_state", "unbounded") if has_any and number is None else "ok"
        for end, number in ends.items()
    }
    return Estimate(row[name], ends["low"], ends["high"], level, row[f"{name}_state"], **states)


def when(row: Mapping[str, Any]) -> str:
    """A date with its interval, by month."""
    if row.get("is_reached"):
        return f"reached on {row['date']}"
    shown = [f"{one:%Y-%m}" if one else "later" for one in (row["date"], row["date_low"], row["date_high"])]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def forecast_sections(found: HorizonForecast) -> list[Section]:
    """When the frontier reaches a length."""
    n, total = found.past_coverage
    first = found.reached.row(0, named=True)
    text = (
        f"The {100 * found.success_rate:g} % horizon of the frontier reaches {duration(first['minutes'])} of working time at {when(first)} ({found.level:.0%} interval). "
        f"In the back-test, {n} of {total} records lie in the interval that the models before them gave.\n\n"
        + "\n\n".join(found.provenance.notes)
    )
    method = (
        "log2 minutes of the models at the frontier are regressed on functions of their release: a line; a line with a break; a parabola that accelerates; growth that saturates. Each shape is fitted to the "
        "models before each record and predicts it. Weights of the shapes are proportional to the product of their predictive densities. Dates come from draws of the coefficients (t distributions) that are "
        "moved by the horizons' own errors. Lengths are working time: a month has 167 hours. The weights are chosen by the same back-test that is shown, so its coverage is somewhat optimistic. The interval assumes that one of these shapes continues."
    )
    reached: list[list[Cell]] = [[duration(row["minutes"]), when(row)] for row in found.reached.rows(named=True)]
    shapes: list[list[Cell]] = [
        [row["shape"], row["weight"], row["log_density"], row["error"], when(row)]
        for row in found.shapes.rows(named=True)
    ]
    past: list[list[Cell]] = [
        [row["date"], row["n_before"], told(row_estimate(row, found.level, "predicted")), duration(row["minutes"]), "yes" if row["is_covered"] else "no"]
        for row in found.backtest.rows(named=True)
    ]  # fmt: skip
    length = duration(first["minutes"])
    blocks: list[Block] = [
        Text(text),
        *(ChartBlock(chart) for chart in found.charts().values()),
        TableBlock(["Length", "Date"], reached, f"When lengths are reached, with {found.level:.0%} intervals."),
        TableBlock(
            ["Shape", "Weight", "Log density", "Error (doublings)", f"{length} reached"], shapes, "Shapes of growth."
        ),
        TableBlock(["Record", "Models before", "Predicted", "Came", "Covered"], past, "The back-test."),
        Method(method),
        Download("horizon_forecast.csv", csv_text(found.to_frame())),
    ]
    said = f"A {100 * found.success_rate:g} % time horizon of {length} is reached at {when(first)}, if one of the past shapes of growth continues."
    return [Section("When will the horizon reach a length?", blocks, found=[said])]


def amount(budget: float, spending: str) -> str:
    """A budget as people say it: 2 M tokens, $0.5, 30 min."""
    if spending == "seconds":
        return duration(budget / 60)
    if spending == "cost":
        return f"${budget:,.2g}" if budget < 100 else f"${budget:,.0f}"
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if budget >= size:
            return f"{budget / size:.3g}{unit}"
    return f"{budget:g}"


def baseline_sections(found: BaselinePlan) -> list[Section]:
    """Whose times to measure next."""
    last = found.steps.row(-1, named=True)
    text = (
        f"The time of one person differs from the task's by {found.spread} doublings (standard deviation). {last['n_more']:,} more times, at the tasks below, would make the "
        f"intervals of the horizons {last['factor']:.2f} times as wide as now.\n\n"
        + "\n\n".join(found.provenance.notes)
    )
    steps: list[list[Cell]] = [list(row) for row in found.steps.rows()]
    tasks: list[list[Cell]] = [list(row) for row in found.tasks.rows()]
    method = (
        "The error of a task's human time, of variance s²/n for n people, moves a horizon by its derivative with respect to the task's length. People are assigned one after another to "
        "the task at which one more removes most of the variance, on average over models and success rates. The interval of the horizons includes this error already, as part of how families of tasks scatter."
    )
    return [
        Section(
            "How many more human times are needed, and for which tasks?",
            [
                Text(text),
                TableBlock(["More times", "From human times", "All errors", "Width relative to now"], steps, "Standard deviation of log2 horizons, in doublings."),
                TableBlock(["Task", "Minutes", "Times so far", "More", "Share removed"], tasks, "Where to measure, and the share of the variance from human times that is removed."),
                Method(method),
                Download("baseline_plan.csv", csv_text(found.to_frame())),
            ],
        )
    ]  # fmt: skip


def _summary(found: TimeHorizons) -> str:
    counts = found.data.counts
    n_families = int(counts.family.max()) + 1
    text = f"{int(counts.n.sum()):,} runs of {len(found.models)} models at {len(counts.tasks):,} tasks in {n_families:,} families."
    return "\n\n".join([text, *found.provenance.notes])


def _p_longer(found: TimeHorizons, a: str, b: str) -> float | None:
    """The probability that A's horizon is the longer, at the first success rate."""
    return compare_horizons(found, a, b).rows[0].p_a_greater


def _ahead(found: TimeHorizons, a: str, b: str) -> str | None:
    """How many times as long A's horizon is, at the first success rate."""
    ratio = compare_horizons(found, a, b).rows[0].ratio
    return None if ratio.low is None else f"Ratio: {told(ratio, times)}"


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
        *([TableBlock(*covariate_rows(found), COVARIATES)] if "covariates" in found.tables else []),
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
    if abs(most.ratio - 1) < _UNMOVED:
        return f"{factor.capitalize()} ({FACTORS[factor]}): moves no {100 * success_rate:g} % horizon."
    return f"{factor.capitalize()} ({FACTORS[factor]}): moves the {100 * success_rate:g} % horizon most for {most.model}, {times(most.ratio)} at {most.setting}."


def _download(shaken: Sensitivity) -> Download:
    return Download("sensitivity.csv", csv_text(shaken.to_frame()))
