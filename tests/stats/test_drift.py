"""The alarm: rare without a change however often one looks, soon with one."""

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.sequences import drift_alarm, simulate_runs


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_without_a_change_alarms_are_rare_over_all_looks(noise):
    alarms = [drift_alarm(simulate_runs(noise=noise, seed=seed), seed=seed).alarm_at is not None for seed in range(200)]
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_a_change_is_found():
    found = [drift_alarm(simulate_runs(shift=0.7, shift_at=5, n_runs=15, seed=seed), seed=seed) for seed in range(30)]
    assert np.mean([one.alarm_at is not None for one in found]) > 0.9
    assert all(one.shift.value > 0 for one in found)


def test_gaps_are_allowed_and_a_single_run_is_not():
    runs = simulate_runs(seed=1)
    runs[3, :10] = np.nan
    assert len(drift_alarm(runs).evidence) == 19
    with pytest.raises(InputError, match="at least 1 must follow"):
        drift_alarm(runs[:1])
