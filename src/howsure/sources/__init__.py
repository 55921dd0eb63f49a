"""Foreign formats, one file each: what it is recognised by, and how it becomes a table.

A source is a module with

- ``ABOUT``: one line for people;
- ``OPTIONS``: the reading options it understands beside ``divide_by`` and ``progress``;
- ``recognise(path) -> str | None``: why this file or folder is of this format, or None; looks at names and a few bytes only;
- ``read(paths, *, divide_by=1, progress=None, **options) -> Table``: everything it recognised, as one checked table
  whose ``notes`` say what was left out and why.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from howsure.errors import InputError, OptionError
from howsure.tables import Table
from howsure.tables.frames import expand

__all__ = ["SOURCES", "Progress", "Recognised", "Source", "convert", "read", "recognise", "source"]

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""

SOURCES = ("inspect_logs", "lm_eval", "openai_evals", "epoch", "metr", "files")
"""In the order in which they are asked; `files` takes what no other recognises."""


class Source(Protocol):
    """What every module here offers."""

    ABOUT: str
    OPTIONS: frozenset[str]

    def recognise(self, path: Path) -> str | None:
        """Why this path is of this format, or None."""

    def read(
        self, paths: Sequence[Path], *, divide_by: float = 1, progress: Progress | None = None, **options: Any
    ) -> Table:
        """One checked table of all the paths."""


@dataclass(frozen=True)
class Recognised:
    """Which format a path is in, and why we think so."""

    path: Path
    source: str
    reason: str


def source(name: str) -> Source:
    """The source called `name`."""
    if name not in SOURCES:
        raise OptionError.unknown("source", name, SOURCES)
    return cast("Source", importlib.import_module(f"howsure.sources.{name}"))


def recognise(path: Path) -> Recognised:
    """Which source takes this path, and why."""
    for name in SOURCES:
        reason = source(name).recognise(path)
        if reason:
            return Recognised(path, name, reason)
    raise InputError(
        f"{path}: not recognised as any of {', '.join(SOURCES)}. Name the format with --source, or convert the file to csv."
    )


def read(
    paths: str | Path | Iterable[str | Path],
    *,
    source_name: str | None = None,
    divide_by: float = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Table:
    """Files, folders or globs in any format that Howsure knows, as one checked table.

    Parameters
    ----------
    paths : str, path, or several of them
        Inputs of one kind; several are joined.
    source_name : str, optional
        The format, one of `SOURCES`; without it, the format is recognised.
    divide_by : float, default 1
        Scores are divided by this number, which brings them to 0–1.
    progress : callable, optional
        Called with the amount that is done and the total amount.
    **options
        Further options of the format, such as ``scorer`` and ``family`` for Inspect logs, or ``table``, ``rename`` and ``fill`` for files.

    Returns
    -------
    Table
        `Attempts`, `Scores` or `Ratings`; its ``notes`` say what was not read and why.

    Raises
    ------
    InputError
        If a file is damaged or has wrong values; the message names file, line, column and value.
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    found = [_taken(path, source_name) for pattern in listed for path in expand(pattern)]
    by_source: dict[str, list[Path]] = {}
    for one in found:
        by_source.setdefault(one.source, []).append(one.path)
    given = {name: value for name, value in options.items() if value}
    _refuse_unused(given, by_source)
    tables = [
        source(name).read(taken, divide_by=divide_by, progress=progress, **_understood(name, given))
        for name, taken in by_source.items()
    ]
    return _joined(tables)


def convert(paths: str | Path | Iterable[str | Path], out: str | Path, **options: Any) -> Table:
    """Read files in any format that Howsure knows, write them as one checked table, and return it.

    Parameters
    ----------
    paths : str, path, or several of them
        As in `read`.
    out : str or path
        The file to write: csv, tsv, jsonl or parquet by its ending (text also with ``.gz``).
    **options
        As in `read`.
    """
    table = read(paths, **options)
    table.write(out)
    return table


def _taken(path: Path, source_name: str | None) -> Recognised:
    return Recognised(path, source_name, "as asked") if source_name else recognise(path)


def _understood(name: str, options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key in source(name).OPTIONS}


def _refuse_unused(options: dict[str, Any], names: Iterable[str]) -> None:
    for option in options.keys() - {"strict"}:  # holds for all; a source that reads one file has nothing to skip
        if not any(option in source(name).OPTIONS for name in names):
            raise OptionError(
                f"--{option.replace('_', '-')} means nothing to {' and '.join(names)} input; leave it out."
            )


def _joined(tables: list[Table]) -> Table:
    if not tables:
        raise InputError("No input was given.")
    kinds = {type(table).__name__ for table in tables}
    if len(kinds) > 1:
        raise InputError(f"The inputs are of different kinds ({' and '.join(sorted(kinds))}); read them apart.")
    return type(tables[0]).union(tables)
