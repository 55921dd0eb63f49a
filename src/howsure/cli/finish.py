"""How every analysis ends: JSON for programs; tables, charts and a report where a folder was named."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure.cli.options import Output

if TYPE_CHECKING:
    from howsure.results import Provenance, Result

__all__ = ["finish", "keep", "save_charts", "write_report"]


def finish(result: Result, output: Output, name: str, title: str, sections: str, about: Any = None) -> None:
    """JSON for programs, and what `keep` writes."""
    if output.json:
        output.console.json(result.as_dict())
    keep(result, output, name, title, sections, about)


def keep(result: Result, output: Output, name: str, title: str, sections: str, about: Any = None) -> None:
    """Tables, charts and ``NAME_report.html`` where a folder was named.

    ``sections`` names the function that tells about the result, or ``about`` something else, as ``module.function`` of `howsure.reporting`; it is imported
    only when needed.
    """
    if output.out:
        written = [*result.save(output.out), *save_charts(result.charts(), output.out)]
        page = write_report(output.out / f"{name}_report.html", title, sections, about or result, result.provenance)
        output.console.wrote([*written, page])


def save_charts(charts: Mapping[str, Any], folder: Path) -> list[Path]:
    """Each chart as a page, a picture and a drawing."""
    from howsure.charts import save_chart

    return [save_chart(c, folder / f"{key}.{ending}") for key, c in charts.items() for ending in ("html", "png", "svg")]


def write_report(path: Path, title: str, sections: str, about: Any, made: Provenance) -> Path:
    """One page with the sections that ``module.function`` (of `howsure`) makes from something."""
    import datetime

    from howsure.reporting import Report, Section, save_report

    module, _, function = sections.rpartition(".")
    told = getattr(importlib.import_module(f"howsure.{module}"), function)(about)
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return save_report(Report(title, [told] if isinstance(told, Section) else told, made, today), path)
