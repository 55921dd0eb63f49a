"""Whether something that is measured again and again on the same items has changed: an alarm that is valid however often one looks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, check_level, finite
from howsure.stats.means import mean

__all__ = ["Drift", "drift_alarm", "simulate_runs"]

_BETS = (0.3, 0.6, 0.9)  # shares of the capital staked on ranks that are high (or low)


@dataclass(frozen=True)
class Drift:
    """Evidence of a change, after each run.

    Parameters
    ----------
    evidence : array
        The e-value after each run: the capital of a gambler who bets on a change and starts with 1. Without a change it ever reaches 1/α with a probability of at most α.
    shift : Estimate
        Mean of the later runs minus mean of the first run, over items; a fixed-sample interval, for description.
    alarm_at : int or None
        The first run (1 is the first after the baseline) at which the evidence reached 1/α.
    level : float
        1 − α.
    n_items : int
        Items.
    """

    evidence: Floats
    shift: Estimate
    alarm_at: int | None
    level: float
    n_items: int


def drift_alarm(runs: ArrayLike, *, n_baseline: int = 1, level: float = 0.95, seed: int = 0) -> Drift:
    r"""Bet, run after run, that later ratings of the same items are higher or lower than earlier ones.

    .. math:: E_t = \frac{1}{|B|} \sum_{\lambda \in B} \prod_{s \le t} \prod_i \big(1 + \lambda (2 u_{si} - 1)\big)

    u is the rank of a rating among all ratings of the same item so far, spread uniformly over (0, 1) with random breaking of ties. While nothing changes, all ratings of an item are
    exchangeable, so every u is uniform and independent of all earlier ones (Vovk, Gammerman and Shafer 2005), whatever the noise of the judge and of the baseline. So the
    probability that E ever reaches 1/α is at most α (Ville), however often one looks.

    Parameters
    ----------
    runs : array, runs × items
        In the order of time; NaN where a run has no rating of an item.
    n_baseline : int
        How many of the first runs make the baseline, before any bet.
    level : float
        1 − α: the probability that no alarm is ever raised while nothing changes is at least this.
    seed : int
        Breaks ties.
    """
    check_level(level)
    table = np.asarray(runs, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise InputError("runs: give a table of numbers, one row per run and one column per item.")
    if not 1 <= n_baseline < len(table):
        raise InputError(f"{len(table)} runs, of which {n_baseline} are the baseline; at least 1 must follow.")
    rng = np.random.default_rng(seed)
    signs = np.array([sign * bet for bet in _BETS for sign in (1, -1)])
    capital = np.zeros(len(signs))
    evidence = []
    for at in range(n_baseline, len(table)):
        earlier = table[:at]
        is_there = ~np.isnan(table[at]) & ~np.isnan(earlier).all(axis=0)
        now, before = table[at, is_there], earlier[:, is_there]
        below = (before < now).sum(axis=0)
        same = (before == now).sum(axis=0) + 1
        total = (~np.isnan(before)).sum(axis=0) + 1
        u = (below + rng.random(len(now)) * same) / total
        capital += np.log1p(signs[:, None] * (2 * u - 1)).sum(axis=1)
        evidence.append(float(np.exp(min(np.logaddexp.reduce(capital) - math.log(len(signs)), 700.0))))
    found = np.array(evidence)
    is_alarm = found >= 1 / (1 - level)
    with np.errstate(invalid="ignore"):
        first, later = (_item_means(part) for part in (table[:n_baseline], table[n_baseline:]))
    apart = (later - first)[~np.isnan(later - first)]
    shift = mean(finite(apart, "shift"), level=level, bounds=None).estimate
    return Drift(found, shift, int(is_alarm.argmax()) + 1 if is_alarm.any() else None, level, table.shape[1])


def _item_means(part: Floats) -> Floats:
    counts = (~np.isnan(part)).sum(axis=0)
    return np.where(counts > 0, np.nansum(part, axis=0) / np.maximum(counts, 1), np.nan)


def simulate_runs(
    *, n_items: int = 30, n_runs: int = 20, noise: float = 0.5, shift: float = 0.0, shift_at: int = 10, seed: int = 0
) -> Floats:
    """Ratings from 1 to 5 of the same items in every run, moved by `shift` from run `shift_at` on.

    Parameters
    ----------
    n_items, n_runs : int
        How many of each.
    noise : float
        Standard deviation of one rating.
    shift : float
        Change of the mean.
    shift_at : int
        The first run that is changed; 0 is the baseline.
    seed : int
        The same seed gives the same ratings.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.normal(3, 1, n_items) + rng.normal(0, noise, (n_runs, n_items))
    drawn[shift_at:] += shift
    return np.asarray(np.clip(np.round(drawn), 1, 5))
