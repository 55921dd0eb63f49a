"""An automatic judge compared with raters: whether it may replace one, how large its errors are, and its biases."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.results import Provenance, Result, columns_of, plain
from howsure.stats._arrays import codes
from howsure.stats.correlation import Kind
from howsure.stats.judges import power_of_replacement
from howsure.study.agreement import RATER_EFFECTS, clusters_used, coded, look_swapped, read_ratings
from howsure.study.inputs import orders_beside
from howsure.study.judging.comparison import (
    ComparisonSettings,
    JudgeAndPeople,
    JudgeComparison,
    RatingScale,
    compare_judge_with_raters,
)
from howsure.study.judging.ratings import Orders, by_slot
from howsure.study.protocol import Study
from howsure.study.scoring.fidelity import PFI, RaterEffects, is_pair, parts_of, rater_effects_of, score
from howsure.tables import Column, Ratings, Table

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["Lengths", "Validation", "validate"]


class Lengths(Table):
    """How long each item is, where there is no study file to count in; of a pair, the target's length over the comparison's."""

    columns = (
        Column("item", "the pair or text", required=True),
        Column("length", "words or letters, or a ratio of them", "number", required=True, above=0),
    )
    key = ("item",)
    told_by = ("item", "length")


@dataclass(frozen=True, kw_only=True)
class Validation(Result):
    """Judges compared with people, dimension by dimension.

    Table ``validation``: one row per judge, dimension and statistic (judge, dimension, statistic, value, value_low, value_high,
    value_state, reason). Table ``calibration``: one row per bin of the calibration curves, on the unit scale (judge, dimension, bin_from,
    bin_to, predicted, people, people_low, people_high, people_state, n_items).

    Parameters
    ----------
    rows : tuple[JudgeComparison, ...]
        One entry per judge and dimension.
    raters : tuple[str, ...]
        The raters.
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "validation"
    rows: tuple[JudgeComparison, ...]
    raters: tuple[str, ...]
    level: float
    provenance: Provenance

    @property
    def is_categorical(self) -> bool:
        """Whether ratings were taken as categories."""
        return any(row.terms.kind == "match" for row in self.rows)

    @property
    def judges(self) -> list[str]:
        """Who was judged here."""
        return list(dict.fromkeys(row.judge for row in self.rows))

    def of(self, judge: str) -> list[JudgeComparison]:
        """The rows of one judge."""
        return [row for row in self.rows if row.judge == judge]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``validation`` and ``calibration``."""
        names = {"judge": pl.String, "dimension": pl.String}
        statistics = [
            {"judge": row.judge, "dimension": row.dimension, "statistic": name}
            | columns_of(value=one)
            | {"reason": one.reason or None}
            for row in self.rows
            for name, one in row.statistics.items()
        ]
        bins = [
            {"judge": row.judge, "dimension": row.dimension, "bin_from": one.low, "bin_to": one.high}
            | {"predicted": one.prediction}
            | columns_of(people=one.outcome)
            | {"n_items": one.n_items}
            for row in self.rows
            for one in row.calibration.curve
        ]
        numbers = dict.fromkeys(("bin_from", "bin_to", "predicted", "people", "people_low", "people_high"), pl.Float64)
        return {
            "validation": pl.DataFrame(statistics, {**names, "statistic": pl.String, **_VALUE, "reason": pl.String}),
            "calibration": pl.DataFrame(bins, {**names, **numbers, "people_state": pl.String, "n_items": pl.Int64}),
        }

    def as_dict(self) -> dict[str, Any]:
        """The tables, and what was found of each judge on each dimension."""
        judges = {judge: {row.dimension: self._entry(row) for row in self.of(judge)} for judge in self.judges}
        return {**super().as_dict(), "judges": plain(judges), "raters": list(self.raters)}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.study.judging.sections import judge_sections

        return judge_sections(self)

    def charts(self) -> dict[str, Chart]:
        """Charts by file name."""
        from howsure.study.judging.charts import judge_charts

        return judge_charts(self)

    def _entry(self, row: JudgeComparison) -> dict[str, Any]:
        counts = {
            "scale": row.scale,
            "n_items": row.n_items,
            "n_judge_only": row.n_judge_only,
            "n_raters": row.n_raters,
        }
        by_rater = [
            {"rater": self.raters[one.rater], "n_items": one.n_items, "advantage": one.advantage, "p_adjusted": one.p_adjusted, "is_beaten": one.is_beaten}
            for one in row.alternative.by_rater
        ]  # fmt: skip
        verdict = {"may_replace": row.may_replace, "sentence": row.sentence, "by_rater": by_rater}
        return {**counts, **verdict, "calibration_noise": row.calibration.noise, "statistics": row.statistics}


_ENOUGH_POWER = 0.8
_VALUE = {"value": pl.Float64, "value_low": pl.Float64, "value_high": pl.Float64, "value_state": pl.String}


def validate(
    people: Ratings | Source,
    judge: Ratings | Source,
    *,
    study: Study | str | os.PathLike[str] | None = None,
    orders: Orders | Source | None = None,
    lengths: Lengths | Source | None = None,
    kind: Kind | Literal["match"] = "pearson",
    rater_effects: RaterEffects | None = None,
    cluster: str | None = None,
    epsilon: float = 0.2,
    level: float = 0.95,
    power_simulations: int = 100,
) -> Validation:
    """Every judge in `judge` compared with the ratings of `people`, on each dimension that both rated.

    Parameters
    ----------
    people, judge : Ratings, frame or path, or several
        Who rated what. A judge may rate items that people did not.
    study : Study or path, optional
        Names the scales and the lengths of texts; without it scales are those of the default protocol or as wide as the answers.
    orders : Orders, frame or path, optional
        The judge's ratings in each slot order, for position bias. By default ``judge_orders.csv`` in the folder of the judge's ratings, if these are a path and the file is there; a
        note names it.
    lengths : Lengths, frame or path, optional
        How long each item is, where there is no study.
    kind : str
        How agreement is measured: a correlation, or ``match`` for categories, which is always used for text. With ``match`` the alternative-annotator test counts exact matches
        too, and nothing that averages or correlates the codes of categories is given.
    rater_effects : str, optional
        Who the raters are (as in `reliability`); by default sampled where raters share items, else unidentified, as in `analyze`.
    cluster : str, optional
        The column of the ratings that says which items belong together, such as the prompt that several responses answer; by default their own
        column ``cluster``. Without either, items are taken as independent.
    epsilon : float
        How much worse than a rater the judge may be for being cheaper.
    level : float
        Coverage of all intervals.
    power_simulations : int
        Simulated studies for the note that says how often a judge as good as a rater would pass, where one did not; 0 for no note.

    Where both rated the parts of the fidelity index, the index is a dimension of its own.
    """
    if rater_effects is not None and rater_effects not in RATER_EFFECTS:
        raise OptionError.unknown("rater effects", rater_effects, RATER_EFFECTS)
    orders, found_notes = orders_beside(judge) if orders is None else (orders, [])
    (people, judge), names = coded(read_ratings(people, categories=True), read_ratings(judge, categories=True))
    # text has no mean and no correlation
    kind = "match" if names else kind
    study = None if study is None else Study.of(study)
    orders = None if orders is None else Orders.of(orders)
    lengths = None if lengths is None else Lengths.of(lengths)
    ratings = _all_ratings(people, judge, orders)
    scales, notes = _scales(ratings, study)
    # categories have no scale
    notes = () if kind == "match" else notes
    rows = ratings.frame if kind == "match" else _with_index(ratings, study)
    sides = _side(rows, _PEOPLE), _side(rows, _JUDGE)
    shared = [name for name in scales if all(name in set(side["dimension"]) for side in sides)]
    if not shared:
        raise InputError(
            f"People and judge share no dimension: {_names(sides[0])} and {_names(sides[1])}. Use the same names."
        )
    raters = sides[0]["rater"].unique().sort().to_list()
    clusters, cluster_notes = clusters_used(cluster, people, judge)
    # raters who share items on one dimension share them on all
    used = rater_effects or rater_effects_of(_values(sides, "", shared[0], raters).people)
    compared = ComparisonSettings(
        orders.frame if orders else None, _doublings(study, lengths), kind, used, clusters, epsilon, level
    )
    found = [
        compare_judge_with_raters(
            name, dimension, scales[dimension], _values(sides, name, dimension, raters, clusters), compared
        )
        for name in sides[1]["rater"].unique(maintain_order=True)
        for dimension in shared
    ]
    settings: dict[str, Any] = {
        "kind": kind,
        "rater_effects": used,
        "cluster": cluster or ("cluster" if clusters else None),
        "epsilon": epsilon,
        "level": level,
        "judge": judge.digest,
    }
    rows_found = tuple(replace(row, constant_name=names[int(row.constant)] if names else "") for row in found if row)
    powers = [
        _power_note(dimension, _values(sides, "", dimension, raters, clusters), kind, epsilon, power_simulations)
        for dimension in shared
        if power_simulations and any(row.may_replace is False and row.dimension == dimension for row in rows_found)
    ]
    provenance = Provenance.of(
        people,
        notes=(
            *look_swapped(people, judge),
            *found_notes,
            *notes,
            *cluster_notes,
            *filter(None, powers),
            *compared.notes,
        ),
        **settings,
    )
    return Validation(rows=rows_found, raters=tuple(raters), level=level, provenance=provenance)


def _power_note(dimension: str, values: JudgeAndPeople, kind: str, epsilon: float, n_simulations: int) -> str:
    """How often a judge as good as a rater would pass, where that is seldom."""
    is_rated = ~np.isnan(values.people)
    measure: Literal["closeness", "match"] = "match" if kind == "match" else "closeness"
    power = power_of_replacement(
        values.people, measure, clusters=values.clusters, epsilon=epsilon, n_simulations=n_simulations
    )
    if power.value is None or power.value >= _ENOUGH_POWER:
        return ""
    size = f"{is_rated.any(axis=1).sum()} items, {is_rated.any(axis=0).sum()} raters"
    return f"{dimension}: a judge exactly as good as a rater passes the alternative-annotator test in about {power.value:.0%} of studies of this size ({size}); not passing does not show that a judge is worse."


_PEOPLE, _JUDGE, _ORDERS = "people/", "judge/", "orders/"


def _all_ratings(people: Ratings, judge: Ratings, orders: Orders | None) -> Ratings:
    """All ratings of pairs in one table, so that every scale is the same for all; the rater's name says whose they are."""
    frames = {_PEOPLE: people.frame, _JUDGE: judge.frame}
    if orders is not None:
        slot = pl.col("target_slot").cast(pl.String)
        told = by_slot(orders.frame)
        frames[_ORDERS] = told.with_columns(rater=slot + pl.lit("/") + pl.col("rater"))
    rows = [
        frame.filter(is_pair(), ~pl.col("dimension").is_in(["guess", "attention"])).select(
            (pl.lit(whose) + pl.col("rater")).alias("rater"), "item", "dimension", "value"
        )
        for whose, frame in frames.items()
    ]
    return Ratings(pl.concat(rows))


