"""What it brings to be shown the state: explicit minus implicit tracking."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from howsure.estimates import Estimate
from howsure.stats.means import paired_difference
from howsure.stats.survival import log_rank
from howsure.track.samples import DIRECT, Samples

__all__ = ["Gain", "gains"]


@dataclass(frozen=True)
class Gain:
    """Right turns with the state shown minus without, on the same sequences.

    ``p`` is the log-rank test's of both survival curves, which allows for games that reached the end; it does not use the pairing,
    so it is on the safe side. ``n_seeds`` sequences were played both ways, ``n_unshared`` only one way.
    """

    model: str
    solver: str
    variant: str
    setting: str
    length: int
    difference: Estimate
    p: float | None
    n_seeds: int
    n_unshared: int


def gains(samples: Samples, *, level: float = 0.95) -> tuple[Gain, ...]:
    """Every solver that was shown the state against the same model without, for each variant and setting."""
    played = samples.frame.filter(pl.col("failure").is_null())
    keys = ["model", "variant", "setting", "length"]
    direct = dict(list(played.filter(pl.col("solver") == DIRECT).group_by(keys)))
    shown = played.filter(pl.col("solver") != DIRECT).group_by([*keys, "solver"], maintain_order=True)
    return tuple(_gain(part, direct[key[:-1]], key, level) for key, part in shown if key[:-1] in direct)


def _gain(shown: pl.DataFrame, direct: pl.DataFrame, key: tuple[object, ...], level: float) -> Gain:
    model, variant, setting, length, solver = key
    assert isinstance(length, int)
    means = [part.group_by("seed").agg(pl.col("max_length").mean()) for part in (shown, direct)]
    both = means[0].join(means[1], on="seed", suffix="_direct").sort("seed")
    difference = paired_difference(both["max_length"], both["max_length_direct"], level=level, bounds=(0, length))
    times = [part["max_length"].to_numpy() for part in (shown, direct)]
    test = log_rank(*((time, time < length) for time in times)) if any((t < length).any() for t in times) else None
    n_unshared = means[0]["seed"].len() + means[1]["seed"].len() - 2 * len(both)
    return Gain(
        str(model),
        str(solver),
        str(variant),
        str(setting),
        length,
        difference.estimate,
        test.p if test else None,
        len(both),
        n_unshared,
    )
