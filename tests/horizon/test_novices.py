"""Novices' attempts as counts, and learners redrawn."""

import numpy as np
import polars as pl
import pytest

from horizon.people import people
from howsure.errors import InputError, OptionError
from howsure.horizon.learning_curves.novice_counts import _weigh_plainly, novice_counts
from howsure.tables import Attempts


@pytest.fixture
def attempts():
    rows = [
        ("ann", "human", "b", 1, 0.0),
        ("ann", "human", "b", 2, 1.0),
        ("ann", "human", "a", 1, 0.5),
        ("bob", "human", "b", 1, 1.0),
        ("gpt", "model", "c", 1, 1.0),
        ("cid", "human", "a", 2, 1.0),
        ("cid", "human", "a", 1, 0.0),
        ("cid", "human", "a", 3, 1.0),
    ]
    return Attempts(pl.DataFrame(rows, schema=["subject", "kind", "task", "attempt", "score"], orient="row"))


def random_counts(seed=0, n_learners=9, n_tasks=4):
    rng = np.random.default_rng(seed)
    rows = [
        (f"learner {learner}", "human", f"task {t}", n + 1, rng.integers(0, 3) / 2)
        for learner in range(n_learners)
        for t in range(n_tasks)
        for n in range(rng.integers(0, 6))
    ]
    frame = pl.DataFrame(rows, schema=["subject", "kind", "task", "attempt", "score"], orient="row")
    return novice_counts(Attempts(frame.sample(fraction=1, shuffle=True, seed=seed)))


def test_counts_by_task_and_attempt(attempts):
    counts = novice_counts(attempts)
    assert counts.tasks == ("a", "b")
    assert counts.learners == ("ann", "bob", "cid")
    assert counts.attempts.tolist() == [1, 2, 3]
    assert counts.successes.tolist() == [[0.5, 1, 1], [1, 1, 0]]
    assert counts.trials.tolist() == [[2, 1, 1], [2, 1, 0]]
    assert counts.n_learners.tolist() == [2, 2]


def test_courses_hold_each_learners_scores(attempts):
    counts = novice_counts(attempts)
    told = {
        (counts.tasks[t], counts.learners[who]): counts.scores[o : o + n].tolist()
        for t, who, o, n in zip(counts.task, counts.learner, counts.offset, counts.length, strict=True)
    }
    assert told == {("a", "ann"): [0.5], ("a", "cid"): [0, 1, 1], ("b", "ann"): [0, 1], ("b", "bob"): [1]}


def test_attempts_after_the_last_are_left_out(attempts):
    assert novice_counts(attempts, last=2).trials.tolist() == [[2, 1], [2, 1]]
    with pytest.raises(OptionError, match="from 1 up"):
        novice_counts(attempts, last=0)


def test_without_people_there_are_no_novices():
    models = pl.DataFrame({"subject": ["m"], "kind": ["model"], "task": ["t"], "attempt": [1], "score": [1.0]})
    with pytest.raises(InputError, match="no attempt of a person"):
        novice_counts(Attempts(models))


def test_weights_of_one_give_the_counts():
    counts = random_counts()
    successes, trials = counts.weighted(np.ones((1, len(counts.learners))))
    np.testing.assert_array_equal(successes[0], counts.successes)
    np.testing.assert_array_equal(trials[0], counts.trials)


def test_the_kernel_weighs_as_numpy_does():
    counts = random_counts(3)
    weights = counts.draw_learners(7, np.random.default_rng(1))
    assert (weights.sum(axis=1) == len(counts.learners)).all()
    for ours, plain in zip(counts.weighted(weights), _weigh_plainly(weights, counts), strict=True):
        np.testing.assert_allclose(ours, plain, atol=1e-12)


def test_some_tasks_only():
    counts = random_counts(5)
    chosen = np.array([True, False, True, False])
    some = counts.of_tasks(chosen)
    weights = counts.draw_learners(5, np.random.default_rng(2))
    assert some.tasks == ("task 0", "task 2")
    for ours, whole in zip(some.weighted(weights), counts.weighted(weights), strict=True):
        np.testing.assert_array_equal(ours, whole[:, chosen])


def test_real_people_are_covered_as_published():
    assert len(people("assist09", answers=30, attempts=6, first=80).tasks) == 76
    assert len(people("spanish", answers=20, attempts=6, first=25).tasks) == 186


def test_what_follows_an_attempt_without_a_score_is_not_the_next_attempt(attempts):
    is_lost = (pl.col("subject") == "cid") & (pl.col("attempt") == 2)
    lost = pl.when(is_lost).then(None).otherwise("score").alias("score")
    found = novice_counts(Attempts(attempts.frame.with_columns(lost)))
    assert found.trials[found.tasks.index("a")].tolist() == [2, 0]
    assert found.notes[-1] == "1 attempts of people are excluded, because they follow one without a score."
    refused = attempts.frame.with_columns(lost, pl.when(is_lost).then(pl.lit("refused")).alias("outcome"))
    assert novice_counts(Attempts(refused)).trials[0].tolist() == [2, 1, 1]  # a refusal is a wrong answer
