r"""The fits of a scale: the errors of scores, the published ridge, and the hierarchical fit that is the default.

The weights and the replicates follow how far scores lie from the curve:

.. math:: \mathrm{Var}(y_i) = v_b\, g(p_i) + \frac{\mu_i (1 - \mu_i)}{n_i}, \qquad g(p) = \frac{4 p (1 - p) + \kappa}{1 + \kappa}

``v`` is the variance half-way up the benchmark's curve, estimated for each benchmark and shrunk towards the others; ``κ`` says how much
of it is left at floor and ceiling (large: all of it). The second part is the sampling variance of a mean of ``n`` items. It is taken at the
fitted score μ, never at the observed one: a score of 0 out of 10 items is not exact, and weights that follow the observed scores bias
the slopes. Errors of one family's models on one benchmark correlate by ``ρ``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import cast

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import svds
from scipy.special import expit

from howsure.compiled import kernel
from howsure.stitch.model.problem import AnchorBenchmark, Constraint, Fitted, Floats, Ints, Layout, Prior, Problem, Rows
from howsure.stitch.model.solver import Spread, eta, fit, spread
from howsure.stitch.model.solver import fit as minimise

__all__ = [
    "LEAST_SD",
    "MOST_ITERATIONS",
    "RIDGE",
    "TOLERANCE",
    "ScoreNoise",
    "Solution",
    "estimate_noise",
    "expected",
    "solve_hierarchy",
    "solve_ridge",
]

LEAST_SD = 0.005
"""Least standard deviation of a score around its curve: what rounding to two digits hides, if nothing else is known."""
_SHAPES = np.array([0.02, 0.1, 0.5, 2.0, 1e6])
_LEAST_VARIANCE = 1e-6  # a standard deviation of 0.001: scores are rounded
_LEAST_SHARE = 0.02  # of the mean variance: what a benchmark on which all fail would have is no guide to the others
# Real tables would take 3. But a benchmark that happens to have small errors draws weight, and then has smaller ones still.
_PRIOR_DEGREES = 8.0
_FEWEST_DEGREES = 2.0
_KNOWN_DEGREES = 1e6
_SWEEPS = 30


@dataclass(frozen=True, eq=False)
class ScoreNoise:
    """``variance`` v and ``degrees`` of freedom behind it for each benchmark, ``shape`` κ, ``correlation`` ρ."""

    variance: Floats
    degrees: Floats
    shape: float
    correlation: float

    def of(self, share: Floats, benchmark: Ints, sampling: Floats) -> Floats:
        """The variance of scores at `share` of the way from floor to ceiling, `sampling` being that of a mean of items."""
        return self.total(self.variance[benchmark], share, sampling)

    def draw(self, share: Floats, problem: Problem, rng: np.random.Generator, size: int) -> Floats:
        """Errors for the problem's scores, `size` times; the variances are drawn too, as sure as they are known."""
        variance = self.draw_variance(rng, size)
        sd = np.sqrt(self.total(variance[:, problem.benchmark], share, problem.sampling_variance(share)))
        shared = rng.standard_normal((size, problem.cell.max() + 1))[:, problem.cell]
        own = rng.standard_normal((size, problem.n_observations))
        drawn: Floats = sd * (np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * own)
        return drawn

    def draw_variance(self, rng: np.random.Generator, size: int) -> Floats:
        """The variances half-way up the curves as uncertain as they are, `size` times: (size, benchmarks)."""
        drawn: Floats = self.variance * self.degrees / rng.chisquare(self.degrees, (size, len(self.degrees)))
        return drawn

    def total(self, variance: Floats, share: Floats, sampling: Floats) -> Floats:
        """The variance of scores with this variance half-way up the curve."""
        total: Floats = np.maximum(variance * _profile(share, self.shape) + sampling, LEAST_SD**2)
        return total


def expected(rows: Rows, theta: Floats) -> tuple[Floats, Floats]:
    """Each row's expected score, and its share of the way from floor to ceiling."""
    share = expit(eta(rows, theta))
    return rows.floor[rows.benchmark] + rows.span[rows.benchmark] * share, share


