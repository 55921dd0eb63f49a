"""NAME beside other benchmarks: the same order, another one, and where it differs."""

import polars as pl
import pytest

from howsure.errors import InputError
from howsure.horizon import attempt_horizons, compare_benchmarks
from howsure.horizon.simulator import draw_suite, simulate

MODELS = {"a": 1.2, "b": 2.0, "c": 3.5, "d": 6.0, "e": 8.0}


@pytest.fixture(scope="module")
def found():
    world = simulate(draw_suite(30, seed=3), true_horizons=MODELS, n_learners=30, n_runs=40, seed=3)
    return attempt_horizons(world.attempts, success_rates=(0.5,), n_replicates=60)


def scores(**by_benchmark):
    rows = [(m, name, score) for name, values in by_benchmark.items() for m, score in zip(MODELS, values, strict=False)]
    return pl.DataFrame(rows, schema=["model", "benchmark", "score"], orient="row")


def test_the_same_order_and_the_reverse(found):
    made = compare_benchmarks(found, scores(same=[0.1, 0.2, 0.3, 0.4, 0.5], reverse=[0.9, 0.8, 0.7, 0.6, 0.5]))
    whole = {row["benchmark"]: row for row in made.agreement.filter(tasks="all tasks").rows(named=True)}
    assert (whole["same"]["kendall"], whole["reverse"]["kendall"]) == pytest.approx((1, -1))
    assert set(made.pairs["benchmark"]) == {"reverse"}
    assert len(made.pairs) == 10
    far = made.pairs.filter(a="e", b="a").row(0, named=True)
    assert far["is_sure"]
    assert far["p_a_greater"] > 0.95
    assert (far["score_a"], far["score_b"]) == (0.5, 0.9)
    assert len(far["domains_a_ahead"].split(", ")) + len([d for d in far["domains_b_ahead"].split(", ") if d]) <= 7
    assert set(made.charts()) == {"benchmarks"}


def test_one_reversed_pair_is_named(found):
    made = compare_benchmarks(found, scores(nearly=[0.1, 0.2, 0.4, 0.3, 0.5]))
    assert made.pairs.select("a", "b").rows() == [("d", "c")]


def test_too_few_models_are_said(found):
    with pytest.raises(InputError, match="at least 3 of the models"):
        compare_benchmarks(found, scores(two=[0.1, 0.2]))
    made = compare_benchmarks(found, scores(two=[0.1, 0.2], all=[0.1, 0.2, 0.3, 0.4, 0.5]))
    assert made.provenance.notes[-1] == "1 benchmarks with fewer than 3 of the models were excluded."
