"""How often the intervals of attempt horizons contain the true value: simulated studies in which learners see part of the tasks, or leave when they can do them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from howsure.estimates import Estimate
from howsure.horizon.attempt_horizon.definitions import DEFINITIONS
from howsure.horizon.attempt_horizon.estimator import HorizonEstimator
from howsure.horizon.learning_curves.learning_model import complete_novices
from howsure.horizon.simulator import draw_suite, simulate

__all__ = ["DESIGNS", "TRUE_HORIZONS", "draw_attempt_horizons", "simulate_study"]

TRUE_HORIZONS: Mapping[str, float] = {"1.5": 1.5, "3": 3.0, "6": 6.0}
"""Models that behave like novices on these attempts."""

DESIGNS: Sequence[Mapping[str, Any]] = (
    {"n_learners": 50, "n_tasks": 100},
    {"n_learners": 25, "n_tasks": 40},
    {"n_learners": 25, "n_tasks": 40, "tasks_per_learner": 8},
    {"n_learners": 25, "n_tasks": 40, "mastery": 3},
    {"n_learners": 25, "n_tasks": 40, "mastery": 2},
    {"n_learners": 25, "n_tasks": 40, "mastery": 1},
    {"n_learners": 25, "n_tasks": 40, "tasks_per_learner": 8, "mastery": 3},
)
"""Studies of 10 attempts: everybody at all tasks, tasks dealt out, and learners who leave a task after so many successes in a row."""

_N_REPLICATES = 200
_HALF = np.array([0.5])


def simulate_study(
    design: Mapping[str, Any], level: float, seed: int, *, definitions: Sequence[str] = DEFINITIONS
) -> dict[str, list[tuple[Estimate, float]]]:
    """The horizons that one simulated study estimates, each with its true value, by definition and true value.

    Parameters
    ----------
    design : mapping
        ``n_tasks``, and what `howsure.horizon.simulator.simulate` takes: n_learners, tasks_per_learner, mastery, sameness, ….
    level : float
        Nominal coverage, between 0 and 1.
    seed : int
        Of the study.
    definitions : sequence of str
        Any of ``matching``, ``regression`` and ``irt``.
    """
    chosen = dict(design)
    suite = draw_suite(chosen.pop("n_tasks"), kind=chosen.pop("suite", "mixed"), seed=seed)
    counts = simulate(suite, true_horizons=TRUE_HORIZONS, seed=seed, **chosen).counts
    completion = complete_novices(counts.novices)
    if completion:
        counts = replace(counts, novices=completion.table)
    estimator = HorizonEstimator(counts, tuple(definitions), _HALF, completion)
    drawn = estimator.replicates(_N_REPLICATES, seed=seed)
    return {
        f"{name}, true value {truth:g}": [(estimator.horizon(drawn, row, place, 0, level), truth)]
        for place, name in enumerate(definitions)
        for row, truth in enumerate(TRUE_HORIZONS.values())
    }


draw_attempt_horizons = (simulate_study, DESIGNS)
"""What a coverage table needs: the simulation of one study, and the designs."""
