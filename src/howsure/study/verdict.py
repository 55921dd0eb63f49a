"""Whether criteria hold: by the whole interval, never by the point alone."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, stated
from howsure.yaml_files import Document, read_yaml

__all__ = [
    "CRITERIA",
    "Criterion",
    "Direction",
    "Judgement",
    "Verdict",
    "judge_all",
    "judge_criterion",
    "overall",
    "read_criteria",
    "require_criterion",
]

Verdict = Literal["pass", "fail", "inconclusive", "no verdict"]
Direction = Literal["at_least", "at_most"]


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


def read_criteria(path: str | os.PathLike[str]) -> tuple[Criterion, ...]:
    """Criteria from a YAML file: a list of ``name``, ``statistic``, ``threshold`` and ``direction`` (default: at_least).

    Parameters
    ----------
    path : str or path
        The file.
    """
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
    found = re.fullmatch(r"\s*(\S.*?)\s*(>=|≥|<=|≤)\s*([-+]?[0-9.]+)\s*", text)
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
