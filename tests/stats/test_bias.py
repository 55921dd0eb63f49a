"""Planted biases are found at the stated rate; slopes are those of statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import binomtest

from howsure.stats.bias import length_bias, position_bias


def test_a_planted_pull_to_slot_one_is_found_and_an_even_judge_is_cleared():
    rng = np.random.default_rng(1)
    hits = {0.0: 0, 0.6: 0}
    for pull in hits:
        for _ in range(400):
            quality = rng.normal(0.3, 1, 25)
            first, second = (quality + slot * pull / 2 + rng.normal(0, 0.7, 25) for slot in (1, -1))
            hits[pull] += position_bias(first, second, neutral=0).shift.covers(pull)
    assert all(0.92 <= count / 400 <= 0.98 for count in hits.values()), hits


def test_favourites_are_counted_by_the_slot_they_follow():
    first = [2, 1, 2, -1, 0, 1, -2]
    second = [2, -1, -2, 1, 0, 0, -1]
    found = position_bias(first, second, neutral=0, bounds=(-2, 2))
    assert found.shift.value == pytest.approx(np.mean(np.subtract(first, second)))
    assert found.consistency.value == pytest.approx(3 / 7), "2/2, 0/0, −2/−1"
    assert found.slot_one.value == pytest.approx(2 / 3), "two went with slot 1, one with slot 2"
    ends = binomtest(2, 3).proportion_ci(method="exact")
    assert (found.slot_one.low, found.slot_one.high) == pytest.approx((ends.low, ends.high))


def test_always_slot_one_is_all_pull_and_no_consistency():
    found = position_bias([2] * 8, [-2] * 8, neutral=0, bounds=(-2, 2))
    assert (found.shift.value, found.shift.high, found.consistency.value, found.slot_one.value) == (4, 4, 0, 1)
    assert found.shift.low < 4, "eight items cannot exclude another kind"


def test_ratings_of_one_response_have_no_favourite():
    found = position_bias([1, 2, 3], [1, 3, 3], bounds=(1, 3))
    assert found.consistency.value == pytest.approx(2 / 3)
    assert (found.slot_one.state, found.shift.value) == ("undefined", pytest.approx(-1 / 3))


def test_without_changed_favourites_there_is_no_share():
    assert position_bias([1, 1], [2, 2], neutral=0).slot_one.state == "undefined"


def test_slopes_and_errors_are_those_of_statsmodels():
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, 40)
    people = 0.3 * x + rng.normal(0, 1, 40)
    judge = people + 0.5 * x + rng.normal(0, 0.2 + np.abs(x), 40)
    found = length_bias(judge, people, x, level=0.9)
    for y, estimate in ((judge, found.judge), (people, found.people), (judge - people, found.excess)):
        fit = sm.OLS(y, sm.add_constant(x)).fit(cov_type="HC3", use_t=True)
        assert estimate.value == pytest.approx(fit.params[1])
        assert (estimate.low, estimate.high) == pytest.approx(tuple(fit.conf_int(0.1)[1]))
    assert found.excess.value == pytest.approx(found.judge.value - found.people.value)


@pytest.mark.parametrize("planted", [0.0, 0.4])
def test_planted_length_bias_is_covered_though_people_are_noisy_and_like_length(planted):
    rng = np.random.default_rng(3)
    n_covered = 0
    for _ in range(500):
        x = rng.normal(0, 1, 30)
        quality = 0.5 * x + rng.normal(0, 1, 30)
        people = quality + rng.normal(0, 1, (3, 30)).mean(axis=0)
        judge = quality + planted * x + rng.normal(0, 0.5, 30)
        n_covered += length_bias(judge, people, x).excess.covers(planted)
    assert 0.92 <= n_covered / 500 <= 0.98


def test_few_items_and_equal_lengths_are_states():
    assert length_bias([1, 2, 3], [1, 2, 3], [0, 1, 2]).excess.state == "too_few"
    assert length_bias([1, 2, 3, 4], [1, 2, 3, 3], [1, 1, 1, 1]).excess.state == "undefined"


def test_no_interval_where_one_item_carries_the_slope_or_none_is_off():
    alone = length_bias([1, 2, 1, 5], [1, 1, 1, 1], [0, 0, 0, 3]).judge
    assert (alone.low, alone.low_state) == (None, "undefined")
    exact = length_bias([1, 2, 3, 4], [0, 0, 0, 0], [1, 2, 3, 4]).excess
    assert (exact.value, exact.low) == (pytest.approx(1), None)
