"""Claims as one line of YAML and as objects: what is claimed, about which model, against which threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.yaml_files import read_yaml

__all__ = ["KINDS", "Claim", "ClaimFile", "read_claims"]

KINDS = {
    "level": "the mean score of a model is at least (at most) so much",
    "difference": "the mean score of a model is higher than that of another, by at least so much",
    "rank": "a model is among the first so many, or in the first tier",
    "horizon": "the time horizon of a model is at least so many minutes, or longer than that of another",
    "trend": "the time horizon of the frontier doubles in at most (at least) so many days or months",
    "scale": "a model is more capable than another, on one scale of many benchmarks; or a benchmark is saturated by a year",
    "agreement": "raters agree at least so well, or a judge may replace a rater",
    "corrected rate": "the success rate of a model, corrected for a judge's errors by people's labels, is at least (at most) so much",
    "turns": "a player gives at least so many correct answers before its first error, or more than another (Track the Stat)",
}
"""The kinds of claims that can be checked."""

_WITHOUT_MODEL = ("trend", "agreement")
_DAYS = {"days": 1.0, "months": 365.25 / 12}
_ONLY = {
    "on": ("level", "difference", "rank", "agreement", "turns"),
    "success_rate": ("horizon", "trend"),
    "tier": ("rank",),
    "benchmark": ("scale",),
    "reach": ("scale",),
    "coefficient": ("agreement",),
    "unit": ("trend",),
}
"""Keys that only some kinds have."""
_EXAMPLES = {"level": "at_least: 0.8", "corrected rate": "at_least: 0.6", "trend": "at_most: 210"}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    model : str
        The model it is about; a ``trend`` is about all of them, and ``agreement`` names the judge that may replace a rater, or nobody.
    than : str, optional
        The model it is compared with (``difference``; ``horizon``; ``scale``; ``turns``).
    at_least : float, optional
        Threshold: a mean score, a rate, a coefficient, turns, days, minutes, a difference of means, capabilities or turns, or of horizons with ``than`` a ratio. Without it, with ``than``: any advantage.
    at_most : float, optional
        Threshold from above; of ``rank`` the lowest place.
    on : str, optional
        One eval (domain), the dimension of ratings, or the board of games; without it, all.
    success_rate : float
        At which horizons are read, between 0 and 1.
    tier : bool
        Of ``rank``: the first tier instead of a place.
    benchmark : str
        Of ``scale``, instead of models: the benchmark that is saturated by the year ``at_most``.
    reach : float
        The score, between 0 and 1, at which a benchmark counts as saturated.
    coefficient : str
        Of ``agreement``: a coefficient of `howsure study reliability`; by default the one that it says to report.
    unit : str
        Of the threshold of a ``trend``: ``days`` or ``months``.
    name : str
        How the claim is called in tables; by default its own sentence.

    Examples
    --------
    >>> print(Claim(kind="horizon", model="o1", at_least=30))
    The 50 % time horizon of o1 is at least 30 minutes.
    >>> print(Claim(kind="horizon", model="o1", than="GPT-4o"))
    The 50 % time horizon of o1 is longer than that of GPT-4o.
    """

    kind: str
    model: str = ""
    than: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    on: str | None = None
    success_rate: float = 0.5
    tier: bool = False
    benchmark: str = ""
    reach: float = 0.5
    coefficient: str = ""
    unit: str = "days"
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise OptionError.unknown("kind of claim", self.kind, KINDS)
        for is_wrong, told in self._rules():
            if is_wrong:
                raise OptionError(told)
        if self.unit not in _DAYS:
            raise OptionError.unknown("unit of a trend", self.unit, _DAYS)

    def _rules(self) -> Iterator[tuple[bool, str]]:
        """What a claim must not be, each with what to say."""
        kind, has_threshold = self.kind, self.at_least is not None or self.at_most is not None
        given = (self.at_least or 0.0) + (self.at_most or 0.0)
        is_one = kind in ("level", "rank", "corrected rate")
        is_dated = kind == "scale" and bool(self.benchmark)
        yield (
            not self.model and kind not in _WITHOUT_MODEL and not is_dated,
            "A claim names the model it is about: model: NAME.",
        )
        yield (
            kind == "trend" and bool(self.models),
            "A claim of a trend is about the frontier of all models; it names none.",
        )
        yield (
            self.at_least is not None and self.at_most is not None,
            "A claim has at_least or at_most, not both. Write two claims.",
        )
        for key in ("at_least", "at_most", "success_rate", "reach"):
            number = getattr(self, key)
            yield (
                number is not None and not math.isfinite(number),
                f"{key} is {number}, which is no number to compare with. Write one, such as 0.8.",
            )
        yield not 0 < self.success_rate < 1, f"success_rate {self.success_rate:g} is not between 0 and 1."
        yield kind == "difference" and self.than is None, "A claim of a difference names the other model: than: NAME."
        yield (
            kind == "scale" and self.than is None and not is_dated,
            "A claim of a scale names the other model (than: NAME), or a benchmark that is saturated by a year (benchmark: NAME, at_most: 2027).",
        )
        yield (
            is_dated and (bool(self.models) or self.at_most is None),
            "A claim of saturation names a benchmark, no model, and the year by whose start it is saturated: at_most: 2027.",
        )
        yield not 0 < self.reach < 1, f"reach {self.reach:g} is not between 0 and 1."
        yield (
            is_one and self.than is not None,
            f"A claim of the kind {kind!r} is about one model. With than, choose difference or horizon.",
        )
        yield (
            kind in _EXAMPLES and not has_threshold,
            f"A claim of the kind {kind!r} has a threshold: {_EXAMPLES.get(kind)}, for example.",
        )
        yield (
            kind == "horizon" and self.than is None and not has_threshold,
            "A claim of a horizon has a threshold in minutes (at_least: 60) or another model (than: NAME).",
        )
        yield (
            kind == "rank" and self.at_least is not None,
            "A claim of a rank has at_most: 1 (first), 3 (among the first three), or tier: true.",
        )
        yield (
            kind == "rank" and self.at_most is not None and (self.at_most < 1 or self.at_most % 1 != 0),
            f"at_most of a rank is a place, a whole number from 1 on, not {given:g}.",
        )
        yield (
            kind == "corrected rate" and not 0 <= given <= 1,
            f"A rate is between 0 and 1, not {given:g}. Divide percentages by 100.",
        )
        yield kind == "agreement" and given > 1, f"No coefficient of agreement is above 1; {given:g} is."
        yield self.tier and has_threshold, "A claim of a rank has at_most or tier: true, not both. Write two claims."
        yield kind in ("horizon", "trend") and has_threshold and given <= 0, f"The threshold of a {kind} is above 0."
        yield (
            kind == "turns" and self.than is None and not has_threshold,
            "A claim of turns has a threshold (at_least: 20) or another player (than: NAME).",
        )
        yield (
            kind == "agreement" and not self.model and not has_threshold,
            "A claim of agreement has a threshold (at_least: 0.75), or names a judge that may replace a rater (model: NAME).",
        )
        yield (
            kind == "agreement" and bool(self.model) and (has_threshold or self.than is not None),
            "That a judge may replace a rater is a test, without than, at_least and at_most.",
        )
        for key in sorted(self.as_dict().keys() & _ONLY.keys()):
            yield kind not in _ONLY[key], f"{key} has no meaning in a claim of the kind {kind!r}. Remove it."
        yield bool(self.model) and self.than == self.model, f"{self.model!r} is compared with itself. Name two models."

    @property
    def threshold(self) -> float:
        """The number it is compared with, on the scale on which it is told."""
        given = self.at_least if self.at_least is not None else self.at_most
        if given is not None:
            return float(given) * (_DAYS[self.unit] if self.kind == "trend" else 1.0)
        return {"horizon": 1.0, "rank": 1.0, "agreement": 0.5}.get(self.kind, 0.0)

    @property
    def is_at_least(self) -> bool:
        """Whether larger values support it."""
        return self.at_most is None and self.kind != "rank"

    @property
    def is_strict(self) -> bool:
        """Whether a value equal to the threshold does not support it: an advantage of nothing is none."""
        return self.than is not None and self.at_least is None and self.at_most is None

    def holds_at(self, value: Any) -> Any:
        """Whether a value of its quantity, or each of an array, is on the side of the threshold that it claims."""
        if not self.is_at_least:
            return value <= self.threshold
        return value > self.threshold if self.is_strict else value >= self.threshold

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it names."""
        return tuple(name for name in (self.model, self.than) if name)

    def __str__(self) -> str:
        given = self.threshold if self.kind != "trend" else self.at_least if self.at_most is None else self.at_most
        model, than, bound = self.model, self.than, f"{'at least' if self.is_at_least else 'at most'} {given:g}"
        where = f" on {self.on}" if self.on else ""
        rank = "in the first tier" if self.tier else "first" if given == 1 else f"among the first {given:g}"
        horizon = f"The {100 * self.success_rate:g} % time horizon of"
        ratio = f"longer than that of {than}" if self.is_strict else f"{bound} times that of {than}"
        ahead = f"The capability of {model} is {bound} above that of {than}."
        which = f" ({self.coefficient})" if self.coefficient else ""
        saturated = f"A model reaches a score of {self.reach:g} on {self.benchmark} by the start of {given:g}."
        turns = "correct answers on average before its first error"
        return {
            "level": f"The mean score of {model}{where} is {bound}.",
            "difference": f"{model} scores higher than {than}{where}{'' if self.is_strict else f' by {bound}'}.",
            "rank": f"{model} is {rank}{where}.",
            "horizon": f"{horizon} {model} is {f'{bound} minutes' if than is None else ratio}.",
            "trend": f"{horizon} the frontier doubles in {bound} {self.unit}.",
            "scale": saturated if self.benchmark else f"{model} is more capable than {than}." if self.is_strict else ahead,
            "agreement": f"{model} may replace a rater{where}." if model else f"The agreement of the raters{where}{which} is {bound}.",
            "corrected rate": f"The success rate of {model}, corrected for the judge's errors, is {bound}.",
            "turns": f"{model} gives {bound} {turns}{where}." if than is None else f"{model} gives {'more' if self.is_strict else f'{bound} more'} {turns} than {than}{where}.",
        }[self.kind]  # fmt: skip

    @property
    def label(self) -> str:
        """Its name, or its sentence."""
        return self.name or str(self)

    def as_dict(self) -> dict[str, Any]:
        """Its keys in YAML: those that are not the default."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}


