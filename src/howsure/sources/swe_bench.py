"""SWE-bench: reports of a run (``<model>.<run id>.json``), reports of single instances, and the leaderboards.

Instances become attempts. In SWE-bench's own rate, instances whose evaluation failed or that were not submitted are not resolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from howsure.errors import InputError
from howsure.sources import Progress
from howsure.sources._reading import fitting, head, json_outline
from howsure.sources._records import Found, as_table, day, inner, items, load_json, number, text
from howsure.tables import Scores, Table

__all__ = ["ABOUT", "HARNESS", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "SWE-bench reports (of a run or of one instance) as attempts, leaderboards as scores"
OPTIONS = frozenset({"strict", "table"})
HARNESS = {"errored": "wrong", "unscored": "wrong", "absent": "wrong"}
LAYOUTS = {
    "report of a run": frozenset({"resolved_ids", "submitted_ids"}),
    "results of a submission": frozenset({"resolved", "no_generation"}),
    "leaderboards": frozenset({"leaderboards"}),
}

_EVAL = "SWE-bench"


def recognise(path: Path) -> str | None:
    """By the lists of instances in a report, the boards, or the outcome of one instance."""
    if path.suffix != ".json":
        return None
    layout = fitting(path, LAYOUTS) or ("report of an instance" if _is_instance(path) else None)
    return f"it is SWE-bench's {layout}" if layout else None


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    table: str | None = None,
    strict: bool = False,
) -> Table:
    """Submitted instances as attempts that were resolved or not, or the leaderboards' rates as scores."""
    return as_table(
        paths,
        _load,
        divide_by=divide_by,
        progress=progress,
        strict=strict,
        table=table,
        harness=HARNESS,
    )


def _load(path: Path) -> Found:
    held = load_json(path)
    layout = fitting(path, LAYOUTS)
    if layout == "leaderboards":
        return _leaderboards(path, held)
    if layout == "results of a submission":
        return _submission(path, held)
    return _report(path, held) if layout else _instance(path, held)


def _is_instance(path: Path) -> bool:
    outline = json_outline(head(path)) if path.is_file() else {}
    return any({"resolved", "patch_successfully_applied"} <= set(names) for names in outline.values())


def _report(path: Path, held: dict[str, Any]) -> Found:
    found = Found(path)
    model = path.name.removesuffix(".json").rpartition(".")[0] or path.stem
    resolved, failed = set(map(str, items(held, "resolved_ids"))), set(map(str, items(held, "error_ids")))
    for ident in dict.fromkeys(map(str, items(held, "submitted_ids"))):
        score, error = (
            (None, "the evaluation of the patch failed") if ident in failed else (float(ident in resolved), None)
        )
        _add(found, model, ident, score, error=error)
    submitted = {row["task"] for row in found.rows}
    for ident in dict.fromkeys(map(str, items(held, "incomplete_ids"))):
        if f"{_EVAL}/{ident}" not in submitted:
            _add(found, model, ident, None, outcome="absent", reason="not submitted")
    n, n_resolved = number(held.get("total_instances")), number(held.get("resolved_instances"))
    if n and n_resolved is not None:
        found.reported[_name(model), _EVAL] = n_resolved / n
    return found


def _submission(path: Path, held: dict[str, Any]) -> Found:
    """Only ids that are in some list are known; those that were run and not resolved are in newer files in none."""
    found = Found(path)
    model = path.resolve().parent.parent.name if path.parent.name == "results" else path.stem
    listed = dict.fromkeys(str(one) for name in held for one in items(held, name))
    resolved = set(map(str, items(held, "resolved")))
    for ident in listed:
        _add(found, model, ident, float(ident in resolved))
    if not items(held, "applied") and not items(held, "generated"):
        found.notes.append(
            f"{path}: names resolved instances only; those that were tried and not resolved are not in it."
        )
    return found


def _instance(path: Path, held: Any) -> Found:
    found = Found(path)
    if not isinstance(held, dict):
        raise InputError(f"{path}: not a report of SWE-bench.")
    model = path.resolve().parent.parent.name
    for ident, outcome in held.items():
        resolved = outcome.get("resolved") if isinstance(outcome, dict) else None
        score = float(resolved) if isinstance(resolved, bool) else None
        _add(found, model, ident, score, reason="resolved is not in the report")
    return found


def _leaderboards(path: Path, held: dict[str, Any]) -> Found:
    """The share of resolved instances, which the boards give in per cent."""
    found = Found(path, Scores)
    for board in items(held, "leaderboards"):
        for entry in items(board, "results"):
            rate = number(inner(entry).get("resolved"))
            found.add(
                model=text(inner(entry).get("name")),
                benchmark=f"{_EVAL} {text(board.get('name')) or ''}".strip(),
                score=None if rate is None else rate / 100,
                date=day(inner(entry).get("date")),
                source=path.name,
            )
    return found


def _add(found: Found, model: str, ident: str, score: float | None, **ending: str | None) -> None:
    family = ident.rpartition("-")[0] or None  # the repository: django__django-11099
    found.add(
        subject=_name(model),
        task=f"{_EVAL}/{ident}" if ident.strip() else None,
        score=score,
        domain=_EVAL,
        family=family,
        source=found.path.name,
        **ending,
    )


def _name(model: str) -> str:
    return model.replace("__", "/", 1)
