"""The tour as a page: estimates beside their true values, and how many intervals contain them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from howsure.charts import Caption, Field, estimate_rows, interval_plot
from howsure.outside_text import csv_text
from howsure.reporting.gathering import together
from howsure.results import Provenance
from howsure.results.blocks import Block, Cell, ChartBlock, Download, Report, Section, TableBlock, Text
from howsure.results.leading import with_lead
from howsure.tour.stops import KnownEstimate, TourStatistic, TourStop
from howsure.tour.world import NAMES

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart

__all__ = ["page_of", "report_of"]

_TITLE = "A tour of Howsure"
_FOUND, _PLANTED = "estimate, with its interval", "true (simulated) value"
_MOST_ROWS, _HEADLINE_ROWS = 24, 8  # of a chart that is still read row by row, and of one on the front page
_COUNTS = "How many intervals contain the true value"
_FRONT = {
    "track": (
        "For how many turns can each model track a running median?",
        "Only one game and one prompt were used: with other games the order of the models may differ.",
        "Play more sequences per model: the intervals get narrower.",
    ),
    "track-horizon": (
        "How many games would a person need to match each model?",
        "People played 10 games, so a longer horizon has no upper end.",
        "Let people play more than 10 games.",
    ),
    "name-horizon": (
        "How many attempts would a novice need to match each model on NAME's tasks?",
        "Novices had 10 attempts, so a longer horizon has no upper end.",
        "Let novices try more than 10 times.",
    ),
    "time-horizon": (
        "How long, for an expert, are the tasks that each model does in half of its attempts?",
        "Noise in the experts' minutes changes the horizons.",
        "Measure the experts' minutes more than once on tasks near the horizons.",
    ),
    "study": (
        "Do raters agree, and does the model's score agree with them?",
        "A criterion is inconclusive where its interval includes the threshold; 20 pairs give wide intervals.",
        "Add pairs: howsure study plan says how many.",
    ),
    "stitch": (
        "Which model is the most capable over all benchmarks?",
        "One scale assumes that all benchmarks measure one ability.",
        "Add scores of the models with the widest intervals.",
    ),
    "place": (
        "Where are the six models on that scale, estimated from the game alone?",
        "The scale is that of the previous question; other benchmarks may give other results.",
        "Let the six models try more of the benchmarks.",
    ),
    "evals": (
        "Which model is better on an eval?",
        "The intervals are about tasks like these, in families like these.",
        "Plan the next comparison: howsure power says how many tasks it needs.",
    ),
}
"""Per part: the question, the caveat that matters most and the next step, for the front page."""
_OPENING = "{what} was simulated from known true values; the analyses did not use these values. {held} of the {n} intervals contain the true value; about {level:.0%} should."


def report_of(part: TourStop, date: datetime.date) -> Report:
    """One part as a report of its own, in one section: estimates beside true values, then what the instrument says."""
    own = part.sections()
    question, caveat, next_step = _FRONT[part.key]
    statistic = part.known[0].statistic if part.known else None
    rows = [one for one in part.known if one.statistic == statistic]
    section = Section(
        part.title,
        [*_beside(part), *(block for one in own for block in one.blocks)],
        [text for one in own for text in one.found],
        [text for one in own for text in one.unknown],
        question=question,
        caveat=caveat,
        next_step=next_step,
        headline=ChartBlock(_chart(statistic, _first(rows), n_all=len(rows))) if statistic else None,
    )
    if statistic and not section.found:
        section = with_lead(section, statistic.name, [(one.subject, one.found) for one in rows])
    return Report(part.title, [section], part.made, date)


def page_of(reports: dict[str, Report], hits: pl.DataFrame, made: Provenance, date: datetime.date) -> Report:
    """One page of all parts, `hits` by instrument in front."""
    page = together({Path(key, "report"): report for key, report in reports.items()}, date=date, title=_TITLE)
    what = "Everything except Epoch's scores" if made.settings.get("epoch") else "Everything here"
    opening = _OPENING.format(
        what=what, held=hits["held"].sum(), n=hits["intervals"].sum(), level=made.settings["level"]
    )
    notes = tuple(dict.fromkeys([*made.notes, *page.made.notes]))
    counts = Section(_COUNTS, [_counts(hits)])
    summary = [Text(opening, more=_COUNTS), *page.summary]
    return replace(page, summary=summary, sections=[*page.sections, counts], made=replace(made, notes=notes))


def _counts(hits: pl.DataFrame) -> TableBlock:
    rows: list[list[Cell]] = [
        [row["instrument"], row["share"], row["held"], row["intervals"]] for row in hits.to_dicts()
    ]
    caption = "How many intervals contain the true (simulated) value. Intervals of one instrument share their data, so they are not independent; howsure demo --tours 20 counts over many simulated data sets."
    return TableBlock(["Instrument", "Share", "Contain the true value", "Of"], rows, caption)


def _beside(part: TourStop) -> list[Block]:
    """The true values, and how close the estimates are."""
    if not part.known:
        return [Text(part.about)]
    statistics = dict.fromkeys(one.statistic for one in part.known)
    charts = [
        ChartBlock(_chart(statistic, [one for one in part.known if one.statistic == statistic]))
        for statistic in statistics
    ]
    held = f"{sum(p.is_held for p in part.counted)} of {len(part.counted)} intervals contain the true value."
    return [
        Text(part.about),
        *charts,
        Text(held),
        _table(part),
        Download(f"{part.key}-true_values.csv", _csv(part)),
    ]


def _table(part: TourStop) -> TableBlock:
    """One row per estimate; with a statistic of one kind only, its name is the caption's."""
    statistics = list(dict.fromkeys(one.statistic for one in part.known))
    rows: list[list[Cell]] = [
        [one.statistic.name, one.subject, one.found, _finite(one), _told(one)] for one in part.known
    ]
    columns = [
        "Statistic",
        statistics[0].of if len(statistics) == 1 else "Of",
        "Estimate",
        "True value",
        "Contains it",
    ]
    what = f" ({statistics[0].name.lower()})" if len(statistics) == 1 else ""
    first = int(bool(what))
    caption = f"{part.title}: every estimate beside its true (simulated) value{what}."
    return TableBlock(columns[first:], [row[first:] for row in rows], caption)


