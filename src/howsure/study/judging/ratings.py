"""A model as a rater: the same blinded pairs, the same questions, both slot orders; and what its ratings come to."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from howsure.errors import InputError
from howsure.results import Provenance, Result, plain
from howsure.stats._arrays import Floats
from howsure.stats.bias import PositionBias, position_bias
from howsure.study.protocol import Dimension, Study
from howsure.study.scoring.fidelity import PFI, score
from howsure.tables import Column, Ratings, Table

__all__ = ["FAILURES", "JudgeRatings", "Orders", "Reply", "by_slot", "in_slots", "joined", "judge", "summarise_replies"]

FAILURES = {
    "api": "the server failed, or the question was not asked yet",
    "format": "the reply does not end in the requested form",
    "length": "the reply was cut off",
    "null": "the reply is empty",
    "refusal": "the model or a filter declined",
}
"""Why a question has no rating: only ``api`` is asked again."""


class Orders(Table):
    """A judge's ratings in each slot order, about the target; without value where a reply gave none."""

    columns = (
        Column("rater", "which model", required=True),
        Column("item", "the pair", required=True),
        Column("dimension", "in which respect", required=True),
        Column("target_slot", "slot of the target", "whole", required=True, low=1, high=2),
        Column("value", "the rating", "number"),
        Column("failure", "why there is none", choices=tuple(FAILURES)),
        Column("repeat", "1 for the first time that the question was asked, then 2, …", "whole", low=1),
    )
    key = ("rater", "item", "dimension", "target_slot")
    told_by = ("rater", "item")

    def _key(self) -> tuple[str, ...]:
        return (*self.key, "repeat") if self.has("repeat") else self.key


@dataclass(frozen=True)
class Reply:
    """What a model said of a pair in one order: ratings by dimension, or the failure that left none; ``repeat`` counts how often it was asked."""

    item: str
    target_slot: int
    values: Mapping[str, float]
    failure: str | None = None
    repeat: int = 1


@dataclass(frozen=True, kw_only=True)
class JudgeRatings(Result):
    """A model's ratings of a study.

    Parameters
    ----------
    model : str
        The judge.
    ratings : pl.DataFrame
        Table ``judge``: rater, item, dimension, value (mean of the two orders, for pairs that were rated in both).
    orders : pl.DataFrame
        Table ``judge_orders``: each order separately, and failures.
    scores : pl.DataFrame
        Table ``model_scores``: item, score, domain.
    position : Mapping[str, PositionBias]
        Dimension → position bias.
    failures : Mapping[str, int]
        Reason → number of questions without a rating.
    n_pairs : int
        Number of pairs.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "judge"
    model: str
    ratings: pl.DataFrame
    orders: pl.DataFrame
    scores: pl.DataFrame
    position: Mapping[str, PositionBias]
    failures: Mapping[str, int]
    n_pairs: int
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``judge``, ``judge_orders`` and ``model_scores``."""
        return {"judge": self.ratings, "judge_orders": self.orders, "model_scores": self.scores}

    def table(self) -> Ratings:
        """The ratings as a checked table."""
        if self.ratings.is_empty():
            raise InputError(f"{self.model} rated no pair in both orders. Read the replies with: inspect view")
        return Ratings(self.ratings)

    def as_dict(self) -> dict[str, Any]:
        """The tables, counts, failures and the position bias."""
        counts = {"model": self.model, "n_pairs": self.n_pairs, "n_rated": self.ratings["item"].n_unique()}
        more: dict[str, Any] = plain({**counts, "failures": self.failures, "position": self.position})
        return super().as_dict() | more


def judge(
    study: Study | str | os.PathLike[str],
    model: str | Sequence[str],
    *,
    out: str | os.PathLike[str],
    repeats: int = 1,
    attacks: str | Sequence[str] = (),
    level: float = 0.95,
    **options: Any,
) -> JudgeRatings:
    """Let one or more models rate the pairs of a study through Inspect, or continue that run in the folder `out`.

    Questions that a failing server left open are counted as ``api``, and the same call asks them again.

    Parameters
    ----------
    study : Study or path
        The study, or its YAML file.
    model : str or sequence of str
        PROVIDER/MODEL, as Inspect spells it; several are asked one after the other.
    out : path
        The folder for the logs.
    repeats : int
        How often each question is asked in each order.
    attacks : str or sequence of str
        Names of attacks (`howsure.study.judging.attacks.ATTACKS`), or ``"all"``: each pair is also judged with its target altered, under the name ``PAIR.attack-NAME``.
    level : float
        Coverage of the intervals, between 0 and 1.
    **options
        More options of `howsure.study.judging.runs.run_judge`.

    Returns
    -------
    JudgeRatings
        The ratings, in each order and their means, and the position bias.
    """
    from howsure.study.judging.attacks import with_attacks
    from howsure.study.judging.runs import run_judge

    study = with_attacks(Study.of(study), attacks)
    models = [model] if isinstance(model, str) else list(model)
    runs = {name: run_judge(study, name, out=out, repeats=repeats, **options) for name in models}
    return joined([summarise_replies(study, name, run.replies, level=level) for name, run in runs.items()])


