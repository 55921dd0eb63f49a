"""Two models' time horizons, paired: in every replicate both are fitted to the same tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate, State
from howsure.frames import write_frame
from howsure.horizon.time import TimeHorizons
from howsure.horizon.time_curves import ends
from howsure.horizon.time_kernels import ABSENT, FITTED
from howsure.horizon.time_states import FARTHEST
from howsure.results import Provenance, plain, write_json
from howsure.stats._arrays import Floats

if TYPE_CHECKING:
    import altair

__all__ = ["HorizonComparison", "HorizonRatio", "compare_horizons"]


@dataclass(frozen=True)
class HorizonRatio:
    """How many times longer A's tasks are than B's at one level of success.

    ``p_longer`` is the share of replicates in which A's horizon is the longer, of those that say; ``n_undefined`` is how many do not.
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
    drawn = np.column_stack([_drawn(found, places, level) for level in found.levels])
    rows = [_ratio(found, (a, b), level, column) for level, column in zip(found.levels, drawn.T, strict=True)]
    tried = counts.n[list(places)] > 0
    made = found.provenance
    settings = {**made.settings, "a": a, "b": b}
    notes = (*made.notes, *_unequal((a, b), tried.sum(axis=1).tolist(), int(tried.all(axis=0).sum())))
    return HorizonComparison(
        a,
        b,
        tuple(rows),
        int(tried.all(axis=0).sum()),
        drawn,
        Provenance(settings, made.digest, made.seed, notes, made.version),
    )


def _drawn(found: TimeHorizons, places: tuple[int, int], level: float) -> Floats:
    """log₂ of the ratio in each replicate in which both have runs; NaN where neither or no falling curve says."""
    assert found.drawn is not None
    mine, other = (found.drawn.of(place) for place in places)
    there = (mine.outcome != ABSENT) & (other.outcome != ABSENT)
    with np.errstate(invalid="ignore"):
        difference = mine.log2_minutes(level) - other.log2_minutes(level)
    return np.where(there, difference, np.nan)


def _ratio(found: TimeHorizons, names: tuple[str, str], level: float, drawn: Floats) -> HorizonRatio:
    a, b = (found.minutes(name, level) for name in names)
    known = drawn[~np.isnan(drawn)]
    p_longer = float(((known > 0).mean() + (known >= 0).mean()) / 2) if len(known) else None
    return HorizonRatio(level, a, b, _estimate(found, names, level, drawn), p_longer, len(drawn) - len(known))


def _estimate(found: TimeHorizons, names: tuple[str, str], level: float, drawn: Floats) -> Estimate:
    counts, curves = found.data.counts, found.curves
    for name in names:
        if curves.of(counts.index(name)).outcome != FITTED:
            one = found.minutes(name, level)
            return Estimate.without("undefined", f"{name}: {one.reason}", level=found.level)
    crossings = [float(curves.of(counts.index(name)).log2_minutes(level)) for name in names]
    if np.isnan(drawn).mean() > (1 - found.middle) / 2:
        low, high = -np.inf, np.inf
    else:
        low, high = ends(drawn, found.middle)
    return Estimate(
        2.0 ** (crossings[0] - crossings[1]),
        _end(low),
        _end(high),
        found.level,
        low_state=_state(low),
        high_state=_state(high),
    )


def _end(log2_ratio: float) -> float | None:
    return 2.0**log2_ratio if abs(log2_ratio) < FARTHEST else None


def _state(log2_ratio: float) -> State:
    return "ok" if abs(log2_ratio) < FARTHEST else "unbounded"


def _unequal(names: tuple[str, str], n_tasks: list[int], n_shared: int) -> list[str]:
    if n_tasks == [n_shared, n_shared]:
        return []
    told = " and ".join(f"{name} tried {n:,}" for name, n in zip(names, n_tasks, strict=True))
    return [f"{told} tasks, {n_shared:,} of them the same: part of the difference may be the tasks."]
