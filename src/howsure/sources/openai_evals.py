"""OpenAI evals: event logs of the open-source harness, and output items of the evals API.

A log is a jsonl file per run, with the run's ``spec`` on its first line and then one line per event.

``match`` events are right or wrong, ``metrics`` events carry numbers; all others are counted in the notes.
An output item of the API passed, failed or ended in an error; its graders also give scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.sources import Progress
from howsure.sources._reading import head, keys, leave_out, number_attempts, read_each, saw
from howsure.sources._records import Found, as_table, day, inner, items, load_json, number, text
from howsure.tables import Attempts, Table
from howsure.tables.frames import Part, format_of, json_lines
from howsure.tables.metrics import is_higher_better

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "OpenAI evals: event logs (jsonl with a spec on the first line) and output items of the evals API (json, jsonl)"
OPTIONS = frozenset({"metric", "strict"})
LAYOUTS = {
    "events": frozenset({"run_id", "event_id", "sample_id", "type", "data"}),
    "output items": frozenset({"run_id", "eval_id", "datasource_item_id", "results", "status"}),
}

_EVENT = {"run_id", "event_id", "sample_id", "type", "data"}


def recognise(path: Path) -> str | None:
    """A jsonl file that begins with the spec of a run or with events of one, or output items."""
    if _has_items(path):
        return "it contains output items of OpenAI's evals API"
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
) -> Table:
    """Every match, or every event with the metric, as an attempt; a sample's second event is its second attempt.

    `metric` names a number of the ``metrics`` events; without it matches are taken, or else the first metric. Of output items it names
    a grader, whose score is taken; without it an item that passed is 1.
    Of several files, damaged ones are skipped and named in the notes, unless ``strict``.
    """
    listed = [path for path in paths if _has_items(path)]
    if listed:
        outputs = as_table(
            listed,
            lambda path: _read_items(path, metric),
            divide_by=divide_by,
            progress=progress,
            strict=strict,
        )
        paths = [path for path in paths if path not in listed]
        if not paths:
            return outputs
        return type(outputs).union([outputs, read(paths, divide_by=divide_by, metric=metric, strict=strict)])
    logs, skipped = read_each(paths, _read_log, strict=strict, progress=progress)
    for log in logs:
        chosen = metric or log.default
        n_used, unscored = len(log.scores(chosen)), log.unscored(chosen)
        n_events = sum(one.is_scored for one in unscored)
        saw(len(log.events) + log.unused.total())
        leave_out("an event without a score", log.unused.total() - (len(unscored) - n_events))
        leave_out("an event with another metric", len(log.events) - n_used - n_events)
    if metric and not any(metric in log.metrics for log in logs):
        raise OptionError.unknown("metric", metric, dict.fromkeys(name for log in logs for name in log.metrics))
    parts = [_part(log, metric or log.default, divide_by) for log in logs if log.samples]
    if not any(log.scores(metric or log.default) for log in logs):
        raise InputError(f"{paths[0]}: no event carries a score (match or metrics); nothing can be read from it.")
    return Attempts(number_attempts(parts), divide_by=divide_by, notes=[*skipped, *_notes(logs, metric)])


def _has_items(path: Path) -> bool:
    if not path.is_file() or not path.name.endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz")):
        return False
    return '"eval.run.output_item"' in head(path)


def _read_items(path: Path, metric: str | None) -> Found:
    """Items of one page or of several, as JSON (a list, or ``data`` with one) or one per line."""
    found = Found(path)
    if format_of(path) == "jsonl":
        listed: list[Any] = [item for _, item in json_lines(path)]
    else:
        held = load_json(path)
        listed = held if isinstance(held, list) else items(held, "data")
        if inner(held).get("has_more"):
            found.notes.append(
                f"{path.name}: is one page of several (has_more); fetch the others and read them together."
            )
    for item in listed:
        sample, graders = inner(item, "sample"), items(item, "results")
        name, status = text(inner(item).get("eval_id")) or "eval", inner(item).get("status")
        chosen = next((one for one in graders if metric and inner(one).get("name") == metric), None)
        score = number(inner(chosen).get("score")) if metric else {"pass": 1.0, "fail": 0.0}.get(str(status))
        error = text(inner(sample, "error").get("message")) or ("error" if str(status).startswith("error") else None)
        ident = text(inner(item).get("datasource_item_id"))
        found.add(
            subject=text(sample.get("model")),
            task=ident and f"{name}/{ident}",
            score=None if str(status).startswith("error") else score,
            domain=name,
            tokens=number(inner(sample, "usage").get("total_tokens")),
            error=error,
            **(
                {"outcome": "refused", "reason": "content_filter"}
                if sample.get("finish_reason") == "content_filter"
                else {}
            ),
            date=day(inner(item).get("created_at")),
            source=path.name,
        )
    return found


@dataclass
class _Sample:
    """The first event of a sample, whether it carries some score, and the error that an event tells of."""

    row: int
    event: dict[str, Any]
    is_scored: bool
    error: str | None = None


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
    samples: dict[str, _Sample] = field(default_factory=dict)

    @property
    def default(self) -> str:
        """Matches where there are any, else the first metric."""
        has_matches = any(event["type"] == "match" for _, event in self.events)
        return "match" if has_matches else next(iter(self.metrics), "match")

    def unscored(self, metric: str) -> list[_Sample]:
        """The samples of which no event carries the metric."""
        scored = {str(event.get("sample_id")) for _, event, _ in self.scores(metric)}
        return [one for name, one in self.samples.items() if name not in scored]

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
    is_scored = event["type"] in ("match", "metrics") and isinstance(event.get("data"), dict)
    if event.get("sample_id") is not None:
        sample = log.samples.setdefault(str(event["sample_id"]), _Sample(row, event, is_scored))
        if event["type"] == "error":
            sample.error = (
                text(inner(event, "data").get("message")) or text(inner(event, "data").get("type")) or "error"
            )
    if not is_scored:
        log.unused[str(event["type"])] += 1
        return
    log.events.append((row, event))
    if event["type"] == "metrics":
        log.metrics |= {name: None for name, value in event["data"].items() if isinstance(value, int | float)}


def _part(log: _Log, metric: str, divide_by: float) -> Part:
    known = [(row, event, score, None) for row, event, score in log.scores(metric)]
    found = sorted(
        [*known, *((one.row, one.event, None, one.error) for one in log.unscored(metric))], key=itemgetter(0)
    )
    numbers = [score for _, _, score, _ in found if isinstance(score, int | float)]
    is_beyond = divide_by == 1 and any(not 0 <= one <= 1 for one in numbers)
    rows = pl.DataFrame(
        {
            "task": [f"{log.eval_name}/{event.get('sample_id')}" for _, event, _, _ in found],
            "score": [None if score is None else str(score) for _, _, score, _ in found],
            "error": [error for _, _, _, error in found],
            "reason": [
                None if score is not None else error or f"no event carries {metric}" for _, _, score, error in found
            ],
            "date": [None if event.get("created_at") is None else str(event["created_at"]) for _, event, _, _ in found],
        },
        schema=dict.fromkeys(("task", "score", "error", "reason", "date"), pl.String),
    )
    constant = {"subject": log.subject, "kind": "model", "domain": log.base, "source": log.path.name}
    if is_higher_better(metric) is False:
        constant |= {"better": "lower"} | ({"scale": "free"} if is_beyond else {})
    filled = rows.with_columns(pl.lit(value).alias(name) for name, value in constant.items())
    return Part(filled.lazy(), log.path, "jsonl", pl.Series([row for row, *_ in found]))


def _notes(logs: Sequence[_Log], metric: str | None) -> list[str]:
    """What was chosen, and what was not used."""
    notes = []
    for log in logs:
        chosen = metric or log.default
        if others := [name for name in log.metrics if name != chosen and not metric]:
            notes.append(f"{log.eval_name}: scored by {chosen}; --metric chooses among {', '.join(others)}.")
    if unused := sum((log.unused for log in logs), Counter[str]()):
        notes.append(f"Events not used: {', '.join(f'{n:,} {kind}' for kind, n in sorted(unused.items()))}.")
    return list(dict.fromkeys(notes))
