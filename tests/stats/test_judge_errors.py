"""A judge's errors: drawn, compared between subjects, and turned into outcomes."""

import numpy as np
import pytest

from howsure.stats.corrections import (
    draw_judge_errors,
    errors_differ,
    fit_judge_errors,
    impute_counts,
    success_given_verdict,
)


def table(rng, rate, n, sensitivity, specificity, share):
    """Counts by label and verdict of those that are labelled, by verdict of the others."""
    good = rng.random(n) < rate
    passed = rng.random(n) < np.where(good, sensitivity, 1 - specificity)
    seen = rng.random(n) < share
    labelled = [[(seen & (good == y) & (passed == v)).sum() for v in (0, 1)] for y in (0, 1)]
    return np.array(labelled), np.array([(~seen & (passed == v)).sum() for v in (0, 1)])


def test_bayes_theorem():
    passed, failed = success_given_verdict(np.array([0.2, 0.8]), 0.9, 0.7)
    assert passed == pytest.approx([0.2 * 0.9 / (0.2 * 0.9 + 0.8 * 0.3), 0.8 * 0.9 / (0.8 * 0.9 + 0.2 * 0.3)])
    assert failed == pytest.approx([0.2 * 0.1 / (0.2 * 0.1 + 0.8 * 0.7), 0.8 * 0.1 / (0.8 * 0.1 + 0.2 * 0.7)])


def test_the_posterior_contains_the_truth_at_its_level():
    rng = np.random.default_rng(1)
    rates, hits = (0.8, 0.5, 0.2), []
    for _ in range(40):
        counts = [table(rng, rate, 300, 0.85, 0.8, 0.1) for rate in rates]
        drawn = draw_judge_errors(*(np.stack(part) for part in zip(*counts, strict=True)), 100, rng)
        ends = np.quantile(drawn.rates, [0.025, 0.975], axis=0)
        hits.append((ends[0] <= rates) & (rates <= ends[1]))
    assert 0.89 <= np.mean(hits) <= 0.99


def test_with_everything_labelled_the_rate_is_that_of_the_labels():
    labelled = np.array([[[30, 10], [5, 55]]])
    drawn = draw_judge_errors(labelled, np.zeros((1, 2), np.int64), 4000, np.random.default_rng(0))
    assert drawn.rates.mean() == pytest.approx(60.5 / 101, abs=0.004)
    assert drawn.sensitivity.mean() == pytest.approx(55.5 / 61, abs=0.004)


def test_trials_that_resemble_each_other_count_less():
    labelled, unlabelled = np.array([[[60, 20], [10, 110]]]), np.array([[90, 110]])
    drawn = draw_judge_errors(labelled, unlabelled, 3000, np.random.default_rng(0), rate_effects=np.array([4.0]))
    quarter = draw_judge_errors(labelled, unlabelled, 3000, np.random.default_rng(0))
    assert drawn.rates.std() == pytest.approx(2 * quarter.rates.std(), rel=0.15)
    unsure = draw_judge_errors(labelled, 0 * unlabelled, 3000, np.random.default_rng(0), error_effects=(4.0, 1.0))
    plain = draw_judge_errors(labelled, 0 * unlabelled, 3000, np.random.default_rng(0))
    assert unsure.specificity.std() == pytest.approx(2 * plain.specificity.std(), rel=0.1)
    assert unsure.sensitivity.std() == pytest.approx(plain.sensitivity.std(), rel=0.1)


def test_the_fit_is_where_rogan_and_gladen_find_it():
    """Many attempts with few labels: rates follow from verdicts and errors alone, as (p + specificity − 1)/(sensitivity + specificity − 1)."""
    rates = np.array([0.2, 0.6])
    labelled = np.array([[[[1 - rate], [rate]] * np.array([[0.7, 0.3], [0.1, 0.9]]) for rate in rates]]) * 1e4
    passed = rates * 0.9 + (1 - rates) * 0.3
    unlabelled = 1e9 * np.stack([1 - passed, passed], axis=-1)
    found = fit_judge_errors(labelled, unlabelled[None])
    assert found.rates[0] == pytest.approx(rates, abs=0.002)
    drawn = draw_judge_errors(labelled[0], unlabelled, 100, np.random.default_rng(0))
    assert drawn.rates.mean(axis=0) == pytest.approx(rates, abs=0.005)
    assert (found.sensitivity[0], found.specificity[0]) == pytest.approx((0.9, 0.7), abs=0.002)


def test_errors_that_differ_are_told_from_those_that_do_not():
    rng = np.random.default_rng(2)
    alike = [errors_differ(np.stack([table(rng, 0.5, 60, 0.9, 0.7, 1)[0] for _ in range(3)])) for _ in range(60)]
    assert np.mean(np.array(alike) < 0.05) <= 0.15
    other = np.stack([table(rng, 0.5, 100, *errors, 1)[0] for errors in ((0.9, 0.7), (0.9, 0.7), (0.6, 0.95))])
    assert errors_differ(other) < 0.01
    assert errors_differ(other[:1]) is None


def test_the_p_value_is_fishers_for_two_subjects():
    """Both ends of Fisher's exact test by hand: 8 of 8 against 4 of 8 among successes, nothing to compare among failures."""
    tables = np.array([[[0, 0], [0, 8]], [[0, 0], [4, 4]]])
    assert errors_differ(tables) == pytest.approx(140 / 1820, abs=0.015)  # 2·C(8,4)·C(8,8)/C(16,12)


def test_imputed_tasks_differ_as_much_as_true_ones():
    rng = np.random.default_rng(3)
    rates = rng.beta(2, 2, 400)
    counts = [table(rng, rate, 20, 0.85, 0.8, 0.1) for rate in rates]
    labelled, unlabelled = (np.stack(part) for part in zip(*counts, strict=True))
    drawn = np.stack([impute_counts(labelled, unlabelled, 0.5, 0.85, 0.8, rng) for _ in range(20)])
    true = rates.var() + (rates * (1 - rates)).mean() / 20
    assert (drawn / 20).var(axis=1).mean() == pytest.approx(true, rel=0.15)
    assert (drawn / 20).mean() == pytest.approx(rates.mean(), abs=0.02)
