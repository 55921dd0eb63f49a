"""The same study in a form builder: a Google Apps Script or a Qualtrics file that builds the form, or its questions as a csv; and the form's
exported csv back to ratings.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from howsure.errors import InputError, OptionError
from howsure.people import (
    BuiltPage,
    ChoiceQuestion,
    Consent,
    Item,
    LabelsQuestion,
    QuizScreen,
    RankingQuestion,
    ReadingScreen,
    Refusal,
    ScaleQuestion,
    SliderQuestion,
    SpansQuestion,
    TextQuestion,
    write_private,
)
from howsure.people.build import explain
from howsure.people.questions import Answer, Question
from howsure.people.screens import Screen
from howsure.people.words import Words
from howsure.safe_io import read_bytes, write_atomic
from howsure.study.item_studies import ItemStudy
from howsure.study.packet.building import KEY, PlacedItem, StudyKey, StudyPacket, refuse_old_key
from howsure.study.packet.design import AGAIN, ATTENTION
from howsure.study.packet.pages import ANSWER, COMMENTS, item_question, item_questions, option_value
from howsure.study.protocol import Study
from howsure.study.scoring.collection import Answered, AnswerSet, CollectedRatings, collect_answers, joined
from howsure.tables.frames import write_frame
from howsure.yaml_files import read_yaml

__all__ = [
    "FormMapping",
    "Mapped",
    "apps_script",
    "collect_forms",
    "form_frame",
    "qualtrics_text",
    "read_mapping",
    "save_forms",
]

_NAME = "Your name or code"
_NONE = "None of these"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Mapped(_Part):
    """What one column of an export answers."""

    item: str
    """The opaque item as the build wrote it, or the id of a pair, or attention/ID."""
    question: str
    """The dimension; ``vibe_1`` and ``vibe_2`` for one that is asked of each response."""
    target: Annotated[int, Field(ge=1, le=2)] | None = None
    """Which response was the target, for an item that is named by its pair."""


class FormMapping(_Part):
    """Which column of an exported csv holds what."""

    rater: str | None = None
    """The column that says who answered; without it raters are numbered."""
    minutes: str | None = None
    """The column with how many minutes the rater took."""
    seconds: str | None = None
    """The same in seconds."""
    comments: str | None = None
    """The column with the rater's comment."""
    skip_rows: int = Field(default=0, ge=0, le=20)
    """Rows below the header that hold no answers (two in an export of Qualtrics)."""
    answers: dict[str, str] = {}
    """Answers that are spelt otherwise in the export: theirs → ours."""
    quiz: dict[str, str] = {}
    """Columns of the quiz: column → q1, q2, …"""
    columns: dict[str, Mapped] = Field(min_length=1)
    """Columns of the items."""


FormKind = Literal["csv", "google", "qualtrics"]


def save_forms(packet: StudyPacket, folder: str | os.PathLike[str], kind: FormKind = "csv") -> list[Path]:
    """Write what builds each form, its mapping beside it, and key.json, which only its owner may read.

    Parameters
    ----------
    packet : StudyPacket
        The pages; each becomes a form.
    folder : str or path
        An empty folder.
    kind : {"csv", "google", "qualtrics"}
        The questions as a table (form-1.csv), a Google Apps Script (form-1.gs), or a text file that Qualtrics imports (form-1.txt).
    """
    folder = Path(folder)
    refuse_old_key(folder)
    written = []
    for number, page in enumerate(packet.pages, 1):
        frame = form_frame(page, number)
        if kind == "google":
            written.append(write_atomic(folder / f"form-{number}.gs", apps_script(page, frame)))
        elif kind == "qualtrics":
            written.append(write_atomic(folder / f"form-{number}.txt", qualtrics_text(frame)))
        else:
            written.append(write_frame(frame.drop("screen", "name"), folder / f"form-{number}.csv"))
        written.append(write_atomic(folder / f"form-{number}.yaml", _mapping_text(page, frame, kind)))
    return [*written, write_private(folder / KEY, packet.key.text)]


