"""Sections on horizons in attempts: which attempt of a novice matches a model, and what a study needs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from howsure.estimates import chance
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, KeyNumbers, Method, Section, TableBlock, Text
from howsure.results.leading import with_lead

if TYPE_CHECKING:
    from howsure.horizon.attempt_horizon.horizons import AttemptHorizons, Horizon
    from howsure.horizon.attempt_horizon.study_size import StudySize

__all__ = ["PAIRS", "attempts_sections", "size_sections"]

PAIRS = "Pairs of models"
"""The title of the section that compares models two by two."""


def attempts_sections(found: AttemptHorizons, what: str = "Horizon in novice attempts") -> list[Section]:
    """The headline, groups of tasks, pairs, and how novices did; `what` names the horizon on a front page."""
    charts = {name: ChartBlock(chart) for name, chart in found.charts().items()}
    sections = [_headline_section(found, charts, what)]
    sections += [_groups_section(found)] if found.domains else []
    sections += [_pairs_section(found)] if found.pairs else []
    sections += [_practice_section(found, charts)] if found.practised else []
    sections.append(_difficulty_section(charts))
    if "released" in charts:
        sections.append(Section("Horizons by release date", [charts["released"], Text(_TREND)]))
    return [*sections, _novices_section(found, charts)]


def size_sections(found: StudySize) -> list[Section]:
    """What studies of several sizes would find."""
    best = found.cheapest
    told = (
        f"Of the designs that were tried, {best.n_learners} learners, each at {best.n_dealt} of {best.n_tasks} tasks, has the fewest answers with which a horizon of {found.horizon:g} attempts to ± {found.wanted:.0%}."
        if best
        else f"None of the designs gives a horizon of {found.horizon:g} attempts to ± {found.wanted:.0%}: try more learners, then more tasks."
    )
    rows: list[list[Cell]] = [[d.n_tasks, d.n_learners, d.n_dealt, d.n_answers, d.half_width] for d in found.designs]
    columns = ["Tasks", "Learners", "Tasks per learner", "Learners × tasks", "Half-width of the interval"]
    table = TableBlock(columns, rows, "One row per design; 0.2 means from n/1.2 to n·1.2.")
    charts = [ChartBlock(chart) for chart in found.charts().values()]
    download = Download("size.csv", csv_text(found.to_frame()))
    return [Section("How large must the study be?", [Text(told), *charts, table, Method(_SIZE), download])]


def _headline_section(found: AttemptHorizons, charts: dict[str, ChartBlock], what: str) -> Section:
    first = found.rows[0]
    notes = [Text("\n\n".join(found.provenance.notes))] if found.provenance.notes else []
    blocks: list[Block] = [
        Text(_MEANING),
        *notes,
        KeyNumbers(
            {f"{model}, {first.success_rate:.0%}": row.horizon for model, row in list(found.headline().items())[:6]}
        ),
        charts["crossing"],
        charts["horizons"],
        _table(found.rows, "Horizon in attempts of each model, with interval."),
        Method(_METHOD),
        Download("horizons.csv", csv_text(found.to_frame())),
    ]
    rows = [(model, row.horizon) for model, row in found.headline().items()]
    section = Section("Which attempt of a novice matches each model?", blocks)
    return with_lead(section, what, rows, p_greater=partial(_p_greater, found))


def _p_greater(found: AttemptHorizons, a: str, b: str) -> float | None:
    """The probability of the table of pairs, at the headline's definition and success rate."""
    first = found.rows[0]
    for pair in found.pairs:
        if (pair.definition, pair.success_rate) == (first.definition, first.success_rate) and {pair.a, pair.b} == {
            a,
            b,
        }:
            return pair.p_a_greater if pair.a == a or pair.p_a_greater is None else 1 - pair.p_a_greater
    return None


def _groups_section(found: AttemptHorizons) -> Section:
    table = _table(found.domains, "One row per group of tasks, model, definition and success rate.", is_grouped=True)
    return Section("By domain", [table, Download("domains.csv", csv_text(found.to_frame("domains")))])


