"""Horizons: how many games or attempts a novice needs to do as well as each model, and how long the tasks are that it can do."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from howsure.bridges.games import learning_attempts, track_horizons
from howsure.horizon.attempt_horizon.horizons import AttemptHorizons, attempt_horizons
from howsure.horizon.attempt_horizon.sections import PAIRS, attempts_sections
from howsure.horizon.simulator import draw_suite, simulate
from howsure.horizon.time_horizon.horizons import time_horizons
from howsure.horizon.time_horizon.sections import time_sections
from howsure.horizon.time_horizon.simulator import simulate_time
from howsure.results.blocks import ChartBlock, Method, Section, Text
from howsure.tour.games import LENGTH, Games
from howsure.tour.stops import KnownEstimate, TourSettings, TourStatistic, TourStop
from howsure.tour.world import World
from howsure.track.samples import GameSample, Samples

__all__ = ["N_GAMES", "draw_people", "game_part", "horizon_of", "name_part", "success_by_game", "time_part"]

AT = 10
"""Correct turns that make a game of Track the Stat a success for people and models alike."""

_HORIZON = "Horizon"
_ATTEMPTS = TourStatistic("Horizon in attempts", "attempts of a novice", scale="log2")
_GAMES = TourStatistic("Horizon in games", "games of a novice", scale="log2")
_MINUTES = {
    rate: TourStatistic(f"{100 * rate:g} % time horizon", "expert minutes", scale="log2") for rate in (0.5, 0.8)
}
_N_TASKS, _N_LEARNERS, _N_ATTEMPTS, _N_RUNS = 60, 40, 10, 10


def game_part(world: World, games: Games, settings: TourSettings) -> TourStop:
    """People learn Track the Stat; which of their games is each model worth?"""
    everyone = Samples.union([draw_people(settings.seed), games.samples])
    found = track_horizons(everyone, min_turns=AT, **_asked(settings))
    truth = {actor.name: horizon_of((1 - actor.slip) ** AT, AT) for actor in world.cast}
    about = f"{N_PEOPLE} people play the same game {N_GAMES} times and make fewer errors each time; a success is {AT} correct turns. A model's horizon is the game in which people succeed as often as the model does. The probabilities of success are simulated for both, so the true horizon is known. A model above or below the observed range has no number."

    def save(folder: Path) -> list[Path]:
        return [learning_attempts(everyone, min_turns=AT).write(folder / "attempts.csv"), *found.save(folder)]

    known = _known(_GAMES, found, truth)
    title = "People learn Track the Stat"
    return TourStop(_HORIZON, "track-horizon", title, about, known, found.provenance, lambda: _headline(found), save)


def name_part(world: World, settings: TourSettings) -> TourStop:
    """Novices learn NAME's tasks; which of their attempts is each model worth?"""
    known = {actor.name: float(actor.attempts) for actor in world.cast}
    suite = draw_suite(_N_TASKS, seed=settings.seed)
    drawn = simulate(
        suite,
        true_horizons=known,
        n_learners=_N_LEARNERS,
        n_attempts=_N_ATTEMPTS,
        n_runs=_N_RUNS,
        seed=settings.seed,
    )
    found = attempt_horizons(drawn.attempts, **_asked(settings))
    about = f"{_N_LEARNERS} novices try each of {_N_TASKS} tasks {_N_ATTEMPTS} times and learn. Each model behaves like a novice on a known attempt; the strongest is better than any novice, so its estimate should be above the observed range."

    def save(folder: Path) -> list[Path]:
        return [drawn.attempts.write(folder / "attempts.csv"), *found.save(folder)]

    held = _known(_ATTEMPTS, found, {name: n if n <= _N_ATTEMPTS else math.inf for name, n in known.items()})
    title = "Novices learn NAME's tasks"
    return TourStop(_HORIZON, "name-horizon", title, about, held, found.provenance, lambda: _whole_suite(found), save)


def time_part(world: World, settings: TourSettings) -> TourStop:
    """How long are the tasks, in an expert's minutes, that each model can do?"""
    drawn = simulate_time(world.minutes, seed=settings.seed)
    found = time_horizons(
        drawn.counts,
        n_replicates=settings.n_bootstrap,
        resample="families",
        level=settings.level,
        seed=settings.seed,
    )
    about = (
        f"The {len(world.cast)} models of the tour and {len(world.minutes) - len(world.cast)} others, which have benchmark scores, make eight runs at each of 160 tasks in 40 families that take "
        "an expert from a minute to two working days. Success falls with the length of the task; families and tasks also differ in difficulty at the same length. The true value is the length at which a model solves half, or 80 %, of all such tasks."
    )
    known = tuple(
        KnownEstimate(_MINUTES[rate], fit.model, estimate, drawn.truth(fit.model, rate))
        for rate in (0.5, 0.8)
        for fit in found.ranked
        for estimate in [fit.horizons[rate]]
    )
    title = "Time horizons"
    return TourStop(
        _HORIZON, "time-horizon", title, about, known, found.provenance, lambda: time_sections(found), found.save
    )


def _asked(settings: TourSettings) -> dict[str, Any]:
    told: dict[str, Any] = {"n_replicates": settings.n_bootstrap, "level": settings.level, "seed": settings.seed}
    return told | {"success_rates": (0.5,)}


def _headline(found: AttemptHorizons) -> list[Section]:
    """The first section without its tables, whose numbers are shown beside the true values."""
    first, *others = attempts_sections(found, _GAMES.name)
    kept = [block for block in first.blocks if isinstance(block, Text | ChartBlock | Method)]
    return [replace(first, blocks=kept), *filter(_is_of_pairs, others)]


def _whole_suite(found: AttemptHorizons) -> list[Section]:
    """Horizons, pairs and the novices; domains and difficulties are left to the tables."""
    first, *between, last = attempts_sections(found, _ATTEMPTS.name)
    return [first, *filter(_is_of_pairs, between), last]


def _is_of_pairs(section: Section) -> bool:
    """Whether a section has the probabilities that the front page's sentences state."""
    return section.title == PAIRS


def _known(statistic: TourStatistic, found: AttemptHorizons, truth: dict[str, float]) -> tuple[KnownEstimate, ...]:
    """The models in the order of the truth; what lies beyond the novices' attempts is shown and not counted."""
    horizons = {name: row.horizon for name, row in found.headline().items()}
    return tuple(
        KnownEstimate(statistic, name, horizons[name], n, fit_to_count=math.isfinite(n))
        for name, n in sorted(truth.items(), key=lambda row: row[1])
    )


# People who learn Track the Stat: each game they err less, and some are better than others at all of it.
#
# .. math:: p_{in} = \big(p_\infty + (p_1 - p_\infty) e^{-\lambda (n-1)}\big)\, e^{\sigma z_i}
#
# is the chance that person i errs in a turn of game n, with z_i standard normal.


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
