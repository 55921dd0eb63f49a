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
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import polars as pl

from howsure.errors import InputError, MissingExtraError, closest
from howsure.outside_text import guarded, unguarded
from howsure.safe_io import atomic_path, read_bytes, refuse_special, temporary_folder, unpack
from howsure.tables.json_tables import is_json_list, json_rows, object_rows, repaired_lines
from howsure.tables.printed_tables import LONGEST_HEADER, separator_of_text, with_one_header
from howsure.tables.text_tables import (
    BOM,
    LATEX,
    MARKS,
    TEXTS,
    UTF16,
    WEB_PAGE,
    blocks_of,
    first_line,
    is_utf8,
    json_lines,
    layout_of,
    plain_text,
    record_blocks,
    record_lines,
    refuse_ambiguous_objects,
    refuse_huge_lines,
    refuse_odd_names,
    refuse_short_records,
    text_fault,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow

    Rows: TypeAlias = pl.DataFrame | pl.LazyFrame | pandas.DataFrame | pyarrow.Table
    One: TypeAlias = Rows | "Part" | str | os.PathLike[str]
    Source: TypeAlias = One | Sequence[One]

__all__ = [
    "FAULTS",
    "FORMATS",
    "Part",
    "as_list",
    "as_text",
    "expand",
    "format_of",
    "format_to_write",
    "is_frame",
    "json_lines",
    "parts_of",
    "text_table",
    "write_frame",
]

FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What reading a broken file may raise: of a parquet file with wrong bytes, polars panics."""

_PARSE_ONCE = 2 * 2**30  # text files up to this size are parsed into memory once; larger ones stay lazy
_LARGE_LINES = 64 * 2**20  # larger text files are not held in memory
_LARGE_PACKED = 4 * 2**20  # larger packed files are unpacked to a temporary file
_LINES_FOR_NAMES = 10_000
_BLANK_NAME = re.compile(r"\s*(_duplicated_\d+)?")  # of a column without a name
_MOST_UNTIDY = 64 * 2**20  # bytes of a table that is put in order
_TWO_HEADERS = "two rows of names read as one"
_WITHOUT_LINES = {_TWO_HEADERS, WEB_PAGE, LATEX}  # whose rows are not those of the file
# gzip, zstandard and zlib, which polars would unpack without a bound
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda")


@dataclass(frozen=True)
class Part:
    """Rows that came from one place; `numbers` says which of its rows they are, when some were left out.

    ``separator`` stands between the fields of a csv or tsv file, ``n_above`` is the number of lines above its header, and ``says``
    tells what was done to read it; ``is_parsed`` says that the rows were made from checked ones. ``unpacked`` is where the bytes of a large
    packed file lie, and ``is_changed`` says that the rows are not those of the bytes as they are.
    ``fault`` is what is wrong with a file whose rows could be read all the same. ``n_blank`` is the number of cells that would be rows if they were not empty.
    """

    rows: pl.LazyFrame
    path: Path | None = None
    format: str = "frame"
    numbers: pl.Series | None = None
    separator: str = ","
    is_parsed: bool = False
    n_above: int = 0
    says: tuple[str, ...] = ()
    unpacked: Path | None = None
    is_changed: bool = False
    fault: InputError | None = None
    n_blank: int = 0

    def where(self, row: int, source: str | None = None) -> str:
        """How to name row number `row` (from 0) to a person: file and line, or `source` where a reader made the rows."""
        row = row if self.numbers is None else int(self.numbers[row])
        if self.path is None:
            return source or f"row {row + 1}"
        line = self._line(row)
        return f"{self.path} line {line}" if line else f"{self.path} row {row + 1}"

    def _line(self, row: int) -> int | None:
        """The line of the file on which a row starts; fields with line breaks and blank lines are counted."""
        if self.path is None or self.format not in ("csv", "tsv", "jsonl") or {*self.says} & _WITHOUT_LINES:
            return None
        lines = io.StringIO(plain_text(self.unpacked or self.path, self.format)[0].decode("utf-8-sig"), newline="")
        if self.format == "jsonl":
            filled = (number for number, line in enumerate(lines, 1) if line.strip())
        else:
            filled = record_lines(lines, self.separator)
            while next(filled, self.n_above + 1) <= self.n_above:  # up to the header
                pass
        return next((line for index, line in enumerate(filled) if index == row), None)

    def parsed(self, *, is_tidied: bool = False) -> Part:
        """The same rows, held if they came from text, without the keys that no line of a jsonl file has.

        ``is_tidied`` leaves out, and says, what only looks like data.
        """
        if self.fault:
            if not is_tidied:
                raise self.fault
            return replace(self, fault=None).parsed(is_tidied=True)
        try:
            stored = self._stored()
            held = stored or self._with_keys_that_are_there().held()
            if held is self or self.path is None:
                return held
            if self.format in ("csv", "tsv") and not stored:
                refuse_short_records(self.path, self.separator, self.n_above)
            if self.format == "jsonl":
                refuse_ambiguous_objects(self.unpacked or self.path, held.rows.collect_schema().names())
        except InputError as error:
            if is_tidied and (tidy := self._tidied()):
                return tidy
            raise self._renamed(error) from None
        return held

    def _renamed(self, error: InputError) -> InputError:
        """The same fault with the file's own name, where it was found in an unpacked copy."""
        return InputError(str(error).replace(str(self.unpacked), str(self.path))) if self.unpacked else error

    def _stored(self) -> Part | None:
        """The rows of a large csv or jsonl file in parquet files, which are removed when the process ends; None for other files.

        So the texts beside the scores, which are most of such a file, are never in memory together.
        """
        file = self.unpacked or self.path
        if file is None or self.format not in ("csv", "tsv", "jsonl") or self.is_parsed or file.suffix.lower() == ".gz":
            return None
        if self.is_changed or file.stat().st_size <= _LARGE_LINES:
            return None
        files: list[Path] = []
        folder = temporary_folder()
        schema = self.rows.collect_schema()
        is_csv = self.format != "jsonl"
        for block in record_blocks(file, self.separator, self.n_above) if is_csv else blocks_of(file):
            rows = (
                _scanner("csv", block, (), self.separator, 0).select(schema.names())
                if is_csv
                else pl.scan_ndjson(block, schema=schema)
            )
            files.append(folder / f"{len(files)}.parquet")
            self.collect(rows).write_parquet(files[-1], compression="lz4")
        if not files:
            return None
        stored = replace(self, rows=pl.scan_parquet(files, glob=False))
        return replace(stored._with_keys_that_are_there(), is_parsed=True)

    def _with_keys_that_are_there(self) -> Part:
        """The same rows without the expected keys that no line has: as columns of nothing they would take more room than the others."""
        if self.format not in ("jsonl", "json") or self.is_parsed:
            return self
        there = self.collect(self.rows.select(pl.all().is_not_null().any())).row(0, named=True)
        kept = [name for name, is_there in there.items() if is_there]
        return self if len(kept) == len(there) else replace(self, rows=self.rows.select(kept))

    def _tidied(self) -> Part | None:
        """The same table without what only looks like data: empty fields at the ends of lines, and lines below the table."""
        if self.path is None or self.path.stat().st_size > _MOST_UNTIDY:
            return None
        if self.format == "jsonl":
            return _repaired_part(self.path, self.rows.collect_schema().names())
        if self.format not in ("csv", "tsv"):
            return None
        try:
            text = plain_text(self.path, self.format)[0].decode("utf-8-sig")
            lines = text.split("\n")[self.n_above :]
            header, *records = csv.reader((line + "\n" for line in lines), delimiter=self.separator, strict=True)
        except (UnicodeDecodeError, csv.Error, ValueError, InputError):
            return None
        while header and not header[-1].strip():
            header.pop()
        n, says = len(header), []
        if n < 2 or len({*header}) < n:
            return None
        filled = [any(field.strip() for field in record) for record in records]
        end = len(records)
        while end and (not filled[end - 1] or (len(records[end - 1]) == 1 and False in filled[: end - 1])):
            end -= 1
        if n_below := sum(filled[end:]):
            if end == len(records) or filled[end]:  # no blank line between the table and them
                return None
            says.append(f"{n_below} line{'s' if n_below > 1 else ''} below the table excluded")
        rows = [record for record, is_filled in zip(records[:end], filled, strict=False) if is_filled]
        if not rows or any(len(row) < n or any(field.strip() for field in row[n:]) for row in rows):
            return None
        if any(len(row) > n for row in rows):
            says.append("empty fields at the ends of lines excluded")
        columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
        made = pl.DataFrame(columns, schema=dict.fromkeys(header, pl.String))
        return replace(self, rows=unguarded(made.lazy()), is_parsed=True, says=(*self.says, *says))

    def written_both_ways(self, name: str) -> list[str]:
        """The whole numbers that a jsonl file has in this column as numbers and as texts, 1 and "1", which are read as the same."""
        file = self.unpacked or self.path
        if file is None or self.format != "jsonl" or file.suffix.lower() == ".gz":
            return []
        key = rf'"{re.escape(name)}"\s*:\s*'
        line = pl.col("line")
        either = [
            line.str.extract(rf"{key}{mark}(-?\d{{1,18}}){mark}\s*[,}}]").alias(kind)
            for kind, mark in (("bare", ""), ("quoted", '"'))
        ]
        bare, quoted = set[str](), set[str]()
        for block in blocks_of(file):
            lines = pl.scan_csv(
                block,
                has_header=False,
                new_columns=["line"],
                separator="\x01",
                quote_char=None,
                encoding="utf8-lossy",
                infer_schema=False,
                truncate_ragged_lines=True,
            )
            found = lines.select(either).select(pl.all().unique().implode()).collect(engine="streaming")
            bare.update(found["bare"][0].drop_nulls())
            quoted.update(found["quoted"][0].drop_nulls())
        return sorted(bare & quoted)

    def held(self) -> Part:
        """The same rows, in memory if they came from text: parsing is what costs."""
        if (
            self.is_parsed
            or self.path is None
            or self.format == "parquet"
            or (self.unpacked or self.path).stat().st_size > _PARSE_ONCE
        ):
            return self
        return replace(self, rows=self.collect(self.rows).lazy())

    def collect(self, query: pl.LazyFrame) -> pl.DataFrame:
        """Run a query on these rows; a broken file is explained instead of polars' own words."""
        try:
            return query.collect(engine="streaming")
        except FAULTS as error:
            raise self._explain(error) from None

    def _explain(self, error: BaseException) -> InputError:
        if self.path is None:
            return InputError(first_line(error))
        if isinstance(error, OSError):
            return InputError(f"{self.path}: cannot be read ({error.strerror or first_line(error)}).")
        if self.format == "json":
            return InputError(f"{self.path}: {first_line(error)}.")
        if self.format == "parquet":
            return InputError(f"{self.path}: not a whole parquet file ({first_line(error)}). Make or fetch it again.")
        found = text_fault(self.unpacked or self.path, self.format, self.separator, self.n_above)
        return self._renamed(found) if found else InputError(f"{self.path}: {first_line(error)}.")


def as_list(value: Any) -> list[Any]:
    """One path, frame or table as a list of one, several as a list of them, None as an empty list.

    For arguments that may be one value or several: the letters of a path and the columns of a frame are not several values.

    Parameters
    ----------
    value : path, frame, table, or iterable of them, optional
        A value that is none of these, such as a number, gives a list of one, so that its reader can refuse it.
    """
    if value is None:
        return []
    is_one = isinstance(value, str | bytes | os.PathLike | Mapping) or is_frame(value)
    return [value] if is_one or not isinstance(value, Iterable) else list(value)


def parts_of(source: Source, expect: Iterable[str] = ()) -> tuple[Part, ...]:
    """Frames, parts, files or globs as parts; `expect` names columns that may first appear late in a jsonl file."""
    if isinstance(source, list | tuple):
        return tuple(part for one in source for part in parts_of(one, expect))
    if isinstance(source, Part):
        return (source,)
    if isinstance(source, str | os.PathLike):
        return tuple(_scan(path, tuple(expect)) for path in expand(source))
    return (Part(_frame(source)),)


def expand(pattern: str | os.PathLike[str]) -> list[Path]:
    """The files behind a path or a glob, sorted; none is an error that names what lies near."""
    path = Path(pattern)
    if path.exists():
        refuse_special(path)
        return [path]
    if glob.has_magic(str(pattern)):
        found = sorted(Path(name) for name in glob.glob(str(pattern), recursive=True))
        if found:
            for one in found:
                refuse_special(one)
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


def format_to_write(path: Path) -> str:
    """csv, tsv, jsonl or parquet by the file's ending; an ending that cannot be written is refused."""
    kind = format_of(path)
    if kind is None:
        raise InputError(f"{path}: unknown ending; use one of {', '.join(FORMATS)} (text also with .gz).")
    if kind == "parquet" and path.suffix.lower() == ".gz":
        raise InputError(f"{path}: parquet is compressed already; remove .gz.")
    return kind


def text_table(path: Path) -> str | None:
    """The kind of a table in a file: by its ending, or by what is in a .txt or .json file; None where there is none.

    A .txt file is a table if its lines have the same number of fields. A .json file is one if it is a list of objects, or an object with
    one list of objects, with lists or objects of values, or with an object per model.
    """
    ending = path.suffix.lower()
    with suppress(OSError, InputError):
        if ending in TEXTS:
            return "txt" if separator_of_text(plain_text(path, "csv", LONGEST_HEADER)[0]) else None
        if ending == ".json":
            return "json" if is_json_list(path) or object_rows(path) else None
    return format_of(path)


def _json_part(path: Path, expect: Sequence[str]) -> Part:
    """The rows of a .json file."""
    held, told = json_rows(path)
    lines = "\n".join(json.dumps(one) for one in held).encode()
    try:
        rows = _scanner("jsonl", lines, tuple(expect), ",", 0)
    except FAULTS as error:
        raise InputError(f"{path}: {first_line(error)}.") from None
    return Part(rows, path, "json", says=(told,) if told else ())


def write_frame(frame: pl.DataFrame | pl.LazyFrame, path: str | os.PathLike[str]) -> Path:
    """Write csv, tsv, jsonl or parquet (by the ending, also ``.gz`` for text), whole or not at all."""
    target = Path(path)
    kind = format_to_write(target)
    packed = target.suffix.lower() == ".gz"
    lazy = frame.lazy() if kind == "parquet" else as_text(frame.lazy(), keep_nested=kind == "jsonl")
    # An open file, not its path: after a failure polars' threads may still create what a path names.
    with atomic_path(target) as temporary, temporary.open("wb") as stream:
        sink: IO[bytes] = io.BytesIO() if packed else stream
        if kind == "parquet":
            try:
                lazy.sink_parquet(sink)
            except pl.exceptions.ComputeError as error:
                if "(os error " not in str(error):
                    raise
                raise OSError(str(error)) from None  # as the sinks of other formats do
        elif kind == "jsonl":
            lazy.sink_ndjson(sink)
        else:
            guarded(lazy).sink_csv(sink, separator="\t" if kind == "tsv" else ",")
        if isinstance(sink, io.BytesIO):
            stream.write(_gzip(sink.getvalue()))
    return target


def as_text(rows: pl.LazyFrame, *, keep_nested: bool = False) -> pl.LazyFrame:
    """The rows with those columns as text that a text format cannot hold: lists and structs as JSON, bytes as hex digits.

    ``keep_nested`` leaves lists and structs as they are, for a format that has them.
    """
    schema = rows.collect_schema()
    written = (_written(name, dtype, keep_nested=keep_nested) for name, dtype in schema.items())
    return rows.with_columns(column for column in written if column is not None)


def _written(name: str, dtype: pl.DataType, *, keep_nested: bool) -> pl.Expr | None:
    column = pl.col(name)
    if dtype == pl.Binary:
        return column.bin.encode("hex")
    if dtype == pl.Duration:
        return column.dt.to_string()
    if dtype == pl.Object or (dtype.is_nested() and "Binary" in repr(dtype)):  # polars cannot write these itself
        return column.map_elements(_told, return_dtype=pl.String)
    if not dtype.is_nested() or keep_nested:
        return None
    told = pl.struct(column.alias("v")).struct.json_encode().str.strip_prefix('{"v":').str.strip_suffix("}")
    return pl.when(column.is_not_null()).then(told).alias(name)


def _told(value: Any) -> str:
    return str(value.to_list() if isinstance(value, pl.Series) else value)


def _frame(rows: Rows) -> pl.LazyFrame:
    if isinstance(rows, pl.DataFrame | pl.LazyFrame):
        return rows.lazy()
    module = type(rows).__module__.partition(".")[0] if is_frame(rows) else ""
    try:
        if module == "pandas":
            return pl.from_pandas(rows).lazy()
        if module == "pyarrow":
            return pl.DataFrame(pl.from_arrow(rows)).lazy()
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"Reading a {module} table needs {error.name}: pip install {error.name}") from None
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise InputError(f"The {module} table cannot be read: {first_line(error)}.") from None
    raise InputError(
        f"A table is made from polars, pandas or pyarrow, or from a file's path; this is of type {type(rows).__name__}."
    )


