"""The size of errors, recovered where it is known."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from howsure import sources
from howsure.stitch.cleaning import prepare_scores
from howsure.stitch.model.fits import LEAST_SD, ScoreNoise, _correlation, _shrunk, expected, solve_hierarchy
from howsure.stitch.model.problem import sampling_variance
from howsure.stitch.scale import fit
from howsure.stitch.simulator import simulate
from howsure.tables import Scores


@pytest.fixture(scope="module")
def large():
    """A world with many models, so that noise can be told apart from chance."""
    world = simulate(n_models=250, n_benchmarks=14, density=0.7, correlation=0.6, seed=8)
    return world, solve_hierarchy(prepare_scores(world.scores))


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
    """Scores of 100 items, of which the standard errors are published, give the variances that the shares behind them have."""
    world = simulate(n_models=150, n_benchmarks=10, density=0.8, seed=4)
    plain = prepare_scores(world.scores)
    noisier = np.random.default_rng(0).binomial(100, plain.score) / 100
    noisy = plain.to_frame().with_columns(score=noisier)
    before, sampling = mean_misfit(plain), (plain.score * (1 - plain.score) / 100).mean()
    published = noisy.with_columns(se=np.sqrt(noisier * (1 - noisier) / 100))
    assert mean_misfit(prepare_scores(Scores(published))) == pytest.approx(before, rel=0.25)
    assert mean_misfit(prepare_scores(Scores(noisy))) == pytest.approx(before + sampling, rel=0.25)


def mean_misfit(problem):
    """The variance of the scores that no standard error explains, over the rows."""
    solution = solve_hierarchy(problem)
    share = expected(solution.rows, solution.theta)[1]
    return solution.noise.of(share, problem.benchmark, np.zeros(problem.n_observations)).mean()


def test_shrinking_by_hand():
    """Equal degrees and equal raw variances stay; unlike ones move towards each other."""
    raw, degrees = _shrunk(np.full((1, 6), 0.01), np.full((1, 6), 20.0))
    assert raw == pytest.approx(0.01, rel=0.1)
    assert (degrees > 20).all()
    (moved,), _ = _shrunk(np.array([[0.001, 0.01, 0.01, 0.01, 0.1]]), np.full((1, 5), 10.0))
    assert 0.001 < moved[0] < moved[1] < moved[4] < 0.1


def test_variances_without_degrees_of_their_own_are_the_common_one():
    variance, degrees = _shrunk(np.array([[0.01, 0.01, 0.0]]), np.array([[50.0, 50.0, 0.0]]))
    assert variance == pytest.approx(0.01)
    assert degrees[0, 2] == pytest.approx(1 / (1 / 8 + 1 / 100))  # the prior's, and those of the common scale
    few = _shrunk(np.array([[0.01, 0.01]]), np.array([[0.5, 0.5]]))[1]
    assert few == pytest.approx(2)


def test_drawn_errors_have_the_variance_and_correlation_they_should(problem):
    noise = ScoreNoise(np.full(len(problem.benchmarks), 0.01), np.full(len(problem.benchmarks), 1e6), 1e6, 0.5)
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
    assert (solve_hierarchy(prepare_scores(Scores(rows), min_benchmarks=1)).noise.variance > 0).all()


def test_sampling_variance_by_hand():
    """μ(1 − μ)/n; at an end a tenth of an item is right or wrong; unknown items add nothing of their own."""
    found = sampling_variance(np.array([0.5, 0.2, 0.0, 0.3]), np.array([100.0, 10.0, 10.0, np.nan]))
    assert found == pytest.approx([0.0025, 0.016, 0.01 * 0.99 / 10, 0.0])


def test_no_score_is_exact(problem):
    noise = ScoreNoise(np.full(len(problem.benchmarks), 1e-9), np.full(len(problem.benchmarks), 8.0), 0.02, 0.0)
    at_the_floor = np.zeros(problem.n_observations)
    assert noise.of(at_the_floor, problem.benchmark, at_the_floor) == pytest.approx(LEAST_SD**2)
    assert noise.draw(at_the_floor, problem, np.random.default_rng(0), 400).std() == pytest.approx(LEAST_SD, rel=0.05)


def small_test_world(seed, n_models=60, n_items=10, slope=4.9):
    """Eight benchmarks of 1000 items, and one of few items whose slope is known; standard errors as they are published (Wald)."""
    rng = np.random.default_rng(seed)
    capability, n = rng.normal(size=n_models), np.array([*[1000] * 8, n_items])
    difficulty, slopes = np.append(rng.normal(size=8), 0.9), np.append(np.exp(rng.normal(0, 0.3, 8)), slope)
    difficulty[0], slopes[0] = 0.0, 1.0
    score = rng.binomial(n, expit(slopes * (capability[:, None] - difficulty))) / n
    return pl.DataFrame(
        {
            "model": np.repeat([f"m{m}" for m in range(n_models)], 9),
            "benchmark": np.tile([*(f"b{b}" for b in range(8)), "small"], n_models),
            "score": score.ravel(),
            "se": np.sqrt(score * (1 - score) / n).ravel(),
        }
    )


def test_the_slope_of_a_small_test_is_not_driven_by_its_zeros():
    """A slope of 4.9 on 10 items: standard errors at the observed scores gave 22 here; shrinkage leaves about 4.5."""
    found = [
        fit(Scores(small_test_world(seed)), anchor="b0").benchmarks.filter(benchmark="small")["slope"][0]
        for seed in range(5)
    ]
    assert 4.0 < np.median(found) < 5.5
    assert max(found) < 8


def test_real_zeros_do_not_count_as_exact(shared):
    """40 of 58 scores on FrontierMath-Public are 0 ± 0 of ten items: the slope was 11.8, o3 (medium) 17th, and the test was recommended."""
    scale = fit(sources.read([str(shared / "data/epoch-2025-11")]), keep_overlaps=True)
    slope = dict(scale.benchmarks.select("benchmark", "slope").iter_rows())
    assert 4.5 < slope["FrontierMath-2025-02-28-Public"] < 6.5
    assert scale.models.filter(model="o3-2025-04-16_medium")["rank"][0] <= 11
    small = (
        scale.next_benchmark("gpt-5.1_high")
        .benchmarks.filter(benchmark="FrontierMath-2025-02-28-Public")
        .row(0, named=True)
    )
    assert small["n_items"] == pytest.approx(9, abs=1)
    share = small["expected"]
    of_the_items = slope["FrontierMath-2025-02-28-Public"] ** 2 * share * (1 - share) * small["n_items"]
    assert small["information"] < of_the_items
    assert any("FrontierMath-2025-02-28-Public about 9" in note for note in scale.provenance.notes)
