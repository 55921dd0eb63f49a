"""A simulated judge: people rate pairs of known quality, and a judge with position and length bias rates more of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.results import Provenance, Result
from howsure.stats._arrays import Floats
from howsure.study.judging.ratings import Orders
from howsure.study.judging.validation import Lengths
from howsure.tables import Ratings

__all__ = ["SimulatedJudge", "simulate_judge"]

# answers = centre + factor · (how much better the target is); ends of the scale
_DIMENSIONS = {"voice": (0.0, 1.0, -2, 2), "vibe:target": (2.0, 0.6, 1, 3), "vibe:comparison": (2.0, -0.6, 1, 3)}
_LENGTH_SD = 0.5  # doublings


@dataclass(frozen=True, kw_only=True)
class SimulatedJudge(Result):
    """Simulated ratings of people and of a judge.

    Tables: ``ratings`` (people), ``judge`` (of more pairs, the mean of both orders), ``judge_orders`` and ``lengths`` (the target's length
    divided by the comparison's).
    """

    name: ClassVar[str] = "simulated_judge"
    ratings: Ratings
    judge: Ratings
    orders: Orders
    lengths: Lengths
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``ratings``, ``judge``, ``judge_orders`` and ``lengths``."""
        tables = {"ratings": self.ratings, "judge": self.judge, "judge_orders": self.orders, "lengths": self.lengths}
        return {name: table.frame for name, table in tables.items()}


def simulate_judge(
    *,
    n_pairs: int = 40,
    n_more: int = 20,
    n_raters: int = 4,
    noise: float = 0.8,
    judge_noise: float = 0.5,
    pull: float = 0.0,
    length: float = 0.0,
    is_rounded: bool = True,
    seed: int = 0,
) -> SimulatedJudge:
    """People rate `n_pairs`, a judge these and `n_more`.

    A pair's quality is how much better its target is, normal around 0.5 with standard deviation 1 on the scale of voice (−2 to 2). Answers are quality
    plus ``noise`` (the judge's: ``judge_noise``), rounded and cut to the scale. ``pull`` is how much higher the judge puts a response for standing in
    slot 1, on the scale of voice twice as much between the orders; ``length`` is what it gives to the target for each doubling of its length. People have
    neither bias. ``is_rounded=False`` keeps answers as they are, so that the true values can be recovered exactly.
    """
    if min(n_pairs, n_raters) < 1 or n_more < 0:
        raise OptionError("There must be a pair and a rater at least, and n_more may not be below 0.")
    rng = np.random.default_rng(seed)
    n = n_pairs + n_more
    items = [f"pair-{number:02d}" for number in range(1, n + 1)]
    quality, doublings = rng.normal(0.5, 1, n), rng.normal(0, _LENGTH_SD, n)
    draw = _Answering(rng, is_rounded)
    people = [draw(f"rater-{rater}", items[:n_pairs], quality[:n_pairs], noise) for rater in range(1, n_raters + 1)]
    orders = []
    for slot, sign in ((1, 1), (2, -1)):
        biased = quality + sign * pull + length * doublings
        orders.append(draw("toy-judge", items, biased, judge_noise).with_columns(target_slot=pl.lit(slot)))
    both = pl.concat(orders)
    mean = both.group_by("rater", "item", "dimension", maintain_order=True).agg(pl.col("value").mean())
    lengths = pl.DataFrame({"item": items, "length": np.round(2.0**doublings, 3)})
    columns = ("rater", "item", "dimension", "target_slot", "value")
    ratings = Ratings(pl.concat(people))
    settings = {"n_pairs": n_pairs, "n_more": n_more, "n_raters": n_raters, "noise": noise, "judge_noise": judge_noise}
    settings |= {"pull": pull, "length": length, "is_rounded": is_rounded}
    return SimulatedJudge(
        ratings=ratings,
        judge=Ratings(mean),
        orders=Orders(both.select(columns)),
        lengths=Lengths(lengths),
        provenance=Provenance(settings, ratings.digest, seed),
    )


@dataclass(frozen=True)
class _Answering:
    """Draws one rater's answers on every dimension."""

    rng: np.random.Generator
    is_rounded: bool

    def __call__(self, rater: str, items: list[str], quality: Floats, noise: float) -> pl.DataFrame:
        parts = []
        for name, (centre, factor, low, high) in _DIMENSIONS.items():
            raw = centre + factor * (quality + self.rng.normal(0, noise, len(items)))
            values = np.clip(np.round(raw), low, high) + 0.0 if self.is_rounded else raw
            parts.append(pl.DataFrame({"rater": rater, "item": items, "dimension": name, "value": values}))
        return pl.concat(parts)
