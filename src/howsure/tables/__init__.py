"""The four tables that everything flows through: Attempts, Scores, Ratings, Votes.

A table is checked when it is made. Wrong rows are named (file, line, column, value, what to do); nothing is repaired.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, Self, cast

import polars as pl

from howsure.errors import InputError, OptionError, closest
from howsure.outside_text import html_table
from howsure.tables.columns import Column, Rule, rules, typed, typed_name
from howsure.tables.frames import Part, as_text, parts_of, write_frame
from howsure.tables.outcomes import MISSING, OUTCOMES, RULES, Count, Policy, counted_text, defensible

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["DASHES", "TABLES", "TOTALS", "UNSEEN", "Attempts", "Column", "Ratings", "Scores", "Table", "Votes"]

_ROWS_SHOWN = 10  # in a notebook
_SHOWN = 3  # offenders named one by one; the rest are counted
DASHES = r"^[:=–—-]{2,}$"
"""A rule between the rows of a printed table."""
TOTALS = (
    *("average", "avg", "mean", "overall", "sum", "total", "totals", "grand total", "σ", "∑"),
    *("durchschnitt", "mittelwert", "gesamt", "summe", "moyenne", "promedio", "media"),
)
"""What rows are called that sum up others."""
UNSEEN = " \t\r\u00a0\u200b\u2060\ufeff"
"""Characters around a value that nobody sees and that do not belong to it."""
_LATE = {"sample", "epoch"}  # an epoch may stand for the attempt
_WITHOUT_SCORE = re.compile(r"[\d,]+ of [\d,]+ attempts have no score: ")
_LONGEST_REASON = 200  # characters


def _text(name: str, meaning: str, **options: Any) -> Column:
    return Column(name, meaning, "text", **options)


def _number(name: str, meaning: str, **options: Any) -> Column:
    return Column(name, meaning, "number", **options)


_PERCENT = "Divide percentages by 100 or pass --percent."
_ANY_SCALE = "Divide percentages by 100 or pass --percent; analyse other numbers as they are with --set scale=free."
_DATE = Column("date", "when the subject was released or the attempt was made", "date")
_SOURCE = _text("source", "where the row comes from")


class _Hashed(io.RawIOBase):
    """A file of which nothing but the hash is kept."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)


