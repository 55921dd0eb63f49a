"""Amazon Mechanical Turk results (csv with Answer. columns)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from howsure.sources._rating_tools import Given, by_rater_and_item, chosen, reader, table_rows
from howsure.sources._reading import keys
from howsure.sources._records import number, text
from howsure.tables import Ratings
from howsure.tables.frames import format_of, write_frame

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise", "write"]

ABOUT = "Mechanical Turk results (csv with HITId, WorkerId and Answer. columns)"
OPTIONS = frozenset({"strict", "metric"})
LAYOUTS = {"results": frozenset({"HITId", "WorkerId", "AssignmentId"})}


def recognise(path: Path) -> str | None:
    """By the identifiers of tasks and workers, and by answers."""
    if not path.is_file() or format_of(path) not in ("csv", "tsv"):
        return None
    there = set(keys(path))
    is_results = {"HITId", "WorkerId"} <= there and any(name.startswith("Answer.") for name in there)
    return "it has HITId, WorkerId and answers, as Mechanical Turk's results do" if is_results else None


def _load(path: Path) -> Given:
    found = Given()
    for row in table_rows(path):
        if (row.get("AssignmentStatus") or "").lower() == "rejected":
            found.left_out["a rejected assignment"] += 1
            continue
        item = next(
            (row[name] for name in ("Input.item", "Input.id", "Input.item_id") if row.get(name)), row.get("HITId")
        )
        ticked: dict[str, list[str]] = {}
        seconds = number(row.get("WorkTimeInSeconds"))
        for name in [one for one in row if one.startswith("Answer.")]:
            value, what = text(row[name]), name.removeprefix("Answer.")
            if what == "taskAnswers":
                for question, said in _crowd_form(value).items():
                    found.add(row.get("WorkerId"), item, question, said, seconds=seconds)
            elif "." in what and (value or "").lower() in ("true", "false", "on", ""):
                question, _, option = what.rpartition(".")
                ticked.setdefault(question, []).extend([option] if (value or "").lower() in ("true", "on") else [])
            else:
                found.add(row.get("WorkerId"), item, what, value, seconds=seconds)
        for question, options in ticked.items():
            found.add(
                row.get("WorkerId"),
                item,
                question,
                options[0] if len(options) == 1 else chosen(options),
                seconds=seconds,
            )
    return found


read = reader(_load)


def _crowd_form(value: str | None) -> dict[str, Any]:
    """The answers of a crowd form: a list with one object; a question's value is a text, a number, a label, or options of which some are true."""
    try:
        held = json.loads(value or "[]")
    except ValueError:
        return {}
    answers = held[0] if isinstance(held, list) and held and isinstance(held[0], dict) else {}
    found: dict[str, Any] = {}
    for name, said in answers.items():
        if isinstance(said, dict):
            options = [key for key, is_on in said.items() if is_on is True]
            found[name] = said.get("label") or (options[0] if len(options) == 1 else chosen(options))
        else:
            found[name] = said
    return found


def write(table: Ratings, folder: Path) -> list[Path]:
    """One row per worker and item, as Mechanical Turk's results."""
    rows = [
        {"HITId": f"hit-{place}", "AssignmentId": f"{place}-{rater}", "WorkerId": rater, "AssignmentStatus": "Approved", "Input.item": item} | {f"Answer.{name}": value for name, value in answers.items()}
        for place, (item, by_rater) in enumerate(by_rater_and_item(table).items(), 1)
        for rater, answers in by_rater.items()
    ]  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    return [write_frame(pl.DataFrame(rows, infer_schema_length=None), folder / "mturk.csv")]
