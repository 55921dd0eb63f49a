"""Intervals and probabilities from bootstrap replicates of which some have no number: one policy for the whole package.

A replicate is a number, or

- ±inf: known to lie below or above the range. It is usable and counts beyond that end.
- NaN: failed (no slope, no convergence, no data). It could lie anywhere, so it counts beyond both ends.

The shares of both kinds are reported. With more than 10 % failed replicates there is no interval (state ``undefined``) and no probability. In P(A > B) a
failed replicate, and a pair beyond the same end, counts ½.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, check_level, t_quantile

__all__ = [
    "MOST_FAILED",
    "Interval",
    "expanded_level",
    "probability_best",
    "probability_greater",
    "replicate_differences",
    "replicate_interval",
]

MOST_FAILED = 0.10
"""With a larger share of failed replicates an interval is undefined."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Interval:
    """Percentile intervals of replicates, one for each position of ``draws[0]``.

    Attributes
    ----------
    low, high : array
        The ends: −inf or inf where an end lies beyond the range or is open, NaN without an interval.
    state : array of str
        ``ok``, ``undefined`` (more than 10 % of the replicates failed) or ``too_few`` (no replicates).
    low_state, high_state : array of str
        ``ok``; ``below_range`` or ``above_range``, where replicates are known to lie there; ``unbounded``, where failed replicates alone open
        the end; or the interval's own state.
    share_below, share_above, share_failed : array
        Shares of replicates below the range, above the range, and failed.
    n_replicates : int
        The number of replicates, failed ones included.
    """

    low: Floats
    high: Floats
    state: NDArray[np.str_]
    low_state: NDArray[np.str_]
    high_state: NDArray[np.str_]
    share_below: Floats
    share_above: Floats
    share_failed: Floats
    n_replicates: int

    def reason(self, *position: int) -> str:
        """Why there is no interval at this position, or nothing."""
        if self.state[position] == "ok":
            return ""
        if not self.n_replicates:
            return "no replicates"
        n_failed = round(float(self.share_failed[position]) * self.n_replicates)
        return f"{n_failed:,} of {self.n_replicates:,} replicates failed; an interval allows {MOST_FAILED:.0%}"

    def shares(self, *position: int) -> dict[str, float]:
        """What the replicates at this position are, as columns of a table: share_below, share_above, share_failed."""
        return {name: float(getattr(self, name)[position]) for name in ("share_below", "share_above", "share_failed")}

    def estimate(self, value: float, *position: int, level: float = 0.95, reason: str = "") -> Estimate:
        """An estimate with this interval: `value` is finite, `level` the nominal coverage.

        Ends beyond the range are None with their state; without an interval both have its state, and its reason is added.
        """
        ends = {name: float(getattr(self, name)[position]) for name in ("low", "high")}
        states: dict[str, Any] = {name: str(getattr(self, name)[position]) for name in ("low_state", "high_state")}
        told = "; ".join(text for text in (reason, self.reason(*position)) if text)
        numbers = {name: end if np.isfinite(end) else None for name, end in ends.items()}
        return Estimate(value, numbers["low"], numbers["high"], level, reason=told, **states)


def replicate_interval(draws: ArrayLike, level: float) -> Interval:
    """Percentile interval of bootstrap replicates.

    The low end is the (1 − level)/2 quantile of the replicates with the failed ones at −inf, the high end the (1 + level)/2 quantile with the
    failed ones at inf. Quantiles are interpolated between neighbours, as numpy's default; next to an infinite one the outer neighbour is taken.

    Parameters
    ----------
    draws : array, shape (n_replicates, …)
        ±inf marks a replicate beyond the range, NaN one that failed; a failed replicate counts beyond both ends.
    level : float
        Coverage, between 0 and 1.

    Returns
    -------
    Interval
        State `undefined` if more than 10 % of the replicates failed, `too_few` if there are none.

    Raises
    ------
    OptionError
        If `level` is not between 0 and 1.

    Examples
    --------
    >>> found = replicate_interval([1.0, 2.0, 3.0, 4.0, float("inf")], 0.5)
    >>> float(found.low), float(found.high), float(found.share_above)
    (2.0, 4.0, 0.2)
    """
    check_level(level)
    values = np.asarray(draws, dtype=np.float64)
    n, shape = len(values), values.shape[1:]
    if not n:
        none = {name: np.full(shape, np.nan) for name in ("low", "high", "share_below", "share_above", "share_failed")}
        few = {name: np.full(shape, "too_few", "U11") for name in ("state", "low_state", "high_state")}
        return Interval(**none, **few, n_replicates=0)
    failed, below, above = np.isnan(values), np.isneginf(values), np.isposinf(values)
    n_failed, n_below, n_above = (np.asarray(kind.sum(axis=0)) for kind in (failed, below, above))
    is_defined = n_failed <= MOST_FAILED * n
    place = round((n - 1) * (1 - level) / 2, 9)  # (1 − 0.95)/2 is a little above 0.025
    low = _low_end(np.where(failed, -np.inf, values), place)
    high = -_low_end(np.where(failed, -np.inf, -values), place)
    states = [
        np.select(
            [~is_defined, np.isfinite(end), (end < 0) & (n_below > 0), (end > 0) & (n_above > 0)],
            ["undefined", "ok", "below_range", "above_range"],
            "unbounded",
        )
        for end in (low, high)
    ]
    return Interval(
        low=np.where(is_defined, low, np.nan),
        high=np.where(is_defined, high, np.nan),
        state=np.where(is_defined, "ok", "undefined"),
        low_state=states[0],
        high_state=states[1],
        share_below=n_below / n,
        share_above=n_above / n,
        share_failed=n_failed / n,
        n_replicates=n,
    )


