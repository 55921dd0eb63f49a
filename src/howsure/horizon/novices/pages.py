"""The pages on which people attempt tasks again and again, and are told after each answer whether it was right.

A page holds opaque names and salted hashes of the right answers; which task it shows is in the key alone, and the score that counts is made on import.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.horizon.task_bank import Task, read_tasks
from howsure.horizon.task_bank.suite import instance_seed
from howsure.people import (
    BuiltPage,
    Consent,
    GameScreen,
    Page,
    ReadingScreen,
    TextQuestion,
    build_page,
    canonical,
    digest,
    new_salt,
    opaque_id,
    read_page,
    read_pages,
    write_private,
)
from howsure.people.build import explain
from howsure.people.screens import OpaqueId
from howsure.results import Provenance, Result, write_json
from howsure.safe_io import read_bytes

__all__ = [
    "ENDING",
    "INSTRUMENT",
    "MOST_ATTEMPTS",
    "MOST_TASKS",
    "NovicePages",
    "NovicesKey",
    "PlacedTask",
    "key_beside",
    "make_pages",
]


# Which task and instances the screens of novices' pages show: the key, which stays with whoever made them.


ENDING = ".key.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlacedTask(_Part):
    """What a screen shows: a task, and the instance at each attempt."""

    task: str
    seeds: tuple[int, ...] = Field(min_length=1)


class NovicesKey(_Part):
    """Tasks, and where they are shown. Every page carries the key's digest; the salt keeps anyone from guessing at its content."""

    format: Literal["howsure-novices-key/1"] = "howsure-novices-key/1"
    salt: str = Field(min_length=16)
    tasks: tuple[Task, ...]
    screens: dict[OpaqueId, PlacedTask] = Field(min_length=1)

    @property
    def text(self) -> str:
        """The content of its file."""
        return canonical(self.model_dump(mode="json"))

    @property
    def commitment(self) -> str:
        """Its SHA-256."""
        return digest(self.text)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> NovicesKey:
        """The key in a file."""
        try:
            return cls.model_validate_json(read_bytes(Path(path)))
        except ValidationError as error:
            raise InputError(
                f"{path}: not the key of novices' pages ({explain(error)}). Name the file that came with them."
            ) from None


def key_beside(pages: Path) -> Path:
    """Where the key of a page, or of a folder of pages, is kept."""
    return pages / f"novices{ENDING}" if pages.is_dir() or pages.suffix != ".html" else pages.with_suffix(ENDING)


INSTRUMENT = "horizon"
MOST_TASKS = MOST_ATTEMPTS = 100
_EVERYONE = ""
_KEPT = (
    "Your answers are kept as you type them, so that the study can show which mistakes people make and compare them with those of computer programs. "
    "They may be published without your name. Do not type anything about yourself. If you do not agree, close this page."
)
_AGREE = "I agree that my answers are kept and may be published without my name."


@dataclass(frozen=True, kw_only=True, eq=False)
class NovicePages(Result):
    """Pages for novices, one per learner or one for everyone, and their key.

    Table ``novice_pages``: one row per page (learner, n_tasks, n_attempts, digest); it does not reveal which tasks a page shows.

    Parameters
    ----------
    pages : dict of str to BuiltPage
        The pages by learner; the learner of a page for everyone is the empty text.
    key : NovicesKey
        Which tasks and instances the pages show.
    provenance : Provenance
        Digest of the key, version and notes.
    """

    name: ClassVar[str] = "novice_pages"

    pages: dict[str, BuiltPage]
    key: NovicesKey
    provenance: Provenance

    @classmethod
    def of(cls, pages: dict[str, BuiltPage], key: NovicesKey) -> NovicePages:
        """These pages with their key."""
        return cls(pages=pages, key=key, provenance=Provenance({"n_pages": len(pages)}, key.commitment[:16]))

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``novice_pages``."""
        rows = []
        for learner, built in self.pages.items():
            games = [screen for screen in built.page.screens if isinstance(screen, GameScreen)]
            rows.append((learner or "everyone", len(games), sum(len(game.steps) for game in games), built.digest))
        return {self.name: pl.DataFrame(rows, ["learner", "n_tasks", "n_attempts", "digest"], orient="row")}

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the pages, a summary in a folder of pages, and the key, which only its owner may read.

        Parameters
        ----------
        path : str or path
            An HTML file for one page for everyone; a folder for one page per learner.
        """
        out, is_shared = Path(path), _EVERYONE in self.pages
        if is_shared != (out.suffix == ".html"):
            raise OptionError(
                f"{out}: name a file such as novice.html for one page, or a folder for one page per learner."
            )
        key = key_beside(out)
        if key.exists():
            raise InputError(
                f"{key}: is already there, and answers to its pages need it. Choose another name for these."
            )
        if not is_shared and next(out.glob("*.html"), None):
            raise InputError(f"{out}: contains other pages, which would be handed out with these. Name a new folder.")
        pages = {out if is_shared else out / f"{learner}.html": page for learner, page in self.pages.items()}
        summary = [] if is_shared else [write_json(self.as_dict(), out / f"{self.name}.json")]
        return [*(page.save(file) for file, page in pages.items()), *summary, write_private(key, self.key.text)]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NovicePages:
        """The pages that `save` wrote.

        Parameters
        ----------
        path : str or path
            The HTML file or the folder; the key lies beside the page, or in the folder.
        """
        where = Path(path)
        built = read_pages(where).values() if where.is_dir() else [read_page(where)]
        return cls.of({page.page.rater: page for page in built}, NovicesKey.read(key_beside(where)))


