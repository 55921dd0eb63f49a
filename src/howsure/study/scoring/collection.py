"""Raters' answers and the sealed key → tables by kind of question.

A study of pairs gives ``ratings`` in which + always means the target. Any other study gives, as far as it asks for them,

| table | from | columns |
|---|---|---|
| ``ratings`` (`Ratings`) | rating, slider, yes_no (1, 0), labels (``NAME:LABEL``, 1, 0) | rater, item, dimension, value, cluster, system, position, seconds, revisions |
| ``categories`` (`Ratings`) | category | the same, value is the label |
| ``votes`` (`Votes`) | pairwise | voter, item, a (shown first), b, outcome, dimension, position, seconds |
| ``rankings`` | ranking, best_worst | rater, item, dimension, system, rank (1 is best; equal ranks are ties), slot, position, seconds |
| ``spans`` | span | rater, item, dimension, start, end, label, text, length (characters of the whole text) |
| ``texts`` | text | rater, item, dimension, text |

``item`` is what was rated: an item, or ``ITEM/SYSTEM`` where one response was (``ITEM/A+B/SYSTEM`` in one of several pairs); ``cluster`` is the item and ``system`` the system then.
Items that were shown again end in ``/again``. In ``spans``, a rater who found nothing has one row without a start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from howsure.errors import InputError, OptionError
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
from howsure.people.questions import Answer, ChoiceQuestion
from howsure.people.records import ItemRecord, QuizRecord, is_screened_out
from howsure.people.results import impossible_times
from howsure.people.screens import Item
from howsure.results import Provenance, Result
from howsure.study.inputs import PATH, check_type
from howsure.study.item_studies import ItemQuestion, ItemStudy, plain_text
from howsure.study.packet.building import KEY, SUMMARY, PlacedItem, StudyKey
from howsure.study.packet.design import AGAIN, ATTENTION
from howsure.study.packet.pages import ANSWER, COMMENTS, GUESS, item_questions, option_value
from howsure.study.protocol import Dimension, Study
from howsure.tables import Ratings, Votes
from howsure.tables.frames import as_list

__all__ = [
    "AnswerSet",
    "Answered",
    "CollectedRatings",
    "answer_set",
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
    "attention": pl.Float64,
    "slot_one": pl.Float64,
    "comments": pl.String,
    "digest": pl.String,
    "flags": pl.String,
}


@dataclass(frozen=True)
class Answered:
    """One item as one rater answered it; ``values`` are as the page recorded them, slots and letters and all."""

    placed: PlacedItem
    values: Mapping[str, Answer]
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
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CollectedRatings(Result):
    """The answers of all included raters as tables, and what was refused.

    Parameters
    ----------
    ratings : Ratings | None
        Numbers: rater, item, dimension, value, seconds, revisions, position, and for named systems cluster and system.
    raters : pl.DataFrame
        One row per rater.
    refused : tuple[Refusal, ...]
        Refused files, with reasons.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    categories : Ratings | None
        Answers that are categories.
    votes : Votes | None
        Answers to pairwise questions; ``a`` was shown first.
    rankings : pl.DataFrame | None
        rater, item, dimension, system, rank (1 is best; equal ranks are ties), slot, position, seconds.
    spans : pl.DataFrame | None
        rater, item, dimension, start, end, label, text.
    texts : pl.DataFrame | None
        rater, item, dimension, text.
    about_raters : pl.DataFrame | None
        Answers to the questions about raters: rater, question, answer.
    n_screened_out : int
        Number of people whom a screening question turned away.
    """

    name: ClassVar[str] = "collect"
    ratings: Ratings | None
    raters: pl.DataFrame
    refused: tuple[Refusal, ...]
    provenance: Provenance
    categories: Ratings | None = None
    votes: Votes | None = None
    rankings: pl.DataFrame | None = None
    spans: pl.DataFrame | None = None
    texts: pl.DataFrame | None = None
    about_raters: pl.DataFrame | None = None
    n_screened_out: int = 0

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Those of ``ratings``, ``categories``, ``votes``, ``rankings``, ``spans``, ``texts`` and ``about_raters`` that there are; ``raters`` and ``refused``."""
        kinds = {"source": pl.String, "reason": pl.String}
        refused = pl.DataFrame([(one.source, one.reason) for one in self.refused], kinds, orient="row")
        made = {
            name: one.frame if isinstance(one, Ratings | Votes) else one
            for name in _TABLES
            if (one := getattr(self, name)) is not None
        }
        return {**made, "raters": self.raters, "refused": refused}

    @property
    def n_answers(self) -> int:
        """How many answers the tables hold."""
        return sum(len(frame) for name, frame in self.tables.items() if name in _TABLES)

    def without_names(self, seed: int | None = None) -> CollectedRatings:
        """The same answers without what could identify a rater: names are replaced by random codes; comments, free texts, the
        answers about raters, and the digests that link to the answer files are left out.

        Parameters
        ----------
        seed : int, optional
            Seed of the codes; by default they differ each time.
        """
        import numpy as np

        names = self.raters["rater"].to_list()
        order = np.random.default_rng(seed).permutation(len(names))
        codes = {names[place]: f"p{number:0{len(str(len(names)))}d}" for number, place in enumerate(order, 1)}

        def coded(frame: pl.DataFrame) -> pl.DataFrame:
            column = "voter" if "voter" in frame.columns else "rater"
            return frame.with_columns(pl.col(column).replace_strict(codes)).sort(column, maintain_order=True)

        kept = {"ratings": Ratings, "categories": Ratings, "votes": Votes, "rankings": None, "spans": None}
        changed: dict[str, Any] = {"texts": None, "about_raters": None}
        for name, kind in kept.items():
            one = getattr(self, name)
            if one is not None:
                frame = coded(one.frame if kind else one)
                changed[name] = kind(frame) if kind else frame
        raters = coded(self.raters).with_columns(
            *(pl.lit(None, pl.String).alias(name) for name in ("comments", "digest", "flags"))
        )
        note = "Without names: raters have random codes; comments, free texts, questions about raters and digests are excluded."
        settings = {name: value for name, value in self.provenance.settings.items() if name != "title"}
        provenance = replace(self.provenance, settings=settings, notes=(note,))
        return replace(self, raters=raters, refused=(), provenance=provenance, **changed)


