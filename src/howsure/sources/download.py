"""Files from the web, kept in a cache: fetched once, resumed after a broken connection, checked before they count.

Beside a file lies a ``.tag`` with the server's name for that version (its ETag). With it the server can say "not changed",
and a half file is only ever completed by the rest of the same version.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import re
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import IO, Any

from howsure._version import __version__
from howsure.errors import InputError
from howsure.safe_io import Archive, cache_folder
from howsure.sources import Progress

__all__ = ["fetch"]

_PIECE = 256 * 1024
_LIMIT = 1024 * 2**20
_FIRST_PAUSE = 0.5  # seconds; doubled from try to try
_WORTH_ANOTHER_TRY = {408, 416, 425, 429, 500, 502, 503, 504}
_BY_HAND = "Or download it by hand and pass its path."


def fetch(
    url: str,
    *,
    cache: Path | None = None,
    progress: Progress | None = None,
    retries: int = 3,
    timeout: float = 30,
    deadline: float = 1800,
    limit: int = _LIMIT,
) -> Path:
    """The path of a current copy of the zip or csv file at `url`, downloaded unless the cache has it.

    The server is asked each time whether its file changed. A broken download is taken up where it stopped, here and in
    a later call. The cached copy is replaced only by a whole file: a zip whose members unpack, or text with a csv header.

    ``cache`` is a folder (`cache_folder` otherwise), ``timeout`` the seconds that the server may be silent, ``deadline`` the
    seconds that the whole download may take, ``limit`` the largest size in bytes, ``retries`` how often to try again after the
    first time. What came before the deadline is kept, and the next call goes on from there.
    """
    target = _place(url, cache or cache_folder())
    opened = _opener(time.monotonic() + deadline, timeout)
    for tried in range(retries + 1):
        try:
            return _try(url, target, progress, opened, limit)
        except _LateError:
            raise InputError(
                f"{url}: was not received within {deadline:g} seconds. The same command continues the download. {_by_hand(target)}"
            ) from None
        except _BrokenError as error:
            if tried == retries:
                times = f" {retries + 1} times" if retries else ""
                raise InputError(f"{url}: {error}{times}. Try again later. {_by_hand(target)}") from None
        time.sleep(_FIRST_PAUSE * 2**tried)
    raise AssertionError("the last try returns or raises")


class _BrokenError(Exception):
    """What another try may fix."""


class _LateError(Exception):
    """The whole download took too long, though the server was never silent for long."""


def _opener(deadline: float, timeout: float) -> Callable[[urllib.request.Request], Any]:
    """Opens addresses like urllib, but each time something is awaited, no longer than until the deadline (`time.monotonic`)."""

    class Bytes(io.RawIOBase):
        def __init__(self, stream: Any, sock: socket.socket) -> None:
            self._stream, self._socket = stream, sock

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any, /) -> int:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _LateError
            if self._socket.fileno() >= 0:
                self._socket.settimeout(min(timeout, left))
            try:
                return int(self._stream.raw.readinto(buffer))
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise _LateError from None
                raise

        def close(self) -> None:
            self._stream.close()
            super().close()

    class Response(http.client.HTTPResponse):
        def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
            super().__init__(sock, *arguments, **options)
            self.fp = io.BufferedReader(Bytes(self.fp, sock))

    class Plain(http.client.HTTPConnection):
        response_class = Response

    class Secure(http.client.HTTPSConnection):
        response_class = Response

    class PlainHandler(urllib.request.HTTPHandler):
        def http_open(self, request: urllib.request.Request) -> Any:
            return self.do_open(Plain, request)

    class SecureHandler(urllib.request.HTTPSHandler):
        def https_open(self, request: urllib.request.Request) -> Any:
            return self.do_open(Secure, request)

    return partial(urllib.request.build_opener(PlainHandler, SecureHandler).open, timeout=timeout)


def _place(url: str, cache: Path) -> Path:
    """Where the copy lies: the address's hash, so that no two meet, and its last part, for people."""
    if not _is_web_address(url):
        raise InputError(f"{url}: not a web address (http:// or https://). Pass a file's path without --download.")
    name = re.sub(r"[^\w.-]", "_", Path(urllib.parse.urlsplit(url).path).name)[-80:]
    name = name if name.lower().endswith((".zip", ".csv")) else f"{name or 'download'}.zip"
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{cache}: cannot be made ({error.strerror}). Choose another folder for the cache.") from None
    return cache / f"{hashlib.sha256(url.encode()).hexdigest()[:12]}-{name}"


