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
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from howsure.compiled import kernel
from howsure.stitch.model.problem import Bools, Fitted, Floats, Prior, Rows

__all__ = [
    "Spread",
    "System",
    "cost",
    "derive",
    "eta",
    "fit",
    "fit_many",
    "hold",
    "make_system",
    "plain_cost",
    "solve",
    "spread",
]

_FIRST_DAMPING = 1e-2  # relative to the diagonal
_LEAST_DAMPING = 1e-9  # against rounding, where weights differ by many orders of magnitude
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


# The equations of a Newton step, and their solution.
#
# A model's scores touch no other model, so the models' part of the Hessian is block-diagonal and is eliminated exactly (Schur
# complement). What is left is dense, but only as large as the benchmarks: cost and memory grow with the number of scores.


class System(NamedTuple):
    """Gradient, the Hessian's blocks (lower triangles), and room to solve for the step."""

    gradient: Floats
    model: Floats  # (models, p, p)
    cross: Floats  # (rows, q, p): the benchmark's parameters by the model's
    benchmark: Floats  # (benchmarks, q, q)
    root: Floats  # (models, p, p): factors of the models' blocks
    part: Floats  # (rows, q, p): cross blocks over those factors
    reduced: Floats  # what is left for the benchmarks, then its factor
    move: Floats  # the step


@kernel
def make_system(rows: Rows, n_parameters: int) -> System:
    """An empty system for these rows."""
    n_models, n_benchmarks, n_rows = len(rows.start) - 1, len(rows.floor), len(rows.score)
    p, q = len(rows.dimensions), len(rows.dimensions) + 1
    return System(
        np.empty(n_parameters),
        np.empty((n_models, p, p)),
        np.empty((n_rows, q, p)),
        np.empty((n_benchmarks, q, q)),
        np.empty((n_models, p, p)),
        np.empty((n_rows, q, p)),
        np.empty((n_benchmarks * q, n_benchmarks * q)),
        np.empty(n_parameters),
    )


@kernel
def hold(rows: Rows, theta: Floats, prior: Prior, out: System) -> float:
    """Take parameters that are fixed, or pressed against their bound, out of the system; the largest gradient left."""
    n_models, p = len(rows.start) - 1, len(rows.dimensions)
    held = np.zeros(len(theta), np.bool_)
    steepest, n_held = 0.0, 0
    for j in range(len(theta)):
        slope = out.gradient[j]
        held[j] = (theta[j] <= prior.low[j] and slope >= 0) or (theta[j] >= prior.high[j] and slope <= 0)
        if held[j] or prior.low[j] == prior.high[j]:
            held[j] = True
            n_held += 1
            out.gradient[j] = 0.0
        steepest = max(steepest, abs(out.gradient[j]))
    if n_held:
        _detach(out.model, held[: n_models * p])
        _detach(out.benchmark, held[n_models * p :])
        for m in range(n_models):
            for i in range(rows.start[m], rows.start[m + 1]):
                o = n_models * p + rows.benchmark[i] * (p + 1)
                for v in range(p + 1):
                    for u in range(p):
                        if held[m * p + u] or held[o + v]:
                            out.cross[i, v, u] = 0.0
    return steepest


@kernel
def solve(rows: Rows, damping: float, system: System) -> bool:
    """Solve (H + damping · diagonal) move = −gradient; False when the matrix is not positive definite."""
    n_models, p = len(rows.start) - 1, len(rows.dimensions)
    for j in range(len(system.move)):
        system.move[j] = -system.gradient[j]
    right = system.move[n_models * p :]
    _place_blocks(system.benchmark, damping, system.reduced)
    for m in range(n_models):
        root, move = system.root[m], system.move[m * p : (m + 1) * p]
        _damp(system.model[m], damping, root)
        if not _cholesky(root):
            return False
        _solve_lower(root, move)
        _eliminate(rows, system, m, root, move, right)
    if not _cholesky(system.reduced):
        return False
    _solve_lower(system.reduced, right)
    _solve_upper(system.reduced, right)
    for m in range(n_models):
        move = system.move[m * p : (m + 1) * p]
        _substitute(rows, system, m, right, move)
        _solve_upper(system.root[m], move)
    return True