@checked
def make_pages(
    tasks: Sequence[Task] | str | os.PathLike[str],
    *,
    n_tasks: int = 5,
    n_attempts: int = 10,
    n_learners: int | None = None,
    with_judged: bool = False,
    is_timed: bool = False,
    keeps_answers: bool = False,
    shows_answers: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> NovicePages:
    """One page per learner, each with different tasks and instances; or one page for everyone, which asks for a name.

    Tasks are assigned so that all domains occur and the numbers of learners per task differ by at most one.

    Parameters
    ----------
    tasks : Sequence[Task] or path
        The tasks to choose from, or the file that has them.
    n_tasks : int
        Tasks per learner.
    n_attempts : int
        Attempts per task.
    n_learners : int | None
        Number of pages; None for one page for everyone.
    with_judged : bool
        Whether to include tasks that a person must score; they give no feedback.
    is_timed : bool
        Pages for people who know the tasks, to measure how long they need: one instance per task, which is answered until the answer is right or the person gives up.
    keeps_answers : bool
        Whether the page asks people to agree that their answers are kept as typed; without it only scores and modes of failure are.
    shows_answers : bool
        Whether the page shows the right answer after a wrong one, at tasks that are new at each attempt; by default people are told right or wrong alone.
    seed : int
        Seed of the random numbers.
    progress : Callable[[int, int], None] | None
        Called with the number of steps done and the total.
    """
    tasks = read_tasks(tasks)
    if not (
        1 <= n_attempts <= MOST_ATTEMPTS and 1 <= n_tasks <= MOST_TASKS and (n_learners is None or n_learners >= 1)
    ):
        raise OptionError(
            f"A page has 1 to {MOST_TASKS} tasks and 1 to {MOST_ATTEMPTS} attempts, for 1 or more learners."
        )
    usable = [task for task in tasks if with_judged or task.is_verifiable]
    if is_timed:
        usable = [task for task in usable if task.is_verifiable and task.instance(0).accepted()]
    if is_timed and shows_answers:
        raise OptionError(
            "A timed task stays the same until it is solved, so its answer cannot be shown. Remove one of the two."
        )
    if not usable:
        raise OptionError("No task of the suite is checked by a program. Add such tasks, or pass --judged.")
    salt, numbers = new_salt(), range(1, n_learners + 1) if n_learners else [0]
    rounds: dict[str, list[_Round]] = {}
    for number, dealt in zip(numbers, _deal(usable, n_tasks, seed), strict=False):
        name = f"learner-{number:03d}" if number else _EVERYONE
        first = instance_seed(seed, 1, learner=number)
        rounds[name] = [
            _Round(
                task,
                (first,) * n_attempts if is_timed else tuple(range(first, first + n_attempts)),
                opaque_id(salt, name, task.id),
                is_timed=is_timed,
                shows_answers=shows_answers and task.generator is not None,
            )
            for task in dealt
        ]
    return _sealed(rounds, salt, progress, keeps_answers=keeps_answers)


@dataclass(frozen=True)
class _Round:
    """All attempts of a learner at one task, and the name of their screen."""

    task: Task
    seeds: tuple[int, ...]
    id: str
    is_timed: bool = False
    shows_answers: bool = False

    @property
    def placed(self) -> PlacedTask:
        return PlacedTask(task=self.task.id, seeds=self.seeds)

    def screen(self, title: str) -> GameScreen:
        """A task that stays the same is over once it was solved; of one that is new each time all attempts are made."""
        lines = 1 if self.task.is_verifiable else 10
        answer = TextQuestion(name="answer", text="Your answer", required=True, lines=lines, max_chars=20_000)
        instances = [self.task.instance(seed) for seed in self.seeds]
        steps = [(one.prompt, tuple(filter(answer.accepts, one.accepted()))) for one in instances]
        can_tell = all(rights for _, rights in steps)
        return GameScreen.hiding(
            steps,
            answer=answer,
            corrections=[one.answer or "" for one in instances] if self.shows_answers and can_tell else (),
            id=self.id,
            title=title,
            text=self._introduction(can_tell=can_tell),
            unit="Attempt",
            tells=can_tell,
            fixed_width=self.task.is_verifiable,  # grids and programs have to line up
            stop="right" if can_tell and (self.is_timed or not self.task.generator) else "end",
            gives_up=self.is_timed,
        )

    def _introduction(self, *, can_tell: bool) -> str:
        n = len(self.seeds)
        if self.is_timed:
            return (
                f"{self.task.description}\n\nThe time runs from Start until your answer is right. You can answer up to {n} times, and are told each time whether it was right. "
                "Give up where you would stop working on the task."
            )
        if self.task.generator:
            what = f"{self.task.description}\n\nAttempts: {n}, every time a new one."
        else:
            what = f"Attempts: up to {n}, until your answer is right." if can_tell else f"Attempts: {n}."
        told = "After each answer you are told whether it was right"
        told += ", and after a wrong one what was right." if self.shows_answers else "."
        return f"{what} {told if can_tell else 'You are not told whether an answer is right.'}"


def _deal(tasks: Sequence[Task], n_tasks: int, seed: int) -> Iterator[list[Task]]:
    """Tasks for one learner after the other: a pack with its domains mixed is dealt round and round."""
    rng = random.Random(seed)
    by_domain: defaultdict[str, list[Task]] = defaultdict(list)
    for task in rng.sample(tasks, len(tasks)):
        by_domain[task.domain].append(task)
    rows = itertools.zip_longest(*by_domain.values())
    pack = itertools.cycle([task for row in rows for task in row if task])
    while True:
        dealt = list(itertools.islice(pack, min(n_tasks, len(tasks))))
        yield rng.sample(dealt, len(dealt))


def _sealed(
    rounds: dict[str, list[_Round]], salt: str, progress: Callable[[int, int], None] | None, *, keeps_answers: bool
) -> NovicePages:
    every = [one for several in rounds.values() for one in several]
    tasks = {one.task.id: one.task for one in every}
    key = NovicesKey(salt=salt, tasks=tuple(tasks.values()), screens={one.id: one.placed for one in every})
    pages = {}
    for name, several in rounds.items():
        pages[name] = _page(name, several, key, keeps_answers=keeps_answers)
        if progress:
            progress(len(pages), len(rounds))
    return NovicePages.of(pages, key)


def _page(learner: str, rounds: Sequence[_Round], key: NovicesKey, *, keeps_answers: bool) -> BuiltPage:
    how = "Work as you would at your work, and without an assistant. The page measures how long you need for each task: start a task when you can finish it without a break, and give up where you would stop working on it."
    text = (
        f"Tasks: {len(rounds)}.\n\n{how} You can leave between two tasks and come back: your answers are kept on this device."
        if rounds[0].is_timed
        else f"Tasks: {len(rounds)}. Attempts at each: up to {len(rounds[0].seeds)}.\n\nWork alone and without help: no search, no calculator, no assistant; "
        "paper is fine. Take the time you need. You can leave and come back: your answers are kept on this device.\n\nIf you do not know an answer, "
        "guess, or type a question mark."
    )
    welcome = ReadingScreen(id=opaque_id(key.salt, learner, "welcome"), title="What you will do", text=text)
    consent = Consent(id=opaque_id(key.salt, learner, "consent"), title="Your answers", text=_KEPT, agree=_AGREE)
    games = [one.screen(f"Task {place} of {len(rounds)}") for place, one in enumerate(rounds, 1)]
    page = Page(
        instrument=INSTRUMENT,
        title="Tasks",
        screens=(*([consent] if keeps_answers else []), welcome, *games),
        rater=learner,
        commitment=key.commitment,
    )
    return build_page(page)
