"""Cost, derivatives and solver against numpy, finite differences and dense algebra."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from howsure.stitch.model.problem import Prior, Rows
from howsure.stitch.model.solver import cost, derive, eta, fit, fit_many, hold, make_system, plain_cost, solve, spread


def make_rows(n_dimensions, *, n_models=7, n_benchmarks=4, seed=0):
    rng = np.random.default_rng(seed)
    model, benchmark = np.nonzero(rng.random((n_models, n_benchmarks)) < 0.8)
    start = np.searchsorted(model, np.arange(n_models + 1)).astype(np.int64)
    floor = np.array([0.0, 0.25, 0.0, 0.1])[:n_benchmarks]
    span = np.array([1.0, 0.7, 0.9, 0.9])[:n_benchmarks]
    score = rng.random(len(model))
    return Rows(start, benchmark.astype(np.int64), score, floor, span, tuple(range(n_dimensions)))


def make_prior(rows, *, on_slope=False, seed=1):
    rng = np.random.default_rng(seed)
    n = rows.layout.size
    mean = rng.normal(size=n)
    if on_slope:
        mean[rows.layout.log_slope] = 0.5
    return Prior(mean, rng.uniform(0.3, 2, n), np.full(n, -9.0), np.full(n, 9.0), on_slope)


def make_case(n_dimensions, *, on_slope=False, seed=2):
    rng = np.random.default_rng(seed)
    rows = make_rows(n_dimensions)
    return (
        rows,
        rng.uniform(0.2, 2, len(rows.score)),
        rng.normal(0, 0.8, rows.layout.size),
        make_prior(rows, on_slope=on_slope),
    )


def dense_hessian(rows, system):
    """The whole matrix from its blocks."""
    at, p = rows.layout, len(rows.dimensions)
    q, first = p + 1, at.n_models * p
    whole = np.zeros((at.size, at.size))
    for m in range(at.n_models):
        whole[m * p : (m + 1) * p, m * p : (m + 1) * p] = system.model[m]
    for b in range(at.n_benchmarks):
        whole[first + b * q : first + (b + 1) * q, first + b * q : first + (b + 1) * q] = system.benchmark[b]
    for i, (m, b) in enumerate(zip(rows.model, rows.benchmark, strict=True)):
        whole[first + b * q : first + (b + 1) * q, m * p : (m + 1) * p] = system.cross[i]
    return np.tril(whole) + np.tril(whole, -1).T


@pytest.fixture(params=[(1, False), (1, True), (2, False), (2, True)], ids=["1d", "1d ridge", "2d", "2d ridge"])
def case(request):
    return make_case(request.param[0], on_slope=request.param[1])


def test_cost_is_the_same_in_numpy(case):
    assert cost(*case) == pytest.approx(plain_cost(*case), rel=1e-13)


def test_eta_is_slope_times_the_gap_and_loading_times_the_trait():
    rows, _, theta, _ = make_case(2)
    at = rows.layout
    m, b = rows.model[3], rows.benchmark[3]
    slope = np.exp(theta[at.log_slope][b])
    by_hand = slope * (theta[at.capability][m] - theta[at.difficulty][b]) + theta[at.loading][b] * theta[at.trait][m]
    assert eta(rows, theta)[3] == pytest.approx(by_hand)


def test_gradient_by_finite_differences(case):
    rows, weights, theta, prior = case
    system = make_system(rows, len(theta))
    assert derive(rows, weights, theta, prior, True, system) == pytest.approx(cost(*case), rel=1e-13)
    steps = 1e-6 * np.eye(len(theta))
    costs = [(cost(rows, weights, theta + s, prior), cost(rows, weights, theta - s, prior)) for s in steps]
    assert system.gradient == pytest.approx([(more - less) / 2e-6 for more, less in costs], abs=1e-7)


def test_exact_hessian_by_finite_differences(case):
    rows, weights, theta, prior = case

    def gradient(x):
        system = make_system(rows, len(theta))
        derive(rows, weights, x, prior, True, system)
        return system.gradient.copy()

    system = make_system(rows, len(theta))
    derive(rows, weights, theta, prior, True, system)
    steps = 1e-6 * np.eye(len(theta))
    numeric = np.array([(gradient(theta + step) - gradient(theta - step)) / 2e-6 for step in steps])
    assert dense_hessian(rows, system) == pytest.approx(numeric, abs=1e-7)


def test_gauss_newton_is_exact_where_all_residuals_are_nil():
    rows, weights, theta, prior = make_case(2)
    rows = rows._replace(score=rows.floor[rows.benchmark] + rows.span[rows.benchmark] / (1 + np.exp(-eta(rows, theta))))
    exact, gauss_newton = make_system(rows, len(theta)), make_system(rows, len(theta))
    derive(rows, weights, theta, prior, True, exact)
    derive(rows, weights, theta, prior, False, gauss_newton)
    assert dense_hessian(rows, exact) == pytest.approx(dense_hessian(rows, gauss_newton), abs=1e-12)


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_elimination_solves_the_whole_system(case, damping):
    rows, weights, theta, prior = case
    system = make_system(rows, len(theta))
    derive(rows, weights, theta, prior, False, system)
    whole = dense_hessian(rows, system)
    assert solve(rows, damping, system)
    assert system.move == pytest.approx(-np.linalg.solve(whole + damping * np.diag(np.diag(whole)), system.gradient))


def test_an_indefinite_matrix_is_noticed():
    rows, weights, theta, prior = make_case(1)
    system = make_system(rows, len(theta))
    derive(rows, weights, theta, prior, False, system)
    system.model[2] = -1.0
    assert not solve(rows, 0.0, system)
    derive(rows, weights, theta, prior, False, system)
    system.benchmark[1, 0, 0] = -1.0
    assert not solve(rows, 0.0, system)


def test_the_optimum_is_the_one_scipy_finds(case):
    rows, weights, theta, prior = case
    found = fit(rows, weights, theta, prior, 1e-10, 300)
    other = minimize(lambda x: cost(rows, weights, x, prior), found.theta + 0.01, method="BFGS", options={"gtol": 1e-9})
    assert found.converged
    assert found.gradient_norm < 1e-10
    assert found.cost <= other.fun + 1e-10
    assert found.theta == pytest.approx(other.x, abs=1e-4)


def test_fixed_parameters_and_bounds_hold():
    rows, weights, theta, prior = make_case(1)
    at = rows.layout
    free = fit(rows, weights, theta, prior, 1e-9, 300)
    low, high = prior.low.copy(), prior.high.copy()
    low[at.log_slope][0] = high[at.log_slope][0] = 0.3  # fixed
    high[at.capability][1] = free.theta[at.capability][1] - 0.5  # pressed against its bound
    boxed = prior._replace(low=low, high=high)
    found = fit(rows, weights, theta, boxed, 1e-9, 300)
    assert found.converged
    assert found.theta[at.log_slope][0] == 0.3
    assert found.theta[at.capability][1] == high[at.capability][1]
    assert found.cost > free.cost
    system = make_system(rows, len(theta))
    derive(rows, weights, found.theta, boxed, True, system)
    assert system.gradient[at.capability][1] < 0  # the cost would fall beyond the bound
    assert hold(rows, found.theta, boxed, system) < 1e-9


def test_too_few_iterations_are_told():
    found = fit(*make_case(1), 1e-12, 2)
    assert not found.converged
    assert found.gradient_norm > 1e-12


def test_many_fits_are_single_fits():
    rows, weights, theta, prior = make_case(1)
    rng = np.random.default_rng(5)
    scores, means = rng.random((3, len(rows.score))), rng.normal(size=(3, len(theta)))
    thetas, converged = fit_many(rows, scores, np.stack([weights] * 3), means, theta, prior, 1e-9, 300)
    assert converged.all()
    for r in range(3):
        alone = fit(rows._replace(score=scores[r]), weights, theta, prior._replace(mean=means[r]), 1e-9, 300)
        assert (thetas[r] == alone.theta).all()


@pytest.mark.parametrize("n_dimensions", [1, 2])
def test_spread_is_the_inverse_of_the_curvature(n_dimensions):
    rows, weights, theta, prior = make_case(n_dimensions)
    system = make_system(rows, len(theta))
    derive(rows, weights, theta, prior, False, system)
    inverse = np.linalg.inv(dense_hessian(rows, system))
    found = spread(rows, weights, theta, prior)
    assert found.parameters == pytest.approx(np.diag(inverse))
    by_theta = np.array([approx_fprime(theta, lambda x, i=i: eta(rows, x)[i], 1e-7) for i in range(len(rows.score))])
    assert found.eta == pytest.approx(np.einsum("ij,jk,ik->i", by_theta, inverse, by_theta), rel=1e-4)


def test_spread_of_a_fixed_parameter_is_nil():
    rows, weights, theta, prior = make_case(1)
    j = np.arange(len(theta))[rows.layout.log_slope][2]
    low, high = prior.low.copy(), prior.high.copy()
    low[j] = high[j] = theta[j]
    found = spread(rows, weights, theta, prior._replace(low=low, high=high))
    assert found.parameters[j] == 0
    assert (np.delete(found.parameters, j) > 0).all()
