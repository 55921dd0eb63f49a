"""What a page says about checked claims: the verdict, the list of choices, what moves the result, tipping points, every specification."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from howsure.claims.multiverse import Verdict
from howsure.estimates import Estimate
from howsure.horizon.time_horizon.durations import duration, times, told
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, ChartBlock, Download, KeyNumbers, Method, Section, TableBlock, Text

if TYPE_CHECKING:
    from howsure.claims.checking import ClaimCheck

__all__ = [
    "MOST_CARDS",
    "NOT_PROBABILITIES",
    "certificate_section",
    "claim_sections",
    "claims_table",
    "effect_text",
    "estimate_text",
    "number_text",
    "range_text",
    "summary_lines",
]

NOT_PROBABILITIES = "Shares of specifications are not probabilities: they show how much the conclusion depends on choices, and the specifications are not equally plausible."
MOST_CARDS = 6
"""Claims with a part of their own on the front page, which has two printed pages at the most."""
_PUBLISH = (
    "Publish it with its choices: `howsure claims check --certificate` writes all that others need to recompute it."
)
_MOST_ROWS = 60
_MOST_DAYS = 36525.0
_METHOD = (
    "Every combination of the listed options is one specification. The same resampled families (or clusters of items, sequences, errors of scores) are used in all of them, so that "
    "differences between specifications have intervals of their own. A specification supports the claim if its whole interval lies beyond the threshold, contradicts "
    "it if the interval lies on the other side, and leaves it open otherwise (also where it has no number).\n"
    "holds in all: every specification supports it. holds in most: the default and at least 80 % support it. does not hold: the default contradicts it. "
    "cannot tell: everything else.\n"
    "The effect of an option is the median change over all pairs of specifications that differ only in this option. Tipping points refer to the default estimate.\n"
    + NOT_PROBABILITIES
)


def estimate_text(verdict: Verdict, estimate: Estimate) -> str:
    """An estimate of the claim's quantity as it prints."""
    if verdict.claim.benchmark:
        return told(estimate, _year) if estimate.low != estimate.high else _year(estimate.value or 0.0)
    if estimate.value is not None and estimate.value == estimate.low == estimate.high:
        return f"{estimate.value:.3g}"  # a count or a share that tests gave
    if not verdict.is_ratio:
        return estimate.against(verdict.claim.threshold) if estimate.value is not None else str(estimate)
    return told(estimate, _form(verdict))


def number_text(verdict: Verdict, value: float | None) -> str:
    """A number of the claim's quantity as it prints."""
    if value is None:
        return "–"
    if verdict.claim.benchmark:
        return _year(value)
    if not verdict.is_ratio:
        return f"{value:.3g}"
    return _form(verdict)(value)


def _form(verdict: Verdict) -> Callable[[float], str]:
    """How a number of a ratio scale prints."""
    if verdict.claim.kind == "trend":
        return _days
    return duration if verdict.claim.than is None else times


def _year(number: float) -> str:
    return f"{number:.1f}"


def _days(number: float) -> str:
    return f"{number:,.1f} days" if number < _MOST_DAYS else f"> {_MOST_DAYS:,.0f} days"


def range_text(verdict: Verdict) -> str:
    """The lowest and highest estimate over all specifications."""
    return f"{number_text(verdict, verdict.low)} to {number_text(verdict, verdict.high)}"


def effect_text(verdict: Verdict, effect: Estimate) -> str:
    """A change as it prints: a factor, or a difference with its sign."""
    if effect.value is None:
        return str(effect)
    if effect.value == effect.low == effect.high == float(verdict.is_ratio):
        return "none"
    if verdict.is_ratio:
        return told(effect, times)
    text = str(effect)
    return text if text.startswith("-") or not effect.value else f"+{text}"


def summary_lines(verdict: Verdict, level: float) -> list[str]:
    """The result in a few sentences."""
    default = verdict.default
    has_interval = default.value is not None and not default.value == default.low == default.high
    what = f" ({level:.0%} interval)" if has_interval else ""
    lines = [
        verdict.sentence,
        f"Default estimate: {estimate_text(verdict, default)}{what}; over all specifications {range_text(verdict)}.",
    ]
    if verdict.share_of_replicates is not None:
        lines.append(f"The claim holds in {verdict.share_of_replicates:.0%} of all replicates of all specifications.")
    moved = _moves(verdict)
    lines += (
        [
            f"Choices with the largest effect on the estimate: {'; '.join(f'{text} ({effect})' for text, effect in moved)}."
        ]
        if moved
        else []
    )
    lines += [one.sentence for one in verdict.tipping]
    lines += [f"What would decide it: {one}" for one in verdict.settle]
    return lines


