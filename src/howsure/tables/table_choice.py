"""Which table the rows are, and which column is which, by the names that people use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import polars as pl

from howsure.errors import InputError, OptionError, closest
from howsure.tables import TABLES, Attempts, Ratings, Scores, Table
from howsure.tables.frames import Part
from howsure.tables.known_words import (
    ABOUT_MODELS,
    ALIASES,
    ASKED,
    BENCHMARK,
    COUNTED,
    ENDED,
    FILLERS,
    ITEM,
    NO_NAME,
    PREDICTIONS,
    REFERENCES,
    SUMMARIES,
    WEAK,
    WORDS,
)
from howsure.tables.untidy import COMMA, MANY_COLUMNS, NUMBER, PERCENT, Requested, plain_name, text_of

__all__ = [
    "EACH",
    "ColumnValues",
    "assigned",
    "at",
    "fitting_table",
    "is_benchmark",
    "key_of",
    "lacks_subject",
    "meanings",
    "parsed",
    "profile",
    "refuse_lacking",
    "refuse_unknown",
    "with_score",
]

EACH = "*"
"""In ``rename``: each column that is not used otherwise is one subject, task or benchmark."""


_NO_BENCHMARKS = SUMMARIES | ABOUT_MODELS | {*PREDICTIONS, *REFERENCES}
_OF_GAMES = {"solver", "variant", "setting", "max_length", "ended_by"}


def fitting_table(
    part: Part, names: Sequence[str], wanted: type[Table] | None, asked: Requested
) -> tuple[type[Table], str]:
    """The table whose needed columns are all there, by name first, then by the names that people use for them, and why this one.

    What can be attempts and published scores is read as attempts, and said: a verb that needs scores asks for them.
    """
    there = {plain_name(name) for name in names} | set(asked.rename) | set(asked.fill)
    if there >= _OF_GAMES and not asked.rename:
        raise InputError(
            f"{at(part)}holds games of Track the Stat. howsure track report FOLDER -o DIR writes them as DIR/attempts.csv, which every verb reads."
        )
    exact = [one for one in TABLES.values() if {*one.needed()} <= with_score(there)]
    if wanted in exact or (wanted and not exact):
        return wanted, ""
    if len(exact) == 1:
        return wanted if wanted and _is_fit(wanted, names, asked) else exact[0], ""
    found = exact or [one for one in TABLES.values() if _is_fit(one, names, asked)]
    if wanted in found:
        return wanted, ""
    if len(found) == 1:
        return found[0], ""
    if (
        Attempts in found and there & {*BENCHMARK} and there & {*ITEM}
    ):  # rows per item of a benchmark: no published scores
        return Attempts, ""
    either = "attempts (--table scores reads one published score per model and benchmark instead)"
    if found and {*found} <= {Attempts, Scores}:
        return Attempts, either
    if found:
        told = [name for name, one in TABLES.items() if one in found]
        raise InputError(f"{at(part)}has the columns of {' and of '.join(told)}. Say which with --table.")
    if any(_is_wide(part, one, assigned(one, names, asked)) for one in (Attempts, Scores)):
        return Attempts, either
    is_rated = "rater" in _tried(Ratings, names, asked)
    if part.path and not is_rated and lacks_subject({*assigned(Attempts, names, asked), *asked.fill}):
        return Attempts, ""
    if not is_rated and {"subject", "score"} <= {*assigned(Attempts, names, asked)}:
        return Attempts, ""
    lacks = {
        one: [name for name in one.needed() if name not in with_score(set(_tried(one, names, asked)))]
        for one in TABLES.values()
    }
    nearest = min(lacks, key=lambda one: len(lacks[one]) / len(one.needed()))
    return refuse_lacking(part, nearest, lacks[nearest], names)


def lacks_subject(there: set[str]) -> bool:
    """Whether attempts have items and scores, but nobody who made them: the file may be named after the model."""
    return {"task", "score"} <= with_score(there) and "subject" not in there


def _is_fit(table: type[Table], names: Sequence[str], asked: Requested) -> bool:
    there = with_score({*_tried(table, names, asked), *asked.fill})
    if table is Attempts and there & {"domain", "n"}:  # each benchmark is then one task; counted items need no names
        there |= {"task"}
    return {*table.needed()} <= there


def _tried(table: type[Table], names: Sequence[str], asked: Requested) -> dict[str, str]:
    """As `assigned`; what could be two columns of ratings or votes is no reason to ask, since most tables are neither."""
    try:
        return assigned(table, names, asked)
    except InputError:
        if table in (Attempts, Scores):
            raise
        return {}


def with_score(names: set[str]) -> set[str]:
    """The columns, with the score where counts give it."""
    return names | {"score"} if {"n", "n_success"} <= names else names


def refuse_unknown(part: Part, table: type[Table], names: Sequence[str], asked: Requested) -> None:
    """Refuse names of columns that neither the table nor the file has."""
    known = [column.name for column in table.columns]
    for ours in (*asked.rename, *asked.fill):
        if ours not in known:
            raise OptionError.unknown(f"column of {table.__name__}", ours, known)
    for ours, theirs in asked.rename.items():
        if theirs not in (*names, EACH):
            near = closest(theirs, names)
            hint = f"Did you mean {near!r}?" if near else f"The columns are: {', '.join(names) or 'none'}."
            raise InputError(f"{at(part)}no column {theirs!r} to use as {ours!r}. {hint}")


def assigned(table: type[Table], names: Sequence[str], asked: Requested) -> dict[str, str]:
    """Our column → theirs, by what was asked, by name, and by the names that people use."""
    found = dict(asked.rename)
    free = [name for name in names if name not in found.values()]
    by_plain: dict[str, list[str]] = {}
    for name in free:
        by_plain.setdefault(plain_name(name), []).append(name)
    closed = {*found, *asked.fill, *(["score"] if EACH in found.values() else [])}
    open_columns = [column for column in table.columns if column.name not in closed]
    for column in open_columns:  # exact names first, so that no alias takes them
        if table is Attempts and (column.name in ("sample", "epoch") or (column.name == "outcome" and asked.outcomes)):
            continue
        if column.name in free:
            found[column.name] = column.name
        elif len(by_plain.get(column.name, [])) == 1:
            found[column.name] = by_plain[column.name][0]
    for aliases in (ALIASES[table], WEAK):
        for column in open_columns:
            if column.name in found:
                continue
            candidates = [
                name
                for alias in aliases.get(column.name, ())
                for name in by_plain.get(alias, [])
                if name not in found.values()
            ]
            if len(candidates) == 1 or (candidates and aliases is WEAK):
                found[column.name] = candidates[0]
            elif candidates and column.required and not column.by_default:
                told = " or ".join(repr(name) for name in candidates)
                raise InputError(
                    f"{asked.at}{told} could be {column.name}. Choose with --map {column.name}={candidates[0]}."
                )
    if (
        table is Attempts
        and asked.outcomes not in ("", *found.values())
        and not {"outcome", "reason"} & {*found, *closed}
    ):
        found["reason"] = asked.outcomes
    _assign_loosely(table, found, closed, names, by_plain)
    if table is not Attempts:
        return found
    late = [name for name in ("sample", "epoch") if name in free and name not in {*closed, *found.values()}]
    return _with_counts(found | {name: name for name in late})


def _assign_loosely(
    table: type[Table],
    found: dict[str, str],
    closed: set[str],
    names: Sequence[str],
    by_plain: Mapping[str, Sequence[str]],
) -> None:
    """Columns for who and what where no name says it outright: "Which model?", "Task name", a prompt, names of rows as pandas writes them."""
    free = [name for name in names if name not in found.values()]
    who, what = {Attempts: ("subject", "task"), Scores: ("model", "benchmark")}.get(table, ("", ""))
    for ours in (one for one in (who, what) if one and one not in {*found, *closed}):
        cores = [name for name in free if _core(name) in (ours, *ALIASES[table].get(ours, ()))]
        if len(cores) == 1:
            found[ours] = cores[0]
            free.remove(cores[0])
    if table is Attempts and "score" in found and not {"task", "domain"} & {*found, *closed}:
        asks = [name for word in ASKED for name in by_plain.get(word, []) if name in free]
        found |= {"task": asks[0]} if asks else {}
    if who and who not in {*found, *closed} and names and plain_name(names[0]) in NO_NAME:
        found[who] = names[0]


def _with_counts(found: dict[str, str]) -> dict[str, str]:
    """Beside a number of attempts, `correct` counts; a number alone says nothing."""
    if "n" in found and "n_success" not in found and plain_name(found.get("score", "")) in COUNTED:
        found["n_success"] = found.pop("score")
    if "n" in found and not {"n_success", "score"} & set(found):
        del found["n"]
    if "n_success" in found and "n" not in found:
        del found["n_success"]
    return found


def key_of(table: type[Table], ours: Mapping[str, str]) -> tuple[str, str] | None:
    """In a wide table: our column that is there, and the one whose values are the other columns' names."""
    pairs = {Attempts: ("subject", "task"), Scores: ("model", "benchmark")}
    if table not in pairs:
        return None
    who, what = pairs[table]
    for one, other in ((who, what), (what, who)):
        if ours.get(other) == EACH or (
            one in ours and other not in ours and "score" not in ours and "n_success" not in ours
        ):
            return one, other
    return None


