"""Untidy tables: what stands beside the data, and columns that are not one variable each, are put in order and said."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import polars as pl

from howsure.errors import InputError
from howsure.tables import DASHES, UNSEEN, Attempts, Ratings, Scores
from howsure.tables.frames import Part
from howsure.tables.known_words import (
    ABROAD,
    ALIASES,
    COUNTED,
    FAILURES,
    ITEM,
    MISSING,
    MODEL,
    NO_NAME,
    RATERS,
    REPEATS,
    SCORE,
    SUCCESSES,
    WEAK,
)

__all__ = [
    "COMMA",
    "MANY_COLUMNS",
    "NUMBER",
    "PERCENT",
    "Requested",
    "listed",
    "melted",
    "plain_name",
    "shown_name",
    "text_of",
    "tidied",
]

MANY_COLUMNS = 50
NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
PERCENT = r"^[-+]?(\d+[.,]?\d*|[.,]\d+) ?%$"
COMMA = r"^[-+]?\d*,\d+$"
_FRACTION = r"^(\d{1,9}) ?(?:/|of|out of|von|sur|de) ?(\d{1,9})$"  # 7/10
_MARKED = r"^\**([-+]?\d*[.,]?\d+(?: ?%)?)\**[†‡§]* ?((±|\+/-|\+-) ?\d*[.,]?\d+ ?%?|\(±? ?\d*[.,]?\d+ ?%?\)|[\[(][-+]?\d*\.?\d+ ?%?(?:, ?|; ?|–| - | to )[-+]?\d*\.?\d+ ?%?[\])])?$"  # 53.6 ± 1.2, 0.85*


_INSIDE = (
    (MODEL, ("name", "id", *MODEL)),
    (
        (*SCORE, "scores", "metrics", "evaluation", "grading", "judge"),
        tuple(one for one in SCORE if one != "pass_fail"),
    ),
)
"""Columns that may be objects, and what in them is the name or the score."""
_SCORES = ("scores", "metrics")
_MODEL_KEYS = frozenset({"model", "model_name", "model_id", "llm", "llm_name"})
_OTHER_MODELS = frozenset(
    {"judge", "grader", "scorer", "evaluator", "rater", "annotator", "baseline", "reference", "teacher"}
)
_FIRST_ROWS = 20  # in which the names of models are looked for
_DEPTH = 3  # of objects in objects


@dataclass(frozen=True)
class Requested:
    """What the user said, and about which file."""

    rename: dict[str, str]
    fill: dict[str, Any]
    divide_by: float
    decimal: str | None
    better: str | None
    at: str
    outcomes: str = ""
    """A column that is called outcome and has other words than ours."""
    has_fractions: bool = False
    is_part: bool = False


def tidied(part: Part, asked: Requested) -> tuple[Part, Requested]:
    """The same table with one variable per column and nothing beside its data.

    What was done is added to the part's ``says``, and to `asked` where a column that the user named has another name now.
    """
    part = _with_requested_values(_without_row_numbers(_without_marks(part), asked), asked)
    if not {"subject", "model"} & {*asked.rename, *asked.fill}:
        part = _with_nested_model(part, part.rows.collect_schema().names())
    for step in (
        _with_values_for_objects,
        _with_rows_for_repeats,
        _with_rows_for_dimensions,
        _with_total_of_failures,
    ):
        part = step(part, [name for name in part.rows.collect_schema().names() if name not in asked.rename.values()])
    return _with_shares_for_fractions(part, asked)


def _without_marks(part: Part) -> Part:
    """A text table without blanks and single quotes around its fields, rules of dashes, repeated headers, and marks beside its numbers."""
    if part.format not in ("csv", "tsv"):
        return part
    names = part.rows.collect_schema().names()
    rows, says, numbers = part.rows, list(part.says), part.numbers
    for marks, told in ((UNSEEN, "blanks"), ("'", "single quotes")):
        bare = [name.strip(marks) for name in names]
        values = {name: pl.col(name).str.strip_chars(marks) for name in names}
        is_there = bare != names
        if marks == "'":
            is_there = bool(names) and all(re.fullmatch("'.*'", name) for name in names)
        elif not is_there and names:
            is_there = bool(_those(part, rows, names, lambda n: (pl.col(n).str.strip_chars(UNSEEN) != pl.col(n)).any()))
        if is_there and len({*bare}) == len(bare):
            rows = rows.select(values[name].alias(new) for name, new in zip(names, bare, strict=True))
            names = bare
            says.append(f"{told} around fields removed")
    first = pl.col(names[0]) if names else pl.lit("")
    is_likely = names and part.collect(rows.select(((first == names[0]) | first.str.contains(DASHES)).any())).item()
    is_again = pl.all_horizontal(pl.col(name) == name for name in names)
    is_rule = pl.all_horizontal(pl.col(name).str.contains(DASHES) for name in names)
    is_left_out = (is_again | is_rule).fill_null(value=False)
    if n := part.collect(rows.select(is_left_out.sum())).item() if is_likely else 0:
        held = part.collect(rows.with_row_index("#row").filter(~is_left_out))
        numbers = held["#row"] if numbers is None else numbers.gather(held["#row"])
        rows = held.drop("#row").lazy()
        says.append(f"{n:,} row{'s' if n > 1 else ''} of dashes or with the header again excluded")
    likely = _those(part, rows.head(1000), names, lambda name: _is_marked(name).any())
    marked = _those(part, rows, likely, lambda n: (text_of(n).is_null() | text_of(n).str.contains(_MARKED)).all())
    if marked:
        example = part.collect(
            rows.select(pl.col(marked[0]).filter(~text_of(marked[0]).str.contains(NUMBER)).drop_nulls().head(1))
        )
        rows = rows.with_columns(
            pl.coalesce(text_of(name).str.extract(_MARKED, 1).alias(name), pl.col(name)).alias(name) for name in marked
        )
        shown = example.item() if len(example) else ""
        says.append(f"of {', '.join(marked[:3])}, only the number is read ({shown.strip()})")
    if len(says) == len(part.says):
        return part
    return replace(part, rows=rows, numbers=numbers, is_parsed=True, says=tuple(says))


def _those(part: Part, rows: pl.LazyFrame, names: Sequence[str], test: Callable[[str], pl.Expr]) -> list[str]:
    """The columns that pass a test; many of them as one column of all values, because thousands of expressions take minutes."""
    if len(names) <= MANY_COLUMNS:
        found = part.collect(rows.select(test(name).alias(name) for name in names)).row(0) if names else ()
        return [name for name, is_passed in zip(names, found, strict=True) if is_passed]
    long = rows.select(pl.col(names).cast(pl.String)).unpivot(on=names, variable_name="#name", value_name="#value")
    passed = {*part.collect(long.group_by("#name").agg(test("#value").alias("#test")).filter("#test"))["#name"]}
    return [name for name in names if name in passed]


def _is_marked(name: str) -> pl.Expr:
    """Whether a number has a footnote, bold type, or an error after ± or in brackets."""
    text = text_of(name)
    return text.str.contains(_MARKED) & ~text.str.contains(f"{NUMBER}|{PERCENT}|{COMMA}")


def _without_row_numbers(part: Part, asked: Requested) -> Part:
    """Leave out the row numbers that pandas writes into a column without a name: they are no configuration."""
    names = [
        name
        for name in part.rows.collect_schema().names()
        if plain_name(name) in NO_NAME and name not in asked.rename.values()
    ]
    if not names:
        return part
    number = pl.col(names).cast(pl.Float64, strict=False)
    found = part.collect(part.rows.select((number == number.round()).fill_null(value=False).all())).row(0, named=True)
    numbers = [name for name in names if found[name]]
    if not numbers or len(numbers) == len(part.rows.collect_schema()):
        return part
    told = tuple(f"row numbers in {shown_name(name)} excluded" for name in numbers)
    return replace(part, rows=part.rows.drop(numbers), is_parsed=True, says=(*part.says, *told))


def _json(part: Part, name: str) -> pl.Expr:
    """A column of objects as JSON, nothing where a value is none."""
    column = pl.col(name)
    if isinstance(part.rows.collect_schema()[name], pl.Struct):
        return column.struct.json_encode()
    return pl.when(column.cast(pl.String).str.starts_with("{")).then(column.cast(pl.String))


def _with_requested_values(part: Part, asked: Requested) -> Part:
    """Values inside of objects that the user named, such as ``scores.Factuality``, as columns."""
    names = part.rows.collect_schema().names()
    inside = [one for one in asked.rename.values() if one not in names and re.fullmatch(r"\w+(\.\w+)+", one)]
    found = {one: one.partition(".") for one in inside if one.partition(".")[0] in names}
    values = [_json(part, name).str.json_path_match(f"$.{path}").alias(one) for one, (name, _, path) in found.items()]
    return replace(part, rows=part.rows.with_columns(values), is_parsed=True) if values else part


def _with_nested_model(part: Part, names: Sequence[str]) -> Part:
    """The model's name from objects such as ``{"metadata": {"model": …}}``, where no column has it."""
    plain = {plain_name(name) for name in names}
    schema = part.rows.collect_schema()
    is_table = part.format in ("jsonl", "json") or any(isinstance(schema[name], pl.Struct) for name in names)
    if not is_table or plain & {
        *MODEL,
        "subject",
        "participant",
        "learner",
        "person",
        "model_a",
        "winner",
        "rater",
        *RATERS,
    }:
        return part
    texts = [name for name in names if isinstance(schema[name], pl.Struct) or schema[name] == pl.String]
    first = part.collect(part.rows.select(_json(part, name).alias(name) for name in texts).head(_FIRST_ROWS))
    found: dict[tuple[str, ...], set[str]] = {}
    for name in texts:
        for held in map(_loaded, first[name].drop_nulls()):
            for path, value in _leaves(held, (name,)):
                if _is_model(path):
                    found.setdefault(path, set()).add(value)
    if not found:
        return part
    nearest = [path for path in found if len(path) == min(map(len, found))]
    paths = [".".join(path) for path in nearest]
    if len({frozenset(found[path]) for path in nearest}) > 1:
        raise InputError(
            f"{f'{part.path}: ' if part.path else ''}{' and '.join(paths)} name different models. Choose with --map subject={paths[0]}."
        )
    model = _json(part, nearest[0][0]).str.json_path_match("$." + ".".join(nearest[0][1:])).alias("model")
    says = (*part.says, f"{paths[0]} → model")
    return replace(part, rows=part.rows.with_columns(model), is_parsed=True, says=says)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _leaves(held: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts in an object and in the objects in it, with their paths."""
    if isinstance(held, str):
        yield path, held
    elif isinstance(held, dict) and len(path) <= _DEPTH:
        for key, value in held.items():
            if re.fullmatch(r"\w+", key):
                yield from _leaves(value, (*path, key))


def _is_model(path: Sequence[str]) -> bool:
    """Whether a path ends in the name of the model that answered, not of one that judged."""
    plain = [plain_name(name) for name in path]
    is_named = plain[-1] in _MODEL_KEYS or (plain[-1] in ("name", "id") and plain[-2] in _MODEL_KEYS)
    return is_named and not {word for name in plain for word in name.split("_")} & _OTHER_MODELS


def _with_values_for_objects(part: Part, names: Sequence[str]) -> Part:
    """Of objects in a jsonl file where a name or a score should be, such as ``{"correct": true, "reason": …}``, the value that is one."""
    if part.format not in ("jsonl", "json"):
        return part
    schema = part.rows.collect_schema().names()
    wanted = {name: keys for name in names for known, keys in _INSIDE if plain_name(name) in known}
    first = part.collect(part.rows.select(pl.col(name).drop_nulls().first() for name in wanted)) if wanted else None
    for name, keys in wanted.items():
        told = first[name][0] if first is not None else None
        if not isinstance(told, str) or not told.startswith("{"):
            continue
        try:
            held = json.loads(told)
        except ValueError:
            continue
        inside = [key for key in held if plain_name(key) in keys and not isinstance(held[key], dict | list)]
        if plain_name(name) in _SCORES:
            numbers = [key for key in held if isinstance(held[key], int | float)]
            inside = inside or numbers
            has_score = {plain_name(one) for one in names} & {*SCORE} or any(n.startswith(f"{name}.") for n in schema)
            if len(inside) > 1 and not has_score:
                raise InputError(
                    f"{f'{part.path}: ' if part.path else ''}{name} has several scores: {', '.join(inside)}. "
                    f"Choose with --map score={name}.{inside[0]}."
                )
        if len(inside) == 1 and re.fullmatch(r"\w+", inside[0]):
            value = pl.coalesce(
                _json(part, name).str.json_path_match(f"$.{inside[0]}"), name
            )  # others stay as they are
            here = "score" if plain_name(name) in _SCORES and "score" not in names else name
            says = (*part.says, f"{name}.{inside[0]} → {here}")
            rows = part.rows.with_columns(value.alias(name)).rename({name: here})
            part = replace(part, rows=rows, is_parsed=True, says=says)
    return part


def _with_rows_for_repeats(part: Part, names: Sequence[str]) -> Part:
    """A column per seed, run or epoch (``seed_0``, ``seed_1``, …) as one row per attempt."""
    plain = {name: plain_name(name) for name in names}
    found = {
        name: int(numbered[1])
        for name in names
        if (numbered := re.fullmatch(rf"(?:{'|'.join((*REPEATS, 'attempt', 'try'))})_?(\d{{1,6}})", plain[name]))
    }
    has_scores = {*plain.values()} & {*SCORE, *SUCCESSES, "attempt", *REPEATS}
    if len(found) < 2 or has_scores or len({*found.values()}) < len(found):
        return part
    says = f"columns {listed(list(found))} → attempt, with their values as score"
    return melted(part, list(found), "attempt", "score", says, lambda name: found[name] + (0 in found.values()))


def _with_rows_for_dimensions(part: Part, names: Sequence[str]) -> Part:
    """A column per thing that raters judged as one row per rating."""
    plain = {name: plain_name(name) for name in names}
    there = {*plain.values()}
    known = {column.name for column in Ratings.columns} | {alias for own in ALIASES[Ratings].values() for alias in own}
    if not there & {"rater", *RATERS} or not there & {"item", *ALIASES[Ratings]["item"]}:
        return part
    if there & {"dimension", "value", *ALIASES[Ratings]["dimension"], *ALIASES[Ratings]["value"]}:
        return part
    free = [name for name in names if plain[name] not in known]
    judged = _those(part, part.rows, free, lambda name: text_of(name).str.contains(NUMBER).all())
    if len(judged) < 2:
        return part
    return melted(
        part, judged, "dimension", "value", f"columns {listed(judged)} → dimension, with their values as value"
    )


def _with_total_of_failures(part: Part, names: Sequence[str]) -> Part:
    """Numbers of successes and of failures, such as Passed and Failed, as successes among n."""
    right, wrong = (
        [name for name in names if plain_name(name) in known]
        for known in ((*COUNTED, *SUCCESSES, "pass", "right", "resolved"), FAILURES)
    )
    there = {plain_name(name) for name in names}
    if len(right) != 1 or len(wrong) != 1 or there & {"n", "n_success", *ALIASES[Attempts]["n"]}:
        return part
    successes, failures = (
        text_of(name).str.replace_all(",", "").cast(pl.Float64, strict=False) for name in right + wrong
    )
    facts = part.rows.select(
        pl.all_horizontal(
            (one.is_between(0, 2**53) & (one == one.floor())).all() for one in (successes, failures)
        ).alias("is_count"),
        (successes + failures > 1).any().alias("is_several"),
    )
    is_count, is_several = part.collect(facts).row(0)
    if not is_count or not is_several:
        return part
    counted = [successes.cast(pl.Int64).alias("n_success"), (successes + failures).cast(pl.Int64).alias("n")]
    rows = part.rows.with_columns(counted).drop(right + wrong)
    return replace(
        part, rows=rows, is_parsed=True, says=(*part.says, f"{right[0]} of {right[0]} + {wrong[0]} → n_success of n")
    )


def melted(
    part: Part,
    columns: Sequence[str],
    name: str,
    value: str,
    says: str,
    label: Callable[[str], Any] = str,
    *,
    keeps_words: bool = False,
) -> Part:
    """One row per value of the columns, whose names, or labels, and values become two columns; an empty cell is none.

    Parameters
    ----------
    part : Part
        The rows.
    columns : sequence of str
        The columns.
    name, value : str
        The two columns.
    says : str
        What was done.
    label : callable
        What is said of a column instead of its name.
    keeps_words : bool
        Keep words such as none, which stand for nothing elsewhere.
    """
    kept = [one for one in part.rows.collect_schema().names() if one not in columns]
    long = part.rows.with_row_index("#row").unpivot(
        on=columns, index=["#row", *kept], variable_name=name, value_name=value
    )
    order = pl.col(name).replace_strict({one: place for place, one in enumerate(columns)}, return_dtype=pl.Int64)
    held = part.collect(long.sort("#row", order)).with_columns(
        pl.col(name).replace_strict({one: str(label(one)) for one in columns}, return_dtype=pl.String)
    )
    n_cells, held = (
        len(held),
        held.filter(
            text_of(value).is_not_null() if not keeps_words else pl.col(value).cast(pl.String).str.strip_chars() != ""
        ),
    )
    numbers = held["#row"] if part.numbers is None else part.numbers.gather(held["#row"])
    told: dict[str, Any] = {"says": (*part.says, says), "n_blank": part.n_blank + n_cells - len(held)}
    return replace(part, rows=held.drop("#row").lazy(), numbers=numbers, is_parsed=True, **told)


def listed(names: Sequence[str]) -> str:
    """The first names, and how many there are."""
    return ", ".join(names[:4]) + (f", … ({len(names)} in all)" if len(names) > 4 else "")


def _with_shares_for_fractions(part: Part, asked: Requested) -> tuple[Part, Requested]:
    """Cells such as 7/10 as a share and n. Blanks among them are left out, unless each row is an item.

    One such column is the score. Of several, each is a benchmark, or a model where rows are items. The same n in every row of an
    item's score may be the scale of a grade instead of a number of attempts: then n, which would count as evidence, is not used.
    """
    schema = part.rows.collect_schema()
    names = schema.names()
    other = {
        alias
        for table in (Attempts, Scores)
        for ours, aliases in ALIASES[table].items()
        for alias in (ours, *aliases)
        if ours not in ("score", "n_success")
    }
    texts = [
        name
        for name in names
        if schema[name] == pl.String and (name in asked.rename.values() or plain_name(name) not in other)
    ]
    if not texts:
        return part, asked

    def number(name: str, place: int) -> pl.Expr:
        return text_of(name).str.extract(_FRACTION, place).cast(pl.Float64, strict=False)

    def is_fraction(name: str) -> pl.Expr:
        ends = number(name, 1), number(name, 2)
        return (ends[0] <= ends[1]).fill_null(value=False) & (ends[1] > 0)

    likely = _those(part, part.rows.head(50), texts, lambda name: is_fraction(name).any())
    found = _those(part, part.rows, likely, lambda name: (is_fraction(name) | text_of(name).is_null()).all())
    named = [name for name in found if asked.rename.get("score") == name or plain_name(name) in {*SCORE, *SUCCESSES}]
    found = named if len(named) == 1 else found
    plain = {plain_name(name) for name in names}
    rows = part.rows.with_row_index("#row")
    if not found or "score" in {*names} - {*found} or (len(found) > 1 and {"benchmark", "model"} <= plain):
        return part, asked
    told = f"{found[0]}: "
    if len(found) > 1:
        across = "benchmark" if plain & {*MODEL} else "model"
        kept = [name for name in names if name not in found]
        rows = rows.unpivot(on=found, index=["#row", *kept], variable_name=across, value_name="score")
        told = f"columns {', '.join(found[:4])}{', …' if len(found) > 4 else ''} → {across}; "
    theirs = "score" if len(found) > 1 else found[0]
    split = rows.with_columns((number(theirs, 1) / number(theirs, 2)).alias("#share"), number(theirs, 2).alias("#n"))
    held = part.collect(split.sort("#row", maintain_order=True)).drop(theirs)
    filled = held.drop_nulls("#share")
    if not len(filled):
        return part, asked
    is_of_items = len(found) == 1 and bool(plain & {*ITEM, *WEAK["task"], "task"})
    is_grade = is_of_items and filled["#n"].n_unique() == 1 and plain_name(theirs) not in {*COUNTED, *SUCCESSES}
    total = int(filled["#n"][0])
    share = round(float(filled["#share"][0]) * total)
    filled = held if is_of_items else filled
    if is_grade or "n" in plain:
        told += f"{share}/{total} read as {share / total:.4g}" + (
            ", one score (a column n_success makes it a count)" if is_grade else ""
        )
        filled = filled.drop("#n")
    else:
        told += f"{share}/{total} read as {share} of {total}"
        filled = filled.rename({"#n": "n"}).with_columns(pl.col("n").cast(pl.Int64))
    numbers = filled["#row"] if part.numbers is None else part.numbers.gather(filled["#row"])
    part = replace(
        part,
        rows=filled.drop("#row").rename({"#share": "score"}).lazy(),
        numbers=numbers,
        is_parsed=True,
        says=(*part.says, told),
        n_blank=part.n_blank + len(held) - len(filled),
    )
    renamed = {ours: "score" if name == theirs else name for ours, name in asked.rename.items()}
    return part, replace(asked, rename=renamed, has_fractions=True)


def text_of(name: str) -> pl.Expr:
    """The column's text in lower case, without space around it, and nothing for what stands for nothing."""
    text = pl.col(name).cast(pl.String).str.replace_all("\u00a0", " ").str.strip_chars().str.to_lowercase()
    return pl.when(~text.is_in(list(MISSING))).then(text)


@lru_cache(100_000)
def plain_name(name: str) -> str:
    """A column's name as our names are written, in English where it is a known word of another language."""
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.strip()).casefold().replace("%", " percent ")
    letters = "".join(one for one in unicodedata.normalize("NFKD", parted) if not unicodedata.combining(one))
    plain = re.sub(r"[\W_]+", "_", letters).strip("_")
    return ABROAD.get(plain, plain)


def shown_name(name: str) -> str:
    """A column's name, also where it has none."""
    return name if name.strip() else "the column without a name"