_TABLES = ("ratings", "categories", "votes", "rankings", "spans", "texts", "about_raters")


def collect(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    key: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    pages: str | os.PathLike[str] | None = None,
    strict: bool = False,
) -> CollectedRatings:
    """The answers in raters' files as tables: ``collect(["answers/"], "packet/key.json").save("out")``.

    A file is included if it is complete, answers one of the pages, and its rater sent no other file. The pages must contain the digest of this
    key. Files that are not included are listed in ``refused``.

    Parameters
    ----------
    files : path or iterable of paths
        Raters' files (.json), an export of `howsure serve` (.jsonl), or folders of them.
    key : path or sequence of paths
        The key.json of the packet. Several packets of one study are merged; their raters are called ``FOLDER:RATER``.
    pages : path, optional
        The folder of the pages; by default the key's folder.
    strict : bool
        Raise at the first file or line that is refused.

    Returns
    -------
    CollectedRatings
        Ratings in which + always means the target; for any other study the tables that its questions give.
    """
    files, paths = as_list(files), as_list(key)
    if not paths:
        raise OptionError("key is missing: the path of key.json, which `howsure study build` wrote beside the pages.")
    for argument, given in (("files", files), ("key", paths)):
        for one in given:
            check_type(argument, one, PATH, "a path or several")
    keys = {str(path): StudyKey.read(path) for path in paths}
    first = keys[str(paths[0])]
    by_page: dict[str, str] = {}
    built: list[BuiltPage] = []
    for path, opened in keys.items():
        if opened.study.model_copy(update={"seed": first.study.seed}) != first.study:
            raise InputError(
                f"{path}: of another study than {paths[0]}. Packets of one study, with any seeds, can be merged."
            )
        folder = pages or Path(path).parent
        own = list(read_pages(folder).values())
        for page in own:
            if page.page.commitment != opened.commitment and len(keys) == 1:
                raise InputError(
                    f"{path}: not the key that the pages in {folder} were sealed with (SHA-256 {opened.commitment[:8]}… "
                    f"against {page.page.commitment[:8] or 'none'}…). Give the key from the same build, unchanged."
                )
            by_page[page.digest] = path
        built += own
    found = read_results(files, built, per_packet=by_page if len(keys) > 1 else {})
    through = [one for one in found.results if not is_screened_out(one.page.page, one.result)]
    sets = [answer_set(keys[by_page[one.page.digest]], one) for one in through]
    if len(keys) > 1:
        folders = {path: Path(path).resolve().parent.name for path in keys}
        names = [f"{folders[by_page[one.page.digest]]}:{own.rater}" for one, own in zip(through, sets, strict=True)]
        sets = [replace(own, rater=name) for own, name in zip(sets, names, strict=True)]
    # answers may lie in the packet's folder, beside files that are none
    refused = [one for one in found.refused if Path(one.source).name not in (KEY, LINKS, SUMMARY)]
    n_out = len(found.results) - len(through)
    return collect_answers(first.study, sets, refused, sealed=first.commitment, strict=strict, n_screened_out=n_out)


