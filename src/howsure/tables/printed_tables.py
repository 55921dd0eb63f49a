"""Tables made for the eye, as csv: web pages, LaTeX, Markdown, columns of blanks, and two rows of names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from html.parser import HTMLParser

from howsure.errors import InputError

__all__ = [
    "LONGEST_HEADER",
    "MOST_TITLES",
    "between_bars",
    "latex_table",
    "separator_of_text",
    "web_table",
    "with_one_header",
    "with_tabs",
    "without_shape",
]

LONGEST_HEADER = 2**20
MOST_TITLES = 30
_MOST_CELLS = 2_000_000  # of a table in a web page, where one cell may claim a million places
_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*\s*%?")
_RULE = re.compile(r"[\s|:+=–—-]*-[\s|:+=–—-]*")  # under the names of a printed table
_SHAPE = re.compile(rb"\n\s{0,9}\[\d+ rows x \d+ columns\]\s{0,9}$")  # below a table that pandas printed
_TABULAR = re.compile(
    r"\\begin\{(tabular[x*]?|longtable|tabu)\}(?:\{[^{}]{0,99}\\[^{}]{0,99}\})?(?:\[[^\]]{0,99}\])?\s{0,99}"
    r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,99}\}){0,99}\}){0,999}\}"
)
_RULES = re.compile(
    r"\\(?:toprule|midrule|bottomrule|hline|endhead|endfirsthead|addlinespace(?:\[[^\]]*\])?|(?:cmidrule(?:\([^)]*\))?|cline|rowcolor|specialrule)(?:\[[^\]]*\])?(?:\{[^{}]*\})+)"
)
_LATEX_MARKS = (
    (
        r"\\(?:cite[tp]?\*?|footnote|textsuperscript|tnote|label|cellcolor|rowcolor|textcolor|color)(?:\[[^\]]*\])*\{[^{}]*\}",
        "",
    ),
    (
        r"\\(?:uparrow|downarrow|dagger|ddagger|checkmark|cmark)(?![A-Za-z])",
        lambda found: "✓" if "mark" in found[0] else "",
    ),
    (r"\\xmark(?![A-Za-z])", "✗"),
    (r"\\pm(?![A-Za-z])|\\textpm(?![A-Za-z])", "±"),
    (
        r"\\(?:textbf|textit|emph|underline|mathbf|mathit|mathrm|text|textsc|texttt|textrm|uline|bm|boldmath|makecell|num)\{([^{}]*)\}",
        r"\1",
    ),
    (r"\{\s*\\(?:bf|it|em|bfseries|itshape|small|footnotesize|sc|tt)(?![A-Za-z])\s*([^{}]*)\}", r"\1"),
    (r"\\(?:bfseries|small|footnotesize|centering|bf|it|em)(?![A-Za-z])", ""),
    (r"\$([^$]*)\$", r"\1"),
    (r"\\([%&_#$])", r"\1"),
    (r"\\[,;! ]|~", " "),
    (r"^\{([^{}\\]*)\}$", r"\1"),
)
"""What stands around a number or a name in LaTeX, and what is read for it; other commands stay, so that their cells are no numbers."""
_LONGEST_CELL = 2_000
_SPREAD = frozenset(
    {"std", "sd", "var", "variance", "mean", "median", "min", "max", "ci", "ci_low", "ci_high", "low", "high", "lower"}
    | {"upper", "rank", "count"}
)


def web_table(data: bytes) -> bytes:
    """The first table of a web page that has two rows and two columns, as csv."""
    return _WebTable(data).as_csv()


class _WebTable(HTMLParser):
    """The first table of a web page that has two rows and two columns; a cell over several rows or columns is in each of them."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._rows: list[dict[int, str]] = []
        self._below: dict[tuple[int, int], str] = {}  # cells that reach into later rows
        self._cell: list[str] | None = None
        self._depth = self._n_columns = self._n_rows = self._n_unread = self._n_cells = 0
        self._is_found = False
        self.feed(data.decode("utf-8-sig", errors="replace"))
        self.close()

    def as_csv(self) -> bytes:
        made = io.StringIO()
        width = max((len(row) for row in self._rows), default=0)
        for row in self._rows:
            csv.writer(made, lineterminator="\n").writerow([row.get(place, "") for place in range(width)])
        return made.getvalue().encode()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table" and not self._is_found:
            self._depth += 1
            self._rows = [] if self._depth == 1 else self._rows
        elif tag in ("script", "style", "sup"):  # footnotes are no part of a name
            self._n_unread += 1
        elif self._depth == 1 and tag == "tr":
            self._rows.append({})
            self._cell = None
        elif self._depth == 1 and tag in ("td", "th") and self._rows:
            self._close_cell()
            given = dict(attrs)
            self._n_columns, self._n_rows = (
                max(1, min(1000, int(told))) if (told := given.get(name) or "").isdecimal() else 1
                for name in ("colspan", "rowspan")
            )
            self._cell = []
        elif tag == "br" and self._cell is not None:
            self._cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "sup"):
            self._n_unread = max(0, self._n_unread - 1)
        elif self._depth == 1 and tag in ("td", "th", "tr", "table"):
            self._close_cell()
        if tag == "table" and self._depth:
            self._depth -= 1
            self._rows = [row for row in self._rows if row] if not self._depth else self._rows
            self._is_found = self._is_found or (not self._depth and len(self._rows) > 1 < len(self._rows[0]))

    def handle_data(self, data: str) -> None:
        if self._cell is not None and not self._n_unread and not self._is_found:
            self._cell.append(data)

    def _close_cell(self) -> None:
        if self._cell is None:
            return
        self._n_cells += self._n_columns * self._n_rows
        if self._n_cells > _MOST_CELLS:
            raise InputError(f"The table of the web page has more than {_MOST_CELLS:,} cells and was not read.")
        number, row = len(self._rows) - 1, self._rows[-1]
        for _ in range(self._n_columns):
            while (number, len(row)) in self._below:
                row[len(row)] = self._below[number, len(row)]
            for further in range(1, self._n_rows):
                self._below[number + further, len(row)] = " ".join("".join(self._cell).split())
            row[len(row)] = " ".join("".join(self._cell).split())
        self._cell = None


