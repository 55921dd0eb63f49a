"""Argilla exports (JSON, JSON lines or parquet): the responses of every user to every question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from howsure.sources._rating_tools import Given, by_rater_and_item, chosen, json_lines, reader, write_lines
from howsure.sources._reading import keys
from howsure.sources._records import inner, items, text
from howsure.tables import Ratings
from howsure.tables.frames import format_of, parts_of

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise", "write"]

ABOUT = "Argilla records (JSON, jsonl or parquet, with responses)"
OPTIONS = frozenset({"strict", "metric"})
LAYOUTS = {"records": frozenset({"fields", "responses"})}
_USERS = ".responses.users"


def recognise(path: Path) -> str | None:
    """By fields with responses, or by a column of users for each question."""
    if not path.is_file() or not (format_of(path) or path.suffix == ".json"):
        return None
    there = keys(path)
    is_records = {"fields", "responses"} <= set(there) or any(name.endswith(_USERS) for name in there)
    return "it contains records with responses, as Argilla exports them" if is_records else None


def _load(path: Path) -> Given:
    found = Given()
    if format_of(path) == "parquet":
        (part,) = parts_of(path)
        records: Any = part.collect(part.rows).to_dicts()
    else:
        records = json_lines(path)
    for place, record in enumerate(records):
        item = text(record.get("id")) or text(inner(record, "metadata").get("id")) or str(place + 1)
        for name in [key.removesuffix(_USERS) for key in record if key.endswith(_USERS)]:
            users, values = record[f"{name}{_USERS}"] or [], record.get(f"{name}.responses") or []
            states = record.get(f"{name}.responses.status") or ["submitted"] * len(users)
            for user, value, state in zip(users, values, states, strict=False):
                _add(found, user, item, name, value, state)
        responses = record.get("responses")
        if isinstance(responses, dict):
            for name, given in responses.items():
                for one in given if isinstance(given, list) else []:
                    _add(
                        found, inner(one).get("user_id"), item, name, inner(one).get("value"), inner(one).get("status")
                    )
        for one in items(record, "responses"):
            for name, given in inner(one, "values").items():
                _add(found, inner(one).get("user_id"), item, name, inner(given).get("value"), inner(one).get("status"))
    return found


read = reader(_load)


def _add(found: Given, user: Any, item: str, name: str, value: Any, state: Any) -> None:
    if state not in (None, "submitted"):
        found.left_out[f"a response that is {state}"] += 1
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        found.left_out["a ranking or span, which is no rating"] += 1
    else:
        found.add(user, item, name, chosen(value))


def write(table: Ratings, folder: Path) -> list[Path]:
    """Records with responses, as Argilla exports them."""
    records = []
    for item, by_rater in by_rater_and_item(table).items():
        responses: dict[str, list[dict[str, Any]]] = {}
        for rater, answers in by_rater.items():
            for name, value in answers.items():
                responses.setdefault(name, []).append({"user_id": rater, "value": value, "status": "submitted"})
        records.append({"id": item, "fields": {"item": item}, "metadata": {}, "responses": responses})
    return [write_lines(folder / "argilla.json", records, is_list=True)]