def apps_script(page: BuiltPage, frame: pl.DataFrame) -> str:
    """A Google Apps Script whose function ``createForm`` makes the form of `form_frame`, one section per screen."""
    blocks = frame.select("section", "kind", "text", "options", "required").to_dicts()
    for block in blocks:
        block["options"] = block["options"].split("\n") if block["options"] else []
    thanks = page.page.thanks or Words.of(page.page.language, page.page.words)["thanks_text"]
    values = {"TITLE": page.page.title, "THANKS": thanks, "BLOCKS": blocks}
    # a text of the study cannot leave its string: JSON has no line ends in it, and < is spelt out
    told = {name: json.dumps(value, indent=1).replace("<", "\\u003c") for name, value in values.items()}
    return re.sub("%(TITLE|THANKS|BLOCKS)%", lambda match: told[match[1]], _SCRIPT)


_SCRIPT = """// Builds the form of one study page. Open script.google.com, make a new project, paste this file, and run createForm.
// The log then shows the links of the form. The mapping beside this file reads its exported answers.
const TITLE = %TITLE%;
const THANKS = %THANKS%;
const BLOCKS = %BLOCKS%;

function createForm() {
  const form = FormApp.create(TITLE);
  form.setConfirmationMessage(THANKS);
  form.setProgressBar(true);
  let section = BLOCKS[0].section;
  BLOCKS.forEach(function (block) {
    if (block.section !== section) form.addPageBreakItem().setTitle(block.section);
    section = block.section;
    if (block.kind === "read") {
      form.addSectionHeaderItem().setTitle("").setHelpText(block.text);
    } else if (block.kind === "choice") {
      form.addMultipleChoiceItem().setTitle(block.text).setChoiceValues(block.options).setRequired(block.required);
    } else if (block.kind === "checkboxes") {
      form.addCheckboxItem().setTitle(block.text).setChoiceValues(block.options).setRequired(block.required);
    } else if (block.kind === "number") {
      const range = block.options.map(Number);
      const rule = FormApp.createTextValidation().requireNumberBetween(range[0], range[1]).build();
      form.addTextItem().setTitle(block.text).setValidation(rule).setRequired(block.required);
    } else if (block.kind === "short_text") {
      form.addTextItem().setTitle(block.text).setRequired(block.required);
    } else {
      form.addParagraphTextItem().setTitle(block.text).setRequired(block.required);
    }
  });
  Logger.log("Answer: " + form.getPublishedUrl());
  Logger.log("Edit: " + form.getEditUrl());
  return form;
}
"""


def qualtrics_text(frame: pl.DataFrame) -> str:
    """A survey in the text format that Qualtrics imports: one block, one page per screen, questions with ids of their own."""
    kinds = {
        "read": "DB",
        "choice": "MC:SingleAnswer:Vertical",
        "checkboxes": "MC:MultipleAnswer:Vertical",
        "short_text": "TE:SingleLine",
        "number": "TE:SingleLine",
        "long_text": "TE:Essay",
    }
    lines, section = ["[[AdvancedFormat]]", "", "[[Block:Study]]", ""], ""
    for row in frame.iter_rows(named=True):
        if section not in ("", row["section"]):
            lines += ["[[PageBreak]]", ""]
        heading = f"<strong>{_html_line(row['section'])}</strong><br><br>" if row["section"] != section else ""
        section = row["section"]
        lines.append(f"[[Question:{kinds[row['kind']]}]]")
        if row["kind"] != "read" and row["text"][:1].isdigit():
            lines.append(f"[[ID:{_export_tag(row['text'])}]]")
        lines.append(heading + _html_line(row["text"]))
        if row["options"] and row["kind"] != "number":
            lines += ["[[Choices]]", *(_html_line(option) for option in row["options"].split("\n"))]
        lines.append("")
    return "\n".join(lines)


def _html_line(text: str) -> str:
    """A text on one line of HTML; brackets that would open a command are spelt out."""
    from markupsafe import escape

    return str(escape(text)).replace("[[", "&#91;&#91;").replace("\r", "").replace("\n", "<br>")


def _export_tag(text: str) -> str:
    """The name of a question in an export: its number, such as Q1_07."""
    return "Q" + text.partition(" ")[0].replace(".", "_")