class Table:
    """Checked rows: from polars, pandas, pyarrow, or csv, jsonl and parquet files (also ``.gz``, lists and globs).

    Parquet files and lazy frames stay lazy; `frame` reads them into memory.

    Parameters
    ----------
    rows : Source | Table
        A frame, a file name, a list or glob of file names, or another table.
    rename : Mapping[str, str] | None
        Our column name → the input's column name.
    fill : Mapping[str, Any] | None
        Column name → one value for all rows.
    divide_by : float
        Scores are divided by this number, for example 100 for percentages.
    notes : Sequence[str]
        Messages about rows that were excluded before.
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
        source = rows
        if isinstance(rows, Table):
            notes = (*rows.notes, *notes)
            rows = rows.lazy
        if not 0 < divide_by < math.inf:
            raise OptionError(f"divide_by {divide_by:g} is not a number above 0.")
        rename, fill = dict(rename or {}), dict(fill or {})
        self._refuse_unknown([*rename, *fill])
        expect = [rename.get(column.name, column.name) for column in self.columns]
        shaped = [self._shape(part.parsed(), rename, fill, divide_by) for part in parts_of(rows, expect)]
        if not shaped:
            raise InputError("No input was given; a table needs a frame or a file.")
        checked = [self._check(part, divide_by) for part in shaped]
        self.lazy: pl.LazyFrame = pl.concat(checked, how="diagonal_relaxed")
        if isinstance(source, Table):
            self._keep_settings(source)
        completed = self._complete(shaped)
        if any(map(_WITHOUT_SCORE.match, completed)):  # else said of these rows and of those that they were taken from
            notes = [note for note in notes if not _WITHOUT_SCORE.match(note)]
        self.notes: tuple[str, ...] = tuple(dict.fromkeys((*notes, *completed, *self._near_misses())))

    @classmethod
    def of(cls, rows: Source | Table) -> Self:
        """A table of this kind: the table itself, or one made of a frame, of a file, or of logs of another tool.

        Parameters
        ----------
        rows : Table, frame, path, or list of frames or paths
            Every function that takes a table takes any of these. Paths are read as `howsure.read` does: tables, logs and folders of them. Columns may
            have the names that people use for them; a note says how they were read.
        """
        if isinstance(rows, cls):
            return rows
        if isinstance(rows, Table) or cls not in TABLES.values():
            return cls(rows)
        listed = rows if isinstance(rows, list | tuple) else [rows]
        paths = [os.fspath(one) for one in listed if isinstance(one, str | os.PathLike)]
        if paths and len(paths) == len(listed):
            import howsure  # formats of other tools are known upstairs: knock at the front door

            found = howsure.read(paths, wanted=cls.__name__.lower())
            if not isinstance(found, cls):
                raise InputError(
                    f"{paths[0]}: has {type(found).__name__.lower()}; {cls.__name__.lower()} are needed here."
                )
            return found
        expect = [column.name for column in cls.columns]
        parts = parts_of(rows, expect)
        if as_it_stands := cls.as_it_stands(parts):
            return as_it_stands
        from howsure.tables.guesses import read_as

        guesses = [read_as(part, table=cls) for part in parts]
        if not guesses:
            return cls(rows)
        says = dict.fromkeys(f"{guess.says}." for guess in guesses if guess.says)
        return cls([guess.part for guess in guesses], notes=tuple(says))

    @classmethod
    def as_it_stands(cls, parts: Sequence[Part]) -> Self | None:
        """The table, if all columns have its names and all values are as it wants them; else None: what they mean has to be guessed."""
        try:
            for part in parts:
                names = part.rows.collect_schema().names()
                is_plain = part.format in ("csv", "tsv", "parquet", "frame") and not part.says and not part.fault
                if not is_plain or not {*cls.needed()} <= {*names} <= {one.name for one in cls.columns} - _LATE:
                    return None
                first, texts = pl.col(names[0]).cast(pl.String), pl.col(pl.String)
                odd = [(first == names[0]) | first.str.contains(DASHES), texts.str.strip_chars(UNSEEN) != texts]
                odd += [pl.col(name).cast(pl.String).str.to_lowercase().is_in(TOTALS) for name in cls.told_by]
                if any(part.collect(part.rows.select(pl.any_horizontal(odd).any())).row(0)):
                    return None  # the header again, a rule below it, blanks around values, or rows that sum up others
            return cls(list(parts)) if parts else None
        except InputError:
            return None

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows in memory."""
        return self.lazy.collect(engine="streaming")

    def derive(self, rows: pl.LazyFrame, *notes: str) -> Self:
        """A table of some of these rows, or of these rows with other names: checked before, so not checked again.

        Parameters
        ----------
        rows : polars.LazyFrame
            Rows that are as valid as those of this table.
        *notes : str
            What was done to them.
        """
        made = object.__new__(type(self))
        made.lazy, made.notes = rows, tuple(dict.fromkeys((*self.notes, *notes)))
        made._keep_settings(self)
        return made

    def _keep_settings(self, source: Table) -> None:
        """Take over what was decided about the analysis of another table's rows."""

    @classmethod
    def union(cls, tables: Sequence[Self]) -> Self:
        """One table of the rows of several, checked together."""
        if len(tables) == 1:
            return tables[0]
        notes = tuple(note for table in tables for note in table.notes)
        made = cls(pl.concat([table.lazy for table in tables], how="diagonal_relaxed"), notes=notes)
        made._keep_settings(tables[0])
        return made

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
        rows = self.frame.lazy() if "frame" in self.__dict__ else self.lazy
        written = _Hashed()
        as_text(rows).sink_csv(cast("IO[bytes]", written))
        return written.hash.hexdigest()[:16]

    def __len__(self) -> int:
        return int(self.lazy.select(pl.len()).collect().item())

    def __repr__(self) -> str:
        counts = self.lazy.select(pl.len().alias("rows"), *(pl.col(c).n_unique().alias(f"{c}s") for c in self.told_by))
        told = ", ".join(f"{n:,} {what}" for what, n in counts.collect(engine="streaming").row(0, named=True).items())
        return f"<{type(self).__name__}: {told}{self._remark()}>"

    def _remark(self) -> str:
        """What else the short description says."""
        return ""

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        head = self.lazy.head(_ROWS_SHOWN).collect()
        rows = [
            ["–" if one is None else f"{one:.4g}" if isinstance(one, float) else str(one) for one in row]
            for row in head.rows()
        ]
        return html_table(repr(self).strip("<>"), head.columns, rows, len(self), ".frame")

    # making a table, step by step

    @classmethod
    def _refuse_unknown(cls, names: Sequence[str]) -> None:
        ours = [column.name for column in cls.columns]
        for name in names:
            if name not in ours:
                raise OptionError.unknown(f"column of {cls.__name__}", name, ours)

    @classmethod
    def _shape(cls, part: Part, rename: Mapping[str, str], fill: Mapping[str, Any], divide_by: float) -> Part:
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
        rows = cls._with_defaults(part, rows, divide_by)
        cls._refuse_missing(part, rows.collect_schema().names(), there)
        return replace(part, rows=rows)

    @classmethod
    def _with_defaults(cls, part: Part, rows: pl.LazyFrame, divide_by: float) -> pl.LazyFrame:
        """The rows with columns that follow from others, before their values are checked."""
        return rows

    @classmethod
    def needed(cls) -> list[str]:
        """The columns that an input must have."""
        return [column.name for column in cls.columns if column.required and not column.by_default]

    @classmethod
    def _refuse_missing(cls, part: Part, names: Sequence[str], there: Sequence[str]) -> None:
        missing = [name for name in cls.needed() if name not in names]
        if missing:
            first = missing[0]
            more = f" (nor {', '.join(missing[1:])})" if missing[1:] else ""
            can_map = cls in TABLES.values()  # other tables have no options for their columns
            remedy = f"Rename it, pass --map {first}=NAME, or --set {first}=VALUE for one value throughout."
            remedy = remedy if can_map else "Add or rename the column."
            raise InputError(f"{_label(part)}no column {first!r}{more}.{_columns_hint(first, there)} {remedy}")

    @classmethod
    def _check(cls, part: Part, divide_by: float) -> pl.LazyFrame:
        """The typed rows of one part, once every value in it is as it should be."""
        schema = part.rows.collect_schema()
        ours = [column for column in cls._columns_of(part) if column.name in schema]
        if nested := next((column.name for column in ours if schema[column.name].is_nested()), None):
            raise InputError(
                f"{_label(part)}column {nested!r} contains lists or structs; give one plain value per row."
            )
        both = (typed(column, schema[column.name], divide_by) for column in ours)
        part = replace(part, rows=part.rows.with_columns(both)).held()
        checks = [
            rule
            for column in ours
            for rule in rules(column, schema[column.name], is_free=cls._is_free(column, schema.names()))
        ]
        checks += cls._rules_between(schema.names())
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
    def _columns_of(cls, part: Part) -> tuple[Column, ...]:
        """What the columns of this part may hold."""
        return cls.columns

    @classmethod
    def _is_free(cls, column: Column, names: Sequence[str]) -> pl.Expr | None:
        """Where a column's range does not hold."""
        return None

    @classmethod
    def _rules_between(cls, names: Sequence[str]) -> list[Rule]:
        """What can be wrong between the columns of a row."""
        return []

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

    def _complete(self, parts: Sequence[Part]) -> list[str]:
        """Check rows against each other, fill in what follows from all of them, and say what was done."""
        self._check_groups(parts)
        return []

    def _check_groups(self, parts: Sequence[Part]) -> None:
        """Refuse two rows with the same key, wherever they come from."""
        key = self._key()
        if not key:
            return
        twice = self.lazy.group_by(key).len().filter(pl.col("len") > 1).sort(key).collect(engine="streaming")
        if len(twice):
            raise InputError(self._told_twice(parts, twice, key))

    def _key(self) -> tuple[str, ...]:
        """The columns whose values no two rows share."""
        return self.key

    def _told_twice(self, parts: Sequence[Part], twice: pl.DataFrame, key: tuple[str, ...]) -> str:
        named = ", ".join(f"{name} {value!r}" for name, value in zip(key, twice.row(0), strict=False))
        places = _places(parts, dict(zip(key, twice.row(0), strict=False)))
        rest = f"; {len(twice) - 1:,} other keys are there more than once" if len(twice) > 1 else ""
        return f"{places[0]}: {named} is there {twice['len'][0]} times (also {', '.join(places[1:]) or 'elsewhere'}){rest}. Keep one row for each."

    def _near_misses(self) -> list[str]:
        there = self.lazy.collect_schema().names()
        absent = [column.name for column in self.columns if column.name not in there]
        extra = [name for name in there if name not in {c.name for c in self.columns}]
        pairs = [(name, closest(name, absent, cutoff=0.8)) for name in extra]
        return [f"Column {name!r} is not used. Did you mean {near!r}?" for name, near in pairs if near]


