"""The lines of text files, one by one, and the JSON objects that stand on them."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from howsure.errors import InputError
from howsure.outside_text import with_whole_letters
from howsure.safe_io import read_bytes, refuse_special

__all__ = [
    "BLOCK",
    "BOM",
    "LONGEST_LINE",
    "blocks_of",
    "first_line",
    "json_lines",
    "lines_of",
    "no_constant",
    "not_utf8",
    "refuse_ambiguous_objects",
    "refuse_huge_lines",
    "whole_number",
    "with_each_key_once",
]

BOM = b"\xef\xbb\xbf"
LONGEST_LINE = 64 * 2**20
BLOCK = 16 * 2**20
"""Bytes of a large file that are read together."""


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a jsonl file, each with the line it is on; a line that holds none is explained."""
    for number, line in enumerate(lines_of(path), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(
                with_whole_letters(line).decode().strip(),
                parse_constant=no_constant,
                parse_float=_finite,
                parse_int=whole_number,
                object_pairs_hook=with_each_key_once,
            )
        except UnicodeDecodeError as error:
            raise InputError(f"{path} line {number}: {not_utf8(line, error)}") from None
        except (ValueError, RecursionError) as error:
            told = f"{error.msg} at character {error.colno}" if isinstance(error, json.JSONDecodeError) else error
            raise InputError(f"{path} line {number}: not JSON ({told}): {_short(line)}") from None
        if not isinstance(value, dict):
            raise InputError(f"{path} line {number}: one JSON object per line is expected, not {_short(line)}")
        yield number, value


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file one by one, so that a large file needs no more room than its longest line."""
    refuse_special(path)
    try:
        with io.BytesIO(read_bytes(path)) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            if stream.read(len(BOM)) != BOM:
                stream.seek(0)
            for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE + 1), b""), 1):
                if len(line) > LONGEST_LINE:
                    raise InputError(f"{path} line {number}: longer than {LONGEST_LINE / 2**20:.0f} MB.")
                yield line
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from None


def blocks_of(path: Path) -> Iterator[bytes]:
    """The whole lines of a jsonl file, some at a time."""
    lines: list[bytes] = []
    size = 0
    for line in lines_of(path):
        lines.append(line)
        size += len(line)
        if size > BLOCK:
            yield b"".join(lines)
            lines, size = [], 0
    if any(line.strip() for line in lines):
        yield b"".join(lines)


def refuse_huge_lines(path: Path, stream: IO[bytes]) -> None:
    """One line of hundreds of megabytes is a JSON document that lost its way, not a row."""
    with stream:
        if stream.seek(0, os.SEEK_END) <= LONGEST_LINE:
            return
        stream.seek(0)
        for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE + 1), b""), 1):
            if len(line) > LONGEST_LINE:
                size = LONGEST_LINE / 2**20
                raise InputError(
                    f"{path} line {number}: longer than {size:.0f} MB; a jsonl file has one object per line."
                )


def refuse_ambiguous_objects(path: Path, names: Sequence[str]) -> None:
    """Objects that are read in two ways: a key that is there twice, and halves of letters, which merge different names."""
    keys = [json.dumps(name, ensure_ascii=False).encode() for name in names]
    for number, line in enumerate(lines_of(path), 1):
        if b"\\u" in line and with_whole_letters(line) != line:
            raise InputError(
                f"{path} line {number}: contains half a letter (\\ud800 to \\udfff without its other half): {_short(line)} "
                "Write the whole letter or leave it out."
            )
        for key in keys:
            if line.count(key) < 2:
                continue
            try:
                json.loads(line, object_pairs_hook=with_each_key_once, parse_int=whole_number)
            except ValueError as error:
                raise InputError(f"{path} line {number}: {error}: {_short(line)}") from None


def with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; a key that is there twice is refused."""
    held = dict(pairs)
    if len(held) < len(pairs):
        twice = next(name for position, (name, _) in enumerate(pairs) if name in dict(pairs[:position]))
        raise ValueError(f"key {twice!r} is there twice; leave out one")
    return held


def no_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity."""
    raise ValueError(f"{name} is not a JSON number; leave the value out or write null")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else no_constant(text)


def whole_number(text: str) -> int:
    """A whole number of JSON that is not too long for Python."""
    try:
        return int(text)
    except ValueError:  # Python's own bound on the number of digits
        raise ValueError(f"a whole number of {len(text):,} digits is too long") from None


def not_utf8(data: bytes, error: UnicodeDecodeError) -> str:
    """What to say of bytes that are no UTF-8."""
    return f"byte 0x{data[error.start]:02x} is not UTF-8. Save the file as UTF-8 (iconv -f … -t utf-8)."


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    told = str(error).strip().partition("\n")[0].rstrip(".")
    return told[:200] or type(error).__name__


def _short(line: bytes, most: int = 60) -> str:
    text = line.decode(errors="replace").strip()
    return text if len(text) <= most else text[:most] + "…"
