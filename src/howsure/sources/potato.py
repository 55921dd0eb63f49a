"""Potato annotations (annotated_instances.jsonl of every user, or one table of all users)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from howsure.sources._rating_tools import Given, by_rater_and_item, chosen, json_lines, reader, table_rows, write_lines
from howsure.sources._reading import keys
from howsure.sources._records import inner, number, text
from howsure.tables import Ratings
from howsure.tables.frames import format_of

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise", "write"]

ABOUT = (
    "Potato annotations (annotated_instances.jsonl, one folder per user; or csv and tsv with columns QUESTION:::OPTION)"
)
OPTIONS = frozenset({"strict", "metric"})
LAYOUTS = {"annotations": frozenset({"label_annotations", "span_annotations"})}


def recognise(path: Path) -> str | None:
    """By labels and spans beside each other, or by columns of a question's options."""
    if path.is_file() and format_of(path) in ("csv", "tsv"):
        columns = keys(path)
        is_table = "user" in columns and "instance_id" in columns and any(":::" in name for name in columns)
        return "it has user, instance_id and QUESTION:::OPTION, as Potato's tables do" if is_table else None
    if path.suffix not in (".jsonl", ".json") or not path.is_file():
        return None
    there = set(keys(path))
    is_potato = "label_annotations" in there and there & {"id", "instance_id"}
    return "it contains label_annotations, as Potato writes them" if is_potato else None


def _load(path: Path) -> Given:
    found = Given()
    is_table = format_of(path) in ("csv", "tsv")
    for one in map(_nested, table_rows(path)) if is_table else json_lines(path):
        # a user's annotations lie in a folder with the user's name
        rater = text(one.get("user_id")) or text(one.get("user")) or path.parent.name
        item = text(one.get("instance_id")) or text(one.get("id"))
        seconds = number(inner(one, "behavioral_data").get("time_spent"))
        for name, labels in inner(one, "label_annotations").items():
            said: Any = _said(labels) if isinstance(labels, dict) else labels
            found.add(rater, item, name, said, seconds=seconds)
        spans = one.get("span_annotations") or []
        if spans:
            found.left_out["a span, which is no rating"] += len(spans) if isinstance(spans, list | dict) else 1
    return found


read = reader(_load)


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table as the object of a line."""
    found: dict[str, Any] = {name: value for name, value in row.items() if ":::" not in name}
    labels: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        question, is_option, option = name.partition(":::")
        if is_option:
            labels.setdefault(question, {})[option] = value
    return found | {"label_annotations": labels}


def _said(labels: dict[str, Any]) -> Any:
    """The labels that are true, or the number or text that was given with one."""
    ticked = [name for name, value in labels.items() if str(value).lower() == "true"]
    if ticked:
        return chosen(ticked) if len(ticked) > 1 else ticked[0]
    given = [value for value in labels.values() if str(value).lower() != "false" and value not in (None, "")]
    return given[0] if len(given) == 1 else chosen(given)


def write(table: Ratings, folder: Path) -> list[Path]:
    """One file per rater, as Potato writes them."""
    by_rater: dict[str, list[dict[str, Any]]] = {}
    for item, raters in by_rater_and_item(table).items():
        for rater, answers in raters.items():
            labels = {
                name: {value: "true"} if isinstance(value, str) else {"value": value} for name, value in answers.items()
            }
            by_rater.setdefault(rater, []).append(
                {
                    "user_id": rater,
                    "id": item,
                    "label_annotations": labels,
                    "span_annotations": [],
                    "behavioral_data": {},
                }
            )
    return [
        write_lines(folder / f"user-{place}" / "annotated_instances.jsonl", rows)
        for place, rows in enumerate(by_rater.values(), 1)
    ]
