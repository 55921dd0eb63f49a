r"""Do two halves of the benchmarks agree on the capabilities as well as the noise of the scores says?

.. math:: \varphi = \frac{\sum_m (C_m^A - C_m^B)^2 / s_m^2}{\text{the same in scores that are simulated from the fit}}

The benchmarks are divided into two halves A and B at random, and a scale is fitted to each half, its priors and noise learned anew. Capabilities of both are standardised. If the fit is right, φ is about 1. A
second trait, or curves of another shape, make the halves disagree more; the residuals of one fit do not show this, since the fit follows the benchmarks that agree with each other.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from howsure.stitch.model.curvature import spread
from howsure.stitch.model.hierarchy import solve_hierarchy
from howsure.stitch.model.layout import Bools, Floats
from howsure.stitch.model.noise import expected
from howsure.stitch.model.problem import Problem
from howsure.stitch.model.solutions import Solution

__all__ = ["half_disagreement"]

_SPLITS, _SIMULATIONS = 6, 2
_MANY = 20_000  # scores; of larger tables fewer splits are made
_FEWEST_MODELS, _FEWEST_SCORES = 10, 2  # models that can be compared, each with so many scores in both halves
_SETTLED = 1e-2  # of the halves' priors: φ changes by less than 0.04 from that of 1e-3, in half of the time
_MOST_KEPT = 512
_kept: dict[bytes, float] = {}  # by digest of the fit: claims fit the same scores again and again


def half_disagreement(solution: Solution) -> float:
    """φ, at least 1; 1 also where it is unknown: for a fit without learned priors, in two dimensions, and where too few models have scores in both halves.

    Parameters
    ----------
    solution : Solution
        A fit. The halves are always the same, so that the width of intervals does not depend on the seed of the refits.
    """
    problem = solution.problem
    if not solution.is_by_noise or solution.layout.n_dimensions > 1:
        return 1.0
    parts = (problem.score, problem.model, problem.benchmark, solution.weights, solution.theta)
    key = hashlib.blake2b(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).digest()
    if key not in _kept:
        if len(_kept) == _MOST_KEPT:
            _kept.clear()
        _kept[key] = _disagreement(solution)
    return _kept[key]


def _disagreement(solution: Solution) -> float:
    problem = solution.problem
    rng = np.random.default_rng(0)
    value, share = expected(solution.rows, solution.theta)
    precision = 1 / spread(solution.rows, solution.weights, solution.theta, solution.prior).parameters
    by_size = np.argsort(-problem.n_by_benchmark, kind="stable")
    observed, simulated = 0.0, 0.0
    for _ in range(max(1, min(_SPLITS, _MANY // problem.n_observations))):
        is_first = np.zeros(len(by_size), dtype=bool)
        for k in range(0, len(by_size), 2):  # benchmarks with similar numbers of models go into different halves
            is_first[rng.permutation(by_size[k : k + 2])[0]] = True
        n_first = np.bincount(problem.model[is_first[problem.benchmark]], minlength=len(problem.models))
        is_there = np.minimum(n_first, problem.n_by_model - n_first) >= _FEWEST_SCORES
        if is_there.sum() < _FEWEST_MODELS:
            continue
        weights = precision[solution.layout.capability][is_there]
        observed += weights @ _differences(problem, is_first, is_there) ** 2
        errors = solution.noise.draw(share, problem, rng, _SIMULATIONS)
        for score in np.clip(value + errors, 0, 1):
            again = _differences(replace(problem, score=score), is_first, is_there)
            simulated += weights @ again**2 / _SIMULATIONS
    return max(1.0, float(observed / simulated)) if simulated > 0 else 1.0


def _differences(problem: Problem, is_first: Bools, is_there: Bools) -> Floats:
    """Standardised capabilities by the first half of the benchmarks minus those by the second."""
    standardised = []
    for half in (is_first, ~is_first):
        found = solve_hierarchy(problem.keep(half[problem.benchmark]), settled=_SETTLED)
        capability = found.theta[found.layout.capability][is_there]
        if not capability.std() > 0:
            return np.zeros(len(capability))
        standardised.append((capability - capability.mean()) / capability.std())
    difference: Floats = standardised[0] - standardised[1]
    return difference
