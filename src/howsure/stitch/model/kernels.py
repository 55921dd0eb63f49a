r"""The arithmetic of the scale, compiled: cost, derivatives, and the Newton solver.

.. math::

    F(\theta) = \tfrac12 \sum_i w_i \bigl(f_b + s_b\,\sigma(\eta_i) - y_i\bigr)^2
              + \tfrac12 \sum_j p_j (\theta_j - \mu_j)^2,
    \qquad \eta_i = a_b (C_m - D_b) + l_b T_m

``C`` capability, ``D`` difficulty, ``a`` slope (the parameter is log a), ``f`` floor, ``s`` span from floor to ceiling; ``T`` a model's
trait and ``l`` a benchmark's loading on it, in two dimensions only.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from howsure.compiled import kernel
from howsure.stitch.model.elimination import System, hold, make_system, solve
from howsure.stitch.model.layout import Bools, Fitted, Floats, Prior, Rows

__all__ = ["cost", "derive", "eta", "fit", "fit_many", "plain_cost"]

_FIRST_DAMPING = 1e-2  # relative to the diagonal
_ROUNDING = 1e-14  # relative change of the cost that is no change


def eta(rows: Rows, theta: Floats) -> Floats:
    """Each row's η."""
    at, model, benchmark = rows.layout, rows.model, rows.benchmark
    gap = theta[at.capability][model] - theta[at.difficulty][benchmark]
    main: Floats = np.exp(theta[at.log_slope])[benchmark] * gap
    return main if at.n_dimensions == 1 else main + theta[at.loading][benchmark] * theta[at.trait][model]


def plain_cost(rows: Rows, weights: Floats, theta: Floats, prior: Prior) -> float:
    """The cost in numpy: what the kernels are compared with."""
    expected = rows.floor[rows.benchmark] + rows.span[rows.benchmark] * expit(eta(rows, theta))
    penalised = theta.copy()
    if prior.on_slope:
        penalised[rows.layout.log_slope] = np.exp(theta[rows.layout.log_slope])
    penalty = prior.precision @ (penalised - prior.mean) ** 2
    return float(weights @ (expected - rows.score) ** 2 + penalty) / 2


@kernel
def fit(rows: Rows, weights: Floats, theta: Floats, prior: Prior, tolerance: float, most: int) -> Fitted:
    """Minimise the cost from `theta`: Newton steps, damped (Levenberg–Marquardt) where a full step fails.

    The exact Hessian is used where it is positive definite, Gauss–Newton's elsewhere and in the first step: after a
    change of the weights the old optimum rarely lies in a convex part.
    """
    theta, trial = _within(theta, prior), theta.copy()
    system = make_system(rows, len(theta))
    damping = _FIRST_DAMPING
    exact = False
    value = derive(rows, weights, theta, prior, exact, system)
    for iteration in range(most):
        steepest = hold(rows, theta, prior, system)
        if steepest < tolerance:
            return Fitted(theta, value, steepest, iteration, True)
        if not solve(rows, damping, system):
            if not exact:
                damping = max(4 * damping, _FIRST_DAMPING)
            exact = False
            derive(rows, weights, theta, prior, exact, system)
            continue
        for j in range(len(theta)):
            trial[j] = min(max(theta[j] + system.move[j], prior.low[j]), prior.high[j])
        reached = cost(rows, weights, trial, prior)
        if reached <= value + _ROUNDING * abs(value):
            theta, trial = trial, theta
            damping = damping / 10 if damping > 1e-6 else 0.0
            exact = True
            value = derive(rows, weights, theta, prior, exact, system)
        elif damping > 1e12:
            break
        else:
            damping = max(5 * damping, _FIRST_DAMPING)
    return Fitted(theta, value, hold(rows, theta, prior, system), most, False)


@kernel
def fit_many(
    rows: Rows, scores: Floats, weights: Floats, means: Floats, theta: Floats, prior: Prior, tolerance: float, most: int
) -> tuple[Floats, Bools]:
    """Refits from `theta`, one for each row of `scores`, `weights` and prior `means`; and which of them converged."""
    thetas = np.empty(means.shape)
    converged = np.empty(len(means), np.bool_)
    for r in range(len(means)):
        redrawn = Rows(rows.start, rows.benchmark, scores[r], rows.floor, rows.span, rows.dimensions)
        around = Prior(means[r], prior.precision, prior.low, prior.high, prior.on_slope)
        fitted = fit(redrawn, weights[r], theta, around, tolerance, most)
        thetas[r] = fitted.theta
        converged[r] = fitted.converged
    return thetas, converged


@kernel
def cost(rows: Rows, weights: Floats, theta: Floats, prior: Prior) -> float:
    """The cost F at `theta`."""
    n_models, p = len(rows.start) - 1, len(rows.dimensions)
    slopes = _slopes(rows, theta)
    total = 0.0
    for j in range(len(theta)):
        x = math.exp(theta[j]) if prior.on_slope and _is_log_slope(j, n_models, p) else theta[j]
        total += prior.precision[j] * (x - prior.mean[j]) ** 2
    for m in range(n_models):
        for i in range(rows.start[m], rows.start[m + 1]):
            b = rows.benchmark[i]
            o = n_models * p + b * (p + 1)
            value = slopes[b] * (theta[m * p] - theta[o])
            if p == 2:
                value += theta[o + 2] * theta[m * p + 1]
            miss = rows.floor[b] + rows.span[b] / (1.0 + math.exp(-value)) - rows.score[i]
            total += weights[i] * miss * miss
    return total / 2


