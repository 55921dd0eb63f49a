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
from howsure.study.item_studies import ItemStudy, StudyItem, plain_text, study_of
from howsure.study.packet.design import AGAIN, arrange, design_frame
from howsure.study.planning.design import RatingDesign, balance_of
from howsure.study.protocol import DEFAULT_DIMENSIONS, Study

__all__ = ["CHECKS", "ITEM_CHECKS", "Preflight", "PreflightCheck", "check"]

State = Literal["pass", "warn", "fail"]

_SHARED_RUN = 8  # words in a row that two texts do not share by chance
_LENGTH_WARN, _LENGTH_FAIL = 1.25, 2.0
_SHORT_GOLD = 30
_FEWEST_TARGETS = 3  # that make a range
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


def check(study: Study | ItemStudy | str | os.PathLike[str], *, n_raters: int | None = None) -> Preflight:
    """Check a study before anyone rates: problems that would reveal the conditions, bias the comparison or tire raters.

    Parameters
    ----------
    study : Study, ItemStudy or path
        The study, or its YAML file.
    n_raters : int, optional
        How many people will rate; by default as many as the study's design needs, or 7.

    Returns
    -------
    Preflight
        One row per check, each with the state pass, warn or fail.
    """
    study = study_of(study)
    if n_raters is None:
        plan = study.design
        n_raters = 7 if plan is None else RatingDesign(len(study.units), plan.ratings, plan.per_rater or 0).n_raters
    if isinstance(study, Study):
        checks = tuple(check for look in CHECKS for check in look(study, n_raters))
    else:
        checks = tuple(check for item_look in ITEM_CHECKS for check in item_look(study, n_raters))
    provenance = Provenance({"n_raters": n_raters}, digest=study.digest, seed=study.seed)
    return Preflight(checks=checks, minutes=round(study.expected_minutes, 1), provenance=provenance)


# the checks of pairs, in the order of the list


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
    yield from _representative(study)
    if not study.characteristics:
        yield PreflightCheck(
            "characteristics", "warn", "none are given. Say in a line or two what raters should look for."
        )


def _representative(study: Study) -> Iterator[PreflightCheck]:
    """Whether the gold standard looks like the targets: by length, and by the letters that texts are made of."""
    name = "gold is representative"
    if len(study.pairs) < _FEWEST_TARGETS:
        return
    lengths = [_n_words(pair.target) for pair in study.pairs]
    n_words, usual = _n_words(study.gold), fmean(lengths)
    if not min(lengths) / _LENGTH_FAIL <= n_words <= max(lengths) * _LENGTH_FAIL:
        yield PreflightCheck(
            name,
            "warn",
            f"it has {n_words} words, and targets have {usual:.0f} on average; raters compare like with like.",
        )
    targets = [pair.target for pair in study.pairs]
    others = [pair.comparison for pair in study.pairs]
    among = [_alike(text, targets[:place] + targets[place + 1 :]) for place, text in enumerate(targets)]
    to_targets, to_others = _alike(study.gold, targets), _alike(study.gold, others)
    told = f"its wording is {to_targets:.2f} alike to the targets (they among each other: {min(among):.2f} to {max(among):.2f})"
    if to_targets < to_others:
        yield PreflightCheck(
            name,
            "warn",
            f"its wording is closer to the comparisons ({to_others:.2f}) than to the targets ({to_targets:.2f}). Is it the right text?",
        )
    elif to_targets < min(among) - (max(among) - min(among)):
        yield PreflightCheck(
            name, "warn", f"{told}. Choose a text that is more like them, or say in characteristics what they share."
        )
    else:
        yield PreflightCheck(name, "pass", f"{told}.")


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