def _scan(path: Path, expect: tuple[str, ...]) -> Part:
    if path.is_dir():
        raise InputError(f"{path}: is a directory; name its files, for example {path}/*.csv.")
    kind = text_table(path)
    if kind == "json":
        return _json_part(path, expect)
    if kind is None:
        if path.suffix.lower() in (*TEXTS, ".json"):
            raise InputError(f"{path}: no table is found in it. Save it as csv, with one row of names.")
        raise InputError(
            f"{path}: unknown ending; expected one of {', '.join(FORMATS)}, .txt, .html, .tex, .json, or .gz after them."
        )
    kind = "csv" if kind == "txt" else kind
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty.")
    separator, n_above = ",", 0
    says: list[str] = []
    is_large = path.suffix.lower() == ".gz" and path.stat().st_size > _LARGE_PACKED
    unpacked = unpack(path) if is_large else None
    file = unpacked or path
    empty = Part(pl.LazyFrame(), path, kind, unpacked=unpacked)
    try:
        data, told = _content(file, kind)
        if kind in ("csv", "tsv"):
            separator, n_above, says = layout_of(data, kind)
            says += told
        rows = _scanner(kind, data, expect, separator, n_above)
        names = rows.collect_schema().names()
        if kind in ("csv", "tsv") and (blank := [name for name in names if _BLANK_NAME.fullmatch(name)]):
            filled = rows.select((pl.col(blank) != "").any()).collect(engine="streaming").row(0)
            blank = [name for name, is_filled in zip(blank, filled, strict=True) if not is_filled]
            rows, names = rows.drop(blank), [name for name in names if name not in blank]
            says += [f"{len(blank)} empty column{'s' if len(blank) > 1 else ''} excluded"] if blank else []
        if kind != "parquet":
            refuse_odd_names(file, kind, names, separator)
    except InputError as error:
        raise empty._renamed(error) from None
    except FAULTS as error:
        fault = replace(empty, separator=separator, n_above=n_above)._explain(error)
        if kind == "jsonl" and path.stat().st_size <= _MOST_UNTIDY and (repaired := _repaired_part(path, expect)):
            return replace(repaired, fault=fault)
        raise fault from None
    return replace(
        empty,
        rows=rows,
        separator=separator,
        n_above=n_above,
        says=tuple(says),
        is_changed=kind in ("csv", "tsv") and isinstance(data, bytes),
    )


