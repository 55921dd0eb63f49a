"""Tests of an expected order, against SciPy and by counting."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import kendalltau, page_trend_test

from howsure.errors import InputError
from howsure.stats.permutation import jonckheere, page


def test_page_is_scipys_exact_one():
    table = np.random.default_rng(0).normal(size=(4, 6)) + 0.3 * np.arange(4)[:, None]
    theirs = page_trend_test(table.T, method="exact")
    assert page(table, [1, 2, 3, 4]).p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_page_with_a_tie_in_the_expectation_by_counting():
    blocks = [(1, 2, 3), (3, 1, 2)]
    weights = (1, 2.5, 2.5)
    reached = sum(sum(w * r for w, r in zip(weights, block, strict=True)) for block in blocks)
    every = [
        sum(sum(w * r for w, r in zip(weights, block, strict=True)) for block in pair)
        for pair in itertools.product(itertools.permutations((1, 2, 3)), repeat=2)
    ]
    by_hand = sum(one >= reached for one in every) / len(every)
    assert page(np.array(blocks, float).T, [0, 1, 1]).p == pytest.approx(by_hand)


def test_page_leaves_out_blocks_with_gaps():
    table = np.array([[1.0, 1, np.nan], [2, 2, 1]])
    assert page(table, [0, 1]).n == 2


def test_jonckheere_by_counting_all_arrangements():
    found = jonckheere([0.1, 0.4, 0.3, 0.8, 0.9], [0, 1, 1, 2, 3])
    assert found.statistic == 1
    # the two of one rank may change places
    assert found.p == found.least_p == pytest.approx(2 / math.factorial(5))


def test_jonckheere_is_kendalls_s():
    rng = np.random.default_rng(5)
    values = rng.normal(size=7)
    assert jonckheere(values, np.arange(7)).statistic == pytest.approx(kendalltau(np.arange(7), values).statistic)


def test_jonckheere_says_when_too_few_could_ever_show_it():
    assert jonckheere([1, 2, 3], [0, 1, 2]).least_p > 0.05


def test_random_arrangements_agree_with_all_of_them():
    values, ranks = np.random.default_rng(3).normal(size=9), np.repeat([0, 1, 2], 3)
    drawn = jonckheere(values, ranks, n=20_000)
    signs, higher = np.sign(values[None] - values[:, None]), np.sign(ranks[None] - ranks[:, None])
    observed = (signs * higher).sum()
    rng = np.random.default_rng(9)
    other = [(np.sign(v[None] - v[:, None]) * higher).sum() for v in (rng.permutation(values) for _ in range(4000))]
    assert drawn.p == pytest.approx(np.mean(np.array(other) >= observed), abs=0.03)


def test_false_alarms_are_as_rare_as_they_should_be():
    rng = np.random.default_rng(4)
    ps = [jonckheere(rng.normal(size=6), [0, 0, 1, 1, 2, 2]).p for _ in range(400)]
    assert 0.02 <= np.mean(np.array(ps) <= 0.05) <= 0.075


def test_no_order_is_refused():
    with pytest.raises(InputError, match="same rank"):
        jonckheere([1, 2], [0, 0])
    with pytest.raises(InputError, match="Page"):
        page(np.ones((1, 3)), [0])
