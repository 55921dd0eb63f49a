"""Intervals and probabilities from bootstrap replicates of which some have no number: one policy for the whole package.

A replicate is a number, or

- ±inf: known to lie below or above the range. It is usable and counts beyond that end.
- NaN: failed (no slope, no convergence, no data). It could lie anywhere, so it counts beyond both ends.

The shares of both kinds are reported. With more than 10 % failed replicates there is no interval (state ``undefined``) and no probability. In P(A > B) a
failed replicate, and a pair beyond the same end, counts ½.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from howsure.compiled import kernel
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, Ints, check_level, codes, finite, t_quantile
from howsure.stats.components import certain

__all__ = [
    "MOST_FAILED",
    "Interval",
    "basic",
    "bca",
    "estimate",
    "expanded_level",
    "groups",
    "hierarchical_weights",
    "percentile",
    "probability_best",
    "probability_greater",
    "reach",
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


# Nested resampling as row weights, and intervals from replicates.


_CACHED = 100_000  # numbers that a block of replicates may hold and still stay in the processor's cache


def hierarchical_weights(
    levels: Sequence[Any],
    n_replicates: int,
    rng: np.random.Generator,
    *,
    kind: Literal["multinomial", "bayesian"] = "multinomial",
) -> Floats:
    """How often each row is in each replicate of a nested resampling: (n_replicates, n_rows).

    ``levels`` hold one label per row, from the outermost group to the innermost, such as families, tasks, rows; a label counts
    within its parent. Groups of a level are drawn with replacement within each drawn copy of their parent: a parent of k
    children that is drawn m times makes m·k draws. Rows of the same innermost group share its weight.

    ``multinomial`` gives whole numbers, as copying rows would; ``bayesian`` multiplies Dirichlet(1, …, 1) weights with mean 1
    at each level (Rubin 1981), so that no row ever vanishes. A replicate takes 8 bytes a row: draw many in portions.
    """
    if kind not in ("multinomial", "bayesian"):
        raise OptionError.unknown("bootstrap", kind, ("multinomial", "bayesian"))
    if not levels:
        raise OptionError("levels is empty. Give at least one array of labels; np.arange(n) resamples the rows.")
    sizes, rows = _tree(levels)
    if kind == "bayesian":
        return _weigh(n_replicates, sizes, rows, rng)
    n_parents = np.array([len(size) for size in sizes])
    return _count(n_replicates, np.concatenate(sizes), n_parents, rows, rng)


def percentile(replicates: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """The percentile interval of the replicates (axis 0): too narrow for few observations."""
    check_level(level)
    draws = _draws(replicates)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def basic(replicates: ArrayLike, value: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """The percentile interval mirrored at the value: errors of the replicates taken as errors of the value."""
    low, high = percentile(replicates, level)
    twice = 2 * np.asarray(value, dtype=np.float64)
    return twice - high, twice - low


def bca(replicates: ArrayLike, value: ArrayLike, jackknife: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    r"""Bias-corrected and accelerated interval (Efron 1987).

    .. math:: \alpha_\pm = \Phi\Big(z_0 + \frac{z_0 \pm z}{1 - a (z_0 \pm z)}\Big), \qquad
              a = \frac{\sum_i d_i^3}{6 (\sum_i d_i^2)^{3/2}}

    ``jackknife`` holds the value without each outermost group (axis 0), d_i = their mean − the i-th; z₀ comes from the share
    of replicates below ``value``. Where the jackknife does not vary, a is 0.
    """
    check_level(level)
    draws, left_out, value = _draws(replicates), _draws(jackknife, "jackknife"), np.asarray(value, dtype=np.float64)
    below = ((draws < value).mean(axis=0) + (draws <= value).mean(axis=0)) / 2
    edge = 0.5 / len(draws)
    bias = ndtri(np.clip(below, edge, 1 - edge))
    acceleration = _acceleration(left_out)
    ends = [_bca_end(draws, bias, acceleration, ndtri(tail)) for tail in ((1 - level) / 2, (1 + level) / 2)]
    return ends[0], ends[1]


def _tree(levels: Sequence[Any]) -> tuple[list[Ints], Ints]:
    """For each level how many children each parent has, and the innermost group of each row."""
    sizes, group = [], np.zeros(np.size(levels[0]), dtype=np.int64)
    for depth, labels in enumerate(levels):
        code = codes(labels, f"levels[{depth}]")
        if not len(code) or len(code) != len(group):
            raise InputError(f"levels[{depth}] has {len(code):,} labels for {len(group):,} rows. Give one label a row.")
        n_labels = code.max() + 1
        children, group = np.unique(group * n_labels + code, return_inverse=True)
        sizes.append(np.bincount(children // n_labels))
    return sizes, group


@kernel
def _count(n_replicates: int, sizes: Ints, n_parents: Ints, rows: Ints, rng: np.random.Generator) -> Floats:
    """Draw children for each copy of their parent, level by level; siblings lie side by side."""
    weights = np.empty((n_replicates, len(rows)))
    copies, drawn = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    for replicate in range(n_replicates):
        copies[0], done = 1, 0
        for n in n_parents:
            first = 0
            for parent in range(n):
                size = sizes[done + parent]
                drawn[first : first + size] = 0
                for _ in range(copies[parent] * size):
                    drawn[first + int(rng.random() * size)] += 1
                first += size
            copies, drawn = drawn, copies
            done += n
        for row in range(len(rows)):
            weights[replicate, row] = copies[rows[row]]
    return weights


def _count_plainly(n_replicates: int, sizes: Sequence[Ints], rows: Ints, rng: np.random.Generator) -> Floats:
    """The same draws in numpy."""
    weights = np.empty((n_replicates, len(rows)))
    for replicate in range(n_replicates):
        copies = np.ones(1, dtype=np.int64)
        for size in sizes:
            parent = np.repeat(np.arange(len(size)), copies * size)
            first = np.cumsum(size) - size
            drawn = first[parent] + (rng.random(len(parent)) * size[parent]).astype(np.int64)
            copies = np.bincount(drawn, minlength=size.sum())
        weights[replicate] = copies[rows]
    return weights


def _weigh(n_replicates: int, sizes: Sequence[Ints], rows: Ints, rng: np.random.Generator) -> Floats:
    """Share each parent's weight, times the number of its children, among them by a flat Dirichlet draw."""
    weights = np.empty((n_replicates, len(rows)))
    step = max(1, _CACHED // len(rows))
    for start in range(0, n_replicates, step):
        block = np.ones((len(weights[start : start + step]), 1))
        for size in sizes:
            shares = rng.standard_exponential((len(block), size.sum()))
            block *= size / np.add.reduceat(shares, np.cumsum(size) - size, axis=1)
            block = shares * np.repeat(block, size, axis=1)
        np.take(block, rows, axis=1, out=weights[start : start + step])
    return weights


def _draws(replicates: ArrayLike, name: str = "replicates") -> Floats:
    draws = np.asarray(replicates, dtype=np.float64)
    if not draws.ndim or not len(draws):
        raise InputError(f"{name}: none. An interval needs some.")
    n_bad = int((~np.isfinite(draws)).sum())
    if n_bad:
        raise InputError(f"{name}: {n_bad:,} are not finite. Count them, report the count and remove them.")
    return draws


def _acceleration(left_out: Floats) -> Floats:
    deviations = left_out.mean(axis=0) - left_out
    spread = (deviations**2).sum(axis=0)
    cubes = (deviations**3).sum(axis=0)
    return np.asarray(np.divide(cubes, 6 * spread**1.5, out=np.zeros_like(cubes), where=spread > 0))


def _bca_end(draws: Floats, bias: Floats, acceleration: Floats, quantile: float) -> Floats:
    shifted = bias + quantile
    share = ndtr(bias + shifted / (1 - acceleration * shifted))
    columns = draws.reshape(len(draws), -1)
    picked = [np.quantile(column, one) for column, one in zip(columns.T, np.ravel(share), strict=True)]
    return np.reshape(picked, draws.shape[1:])


# Jackknife intervals: a statistic is computed again without each part of the data.


def groups(n: int, clusters: Any = None, *, at_most: int = 200) -> list[Ints]:
    """Positions 0 … n − 1 in parts to be left out in turn: one each, or ``at_most`` parts that take every k-th position.

    With ``clusters`` (one label per position) a part is a cluster, or several clusters where there are more than ``at_most``.
    """
    code = np.arange(n) if clusters is None else codes(clusters, "clusters")
    if len(code) != n:
        raise InputError(f"Lengths differ: {n:,} values, {len(code):,} cluster labels. Give one label per value.")
    part = code % at_most
    return [np.flatnonzero(part == one) for one in range(int(part.max()) + 1)] if n else []


def reach(left_out: ArrayLike, level: float = 0.95) -> float:
    r"""How far an interval reaches to each side of a statistic, from its values without each of G groups.

    .. math:: t_{G-1} \sqrt{\frac{G - 1}{G} \sum_g (\hat\theta_{(g)} - \bar\theta)^2}

    Tukey (1958). Groups of about equal size are taken as independent.
    """
    values = finite(left_out, "left_out")
    if len(values) < 2:
        raise InputError(f"left_out: {len(values)} values. Remove each of at least 2 groups.")
    spread = float(((values - values.mean()) ** 2).sum())
    return t_quantile(level, len(values) - 1) * math.sqrt(spread * (len(values) - 1) / len(values))


def estimate(
    value: float, left_out: ArrayLike, level: float = 0.95, *, least: float = -math.inf, most: float = math.inf
) -> Estimate:
    """A statistic with its jackknife interval, cut at ``least`` and ``most``.

    ``left_out`` are its values without each group, NaN where it is then undefined: in that case, with a single group, or where no
    group makes a difference, the value has no interval, and ``reason`` says so.
    """
    values = np.asarray(left_out, dtype=np.float64)
    if len(values) < 2:
        return Estimate.without("too_few", "1 cluster; an interval needs 2", value=value, level=level)
    if np.isnan(values).any():
        return certain(value, "it is undefined without one of the items, so its interval is unknown", level)
    far = reach(values, level)
    if far < 1e-12:
        return certain(value, "no item makes a difference, so its interval is unknown", level)
    return Estimate(value, max(value - far, least), min(value + far, most), level)
