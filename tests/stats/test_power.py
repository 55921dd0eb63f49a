import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from howsure.errors import OptionError
from howsure.stats.power import PairedDesign, items_needed, minimum_detectable_effect, power


def test_millers_formula_for_many_items():
    """Miller (2024): n = (z_{α/2} + z_β)² (ω² + σ²_A/K_A + σ²_B/K_B) / δ²; ω² = 1/9 and δ = 0.03 take 969 items.

    The t test takes two more than the normal one.
    """
    assert items_needed(0.03, PairedDesign(1 / 9, 0, 0)) in (969, 970, 971)
    noisy = PairedDesign(1 / 9, 1 / 6, 1 / 6, epochs_a=2, epochs_b=4)
    quantiles = scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.9)
    variance = 1 / 9 + 1 / 12 + 1 / 24
    assert items_needed(0.01, noisy, power=0.9) == pytest.approx(quantiles**2 * variance / 0.01**2, abs=3)
    assert minimum_detectable_effect(1e5, noisy, power=0.9) == pytest.approx(
        quantiles * np.sqrt(variance / 1e5), rel=1e-4
    )


@pytest.mark.parametrize("n_items", [5, 30, 1000])
def test_statsmodels_agrees(n_items):
    comparison, theirs = PairedDesign(0.04, 0.05, 0.05), TTestPower()
    sd = np.sqrt(0.14)
    for effect in (0.0, 0.01, 0.02, 0.05):
        expected = theirs.power(effect / sd, n_items, 0.05)
        assert power(effect, n_items, comparison) == pytest.approx(expected, abs=1e-6)
    smallest = minimum_detectable_effect(n_items, comparison)
    assert smallest == pytest.approx(theirs.solve_power(None, n_items, 0.05, 0.8) * sd, rel=1e-4)


@pytest.mark.parametrize("effect", [0.3, 1.0, 30.0])
@pytest.mark.parametrize("n_items", [10, 1000, 10**7])
def test_large_effects_are_found_for_sure(effect, n_items):
    assert power(effect, n_items, PairedDesign(0.001, 0, 0)) == pytest.approx(1)
    assert power(-effect, n_items, PairedDesign(0.001, 0, 0)) == pytest.approx(1)


def test_the_three_agree_with_each_other():
    comparison = PairedDesign.of_accuracies(
        0.7, 0.75, correlation=0.6, epochs=3, cluster_size=4, cluster_correlation=0.2
    )
    n_items = items_needed(0.05, comparison)
    assert power(0.05, n_items, comparison) >= 0.8 > power(0.05, n_items - 1, comparison)
    assert minimum_detectable_effect(n_items, comparison) == pytest.approx(0.05, rel=0.01)


def test_accuracies_by_hand():
    # p(1 − p) = 0.25 and 0.16, a quarter of it between items
    found = PairedDesign.of_accuracies(0.5, 0.8, correlation=0.5, share_between=0.25, epochs=2)
    assert found.between == pytest.approx(0.25 * (0.25 + 0.16 - 2 * 0.5 * 0.2))
    assert (found.within_a, found.within_b) == pytest.approx((0.75 * 0.25, 0.75 * 0.16))
    assert found.variance == pytest.approx(found.between + (0.75 * 0.41) / 2)
    clustered = PairedDesign.of_accuracies(
        0.5, 0.8, correlation=0.5, share_between=0.25, epochs=2, cluster_size=5, cluster_correlation=0.1
    )
    assert clustered.variance == pytest.approx(1.4 * found.variance)


def test_pairing_and_epochs_help():
    unpaired = PairedDesign.of_accuracies(0.6, 0.7, correlation=0)
    paired = PairedDesign.of_accuracies(0.6, 0.7, correlation=0.8)
    repeated = PairedDesign.of_accuracies(0.6, 0.7, correlation=0.8, epochs=10)
    assert items_needed(0.05, unpaired) > items_needed(0.05, paired) > items_needed(0.05, repeated)


def test_deterministic_equals_have_no_error():
    same = PairedDesign.of_accuracies(0.3, 0.3, correlation=1, share_between=1)
    assert (power(0.1, 10, same), power(0, 10, same)) == (1.0, 0.0)
    assert minimum_detectable_effect(10, same) == 0


def simulated_power(rng, n_items, epochs, n_simulations=4000):
    """Chances 0.25 or 0.75 for a, 0.35 or 0.85 for b, equal in kind on 80 % of the items; t test on item means.

    The variance of the chances is 1/16 each and their correlation 0.6; the accuracies are 0.5 and 0.6.
    """
    is_easy = rng.random((n_simulations, n_items)) < 0.5
    is_easy_for_b = is_easy ^ (rng.random(is_easy.shape) < 0.2)
    a = rng.binomial(epochs, np.where(is_easy, 0.75, 0.25)) / epochs
    b = rng.binomial(epochs, np.where(is_easy_for_b, 0.85, 0.35)) / epochs
    return np.mean(scipy.stats.ttest_rel(b, a, axis=1).pvalue < 0.05)


@pytest.mark.parametrize(("n_items", "epochs"), [(100, 1), (100, 4), (25, 8)])
def test_simulation_finds_the_planned_power(n_items, epochs):
    within_a, within_b = 0.25 * 0.75, (0.35 * 0.65 + 0.85 * 0.15) / 2
    planned = PairedDesign(2 / 16 - 2 * 0.6 / 16, within_a, within_b, epochs, epochs)
    found = simulated_power(np.random.default_rng(1), n_items, epochs)
    assert found == pytest.approx(power(0.1, n_items, planned), abs=0.03)


def test_accuracies_describe_the_simulated_design():
    # shares of variance between items: 1/16 of 0.25 and of 0.24, taken as one
    planned = PairedDesign.of_accuracies(0.5, 0.6, correlation=0.6, share_between=0.255, epochs=4)
    found = simulated_power(np.random.default_rng(2), 100, 4)
    assert found == pytest.approx(power(0.1, 100, planned), abs=0.03)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: PairedDesign(-0.1, 0, 0), "below 0"),
        (lambda: PairedDesign(0.1, 0, 0, epochs_a=0), "begin at 1"),
        (lambda: PairedDesign(0.1, 0, 0, cluster_correlation=2), "cluster_correlation 2"),
        (lambda: PairedDesign.of_accuracies(70, 0.5), "accuracy_a 70"),
        (lambda: PairedDesign.of_accuracies(0.7, 0.5, correlation=1.5), "correlation 1.5"),
        (lambda: power(0.1, 1, PairedDesign(0.1, 0, 0)), "1 items compare nothing"),
        (lambda: items_needed(0, PairedDesign(0.1, 0, 0)), "effect 0"),
        (lambda: items_needed(0.1, PairedDesign(0.1, 0, 0), power=80), "power 80"),
        (lambda: minimum_detectable_effect(10, PairedDesign(0.1, 0, 0), power=0.01), "power 0.01 is not between 0.05"),
    ],
)
def test_wrong_plans_are_named(call, text):
    with pytest.raises(OptionError, match=text):
        call()


@pytest.mark.parametrize("effect", [0.0, 1e-300, -1e-200])
def test_an_effect_that_no_study_can_find_is_refused(effect):
    with pytest.raises(OptionError, match="takes endless items"):
        items_needed(effect, PairedDesign(0.1, 0.1, 0.1))
