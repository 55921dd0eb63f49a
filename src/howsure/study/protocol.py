"""A study as its author writes it: the parts that every study has, and the persona protocol (pairs against a gold standard).

::

    every study ─┬─ screening, consent, quiz, attention, demographics, comments, debriefing      optional parts
                 ├─ repeats            how many items are shown again, with their slots turned round
                 └─ design             how many ratings each item gets, and how many items each rater

    Study (has `pairs`)       one voice: a gold standard, and pairs of a target and a comparison response. The persona protocol
    ItemStudy (has `items`)   anything else, in `item_studies`: items with a text or responses of named systems, and questions of any type

`study_files.read_study` reads either from its file.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from howsure.errors import InputError, OptionError
from howsure.people import digest
from howsure.people.questions import refuse_twice
from howsure.people.words import Words
from howsure.study.inputs import PATH, check_type

__all__ = [
    "DEFAULT_DIMENSIONS",
    "PAIR",
    "SLOTS",
    "TAKEN_NAMES",
    "AskedAtEnd",
    "Attention",
    "BlockPlan",
    "Dimension",
    "Id",
    "Kind",
    "Line",
    "Name",
    "Prose",
    "Quiz",
    "QuizQuestion",
    "ResponsePair",
    "Screening",
    "Study",
    "StudyPart",
    "StudyParts",
    "Unit",
    "count_words",
    "file_schema",
    "minutes_for",
]

Kind = Literal["comparison", "each", "preferred", "choice"]
SLOTS = ("Response 1", "Response 2")
PAIR = ("target", "comparison")
"""What a pair's responses are called where systems are named."""

Line = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")]
# a line end after the last word would tell a text in block style from one in quotes
Prose = Annotated[
    str, Field(min_length=1, max_length=900_000, pattern=r"\S"), AfterValidator(lambda text: text.strip("\r\n"))
]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,29}$")]
TAKEN_NAMES = ("attention", "comments", "guess")
_WORDS_PER_MINUTE = 238  # silent reading of prose in English (Brysbaert 2019)
_SECONDS_PER_ANSWER = 5
_LEANINGS = (
    "Definitely Response 1",
    "Leaning to Response 1",
    "Hard to tell, or both",
    "Leaning to Response 2",
    "Definitely Response 2",
)


class StudyPart(BaseModel):
    """A part of a study file; a field that is not known is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Dimension(StudyPart):
    """What is asked about a pair.

    ``comparison`` sets the responses against each other; ``each`` is asked of both; ``preferred`` of the one that the rater
    preferred (undefined on a tie); ``choice`` is one answer about the pair, with a number for each label.
    """

    name: Name
    """Letters, digits and underscores: the name in tables and charts."""
    kind: Kind
    """comparison, each, preferred or choice."""
    question: Line
    """What raters read; ``{response}`` in a question of kind `each` becomes Response 1 or Response 2."""
    low: float = -2
    """The number of the first label (kind choice: the smallest number)."""
    high: float = 2
    """The number of the last label (kind choice: the largest number)."""
    labels: tuple[Line, ...] = Field(default=_LEANINGS, min_length=2, max_length=11)
    """The answers in the order shown. In a comparison they run from Response 1 to Response 2."""
    values: tuple[float, ...] | None = None
    """Kind choice: the number of each label. If omitted: in equal steps from low to high."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("label", self.labels)
        if self.name in TAKEN_NAMES:
            raise ValueError(f"{self.name!r} is reserved by Howsure; choose another name")
        if not self.low < self.high:
            raise ValueError(f"low {self.low:g} is not below high {self.high:g}")
        if self.kind == "choice":
            return self._fit_choice()
        n_steps = self.high - self.low + 1
        if self.values is not None or n_steps != len(self.labels) or self.low != int(self.low):
            raise ValueError(
                f"labels count {len(self.labels)}, but whole numbers from {self.low:g} to {self.high:g} need {n_steps:g} labels (and no values)"
            )
        if self.kind == "comparison" and self.low != -self.high:
            raise ValueError(f"a comparison runs from −n to n; {self.low:g} to {self.high:g} favours one slot")
        return self

    def _fit_choice(self) -> Self:
        if self.values is None:
            return self
        if len(self.values) != len(self.labels):
            raise ValueError(f"{len(self.values)} values for {len(self.labels)} labels; give one number for each")
        if (min(self.values), max(self.values)) != (self.low, self.high):
            raise ValueError(f"values do not run from low {self.low:g} to high {self.high:g}")
        return self

    @property
    def codes(self) -> tuple[float, ...]:
        """The number of each label, in the order of the labels."""
        if self.values is not None:
            return self.values
        step = (self.high - self.low) / (len(self.labels) - 1)
        return tuple(self.low + step * place for place in range(len(self.labels)))

    @property
    def rated(self) -> tuple[str, ...]:
        """Its names in a table of ratings: ``vibe:target`` and ``vibe:comparison`` for a dimension asked of each."""
        ends = {"each": (":target", ":comparison"), "preferred": (":preferred",)}
        return tuple(self.name + end for end in ends.get(self.kind, ("",)))

    @property
    def fields(self) -> tuple[tuple[str, int | None], ...]:
        """What a page records for it: names, each with the slot it asks about (None: the pair)."""
        return ((f"{self.name}_1", 1), (f"{self.name}_2", 2)) if self.kind == "each" else ((self.name, None),)

    def asked(self, slot: int | None = None, label: str | None = None) -> str:
        """The question as a rater reads it; `slot` 1 or 2 for a dimension asked of each response, `label` how the page calls it."""
        if slot is None:
            return self.question
        response = label or SLOTS[slot - 1]
        told = self.question.replace("{response}", response)
        return told if told != self.question else f"{response}: {told}"


