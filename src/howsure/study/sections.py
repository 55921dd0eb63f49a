"""Sections on a study: the verdict, who counts, fidelity, agreement, the model beside people."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from howsure.estimates import Estimate, chance
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, KeyNumbers, Method, Section, TableBlock, Text
from howsure.study.analysis import Analysis
from howsure.study.answer_types import AnswerAnalysis
from howsure.study.planning.plans import StudyPlan
from howsure.study.planning.sentences import share
from howsure.study.scoring.exclusions import CheckedRater
from howsure.study.verdict import blinding_words, coefficient_words, in_words, lite_words, order_words, time_words

__all__ = ["answer_sections", "answer_tables", "plan_section", "study_sections"]


def study_sections(found: Analysis) -> list[Section]:
    """What the study shows, section by section."""
    charts = {name: ChartBlock(chart) for name, chart in found.charts().items()}
    if not found.findings.raters:
        return [_verdict(found), _quality(found, charts)]
    sections = [
        _verdict(found),
        _quality(found, charts),
        _fidelity(found, charts),
        _agreement(found, charts),
    ]
    return [*sections, *([_model(found, charts)] if found.findings.model else [])]


def _summary(found: Analysis) -> list[Block]:
    """The numbers a reader came for, and what a paper may say."""
    statistics = found.findings.statistics
    numbers: dict[str, Estimate | str] = {"PFI": statistics["pfi"]}
    numbers |= {"Cronbach's alpha": statistics["pfi.cronbach_alpha"]} if "pfi.cronbach_alpha" in statistics else {}
    numbers |= {"Pearson's r, people and model": statistics["pearson"]} if found.findings.model else {}
    passed = sum(one.verdict == "pass" for one in found.judgements)
    return [KeyNumbers(numbers | {"Criteria passed": f"{passed} of {len(found.judgements)}"}), Text(found.sentence)]


def _verdict(found: Analysis) -> Section:
    rows: list[list[Cell]] = [
        [
            one.criterion.label,
            one.estimate.against(one.criterion.threshold),
            one.verdict,
            other.verdict,
            one.reason,
        ]
        for one, other in zip(found.judgements, found.judgements_everyone, strict=True)
    ]
    columns = ["Criterion", "Estimate", "Verdict", "With all raters", "Because"]
    method = (
        "A criterion passes when its whole interval meets the threshold, fails when none of it does, and is inconclusive otherwise. A point "
        "estimate alone is not enough for a verdict."
    )
    table = TableBlock(columns, rows, "Each criterion, and the statistic that is compared with it.")
    open_ = [
        f"Study: whether the criterion on {one.criterion.name} is met; {one.reason.rstrip('.')}."
        for one in found.judgements
        if one.verdict in ("inconclusive", "no verdict")
    ]
    return Section(
        "Are the criteria met?", [*_summary(found), table, Method(method)], found=[found.sentence], unknown=open_
    )


def _quality(found: Analysis, charts: dict[str, ChartBlock]) -> Section:
    quality, minutes = found.quality, found.findings.statistics["minutes"]
    excluded: list[list[Cell]] = [
        [one.rater, one.rule, one.measured, one.limit, one.reason] for one in quality.exclusions
    ]
    raters: list[list[Cell]] = [
        [*_checks(c), row.severity, row.agreement, "; ".join(c.flags)]
        for c, row in zip(quality.raters, found.raters, strict=True)
    ]
    columns = [
        "Rater",
        "Status",
        "Minutes",
        "Complete",
        "Attention",
        "Repeats",
        "Quiz",
        "Severity",
        "Agreement",
        "To check",
    ]
    kept = f"{len(quality.kept)} of {len(quality.raters)} raters broke no rule. " if quality.raters else ""
    blocks: list[Block] = [
        Text(kept + time_words(minutes, quality.rules.target_minutes)),
        Text(blinding_words(found.findings.statistics["blinding_index"])),
    ]
    if excluded:
        blocks.append(TableBlock(["Rater", "Rule", "Measured", "Limit", "Reason"], excluded, "All broken rules."))
    blocks += [charts[name] for name in ("timing", "severity") if name in charts]
    blocks += [
        _without_empty(TableBlock(columns, raters, "Each rater.")),
        *_comments(found),
        Method(_quality_method(found)),
        Download("raters.csv", csv_text(found.to_frame("raters"))),
        Download("exclusions.csv", csv_text(found.to_frame("exclusions"))),
    ]
    return Section("Which raters are included?", blocks)


def _comments(found: Analysis) -> list[Block]:
    """What raters said at the end, as they wrote it."""
    said: list[list[Cell]] = [[one.rater, one.comments] for one in found.quality.raters if one.comments]
    return [TableBlock(["Rater", "Comment"], said, "Comments of raters at the end.")] if said else []


def _checks(one: CheckedRater) -> list[Cell]:
    status = "excluded" if one.is_excluded else "included"
    return [one.rater, status, one.minutes, one.complete, one.attention, one.consistency, one.quiz]


def _quality_method(found: Analysis) -> str:
    rules = found.quality.rules
    haste = (
        f"took less than {rules.fewest_minutes:g} minutes (a third of the time that reading every text once and answering takes; without a study file, a third of the median rater's time), "
        if rules.fewest_minutes is not None
        else ""
    )
    return (
        f"Excluded are raters who answered less than {rules.complete:.0%}, {haste}answered less than {rules.attention:.0%} of the "
        f"attention items or {rules.quiz:.0%} of the quiz right, had a consistency on swapped repeats below {rules.consistency:g} (1: the same answers, 0: the opposite), or gave the same answer to every question. No rater is excluded for disagreeing: that would inflate agreement. Rater bias (severity) is a rater's PFI minus the others', pair by pair; "
        "agreement is the correlation with their mean."
    )


def _fidelity(found: Analysis, charts: dict[str, ChartBlock]) -> Section:
    findings = found.findings
    parts = [name for name in findings.statistics if name in ("pfi", "pfi_lite") or _is_score(found, name)]
    rows: list[list[Cell]] = [[name, findings.statistics[name], found.everyone.statistics.get(name)] for name in parts]
    columns = ["Statistic", "Included raters", "All raters"]
    scored: list[list[Cell]] = [
        [row.item, row.domain, row.pfi, row.n_raters, row.model, row.combined] for row in findings.pairs
    ]
    pairs = TableBlock(
        ["Pair", "Domain", "PFI", "Raters", "Model", "Combined"], scored, "Each pair; the interval is over raters."
    )
    domains: list[list[Cell]] = [[row.domain, row.n_pairs, row.human, row.model] for row in findings.domains.rows]
    blocks: list[Block] = [
        TableBlock(columns, rows, "Means over pairs and raters, each on 0–1 (advantages −1 to 1)."),
        Text(lite_words()),
    ]
    blocks += [charts["pairs"]] if "pairs" in charts else []
    blocks += [_without_empty(pairs)]
    if domains:
        blocks += [charts["domains"], Text(order_words(findings))]
        blocks += [_without_empty(TableBlock(["Domain", "Pairs", "PFI", "Model"], domains, "Each domain."))]
    return Section(
        "How faithful is the target?",
        [*blocks, Method(_FIDELITY), Download("pairs.csv", csv_text(found.to_frame("pairs")))],
    )


_FIDELITY = (
    "PFI (persona fidelity index) is the mean of its parts, each rescaled to 0–1, so that 0.5 is neutral. A dimension asked of both responses counts with the target's answer; its advantage is target − comparison. "
    "A dimension asked of the preferred response counts where the target was preferred, is 0.5 on a tie, and at most 0.5 where the comparison was. Continuity is reported separately.\n\n"
    "The interval of a mean includes the sampling of raters and of pairs: se² = σ²(pair)/n + σ²(rater)/k + σ²(residual)/nk, t on Satterthwaite's degrees of freedom, as a score interval that stays "
    "within the scale. “howsure study coverage” simulates how often such intervals contain the true value: 94 to 95 % of 95 % intervals with 5 pairs × 7 raters.\n\n"
    "The order of domains is tested with pairs as units (Jonckheere and Terpstra) and, for just these pairs, with raters as blocks (Page); both are exact permutation tests where there are few permutations."
)


def _is_score(found: Analysis, name: str) -> bool:
    names = {part.name for part in found.parts}
    return name in names or name.removesuffix("_advantage") in names


def _agreement(found: Analysis, charts: dict[str, ChartBlock]) -> Section:
    findings = found.findings
    rows: list[list[Cell]] = [
        _coefficient(found, name, key, estimate, is_advised=key == one.report)
        for name, one in findings.reliability.items()
        for key, estimate in one.coefficients.items()
    ]
    columns = ["Dimension", "Coefficient", "Included raters", "All raters", "Note"]
    variances: list[list[Cell]] = [
        [name, one.item, one.rater, one.residual, one.method.upper()] for name, one in findings.components.items()
    ]
    first = next(iter(findings.reliability.values()))
    blocks: list[Block] = [
        Text(first.sentence),
        charts["agreement"],
        TableBlock(columns, rows, "Every coefficient of agreement, pairs as items."),
        TableBlock(
            ["Dimension", "Pairs", "Raters", "Residual", "Method"], variances, "Variance components of one rating."
        ),
    ]
    method = (
        "Items are pairs, identified by name. Intervals of ICC and Cronbach's alpha come from the F distribution; those of Krippendorff's alpha are the wider of F and a jackknife over pairs; those of Gwet's coefficients are as he published them. Variance "
        "components are by analysis of variance, and by REML where answers are missing. A coefficient that is undefined, for example because the ratings do not vary, is shown as a state with its reason."
    )
    return Section("Do raters agree?", [*blocks, Method(method)])


def _coefficient(found: Analysis, name: str, key: str, estimate: Estimate, *, is_advised: bool) -> list[Cell]:
    """A row; reasons stand in a column of their own, where they widen no other."""
    both = [replace(one, reason="") for one in (estimate, found.everyone.statistics[f"{name}.{key}"])]
    return [name, coefficient_words(key), *both, "report this" if is_advised else estimate.reason]


def _model(found: Analysis, charts: dict[str, ChartBlock]) -> Section:
    model = found.findings.model
    assert model is not None
    rows: list[list[Cell]] = [
        [kind.capitalize(), one.estimate, chance(one.p)] for kind, one in model.correlations.items()
    ]
    rows += [["Pearson, disattenuated", model.disattenuated, None], ["Noise ceiling", model.ceiling, None]]
    critical = (
        ""
        if model.critical is None
        else f" With {model.n_pairs} pairs only |r| above {model.critical:.3f} differs from 0."
    )
    text = f"Combined fidelity, half model and half people, is {in_words(model.combined)}: the model gives {in_words(model.model)}, people {in_words(model.human)}, on {model.n_pairs} pairs.{critical}"
    ceiling = model.ceiling_from
    method = f"The noise ceiling is √{coefficient_words(ceiling)}, the correlation expected between a perfect score and the mean of these raters; r divided by it is disattenuated (corrected for the unreliability of the ratings). Where the same raters rated all pairs, rater bias (severity) is the same for all pairs and does not lower the correlation. Intervals of correlations are computed on Fisher's z scale."
    table = TableBlock(["Correlation", "Value", "p"], rows, "Mean human PFI with the model's score, over pairs.")
    return Section(
        "Do people and the model agree?",
        [Text(text), charts["human_model"], charts["correlations"], table, Method(method)],
    )


def _without_empty(table: TableBlock) -> TableBlock:
    """The table without columns that say nothing."""
    told = [place for place in range(len(table.columns)) if any(row[place] not in (None, "") for row in table.rows)]
    return TableBlock(
        [table.columns[place] for place in told], [[row[place] for place in told] for row in table.rows], table.caption
    )


_FEW = 6  # coefficients that are all shown at a terminal
_RATERS = 20  # that are shown from each end of many; a quarter of them at a terminal


def answer_tables(found: AnswerAnalysis, *, is_short: bool = False) -> list[TableBlock]:
    """The tables of answers by type, as people read them: systems, differences, agreement, raters; in short, of 14 coefficients those that are usual."""
    tables, level = found.tables, found.provenance.settings["level"]
    blocks = []
    shown = {
        "systems": (["dimension", "system", "category", "statistic"], "value", ["n_ratings"], "Systems and categories"),
        "differences": (
            ["dimension", "a", "b", "category", "statistic"],
            "difference",
            ["p", "p_holm"],
            "Differences, a − b",
        ),
        "agreement": (["dimension", "coefficient"], "value", ["is_reported"], "Agreement of raters"),
        "raters": (["dimension", "rater", "statistic"], "value", ["n_ratings"], "Raters"),
    }
    words = {"p_holm": "p, Holm", "is_reported": "report", "n_ratings": "ratings", "statistic": "what"}
    for name, (texts, value, more, title) in shown.items():
        if name not in tables:
            continue
        frame, caption = tables[name], title
        if name == "raters" and found.answers != "spans":
            n_raters, n_each = frame["rater"].n_unique(), _RATERS // 4 if is_short else _RATERS
            frame = found.extreme_raters(n_each)
            if n_raters > 2 * n_each:
                caption = f"Raters: the {n_each} with the lowest and the {n_each} with the highest values, of {n_raters:,} (raters.csv has all)"
        if is_short and name == "agreement" and len(frame) > _FEW:
            usual = ("krippendorff_ordinal", "krippendorff_interval", "cronbach_alpha", "percent_agreement", "gwet_ac1")
            is_usual = pl.col("coefficient").is_in(usual) & (pl.col("value_state") == "ok")
            frame = frame.filter((pl.col("is_reported") == "yes") | is_usual)
        kept = [text for text in texts if frame[text].drop_nulls().len()]
        rows: list[list[Cell]] = []
        for row in frame.iter_rows(named=True):
            one = Estimate(
                row[value],
                row[f"{value}_low"],
                row[f"{value}_high"],
                level,
                row[f"{value}_state"],
                row.get("reason") or "",
            )
            extra = [chance(row[key]) if key.startswith("p") else row[key] for key in more]
            extra = ["report this" if cell == "yes" else "" if cell == "no" else cell for cell in extra]
            named = [coefficient_words(row[text]) if text == "coefficient" else row[text] for text in kept]
            rows.append([*named, one.against(0) if value == "difference" else one, *extra])
        columns = [words.get(text, text) for text in kept]
        columns += [f"{value} [{level:.0%}]", *(words.get(key, key) for key in more)]
        blocks.append(_without_empty(TableBlock(columns, rows, caption)))
    if "exclusions" in tables:
        excluded = [[row["rater"], row["rule"], row["reason"]] for row in tables["exclusions"].iter_rows(named=True)]
        blocks.append(TableBlock(["rater", "rule", "because"], excluded, "Excluded by rule"))
    return blocks


def answer_sections(found: AnswerAnalysis) -> list[Section]:
    """One section: the sentences, charts and tables, and how they were computed."""
    charts = [ChartBlock(chart) for chart in found.charts().values()]
    blocks: list[Block] = [
        Text("\n\n".join(dict.fromkeys((*found.sentences, *found.reasons.values())))),
        *charts,
        *answer_tables(found),
        Method(_ANSWER_METHODS[found.answers]),
    ]
    sentences = list(found.sentences)
    return [
        Section(
            f"What the {found.answers} show", blocks, found=sentences, question=f"What do the {found.answers} show?"
        )
    ]


_DIFFERENCES = (
    "Differences of means (or of shares of a category) are adjusted for items and raters by least squares; their variance is V(items) + V(raters) − V(ratings), each by a jackknife, so that the "
    "intervals are about other items and other raters. p values are corrected by Holm's method over all pairs of a dimension. "
)
_ANSWER_METHODS = {
    "ratings": _DIFFERENCES
    + "The ordinal model is a cumulative logit model, P(Y ≤ k) = logit⁻¹(θ_k − η), with random effects of raters, items and their combinations with systems, fitted by restricted maximum "
    "likelihood (Laplace approximation); it uses only the order of the categories. Severity is how much lower a rater rates than the mean of all raters, in log odds.",
    "categories": _DIFFERENCES
    + "True labels come from Dawid and Skene's model: each item has one true category, each rater a confusion matrix, and raters err independently of each other. "
    "Where items are hard for all raters, errors are not independent, and accuracies are overestimated.",
    "comparisons": "Strengths are log odds in the model of Bradley and Terry with Davidson's ties and, where pairs were shown in both orders, a position effect. Intervals are for other voters and other items: V(voters) + V(items) − V(votes), each by a jackknife.",
    "rankings": "Strengths are log odds in the model of Plackett and Luce. Intervals are for other raters and other items: V(raters) + V(items) − V(rankings), each by a jackknife.",
    "spans": "Overlap is Dice's coefficient over characters with the same label, pooled over pairs of raters. Spans match when they have the same label and overlap by half of their union. Alpha is Krippendorff's, over characters. Intervals are a jackknife over texts.",
}


# The section on a study's plan: what its design can show, and what it cannot.


def plan_section(plan: StudyPlan) -> Section:
    """What the asked-for design can show, beside other designs."""
    return Section(
        "What can this study show?",
        [
            KeyNumbers(_key_numbers(plan)),
            Text("\n\n".join(plan.sentences)),
            *(ChartBlock(chart) for chart in plan.charts().values()),
            _designs(plan),
            TableBlock.of(
                plan.to_frame("plan_criteria"),
                "Shares of simulated studies of the requested design, by scenario and criterion.",
            ),
            Method(_METHOD),
            Download("plan.csv", csv_text(plan.to_frame())),
        ],
    )


def _key_numbers(plan: StudyPlan) -> dict[str, str]:
    joint = plan.asked.as_assumed.joint
    return {
        f"all criteria pass with {plan.asked.design}, if all is as assumed": share(joint.passed),
        "their estimates alone meet them": share(joint.met),
        "smallest r that differs from 0": f"{plan.asked.critical_r:.2f}",
        "noise ceiling": f"{plan.asked.ceiling:.2f}",
        "recommended": f"{plan.recommended}",
    }


def _designs(plan: StudyPlan) -> TableBlock:
    titles = {
        "pairs": "Pairs",
        "raters": "Raters",
        "minutes": "Minutes per rater",
        "critical_r": "Critical r",
        "ceiling": "Noise ceiling",
        "width_single": "Width of ICC(2,1)",
        "width_alpha": "Width of alpha",
        "as_assumed_met": "As assumed: estimates meet",
        "as_assumed_passed": "As assumed: intervals pass",
        "unrelated_met": "Scores unrelated: estimates meet",
        "no_effect_met": "No effect: estimates meet",
    }
    return TableBlock.of(plan.to_frame(), "One row per design.", titles)


_METHOD = (
    "Each scenario is simulated many times with normal scores: the fidelity of a pair, half of whose variance is between domains, plus the rater's severity "
    "and noise. Every simulated study is analysed as a real one would be: Cronbach's alpha with Feldt's interval, Pearson's r with "
    "Fisher's, means whose intervals are about other pairs and other raters. A criterion passes when its whole interval meets the threshold; "
    "it is met when the estimate does (a correlation must also differ from 0). The power of the correlation is exact (Hotelling 1953), "
    "with r lowered by the noise ceiling √ICC(3,k)."
)
