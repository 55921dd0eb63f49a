"""Label Studio exports (JSON, JSON-MIN, CSV): choices, ratings and numbers of every annotator."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from howsure.sources._rating_tools import Given, by_rater_and_item, chosen, json_lines, reader, table_rows, write_lines
from howsure.sources._reading import head, keys
from howsure.sources._records import inner, items, number, text
from howsure.tables import Ratings
from howsure.tables.frames import format_of

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise", "write"]

ABOUT = (
    "Label Studio exports (JSON: a list of tasks with their annotations; JSON-MIN, CSV and TSV: one row per annotation)"
)
OPTIONS = frozenset({"strict", "metric"})
LAYOUTS = {
    "tasks": frozenset({"id", "data", "annotations"}),
    "annotations": frozenset({"id", "annotation_id", "annotator", "lead_time"}),
}
_VALUES = ("choices", "rating", "number", "text", "taxonomy", "selected")


def recognise(path: Path) -> str | None:
    """By tasks with annotations that have results, or by one row per annotation."""
    if not path.is_file() or not (path.suffix == ".json" or format_of(path) in ("csv", "tsv")):
        return None
    if LAYOUTS["annotations"] <= set(keys(path)):
        return "it has one row per annotation, with annotator and lead_time, as Label Studio's JSON-MIN and CSV have"
    is_tasks = {"data", "annotations"} <= set(keys(path)) and "from_name" in head(path)
    return "it is a list of tasks with annotations, as Label Studio exports them" if is_tasks else None


def _load(path: Path) -> Given:
    is_table = format_of(path) in ("csv", "tsv")
    if is_table or LAYOUTS["annotations"] <= set(keys(path)):
        return _of_annotations(list(table_rows(path) if is_table else json_lines(path)))
    found = Given()
    for task in json_lines(path):
        item = text(inner(task, "data").get("id")) or text(task.get("id"))
        for annotation in items(task, "annotations"):
            if inner(annotation).get("was_cancelled"):
                found.left_out["skipped by the annotator"] += 1
                continue
            by = inner(annotation).get("completed_by")
            rater = text(by.get("email")) or text(by.get("id")) if isinstance(by, dict) else text(by)
            results = items(annotation, "result")
            if not results:
                found.left_out["an annotation without a result"] += 1
            for one in results:
                value = inner(one, "value")
                kind = next((name for name in _VALUES if name in value), None)
                if inner(one).get("type") == "textarea":
                    found.left_out["a comment, which is no rating"] += 1
                    continue
                if kind is None or ("start" in value and "end" in value):
                    found.left_out["a region or span, which is no rating"] += 1
                    continue
                said: Any = chosen(value[kind])
                found.add(rater, item, inner(one).get("from_name"), said, seconds=number(annotation.get("lead_time")))
    return found


_ABOUT_ANNOTATION = LAYOUTS["annotations"] | {"created_at", "updated_at", "agreement"}


def _of_annotations(rows: list[dict[str, Any]]) -> Given:
    """One row per annotation: columns of the task stand beside the questions, and are told by another value for each task, the same for all annotators."""
    found = Given()
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in _ABOUT_ANNOTATION]
    for name in names:
        pairs = {(text(row.get("id")), str(row.get(name))) for row in rows}
        if len(pairs) == len({item for item, _ in pairs}) == len({value for _, value in pairs}):
            found.left_out[f"column {name}, which belongs to the task"] += len(rows)
            continue
        for row in rows:
            value = row.get(name)
            if isinstance(value, str) and value.startswith(("{", "[")):
                with contextlib.suppress(ValueError):
                    value = json.loads(value)
            if isinstance(value, dict):
                value = value.get("choices")
            if isinstance(value, list) and any(isinstance(one, dict) for one in value):
                found.left_out["a region or span, which is no rating"] += 1
                continue
            found.add(row.get("annotator"), row.get("id"), name, chosen(value), seconds=_seconds(row.get("lead_time")))
    return found


def _seconds(given: Any) -> float | None:
    try:
        return number(float(given))
    except (TypeError, ValueError):
        return None


read = reader(_load)


def write(table: Ratings, folder: Path) -> list[Path]:
    """Tasks with annotations, as Label Studio exports and imports them."""
    tasks = []
    for place, (item, by_rater) in enumerate(by_rater_and_item(table).items(), 1):
        annotations = [
            {
                "completed_by": {"email": rater},
                "was_cancelled": False,
                "result": [
                    {"from_name": name, "to_name": "text", "type": "choices" if isinstance(value, str) else "number", "value": {"choices": [value]} if isinstance(value, str) else {"number": value}}
                    for name, value in answers.items()
                ],
            }
            for rater, answers in by_rater.items()
        ]  # fmt: skip
        tasks.append({"id": place, "data": {"id": item}, "annotations": annotations})
    return [write_lines(folder / "label_studio.json", tasks, is_list=True)]
