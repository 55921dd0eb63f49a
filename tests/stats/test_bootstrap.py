import numpy as np
import pytest
import scipy.stats

from howsure.errors import InputError, OptionError
from howsure.stats import replicates
from howsure.stats.means import mean
from howsure.stats.replicates import basic, bca, hierarchical_weights, percentile


@pytest.fixture
def levels():
    rng = np.random.default_rng(0)
    family = rng.integers(0, 6, 200)
    return [family, rng.integers(0, 4, 200), np.arange(200)]


def test_kernel_draws_as_numpy_does(levels):
    sizes, rows = replicates._tree(levels)
    plain = replicates._count_plainly(50, sizes, rows, np.random.default_rng(1))
    np.testing.assert_array_equal(hierarchical_weights(levels, 50, np.random.default_rng(1)), plain)


@pytest.mark.parametrize("kind", ["multinomial", "bayesian"])
def test_seed_gives_the_same_weights(levels, kind):
    first, second, other = (hierarchical_weights(levels, 20, np.random.default_rng(s), kind=kind) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    assert first.shape == (20, 200)
    assert (first >= 0).all()


def test_rows_share_the_weight_of_their_group():
    family = np.array([1, 0, 1, 0, 2])
    weights = hierarchical_weights([family], 200, np.random.default_rng(3))
    np.testing.assert_array_equal(weights[:, 0], weights[:, 2])
    np.testing.assert_array_equal(weights[:, 1], weights[:, 3])
    np.testing.assert_array_equal(weights[:, [0, 1, 4]].sum(axis=1), 3)


@pytest.mark.parametrize(("kind", "spread"), [("multinomial", 3 / 4 + 9 / 10), ("bayesian", None)])
def test_moments_are_those_of_copying(kind, spread):
    """4 families of 10 rows. A row's count given its family's m is Binomial(10 m, 1/10), and m is Binomial(4, 1/4): the
    variance is 9/10 + 3/4. Dirichlet weights on k children have variance (k − 1)/(k + 1)."""
    family = np.repeat(np.arange(4), 10)
    weights = hierarchical_weights([family, np.arange(40)], 20_000, np.random.default_rng(4), kind=kind)
    spread = spread or (1 + 3 / 5) * (1 + 9 / 11) - 1
    assert weights.mean() == pytest.approx(1)
    assert weights.sum(axis=1) == pytest.approx(np.full(20_000, 40))
    assert weights.var(axis=0).mean() == pytest.approx(spread, rel=0.03)


def test_labels_count_within_their_parents():
    """The same task name in two families is two tasks."""
    family, task = np.repeat(["a", "b"], 4), np.tile(["x", "x", "y", "y"], 2)
    weights = hierarchical_weights([family, task], 400, np.random.default_rng(5))
    of_a, of_b = weights[:, :4], weights[:, 4:]
    assert (of_a[:, 0] != of_b[:, 0]).any()
    np.testing.assert_array_equal(of_a[:, 0], of_a[:, 1])
    # a family drawn m times draws 2 m tasks, each with two rows
    np.testing.assert_array_equal(weights.sum(axis=1), 8)


def test_replicates_of_a_mean_spread_like_its_standard_error():
    rng = np.random.default_rng(6)
    scores, cluster = rng.random(400) + np.repeat(rng.normal(0, 1, 40), 10), np.repeat(np.arange(40), 10)
    for kind in ("multinomial", "bayesian"):
        weights = hierarchical_weights([cluster], 4000, rng, kind=kind)
        means = weights @ scores / weights.sum(axis=1)
        assert means.std() == pytest.approx(mean(scores, cluster, bounds=None).se, rel=0.06)


@pytest.mark.parametrize(
    ("levels", "error", "text"),
    [
        ([], OptionError, "levels is empty"),
        ([[]], InputError, r"levels\[0\] has 0 labels"),
        ([[1, 2], [1, 2, 3]], InputError, r"levels\[1\] has 3 labels for 2 rows"),
        ([["a", None]], InputError, r"levels\[0\]: nothing at position 1"),
    ],
)
def test_wrong_levels_are_named(levels, error, text):
    with pytest.raises(error, match=text):
        hierarchical_weights(levels, 3, np.random.default_rng(0))


def test_unknown_kind_is_named():
    with pytest.raises(OptionError, match="Did you mean 'bayesian'"):
        hierarchical_weights([[1, 2]], 3, np.random.default_rng(0), kind="baysian")


class TestIntervals:
    @pytest.fixture(scope="class")
    @staticmethod
    def scores():
        return np.random.default_rng(7).exponential(1, 25)

    @pytest.mark.parametrize("method", ["percentile", "basic", "BCa"])
    def test_scipy_agrees(self, scores, method):
        theirs = scipy.stats.bootstrap(
            (scores,), np.mean, n_resamples=999, method=method, confidence_level=0.9, rng=np.random.default_rng(8)
        )
        replicates, value = theirs.bootstrap_distribution, scores.mean()
        left_out = (scores.sum() - scores) / (len(scores) - 1)
        ours = {
            "percentile": lambda: percentile(replicates, 0.9),
            "basic": lambda: basic(replicates, value, 0.9),
            "BCa": lambda: bca(replicates, value, left_out, 0.9),
        }[method]()
        assert ours == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)

    def test_axis_0_is_the_replicates(self, scores):
        replicates = np.random.default_rng(9).normal(0, 1, (500, 2, 3))
        value, left_out = np.zeros((2, 3)), np.random.default_rng(10).normal(0, 1, (25, 2, 3))
        for low, high in (percentile(replicates), basic(replicates, value), bca(replicates, value, left_out)):
            assert low.shape == high.shape == (2, 3)
            assert (low < high).all()
        one = bca(replicates[:, 1, 2], 0.0, left_out[:, 1, 2])
        assert one[0] == pytest.approx(bca(replicates, value, left_out)[0][1, 2])

    def test_equal_replicates_give_their_value(self):
        assert bca([2.0] * 9, 2.0, [2.0] * 5) == (2.0, 2.0)

    def test_what_is_not_finite_must_be_counted_out(self):
        with pytest.raises(InputError, match=r"replicates: 2 are not finite\. Count them"):
            percentile([1, np.nan, np.inf])
        with pytest.raises(InputError, match="jackknife: 1 are not finite"):
            bca([1.0, 2.0], 1.5, [np.nan, 1.0])
        with pytest.raises(InputError, match="replicates: none"):
            percentile([])
