"""The size of errors, recovered where it is known."""

import numpy as np
import polars as pl
import pytest

from howsure.stitch.cleaning import pose
from howsure.stitch.simulate import simulate
from howsure.stitch.solver.hierarchy import solve_hierarchy
from howsure.stitch.solver.noise import Noise, _correlation, _shrunk, expected
from howsure.tables import Scores


@pytest.fixture(scope="module")
def large():
    """A world with many models, so that noise can be told apart from chance."""
    world = simulate(n_models=250, n_benchmarks=14, density=0.7, correlation=0.6, seed=8)
    return world, solve_hierarchy(pose(world.scores))


def test_variance_of_each_benchmark_is_recovered(large):
    world, solution = large
    true = world.benchmarks.sort("benchmark")["noise_sd"].to_numpy() * (1 - solution.problem.floors)
    assert np.sqrt(solution.noise.variance) == pytest.approx(true, rel=0.25)


def test_correlation_of_siblings_is_recovered(large):
    assert large[1].noise.correlation == pytest.approx(0.6, abs=0.12)


def test_errors_shrink_towards_floor_and_ceiling(large):
    assert large[1].noise.shape == 0.02


def test_without_families_there_is_no_correlation():
    assert _correlation(np.array([1.0, -2.0, 0.5]), np.arange(3)) == 0


def test_known_standard_errors_are_taken_off():
    """Scores with more noise, of which the size is told, give the variances that they have without it."""
    world = simulate(n_models=150, n_benchmarks=10, density=0.8, seed=4)
    inner = pl.col("score") * 0.5 + 0.25  # so that no noise leads beyond 0 or 1
    rows = world.scores.frame.with_columns(inner, floor=0.25 + pl.col("floor") * 0.5, ceiling=0.75)
    plain = pose(Scores(rows))
    noisier = plain.score + np.random.default_rng(0).normal(0, 0.05, plain.n_observations)
    noisy = plain.to_frame().with_columns(score=noisier)
    before = mean_misfit(plain)
    assert mean_misfit(pose(Scores(noisy.with_columns(se=0.05)))) == pytest.approx(before, rel=0.25)
    assert mean_misfit(pose(Scores(noisy))) == pytest.approx(before + 0.05**2, rel=0.25)


def mean_misfit(problem):
    """The variance of the scores that no standard error explains, over the rows."""
    solution = solve_hierarchy(problem)
    share = expected(solution.rows, solution.theta)[1]
    return solution.noise.of(share, problem.benchmark, np.zeros(problem.n_observations)).mean()


def test_shrinking_by_hand():
    """Equal degrees and equal raw variances stay; unlike ones move towards each other."""
    raw, degrees = _shrunk(np.full(6, 0.01), np.full(6, 20.0))
    assert raw == pytest.approx(0.01, rel=0.1)
    assert (degrees > 20).all()
    moved, _ = _shrunk(np.array([0.001, 0.01, 0.01, 0.01, 0.1]), np.full(5, 10.0))
    assert 0.001 < moved[0] < moved[1] < moved[4] < 0.1


def test_variances_without_degrees_of_their_own_are_the_common_one():
    variance, degrees = _shrunk(np.array([0.01, 0.01, 0.0]), np.array([50.0, 50.0, 0.0]))
    assert variance == pytest.approx(0.01)
    assert degrees[2] == 8


def test_drawn_errors_have_the_variance_and_correlation_they_should(problem):
    noise = Noise(np.full(len(problem.benchmarks), 0.01), np.full(len(problem.benchmarks), 1e6), 1e6, 0.5)
    drawn = noise.draw(np.full(problem.n_observations, 0.5), problem, np.random.default_rng(0), 4000)
    assert drawn.std() == pytest.approx(0.1, rel=0.02)
    first, second = next(
        (i, j)
        for i in range(problem.n_observations)
        for j in range(i + 1, problem.n_observations)
        if problem.cell[i] == problem.cell[j]
    )
    assert np.corrcoef(drawn[:, first], drawn[:, second])[0, 1] == pytest.approx(0.5, abs=0.05)


def test_a_benchmark_that_fits_perfectly_keeps_some_variance(problem):
    rows = problem.to_frame().with_columns(score=pl.lit(0.5))
    assert (solve_hierarchy(pose(Scores(rows), min_benchmarks=1)).noise.variance > 0).all()
