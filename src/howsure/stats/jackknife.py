"""How sure a statistic is, from leaving out a part of the data at a time: no formula and no random draws needed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.stats._arrays import Ints, finite, t_quantile

__all__ = ["groups", "reach"]


def groups(n: int, *, at_most: int = 200) -> list[Ints]:
    """Positions 0 … n − 1 in parts to be left out in turn: one each, or ``at_most`` parts that take every so-manieth."""
    n_groups = min(n, at_most)
    return [np.arange(start, n, n_groups) for start in range(n_groups)]


def reach(left_out: ArrayLike, level: float = 0.95) -> float:
    r"""How far an interval reaches to each side of a statistic, from its values without each of G groups.

    .. math:: t_{G-1} \sqrt{\frac{G - 1}{G} \sum_g (\hat\theta_{(g)} - \bar\theta)^2}

    Tukey (1958). Groups of about equal size are taken as independent.
    """
    values = finite(left_out, "left_out")
    if len(values) < 2:
        raise InputError(f"left_out: {len(values)} values. Leave out each of at least 2 groups.")
    spread = float(((values - values.mean()) ** 2).sum())
    return t_quantile(level, len(values) - 1) * math.sqrt(spread * (len(values) - 1) / len(values))
