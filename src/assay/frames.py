"""Rows from anywhere as polars frames that remember which file and line they came from.

Text formats are read as text: what a column means is decided by the table that takes it, so that a wrong value can be
shown as it was written.
"""

from __future__ import annotations

import csv
import glob
import io
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from assay.errors import InputError, MissingExtraError, closest
from assay.safe_io import atomic_path, read_bytes

if TYPE_CHECKING:
    import pandas
    import pyarrow

    Rows: TypeAlias = pl.DataFrame | pl.LazyFrame | pandas.DataFrame | pyarrow.Table
    Source: TypeAlias = Rows | str | os.PathLike[str] | Sequence[Rows | str | os.PathLike[str]]

__all__ = ["FORMATS", "Part", "expand", "format_of", "parts_of", "write_frame"]

FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_LONGEST_LINE = 64 * 2**20
_PARSE_ONCE = 2 * 2**30  # text files up to this size are parsed into memory once; larger ones stay lazy
_LINES_FOR_NAMES = 10_000


@dataclass(frozen=True)
class Part:
    """Rows that came from one place."""

    rows: pl.LazyFrame
    path: Path | None = None
    format: str = "frame"

    def where(self, row: int) -> str:
        """How to name row number `row` (from 0) to a person: file and line."""
        if self.path is None:
            return f"row {row}"
        line = self._line(row)
        return f"{self.path} line {line}" if line else f"{self.path} row {row + 1}"

    def _line(self, row: int) -> int | None:
        """The line of the file on which a row starts; fields with line breaks and blank lines are counted."""
        if self.format == "parquet" or self.path is None:
            return None
        lines = io.StringIO(read_bytes(self.path).decode("utf-8-sig"), newline="")
        if self.format == "jsonl":
            filled = (number for number, line in enumerate(lines, 1) if line.strip())
        else:
            filled = _csv_record_lines(lines, "\t" if self.format == "tsv" else ",")
            next(filled, None)  # the header
        return next((line for index, line in enumerate(filled) if index == row), None)

    def parsed(self) -> Part:
        """The same rows, held in memory if they came from text: parsing is what costs. Keys that no line has are dropped."""
        if self.path is None or self.format == "parquet" or self.path.stat().st_size > _PARSE_ONCE:
            return self
        frame = self.collect(self.rows)
        absent = [name for name in frame.columns if self.format == "jsonl" and frame[name].null_count() == len(frame)]
        return replace(self, rows=frame.drop(absent).lazy())

    def collect(self, query: pl.LazyFrame) -> pl.DataFrame:
        """Run a query on these rows; a broken file is explained instead of polars' own words."""
        try:
            return query.collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._explain(error) from None

    def _explain(self, error: Exception) -> InputError:
        if self.path is None:
            return InputError(str(error).splitlines()[0])
        if self.format == "parquet":
            return InputError(f"{self.path}: not a whole parquet file ({_first_line(error)}). Make or fetch it again.")
        return _text_fault(self.path, self.format) or InputError(f"{self.path}: {_first_line(error)}.")


def parts_of(source: Source, expect: Iterable[str] = ()) -> tuple[Part, ...]:
    """Frames, files or globs as parts; `expect` names columns that may first appear late in a jsonl file."""
    if isinstance(source, list | tuple):
        return tuple(part for one in source for part in parts_of(one, expect))
    if isinstance(source, str | os.PathLike):
        return tuple(_scan(path, tuple(expect)) for path in expand(source))
    return (Part(_frame(source)),)


def expand(pattern: str | os.PathLike[str]) -> list[Path]:
    """The files behind a path or a glob, sorted; none is an error that names what lies near."""
    path = Path(pattern)
    if path.exists():
        return [path]
    if glob.has_magic(str(pattern)):
        found = sorted(Path(name) for name in glob.glob(str(pattern), recursive=True))
        if found:
            return found
        raise InputError(f"{pattern}: no file matches.")
    siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    near = closest(path.name, siblings)
    raise InputError(f"{path}: no such file." + (f" Did you mean {path.parent / near}?" if near else ""))


