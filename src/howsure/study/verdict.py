"""Whether criteria hold: by the whole interval, never by the point alone."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, chance, stated
from howsure.study.inputs import PATH, check_type
from howsure.study.scoring.fidelity import LITE, LITE_RANGE
from howsure.tables.frames import as_list
from howsure.yaml_files import Document, read_yaml

if TYPE_CHECKING:
    from howsure.study.scoring.findings import Findings

__all__ = [
    "CRITERIA",
    "Criteria",
    "Criterion",
    "Direction",
    "Judgement",
    "Verdict",
    "blinding_words",
    "coefficient_words",
    "criteria_of",
    "in_words",
    "judge_all",
    "judge_criterion",
    "lite_words",
    "order_words",
    "overall",
    "read_criteria",
    "require_criterion",
    "sentence_of",
    "time_words",
]

Verdict = Literal["pass", "fail", "inconclusive", "no verdict"]
Direction = Literal["at_least", "at_most"]
_LINE = re.compile(r"\s*(\S.*?)\s*(>=|≥|<=|≤)\s*([-+]?[0-9.]+)\s*")


def judge_criterion(estimate: Estimate, threshold: float, direction: Direction = "at_least") -> Verdict:
    """``pass`` when the whole interval meets the threshold, ``fail`` when none of it does, else ``inconclusive``.

    An open end, or a statistic without an interval, decides nothing: a point estimate alone is inconclusive.

    >>> judge_criterion(Estimate(0.81, 0.77, 0.85), 0.75)
    'pass'
    >>> judge_criterion(Estimate(0.90, 0.55, 0.98), 0.75)
    'inconclusive'
    """
    low, high = estimate.low, estimate.high
    if direction == "at_most":
        low, high, threshold = _mirrored(high), _mirrored(low), -threshold
    if low is not None and low >= threshold:
        return "pass"
    return "fail" if high is not None and high < threshold else "inconclusive"


@dataclass(frozen=True)
class Criterion:
    """A statistic of an analysis and the threshold that it must reach.

    Parameters
    ----------
    name : str
        Name of the criterion.
    statistic : str
        Name of the statistic.
    threshold : float
        The threshold.
    direction : Direction
        ``at_least`` or ``at_most``.
    """

    name: str
    statistic: str
    threshold: float
    direction: Direction = "at_least"

    def __str__(self) -> str:
        return self._requires(self.statistic)

    @property
    def label(self) -> str:
        """What is required, under the criterion's name where that is not the statistic's own: ``mean human fidelity ≥ 0.75``."""
        return str(self) if self.statistic in self.name else self._requires(self.name)

    def _requires(self, what: str) -> str:
        return f"{what} {'≥' if self.direction == 'at_least' else '≤'} {self.threshold:g}"


Criteria: TypeAlias = "Criterion | str | os.PathLike[str] | Sequence[Criterion | str]"
"""What functions take as criteria; see `criteria_of`."""

CRITERIA = (
    Criterion("inter-rater reliability", "pfi.cronbach_alpha", 0.75),
    Criterion("model–human correlation", "pearson", 0.70),
    Criterion("mean human fidelity", "pfi", 0.75),
    Criterion("domain pattern", "domain_difference", 0.0),
    Criterion("combined fidelity", "pfi_combined", 0.80),
)
"""The bundled protocol's: four criteria of success, and the target for the combined score."""


@dataclass(frozen=True)
class Judgement:
    """A criterion, the statistic it was compared with, the result, and the p value of the statistic against 0 where it has one."""

    criterion: Criterion
    estimate: Estimate
    verdict: Verdict
    p: float | None = None

    @property
    def reason(self) -> str:
        """Why, in words."""
        if self.verdict == "no verdict" or self.estimate.low is None or self.estimate.high is None:
            return self.estimate.reason or "the statistic has no interval"
        at_least = self.criterion.direction == "at_least"
        words = {
            "pass": "the whole interval meets the threshold",
            "fail": f"the {'upper' if at_least else 'lower'} limit is {'below' if at_least else 'above'} the threshold",
            "inconclusive": "the interval includes the threshold",
        }
        return words[self.verdict] + ("" if self.p is None else f"; {stated('p', self.p)} against 0")


def judge_all(
    statistics: Mapping[str, Estimate],
    criteria: Sequence[Criterion] = CRITERIA,
    *,
    has_raters: bool = True,
    p_values: Mapping[str, float | None] | None = None,
) -> tuple[Judgement, ...]:
    """Every criterion compared with its statistic; ``no verdict`` on any of them where no rater remains.

    ``p_values`` has those of the statistics that were tested against 0, such as ``pearson``.
    """
    for one in criteria:
        if one.statistic not in statistics:
            raise OptionError.unknown("statistic", one.statistic, list(statistics))
    return tuple(
        Judgement(
            one,
            statistics[one.statistic],
            judge_criterion(statistics[one.statistic], one.threshold, one.direction) if has_raters else "no verdict",
            (p_values or {}).get(one.statistic) if has_raters else None,
        )
        for one in criteria
    )


