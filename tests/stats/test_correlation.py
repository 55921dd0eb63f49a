import itertools
import math

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import NormalIndPower

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats.correlation import (
    KINDS,
    coefficient,
    correlation,
    critical_r,
    disattenuate,
    kendall_between_rows,
    power_of_correlation,
)
from howsure.stats.reliability import intraclass


def pairs(rng, n, rho):
    x = rng.normal(size=n)
    return x, rho * x + math.sqrt(1 - rho**2) * rng.normal(size=n)


def test_summeval(summeval, reference):
    for dimension, value in reference["summeval"]["gpt4o_vs_mean_human_pearson"].items():
        table = summeval[dimension]
        found = correlation(table.judge, table.people.mean(axis=1))
        assert found.estimate.value == pytest.approx(value, abs=5e-4)


def test_kendall_of_all_rows_is_that_of_each_two():
    ranks = np.random.default_rng(0).integers(1, 4, (7, 5)).astype(float)
    ranks[1, 2] = ranks[3, 0] = np.nan
    ranks[4] = 2.0  # no order
    expected = []
    for one, other in itertools.combinations(ranks, 2):
        both = ~np.isnan(one + other)
        expected.append(coefficient(one[both], other[both], "kendall"))
    assert kendall_between_rows(ranks) == pytest.approx(expected, nan_ok=True)


def test_scipy_agrees():
    rng = np.random.default_rng(0)
    x, y = pairs(rng, 25, 0.6)
    y = np.round(y, 1)
    theirs = scipy.stats.pearsonr(x, y)
    found = correlation(x, y, level=0.9)
    interval = theirs.confidence_interval(0.9)
    assert (found.estimate.value, found.p, found.n) == (pytest.approx(theirs.statistic), theirs.pvalue, 25)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((interval.low, interval.high))
    for kind, test in (("spearman", scipy.stats.spearmanr), ("kendall", scipy.stats.kendalltau)):
        assert correlation(x, y, kind).estimate.value == pytest.approx(test(x, y).statistic)
        assert coefficient(x, y, kind) == pytest.approx(test(x, y).statistic)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold(kind):
    rho, rng = 0.6, np.random.default_rng(1)
    truth = {"pearson": rho, "spearman": 6 / math.pi * math.asin(rho / 2), "kendall": 2 / math.pi * math.asin(rho)}[
        kind
    ]
    found = [correlation(*pairs(rng, 12, rho), kind).estimate for _ in range(500)]
    assert 0.925 < np.mean([one.covers(truth) for one in found]) < 0.985


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((1, 2, 3, 4, 5), (2, 1, 3, 4, 5)),
        ((1, 2, 3, 4, 5), (1, 2, 3, 4, 5)),
        ((1, 1, 2, 3, 3, 4), (2, 1, 1, 3, 4, 4)),
    ],
)
def test_rank_correlations_of_few_pairs_have_exact_p_values(x, y):
    """By hand: every arrangement is tried with SciPy's own statistics."""
    for kind, test in (("spearman", scipy.stats.spearmanr), ("kendall", scipy.stats.kendalltau)):
        all_found = np.array([abs(test(x, one).statistic) for one in itertools.permutations(y)])
        exact = np.mean(all_found >= abs(test(x, y).statistic) - 1e-9)
        assert correlation(x, y, kind).p == pytest.approx(exact)


def test_five_pairs_with_two_swapped_are_not_significant():
    assert correlation(range(5), (1, 0, 2, 3, 4), "spearman").p == pytest.approx(10 / 120)
    assert correlation(range(5), range(5), "spearman").p == pytest.approx(2 / 120)


@pytest.mark.parametrize("kind", KINDS)
def test_a_perfect_correlation_has_a_p_above_0(kind):
    for n in (3, 9, 12):
        assert correlation(range(n), range(n), kind).p == pytest.approx(2 / math.factorial(n), rel=1e-6)
    assert correlation([1] * 10 + [2] * 2, [0] * 10 + [5] * 2, kind).p > 0


def test_pairs_of_few_clusters_are_taken_as_such():
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(20), 5)
    covered = {"pairs": 0, "clusters": 0}
    for _ in range(150):
        x, y = rng.normal(size=(2, 20))[:, cluster] * 0.8 + rng.normal(size=(2, 100)) * 0.6
        covered["pairs"] += correlation(x, y).estimate.covers(0.0)
        found = correlation(x, y, clusters=cluster)
        covered["clusters"] += found.estimate.covers(0.0)
        assert found.estimate.covers(0.0) is (found.p >= 0.05)
    assert covered["pairs"] < 125
    assert covered["clusters"] >= 135, covered  # 142.5 expected, standard deviation 2.7


def test_pearson_holds_at_5_pairs():
    rng = np.random.default_rng(2)
    found = [correlation(*pairs(rng, 5, 0.7)).estimate for _ in range(600)]
    assert 0.93 < np.mean([one.covers(0.7) for one in found]) < 0.97


def test_critical_r(reference):
    for n, value in reference["critical_r_two_sided_05"].items():
        assert critical_r(int(n)) == pytest.approx(value, abs=5e-4)
        edge = scipy.stats.t.sf(
            critical_r(int(n)) * math.sqrt((int(n) - 2) / (1 - critical_r(int(n)) ** 2)), int(n) - 2
        )
        assert edge == pytest.approx(0.025)


