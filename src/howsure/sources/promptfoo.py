"""promptfoo's JSON output: every test with every provider and prompt is an attempt that passed, failed or ended in an error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from howsure.sources import Progress
from howsure.sources._reading import head, json_outline
from howsure.sources._records import Found, as_table, content_digest, day, inner, items, load_json, number, text
from howsure.tables import Table
from howsure.tables.metrics import better_by_name

__all__ = ["ABOUT", "HARNESS", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "promptfoo eval output (JSON)"
OPTIONS = frozenset({"metric", "strict", "better"})
HARNESS = {"errored": "wrong"}
LAYOUTS = {"output": frozenset({"evalId", "results"})}

_ERROR = 2  # in failureReason: neither passed nor failed


def recognise(path: Path) -> str | None:
    """By the results' own keys: version and the list of results or of prompts."""
    if path.suffix != ".json" or not path.is_file():
        return None
    outline = json_outline(head(path))
    there = set(outline.get("results", ()))
    is_output = "version" in there and there & {"results", "prompts", "stats", "table"}
    return "it contains results with a version, as promptfoo writes them" if is_output else None


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    metric: str | None = None,
    strict: bool = False,
    better: str | None = None,
) -> Table:
    """Passed is 1 and failed 0, as in promptfoo's pass rate; ``metric="score"`` takes the score, another name a named score."""

    def load(path: Path) -> Found:
        return _load(path, metric)

    return as_table(paths, load, divide_by=divide_by, progress=progress, strict=strict, better=better, harness=HARNESS)


def _load(path: Path, metric: str | None) -> Found:
    held = load_json(path)
    summary = inner(held, "results")
    listed = items(summary, "results")
    results = [one for one in listed if isinstance(one, dict)]
    found = Found(path)
    found.left_out["not an object"] += len(listed) - len(results)
    prompts = {_prompt(one) for one in results}
    name = text(inner(held, "config").get("description")) or path.stem
    for one in results:
        usage = inner(one, "response", "tokenUsage") or inner(one, "tokenUsage")
        latency = number(one.get("latencyMs"))
        error = text(
            one.get("error") if one.get("failureReason", _ERROR) == _ERROR and not one.get("gradingResult") else None
        )
        found.add(
            subject=_provider(one),
            task=f"{name}/{_test(one)}",
            score=None if error else _score(one, metric),
            domain=name,
            better=better_by_name(metric) if metric else None,
            item_digest=_digest(one),
            seconds=None if latency is None else latency / 1000,
            cost=number(one.get("cost")),
            tokens=number(usage.get("total")),
            error=error,
            **_refusal(one, error),
            date=day(summary.get("timestamp")),
            source=path.name,
            **({"prompt": _prompt(one)} if len(prompts) > 1 else {}),
        )
    if metric is None and len(prompts) == 1:
        _state(found, summary, name)
    return found


def _refusal(one: dict[str, Any], error: str | None) -> dict[str, str]:
    """What is said where a test has no score because the provider's reply was a refusal."""
    response = inner(one, "response")
    said = text(response.get("finishReason"))
    is_refusal = response.get("isRefusal") is True or said == "content_filter"
    return {"outcome": "refused", "reason": error or said or "refusal"} if is_refusal else {}


def _state(found: Found, summary: dict[str, Any], name: str) -> None:
    """The pass rates that promptfoo states; a test that ended in an error did not pass."""
    for prompt in items(summary, "prompts"):
        metrics, provider = inner(prompt, "metrics"), text(prompt.get("provider")) if isinstance(prompt, dict) else None
        passed, failed = number(metrics.get("testPassCount")), number(metrics.get("testFailCount"))
        n_tests = (passed or 0) + (failed or 0) + (number(metrics.get("testErrorCount")) or 0)
        if provider and passed is not None and failed is not None and n_tests:
            found.reported[provider, name] = passed / n_tests


def _provider(one: dict[str, Any]) -> str | None:
    provider = one.get("provider")
    return text(provider) or text(inner(one, "provider").get("label")) or text(inner(one, "provider").get("id"))


def _prompt(one: dict[str, Any]) -> str:
    prompt = inner(one, "prompt")
    return (text(prompt.get("label")) or text(prompt.get("raw")) or text(one.get("promptIdx")) or "")[:60]


def _test(one: dict[str, Any]) -> str:
    """The test's number; in older files, which have none, what it asks."""
    place = one.get("testIdx")
    return f"test {place}" if isinstance(place, int) else _digest(one) or "test"


def _score(one: dict[str, Any], metric: str | None) -> float | None:
    if metric == "score":
        return number(one.get("score"))
    if metric:
        return number(inner(one, "namedScores").get(metric))
    success = one.get("success")
    return float(success) if isinstance(success, bool) else None


def _digest(one: dict[str, Any]) -> str | None:
    asked = one.get("vars") or inner(one, "testCase").get("vars")
    if not asked:
        return None
    return content_digest(json.dumps(asked, sort_keys=True, default=str))
