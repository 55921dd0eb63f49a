"""The models of the tour play Track the Stat: through Inspect, in a process beside this one, or directly where Inspect is not installed.

``python -m howsure.tour.games FOLDER SEED PLAYER…`` is that process.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from howsure.errors import HowsureError
from howsure.safe_io import write_atomic
from howsure.track.game.sequence import Setting
from howsure.track.running.logs import read_samples
from howsure.track.running.playing import run_players
from howsure.track.samples import Samples

__all__ = ["LENGTH", "N_SAMPLES", "YARDSTICKS", "Games", "RunningGames", "has_inspect", "play_directly", "playing"]

LENGTH = 30
"""Numbers in a game."""
N_SAMPLES = 30
YARDSTICKS = ("window-8",)
"""Players that are forgetful in another way: they know the last numbers only."""

_SETTING = Setting(length=LENGTH)
_MOST_PLAYERS = 100  # so many seeds lie between two tours

Cast = dict[str, str]
"""Which model a player stands for."""


@dataclass(frozen=True, eq=False)
class Games:
    """What was played: ``logs`` are Inspect's, by file name; without Inspect there are none."""

    samples: Samples
    logs: dict[str, bytes] = field(default_factory=dict)

    def save(self, folder: Path) -> list[Path]:
        """Write samples.csv and, where there are some, Inspect's logs, in place of those of an earlier tour."""
        logs = folder / "logs"
        for old in logs.glob("*.eval"):
            old.unlink()
        written = [write_atomic(logs / name, content) for name, content in self.logs.items()]
        return [self.samples.write(folder / "samples.csv"), *written]


def has_inspect() -> bool:
    """Whether Inspect is installed."""
    return importlib.util.find_spec("inspect_ai") is not None


def play_directly(cast: Cast, seed: int) -> Games:
    """The same games without Inspect."""
    played = [
        run_players([name], ["median"], setting=_SETTING, n_samples=N_SAMPLES, seed=own)
        for name, own in _seeded([*cast, *YARDSTICKS], seed)
    ]
    return Games(_as_models(Samples.union(played), cast))


@dataclass(frozen=True, eq=False)
class RunningGames:
    """Games that are under way."""

    process: subprocess.Popen[str]
    folder: Path
    cast: Cast

    def finish(self) -> Games:
        """Wait for the last game."""
        _, told = self.process.communicate()
        if self.process.returncode:
            reason = (told.strip().splitlines() or ["it gave no reason"])[-1]
            raise HowsureError(f"Inspect could not play Track the Stat: {reason} Pass --quick to play without it.")
        logs = {path.name: path.read_bytes() for path in sorted((self.folder / "logs").glob("*.eval"))}
        return Games(_as_models(read_samples([self.folder / "logs"]), self.cast), logs)


@contextmanager
def playing(cast: Cast, seed: int) -> Iterator[RunningGames]:
    """The models play through Inspect while the caller does something else."""
    with tempfile.TemporaryDirectory(prefix="howsure-demo-") as folder:
        line = [sys.executable, "-m", "howsure.tour.games", folder, str(seed), *cast, *YARDSTICKS]
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            yield RunningGames(process, Path(folder), cast)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()


def _seeded(players: Sequence[str], seed: int) -> Iterator[tuple[str, int]]:
    """Each player with a seed of its own: with one seed for all, all would err in the same turns."""
    for place, name in enumerate(players):
        yield name, _MOST_PLAYERS * seed + place


def _as_models(samples: Samples, cast: Cast) -> Samples:
    """A model's games are those of the player who stands for it."""
    kind = pl.when(pl.col("model").is_in(list(cast))).then(pl.lit("model")).otherwise("kind")
    return Samples(samples.frame.with_columns(kind.alias("kind"), pl.col("model").replace(cast)), notes=samples.notes)


def _play(folder: str, seed: str, *players: str) -> None:
    from howsure.track.running.playing import run_model

    for name, own in _seeded(players, int(seed)):
        run_model(f"howsure/{name}", out=folder, setting=_SETTING, n_samples=N_SAMPLES, seed=own)


if __name__ == "__main__":
    _play(*sys.argv[1:])
