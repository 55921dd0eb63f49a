r"""What residuals of related scores tell about a score that is not there: a Gaussian process around the fitted curves.

.. math:: y_{mb} = f_{mb}(\theta) + u_{mb} + e_{mb}, \qquad f(\theta) \approx f(\hat\theta) + J (\theta - \hat\theta), \qquad \theta \sim \text{prior of the fit}

``u`` is the part of the noise that related scores share. In units of the benchmark's own noise its covariance is

* ``family``: models of one family on one benchmark;
* ``organisation``: models of one organisation on one benchmark, less alike the further apart they are released;
* ``date``: models released at about the same time, on one benchmark;
* ``trait``: scores of one model on benchmarks with similar residuals (a factor of the residuals), in part shared by its family and organisation.

What is left (``e``) is independent. The total variance is the noise of the fit, so nothing is added to it. Conditioning on all residuals at once
gives a mean and a variance, in which the uncertainty of capabilities, difficulties and slopes is included. The fit itself stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array
from scipy.special import expit

from howsure.stitch.model.layout import Floats, Ints
from howsure.stitch.model.noise import expected
from howsure.stitch.model.problem import Problem, sampling_variance
from howsure.stitch.model.solutions import Solution

__all__ = ["STRENGTHS", "PredictedScores", "ResidualProcess", "fit_residuals"]

# Shares of a benchmark's noise, and years, chosen on the table of November 2025 by held-out error; a table can only weaken them.
STRENGTHS = {"family": 0.3, "organisation": 0.25, "date": 0.1, "trait": 1.0}
_FACTORS = (1.0, 0.5, 0.0)
_ORGANISATION_YEARS, _DATE_YEARS = 2.0, 0.5
_TRAIT_SHARED = {"model": 0.3, "family": 0.3, "organisation": 0.4}
_LOADING_SD, _SWEEPS = 0.35, 15
_LEAST_OWN = 0.15  # share of the noise that no other score shares
_MOST = 3000  # scores that are conditioned on at once: the time grows with the cube
_LEAST_VARIANCE = 1e-12
_NODES = ((-(3**0.5), 1 / 6), (0.0, 2 / 3), (3**0.5, 1 / 6))  # Gauss–Hermite


class PredictedScores(NamedTuple):
    """Mean and variance of expected scores, and the variance of a score that would be observed, with its degrees of freedom."""

    mean: Floats
    variance: Floats
    observed_variance: Floats
    degrees: Floats


class _Condition(NamedTuple):
    """What predictions are conditioned on."""

    root: Floats  # Cholesky factor of the residuals' covariance
    residual: Floats  # from the prior mean of the parameters
    slopes: csr_array  # derivatives of the expected scores by the parameters
    sd: Floats  # of each score's noise, without the sampling error
    prior_variance: Floats  # of each parameter, 0 for one that is fixed
    offset: Floats  # prior mean of each parameter minus its estimate


@dataclass(frozen=True, eq=False)
class ResidualProcess:
    """A fit with the covariance of its residuals: ``strengths`` of the parts, ``loading`` of each benchmark on the residuals' factor."""

    solution: Solution
    strengths: dict[str, float]
    loading: Floats

    def predict(self, model: Ints, benchmark: Ints, n_effective: Floats | None = None) -> PredictedScores:
        """Scores of these models on these benchmarks, by index.

        ``n_effective`` is the number of items of each score; by default the benchmark's median. A table of more than 3,000 scores is conditioned on the 3,000
        that are most related to each model; the others count through the fitted parameters only.
        """
        problem = self.solution.problem
        items = problem.items_by_benchmark[benchmark] if n_effective is None else n_effective
        if problem.n_observations <= _MOST:
            return self._given(np.arange(problem.n_observations), model, benchmark, items)
        out = np.empty((4, len(model)))
        for m in np.unique(model):
            here = np.flatnonzero(model == m)
            known = _most_related(problem, m, np.unique(benchmark[here]))
            out[:, here] = self._given(known, model[here], benchmark[here], items[here])
        return PredictedScores(*out)

    def _given(self, known: Ints, model: Ints, benchmark: Ints, items: Floats) -> PredictedScores:
        problem, noise, nothing = self.solution.problem, self.solution.noise, np.zeros(len(model))
        m, b, at = problem.model[known], problem.benchmark[known], self._condition(known)
        value, share, slopes = _curves(self.solution, model, benchmark)
        sd, shared = np.sqrt(noise.of(share, benchmark, nothing)), self._shared(benchmark)
        cross = (slopes * at.prior_variance) @ at.slopes.T
        cross = cross.toarray() + sd[:, None] * at.sd * self._covariance(model, benchmark, m, b)
        weighed = solve_triangular(at.root, cross.T, lower=True)
        mean = value + slopes @ at.offset + weighed.T @ solve_triangular(at.root, at.residual, lower=True)
        variance = slopes.power(2) @ at.prior_variance + sd**2 * shared - (weighed**2).sum(axis=0)
        variance = np.maximum(variance, _LEAST_VARIANCE)
        # The noise depends on the expected score, which is itself uncertain: its mean over three points of a normal.
        floor, span = problem.floors[benchmark], (problem.ceilings - problem.floors)[benchmark]
        own = nothing
        for node, weight in _NODES:
            around = np.clip((mean + node * np.sqrt(variance) - floor) / span, 0, 1)
            own = own + weight * noise.of(around, benchmark, nothing)
        left = _unshared(shared) * own + sampling_variance(np.clip(mean, 0, 1), items)
        degrees = noise.degrees[benchmark].astype(np.float64)
        return PredictedScores(mean, variance, variance + left, degrees)

    def _condition(self, known: Ints) -> _Condition:
        """The covariance of the known residuals, with the parameters as uncertain as they are without these scores."""
        problem, prior, noise = self.solution.problem, self.solution.prior, self.solution.noise
        m, b = problem.model[known], problem.benchmark[known]
        value, share, slopes = _curves(self.solution, m, b)
        unit = 1.0 if self.solution.is_by_noise else _mean_variance(self.solution)
        precision = prior.precision / unit
        if prior.on_slope:  # a ridge on the slope a itself, whose curvature by log a is 2 a²
            at = self.solution.layout.log_slope
            precision[at] *= 2 * np.exp(2 * self.solution.theta[at])
        if len(known) < problem.n_observations:
            others = np.setdiff1d(np.arange(problem.n_observations), known)
            theirs = _curves(self.solution, problem.model[others], problem.benchmark[others])[2]
            precision = precision + self.solution.weights[others] / unit @ theirs.power(2)
        is_fixed = prior.low == prior.high
        prior_variance = np.where(is_fixed, 0.0, 1 / np.where(is_fixed, 1.0, precision))
        residual = problem.score[known] - value
        # At the optimum the scores pull as much as the prior, which tells where the prior's mean is.
        offset = -prior_variance * ((self.solution.weights[known] / unit * residual) @ slopes)
        own = noise.of(share, b, np.zeros(len(b)))
        sd = np.sqrt(own)
        covariance = ((slopes * prior_variance) @ slopes.T).toarray()
        covariance += sd[:, None] * sd * self._covariance(m, b, m, b)
        covariance[np.diag_indices(len(b))] += _unshared(self._shared(b)) * own + sampling_variance(
            value, problem.n_effective[known]
        )
        root = cholesky(covariance, lower=True, overwrite_a=True)
        return _Condition(root, residual - slopes @ offset, slopes, sd, prior_variance, offset)

    def log_likelihood(self, known: Ints) -> float:
        """Of the residuals of these scores, up to a constant."""
        at = self._condition(known)
        white = solve_triangular(at.root, at.residual, lower=True)
        return float(-white @ white / 2 - np.log(np.diagonal(at.root)).sum())

    def _shared(self, b: Ints) -> Floats:
        """The share of a score's noise that related scores share."""
        cells = sum(self.strengths[name] for name in ("family", "organisation", "date"))
        return cells + self.strengths["trait"] * self.loading[b] ** 2

    def _covariance(self, m: Ints, b: Ints, m2: Ints, b2: Ints) -> Floats:
        """Covariances of ``u`` between two lists of scores, in units of the benchmarks' noise."""
        problem, strength = self.solution.problem, self.strengths
        first, second = m[:, None], m2[None]
        apart = np.abs(problem.years[first] - problem.years[second])
        is_dated = ~np.isnat(problem.dates)
        apart = np.where(is_dated[first] & is_dated[second], apart, np.where(first == second, 0.0, np.inf))
        house = _organisations(problem)
        is_family = problem.family[first] == problem.family[second]
        near = (house[first] == house[second]) * np.exp(-apart / _ORGANISATION_YEARS)
        cell = (
            strength["family"] * is_family
            + strength["organisation"] * near
            + strength["date"] * np.exp(-apart / _DATE_YEARS)
        )
        out: Floats = np.where(b[:, None] == b2[None], cell, 0.0)
        if strength["trait"] > 0:
            alike = (
                _TRAIT_SHARED["model"] * (first == second)
                + _TRAIT_SHARED["family"] * is_family
                + _TRAIT_SHARED["organisation"] * near
            )
            out += strength["trait"] * alike * self.loading[b][:, None] * self.loading[b2]
        return out


