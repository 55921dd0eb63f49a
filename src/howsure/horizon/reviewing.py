"""Texts that people score: the pages on which reviewers do so, and the scores added to the attempts that the texts belong to."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.horizon.asking.task_runs import TaskRun
from howsure.horizon.novices.answers import Novices
from howsure.horizon.task_bank import Instance
from howsure.horizon.task_bank.rubric import combined, points_to_judge
from howsure.people import (
    BuiltPage,
    ChoiceQuestion,
    Item,
    Option,
    Page,
    Passage,
    ReadingScreen,
    ScaleQuestion,
    answer_rows,
    build_page,
    opaque_id,
    read_page,
    read_pages,
    read_results,
)
from howsure.people.questions import Question
from howsure.results import Result
from howsure.tables.frames import parts_of

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["add_reviews", "make_review_pages", "write_review_pages"]

Reviewed = TaskRun | Novices
_EVERYONE = ""
_INSTRUMENT = "horizon_review"
_MET = {"yes": ("Yes", 1.0), "in_part": ("In part", 0.5), "no": ("No", 0.0)}
_STEPS = ("Not at all", "A little", "By half", "Mostly", "In full")
_MOST_TEXTS = 400
_LONGEST_POINT = 1_000
_MOST_POINTS = 50


def make_review_pages(
    found: Reviewed | str | os.PathLike[str], *, n_reviewers: int | None = None, n_readings: int | None = None
) -> dict[str, BuiltPage]:
    """Pages on which people score the texts of a run or of novices, by reviewer; one page for everyone is called by the empty text.

    A page says nothing of who wrote a text. Of a rubric with numbered points it asks for those that no program can check; of any other rubric it asks to what extent the text meets it.

    Parameters
    ----------
    found : TaskRun, Novices or path
        The result, or the folder that `howsure horizon run` or `howsure horizon collect` wrote.
    n_reviewers : int, optional
        One page per reviewer, each in an order of its own; None for one page for everyone, which asks for a name.
    n_readings : int, optional
        How many of the reviewers read each text, dealt evenly; None: all of them.
    """
    review = _with_texts(found).review
    if review.is_empty():
        raise InputError("No text waits for a review.")
    if n_reviewers is None:
        if n_readings is not None:
            raise OptionError(
                "Texts can be dealt out only to a known number of reviewers. Give the number of reviewers, too."
            )
        return {_EVERYONE: _page(_EVERYONE, review)}
    n_each = n_reviewers if n_readings is None else n_readings
    if not 1 <= n_each <= n_reviewers:
        raise OptionError(f"{n_each} of {n_reviewers} reviewers cannot read a text. Choose 1 to {max(n_reviewers, 1)}.")
    dealt: dict[str, list[int]] = {f"reviewer-{number:02d}": [] for number in range(1, n_reviewers + 1)}
    names = list(dealt)
    for place in range(len(review) * n_each):  # the next n reviewers each, so that all get as many
        dealt[names[place % n_reviewers]].append(place // n_each)
    orders = {name: random.Random(name).sample(rows, len(rows)) for name, rows in dealt.items() if rows}
    return {name: _page(name, review[order]) for name, order in orders.items()}


@checked
def write_review_pages(
    found: Reviewed | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    n_reviewers: int | None = None,
    n_readings: int | None = None,
) -> list[Path]:
    """Write what `make_review_pages` makes: an HTML file for one page for everyone, a folder for one page per reviewer.

    Parameters
    ----------
    found : TaskRun, Novices or path
        As for `make_review_pages`.
    path : str or path
        The file or the folder.
    n_reviewers, n_readings : int, optional
        As for `make_review_pages`.
    """
    out = Path(path)
    if (n_reviewers is None) != (out.suffix == ".html"):
        raise OptionError(
            f"{out}: name a file such as review.html for one page, or with a number of reviewers a folder."
        )
    if out.is_file() or next(out.glob("*.html"), None):
        raise InputError(f"{out}: is already there, and answers may belong to it. Name another one.")
    made = make_review_pages(found, n_reviewers=n_reviewers, n_readings=n_readings)
    return [page.save(out / f"{name}.html" if name else out) for name, page in made.items()]


@checked
def add_reviews(
    found: Reviewed | str | os.PathLike[str],
    reviews: Source | Sequence[str | os.PathLike[str]],
    *,
    pages: str | os.PathLike[str] | None = None,
) -> Reviewed:
    """A run, or novices' attempts, with the scores that people gave to their texts.

    Parameters
    ----------
    found : TaskRun, Novices or path
        The result, or the folder that `howsure horizon run` or `howsure horizon collect` wrote.
    reviews : path, frame or sequence of paths
        ``review.csv`` with a column ``score`` from 0 to 1; rows without a score were not read. With ``pages`` the answers to these: files (.json), exports of `howsure serve` (.jsonl), or folders of them.
        Several scores of one text are averaged.
    pages : path, optional
        The page that reviewers answered, or the folder of pages.
    """
    result = _with_texts(found)
    if pages is None:
        rows = pl.concat([part.parsed().rows for part in parts_of(reviews)], how="diagonal_relaxed").collect()
        return result.reviewed(rows)
    files = [reviews] if isinstance(reviews, str | os.PathLike) else reviews
    rows, notes = _answered(Path(pages), files, result.review)  # type: ignore[arg-type]
    scored = result.reviewed(rows)
    provenance = replace(scored.provenance, notes=(*scored.provenance.notes, *notes))
    return replace(scored, provenance=provenance)


def _with_texts(found: Reviewed | str | os.PathLike[str]) -> Reviewed:
    result = found if isinstance(found, TaskRun | Novices) else Result.load(found)
    if not isinstance(result, TaskRun | Novices):
        raise InputError(
            f"{found}: has no texts to review. Give the folder that `howsure horizon run` or `howsure horizon collect` wrote."
        )
    return result


def _page(reviewer: str, review: pl.DataFrame) -> BuiltPage:
    n = len(review)
    if n > _MOST_TEXTS:
        raise OptionError(f"{n:,} texts are too many for a page ({_MOST_TEXTS}). Deal them out to several reviewers.")
    welcome = ReadingScreen(
        id=opaque_id("review", reviewer, "welcome"),
        title="What you will do",
        text=f"Texts: {n}.\n\nEach text was written by a person or by a computer program; you are not told which. Read the task, then the text, and answer the questions below it. Judge what is there, "
        "not how long it is or who may have written it.\n\nYou can leave and come back: your answers are kept on this device. You can change them until you finish.",
    )
    items = [_screen(row, f"Text {place} of {n}") for place, row in enumerate(review.iter_rows(named=True), 1)]
    return build_page(Page(instrument=_INSTRUMENT, title="Review of texts", screens=(welcome, *items), rater=reviewer))


def _screen(row: Mapping[str, Any], title: str) -> Item:
    points = _points(row)
    rubric = () if points else (Passage(label="What to go by", text=row["rubric"]),)
    return Item(
        id=row["item"],
        title=title,
        text="Does the text meet each point? What is not asked here, such as a number of words, is checked by a program." if points else "",
        context=(Passage(label="The task", text=row["prompt"]), *rubric),
        passages=(Passage(label="The text", text=row["text"].strip() or "(empty)"),),
        questions=_questions(points),
    )  # fmt: skip


def _points(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The points that a reviewer is asked for one by one; none where one question has to do."""
    points = points_to_judge(Instance.judged(row["prompt"], row["rubric"]), row["text"])
    return points if len(points) <= _MOST_POINTS and all(len(one) <= _LONGEST_POINT for one in points) else ()


