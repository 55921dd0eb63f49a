"""Harbor and Terminal-Bench: agents at tasks in containers.

Harbor writes a folder per trial with ``result.json``; Terminal-Bench writes one ``results.json`` per run with all its trials, and beside
it ``run_metadata.json``. In both tools' own rates, a trial without a reward counts as 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from howsure.errors import InputError
from howsure.sources import Progress
from howsure.sources._reading import fitting, head, json_outline
from howsure.sources._records import Found, as_table, day, inner, items, load_json, number, text
from howsure.tables import Scores, Table
from howsure.tables.metrics import better_by_name
from howsure.tables.outcomes import MISSING

__all__ = ["ABOUT", "HARNESS", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "Harbor jobs and Terminal-Bench runs (result.json, results.json, or their folder)"
OPTIONS = frozenset({"metric", "strict", "better", "table"})
HARNESS = dict.fromkeys(MISSING, "wrong")
LAYOUTS = {
    "a trial": frozenset({"task_name", "trial_name", "verifier_result"}),
    "a job": frozenset({"n_total_trials", "stats"}),
}

_LIMITS = re.compile(
    r"agent_?timeout|length(_|limit)?exceeded|contextlength|outputlength|(token|cost|budget|turns?|steps?)limit", re.I
)
"""What exceptions and failure modes are called that mean a limit of the agent. A timeout of verifier, environment or setup is an error."""


def recognise(path: Path) -> str | None:
    """By the keys of a trial, a job or a run."""
    if path.suffix != ".json":
        return None
    if layout := fitting(path, LAYOUTS):
        return f"it is {layout} of Harbor"
    return "it is a run of Terminal-Bench" if _is_run(path) else None


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    metric: str | None = None,
    table: str | None = None,
    strict: bool = False,
    better: str | None = None,
) -> Table:
    """Every trial as an attempt of the model with its agent; `metric` names a reward where there are several."""

    def load(path: Path) -> Found:
        held = load_json(path)
        layout = fitting(path, LAYOUTS)
        if not isinstance(held, dict):
            raise InputError(f"{path}: not a result of Harbor or Terminal-Bench.")
        return _job(path, held) if layout == "a job" else _trial(path, held, metric) if layout else _run(path, held)

    return as_table(
        paths,
        load,
        divide_by=divide_by,
        progress=progress,
        strict=strict,
        better=better,
        table=table,
        harness=HARNESS,
    )


def _is_run(path: Path) -> bool:
    start = head(path) if path.is_file() else ""
    return '"is_resolved"' in start and "results" in json_outline(start)


def _trial(path: Path, held: dict[str, Any], metric: str | None) -> Found:
    found = Found(path)
    config, info = inner(held, "config", "agent"), inner(held, "agent_info")
    # a trial of several steps has what it spent with each step
    spent = [inner(one, "agent_result") for one in (held, *items(held, "step_results"))]
    told = inner(info, "model_info")
    named = text(told.get("name"))
    model = text(config.get("model_name")) or (
        f"{told['provider']}/{named}" if named and told.get("provider") else named
    )
    agent = text(info.get("name")) or text(config.get("name"))
    rewards = inner(held, "verifier_result", "rewards")
    reward = (
        rewards.get(metric or "reward")
        if metric or "reward" in rewards
        else next(iter(rewards.values()), None)
        if len(rewards) == 1
        else None
    )
    exception = text(inner(held, "exception_info").get("exception_type"))
    is_limit = exception is not None and _LIMITS.search(exception) is not None
    name = text(held.get("task_name"))
    domain = (
        text(held.get("source"))
        or text(inner(held, "config", "task").get("source"))
        or (name or "").partition("/")[0]
        or None
    )
    found.add(
        subject=f"{model} ({agent})" if model and agent else model or agent,
        kind="model" if model else "baseline",
        task=name,
        score=number(reward),
        better=(metric and better_by_name(metric)) or "higher",
        domain=domain,
        seconds=_seconds(inner(held, "agent_execution")) or _seconds(held),
        tokens=_sum(*(one.get(f"n_{side}_tokens") for one in spent for side in ("input", "output"))),
        cost=_sum(*(one.get("cost_usd") for one in spent)),
        limit=exception if is_limit else None,
        error=None if is_limit else exception,
        reason=exception or "the verifier gave no reward",
        date=day(held.get("started_at")),
        source=path.parent.name,
    )
    return found


def _job(path: Path, held: dict[str, Any]) -> Found:
    """The means of a job's evals, for where its trials are not there."""
    found = Found(path, Scores)
    for name, stats in inner(held, "stats", "evals").items():
        agent, _, rest = name.partition("__")
        model, _, dataset = rest.rpartition("__")
        means = [number(one.get("mean")) for one in items(stats, "metrics") if isinstance(one, dict)]
        n = number(inner(stats).get("n_trials"))
        found.add(
            model=f"{model} ({agent})" if model else agent,
            benchmark=dataset or name,
            score=next((mean for mean in means if mean is not None), None),
            n_items=int(n) if n and n >= 1 else None,
            source=path.parent.name,
        )
    return found


def _run(path: Path, held: dict[str, Any]) -> Found:
    found = Found(path)
    beside = path.parent / "run_metadata.json"
    run = load_json(beside) if beside.is_file() else {}
    model, agent = text(inner(run).get("model_name")), text(inner(run).get("agent_name"))
    subject = f"{model} ({agent})" if model and agent else model or agent or path.resolve().parent.name
    domain = text(inner(run).get("dataset_name")) or "terminal-bench"
    for trial in items(held, "results"):
        if not isinstance(trial, dict):
            found.left_out["not an object"] += 1
            continue
        ident, resolved = text(trial.get("task_id")), trial.get("is_resolved")
        failure = text(trial.get("failure_mode"))
        failed = failure if failure not in (None, "none", "unset") else None
        is_limit = failed is not None and _LIMITS.search(failed) is not None
        found.add(
            subject=subject,
            task=ident and f"{domain}/{ident}",
            score=float(resolved) if isinstance(resolved, bool) else None,
            domain=domain,
            seconds=_seconds(trial, "agent_") or _seconds(trial, "trial_"),
            tokens=_sum(trial.get("total_input_tokens"), trial.get("total_output_tokens")),
            limit=failed if is_limit else None,
            error=None if is_limit else failed,
            reason=failed or "neither resolved nor unresolved",
            date=day(trial.get("trial_started_at")),
            source=path.parent.name,
        )
    stated = number(held.get("accuracy"))
    if stated is not None and len({row["task"] for row in found.rows}) == len(found.rows):
        found.reported[subject, domain] = stated
    return found


def _sum(*counts: Any) -> float | None:
    found = [one for one in map(number, counts) if one is not None]
    return sum(found) if found else None


def _seconds(held: dict[str, Any], prefix: str = "") -> float | None:
    """Between start and end, where both are times."""
    ends = (held.get(f"{prefix}started_at"), held.get(f"{prefix}finished_at") or held.get(f"{prefix}ended_at"))
    try:
        start, end = (datetime.fromisoformat(str(one)) for one in ends)
        seconds = (end - start).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if seconds >= 0 else None
