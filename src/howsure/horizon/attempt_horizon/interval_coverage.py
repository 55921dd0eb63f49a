"""Simulated studies that show how often the intervals of horizons in attempts contain the true value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from howsure.estimates import Estimate
from howsure.horizon.attempt_horizon.horizons import attempt_horizons
from howsure.horizon.simulator import draw_suite, simulate

__all__ = ["draw_attempt_horizons"]

_HORIZONS = {"one": 1.5, "two": 3.0, "three": 6.0}


def _attempt_horizons(design: Mapping[str, Any], level: float, seed: int) -> dict[str, list[tuple[Estimate, float]]]:
    """One study: the horizons of three models that are as good as novices on attempts 1.5, 3 and 6."""
    drawn = simulate(
        draw_suite(design["n_tasks"], kind=design["suite"], seed=seed),
        true_horizons=_HORIZONS,
        n_learners=design["n_learners"],
        seed=seed,
    )
    found = attempt_horizons(
        drawn.attempts, definitions=("matching",), success_rates=(0.5,), n_replicates=400, level=level, seed=seed
    )
    return {"attempts": [(row.horizon, _HORIZONS[row.model]) for row in found.rows]}


draw_attempt_horizons = (
    _attempt_horizons,
    [
        {"suite": suite, "n_tasks": n_tasks, "n_learners": n_learners}
        for suite in ("easy", "mixed", "hard")
        for n_tasks, n_learners in ((40, 20), (100, 50))
    ],
)
