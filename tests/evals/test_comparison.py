"""Paired differences: known answers, planted truth, states, corrections."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from howsure.errors import InputError, OptionError
from howsure.evals.comparison import compare
from howsure.evals.simulator import simulate
from howsure.tables import Attempts


def two(a, b, **more):
    """Subjects a and b with one score a task each."""
    n = len(a)
    columns = {
        "subject": ["a"] * n + ["b"] * n,
        "kind": ["model"] * 2 * n,
        "task": [f"t{i}" for i in range(n)] * 2,
        "attempt": [1] * 2 * n,
        "score": [float(x) for x in [*a, *b]],
    }
    return Attempts(pl.DataFrame(columns | more))


def test_single_answers_get_mcnemars_test():
    a = [1] * 12 + [0] * 3 + [1] * 10 + [0] * 5
    b = [0] * 12 + [1] * 3 + [1] * 10 + [0] * 5
    pair = compare(two(a, b)).pairs[0]
    assert pair.test == "McNemar"
    assert pair.p == pytest.approx(stats.binomtest(3, 15).pvalue)
    assert pair.difference.value == pytest.approx(9 / 30)


def test_the_interval_is_the_paired_t_interval():
    rng = np.random.default_rng(1)
    a, b = rng.random(25), rng.random(25)
    pair = compare(two(a, b)).pairs[0]
    oracle = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (pair.difference.low, pair.difference.high) == pytest.approx((oracle.low, oracle.high))
    assert pair.p_a_greater == pytest.approx(1 - stats.ttest_rel(a, b, alternative="greater").pvalue)
    assert pair.test == "sign flip"


def test_pairing_is_by_task_and_says_what_was_not_shared():
    table = two([1, 0, 1, 0], [0, 0, 1, 1], task=["w", "x", "y", "z", "x", "y", "z", "v"])
    pair = compare(table).pairs[0]
    assert (pair.n_items, pair.n_unshared) == (3, 2)
    assert pair.difference.value == pytest.approx(np.mean([0 - 0, 1 - 0, 0 - 1]))


def test_without_shared_tasks_the_means_are_compared_unpaired():
    table = two([1, 0, 1, 1], [0, 0, 1, 0], task=[f"t{i}" for i in range(8)])
    pair = compare(table).pairs[0]
    assert pair.test == "permutation, unpaired"
    assert pair.n_items == 0
    assert pair.difference.value == pytest.approx(0.5)


def test_a_single_common_item_is_a_pair_without_an_interval():
    (pair,) = compare(two([1], [0])).pairs
    assert (pair.difference.value, pair.difference.state) == (1.0, "too_few")
    assert (pair.n_items, pair.n_unshared, pair.p) == (1, 0, None)


def test_equal_answers_are_not_a_certain_zero():
    pair = compare(two([1, 0, 1, 0], [1, 0, 1, 0])).pairs[0]
    assert pair.difference.value == 0
    assert pair.difference.low < 0 < pair.difference.high
    assert pair.p == 1
    assert pair.p_a_greater == 0.5


def test_all_pairs_are_corrected_together():
    result = compare(simulate(n_families=6).attempts)
    assert len(result.pairs) == 6
    assert all(pair.p_adjusted >= pair.p for pair in result.pairs)
    raw = [pair.p for pair in result.pairs]
    loose = compare(simulate(n_families=6).attempts, correction="bh")
    oracle = stats.false_discovery_control(raw)
    assert [pair.p_adjusted for pair in loose.pairs] == pytest.approx(list(oracle))


def test_one_subject_against_all_others():
    pairs = compare(simulate(n_families=6).attempts, "cobalt-1").pairs
    assert {pair.a for pair in pairs} == {"cobalt-1"}
    assert {pair.b for pair in pairs} == {"amber-1", "amber-2", "basalt-1"}
    assert all(pair.difference.value > 0 for pair in pairs)


def test_same_seed_same_numbers():
    world = simulate(n_families=6)
    assert compare(world.attempts, seed=3).as_dict() == compare(world.attempts, seed=3).as_dict()


def test_share_of_uncertainty_from_repeats_shrinks_with_repeats():
    few = compare(simulate(n_attempts=2).attempts, "amber-1", "cobalt-1").pairs[0]
    many = compare(simulate(n_attempts=12).attempts, "amber-1", "cobalt-1").pairs[0]
    assert 0 < many.within_item_share.value < few.within_item_share.value <= 1
    for pair in (few, many):
        assert pair.within_item_share.low < pair.within_item_share.value <= pair.within_item_share.high <= 1


def test_share_from_repeats_takes_the_noise_of_each_eval_as_it_is():
    """A quiet eval that was run once is not as noisy as another that was repeated often."""
    rng = np.random.default_rng(2)
    rows = []
    for subject in "ab":
        for eval_, n_items, n_attempts, chance in (("noisy", 40, 8, 0.5), ("quiet", 40, 2, 0.02)):
            scores = rng.random((n_items, n_attempts)) < chance
            rows += [(subject, eval_, f"{eval_}-{i}", float(x)) for i, item in enumerate(scores) for x in item]
    frame = pl.DataFrame(rows, schema=["subject", "domain", "task", "score"], orient="row")
    by_hand = 0.0
    for _, own in frame.group_by("subject", "domain"):
        items = own.group_by("task").agg(pl.col("score").var(), n=pl.len())
        by_hand += items["score"].mean() / items["n"][0] / len(items) / 4
    pair = compare(Attempts(frame)).pairs[0]
    assert pair.within_item_share.low < 0.9
    assert pair.within_item_share.value == pytest.approx(min(1, by_hand / pair.se**2))
    once = frame.filter((pl.col("domain") == "noisy") | pl.struct("subject", "task").is_first_distinct())
    share = compare(Attempts(once)).pairs[0].within_item_share
    assert (share.value, share.state) == (None, "too_few")


def test_what_does_not_fit_is_told():
    table = two([1, 0], [0, 1])
    with pytest.raises(OptionError, match="No subject called 'c'"):
        compare(table, "c")
    with pytest.raises(OptionError, match="both 'a'"):
        compare(table, "a", "a")
    with pytest.raises(OptionError, match="No correction called 'bonferroni'"):
        compare(table, correction="bonferroni")
    with pytest.raises(InputError, match="only one subject"):
        compare(two([1], [0], subject=["a", "a"], task=["x", "y"]))


@pytest.mark.evidence
def test_differences_cover_the_planted_truth():
    hits = []
    for seed in range(120):
        world = simulate(seed=seed, n_families=15)
        pairs = compare(world.attempts, cluster="family").pairs
        hits += [pair.difference.covers(world.truth[pair.a] - world.truth[pair.b]) for pair in pairs]
    assert 0.92 <= np.mean(hits) <= 0.98


def test_without_shared_tasks_families_count_in_the_test_as_in_the_interval():
    """Families that differ, and none better for one model: permuting single items would find a difference in a third of evals."""
    rng = np.random.default_rng(6)
    n_found = 0
    for _ in range(60):
        rows = [
            {
                "subject": model,
                "task": f"{model}{f}-{i}",
                "family": f"{model}{f}",
                "score": float(rng.random() < chance),
            }
            for model in "ab"
            for f, chance in enumerate(rng.beta(0.7, 0.7, 8))
            for i in range(8)
        ]
        pair = compare(pl.DataFrame(rows), cluster="family").pairs[0]
        assert pair.test == "t, unpaired"
        n_found += pair.p < 0.05
    assert n_found <= 8  # of 60, at 5 %: more in 1 of 500 runs


def test_evals_without_common_items_or_with_a_single_one_are_named():
    rng = np.random.default_rng(0)
    items = {"shared": "abcdefgh", "apart": "ijklmnop", "one": "q"}
    rows = [
        (model, f"{model}{item}" if eval_name == "apart" else item, eval_name, float(rng.random() < 0.6))
        for eval_name, names in items.items()
        for item in names
        for model in ("A", "B")
    ]
    data = pl.DataFrame(rows, schema=["subject", "task", "domain", "score"], orient="row")
    found = compare(data)
    (pair,) = found.pairs
    assert pair.estimand == "mean of 2 evals' means of item means"
    told = " ".join(found.provenance.notes)
    assert "apart is excluded" in told
    assert "1 eval has a single cluster (one)" in told
    assert pair.difference.state == "too_few"
    whole = compare(data.filter(pl.col("domain") != "one"))
    assert whole.pairs[0].difference.low is not None
    assert "single cluster" not in " ".join(whole.provenance.notes)


def test_an_interval_and_a_test_that_disagree_about_0_are_told():
    flips = [(1, 0)] * 7 + [(0, 1)] + [(i % 2, i % 2) for i in range(42)]
    rows = [{"subject": s, "task": f"t{i}", "score": score} for i, pair in enumerate(flips) for s, score in zip("ab", pair, strict=True)]  # fmt: skip
    found = compare(pl.DataFrame(rows))
    assert found.pairs[0].difference.low > 0
    assert found.pairs[0].p == pytest.approx(0.0703125)
    (note,) = found.provenance.notes
    assert note.startswith("Interval and test disagree about 0: a − b (0.12 [0.01, 0.23], p = 0.070 by McNemar).")
    assert compare(pl.DataFrame(rows), level=0.9).provenance.notes == ()
