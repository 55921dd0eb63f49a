"""One judge compared with raters on one dimension: agreement, level, rates, bias and calibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from howsure.estimates import Estimate
from howsure.stats._arrays import Bools, Floats, Ints
from howsure.stats.bias import length_bias, position_bias
from howsure.stats.calibration import Calibration, calibration
from howsure.stats.corrections import corrected_rate, independent_trials
from howsure.stats.correlation import Kind, correlation, disattenuate
from howsure.stats.judges import AlternativeAnnotator, EqualTerms, alternative_annotator_test, equal_terms
from howsure.stats.label_sampling import judged_mean
from howsure.stats.means import mean, paired_difference, share
from howsure.study.agreement import noise_ceiling_of
from howsure.study.judging.ratings import in_slots
from howsure.study.scoring.fidelity import PFI

__all__ = [
    "STATISTICS",
    "ComparisonSettings",
    "JudgeAndPeople",
    "JudgeComparison",
    "RatingScale",
    "compare_judge_with_raters",
]

STATISTICS = {
    "correlation": "Pearson's r of the judge with people's mean",
    "rank_correlation": "Spearman's ρ of the same",
    "noise_ceiling": "the correlation expected of a perfect judge (noise ceiling)",
    "disattenuated": "r disattenuated (corrected for the unreliability of people's ratings)",
    "judge_with_others": "agreement of the judge with all raters but one, each excluded in turn",
    "people_with_others": "agreement of the excluded rater with the same raters",
    "judge_minus_people": "judge minus excluded rater",
    "winning_rate": "share of raters whom the judge may replace",
    "winning_rate_of_constant": "the same share for a judge that always gives people's commonest rating",
    "advantage": "probability that the judge is at least as close to the others as a rater is",
    "mean_people": "people's mean rating",
    "mean_judge": "the judge's mean rating of the same items",
    "judge_too_high": "the judge's mean minus people's mean",
    "mean_powered": "people's mean over all items, estimated with the judge's ratings (prediction-powered inference, PPI++)",
    "rate_people": "share of items that people rate above the middle",
    "rate_judge": "share of the same items that the judge rates above the middle",
    "sensitivity": "sensitivity: of the items that people rate above the middle, the share that the judge also does",
    "specificity": "specificity: of the other items, the share that the judge also rates below the middle",
    "rate_corrected": "people's share of the items that only the judge saw (Rogan and Gladen)",
    "position_shift": "how much higher the same response is rated in slot 1",
    "position_consistency": "share of items with the same verdict in both orders",
    "position_slot_one": "of the preferences that changed with the order, the share that followed slot 1",
    "length_judge": "change of the judge's rating per doubling of the length",
    "length_people": "change of people's rating per doubling of the length",
    "length_excess": "the difference: judge minus people",
    "calibration_error": "expected calibration error (ECE): mean distance between judge and people at the same rating of the judge, as a share of the scale's width",
    "brier_score": "mean squared distance between judge and people, as a share of the squared width",
    "brier_reliability": "the part of it that is due to miscalibration",
    "brier_resolution": "resolution: the part explained by differences between the judge's ratings",
    "brier_uncertainty": "variance of people's ratings between items",
}
"""What is told of a judge on a dimension."""


@dataclass(frozen=True)
class JudgeComparison:
    """One judge against people on one dimension.

    ``statistics`` are the estimates of `STATISTICS`; ``may_replace`` says whether the judge may replace a rater (None: unknown).
    ``constant`` is people's commonest rating, ``constant_name`` its category. ``n_items`` were rated by people and judge, ``n_judge_only`` by the judge alone.
    """

    judge: str
    dimension: str
    scale: tuple[float, float]
    n_items: int
    n_judge_only: int
    n_raters: int
    statistics: Mapping[str, Estimate]
    may_replace: bool | None
    constant: float
    terms: EqualTerms
    alternative: AlternativeAnnotator
    calibration: Calibration
    constant_name: str = ""

    @property
    def sentence(self) -> str:
        """The finding in words."""
        who, test = f"{self.judge} on {self.dimension}", self.alternative
        if self.may_replace is None:
            return f"{who}: whether it may replace a rater is unknown ({test.winning_rate.reason})."
        won, among = sum(one.is_beaten for one in test.by_rater), len(test.by_rater)
        can = "may replace a rater" if self.may_replace else "may not replace a rater"
        told = f"{who}: {can}; it passes the alternative-annotator test against {won} of {among} raters (ε = {test.epsilon:g})."
        blind = f" A judge that always gives {self.constant_name or format(self.constant, 'g')} passes too, so the test shows little here."
        return told + (blind if self.is_easy else "")

    @property
    def is_easy(self) -> bool:
        """Whether a judge that looks at nothing would pass the test too."""
        share = self.statistics["winning_rate_of_constant"].value
        return bool(self.may_replace) and share is not None and share >= 0.5


@dataclass(frozen=True)
class ComparisonSettings:
    """The settings of every comparison; ``clusters`` has the cluster of each item, where items belong together."""

    orders: pl.DataFrame | None
    doublings: Callable[[str, str], float | None]
    kind: Kind | Literal["match"]
    rater_effects: str
    clusters: Mapping[str, str] | None
    epsilon: float
    level: float

    @property
    def is_categorical(self) -> bool:
        """Whether ratings are labels without order or distance."""
        return self.kind == "match"

    @property
    def notes(self) -> list[str]:
        """What is unknown or undefined, and why."""
        notes = [] if self.orders is not None else ["Position bias is unknown: judge_orders.csv was not given."]
        if self.is_categorical:
            notes.append(f"With kind match, ratings are categories: {_OF_CODES} and not given.")
        return notes


@dataclass(frozen=True)
class JudgeAndPeople:
    """Items, the judge's ratings of them and people's (items × raters), NaN where nobody rated; ``clusters`` labels items that belong together."""

    items: list[str]
    judge: Floats
    people: Floats
    clusters: Ints | None = None

    def clusters_of(self, is_used: Bools) -> Ints | None:
        """The labels of these items."""
        return None if self.clusters is None else self.clusters[is_used]

    @property
    def is_both(self) -> Bools:
        """Which items people and judge rated."""
        return ~np.isnan(self.judge) & ~np.isnan(self.people).all(axis=1)

    @property
    def mean(self) -> Floats:
        """People's mean rating of each item that both rated."""
        return np.asarray(np.nanmean(self.people[self.is_both], axis=1))

    @property
    def is_judged_only(self) -> Bools:
        """Which items the judge rated and nobody else."""
        return ~np.isnan(self.judge) & np.isnan(self.people).all(axis=1)

    @property
    def judged_only(self) -> Floats:
        """The judge's ratings of items that nobody else rated."""
        return self.judge[self.is_judged_only]


