"""Human times: what people took, who gave up, how much they differ, and whose time to measure next."""

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.horizon import human_times, plan_baselines, time_horizons
from howsure.horizon.time_horizon.curves import fit_curves, timed
from howsure.horizon.time_horizon.people_times import _influence
from howsure.horizon.time_horizon.simulator import simulate_people, simulate_time

MODELS = {"one": 8.0, "two": 60.0}


def world(seed=0, *, spread=1.0, n_people=10, patience=1e9, n_families=40):
    """Runs of models beside timed people, and the true minutes by task."""
    drawn = simulate_time(MODELS, n_families=n_families, n_tasks=2, n_runs=2, seed=seed)
    tasks = drawn.counts.tasks
    people = simulate_people(tasks, n_people=n_people, n_tasks_each=30, spread=spread, patience=patience, seed=seed)
    rows = drawn.counts.to_frame().with_columns(run=pl.int_ranges(0, "n")).explode("run")
    runs = rows.select(
        pl.col("model").alias("subject"), pl.lit("model").alias("kind"), "task", "family", "minutes",
        (pl.col("run") < pl.col("successes")).cast(pl.Float64).alias("score"),
    )  # fmt: skip
    return pl.concat([runs, people], how="diagonal"), dict(zip(tasks["task"], tasks["minutes"], strict=True)), drawn


def test_the_spread_of_people_and_the_times_are_recovered():
    held, errors = [], []
    for seed in range(12):
        rows, truth, _ = world(seed)
        found = human_times(rows.filter(pl.col("kind") == "human"))
        held.append(found.spread.covers(1.0))
        errors += [
            abs(np.log2(r["minutes"] / truth[r["task"]])) / r["noise"] < 1.96 for r in found.tasks.rows(named=True)
        ]
    assert np.mean(held) >= 0.75
    assert np.mean(errors) == pytest.approx(0.95, abs=0.03)


def test_who_gave_up_makes_times_longer_and_not_shorter():
    """Successes alone are too short where many give up; with the people who gave up the times are about right."""
    rows, truth, _ = world(3, patience=30, n_people=40)
    people = rows.filter(pl.col("kind") == "human")

    def bias(found):
        known = found.tasks.filter(pl.col("n_successes") >= 3)
        hard = known.filter(pl.col("task").replace_strict(truth, return_dtype=pl.Float64) > 20)
        return float(np.mean([np.log2(r["minutes"] / truth[r["task"]]) for r in hard.rows(named=True)]))

    assert bias(human_times(people.filter(pl.col("score") == 1))) < -0.5
    assert abs(bias(human_times(people))) < 0.3
    none = human_times(people).tasks.filter(pl.col("n_successes") == 0)
    assert set(none["minutes_state"]) == {"above_range"}


def test_one_time_per_task_says_nothing_of_the_spread():
    rows, _, _ = world(1, n_people=1)
    assert human_times(rows).spread.state == "too_few"
    with pytest.raises(InputError, match="How much people differ is not known"):
        plan_baselines(rows)
    assert plan_baselines(rows, minutes_noise=0.7).spread.value == 0.7


def test_horizons_from_the_times_of_people_know_their_error():
    held = []
    for seed in range(12):
        rows, _, drawn = world(seed, n_people=12)
        found = time_horizons(rows, human_times="people", n_replicates=0, has_sensitivity=False)
        held += [found.minutes(model, 0.8).covers(drawn.truth(model, 0.8)) for model in MODELS]
    assert found.data.noise.max() > found.data.noise.min() > 0
    assert any("have the times of people" in note for note in found.provenance.notes)
    assert np.mean(held) > 0.8
    with pytest.raises(OptionError, match="No source of human times called 'crowd'"):
        time_horizons(rows, human_times="crowd")


def test_estimated_times_have_their_own_error():
    rows, _, _ = world(2)
    source = pl.when(pl.col("family").str.ends_with("1")).then(pl.lit("estimate")).otherwise(pl.lit("baseline"))
    found = time_horizons(
        rows.with_columns(human_source=source), minutes_noise=0.25, estimate_noise=1.0, n_replicates=0
    )
    assert set(found.data.noise) == {0.25, 1.0}
    with pytest.raises(OptionError, match="needs the column human_source"):
        time_horizons(rows, estimate_noise=1.0, n_replicates=0)


def test_the_derivative_of_a_horizon_by_a_length():
    data = timed(simulate_time(MODELS, n_families=10, seed=4).counts)
    for rate in (0.5, 0.8):
        pull = _influence(data, 1, rate)
        for task in (0, 7, 20):
            step = np.zeros(len(data.x))
            step[task] = 1e-4
            moved = [fit_curves(data, data.x + sign * step).log2_minutes(rate)[1] for sign in (1, -1)]
            assert pull[task] == pytest.approx((moved[0] - moved[1]) / 2e-4, rel=1e-3, abs=1e-7)


def test_the_plan_measures_where_it_matters_and_gains_with_every_person():
    rows, _, _ = world(5)
    found = plan_baselines(rows, n_people=30)
    assert found.tasks["n_more"].sum() == 30
    assert (found.steps["sd_noise"].diff().drop_nulls() < 0).all()
    assert found.steps["factor"][0] == 1
    even = human_times(rows).tasks
    assert found.tasks["n_people"].mean() <= even["n_people"].mean() + 2
