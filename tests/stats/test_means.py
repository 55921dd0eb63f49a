import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm

from howsure.errors import InputError, OptionError
from howsure.stats.means import clustered_mean, mean, paired_difference, shared_difference, unpaired_difference, wilson


def ends(found):
    return ends_of(found.estimate)


def ends_of(estimate):
    return estimate.low, estimate.high


def clustered_scores(rng, sizes, accuracy, correlation):
    spread = (1 - correlation) / correlation
    chance = rng.beta(accuracy * spread, (1 - accuracy) * spread, len(sizes))
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    return (rng.random(len(cluster)) < chance[cluster]).astype(float), cluster


class TestAgainstInspect:
    @pytest.fixture(scope="class")
    @staticmethod
    def stderr():
        scorer = pytest.importorskip("inspect_ai.scorer", reason="inspect-ai is not installed")

        def run(scores, clusters=None):
            labels = ["one"] * len(scores) if clusters is None else [str(label) for label in clusters]
            samples = [
                scorer.SampleScore(score=scorer.Score(value=float(score)), sample_id=i, sample_metadata={"c": label})
                for i, (score, label) in enumerate(zip(scores, labels, strict=True))
            ]
            return float(scorer.stderr(cluster=None if clusters is None else "c")(samples))

        return run

    @pytest.mark.parametrize("seed", range(3))
    def test_standard_errors_are_equal(self, stderr, seed):
        rng = np.random.default_rng(seed)
        scores, clusters = rng.random(40), rng.integers(0, 7, 40)
        assert mean(scores).se == pytest.approx(stderr(scores), abs=1e-9)
        assert mean(scores, clusters).se == pytest.approx(stderr(scores, clusters), abs=1e-9)
        assert mean(scores, clusters).se_independent == pytest.approx(stderr(scores), abs=1e-9)


def test_statsmodels_agrees_on_the_clustered_standard_error():
    rng = np.random.default_rng(1)
    scores, clusters = clustered_scores(rng, rng.integers(1, 30, 15), 0.4, 0.3)
    fitted = sm.OLS(scores, np.ones(len(scores))).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    found = mean(scores, clusters)
    assert found.se == pytest.approx(fitted.bse[0], rel=1e-9)
    assert found.design_effect == pytest.approx((fitted.bse[0] / scores.std(ddof=1)) ** 2 * len(scores))


def test_sums_and_raw_scores_give_the_same():
    scores, clusters = np.array([0.5, 1, 0, 1, 1, 0.25]), ["a", "b", "a", "c", "b", "c"]
    totals, counts, squares = [0.5, 2, 1.25], [2, 2, 2], [0.25, 2, 1.0625]
    assert mean(scores, clusters) == clustered_mean(totals, counts, squares=squares)


def test_hand_calculation():
    # totals 2, 0, 1 of 2, 2, 2: mean 1/2, deviations 1, −1, 0; se² = 2/36 · 3/2
    found = clustered_mean([2, 0, 1], [2, 2, 2], bounds=None)
    assert found.estimate.value == 0.5
    assert found.se == pytest.approx(np.sqrt(1 / 12))
    assert found.df == pytest.approx(2)
    assert ends(found) == pytest.approx(0.5 + np.array([-1, 1]) * 4.302653 * np.sqrt(1 / 12), abs=1e-6)
    assert (found.n, found.n_clusters) == (6, 3)


def test_binary_scores_give_wilsons_interval():
    scores = [1] * 17 + [0] * 3
    assert mean(scores).estimate == wilson(17, 20)
    assert mean(scores, range(20)).estimate == wilson(17, 20)


def test_unbounded_scores_give_the_t_interval():
    scores = np.random.default_rng(2).normal(5, 2, 12)
    scores = np.concatenate([scores, 10 - scores])  # without skewness
    expected = scipy.stats.ttest_1samp(scores, 0).confidence_interval(0.9)
    assert ends(mean(scores, level=0.9, bounds=None)) == pytest.approx(tuple(expected))


def test_unbounded_scores_that_are_skewed_give_halls_interval():
    """The limits are the values at which Hall's (1992) transformed t statistic reaches the quantiles of t."""
    scores = np.random.default_rng(2).lognormal(size=20)
    found, n = mean(scores, bounds=None), 20
    skewness = scipy.stats.skew(scores) / np.sqrt(n)
    quantile = scipy.stats.t.ppf(0.975, n - 1)
    for end, expected in zip(ends(found), (quantile, -quantile), strict=True):
        t = (scores.mean() - end) / (scores.std(ddof=1) / np.sqrt(n))
        assert t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6 == pytest.approx(expected)
    assert ends(mean(-scores, bounds=None)) == pytest.approx(tuple(-np.array(ends(found))[::-1]))


