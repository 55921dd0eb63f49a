"""From a report to one HTML page that opens without a network."""

from __future__ import annotations

import base64
import datetime
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from howsure.estimates import Estimate
from howsure.outside_text import templates
from howsure.reporting.store import ENDING, save_sections
from howsure.results import plain
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
from howsure.safe_io import write_atomic

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["DisplayCell", "DisplayColumn", "Kind", "render", "save_report", "shown_columns"]

_MOST_LINES = 5  # sentences on one question on the front page


def save_report(report: Report, path: str | os.PathLike[str]) -> Path:
    """Write the report as one HTML file, and its sections beside it, which `howsure report` combines.

    Parameters
    ----------
    report : Report
        The report.
    path : str or path
        The file to write.
    """
    target = Path(path)
    save_sections(report, target.with_name(target.stem + ENDING))
    return write_atomic(target, render(report))


def render(report: Report) -> str:
    """The report as one HTML text: styles, scripts, charts and downloads are inside. The same report gives the same bytes.

    Parameters
    ----------
    report : Report
        The report.
    """
    from markupsafe import Markup

    from howsure.charts.page import policy, scripts, style
    from howsure.charts.pictures import can_draw

    look = style() + _text("report.css")
    blocks = [*report.summary, *(block for section in report.sections for block in section.blocks)]
    has_charts = any(isinstance(block, ChartBlock) for block in blocks) and can_draw()
    code = [*(scripts() if has_charts else ()), _text("report.js")]
    parts = list(zip(report.sections, _keys(report), strict=True))
    links = {section.title: key for section, key in parts}
    n_cards = sum(bool(section.found or section.unknown) for section in report.sections)
    return _fill(
        "report.html",
        report=report,
        summary=[
            _fill("text.html", paragraphs=_paragraphs(block.text), more=block.more, target=links.get(block.more))
            if isinstance(block, Text)
            else _html(block, f"summary-{number}")
            for number, block in enumerate(report.summary, 1)
        ],
        cards=[
            _card(section, key, is_narrow=n_cards > 1) for section, key in parts if section.found or section.unknown
        ],
        sections=[
            {"title": section.title, "key": key, "blocks": _html_of(_below(section), key)} for section, key in parts
        ],
        settings=_settings(report.made.settings),
        policy=policy(code, look),
        style=Markup(look),
        scripts=[Markup(text) for text in code],
    )


def _card(section: Section, key: str, *, is_narrow: bool) -> dict[str, Any]:
    """What the front page says about a section: question, verdicts, headline chart, caveat and next step."""
    n_open = min(len(section.unknown), max(2, _MOST_LINES - len(section.found)))
    known, unknown = section.found[: _MOST_LINES - n_open], section.unknown[:n_open]
    kind = "known supported" if section.verdict == "Supported" else "known"
    lines = [(section.verdict, kind, text) for text in known] + [("Not decided", "open", text) for text in unknown]
    chart = section.shown_first
    return {
        "key": key,
        "title": section.title,
        "question": section.question or section.title,
        "lines": lines,
        "n_left": len(section.found) + len(section.unknown) - len(lines),
        "chart": _chart(chart, f"{key}-headline", is_narrow=is_narrow) if chart else "",
        "caveat": section.caveat,
        "next_step": section.next_step,
    }


def _below(section: Section) -> list[Block]:
    """The blocks of a section, without the chart that the front page shows."""
    is_on_front = bool(section.found or section.unknown) and section.headline is None
    return [block for block in section.blocks if not (is_on_front and block is section.shown_first)]


def _html_of(blocks: Sequence[Block], key: str) -> list[Markup]:
    return [_html(block, f"{key}-{number}") for number, block in enumerate(blocks, 1)]


@singledispatch
def _html(block: Block, key: str) -> Markup:
    raise TypeError(f"{type(block).__name__} is not a block of a report")


@_html.register(Text)
def _(block: Text, key: str) -> Markup:
    return _fill("text.html", paragraphs=_paragraphs(block.text), more="", target=None)


@_html.register(KeyNumbers)
def _(block: KeyNumbers, key: str) -> Markup:
    return _fill("key_numbers.html", numbers=[(name, *_parted(number)) for name, number in block.numbers.items()])


@_html.register(TableBlock)
def _(block: TableBlock, key: str) -> Markup:
    return _fill("table.html", key=key, caption=block.caption, columns=shown_columns(block), n_rows=len(block.rows))


@_html.register(ChartBlock)
def _chart(block: ChartBlock, key: str, *, is_narrow: bool = False) -> Markup:
    from howsure.charts.export import to_spec
    from howsure.charts.page import figure, title_and_caption
    from howsure.charts.pictures import can_draw

    spec = to_spec(block.chart)
    if not title_and_caption(spec)[1]:
        raise ValueError("a chart in a report says its n and interval: finish it with howsure.charts.captioned")
    if not can_draw():
        line = f"Chart: {title_and_caption(spec)[0]} (not drawn: pip install 'howsure[charts]')"
        return _fill("text.html", paragraphs=[line], more="", target=None)
    return figure(spec, key=key, alt=block.alt, is_narrow=is_narrow)


