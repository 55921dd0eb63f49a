"""Texts that somebody has to read, laid out for a blind review: nothing tells who wrote them; and the scores that come back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from howsure.errors import InputError
from howsure.horizon.task_bank import Task
from howsure.people.blinding import opaque_id

__all__ = ["Written", "review_item", "review_scores", "review_table"]

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
