"""Permutation tests, which assume only exchangeability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from itertools import permutations, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from howsure.errors import InputError, OptionError
from howsure.stats._arrays import Floats, aligned, cluster_sums, finite
from howsure.stats.components import ratings

__all__ = ["OrderTest", "TestResult", "jonckheere", "mcnemar", "page", "permutation", "sign_flip", "sign_flips"]

_MOST_ENUMERATED = 24  # clusters whose flips are all counted
_MOST_DOMINANT = 8
_DOMINANT = 0.08  # share of the squares of the rest from which a cluster makes the distribution of flips bimodal


@dataclass(frozen=True)
class TestResult:
    """A two-sided p-value, the statistic it belongs to, how many units were compared, and how."""

    __test__: ClassVar[bool] = False  # pytest would collect a class of this name

    p: float
    statistic: float
    n: int
    method: str


def sign_flip(differences: ArrayLike, clusters: Any = None) -> TestResult:
    """Whether paired differences have mean 0: the share of all flips of the signs of whole clusters that give a mean as far from 0.

    Assumes that under the null a cluster's differences are as likely as their opposite. See `sign_flips` for how the share is computed.
    ``statistic`` is the mean difference, ``n`` of the result the number of clusters.
    """
    values = finite(differences, "differences")
    _check_some(values)
    sums, _ = cluster_sums(values, clusters)
    method = "sign flips, all" if np.count_nonzero(sums) <= _MOST_ENUMERATED else "sign flips, saddlepoint"
    return TestResult(float(sign_flips(sums[:, None])[0]), float(values.mean()), len(sums), method)


def sign_flips(sums: Floats) -> Floats:
    r"""The p-value of `sign_flip` for each column of sums over clusters, one row per cluster.

    With at most 24 sums that are not 0, all 2^G flips are counted. With more, the tail of their distribution is that of Lugannani and Rice
    (1980), from the cumulants of the flips, with Daniels's (1987) correction where the sums lie on a lattice:

    .. math:: P(S \ge s) \approx 1 - \Phi(w) + \phi(w)\Big(\frac{1}{u} - \frac{1}{w}\Big), \qquad
              K(t) = \sum_c \log\cosh(t d_c), \quad K'(t) = s, \quad w = \sqrt{2(ts - K(t))}, \quad u = t\sqrt{K''(t)}

    averaged over the signs of clusters so large that they dominate the rest. Against a count of all flips of 25 to 28 clusters the error is below 2 % of p
    where p is above 0.0001, and below a factor of 2 where nearly all clusters have one sign.

    Parameters
    ----------
    sums : array, shape (G, P)
        The sum of the differences of each cluster, one column per test.
    """
    sizes = np.sort(np.abs(sums), axis=0)[::-1]
    observed = np.abs(sums.sum(axis=0))
    n_moving = (sizes > 0).sum(axis=0)
    p = np.ones(sums.shape[1])
    few = n_moving <= _MOST_ENUMERATED
    for column in np.flatnonzero(few & (n_moving > 0)):
        p[column] = _exact_flips(sizes[: n_moving[column], column], float(observed[column]))
    if not few.all():
        p[~few] = _saddlepoint_flips(sizes[:, ~few], observed[~few])
    return p


def permutation(a: ArrayLike, b: ArrayLike, *, n: int = 10_000, seed: int = 0) -> TestResult:
    """Whether two independent samples have the same mean: how often a random split gives one as different.

    Assumes that under the null both come from the same distribution. All splits are tried when they are at most ``n``;
    otherwise ``n`` random ones, and p counts the observed split too. The p-value doubles the smaller tail, as
    ``scipy.stats.permutation_test`` does. ``statistic`` is the difference of the means.
    """
    _check_draws(n)
    first, second = finite(a, "a"), finite(b, "b")
    _check_some(first)
    _check_some(second)
    from scipy.stats import permutation_test

    found = permutation_test(
        (first, second), _mean_difference, n_resamples=n, vectorized=True, batch=1000, rng=np.random.default_rng(seed)
    )
    n_units = len(first) + len(second)
    method = "splits, all" if math.comb(n_units, len(first)) <= n else f"splits, {n:,} at random"
    return TestResult(float(found.pvalue), float(found.statistic), n_units, method)


def mcnemar(only_a: int, only_b: int, *, mid_p: bool = False) -> TestResult:
    """Whether a and b succeed equally often on the same items, from the items that only one of them solved.

    Exact binomial test of ``only_a`` out of ``only_a + only_b`` at one half. ``mid_p`` counts half of the observed split's
    own probability: less conservative, and close to its level in practice (Fagerland et al. 2013).
    ``statistic`` is the share of a among the items that tell them apart.
    """
    if min(only_a, only_b) < 0 or only_a != int(only_a) or only_b != int(only_b):
        raise InputError(f"only_a {only_a} and only_b {only_b} are not counts. Give whole numbers from 0.")
    n = int(only_a + only_b)
    if not n:
        return TestResult(1.0, 0.5, 0, "McNemar, exact")
    from scipy.special import bdtr

    fewer = min(only_a, only_b)
    p = 2 * bdtr(fewer, n, 0.5)
    if mid_p:
        p -= bdtr(fewer, n, 0.5) - (bdtr(fewer - 1, n, 0.5) if fewer else 0.0)
    return TestResult(min(float(p), 1.0), only_a / n, n, "McNemar, mid-p" if mid_p else "McNemar, exact")


def _check_draws(n: int) -> None:
    if n < 1:
        raise OptionError(f"n {n} draws are none. Give at least 1; 10,000 leave an error of 0.002 at p = 0.05.")


def _check_some(values: Floats) -> None:
    if not len(values):
        raise InputError("No observation to test. Give at least 1 on each side.")


def _exact_flips(sizes: Floats, observed: float) -> float:
    """The share of all flips whose sum is as far from 0: each flip of one half of the clusters with each of the other."""
    limit = observed - 1e-12 * sizes.sum()  # the same sum in another order may differ by rounding
    if limit <= 0:
        return 1.0
    halves = []
    for part in (sizes[::2], sizes[1::2]):
        totals = np.zeros(1)
        for size in part:
            totals = np.concatenate([totals - size, totals + size])
        halves.append(totals)
    n_above = len(halves[1]) - np.searchsorted(np.sort(halves[1]), limit - halves[0])
    return float(min(2 * n_above.sum() / 2.0 ** len(sizes), 1.0))


def _saddlepoint_flips(sizes: Floats, observed: Floats) -> Floats:
    """Two tails of the sum of flipped sizes, one per column; each column is sorted, the largest first."""
    squares = np.cumsum((sizes**2)[::-1], axis=0)[::-1]
    is_dominant = sizes[:_MOST_DOMINANT] ** 2 > _DOMINANT * squares[:_MOST_DOMINANT]
    n_dominant = np.where(is_dominant.all(axis=0), _MOST_DOMINANT, is_dominant.argmin(axis=0))
    lattice = np.array([_lattice(column) for column in sizes.T])
    p = np.ones(len(observed))
    for k in np.unique(n_dominant):
        own = n_dominant == k
        signs = np.array(list(product((1.0, -1.0), repeat=int(k)))).reshape(2 ** int(k), int(k))
        tails = [_tail(sizes[k:, own], observed[own] - one @ sizes[:k, own], lattice[own]) for one in signs]
        p[own] = 2 * np.mean(tails, axis=0)
    is_one_sided = observed >= (1 - 1e-12) * sizes.sum(axis=0)  # all have one sign: this flip and its opposite
    least = 2.0 ** (1 - (sizes > 0).sum(axis=0).astype(np.float64))
    return np.where(is_one_sided, least, np.clip(p, least, 1.0))


def _tail(sizes: Floats, observed: Floats, lattice: Floats) -> Floats:
    """P(Σ ±size ≥ observed) by Lugannani and Rice's formula, one per column; ``lattice`` is the step of the sum, or 0."""
    total, spread = sizes.sum(axis=0), np.sqrt((sizes**2).sum(axis=0))
    at = observed - lattice / 2
    inside = np.abs(at) < total * (1 - 1e-12)
    at = np.where(inside, at, 0.0)
    t = np.clip(at / spread**2, -1e3 / spread, 1e3 / spread)
    low, high = np.full_like(at, -np.inf), np.full_like(at, np.inf)
    for _ in range(200):  # Newton's steps, kept inside what is known
        tanh = np.tanh(t * sizes)
        gap = (sizes * tanh).sum(axis=0) - at
        low, high = np.where(gap < 0, t, low), np.where(gap < 0, high, t)
        curvature = (sizes**2 * (1 - tanh**2)).sum(axis=0)
        step = t - gap / np.maximum(curvature, 1e-300)
        middle = np.where(
            np.isfinite(low) & np.isfinite(high),
            (low + high) / 2,
            np.where(gap < 0, 2 * np.abs(t) + 1 / spread, -2 * np.abs(t) - 1 / spread),
        )
        following = np.where((step > low) & (step < high) & np.isfinite(step), step, middle)
        if np.all(np.abs(gap) <= 1e-13 * total):
            break
        t = following
    tilted = t * sizes
    cumulant = (np.abs(tilted) + np.log1p(np.exp(-2 * np.abs(tilted))) - math.log(2)).sum(axis=0)
    curvature = np.maximum((sizes**2 * (1 - np.tanh(tilted) ** 2)).sum(axis=0), 1e-300)
    w = np.sign(t) * np.sqrt(np.maximum(2 * (t * at - cumulant), 0.0))
    half = lattice / 2
    u = np.where(lattice > 0, np.sinh(half * t) / np.where(lattice > 0, half, 1.0), t) * np.sqrt(curvature)
    is_near = np.abs(w) < 1e-3  # there 1/u − 1/w is a difference of large numbers; the next cumulant is 0 by symmetry
    u, safe = np.where(is_near, 1.0, u), np.where(is_near, 1.0, w)
    tail = ndtr(-w) + np.where(is_near, 0.0, np.exp(-(w**2) / 2) / math.sqrt(2 * math.pi) * (1 / u - 1 / safe))
    return np.where(inside, np.clip(tail, 0.0, 1.0), np.where(observed > 0, 0.0, 1.0))


