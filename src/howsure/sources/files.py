"""Any csv, tsv, jsonl or parquet table whose columns have our names, or are given them."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Literal

import polars as pl

from howsure.errors import HowsureError, InputError, OptionError
from howsure.safe_io import write_atomic
from howsure.sources import Progress
from howsure.sources._reading import leave_out, saw
from howsure.tables import TABLES, Attempts, Table
from howsure.tables.frames import Part, expand, parts_of, text_table
from howsure.tables.guesses import Guess, read_as
from howsure.yaml_files import read_yaml

__all__ = ["ABOUT", "OPTIONS", "ColumnMapping", "load_mapping", "read", "recognise", "save_mapping"]

ABOUT = "any csv, tsv, jsonl or parquet table (text also in .gz), or a table in a .txt or .json file, with its columns renamed where needed"
_NAMED = 5  # files that are named one by one
_LEFT_OUT = (
    "an error in the place of a score",
    "of a row that sums up the others",
    "no score",
    "lower is better",
    "declared invalid",
)
OPTIONS = frozenset({"rename", "fill", "table", "mapping", "decimal", "better", "wanted"})


@dataclass(frozen=True)
class ColumnMapping:
    """How a file becomes a table: which one, our column → theirs, one value for a whole column, what scores are divided by."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    table: Literal["attempts", "scores", "ratings", "votes"] | None = None
    rename: dict[str, str] = field(default_factory=dict)
    fill: dict[str, str | int | float | bool | date] = field(default_factory=dict)
    divide_by: float = 1
    decimal: Literal[".", ","] | None = None
    better: Literal["higher", "lower"] | None = None


def recognise(path: Path) -> str | None:
    """Every file with one of our endings, and tables in .txt and .json files."""
    kind = text_table(path) if path.is_file() else None
    return f"it is a {kind} file whose columns no other source knows" if kind else None


def read(
    paths: Sequence[Any],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
    table: str | None = None,
    mapping: str | os.PathLike[str] | None = None,
    decimal: str | None = None,
    better: str | None = None,
    wanted: str | None = None,
    kind: type[Table] | None = None,
) -> Table:
    """The files, or frames, as one table: the named one, the `wanted` one if they fit it, or the one whose needed columns are all there.

    Columns are recognised by the names that people use for them and by their values; the first note says how. `mapping` is a
    file that `save_mapping` wrote; what is given beside it goes before it. `kind` takes the place of the table's class.
    """
    options = {"rename": rename, "fill": fill, "decimal": decimal, "better": better}
    asked = _Asked.of(paths, table=table, wanted=wanted, mapping=mapping, divide_by=divide_by, **options)
    copies = _copies([part.path for part in asked.parts if part.path])
    made = None if kind or asked.has_options else asked.as_they_stand()
    parts, n_left_out = asked.parts, [0, 0, 0, 0]
    if made:
        made.notes = (*made.notes, *copies)
    else:
        guesses = asked.guesses(is_part=kind is not None)
        says = dict.fromkeys(one.says for one in guesses if one.says)
        if len(says) > 1:
            says = dict.fromkeys(f"{one.part.path}: {one.says}" for one in guesses if one.says)
        if why := guesses[0].why:  # one says it for all
            says = {f"{next(iter(says))}; {why}": None} if len(says) == 1 else {**says, f"read as: {why}": None}
        guesses = guesses if kind else _numbered_together(guesses)
        parts = tuple(one.part for one in guesses)
        made = (kind or guesses[0].table)(parts, notes=[*(f"{text}." for text in says), *copies])
        n_left_out = [
            sum(n)
            for n in zip(*((one.n_errored, one.n_total, one.n_blank, one.n_lower) for one in guesses), strict=True)
        ]
    n_invalid = sum(part.rows.select(pl.len()).collect().item() for part in parts) - len(made)
    saw(len(made) + n_invalid + sum(n_left_out))
    for why, n in zip(_LEFT_OUT, (*n_left_out, n_invalid), strict=True):
        leave_out(why, n)
    if progress:
        progress(len(paths), len(paths))
    return made


@dataclass(frozen=True)
class _Asked:
    """Files or frames, and what the user said about them."""

    parts: tuple[Part, ...]
    table: type[Table] | None
    wanted: type[Table] | None
    options: dict[str, Any]

    @classmethod
    def of(
        cls,
        paths: Sequence[Any],
        *,
        table: str | None = None,
        wanted: str | None = None,
        mapping: str | os.PathLike[str] | None = None,
        **given: Any,
    ) -> _Asked:
        saved = load_mapping(mapping) if mapping else ColumnMapping()
        options: dict[str, Any] = {
            "rename": saved.rename | dict(given.get("rename") or {}),
            "fill": saved.fill | dict(given.get("fill") or {}),
            "divide_by": saved.divide_by if given.get("divide_by", 1) == 1 else given["divide_by"],
            "decimal": given.get("decimal") or saved.decimal,
            "better": given.get("better") or saved.better,
        }
        chosen, needed = (_named(name) for name in (table or saved.table, wanted))
        tables = [one for one in (chosen, needed) if one] or TABLES.values()
        expect = [*options["rename"].values(), *(column.name for one in tables for column in one.columns)]
        files = dict.fromkeys(path for path in paths if isinstance(path, str | os.PathLike))
        frames = [path for path in paths if not isinstance(path, str | os.PathLike)]
        return cls(parts_of([*files, *frames], expect), chosen, needed, options)

    @property
    def has_options(self) -> bool:
        """Whether the user said how columns or values are to be read."""
        return self.options != {**dict.fromkeys(self.options), "rename": {}, "fill": {}, "divide_by": 1}

    def as_they_stand(self) -> Table | None:
        """The table that was asked for, or the one whose columns these are, where nothing has to be guessed."""
        asked = self.table or self.wanted
        tables = [asked] if asked else TABLES.values()
        return next(filter(None, (one.as_it_stands(self.parts) for one in tables)), None)

    def guesses(self, *, is_part: bool = False) -> list[Guess]:
        """How each of them is read; all as one kind of table."""
        found: list[Guess] = []
        for part in self.parts:
            table = found[0].table if found else self.table
            several = is_part or len(self.parts) > 1
            found.append(read_as(part, table=table, wanted=self.wanted, is_part=several, **self.options))
        return found