def format_of(path: Path) -> str | None:
    """csv, tsv, jsonl or parquet by the file's ending (``.gz`` looked through), or None."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def write_frame(frame: pl.DataFrame | pl.LazyFrame, path: str | os.PathLike[str]) -> Path:
    """Write csv, tsv, jsonl or parquet (by the ending, also ``.gz`` for text), whole or not at all."""
    target = Path(path)
    kind = format_of(target)
    if kind is None:
        raise InputError(f"{target}: unknown ending; use one of {', '.join(FORMATS)} (text also with .gz).")
    packed = target.suffix.lower() == ".gz"
    if packed and kind == "parquet":
        raise InputError(f"{target}: parquet is compressed already; leave out .gz.")
    lazy = frame.lazy()
    with atomic_path(target) as temporary:
        if kind == "parquet":
            lazy.sink_parquet(temporary)
        else:
            buffer = io.BytesIO() if packed else temporary
            if kind == "jsonl":
                lazy.sink_ndjson(buffer)
            else:
                lazy.sink_csv(buffer, separator="\t" if kind == "tsv" else ",")
            if isinstance(buffer, io.BytesIO):
                temporary.write_bytes(_gzip(buffer.getvalue()))
    return target


def _frame(rows: Rows) -> pl.LazyFrame:
    if isinstance(rows, pl.DataFrame | pl.LazyFrame):
        return rows.lazy()
    module = type(rows).__module__.partition(".")[0]
    try:
        if module == "pandas":
            return pl.from_pandas(rows).lazy()  # type: ignore[arg-type]
        if module == "pyarrow":
            return pl.DataFrame(pl.from_arrow(rows)).lazy()  # type: ignore[arg-type]
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"Reading a {module} table needs {error.name}: pip install {error.name}") from None
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise InputError(f"The {module} table cannot be read: {_first_line(error)}.") from None
    raise InputError(
        f"A table is made from polars, pandas or pyarrow, or from a file's path; this is a {type(rows).__name__}."
    )


def _scan(path: Path, expect: tuple[str, ...]) -> Part:
    if path.is_dir():
        raise InputError(f"{path}: is a directory; name its files, for example {path}/*.csv.")
    kind = format_of(path)
    if kind is None:
        raise InputError(f"{path}: unknown ending; expected one of {', '.join(FORMATS)}, or those with .gz.")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty.")
    data: Path | bytes = read_bytes(path) if path.suffix.lower() == ".gz" else path
    try:
        rows = _scanner(kind, data, expect)
        part = Part(rows, path, kind)
        names = rows.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise Part(pl.LazyFrame(), path, kind)._explain(error) from None
    if kind == "jsonl":
        _refuse_huge_lines(path)
    if twice := [name for name in names if name.endswith("_duplicated_0")]:
        raise InputError(f"{path}: column {twice[0].removesuffix('_duplicated_0')!r} is there twice; rename one.")
    return part


def _scanner(kind: str, data: Path | bytes, expect: tuple[str, ...]) -> pl.LazyFrame:
    if kind == "parquet":
        return pl.scan_parquet(data)
    if kind == "jsonl":
        named = pl.scan_ndjson(data, infer_schema_length=_LINES_FOR_NAMES).collect_schema().names()
        return pl.scan_ndjson(data, schema=dict.fromkeys([*named, *expect], pl.String))
    rows = pl.scan_csv(data, infer_schema=False, separator="\t" if kind == "tsv" else ",")
    return rows.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines are no rows


def _refuse_huge_lines(path: Path) -> None:
    """One line of hundreds of megabytes is a JSON document that lost its way, not a row."""
    if path.stat().st_size <= _LONGEST_LINE:
        return
    with path.open("rb") as stream:
        for number, line in enumerate(iter(lambda: stream.readline(_LONGEST_LINE + 1), b""), 1):
            if len(line) > _LONGEST_LINE:
                size = _LONGEST_LINE / 2**20
                raise InputError(
                    f"{path} line {number}: longer than {size:.0f} MB; a jsonl file has one object a line."
                )


def _text_fault(path: Path, kind: str) -> InputError | None:
    """What is wrong with a csv or jsonl file that polars refused, found by a slow and careful reading."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return InputError(
            f"{path} line {line}: byte 0x{data[error.start]:02x} is not UTF-8. Save the file as UTF-8 (iconv -f … -t utf-8)."
        )
    if not text.strip():
        return InputError(f"{path}: the file is empty.")
    return _json_fault(path, text) if kind == "jsonl" else _csv_fault(path, text, "\t" if kind == "tsv" else ",")


def _json_fault(path: Path, text: str) -> InputError | None:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            value = json.loads(line, parse_constant=_no_constant) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            return InputError(f"{path} line {number}: not JSON ({error}): {_short(line)}")
        if not isinstance(value, dict):
            return InputError(f"{path} line {number}: one JSON object a line is expected, not {_short(line)}")
    return None


def _csv_fault(path: Path, text: str, separator: str) -> InputError | None:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        header = next(reader)
        for record in reader:
            if len(record) > len(header):
                return InputError(
                    f"{path} line {reader.line_num}: {len(record)} fields where the header has {len(header)}. "
                    "Put quotes around text that holds the separator."
                )
    except csv.Error as error:
        return InputError(f"{path} line {reader.line_num}: {error}.")
    return None


def _csv_record_lines(lines: Iterable[str], separator: str) -> Any:
    """The line on which each record starts."""
    reader = csv.reader(lines, delimiter=separator)
    start = 1
    for record in reader:
        if any(record):
            yield start
        start = reader.line_num + 1


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number; leave the value out or write null")


def _gzip(data: bytes) -> bytes:
    import gzip

    return gzip.compress(data, mtime=0)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[:most] + "…"
