"""Curves that never fall, and where they reach a height; shared by the definitions."""

from __future__ import annotations

import math

import numpy as np

from howsure.compiled import kernel
from howsure.stats._arrays import Floats

__all__ = ["reach", "reach_plainly", "rise"]

_ROUNDING = 1e-12  # means that differ by less are equal: they were added up in another order


@kernel
def rise(values: Floats, weights: Floats) -> Floats:
    """The closest curve that never falls, by weighted least squares: neighbours that fall are pooled (Ayer et al. 1955)."""
    n = len(values)
    mean, weight, size = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    n_blocks = 0
    for k in range(n):
        mean[n_blocks], weight[n_blocks], size[n_blocks] = values[k], weights[k], 1
        n_blocks += 1
        while n_blocks > 1 and mean[n_blocks - 2] >= mean[n_blocks - 1]:
            low, high = n_blocks - 2, n_blocks - 1
            total = weight[low] + weight[high]
            mean[low] = (weight[low] * mean[low] + weight[high] * mean[high]) / total
            weight[low] = total
            size[low] += size[high]
            n_blocks -= 1
    risen = np.empty(n)
    k = 0
    for block in range(n_blocks):
        risen[k : k + size[block]] = mean[block]
        k += size[block]
    return risen


@kernel
def reach(curve: Floats, height: float) -> float:
    """The first attempt on which a rising curve reaches a height, between attempts by log n: −∞ if it starts above, ∞ if it ends below."""
    if not height >= curve[0] - _ROUNDING:
        return -math.inf
    for k in range(len(curve)):
        if curve[k] >= height - _ROUNDING:
            if k == 0:
                return 1.0
            share = min((height - curve[k - 1]) / (curve[k] - curve[k - 1]), 1.0)
            return float(k * ((k + 1) / k) ** share)
    return math.inf


def reach_plainly(curve: Floats, height: float) -> float:
    """The same in numpy."""
    is_reached = curve >= height - _ROUNDING
    if height < curve[0] - _ROUNDING or not is_reached.any():
        return -math.inf if height < curve[0] else math.inf
    first = int(np.argmax(is_reached))
    return float(np.exp(np.interp(height, curve[first - 1 : first + 1], np.log([first, first + 1])))) if first else 1.0