def _moves(verdict: Verdict) -> list[tuple[str, str]]:
    """The three choices that move the estimate most: the estimate with another option, all else at its default; and the effect over all other choices."""
    default = {choice.name: choice.default for choice in verdict.choices.choices}
    found = {frozenset(one.options.items()): one.estimate for one in verdict.specifications}
    parts = []
    for one in verdict.moved_most:
        if one.effect.value is None or _is_nothing(verdict, one.effect):
            continue
        alone = found.get(frozenset({**default, one.choice: one.option}.items()))
        value = None if alone is None else alone.value
        now = "no number" if value is None else number_text(verdict, value)
        text = f"{one.choice}, {now} with {one.option} instead of {number_text(verdict, verdict.default.value)} with {default[one.choice]}"
        parts.append((text, f"over all other choices {effect_text(verdict, one.effect)}"))
    return parts[:3]


def _is_nothing(verdict: Verdict, effect: Estimate) -> bool:
    return math.isclose(effect.value or 0.0, 1.0 if verdict.is_ratio else 0.0, abs_tol=1e-12)


def claims_table(found: ClaimCheck) -> TableBlock:
    """All claims with their verdicts."""
    rows = [
        (
            str(v.claim),
            v.verdict,
            estimate_text(v, v.default),
            range_text(v),
            f"{v.share_supported:.0%}",
            v.turns_on or "–",
        )
        for v in found.verdicts
    ]
    columns = ("Claim", "Verdict", "Default estimate", "Range over specifications", "Supporting", "Turns on")
    return TableBlock(columns, rows, f"One row per claim; {found.level:.0%} intervals. {NOT_PROBABILITIES}")


def claim_sections(found: ClaimCheck) -> list[Section]:
    """One section per claim, of which the first few are on the front page, after a table of all."""
    overview: list[Block] = [
        claims_table(found),
        Method(_METHOD),
        Download("claims.csv", csv_text(found.to_frame("claims"))),
    ]
    sections = [Section("What may be claimed?", overview)]
    charts = found.charts()
    for number, verdict in enumerate(found.verdicts, 1):
        ending = "" if len(found.verdicts) == 1 else f"_{number}"
        own = [charts[name] for name in (f"specification_curve{ending}", f"effects{ending}") if name in charts]
        section = _section(found, verdict, own)
        sections.append(_with_front(section, verdict, found.level) if number <= MOST_CARDS else section)
    return sections


def _with_front(section: Section, verdict: Verdict, level: float) -> Section:
    """The section with what the front page says of its claim: verdict, estimate, what it depends on most, and the next step."""
    lines = summary_lines(verdict, level)
    told = " ".join(lines[:2])  # the verdict, and the estimate with its interval
    moved = _moves(verdict)[:1]
    tipping = verdict.tipping[0].sentence if verdict.tipping else ""
    is_open = verdict.verdict == "cannot tell"
    told = told.removeprefix("Cannot tell: ")  # the page calls it not decided
    told = told[:1].upper() + told[1:]
    return replace(
        section,
        found=[] if is_open else [told],
        unknown=[told] if is_open else [],
        verdict=verdict.verdict.capitalize(),
        caveat=f"The estimate depends most on {moved[0][0]}." if moved else tipping or NOT_PROBABILITIES,
        next_step=verdict.settle[0] if verdict.settle else _PUBLISH,
    )


