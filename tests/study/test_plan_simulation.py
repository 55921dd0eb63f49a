"""Planned studies: drawn statistics are those of the analysis, chances those of theory, assumptions come back."""

from dataclasses import replace

import numpy as np
import pytest

from howsure.errors import OptionError
from howsure.stats.components import crossed_difference, crossed_mean, variance_components
from howsure.stats.correlation import correlation, power_of_correlation
from howsure.stats.reliability import cronbach_alpha, spearman_brown
from howsure.study.planning.design import RatingDesign
from howsure.study.planning.simulated_studies import (
    ALPHA,
    COMBINED,
    DIFFERENCE,
    FIDELITY,
    PEARSON,
    STATISTICS,
    Assumptions,
    draw_ratings,
    simulate_verdicts,
    statistics_of_studies,
)
from howsure.study.simulator import MODEL_MEAN, MODEL_SD
from howsure.study.verdict import CRITERIA, Criterion, judge_criterion

NARROW = Assumptions(spread=0.02, fidelity=0.8)  # so that no normal score leaves 0–1


def drawn(design, assumptions=NARROW, n=40, seed=0, **options):
    return draw_ratings(design, assumptions, n, np.random.default_rng(seed), **options)


@pytest.mark.parametrize("design", [RatingDesign(12, 5), RatingDesign(5, 7), RatingDesign(3, 10)], ids=str)
def test_figures_are_those_of_the_analysis(design):
    scores, model = drawn(design)
    found = statistics_of_studies(scores, model, design.domain)
    assert tuple(found) == STATISTICS
    first, last = design.domain == 0, design.domain == design.domain.max()
    for study in range(len(scores)):
        table, standing = scores[study], model[study]
        right = {
            ALPHA: cronbach_alpha(table),
            PEARSON: correlation(table.mean(axis=1), standing).estimate,
            FIDELITY: crossed_mean(table).estimate,
            DIFFERENCE: crossed_difference(table[first], table[last]).estimate,
            COMBINED: crossed_mean((table + (MODEL_MEAN + MODEL_SD * standing)[:, None]) / 2).estimate,
        }
        for name, estimate in right.items():
            value, low, high = (float(part[study]) for part in found[name])
            ends = (
                -np.inf if estimate.low is None else estimate.low,
                np.inf if estimate.high is None else estimate.high,
            )
            assert value == pytest.approx(estimate.value, abs=1e-9), name
            assert (low, high) == pytest.approx(ends, abs=1e-9), name


def test_the_verdict_is_the_analysis_own():
    design = RatingDesign(12, 5)
    scores, model = drawn(design, n=300)
    found = statistics_of_studies(scores, model, design.domain)
    criteria = [*CRITERIA, Criterion("not too good", FIDELITY, 0.82, "at_most")]
    outcome = simulate_verdicts(design, NARROW, criteria, n_simulations=300, seed=0)
    for one in criteria:
        verdicts = [
            judge_criterion(_estimate(found[one.statistic], study), one.threshold, one.direction)
            for study in range(300)
        ]
        chances = outcome.by_criterion[one.name]
        assert chances.passed == pytest.approx(verdicts.count("pass") / 300)
        assert chances.failed == pytest.approx(verdicts.count("fail") / 300)
        assert chances.inconclusive == pytest.approx(verdicts.count("inconclusive") / 300)


def _estimate(statistic, study):
    from howsure.estimates import Estimate

    value, low, high = (float(part[study]) for part in statistic)
    return Estimate(value, low if np.isfinite(low) else None, high if np.isfinite(high) else None)


@pytest.mark.parametrize("rho", [0.7, 0.9])
@pytest.mark.parametrize("design", [RatingDesign(5, 7), RatingDesign(20, 4)], ids=str)
def test_met_correlations_are_as_often_as_theory_says(design, rho):
    assumptions = Assumptions(correlation=rho, has_domains=False)
    seen = rho * spearman_brown(assumptions.consistency, design.raters) ** 0.5
    right = power_of_correlation(seen, design.pairs, at_least=0.7)
    found = simulate_verdicts(design, assumptions, n_simulations=8000).by_criterion["model–human correlation"].met
    assert found == pytest.approx(right, abs=4 * (right * (1 - right) / 8000) ** 0.5)


def test_drawn_ratings_have_the_reliability_that_is_assumed():
    assumptions = Assumptions(icc=0.4, severity_share=0.3, spread=0.1, has_domains=False)
    scores, model = drawn(RatingDesign(20, 10), assumptions, n=400)
    parts = [variance_components(table) for table in scores]
    item, rater, residual = (
        np.mean([getattr(one, name).value for one in parts]) for name in ("item", "rater", "residual")
    )
    assert item / (item + rater + residual) == pytest.approx(0.4, abs=0.02)
    assert rater / (rater + residual) == pytest.approx(0.3, abs=0.03)
    r = [np.corrcoef(table.mean(axis=1), standing)[0, 1] for table, standing in zip(scores, model, strict=True)]
    assert np.mean(r) == pytest.approx(0.9 * spearman_brown(assumptions.consistency, 10) ** 0.5, abs=0.015)


def test_all_criteria_are_met_less_often_than_any_one():
    outcome = simulate_verdicts(RatingDesign(10, 5), Assumptions(), n_simulations=1000)
    ones = outcome.by_criterion.values()
    assert 0 < outcome.joint.met <= min(one.met for one in ones)
    assert outcome.joint.passed <= min(one.passed for one in ones)
    assert outcome.joint.failed >= max(one.failed for one in ones)
    assert all(one.passed <= one.met for one in ones)


def test_worthless_scores_pass_hardly_ever():
    outcome = simulate_verdicts(RatingDesign(30, 7), replace(Assumptions(), correlation=0.0), n_simulations=2000)
    assert outcome.by_criterion["inter-rater reliability"].met > 0.9
    assert outcome.joint.met < 0.01


def test_without_differences_between_pairs_raters_do_not_agree():
    scores, _ = drawn(RatingDesign(10, 5), NARROW, n=2000, is_empty=True)
    alpha = statistics_of_studies(scores, drawn(RatingDesign(10, 5), n=2000)[1], RatingDesign(10, 5).domain)[ALPHA]
    assert np.mean((alpha[1] <= 0) & (alpha[2] >= 0)) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: simulate_verdicts(RatingDesign(2, 7), Assumptions(), n_simulations=10), "3 pairs"),
        (lambda: Assumptions(icc=1.0), "icc"),
        (lambda: Assumptions(correlation=1.0), "correlation"),
        (lambda: Assumptions(spread=0.0), "spread"),
        (
            lambda: simulate_verdicts(
                RatingDesign(5, 7), Assumptions(), [Criterion("x", "kendall", 0.5)], n_simulations=10
            ),
            "kendall",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(make, says):
    with pytest.raises(OptionError, match=says):
        make()