def guess(paths: Sequence[Any], **options: Any) -> Guess:
    """How the first of the files is read; the options are those of `read`."""
    return _Asked.of(paths[:1], **options).guesses()[0]


def _numbered_together(guesses: list[Guess]) -> list[Guess]:
    """Attempts of several files whose numbers do not run 1, 2, … for a subject and task get the rank of their number among all files; people keep their numbers."""
    if len(guesses) == 1 or guesses[0].table is not Attempts:
        return guesses
    by = ["subject", "task"]
    rows = [one.part.rows for one in guesses]
    if not all({*by, "attempt"} <= {*one.collect_schema().names()} for one in rows):
        return guesses
    number = pl.col("attempt").cast(pl.Float64, strict=False)
    numbers = pl.concat(
        [
            one.select(
                *(pl.col(name).cast(pl.String) for name in by),
                number,
                ((pl.col("kind") == "human") if "kind" in one.collect_schema() else pl.lit(False)).alias("is_person"),
            )
            for one in rows
        ]
    )
    facts = numbers.group_by(by).agg(
        pl.len().alias("n"), pl.min("attempt").alias("first"), pl.max("attempt").alias("last")
    )
    is_whole = facts.select(((pl.col("first") == 1) & (pl.col("last") == pl.col("n"))).all())
    if is_whole.collect(engine="streaming").item():
        return guesses
    rank = pl.when("is_person").then(number).otherwise(number.rank("dense").over(by))
    ranks = numbers.select(rank.cast(pl.Int64)).collect().to_series()
    made, start = [], 0
    for one in guesses:
        frame = one.part.collect(one.part.rows)
        own = ranks.slice(start, len(frame)).alias("attempt")
        made.append(replace(one, part=replace(one.part, rows=frame.with_columns(own).lazy())))
        start += len(frame)
    return made


def _copies(paths: Sequence[Path]) -> list[str]:
    """A note on files with the content of another one: nobody else can say whether they are copies or repeated runs."""
    by_size: dict[int, list[Path]] = {}
    notes = []
    for path in paths:
        alike = by_size.setdefault(path.stat().st_size, [])
        if first := next((one for one in alike if filecmp.cmp(one, path, shallow=False)), None):
            notes.append(f"{path} has the same content as {first}; both are read. Remove it if it is a copy.")
        else:
            alike.append(path)
    rest = [f"{len(notes) - _NAMED:,} further files have the content of another one."] if len(notes) > _NAMED else []
    return notes[:_NAMED] + rest


def load_mapping(path: str | os.PathLike[str]) -> ColumnMapping:
    """A mapping that was saved, or written by hand."""
    file = expand(path)[0]
    held = read_yaml(file).value
    return _checked({} if held is None else held, InputError, f"{file}: ")


def save_mapping(
    path: str | os.PathLike[str],
    *,
    table: str | None = None,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
    divide_by: float = 1,
    decimal: str | None = None,
    better: str | None = None,
) -> Path:
    """Keep how a file was read, as YAML that `load_mapping` and the option ``mapping`` take."""
    import yaml

    given = {"table": table, "rename": dict(rename or {}), "fill": dict(fill or {}), "divide_by": divide_by}
    given |= {"decimal": decimal, "better": better}
    kept = {name: value for name, value in given.items() if value and (name, value) != ("divide_by", 1)}
    _checked(kept, OptionError, "")
    return write_atomic(path, yaml.safe_dump(kept, sort_keys=False, allow_unicode=True))


def _checked(held: Any, fault: type[HowsureError], label: str) -> ColumnMapping:
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(ColumnMapping).validate_python(held)
    except ValidationError as error:
        told = dict.fromkeys(_told(one["loc"], one["type"], one["msg"]) for one in error.errors())
        raise fault("\n".join(label + text for text in told)) from None


def _told(location: Sequence[int | str], kind: str, message: str) -> str:
    where = ".".join(str(step) for step in location[:2])
    if kind == "unexpected_keyword_argument":
        return str(OptionError.unknown("setting of a mapping", where, [one.name for one in fields(ColumnMapping)]))
    if not where:
        return "a mapping has lines such as table: scores, and rename: with lines such as score: accuracy below it."
    if len(location) > 2:  # one of several types that it could have been
        return f"{where}: give one text, number or date."
    return f"{where}: {message[0].lower()}{message[1:]}."


def _named(table: str | None) -> type[Table] | None:
    if table is not None and table not in TABLES:
        raise OptionError.unknown("table", table, TABLES)
    return TABLES[table] if table else None
