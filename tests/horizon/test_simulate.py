"""The simulator draws what it says, in a layout that is read back."""

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from howsure.errors import OptionError
from howsure.horizon.attempt_horizon.estimator import shared_tasks
from howsure.horizon.simulator import SUITES, draw_suite, simulate, suite_of
from howsure.sources import read, recognise
from howsure.tables import Attempts

SEED_FIELDS = {
    *("task_id", "run_id", "alias", "score_binarized", "attempt_number", "learner_type"),
    *("first_attempt_success_rate", "learning_rate_lambda", "task_domain", "verification_type"),
}


@pytest.fixture(scope="module")
def world():
    return simulate(seed=5)


def test_the_data_set_has_the_seeds_size_and_fields(world):
    frame = world.frame
    assert set(frame.columns) >= SEED_FIELDS
    assert frame.group_by("learner_type").len().sort("learner_type").rows() == [
        ("ai_zero_shot", 6000),
        ("human_novice", 50_000),
    ]
    assert frame["task_id"].n_unique() == 100
    assert dict(frame.group_by("verification_type").agg(pl.col("task_id").n_unique()).rows()) == {
        "automated": 60,
        "llm_judge": 40,
    }
    first = frame.row(0, named=True)
    assert first["run_id"].startswith("novice_0001_attempt_01_")
    assert first["alias"] == "human_novice"


def test_same_seed_same_runs_and_another_seed_others(world):
    assert_frame_equal(world.frame, simulate(seed=5).frame)
    assert not world.frame["score_binarized"].equals(simulate(seed=6).frame["score_binarized"])


def test_the_file_is_read_back_as_the_same_attempts(tmp_path, world):
    small = simulate(draw_suite(10, seed=1), n_learners=5, n_attempts=4, n_runs=3, seed=1)
    paths = small.save(tmp_path)
    assert recognise(paths[0]).source == "metr"
    back = read(paths[0])
    assert isinstance(back, Attempts)
    assert_frame_equal(back.frame.select(small.attempts.frame.columns), small.attempts.frame)
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert truth["horizon"]["baseline-medium"] == pytest.approx(small.truth["baseline-medium"])


def test_learners_are_found_from_the_run_id_alone(tmp_path):
    small = simulate(draw_suite(10, seed=1), n_learners=5, n_attempts=4, n_runs=3, seed=1)
    path = tmp_path / "runs.jsonl"
    small.frame.drop("learner_id", "task_family").write_ndjson(path)
    people = read(path).frame.filter(kind="human")
    assert sorted(people["subject"].unique()) == [f"novice_{number:04}" for number in range(1, 6)]


def test_counts_of_the_world_are_those_of_its_table(world):
    from_table = shared_tasks(world.attempts)
    order = [from_table.models.index(model) for model in world.models]
    assert from_table.novices.tasks == world.counts.novices.tasks
    np.testing.assert_array_equal(from_table.novices.successes, world.counts.novices.successes)
    np.testing.assert_array_equal(from_table.novices.scores, world.counts.novices.scores)
    np.testing.assert_array_equal(from_table.successes[order], world.counts.successes)
    assert from_table.released == world.released
    assert_frame_equal(from_table.tasks, world.counts.tasks)


def test_success_over_learners_is_the_planted_curve_whatever_learners_are_like():
    suite = draw_suite(3, seed=0)
    for sameness in (1.0, 0.5):
        practice = simulate(suite, n_learners=20_000, n_attempts=5, n_runs=1, sameness=sameness, seed=1).practice
        expected = np.stack([suite.success(attempt) for attempt in range(1, 6)], axis=1)
        assert np.abs(practice.mean(axis=1) - expected).max() < 0.015


def test_learners_differ_when_they_are_not_the_same():
    def spread(sameness):
        practice = simulate(draw_suite(100, seed=0), n_learners=200, n_runs=1, sameness=sameness, seed=2).practice
        return practice.mean(axis=(0, 2)).std()

    assert spread(0.6) > 5 * spread(1.0)


def test_novices_succeed_less_and_models_too_on_harder_tasks(world):
    suite = world.suite
    order = np.argsort(suite.difficulty)
    for rates in (suite.first, suite.asymptote, *world.chances):
        assert (np.diff(rates[order]) < 0).all()


def test_weak_below_medium_below_strong_at_every_task(world):
    assert (np.diff(world.chances, axis=0) > 0).all()


@pytest.mark.parametrize("kind", SUITES)
def test_a_planted_model_has_the_horizon_it_was_planted_with(kind):
    planted = {"a": 1.5, "b": 3.0, "c": 6.0}
    world = simulate(draw_suite(50, kind=kind, seed=3), true_horizons=planted, seed=3)
    assert world.truth == pytest.approx(planted)


def test_horizons_beyond_the_curve_are_infinite():
    suite = draw_suite(10, seed=0)
    assert suite.horizon(np.zeros(10)) == -np.inf
    assert suite.horizon(np.ones(10)) == np.inf


def test_a_suite_of_tasks_that_exist_keeps_their_names_and_difficulty():
    def task(name, difficulty):
        return SimpleNamespace(
            id=name, family="f", domain="d", verification_type="expert_review", difficulty=difficulty
        )

    suite = suite_of([task("b", 0.9), task("a", 0.1), task("c", None)])
    assert suite.tasks["task"].to_list() == ["a", "b", "c"]
    assert suite.difficulty[:2].tolist() == [0.1, 0.9]
    assert 0 <= suite.difficulty[2] <= 1
    assert suite.tasks["verification"].unique().to_list() == ["expert_review"]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(OptionError, match="n_learners is 0"):
        simulate(n_learners=0)
    with pytest.raises(OptionError, match="No suite called 'heavy'"):
        draw_suite(kind="heavy")
