r"""What residuals of related scores tell about a score that is not there: a Gaussian process around the fitted curves.

.. math:: y_{mb} = f_{mb}(\theta) + u_{mb} + e_{mb}, \qquad f(\theta) \approx f(\theta_0) + J (\theta - \theta_0), \qquad \theta \sim \text{prior of the fit}

``u`` is the part of the noise that related scores share. In units of the benchmark's own noise its covariance is

* ``family``: models of one family on one benchmark;
* ``organisation``: models of one organisation on one benchmark, less alike the further apart they are released;
* ``trait``: scores of one model on benchmarks with similar residuals (a factor of the residuals), in part shared by its family and organisation;
* ``date``: models released at about the same time, on one benchmark. It comes on top of the noise of the fit: curves are fitted to the models of their time, so
  residuals do not show what changes later.

``capability`` is the part of the capabilities' prior variance that families and organisations share. What is left of the noise (``e``) is independent.
Conditioning on all residuals at once gives a mean and a variance, in which the uncertainty of capabilities, difficulties and slopes is included. θ₀ is the mode under this process,
found by three Gauss–Newton steps from the fit, and expected scores are averaged over what remains uncertain of the curve's argument. The fit itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array
from scipy.special import expit, ndtr, ndtri

from howsure.stitch.model.fits import LEAST_SD, Solution, expected
from howsure.stitch.model.problem import Floats, Ints, Problem, sampling_variance

__all__ = ["STRENGTHS", "PredictedScores", "ResidualProcess", "fit_residuals"]

# Shares of a benchmark's noise (of the capabilities' prior variance), and years, chosen for the release on the table of November 2025; `benchmarks/stitch_prediction.py` compares
# them with strengths that each training part learns alone. A table can only weaken them.
STRENGTHS = {"family": 0.2, "organisation": 0.3, "trait": 1.5, "date": 0.1, "capability": 1.0}
_CURVE, _REST = ("parameters", "capability"), ("family", "organisation", "date", "trait")
_FACTORS = (0.5, 0.0)  # beside 1
_ORGANISATION_YEARS, _DATE_YEARS = 2.0, 1.0
_TRAIT_SHARED = {"model": 0.27, "family": 0.27, "organisation": 0.46}
_CAPABILITY_SHARED = {"family": 0.2, "organisation": 0.6}
_LOADING_SD, _SWEEPS = 0.35, 15
_STEPS = 3  # from the fit to the mode; a fourth changes predictions by less than 0.002, on average by 0.0001
_LEAST_OWN = 0.15  # share of the noise that no other score shares
_MOST = 3000  # scores that are conditioned on at once: the time grows with the cube
_LEAST_VARIANCE = 1e-12
_NODES = ndtri(
    (np.arange(40) + 0.5) / 40
)  # equally likely values of a normal variable; 2.5, 5 and 10 % lie between two of them
_NODES = _NODES / _NODES.std()
_FARTHEST_ETA, _LEAST_RISE = 3.0, 1e-3
_BEYOND = 5.0  # standard deviations


class PredictedScores(NamedTuple):
    """Expected scores as mixtures: the place on the curve is uncertain, and near floor and ceiling that makes the score's distribution skewed."""

    middle: Floats  # (scores, parts): the expected score at equally likely places on the curve
    rest: Floats  # variance of the expected score at a known place
    noise: Floats  # (scores, parts): variance that an observed score adds
    degrees: Floats  # of freedom behind the noise

    @property
    def mean(self) -> Floats:
        """The expected score, as if scores had no limits."""
        mean: Floats = self.middle.mean(axis=1)
        return mean

    @property
    def expected(self) -> Floats:
        """The expected score. At each place of the curve it is normal between 0 and 1."""
        middle, sd = self.parts
        low, high = -middle / sd, (1 - middle) / sd
        rise = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
        mean: Floats = (middle + sd * rise / (ndtr(high) - ndtr(low))).mean(axis=1)
        return mean

    def share_below(self, score: Floats) -> Floats:
        """The probability that the expected score is lower."""
        middle, sd = self.parts
        below, low, high = (ndtr((end - middle) / sd) for end in (score[:, None], 0.0, 1.0))
        share: Floats = ((below - low) / (high - low)).mean(axis=1)
        return share

    @property
    def parts(self) -> tuple[Floats, Floats]:
        """Means and standard deviation of the normals; none lies so far beyond 0 and 1 that nothing of it is left."""
        sd = np.sqrt(np.maximum(self.rest, LEAST_SD**2))[:, None]
        return np.clip(self.middle, -_BEYOND * sd, 1 + _BEYOND * sd), sd

    @property
    def variance(self) -> Floats:
        """How uncertain the expected score is."""
        variance: Floats = self.middle.var(axis=1) + self.rest
        return variance

    @property
    def observed_variance(self) -> Floats:
        """The same of a score that would be observed."""
        variance: Floats = self.variance + self.noise.mean(axis=1)
        return variance


