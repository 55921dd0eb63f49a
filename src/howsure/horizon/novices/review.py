"""Texts that somebody has to read, laid out for a blind review: nothing tells who wrote them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from howsure.horizon.task_bank import Task
from howsure.people.blinding import opaque_id

__all__ = ["Written", "review_table"]

_COLUMNS = ("item", "task", "seed", "prompt", "rubric", "text")


@dataclass(frozen=True)
class Written:
    """A text that was written at an instance of a task; ``by`` is who wrote it, which the table does not tell."""

    task: Task
    seed: int
    by: str
    text: str


def review_table(texts: Iterable[Written]) -> pl.DataFrame:
    """One row per text: item, task, seed, prompt, rubric, text; in an order that says nothing.

    ``item`` is the same for the same writer, task and instance, so that ratings find back to their attempt.
    """
    rows = []
    for one in texts:
        instance = one.task.instance(one.seed)
        item = opaque_id("review", one.by, one.task.id, one.seed)
        rows.append((item, one.task.id, one.seed, instance.prompt, instance.rubric, one.text))
    schema = dict.fromkeys(_COLUMNS, pl.String) | {"seed": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("item")
