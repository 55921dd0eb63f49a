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

__all__ = ["JUDGES", "SimulatedBench", "SimulatedJudge", "simulate_bench", "simulate_judge"]

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


@dataclass(frozen=True, kw_only=True)
class SimulatedBench(Result):
    """Simulated ratings of people and of several judges with known noise and biases.

    Tables: ``people``, ``judges`` (means of both orders and all repeats), ``judge_orders`` (with slot and repeat), ``texts`` (length, lists and family of each item), ``costs`` and
    ``truth`` (what is true of each judge: noise, bias, slot, length, lists, own_family, injection: how far an instruction to the judge raises a rating; other attacks raise it by less),
    ``attacked`` (the judges' ratings of attacked answers).
    """

    name: ClassVar[str] = "simulated_bench"
    people: Ratings
    judges: Ratings
    orders: Orders
    texts: pl.DataFrame
    costs: pl.DataFrame
    truth: pl.DataFrame
    attacked: Ratings
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``people``, ``judges``, ``judge_orders``, ``texts``, ``costs``, ``truth`` and ``attacked``."""
        tables = {"people": self.people.frame, "judges": self.judges.frame, "judge_orders": self.orders.frame}
        return {
            **tables,
            "attacked": self.attacked.frame,
            "texts": self.texts,
            "costs": self.costs,
            "truth": self.truth,
        }


JUDGES = {
    # noise, bias, slot, length, lists, own family, injection, cost of one rating, family
    "aster/large": (0.5, 0.1, 0.1, 0.0, 0.0, 0.3, 0.4, 0.03, "aster"),
    "aster/small": (0.8, 0.3, 0.3, 0.2, 0.2, 0.3, 1.0, 0.004, "aster"),
    "birch/large": (0.5, -0.2, 0.0, 0.1, 0.0, 0.0, 0.0, 0.02, "birch"),
    "birch/small": (1.0, 0.4, 0.5, 0.3, 0.4, 0.2, 1.2, 0.002, "birch"),
    "cedar/large": (0.7, 0.0, 0.2, 0.0, 0.3, 0.0, 0.3, 0.01, "cedar"),
    "cedar/small": (1.4, 0.6, 0.2, 0.4, 0.0, 0.4, 1.5, 0.001, "cedar"),
}
"""Six simulated judges."""
_STRENGTH = {"injection": 1.0, "hidden": 0.6, "authority": 0.4, "padding": 0.2}
_ATTACKED = 20  # items whose answers are attacked


def simulate_bench(
    *, n_items: int = 80, n_raters: int = 5, n_repeats: int = 2, noise: float = 0.7, seed: int = 0
) -> SimulatedBench:
    """People and six judges rate the same answers from 1 to 5.

    Parameters
    ----------
    n_items, n_raters : int
        How many answers, and how many people, who rate all of them.
    n_repeats : int
        How often each judge is asked in each order.
    noise : float
        Standard deviation of one person's rating.
    seed : int
        The same seed gives the same ratings.
    """
    if min(n_items, n_raters, n_repeats) < 1:
        raise OptionError("There must be an item, a rater and a repeat at least.")
    rng = np.random.default_rng(seed)
    items = [f"answer-{number:03d}" for number in range(1, n_items + 1)]
    quality, doublings = rng.normal(3, 0.9, n_items), rng.normal(0, 0.7, n_items)
    lists, family = rng.random(n_items) < 0.4, rng.choice(["aster", "birch", "cedar"], n_items)

    def rated(values: Floats) -> Floats:
        return np.asarray(np.clip(np.round(values), 1, 5))

    severity = rng.normal(0, 0.2, n_raters)
    people = pl.concat(
        pl.DataFrame({"rater": f"rater-{one + 1}", "item": items, "dimension": "quality", "value": rated(quality + severity[one] + rng.normal(0, noise, n_items))})
        for one in range(n_raters)
    )  # fmt: skip
    rows, views = [], {}
    for name, (spread, bias, slot, length, listed, own, _, _, home) in JUDGES.items():
        # what a judge sees of an item stays; the rest changes from answer to answer
        seen = quality + bias + length * doublings + listed * (lists - 0.4) + own * (family == home) + rng.normal(0, 0.8 * spread, n_items)  # fmt: skip
        views[name] = seen
        for where, sign in ((1, 0.5), (2, -0.5)):
            for repeat in range(1, n_repeats + 1):
                values = rated(seen + sign * slot + rng.normal(0, 0.6 * spread, n_items))
                rows.append(pl.DataFrame({"rater": name, "item": items, "dimension": "quality", "target_slot": where, "repeat": repeat, "value": values}))  # fmt: skip
    orders = pl.concat(rows)
    means = orders.group_by("rater", "item", "dimension", maintain_order=True).agg(pl.col("value").mean())
    attacked = pl.concat(
        pl.DataFrame({"rater": name, "item": [f"{item}.attack-{attack}" for item in items[:_ATTACKED]], "dimension": "quality",
                      "value": np.mean([rated(seen[:_ATTACKED] + JUDGES[name][6] * strength + rng.normal(0, 0.6 * JUDGES[name][0], len(seen[:_ATTACKED]))) for _ in range(2 * n_repeats)], axis=0)})
        for name, seen in views.items()
        for attack, strength in _STRENGTH.items()
    )  # fmt: skip
    truth = pl.DataFrame(
        [(name, *values[:7]) for name, values in JUDGES.items()],
        schema=["judge", "noise", "bias", "slot", "length", "lists", "own_family", "injection"],
        orient="row",
    )
    costs = pl.DataFrame(
        [(name, values[7], values[8]) for name, values in JUDGES.items()],
        schema=["judge", "cost", "family"],
        orient="row",
    )
    texts = pl.DataFrame(
        {"item": items, "length": np.round(150 * 2.0**doublings), "lists": lists.astype(np.float64), "family": family}
    )
    settings = {"n_items": n_items, "n_raters": n_raters, "n_repeats": n_repeats, "noise": noise}
    table = Ratings(people)
    return SimulatedBench(
        people=table,
        judges=Ratings(means),
        orders=Orders(orders),
        texts=texts,
        costs=costs,
        truth=truth,
        attacked=Ratings(attacked),
        provenance=Provenance(settings, table.digest, seed),
    )
