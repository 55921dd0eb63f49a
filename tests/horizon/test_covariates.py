"""Covariates of tasks in the joint model: a true effect is found, horizons stay marginal, and what is no covariate is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.horizon import crossvalidate, time_horizons
from howsure.horizon.run_counts import with_covariates
from howsure.horizon.time_horizon.simulator import simulate_time

EXAMPLE = Path(__file__).parents[2] / "examples/horizon/domain_counts.csv"
MODELS = {"one": 4.0, "two": 16.0, "three": 64.0}


def world(seed, effect=-0.8):
    return simulate_time(MODELS, n_families=30, n_tasks=3, n_runs=2, messiness=effect, seed=seed)


def fit(counts, **others):
    return time_horizons(counts, method="joint", n_replicates=125, has_sensitivity=False, **others)


def test_a_true_effect_is_found_and_its_intervals_contain_it():
    rows = [
        fit(world(seed).counts, covariates=["messiness"]).tables["covariates"].row(0, named=True) for seed in range(8)
    ]
    assert np.mean([row["log_odds"] for row in rows]) == pytest.approx(-0.8, abs=0.15)
    assert np.mean([row["log_odds_low"] < -0.8 < row["log_odds_high"] for row in rows]) >= 0.75
    # a slope of −0.7: one unit is worth 0.8 / 0.7 doublings
    assert np.mean([row["doublings"] for row in rows]) == pytest.approx(0.8 / 0.7, abs=0.25)


def test_no_effect_is_found_where_there_is_none():
    one = world(3, effect=1e-9).counts
    row = fit(one, covariates=["messiness"]).tables["covariates"].row(0, named=True)
    assert row["log_odds_low"] < 0 < row["log_odds_high"]
    assert abs(row["log_odds"]) < 0.35


def test_horizons_stay_marginal_and_the_unit_does_not_matter():
    counts = world(1).counts
    plain, own = fit(counts), fit(counts, covariates=["messiness"])
    truth = {model: world(1).truth(model, 0.8) for model in MODELS}
    for model in MODELS:
        estimate = own.minutes(model, 0.8)
        assert estimate.low < truth[model] < estimate.high
        assert np.log2(estimate.value / plain.minutes(model, 0.8).value) == pytest.approx(0, abs=0.6)
    spreads = [one.tables["spreads"].filter(effect="task")["spread"][0] for one in (plain, own)]
    assert spreads[1] < spreads[0]  # what the covariate explains is no longer unexplained
    tenfold = replace(counts, tasks=counts.tasks.with_columns(pl.col("messiness") * 10 + 3))
    scaled = fit(tenfold, covariates=["messiness"]).tables["covariates"]
    assert scaled["log_odds"][0] == pytest.approx(own.tables["covariates"]["log_odds"][0] / 10)


def test_held_out_families_are_predicted_better_with_the_covariate():
    counts = world(2, effect=-1.6).counts
    losses = [
        crossvalidate(counts, folds=2, covariates=names).scores.filter(held_out="families", predictor="joint")[
            "log_loss"
        ][0]
        for names in ((), ("messiness",))
    ]
    assert losses[1] < losses[0] - 0.03


def test_domains_and_covariates_together(tmp_path):
    counts = world(5).counts
    tasks = counts.tasks.with_columns(
        domain=pl.when(pl.col("messiness") > 0).then(pl.lit("messy")).otherwise(pl.lit("tidy"))
    )
    found = fit(replace(counts, tasks=tasks), covariates=["messiness"])
    at = {
        (row["domain"], row["model"]): row["minutes"]
        for row in found.tables["domains"].filter(success_rate=0.5).rows(named=True)
    }
    assert all(at["tidy", model] > at["messy", model] for model in MODELS)
    assert type(found).load(found.save(tmp_path)[0].parent).equals(found)
    assert found.joint.varied.shape == (125, 2)


def test_what_is_no_covariate_is_refused():
    counts = world(1).counts
    with pytest.raises(OptionError, match="need the joint model"):
        time_horizons(counts, covariates=["messiness"])
    with pytest.raises(InputError, match="no column 'size'"):
        fit(counts, covariates=["size"])
    same = replace(counts, tasks=counts.tasks.with_columns(messiness=pl.lit(1.0)))
    with pytest.raises(InputError, match="same value at all tasks"):
        fit(same, covariates=["messiness"])
    some = counts.tasks.with_columns(messiness=pl.when(pl.int_range(pl.len()) > 4).then("messiness"))
    kept = with_covariates(replace(counts, tasks=some), None, ["messiness"])
    assert len(kept.tasks) == len(counts.tasks) - 5
    assert "5 of 90 tasks without messiness are excluded." in kept.notes


def test_the_command_reads_the_column_from_the_runs_or_from_a_table_of_tasks(command, tmp_path):
    """The example's true effect is −0.8 per unit."""
    options = ("--method", "joint", "--replicates", 60, "--covariate", "messiness", "--json", "-q")
    told = command("horizon", "time", EXAMPLE, *options)
    assert told.returncode == 0, told.stderr
    row = json.loads(told.stdout)["covariates"][0]
    assert row["log_odds_low"] < -0.8 < row["log_odds_high"] < 0
    frame = pl.read_csv(EXAMPLE)
    frame.drop("messiness").write_csv(tmp_path / "runs.csv")
    frame.select("task", "minutes", "messiness").unique().write_csv(tmp_path / "tasks.csv")
    told = command("horizon", "time", tmp_path / "runs.csv", "--task-table", tmp_path / "tasks.csv", *options)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["covariates"][0]["log_odds"] == pytest.approx(row["log_odds"])
    frame.with_columns(messiness=pl.lit("very")).write_csv(tmp_path / "wrong.csv")
    told = command("horizon", "time", tmp_path / "wrong.csv", *options)
    assert told.returncode == 2
    assert "A covariate has one number per task" in told.stderr
