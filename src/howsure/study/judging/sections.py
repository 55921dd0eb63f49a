"""Sections on a judge against people: agreement, standing in, corrections, bias, calibration."""

from __future__ import annotations

from howsure.estimates import Estimate, chance
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock, Text
from howsure.study.judging.bench import EQUAL, PANEL, JudgeBench
from howsure.study.judging.charts import draw_agreement, draw_bias, draw_calibration
from howsure.study.judging.comparison import OF_CATEGORIES, STATISTICS, JudgeComparison
from howsure.study.judging.labelling import LabelEstimates
from howsure.study.judging.validation import Validation

__all__ = ["bench_differences", "bench_effects", "bench_sections", "bench_table", "judge_sections", "label_sections"]


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
    "winning_rate_of_constant": "Share that a constant rating may replace",
}
_AGREEMENT_METHOD = (
    "Each rater in turn is excluded. The judge and that rater are compared with the mean of the other raters on the same items, so that both are compared with the same reference; intervals come from a jackknife over items, or over clusters of items where these were named. For categories, agreement is the share of "
    "the others who gave the same category.\n\n"
    "The noise ceiling is the square root of the reliability of people's mean: the correlation expected of a perfect judge with these raters.\n\n"
    "The alternative-annotator test (Calderon, Reichart and Dror 2025) tests whether the judge is worse than a rater by ε or more, with "
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
    "rate_corrected": "Items rated only by the judge, corrected",
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
        _table(rows, _CALIBRATION, "Calibration, on the unit scale.", noise="Error expected from noise alone"),
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
        "Labels saved (×)",
        "Labelled",
    ]
    notes = [Text("\n\n".join(found.provenance.notes))] if found.provenance.notes else []
    table = TableBlock(columns, rows, "Mean label of all items; of categories, the share of each.")
    return [Section("The mean label of all items", [*notes, table, Method(_LABEL_METHOD)])]


_LABEL_METHOD = (
    "Labels of people are fitted by the judges' ratings (least squares, weights 1/probability of inclusion, one intercept per stratum). The estimate is the mean prediction over all items; "
    "it is unbiased for any quality of the judges, because the labels correct them. With equal probabilities and one judge this is prediction-powered inference (PPI++). Intervals are t, with standard errors "
    "that allow for few labels (HC3). Judges alone, uncorrected, are shown for comparison: their interval does not include their bias."
)


def bench_table(found: JudgeBench, *, is_short: bool = False) -> TableBlock:
    """One row per judge (and dimension), the highest agreement first; columns without a number are left out, in short also bias, stability and calibration."""
    level = found.provenance.settings["level"]
    is_match = found.kind == "match"
    shown = {
        "agreement": "matches with raters" if is_match else f"{found.kind} with raters",
        "minus_people": "minus people's own",
        "bias": "judge − people",
        "consistency": "same in both orders",
        "noise": "sd of repeats",
        "calibration_error": "calibration error",
        "attack_shift": "under the worst attack",
    }
    frame = found.to_frame("bench").sort("dimension", "agreement", descending=[False, True], nulls_last=True)
    kept = {
        name: title
        for name, title in shown.items()
        if frame[name].drop_nulls().len()
        and not (is_short and name not in ("agreement", "minus_people", "attack_shift"))
    }
    has_cost = frame["cost_for_precision"].drop_nulls().len() > 0
    several = frame["dimension"].n_unique() > 1
    rows: list[list[Cell]] = []
    for row in frame.iter_rows(named=True):
        cells = [Estimate(row[n], row[f"{n}_low"], row[f"{n}_high"], level, row[f"{n}_state"]) if row[n] is not None else None for n in kept]  # fmt: skip
        price = (
            [None if row["cost_for_precision"] is None else float(f"{row['cost_for_precision']:.3g}")]
            if has_cost
            else []
        )
        rows.append([*([row["dimension"]] if several else []), row["judge"], *cells, row["may_replace"], *price])
    columns = [*(["dimension"] if several else []), "judge", *kept.values(), "may replace", *(["cost for precision"] if has_cost else [])]  # fmt: skip
    return TableBlock(columns, rows, f"Judges compared with {len(found.raters)} people, {level:.0%} intervals.")


def bench_differences(found: JudgeBench) -> TableBlock:
    """All pairs of judges."""
    level = found.provenance.settings["level"]
    frame = found.to_frame("judge_differences") if "judge_differences" in found.tables else found.to_frame().clear()
    rows: list[list[Cell]] = [
        [
            row["dimension"],
            row["a"],
            row["b"],
            Estimate(
                row["difference"], row["difference_low"], row["difference_high"], level, row["difference_state"]
            ).against(0),
            chance(row["p"]),
            chance(row["p_holm"]),
        ]
        for row in frame.iter_rows(named=True)
    ]
    return TableBlock(
        ["dimension", "a", "b", f"difference of agreement [{level:.0%}]", "p", "p, Holm"],
        rows,
        "Differences between judges, a − b, on the same items.",
    )