def _questions(points: Sequence[str]) -> tuple[Question, ...]:
    if not points:
        return (ScaleQuestion(name="score", text="To what extent does the text meet this?", low=0, labels=_STEPS),)
    options = tuple(Option(value=value, label=label) for value, (label, _) in _MET.items())
    return tuple(ChoiceQuestion(name=f"point_{n}", text=point, options=options) for n, point in enumerate(points, 1))


def _answered(
    pages: Path, files: Iterable[str | os.PathLike[str]], review: pl.DataFrame
) -> tuple[pl.DataFrame, list[str]]:
    """One row per reviewer and text (item, score), and which files were refused."""
    built = list(read_pages(pages).values()) if pages.is_dir() else [read_page(pages)]
    if any(page.page.instrument != _INSTRUMENT for page in built):
        raise InputError(
            f"{pages}: not a page for reviewers. Name the page that `howsure horizon review --page` wrote."
        )
    collected = read_results(files, built)
    notes = [str(refusal) for refusal in collected.refused]
    if not collected.results:
        raise InputError(" ".join(["No answers were accepted.", *notes[:3]]))
    row_of = {row["item"]: row for row in review.iter_rows(named=True)}
    given: dict[tuple[str, str], dict[str, Any]] = {}
    for one in answer_rows(collected.results):
        given.setdefault((one["rater"], one["screen"]), {})[one["question"]] = one["value"]
    rows = [(rater, item, _score(row_of.get(item), answers)) for (rater, item), answers in given.items()]
    return pl.DataFrame(
        rows, schema={"reviewer": pl.String, "item": pl.String, "score": pl.Float64}, orient="row"
    ), notes


def _score(row: Mapping[str, Any] | None, answers: Mapping[str, Any]) -> float:
    """A text that is not in this folder gets any score: it is refused by its name."""
    if "score" in answers:
        return int(answers["score"]) / (len(_STEPS) - 1)
    judged = sum(_MET[value][1] for value in answers.values()) / len(answers)
    return combined(Instance.judged(row["prompt"], row["rubric"]), row["text"], judged) if row else judged
