"""The sentences a paper may use: no stronger than the intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from howsure.estimates import Estimate, chance, stated
from howsure.study.scoring.fidelity import LITE, LITE_RANGE
from howsure.study.verdict import Judgement, overall

if TYPE_CHECKING:
    from howsure.study.scoring.findings import Findings

__all__ = ["blinding_words", "coefficient_words", "in_words", "lite_words", "order_words", "sentence_of", "time_words"]

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def in_words(estimate: Estimate) -> str:
    """A number within a sentence: with its interval, or with the reason why it has none.

    >>> in_words(Estimate.without("too_few", "1 cluster; an interval needs 2", value=7.5))
    '7.50 (no interval: 1 cluster; an interval needs 2)'
    """
    if estimate.value is None:
        return f"not known ({estimate.reason})" if estimate.reason else "not known"
    if estimate.low is None and estimate.high is None:
        number = Estimate(estimate.value, level=estimate.level)
        return f"{number} (no interval{': ' if estimate.reason else ''}{estimate.reason})"
    return str(estimate)


def sentence_of(findings: Findings, judgements: Sequence[Judgement], *, n_all: int) -> str:
    """Who rated what, what came out, and whether the criteria hold."""
    if not findings.raters:
        return (
            f"No rater remains: the rules excluded all {n_all}, so there is no verdict. "
            "The statistics of all raters are given for inspection only."
        )
    return " ".join((_who(findings, n_all), _what(findings), _claim(judgements)))


def lite_words() -> str:
    """The range of the original index."""
    return (
        f"{LITE} = (voice + vibe + logic)/9 runs from {LITE_RANGE[0]:g} to {LITE_RANGE[1]:.2f}; neutral is {4 / 9:.2f}."
    )


def blinding_words(index: Estimate) -> str:
    """What guesses say of blinding."""
    if index.value is None:
        return f"Blinding was not checked: {index.reason}."
    told = f"Bang's blinding index is {in_words(index)} (0: guesses at chance level, 1: all guesses correct)"
    if index.low is None or index.high is None:
        return f"{told}."
    if index.low > 0:
        return f"{told}: raters recognised the target more often than by chance. They may have recognised its voice, which is the effect under study; the index cannot separate that from a failure of blinding."
    if index.high < 0:
        return f"{told}: raters guessed that the comparison was the target more often than by chance."
    return f"{told}: the interval includes chance level."


def time_words(minutes: Estimate, target: tuple[float, float] | None) -> str:
    """Whether raters took the time that was planned."""
    if minutes.value is None:
        return f"The time taken is not known: {minutes.reason}."
    told = f"Mean time per rater, in minutes: {in_words(minutes)}"
    if target is None:
        return f"{told}. No study file was given, so there is no expected time."
    where = "within" if target[0] <= minutes.value <= target[1] else "below" if minutes.value < target[0] else "above"
    return f"{told}; the mean is {where} the target of {target[0]:g} to {target[1]:g}."


def order_words(findings: Findings) -> str:
    """What can be said of the expected order of domains."""
    domains, order = findings.domains, findings.settings.order
    if domains.by_pair is None:
        return f"No order was tested: {domains.order.reason}."
    test = domains.by_pair
    told = f"Expected {order}. Over pairs, Kendall's τ with that order is {in_words(domains.order)}; one-sided {stated('p', test.p)} ({test.method}, {test.n} pairs)."
    if test.least_p > 0.05:
        told += f" Too few pairs: the smallest possible p with so few is {chance(test.least_p)}."
    if domains.by_rater:
        by_rater = domains.by_rater
        told += f" On just these pairs raters follow the order with a mean rank correlation of {by_rater.statistic:.2f}, {stated('p', by_rater.p)} ({by_rater.method}, {by_rater.n} raters)."
    return told


def _who(findings: Findings, n_all: int) -> str:
    n = len(findings.raters)
    left = f" ({n_all - n} of {n_all} were excluded by rules)" if n_all > n else ""
    return f"{_count(n, 'rater').capitalize()}{left} judged {_count(len(findings.pairs), 'pair')}."


def _what(findings: Findings) -> str:
    statistics, level = findings.statistics, findings.settings.level
    agreement = findings.reliability.get("pfi")
    parts = [f"mean fidelity was {in_words(statistics['pfi'])}"]
    if agreement:
        parts.append(
            f"the reliability of the raters' mean, {coefficient_words(agreement.report)}, was {in_words(agreement.coefficients[agreement.report])}"
        )
    if findings.model:
        ceiling = findings.model.ceiling
        limit = f", with a noise ceiling of {in_words(ceiling)}" if ceiling.value is not None else ""
        parts.append(
            f"the correlation with the model's scores over {findings.model.n_pairs} pairs was {in_words(statistics['pearson'])}{limit}"
        )
    told = "; ".join(parts)
    return f"{told[0].upper()}{told[1:]} (brackets: {level:.0%} intervals)."


def _claim(judgements: Sequence[Judgement]) -> str:
    """As much as the verdict carries."""
    failed = [one.criterion for one in judgements if one.verdict == "fail"]
    missing = [one.criterion for one in judgements if one.verdict == "inconclusive"]
    if overall(judgements) == "pass":
        return "The whole interval of every criterion meets its threshold: human judgement supports the claim."
    if failed:
        listed = " and ".join(one.label for one in failed)
        return f"The claim is not supported: {listed} {'fails' if len(failed) == 1 else 'fail'}, because the whole interval misses the threshold."
    listed = ", ".join(one.label for one in missing)
    held = len(judgements) - len(missing)
    return f"The data do not decide the claim: {held} of {len(judgements)} criteria {_verb(held)} met; inconclusive: {listed}."


def _verb(n: int) -> str:
    return "is" if n == 1 else "are"


def coefficient_words(name: str) -> str:
    """A coefficient of agreement as texts name it.

    >>> coefficient_words("icc_2_k"), coefficient_words("gwet_ac2_linear")
    ('ICC(2,k)', "Gwet's AC2 (linear)")
    """
    if name.startswith("icc_"):
        return f"ICC({name[4]},{name[6]})"
    author, _, form = name.partition("_")
    if author == "krippendorff":
        return f"Krippendorff's alpha ({form})"
    return _COEFFICIENTS.get(name, name.replace("_", " "))


_COEFFICIENTS = {
    "cronbach_alpha": "Cronbach's alpha",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2_linear": "Gwet's AC2 (linear)",
    "gwet_ac2_quadratic": "Gwet's AC2 (quadratic)",
    "fleiss_kappa": "Fleiss' kappa",
    "percent_agreement": "share of agreement",
    "span_overlap": "overlap of spans (Dice)",
    "kendall_tau": "mean Kendall's τ between raters",
}


def _count(n: int, one: str) -> str:
    word = _NUMBERS[n] if n < len(_NUMBERS) else f"{n:,}"
    return f"{word} {one if n == 1 else one + 's'}"