class Attempts(Table):
    """Attempts at tasks by models, people and baselines: one row per attempt, or per `n` attempts of which `n_success` succeeded.

    Scores are 0–1 and higher is better, unless the row's ``scale`` is ``free`` or its ``better`` is ``lower``. Columns that are
    not listed here, such as prompt, temperature or scaffold, are kept: they are the configuration of the attempt.
    """

    columns = (
        _text("subject", "who made the attempt: a model, a person or a baseline", required=True),
        _text(
            "kind",
            "human, model or baseline",
            required=True,
            by_default="model",
            choices=("human", "model", "baseline"),
        ),
        _text("task", "the task that was attempted", required=True),
        Column(
            "attempt",
            "1 for the first attempt of this subject at this task, then 2, …; between a person's attempts some may be missing",
            "whole",
            required=True,
            by_default="1, 2, … in the order of the rows",
            low=1,
        ),
        _number(
            "score",
            "0 to 1, higher is better; empty where the attempt has none",
            required=True,
            may_be_empty=True,
            low=0,
            high=1,
            is_scaled=True,
            remedy=_ANY_SCALE,
        ),
        _text("outcome", "what became of the attempt", choices=OUTCOMES),
        _text("reason", "why the attempt has no score, in the words of the log"),
        _text("family", "tasks that resemble each other"),
        _text("domain", "the field or the eval that the task belongs to"),
        _text("item_digest", "a hash of the item's content: tasks with the same question have the same hash"),
        _number("minutes", "what an expert needs for the task", above=0),
        _number("seconds", "how long this attempt took", low=0),
        _DATE,
        Column("n", "how many attempts the row represents", "whole", low=1),
        Column("n_success", "how many of these n attempts succeeded", "whole", low=0),
        _text("scale", "0-1, or free: scores of any size, analysed as they are", choices=("0-1", "free")),
        _text("better", "which scores are better: higher or lower", choices=("higher", "lower")),
        _number("tokens", "tokens that the attempt used", low=0),
        _number("cost", "what the attempt cost, in dollars", low=0),
        _text("limit", "the limit that ended the attempt"),
        _text("error", "the error that ended the attempt"),
        _text("scorer", "what gave the score: a function, or a model that judges"),
        _text("valid", "no where the attempt was declared invalid; such rows are excluded", choices=("yes", "no")),
        _text("flag", "what a reviewer or a scanner said about the attempt"),
        _text("log", "the log file that the attempt is in"),
        _text("sample", "the id of the sample in that log"),
        Column("epoch", "the repetition of the sample in that log", "whole"),
        _SOURCE,
    )
    key = ("subject", "task", "attempt")
    told_by = ("subject", "task")

    count: Count = Count()
    """What attempts without a score count as, as far as the user decided it."""
    reduction: str = "mean"
    """How several attempts at one item become one score, once it is decided what those without a score count as."""

    def _keep_settings(self, source: Table) -> None:
        if isinstance(source, Attempts):
            self.count, self.reduction = source.count, source.reduction

    def _remark(self) -> str:
        counts = {outcome: sum(one.get(outcome, 0) for one in self.outcomes.values()) for outcome in self.missing}
        return f"; without a score: {counted_text(counts)}" if counts else ""

    def counting(
        self,
        count: str | Mapping[str, str] | None = None,
        missing_score: float | None = None,
        *,
        harness: Mapping[str, str] = {},
    ) -> Self:
        """The same attempts, with a decision on what those without a score count as.

        Parameters
        ----------
        count : str or mapping, optional
            Outcome → ``wrong`` or ``drop``: ``"errored=wrong,unscored=drop"``, or ``"harness"`` for what the harness's own means do. Outcomes
            without a rule keep every defensible one, and conclusions have to agree under all of them.
        missing_score : float, optional
            What ``wrong`` counts as, where scores have no worst value.
        harness : mapping
            What the harness counts as wrong.
        """
        if missing_score is not None and not math.isfinite(missing_score):
            raise OptionError(f"--missing-score {missing_score} is not a finite number.")
        made = self.derive(self.lazy)
        made.count = Count.of(count, missing_score, harness=harness)
        return made

    @cached_property
    def outcomes(self) -> dict[str, dict[str, int]]:
        """For each subject how many attempts had which outcome; empty where every attempt has a score."""
        if not self.has("outcome"):
            return {}
        n = pl.col("n").fill_null(1).sum() if self.has("n") else pl.len()
        rows = self.lazy.with_columns(pl.col("outcome").fill_null("scored"))
        rows = rows.group_by("subject", "outcome").agg(n.cast(pl.Int64).alias("n")).sort("subject", "outcome")
        counts: dict[str, dict[str, int]] = {}
        for subject, outcome, n in rows.collect(engine="streaming").rows():
            counts.setdefault(subject, {})[outcome] = n
        return counts if any({*one} & {*MISSING} for one in counts.values()) else {}

    @property
    def missing(self) -> list[str]:
        """The outcomes without a score that occur."""
        there = {outcome for counts in self.outcomes.values() for outcome in counts}
        return [outcome for outcome in MISSING if outcome in there]

    @property
    def policies(self) -> list[Policy]:
        """The defensible policies for the attempts without a score, the main one first."""
        return defensible(self.missing, self.count.rules)

    def under(self, policy: Policy, *, keeps_dropped: bool = False) -> Self:
        """The attempts that count under a policy, each with a score.

        Where scores have no worst value and none was given, an attempt cannot count as wrong and is dropped.

        Parameters
        ----------
        policy : Policy
            One rule per outcome.
        keeps_dropped : bool, default False
            Whether attempts that do not count stay, without a score.
        """
        if not self.missing:
            return self
        rules = {one: policy.of(one) for one in self.missing}
        rows = self._filled(pl.col("outcome").replace_strict(rules, default="drop", return_dtype=pl.String))
        if keeps_dropped:
            return self.derive(rows)
        rows = rows.filter(pl.col("score").is_not_null()).drop("outcome", "reason", strict=False)
        return self.derive(rows, self._told_policy(policy))

    def decided(self, rule: pl.Expr) -> Self:
        """The attempts with a score for each that has none, by a rule of its own.

        Parameters
        ----------
        rule : polars.Expr
            ``wrong`` or ``right``, for each row without a score.
        """
        return self.derive(self._filled(rule))

    def _filled(self, rule: pl.Expr) -> pl.LazyFrame:
        """The rows; those without a score have the one that counts as wrong or as right, by the rule."""
        filled: dict[str, pl.Expr] = {}
        ends = self._ends()
        for place, column in enumerate(["score", *(["n_success"] if self.has("n_success") else [])]):
            values = {name: end[place] for name, end in ends.items()}
            chosen = pl.when(rule == "wrong").then(values["wrong"]).when(rule == "right").then(values["right"])
            filled[column] = pl.when(pl.col("score").is_null()).then(chosen).otherwise(column)
        rows = self.lazy.with_columns(**filled)
        return rows.with_columns(outcome=pl.when(pl.col("score").is_null()).then("outcome").otherwise(pl.lit("scored")))

    def _ends(self) -> dict[str, tuple[pl.Expr, pl.Expr]]:
        """What an attempt that counts as wrong, or as right, has as its score and its number of successes."""
        is_lower = (pl.col("better") == "lower").fill_null(False) if self.has("better") else pl.lit(False)
        is_free = (pl.col("scale") == "free").fill_null(False) if self.has("scale") else pl.lit(False)
        worst = pl.when(is_free).then(pl.lit(self.count.missing_score, pl.Float64)).otherwise(is_lower.cast(pl.Float64))
        n = pl.col("n") if self.has("n") else pl.lit(1, pl.Int64)
        none = pl.lit(0, pl.Int64)
        return {
            "wrong": (worst, pl.when(is_lower).then(n).otherwise(none)),
            "right": (pl.when(~is_free).then((~is_lower).cast(pl.Float64)), pl.when(is_lower).then(none).otherwise(n)),
        }

    def _told_policy(self, policy: Policy) -> str:
        """What attempts without a score count as, in words."""
        by_rule = {rule: ", ".join(one for one in self.missing if policy.of(one) == rule) for rule in RULES}
        texts = {"wrong": "count as wrong ({})", "drop": "are excluded ({})"}
        told = " or ".join(texts[rule].format(names) for rule, names in by_rule.items() if names)
        if by_rule["wrong"] and self.is_free and self.count.missing_score is None:
            told += "; where scores have no worst value, all are excluded (--missing-score gives one)"
        return f"Attempts without a score {told}."

    @property
    def counted(self) -> Self:
        """The attempts that count under the main policy, each with a score."""
        return self.under(self.policies[0])

    @cached_property
    def n(self) -> pl.Expr:
        """How many attempts a row stands for."""
        return pl.col("n").fill_null(1) if self.has("n") else pl.lit(1, pl.Int64)

    @cached_property
    def is_free(self) -> bool:
        """Whether some scores are of any size, so that nothing made for shares applies to them."""
        rows = self.lazy.select((pl.col("scale") == "free").any()) if self.has("scale") else None
        return rows is not None and bool(rows.collect(engine="streaming").item())

    @property
    def config(self) -> list[str]:
        """The columns that describe the configuration of an attempt: all that the table does not define, and ``log``."""
        known = {column.name for column in self.columns} - {"log"}
        return [name for name in self.lazy.collect_schema().names() if name not in known and not name.startswith("#")]

    def sums(self) -> dict[str, pl.Expr]:
        """Aggregations for a group of rows, where a row with n and n_success counts as n rows of 0 or 1.

        ``n`` attempts, ``total`` of their scores and ``squares`` of them, their ``mean``, and ``spread``: the sum of squared deviations
        from it. Rows without a score do not count.
        """
        score, n = pl.col("score"), self.n
        if not self.has("n"):
            return {
                "n": score.count().cast(pl.Int64),
                "total": score.sum(),
                "squares": (score * score).sum(),
                "mean": score.mean(),
                "spread": score.var(ddof=0) * score.count(),
            }
        n = pl.when(score.is_not_null()).then(n).otherwise(0)
        total = (score * n).sum()
        # a row of n attempts at 0 or 1 varies in itself: n p (1 − p)
        within = pl.when(pl.col("n_success").is_null()).then(0.0).otherwise(pl.col("n_success") * (1 - score))
        mean = total / n.sum()
        return {
            "n": n.sum().cast(pl.Int64),
            "total": total,
            "squares": (n * score * score + within).sum(),
            "mean": mean,
            "spread": (n * (score - mean) ** 2 + within).sum(),
        }

    def counts(self, *by: str) -> pl.DataFrame:
        """For each group: how many attempts, the sum of their scores and of the squares. One streaming pass."""
        for name in by:
            if not self.has(name):
                raise OptionError.unknown("column in these attempts", name, self.lazy.collect_schema().names())
        sums = self.sums()
        picked = (sums[name].alias(f"#{name}") for name in ("n", "total", "squares"))
        named = {"#n": "n", "#total": "total", "#squares": "squares"}
        return self.lazy.group_by(by).agg(picked).rename(named).sort(by).collect(engine="streaming")

    @classmethod
    def _with_defaults(cls, part: Part, rows: pl.LazyFrame, divide_by: float) -> pl.LazyFrame:
        names = rows.collect_schema().names()
        for column in (one.name for one in cls.columns if one.by_default and one.name not in names):
            if near := next((name for name in names if name.strip().lower() == column), None):
                raise InputError(f"{_label(part)}column {near!r} is not {column!r}. Rename it.")
        if "kind" not in names:
            rows = rows.with_columns(pl.lit("model").alias("kind"))
        lone = {"n", "n_success"} & set(names)
        if len(lone) == 1:
            there, absent = lone.pop(), ({"n", "n_success"} - set(names)).pop()
            raise InputError(
                f"{_label(part)}column {there!r} without {absent!r}. Counts need both: n attempts of which n_success succeeded."
            )
        if "n" in names and "score" not in names:
            n, n_success = (pl.col(name).cast(pl.Float64, strict=False) for name in ("n", "n_success"))
            rows = rows.with_columns((n_success / n * divide_by).alias("score"))
        return rows

    @classmethod
    def _is_free(cls, column: Column, names: Sequence[str]) -> pl.Expr | None:
        return pl.col("scale") == "free" if column.name == "score" and "scale" in names else None

    @classmethod
    def _rules_between(cls, names: Sequence[str]) -> list[Rule]:
        if "n" not in names:
            return []
        column = cls.named("n_success")
        n, n_success, score = (pl.col(f"#{name}") for name in ("n", "n_success", "score"))
        checks = {
            "is given without n": (
                n.is_null() & n_success.is_not_null(),
                "Give both, or neither for a single attempt.",
            ),
            "is missing beside n": (
                (n > 1) & n_success.is_null() & (pl.lit("outcome" not in names) | score.is_not_null()),
                "Say how many of the n attempts succeeded, or give one row per attempt.",
            ),
            "is above n": (n_success > n, "Correct one of them."),
            "divided by n is not the score": (
                (n_success <= n) & ((score - n_success / n).abs() > 1e-6),
                "Correct one of them, or remove score.",
            ),
        }
        return [
            Rule(f"{column.name}/{says}", column, bad.fill_null(False), says, remedy)
            for says, (bad, remedy) in checks.items()
        ]

    def _complete(self, parts: Sequence[Part]) -> list[str]:
        """Leave out invalid rows, say what became of each attempt, and number attempts where the input does not."""
        notes, invalid = [], 0
        is_unnumbered = any("attempt" not in part.rows.collect_schema() for part in parts)
        if self.has("valid"):
            is_invalid = (pl.col("valid") == "no").fill_null(False)
            if invalid := int(self.lazy.select(is_invalid.sum()).collect(engine="streaming").item()):
                rows = "1 row was" if invalid == 1 else f"{invalid:,} rows were"
                notes.append(f"{rows} excluded because declared invalid (valid = no).")
                self.lazy = self.lazy.filter(~is_invalid)
        notes += self._settle_outcomes(parts)
        if invalid:
            return [*notes, *self._numbered(keeps_people=not is_unnumbered and self._has_own_numbers())]
        if is_unnumbered:
            return [*notes, *self._numbered()]
        if len(self._misnumbered("subject", "task")) and (config := self._restarting()):
            note = f"Attempts are numbered anew, because they start again at 1 for each value of {', '.join(config)}."
            return [*notes, note, *self._numbered()]
        self._check_groups(parts)
        return notes

    def _settle_outcomes(self, parts: Sequence[Part], *, needs_score: bool = True) -> list[str]:
        """Give every attempt its outcome, where some have no score, and count them."""
        lacks, has_outcome = pl.col("score").is_null(), self.has("outcome")
        is_odd = ((pl.col("outcome") == "scored") == lacks).fill_null(value=False) if has_outcome else pl.lit(False)
        facts = self.lazy.select(pl.len(), lacks.sum().alias("lacks"), is_odd.sum().alias("odd"))
        n, n_lacking, n_odd = facts.collect(engine="streaming").row(0)
        if not n_lacking:
            if has_outcome:
                self.lazy = self.lazy.drop("outcome")
            return [f"{n_odd:,} attempts have a score and another outcome: the score counts."] if n_odd else []
        if n_lacking == n and needs_score:
            raise InputError(f"{_label(parts[0])}none of the {n:,} attempts has a score.")
        told = [pl.when(pl.col("outcome") != "scored").then("outcome")] if has_outcome else []
        ended = {name: _said(name) for name in _OUTCOME_OF if self.has(name)}
        told += [pl.when(ended["error"].str.contains(_FILTERED)).then(pl.lit("refused"))] if "error" in ended else []
        told += [pl.when(said.is_not_null()).then(pl.lit(_OUTCOME_OF[name])) for name, said in ended.items()]
        outcome = pl.when(lacks).then(pl.coalesce(*told, pl.lit("unscored"))).otherwise(pl.lit("scored"))
        why = [*([pl.col("reason")] if self.has("reason") else []), *ended.values()]
        reason = pl.coalesce(*why, pl.lit("blank")).str.replace_all(r"\s+", " ").str.slice(0, _LONGEST_REASON)
        others = pl.col("reason") if self.has("reason") else pl.lit(None, pl.String)
        reason = pl.when(lacks).then(reason).otherwise(others)
        self.lazy = self.lazy.with_columns(outcome.alias("outcome"), reason.alias("reason"))
        counts = {outcome: sum(one.get(outcome, 0) for one in self.outcomes.values()) for outcome in MISSING}
        total = sum(sum(one.values()) for one in self.outcomes.values())
        note = f"{sum(counts.values()):,} of {total:,} attempts have no score: {counted_text(counts)}."
        return [
            note,
            *([f"{n_odd:,} outcomes were corrected: an attempt is scored exactly if it has a score."] if n_odd else []),
        ]

    def _has_own_numbers(self) -> bool:
        """Whether each attempt of a person at a task has a number of its own."""
        numbers = self.lazy.filter(pl.col("kind") == "human").select(self.key).collect(engine="streaming")
        return not numbers.is_duplicated().any()

    def _restarting(self) -> list[str]:
        """The columns for each value of which the attempts run 1, 2, …: a subject has a first attempt with each of two prompts."""
        schema = self.lazy.collect_schema()
        config = [name for name in ("domain", *self.config) if name in schema and not schema[name].is_nested()]
        choices = [*([name] for name in config), *([config] if len(config) > 1 else [])]
        return next((names for names in choices if not len(self._misnumbered("subject", "task", *names))), [])

    def _numbered(self, *, keeps_people: bool = False) -> list[str]:
        """Number the attempts 1, 2, … in the order of the rows; or those of models alone, as a person's number says how much they have practised."""
        number = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("subject", "task")
        if keeps_people:
            number = pl.when(pl.col("kind") == "human").then("attempt").otherwise(number)
        rows = self.lazy.with_columns(number.alias("attempt"))
        names = rows.collect_schema().names()
        known = [column.name for column in self.columns if column.name in names]
        notes = self._copies()
        self.lazy = rows.select(*known, *(name for name in names if name not in known))
        return notes

    def _copies(self) -> list[str]:
        """A note on exact copies of rows where a subject has more rows at some tasks than at most."""
        pairs = ["subject", "task"]
        per_pair = self.lazy.group_by(pairs).agg(pl.len().alias("#n")).collect(engine="streaming")
        usual = int(per_pair["#n"].mode().sort()[0]) if len(per_pair) else 0
        more = per_pair.filter(pl.col("#n") > usual).select(pairs)
        if more.is_empty():
            return []
        schema = self.lazy.collect_schema()
        plain = [name for name in schema if not schema[name].is_nested()]
        found = self.lazy.join(more.lazy(), on=pairs, how="semi").group_by(plain).agg(pl.len().alias("#n"))
        n = int(found.select((pl.col("#n") - 1).sum()).collect(engine="streaming").item())
        if not n:
            return []
        told = "1 row is an exact copy of another and counts as a repeat of its item"
        if n > 1:
            told = f"{n:,} rows are exact copies of others and count as repeats of their items"
        rows = "1 row" if usual == 1 else f"{usual:,} rows"
        return [f"{told}: most items have {rows} for each subject. Remove copies that are there by mistake."]

    def _check_groups(self, parts: Sequence[Part]) -> None:
        """Refuse attempts of a subject at a task that are not 1, 2, …, n, each once; a person's may have gaps."""
        wrong = self._misnumbered("subject", "task")
        if len(wrong):
            raise InputError(self._told_gap(parts, wrong))

    def _misnumbered(self, *by: str) -> pl.DataFrame:
        """The groups whose attempts are not 1, 2, …, n; those of a person may have gaps.

        Instead of remembering all keys, a hash of the attempt numbers is summed for each group and compared with the sum that
        1…n gives: memory grows with the groups, not with the rows.
        """
        number = pl.col("attempt")
        per_group = self.lazy.group_by(by).agg(
            pl.len().cast(pl.Int64).alias("#n"), number.hash(7).sum().alias("#sum"), number.max().alias("#last")
        )
        groups = per_group.collect(engine="streaming")
        longest = int(groups["#n"].max() or 0)  # type: ignore[arg-type]
        right = pl.DataFrame({"#n": range(1, longest + 1)}, schema={"#n": pl.Int64})
        right = right.with_columns(pl.col("#n").hash(7).cum_sum().alias("#right"))
        wrong = groups.join(right, on="#n").filter(pl.col("#sum") != pl.col("#right")).sort(by)
        if wrong.is_empty():
            return wrong
        # a gap between a person's attempts is an attempt that is missing: the others keep their numbers
        of_people = self.lazy.filter(pl.col("kind") == "human").join(wrong.lazy(), on=by, how="semi", nulls_equal=True)
        distinct = of_people.group_by(by).agg((number.n_unique() == pl.len()).alias("#distinct")).filter("#distinct")
        return wrong.join(distinct.collect(engine="streaming"), on=by, how="anti", nulls_equal=True)

    def _told_gap(self, parts: Sequence[Part], wrong: pl.DataFrame) -> str:
        subject, task = wrong.row(0)[:2]
        numbers = self.lazy.filter(pl.col("subject") == subject, pl.col("task") == task).select("attempt").collect()
        tried = sorted(numbers["attempt"].to_list())
        rest = f" The same is true of {len(wrong) - 1:,} other pairs of subject and task." if len(wrong) > 1 else ""
        pairs = list(zip([0, *tried], tried, strict=False))
        for before, after in sorted(
            pairs, key=lambda pair: pair[0] != pair[1]
        ):  # a person may have gaps, but no repeats
            where = _places(parts, {"subject": subject, "task": task, "attempt": after})
            if after == before:
                return f"{where[0]}: attempt {after} of {subject} on {task} is there {tried.count(after)} times (also {', '.join(where[1:])}). Number the attempts 1, 2, 3, …{rest}"
            if after != before + 1:
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
        _text("domain", "the field that the benchmark belongs to"),
        _text("superseded_by", "the benchmark that replaces this one"),
        _text("part_of", "the benchmark that contains the items of this one, or whose items come from the same set"),
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
                f"{where}: floor {row['floor']} is not below ceiling {row['ceiling']} ({row['model']} on {row['benchmark']}). Correct or remove one of them."
            )


