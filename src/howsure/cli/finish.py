"""How every analysis ends: JSON for programs; tables, charts and a report where a folder was named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from howsure.cli.options import Output

if TYPE_CHECKING:
    from howsure.results import Result

__all__ = ["finish", "write_all"]


def finish(result: Result, output: Output, name: str, title: str, *_: str) -> None:
    """Print the result as JSON where that was asked for, and write its files where a folder was named."""
    if output.json:
        output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(write_all(result, output, output.out / f"{name}_report.html", title))


def write_all(result: Result, output: Output, page: Path, title: str) -> list[Path]:
    """The tables, the charts in the formats that were asked for, and the report, which is the file ``page``."""
    import datetime

    from howsure.charts.export import save_chart
    from howsure.charts.pictures import can_draw
    from howsure.reporting import Report, save_report

    written = result.save(page.parent)
    pictures = [ending for ending in output.formats_asked if ending != "html"]
    if not can_draw():
        output.console.notes(["no charts were drawn; they come with: pip install 'howsure[charts]'"])
        pictures = []
    written += [
        save_chart(chart, page.parent / f"{name}.{ending}")
        for ending in pictures
        for name, chart in result.charts().items()
    ]
    if "html" in output.formats_asked:
        today = datetime.datetime.now(tz=datetime.UTC).date()
        written.append(save_report(Report(title, result.sections(), result.provenance, today), page))
    return written
