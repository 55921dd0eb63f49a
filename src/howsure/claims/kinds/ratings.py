"""Claims of agreement: how far raters agree, and whether a judge may replace one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TypeAlias

import numpy as np
import polars as pl

from howsure.claims.claim_files import Claim
from howsure.claims.inputs import ClaimData
from howsure.claims.kinds.instruments import FitSettings, Instrument, check_models, decisive, values_of
from howsure.claims.multiverse import Fits, TippingPoint
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.results.choices import Specification
from howsure.study.agreement import read_ratings
from howsure.study.specifications import (
    agreement_choices,
    agreement_under,
    draw_agreement,
    replacement_choices,
    replacement_under,
)
from howsure.tables import Ratings

__all__ = ["instrument"]

_MOST_REPLICATES = 200
_FINEST = 0.01  # of ε
_NOT_WORSE = "Judges: not passing the alternative-annotator test does not show that a judge is worse than a rater; small studies have little power."


def instrument(claim: Claim, ratings: Ratings, data: ClaimData) -> Instrument:
    """The choices of agreement, and how it is computed under them."""
    ratings = read_ratings(ratings, categories=True)
    if not claim.model:
        choices = agreement_choices(ratings, claim.on, claim.coefficient)
        return Instrument(choices, partial(_agreement_fits, claim, ratings), _MOST_REPLICATES)
    check_models(claim, ratings.frame["rater"].unique().sort().to_list(), "rater")
    judge = Ratings(ratings.frame.filter(pl.col("rater") == claim.model), notes=ratings.notes)
    people = Ratings(ratings.frame.filter(pl.col("rater") != claim.model))
    if not len(people):
        raise InputError(
            f"{claim} The ratings have no rater beside {claim.model}. Give people's ratings as another input."
        )

    @cache
    def won(options: tuple[tuple[str, str], ...], level: float) -> Estimate:
        return _won(claim, people, judge, dict(options), level)

    return Instrument(replacement_choices(people, judge, claim.on), partial(_replacement_fits, claim, won))


def _agreement_fits(
    claim: Claim,
    ratings: Ratings,
    specifications: Sequence[Specification],
    settings: FitSettings,
) -> Fits:
    estimates = []
    for done, specification in enumerate(specifications, 1):
        estimates.append(agreement_under(ratings, specification, claim.on, settings.level))
        settings.tell(done, len(specifications))
    draws = draw_agreement(ratings, specifications, claim.on, n_replicates=settings.n_replicates, seed=settings.seed)
    gaps = (
        ()
        if len(draws)
        else ("Agreement: raters left gaps, so there are no replicates, and effects have no interval.",)
    )
    return Fits(
        values=values_of(estimates),
        draws=draws,
        estimates=estimates,
        units=["clusters" if one.get("cluster") == "cluster" else "items" for one in specifications],
        is_ratio=False,
        tipping=_decisive(claim, ratings, specifications[0], estimates[0], settings.level),
        notes=(*ratings.notes, *gaps),
        quantity=f"{specifications[0]['coefficient']} of the raters{f' on {claim.on}' if claim.on else ''}",
        settle={
            "coefficient": "Say who the raters are (a sample of possible ones, or exactly these) and whether means or single ratings are used.",
            "raters": "Find out whether the rater who agrees least was careful: attention checks, repeated items.",
            "cluster": "Add items of other clusters.",
            "data": "Let the raters rate more items, or let more raters rate: `howsure study plan` says how many.",
        },
    )


def _decisive(
    claim: Claim, ratings: Ratings, specification: Specification, estimate: Estimate, level: float
) -> list[TippingPoint]:
    """Single raters without whom the default estimate would cross the threshold."""
    raters = ratings.frame["rater"].unique().sort().to_list()
    if estimate.value is None or len(raters) < 3:
        return []
    holds = claim.holds_at(estimate.value)
    moved = {
        rater: agreement_under(ratings, {**specification, "raters": f"without {rater}"}, claim.on, level).value
        for rater in raters
    }
    named = [
        f"{rater} ({value:.2f})"
        for rater, value in moved.items()
        if value is not None and claim.holds_at(value) != holds
    ]
    return [decisive("rater", named, len(raters), holds=holds)]


_Won: TypeAlias = Callable[[tuple[tuple[str, str], ...], float], Estimate]
"""The share of raters whom the judge may replace, by the options and the level."""


def _replacement_fits(
    claim: Claim,
    won: _Won,
    specifications: Sequence[Specification],
    settings: FitSettings,
) -> Fits:
    estimates = []
    for done, specification in enumerate(specifications, 1):
        estimates.append(won(tuple(specification.items()), settings.level))
        settings.tell(done, len(specifications))
    return Fits(
        values=values_of(estimates),
        draws=np.empty((0, len(estimates))),
        estimates=estimates,
        units=["items"] * len(estimates),
        is_ratio=False,
        tipping=_least_epsilon(claim, won, specifications[0], estimates[0], settings.level),
        notes=(_NOT_WORSE,),
        quantity=f"share of raters whom {claim.model} may replace (alternative-annotator test; from one half on it may)",
        settle={
            "epsilon": "Say what a rater costs: ε is 0.2 for experts, 0.15 for skilled raters and 0.1 for crowd workers.",
            "measure": "Say whether a near rating is agreement.",
            "raters": "Find out whether the rater who agrees least was careful: attention checks, repeated items.",
            "cluster": "Add items of other clusters.",
            "data": "Let at least 3 raters rate more items with the judge: each needs 30 that another rated too.",
        },
    )


def _won(claim: Claim, people: Ratings, judge: Ratings, specification: Specification, level: float) -> Estimate:
    """The share of raters whom the judge may replace: each is a test of its own, so there is no interval around it."""
    found = replacement_under(people, judge, specification, claim.on, level)
    if isinstance(found, str):
        return Estimate.without("undefined", found, level=level)
    rate = found.alternative.winning_rate
    return rate if rate.value is None else Estimate(rate.value, rate.value, rate.value, level)


def _least_epsilon(
    claim: Claim, won: _Won, default: Specification, estimate: Estimate, level: float
) -> list[TippingPoint]:
    """The smallest ε at which the judge may replace a rater, to a hundredth."""
    if estimate.value is None:
        return []
    low, high = 0, round(1 / _FINEST)  # in steps; at ε = 1 every judge may
    while low < high:
        middle = (low + high) // 2
        share = won(tuple({**default, "epsilon": f"{middle * _FINEST:g}"}.items()), level).value
        low, high = (low, middle) if share is not None and share >= claim.threshold else (middle + 1, high)
    least = low * _FINEST
    verb = "fails if ε is below" if estimate.value >= claim.threshold else "would hold if ε were at least"
    sentence = (
        f"The claim {verb} {least:.2f}."
        if least > 0
        else "The claim holds for every ε, including 0: the judge is closer than most raters."
    )
    return [TippingPoint("margin ε", least, sentence)]
