"""Variances around the optimum, from the inverse of the curvature."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from howsure.compiled import kernel
from howsure.stitch.model.elimination import System, hold, make_system, solve
from howsure.stitch.model.kernels import derive
from howsure.stitch.model.layout import Floats, Prior, Rows

__all__ = ["Spread", "spread"]


class Spread(NamedTuple):
    """Posterior variances, as far as a normal approximation holds."""

    parameters: Floats  # of each parameter
    eta: Floats  # of each row's η


def spread(rows: Rows, weights: Floats, theta: Floats, prior: Prior) -> Spread:
    """Variances from the inverse of Gauss–Newton's Hessian at `theta`; 0 for parameters that are fixed."""
    system = make_system(rows, len(theta))
    derive(rows, weights, theta, prior, False, system)
    hold(rows, theta, prior, system)
    if not solve(rows, 0.0, system):
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
