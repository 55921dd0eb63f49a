"""pass@k and its like: unbiased, against enumeration; attempts without a score are filled before they are reduced."""

import itertools
import json

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.errors import InputError, OptionError
from howsure.evals.variants import best_of, majority_of, pass_all, pass_any, reduce_attempts
from howsure.tables import Attempts


def attempts(rows, **more):
    frame = pl.DataFrame(rows, schema=["subject", "task", "score"], orient="row").with_columns(**more)
    return Attempts(frame.with_columns(pl.col("score").cast(pl.Float64)))


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("c", range(6))
def test_each_is_the_mean_over_all_choices(c, k):
    scores = [1.0] * c + [0.0] * (5 - c)
    choices = [np.mean(chosen) for chosen in itertools.combinations(scores, k)]
    n, successes = np.array([5.0]), np.array([float(c)])
    assert pass_any(n, successes, k)[0] == pytest.approx(np.mean([m > 0 for m in choices]))
    assert pass_all(n, successes, k)[0] == pytest.approx(np.mean([m == 1 for m in choices]))
    assert majority_of(n, successes, k)[0] == pytest.approx(
        np.mean([1.0 if m > 0.5 else 0.5 if m == 0.5 else 0.0 for m in choices])
    )


def test_best_of_graded_scores_is_the_mean_over_all_choices():
    scores = np.array([0.2, 0.9, 0.4, 0.4, 0.7])
    for k in range(1, 6):
        assert best_of(scores, k) == pytest.approx(np.mean([max(c) for c in itertools.combinations(scores, k)]))


def test_many_attempts_do_not_overflow():
    assert pass_any(np.array([100_000.0]), np.array([10.0]), 1000)[0] == pytest.approx(1 - 0.99**10, abs=1e-3)


def test_intervals_over_items_contain_the_true_pass_at_k():
    rng = np.random.default_rng(1)
    truth = 1 - np.prod([(1.2 + i) / (0.6 + 1.2 + i) for i in range(3)])  # of a beta distribution
    hits = []
    for _ in range(100):
        rates = rng.beta(0.6, 1.2, 60)
        rows = [("m", f"t{i}", float(rng.random() < p)) for i, p in enumerate(rates) for _ in range(5)]
        found = howsure.summary(reduce_attempts(attempts(rows), "pass@3")).rows[0].mean
        hits.append(found.covers(truth))
    assert np.mean(hits) >= 0.9


def test_items_with_too_few_attempts_are_counted_and_left_out():
    table = attempts([("m", "a", 1), ("m", "a", 0), ("m", "b", 1)])
    found = reduce_attempts(table, "pass@2")
    assert len(found) == 1
    assert any("1 of 2 pairs" in note for note in found.notes)
    with pytest.raises(InputError, match="at least 3 attempts at an item; the most is 2"):
        reduce_attempts(table, "pass@3")


def test_what_does_not_fit_is_said():
    with pytest.raises(OptionError, match="No way to reduce attempts called 'pass'"):
        reduce_attempts(attempts([("m", "a", 1)]), "pass")
    with pytest.raises(InputError, match="choose best@2"):
        reduce_attempts(attempts([("m", "a", 0.5), ("m", "a", 1)]), "pass@2")


def test_counts_give_the_same_as_rows():
    rows = attempts([("m", "a", 1), ("m", "a", 0), ("m", "a", 1), ("m", "b", 0), ("m", "b", 0), ("m", "b", 0)])
    counts = Attempts(pl.DataFrame({"subject": ["m", "m"], "task": ["a", "b"], "n": [3, 3], "n_success": [2, 0]}))
    assert reduce_attempts(rows, "pass@2").frame["score"].to_list() == pytest.approx(
        reduce_attempts(counts, "pass@2").frame["score"].to_list()
    )


def test_attempts_without_a_score_are_filled_before_they_are_reduced():
    table = attempts([("m", "a", 1), ("m", "a", 0), ("m", "a", None), ("m", "b", 0), ("m", "b", 0), ("m", "b", 0)])
    by_policy = {row.policy: row for row in howsure.summary(reduce_attempts(table, "pass@2")).policies}
    assert by_policy["unscored=drop"].mean.value == pytest.approx((1 + 0) / 2)
    assert by_policy["unscored=wrong"].mean.value == pytest.approx((2 / 3 + 0) / 2)


def test_the_commands_say_what_scores_are_and_what_was_left_out(command, tmp_path):
    rows = [(model, f"q{i}", float((i + k) % 2), 2.0) for model in "AB" for i in range(6) for k in range(1 + (i < 5))]
    path = tmp_path / "a.csv"
    pl.DataFrame(rows, schema=["subject", "task", "score", "cost"], orient="row").write_csv(path)
    for verb in ("summary", "compare"):
        ended = command(verb, path, "--reduce", "pass@2", "--json")
        assert ended.returncode == 0, ended.stderr
        assert "Scores are pass@2 per item, from 2–2 attempts each; cost: of 2 attempts." in ended.stderr
        assert "2 of 12 pairs of model and item have fewer than 2 attempts" in ended.stderr
    # one of two attempts succeeds at every item, and two attempts cost 4
    assert {row["cost_per_success"] for row in json.loads(ended.stdout)["costs"]} == {4.0}
    left = command("summary", path, "--exclude", "model=B", "--json")
    assert [row["subject"] for row in json.loads(left.stdout)["summary"]] == ["A"]