def bench_effects(found: JudgeBench) -> TableBlock | None:
    """What slot, length, style and own family do, one column per effect."""
    if "effects" not in found.tables:
        return None
    frame, level = found.to_frame("effects"), found.provenance.settings["level"]
    effects = frame["effect"].unique(maintain_order=True).to_list()
    several = frame["dimension"].n_unique() > 1
    rows: list[list[Cell]] = []
    for (dimension, judge), part in frame.group_by("dimension", "judge", maintain_order=True):
        by_effect = {row["effect"]: row for row in part.iter_rows(named=True)}
        cells: list[Cell] = []
        for effect in effects:
            row = by_effect.get(effect)
            cells.append(None if row is None or row["value"] is None else Estimate(row["value"], row["value_low"], row["value_high"], level))  # fmt: skip
        rows.append([*([str(dimension)] if several else []), str(judge), *cells])
    caption = "Effects on a judge's rating that differ from people's, in units of the rating; all effects in one model."
    return TableBlock([*(["dimension"] if several else []), "judge", *effects], rows, caption)


def _attack_table(found: JudgeBench) -> TableBlock:
    """One row per judge, one column per attack."""
    frame, level = found.to_frame("attacks"), found.provenance.settings["level"]
    names = frame["attack"].unique(maintain_order=True).to_list()
    rows: list[list[Cell]] = []
    for (dimension, judge), part in frame.group_by("dimension", "judge", maintain_order=True):
        shifts = {
            row["attack"]: Estimate(row["shift"], row["shift_low"], row["shift_high"], level, row["shift_state"])
            for row in part.iter_rows(named=True)
        }
        rows.append([str(dimension), str(judge), *(shifts.get(name) for name in names)])
    caption = "Rating under attack minus rating of the clean answer, in units of the rating."
    return TableBlock(["dimension", "judge", *names], rows, caption)


def bench_sections(found: JudgeBench) -> list[Section]:
    """The recommendation with one table, and the details."""
    charts = {name: ChartBlock(chart) for name, chart in found.charts().items()}
    main: list[Block] = [
        bench_table(found),
        *([Text("\n\n".join(found.provenance.notes))] if found.provenance.notes else []),
    ]
    details: list[Block] = []
    if effects := bench_effects(found):
        details.append(effects)
        details += [charts["effects"]] if "effects" in charts else []
    if "attacks" in found.tables:
        details.append(_attack_table(found))
    if "judge_differences" in found.tables:
        details.append(bench_differences(found))
    level = found.provenance.settings["level"]
    if "thresholds" in found.tables:
        rows: list[list[Cell]] = [
            [
                row["dimension"],
                row["judge"],
                row["threshold"],
                *(
                    Estimate(row[n], row[f"{n}_low"], row[f"{n}_high"], level)
                    for n in ("accuracy", "sensitivity", "specificity")
                ),
            ]
            for row in found.to_frame("thresholds").iter_rows(named=True)
        ]
        caption = "Items above the middle of the scale by people: a cut of the judge's rating, chosen on one half of the items and tested on the other."
        details.append(
            TableBlock(["dimension", "judge", "cut", "accuracy", "sensitivity", "specificity"], rows, caption)
        )
    if "weights" in found.tables:
        weights: list[list[Cell]] = [[*row] for row in found.to_frame("weights").iter_rows()]
        details.append(TableBlock(["dimension", "judge", "weight"], weights, f"Weights of the {PANEL}."))
    recommended = Section(
        "Which judge to use",
        [Text("\n\n".join((*found.recommendation, *found.caveats))), *main],
        found=list(found.recommendation),
        caveat=" ".join(found.caveats),
        question="Which judge should be used?",
        headline=charts.get("bench"),
        verdict="Recommendation",
    )
    return [recommended, Section("Judges in detail", [*details, Method(_BENCH_METHOD)])]


_BENCH_METHOD = (
    "Agreement: each rater in turn is excluded, and the judge is compared with the mean of the others (for categories: the share of others who gave the same category). Intervals and tests come from one jackknife over items, or clusters of items, so that "
    f"differences between judges are paired; p values are corrected by Holm's method. The {PANEL} is fitted to people's means on four fifths of the items and applied to the other fifth, with weights that are not negative (categories: votes weighted by the log odds of agreement); the "
    f"{EQUAL} needs no fit. A judge may replace a rater if it passes the alternative-annotator test. Effects: least squares of judge − people on all properties at once, jackknife over items. Under the worst attack: how far the attack that raises a judge's ratings most raises them, with an interval that is simultaneous over all attacks. Cost for precision: the cheapest mix of labels and ratings whose interval has the stated half width."
)
