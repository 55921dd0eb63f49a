"""Two models' time horizons, paired: in every replicate both are fitted to the same tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.frames import write_frame
from howsure.horizon.time_horizon import TimeHorizons
from howsure.horizon.time_kernels import FITTED
from howsure.results import Provenance, plain, write_json
from howsure.stats._arrays import Floats
from howsure.stats.replicates import probability_greater, replicate_differences, replicate_interval

if TYPE_CHECKING:
    import altair

__all__ = ["HorizonComparison", "HorizonRatio", "compare_horizons"]


@dataclass(frozen=True)
class HorizonRatio:
    """How many times longer A's tasks are than B's at one level of success.

    ``p_longer`` is the share of replicates in which A's horizon is the longer; a replicate that does not say counts ½, and ``n_undefined`` is how many do not.
    """

    level: float
    a: Estimate
    b: Estimate
    ratio: Estimate
    p_longer: float | None
    n_undefined: int


@dataclass(frozen=True, eq=False)
class HorizonComparison:
    """A's horizon over B's at each level, with what made it.

    ``drawn`` has log₂ of the ratio in each replicate (axis 0) and level (axis 1); NaN where it is none.
    """

    a: str
    b: str
    rows: tuple[HorizonRatio, ...]
    n_shared_tasks: int
    drawn: Floats
    provenance: Provenance

    def to_frame(self) -> pl.DataFrame:
        """One row a level: a, b, level, ratio, low, high, state, p_longer, n_undefined, minutes_a, minutes_b, n_shared_tasks."""
        kinds = dict.fromkeys(("ratio", "low", "high", "p_longer", "minutes_a", "minutes_b"), pl.Float64)
        return pl.DataFrame(
            [
                {"a": self.a, "b": self.b, "level": row.level, "ratio": row.ratio.value}
                | {"low": row.ratio.low, "high": row.ratio.high, "state": row.ratio.state}
                | {"p_longer": row.p_longer, "n_undefined": row.n_undefined}
                | {"minutes_a": row.a.value, "minutes_b": row.b.value, "n_shared_tasks": self.n_shared_tasks}
                for row in self.rows
            ],
            schema_overrides=kinds,
        )

    def as_dict(self) -> dict[str, Any]:
        """The whole result as plain JSON."""
        told = {"a": self.a, "b": self.b, "n_shared_tasks": self.n_shared_tasks}
        return told | {"levels": plain(self.rows), "provenance": plain(self.provenance)}

    def charts(self) -> dict[str, altair.LayerChart]:
        """The ratio over the replicates, by file name."""
        from howsure.horizon.charts_time import draw_comparison

        return draw_comparison(self)

    def save(self, folder: Path) -> list[Path]:
        """Write compare.csv and compare.json."""
        return [
            write_frame(self.to_frame(), folder / "compare.csv"),
            write_json(self.as_dict(), folder / "compare.json"),
        ]


def compare_horizons(found: TimeHorizons, a: str, b: str) -> HorizonComparison:
    """The ratio of two models' horizons over the replicates that they share, and how sure it is that A's is the longer."""
    if found.drawn is None:
        raise OptionError("These horizons have no replicates to compare over. Make them with a bootstrap above 0.")
    counts = found.data.counts
    places = counts.index(a), counts.index(b)
    if a == b:
        raise OptionError(f"{a!r} is compared with itself. Name two models.")
    rows, drawn = zip(*(_ratio(found, (a, b), level) for level in found.levels), strict=True)
    tried = counts.n[list(places)] > 0
    made = found.provenance
    settings = {**made.settings, "a": a, "b": b}
    notes = (*made.notes, *_unequal((a, b), tried.sum(axis=1).tolist(), int(tried.all(axis=0).sum())))
    return HorizonComparison(
        a,
        b,
        rows,
        int(tried.all(axis=0).sum()),
        np.column_stack(drawn),
        Provenance(settings, made.digest, made.seed, notes, made.version),
    )


def _ratio(found: TimeHorizons, names: tuple[str, str], level: float) -> tuple[HorizonRatio, Floats]:
    """The ratio at one level, and log₂ of it in each replicate."""
    assert found.drawn is not None
    places = [found.data.counts.index(name) for name in names]
    crossings = [found.drawn.of(place).log2_minutes(level) for place in places]
    drawn = replicate_differences(*crossings)
    a, b = (found.minutes(name, level) for name in names)
    ratio = _estimate(found, names, level, drawn)
    p_longer = float(probability_greater(*crossings))
    return HorizonRatio(level, a, b, ratio, p_longer, int(np.isnan(drawn).sum())), drawn


def _estimate(found: TimeHorizons, names: tuple[str, str], level: float, drawn: Floats) -> Estimate:
    curves = [found.curves.of(found.data.counts.index(name)) for name in names]
    crossings = [float(own.log2_minutes(level)) for own in curves]
    for name, own, crossing in zip(names, curves, crossings, strict=True):
        if own.outcome != FITTED or np.isinf(crossing):
            one = found.minutes(name, level)
            return Estimate.without("undefined", f"{name}: {one.reason}", level=found.level)
    interval = replicate_interval(drawn, found.middle)
    return interval.estimate(crossings[0] - crossings[1], level=found.level).map(math.exp2)


def _unequal(names: tuple[str, str], n_tasks: list[int], n_shared: int) -> list[str]:
    if n_tasks == [n_shared, n_shared]:
        return []
    told = " and ".join(f"{name} tried {n:,}" for name, n in zip(names, n_tasks, strict=True))
    return [f"{told} tasks, {n_shared:,} of them the same: part of the difference may be the tasks."]
