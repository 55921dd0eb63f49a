"""What to compare with: guessing (exactly), the players that need no model, and people."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from howsure.estimates import Estimate
from howsure.stats._arrays import normal_quantile
from howsure.track.game.guessing import expected_random
from howsure.track.game.sequence import LENGTH, STANDARD, Setting
from howsure.track.samples import DIRECT, Samples
from howsure.track.survival import average_turns

__all__ = ["GUESSING", "PEOPLE", "Baseline", "Board", "baselines", "boards"]

GUESSING, PEOPLE = "random (exact)", "people"


@dataclass(frozen=True)
class Board:
    """What is played: results on different boards cannot be compared."""

    variant: str
    setting: str
    length: int

    @property
    def title(self) -> str:
        """The board in words."""
        conditions = [f"{self.length} numbers"] if self.length != LENGTH else []
        conditions += [self.setting] if self.setting != STANDARD else []
        return ", ".join([self.variant, *conditions])


@dataclass(frozen=True)
class Baseline:
    """An average number of correct answers to compare with.

    For guessing it is exact, and the interval is where the average of one run of ``random`` would lie; for others it is measured.
    """

    board: Board
    name: str
    average: Estimate


def boards(samples: Samples) -> list[Board]:
    """What was played, in the order of the samples."""
    return [
        Board(*row) for row in samples.frame.select("variant", "setting", "length").unique(maintain_order=True).rows()
    ]


def baselines(samples: Samples, *, level: float = 0.95) -> tuple[Baseline, ...]:
    """Guessing, baselines and people on every board that was played."""
    found: list[Baseline] = []
    for board in boards(samples):
        games = samples.frame.filter(**vars(board))
        found.append(Baseline(board, GUESSING, _guessing(board, games["seed"].unique().sort().to_list(), level)))
        players = games.filter(pl.col("kind") == "baseline", pl.col("solver") == DIRECT)
        for (name,), part in players.group_by("model", maintain_order=True):
            found.append(Baseline(board, str(name), average_turns(part, level=level)[0]))
        people = games.filter(pl.col("kind") == "human")
        if len(people):
            # two people on one sequence differ more than one person on two
            if people["model"].n_unique() > 1:
                people = people.with_columns(pl.col("model").rank("dense").cast(pl.Int64).alias("seed"))
            found.append(Baseline(board, PEOPLE, average_turns(people, level=level)[0]))
    return tuple(found)


def _guessing(board: Board, seeds: list[int], level: float) -> Estimate:
    exact = expected_random(board.variant, seeds, Setting.of(board.setting, board.length))
    reach = normal_quantile(level) * exact.run_sd
    return Estimate(exact.average, max(exact.average - reach, 0.0), exact.average + reach, level)
