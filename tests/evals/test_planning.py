"""Plans: they agree with simulation, with the textbook, and with their own pilot."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from howsure.errors import InputError, OptionError
from howsure.evals.comparison import compare
from howsure.evals.planning import measure_pilot, power
from howsure.evals.simulator import simulate
from howsure.stats.power import PairedDesign
from howsure.stats.power import power as power_of
from howsure.tables import Attempts


def test_items_needed_agree_with_the_formula_for_many_items():
    made = power(effect=0.05, accuracy=0.7, correlation=0.5, share_between=1.0)
    a, b = 0.75 * 0.25, 0.7 * 0.3
    variance = a + b - 2 * 0.5 * np.sqrt(a * b)
    textbook = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 * variance / 0.05**2
    assert made.rows[0].items_needed == pytest.approx(textbook, rel=0.01)
    assert len({row.items_needed for row in made.rows}) == 1  # repeats do not help where answers never vary


def test_repeats_help_where_answers_vary():
    needed = [row.items_needed for row in power(effect=0.05, share_between=0.2).rows]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > 2 * needed[-1]


def test_items_at_hand_tell_what_they_can_show():
    made = power(effect=0.05, n_items=400)
    assert made.rows[0].power < 0.8
    again = power(effect=made.rows[0].detectable, n_items=400)
    assert again.rows[0].detectable == pytest.approx(made.rows[0].detectable, rel=0.05)


def test_a_pilot_finds_the_variances():
    world = simulate(abilities={"a": 0.3, "b": 0.0}, n_families=200, n_tasks=2, n_attempts=6, seed=1)
    found = measure_pilot(world.attempts, "a", "b").point
    chances = {}
    for subject, ability in (("a", 0.3), ("b", 0.0)):
        difficulty = np.random.default_rng(0).normal(0, np.hypot(0.8, 1.0), 400_000)
        chances[subject] = 1 / (1 + np.exp(difficulty - ability))
    assert found.between == pytest.approx(np.var(chances["a"] - chances["b"]), abs=0.006)
    assert found.within_a == pytest.approx(np.mean(chances["a"] * (1 - chances["a"])), rel=0.05)


def test_a_pilot_needs_repeats_and_two_names():
    world = simulate(n_families=4)
    with pytest.raises(OptionError, match="has 4 subjects"):
        measure_pilot(world.attempts)
    with pytest.raises(InputError, match="No task was tried more than once"):
        measure_pilot(simulate(n_attempts=1).attempts, "amber-1", "amber-2")


def test_an_impossible_accuracy_is_told():
    with pytest.raises(OptionError, match="not between 0 and 1"):
        power(effect=0.4, accuracy=0.7)


@pytest.mark.evidence
def test_planned_power_is_what_simulation_finds():
    abilities = {"a": 0.45, "b": 0.0}
    big = simulate(abilities=abilities, n_families=4000, n_tasks=1, n_attempts=8, family_sd=0.0, seed=5)
    design = measure_pilot(big.attempts, "a", "b")
    effect = big.truth["a"] - big.truth["b"]
    planned = {row.attempts_per_item: row.power for row in power(design, effect=effect, n_items=120).rows}[2]
    seen = []
    for seed in range(200):
        world = simulate(abilities=abilities, n_families=60, n_tasks=1, n_attempts=2, family_sd=0.0, seed=seed)
        seen.append(compare(world.attempts, "a", "b").pairs[0].difference.low > 0)
    assert np.mean(seen) == pytest.approx(planned, abs=0.09)


def small_pilot(rng, n_items=24, epochs=2):
    """Right answers of two models whose chances differ little over items: nine tenths of the variance lie within items."""
    easy = rng.beta(1.5, 1.5, n_items)
    other = np.clip(easy + rng.normal(0, 0.155, n_items), 0.02, 0.98)
    won = [rng.random((n_items, epochs)) < chance[:, None] for chance in (easy, other)]
    subject, item, attempt = (index.ravel() for index in np.indices((2, n_items, epochs)))
    columns = {"subject": np.array(["a", "b"])[subject], "task": item.astype(str), "attempt": attempt + 1}
    return Attempts(pl.DataFrame(columns | {"score": np.array(won).ravel().astype(float)}), fill={"kind": "model"})


TRUE_VARIANCES = PairedDesign(0.0207, 0.1874, 0.1738)  # of `small_pilot`, from 400,000 items


def test_a_small_pilot_says_how_little_it_knows_of_the_split():
    pilots = [measure_pilot(small_pilot(np.random.default_rng(seed))) for seed in range(40)]
    assert np.mean([one.point.between == 0 for one in pilots]) > 0.2
    shares = [one.share_within() for one in pilots]
    truth = (0.1874 + 0.1738) / (0.0207 + 0.1874 + 0.1738)
    assert np.mean([share.covers(truth) for share in shares]) >= 0.9
    assert np.mean([one.between().covers(0.0207) for one in pilots]) >= 0.9


def test_plans_from_small_pilots_reach_the_power_they_state():
    reached = {"pilot": [], "point": []}
    for seed in range(40):
        found = measure_pilot(small_pilot(np.random.default_rng(seed)))
        for name, variances in (("pilot", found), ("point", found.point)):
            needed = power(variances, effect=0.1, assurance=None).rows[-1].items_needed
            reached[name].append(power_of(0.1, needed, replace(TRUE_VARIANCES, epochs_a=16, epochs_b=16)))
    assert 0.78 <= np.mean(reached["pilot"]) <= 0.92
    assert np.mean(np.array(reached["pilot"]) < 0.7) < 0.5 * np.mean(np.array(reached["point"]) < 0.7)


def test_a_plan_prints_all_that_it_assumes():
    told = " ".join(power(small_pilot(np.random.default_rng(1)), effect=0.1).assumptions)
    assert "within-item share of one attempt's variance" in told
    assert "the plan reaches its power with 90% confidence" in told
    told = " ".join(power(small_pilot(np.random.default_rng(1)), effect=0.1, assurance=None).assumptions)
    assert "power is averaged over their uncertainty" in told
    told = " ".join(power(effect=0.1).assumptions)
    assert "accuracy of the weaker model 0.7, correlation of the models over items 0.5" in told


def test_what_a_pilots_items_detect_is_what_they_need():
    found = measure_pilot(small_pilot(np.random.default_rng(1)))
    row = power(found, effect=0.1, n_items=80).rows[2]
    again = power(found, effect=row.detectable, n_items=80).rows[2]
    assert again.power == pytest.approx(0.8, abs=0.01)
    assert abs(again.items_needed - 80) <= 1


def test_plans_with_assurance_reach_their_power_in_about_that_share_of_pilots():
    reached = {1: [], 16: []}
    for seed in range(60):
        plan = power(measure_pilot(small_pilot(np.random.default_rng(seed))), effect=0.1, assurance=0.9)
        for row in plan.rows:
            if row.attempts_per_item in reached:
                true = replace(TRUE_VARIANCES, epochs_a=row.attempts_per_item, epochs_b=row.attempts_per_item)
                reached[row.attempts_per_item].append(power_of(0.1, row.items_needed, true) >= 0.8)
    for hits in reached.values():
        assert 0.8 <= np.mean(hits) <= 0.99


def test_plans_count_tokens_and_money():
    pilot = small_pilot(np.random.default_rng(1))
    row = power(pilot, effect=0.1, tokens_per_item=2000, price=5).rows[0]
    assert row.tokens_needed == 2000 * row.attempts_needed
    assert row.cost_needed == pytest.approx(row.tokens_needed * 5 / 1e6)
    frame = Attempts.of(pilot).frame.with_columns(tokens=pl.lit(300.0), cost=pl.lit(0.02))
    row = power(Attempts(frame), effect=0.1).rows[0]
    assert (row.tokens_needed, row.cost_needed) == pytest.approx(
        (300 * row.attempts_needed, 0.02 * row.attempts_needed)
    )
    with pytest.raises(OptionError, match="assurance"):
        power(pilot, assurance=1.5)


def test_two_prompts_of_a_pilot_are_no_repeats():
    data = simulate(abilities={"A": 0.0, "B": 0.5}, n_families=4, n_attempts=2, seed=1).attempts.frame
    prompts = pl.when(pl.col("attempt") == 1).then(pl.lit("plain")).otherwise(pl.lit("cot"))
    with pytest.raises(InputError, match="No task was tried more than once"):
        power(data.with_columns(prompt=prompts))
    assert not power(data).provenance.notes