@dataclass(frozen=True)
class ClaimFile:
    """The claims of a file, and the user's changes of choices: name, add or remove, and reason of each."""

    claims: tuple[Claim, ...]
    changes: tuple[Mapping[str, str], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As YAML has it."""
        return {"claims": [claim.as_dict() for claim in self.claims], "choices": [dict(one) for one in self.changes]}


@checked
def read_claims(source: Path | str | Mapping[str, Any] | Sequence[Any] | Claim | ClaimFile) -> ClaimFile:
    """Claims from a YAML file, from its content, or from objects.

    Parameters
    ----------
    source : path, mapping, sequence, Claim or ClaimFile
        A file with a list ``claims`` and, where options are added or removed, a list ``choices``; its content; or claims.
    """
    if isinstance(source, ClaimFile):
        return source
    if isinstance(source, Claim):
        return ClaimFile((source,))
    if isinstance(source, str | Path):
        document = read_yaml(Path(source))
        return _parsed(document.value, lambda place: f"{source}{document.line_of(place)}: ")
    return _parsed(source, lambda place: "")


def _parsed(content: Any, where: Any) -> ClaimFile:
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = {"claims": content}
    if not isinstance(content, Mapping) or not isinstance(content.get("claims"), Sequence) or not content["claims"]:
        raise InputError(
            f"{where(())}no list 'claims'. Write one line per claim: - {{kind: horizon, model: o1, at_least: 30}}."
        )
    for key in content:
        if key not in ("claims", "choices"):
            raise InputError(f"{where((key,))}{OptionError.unknown('key', str(key), ('claims', 'choices'))}")
    known = {one.name for one in fields(Claim)}
    claims = []
    for place, one in enumerate(content["claims"]):
        at = where(("claims", place))
        if isinstance(one, Claim):
            claims.append(one)
            continue
        if not isinstance(one, Mapping) or "kind" not in one:
            raise InputError(f"{at}a claim has at least a kind: - {{kind: level, model: NAME, at_least: 0.8}}.")
        try:
            for key in one:
                if key not in known:
                    raise OptionError.unknown("key of a claim", str(key), sorted(known))
            given = {key: _typed(str(key), value) for key, value in one.items()}
            claims.append(Claim(**{key: value for key, value in given.items() if value is not None}))
        except OptionError as error:
            raise InputError(f"{at}{error}") from None
    labels = [claim.label for claim in claims]
    for place, label in enumerate(labels):
        if label in labels[:place]:
            raise InputError(
                f"{where(('claims', place))}the claim {label!r} is there twice. Leave one out, or give it another name."
            )
    return ClaimFile(tuple(claims), _changes(content.get("choices") or (), where))


def _changes(listed: Any, where: Any) -> tuple[Mapping[str, str], ...]:
    """The user's changes of choices."""
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise InputError(
            f"{where(('choices',))}choices is a list, with one line per change: - {{choice: limits, remove: drop, reason: why}}."
        )
    changes = []
    for place, change in enumerate(listed):
        if not isinstance(change, Mapping) or not {"choice", "reason"} <= set(change) <= {
            "choice",
            "add",
            "remove",
            "reason",
        }:
            raise InputError(
                f"{where(('choices', place))}a change of a choice reads {{choice: limits, remove: drop, reason: why}}; add instead of remove adds an option."
            )
        changes.append({str(key): str(value) for key, value in change.items()})
    return tuple(changes)


def _typed(key: str, value: Any) -> Any:
    """The value of a key, as its type; None where the file has nothing after a key that takes text."""
    if key in ("at_least", "at_most", "success_rate", "reach"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise OptionError(f"{key} is {value!r}; write a number (minutes, a score from 0 to 1, or a ratio).")
        return float(value)
    if key == "tier":
        if not isinstance(value, bool):
            raise OptionError(f"tier is {value!r}; write true or false.")
        return value
    return None if value is None else str(value)
