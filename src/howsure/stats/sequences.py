"""Confidence sequences: intervals that may be looked at after every unit, and that all contain the true value together.

A confidence interval holds for one look at data whose size was fixed before. Whoever looks again and again and stops when 0 is
outside finds a difference too often. A confidence sequence holds at all looks at once, so that stopping at any of them is allowed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, Ints, check_level, finite
from howsure.stats.means import mean

__all__ = ["Drift", "Sequence", "drift_alarm", "first_exclusion", "mean_sequence", "simulate_runs"]

_HORIZONS = (
    (1.0, 0.6),
    (0.25, 0.4),
)  # shares of the planned units for which bets are tuned, and the capital behind each
_LARGEST_BET = 0.75  # share of the capital that one unit can lose
_GRID = 2001
_BLOCK = 2_000_000  # numbers held at once


@dataclass(frozen=True)
class Sequence:
    """The mean after each unit, with a confidence sequence.

    Parameters
    ----------
    value, low, high : array
        The mean of the first 1, 2, … units, and the ends of the sequence, which never widens.
    level : float
        The probability with which the true mean is inside at all units at once is at least this.
    n_planned : int
        Units that were planned.
    """

    value: Floats
    low: Floats
    high: Floats
    level: float
    n_planned: int

    @property
    def estimate(self) -> Estimate:
        """The mean of all units so far, with the last interval; without a unit, ``too_few``.

        The interval belongs to the true mean at every look. In rare cases the mean of the units lies outside; it is then moved to
        the end.
        """
        if not len(self.value):
            return Estimate.without("too_few", "no unit is finished", level=self.level)
        low, high = float(self.low[-1]), float(self.high[-1])
        return Estimate(min(max(float(self.value[-1]), low), high), low, high, self.level)


def mean_sequence(
    values: ArrayLike, *, n_planned: int, level: float = 0.95, bounds: tuple[float, float] = (0.0, 1.0)
) -> Sequence:
    r"""A confidence sequence for the mean of independent units within `bounds`, in the order in which they count.

    .. math:: K_t^+(m) = \sum_h w_h \prod_{s \le t} \big(1 + \lambda_{s,h} (Y_s - m)\big), \qquad
              \lambda_{s,h} = \min\Big( \sqrt{\frac{2 \log(2/\alpha)}{h N \hat\sigma^2_{s-1}}}, \; \frac{c}{m} \Big)

    With the true mean m, :math:`K^+` is the capital of a gambler in a fair game, and by Ville's inequality the probability that
    it ever reaches 2/α is at most α/2; so values m at which it does are excluded from below, and in the same way with 1 − Y from
    above. The size of each bet depends on earlier units alone; it is tuned to end the game within N or N/4 units, N being the
    number of planned units, and valid beyond. Nothing is assumed of the distribution. Ends are on a grid of 2001 points,
    rounded outwards.

    Parameters
    ----------
    values : array
        One number per unit (an item with all its repeats, or a cluster), in an order that was random before the run.
    n_planned : int
        Units that were planned, at least 1.
    level : float, default 0.95
        Coverage of all intervals together, between 0 and 1.
    bounds : (float, float), default (0, 1)
        The lowest and highest possible value; (−1, 1) for paired differences of scores from 0 to 1.

    References
    ----------
    Waudby-Smith and Ramdas (2024), *Estimating means of bounded random variables by betting*.
    """
    check_level(level)
    low, high = bounds
    units = (finite(values, "values") - low) / (high - low)
    if n_planned < 1:
        raise OptionError(f"n_planned {n_planned} is not above 0.")
    if len(units) and (units.min() < -1e-9 or units.max() > 1 + 1e-9):
        raise InputError(f"values: not all are between {low:g} and {high:g}. Rescale, or pass the bounds that hold.")
    units = np.clip(units, 0.0, 1.0)
    if not len(units):
        return Sequence(units, units, units, level, n_planned)
    lowest = _excluded(units, n_planned, level)
    highest = 1 - _excluded(1 - units, n_planned, level)
    crossed = lowest > highest  # of which the probability is below 1 − level
    highest = np.where(crossed, lowest, highest)
    running = np.cumsum(units) / np.arange(1, len(units) + 1)
    value, below, above = (low + (high - low) * part for part in (running, lowest, highest))
    return Sequence(value, below, above, level, n_planned)


def first_exclusion(values: Floats, means: ArrayLike, *, n_planned: int, level: float = 0.95) -> Ints:
    """After how many units the confidence sequence of each row excludes a mean; one more than there are where it never does.

    For simulations: rows of units from 0 to 1, and one mean per row.

    Parameters
    ----------
    values : array, shape (rows, units)
        Units from 0 to 1.
    means : array, shape (rows,)
        The mean to exclude, inside (0, 1).
    n_planned : int
        Units that were planned.
    level : float, default 0.95
        Coverage of all intervals together.
    """
    means = np.asarray(means, dtype=np.float64)[:, None]
    target = np.log(2 / (1 - level))
    is_out = (_log_capital(values, means, n_planned, level) >= target) | (
        _log_capital(1 - values, 1 - means, n_planned, level) >= target
    )
    return np.asarray(np.where(is_out.any(axis=1), is_out.argmax(axis=1) + 1, values.shape[1] + 1), dtype=np.int64)


def _excluded(units: Floats, n_planned: int, level: float) -> Floats:
    """After each unit, the largest mean on the grid that was excluded from below; capital falls with the mean."""
    grid = np.linspace(0, 1, _GRID)[1:-1]
    counts = np.zeros(len(units), dtype=np.int64)
    for block in np.array_split(grid, max(1, len(units) * len(grid) // _BLOCK)):
        capital = _log_capital(units[None, :], block[:, None], n_planned, level)
        counts += (capital >= np.log(2 / (1 - level))).sum(axis=0)
    return np.maximum.accumulate(np.concatenate([[0.0], grid])[counts])


def _log_capital(units: Floats, means: Floats, n_planned: int, level: float) -> Floats:
    """Log of the capital after each unit (last axis) of a gambler who bets that the mean is higher."""
    n = np.arange(1, units.shape[-1] + 1)
    running = (0.5 + np.cumsum(units, axis=-1)) / (n + 1)
    variance = (0.25 + np.cumsum((units - running) ** 2, axis=-1)) / (n + 1)
    before = np.concatenate([np.full((*units.shape[:-1], 1), 0.25), variance[..., :-1]], axis=-1)
    total = np.full(np.broadcast_shapes(units.shape, means.shape), -np.inf)
    for horizon, weight in _HORIZONS:
        tuned = np.sqrt(2 * np.log(2 / (1 - level)) / (horizon * n_planned * before))
        bets = np.minimum(tuned, _LARGEST_BET / means)
        total = np.logaddexp(total, np.log(weight) + np.cumsum(np.log1p(bets * (units - means)), axis=-1))
    return total


# Whether something that is measured again and again on the same items has changed: an alarm that is valid however often one looks.


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
