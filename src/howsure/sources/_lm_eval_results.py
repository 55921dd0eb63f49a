"""Aggregates of lm-evaluation-harness: a JSON file a run, whose values are named "metric,filter"."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.safe_io import read_bytes
from howsure.sources._reading import head, keys, leave_out, saw
from howsure.sources._records import LOWER
from howsure.tables import Scores, metrics
from howsure.tables.frames import Part

__all__ = ["Choice", "Results", "is_higher_better", "is_results", "load_results", "read_scores", "unsanitised"]

_VALUE_NAME = re.compile(r'"[^",]+,[^",]+"\s*:')
_OLD = frozenset({"results", "versions", "config"})  # before 0.4: metrics without a filter
_BESIDE_RESULTS = frozenset({"configs", "versions", "n-shot", "group_subtasks"})  # keys that other JSON files lack


@dataclass(frozen=True)
class Choice:
    """What the user narrowed the values to, and the scale."""

    metric: str | None
    filter: str | None
    divide_by: float

    def takes(self, metric: str, filtered: str) -> bool:
        """Whether a value passes."""
        return self.metric in (None, metric) and self.filter in (None, filtered)

    def refuse_unknown(self, metrics: Iterable[str], filters: Iterable[str]) -> None:
        """A misspelt metric or filter, told with those that exist."""
        for what, name, there in (("metric", self.metric, metrics), ("filter", self.filter, filters)):
            known = dict.fromkeys(there)
            if name is not None and name not in known:
                raise OptionError.unknown(what, name, known)


@dataclass(frozen=True)
class Results:
    """One results file."""

    path: Path
    held: dict[str, Any]

    @property
    def model(self) -> str:
        """As the harness was told it; older files have it among the model's arguments only."""
        arguments = _inner(self.held, "config").get("model_args")
        if isinstance(arguments, str):
            arguments = dict(pair.partition("=")[::2] for pair in arguments.split(","))
        told = arguments if isinstance(arguments, dict) else {}
        name = self.held.get("model_name") or told.get("pretrained") or told.get("model")
        return str(name or unsanitised(self.path.parent.resolve().name))

    @property
    def is_old(self) -> bool:
        """Whether the file is from before version 0.4, where values are named by their metric alone."""
        tasks = _inner(self.held, "results")
        return set(self.held) >= _OLD and not any("," in name for task in tasks for name in _inner(tasks, task))

    @property
    def groups(self) -> set[str]:
        """Tasks whose values are made of other tasks' values."""
        nested = _inner(self.held, "group_subtasks")
        return {*_inner(self.held, "groups"), *(name for name, members in nested.items() if members)}

    @property
    def n_in_groups(self) -> int:
        """How many values groups have."""
        names = (name for task in self.groups for name in _inner(self.held, "results", task))
        return sum("," in name and "_stderr," not in name for name in names)

    def says_higher_is_better(self, task: str, metric: str) -> bool | None:
        """What the file says of a metric, in its summary or in the task's configuration; older ones say nothing."""
        listed = _inner(self.held, "configs", task).get("metric_list")
        told = {
            str(one.get("metric")): one.get("higher_is_better")
            for one in (listed if isinstance(listed, list) else [])
            if isinstance(one, dict)
        } | _inner(self.held, "higher_is_better", task)
        said = told.get(metric)
        return said if isinstance(said, bool) else None

    def values(self) -> Iterator[_Value]:
        """Every aggregate of a task that is no group."""
        for task in self.held["results"]:
            entries = _inner(self.held, "results", task)
            n_items = _inner(self.held, "n-samples", task).get("effective", entries.get("sample_len"))
            for named, value in entries.items() if task not in self.groups else ():
                metric, comma, filtered = named.partition(",")
                if (comma or (self.is_old and _is_number(value))) and not metric.endswith("_stderr"):
                    se = entries.get(f"{metric}_stderr,{filtered}" if comma else f"{metric}_stderr")
                    filtered = filtered or "none"
                    is_higher = is_higher_better(metric, self, task)
                    yield _Value(self.path, self.model, task, metric, filtered, value, se, n_items, is_higher)


def is_higher_better(metric: str, run: Results | None, task: str) -> bool | None:
    """Whether higher values of a metric are better: as the file says, else as its name says; None where neither does."""
    said = run.says_higher_is_better(task, metric) if run else None
    if said is not None:
        return said
    return metrics.is_higher_better(metric)


def is_results(path: Path) -> bool:
    """Whether a file holds what the harness's results do, in whichever order its keys stand."""
    if not path.name.endswith((".json", ".json.gz")):
        return False
    there = set(keys(path))
    if "results" in there and _VALUE_NAME.search(head(path)):
        return True
    if not there & {"results", *_BESIDE_RESULTS}:
        return False
    try:
        tasks = _inner(load_results(path).held, "results")
    except InputError:
        return False
    names = [name for task in tasks for name in _inner(tasks, task)]
    is_old = there >= _OLD and any(name.endswith("_stderr") for name in names)
    return is_old or any("," in name for name in names)


