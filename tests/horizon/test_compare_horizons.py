"""Two models' horizons over the same replicates."""

import numpy as np
import polars as pl
import pytest

from howsure.errors import OptionError
from howsure.horizon.run_counts import count_table
from howsure.horizon.time_horizon.comparison import compare_horizons
from howsure.horizon.time_horizon.horizons import time_horizons
from howsure.horizon.time_horizon.simulator import simulate_time

MODELS = {"old": 20.0, "new": 60.0, "none": 1e-9}


@pytest.fixture(scope="module")
def found():
    return time_horizons(simulate_time(MODELS, seed=5, n_families=60).counts, n_replicates=400)


def test_the_planted_ratio_is_found(found):
    compared = compare_horizons(found, "new", "old")
    row = compared.rows[0]
    assert row.ratio.covers(3.0)
    assert row.ratio.value == pytest.approx(row.a.value / row.b.value)
    assert row.p_a_greater > 0.99
    assert compared.to_frame()["success_rate"].to_list() == [0.5, 0.8]


def test_the_other_way_round_is_the_inverse(found):
    one, other = compare_horizons(found, "new", "old").rows[0], compare_horizons(found, "old", "new").rows[0]
    assert one.ratio.value == pytest.approx(1 / other.ratio.value)
    assert one.p_a_greater == pytest.approx(1 - other.p_a_greater)
    assert (one.ratio.low, one.ratio.high) == pytest.approx((1 / other.ratio.high, 1 / other.ratio.low))


def test_pairing_is_narrower_than_two_intervals(found):
    row = compare_horizons(found, "new", "old").rows[0]
    apart = np.hypot(*(np.log2(one.high / one.low) for one in (row.a, row.b)))
    assert np.log2(row.ratio.high / row.ratio.low) < 0.9 * apart


def test_a_model_without_horizon_has_no_ratio_but_a_chance(found):
    row = compare_horizons(found, "new", "none").rows[0]
    assert row.ratio.state == "undefined"
    assert "none: no success" in row.ratio.reason
    assert row.p_a_greater == 1
    assert row.n_undefined == 0


def test_two_models_without_horizon_say_nothing():
    rows = [{"model": m, "task": f"t{i}", "minutes": 2.0**i, "successes": 0, "n": 3} for m in "ab" for i in range(4)]
    found = time_horizons(count_table(pl.DataFrame(rows)), n_replicates=20)
    row = compare_horizons(found, "a", "b").rows[0]
    assert row.p_a_greater == 0.5
    assert row.n_undefined == 20


def test_many_replicates_without_ratio_leave_no_interval():
    rows = [
        {"model": m, "task": f"t{i}", "minutes": 2.0**i, "successes": s, "n": 4}
        for m, successes in (("a", (4, 3, 2, 1, 0)), ("b", (2, 3, 2, 1, 2)))
        for i, s in enumerate(successes)
    ]
    row = compare_horizons(time_horizons(count_table(pl.DataFrame(rows)), n_replicates=200), "a", "b").rows[0]
    assert row.n_undefined > 20
    assert (row.ratio.low_state, row.ratio.high_state) == ("undefined", "undefined")


def test_models_of_different_tasks_are_warned_about():
    world = simulate_time({"a": 20.0, "b": 60.0}, seed=5).counts.to_frame()
    some = world.filter((pl.col("model") == "a") | (pl.col("minutes") > 4))
    compared = compare_horizons(time_horizons(count_table(some), n_replicates=20), "a", "b")
    assert compared.n_shared_tasks < 160
    assert "part of the difference may come from the tasks" in compared.provenance.notes[-1]


def test_what_cannot_be_compared(found):
    with pytest.raises(OptionError, match="compared with itself"):
        compare_horizons(found, "new", "new")
    with pytest.raises(OptionError, match="No model called 'newer'"):
        compare_horizons(found, "newer", "old")
    with pytest.raises(OptionError, match="no replicates"):
        compare_horizons(time_horizons(found.data.counts, n_replicates=0), "new", "old")
