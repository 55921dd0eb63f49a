"""Solvers with a known memory: how long they last is drawn, and the expected values are known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from howsure.track.game.rules import ErrorKind
from howsure.track.game.sequence import LENGTH, Setting
from howsure.track.game.statistics import Step, statistic
from howsure.track.samples import DIRECT, EXPLICIT, GameSample, Samples

__all__ = ["MEMORIES", "GuessingTurns", "Memory", "SimulatedGames", "TrueValues", "expected_random", "simulate"]


@dataclass(frozen=True)
class Memory:
    r"""How soon a solver errs.

    .. math:: P(T \ge t \mid z) = e^{-z \Lambda(t)}, \quad \Lambda(t) = \sum_{i \le t} (\text{slip} + \text{decay} \cdot i), \quad
              P(T \ge t) = \Big(1 + \frac{\Lambda(t)}{k}\Big)^{-k}

    T is the number of correct answers. ``slip`` is the risk in every turn, ``decay`` what each number to remember adds to it. z is the difficulty of a sequence, which all solvers meet
    alike: gamma distributed with mean 1 and shape k (``sameness``; the larger, the more alike are sequences). ``violations`` is the share of
    errors that are malformed replies.
    """

    slip: float
    decay: float = 0.0
    violations: float = 0.0

    def burden(self, length: int) -> np.ndarray:
        """Λ(0), Λ(1), … Λ(length)."""
        return np.concatenate([[0.0], np.cumsum(self.slip + self.decay * np.arange(1, length + 1))])


MEMORIES: Mapping[tuple[str, str], Memory] = {
    ("amber-1", DIRECT): Memory(0.02, 0.01, violations=0.1),
    ("amber-1", EXPLICIT): Memory(0.02, 0.001, violations=0.1),
    ("basalt-1", DIRECT): Memory(0.005, 0.002),
    ("basalt-1", EXPLICIT): Memory(0.005),
}


@dataclass(frozen=True)
class TrueValues:
    """The expected values; ``survival`` is the share with at least 0, 1, … correct answers."""

    survival: np.ndarray
    violation_rate: float

    @property
    def average(self) -> float:
        """The mean number of correct answers."""
        return float(self.survival[1:].sum())

    @property
    def median(self) -> float:
        """The number of correct answers that half of the games do not exceed."""
        return float(np.argmax(self.survival <= 0.5)) - 1

    @property
    def stddev(self) -> float:
        """Its standard deviation."""
        turns = np.arange(1, len(self.survival))
        return float(np.sqrt(((2 * turns - 1) * self.survival[1:]).sum() - self.average**2))


@dataclass(frozen=True)
class SimulatedGames:
    """Simulated games, and the truth by model and solver."""

    samples: Samples
    truth: Mapping[tuple[str, str], TrueValues]


def simulate(
    memories: Mapping[tuple[str, str], Memory] = MEMORIES,
    *,
    variant: str = "median",
    n_samples: int = 250,
    length: int = LENGTH,
    sameness: float = 4.0,
    break_off: float = 0.0,
    seed: int = 0,
) -> SimulatedGames:
    """Games of every (model, solver) over the same `n_samples` sequences; the server fails for good with the chance `break_off` in every turn."""
    rng = np.random.default_rng(seed)
    difficulty = rng.gamma(sameness, 1 / sameness, n_samples)
    samples: list[GameSample] = []
    truth = {}
    for (model, solver), memory in memories.items():
        burden = memory.burden(length)
        patience = rng.standard_exponential(n_samples) / difficulty
        turns = np.searchsorted(burden, patience, side="left") - 1
        is_malformed = rng.random(n_samples) < memory.violations
        last = rng.geometric(break_off, n_samples) - 1 if break_off else np.full(n_samples, length)
        for one, (t, bad, cut) in enumerate(zip(turns.tolist(), is_malformed.tolist(), last.tolist(), strict=True)):
            if cut <= t and cut < length:
                samples.append(GameSample(model, variant, one, cut, length, None, solver, failure="api"))
            else:
                samples.append(GameSample(model, variant, one, t, length, _kind(t, length, is_malformed=bad), solver))
        survival = (1 + burden / sameness) ** -sameness
        truth[model, solver] = TrueValues(survival, memory.violations * float(1 - survival[-1]))
    return SimulatedGames(Samples.from_games(samples), truth)


def _kind(turns: int, length: int, *, is_malformed: bool) -> ErrorKind | None:
    return None if turns == length else "format" if is_malformed else "other"


# What guessing gives, exactly: no need to draw it.


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
