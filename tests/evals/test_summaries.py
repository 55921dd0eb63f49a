"""Means with intervals: known answers, planted truth, and what cannot be defined."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from howsure.errors import OptionError
from howsure.evals.simulator import simulate
from howsure.evals.summaries import summary
from howsure.tables import Attempts


def attempts(**columns):
    n = len(columns["score"])
    base = {"subject": ["m"] * n, "kind": ["model"] * n, "task": [f"t{i}" for i in range(n)], "attempt": [1] * n}
    return Attempts(pl.DataFrame(base | columns))


def test_one_answer_a_task_gives_wilsons_interval():
    found = summary(attempts(score=[1.0] * 7 + [0.0] * 3)).rows[0]
    assert found.mean.value == 0.7
    oracle = stats.binomtest(7, 10).proportion_ci(0.95, method="wilson")
    assert (found.mean.low, found.mean.high) == pytest.approx((oracle.low, oracle.high))
    assert (found.n, found.n_clusters, found.design_effect) == (10, 10, pytest.approx(1))


def test_repeats_of_a_task_count_as_one_cluster():
    table = attempts(score=[1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0], task=list("aabbccdd"), attempt=[1, 2] * 4)
    clustered, alone = summary(table).rows[0], summary(table, cluster="none").rows[0]
    assert (clustered.n_clusters, alone.n_clusters) == (4, 8)
    # by hand: four clusters of two equal scores, G/(G−1)·Σ(2·(x−½))²/64 = 4/3·4/64
    assert clustered.se == pytest.approx(np.sqrt(4 / 3 * 4 / 64))
    assert clustered.mean.width > alone.mean.width


def test_one_cluster_is_too_few_and_says_so():
    found = summary(attempts(score=[1.0, 0.0], task=["a", "a"], attempt=[1, 2])).rows[0]
    assert found.mean.state == "too_few"
    assert found.mean.value == 0.5
    assert found.mean.low is None


def test_all_right_is_not_certainty():
    found = summary(attempts(score=[1.0] * 20)).rows[0].mean
    assert found.high == pytest.approx(1)
    assert 0.8 < found.low < 0.9


def test_domains_get_a_row_each_and_one_over_all():
    world = simulate(n_families=4)
    rows = summary(world.attempts).rows
    assert [row.task for row in rows if row.subject == "amber-1"] == ["all", "arithmetic", "reading"]
    assert {row.task for row in summary(world.attempts, by="all").rows} == {"all"}
    n_by_task = {row.n for row in summary(world.attempts, by="task").rows}
    assert n_by_task == {3}


def test_a_row_without_family_is_its_own_cluster():
    table = attempts(score=[1.0, 0.0, 1.0, 0.0], family=["f", "f", None, None])
    assert summary(table, cluster="family").rows[0].n_clusters == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"by": "famly"}, "No grouping called 'famly'. Did you mean 'family'?"),
        ({"cluster": "subject"}, "No cluster called 'subject'"),
        ({"cluster": "family"}, "These attempts have no column 'family'"),
        ({"by": "domain"}, "These attempts have no column 'domain'"),
    ],
)
def test_what_is_not_there_is_told(options, told):
    with pytest.raises(OptionError, match=told.replace("(", r"\(")):
        summary(attempts(score=[1.0, 0.0]), **options)


def test_the_result_is_saved_whole(tmp_path):
    result = summary(simulate(n_families=5).attempts)
    written = result.save(tmp_path)
    assert [path.name for path in written] == ["summary.csv", "summary.json", "summary.result.zip"]
    kept = pl.read_csv(tmp_path / "summary.csv")
    assert " ".join(kept.columns[:8]) == "subject task mean mean_low mean_high mean_state n n_clusters"
    assert len(kept) == len(result.rows)


@pytest.mark.evidence
def test_intervals_cover_the_planted_truth():
    hits = [
        row.mean.covers(world.truth[row.subject])
        for seed in range(150)
        for world in [simulate(seed=seed, n_families=15)]
        for row in summary(world.attempts, by="all", cluster="family").rows
    ]
    assert 0.92 <= np.mean(hits) <= 0.98


def test_counting_repeats_as_independent_covers_too_rarely():
    worlds = [simulate(seed=seed, n_families=15) for seed in range(40)]
    hits = [
        row.mean.covers(world.truth[row.subject])
        for world in worlds
        for row in summary(world.attempts, by="all", cluster="none").rows
    ]
    assert np.mean(hits) < 0.9


def test_two_prompts_of_one_model_count_once_each_and_the_estimand_says_so():
    rows = [("m", prompt, f"q{i}", float(i % 2)) for prompt in ("plain", "cot") for i in range(6)]
    frame = pl.DataFrame(rows, schema=["subject", "prompt", "task", "score"], orient="row")
    assert summary(frame).rows[0].estimand == "mean of item means, for exactly these 2 prompts"
    assert "exactly" not in summary(frame.drop("prompt").unique()).rows[0].estimand
