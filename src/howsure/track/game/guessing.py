"""What guessing gives, exactly: no need to draw it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import Step, statistic

__all__ = ["GuessingTurns", "expected_random"]

_NEGLIGIBLE = 1e-16


@dataclass(frozen=True)
class GuessingTurns:
    """The expected average of the player ``random`` on these sequences.

    ``run_sd`` is how much the average of one run differs from it (a standard deviation), ``by_seed`` the expectation on each sequence.
    """

    average: float
    run_sd: float
    by_seed: dict[int, float]


def expected_random(variant: str, seeds: Iterable[int], setting: Setting | None = None) -> GuessingTurns:
    r"""How many turns guessing lasts on these sequences.

    .. math:: E[T] = \sum_t S_t, \quad E[T^2] = \sum_t (2t - 1) S_t, \quad S_t = \prod_{i \le t} p_i

    with p_i the probability that the guess in turn i is correct, given the numbers shown until then.
    """
    setting = setting or Setting()
    moments = {seed: _moments(variant, setting.steps(variant, seed)) for seed in seeds}
    means = np.array([mean for mean, _ in moments.values()])
    variances = np.array([square - mean**2 for mean, square in moments.values()])
    run_sd = math.sqrt(variances.sum()) / len(means)
    return GuessingTurns(float(means.mean()), run_sd, {seed: mean for seed, (mean, _) in moments.items()})


def _moments(variant: str, steps: list[Step]) -> tuple[float, float]:
    state, survival, mean, square = statistic(variant)(), 1.0, 0.0, 0.0
    for turn, step in enumerate(steps, 1):
        state.take(step)
        survival *= state.chance()
        mean += survival
        square += (2 * turn - 1) * survival
        if survival < _NEGLIGIBLE:
            break
    return mean, square
