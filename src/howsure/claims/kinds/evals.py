"""Claims of mean scores: a level, a difference, a rank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from howsure.claims.claim_files import Claim
from howsure.claims.inputs import ClaimData
from howsure.claims.kinds.instruments import FitSettings, Instrument, check_models
from howsure.claims.multiverse import Fits, TippingPoint
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.evals.item_means import Items, item_weights
from howsure.evals.leaderboards import leaderboard
from howsure.evals.specifications import (
    ClusterDraws,
    attempts_of,
    attempts_under,
    data_of,
    difference_under,
    eval_choices,
    items_under,
    mean_under,
    only_domain,
)
from howsure.results.choices import Specification
from howsure.stats._arrays import Floats
from howsure.tables import Attempts

__all__ = ["instrument"]

_RANK_REPLICATES = 500
_ROUNDING = 1e-9


def instrument(claim: Claim, attempts: Attempts, data: ClaimData) -> Instrument:
    """The choices of a mean, a difference or a rank, and how it is computed under them."""
    names = attempts.lazy.select(pl.col("subject").unique().sort()).collect(engine="streaming")["subject"].to_list()
    check_models(claim, names)
    most = {"level": 1.0, "difference": 1.0, "rank": float(len(names))}[claim.kind]
    least = -1.0 if claim.kind == "difference" else 0.0
    if not least <= claim.threshold <= most and (claim.kind == "rank" or not attempts.is_free):
        why = (
            f"There are {len(names):,} models."
            if claim.kind == "rank"
            else "The scores are between 0 and 1. Divide percentages (or points) by 100."
        )
        raise OptionError(f"{claim} {why}")
    own = attempts_of(only_domain(attempts, claim.on), claim.kind, claim.models)
    return Instrument(eval_choices(own, kind=claim.kind), partial(_fits, claim, own), identity=partial(data_of, own))


def _fits(
    claim: Claim,
    attempts: Attempts,
    specifications: Sequence[Specification],
    settings: FitSettings,
) -> Fits:
    draws = ClusterDraws(settings.n_replicates, settings.seed)
    estimates, columns, units, values = [], [], [], []
    tipping: list[TippingPoint] = []
    for done, specification in enumerate(specifications, 1):
        try:
            if claim.kind == "rank":
                estimate, drawn = _rank(claim, attempts, specification, draws, settings.level, settings.seed)
            else:
                items = items_under(attempts, specification, None if claim.than is None else claim.models)
                found, drawn = (
                    mean_under(items, claim.model, draws, settings.level)
                    if claim.than is None
                    else difference_under(items, claim.model, claim.than, draws, settings.level)
                )
                estimate = found.estimate
                if done == 1:
                    tipping = _eval_tipping(claim, items, estimate)
        except InputError as error:  # nothing is left of a model, for example
            if done == 1:
                raise
            estimate = Estimate.without("too_few", str(error), level=settings.level)
            drawn = np.full(0 if claim.tier else settings.n_replicates, np.nan)
        estimates.append(estimate)
        columns.append(drawn)
        values.append(np.nan if estimate.value is None else estimate.value)
        is_fixed = specification.get("items") == "fixed"
        units.append("attempts within items" if is_fixed else specification.get("cluster", "task"))
        settings.tell(done, len(specifications))
    what = {
        "level": f"mean score of {claim.model}",
        "rank": f"tier of {claim.model}" if claim.tier else f"rank of {claim.model}",
    }
    return Fits(
        values=np.array(values),
        draws=np.column_stack(columns),
        estimates=estimates,
        units=units,
        is_ratio=False,
        tipping=tipping,
        notes=attempts.notes,
        quantity=what.get(claim.kind, f"mean score of {claim.model} minus that of {claim.than}"),
        settle=_EVAL_SETTLE,
    )


_EVAL_SETTLE = {
    "count": "Repeat the attempts that have no score.",
    "scorer": "Say whose score is meant, or let people label a sample of the answers.",
    "errors": "Repeat the attempts that an error ended.",
    "limits": "Repeat the attempts that were cut at a limit with a larger budget, or label a sample of them.",
    "flagged": "Label the flagged attempts: are they valid?",
    "cluster": "Add items from other families: with one item per family the cluster does not matter.",
    "items": "Say which is meant: exactly these items (fixed), or items like these (sampled).",
    "weights": "Say which is meant: every eval counts once, or every item.",
    "data": "Add items: `howsure power` says how many.",
}


def _rank(
    claim: Claim, attempts: Attempts, specification: Specification, draws: ClusterDraws, level: float, seed: int
) -> tuple[Estimate, Floats]:
    """Rank (or tier) of the model with the simultaneous interval of `howsure.leaderboard`, and the rank in each replicate."""
    kept = attempts_under(attempts, specification)
    board = leaderboard(
        kept, cluster=specification.get("cluster", "task"), level=level, n_replicates=_RANK_REPLICATES, seed=seed
    )
    place = next((one for one in board.places if one.subject == claim.model), None)
    if place is None:
        raise InputError(f"no attempt of {claim.model} is left")
    if claim.tier:  # the result of tests: tier 1, no model is significantly better; a replicate has no tests
        return Estimate(float(place.tier), float(place.tier), float(place.tier), level), np.empty(0)
    items = items_under(attempts, specification)
    means = np.column_stack([mean_under(items, name, draws, level)[1] for name in items.subjects])
    own = means[:, [items.subjects.index(claim.model)]]
    return place.rank, 1.0 + (means < own if items.is_lower_better else means > own).sum(axis=1)


def _eval_tipping(claim: Claim, items: Items, estimate: Estimate) -> list[TippingPoint]:
    """Invalid successes, and errors of a judge, that would move the default estimate to the threshold."""
    if estimate.value is None:
        return []
    margin = estimate.value - claim.threshold
    margin = 0.0 if abs(margin) < _ROUNDING else margin
    holds = claim.holds_at(claim.threshold + margin)
    verb = "fails" if holds else "would hold"
    own = items.only(claim.model) if claim.than is None else items.paired(claim.model, claim.than)
    if not own["is_binary"].all():
        return []
    good = np.round(own["mean"].to_numpy() * own["n"].to_numpy()).astype(np.int64)
    bad = own["n"].to_numpy() - good
    from_good = holds == claim.is_at_least  # the mean must fall
    there, kind = (good, "successes") if from_good else (bad, "failures")
    each = np.repeat(item_weights(own, items.weights) / own["n"].to_numpy(), there)
    moved = np.cumsum(np.sort(each)[::-1])
    # an estimate at the threshold supports 'at least' and 'at most', and no advantage
    is_enough_at = claim.is_strict == holds
    needed = int(np.searchsorted(moved, abs(margin) + (-_ROUNDING if is_enough_at else _ROUNDING))) + 1
    total, wrong = len(each), "invalid" if from_good else "wrongly scored"
    if needed > total:
        sentence = f"Not even all {total:,} {kind} of {claim.model} change the result if {wrong}."
        found = [TippingPoint(f"{wrong} {kind}", None, sentence)]
    else:
        sentence = f"The claim {verb} if {needed:,} of the {total:,} {kind} of {claim.model} were {wrong}."
        found = [TippingPoint(f"{wrong} {kind}", float(needed), sentence)]
    if claim.kind == "level" and claim.is_at_least and holds and estimate.value < 1 and claim.threshold < 1:
        specificity = (1 - estimate.value) / (1 - claim.threshold)
        found.append(
            TippingPoint(
                "specificity of the judge",
                specificity,
                f"The claim fails if the scorer's specificity is below {specificity:.2f} (it takes wrong answers as right in more than {1 - specificity:.0%}), "
                "with a sensitivity of 1.",
            )
        )
    return found
