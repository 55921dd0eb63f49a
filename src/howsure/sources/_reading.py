"""What sources share while they read: the account of files and rows, and the way through many files.

A source says how many rows it saw (`saw`) and how many it left out for which reason (`leave_out`); `howsure.sources.account` adds the
rows of the table. The account sums: rows read = rows used + rows left out.
"""

from __future__ import annotations

import csv
import gc
import gzip
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from howsure.errors import InputError
from howsure.tables.frames import FAULTS, Part, format_of

__all__ = [
    "Account",
    "FileAccount",
    "Progress",
    "accounting",
    "counted",
    "files_below",
    "fitting",
    "has_mark",
    "head",
    "json_outline",
    "keys",
    "leave_out",
    "number_attempts",
    "read_each",
    "saw",
    "uncollected",
    "unread",
]

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""

_SHOWN = 5  # files named one by one in a note; the rest are counted
_SHOWN_FOLDERS = {".eval_results"}  # hidden, but with results
_Read = TypeVar("_Read")


@dataclass(frozen=True)
class FileAccount:
    """A file or folder: which source read it and why it was recognised, or why it was not read."""

    path: Path
    source: str | None
    reason: str


@dataclass
class Account:
    """What was read, and what became of it.

    Attributes
    ----------
    files : list of FileAccount
        Every file that was found, with the source that took it, or None and the reason.
    n_read : int
        Rows in the files: samples, runs, values or comparisons.
    n_used : int
        Rows of the table.
    left_out : Counter
        Rows that are not in the table, by reason.
    table : str
        The kind of table.
    notes : tuple of str
        What the sources said beside the numbers.
    """

    files: list[FileAccount] = field(default_factory=list)
    n_read: int = 0
    n_used: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    table: str = ""
    notes: tuple[str, ...] = ()

    @property
    def n_left_out(self) -> int:
        """Rows that were left out for any reason."""
        return self.left_out.total()

    @property
    def n_unexplained(self) -> int:
        """Rows read that are neither used nor left out for a reason: 0, unless a source has a fault."""
        return self.n_read - self.n_used - self.n_left_out

    def as_dict(self) -> dict[str, Any]:
        """The account as plain values."""
        return {
            "table": self.table,
            "rows_read": self.n_read,
            "rows_used": self.n_used,
            "rows_left_out": dict(self.left_out),
            "rows_unexplained": self.n_unexplained,
            "files": [{"path": str(one.path), "source": one.source, "reason": one.reason} for one in self.files],
            "notes": list(self.notes),
        }


_current: ContextVar[Account | None] = ContextVar("account", default=None)


@contextmanager
def accounting(account: Account) -> Iterator[Account]:
    """Within the block, what sources say goes into `account`."""
    token = _current.set(account)
    try:
        yield account
    finally:
        _current.reset(token)


def saw(n: int) -> None:
    """`n` rows are in the files."""
    if account := _current.get():
        account.n_read += n


def leave_out(reason: str, n: int = 1) -> None:
    """`n` of the rows seen are not in the table."""
    if n and (account := _current.get()):
        account.left_out[reason] += n


def counted(paths: Sequence[Path], progress: Progress | None) -> Iterator[Path]:
    """The paths one by one, each once however often it is named, with `progress` told after each."""
    once = dict.fromkeys(paths)
    for done, path in enumerate(once, 1):
        yield path
        if progress:
            progress(done, len(once))


