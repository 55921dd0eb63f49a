"""Novices' attempts as counts, and learners redrawn."""

import numpy as np
import polars as pl
import pytest

from horizon.people import people
from howsure.errors import InputError, OptionError
from howsure.horizon.learning_curves.novice_counts import _weigh_plainly, novice_counts
from howsure.sources import read
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
        for n in np.flatnonzero(rng.random(6) < 0.6)  # some attempts between others are missing
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


def test_gaps_are_missing_attempts():
    rows = [("ann", "b", 1, 0.0), ("ann", "b", 3, 1.0), ("bob", "b", 2, 1.0), ("bob", "b", 4, 0.0)]
    frame = pl.DataFrame(rows, schema=["subject", "task", "attempt", "score"], orient="row")
    counts = novice_counts(Attempts(frame.with_columns(kind=pl.lit("human"))))
    assert counts.trials.tolist() == [[1, 1, 1, 1]]
    assert counts.successes.tolist() == [[0, 1, 1, 0]]
    assert counts.last.tolist() == [3, 4]
    np.testing.assert_array_equal(counts.first_scores, [0, np.nan])
    assert counts.of_learners(np.array([False, True])).trials.tolist() == [[0, 1, 0, 1]]


def test_products_of_residuals_are_summed_over_learners_by_attempt():
    counts = random_counts(7)
    _, products, *_ = counts.residual_products
    plain = np.zeros((6, 6))
    for course, (task, start, n) in enumerate(zip(counts.task, counts.offset, counts.length, strict=True)):
        at, answers = counts.attempt[start : start + n], counts.trials[task]
        residual = np.zeros(6)
        residual[at] = (counts.scores[start : start + n] - (counts.successes[task] / np.maximum(answers, 1))[at]) / (
            answers[at] * len(counts.tasks)
        )
        plain += np.outer(residual, residual)
        assert counts.last[course] == at.max() + 1
    np.testing.assert_allclose(products, plain, atol=1e-12)


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


@pytest.mark.parametrize(
    ("column", "numbers", "expected"),
    [
        ("attempt", [1, 3, 7], [1, 3, 7]),
        ("attempt", [0, 2, 6], [1, 3, 7]),  # counted from 0
        ("trial", [2, 3, 5], [2, 3, 5]),
        ("seed", [11, 30, 71], [1, 2, 3]),
    ],
)
def test_numbers_of_peoples_attempts_in_files(tmp_path, column, numbers, expected):
    rows = [
        *(f"ann,human,t,{n},1" for n in numbers),
        *(f"bob,human,t,{n},0" for n in numbers[:2]),
        *(f"m,model,t,{n},1" for n in numbers),
    ]
    header = f"subject,kind,task,{column},score"
    (tmp_path / "one.csv").write_text("\n".join([header, *rows]))
    frame = read(tmp_path / "one.csv").frame
    assert frame.filter(subject="ann")["attempt"].to_list() == expected
    assert frame.filter(subject="bob")["attempt"].to_list() == expected[:2]
    assert frame.filter(subject="m")["attempt"].to_list() == [1, 2, 3]


def test_people_in_several_files_keep_their_numbers(tmp_path):
    for name, numbers in (("a", (1, 4)), ("b", (6, 9))):
        rows = [f"{who},{kind},t,{n},1" for n in numbers for who, kind in (("ann", "human"), ("m", "model"))]
        (tmp_path / f"{name}.csv").write_text("\n".join(["subject,kind,task,attempt,score", *rows]))
    frame = read([tmp_path / "a.csv", tmp_path / "b.csv"]).frame
    assert frame.filter(subject="ann")["attempt"].to_list() == [1, 4, 6, 9]
    assert frame.filter(subject="m")["attempt"].to_list() == [1, 2, 3, 4]


def test_an_attempt_without_a_score_leaves_the_numbers_of_the_others(attempts):
    is_lost = (pl.col("subject") == "cid") & (pl.col("attempt") == 2)
    lost = pl.when(is_lost).then(None).otherwise("score").alias("score")
    whole, found = (novice_counts(Attempts(attempts.frame.with_columns(one))) for one in (pl.col("score"), lost))
    n_of_two = found.trials.sum(axis=0) - whole.trials.sum(axis=0)
    assert n_of_two.tolist()[:3] == [0, -1, 0]
    refused = attempts.frame.with_columns(lost, pl.when(is_lost).then(pl.lit("refused")).alias("outcome"))
    assert novice_counts(Attempts(refused)).trials.tolist() == whole.trials.tolist()  # a refusal is a wrong answer
