"""Sections on a judge against people: agreement, standing in, corrections, bias, calibration."""

from __future__ import annotations

from howsure.estimates import Estimate, chance
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock, Text
from howsure.study.judging.charts import draw_agreement, draw_bias, draw_calibration
from howsure.study.judging.comparison import OF_CATEGORIES, STATISTICS, JudgeComparison
from howsure.study.judging.labelling import LabelEstimates
from howsure.study.judging.validation import Validation

__all__ = ["judge_sections", "label_sections"]


def judge_sections(validation: Validation) -> list[Section]:
    """Three sections on each judge, and all statistics in a table."""
    sections = [section for judge in validation.judges for section in _of(validation, judge)]
    return [*sections, _everything(validation)]


def _of(validation: Validation, judge: str) -> list[Section]:
    rows = validation.of(judge)
    if validation.is_categorical:
        return [_agreement(validation, judge, rows)]
    return [_agreement(validation, judge, rows), _corrections(judge, rows), _bias(validation, judge, rows)]


def _agreement(validation: Validation, judge: str, rows: list[JudgeComparison]) -> Section:
    notes = [Text("\n\n".join(validation.provenance.notes))] if validation.provenance.notes else []
    against: list[list[Cell]] = [
        [
            row.dimension,
            validation.raters[one.rater],
            one.advantage,
            chance(one.p_adjusted),
            "yes" if one.is_beaten else "no",
            one.n_items,
        ]
        for row in rows
        for one in row.alternative.by_rater
    ]
    tested: list[Block] = (
        [
            TableBlock(
                ["Dimension", "Rater", "Judge at least as close", "p, corrected", "May replace", "Items"],
                against,
                _TESTED,
            )
        ]
        if against
        else []
    )
    shown = {
        name: title for name, title in _AGREEMENT.items() if name in OF_CATEGORIES or not validation.is_categorical
    }
    blocks: list[Block] = [
        *notes,
        Text("\n\n".join(row.sentence for row in rows)),
        ChartBlock(draw_agreement(validation, judge)),
        _table(rows, shown, "Agreement of judge and people, with intervals."),
        *tested,
        Method(_AGREEMENT_METHOD),
    ]
    return Section(f"{judge}: does the judge agree with people as much as people agree with each other?", blocks)


_TESTED = "The alternative-annotator test, rater by rater."
_AGREEMENT = {
    "judge_with_others": "Judge with the others",
    "people_with_others": "Rater with the others",
    "judge_minus_people": "Difference",
    "correlation": "r with people's mean",
    "noise_ceiling": "Ceiling",
    "disattenuated": "r, disattenuated",
    "winning_rate": "Share of raters it may replace",
    "winning_rate_of_constant": "A constant rating would replace",
}
_AGREEMENT_METHOD = (
    "Each rater in turn is excluded. The judge and that rater are compared with the mean of the other raters on the same items, so that both are compared with the same reference; intervals come from a jackknife over items, or over clusters of items where these were named. For categories, agreement is the share of "
    "the others who gave the same category.\n\n"
    "The noise ceiling is the square root of the reliability of people's mean: the correlation expected of a perfect judge with these raters.\n\n"
    "The alternative-annotator test (Calderon, Reichart and Dror 2025) asks whether the judge is worse than a rater by ε or more, with "
    "Benjamini and Yekutieli's correction; it needs 30 items and 3 raters. Closeness to the other raters is the squared distance, for categories the share of exact matches. If it passes for at least half of the raters, the judge may replace a rater. Where most ratings are equal, a judge that always gives the most common rating passes too, and the test then shows little."
)


def _corrections(judge: str, rows: list[JudgeComparison]) -> Section:
    return Section(
        f"{judge}: its ratings, corrected with people's ratings",
        [
            _table(rows, _LEVELS, "Means, in units of the rating."),
            _table(rows, _RATES, "Items above the middle of the scale."),
            Method(_CORRECTION_METHOD),
        ],
    )


_LEVELS = {
    "mean_people": "People",
    "mean_judge": "Judge, same items",
    "judge_too_high": "Judge − people",
    "mean_powered": "All items (PPI++)",
}
_RATES = {
    "rate_people": "People",
    "rate_judge": "Judge, same items",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "rate_corrected": "Items of the judge alone, corrected",
}
_CORRECTION_METHOD = (
    "Where the judge rated items that people did not, its ratings make people's mean more precise: ȳ + λ(mean of the judge on those − mean of the judge on people's), with λ chosen to "
    "give the smallest error (PPI++). Its share of items above the middle is corrected by its measured errors, (p + specificity − 1)/(sensitivity + specificity − 1), after "
    "Rogan and Gladen, with the interval of Lang and Reiczigel. Both assume that the items that people rated and the other items come from the same population."
)


