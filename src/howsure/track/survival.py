"""How long games last: the survival curve over turns, and the risk in each stretch of them.

Games that end with all turns right are censored: they would have gone on, nobody knows for how long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from howsure.estimates import Estimate
from howsure.stats.proportions import wilson
from howsure.stats.survival import SurvivalCurve, kaplan_meier

__all__ = ["Hazard", "Lasting", "lasting"]

_STRETCHES = (1, 6, 11, 21, 51, 101, 201)  # first turns; the risk changes most at the start


@dataclass(frozen=True)
class Hazard:
    """The chance to fail in one turn, given that all before were right, between two turns."""

    first: int
    last: int
    chance: Estimate
    n_errors: int
    n_turns: int


@dataclass(frozen=True)
class Lasting:
    """How long games last: ``curve`` gives the share with more than t right turns.

    ``median`` is the number of turns that half of the games do not outlast; where more than half reached the end it is above the
    range. ``restricted_mean`` is the mean number of right turns up to the length.
    """

    curve: SurvivalCurve
    median: Estimate
    restricted_mean: Estimate
    hazards: tuple[Hazard, ...]

    def to_frame(self) -> pl.DataFrame:
        """The curve from its start: turns, survival, low, high, at_risk, errors."""
        start, curve = self.curve.at(0), self.curve
        known = pl.DataFrame(
            {
                "turns": curve.times.astype(int),
                "survival": curve.survival,
                "low": curve.low,
                "high": curve.high,
                "at_risk": curve.at_risk,
                "errors": curve.events,
            }
        )
        if curve.times[0] == 0:
            return known
        first = [[0], [start.value], [start.low], [start.high], [curve.n], [0]]
        return pl.concat([pl.DataFrame(first, schema=known.schema), known])


def lasting(max_lengths: Sequence[int], length: int, *, level: float = 0.95) -> Lasting:
    """Survival over the turns of games with `length` numbers."""
    times = np.asarray(max_lengths, dtype=np.int64)
    curve = kaplan_meier(times, times < length, level=level)
    return Lasting(curve, curve.median(), curve.restricted_mean(length), _hazards(times, length, level))


def _hazards(times: np.ndarray, length: int, level: float) -> tuple[Hazard, ...]:
    """In turn t fail those with t − 1 right turns; at risk are those with at least so many."""
    failed = np.bincount(times[times < length], minlength=length)
    at_risk = len(times) - np.concatenate([[0], failed.cumsum()[:-1]])
    firsts = [first for first in _STRETCHES if first <= length]
    lasts = [*(first - 1 for first in firsts[1:]), length]
    found = []
    for first, last in zip(firsts, lasts, strict=True):
        n_errors, n_turns = int(failed[first - 1 : last].sum()), int(at_risk[first - 1 : last].sum())
        found.append(Hazard(first, last, wilson(n_errors, n_turns, level), n_errors, n_turns))
    return tuple(found)
