"""Event logs of openai/evals: a jsonl file a run, with the run's ``spec`` on its first line and then a line an event.

``match`` events are right or wrong, ``metrics`` events carry numbers; all others are counted in the notes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.sources import Progress
from howsure.sources._reading import number_attempts, read_each
from howsure.sources._sniff import keys
from howsure.tables import Attempts
from howsure.tables.frames import Part, format_of, json_lines

__all__ = ["ABOUT", "OPTIONS", "read", "recognise"]

ABOUT = "event logs of openai/evals (jsonl with a spec on the first line)"
OPTIONS = frozenset({"metric", "strict"})

_EVENT = {"run_id", "event_id", "sample_id", "type", "data"}


def recognise(path: Path) -> str | None:
    """A jsonl file that begins with the spec of a run, or with events of one."""
    there = set(keys(path)) if path.is_file() and format_of(path) == "jsonl" else set()
    if "spec" in there and there <= _EVENT | {"spec", "created_by", "created_at", "final_report"}:
        return "its first line is the spec of a run"
    return "its lines are events of a run" if there >= _EVENT else None


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    metric: str | None = None,
    strict: bool = False,
) -> Attempts:
    """Every match, or every event with the metric, as an attempt; a sample's second event is its second attempt.

    `metric` names a number of the ``metrics`` events; without it matches are taken, or else the first metric.
    Of several files, damaged ones are skipped and named in the notes, unless ``strict``.
    """
    logs, skipped = read_each(paths, _read_log, strict=strict, progress=progress)
    if metric and not any(metric in log.metrics for log in logs):
        raise OptionError.unknown("metric", metric, dict.fromkeys(name for log in logs for name in log.metrics))
    parts = [_part(log, metric or log.default) for log in logs if log.scores(metric or log.default)]
    if not parts:
        raise InputError(f"{paths[0]}: no event carries a score (match or metrics); nothing can be read from it.")
    return Attempts(number_attempts(parts), divide_by=divide_by, notes=[*skipped, *_notes(logs, metric)])


@dataclass
class _Log:
    """One run: who was evaluated on what, its scored events by row, and how many others there were."""

    path: Path
    subject: str = ""
    eval_name: str = ""
    base: str = ""
    events: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    metrics: dict[str, None] = field(default_factory=dict)
    unused: Counter[str] = field(default_factory=Counter)
    samples: set[str] = field(default_factory=set)

    @property
    def default(self) -> str:
        """Matches where there are any, else the first metric."""
        has_matches = any(event["type"] == "match" for _, event in self.events)
        return "match" if has_matches else next(iter(self.metrics), "match")

    def scores(self, metric: str) -> list[tuple[int, dict[str, Any], Any]]:
        """The row, the event and the score of every event that carries the metric."""
        if metric == "match":
            return [
                (row, event, event["data"].get("correct")) for row, event in self.events if event["type"] == "match"
            ]
        return [
            (row, event, event["data"][metric])
            for row, event in self.events
            if event["type"] == "metrics" and metric in event["data"]
        ]


def _read_log(path: Path) -> _Log:
    log = _Log(path)
    for row, (_, record) in enumerate(json_lines(path)):
        if isinstance(record.get("spec"), dict):
            _take_spec(log, record["spec"])
        elif "type" in record:
            _take_event(log, row, record)
    if not (log.subject and log.eval_name):
        raise InputError(
            f"{path} line 1: no spec with completion_fns and eval_name, which say who was evaluated on what. Use the whole log."
        )
    return log


def _take_spec(log: _Log, spec: dict[str, Any]) -> None:
    """Runs before completion functions existed name a model instead."""
    named = spec.get("model_names")
    listed = spec.get("completion_fns") or (named.get("completions") if isinstance(named, dict) else None)
    names = listed if isinstance(listed, list) else [listed or spec.get("model_name")]
    log.subject = " + ".join(str(name) for name in names if name)
    log.eval_name = str(spec.get("eval_name") or "")
    log.base = str(spec.get("base_eval") or log.eval_name.partition(".")[0])


def _take_event(log: _Log, row: int, event: dict[str, Any]) -> None:
    log.samples.add(str(event.get("sample_id")))
    if event["type"] not in ("match", "metrics") or not isinstance(event.get("data"), dict):
        log.unused[str(event["type"])] += 1
        return
    log.events.append((row, event))
    if event["type"] == "metrics":
        log.metrics |= {name: None for name, value in event["data"].items() if isinstance(value, int | float)}


def _part(log: _Log, metric: str) -> Part:
    found = log.scores(metric)
    rows = pl.DataFrame(
        {
            "task": [f"{log.eval_name}/{event.get('sample_id')}" for _, event, _ in found],
            "score": [None if score is None else str(score) for _, _, score in found],
            "date": [None if event.get("created_at") is None else str(event["created_at"]) for _, event, _ in found],
        },
        schema={"task": pl.String, "score": pl.String, "date": pl.String},
    )
    constant = {"subject": log.subject, "kind": "model", "domain": log.base, "source": log.path.name}
    filled = rows.with_columns(pl.lit(value).alias(name) for name, value in constant.items())
    return Part(filled.lazy(), log.path, "jsonl", pl.Series([row for row, _, _ in found]))


def _notes(logs: Sequence[_Log], metric: str | None) -> list[str]:
    """What was chosen, what was not used, and which samples have no score."""
    notes = []
    for log in logs:
        chosen = metric or log.default
        if others := [name for name in log.metrics if name != chosen and not metric]:
            notes.append(f"{log.eval_name}: scored by {chosen}; --metric chooses among {', '.join(others)}.")
        scored = {str(event.get("sample_id")) for _, event, _ in log.scores(chosen)}
        if lost := len(log.samples - scored):
            notes.append(f"{log.path}: {lost:,} of {len(log.samples):,} samples have no score and are left out.")
    if unused := sum((log.unused for log in logs), Counter[str]()):
        notes.append(f"Events not used: {', '.join(f'{n:,} {kind}' for kind, n in sorted(unused.items()))}.")
    return list(dict.fromkeys(notes))
