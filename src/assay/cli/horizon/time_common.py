"""What the verbs on time horizons share: files, charts and a report where a folder was named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from assay.cli.options import Output

if TYPE_CHECKING:
    from assay.report import Section
    from assay.results import Provenance

__all__ = ["finish"]


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


def finish(result: Result, output: Output, title: str, sections: str) -> None:
    """JSON for programs; files, charts and a report where a folder was named.

    ``sections`` names the function of `assay.report.horizon_time` that tells about the result; it is imported only when needed.
    """
    output.console.json(result.as_dict())
    if not output.out:
        return
    import datetime

    from assay.charts import save_chart
    from assay.report import Report, horizon_time, save_report

    folder = output.out
    written = result.save(folder)
    charts = [
        save_chart(c, folder / f"{key}.{end}") for key, c in result.charts().items() for end in ("html", "png", "svg")
    ]
    told: Sequence[Section] = getattr(horizon_time, sections)(result)
    today = datetime.datetime.now(tz=datetime.UTC).date()
    page = save_report(Report(title, told, result.provenance, today), folder / "report.html")
    output.console.wrote([*written, *charts, page])