def certificate_section(made: Mapping[str, Any]) -> Section:
    """A certificate on one page: claims and verdicts, data, plan, specifications, settings, and the fields of reporting standards."""
    from howsure.claims.certificates import data_parts

    settings, data, plan = made["settings"], data_parts(made["data"]), made["plan"]
    held = [f"{part['n_rows']:,} rows of {name}, digest {part['digest']}" for name, part in data.items()]
    kept = "kept" if plan["is_planned"] else f"no ({'; '.join(plan['why_not'])})"
    rows = [
        (
            one["claim"],
            one["verdict"],
            f"{one['share_supported']:.0%} of {len(one['status']):,}",
            one["turns_on"] or "–",
            " ".join(one["tipping_points"]),
        )
        for one in made["results"]
    ]
    facts = [
        ("Data", "; ".join(held)),
        ("Plan", kept + (", hash {hash}, written {written}. {data}".format(**plan) if plan.get("hash") else "")),
        (
            "Specifications",
            f"{', '.join(f'{len(one):,}' for one in made['specifications'])}, digest {made['digests']['specifications']}",
        ),
        ("Settings", ", ".join(f"{name} {value}" for name, value in settings.items())),
        ("Version", f"Howsure {made['version']}, {made['machine']}, {made['date']}"),
        ("Command", made["command"]),
    ]
    standards = [
        (
            name,
            "; ".join(f"{what}: {text}" for what, text in part["filled"].items()),
            "; ".join(part["missing"]) or "nothing",
        )
        for name, part in made["reporting"].items()
    ]
    return Section(
        "Certificate",
        [
            TableBlock(
                ("Claim", "Verdict", "Supporting specifications", "Turns on", "Tipping points"), rows, NOT_PROBABILITIES
            ),
            TableBlock(("Part", "What"), facts, "`howsure claims verify` recomputes all of it from the data."),
            TableBlock(("Standard", "Filled in", "Missing"), standards, "Fields of reporting standards, in our words."),
        ],
    )


def _section(found: ClaimCheck, verdict: Verdict, charts: list) -> Section:  # type: ignore[type-arg]
    blocks: list[Block] = [
        KeyNumbers(
            {
                "Verdict": verdict.verdict,
                "Default estimate": estimate_text(verdict, verdict.default),
                "Range over specifications": range_text(verdict),
                "Specifications that support it": f"{verdict.share_supported:.0%} of {verdict.n_specifications:,}",
            }
        ),
        Text("\n\n".join([*summary_lines(verdict, found.level), NOT_PROBABILITIES])),
        *(ChartBlock(chart) for chart in charts),
    ]
    choices = [
        (
            choice.name,
            option.value + (" (default)" if option.value == choice.default else ""),
            choice.question,
            option.reason,
            option.reference,
        )
        for choice in verdict.choices.choices
        for option in choice.options
    ]
    blocks.append(
        TableBlock(("Choice", "Option", "Question", "Reason", "Reference"), choices, "Every option that was computed.")
    )
    if verdict.changes:
        blocks.append(Text("Changed by the user: " + "; ".join(verdict.changes) + "."))
    if verdict.effects:
        effects = [
            (
                one.choice,
                one.option,
                effect_text(verdict, one.effect),
                effect_text(verdict, one.alone),
                f"{one.share_supported:.0%}",
                f"{one.share_supported_default:.0%}",
                one.n_pairs,
            )
            for one in verdict.effects
        ]
        columns = (
            "Choice",
            "Option",
            "Effect over all other choices",
            "Effect alone",
            "Supporting with it",
            "Supporting with the default option",
            "Pairs",
        )
        what = "factor" if verdict.is_ratio else "difference"
        blocks.append(TableBlock(columns, effects, f"Effect of each option ({what}), the largest first."))
    if verdict.interactions:
        pairs = [
            (f"{one.choice_a}: {one.option_a}", f"{one.choice_b}: {one.option_b}", effect_text(verdict, one.effect))
            for one in verdict.interactions
        ]
        blocks.append(
            TableBlock(
                ("Option", "With", "Beyond both effects"),
                pairs,
                "Pairs of options whose joint effect differs from the two single ones.",
            )
        )
    chosen = [
        (one.number, ", ".join(one.options.values()), estimate_text(verdict, one.estimate), one.status)
        for one in verdict.specifications[:_MOST_ROWS]
    ]
    left = verdict.n_specifications - len(chosen)
    more = f" The first {_MOST_ROWS}; {left:,} more are in the download." if left > 0 else ""
    options = ", ".join(choice.name for choice in verdict.choices.choices)
    blocks.append(
        TableBlock(("No.", f"Options ({options})", "Estimate", "Status"), chosen, f"One row per specification.{more}")
    )
    blocks.append(Download("specifications.csv", csv_text(found.to_frame("specifications"))))
    return Section(str(verdict.claim), blocks)