def _lattice(sizes: Floats) -> float:
    """The step of a sum of ±sizes, where they are multiples of one number; 0 where they are not, or where the steps are so small that it does not matter."""
    sizes = np.unique(sizes[sizes > 0])
    for parts in range(1, 25):
        unit = sizes[0] / parts
        multiples = sizes / unit
        if np.abs(multiples - np.round(multiples)).max() < 1e-7:
            return float(2 * unit)
    return 0.0


def _mean_difference(a: Floats, b: Floats, axis: int = -1) -> Floats:
    return np.asarray(a.mean(axis=axis) - b.mean(axis=axis))


# Whether groups follow an order that was expected beforehand: exact permutation tests of ordered alternatives.


_ALL = 8  # things whose arrangements, 40,320 at the most, are all tried


@dataclass(frozen=True)
class OrderTest:
    """A one-sided p-value of an expected order.

    ``statistic`` runs from −1 (the reverse) to 1 (as expected). ``least_p`` is the smallest p-value that this design could have
    given: above 0.05 the test cannot show anything. ``n`` counts the units that could have come in another order.
    """

    p: float
    statistic: float
    least_p: float
    n: int
    method: str


def jonckheere(values: ArrayLike, ranks: ArrayLike, *, n: int = 10_000, seed: int = 0) -> OrderTest:
    r"""Whether values rise with the ranks of their groups: the test of Jonckheere (1954) and Terpstra (1952).

    .. math:: S = \sum_{i < j} \operatorname{sgn}(r_j - r_i) \operatorname{sgn}(x_j - x_i)

    Groups of equal rank are not compared. Under the null the values could have come in any arrangement: all are tried for up to 8
    values, and otherwise ``n`` random ones, with p = (1 + as extreme)/(1 + n). ``statistic`` is S over its largest possible value.
    """
    x, r = aligned(values=values, ranks=ranks)
    higher = np.sign(r[None, :] - r[:, None])
    compared = int(np.abs(higher).sum())
    if not compared:
        raise InputError("All groups have the same rank, so no order is expected. Give at least 2 ranks.")
    is_exact = len(x) <= _ALL
    orders = _all_orders(len(x)) if is_exact else _random_orders(len(x), n, seed)
    signs = np.sign(x[None, :] - x[:, None])
    drawn = _concordance(signs, higher, orders)
    observed = float((signs * higher).sum())
    reached = int((drawn >= observed - 1e-9).sum())
    p = reached / len(drawn) if is_exact else (1 + reached) / (1 + len(drawn))
    least = float((drawn >= drawn.max() - 1e-9).mean()) if is_exact else 1 / _arrangements(r)
    method = "Jonckheere, all arrangements" if is_exact else f"Jonckheere, {n:,} random arrangements"
    return OrderTest(p, observed / compared, least, len(x), method)


