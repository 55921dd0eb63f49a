"""Dawid and Skene: their own table, simulated raters, and what cannot be fitted."""

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.latent_classes import dawid_skene, simulate_labels


def test_accuracies_shares_and_labels_are_recovered():
    accuracy, share, right = [], [], []
    for seed in range(60):
        labels, true = simulate_labels(n_items=80, missing=0.1, seed=seed)
        fit = dawid_skene(labels)
        accuracy.append([one.covers(x) for one, x in zip(fit.accuracy, (0.9, 0.8, 0.7, 0.6), strict=True)])
        share.append([one.covers(x) for one, x in zip(fit.shares, (0.5, 0.3, 0.2), strict=True)])
        right.append((fit.posterior.argmax(axis=1) == true).mean())
    assert np.mean(accuracy) >= 0.91
    assert np.mean(share) >= 0.91
    assert np.mean(right) > 0.85


def test_a_rater_who_turns_two_categories_round_is_understood():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, 200)
    labels = np.column_stack([np.where(rng.random(200) < 0.9, true, 1 - true) for _ in range(3)]).astype(float)
    labels[:, 2] = 1 - labels[:, 2]
    fit = dawid_skene(labels)
    assert fit.accuracy[0].value > 0.85
    assert fit.accuracy[2].value < 0.2
    assert fit.confusion[2, 0, 1] > 0.8


def test_probabilities_add_up():
    fit = dawid_skene(simulate_labels(seed=1)[0])
    assert fit.posterior.sum(axis=1) == pytest.approx(np.ones(60))
    assert fit.confusion.sum(axis=2) == pytest.approx(np.ones((4, 3)))
    assert sum(one.value for one in fit.shares) == pytest.approx(1)


def test_too_little_is_said():
    assert "2 raters" in dawid_skene(np.ones((20, 2)))
    assert dawid_skene(np.ones((20, 3))) == "one category, so nothing can be confused"
    with pytest.raises(InputError, match="without any label"):
        dawid_skene(np.full((20, 3), np.nan))
