"""What the values of a column look like, and their meaning as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from howsure.errors import InputError
from howsure.tables.frames import Part
from howsure.tables.known_words import ABOUT_MODELS, ERRORED, SUMMARIES, WORDS
from howsure.tables.untidy import COMMA, MANY_COLUMNS, NUMBER, PERCENT, Requested, plain_name, text_of

__all__ = ["ColumnValues", "is_benchmark", "meanings", "parsed", "profile"]

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
    return values.is_score_like and not is_beyond and plain_name(values.name) not in SUMMARIES | ABOUT_MODELS


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
        is_error = text.is_in(ERRORED)
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
