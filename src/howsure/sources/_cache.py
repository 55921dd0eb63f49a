"""Readings that are kept, so that a second reading of unchanged files takes no time.

What is kept is the finished table and the account. A reading is found again by everything that it depends on: Howsure's own readers, the
options, and of every file its path, size, time of change in nanoseconds and, for archives, the directory with the checksums of its
members. Files that changed in the last two seconds are not kept, since a second change might leave the same time. Texts are not kept.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from howsure._version import __version__
from howsure.errors import HowsureError
from howsure.safe_io import cache_folder
from howsure.sources._reading import Account, FileAccount
from howsure.tables import TABLES, Table
from howsure.tables.frames import FAULTS

__all__ = ["folder", "key", "load", "save"]

MOST_BYTES = 512 * 2**20
"""Kept readings take at most this much; the oldest go first."""

_LAYOUT = 2  # changes with what tables hold; readings of another layout are not used
_SETTLED = 2.0  # seconds since the last change
_HALF_WRITTEN_SECONDS = 3600.0  # no reading takes longer to write
_LONGEST_TEXT = 300  # characters; a longer value is a text, not a name
_MOST_ROWS = 5_000_000
_ARCHIVES = (".eval", ".zip")
_END = struct.Struct("<4s4H2LH")  # the end record of a zip file
_MARK = b"PK\x05\x06"


def folder() -> Path:
    """Where readings are kept."""
    return cache_folder() / "readings"


def key(files: Iterable[FileAccount], options: Mapping[str, Any]) -> str | None:
    """What names the reading of these files with these options, or None if it must not be kept."""
    made = hashlib.blake2b(digest_size=20)
    made.update(repr((__version__, _LAYOUT, _readers(), sorted(options.items()))).encode(errors="replace"))
    now = time.time()
    try:
        for one in files:
            for path in sorted(one.path.rglob("*")) if one.path.is_dir() else [one.path]:
                found = path.stat()
                if now - found.st_mtime < _SETTLED:
                    return None
                made.update(
                    repr((str(path.absolute()), one.source, found.st_size, found.st_mtime_ns, found.st_ino)).encode(
                        errors="replace"
                    )
                )
                if path.suffix.lower() in _ARCHIVES:
                    made.update(_directory(path, found.st_size))
    except (OSError, ValueError):  # a link to nothing, or a file that was removed meanwhile
        return None
    return made.hexdigest()


def load(name: str) -> tuple[Table, Account] | None:
    """The reading of this name; None if there is none, or if what is there cannot be used."""
    path = folder() / f"{name}.reading"
    try:
        if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
            return None  # someone else wrote it, who can write anything into it
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        held = json.loads(data[8 : 8 + size])
        frame = pl.read_parquet(io.BytesIO(data[8 + size :]))
        account = Account(
            files=[FileAccount(Path(one), source, reason) for one, source, reason in held["files"]],
            n_read=held["n_read"],
            n_used=held["n_used"],
            left_out=Counter(held["left_out"]),
            table=held["table"],
            notes=tuple(held["notes"]),
        )
        table = TABLES[held["table"]](frame)
        table.notes = account.notes
        os.utime(path)
    except (OSError, ValueError, LookupError, TypeError, RecursionError, *FAULTS, HowsureError):
        return None
    return (table, account) if len(table) == account.n_used else None


def save(name: str, table: Table, account: Account) -> None:
    """Keep a reading, if it has no texts and a reasonable size; a disk that is full or closed is no error."""
    frame = table.frame
    if len(frame) > _MOST_ROWS or _has_texts(frame):
        return
    held = json.dumps(
        {
            "files": [(str(one.path), one.source, one.reason) for one in account.files],
            "n_read": account.n_read,
            "n_used": account.n_used,
            "left_out": account.left_out,
            "table": account.table,
            "notes": account.notes,
        }
    ).encode()
    rows = io.BytesIO()
    frame.write_parquet(rows, compression="lz4")
    with suppress(OSError):
        home = folder()
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=home, suffix=".part")  # readable by its owner alone
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(len(held).to_bytes(8, "little") + held + rows.getvalue())
            Path(temporary).replace(home / f"{name}.reading")
        finally:
            Path(temporary).unlink(missing_ok=True)
        _shrink(home)


def _shrink(home: Path) -> None:
    """Remove the readings that were not used for longest, and what runs that were killed left half-written."""
    for path in home.glob("*.part"):
        if time.time() - path.stat().st_mtime > _HALF_WRITTEN_SECONDS:
            path.unlink(missing_ok=True)
    kept = sorted(home.glob("*.reading"), key=lambda path: path.stat().st_mtime, reverse=True)
    total = 0
    for path in kept:
        total += path.stat().st_size
        if total > MOST_BYTES:
            path.unlink(missing_ok=True)


def _has_texts(frame: pl.DataFrame) -> bool:
    texts = frame.select(pl.col(pl.String).str.len_chars().max())
    return any((texts[name][0] or 0) > _LONGEST_TEXT for name in texts.columns)


def _directory(path: Path, size: int) -> bytes:
    """A hash of a zip file's directory, which has the checksum of each member."""
    with path.open("rb") as stream:
        stream.seek(max(0, size - 65_557))
        tail = stream.read()
        place = tail.rfind(_MARK)
        if place < 0 or len(tail) - place < _END.size:
            return hashlib.blake2b(tail, digest_size=16).digest()
        length, offset = _END.unpack_from(tail, place)[5:7]
        start = len(tail) - (size - offset)
        if start < 0:  # longer than the tail; a file beyond 4 GB says so elsewhere, and its tail must do
            stream.seek(min(offset, size))
            return (
                hashlib.blake2b(stream.read(length), digest_size=16).digest()
                + hashlib.blake2b(tail, digest_size=16).digest()
            )
        return hashlib.blake2b(tail[start:], digest_size=16).digest()


@cache
def _readers() -> str:
    """What changes when Howsure's readers do."""
    here = Path(__file__).parent
    files = sorted(
        [*here.glob("*.py"), *here.glob("*.yaml"), *(here.parent / "tables").glob("*.py"), here.parent / "safe_io.py"]
    )
    return repr([(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files])
