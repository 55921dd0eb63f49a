"""A study as its author writes it: what raters read, what they compare, what they are asked.

::

    every study ─┬─ screening, consent, quiz, attention, demographics, comments, debriefing      optional parts
                 ├─ repeats            how many items are shown again, with their slots turned round
                 └─ design             how many ratings each item gets, and how many items each rater

    Study (has `pairs`)       one voice: a gold standard, and pairs of a target and a comparison response. The persona protocol
    ItemStudy (has `items`)   anything else: items, each with a text or with responses of named systems, and questions of any type

`read_study` reads either from its file.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from howsure.errors import InputError, OptionError
from howsure.people import digest
from howsure.people.markup import pictures_in, read_picture
from howsure.people.protocol import refuse_twice
from howsure.people.words import Words, read_words
from howsure.yaml_files import Document, read_yaml

__all__ = [
    "DEFAULT_DIMENSIONS",
    "PAIR",
    "QUESTION_TYPES",
    "SLOTS",
    "AskedAtEnd",
    "Attention",
    "BlockPlan",
    "Dimension",
    "ItemQuestion",
    "ItemStudy",
    "Kind",
    "Quiz",
    "QuizQuestion",
    "ResponsePair",
    "Screening",
    "Study",
    "StudyItem",
    "StudyParts",
    "TurnText",
    "Unit",
    "plain_text",
    "read_study",
    "study_of",
]

Kind = Literal["comparison", "each", "preferred", "choice"]
SLOTS = ("Response 1", "Response 2")
PAIR = ("target", "comparison")
"""What a pair's responses are called where systems are named."""

_Line = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")]
# a line end after the last word would tell a text in block style from one in quotes
_Prose = Annotated[
    str, Field(min_length=1, max_length=900_000, pattern=r"\S"), AfterValidator(lambda text: text.strip("\r\n"))
]
_Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$")]
_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,29}$")]
_TAKEN = ("attention", "comments", "guess")
_WORDS_PER_MINUTE = 238  # silent reading of prose in English (Brysbaert 2019)
_SECONDS_PER_ANSWER = 5
_LEANINGS = (
    "Definitely Response 1",
    "Leaning to Response 1",
    "Hard to tell, or both",
    "Leaning to Response 2",
    "Definitely Response 2",
)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Dimension(_Part):
    """What is asked about a pair.

    ``comparison`` sets the responses against each other; ``each`` is asked of both; ``preferred`` of the one that the rater
    preferred (undefined on a tie); ``choice`` is one answer about the pair, with a number for each label.
    """

    name: _Name
    """Letters, digits and underscores: the name in tables and charts."""
    kind: Kind
    """comparison, each, preferred or choice."""
    question: _Line
    """What raters read; ``{response}`` in a question of kind `each` becomes Response 1 or Response 2."""
    low: float = -2
    """The number of the first label (kind choice: the smallest number)."""
    high: float = 2
    """The number of the last label (kind choice: the largest number)."""
    labels: tuple[_Line, ...] = Field(default=_LEANINGS, min_length=2, max_length=11)
    """The answers in the order shown. In a comparison they run from Response 1 to Response 2."""
    values: tuple[float, ...] | None = None
    """Kind choice: the number of each label. Left out: in equal steps from low to high."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("label", self.labels)
        if self.name in _TAKEN:
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


class ResponsePair(_Part):
    """Two responses to one prompt: the target has the property in question, the comparison is what it is set against."""

    id: _Id
    """How tables call the pair; raters never see it."""
    prompt: _Prose
    """What both responses answer."""
    target: _Prose
    """The response that should match the gold standard."""
    comparison: _Prose
    """The response it is set against."""
    domain: _Line | None = None
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


class QuizQuestion(_Part):
    """A question with one right answer."""

    question: _Line
    """What raters read."""
    options: tuple[_Line, ...] = Field(min_length=2, max_length=9)
    """The answers in the order shown."""
    right: _Line
    """The right answer, spelt as in options."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("option", self.options)
        if self.right not in self.options:
            raise ValueError(f"the right answer {self.right!r} is not among the options ({', '.join(self.options)})")
        return self


class Quiz(_Part):
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

    id: _Id
    """How tables call the item; raters never see it."""
    text: _Prose
    """What raters read; it says which answer to give."""