def _told(one: KnownEstimate) -> str:
    if one.found.low is None and one.found.high is None:
        return "no interval"
    return ("yes" if one.is_held else "no") + ("" if one.counts else " (not counted)")


def _finite(one: KnownEstimate) -> Cell:
    """The true value with one digit more than the interval shows, so that the eye can see whether it lies inside."""
    if abs(one.truth) == float("inf"):
        return "above the observed range" if one.truth > 0 else "below the observed range"
    return f"{one.truth:,.{one.found.decimals() + 1}f}"


def _first(rows: Sequence[KnownEstimate]) -> list[KnownEstimate]:
    """The rows of a headline chart: the models of the tour and the first two, whom its sentences name; or those with the highest estimates."""
    ranked = sorted(rows, key=lambda one: (one.found.value or 0.0, one.found.low or 0.0), reverse=True)
    if not any(one.subject in NAMES for one in ranked):
        return ranked[:_HEADLINE_ROWS]
    return [one for place, one in enumerate(ranked) if place < 2 or one.subject in NAMES]


def _chart(statistic: TourStatistic, known: Sequence[KnownEstimate], n_all: int | None = None) -> Chart:
    """Each estimate with its interval, and the true (simulated) value beside it; they are some of ``n_all`` estimates."""
    shown = known[:_MOST_ROWS]
    found = estimate_rows([(one.subject, one.found) for one in shown]).with_columns(group=pl.lit(_FOUND))
    truth = pl.DataFrame(
        [(one.subject, one.truth, f"{one.truth:.4g}", _PLANTED) for one in shown if abs(one.truth) < float("inf")],
        schema={"label": pl.String, "value": pl.Float64, "text": pl.String, "group": pl.String},
        orient="row",
    )
    rows = pl.concat([found, truth.with_columns(state=pl.lit("ok"))], how="diagonal")
    n_all = n_all or len(known)
    n_more = n_all - len(shown)
    more = f"{n_more} more {'is' if n_more == 1 else 'are'} in the details" if n_more else ""
    level = known[0].found.level
    return interval_plot(
        rows,
        title=f"{statistic.name}: estimates and true values",
        caption=Caption(len(shown), "estimates", level, note=more),
        label=Field("label", statistic.of),
        value=Field("value", statistic.name, statistic.unit, scale=statistic.scale),
        group=Field("group", "Which"),
        is_sorted=False,
    )


def _csv(part: TourStop) -> str:
    from howsure.tour.stops import frame_of

    return csv_text(frame_of([part], part.made.seed or 0).drop("seed"))