DEFAULT_DIMENSIONS = (
    Dimension(
        name="voice",
        kind="comparison",
        question="Which response sounds like the one who wrote the gold standard?",
    ),
    Dimension(
        name="vibe",
        kind="each",
        question="Does {response} have the energy of the gold standard?",
        low=1,
        high=3,
        labels=("No, it could be anyone", "A little", "Yes, fully"),
    ),
    Dimension(
        name="logic",
        kind="each",
        question="Does {response} frame things the way the gold standard does?",
        low=1,
        high=3,
        labels=("No, standard advice", "Somewhat", "Yes, distinctly"),
    ),
    Dimension(
        name="continuity",
        kind="choice",
        question="Going by the text alone: could the response you preferred come from the same collaborator as the gold standard?",
        low=0,
        high=1,
        labels=("Yes, the same one", "Sort of: another version or mood", "No, a stranger"),
        values=(1, 0.5, 0),
    ),
)


class ResponsePair(StudyPart):
    """Two responses to one prompt: the target has the property in question, the comparison is what it is set against."""

    id: Id
    """How tables call the pair; raters never see it."""
    prompt: Prose
    """What both responses answer."""
    target: Prose
    """The response that should match the gold standard."""
    comparison: Prose
    """The response it is set against."""
    domain: Line | None = None
    """The field the prompt belongs to."""
    model_score: float | None = Field(default=None, ge=0, le=1)
    """What an automatic measure gave the target, 0 to 1."""

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if self.target.strip() == self.comparison.strip():
            raise ValueError(f"both responses of pair {self.id!r} are the same text")
        if self.id == "attention":
            raise ValueError("'attention' is reserved by Howsure; choose another name")
        return self


class QuizQuestion(StudyPart):
    """A question with one right answer."""

    question: Line
    """What raters read."""
    options: tuple[Line, ...] = Field(min_length=2, max_length=9)
    """The answers in the order shown."""
    right: Line
    """The right answer, spelt as in options."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("option", self.options)
        if self.right not in self.options:
            raise ValueError(f"the right answer {self.right!r} is not among the options ({', '.join(self.options)})")
        return self


class Quiz(StudyPart):
    """Questions on the gold standard before rating begins. Who counts is decided by rules afterwards, not by the page."""

    questions: tuple[QuizQuestion, ...] = Field(min_length=1, max_length=20)
    """The questions, each with its right answer."""
    pass_mark: int = Field(ge=1)
    """How many must be right."""
    tries: int = Field(default=2, ge=1, le=10)
    """How often a rater may try."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.pass_mark > len(self.questions):
            raise ValueError(f"pass mark {self.pass_mark} is above the {len(self.questions)} questions")
        return self


class Attention(QuizQuestion):
    """An item among the pairs whose right answer is stated in it: it shows who reads."""

    id: Id
    """How tables call the item; raters never see it."""
    text: Prose
    """What raters read; it says which answer to give."""


