"""Claims of success rates that are corrected for a judge's errors, by labels of some attempts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from howsure.bridges.judge_correction import correct
from howsure.bridges.specifications import corrected_choices, corrected_under, judge_rates
from howsure.claims.claim_files import Claim
from howsure.claims.inputs import ClaimData
from howsure.claims.kinds.instruments import FitSettings, Instrument, check_models, values_of
from howsure.claims.multiverse import Fits, TippingPoint
from howsure.estimates import Estimate
from howsure.evals.specifications import ClusterDraws
from howsure.results.choices import Specification
from howsure.stats._arrays import Floats
from howsure.tables import Attempts, Ratings

__all__ = ["instrument"]


def instrument(claim: Claim, attempts: Attempts, labels: Ratings, data: ClaimData) -> Instrument:
    """The choices of a corrected rate, and how it is computed under them."""
    models = attempts.frame.filter(pl.col("kind") == "model")["subject"].unique().sort().to_list()
    check_models(claim, models)
    return Instrument(corrected_choices(attempts, labels), partial(_fits, claim, attempts, labels))


def _fits(
    claim: Claim,
    attempts: Attempts,
    labels: Ratings,
    specifications: Sequence[Specification],
    settings: FitSettings,
) -> Fits:
    draws = ClusterDraws(settings.n_replicates, settings.seed)
    estimates, columns = list[Estimate](), list[Floats]()
    for done, specification in enumerate(specifications, 1):
        estimate, drawn = corrected_under(attempts, labels, specification, claim.model, draws, settings.level)
        estimates.append(estimate)
        columns.append(drawn)
        settings.tell(done, len(specifications))
    return Fits(
        values=values_of(estimates),
        draws=np.column_stack(columns),
        estimates=estimates,
        units=[one.get("cluster", "task") for one in specifications],
        is_ratio=False,
        tipping=_tipping(claim, attempts, labels),
        notes=correct(attempts, labels, level=settings.level).provenance.notes,
        quantity=f"success rate of {claim.model}, corrected for the judge's errors",
        settle={
            "correction": "Label more attempts of this model: with its own labels no assumption on the judge is needed.",
            "cluster": "Add other tasks: attempts at one task say the same.",
            "data": "Label more attempts, chosen at random: `howsure study labels` says which and how many.",
        },
    )


def _tipping(claim: Claim, attempts: Attempts, labels: Ratings) -> list[TippingPoint]:
    """The specificity of the judge at which the corrected rate would be the threshold, with its sensitivity as labelled."""
    judged, sensitivity = judge_rates(correct(attempts, labels), claim.model)
    if claim.threshold >= 1:
        return []
    tipping = 1 - (judged - claim.threshold * sensitivity) / (1 - claim.threshold)
    if not 0 <= tipping <= 1:
        return []
    side = "below" if claim.is_at_least else "above"
    sentence = f"The claim holds only if the judge's specificity is not {side} {tipping:.2f} (with its sensitivity of {sensitivity:.2f} as labelled)."
    return [TippingPoint("specificity of the judge", tipping, sentence)]