def page(matrix: ArrayLike, ranks: ArrayLike) -> OrderTest:
    r"""Whether blocks agree that groups rise with their expected ranks: Page's (1963) test.

    .. math:: L = \sum_b \sum_g r_g R_{bg}

    ``matrix`` has one row per group and one column per block, such as a rater; R are ranks within a block. Under the null each block could
    have put the groups in any order; the distribution of L is exact, as the sum over blocks of all arrangements of each. Blocks
    with a gap are left out. ``statistic`` is the mean correlation of a block's ranks with the expected ones.
    """
    from scipy.stats import rankdata

    table, expected = ratings(matrix), aligned(ranks=ranks)[0]
    if len(table) != len(expected):
        raise InputError(f"{len(table)} groups and {len(expected)} ranks. Give one rank per group.")
    if not 2 <= len(table) <= _ALL or not np.ptp(expected):
        raise InputError(f"{len(table)} groups: Page's test takes 2 to {_ALL}, of at least 2 ranks. Join some of them.")
    table = table[:, ~np.isnan(table).any(axis=0)]
    weights = rankdata(expected)
    blocks = np.array([rankdata(column) for column in table.T]).reshape(-1, len(table))
    if not len(blocks):
        raise InputError("No block has all groups. Exclude groups that few blocks have.")
    orders = _all_orders(len(table))
    # ranks are halves, so four times their product is whole
    sums = [np.rint(4 * (weights[orders] @ ranks)).astype(np.int64) for ranks in blocks]
    chances = reduce(np.convolve, [np.bincount(one) / len(one) for one in sums])
    observed = int(np.rint(4 * (blocks @ weights).sum()))
    largest = int(sum(one.max() for one in sums))
    return OrderTest(
        float(min(chances[observed:].sum(), 1.0)),
        _mean_correlation(blocks, weights),
        float(chances[largest:].sum()),
        len(blocks),
        "Page, all arrangements",
    )


