"""What novices and models did on the same tasks: where every horizon in attempts starts from."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.horizon.attempt_horizon.definitions import Model
from howsure.horizon.learning_curves.novice_counts import NoviceCounts, novice_counts
from howsure.horizon.run_counts import model_counts
from howsure.stats._arrays import Bools, Floats, Ints, codes
from howsure.tables import Attempts

__all__ = ["AUTOMATED", "JUDGED", "SharedTasks", "shared_tasks", "verification_by_domain"]

AUTOMATED = "automated"
JUDGED: Mapping[str, str] = {"creative_writing": "llm_judge", "communication_tasks": "llm_judge"}
"""Domains whose answers are judged, where the input does not say; those of others are checked by a rule."""


@dataclass(frozen=True, eq=False)
class SharedTasks:
    """Tasks that novices and at least one model tried.

    ``tasks`` has a row a task (task, family, domain, verification), in the order of ``novices``; ``successes`` and ``n`` count the runs, with a row a
    model and a column a task, n = 0 where the model never tried it. Graded scores count as shares of a success, and ``squares`` adds up their squares.
    ``released`` holds the dates that are known.
    """

    tasks: pl.DataFrame
    novices: NoviceCounts
    models: tuple[str, ...]
    successes: Floats
    n: Floats
    released: Mapping[str, datetime.date]
    notes: tuple[str, ...] = ()
    squares: Floats | None = None

    @cached_property
    def family(self) -> Ints:
        """Each task's family as a number."""
        return codes(self.tasks["family"].to_list(), "family")

    @property
    def last(self) -> int:
        """The last attempt that somebody made on every task."""
        return int((self.novices.trials > 0).sum(axis=1).min())

    def effective(self, row: int) -> Model:
        """A model's counts as if each run had been right or wrong: as many runs as would leave its mean as unsure as it is."""
        share = self.successes[row] / np.maximum(self.n[row], 1)
        squares = self.successes[row] if self.squares is None else self.squares[row]
        variance, coin = squares / np.maximum(self.n[row], 1) - share**2, share * (1 - share)
        is_graded = (variance > 0) & (variance < coin)
        n = np.round(np.where(is_graded, self.n[row] * coin / np.where(is_graded, variance, 1.0), self.n[row]))
        return Model(share * n, n)

    def of_tasks(self, chosen: Bools) -> SharedTasks:
        """The same on some of the tasks; models that tried none of them are gone."""
        rows = np.flatnonzero(self.n[:, chosen].sum(axis=1))
        return replace(
            self,
            tasks=self.tasks.filter(pl.Series(chosen)),
            novices=self.novices.of_tasks(chosen),
            models=tuple(self.models[row] for row in rows),
            successes=self.successes[rows][:, chosen],
            n=self.n[rows][:, chosen],
            squares=None if self.squares is None else self.squares[rows][:, chosen],
        )


def shared_tasks(attempts: Attempts, *, threshold: float | None = None, last: int | None = None) -> SharedTasks:
    """The people and the models of an attempts table, on the tasks that both tried.

    ``threshold`` is the score from which an attempt counts as a success, for scores between 0 and 1; attempts after ``last`` are left out.
    """
    if threshold is not None:
        attempts = Attempts(
            attempts.lazy.with_columns((pl.col("score") >= threshold).cast(pl.Float64)), notes=attempts.notes
        )
    novices, models = novice_counts(attempts, last=last), model_counts(attempts, is_graded=True)
    tasks = pl.DataFrame({"task": novices.tasks}).join(
        models.tasks.with_row_index("#column"), on="task", maintain_order="left"
    )
    if tasks.is_empty():
        raise InputError(
            f"Novices tried {len(novices.tasks):,} tasks and models {len(models.tasks):,}, but none is the same. Give tasks the same names."
        )
    column, is_shared = (
        tasks["#column"].to_numpy(),
        np.isin(np.array(novices.tasks, dtype=object), tasks["task"].to_list()),
    )
    return SharedTasks(
        _with_verification(tasks.select("task", "family", "domain"), attempts),
        novices.of_tasks(is_shared),
        models.models,
        models.successes[:, column].astype(np.float64),
        models.n[:, column].astype(np.float64),
        _releases(attempts),
        (*attempts.notes, *_left_out(len(novices.tasks), len(models.tasks), len(tasks))),
        None if models.squares is None else models.squares[:, column],
    )


def verification_by_domain() -> pl.Expr:
    """How answers are verified, by what is usual in their domain: automated or llm_judge."""
    return (
        pl.col("domain").replace_strict(dict(JUDGED), default=AUTOMATED, return_dtype=pl.String).alias("verification")
    )


def _with_verification(tasks: pl.DataFrame, attempts: Attempts) -> pl.DataFrame:
    """As the input says, or else by domain."""
    usual = tasks.with_columns(verification_by_domain())
    if not attempts.has("verification_type"):
        return usual
    told = attempts.lazy.group_by("task").agg(pl.col("verification_type").drop_nulls().first().cast(pl.String))
    known = usual.join(told.collect(engine="streaming"), on="task", how="left", maintain_order="left")
    return known.select(
        "task", "family", "domain", pl.coalesce("verification_type", "verification").alias("verification")
    )


def _releases(attempts: Attempts) -> dict[str, datetime.date]:
    """The first date of each model's runs."""
    if not attempts.has("date"):
        return {}
    rows = attempts.lazy.filter(pl.col("kind") == "model").group_by("subject").agg(pl.col("date").min()).drop_nulls()
    return dict(rows.sort("date", "subject").collect(engine="streaming").iter_rows())


def _left_out(n_novices: int, n_models: int, n_shared: int) -> list[str]:
    counts = {"novices": n_novices - n_shared, "models": n_models - n_shared}
    return [f"{count:,} tasks that only {who} tried are excluded." for who, count in counts.items() if count]
