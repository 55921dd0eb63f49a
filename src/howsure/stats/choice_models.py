"""Choices from sets of alternatives: the likelihood of a conditional logit, its maximum, and the covariance over clusters.

`paired_comparisons` writes comparisons and rankings as such choices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from howsure.stats._arrays import Bools, Floats, Ints

__all__ = [
    "JACKKNIFED",
    "MOST_SIMULATED",
    "ChoiceData",
    "ChoiceMaximum",
    "covariance_of",
    "pinned_curvature",
    "reached",
    "simulate_statistics",
    "solve",
]

JACKKNIFED = 200
"""Clusters that are left out one by one; with more, the sandwich formula gives the same."""
MOST_SIMULATED = 20_000_000
"""Clusters times squared parameters up to which `simulate_statistics` is quick and needs little memory."""
_SIMULATED = 100  # data sets at once
_LEAST_VARIANCE = 1e-300
_DENSE = 200_000  # numbers in a design that is kept dense


@dataclass(frozen=True, kw_only=True, eq=False)
class ChoiceData:
    """Choices from sets of alternatives.

    Alternatives of one stage are next to each other. A row is an observed choice: alternative ``chosen`` of ``stage[chosen]``, made by observation ``source`` and
    counted ``share`` times. ``better`` was preferred to ``worse`` (or tied, both ways) by observation ``by``.
    """

    names: tuple[str, ...]
    extras: tuple[str, ...]
    ties: dict[str, Ints]  # alternatives that are ties, by the name of their parameter
    design: sparse.csr_matrix
    stage: Ints
    starts: Ints
    chosen: Ints
    share: Floats
    source: Ints
    better: Ints
    worse: Ints
    by: Ints
    weights: Floats

    @cached_property
    def matrix(self) -> sparse.csr_matrix | Floats:
        """The design, dense where it is small: dense products have less overhead."""
        is_small = self.design.shape[0] * self.design.shape[1] <= _DENSE
        return self.design.toarray() if is_small else self.design

    def counts(self, weights: Floats) -> Floats:
        """How often each alternative was chosen."""
        return np.bincount(self.chosen, self.share * weights[self.source], self.design.shape[0]).astype(np.float64)

    def graph(self, weights: Floats) -> sparse.csr_matrix:
        """Items as nodes, with an edge from each to those that were preferred to it or tied with it."""
        seen = weights[self.by] > 0
        k = len(self.names)
        ones = np.ones(int(seen.sum()))
        return sparse.csr_matrix((ones, (self.worse[seen], self.better[seen])), shape=(k, k))


class ChoiceMaximum(NamedTuple):
    """Parameters at the maximum, which of them are there, the curvature, and the strengths with ±inf beyond the range."""

    parameters: Floats
    is_live: Bools
    hessian: Floats
    shares: Floats
    log_likelihood: float
    beyond: Floats
    converged: bool


def solve(choices: ChoiceData, weights: Floats) -> ChoiceMaximum:
    """Newton's method on the items that are linked in both directions; alternatives with another item have no probability."""
    k, p = len(choices.names), choices.design.shape[1]
    graph = choices.graph(weights)
    _, part = connected_components(graph, directed=True, connection="strong")
    sizes = np.bincount(part)
    inside = part[choices.better] == part[choices.worse]
    seen = np.bincount(part[choices.better[inside]], weights[choices.by[inside]], len(sizes))
    main = part == int(np.lexsort((seen, sizes))[-1])  # most items, then most comparisons
    beyond = np.full(k, np.nan)
    live = np.zeros(p, dtype=bool)
    if sizes.max() > 1:
        at = int(np.argmax(main))
        beyond[reached(graph, at) & ~main], beyond[reached(graph.T.tocsr(), at) & ~main] = np.inf, -np.inf
        live[:k] = main
    counts = choices.counts(weights)
    outside = choices.design[:, :k] @ (~live[:k]).astype(np.float64) > 0
    for name, members in choices.ties.items():
        number = k + choices.extras.index(name)
        if counts[members].sum() > 0:
            live[number] = True
        else:
            outside[members] = True
    counts[outside] = 0
    totals = np.add.reduceat(counts, choices.starts)
    offset = np.where(outside, -np.inf, 0.0)
    parameters = np.zeros(p)
    value, shares = _likelihood(choices, parameters, offset, counts)
    hessian = _hessian(choices, shares, totals)
    for number in range(k, p):  # what the strengths explain as well has no number of its own
        if not live[number] and _is_identified(hessian, live, number):
            live[number] = choices.extras[number - k] not in choices.ties
    converged = not live.any()
    scale = max(float(counts.sum()), 1.0)
    for _ in range(100):
        if not live.any():
            break
        gradient = choices.matrix.T @ (counts - totals[choices.stage] * shares)
        if np.abs(gradient[live]).max() < 1e-10 * scale:
            converged = True
            break
        step = np.zeros(p)
        step[live] = np.linalg.solve(pinned_curvature(hessian, live, k), gradient[live])
        size = min(1.0, 5 / float(np.abs(step).max()))
        while True:
            tried, found = _likelihood(choices, parameters + size * step, offset, counts)
            if tried >= value - 1e-12 * abs(value) or size < 1e-6:
                break
            size /= 2
        parameters, value, shares = parameters + size * step, tried, found
        hessian = _hessian(choices, shares, totals)
    beyond = np.where(live[:k], parameters[:k], beyond)
    return ChoiceMaximum(parameters, live, hessian, shares, value, beyond, converged)