def latex_table(data: bytes) -> bytes:
    """The first table of a LaTeX file, as csv; a cell over several columns has its text in the first, one over several rows in each."""
    text = re.sub(r"(?<!\\)%[^\n]*", "", data.decode("utf-8-sig", errors="replace"))
    made = io.StringIO()
    found = _TABULAR.search(text)
    end = text.find(f"\\end{{{found[1]}}}", found.end()) if found else -1
    if found is None or end < 0:
        return b""
    below: dict[int, tuple[str, int]] = {}  # cells that reach into later rows
    for line in re.split(r"\\\\(?:\*?\[[^\]]*\])?|\\tabularnewline", _RULES.sub("", text[found.end() : end])):
        if not line.strip():
            continue
        row: list[str] = []
        for cell in re.split(r"(?<!\\)&", line):
            n_columns = n_rows = 1
            content = cell.strip()
            while wide := re.fullmatch(
                r"\\multi(column|row)(?:\[[^\]]*\])?\{(\d+)\}(?:\[[^\]]*\])?\{[^{}]*\}\s*\{(.*)\}", content, re.DOTALL
            ):
                n = min(1000, int(wide[2]))
                n_columns, n_rows = (n, n_rows) if wide[1] == "column" else (n_columns, n)
                content = wide[3].strip()
            content = _without_latex(content)
            above, n_left = below.get(len(row), ("", 0))
            if n_left and not content:
                content = above
                below[len(row)] = (above, n_left - 1)
            elif n_rows > 1:
                below[len(row)] = (content, n_rows - 1)
            row += [content, *[""] * (n_columns - 1)]
        csv.writer(made, lineterminator="\n").writerow(row)
    return made.getvalue().encode()


def _without_latex(cell: str) -> str:
    """A cell's text without the marks for type and mathematics."""
    before = None
    while cell != before and len(cell) <= _LONGEST_CELL:
        before = cell
        for pattern, instead in _LATEX_MARKS:
            cell = re.sub(pattern, instead, cell)
        cell = " ".join(cell.split())
    return cell


def without_shape(data: bytes) -> bytes:
    """A text without the line that pandas prints below a table."""
    return data[:-99] + _SHAPE.sub(b"\n", data[-99:])


def between_bars(data: bytes) -> bytes | None:
    """The first table with bars around its fields, as Markdown has it, on the lines where it was; None if there is none."""
    lines = [line.strip() for line in data.decode("utf-8-sig", errors="replace").split("\n")]
    is_row = [len(line) > 1 and line[0] == line[-1] == "|" for line in lines]
    if True not in is_row:
        return None
    start = is_row.index(True)
    end = next((i for i in range(start, len(lines)) if not is_row[i]), len(lines))
    kept = ["" if not start <= i < end or _RULE.fullmatch(line) else line[1:-1] for i, line in enumerate(lines)]
    return "\n".join(kept[:end]).encode() + b"\n"


