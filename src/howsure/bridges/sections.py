"""Sections on the bridges from one instrument to another."""

from __future__ import annotations

from howsure.bridges.judge_correction import Corrected, JudgedHorizons
from howsure.bridges.scales import SCALES, ScaleMap
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock
from howsure.results.leading import with_lead

__all__ = ["corrected_sections", "judged_section", "map_section"]


def corrected_sections(found: Corrected) -> list[Section]:
    """Success rates corrected by people's labels, and horizons where there are any."""
    return [_corrected_section(found), *([judged_section(found.horizons)] if found.horizons else [])]


def _corrected_section(found: Corrected) -> Section:
    rows: list[list[Cell]] = [[r.model, r.judged, r.powered, r.corrected, r.n, r.n_labelled] for r in found.rows]
    columns = ["Model", "As judged", "PPI++", "Rogan–Gladen", "Attempts", "Labelled"]
    blocks: list[Block] = [
        *(ChartBlock(chart) for chart in found.charts().values()),
        TableBlock(columns, rows, "One row per model: success rate with its interval."),
        Method(_CORRECTED),
        Download("corrected.csv", csv_text(found.to_frame())),
    ]
    section = Section("Success rates corrected for the judge's errors", blocks)
    return with_lead(section, "Corrected success rate", [(row.model, row.powered) for row in found.rows])


def judged_section(found: JudgedHorizons) -> Section:
    """Horizons that include the judge's errors."""
    rows: list[list[Cell]] = [[r.model, r.horizon, r.as_judged, r.from_judge] for r in found.rows]
    columns = ["Model", "Horizon", "As judged", "Share of the variance from the judge"]
    table = TableBlock(columns, rows, "Attempts that a novice would need, with interval.")
    section = Section("N-attempt horizons corrected for the judge's errors", [table, Method(_JUDGED)])
    return with_lead(section, "Horizon in novice attempts, judge corrected", [(r.model, r.horizon) for r in found.rows])


def map_section(found: ScaleMap) -> Section:
    """How far each scale predicts the others."""
    rows: list[list[Cell]] = [
        [SCALES[link.x][0], SCALES[link.y][0], link.slope, link.correlation, len(link.points)] for link in found.links
    ]
    columns = ["From", "To", "Slope", "Correlation", "Models"]
    blocks: list[Block] = [
        *(ChartBlock(chart) for chart in found.charts().values()),
        TableBlock(
            columns,
            rows,
            "Slope: doublings of a horizon, or units of capability, per doubling or unit of the first scale.",
        ),
        Method(_MAP),
        Download("scale_models.csv", csv_text(found.models)),
    ]
    told = [
        f"{SCALES[k.y][0]} correlates with {SCALES[k.x][0].lower()}: r = {k.correlation}, {len(k.points)} models."
        for k in found.links[:1]
        if k.line
    ]
    return Section("How the scales correlate", blocks, found=told)


_CORRECTED = (
    "PPI++: the mean label plus λ times the difference between the judge's mean on unlabelled and on labelled attempts; λ minimises the variance. It "
    "uses each model's own labels.\n\nRogan and Gladen's model: sensitivity and specificity are the same for every model, which a permutation test checks. Both, and each model's success rate, are drawn "
    "from their joint posterior, given the labels and verdicts of all models; the estimate is the median of the rate. Which attempts are labelled must not depend on the verdicts."
)
_JUDGED = (
    "Where the judge's sensitivity and specificity do not differ between models, every replicate draws both, and each model's success rate, from their posterior; then the unlabelled "
    "outcomes by P(success | verdict, model, task); then families, tasks and learners. Where they differ, each model's success is estimated by PPI++ from its own labels, with the same "
    "weight for every task, and tasks are resampled with their labels and verdicts."
)
_MAP = (
    "Models are joined by name. Horizons are taken as log₂, and a least-squares line is fitted to the models that have both; the band is the prediction interval for one new model. The error of the first "
    "scale is not corrected for, which makes the line flatter, never steeper."
)
