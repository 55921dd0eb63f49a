"""Sections as files, so that results of many commands can be gathered in one page later."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from howsure.charts.drawing import Chart
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.outside_text import json_text
from howsure.results import Provenance, Result, plain
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
from howsure.results.storage import ENDING as RESULT_ENDING
from howsure.safe_io import points_outside, read_bytes, write_atomic

__all__ = ["ENDING", "files_saved_with", "find_reports", "load_sections", "save_sections"]

ENDING = ".sections.json"
_FORM = 1
_NOT_SECTIONS = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
_FRONT = ("caveat", "next_step", "question", "verdict")  # texts of a section for the front page
_KINDS = {kind.__name__: kind for kind in (Text, KeyNumbers, TableBlock, ChartBlock, Method, Download)}


def save_sections(report: Report, path: Path, *, kind: str = "", files: Sequence[Path] = ()) -> Path:
    """Write a report's sections with what made them; `find_reports` reads them.

    Parameters
    ----------
    report : Report
        The report.
    path : Path
        The file to write.
    kind : str
        The kind of result, such as the name of its class: files of another kind in the same place are not ours.
    files : Sequence[Path]
        The files that were written with it, in the same folder or below; their names and digests are kept (`files_saved_with`).
    """
    told = {
        "form": _FORM,
        "kind": kind,
        "files": {
            one.relative_to(path.parent).as_posix(): _digest(one) for one in files if one.is_relative_to(path.parent)
        },
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
    return _read(path)[0]


def _read(path: Path) -> tuple[Report, list[tuple[Path, str]]]:
    """The report, and the files that were written with it, with their digests."""
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
        report = Report(
            told["title"],
            sections,
            Provenance(made["settings"], made["digest"], made["seed"], tuple(made["notes"]), made["version"]),
            datetime.date.fromisoformat(told["date"]),
            [_unpacked(block) for block in told["summary"]],
        )
        return report, _files(told, path)
    except _NOT_SECTIONS as error:
        raise InputError(f"{path}: contains no sections of a report ({error}). Make it again.") from None


def files_saved_with(path: Path, kind: str) -> list[Path]:
    """The files that were written with these sections, if the result was of this kind, and that have not been changed since."""
    try:
        told = json.loads(read_bytes(path)) if path.is_file() else {}
        if not told or told["kind"] != kind:
            return []
        others = {one for other in path.parent.glob(f"*{ENDING}") if other != path for one, _ in _recorded(other)}
        return [one for one, digest in _files(told, path) if one not in others and _is_unchanged(one, digest)]
    except _NOT_SECTIONS:
        return []


def find_reports(folders: Iterable[Path]) -> dict[Path, Report]:
    """All saved reports in these folders and their subfolders, by file, in the order of the folders.

    A report is made of the result itself where no sections were saved with it, or where it was saved again without them, as `Result.save` does.

    Parameters
    ----------
    folders : Iterable[Path]
        The folders.
    """
    found: dict[Path, Report] = {}
    for folder in folders:
        reports: dict[Path, Report] = {}
        is_result = folder.name.endswith(RESULT_ENDING)
        files = ([] if is_result else [folder]) if folder.is_file() else sorted(folder.rglob(f"*{ENDING}"))
        for path in files:
            report, with_it = _read(path)
            results = [(one, digest) for one, digest in with_it if one.name.endswith(RESULT_ENDING) and one.is_file()]
            newer = [one for one, digest in results if not _is_unchanged(one, digest)]
            reports |= {one: _report_of(one) for one in newer} if newer else {path: report}
        if not reports:
            saved = [folder] if is_result else sorted(folder.rglob(f"*{RESULT_ENDING}"))
            reports = {one: _report_of(one) for one in saved if one == folder or _json_of(one).is_file()}
        if not reports:
            raise InputError(
                f"{folder}: contains no saved result. Name folders that verbs of howsure wrote to with -o (they contain files that end in {ENDING})."
            )
        found |= reports
    return found


def _json_of(path: Path) -> Path:
    """What `Result.save` writes beside a result; what an interrupted run keeps for later has none."""
    return path.with_name(path.name.removesuffix(RESULT_ENDING) + ".json")


def _report_of(path: Path) -> Report:
    """The report on a saved result, with the day on which it was saved."""
    result = Result.load(path)
    sections = result.sections()
    day = datetime.datetime.fromtimestamp(path.stat().st_mtime, tz=datetime.UTC).date()
    return Report(sections[0].title, sections, result.provenance, day, result.opening())


def _recorded(path: Path) -> list[tuple[Path, str]]:
    try:
        return _files(json.loads(read_bytes(path)), path)
    except _NOT_SECTIONS:
        return []


def _files(told: Mapping[str, Any], path: Path) -> list[tuple[Path, str]]:
    """The files in a record and their digests, without names that lead out of the folder or through a link."""
    named = [(path.parent / name, digest) for name, digest in told.get("files", {}).items() if not points_outside(name)]
    home = path.parent.resolve()
    return [
        (one, digest) for one, digest in named if one.parent.resolve() == home / one.parent.relative_to(path.parent)
    ]


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_unchanged(path: Path, digest: str) -> bool:
    try:
        return path.is_file() and _digest(path) == digest
    except OSError:  # a name that no disk allows, or a file that may not be read
        return False


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
