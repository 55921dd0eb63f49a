"""Transfer: planted effects are found, intervals cover, tasks of two skills show whether skills compose."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from howsure.errors import HowsureError
from howsure.horizon import measure_transfer

PLANTED = {("a", "b"): 0.5, ("b", "b"): 0.3}


def world(seed, n_learners=60, n_attempts=5, spread=0.8, skills=("a", "b", "c"), planted=None):
    """Tasks of each skill, met in an order drawn for each learner; practice helps as `planted` says, per doubling."""
    planted = PLANTED if planted is None else planted
    rng = np.random.default_rng(seed)
    tasks = [(f"{skill}{k}", skill) for skill in skills for k in range(3)]
    level = {task: rng.normal(-0.8, 0.6) for task, _ in tasks}
    rows = []
    for learner in range(n_learners):
        ability, made = rng.normal(0, spread), {}
        for position, place in enumerate(rng.permutation(len(tasks)), 1):
            task, skill = tasks[place]
            parts = skill.split("+")
            eta = (
                level[task]
                + ability
                + sum(
                    effect * np.log2(1 + made.get(one, 0)) for (one, goal), effect in planted.items() if goal == skill
                )
            )
            for attempt in range(1, n_attempts + 1):
                won = rng.random() < expit(eta + 0.4 * np.log2(attempt))
                rows.append((f"p{learner}", "human", task, attempt, float(won), skill, position))
            for one in parts:
                made[one] = made.get(one, 0) + n_attempts
    names = ["subject", "kind", "task", "attempt", "score", "domain", "position"]
    return pl.DataFrame(rows, schema=names, orient="row")


def effects(found):
    return {(row["practised"], row["task_skill"]): row for row in found.effects.rows(named=True)}


def test_planted_transfer_is_found_and_none_elsewhere():
    """Over 6 simulated studies; an interval of 95 % misses in about 1 of 20."""
    hits = {pair: 0 for one in "abc" for pair in [(one, goal) for goal in "abc"]}
    bias, own = {pair: [] for pair in hits}, 0
    for seed in range(6):
        found = measure_transfer(world(seed))
        for pair, row in effects(found).items():
            truth = PLANTED.get(pair, 0.0)
            hits[pair] += row["effect_low"] <= truth <= row["effect_high"]
            bias[pair].append(row["effect"] - truth)
        own += sum(row["own_effect_low"] <= 0.4 <= row["own_effect_high"] for row in found.own.rows(named=True))
    assert sum(hits.values()) / (9 * 6) > 0.85, hits
    assert own / 18 > 0.75
    assert np.abs([np.mean(one) for one in bias.values()]).max() < 0.15


def test_the_share_carried_is_the_ratio_of_the_effects():
    found = measure_transfer(world(3, n_learners=150))
    row, own = effects(found)["a", "b"], {one["task_skill"]: one["own_effect"] for one in found.own.rows(named=True)}
    assert row["share_carried"] == pytest.approx(row["effect"] / own["b"])
    assert row["share_carried_low"] < 0.5 / 0.4 < row["share_carried_high"]


def test_practice_that_was_not_recorded_counts_as_practice():
    rows = world(3, n_learners=150)
    rng = np.random.default_rng(0)
    lost = rows.filter((pl.col("attempt") == 5) | pl.Series(rng.random(len(rows)) > 0.3))
    for pair, row in effects(measure_transfer(lost)).items():
        assert row["effect"] == pytest.approx(effects(measure_transfer(rows))[pair]["effect"], abs=0.12)


def test_a_task_of_two_skills_gains_from_practice_at_its_parts():
    planted = {("a", "a+b"): 0.6}
    found = effects(measure_transfer(world(5, n_learners=120, skills=("a", "b", "a+b"), planted=planted)))
    assert found["a", "a + b"]["effect_low"] > 0
    assert found["b", "a + b"]["effect_low"] < 0.1


def test_an_order_that_is_the_same_for_all_tells_nothing():
    """Everybody meets a first and b afterwards: nobody meets b without practice of a, so its effect cannot be told from b's level."""
    rows = world(1, skills=("a", "b")).with_columns(position=pl.col("task").rank("dense"))
    found = effects(measure_transfer(rows))
    assert found["a", "b"]["effect"] is None
    assert found["a", "b"]["reason"] == "0 learners without such practice; an effect needs 5"


def test_what_is_missing_is_said():
    rows = world(1)
    with pytest.raises(HowsureError, match="'position'"):
        measure_transfer(rows.drop("position"))
    with pytest.raises(HowsureError, match="at least 10"):
        measure_transfer(rows.filter(pl.col("subject").is_in(["p1", "p2"])))
