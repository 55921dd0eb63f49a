"""The pieces of a report. They hold what is shown; `howsure.reporting.render` says how."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance

if TYPE_CHECKING:
    import polars as pl

    from howsure.charts.drawing import Chart

__all__ = ["Block", "Cell", "ChartBlock", "Download", "KeyNumbers", "Method", "Report", "Section", "TableBlock", "Text"]

Cell = str | int | float | bool | datetime.date | Estimate | None
"""What a table may hold. Numbers are aligned and sorted as numbers, estimates by their value; None shows as –."""


@dataclass(frozen=True)
class Text:
    """Paragraphs, separated by blank lines, shown without markup.

    Parameters
    ----------
    text : str
        The text.
    more : str
        Title of the section to which the text ends with a link.
    """

    text: str
    more: str = ""


@dataclass(frozen=True)
class KeyNumbers:
    """The most important numbers, each with its name and interval.

    Parameters
    ----------
    numbers : Mapping[str, Estimate | str]
        Name → estimate or text.
    """

    numbers: Mapping[str, Estimate | str]


@dataclass(frozen=True)
class TableBlock:
    """A table that the reader can sort.

    Parameters
    ----------
    columns : Sequence[str]
        Column titles.
    rows : Sequence[Sequence[Cell]]
        The rows.
    caption : str
        What one row is.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(f"row {number} has {len(row)} cells; the table has {len(self.columns)} columns")

    @classmethod
    def of(cls, frame: pl.DataFrame, caption: str, titles: Mapping[str, str] | None = None) -> TableBlock:
        """A frame as a table; `titles` chooses, orders and names its columns, and without it all are shown."""
        shown = titles or {name: name for name in frame.columns}
        return cls(tuple(shown.values()), tuple(frame.select(*shown).iter_rows()), caption)


@dataclass(frozen=True)
class ChartBlock:
    """A chart of `howsure.charts`.

    Parameters
    ----------
    chart : Chart
        The chart.
    alt : str
        Text for readers who cannot see the chart; by default its title and caption.
    """

    chart: Chart
    alt: str = ""


@dataclass(frozen=True)
class Method:
    """How a result was computed: folded on the screen, open in print. Line breaks are kept, so a formula may have its own line.

    Parameters
    ----------
    text : str
        The text.
    title : str
        The heading.
    """

    text: str
    title: str = "Method"


@dataclass(frozen=True)
class Download:
    """A file inside the page, which the reader can save.

    Parameters
    ----------
    filename : str
        Its name.
    data : bytes | str
        Its content.
    mime : str
        Its media type.
    """

    filename: str
    data: bytes | str
    mime: str = "text/csv"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._ -]*", self.filename):
            raise OptionError(f"{self.filename!r} is no name for a download; use letters, digits, points and hyphens.")
        if not re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", self.mime):
            raise OptionError(f"{self.mime!r} is no media type; write one such as text/csv or application/json.")


Block = Text | KeyNumbers | TableBlock | ChartBlock | Method | Download


@dataclass(frozen=True)
class Section:
    """One subject: a heading and the blocks below it.

    Parameters
    ----------
    title : str
        The heading.
    blocks : Sequence[Block]
        Text, tables, charts.
    found : Sequence[str]
        Result sentences for a page that combines several sections: who has the highest value, and how sure that is.
    unknown : Sequence[str]
        Sentences on what is not known.
    caveat : str
        The caveat that matters most, as a sentence.
    next_step : str
        What to do next, as a sentence.
    question : str
        The question that the sentences answer, for the front page; by default the title.
    headline : ChartBlock, optional
        The chart for the front page; by default the first chart among the blocks.
    verdict : str
        What the sentences in ``found`` are called on the front page.
    """

    title: str
    blocks: Sequence[Block]
    found: Sequence[str] = ()
    unknown: Sequence[str] = ()
    caveat: str = ""
    next_step: str = ""
    question: str = ""
    headline: ChartBlock | None = None
    verdict: str = "Result"

    @property
    def shown_first(self) -> ChartBlock | None:
        """The chart of the front page."""
        return self.headline or next((block for block in self.blocks if isinstance(block, ChartBlock)), None)


@dataclass(frozen=True)
class Report:
    """A whole page: sections with results, and the provenance in the footer.

    Parameters
    ----------
    title : str
        Title of the page.
    sections : Sequence[Section]
        The sections in order.
    made : Provenance
        Provenance: settings, seed, input digest and version, for the footer.
    date : datetime.date
        Date of the report; an argument, so that the same report gives the same bytes.
    summary : Sequence[Block]
        Blocks above the first section.
    """

    title: str
    sections: Sequence[Section]
    made: Provenance
    date: datetime.date
    summary: Sequence[Block] = ()
