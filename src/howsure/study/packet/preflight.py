"""Pre-flight: what would give the conditions away, tilt the comparison or wear raters out, found before anyone rates."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar, Literal

import polars as pl

from howsure.results import Provenance, Result
from howsure.study.packet.design import AGAIN, arrange, design_frame
from howsure.study.protocol import Study

__all__ = ["CHECKS", "Preflight", "PreflightCheck", "check"]

State = Literal["pass", "warn", "fail"]

_SHARED_RUN = 8  # words in a row that two texts do not share by chance
_LENGTH_WARN, _LENGTH_FAIL = 1.25, 2.0
_SHORT_GOLD = 30
_LONG_SITTING = 30  # minutes
_DIGITS = 9

_MACHINE = re.compile(
    r"\b(as an? (AI|artificial intelligence|language model|assistant)|language model|AI assistant|my training data|"
    r"(Chat)?GPT(-?\d\w*)?|OpenAI|Anthropic|Claude|Gemini|Llama|Mistral|DeepSeek|Qwen|Grok)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\b(target|comparison|baseline|control|treatment|condition)( response| text)?\s*[:\]]", re.IGNORECASE
)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}\b|\b[A-Z][a-z]+[A-Z]\w+\b")
_MARKDOWN = {
    "headings": re.compile(r"^#{1,6} ", re.MULTILINE),
    "lists": re.compile(r"^\s*([-*•]|\d+[.)]) ", re.MULTILINE),
    "bold or italics": re.compile(r"\*\*\S|__\S|(?<!\w)\*\w"),
    "code": re.compile(r"`"),
    "tables": re.compile(r"^\|.*\|\s*$", re.MULTILINE),
    "em dashes": re.compile("—"),
    "curly quotes": re.compile("[“”‘’]"),
    "emoji": re.compile("[\U0001f300-\U0001faff☀-➿]"),
    "invisible characters": re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]"),
}


@dataclass(frozen=True)
class PreflightCheck:
    """One line of the list: what was looked at, how it stands, what was found and what to do."""

    name: str
    state: State
    message: str

    def __str__(self) -> str:
        return f"{self.state}  {self.name}: {self.message}"


@dataclass(frozen=True, kw_only=True)
class Preflight(Result):
    """All checks of a study; `is_ready` if none fails. Table ``check``: one row per check (check, state, message).

    Parameters
    ----------
    checks : tuple[PreflightCheck, ...]
        The checks.
    minutes : float
        Expected minutes per rater.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "preflight"
    checks: tuple[PreflightCheck, ...]
    minutes: float
    provenance: Provenance

    @property
    def is_ready(self) -> bool:
        """Whether nothing fails; warnings are for the author to weigh."""
        return all(check.state != "fail" for check in self.checks)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``check``."""
        rows = [(one.name, one.state, one.message) for one in self.checks]
        return {"check": pl.DataFrame(rows, ["check", "state", "message"], orient="row")}

    def as_dict(self) -> dict[str, Any]:
        """The table, whether the study is ready, and the expected minutes per rater."""
        return {**super().as_dict(), "is_ready": self.is_ready, "minutes": self.minutes}


def check(study: Study | str | os.PathLike[str], *, n_raters: int = 7) -> Preflight:
    """Check a study before anyone rates: what would reveal the conditions, bias the comparison or tire raters.

    Parameters
    ----------
    study : Study or path
        The study, or its YAML file.
    n_raters : int
        How many people will rate.

    Returns
    -------
    Preflight
        One row per check, each with the state pass, warn or fail.
    """
    study = Study.of(study)
    checks = tuple(check for look in CHECKS for check in look(study, n_raters))
    provenance = Provenance({"n_raters": n_raters}, digest=study.digest, seed=study.seed)
    return Preflight(checks=checks, minutes=round(study.expected_minutes, 1), provenance=provenance)


# the checks, in the order of the list


def _gold(study: Study, n_raters: int) -> Iterator[PreflightCheck]:
    name = "gold standard"
    if (n_words := _n_words(study.gold)) < _SHORT_GOLD:
        yield PreflightCheck(
            name, "warn", f"{n_words} words are few for raters to learn the style from. Give {_SHORT_GOLD} or more."
        )
    runs = _runs(study.gold)
    shared = [f"{pair.id} ({role})" for pair in study.pairs for role, text in _both(pair) if runs & _runs(text)]
    same = [
        f"{pair.id} ({role})"
        for pair in study.pairs
        for role, text in _both(pair)
        if _plain(study.gold) in _plain(text)
    ]
    if same:
        yield PreflightCheck(
            name, "fail", f"it is among the responses: {_some(same)}. Replace the pair or the gold standard."
        )
    elif shared:
        yield PreflightCheck(
            name, "fail", f"{_SHARED_RUN} or more of its words in a row are in {_some(shared)}. Replace one of them."
        )
    else:
        yield PreflightCheck(name, "pass", f"{n_words} words, and no response repeats it.")
    if not study.characteristics:
        yield PreflightCheck(
            "characteristics", "warn", "none are given. Say in a line or two what raters should look for."
        )


def _balance(study: Study, n_raters: int) -> Iterator[PreflightCheck]:
    frame = design_frame([str(n) for n in range(n_raters)], arrange(study, n_raters))
    first = frame.drop_nulls("target").filter(~pl.col("item").str.ends_with(AGAIN))
    slots = first.group_by("item").agg((pl.col("target") == 1).sum().alias("first"))["first"].to_list()
    places = first.with_columns(pl.col("item").cum_count().over("rater").alias("place"))
    most = max(places.group_by("item", "place").len()["len"].to_list())
    told = (
        f"over {n_raters} raters the target is in slot 1 {min(slots)} to {max(slots)} times a pair, "
        f"and no pair comes at one place more than {most} times."
    )
    if n_raters < 2:
        yield PreflightCheck(
            "randomisation", "warn", "one order for all: slots are balanced over pairs, not over raters."
        )
    elif max(slots) - min(slots) > 1:
        yield PreflightCheck("randomisation", "fail", told)
    else:
        odd = " An even number of raters would balance it exactly." if n_raters % 2 else ""
        yield PreflightCheck("randomisation", "pass", told + odd)
    if not study.seed:
        yield PreflightCheck(
            "seed", "warn", "0 is the default, so anyone can work out the slots. Choose another number."
        )


def _identity(study: Study, n_raters: int) -> Iterator[PreflightCheck]:
    found: dict[str, list[str]] = {"target": [], "comparison": []}
    for pair in study.pairs:
        for role, text in _both(pair):
            marks = [match[0].strip(" :]") for pattern in (_MACHINE, _LABEL) for match in pattern.finditer(text)]
            found[role] += [f"{pair.id} ({role}): {mark!r}" for mark in dict.fromkeys(marks)]
    told = [*found["target"], *found["comparison"]]
    if told:
        is_one_sided = not (found["target"] and found["comparison"])
        yield PreflightCheck(
            "self-identification",
            "fail" if is_one_sided else "warn",
            f"{_some(told)}. Take the words out of the texts.",
        )
    else:
        yield PreflightCheck("self-identification", "pass", "no response says what wrote it.")
    if given_away := list(_told_names(study)):
        yield PreflightCheck("names", "fail", f"{_some(given_away)}. A name that raters know gives the response away.")
    else:
        yield PreflightCheck("names", "pass", "no name from title, gold standard or characteristics is in a response.")


def _lengths(study: Study, n_raters: int) -> Iterator[PreflightCheck]:
    logs = [math.log(_n_words(pair.target) / _n_words(pair.comparison)) for pair in study.pairs]
    ratio = math.exp(fmean(logs))
    worse = max(ratio, 1 / ratio)
    state: State = "fail" if worse > _LENGTH_FAIL else "warn" if worse > _LENGTH_WARN else "pass"
    told = f"targets have {ratio:.2f} times the words of comparisons"
    remedy = (
        "." if state == "pass" else "; length alone would give the target away. Choose responses of similar length."
    )
    yield PreflightCheck("length", state, told + remedy)
    far = [
        f"{p.id} ({math.exp(log):.1f}×)"
        for p, log in zip(study.pairs, logs, strict=True)
        if abs(log) > math.log(_LENGTH_FAIL)
    ]
    if far and state == "pass":
        yield PreflightCheck("length", "warn", f"within single pairs it differs much: {_some(far)}.")


def _typography(study: Study, n_raters: int) -> Iterator[PreflightCheck]:
    tilted = []
    for name, pattern in _MARKDOWN.items():
        target, comparison = (fmean(bool(pattern.search(text)) for text in texts) for texts in _texts(study))
        if abs(target - comparison) >= 0.3:
            tilted.append(f"{name} in {target:.0%} of targets and {comparison:.0%} of comparisons")
    if tilted:
        yield PreflightCheck(
            "markdown and typography", "warn", f"{'; '.join(tilted)}. Make both conditions look alike."
        )
    else:
        yield PreflightCheck("markdown and typography", "pass", "both conditions look alike.")


def _repetition(study: Study, n_raters: int) -> Iterator[PreflightCheck]:
    texts = Counter(_plain(text) for pair in study.pairs for text in (pair.target, pair.comparison))
    twice = [pair.id for pair in study.pairs if texts[_plain(pair.target)] > 1 or texts[_plain(pair.comparison)] > 1]
    if twice:
        yield PreflightCheck("repetition", "fail", f"pairs {_some(twice)} share a response. Give each pair its own.")
    prompts = Counter(_plain(pair.prompt) for pair in study.pairs)
    if again := [pair.id for pair in study.pairs if prompts[_plain(pair.prompt)] > 1]:
        yield PreflightCheck(
            "repetition", "warn", f"pairs {_some(again)} have the same prompt; their ratings are correlated."
        )


def _time(study: Study, n_raters: int) -> Iterator[PreflightCheck]:
    minutes = study.expected_minutes
    told = f"about {minutes:.1f} min to read and answer"
    if study.target_minutes is None:
        is_long = minutes > _LONG_SITTING
        yield PreflightCheck(
            "time", "warn" if is_long else "pass", f"{told}{'; raters tire. Leave out pairs' if is_long else ''}."
        )
        return
    low, high = study.target_minutes
    told += f"; the target is {low:g} to {high:g}"
    if low <= minutes <= high:
        yield PreflightCheck("time", "pass", f"{told}.")
    else:
        state: State = "fail" if minutes > 1.5 * high else "warn"
        yield PreflightCheck(
            "time", state, f"{told}. {'Leave out pairs' if minutes > high else 'Add pairs'}, or change target_minutes."
        )


def _keyboard(study: Study, n_raters: int) -> Iterator[PreflightCheck]:
    many = [f"{one.name} ({len(one.labels)} answers)" for one in study.dimensions if len(one.labels) > _DIGITS]
    if many:
        yield PreflightCheck(
            "keyboard", "warn", f"{_some(many)}: digits reach {_DIGITS}, the rest only the arrow keys."
        )
    else:
        yield PreflightCheck("keyboard", "pass", "one digit key answers every dimension.")


def _attention(study: Study, n_raters: int) -> Iterator[PreflightCheck]:
    silent = [one.id for one in study.attention if _plain(one.right) not in _plain(one.text)]
    if silent:
        yield PreflightCheck(
            "attention", "warn", f"{_some(silent)}: the text does not state the right answer, so readers may fail it."
        )
    elif study.attention or study.repeats:
        yield PreflightCheck(
            "attention", "pass", f"{len(study.attention)} attention items and {study.repeats} swapped repeats."
        )
    else:
        yield PreflightCheck(
            "attention", "warn", "neither attention items nor repeats: careless raters cannot be detected."
        )


def _scores(study: Study, n_raters: int) -> Iterator[PreflightCheck]:
    without = [pair.id for pair in study.pairs if pair.model_score is None]
    if 0 < len(without) < len(study.pairs):
        yield PreflightCheck(
            "model scores", "warn", f"missing for {_some(without)}; the correlation would exclude them."
        )


CHECKS: tuple[Callable[[Study, int], Iterator[PreflightCheck]], ...] = (
    _gold,
    _balance,
    _identity,
    _lengths,
    _typography,
    _repetition,
    _time,
    _keyboard,
    _attention,
    _scores,
)


def _both(pair: Any) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("target", pair.target), ("comparison", pair.comparison)


def _texts(study: Study) -> tuple[list[str], list[str]]:
    return [pair.target for pair in study.pairs], [pair.comparison for pair in study.pairs]


def _told_names(study: Study) -> Iterator[str]:
    known = {
        name
        for text in (study.title, study.gold, study.instructions, *study.characteristics)
        for name in _NAME.findall(text)
    }
    for pair in study.pairs:
        for role, text in _both(pair):
            if there := sorted(known & set(re.findall(r"\w+", text)) - set(re.findall(r"\w+", pair.prompt))):
                yield f"{there[0]!r} in {pair.id} ({role})"


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _n_words(text: str) -> int:
    return max(len(text.split()), 1)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _plain(text).split()
    return set(zip(*(words[start:] for start in range(_SHARED_RUN)), strict=False))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