def reached(graph: sparse.csr_matrix, start: int) -> Bools:
    """The items to which a chain of preferences leads from `start`."""
    found = np.zeros(graph.shape[0], dtype=bool)
    found[breadth_first_order(graph, start, return_predecessors=False)] = True
    return found


def _likelihood(choices: ChoiceData, parameters: Floats, offset: Floats, counts: Floats) -> tuple[float, Floats]:
    """The log-likelihood and the probability of each alternative in its stage."""
    utility = choices.matrix @ parameters + offset
    highest = np.maximum.reduceat(utility, choices.starts)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    odds = np.exp(utility - highest[choices.stage])
    total = np.add.reduceat(odds, choices.starts)
    total = np.where(total > 0, total, 1.0)
    log_share = utility - (highest + np.log(total))[choices.stage]
    return float(counts @ np.where(counts > 0, log_share, 0.0)), odds / total[choices.stage]


def _hessian(choices: ChoiceData, shares: Floats, totals: Floats) -> Floats:
    """Minus the second derivatives: the sum over stages of the covariance of the alternatives' rows of the design."""
    design, weight, means = choices.matrix, totals[choices.stage] * shares, _stage_means(choices, shares)
    if isinstance(design, np.ndarray):
        return np.asarray(design.T @ (weight[:, None] * design) - means.T @ (totals[:, None] * means))
    found = design.T @ (sparse.diags_array(weight) @ design) - means.T @ (sparse.diags_array(totals) @ means)
    return np.asarray(found.todense())


def _stage_means(choices: ChoiceData, shares: Floats) -> sparse.csr_matrix | Floats:
    """The mean row of the design in each stage."""
    if isinstance(choices.matrix, np.ndarray):
        return np.asarray(np.add.reduceat(shares[:, None] * choices.matrix, choices.starts, axis=0))
    n = len(shares)
    add = sparse.csr_matrix((shares, (choices.stage, np.arange(n))), shape=(len(choices.starts), n))
    return add @ choices.design


def pinned_curvature(hessian: Floats, live: Bools, k: int) -> Floats:
    """The curvature of the live parameters, with the mean strength fixed."""
    found = hessian[np.ix_(live, live)]
    m = int(live[:k].sum())
    if m:
        found[:m, :m] += max(float(np.diag(found)[:m].mean()), 1e-12) / m
    return found


def _is_identified(hessian: Floats, live: Bools, number: int) -> bool:
    """Whether a parameter changes the probabilities in a way that the live ones do not."""
    own = float(hessian[number, number])
    if own <= 0:
        return False
    inside, across = hessian[np.ix_(live, live)], hessian[live, number]
    explained = float(across @ np.linalg.lstsq(inside, across, rcond=1e-10)[0]) if live.any() else 0.0
    return own - explained > 1e-8 * own


def covariance_of(choices: ChoiceData, solved: ChoiceMaximum, kinds: Sequence[Ints]) -> tuple[Floats, float]:
    """Of all parameters, with mean strength 0, and its degrees of freedom; NaN for those that are not live, and everywhere with one cluster."""
    k, p = len(choices.names), choices.design.shape[1]
    live = solved.is_live
    found = np.full((p, p), np.nan)
    sizes = [int(kind[choices.weights > 0].max()) + 1 for kind in kinds]
    df = min(sizes, default=math.inf) - 1.0
    if not live.any() or df < 1:
        return found, df
    pinned = pinned_curvature(solved.hessian, live, k)
    parts = [_clustered(choices, solved, pinned, kind, n) for kind, n in zip(kinds, sizes, strict=True)]
    inner = parts[0] if parts else np.linalg.inv(pinned)
    if len(parts) > 1:
        alone = _clustered(choices, solved, pinned, np.arange(len(choices.weights)), len(choices.weights))
        inner = alone.copy()
        for part in parts:
            values, vectors = np.linalg.eigh(part - alone)
            inner += (vectors * np.maximum(values, 0.0)) @ vectors.T
        traces = np.array([float(np.trace(part)) for part in parts])
        df = max(float(traces.sum() ** 2 / (traces**2 / (np.array(sizes) - 1.0)).sum()), df)
    m = int(live[:k].sum())
    inner[:m] -= inner[:m].mean(axis=0)
    inner[:, :m] -= inner[:, :m].mean(axis=1, keepdims=True)
    found[np.ix_(live, live)] = inner
    return found, df


