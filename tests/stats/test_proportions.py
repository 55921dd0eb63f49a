import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.proportion import proportion_confint

from howsure.errors import InputError, OptionError
from howsure.stats.means import clopper_pearson, mean, score_bounds, wilson

# Newcombe (1998), Two-sided confidence intervals for the single proportion, table I, methods 3 and 5
NEWCOMBE = {
    (81, 263): ((0.2553, 0.3662), (0.2527, 0.3676)),
    (15, 148): ((0.0624, 0.1605), (0.0578, 0.1617)),
    (0, 20): ((0.0, 0.1611), (0.0, 0.1684)),
    (1, 29): ((0.0061, 0.1718), (0.0009, 0.1776)),
}


@pytest.mark.parametrize(("successes", "n"), NEWCOMBE)
def test_newcombes_table(successes, n):
    for interval, ends in zip((wilson, clopper_pearson), NEWCOMBE[successes, n], strict=True):
        found = interval(successes, n)
        assert found.value == successes / n
        assert (found.low, found.high) == pytest.approx(ends, abs=5e-5)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("interval", "name"), [(wilson, "wilson"), (clopper_pearson, "beta")])
def test_statsmodels_agrees(interval, name, level):
    for successes in range(8):
        found = interval(successes, 7, level)
        # statsmodels' Wilson misses 0 and 1 by rounding
        assert (found.low, found.high) == pytest.approx(proportion_confint(successes, 7, 1 - level, name), abs=1e-12)


def test_bounds_stay_inside_and_around_the_share():
    shares, sizes = np.meshgrid([0, 1e-9, 0.3, 1 - 1e-9, 1], [0.2, 3, 1e9])
    low, high = score_bounds(shares, sizes, 1.96)
    assert ((low >= 0) & (low <= shares) & (shares <= high) & (high <= 1)).all()


def test_no_trial_is_a_state():
    assert wilson(0, 0).state == clopper_pearson(0, 0).state == "too_few"
    assert wilson(0, 0).value is None


@pytest.mark.parametrize(("successes", "n"), [(3, 2), (-1, 2), (float("nan"), 2), (0, -1)])
def test_what_is_no_share_is_refused(successes, n):
    for interval in (wilson, clopper_pearson):
        with pytest.raises(InputError, match="not a share"):
            interval(successes, n)


def test_level_is_checked():
    with pytest.raises(OptionError, match=r"95 is not between 0 and 1. Write 0.95"):
        wilson(1, 2, 95)


def test_shares_next_to_a_bound_are_covered_where_wilsons_interval_leaves_them_out():
    # by hand: 2 of 30 successes give the 5 % quantile of χ² with 4 degrees of freedom, 0.7107, over 2 · 30
    found = mean([1, 1] + [0] * 28).estimate
    assert found.low == pytest.approx(0.7107 / 60, rel=1e-3)
    assert found.high == pytest.approx(wilson(2, 30).high)
    mirrored = mean([0, 0] + [1] * 28).estimate
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low))
    n, truth = 30, 0.0179
    chances = scipy.stats.binom.pmf(np.arange(n + 1), n, truth)
    covers = [mean([1] * x + [0] * (n - x)).estimate.covers(truth) for x in range(n + 1)]
    assert chances[covers].sum() >= 0.95
    assert chances[[wilson(x, n).covers(truth) for x in range(n + 1)]].sum() < 0.91
