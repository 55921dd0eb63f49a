"""Examples of what the bridges return."""

import numpy as np
import polars as pl

from howsure.bridges.judge_correction import Corrected, JudgedHorizons, correct, judged_horizons
from howsure.bridges.scales import ScaleMap, map_scales
from howsure.bridges.simulator import JudgedSimulation

from .registry import example


@example(Corrected)
def corrected():
    verdicts, labels, _ = JudgedSimulation(n_tasks=8, n_attempts=8, n_novices=10).draw(1)
    return correct(verdicts, labels)


@example(JudgedHorizons)
def horizons():
    verdicts, labels, novices = JudgedSimulation(n_tasks=8, n_attempts=8, n_novices=20).draw(1)
    return judged_horizons(correct(verdicts, labels), novices, n_replicates=20)


@example(ScaleMap)
def scales():
    capability = np.linspace(-1, 1, 8)
    models = [f"m{i}" for i in range(8)]
    minutes = 2 ** (3 + 2 * capability + 0.1 * np.sin(np.arange(8)))
    frames = {"capability": capability, "minutes": minutes}
    return map_scales({name: pl.DataFrame({"model": models, "value": values}) for name, values in frames.items()})