@kernel
def _detach(blocks: Floats, held: Bools) -> None:
    size = blocks.shape[1]
    for j in range(len(held)):
        if held[j]:
            for v in range(size):
                blocks[j // size, j % size, v] = 0.0
                blocks[j // size, v, j % size] = 0.0
            blocks[j // size, j % size, j % size] = 1.0


@kernel
def _place_blocks(blocks: Floats, damping: float, reduced: Floats) -> None:
    reduced[:] = 0.0
    size = blocks.shape[1]
    for b in range(len(blocks)):
        _damp(blocks[b], damping, reduced[b * size : (b + 1) * size, b * size : (b + 1) * size])


@kernel
def _damp(block: Floats, damping: float, out: Floats) -> None:
    for u in range(len(block)):
        for v in range(u):
            out[u, v] = block[u, v]
        out[u, u] = block[u, u] + damping * abs(block[u, u])


@kernel
def _eliminate(rows: Rows, system: System, m: int, root: Floats, move: Floats, right: Floats) -> None:
    """Subtract what model m explains from the benchmarks' equations."""
    p, q = len(rows.dimensions), len(rows.dimensions) + 1
    part, reduced = system.part, system.reduced
    for i in range(rows.start[m], rows.start[m + 1]):
        for v in range(q):
            at = rows.benchmark[i] * q + v
            for u in range(p):
                value = system.cross[i, v, u]
                for k in range(u):
                    value -= root[u, k] * part[i, v, k]
                part[i, v, u] = value / root[u, u]
                right[at] -= part[i, v, u] * move[u]
            for j in range(rows.start[m], i + 1):
                for z in range(q):  # of the block on the diagonal, the upper triangle is never read
                    for u in range(p):
                        reduced[at, rows.benchmark[j] * q + z] -= part[i, v, u] * part[j, z, u]


@kernel
def _substitute(rows: Rows, system: System, m: int, right: Floats, move: Floats) -> None:
    """Subtract the benchmarks' step from model m's equations."""
    p, q = len(rows.dimensions), len(rows.dimensions) + 1
    for i in range(rows.start[m], rows.start[m + 1]):
        for v in range(q):
            for u in range(p):
                move[u] -= system.part[i, v, u] * right[rows.benchmark[i] * q + v]


@kernel(fastmath={"reassoc", "contract"})  # the order of a sum may change: it runs on vectors
def _cholesky(a: Floats) -> bool:
    """Factor in place (lower triangle); False when not positive definite."""
    for j in range(len(a)):
        for i in range(j, len(a)):
            left = a[i, j]
            for k in range(j):
                left -= a[i, k] * a[j, k]
            if i > j:
                a[i, j] = left / a[j, j]
            elif left > 0:
                a[j, j] = math.sqrt(left)
            else:
                return False
    return True


@kernel(fastmath={"reassoc", "contract"})
def _solve_lower(root: Floats, x: Floats) -> None:
    for i in range(len(x)):
        value = x[i]
        for k in range(i):
            value -= root[i, k] * x[k]
        x[i] = value / root[i, i]


@kernel(fastmath={"reassoc", "contract"})
def _solve_upper(root: Floats, x: Floats) -> None:
    for i in range(len(x) - 1, -1, -1):
        x[i] /= root[i, i]
        for k in range(i):
            x[k] -= root[i, k] * x[i]


# Variances around the optimum, from the inverse of the curvature.


class Spread(NamedTuple):
    """Posterior variances, as far as a normal approximation holds."""

    parameters: Floats  # of each parameter
    eta: Floats  # of each row's η


def spread(rows: Rows, weights: Floats, theta: Floats, prior: Prior) -> Spread:
    """Variances from the inverse of Gauss–Newton's Hessian at `theta`; 0 for parameters that are fixed."""
    system = make_system(rows, len(theta))
    derive(rows, weights, theta, prior, False, system)
    hold(rows, theta, prior, system)
    if not solve(rows, 0.0, system) and not solve(rows, _LEAST_DAMPING, system):
        raise ValueError("no curvature: the rows and the prior leave parameters undetermined")
    out = Spread(np.empty(len(theta)), np.empty(len(rows.score)))
    _fill(rows, theta, system, _inverse(system.reduced), out)
    out.parameters[prior.low == prior.high] = 0.0
    return out


@kernel(fastmath={"reassoc", "contract"})
def _inverse(root: Floats) -> Floats:
    """The inverse of the matrix whose Cholesky factor this is, column by column below the diagonal."""
    n = len(root)
    inverse = np.zeros((n, n))
    for j in range(n):
        x = inverse[j]
        x[j] = 1.0 / root[j, j]
        for i in range(j + 1, n):
            value = 0.0
            for k in range(j, i):
                value -= root[i, k] * x[k]
            x[i] = value / root[i, i]
        for i in range(n - 1, j - 1, -1):
            x[i] /= root[i, i]
            for k in range(j, i):
                x[k] -= root[i, k] * x[i]
            inverse[i, j] = x[i]
    return inverse


@kernel
def _fill(rows: Rows, theta: Floats, system: System, inverse: Floats, out: Spread) -> None:
    n_models, p, q = len(rows.start) - 1, len(rows.dimensions), len(rows.dimensions) + 1
    for j in range(len(inverse)):
        out.parameters[n_models * p + j] = inverse[j, j]
    for m in range(n_models):
        own, joint = _model_part(rows, system, inverse, m)
        for u in range(p):
            out.parameters[m * p + u] = own[u, u]
        for i in range(rows.start[m], rows.start[m + 1]):
            o = n_models * p + rows.benchmark[i] * q
            by_model, by_benchmark = _slopes_of_eta(theta, m * p, o, p)
            total = 0.0
            for u in range(p):
                for k in range(p):
                    total += by_model[u] * own[u, k] * by_model[k]
                for v in range(q):
                    total += 2 * by_model[u] * joint[u, (i - rows.start[m]) * q + v] * by_benchmark[v]
            at = rows.benchmark[i] * q
            for v in range(q):
                for z in range(q):
                    total += by_benchmark[v] * inverse[at + v, at + z] * by_benchmark[z]
            out.eta[i] = total


@kernel
def _model_part(rows: Rows, system: System, inverse: Floats, m: int) -> tuple[Floats, Floats]:
    """Covariances of model m's parameters among themselves and with those of the benchmarks that it has."""
    p, q = len(rows.dimensions), len(rows.dimensions) + 1
    first, n = rows.start[m], (rows.start[m + 1] - rows.start[m]) * q
    own, root = np.zeros((p, p)), system.root[m]
    own[0, 0] = 1 / root[0, 0] ** 2
    if p == 2:
        lever = -root[1, 0] / root[0, 0]
        own[1, 1] = 1 / root[1, 1] ** 2
        own[0, 1] = own[1, 0] = lever * own[1, 1]
        own[0, 0] += lever * lever * own[1, 1]
    link, joint = np.zeros((p, n)), np.zeros((p, n))
    for c in range(n):
        for u in range(p):
            for k in range(p):
                link[u, c] -= own[u, k] * system.cross[first + c // q, c % q, k]
    for c in range(n):
        row = inverse[rows.benchmark[first + c // q] * q + c % q]
        for d in range(n):
            known = row[rows.benchmark[first + d // q] * q + d % q]
            for u in range(p):
                joint[u, c] += link[u, d] * known
    for c in range(n):
        for u in range(p):
            for k in range(p):
                own[u, k] += joint[u, c] * link[k, c]
    return own, joint


@kernel
def _slopes_of_eta(theta: Floats, x: int, o: int, p: int) -> tuple[Floats, Floats]:
    """Derivatives of η by its model's and its benchmark's parameters."""
    slope = math.exp(theta[o + 1])
    by_model, by_benchmark = np.empty(p), np.empty(p + 1)
    by_model[0], by_benchmark[0], by_benchmark[1] = slope, -slope, slope * (theta[x] - theta[o])
    if p == 2:
        by_model[1], by_benchmark[2] = theta[o + 2], theta[x + 1]
    return by_model, by_benchmark