def test_the_mean_of_skewed_scores_is_covered_more_often_than_by_t():
    rng = np.random.default_rng(5)
    draws = rng.lognormal(size=(600, 15))
    covers = [mean(scores, bounds=None).estimate.covers(np.exp(0.5)) for scores in draws]
    plain = [scipy.stats.ttest_1samp(scores, 0).confidence_interval(0.95) for scores in draws]
    assert np.mean(covers) > np.mean([low <= np.exp(0.5) <= high for low, high in plain]) + 0.03
    assert np.mean(covers) > 0.9


def test_unequal_clusters_count_for_less():
    assert clustered_mean([1, 2, 3], [4, 4, 4]).df == pytest.approx(2)
    assert clustered_mean([1, 2, 30], [4, 4, 40]).df == 1.0
    found = clustered_mean([1, 2, 6, 3], [4, 4, 10, 6])
    assert found.df == pytest.approx(24**2 / (16 + 16 + 100 + 36) - 1)


def test_bounds_only_move_the_scale():
    rng = np.random.default_rng(3)
    scores, clusters = rng.beta(1, 4, 60), rng.integers(0, 9, 60)
    unit, wide = mean(scores, clusters), mean(10 * scores - 3, clusters, bounds=(-3, 7))
    assert ends(wide) == pytest.approx(10 * np.array(ends(unit)) - 3)
    assert 0 <= unit.estimate.low < unit.estimate.value < unit.estimate.high <= 1


@pytest.mark.parametrize("score", [0.0, 0.1, 1.0])
def test_equal_scores_are_not_certain(score):
    found = mean([score] * 30, np.repeat(range(10), 3))
    assert found.se == 0
    assert ends(found) == pytest.approx((wilson(10 * score, 10).low, wilson(10 * score, 10).high))
    unbounded = mean([score] * 30, bounds=None).estimate
    assert (unbounded.state, unbounded.low) == ("undefined", None)
    assert "bounds" in unbounded.reason


def test_too_few_clusters_are_a_state():
    empty, one = mean([]), mean([1, 0, 1], ["x"] * 3)
    assert (empty.estimate.state, empty.estimate.value, empty.n) == ("too_few", None, 0)
    assert (one.estimate.state, one.estimate.value, one.se, one.n_clusters) == (
        "too_few",
        pytest.approx(2 / 3),
        None,
        1,
    )
    assert "needs 2" in one.estimate.reason


def test_arguments_stay_as_they_were():
    scores = np.array([0.0, 1.0, 0.5])
    mean(scores, np.array([1, 1, 2]))
    np.testing.assert_array_equal(scores, [0.0, 1.0, 0.5])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: mean([0.5, float("nan")]), "scores: 1 of 2 values are not finite, the first at position 1"),
        (lambda: mean([0.5, 62.0]), "scores: 62 at position 1 is not between 0 and 1"),
        (lambda: mean([1, 0], ["a"]), "2 values, 1 cluster labels"),
        (lambda: mean([1, 0], ["a", None]), "clusters: nothing at position 1"),
        (lambda: mean([1, 0], [1.0, float("nan")]), "clusters: nothing at position 1"),
        (lambda: mean([[1, 0]]), "scores has 2 dimensions"),
        (lambda: clustered_mean([1, 0], [2, 0]), "counts: 0 at position 1"),
        (lambda: clustered_mean([1, 5], [2, 2]), "2.5 at position 1 is not between"),
        (lambda: clustered_mean([1, 0], [2, 2], squares=[1]), "2 counts, 1 squares"),
        (lambda: paired_difference([1], [1, 0]), "Lengths differ: a 1, b 2"),
        (lambda: paired_difference([1, 2], [1, 0]), "a: 2 at position 1"),
        (lambda: unpaired_difference([1, 0], [1, float("inf")]), "b: 1 of 2"),
    ],
)
def test_wrong_input_is_named(call, text):
    with pytest.raises(InputError, match=text):
        call()


def test_level_is_checked():
    with pytest.raises(OptionError, match="level 95"):
        mean([0, 1], level=95)


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0)])
def test_bounds_are_checked(bounds):
    with pytest.raises(OptionError, match="leave no room"):
        mean([0.0, 0.0], bounds=bounds)


