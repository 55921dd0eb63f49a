"""What is compared: rows chosen by any column, and cells of attempts that differ in the factors of interest and in nothing else.

A factor is a column that describes a run: the model, the prompt, the temperature, the folder that the log is in. Variants differ in the factors
named by ``by``. Other factors that vary are averaged over: each combination of their values that both sides have counts once, and conclusions are
about exactly these values. Different scorers measure different things: they are held equal, never averaged.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import gammaln

from howsure.errors import InputError, OptionError
from howsure.stats._arrays import Floats
from howsure.tables import Attempts
from howsure.tables.outcomes import Policy

__all__ = [
    "INPUT",
    "REDUCTIONS",
    "Spec",
    "Variants",
    "aligned",
    "averaged_factors",
    "best_of",
    "by_scorer",
    "completed",
    "levels_of",
    "majority_of",
    "named",
    "numbered",
    "one_scorer",
    "only",
    "pass_all",
    "pass_any",
    "reduce_attempts",
    "select",
    "variants_of",
    "varying_factors",
    "with_absent",
]

INPUT = "input"
"""The column that tells two inputs apart, such as two folders."""

Spec = str | Mapping[str, Any]
"""One side of a comparison: ``"model=x,prompt=cot"``, the value of the only factor, or a mapping from column to value."""

_ALIASES = {"model": "subject", "eval": "domain", "item": "task"}
_NAMES = {"subject": "model"}
_OF_ITEMS = {"task", "family", "domain", "item_digest", "minutes"}
_OF_ATTEMPTS = {"attempt", "score", "kind", "seconds", "n", "n_success", "scale", "better", "tokens", "cost", "limit"}
_OF_ATTEMPTS |= {"outcome", "reason", "error", "valid", "flag", "sample", "epoch", "question", "target", "answer"}
_ON_REQUEST = {"source", "log", "date"}
_HELD = ("subject", "scorer")  # never averaged over: where they are not compared, they are held equal
_MOST_LEVELS = 50  # a column with more values does not describe a configuration
_NONE = "(none)"
_COMPARISON = re.compile(r"\s*([^=<>!]+?)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*")
_SETTINGS = re.compile(r" \([^()]*=[^()]*\)$")


@dataclass(frozen=True)
class Variants:
    """Cells of attempts, and which pairs of them are compared.

    ``attempts`` has the cell's key as its subject. ``names`` gives each cell the values of the compared factors as text, ``held`` the value of
    a factor that is held equal. ``averaged`` names the other factors that vary.
    """

    attempts: Attempts
    by: tuple[str, ...]
    names: Mapping[str, str]
    held: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]]
    pairs: tuple[tuple[str, str], ...]
    averaged: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def factor(self) -> str:
        """What is compared, in words."""
        return " and ".join(named(name) for name in self.by)

    def blocks(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Pairs that agree in all other factors, by these factors' values."""
        found: dict[str, list[tuple[str, str]]] = {}
        for a, b in self.pairs:
            found.setdefault(self.held[a], []).append((a, b))
        return list(found.items())


