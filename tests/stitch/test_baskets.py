"""Indices of domains: frozen curves, weights, baskets from files."""

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.stitch import domains, fit, score, simulate
from howsure.stitch.baskets import read_baskets
from howsure.tables import Scores

HALVES = {"first": [f"bench-0{i}" for i in range(1, 7)], "second": ["bench-07", "bench-08", "bench-09", "bench-1*"]}


@pytest.fixture(scope="module")
def world():
    return simulate(n_models=50, n_benchmarks=12, density=0.8, seed=5)


@pytest.fixture(scope="module")
def scale(world):
    return fit(world.scores, n_replicates=60)


def test_all_benchmarks_in_one_basket_give_the_capabilities_of_the_scale(scale):
    found = domains(scale, {"everything": ["*"]}, min_benchmarks=1)
    both = found.models.join(scale.models.select("model", own="capability"), on="model")
    # only what the joint fit and the frozen curves do differently is left
    assert np.abs(both["capability"] - both["own"]).max() < 0.05
    assert both["overall"].to_list() == both["own"].to_list()


def test_a_domain_is_the_placing_of_its_scores_on_frozen_curves(scale):
    found = domains(scale, HALVES, seed=3)
    rows = scale.problem.to_frame().filter(pl.col("benchmark").is_in(HALVES["first"]))
    rows = rows.filter(pl.col("benchmark").n_unique().over("model") >= 2)
    placed = score(scale, Scores(rows), seed=3).models
    first = found.models.filter(domain="first")
    assert first["model"].to_list() == placed["model"].to_list()
    assert first["capability_low"].to_list() == placed["capability_low"].to_list()
    assert first["rank"].to_list() == list(range(1, len(first) + 1))


def test_true_capabilities_are_covered_in_a_domain(world, scale):
    found = domains(scale, HALVES)
    true = dict(world.models.select("model", "capability").iter_rows())
    anchor = scale.provenance.settings["anchor"]
    row = world.benchmarks.filter(benchmark=anchor).row(0, named=True)
    rows = found.models.drop_nulls(["capability_low", "capability_high"]).rows(named=True)
    hits = [
        r["capability_low"] <= (true[r["model"]] - row["difficulty"]) * row["slope"] <= r["capability_high"]
        for r in rows
    ]
    assert np.mean(hits) > 0.78


def test_a_weight_moves_a_capability_towards_its_benchmark(scale):
    names = ["bench-01", "bench-09"]
    # beside the prior, so heavy too
    alone = domains(scale, {"d": {names[0]: 20.0}}, min_benchmarks=1).models
    light, heavy = (
        domains(scale, {"d": {names[0]: weight, names[1]: 1.0}}).models.select("model", "capability")
        for weight in (1.0, 20.0)
    )
    both = light.join(heavy, on="model", suffix="_heavy").join(alone.select("model", first="capability"), on="model")
    nearer = (both["capability_heavy"] - both["first"]).abs() <= (both["capability"] - both["first"]).abs() + 1e-9
    assert nearer.mean() > 0.85


def test_the_best_of_a_domain_is_named_beside_better_models_without_scores_there(world):
    """Two models that stay the best overall have lost their scores in the domain."""
    frame = world.scores.frame
    is_first = pl.col("benchmark").is_in(HALVES["first"])
    wide = frame.filter(~is_first).group_by("model").len().filter(pl.col("len") > 4)["model"].to_list()
    best = [name for name in fit(world.scores, n_replicates=0).models["model"] if name in wide][:2]
    raised = pl.when(pl.col("model").is_in(best)).then(pl.max_horizontal("score", pl.lit(0.97))).otherwise("score")
    kept = frame.filter(~(pl.col("model").is_in(best) & is_first)).with_columns(score=raised)
    found = domains(fit(Scores(kept), n_replicates=40), HALVES)
    first, second = found.leaders.rows(named=True)
    assert first["model"] not in best
    assert (first["n_absent"], first["absent"] in best) == (2, True)
    assert first["n_models"] == len(found.models.filter(domain="first"))
    assert f"without scores there, but more capable overall: {first['absent']} and 1 more" in found.sentence
    assert second["absent"] not in best


def test_a_file_of_baskets(scale, tmp_path):
    path = tmp_path / "baskets.yaml"
    path.write_text("maths: [bench-01, bench-02]\ncoding:\n  bench-03: 2\n  bench-04: 1\n")
    found = domains(scale, path)
    assert set(found.baskets.rows()) >= {
        ("coding", "bench-03", 2.0, found.baskets.filter(benchmark="bench-03")["n_models"][0])
    }
    assert set(found.models["domain"]) == {"maths", "coding"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- a\n- b\n", "a list of domains is needed"),
        ("maths: 3\n", "line 1: maths needs a list of benchmarks"),
        ("maths: [a]\ncoding: []\n", "coding needs a list"),
        ("maths: {a: heavy}\n", "maths needs a list"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path, text, says):
    path = tmp_path / "baskets.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        read_baskets(path)


def test_wrong_baskets_are_explained(scale):
    with pytest.raises(OptionError, match="No benchmark for d called 'bench-99'"):
        domains(scale, {"d": ["bench-99"]})
    with pytest.raises(OptionError, match="weight 0"):
        domains(scale, {"d": {"bench-01": 0}})
    with pytest.raises(InputError, match="No domain has an index"):
        domains(scale)  # Epoch's names are not here
    with pytest.raises(InputError, match="no model has 3 of its benchmarks"):
        domains(scale, {"d": ["bench-01"]}, min_benchmarks=3)
