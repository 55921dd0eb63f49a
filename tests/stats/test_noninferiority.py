"""Limits of paired differences where few pairs differ: published values, exact cases, error rates."""

import numpy as np
import pytest
from scipy import optimize, stats

from howsure.stats.noninferiority import FEW_FLIPS, Flips, Smoothed


@pytest.mark.parametrize(("gains", "losses", "n"), [(12, 2, 50), (3, 14, 40), (25, 20, 300)])
def test_score_limits_solve_tangos_equation(gains, losses, n):
    """At each limit d, (g − l − nd)/√(n(2q + d(1 − d))) is the quantile, with q the maximum of the multinomial likelihood given d."""
    flips = Flips.of(gains, losses, n)
    for limit, quantile in ((float(flips.low(0.975)), 1.959964), (float(flips.high(0.975)), -1.959964)):

        def deviance(q, d=limit):
            return -(gains * np.log(q + d) + losses * np.log(q) + (n - gains - losses) * np.log(1 - 2 * q - d))

        q = optimize.minimize_scalar(
            deviance, bounds=(max(0, -limit) + 1e-9, (1 - limit) / 2 - 1e-9), method="bounded", options={"xatol": 1e-11}
        ).x
        assert (gains - losses - n * limit) / np.sqrt(n * (2 * q + limit * (1 - limit))) == pytest.approx(
            quantile, abs=1e-4
        )


def test_pairs_without_a_flip_have_the_exact_limit():
    for n in (5, 30, 148, 149):
        flips = Flips.of(0, 0, n)
        assert float(flips.low(0.95)) == pytest.approx(-(1 - 0.05 ** (1 / n)), rel=1e-9)
        assert float(flips.high(0.95)) == pytest.approx(1 - 0.05 ** (1 / n), rel=1e-9)


def test_few_flips_are_at_least_as_cautious_as_the_exact_test():
    for gains in range(FEW_FLIPS):
        for losses in range(FEW_FLIPS - gains):
            p = float(Flips.of(gains, losses, 60).swapped().p_below(0.0))
            exact = stats.binomtest(losses, gains + losses, alternative="greater").pvalue if gains + losses else 1.0
            if losses:
                assert p >= exact - 1e-12
            assert (float(Flips.of(gains, losses, 60).high(0.95)) < 0) == (p < 0.05)


def test_limits_and_p_values_agree():
    rng = np.random.default_rng(1)
    flips = Flips.of(rng.integers(0, 15, 200), rng.integers(0, 15, 200), 90)
    assert ((flips.low(0.95) > -0.03) == (flips.p_below(-0.03) < 0.05)).all()
    smooth = Smoothed.of(rng.choice([-1, -0.5, 0, 0, 0, 0.5, 1], (200, 40)), np.ones(40))
    assert ((smooth.low(0.95) > -0.1) == (smooth.p_below(-0.1) < 0.05)).all()
    assert ((smooth.high(0.95) < 0) == (smooth.p_above(0.0) < 0.05)).all()


def test_without_bounds_and_skewness_it_is_the_t_limit():
    values = np.array([-2.0, -1, 0, 1, 2, 3, -3])
    smooth = Smoothed.of(values, np.ones(7), None)
    oracle = stats.ttest_1samp(values, 0, alternative="greater").confidence_interval(0.95)
    assert float(smooth.low(0.95)) == pytest.approx(oracle.low)


def test_clusters_of_one_are_items():
    values = np.random.default_rng(2).normal(0, 0.3, 30).clip(-1, 1)
    twice = Smoothed.of(2 * values, np.full(30, 2.0))
    once = Smoothed.of(values, np.ones(30))
    assert float(twice.low(0.9)) == pytest.approx(float(once.low(0.9)))


def test_mirrored_data_have_mirrored_limits():
    values = np.random.default_rng(3).choice([-1.0, 0, 0, 0.5], 25)
    assert float(Smoothed.of(values, np.ones(25)).low(0.95)) == pytest.approx(
        -float(Smoothed.of(-values, np.ones(25)).high(0.95))
    )
    assert float(Flips.of(7, 3, 40).low(0.95)) == pytest.approx(-float(Flips.of(3, 7, 40).high(0.95)))


@pytest.mark.parametrize("n_clusters", [6, 20, 40])
def test_clusters_without_a_change_have_the_exact_limit(n_clusters):
    """Twenty families of six items that all agree exclude no more than twenty items that agree."""
    agreeing = Smoothed.of(np.zeros(n_clusters), np.full(n_clusters, 6.0))
    assert float(agreeing.low(0.95)) == pytest.approx(-(1 - 0.05 ** (1 / n_clusters)), rel=1e-9)
    assert float(agreeing.high(0.95)) == pytest.approx(1 - 0.05 ** (1 / n_clusters), rel=1e-9)
    threshold = float(agreeing.low(0.95))
    assert float(agreeing.p_below(threshold - 1e-6)) < 0.05 < float(agreeing.p_below(threshold + 1e-6))


@pytest.mark.parametrize(
    ("sizes", "share", "drop"),
    [
        (np.full(20, 6), 0.1, 0.1),  # one family in ten fails completely, the others are alike
        (np.full(40, 6), 0.1, 0.1),
        (
            np.maximum(1, np.round(60 * 0.6 ** np.arange(40))).astype(int),
            0.2,
            0.1,
        ),  # few large families, many of one item
    ],
)
def test_a_drop_that_few_families_carry_is_rarely_shipped(sizes, share, drop):
    rng = np.random.default_rng(0)
    is_bad = rng.random((1000, len(sizes))) < share
    totals = -rng.binomial(sizes, np.where(is_bad, drop / share, 0.0)).astype(float)
    is_shipped = Smoothed.of(totals, sizes.astype(float)).low(0.95) > -drop
    assert is_shipped.mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)
