import numpy as np
import pytest
from scipy.special import stdtrit

from howsure.errors import InputError, OptionError
from howsure.stats.reliability import METRICS, cohen_kappa, fleiss_kappa, gwet, krippendorff, percent_agreement

GAP = np.nan
# Krippendorff (2011), section C: 12 units (rows) by 4 observers
KRIPPENDORFF = np.array(
    [
        [1, 1, GAP, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
        [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [GAP, 5, 5, 5], [GAP, GAP, 1, 1], [GAP, 3, GAP, GAP],
    ]
)  # fmt: skip
# Fleiss (1971): 30 patients, 6 psychiatrists, 5 diagnoses; here the 15 that irrCAC brings as distrib.6raters
PSYCHIATRISTS = [
    [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0], [0, 0, 4, 0, 2],
    [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0], [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1],
]  # fmt: skip
# Gwet's cont3x3abstractors: what two abstractors wrote about 100 records
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]


def ratings_of(counts):
    return np.array([np.repeat(np.arange(5.0), row) for row in counts])


def pairs_of(table):
    return np.array([(a, b) for a in range(3) for b in range(3) for _ in range(table[a][b])], dtype=float)


def standard_error(estimate, n):
    return (estimate.value - estimate.low) / stdtrit(n - 1, 0.975)


def slow_alpha(table, metric):
    """Krippendorff's definition: all pairs within items against all pairs."""
    units = [[x for x in row if not np.isnan(x)] for row in table]
    units = [unit for unit in units if len(unit) > 1]
    values = [x for unit in units for x in unit]

    def distance(a, b):
        low, high = min(a, b), max(a, b)
        between = sum(low <= x <= high for x in values) - (values.count(a) + values.count(b)) / 2
        return {
            "nominal": a != b,
            "ordinal": between**2 * (a != b),
            "interval": (a - b) ** 2,
            "ratio": ((a - b) / (a + b or 1)) ** 2,
        }[metric]

    observed = sum(distance(a, b) / (len(unit) - 1) for unit in units for a in unit for b in unit)
    expected = sum(distance(a, b) for a in values for b in values) / (len(values) - 1)
    return 1 - observed / expected


def test_krippendorff(reference):
    published = reference["krippendorff_2011"]
    table = np.array(published["ratings_4_observers_by_12_units"], dtype=float).T
    assert np.array_equal(table, KRIPPENDORFF, equal_nan=True)
    for metric, value in published["alpha"].items():
        assert krippendorff(table, metric).value == pytest.approx(value, abs=5e-5)


def test_krippendorff_without_the_reference():
    """His pages 5 and 8: 0.743 nominal, 0.815 ordinal, 0.849 interval, 0.797 ratio."""
    values = [round(krippendorff(KRIPPENDORFF, metric).value, 3) for metric in METRICS]
    assert values == [0.743, 0.815, 0.849, 0.797]


@pytest.mark.parametrize("metric", METRICS)
def test_krippendorff_by_its_definition(metric):
    rng = np.random.default_rng(0)
    for decimals in (0, 2):
        table = np.abs(np.round(rng.normal(0, 2, (9, 1)) + rng.normal(size=(9, 4)), decimals))
        table[rng.random((9, 4)) < 0.3] = np.nan
        assert krippendorff(table, metric).value == pytest.approx(slow_alpha(table, metric))


@pytest.mark.parametrize("metric", METRICS)
def test_the_interval_is_as_told(metric):
    """The farther ends of the jackknife's and F's, with items left out for real."""
    table = np.abs(
        np.round(np.random.default_rng(1).normal(0, 3, (8, 1)) + np.random.default_rng(2).normal(size=(8, 3)))
    )
    found = krippendorff(table, metric)
    left_out = np.array([slow_alpha(np.delete(table, item, axis=0), metric) for item in range(8)])
    reach = stdtrit(7, 0.975) * np.sqrt(7 / 8 * ((left_out - left_out.mean()) ** 2).sum())
    assert found.low <= max(found.value - reach, -1) + 1e-9
    assert found.high >= min(found.value + reach, 1) - 1e-9


def test_the_f_part_is_that_of_the_intraclass_correlation():
    from howsure.stats.reliability import intraclass

    rng = np.random.default_rng(3)
    table = rng.normal(size=(400, 1)) + rng.normal(size=(400, 4))
    alpha, icc = krippendorff(table, "interval"), intraclass(table)["icc_1_1"]
    for end in ("value", "low", "high"):
        assert getattr(alpha, end) == pytest.approx(getattr(icc, end), abs=0.01)


def test_gwet(reference):
    for weights, value in reference["krippendorff_2011"]["gwet"].items():
        assert gwet(KRIPPENDORFF, weights).value == pytest.approx(value, abs=5e-6)


def test_gwets_own_package():
    """Printed by irrCAC for the same ratings: coefficient and standard error, here to five digits; t on 11 degrees of freedom."""
    for coefficient, value, error in (
        (gwet, 0.77544, 0.14295),
        (fleiss_kappa, 0.76117, 0.15302),
        (percent_agreement, 0.81818, 0.12561),
    ):
        found = coefficient(KRIPPENDORFF)
        assert (found.value, standard_error(found, 12)) == pytest.approx((value, error), abs=6e-6)
        assert found.high == 1.0
    # 0.461, as printed
    assert round(gwet(KRIPPENDORFF).low, 3) == 0.461


def test_gwets_own_package_on_six_psychiatrists():
    table = ratings_of(PSYCHIATRISTS)
    for coefficient, value, error in ((gwet, 0.4448007, 0.08418757), (fleiss_kappa, 0.4139265, 0.08119291)):
        found = coefficient(table)
        assert (found.value, standard_error(found, 15)) == pytest.approx((value, error), abs=1e-7)
    assert krippendorff(table, "nominal").value == pytest.approx(0.4204384, abs=1e-7)


def test_gwets_own_package_on_two_abstractors():
    """Its standard errors for tables divide by n where those for raw ratings divide by n − 1."""
    table = pairs_of(ABSTRACTORS)
    for coefficient, value, error in ((cohen_kappa, 0.7964094, 0.05891072), (gwet, 0.8493305, 0.04321747)):
        found = coefficient(table)
        assert (found.value, standard_error(found, 100) * 0.99**0.5) == pytest.approx((value, error), abs=1e-7)


def test_scikit_learn_agrees_on_cohens_kappa():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(4)
    table = np.clip(rng.integers(0, 4, (40, 1)) + rng.integers(-1, 2, (40, 2)), 0, 3).astype(float)
    for weights, theirs in (("identity", None), ("linear", "linear"), ("quadratic", "quadratic")):
        expected = metrics.cohen_kappa_score(table[:, 0].astype(int), table[:, 1].astype(int), weights=theirs)
        assert cohen_kappa(table, weights).value == pytest.approx(expected)


def test_skewed_categories_deflate_kappa_and_not_gwet():
    table = pairs_of([[90, 4, 0], [4, 2, 0], [0, 0, 0]])
    assert gwet(table).value > 0.9
    assert fleiss_kappa(table).value < 0.5


def test_unused_categories_count_for_gwet_alone():
    few, all_five = gwet(KRIPPENDORFF[:5]), gwet(KRIPPENDORFF[:5], categories=[1, 2, 3, 4, 5])
    assert few.value < all_five.value
    assert fleiss_kappa(KRIPPENDORFF[:5]).value == fleiss_kappa(KRIPPENDORFF[:5], categories=range(1, 6)).value
    agreed = gwet(np.full((6, 3), 2.0), categories=[1, 2, 3])
    assert (agreed.value, agreed.low, agreed.low_state) == (1.0, None, "undefined")


def noisy(rng, n, k, kind):
    """Ratings of one of three kinds, all with half of their variance between items."""
    if kind == "nominal":
        true = rng.choice(3, (n, 1), p=[0.6, 0.3, 0.1])
        return np.where(rng.random((n, k)) < 0.3, rng.choice(3, (n, k), p=[0.6, 0.3, 0.1]), true).astype(float)
    latent = rng.normal(size=(n, 1)) + rng.normal(size=(n, k))
    return np.digitize(latent, [-2, -0.7, 0.7, 2]) + 1.0 if kind == "ordinal" else latent + 10


def covered(coefficient, kind, n, k, n_simulations):
    rng = np.random.default_rng(9)
    truth = 0.5 if kind == "interval" else coefficient(noisy(rng, 8000, k, kind)).value
    found = [coefficient(noisy(rng, n, k, kind)) for _ in range(n_simulations)]
    return np.mean([one.covers(truth) for one in found if one.value is not None])


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_krippendorffs_interval_holds_at_5_items(metric):
    assert 0.92 < covered(lambda table: krippendorff(table, metric), metric, 5, 7, 300) <= 0.995


@pytest.mark.evidence
@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_krippendorffs_interval_holds_in_many_designs(metric):
    """Where a percentile bootstrap over items holds 60–75 % (5 items) and 85–92 % (12 items)."""
    for n, k in ((5, 3), (5, 7), (12, 3), (30, 3), (100, 3)):
        share = covered(lambda table: krippendorff(table, metric), metric, n, k, 600)
        print(f"{metric}, {n} items, {k} raters: {share:.3f}")  # noqa: T201
        assert 0.91 < share < 0.995


@pytest.mark.evidence
def test_gwets_interval_holds():
    for n, k in ((12, 3), (30, 3)):
        assert 0.91 < covered(gwet, "nominal", n, k, 1000) < 0.97


def test_perfect_agreement_leaves_the_interval_open():
    table = np.tile([[1.0], [2.0], [5.0]], 4)
    for found in (*(krippendorff(table, metric) for metric in METRICS), gwet(table), fleiss_kappa(table)):
        assert (found.value, found.state, found.low, found.high_state) == (1.0, "ok", None, "undefined")


def test_one_item_that_differs_cannot_say_how_sure_it_is():
    table = np.full((6, 3), 4.0)
    table[2] = [4, 5, 4]
    for metric in METRICS:
        found = krippendorff(table, metric)
        assert (found.value, found.state, found.low_state) == (
            pytest.approx(slow_alpha(table, metric)),
            "ok",
            "undefined",
        )


def test_states():
    assert krippendorff(np.full((5, 3), 0.1)).state == "undefined"
    assert krippendorff([[1, 2, 3]]).state == "too_few"
    assert krippendorff([[1, GAP], [GAP, 2], [1, 1]]).state == "too_few"
    negative = krippendorff([[-1, 1], [2, 2], [0, 1]], "ratio")
    assert (negative.state, "-1" in negative.reason) == ("undefined", True)
    assert gwet([[1, GAP], [GAP, 2], [1, GAP]]).state == "too_few"
    assert gwet([[1, 1], [1, 1]]).state == "undefined"
    assert fleiss_kappa([[1, 1], [1, 1]], categories=[1, 2]).state == "undefined"
    measured = gwet(np.random.default_rng(0).normal(size=(1500, 2)))
    assert (measured.state, "measurements" in measured.reason) == ("undefined", True)


def test_zeros_are_equal_by_the_ratio_metric():
    table = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 3.0]])
    assert krippendorff(table, "ratio").value == pytest.approx(slow_alpha(table, "ratio"))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: krippendorff(KRIPPENDORFF, "ordered"), OptionError, "metric called 'ordered'"),
        (lambda: gwet(KRIPPENDORFF, "cubic"), OptionError, "weights called 'cubic'"),
        (lambda: gwet(KRIPPENDORFF, categories=[1, 2, 3]), InputError, "rating of 4 is none of the categories 1, 2, 3"),
        (lambda: cohen_kappa(KRIPPENDORFF), InputError, "4 raters"),
        (lambda: krippendorff(KRIPPENDORFF, level=0), OptionError, "level 0"),
    ],
)
def test_wrong_calls_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
