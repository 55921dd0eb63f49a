"""Track the Stat without a model: the bare loop (250 games of 300 turns, about a second), and figures from its games; CPU seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from howsure.track.game.statistics import VARIANTS
from howsure.track.results import measure as measure_samples
from howsure.track.running.playing import run_players
from howsure.track.samples import Samples

TURNS = 250 * 300


def measure() -> dict[str, float]:
    figures: dict[str, float] = {}
    for variant in VARIANTS:
        seconds, _ = _timed(lambda: run_players(["oracle"], [variant]))  # noqa: B023 - called at once
        figures[f"oracle, {variant}: seconds"] = seconds
        figures[f"oracle, {variant}: microseconds a turn"] = seconds / TURNS * 1e6
    seconds, samples = _timed(lambda: run_players(["random", "largest", "window-20", "noisy-0.05"], ["median", "mode"]))
    figures["four baselines on two variants: seconds"] = seconds
    measure_samples(samples)  # compiles
    figures["figures of eight rows: seconds"] = _timed(lambda: measure_samples(samples))[0]
    return figures


def _timed(job: Callable[[], Samples | object]) -> tuple[float, Samples]:
    start = time.process_time()
    result = job()
    seconds = time.process_time() - start
    return seconds, result  # type: ignore[return-value]
