"""Answers in SQLite: on the disk before anyone is thanked."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from howsure.errors import InputError

__all__ = ["ANSWERS", "Final", "Store"]

ANSWERS = "answers.sqlite"
_TABLES = """
create table if not exists drafts (rater text primary key, page text, saves integer, text text, saved text);
create table if not exists finals (rater text primary key, page text, digest text, text text, receipt text, received text);
"""


@dataclass(frozen=True)
class Final:
    """One rater's final answers as they came, and the receipt that was given for them."""

    rater: str
    page: str
    digest: str
    text: str
    receipt: str
    received: str


class Store:
    """Drafts and final answers by rater; safe to use from several threads and, through SQLite, several processes."""

    def __init__(self, path: Path) -> None:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives its side files the same mode
        except OSError as error:
            raise _unwritable(path, error.strerror or str(error)) from None
        self._lock = threading.Lock()
        self._base = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=20)
        try:
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = full")
            self._base.executescript(_TABLES)
        except sqlite3.OperationalError as error:
            raise _unwritable(path, str(error)) from None
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path}: not a store of answers ({error}). Move it away to start a new one.") from None

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def draft(self, rater: str) -> str | None:
        """The latest draft of a rater."""
        with self._lock:
            row = self._base.execute("select text from drafts where rater = ?", (rater,)).fetchone()
        return row[0] if row else None

    def keep_draft(self, rater: str, page: str, saves: int, text: str) -> bool:
        """Keep a draft unless a later one or the final answers are there; says whether it (or just the same) is kept now."""
        with self._transaction():
            if self._base.execute("select 1 from finals where rater = ?", (rater,)).fetchone():
                return False
            row = self._base.execute("select saves, text from drafts where rater = ?", (rater,)).fetchone()
            if row and row[0] >= saves:
                return bool(row[1] == text)
            self._base.execute("replace into drafts values (?, ?, ?, ?, ?)", (rater, page, saves, text, _now()))
            return True

    def final(self, rater: str) -> Final | None:
        """The final answers of a rater."""
        with self._lock:
            row = self._base.execute("select * from finals where rater = ?", (rater,)).fetchone()
        return Final(*row) if row else None

    def keep_final(self, rater: str, page: str, digest: str, text: str) -> Final:
        """Keep the first final answers of a rater and give back what is kept: the caller compares the digests."""
        new = (rater, page, digest, text, secrets.token_hex(6), _now())
        with self._transaction():
            self._base.execute("insert into finals values (?, ?, ?, ?, ?, ?) on conflict do nothing", new)
            return Final(*self._base.execute("select * from finals where rater = ?", (rater,)).fetchone())

    def finals(self) -> list[Final]:
        """All final answers, in the order in which they came."""
        with self._lock:
            return [Final(*row) for row in self._base.execute("select * from finals order by received, rater")]

    def pages(self) -> dict[str, str]:
        """Which page each rater has begun or finished, by digest."""
        with self._lock:
            return dict(self._base.execute("select rater, page from drafts union select rater, page from finals"))

    def drafts(self) -> dict[str, tuple[str, str]]:
        """The latest draft of every rater, and when it came."""
        with self._lock:
            rows = self._base.execute("select rater, text, saved from drafts").fetchall()
        return {rater: (text, saved) for rater, text, saved in rows}

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._base.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._base.execute("rollback")
                raise
            self._base.execute("commit")


def _unwritable(path: Path, why: str) -> InputError:
    return InputError(f"{path}: cannot be written ({why}). Copy the pages to a folder that you may write to.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
