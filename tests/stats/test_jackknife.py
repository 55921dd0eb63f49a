import numpy as np
import pytest
import scipy.stats

from howsure.errors import InputError
from howsure.stats.replicates import groups, reach


def test_of_a_mean_it_is_the_t_interval():
    scores = np.random.default_rng(0).normal(size=9)
    left_out = (scores.sum() - scores) / 8
    low, high = scipy.stats.t.interval(0.9, 8, scores.mean(), scipy.stats.sem(scores))
    assert reach(left_out, 0.9) == pytest.approx((high - low) / 2)


def test_groups_take_everything_once():
    assert [list(part) for part in groups(3)] == [[0], [1], [2]]
    parts = groups(1003, at_most=200)
    assert len(parts) == 200
    assert sorted(np.concatenate(parts)) == list(range(1003))
    assert {len(part) for part in parts} == {5, 6}


def test_one_group_tells_nothing():
    with pytest.raises(InputError, match="at least 2 groups"):
        reach([0.5])
