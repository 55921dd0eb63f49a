r"""The arithmetic of time horizons, compiled: a weighted logistic curve with a penalty on its slope.

.. math::

    F(\alpha, \beta) = -\sum_t \bigl[a_t \log\sigma(\eta_t) + b_t \log\sigma(-\eta_t)\bigr] + \tfrac{\rho}{2}\beta^2,
    \qquad \eta_t = \alpha + \beta x_t

``x`` is log₂ minutes of task t, ``a`` the weight of its successes and ``b`` of its failures, which together add up to 1; ``α`` intercept,
``β`` slope, ``ρ`` regularisation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from howsure.compiled import kernel
from howsure.stats._arrays import Bools, Floats, Ints

__all__ = [
    "ABSENT",
    "FITTED",
    "NO_FAILURE",
    "NO_SLOPE",
    "NO_SUCCESS",
    "N_KNOTS",
    "SEPARATED",
    "WEIBULL_SCALE",
    "derive",
    "fit",
    "fit_spline",
    "fit_weibull",
    "flattening",
    "plain_cost",
    "refit",
    "refit_cells",
    "spline_crossing",
    "spline_height",
    "spline_penalty",
]

FITTED, NO_SUCCESS, NO_FAILURE, NO_SLOPE, SEPARATED, ABSENT = range(6)
"""What became of a fit: a falling curve; only failures; only successes; a curve that does not fall; nothing but the penalty
could bound the slope, and there is none; no run at all."""

_MOST_STEPS = 200
_FLAT = 1e-9  # a slope that is none but for rounding
_PROBIT = (
    2.89  # (1.7)²: a logistic curve that is averaged over normal noise of variance s² is flatter by √(1 + s²/2.89)
)
_STEEPEST = 0.9  # of 1: the largest share of a slope's flattening that noise in human times is allowed to explain
WEIBULL_SCALE = 2.0 * math.log(2.0)
"""The slope of a logistic curve that falls as steeply near one half as a Weibull curve of shape 1."""
_SMALL = 1e-7  # a step of the log-odds after which the next would be below rounding


def plain_cost(x: Floats, a: Floats, b: Floats, penalty: float, intercept: float, slope: float) -> float:
    """The cost F in numpy: what the kernel's derivatives are compared with."""
    eta = intercept + slope * x
    return float(a @ np.logaddexp(0, -eta) + b @ np.logaddexp(0, eta) + penalty / 2 * slope**2)


@kernel
def derive(
    x: Floats, a: Floats, b: Floats, n: int, penalty: float, intercept: float, slope: float
) -> tuple[float, float, float, float, float]:
    """First derivatives by intercept and slope, then the second: by both intercepts, by one each, by both slopes; of the first `n` tasks."""
    by_intercept, by_slope = 0.0, penalty * slope
    h00, h01, h11 = 0.0, 0.0, penalty
    for t in range(n):
        p = 1.0 / (1.0 + math.exp(-intercept - slope * x[t]))
        weight = a[t] + b[t]
        miss, bend = weight * p - a[t], weight * p * (1.0 - p)
        by_intercept += miss
        by_slope += miss * x[t]
        h00 += bend
        h01 += bend * x[t]
        h11 += bend * x[t] * x[t]
    return by_intercept, by_slope, h00, h01, h11


@kernel
def fit(
    x: Floats, a: Floats, b: Floats, n: int, penalty: float, intercept: float, slope: float
) -> tuple[float, float, int]:
    """Intercept, slope and what became of the fit to the first `n` tasks, from a start.

    Damped Newton: with d the largest change of a log-odds, the share ln(1 + d)/d of a step always descends (Sun and Tran-Dinh 2019), so
    no cost is computed; near the optimum the share is 1.
    """
    state, low, high = _look(x, a, b, n, penalty)
    if state != FITTED:
        return math.nan, math.nan, state
    for _ in range(_MOST_STEPS):
        by_intercept, by_slope, h00, h01, h11 = derive(x, a, b, n, penalty, intercept, slope)
        determinant = h00 * h11 - h01 * h01
        if not determinant > 0:
            break
        up = (h01 * by_slope - h11 * by_intercept) / determinant
        tilt = (h01 * by_intercept - h00 * by_slope) / determinant
        d = max(abs(up + tilt * low), abs(up + tilt * high))
        share = math.log1p(d) / d if d > _SMALL else 1.0
        intercept += share * up
        slope += share * tilt
        if d < _SMALL:
            return intercept, slope, FITTED if slope < -_FLAT else NO_SLOPE
    # the weights of all tasks have vanished: only a penalty too small to be seen holds the slope
    return math.nan, math.nan, SEPARATED


