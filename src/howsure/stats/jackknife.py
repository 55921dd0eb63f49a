"""Jackknife intervals: a statistic is computed again without each part of the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats._arrays import Ints, codes, finite, t_quantile
from howsure.stats._ratings import certain

__all__ = ["estimate", "groups", "reach"]


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
        raise InputError(f"left_out: {len(values)} values. Leave out each of at least 2 groups.")
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
