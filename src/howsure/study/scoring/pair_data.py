"""What is known beside the ratings: who the raters were, which domain a pair is from, and what a model scored it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from howsure.errors import InputError
from howsure.tables import Column, Table

if TYPE_CHECKING:
    from howsure.study.protocol import Study

__all__ = ["ModelScores", "PairData", "Raters", "pair_data_of"]


class Raters(Table):
    """One row per rater: how long it took and how far they came. Other columns, such as comments, stay as they are."""

    columns = (
        Column("rater", "who judged", required=True),
        Column("minutes", "from the first page to the last", "number", low=0),
        Column("complete", "share of the questions answered", "number", low=0, high=1),
        Column("quiz", "share of the calibration quiz answered correctly", "number", low=0, high=1),
        Column("attention", "share of the attention items answered correctly", "number", low=0, high=1),
        Column("slot_one", "share of the pairs whose target was shown first", "number", low=0, high=1),
    )
    key = ("rater",)
    told_by = ("rater",)  # type: ignore[assignment]  # there is nothing else to tell a row by


class ModelScores(Table):
    """One row per pair: what an automatic measure gave its target, 0–1, and the pair's domain if it has one."""

    columns = (
        Column("item", "the pair", required=True),
        Column(
            "score",
            "0 to 1, higher is better",
            "number",
            required=True,
            low=0,
            high=1,
            remedy="Rescale it to 0–1 first.",
        ),
        Column("domain", "the domain of the pair"),
    )
    key = ("item",)
    told_by = ("item", "score")


@dataclass(frozen=True)
class PairData:
    """Domains and model scores by pair; empty where nothing is known."""

    domains: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def pair_data_of(pairs: list[str], study: Study | None = None, scores: ModelScores | None = None) -> PairData:
    """What a study file and a table of model scores tell of these pairs; the table overrules the file."""
    written = study.pairs if study else ()
    domains = {pair.id: pair.domain for pair in written if pair.domain}
    by_pair = {pair.id: pair.model_score for pair in written if pair.model_score is not None}
    if scores is not None:
        frame = scores.frame
        by_pair |= dict(zip(frame["item"], frame["score"], strict=True))
        if scores.has("domain"):
            domains |= {item: domain for item, domain in frame.select("item", "domain").iter_rows() if domain}
        _refuse_strangers(pairs, by_pair)
    rated = {name: by_pair[name] for name in pairs if name in by_pair}
    without = [name for name in pairs if name not in by_pair]
    notes = [f"{len(without)} rated pairs have no model score: {_some(without)}."] if rated and without else []
    return PairData({name: domains[name] for name in pairs if name in domains}, rated, tuple(notes))


def _refuse_strangers(pairs: list[str], scores: Mapping[str, float]) -> None:
    if not set(pairs) & set(scores):
        raise InputError(
            f"No pair has a model score: the ratings are of {_some(pairs)}, the scores of {_some(list(scores))}. Use the same names in the column item."
        )


def _some(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
