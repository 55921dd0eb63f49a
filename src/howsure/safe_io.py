"""Files, read within bounds and written whole or not at all."""

from __future__ import annotations

import gzip
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from howsure.errors import InputError

__all__ = ["Archive", "atomic_path", "gunzip", "read_bytes", "write_atomic"]

_FREE_BYTES = 256 * 2**20  # below this no ratio is suspicious
_HIGHEST_RATIO = 200  # JSON logs shrink 20 to 50 times; a bomb 1,000 times
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, RuntimeError)
_ZSTANDARD = 93  # the zip method of Inspect's logs, which zipfile learns only in Python 3.14


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` that becomes it when the block ends well, and vanishes when it does not.

    The temporary name keeps the suffix, for writers that look at it.
    """
    target = Path(path)
    _make_folder(target.parent)
    try:
        handle, name = tempfile.mkstemp(prefix=".", suffix=f".part{target.suffix}", dir=target.parent)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror}); choose another output.") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except IsADirectoryError:
        raise InputError(f"{target} is a directory; name a file in it.") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_atomic(path: str | os.PathLike[str], data: str | bytes) -> Path:
    """Write a whole file: readers see the old one or the new one, never a half."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)
    return Path(path)


def read_bytes(path: Path) -> bytes:
    """A file's bytes, unpacked when it ends in ``.gz``."""
    try:
        return gunzip(path) if path.suffix.lower() == ".gz" else path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from None


def gunzip(path: Path) -> bytes:
    """The unpacked bytes of a gzip file, refused when they grow beyond reason."""
    limit = _limit(path.stat().st_size)
    try:
        with gzip.open(path) as stream:
            data = _read_at_most(stream, limit)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not a whole gzip file ({error}). Make or fetch it again.") from None
    if data is None:
        raise InputError(
            f"{path}: unpacks to more than {limit / 2**20:,.0f} MB and was not read. Unpack it yourself if you trust it."
        )
    return data


class Archive:
    """A zip file whose members are read in memory, by name, within bounds; nothing is ever extracted to disk.

    >>> with Archive(path) as archive:           # doctest: +SKIP
    ...     header = archive.read("header.json")
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
            raise InputError(f"{path}: not a whole zip file ({error}). Make or fetch it again.") from None
        self._members = {info.filename: info for info in self._zip.infolist()}
        self._limit = _limit(path.stat().st_size)
        for name in self._members:
            if name.startswith("/") or "/../" in f"/{name}/".replace("\\", "/"):
                raise InputError(f"{path}: holds a member {name!r} that points outside the archive, and was not read.")

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @property
    def names(self) -> list[str]:
        """The members, in the archive's order."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """One member, unpacked."""
        info = self._members.get(name)
        if info is None:
            raise InputError(f"{self.path}: has no member {name!r}.")
        if info.file_size > self._limit:
            raise InputError(
                f"{self.path}: member {name!r} unpacks to {info.file_size / 2**20:,.0f} MB and was not read."
            )
        try:
            data = self._unzstd(info) if info.compress_type == _ZSTANDARD else self._inflate(info)
        except _DAMAGE as error:
            raise InputError(
                f"{self.path}: member {name!r} is damaged ({error}). Make or fetch the file again."
            ) from None
        if data is None or len(data) != info.file_size:
            raise InputError(f"{self.path}: member {name!r} does not have the size that the archive states.")
        return data

    def _inflate(self, info: zipfile.ZipInfo) -> bytes | None:
        with self._zip.open(info) as stream:
            return _read_at_most(stream, info.file_size)

    def _unzstd(self, info: zipfile.ZipInfo) -> bytes:
        import zstandard

        with self.path.open("rb") as stream:
            stream.seek(info.header_offset + 26)
            name_length, extra_length = struct.unpack("<HH", stream.read(4))
            stream.seek(name_length + extra_length, os.SEEK_CUR)
            packed = stream.read(info.compress_size)
        try:
            with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
                data: bytes = reader.read(info.file_size + 1)
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from None
        if zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("wrong checksum")
        return data


def _limit(packed_size: int) -> int:
    return max(_FREE_BYTES, packed_size * _HIGHEST_RATIO)


def _read_at_most(stream: IO[bytes] | gzip.GzipFile, limit: int) -> bytes | None:
    """All of a stream, or None when there is more than `limit`."""
    data = stream.read(limit + 1)
    return None if len(data) > limit else data


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{folder} is a file, not a folder; choose another output.") from None
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}).") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