def _repaired_part(path: Path, expect: Sequence[str]) -> Part | None:
    """The rows of a jsonl file that is not written as one object per line."""
    try:
        found = repaired_lines(read_bytes(path))
        rows = _scanner("jsonl", found[0], tuple(expect), ",", 0) if found else None
    except (InputError, *FAULTS):
        return None
    return Part(rows, path, "json", says=(found[1],)) if rows is not None and found else None


def _content(path: Path, kind: str) -> tuple[Path | bytes, list[str]]:
    """What polars shall read, the file where it lies or its bytes when they have to be changed first, and what was changed."""
    with path.open("rb") as stream:
        start = stream.read(2**16)
    data: Path | bytes = path
    if path.suffix.lower() == ".gz":
        data = read_bytes(path)
        start = data[: len(start)]
    if kind != "parquet" and start.startswith(_PACKED):
        raise InputError(f"{path}: contains compressed data, but its name does not end in .gz. Unpack it first.")
    if kind in ("csv", "tsv"):
        is_changed = (
            start.startswith(UTF16) or path.suffix.lower() in TEXTS[1:] or (b"\r" in start and b"\n" not in start)
        )
        first = start.lstrip().partition(b"\n")[0]
        is_changed = is_changed or not MARKS.search(first) or (path.suffix.lower() == ".txt" and b"|" in start)
        is_small = isinstance(data, bytes) or path.stat().st_size <= _PARSE_ONCE
        if is_changed or (is_small and not is_utf8(io.BytesIO(data) if isinstance(data, bytes) else path.open("rb"))):
            plain, says = plain_text(path, kind)
            if two := with_one_header(plain, kind):
                return two, [*says, _TWO_HEADERS]
            if start.startswith(UTF16) and "UTF-16" not in says:
                raise InputError(f"{path}: begins as UTF-16 text, but is not. Save the file as UTF-8.")
            return plain if says else data, says
        names = [name.strip(b' "\r') for name in re.split(rb"[;,\t]", first)]
        may_have_two = is_small and (b"" in names or len({*names}) < len(names))
        first = b"\n".join(start.split(b"\n", 4)[:4])
        if may_have_two and path.stat().st_size <= _MOST_UNTIDY and with_one_header(first, kind):
            two = with_one_header(data if isinstance(data, bytes) else read_bytes(path), kind)
            return (two, [_TWO_HEADERS]) if two else (data, [])
    if kind == "jsonl":
        if start.startswith(BOM):
            data = read_bytes(path).removeprefix(BOM)
        refuse_huge_lines(path, io.BytesIO(data) if isinstance(data, bytes) else path.open("rb"))
    return data, []


def _scanner(kind: str, data: Path | bytes, expect: tuple[str, ...], separator: str, n_above: int) -> pl.LazyFrame:
    if kind == "parquet":
        return pl.scan_parquet(data, glob=False)
    if kind == "jsonl":
        source = glob.escape(str(data)) if isinstance(data, Path) else data
        named = pl.scan_ndjson(source, infer_schema_length=_LINES_FOR_NAMES).collect_schema().names()
        return pl.scan_ndjson(source, schema=dict.fromkeys([*named, *expect], pl.String))
    rows = unguarded(pl.scan_csv(data, infer_schema=False, separator=separator, glob=False, skip_lines=n_above))
    return rows.filter(pl.any_horizontal(pl.all() != ""))  # blank lines are no rows


def _gzip(data: bytes) -> bytes:
    import gzip

    return gzip.compress(data, mtime=0)


def is_frame(value: Any) -> bool:
    """Whether this is one table: a frame of polars, pandas or pyarrow, or a `howsure.tables.Table`; a single column is none."""
    module = type(value).__module__.partition(".")[0]
    return hasattr(value, {"pandas": "columns", "pyarrow": "schema"}.get(module, "lazy"))
