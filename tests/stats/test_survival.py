import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from statsmodels.duration.survfunc import CumIncidenceRight, SurvfuncRight, survdiff

from howsure.errors import InputError, OptionError
from howsure.stats.means import mean, wilson
from howsure.stats.survival import (
    FrailtyFit,
    fit_frailty,
    incidence_values,
    kaplan_meier,
    likely_hazards,
    log_rank,
    restricted_mean,
    restricted_values,
)

# Freireich et al. (1963): weeks of remission with 6-mercaptopurine and with placebo
TREATED = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], [1] * 9 + [0] * 12
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], [1] * 21


def ends(estimate):
    return estimate.low, estimate.high


def drawn(rng, n):
    times, censored = rng.exponential(1, n), rng.exponential(2, n)
    return np.round(np.minimum(times, censored), 1), times <= censored


class TestCurve:
    def test_freireichs_table(self):
        """Kalbfleisch and Prentice (2002), table 1.1 and section 1.4: the treated patients' curve and its median."""
        curve = kaplan_meier(*TREATED)
        published = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
        assert {t: round(curve.at(t).value, 3) for t in published} == published
        np.testing.assert_array_equal(curve.times[curve.events > 0], list(published))
        np.testing.assert_array_equal(curve.at_risk[curve.events > 0], [21, 17, 15, 12, 11, 7, 6])
        assert curve.median().value == 23
        assert kaplan_meier(*PLACEBO).median().value == 8

    def test_statsmodels_agrees(self):
        rng = np.random.default_rng(0)
        times, observed = drawn(rng, 60)
        curve, theirs = kaplan_meier(times, observed), SurvfuncRight(times, observed)
        inside = theirs.surv_prob > 0
        for t, survival, se in zip(
            theirs.surv_times[inside], theirs.surv_prob[inside], theirs.surv_prob_se[inside], strict=True
        ):
            found = curve.at(t)
            assert found.value == pytest.approx(survival)
            expected = wilson(survival * (n := survival * (1 - survival) / se**2), n)
            assert ends(found) == pytest.approx(ends(expected))

    def test_without_censoring_it_is_a_share(self):
        times = np.arange(1, 21)
        curve = kaplan_meier(times, np.ones(20))
        for t in (0, 4, 11.5, 19):
            share = wilson((times > t).sum(), 20)
            assert curve.at(t).value == pytest.approx(share.value)
            assert ends(curve.at(t)) == pytest.approx(ends(share))

    def test_steps_are_flat_in_between_and_never_rise(self):
        curve = kaplan_meier(*TREATED)
        assert curve.at(6) == curve.at(6.9)
        assert (np.diff(curve.survival) <= 0).all()
        assert ((curve.low <= curve.survival) & (curve.survival <= curve.high)).all()

    def test_beyond_the_last_observation_it_can_only_fall(self):
        found = kaplan_meier(*TREATED).at(40)
        assert (found.state, found.low, found.value) == ("below_range", 0.0, pytest.approx(0.448, abs=1e-3))
        ended = kaplan_meier(*PLACEBO).at(40)
        assert (ended.state, ended.value, ended.low) == ("ok", 0.0, 0.0)
        assert ended.high == pytest.approx(wilson(0, 21).high)

    def test_all_still_going_on_is_not_certain(self):
        curve = kaplan_meier([300] * 5, [False] * 5)
        assert ends(curve.at(300)) == pytest.approx(ends(wilson(5, 5)))
        assert curve.n == 5

    @pytest.mark.parametrize("n", [10, 40])
    def test_interval_covers_the_truth(self, n):
        rng = np.random.default_rng(1)
        held = [kaplan_meier(*drawn(rng, n)).at(0.55).covers(np.exp(-0.55)) for _ in range(800)]
        assert 0.92 < np.mean(held) < 0.99


