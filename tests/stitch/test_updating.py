"""An old scale and a newer table: what moved, and why."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from howsure.stitch import fit, simulate, update
from howsure.tables import Scores


@pytest.fixture(scope="module")
def rows():
    return simulate(n_models=40, n_benchmarks=12, density=0.6, seed=2).scores.frame


@pytest.fixture(scope="module")
def old(rows):
    return fit(Scores(rows.filter(pl.col("date") < dt.date(2025, 9, 1))), n_replicates=30)


def test_the_same_table_moves_nothing(old, rows):
    found = update(old, Scores(rows.filter(pl.col("date") < dt.date(2025, 9, 1))))
    assert found.counts.n_new_scores == found.counts.n_changed_scores == found.counts.n_removed_scores == 0
    assert found.models["change"].abs().max() < 1e-9
    assert found.charts() == {}  # it drew 25 models that had not moved
    assert set(found.models["reason"]) == {"only the curves moved"}
    assert found.scale.models["capability"].to_list() == old.models["capability"].to_list()


def test_a_refit_has_the_settings_of_the_old_fit(old, rows):
    new = update(old, Scores(rows), n_replicates=0).scale
    assert new.provenance.settings["reference"] == "all"
    strong = fit(Scores(rows), preset="paper", since="", ridge=0.7)
    again = update(strong, Scores(rows)).scale
    assert again.provenance.settings["ridge"] == 0.7
    assert again.estimate.capability == pytest.approx(strong.estimate.capability, abs=1e-9)


def test_named_reference_models_keep_the_unit(old, rows):
    """Also where it came from another scale; with too few of them left the anchor holds it, with a note."""
    names = old.models["model"][:8].to_list()
    base = fit(Scores(rows), reference=old)
    found = update(base, Scores(rows.filter(pl.col("model") != old.models["model"][-1])), n_replicates=0)
    kept = [name for name in base.reference if name in found.scale.problem.models]
    assert set(found.scale.reference) == set(kept)
    both = [
        [dict(one.models.select("model", "capability").iter_rows())[name] for name in kept]
        for one in (base, found.scale)
    ]
    assert np.mean(both[0]) == pytest.approx(np.mean(both[1]))
    assert np.std(both[0]) == pytest.approx(np.std(both[1]))
    some = fit(Scores(rows), reference=names)
    without = update(some, Scores(rows.filter(~pl.col("model").is_in(names[:5]))), n_replicates=0)
    assert without.scale.provenance.settings["reference"] == "none"
    assert any("5 of the models that fix the unit" in note for note in without.provenance.notes)


def test_new_models_move_the_others_by_the_curves_alone(old, rows):
    found = update(old, Scores(rows), n_replicates=0)
    new = found.models.filter(pl.col("before").is_null())
    assert len(new) == found.counts.n_new_models == len(set(rows["model"]) - set(old.problem.models))
    assert set(new["reason"]) == {"new on the scale"}
    kept = found.models.drop_nulls("change")
    assert kept["by_own_scores"].abs().max() == 0
    assert kept["by_curves"].to_list() == kept["change"].to_list()
    assert (
        found.counts.n_new_scores
        == len(found.scores)
        == len(rows.filter(pl.col("model").is_in(new["model"].implode())))
    )


def test_a_changed_score_moves_its_model_by_its_own_scores(old):
    table = old.problem.to_frame().drop("n_effective")
    model = table.group_by("model").len().sort("len", "model", descending=[True, False])["model"][0]
    benchmark = table.filter(model=model)["benchmark"][0]
    is_it = (pl.col("model") == model) & (pl.col("benchmark") == benchmark)
    before = table.filter(is_it)["score"][0]
    changed = table.with_columns(
        pl.when(is_it).then(pl.lit(min(before + 0.35, 0.99))).otherwise("score").alias("score")
    )
    found = update(old, Scores(changed), n_replicates=0)
    assert found.scores.rows() == [(model, benchmark, "changed", before, min(before + 0.35, 0.99))]
    row = found.models.filter(model=model).row(0, named=True)
    assert row["by_own_scores"] > 0
    assert row["by_own_scores"] + row["by_curves"] == pytest.approx(row["change"])
    assert row["n_changed"] == 1
    assert "its own scores" in row["reason"]
    assert found.models["model"][0] == model


def test_what_is_gone_is_named(old, rows):
    first = old.problem.benchmarks[0]
    gone = old.models["model"][-1]
    anchor = old.provenance.settings["anchor"]
    left = rows.filter(pl.col("benchmark") != first, pl.col("model") != gone, pl.col("benchmark") != anchor)
    found = update(old, Scores(left), n_replicates=0)
    assert found.models.filter(model=gone)["reason"][0] == "no longer on the scale"
    removed = found.benchmarks.filter(kind="removed")["benchmark"].to_list()
    assert set(removed) >= {first, anchor}
    assert any(f"The anchor {anchor} is no longer in the table" in note for note in found.provenance.notes)
