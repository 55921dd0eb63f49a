import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.corrections import corrected_rate, independent_trials


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


def test_trials_of_one_cluster_are_not_independent():
    clusters = np.repeat(np.arange(25), 20)
    alike = np.repeat(np.arange(25) % 2 == 0, 20)
    hits, n = independent_trials(alike, clusters)
    assert hits / n == pytest.approx(alike.mean())
    assert n == pytest.approx(25, rel=0.1)
    assert independent_trials(np.ones(100, dtype=bool), np.repeat(np.arange(5), 20)) == (5.0, 5.0)
    assert independent_trials(alike) == (260.0, 500.0)
    assert independent_trials([]) == (0.0, 0.0)