def expanded_level(level: float, df: float) -> float:
    r"""The share of replicates that an interval of coverage `level` must contain when few clusters were resampled (Hesterberg 2015).

    .. math:: 1 - 2\,\Phi\Big(-t_{\nu}\,\sqrt{(\nu + 1)/\nu}\Big)

    Plain percentiles are too narrow by √(ν/(ν + 1)), and by the normal instead of the t quantile.

    Parameters
    ----------
    level : float
        Nominal coverage, between 0 and 1.
    df : float
        Degrees of freedom ν: the number of clusters less 1.

    Returns
    -------
    float
        A level for `replicate_interval`, below 1: with one degree of freedom it holds all replicates.
    """
    return min(1 - 2 * float(ndtr(-t_quantile(level, df) * math.sqrt(1 + 1 / df))), 1 - 1e-12)


def probability_greater(a: ArrayLike, b: ArrayLike) -> Floats:
    """P(A > B) over paired replicates.

    Parameters
    ----------
    a, b : array, shape (n_replicates, …)
        Replicates of both, drawn together; ±inf beyond the range, NaN failed. A failed replicate of either, a tie, and a pair beyond the same
        end each count ½.

    Returns
    -------
    array, shape (…)
        Probabilities; NaN without replicates, and where more than 10 % of them failed.

    Examples
    --------
    >>> inf, nan = float("inf"), float("nan")
    >>> float(probability_greater([2.0, inf, inf, 4.0], [1.0, 5.0, inf, 3.0]))
    0.875
    >>> float(probability_greater([2.0, inf, inf, nan], [1.0, 5.0, inf, 3.0]))
    nan
    """
    first, second = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
    if not len(first):
        return np.full(first.shape[1:], np.nan)
    share_failed = (np.isnan(first) | np.isnan(second)).mean(axis=0)
    shares = (1 + (first > second).mean(axis=0) - (first < second).mean(axis=0)) / 2
    return np.where(share_failed > MOST_FAILED, np.nan, shares)


def probability_best(draws: ArrayLike) -> Floats:
    """The probability that each of k candidates has the highest value.

    In each replicate a candidate that failed has 1/k, as nothing is known of it; the rest goes to the highest of the others, and those that share the
    highest place (two above the range, for example) share it equally.

    Parameters
    ----------
    draws : array, shape (n_replicates, k)
        One column per candidate; ±inf beyond the range, NaN failed.

    Returns
    -------
    array, shape (k,)
        Probabilities that add up to 1; NaN without replicates, and for a candidate of whose replicates more than 10 % failed.

    Examples
    --------
    >>> probability_best([[3.0, 2.0], [1.0, 2.0], [2.0, 2.0], [4.0, 2.0]]).tolist()
    [0.625, 0.375]
    """
    values = np.asarray(draws, dtype=np.float64)
    n, k = values.shape
    if not n:
        return np.full(k, np.nan)
    failed = np.isnan(values)
    known = np.where(failed, -np.inf, values)
    is_best = ~failed & (known == known.max(axis=1, keepdims=True))
    left = 1 - failed.sum(axis=1, keepdims=True) / k
    shares = is_best * left / np.maximum(is_best.sum(axis=1, keepdims=True), 1)
    return np.where(failed.mean(axis=0) > MOST_FAILED, np.nan, (shares + failed / k).mean(axis=0))


def replicate_differences(a: ArrayLike, b: ArrayLike) -> Floats:
    """A − B of paired replicates: NaN where either failed or both lie beyond the same end, ±inf where one lies beyond the range."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(invalid="ignore"):  # inf − inf: nothing is known of the difference
        return np.asarray(first - second)


def _low_end(values: Floats, place: float) -> Floats:
    """The value at a position of the order (axis 0), interpolated; −inf where the lower neighbour is."""
    below = int(place)
    ordered = np.partition(values, [below, min(below + 1, len(values) - 1)], axis=0)
    lower, upper = ordered[below], ordered[min(below + 1, len(values) - 1)]
    is_plain = np.isfinite(lower) & np.isfinite(upper)
    steps = np.subtract(upper, lower, out=np.zeros_like(lower), where=is_plain)
    return np.asarray(lower + (place - below) * steps)
