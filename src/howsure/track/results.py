"""From games to figures: how many turns each solver lasts, how sure that is, how it fails and what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.estimates import Estimate
from howsure.frames import write_frame
from howsure.results import Provenance, plain, write_json
from howsure.stats.means import mean
from howsure.track.gains import Gain, gains
from howsure.track.game import ERROR_KINDS
from howsure.track.resampling import REPLICATES, median_turns, stddev_turns
from howsure.track.samples import DIRECT, GROUP, Samples
from howsure.track.survival import Lasting, lasting
from howsure.track.yardsticks import Board, Yardstick, boards, yardsticks

if TYPE_CHECKING:
    from altair.typing import ChartType

__all__ = ["COMPLETE", "Results", "Row", "Usage", "measure"]

COMPLETE = "none"
"""How games end that have no error."""

_LONG_REPLY = 25  # tokens a turn; an answer in its brackets takes 5 to 10


@dataclass(frozen=True)
class Usage:
    """Tokens of all samples of a row, the broken-off ones too; None where nobody counted."""

    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    n_turns: int

    @property
    def total_tokens(self) -> int | None:
        """Read and written."""
        known = self.input_tokens, self.output_tokens
        return None if None in known else sum(known)  # type: ignore[arg-type]

    @property
    def written_each_turn(self) -> float | None:
        """Tokens written in a turn, hidden reasoning too."""
        return None if self.output_tokens is None else self.output_tokens / self.n_turns


@dataclass(frozen=True)
class Row:
    """One model with one solver on one variant.

    ``average``, ``stddev``, ``median``, ``largest``, ``smallest`` are of the number of right turns, and ``violation_rate`` is the share of games that a
    malformed reply ended. ``n_failed`` samples were broken off by no fault of the model and count in nothing but ``usage``.
    """

    model: str
    solver: str
    variant: str
    setting: str
    length: int
    kind: str
    n: int
    n_failed: int
    average: Estimate
    stddev: Estimate
    median: Estimate
    largest: int | None
    smallest: int | None
    violation_rate: Estimate
    lasting: Lasting | None
    errors: Mapping[str, int]
    usage: Usage

    def metrics(self) -> dict[str, Any]:
        """The eval's metrics under their published names, with the ends of their intervals."""
        told: dict[str, Any] = {
            "avg_max_length": self.average.value,
            "low": self.average.low,
            "high": self.average.high,
        }
        told |= _with_ends("stddev_max_length", self.stddev) | _with_ends("median_max_length", self.median)
        told |= {"max_max_length": self.largest, "min_max_length": self.smallest}
        return told | _with_ends("violation_rate", self.violation_rate)


@dataclass(frozen=True)
class Results:
    """All rows, what showing the state brings, what to compare with, and what made them."""

    rows: tuple[Row, ...]
    gains: tuple[Gain, ...]
    yardsticks: tuple[Yardstick, ...]
    samples: Samples
    provenance: Provenance

    @property
    def level(self) -> float:
        """The intervals' level."""
        return float(self.provenance.settings["level"])

    @property
    def boards(self) -> list[Board]:
        """What was played."""
        return boards(self.samples)

    def on(self, board: Board) -> list[Row]:
        """The rows of one board."""
        return [row for row in self.rows if Board(row.variant, row.setting, row.length) == board]

    def to_frame(self) -> pl.DataFrame:
        """One row a model, solver and variant: the six metrics, the ends of their intervals, n and n_failed."""
        told = [_key(row) | row.metrics() | {"n": row.n, "n_failed": row.n_failed} for row in self.rows]
        return pl.DataFrame(told, infer_schema_length=None)

    def survival_frame(self) -> pl.DataFrame:
        """The survival curves."""
        return _stacked((row, row.lasting.to_frame()) for row in self.rows if row.lasting)

    def hazard_frame(self) -> pl.DataFrame:
        """The chance to fail in one turn, by stretches of turns."""
        told = [
            _key(row)
            | {"first": h.first, "last": h.last}
            | _with_ends("hazard", h.chance)
            | {"errors": h.n_errors, "turns": h.n_turns}
            for row in self.rows
            if row.lasting
            for h in row.lasting.hazards
        ]
        return pl.DataFrame(told, infer_schema_length=None)

    def as_dict(self) -> dict[str, Any]:
        """The whole result as plain JSON."""
        told = {"rows": [_told(row) for row in self.rows], "gains": self.gains, "yardsticks": self.yardsticks}
        return dict(plain(told | {"provenance": self.provenance}))

    def charts(self) -> dict[str, ChartType]:
        """Averages, survival curves and kinds of errors of every board, by the name of their file."""
        from howsure.track.charts import draw_averages, draw_errors, draw_survival

        drawers = {"averages": draw_averages, "survival": draw_survival, "errors": draw_errors}
        return {
            f"{name}-{label}": draw(self, board)
            for label, board in _labelled(self.boards).items()
            if any(row.n for row in self.on(board))
            for name, draw in drawers.items()
        }

    def save(self, folder: Path) -> list[Path]:
        """Write track.csv, samples.csv, survival.csv, hazard.csv and track.json."""
        frames = {"track": self.to_frame(), "samples": self.samples.frame}
        if any(row.lasting for row in self.rows):
            frames |= {"survival": self.survival_frame(), "hazard": self.hazard_frame()}
        written = [write_frame(frame, folder / f"{name}.csv") for name, frame in frames.items()]
        return [*written, write_json(self.as_dict(), folder / "track.json")]