def form_frame(page: BuiltPage, number: int = 1) -> pl.DataFrame:
    """One row per block of the form: section, kind (read, choice, checkboxes, number, long_text, short_text), text, options (one a line), required.

    Texts of questions begin with a number, so that every column of the export has a name of its own.
    """
    rows = [
        ("Before you begin", "read", f"Reference {page.page.commitment}", "", False, "", ""),
        ("Before you begin", "short_text", f"{number}.00 {_NAME}", "", True, "", ""),
    ]
    asked = 0
    for screen in page.page.screens:
        rows += [(screen.title, "read", text, "", False, "", "") for text in _texts(screen)]
        if isinstance(screen, Consent):
            rows.append((screen.title, "choice", screen.agree, "Yes", True, "", ""))
        for question in _questions(screen):
            asked += 1
            rows.append(_question_row(f"{number}.{asked:02d}", screen, question))
    return pl.DataFrame(
        rows, schema=[*("section", "kind", "text", "options", "required", "screen", "name")], orient="row"
    )


def read_mapping(path: str | os.PathLike[str]) -> FormMapping:
    """A mapping from its file."""
    document = read_yaml(Path(path))
    try:
        return FormMapping.model_validate(document.value)
    except ValidationError as error:
        place = error.errors()[0]["loc"]
        raise InputError(
            f"{path}{document.line_of(place)}: {explain(error)}. See docs/study-build.md for its fields."
        ) from None


def collect_forms(
    files: Iterable[str | os.PathLike[str]],
    mappings: Sequence[FormMapping],
    *,
    key: StudyKey | None = None,
    study: Study | ItemStudy | None = None,
    strict: bool = False,
) -> CollectedRatings:
    """Ratings from the exported csv files of forms.

    ``key`` is that of the build; for a form made without one, name pairs and slots in the mapping and give the `study`. Each file
    is read by the one mapping whose columns it has. A file or a line that cannot be read is named in ``refused``; with ``strict`` it raises.
    """
    study = key.study if key else study
    if study is None:
        raise InputError("A form's answers need the key of the build, or the study. Pass --key or --study.")
    reader = _Reader(
        study, {} if key is None else {name: one for rows in key.raters.values() for name, one in rows.items()}
    )
    found = [one for path in map(Path, files) for one in reader.read_all(path, mappings)]
    counted, doubled = _once([one for one in found if isinstance(one, AnswerSet)])
    refused = [*(one for one in found if isinstance(one, Refusal)), *doubled]
    return collect_answers(study, counted, refused, sealed=key.commitment if key else "", strict=strict)


# writing


def _texts(screen: Screen) -> Iterator[str]:
    if screen.text:
        yield screen.text
    if isinstance(screen, Item) and screen.prompt:
        yield screen.prompt
    if isinstance(screen, Item | ReadingScreen):
        above = screen.context if isinstance(screen, Item) else ()
        yield from (f"{passage.label}\n\n{passage.words}" for passage in (*above, *screen.passages))


def _questions(screen: Screen) -> Sequence[Question]:
    return screen.questions if isinstance(screen, Item | QuizScreen) else ()


def _question_row(code: str, screen: Screen, question: Question) -> tuple[Any, ...]:
    if isinstance(question, RankingQuestion | SpansQuestion):
        raise OptionError(
            f"Forms cannot ask {question.kind} ({question.name}). Use the pages, or leave the question out."
        )
    options = "\n".join(_labels(question))
    kind = "checkboxes" if isinstance(question, LabelsQuestion) else "choice" if options else "long_text"
    if isinstance(question, SliderQuestion):
        kind, options = "number", f"{question.low}\n{question.high}"
        question = question.model_copy(
            update={"text": f"{question.text} ({question.low} = {question.left}, {question.high} = {question.right})"}
        )
    return screen.title, kind, f"{code} {question.text}", options, question.required, screen.id, question.name


def _labels(question: Question) -> tuple[str, ...]:
    if isinstance(question, ChoiceQuestion):
        return tuple(option.label for option in question.options)
    if isinstance(question, LabelsQuestion):
        return (*(option.label for option in question.options), *(() if question.at_least else (_NONE,)))
    return question.labels if isinstance(question, ScaleQuestion) else ()


