"""Track the Stat: models with a known probability of an error per turn, and baselines that know only the last numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from howsure.tour.games import LENGTH, N_SAMPLES, YARDSTICKS, Games
from howsure.tour.stops import KnownEstimate, TourSettings, TourStatistic, TourStop
from howsure.tour.world import World
from howsure.track.results import TrackResult, measure
from howsure.track.sections import track_sections

__all__ = ["track_part", "window_turns"]

_TURNS = TourStatistic("Correct turns", "number")
_DRAWS = 20_000  # leave an error of 0.1 turns, where one run of the tour has 1
_ABOUT = f"Six models track a running median over {N_SAMPLES} sequences of {LENGTH} numbers each; a game ends with the first error. Each model has its own probability of an error per turn, so the expected number of correct turns is known. A baseline, window-8, remembers only the last 8 numbers; it is in the table but its interval is not counted.\n\n"
_PLAYED = (
    "All games were played through Inspect, as with any model: the logs are in the folder track/logs beside this page, for “inspect view”. "
    "To repeat one of the runs: howsure track run --model howsure/{player} --length {length} --samples {n} -o track"
)
_DIRECT = (
    "The games were played without Inspect; the results are the same. To install Inspect: pip install 'howsure[run]'"
)


def track_part(world: World, games: Games, settings: TourSettings) -> TourStop:
    """How many turns each model lasts."""
    results = measure(games.samples, level=settings.level, seed=settings.seed)
    played = _PLAYED.format(player=world.cast[0].player, length=LENGTH, n=N_SAMPLES) if games.logs else _DIRECT

    def save(folder: Path) -> list[Path]:
        return [*games.save(folder), *(path for path in results.save(folder) if path.name != "samples.csv")]

    return TourStop(
        "Track the Stat",
        "track",
        "Track the Stat",
        _ABOUT + played,
        _known(world, results),
        results.provenance,
        lambda: track_sections(results)[:1],
        save,
    )


def window_turns(size: int, rng: np.random.Generator) -> float:
    """Correct turns, on average, of a player that takes the median of the last `size` numbers for that of all: by many games."""
    numbers = rng.integers(0, 100, (_DRAWS, LENGTH))
    turns, is_playing = np.zeros(_DRAWS), np.ones(_DRAWS, dtype=bool)
    for turn in range(1, LENGTH + 1):
        shown = numbers[:, :turn]
        is_playing &= np.median(shown, axis=1) == np.median(shown[:, -size:], axis=1)
        turns += is_playing
    return float(turns.mean())


def _known(world: World, results: TrackResult) -> tuple[KnownEstimate, ...]:
    found = {row.model: row.average for row in results.rows}
    models = [KnownEstimate(_TURNS, actor.name, found[actor.name], actor.turns) for actor in world.cast]
    rng = np.random.default_rng(0)
    windows = [
        KnownEstimate(_TURNS, name, found[name], window_turns(int(name.partition("-")[2]), rng), fit_to_count=False)
        for name in YARDSTICKS
    ]
    return (*models, *windows)
