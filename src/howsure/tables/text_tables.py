"""Csv and tsv files as people have them: their letters, what stands between the fields and above the header, and what is wrong with them."""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NoReturn

from howsure.errors import InputError
from howsure.outside_text import with_whole_letters
from howsure.safe_io import read_bytes, refuse_special
from howsure.tables.printed_tables import (
    LONGEST_HEADER,
    MOST_TITLES,
    between_bars,
    latex_table,
    separator_of_text,
    web_table,
    with_tabs,
    without_shape,
)

__all__ = [
    "BLOCK",
    "BOM",
    "LATEX",
    "LONGEST_LINE",
    "MARKS",
    "TEXTS",
    "UTF16",
    "WEB_PAGE",
    "blocks_of",
    "first_line",
    "is_utf8",
    "json_lines",
    "layout_of",
    "lines_of",
    "no_constant",
    "not_utf8",
    "plain_text",
    "record_blocks",
    "record_lines",
    "refuse_ambiguous_objects",
    "refuse_huge_lines",
    "refuse_odd_names",
    "refuse_short_records",
    "text_fault",
    "whole_number",
    "with_each_key_once",
]

WEB_PAGE = "the first table of a web page"
LATEX = "the first table of a LaTeX file"
MARKS = re.compile(rb"[,;|\t]")
TEXTS = (".txt", ".md", ".html", ".htm", ".tex")
UTF16 = (b"\xff\xfe", b"\xfe\xff")  # as a spreadsheet's "Unicode text"
_LINES_FOR_NAMES = 10_000
_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*\s*%?")


def plain_text(path: Path, kind: str, most: int | None = None) -> tuple[bytes, list[str]]:
    """A text file's lines (of its first `most` bytes) as UTF-8 with line feeds and one mark between fields, and what was changed."""
    if most is None or path.suffix.lower() == ".gz":
        data = read_bytes(path)
    else:
        refuse_special(path)
        with path.open("rb") as stream:
            data = stream.read(most)
            data = data[: data.rfind(b"\n") + 1] or data if stream.read(1) else data
    if kind == "jsonl":
        return data, []
    says = []
    if data.startswith(UTF16):
        with suppress(UnicodeDecodeError):
            data, says = data.decode("utf-16").encode(), ["UTF-16"]
    elif not is_utf8(io.BytesIO(data)) and b"\0" not in data:
        text = data.decode("utf-8", errors="replace")
        n_wrong = text.count("\ufffd")
        n_letters = sum(one > "\x7f" for one in text) - n_wrong
        if n_wrong > n_letters:  # else it is UTF-8 with a fault in it
            with suppress(UnicodeDecodeError):
                data, says = data.decode("cp1252").encode(), ["Windows-1252 letters, not UTF-8"]
    if b"\r" in data and b"\n" not in data:
        data, says = data.replace(b"\r", b"\n"), [*says, "lines end in carriage returns"]
    if path.suffix.lower() in (".html", ".htm"):
        return web_table(data), [*says, WEB_PAGE]
    if path.suffix.lower() == ".tex":
        return latex_table(data), [*says, LATEX]
    data = without_shape(data) if path.suffix.lower() == ".txt" else data
    if path.suffix.lower() in TEXTS and (printed := between_bars(data)):
        return printed, [*says, "fields between bars"]
    first = data.lstrip().partition(b"\n")[0]
    if not MARKS.search(first) and separator_of_text(data) == " " and is_utf8(io.BytesIO(data)):
        return with_tabs(data), [*says, "fields separated by blanks"]
    return data, says


