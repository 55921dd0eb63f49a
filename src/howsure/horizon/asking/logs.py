"""Logs of Inspect into a table of replies, one row per attempt; read from the samples' summaries and without Inspect."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from howsure.horizon.asking.replies import REPLIES, UNFINISHED, scored
from howsure.running import read_logs
from howsure.sources.inspect_format import Log, Sample
from howsure.tables import Attempts

__all__ = ["TASK", "attempts_from_logs", "course_part", "latest_samples", "replies_from_logs"]

TASK = "name_tasks"
"""What Inspect calls the task."""

Key = tuple[str, str, str]
"""A run, the model, and the sample."""


def attempts_from_logs(paths: Sequence[str | os.PathLike[str]]) -> Attempts:
    """The scored attempts of models in these logs, or folders of logs: task, family, domain, attempt, score, seconds."""
    return scored(replies_from_logs(read_logs(paths, TASK)))


def replies_from_logs(logs: Iterable[Log]) -> pl.DataFrame:
    """What every attempt in the logs came to, in the order of models, tasks and attempts."""
    rows = [row for (_, model, _), (_, sample) in latest_samples(logs).items() for row in _rows(model, sample)]
    return pl.DataFrame(rows, schema=REPLIES).sort(
        "model", "shots", "earlier_attempts", "task", "attempt", maintain_order=True
    )


def latest_samples(logs: Iterable[Log]) -> dict[Key, tuple[Log, Sample]]:
    """Of each attempt the first try without an error, and else the last, in logs from old to new.

    Logs of one run are tries at the same attempts: those that say so, and those that Inspect's own retry wrote.
    """
    latest: dict[Key, tuple[Log, Sample]] = {}
    for log in logs:
        for sample in log.samples or []:
            if sample.invalidation:
                continue
            run = (sample.metadata or {}).get("run") or log.eval.task_id or str(log.path)
            key = run, log.eval.model, f"{sample.id}\n{sample.epoch}"
            if key not in latest or latest[key][1].error:
                latest[key] = log, sample
    return latest


def _rows(model: str, sample: Sample) -> list[dict[str, Any]]:
    """The attempt of a sample, or all attempts of a course with feedback."""
    told = sample.metadata or {}
    row = {name: told.get(name) for name in REPLIES} | {"model": model, "seconds": sample.total_time}
    if told.get("course"):
        courses = (told | course_part(told, attempt) for attempt in range(1, told["course"] + 1))
        return [row | {name: one.get(name) for name in REPLIES if name not in ("model", "seconds")} for one in courses]
    if sample.error:
        return [row | {"failure": UNFINISHED}]
    if told.get("failure"):
        return [row]
    (score,) = (sample.scores or {}).values()
    return [row | {"score": float(score.value)}]


def course_part(told: Mapping[str, Any], attempt: int) -> dict[str, Any]:
    """What a sample's metadata say of one attempt of a course; they hold numbers and short texts alone, so that summaries keep them."""
    ending = f"@{attempt}"
    found = {name.removesuffix(ending): value for name, value in told.items() if name.endswith(ending)}
    missing = {} if found else {"failure": UNFINISHED}
    return found | missing | {"attempt": attempt, "earlier_attempts": attempt - 1}