def _pairs_section(found: AttemptHorizons) -> Section:
    rows: list[list[Cell]] = [
        [p.a, p.b, p.definition, f"{p.success_rate:.0%}", p.ratio, chance(p.p_a_greater), p.n_tasks]
        for p in found.pairs
    ]
    columns = ["A", "B", "Definition", "Success rate", "A / B", "P(A > B)", "Shared tasks"]
    caption = "Over the same replicates: how many times as large A's horizon is, and the probability that it is larger."
    return Section(
        PAIRS, [TableBlock(columns, rows, caption), Download("pairs.csv", csv_text(found.to_frame("pairs")))]
    )


def _practice_section(found: AttemptHorizons, charts: dict[str, ChartBlock]) -> Section:
    rows: list[list[Cell]] = [[model, kind, n, row.success, row.horizon] for model, kind, n, row in found.practised]
    columns = ["Model", "Practice", "Seen before", "Success", "Horizon"]
    table = TableBlock(columns, rows, "One row per model and amount of practice; the pairs above have the ratios.")
    blocks: list[Block] = [Text(_PRACTICE), charts["practice"], charts["practice_horizons"], table]
    return Section("Learning of models", [*blocks, Download("practice.csv", csv_text(found.practice))])


def _difficulty_section(charts: dict[str, ChartBlock]) -> Section:
    return Section("Easy and hard tasks", [charts["by_difficulty"], charts["against_first"]])


def _novices_section(found: AttemptHorizons, charts: dict[str, ChartBlock]) -> Section:
    titles = {
        "attempt": "Attempt",
        "success": "Success",
        "success_low": "Low",
        "success_high": "High",
        "answers": "Answers",
    }
    table = TableBlock.of(found.novices, "Novices' success over all tasks, by attempt.", titles)
    blocks: list[Block] = [charts["curve_sample"], table, charts["difficulty"], charts["censoring"]]
    return Section("The novices", [*blocks, Download("tasks.csv", csv_text(found.tasks))])


def _table(rows: tuple[Horizon, ...], caption: str, *, is_grouped: bool = False) -> TableBlock:
    group = ["Tasks"] if is_grouped else []
    columns = [
        *group,
        "Model",
        "Definition",
        "Success rate",
        "Horizon",
        "Success",
        "Number of tasks",
        "Times novices' first",
    ]
    cells: list[list[Cell]] = [
        [
            *([row.group] if is_grouped else []),
            *(
                row.model,
                row.definition,
                f"{row.success_rate:.0%}",
                row.horizon,
                row.success,
                row.n_tasks,
                row.ratio_to_first,
            ),
        ]
        for row in rows
    ]
    return TableBlock(columns, cells, caption)


_MEANING = "A model with horizon n succeeds as often as novices on their n-th attempt at the same tasks. “< 1” means that it is worse than novices on their first attempt, “> N” that it is better than novices on the last observed attempt."
_METHOD = (
    "Matching: the smallest n at which novices' mean success over the tasks reaches the model's; their curve is made monotone and interpolated in log n. "
    "Regression: logistic regression of the model's success on log₂ of the number of attempts that half of the novices need; where this number is censored, the likelihood is integrated over it. "
    "IRT: logit P(n) = γ·ln n − d for novices and θ − d for the model, n = e^(θ/γ).\n\n"
    "The success rate is the model's: at 80 % n is the attempt on which half of the novices succeed at tasks where the model succeeds with 80 %, and never more "
    "than at 50 %. Matching divides the model's odds at each task by 4 for that.\n\n"
    "Intervals: families, tasks and learners are drawn with replacement, a task with all its runs and answers. Family and learner weights are damped to what these "
    "levels add of their own, so that no source of variation counts twice, and the quantiles are widened for few families, tasks or learners. Answers that learners did not give because they "
    "left a task early are predicted by a model of all learners and tasks, which is fitted again in every replicate."
)
_PRACTICE = "A model may learn within a conversation: from worked examples, or from earlier attempts at the task with feedback after each answer. The curves show how its success and its horizon grow with them, beside novices after as many attempts."
_TREND = "The line is through log₂ horizons of the models whose horizon lies within the novices' attempts; models outside are excluded, which flattens it."
_SIZE = (
    "Each design is simulated many times with new tasks and learners and a model whose true horizon is known. The standard deviation of log n* over these studies, times a t quantile "
    "for the smaller of the numbers of learners and tasks, is half of the interval's width."
)