class TestMedian:
    def test_interval_holds_the_times_that_one_half_fits(self):
        curve = kaplan_meier(*PLACEBO)
        found = curve.median()
        fitting = curve.times[(curve.low <= 0.5) & (curve.high > 0.5)]
        assert found.low == fitting[0]
        assert found.high == curve.times[curve.times > fitting[-1]][0]

    def test_never_reached_is_above_range(self):
        found = kaplan_meier([100, 200, 300, 300, 300], [1, 1, 0, 0, 0]).median()
        assert (found.state, found.value, found.high, found.high_state) == ("above_range", 300.0, None, "above_range")
        assert found.low == 100
        assert "more than half" in found.reason

    def test_sure_to_be_beyond(self):
        found = kaplan_meier([300] * 5, [0] * 5).median()
        assert (found.low, found.low_state) == (300.0, "above_range")

    def test_few_observations_exclude_nothing_below(self):
        assert kaplan_meier([5, 6, 7], [1, 1, 1]).median().low == 0.0

    def test_upper_end_may_be_open(self):
        found = kaplan_meier(*TREATED).median()
        assert (found.state, found.high, found.high_state) == ("ok", None, "above_range")

    @pytest.mark.parametrize("n", [8, 30])
    def test_interval_covers_the_truth(self, n):
        rng = np.random.default_rng(2)
        held = []
        for _ in range(800):
            times, censored = rng.exponential(1, n), rng.exponential(3, n)
            held.append(kaplan_meier(np.minimum(times, censored), times <= censored).median().covers(np.log(2)))
        assert 0.93 < np.mean(held) < 0.995


class TestRestrictedMean:
    def test_without_censoring_it_is_a_bounded_mean(self):
        times = np.random.default_rng(3).exponential(10, 25)
        found = restricted_mean(times, np.ones(25), 12)
        expected = mean(np.minimum(times, 12), bounds=(0, 12)).estimate
        assert (found.value, *ends(found)) == pytest.approx((expected.value, *ends(expected)))

    def test_area_by_hand(self):
        # 1 to time 2, then 2/3 to 4, then 1/3 to 6
        found = restricted_mean([2, 4, 9], [1, 1, 0], 6)
        assert found.value == pytest.approx(2 + 2 * 2 / 3 + 2 / 3)

    def test_all_beyond_the_limit_is_not_certain(self):
        found = restricted_mean([300] * 5, [0] * 5, 300)
        assert found.value == 300
        assert ends(found) == pytest.approx((300 * wilson(5, 5).low, 300))

    def test_observation_that_ends_early_leaves_a_lower_end(self):
        found = restricted_mean([2, 4, 9], [1, 1, 0], 20)
        at_last = restricted_mean([2, 4, 9], [1, 1, 0], 9)
        assert (found.state, found.value, found.low, found.high) == ("above_range", at_last.value, at_last.low, None)

    def test_one_observation_is_too_few(self):
        assert restricted_mean([3], [1], 5).state == "too_few"

    def test_interval_covers_the_truth(self):
        rng = np.random.default_rng(4)
        held = []
        for _ in range(800):
            times, censored = rng.exponential(1, 20), rng.uniform(1, 4, 20)
            found = restricted_mean(np.minimum(times, censored), times <= censored, 1.5)
            held.append(found.covers(1 - np.exp(-1.5)))
        assert 0.93 < np.mean(held) < 0.985


