"""Simulated raters who fill in the pages of any study, with known true values: try the whole way before anyone rates.

Each system has a quality θ on the log-odds scale, each response stands a little off its system, each rater is more or less severe.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.people import BuiltPage, Item, QuizScreen, read_pages
from howsure.people.packet import seen_record, signed_answers, write_answers
from howsure.people.questions import Answer
from howsure.people.screens import Screen
from howsure.results import Provenance, Result
from howsure.study.inputs import PATH, check_type
from howsure.study.item_studies import ItemQuestion, ItemStudy, plain_text
from howsure.study.packet.building import KEY, PlacedItem, StudyKey
from howsure.study.packet.design import AGAIN, ATTENTION
from howsure.study.packet.pages import ANSWER, GUESS, item_questions, option_value
from howsure.study.protocol import Study
from howsure.tables import Ratings

__all__ = ["ItemCrowd", "SimulatedAnswers", "fill_in", "passed_record", "rate_items"]

_WORDS_PER_SECOND = 4
_TIE = 0.6  # Davidson's ν: two equal systems tie in 0.6 / 2.6 of comparisons


@dataclass(frozen=True)
class ItemCrowd:
    """How simulated raters differ.

    Parameters
    ----------
    spread : float
        How far apart the best and the worst system are, in log-odds.
    item_spread : float
        Standard deviation of a response around its system, in log-odds.
    severity : float
        Standard deviation of raters around their mean, in log-odds.
    accuracy : float
        Probability of the true category, label or span.
    first : float
        How much better the first response looks for standing first, in log-odds.
    dropout : float
        Probability that a rater never finishes.
    """

    spread: float = 2.0
    item_spread: float = 0.3
    severity: float = 0.5
    accuracy: float = 0.85
    first: float = 0.2
    dropout: float = 0.0


@dataclass(frozen=True, kw_only=True)
class SimulatedAnswers(Result):
    """What simulated raters answered, and the true values behind it.

    Table ``item_truth``: what (system, response, category, label, span, position), item, system, dimension, value (θ, or 0 and 1), label.

    Parameters
    ----------
    truth : pl.DataFrame
        The true values.
    answers : tuple[str, ...]
        The answer files' content, one JSON text per rater who finished.
    raters : tuple[str, ...]
        Their names.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "item_truth"
    truth: pl.DataFrame
    answers: tuple[str, ...]
    raters: tuple[str, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``item_truth``."""
        return {"item_truth": self.truth}

    def quality(self) -> dict[str, float]:
        """θ of each system."""
        rows = self.truth.filter(pl.col("what") == "system")
        return dict(zip(rows["system"].to_list(), rows["value"].to_list(), strict=True))

    def save_answers(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the files that raters would send back."""
        return write_answers(folder, dict(zip(self.raters, self.answers, strict=True)))


def rate_items(
    packet: str | os.PathLike[str],
    *,
    crowd: ItemCrowd | None = None,
    quality: Mapping[str, float] | None = None,
    seed: int = 0,
) -> SimulatedAnswers:
    r"""Simulated raters fill in the pages of a packet.

    .. math:: \eta_{ijs} = \theta_s + b_{is} + \text{severity}_j

    A rating is drawn as an ordered logit of η with equal steps over the scale, a pairwise vote from Davidson's model, a ranking from
    Plackett and Luce's, each with θ + b alone and a position effect; categories, labels and spans are true with probability ``accuracy``.

    Parameters
    ----------
    packet : str or path
        Folder of the pages, with its key.
    crowd : ItemCrowd, optional
        How raters differ.
    quality : Mapping[str, float], optional
        θ of each system; by default equal steps from ``spread/2`` to ``-spread/2``.
    seed : int
        Seed of the random numbers.
    """
    check_type("packet", packet, PATH, "the path of a packet's folder")
    key = StudyKey.read(Path(packet) / KEY)
    study = key.study
    if not isinstance(study, ItemStudy):
        raise InputError(
            f"{packet}: a study of pairs against a gold standard; `howsure.study.simulate` draws its ratings."
        )
    crowd = ItemCrowd() if crowd is None else crowd
    check_type("crowd", crowd, ItemCrowd, "an ItemCrowd")
    world = _World(study, crowd, np.random.default_rng(seed), quality)
    raters, texts = [], []
    for page in read_pages(packet).values():
        severity = float(crowd.severity * world.rng.standard_normal())
        stays = world.rng.random() >= crowd.dropout
        placed = key.placed(page.page.rater)
        screens = {screen.id: _record(world, screen, placed.get(screen.id), severity) for screen in page.page.screens}
        if stays:
            raters.append(page.page.rater or "rater")
            texts.append(signed_answers(page, raters[-1], screens))
    settings = {**vars(crowd), "n_raters": len(raters)}
    return SimulatedAnswers(
        truth=world.truth(),
        answers=tuple(texts),
        raters=tuple(raters),
        provenance=Provenance(settings, digest=study.digest, seed=seed),
    )


class _World:
    """The true values of a study, and how raters with them answer."""

    def __init__(
        self, study: ItemStudy, crowd: ItemCrowd, rng: np.random.Generator, quality: Mapping[str, float] | None
    ) -> None:
        self.study, self.crowd, self.rng = study, crowd, rng
        names = study.systems or ("",)
        steps = np.linspace(crowd.spread / 2, -crowd.spread / 2, len(names)) if len(names) > 1 else np.zeros(1)
        self.quality = dict(zip(names, steps.tolist(), strict=True)) | dict(quality or {})
        self.response: dict[tuple[str, str], float] = {}
        self.labels: dict[tuple[str, str, str], Any] = {}
        for item in study.items:
            for system in item.responses or ("",):
                off = float(crowd.item_spread * rng.standard_normal())
                self.response[item.id, system] = self.quality[system] + off
                for question in study.questions:
                    self.labels[item.id, system, question.name] = self._true_label(question, item.id, system)

    def _true_label(self, question: ItemQuestion, item: str, system: str) -> Any:
        if question.type == "category":
            return int(self.rng.integers(len(question.labels)))
        if question.type == "labels":
            return self.rng.random(len(question.labels)) < 0.35
        if question.type == "span":
            words = self._words(item, system)
            start = int(self.rng.integers(len(words)))
            return (
                start,
                min(start + int(self.rng.integers(3)), len(words) - 1),
                int(self.rng.integers(len(question.labels))),
            )
        return None

    def _words(self, item: str, system: str) -> list[tuple[int, int]]:
        """Start and end of each word, as the page cuts them."""
        one = self.study.item(item)
        text = plain_text(one.responses[system] if system else one.text or "")
        return [match.span() for match in re.finditer(r"\S+", text)]

    def truth(self) -> pl.DataFrame:
        rows: list[tuple[str, str | None, str | None, str | None, float | None, str | None]] = [
            ("system", None, system or None, None, value, None) for system, value in self.quality.items()
        ]
        rows.append(("position", None, None, None, self.crowd.first, None))
        rows += [
            ("response", item, system or None, None, value, None) for (item, system), value in self.response.items()
        ]
        by_name = {question.name: question for question in self.study.questions}
        for (item, system, name), true in self.labels.items():
            question, place = by_name[name], (item, system or None, name)
            if question.type == "category":
                rows.append(("category", *place, None, question.labels[true]))
            elif question.type == "labels":
                rows += [("label", *place, float(on), label) for label, on in zip(question.labels, true, strict=True)]
            elif question.type == "span":
                words = self._words(item, system)
                told = f"{words[true[0]][0]}-{words[true[1]][1]}:{question.labels[true[2]]}"
                rows.append(("span", *place, None, told))
        names = {"what": pl.String, "item": pl.String, "system": pl.String, "dimension": pl.String}
        return pl.DataFrame(rows, {**names, "value": pl.Float64, "label": pl.String}, orient="row")

    def answers(self, placed: PlacedItem, severity: float) -> dict[str, Answer]:
        """What one rater answers about one item."""
        item = placed.item.removesuffix(AGAIN).partition("/")[0]
        systems = placed.systems or ("",)
        seen = [self.response[item, system] for system in systems]
        given: dict[str, Answer] = {}
        asked: dict[tuple[str, int | None], tuple[ItemQuestion, list[str]]] = {}
        for question, slot, shown in item_questions(self.study, placed.systems):
            asked.setdefault((question.name, slot), (question, []))[1].append(shown.name)
        for (_, slot), (question, names) in asked.items():
            place = (slot or 1) - 1
            eta, system = seen[place] + severity, systems[place]
            drawn = self._answer(question, item, system, eta, seen)
            given |= {name: value for name, value in zip(names, drawn, strict=True) if value is not None}
        return given

    def _answer(self, question: ItemQuestion, item: str, system: str, eta: float, seen: list[float]) -> list[Any]:
        rng, accuracy = self.rng, self.crowd.accuracy
        true: Any = self.labels.get((item, system, question.name))
        if question.type in ("rating", "slider"):
            n_steps = question.top_value - question.low + 1
            # cuts in equal steps from −2 to 2, so that the middle of the scale is a log-odds of 0
            share = np.clip((eta + rng.logistic() + 2) / 4, 0, 1 - 1e-12)
            return [question.low + int(share * n_steps)]
        if question.type == "yes_no":
            return ["yes" if rng.random() < 1 / (1 + np.exp(-eta)) else "no"]
        if question.type == "pairwise":
            first, second = np.exp(seen[0] + self.crowd.first), np.exp(seen[1])
            weights = np.array([first, second, _TIE * np.sqrt(first * second) if question.ties else 0.0])
            return [("a", "b", "tie")[int(rng.choice(3, p=weights / weights.sum()))]]
        if question.type in ("ranking", "best_worst"):
            values = np.array(seen) + rng.gumbel(size=len(seen))
            values[0] += self.crowd.first
            order = [option_value(int(place)) for place in np.argsort(-values)]
            return [order[: question.top or len(order)]] if question.type == "ranking" else [order[0], order[-1]]
        if question.type == "category":
            n = len(question.labels)
            return [option_value(true if rng.random() < accuracy else int((true + rng.integers(1, n)) % n))]
        if question.type == "labels":
            on = np.where(rng.random(len(true)) < accuracy, true, ~true)
            chosen = np.flatnonzero(on)[: question.at_most or None].tolist()
            chosen = sorted({*chosen, *range(max(0, question.at_least - len(chosen)))})
            return [[option_value(place) for place in chosen]]
        if question.type == "span":
            if rng.random() > accuracy:
                return [[]]
            words, (start, end, label) = self._words(item, system), true
            start, end = (int(np.clip(one + rng.choice((-1, 0, 0, 0, 1)), 0, len(words) - 1)) for one in (start, end))
            return [[f"{words[min(start, end)][0]}-{words[max(start, end)][1]}:{option_value(label)}"]]
        return [None]


def _record(world: _World, screen: Screen, placed: PlacedItem | None, severity: float) -> dict[str, Any]:
    seen = passed_record(world.study, screen)
    if placed is None or not isinstance(screen, Item):
        return seen
    if placed.item.startswith(ATTENTION):
        item = next(one for one in world.study.attention if ATTENTION + one.id == placed.item)
        return {**seen, "answers": {ANSWER: option_value(item.options.index(item.right))}}
    answers = world.answers(placed, severity)
    words = sum(len(one.words.split()) for one in (*screen.context, *screen.passages))
    pace = float(np.exp(0.25 * world.rng.standard_normal()))
    return {**seen, "ms": round(1000 * pace * (words / _WORDS_PER_SECOND + 4 * len(answers))), "answers": answers}


# A rehearsal: simulated raters fill in the real pages, so that the whole way to the verdict can be tried before anyone rates.


_GUESSING = 0.1  # of the time that the pair took before
_Rated = dict[str, tuple[float, float]]


def fill_in(packet: str | os.PathLike[str], ratings: Ratings, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the answer files that raters with these ratings would send back. A rater who left a question open sends nothing, because the page requires all answers.

    Parameters
    ----------
    packet : str or path
        Folder of the pages.
    ratings : Ratings
        Ratings, as `howsure study simulate --study` draws them for the same number of raters.
    folder : str or path
        Folder for the answer files.
    """
    check_type("packet", packet, PATH, "the path of a packet's folder")
    packet, key = Path(packet), StudyKey.read(Path(packet) / KEY)
    sent = _by_rater(ratings)
    pages = [(page.page.rater, page) for page in read_pages(packet).values()]
    filled = {rater: body for rater, page in pages if (body := _result(key, page, sent.get(rater, {}))) is not None}
    if not filled:
        raise InputError(
            f"{packet}: no page is for a rater with ratings for all its items. Simulate as many raters as pages."
        )
    return write_answers(folder, filled)


def _by_rater(ratings: Ratings) -> dict[str, dict[str, _Rated]]:
    """Rater → item → dimension → value and seconds."""
    found: dict[str, dict[str, _Rated]] = {}
    for row in ratings.frame.iter_rows(named=True):
        told = (row["value"], row.get("seconds") or 0.0)
        found.setdefault(row["rater"], {}).setdefault(row["item"], {})[row["dimension"]] = told
    return found


def _result(key: StudyKey, page: BuiltPage, rated: Mapping[str, _Rated]) -> str | None:
    placed, study = key.placed(page.page.rater), key.study
    if not isinstance(study, Study):
        raise InputError("These pages are no study of pairs against a gold standard; `rate_items` fills them in.")
    if any(not rated.get(one.item) for one in placed.values()):
        return None
    screens = {
        screen.id: _rehearsed_record(study, screen, placed.get(screen.id), rated) for screen in page.page.screens
    }
    return signed_answers(page, page.page.rater, screens)


def passed_record(study: Study | ItemStudy, screen: Screen) -> dict[str, Any]:
    """What a willing rater leaves on any screen before the questions of an item: a quiz is done right."""
    seen = seen_record(screen)
    if isinstance(screen, QuizScreen) and study.quiz:
        rights = {f"q{n}": option_value(one.options.index(one.right)) for n, one in enumerate(study.quiz.questions, 1)}
        return {**seen, "answers": rights, "tries": [rights]}
    return seen


def _rehearsed_record(
    study: Study, screen: Screen, placed: PlacedItem | None, rated: Mapping[str, _Rated]
) -> dict[str, Any]:
    seen = passed_record(study, screen)
    if placed is None or not isinstance(screen, Item):
        return seen
    given = rated[placed.item]
    asked = {question.name for question in screen.questions}
    answers = {name: answer for name, answer in _answers(study, placed, given) if name in asked}
    seconds = next(iter(given.values()))[1] * (_GUESSING if GUESS in asked else 1.0)
    return {**seen, "ms": round(seconds * 1000), "answers": answers}


def _answers(study: Study, placed: PlacedItem, given: _Rated) -> Iterator[tuple[str, int | str]]:
    """The other way round from `collect.oriented`: from + is the target to slots, letters and all."""
    if placed.target is None:
        item = next(one for one in study.attention if placed.item.endswith(f"/{one.id}"))
        right = item.options.index(item.right)
        yield ANSWER, option_value(right if given["attention"][0] else (right + 1) % len(item.options))
        return
    for dimension in study.dimensions:
        for name, slot in dimension.fields:
            value = given[dimension.rated[0 if slot in (None, placed.target) else 1]][0]
            if dimension.kind == "choice":
                yield name, option_value(dimension.codes.index(value))
            else:
                yield name, int(-value if dimension.kind == "comparison" and placed.target == 1 else value)
    if "guess" in given:
        thought = {1.0: placed.target, 0.0: 3 - placed.target}.get(given["guess"][0])
        yield GUESS, {1: "first", 2: "second", None: "neither"}[thought]
