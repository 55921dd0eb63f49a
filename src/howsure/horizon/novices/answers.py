"""Novices' files → a table of attempts, scored by the tasks themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.horizon.asking.replies import to_name
from howsure.horizon.failure_modes import failure_mode
from howsure.horizon.novices.pages import ENDING, INSTRUMENT, NovicePages, NovicesKey, PlacedTask, key_beside
from howsure.horizon.task_bank import Instance, Task
from howsure.people import BuiltPage, Consent, Received, Refusal, read_page, read_pages, read_results, step_rows
from howsure.people.blinding import opaque_id
from howsure.people.packet import LINKS
from howsure.people.screens import GameScreen
from howsure.results import Provenance, Result, plain
from howsure.tables import Attempts

__all__ = ["Novices", "Written", "collect_novices", "review_item", "review_scores", "review_table"]

_ROWS = {
    **dict.fromkeys(("subject", "kind", "task"), pl.String),
    "attempt": pl.Int64,
    "score": pl.Float64,
    **dict.fromkeys(("family", "domain"), pl.String),
    "seconds": pl.Float64,
    **dict.fromkeys(("verification_type", "mode", "answer"), pl.String),
    "position": pl.Int64,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Novices(Result):
    """Attempts of novices, read from their answer files.

    Parameters
    ----------
    rows : pl.DataFrame
        One row per scored attempt.
    learners : pl.DataFrame
        One row per learner.
    review : pl.DataFrame
        Texts that a person must score, without names.
    pending : pl.DataFrame
        The attempts that these texts belong to: columns of ``rows``, and item. Keep it from reviewers.
    refused : tuple[Refusal, ...]
        Files that were refused, and why.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "novices"

    rows: pl.DataFrame
    learners: pl.DataFrame
    review: pl.DataFrame
    pending: pl.DataFrame
    refused: tuple[Refusal, ...]
    provenance: Provenance

    def reviewed(self, reviews: pl.DataFrame) -> Novices:
        """The same with the scores that people gave to the texts in ``review``.

        A learner's attempts at a task count up to the first that has no score yet.

        Parameters
        ----------
        reviews : polars.DataFrame
            The table ``review`` with a column ``score`` from 0 to 1; several rows of one item are averaged.
        """
        found = review_scores(reviews, self.review["item"])
        given = self.pending.drop("score").join(found, on="item", how="left").sort("subject", "task", "attempt")
        is_read = pl.col("score").is_not_null().cast(pl.Int64).cum_min().over("subject", "task") == 1
        read = given.filter(is_read)
        rows = pl.concat([self.rows, read.select(self.rows.columns)])
        left = pl.col("item").is_in(read["item"].implode())
        return replace(self, rows=rows, review=self.review.filter(~left), pending=self.pending.filter(~left))

    @cached_property
    def attempts(self) -> Attempts:
        """The scored attempts as a checked table."""
        if self.rows.is_empty():
            raise InputError(
                "All answers must be scored by people, so there is no scored attempt yet. They are in review.csv."
            )
        return Attempts(self.rows, notes=self.provenance.notes)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``learners`` (one row per learner); ``attempts`` where there are scores, ``review`` where somebody has to read."""
        scored = {"attempts": self.attempts.frame} if len(self.rows) else {}
        return {"learners": self.learners, **scored, **({"review": self.review} if len(self.review) else {})}

    def as_dict(self) -> dict[str, Any]:
        """How much came in, from whom, and what was refused, as plain JSON; attempts and texts are left to their files."""
        kept = {name: value for name, value in super().as_dict().items() if name not in ("attempts", "review")}
        counts = {"n_attempts": len(self.rows), "n_to_review": len(self.review), "refused": self.refused}
        return {**plain(counts), **kept}

    def more_files(self) -> dict[str, pl.DataFrame | None]:
        """The runs, where there are scores."""
        return {"runs.jsonl": to_name(self.attempts) if len(self.rows) else None}


@checked
def collect_novices(
    pages: str | os.PathLike[str],
    files: Iterable[str | os.PathLike[str]],
    *,
    key: str | os.PathLike[str] | None = None,
) -> Novices:
    """Attempts in novices' answer files.

    Answers are scored again by the tasks' own checks; the mark that the page gave is ignored. A fixed task ends once it is solved: the remaining attempts count as correct, without a time.
    On a timed page (`make_pages` with ``is_timed``) a task is one attempt: its time until the right answer with score 1, or until the person gave up with score 0.

    Parameters
    ----------
    pages : str or path
        The page that was answered, or the folder of pages.
    files : Iterable[str or path]
        Answer files (.json), exports of `howsure serve` (.jsonl), or folders of them.
    key : str or path | None
        The key of the pages; by default the one in the same folder.
    """
    path = Path(pages)
    opened = NovicesKey.read(key or key_beside(path))
    built = list(read_pages(path).values()) if path.is_dir() else [read_page(path)]
    for page in built:
        _check(page, opened, path)
    found = read_results(files, built)
    # answers may lie in the pages' folder, beside files that are none
    others = ENDING, LINKS, f"{NovicePages.name}.json"
    refused = tuple(one for one in found.refused if not one.source.endswith(others))
    if not found.results:
        raise InputError(" ".join(["No answers were accepted.", *map(str, refused[:3])]))
    courses = [course for received in found.results for course in _courses(received, opened)]
    return _gathered(courses, found.results, refused, opened)


def _check(page: BuiltPage, key: NovicesKey, path: Path) -> None:
    if page.page.instrument != INSTRUMENT:
        raise InputError(
            f"{path}: a page of {page.page.instrument}, not of {INSTRUMENT}. Name the page that was played."
        )
    if page.page.commitment != key.commitment:
        raise InputError(
            f"{path}: not sealed with this key (SHA-256 {page.page.commitment[:8]}… against {key.commitment[:8]}…). Give the key that came with the page."
        )


@dataclass(frozen=True)
class _Course:
    """One learner's way through one task: what was answered to each instance, and how long it took."""

    learner: str
    task: Task
    placed: PlacedTask
    answers: Sequence[tuple[str, float]]
    position: int
    secret: str  # of the key, for the names of texts
    is_timed: bool = False
    is_kept: bool = False  # whether the learner agreed that answers are kept as typed

    @property
    def instances(self) -> list[Instance]:
        return [self.task.instance(seed) for seed in self.placed.seeds]

    @property
    def n_carried(self) -> int:
        """Attempts that were left when the task was solved; none of a task that was timed until then."""
        return 0 if self.is_timed else len(self.placed.seeds) - len(self.answers)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per attempt; where somebody has to read it, without a score and with the name of the text."""
        about = {name: getattr(self.task, name) for name in ("family", "domain", "verification_type")}
        told = {"subject": self.learner, "kind": "human", "task": self.task.id, "position": self.position, **about}
        if self.is_timed:
            # until the right answer, or until the person gave up: then the time is a lower bound
            about = self._answered(self.instances[0], self.answers[-1][0])
            yield told | about | {"attempt": 1, "seconds": sum(seconds for _, seconds in self.answers)}
            return
        carried: list[dict[str, Any]] = [{"score": 1.0, "seconds": None}] * self.n_carried
        scored = [
            self._answered(one, answer) | {"seconds": seconds}
            for one, (answer, seconds) in zip(self.instances, self.answers, strict=False)
        ]
        for attempt, about in enumerate([*scored, *carried], 1):
            item = None
            if about["score"] is None:
                item = review_item(self.secret, self.learner, self.task.id, self.placed.seeds[attempt - 1])
            yield told | about | {"attempt": attempt, "item": item}

    def _answered(self, instance: Instance, answer: str) -> dict[str, Any]:
        """The score of an answer, what is wrong with it and, where the learner agreed to that, the answer."""
        about = {"score": instance.check(answer), "mode": failure_mode(instance, answer)}
        return about | ({"answer": answer} if self.is_kept else {})

    def written(self) -> Iterator[Written]:
        """The texts that somebody has to read."""
        if not self.task.is_verifiable:
            for seed, (answer, _) in zip(self.placed.seeds, self.answers, strict=True):
                yield Written(self.task, seed, self.learner, answer)


def _courses(received: Received, key: NovicesKey) -> Iterator[_Course]:
    tasks = {task.id: task for task in key.tasks}
    screens = {screen.id: screen for screen in received.page.page.screens if isinstance(screen, GameScreen)}
    for position, (screen, game) in enumerate(screens.items(), 1):
        placed = key.screens[screen]
        answers = [(str(row["answer"]), row["seconds"]) for row in step_rows([received]) if row["screen"] == screen]
        is_kept = any(isinstance(one, Consent) for one in received.page.page.screens)
        course = _Course(
            received.rater, tasks[placed.task], placed, answers, position, key.salt, game.gives_up, is_kept
        )
        if [step.show for step in game.steps] != [instance.prompt for instance in course.instances]:
            raise InputError(
                f"{received.source}: the page shows other instances of {placed.task} than this version of Howsure makes. Collect with the version that made the page."
            )
        yield course


def _gathered(
    courses: Sequence[_Course], results: Sequence[Received], refused: tuple[Refusal, ...], key: NovicesKey
) -> Novices:
    every = pl.DataFrame([row for course in courses for row in course.rows()], schema=_ROWS | {"item": pl.String})
    rows = every.drop_nulls("score").drop("item")
    notes = [str(refusal) for refusal in refused]
    if carried := sum(course.n_carried for course in courses):
        notes.append(
            f"{carried} attempts at tasks that stay the same were not made, because they were solved; they count as right."
        )
    minutes = pl.DataFrame(
        [(one.rater, one.seconds / 60) for one in results],
        schema={"learner": pl.String, "minutes": pl.Float64},
        orient="row",
    )
    sums = rows.group_by(pl.col("subject").alias("learner")).agg(
        pl.col("task").n_unique().alias("tasks"), pl.len().alias("attempts"), pl.col("score").mean().alias("success")
    )
    learners = minutes.join(sums, on="learner", how="left", maintain_order="left")
    review = review_table((text for course in courses for text in course.written()), key.salt)
    return Novices(
        rows=rows,
        learners=learners,
        review=review,
        pending=every.filter(pl.col("score").is_null()),
        refused=refused,
        provenance=Provenance({}, key.commitment[:16], notes=tuple(notes)),
    )


# Texts that somebody has to read, laid out for a blind review: nothing tells who wrote them; and the scores that come back.


_COLUMNS = ("item", "task", "seed", "prompt", "rubric", "text")


@dataclass(frozen=True)
class Written:
    """A text that was written at an instance of a task; ``by`` is who wrote it, after ``shots`` worked examples, which the table does not tell."""

    task: Task
    seed: int
    by: str
    text: str
    shots: int = 0


def review_table(texts: Iterable[Written], secret: str) -> pl.DataFrame:
    """One row per text: item, task, seed, prompt, rubric, text; in an order that says nothing.

    ``item`` is the same for the same writer, task and instance under one ``secret``, so that ratings find back to their attempt.
    """
    rows = []
    for one in texts:
        instance = one.task.instance(one.seed)
        item = review_item(secret, one.by, one.task.id, one.seed, one.shots)
        rows.append((item, one.task.id, one.seed, instance.prompt, instance.rubric, one.text))
    schema = dict.fromkeys(_COLUMNS, pl.String) | {"seed": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("item")


def review_item(secret: str, by: str, task: str, seed: int, shots: int = 0) -> str:
    """The name of a text in a review. Without the ``secret``, which reviewers do not get, nobody can find the texts of a writer whose name they guess."""
    return opaque_id(secret, by, task, seed, *([shots] if shots else []))


def review_scores(reviews: pl.DataFrame, known: Iterable[str]) -> pl.DataFrame:
    """One row per reviewed item: item, score. Rows without a score were not read; several of one item are averaged.

    Parameters
    ----------
    reviews : polars.DataFrame
        ``review.csv`` with a column ``score`` from 0 to 1; more rows per item where several people read it.
    known : iterable of str
        The items that wait for a score.
    """
    if absent := {"item", "score"} - set(reviews.columns):
        raise InputError(
            f"The reviews have no column {min(absent)!r}. Fill in review.csv: one row per item, with a score from 0 to 1."
        )
    rows = reviews.select("item", pl.col("score").cast(pl.Float64, strict=False)).drop_nulls("score")
    wrong = rows.filter(~pl.col("score").is_between(0, 1))
    if len(wrong):
        raise InputError(f"The score {wrong['score'][0]:g} of item {wrong['item'][0]} is not between 0 and 1.")
    strange = rows.filter(~pl.col("item").is_in(list(known)))
    if len(strange):
        raise InputError(
            f"No text that waits for a review is called {strange['item'][0]!r}. Give the reviews of this folder's review.csv."
        )
    if rows.is_empty():
        raise InputError("No review has a score. Fill in the column score, from 0 to 1.")
    return rows.group_by("item", maintain_order=True).agg(pl.col("score").mean())
