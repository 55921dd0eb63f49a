"""A rehearsal: simulated novices fill in the real pages, so that the whole way to the horizon can be tried before anyone is invited."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from howsure.arguments import checked
from howsure.horizon.novices.pages import NovicePages, PlacedTask
from howsure.horizon.simulator import Suite, suite_of
from howsure.horizon.task_bank import Instance, Task
from howsure.people import BuiltPage, GameScreen
from howsure.people.packet import seen_record, signed_answers, write_answers
from howsure.people.screens import GAVE_UP

__all__ = ["fill_in_pages"]

_WRONG = "?"
_TEXT = "A text of a simulated novice."
_SECONDS = 20.0  # median of an answer
_SPREAD = 0.5  # standard deviation of the logarithm of seconds
_GIVES_UP = 0.3  # probability after a wrong answer on a timed page


@checked
def fill_in_pages(
    pages: NovicePages | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    n_learners: int = 10,
    sameness: float = 0.85,
    seed: int = 0,
) -> tuple[list[Path], Suite]:
    """Write the files that simulated novices would send back, and say by which curves they learn.

    Their success follows `howsure.horizon.simulator.simulate`: it rises with the attempts at a task, and each learner has an advantage of their own. A novice who fails types a question mark; tasks that are checked by a ``regex`` are never solved, because no right answer is known.

    Parameters
    ----------
    pages : NovicePages or path
        The pages, or the HTML file or folder that `howsure horizon page` wrote.
    folder : str or path
        Folder for the answer files.
    n_learners : int
        How many people answer a page for everyone; a page made for one learner is answered by that learner.
    sameness : float
        Similarity of the learners; 1: all the same.
    seed : int
        The same seed gives the same answers.

    Returns
    -------
    paths, Suite
        The files, and the true learning curve of each task.
    """
    made = pages if isinstance(pages, NovicePages) else NovicePages.load(pages)
    suite = suite_of(made.key.tasks, seed=seed)
    rng = np.random.default_rng([seed, 1])
    names = [(name, page) for name, page in made.pages.items() if name]
    if not names:
        names = [(f"novice-{k:03d}", page) for page in made.pages.values() for k in range(1, n_learners + 1)]
    sent = {name: _answers(name, page, made, _Novice(suite, sameness, rng)) for name, page in names}
    return write_answers(folder, sent), suite


class _Novice:
    """One learner, with an advantage of their own at all tasks."""

    def __init__(self, suite: Suite, sameness: float, rng: np.random.Generator) -> None:
        self.suite, self.sameness, self.rng = suite, sameness, rng
        self.place = {task: k for k, task in enumerate(suite.tasks["task"])}
        self.advantage = np.sqrt(1 - sameness) * rng.standard_normal()

    def succeeds(self, task: str, attempt: int) -> bool:
        typical = ndtri(self.suite.success(attempt)[self.place[task]])
        return bool(self.rng.random() < ndtr((typical + self.advantage) / np.sqrt(self.sameness)))

    def seconds(self) -> float:
        return float(_SECONDS * np.exp(_SPREAD * self.rng.standard_normal()))

    def steps(self, screen: GameScreen, task: Task, placed: PlacedTask) -> Iterator[dict[str, Any]]:
        """Answers until the page ends the game."""
        given: list[str] = []
        for attempt, seed in enumerate(placed.seeds, 1):
            if screen.is_over(given):
                return
            has_given_up = screen.gives_up and bool(given) and self.rng.random() < _GIVES_UP
            given.append(GAVE_UP if has_given_up else self.answer(task, task.instance(seed), attempt))
            yield {"answer": given[-1], "ms": round(1000 * self.seconds())}

    def answer(self, task: Task, instance: Instance, attempt: int) -> str:
        if not task.is_verifiable:
            return _TEXT
        right = next(iter(instance.accepted()), None) or instance.answer
        return right if right and self.succeeds(task.id, attempt) else _WRONG


def _answers(name: str, page: BuiltPage, made: NovicePages, novice: _Novice) -> str:
    tasks = {task.id: task for task in made.key.tasks}
    records = {}
    for screen in page.page.screens:
        record = seen_record(screen)
        if isinstance(screen, GameScreen):
            placed = made.key.screens[screen.id]
            steps = list(novice.steps(screen, tasks[placed.task], placed))
            record |= {"begun": True, "open_ms": 0, "steps": steps, "ms": sum(step["ms"] for step in steps)}
        records[screen.id] = record
    return signed_answers(page, name, records)
