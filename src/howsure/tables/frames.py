"""Rows from anywhere as polars frames that remember which file and line they came from.

Text formats are read as text: what a column means is decided by the table that takes it, so that a wrong value can be
shown as it was written.
"""

from __future__ import annotations

import codecs
import csv
import glob
import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeAlias

import polars as pl

from howsure.errors import InputError, MissingExtraError, closest
from howsure.outside_text import guarded, unguarded, with_whole_letters
from howsure.safe_io import atomic_path, read_bytes, refuse_special, temporary_folder

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
    "as_text",
    "expand",
    "format_of",
    "json_lines",
    "parts_of",
    "text_table",
    "write_frame",
]

FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What reading a broken file may raise: of a parquet file with wrong bytes, polars panics."""

_LONGEST_LINE = 64 * 2**20
_PARSE_ONCE = 2 * 2**30  # text files up to this size are parsed into memory once; larger ones stay lazy
_LARGE_LINES = 64 * 2**20  # larger jsonl files are not held in memory
_BLOCK = 16 * 2**20
_LINES_FOR_NAMES = 10_000
_LONGEST_HEADER = 2**20
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # as a spreadsheet's "Unicode text"
_BLANK_NAME = re.compile(r"\s*(_duplicated_\d+)?")  # of a column without a name
_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*\s*%?")
_MOST_TITLES = 30
_MOST_UNTIDY = 64 * 2**20  # bytes of a table that is put in order
_MOST_CELLS = 2_000_000  # of a table in a web page, where one cell may claim a million places
_MOST_JSON = 64 * 2**20  # bytes of an object in a .json file that is looked into
_WRAPPERS = frozenset({"results", "scores", "data", "models", "leaderboard", "metrics", "evals", "evaluations"})
_AROUND = frozenset(
    {"model", "model_name", "model_id", "llm", "benchmark", "dataset", "eval", "eval_name", "task", "task_name"}
)
"""What an object may say beside its rows, for all of them."""
_SPREAD = frozenset(
    {
        "std",
        "sd",
        "var",
        "variance",
        "mean",
        "median",
        "min",
        "max",
        "ci",
        "ci_low",
        "ci_high",
        "low",
        "high",
        "lower",
        "upper",
    }
    | {"rank", "count"}
)
_WEB_PAGE = "the first table of a web page"
_TWO_HEADERS = "two rows of names read as one"
_MARKS = re.compile(rb"[,;|\t]")
_TEXTS = (".txt", ".md", ".html", ".htm")
_RULE = re.compile(r"[\s|:+=–—-]*-[\s|:+=–—-]*")  # under the names of a printed table
# gzip, zstandard and zlib, which polars would unpack without a bound
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda")


@dataclass(frozen=True)
class Part:
    """Rows that came from one place; `numbers` says which of its rows they are, when some were left out.

    ``separator`` stands between the fields of a csv or tsv file, ``n_above`` is the number of lines above its header, and ``says``
    tells what was done to read it; ``is_parsed`` says that the rows were made from checked ones.
    """

    rows: pl.LazyFrame
    path: Path | None = None
    format: str = "frame"
    numbers: pl.Series | None = None
    separator: str = ","
    is_parsed: bool = False
    n_above: int = 0
    says: tuple[str, ...] = ()

    def where(self, row: int, source: str | None = None) -> str:
        """How to name row number `row` (from 0) to a person: file and line, or `source` where a reader made the rows."""
        row = row if self.numbers is None else int(self.numbers[row])
        if self.path is None:
            return source or f"row {row + 1}"
        line = self._line(row)
        return f"{self.path} line {line}" if line else f"{self.path} row {row + 1}"

    def _line(self, row: int) -> int | None:
        """The line of the file on which a row starts; fields with line breaks and blank lines are counted."""
        if self.path is None or self.format not in ("csv", "tsv", "jsonl") or {*self.says} & {_TWO_HEADERS, _WEB_PAGE}:
            return None
        lines = io.StringIO(_plain_text(self.path, self.format)[0].decode("utf-8-sig"), newline="")
        if self.format == "jsonl":
            filled = (number for number, line in enumerate(lines, 1) if line.strip())
        else:
            filled = _csv_record_lines(lines, self.separator)
            while next(filled, self.n_above + 1) <= self.n_above:  # up to the header
                pass
        return next((line for index, line in enumerate(filled) if index == row), None)

    def parsed(self, *, is_tidied: bool = False) -> Part:
        """The same rows, held if they came from text, without the keys that no line of a jsonl file has.

        ``is_tidied`` leaves out, and says, what only looks like data.
        """
        try:
            held = self._stored() or self._with_keys_that_are_there().held()
            if held is self or self.path is None:
                return held
            if self.format in ("csv", "tsv"):
                _refuse_short_records(self.path, self.separator, self.n_above)
        except InputError:
            if is_tidied and (tidy := self._tidied()):
                return tidy
            raise
        if self.format == "jsonl":
            _refuse_ambiguous_objects(self.path, held.rows.collect_schema().names())
        return held

    def _stored(self) -> Part | None:
        """The rows of a large jsonl file in parquet files, which are removed when the process ends; None for other files.

        So the texts beside the scores, which are most of such a file, are never in memory together.
        """
        if self.path is None or self.format != "jsonl" or self.path.suffix.lower() == ".gz" or self.is_parsed:
            return None
        if self.path.stat().st_size <= _LARGE_LINES:
            return None
        files: list[Path] = []
        folder = temporary_folder()
        schema = self.rows.collect_schema()
        for block in _blocks(self.path):
            files.append(folder / f"{len(files)}.parquet")
            self.collect(pl.scan_ndjson(block, schema=schema)).write_parquet(files[-1], compression="lz4")
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
        if self.path is None or self.format not in ("csv", "tsv") or self.path.stat().st_size > _MOST_UNTIDY:
            return None
        try:
            text = _plain_text(self.path, self.format)[0].decode("utf-8-sig")
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
            says.append(f"{n_below} line{'s' if n_below > 1 else ''} below the table left out")
        rows = [record for record, is_filled in zip(records[:end], filled, strict=False) if is_filled]
        if not rows or any(len(row) < n or any(field.strip() for field in row[n:]) for row in rows):
            return None
        if any(len(row) > n for row in rows):
            says.append("empty fields at the ends of lines left out")
        columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
        made = pl.DataFrame(columns, schema=dict.fromkeys(header, pl.String))
        return replace(self, rows=unguarded(made.lazy()), is_parsed=True, says=(*self.says, *says))

    def written_both_ways(self, name: str) -> list[str]:
        """The whole numbers that a jsonl file has in this column as numbers and as texts, 1 and "1", which are read as the same."""
        if self.path is None or self.format != "jsonl" or self.path.suffix.lower() == ".gz":
            return []
        key = rf'"{re.escape(name)}"\s*:\s*'
        line = pl.col("line")
        either = [
            line.str.extract(rf"{key}{mark}(-?\d{{1,18}}){mark}\s*[,}}]").alias(kind)
            for kind, mark in (("bare", ""), ("quoted", '"'))
        ]
        bare, quoted = set[str](), set[str]()
        for block in _blocks(self.path):
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
        if self.is_parsed or self.path is None or self.format == "parquet" or self.path.stat().st_size > _PARSE_ONCE:
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
            return InputError(_first_line(error))
        if isinstance(error, OSError):
            return InputError(f"{self.path}: cannot be read ({error.strerror or _first_line(error)}).")
        if self.format == "json":
            return InputError(f"{self.path}: {_first_line(error)}.")
        if self.format == "parquet":
            return InputError(f"{self.path}: not a whole parquet file ({_first_line(error)}). Make or fetch it again.")
        return _text_fault(self.path, self.format, self.separator, self.n_above) or InputError(
            f"{self.path}: {_first_line(error)}."
        )


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


def text_table(path: Path) -> str | None:
    """The kind of a table in a file: by its ending, or by what is in a .txt or .json file; None where there is none.

    A .txt file is a table if its lines have the same number of fields. A .json file is one if it is a list of objects, or an object with
    one list of objects, with lists or objects of values, or with an object per model.
    """
    ending = path.suffix.lower()
    with suppress(OSError, InputError):
        if ending in _TEXTS:
            return "txt" if _separated(_plain_text(path, "csv", _LONGEST_HEADER)[0]) else None
        if ending == ".json":
            return "json" if _is_json_list(path) or _object_rows(path) else None
    return format_of(path)


def _is_json_list(path: Path) -> bool:
    """Whether a .json file is a list of objects, as pandas' ``to_json(orient="records")`` writes it."""
    with path.open("rb") as stream:
        return re.match(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{", stream.read(4096)) is not None


def _object_rows(path: Path) -> tuple[list[dict[str, Any]], str] | None:
    """The rows of a table that is written as one JSON object, and how they stand in it."""
    with path.open("rb") as stream:
        if not re.match(rb"(?:\xef\xbb\xbf)?\s*\{", stream.read(4096)) or path.stat().st_size > _MOST_JSON:
            return None
    held = _json(path)
    return _rows_in(held, {}) if isinstance(held, dict) else None


def _rows_in(held: dict[str, Any], around: dict[str, str]) -> tuple[list[dict[str, Any]], str] | None:
    lists = {key: value for key, value in held.items() if isinstance(value, list)}
    objects = {key: value for key, value in held.items() if isinstance(value, dict) and value}
    texts = around | {key: value for key, value in held.items() if key in _AROUND and isinstance(value, str)}
    of_objects = [key for key, value in lists.items() if value and all(isinstance(one, dict) for one in value)]
    if len(of_objects) == 1:  # what the object says beside the list, such as the model, holds for all
        return [texts | one for one in lists[of_objects[0]]], f"rows under {of_objects[0]!r}"
    columns, data = lists.get("columns", []), lists.get("data", [])
    if columns and data and all(isinstance(one, list) and len(one) == len(columns) for one in data):
        return [dict(zip(map(str, columns), one, strict=True)) for one in data], "rows under 'data'"
    if len(lists) == len(held) > 1 and len({len(value) for value in lists.values()}) == 1:
        if all(isinstance(one, int | float) for value in lists.values() for one in value):
            rows = [{"model": key, "item": i, "score": x} for key, own in lists.items() for i, x in enumerate(own, 1)]
            return rows, "names of lists → model, places in them → item"
        names = list(lists)
        return [dict(zip(names, row, strict=True)) for row in zip(*lists.values(), strict=True)], "a list per column"
    wrapped = [value for key, value in objects.items() if key in _WRAPPERS]
    if len(wrapped) == 1 or (len(objects) == 1 < len(held)):
        (inner,) = wrapped if len(wrapped) == 1 else objects.values()
        return _rows_in(inner, texts) if any(isinstance(one, dict | list) for one in inner.values()) else None
    if not objects or len(objects) < len(held):
        return None
    values = [one for value in objects.values() for one in value.values()]
    keys = [tuple(value) for value in objects.values()]
    is_numbered = all(key.isdecimal() for own in keys for key in own)
    if is_numbered and len({*keys}) == 1 and any(isinstance(one, str) for one in values):  # pandas' to_json()
        return [{name: own[key] for name, own in objects.items()} for key in keys[0]], "an object per column"
    if all(isinstance(one, dict) for one in values):
        rows = [texts | {"model": a, "task": b} | leaf for a, own in objects.items() for b, leaf in own.items()]
        return rows, "names of objects → model, names in them → task"
    if any(isinstance(one, list) for one in values):
        tries = (
            (a, b, one if isinstance(one, list) else [one]) for a, own in objects.items() for b, one in own.items()
        )
        rows = [texts | {"model": a, "task": b, "score": x} for a, b, own in tries for x in own]
        return rows, "names of objects → model, names in them → task, lists → attempts"
    if any("model" in own for own in objects.values()):
        return [{"id": name} | own for name, own in objects.items()], "names of objects → id"
    return [texts | {"model": name} | own for name, own in objects.items()], "names of objects → model"


def _rows_of_runs(runs: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """The rows of a list of runs, each of which has one list of rows and says beside it what holds for all of them."""
    lists = {
        tuple(key for key, value in run.items() if value and isinstance(value, list) and isinstance(value[0], dict))
        for run in runs
    }
    inner = next(iter(lists), ())
    known = _AROUND | {"run", "seed", "epoch", "trial", "attempt"}
    is_runs = (
        len(lists) == 1 and len(inner) == 1 and all(isinstance(one, dict) for run in runs for one in run[inner[0]])
    )
    if not is_runs or not any(run.keys() & known for run in runs):
        return runs, ""
    rows = []
    for run in runs:
        around = {key: value for key, value in run.items() if key in known and not isinstance(value, list)}
        rows += [around | one for one in run[inner[0]]]
    return rows, f"rows under {inner[0]!r}"


def _json(path: Path) -> Any:
    try:
        return json.loads(
            read_bytes(path).decode("utf-8-sig"),
            parse_constant=_no_constant,
            parse_int=_whole,
            object_pairs_hook=_with_each_key_once,
        )
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {_not_utf8(read_bytes(path), error)}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({_first_line(error)}).") from None


def _json_part(path: Path, expect: Sequence[str]) -> Part:
    """The rows of a .json file."""
    told = ""
    if _is_json_list(path):
        held = _json(path)
        if wrong := next((number for number, one in enumerate(held, 1) if not isinstance(one, dict)), None):
            raise InputError(f"{path}: element {wrong} of the list is not an object.")
        held, told = _rows_of_runs(held)
    else:
        held, told = _object_rows(path) or ([], "")
    lines = "\n".join(json.dumps(one) for one in held).encode()
    try:
        rows = _scanner("jsonl", lines, tuple(expect), ",", 0)
    except FAULTS as error:
        raise InputError(f"{path}: {_first_line(error)}.") from None
    return Part(rows, path, "json", says=(told,) if told else ())


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a jsonl file, each with the line it is on; a line that holds none is explained."""
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(
                with_whole_letters(line).decode().strip(),
                parse_constant=_no_constant,
                parse_float=_finite,
                parse_int=_whole,
                object_pairs_hook=_with_each_key_once,
            )
        except UnicodeDecodeError as error:
            raise InputError(f"{path} line {number}: {_not_utf8(line, error)}") from None
        except (ValueError, RecursionError) as error:
            told = f"{error.msg} at character {error.colno}" if isinstance(error, json.JSONDecodeError) else error
            raise InputError(f"{path} line {number}: not JSON ({told}): {_short(line)}") from None
        if not isinstance(value, dict):
            raise InputError(f"{path} line {number}: one JSON object per line is expected, not {_short(line)}")
        yield number, value


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file one by one, so that a large file needs no more room than its longest line."""
    refuse_special(path)
    try:
        with io.BytesIO(read_bytes(path)) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            if stream.read(len(_BOM)) != _BOM:
                stream.seek(0)
            for number, line in enumerate(iter(lambda: stream.readline(_LONGEST_LINE + 1), b""), 1):
                if len(line) > _LONGEST_LINE:
                    raise InputError(f"{path} line {number}: longer than {_LONGEST_LINE / 2**20:.0f} MB.")
                yield line
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from None


def write_frame(frame: pl.DataFrame | pl.LazyFrame, path: str | os.PathLike[str]) -> Path:
    """Write csv, tsv, jsonl or parquet (by the ending, also ``.gz`` for text), whole or not at all."""
    target = Path(path)
    kind = format_of(target)
    if kind is None:
        raise InputError(f"{target}: unknown ending; use one of {', '.join(FORMATS)} (text also with .gz).")
    packed = target.suffix.lower() == ".gz"
    if packed and kind == "parquet":
        raise InputError(f"{target}: parquet is compressed already; leave out .gz.")
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
    module = type(rows).__module__.partition(".")[0]
    try:
        if module == "pandas":
            return pl.from_pandas(rows).lazy()
        if module == "pyarrow":
            return pl.DataFrame(pl.from_arrow(rows)).lazy()
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"Reading a {module} table needs {error.name}: pip install {error.name}") from None
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise InputError(f"The {module} table cannot be read: {_first_line(error)}.") from None
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
        if path.suffix.lower() in (*_TEXTS, ".json"):
            raise InputError(f"{path}: no table is found in it. Save it as csv, with one row of names.")
        raise InputError(
            f"{path}: unknown ending; expected one of {', '.join(FORMATS)}, .txt, .html, .json, or .gz after them."
        )
    kind = "csv" if kind == "txt" else kind
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty.")
    separator, n_above = ",", 0
    says: list[str] = []
    try:
        data, told = _content(path, kind)
        if kind in ("csv", "tsv"):
            separator, n_above, says = _layout(data, kind)
            says += told
        rows = _scanner(kind, data, expect, separator, n_above)
        names = rows.collect_schema().names()
        if kind in ("csv", "tsv") and (blank := [name for name in names if _BLANK_NAME.fullmatch(name)]):
            filled = rows.select((pl.col(blank) != "").any()).collect(engine="streaming").row(0)
            blank = [name for name, is_filled in zip(blank, filled, strict=True) if not is_filled]
            rows, names = rows.drop(blank), [name for name in names if name not in blank]
            says += [f"{len(blank)} empty column{'s' if len(blank) > 1 else ''} left out"] if blank else []
    except FAULTS as error:
        raise Part(pl.LazyFrame(), path, kind, separator=separator, n_above=n_above)._explain(error) from None
    if kind != "parquet":
        _refuse_odd_names(path, kind, names, separator)
    return Part(rows, path, kind, separator=separator, n_above=n_above, says=tuple(says))


def _layout(data: Path | bytes, kind: str) -> tuple[str, int, list[str]]:
    """What stands between the fields, the number of lines above the header, and what to say about them.

    The separator is the one that a first line ``sep=;`` names, else the usual mark of the ending or the one that the header has more
    often. The lines above the header are that line, and titles: lines with nothing but a first field, above the first line with
    several fields, none of which is a number.
    """
    if isinstance(data, Path):
        with data.open("rb") as stream:
            start = stream.read(_LONGEST_HEADER)
    else:
        start = data[:_LONGEST_HEADER]
    whole = start.decode("utf-8-sig", errors="replace").split("\n")
    lines = [re.sub(r'"(?:[^"]|"")*"', "x", line).strip("\r") for line in whole[:_MOST_TITLES]]
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
    told = f"{n_written} line{'s' if n_written > 1 else ''} above the header left out"
    return separator_of(lines[titles]), titles, [told]


def _plain_text(path: Path, kind: str, most: int | None = None) -> tuple[bytes, list[str]]:
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
    if data.startswith(_UTF16):
        with suppress(UnicodeDecodeError):
            data, says = data.decode("utf-16").encode(), ["UTF-16"]
    elif not _is_utf8(io.BytesIO(data)) and b"\0" not in data:
        text = data.decode("utf-8", errors="replace")
        n_wrong = text.count("\ufffd")
        n_letters = sum(one > "\x7f" for one in text) - n_wrong
        if n_wrong > n_letters:  # else it is UTF-8 with a fault in it
            with suppress(UnicodeDecodeError):
                data, says = data.decode("cp1252").encode(), ["Windows-1252 letters, not UTF-8"]
    if b"\r" in data and b"\n" not in data:
        data, says = data.replace(b"\r", b"\n"), [*says, "lines end in carriage returns"]
    if path.suffix.lower() in (".html", ".htm"):
        return _HtmlTable(data).as_csv(), [*says, _WEB_PAGE]
    if path.suffix.lower() in _TEXTS and (printed := _between_bars(data)):
        return printed, [*says, "fields between bars"]
    first = data.lstrip().partition(b"\n")[0]
    if not _MARKS.search(first) and _separated(data) == " " and _is_utf8(io.BytesIO(data)):
        return _with_tabs(data), [*says, "fields separated by blanks"]
    return data, says


class _HtmlTable(HTMLParser):
    """The first table of a web page that has two rows and two columns; a cell over several rows or columns is in each of them."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._rows: list[dict[int, str]] = []
        self._below: dict[tuple[int, int], str] = {}  # cells that reach into later rows
        self._cell: list[str] | None = None
        self._depth = self._n_columns = self._n_rows = self._n_unread = self._n_cells = 0
        self._is_found = False
        self.feed(data.decode("utf-8-sig", errors="replace"))
        self.close()

    def as_csv(self) -> bytes:
        made = io.StringIO()
        width = max((len(row) for row in self._rows), default=0)
        for row in self._rows:
            csv.writer(made, lineterminator="\n").writerow([row.get(place, "") for place in range(width)])
        return made.getvalue().encode()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table" and not self._is_found:
            self._depth += 1
            self._rows = [] if self._depth == 1 else self._rows
        elif tag in ("script", "style", "sup"):  # footnotes are no part of a name
            self._n_unread += 1
        elif self._depth == 1 and tag == "tr":
            self._rows.append({})
            self._cell = None
        elif self._depth == 1 and tag in ("td", "th") and self._rows:
            self._close_cell()
            given = dict(attrs)
            self._n_columns, self._n_rows = (
                max(1, min(1000, int(told))) if (told := given.get(name) or "").isdecimal() else 1
                for name in ("colspan", "rowspan")
            )
            self._cell = []
        elif tag == "br" and self._cell is not None:
            self._cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "sup"):
            self._n_unread = max(0, self._n_unread - 1)
        elif self._depth == 1 and tag in ("td", "th", "tr", "table"):
            self._close_cell()
        if tag == "table" and self._depth:
            self._depth -= 1
            self._rows = [row for row in self._rows if row] if not self._depth else self._rows
            self._is_found = self._is_found or (not self._depth and len(self._rows) > 1 < len(self._rows[0]))

    def handle_data(self, data: str) -> None:
        if self._cell is not None and not self._n_unread and not self._is_found:
            self._cell.append(data)

    def _close_cell(self) -> None:
        if self._cell is None:
            return
        self._n_cells += self._n_columns * self._n_rows
        if self._n_cells > _MOST_CELLS:
            raise InputError(f"The table of the web page has more than {_MOST_CELLS:,} cells and was not read.")
        number, row = len(self._rows) - 1, self._rows[-1]
        for _ in range(self._n_columns):
            while (number, len(row)) in self._below:
                row[len(row)] = self._below[number, len(row)]
            for further in range(1, self._n_rows):
                self._below[number + further, len(row)] = " ".join("".join(self._cell).split())
            row[len(row)] = " ".join("".join(self._cell).split())
        self._cell = None


def _between_bars(data: bytes) -> bytes | None:
    """The first table with bars around its fields, as Markdown has it, on the lines where it was; None if there is none."""
    lines = [line.strip() for line in data.decode("utf-8-sig", errors="replace").split("\n")]
    is_row = [len(line) > 1 and line[0] == line[-1] == "|" for line in lines]
    if True not in is_row:
        return None
    start = is_row.index(True)
    end = next((i for i in range(start, len(lines)) if not is_row[i]), len(lines))
    kept = ["" if not start <= i < end or _RULE.fullmatch(line) else line[1:-1] for i, line in enumerate(lines)]
    return "\n".join(kept[:end]).encode() + b"\n"


def _is_utf8(stream: IO[bytes]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with stream:
        try:
            while piece := stream.read(2**20):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _separated(data: bytes) -> str | None:
    """What separates the fields in the first lines of a .txt file: a mark, blanks, or None if they are no table."""
    lines = data[:_LONGEST_HEADER].decode("utf-8-sig", errors="replace").split("\n")[:_MOST_TITLES]
    filled = [line for line in lines if line.strip()]
    try:
        for mark in "\t;|,":
            n = [len(record) for record in csv.reader(filled, delimiter=mark)]
            while n and n[0] == 1:  # titles
                n.pop(0)
            if len(n) > 1 and len({*n}) == 1:
                return mark
        n = [len(record) for record in _in_blanks(filled)]
    except csv.Error:
        return None
    return " " if len(n) > 1 and n[-1] > 1 and len({*n[1:]}) == 1 and n[0] in (n[1], n[1] - 1) else None


def _in_blanks(lines: Sequence[str]) -> list[list[str]]:
    """Lines in fields between blanks outside quotes, or between two blanks at least where only that gives as many fields as names."""
    narrow = [
        next(csv.reader([line.strip().replace("\t", " ")], delimiter=" ", skipinitialspace=True), []) for line in lines
    ]
    wide = [re.split(r"[ \t]{2,}", line.strip()) for line in lines]
    for records in (narrow, wide):
        n = {len(record) for record in records if any(record)}
        if len(n) == 1 and max(n) > 1:
            return records
    return narrow


def _with_tabs(data: bytes) -> bytes:
    """The text of a table with tabs for blanks; above the names of rows, which R writes and pandas prints, stands no name."""
    records = _in_blanks(data.decode("utf-8-sig").split("\n"))
    first, second = [record for record in records if any(record)][:2]
    if len(second) == len(first) + 1:
        first.insert(0, "")
    made = io.StringIO()
    writer = csv.writer(made, delimiter="\t", lineterminator="\n")
    for record in records:
        writer.writerow(record if any(record) else [])
    return made.getvalue().encode()


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
            start.startswith(_UTF16) or path.suffix.lower() in _TEXTS[1:] or (b"\r" in start and b"\n" not in start)
        )
        first = start.lstrip().partition(b"\n")[0]
        is_changed = is_changed or not _MARKS.search(first) or (path.suffix.lower() == ".txt" and b"|" in start)
        is_small = isinstance(data, bytes) or path.stat().st_size <= _PARSE_ONCE
        if is_changed or (is_small and not _is_utf8(io.BytesIO(data) if isinstance(data, bytes) else path.open("rb"))):
            plain, says = _plain_text(path, kind)
            if two := _with_one_header(plain, kind):
                return two, [*says, _TWO_HEADERS]
            if start.startswith(_UTF16) and "UTF-16" not in says:
                raise InputError(f"{path}: begins as UTF-16 text, but is not. Save the file as UTF-8.")
            return plain if says else data, says
        first = b"\n".join(start.split(b"\n", 4)[:4])
        if is_small and path.stat().st_size <= _MOST_UNTIDY and _with_one_header(first, kind):
            two = _with_one_header(data if isinstance(data, bytes) else read_bytes(path), kind)
            return (two, [_TWO_HEADERS]) if two else (data, [])
    if kind == "jsonl":
        if start.startswith(_BOM):
            data = read_bytes(path).removeprefix(_BOM)
        _refuse_huge_lines(path, io.BytesIO(data) if isinstance(data, bytes) else path.open("rb"))
    return data, []


def _with_one_header(data: bytes, kind: str) -> bytes | None:
    """A table with two rows of names, as pandas writes columns in two levels, with one; None for other tables.

    Names below a benchmark such as accuracy, stderr and n become columns, and the benchmark's name a column beside them. Other names are
    joined to the one above them.
    """
    from howsure.tables.known_words import ALIASES, SCORE  # which know the tables, which know this module

    mark = "\t" if kind == "tsv" else max(";,", key=data.partition(b"\n")[0].decode(errors="replace").count)
    try:
        records = [
            one for one in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=mark) if any(one)
        ]
    except (UnicodeDecodeError, csv.Error):
        return None
    if len(records) < 3 or len(records[0]) < 3 or len(records[1]) != len(records[0]):
        return None
    above, below = ([field.strip() for field in record] for record in records[:2])
    for place in range(2, len(above)):  # merged cells have their name in the first of them
        above[place] = above[place] or above[place - 1]
    key, groups = above[0] or below[0], above[1:]
    is_table = (
        len({*groups}) < len(groups) and all(groups) and len({*zip(groups, below[1:], strict=True)}) == len(groups)
    )
    if (
        not is_table
        or not all(below[1:])
        or any(_NUMBER.fullmatch(name) for name in below[1:])
        or (above[0] and below[0])
    ):
        return None
    rows = records[2:]
    if rows[0][0].strip() and not any(field.strip() for field in rows[0][1:]):  # pandas' names of the rows
        key, rows = rows[0][0].strip(), rows[1:]
    if any(len(row) != len(above) for row in rows):
        return None
    beside = {
        alias for table in ALIASES.values() for ours in ("se", "n", "n_items") for alias in (ours, *table.get(ours, ()))
    }
    inner = [*dict.fromkeys(below[1:])]
    plain = {re.sub(r"\W+", "_", name.lower()) for name in inner}
    has_scores, is_known = plain & {*SCORE}, plain <= beside | {*SCORE}
    if plain & _SPREAD or (has_scores and not is_known) or (plain & beside and len(has_scores) != 1):
        return None  # standard errors and ends of intervals must not be taken for scores
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n", delimiter=mark)
    if plain & beside:
        writer.writerow([key or "model", "benchmark", *inner])
        for row in rows:
            for group in dict.fromkeys(groups):
                held = {below[i]: row[i] for i in range(1, len(row)) if above[i] == group}
                writer.writerow([row[0], group, *(held.get(name, "") for name in inner)])
    else:
        writer.writerow([key or "model", *(" ".join(pair) for pair in zip(groups, below[1:], strict=True))])
        writer.writerows(rows)
    return made.getvalue().encode()


def _scanner(kind: str, data: Path | bytes, expect: tuple[str, ...], separator: str, n_above: int) -> pl.LazyFrame:
    if kind == "parquet":
        return pl.scan_parquet(data, glob=False)
    if kind == "jsonl":
        source = glob.escape(str(data)) if isinstance(data, Path) else data
        named = pl.scan_ndjson(source, infer_schema_length=_LINES_FOR_NAMES).collect_schema().names()
        return pl.scan_ndjson(source, schema=dict.fromkeys([*named, *expect], pl.String))
    rows = unguarded(pl.scan_csv(data, infer_schema=False, separator=separator, glob=False, skip_lines=n_above))
    return rows.filter(pl.any_horizontal(pl.all() != ""))  # blank lines are no rows


def _blocks(path: Path) -> Iterator[bytes]:
    """The whole lines of a jsonl file, some at a time."""
    lines: list[bytes] = []
    size = 0
    for line in _lines(path):
        lines.append(line)
        size += len(line)
        if size > _BLOCK:
            yield b"".join(lines)
            lines, size = [], 0
    if any(line.strip() for line in lines):
        yield b"".join(lines)


def _refuse_huge_lines(path: Path, stream: IO[bytes]) -> None:
    """One line of hundreds of megabytes is a JSON document that lost its way, not a row."""
    with stream:
        if stream.seek(0, os.SEEK_END) <= _LONGEST_LINE:
            return
        stream.seek(0)
        for number, line in enumerate(iter(lambda: stream.readline(_LONGEST_LINE + 1), b""), 1):
            if len(line) > _LONGEST_LINE:
                size = _LONGEST_LINE / 2**20
                raise InputError(
                    f"{path} line {number}: longer than {size:.0f} MB; a jsonl file has one object per line."
                )


def _refuse_short_records(path: Path, separator: str, n_above: int) -> None:
    """A record that ends before the last column was cut off, or lacks a field somewhere before it."""
    data, mark = _plain_text(path, "csv")[0], separator.encode()
    if b'"' not in data:
        lines = (line for line in data.splitlines()[n_above:] if line.strip(b" \t,;|"))
        needed = next(lines, b"").count(mark)
        if all(line.count(mark) >= needed for line in lines):
            return
    if fault := _csv_fault(path, data.decode("utf-8-sig"), separator, n_above):
        raise fault


def _refuse_ambiguous_objects(path: Path, names: Sequence[str]) -> None:
    """Objects that are read in two ways: a key that is there twice, and halves of letters, which merge different names."""
    keys = [json.dumps(name, ensure_ascii=False).encode() for name in names]
    for number, line in enumerate(_lines(path), 1):
        if b"\\u" in line and with_whole_letters(line) != line:
            raise InputError(
                f"{path} line {number}: contains half a letter (\\ud800 to \\udfff without its other half): {_short(line)} "
                "Write the whole letter or leave it out."
            )
        for key in keys:
            if line.count(key) < 2:
                continue
            try:
                json.loads(line, object_pairs_hook=_with_each_key_once, parse_int=_whole)
            except ValueError as error:
                raise InputError(f"{path} line {number}: {error}: {_short(line)}") from None


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        twice = next(name for position, (name, _) in enumerate(pairs) if name in dict(pairs[:position]))
        raise ValueError(f"key {twice!r} is there twice; leave out one")
    return held


def _refuse_odd_names(path: Path, kind: str, names: Sequence[str], separator: str) -> None:
    """Names that show that the whole file is written in another way than its ending says."""
    header = "".join(names)
    if "\0" in header or "\ufffd" in header:
        raise _text_fault(path, kind, separator) or InputError(f"{path} line 1: a column's name contains zero bytes.")
    if re.match(r"\s*<(!doctype html|html|head|body)\b", header, re.IGNORECASE):
        raise InputError(f"{path}: contains a web page, not a table. Does its address ask for a password?")
    if "\r" in header:
        raise InputError(f"{path}: its lines end in carriage returns and line feeds by turns. Save it with line feeds.")
    if twice := [name for name in names if name.endswith("_duplicated_0")]:
        raise InputError(
            f"{path}: column {twice[0].removesuffix('_duplicated_0')!r} is there twice; rename one. (A table has one row of names.)"
        )


def _text_fault(path: Path, kind: str, separator: str, n_above: int = 0) -> InputError | None:
    """What is wrong with a csv or jsonl file that polars refused, found by a slow and careful reading."""
    data = _plain_text(path, kind)[0]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return InputError(f"{path} line {line}: {_not_utf8(data, error)}")
    if not text.strip():
        return InputError(f"{path}: the file is empty.")
    if "\0" in text[:_LINES_FOR_NAMES]:
        return InputError(f"{path}: contains zero bytes, as UTF-16 text does. Save the file as UTF-8.")
    return _json_fault(path) if kind == "jsonl" else _csv_fault(path, text, separator, n_above)


def _json_fault(path: Path) -> InputError | None:
    try:
        _refuse_ambiguous_objects(path, ())
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
                return InputError(
                    f"{path} line {reader.line_num + n_above}: {len(record)} fields where the header has {len(header)}. "
                    "Put quotes around text that contains the separator."
                )
            if len(record) < len(header) and any(record):
                return InputError(
                    f"{path} line {start}: {len(record)} fields where the header has {len(header)}. "
                    "Write a separator for each empty field."
                )
            start = reader.line_num + n_above + 1
    except csv.Error as error:
        return InputError(f"{path} line {start}: a field that cannot be read ({error}). Are its quotes closed?")
    return None


def _csv_record_lines(lines: Iterable[str], separator: str) -> Any:
    """The line on which each record starts."""
    reader = csv.reader(lines, delimiter=separator)
    start = 1
    for record in reader:
        if any(record):
            yield start
        start = reader.line_num + 1


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number; leave the value out or write null")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_constant(text)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python's own bound on the number of digits
        raise ValueError(f"a whole number of {len(text):,} digits is too long") from None


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> str:
    return f"byte 0x{data[error.start]:02x} is not UTF-8. Save the file as UTF-8 (iconv -f … -t utf-8)."


def _gzip(data: bytes) -> bytes:
    import gzip

    return gzip.compress(data, mtime=0)


def _first_line(error: BaseException) -> str:
    told = str(error).strip().partition("\n")[0].rstrip(".")
    return told[:200] or type(error).__name__


def _short(line: bytes, most: int = 60) -> str:
    text = line.decode(errors="replace").strip()
    return text if len(text) <= most else text[:most] + "…"