def _clustered(choices: ChoiceData, solved: ChoiceMaximum, pinned: Floats, cluster: Ints, n: int) -> Floats:
    """From how far each cluster moves the maximum: left out one by one, or by the sandwich formula."""
    weights = choices.share * choices.weights[choices.source]
    counted = (weights > 0) & (solved.shares[choices.chosen] > 0)
    row, chosen = np.flatnonzero(counted), choices.chosen[counted]
    adds = sparse.csr_matrix(
        (weights[counted], (cluster[choices.source[counted]], np.arange(len(row)))), shape=(n, len(row))
    )
    means = _stage_means(choices, solved.shares)
    moves = adds @ (choices.matrix[chosen] - means[choices.stage[chosen]])
    scores = np.asarray(moves if isinstance(moves, np.ndarray) else moves.todense())[:, solved.is_live]
    if n <= JACKKNIFED:
        pairs = zip(_curvatures(choices, solved, cluster, n), scores, strict=True)
        try:
            moved = np.array([_without(pinned, own) @ score for own, score in pairs])
            return np.asarray((n - 1) / n * moved.T @ moved)
        except np.linalg.LinAlgError:  # one cluster alone links an item: the sandwich formula needs no refit without it
            pass
    moved = np.linalg.solve(pinned, scores.T).T
    return np.asarray(n / (n - 1) * moved.T @ moved)


def _curvatures(choices: ChoiceData, solved: ChoiceMaximum, cluster: Ints, n: int) -> Iterator[Floats]:
    """What each cluster adds to the curvature of the live parameters."""
    weights = choices.share * choices.weights[choices.source]
    counted = (weights > 0) & (solved.shares[choices.chosen] > 0)
    live = np.ix_(solved.is_live, solved.is_live)
    for one in range(n):
        own = counted & (cluster[choices.source] == one)
        totals = np.bincount(choices.stage[choices.chosen[own]], weights[own], len(choices.starts)).astype(float)
        yield _hessian(choices, solved.shares, totals)[live]


def _without(pinned: Floats, own: Floats) -> Floats:
    """The inverse of the curvature without one cluster."""
    np.linalg.cholesky(pinned - own - 1e-8 * np.diag(np.diag(pinned)))
    return np.asarray(np.linalg.inv(pinned - own), np.float64)


def simulate_statistics(
    choices: ChoiceData, solved: ChoiceMaximum, cluster: Ints, covariance: Floats, size: int, rng: np.random.Generator
) -> Floats:
    r"""Differences of all pairs of live items over their standard errors, in data sets without any difference: (size, pairs).

    The gradient of cluster c is drawn with the covariance

    .. math:: H_c + \tau^2 H_c I_\theta H_c

    where H_c is its part of the curvature: votes are random, and voters have strengths of their own around the common ones, with a standard deviation τ that explains the covariance of the strengths
    found (``covariance``). The maximum, and the covariance of a jackknife, follow from the gradients. A t distribution would know neither that clusters differ in size nor that each pair has a standard error of its own.
    """
    n, k = int(cluster.max()) + 1, len(choices.names)
    m = int(solved.is_live[:k].sum())
    pinned = pinned_curvature(solved.hessian, solved.is_live, k)
    own, inverse = np.array(list(_curvatures(choices, solved, cluster, n))), np.linalg.inv(pinned)
    try:
        pulls, factor = np.array([_without(pinned, one) for one in own]), (n - 1) / n
    except np.linalg.LinAlgError:  # as in `_clustered`
        pulls, factor = inverse[None], n / (n - 1)
    centre = np.eye(m) - 1 / m
    reach = centre @ inverse[:m]  # from a gradient to the strengths
    by_taste = own[:, :, :m] @ own[:, :m]
    at_equal_tastes, per_taste = (float(np.trace(reach @ one @ reach.T)) for one in (pinned, by_taste.sum(axis=0)))
    taste = max((float(np.trace(covariance)) - at_equal_tastes) / per_taste, 0.0)
    values, vectors = np.linalg.eigh(own + taste * by_taste)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
    first, second = np.triu_indices(m, 1)
    found = np.empty((size, len(first)))
    for start in range(0, size, _SIMULATED):
        rows = slice(start, min(start + _SIMULATED, size))
        drawn = rng.standard_normal((n, rows.stop - rows.start, len(pinned)))
        gradient = drawn @ roots.transpose(0, 2, 1)
        estimate = gradient.sum(axis=0) @ inverse
        moved = ((gradient - estimate @ own) @ pulls.transpose(0, 2, 1))[:, :, :m].transpose(1, 0, 2)
        spread = factor * moved.transpose(0, 2, 1) @ moved
        variance = spread[:, first, first] + spread[:, second, second] - 2 * spread[:, first, second]
        found[rows] = (estimate[:, first] - estimate[:, second]) / np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
    return found
