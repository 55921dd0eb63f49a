"""The NAME tour: 56,000 runs simulated, written and read, horizons with 1000 bootstraps, all charts; seconds (under 10 on 2 cores).

The first tour on a machine also compiles the kernels; the figures are of a second one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from howsure.charts import save_chart
from howsure.horizon.attempt_horizon.horizons import AttemptHorizons, attempt_horizons
from howsure.horizon.learning_curves.curves import fit_curves
from howsure.horizon.simulator import SimulatedRuns, simulate
from howsure.sources import read
from howsure.tables import Attempts


def measure() -> dict[str, float]:
    """Seconds of each step, and of all."""
    with tempfile.TemporaryDirectory() as folder:
        _tour(Path(folder), {})
        figures: dict[str, float] = {}
        start = time.process_time()
        _tour(Path(folder), figures)
        cpu = time.process_time() - start
    return figures | {"whole tour: seconds": sum(figures.values()), "whole tour: CPU seconds of all cores": cpu}


def _tour(folder: Path, figures: dict[str, float]) -> None:
    world: SimulatedRuns = _timed("simulate 56,000 runs: seconds", figures, lambda: simulate(seed=0))
    _timed("write them: seconds", figures, lambda: world.save(folder))
    runs: Attempts = _timed("read them: seconds", figures, lambda: read(folder / "runs.jsonl"))
    _timed("fit 100 learning curves: seconds", figures, lambda: fit_curves(runs))
    found: AttemptHorizons = _timed("horizons, 1000 bootstraps: seconds", figures, lambda: attempt_horizons(runs))
    _timed("save tables: seconds", figures, lambda: found.save(folder))
    _timed("8 charts as pictures: seconds", figures, lambda: _draw(found, folder))


def _draw(found: AttemptHorizons, folder: Path) -> None:
    for name, chart in found.charts().items():
        save_chart(chart, folder / f"{name}.png")


def _timed(name: str, figures: dict[str, float], job: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = job()
    figures[name] = time.perf_counter() - start
    return result
