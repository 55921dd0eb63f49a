"""What claims are checked on: one table of each kind, from inputs that may be of several kinds."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from howsure.claims.claim_files import Claim, ClaimFile
from howsure.errors import InputError
from howsure.horizon.time_horizon.published import read_releases
from howsure.sources import metr
from howsure.study.agreement import read_ratings
from howsure.tables import Attempts, Ratings, Scores, Table
from howsure.tables.frames import format_of, parts_of
from howsure.track.running.logs import FILE, read_samples
from howsure.track.samples import Samples

__all__ = ["KEYS", "ClaimData", "tables_of"]

Reader: TypeAlias = Callable[[list[Any], "str | None"], Table]
"""Reads inputs as one table, the named one where they can be read so."""

_NEEDED = {
    "level": ("attempts",),
    "difference": ("attempts",),
    "rank": ("attempts",),
    "horizon": ("attempts",),
    "trend": ("attempts",),
    "scale": ("scores",),
    "agreement": ("ratings",),
    "corrected rate": ("attempts", "ratings"),
    "turns": ("games",),
}
_TABLES: Mapping[str, type[Table]] = {"attempts": Attempts, "scores": Scores, "ratings": Ratings, "games": Samples}
_ROWS = {
    "attempts": "attempts (subject, task, score)",
    "scores": "scores (model, benchmark, score)",
    "ratings": "ratings (rater, item, dimension, value)",
    "games": f"games of Track the Stat ({FILE} or a folder of a run)",
}
KEYS = {
    "attempts": ("subject", "task"),
    "scores": ("model", "benchmark"),
    "ratings": ("rater", "item"),
    "games": ("model", "seed"),
}
"""The columns of each table that name who and what a row is about."""

_RELEASED = {"released", "release_date", "date"}
_NOT_RELEASES = {"score", "task", "benchmark", "minutes", "value"}


def tables_of(claims: Iterable[Claim]) -> tuple[str, ...]:
    """The tables that claims need: ``attempts``, ``scores``, ``ratings``, ``games``."""
    return tuple(dict.fromkeys(name for claim in claims for name in _NEEDED[claim.kind]))


@dataclass(frozen=True, eq=False)
class ClaimData:
    """The tables that claims are checked on, at most one of each kind, and release dates by model."""

    attempts: Attempts | None = None
    scores: Scores | None = None
    ratings: Ratings | None = None
    games: Samples | None = None
    releases: Mapping[str, datetime.date] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Any, file: ClaimFile, read: Reader | None = None) -> ClaimData:
        """The tables that a file of claims needs.

        Parameters
        ----------
        source : table, frame, path, or several of them
            Attempts, scores, ratings, games, and for trends a table of model and released.
        file : ClaimFile
            The claims.
        read : callable, optional
            How files are read; by default `howsure.read`.
        """
        if isinstance(source, cls):
            return source
        wanted = tables_of(file.claims)
        releases: dict[str, datetime.date] = {}
        found: dict[str, list[Any]] = {}
        others: list[Any] = []
        for piece in source if isinstance(source, list | tuple) else [source]:
            if isinstance(piece, Table):
                found.setdefault(_name_of(piece), []).append(piece)
            elif "attempts" in wanted and _is_releases(piece):
                releases |= read_releases(piece)
            else:
                others.append(piece)
        if others and len(wanted) == 1:
            found.setdefault(wanted[0], []).append(_read_one(others, wanted[0], read))
        else:
            for piece in others:
                table = _read_any(piece, wanted, read)
                found.setdefault(_name_of(table), []).append(table)
        joined: dict[str, Any] = {name: _TABLES[name].union(several) for name, several in found.items()}
        return cls(**joined, releases=releases)

    @property
    def tables(self) -> dict[str, Table]:
        """The tables that are there, by name."""
        held = {"attempts": self.attempts, "scores": self.scores, "ratings": self.ratings, "games": self.games}
        return {name: table for name, table in held.items() if table is not None}

    def need(self, claim: Claim) -> list[Any]:
        """The tables of a claim's kind, in the order of its kind."""
        there = self.tables
        for name in _NEEDED[claim.kind]:
            if name not in there:
                raise InputError(f"{claim} It needs {_ROWS[name]}, and no input has them.")
        return [there[name] for name in _NEEDED[claim.kind]]

    @property
    def digest(self) -> str:
        """That of the table, or of all of them together."""
        parts = [table.digest for table in self.tables.values()]
        if self.releases:
            parts.append(repr(sorted(self.releases.items())))
        return parts[0] if len(parts) == 1 else hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed while reading."""
        return tuple(note for table in self.tables.values() for note in table.notes)


def _name_of(table: Table) -> str:
    for name, kind in _TABLES.items():
        if isinstance(table, kind):
            return name
    raise InputError(f"Claims cannot be checked on {type(table).__name__.lower()}.")


def _read_one(pieces: list[Any], wanted: str, read: Reader | None) -> Table:
    """All inputs as the one table that is wanted."""
    if wanted == "games":
        is_files = all(isinstance(piece, str | os.PathLike) for piece in pieces)
        return read_samples(pieces) if is_files else Samples.union([Samples.of(piece) for piece in pieces])
    if wanted == "ratings":
        return Ratings.union([read_ratings(piece, categories=True) for piece in pieces])
    if read is None:
        return _TABLES[wanted].of(pieces if len(pieces) > 1 else pieces[0])
    table = read(pieces, wanted)
    if not isinstance(table, _TABLES[wanted]):
        held = type(table).__name__.lower()
        raise InputError(f"{pieces[0]}: contains {held}, and these claims need {_ROWS[wanted]}.")
    return table


def _read_any(piece: Any, wanted: Sequence[str], read: Reader | None) -> Table:
    """One input as the table that it is, or as one of those that are wanted."""
    if "games" in wanted and _is_games(piece):
        return read_samples([piece])
    if read is None:
        from howsure import sources

        def read(paths: list[Any], name: str | None) -> Table:
            return sources.read(paths, wanted=name)

    table = read([piece], None)
    if isinstance(table, Ratings):
        return read_ratings(table, categories=True)
    if _name_of(table) not in wanted:
        for name in wanted:
            if name not in ("games", "ratings") and isinstance(other := read([piece], name), _TABLES[name]):
                return other
    return table


def _names_in(piece: Any) -> set[str]:
    """The columns of a file of rows; none of anything else."""
    if not isinstance(piece, str | os.PathLike) or not Path(piece).is_file() or format_of(Path(piece)) is None:
        return set()
    try:
        return {name.strip().lower() for name in parts_of(piece)[0].rows.collect_schema().names()}
    except (InputError, pl.exceptions.PolarsError):
        return set()


def _is_releases(piece: Any) -> bool:
    if isinstance(piece, str | os.PathLike) and Path(piece).suffix.lower() in (".yaml", ".yml"):
        return (metr.recognise(Path(piece)) or "release dates").endswith("release dates")
    names = _names_in(piece)
    return "model" in names and bool(names & _RELEASED) and not names & _NOT_RELEASES


def _is_games(piece: Any) -> bool:
    if isinstance(piece, str | os.PathLike) and Path(piece).is_dir():
        return any(Path(piece).rglob(FILE))
    return {"variant", "seed", "max_length"} <= _names_in(piece)