@kernel
def refit(
    drawn: Floats, x: Floats, successes: Floats, n: Ints, weight: Floats, start: Floats, penalty: float,
    redraw: bool, rng: np.random.Generator,  # noqa: FBT001
) -> tuple[Floats, Floats, Ints]:  # fmt: skip
    """Intercepts, slopes and outcomes of replicates: a row each, a column a model.

    ``drawn`` says how often each replicate has each task. A task that is there m times has m·k runs of a model that ran it k times, of
    which Binomial(m·k, s/k) succeed: the same as drawing each run. Without ``redraw`` a task brings its runs as they were. ``weight`` is that
    of all a model's runs at a task, ``start`` has each model's intercept and slope.
    """
    n_models, n_tasks = n.shape
    intercepts, slopes = np.empty((len(drawn), n_models)), np.empty((len(drawn), n_models))
    states = np.empty((len(drawn), n_models), np.int64)
    places, a, b = np.empty(n_tasks), np.empty(n_tasks), np.empty(n_tasks)
    for r in range(len(drawn)):
        for m in range(n_models):
            used = 0
            total = 0.0
            for t in range(n_tasks):
                copies, k, s = drawn[r, t], n[m, t], successes[m, t]
                if copies == 0 or k == 0:
                    continue
                rate = s / k
                if redraw and 0 < s < k:
                    runs = int(copies) * k
                    rate = rng.binomial(runs, rate) / runs
                places[used] = x[t]
                a[used] = copies * weight[m, t] * rate
                b[used] = copies * weight[m, t] - a[used]
                total += copies * weight[m, t]
                used += 1
            for t in range(used):
                a[t] /= total
                b[t] /= total
            found = fit(places, a, b, used, penalty, start[m, 0], start[m, 1])
            intercepts[r, m], slopes[r, m], states[r, m] = found
    return intercepts, slopes, states


@kernel
def _look(x: Floats, a: Floats, b: Floats, n: int, penalty: float) -> tuple[int, float, float]:
    """What can be told before the fit, and the shortest and longest task."""
    low, high = math.inf, -math.inf
    first_good, last_good, first_bad, last_bad = math.inf, -math.inf, math.inf, -math.inf
    for t in range(n):
        low, high = min(low, x[t]), max(high, x[t])
        if a[t] > 0:
            first_good, last_good = min(first_good, x[t]), max(last_good, x[t])
        if b[t] > 0:
            first_bad, last_bad = min(first_bad, x[t]), max(last_bad, x[t])
    if n == 0:
        return ABSENT, low, high
    if last_good == -math.inf:
        return NO_SUCCESS, low, high
    if last_bad == -math.inf:
        return NO_FAILURE, low, high
    if low == high or (penalty == 0 and last_bad <= first_good):
        return NO_SLOPE, low, high
    if penalty == 0 and last_good <= first_bad:
        return SEPARATED, low, high
    return FITTED, low, high


@kernel
def refit_cells(
    copies: Floats, runs: Ints | Floats, kept: Bools, used: Bools, x: Floats, unknown: Floats, weight: Floats, start: Floats, penalty: float,
    curve: int, success_rate: float,
) -> tuple[Floats, Ints]:  # fmt: skip
    """Where each replicate's curve of each model crosses a success rate (log₂ minutes), and what became of the fit.

    ``kept`` says which kinds of runs count, ``used`` which tasks; ``x`` are expected true log₂ minutes and ``unknown`` is each model's mean variance
    of the true ones around them, by which a logistic curve was flattened; ``curve`` is 0 for the logistic, 1 for the
    Weibull curve and 2 for the monotone spline. Odd kinds are successes.
    """
    n_replicates, n_models, n_tasks, n_kinds = runs.shape
    crossing, states = np.full((n_replicates, n_models), np.nan), np.empty((n_replicates, n_models), np.int64)
    places, a, b = np.empty(n_tasks), np.empty(n_tasks), np.empty(n_tasks)
    for r in range(n_replicates):
        for m in range(n_models):
            count = 0
            total = 0.0
            for t in range(n_tasks):
                if not used[t] or copies[r, t] == 0:
                    continue
                n, good = 0.0, 0.0
                for c in range(n_kinds):
                    if kept[c]:
                        n += runs[r, m, t, c]
                        good += (c % 2) * runs[r, m, t, c]
                if n < 1e-9:  # none, but for rounding of censored runs
                    continue
                whole = copies[r, t] * weight[m, t]
                places[count] = x[t]
                a[count] = whole * good / n
                b[count] = whole - a[count]
                total += whole
                count += 1
            for t in range(count):
                a[t] /= total
                b[t] /= total
            intercept, slope, state = fit(places, a, b, count, penalty, start[m, 0], start[m, 1])
            logit = math.log(success_rate / (1.0 - success_rate))
            if state == FITTED and curve == 0:
                crossing[r, m] = (logit * flattening(slope, unknown[m]) - intercept) / slope
            elif state == FITTED and curve == 1:
                alpha, beta, state = fit_weibull(places, a, b, count, penalty, intercept, slope)
                if state == FITTED:
                    crossing[r, m] = (math.log(-math.log(success_rate)) - alpha) / beta
            elif state == FITTED:
                low, high = places[:count].min(), places[:count].max()
                step = (high - low) / (N_KNOTS - 1)
                smooth = spline_penalty(a + b, count)
                theta, _ = fit_spline(places, a, b, count, low, step, smooth, intercept, slope)
                crossing[r, m], state = spline_crossing(theta, low, step, success_rate)
            states[r, m] = state
    return crossing, states


