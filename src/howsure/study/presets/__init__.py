"""Studies to start from, as `howsure study init` writes them: files that work at once."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from howsure.errors import InputError, OptionError
from howsure.people.words import LANGUAGES
from howsure.results import write_json
from howsure.safe_io import write_atomic
from howsure.study.inputs import PATH, check_type
from howsure.study.item_studies import ItemStudy
from howsure.study.protocol import Study

__all__ = ["PRESETS", "init", "preset_text", "study_schema"]

PRESETS = {
    "persona": "pairs of responses against a gold standard: does it sound like the same voice?",
    "likert": "ratings on scales, a slider and yes/no, one response at a time, in balanced blocks",
    "pairwise": "two responses side by side, which is better? Markdown, code and formulas",
    "ranking": "all responses put in order, and a rating of each; conversations",
    "labels": "categories, multiple labels and marked words",
}
"""What can be started from, and what each asks."""


def preset_text(preset: str) -> str:
    """The text of a preset's file."""
    check_type("preset", preset, str, f"one of {', '.join(PRESETS)}")
    if preset not in PRESETS:
        raise OptionError.unknown("preset", preset, PRESETS)
    return files("howsure.study.presets").joinpath(f"{preset}.yaml").read_text(encoding="utf-8")


def init(folder: str | os.PathLike[str] = ".", preset: str = "persona") -> list[Path]:
    """Write a commented study to start from: ``init("my-study", "pairwise")``.

    Parameters
    ----------
    folder : str or path
        Where ``study.yaml``, ``study.schema.json`` (for editors) and ``words.yaml`` (to translate the page) are written. A study that is
        already there is never overwritten.
    preset : {"persona", "likert", "pairwise", "ranking", "labels"}
        The kind of study.
    """
    check_type("folder", folder, PATH, "the path of a folder")
    text, folder = preset_text(preset), Path(folder)
    if (folder / "study.yaml").exists():
        raise InputError(f"{folder / 'study.yaml'} is already there. Name another folder with -o.")
    words = files("howsure.people").joinpath("assets", f"words-{LANGUAGES[0]}.yaml").read_text(encoding="utf-8")
    return [
        write_atomic(folder / "study.yaml", text),
        write_json(study_schema(), folder / "study.schema.json"),
        write_atomic(folder / "words.yaml", words),
    ]


def study_schema() -> dict[str, Any]:
    """The JSON schema of study files of both kinds, for editors that complete and check."""
    pairs, items = Study.schema(), ItemStudy.schema()
    shared = {**pairs.pop("$defs"), **items.pop("$defs")}
    start = {"$schema": pairs.pop("$schema"), "title": "Study"}
    items.pop("$schema")
    return {**start, "$defs": shared, "if": {"required": ["items"]}, "then": items, "else": pairs}