def files_below(folder: Path, closed: list[OSError] | None = None) -> Iterator[Path]:
    """All files of a folder and of the folders in it, in the order of names, but for hidden ones, pipes and devices.

    A folder in it that cannot be read goes to ``closed``, or is refused where there is no such list.
    """

    def note(error: OSError) -> None:
        if closed is None or str(error.filename) == str(folder):
            _refuse(error)
        else:
            closed.append(error)

    for root, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith(".") or name in _SHOWN_FOLDERS)
        paths = (Path(root, name) for name in sorted(names) if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def read_each(
    paths: Sequence[Path], load: Callable[[Path], _Read], *, strict: bool, progress: Progress | None
) -> tuple[list[_Read], list[str]]:
    """What `load` makes of each file, and a note on those that are damaged: they are skipped, unless ``strict``.

    Raises the first file's fault when none can be read.
    """
    loaded: list[_Read] = []
    faults: dict[Path, InputError] = {}
    for path in counted(paths, progress):
        try:
            loaded.append(load(path))
        except InputError as error:
            if strict:
                raise
            faults[path] = error
    if faults and not loaded:
        first = next(iter(faults.values()))
        rest = f" (and {len(faults) - 1:,} other files cannot be read either)" if len(faults) > 1 else ""
        raise InputError(f"{first}{rest}") from None
    told = [f"{path.name} ({str(fault).removeprefix(f'{path}: ')})" for path, fault in faults.items()]
    return loaded, unread(told, "damaged; --strict stops instead")


@contextmanager
def uncollected() -> Iterator[None]:
    """Within the block, Python looks for no cycles among objects: reading makes millions of objects and no cycles, and looking takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def unread(names: Sequence[str], why: str) -> list[str]:
    """A note that counts and names files that were not read, or none where there are none."""
    if not names:
        return []
    count = "1 file was" if len(names) == 1 else f"{len(names):,} files were"
    rest = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return [f"{count} not read ({why}): {', '.join(names[:_SHOWN])}{rest}."]


def _refuse(error: OSError) -> None:
    raise InputError(f"{error.filename}: cannot be read ({error.strerror}).")


def number_attempts(parts: Sequence[Part], *, order: str | None = None) -> list[Part]:
    """The parts with a column ``attempt``: 1, 2, … for each subject and task across the files, by `order` or as they stand."""
    frames = [part.collect(part.rows) for part in parts]
    by = [pl.col(order)] if order else []
    rows = pl.concat([frame.select("subject", "task", *by) for frame in frames]).with_row_index("#row")
    attempt = pl.int_range(1, pl.len() + 1).over("subject", "task", order_by=[*by, pl.col("#row")]).alias("attempt")
    numbers = rows.select(attempt)["attempt"]
    starts = [0]
    for frame in frames:
        starts.append(starts[-1] + len(frame))
    return [
        replace(part, rows=frame.with_columns(numbers.slice(start, len(frame))).lazy())
        for part, frame, start in zip(parts, frames, starts, strict=False)
    ]


# What a file seems to hold, from its first bytes.


_BYTES = 64 * 2**10
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*:)?|[\[{]|[\]}]|"', re.DOTALL)


def head(path: Path) -> str:
    """The beginning of a file as text, unpacked when it ends in ``.gz``; nothing when it cannot be read."""
    return _head(path, *_stamp(path))


def has_mark(path: Path, marks: Sequence[str]) -> bool:
    """Whether a file has one of the marks: an ending of its name (``.json``), or a word among its columns or first bytes, in whichever case."""
    if path.name.lower().endswith(tuple(mark for mark in marks if mark.startswith("."))):
        return True
    words = [mark for mark in marks if not mark.startswith((".", "/"))]
    return bool(words) and any(map(_folded(path, *_stamp(path)).__contains__, words))


@lru_cache(maxsize=32)
def _folded(path: Path, _size: int, _time: int) -> str:
    return ("\n".join(_columns(path)) if format_of(path) == "parquet" else head(path)).casefold()


def fitting(path: Path, layouts: Mapping[str, frozenset[str]]) -> str | None:
    """The first layout all of whose keys the file begins with."""
    there = set(keys(path)) if path.is_file() else set()
    return next((name for name, needed in layouts.items() if needed <= there), None)


def _stamp(path: Path) -> tuple[int, int]:
    """What changes when the file does; many sources look at one file after another."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return 0, 0
    return found.st_size, found.st_mtime_ns


@lru_cache(maxsize=32)
def _head(path: Path, _size: int, _time: int) -> str:
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            return stream.read(_BYTES).decode("utf-8-sig", errors="replace")
    except (OSError, EOFError, zlib.error):
        return ""


def keys(path: Path) -> tuple[str, ...]:
    """The columns of a table, or the keys of the JSON objects that a file begins with; none when there are none.

    A JSON file that is a list of objects has their keys.
    """
    return _keys(path, *_stamp(path))


@lru_cache(maxsize=256)
def _keys(path: Path, _size: int, _time: int) -> tuple[str, ...]:
    kind = format_of(path)
    if kind == "parquet":
        return _columns(path)
    text = head(path)
    if kind in ("csv", "tsv"):
        first = text.partition("\n")[0].rstrip("\r")
        try:
            return tuple(next(csv.reader([first], delimiter="\t" if kind == "tsv" else ","), ()))
        except csv.Error:
            return ()
    return _json_keys(text)


def _columns(path: Path) -> tuple[str, ...]:
    try:
        return tuple(pl.read_parquet_schema(path))
    except FAULTS:
        return ()


def _json_keys(text: str) -> tuple[str, ...]:
    return tuple(json_outline(text.lstrip().removeprefix("[")))


def json_outline(text: str) -> dict[str, tuple[str, ...]]:
    """Top-level keys of all objects, each with the keys of the object in it, as far as the text goes.

    The text may be pretty-printed, or break off anywhere.
    """
    found: dict[str, dict[str, None]] = {}
    inner: dict[str, None] = {}
    depth = 0
    for token in _TOKEN.finditer(text):
        mark = token[0][0]
        if token[0] == '"':  # all that follows is inside a text that the end of the bytes cut off
            break
        if mark == '"':
            if depth == 1 and token[2]:
                inner = found.setdefault(token[1], {})
            elif depth == 2 and token[2]:
                inner[token[1]] = None
        else:
            depth += 1 if mark in "[{" else -1
    return {key: tuple(names) for key, names in found.items()}
