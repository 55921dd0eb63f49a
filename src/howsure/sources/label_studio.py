"""Label Studio exports (JSON): choices, ratings, numbers and texts of every annotator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from howsure.sources._rating_tools import Given, by_rater_and_item, chosen, json_lines, reader, write_lines
from howsure.sources._records import inner, items, number, text
from howsure.sources._sniff import head, keys
from howsure.tables import Ratings

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise", "write"]

ABOUT = "Label Studio exports (JSON: a list of tasks with their annotations)"
OPTIONS = frozenset({"strict", "metric"})
LAYOUTS = {"tasks": frozenset({"id", "data", "annotations"})}
_VALUES = ("choices", "rating", "number", "text", "taxonomy", "selected")


def recognise(path: Path) -> str | None:
    """By tasks with annotations that have results."""
    if path.suffix != ".json" or not path.is_file():
        return None
    is_tasks = {"data", "annotations"} <= set(keys(path)) and "from_name" in head(path)
    return "it is a list of tasks with annotations, as Label Studio exports them" if is_tasks else None


def _load(path: Path) -> Given:
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
                if kind is None or ("start" in value and "end" in value):
                    found.left_out["a region or span, which is no rating"] += 1
                    continue
                said: Any = chosen(value[kind])
                found.add(rater, item, inner(one).get("from_name"), said, seconds=number(annotation.get("lead_time")))
    return found


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
