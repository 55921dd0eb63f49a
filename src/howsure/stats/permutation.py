"""Permutation tests, which assume only exchangeability."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError, OptionError
from howsure.stats._arrays import Floats, aligned, cluster_sums, finite
from howsure.stats.components import ratings

__all__ = ["OrderTest", "TestResult", "jonckheere", "mcnemar", "page", "permutation", "sign_flip"]

_BLOCK = 2_000_000  # signs held in memory at a time
_FEW = 100  # with fewer extreme draws a p-value has a relative error above 10 %


@dataclass(frozen=True)
class TestResult:
    """A two-sided p-value, the statistic it belongs to, how many units were compared, and how."""

    __test__: ClassVar[bool] = False  # pytest would collect a class of this name

    p: float
    statistic: float
    n: int
    method: str


def sign_flip(differences: ArrayLike, clusters: Any = None, *, n: int = 10_000, seed: int = 0) -> TestResult:
    """Whether paired differences have mean 0: how often flipping the signs of whole clusters gives a mean as far from 0.

    Assumes that under the null a cluster's differences are as likely as their opposite. All 2^G flips are tried when they are
    at most ``n``; otherwise ``n`` random ones, and p = (1 + as extreme) / (1 + n). Where fewer than 100 of these are as extreme, ``n``
    flips are drawn that favour extreme means, and weighted by how likely they are without favour (importance sampling with an exponential
    tilt): so p has a relative error of a few per cent however small it is, and a correction for many comparisons can use it.
    ``statistic`` is the mean difference, ``n`` of the result the number of clusters.
    """
    _check_draws(n)
    values = finite(differences, "differences")
    _check_some(values)
    sums, _ = cluster_sums(values, clusters)
    moving = sums[sums != 0]
    is_exact = len(moving) <= math.log2(n)
    p = _exact_flips(moving) if is_exact else _random_flips(moving, n, seed)
    method = "sign flips, all" if is_exact else f"sign flips, {n:,} at random"
    return TestResult(p, float(values.mean()), len(sums), method)


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


def _exact_flips(sums: Floats) -> float:
    number = np.arange(2 ** len(sums))[:, None]
    signs = 1.0 - 2.0 * (number >> np.arange(len(sums)) & 1)
    return float(_is_extreme(signs @ sums, sums).mean())


def _random_flips(sums: Floats, n: int, seed: int) -> float:
    # a flipped sum is the total less twice what flips
    n_extreme = sum(
        int(_is_extreme(sums.sum() - 2 * (block @ sums), sums).sum()) for block in _coins(len(sums), n, seed)
    )
    return _tilted_flips(sums, n, seed) if n_extreme < _FEW else (1 + n_extreme) / (1 + n)


def _coins(width: int, n: int, seed: int) -> Iterable[Floats]:
    """``n`` rows of zeros and ones, in blocks; kept where they are one block, since many pairs of models are tested on the same items."""
    return (_coin_block(width, n, seed),) if n * width <= _BLOCK else _coin_blocks(width, n, seed)


@lru_cache(maxsize=4)
def _coin_block(width: int, n: int, seed: int) -> Floats:
    return next(iter(_coin_blocks(width, n, seed)))


def _coin_blocks(width: int, n: int, seed: int) -> Iterator[Floats]:
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // width)
    for start in range(0, n, step):
        yield rng.integers(0, 2, (min(step, n - start), width), dtype=np.int8).astype(np.float64)


def _tilted_flips(sums: Floats, n: int, seed: int) -> float:
    """The same tail by importance sampling: sign s_i is + with probability e^(t·d_i) / (2 cosh(t·d_i)), with t such that the mean of Σ s_i·d_i is
    the observed sum; a draw has the weight Π cosh(t·d_i) · e^(−t·Σ s_i·d_i).
    """
    sizes, observed = np.abs(sums), abs(float(sums.sum()))
    if observed >= (1 - 1e-12) * sizes.sum():  # all have one sign: this flip and its opposite
        return float(2.0 ** (1 - len(sums)))
    unit = float(sizes.max())
    sizes, observed = sizes / unit, observed / unit
    low, high = 0.0, 1.0
    while sizes @ np.tanh(high * sizes) < observed:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sizes @ np.tanh(middle * sizes) < observed else (low, middle)
    tilted = high * sizes
    log_normaliser = float(np.sum(np.logaddexp(tilted, -tilted) - math.log(2)))
    rng = np.random.default_rng([seed, 1])
    step, total = max(1, _BLOCK // len(sizes)), 0.0
    for start in range(0, n, step):
        is_positive = rng.random((min(step, n - start), len(sizes))) < 1 / (1 + np.exp(-2 * tilted))
        flipped = 2 * (is_positive @ sizes) - sizes.sum()
        is_extreme = flipped >= observed - 1e-12 * sizes.sum()
        total += float(np.exp(log_normaliser - high * flipped[is_extreme]).sum())
    return min(2 * total / n, 1.0)


def _is_extreme(totals: Floats, sums: Floats) -> NDArray[np.bool_]:
    # the same sum in another order may differ by rounding
    return np.asarray(np.abs(totals) >= abs(sums.sum()) - 1e-12 * np.abs(sums).sum())


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
