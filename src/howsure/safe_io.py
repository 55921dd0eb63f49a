"""Files, read within bounds and written whole or not at all."""

from __future__ import annotations

import atexit
import bz2
import errno
import gzip
import hashlib
import io
import os
import platform
import re
import shutil
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from howsure.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "Archive",
    "atomic_path",
    "cache_folder",
    "count_json_values",
    "gunzip",
    "keeping",
    "lock_file",
    "points_outside",
    "read_bytes",
    "refuse_special",
    "temporary_folder",
    "unpack",
    "write_atomic",
]

_FREE_BYTES = 256 * 2**20  # below this no ratio is suspicious
_HIGHEST_RATIO = 200  # JSON logs shrink 20 to 50 times; a bomb 1,000 times
_LARGEST = 2**30  # unpacked bytes of one file or member
_LARGEST_UNPACKED = 8 * 2**30  # bytes of a temporary file
_LARGEST_JSON = 256 * 2**20  # unpacked bytes of one JSON member, whose text may take four times as many in memory
_FREE_VALUES = 2_000_000  # a value of JSON takes up to about 80 bytes in memory
_VALUES_A_BYTE = 4  # of the packed file; logs have about one
_MOST_VALUES = 16_000_000  # in one JSON member
_STRUCTURE = b",:[{"
_inputs: ContextVar[frozenset[Path]] = ContextVar("inputs", default=frozenset())
_PIECE = 2**20
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, RuntimeError)
_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]  # process numbers mean something here only
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
_LOCAL_HEADER = 30  # bytes before a member's name
_ENTRY_MARK, _ENTRY_SIZE = b"PK\1\2", 46  # of a member in the directory, before its name
_ENTRY_FIELDS = {  # where in an entry each number stands, and how many bytes it has
    "flags": (8, 2),
    "method": (10, 2),
    "checksum": (16, 4),
    "packed_size": (20, 4),
    "size": (24, 4),
    "name_size": (28, 2),
    "start": (42, 4),
}
_END = struct.Struct("<4s6xHLLH")  # the end of the directory, before its comment
_LONGEST_END = _END.size + 2**16
_LARGE = 2**32 - 1  # in the place of a number that stands elsewhere because it takes more than four bytes
_ENCRYPTED, _UTF8 = 0x1, 0x800  # flags of a member
_ZSTANDARD = 93  # the zip method of Inspect's logs, which zipfile learns only in Python 3.14
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, _ZSTANDARD)  # LZMA may ask for 4 GB