N_KNOTS = 6
_BEND = 1.0  # standard deviation, between neighbouring knots, of the change in the slope of the log-odds


@kernel
def _basis(x: float, low: float, step: float, out: Floats) -> None:
    """The integrals from the first knot to x of the hat functions around the knots; constant beyond the outer knots."""
    at = min(max((x - low) / step, 0.0), N_KNOTS - 1.0)
    for k in range(N_KNOTS):
        rise = min(max(at - (k - 1), 0.0), 1.0)  # how far x is up the hat's left side, and down its right
        fall = min(max(at - k, 0.0), 1.0)
        left = 0.5 * rise * rise if k > 0 else 0.0
        out[k] = step * (left + fall - 0.5 * fall * fall)


@kernel
def fit_spline(  # noqa: PLR0912  one Newton step, from top to bottom
    x: Floats, a: Floats, b: Floats, n: int, low: float, step: float, penalty: float, intercept: float, slope: float
) -> tuple[Floats, int]:
    r"""A spline of the log-odds that never rises, fitted to the first `n` tasks: the height at the first knot, then how fast it falls at each knot.

    .. math:: \eta(x) = \alpha - \sum_k c_k \int_{x_1}^x \text{hat}_k, \qquad c_k \ge 0, \qquad \text{penalty} \cdot \tfrac12 \sum_k (c_{k+1} - c_k)^2

    Equal c make a logistic curve; c = 0 at the short tasks is a ceiling below 1. Newton's method, with each quadratic problem solved by coordinate descent, from a logistic fit.
    """
    size = N_KNOTS + 1
    design = np.empty((n, size))
    for t in range(n):
        design[t, 0] = 1.0
        _basis(x[t], low, step, design[t, 1:])
        design[t, 1:] *= -1.0
    theta = np.full(size, max(-slope, 0.01))
    theta[0] = intercept + slope * low
    gradient, bend = np.empty(size), np.empty((size, size))
    cost = _spline_cost(design, a, b, theta, penalty)
    for _ in range(_MOST_STEPS):
        gradient[:], bend[:] = 0.0, 0.0
        for t in range(n):
            eta = 0.0
            for i in range(size):
                eta += design[t, i] * theta[i]
            p = 1.0 / (1.0 + math.exp(-min(max(eta, -35.0), 35.0)))
            miss, w = (a[t] + b[t]) * p - a[t], (a[t] + b[t]) * p * (1.0 - p)
            for i in range(size):
                gradient[i] += miss * design[t, i]
                for j in range(i + 1):
                    bend[i, j] += w * design[t, i] * design[t, j]
        for k in range(1, N_KNOTS):
            gap = penalty * (theta[k + 1] - theta[k])
            gradient[k + 1] += gap
            gradient[k] -= gap
            bend[k, k] += penalty
            bend[k + 1, k + 1] += penalty
            bend[k + 1, k] -= penalty
        for i in range(size):
            bend[i, i] += 1e-9
            for j in range(i):
                bend[j, i] = bend[i, j]
        step_to = theta.copy()
        for _ in range(200):
            moved = 0.0
            for i in range(size):
                pull = gradient[i]
                for j in range(size):
                    pull += bend[i, j] * (step_to[j] - theta[j])
                to = step_to[i] - pull / bend[i, i]
                if i > 0 and to < 0.0:
                    to = 0.0
                moved = max(moved, abs(to - step_to[i]))
                step_to[i] = to
            if moved < 1e-10:
                break
        share, far = 1.0, np.abs(step_to - theta).max()
        for _ in range(40):
            tried = theta + share * (step_to - theta)
            next_cost = _spline_cost(design, a, b, tried, penalty)
            if next_cost <= cost + 1e-15:
                break
            share *= 0.5
        is_done = far < 1e-7 or cost - next_cost < 1e-14
        theta, cost = tried, next_cost
        if is_done:
            break
    return theta, NO_SLOPE if theta[1:].max() < _FLAT else FITTED


