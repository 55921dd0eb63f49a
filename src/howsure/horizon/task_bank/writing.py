"""Writing tasks: an opening, points that the text has to meet, and a rubric that lists the same points for the judge.

The texts are in ``writing_tasks.yaml``, by domain.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from howsure.horizon.task_bank.base import Instance, TaskFamily
from howsure.yaml_files import read_yaml

__all__ = ["Points", "writing_families", "writing_task"]

Points = Sequence[Sequence[str]]
"""Statements about a text, in groups of which at most one is asked for, so that they never contradict one another."""

_MOST_POINTS = 6


@cache
def writing_families(domain: str) -> tuple[TaskFamily, ...]:
    """The kinds of writing tasks in a domain of the file."""
    found = read_yaml(Path(__file__).with_name("writing_tasks.yaml")).value[domain]
    return tuple(
        TaskFamily(name, one["about"], "llm_judge", partial(_made, found["texts"], found["points"], one))
        for name, one in found["families"].items()
    )


def _made(
    texts: Mapping[str, Any],
    points: Mapping[str, Points],
    family: Mapping[str, Any],
    rng: random.Random,
    difficulty: float,
) -> Instance:
    opening: str = family["opening"]
    while found := re.search(r"<(\w+)>", opening):
        text = texts[found[1]]
        opening = opening.replace(found[0], text if isinstance(text, str) else rng.choice(text))
    asked = [group for name in family["points"] for group in points[name]]
    return writing_task(
        rng, difficulty, opening, points=asked, qualities=family["qualities"], n_words=family["n_words"]
    )


def writing_task(
    rng: random.Random, difficulty: float, opening: str, *, points: Points, qualities: Sequence[str], n_words: int
) -> Instance:
    """A task with one point at difficulty 0 up to six at 1, and a range of words that narrows; ``{a|b}`` in a text is drawn."""
    groups = rng.sample(list(points), min(1 + round((_MOST_POINTS - 1) * difficulty), len(points)))
    asked = [_drawn(rng, rng.choice(list(group))) for group in groups]
    slack = round(n_words * (0.4 - 0.3 * difficulty))
    target = n_words + 5 * rng.randint(-2, 4)
    demands = [f"It has {target - slack} to {target + slack} words.", *asked]
    listed = "\n".join(f"- {demand}" for demand in demands)
    prompt = f"{_drawn(rng, opening)}\n\n{listed}\n\nAnswer with the text alone."
    return Instance.judged(prompt, _rubric([*demands, *qualities]))


def _rubric(points: Sequence[str]) -> str:
    listed = "\n".join(f"{number}. {point}" for number, point in enumerate(points, 1))
    return f"Hold the text against every point: 1 if it meets the point, 0.5 if it does so in part, 0 if not.\n\n{listed}\n\nThe score is the mean over the {len(points)} points. A text that is empty or about something else scores 0."


def _drawn(rng: random.Random, text: str) -> str:
    """A text in which each ``{a|b|c}`` is one of its parts."""
    head, *rest = text.split("{")
    pieces = [head]
    for part in rest:
        choices, _, tail = part.partition("}")
        pieces += [rng.choice(choices.split("|")), tail]
    return "".join(pieces)
