"""The published fit, from the published table and from the raw files."""

import numpy as np
import polars as pl
import pytest

from howsure.sources import read
from howsure.stitch import fit
from howsure.stitch.model.fits import solve_ridge
from howsure.stitch.model.problem import AnchorBenchmark, align


def reference(shared, name, key):
    frame = pl.read_csv(shared / f"reference/stitch_paper/{name}.csv")
    return frame.with_columns(pl.col(key).str.strip_chars()).sort(key)


@pytest.fixture(scope="module")
def winogrande(paper_problem):
    return AnchorBenchmark(paper_problem.benchmark_at("Winogrande"))


@pytest.fixture(scope="module")
def solution(paper_problem, winogrande):
    return solve_ridge(paper_problem, winogrande)


def test_from_the_raw_files_to_the_published_numbers(shared):
    scale = fit(read(shared / "data/epoch-2025-11"), preset="paper", anchor="Winogrande")
    quality = scale.quality
    assert (quality.n_observations, quality.n_models, quality.n_benchmarks) == (1324, 179, 38)
    assert quality.cost == pytest.approx(3.447379952726, abs=1e-8)
    assert quality.gradient_norm < 1e-8
    assert (round(quality.rmse, 6), round(quality.mae, 5), round(quality.r2, 4)) == (0.071387, 0.05144, 0.9293)
    models = scale.models.sort("model")
    published = reference(shared, "models", "model")
    assert models["model"].to_list() == published["model"].to_list()
    assert models["capability"].to_numpy() == pytest.approx(published["capability"].to_numpy(), abs=1e-5)
    benchmarks, told = scale.benchmarks.sort("benchmark"), reference(shared, "benchmarks", "benchmark")
    for column in ("difficulty", "slope"):
        assert benchmarks[column].to_numpy() == pytest.approx(told[column].to_numpy(), abs=1e-4)


def test_the_optimum_is_the_same_from_anywhere(paper_problem, winogrande, solution):
    rng = np.random.default_rng(0)
    at, there = solution.layout, align(winogrande, solution.theta, solution.layout)
    for _ in range(20):
        start = rng.normal(0, 2, at.size)
        start[at.log_slope] = rng.normal(0, 0.7, at.n_benchmarks)
        other = solve_ridge(paper_problem, winogrande, start=start)
        assert other.fitted.converged
        assert other.fitted.cost == pytest.approx(3.447379952726, abs=1e-8)
        assert align(winogrande, other.theta, at).capability == pytest.approx(there.capability, abs=1e-6)


def test_the_anchor_is_where_it_was_put(paper_problem, solution):
    for difficulty, slope in ((0.0, 1.0), (5.0, 2.0)):
        constraint = AnchorBenchmark(paper_problem.benchmark_at("Winogrande"), difficulty, slope)
        found = align(constraint, solution.theta, solution.layout)
        assert found.difficulty[constraint.benchmark] == pytest.approx(difficulty)
        assert found.slope[constraint.benchmark] == pytest.approx(slope)


def test_equal_slopes_are_a_rasch_model(paper_problem, winogrande, solution):
    rasch = solve_ridge(paper_problem, winogrande, equal_slopes=True)
    assert (rasch.theta[rasch.layout.log_slope] == 0).all()
    assert rasch.fitted.cost > solution.fitted.cost


def test_the_ridge_counts_free_parameters_only(solution):
    precision = solution.prior.precision
    assert (precision > 0).sum() == 254
    assert precision.max() == pytest.approx(0.1 / 254)