@dataclass(frozen=True)
class RatingScale:
    """Between which numbers ratings lie, and whether they set two responses against each other."""

    low: float
    high: float
    is_comparison: bool = False

    @property
    def bounds(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    @property
    def middle(self) -> float:
        """Where neither end is favoured."""
        return (self.low + self.high) / 2

    def unit(self, values: Floats) -> Floats:
        """Ratings on 0–1."""
        return (values - self.low) / (self.high - self.low)


def compare_judge_with_raters(
    judge: str, dimension: str, scale: RatingScale, values: JudgeAndPeople, settings: ComparisonSettings
) -> JudgeComparison | None:
    """The whole comparison; None where this judge did not rate this dimension."""
    if np.isnan(values.judge).all():
        return None
    measure: Literal["closeness", "match"] = "match" if settings.is_categorical else "closeness"
    shared: dict[str, Any] = {"clusters": values.clusters, "level": settings.level}
    terms = equal_terms(values.judge, values.people, settings.kind, **shared)
    test = alternative_annotator_test(values.judge, values.people, measure, epsilon=settings.epsilon, **shared)
    judged, mean_rating = values.judge[values.is_both], values.mean
    constant = _commonest(values.people)
    blind = np.where(np.isnan(values.judge), np.nan, constant)
    of_constant = alternative_annotator_test(blind, values.people, measure, epsilon=settings.epsilon, **shared)
    curve = calibration(
        scale.unit(judged), scale.unit(mean_rating), clusters=values.clusters_of(values.is_both), level=settings.level
    )
    statistics = {
        **_correlations(values, settings),
        "judge_with_others": terms.judge,
        "people_with_others": terms.people,
        "judge_minus_people": terms.difference,
        "winning_rate": test.winning_rate,
        "winning_rate_of_constant": of_constant.winning_rate,
        "advantage": test.advantage,
        **_levels(values, scale, settings.level),
        **_rates(values, scale, settings.level),
        **_position(judge, dimension, scale, settings),
        **_length(dimension, values, settings),
        "calibration_error": curve.error,
        **{
            f"brier_{name}": getattr(curve.brier, name)
            for name in ("score", "reliability", "resolution", "uncertainty")
        },
    }
    if settings.is_categorical:
        undefined = Estimate.without("undefined", f"categories: {_OF_CODES}", level=settings.level)
        statistics |= {name: undefined for name in statistics if name not in OF_CATEGORIES}
        curve = replace(curve, curve=(), noise=None)
    n_raters = int((~np.isnan(values.people)).any(axis=0).sum())
    counts = len(judged), len(values.judged_only), n_raters
    return JudgeComparison(
        judge, dimension, scale.bounds, *counts, statistics, test.may_replace, constant, terms, test, curve
    )


OF_CATEGORIES = (
    "judge_with_others",
    "people_with_others",
    "judge_minus_people",
    "winning_rate",
    "winning_rate_of_constant",
    "advantage",
    "position_consistency",
    "position_slot_one",
)
"""The statistics that are defined for categories too: they use no distance and no average of codes."""

_OF_CODES = "averages and correlations of their codes are meaningless"


def _commonest(table: Floats) -> float:
    """The rating that people gave most often; of several the smallest."""
    ratings, counts = np.unique(table[~np.isnan(table)], return_counts=True)
    return float(ratings[counts.argmax()])


def _correlations(values: JudgeAndPeople, settings: ComparisonSettings) -> dict[str, Estimate]:
    judged, table = values.judge[values.is_both], values.people[values.is_both]
    shared: dict[str, Any] = {"clusters": values.clusters_of(values.is_both), "level": settings.level}
    found = [correlation(judged, values.mean, kind, **shared).estimate for kind in ("pearson", "spearman")]
    possible = noise_ceiling_of(table, settings.rater_effects, **shared)
    return {
        "correlation": found[0],
        "rank_correlation": found[1],
        "noise_ceiling": possible.ceiling,
        "disattenuated": disattenuate(found[0], possible.reliability),
    }


def _levels(values: JudgeAndPeople, scale: RatingScale, level: float) -> dict[str, Estimate]:
    judged, people = values.judge[values.is_both], values.mean
    clusters = values.clusters_of(values.is_both)
    shared: dict[str, Any] = {"level": level, "bounds": scale.bounds}
    powered = _no_more(level)
    if n_more := len(values.judged_only):
        # as `study estimate` has it
        labels, rated = np.append(people, np.full(n_more, np.nan)), np.append(judged, values.judged_only)
        more = values.clusters_of(values.is_judged_only)
        every = None if clusters is None or more is None else np.append(clusters, more)
        powered = judged_mean(labels, rated, clusters=every, level=level).estimate
    return {
        "mean_people": mean(people, clusters, **shared).estimate,
        "mean_judge": mean(judged, clusters, **shared).estimate,
        "judge_too_high": paired_difference(judged, people, clusters, **shared).estimate,
        "mean_powered": powered,
    }


def _rates(values: JudgeAndPeople, scale: RatingScale, level: float) -> dict[str, Estimate]:
    """Items above the middle of the scale, by people and by the judge."""
    is_judged, is_true = values.judge[values.is_both] > scale.middle, values.mean > scale.middle
    clusters = values.clusters_of(values.is_both)
    more, more_clusters = values.judged_only > scale.middle, values.clusters_of(values.is_judged_only)
    of_true, of_false = (None if clusters is None else clusters[is_used] for is_used in (is_true, ~is_true))
    hits, spared = (is_judged[is_true], of_true), (~is_judged[~is_true], of_false)
    corrected = (
        corrected_rate(*(independent_trials(*one) for one in ((more, more_clusters), hits, spared)), level=level)
        if len(more)
        else _no_more(level)
    )
    return {
        "rate_people": share(is_true, clusters, level=level),
        "rate_judge": share(is_judged, clusters, level=level),
        "sensitivity": share(*hits, level=level),
        "specificity": share(*spared, level=level),
        "rate_corrected": corrected,
    }


def _no_more(level: float) -> Estimate:
    return Estimate.without(
        "too_few", "people rated every item that the judge saw; let it judge others too", level=level
    )


def _position(judge: str, dimension: str, scale: RatingScale, settings: ComparisonSettings) -> dict[str, Estimate]:
    names = "position_shift", "position_consistency", "position_slot_one"
    if settings.orders is None or dimension == PFI:
        reason = "the judge's ratings in each order were not given" if settings.orders is None else "told by its parts"
        return dict.fromkeys(names, Estimate.without("undefined", reason, level=settings.level))
    slots = in_slots(settings.orders.filter(pl.col("rater") == judge), dimension)
    if slots is None:
        return dict.fromkeys(
            names, Estimate.without("too_few", "no item was judged in both orders", level=settings.level)
        )
    first, second, items = slots
    # an item that only the orders name stands for itself
    clusters = None if settings.clusters is None else [settings.clusters.get(item, f"item {item}") for item in items]
    neutral = scale.middle if scale.is_comparison else None
    found = position_bias(first, second, neutral=neutral, bounds=scale.bounds, clusters=clusters, level=settings.level)
    return dict(zip(names, (found.shift, found.consistency, found.slot_one), strict=True))


def _length(dimension: str, values: JudgeAndPeople, settings: ComparisonSettings) -> dict[str, Estimate]:
    at = [settings.doublings(item, dimension) for item in values.items]
    x = np.array([math.nan if one is None else one for one in at])
    is_used = values.is_both & ~np.isnan(x)
    if not is_used.any():
        reason = "the lengths of the texts were not given"
        nothing = Estimate.without("undefined", reason, level=settings.level)
        return dict.fromkeys(("length_judge", "length_people", "length_excess"), nothing)
    people = np.nanmean(values.people[is_used], axis=1)
    found = length_bias(
        values.judge[is_used], people, x[is_used], clusters=values.clusters_of(is_used), level=settings.level
    )
    return {"length_judge": found.judge, "length_people": found.people, "length_excess": found.excess}
