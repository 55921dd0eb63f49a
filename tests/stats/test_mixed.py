"""Variances of crossed and nested effects, and partial pooling: simulated truth is recovered."""

import numpy as np
import pytest

from howsure.stats.mixed import fit_effects, pool

TRUE = {"family": 0.02, "item": 0.04, "subject × item": 0.02, "repeat": 0.12}


def simulated(rng, n_subjects=4, n_families=20, per_family=4, repeats=3):
    family = np.repeat(np.arange(n_families), per_family)
    n_items = len(family)
    sd = {name: np.sqrt(value) for name, value in TRUE.items()}
    shared = sd["family"] * rng.normal(size=n_families)[family] + sd["item"] * rng.normal(size=n_items)
    true = shared + sd["subject × item"] * rng.normal(size=(n_subjects, n_items))
    scores = true[..., None] + sd["repeat"] * rng.normal(size=(*true.shape, repeats))
    means = scores.mean(-1)
    spread = ((scores - means[..., None]) ** 2).sum(-1)
    return means, np.full(means.shape, float(repeats)), spread, family, np.repeat([0, 1], n_items // 2)


def test_variances_are_recovered_and_their_intervals_cover():
    rng = np.random.default_rng(0)
    fits = [fit_effects(*simulated(rng)) for _ in range(150)]
    for name, truth in TRUE.items():
        found = np.array([fit.variances[name] for fit in fits])
        assert found.mean() == pytest.approx(truth, abs=4 * found.std() / np.sqrt(150) + 0.0015)
        share = truth / sum(TRUE.values())
        assert np.mean([fit.shares[name].covers(share) for fit in fits]) >= 0.89


def test_the_sampling_variance_is_that_of_the_mean():
    rng, drawn, said = np.random.default_rng(1), [], []
    for _ in range(300):
        means, n, spread, family, evals = simulated(rng)
        drawn.append(means[0].mean())
        said.append(fit_effects(means, n, spread, family, evals).sampling_variance(family, n[0]))
    assert np.mean(said) == pytest.approx(np.var(drawn), rel=0.25)


def test_what_cannot_be_separated_is_said():
    means, n, _, family, evals = simulated(np.random.default_rng(2), n_subjects=1, repeats=1)
    found = fit_effects(means, n, np.zeros_like(means), family, evals)
    assert set(found.variances) == {"family", "item"}
    assert len(found.notes) == 2


def test_pooling_lowers_the_error_and_its_intervals_cover():
    rng, own, pooled, hits = np.random.default_rng(3), [], [], []
    for _ in range(200):
        true = rng.normal(0.5, 0.1, (6, 1)) + rng.normal(0, 0.1, (1, 8)) + rng.normal(0, 0.04, (6, 8))
        variances = np.full(true.shape, 0.06**2)
        seen = true + rng.normal(0, 0.06, true.shape)
        found = pool(seen, variances)
        own.append(np.mean((seen - true) ** 2))
        pooled.append(np.mean((found.means - true) ** 2))
        hits.append(np.mean(np.abs(found.means - true) < 1.96 * found.se))
    assert np.mean(pooled) < 0.8 * np.mean(own)
    assert np.mean(hits) == pytest.approx(0.95, abs=0.02)


def test_few_evals_are_not_pooled():
    means = np.array([[0.2, 0.9], [0.4, 0.1]])
    found = pool(means, np.full((2, 2), 0.01))
    assert np.array_equal(found.means, means)
