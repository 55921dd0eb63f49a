"""Tables as people have them: which column is which, and how its values are written.

A guess is made from names and values and stated in one sentence. Where two readings are possible, the user is asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from howsure.errors import InputError, OptionError, closest
from howsure.tables import TOTALS, Attempts, Scores, Table
from howsure.tables.agreement import with_agreement
from howsure.tables.columns import typed
from howsure.tables.frames import Part
from howsure.tables.known_words import ALIASES, ELO, ENDED, INDEX, SCORE
from howsure.tables.metrics import is_error_measure, is_grade, is_higher_better, is_share
from howsure.tables.outcomes import OUTCOMES
from howsure.tables.table_choice import (
    EACH,
    ColumnValues,
    assigned,
    at,
    fitting_table,
    is_benchmark,
    key_of,
    lacks_subject,
    meanings,
    parsed,
    profile,
    refuse_lacking,
    refuse_unknown,
    with_score,
)
from howsure.tables.untidy import Requested, listed, plain_name, shown_name, text_of, tidied

__all__ = ["Guess", "read_as"]

_MOST_ITEMS = 2_000_000
_MAY_BE_ITEMS = ("sum", "mean", "media")  # words for totals that items are called as well
_ROUNDED = 0.02  # how far a total may be off because it is rounded, as a share of it


@dataclass(frozen=True)
class Guess:
    """How one input is read: as which table, its rows under our names, and what was assumed, in words."""

    table: type[Table]
    part: Part
    says: str
    rename: dict[str, str]
    fill: dict[str, Any]
    divide_by: float
    n_blank: int = 0
    n_total: int = 0
    n_errored: int = 0
    n_lower: int = 0
    why: str = ""
    """As which table it is read, where another one is possible."""


def read_as(
    part: Part,
    *,
    table: type[Table] | None = None,
    wanted: type[Table] | None = None,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
    divide_by: float = 1,
    decimal: str | None = None,
    better: str | None = None,
    is_part: bool = False,
) -> Guess:
    """One input under our names, and what was assumed about it.

    Parameters
    ----------
    part : Part
        The rows as they are.
    table : type, optional
        The table that the rows are.
    wanted : type, optional
        The table that the caller needs, if the rows can be read as it.
    rename : mapping, optional
        Our column → theirs. ``*`` as their name reads every column that is not used otherwise as one subject, task or benchmark.
    fill : mapping, optional
        Our column → one value for all rows.
    divide_by : float, default 1
        What scores are divided by; with 1, percentages are detected.
    decimal : {".", ","}, optional
        The decimal mark, where values such as 1,234 leave it open.
    better : {"higher", "lower"}, optional
        Which scores are better, where their name does not say. Scores outside 0–1 are then analysed as they are.
    is_part : bool, default False
        Attempts keep their numbers, because only those of all inputs together run 1, 2, …

    Raises
    ------
    InputError
        If a needed column is not found, or if two readings are possible: the message lists the choices.
    """
    asked = Requested(dict(rename or {}), dict(fill or {}), divide_by, decimal, better, at(part), is_part=is_part)
    if not 0 < divide_by < math.inf:
        raise OptionError(f"divide_by {divide_by:g} is not a number above 0.")
    part, asked = tidied(part.parsed(is_tidied=True), asked)
    part = with_agreement(part, asked)
    names = part.rows.collect_schema().names()
    asked = _with_elo(part, names, replace(asked, outcomes=_other_outcomes(part, names)))
    chosen, why = (table, "") if table else fitting_table(part, names, wanted, asked)
    refuse_unknown(part, chosen, names, asked)
    ours = assigned(chosen, names, asked)
    return _Columns(part, chosen, ours, asked).guess(why)


def _with_elo(part: Part, names: Sequence[str], asked: Requested) -> Requested:
    """Elo ratings are the scores where nothing else can be them: no column of scores, and none that could be a benchmark."""
    found = [name for name in names if plain_name(name) in ELO]
    if len(found) != 1 or asked.rename or {plain_name(name) for name in names} & {*SCORE}:
        return asked
    others = profile(part, [name for name in names if name not in found])
    return asked if any(is_benchmark(one, asked) for one in others) else replace(asked, rename={"score": found[0]})


def _other_outcomes(part: Part, names: Sequence[str]) -> str:
    """A column that is called outcome, but has other words than ours, such as pass and fail; nothing where there is none."""
    found = [name for name in names if plain_name(name) == "outcome"]
    if len(found) != 1:
        return ""
    is_other = ~text_of(found[0]).is_in(OUTCOMES)
    return found[0] if part.collect(part.rows.select(is_other.any())).item() else ""


class _Columns:
    """One input on its way to a table."""

    def __init__(self, part: Part, table: type[Table], ours: dict[str, str], asked: Requested) -> None:
        self._part, self._table, self._ours, self._asked = part, table, ours, asked
        self._names = part.rows.collect_schema().names()
        self._told: list[str] = list(part.says)
        self._fill = dict(asked.fill)
        self._mapping = {name: theirs for name, theirs in ours.items() if theirs != name}
        self._divide_by = asked.divide_by
        self._n_blank = self._n_total = self._n_errored = self._n_lower = 0

    def guess(self, why: str) -> Guess:
        """The rows under our names; `why` says why they are this table."""
        self._tell_blanks(self._part.n_blank)
        if self._table is Attempts and self._part.path and lacks_subject({*self._ours, *self._fill}):
            self._fill["subject"] = self._part.path.name.removesuffix(".gz").rpartition(".")[0]
            self._told.append(f"subject = {self._fill['subject']}, the name of the file")
        if self._table in (Attempts, Scores):
            self._name_only_task()
            self._leave_out_total()
            self._guess_scores()
        self._refuse_lacking()
        self._tell_merged_names()
        self._clean_numbers()
        self._leave_out_unreadable()
        moved = {theirs: ours for ours, theirs in self._ours.items() if theirs != EACH}
        changed = [f"{shown_name(name)} → {moved[name]}" for name in self._names if moved.get(name, name) != name]
        there = self._part.rows.collect_schema().names()
        displaced = [name for name in there if self._ours.get(name, name) != name and name not in moved]
        rows = self._part.rows.drop(displaced).rename(moved)
        rows = rows.with_columns(pl.lit(value).alias(name) for name, value in self._fill.items())
        if (self._n_blank or self._n_errored) and not self._part.collect(rows.select(pl.len())).item():
            raise InputError(f"{at(self._part)}none of the {self._n_blank + self._n_errored:,} rows has a score.")
        told = "; ".join([*([", ".join(changed)] if changed else []), *self._told])
        part = replace(self._part, rows=rows, is_parsed=True)
        return Guess(
            table=self._table,
            part=part,
            says=f"read as: {told}" if told else "",
            rename=self._mapping,
            fill=self._fill,
            divide_by=self._divide_by,
            n_blank=self._n_blank,
            n_total=self._n_total,
            n_errored=self._n_errored,
            n_lower=self._n_lower,
            why=why,
        )

    def _name_only_task(self) -> None:
        """Where each model has one score and nothing says of what, the name of the scores says it."""
        who, what = ("subject", "task") if self._table is Attempts else ("model", "benchmark")
        theirs = self._ours.get(who)
        if theirs is None or "score" not in self._ours or {what, "domain", "n"} & {*self._ours, *self._fill}:
            return
        if closest(what, [name for name in self._names if name not in self._ours.values()]):
            return
        if self._part.collect(self._part.rows.select(pl.col(theirs).is_unique().all())).item():
            self._fill[what] = self._ours["score"]
            self._told.append(f"{what} = {self._ours['score']}, one score per {who}")

    def _leave_out_total(self) -> None:
        """Leave out rows such as Total in a long table: they sum up the others of their model, or of all models."""
        names = (("subject",), ("task", "domain")) if self._table is Attempts else (("model",), ("benchmark",))
        who, what = (next((self._ours[one] for one in some if one in self._ours), "") for some in names)
        if who not in self._names or what not in self._names:
            return
        word, score = text_of(what), text_of(self._ours.get("score", what)).str.strip_suffix("%")
        is_one, is_all = (one.is_in(TOTALS).fill_null(value=False) for one in (word, text_of(who)))
        if not self._part.collect(self._part.rows.select((is_one | is_all).any())).item():
            return
        facts = [
            is_one.alias("#one"),
            is_all.alias("#all"),
            word.alias("#word"),
            score.cast(pl.Float64, strict=False).alias("#score"),
        ]
        frame = self._part.collect(self._part.rows.with_row_index("#row").with_columns(facts))
        others = pl.when(~pl.col("#one")).then("#score")
        ends = [one.over(who).alias(f"#{i}") for i, one in enumerate((others.mean(), others.sum(), others.n_unique()))]
        near = [(pl.col("#score") - pl.col(end)).abs() <= _ROUNDED * pl.col(end).abs() for end in ("#0", "#1")]
        has_others = (~pl.col("#one")).any().over(who).alias("#others")
        frame = frame.with_columns(*ends, has_others).with_columns(
            pl.any_horizontal(near).fill_null(value=False).alias("#near")
        )
        # items may be called sum: then they are not the sum or the mean of the others for all models
        is_sum = pl.col("#near").all().over("#word") & (pl.col("#2") > 2).any()  # nothing is one of the values
        is_one = pl.col("#one") & pl.col("#others") & (~pl.col("#word").is_in(_MAY_BE_ITEMS) | is_sum)
        kept = frame.filter(~(pl.col("#all") | is_one))
        if n := len(frame) - len(kept):
            self._hold(
                kept.drop(
                    one for one in kept.columns if one.startswith("#") and one != "#row" and one not in self._names
                )
            )
            self._n_total += n
            self._told.append(f"{n} row{'s' if n > 1 else ''} that sum{'' if n > 1 else 's'} up the others excluded")

    def _refuse_lacking(self) -> None:
        there = with_score({*self._ours, *self._fill})
        if missing := [name for name in self._table.needed() if name not in there]:
            refuse_lacking(self._part, self._table, missing, self._names)

    def _tell_merged_names(self) -> None:
        """Say which names are written as a number and as a text: 1 and "1" are read as one."""
        for ours in ("subject", "task", "model", "benchmark", "rater", "voter", "item"):
            theirs = self._ours.get(ours)
            if theirs is not None and theirs in self._names and (both := self._part.written_both_ways(theirs)):
                self._told.append(
                    f'{theirs} {both[0]} and "{both[0]}" are read as one'
                    + (f" (and {len(both) - 1} more)" if len(both) > 1 else "")
                )

    # scores

    def _guess_scores(self) -> None:
        is_attempts = self._table is Attempts
        if is_attempts and {"domain", "score"} <= set(self._ours) and not {"task", "n"} & {*self._ours, *self._fill}:
            self._ours["task"] = self._mapping["task"] = self._ours.pop("domain")  # each benchmark is one task
            self._mapping.pop("domain", None)
        self._use_only_number()
        key = key_of(self._table, self._ours)
        if key:
            self._melt(*key)
        elif is_attempts and "task" not in {*self._ours, *self._fill} and "n" in self._ours and "subject" in self._ours:
            self._count_items()
        elif "score" in self._ours:
            self._convert_score(profile(self._part, [self._ours["score"]])[0])
        if is_attempts:
            self._counts()
            self._attempts()
        else:
            self._turn_lower()

    def _turn_lower(self) -> None:
        """Published scores of which lower ones are better: turned around where the user says so, else excluded, since nothing says what the highest is."""
        score, what = self._ours.get("score"), self._ours.get("benchmark")
        if score is None or self._asked.better == "higher":
            return
        if self._asked.better == "lower":
            number = pl.col(score).cast(pl.Float64, strict=False)
            turned = pl.when(number.is_between(0, 1)).then(1 - number)
            rows = self._part.rows.with_columns(
                pl.coalesce(turned.cast(pl.String), pl.col(score).cast(pl.String)).alias(score)
            )
            self._part = replace(self._part, rows=rows, is_parsed=True)
            self._told.append(
                f"1 − {self._asked.rename.get('score', plain_name(score)) if score != '#score' else 'score'} is read, as lower is better"
            )
            return
        how = "lower is better, and nothing says what the highest value is (--lower-is-better reads 1 − score)"
        if is_error_measure(score) or (what is None and is_error_measure(str(self._fill.get("benchmark", "")))):
            raise InputError(
                f"{at(self._part)}{score}: {how}. Read the table as attempts, or divide scores by their highest value."
            )
        if what is None:
            return
        known = self._part.collect(self._part.rows.select(pl.col(what).cast(pl.String).unique(maintain_order=True)))[
            what
        ]
        lower = [name for name in known.drop_nulls() if is_error_measure(name)]
        if lower:
            is_lower = pl.col(what).cast(pl.String).is_in(lower).fill_null(value=False)
            n = self._part.collect(self._part.rows.select(is_lower.sum())).item()
            self._hold(self._part.collect(self._part.rows.with_row_index("#row").filter(~is_lower)))
            self._n_lower += n
            self._told.append(f"{', '.join(lower)} excluded: {how}")

    def _use_only_number(self) -> None:
        """Take the only column of numbers as the score, where subject and task are there."""
        keys = ("subject", "task") if self._table is Attempts else ("model", "benchmark")
        there = {*self._ours, *self._fill}
        if not set(keys) <= there or {"score", "n_success"} & there or EACH in self._ours.values():
            return
        taken = [self._ours[name] for name in self._ours if name not in ("seconds", "cost", "tokens", "minutes")]
        free = [name for name in self._names if name not in taken and plain_name(name) not in INDEX]
        candidates = [values.name for values in profile(self._part, free) if values.is_score_like]
        if len(candidates) == 1:
            self._ours = {ours: theirs for ours, theirs in self._ours.items() if theirs != candidates[0]}
            self._mapping = {ours: theirs for ours, theirs in self._mapping.items() if theirs != candidates[0]}
            self._ours["score"] = self._mapping["score"] = candidates[0]

    def _melt(self, one: str, other: str) -> None:
        """Turn a column per task or model into rows."""
        taken = {theirs for theirs in self._ours.values() if theirs != EACH}
        profiles = profile(self._part, [n for n in self._names if n not in taken and plain_name(n) not in INDEX])
        facts = (
            ("is_", "has_") if self._table is Scores else ()
        )  # is_coding says something about a benchmark or a model
        scored = [v for v in profiles if is_benchmark(v, self._asked) and not plain_name(v.name).startswith(facts)]
        names_beside = [v.name for v in profiles if v.dtype == pl.String and v.other and v.name not in taken]
        is_long = (
            len(scored) == 1 and names_beside and EACH not in self._ours.values()
        )  # who was scored stands in a column
        if one not in {*self._ours, *self._fill} or not scored or is_long:
            self._ours.pop(other, None)
            return
        names = [values.name for values in scored]
        self._refuse_second_header(self._ours.get(one), names)
        numbers = [values.name for values in profiles if values.is_score_like and values.name not in {*names}]
        words = tuple(sorted({word for values in scored for word in values.words}))
        alike: dict[
            tuple[Any, ...], list[str]
        ] = {}  # columns that are written in one way, whose values are read together
        percents = []
        is_beside_percent = any(self._divisor(values) == 100 for values in scored)
        for values in scored:
            divide_by = self._divisor(values)
            if (
                is_beside_percent
                and divide_by == 1
                and (values.high or 0) > 10
                and not values.small
                and not values.words
            ):
                divide_by = 100.0  # whole numbers up to 50 stand beside percentages, and none of them is a share
            percents += [values.name] if divide_by == 100 else []
            alike.setdefault((values.dtype, bool(values.words), divide_by), []).append(values.name)
        self._refuse_mixed(scored, percents)
        rows, order = self._part.rows.with_row_index("#row"), pl.Enum(names)
        kept = [name for name in self._names if name not in {*names}]
        long = []
        for (dtype, has_words, divide_by), own in alike.items():
            number = self._parsed(
                replace(scored[0], name="#score", dtype=dtype, words=words if has_words else ()), divide_by
            )
            melted = rows.select("#row", *kept, *own).unpivot(
                on=own, index=["#row", *kept], variable_name="#name", value_name="#score"
            )
            long.append(
                melted.with_columns(
                    pl.col("#name").cast(order), number.alias("#score") / divide_by, *_endings("#score")
                )
            )
        is_there = pl.col("#score").is_not_null()
        if self._table is Attempts:  # a cell with a word for an error was an attempt; an empty one most often was none
            is_there |= pl.col("#outcome").is_not_null()
        held = self._part.collect(pl.concat(long, how="diagonal").filter(is_there).sort("#row", "#name"))
        held = held.with_columns(pl.col("#name").cast(pl.String))
        held = self._without_totals(held, one)
        has_endings = self._table is Attempts and held["#outcome"].count() > 0
        self._hold(held.drop(*numbers, *([] if has_endings else ["#outcome", "#reason"])))
        self._ours |= {other: "#name", "score": "#score"}
        self._melted_direction(other, names)
        if has_endings:
            self._ours |= {"outcome": "#outcome", "reason": "#reason"}
        self._mapping[other] = EACH
        self._told.append(f"columns {listed(names)} → {other}, with their values as score")
        if percents and self._asked.divide_by == 1:
            self._told.append("percentages divided by 100")
        if words:
            self._told.append(meanings(words))
        if numbers:
            self._told.append(f"not read as scores: {', '.join(numbers)}")
        self._tell_blanks(sum(values.missing for values in scored))
        self._tell_errors(sum(values.errored for values in scored))

    def _melted_direction(self, other: str, names: Sequence[str]) -> None:
        """Which scores are better in columns of a wide table: as the user says, else by the names of tasks such as WER."""
        if self._table is not Attempts or "better" in {*self._ours, *self._fill}:
            return
        if self._asked.better == "lower":
            self._fill["better"] = "lower"
        lower = [name for name in names if is_error_measure(name)] if other == "task" and not self._asked.better else []
        if lower:
            better = pl.when(pl.col("#name").is_in(lower)).then(pl.lit("lower")).otherwise(pl.lit("higher"))
            self._part = replace(self._part, rows=self._part.rows.with_columns(better.alias("#better")))
            self._ours["better"] = "#better"
            self._told.append(f"lower is better: {', '.join(lower)}")

    def _without_totals(self, held: pl.DataFrame, one: str) -> pl.DataFrame:
        """Leave out rows such as Average and Total, which sum up the others."""
        if one not in self._ours:
            return held
        key = pl.col(self._ours[one]).cast(pl.String)
        is_total = key.str.strip_chars().str.to_lowercase().is_in(TOTALS).fill_null(value=False)
        totals = held.filter(is_total)
        if 0 < len(totals) < len(held):
            self._n_total = len(totals)
            named = ", ".join(totals.select(key.unique(maintain_order=True)).to_series())
            self._told.append(f"row {named}, which summarises the other rows, excluded")
            return held.filter(~is_total)
        return held

    def _refuse_second_header(self, key: str | None, names: Sequence[str]) -> None:
        """A pivot table has a second row of names, and its first column is not what the name above it says."""
        if key is None or self._part.path is None:
            return
        first = self._part.collect(self._part.rows.select(key, *names).head(1)).row(0)
        word = plain_name(str(first[0]))
        known = [ours for ours, aliases in ALIASES[self._table].items() if word == ours or word in aliases]
        if known and not any(value not in (None, "") for value in first[1:]):
            raise InputError(
                f"{at(self._part)}its first row ({first[0]!r} and blanks) is a second row of names, as pivot tables have it. "
                f"Delete the row and write {first[0]!r} above the first column, if that is what it contains."
            )

    def _refuse_mixed(self, scored: Sequence[ColumnValues], percents: Sequence[str]) -> None:
        """Columns from 0 to 1 beside percentages may be either."""
        small = [v for v in scored if v.name not in percents and v.small and not v.words]
        if percents and small and self._asked.divide_by == 1:
            raise InputError(
                f"{at(self._part)}{', '.join(percents[:3])} look like percentages, but {', '.join(v.name for v in small[:3])} "
                f"({small[0].low:g} to {small[0].high:g}) could be percentages or shares. Write all in one way, or pass --percent."
            )

    def _convert_score(self, values: ColumnValues) -> None:
        """Write the scores as numbers on their scale. A row without a score is an attempt without one, but no published score."""
        if values.other and values.dtype != pl.String:  # the table's own check names the lines
            return
        number, divide_by = self._number(values)
        theirs = self._ours["score"]
        lacking = values.missing + values.errored
        if lacking == values.n and not self._asked.is_part:
            raise InputError(f"{at(self._part)}none of the {values.n:,} rows has a score.")
        if self._table is Attempts and lacking:
            self._add_endings(theirs)
        if values.other:  # what is understood becomes a number, so that the table's check names the others alone
            understood = (number / divide_by).cast(pl.String)
            is_said = text_of(theirs).is_not_null() & ~text_of(theirs).is_in(list(ENDED))
            text = pl.when(is_said).then(pl.col(theirs))
            self._part = replace(
                self._part, rows=self._part.rows.with_columns(understood.fill_null(text).alias(theirs))
            )
        elif values.dtype != pl.Boolean and (divide_by != 1 or values.is_written or values.missing):
            rows = self._part.rows.with_columns((number / divide_by).alias(theirs), *self._scaled(divide_by))
            self._part = replace(self._part, rows=rows, is_parsed=True)
        self._divide_by = divide_by
        if lacking and self._table is not Attempts:
            rows = self._part.rows.with_row_index("#row").filter(pl.col(theirs).is_not_null())
            self._hold(self._part.collect(rows))
            self._tell_blanks(values.missing)
            self._tell_errors(values.errored)
        if divide_by == 100 and self._asked.divide_by == 1:
            ends = "" if values.percent else f" from {values.low:g} to {values.high:g}"
            self._told.append(f"{theirs}: percentages{ends}, divided by 100")
        if set(values.words) - {"true", "false"}:
            self._told.append(meanings(values.words))
        if values.comma:
            self._told.append("commas for thousands" if self._asked.decimal == "." else "decimal commas")
        self._direction(values, divide_by)

    def _add_endings(self, theirs: str) -> None:
        """What became of the rows without a score, as far as the score or a reason says it."""
        said = [self._ours[name] for name in ("outcome", "reason") if name in self._ours]
        of_score, of_reason = _endings(theirs), [one for name in said[-1:] for one in _endings(name)[:1]]
        known = {name: [pl.col(self._ours[name])] if name in self._ours else [] for name in ("outcome", "reason")}
        outcome = pl.coalesce(*known["outcome"], of_score[0], *of_reason)
        reason = pl.coalesce(*known["reason"], of_score[1])
        rows = self._part.rows.with_columns(outcome.alias("#outcome"), reason.alias("#reason"))
        self._part = replace(self._part, rows=rows, is_parsed=True)
        self._ours |= {"outcome": "#outcome", "reason": "#reason"}

    def _scaled(self, divide_by: float) -> list[pl.Expr]:
        """The other columns that are on the scale of the scores, such as standard errors."""
        columns = [c.name for c in self._table.columns if c.is_scaled and c.name != "score" and c.name in self._ours]
        profiles = profile(self._part, [self._ours[name] for name in columns])
        return [
            (parsed(values, is_thousands=False) / divide_by).alias(values.name)
            for values in profiles
            if not values.other
        ]

    def _clean_numbers(self) -> None:
        """Write the other numbers as the table wants them: points, no % sign, nothing for n/a."""
        schema = self._part.rows.collect_schema()
        theirs = [
            self._ours[column.name]
            for column in self._table.columns
            if column.kind in ("number", "whole")
            and self._ours.get(column.name) in schema
            and schema[self._ours[column.name]] == pl.String
            and column.name not in ("score", "value", "attempt")
        ]
        if theirs:
            clean = [v for v in profile(self._part, theirs) if not v.other and not v.words and (v.comma or v.missing)]
            rows = self._part.rows.with_columns(parsed(v, is_thousands=bool(v.either)).alias(v.name) for v in clean)
            self._part = replace(self._part, rows=rows, is_parsed=True)

    def _leave_out_unreadable(self) -> None:
        """Leave out columns that nobody needs and of which no value is of their kind, such as dates written 03/05/2024."""
        schema = self._part.rows.collect_schema()
        for column in self._table.columns:
            theirs = self._ours.get(column.name)
            if column.required or column.kind == "text" or column.name in self._asked.rename or theirs not in schema:
                continue
            if theirs is None or schema[theirs] != pl.String:
                continue
            text = pl.col(column.name)
            own = self._part.rows.select(pl.col(theirs).alias(column.name)).filter(text != "")
            facts = own.select(
                text.first().alias("first"), typed(column, schema[theirs], 1).is_not_null().any().alias("is_read")
            )
            first, is_read = self._part.collect(facts).row(0)
            if first is not None and not is_read:
                self._part = replace(self._part, rows=self._part.rows.drop(theirs), is_parsed=True)
                del self._ours[column.name]
                self._mapping.pop(column.name, None)
                what = "date such as 2025-01-31" if column.kind == "date" else "number"
                self._told.append(f"{theirs} is not read ({first} is no {what})")

    def _number(self, values: ColumnValues) -> tuple[pl.Expr, float]:
        """The numbers of a column, and what they are to be divided by."""
        divide_by = self._divisor(values)
        return self._parsed(values, divide_by), divide_by

    def _parsed(self, values: ColumnValues, divide_by: float) -> pl.Expr:
        return parsed(values, is_thousands=self._asked.decimal == ".", divide_by=divide_by)

    def _divisor(self, values: ColumnValues) -> float:
        """What the numbers of a column are to be divided by; a column that can be read in two ways is refused."""
        is_open = values.either and values.comma == values.either and self._part.separator == ","
        if is_open and self._asked.decimal is None:
            raise InputError(
                f"{at(self._part)}{values.name}: values such as 1,234 have a decimal comma or a comma for thousands. Say which with "
                "--decimal , or --decimal ."
            )
        given = values.n - values.missing - values.n_words - values.errored - values.other
        if 0 < values.percent < given and (values.small or values.n_words):  # else the others are percentages as well
            raise InputError(
                f"{at(self._part)}{values.name}: {values.percent:,} of {given:,} values have a % sign. Write all of them with it or "
                "none."
            )
        divide_by = self._asked.divide_by
        return 100.0 if divide_by == 1 and (values.percent or self._is_percent(values)) else divide_by

    def _is_percent(self, values: ColumnValues) -> bool:
        low, high = values.low, values.high
        if low is None or high is None or (low >= 0 and high <= 1) or self._fill.get("scale") == "free":
            return False
        if "scale" in self._ours:
            is_free = pl.col(self._ours["scale"]).cast(pl.String) == "free"
            if self._part.rows.select(is_free.any()).collect(engine="streaming").item():
                return False
        if self._table is Attempts and (self._asked.better or not is_share(values.name)):
            return False
        if low < 0 or high > 100 or values.is_mistake:
            return False
        if re.search(r"(^|_)(percent|percentage|pct|perc)(_|$)", plain_name(values.name)):
            return True
        return high > 50 or (high > 10 and not values.is_whole)

    def _direction(self, values: ColumnValues, divide_by: float) -> None:
        """Which scores are better, and whether they are of any size; asked where neither values nor names say."""
        if self._table is not Attempts or values.low is None or values.high is None:
            return
        if values.is_mistake and is_share(values.name):
            return
        name, low, high = values.name, values.low / divide_by, values.high / divide_by
        is_outside = low < 0 or high > 1
        by_name = is_higher_better(name)
        is_lower = self._asked.better == "lower" if self._asked.better else by_name is False
        if is_outside and "scale" not in {*self._fill, *self._ours} and self._asked.divide_by == 1:
            is_graded = is_grade(name) and values.is_whole and low >= 0 and high <= 10
            if not self._asked.better and (by_name is None or (is_share(name) and not is_graded)):
                raise InputError(
                    f"{at(self._part)}{name} goes from {low:g} to {high:g}. Pass --percent, --divide-by with the highest possible score, or, "
                    "to analyse the numbers as they are, --higher-is-better or --lower-is-better."
                )
            self._fill["scale"] = "free"
            self._told.append(f"{name} as it is, {'lower' if is_lower else 'higher'} is better")
        if is_lower and "better" not in {*self._fill, *self._ours}:
            self._fill["better"] = "lower"
            if not is_outside:
                self._told.append(f"lower {name} is better")

    def _hold(self, frame: pl.DataFrame) -> None:
        """Use these rows, whose column #row says which they were."""
        rows = frame["#row"]
        numbers = rows if self._part.numbers is None else self._part.numbers.gather(rows)
        self._part = replace(self._part, rows=frame.drop("#row").lazy(), numbers=numbers, is_parsed=True)

    # counts and attempts

    def _count_items(self) -> None:
        """Counts without items: n different items, each tried once, of which nobody knows which one it is."""
        n_name, who = self._ours["n"], self._ours["subject"]
        counted = self._ours.get("n_success", self._ours.get("score"))
        if counted is None:
            return
        n, successes = (parsed(values, is_thousands=True) for values in profile(self._part, [n_name, counted]))
        if "n_success" not in self._ours:
            share, divide_by = self._number(profile(self._part, [counted])[0])
            successes = (share / divide_by * n).round()
            if not self._asked.has_fractions:
                self._told.append(f"{counted} × {n_name} → number of correct answers")
        frame = self._part.collect(
            self._part.rows.with_row_index("#row").with_columns(n.alias("#n"), successes.alias("#k"))
        )
        is_count = (
            (pl.col("#n") >= 1) & (pl.col("#n") == pl.col("#n").round()) & pl.col("#k").is_between(0, pl.col("#n"))
        )
        if len(wrong := frame.filter(~is_count.fill_null(False))):
            where = self._part.where(int(wrong["#row"][0]))
            raise InputError(
                f"{where}: {n_name} and {counted} are not a number of items and of correct ones. Correct them."
            )
        if (total := int(frame["#n"].sum())) > _MOST_ITEMS:
            raise InputError(
                f"{at(self._part)}{total:,} items without names. Give one row per item, with a column for it."
            )
        place = [self._ours["domain"]] if "domain" in self._ours else []
        label = pl.concat_str(
            [pl.col(name).cast(pl.String) for name in (*place, who)], separator="/", ignore_nulls=True
        )
        rows = frame.with_columns(pl.int_ranges(1, pl.col("#n").cast(pl.Int64) + 1).alias("#item")).explode("#item")
        rows = rows.with_columns(
            pl.format("{}/item {}", label, "#item").alias("#task"),
            (pl.col("#item") <= pl.col("#k")).cast(pl.Float64).alias("#score"),
        )
        used = {n_name, counted}
        self._hold(rows.drop(*used, "#n", "#k", "#item"))
        self._ours = {ours: theirs for ours, theirs in self._ours.items() if theirs not in used}
        self._ours |= {"task": "#task", "score": "#score"}
        what = "" if self._asked.has_fractions else f"{counted} of {n_name} items; "
        self._told.append(f"{what}items have no names, so they are not paired between models")

    def _counts(self) -> None:
        """A share beside n, at one task: the number of successes."""
        if "n" not in self._ours or "n_success" in self._ours or "score" not in self._ours:
            return
        n, score = (pl.col(self._ours[name]).cast(pl.Float64, strict=False) for name in ("n", "score"))
        rest = self._part.collect(self._part.rows.select((n * score - (n * score).round()).abs().max())).item()
        if rest is None or rest > 0.05 or self._fill.get("scale") == "free":
            raise InputError(
                f"{at(self._part)}{self._ours['n']} × {self._ours['score']} is not a whole number of successes. Give n_success, or "
                f"remove {self._ours['n']}."
            )
        successes = (n * score).round()
        columns = (successes.cast(pl.Int64).alias("#success"), (successes / n).alias(self._ours["score"]))
        self._part = replace(self._part, rows=self._part.rows.with_columns(columns), is_parsed=True)
        if not self._asked.has_fractions:
            self._told.append(f"{self._ours['score']} × {self._ours['n']} → n_success")
        self._ours["n_success"] = "#success"

    def _attempts(self) -> None:
        """Epochs and seeds that do not run 1, 2, … give the order of the attempts; the numbers of a person's attempts are kept, as one that is missing is practice too."""
        theirs = self._ours.get("attempt")
        if theirs is None or not {"subject", "task"} <= set(self._ours):
            return
        number = pl.col(theirs).cast(pl.Float64, strict=False)
        by = [self._ours["subject"], self._ours["task"]]
        kind = pl.col(self._ours["kind"]) if "kind" in self._ours else pl.lit(self._fill.get("kind"), pl.String)
        is_practice = (kind.cast(pl.String) == "human").fill_null(False) & pl.lit(
            theirs not in ("seed", "epoch", "run")
        )
        kept = number + (number.filter(is_practice).min() == 0).cast(pl.Int64)  # from 0: one more
        is_practice = is_practice & (number >= 0).all() & (number == number.floor()).all()
        rank = pl.when(is_practice).then(kept).otherwise(number.rank("dense").over(by))
        facts = self._part.rows.select(
            number.is_null().any().alias("has_names"),
            (rank != number).any().alias("has_gaps"),
        )
        has_names, has_gaps = self._part.collect(facts).row(0)
        if has_names and theirs != "attempt":
            del self._ours["attempt"]
            self._told.append(f"attempts numbered in the order of the rows ({theirs} is kept as it is)")
        elif has_gaps and not has_names and not self._asked.is_part:
            rows = self._part.rows.with_columns(rank.cast(pl.Int64).alias("#attempt")).drop(theirs)
            self._part = replace(self._part, rows=rows, is_parsed=True)
            self._ours["attempt"] = "#attempt"
            self._told.append(f"attempts numbered 1, 2, … in the order of {theirs}")

    def _tell_errors(self, n: int) -> None:
        """Errors in the place of published scores; attempts that ended so are kept."""
        if n and self._table is not Attempts:
            self._n_errored += n
            self._told.append(f"{n:,} error{'s' if n > 1 else ''} excluded")

    def _tell_blanks(self, n: int) -> None:
        self._n_blank += n
        if n:
            self._told.append(f"{n:,} blank{'s' if n > 1 else ''} excluded")


def _endings(theirs: str) -> list[pl.Expr]:
    """``#outcome`` and ``#reason`` where a column has a word for an error or a refusal."""
    outcome = text_of(theirs).replace_strict(ENDED, default=None, return_dtype=pl.String)
    text = pl.col(theirs).cast(pl.String).str.strip_chars()
    return [outcome.alias("#outcome"), pl.when(outcome.is_not_null()).then(text).alias("#reason")]
