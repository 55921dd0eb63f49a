"""What the verbs on attempts share: runs as a table, lists as options, files, charts and a report where a folder was named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from assay.cli.options import Output, Reading
from assay.errors import InputError, OptionError

if TYPE_CHECKING:
    from assay.report import Section
    from assay.results import Provenance
    from assay.tables import Attempts

__all__ = ["finish", "numbers", "read_attempts"]


class Result(Protocol):
    """What every analysis gives."""

    @property
    def provenance(self) -> Provenance:
        """What made it."""

    def as_dict(self) -> dict[str, Any]:
        """For programs."""

    def charts(self) -> Mapping[str, Any]:
        """By file name."""

    def save(self, folder: Path) -> list[Path]:
        """Its tables."""


def read_attempts(inputs: Sequence[str], reading: Reading, output: Output) -> Attempts:
    """The runs of novices and models as one checked table."""
    from assay.tables import Attempts

    table = reading.read(list(inputs), output.console)
    if not isinstance(table, Attempts):
        kind = type(table).__name__.lower()
        raise InputError(f"{', '.join(inputs)}: holds {kind}; this command needs attempts, one row a try.")
    return table


def numbers(option: str, text: str) -> list[float]:
    """A list of numbers with commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"{option} {text}: write numbers with commas, as in {option} 50,80.") from None


def finish(result: Result, output: Output, title: str, sections: Callable[[Any], Sequence[Section]]) -> None:
    """JSON for programs; tables, charts and a report where a folder was named."""
    output.console.json(result.as_dict())
    if not output.out:
        return
    import datetime

    from assay.charts import save_chart
    from assay.report import Report, save_report

    written = result.save(output.out)
    charts = [
        save_chart(chart, output.out / f"{name}.{ending}")
        for name, chart in result.charts().items()
        for ending in ("html", "png", "svg")
    ]
    today = datetime.datetime.now(tz=datetime.UTC).date()
    page = save_report(Report(title, sections(result), result.provenance, today), output.out / "report.html")
    output.console.wrote([*written, *charts, page])
