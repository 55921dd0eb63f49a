"""Mean score of each subject, with an interval over clusters of attempts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from howsure.estimates import Estimate
from howsure.evals.item_means import ALL, GROUPS, Items, groups_of, items_of
from howsure.evals.variants import pooling_notes
from howsure.results import Provenance, Result, columns_of
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["ALL", "GROUPS", "Summary", "SummaryRow", "groups_of", "summary"]


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """One subject on one group of tasks."""

    subject: str
    task: str
    mean: Estimate
    n: int
    n_clusters: int
    n_items: int
    se: float | None
    design_effect: float | None
    estimand: str


@dataclass(frozen=True, kw_only=True)
class Summary(Result):
    """Mean scores with intervals.

    Table ``summary``: one row per subject and group of tasks.

    =================  ==================================================================================================
    subject            the model, person or baseline
    task               the group of tasks: a domain (the eval), a family, a task, or ``all``
    mean               mean of item means, with mean_low, mean_high and mean_state
    n                  number of attempts
    n_clusters         number of independent clusters
    n_items            number of items
    se                 standard error of the mean
    design_effect      variance of the mean divided by the variance if all attempts were independent
    estimand           what the mean is a mean of
    =================  ==================================================================================================

    Parameters
    ----------
    rows : tuple[SummaryRow, ...]
        One entry per subject and group of tasks.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "summary"
    rows: tuple[SummaryRow, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``summary``."""
        rows = [
            {"subject": r.subject, "task": r.task}
            | columns_of(mean=r.mean)
            | {"n": r.n, "n_clusters": r.n_clusters, "n_items": r.n_items, "se": r.se}
            | {"design_effect": r.design_effect, "estimand": r.estimand}
            for r in self.rows
        ]
        return {"summary": pl.DataFrame(rows, infer_schema_length=None)}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.evals.sections import summary_section

        return [summary_section(self)]

    def charts(self) -> dict[str, Chart]:
        """One chart, ``summary``: means with intervals."""
        from howsure.evals.charts import draw_summary

        return {"summary": draw_summary(self)}


def summary(
    attempts: Attempts | Source,
    *,
    by: str | None = None,
    cluster: str = "task",
    items: str = "sampled",
    weights: str = "evals",
    level: float = 0.95,
) -> Summary:
    """Mean score of each subject on each group of tasks: the mean of item means.

    Every item counts once, with the mean of its attempts. Over several evals (domains), every eval that all subjects tried counts
    once; the column ``estimand`` says what a row is a mean of.

    Parameters
    ----------
    attempts : Attempts, frame or path
        One row per attempt: an `Attempts` table, a polars, pandas or pyarrow frame with its columns, or a file.
    by : {"all", "domain", "family", "task"}, optional
        One row per subject and value of this column; without it, ``domain`` where the table has domains (and a row over all of them), else ``all``.
    cluster : {"task", "family", "domain", "none"}, default "task"
        Attempts of one cluster are not independent. Tasks with the same content (``item_digest``) are one cluster.
    items : {"sampled", "fixed"}, default "sampled"
        ``sampled``: the items are a sample of those one could have asked, and intervals are about items like these. ``fixed``:
        intervals are about exactly these items, and come from the repeats of each item alone.
    weights : {"evals", "items"}, default "evals"
        Over several evals, every eval counts once, or every item does.
    level : float, default 0.95
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    Summary
        Rows with `Estimate` objects, and the table ``summary``.

    Raises
    ------
    OptionError
        If the attempts lack the column named by `by` or `cluster`.

    Examples
    --------
    >>> import howsure
    >>> howsure.summary("examples/evals/attempts.csv", cluster="family")  # doctest: +SKIP
    <Summary: 3 rows (subject, task, mean, mean_low, mean_high, mean_state, …)>
    """
    attempts = Attempts.of(attempts)
    rows, notes = [], pooling_notes(attempts)
    for group in items_of(attempts, by, cluster=cluster, items=items, weights=weights):
        rows += [_row(group, subject, level) for subject in group.subjects]
        notes += group.notes if group.label == ALL or by in (None, "domain") else []
    rows.sort(key=lambda row: (row.subject, row.task != ALL, row.task))
    settings: dict[str, Any] = {"by": by or "default", "cluster": cluster, "items": items, "weights": weights}
    settings["level"] = level
    return Summary(rows=tuple(rows), provenance=Provenance.of(attempts, notes=notes, **settings))


def _row(items: Items, subject: str, level: float) -> SummaryRow:
    mean = items.mean_of(subject, level)
    own = items.only(subject)
    return SummaryRow(
        subject=subject,
        task=items.label,
        mean=mean.estimate,
        n=int(own["n"].sum()),
        n_clusters=mean.n_clusters,
        n_items=len(own),
        se=mean.se,
        design_effect=mean.design_effect,
        estimand=items.estimand,
    )
