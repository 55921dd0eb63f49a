"""One estimand for means and differences: the mean of item means, evals counting equally; and what is one cluster."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from howsure.evals.comparison import compare
from howsure.evals.summaries import summary
from howsure.stats.means import mean, paired_difference
from howsure.tables import Attempts


def attempts(rows, **columns):
    """Rows of subject, domain, task, score; attempts are numbered as they come."""
    frame = pl.DataFrame(rows, schema=["subject", "domain", "task", "score"], orient="row")
    number = pl.int_range(1, pl.len() + 1).over("subject", "task")
    more = [pl.Series(name, values) for name, values in columns.items()]
    return Attempts(
        frame.with_columns(attempt=number, kind=pl.lit("model"), score=pl.col("score").cast(float)).with_columns(more)
    )


def uneven(seed=0, subjects=("a", "b")):
    """Two evals of different length; epochs differ by eval, by item and by subject."""
    rng = np.random.default_rng(seed)
    rows = []
    for domain, n_items, epochs in (("long", 30, 1), ("short", 8, 4)):
        for i in range(n_items):
            chance = rng.random()
            for subject in subjects:
                n = epochs + int(rng.integers(3))
                rows += [(subject, domain, f"{domain}/{i}", float(x)) for x in rng.random(n) < chance]
    return rows


def value(means, subject, task="all"):
    return next(row.mean.value for row in means.rows if (row.subject, row.task) == (subject, task))


@pytest.mark.parametrize("cluster", ["task", "domain"])
def test_summary_and_compare_speak_of_the_same_quantity(cluster):
    table = attempts(uneven())
    means = summary(table, cluster=cluster)
    for by, tasks in (("all", ["all"]), ("domain", ["long", "short"])):
        pairs = {pair.task: pair for pair in compare(table, "a", "b", by=by, cluster=cluster).pairs}
        for task in tasks:
            difference = value(means, "a", task) - value(means, "b", task)
            assert pairs[task].difference.value == pytest.approx(difference, abs=1e-12)
            assert pairs[task].estimand == next(row.estimand for row in means.rows if row.task == task)


def test_items_count_once_and_evals_count_once():
    table = attempts(uneven())
    frame = table.frame.group_by("subject", "domain", "task").agg(pl.col("score").mean())
    by_eval = (
        frame.group_by("subject", "domain").agg(pl.col("score").mean()).group_by("subject").agg(pl.col("score").mean())
    )
    means = summary(table)
    for subject, expected in by_eval.rows():
        assert value(means, subject) == pytest.approx(expected, abs=1e-12)
    assert summary(table, by="all", cluster="none").rows[0].mean.value == pytest.approx(value(means, "a"), abs=1e-12)
    assert means.rows[0].estimand == "mean of 2 evals' means of item means"
    assert "estimand" in means.to_frame().columns


def test_only_evals_that_all_subjects_tried_count_and_the_others_are_named():
    rows = uneven(subjects=("a", "b", "c"))
    table = attempts([row for row in rows if not (row[0] == "c" and row[1] == "short")])
    means = summary(table)
    assert value(means, "a") == value(means, "a", "long")
    assert any(
        "1 eval is excluded, because not tried by all 3 subjects (but by all except c): short." in note
        for note in means.provenance.notes
    )
    three = {(pair.a, pair.b): pair for pair in compare(table).pairs}
    assert three["a", "b"].difference.value == pytest.approx(value(means, "a") - value(means, "b"), abs=1e-12)
    two = compare(table, "a", "b").pairs[0]
    assert two.estimand == "mean of 2 evals' means of item means"


def test_without_a_shared_eval_there_is_no_overall_mean():
    table = attempts([("a", "x", "x/1", 1), ("a", "x", "x/2", 0), ("b", "y", "y/1", 1), ("b", "y", "y/2", 0)])
    row = next(row for row in summary(table).rows if row.task == "all")
    assert row.mean.state == "undefined"
    assert compare(table).pairs[0].difference.state == "undefined"


def test_items_that_not_all_tried_are_counted():
    rows = [row for row in uneven() if row[0] == "a" or row[2] != "long/3"]
    notes = summary(attempts(rows)).provenance.notes
    assert any("1 of 38 items were not tried by both subjects" in note for note in notes)


def test_the_same_questions_under_two_configurations_are_one_cluster():
    rows = [("a", f"qa ({c})", f"qa ({c})/{i}", (i * 7 + c) % 3 == 0) for c in (1, 2) for i in range(24)]
    digests = [f"d{i}" for _ in (1, 2) for i in range(24)]
    families = [f"f{i % 6}" for _ in (1, 2) for i in range(24)]
    table = attempts(rows, item_digest=digests, family=families)
    assert {row.n_clusters for row in summary(table, cluster="task").rows} == {24}
    assert {row.n_clusters for row in summary(table).rows} == {6}
    assert {row.n_clusters for row in summary(attempts(rows), by="all").rows} == {48}


def test_families_of_one_name_in_different_evals_are_different_clusters():
    rows = [("a", d, f"{d}/{i}", i % 2) for d in ("x", "y") for i in range(12)]
    table = attempts(rows, family=[f"f{i % 4}" for _ in "xy" for i in range(12)])
    assert [row.n_clusters for row in summary(table, by="all", cluster="family").rows] == [8]
    assert sorted(row.task for row in summary(table, by="family").rows) == sorted(
        f"{d}/f{i}" for d in "xy" for i in range(4)
    )


def test_a_stratified_mean_by_hand():
    # strata 0: 0, 1 (mean ½, variance ½, n 2); 1: 0, 0, 1 (mean ⅓, variance ⅓, n 3)
    found = mean([0, 1, 0, 0, 1], strata=[0, 0, 1, 1, 1])
    assert found.estimate.value == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found.se == pytest.approx(np.sqrt((1 / 2 / 2 + 1 / 3 / 3) / 4))


@pytest.mark.evidence
@pytest.mark.parametrize("is_crossed", [False, True])
def test_means_over_evals_cover_the_true_value(is_crossed):
    rng = np.random.default_rng(2)
    hits = []
    for _ in range(800):
        if is_crossed:  # one set of questions under two configurations
            chance = rng.random(24)
            scores = np.r_[rng.random(24) < chance, rng.random(24) < chance**2]
            cluster, stratum, truth = np.r_[:24, :24], np.repeat([0, 1], 24), 5 / 12
        else:
            stratum, cluster = (
                np.repeat([0, 1], [60, 20]),
                np.r_[rng.integers(15, size=60), 15 + rng.integers(10, size=20)],
            )
            chance = np.r_[rng.beta(2, 4, 15), rng.beta(4, 2, 10)]
            scores, truth = rng.random(80) < chance[cluster], 1 / 2
        hits.append(mean(scores, cluster, strata=stratum).estimate.covers(truth))
    assert np.mean(hits) == pytest.approx(0.95, abs=0.025)


def small_beside_large(n_small, *, right=1):
    """Model a is right on all 30 items of one eval, model b on 10; a is right on one item of a small eval, b on none."""
    rows = [(m, "large", f"large/{i}", int(m == "a" or i % 3 == 0)) for m in "ab" for i in range(30)]
    return rows + [(m, "small", f"small/{i}", int(m == "a" and i < right)) for m in "ab" for i in range(n_small)]


def test_an_eval_of_one_item_leaves_the_mean_over_evals_without_an_interval():
    table = attempts(small_beside_large(1))
    assert {row.mean.state for row in summary(table).rows if row.task in ("all", "small")} == {"too_few"}
    pair = compare(table).pairs[0]
    assert (pair.difference.state, pair.p, pair.p_a_greater) == ("too_few", None, None)
    assert pair.difference.reason == "1 cluster in 1 of 2 evals; an interval needs 2 in each"


def test_a_small_eval_without_variance_is_not_known_exactly():
    rows = {(row.subject, row.task): row.mean for row in summary(attempts(small_beside_large(2))).rows}
    for subject in "ab":
        own, overall = rows[subject, "small"], rows[subject, "all"]
        assert overall.high - overall.low > (own.high - own.low) / 2


@pytest.mark.parametrize("right", [0, 1, 2])
def test_interval_p_and_probability_of_several_evals_agree(right):
    table = attempts(small_beside_large(2, right=right))
    for level in (0.5, 0.8, 0.9, 0.95):
        pair = compare(table, level=level).pairs[0]
        assert (pair.p < 1 - level) == (not pair.difference.covers(0))
        assert pair.p == pytest.approx(2 * (1 - pair.p_a_greater))


@pytest.mark.parametrize(
    ("chance_a", "chance_b", "n"),
    [
        ((0.5, 0.9), None, (100, 5)),
        ((0.9, 0.9), None, (100, 10)),
        ((0.5, 0.95), None, (200, 20)),
        ((0.7, 0.9), (0.7, 1.0), (100, 5)),
        ((0.9, 0.95), (0.9, 1.0), (100, 10)),
    ],
)
def test_small_evals_beside_large_ones_cover_the_true_value(chance_a, chance_b, n):
    rng, strata, hits = np.random.default_rng(4), np.repeat([0, 1], n), []
    for _ in range(400):
        a = (rng.random(sum(n)) < np.repeat(chance_a, n)).astype(float)
        if chance_b is None:
            hits.append(mean(a, strata=strata).estimate.covers(np.mean(chance_a)))
        else:
            b = (rng.random(sum(n)) < np.repeat(chance_b, n)).astype(float)
            truth = np.mean(chance_a) - np.mean(chance_b)
            hits.append(paired_difference(a, b, strata=strata).estimate.covers(truth))
    assert np.mean(hits) >= 0.93


def test_tasks_in_two_domains_and_tasks_without_one_are_noted():
    rows = [("a", domain, f"t{i}", i % 2) for domain in ("x", "y") for i in range(3)]
    notes = summary(attempts([*rows, ("a", None, "u", 1), ("a", None, "v", 0)])).provenance.notes
    assert any("3 tasks are in several domains, and count as a different item in each: t0, t1, t2." in n for n in notes)
    assert any("2 tasks are without a domain, and count as one eval called (none)" in note for note in notes)


def test_rows_of_counts_give_what_single_rows_give():
    single = pl.DataFrame(
        {
            "subject": ["a"] * 9 + ["b"] * 8,
            "task": ["t"] * 4 + ["u"] * 5 + ["t"] * 2 + ["u"] * 6,
            "score": [1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0],
        }
    )
    counts = single.group_by("subject", "task").agg(n=pl.len(), n_success=pl.col("score").sum())
    for cluster in ("task", "none"):
        for by in ("all", "task"):
            found, wanted = (
                summary(frame, cluster=cluster, by=by).to_frame() for frame in (counts.sort("subject", "task"), single)
            )
            assert_frame_equal(found, wanted)
    found, wanted = (compare(frame).to_frame() for frame in (counts, single))
    assert_frame_equal(found, wanted)
