"""What an instrument brings to the tour: estimates beside its true (simulated) value, sections and files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from howsure.estimates import Estimate
from howsure.results import Provenance
from howsure.results.blocks import Section

__all__ = ["KnownEstimate", "TourSettings", "TourStatistic", "TourStop", "frame_of", "tally"]


@dataclass(frozen=True)
class TourSettings:
    """How the tour is made: the intervals' level, how many replicates make them, and the seed."""

    level: float
    n_bootstrap: int
    seed: int


@dataclass(frozen=True)
class TourStatistic:
    """A kind of number, as an axis names it, and what has it (``of``)."""

    name: str
    unit: str
    of: str = "Model"
    scale: Literal["linear", "log2"] = "linear"


@dataclass(frozen=True)
class KnownEstimate:
    """An estimate beside its true (simulated) value.

    Not every one is ``fit_to_count``: a truth beyond what the data can show is held by any open interval, and what comes out the same whatever
    the seed is one interval, however often it is drawn.
    """

    statistic: TourStatistic
    subject: str
    found: Estimate
    truth: float
    fit_to_count: bool = True

    @property
    def counts(self) -> bool:
        """Whether it is part of the share of intervals that contain the true value; what has no interval is not."""
        return self.fit_to_count and not (self.found.low is None and self.found.high is None)

    @property
    def is_held(self) -> bool:
        """Whether the interval contains the true value; an end beyond what was observed holds everything there."""
        return self.found.covers(self.truth)


@dataclass(frozen=True, eq=False)
class TourStop:
    """One stop of the tour.

    ``instrument`` is counted together with other parts of that name; ``key`` names its folder. ``sections`` draws, so it is called for a page only.
    """

    instrument: str
    key: str
    title: str
    about: str
    known: tuple[KnownEstimate, ...]
    made: Provenance
    sections: Callable[[], list[Section]]
    save: Callable[[Path], list[Path]]

    @property
    def counted(self) -> list[KnownEstimate]:
        """Those that a share of intervals is made of."""
        return [one for one in self.known if one.counts]


def frame_of(parts: Iterable[TourStop], seed: int) -> pl.DataFrame:
    """One row per estimate: seed, instrument, statistic, subject, found, low, high, state, truth (null beyond what was observed), held, counts."""
    rows = [
        {"seed": seed, "instrument": part.instrument, "statistic": one.statistic.name, "subject": one.subject}
        | {"found": one.found.value, "low": one.found.low, "high": one.found.high, "state": one.found.state}
        | {"truth": one.truth if math.isfinite(one.truth) else None, "held": one.is_held, "counts": one.counts}
        for part in parts
        for one in part.known
    ]
    return pl.DataFrame(rows, schema=_COLUMNS)


def tally(known: pl.DataFrame, by: Sequence[str] = ("instrument",)) -> pl.DataFrame:
    """How many intervals contain the true value: the columns `by`, intervals, held, share."""
    counted = known.filter("counts").group_by(by, maintain_order=True)
    sums = counted.agg(pl.len().cast(pl.Int64).alias("intervals"), pl.col("held").sum().cast(pl.Int64))
    return sums.with_columns(share=pl.col("held") / pl.col("intervals"))


_COLUMNS = {
    "seed": pl.Int64,
    **dict.fromkeys(("instrument", "statistic", "subject"), pl.String),
    **dict.fromkeys(("found", "low", "high"), pl.Float64),
    "state": pl.String,
    "truth": pl.Float64,
    **dict.fromkeys(("held", "counts"), pl.Boolean),
}
