"""Prodigy annotations (the JSON lines of `prodigy db-out`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from howsure.sources._rating_tools import Given, by_rater_and_item, chosen, json_lines, reader, write_lines
from howsure.sources._reading import keys
from howsure.sources._records import inner, items, text
from howsure.tables import Ratings

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise", "write"]

ABOUT = "Prodigy annotations (jsonl of `prodigy db-out`: choices, or labels that were accepted or rejected)"
OPTIONS = frozenset({"strict", "metric"})
LAYOUTS = {"annotations": frozenset({"_input_hash", "_task_hash", "answer"})}


def recognise(path: Path) -> str | None:
    """By Prodigy's hashes and its answer."""
    is_prodigy = path.suffix == ".jsonl" and path.is_file() and {"_input_hash", "answer"} <= set(keys(path))
    return "it has _input_hash and answer, as Prodigy's annotations do" if is_prodigy else None


def _load(path: Path) -> Given:
    found = Given()
    for one in json_lines(path):
        rater = text(one.get("_annotator_id")) or text(one.get("_session_id")) or "annotator"
        item = text(inner(one, "meta").get("id")) or text(one.get("_input_hash"))
        answer = one.get("answer")
        if answer == "ignore":
            found.left_out["ignored by the annotator"] += 1
        elif "accept" in one or items(one, "options"):
            if answer == "accept":
                accepted: Any = one.get("accept") or []
                words = {
                    text(inner(option).get("id")): text(inner(option).get("text")) for option in items(one, "options")
                }
                named = [words.get(text(choice)) or text(choice) for choice in accepted]
                found.add(
                    rater, item, text(one.get("question")) or "choice", chosen(named) if len(named) != 1 else named[0]
                )
            else:
                found.left_out["a choice that was rejected"] += 1
        elif text(one.get("label")) and not one.get("spans"):
            found.add(rater, item, one.get("label"), answer)
        else:
            found.left_out["spans or other annotations, which are no ratings"] += 1
    return found


read = reader(_load)


def write(table: Ratings, folder: Path) -> list[Path]:
    """Choices, one line per rating, as Prodigy writes them."""
    rows = []
    for place, (item, by_rater) in enumerate(by_rater_and_item(table).items(), 1):
        for rater, answers in by_rater.items():
            for name, value in answers.items():
                said = value if isinstance(value, str) else f"{value:g}"
                rows.append({"text": item, "meta": {"id": item}, "question": name, "options": [{"id": said, "text": said}], "accept": [said], "answer": "accept", "_annotator_id": rater, "_input_hash": place, "_task_hash": place})  # fmt: skip
    return [write_lines(folder / "prodigy.jsonl", rows)]
