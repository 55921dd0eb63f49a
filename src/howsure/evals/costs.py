"""What attempts cost and how long they took, beside what they scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.estimates import Estimate
from howsure.evals.item_means import ALL, items_of
from howsure.results import columns_of
from howsure.stats._arrays import Floats, cluster_sums, t_quantile
from howsure.stats.means import mean

if TYPE_CHECKING:
    from howsure.evals.variants import Variants

__all__ = ["USED", "CostRow", "cost_rows", "ratio"]

USED = ("cost", "seconds", "tokens")
"""What an attempt can use up: columns of Attempts."""


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """Score and what an attempt used, per compared cell.

    ``score``, ``cost``, ``seconds`` and ``tokens`` are means of item means; ``cost_per_success`` is the mean cost of an attempt divided by the
    mean score; ``is_efficient`` says that no other cell scores at least as high at a lower or equal cost.
    """

    name: str
    held: str
    score: Estimate
    cost: Estimate
    seconds: Estimate
    tokens: Estimate
    cost_per_success: Estimate
    is_efficient: bool = False

    def as_row(self) -> dict[str, Any]:
        """As a row of a table."""
        estimates = {name: getattr(self, name) for name in ("score", *USED, "cost_per_success")}
        return {"name": self.name, "held": self.held} | columns_of(**estimates) | {"is_efficient": self.is_efficient}


def cost_rows(variants: Variants, *, cluster: str = "task", level: float = 0.95) -> tuple[CostRow, ...]:
    """Score, cost, time and tokens of each cell; nothing where the attempts have none of them.

    Parameters
    ----------
    variants : Variants
        The cells.
    cluster : {"task", "family", "domain", "none"}
        Items of one cluster are not independent.
    level : float
        Coverage of the intervals.
    """
    attempts = variants.attempts
    there = [name for name in USED if attempts.has(name)]
    if not there:
        return ()
    domain = pl.col("domain").fill_null("(none)") if attempts.has("domain") else pl.lit("")
    used = attempts.lazy.with_columns(domain.alias("eval")).group_by("subject", "eval", "task")
    means = used.agg(*(pl.col(name).mean() for name in there)).collect(engine="streaming")
    (items,) = items_of(attempts, ALL, cluster=cluster)
    frame = items.frame.join(means, on=["subject", "eval", "task"], how="left")
    rows = []
    for cell in sorted(variants.names):
        own = frame.filter(pl.col("subject") == cell)
        if own.is_empty():
            continue
        found: dict[str, Any] = {
            name: _mean_used(own, name, level) if name in there else _unknown(name, level) for name in USED
        }
        per_success = _unknown("cost", level)
        if "cost" in there and not own["cost"].null_count():
            per_success = ratio(own["cost"].to_numpy(), own["mean"].to_numpy(), own["cluster"].to_numpy(), level)
        score = items.mean_of(cell, level).estimate
        rows.append(
            CostRow(
                name=variants.names[cell], held=variants.held[cell], score=score, cost_per_success=per_success, **found
            )
        )
    return tuple(_marked(rows))


def ratio(above: Floats, below: Floats, clusters: Any, level: float) -> Estimate:
    r"""The ratio R of two means over clusters, with an interval on the log scale.

    .. math:: se(\log R) = \frac{1}{n\,\bar y\,R}\sqrt{\tfrac{G}{G-1}\sum_c \Big(\sum_{i\in c}(x_i - R y_i)\Big)^2}

    Parameters
    ----------
    above, below : array
        One entry per item.
    clusters : sequence
        One label per item.
    level : float
        Coverage of the interval.
    """
    if not below.sum() > 0:
        return Estimate.without("unbounded", "no success, so the cost of one has no upper limit", level=level)
    value = float(above.sum() / below.sum())
    pulls, _ = cluster_sums(above - value * below, clusters)
    if len(pulls) < 2 or value == 0:
        return Estimate.without("too_few", "1 cluster; an interval needs 2", value=value, level=level)
    se = np.sqrt(len(pulls) / (len(pulls) - 1) * (pulls**2).sum()) / above.sum()
    reach = float(np.exp(t_quantile(level, len(pulls) - 1) * se))
    if not np.isfinite(reach) or not np.isfinite(value * reach):
        return Estimate(value, 0.0, None, level, high_state="unbounded")
    return Estimate(value, value / reach, value * reach, level)


def _mean_used(own: pl.DataFrame, name: str, level: float) -> Estimate:
    known = own.drop_nulls(name)
    if known.is_empty():
        return _unknown(name, level)
    clusters, evals = known["cluster"].to_numpy(), known["eval"].to_numpy()
    return mean(known[name].to_numpy(), clusters, strata=evals, level=level, bounds=None).estimate


def _unknown(name: str, level: float) -> Estimate:
    return Estimate.without("undefined", f"the attempts have no {name}", level=level)


def _marked(rows: list[CostRow]) -> list[CostRow]:
    """The rows, marked where no other is as good and as cheap."""
    from dataclasses import replace

    def is_beaten(row: CostRow, other: CostRow) -> bool:
        pairs = (row.score.value, other.score.value, row.cost.value, other.cost.value)
        if row is other or None in pairs or row.held != other.held:
            return False
        score, other_score, cost, other_cost = (float(x) for x in pairs if x is not None)
        return other_score >= score and other_cost <= cost and (other_score, other_cost) != (score, cost)

    return [
        replace(row, is_efficient=row.cost.value is not None and not any(is_beaten(row, other) for other in rows))
        for row in rows
    ]
