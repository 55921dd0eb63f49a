"""Nested resampling as row weights, and intervals from replicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from howsure.compiled import kernel
from howsure.errors import InputError, OptionError
from howsure.stats._arrays import Floats, Ints, check_level, codes

__all__ = ["basic", "bca", "hierarchical_weights", "percentile"]

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
        raise InputError(f"{name}: {n_bad:,} are not finite. Count them, report the count and leave them out.")
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
