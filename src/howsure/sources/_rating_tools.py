"""What the sources of rating tools share: rows of rater, item, dimension and value become one checked table of ratings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.safe_io import read_bytes, write_atomic
from howsure.sources import Progress
from howsure.sources._reading import leave_out, read_each, saw
from howsure.sources._records import number, text
from howsure.tables import Ratings
from howsure.tables.frames import parts_of

__all__ = ["Given", "by_rater_and_item", "chosen", "json_lines", "reader", "table_rows", "write_lines"]


@dataclass
class Given:
    """The ratings of one file."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, rater: Any, item: Any, dimension: Any, value: Any, **more: Any) -> None:
        """One rating; without a rater, an item or a value it is left out and counted."""
        named = text(rater), text(item)
        if value is None or value in ("", []):
            self.left_out["no value"] += 1
        elif None in named:
            self.left_out["no rater or no item"] += 1
        else:
            row = {"rater": named[0], "item": named[1], "dimension": text(dimension) or "rating", "value": value}
            self.rows.append(row | {name: one for name, one in more.items() if one is not None})


def chosen(values: Any) -> Any:
    """One category of what may be a list: several are joined in alphabetical order."""
    if isinstance(values, list | tuple):
        return " + ".join(sorted(str(one) for one in values)) if values else None
    return values


def _number(value: Any) -> float | None:
    """A number, also as text: tables and forms have all values as texts."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return None if isinstance(value, bool) else number(value)


def as_ratings(
    paths: Sequence[Path],
    load: Callable[[Path], Given],
    *,
    progress: Progress | None = None,
    strict: bool = False,
    metric: str | None = None,
) -> Ratings:
    """One table of all files. Where some dimensions are numbers and others text, the kind with more ratings is read; `metric` chooses one dimension."""
    found, notes = read_each(paths, load, strict=strict, progress=progress)
    left: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    for one in found:
        left += one.left_out
        rows += one.rows
    saw(len(rows) + left.total())
    if metric is not None:
        names = sorted({row["dimension"] for row in rows})
        if metric not in names:
            raise OptionError.unknown("dimension in these ratings", metric, names)
        left[f"another dimension than {metric}"] += sum(row["dimension"] != metric for row in rows)
        rows = [row for row in rows if row["dimension"] == metric]
    kinds: dict[str, bool] = {}
    for row in rows:
        is_number = _number(row["value"]) is not None
        kinds[row["dimension"]] = kinds.get(row["dimension"], True) and is_number
    counts = Counter(kinds[row["dimension"]] for row in rows)
    is_number = counts[True] >= counts[False]
    if len(counts) > 1:
        other = sorted({name for name, kind in kinds.items() if kind != is_number})
        what = "text" if is_number else "numbers"
        reason = f"{what}, where {'numbers' if is_number else 'text'} are read (--dimension {other[0]} reads them)"
        left[reason] += counts[not is_number]
        notes.append(
            f"{counts[not is_number]:,} ratings of {', '.join(other)} are {what} and were not read; --dimension NAME (in Python, metric) reads one dimension."
        )
        rows = [row for row in rows if kinds[row["dimension"]] == is_number]
    kept: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["rater"], row["item"], row["dimension"]
        if key in kept:
            left["rated again by the same rater (the last rating counts)"] += 1
        kept[key] = row | {"value": _number(row["value"]) if is_number else str(row["value"])}
    for reason, n in left.items():
        leave_out(reason, n)
    if not kept:
        raise InputError(
            f"{paths[0]}: no rating can be used. {'; '.join(f'{n:,} {why}' for why, n in left.items())}".rstrip()
        )
    notes += [
        f"{n:,} ratings excluded: {why}." for why, n in left.items() if not why.startswith(("text, ", "numbers, "))
    ]
    return Ratings(pl.DataFrame(list(kept.values()), infer_schema_length=None), notes=notes)


def reader(load: Callable[[Path], Given]) -> Callable[..., Ratings]:
    """The function `read` of a rating tool whose files `load` understands."""

    def read(
        paths: Sequence[Path],
        *,
        divide_by: float = 1,
        progress: Progress | None = None,
        strict: bool = False,
        metric: str | None = None,
    ) -> Ratings:
        """One row per rater, item and question; `metric` narrows them to one question."""
        return as_ratings(paths, load, progress=progress, strict=strict, metric=metric)

    return read


def table_rows(path: Path) -> Iterable[dict[str, Any]]:
    """The rows of a csv or tsv file, all values as texts."""
    (part,) = parts_of(path)
    return part.collect(part.rows).cast(pl.String).iter_rows(named=True)


def json_lines(path: Path) -> Iterable[dict[str, Any]]:
    """The objects of a file with one per line, or of a list."""
    from howsure.sources._records import load_json

    if path.suffix == ".json":
        held = load_json(path)
        return [one for one in (held if isinstance(held, list) else [held]) if isinstance(one, dict)]
    try:
        lines = read_bytes(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text. Save it as UTF-8.") from None
    found = []
    for number_of_line, line in enumerate(lines, 1):
        if line.strip():
            try:
                held = json.loads(line, parse_constant=lambda word: None)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{path} line {number_of_line}: not JSON ({error}).") from None
            if isinstance(held, dict):
                found.append(held)
    return found


def by_rater_and_item(table: Ratings) -> dict[str, dict[str, dict[str, Any]]]:
    """Item → rater → dimension → value, for writing."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for rater, item, dimension, value in table.frame.select("rater", "item", "dimension", "value").iter_rows():
        found.setdefault(item, {}).setdefault(rater, {})[dimension] = value
    return found


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]], *, is_list: bool = False) -> Path:
    """Objects as JSON, one per line or as a list; readers see the old file or the whole new one."""
    listed = list(rows)
    content = json.dumps(listed, ensure_ascii=False, indent=1) if is_list else "\n".join(json.dumps(row, ensure_ascii=False) for row in listed)  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, (content + "\n").encode())
    return path
