"""Exactly these items: intervals from the repeats of each item alone."""

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.fixed_items import fixed_bounds, fixed_difference, fixed_difference_bounds, fixed_mean
from howsure.stats.means import difference_bounds, mean, mean_bounds, paired_difference, wilson


def drawn(rng, rates, repeats):
    scores = rng.binomial(repeats, rates) / repeats
    return scores, np.full(scores.shape, float(repeats)), repeats * scores * (1 - scores)


def test_the_standard_error_by_hand():
    # items 0/2, 1/2, 2/2: variances within 0, ½, 0; each mean of 2 attempts; a third of each
    found = fixed_mean([0, 0.5, 1], [2, 2, 2], [0, 0.5, 0])
    assert found.se == pytest.approx(np.sqrt(0.5 / 2 / 9))
    assert found.estimate.value == pytest.approx(0.5)


def test_repeats_that_never_differ_leave_an_interval_and_one_item_gives_wilsons():
    found = fixed_mean([1.0] * 10 + [0.0] * 20, [5] * 30, [0] * 30).estimate
    assert 0.005 < found.high - found.low < 0.1
    zero = fixed_mean([0.0] * 30, [5] * 30, [0] * 30).estimate
    assert (zero.low, zero.high) == pytest.approx((0, wilson(0, 150).high))


def test_without_repeats_the_interval_is_that_of_sampled_items():
    x, y = np.random.default_rng(0).integers(2, size=(2, 20)).astype(float)
    once, none = np.ones(20), np.zeros(20)
    assert fixed_mean(x, once, none) == mean(x)
    assert fixed_difference((x, once, none), (y, once, none)) == paired_difference(x, y)


def test_rows_of_simulations_have_the_intervals_that_users_get():
    rng = np.random.default_rng(1)
    for repeats in (1, 2, 5):
        a, b = (drawn(rng, rng.beta(0.3, 1.5, (40, 30)) * (rng.random((40, 1)) < 0.8), repeats) for _ in "ab")
        cases = [
            (mean_bounds(a[0], 0.9), [mean(x, level=0.9) for x in a[0]]),
            (
                difference_bounds(a[0], b[0], 0.9),
                [paired_difference(*xy, level=0.9) for xy in zip(a[0], b[0], strict=True)],
            ),
        ]
        if repeats > 1:
            rows = [tuple(zip(*side, strict=True)) for side in (a, b)]
            pairs = zip(*rows, strict=True)
            cases += [
                (fixed_bounds(*a, 0.9), [fixed_mean(*x, level=0.9) for x in rows[0]]),
                (fixed_difference_bounds(a, b, 0.9), [fixed_difference(x, y, level=0.9) for x, y in pairs]),
            ]
        for ends, found in cases:
            assert np.column_stack(ends) == pytest.approx(
                np.array([(one.estimate.low, one.estimate.high) for one in found]), rel=1e-9, abs=1e-12
            )


def test_evals_count_once_and_an_item_tried_once_is_not_taken_as_exact():
    strata = np.repeat([0, 1], [30, 10])
    means = np.where(strata == 0, 0.5, 1.0)
    found = fixed_mean(means, np.full(40, 4), np.where(strata == 0, 1.0, 0.0), strata=strata)
    assert found.estimate.value == pytest.approx(0.75)
    assert found.se == pytest.approx(np.sqrt((1 / 3 / 4 / 30) / 4))
    mixed = fixed_mean([1.0, 0.0, 0.5], [1, 1, 2], [0, 0, 0.5])
    assert mixed.se == pytest.approx(np.sqrt((0.25 + 0.25 + 0.25) / 9))


def test_scores_beyond_the_scale_are_refused():
    with pytest.raises(InputError, match="between 0 and 1"):
        fixed_mean([2.0, 0.5], [2, 2], [0, 0])
