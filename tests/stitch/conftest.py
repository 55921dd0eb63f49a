"""Worlds and tables that the tests of the scale share."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.stitch.cleaning import prepare_scores
from howsure.stitch.model.problem import AnchorBenchmark
from howsure.stitch.simulator import simulate
from howsure.tables import Scores

SHARED = Path(__file__).parents[2] / "../shared"


@pytest.fixture(scope="session")
def shared():
    """The folder with real data and reference results, or a skip."""
    if not SHARED.exists():
        pytest.skip("the real data are not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def paper_scores(shared):
    """The 1324 scores of the published fit."""
    rows = pl.read_csv(shared / "reference/stitch_paper/scores_in.csv").with_columns(pl.col("model").str.strip_chars())
    columns = ["model", "benchmark", "date", "performance", "benchmark_release_date"]
    return Scores(rows.select(columns), rename={"score": "performance", "benchmark_date": "benchmark_release_date"})


@pytest.fixture(scope="session")
def paper_problem(paper_scores):
    return prepare_scores(paper_scores, duplicates="max")


@pytest.fixture(scope="session")
def paper_folds(shared, paper_problem):
    """The fold of each score of the problem."""
    table = pl.read_csv(shared / "reference/stitch_paper/folds.csv").with_columns(pl.col("model").str.strip_chars())
    fold = {(model, benchmark): k for model, benchmark, k in table.iter_rows()}
    pairs = zip(paper_problem.model, paper_problem.benchmark, strict=True)
    return np.array([fold[paper_problem.models[m], paper_problem.benchmarks[b]] for m, b in pairs])


@pytest.fixture(scope="session")
def world():
    return simulate(n_models=40, n_benchmarks=12, seed=3)


@pytest.fixture(scope="session")
def problem(world):
    return prepare_scores(world.scores)


@pytest.fixture(scope="session")
def constraint(problem):
    return AnchorBenchmark(int(problem.n_by_benchmark.argmax()))
