"""How often `howsure stitch check` has a score that was raised by 0.20 among the first five, in simulated tables as sparse as Epoch's of November 2025.

The oracle knows the true curves and the noise of each benchmark.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from howsure.stitch.scale import fit
from howsure.stitch.sensitivity.inspection import surprises
from howsure.stitch.simulator import SimulatedScores, simulate
from howsure.tables import Scores

RAISED, FIRST = 0.2, 5


def measure(n_simulations: int = 60) -> dict[str, float]:
    """Shares of tables, with their Monte Carlo standard errors."""
    found: dict[str, list[bool]] = {"check": [], "oracle": []}
    for seed in range(n_simulations):
        world = simulate(n_models=179, n_benchmarks=38, density=0.195, seed=1000 + seed)
        rows = world.scores.frame.with_row_index()
        at = rows.filter(pl.col("score") <= 1 - RAISED).sample(1, seed=seed)["index"].item()
        rows = rows.with_columns(pl.col("score") + pl.when(pl.col("index") == at).then(RAISED).otherwise(0.0))
        cell = rows.row(at, named=True)
        listed = surprises(fit(Scores(rows.drop("index")), min_benchmarks=1)).residuals.head(FIRST)
        found["check"].append(not listed.filter(model=cell["model"], benchmark=cell["benchmark"]).is_empty())
        found["oracle"].append(at in np.argsort(-np.abs(_true_z(world, rows["score"].to_numpy())))[:FIRST])
    told = {f"{name} among the first {FIRST}": float(np.mean(is_first)) for name, is_first in found.items()}
    return told | {f"{name}, standard error": (p * (1 - p) / n_simulations) ** 0.5 for name, p in told.items()}


def _true_z(world: SimulatedScores, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each score's distance from its true expectation, in true standard deviations."""
    rows = world.scores.frame.select("model", "benchmark").join(world.models, on="model", maintain_order="left")
    rows = rows.join(world.benchmarks, on="benchmark", maintain_order="left")
    share = expit(rows["slope"] * (rows["capability"] - rows["difficulty"]))
    span = 1 - rows["floor"].to_numpy()
    sd = span * 2 * np.sqrt(share * (1 - share)) * rows["noise_sd"].to_numpy()
    z: NDArray[np.float64] = (score - rows["floor"].to_numpy() - span * share) / sd
    return z
