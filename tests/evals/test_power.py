"""Plans: they agree with simulation, with the textbook, and with their own pilot."""

import numpy as np
import pytest
from scipy import stats

from howsure.errors import InputError, OptionError
from howsure.evals.compare import compare
from howsure.evals.power import pilot, plan
from howsure.evals.simulate import simulate


def test_items_needed_agree_with_the_formula_for_many_items():
    made = plan(0.05, accuracy=0.7, correlation=0.5, share_between=1.0)
    a, b = 0.75 * 0.25, 0.7 * 0.3
    variance = a + b - 2 * 0.5 * np.sqrt(a * b)
    textbook = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 * variance / 0.05**2
    assert made.rows[0].items_needed == pytest.approx(textbook, rel=0.01)
    assert len({row.items_needed for row in made.rows}) == 1  # repeats do not help where answers never vary


def test_repeats_help_where_answers_vary():
    needed = [row.items_needed for row in plan(0.05, share_between=0.2).rows]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > 2 * needed[-1]


def test_items_at_hand_tell_what_they_can_show():
    made = plan(0.05, n_items=400)
    assert made.rows[0].power < 0.8
    again = plan(made.rows[0].detectable, n_items=400)
    assert again.rows[0].detectable == pytest.approx(made.rows[0].detectable, rel=0.05)


def test_a_pilot_finds_the_variances():
    world = simulate(abilities={"a": 0.3, "b": 0.0}, n_families=200, n_tasks=2, n_attempts=6, seed=1)
    found = pilot(world.attempts, "a", "b")
    chances = {}
    for subject, ability in (("a", 0.3), ("b", 0.0)):
        difficulty = np.random.default_rng(0).normal(0, np.hypot(0.8, 1.0), 400_000)
        chances[subject] = 1 / (1 + np.exp(difficulty - ability))
    assert found.between == pytest.approx(np.var(chances["a"] - chances["b"]), abs=0.006)
    assert found.within_a == pytest.approx(np.mean(chances["a"] * (1 - chances["a"])), rel=0.05)


def test_a_pilot_needs_repeats_and_two_names():
    world = simulate(n_families=4)
    with pytest.raises(OptionError, match="4 subjects"):
        pilot(world.attempts)
    with pytest.raises(InputError, match="No task was tried more than once"):
        pilot(simulate(n_attempts=1).attempts, "amber-1", "amber-2")


def test_an_impossible_accuracy_is_told():
    with pytest.raises(OptionError, match="not between 0 and 1"):
        plan(0.4, accuracy=0.7)


@pytest.mark.heavy
def test_planned_power_is_what_simulation_finds():
    abilities = {"a": 0.45, "b": 0.0}
    big = simulate(abilities=abilities, n_families=4000, n_tasks=1, n_attempts=8, family_sd=0.0, seed=5)
    comparison = pilot(big.attempts, "a", "b")
    effect = big.truth["a"] - big.truth["b"]
    planned = {row.epochs: row.power for row in plan(effect, comparison=comparison, n_items=120).rows}[2]
    seen = []
    for seed in range(400):
        world = simulate(abilities=abilities, n_families=60, n_tasks=1, n_attempts=2, family_sd=0.0, seed=seed)
        seen.append(compare(world.attempts, "a", "b").pairs[0].difference.low > 0)
    assert np.mean(seen) == pytest.approx(planned, abs=0.07)