def measure(samples: Samples, *, level: float = 0.95, seed: int = 0) -> Results:
    """Every model, solver and variant measured.

    Games with the same sequence belong together: intervals are clustered by it. Those of the average and the violation rate are score intervals
    (`howsure.stats.means.mean`); those of the standard deviation and the median come from resamples of the sequences, drawn with `seed`
    (`howsure.track.resampling`). The largest and the smallest are facts about these games and have none.
    """
    parts = samples.frame.group_by(GROUP, maintain_order=True)
    rows = tuple(_row(part, level, seed) for _, part in parts)
    settings = {"level": level, "replicates": REPLICATES}
    notes = [note for row in rows for note in _notes(row)]
    provenance = Provenance.of(samples, seed=seed, notes=notes, **settings)
    return Results(rows, gains(samples, level=level), yardsticks(samples, level=level), samples, provenance)


def _row(part: pl.DataFrame, level: float, seed: int) -> Row:
    first = part.row(0, named=True)
    played = part.filter(pl.col("failure").is_null())
    n, length = len(played), first["length"]
    turns, seeds = played["max_length"].to_numpy().astype(np.float64), played["seed"].to_numpy()
    return Row(
        **{name: first[name] for name in (*GROUP, "kind")},
        n=n,
        n_failed=len(part) - n,
        average=mean(turns, seeds, level=level, bounds=(0, length)).estimate,
        stddev=stddev_turns(turns, seeds, length=length, level=level, seed=seed),
        median=median_turns(turns, seeds, level=level, seed=seed),
        largest=int(turns.max()) if n else None,
        smallest=int(turns.min()) if n else None,
        violation_rate=mean(played["violation"].to_numpy(), seeds, level=level).estimate,
        lasting=lasting(turns.astype(int).tolist(), length, level=level) if n else None,
        errors=_errors(played),
        usage=_usage(part),
    )


def _errors(played: pl.DataFrame) -> dict[str, int]:
    counts = dict(played["error_kind"].fill_null(COMPLETE).value_counts().iter_rows())
    return {kind: counts.get(kind, 0) for kind in (*ERROR_KINDS, COMPLETE)}


def _usage(part: pl.DataFrame) -> Usage:
    asked = part.select(pl.min_horizontal(pl.col("max_length") + 1, "length").sum()).item()
    read, written, reasoned = (_total(part, name) for name in ("input_tokens", "output_tokens", "reasoning_tokens"))
    return Usage(read, written, reasoned, asked)


def _total(part: pl.DataFrame, name: str) -> int | None:
    return int(part[name].sum()) if name in part.columns and part[name].count() else None


def _notes(row: Row) -> list[str]:
    name, notes = f"{row.model} ({row.solver}, {row.variant})", []
    if row.n_failed:
        notes.append(
            f"{name}: {row.n_failed} of {row.n + row.n_failed} samples were broken off by no fault of the model and left out."
        )
    written = row.usage.written_each_turn
    if row.solver == DIRECT and row.usage.reasoning_tokens:
        notes.append(
            f"{name}: reasons before it answers, so it may keep the state there in writing. Read its figures as explicit tracking."
        )
    elif row.solver == DIRECT and written is not None and written > _LONG_REPLY:
        notes.append(
            f"{name}: writes {written:.0f} tokens a turn, more than an answer takes; it may keep the state in writing. Forbid it with --brief."
        )
    return notes


def _key(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in GROUP}


def _with_ends(name: str, estimate: Estimate) -> dict[str, float | None]:
    short = name.removesuffix("_max_length").removesuffix("_rate")
    return {name: estimate.value, f"{short}_low": estimate.low, f"{short}_high": estimate.high}


def _stacked(parts: Iterable[tuple[Row, pl.DataFrame]]) -> pl.DataFrame:
    labelled = [
        frame.select(*(pl.lit(value).alias(name) for name, value in _key(row).items()), pl.all())
        for row, frame in parts
    ]
    return pl.concat(labelled)


def _labelled(listed: list[Board]) -> dict[str, Board]:
    """Boards by their variant, numbered where it was played under several conditions."""
    counts = Counter(board.variant for board in listed)
    seen: Counter[str] = Counter()
    labelled = {}
    for board in listed:
        seen[board.variant] += 1
        labelled[board.variant if counts[board.variant] == 1 else f"{board.variant}-{seen[board.variant]}"] = board
    return labelled


def _told(row: Row) -> dict[str, Any]:
    shown = {name: value for name, value in vars(row).items() if name != "lasting"}
    if row.lasting:
        shown |= {
            "median_survival": row.lasting.median,
            "restricted_mean": row.lasting.restricted_mean,
            "hazards": row.lasting.hazards,
        }
    return shown | {"total_tokens": row.usage.total_tokens}