def estimate_noise(
    problem: Problem, rows: Rows, theta: Floats, weights: Floats, spread: Spread, before: ScoreNoise | None = None
) -> ScoreNoise:
    """The noise that the residuals at `theta` show, corrected for what the fit has taken from them.

    ``before`` is an earlier estimate: beside a known sampling variance, what is left for v depends on it.
    """
    b, cell = rows.benchmark, problem.cell
    value, share = expected(rows, theta)
    sampling = problem.sampling_variance(share)
    leverage = weights * (rows.span[b] * share * (1 - share)) ** 2 * spread.eta
    taken = _mean_by(np.minimum(leverage, 1), b, len(rows.floor))
    squares = (rows.score - value) ** 2 / (1 - np.minimum(taken, 0.9))[b]
    free = (1 - taken) * _mean_by(1 / np.bincount(cell)[cell], b, len(rows.floor))  # siblings' errors count as one
    if problem.has_single_items:  # the variance of right or wrong follows from the mean: there is nothing beside it
        none, sure = np.full(len(rows.floor), _LEAST_VARIANCE), np.full(len(rows.floor), _KNOWN_DEGREES)
        noise = ScoreNoise(none, sure, float(_SHAPES[-1]), 0.0)
    else:
        noise = _likeliest(share, b, squares, free, sampling, before)
    standard = (rows.score - value) / np.sqrt(noise.of(share, b, sampling))
    return ScoreNoise(noise.variance, noise.degrees, noise.shape, _correlation(standard, cell))


def _likeliest(
    share: Floats, b: Ints, squares: Floats, free: Floats, sampling: Floats, before: ScoreNoise | None
) -> ScoreNoise:
    """The shape under which the squared residuals are likeliest, and the variances that go with it; all shapes are tried at once."""
    n, profile = len(free), _profile(share, _SHAPES[:, None])
    common = max(float(squares.mean() if before is None else before.variance.mean()), _LEAST_VARIANCE)
    told = (
        common * profile / (common * profile + sampling)
    )  # little where most of a row's variance is that of its items
    known = _sums_by(told, b, n)
    raw = _sums_by(told * (squares - sampling) / profile, b, n) / np.maximum(known, 1e-9)
    variances, degrees = _shrunk(raw, known * free)
    tried = [ScoreNoise(*one, 0.0) for one in zip(variances, degrees, _SHAPES.tolist(), strict=True)]
    total = np.array([one.of(share, b, sampling) for one in tried])
    return tried[np.argmax(-(np.log(total) + squares / total).sum(axis=1))]


def _shrunk(raw: Floats, degrees: Floats) -> tuple[Floats, Floats]:
    """Variances (in each row) moved towards each other as far as their own degrees of freedom leave doubt, and the degrees behind them.

    The true ones are taken as scaled inverse χ² around a common scale, which is found by maximum likelihood: their harmonic mean. In a small table that scale is itself
    uncertain, with all degrees of freedom that the residuals have together.
    """
    pooled = np.maximum(np.average(raw, axis=-1, weights=degrees + 1e-9, keepdims=True), _LEAST_VARIANCE)
    own, total = degrees * np.maximum(raw, _LEAST_SHARE * pooled), degrees + _PRIOR_DEGREES
    scale = _harmonic_scale(own, total, pooled[:, 0])
    variance = (own + _PRIOR_DEGREES * scale[:, None]) / total
    behind_scale = np.maximum(np.add.reduce(degrees, axis=-1, keepdims=True), _FEWEST_DEGREES)
    return variance, np.maximum(1 / (1 / total + 1 / behind_scale), _FEWEST_DEGREES)


@kernel
def _harmonic_scale(own: Floats, total: Floats, first: Floats) -> Floats:
    """The scale that is the harmonic mean of the variances shrunk towards it, in each row: found by repetition from ``first``."""
    scale = first.copy()
    for row in range(len(own)):
        for _ in range(_SWEEPS):
            inverse = 0.0
            for k in range(own.shape[1]):
                inverse += total[row, k] / (own[row, k] + _PRIOR_DEGREES * scale[row])
            scale[row] = own.shape[1] / inverse
    return scale


def _profile(share: Floats, shape: float | Floats) -> Floats:
    return (4 * share * (1 - share) + shape) / (1 + shape)


def _sums_by(values: Floats, group: Ints, n: int) -> Floats:
    """The sum of each group in each row."""
    return np.array([np.bincount(group, row, minlength=n) for row in values])


def _mean_by(values: Floats, group: Ints, n: int) -> Floats:
    """Mean of each group, 0 for one without values."""
    return np.bincount(group, values, minlength=n) / np.maximum(np.bincount(group, minlength=n), 1)


def _correlation(standard: Floats, cell: Ints) -> float:
    """Mean product of two standardised residuals of the same cell, over their mean square."""
    n = np.bincount(cell)
    totals, squares = np.bincount(cell, standard), np.bincount(cell, standard**2)
    n_pairs = (n * (n - 1)).sum()
    if not n_pairs or not squares.sum():
        return 0.0
    return float(np.clip((totals**2 - squares).sum() / n_pairs / (squares.sum() / n.sum()), 0, 0.95))


