"""From answers to a fidelity score: each part on 0–1, their mean the persona fidelity index (PFI).

============  ===============================================  ==================================================
kind          what was asked                                   its part, on 0–1
============  ===============================================  ==================================================
comparison    which response, from −n to n (+ is the target)   (value − low) / (high − low)
each          of both responses                                the target's answer, rescaled
preferred     of the response that was preferred               the answer, rescaled, where the target was preferred; 0.5
                                                               on a tie; (1 − rescaled)/2 where the comparison was
rating        of the item itself                               the answer, rescaled
choice        one answer about the pair                        no part of the index; a statistic of its own
============  ===============================================  ==================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats
from howsure.stats.components import crossed_mean
from howsure.stats.means import Bounds, clustered_mean
from howsure.study.packet.design import AGAIN, ATTENTION
from howsure.study.protocol import DEFAULT_DIMENSIONS
from howsure.tables import Column, Ratings, Table

if TYPE_CHECKING:
    from howsure.study.protocol import Study

__all__ = [
    "LITE",
    "LITE_RANGE",
    "PFI",
    "ModelScores",
    "PairData",
    "RaterEffects",
    "Raters",
    "Scored",
    "ScoredDimension",
    "few_raters",
    "is_pair",
    "pair_data_of",
    "parts_of",
    "pooled_mean",
    "rater_effects_of",
    "row_means",
    "score",
]

Kind = Literal["comparison", "each", "preferred", "rating", "choice"]
PFI, LITE = "pfi", "pfi_lite"
LITE_RANGE = (0.0, 8 / 9)
"""Where (voice + vibe + logic)/9 can lie; its neutral point is 4/9."""

_ASIDE = ("guess", "attention")
_ENDS: dict[str, Kind] = {"target": "each", "comparison": "each", "preferred": "preferred"}


@dataclass(frozen=True)
class ScoredDimension:
    """One dimension: how it was asked, and between which numbers its answers lie."""

    name: str
    kind: Kind
    low: float
    high: float

    @property
    def columns(self) -> tuple[str, ...]:
        """Its names in a table of ratings."""
        ends = {"each": (":target", ":comparison"), "preferred": (":preferred",)}
        return tuple(self.name + end for end in ends.get(self.kind, ("",)))

    @property
    def in_index(self) -> bool:
        """Whether it is a part of the PFI."""
        return self.kind != "choice"

    def rescaled(self, column: str) -> pl.Expr:
        """A column of its answers on 0–1."""
        return (pl.col(column) - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Scored:
    """Every rater's scores of every pair, 0–1: one row per rater and pair, one column per statistic.

    Columns are the parts by name, ``NAME_advantage`` (target − comparison, −1 to 1) for those asked of both responses, ``pfi`` and,
    where the three parts of the original protocol are there, ``pfi_lite``. A score is null where an answer it needs is missing.
    """

    frame: pl.DataFrame
    parts: tuple[ScoredDimension, ...]
    notes: tuple[str, ...] = ()

    @property
    def pairs(self) -> list[str]:
        """The pairs, sorted."""
        return self.frame["item"].unique().sort().to_list()

    @property
    def raters(self) -> list[str]:
        """The raters, sorted."""
        return self.frame["rater"].unique().sort().to_list()

    @property
    def statistics(self) -> list[str]:
        """The columns of scores."""
        return [name for name in self.frame.columns if name not in ("rater", "item")]

    def matrix(self, statistic: str, pairs: list[str] | None = None) -> Floats:
        """Pairs × raters, both sorted, NaN where there is no score. Rows are pairs by name, wherever a rater met them."""
        wanted = self.pairs if pairs is None else pairs
        row, column = ({name: place for place, name in enumerate(names)} for names in (wanted, self.raters))
        table = np.full((len(wanted), len(column)), np.nan)
        told = self.frame.select("item", "rater", statistic).filter(
            pl.col(statistic).is_not_null(), pl.col("item").is_in(wanted)
        )
        for item, rater, value in told.iter_rows():
            table[row[item], column[rater]] = value
        return table

    def of(self, raters: list[str]) -> Scored:
        """The scores of these raters alone."""
        return Scored(self.frame.filter(pl.col("rater").is_in(raters)), self.parts, self.notes)


def score(ratings: Ratings, study: Study | None = None) -> Scored:
    """The scores of every rater on every pair; attention items and pairs shown again stay out."""
    parts, notes = parts_of(ratings, study)
    answers = ratings.frame.filter(is_pair(), ~pl.col("dimension").is_in(_ASIDE))
    wide = answers.pivot(on="dimension", index=["rater", "item"], values="value").sort("item", "rater")
    absent = [column for part in parts for column in part.columns if column not in wide.columns]
    wide = wide.with_columns(pl.lit(None, pl.Float64).alias(name) for name in absent)
    scores = [_part(part, parts) for part in parts] + [_advantage(part) for part in parts if part.kind == "each"]
    index = [_part(part, parts) for part in parts if part.in_index]
    # a sum is null where a term is; a mean would skip it and change what the index means
    totals = [(pl.sum_horizontal(index, ignore_nulls=False) / len(index)).alias(PFI)] if index else []
    return Scored(wide.select("rater", "item", *totals, *_lite(parts), *scores), parts, notes)


def is_pair() -> pl.Expr:
    """Rows about a pair, seen for the first time."""
    return ~(pl.col("item").str.ends_with(AGAIN) | pl.col("item").str.starts_with(ATTENTION))


def parts_of(ratings: Ratings, study: Study | None = None) -> tuple[tuple[ScoredDimension, ...], tuple[str, ...]]:
    """The dimensions of these ratings, and a note on scales whose ends had to be taken from the answers.

    A study names kinds and ends. Without one, the dimensions of the default protocol are known by name, and any other is a
    rating between the smallest and the largest answer that anyone gave.
    """
    seen = _seen(ratings)
    if study is not None:
        return _from_study(seen, study), ()
    known = {part.name: part for part in (ScoredDimension(d.name, d.kind, d.low, d.high) for d in DEFAULT_DIMENSIONS)}
    grouped: dict[str, list[str]] = {}
    for column in seen:
        grouped.setdefault(column.partition(":")[0] if column.partition(":")[2] in _ENDS else column, []).append(column)
    parts = [_guessed(name, columns, seen, known.get(name)) for name, columns in grouped.items()]
    strange = [
        part
        for part in parts
        if part.name not in known or part.low != known[part.name].low or part.high != known[part.name].high
    ]
    order = list(known)
    parts.sort(key=lambda part: order.index(part.name) if part.name in order else len(order))
    return tuple(parts), _told(strange)


def _told(parts: list[ScoredDimension]) -> tuple[str, ...]:
    """A note on scales whose ends had to be taken from the answers."""
    listed = ", ".join(f"{part.name} {part.low:g}–{part.high:g}" for part in parts)
    return (
        (
            f"The ends of these scales were taken from the answers: {listed}. Name the ends in a study file if the scales are longer.",
        )
        if parts
        else ()
    )


def _seen(ratings: Ratings) -> dict[str, tuple[float, float]]:
    """The smallest and the largest answer in each dimension."""
    value = pl.col("value")
    rows = ratings.frame.filter(is_pair(), ~pl.col("dimension").is_in(_ASIDE))
    if rows.is_empty():
        raise InputError(
            "No rating is of a pair: only attention items, guesses or repeats. Give the ratings of pairs too."
        )
    ends = rows.group_by("dimension").agg(value.min().alias("low"), value.max().alias("high")).sort("dimension")
    return {name: (low, high) for name, low, high in ends.iter_rows()}


def _from_study(seen: dict[str, tuple[float, float]], study: Study) -> tuple[ScoredDimension, ...]:
    parts = tuple(ScoredDimension(d.name, d.kind, d.low, d.high) for d in study.dimensions)
    ends = {column: part for part in parts for column in part.columns}
    for column, (low, high) in seen.items():
        if column not in ends:
            raise InputError(
                f"The ratings have a dimension {column!r} that is not in the study. The study asks: {', '.join(ends)}."
            )
        part = ends[column]
        if low < part.low or high > part.high:
            raise InputError(
                f"{column}: answers from {low:g} to {high:g}, where the study has {part.low:g} to {part.high:g}. Is it the study of these ratings?"
            )
    return parts


def _guessed(
    name: str, columns: list[str], seen: dict[str, tuple[float, float]], known: ScoredDimension | None
) -> ScoredDimension:
    low, high = min(seen[column][0] for column in columns), max(seen[column][1] for column in columns)
    plain: Kind = known.kind if known and known.kind in ("comparison", "choice") else "rating"
    kind = plain if columns[0] == name else _ENDS[columns[0].partition(":")[2]]
    if known and known.low <= low and high <= known.high:
        return ScoredDimension(name, kind, known.low, known.high)
    # any width will do where all answers are equal: they then stand in the middle
    return ScoredDimension(name, kind, low, high) if low < high else ScoredDimension(name, kind, low - 1, high + 1)


def _part(part: ScoredDimension, parts: tuple[ScoredDimension, ...]) -> pl.Expr:
    """A part on 0–1."""
    value = part.rescaled(part.columns[0])
    if part.kind != "preferred":
        return value.alias(part.name)
    comparison = next((other for other in parts if other.kind == "comparison"), None)
    if comparison is None:
        raise InputError(
            f"{part.name} was asked of the preferred response, but no comparison says which one that was. Add one to the study."
        )
    preference = pl.col(comparison.columns[0])
    middle = (comparison.low + comparison.high) / 2
    lost = pl.when(preference < middle).then((1 - value) / 2)
    return (
        pl.when(preference > middle).then(value).when(preference == middle).then(0.5).otherwise(lost).alias(part.name)
    )


def _advantage(part: ScoredDimension) -> pl.Expr:
    target, comparison = part.columns
    return (part.rescaled(target) - part.rescaled(comparison)).alias(f"{part.name}_advantage")


def _lite(parts: tuple[ScoredDimension, ...]) -> list[pl.Expr]:
    """The original index, (voice + vibe + logic)/9, where those three were asked on their scales."""
    by_name = {part.name: part for part in parts}
    needed = {"voice": (-2, 2), "vibe": (1, 3), "logic": (1, 3)}
    if any(name not in by_name or (by_name[name].low, by_name[name].high) != ends for name, ends in needed.items()):
        return []
    terms = [pl.col(by_name[name].columns[0]) for name in needed]
    return [(pl.sum_horizontal(terms, ignore_nulls=False) / 9).alias(LITE)]


# What is known beside the ratings: who the raters were, which domain a pair is from, and what a model scored it.


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


# One mean of many ratings, with the interval that the design allows.


RaterEffects = Literal["sampled", "fixed", "unidentified"]


def rater_effects_of(table: Floats) -> RaterEffects:
    """Who the raters are, as the table of pairs × raters shows: ``sampled`` where raters share pairs, else ``unidentified``."""
    is_there = ~np.isnan(table)
    n_raters = int(is_there.any(axis=0).sum())
    return "sampled" if n_raters and is_there.sum() / n_raters >= 2 else "unidentified"


def few_raters(n_raters: int) -> str:
    """A sentence on intervals of means for other raters where raters are very few, or nothing. ``howsure study coverage --containing "mean rating"`` prints the rates.

    Parameters
    ----------
    n_raters : int
        Number of raters.
    """
    rates = {2: "87 to 96 %", 3: "about 93 %"}
    if n_raters not in rates:
        return ""
    return f"{n_raters} raters give little information about how much raters differ: 95 % intervals of means, which are for other raters too, contain the true value in {rates[n_raters]} of simulated studies. With 5 raters or more, coverage is nominal."


def pooled_mean(
    table: Floats, rater_effects: RaterEffects, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)
) -> Estimate:
    """The mean of all ratings: over pairs and raters where raters are a sample, over pairs alone otherwise."""
    if rater_effects == "sampled":
        return crossed_mean(table, level=level, bounds=bounds).estimate
    is_there = ~np.isnan(table)
    counts = is_there.sum(axis=1)
    totals = np.where(is_there, table, 0.0).sum(axis=1)
    return clustered_mean(totals[counts > 0], counts[counts > 0], level=level, bounds=bounds).estimate


def row_means(table: Floats) -> Floats:
    """The mean of each row, NaN where it is empty."""
    is_there = ~np.isnan(table)
    counts = is_there.sum(axis=1)
    return np.asarray(np.where(is_there, table, 0.0).sum(axis=1) / np.where(counts, counts, np.nan))