@contextmanager
def keeping(paths: Iterable[str | os.PathLike[str]]) -> Iterator[None]:
    """Within the block these files, which a command reads, are not replaced."""
    token = _inputs.set(frozenset(Path(path).resolve() for path in paths))
    try:
        yield
    finally:
        _inputs.reset(token)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` that becomes it when the block ends well, and vanishes when it does not.

    The temporary name keeps the suffix, for writers that look at it.
    """
    target = Path(path)
    if target.resolve() in _inputs.get():
        raise InputError(f"{target}: is an input of this command and would be replaced; choose another folder with -o.")
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


def cache_folder() -> Path:
    """Where Howsure keeps what can be made again: ``$XDG_CACHE_HOME/howsure``, or ``~/.cache/howsure``."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".cache") / "howsure"


def lock_file(stream: IO[Any], *, waits: bool = True) -> bool:
    """Whether an open file is ours alone among the processes that ask so; closing it, or our end, gives it back."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK if waits else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError:
        if waits:
            raise
        return False
    return True


def temporary_folder() -> Path:
    """A new folder that only the user can open, and that is removed when the process ends."""
    return Path(tempfile.mkdtemp(dir=_home()))


@cache
def _home() -> str:
    home = tempfile.mkdtemp(prefix="howsure-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return home


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
    """The unpacked bytes of a gzip file, refused when they grow beyond `limit` or beyond reason."""
    return b"".join(_gunzipped(path, _LARGEST if limit is None else limit))


def unpack(path: Path) -> Path:
    """A temporary file with the unpacked bytes of a gzip file, for files that are too large for memory."""
    target = temporary_folder() / path.name.removesuffix(path.suffix)
    try:
        with target.open("wb") as stream:
            for piece in _gunzipped(path, _LARGEST_UNPACKED):
                stream.write(piece)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be unpacked ({error.strerror or error}). Make room or unpack it yourself."
        ) from None
    return target


def _gunzipped(path: Path, most: int) -> Iterator[bytes]:
    """The unpacked bytes, piece by piece.

    What is beyond reason depends on the packed bytes that were read so far, so that padding at the end does not count.
    """
    size = 0
    try:
        with path.open("rb") as packed, gzip.GzipFile(fileobj=packed) as stream:
            while piece := stream.read(_PIECE):
                size += len(piece)
                if size > min(most, _FREE_BYTES + _HIGHEST_RATIO * packed.tell()):
                    raise InputError(
                        f"{path}: unpacks to more than {(size - len(piece)) / 2**20:,.0f} MB and was not read. Unpack it yourself if you trust it."
                    )
                yield piece
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not a whole gzip file ({error}). Make or fetch it again.") from None


def count_json_values(data: bytes) -> int:
    """How many values a JSON text may have at the most: its commas, colons and opening brackets, also those in texts."""
    import numpy as np

    letters = np.frombuffer(data, np.uint8)
    return sum(
        int(np.count_nonzero(letters == letter)) for letter in _STRUCTURE
    )  # bytes.count takes four times as long


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
        self._free_bytes, self._free_values = _FREE_BYTES, _FREE_VALUES
        self._charged: set[str] = set()
        with ExitStack() as stack:
            try:
                self._stream = stack.enter_context(path.open("rb"))
                directory = _directory(self._stream)
            except PermissionError as error:
                raise InputError(f"{path}: cannot be read ({error.strerror}).") from None
            except (zipfile.BadZipFile, OSError, ValueError, OverflowError, struct.error) as error:
                raise InputError(f"{path}: not a whole zip file ({error}). Make or fetch it again.") from None
            self._directory = directory
            self._refuse_overlaps(directory)
            self._places = {name: place for place, name in enumerate(directory.names)}
            together = "\n".join(["", *directory.names])  # most archives need no look at each name
            is_suspect = "\n/" in together or ".." in together
            if outside := next((name for name in self._places if is_suspect and points_outside(name)), None):
                raise InputError(
                    f"{path}: contains a member {outside!r} that points outside the archive, and was not read."
                )
            self._close = stack.pop_all().close

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def __contains__(self, name: str) -> bool:
        return name in self._places

    @property
    def names(self) -> list[str]:
        """The members, in the archive's order."""
        return list(self._places)

    def read(self, name: str) -> bytes:
        """One member, unpacked."""
        return self._read(name, _LARGEST)

    def read_json(self, name: str) -> bytes:
        """One member, unpacked, whose values as JSON fit in memory."""
        data = self._read(name, _LARGEST_JSON)
        n_values = count_json_values(data)
        self._free_values -= max(0, n_values - _VALUES_A_BYTE * self._directory.member(self._places[name]).packed_size)
        if n_values > _MOST_VALUES or self._free_values < 0:
            raise InputError(f"{self.path}: member {name!r} holds {n_values:,} values of JSON and was not read.")
        return data

    def _read(self, name: str, most: int) -> bytes:
        if name not in self._places:
            raise InputError(f"{self.path}: has no member {name!r}.")
        member = self._directory.member(self._places[name])
        if member.method not in _METHODS:
            raise InputError(f"{self.path}: member {name!r} is packed by a method that is not read here.")
        if name not in self._charged:
            self._charged.add(name)
            self._free_bytes -= max(0, member.size - _HIGHEST_RATIO * member.packed_size)
        if member.size > most or self._free_bytes < 0:
            raise InputError(f"{self.path}: member {name!r} unpacks to {member.size / 2**20:,.0f} MB and was not read.")
        try:
            data = self._unpacked(member)
        except _DAMAGE as error:
            raise InputError(
                f"{self.path}: member {name!r} is damaged ({error}). Make or fetch the file again."
            ) from None
        if len(data) != member.size:
            raise InputError(f"{self.path}: member {name!r} does not have the size that the archive states.")
        return data

    def _refuse_overlaps(self, directory: _Directory) -> None:
        import numpy as np

        start, end = directory.numbers["start"], directory.numbers["start"] + _LOCAL_HEADER
        end = end + directory.numbers["name_size"] + directory.numbers["packed_size"]
        order = np.argsort(start, kind="stable")
        following = np.append(start[order][1:], directory.start)
        if (wrong := order[end[order] > following]).size:
            raise InputError(
                f"{self.path}: member {directory.names[wrong[-1]]!r} overlaps another part of the archive. Make or fetch it again."
            )

    def _unpacked(self, member: _Member) -> bytes:
        """The bytes of a member, at most one more than the directory states, with the right checksum."""
        if member.flags & _ENCRYPTED:
            raise zipfile.BadZipFile("it is encrypted")
        self._stream.seek(member.start)
        header = self._stream.read(_LOCAL_HEADER)
        name_size, extra_size = struct.unpack_from("<HH", header, 26)
        if header[:4] != b"PK\3\4" or name_size != member.name_size:
            raise zipfile.BadZipFile("the directory points to something else")
        self._stream.seek(name_size + extra_size, os.SEEK_CUR)
        packed = self._stream.read(member.packed_size)
        most = member.size + 1
        if member.method == zipfile.ZIP_DEFLATED:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most)
        elif member.method == zipfile.ZIP_BZIP2:
            data = bz2.BZ2Decompressor().decompress(packed, most)
        elif member.method == _ZSTANDARD:
            data = _unzstd(packed, most)
        else:
            data = packed
        if zlib.crc32(data) != member.checksum and len(data) <= member.size:
            raise zipfile.BadZipFile("wrong checksum")
        return data


class _Member(NamedTuple):
    """What an archive's directory says of a member."""

    flags: int
    method: int
    checksum: int
    packed_size: int
    size: int
    name_size: int
    start: int


class _Directory(NamedTuple):
    """The members of an archive in its order, as columns, and where their list begins."""

    names: list[str]
    numbers: dict[str, npt.NDArray[np.int64]]
    start: int

    def member(self, place: int) -> _Member:
        return _Member(*(int(self.numbers[name][place]) for name in _Member._fields))


def points_outside(name: str) -> bool:
    """Whether a relative name, of an archive's member or of a recorded file, leads out of its folder."""
    return name.startswith("/") or (".." in name and "/../" in f"/{name}/".replace("\\", "/"))


def _directory(stream: IO[bytes]) -> _Directory:
    """The list of a zip file's members.

    Python's `zipfile` reads the lists of large or unusual archives; it takes twenty times as long, and an Inspect log has a member per sample.
    """
    import numpy as np

    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _LONGEST_END))
    tail = stream.read()
    place = tail.rfind(b"PK\5\6")
    if 0 <= place <= len(tail) - _END.size:
        _, n, length, start, comment = _END.unpack_from(tail, place)
        is_plain = start + length == size - len(tail) + place and place + _END.size + comment == len(tail)
        if is_plain and n < 2**16 - 1:
            stream.seek(start)
            found = _entries(stream.read(length), start)
            if found is not None and len(found.names) == n:
                return found
    with zipfile.ZipFile(stream) as archive:
        infos = archive.infolist()
        rows = [
            _Member(
                flags=info.flag_bits,
                method=info.compress_type,
                checksum=info.CRC,
                packed_size=info.compress_size,
                size=info.file_size,
                name_size=len(info.orig_filename.encode("utf-8" if info.flag_bits & _UTF8 else "cp437")),
                start=info.header_offset,
            )
            for info in infos
        ]
        table = np.array(rows, np.int64).reshape(len(rows), len(_Member._fields))
        numbers = {name: table[:, place] for place, name in enumerate(_Member._fields)}
        return _Directory([info.filename for info in infos], numbers, archive.start_dir)


def _entries(directory: bytes, start: int) -> _Directory | None:
    """The entries of a directory, or None where one is unusual: long, with an odd name, or something else.

    Where the mark that begins an entry stands, an entry begins, if each entry's length leads to the next mark.
    """
    import numpy as np

    letters = np.frombuffer(directory, np.uint8)
    is_first = letters[:-3] == _ENTRY_MARK[0]
    place = np.flatnonzero(is_first)
    for offset in (1, 2, 3):
        place = place[letters[place + offset] == _ENTRY_MARK[offset]]
    if not place.size or place[0] or place[-1] + _ENTRY_SIZE > len(directory):
        return None

    def number(offset: int, n_bytes: int) -> npt.NDArray[np.int64]:
        total = np.zeros(len(place), np.int64)
        for i in range(n_bytes):
            total += letters[place + offset + i].astype(np.int64) << (8 * i)
        return total

    numbers = {name: number(offset, n_bytes) for name, (offset, n_bytes) in _ENTRY_FIELDS.items()}
    name_start = place + _ENTRY_SIZE
    name_end = name_start + numbers["name_size"]
    entry_end = name_end + number(30, 2) + number(32, 2)  # after further fields and a comment
    if not np.array_equal(entry_end, np.append(place[1:], len(directory))):
        return None
    if any(int(numbers[name].max()) == _LARGE for name in ("packed_size", "size", "start")):
        return None
    text = directory.decode("latin-1")
    names = [text[a:b] for a, b in zip(name_start.tolist(), name_end.tolist(), strict=True)]
    together = "".join(names)
    return _Directory(names, numbers, start) if together.isascii() and "\0" not in together else None


def _unzstd(packed: bytes, most: int) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    try:
        with zstd.ZstdFile(io.BytesIO(packed)) as reader:
            data: bytes = reader.read(most)
    except (zstd.ZstdError, EOFError) as error:
        raise zipfile.BadZipFile(str(error)) from None
    return data


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