def joined(parts: Sequence[JudgeRatings]) -> JudgeRatings:
    """The ratings of several models as one result; scores are means over the models, biases and failures carry the model's name."""
    if len(parts) == 1:
        return parts[0]
    scores = pl.concat([part.scores for part in parts])
    orders = [part.orders for part in parts]
    return JudgeRatings(
        model=", ".join(part.model for part in parts),
        ratings=pl.concat([part.ratings for part in parts]),
        orders=pl.concat(orders, how="diagonal"),
        scores=scores.group_by("item", maintain_order=True).agg(pl.col("score").mean(), pl.col("domain").first()),
        position={f"{part.model}: {name}": one for part in parts for name, one in part.position.items()},
        failures={f"{part.model}: {name}": n for part in parts for name, n in part.failures.items()},
        n_pairs=parts[0].n_pairs,
        provenance=Provenance({"model": [part.model for part in parts]}, parts[0].provenance.digest),
    )


def summarise_replies(study: Study, model: str, replies: Sequence[Reply], *, level: float = 0.95) -> JudgeRatings:
    """What a model's replies come to."""
    orders = _orders(study, model, replies)
    both = by_slot(orders)
    both = both.filter(pl.len().over("item", "dimension") == 2)
    ratings = both.group_by("rater", "item", "dimension", maintain_order=True).agg(pl.col("value").mean())
    return JudgeRatings(
        model=model,
        ratings=ratings,
        orders=orders,
        scores=_scores(study, both),
        position=_position(study, both, level),
        failures=dict(Counter(reply.failure for reply in replies if reply.failure)),
        n_pairs=len(study.pairs),
        provenance=Provenance({"model": model, "level": level}, study.digest[:16]),
    )


def in_slots(orders: pl.DataFrame, dimension: str) -> tuple[Floats, Floats, list[str]] | None:
    """A model's ratings of the same responses in slot 1 and in slot 2, and the items; None where no item was rated in both orders."""
    rated = by_slot(orders.filter(pl.col("dimension") == dimension))
    wide = rated.filter(pl.len().over("item") == 2).pivot(on="target_slot", index="item", values="value")
    if not {"1", "2"} <= set(wide.columns):
        return None
    with_target_first, with_target_second = wide["1"].to_numpy(), wide["2"].to_numpy()
    # the comparison stands in slot 1 where the target stands in slot 2
    is_turned = dimension.endswith(":comparison")
    slots = (with_target_second, with_target_first) if is_turned else (with_target_first, with_target_second)
    return *slots, wide["item"].to_list()


def _orders(study: Study, model: str, replies: Sequence[Reply]) -> pl.DataFrame:
    """One row per order and dimension; without value where the reply failed."""
    rows = [
        (model, reply.item, dimension, reply.target_slot, reply.values.get(dimension), reply.failure, reply.repeat)
        for reply in replies
        for dimension in _rated(study)
    ]
    kinds = {"rater": pl.String, "item": pl.String, "dimension": pl.String, "target_slot": pl.Int64}
    made = pl.DataFrame(rows, schema={**kinds, "value": pl.Float64, "failure": pl.String, "repeat": pl.Int64}, orient="row")  # fmt: skip
    return made if made["repeat"].n_unique() > 1 else made.drop("repeat")


def by_slot(orders: pl.DataFrame) -> pl.DataFrame:
    """Ratings in each order, repeats averaged; without those that failed."""
    rated = orders.filter(pl.col("value").is_not_null())
    if "repeat" not in orders.columns:
        return rated
    keys = ("rater", "item", "dimension", "target_slot")
    return rated.group_by(keys, maintain_order=True).agg(
        pl.col("value").mean(), pl.lit(None, pl.String).alias("failure")
    )


def _rated(study: Study) -> dict[str, Dimension]:
    return {name: dimension for dimension in study.dimensions for name in dimension.rated}


def _scores(study: Study, both: pl.DataFrame) -> pl.DataFrame:
    """The fidelity index that the model gives each pair: that of each order, then their mean."""
    domains = [(pair.id, pair.domain) for pair in study.pairs]
    known = pl.DataFrame(domains, schema={"item": pl.String, "domain": pl.String}, orient="row")
    if both.is_empty():
        return known.clear().select("item", pl.lit(0.0).alias("score"), "domain")
    by_order = both.select("item", "dimension", "value", rater=pl.col("target_slot").cast(pl.String))
    scored = score(Ratings(by_order), study).frame
    index = pl.col(PFI) if PFI in scored.columns else pl.lit(None, pl.Float64)
    scores = scored.group_by("item").agg(index.mean().alias("score"), n=index.count()).filter(pl.col("n") == 2)
    return known.join(scores, on="item", maintain_order="left").select("item", "score", "domain")


def _position(study: Study, orders: pl.DataFrame, level: float) -> dict[str, PositionBias]:
    """What the slot did, by dimension."""
    found = {}
    for name, dimension in _rated(study).items():
        slots = in_slots(orders, name)
        if slots:
            neutral = 0.0 if dimension.kind == "comparison" else None
            bounds = dimension.low, dimension.high
            found[name] = position_bias(*slots[:2], neutral=neutral, bounds=bounds, level=level)
    return found
