"""P-values of many tests at once: adjusted, so that each may be held against the level as if it stood alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.stats._arrays import Floats, finite

__all__ = ["benjamini_hochberg", "holm"]


def holm(p: ArrayLike) -> Floats:
    """P-values adjusted so that any false finding at all is as rare as the level, whatever the dependence.

    The i-th smallest of m is multiplied by m − i + 1 and never falls below a smaller one's. Holm (1979). The order is kept.
    """
    values = _checked(p)
    order = np.argsort(values)
    factors = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1)
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """P-values adjusted so that the expected share of false ones among the findings is at most the level.

    The i-th smallest of m is multiplied by m/i and never exceeds a larger one's. Holds for independent or positively dependent
    tests. Benjamini and Hochberg (1995). The order is kept.
    """
    values = _checked(p)
    if not len(values):
        return values
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(values, method="bh"))


def _checked(p: ArrayLike) -> Floats:
    values = finite(p, "p")
    outside = (values < 0) | (values > 1)
    if outside.any():
        first = int(np.argmax(outside))
        raise InputError(f"p: {values[first]:g} at position {first} is not between 0 and 1. Give p-values.")
    return values
