r"""The default fit: priors and noise learned from the table itself.

.. math::

    C_m \sim N(\beta\, t_m, \tau_C^2), \quad D_b \sim N(\mu_D, \tau_D^2), \quad \log a_b \sim N(0, \tau_a^2),
    \quad T_m \sim N(0, 1), \quad l_b \sim N(0, \tau_l^2)

``t`` is a model's date in years from the mean; models without a date count as of the mean date. The constraint is that of the priors: capabilities
have mean 0, log slopes mean 0. The τ, β, μ and the noise of each benchmark are estimated by empirical Bayes: fit, look at the
estimates and their remaining variances, adjust, until nothing moves (EM with a normal approximation).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import cast

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import svds

from howsure.stitch.model.curvature import Spread, spread
from howsure.stitch.model.kernels import fit as minimise
from howsure.stitch.model.layout import Floats, Layout, Prior, Rows
from howsure.stitch.model.noise import ScoreNoise, estimate_noise, expected
from howsure.stitch.model.problem import Problem
from howsure.stitch.model.solutions import MOST_ITERATIONS, Solution

__all__ = ["solve_hierarchy"]

_MOST_ROUNDS = 60
_SETTLED = 1e-3
_ROUGHLY = 1e-3  # gradient within a round
_EXACTLY = 1e-7
_NARROWEST, _WIDEST = 0.1, 10.0  # of a prior's standard deviation, lest few models or benchmarks make it collapse
_FARTHEST = 50.0
_FIRST_VARIANCE = 0.08**2
_FEWEST_DATED = 10  # models that a trend needs


@dataclass(frozen=True)
class _Hyper:
    """What the priors are made of, and what a fit reports as learned."""

    trend: float = 0.0
    capability_sd: float = 1.0
    difficulty_mean: float = 0.0
    difficulty_sd: float = 1.5
    slope_sd: float = 0.5
    loading_sd: float = 0.5


def solve_hierarchy(
    problem: Problem, n_dimensions: int = 1, *, settled: float = _SETTLED, flat: Solution | None = None
) -> Solution:
    """The fit with learned priors and noise; in two dimensions it starts from the residuals of one.

    ``settled`` is the largest relative change of a hyper-parameter that ends the search, ``flat`` the fit in one dimension if it is known.
    """
    rows = problem.rows(n_dimensions)
    state = _begin(rows) if n_dimensions == 1 else _begin_second(problem, rows, flat or solve_hierarchy(problem))
    for _ in range(_MOST_ROUNDS):
        before, state = state, _round(problem, rows, state)
        if _change(before.hyper, state.hyper) < settled:
            break
    return _finish(problem, rows, state)


@dataclass(frozen=True, eq=False)
class _State:
    """Where the search stands."""

    theta: Floats
    hyper: _Hyper
    noise: ScoreNoise | None = None


def _begin(rows: Rows) -> _State:
    return _State(np.zeros(rows.layout.size), _Hyper())


def _begin_second(problem: Problem, rows: Rows, flat: Solution) -> _State:
    """The one-dimensional fit, and the first singular vectors of its standardised residuals."""
    at, hyper = rows.layout, _Hyper(**{k: v for k, v in flat.learned.items() if k in _Hyper.__dataclass_fields__})
    value, share = expected(flat.rows, flat.theta)
    sd = np.sqrt(flat.noise.of(share, problem.benchmark, problem.sampling_variance(share)))
    residual = coo_array(
        (((problem.score - value) / sd), (problem.model, problem.benchmark)), (at.n_models, at.n_benchmarks)
    )
    left, size, right = svds(residual, k=1, v0=np.ones(min(residual.shape)))
    theta = np.zeros(at.size)
    for part in ("capability", "difficulty", "log_slope"):
        theta[getattr(at, part)] = flat.theta[getattr(flat.layout, part)]
    theta[at.trait] = left[:, 0] * np.sqrt(at.n_models)
    theta[at.loading] = right[0] * size[0] / np.sqrt(at.n_models) / 2
    return _State(theta, hyper, flat.noise)


def _round(problem: Problem, rows: Rows, state: _State) -> _State:
    """Fit with the present priors and noise, then learn them anew."""
    prior, weights = _prior(problem, rows.layout, state.hyper), _weights(problem, rows, state)
    theta = minimise(rows, weights, state.theta, prior, _ROUGHLY, MOST_ITERATIONS).theta
    around = spread(rows, weights, theta, prior)
    noise = estimate_noise(problem, rows, theta, weights, around, state.noise)
    theta, around = _standardise(rows.layout, theta, around)
    return _State(theta, _learn(problem, rows.layout, theta, around), noise)


def _finish(problem: Problem, rows: Rows, state: _State) -> Solution:
    prior, weights = _prior(problem, rows.layout, state.hyper), _weights(problem, rows, state)
    fitted = minimise(rows, weights, state.theta, prior, _EXACTLY, MOST_ITERATIONS)
    noise = cast("ScoreNoise", state.noise)
    learned = {**asdict(state.hyper), "shape": noise.shape, "correlation": noise.correlation}
    if rows.layout.n_dimensions == 1:
        del learned["loading_sd"]
    return Solution(problem, rows, weights, prior, fitted, noise, 1 / np.sqrt(prior.precision), True, learned)


def _prior(problem: Problem, at: Layout, hyper: _Hyper) -> Prior:
    mean, sd = np.zeros(at.size), np.ones(at.size)
    mean[at.capability], sd[at.capability] = hyper.trend * problem.years, hyper.capability_sd
    mean[at.difficulty], sd[at.difficulty] = hyper.difficulty_mean, hyper.difficulty_sd
    sd[at.log_slope] = hyper.slope_sd
    if at.n_dimensions == 2:
        sd[at.loading] = hyper.loading_sd
    return Prior(mean, 1 / sd**2, np.full(at.size, -_FARTHEST), np.full(at.size, _FARTHEST), False)


def _weights(problem: Problem, rows: Rows, state: _State) -> Floats:
    if state.noise is None:
        return np.full(problem.n_observations, 1 / _FIRST_VARIANCE)
    share = expected(rows, state.theta)[1]
    return 1 / state.noise.of(share, rows.benchmark, problem.sampling_variance(share))


def _standardise(at: Layout, theta: Floats, around: Spread) -> tuple[Floats, Spread]:
    """The same fit with capabilities and log slopes of mean 0, and a trait of variance 1."""
    theta, variance = theta.copy(), around.parameters.copy()
    stretch = np.exp(theta[at.log_slope].mean())
    theta[at.log_slope] -= np.log(stretch)
    middle = theta[at.capability].mean()
    for part in (at.capability, at.difficulty):
        theta[part] = (theta[part] - middle) * stretch
        variance[part] *= stretch**2
    if at.n_dimensions == 2:
        unit = _rms(theta[at.trait], variance[at.trait])
        theta[at.trait] /= unit
        theta[at.loading] *= unit
        variance[at.loading] *= unit**2
    return theta, Spread(variance, around.eta)


def _learn(problem: Problem, at: Layout, theta: Floats, around: Spread) -> _Hyper:
    """Means, trend and standard deviations of the parameters, each with the variance that the data leave it."""
    years, variance = problem.years, around.parameters
    capability, difficulty = theta[at.capability], theta[at.difficulty]
    trend = float(years @ capability / (years @ years)) if np.count_nonzero(years) >= _FEWEST_DATED else 0.0
    middle = float(difficulty.mean())
    hyper = _Hyper(
        trend,
        _sd(capability - trend * years, variance[at.capability]),
        middle,
        _sd(difficulty - middle, variance[at.difficulty]),
        _sd(theta[at.log_slope], variance[at.log_slope]),
    )
    if at.n_dimensions == 1:
        return hyper
    return replace(hyper, loading_sd=_sd(theta[at.loading], variance[at.loading]))


def _sd(values: Floats, variance: Floats) -> float:
    return float(np.clip(_rms(values, variance), _NARROWEST, _WIDEST))


def _rms(values: Floats, variance: Floats) -> float:
    return float(np.sqrt(np.mean(values**2 + variance)))


def _change(before: _Hyper, after: _Hyper) -> float:
    pairs = zip(vars(before).values(), vars(after).values(), strict=True)
    return float(max(abs(new - old) / (abs(new) + 0.1) for old, new in pairs))
