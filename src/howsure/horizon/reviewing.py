"""Scores that people gave to texts, added to the attempts that the texts belong to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import polars as pl

from howsure.errors import InputError
from howsure.horizon.asking.task_runs import TaskRun
from howsure.horizon.novices.answers import Novices
from howsure.results import Result
from howsure.tables.frames import parts_of

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["add_reviews"]


def add_reviews(found: TaskRun | Novices | str | os.PathLike[str], reviews: Source) -> TaskRun | Novices:
    """A run, or novices' attempts, with the scores that people gave to the texts in ``review.csv``.

    Parameters
    ----------
    found : TaskRun, Novices or path
        The result, or the folder that `howsure horizon run` or `howsure horizon collect` wrote.
    reviews : path or frame
        ``review.csv`` with a column ``score`` from 0 to 1. Rows without a score were not read; several of one item are averaged.
    """
    result = found if isinstance(found, TaskRun | Novices) else Result.load(found)
    if not isinstance(result, TaskRun | Novices):
        raise InputError(
            f"{found}: has no texts to review. Give the folder that `howsure horizon run` or `howsure horizon collect` wrote."
        )
    rows = pl.concat([part.parsed().rows for part in parts_of(reviews)], how="diagonal_relaxed").collect()
    return result.reviewed(rows)
