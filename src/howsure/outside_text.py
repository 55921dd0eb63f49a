"""Text from outside (names, comments, file names, error messages of others), made safe for where it is shown.

A stranger's text can colour or clear a terminal, reverse the letters of a name, or start a formula in a spreadsheet.
Everything that leaves Howsure passes one of these functions::

    one_line, several_lines    terminal: characters that cannot be seen are written as escapes, such as \\x1b or \\u202e
    templates, html_table      HTML: the same, and markup is escaped
    drawn                      charts: the same, in every text of a specification
    json_text                  JSON: the same value, with invisible characters as JSON escapes
    csv_text, guarded          CSV: text that a spreadsheet would take for a formula starts with an apostrophe, and so does text
                               in which characters that change a terminal or the direction of letters are written as escapes
    unguarded                  reading CSV: takes apostrophes and escapes away again
    with_whole_letters         reading JSON: replaces halves of letters, which no file can hold
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl
    from jinja2 import Environment

__all__ = [
    "csv_text",
    "drawn",
    "guarded",
    "html_table",
    "json_text",
    "one_line",
    "several_lines",
    "templates",
    "unguarded",
    "with_whole_letters",
]

# Control characters, soft hyphen, direction marks and overrides, separators and fillers without width, lone surrogates,
# byte order marks, annotation marks, tags, and what is no character. Joiners stay: emoji and many scripts need them.
_UNSEEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    r"\ufffe\uffff\U000e0000-\U000e007f"
)
_ONE_LINE = re.compile(f"[{_UNSEEN}]")
_SEVERAL_LINES = re.compile(f"(?![\t\n])[{_UNSEEN}]")
_IN_JSON = re.compile(f"(?![\n])[{_UNSEEN}]")
_COLUMNS_SHOWN = 12  # of a table in a notebook
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}

_HALF_LETTER = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?P<half>[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)

# What Excel, LibreOffice or Google Sheets may take for a formula: these signs, also in full width, after any blanks.
_SIGNS = r"(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])"
_FORMULA = rf"^'*{_SIGNS}"
_GUARDED = rf"^'(?P<text>'*{_SIGNS})"
# What changes the screen that shows a CSV file: terminal controls, and overrides of the direction of letters. Marks of direction and
# joiners stay: texts from right to left need them.
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb"
_CONTROL = re.compile(rf"[{_CONTROLS}\\]")
_IN_CSV = "[" + re.sub(r"\\u([0-9a-f]{4})", r"\\x{\1}", _CONTROLS) + "]"  # the same as polars spells it
_ESCAPES = r"\\\\|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}"
_ESCAPED = rf"(?s)^'[^\\]*(?:(?:{_ESCAPES})[^\\]*)+$"
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


def one_line(text: str) -> str:
    r"""A name or another short text on one line: what cannot be seen, line breaks included, is written as an escape.

    >>> one_line("gpt\x1b[31m\u202e4")
    'gpt\\x1b[31m\\u202e4'
    """
    return _ONE_LINE.sub(_escape, text)


def several_lines(text: str) -> str:
    r"""A message that may have several lines: as `one_line`, but line breaks and tabs stay."""
    return _SEVERAL_LINES.sub(_escape, text)


def json_text(value: Any, *, is_ascii: bool = False, **options: Any) -> str:
    r"""A value as JSON that a terminal can show and a file can hold: invisible characters and lone surrogates as ``\uXXXX``.

    A reader gets the value back as it was. NaN and infinity are our own mistake and raise.
    """
    return _IN_JSON.sub(_json_escape, json.dumps(value, ensure_ascii=is_ascii, allow_nan=False, **options))


def with_whole_letters(data: bytes) -> bytes:
    r"""A JSON text in which half a surrogate pair (``\ud800``), which is no letter, is the sign for what cannot be shown.

    No file, table or terminal can hold such a half; a model's reply can.
    """
    return _HALF_LETTER.sub(lambda found: rb"\ufffd" if found["half"] else found[0], data)


def drawn(part: Any) -> Any:
    """A chart's specification with every text as `several_lines` shows it."""
    if isinstance(part, str):
        return several_lines(part)
    if isinstance(part, dict):
        return {drawn(name): drawn(inner) for name, inner in part.items()}
    return [drawn(inner) for inner in part] if isinstance(part, list) else part


