"""A rehearsal: simulated raters fill in the real pages, so that the whole way to the verdict can be tried before anyone rates."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from howsure.errors import InputError
from howsure.people import BuiltPage, Item, QuizScreen, read_pages
from howsure.people.rehearsal import seen_record, signed_answers, write_answers
from howsure.people.screens import Screen
from howsure.study.item_studies import ItemStudy
from howsure.study.packet.building import KEY, PlacedItem, StudyKey
from howsure.study.packet.pages import ANSWER, GUESS, option_value
from howsure.study.protocol import Study
from howsure.tables import Ratings

__all__ = ["fill_in", "passed_record"]

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
    screens = {screen.id: _record(study, screen, placed.get(screen.id), rated) for screen in page.page.screens}
    return signed_answers(page, page.page.rater, screens)


def passed_record(study: Study | ItemStudy, screen: Screen) -> dict[str, Any]:
    """What a willing rater leaves on any screen before the questions of an item: a quiz is done right."""
    seen = seen_record(screen)
    if isinstance(screen, QuizScreen) and study.quiz:
        rights = {f"q{n}": option_value(one.options.index(one.right)) for n, one in enumerate(study.quiz.questions, 1)}
        return {**seen, "answers": rights, "tries": [rights]}
    return seen


def _record(study: Study, screen: Screen, placed: PlacedItem | None, rated: Mapping[str, _Rated]) -> dict[str, Any]:
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
