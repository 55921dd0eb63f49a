"""Files, read within bounds and written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import platform
import re
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from howsure.errors import InputError

__all__ = ["Archive", "atomic_path", "count_json_values", "gunzip", "read_bytes", "refuse_special", "write_atomic"]

_FREE_BYTES = 256 * 2**20  # below this no ratio is suspicious
_HIGHEST_RATIO = 200  # JSON logs shrink 20 to 50 times; a bomb 1,000 times
_LARGEST = 2**30  # unpacked bytes of one file or member
_LARGEST_JSON = 256 * 2**20  # unpacked bytes of one JSON member, whose text may take four times as many in memory
_FREE_VALUES = 2_000_000  # a value of JSON takes up to about 80 bytes in memory
_VALUES_A_BYTE = 4  # of the packed file; logs have about one
_MOST_VALUES = 16_000_000  # in one JSON member
_STRUCTURE = (b",", b":", b"[", b"{")
_PIECE = 2**20
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, RuntimeError)
_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]  # process numbers mean something here only
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
_LOCAL_HEADER = 30  # bytes before a member's name
_ZSTANDARD = 93  # the zip method of Inspect's logs, which zipfile learns only in Python 3.14
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, _ZSTANDARD)  # LZMA may ask for 4 GB


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` that becomes it when the block ends well, and vanishes when it does not.

    The temporary name keeps the suffix, for writers that look at it.
    """
    target = Path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):  # the new file would take the place of the device
        raise InputError(f"{target}: is a device or a pipe, not a file; choose another output.")
    _make_folder(target.parent)
    _remove_leftovers(target.parent)
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{_MACHINE}-{os.getpid()}-", suffix=f".part{target.suffix}", dir=target.parent
        )
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
    except OSError as error:
        number = _errno(error)
        if number not in _NO_ROOM:
            raise
        raise InputError(
            f"{target}: cannot be written ({os.strerror(number)}). Make room or choose another output."
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def _errno(error: OSError) -> int:
    """The number of the operating system's error, 0 where there is none; polars tells it in the text alone."""
    told = re.search(r"\(os error (\d+)\)", str(error))
    return int(told[1]) if error.errno is None and told else error.errno or 0


@cache
def _remove_leftovers(folder: Path) -> None:
    """Once for each folder: the temporary files of runs that were killed on this machine."""
    with suppress(OSError):
        for path in folder.glob(f".{_MACHINE}-*-*.part*"):
            number = path.name.removeprefix(f".{_MACHINE}-").partition("-")[0]
            if number.isdecimal() and not _is_running(int(number)):
                path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    if os.name == "nt":  # where asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def write_atomic(path: str | os.PathLike[str], data: str | bytes) -> Path:
    """Write a whole file: readers see the old one or the new one, never a half."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)
    return Path(path)


def refuse_special(path: Path) -> None:
    """Refuse what is neither a file nor a folder: reading a pipe or a device might never end."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # whoever opens it says why it cannot be read
    except ValueError:  # a zero byte or half a letter
        raise InputError(f"{path}: is not a name that a file can have.") from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise InputError(f"{path}: is {kind}, not a file. Save what comes from it to a file first.")


def read_bytes(path: Path, limit: int | None = None) -> bytes:
    """A file's bytes, unpacked when it ends in ``.gz``; more than `limit` are refused."""
    refuse_special(path)
    try:
        if path.suffix.lower() == ".gz":
            return gunzip(path, limit)
        if limit is not None and path.stat().st_size > limit:
            raise InputError(f"{path}: larger than {limit / 2**20:,.0f} MB and not read.")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from None


def gunzip(path: Path, limit: int | None = None) -> bytes:
    """The unpacked bytes of a gzip file, refused when they grow beyond `limit` or beyond reason.

    What is beyond reason depends on the packed bytes that were read so far, so that padding at the end does not count.
    """
    most = _LARGEST if limit is None else limit
    pieces, size = [], 0
    try:
        with path.open("rb") as packed, gzip.GzipFile(fileobj=packed) as stream:
            while piece := stream.read(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > min(most, _FREE_BYTES + _HIGHEST_RATIO * packed.tell()):
                    raise InputError(
                        f"{path}: unpacks to more than {(size - len(piece)) / 2**20:,.0f} MB and was not read. Unpack it yourself if you trust it."
                    )
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not a whole gzip file ({error}). Make or fetch it again.") from None
    return b"".join(pieces)


def count_json_values(data: bytes) -> int:
    """How many values a JSON text may have at the most: its commas, colons and opening brackets, also those in texts."""
    return sum(map(data.count, _STRUCTURE))


class Archive:
    """A zip file whose members are read in memory, by name, within bounds; nothing is ever extracted to disk.

    The archive has a budget of unpacked bytes: each member brings 200 times its own packed size, and what a member needs
    beyond that comes from one store for the whole archive. `read_json` has a budget of values besides. So neither many
    members nor padding raise what one member may take. Members that overlap are refused: each byte counts once.

    >>> with Archive(path) as archive:           # doctest: +SKIP
    ...     header = archive.read("header.json")
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        refuse_special(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except PermissionError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}).") from None
        except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
            raise InputError(f"{path}: not a whole zip file ({error}). Make or fetch it again.") from None
        self._members = {info.filename: info for info in self._zip.infolist()}
        self._free_bytes, self._free_values = _FREE_BYTES, _FREE_VALUES
        self._charged: set[str] = set()
        self._refuse_overlaps()
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
        return self._read(name, _LARGEST)

    def read_json(self, name: str) -> bytes:
        """One member, unpacked, whose values as JSON fit in memory."""
        data = self._read(name, _LARGEST_JSON)
        n_values = count_json_values(data)
        self._free_values -= max(0, n_values - _VALUES_A_BYTE * self._members[name].compress_size)
        if n_values > _MOST_VALUES or self._free_values < 0:
            raise InputError(f"{self.path}: member {name!r} holds {n_values:,} values of JSON and was not read.")
        return data

    def _read(self, name: str, most: int) -> bytes:
        info = self._members.get(name)
        if info is None:
            raise InputError(f"{self.path}: has no member {name!r}.")
        if info.compress_type not in _METHODS:
            raise InputError(f"{self.path}: member {name!r} is packed by a method that is not read here.")
        if name not in self._charged:
            self._charged.add(name)
            self._free_bytes -= max(0, info.file_size - _HIGHEST_RATIO * info.compress_size)
        if info.file_size > most or self._free_bytes < 0:
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

    def _refuse_overlaps(self) -> None:
        following = self._zip.start_dir
        for info in sorted(self._zip.infolist(), key=lambda info: info.header_offset, reverse=True):
            if info.header_offset + _LOCAL_HEADER + len(info.orig_filename.encode()) + info.compress_size > following:
                raise InputError(
                    f"{self.path}: member {info.filename!r} overlaps another part of the archive. Make or fetch it again."
                )
            following = info.header_offset

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
