"""Track the Stat when games break off: bias (estimate over true value) and coverage of 95 % intervals, in simulated data sets.

Worlds: a constant hazard; one that differs between sequences, so that it falls over time (gamma distributed difficulties with shape 4, and steeply with shape 1); one that rises
with the numbers to remember; and one that jumps from turn 30 on, which is of none of the forms that the average assumes beyond the last turn that five games answered. Data sets whose average is not
identified are counted (``bounds``); their interval is that of the bounds, and they are left out of the bias. ``HOWSURE_SIMULATIONS`` and ``HOWSURE_GAMES`` (60,120) make it shorter.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import polars as pl

from howsure.track.game.simulated_players import Memory
from howsure.track.survival import GameEnds, average_turns, median_turns, survival_of

__all__ = ["measure"]

N_SIMULATIONS = int(os.environ.get("HOWSURE_SIMULATIONS", "500"))
N_GAMES = [int(n) for n in os.environ.get("HOWSURE_GAMES", "30,60,120,250").split(",")]
LENGTH = 300
TURNS = np.arange(1, LENGTH + 1)
# Λ(0), Λ(1), … and how much alike sequences are
WORLDS = {
    "constant": (Memory(0.0202).burden(LENGTH), 1e6),
    "rising": (Memory(0.005, 0.0005).burden(LENGTH), 1e6),
    "falling": (Memory(0.0202).burden(LENGTH), 4.0),
    "falling steeply": (Memory(0.03).burden(LENGTH), 1.0),
    "jumping up": (np.append(0.0, np.cumsum(np.where(TURNS < 30, 0.008, 0.03))), 1e6),
    "jumping down": (np.append(0.0, np.cumsum(np.where(TURNS < 30, 0.03, 0.01))), 1e6),
}


def measure() -> dict[str, float]:
    figures: dict[str, float] = {}
    for n_games in N_GAMES:
        for world, (burden, sameness) in WORLDS.items():
            for break_off in (0.01, 0.02):
                cell = _cell(burden, sameness, n_games, break_off)
                name = f"{world}, {n_games} games, {break_off:.0%} a turn"
                print(f"  {name}: " + ", ".join(f"{k} {v:.3f}" for k, v in cell.items()), file=sys.stderr, flush=True)
                figures |= {f"{name}: {figure}": value for figure, value in cell.items()}
    return figures


def _cell(burden: np.ndarray, sameness: float, n_games: int, break_off: float) -> dict[str, float]:
    survival = (1 + burden / sameness) ** -sameness
    average, median = float(survival[1:].sum()), float(np.argmax(survival <= 0.5)) - 1
    ratios: dict[str, list[float]] = {}
    covered: dict[str, list[bool]] = {}
    n_bounds = 0
    for seed in range(N_SIMULATIONS):
        frame = _games(burden, sameness, n_games, break_off, np.random.default_rng(seed))
        ends = GameEnds.of(frame)
        known = survival_of(ends)
        found = {
            "average": (average_turns(frame)[0], average),
            "median": (median_turns(ends, level=0.95, seed=seed), median),
            "restricted mean": (known.restricted_mean, float(survival[1 : known.reach + 1].sum())),
        }
        n_bounds += found["average"][0].state != "ok"
        for name, (estimate, true) in found.items():
            covered.setdefault(name, []).append(estimate.covers(true))
            if estimate.state == "ok" and estimate.value is not None:
                ratios.setdefault(name, []).append(estimate.value / true)
    figures = {f"{name}, bias": float(np.mean(values)) - 1 for name, values in ratios.items()}
    figures |= {f"{name}, coverage": float(np.mean(values)) for name, values in covered.items()}
    return figures | {"average, share with bounds only": n_bounds / N_SIMULATIONS}


def _games(
    burden: np.ndarray, sameness: float, n_games: int, break_off: float, rng: np.random.Generator
) -> pl.DataFrame:
    """Games as `howsure.track.game.simulated_players.simulate` draws them, without the columns that survival does not need."""
    patience = rng.standard_exponential(n_games) / rng.gamma(sameness, 1 / sameness, n_games)
    turns = np.searchsorted(burden, patience, side="left") - 1
    cut = rng.geometric(break_off, n_games) - 1
    is_cut = (cut <= turns) & (cut < LENGTH)
    ended = np.where(is_cut, "interrupted", np.where(turns == LENGTH, "complete", "error"))
    columns = {"seed": np.arange(n_games), "max_length": np.where(is_cut, cut, turns), "ended_by": ended}
    return pl.DataFrame(columns).with_columns(length=LENGTH, violation=0)
