"""What a file seems to hold, from its first bytes."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl

from howsure.tables.frames import FAULTS, format_of

__all__ = ["fitting", "has_mark", "head", "json_outline", "keys"]

_BYTES = 64 * 2**10
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*:)?|[\[{]|[\]}]|"', re.DOTALL)


def head(path: Path) -> str:
    """The beginning of a file as text, unpacked when it ends in ``.gz``; nothing when it cannot be read."""
    return _head(path, *_stamp(path))


def has_mark(path: Path, marks: Sequence[str]) -> bool:
    """Whether a file has one of the marks: an ending of its name (``.json``), or a word among its columns or first bytes, in whichever case."""
    if path.name.lower().endswith(tuple(mark for mark in marks if mark.startswith("."))):
        return True
    words = [mark for mark in marks if not mark.startswith((".", "/"))]
    return bool(words) and any(map(_folded(path, *_stamp(path)).__contains__, words))


@lru_cache(maxsize=32)
def _folded(path: Path, _size: int, _time: int) -> str:
    return ("\n".join(_columns(path)) if format_of(path) == "parquet" else head(path)).casefold()


def fitting(path: Path, layouts: Mapping[str, frozenset[str]]) -> str | None:
    """The first layout all of whose keys the file begins with."""
    there = set(keys(path)) if path.is_file() else set()
    return next((name for name, needed in layouts.items() if needed <= there), None)


def _stamp(path: Path) -> tuple[int, int]:
    """What changes when the file does; many sources look at one file after another."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return 0, 0
    return found.st_size, found.st_mtime_ns


@lru_cache(maxsize=32)
def _head(path: Path, _size: int, _time: int) -> str:
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            return stream.read(_BYTES).decode("utf-8-sig", errors="replace")
    except (OSError, EOFError, zlib.error):
        return ""


def keys(path: Path) -> tuple[str, ...]:
    """The columns of a table, or the keys of the JSON objects that a file begins with; none when there are none.

    A JSON file that is a list of objects has their keys.
    """
    return _keys(path, *_stamp(path))


@lru_cache(maxsize=256)
def _keys(path: Path, _size: int, _time: int) -> tuple[str, ...]:
    kind = format_of(path)
    if kind == "parquet":
        return _columns(path)
    text = head(path)
    if kind in ("csv", "tsv"):
        first = text.partition("\n")[0].rstrip("\r")
        try:
            return tuple(next(csv.reader([first], delimiter="\t" if kind == "tsv" else ","), ()))
        except csv.Error:
            return ()
    return _json_keys(text)


def _columns(path: Path) -> tuple[str, ...]:
    try:
        return tuple(pl.read_parquet_schema(path))
    except FAULTS:
        return ()


def _json_keys(text: str) -> tuple[str, ...]:
    return tuple(json_outline(text.lstrip().removeprefix("[")))


def json_outline(text: str) -> dict[str, tuple[str, ...]]:
    """Top-level keys of all objects, each with the keys of the object in it, as far as the text goes.

    The text may be pretty-printed, or break off anywhere.
    """
    found: dict[str, dict[str, None]] = {}
    inner: dict[str, None] = {}
    depth = 0
    for token in _TOKEN.finditer(text):
        mark = token[0][0]
        if token[0] == '"':  # all that follows is inside a text that the end of the bytes cut off
            break
        if mark == '"':
            if depth == 1 and token[2]:
                inner = found.setdefault(token[1], {})
            elif depth == 2 and token[2]:
                inner[token[1]] = None
        else:
            depth += 1 if mark in "[{" else -1
    return {key: tuple(names) for key, names in found.items()}
