"""Whether groups follow an order that was expected beforehand: exact permutation tests of ordered alternatives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.stats._arrays import Floats, aligned
from howsure.stats.components import ratings

__all__ = ["OrderTest", "jonckheere", "page"]

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
