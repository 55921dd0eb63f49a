"""Mean score of each subject, with an interval that knows which attempts belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.frames import write_frame
from howsure.results import Provenance, plain, write_json
from howsure.stats.means import clustered_mean
from howsure.tables import Attempts

if TYPE_CHECKING:
    import altair

__all__ = ["ALL", "GROUPS", "Summary", "SummaryRow", "clusters_of", "groups_of", "summarise"]

ALL = "all"
GROUPS = ("all", "domain", "family", "task")
CLUSTERS = ("task", "family", "domain", "none")


@dataclass(frozen=True)
class SummaryRow:
    """One subject on one group of tasks."""

    subject: str
    task: str
    mean: Estimate
    n: int
    n_clusters: int
    se: float | None
    design_effect: float | None


@dataclass(frozen=True)
class Summary:
    """Means with intervals, and what made them.

    ``task`` is the group that a row is about: a domain (the eval), a family, a task, or ``all``.
    ``design_effect`` is how many times larger the variance of the mean is than if all attempts were independent.
    """

    rows: tuple[SummaryRow, ...]
    provenance: Provenance

    def to_frame(self) -> pl.DataFrame:
        """One row a subject and group: subject, task, mean, low, high, n, n_clusters, se, design_effect, state."""
        return pl.DataFrame(
            [
                {"subject": r.subject, "task": r.task, "mean": r.mean.value, "low": r.mean.low, "high": r.mean.high}
                | {"n": r.n, "n_clusters": r.n_clusters, "se": r.se, "design_effect": r.design_effect}
                | {"state": r.mean.state}
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
    """Mean score of each subject on each group of tasks.

    ``by`` is what a row is about: ``all``, ``domain``, ``family`` or ``task``; without it, ``domain`` where the table
    names domains (with a row over all of them), else ``all``. ``cluster`` is what attempts share that makes them
    resemble each other: ``task`` (repeats of one task), ``family``, ``domain``, or ``none``.
    """
    groups = groups_of(attempts, by)
    rows = [row for group in groups for row in _rows(attempts, group, cluster, level)]
    rows.sort(key=lambda row: (row.subject, row.task != ALL, row.task))
    return Summary(tuple(rows), Provenance.of(attempts, by=by or "default", cluster=cluster, level=level))


def groups_of(attempts: Attempts, by: str | None) -> list[str]:
    """The columns whose values make the rows; ``all`` stands for no column."""
    if by is not None:
        if by not in GROUPS:
            raise OptionError.unknown("grouping", by, GROUPS)
        if by != ALL and not attempts.has(by):
            _no_column(by)
        return [by]
    if not attempts.has("domain"):
        return [ALL]
    n_domains = attempts.lazy.select(pl.col("domain").n_unique()).collect().item()
    return [ALL, "domain"] if n_domains > 1 else ["domain"]


def clusters_of(attempts: Attempts, cluster: str, group: str) -> pl.Expr:
    """What makes two attempts belong together; a row number where every attempt stands alone."""
    if cluster not in CLUSTERS:
        raise OptionError.unknown("cluster", cluster, CLUSTERS)
    if cluster == "none" or cluster == group == "task":
        return pl.int_range(pl.len())
    if not attempts.has(cluster):
        _no_column(cluster)
    return pl.col(cluster).fill_null(pl.col("task"))


def _rows(attempts: Attempts, group: str, cluster: str, level: float) -> list[SummaryRow]:
    """One streaming pass to the sums of each cluster, then a mean for each subject and group."""
    label = pl.lit(ALL) if group == ALL else pl.col(group).fill_null("(none)")
    score = pl.col("score")
    keyed = attempts.lazy.with_columns(label.alias("#group"), clusters_of(attempts, cluster, group).alias("#cluster"))
    sums = keyed.group_by("subject", "#group", "#cluster").agg(
        pl.len().alias("n"), score.sum().alias("total"), (score * score).sum().alias("squares")
    )
    by_cluster = sums.sort("subject", "#group", "#cluster").collect(engine="streaming")
    return [
        _row(str(subject), str(task), part, level)
        for (subject, task), part in by_cluster.group_by("subject", "#group", maintain_order=True)
    ]


def _row(subject: str, task: str, part: pl.DataFrame, level: float) -> SummaryRow:
    mean = clustered_mean(
        part["total"].to_numpy(), part["n"].to_numpy(), squares=part["squares"].to_numpy(), level=level
    )
    return SummaryRow(subject, task, mean.estimate, mean.n, mean.n_clusters, mean.se, mean.design_effect)


def _no_column(name: str) -> NoReturn:
    raise OptionError(f"These attempts have no column {name!r}. Choose another, or add the column to the input.")
