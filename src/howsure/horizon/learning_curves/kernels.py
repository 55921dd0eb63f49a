r"""The arithmetic of learning curves, compiled: likelihood, derivatives, and a search that does not miss the optimum.

.. math:: \ell(\theta) = \sum_n s_n \log P_n(\theta) + (t_n - s_n) \log(1 - P_n(\theta))

for s successes in t trials at attempt n. Three forms of P, in a distance d from the first attempt (n − 1 or log n), or in n itself:

- ``APPROACH``: P = A + (B − A) e^(−e^u d), with θ = (B, A, u);
- ``SIGMOID``: P = A + (B − A) / (1 + e^(e^u (n − m))), with θ = (B, A, u, m);
- ``FAILURE``: log(1 − P) = α − β d, and ``ODDS``: logit P = α + β d, with θ = (α, β).

For a given shape (u and m) the first two are linear in A and B, so the likelihood is concave there and has one optimum. The
last two are concave as they stand. A search over a grid of shapes, each with its best A and B, therefore finds every
hill of the likelihood, and Newton's method goes to the top of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from howsure.compiled import kernel
from howsure.stats._arrays import Floats

__all__ = [
    "APPROACH",
    "EDGE",
    "FAILURE",
    "ODDS",
    "SIGMOID",
    "Work",
    "climb",
    "derive",
    "fit_many",
    "make_work",
    "plain_curve",
]

APPROACH, SIGMOID, FAILURE, ODDS = range(4)


class Work(NamedTuple):
    """What a climb fills anew at each step: derivatives of the likelihood, the next point, derivatives of P at one attempt."""

    gradient: Floats
    curvature: Floats
    factor: Floats
    step: Floats
    plain: Floats
    trial: Floats
    first: Floats
    second: Floats
    share: Floats


_MOST_STEPS = 200
_ROUGH_GAIN = 1e-5  # nats, enough to tell where the likelihood stops rising
_SETTLED = 1e-10  # nats, for A and B given a shape
_TURNS = 10  # lengths of a step that are tried, each a quarter of the one before
_TINY = 1e-12
EDGE = 1e-12
"""How near A and B come to 0 and 1."""


@kernel
def make_work(n: int, n_attempts: int) -> Work:
    """Room for n parameters."""
    rows, squares = np.empty((5, n)), np.empty((3, n, n))
    return Work(rows[0], squares[0], squares[1], rows[1], rows[2], rows[3], rows[4], squares[2], np.empty(n_attempts))


def plain_curve(form: int, distance: Floats, theta: Floats) -> Floats:
    """P at each distance in numpy: what the kernels are compared with."""
    if form in (FAILURE, ODDS):
        linear = theta[0] + (theta[1] if form == ODDS else -theta[1]) * distance
        return np.asarray(1 / (1 + np.exp(-linear)) if form == ODDS else 1 - np.exp(linear))
    rate = np.exp(theta[2])
    left = np.exp(-rate * distance) if form == APPROACH else 1 / (1 + np.exp(rate * (distance - theta[3])))
    return np.asarray(theta[1] + (theta[0] - theta[1]) * left)


@kernel
def fit_many(
    form: int,
    distance: Floats,
    successes: Floats,
    trials: Floats,
    low: Floats,
    high: Floats,
    grid: Floats,
    most: int,
    least_gain: float,
) -> tuple[Floats, Floats]:
    """The best θ for each row of successes and trials, and its log-likelihood; NaN where there is no trial.

    ``low`` and ``high`` bound θ. ``grid`` (i, j, shape) holds the shapes to search from, rising in their last entry along j; a form that
    is concave has none, and starts without learning. The ``most`` promising hills
    are climbed, until a further step is worth less than ``least_gain`` nats.
    """
    n = len(low)
    thetas, values = np.full((len(trials), n), np.nan), np.full(len(trials), np.nan)
    work = make_work(n, len(distance))
    shares, slopes = _tabulate(form, distance, grid, work)
    starts = np.empty((grid.shape[0] * grid.shape[1] + 1, n))
    heights = np.empty(len(starts))
    for row in range(len(trials)):
        s, t = successes[row], trials[row]
        if t.sum() == 0.0:
            continue
        n_starts = _survey(form, s, t, grid, shares, slopes, starts)
        for k in range(n_starts):
            heights[k] = derive(form, distance, s, t, starts[k], work)
        values[row] = -np.inf
        for _ in range(min(n_starts, most)):
            best = heights[:n_starts].argmax()
            heights[best] = -np.inf
            value = climb(form, distance, s, t, starts[best], low, high, least_gain, work)
            if value > values[row]:
                values[row] = value
                thetas[row] = starts[best]
    return thetas, values


@kernel
def climb(
    form: int,
    distance: Floats,
    s: Floats,
    t: Floats,
    theta: Floats,
    low: Floats,
    high: Floats,
    least_gain: float,
    work: Work,
) -> float:
    """Move `theta` to the top by Newton's method within bounds; the log-likelihood there.

    Newton's step is tried in full, then shorter, then one along the gradient, which rises for certain. Before each look A and B are made
    the best for the new shape, or long bent ridges would be walked in tiny steps.
    """
    n, value, turn = len(theta), -np.inf, 0
    for i in range(n):
        work.trial[i] = theta[i]
    for _ in range(_MOST_STEPS):
        _settle(form, distance, s, t, work.trial, work)
        new = derive(form, distance, s, t, work.trial, work)
        turn += 1
        if new > value:
            value = new
            for i in range(n):
                theta[i] = work.trial[i]
            turn = _direct(form, theta, low, high, least_gain, work)
        if turn >= 2 * _TURNS:
            break
        length = 0.25 ** (turn % _TURNS)
        for i in range(n):
            move = work.step[i] if turn < _TURNS else work.plain[i]
            work.trial[i] = min(max(theta[i] + length * move, low[i]), high[i])
    return value


@kernel
def derive(form: int, distance: Floats, s: Floats, t: Floats, theta: Floats, out: Work) -> float:
    """The log-likelihood at `theta`; `out` gets its gradient, and its curvature (minus the Hessian)."""
    out.gradient[:] = 0.0
    out.curvature[:] = 0.0
    n = len(theta)
    total = 0.0
    for k in range(len(t)):
        if t[k] == 0.0:
            continue
        p = _point(form, distance[k], theta, out.first, out.second)
        good, bad = s[k], t[k] - s[k]
        slope = bend = 0.0
        if good > 0.0:
            p = max(p, _TINY)
            total += good * math.log(p)
            slope += good / p
            bend += good / (p * p)
        if bad > 0.0:
            q = max(1.0 - p, _TINY)
            total += bad * math.log(q)
            slope -= bad / q
            bend += bad / (q * q)
        for i in range(n):
            out.gradient[i] += slope * out.first[i]
            for j in range(i + 1):
                out.curvature[i, j] += bend * out.first[i] * out.first[j] - slope * out.second[i, j]
    return total


@kernel
def _point(form: int, d: float, theta: Floats, first: Floats, second: Floats) -> float:
    """P at distance d, with its first derivatives by θ and the lower triangle of the second."""
    if form == FAILURE:
        q = math.exp(min(theta[0] - theta[1] * d, 0.0))
        first[0], first[1] = -q, d * q
        second[0, 0], second[1, 0], second[1, 1] = -q, d * q, -d * d * q
        return 1.0 - q
    if form == ODDS:
        p = 1.0 / (1.0 + math.exp(-theta[0] - theta[1] * d))
        rise = p * (1.0 - p)
        bend = rise * (1.0 - 2.0 * p)
        first[0], first[1] = rise, d * rise
        second[0, 0], second[1, 0], second[1, 1] = bend, d * bend, d * d * bend
        return p
    gap, rate = theta[0] - theta[1], math.exp(theta[2])
    if form == APPROACH:
        z = -rate * d
        left = math.exp(z)
        by_u, by_uu = left * z, left * z * (z + 1.0)
    else:
        y = rate * (d - theta[3])
        left = 1.0 / (1.0 + math.exp(y))
        by_y = -left * (1.0 - left)
        by_yy = by_y * (2.0 * left - 1.0)
        by_u, by_uu = by_y * y, by_yy * y * y + by_y * y
        by_m, by_mm, by_mu = -rate * by_y, rate * rate * by_yy, -rate * (by_yy * y + by_y)
        first[3] = gap * by_m
        second[3, 0], second[3, 1], second[3, 2], second[3, 3] = by_m, -by_m, gap * by_mu, gap * by_mm
    first[0], first[1], first[2] = left, 1.0 - left, gap * by_u
    second[0, 0] = second[1, 0] = second[1, 1] = 0.0
    second[2, 0], second[2, 1], second[2, 2] = by_u, -by_u, gap * by_uu
    return float(theta[1] + gap * left)


@kernel
def _tabulate(form: int, distance: Floats, grid: Floats, work: Work) -> tuple[Floats, Floats]:
    """For each shape on the grid, how much of B is left at each attempt, and its slope by the last entry of the shape."""
    shares = np.empty((grid.shape[0], grid.shape[1], len(distance)))
    slopes = np.empty(shares.shape)
    theta = np.empty(len(work.first))
    theta[0], theta[1] = 1.0, 0.0
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            for k in range(grid.shape[2]):
                theta[2 + k] = grid[i, j, k]
            for k in range(len(distance)):
                shares[i, j, k] = _point(form, distance[k], theta, work.first, work.second)
                slopes[i, j, k] = work.first[-1]
    return shares, slopes


@kernel
def _survey(form: int, s: Floats, t: Floats, grid: Floats, shares: Floats, slopes: Floats, starts: Floats) -> int:
    """Fill `starts` with a point on each hill, and count them.

    Along j the likelihood with the best A and B rises, then falls: a hill lies where its slope changes sign, or at an end.
    """
    mean = (s.sum() + 0.5) / (t.sum() + 1.0)
    if form in (FAILURE, ODDS):
        starts[0, 0] = math.log(1.0 - mean) if form == FAILURE else math.log(mean / (1.0 - mean))
        starts[0, 1] = 0.0
        return 1
    found, last = 0, grid.shape[1] - 1
    for i in range(grid.shape[0]):
        start = end = mean
        before, start_before, end_before = 1.0, mean, mean
        for j in range(last + 1):
            start, end, slope = _ends(s, t, shares[i, j], slopes[i, j], start, end, _ROUGH_GAIN)
            if before > 0.0 >= slope or (j == last and slope > 0.0):
                part = before / (before - slope) if j > 0 and slope <= 0.0 else 1.0
                starts[found, 0] = start_before + part * (start - start_before)
                starts[found, 1] = end_before + part * (end - end_before)
                for k in range(grid.shape[2]):
                    left = grid[i, max(j - 1, 0), k]
                    starts[found, 2 + k] = left + part * (grid[i, j, k] - left)
                found += 1
            before, start_before, end_before = slope, start, end
    return found


@kernel
def _settle(form: int, distance: Floats, s: Floats, t: Floats, theta: Floats, work: Work) -> None:
    """Make A and B the best for the shape in `theta`, where there are such."""
    if form in (FAILURE, ODDS):
        return
    start, end = theta[0], theta[1]
    theta[0], theta[1] = 1.0, 0.0
    for k in range(len(t)):
        work.share[k] = _point(form, distance[k], theta, work.first, work.second)
    theta[0], theta[1], _ = _ends(s, t, work.share, work.share, start, end, _SETTLED)


@kernel
def _ends(
    s: Floats, t: Floats, share: Floats, slope: Floats, start: float, end: float, least_gain: float
) -> tuple[float, float, float]:
    """The best B and A for a shape by Newton's method, and how the likelihood then changes with the shape.

    No logarithm is taken: the likelihood is concave, and steps that leave a little of the way to a bound stay in its domain.
    """
    start, end = min(max(start, EDGE), 1.0 - EDGE), min(max(end, EDGE), 1.0 - EDGE)
    change = 0.0
    for _ in range(_MOST_STEPS):
        by_start = by_end = change = 0.0
        both = starts = ends = _TINY
        for k in range(len(t)):
            if t[k] == 0.0:
                continue
            p = end + (start - end) * share[k]
            good, bad = s[k] / p, (t[k] - s[k]) / (1.0 - p)
            rise, bend = good - bad, good / p + bad / (1.0 - p)
            rest = 1.0 - share[k]
            by_start += rise * share[k]
            by_end += rise * rest
            change += rise * slope[k]
            starts += bend * share[k] * share[k]
            both += bend * share[k] * rest
            ends += bend * rest * rest
        change *= start - end
        if _is_at_edge(start, by_start):
            to_start, to_end = 0.0, by_end / ends
        elif _is_at_edge(end, by_end):
            to_start, to_end = by_start / starts, 0.0
        else:
            size = starts * ends * (1.0 + 1e-9) - both * both
            to_start, to_end = (by_start * ends - by_end * both) / size, (by_end * starts - by_start * both) / size
        if _is_at_edge(end, by_end):
            to_end = 0.0
        if by_start * to_start + by_end * to_end < least_gain:
            break
        start, end = _towards(start, to_start), _towards(end, to_end)
    return start, end, change


@kernel
def _is_at_edge(place: float, slope: float) -> bool:
    return (place <= EDGE and slope <= 0.0) or (place >= 1.0 - EDGE and slope >= 0.0)


@kernel
def _towards(place: float, step: float) -> float:
    """A step that leaves a little of the way to 0 or 1."""
    low, high = max(0.02 * place, EDGE), 1.0 - max(0.02 * (1.0 - place), EDGE)
    return min(max(place + step, low), high)


@kernel
def _direct(form: int, theta: Floats, low: Floats, high: Floats, least_gain: float, work: Work) -> int:
    """Put Newton's step into `work.step` and the plain one into `work.plain`, 0 for entries that a bound holds.

    The plain step leaves out how entries act together: cut at the bounds, it still rises. Returns the turn to go on with: Newton's first
    where its gradient promises a rise, else the plain one's, else past the end.
    """
    gradient, curvature, factor, step, plain = work.gradient, work.curvature, work.factor, work.step, work.plain
    n = len(theta)
    for i in range(n):
        is_held = _is_held(i, theta, gradient, low, high)
        step[i] = 0.0 if is_held else gradient[i]
        for j in range(i):
            is_apart = is_held or _is_held(j, theta, gradient, low, high)
            factor[i, j] = 0.0 if is_apart else curvature[i, j]
        factor[i, i] = 1.0 if is_held else curvature[i, i]
        plain[i] = step[i] / (abs(factor[i, i]) + _TINY)
    _solve(factor, step)
    gain = plain_gain = 0.0
    for i in range(2 if form in (APPROACH, SIGMOID) else 0, n):
        gain += gradient[i] * (min(max(theta[i] + step[i], low[i]), high[i]) - theta[i])
        plain_gain += gradient[i] * (min(max(theta[i] + plain[i], low[i]), high[i]) - theta[i])
    return 0 if gain > least_gain else _TURNS if plain_gain > least_gain else 2 * _TURNS


@kernel
def _is_held(i: int, theta: Floats, gradient: Floats, low: Floats, high: Floats) -> bool:
    return bool((theta[i] <= low[i] and gradient[i] <= 0.0) or (theta[i] >= high[i] and gradient[i] >= 0.0))


@kernel
def _solve(factor: Floats, x: Floats) -> None:
    """Solve for `x` in place by Cholesky's method, from the lower triangle.

    A and B come first, where the likelihood is concave; where it is not concave by the shape, pivots change sign, so that the step rises.
    """
    n = len(x)
    for i in range(n):
        for j in range(i + 1):
            rest = factor[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            factor[i, j] = rest / factor[j, j] if i > j else math.sqrt(abs(rest) + _TINY)
    for i in range(n):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= factor[k, i] * x[k]
        x[i] /= factor[i, i]