# The default fit: priors and noise learned from the table itself.
#
# .. math::
#
#     C_m \sim N(\beta\, t_m, \tau_C^2), \quad D_b \sim N(\mu_D, \tau_D^2), \quad \log a_b \sim N(0, \tau_a^2),
#     \quad T_m \sim N(0, 1), \quad l_b \sim N(0, \tau_l^2)
#
# ``t`` is a model's date in years from the mean; models without a date count as of the mean date. The constraint is that of the priors: capabilities
# have mean 0, log slopes mean 0. The τ, β, μ and the noise of each benchmark are estimated by empirical Bayes: fit, look at the
# estimates and their remaining variances, adjust, until nothing moves (EM with a normal approximation).


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
    if problem.has_single_items:
        # Where the curve is flat, the normal approximation leaves a parameter its prior variance, to which the square of the estimate is added: spreads that are learned from right and
        # wrong grow without limit. Those of difficulties, slopes and loadings are then the usual ones of item response theory, and there is no trend.
        return replace(_Hyper(), capability_sd=_sd(capability, variance[at.capability]), difficulty_mean=middle)
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


# A fitted problem as the solver left it, and the published objective.


RIDGE = 0.1
TOLERANCE = 1e-9
MOST_ITERATIONS = 500
_RIDGE_FARTHEST = 10.0  # capabilities and difficulties
_SLOPES = (0.1, 10.0)


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimum and all that made it.

    ``prior_sd`` is how unsure each prior mean is, 0 for a mere penalty. ``is_by_noise`` says that a score's weight is the inverse of its
    variance; otherwise all weigh the same on the way from floor to ceiling.
    """

    problem: Problem
    rows: Rows
    weights: Floats
    prior: Prior
    fitted: Fitted
    noise: ScoreNoise
    prior_sd: Floats
    is_by_noise: bool
    learned: Mapping[str, float] = field(default_factory=dict)

    @property
    def theta(self) -> Floats:
        """The parameters, in the solver's own constraint."""
        return self.fitted.theta

    @property
    def layout(self) -> Layout:
        """Where each kind of parameter lies."""
        return self.rows.layout


def solve_ridge(
    problem: Problem,
    constraint: Constraint,
    *,
    ridge: float = RIDGE,
    variances: Floats | None = None,
    equal_slopes: bool = False,
    start: Floats | None = None,
) -> Solution:
    r"""Least squares with one ridge over all parameters: the objective of "A Rosetta Stone for AI Benchmarks".

    .. math:: \tfrac12 \sum_i (\hat y_i - y_i)^2 + \frac{\lambda}{2 n} \Bigl(\sum C^2 + \sum D^2 + \sum a^2\Bigr)

    over the n free parameters, C and D within ±10, slopes within 0.1 to 10. The anchor's slope is fixed; its difficulty is not, since
    the ridge pins the location, and the scale is moved afterwards. With ``equal_slopes`` all slopes are 1 (Rasch); with ``variances`` of the
    scores their errors are weighted.
    """
    rows = problem.rows()
    prior = _ridge_prior(rows.layout, constraint, ridge, equal_slopes=equal_slopes)
    weights = 1 / rows.span[rows.benchmark] ** 2 if variances is None else variances.mean() / variances
    begin = np.zeros(rows.layout.size) if start is None else start
    fitted = fit(rows, weights, begin, prior, TOLERANCE, MOST_ITERATIONS)
    around = spread(rows, weights, fitted.theta, prior)
    noise = estimate_noise(problem, rows, fitted.theta, weights, around)
    return Solution(
        problem,
        rows,
        weights,
        prior,
        fitted,
        noise,
        np.zeros(rows.layout.size),
        variances is not None,
        {"ridge": ridge},
    )


def _ridge_prior(at: Layout, constraint: Constraint, ridge: float, *, equal_slopes: bool) -> Prior:
    low, high = np.full(at.size, -_RIDGE_FARTHEST), np.full(at.size, _RIDGE_FARTHEST)
    low[at.log_slope], high[at.log_slope] = np.log(_SLOPES)
    if equal_slopes:
        low[at.log_slope] = high[at.log_slope] = 0.0
    elif isinstance(constraint, AnchorBenchmark):
        anchor = np.arange(at.size)[at.log_slope][constraint.benchmark]
        low[anchor] = high[anchor] = np.log(constraint.slope)
    is_free = low < high
    return Prior(np.zeros(at.size), np.where(is_free, ridge / is_free.sum(), 0.0), low, high, True)
