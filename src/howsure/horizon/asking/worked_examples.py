"""Worked examples to show before a task: fresh instances with their answers, never the one that is asked."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from howsure.horizon.task_bank import Instance, Task

__all__ = ["worked_examples"]

_MOST_DRAWS = 20  # for each example; families of tasks are far larger than that


def worked_examples(task: Task, suite: Sequence[Task], seed: int, n: int) -> list[Instance]:
    """At most `n` examples for the instance of a task that is called `seed`, others for every seed.

    They come from the task's own generator. A task that stays the same is shown others of its domain that do; none where nothing has an answer to show.
    """
    asked = task.instance(seed).prompt
    drawn = _fresh(task, seed, n) if task.generator else _others(task, suite, seed)
    by_prompt = {one.prompt: one for one in drawn if one.answer is not None and one.prompt != asked}
    return list(by_prompt.values())[:n]


def _fresh(task: Task, seed: int, n: int) -> Iterator[Instance]:
    """Instances with negative names, which nobody is asked."""
    first = 1 + seed * _MOST_DRAWS * n
    return (task.instance(-number) for number in range(first, first + _MOST_DRAWS * n))


def _others(task: Task, suite: Sequence[Task], seed: int) -> Iterator[Instance]:
    others = [one for one in suite if one.domain == task.domain and one.generator is None]
    random.Random(f"{task.id}\n{seed}").shuffle(others)
    return (one.instance(seed) for one in others)