def fit_residuals(solution: Solution) -> ResidualProcess:
    """The process whose strengths the residuals themselves support: each full, halved or absent, by marginal likelihood."""
    problem = solution.problem
    is_flat = solution.layout.n_dimensions == 1  # in two dimensions the fit has a trait of its own
    process = ResidualProcess(solution, STRENGTHS if is_flat else STRENGTHS | {"trait": 0.0}, _factor(solution))
    known = np.arange(problem.n_observations)
    if len(known) > _MOST:
        known = np.sort(np.random.default_rng(0).choice(len(known), _MOST, replace=False))
    best = process.log_likelihood(known)
    for name, factor in product([part for part in STRENGTHS if process.strengths[part]], _FACTORS[1:]):
        tried = ResidualProcess(solution, process.strengths | {name: STRENGTHS[name] * factor}, process.loading)
        if (found := tried.log_likelihood(known)) > best:
            process, best = tried, found
    return process


def _curves(solution: Solution, m: Ints, b: Ints) -> tuple[Floats, Floats, csr_array]:
    """Expected scores by the curves alone, their shares of the way from floor to ceiling, and the derivatives by all parameters."""
    problem, at, theta = solution.problem, solution.layout, solution.theta
    capability, slope = theta[at.capability][m], np.exp(theta[at.log_slope])[b]
    eta = slope * (capability - theta[at.difficulty][b])
    place, parts = np.arange(at.size), [slope, -slope, eta]
    columns = [place[at.capability][m], place[at.difficulty][b], place[at.log_slope][b]]
    if at.n_dimensions == 2:
        trait, loading = theta[at.trait][m], theta[at.loading][b]
        parts, columns = [*parts, loading, trait], [*columns, place[at.trait][m], place[at.loading][b]]
        eta = eta + loading * trait
    share, span = expit(eta), (problem.ceilings - problem.floors)[b]
    rise = span * share * (1 - share)
    entries = np.concatenate([rise * part for part in parts])
    rows = np.tile(np.arange(len(m)), len(parts))
    slopes = csr_array((entries, (rows, np.concatenate(columns))), shape=(len(m), at.size))
    return problem.floors[b] + span * share, share, slopes


