"""One model of all novices and tasks: derivatives, recovery, and answers that were not given."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.special import expit

from howsure.errors import OptionError
from howsure.horizon.attempt_horizon.horizons import attempt_horizons
from howsure.horizon.interval_coverage import DESIGNS, simulate_study
from howsure.horizon.learning_curves import learning_model
from howsure.horizon.learning_curves.held_out_learners import _fit_tracing, crossvalidate_learners
from howsure.horizon.learning_curves.learning_model import (
    complete_novices,
    fit_learning_model,
    predict_in_order,
)
from howsure.horizon.learning_curves.novice_counts import novice_counts
from howsure.horizon.simulator import draw_suite, simulate
from howsure.tables import Attempts


def novices(seed=0, n_tasks=12, **design):
    return simulate(draw_suite(n_tasks, seed=seed), n_runs=1, seed=seed, **design).counts.novices


def sums_at(counts, model):
    data = learning_model._Answers.of(counts, model.features)
    ones = np.ones(len(counts.learners)), np.ones(len(counts.tasks))
    likelihoods = learning_model._Likelihoods.of(data, model)
    odds, (posterior, (value, _, _)) = likelihoods.odds, likelihoods.posteriors(data, *ones)
    step = np.minimum(data.attempt, len(model.steps) - 1)
    parts = (data.features, step, data.scores, data.offset, data.length, data.task)
    weights = np.ones(len(data.length))
    found = learning_model._gather(odds, posterior, weights, *parts, data.n_tasks, len(model.steps))
    return value, found


def test_slopes_are_those_of_the_likelihood():
    counts = novices(n_tasks=4, n_learners=8, n_attempts=5)
    model = fit_learning_model(counts, most_passes=4)
    _, (slope, _, _, step_slope, _, _) = sums_at(counts, model)
    for task, feature in ((0, 0), (2, 1)):
        ends = []
        for way in (1e-4, -1e-4):
            moved = model.coefficients.copy()
            moved[task, feature] += way
            ends.append(sums_at(counts, replace(model, coefficients=moved))[0])
        assert slope[task, feature] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-4, abs=1e-4)
    ends = [sums_at(counts, replace(model, steps=model.steps + way * np.eye(5)[3]))[0] for way in (1e-4, -1e-4)]
    assert step_slope[3] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-4, abs=1e-4)


def test_the_likelihood_is_the_integral_over_learners():
    """One learner, one task, against numerical integration over θ + u."""
    counts = novices(n_tasks=1, n_learners=1, n_attempts=4)
    model = replace(
        fit_learning_model(counts, most_passes=2), steps=np.zeros(4), spread_of_learners=0.9, spread_of_courses=0.7
    )
    eta = model.coefficients[0, 0] + model.coefficients[0, 1] * np.log([1, 2, 3, 4])

    def density(v):
        p = expit(eta + v)
        spread = np.hypot(0.9, 0.7)
        return (
            np.prod(np.where(counts.scores == 1, p, 1 - p))
            * np.exp(-((v / spread) ** 2) / 2)
            / spread
            / np.sqrt(2 * np.pi)
        )

    assert sums_at(counts, model)[0] == pytest.approx(np.log(quad(density, -8, 8)[0]), abs=1e-6)


def test_learners_who_differ_are_found_to_and_tasks_too():
    alike = fit_learning_model(novices(n_tasks=30, n_learners=60, sameness=1.0))
    apart = fit_learning_model(novices(n_tasks=30, n_learners=60, sameness=0.6))
    assert alike.spread_of_learners < 0.15
    # the talent's standard deviation √(0.4/0.6) on the probit scale is 1.7 times as large on the logit scale
    assert apart.spread_of_learners == pytest.approx(1.7 * np.sqrt(0.4 / 0.6), rel=0.25)
    assert apart.spreads[0] > 0.3
    with pytest.raises(OptionError, match="No feature"):
        fit_learning_model(novices(), features=("level", "mood"))


@pytest.mark.parametrize("mastery", [1, 2])
def test_answers_that_were_not_given_are_predicted_without_bias(mastery):
    """The same learners with and without leaving: shares of those who stayed sink, completed ones do not."""
    completed, stayed, everybody = [], [], []
    for seed in range(4):
        left = novices(seed, n_tasks=40, n_learners=25, mastery=mastery)
        whole = novices(seed, n_tasks=40, n_learners=25)
        found = complete_novices(left)
        at = min(found.last, 6) - 1
        completed.append((found.table.successes / found.table.trials)[:, at].mean())
        tried = left.trials[:, at] > 0
        stayed.append((left.successes[tried, at] / left.trials[tried, at]).mean())
        everybody.append((whole.successes / whole.trials)[:, at].mean())
    assert np.mean(completed) == pytest.approx(np.mean(everybody), abs=0.035)
    assert np.mean(stayed) < np.mean(everybody) - 0.08


def test_nothing_is_predicted_where_nobody_left():
    assert complete_novices(novices(n_learners=5)) is None


def test_given_answers_stay_and_groups_are_parts():
    left = novices(n_learners=15, mastery=3)
    found = complete_novices(left)
    np.testing.assert_allclose(found.table.scores[found.table.offset], left.scores[left.offset])
    chosen = np.arange(12) < 5
    part = found.of_tasks(chosen)
    assert part.table.trials.shape == (5, found.last)
    refit = found.refit(np.ones(15), np.ones(12))
    won, trials = found.weighted([refit], np.ones((1, 15)), np.ones((1, 12)))
    np.testing.assert_allclose((won / trials)[0], found.table.successes / found.table.trials, atol=0.02)


def test_predictions_use_only_what_came_before():
    counts = novices(n_learners=10)
    model = fit_learning_model(counts, features=("level", "log_attempt", "recent"))
    first = predict_in_order(model, counts)
    course = int(counts.learner.argmin())
    changed = counts.scores.copy()
    last = counts.offset[course] + counts.length[course] - 1
    changed[last] = 1 - changed[last]
    again = predict_in_order(model, replace(counts, scores=changed))
    later = (counts.learner == counts.learner[course]) & (np.arange(len(counts.learner)) > course)
    untouched = ~np.repeat(later, counts.length)
    np.testing.assert_allclose(again[untouched], first[untouched])
    assert np.abs(again - first).max() > 0


def test_the_verb_says_how_much_was_predicted_and_ignoring_is_an_option():
    world = simulate(draw_suite(20, seed=1), true_horizons={"like-3": 3.0}, n_learners=20, n_runs=10, mastery=2, seed=1)
    predicted = attempt_horizons(world.attempts, n_replicates=10)
    ignored = attempt_horizons(world.attempts, n_replicates=10, early_leavers="ignore")
    assert any("are predicted" in note for note in predicted.provenance.notes)
    assert not any("are predicted" in note for note in ignored.provenance.notes)
    assert predicted.novices["answers"][0] == 400
    assert predicted.novices["answers"][3] < 400
    with pytest.raises(OptionError, match="early_leavers"):
        attempt_horizons(world.attempts, early_leavers="hope")


@pytest.mark.evidence
@pytest.mark.parametrize("design", [DESIGNS[2], DESIGNS[6]])
def test_intervals_contain_the_true_value_in_sparse_designs_and_under_mastery(design):
    """A small form of `howsure horizon coverage --of attempts`; 30 studies with 3 models each."""
    held = []
    for seed in range(30):
        found = simulate_study(design, 0.95, seed, definitions=("matching",))
        held += [one.covers(truth) for pairs in found.values() for one, truth in pairs]
    assert 0.86 <= np.mean(held) <= 1


SHARED = Path(__file__).parents[3] / "shared/data/learning/human_attempts.parquet"


def test_tracing_finds_the_parameters_of_learners_who_jump():
    """Bayesian knowledge tracing, simulated: known at first 0.3, learnt 0.15 per attempt, guess 0.2, slip 0.1."""
    rng = np.random.default_rng(0)
    counts = novices(n_tasks=1, n_learners=4000, n_attempts=8)
    known = rng.random((4000, 8)) < np.array([0.3, *[0.15] * 7])
    known = np.logical_or.accumulate(known, axis=1)
    scores = (rng.random((4000, 8)) < np.where(known, 0.9, 0.2)).astype(float)
    fitted = _fit_tracing(replace(counts, scores=scores.ravel()))
    np.testing.assert_allclose(fitted[0], [0.3, 0.15, 0.2, 0.1], atol=0.04)


def test_the_learning_model_predicts_new_learners_better_than_a_constant_and_chance():
    world = simulate(draw_suite(12, seed=2), n_learners=40, n_attempts=8, n_runs=1, sameness=0.6, seed=2)
    found = crossvalidate_learners(world.attempts, folds=2, predictors=("constant", "log n", "adaptive"))
    loss = dict(found.scores.select("predictor", "log_loss").iter_rows())
    assert set(loss) == {"constant", "PFA + learner", "log n", "adaptive"}
    assert loss["log n"] < loss["constant"] < 0.72
    assert found.best in {"log n", "adaptive"}
    assert found.best_curve == "log n"
    slope = dict(found.scores.select("predictor", "calibration_slope").iter_rows())["log n"]
    assert slope == pytest.approx(1, abs=0.2)
    with pytest.raises(OptionError, match="folds 50"):
        crossvalidate_learners(world.attempts, folds=50)


def test_parts_of_the_learners_have_all_their_answers():
    counts = novices(n_learners=9, mastery=2)
    chosen = np.arange(9) % 2 == 0
    part, rest = counts.of_learners(chosen), counts.of_learners(~chosen)
    np.testing.assert_allclose(part.trials + rest.trials, counts.trials)
    np.testing.assert_allclose(part.successes + rest.successes, counts.successes)
    assert len(part.learners) == 5
    assert part.learner.max() == 4


@pytest.mark.evidence
@pytest.mark.skipif(not SHARED.exists(), reason="the shared data sets are not here")
def test_on_real_learners_it_is_at_least_as_good_as_performance_factors_with_a_learner_effect():
    rows = pl.read_parquet(SHARED).filter(pl.col("dataset") == "spanish_items_20pct", pl.col("skill") % 3 == 0)
    names = pl.col("learner", "skill").cast(pl.String)
    runs = rows.select(names, "attempt", pl.lit("human").alias("kind"), score=pl.col("correct").cast(pl.Float64))
    runs = runs.rename({"learner": "subject", "skill": "task"})
    found = crossvalidate_learners(runs, folds=2, predictors=("constant", "adaptive"))
    gap = {row["predictor"]: row for row in found.scores.rows(named=True)}
    assert gap["adaptive"]["difference_high"] < 0 < gap["constant"]["difference_low"]


def test_what_is_learnt_on_a_missing_attempt_is_known_on_the_next():
    """Bayesian knowledge tracing with 40 % of the answers lost has the parameters of all answers, near those that were simulated."""
    rng, n, courses = np.random.default_rng(5), 8, 4000
    learnt = rng.geometric(0.15, courses)
    knows = (rng.random(courses) < 0.3)[:, None] | (np.arange(n) >= learnt[:, None])
    scores = np.where(knows, rng.random((courses, n)) > 0.1, rng.random((courses, n)) < 0.2).astype(float)
    is_there = rng.random((courses, n)) > 0.4
    is_there[:, 0] |= ~is_there.any(axis=1)
    course, attempt = np.nonzero(is_there)
    frame = pl.DataFrame(
        {
            "subject": pl.Series(course).cast(pl.String),
            "kind": "human",
            "task": "t",
            "attempt": attempt + 1,
            "score": scores[is_there],
        }
    )
    assert _fit_tracing(novice_counts(Attempts(frame)))[0] == pytest.approx([0.3, 0.15, 0.2, 0.1], abs=0.03)