def _is_wide(part: Part, table: type[Table], ours: Mapping[str, str]) -> bool:
    free = [name for name in part.rows.collect_schema().names() if name not in ours.values()]
    return key_of(table, ours) is not None and any(values.is_score_like for values in profile(part, free))


def _core(name: str) -> str:
    """A column's name without the words that say nothing about it."""
    words = [word for word in plain_name(name).split("_") if word not in FILLERS]
    return plain_name("_".join(words))


def at(part: Part) -> str:
    """The file, as messages begin."""
    return f"{part.path}: " if part.path else ""


def refuse_lacking(part: Part, table: type[Table], missing: Sequence[str], names: Sequence[str]) -> NoReturn:
    """Say which columns a table needs that are not there."""
    name = table.__name__.lower()
    first = missing[0]
    near = closest(first, names)
    hint = f" Did you mean {near!r}?" if near else ""
    needed = ", ".join(table.needed())
    lacks = " nor ".join(map(repr, missing))
    raise InputError(
        f"{at(part) or 'The table: '}a table of {name} needs {needed}; there is no column for {lacks}.{hint} The columns are: "
        f"{', '.join(names) or 'none'}. Pass --map {first}=NAME, or --set {first}=VALUE for one value throughout."
    )


# What the values of a column look like, and their meaning as numbers.


