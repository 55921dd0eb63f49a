"""The equations of a Newton step, and their solution.

A model's scores touch no other model, so the models' part of the Hessian is block-diagonal and is eliminated exactly (Schur
complement). What is left is dense, but only as large as the benchmarks: cost and memory grow with the number of scores.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from howsure.compiled import kernel
from howsure.stitch.model.layout import Bools, Floats, Prior, Rows

__all__ = ["System", "hold", "make_system", "solve"]


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