class Screening(_Part):
    """A question that decides who may take part."""

    question: _Line
    """What people read."""
    options: tuple[_Line, ...] = Field(min_length=2, max_length=20)
    """The answers in the order shown."""
    admits: tuple[_Line, ...] = Field(min_length=1)
    """The answers with which a person may go on; any other ends the page."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("option", self.options)
        if strangers := set(self.admits) - set(self.options):
            raise ValueError(f"{min(strangers)!r} is admitted but not among the options ({', '.join(self.options)})")
        if set(self.admits) == set(self.options):
            raise ValueError("every answer is admitted, so the question screens nobody; leave one out of admits")
        return self


class AskedAtEnd(_Part):
    """A question about the rater, such as their age group; it may be left open."""

    name: _Name
    """The name in tables."""
    question: _Line
    """What raters read."""
    options: tuple[_Line, ...] = Field(default=(), max_length=30)
    """The answers in the order shown; left out: free text."""


class BlockPlan(_Part):
    """How the ratings are dealt: `build` makes balanced blocks of it."""

    ratings: int = Field(ge=1, le=100_000)
    """How many ratings each item gets."""
    per_rater: int | None = Field(default=None, ge=1)
    """How many items one rater rates; left out: all."""


class StudyParts(_Part):
    """What every study has, whatever it asks.

    Parameters
    ----------
    title : _Line
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
    debriefing : _Prose | None
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

    title: _Line
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
    debriefing: _Prose | None = None
    """What raters read after all answers: what the study is about."""
    design: BlockPlan | None = None
    """How many ratings each item gets, and how many items each rater; left out: every rater rates everything."""
    target_minutes: tuple[float, float] | None = None
    """From and to how many minutes a rater should need; left out: 0.8 to 1.3 times what its texts and questions take."""
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
    consent : _Prose
        Text of the consent.
    gold : _Prose
        The gold standard.
    characteristics : tuple[_Line, ...]
        What raters should look for.
    instructions : _Prose
        Instructions for raters.
    pairs : tuple[ResponsePair, ...]
        The pairs of responses.
    dimensions : tuple[Dimension, ...]
        The questions about each pair.
    ask_guess : bool
        Whether to ask at the end which response was the target.
    """

    consent: _Prose
    """What raters agree to before anything else."""
    gold: _Prose
    """The gold standard: a text that is exactly as responses should be."""
    characteristics: tuple[_Line, ...] = ()
    """What characterises the gold standard, one line each."""
    instructions: _Prose = (
        "Compare the responses only with the gold standard. Which one is cleverer or longer does not matter."
    )
    """What to go by while rating."""
    pairs: tuple[ResponsePair, ...] = Field(min_length=1, max_length=200)
    """The pairs to rate, or the name of a YAML file with them."""
    dimensions: tuple[Dimension, ...] = Field(default=DEFAULT_DIMENSIONS, min_length=1, max_length=12)
    """What is asked about each pair; voice, vibe, logic and continuity when left out."""
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
        return study if isinstance(study, Study) else cls.read(study)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Study:
        """The study in a YAML (or JSON) file; a fault is named with its line.

        ``pairs`` may name another file, beside the first, that holds the pairs.
        """
        found = read_study(path)
        if not isinstance(found, cls):
            raise InputError(
                f"{path}: has `items`, so it is no study of pairs against a gold standard, which this needs."
            )
        return found

    @classmethod
    def schema(cls) -> dict[str, Any]:  # type: ignore[override]
        """The JSON schema of a study file, for editors that complete and check."""
        return _schema(cls, "pairs")

    @cached_property
    def expected_minutes(self) -> float:
        """How long a rater needs: every text read once at 238 words per minute, and 5 seconds for each answer."""
        shown = [(pair.prompt, pair.target, pair.comparison) for pair in self.pairs]
        n_words = sum(_n_words(text) for texts in shown for text in texts)
        n_words = round(n_words / len(shown) * (self.n_units + self.repeats))
        n_words += sum(map(_n_words, (self.consent, self.gold, self.instructions, *self.characteristics)))
        asked = [*self.attention, *(self.quiz.questions if self.quiz else ())]
        n_words += sum(_n_words(f"{one.question} {' '.join(one.options)}") for one in asked)
        n_answers = self.n_answers + (len(self.quiz.questions) if self.quiz else 0)
        return n_words / _WORDS_PER_MINUTE + n_answers * _SECONDS_PER_ANSWER / 60

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


QuestionType = Literal[
    "rating", "slider", "pairwise", "best_worst", "ranking", "category", "labels", "span", "text", "yes_no"
]
QUESTION_TYPES: tuple[QuestionType, ...] = get_args(QuestionType)
_COMPARING = ("pairwise", "best_worst", "ranking")
_LISTED = ("category", "labels", "span")


class TurnText(_Part):
    """One turn of a conversation."""

    role: _Line
    """user, assistant, system, or any name."""
    text: _Prose
    """What is said."""


_Shown = _Prose | tuple[TurnText, ...]


class StudyItem(_Part):
    """What is rated: a text, or the responses of systems to one prompt or conversation."""

    id: _Id
    """How tables call the item; raters never see it."""
    prompt: _Prose | None = None
    """What was asked, shown above."""
    context: _Shown | None = None
    """A source text or a conversation so far, shown above in full width: a text, or turns with role and text."""
    text: _Shown | None = None
    """What is rated, where there are no systems: a text, or turns."""
    responses: dict[_Id, _Shown] = {}
    """What is rated: system → its response, a text or turns. Raters never see the names."""
    domain: _Line | None = None
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


class ItemQuestion(_Part):
    """What is asked about an item, or about each response on the screen."""

    name: _Name
    """Letters, digits and underscores: the name in tables and charts."""
    type: QuestionType
    """rating, slider, pairwise, best_worst, ranking, category, labels, span, text or yes_no."""
    question: _Line
    """What raters read; ``{response}`` becomes the label of the response where one is asked about."""
    of: Literal["item", "response"] = "item"
    """Whether it is asked once per screen, or of each response on it."""
    labels: tuple[_Line, ...] = Field(default=(), max_length=60)
    """The answers in the order shown. rating: from low to high (left out: the numbers); slider: the two ends; category, labels, span: the categories."""
    low: int = 1
    """rating, slider: the number of the lowest answer."""
    high: int | None = None
    """rating, slider: the number of the highest answer; left out: as many as there are labels, or 5, or 100."""
    ties: bool = True
    """pairwise: whether both can be equally good."""
    both_bad: bool = False
    """pairwise: whether both can be bad."""
    top: int | None = Field(default=None, ge=1)
    """ranking: how many are ranked; left out: all."""
    at_least: int = Field(default=0, ge=0)
    """labels: how many must be chosen."""
    at_most: int | None = Field(default=None, ge=1)
    """labels: how many may be chosen."""
    required: bool | None = None
    """Whether it must be answered; left out: yes, but a text need not be."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("label", self.labels)
        if self.name in _TAKEN:
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
            raise ValueError(f"{self.type} compares the responses, so it is asked once: leave out `of`")
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
    consent : _Prose | None
        Text of the consent.
    instructions : _Prose | None
        Instructions for raters.
    material : _Prose | None
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

    consent: _Prose | None = None
    """What raters agree to before anything else."""
    instructions: _Prose | None = None
    """What to go by while rating."""
    material: _Prose | None = None
    """A text that raters read first and keep at hand: a guideline, a source, a gold standard."""
    items: tuple[StudyItem, ...] = Field(min_length=1, max_length=20_000)
    """What is rated, or the name of a YAML file with it."""
    questions: tuple[ItemQuestion, ...] = Field(min_length=1, max_length=12)
    """What is asked about each item."""
    show: Literal["one", "pairs", "all"] | None = None
    """How many responses one screen shows; left out: pairs for a pairwise question, all for a ranking, else one."""
    markup: Literal["plain", "markdown"] = "plain"
    """How texts of items are shown, all alike: as written, or as Markdown with code, formulas between dollar signs, and pictures from files."""
    comments: bool = True
    """Whether to ask for comments at the end."""
    pictures: dict[str, str] = {}
    """Left out: the pictures are read from the files that texts name."""

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
        n_words = sum(_n_words(text) for unit in self.units for text in self.texts_of(unit)) / len(self.units)
        n_fields = sum(self._n_fields(unit) for unit in self.units) / len(self.units)
        n_shown = self.n_units + self.repeats
        told = [text for text in (self.consent, self.instructions, self.material, self.debriefing) if text]
        asked = [*self.attention, *(self.quiz.questions if self.quiz else ())]
        n_other = sum(map(_n_words, told)) + sum(_n_words(f"{one.question} {' '.join(one.options)}") for one in asked)
        n_answers = n_fields * n_shown + len(asked) + len(self.demographics) + len(self.screening)
        return (n_words * n_shown + n_other) / _WORDS_PER_MINUTE + n_answers * _SECONDS_PER_ANSWER / 60

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
        return _schema(cls, "items")


def plain_text(shown: str | tuple[TurnText, ...]) -> str:
    """A text, or a conversation as one."""
    return shown if isinstance(shown, str) else "\n\n".join(f"{turn.role}: {turn.text}" for turn in shown)


def read_study(path: str | os.PathLike[str]) -> Study | ItemStudy:
    """The study in a YAML (or JSON) file: an `ItemStudy` where it has ``items``, else a `Study`. A fault is named with its line.

    Parameters
    ----------
    path : str or path
        The file. ``pairs``, ``items`` and ``words`` may name other files beside it; pictures are read from beside it too. The
        ``key.json`` of a packet is taken as well.
    """
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


def _schema(kind: type[BaseModel], listed: str) -> dict[str, Any]:
    made = kind.model_json_schema()
    for field, what in ((listed, f"contains the {listed}"), ("words", "translates the page")):
        inner = made["properties"][field]
        made["properties"][field] = {
            "description": inner.pop("description"),
            "anyOf": [inner, {"type": "string", "description": f"Name of a YAML file that {what}."}],
        }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def _n_words(text: str) -> int:
    return max(len(text.split()), 1)


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
