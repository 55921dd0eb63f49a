"""Weights in which every source of chance counts once."""

import numpy as np
import pytest
from scipy.special import ndtr

from howsure.horizon.attempt_horizon.estimator import (
    HorizonEstimator,
    VarianceSource,
    draw_families_and_tasks,
    from_families,
    from_learners,
    share_inside,
)
from howsure.horizon.simulator import draw_suite, simulate


def variance_of_mean(values, family, share, n=4000, seed=0):
    families, tasks = draw_families_and_tasks(n, family, np.random.default_rng(seed))
    weights = tasks * (1 + share * (families - 1))
    return (weights @ values / weights.sum(axis=1)).var()


@pytest.mark.parametrize("family_sd", [0.0, 0.5, 2.0])
def test_families_and_tasks_are_each_counted_once(family_sd):
    """Against the variance of the mean over new families and tasks, which is known."""
    n_families, size = 40, 5
    family = np.repeat(np.arange(n_families), size)
    truth = (family_sd**2 + 1 / size) / n_families
    rng, found = np.random.default_rng(1), []
    for seed in range(40):
        values = family_sd * rng.standard_normal(n_families)[family] + rng.standard_normal(len(family))
        found.append(variance_of_mean(values, family, from_families(values, family).share, n=400, seed=seed))
    assert np.mean(found) == pytest.approx(truth, rel=0.15)


def test_drawing_tasks_again_within_families_would_count_them_twice():
    from howsure.stats.replicates import hierarchical_weights

    family = np.repeat(np.arange(40), 5)
    values = np.random.default_rng(0).standard_normal(200)
    nested = hierarchical_weights([family, np.arange(200)], 4000, np.random.default_rng(1))
    twice = (nested @ values / 200).var()
    assert twice / variance_of_mean(values, family, from_families(values, family).share) > 1.4


def test_tasks_that_are_their_own_families_add_nothing():
    source = from_families(np.random.default_rng(0).random(50), np.arange(50))
    assert source.share == source.own == 0


@pytest.mark.parametrize(("sameness", "least", "most"), [(1.0, 0, 0.3), (0.8, 0.8, 1), (0.4, 0.95, 1)])
def test_learners_count_as_much_as_they_differ(sameness, least, most):
    novices = simulate(draw_suite(60, seed=1), n_runs=1, sameness=sameness, seed=2).counts.novices
    assert least <= from_learners(novices, np.eye(10)).share <= most


def test_the_variance_of_novices_success_is_that_of_new_learners():
    """Over worlds with the same tasks; tasks are held here, so only learners and their luck vary."""
    suite = draw_suite(30, seed=3)
    worlds = [simulate(suite, n_learners=40, n_runs=1, sameness=0.7, seed=seed).counts.novices for seed in range(150)]
    truth = np.var([one.successes[:, 2].mean() / 40 for one in worlds])
    found = []
    for one in worlds[:30]:
        source = from_learners(one, np.eye(10)[2])
        weights = 1 + source.share * (one.draw_learners(300, np.random.default_rng(0)) - 1)
        won, trials = one.weighted(weights)
        found.append((won / trials)[:, :, 2].mean(axis=1).var() + source.alone)
    assert np.mean(found) == pytest.approx(truth, rel=0.3)


def test_few_learners_per_task_still_show_how_much_learners_differ():
    """5 learners per task: a residual against the task's own mean would lose a third of what learners add."""
    found, truth = [], []
    for seed in range(60):
        world = simulate(draw_suite(40, seed=0), n_learners=25, n_runs=1, sameness=0.7, tasks_per_learner=8, seed=seed)
        found.append(from_learners(world.counts.novices, np.eye(10)[2]).own)
        everybody = simulate(draw_suite(40, seed=0), n_learners=25, n_runs=1, sameness=0.7, seed=seed).counts.novices
        truth.append(from_learners(everybody, np.eye(10)[2]).own)
    assert np.mean(found) == pytest.approx(np.mean(truth), rel=0.2)


def test_quantiles_are_widened_for_few_learners_and_hardly_for_many():
    families = VarianceSource(own=0.0, alone=0.01, share=0.0, n=100)
    few = share_inside(families, VarianceSource(own=0.9, alone=0.0, share=0.9, n=10), 100, 0.95)
    many = share_inside(families, VarianceSource(own=0.9, alone=0.1, share=0.9, n=10_000), 100, 0.95)
    assert 1 - few == pytest.approx(2 * ndtr(-2.262 * np.sqrt(10 / 9)), rel=0.05)
    assert 0.95 < many < 0.953
    # learners who saw few tasks: the same own part is the difference of two larger and less certain ones
    sparse = share_inside(families, VarianceSource(own=0.9, alone=0.9, share=0.9, n=10), 100, 0.95)
    assert sparse > few
    assert share_inside(VarianceSource(0, 0, 0, 1), VarianceSource(0, 0, 0, 1), 1, 0.9) == 0.9


def test_replicates_are_the_same_for_a_seed():
    world = simulate(draw_suite(20, seed=0), n_learners=8, n_runs=3, seed=0)
    first, again, other = (
        HorizonEstimator(world.counts, ("matching",), np.array([0.5])).replicates(100, seed=seed).horizons
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