def is_utf8(stream: IO[bytes]) -> bool:
    """Whether all bytes are UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with stream:
        try:
            while piece := stream.read(2**20):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def layout_of(data: Path | bytes, kind: str) -> tuple[str, int, list[str]]:
    """What stands between the fields, the number of lines above the header, and what to say about them.

    The separator is the one that a first line ``sep=;`` names, else the usual mark of the ending or the one that the header has more
    often. The lines above the header are that line, and titles: lines with nothing but a first field, above the first line with
    several fields, none of which is a number.
    """
    if isinstance(data, Path):
        with data.open("rb") as stream:
            start = stream.read(LONGEST_HEADER)
    else:
        start = data[:LONGEST_HEADER]
    whole = start.decode("utf-8-sig", errors="replace").split("\n")
    lines = [re.sub(r'"(?:[^"]|"")*"', "x", line).strip("\r") for line in whole[:MOST_TITLES]]
    if said := re.fullmatch(r"sep=(.)", lines[0].strip()) if lines[0].strip() else None:
        return said[1], 1, [f"fields separated by {said[1]!r}, as the first line says"]
    usual = "\t" if kind == "tsv" else ","

    def fields(line: str, mark: str) -> int:
        return sum(bool(field.strip()) for field in line.split(mark))

    def separator_of(line: str) -> str:
        return str(max((usual, *";\t|,"), key=line.count))

    def is_comment(line: str) -> bool:
        return line.startswith("# ")

    titles = 0
    while titles < len(lines) and (is_comment(lines[titles]) or fields(lines[titles], separator_of(lines[titles])) < 2):
        titles += 1
    is_title = all(
        not line.strip() or is_comment(line) or line.strip(" ,;|\t") == line.rstrip(" ,;|\t").lstrip()
        for line in lines[:titles]
    )
    n_written = sum(bool(line.strip(" ,;|\t")) for line in lines[:titles])
    below = [line for line in lines[titles:] if line.strip()][:2]
    is_table = len(below) == 2 and all(fields(line, separator_of(below[0])) > 1 for line in below)
    is_header = is_table and not any(
        _NUMBER.fullmatch(field.strip()) for field in below[0].split(separator_of(below[0]))
    )
    if not is_title or not is_header or '"' in "".join(whole[:titles]):
        return separator_of(lines[0]), 0, []
    if not n_written:
        return separator_of(lines[titles]), titles, []
    told = f"{n_written} line{'s' if n_written > 1 else ''} above the header excluded"
    return separator_of(lines[titles]), titles, [told]


def record_blocks(path: Path, separator: str, n_above: int) -> Iterator[bytes]:
    """The whole records of a csv file, some at a time, each time below the header; a record with too few or too many fields is refused."""
    lines = enumerate(lines_of(path), 1)
    for _ in range(n_above):
        next(lines, None)
    header, n_fields, _ = next(_records(path, lines, separator), (b"", 0, 0))
    block, size = [header], 0
    for record, n, line in _records(path, lines, separator):
        if n and n != n_fields:
            raise _wrong_length(path, line, n, n_fields)
        block.append(record)
        size += len(record)
        if size > BLOCK:
            yield b"".join(block)
            block, size = [header], 0
    if size:
        yield b"".join(block)


def _records(path: Path, lines: Iterator[tuple[int, bytes]], separator: str) -> Iterator[tuple[bytes, int, int]]:
    """Each record, the number of its fields, 0 where all are empty, and the line on which it starts."""
    mark = separator.encode()
    for number, first in lines:
        taken = [first]
        if b'"' not in first:
            yield first, first.count(mark) + 1 if first.strip(b" \t\r\n,;|") else 0, number
            continue

        def further(taken: list[bytes] = taken) -> Iterator[str]:
            yield taken[0].decode(errors="replace")
            for _, line in lines:
                taken.append(line)
                yield line.decode(errors="replace")

        try:
            fields = next(csv.reader(further(), delimiter=separator, strict=True))
        except csv.Error as error:
            raise _unreadable(path, number, error) from None
        yield b"".join(taken), len(fields) if any(fields) else 0, number


def _unreadable(path: Path, line: int, error: csv.Error) -> InputError:
    return InputError(f"{path} line {line}: a field that cannot be read ({error}). Are its quotes closed?")


def _wrong_length(path: Path, line: int, n: int, needed: int) -> InputError:
    """What to say of a record with another number of fields than the header."""
    if n > needed:
        remedy = "Put quotes around text that contains the separator."
    else:
        remedy = "Write a separator for each empty field."
    return InputError(f"{path} line {line}: {n} fields where the header has {needed}. {remedy}")


def refuse_short_records(path: Path, separator: str, n_above: int) -> None:
    """A record that ends before the last column was cut off, or lacks a field somewhere before it."""
    data, mark = plain_text(path, "csv")[0], separator.encode()
    if b'"' not in data:
        lines = (line for line in data.splitlines()[n_above:] if line.strip(b" \t,;|"))
        needed = next(lines, b"").count(mark)
        if all(line.count(mark) >= needed for line in lines):
            return
    if fault := _csv_fault(path, data.decode("utf-8-sig"), separator, n_above):
        raise fault


def refuse_odd_names(path: Path, kind: str, names: Sequence[str], separator: str) -> None:
    """Names that show that the whole file is written in another way than its ending says."""
    header = "".join(names)
    if "\0" in header or "\ufffd" in header:
        raise text_fault(path, kind, separator) or InputError(f"{path} line 1: a column's name contains zero bytes.")
    if re.match(r"\s*<(!doctype html|html|head|body)\b", header, re.IGNORECASE):
        raise InputError(f"{path}: contains a web page, not a table. Does its address ask for a password?")
    if "\r" in header:
        raise InputError(f"{path}: its lines end in carriage returns and line feeds by turns. Save it with line feeds.")
    if twice := [name for name in names if name.endswith("_duplicated_0")]:
        raise InputError(
            f"{path}: column {twice[0].removesuffix('_duplicated_0')!r} is there twice; rename one. (A table has one row of names.)"
        )


def text_fault(path: Path, kind: str, separator: str, n_above: int = 0) -> InputError | None:
    """What is wrong with a csv or jsonl file that polars refused, found by a slow and careful reading."""
    data = plain_text(path, kind)[0]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return InputError(f"{path} line {line}: {not_utf8(data, error)}")
    if not text.strip():
        return InputError(f"{path}: the file is empty.")
    if "\0" in text[:_LINES_FOR_NAMES]:
        return InputError(f"{path}: contains zero bytes, as UTF-16 text does. Save the file as UTF-8.")
    return _json_fault(path) if kind == "jsonl" else _csv_fault(path, text, separator, n_above)


def _json_fault(path: Path) -> InputError | None:
    try:
        refuse_ambiguous_objects(path, ())
        for _ in json_lines(path):
            pass
    except InputError as error:
        return error
    return None


def _csv_fault(path: Path, text: str, separator: str, n_above: int) -> InputError | None:
    lines = io.StringIO(text, newline="")
    for _ in range(n_above):
        next(lines)
    reader = csv.reader(lines, delimiter=separator, strict=True)
    start = n_above + 1
    try:
        header = next(reader)
        start = reader.line_num + n_above + 1
        for record in reader:
            if len(record) > len(header):
                return _wrong_length(path, reader.line_num + n_above, len(record), len(header))
            if len(record) < len(header) and any(record):
                return _wrong_length(path, start, len(record), len(header))
            start = reader.line_num + n_above + 1
    except csv.Error as error:
        return _unreadable(path, start, error)
    return None


def record_lines(lines: Iterable[str], separator: str) -> Any:
    """The line on which each record starts."""
    reader = csv.reader(lines, delimiter=separator)
    start = 1
    for record in reader:
        if any(record):
            yield start
        start = reader.line_num + 1


# The lines of text files, one by one, and the JSON objects that stand on them.


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
                "Write the whole letter or remove it."
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
        raise ValueError(f"key {twice!r} is there twice; remove one")
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
