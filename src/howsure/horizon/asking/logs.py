"""Logs of Inspect into a table of replies, one row per attempt; read from the samples' summaries and without Inspect."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from howsure.horizon.asking.replies import REPLIES, UNFINISHED, scored
from howsure.running import read_logs
from howsure.sources.inspect_format import Log, Sample
from howsure.tables import Attempts

__all__ = ["TASK", "attempts_from_logs", "latest_samples", "replies_from_logs"]

TASK = "name_tasks"
"""What Inspect calls the task."""

Key = tuple[str, str, str]
"""A run, the model, and the sample."""


def attempts_from_logs(paths: Sequence[str | os.PathLike[str]]) -> Attempts:
    """The scored attempts of models in these logs, or folders of logs: task, family, domain, attempt, score, seconds."""
    return scored(replies_from_logs(read_logs(paths, TASK)))


def replies_from_logs(logs: Iterable[Log]) -> pl.DataFrame:
    """What every attempt in the logs came to, in the order of models, tasks and attempts."""
    rows = [_row(model, sample) for (_, model, _), (_, sample) in latest_samples(logs).items()]
    return pl.DataFrame(rows, schema=REPLIES).sort("model", "shots", "task", "attempt", maintain_order=True)


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


def _row(model: str, sample: Sample) -> dict[str, Any]:
    told = sample.metadata or {}
    row = {name: told.get(name) for name in REPLIES} | {"model": model, "seconds": sample.total_time}
    if sample.error:
        return row | {"failure": UNFINISHED}
    if told.get("failure"):
        return row
    (score,) = (sample.scores or {}).values()
    return row | {"score": float(score.value)}