class TestPseudoValues:
    def test_without_censoring_they_are_the_observations(self):
        rng = np.random.default_rng(6)
        times, is_cause = rng.integers(0, 30, 40), rng.random(40) < 0.3
        assert restricted_values(times, np.ones(40), 20) == pytest.approx(np.minimum(times, 20.0))
        squares = restricted_values(times, np.ones(40), 20, lambda t: (t - 7) ** 2)
        assert squares == pytest.approx((np.minimum(times, 20) - 7.0) ** 2)
        assert incidence_values(times, np.ones(40), is_cause) == pytest.approx(is_cause.astype(float))

    @pytest.mark.parametrize("tail", [0.0, 3.0])
    def test_they_are_the_derivative_of_the_estimate(self, tail):
        """One observation counted a little more moves the area under the curve by v − θ."""
        rng = np.random.default_rng(7)
        times, observed = drawn(rng, 25)
        values = restricted_values(times, observed, 1.2, tail=tail)
        for one in (0, 7, 13):
            many = np.full(25, 4000)
            many[one] += 4
            moved = restricted_values(np.repeat(times, many), np.repeat(observed, many), 1.2, tail=tail).mean()
            assert (moved - values.mean()) * many.sum() / 4 == pytest.approx(values[one] - values.mean(), abs=0.01)

    def test_their_spread_is_greenwoods(self):
        curve = kaplan_meier(*TREATED)
        values = restricted_values(*TREATED, 30)
        heights, edges = [1.0, *curve.survival[curve.times < 30]], [0.0, *curve.times[curve.times < 30], 30]
        after = np.cumsum((np.diff(edges) * heights)[::-1])[::-1][1:]
        d, r = curve.events[curve.times < 30], curve.at_risk[curve.times < 30]
        assert ((values - values.mean()) ** 2).sum() / 21**2 == pytest.approx((after**2 * d / (r * (r - d))).sum())

    def test_incidence_is_statsmodels(self):
        rng = np.random.default_rng(8)
        times, observed = drawn(rng, 60)
        times[0], observed[0] = 99, False  # statsmodels divides by those left after the last end
        cause = np.where(observed, rng.integers(1, 3, 60), 0)
        theirs = CumIncidenceRight(times, cause).cinc[0][-1]
        assert incidence_values(times, observed, cause == 1).mean() == pytest.approx(theirs)

    def test_clusters_that_repeat_an_observation_add_nothing(self):
        rng = np.random.default_rng(9)
        times, observed = drawn(rng, 30)
        once = restricted_mean(times, observed, 1.0)
        twice = restricted_mean(np.tile(times, 2), np.tile(observed, 2), 1.0, np.tile(np.arange(30), 2))
        assert (twice.value, *ends(twice)) == pytest.approx((once.value, *ends(once)))


class TestFrailty:
    @pytest.mark.parametrize(("shape", "variance"), [(0.6, 0.0), (1.0, 0.0), (1.8, 0.0), (1.0, 0.25), (1.4, 1.0)])
    def test_the_truth_is_found(self, shape, variance):
        """Expected counts instead of drawn ones: without noise the parameters come back, but for the priors' pull."""
        true = FrailtyFit(0.0, np.log(shape), variance, 40.0, np.eye(3))
        total = true.cumulative(np.arange(121))[0]
        at_risk = 1e6 * np.exp(-total[:-1])
        fit = fit_frailty(at_risk, at_risk * -np.expm1(-np.diff(total)))
        assert np.exp(fit.log_shape) == pytest.approx(shape, rel=1e-3)
        assert fit.variance == pytest.approx(variance, abs=1e-3)
        far = [0, 1, 40, 200]
        np.testing.assert_allclose(fit.cumulative(far)[0], true.cumulative(far)[0], rtol=2e-3)

    def test_without_differences_it_is_weibulls_and_with_them_gamma_mixed(self):
        """By simulation of the definition: the mean of e^{−zΛ} over gamma distributed z."""
        times = np.array([0.0, 3.0, 10.0, 50.0])
        plain = FrailtyFit(0.2, 0.3, 0.0, 8.0, np.eye(3))
        own = np.exp(0.2) * (times / 8) ** np.exp(0.3)
        np.testing.assert_allclose(plain.cumulative(times)[0], own)
        factors = scipy.stats.gamma(1 / 0.7, scale=0.7).ppf((np.arange(20_000) + 0.5) / 20_000)
        mixed = np.exp(-factors[:, None] * own).mean(axis=0)
        np.testing.assert_allclose(np.exp(-plain.moved(0.2, 0.3, 0.7).cumulative(times)[0]), mixed, rtol=1e-3)

    @pytest.mark.parametrize("variance", [0.0, 1e-7, 0.4])
    def test_slopes_are_derivatives(self, variance):
        at, times = np.array([0.1, -0.2, variance]), np.arange(7)
        fit = FrailtyFit(*at, 2.0, np.eye(3))
        for place in range(3):
            step = 1e-6 * np.eye(3)[place]
            numeric = (fit.moved(*(at + step)).cumulative(times)[0] - fit.cumulative(times)[0]) / 1e-6
            np.testing.assert_allclose(fit.cumulative(times)[1][:, place], numeric, rtol=1e-4, atol=1e-6)

    def test_few_ends_close_together_have_a_finite_shape(self):
        fit = fit_frailty([10] * 30, [0] * 29 + [2])
        assert 1 < np.exp(fit.log_shape) < 10

    def test_early_ends_and_then_none_have_a_finite_variance(self):
        fit = fit_frailty([20, 14, 12, *[11] * 60], [6, 2, 1, *[0] * 60])
        assert 0 < fit.variance < 5

    def test_no_end_is_refused(self):
        with pytest.raises(InputError, match="events: none"):
            fit_frailty([5, 5], [0, 0])

    def test_the_region_has_the_likelihood_that_was_asked_for(self):
        """A maximum by another optimiser, and its border: the profile likelihood of the mean at both ends of the interval."""
        rng = np.random.default_rng(4)
        lasted = np.minimum(rng.geometric(0.05, 60), 40)
        at_risk = (lasted[:, None] >= np.arange(1, 41)).sum(axis=0)
        errors = np.bincount(lasted[lasted < 40], minlength=41)[1:]
        fit = fit_frailty(at_risk, errors)

        def lack(parameters):
            other = fit.moved(*parameters)
            growth = np.diff(other.cumulative(np.arange(41))[0])
            data = errors @ np.log(-np.expm1(-growth)) - (at_risk - errors) @ growth
            return -(data - (parameters[1] ** 2 + (parameters[2] / 1.5) ** 2) / 2)

        def average(parameters):
            return np.exp(-fit.moved(*parameters).cumulative(np.arange(1, 101))[0]).sum()

        start = [fit.log_scale, fit.log_shape, fit.variance]
        options = {"bounds": [(-3, 3), (-2, 2), (0, 6)], "method": "SLSQP"}
        best = scipy.optimize.minimize(lack, start, **options)
        assert lack(start) == pytest.approx(best.fun, abs=1e-4)
        region = likely_hazards(fit, at_risk, errors, drop=1.92)
        averages = np.exp(-region.cumulative(np.arange(1, 101))[0]).sum(axis=1)
        assert averages[0] == pytest.approx(average(start))
        room = {"type": "ineq", "fun": lambda parameters: best.fun + 1.92 - lack(parameters)}
        for sign, end in ((1, averages.min()), (-1, averages.max())):
            at_end = scipy.optimize.minimize(lambda p, sign=sign: sign * average(p), start, constraints=room, **options)
            assert end == pytest.approx(sign * at_end.fun, rel=0.02)


