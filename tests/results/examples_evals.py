"""Summary, comparison, power and coverage."""

import numpy as np

import howsure
from howsure.evals import (
    BankCoverage,
    Comparison,
    IntervalCoverage,
    ItemTable,
    Leaderboard,
    PowerPlan,
    Summary,
    simulate,
)

from .registry import example

ABILITIES = {"a": 0.5, "b": 0.0, "c": 0.1}


@example(Summary)
def summary():
    return howsure.summary(simulate(n_families=3, seed=1).attempts, cluster="family")


@example(Comparison)
def comparison():
    return howsure.compare(simulate(abilities=ABILITIES, n_families=3, n_attempts=2, seed=1).attempts, seed=1)


@example(PowerPlan)
def power():
    return howsure.power(
        simulate(n_families=3, seed=1).attempts, a="amber-1", b="cobalt-1", n_items=80, cluster="family"
    )


@example(IntervalCoverage)
def coverage():
    return howsure.coverage(n_simulations=3, seed=1)


@example(Leaderboard)
def leaderboard():
    return howsure.leaderboard(
        simulate(abilities=ABILITIES, n_families=3, n_attempts=2, seed=1).attempts, n_replicates=200, seed=1
    )


@example(ItemTable)
def items():
    abilities = {name: number / 3 for number, name in enumerate("abcdef")}
    return howsure.items(simulate(abilities=abilities, n_families=3, n_attempts=2, seed=1).attempts)


@example(BankCoverage)
def bank_coverage():
    from howsure.evals.real_banks import Bank, bank_coverage

    rates = np.linspace(0.02, 0.9, 24).reshape(3, 8)
    return bank_coverage([Bank("bank", ("a", "b", "c"), rates)], n_simulations=3, level=0.95, seed=0)
