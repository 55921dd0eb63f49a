import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.corrections import corrected_rate, independent_trials, powered_mean


def draw(rng, n, n_more, quality):
    """Labels with mean 3 and a judge's values, which correlate by ``quality``; the judge is one too severe."""
    judged = rng.normal(2, 1, n + n_more)
    labels = 3 + quality * (judged[:n] - 2) + np.sqrt(1 - quality**2) * rng.normal(size=n)
    return labels, judged[:n], judged[n:]


def test_rogan_and_gladen(reference):
    known = reference["rogan_gladen"]
    counts = [
        (known[share] * known[size], known[size])
        for share, size in (("p", "n"), ("sensitivity", "m1"), ("specificity", "m0"))
    ]
    found = corrected_rate(*counts)
    assert (found.value, found.low, found.high) == pytest.approx(
        (known["estimate"], known["low"], known["high"]), abs=5e-5
    )


def test_corrected_rate_holds():
    rng = np.random.default_rng(0)
    for rate in (0.1, 0.7):
        found = []
        for _ in range(800):
            judged = rng.binomial(400, rate * 0.9 + (1 - rate) * 0.2)
            found.append(corrected_rate((judged, 400), (rng.binomial(60, 0.9), 60), (rng.binomial(60, 0.8), 60)))
        assert 0.93 < np.mean([one.covers(rate) for one in found]) < 0.98
        assert np.mean([one.value for one in found]) == pytest.approx(rate, abs=0.02)


def test_a_perfect_judge_needs_no_correction():
    found = corrected_rate((300, 400), (1e6, 1e6), (1e6, 1e6))
    assert found.value == 0.75
    assert found.width == pytest.approx(2 * 1.96 * np.sqrt(0.75 * 0.25 / 400), rel=0.02)


def test_rates_beyond_the_possible_are_cut_and_told():
    low, high = corrected_rate((17, 100), (90, 100), (80, 100)), corrected_rate((93, 100), (90, 100), (80, 100))
    assert (low.value, low.low) == (0.0, 0.0)
    assert (high.value, high.high) == (1.0, 1.0)
    assert "-0.0429 is cut at 0" in low.reason
    assert 0 < low.high < 0.2


def test_rates_far_beyond_the_possible_accuse_the_labels():
    for judged in ((3, 100), (1000, 1000)):
        found = corrected_rate(judged, (90, 100), (80, 100))
        assert (found.state, found.value) == ("undefined", None)
        assert "does not fit" in found.reason


def test_rates_without_ground_are_states():
    assert corrected_rate((5, 10), (5, 10), (5, 10)).state == "undefined"
    assert corrected_rate((5, 10), (0, 0), (5, 10)).state == "too_few"
    # just above chance, but so few labels that nothing is known
    hardly = corrected_rate((5, 10), (1, 1), (1, 50))
    assert (hardly.state, hardly.low, hardly.high) == ("ok", 0.0, 1.0)
    with pytest.raises(InputError, match="11 successes of 10"):
        corrected_rate((11, 10), (9, 10), (9, 10))


def test_powered_mean_by_hand():
    labels, judged, more = [1.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0, 2.0], [1.0, 3.0]
    found = powered_mean(labels, judged, more)
    spread = np.var([*judged, *more], ddof=1)
    weight = np.cov(labels, judged)[0, 1] / ((1 + 4 / 2) * spread)
    assert found.weight == pytest.approx(weight)
    assert found.estimate.value == pytest.approx(2.5 + weight * (2 - 2))
    rest = np.array(labels) - weight * np.array(judged)
    variance = ((rest - rest.mean()) ** 2).sum() / (2 * 4) + weight**2 * 2 / 2
    assert found.estimate.width / 2 == pytest.approx(4.302653 * np.sqrt(variance), rel=1e-6)
    assert (found.n_labelled, found.n_unlabelled) == (4, 2)


@pytest.mark.parametrize("quality", [0.0, 0.5, 0.95])
def test_powered_mean_holds_and_a_useless_judge_costs_nothing(quality):
    rng = np.random.default_rng(1)
    found = [powered_mean(*draw(rng, 20, 400, quality)) for _ in range(800)]
    assert 0.925 < np.mean([one.estimate.covers(3.0) for one in found]) < 0.97
    saved = np.mean([one.estimate.width for one in found]) / np.mean([one.labels_alone.width for one in found])
    assert saved == pytest.approx(np.sqrt(1 - quality**2 * 400 / 420), abs=0.05)


def test_a_judge_that_is_constant_or_contrary_is_ignored():
    labels = [1.0, 2.0, 3.0, 2.0]
    for judged in ([2.0] * 4, [3.0, 2.0, 1.0, 2.0]):
        found = powered_mean(labels, judged, [2.0, 2.0, 2.0])
        assert (found.weight, found.estimate.value) == (0.0, 2.0)


def test_means_without_ground_are_states():
    assert powered_mean([1, 2], [1, 2], [1, 2, 3]).estimate.state == "too_few"
    same = powered_mean([1, 1, 1], [2, 2, 2], [2, 2])
    assert (same.estimate.value, same.estimate.low_state) == (1.0, "undefined")
    with pytest.raises(InputError, match="labels 3, judged 2"):
        powered_mean([1, 2, 3], [1, 2], [1, 2, 3])


def test_trials_of_one_cluster_are_not_independent():
    clusters = np.repeat(np.arange(25), 20)
    alike = np.repeat(np.arange(25) % 2 == 0, 20)
    hits, n = independent_trials(alike, clusters)
    assert hits / n == pytest.approx(alike.mean())
    assert n == pytest.approx(25, rel=0.1)
    assert independent_trials(np.ones(100, dtype=bool), np.repeat(np.arange(5), 20)) == (5.0, 5.0)
    assert independent_trials(alike) == (260.0, 500.0)
    assert independent_trials([]) == (0.0, 0.0)
