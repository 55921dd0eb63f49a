"""A second trait: true loadings are recovered, the rotation is fixed, the gain is cross-validated, groups that differ are found."""

import re

import numpy as np
import polars as pl
import pytest

from howsure.errors import OptionError
from howsure.stitch import fit, simulate, traits
from howsure.stitch.sensitivity.second_trait import _congruence, _name, _rotated
from howsure.tables import Scores


@pytest.fixture(scope="module")
def world():
    return simulate(n_models=60, n_benchmarks=12, density=0.7, departure="second dimension", seed=8)


@pytest.fixture(scope="module")
def found(world):
    return traits(world.scores, n_replicates=40, folds=2)


def test_traits_are_uncorrelated_and_loadings_orthogonal(world):
    scale = fit(world.scores, dimensions=2)
    first, second, on_first, on_second = _rotated(scale.estimate)
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0, abs=1e-9)
    assert on_first @ on_second == pytest.approx(0, abs=1e-9)
    assert (first.std(), second.std()) == pytest.approx((1, 1))
    assert on_second[np.abs(on_second).argmax()] > 0
    eta = np.outer(scale.estimate.capability, scale.estimate.slope) + np.outer(
        scale.estimate.trait, scale.estimate.loading
    )
    again = np.outer(first, on_first) + np.outer(second, on_second)
    assert again == pytest.approx(eta - eta.mean(axis=0), abs=1e-9)  # a rotation changes no expected score


def test_true_loadings_and_traits_are_recovered(world, found):
    """True parameters are rotated in the same way as the estimates."""
    from howsure.stitch.model.problem import Aligned

    models, benchmarks = world.models.sort("model"), world.benchmarks.sort("benchmark")
    estimate = found.benchmarks.sort("benchmark")
    parts = [
        *(models[name].to_numpy() for name in ("capability",)),
        *(benchmarks[name].to_numpy() for name in ("difficulty", "slope")),
    ]
    true = _rotated(Aligned(*parts, models["trait"].to_numpy(), benchmarks["loading"].to_numpy()))
    second = estimate["second"].to_numpy()
    sign = np.sign(second @ true[3])
    assert _congruence(second, true[3]) > 0.9
    low, high = estimate["second_low"].to_numpy(), estimate["second_high"].to_numpy()
    assert np.mean((low <= sign * true[3]) & (sign * true[3] <= high)) > 0.6
    traits_of = found.models.sort("model")["second"].to_numpy()
    assert sign * np.corrcoef(traits_of, true[1])[0, 1] > 0.75


def test_the_gain_is_printed_for_all_splits_and_the_name_comes_from_the_loadings(found):
    words = " ".join(found.words())
    assert re.search(
        r"On random holes, a second dimension (lowers|raises) the held-out error from 0\.\d+ to 0\.\d+", words
    )
    assert "On later models, a second dimension" in words
    top = found.benchmarks.filter(pl.col("second_low") > 0)["benchmark"][0]
    assert found.title.startswith(top)
    assert set(found.charts()) == {"traits_loadings", "traits_models"}
    time = found.invariance.filter(kind="time")
    assert time["n_models"].sum() == len(found.models)
    assert found.invariance["state"].is_in(["similar", "different", "too_few"]).all()


def test_domains_name_the_trait_where_the_table_has_them(world, found):
    half = set(found.benchmarks["benchmark"][:6])
    domain = pl.when(pl.col("benchmark").is_in(half)).then(pl.lit("maths")).otherwise(pl.lit("knowledge"))
    title = _name(found.benchmarks, Scores(world.scores.frame.with_columns(domain=domain)))
    assert title.startswith("maths (")
    assert "against knowledge (" in title


def test_two_refits_are_the_least(world):
    with pytest.raises(OptionError, match="n_replicates is 1"):
        traits(world.scores, n_replicates=1)