_EITHER = r"^[-+]?[1-9]\d{0,2},\d{3}$"  # 1,234: a decimal comma, or thousands


@dataclass(frozen=True)
class ColumnValues:
    """What the values of a column look like."""

    name: str
    dtype: pl.DataType
    n: int
    missing: int
    percent: int
    comma: int
    either: int
    n_words: int
    errored: int
    small: int
    big: int
    words: tuple[str, ...]
    other: int
    low: float | None
    high: float | None
    is_whole: bool

    @property
    def is_score_like(self) -> bool:
        """Numbers, shares or words for right and wrong, and nothing else."""
        return not self.other and self.n > self.missing + self.errored

    @property
    def is_written(self) -> bool:
        """Whether the numbers are written in a way that has to be changed."""
        return bool(self.percent or self.comma or self.n_words or self.errored)

    @property
    def is_mistake(self) -> bool:
        """Whether numbers above 1 stand between shares: they are wrong values, not another scale."""
        return bool(self.big and self.big <= self.small and (self.low or 0) >= 0)


def is_benchmark(values: ColumnValues, asked: Requested) -> bool:
    """Whether a column of a wide table may hold scores, and not an average, a year or a size."""
    top = max(100.0, asked.divide_by)
    is_beyond = values.high is not None and (values.high > top or (values.low or 0) < 0)
    return values.is_score_like and not is_beyond and plain_name(values.name) not in _NO_BENCHMARKS


def profile(part: Part, names: Sequence[str]) -> list[ColumnValues]:
    """What the values of the columns look like, in one pass."""
    if not names:
        return []
    schema = part.rows.collect_schema()
    if len(names) > MANY_COLUMNS:
        return _profile_many(part, names, schema)
    found = part.collect(
        part.rows.select(pl.struct(_facts(name, schema[name])).alias(str(i)) for i, name in enumerate(names))
    )
    profiles = [found[str(i)][0] for i in range(len(names))]
    worded = [name for name, facts in zip(names, profiles, strict=True) if facts["n_words"]]
    words: dict[str, tuple[str, ...]] = {}
    if worded:
        held = part.collect(part.rows.select(_words(name).implode().alias(name) for name in worded))
        words = {name: tuple(held[name][0].to_list()) for name in worded}
    return [
        ColumnValues(name=name, dtype=schema[name], words=words.get(name, ()), **facts)
        for name, facts in zip(names, profiles, strict=True)
    ]


