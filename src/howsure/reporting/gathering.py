"""Many saved results in one page: a summary in plain sentences, then every section, then what made each."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

from howsure._version import __version__
from howsure.errors import InputError
from howsure.results import Provenance
from howsure.results.blocks import Report, Section, TableBlock

__all__ = ["together"]

_MANY = 40  # sections that a page still holds


def together(
    reports: Mapping[Path, Report], *, date: datetime.date, title: str = "Results and their uncertainty"
) -> Report:
    """One report from several, in the given order; a result that occurs twice is shown once.

    Parameters
    ----------
    reports : Mapping[Path, Report]
        File → report.
    date : datetime.date
        Date of the new report.
    title : str
        Its title.
    """
    sections = _distinct([section for report in reports.values() for section in report.sections])
    if len(sections) > _MANY:
        raise InputError(
            f"{len(sections)} sections are too many for one page. Name fewer folders; {_MANY} sections fit."
        )
    notes = tuple(dict.fromkeys(note for report in reports.values() for note in report.made.notes))
    made = Provenance({"results": len(reports)}, notes=notes, version=__version__)
    own = [block for report in reports.values() for block in report.summary]
    return Report(title, [*sections, _settings(reports)], made, date, own)


def _distinct(sections: Sequence[Section]) -> list[Section]:
    kept: dict[tuple[str, str], Section] = {}
    for section in sections:
        kept.setdefault(
            (section.title, repr([block for block in section.blocks if isinstance(block, TableBlock)])), section
        )
    return list(kept.values())


def _settings(reports: Mapping[Path, Report]) -> Section:
    """Which result was made how: one row per result."""
    rows = [
        (
            report.title,
            path.parent.name,
            report.date,
            report.made.seed,
            report.made.digest[:12] or "none",
            _short(report.made.settings),
        )
        for path, report in reports.items()
    ]
    columns = ("Result", "Folder", "Made", "Seed", "Input digest", "Settings")
    return Section("Settings of each result", [TableBlock(columns, rows, "One row per result.")])


def _short(settings: Mapping[str, object]) -> str:
    told = [f"{name} {value}" for name, value in settings.items() if isinstance(value, str | int | float)]
    return ", ".join(told) or "none"
