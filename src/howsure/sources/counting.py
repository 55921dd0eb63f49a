"""Attempts reduced to counts, one input after another: here, or on a Dask cluster whose workers see the same files.

Counts are whole numbers, which add up to the same in any order and on any machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from howsure import compute, sources
from howsure.errors import InputError, OptionError
from howsure.sources import _remote, is_address
from howsure.sources._reading import unread
from howsure.tables import Attempts
from howsure.tables.frames import Part, expand

__all__ = ["count_attempts"]

_KEYS = ("subject", "kind", "task", "family", "domain", "minutes", "item_digest", "scale", "better", "outcome")
_SUMS = ("n", "n_success", "#rows", "#sum")
_NUMBERS = ("#rows", "#sum", "#first", "#last")
_MERGE_AT = 2_000_000  # rows of counts that wait to be merged


def count_attempts(
    paths: Any,
    *,
    source_name: str | None = None,
    divide_by: float = 1,
    scheduler: str | None = None,
    progress: sources.Progress | None = None,
    strict: bool = False,
    **options: Any,
) -> Attempts:
    """Attempts as counts: one row per subject, task, outcome and configuration, with ``n`` attempts of which ``n_success`` succeeded.

    Attempts without a score are counted by what became of them, and have no ``n_success``.

    Each file is read, checked and counted by itself, so that memory grows with the number of subjects and tasks and not with the number
    of attempts. Every function that takes attempts takes the counts.

    Parameters
    ----------
    paths : str, path, or several of them
        Files, folders, globs or addresses of attempts whose scores are 0 or 1; a partitioned data set has a file per partition.
    source_name : str, optional
        As in `read`.
    divide_by : float, default 1
        As in `read`.
    scheduler : str, optional
        Address of a Dask scheduler, as in ``tcp://host:8786``, whose workers count the files; they must see them under the same paths.
        Without it, they are counted here. The counts are the same.
    progress : callable, optional
        Called with the number of files that are counted and the number of all.
    strict : bool, default False
        Stop at a file that cannot be read, instead of naming it.
    **options
        As in `read`.

    Returns
    -------
    Attempts
        Times, tokens, cost, errors and dates of single attempts are not in it; further columns, such as a prompt, are.

    Raises
    ------
    InputError
        If a score is neither 0 nor 1, or two attempts of a subject at a task have the same number.
    """
    listed = list(paths) if isinstance(paths, list | tuple) else [paths]
    found = list(dict.fromkeys(one for pattern in listed for one in _partitions(pattern, source_name)))
    if not found:
        raise OptionError("No input was given.")
    given = {name: value for name, value in options.items() if value} | {"wanted": "attempts"}
    work = partial(_counted, found, source_name, divide_by, given, is_strict=strict or len(found) == 1)
    merged, waiting, facts = pl.DataFrame(), list[pl.DataFrame](), dict[int, _Counted]()
    for done, (index, one) in enumerate(compute.each(work, len(found), scheduler=scheduler), 1):
        facts[index] = one
        waiting += [] if one.counts is None else [one.counts]
        one.counts = None
        if sum(map(len, waiting)) > _MERGE_AT:
            merged, waiting = _merged([merged, *waiting]), []
        if progress:
            progress(done, len(found))
    merged = _merged([merged, *waiting])
    in_order = [facts[index] for index in range(len(found))]
    faults = [(place, one.fault) for place, one in zip(found, in_order, strict=True) if one.fault]
    if len(faults) == len(found):
        raise InputError(f"{faults[0][1]}" + (f" ({len(faults):,} files cannot be read.)" if len(faults) > 1 else ""))
    _refuse_misnumbered(merged)
    made = Attempts(merged.drop(_NUMBERS).sort(pl.all()))
    left_out = sum((one.left_out for one in in_order), Counter[str]())
    n_rows = sum(one.n_rows for one in in_order)
    told = "".join(f", {n:,} excluded ({reason})" for reason, n in sorted(left_out.items()))
    n_files = len(found) - len(faults)
    note = (
        f"{n_rows:,} rows of {n_files:,} file{'s' * (n_files != 1)}: {int(merged['n'].sum()):,} attempts counted{told}."
    )
    notes = dict.fromkeys(text for one in in_order for text in one.notes)
    missed = unread([f"{Path(place).name} ({fault.removeprefix(f'{place}: ')})" for place, fault in faults], "damaged")
    made.notes = (note, *notes, *missed, *made.notes)
    return made


@dataclass
class _Counted:
    """The counts of one file, and what became of its rows; or why it cannot be read."""

    counts: pl.DataFrame | None
    n_rows: int = 0
    left_out: Counter[str] | Any = None
    notes: tuple[str, ...] = ()
    fault: str = ""


class _Unnumbered(Attempts):
    """Attempts of one file: all files together have attempts 1, 2, …"""

    def _complete(self, parts: Sequence[Part]) -> list[str]:
        if self.has("valid"):
            self.lazy = self.lazy.filter((pl.col("valid") != "no").fill_null(value=True))
        self._settle_outcomes(parts, needs_score=False)
        return []


def _partitions(pattern: str | Path, source_name: str | None) -> Iterator[str]:
    if is_address(pattern):
        yield from _remote.listed(str(pattern))
        return
    for path in expand(pattern):
        if path.is_dir() and not source_name:
            yield from (str(one.absolute()) for one in sources.files_of(path))
        else:
            yield str(path.absolute())


def _counted(
    places: Sequence[str],
    source_name: str | None,
    divide_by: float,
    given: dict[str, Any],
    index: int,
    *,
    is_strict: bool,
) -> _Counted:
    """The counts of file number `index`."""
    try:
        return _counts_of(places[index], source_name, divide_by, given)
    except InputError as error:
        if is_strict:
            raise
        return _Counted(None, left_out=Counter(), fault=str(error))


def _counts_of(place: str, source_name: str | None, divide_by: float, given: dict[str, Any]) -> _Counted:
    table, made = sources.read_part(place, _Unnumbered, source_name=source_name, divide_by=divide_by, given=given)
    if not isinstance(table, Attempts):
        raise InputError(f"{place}: is a table of {type(table).__name__.lower()}; only attempts are counted.")
    schema = table.lazy.collect_schema()
    config = [name for name in table.config if name != "log" and not schema[name].is_nested()]
    keys = [*(name for name in _KEYS if name in schema), *config]
    is_count = pl.col("n_success").is_not_null() if "n_success" in schema else pl.lit(value=False)
    score, sums = pl.col("score"), table.sums()
    number = pl.col("attempt") if "attempt" in schema else pl.lit(None, pl.Int64)
    rows = table.lazy
    if "outcome" in schema:  # files in which all attempts have a score have no outcomes
        rows = rows.with_columns(pl.when(pl.col("outcome") != "scored").then("outcome").alias("outcome"))
    try:
        counts = (
            rows.group_by(keys)
            .agg(
                (pl.col("n").fill_null(1).sum() if "n" in schema else pl.len()).cast(pl.Int64).alias("n"),
                pl.when(score.count() > 0).then(sums["total"].round().cast(pl.Int64)).alias("n_success"),
                *([_only_reason()] if "reason" in schema else []),
                pl.len().cast(pl.Int64).alias("#rows"),
                number.sum().alias("#sum"),
                number.min().alias("#first"),
                number.max().alias("#last"),
                score.filter(~is_count & (score != 0) & (score != 1)).first().alias("#other"),
            )
            .collect(engine="streaming")
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{place}: cannot be read ({str(error).partition(chr(10))[0]}).") from None
    other = counts["#other"].drop_nulls()
    if len(other):
        raise InputError(
            f"{place}: score {other[0]:g} is neither 0 nor 1, and cannot be counted. Read it without counts."
        )
    return _Counted(counts.drop("#other"), made.n_read, made.left_out, tuple(table.notes))


def _merged(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    held = [frame for frame in frames if len(frame)]
    if not held:
        return pl.DataFrame()
    rows = pl.concat(held, how="diagonal_relaxed")
    keys = [name for name in rows.columns if name not in (*_SUMS, *_NUMBERS, "reason")]
    n_success = pl.when(pl.col("n_success").count() > 0).then(pl.col("n_success").sum()).alias("n_success")
    sums = [n_success if name == "n_success" else pl.col(name).sum() for name in _SUMS]
    sums += [_only_reason()] if "reason" in rows.columns else []
    return rows.group_by(keys).agg(*sums, pl.col("#first").min(), pl.col("#last").max())


def _only_reason() -> pl.Expr:
    reason = pl.col("reason").drop_nulls()
    return pl.when(reason.n_unique() < 2).then(reason.first()).otherwise(pl.lit("several reasons")).alias("reason")


def _refuse_misnumbered(counts: pl.DataFrame) -> None:
    """Refuse attempts of which two have one number, unless each configuration has its own run of numbers; most often a file is there twice.

    More attempts than numbers from the first to the last are sure to share one; as many have a known sum. Gaps are no fault.
    """
    if counts["#first"].null_count():
        return
    length = pl.col("#last") - pl.col("#first") + 1
    right = pl.col("#rows") * (pl.col("#first") + pl.col("#last")) // 2
    is_run = (length == pl.col("#rows")) & (pl.col("#sum") == right)
    keys = [name for name in counts.columns if name not in (*_SUMS, *_NUMBERS, "outcome", "reason")]
    sums = pl.col("#rows", "#sum").sum(), pl.col("#first").min(), pl.col("#last").max()
    pairs = counts.group_by("subject", "task").agg(sums).filter((length <= pl.col("#rows")) & ~is_run)
    if pairs.is_empty() or counts.group_by(keys).agg(sums).filter(~is_run).is_empty():
        return
    wrong = pairs.sort("subject", "task").row(0, named=True)
    more = f" ({len(pairs):,} such pairs)" if len(pairs) > 1 else ""
    raise InputError(
        f"Of the {wrong['#rows']:,} attempts of {wrong['subject']} on {wrong['task']}, two have the same number{more}. "
        "Is a file there twice? Number them 1, 2, …, or remove the column 'attempt'."
    )
