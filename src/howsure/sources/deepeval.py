"""DeepEval test runs: every metric of every test case is an attempt at that metric's own eval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from howsure.sources import Progress
from howsure.sources._reading import head, keys
from howsure.sources._records import Found, as_table, content_digest, inner, items, load_json, number, text
from howsure.tables import Table
from howsure.tables.metrics import better_by_name

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "DeepEval test runs (JSON that the results folder or .latest_test_run.json holds)"
OPTIONS = frozenset({"metric", "strict", "better"})
LAYOUTS = {"a test run": frozenset({"testCases", "metricsScores"}), "the latest test run": frozenset({"testRunData"})}


def recognise(path: Path) -> str | None:
    """By its test cases and their metrics."""
    if path.suffix != ".json" or not path.is_file():
        return None
    there = set(keys(path))
    is_run = there & {"testCases", "test_cases", "testRunData"} and any(
        name in head(path) for name in ("metricsData", "metrics_data")
    )
    return "it contains test cases with metrics, as DeepEval writes them" if is_run else None


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    metric: str | None = None,
    strict: bool = False,
    better: str | None = None,
) -> Table:
    """The score of each metric, 0–1; `metric` narrows them to one."""

    def load(path: Path) -> Found:
        return _load(path, metric)

    return as_table(paths, load, divide_by=divide_by, progress=progress, strict=strict, better=better)


def _load(path: Path, wanted: str | None) -> Found:
    held = load_json(path)
    run = inner(held, "testRunData") or inner(held)
    found = Found(path)
    settings = inner(run, "hyperparameters")
    model = text(settings.get("model")) or text(settings.get("Model")) or text(run.get("identifier"))
    if model is None:
        found.notes.append(f"{path.name}: names no model among its hyperparameters; its file's name is taken.")
    subject = model or path.stem
    cases = [
        *_either(run, "testCases", "test_cases"),
        *_either(run, "conversationalTestCases", "conversational_test_cases"),
    ]
    for place, case in enumerate(cases):
        metrics = _either(case, "metricsData", "metrics_data")
        if not metrics:
            found.left_out["a test case without metrics"] += 1
        for one in metrics:
            name = text(inner(one).get("name"))
            if wanted and name != wanted:
                found.left_out[f"another metric than {wanted}"] += 1
                continue
            score = number(inner(one).get("score"))
            error = text(inner(one).get("error"))
            found.add(
                subject=subject,
                task=name and f"{name}/{text(inner(case).get('name')) or f'case {place}'}",
                score=None if error else score,
                reason=text(inner(one).get("reason")),
                domain=name,
                better=better_by_name(name or ""),
                item_digest=_digest(case),
                seconds=number(inner(case).get("runDuration")),
                cost=number(inner(one).get("evaluationCost")),
                error=error,
                source=path.name,
            )
    for stated in items(run, "metricsScores"):
        scores = [number(one) for one in items(stated, "scores")]
        known = [one for one in scores if one is not None]
        if known and len(known) == len(scores) and not inner(stated).get("errors"):
            found.reported[subject, str(inner(stated).get("metric"))] = sum(known) / len(known)
    return found


def _either(held: Any, *names: str) -> list[Any]:
    return next((found for name in names if (found := items(held, name))), [])


def _digest(case: Any) -> str | None:
    asked = text(inner(case).get("input"))
    if asked is None:
        return None
    return content_digest(asked, inner(case).get("expectedOutput"))