def collect_answers(
    study: Study | ItemStudy,
    sets: Sequence[AnswerSet],
    refused: Sequence[Refusal] = (),
    *,
    sealed: str = "",
    strict: bool = False,
    n_screened_out: int = 0,
) -> CollectedRatings:
    """Answer sets as tables, turned so that + is the target.

    A set whose ratings a table cannot hold is refused like the ``refused`` ones given. `sealed` is the digest of the key that says where the
    target was; `strict` raises on the first refusal.
    """
    counted, refused = [], list(refused)
    rows: dict[str, list[dict[str, Any]]] = {}
    for one in sets:
        own = {"ratings": list(_rating_rows(study, one))} if isinstance(study, Study) else _rows_by_table(study, one)
        try:
            if own.get("ratings"):
                Ratings(_without_empty(pl.DataFrame(own["ratings"], infer_schema_length=None)))
        except InputError as error:
            refused.append(Refusal.of(one.source, error))
        else:
            counted.append(one)
            for name, listed in own.items():
                rows.setdefault(name, []).extend(listed)
    if strict and refused:
        more = f" {len(refused) - 1} more are refused." if len(refused) > 1 else ""
        raise InputError(f"{refused[0]}{more}")
    if not counted:
        turned_away = f"{n_screened_out} people were screened out." if n_screened_out else "No file was given."
        reasons = " ".join(map(str, refused[:3])) or turned_away
        raise InputError(f"No answers count ({len(refused)} refused). {reasons}")
    raters = pl.DataFrame([_rater_row(study, one) for one in counted], RATER_COLUMNS, orient="row")
    flagged = [
        f"{one.source}: {flag}; look at it before you use these answers." for one in counted for flag in one.flags
    ]
    notes = (*(str(refusal) for refusal in refused), *flagged)
    if n_screened_out:
        notes = (*notes, f"{n_screened_out} people were turned away by a screening question.")
    made: dict[str, Any] = {"ratings": None}
    for name, listed in rows.items():
        if listed:
            frame = _without_empty(pl.DataFrame(listed, infer_schema_length=None))
            made[name] = _KINDS[name](frame) if name in _KINDS else frame
    settings = {"sealed": sealed, "study": study.digest, "title": study.title}
    tables = [one for one in made.values() if isinstance(one, Ratings | Votes)]
    digests = "".join(one.digest for one in tables) if len(tables) != 1 else tables[0].digest
    provenance = Provenance(settings, digest=digests, seed=study.seed, notes=notes)
    return CollectedRatings(
        raters=raters, refused=tuple(refused), provenance=provenance, n_screened_out=n_screened_out, **made
    )


_KINDS: Mapping[str, type[Ratings] | type[Votes]] = {"ratings": Ratings, "categories": Ratings, "votes": Votes}


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
        if is_screened_out(page.page, result):
            return ["screened out"]
        one = answer_set(key, Received(result, page, result.rater))
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


def answer_set(key: StudyKey, received: Received) -> AnswerSet:
    """Everything one rater answered, by item."""
    placed = key.placed(received.page.page.rater)
    by_screen: dict[str, list[dict[str, Any]]] = {}
    for row in answer_rows([received]):
        by_screen.setdefault(row["screen"], []).append(row)
    shown = [screen.id for screen in received.page.page.screens if screen.id in placed]
    items = [
        _answered(placed[screen], by_screen[screen], position)
        for position, screen in enumerate(shown, 1)
        if screen in by_screen
    ]
    return AnswerSet(
        rater=received.rater,
        source=received.source,
        items=joined(items),
        digest=received.result.digest,
        minutes=received.seconds / 60,
        quiz=_quiz_share(received),
        comments=_comments(received),
        flags=tuple(impossible_times(received.result)),
        about=_about(key.study, received),
    )


