"""A study of any kind as its author writes it: items with a text or with the responses of named systems, and questions about them."""

from __future__ import annotations

import os
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator

from howsure.errors import InputError
from howsure.people.markup import pictures_in, read_picture
from howsure.people.questions import refuse_twice
from howsure.people.words import read_words
from howsure.study.inputs import PATH, check_type
from howsure.study.protocol import (
    TAKEN_NAMES,
    Id,
    Line,
    Name,
    Prose,
    Study,
    StudyPart,
    StudyParts,
    Unit,
    count_words,
    file_schema,
    minutes_for,
)
from howsure.yaml_files import Document, read_yaml

__all__ = [
    "QUESTION_TYPES",
    "ItemQuestion",
    "ItemStudy",
    "QuestionType",
    "StudyItem",
    "TurnText",
    "plain_text",
    "read_study",
    "study_of",
]

QuestionType = Literal[
    "rating", "slider", "pairwise", "best_worst", "ranking", "category", "labels", "span", "text", "yes_no"
]
QUESTION_TYPES: tuple[QuestionType, ...] = get_args(QuestionType)
_COMPARING = ("pairwise", "best_worst", "ranking")
_LISTED = ("category", "labels", "span")


class TurnText(StudyPart):
    """One turn of a conversation."""

    role: Line
    """user, assistant, system, or any name."""
    text: Prose
    """What is said."""


_Shown = Prose | tuple[TurnText, ...]


class StudyItem(StudyPart):
    """What is rated: a text, or the responses of systems to one prompt or conversation."""

    id: Id
    """How tables call the item; raters never see it."""
    prompt: Prose | None = None
    """What was asked, shown above."""
    context: _Shown | None = None
    """A source text or a conversation so far, shown above in full width: a text, or turns with role and text."""
    text: _Shown | None = None
    """What is rated, where there are no systems: a text, or turns."""
    responses: dict[Id, _Shown] = Field(default_factory=dict)
    """What is rated: system → its response, a text or turns. Raters never see the names."""
    domain: Line | None = None
    """The field the item belongs to."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if (self.text is None) == (not self.responses):
            raise ValueError(f"item {self.id!r} needs either a text or responses")
        if strangers := {"again"} & set(self.responses):
            raise ValueError(f"{min(strangers)!r} is reserved by Howsure; call the system otherwise")
        if self.id == "attention":
            raise ValueError("'attention' is reserved by Howsure; choose another name")
        return self


class ItemQuestion(StudyPart):
    """What is asked about an item, or about each response on the screen."""

    name: Name
    """Letters, digits and underscores: the name in tables and charts."""
    type: QuestionType
    """rating, slider, pairwise, best_worst, ranking, category, labels, span, text or yes_no."""
    question: Line
    """What raters read; ``{response}`` becomes the label of the response where one is asked about."""
    of: Literal["item", "response"] = "item"
    """Whether it is asked once per screen, or of each response on it."""
    labels: tuple[Line, ...] = Field(default=(), max_length=60)
    """The answers in the order shown. rating: from low to high (if omitted: the numbers); slider: the two ends; category, labels, span: the categories."""
    low: int = 1
    """rating, slider: the number of the lowest answer."""
    high: int | None = None
    """rating, slider: the number of the highest answer; if omitted: as many as there are labels, or 5, or 100."""
    ties: bool = True
    """pairwise: whether both can be equally good."""
    both_bad: bool = False
    """pairwise: whether both can be bad."""
    top: int | None = Field(default=None, ge=1)
    """ranking: how many are ranked; if omitted: all."""
    at_least: int = Field(default=0, ge=0)
    """labels: how many must be chosen."""
    at_most: int | None = Field(default=None, ge=1)
    """labels: how many may be chosen."""
    required: bool | None = None
    """Whether it must be answered; if omitted: yes, but a text need not be."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("label", self.labels)
        if self.name in TAKEN_NAMES:
            raise ValueError(f"{self.name!r} is reserved by Howsure; choose another name")
        if self.type in _LISTED and len(self.labels) < (1 if self.type == "span" else 2):
            raise ValueError(f"{self.type} {self.name!r} needs labels")
        if self.type == "slider" and len(self.labels) != 2:
            raise ValueError(f"slider {self.name!r} needs two labels, one for each end")
        if self.type in ("rating", "slider"):
            if self.low >= self.top_value:
                raise ValueError(f"low {self.low} is not below high {self.top_value}")
            if self.type == "rating" and len(self.steps) != self.top_value - self.low + 1:
                raise ValueError(
                    f"{len(self.labels)} labels for the numbers {self.low} to {self.top_value}; give one for each"
                )
            if self.type == "rating" and len(self.steps) > 11:
                raise ValueError(f"{len(self.steps)} steps are too many for a scale; use type: slider")
        if self.of == "response" and self.type in _COMPARING:
            raise ValueError(f"{self.type} compares the responses, so it is asked once: remove `of`")
        return self

    @property
    def is_required(self) -> bool:
        """Whether it must be answered."""
        return self.type != "text" if self.required is None else self.required

    @property
    def top_value(self) -> int:
        """The number of the highest answer of a rating or slider."""
        if self.high is not None:
            return self.high
        return 100 if self.type == "slider" else self.low + (len(self.labels) or 5) - 1

    @property
    def steps(self) -> tuple[str, ...]:
        """The label of each step of a rating."""
        return self.labels or tuple(str(number) for number in range(self.low, self.top_value + 1))