def _mapping_text(page: BuiltPage, frame: pl.DataFrame, kind: FormKind) -> str:
    import yaml

    asked = frame.filter(pl.col("name") != "")
    screens = {screen.id: screen for screen in page.page.screens}
    column = _export_tag if kind == "qualtrics" else str
    told: dict[str, Any] = {"rater": column(frame["text"][1])}
    told |= {"seconds": "Duration (in seconds)", "skip_rows": 2} if kind == "qualtrics" else {}
    told |= {"quiz": {}, "columns": {}}
    for text, screen, name in asked.select("text", "screen", "name").iter_rows():
        shown = screens[screen]
        if name == COMMENTS:
            told["comments"] = column(text)
        elif shown.kind == "quiz":
            told["quiz"][column(text)] = name
        elif not isinstance(shown, Item) or shown.passages or shown.context or name == ANSWER:
            told["columns"][column(text)] = {"item": screen, "question": name}
    return _ABOUT + yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=1000)


_ABOUT = (
    "# Which column of the exported csv holds what. Correct the names on the left if your form builder changed them.\n"
)


# reading


@dataclass(frozen=True)
class _Row:
    """One person's line of an export."""

    where: str
    cells: Mapping[str, str]
    mapping: FormMapping

    def get(self, column: str | None) -> str:
        text = self.cells.get(column or "", "").strip()
        return self.mapping.answers.get(text, text)

    def number(self, column: str) -> float | None:
        try:
            return float(self.get(column).replace(",", ".")) if self.get(column) else None
        except ValueError:
            raise InputError(f"{self.where}, column {column!r}: {self.get(column)[:40]!r} is not a number.") from None


@dataclass(frozen=True)
class _Reader:
    study: Study | ItemStudy
    placed: Mapping[str, PlacedItem]

    def read_all(self, path: Path, mappings: Sequence[FormMapping]) -> list[AnswerSet | Refusal]:
        try:
            return list(self._read(path, mappings))
        except InputError as error:
            return [Refusal.of(str(path), error)]

    def _read(self, path: Path, mappings: Sequence[FormMapping]) -> Iterator[AnswerSet | Refusal]:
        lines = _lines(path)
        _, header = next(lines)
        mapping = _fitting(path, header, mappings)
        for number, (line, cells) in enumerate(lines, 1 - mapping.skip_rows):
            if number < 1 or not any(cell.strip() for cell in cells):
                continue
            row = _Row(f"{path} line {line}", dict(zip(header, cells, strict=False)), mapping)
            rater = row.get(mapping.rater) if mapping.rater else f"{path.stem}-{number}"
            try:
                yield self._answer_set(rater, row) if rater else Refusal(row.where, "it does not say who answered")
            except InputError as error:
                yield Refusal.of(row.where, error)

    def _answer_set(self, rater: str, row: _Row) -> AnswerSet:
        given: dict[str, dict[str, Answer]] = defaultdict(dict)
        placed: dict[str, PlacedItem] = {}
        for column, mapped in row.mapping.columns.items():
            placed[mapped.item] = self._place(mapped, row)
            if text := row.get(column):
                given[mapped.item][mapped.question] = self._answer(
                    placed[mapped.item], mapped.question, text, column, row
                )
        items = (Answered(placed[item], given[item], position) for position, item in enumerate(placed, 1))
        return AnswerSet(
            rater=rater[:60].strip(),
            source=row.where,
            items=joined(items),
            digest=hashlib.sha256(repr(sorted(row.cells.items())).encode()).hexdigest(),
            minutes=self._minutes(row),
            quiz=self._quiz(row),
            comments=row.get(row.mapping.comments) or None,
        )

    def _place(self, mapped: Mapped, row: _Row) -> PlacedItem:
        if mapped.item in self.placed:
            return self.placed[mapped.item]
        pairs = [pair.id for pair in self.study.pairs] if isinstance(self.study, Study) else []
        items = [*pairs, *(ATTENTION + one.id for one in self.study.attention)]
        if mapped.item.removesuffix(AGAIN) not in items:
            raise InputError(
                f"{row.where}: the mapping names item {mapped.item!r}, which is neither in the key nor in the study."
            )
        if mapped.target is None and not mapped.item.startswith(ATTENTION):
            raise InputError(
                f"{row.where}: the mapping names pair {mapped.item!r} without its target; add `target: 1` or `target: 2`."
            )
        return PlacedItem(item=mapped.item, target=mapped.target)

    def _answer(self, placed: PlacedItem, name: str, text: str, column: str, row: _Row) -> Answer:
        question = _question_of(self.study, placed, name)
        if question is None:
            raise InputError(f"{row.where}: the mapping names question {name!r}, which {placed.item!r} does not have.")
        found = _recognised(question, self.study, text)
        if found is None:
            raise InputError(
                f"{row.where}, column {column!r}: {text[:60]!r} is no answer to {name!r}. Answers are {' | '.join(_labels(question))}; "
                "give others under `answers` in the mapping."
            )
        return found

    def _minutes(self, row: _Row) -> float | None:
        if row.mapping.minutes:
            return row.number(row.mapping.minutes)
        seconds = row.number(row.mapping.seconds) if row.mapping.seconds else None
        return None if seconds is None else seconds / 60

    def _quiz(self, row: _Row) -> float | None:
        if not (row.mapping.quiz and self.study.quiz):
            return None
        rights = {f"q{number}": one.right for number, one in enumerate(self.study.quiz.questions, 1)}
        right = sum(row.get(column) == rights.get(name) for column, name in row.mapping.quiz.items())
        return right / len(rights)


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells of a csv, header first."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeError:
        raise InputError(f"{path}: not text in UTF-8. Export it as csv in UTF-8.") from None
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line, is_empty = 1, True
    try:
        for cells in reader:
            yield line, cells
            line, is_empty = reader.line_num + 1, False
    except csv.Error as error:
        raise InputError(f"{path} line {line}: not csv ({error}). Export it again.") from None
    if is_empty:
        raise InputError(f"{path}: is empty. Export the answers as csv.")


