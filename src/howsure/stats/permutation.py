"""Permutation tests, which assume only exchangeability."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError, OptionError
from howsure.stats._arrays import Floats, cluster_sums, finite

__all__ = ["TestResult", "mcnemar", "permutation", "sign_flip"]

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