class ItemStudy(StudyParts):
    """A study of any kind: items with a text or with the responses of named systems, and questions of any type.

    Parameters
    ----------
    consent : Prose | None
        Text of the consent.
    instructions : Prose | None
        Instructions for raters.
    material : Prose | None
        A text that raters read first and keep at hand.
    items : tuple[StudyItem, ...]
        What is rated.
    questions : tuple[ItemQuestion, ...]
        What is asked.
    show : {"one", "pairs", "all"} | None
        How many responses one screen shows.
    markup : {"plain", "markdown"}
        How texts are shown.
    comments : bool
        Whether to ask for comments at the end.
    pictures : dict[str, str]
        Data of the pictures that texts show; `read_study` fills it in.
    """

    consent: Prose | None = None
    """What raters agree to before anything else."""
    instructions: Prose | None = None
    """What to go by while rating."""
    material: Prose | None = None
    """A text that raters read first and keep at hand: a guideline, a source, a gold standard."""
    items: tuple[StudyItem, ...] = Field(min_length=1, max_length=20_000)
    """What is rated, or the name of a YAML file with it."""
    questions: tuple[ItemQuestion, ...] = Field(min_length=1, max_length=12)
    """What is asked about each item."""
    show: Literal["one", "pairs", "all"] | None = None
    """How many responses one screen shows; if omitted: pairs for a pairwise question, all for a ranking, else one."""
    markup: Literal["plain", "markdown"] = "plain"
    """How texts of items are shown, all alike: as written, or as Markdown with code, formulas between dollar signs, and pictures from files."""
    comments: bool = True
    """Whether to ask for comments at the end."""
    pictures: dict[str, str] = Field(default_factory=dict)
    """If omitted: the pictures are read from the files that texts name."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("item", (item.id for item in self.items))
        refuse_twice("question", (one.name for one in self.questions))
        shown, kinds = self.shown, {one.type for one in self.questions}
        if "pairwise" in kinds and shown != "pairs":
            raise ValueError("a pairwise question needs show: pairs")
        if kinds & {"ranking", "best_worst"} and shown != "all":
            raise ValueError("a ranking and best_worst need show: all")
        least = 3 if "best_worst" in kinds else 2 if shown != "one" else 0
        most = 12 if shown == "all" else 100
        for item in self.items:
            if not least <= len(item.responses) <= most or (shown == "all" and len(item.responses) < 2):
                raise ValueError(
                    f"item {item.id!r} has {len(item.responses)} responses; {least} to {most} are needed for show: {shown}"
                )
            texts = (item.text or "", *item.responses.values())
            if "span" in kinds and not all(isinstance(text, str) for text in texts):
                raise ValueError(f"item {item.id!r} is a conversation, in which spans cannot be marked")
        if "span" in kinds and (self.markup == "markdown" or shown != "one"):
            raise ValueError("spans are marked in plain texts, one on a screen: markup: plain and show: one")
        if self.repeats > self.n_units:
            raise ValueError(f"repeats {self.repeats} is above the {self.n_units} items of a rater")
        return self

    @property
    def shown(self) -> Literal["one", "pairs", "all"]:
        """How many responses one screen shows."""
        kinds = {one.type for one in self.questions}
        return self.show or ("pairs" if "pairwise" in kinds else "all" if kinds & {"ranking", "best_worst"} else "one")

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """The systems whose responses are rated, in the order of the file."""
        return tuple(dict.fromkeys(name for item in self.items for name in item.responses))

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Every screen that a rater may see: an item with one response, with two, or with all."""
        made = []
        for item in self.items:
            names = [name for name in self.systems if name in item.responses]
            if self.shown == "all" or not names:
                made.append(Unit(item.id, item.id, tuple(names)))
            else:
                groups = combinations(names, 2 if self.shown == "pairs" else 1)
                made += [Unit(f"{item.id}/{'+'.join(group)}", item.id, group) for group in groups]
        return tuple(made)

    def response_name(self, unit: str, system: str) -> str:
        """What a rated response is called in tables: ITEM/SYSTEM, or ITEM/A+B/SYSTEM where a rater may meet it in several pairs."""
        item = unit.partition("/")[0]
        is_in_several = self.shown == "pairs" and len(self.item(item).responses) > 2
        return f"{unit if is_in_several else item}/{system}"

    @cached_property
    def expected_minutes(self) -> float:
        """How long a rater needs: every text read once at 238 words per minute, and 5 seconds for each answer."""
        n_words = sum(count_words(text) for unit in self.units for text in self.texts_of(unit)) / len(self.units)
        n_fields = sum(self._n_fields(unit) for unit in self.units) / len(self.units)
        n_shown = self.n_units + self.repeats
        told = [text for text in (self.consent, self.instructions, self.material, self.debriefing) if text]
        asked = [*self.attention, *(self.quiz.questions if self.quiz else ())]
        n_other = sum(map(count_words, told)) + sum(
            count_words(f"{one.question} {' '.join(one.options)}") for one in asked
        )
        n_answers = n_fields * n_shown + len(asked) + len(self.demographics) + len(self.screening)
        return minutes_for(n_words * n_shown + n_other, n_answers)

    def item(self, name: str) -> StudyItem:
        """The item called `name`."""
        return self._by_name[name]

    def texts_of(self, unit: Unit) -> list[str]:
        """Everything to read on a screen."""
        item = self.item(unit.item)
        shown = [item.prompt, item.context, item.text, *(item.responses[name] for name in unit.systems)]
        return [plain_text(one) for one in shown if one is not None]

    def _n_fields(self, unit: Unit) -> int:
        return sum(
            (max(len(unit.systems), 1) if one.of == "response" else 1) + (one.type == "best_worst")
            for one in self.questions
        )

    @cached_property
    def _by_name(self) -> dict[str, StudyItem]:
        return {item.id: item for item in self.items}

    @classmethod
    def schema(cls) -> dict[str, Any]:  # type: ignore[override]
        """The JSON schema of a study file, for editors that complete and check."""
        return file_schema(cls, "items")