def test_power(reference):
    """The reference was simulated, so its second digit may be one off."""
    for n, by_rho in reference["power_r_at_least_070_and_p_below_05"].items():
        for rho, value in by_rho.items():
            assert power_of_correlation(float(rho), int(n), at_least=0.7) == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize(
    ("n", "rho", "at_least"), [(3, 0.9, 0.0), (5, 0.8, 0.7), (10, 0.8, 0.7), (25, -0.2, -1.0), (60, 0.3, 0.0)]
)
def test_simulated_power(n, rho, at_least):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40_000, n))
    y = rho * x + math.sqrt(1 - rho**2) * rng.normal(size=x.shape)
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    r = (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    found = np.mean(r >= max(critical_r(n), at_least))
    assert power_of_correlation(rho, n, at_least=at_least) == pytest.approx(found, abs=0.008)


def test_many_pairs_follow_fishers_scale():
    theirs = NormalIndPower(ddof=3).power(math.atanh(0.2), 300, 0.05, ratio=0, alternative="larger")
    two_sided = NormalIndPower(ddof=3).power(math.atanh(0.2), 300, 0.025, ratio=0, alternative="larger")
    assert power_of_correlation(0.2, 300) == pytest.approx(two_sided, abs=0.005)
    assert power_of_correlation(0.2, 300) < theirs
    assert power_of_correlation(0.0, 300) == pytest.approx(0.025, abs=1e-6)
    assert power_of_correlation(0.5, 5, at_least=1.0) == 0.0


def test_disattenuation_by_hand():
    # 0.6/√0.81, with ends from Donner and Zou's formula for a known denominator: low and high over it
    found = disattenuate(Estimate(0.6, 0.3, 0.8), Estimate(0.81, 0.81, 0.81))
    assert (found.value, found.low, found.high) == pytest.approx((0.6 / 0.9, 0.3 / 0.9, 0.8 / 0.9))
    turned = disattenuate(Estimate(-0.6, -0.8, -0.3), Estimate(0.81, 0.7, 0.9))
    straight = disattenuate(Estimate(0.6, 0.3, 0.8), Estimate(0.81, 0.7, 0.9))
    assert (turned.low, turned.value, turned.high) == pytest.approx((-straight.high, -straight.value, -straight.low))
    assert straight.low < 0.3 / 0.9
    assert straight.high > 0.8 / 0.9


def test_disattenuation_passes_the_possible_only_in_words():
    found = disattenuate(Estimate(0.9, 0.4, 0.97), Estimate(0.5, -0.4, 0.9))
    assert (found.value, found.high) == (1.0, 1.0)
    assert "1.27" in found.reason
    assert 0 < found.low < 0.9
    assert disattenuate(Estimate(0.1, -0.5, 0.6), Estimate(0.2, -0.4, 0.9)).low == -1.0


def test_disattenuation_finds_what_noise_hides():
    rng = np.random.default_rng(4)
    found, plain = [], []
    for _ in range(150):
        x, y = pairs(rng, 40, 0.6)
        ratings = x[:, None] + rng.normal(size=(40, 3))
        plain.append(correlation(y, ratings.mean(axis=1)).estimate)
        found.append(disattenuate(plain[-1], intraclass(ratings)["icc_3_k"]))
    assert np.mean([one.value for one in found]) == pytest.approx(0.6, abs=0.03)
    assert np.mean([one.value for one in plain]) < 0.55
    assert np.mean([one.covers(0.6) for one in found]) > 0.92


def test_states():
    assert correlation([1, 2], [2, 3]).estimate.state == "too_few"
    short = correlation([1, 2, 4], [2, 3, 1])
    assert (short.estimate.state, short.estimate.low) == ("too_few", None)
    assert short.estimate.value is not None
    constant = correlation([1, 1, 1, 1], [2, 3, 1, 4])
    assert (constant.estimate.state, constant.p) == ("undefined", None)
    for kind in KINDS:
        line = correlation([1, 2, 3, 4, 5], [0.1, 0.2, 0.3, 0.4, 0.5], kind).estimate
        assert (line.value, line.low, line.low_state, line.state) == (1.0, None, "undefined", "ok")
    assert disattenuate(Estimate(0.5), Estimate(-0.1)).state == "undefined"
    assert disattenuate(constant.estimate, Estimate(0.5)).state == "undefined"
    assert disattenuate(Estimate(0.5), Estimate.without("too_few", "…")).state == "too_few"
    assert disattenuate(Estimate(0.5), Estimate(0.81)).low_state == "undefined"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: correlation([1, 2, 3], [1, 2, 3], "linear"), OptionError, "correlation called 'linear'"),
        (lambda: correlation([1, 2, 3], [1, 2]), InputError, "Lengths differ"),
        (lambda: correlation([1, 2, np.nan], [1, 2, 3]), InputError, "not finite"),
        (lambda: critical_r(2), OptionError, "2 pairs"),
        (lambda: power_of_correlation(1.0, 5), OptionError, "rho 1.0"),
    ],
)
def test_wrong_calls_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_perfect_correlation_of_few_clusters_is_judged_by_the_clusters():
    x = np.arange(40.0)
    found = correlation(x, 2 * x, clusters=np.repeat(np.arange(4), 10))
    assert found.p == pytest.approx(2 / 24)  # 4 clusters, two of 4! arrangements; the 40 pairs alone say p < 1e-40
    assert correlation(x, 2 * x).p < 1e-40
    two = correlation(x, x + np.sin(x), clusters=np.repeat([0, 1], 20))
    assert (two.p, two.estimate.low_state) == (None, "too_few")