def templates(load: Callable[[str], str], **options: Any) -> Environment:
    """Templates of HTML pages in which every value is shown as `several_lines` and its markup is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    def seen(value: Any) -> Any:
        return several_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return Environment(
        loader=FunctionLoader(load), autoescape=True, undefined=StrictUndefined, finalize=seen, **options
    )


def csv_text(frame: pl.DataFrame) -> str:
    """A frame as CSV in which no text starts a formula or changes the screen."""
    return guarded(frame.lazy()).collect().write_csv()


def guarded(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The frame with an apostrophe before each text (headers too) that a spreadsheet would take for a formula.

    Columns of numbers and texts that are a number stay as they are. A text that already starts with apostrophes before
    such a sign gets one more, so that `unguarded` gives back exactly what was there. A text with characters that change a terminal or turn the
    direction of letters gets an apostrophe too, and these characters are written as escapes, a backslash as two.
    """
    import polars as pl

    frame = _each_text(frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)), rf"{_IN_CSV}|{_ESCAPED}", _escaped)  # fmt: skip
    schema = frame.collect_schema()
    is_formula = pl.col(pl.String).str.contains(_FORMULA) & ~pl.col(pl.String).str.contains(f"^{_NUMBER}$")
    guard = pl.when(is_formula).then("'" + pl.col(pl.String)).otherwise(pl.col(pl.String)).name.keep()
    texts = frame.with_columns(guard)
    names = {
        name: f"'{name}" for name in schema.names() if re.match(_FORMULA, name) and not re.fullmatch(_NUMBER, name)
    }
    return texts.rename(names) if names else texts


def unguarded(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The frame without the apostrophes and escapes that `guarded` put into texts and headers."""
    import polars as pl

    names = {name: name[1:] for name in frame.collect_schema().names() if re.match(_GUARDED, name)}
    texts = frame.with_columns(pl.col(pl.String).str.replace(_GUARDED, "${text}"))
    return _each_text(texts.rename(names) if names else texts, _ESCAPED, _unescaped)


def _each_text(frame: pl.LazyFrame, pattern: str, change: Callable[[str], str]) -> pl.LazyFrame:
    """The frame with the texts (headers too) changed in which a pattern occurs; few have it."""
    import polars as pl

    def changed(texts: pl.Series) -> pl.Series:
        at = texts.str.contains(pattern).fill_null(value=False)
        if not at.any():
            return texts
        cells = [change(text) if is_one else text for text, is_one in zip(texts, at, strict=True)]
        return pl.Series(texts.name, cells, dtype=pl.String)

    names = frame.collect_schema().names()
    has = pl.Series(names, dtype=pl.String).str.contains(pattern)
    frame = frame.rename({name: change(name) for name, is_one in zip(names, has, strict=True) if is_one})
    return frame.with_columns(pl.col(pl.String).map_batches(changed, return_dtype=pl.String, is_elementwise=True))


def _escaped(text: str) -> str:
    return "'" + _CONTROL.sub(lambda found: "\\\\" if found[0] == "\\" else _escape(found), text)


def _unescaped(text: str) -> str:
    return re.sub(_ESCAPES, lambda found: "\\" if found[0] == "\\\\" else chr(int(found[0][2:], 16)), text[1:])


def _escape(found: re.Match[str]) -> str:
    letter = found[0]
    code = ord(letter)
    return _SHORT.get(letter) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


def _json_escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], n_rows: int, hint: str) -> str:
    """A table for a notebook: text to the left, numbers to the right; an interval may stand below its value.

    A table that is wider than the page scrolls; columns after the first twelve are named below it.

    Parameters
    ----------
    caption : str
        Text above the table.
    columns : Sequence[str]
        Names of the columns.
    rows : Iterable[Sequence[str]]
        Cells of the rows shown.
    n_rows : int
        Number of rows of the whole table.
    hint : str
        How to get the rows and columns that are not shown, in Python.
    """

    def cell(text: str) -> str:
        side = "right" if len(text) <= 40 and re.match(r"[-−<>]?\s?[\d∞]", text) else "left"
        # a number and its interval each stay on a line of their own
        parts = [text] if side == "left" else re.split(r" (?=\[)", text, maxsplit=1)
        if len(text) <= 40:
            whole = " ".join(f'<span style="white-space:nowrap">{html.escape(one_line(part))}</span>' for part in parts)
        else:
            whole = html.escape(one_line(text))
        return f'<td style="text-align:{side}">{whole}</td>'

    def name(column: str) -> str:
        return html.escape(one_line(column)).replace("_", "_<wbr>")

    shown, unseen = list(rows), [one_line(column) for column in columns[_COLUMNS_SHOWN:]]
    head = "".join(f'<th style="text-align:left">{name(column)}</th>' for column in columns[:_COLUMNS_SHOWN])
    body = "".join(f"<tr>{''.join(map(cell, row[:_COLUMNS_SHOWN]))}</tr>" for row in shown)
    title = f'<caption style="text-align:left;caption-side:top">{html.escape(one_line(caption))}</caption>'
    table = f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    left = n_rows - len(shown)
    more = [f"{left:,} more row{'s' * (left > 1)}"] if left > 0 else []
    if unseen:
        more.append(f"{len(unseen):,} more column{'s' * (len(unseen) > 1)} ({html.escape(', '.join(unseen))})")
    below = f"<p>… and {' and '.join(more)}: <code>{html.escape(hint)}</code></p>" if more else ""
    return f'<div style="overflow-x:auto">{table}</div>{below}'
