import warnings

import numpy as np
import pytest
import scipy.optimize

from howsure.errors import OptionError
from howsure.stats import components
from howsure.stats.components import variance_components

# Shrout and Fleiss (1979), table 2
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)


def draw(rng, n, k, *, item, rater, missing=0.0):
    table = rng.normal(0, item**0.5, (n, 1)) + rng.normal(0, rater**0.5, k) + rng.normal(size=(n, k))
    table[rng.random((n, k)) < missing] = np.nan
    return table


def values(found):
    return found.item.value, found.rater.value, found.residual.value


def dense_deviance(ratios, table):
    """The restricted likelihood from its textbook form, with whole matrices."""
    item, rater = np.nonzero(~np.isnan(table))
    y = table[item, rater]
    v = np.eye(len(y)) + ratios[0] * (item[:, None] == item) + ratios[1] * (rater[:, None] == rater)
    inverse, ones = np.linalg.inv(v), np.ones(len(y))
    weight = ones @ inverse @ ones
    errors = y - ones @ inverse @ y / weight
    left = errors @ inverse @ errors
    return np.linalg.slogdet(v)[1] + np.log(weight) + (len(y) - 1) * np.log(left), left / (len(y) - 1)


@pytest.mark.parametrize("method", ["anova", "reml"])
def test_shrout_and_fleiss(method, reference):
    published = reference["shrout_fleiss_1979"]["variance_components_reml"]
    found = variance_components(SHROUT_FLEISS, method=method)
    assert values(found) == pytest.approx((published["target"], published["judge"], published["residual"]), abs=5e-5)
    assert (found.method, found.n_items, found.n_raters, found.n_ratings) == (method, 6, 4, 24)
    assert found.shares == pytest.approx({"item": 0.28976, "rater": 0.59465, "residual": 0.11559}, abs=1e-5)


def test_shrout_and_fleiss_by_hand():
    """Mean squares 11.24, 32.49 and 1.02 of their table 3."""
    found = variance_components(SHROUT_FLEISS)
    assert values(found) == pytest.approx(((11.24 - 1.02) / 4, (32.49 - 1.02) / 6, 1.02), abs=5e-3)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_deviance_is_the_textbooks_and_its_gradient_is_right(missing):
    table = draw(np.random.default_rng(0), 7, 4, item=2.0, rater=0.5, missing=missing)
    is_there = ~np.isnan(table)
    filled, shown = np.where(is_there, table, 0.0), is_there.astype(float)

    def deviance(ratios):
        return components._Profile.at(np.asarray(ratios), filled, shown).deviance()

    for ratios in ([0.0, 0.0], [0.0, 0.7], [3.0, 0.0], [1.5, 0.2], [40.0, 9.0]):
        profile = components._Profile.at(np.array(ratios), filled, shown)
        expected, residual = dense_deviance(ratios, table)
        assert profile.deviance() - deviance([1.0, 1.0]) == pytest.approx(expected - dense_deviance([1, 1], table)[0])
        assert profile.residual == pytest.approx(residual)
    for ratios in ([1.5, 0.2], [0.3, 0.3]):
        numeric = scipy.optimize.approx_fprime(ratios, deviance, 1e-7)
        assert components._Profile.at(np.array(ratios), filled, shown).gradient() == pytest.approx(numeric, abs=1e-4)


