"""Differences between systems over items and raters: balanced designs by hand, gaps, and coverage."""

import numpy as np
import pytest

from howsure.stats.system_differences import _LeastSquares, system_differences


def ratings(seed, n=12, raters=5, per_item=5, shift=0.5):
    rng = np.random.default_rng(seed)
    seen = np.argsort(rng.random((n, raters)), axis=1) < per_item
    item, rater = np.nonzero(seen)
    of_item, of_rater = rng.normal(0, 1, n), rng.normal(0, 0.7, raters)
    pairs, tastes = rng.normal(0, 0.5, (n, 2)), rng.normal(0, 0.3, (raters, 2))
    values = [s * shift + of_item[item] + of_rater[rater] + pairs[item, s] + tastes[rater, s] + rng.normal(0, 0.8, len(item)) for s in (0, 1)]  # fmt: skip
    return np.concatenate(values), ["a"] * len(item) + ["b"] * len(item), [*item, *item], [*rater, *rater]


def test_with_everybody_everywhere_it_is_the_difference_of_means():
    values, systems, items, raters = ratings(0)
    (found,) = system_differences(values, systems, items, raters)
    is_a = np.array(systems) == "a"
    assert found.difference.value == pytest.approx(values[is_a].mean() - values[~is_a].mean(), rel=1e-9)


def test_lenient_raters_do_not_favour_a_system():
    """Rater 0 adds 3 and rates system b twice as often."""
    rng = np.random.default_rng(1)
    cells = [(system, item, rater) for item in range(40) for rater in range(4) for system in "ab"]
    kept = [one for one in cells if one[0] == "b" or one[2] != 0 or one[1] % 2]
    rows = [(rng.normal(0, 0.3) + 3 * (rater == 0) + item / 20, system, item, rater) for system, item, rater in kept]
    values, systems, items, raters = zip(*rows, strict=True)
    (found,) = system_differences(values, systems, items, raters)
    assert abs(found.difference.value) < 0.15
    assert found.p_holm > 0.01


@pytest.mark.parametrize("per_item", [5, 3])
def test_intervals_hold_for_other_items_and_raters(per_item):
    hits = [
        system_differences(*ratings(seed, n=14, raters=6, per_item=per_item))[0].difference.covers(-0.5)
        for seed in range(120)
    ]
    assert np.mean(hits) >= 0.88


def test_systems_without_a_link_are_undefined_and_one_rater_is_too_few():
    lone = system_differences([1.0, 2, 3, 4], ["a", "a", "b", "b"], [1, 2, 3, 4], [1, 1, 2, 2])
    assert lone[0].difference.state == "undefined"
    one = system_differences([1.0, 2, 3, 5], ["a", "b", "a", "b"], [1, 1, 2, 2], [1, 1, 1, 1])
    assert one[0].difference.state == "too_few"
    assert one[0].difference.value == pytest.approx(-1.5)


def test_leaving_out_one_rating_changes_what_a_fit_without_it_changes():
    """Exact for least squares. Systems add up to 1, a direction that must not enter the inverse (three systems showed it)."""
    item, rater, system = (one.ravel() for one in np.indices((9, 30, 3)))
    values = np.random.default_rng(4).integers(1, 6, len(item)).astype(float)
    model = _LeastSquares.of(values, system, item, rater, 3)
    whole, influence = model.effects(), model.influence()
    for row in (0, 17, 100, len(values) - 1):
        change = whole - model.without(np.array([row]))
        assert change[0] - change[1] == pytest.approx(influence[row, 0] - influence[row, 1], abs=1e-9)


def test_the_order_of_rows_does_not_matter():
    columns = ratings(5, n=14, raters=40, per_item=25)
    mixed = np.random.default_rng(6).permutation(len(columns[0]))
    (one,) = system_differences(*columns)
    (other,) = system_differences(*([column[place] for place in mixed] for column in columns))
    assert (other.difference.low, other.difference.high) == pytest.approx(
        (one.difference.low, one.difference.high), rel=1e-9
    )
