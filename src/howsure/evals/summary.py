"""Mean score of each subject, with an interval that knows which attempts belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.estimates import Estimate
from howsure.evals.items import ALL, GROUPS, Items, groups_of, items_of
from howsure.frames import write_frame
from howsure.results import Provenance, plain, write_json
from howsure.tables import Attempts

if TYPE_CHECKING:
    import altair

__all__ = ["ALL", "GROUPS", "Summary", "SummaryRow", "groups_of", "summarise"]


@dataclass(frozen=True)
class SummaryRow:
    """One subject on one group of tasks."""

    subject: str
    task: str
    mean: Estimate
    n: int
    n_items: int
    n_clusters: int
    se: float | None
    design_effect: float | None
    estimand: str


@dataclass(frozen=True)
class Summary:
    """Means with intervals, and what made them.

    ``task`` is the group that a row is about: a domain (the eval), a family, a task, or ``all``. ``n`` counts attempts.
    ``design_effect`` is how many times larger the variance of the mean is than if all attempts were independent.
    """

    rows: tuple[SummaryRow, ...]
    provenance: Provenance

    def to_frame(self) -> pl.DataFrame:
        """One row a subject and group: subject, task, mean, low, high, n, n_items, n_clusters, se, design_effect,
        state, estimand.
        """
        return pl.DataFrame(
            [
                {"subject": r.subject, "task": r.task, "mean": r.mean.value, "low": r.mean.low, "high": r.mean.high}
                | {"n": r.n, "n_items": r.n_items, "n_clusters": r.n_clusters, "se": r.se}
                | {"design_effect": r.design_effect, "state": r.mean.state, "estimand": r.estimand}
                for r in self.rows
            ],
            infer_schema_length=None,
        )

    def as_dict(self) -> dict[str, Any]:
        """The whole result as plain JSON."""
        return {"rows": plain(self.to_frame().to_dicts()), "provenance": plain(self.provenance)}

    def chart(self) -> altair.LayerChart:
        """Means with intervals."""
        from howsure.evals.charts import draw_summary

        return draw_summary(self)

    def charts(self) -> dict[str, altair.LayerChart]:
        """The same by its file name."""
        return {"summary": self.chart()}

    def save(self, folder: Path) -> list[Path]:
        """Write summary.csv and summary.json."""
        return [
            write_frame(self.to_frame(), folder / "summary.csv"),
            write_json(self.as_dict(), folder / "summary.json"),
        ]


def summarise(attempts: Attempts, *, by: str | None = None, cluster: str = "task", level: float = 0.95) -> Summary:
    """Mean score of each subject on each group of tasks: the mean of item means.

    Every item counts once, with the mean of its attempts. Over several evals (domains), every eval that all subjects tried counts
    once; ``estimand`` says what a row is a mean of.

    Parameters
    ----------
    attempts : Attempts
        One row for each attempt.
    by : {"all", "domain", "family", "task"}, optional
        What a row is about; without it, ``domain`` where the table names domains (with a row over all of them), else ``all``.
    cluster : {"task", "family", "domain", "none"}
        What attempts share that makes them resemble each other. Tasks that ask the same (``item_digest``) are one cluster.
    level : float
        Coverage of the intervals, between 0 and 1.
    """
    rows, notes = [], []
    for items in items_of(attempts, by, cluster=cluster):
        rows += [_row(items, subject, level) for subject in items.subjects]
        notes += items.notes if items.label == ALL or by in (None, "domain") else []
    rows.sort(key=lambda row: (row.subject, row.task != ALL, row.task))
    settings: dict[str, Any] = {"by": by or "default", "cluster": cluster, "level": level}
    return Summary(tuple(rows), Provenance.of(attempts, notes=notes, **settings))


def _row(items: Items, subject: str, level: float) -> SummaryRow:
    mean = items.mean_of(subject, level)
    own = items.only(subject)
    counts = int(own["n"].sum()), len(own), mean.n_clusters
    return SummaryRow(subject, items.label, mean.estimate, *counts, mean.se, mean.design_effect, items.estimand)
