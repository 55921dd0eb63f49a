"""Summary, comparison, gate, power and coverage."""

import numpy as np

import howsure
from howsure.evals import (
    BankCoverage,
    Comparison,
    GateCoverage,
    GateDecision,
    GateHistory,
    IntervalCoverage,
    ItemTable,
    Leaderboard,
    LogOverview,
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


@example(LogOverview)
def overview():
    return howsure.overview(simulate(abilities=ABILITIES, n_families=3, n_attempts=2, seed=1).attempts, seed=1)


@example(ItemTable)
def items():
    abilities = {name: number / 3 for number, name in enumerate("abcdef")}
    return howsure.items(simulate(abilities=abilities, n_families=3, n_attempts=2, seed=1).attempts)


@example(BankCoverage)
def bank_coverage():
    from howsure.evals.real_banks import Bank, bank_coverage

    rates = np.linspace(0.02, 0.9, 24).reshape(3, 8)
    return bank_coverage([Bank("bank", ("a", "b", "c"), rates)], n_simulations=3, level=0.95, seed=0)


@example(GateDecision)
def gate():
    attempts = simulate(abilities=ABILITIES, n_families=3, n_attempts=2, seed=1).attempts
    return howsure.gate(
        howsure.evals.select(attempts, only=["model=b"]), howsure.evals.select(attempts, only=["model=c"]), margin=0.1
    )


@example(GateHistory)
def history():
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        for commit in ("a1", "b2"):
            howsure.evals.append_history(
                Path(folder) / "h.jsonl", gate(), commit=commit, time="2026-01-31T12:00:00+00:00"
            )
        return howsure.evals.read_history(Path(folder) / "h.jsonl")


@example(GateCoverage)
def gate_coverage():
    return howsure.evals.gate_coverage(n_simulations=20, designs=[(30, 1)], seed=1)
