r"""People who learn Track the Stat: each game they err less, and some are better than others at all of it.

.. math:: p_{in} = \big(p_\infty + (p_1 - p_\infty) e^{-\lambda (n-1)}\big)\, e^{\sigma z_i}

is the chance that person i errs in a turn of game n, with z_i standard normal.
"""

from __future__ import annotations

import math

import numpy as np

from howsure.tour.games import LENGTH
from howsure.track.samples import GameSample, Samples

__all__ = ["N_GAMES", "draw_people", "horizon_of", "success_by_game"]

N_PEOPLE, N_GAMES = 60, 10
_FIRST, _LAST, _RATE, _SPREAD = 0.3, 0.02, 0.45, 0.4


def draw_people(seed: int) -> Samples:
    """Games of all people in the order in which they play them, each with fresh numbers."""
    rng = np.random.default_rng([seed, 8])
    talent = np.exp(_SPREAD * rng.standard_normal(N_PEOPLE))
    slips = np.minimum(_typical(np.arange(1, N_GAMES + 1)) * talent[:, None], 0.99)
    turns = np.minimum(rng.geometric(slips) - 1, LENGTH)
    return Samples.from_games(
        GameSample(
            f"person-{who + 1:02}",
            "median",
            game,
            int(lasted),
            LENGTH,
            None if lasted == LENGTH else "other",
            kind="human",
        )
        for who, games in enumerate(turns)
        for game, lasted in enumerate(games)
    )


def success_by_game(at: int) -> np.ndarray:
    """The share of all people who have at least `at` turns right in each of their games."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    slips = np.minimum(_typical(np.arange(1, N_GAMES + 1))[:, None] * np.exp(_SPREAD * nodes), 0.99)
    return np.asarray((1 - slips) ** at @ (weights / weights.sum()))


def horizon_of(success: float, at: int) -> float:
    """The game in which people succeed as often: between two games by the logarithm of their number, ±∞ beyond the first and last."""
    curve = success_by_game(at)
    if success < curve[0]:
        return -math.inf
    if success > curve[-1]:
        return math.inf
    return float(np.exp(np.interp(success, curve, np.log(np.arange(1, N_GAMES + 1)))))


def _typical(game: np.ndarray) -> np.ndarray:
    return np.asarray(_LAST + (_FIRST - _LAST) * np.exp(-_RATE * (game - 1)))
