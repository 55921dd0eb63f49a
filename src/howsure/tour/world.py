r"""The models of the tour, and what is true of them.

A world of models and benchmarks is drawn as `howsure.stitch.simulate` has it. One benchmark is called ``track/median/30``, and six models that were released
in the two years around the day for which it is right are held back: they have no score yet. They are the cast of the tour. What they do in every instrument follows from their true capability:

- on Track the Stat a model has the same probability p of an error in every turn, so that its share of correct turns is the score that its capability gives it there,

  .. math:: \frac{1}{L}\sum_{t=1}^{L} (1-p)^t = s, \qquad s \sim \mathrm{Beta} \text{ around } \sigma(a (C - D));

- its time horizon doubles one and a half times with a unit of capability, with a standard deviation of half a doubling; eight models that have scores
  have time horizons too, so that both scales share models;
- among NAME's tasks the models behave, from the weakest to the strongest, like novices on attempt 2, 3, 4, 5, 7, and like nobody yet.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import expit

from howsure.stitch.simulator import FIRST_DAY, PER_LOG10_FLOP, PER_YEAR, SimulatedScores, simulate
from howsure.tables import Scores
from howsure.tour.games import LENGTH

__all__ = ["BENCHMARK", "BEYOND", "NAMES", "Actor", "World", "plant", "share_of_turns"]

BENCHMARK = f"track/median/{LENGTH}"
"""The board that the models of the tour play, as a benchmark."""
BEYOND = 40
"""The attempt that the strongest model is worth, more than novices are seen to make."""

NAMES = ("Aster", "Birch", "Cedar", "Dahlia", "Elm", "Fern")
"""The models of the tour, from the weakest to the strongest; the same in all instruments."""

_ATTEMPTS = (2, 3, 4, 5, 7, BEYOND)
_RELEASED = (-0.8, -0.5, -0.2, 0.2, 0.5, 0.8)  # years from the day for which Track the Stat is right
_A_YEAR = PER_YEAR + PER_LOG10_FLOP / 2  # what time and the compute that comes with it add to capability
_MIDDLE_MINUTES, _DOUBLINGS, _DOUBLINGS_SD = 15.0, 1.5, 0.5
_N_TIMED, _NEAR = (
    8,
    3.0,
)  # models with scores that have time horizons too, and how far their capability may lie from the middle
_FIRST_DAY: datetime.date = FIRST_DAY.astype(object)
_LEAST_SHARE = 0.02  # of correct turns, and of games with an error: no model is hopeless or perfect


@dataclass(frozen=True)
class Actor:
    """A model of the tour: ``capability`` on the true scale, ``slip`` its probability of an error per turn, ``minutes`` and ``attempts`` its horizons."""

    name: str
    released: datetime.date
    capability: float
    slip: float
    minutes: float
    attempts: float

    @property
    def player(self) -> str:
        """Who plays Track the Stat for it."""
        return f"noisy-{self.slip:.5f}"

    @property
    def turns(self) -> float:
        """Expected number of correct turns per game."""
        return LENGTH * share_of_turns(self.slip)


@dataclass(frozen=True, eq=False)
class World:
    """The cast from the weakest to the strongest, and ``scores`` of all other models on benchmarks, with their truth.

    ``minutes`` are the time horizons of the cast and of some models that have scores, so that the two scales share models.
    """

    cast: tuple[Actor, ...]
    scores: Scores
    models: pl.DataFrame
    benchmarks: pl.DataFrame
    minutes: Mapping[str, float]

    @property
    def players(self) -> dict[str, str]:
        """Who plays Track the Stat for whom."""
        return {actor.player: actor.name for actor in self.cast}

    def benchmark(self, name: str) -> dict[str, float]:
        """What is true of a benchmark."""
        return self.benchmarks.row(by_predicate=pl.col("benchmark") == name, named=True)


def plant(seed: int) -> World:
    """The world of a seed."""
    drawn = simulate(n_models=126, n_benchmarks=20, years=2, density=0.5, seed=seed)
    rng = np.random.default_rng([seed, 7])
    benchmarks = _with_track(drawn)
    track = benchmarks.row(by_predicate=pl.col("benchmark") == BENCHMARK, named=True)
    chosen = _of_its_time(drawn.models, track["difficulty"])
    cast: list[Actor] = []
    for name, row, attempts in zip(NAMES, chosen, _ATTEMPTS, strict=True):
        actor = _actor(name, row, attempts, track, rng)
        while actor.slip in [other.slip for other in cast]:  # one player stands for one model
            actor = replace(actor, slip=round(actor.slip + 1e-5, 5))
        cast.append(actor)
    names = [row["model"] for row in chosen]
    renamed = drawn.scores.frame.with_columns(pl.col("benchmark").replace(track["was"], BENCHMARK))
    others = Scores(renamed.filter(~pl.col("model").is_in(names)))
    rest = drawn.models.filter(~pl.col("model").is_in(names))
    minutes = {actor.name: actor.minutes for actor in cast} | _minutes_of_some(rest, track["difficulty"], seed)
    return World(tuple(cast), others, rest, benchmarks, minutes)


def share_of_turns(slip: float) -> float:
    """The share of correct turns in a game of a player with this probability of an error per turn."""
    return float(((1 - slip) ** np.arange(1, LENGTH + 1)).mean())


def _with_track(drawn: SimulatedScores) -> pl.DataFrame:
    """The benchmarks; the one without guessing that is most like the middle of them all is now Track the Stat."""
    far = (pl.col("difficulty") - drawn.models["capability"].median()).abs() + pl.col("slope").log().abs()
    was = drawn.benchmarks.filter(pl.col("floor") == 0).sort(far)["benchmark"][0]
    return drawn.benchmarks.with_columns(pl.col("benchmark").replace(was, BENCHMARK), was=pl.col("benchmark"))


def _of_its_time(models: pl.DataFrame, difficulty: float) -> list[dict[str, Any]]:
    """Six models released before and after the day for which the difficulty is right, from the weakest to the strongest.

    Releases are known to whoever places the models later, so nothing is chosen that they could not know.
    """
    right = _FIRST_DAY + datetime.timedelta(days=365.25 * difficulty / _A_YEAR)
    chosen: list[dict[str, Any]] = []
    for years in _RELEASED:
        left = models.filter(~pl.col("model").is_in([one["model"] for one in chosen]))
        day = right + datetime.timedelta(days=365.25 * years)
        chosen.append(left.sort((pl.col("date") - day).abs(), "model").row(0, named=True))
    return sorted(chosen, key=lambda one: float(one["capability"]))


def _actor(
    name: str, model: Mapping[str, Any], attempts: float, track: Mapping[str, float], rng: np.random.Generator
) -> Actor:
    capability = float(model["capability"])
    beyond = track["slope"] * (capability - track["difficulty"])
    minutes = _minutes(capability - track["difficulty"], rng)
    size = 1 / (4 * track["noise_sd"] ** 2) - 1
    share = float(np.clip(rng.beta(expit(beyond) * size, expit(-beyond) * size), _LEAST_SHARE, 1 - _LEAST_SHARE))
    slip = round(float(brentq(lambda p: share_of_turns(p) - share, 1e-6, 1 - 1e-6)), 5)
    return Actor(
        name,
        model["date"],
        capability,
        slip,
        minutes,
        attempts,
    )


def _minutes_of_some(models: pl.DataFrame, difficulty: float, seed: int) -> dict[str, float]:
    """Time horizons of models that have scores, chosen evenly by capability within the range that tasks can show."""
    rng = np.random.default_rng([seed, 9])
    near = models.filter((pl.col("capability") - difficulty).abs() < _NEAR).sort("capability")
    chosen = near.gather_every(max(len(near) // _N_TIMED, 1)).head(_N_TIMED)
    rows = chosen.select("model", "capability").iter_rows()
    return {model: _minutes(capability - difficulty, rng) for model, capability in rows}


def _minutes(beyond: float, rng: np.random.Generator) -> float:
    """The time horizon of a model that is so far beyond the benchmark's difficulty."""
    return round(float(_MIDDLE_MINUTES * 2 ** (_DOUBLINGS * beyond + rng.normal(0, _DOUBLINGS_SD))), 1)
