"""The share of 95 % intervals of `howsure bridge judged` that contain the true success rate and horizon, over rates, judges and shares of labels.

A judge may be a monitor for cheating. A row is called sensitivity/specificity, labelled share, success rate. The goal is 0.93 to 0.97 within two Monte Carlo errors.
Horizons need replicates and take most of the time: `N_HORIZONS` data sets of each cell have one, `N_RATES` have a success rate.
"""

from __future__ import annotations

import math

import numpy as np

from howsure.bridges.judge_correction import correct, judged_horizons
from howsure.bridges.simulator import JudgedSimulation, true_horizon
from howsure.stats._arrays import Floats

__all__ = ["N_HORIZONS", "N_RATES", "measure"]

N_HORIZONS, N_RATES = 40, 100
_RATES = {f"rate-{rate}": rate for rate in (0.1, 0.3, 0.5, 0.7, 0.9)}
_QUANTITIES = ("success, PPI++", "success, Rogan-Gladen", "horizon")


def measure(n_horizons: int = N_HORIZONS, n_rates: int = N_RATES, n_replicates: int = 100) -> dict[str, float]:
    """The share of intervals that contain the true value, by estimate, judge, share of labels and success rate, and the error of each."""
    shares: dict[str, float] = {}
    every: dict[str, list[Floats]] = {name: [] for name in _QUANTITIES}
    for sensitivity, specificity in ((0.7, 0.9), (0.85, 0.85), (0.95, 0.75)):
        for labelled in (0.05, 0.15, 0.3):
            world = JudgedSimulation(rates=_RATES, sensitivity=sensitivity, specificity=specificity, labelled=labelled)
            hits: dict[str, list[list[bool]]] = {name: [] for name in _QUANTITIES}
            for seed in range(max(n_rates, n_horizons)):
                verdicts, labels, novices = world.draw(seed)
                found = correct(verdicts, labels)
                for name, of in zip(_QUANTITIES, ("powered", "corrected"), strict=False):
                    hits[name].append([getattr(row, of).covers(_RATES[row.model]) for row in found.rows])
                if seed < n_horizons:
                    horizons = judged_horizons(found, novices, n_replicates=n_replicates, seed=seed).rows
                    by_model = {row.model: row.horizon for row in horizons}
                    hits["horizon"].append([by_model[m].covers(true_horizon(r)) for m, r in _RATES.items()])
            for name, rows in hits.items():
                every[name].append(np.array(rows, dtype=np.float64))
                shares |= _shares(f"{name}: {sensitivity}/{specificity}, {labelled:.0%} labelled", every[name][-1])
    for name, cells in every.items():
        # the cells have the same tasks and novices by seed, so their mean is one observation
        shares |= _shares(f"{name}: all judges and labels", np.mean(cells, axis=0))
    return shares


def _shares(name: str, hits: Floats) -> dict[str, float]:
    """By success rate and over all, with the Monte Carlo error of the latter."""
    if not len(hits):
        return {}
    by_rate = {f"{name}, rate {rate}": float(hit.mean()) for rate, hit in zip(_RATES.values(), hits.T, strict=True)}
    error = float(hits.mean(axis=1).std(ddof=1)) / math.sqrt(len(hits))
    return {**by_rate, f"{name}, all": float(hits.mean()), f"{name}, error of all": error}
