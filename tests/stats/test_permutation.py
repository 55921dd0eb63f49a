import itertools

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats import contingency_tables

from howsure.errors import InputError, OptionError
from howsure.stats.permutation import _exact_flips, _saddlepoint_flips, mcnemar, permutation, sign_flip, sign_flips


def test_hand_calculation_of_all_flips():
    # 3 differences of one sign: of 8 flips two are as extreme
    found = sign_flip([1.0, 2.0, 3.0])
    assert (found.p, found.statistic, found.n, found.method) == (0.25, 2.0, 3, "sign flips, all")


def test_scipy_agrees_on_all_flips():
    differences = np.random.default_rng(0).normal(0.5, 1, 10)
    theirs = scipy.stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(differences).p == pytest.approx(theirs.pvalue)


def test_the_halves_of_the_clusters_give_what_all_flips_give():
    differences = np.random.default_rng(1).normal(0.5, 1, 12)
    signs = np.array(list(itertools.product((1, -1), repeat=12)))
    expected = np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12)
    assert sign_flip(differences).p == pytest.approx(expected)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(0.3, 1, 27),
        lambda rng: rng.integers(-2, 4, 27) / 2,  # a lattice: two repeats per item
        lambda rng: rng.integers(-3, 5, 27) / 3,
        lambda rng: np.r_[8.0, rng.normal(0.2, 1, 26)],  # one cluster dominates: the distribution has two modes
        lambda rng: rng.standard_t(1.5, 27) + 0.5,
    ],
)
def test_many_flips_are_approximated_within_two_percent(draw):
    rng = np.random.default_rng(3)
    for _ in range(5):
        sizes = np.sort(np.abs(differences := draw(rng)))[::-1]
        exact = _exact_flips(sizes[sizes > 0], abs(differences.sum()))
        found = _saddlepoint_flips(sizes[:, None], np.abs(differences.sum(keepdims=True)))[0]
        assert found == pytest.approx(exact, rel=0.02 if exact > 1e-4 else 0.5)


def test_p_is_never_0_and_as_small_as_it_must_be():
    # all of one sign: 2 of 2^200 flips; a p-value that stops at 1/1000 could never survive a correction for many comparisons
    assert sign_flip(np.ones(200)).p == pytest.approx(2.0**-199)


@pytest.mark.parametrize("n_positive", [31, 40, 50, 58])
def test_p_of_equal_sizes_is_the_binomial_one(n_positive):
    differences = np.r_[np.ones(n_positive), -np.ones(60 - n_positive)]
    exact = 2 * scipy.stats.binom.sf(n_positive - 1, 60, 0.5)
    assert sign_flip(differences).p == pytest.approx(exact, rel=0.02)


def test_many_tests_at_once_are_the_single_ones():
    sums = np.random.default_rng(5).normal(0.1, 1, (60, 40)) * (np.random.default_rng(6).random((60, 40)) < 0.7)
    assert sign_flips(sums) == pytest.approx([sign_flip(column).p for column in sums.T], rel=1e-9)


def test_clusters_flip_together():
    # 4 clusters of 5 equal differences: as 4 differences, 2 of 16 flips
    found = sign_flip(np.repeat([1.0, 2, 3, 4], 5), np.repeat(list("abcd"), 5))
    assert (found.p, found.n, found.statistic) == (2 / 16, 4, 2.5)


def test_equal_sums_in_another_order_count_as_extreme():
    assert sign_flip([0.1, 0.2, 0.3, -0.6]).p == 1.0


def test_no_difference_at_all_gives_1():
    assert sign_flip(np.zeros(50)).p == 1.0


def test_sign_flip_holds_its_level():
    rng = np.random.default_rng(2)
    found = [sign_flip(rng.exponential(1, 30) * rng.choice([-1, 1], 30)).p for _ in range(600)]
    assert 0.03 < np.mean(np.array(found) <= 0.05) < 0.07


def test_hand_calculation_of_all_splits():
    # of the 6 splits of 1, 2, 3, 4, this and its mirror differ by 2
    found = permutation([1, 2], [3, 4])
    assert (found.p, found.statistic, found.n, found.method) == (pytest.approx(2 / 6), -2.0, 4, "splits, all")


def test_random_splits_approach_t():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0, 1, 40), rng.normal(0.5, 1, 50)
    found = permutation(a, b, n=4000, seed=1)
    assert found.p == pytest.approx(scipy.stats.ttest_ind(a, b).pvalue, abs=0.01)
    assert found == permutation(a, b, n=4000, seed=1)


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 5), (3, 9), (10, 10), (1, 0), (40, 61)])
def test_statsmodels_agrees_on_mcnemar(only_a, only_b):
    theirs = contingency_tables.mcnemar([[7, only_a], [only_b, 7]], exact=True)
    assert mcnemar(only_a, only_b).p == pytest.approx(theirs.pvalue)


def test_mid_p_by_hand():
    # 1 of 4: 2 · (1 + 4)/16 less the probability of 1, 4/16
    assert mcnemar(1, 3, mid_p=True).p == pytest.approx(10 / 16 - 4 / 16)
    assert mcnemar(0, 4, mid_p=True).p == pytest.approx(1 / 16)
    assert mcnemar(1, 3).p == pytest.approx(10 / 16)


def test_nothing_that_tells_apart_gives_1():
    assert (mcnemar(0, 0).p, mcnemar(0, 0).n) == (1.0, 0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: sign_flip([]), InputError, "No observation"),
        (lambda: permutation([1.0], []), InputError, "No observation"),
        (lambda: sign_flip([np.nan]), InputError, "differences: 1 of 1"),
        (lambda: sign_flip([1.0, 2.0], ["a"]), InputError, "2 values, 1 cluster"),
        (lambda: permutation([1.0], [np.inf]), InputError, "b: 1 of 1"),
        (lambda: mcnemar(-1, 2), InputError, "are not counts"),
        (lambda: mcnemar(0.5, 2), InputError, "are not counts"),
        (lambda: permutation([1.0], [2.0], n=0), OptionError, "Give at least 1"),
    ],
)
def test_wrong_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