class Ratings(Table):
    """Ratings of items by raters: one row per rater, item, dimension and, where given, system. Values are numbers, or categories where one is not."""

    columns = (
        _text("rater", "the rater", required=True),
        _text("item", "the item that was rated", required=True),
        _text("dimension", "the quality that was rated", required=True),
        _number("value", "the rating: numbers throughout, or categories throughout", required=True),
        _number("seconds", "how long it took", low=0),
        Column("revisions", "how often the answer was changed", "whole", low=0),
        Column("position", "when the rater saw the item: 1 is first", "whole", low=1),
        _text("cluster", "items that resemble each other, such as answers to one question"),
        _text("system", "the model or system whose answer the item is"),
    )
    key = ("rater", "item", "dimension")
    told_by = ("rater", "item")

    @property
    def is_categorical(self) -> bool:
        """Whether the values are categories."""
        return self.lazy.collect_schema()["value"] == pl.String

    def numeric(self) -> Self:
        """The table, if its values are numbers."""
        if self.is_categorical:
            some = self.lazy.select(pl.col("value").unique().sort().head(_SHOWN)).collect()["value"].to_list()
            raise InputError(
                f"The ratings are categories ({', '.join(some)}, …), but this analysis needs numbers. Give each category a number."
            )
        return self

    @classmethod
    def _columns_of(cls, part: Part) -> tuple[Column, ...]:
        """Values none of which is a number, nor true or false, are categories."""
        if part.rows.collect_schema()["value"] not in (pl.String, pl.Categorical, pl.Enum):
            return cls.columns
        text = pl.col("value").cast(pl.String).str.strip_chars().replace("", None)
        numbers = text.cast(pl.Float64, strict=False).is_not_null() | text.str.to_lowercase().is_in(["true", "false"])
        like_numbers = text.str.contains(r"^[-+]?[\d.,]+\s*%?$")
        is_number = part.collect(part.rows.select(numbers.any() | like_numbers.any() | text.is_null().all())).item()
        if is_number:
            return cls.columns
        return tuple(replace(column, kind="text") if column.name == "value" else column for column in cls.columns)

    def _key(self) -> tuple[str, ...]:
        return (*self.key, "system") if self.has("system") else self.key

    def _complete(self, parts: Sequence[Part]) -> list[str]:
        if len({column.kind for part in parts for column in self._columns_of(part) if column.name == "value"}) > 1:
            raise InputError("The ratings are numbers in one input and categories in another; read them apart.")
        return super()._complete(parts)


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


_FILTERED = r"(?i)content[ _-]?(filter|policy|management policy)|responsible[ _]?ai[ _]?policy"
"""What errors say where a filter of the model's provider stopped the reply, which is a refusal."""
_OUTCOME_OF = {"error": "errored", "limit": "limit"}
"""What became of an attempt without a score that has this column."""
_NO_ERROR = ("", "false", "no", "none", "0", "null", "nan", "n/a", "-", "ok")


def _said(name: str) -> pl.Expr:
    """The error or limit, where there is one."""
    return pl.when(~pl.col(name).str.strip_chars().str.to_lowercase().is_in(_NO_ERROR)).then(name)


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