def separator_of_text(data: bytes) -> str | None:
    """What separates the fields in the first lines of a .txt file: a mark, blanks, or None if they are no table."""
    lines = data[:LONGEST_HEADER].decode("utf-8-sig", errors="replace").split("\n")[:MOST_TITLES]
    filled = [line for line in lines if line.strip()]
    try:
        for mark in "\t;|,":
            n = [len(record) for record in csv.reader(filled, delimiter=mark)]
            while n and n[0] == 1:  # titles
                n.pop(0)
            if len(n) > 1 and len({*n}) == 1:
                return mark
        n = [len(record) for record in _in_blanks(filled)]
    except csv.Error:
        return None
    return " " if len(n) > 1 and n[-1] > 1 and len({*n[1:]}) == 1 and n[0] in (n[1], n[1] - 1) else None


def _in_blanks(lines: Sequence[str]) -> list[list[str]]:
    """Lines in fields between blanks outside quotes, or between two blanks at least where only that gives as many fields as names."""
    narrow = [
        next(csv.reader([line.strip().replace("\t", " ")], delimiter=" ", skipinitialspace=True), []) for line in lines
    ]
    wide = [re.split(r"[ \t]{2,}", line.strip()) for line in lines]
    for records in (narrow, wide):
        n = {len(record) for record in records if any(record)}
        if len(n) == 1 and max(n) > 1:
            return records
    return narrow


def with_tabs(data: bytes) -> bytes:
    """The text of a table with tabs for blanks; above the names of rows, which R writes and pandas prints, stands no name."""
    records = _in_blanks(data.decode("utf-8-sig").split("\n"))
    first, second = [record for record in records if any(record)][:2]
    if len(second) == len(first) + 1:
        first.insert(0, "")
    made = io.StringIO()
    writer = csv.writer(made, delimiter="\t", lineterminator="\n")
    for record in records:
        writer.writerow(record if any(record) else [])
    return made.getvalue().encode()


def with_one_header(data: bytes, kind: str) -> bytes | None:
    """A table with two rows of names, as pandas writes columns in two levels, with one; None for other tables.

    Names below a benchmark such as accuracy, stderr and n become columns, and the benchmark's name a column beside them. Other names are
    joined to the one above them.
    """
    from howsure.tables.known_words import ALIASES, SCORE  # which know the tables, which know this module

    mark = "\t" if kind == "tsv" else max(";,", key=data.partition(b"\n")[0].decode(errors="replace").count)
    try:
        records = [
            one for one in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=mark) if any(one)
        ]
    except (UnicodeDecodeError, csv.Error):
        return None
    if len(records) < 3 or len(records[0]) < 3 or len(records[1]) != len(records[0]):
        return None
    above, below = ([field.strip() for field in record] for record in records[:2])
    for place in range(2, len(above)):  # merged cells have their name in the first of them
        above[place] = above[place] or above[place - 1]
    key, groups = above[0] or below[0], above[1:]
    is_table = (
        len({*groups}) < len(groups) and all(groups) and len({*zip(groups, below[1:], strict=True)}) == len(groups)
    )
    if (
        not is_table
        or not all(below[1:])
        or any(_NUMBER.fullmatch(name) for name in below[1:])
        or (above[0] and below[0])
    ):
        return None
    rows = records[2:]
    if rows[0][0].strip() and not any(field.strip() for field in rows[0][1:]):  # pandas' names of the rows
        key, rows = rows[0][0].strip(), rows[1:]
    if any(len(row) != len(above) for row in rows):
        return None
    beside = {
        alias for table in ALIASES.values() for ours in ("se", "n", "n_items") for alias in (ours, *table.get(ours, ()))
    }
    inner = [*dict.fromkeys(below[1:])]
    plain = {re.sub(r"\W+", "_", name.lower()) for name in inner}
    has_scores, is_known = plain & {*SCORE}, plain <= beside | {*SCORE}
    if plain & _SPREAD or (has_scores and not is_known) or (plain & beside and len(has_scores) != 1):
        return None  # standard errors and ends of intervals must not be taken for scores
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n", delimiter=mark)
    if plain & beside:
        writer.writerow([key or "model", "benchmark", *inner])
        for row in rows:
            for group in dict.fromkeys(groups):
                held = {below[i]: row[i] for i in range(1, len(row)) if above[i] == group}
                writer.writerow([row[0], group, *(held.get(name, "") for name in inner)])
    else:
        writer.writerow([key or "model", *(" ".join(pair) for pair in zip(groups, below[1:], strict=True))])
        writer.writerows(rows)
    return made.getvalue().encode()