@kernel
def derive(rows: Rows, weights: Floats, theta: Floats, prior: Prior, exact: bool, out: System) -> float:  # noqa: FBT001
    """Fill `out` with the derivatives at `theta` and return the cost; without `exact`, Gauss–Newton's Hessian."""
    n_models, p = len(rows.start) - 1, len(rows.dimensions)
    slopes = _slopes(rows, theta)
    total = _derive_prior(rows, theta, prior, out)
    for m in range(n_models):
        for i in range(rows.start[m], rows.start[m + 1]):
            b = rows.benchmark[i]
            o = n_models * p + b * (p + 1)
            slope, main = slopes[b], slopes[b] * (theta[m * p] - theta[o])
            trait, loading = (theta[m * p + 1], theta[o + 2]) if p == 2 else (0.0, 0.0)
            share = 1.0 / (1.0 + math.exp(-main - loading * trait))
            miss = rows.floor[b] + rows.span[b] * share - rows.score[i]
            total += weights[i] * miss * miss
            rise = rows.span[b] * share * (1.0 - share)
            first = weights[i] * miss * rise  # of the cost by η
            bend = first if exact else 0.0  # weighs second derivatives
            second = weights[i] * rise * rise + bend * (1.0 - 2.0 * share)
            _add_main(out, m * p, o, m, i, b, first, second, bend, slope, main)
            if p == 2:
                _add_second(out, m * p, o, m, i, b, first, second, bend, slope, main, trait, loading)
    return total / 2


@kernel
def _within(theta: Floats, prior: Prior) -> Floats:
    inside = np.empty(len(theta))
    for j in range(len(theta)):
        inside[j] = min(max(theta[j], prior.low[j]), prior.high[j])
    return inside


@kernel
def _slopes(rows: Rows, theta: Floats) -> Floats:
    p, slopes = len(rows.dimensions), np.empty(len(rows.floor))
    for b in range(len(slopes)):
        slopes[b] = math.exp(theta[(len(rows.start) - 1) * p + b * (p + 1) + 1])
    return slopes


@kernel
def _is_log_slope(j: int, n_models: int, p: int) -> bool:
    return j >= n_models * p and (j - n_models * p) % (p + 1) == 1


@kernel
def _derive_prior(rows: Rows, theta: Floats, prior: Prior, out: System) -> float:
    """Start the derivatives with the prior's; returns twice its cost."""
    n_models, p = len(rows.start) - 1, len(rows.dimensions)
    out.model[:] = 0.0
    out.benchmark[:] = 0.0
    total = 0.0
    for j in range(len(theta)):
        off = theta[j] - prior.mean[j]
        rise, bend = 1.0, 0.0
        if prior.on_slope and _is_log_slope(j, n_models, p):
            rise = bend = math.exp(theta[j])
            off = rise - prior.mean[j]
        total += prior.precision[j] * off * off
        out.gradient[j] = prior.precision[j] * off * rise
        second = prior.precision[j] * (rise * rise + off * bend)
        if j < n_models * p:
            out.model[j // p, j % p, j % p] = second
        else:
            k = j - n_models * p
            out.benchmark[k // (p + 1), k % (p + 1), k % (p + 1)] = second
    return total


@kernel
def _add_main(
    out: System, x: int, o: int, m: int, i: int, b: int,
    first: float, second: float, bend: float, slope: float, main: float,
) -> None:  # fmt: skip
    """Add a score's share in the derivatives by C (at x), D and log a (at o), by which η has a, −a and a (C − D)."""
    steep, mixed = second * slope * slope, second * slope * main + bend * slope
    out.gradient[x] += first * slope
    out.gradient[o] -= first * slope
    out.gradient[o + 1] += first * main
    out.model[m, 0, 0] += steep
    out.cross[i, 0, 0] = -steep
    out.cross[i, 1, 0] = mixed
    out.benchmark[b, 0, 0] += steep
    out.benchmark[b, 1, 0] -= mixed
    out.benchmark[b, 1, 1] += second * main * main + bend * main


@kernel
def _add_second(
    out: System, x: int, o: int, m: int, i: int, b: int,
    first: float, second: float, bend: float, slope: float, main: float, trait: float, loading: float,
) -> None:  # fmt: skip
    """The same by T (at x + 1) and l (at o + 2), by which η has l and T."""
    out.gradient[x + 1] += first * loading
    out.gradient[o + 2] += first * trait
    out.model[m, 1, 0] += second * slope * loading
    out.model[m, 1, 1] += second * loading * loading
    out.cross[i, 0, 1] = -second * slope * loading
    out.cross[i, 1, 1] = second * main * loading
    out.cross[i, 2, 0] = second * trait * slope
    out.cross[i, 2, 1] = second * trait * loading + bend
    out.benchmark[b, 2, 0] -= second * trait * slope
    out.benchmark[b, 2, 1] += second * trait * main
    out.benchmark[b, 2, 2] += second * trait * trait
