"""Standard output and standard error that cannot break a command.

Whoever reads our output may leave early (``| head``), its disk may be full, it may be closed, or know only few letters.
None of this may cost a finished computation: what cannot be written is dropped, the command goes on, saves its files,
and the exit code says at the end whether something was lost.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata
from typing import Any, TextIO

__all__ = ["guard_streams"]

_IN_ASCII = {
    "∞": "inf",
    "−": "-",
    "–": "-",
    "—": "-",
    "≥": ">=",
    "≤": "<=",
    "≈": "~",
    "≠": "!=",
    "×": "x",
    "±": "+/-",
    "·": ".",
    "→": "->",
    "√": "sqrt",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "─": "-",
    "━": "-",
    "│": "|",
}


def guard_streams() -> _Guarded | None:
    """Put guarded streams in place of standard output and standard error; returns the former.

    A closed stream is opened on the null device first, so that no file of ours gets its number.
    """
    is_closed = sys.stdout is None
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    codecs.register_error("howsure", _in_other_letters)
    sys.stderr, _ = _guard(sys.stderr)
    sys.stdout, guarded = _guard(sys.stdout)
    if guarded is not None:
        guarded.is_closed = is_closed
    sys.__stderr__, sys.__stdout__ = sys.stderr, sys.stdout  # type: ignore[misc,assignment]  # numba puts these back
    return guarded


class _Guarded(io.RawIOBase):
    """A stream whose writes always succeed; `failure` is what went wrong first, `is_closed` that nobody could read what was written."""

    is_closed = False
    has_output = False

    def __init__(self, stream: Any) -> None:
        self._stream = stream  # kept, since its end would close the raw stream
        self._raw = getattr(stream.buffer, "raw", stream.buffer)  # PYTHONUNBUFFERED leaves the buffer out
        self.failure: OSError | None = None

    def write(self, data: Any, /) -> int | None:
        self.has_output = True
        if self.failure is None:
            try:
                return int(self._raw.write(data) or 0)
            except OSError as error:
                self.failure = error
        return len(data)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())


def _guard(stream: TextIO) -> tuple[TextIO, _Guarded | None]:
    try:
        stream.fileno()
    except (AttributeError, OSError):  # not a stream of the system, as in a notebook
        return stream, None
    guarded = _Guarded(stream)
    is_live = stream.isatty() or stream is sys.stderr or bool(getattr(stream, "write_through", False))
    return io.TextIOWrapper(
        io.BufferedWriter(guarded), encoding=stream.encoding, errors="howsure", line_buffering=is_live
    ), guarded


def _in_other_letters(error: UnicodeError) -> tuple[str, int]:
    """What the stream's encoding lacks: known signs in ASCII, Greek letters by their names, all else as escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_in_ascii, error.object[error.start : error.end])), error.end


def _in_ascii(letter: str) -> str:
    if letter in _IN_ASCII:
        return _IN_ASCII[letter]
    *greek, name = unicodedata.name(letter, "").split(" LETTER ") if letter else ("",)
    if greek and greek[0].startswith("GREEK") and name.isalpha():
        return name.lower() if greek[0].endswith("SMALL") else name.capitalize()
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return plain or letter.encode("ascii", "backslashreplace").decode()
