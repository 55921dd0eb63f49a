"""Sections as files, so that results of many commands can be gathered in one page later."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from howsure.charts.drawing import Chart
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.outside_text import json_text
from howsure.results import Provenance, plain
from howsure.results.blocks import (
    Block,
    Cell,
    ChartBlock,
    Download,
    KeyNumbers,
    Method,
    Report,
    Section,
    TableBlock,
    Text,
)
from howsure.safe_io import read_bytes, write_atomic

__all__ = ["ENDING", "find_reports", "load_sections", "save_sections"]

ENDING = ".sections.json"
_FORM = 1
_FRONT = ("caveat", "next_step", "question", "verdict")  # texts of a section for the front page
_KINDS = {kind.__name__: kind for kind in (Text, KeyNumbers, TableBlock, ChartBlock, Method, Download)}


def save_sections(report: Report, path: Path) -> Path:
    """Write a report's sections with what made them; `find_reports` reads them."""
    told = {
        "form": _FORM,
        "title": report.title,
        "date": report.date.isoformat(),
        "made": plain(report.made),
        "summary": [_packed(block) for block in report.summary],
        "sections": [
            {"title": one.title, "found": list(one.found), "unknown": list(one.unknown)}
            | {name: getattr(one, name) for name in _FRONT}
            | {"headline": _packed(one.headline) if one.headline else None}
            | {"blocks": [_packed(block) for block in one.blocks]}
            for one in report.sections
        ],
    }
    return write_atomic(path, json_text(told, separators=(",", ":")))


def load_sections(path: Path) -> Report:
    """The report that was saved there."""
    try:
        told = json.loads(read_bytes(path))
        if told["form"] != _FORM:
            raise InputError(f"{path}: was written by another version of Howsure. Make it again.")
        sections = [
            Section(
                one["title"],
                [_unpacked(block) for block in one["blocks"]],
                one["found"],
                one["unknown"],
                headline=_unpacked(one["headline"]) if one.get("headline") else None,  # type: ignore[arg-type]
                **{name: one[name] for name in _FRONT if name in one},
            )
            for one in told["sections"]
        ]
        made = told["made"]
        return Report(
            told["title"],
            sections,
            Provenance(made["settings"], made["digest"], made["seed"], tuple(made["notes"]), made["version"]),
            datetime.date.fromisoformat(told["date"]),
            [_unpacked(block) for block in told["summary"]],
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: contains no sections of a report ({error}). Make it again.") from None


def find_reports(folders: Iterable[Path]) -> dict[Path, Report]:
    """All saved reports in these folders and their subfolders, by file, in the order of the folders.

    Parameters
    ----------
    folders : Iterable[Path]
        The folders.
    """
    found: dict[Path, Report] = {}
    for folder in folders:
        files = [folder] if folder.is_file() else sorted(folder.rglob(f"*{ENDING}"))
        if not files:
            raise InputError(
                f"{folder}: contains no saved result. Name folders that verbs of howsure wrote to with -o (they contain files that end in {ENDING})."
            )
        found |= {path: load_sections(path) for path in files}
    return found


def _packed(block: Block) -> dict[str, Any]:
    name = type(block).__name__
    if isinstance(block, ChartBlock):
        from howsure.charts.export import to_spec

        return {"kind": name, "alt": block.alt, "spec": to_spec(block.chart)}
    if isinstance(block, Download):
        data = block.data.encode() if isinstance(block.data, str) else block.data
        return {"kind": name, "filename": block.filename, "mime": block.mime, "data": base64.b64encode(data).decode()}
    if isinstance(block, KeyNumbers):
        return {"kind": name, "numbers": {key: _cell(value) for key, value in block.numbers.items()}}
    if isinstance(block, TableBlock):
        rows = [[_cell(cell) for cell in row] for row in block.rows]
        return {"kind": name, "columns": list(block.columns), "rows": rows, "caption": block.caption}
    return {"kind": name, **asdict(block)}


def _unpacked(told: Mapping[str, Any]) -> Block:
    kind, told = told["kind"], {key: value for key, value in told.items() if key != "kind"}
    if kind == "ChartBlock":
        return ChartBlock(Chart(**told["spec"]), told["alt"])
    if kind == "Download":
        return Download(told["filename"], base64.b64decode(told["data"]), told["mime"])
    if kind == "KeyNumbers":
        return KeyNumbers({key: _uncelled(value) for key, value in told["numbers"].items()})
    if kind == "TableBlock":
        return TableBlock(told["columns"], [[_uncelled(cell) for cell in row] for row in told["rows"]], told["caption"])
    block: Block = _KINDS[kind](**told)
    return block


def _cell(value: Cell) -> Any:
    """A cell as JSON; what JSON does not know is wrapped."""
    if isinstance(value, Estimate):
        return {"estimate": value.as_dict()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    return plain(value)


def _uncelled(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return Estimate(**value["estimate"]) if "estimate" in value else datetime.date.fromisoformat(value["date"])
