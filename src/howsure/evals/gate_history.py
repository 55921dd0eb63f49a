"""The verdicts of a gate over time: a file that only grows, whose lines are chained by digests, and the trend of an eval over commits."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.safe_io import lock_file

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.evals.gating import GateDecision
    from howsure.results.blocks import Section

__all__ = ["GateHistory", "HistoryRow", "append_history", "read_history"]

_FIRST = "0" * 64


@dataclass(frozen=True, kw_only=True)
class HistoryRow:
    """One eval in one run of the gate."""

    position: int
    time: str
    commit: str
    eval: str
    verdict: str
    margin: float
    candidate: Estimate
    difference: Estimate


@dataclass(frozen=True, kw_only=True)
class GateHistory(Result):
    """The verdicts of a gate over time.

    Table ``history``: one row per run and eval: position (1, 2, …), time, commit, eval, verdict, margin, candidate (its mean score) and difference
    (candidate − base), each with _low, _high and _state.

    Parameters
    ----------
    rows : tuple[HistoryRow, ...]
        One entry per run and eval.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "history"
    rows: tuple[HistoryRow, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``history``."""
        told = ("position", "time", "commit", "eval", "verdict", "margin")
        rows = [
            {name: getattr(row, name) for name in told} | columns_of(candidate=row.candidate, difference=row.difference)
            for row in self.rows
        ]
        return {"history": pl.DataFrame(rows, infer_schema_length=None)}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.evals.sections import history_section

        return [history_section(self)]

    def charts(self) -> dict[str, Chart]:
        """One chart, ``trend``: the candidate's mean score over commits."""
        from howsure.evals.charts import draw_trend

        return {"trend": draw_trend(self)}


def append_history(
    path: str | os.PathLike[str], gate: GateDecision, *, commit: str = "", time: str | None = None
) -> str:
    """Add a gate's verdict to a history file, after checking the chain, and give the digest of the new line.

    Each line is a JSON object with the digest of the line before it and its own: SHA-256 of the line without its digest. A changed, removed or
    reordered line breaks the chain. Two processes that append at the same time wait for each other.

    Parameters
    ----------
    path : str or path
        The file; it is made if it does not exist.
    gate : GateDecision
        What is kept: the verdict, and per eval the verdict, the margin, the candidate's mean and the difference.
    commit : str
        Which version of the candidate was judged.
    time : str, optional
        ISO time; now, in UTC, without it.
    """
    where = Path(path)
    where.parent.mkdir(parents=True, exist_ok=True)
    with where.open("a+b") as file:
        lock_file(file)
        file.seek(0)
        content = file.read()
        records = _checked(content, where)
        record: dict[str, Any] = {
            "time": time or datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
            "commit": commit,
            "verdict": gate.verdict,
            "evals": [
                {
                    "eval": row.eval,
                    "verdict": row.verdict,
                    "margin": row.margin,
                    "candidate": row.candidate.as_dict(),
                    "difference": row.difference.as_dict(),
                }
                for row in gate.rows
            ],
            "input": gate.provenance.digest,
            "previous": records[-1]["digest"] if records else _FIRST,
        }
        record["digest"] = _digest(record)
        file.write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return str(record["digest"])


def read_history(path: str | os.PathLike[str]) -> GateHistory:
    """The verdicts in a history file, once its chain is whole.

    Parameters
    ----------
    path : str or path
        The file that `append_history` writes.

    Raises
    ------
    InputError
        If a line was changed, removed or reordered; the message names the first such line.
    """
    where = Path(path)
    if not where.is_file():
        raise InputError(f"{where}: no such file.")
    records = _checked(where.read_bytes(), where)
    if not records:
        raise InputError(f"{where}: the history is empty.")
    rows = [
        HistoryRow(
            position=position,
            time=record["time"],
            commit=record["commit"],
            eval=one["eval"],
            verdict=one["verdict"],
            margin=one["margin"],
            candidate=Estimate(**one["candidate"]),
            difference=Estimate(**one["difference"]),
        )
        for position, record in enumerate(records, 1)
        for one in record["evals"]
    ]
    return GateHistory(
        rows=tuple(rows), provenance=Provenance({"runs": len(records)}, digest=records[-1]["digest"][:16])
    )


def _checked(content: bytes, where: Path) -> list[dict[str, Any]]:
    """The records of a file, each linked to the one before."""
    records: list[dict[str, Any]] = []
    if content and not content.endswith(b"\n"):
        raise InputError(f"{where}: the last line is not complete. Remove it, or restore the file.")
    for number, line in enumerate(content.splitlines(), 1):
        try:
            record = json.loads(line)
            is_whole = record["digest"] == _digest(record)
            follows = record["previous"] == (records[-1]["digest"] if records else _FIRST)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(f"{where} line {number}: is not a line of a gate's history.") from None
        if not is_whole:
            raise InputError(f"{where} line {number}: was changed after it was written: its digest does not fit.")
        if not follows:
            raise InputError(
                f"{where} line {number}: does not follow the line before it: a line was removed, added or moved."
            )
        records.append(record)
    return records


def _digest(record: dict[str, Any]) -> str:
    rest = {key: value for key, value in record.items() if key != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
