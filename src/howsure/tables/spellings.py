"""Spellings of one name: which names of models and benchmarks may be the same, why, and the file that says which are.

Nothing is merged because it looks alike: `propose` gives reasons, a person decides, and `NameFile` holds the decision.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import polars as pl

from howsure.errors import InputError
from howsure.safe_io import write_atomic
from howsure.tables import Attempts, Scores, Table, Votes
from howsure.yaml_files import read_yaml

__all__ = [
    "Merge",
    "NameFile",
    "alike_note",
    "fold_name",
    "load_names",
    "merge_models",
    "names_in",
    "near_names",
    "propose",
    "rename_all",
    "told_apart",
]

_DATE = re.compile(r"[-_@ ]?((?:19|20)\d{2})[-_.]?(\d{2})[-_.]?(\d{2})$|[-_@](\d{4})$|[-_ ]?(latest)$", re.IGNORECASE)
_BETWEEN_NUMBERS = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_NEITHER_WORD_NOR_NUMBER = re.compile(r"[^\w.]|_|(?<!\d)\.|\.(?!\d)")
_COLUMNS: dict[type[Table], dict[str, tuple[str, ...]]] = {
    Attempts: {"models": ("subject",), "benchmarks": ("domain",)},
    Scores: {"models": ("model",), "benchmarks": ("benchmark",)},
    Votes: {"models": ("a", "b"), "benchmarks": ()},
}
_SHOWN = 3  # pairs that a note names
_Kind = TypeVar("_Kind", bound=Table)


@dataclass(frozen=True)
class Merge:
    """Two names that may be one: `name` would become `into`."""

    kind: str
    name: str
    into: str
    reason: str
    rows: int


@dataclass(frozen=True)
class NameFile:
    """Which names are spellings of which: for models and benchmarks, the name to use → its other spellings."""

    models: dict[str, list[str]] = field(default_factory=dict)
    benchmarks: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, merges: Sequence[Merge]) -> NameFile:
        """All proposals, as if they were accepted."""
        found: dict[str, defaultdict[str, list[str]]] = {"models": defaultdict(list), "benchmarks": defaultdict(list)}
        for merge in merges:
            found[merge.kind][merge.into].append(merge.name)
        return cls(dict(found["models"]), dict(found["benchmarks"]))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write YAML that `load_names` reads. Delete the lines that are wrong."""
        import yaml

        kept = {"models": self.models, "benchmarks": self.benchmarks}
        return write_atomic(path, yaml.safe_dump(kept, sort_keys=False, allow_unicode=True))


def fold_name(name: str) -> str:
    """A name without case, spaces and punctuation, to find spellings of the same one.

    Numbers stay apart, however they are separated.

    >>> fold_name("GPT-4o"), fold_name("gpt 4o")
    ('gpt4o', 'gpt4o')
    >>> fold_name("opt-1.3b"), fold_name("opt_1-3B"), fold_name("opt-13b")
    ('opt1.3b', 'opt1.3b', 'opt13b')
    """
    return _NEITHER_WORD_NOR_NUMBER.sub("", _BETWEEN_NUMBERS.sub(".", name.casefold()))


def near_names(name: str, known: Sequence[str], n: int = 3) -> list[str]:
    """The known names that look most like `name`, the nearest first.

    Parameters
    ----------
    name : str
        A name that is not known.
    known : sequence of str
        The names to choose from.
    n : int, default 3
        How many at most.
    """
    folded = {fold_name(one): one for one in known}
    near = difflib.get_close_matches(fold_name(name), list(folded), n=n, cutoff=0.6)
    return [folded[one] for one in near]


def names_in(tables: Sequence[Table]) -> dict[str, dict[str, int]]:
    """For models and for benchmarks, every name with the number of its rows."""
    found: dict[str, dict[str, int]] = {"models": {}, "benchmarks": {}}
    for table in tables:
        for kind, columns in _COLUMNS.get(type(table), {}).items():
            for column in (one for one in columns if table.has(one)):
                counts = table.lazy.group_by(column).len().drop_nulls().sort(column).collect(engine="streaming")
                for name, n in counts.rows():
                    found[kind][name] = found[kind].get(name, 0) + n
    return found


def propose(names: Mapping[str, Mapping[str, int]]) -> list[Merge]:
    """Names that may be the same, each with the reason; the name with the most rows is kept.

    Case and punctuation, the provider before a slash, and a date at the end do not count. Two versions with different dates are
    different models; a name without a date is proposed only where one dated version is there.

    Parameters
    ----------
    names : mapping
        As `names_in` gives them.
    """
    merges = []
    for kind, counts in names.items():
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for name in counts:
            groups[_core(name, kind)].append(name)
        for group in groups.values():
            dates = {_date(name) for name in group} - {""} if kind == "models" else set()
            parts = [[n for n in group if _date(n) == date] for date in sorted(dates)] if len(dates) > 1 else [group]
            if len(dates) > 1:
                parts.append([name for name in group if not _date(name)])
            for part in (one for one in parts if len(one) > 1):
                into = max(part, key=lambda name: (counts[name], -len(name), name))
                merges += [
                    Merge(kind, name, into, _reason(name, into, kind), counts[name]) for name in part if name != into
                ]
    return merges