def _is_web_address(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        is_whole = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
    return is_whole and parts.scheme in ("http", "https") and url.isascii() and not re.search(r"[\s\x00-\x1f]", url)


def _try(
    url: str,
    target: Path,
    progress: Progress | None,
    opened: Callable[[urllib.request.Request], Any],
    limit: int,
) -> Path:
    part = target.with_name(f"{target.name}.part")
    try:
        with opened(_request(url, target, part)) as response:
            _refuse(url, target, response)
            _receive(url, response, part, progress, limit)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.NOT_MODIFIED:
            return target
        raise _refusal(url, target, part, error) from None
    except urllib.error.URLError as error:
        raise _unreached(url, target, error.reason) from None
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenError(f"the connection broke ({_why(error)})") from None
    _check(url, part, target)
    _promote(part, target)
    return target


def _request(url: str, target: Path, part: Path) -> urllib.request.Request:
    headers = {"User-Agent": f"howsure/{__version__}", "Accept-Encoding": "identity"}
    if tag := _tag(part):
        headers |= {"Range": f"bytes={part.stat().st_size}-", "If-Range": tag}
    elif tag := _tag(target):
        headers["If-None-Match"] = tag
    return urllib.request.Request(url, headers=headers)


def _refuse(url: str, target: Path, response: Any) -> None:
    """Before anything is written: no insecure detour, no web page."""
    if url.startswith("https:") and not response.url.startswith("https:"):
        raise InputError(f"{url}: leads to {response.url}, which is not secure. {_by_hand(target)}")
    if response.headers.get_content_type() == "text/html":
        raise InputError(f"{url}: is a web page, not a file. Check the address. {_by_hand(target)}")


def _receive(url: str, response: Any, part: Path, progress: Progress | None, limit: int) -> None:
    """Write what comes to the part file: after what is there, or from the start when the server sends all."""
    done = _resumed_at(response, part)
    length = response.headers.get("Content-Length")
    total = done + int(length) if length and length.isdecimal() else None
    if not done:
        _write_tag(part, response.headers.get("ETag"))
    with _opened(part, "ab" if done else "wb") as stream:
        while max(done, total or 0) <= limit and (piece := response.read1(_PIECE)):
            _write(stream, piece, part)
            done += len(piece)
            if progress:
                progress(done, max(done, total or 0))
    if max(done, total or 0) > limit:
        _forget(part)
        raise InputError(f"{url}: is larger than {limit / 2**20:,.1f} MB and was not fetched. {_BY_HAND}")
    if total is not None and done < total:
        raise _BrokenError(f"the connection broke at {done:,} of {total:,} bytes")


def _resumed_at(response: Any, part: Path) -> int:
    """How much of the part file this answer goes on from; 0 when it starts anew."""
    if response.status != http.HTTPStatus.PARTIAL_CONTENT:
        return 0
    there = part.stat().st_size if part.exists() else 0
    start = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    if not start or int(start[1]) != there or response.headers.get("ETag", _tag(part)) != _tag(part):
        _forget(part)
        raise _BrokenError("the server sent another piece than was asked for")
    return there


def _refusal(url: str, target: Path, part: Path, error: urllib.error.HTTPError) -> Exception:
    if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        _forget(part)
    said = f"the server answered {error.code} {error.reason}".rstrip()
    if error.code in _WORTH_ANOTHER_TRY:
        return _BrokenError(said)
    return InputError(f"{url}: {said}. Check the address. {_by_hand(target)}")


def _unreached(url: str, target: Path, reason: object) -> Exception:
    if isinstance(reason, TimeoutError):
        return _BrokenError("the server did not answer in time")
    return InputError(f"{url}: cannot be reached ({_why(reason)}). Check the network. {_by_hand(target)}")


def _check(url: str, part: Path, target: Path) -> None:
    """Refuse, and forget, what is not a whole zip or a csv table."""
    with part.open("rb") as stream:
        start = stream.read(_PIECE)
    if re.match(rb"\s*<(!doctype|html|head|body)", start, re.IGNORECASE):
        fault = "it is a web page"
    else:
        fault = _csv_fault(start) if target.suffix.lower() == ".csv" else _zip_fault(part)
    if fault:
        _forget(part)
        raise InputError(f"{url}: what came was refused: {fault}. Check the address and try again. {_by_hand(target)}")


def _zip_fault(path: Path) -> str:
    try:
        with Archive(path) as archive:
            for name in archive.names:
                archive.read(name)
    except InputError as error:
        return str(error).removeprefix(f"{path}: ").partition(". ")[0]
    return ""


def _csv_fault(start: bytes) -> str:
    return "" if b"," in start.partition(b"\n")[0] and b"\0" not in start else "it has no csv header"


def _promote(part: Path, target: Path) -> None:
    """The tag goes first and comes last: a crash in between costs a download, never a wrong "not changed"."""
    _tag_path(target).unlink(missing_ok=True)
    part.replace(target)
    if _tag_path(part).exists():
        _tag_path(part).replace(_tag_path(target))


def _tag_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.tag")


def _tag(path: Path) -> str | None:
    """The server's name for the version of this file, if both are there."""
    tag = _tag_path(path)
    return tag.read_text("utf-8") if path.exists() and tag.exists() else None


def _write_tag(part: Path, tag: str | None) -> None:
    """Remember a strong tag; a weak one (W/…) does not promise the same bytes."""
    _forget(part)
    if tag and tag.startswith('"'):
        _tag_path(part).write_text(tag, "utf-8")


def _forget(part: Path) -> None:
    for path in (_tag_path(part), part):
        path.unlink(missing_ok=True)


def _opened(path: Path, mode: str) -> IO[bytes]:
    try:
        return path.open(mode)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}). Choose another folder for the cache."
        ) from None


def _write(stream: IO[bytes], piece: bytes, path: Path) -> None:
    try:
        stream.write(piece)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}). Make room and try again.") from None


def _by_hand(target: Path) -> str:
    """What else one can do; a copy in the cache is named, not used unasked."""
    if not target.exists():
        return _BY_HAND
    day = date.fromtimestamp(target.stat().st_mtime)
    return f"{_BY_HAND[:-1]}, or that of the copy of {day}: {target}"


def _why(error: object) -> str:
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said).splitlines()[0]
