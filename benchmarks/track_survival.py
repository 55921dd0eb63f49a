"""Track the Stat when games break off: bias (estimate over true value) and coverage of 95 % intervals, in simulated data sets.

Worlds: a constant hazard; one that differs between sequences, so that it falls over time; one that rises with the numbers to remember. A constant hazard is what
the average assumes beyond the last turn that five games answered, so that the other two show what is lost where this is wrong.
"""

from __future__ import annotations

import os

import numpy as np

from howsure.track.game.simulated_players import Memory, simulate
from howsure.track.resampling import median_turns
from howsure.track.survival import GameEnds, average_turns, survival_of

__all__ = ["measure"]

N_SIMULATIONS = int(os.environ.get("HOWSURE_SIMULATIONS", "300"))
WORLDS = {
    "constant": (Memory(0.0202), 1e6),
    "falling": (Memory(0.0202), 4.0),
    "rising": (Memory(0.005, 0.0005), 1e6),
}


def measure() -> dict[str, float]:
    figures: dict[str, float] = {}
    for world, (memory, sameness) in WORLDS.items():
        for n_samples in (10, 60, 250):
            for break_off in (0.0, 0.01, 0.02):
                cell = _cell(memory, sameness, n_samples, break_off)
                figures |= {
                    f"{world}, {n_samples} games, {break_off:.0%} a turn: {name}": v for name, v in cell.items()
                }
    return figures


def _cell(memory: Memory, sameness: float, n_samples: int, break_off: float) -> dict[str, float]:
    ratios: dict[str, list[float]] = {}
    covered: dict[str, list[bool]] = {}
    dropped = []
    for seed in range(N_SIMULATIONS):
        options = {"n_samples": n_samples, "break_off": break_off, "sameness": sameness, "seed": seed}
        world = simulate({("m", "direct"): memory}, **options)  # type: ignore[arg-type]
        truth, frame = world.truth["m", "direct"], world.samples.frame
        ends = GameEnds.of(frame)
        known = survival_of(ends)
        told = {
            "average": (average_turns(frame)[0], truth.average),
            "median": (median_turns(ends, level=0.95, seed=seed), truth.median),
            "restricted mean": (known.restricted_mean, float(truth.survival[1 : known.reach + 1].sum())),
        }
        for name, (found, true) in told.items():
            ratios.setdefault(name, []).append((found.value or 0.0) / true)
            covered.setdefault(name, []).append(found.covers(true))
        dropped.append(frame.filter(frame["failure"].is_null())["max_length"].to_numpy().mean() / truth.average)
    figures = {f"{name}, bias": float(np.mean(values)) - 1 for name, values in ratios.items()}
    figures |= {f"{name}, coverage": float(np.mean(values)) for name, values in covered.items()}
    return figures | {"average without broken-off games, bias": float(np.mean(dropped)) - 1}