def test_rounding_beyond_a_bound_is_at_the_bound():
    found = mean([1.0, 1.0 + 1e-10, 1.0 + 2e-10])
    assert ends(found) == pytest.approx(ends_of(wilson(3, 3)))


def test_labels_may_be_anything_hashable():
    scores = [1, 0, 1, 1]
    expected = mean(scores, [0, 0, 1, 1])
    for labels in (["x", "x", "y", "y"], [("a", 1), ("a", 1), ("a", 2), ("a", 2)], np.array([3.5, 3.5, 9, 9])):
        assert mean(scores, labels) == expected


class TestPaired:
    def test_scipy_agrees(self):
        rng = np.random.default_rng(4)
        a, b = rng.random(15), rng.random(15)
        expected = scipy.stats.ttest_rel(a, b).confidence_interval(0.95)
        assert ends(paired_difference(a, b)) == pytest.approx(tuple(expected))

    def test_clusters_are_as_for_means(self):
        rng = np.random.default_rng(5)
        a, b, clusters = rng.random(30), rng.random(30), rng.integers(0, 8, 30)
        assert paired_difference(a, b, clusters).se == mean(a - b, clusters, bounds=None).se

    def test_never_different_is_not_certain(self):
        # 20 pairs without a difference: with 95 % confidence, at most 1 − 0.05^(1/20) = 13.9 % of pairs differ, by at most 1
        found = paired_difference([1, 0] * 10, [1, 0] * 10)
        assert (found.estimate.value, found.se) == (0.0, 0.0)
        assert ends(found) == pytest.approx((-0.1391, 0.1391), abs=1e-4)

    def test_always_one_apart_can_only_fall(self):
        found = paired_difference([1] * 20, [0] * 20)
        assert ends(found) == pytest.approx((1 - 2 * 0.13911, 1.0), abs=1e-4)

    def test_without_bounds_never_different_is_undefined(self):
        assert paired_difference([3, 3], [1, 1], bounds=None).estimate.state == "undefined"

    def test_two_pairs_stay_within_the_possible(self):
        assert ends(paired_difference([1, 0], [0, 0])) == (-1.0, 1.0)

    def test_one_pair_is_too_few(self):
        found = paired_difference([1.0], [0.25])
        assert (found.estimate.state, found.estimate.value) == ("too_few", 0.75)


class TestUnpaired:
    def test_newcombes_example(self):
        # Newcombe (1998), Interval estimation for the difference between independent proportions, table II, 56/70 − 48/80, method 10
        a, b = np.repeat([1, 0], [56, 14]), np.repeat([1, 0], [48, 32])
        assert ends(unpaired_difference(a, b)) == pytest.approx((0.0524, 0.3339), abs=5e-5)

    def test_scipy_agrees_without_bounds(self):
        rng = np.random.default_rng(6)
        a, b = rng.normal(0, 1, 9), rng.normal(1, 4, 25)
        a, b = np.concatenate([a, -a]), np.concatenate([b, 2 - b])  # without skewness
        expected = scipy.stats.ttest_ind(a, b, equal_var=False)
        found = unpaired_difference(a, b, bounds=None)
        assert ends(found) == pytest.approx(tuple(expected.confidence_interval(0.95)))
        assert found.df == pytest.approx(expected.df)
        assert found.estimate.value == pytest.approx(a.mean() - b.mean())

    def test_clusters_widen(self):
        rng = np.random.default_rng(7)
        a, cluster = clustered_scores(rng, np.full(12, 10), 0.5, 0.5)
        b = rng.random(100)
        alone, together = unpaired_difference(a, b), unpaired_difference(a, b, cluster)
        assert together.estimate.width > 1.3 * alone.estimate.width
        assert together.se == pytest.approx(np.hypot(mean(a, cluster).se, mean(b).se))
        assert (together.n, together.n_clusters) == (220, 112)

    def test_certain_sides_are_not_certain(self):
        found = unpaired_difference([1] * 5, [0] * 5)
        assert found.estimate.value == 1
        assert found.estimate.low < 0.5
        assert found.estimate.high == 1
        assert unpaired_difference([2, 2], [1, 1], bounds=None).estimate.state == "undefined"

    def test_one_observation_is_too_few(self):
        found = unpaired_difference([1.0], [0, 0.5])
        assert (found.estimate.state, found.estimate.value) == ("too_few", 0.75)
        assert "1 and 2 clusters" in found.estimate.reason
        assert unpaired_difference([], [0, 0.5]).estimate.value is None


