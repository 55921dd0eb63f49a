"""What moves horizons: each factor by hand on data whose answer is known."""

import numpy as np
import polars as pl
import pytest

from howsure.horizon import time_horizons
from howsure.horizon.run_counts import count_table
from howsure.horizon.time_horizon.curves import fit_curves, timed
from howsure.horizon.time_horizon.sensitivity import FACTORS, vary, with_noise
from howsure.horizon.time_horizon.simulator import simulate_time


@pytest.fixture(scope="module")
def data():
    return timed(simulate_time({"weak": 4.0, "strong": 200.0}, seed=2).counts)


@pytest.fixture(scope="module")
def found(data):
    return vary(data, (0.5, 0.8), weights="invsqrt")


def test_every_factor_is_there_for_every_model_and_level(found):
    frame = found.to_frame()
    assert frame["factor"].unique(maintain_order=True).to_list() == [
        factor
        for factor in FACTORS
        if factor
        not in ("model", "limits", "errors", "flags")  # of the joint model, and of runs that did not end by themselves
    ]
    assert frame.select("model", "success_rate").n_unique() == 4
    assert set(frame.filter(pl.col("ratio").is_null())["setting"]) <= {"spline"}  # which ends with the tasks' lengths


def test_longer_censored_tasks_stretch_the_horizon_of_who_does_them(found):
    frame = found.to_frame().filter(pl.col("factor") == "censored", success_rate=0.5)
    strong = frame.filter(model="strong")["ratio"].to_list()
    assert 1 < strong[0] < strong[1] < strong[2] < 4
    assert frame.filter(model="weak")["ratio"].to_list() == pytest.approx([1, 1, 1], abs=0.1)
    assert len(found.censored) == 16


def test_all_tasks_twice_as_long_double_the_horizon(data):
    every = data.counts.tasks["task"].to_list()
    ratios = vary(data, (0.5,), weights="invsqrt", censored=every).to_frame().filter(factor="censored", setting="×2")
    assert ratios["ratio"].to_list() == pytest.approx([2, 2])


def test_an_error_of_human_times_moves_the_eighty_per_cent_horizon_most(data, found):
    """The measured curve is flatter than the true one, so the 80 % horizon lies too far from the 50 % horizon."""
    frame = found.to_frame().filter(factor="noise", model="strong").sort("success_rate", "setting")
    assert frame["setting"].to_list() == ["0.5", "1"] * 2
    half, most = frame.filter(setting="1")["ratio"].to_list()
    assert most / half > 1.15
    stated = vary(with_noise(data, 0.5), (0.5,), weights="invsqrt", noise=0.5).to_frame().filter(factor="noise")
    assert set(stated["setting"]) == {"0", "1"}


def test_a_refit_with_the_penalty_is_what_is_told(data, found):
    from dataclasses import replace

    refit = fit_curves(replace(data, regularisation=0.1)).log2_minutes(0.5) - fit_curves(data).log2_minutes(0.5)
    told = found.to_frame().filter(factor="regularisation", setting="0.1", success_rate=0.5)["ratio"].to_list()
    assert told == pytest.approx(np.exp2(refit).tolist())
    assert found.widest("regularisation", 0.5).setting == "0.1"


def test_a_model_without_horizon_moves_nowhere():
    rows = [{"model": "a", "task": f"t{i}", "minutes": 2.0**i, "successes": 0, "n": 3} for i in range(4)]
    found = vary(timed(count_table(pl.DataFrame(rows))), (0.5,), weights="invsqrt")
    assert all(row.ratio is None for row in found.rows)
    assert found.widest("noise", 0.5) is None


def test_a_result_without_a_sensitivity_table_has_a_report():
    from howsure.claims.simulator import simulate_runs

    found = time_horizons(simulate_runs(None, n_families=6, n_runs=2), n_replicates=0, has_sensitivity=False)
    assert "sensitivity" not in found.charts()
    assert found.sections()
