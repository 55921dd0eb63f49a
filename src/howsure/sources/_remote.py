"""Inputs that are copied before they are read, into a folder that lives as long as the process.

Paths such as ``s3://…`` and ``hf://…`` are fetched through fsspec, if it is installed. A server that never ends, or never answers, is left
after a time and a number of bytes. A zip file that no source knows is unpacked, within bounds.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path, PurePosixPath
from typing import Any

from howsure.errors import InputError, MissingExtraError
from howsure.safe_io import Archive, temporary_folder

__all__ = ["FETCHED", "fetched", "listed", "unpacked"]

_PIECE = 2**20
_LARGEST_ZIP = 4 * 2**30  # unpacked bytes of all members
FETCHED: dict[str, str] = {}  # where it lies here → what the user called it
_unpacked: dict[tuple[str, int, int], Path] = {}


def fetched(address: str, *, deadline: float = 1800, limit: int = 16 * 2**30) -> list[Path]:
    """The file or folder, or the files that match a pattern, as local copies with their own names.

    All of them together may take ``deadline`` seconds and ``limit`` bytes.
    """
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError:
        scheme = address.partition("://")[0]
        raise MissingExtraError(
            f"{address}: reading {scheme}:// needs the package 'fsspec': pip install fsspec"
        ) from None
    ended: list[list[Path] | Exception] = []
    end = time.monotonic() + deadline
    late = InputError(
        f"{address}: was not received within {deadline:g} seconds. Download it by hand, and pass its path."
    )

    def fetch() -> None:
        try:
            system, path = url_to_fs(address)
            ended.append(_copies(system, path, address, _Allowance(end, late, address, limit)))
        except Exception as error:  # noqa: BLE001 - handed to the caller's thread
            ended.append(error)

    # In a thread of its own: a file system may wait for a silent server as long as it likes.
    thread = threading.Thread(target=fetch, daemon=True)
    thread.start()
    thread.join(deadline)
    match ended:
        case []:
            raise late
        case [list() as paths]:
            return paths
        case [InputError() as error]:
            raise error
        case [ImportError() as error]:
            raise MissingExtraError(f"{address}: {error}")
        case [error]:
            reason = " ".join(str(error).split())[:160] or type(error).__name__
            raise InputError(f"{address}: cannot be read ({reason}).")
    raise AssertionError("the thread leaves one result")


def listed(address: str) -> list[str]:
    """The addresses of the files behind an address: of a folder all that are in it, of a pattern those that match."""
    from fsspec.core import url_to_fs

    try:
        system, path = url_to_fs(address)
        found = system.glob(path) if any(mark in path for mark in "*?[") else system.find(path) or [path]
    except Exception as error:  # noqa: BLE001 - whatever another package does wrong
        raise InputError(f"{address}: cannot be read ({' '.join(str(error).split())[:160]}).") from None
    return [system.unstrip_protocol(one) for one in sorted(found)]


def unpacked(path: Path) -> Path | None:
    """The folder that a zip file holds, or None if the file is none; hidden members are left out."""
    if path.suffix.lower() != ".zip":
        return None
    found = path.stat()
    stamp = str(path.absolute()), found.st_size, found.st_mtime_ns
    if stamp in _unpacked:
        return _unpacked[stamp]
    target, size = temporary_folder() / path.stem, 0
    target.mkdir()
    with Archive(path) as archive:
        for name in archive.names:
            parts = PurePosixPath(name).parts
            if name.endswith("/") or any(part.startswith((".", "__MACOSX")) for part in parts):
                continue
            place = target.joinpath(*parts)
            if not place.resolve().is_relative_to(target.resolve()):
                raise InputError(f"{path}: contains a name that leads out of its folder.")
            data = archive.read(name)
            size += len(data)
            if size > _LARGEST_ZIP:
                raise InputError(
                    f"{path}: unpacks to more than {_LARGEST_ZIP / 2**30:g} GiB. Unpack it yourself if you trust it."
                )
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
            except OSError as error:
                raise InputError(f"{path}: cannot be unpacked ({error.strerror}).") from None
    FETCHED[str(target)] = str(path)
    _unpacked[stamp] = target
    return target


class _Allowance:
    """What one address may still take: seconds and bytes."""

    def __init__(self, end: float, late: InputError, address: str, limit: int) -> None:
        self.end, self.late, self.address, self.limit, self.left = end, late, address, limit, limit

    def take(self, n_bytes: int) -> None:
        self.left -= n_bytes
        if self.left < 0:
            raise InputError(f"{self.address}: is larger than {self.limit / 2**30:g} GiB, the most that is fetched.")
        if time.monotonic() > self.end:
            raise self.late


def _copies(system: Any, path: str, address: str, allowance: _Allowance) -> list[Path]:
    names = system.glob(path) if any(mark in path for mark in "*?[") else [path]
    if names and path.startswith(("http://", "https://")):
        try:
            system.info(names[0])
        except FileNotFoundError as error:  # whatever the server said, or if there is none
            status, cause = getattr(error.__cause__, "status", None), error.__cause__ or error
            if status not in (None, 404, 410):
                told = f"the server answers {status} {getattr(cause, 'message', '')}".strip()
                raise InputError(f"{address}: cannot be read ({told}).") from None
            if status is None:
                raise InputError(
                    f"{address}: the server cannot be reached ({' '.join(str(cause).split())[:160]})."
                ) from None
            names = []
    elif names and not system.exists(names[0]):
        names = []
    if not names:
        raise InputError(f"{address}: no such file.")
    return [_copied(system, name, address, allowance) for name in names]


def _copied(system: Any, name: str, address: str, allowance: _Allowance) -> Path:
    home = temporary_folder()
    is_web = name.startswith(("http://", "https://"))
    target = home / (name.partition("?")[0] if is_web else name).rstrip("/").rpartition("/")[2]
    # whether a web page is a folder is found out by reading all of it, however long it is
    is_folder = (not is_web or name.endswith("/")) and system.isdir(name)
    for member in system.find(name) if is_folder else [name]:
        inside = member.removeprefix(name).strip("/")
        place = target / inside if inside else target
        if not place.resolve().is_relative_to(home.resolve()):
            raise InputError(f"{address}: contains a name that leads out of its folder.")
        place.parent.mkdir(parents=True, exist_ok=True)
        with system.open(member, "rb") as there, place.open("wb") as here:
            while piece := there.read(_PIECE):
                allowance.take(len(piece))
                here.write(piece)
    scheme = address.partition("://")[0]
    FETCHED[str(target)] = f"{scheme}://{name.removeprefix(f'{scheme}://').lstrip('/')}"
    return target
