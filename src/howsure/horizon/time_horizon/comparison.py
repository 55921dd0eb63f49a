"""Two models' time horizons, paired: in every replicate both are fitted to the same tasks."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.horizon.time_horizon.horizons import TimeHorizons
from howsure.horizon.time_horizon.kernels import FITTED
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats
from howsure.stats.replicates import probability_greater, replicate_differences, replicate_interval

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section

__all__ = ["HorizonComparison", "HorizonRatio", "compare_horizons"]


@dataclass(frozen=True)
class HorizonRatio:
    """The ratio of A's horizon to B's at one success rate.

    ``p_a_greater`` is the share of replicates in which A's horizon is longer. A replicate without a ratio counts ½; ``n_undefined`` is their number.
    It is None where more than 10 % of the replicates of either horizon failed.
    """

    success_rate: float
    a: Estimate
    b: Estimate
    ratio: Estimate
    p_a_greater: float | None
    n_undefined: int


@dataclass(frozen=True, kw_only=True, eq=False)
class HorizonComparison(Result):
    """The ratio of A's time horizon to B's at each success rate.

    Parameters
    ----------
    a : str
        The first model.
    b : str
        The second model.
    rows : tuple[HorizonRatio, ...]
        One entry per success rate.
    n_shared_tasks : int
        Number of tasks that both models tried.
    drawn : Floats
        log₂ of the ratio, shape (n_replicates, n_success_rates); NaN where it is undefined.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "horizon_compare"

    a: str
    b: str
    rows: tuple[HorizonRatio, ...]
    n_shared_tasks: int
    drawn: Floats
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``compare``: one row per success rate, the ratio, P(A > B), and both horizons in minutes."""
        rows = [
            {"a": self.a, "b": self.b, "success_rate": row.success_rate}
            | columns_of(ratio=row.ratio)
            | {"p_a_greater": row.p_a_greater, "n_undefined": row.n_undefined}
            | {"minutes_a": row.a.value, "minutes_b": row.b.value, "n_shared_tasks": self.n_shared_tasks}
            for row in self.rows
        ]
        numbers = ("ratio", "ratio_low", "ratio_high", "p_a_greater", "minutes_a", "minutes_b")
        return {"compare": pl.DataFrame(rows, schema_overrides=dict.fromkeys(numbers, pl.Float64))}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.time_horizon.sections import comparison_sections

        return comparison_sections(self)

    def charts(self) -> dict[str, Chart]:
        """The ratio over the replicates, by file name."""
        from howsure.horizon.time_horizon.charts import draw_comparison

        return draw_comparison(self)


@checked
def compare_horizons(horizons: TimeHorizons | str | os.PathLike[str], a: str, b: str) -> HorizonComparison:
    """The ratio of two models' time horizons over the same replicates, and the probability that A's is longer.

    Parameters
    ----------
    horizons : TimeHorizons or path
        What `time_horizons` returned, or the folder it was saved to.
    a, b : str
        Two models.
    """
    found = TimeHorizons.loaded(horizons)
    if found.drawn is None:
        raise OptionError("These horizons have no replicates to compare over. Estimate them with n_replicates above 0.")
    counts = found.data.counts
    places = counts.index(a), counts.index(b)
    if a == b:
        raise OptionError(f"{a!r} is compared with itself. Name two models.")
    rows, drawn = zip(*(_ratio(found, (a, b), rate) for rate in found.success_rates), strict=True)
    tried = counts.n[list(places)] > 0
    n_shared = int(tried.all(axis=0).sum())
    notes = (*found.provenance.notes, *_unequal((a, b), tried.sum(axis=1).tolist(), n_shared))
    return HorizonComparison(
        a=a,
        b=b,
        rows=rows,
        n_shared_tasks=n_shared,
        drawn=np.column_stack(drawn),
        provenance=replace(found.provenance, settings={**found.provenance.settings, "a": a, "b": b}, notes=notes),
    )


def _ratio(found: TimeHorizons, names: tuple[str, str], success_rate: float) -> tuple[HorizonRatio, Floats]:
    """The ratio at one success rate, and log₂ of it in each replicate."""
    assert found.drawn is not None
    places = [found.data.counts.index(name) for name in names]
    crossings = [found.drawn.of(place).log2_minutes(success_rate) for place in places]
    drawn = replicate_differences(*crossings)
    a, b = (found.minutes(name, success_rate) for name in names)
    ratio = _estimate(found, names, success_rate, drawn)
    p_a_greater = float(probability_greater(*crossings))
    p = None if math.isnan(p_a_greater) else p_a_greater
    return HorizonRatio(success_rate, a, b, ratio, p, int(np.isnan(drawn).sum())), drawn


def _estimate(found: TimeHorizons, names: tuple[str, str], success_rate: float, drawn: Floats) -> Estimate:
    curves = [found.curves.of(found.data.counts.index(name)) for name in names]
    crossings = [float(own.log2_minutes(success_rate)) for own in curves]
    for name, own, crossing in zip(names, curves, crossings, strict=True):
        if own.outcome != FITTED or np.isinf(crossing):
            one = found.minutes(name, success_rate)
            return Estimate.without("undefined", f"{name}: {one.reason}", level=found.level)
    interval = replicate_interval(drawn, found.share_inside(*names))
    return interval.estimate(crossings[0] - crossings[1], level=found.level).map(math.exp2)


def _unequal(names: tuple[str, str], n_tasks: list[int], n_shared: int) -> list[str]:
    if n_tasks == [n_shared, n_shared]:
        return []
    tried = " and ".join(f"{name} tried {n:,}" for name, n in zip(names, n_tasks, strict=True))
    return [f"{tried} tasks, {n_shared:,} of them the same: part of the difference may come from the tasks."]