class TestLogRank:
    def test_freireichs_trial(self):
        """Published χ² 16.79 on one degree of freedom."""
        found = log_rank(TREATED, PLACEBO)
        assert found.statistic == pytest.approx(16.79, abs=5e-3)
        assert found.n == 42
        theirs = scipy.stats.logrank(
            *(scipy.stats.CensoredData.right_censored(t, 1 - np.array(o)) for t, o in (TREATED, PLACEBO))
        )
        assert found.p == pytest.approx(theirs.pvalue)

    def test_statsmodels_agrees_on_three_groups(self):
        rng = np.random.default_rng(5)
        groups = [drawn(rng, n) for n in (20, 15, 30)]
        label = np.repeat([0, 1, 2], [20, 15, 30])
        times, observed = (np.concatenate(part) for part in zip(*groups, strict=True))
        statistic, p = survdiff(times, observed, label)
        found = log_rank(*groups)
        assert (found.statistic, found.p) == pytest.approx((statistic, p))

    def test_order_does_not_matter(self):
        assert log_rank(TREATED, PLACEBO).p == pytest.approx(log_rank(PLACEBO, TREATED).p)

    def test_no_end_at_all_gives_1(self):
        assert log_rank(([1, 2], [0, 0]), ([3], [0])).p == 1.0

    def test_one_group_is_refused(self):
        with pytest.raises(OptionError, match="1 groups"):
            log_rank(TREATED)


@pytest.mark.parametrize(
    ("times", "observed", "text"),
    [
        ([], [], "times: none"),
        ([1, -2], [1, 1], "-2 at position 1 is before 0"),
        ([1, np.nan], [1, 1], "times: 1 of 2"),
        ([1, 2], [1, 2], "observed: not only true and false"),
        ([1, 2], [1], "Lengths differ"),
    ],
)
def test_wrong_input_is_named(times, observed, text):
    with pytest.raises(InputError, match=text):
        kaplan_meier(times, observed)


def test_wrong_times_are_named():
    curve = kaplan_meier([1, 2], [1, 1])
    with pytest.raises(OptionError, match="before the beginning"):
        curve.at(-1)
    with pytest.raises(OptionError, match="limit 0"):
        restricted_mean([1, 2], [1, 1], 0)
