"""Refits on redrawn data, in each of the ways there are."""

import pickle
from functools import partial

import numpy as np
import pytest

from howsure.stitch.model.fits import solve_hierarchy, solve_ridge
from howsure.stitch.model.problem import align, hold_reference
from howsure.stitch.model.replicates import _REDRAW, RESAMPLES, _refit, draw_replicates


@pytest.fixture(scope="module")
def solution(problem):
    return solve_hierarchy(problem)


@pytest.mark.parametrize("resample", RESAMPLES)
def test_replicates_lie_around_the_estimate(solution, constraint, resample):
    drawn = draw_replicates(solution, constraint, 120, resample=resample, seed=1)
    estimate = align(constraint, solution.theta, solution.layout)
    assert len(drawn) == 120
    assert drawn.n_failed <= 2
    middle = np.nanmedian(drawn.capability, axis=0)
    spread = np.nanstd(drawn.capability, axis=0)
    assert (spread > 0).all()
    assert np.median(np.abs(middle - estimate.capability) / spread) < 0.5
    usable = drawn.usable()
    assert usable.difficulty[:, constraint.benchmark] == pytest.approx(0, abs=1e-9)
    assert usable.slope[:, constraint.benchmark] == pytest.approx(1)


def test_one_thread_and_two_give_the_same(solution, constraint):
    one = draw_replicates(solution, constraint, 150, seed=5, workers=1)
    two = draw_replicates(solution, constraint, 150, seed=5, workers=2)
    assert (one.capability == two.capability).all()
    assert not (one.capability == draw_replicates(solution, constraint, 150, seed=6).capability).any()


def test_each_is_a_refit_at_its_own_optimum(solution):
    from howsure.stitch.model.solver import fit

    scores, weights, means = _REDRAW["families"](solution, np.random.default_rng(0), 3)
    for r in range(3):
        rows, prior = solution.rows._replace(score=scores[r]), solution.prior._replace(mean=means[r])
        warm = fit(rows, weights[r], solution.theta, prior, 1e-6, 500)
        cold = fit(rows, weights[r], np.zeros(solution.layout.size), prior, 1e-6, 500)
        assert warm.theta == pytest.approx(cold.theta, abs=1e-4)


def test_weights_are_drawn_as_they_should_be(solution, problem):
    rng = np.random.default_rng(0)
    drawn = {kind: _REDRAW[kind](solution, rng, 20)[1] / solution.weights for kind in RESAMPLES if kind != "errors"}
    for kind in ("rows", "models"):
        assert drawn[kind].sum(axis=1) == pytest.approx(problem.n_observations)
        assert drawn[kind] == pytest.approx(np.round(drawn[kind]))
    by_model = np.add.reduceat(drawn["models"], solution.rows.start[:-1], axis=1)
    assert by_model == pytest.approx(np.tile(problem.n_by_model, (20, 1)))
    assert (drawn["bayesian"] > 0).all()
    for kind, group in (("families", problem.cell), ("benchmarks", problem.benchmark)):
        for label in np.unique(group)[:10]:
            assert np.ptp(drawn[kind][:, group == label], axis=1) == pytest.approx(0, abs=1e-12)


def test_a_model_without_scores_in_a_replicate_has_no_capability_there(solution, constraint):
    drawn = draw_replicates(solution, constraint, 200, resample="benchmarks", seed=0)
    weights = _REDRAW["benchmarks"](solution, np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,))), 64)[1]
    totals = np.add.reduceat(weights, solution.rows.start[:-1], axis=1)
    assert (totals == 0).any()
    assert (np.isnan(drawn.capability[:64]) == (totals == 0)).all()


def test_a_penalty_is_not_drawn(problem, constraint):
    solution = solve_ridge(problem, constraint)
    _, weights, means = _REDRAW["errors"](solution, np.random.default_rng(0), 2)
    assert (means == 0).all()
    assert (weights == solution.weights).all()


def test_refits_that_do_not_converge_are_counted(solution, constraint, monkeypatch):
    monkeypatch.setattr("howsure.stitch.model.replicates.MOST_ITERATIONS", 4)
    drawn = draw_replicates(solution, constraint, 30, seed=1)
    assert 0 < drawn.n_failed <= 30
    assert len(drawn) == 30
    assert (np.isnan(drawn.capability).all(axis=1) == drawn.has_failed).all()


def test_the_work_can_be_sent_elsewhere(solution, constraint):
    """As a cluster does: pickled, and computed there."""
    work = pickle.loads(pickle.dumps(partial(_refit, solution, constraint, "errors", 1.0)))
    here, there = (
        one(np.random.default_rng(3), 4) for one in (partial(_refit, solution, constraint, "errors", 1.0), work)
    )
    assert all((a == b).all() for a, b in zip(here, there, strict=True))


def test_progress_is_told(solution, constraint):
    told = []
    draw_replicates(solution, constraint, 70, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (70, 70)


def test_refits_held_by_reference_models_are_not_drawn_towards_their_mean(solution, constraint):
    """Errors spread the capabilities of refits; one standard deviation for all made the best models too weak in them, and their intervals contained 85 % at 90 %."""
    at, rng = solution.layout, np.random.default_rng(0)
    held = hold_reference(constraint, solution.theta, at, range(at.n_models))
    estimate = align(held, solution.theta, at).capability
    own = solution.theta[at.capability]
    refits = np.repeat(solution.theta[None], 2000, axis=0)
    refits[:, at.capability] += rng.normal(0, 0.3 * own.std(), (2000, len(own)))
    slope = [
        np.polyfit(estimate, align(held, refits, at, **how).capability.mean(axis=0), 1)[0]
        for how in ({}, {"refit_of": solution.theta})
    ]
    assert slope[0] == pytest.approx(1.09**-0.5, abs=0.01)
    # as far above 1 as the others lie below: the true values relate to the estimate as the estimate to the refits
    assert slope[1] == pytest.approx(1.09**0.5, abs=0.01)