def coverage(n_simulations, draw):
    return np.mean([draw() for _ in range(n_simulations)])


@pytest.mark.parametrize(("n_clusters", "is_equal"), [(5, True), (10, False), (30, False)])
def test_clustered_mean_covers_the_truth(n_clusters, is_equal):
    rng = np.random.default_rng(8)

    def draw():
        sizes = np.full(n_clusters, 8) if is_equal else np.ceil(rng.lognormal(2, 1, n_clusters)).astype(int)
        return mean(*clustered_scores(rng, sizes, 0.4, 0.3)).estimate.covers(0.4)

    assert 0.92 < coverage(800, draw) < 0.99


@pytest.mark.parametrize("only_a", [0.03, 0.2])
def test_paired_difference_covers_the_truth(only_a):
    rng = np.random.default_rng(9)

    def draw():
        chance = rng.random(40)
        return paired_difference(chance < only_a, chance > 0.9).estimate.covers(only_a - 0.1)

    assert 0.92 < coverage(800, draw) < 0.98


@pytest.mark.evidence
@pytest.mark.parametrize("correlation", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("accuracy", [0.2, 0.5])
@pytest.mark.parametrize("n_clusters", [5, 20, 50, 200])
def test_clustered_mean_covers_in_realistic_designs(n_clusters, accuracy, correlation):
    rng = np.random.default_rng(10)

    def draw():
        sizes = np.ceil(rng.lognormal(1.5, 0.8, n_clusters)).astype(int)
        return mean(*clustered_scores(rng, sizes, accuracy, correlation)).estimate.covers(accuracy)

    assert coverage(800, draw) > 0.91


def test_a_variance_that_few_clusters_carry_has_few_degrees_of_freedom():
    scores = np.zeros(30)
    scores[:2] = 0.4, 0.6
    deviations = scores - scores.mean()
    kurtosis = np.mean(deviations**4) / np.mean(deviations**2) ** 2
    assert mean(scores).df == pytest.approx(2 * 29 / (kurtosis - 1) + 2)
    assert mean(np.linspace(0, 1, 30)).df == pytest.approx(29)
    assert mean(scores, bounds=None).df == pytest.approx(29)  # Student's own interval


class TestSharedClusters:
    def test_without_a_shared_cluster_it_is_the_unpaired_difference(self):
        a, b = np.random.default_rng(1).uniform(size=(2, 40))
        of_a, of_b = np.arange(40) // 4, 100 + np.arange(40) // 4
        assert shared_difference(a, b, of_a, of_b) == unpaired_difference(a, b, of_a, of_b)

    def test_with_one_pair_per_cluster_its_error_is_that_of_the_paired_difference(self):
        rng = np.random.default_rng(2)
        common = rng.normal(size=30)
        a, b = (common + 0.3 * rng.normal(size=30) for _ in range(2))
        task = [f"t{k}" for k in range(30)]
        found = shared_difference(a, b, task, task, bounds=None)
        paired = paired_difference(a, b, bounds=None)
        assert found.se == pytest.approx(paired.se, rel=1e-12)
        assert ends(found) == pytest.approx(ends(paired), rel=1e-9)
        assert found.n_clusters == 30

    def test_its_intervals_cover_where_tasks_move_both_sides_alike(self):
        """Wrong answers of a model and of many people at the same 25 tasks; each task has its own share of a mode."""
        rng, hits, narrower = np.random.default_rng(3), [], []
        for _ in range(150):
            chance = rng.beta(0.6, 1.4, 25)
            sizes_a, sizes_b = rng.integers(1, 9, 25), rng.integers(5, 40, 25)
            of_a, of_b = np.repeat(np.arange(25), sizes_a), np.repeat(np.arange(25), sizes_b)
            a, b = (rng.uniform(size=len(of)) < chance[of] for of in (of_a, of_b))
            found, apart = (make(a * 1.0, b * 1.0, of_a, of_b) for make in (shared_difference, unpaired_difference))
            low, high = ends(found)
            hits.append(low <= 0 <= high)
            narrower.append((high - low) / np.ptp(ends(apart)))
        assert 0.9 <= np.mean(hits) <= 0.995  # about three Monte Carlo errors around 0.95
        assert np.median(narrower) < 0.9

    def test_sides_that_agree_at_every_cluster_still_have_an_interval(self):
        low, high = ends(shared_difference([1, 0, 1, 0], [1, 0, 1, 0], "abcd", "abcd"))
        assert low < 0 < high
