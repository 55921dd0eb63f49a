"""The four tables that everything flows through: Attempts, Scores, Ratings, Votes.

A table is checked when it is made. Wrong rows are named (file, line, column, value, what to do); nothing is repaired.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import polars as pl

from howsure.errors import InputError, OptionError, closest
from howsure.tables.columns import Column, Rule, rules, typed, typed_name
from howsure.tables.frames import Part, as_text, parts_of, write_frame

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["TABLES", "Attempts", "Column", "Ratings", "Scores", "Table", "Votes"]

_SHOWN = 3  # offenders named one by one; the rest are counted


def _text(name: str, meaning: str, **options: Any) -> Column:
    return Column(name, meaning, "text", **options)


def _number(name: str, meaning: str, **options: Any) -> Column:
    return Column(name, meaning, "number", **options)


_PERCENT = "Divide percentages by 100 or pass --percent."
_DATE = Column("date", "when the subject was released or the attempt was made", "date")
_SOURCE = _text("source", "where the row comes from")


class Table:
    """Checked rows: from polars, pandas, pyarrow, or csv, jsonl and parquet files (also ``.gz``, lists and globs).

    ``rename`` maps our column names to the input's, ``fill`` gives a column one value for all rows, ``divide_by`` brings
    scores on another scale to 0–1, ``notes`` say what the maker of the rows left out.
    Parquet files and lazy frames stay lazy; `frame` brings them into memory.
    """

    columns: ClassVar[tuple[Column, ...]]
    key: ClassVar[tuple[str, ...]] = ()
    told_by: ClassVar[tuple[str, str]]

    def __init__(
        self,
        rows: Source | Table,
        *,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
        divide_by: float = 1,
        notes: Sequence[str] = (),
    ) -> None:
        if isinstance(rows, Table):
            notes = (*rows.notes, *notes)
            rows = rows.lazy
        if not 0 < divide_by < math.inf:
            raise OptionError(f"divide_by {divide_by:g} is not a number above 0.")
        rename, fill = dict(rename or {}), dict(fill or {})
        self._refuse_unknown([*rename, *fill])
        expect = [rename.get(column.name, column.name) for column in self.columns]
        shaped = [self._shape(part.parsed(), rename, fill) for part in parts_of(rows, expect)]
        if not shaped:
            raise InputError("No input was given; a table needs a frame or a file.")
        checked = [self._check(part, divide_by) for part in shaped]
        self.lazy: pl.LazyFrame = pl.concat(checked, how="diagonal_relaxed")
        self._check_groups(shaped)
        self.notes: tuple[str, ...] = tuple(dict.fromkeys((*notes, *self._near_misses())))

    @classmethod
    def of(cls, rows: Source | Table) -> Self:
        """A table of this kind: the table itself, or one made of a polars, pandas or pyarrow frame or of a file.

        Parameters
        ----------
        rows : Table, frame, path, or list of frames or paths
            Every function that takes a table takes any of these.
        """
        return rows if isinstance(rows, cls) else cls(rows)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows in memory."""
        return self.lazy.collect(engine="streaming")

    @classmethod
    def union(cls, tables: Sequence[Self]) -> Self:
        """One table of the rows of several, checked together."""
        if len(tables) == 1:
            return tables[0]
        notes = tuple(note for table in tables for note in table.notes)
        return cls(pl.concat([table.lazy for table in tables], how="diagonal_relaxed"), notes=notes)

    @classmethod
    def named(cls, name: str) -> Column:
        """The column called `name`."""
        return next(column for column in cls.columns if column.name == name)

    def has(self, *names: str) -> bool:
        """Whether the table has these optional columns."""
        return set(names) <= set(self.lazy.collect_schema().names())

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write csv, tsv, jsonl or parquet by the ending; readers see the old file or the whole new one."""
        return write_frame(self.lazy, path)

    @cached_property
    def digest(self) -> str:
        """A short SHA-256 of the rows, to say later which input made a result."""
        rows = as_text(self.frame.lazy()).collect()
        return hashlib.sha256(rows.write_csv().encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return int(self.lazy.select(pl.len()).collect().item())

    def __repr__(self) -> str:
        counts = self.lazy.select(pl.len().alias("rows"), *(pl.col(c).n_unique().alias(f"{c}s") for c in self.told_by))
        told = ", ".join(f"{n:,} {what}" for what, n in counts.collect(engine="streaming").row(0, named=True).items())
        return f"<{type(self).__name__}: {told}>"

    # making a table, step by step

    @classmethod
    def _refuse_unknown(cls, names: Sequence[str]) -> None:
        ours = [column.name for column in cls.columns]
        for name in names:
            if name not in ours:
                raise OptionError.unknown(f"column of {cls.__name__}", name, ours)

    @classmethod
    def _shape(cls, part: Part, rename: Mapping[str, str], fill: Mapping[str, Any]) -> Part:
        """Give the columns our names, and refuse the part when one that is needed is not there."""
        there = part.rows.collect_schema().names()
        for ours, theirs in rename.items():
            if theirs not in there:
                raise InputError(
                    f"{_label(part)}no column {theirs!r} to use as {ours!r}.{_columns_hint(theirs, there)}"
                )
        moved = {theirs: ours for ours, theirs in rename.items()}
        displaced = [ours for ours in rename if ours in there and ours not in moved]
        rows = part.rows.drop(displaced).rename(moved).with_columns(pl.lit(v).alias(k) for k, v in fill.items())
        cls._refuse_missing(part, rows.collect_schema().names(), there)
        return replace(part, rows=rows)

    @classmethod
    def _refuse_missing(cls, part: Part, names: Sequence[str], there: Sequence[str]) -> None:
        missing = [column.name for column in cls.columns if column.required and column.name not in names]
        if missing:
            first = missing[0]
            more = f" (nor {', '.join(missing[1:])})" if missing[1:] else ""
            remedy = f"Rename it, pass --map {first}=NAME, or --set {first}=VALUE for one value throughout."
            raise InputError(f"{_label(part)}no column {first!r}{more}.{_columns_hint(first, there)} {remedy}")

    @classmethod
    def _check(cls, part: Part, divide_by: float) -> pl.LazyFrame:
        """The typed rows of one part, once every value in it is as it should be."""
        schema = part.rows.collect_schema()
        ours = [column for column in cls.columns if column.name in schema]
        if nested := next((column.name for column in ours if schema[column.name].is_nested()), None):
            raise InputError(
                f"{_label(part)}column {nested!r} contains lists or structs; give one plain value per row."
            )
        both = (typed(column, schema[column.name], divide_by) for column in ours)
        part = replace(part, rows=part.rows.with_columns(both)).held()
        checks = [rule for column in ours for rule in rules(column, schema[column.name])]
        counts = part.collect(
            part.rows.select(pl.len().alias("#"), *(rule.bad.sum().alias(rule.name) for rule in checks))
        )
        found = counts.row(0, named=True)
        if not found["#"]:
            raise InputError(f"{_label(part)}there is no row below the header.")
        faults = [cls._fault(part, rule, found[rule.name]) for rule in checks if found[rule.name]]
        if faults:
            raise InputError("\n".join(faults))
        extra = [name for name in schema.names() if name not in {column.name for column in ours}]
        return part.rows.select(*(pl.col(typed_name(column)).alias(column.name) for column in ours), *extra)

    @classmethod
    def _fault(cls, part: Part, rule: Rule, count: int) -> str:
        """One sentence on a broken rule: the first offender in full, the next ones in short, the rest as a number."""
        names = part.rows.collect_schema().names()
        told = [name for name in cls.told_by if name in names and name != rule.column.name]
        source = [name for name in ("source",) if name in names and part.path is None]
        shown = dict.fromkeys([rule.column.name, *told, *source])
        columns = [pl.col("#row"), *(pl.col(name).cast(pl.String) for name in shown)]
        bad = part.collect(part.rows.with_row_index("#row").filter(rule.bad).head(_SHOWN).select(columns)).rows(
            named=True
        )
        first = bad[0]
        context = f" ({' on '.join(str(first[name]) for name in told)})" if told else ""
        also = [
            f"{part.where(row['#row'], row.get('source')).rpartition('/')[2]} ({_show(row[rule.column.name])})"
            for row in bad[1:]
        ]
        rest = f" and {count - len(bad):,} more" if count > len(bad) else ""
        more = f"; also {', '.join(also)}{rest}" if also else ""
        value = "" if first[rule.column.name] is None else f" {_show(first[rule.column.name])}"
        where = part.where(first["#row"], first.get("source"))
        return f"{where}: {rule.column.name}{value} {rule.says}{context}{more}. {rule.remedy}".rstrip()

    def _check_groups(self, parts: Sequence[Part]) -> None:
        """Refuse two rows with the same key, wherever they come from."""
        if not self.key:
            return
        twice = self.lazy.group_by(self.key).len().filter(pl.col("len") > 1).sort(self.key).collect(engine="streaming")
        if len(twice):
            raise InputError(self._told_twice(parts, twice))

    def _told_twice(self, parts: Sequence[Part], twice: pl.DataFrame) -> str:
        named = ", ".join(f"{name} {value!r}" for name, value in zip(self.key, twice.row(0), strict=False))
        places = _places(parts, dict(zip(self.key, twice.row(0), strict=False)))
        rest = f"; {len(twice) - 1:,} other keys are there more than once" if len(twice) > 1 else ""
        return f"{places[0]}: {named} is there {twice['len'][0]} times (also {', '.join(places[1:]) or 'elsewhere'}){rest}. Keep one row for each."

    def _near_misses(self) -> list[str]:
        there = self.lazy.collect_schema().names()
        absent = [column.name for column in self.columns if column.name not in there]
        extra = [name for name in there if name not in {c.name for c in self.columns}]
        pairs = [(name, closest(name, absent)) for name in extra]
        return [f"Column {name!r} is not used. Did you mean {near!r}?" for name, near in pairs if near]


class Attempts(Table):
    """Attempts at tasks by models, people and baselines: one row per attempt, scored 0–1."""

    columns = (
        _text("subject", "who made the attempt: a model, a person or a baseline", required=True),
        _text("kind", "human, model or baseline", required=True, choices=("human", "model", "baseline")),
        _text("task", "the task that was attempted", required=True),
        Column(
            "attempt", "1 for the first attempt of this subject at this task, then 2, …", "whole", required=True, low=1
        ),
        _number("score", "0 to 1, higher is better", required=True, low=0, high=1, is_scaled=True, remedy=_PERCENT),
        _text("family", "tasks that resemble each other"),
        _text("domain", "the field or the eval that the task belongs to"),
        _text("item_digest", "a hash of the item's content: equal where a task asks the same as another"),
        _number("minutes", "what an expert needs for the task", above=0),
        _number("seconds", "how long this attempt took", low=0),
        _DATE,
        _SOURCE,
    )
    key = ("subject", "task", "attempt")
    told_by = ("subject", "task")

    def counts(self, *by: str) -> pl.DataFrame:
        """For each group: how many attempts, the sum of their scores and of the squares. One streaming pass."""
        for name in by:
            if not self.has(name):
                raise OptionError.unknown("column in these attempts", name, self.lazy.collect_schema().names())
        score = pl.col("score")
        sums = (pl.len().alias("n"), score.sum().alias("total"), (score * score).sum().alias("squares"))
        return self.lazy.group_by(by).agg(sums).sort(by).collect(engine="streaming")

    def _check_groups(self, parts: Sequence[Part]) -> None:
        """Attempts of a subject at a task are 1, 2, …, n, each once.

        Instead of remembering all keys, a hash of the attempt numbers is summed for each subject and task and compared with
        the sum that 1…n gives: memory grows with the groups, not with the rows.
        """
        number = pl.col("attempt")
        per_group = self.lazy.group_by("subject", "task").agg(
            pl.len().cast(pl.Int64).alias("n"), number.hash(7).sum().alias("sum"), number.max().alias("last")
        )
        groups = per_group.collect(engine="streaming")
        longest = int(groups["n"].max() or 0)  # type: ignore[arg-type]
        right = pl.DataFrame({"n": range(1, longest + 1)}, schema={"n": pl.Int64})
        right = right.with_columns(pl.col("n").hash(7).cum_sum().alias("right"))
        wrong = groups.join(right, on="n").filter(pl.col("sum") != pl.col("right")).sort("subject", "task")
        if len(wrong):
            raise InputError(self._told_gap(parts, wrong))

    def _told_gap(self, parts: Sequence[Part], wrong: pl.DataFrame) -> str:
        subject, task = wrong.row(0)[:2]
        numbers = self.lazy.filter(pl.col("subject") == subject, pl.col("task") == task).select("attempt").collect()
        tried = sorted(numbers["attempt"].to_list())
        rest = f" The same is true of {len(wrong) - 1:,} other pairs of subject and task." if len(wrong) > 1 else ""
        for before, after in zip([0, *tried], tried, strict=False):
            if after == before:
                where = _places(parts, {"subject": subject, "task": task, "attempt": after})
                return f"{where[0]}: attempt {after} of {subject} on {task} is there {tried.count(after)} times (also {', '.join(where[1:])}). Number the attempts 1, 2, 3, …{rest}"
            if after != before + 1:
                where = _places(parts, {"subject": subject, "task": task, "attempt": after})
                came = f"attempt {before}" if before else "nothing"
                return f"{where[0]}: attempt {after} of {subject} on {task} follows {came}. Number the attempts 1, 2, 3, … without gaps.{rest}"
        raise AssertionError("a wrong sum without a gap or a repeat")


class Scores(Table):
    """What models scored on benchmarks, 0–1. A model may have several scores on one benchmark."""

    columns = (
        _text("model", "the exact version", required=True),
        _text("benchmark", "its name", required=True),
        _number("score", "0 to 1, higher is better", required=True, low=0, high=1, is_scaled=True, remedy=_PERCENT),
        _number("se", "standard error of the score", low=0, is_scaled=True),
        Column("n_items", "how many items the score is a mean of", "whole", low=1),
        _DATE,
        Column("benchmark_date", "when the benchmark was published", "date"),
        _text("organisation", "who made the model"),
        _text("family", "models that resemble each other"),
        _number("compute", "training compute in FLOP", above=0),
        _number("floor", "the score of guessing", low=0, high=1, is_scaled=True, remedy=_PERCENT),
        _number(
            "ceiling",
            "the best score that errors in the benchmark allow",
            low=0,
            high=1,
            is_scaled=True,
            remedy=_PERCENT,
        ),
        _text("superseded_by", "the benchmark that replaces this one"),
        _text("distilled", "whether the model was trained on another's outputs: yes or no", choices=("yes", "no")),
        _SOURCE,
    )
    told_by = ("model", "benchmark")

    def _check_groups(self, parts: Sequence[Part]) -> None:
        if not self.has("floor", "ceiling"):
            return
        crossed = self.lazy.filter(pl.col("floor") >= pl.col("ceiling")).head(1).collect()
        if len(crossed):
            row = crossed.row(0, named=True)
            where = _places(parts, {"model": row["model"], "benchmark": row["benchmark"]})[0]
            raise InputError(
                f"{where}: floor {row['floor']} is not below ceiling {row['ceiling']} ({row['model']} on {row['benchmark']}). Correct or leave out one of them."
            )


class Ratings(Table):
    """Ratings of items by raters: one row per rater, item and dimension."""

    columns = (
        _text("rater", "the rater", required=True),
        _text("item", "the item that was rated", required=True),
        _text("dimension", "the quality that was rated", required=True),
        _number("value", "the rating as a number", required=True),
        _number("seconds", "how long it took", low=0),
        Column("revisions", "how often the answer was changed", "whole", low=0),
        Column("position", "when the rater saw the item: 1 is first", "whole", low=1),
    )
    key = ("rater", "item", "dimension")
    told_by = ("rater", "item")


class Votes(Table):
    """Comparisons of two answers to one item: which was better, in the eyes of one voter."""

    columns = (
        _text("voter", "who compared: a person or a judge", required=True),
        _text("item", "what was answered, such as a prompt", required=True),
        _text("a", "the model whose answer was shown as A", required=True),
        _text("b", "the model whose answer was shown as B", required=True),
        _text("outcome", "which answer was better", required=True, choices=("a", "b", "tie", "both_bad")),
        Column("position", "when the voter saw the pair: 1 is first", "whole", low=1),
        _DATE,
        _SOURCE,
    )
    told_by = ("a", "b")


TABLES: dict[str, type[Table]] = {"attempts": Attempts, "scores": Scores, "ratings": Ratings, "votes": Votes}


def _places(parts: Sequence[Part], row: Mapping[str, Any]) -> list[str]:
    """Where the rows with these values are, at most a few."""
    same = [
        pl.col(name).cast(pl.Float64 if isinstance(value, int) else pl.String, strict=False) == value
        for name, value in row.items()
    ]
    found = (
        part.where(number)
        for part in parts
        for number in part.collect(part.rows.with_row_index("#row").filter(*same).head(_SHOWN).select("#row"))["#row"]
    )
    return list(found)[:_SHOWN] or ["rows"]


def _label(part: Part) -> str:
    return f"{part.path}: " if part.path else "The table: "


def _columns_hint(name: str, there: Sequence[str]) -> str:
    near = closest(name, there)
    shown = ", ".join(there[:12]) + (", …" if len(there) > 12 else "")
    return f" Did you mean {near!r}?" if near else f" The columns are: {shown or 'none'}."


def _show(value: str | None) -> str:
    text = "nothing" if value is None else value
    return repr(text) if text != text.strip() or " " in text else text[:60] + ("…" if len(text) > 60 else "")