@_html.register(Method)
def _(block: Method, key: str) -> Markup:
    return _fill("method.html", title=block.title, paragraphs=_paragraphs(block.text))


@_html.register(Download)
def _(block: Download, key: str) -> Markup:
    data = block.data.encode() if isinstance(block.data, str) else block.data
    packed = base64.b64encode(data).decode()
    return _fill(
        "download.html", filename=block.filename, link=f"data:{block.mime};base64,{packed}", size=_size(len(data))
    )


def _paragraphs(text: str) -> list[str]:
    return [part.strip("\n") for part in re.split(r"\n\s*\n", text) if part.strip()]


def _parted(number: Estimate | str) -> tuple[str, str, bool]:
    """What is printed large, what small beneath it, and whether the large is a word."""
    if isinstance(number, str):
        return number, "", False
    if number.value is None:
        return number.state.replace("_", " "), number.reason, True
    value, _, interval = str(number).partition(" [")
    return value, f"[{interval} {number.level * 100:.6g} % interval" if interval else "", False


def _size(n_bytes: int) -> str:
    return f"{n_bytes:,} bytes" if n_bytes < 1000 else f"{n_bytes / 1000:,.0f} kB"


def _keys(report: Report) -> Iterator[str]:
    """An anchor for each section, from its title where that has letters, and never one twice."""
    taken: set[str] = {"summary", "content", "contents"}
    for number, section in enumerate(report.sections, 1):
        key = re.sub(r"[^a-z0-9]+", "-", section.title.casefold()).strip("-")[:60] or "section"
        key = key if key[0].isalpha() and key not in taken else f"section-{number}-{key}"
        taken.add(key)
        yield key


def _settings(settings: Any) -> dict[str, str]:
    told = {name: plain(value) for name, value in settings.items()}
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for name, value in told.items()
    }


def _fill(template: str, **values: Any) -> Markup:
    from markupsafe import Markup

    return Markup(_templates().get_template(template).render(**values))


@cache
def _text(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    return templates(_text, trim_blocks=True, lstrip_blocks=True)


# A table's cells as text: numbers of a column to the same digit, and keys to sort them by.


Kind = Literal["number", "date", "name", "text"]
"""How a column is aligned, sorted and broken into lines; names are short texts that stay on one."""

_DIGITS, _MOST_DECIMALS = 3, 4  # significant digits of a column's middle number
_NAME = 28  # letters at the most


@dataclass(frozen=True)
class DisplayCell:
    """What a cell says, and what it is sorted by; an empty key comes last."""

    text: str
    key: str


@dataclass(frozen=True)
class DisplayColumn:
    """A column with its cells, aligned and sorted by their kind."""

    title: str
    kind: Kind
    cells: tuple[DisplayCell, ...]


def shown_columns(table: TableBlock) -> list[DisplayColumn]:
    """The table's columns, ready to be shown."""
    return [_column(title, [row[place] for row in table.rows]) for place, title in enumerate(table.columns)]


def _column(title: str, cells: Sequence[Cell]) -> DisplayColumn:
    there = [cell for cell in cells if cell is not None]
    decimals = _decimals([cell for cell in there if isinstance(cell, float)])
    return DisplayColumn(title, _kind(there), tuple(_shown(cell, decimals) for cell in cells))


def _kind(cells: Sequence[Cell]) -> Kind:
    if cells and all(_is_number(cell) for cell in cells):
        return "number"
    if cells and all(isinstance(cell, datetime.date) for cell in cells):
        return "date"
    return "text" if any(len(str(cell)) > _NAME for cell in cells) else "name"


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float | Estimate) and not isinstance(cell, bool)


def _decimals(numbers: Sequence[float]) -> int:
    """As many as show the middle number to three digits, so that a column ends at the same place."""
    sizes = sorted(abs(number) for number in numbers if math.isfinite(number) and number)
    middle = sizes[len(sizes) // 2] if sizes else 1.0
    return min(max(0, _DIGITS - 1 - math.floor(math.log10(middle))), _MOST_DECIMALS)


def _shown(cell: Cell, decimals: int) -> DisplayCell:
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return DisplayCell("–", "")
    if isinstance(cell, Estimate):
        return DisplayCell(str(cell), "" if cell.value is None else repr(cell.value))
    text = _cell_text(cell, decimals)
    return DisplayCell(text, repr(cell) if _is_number(cell) else text)


def _cell_text(cell: str | float | datetime.date, decimals: int) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return _number(cell, decimals) if isinstance(cell, float) else str(cell)


def _number(number: float, decimals: int) -> str:
    """To the column's digit; what would be shown as zero and is not, by its power of ten."""
    text = f"{number:,.{decimals}f}"
    return f"{number:.2g}" if number and not float(text.replace(",", "")) else text
