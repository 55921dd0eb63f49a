"""The account of a reading: which files were read, and what became of every row.

A source says how many rows it saw (`saw`) and how many it left out for which reason (`leave_out`); `howsure.sources.account` adds the
rows of the table. The account sums: rows read = rows used + rows left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Account", "FileAccount", "accounting", "leave_out", "saw"]


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