def load_results(path: Path) -> Results:
    """A results file, whole; its numbers may be NaN, as the harness writes them."""
    try:
        held = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a whole JSON file ({error}). Make or fetch it again.") from None
    if not isinstance(held, dict) or not _inner(held, "results"):
        raise InputError(f"{path}: contains no results of lm-evaluation-harness.")
    return Results(path, held)


def read_scores(runs: Sequence[Results], chosen: Choice, *, notes: Sequence[str] = ()) -> Scores:
    """What is a score among the values of all runs; what is not is told in the notes."""
    values = [value for run in runs for value in run.values()]
    in_groups = sum(run.n_in_groups for run in runs)
    saw(len(values) + in_groups)
    leave_out("of a group, whose tasks are read", in_groups)
    chosen.refuse_unknown((value.metric for value in values), (value.filter for value in values))
    narrowed = [value for value in values if chosen.takes(value.metric, value.filter)]
    leave_out("another metric or filter than asked for", len(values) - len(narrowed))
    for value in narrowed:
        if reason := value.why_not(chosen.divide_by):
            leave_out(reason)
    kept = [value for value in narrowed if not value.why_not(chosen.divide_by)]
    if not kept:
        raise InputError(
            f"{runs[0].path}: no value from 0 to 1 where higher is better is left. Check --metric, --filter and --divide-by."
        )
    names: dict[str, dict[str, None]] = {}
    for value in kept:
        names.setdefault(value.task, {})[value.name] = None
    parts = [_scores_part(run.path, [value for value in kept if value.path == run.path], names) for run in runs]
    return Scores(
        [part for part in parts if part],
        divide_by=chosen.divide_by,
        notes=[
            *notes,
            *_group_notes(runs),
            *_left_out_notes(narrowed, chosen.divide_by),
            *_direction_notes(kept),
            *_several_notes(names),
        ],
    )


def unsanitised(folder: str) -> str:
    """The harness writes ``/`` as ``__`` in folders: undone where there is one place it can have been."""
    owner, mark, name = folder.partition("__")
    return f"{owner}/{name}" if owner and name and mark and "__" not in name else folder


@dataclass(frozen=True)
class _Value:
    """One aggregate."""

    path: Path
    model: str
    task: str
    metric: str
    filter: str
    score: Any
    se: Any
    n_items: Any
    is_higher_better: bool | None

    @property
    def name(self) -> str:
        """The metric, and the filter where it is a real one."""
        return self.metric if self.filter == "none" else f"{self.metric}, {self.filter}"

    def why_not(self, divide_by: float) -> str | None:
        """Why this is not a score, or None."""
        if self.is_higher_better is False:
            return LOWER
        if not _is_number(self.score):
            return "not a number"
        return None if 0 <= self.score <= divide_by else "not between 0 and 1"


def _scores_part(path: Path, values: Sequence[_Value], names: dict[str, dict[str, None]]) -> Part | None:
    """The rows of one file. A benchmark is named by its task alone when all files have one and the same metric of it."""
    rows = [
        {
            "model": value.model,
            "benchmark": value.task if len(names[value.task]) == 1 else f"{value.task} ({value.name})",
            "score": float(value.score),
            "se": float(value.se) if _is_number(value.se) else None,
            "n_items": int(value.n_items) if _is_number(value.n_items) and value.n_items >= 1 else None,
            "source": path.name,
        }
        for value in values
    ]
    told = [name for name in rows[0] if any(row[name] is not None for row in rows)] if rows else []
    return Part(pl.LazyFrame(rows, infer_schema_length=None).select(told), path, "json") if rows else None


def _group_notes(runs: Sequence[Results]) -> list[str]:
    groups = sorted({name for run in runs for name in run.groups if name in run.held["results"]})
    return [f"Groups are excluded, as their tasks are read: {_some(groups)}."] if groups else []


def _left_out_notes(values: Sequence[_Value], divide_by: float) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for value in values:
        if reason := value.why_not(divide_by):
            by_reason.setdefault(reason, []).append(f"{value.name} on {value.task}")
    return [
        f"Excluded because {reason}: {_some(list(dict.fromkeys(told)))}." for reason, told in sorted(by_reason.items())
    ]


def _direction_notes(values: Sequence[_Value]) -> list[str]:
    unknown = list(dict.fromkeys(f"{one.name} on {one.task}" for one in values if one.is_higher_better is None))
    return [f"Read as higher is better, which neither file nor name says: {_some(unknown)}."] if unknown else []


def _several_notes(names: dict[str, dict[str, None]]) -> list[str]:
    several = [f"{task} ({'; '.join(told)})" for task, told in names.items() if len(told) > 1]
    if not several:
        return []
    return [f"Several values of one task are benchmarks of their own: {_some(several)}. --metric and --filter choose."]


def _inner(held: dict[str, Any], *steps: str) -> dict[str, Any]:
    """A dictionary inside, or an empty one."""
    for step in steps:
        inner = held.get(step)
        held = inner if isinstance(inner, dict) else {}
    return held


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e300  # neither NaN nor infinite


def _some(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
