"""What a scale expects of scores: benchmarks' curves, and how far the scores lie from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import expit

if TYPE_CHECKING:
    from howsure.stitch.scale import Scale

__all__ = ["curve_frame", "residual_frame"]


def curve_frame(scale: Scale, n: int = 60, beyond: float = 0.1) -> pl.DataFrame:
    """Expected scores along the capability axis: benchmark, capability, score.

    The axis reaches ``beyond`` the models by that share of their range. In two dimensions it is for models of middling second trait.
    """
    problem, found = scale.problem, scale.estimate
    margin = beyond * np.ptp(found.capability)
    capability = np.linspace(found.capability.min() - margin, found.capability.max() + margin, n)
    share = expit(found.slope[:, None] * (capability - found.difficulty[:, None]))
    score = problem.floors[:, None] + (problem.ceilings - problem.floors)[:, None] * share
    return pl.DataFrame(
        {
            "benchmark": np.repeat(np.array(problem.benchmarks, dtype=object), n).tolist(),
            "capability": np.tile(capability, len(problem.benchmarks)),
            "score": score.ravel(),
        }
    )


def residual_frame(scale: Scale) -> pl.DataFrame:
    """Every score beside what the scale expects: model, benchmark, capability, score, expected, residual."""
    problem, found = scale.problem, scale.estimate
    m, b = problem.model, problem.benchmark
    eta = found.slope[b] * (found.capability[m] - found.difficulty[b])
    if found.trait is not None and found.loading is not None:
        eta = eta + found.loading[b] * found.trait[m]
    expected = problem.floors[b] + (problem.ceilings - problem.floors)[b] * expit(eta)
    return problem.to_frame().select(
        "model",
        "benchmark",
        pl.Series("capability", found.capability[m]),
        "score",
        pl.Series("expected", expected),
        pl.Series("residual", problem.score - expected),
    )
