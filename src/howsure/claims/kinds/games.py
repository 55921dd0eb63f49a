"""Claims of turns: how many correct answers a player gives before its first error, in games of Track the Stat."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from howsure.claims.claim_files import Claim
from howsure.claims.inputs import ClaimData
from howsure.claims.kinds.instruments import FitSettings, Instrument, check_models, values_of
from howsure.claims.multiverse import Fits
from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.evals.specifications import ClusterDraws
from howsure.results.choices import Specification
from howsure.stats._arrays import Floats, Ints
from howsure.track.samples import Samples
from howsure.track.specifications import board_label, difference_under, games_under, turn_choices, turns_under

__all__ = ["instrument"]


def instrument(claim: Claim, games: Samples, data: ClaimData) -> Instrument:
    """The choices of the number of correct answers, and how it is computed under them."""
    check_models(claim, games.frame["model"].unique().sort().to_list())
    boards = [
        {board_label(row) for row in games.frame.filter(pl.col("model") == name).unique(_BOARD).rows(named=True)}
        for name in claim.models
    ]
    shared = sorted(set.intersection(*boards))
    if not shared:
        raise OptionError(f"{claim} The two did not play the same board with the same solver.")
    if claim.on is not None and claim.on not in shared:
        raise OptionError.unknown("board", claim.on, shared)
    if claim.on is None and len(shared) > 1:
        raise OptionError(f"{claim} There are {len(shared)} boards. Name one with on: {'; '.join(shared[:8])}.")
    board = claim.on or shared[0]
    labels = games.frame.select(pl.struct(_BOARD).map_elements(board_label, pl.String)).to_series()
    own = games.frame.filter((labels == board) & pl.col("model").is_in(list(claim.models)))
    return Instrument(turn_choices(own), partial(_fits, claim, own, board))


_BOARD = ["solver", "variant", "setting", "length"]


def _fits(
    claim: Claim,
    games: pl.DataFrame,
    board: str,
    specifications: Sequence[Specification],
    settings: FitSettings,
) -> Fits:
    draws = ClusterDraws(settings.n_replicates, settings.seed)
    estimates, columns = list[Estimate](), list[Floats]()
    for done, specification in enumerate(specifications, 1):
        kept = games_under(games, specification)
        sides = [kept.filter(pl.col("model") == name) for name in claim.models]
        if claim.than is None:
            estimate, values = turns_under(sides[0], settings.level)
            drawn = _mean(draws, values)
        else:
            estimate, both = difference_under(sides[0], sides[1], settings.level)
            drawn = _mean(draws, both[0]) - _mean(draws, both[1]) if both else _mean(draws, None)
        estimates.append(estimate)
        columns.append(drawn)
        settings.tell(done, len(specifications))
    what = f"correct answers of {claim.model} before the first error on {board}"
    return Fits(
        values=values_of(estimates),
        draws=np.column_stack(columns),
        estimates=estimates,
        units=["sequences"] * len(estimates),
        is_ratio=False,
        quantity=what if claim.than is None else f"{what}, minus those of {claim.than}",
        settle={
            "interrupted": "Continue the interrupted games: `howsure track run` goes on where it stopped.",
            "no_answer": "Look at the games without an answer: did the model refuse, or was its reply cut?",
            "violations": "Look at the malformed replies: was the answer in them correct?",
            "data": "Play more sequences.",
        },
    )


def _mean(draws: ClusterDraws, values: tuple[Ints, Floats] | None) -> Floats:
    """The mean of the games' values in each replicate, in which sequences are reweighted."""
    if values is None:
        return np.full(draws.n_replicates, np.nan)
    weights = draws.weights([str(seed) for seed in values[0]])
    return np.asarray((weights @ values[1]) / weights.sum(axis=1))
