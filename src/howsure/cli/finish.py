"""How every analysis ends: JSON for programs; tables, charts and a report where a folder was named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.cli.options import Output

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results import Result

__all__ = ["finish", "save_charts", "write_all"]


def finish(result: Result, output: Output, name: str, title: str) -> None:
    """Print the result as JSON where that was asked for, and write its files where a folder was named."""
    if output.json:
        output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(write_all(result, output, output.out / f"{name}_report.html", title))


def write_all(result: Result, output: Output, page: Path, title: str) -> list[Path]:
    """The tables, the charts in the formats that were asked for, and the report, which is the file ``page``."""
    import datetime

    from howsure.reporting import Report, save_report

    written = [*result.save(page.parent), *save_charts(result.charts(), output, page.parent)]
    if "html" in output.formats_asked:
        today = datetime.datetime.now(tz=datetime.UTC).date()
        report = Report(title, result.sections(), result.provenance, today, result.opening())
        written.append(save_report(report, page))
    return written


def save_charts(charts: Mapping[str, Chart], output: Output, folder: Path) -> list[Path]:
    """Pictures of the charts in the formats that were asked for; none, and a note, where charts cannot be drawn."""
    from howsure.charts.export import save_chart
    from howsure.charts.pictures import can_draw

    if charts and not can_draw():
        output.console.notes(["no charts were drawn; they come with: pip install 'howsure[charts]'"])
        return []
    endings = [ending for ending in output.formats_asked if ending != "html"]
    return [save_chart(chart, folder / f"{name}.{ending}") for ending in endings for name, chart in charts.items()]