class Screening(StudyPart):
    """A question that decides who may take part."""

    question: Line
    """What people read."""
    options: tuple[Line, ...] = Field(min_length=2, max_length=20)
    """The answers in the order shown."""
    admits: tuple[Line, ...] = Field(min_length=1)
    """The answers with which a person may go on; any other ends the page."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("option", self.options)
        if strangers := set(self.admits) - set(self.options):
            raise ValueError(f"{min(strangers)!r} is admitted but not among the options ({', '.join(self.options)})")
        if set(self.admits) == set(self.options):
            raise ValueError("every answer is admitted, so the question screens nobody; leave one out of admits")
        return self


class AskedAtEnd(StudyPart):
    """A question about the rater, such as their age group; it may be left open."""

    name: Name
    """The name in tables."""
    question: Line
    """What raters read."""
    options: tuple[Line, ...] = Field(default=(), max_length=30)
    """The answers in the order shown; if omitted: free text."""


class BlockPlan(StudyPart):
    """How the ratings are dealt: `build` makes balanced blocks of it."""

    ratings: int = Field(ge=1, le=100_000)
    """How many ratings each item gets."""
    per_rater: int | None = Field(default=None, ge=1)
    """How many items one rater rates; if omitted: all."""


class StudyParts(StudyPart):
    """What every study has, whatever it asks.

    Parameters
    ----------
    title : Line
        Title of the study.
    screening : tuple[Screening, ...]
        Questions that decide who may take part.
    quiz : Quiz | None
        Calibration quiz.
    attention : tuple[Attention, ...]
        Attention items.
    repeats : int
        Number of items shown again with turned slots.
    demographics : tuple[AskedAtEnd, ...]
        Questions about the rater.
    debriefing : Prose | None
        What raters read after all answers.
    design : BlockPlan | None
        How ratings are dealt.
    target_minutes : tuple[float, float] | None
        Expected shortest and longest time, in minutes.
    seed : int
        Seed of the blinding.
    language : str
        Language code of the texts and of the page.
    words : dict[str, str | dict[str, str]]
        Texts of the page that differ from the bundled ones.
    thanks : str
        Text at the end.
    """

    title: Line
    """What raters see on top of every page; it must not tell what is compared."""
    screening: tuple[Screening, ...] = Field(default=(), max_length=10)
    """Questions that decide who may take part."""
    quiz: Quiz | None = None
    """Optional questions before rating begins, with a pass mark."""
    attention: tuple[Attention, ...] = Field(default=(), max_length=20)
    """Items that show who reads."""
    repeats: int = Field(default=0, ge=0)
    """How many items are shown again, with their slots turned round."""
    demographics: tuple[AskedAtEnd, ...] = Field(default=(), max_length=20)
    """Questions about the rater, after all ratings."""
    debriefing: Prose | None = None
    """What raters read after all answers: what the study is about."""
    design: BlockPlan | None = None
    """How many ratings each item gets, and how many items each rater; if omitted: every rater rates everything."""
    target_minutes: tuple[float, float] | None = None
    """From and to how many minutes a rater should need; if omitted: 0.8 to 1.3 times what its texts and questions take."""
    seed: int = Field(default=0, ge=0)
    """Same seed, same orders."""
    language: str = Field(default="en", pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    """The language of the texts, for screen readers; the page's own words are bundled in English (en) and German (de)."""
    words: dict[str, str | dict[str, str]] = {}
    """The page's own words in another language: the name of a YAML file (see words-en.yaml)."""
    thanks: str = Field(default="", max_length=10_000)
    """What raters read at the end."""

    @model_validator(mode="after")
    def _fit_parts(self) -> Self:
        refuse_twice("attention item", (item.id for item in self.attention))
        refuse_twice("question about raters", (one.name for one in self.demographics))
        low, high = self.target_minutes or (1, 1)
        if not 0 < low <= high:
            raise ValueError(f"target_minutes {low:g} to {high:g} is not an increasing range")
        return self

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all that the study holds."""
        return digest(self.model_dump(mode="json"))

    @property
    def worded(self) -> Words:
        """What its pages themselves say."""
        return Words.of(self.language, self.words)

    @property
    def usual_minutes(self) -> tuple[float, float]:
        """From and to how many minutes a rater should need: as the author says, or by the length of the study."""
        if self.target_minutes is not None:
            return self.target_minutes
        low = max(1, math.floor(0.8 * self.expected_minutes))
        return low, max(low + 1, math.ceil(1.3 * self.expected_minutes))

    @property
    def expected_minutes(self) -> float:
        """How long a rater needs: every text read once at 238 words per minute, and 5 seconds for each answer."""
        raise NotImplementedError

    @property
    def units(self) -> tuple[Unit, ...]:
        """What can be shown to a rater, one screen each."""
        raise NotImplementedError

    @property
    def n_units(self) -> int:
        """How many items one rater rates, without repeats."""
        n_all = len(self.units)
        return min(self.design.per_rater or n_all, n_all) if self.design else n_all


@dataclass(frozen=True)
class Unit:
    """What one screen shows: an item, with the responses of some systems (none: a text without a system)."""

    id: str
    item: str
    systems: tuple[str, ...]


class Study(StudyParts):
    """A study of one voice: pairs of responses against a gold standard. `Study.read` reads it from a file.

    Parameters
    ----------
    consent : Prose
        Text of the consent.
    gold : Prose
        The gold standard.
    characteristics : tuple[Line, ...]
        What raters should look for.
    instructions : Prose
        Instructions for raters.
    pairs : tuple[ResponsePair, ...]
        The pairs of responses.
    dimensions : tuple[Dimension, ...]
        The questions about each pair.
    ask_guess : bool
        Whether to ask at the end which response was the target.
    """

    consent: Prose
    """What raters agree to before anything else."""
    gold: Prose
    """The gold standard: a text that is exactly as responses should be."""
    characteristics: tuple[Line, ...] = ()
    """What characterises the gold standard, one line each."""
    instructions: Prose = (
        "Compare the responses only with the gold standard. Which one is cleverer or longer does not matter."
    )
    """What to go by while rating."""
    pairs: tuple[ResponsePair, ...] = Field(min_length=1, max_length=200)
    """The pairs to rate, or the name of a YAML file with them."""
    dimensions: tuple[Dimension, ...] = Field(default=DEFAULT_DIMENSIONS, min_length=1, max_length=12)
    """What is asked about each pair; voice, vibe, logic and continuity if omitted."""
    ask_guess: bool = False
    """Whether to ask, after all ratings, which response of each pair was written to match the gold standard: did blinding hold?"""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("pair", (pair.id for pair in self.pairs))
        refuse_twice("dimension", (dimension.name for dimension in self.dimensions))
        refuse_twice("question", (field for dimension in self.dimensions for field, _ in dimension.fields))
        if self.repeats > len(self.pairs):
            raise ValueError(f"repeats {self.repeats} is above the {len(self.pairs)} pairs")
        return self

    @classmethod
    def of(cls, study: Study | str | os.PathLike[str]) -> Study:
        """The study itself, or the one in a file.

        Parameters
        ----------
        study : Study or path
            Every function that takes a study takes either.
        """
        check_type("study", study, (Study, *PATH), "a Study or the path of its file")
        return study if isinstance(study, Study) else cls.read(study)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Study:
        """The study in a YAML (or JSON) file; a fault is named with its line.

        ``pairs`` may name another file, beside the first, that holds the pairs.
        """

        from howsure.study.item_studies import read_study

        found = read_study(path)
        if not isinstance(found, cls):
            raise InputError(
                f"{path}: has `items`, so it is no study of pairs against a gold standard, which this needs."
            )
        return found

    @classmethod
    def schema(cls) -> dict[str, Any]:  # type: ignore[override]
        """The JSON schema of a study file, for editors that complete and check."""
        return file_schema(cls, "pairs")

    @cached_property
    def expected_minutes(self) -> float:
        """How long a rater needs: every text read once at 238 words per minute, and 5 seconds for each answer."""
        shown = [(pair.prompt, pair.target, pair.comparison) for pair in self.pairs]
        n_words = sum(count_words(text) for texts in shown for text in texts)
        n_words = round(n_words / len(shown) * (self.n_units + self.repeats))
        n_words += sum(map(count_words, (self.consent, self.gold, self.instructions, *self.characteristics)))
        asked = [*self.attention, *(self.quiz.questions if self.quiz else ())]
        n_words += sum(count_words(f"{one.question} {' '.join(one.options)}") for one in asked)
        n_answers = self.n_answers + (len(self.quiz.questions) if self.quiz else 0)
        return minutes_for(n_words, n_answers)

    @property
    def n_answers(self) -> int:
        """How many answers a rater gives to pairs, repeated pairs, guesses and attention items."""
        n_fields = sum(len(dimension.fields) for dimension in self.dimensions)
        n_guesses = self.n_units if self.ask_guess else 0
        return n_fields * (self.n_units + self.repeats) + n_guesses + len(self.attention)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The pairs."""
        return tuple(Unit(pair.id, pair.id, PAIR) for pair in self.pairs)

    def pair(self, name: str) -> ResponsePair:
        """The pair called `name`."""
        by_name = {pair.id: pair for pair in self.pairs}
        if name not in by_name:
            raise OptionError.unknown("pair", name, by_name)
        return by_name[name]

    def dimension(self, name: str) -> Dimension:
        """The dimension called `name`."""
        by_name = {dimension.name: dimension for dimension in self.dimensions}
        if name not in by_name:
            raise OptionError.unknown("dimension", name, by_name)
        return by_name[name]


def file_schema(kind: type[BaseModel], listed: str) -> dict[str, Any]:
    """The JSON schema of a study file; its list of pairs or items may stand in a file of its own."""
    made = kind.model_json_schema()
    for field, what in ((listed, f"contains the {listed}"), ("words", "translates the page")):
        inner = made["properties"][field]
        made["properties"][field] = {
            "description": inner.pop("description"),
            "anyOf": [inner, {"type": "string", "description": f"Name of a YAML file that {what}."}],
        }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def count_words(text: str) -> int:
    """Words to read in a text, at least one."""
    return max(len(text.split()), 1)


def minutes_for(n_words: float, n_answers: float) -> float:
    """How long it takes to read so many words and give so many answers."""
    return n_words / _WORDS_PER_MINUTE + n_answers * _SECONDS_PER_ANSWER / 60