def _answered(placed: PlacedItem, rows: Sequence[dict[str, Any]], position: int) -> Answered:
    values = {row["question"]: row["value"] for row in rows}
    revisions = {row["question"]: row["revisions"] for row in rows}
    return Answered(placed, values, position, rows[0]["seconds"], revisions)


def _about(study: Study | ItemStudy, received: Received) -> dict[str, str]:
    """What raters said about themselves, in the words of the options."""
    names = {one.name for one in study.demographics}
    told = {}
    for screen in received.page.page.screens:
        record = received.result.screens.get(screen.id)
        if not isinstance(screen, Item) or not isinstance(record, ItemRecord) or screen.passages:
            continue
        for question in screen.questions:
            if question.name in names and question.name in record.answers:
                given = str(record.answers[question.name])
                labels = (
                    {one.value: one.label for one in question.options} if isinstance(question, ChoiceQuestion) else {}
                )
                told[question.name] = labels.get(given, given)
    return told


def _quiz_share(received: Received) -> float | None:
    """The share of right answers at the last try."""
    for screen in received.page.page.screens:
        record = received.result.screens.get(screen.id)
        if isinstance(screen, QuizScreen) and isinstance(record, QuizRecord):
            last = record.tries[-1]
            return sum(screen.is_right(name, answer) for name, answer in last.items()) / len(screen.questions)
    return None


def _comments(received: Received) -> str | None:
    for record in received.result.screens.values():
        if isinstance(record, ItemRecord) and COMMENTS in record.answers:
            return str(record.answers[COMMENTS])
    return None


# from answers to rows: any study