def alike_note(table: Table) -> list[str]:
    """A note on names in attempts or votes that may be one, each with the reason; they count as different ones.

    Parameters
    ----------
    table : Table
        Others than attempts and votes have no note: published scores hold many versions of a model, and `stitch` tells of them.
    """
    return told_apart(names_in([table])) if isinstance(table, Attempts | Votes) else []


def told_apart(names: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A note on names that may be one, each with the reason, or none.

    Parameters
    ----------
    names : mapping
        As `names_in` gives them.
    """
    merges = propose(names)
    if not merges:
        return []
    told = ", ".join(f"{one.name} and {one.into} ({one.reason})" for one in merges[:_SHOWN])
    rest = f", and {len(merges) - _SHOWN:,} more" if len(merges) > _SHOWN else ""
    return [f"Counted apart, but may be the same: {told}{rest}. `howsure names` lists them, --names FILE merges them."]


def load_names(path: str | os.PathLike[str]) -> NameFile:
    """Read a file of names, as `NameFile.save` writes it or as a person does.

    Parameters
    ----------
    path : str or path
        YAML with ``models:`` and ``benchmarks:``; under them ``name to use: [other spelling, …]``.
    """
    held = read_yaml(Path(path)).value or {}
    if not isinstance(held, dict) or set(held) - {"models", "benchmarks"}:
        raise InputError(
            f"{path}: a file of names has models: and benchmarks:, with lines such as gpt-4o: [GPT-4o] below."
        )
    for kind, names in held.items():
        seen: dict[str, str] = {}
        if not isinstance(names or {}, dict):
            raise InputError(f"{path}: {kind}: write lines such as gpt-4o: [GPT-4o, openai/gpt-4o] below it.")
        for into, others in (names or {}).items():
            if not isinstance(into, str) or not isinstance(others, list) or not all(isinstance(o, str) for o in others):
                raise InputError(f"{path}: {kind}: {into}: give a list of texts, such as [GPT-4o, openai/gpt-4o].")
            for other in others:
                if seen.setdefault(other, into) != into:
                    raise InputError(
                        f"{path}: {kind}: {other!r} is a spelling of {seen[other]!r} and of {into!r}. Keep one."
                    )
    return NameFile(held.get("models") or {}, held.get("benchmarks") or {})


def merge_models(frame: pl.DataFrame, names: str | os.PathLike[str], where: str) -> pl.DataFrame:
    """A frame with one row per model, its column ``model`` as the file of names says.

    Parameters
    ----------
    frame : polars.DataFrame
        Has the column model.
    names : str or path
        A file for `load_names`.
    where : str
        What the rows are, for the error if the file makes one model of two of them.
    """
    moves = {other: into for into, others in load_names(names).models.items() for other in others}
    renamed = frame.with_columns(pl.col("model").replace(moves))
    twice = renamed.filter(pl.col("model").is_duplicated() & ~frame["model"].is_duplicated())["model"]
    if len(twice):
        raise InputError(
            f"The file of names makes one model, {twice[0]}, of two that have a value in {where}. Keep them apart."
        )
    return renamed


def rename_all(table: _Kind, names: NameFile) -> _Kind:
    """The table with the names of the file; a note says which were merged.

    Parameters
    ----------
    table : Table
        Attempts, scores or votes; others come back as they are.
    names : NameFile
        What `load_names` returned.
    """
    columns = _COLUMNS.get(type(table), {})
    there = names_in([table])
    moves = {
        kind: {other: into for into, others in getattr(names, kind).items() for other in others if other in there[kind]}
        for kind in columns
    }
    if not any(moves.values()):
        return table
    rows = table.lazy.with_columns(
        pl.col(column).replace(moves[kind]) for kind, some in columns.items() for column in some if table.has(column)
    )
    if isinstance(table, Attempts) and moves["models"]:
        rows = rows.drop("attempt")  # one subject's attempts are numbered together
    told = [f"{name} → {into}" for kind in moves.values() for name, into in kind.items()]
    more = f" and {len(told) - 8:,} more" if len(told) > 8 else ""
    note = f"{len(told):,} name{'s' if len(told) > 1 else ''} merged as the file of names says: {', '.join(told[:8])}{more}."
    alike = alike_note(table)  # told of the names as they were
    renamed = table.derive(rows)
    renamed.notes = tuple(one for one in table.notes if one not in alike)
    made = type(table)(renamed, notes=[note])
    made.notes = (*made.notes, *alike_note(made))
    return made


def _core(name: str, kind: str) -> str:
    if kind != "models":
        return fold_name(name)
    return fold_name(_DATE.sub("", name.rpartition("/")[2].strip()))


def _date(name: str) -> str:
    found = _DATE.search(name.strip())
    return "".join(part for part in found.groups() if part).lower().replace("latest", "") if found else ""


def _reason(name: str, into: str, kind: str) -> str:
    reasons = []
    if kind == "models":
        if name.rpartition("/")[0] != into.rpartition("/")[0]:
            reasons.append("provider before the slash")
        if _date(name) != _date(into):
            reasons.append("date at the end")
        one, other = (_DATE.sub("", text.rpartition("/")[2].strip()) for text in (name, into))
    else:
        one, other = name, into
    if one != other:
        reasons.append("case" if one.casefold() == other.casefold() else "case, spaces or punctuation")
    return ", ".join(reasons) or "the same spelling"
