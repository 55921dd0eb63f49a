"""Raters' answers and the sealed key → a table of ratings in which + always means the target."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from howsure.errors import InputError
from howsure.people import (
    BuiltPage,
    QuizScreen,
    Received,
    Refusal,
    answer_rows,
    quality_signs,
    read_pages,
    read_results,
)
from howsure.people import FinishedAnswers as PageResult
from howsure.people.packet import LINKS
from howsure.people.records import ItemRecord, QuizRecord
from howsure.people.results import impossible_times
from howsure.results import Provenance, Result
from howsure.study.packet.building import KEY, SUMMARY, PlacedItem, StudyKey
from howsure.study.packet.design import AGAIN, ATTENTION
from howsure.study.packet.pages import ANSWER, COMMENTS, GUESS, option_value
from howsure.study.protocol import Dimension, Study
from howsure.tables import Ratings

__all__ = [
    "AnswerSet",
    "Answered",
    "CollectedRatings",
    "collect",
    "collect_answers",
    "joined",
    "live_signs",
    "oriented",
]

RATER_COLUMNS = {
    "rater": pl.String,
    "minutes": pl.Float64,
    "complete": pl.Float64,
    "quiz": pl.Float64,
    "slot_one": pl.Float64,
    "comments": pl.String,
    "digest": pl.String,
    "flags": pl.String,
}


@dataclass(frozen=True)
class Answered:
    """One item as one rater answered it; ``values`` are as the page recorded them, slots and letters and all."""

    placed: PlacedItem
    values: Mapping[str, int | str]
    position: int | None = None
    seconds: float | None = None
    revisions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerSet:
    """Everything one rater answered, and where it came from."""

    rater: str
    source: str
    items: tuple[Answered, ...]
    digest: str
    minutes: float | None = None
    quiz: float | None = None
    comments: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CollectedRatings(Result):
    """Ratings of all included raters, and what was refused.

    Parameters
    ----------
    ratings : Ratings
        rater, item, dimension, value, seconds, revisions, position.
    raters : pl.DataFrame
        One row per rater.
    refused : tuple[Refusal, ...]
        Refused files, with reasons.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "collect"
    ratings: Ratings
    raters: pl.DataFrame
    refused: tuple[Refusal, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``ratings``, ``raters`` and ``refused``."""
        kinds = {"source": pl.String, "reason": pl.String}
        refused = pl.DataFrame([(one.source, one.reason) for one in self.refused], kinds, orient="row")
        return {"ratings": self.ratings.frame, "raters": self.raters, "refused": refused}


def collect(
    files: Iterable[str | os.PathLike[str]],
    key: str | os.PathLike[str],
    *,
    pages: str | os.PathLike[str] | None = None,
    strict: bool = False,
) -> CollectedRatings:
    """The ratings in raters' files: ``collect(["answers/"], "packet/key.json").save("out")``.

    A file is included when it is whole, answers one of the pages, and its rater sent no other. The pages must carry the digest of this
    very key. What is not included is named in ``refused``.

    Parameters
    ----------
    files : iterable of paths
        Raters' files (.json), an export of `howsure serve` (.jsonl), or folders of them.
    key : path
        The key.json of the packet.
    pages : path, optional
        The folder of the pages; by default the key's folder.
    strict : bool
        Raise at the first file or line that is refused.

    Returns
    -------
    Collected
        Ratings in which + always means the target.
    """
    opened = StudyKey.read(key)
    built = list(read_pages(pages or Path(key).parent).values())
    for page in built:
        if page.page.commitment != opened.commitment:
            raise InputError(
                f"{key}: not the key that the pages in {pages or Path(key).parent} were sealed with (SHA-256 {opened.commitment[:8]}… "
                f"against {page.page.commitment[:8] or 'none'}…). Give the key from the same build, unchanged."
            )
    found = read_results(files, built)
    sets = [_answer_set(opened, one) for one in found.results]
    # answers may lie in the packet's folder, beside files that are none
    refused = [one for one in found.refused if Path(one.source).name not in (KEY, LINKS, SUMMARY)]
    return collect_answers(opened.study, sets, refused, sealed=opened.commitment, strict=strict)


def collect_answers(
    study: Study,
    sets: Sequence[AnswerSet],
    refused: Sequence[Refusal] = (),
    *,
    sealed: str = "",
    strict: bool = False,
) -> CollectedRatings:
    """Answer sets as tables, turned so that + is the target.

    A set whose ratings a table cannot hold is refused like the ``refused`` ones given. `sealed` is the digest of the key that says where the
    target was; `strict` raises on the first refusal.
    """
    counted, rows, refused = [], [], list(refused)
    for one in sets:
        own = list(_rating_rows(study, one))
        try:
            if own:
                Ratings(_without_empty(pl.DataFrame(own, infer_schema_length=None)))
        except InputError as error:
            refused.append(Refusal.of(one.source, error))
        else:
            counted.append(one)
            rows += own
    if strict and refused:
        more = f" {len(refused) - 1} more are refused." if len(refused) > 1 else ""
        raise InputError(f"{refused[0]}{more}")
    if not counted:
        reasons = " ".join(map(str, refused[:3])) or "No file was given."
        raise InputError(f"No answers count ({len(refused)} refused). {reasons}")
    raters = pl.DataFrame([_rater_row(study, one) for one in counted], RATER_COLUMNS, orient="row")
    flagged = [
        f"{one.source}: {flag}; look at it before you use these answers." for one in counted for flag in one.flags
    ]
    notes = (*(str(refusal) for refusal in refused), *flagged)
    ratings = Ratings(_without_empty(pl.DataFrame(rows, infer_schema_length=None)))
    settings = {"sealed": sealed, "study": study.digest, "title": study.title}
    provenance = Provenance.of(ratings, seed=study.seed, notes=notes, **settings)
    return CollectedRatings(ratings=ratings, raters=raters, refused=tuple(refused), provenance=provenance)


def oriented(study: Study, answered: Answered) -> Iterator[tuple[str, float, str]]:
    """Dimension, value and the question it came from: comparisons turned so that + is the target."""
    target = answered.placed.target
    if target is None:
        if ANSWER in answered.values:
            yield "attention", float(_is_right(study, answered)), ANSWER
        return
    for dimension in study.dimensions:
        for name, slot in dimension.fields:
            if name in answered.values:
                yield _dimension(dimension, slot, target), _value(dimension, answered.values[name], target), name
    if (guess := answered.values.get(GUESS)) is not None:
        slot_of = {"first": 1, "second": 2}
        yield GUESS, 0.5 if guess not in slot_of else float(slot_of[str(guess)] == target), GUESS


def live_signs(key: StudyKey) -> Callable[[BuiltPage, PageResult], list[str]]:
    """What to look at in a finished answer set while people can still be asked; for the collector's ``checks``.

    To the signs of every page it adds wrong attention items, repeats that contradict the first time, and minutes off target.
    """

    def signs(page: BuiltPage, result: PageResult) -> list[str]:
        one = _answer_set(key, Received(result, page, result.rater))
        return [*quality_signs(page, result), *_odd(key.study, one)]

    return signs


def joined(items: Iterable[Answered]) -> tuple[Answered, ...]:
    """One entry per item: the guess about a pair, asked after all ratings, joins the answers given while it was rated."""
    found: dict[str, Answered] = {}
    for one in items:
        first = found.setdefault(one.placed.item, one)
        values, revisions = {**first.values, **one.values}, {**first.revisions, **one.revisions}
        found[one.placed.item] = replace(first, values=values, revisions=revisions)
    return tuple(found.values())


# from a page's result


def _answer_set(key: StudyKey, received: Received) -> AnswerSet:
    placed = key.placed(received.page.page.rater)
    by_screen: dict[str, list[dict[str, Any]]] = {}
    for row in answer_rows([received]):
        by_screen.setdefault(row["screen"], []).append(row)
    items = [_answered(placed[screen], rows) for screen, rows in by_screen.items() if screen in placed]
    return AnswerSet(
        rater=received.rater,
        source=received.source,
        items=joined(items),
        digest=received.result.digest,
        minutes=received.seconds / 60,
        quiz=_quiz_share(received),
        comments=_comments(received),
        flags=tuple(impossible_times(received.result)),
    )


def _answered(placed: PlacedItem, rows: Sequence[dict[str, Any]]) -> Answered:
    values = {row["question"]: row["value"] for row in rows}
    revisions = {row["question"]: row["revisions"] for row in rows}
    return Answered(placed, values, rows[0]["position"], rows[0]["seconds"], revisions)


def _quiz_share(received: Received) -> float | None:
    """The share of right answers at the last try."""
    for screen in received.page.page.screens:
        record = received.result.screens[screen.id]
        if isinstance(screen, QuizScreen) and isinstance(record, QuizRecord):
            last = record.tries[-1]
            return sum(screen.is_right(name, answer) for name, answer in last.items()) / len(screen.questions)
    return None


def _comments(received: Received) -> str | None:
    for record in received.result.screens.values():
        if isinstance(record, ItemRecord) and COMMENTS in record.answers:
            return str(record.answers[COMMENTS])
    return None


# from answers to rows


def _dimension(dimension: Dimension, slot: int | None, target: int) -> str:
    if slot is None:
        return dimension.rated[0]
    return dimension.rated[0] if slot == target else dimension.rated[1]


def _value(dimension: Dimension, answer: int | str, target: int) -> float:
    if dimension.kind == "choice":
        letters = {option_value(place): code for place, code in enumerate(dimension.codes)}
        return letters[str(answer)]
    # labels of a comparison run from Response 1 (low) to Response 2 (high)
    turn = -1 if dimension.kind == "comparison" and target == 1 else 1
    return float(turn * int(answer)) + 0.0  # no −0 in tables


def _is_right(study: Study, answered: Answered) -> bool:
    item = next(one for one in study.attention if ATTENTION + one.id == answered.placed.item)
    return answered.values.get(ANSWER) == option_value(item.options.index(item.right))


def _rating_rows(study: Study, one: AnswerSet) -> Iterator[dict[str, Any]]:
    for answered in one.items:
        for dimension, value, name in oriented(study, answered):
            yield {
                "rater": one.rater,
                "item": answered.placed.item,
                "dimension": dimension,
                "value": value,
                "seconds": answered.seconds,
                "revisions": answered.revisions.get(name),
                "position": answered.position,
            }


def _without_empty(rows: pl.DataFrame) -> pl.DataFrame:
    """Without optional columns that nobody filled."""
    return rows.select(column for column in rows if column.null_count() < len(rows))


def _rater_row(study: Study, one: AnswerSet) -> tuple[Any, ...]:
    pairs = [answered for answered in one.items if answered.placed.target]
    slot_one = sum(answered.placed.target == 1 for answered in pairs) / len(pairs) if pairs else None
    minutes = None if one.minutes is None else round(one.minutes, 2)
    return (
        one.rater,
        minutes,
        _complete(study, one),
        one.quiz,
        slot_one,
        one.comments,
        one.digest,
        "; ".join(one.flags) or None,
    )


def _complete(study: Study, one: AnswerSet) -> float:
    """The share of questions answered, of all that a rater is asked."""
    return min(sum(len(answered.values) for answered in one.items) / study.n_answers, 1.0)


def _odd(study: Study, one: AnswerSet) -> Iterator[str]:
    wrong = [a for a in one.items if a.placed.target is None and not _is_right(study, a)]
    if wrong:
        yield f"{len(wrong)} of {len(study.attention)} attention items wrong"
    values = {(a.placed.item, name): value for a in one.items for name, value, _ in oriented(study, a)}
    for dimension in study.dimensions:
        first = {item: value for (item, name), value in values.items() if name == dimension.name and value}
        turned = [item for item in first if first.get(item + AGAIN, first[item]) * first[item] < 0]
        if dimension.kind == "comparison" and turned:
            yield f"{dimension.name} changed sign when shown again ({len(turned)} of {study.repeats})"
    low, high = study.usual_minutes
    if one.minutes is not None and not low / 2 <= one.minutes <= high * 2:
        yield f"{one.minutes:.1f} min, where {low:g} to {high:g} are expected"