def _rows_by_table(study: ItemStudy, one: AnswerSet) -> dict[str, list[dict[str, Any]]]:
    """The rows of one rater by table."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _TABLES}
    for answered in one.items:
        placed = answered.placed
        if placed.item.startswith(ATTENTION):
            continue
        again = AGAIN if placed.item.endswith(AGAIN) else ""
        unit = placed.item.removesuffix(AGAIN)
        prompt = unit.partition("/")[0]
        asked: dict[tuple[str, int | None], tuple[ItemQuestion, list[str]]] = {}
        for question, slot, shown in item_questions(study, placed.systems):
            asked.setdefault((question.name, slot), (question, []))[1].append(shown.name)
        for (_, slot), (question, names) in asked.items():
            given = [answered.values[name] for name in names if name in answered.values]
            if len(given) < len(names):
                continue
            system = placed.systems[slot - 1] if slot else placed.systems[0] if len(placed.systems) == 1 else None
            item = study.response_name(unit, system) + again if system else placed.item
            base = {"rater": one.rater, "item": item, "dimension": question.name}
            times = {"position": answered.position, "seconds": answered.seconds}
            whose = {"cluster": prompt, "system": system} if system else {}
            revised = {"revisions": answered.revisions.get(names[0])}
            _sort_in(rows, question, given, placed, base, times, whose | times | revised, study)
    rows["about_raters"] = [
        {"rater": one.rater, "question": name, "answer": answer} for name, answer in one.about.items()
    ]
    return rows


def _sort_in(  # noqa: PLR0912 - one branch per type of question
    rows: dict[str, list[dict[str, Any]]],
    question: ItemQuestion,
    given: Sequence[Answer],
    placed: PlacedItem,
    base: dict[str, Any],
    times: dict[str, Any],
    more: dict[str, Any],
    study: ItemStudy,
) -> None:
    """One answer into its table."""
    answer, systems, values = given[0], placed.systems, [option_value(place) for place in range(len(placed.systems))]
    labels = {option_value(place): label for place, label in enumerate(question.labels)}
    if question.type in ("rating", "slider"):
        rows["ratings"].append({**base, "value": float(str(answer)), **more})
    elif question.type == "yes_no":
        rows["ratings"].append({**base, "value": float(answer == "yes"), **more})
    elif question.type == "labels":
        for value, label in labels.items():
            named = {**base, "dimension": f"{question.name}:{label}"}
            rows["ratings"].append({**named, "value": float(value in tuple(answer)), **more})  # type: ignore[arg-type]
    elif question.type == "category":
        rows["categories"].append({**base, "value": labels[str(answer)], **more})
    elif question.type == "pairwise":
        sides = {"voter": base["rater"], "item": base["item"].partition("/")[0], "a": systems[0], "b": systems[1]}
        repeated = {"is_repeat": placed.item.endswith(AGAIN)} if study.repeats else {}
        rows["votes"].append({**sides, "outcome": answer, "dimension": question.name, **repeated, **times})
    elif question.type in ("ranking", "best_worst"):
        if question.type == "ranking":
            order = list(answer)  # type: ignore[arg-type]
            ranks = {value: order.index(value) + 1 if value in order else len(order) + 1 for value in values}
        else:
            best, worst = given
            ranks = {value: 1 if value == best else 3 if value == worst else 2 for value in values}
        for slot, (value, system) in enumerate(zip(values, systems, strict=True), 1):
            rows["rankings"].append({**base, "system": system, "rank": ranks[value], "slot": slot, **times})
    elif question.type == "span":
        item = study.item(base["item"].partition("/")[0])
        text = plain_text(item.text if item.text is not None else item.responses[systems[0]])
        found = [part.replace(":", "-").split("-", 2) for part in tuple(answer)]  # type: ignore[arg-type]
        for start, end, value in found:
            place = {"start": int(start), "end": int(end), "label": labels[value]}
            rows["spans"].append({**base, **place, "text": text[int(start) : int(end)], "length": len(text)})
        if not found:
            nothing = dict.fromkeys(("start", "end", "label", "text"))
            rows["spans"].append({**base, **nothing, "length": len(text)})
    else:
        rows["texts"].append({**base, "text": str(answer)})


# from answers to rows: pairs


def _dimension(dimension: Dimension, slot: int | None, target: int) -> str:
    if slot is None:
        return dimension.rated[0]
    return dimension.rated[0] if slot == target else dimension.rated[1]


def _value(dimension: Dimension, answer: Answer, target: int) -> float:
    if dimension.kind == "choice":
        letters = {option_value(place): code for place, code in enumerate(dimension.codes)}
        return letters[str(answer)]
    # labels of a comparison run from Response 1 (low) to Response 2 (high)
    turn = -1 if dimension.kind == "comparison" and target == 1 else 1
    return float(turn * int(str(answer))) + 0.0  # no −0 in tables


def _is_right(study: Study | ItemStudy, answered: Answered) -> bool:
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


def _rater_row(study: Study | ItemStudy, one: AnswerSet) -> tuple[Any, ...]:
    pairs = [answered for answered in one.items if answered.placed.target]
    checks = [_is_right(study, answered) for answered in one.items if answered.placed.item.startswith(ATTENTION)]
    slot_one = sum(answered.placed.target == 1 for answered in pairs) / len(pairs) if pairs else None
    minutes = None if one.minutes is None else round(one.minutes, 2)
    return (
        one.rater,
        minutes,
        _complete(study, one),
        one.quiz,
        sum(checks) / len(checks) if checks else None,
        slot_one,
        one.comments,
        one.digest,
        "; ".join(one.flags) or None,
    )


def _complete(study: Study | ItemStudy, one: AnswerSet) -> float:
    """The share of questions answered, of all that a rater is asked."""
    if isinstance(study, ItemStudy):  # pages let nobody finish with a required question open
        asked = [
            shown.name in answered.values
            for answered in one.items
            if not answered.placed.item.startswith(ATTENTION)
            for _, _, shown in item_questions(study, answered.placed.systems)
            if shown.required
        ]
        return sum(asked) / len(asked) if asked else 1.0
    return min(sum(len(answered.values) for answered in one.items) / study.n_answers, 1.0)


def _odd(study: Study | ItemStudy, one: AnswerSet) -> Iterator[str]:
    wrong = [a for a in one.items if a.placed.item.startswith(ATTENTION) and not _is_right(study, a)]
    if wrong:
        yield f"{len(wrong)} of {len(study.attention)} attention items wrong"
    low, high = study.usual_minutes
    if one.minutes is not None and not low / 2 <= one.minutes <= high * 2:
        yield f"{one.minutes:.1f} min, where {low:g} to {high:g} are expected"
    if isinstance(study, ItemStudy):
        return
    values = {(a.placed.item, name): value for a in one.items for name, value, _ in oriented(study, a)}
    for dimension in study.dimensions:
        first = {item: value for (item, name), value in values.items() if name == dimension.name and value}
        turned = [item for item in first if first.get(item + AGAIN, first[item]) * first[item] < 0]
        if dimension.kind == "comparison" and turned:
            yield f"{dimension.name} changed sign when shown again ({len(turned)} of {study.repeats})"