@pytest.mark.parametrize(("item", "rater", "missing"), [(2.0, 0.5, 0.3), (0.1, 2.0, 0.3), (1.0, 0.0, 0.5)])
def test_statsmodels_agrees(item, rater, missing):
    pandas = pytest.importorskip("pandas")
    from statsmodels.regression.mixed_linear_model import MixedLM

    table = draw(np.random.default_rng(5), 14, 5, item=item, rater=rater, missing=missing)
    rows, columns = np.nonzero(~np.isnan(table))
    frame = pandas.DataFrame({"y": table[rows, columns], "item": rows, "rater": columns, "all": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns whenever a component is near 0
        parts = {"item": "0 + C(item)", "rater": "0 + C(rater)"}
        theirs = MixedLM.from_formula("y ~ 1", frame, groups="all", re_formula="0", vc_formula=parts).fit(reml=True)
    assert values(variance_components(table)) == pytest.approx((*theirs.vcomp, theirs.scale), abs=2e-3)


def test_reml_is_anova_on_a_full_table_with_positive_components():
    rng = np.random.default_rng(6)
    n_compared = 0
    for _ in range(20):
        table = draw(rng, 6, 4, item=2.0, rater=1.0)
        anova, reml = (variance_components(table, method=method) for method in ("anova", "reml"))
        if min(values(anova)) > 0:
            assert values(reml) == pytest.approx(values(anova), rel=1e-4)
            n_compared += 1
    assert n_compared > 10


def test_no_start_leads_astray():
    """Where the search ends, no other start does better."""
    rng = np.random.default_rng(7)
    for _ in range(15):
        table = draw(
            rng,
            int(rng.integers(4, 15)),
            int(rng.integers(3, 7)),
            item=rng.choice([0, 0.2, 20]),
            rater=rng.choice([0, 3]),
            missing=0.2,
        )
        found = variance_components(table)
        ratios = np.array([found.item.value, found.rater.value]) / found.residual.value
        best = dense_deviance(ratios, table)[0]
        for other in ([0.0, 0.0], ratios * 1.05, ratios * 0.95, ratios + [0.02, 0], ratios + [0, 0.02]):  # noqa: RUF005
            assert dense_deviance(other, table)[0] > best - 1e-6


def test_what_noise_explains_is_0_and_says_so():
    found = variance_components([[1, 2, 1], [2, 1, 1], [2, 1, 2], [1, 2, 1]])
    assert (found.item.value, found.item.low) == (0.0, 0.0)
    assert found.item.high > 0
    assert found.item.reason.startswith("less than noise")
    assert found.residual.reason == ""
    far_less = variance_components([[1, 2, 1], [2, 1, 1], [1, 1, 2], [1, 2, 1]]).item
    assert (far_less.value, far_less.high, far_less.high_state) == (0.0, None, "undefined")


def test_intervals_hold_at_5_items():
    rng = np.random.default_rng(8)
    found = [variance_components(draw(rng, 5, 7, item=1.5, rater=0.5)) for _ in range(500)]
    for name, truth in (("item", 1.5), ("rater", 0.5), ("residual", 1.0)):
        assert 0.92 < np.mean([getattr(one, name).covers(truth) for one in found]) < 0.98


def test_states():
    assert variance_components([[1, 2, 3]]).item.state == "too_few"
    assert variance_components([[1, 2, 3]]).shares is None
    same = variance_components(np.full((4, 3), 2.5))
    assert (values(same), same.shares) == ((0.0, 0.0, 0.0), None)
    holed = np.full((4, 3), 2.5)
    holed[0, 0] = np.nan
    assert values(variance_components(holed)) == (0.0, 0.0, 0.0)


def test_wrong_methods_are_named():
    with pytest.raises(OptionError, match="method called 'ml'"):
        variance_components(SHROUT_FLEISS, method="ml")
    with pytest.raises(OptionError, match="needs a full table"):
        variance_components([[1, 2], [3, np.nan]], method="anova")


def test_gaps_give_the_same_components_in_any_order_and_with_more_raters_than_items():
    """The search alone stops at about 1e-8; the smaller side is the one whose matrix is inverted."""
    rng = np.random.default_rng(8)
    for _ in range(10):
        table = rng.normal(size=(9, 1)) + 0.7 * rng.normal(size=40) + rng.normal(size=(9, 40))
        table[rng.random(table.shape) < 0.5] = np.nan
        found, mixed, turned = (
            variance_components(one)
            for one in (table, table[rng.permutation(9)][:, rng.permutation(40)], np.asarray(table.T))
        )
        for name, other in (("item", "rater"), ("rater", "item"), ("residual", "residual")):
            value = getattr(found, name).value
            assert getattr(mixed, name).value == pytest.approx(value, rel=1e-10, abs=1e-12)
            assert getattr(turned, other).value == pytest.approx(value, rel=1e-10, abs=1e-12)
