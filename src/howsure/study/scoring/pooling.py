"""One mean of many ratings, with the interval that the design allows."""

from __future__ import annotations

from typing import Literal

import numpy as np

from howsure.estimates import Estimate
from howsure.stats._arrays import Floats
from howsure.stats.crossed import crossed_mean
from howsure.stats.means import Bounds, clustered_mean

__all__ = ["RaterEffects", "few_raters", "pooled_mean", "rater_effects_of", "row_means"]

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
    return f"{n_raters} raters say little about how much raters differ: 95 % intervals of means, which are for other raters too, contain the true value in {rates[n_raters]} of simulated studies. From 5 raters on they hold."


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
