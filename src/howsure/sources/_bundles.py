"""Csv tables that come together, in a folder or in a zip."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

import polars as pl

from howsure.errors import InputError
from howsure.safe_io import Archive
from howsure.tables.frames import parts_of

__all__ = ["Bundle", "table_names"]

_BOM = b"\xef\xbb\xbf"  # put before bytes that look compressed, it keeps polars from unpacking them without a bound


class Bundle:
    """The csv tables of a folder or a zip, by name; all their columns are text. Nothing is extracted.

    ``is_ours`` knows a table by its name: in a zip, those beside the first such table count, in whichever folder they are.
    """

    def __init__(self, path: Path, is_ours: Callable[[str], bool]) -> None:
        self.path = path
        self._archive = None if path.is_dir() else Archive(path)
        self._members = _members(self._archive.names, is_ours) if self._archive else dict.fromkeys(_in_folder(path), "")

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_: object) -> None:
        if self._archive:
            self._archive.__exit__()

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @property
    def names(self) -> list[str]:
        """The tables, sorted."""
        return list(self._members)

    def read(self, name: str) -> pl.DataFrame:
        """One table."""
        if self._archive is None:
            part = parts_of(self.path / name)[0]
            return part.collect(part.rows)
        data = self._archive.read(self._members[name])
        try:
            return pl.read_csv(_BOM + data.removeprefix(_BOM), infer_schema=False)
        except pl.exceptions.PolarsError as error:
            why = str(error).splitlines()[0].rstrip(".")
            raise InputError(f"{self.path}: {name} in it is not a csv table ({why}). Make or fetch it again.") from None


def table_names(path: Path, is_ours: Callable[[str], bool]) -> list[str]:
    """The names of the tables that a `Bundle` of this path would have; none when it is neither folder nor zip."""
    if path.is_dir():
        return _in_folder(path)
    if path.suffix.lower() != ".zip":
        return []
    try:
        with Archive(path) as archive:
            return list(_members(archive.names, is_ours))
    except InputError:
        return []


def _in_folder(path: Path) -> list[str]:
    files = (entry.name for entry in path.iterdir() if entry.is_file())
    return sorted(name for name in files if name.endswith(".csv") and not name.startswith("."))


def _members(listed: Iterable[str], is_ours: Callable[[str], bool]) -> dict[str, str]:
    paths = [PurePosixPath(member) for member in listed if member.endswith(".csv")]
    paths = sorted(path for path in paths if not path.name.startswith("."))
    homes = (path.parent for path in paths if is_ours(path.name))
    home = min(homes, key=lambda folder: len(folder.parts), default=PurePosixPath())
    return {path.name: str(path) for path in paths if path.parent == home}
