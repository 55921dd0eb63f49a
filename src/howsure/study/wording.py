"""The sentences a paper may use: no stronger than the intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from howsure.estimates import Estimate, chance, stated
from howsure.study.fidelity import LITE, LITE_RANGE
from howsure.study.verdict import Judgement, overall

if TYPE_CHECKING:
    from howsure.study.findings import Findings

__all__ = ["blinding_words", "lite_words", "order_words", "sentence_of", "time_words"]

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def sentence_of(findings: Findings, judgements: Sequence[Judgement], *, n_all: int) -> str:
    """Who rated what, what came out, and whether the criteria hold."""
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
    told = f"Bang's blinding index is {index} (0 is chance, 1 all guesses right)"
    if index.low is None or index.high is None:
        return f"{told}; its interval is open, so it says little."
    if index.low > 0:
        return f"{told}: raters could tell the target. Its voice alone may have told them, which is the effect under study; leaks are what is left when voice cannot tell."
    if index.high < 0:
        return f"{told}: raters took the comparison for the target more often than chance would."
    return f"{told}: guesses are compatible with chance, and with all in the interval."


def time_words(minutes: Estimate, target: tuple[float, float]) -> str:
    """Whether raters took the time that was planned."""
    if minutes.value is None:
        return f"Time is not known: {minutes.reason}."
    where = "within" if target[0] <= minutes.value <= target[1] else "below" if minutes.value < target[0] else "above"
    return f"Raters took {minutes} minutes on average, {where} the target of {target[0]:g}–{target[1]:g}."


def order_words(findings: Findings) -> str:
    """What can be said of the expected order of domains."""
    domains, order = findings.domains, findings.settings.order
    if domains.by_pair is None:
        return f"No order was tested: {domains.order.reason}."
    test = domains.by_pair
    told = f"Expected {order}. Over pairs, Kendall's τ with that order is {domains.order}; one-sided {stated('p', test.p)} ({test.method}, {test.n} pairs)."
    if test.least_p > 0.05:
        told += f" Too few pairs: the smallest p that so few can give is {chance(test.least_p)}."
    if domains.by_rater:
        by_rater = domains.by_rater
        told += f" On these very pairs raters follow the order with a mean rank correlation of {by_rater.statistic:.2f}, {stated('p', by_rater.p)} ({by_rater.method}, {by_rater.n} raters)."
    return told


def _who(findings: Findings, n_all: int) -> str:
    n = len(findings.raters)
    left = f" ({n_all - n} of {n_all} were excluded by rules)" if n_all > n else ""
    return f"{_count(n, 'rater').capitalize()}{left} judged {_count(len(findings.pairs), 'pair')}."


def _what(findings: Findings) -> str:
    figures, level = findings.figures, findings.settings.level
    agreement = findings.reliability.get("pfi")
    parts = [f"mean fidelity was {figures['pfi']}"]
    if agreement:
        parts.append(
            f"the reliability of the raters' mean was {agreement.coefficients[agreement.report]} ({_icc(agreement.report)})"
        )
    if findings.model:
        ceiling = findings.model.ceiling
        limit = f", with a noise ceiling of {ceiling}" if ceiling.value is not None else ""
        parts.append(
            f"the correlation with the model's scores was {figures['pearson']} over {findings.model.n_pairs} pairs{limit}"
        )
    told = "; ".join(parts)
    return f"{told[0].upper()}{told[1:]} (brackets: {level:.0%} intervals)."


def _claim(judgements: Sequence[Judgement]) -> str:
    """As much as the verdict carries."""
    failed = [one.criterion for one in judgements if one.verdict == "fail"]
    missing = [one.criterion for one in judgements if one.verdict == "inconclusive"]
    if overall(judgements) == "pass":
        return "Every criterion holds over its whole interval: human judgement supports the claim."
    if failed:
        listed = ", ".join(f"{one.name} ({one})" for one in failed)
        return f"The claim is not supported: {listed} {'fails' if len(failed) == 1 else 'fail'}, because the whole interval misses the threshold."
    listed = ", ".join(f"{one.name} ({one})" for one in missing)
    held = len(judgements) - len(missing)
    return f"The data do not decide the claim: {held} of {len(judgements)} criteria {_verb(held)} met, and {listed} {'remains' if len(missing) == 1 else 'remain'} undecided."


def _verb(n: int) -> str:
    return "is" if n == 1 else "are"


def _icc(name: str) -> str:
    return f"ICC({name[4]},{name[6]})"


def _count(n: int, one: str) -> str:
    word = _NUMBERS[n] if n < len(_NUMBERS) else f"{n:,}"
    return f"{word} {one if n == 1 else one + 's'}"