def _with_index(ratings: Ratings, study: Study | None) -> pl.DataFrame:
    """The rows, and those of the fidelity index where a comparison shows that it is one."""
    if not any(part.kind == "comparison" for part in parts_of(ratings, study)[0]):
        return ratings.frame
    scored = score(ratings, study).frame.filter(pl.col(PFI).is_not_null())
    index = scored.select("rater", "item", pl.lit(PFI).alias("dimension"), pl.col(PFI).alias("value"))
    return pl.concat([ratings.frame, index])


def _side(rows: pl.DataFrame, whose: str) -> pl.DataFrame:
    mine = rows.filter(pl.col("rater").str.starts_with(whose))
    return mine.with_columns(pl.col("rater").str.strip_prefix(whose))


def _scales(ratings: Ratings, study: Study | None) -> tuple[dict[str, RatingScale], tuple[str, ...]]:
    parts, notes = parts_of(ratings, study)
    found = {
        column: RatingScale(part.low, part.high, part.kind == "comparison") for part in parts for column in part.columns
    }
    return found | {PFI: RatingScale(0.0, 1.0)}, notes


def _names(side: pl.DataFrame) -> str:
    return ", ".join(side["dimension"].unique().sort().to_list()[:6])


def _values(
    sides: tuple[pl.DataFrame, pl.DataFrame],
    judge: str,
    dimension: str,
    raters: list[str],
    clusters: Mapping[str, str] | None = None,
) -> JudgeAndPeople:
    people, judged = (side.filter(pl.col("dimension") == dimension) for side in sides)
    by_item = dict(judged.filter(pl.col("rater") == judge).select("item", "value").iter_rows())
    items = sorted({*by_item, *people["item"]})
    row, column = ({name: at for at, name in enumerate(names)} for names in (items, raters))
    table = np.full((len(items), len(raters)), np.nan)
    for rater, item, value in people.select("rater", "item", "value").iter_rows():
        table[row[item], column[rater]] = value
    labels = None if clusters is None else codes([clusters[item] for item in items], "clusters")
    return JudgeAndPeople(items, np.array([by_item.get(item, math.nan) for item in items]), table, labels)


def _doublings(study: Study | None, lengths: Lengths | None) -> Callable[[str, str], float | None]:
    """How long an item is on a dimension, as a logarithm to base 2; of two responses, how much longer the target is."""
    if lengths is not None:
        by_item = {item: math.log2(length) for item, length in lengths.frame.select("item", "length").iter_rows()}
        return lambda item, dimension: _turned(by_item.get(item), dimension)
    if study is None:
        return lambda item, dimension: None
    words = {pair.id: (_log_words(pair.target), _log_words(pair.comparison)) for pair in study.pairs}

    def doublings(item: str, dimension: str) -> float | None:
        if item not in words:
            return None
        target, comparison = words[item]
        end = dimension.partition(":")[2]
        return target if end == "target" else comparison if end == "comparison" else target - comparison

    return doublings


def _turned(doublings: float | None, dimension: str) -> float | None:
    """A pair's length is its target's over the comparison's: what is asked of the comparison sees it the other way round."""
    return -doublings if doublings is not None and dimension.endswith(":comparison") else doublings


def _log_words(text: str) -> float:
    return math.log2(len(text.split()))
