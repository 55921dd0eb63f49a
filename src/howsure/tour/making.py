"""The whole tour: plant a world, let every instrument measure it, and hold what they find against it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from howsure.reporting import Report, render
from howsure.reporting.store import ENDING, save_sections
from howsure.results import Provenance, plain, write_json
from howsure.safe_io import write_atomic
from howsure.stats._arrays import check_level
from howsure.tables import Scores
from howsure.tables.frames import write_frame
from howsure.tour.evals import evals_part
from howsure.tour.games import Games, has_inspect, play_directly, playing
from howsure.tour.horizons import game_part, name_part, time_part
from howsure.tour.page import page_of, report_of
from howsure.tour.stitch import epoch_part, place_part, read_epoch, stitch_part
from howsure.tour.stops import TourSettings, TourStop, frame_of, tally
from howsure.tour.study import study_part
from howsure.tour.track import track_part
from howsure.tour.world import World, plant

__all__ = ["LEVEL", "ORDER", "Demo", "measure_all", "run_demo"]

LEVEL = 0.9
ORDER = ("track", "track-horizon", "name-horizon", "time-horizon", "study", "stitch", "place", "evals")
"""The parts as the page has them."""

_REPLICATES, _QUICK = 400, 100

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Demo:
    """What the tour found: the page, its parts with a report each, and every estimate beside its true (simulated) value (``known``)."""

    report: Report
    parts: tuple[TourStop, ...]
    reports: Mapping[str, Report]
    known: pl.DataFrame

    @property
    def hits(self) -> pl.DataFrame:
        """One row per instrument: instrument, intervals, held, share."""
        return tally(self.known)

    @property
    def n_covered(self) -> int:
        """How many intervals contain the true value."""
        return int(self.hits["held"].sum())

    @property
    def n_intervals(self) -> int:
        """Of how many."""
        return int(self.hits["intervals"].sum())

    def as_dict(self) -> dict[str, Any]:
        """The counts and every estimate as plain JSON."""
        told = {"covered": self.n_covered, "intervals": self.n_intervals, "instruments": self.hits.to_dicts()}
        return told | {"true_values": plain(self.known.to_dicts()), "provenance": plain(self.report.made)}

    def save(self, folder: Path) -> list[Path]:
        """Write report.html, true_values.csv, demo.json, and for each part a folder with its tables and its sections, which `howsure report` reads."""
        written = [
            write_atomic(folder / "report.html", render(self.report)),
            write_frame(self.known, folder / "true_values.csv"),
            write_json(self.as_dict(), folder / "demo.json"),
        ]
        for part in self.parts:
            own = folder / part.key
            written += [*part.save(own), save_sections(self.reports[part.key], own / f"{part.key}{ENDING}")]
        return written


def run_demo(
    *,
    seed: int = 0,
    level: float = LEVEL,
    date: datetime.date,
    epoch: Path | None = None,
    quick: bool = False,
    progress: Progress | None = None,
) -> Demo:
    """The tour of a seed.

    ``epoch`` names Epoch's tables, which the capability scale is then made of. ``quick`` plays Track the Stat without Inspect and draws fewer replicates.
    """
    check_level(level)
    settings = TourSettings(level, _QUICK if quick else _REPLICATES, seed)
    parts: list[TourStop] = []
    reports: dict[str, Report] = {}
    world, scores = plant(seed), read_epoch(epoch) if epoch else None
    with _games(world, seed, is_quick=quick) as games:
        for part in _parts(world, settings, games, scores):
            parts.append(part)
            reports[part.key] = report_of(part, date)
            if progress:
                progress(len(parts), len(ORDER))
    parts.sort(key=lambda part: ORDER.index(part.key))
    known = frame_of(parts, seed)
    ordered = {part.key: reports[part.key] for part in parts}
    told = {"level": level, "replicates": settings.n_bootstrap, "quick": quick}
    made = Provenance(told | ({"epoch": epoch} if epoch else {}), seed=seed)
    return Demo(page_of(ordered, tally(known), made, date), tuple(parts), ordered, known)


def measure_all(*, seed: int, level: float = LEVEL) -> list[TourStop]:
    """Every part of a tour, with Track the Stat played directly and nothing drawn."""
    world = plant(seed)
    parts = list(
        _parts(world, TourSettings(level, _REPLICATES, seed), partial(play_directly, world.players, seed), None)
    )
    return sorted(parts, key=lambda part: ORDER.index(part.key))


@contextmanager
def _games(world: World, seed: int, *, is_quick: bool) -> Iterator[Callable[[], Games]]:
    """A function that waits for the games, which may be under way."""
    if is_quick or not has_inspect():
        yield partial(play_directly, world.players, seed)
        return
    with playing(world.players, seed) as under_way:
        yield under_way.finish


def _parts(
    world: World, settings: TourSettings, games: Callable[[], Games], epoch: Scores | None
) -> Iterator[TourStop]:
    """Those that need no games first; with ``epoch``, its scores instead of simulated ones."""
    yield name_part(world, settings)
    yield time_part(world, settings)
    yield study_part(settings)
    yield evals_part(settings)
    scale = None
    if epoch is not None:
        yield epoch_part(epoch, settings)
    else:
        part, scale = stitch_part(world, settings)
        yield part
    played = games()
    yield track_part(world, played, settings)
    yield game_part(world, played, settings)
    if scale:
        yield place_part(world, played, scale, settings)
