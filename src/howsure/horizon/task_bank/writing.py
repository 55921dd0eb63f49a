"""Writing tasks: an opening, points that the text has to meet, and a rubric that lists the same points for the judge."""

from __future__ import annotations

import random
from collections.abc import Sequence

from howsure.horizon.task_bank.base import Instance

__all__ = ["Points", "writing_task"]

Points = Sequence[Sequence[str]]
"""Statements about a text, in groups of which at most one is asked for, so that they never contradict one another."""

_MOST_POINTS = 6


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