class _Cells(NamedTuple):
    """Pairs of a model and a benchmark, and what the curves say of them."""

    model: Ints
    benchmark: Ints
    value: Floats  # expected score
    share: Floats  # of the way from floor to ceiling
    slopes: csr_array  # derivatives of the expected scores by the parameters
    by_capability: Floats  # that by the model's capability
    sd: Floats  # of the noise, without the sampling error


class _Known(NamedTuple):
    """The scores that predictions are conditioned on, before the strengths are known."""

    cells: _Cells
    residual: Floats  # from the prior mean of the parameters
    sampling: Floats  # variance of the scores as means of items
    prior_variance: Floats  # of each parameter, 0 for one that is fixed
    offset: Floats  # prior mean of each parameter minus its estimate
    is_whole: bool


class _Condition(NamedTuple):
    """The same with the Cholesky factor of the scores' covariance, and the residuals over that factor."""

    known: _Known
    root: Floats
    white: Floats


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
            return self._given(self._all, model, benchmark, items)
        n, each = len(model), (len(model), len(_NODES))
        found = PredictedScores(np.empty(each), np.empty(n), np.empty(each), np.empty(n))
        for m in np.unique(model):
            here = np.flatnonzero(model == m)
            known = self._condition(_most_related(problem, m, np.unique(benchmark[here])))
            for whole, part in zip(found, self._given(known, model[here], benchmark[here], items[here]), strict=True):
                whole[here] = part
        return found

    def covariance(self, model: int, benchmark: Ints) -> tuple[Floats, Floats]:
        """Of the expected scores of one model on several benchmarks: their covariance, and the variance of the noise that one observed score adds to each."""
        problem = self.solution.problem
        at = self._all if problem.n_observations <= _MOST else self._condition(_most_related(problem, model, benchmark))
        new = self._cells(np.full(len(benchmark), model), benchmark)
        weighed = solve_triangular(at.root, self._sum(self._parts(at.known, new, at.known.cells)).T, lower=True)
        covariance = self._sum(self._parts(at.known, new, new)) - weighed.T @ weighed
        own = _unshared(self._shared(benchmark)) * new.sd**2
        return covariance, own + sampling_variance(new.value, problem.items_by_benchmark[benchmark])

    def leave_one_out(self) -> PredictedScores:
        """What the other scores say of each score of the table: its mean, and the variance of an observed score there.

        In a table of more than 3,000 scores, each model's scores are predicted from the 3,000 most related ones.
        """
        problem = self.solution.problem
        mean, variance = np.empty((2, problem.n_observations))
        for rows, known in self._by_model:
            precision, pull = self._precision(known)
            place = np.searchsorted(known, rows)
            variance[rows] = 1 / np.diagonal(precision)[place]
            mean[rows] = problem.score[rows] - pull[place] * variance[rows]
        degrees = self.solution.noise.degrees[problem.benchmark].astype(np.float64)
        return PredictedScores(mean[:, None], variance, np.zeros((len(mean), 1)), degrees)

    def effects(self, rows: Sequence[Ints], sizes: Sequence[Floats]) -> tuple[Floats, Floats]:
        """How much better groups of scores are than expected, and the standard errors, by generalised least squares.

        Each group is some scores on one benchmark (``rows`` of the table) with a size for each: 1 for an effect on all, years for one per year. A table of more than
        3,000 scores is conditioned on those of the group's benchmark only.
        """
        problem, found, every = (
            self.solution.problem,
            np.empty((2, len(rows))),
            np.arange(self.solution.problem.n_observations),
        )
        precision, pull, known = np.empty(0), np.empty(0), every[:0]
        for g, (some, size) in enumerate(zip(rows, sizes, strict=True)):
            wanted = (
                every
                if len(every) <= _MOST
                else np.flatnonzero(problem.benchmark == problem.benchmark[some[0]])[:_MOST]
            )
            if not np.array_equal(wanted, known):
                known, (precision, pull) = wanted, self._precision(wanted)
            place = np.searchsorted(known, some)
            information = size @ precision[np.ix_(place, place)] @ size
            found[:, g] = size @ pull[place] / information, information**-0.5
        return found[0], found[1]

    def moved(self) -> ResidualProcess:
        """The same process around the parameters that are the likeliest under it, by one step; a large table keeps those of the fit."""
        if self.solution.problem.n_observations > _MOST:
            return self
        at, layout = self._all, self.solution.layout
        cells, pull = at.known.cells, solve_triangular(at.root, at.white, lower=True, trans="T")
        step = at.known.offset + at.known.prior_variance * (cells.slopes.T @ pull)
        every, variance = np.arange(layout.n_models), at.known.prior_variance[layout.capability]
        by_model = np.bincount(cells.model, cells.by_capability * pull, minlength=layout.n_models)
        alike = self.strengths["capability"] * self._related_capabilities(every, every)
        step[layout.capability] += np.sqrt(variance) * (alike @ (np.sqrt(variance) * by_model))
        theta = np.clip(self.solution.theta + step, self.solution.prior.low, self.solution.prior.high)
        fitted = self.solution.fitted._replace(theta=theta)
        return ResidualProcess(replace(self.solution, fitted=fitted), self.strengths, self.loading)

    @property
    def _by_model(self) -> Iterator[tuple[Ints, Ints]]:
        """Scores, and what they are conditioned on: all, or in a large table each model's scores and those most related to it."""
        problem, every = self.solution.problem, np.arange(self.solution.problem.n_observations)
        if len(every) <= _MOST:
            yield every, every
            return
        for m in np.unique(problem.model):
            rows = np.flatnonzero(problem.model == m)
            yield rows, np.union1d(_most_related(problem, int(m), problem.benchmark[rows]), rows)

    def _precision(self, rows: Ints) -> tuple[Floats, Floats]:
        """The inverse of the covariance of some scores, and its product with their residuals."""
        at = self._all if len(rows) == self.solution.problem.n_observations else self._condition(rows)
        inverse = solve_triangular(at.root, np.eye(len(rows)), lower=True)
        return inverse.T @ inverse, inverse.T @ at.white

    @cached_property
    def _all(self) -> _Condition:
        return self._condition(np.arange(self.solution.problem.n_observations))

    def _given(self, at: _Condition, model: Ints, benchmark: Ints, items: Floats) -> PredictedScores:
        problem, noise = self.solution.problem, self.solution.noise
        new, shared = self._cells(model, benchmark), self._shared(benchmark)
        floor, span = problem.floors[benchmark], (problem.ceilings - problem.floors)[benchmark]
        parts = self._parts(at.known, new, at.known.cells)
        from_curve = solve_triangular(at.root, self._sum(parts, _CURVE).T, lower=True)
        from_rest = solve_triangular(at.root, self._sum(parts, _REST).T, lower=True)
        curve_prior = np.asarray(new.slopes.power(2) @ at.known.prior_variance)
        curve = np.maximum(curve_prior - (from_curve**2).sum(axis=0), 0.0)
        total = (
            curve_prior + new.sd**2 * (shared + self.strengths["date"]) - ((from_curve + from_rest) ** 2).sum(axis=0)
        )
        total = np.maximum(total, _LEAST_VARIANCE)
        # The curve's argument is uncertain and the curve is not a line: average over it.
        shift = new.slopes @ at.known.offset + from_curve.T @ at.white
        rise = np.maximum(span * new.share * (1 - new.share), _LEAST_RISE)
        logit = np.log(np.maximum(new.share, _LEAST_VARIANCE) / np.maximum(1 - new.share, _LEAST_VARIANCE))
        middle = logit + np.clip(shift / rise, -_FARTHEST_ETA, _FARTHEST_ETA)
        # Where the rest makes up for errors of the curve, what remains is uncertain of the curve alone.
        spread = np.minimum(np.sqrt(np.minimum(curve, total)) / rise, _FARTHEST_ETA)
        around = expit(middle[:, None] + spread[:, None] * _NODES)
        mean = floor[:, None] + span[:, None] * around + (from_rest.T @ at.white)[:, None]
        share = np.clip((mean - floor[:, None]) / span[:, None], 0, 1)
        own = noise.of(share, benchmark[:, None], np.zeros_like(share))
        left = _unshared(shared)[:, None] * own + sampling_variance(np.clip(mean, 0, 1), items[:, None])
        degrees = noise.degrees[benchmark].astype(np.float64)
        return PredictedScores(mean, np.maximum(total - curve, 0.0), left, degrees)

    def _condition(self, rows: Ints) -> _Condition:
        known = self._known(rows)
        return self._conditioned(known, self._parts(known, known.cells, known.cells))

    def _conditioned(self, known: _Known, parts: Mapping[str, Floats]) -> _Condition:
        covariance = self._sum(parts)
        own = _unshared(self._shared(known.cells.benchmark)) * known.cells.sd**2
        covariance[np.diag_indices(len(own))] += own + known.sampling
        # transposed, it is in the order of LAPACK, which then needs no copy
        root = cholesky(covariance.T, lower=True, overwrite_a=True, check_finite=False)
        return _Condition(known, root, solve_triangular(root, known.residual, lower=True))

    def _known(self, rows: Ints) -> _Known:
        """Residuals of some scores, with the parameters as uncertain as they are without these scores."""
        solution = self.solution
        problem, prior, at = solution.problem, solution.prior, solution.layout
        cells = self._cells(problem.model[rows], problem.benchmark[rows])
        unit = 1.0 if solution.is_by_noise else _mean_variance(solution)
        precision, offset = prior.precision / unit, prior.mean - solution.theta
        if prior.on_slope:  # a ridge on the slope a itself, whose curvature by log a is 2 a²
            precision[at.log_slope] *= 2 * np.exp(2 * solution.theta[at.log_slope])
            offset[at.log_slope] = -0.5
        is_fixed = prior.low == prior.high
        residual, is_whole = problem.score[rows] - cells.value, len(rows) == problem.n_observations
        if not is_whole:
            others = np.setdiff1d(np.arange(problem.n_observations), rows)
            theirs = _curves(solution, problem.model[others], problem.benchmark[others])[2]
            precision = precision + solution.weights[others] / unit @ theirs.power(2)
        prior_variance = np.where(is_fixed, 0.0, 1 / np.where(is_fixed, 1.0, precision))
        if not is_whole:  # at the optimum these scores pull as much as the prior and the other scores
            offset = -prior_variance * ((solution.weights[rows] / unit * residual) @ cells.slopes)
        offset = np.where(is_fixed, 0.0, offset)
        sampling = sampling_variance(cells.value, problem.n_effective[rows])
        return _Known(cells, residual - cells.slopes @ offset, sampling, prior_variance, offset, is_whole)

    def _cells(self, model: Ints, benchmark: Ints) -> _Cells:
        value, share, slopes, by_capability = _curves(self.solution, model, benchmark)
        sd = np.sqrt(self.solution.noise.of(share, benchmark, np.zeros(len(model))))
        return _Cells(model, benchmark, value, share, slopes, by_capability, sd)

    def _parts(self, known: _Known, one: _Cells, two: _Cells) -> dict[str, Floats]:
        """Covariances of two lists of expected scores before any score is known: those of the fit's parameters, and each relation at strength 1."""
        m, m2, b, b2 = one.model, two.model, one.benchmark, two.benchmark
        variance = known.prior_variance[self.solution.layout.capability]
        # relations are those of models, of which there are fewer than scores
        (of, i), (of2, j) = (np.unique(some, return_inverse=True) for some in (m, m2))
        is_family, near = self._is_family(of, of2), self._nearness(of, of2)
        alike = _TRAIT_SHARED["family"] * is_family + _TRAIT_SHARED["organisation"] * near
        alike += _TRAIT_SHARED["model"] * (of[:, None] == of2[None])
        parts = {
            "capability": self._related_capabilities(of, of2),
            "family": is_family.astype(np.float64),
            "organisation": near,
            "date": np.exp(-self._apart(of, of2) / _DATE_YEARS),
            "trait": alike,
        }
        here = np.outer(one.sd, two.sd)
        here *= b[:, None] == b2[None]
        found = {"parameters": ((one.slopes * known.prior_variance) @ two.slopes.T).toarray()}
        for name, relation in parts.items():  # in place: much of the time would go into new memory
            found[name] = relation[:, j][i]
            if name == "capability":
                by, by2 = (cells.by_capability * np.sqrt(variance[cells.model]) for cells in (one, two))
                found[name] *= np.outer(by, by2) if known.is_whole else 0.0
            elif name == "trait":
                found[name] *= np.outer(one.sd * self.loading[b], two.sd * self.loading[b2])
            else:
                found[name] *= here
        return found

    def _sum(self, parts: Mapping[str, Floats], names: Sequence[str] | None = None) -> Floats:
        """The parts, each by its strength."""
        total = np.zeros_like(next(iter(parts.values())))
        scratch = np.empty_like(total)
        for name in parts if names is None else names:
            if strength := 1.0 if name == "parameters" else self.strengths[name]:
                total += np.multiply(parts[name], strength, out=scratch)
        return total

    def _related_capabilities(self, m: Ints, m2: Ints) -> Floats:
        """How alike two models' capabilities are before any score is known, from 0 to 1; 0 for a model with itself, whose variance is that of the fit's prior."""
        alike = _CAPABILITY_SHARED["family"] * self._is_family(m, m2)
        alike = alike + _CAPABILITY_SHARED["organisation"] * self._nearness(m, m2)
        related: Floats = np.where(m[:, None] == m2[None], 0.0, alike)
        return related

    def _shared(self, b: Ints) -> Floats:
        """The share of a score's noise that related scores share."""
        return (
            self.strengths["family"] + self.strengths["organisation"] + self.strengths["trait"] * self.loading[b] ** 2
        )

    def _is_family(self, m: Ints, m2: Ints) -> np.ndarray:
        family = self.solution.problem.family
        return np.asarray(family[m][:, None] == family[m2])

    def _nearness(self, m: Ints, m2: Ints) -> Floats:
        """1 for a model with itself, less for models of one organisation the further apart they are, 0 for others."""
        house = _organisations(self.solution.problem)
        near: Floats = (house[m][:, None] == house[m2]) * np.exp(-self._apart(m, m2) / _ORGANISATION_YEARS)
        return near

    def _apart(self, m: Ints, m2: Ints) -> Floats:
        """Years between two releases, infinite where one is unknown."""
        problem = self.solution.problem
        years = np.where(np.isnat(problem.dates), np.nan, problem.years)
        apart = np.abs(years[m][:, None] - years[m2])
        gap: Floats = np.where(m[:, None] == m2[None], 0.0, np.where(np.isnan(apart), np.inf, apart))
        return gap


