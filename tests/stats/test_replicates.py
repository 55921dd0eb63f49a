import numpy as np
import pytest
from numpy import inf, nan

from howsure.errors import OptionError
from howsure.stats.replicates import (
    expanded_level,
    probability_best,
    probability_greater,
    replicate_differences,
    replicate_interval,
)


def test_finite_replicates_have_numpys_quantiles():
    draws = np.random.default_rng(0).normal(size=(237, 3, 2))
    found = replicate_interval(draws, 0.9)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(found.low, low, rtol=1e-12)
    np.testing.assert_allclose(found.high, high, rtol=1e-12)
    assert (found.state == "ok").all()
    assert (found.low_state == "ok").all()
    assert (found.high_state == "ok").all()
    assert found.n_replicates == 237


def test_replicates_beyond_the_range_count_beyond_that_end():
    draws = np.r_[np.full(30, -inf), np.linspace(1, 2, 970)]
    found = replicate_interval(draws, 0.95)
    assert (found.low, found.low_state, found.high_state, found.state) == (-inf, "below_range", "ok", "ok")
    assert found.high == pytest.approx(np.quantile(draws[30:], 1 - 25 / 970), abs=0.002)
    assert (found.share_below, found.share_above, found.share_failed) == (0.03, 0, 0)


def test_few_beyond_the_range_leave_the_end_inside():
    found = replicate_interval(np.r_[np.linspace(1, 2, 990), np.full(10, inf)], 0.95)
    assert found.high_state == "ok"
    assert found.high == pytest.approx(1 + 0.975 * 999 / 989, abs=1e-9)
    assert found.share_above == 0.01


def test_next_to_an_infinite_replicate_the_outer_one_is_taken():
    found = replicate_interval(np.r_[-inf, np.arange(1.0, 40)], 0.95)  # position 0.975, between -inf and 1
    assert found.low == -inf
    assert found.low_state == "below_range"


def test_failed_replicates_count_beyond_both_ends():
    kept = np.linspace(0, 1, 99)
    found = replicate_interval(np.r_[kept, nan], 0.9)
    assert found.low == pytest.approx(np.quantile(np.r_[kept, -inf], 0.05), abs=1e-12)
    assert found.high == pytest.approx(np.quantile(np.r_[kept, inf], 0.95), abs=1e-12)
    dropped = replicate_interval(kept, 0.9)
    assert found.low < dropped.low
    assert found.high > dropped.high
    opened = replicate_interval(np.r_[kept[:90], np.full(9, nan)], 0.95)
    assert (opened.low, opened.high) == (-inf, inf)
    assert (opened.low_state, opened.high_state, opened.state) == ("unbounded", "unbounded", "ok")


def test_more_than_a_tenth_failed_leaves_no_interval():
    at_the_limit = replicate_interval(np.r_[np.ones(45), np.full(5, nan)], 0.8)
    assert at_the_limit.state == "ok"
    found = replicate_interval(np.r_[1.498, 1.50, 1.51, 1.517, np.full(46, nan)], 0.95)
    assert (found.state, found.low_state, found.high_state) == ("undefined", "undefined", "undefined")
    assert np.isnan([found.low, found.high]).all()
    assert found.share_failed == 0.92
    shown = found.estimate(1.5)
    assert (shown.value, shown.low, shown.high, shown.low_state) == (1.5, None, None, "undefined")
    assert shown.reason == "46 of 50 replicates failed; an interval allows 10%"
    assert str(shown) == "1.50 [undefined]"


def test_no_replicates_are_too_few():
    found = replicate_interval(np.empty((0, 2)), 0.95)
    assert found.state.tolist() == ["too_few", "too_few"]
    assert found.estimate(3.0, 1).low_state == "too_few"


def test_an_interval_wholly_beyond_one_end():
    found = replicate_interval(np.full(100, inf), 0.95)
    assert (found.low_state, found.high_state) == ("above_range", "above_range")


def test_an_estimate_takes_one_position_with_its_states():
    draws = np.column_stack([np.linspace(0, 1, 200), np.r_[np.linspace(0, 1, 180), np.full(20, inf)]])
    found = replicate_interval(draws, 0.95)
    plain, open_above = found.estimate(0.5, 0), found.estimate(0.6, 1, level=0.9)
    assert plain.low == pytest.approx(0.025)
    assert plain.high == pytest.approx(0.975)
    assert (open_above.high, open_above.high_state, open_above.level) == (None, "above_range", 0.9)


def test_a_level_is_a_share():
    with pytest.raises(OptionError, match="level 95 is not between 0 and 1"):
        replicate_interval([1.0, 2.0], 95)


def test_few_clusters_ask_for_more_replicates_inside():
    assert expanded_level(0.95, 10**6) == pytest.approx(0.95, abs=1e-5)
    assert expanded_level(0.95, 9) == pytest.approx(0.98292, abs=1e-4)  # 1 − 2Φ(−√(10/9)·2.2622)
    found = replicate_interval([1.0, 5.0, 3.0], expanded_level(0.95, 1))
    assert (found.low, found.high) == (pytest.approx(1), pytest.approx(5))


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        ([2, 3], [1, 4], 0.5),
        ([inf, 1], [inf, 0], 0.75),
        ([-inf], [-inf], 0.5),
        ([nan] + [2] * 9, [1] * 10, 0.95),
        ([inf] * 10, [nan] + [5] * 9, 0.95),
    ],
)
def test_failures_and_pairs_beyond_the_same_end_count_half(a, b, p):
    assert probability_greater(a, b) == pytest.approx(p)
    assert probability_greater(b, a) == pytest.approx(1 - p)


def test_with_many_failures_there_is_no_probability():
    assert np.isnan(probability_greater([nan] * 2 + [2] * 8, [1] * 10))
    assert np.isnan(probability_greater([2] * 10, [nan] * 2 + [1] * 8))
    assert probability_greater([nan, 2, 2, 2, 2, 2, 2, 2, 2, 2], [1] * 10) == pytest.approx(0.95)


def test_probability_of_the_best_agrees_with_pairs_and_adds_up_to_1():
    rng = np.random.default_rng(3)
    draws = rng.normal(size=(400, 4))
    draws[rng.random(draws.shape) < 0.04] = nan
    draws[rng.random(draws.shape) < 0.1] = inf
    assert probability_best(draws).sum() == pytest.approx(1)
    np.testing.assert_allclose(probability_best(draws[:, :2])[0], probability_greater(draws[:, 0], draws[:, 1]))
    few = np.full((50, 2), nan)
    few[:4] = [1.5, 1.0]  # 4 surviving refits of 50 do not make a model the best "with P > 0.999"
    assert np.isnan(probability_best(few)).all()


def test_differences_of_pairs_beyond_the_same_end_are_unknown():
    found = replicate_differences([inf, inf, 1, nan], [inf, 2, -inf, 1])
    np.testing.assert_array_equal(found, [nan, inf, inf, nan])