def _time(study: Study | ItemStudy, n_raters: int) -> Iterator[PreflightCheck]:
    minutes = study.expected_minutes
    told = f"about {minutes:.1f} min to read and answer"
    if study.target_minutes is None:
        is_long = minutes > _LONG_SITTING
        yield PreflightCheck(
            "time", "warn" if is_long else "pass", f"{told}{'; raters tire. Remove pairs' if is_long else ''}."
        )
        return
    low, high = study.target_minutes
    told += f"; the target is {low:g} to {high:g}"
    if low <= minutes <= high:
        yield PreflightCheck("time", "pass", f"{told}.")
    else:
        state: State = "fail" if minutes > 1.5 * high else "warn"
        yield PreflightCheck(
            "time", state, f"{told}. {'Remove pairs' if minutes > high else 'Add pairs'}, or change target_minutes."
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


def _language(study: Study | ItemStudy, n_raters: int) -> Iterator[PreflightCheck]:
    words = study.worded
    if not words.is_bundled and len(study.words) < len(words.texts) / 2:
        yield PreflightCheck(
            "language",
            "warn",
            f"the page's own words are in English, not in {study.language!r}. Translate them: `words: words.yaml`.",
        )
    if isinstance(study, Study) and study.dimensions == DEFAULT_DIMENSIONS and not study.language.startswith("en"):
        yield PreflightCheck(
            "language", "warn", "the default dimensions are in English. Write them in the study's language."
        )


# the checks of any other study


def _items(study: ItemStudy, n_raters: int) -> Iterator[PreflightCheck]:
    texts = Counter(_plain(text) for item in study.items for text in _rated(item))
    twice = [item.id for item in study.items if any(texts[_plain(text)] > 1 for text in _rated(item))]
    if twice:
        yield PreflightCheck("repetition", "warn", f"items {_some(twice)} share a text with another response.")
    else:
        yield PreflightCheck(
            "items", "pass", f"{len(study.items)} items, {len(study.units)} screens to rate, no text twice."
        )
    gaps = [item.id for item in study.items if study.systems and len(item.responses) < len(study.systems)]
    if gaps:
        yield PreflightCheck(
            "systems", "warn", f"not every system has a response to {_some(gaps)}; their means are over other items."
        )


def _dealing(study: ItemStudy, n_raters: int) -> Iterator[PreflightCheck]:
    shown = arrange(study, n_raters)
    places = {unit.id: place for place, unit in enumerate(study.units)}
    balance = balance_of([[places[one.item] for one in row if one.item in places] for row in shown], len(places))
    told = (
        f"{n_raters} raters with {study.n_units} of {len(places)}: each has {balance.fewest} to {balance.most} ratings"
    )
    if not balance.fewest:
        yield PreflightCheck("design", "fail", f"{told}. Take more raters, or more items per rater.")
    elif not balance.is_connected:
        yield PreflightCheck(
            "design", "warn", f"{told}; some share no rater with the others, so severity cannot be told from quality."
        )
    else:
        yield PreflightCheck("design", "pass", f"{told}, and shared raters link all of them.")
    slots = Counter(
        (one.item, one.systems[0]) for row in shown for one in row if len(one.systems) > 1 and one.item in places
    )
    by_item: dict[str, list[int]] = {}
    for unit in study.units:
        if len(unit.systems) > 1:
            by_item[unit.id] = [slots[unit.id, system] for system in unit.systems]
    if by_item:
        most = max(max(counts) - min(counts) for counts in by_item.values())
        state: State = "pass" if most <= 1 else "warn"
        yield PreflightCheck(
            "slots", state, f"within an item, how often a system is shown first differs by at most {most}."
        )
    if not study.seed:
        yield PreflightCheck(
            "seed", "warn", "0 is the default, so anyone can work out the order. Choose another number."
        )


def _item_texts(study: ItemStudy, n_raters: int) -> Iterator[PreflightCheck]:
    """What gives systems away: names, and typography that differs between them."""
    found = []
    for item in study.items:
        for system, response in item.responses.items():
            text = plain_text(response)
            marks = [match[0] for match in _MACHINE.finditer(text)]
            marks += [system] if len(system) > 3 and re.search(rf"\b{re.escape(system)}\b", text, re.IGNORECASE) else []
            found += [f"{item.id} ({system}): {mark!r}" for mark in dict.fromkeys(marks)]
    if found:
        yield PreflightCheck("self-identification", "fail", f"{_some(found)}. Take the words out of the texts.")
    elif study.systems:
        yield PreflightCheck("self-identification", "pass", "no response says what wrote it.")
    by_system = {
        system: [plain_text(item.responses[system]) for item in study.items if system in item.responses]
        for system in study.systems
    }
    if len(by_system) < 2:
        return
    lengths = {
        system: math.exp(fmean(math.log(_n_words(text)) for text in texts)) for system, texts in by_system.items()
    }
    longest, shortest = max(lengths, key=lambda name: lengths[name]), min(lengths, key=lambda name: lengths[name])
    ratio = lengths[longest] / lengths[shortest]
    told = f"{longest} writes {ratio:.1f} times the words of {shortest}"
    yield PreflightCheck(
        "length",
        "warn" if ratio > _LENGTH_FAIL else "pass",
        f"{told}{'; raters may prefer length' if ratio > _LENGTH_FAIL else ''}.",
    )
    tilted = []
    for mark, pattern in _MARKDOWN.items():
        shares = {system: fmean(bool(pattern.search(text)) for text in texts) for system, texts in by_system.items()}
        if max(shares.values()) - min(shares.values()) >= 0.5:
            tilted.append(f"{mark} ({min(shares.values()):.0%} to {max(shares.values()):.0%} of a system's texts)")
    if tilted:
        yield PreflightCheck("markdown and typography", "warn", f"differs between systems: {'; '.join(tilted)}.")


def _item_questions(study: ItemStudy, n_raters: int) -> Iterator[PreflightCheck]:
    many = [f"{one.name} ({len(one.labels)} answers)" for one in study.questions if len(one.labels) > _DIGITS]
    if many:
        yield PreflightCheck(
            "keyboard", "warn", f"{_some(many)}: digits reach {_DIGITS}, the rest only the arrow keys."
        )
    if not (study.attention or study.repeats or study.quiz):
        yield PreflightCheck(
            "attention", "warn", "neither quiz, attention items nor repeats: careless raters cannot be detected."
        )
    else:
        told = f"{len(study.attention)} attention items, {study.repeats} repeats, {'a' if study.quiz else 'no'} quiz."
        yield PreflightCheck("attention", "pass", told)
    if study.consent is None:
        yield PreflightCheck(
            "consent", "warn", "there is none. Raters should know what is kept and that they may stop."
        )


ITEM_CHECKS: tuple[Callable[[ItemStudy, int], Iterator[PreflightCheck]], ...] = (
    _items,
    _dealing,
    _item_texts,
    _item_questions,
    _time,
    _language,
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
    _language,
)


def _rated(item: StudyItem) -> list[str]:
    return [plain_text(one) for one in (item.text, *item.responses.values()) if one is not None]


def _alike(text: str, others: Sequence[str]) -> float:
    """Mean cosine of a text's letters (runs of three) with those of others, 0 to 1."""
    own = _letters(text)
    return fmean(
        sum(count * other[run] for run, count in own.items())
        / math.sqrt(sum(n * n for n in own.values()) * sum(n * n for n in other.values()) or 1)
        for other in map(_letters, others)
    )


def _letters(text: str) -> Counter[str]:
    plain = _plain(text)
    return Counter(plain[start : start + 3] for start in range(max(len(plain) - 2, 1)))


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