def _factor(solution: Solution) -> Floats:
    """Loading of each benchmark on the first factor of the standardised residuals, by EM over the models' scores on the factor."""
    problem = solution.problem
    m, b = problem.model, problem.benchmark
    value, share = expected(solution.rows, solution.theta)
    standard = (problem.score - value) / np.sqrt(solution.noise.of(share, b, problem.sampling_variance(share)))
    n_models, n_benchmarks = len(problem.models), len(problem.benchmarks)
    loading = np.random.default_rng(1).normal(0, _LOADING_SD, n_benchmarks)
    for _ in range(_SWEEPS):
        variance = 1 / (1 + np.bincount(m, loading[b] ** 2, minlength=n_models))
        trait = variance * np.bincount(m, loading[b] * standard, minlength=n_models)
        size = np.bincount(b, (variance + trait**2)[m], minlength=n_benchmarks) + 1 / _LOADING_SD**2
        loading = np.bincount(b, trait[m] * standard, minlength=n_benchmarks) / size
    return loading


def _mean_variance(solution: Solution) -> float:
    """What makes an objective of plain squares one in units of the noise."""
    share = expected(solution.rows, solution.theta)[1]
    problem = solution.problem
    return float(solution.noise.of(share, problem.benchmark, problem.sampling_variance(share)).mean())


def _unshared(shared: Floats) -> Floats:
    return np.maximum(1 - shared, _LEAST_OWN)


def _organisations(problem: Problem) -> Ints:
    """Each model's organisation as a number; one of its own where it is unknown."""
    names = [name or f"\0{index}" for index, name in enumerate(problem.organisations)]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _most_related(problem: Problem, m: int, benchmarks: Ints) -> Ints:
    """The scores most related to model m on these benchmarks, in the order of the table."""
    house = _organisations(problem)
    there = np.isin(problem.benchmark, benchmarks)
    closeness = (
        8.0 * (problem.model == m)
        + 4.0 * (problem.family[problem.model] == problem.family[m])
        + 2.0 * there
        + 1.0 * (house[problem.model] == house[m])
    )
    return np.sort(np.argsort(-closeness, kind="stable")[:_MOST])
