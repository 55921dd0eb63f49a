"""Means over two crossed samples: known answers, edges, and coverage by simulation."""

import numpy as np
import pytest
from scipy.stats import t as student

from howsure.errors import InputError
from howsure.stats.components import crossed_difference, crossed_mean, variance_components

SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)


def drawn(rng, n, k, mean, item, rater, rest):
    """Ratings on 0–1 in steps, as people tick three questions of 5, 3 and 3 answers."""
    latent = mean + rng.normal(0, item, (n, 1)) + rng.normal(0, rater, (1, k))
    steps = (np.clip(np.round((latent + rng.normal(0, rest, (n, k))) * (m - 1)), 0, m - 1) / (m - 1) for m in (5, 3, 3))
    return sum(steps) / 3


def test_the_standard_error_is_that_of_the_three_components():
    found = crossed_mean(SHROUT_FLEISS, bounds=None)
    parts = variance_components(SHROUT_FLEISS)
    by_hand = parts.item.value / 6 + parts.rater.value / 4 + parts.residual.value / 24
    assert found.se == pytest.approx(np.sqrt(by_hand), rel=1e-9)
    assert found.estimate.value == pytest.approx(SHROUT_FLEISS.mean())
    reach = student.ppf(0.975, found.df) * found.se
    assert found.estimate.high == pytest.approx(found.estimate.value + reach)


def test_a_gap_hardly_moves_it():
    holed = SHROUT_FLEISS.copy()
    holed[0, 0] = np.nan
    whole, partial = crossed_mean(SHROUT_FLEISS, bounds=None), crossed_mean(holed, bounds=None)
    assert partial.n == whole.n - 1
    assert partial.se == pytest.approx(whole.se, rel=0.25)


def test_it_is_wider_than_over_items_alone_where_raters_differ():
    from howsure.stats.means import clustered_mean

    table = np.array([[0.1, 0.5, 0.9]] * 6) + np.linspace(0, 0.05, 6)[:, None]
    alone = clustered_mean(table.sum(axis=1), np.full(6, 3.0)).estimate
    assert crossed_mean(table).estimate.width > 3 * alone.width


def test_no_spread_is_told_and_stays_honest():
    found = crossed_mean(np.ones((5, 7))).estimate
    assert (found.value, found.high) == (1, 1)
    assert 0.5 < found.low < 0.6
    assert "5 yes-or-no trials" in found.reason
    assert crossed_mean(np.full((5, 7), 0.3), bounds=None).estimate.state == "undefined"


@pytest.mark.parametrize("shape", [(5, 1), (1, 7), (0, 0)])
def test_too_few_is_a_state(shape):
    assert crossed_mean(np.full(shape, 0.5)).estimate.state == "too_few"


def test_ratings_outside_the_bounds_are_refused():
    with pytest.raises(InputError, match="not between 0 and 1"):
        crossed_mean(SHROUT_FLEISS)


def test_severity_cancels_from_a_difference():
    rng = np.random.default_rng(2)
    table = rng.normal(0, 1, (6, 5))
    shifted = table + np.array([0, 5, -5, 9, 1])
    plain, moved = (crossed_difference(one[:3], one[3:], bounds=None).estimate for one in (table, shifted))
    assert moved.low == pytest.approx(plain.low)
    assert moved.high == pytest.approx(plain.high)


def test_one_item_cannot_be_told_from_its_group():
    found = crossed_difference(np.full((1, 7), 0.9), np.full((2, 7), 0.4)).estimate
    assert (found.state, found.low) == ("too_few", None)
    assert found.value == pytest.approx(0.5)


def test_both_sides_need_the_same_raters():
    with pytest.raises(InputError, match="3 and 4 raters"):
        crossed_difference(np.ones((2, 3)), np.ones((2, 4)))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("n", "k", "mean", "item", "rater", "rest"),
    [
        (5, 7, 0.5, 0.15, 0.1, 0.25),
        (5, 7, 0.75, 0.15, 0.1, 0.25),
        (5, 7, 0.75, 0.2, 0.02, 0.2),
        (5, 7, 0.75, 0.02, 0.2, 0.2),
        (5, 7, 0.98, 0.1, 0.1, 0.15),
        (3, 10, 0.75, 0.15, 0.1, 0.25),
        (30, 7, 0.75, 0.15, 0.1, 0.25),
    ],
)
def test_it_covers_at_its_level(n, k, mean, item, rater, rest):
    rng = np.random.default_rng(0)
    truth = np.mean([drawn(rng, 1500, 400, mean, item, rater, rest).mean() for _ in range(8)])
    hits = [crossed_mean(drawn(rng, n, k, mean, item, rater, rest)).estimate.covers(truth) for _ in range(1200)]
    assert 0.92 <= np.mean(hits) <= 0.98


@pytest.mark.heavy
def test_a_difference_covers_at_its_level():
    rng, hits = np.random.default_rng(1), []
    for _ in range(1200):
        severity, taste = rng.normal(0, 0.1, (1, 7)), rng.normal(0, 0.07, (1, 7))
        groups = [
            centre + rng.normal(0, 0.1, (3, 1)) + severity + sign * taste + rng.normal(0, 0.15, (3, 7))
            for centre, sign in ((0.6, 1), (0.4, -1))
        ]
        hits.append(crossed_difference(*groups, bounds=None).estimate.covers(0.2))
    assert 0.92 <= np.mean(hits) <= 0.98
