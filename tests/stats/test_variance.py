import numpy as np
import pytest
import scipy.stats

from howsure.errors import InputError, OptionError
from howsure.stats.coverage import split
from howsure.stats.means import mean

# Shrout and Fleiss (1979), table 2: six targets, four judges
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)


def of(rows):
    return split([len(row) for row in rows], [sum(row) for row in rows], [sum(np.square(row)) for row in rows])


def test_shrout_and_fleiss():
    """Their table 3 and 4: mean squares 11.24 and 6.26, ICC(1, 1) 0.17; the upper end 0.72 follows from F on 5 and 18."""
    found = of(SHROUT_FLEISS)
    assert found.within == pytest.approx(6.26, abs=5e-3)
    assert found.between == pytest.approx((11.24 - 6.26) / 4, abs=5e-3)
    assert found.total == found.between + found.within
    assert found.share_between.value == pytest.approx(0.1657, abs=1e-4)
    assert (found.share_between.low, found.share_between.high) == (0.0, pytest.approx(0.7226, abs=1e-4))
    assert not found.is_truncated


def test_scipy_agrees_on_the_ratio():
    rng = np.random.default_rng(0)
    rows = [rng.normal(rng.normal(), 1, n) for n in (2, 5, 3, 9, 3)]
    found = of(rows)
    repeats = (22 - (4 + 25 + 9 + 81 + 9) / 22) / 4
    ratio = scipy.stats.f_oneway(*rows).statistic
    assert found.between == pytest.approx(found.within * (ratio - 1) / repeats)


def test_items_tried_once_by_hand():
    # 2, 4 | 6: within 2, grand mean 4, between 2 · 1 + 4 = 6, repeats 3 − 5/3 = 4/3
    found = of([[2, 4], [6]])
    assert (found.within, found.between) == pytest.approx((2, (6 - 2) / (4 / 3)))


def test_planted_truth_is_found_without_bias():
    rng = np.random.default_rng(1)
    n = rng.integers(1, 6, 50)
    found = []
    for _ in range(400):
        rows = [rng.normal(item, 0.8, size) for item, size in zip(rng.normal(0, 0.6, 50), n, strict=True)]
        found.append(of(rows))
    assert np.mean([one.between for one in found]) == pytest.approx(0.36, abs=0.02)
    assert np.mean([one.within for one in found]) == pytest.approx(0.64, abs=0.02)
    assert 0.93 < np.mean([one.share_between.covers(0.36) for one in found]) < 0.985


def test_truncation_is_told():
    found = of([[0, 1], [1, 0], [0, 1]])
    assert found.is_truncated
    assert (found.between, found.share_between.value, found.share_between.low) == (0.0, 0.0, 0.0)


def test_standard_error_for_other_epochs():
    found = of(SHROUT_FLEISS)
    assert found.se_if_epochs(4) == pytest.approx(mean(SHROUT_FLEISS.ravel(), np.repeat(range(6), 4), bounds=None).se)
    assert found.se_if_epochs(1) == pytest.approx(np.sqrt(found.total / 6))
    with pytest.raises(OptionError, match="0 epochs"):
        found.se_if_epochs(0)


@pytest.mark.parametrize("rows", [[], [[1, 0, 1]], [[1], [0], [1]]])
def test_too_little_is_a_state(rows):
    found = of(rows)
    assert (found.share_between.state, found.between, found.se_if_epochs(3)) == ("too_few", None, None)


def test_repeats_that_never_differ_are_not_certain():
    found = of([[1, 1], [0, 0], [1, 1]])
    assert (found.share_between.state, found.share_between.value, found.within) == ("undefined", 1.0, 0.0)


@pytest.mark.parametrize("score", [0.0, 0.1])
def test_scores_that_never_vary_have_no_share(score):
    found = of([[score, score, score]] * 4)
    assert (found.share_between.state, found.share_between.value, found.within) == ("undefined", None, 0.0)


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        (([2, 0], [1, 0], [1, 0]), "item without a score"),
        (([2, 2], [1, 1], [0.1, 1]), r"squares: less than total²/n"),
        (([2, 2], [1, np.nan], [1, 1]), "total: 1 of 2"),
        (([2, 2], [1], [1, 1]), "Lengths differ"),
    ],
)
def test_wrong_input_is_named(arrays, text):
    with pytest.raises(InputError, match=text):
        split(*arrays)
