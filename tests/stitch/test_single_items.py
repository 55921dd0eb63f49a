"""Tables of zeros and ones: each score is one item, right or wrong."""

import numpy as np
import polars as pl
import pytest

from howsure.stitch import fit, score
from howsure.stitch.cleaning import prepare_scores
from howsure.stitch.model.replicates import half_disagreement
from howsure.stitch.scale import solve_again
from howsure.tables import Scores


def table(right, **columns):
    rows = [(f"m{m:02}", f"b{b:02}", float(one)) for (m, b), one in np.ndenumerate(right)]
    frame = pl.DataFrame(rows, schema=["model", "benchmark", "score"], orient="row")
    return Scores(frame.with_columns(**{name: pl.lit(value) for name, value in columns.items()}))


def simulated(seed, n_models=50, n_items=10, slope=1.0):
    """True capabilities, and who is right on which item."""
    rng = np.random.default_rng(seed)
    capability, difficulty = rng.normal(0, 1, n_models), rng.normal(0, 1, n_items)
    p = 1 / (1 + np.exp(-slope * (capability[:, None] - difficulty)))
    return capability, rng.random(p.shape) < p


@pytest.mark.parametrize(("n_models", "n_items"), [(50, 10), (30, 20)])
@pytest.mark.parametrize("slope", [1.0, 8.0, np.inf])
def test_no_refit_fails(n_models, n_items, slope):
    rng = np.random.default_rng(1)
    capability, difficulty = rng.normal(0, 1, n_models), rng.normal(0, 1, n_items)
    apart = capability[:, None] - difficulty
    p = (apart > 0).astype(float) if np.isinf(slope) else 1 / (1 + np.exp(-slope * apart))
    found = fit(table(rng.random(p.shape) < p), n_replicates=20)
    assert found.replicates.n_failed == 0
    assert (found.models["interval_state"] == "ok").all()
    inner = found.models.filter(pl.col("capability_state") == "ok")
    assert len(inner.drop_nulls(["capability_low", "capability_high"])) == len(inner) > 0
    slopes = found.benchmarks["slope"].drop_nulls()
    assert slopes.max() < 30 * slopes.min()


def test_zeros_and_ones_are_single_items_which_a_note_says():
    problem = prepare_scores(table(simulated(0)[1]))
    assert (problem.n_effective == 1).all()
    assert problem.has_single_items
    assert any("are taken as scores of one item" in note for note in problem.notes)
    stated = prepare_scores(table(simulated(0)[1], n_items=1))
    assert stated.has_single_items
    assert not any("one item" in note for note in stated.notes)


def test_repeats_of_an_item_are_counted():
    right = simulated(0)[1]
    again = Scores(pl.concat([table(right).frame, table(simulated(2)[1]).frame]))
    assert set(prepare_scores(again).n_effective) == {2.0}


def test_a_zero_beside_other_scores_is_no_single_item():
    shares = np.where(simulated(0)[1], 0.8, 0.3)
    shares[:, 0] = 0.0
    shares[3, 1] = 1.0
    problem = prepare_scores(table(shares))
    assert np.isnan(problem.n_effective).all()


def test_a_new_model_with_zeros_and_ones_has_the_items_of_the_scale():
    rng = np.random.default_rng(0)
    shares = np.clip(1 / (1 + np.exp(-(rng.normal(0, 1, 20)[:, None] - rng.normal(0, 1, 6)))), 0.05, 0.95)
    scale = fit(table(shares, n_items=400), n_replicates=0)
    new = table(np.array([[1, 1, 0, 0, 0, 0]]))
    placed = score(scale, Scores(new.frame.with_columns(model=pl.lit("new"))))
    assert not any("one item" in note for note in placed.provenance.notes)


def test_halves_of_the_items_agree_as_right_and_wrong_do():
    """Compared with scores that are right or wrong too; normal errors, cut at 0 and 1, are smaller."""
    found = [half_disagreement(solve_again(fit(table(simulated(s)[1]), n_replicates=0))[0]) for s in range(3)]
    assert np.mean(found) < 2


def covered(seeds, **world):
    inside = []
    for seed in seeds:
        capability, right = simulated(seed, **world)
        scale = fit(table(right), n_replicates=60, min_benchmarks=1)
        true = scale.link({f"m{m:02}": value for m, value in enumerate(capability)})
        for row in scale.models.rows(named=True):
            low, high = row["capability_low"], row["capability_high"]
            value = true[row["model"]]
            inside.append((low is None or low <= value) and (high is None or value <= high))
    return np.mean(inside)


def test_capabilities_are_covered():
    assert 0.84 < covered(range(4)) < 0.98


@pytest.mark.evidence
@pytest.mark.parametrize(
    "world", [{}, {"n_models": 30, "n_items": 20, "slope": 2.0}, {"n_models": 20, "n_items": 60, "slope": 1.5}]
)
def test_capabilities_are_covered_as_often_as_stated(world):
    assert covered(range(30), **world) == pytest.approx(0.9, abs=0.04)