def _all_orders(n: int) -> np.ndarray:
    return np.array(list(permutations(range(n))), dtype=np.int64)


def _random_orders(n: int, draws: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permuted(np.tile(np.arange(n), (draws, 1)), axis=1)


def _concordance(signs: Floats, higher: Floats, orders: np.ndarray) -> Floats:
    """S for each arrangement of the values."""
    step = max(1, 2_000_000 // signs.size)
    blocks = (orders[start : start + step] for start in range(0, len(orders), step))
    return np.concatenate(
        [np.einsum("bij,ij->b", signs[block[:, :, None], block[:, None, :]], higher) for block in blocks]
    )


def _arrangements(ranks: Floats) -> float:
    """How many ways there are to deal the values out to groups; large numbers are all alike."""
    counts = np.unique(ranks, return_counts=True)[1]
    log_ways = math.lgamma(len(ranks) + 1) - sum(math.lgamma(count + 1) for count in counts)
    return math.exp(min(log_ways, 700.0))


def _mean_correlation(blocks: Floats, weights: Floats) -> float:
    centred, target = blocks - blocks.mean(axis=1, keepdims=True), weights - weights.mean()
    sizes = np.sqrt((centred**2).sum(axis=1) * float(target @ target))
    # a block that ties all groups goes with no order
    return float(np.divide(centred @ target, sizes, out=np.zeros(len(blocks)), where=sizes > 0).mean())