def plain_text(shown: str | tuple[TurnText, ...]) -> str:
    """A text, or a conversation as one."""
    return shown if isinstance(shown, str) else "\n\n".join(f"{turn.role}: {turn.text}" for turn in shown)


# From a study file to a study; a fault is named with its line.


def read_study(path: str | os.PathLike[str]) -> Study | ItemStudy:
    """The study in a YAML (or JSON) file: an `ItemStudy` where it has ``items``, else a `Study`. A fault is named with its line.

    Parameters
    ----------
    path : str or path
        The file. ``pairs``, ``items`` and ``words`` may name other files beside it; pictures are read from beside it too. The
        ``key.json`` of a packet is taken as well.
    """
    check_type("study", path, PATH, "a Study, an ItemStudy or the path of a study file")
    path = Path(path)
    document = read_yaml(path)
    if not isinstance(document.value, dict):
        raise InputError(
            f"{path}: not a study. It begins with `title: …`; `howsure study init` writes one to start from."
        )
    given, listed_in = dict(document.value), document
    if "study" in given and "raters" in given:  # the key of a packet holds the study as it was built
        given = dict(given["study"])
    kind, field = (ItemStudy, "items") if "items" in given else (Study, "pairs")
    if isinstance(given.get(field), str):
        listed_in = read_yaml(path.parent / given[field])
        listed = listed_in.value
        given[field] = listed.get(field) if isinstance(listed, dict) else listed
    if isinstance(given.get("words"), str):
        given["words"] = read_words(path.parent / given["words"])
    try:
        study: Study | ItemStudy = kind.model_validate(given)
    except ValidationError as error:
        raise InputError(_fault(error, document, listed_in, field)) from None
    if isinstance(study, ItemStudy) and study.markup == "markdown" and not study.pictures:
        texts = {text for unit in study.units for text in study.texts_of(unit)}
        names = {name for text in texts for name in pictures_in(text)}
        return study.model_copy(update={"pictures": {name: _picture(path.parent, name) for name in sorted(names)}})
    return study


def study_of(study: Study | ItemStudy | str | os.PathLike[str]) -> Study | ItemStudy:
    """The study itself, or the one in a file."""
    return study if isinstance(study, StudyParts) else read_study(study)


def _picture(folder: Path, name: str) -> str:
    """A picture from beside the study, and from nowhere else."""
    path = folder / name
    if "://" in name or not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"{folder}: the picture {name[:80]!r} is not in this folder. Pages load nothing from elsewhere."
        )
    return read_picture(path)


def _fault(error: ValidationError, document: Document, listed_in: Document, field_of: str) -> str:
    """The first fault in one line: file, line, field, what is wrong."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = first["loc"]
    where = document
    if listed_in is not document and place[:1] == (field_of,):
        where, place = listed_in, place if isinstance(listed_in.value, dict) else place[1:]
    # a check on top of a type adds a part that is no field of the file
    field = ".".join(str(part) for part in place if "[" not in str(part))
    said = first["msg"].removeprefix("Value error, ")
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{where.path}{where.line_of(place)}: {field or 'the study'}: {_REMEDY.get(first['type'], said)}.{more}"


_REMEDY = {
    "missing": "is missing; every study needs it",
    "extra_forbidden": "is not a field of a study; `howsure study check --schema` lists them",
    "string_pattern_mismatch": "is blank or not an allowed name (a dimension: up to 30 of a–z 0–9 _, a letter first; an id: up to 40 of A–Z a–z 0–9 . _ -, a letter or digit first; a language: a code such as en)",
    "string_too_short": "is empty; fill it in",
    "string_type": "must be text; put it in quotes",
    "too_short": "has no entries; give at least one",
    "too_long": "has too many entries; `howsure study check --schema` says how many are allowed",
}
