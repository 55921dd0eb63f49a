"""How often each kind of interval contains the true value, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from howsure.arguments import checked
from howsure.results import Provenance, Result
from howsure.stats.coverage import CoverageRow, coverage_table

__all__ = ["IntervalCoverage", "coverage"]


@dataclass(frozen=True, kw_only=True)
class IntervalCoverage(Result):
    """Coverage of every kind of interval in this package.

    Table ``coverage``: method, design, level, coverage (share of simulated data sets whose interval contains the true value),
    monte_carlo_se (standard error of that share), mean_width (of the intervals with two ends).

    Parameters
    ----------
    rows : tuple[CoverageRow, ...]
        One entry per method and design.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "coverage"
    rows: tuple[CoverageRow, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``coverage``."""
        return {"coverage": pl.DataFrame([vars(row) for row in self.rows], infer_schema_length=None)}


@checked
def coverage(
    *,
    n_simulations: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> IntervalCoverage:
    """How often each kind of interval contains the true value, in designs that evals have.

    Some rows show what to avoid: a t interval for right-or-wrong scores, ignored clusters, a percentile bootstrap over few items.

    Parameters
    ----------
    n_simulations : int, default 2000
        Simulated data sets per row; 2000 leave a standard error of about 0.005.
    level : float, default 0.95
        Intended coverage, between 0 and 1.
    seed : int, default 0
        The same seed gives the same numbers.
    scheduler : str, optional
        Address of a Dask scheduler that shares the work.
    progress : callable, optional
        Called with the number of finished rows and of all rows.

    Returns
    -------
    IntervalCoverage
        With the table ``coverage``.
    """
    rows = coverage_table(n_simulations, seed, progress, level=level, scheduler=scheduler)
    provenance = Provenance({"n_simulations": n_simulations, "level": level}, seed=seed)
    return IntervalCoverage(rows=tuple(rows), provenance=provenance)
