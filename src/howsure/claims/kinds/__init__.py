"""How each kind of claim is computed: its choices, its quantity under every specification, and its tipping points.

::

    evals        level, difference and rank: mean scores of attempts
    horizons     horizon and trend: time horizons and their doubling time
    scales       scale: capabilities on one scale
    ratings      agreement: raters and judges
    corrections  corrected rate: success rates without a judge's errors
    games        turns: correct answers before the first error
"""

from __future__ import annotations

from collections.abc import Callable

from howsure.claims.claim_files import Claim
from howsure.claims.inputs import ClaimData
from howsure.claims.kinds import corrections, evals, games, horizons, ratings, scales
from howsure.claims.kinds.instruments import Instrument

__all__ = ["instrument_of"]

_INSTRUMENTS: dict[str, Callable[..., Instrument]] = {
    "level": evals.instrument,
    "difference": evals.instrument,
    "rank": evals.instrument,
    "horizon": horizons.instrument,
    "trend": horizons.instrument,
    "scale": scales.instrument,
    "agreement": ratings.instrument,
    "corrected rate": corrections.instrument,
    "turns": games.instrument,
}


def instrument_of(claim: Claim, data: ClaimData) -> Instrument:
    """The choices that these data allow for a claim, and how it is computed under them.

    Parameters
    ----------
    claim : Claim
        The claim.
    data : ClaimData
        The tables.
    """
    return _INSTRUMENTS[claim.kind](claim, *data.need(claim), data)
