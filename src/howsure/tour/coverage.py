"""The tour many times over, without pictures: how often its intervals contain the true value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import OptionError
from howsure.results import plain, write_json
from howsure.tables.frames import write_frame
from howsure.tour.making import LEVEL, measure_all
from howsure.tour.stops import frame_of, tally

__all__ = ["Coverage", "cover"]


@dataclass(frozen=True, eq=False)
class Coverage:
    """All estimates of all tours with their truths (``known``), at one level."""

    known: pl.DataFrame
    level: float
    n_tours: int

    def by_instrument(self) -> pl.DataFrame:
        """One row per instrument, the last for all: instrument, intervals, held, share, se (how far chance moves the share, tours as units)."""
        return pl.concat([self._rows("instrument"), self._rows(pl.lit("All together").alias("instrument"))])

    def by_figure(self) -> pl.DataFrame:
        """One row per statistic of an instrument."""
        return tally(self.known, ["instrument", "statistic"])

    def as_dict(self) -> dict[str, Any]:
        """The tables as plain JSON."""
        tables = {"instruments": self.by_instrument(), "statistics": self.by_figure()}
        told: dict[str, Any] = plain({name: table.to_dicts() for name, table in tables.items()})
        return told | {"level": self.level, "tours": self.n_tours}

    def save(self, folder: Path) -> list[Path]:
        """Write coverage.csv, true_values.csv (every estimate of every tour) and coverage.json."""
        return [
            write_frame(self.by_instrument(), folder / "coverage.csv"),
            write_frame(self.known, folder / "true_values.csv"),
            write_json(self.as_dict(), folder / "coverage.json"),
        ]

    def _rows(self, by: str | pl.Expr) -> pl.DataFrame:
        keyed = self.known.with_columns(by) if isinstance(by, pl.Expr) else self.known
        total, each = tally(keyed), tally(keyed, ["instrument", "seed"])
        spread = each.group_by("instrument", maintain_order=True).agg(se=pl.col("share").std() / pl.len().sqrt())
        return total.join(spread, on="instrument", maintain_order="left")


def cover(
    n_tours: int = 20,
    *,
    seed: int = 0,
    level: float = LEVEL,
    progress: Callable[[int, int], None] | None = None,
) -> Coverage:
    """The tours of the seeds from `seed` on. Games are played without Inspect, which gives the same."""
    if n_tours < 1:
        raise OptionError(
            f"{n_tours} tours are too few. Give at least 1; with 20 the Monte Carlo standard error is about 0.02."
        )
    frames = []
    for number in range(n_tours):
        frames.append(frame_of(measure_all(seed=seed + number, level=level), seed + number))
        if progress:
            progress(number + 1, n_tours)
    return Coverage(pl.concat(frames), level, n_tours)
