"""The share of 95 % intervals of `howsure bridge judged` that contain the true horizon, over success rates, judges and shares of labels.

A row is called sensitivity/specificity, labelled share, success rate. The goal is 0.93 to 0.97 within two Monte Carlo errors.
"""

from __future__ import annotations

import math

import numpy as np

from howsure.bridges.judge_correction import correct, judged_horizons
from howsure.bridges.simulator import JudgedSimulation, true_horizon
from howsure.estimates import Estimate

__all__ = ["measure"]

_RATES = {f"rate-{rate}": rate for rate in (0.1, 0.3, 0.5, 0.7, 0.9)}


def measure(n_simulations: int = 40, n_replicates: int = 100) -> dict[str, float]:
    """The share of intervals that contain the true horizon, by judge, share of labels and success rate, and the error of each."""
    shares: dict[str, float] = {}
    for sensitivity, specificity in ((0.7, 0.9), (0.85, 0.85), (0.95, 0.75)):
        for labelled in (0.05, 0.15, 0.3):
            world = JudgedSimulation(rates=_RATES, sensitivity=sensitivity, specificity=specificity, labelled=labelled)
            found = [_horizons(world, seed, n_replicates) for seed in range(n_simulations)]
            hits = np.array([[one[m].covers(true_horizon(r)) for m, r in _RATES.items()] for one in found])
            name = f"{sensitivity}/{specificity}, {labelled:.0%} labelled"
            shares |= {
                f"{name}, rate {rate}": float(hit.mean()) for rate, hit in zip(_RATES.values(), hits.T, strict=True)
            }
            shares[f"{name}, all"] = float(hits.mean())
            shares[f"{name}, Monte Carlo error of all"] = float(hits.mean(axis=1).std(ddof=1)) / math.sqrt(len(hits))
    return shares


def _horizons(world: JudgedSimulation, seed: int, n_replicates: int) -> dict[str, Estimate]:
    verdicts, labels, novices = world.draw(seed)
    found = judged_horizons(correct(verdicts, labels), novices, n_replicates=n_replicates, seed=seed)
    return {row.model: row.horizon for row in found.rows}