def fit_residuals(
    solution: Solution,
    strengths: Mapping[str, float] = STRENGTHS,
    factors: Sequence[float] = _FACTORS,
    n_sweeps: int = 1,
) -> ResidualProcess:
    """The process whose strengths the residuals themselves support, by marginal likelihood: each is one of ``factors`` times what ``strengths`` say, by default full, halved or absent."""
    problem = solution.problem
    is_flat = solution.layout.n_dimensions == 1  # in two dimensions the fit has a trait of its own
    full = dict(strengths) if is_flat else {**strengths, "trait": 0.0}
    process = ResidualProcess(solution, full, _factor(solution))
    known = np.arange(problem.n_observations)
    if len(known) > _MOST:
        known = np.sort(np.random.default_rng(0).choice(len(known), _MOST, replace=False))
    scores = process._known(known)
    parts = process._parts(scores, scores.cells, scores.cells)
    best = _log_likelihood(process._conditioned(scores, parts))
    for _, name, factor in product(range(n_sweeps), [part for part in full if full[part]], factors):
        if process.strengths[name] == full[name] * factor:
            continue
        tried = ResidualProcess(solution, process.strengths | {name: full[name] * factor}, process.loading)
        if (found := _log_likelihood(tried._conditioned(scores, parts))) > best:
            process, best = tried, found
    for _ in range(_STEPS):
        process = process.moved()
    return process


def _log_likelihood(at: _Condition) -> float:
    """Of the residuals, up to a constant."""
    return float(-at.white @ at.white / 2 - np.log(np.diagonal(at.root)).sum())


def _curves(solution: Solution, m: Ints, b: Ints) -> tuple[Floats, Floats, csr_array, Floats]:
    """Expected scores by the curves alone, their shares of the way from floor to ceiling, the derivatives by all parameters, and those by the capability."""
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
    return problem.floors[b] + span * share, share, slopes, rise * slope


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
