"""Shapes that a trend can have, each fitted to points and run on beyond them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from howsure.stats._arrays import Floats, Ints
from howsure.stats.trends import fit_line

__all__ = ["FEWEST_POINTS", "SHAPES", "Shape", "best_break", "knots_between"]

Curve: TypeAlias = Callable[[Floats], Floats]
Shape: TypeAlias = Callable[[Floats, Floats], Curve]

_A_SIDE = 3  # points on either side of a break, at least
FEWEST_POINTS = 2 * _A_SIDE
"""What every shape can be fitted to."""


def knots_between(x: Floats) -> Ints:
    """The points, in order of x, at which a line may break: three points up to it and three beyond."""
    ends = np.flatnonzero(np.diff(x) > 0)
    return ends[(ends >= _A_SIDE - 1) & (ends < len(x) - _A_SIDE)].astype(np.int64)


def best_break(x: Floats, y: Floats) -> tuple[int, float] | None:
    r"""Where a line that may bend once bends best, and how much better than a straight one it is; None for too few points.

    .. math:: F = \max_k \frac{RSS_0 - RSS_k}{RSS_k / (n - 3)}, \qquad \hat y_k = a + b x + c \max(0, x - x_k)

    ``x`` is sorted. The first number is the index of the knot k.
    """
    knots = knots_between(x)
    if not len(knots):
        return None
    straight = np.column_stack([np.ones(len(x)), x - x.mean()])
    hinges = np.maximum(0.0, x[:, None] - x[knots])
    # what the straight line leaves of y and of each hinge tells what the hinge explains
    both = np.column_stack([y, hinges])
    left = both - straight @ np.linalg.lstsq(straight, both, rcond=None)[0]
    rss, drop = left[:, 0] @ left[:, 0], (left[:, 0] @ left[:, 1:]) ** 2 / (left[:, 1:] ** 2).sum(axis=0)
    best = int(drop.argmax())
    unexplained = max(rss - drop[best], np.finfo(float).eps * (y @ y))
    return int(knots[best]), float(drop[best] / (unexplained / (len(x) - 3)))


def _line(x: Floats, y: Floats) -> Curve:
    return fit_line(x, y).predict


def _quadratic(x: Floats, y: Floats) -> Curve:
    curve: Curve = np.polynomial.Polynomial.fit(x, y, 2)
    return curve


def _two_segments(x: Floats, y: Floats) -> Curve:
    order = np.argsort(x, kind="stable")
    found = best_break(x[order], y[order])
    if found is None:
        return _line(x, y)
    middle, knot = x.mean(), x[order][found[0]]

    def design(at: Floats) -> Floats:
        return np.column_stack([np.ones(len(at)), at - middle, np.maximum(0.0, at - knot)])

    coefficients = np.linalg.lstsq(design(x), y, rcond=None)[0]
    return lambda at: np.asarray(design(np.atleast_1d(at)) @ coefficients)


def _no_change(x: Floats, y: Floats) -> Curve:
    best = y.max()
    return lambda at: np.full(np.shape(at), best)


SHAPES: dict[str, Shape] = {
    "line": _line,
    "two segments": _two_segments,
    "quadratic": _quadratic,
    "no change": _no_change,
}