def _profile_many(part: Part, names: Sequence[str], schema: Mapping[str, pl.DataType]) -> list[ColumnValues]:
    """The same from one column of all values: thousands of columns, each with expressions of its own, take gigabytes."""
    found: dict[str, ColumnValues] = {}
    for dtype in dict.fromkeys(schema[name] for name in names):
        own = [name for name in names if schema[name] == dtype]
        is_text = dtype in (pl.String, pl.Categorical, pl.Enum)
        words = _words("#value") if is_text else pl.lit([], pl.List(pl.String)).first()
        rows = part.rows.select(own).unpivot(on=own, variable_name="#name", value_name="#value")
        held = part.collect(rows.group_by("#name").agg(*_facts("#value", dtype), words=words))
        for facts in held.iter_rows(named=True):
            said = tuple(facts.pop("words") or ())
            name = facts.pop("#name")
            found[name] = ColumnValues(name=name, dtype=dtype, words=said, **facts)
    return [found[name] for name in names if name in found]  # a table without rows has none


def _words(name: str) -> pl.Expr:
    """The words for right and wrong that are in a column."""
    return text_of(name).filter(text_of(name).is_in(list(WORDS))).unique().sort()


def _facts(name: str, dtype: pl.DataType) -> list[pl.Expr]:
    column, none = pl.col(name), pl.lit(0, pl.Int64)
    counts = {"percent": none, "comma": none, "either": none, "n_words": none, "errored": none}
    if dtype.is_numeric() or dtype == pl.Boolean:
        number = column.cast(pl.Float64)
        missing = (column.is_null() | number.is_nan()).sum()
        number = number.fill_nan(None)
        other = none
    elif dtype in (pl.String, pl.Categorical, pl.Enum):
        text = text_of(name)
        percent, comma = text.str.contains(PERCENT), text.str.contains(COMMA)
        missing = text.is_null().sum()
        is_word = text.is_in(list(WORDS))
        is_error = text.is_in(list(ENDED))
        known = percent | comma | is_word | is_error | text.str.contains(NUMBER)
        either = text.str.contains(_EITHER)
        counts = {"percent": percent.sum(), "comma": comma.sum(), "either": either.sum()}
        counts |= {"n_words": is_word.sum(), "errored": is_error.sum()}
        other = (~known).sum()
        plain = text.str.strip_suffix("%").str.strip_chars().str.replace(",", ".", literal=True)
        number = plain.cast(pl.Float64, strict=False)
    else:
        number, missing, other = pl.lit(None, pl.Float64), column.is_null().sum(), column.is_not_null().sum()
    return [
        pl.len().cast(pl.Int64).alias("n"),
        missing.cast(pl.Int64).alias("missing"),
        *(expr.cast(pl.Int64).alias(what) for what, expr in counts.items()),
        other.cast(pl.Int64).alias("other"),
        number.is_between(0, 1, closed="right").sum().cast(pl.Int64).alias("small"),
        (number > 1).sum().cast(pl.Int64).alias("big"),
        number.min().alias("low"),
        number.max().alias("high"),
        (number == number.round()).all().alias("is_whole"),
    ]


def parsed(values: ColumnValues, *, is_thousands: bool, divide_by: float = 1) -> pl.Expr:
    """The values as numbers; words are so large that they are right once divided."""
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return pl.col(values.name).cast(pl.Float64).fill_nan(None)
    text = text_of(values.name)
    plain = text.str.strip_suffix("%").str.strip_chars()
    number = plain.str.replace_all(",", "" if is_thousands else ".", literal=True).cast(pl.Float64, strict=False)
    if not values.words:
        return number
    meanings = {word: meaning * divide_by for word, meaning in WORDS.items()}
    if set(values.words) <= {"p", "f"}:  # pass and fail
        meanings["p"] = divide_by
    elif set(values.words) == {"p", "n"}:
        raise InputError(
            f"{values.name.removeprefix('#')}: P and N are partial and no answer, or positive and negative. Write 0.5 and 0, or 1 and 0."
        )
    return number.fill_null(text.replace_strict(meanings, default=None, return_dtype=pl.Float64))


def meanings(words: Sequence[str]) -> str:
    """What words for right and wrong are read as, for people."""
    meanings = WORDS | ({"p": 1.0} if set(words) <= {"p", "f"} else {})
    return ", ".join(f"{word} = {meanings[word]:g}" for word in words)