def _fitting(path: Path, header: Sequence[str], mappings: Sequence[FormMapping]) -> FormMapping:
    """The mapping whose columns are all in the header, each once."""
    there = Counter(header)
    missing: list[str] = []
    for mapping in mappings:
        told = [mapping.rater, mapping.minutes, mapping.seconds, mapping.comments, *mapping.quiz, *mapping.columns]
        missing = [column for column in told if column and there[column] != 1]
        if not missing:
            return mapping
    if not mappings:
        raise InputError(f"{path}: a form's export needs a mapping of its columns. Pass --mapping form-1.yaml.")
    how = "is there more than once" if there[missing[0]] else "is not there"
    raise InputError(f"{path} line 1: column {missing[0]!r} of the mapping {how}. Columns: {', '.join(header[:8])}…")


def _question_of(study: Study | ItemStudy, placed: PlacedItem, name: str) -> Question | None:
    """The question called `name` of an item, or None when it has none."""
    if isinstance(study, Study) or placed.item.startswith(ATTENTION):
        return item_question(study, placed.item, name)
    return next((one for _, _, one in item_questions(study, placed.systems) if one.name == name), None)


def _recognised(question: Question, study: Study | ItemStudy, text: str) -> Answer | None:
    """An answer as the page would have recorded it: by its label, or by its number."""
    if isinstance(question, LabelsQuestion):
        parts = [part.strip().casefold() for part in re.split("[,;]", text)]
        known = {option.label.casefold(): option.value for option in question.options}
        if parts == [_NONE.casefold()]:
            return ()
        chosen = tuple(value for label, value in known.items() if label in parts)
        return chosen if len(chosen) == len(set(parts)) else None
    if isinstance(question, TextQuestion):
        return text
    labels = [label.casefold() for label in _labels(question)]
    if text.casefold() in labels:
        place = labels.index(text.casefold())
        return question.low + place if isinstance(question, ScaleQuestion) else question.options[place].value  # type: ignore[union-attr]
    try:
        number = float(text)
    except ValueError:
        return None
    if isinstance(question, ScaleQuestion | SliderQuestion):
        return int(number) if number == int(number) and question.accepts(int(number)) else None
    if isinstance(study, ItemStudy):
        return None
    codes = {dimension.name: dimension.codes for dimension in study.dimensions}.get(question.name, ())
    return option_value(codes.index(number)) if number in codes else None


def _once(sets: Sequence[AnswerSet]) -> tuple[list[AnswerSet], list[Refusal]]:
    """Those who answered once; of who answered twice no set counts until someone decides which to keep."""
    by_rater: dict[str, list[AnswerSet]] = defaultdict(list)
    for one in sets:
        by_rater[one.rater].append(one)
    counted = [given[0] for given in by_rater.values() if len(given) == 1]
    told = "{!r} answered {} times; keep one line and remove the others"
    refused = [
        Refusal(one.source, told.format(rater, len(given)))
        for rater, given in by_rater.items()
        if len(given) > 1
        for one in given
    ]
    return counted, refused