@kernel
def _spline_cost(design: Floats, a: Floats, b: Floats, theta: Floats, penalty: float) -> float:
    total = 0.0
    for k in range(1, N_KNOTS):
        total += penalty / 2 * (theta[k + 1] - theta[k]) ** 2
    for t in range(len(design)):
        eta = 0.0
        for i in range(len(theta)):
            eta += design[t, i] * theta[i]
        short = math.log1p(math.exp(-abs(eta)))
        total += a[t] * (short + max(-eta, 0.0)) + b[t] * (short + max(eta, 0.0))
    return total


@kernel
def spline_height(theta: Floats, x: float, low: float, step: float) -> float:
    """The log-odds of a fitted spline at log₂ minutes `x`; constant beyond the outer knots."""
    basis = np.empty(N_KNOTS)
    _basis(x, low, step, basis)
    return float(theta[0] - (theta[1:] * basis).sum())


@kernel
def spline_crossing(theta: Floats, low: float, step: float, success_rate: float) -> tuple[float, int]:
    """Where a fitted spline crosses a success rate: nowhere below the first knot (`NO_SUCCESS`: below the range) or above the last (`NO_FAILURE`)."""
    goal = math.log(success_rate / (1.0 - success_rate))
    first, last = low, low + step * (N_KNOTS - 1)
    if spline_height(theta, first, low, step) < goal:
        return math.nan, NO_SUCCESS
    if spline_height(theta, last, low, step) > goal:
        return math.nan, NO_FAILURE
    for _ in range(60):
        middle = (first + last) / 2
        if spline_height(theta, middle, low, step) > goal:
            first = middle
        else:
            last = middle
    return (first + last) / 2, FITTED


@kernel
def spline_penalty(weights: Floats, n: int) -> float:
    """The penalty of a spline on weights that add up to 1: that of a normal prior on changes of the slope, for as many tasks as the weights are worth."""
    squares, total = 0.0, 0.0
    for t in range(n):
        squares += weights[t] * weights[t]
        total += weights[t]
    return squares / (total * total * _BEND * _BEND)


@kernel
def flattening(slope: Any, unknown: Any) -> Any:
    """√(1 − β² v / 2.89): how much flatter a curve is that was averaged over errors of variance v than the curve over true lengths."""
    return np.sqrt(np.maximum(1.0 - slope * slope * unknown / _PROBIT, 1.0 - _STEEPEST))  # of numbers or arrays


@kernel
def fit_weibull(
    x: Floats, a: Floats, b: Floats, n: int, penalty: float, intercept: float, slope: float
) -> tuple[float, float, int]:
    """α and β of P = exp(−exp(α + β x)) over log₂ minutes x: Fisher scoring with halved steps, from a logistic fit.

    The penalty is that of a logistic slope: near one half, a Weibull shape of β falls as steeply as a logistic slope of −2 ln 2 · β.
    """
    half = math.log(math.log(2.0))
    scale = WEIBULL_SCALE
    beta = -slope / scale
    alpha = half + beta * intercept / slope
    cost = _weibull_cost(x, a, b, n, penalty * scale * scale, alpha, beta)
    for _ in range(_MOST_STEPS):
        by_alpha, by_beta, h00, h01, h11 = 0.0, penalty * scale * scale * beta, 0.0, 0.0, penalty * scale * scale
        for t in range(n):
            rate = math.exp(min(max(alpha + beta * x[t], -30.0), 3.5))
            p = math.exp(-rate)
            q = max(-math.expm1(-rate), 1e-15)
            by_eta = a[t] * rate - b[t] * rate * p / q
            info = (a[t] + b[t]) * rate * rate * p / q
            by_alpha += by_eta
            by_beta += by_eta * x[t]
            h00 += info
            h01 += info * x[t]
            h11 += info * x[t] * x[t]
        determinant = h00 * h11 - h01 * h01
        if not determinant > 0:
            return math.nan, math.nan, SEPARATED
        up = (h01 * by_beta - h11 * by_alpha) / determinant
        tilt = (h01 * by_alpha - h00 * by_beta) / determinant
        share = 1.0
        for _ in range(30):
            next_cost = _weibull_cost(x, a, b, n, penalty * scale * scale, alpha + share * up, beta + share * tilt)
            if next_cost <= cost + 1e-14:
                break
            share *= 0.5
        alpha += share * up
        beta += share * tilt
        is_done = abs(share * up) + abs(share * tilt) < _SMALL or cost - next_cost < 1e-13
        cost = next_cost
        if is_done:
            break
    return alpha, beta, FITTED if beta > _FLAT else NO_SLOPE


@kernel
def _weibull_cost(x: Floats, a: Floats, b: Floats, n: int, penalty: float, alpha: float, beta: float) -> float:
    total = penalty / 2 * beta * beta
    for t in range(n):
        rate = math.exp(min(max(alpha + beta * x[t], -30.0), 3.5))
        total += a[t] * rate - b[t] * math.log(max(-math.expm1(-rate), 1e-15))
    return total
