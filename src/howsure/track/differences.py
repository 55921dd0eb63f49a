"""Differences in correct answers between two players, or between two ways to play, on the same sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import hypot
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtr

from howsure.estimates import Estimate
from howsure.stats.means import Mean, paired_difference, unpaired_difference
from howsure.stats.multiplicity import holm
from howsure.stats.survival import log_rank
from howsure.track.samples import DIRECT, EXPLICIT, Samples
from howsure.track.survival import GameEnds, mean_turns

__all__ = ["Contrast", "Gain", "PlayerDifference", "contrast", "differences", "gains", "shared_games"]

_BOARD = ("variant", "setting", "length")


@dataclass(frozen=True)
class Contrast:
    """Correct answers of one side minus those of the other, up to turn ``limit``.

    ``p`` is that of the t test that the interval belongs to, ``p_log_rank`` that of the log-rank test of both survival curves, which does not use the pairing.
    ``n_seeds`` sequences were played on both sides, ``n_unshared`` on one only; with fewer than two shared ones the sides are taken as independent.
    """

    difference: Estimate
    limit: int
    p: float | None
    p_log_rank: float | None
    n_seeds: int
    n_unshared: int


@dataclass(frozen=True)
class PlayerDifference:
    """Two players on one board, shown the same: correct answers of ``a`` minus those of ``b``. ``p_holm`` is corrected for all pairs on the board."""

    a: str
    b: str
    solver: str
    variant: str
    setting: str
    length: int
    contrast: Contrast
    p_holm: float | None = None


@dataclass(frozen=True)
class Gain:
    """Correct answers of a model with the state shown minus without."""

    model: str
    solver: str
    variant: str
    setting: str
    length: int
    contrast: Contrast


def differences(samples: Samples, *, level: float = 0.95) -> tuple[PlayerDifference, ...]:
    """Every pair of players that played the same board with the same solver."""
    found: list[PlayerDifference] = []
    for (solver, variant, setting, length), part in _parts(samples.frame, ["solver", *_BOARD]):
        pairs = [
            PlayerDifference(a, b, solver, variant, setting, length, contrast(first, second, level=level))
            for ((a,), first), ((b,), second) in combinations(_parts(part, ["model"]), 2)
        ]
        tested = [place for place, pair in enumerate(pairs) if pair.contrast.p is not None]
        for place, p in zip(tested, holm([pairs[place].contrast.p or 0.0 for place in tested]), strict=True):
            pairs[place] = replace(pairs[place], p_holm=float(p))
        found += pairs
    return tuple(found)


def gains(samples: Samples, *, level: float = 0.95) -> tuple[Gain, ...]:
    """Every solver that was shown the state compared with the same model and solver without it, on each board."""
    parts = dict(_parts(samples.frame, ["model", *_BOARD, "solver"]))
    found = []
    for (model, variant, setting, length, solver), part in parts.items():
        if solver.startswith(EXPLICIT):
            without = solver.removesuffix(" (assistant)").removeprefix(EXPLICIT).removeprefix("+") or DIRECT
            other = parts.get((model, variant, setting, length, without))
            if other is not None:
                found.append(Gain(model, solver, variant, setting, length, contrast(part, other, level=level)))
    return tuple(found)


def contrast(first: pl.DataFrame, second: pl.DataFrame, *, level: float = 0.95) -> Contrast:
    """Correct answers on average in the first games minus those in the second, on one board.

    The difference of restricted means up to the last turn that is well known of both (`howsure.track.survival.GameEnds.reach`), paired by sequence:
    pseudo-values are averaged by sequence, and their differences have a t interval. Where no difference varies, the interval joins those of both means
    by squares.
    """
    shared = np.intersect1d(first["seed"], second["seed"])
    n_unshared = first["seed"].n_unique() + second["seed"].n_unique() - 2 * len(shared)
    is_paired = len(shared) >= 2
    first, second = shared_games(first, second)
    sides = GameEnds.of(first), GameEnds.of(second)
    if not (sides[0].n and sides[1].n):
        none = Estimate.without("too_few", "all games of one player were interrupted in the first turn", level=level)
        return Contrast(none, 0, None, None, len(shared), n_unshared)
    limit = min(side.reach for side in sides)
    found = (_paired if is_paired else _unpaired)(sides, limit, level)
    estimate, p = found.estimate, None
    if found.se and found.df and estimate.low is not None and estimate.high is not None:
        estimate = replace(estimate, low=max(estimate.low, -limit), high=min(estimate.high, limit))
        p = float(2 * stdtr(found.df, -abs(estimate.value or 0.0) / found.se))
    elif estimate.state == "undefined":
        estimate = _joined([mean_turns(side, side.values(limit), limit, level) for side in sides], level)
    has_error = any(side.is_error.any() for side in sides)
    p_log_rank = log_rank(*((side.times, side.is_error) for side in sides)).p if has_error else None
    return Contrast(estimate, limit, p, p_log_rank, len(shared), n_unshared)


def shared_games(first: pl.DataFrame, second: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The games with sequences that both sides played; all games where that are fewer than two."""
    shared = np.intersect1d(first["seed"], second["seed"])
    if len(shared) < 2:
        return first, second
    is_shared = pl.col("seed").is_in(shared.tolist())
    return first.filter(is_shared), second.filter(is_shared)


def _paired(sides: Sequence[GameEnds], limit: int, level: float) -> Mean:
    means = [pl.DataFrame({"seed": s.seeds, "v": s.values(limit)}).group_by("seed").mean() for s in sides]
    both = means[0].join(means[1], on="seed", suffix="_second").sort("seed")
    return paired_difference(both["v"], both["v_second"], level=level, bounds=None)


def _unpaired(sides: Sequence[GameEnds], limit: int, level: float) -> Mean:
    (a, b), (of_a, of_b) = [side.values(limit) for side in sides], [side.seeds for side in sides]
    return unpaired_difference(a, b, of_a, of_b, level=level, bounds=None)


def _joined(means: Sequence[Estimate], level: float) -> Estimate:
    """The difference of two means with known intervals (the method of variance estimates recovery)."""
    ends = [(m.value, m.low, m.high) for m in means]
    (a, low_a, high_a), (b, low_b, high_b) = ends
    if None in (low_a, high_a, low_b, high_b) or a is None or b is None:
        return Estimate.without("too_few", "an interval needs 2 sequences on each side", level=level)
    assert low_a is not None and high_a is not None and low_b is not None and high_b is not None  # noqa: PT018
    return Estimate(a - b, a - b - hypot(a - low_a, high_b - b), a - b + hypot(high_a - a, b - low_b), level)


def _parts(frame: pl.DataFrame, keys: list[str]) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame]]:
    return iter(frame.group_by(keys, maintain_order=True))