def overall(judgements: Sequence[Judgement]) -> Verdict:
    """``pass`` when all pass, ``fail`` when one fails, ``no verdict`` where there is none, else ``inconclusive``."""
    found = {one.verdict for one in judgements}
    if "no verdict" in found:
        return "no verdict"
    return "fail" if "fail" in found else "pass" if found == {"pass"} else "inconclusive"


def criteria_of(criteria: Criteria, *, may_be_none: bool = False) -> tuple[Criterion, ...]:
    """Criteria as they are, from lines such as ``"mean:quality >= 3.5"``, or from a YAML file.

    Parameters
    ----------
    criteria : Criterion, str, path, or sequence of Criterion and str
        A text with ``>=`` or ``<=`` is one criterion; another text, or a path, is a file.
    may_be_none : bool
        Whether an empty sequence is allowed.
    """
    if isinstance(criteria, os.PathLike) or (isinstance(criteria, str) and not _LINE.fullmatch(criteria)):
        return read_criteria(criteria)
    found = tuple(require_criterion(one) if isinstance(one, str) else one for one in as_list(criteria))
    for one in found:
        check_type(
            "criteria", one, Criterion, "Criterion objects, lines such as 'mean:quality >= 3.5', or one YAML file"
        )
    if not found and not may_be_none:
        raise OptionError("criteria is empty; give at least one, such as 'mean:quality >= 3.5'.")
    return found


def read_criteria(path: str | os.PathLike[str]) -> tuple[Criterion, ...]:
    """Criteria from a YAML file: a list of ``name``, ``statistic``, ``threshold`` and ``direction`` (default: at_least).

    Parameters
    ----------
    path : str or path
        The file.
    """
    check_type("path", path, PATH, "the path of a YAML file")
    document = read_yaml(Path(path))
    listed = document.value
    if not isinstance(listed, list) or not listed:
        raise InputError(
            f"{path}: not a list of criteria. Write `- name: …` with statistic, threshold and direction below."
        )
    found = tuple(_criterion(document, place, entry) for place, entry in enumerate(listed))
    names = [one.name for one in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{path}: two criteria are called {twice!r}. Give each a different name.")
    return found


def require_criterion(text: str) -> Criterion:
    """A criterion from one line.

    >>> require_criterion("mean:quality >= 3.5")
    Criterion(name='mean:quality >= 3.5', statistic='mean:quality', threshold=3.5, direction='at_least')

    Parameters
    ----------
    text : str
        Statistic, >= or <=, and a number.
    """
    found = _LINE.fullmatch(text)
    if not found:
        raise OptionError(
            f"{text!r} is no criterion. Write a statistic, >= or <=, and a number, as in 'mean:quality >= 3.5'."
        )
    return Criterion(text.strip(), found[1], float(found[3]), "at_least" if found[2] in (">=", "≥") else "at_most")


def _criterion(document: Document, place: int, entry: Any) -> Criterion:
    where = f"{document.path}{document.line_of([place])}"
    if not isinstance(entry, dict):
        raise InputError(f"{where}: a criterion has name, statistic and threshold; this is {entry!r}.")
    fields: dict[str, type | tuple[type, ...]] = {
        "name": str,
        "statistic": str,
        "threshold": (int, float),
        "direction": str,
    }
    if strange := next((name for name in entry if name not in fields), None):
        raise InputError(f"{where}: {strange!r} is not a field of a criterion. Choose from: {', '.join(fields)}.")
    given = {"direction": "at_least", **entry}
    for name, kind in fields.items():
        if not isinstance(given.get(name), kind) or isinstance(given[name], bool):
            raise InputError(
                f"{where}: {name} is {given.get(name)!r}; write {'a number' if name == 'threshold' else 'a text'}."
            )
    if given["direction"] not in get_args(Direction):
        raise InputError(f"{where}: direction {given['direction']!r} is neither at_least nor at_most.")
    return Criterion(**given)


def _mirrored(number: float | None) -> float | None:
    return None if number is None else -number


# The sentences a paper may use: no stronger than the intervals.


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
        return f"{told}: raters recognised the target more often than random guessing would. They may have recognised its voice, which is the effect under study; the index cannot distinguish this from a failure of blinding."
    if index.high < 0:
        return f"{told}: raters guessed more often than random guessing would that the comparison was the target."
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
        return f"The claim is not supported: {listed} {'fails' if len(failed) == 1 else 'fail'}, because the whole interval is on the wrong side of the threshold."
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