def select(
    attempts: Attempts, *, where: Sequence[str] = (), only: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Attempts:
    """The attempts that meet all conditions, numbered again, with a note on how many remain.

    Parameters
    ----------
    attempts : Attempts
        Any attempts.
    where : sequence of str
        Conditions such as ``"temperature>=0.5"`` or ``"prompt!=cot"`` on any column, with =, !=, <, <=, >, >=.
    only : sequence of str
        ``"column=a,b"``: keep the rows with one of these values.
    exclude : sequence of str
        ``"column=a,b"``: leave out the rows with one of these values.
    """
    conditions = [(text, _condition(attempts, text)) for text in where]
    conditions += [(f"only {text}", _is_one_of(attempts, text)) for text in only]
    conditions += [(f"without {text}", ~_is_one_of(attempts, text)) for text in exclude]
    if not conditions:
        return attempts
    keep = pl.all_horizontal([one.fill_null(False) for _, one in conditions])
    total, left = attempts.lazy.select(pl.len(), keep.sum().alias("left")).collect(engine="streaming").row(0)
    told = ", ".join(text for text, _ in conditions)
    if not left:
        raise InputError(f"No attempt fulfils {told}. {_values_of(attempts, [*where, *only, *exclude])}".rstrip())
    note = f"{left:,} of {total:,} attempts are included: {told}."
    return attempts.derive(numbered(attempts.lazy.filter(keep)), note)


def variants_of(
    attempts: Attempts,
    a: Spec | None = None,
    b: Spec | None = None,
    *,
    by: Sequence[str] | None = None,
) -> Variants:
    """The cells to compare and their pairs.

    Parameters
    ----------
    attempts : Attempts
        All attempts.
    a, b : str or mapping, optional
        The two sides, or one of them; see `Spec`.
    by : sequence of str, optional
        The factors that are compared; without it, two inputs if there are two, else the model if it varies, else the one that varies.
    """
    varying = varying_factors(attempts)
    specs = [_spec(side) for side in (a, b)]
    in_specs = [column for spec in specs if spec for column in spec if column]
    by = list(dict.fromkeys(_known(attempts, name) for name in [*(by or ()), *in_specs]))
    by = by or _default(attempts, varying)
    for name in by:
        if name in _OF_ITEMS | _OF_ATTEMPTS:
            raise OptionError(f"{name} does not describe a run, so it cannot be compared. {_choices(varying)}")
    others = [name for name in varying if name in _HELD and name not in by]
    averaged = tuple(name for name in varying if name not in (*by, *others))
    columns = [*by, *others]
    text = {name: _as_text(attempts, name) for name in columns}
    key = pl.concat_str([text[name] for name in columns], separator="\x1f")
    rows = attempts.lazy.with_columns(key.alias("#cell"), *(text[name].alias(f"#{name}") for name in columns))
    cells = rows.select("#cell", *(f"#{name}" for name in columns)).unique().sort("#cell").collect(engine="streaming")
    values = {row["#cell"]: {name: row[f"#{name}"] for name in columns} for row in cells.rows(named=True)}
    names = {cell: _label(one, by) for cell, one in values.items()}
    held = {cell: ", ".join(f"{named(n)}={one[n]}" for n in others) for cell, one in values.items()}
    pairs = _pairs(values, by, others, specs)
    if not pairs:
        raise InputError(_nothing(attempts, values, by, others))
    used = {cell for pair in pairs for cell in pair}
    notes = []
    if alone := [cell for cell in values if cell not in used and not any(specs)]:
        shown = "; ".join(f"{names[c]} ({held[c]})" if held[c] else names[c] for c in alone[:4])
        notes.append(f"Without a counterpart and not compared: {shown}{' …' if len(alone) > 4 else ''}.")
    table = rows.filter(pl.col("#cell").is_in(sorted(used))).with_columns(pl.col("#cell").alias("subject"))
    relabelled = attempts.derive(numbered(table.drop("#cell", *(f"#{n}" for n in columns))))
    return Variants(relabelled, tuple(by), names, held, values, tuple(pairs), averaged, tuple(notes))


def aligned(attempts: Attempts) -> tuple[Attempts, list[str]]:
    """The attempts with items that are the same in all cells under one name, and notes on what was done.

    Items are paired by name where their contents (``item_digest``) agree. Where ids were given after shuffling, or the name includes the
    configuration, they are paired by content. An item that changed between cells is left out.
    """
    if not attempts.has("item_digest"):
        return attempts, []
    has_domain = attempts.has("domain")
    domain = pl.col("domain") if has_domain else pl.lit("")
    rows = attempts.lazy.select("subject", domain.alias("domain"), "task", "item_digest").unique().collect()
    if rows["subject"].n_unique() < 2 or rows["item_digest"].null_count():
        return attempts, []
    base = rows.with_columns(pl.col("domain").str.replace(_SETTINGS.pattern, ""))
    is_shared = pl.col("subject").n_unique() > 1
    by_name = rows.group_by("domain", "task").agg(
        is_shared.alias("shared"), pl.col("item_digest").n_unique().alias("n")
    )
    same = by_name.filter("shared", pl.col("n") == 1).height
    changed = by_name.filter("shared", pl.col("n") > 1)
    by_content = base.group_by("domain", "item_digest").agg(is_shared.alias("shared")).filter("shared").height
    if by_content > same:
        strip = [pl.col("domain").str.replace(_SETTINGS.pattern, "")] if has_domain else []
        renamed = attempts.lazy.with_columns(pl.col("item_digest").alias("task"), *strip)
        why = f"names agree for {same:,} items, contents for {by_content:,}"
        return attempts.derive(numbered(renamed)), [f"Items are paired by content: {why}."]
    if not len(changed):
        return attempts, []
    keys = ["domain", "task"] if has_domain else ["task"]
    kept = attempts.lazy.join(changed.select(keys).lazy(), on=keys, how="anti", nulls_equal=True)
    n = len(changed)
    note = f"{n:,} item{' has' if n == 1 else 's have'} other content under the same name in another run, and {'is' if n == 1 else 'are'} excluded."
    if attempts.lazy.select(pl.len()).collect().item() and not kept.select(pl.len()).collect().item():
        raise InputError(f"No item has the same content in two runs: {n:,} share only their names.")
    return attempts.derive(kept), [note]


def only(attempts: Attempts, spec: Spec) -> Attempts:
    """The attempts with the values that a spec names, of any factor.

    Parameters
    ----------
    attempts : Attempts
        Any attempts.
    spec : str or mapping
        ``"model=x,prompt=cot"``, or a value of the model or of another factor that varies.
    """
    wanted = _spec(spec) or {}
    if bare := wanted.pop("", None):
        places = [
            name
            for name in (varying_factors(attempts) or ["subject"])
            if bare in levels_of(attempts, name, _MOST_LEVELS)
        ]
        if not places:
            raise OptionError.unknown(
                "value of a factor",
                bare,
                [one for name in varying_factors(attempts) for one in levels_of(attempts, name)],
            )
        wanted[places[0]] = bare
    rows = attempts.lazy.filter(
        pl.all_horizontal(_equals(attempts, _known(attempts, name), value) for name, value in wanted.items())
    )
    if not rows.select(pl.len()).collect(engine="streaming").item():
        raise InputError(
            f"No attempt has {_spec_text(wanted)}. {_values_of(attempts, [f'{named(name)}=' for name in wanted])}"
        )
    return attempts.derive(numbered(rows))


def with_absent(attempts: Attempts, sides: Sequence[str], factors: Sequence[str]) -> Attempts:
    """The attempts of two sides with a row for each item (or cell of an item) that only the other side has, in evals of which both have items in common.

    Parameters
    ----------
    attempts : Attempts
        The attempts of two subjects.
    sides : (str, str)
        The subjects.
    factors : sequence of str
        Columns whose values make the cells of an item.
    """
    names = attempts.lazy.collect_schema().names()
    evals = [name for name in ("domain",) if name in names]
    keys = [*evals, "task", *factors]
    kept = [
        "subject",
        "kind",
        "attempt",
        *keys,
        *(name for name in ("family", "item_digest", "minutes", "scale", "better") if name in names),
    ]
    first = (
        attempts.lazy.unique(["subject", *keys], keep="first", maintain_order=True)
        .select(kept)
        .collect(engine="streaming")
    )
    own, other = (first.filter(pl.col("subject") == side) for side in sides)
    both = own.join(other, on=[*evals, "task"], how="semi", nulls_equal=True)
    parts = []
    for there, here, side in ((own, other, sides[1]), (other, own, sides[0])):
        lacking = there.join(here, on=keys, how="anti", nulls_equal=True)
        if evals:
            lacking = lacking.join(both, on=evals, how="semi", nulls_equal=True)
        parts.append(lacking.with_columns(subject=pl.lit(side), attempt=pl.lit(1, pl.Int64)))
    added = pl.concat(parts)
    if added.is_empty() or both.is_empty():
        return attempts
    added = added.with_columns(
        outcome=pl.lit("absent"), reason=pl.lit("only the other side has it"), score=pl.lit(None, pl.Float64)
    )
    scored = pl.col("outcome").fill_null("scored") if "outcome" in names else pl.lit("scored")
    rows = attempts.lazy.with_columns(outcome=scored)
    return attempts.derive(pl.concat([rows, added.lazy()], how="diagonal"))


def named(column: str) -> str:
    """A column as users call it."""
    return _NAMES.get(column, column)


def numbered(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows with attempts numbered 1, 2, 3, … per subject and task, after some were left out."""
    return rows.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("subject", "task").alias("attempt"))


def _known(attempts: Attempts, name: str) -> str:
    """The column that a user calls `name`."""
    there = attempts.lazy.collect_schema().names()
    column = name if name in there else _ALIASES.get(name, name)
    if column not in there:
        raise OptionError.unknown("column in these attempts", name, [named(one) for one in there])
    return column


def varying_factors(attempts: Attempts) -> list[str]:
    """The factors that vary: the model, and configurations in which one model tried the same items more than one way.

    Parameters
    ----------
    attempts : Attempts
        Any attempts. Columns with more than 50 values, and columns with one value per item, are not factors.
    """
    schema = attempts.lazy.collect_schema()
    apart = _OF_ITEMS | _OF_ATTEMPTS | _ON_REQUEST | {"subject"}
    candidates = [name for name in schema.names() if name not in apart and not schema[name].is_nested()]
    candidates.sort(key=lambda name: name != INPUT)  # two inputs that were named are what is meant
    candidates = [name for name in candidates if name != "scorer"]
    counts = (
        attempts.lazy.select(pl.col("subject", *candidates).n_unique()).collect(engine="streaming").row(0, named=True)
    )
    found = ["subject"] if counts["subject"] > 1 else []
    for name in candidates:
        if not 2 <= counts[name] <= _MOST_LEVELS:
            continue
        # an answer has one value per model and item; a configuration crosses them
        per_item = attempts.lazy.group_by("subject", "task").agg(pl.col(name).n_unique().alias("n"))
        levels = attempts.lazy.group_by("subject").agg(pl.col(name).n_unique().alias("levels"))
        joined = per_item.join(levels, on="subject").filter(pl.col("levels") > 1)
        share = joined.select((pl.col("n") == pl.col("levels")).mean()).collect(engine="streaming").item()
        is_crossed = (share is not None and share >= 0.5) or _is_by_cell(attempts, name)
        if is_crossed and not any(_is_alias(attempts, name, other) for other in found):
            found.append(name)
    return [*found, *(["scorer"] if _has_several_scorers(attempts) else [])]


def _has_several_scorers(attempts: Attempts) -> bool:
    """Whether a model has scores of several scorers at one item."""
    if not attempts.has("scorer"):
        return False
    keys = [name for name in ("subject", "domain", "task") if attempts.has(name)]
    scored = attempts.lazy.filter(pl.col("score").is_not_null())
    if scored.select(pl.col("scorer").n_unique()).collect(engine="streaming").item() < 2:
        return False
    per_item = scored.group_by(keys).agg(pl.col("scorer").drop_nulls().n_unique().alias("n"))
    return bool(per_item.select((pl.col("n") > 1).any()).collect(engine="streaming").item())


def averaged_factors(attempts: Attempts, by: Sequence[str] = ("subject",)) -> list[str]:
    """The factors that vary and are averaged over: each combination of their values counts once.

    Parameters
    ----------
    attempts : Attempts
        Any attempts.
    by : sequence of str
        The factors that are compared.
    """
    return [name for name in varying_factors(attempts) if name not in (*by, *_HELD)]


def by_scorer(attempts: Attempts) -> list[tuple[str, Attempts]]:
    """The attempts apart by scorer, where the same attempts have scores of several; each with the scorer as text, else with no text.

    Parameters
    ----------
    attempts : Attempts
        Any attempts.
    """
    if "scorer" not in varying_factors(attempts):
        return [("", attempts)]
    return [
        (f"scorer={level}", attempts.derive(numbered(attempts.lazy.filter(_as_text(attempts, "scorer") == level))))
        for level in levels_of(attempts, "scorer", _MOST_LEVELS)
    ]


def one_scorer(attempts: Attempts) -> None:
    """Refuse attempts that several scorers scored, where only one score of an attempt can count.

    Parameters
    ----------
    attempts : Attempts
        Any attempts.
    """
    if "scorer" in varying_factors(attempts):
        levels = levels_of(attempts, "scorer")
        raise OptionError(
            f"The same attempts have scores of several scorers ({', '.join(levels)}), which are never averaged. Choose one: only scorer={levels[0]}."
        )


def _is_alias(attempts: Attempts, name: str, other: str) -> bool:
    """Whether two columns have the same meaning: each value of one goes with one value of the other."""
    both = pl.struct(name, other).n_unique()
    counts = attempts.lazy.select(
        pl.col(name).n_unique().alias("a"), pl.col(other).n_unique().alias("b"), both.alias("n")
    )
    return len(set(counts.collect(engine="streaming").row(0))) == 1


def _is_by_cell(attempts: Attempts, name: str) -> bool:
    """Whether items carry the configuration in their name, so that a model meets each under one value only."""
    if not attempts.has("item_digest"):
        return False
    per_item = attempts.lazy.group_by("subject", "item_digest").agg(pl.col(name).n_unique().alias("n"))
    levels = attempts.lazy.group_by("subject").agg(pl.col(name).n_unique().alias("levels"))
    joined = per_item.join(levels, on="subject").filter(pl.col("levels") > 1)
    share = joined.select((pl.col("n") == pl.col("levels")).mean()).collect(engine="streaming").item()
    return share is not None and share >= 0.5


def _default(attempts: Attempts, varying: Sequence[str]) -> list[str]:
    if not varying:
        raise InputError(
            "There is only one subject to compare, and no column in which its attempts differ. Add the attempts of another, or name two folders."
        )
    for first in (INPUT, "subject"):
        if first in varying:
            return [first]
    if len(varying) > 1:
        told = ", ".join(f"{named(n)} ({', '.join(levels_of(attempts, n))})" for n in varying)
        names = [named(n) for n in varying]
        raise OptionError(
            f"Several factors vary: {told}. Choose what to compare: by {names[0]}, by {names[1]}, or by {','.join(names[:2])} (crossed)."
        )
    return list(varying)


def _spec(side: Spec | None) -> dict[str, str] | None:
    """Column → value; the column is "" where only a value was given."""
    if side is None:
        return None
    if not isinstance(side, str | Mapping):
        raise OptionError(
            f"a and b are a text such as 'gpt-5' or a dict of columns; this is of type {type(side).__name__}."
        )
    if not isinstance(side, str):
        return {_ALIASES.get(str(k), str(k)): str(v) for k, v in side.items()}
    if "=" not in side:
        return {"": side}
    parts = [part.partition("=") for part in re.split(r",(?=[^,=]+=)", side)]
    return {_ALIASES.get(name.strip(), name.strip()): value.strip() for name, _, value in parts}


def _pairs(
    values: Mapping[str, Mapping[str, str]],
    by: Sequence[str],
    others: Sequence[str],
    specs: Sequence[Mapping[str, str] | None],
) -> list[tuple[str, str]]:
    """Cells that agree in all other factors; without sides, and with several factors, those that differ in one factor only."""
    first, second = (_matching(values, by, spec) for spec in specs)
    found = []
    for a, b in itertools.permutations(values, 2):
        if any(values[a][name] != values[b][name] for name in others) or a not in first or b not in second:
            continue
        n_differ = sum(values[a][name] != values[b][name] for name in by)
        is_simple = any(specs) or n_differ == 1
        if is_simple and (b, a) not in found:
            found.append((a, b))
    if all(specs) and not found and specs[0] == specs[1]:
        raise OptionError(f"a and b are both {_spec_text(specs[0])!r}. Name two that differ.")
    return found


def _matching(values: Mapping[str, Mapping[str, str]], by: Sequence[str], spec: Mapping[str, str] | None) -> set[str]:
    if spec is None:
        return set(values)
    wanted = {name or by[0]: value for name, value in spec.items()}
    for name, value in wanted.items():
        levels = sorted({one[name] for one in values.values()})
        if value not in levels:
            what = named(name) if name != "subject" else "subject"
            raise OptionError.unknown(what, value, levels)
    return {cell for cell, one in values.items() if all(one[name] == value for name, value in wanted.items())}


def _spec_text(spec: Mapping[str, str] | None) -> str:
    return ",".join(f"{name}={value}" if name else value for name, value in (spec or {}).items())


def _nothing(
    attempts: Attempts, values: Mapping[str, Mapping[str, str]], by: Sequence[str], others: Sequence[str]
) -> str:
    what = " and ".join(named(n) for n in by)
    if len({_label(one, by) for one in values.values()}) < 2:
        if list(by) == ["subject"]:
            return "There is only one subject to compare. Add the attempts of another."
        return (
            f"All attempts have the same {what}, so there is nothing to compare. {_choices(varying_factors(attempts))}"
        )
    told = ", ".join(named(n) for n in others)
    return f"No two values of {what} agree in {told}, so nothing can be compared. Compare by it as well."


def _choices(varying: Sequence[str]) -> str:
    return f"These factors vary: {', '.join(named(n) for n in varying)}." if varying else ""


def _label(values: Mapping[str, str], by: Sequence[str]) -> str:
    if len(by) == 1:
        return values[by[0]]
    return ", ".join(f"{named(name)}={values[name]}" for name in by)


def _as_text(attempts: Attempts, name: str) -> pl.Expr:
    """A column as text, whole numbers without a point."""
    column = pl.col(name)
    dtype = attempts.lazy.collect_schema()[name]
    if dtype.is_float():
        column = (
            pl.when(column == column.round())
            .then(column.cast(pl.Int64, strict=False).cast(pl.String))
            .otherwise(column.cast(pl.String))
        )
    return column.cast(pl.String).fill_null(_NONE)


def levels_of(attempts: Attempts, name: str, most: int = 4) -> list[str]:
    """The values of a column as text, the first `most` of them and how many there are."""
    levels = attempts.lazy.select(_as_text(attempts, name).unique().sort().alias("x")).collect()["x"].to_list()
    return [*levels[:most], f"… {len(levels)} in all"] if len(levels) > most else levels


def _condition(attempts: Attempts, text: str) -> pl.Expr:
    found = _COMPARISON.fullmatch(text)
    if not found:
        raise OptionError(f"{text}: write a condition as column=value, or with !=, <, <=, > or >=.")
    name, sign, value = found.groups()
    column = _known(attempts, name)
    if sign in ("=", "!="):
        is_equal = _equals(attempts, column, value)
        return is_equal if sign == "=" else ~is_equal
    dtype = attempts.lazy.collect_schema()[column]
    if dtype.is_numeric():
        try:
            bound: Any = float(value)
        except ValueError:
            raise OptionError(f"{text}: {name} is a number, and {value!r} is none.") from None
        left = pl.col(column)
    else:  # text and dates (2025-01-31) compare as they are written
        bound, left = value, pl.col(column).cast(pl.String)
    signs: dict[str, pl.Expr] = {"<": left < bound, "<=": left <= bound, ">": left > bound, ">=": left >= bound}
    return signs[sign]


def _is_one_of(attempts: Attempts, text: str) -> pl.Expr:
    name, equals, values = text.partition("=")
    if not equals or not values:
        raise OptionError(f"{text}: write it as column=value,value.")
    column = _known(attempts, name.strip())
    whole = _as_text(attempts, column) == values.strip()
    return whole | pl.any_horizontal([_equals(attempts, column, value.strip()) for value in values.split(",")])


def _equals(attempts: Attempts, column: str, value: str) -> pl.Expr:
    if attempts.lazy.collect_schema()[column].is_numeric():
        try:
            return pl.col(column) == float(value)
        except ValueError:
            return pl.lit(False)
    return _as_text(attempts, column) == value


def _values_of(attempts: Attempts, texts: Sequence[str]) -> str:
    """What the columns named in conditions do contain."""
    names = dict.fromkeys(re.split(r"[=<>!]", text)[0].strip() for text in texts)
    columns = {name: _known(attempts, name) for name in names}
    return " ".join(
        f"Values of {name}: {', '.join(levels_of(attempts, column, 8))}." for name, column in columns.items()
    )


# How several attempts at one item become one score: pass@k, pass^k, majority@k, best@k.


REDUCTIONS = ("mean", "pass@K", "pass^K", "majority@K", "best@K")


def reduce_attempts(attempts: Attempts, how: str = "mean") -> Attempts:
    """One attempt per model and item, whose score is an unbiased estimate from all its attempts.

    ``pass@K`` is the probability that at least one of K attempts succeeds, ``pass^K`` that all do, ``majority@K`` that more than half do (a
    tie counts ½), ``best@K`` the expected highest score of K attempts. Each is the mean over all choices of K of the item's n attempts, so it
    is unbiased for every n ≥ K; means, differences and intervals over items are then computed as for any score. Where attempts have no score, each
    policy first decides what they count as: the reduction follows in the analysis.

    Parameters
    ----------
    attempts : Attempts
        With at least K attempts at an item; items with fewer are left out and counted in a note.
    how : str
        ``mean`` leaves the attempts as they are; otherwise as above, such as ``pass@5``.

    Examples
    --------
    >>> import howsure
    >>> from howsure.evals.variants import reduce_attempts
    >>> howsure.summary(reduce_attempts(howsure.read("examples/evals/attempts.csv"), "pass@2"))  # doctest: +SKIP
    """
    if how == "mean":
        return attempts
    found = re.fullmatch(r"(pass|majority|best)([@^])(\d+)", how)
    if not found or (found[2] == "^" and found[1] != "pass") or int(found[3]) < 1:
        raise OptionError.unknown("way to reduce attempts", how, REDUCTIONS)
    if attempts.missing:
        made = attempts.derive(attempts.lazy)
        made.reduction = how
        return made
    kind, k = found[1] + found[2], int(found[3])
    is_counted = kind != "best@"
    if is_counted:
        binary = pl.col("score").is_in([0.0, 1.0])
        if attempts.has("n"):
            binary = binary | pl.col("n_success").is_not_null()
        if not attempts.lazy.select(binary.all()).collect(engine="streaming").item():
            raise InputError(
                f"{how} needs attempts that are right (1) or wrong (0). For graded scores choose best@{k}."
            )
    elif attempts.has("n"):
        raise InputError(f"{how} needs one row per attempt, not counts. For right-or-wrong attempts choose pass@{k}.")
    sums = attempts.sums()
    keys = ["subject", "task", *(["domain"] if attempts.has("domain") else [])]
    used = {"attempt", "score", "n", "n_success", *keys}
    rest = [name for name in attempts.lazy.collect_schema().names() if name not in used]
    config = [name for name in attempts.config if name in rest]
    used_up = [name for name in ("cost", "tokens", "seconds") if name in rest]  # one score stands for k attempts
    scores = [] if is_counted else [pl.col("score").sort().alias("#scores")]
    groups = attempts.lazy.group_by(*keys, *config).agg(
        sums["n"].alias("#n"), sums["total"].alias("#total"), *scores,
        *(pl.col(n).mean() * k if n in used_up else pl.col(n).first() for n in rest if n not in config),
    )  # fmt: skip
    frame = groups.sort(*keys, *config).collect(engine="streaming")
    enough = frame.filter(pl.col("#n") >= k)
    if enough.is_empty():
        most = int(frame["#n"].max() or 0)  # type: ignore[arg-type]
        raise InputError(f"{how} needs at least {k} attempts at an item; the most is {most}.")
    n, total = enough["#n"].to_numpy().astype(float), enough["#total"].to_numpy()
    if is_counted:
        value = {"pass@": pass_any, "pass^": pass_all, "majority@": majority_of}[kind](n, np.round(total), k)
    else:
        value = np.array([best_of(np.asarray(scores), k) for scores in enough["#scores"].to_list()])
    few = len(frame) - len(enough)
    amounts = f"; {', '.join(used_up)}: of {k} attempts" if used_up and k > 1 else ""
    notes = [f"Scores are {how} per item, from {int(n.min())}–{int(n.max())} attempts each{amounts}."]
    notes += (
        [f"{few:,} of {len(frame):,} pairs of model and item have fewer than {k} attempts and are excluded."]
        if few
        else []
    )
    kept = enough.drop("#n", "#total", *(["#scores"] if scores else [])).with_columns(
        score=pl.Series(np.clip(value, 0, 1) if not attempts.is_free else value)
    )
    return attempts.derive(numbered(kept.lazy()), *notes)


def completed(attempts: Attempts, policy: Policy) -> Attempts:
    """The attempts as a policy counts them, and then reduced; an attempt that does not count has no score.

    Parameters
    ----------
    attempts : Attempts
        Any attempts.
    policy : Policy
        What those without a score count as.
    """
    if attempts.reduction == "mean":
        return attempts.under(policy, keeps_dropped=True)
    made = reduce_attempts(attempts.under(policy), attempts.reduction)
    keys = ["subject", "task", *(name for name in ("domain",) if attempts.has(name)), *attempts.config]
    too_few = attempts.lazy.unique(keys, keep="first").join(made.lazy, on=keys, how="anti", nulls_equal=True)
    too_few = too_few.with_columns(pl.lit(None, pl.Float64).alias("score")).select(
        name for name in attempts.lazy.collect_schema().names() if name not in ("n", "n_success")
    )
    return made.derive(pl.concat([made.lazy, too_few], how="diagonal_relaxed"))


def pass_any(n: Floats, successes: Floats, k: int) -> Floats:
    """Probability that at least one of k attempts succeeds: 1 − C(n−c, k)/C(n, k)."""
    return 1 - _share_of_choices(n - successes, n, k)


def pass_all(n: Floats, successes: Floats, k: int) -> Floats:
    """Probability that all of k attempts succeed: C(c, k)/C(n, k)."""
    return _share_of_choices(successes, n, k)


def majority_of(n: Floats, successes: Floats, k: int) -> Floats:
    """Probability that more than half of k attempts succeed, plus half the probability of a tie: hypergeometric."""
    from scipy.stats import hypergeom

    more = hypergeom.sf(k // 2, n, successes, k)
    return np.asarray(more if k % 2 else more + hypergeom.pmf(k // 2, n, successes, k) / 2)


def best_of(scores: Floats, k: int) -> float:
    """Expected highest of k of these scores, drawn without replacement: Σ x₍ᵢ₎ C(i−1, k−1)/C(n, k)."""
    n = len(scores)
    order = np.arange(1, n + 1, dtype=float)
    weights = np.where(
        order >= k, np.exp(_log_choices(np.maximum(order - 1, k - 1), k - 1) - _log_choices(np.array(float(n)), k)), 0.0
    )
    return float(np.sort(scores) @ weights)


def _share_of_choices(part: Floats, whole: Floats, k: int) -> Floats:
    """C(part, k)/C(whole, k)."""
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    ratio = np.exp(_log_choices(np.maximum(part, k), k) - _log_choices(whole, k))
    return np.where(part >= k, ratio, 0.0)


def _log_choices(n: Floats, k: int) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