def _bias(validation: Validation, judge: str, rows: list[JudgeComparison]) -> Section:
    curve = draw_calibration(validation, judge)
    blocks: list[Block] = [
        ChartBlock(draw_bias(validation, judge)),
        _table(rows, _POSITION, "Position bias, in units of the rating."),
        _table(rows, _LENGTH, "Effect of twice the length, in units of the rating."),
        *([ChartBlock(curve)] if curve else []),
        _table(rows, _CALIBRATION, "Calibration, on the unit scale.", noise="Error expected by chance"),
        Method(_BIAS_METHOD),
        Download("calibration.csv", csv_text(validation.to_frame("calibration"))),
    ]
    return Section(f"{judge}: bias and calibration", blocks)


_POSITION = {
    "position_shift": "Slot 1 − slot 2",
    "position_consistency": "Same in both orders",
    "position_slot_one": "Changed preferences: share for slot 1",
}
_LENGTH = {
    "length_judge": "From the judge",
    "length_people": "From people",
    "length_excess": "Beyond people",
}
_CALIBRATION = {
    "calibration_error": "Calibration error (ECE)",
    "brier_score": "Squared error",
    "brier_reliability": "of it miscalibration",
    "brier_resolution": "Resolution",
    "brier_uncertainty": "Variance between items",
}
_BIAS_METHOD = (
    "Every pair is judged in both orders; the shift is the mean difference of the two ratings of the same response. Length: slope of judge − people on the "
    "logarithm of length (for two responses, of their ratio), so that only an effect that people do not share is counted; standard errors HC3.\n\n"
    "Calibration: items are put in bins by the judge's rating; in each bin, people's mean rating is compared with the judge's. The expected calibration error is the mean distance. Even a perfect judge has some calibration error by chance; the interval takes this into account. Squared error = miscalibration − resolution + variance between items, up to differences within bins."
)


def _everything(validation: Validation) -> Section:
    words = "\n".join(f"{name}: {told}" for name, told in STATISTICS.items())
    download = Download("validation.csv", csv_text(validation.to_frame()))
    return Section("All statistics", [Method(words, "What each statistic means"), download])


def _table(rows: list[JudgeComparison], titles: dict[str, str], caption: str, *, noise: str = "") -> TableBlock:
    """One row per dimension."""
    cells: list[list[Cell]] = [
        [
            row.dimension,
            *(row.statistics[name] for name in titles),
            *([row.calibration.noise] if noise else []),
            row.n_items,
        ]
        for row in rows
    ]
    return TableBlock(["Dimension", *titles.values(), *([noise] if noise else []), "Items"], cells, caption)


def label_sections(found: LabelEstimates) -> list[Section]:
    """One section: the mean label of all items, with and without the judges."""
    level = found.provenance.settings["level"]
    rows: list[list[Cell]] = [
        [
            " / ".join(str(row[name]) for name in ("dimension", "system", "category") if row[name] is not None),
            *(
                Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"], level, row[f"{name}_state"])
                for name in ("mean", "labels_alone", "judges_alone")
            ),
            None if row["labels_saved"] is None else round(row["labels_saved"], 2),
            f"{row['n_labelled']} of {row['n_items']}",
        ]
        for row in found.rows.iter_rows(named=True)
    ]
    columns = [
        "What",
        "Labels and judges",
        "Labels alone",
        "Judges alone",
        "Times more labels needed without judges",
        "Labelled",
    ]
    notes = [Text("\n\n".join(found.provenance.notes))] if found.provenance.notes else []
    table = TableBlock(columns, rows, "Mean label of all items; of categories, the share of each.")
    return [Section("The mean label of all items", [*notes, table, Method(_LABEL_METHOD)])]


_LABEL_METHOD = (
    "Labels of people are fitted by the judges' ratings (least squares, weights 1/probability of inclusion, one intercept per stratum). The estimate is the mean prediction over all items; "
    "it is unbiased whatever the judges are worth, because the labels correct them. With equal probabilities and one judge this is prediction-powered inference (PPI++). Intervals are t, with standard errors "
    "that allow for few labels (HC3). Judges alone, uncorrected, are shown for comparison: their interval leaves out their bias."
)
