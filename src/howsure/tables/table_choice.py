"""Which table the rows are, and which column is which, by the names that people use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from howsure.errors import InputError, OptionError, closest
from howsure.tables import TABLES, Attempts, Ratings, Scores, Table
from howsure.tables.frames import Part
from howsure.tables.known_words import ALIASES, ASKED, BENCHMARK, COUNTED, FILLERS, ITEM, NO_NAME, WEAK
from howsure.tables.untidy import Requested, plain_name
from howsure.tables.value_profiles import profile

__all__ = [
    "EACH",
    "assigned",
    "at",
    "fitting_table",
    "key_of",
    "lacks_subject",
    "refuse_lacking",
    "refuse_unknown",
    "with_score",
]

EACH = "*"
"""In ``rename``: each column that is not used otherwise is one subject, task or benchmark."""


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
        if table is Attempts and column.name in ("sample", "epoch"):
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
