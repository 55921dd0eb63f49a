"""A study as its author writes it: what raters read, what they compare, what they are asked.

::

    Study ─┬─ gold, characteristics     what the voice is like; raters keep it at hand
           ├─ quiz                      optional questions on it, with a pass mark
           ├─ pairs                     prompt, target response, comparison response
           ├─ dimensions                what is asked about each pair (voice, vibe, logic, continuity by default)
           ├─ attention                 items whose right answer is stated in them
           └─ repeats                   how many pairs are shown again with their slots swapped
"""

from __future__ import annotations

import math
import os
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from howsure.errors import InputError, OptionError
from howsure.people import digest
from howsure.people.protocol import refuse_twice
from howsure.yaml_files import Document, read_yaml

__all__ = [
    "DEFAULT_DIMENSIONS",
    "SLOTS",
    "Attention",
    "Dimension",
    "Kind",
    "Quiz",
    "QuizQuestion",
    "ResponsePair",
    "Study",
]

Kind = Literal["comparison", "each", "preferred", "choice"]
SLOTS = ("Response 1", "Response 2")

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

    def asked(self, slot: int | None = None) -> str:
        """The question as a rater reads it; `slot` 1 or 2 for a dimension asked of each response."""
        if slot is None:
            return self.question
        response = SLOTS[slot - 1]
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


class Study(_Part):
    """A whole study. `Study.read` reads it from a file.

    Parameters
    ----------
    title : _Line
        Title of the study.
    consent : _Prose
        Text of the consent.
    gold : _Prose
        The gold standard.
    characteristics : tuple[_Line, ...]
        What raters should look for.
    instructions : _Prose
        Instructions for raters.
    quiz : Quiz | None
        Calibration quiz.
    pairs : tuple[ResponsePair, ...]
        The pairs of responses.
    dimensions : tuple[Dimension, ...]
        The questions about each pair.
    attention : tuple[Attention, ...]
        Attention items.
    repeats : int
        Number of pairs shown again with swapped slots.
    ask_guess : bool
        Whether to ask at the end which response was the target.
    target_minutes : tuple[float, float] | None
        Expected shortest and longest time, in minutes.
    seed : int
        Seed of the blinding.
    language : str
        Language code of the texts.
    thanks : _Prose
        Text at the end.
    """

    title: _Line
    """What raters see on top of every page; it must not tell what is compared."""
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
    quiz: Quiz | None = None
    """Optional questions on the gold standard, with a pass mark."""
    pairs: tuple[ResponsePair, ...] = Field(min_length=1, max_length=200)
    """The pairs to rate, or the name of a YAML file with them."""
    dimensions: tuple[Dimension, ...] = Field(default=DEFAULT_DIMENSIONS, min_length=1, max_length=12)
    """What is asked about each pair; voice, vibe, logic and continuity when left out."""
    attention: tuple[Attention, ...] = Field(default=(), max_length=20)
    """Items that show who reads."""
    repeats: int = Field(default=0, ge=0)
    """How many pairs are shown again, with their slots swapped."""
    ask_guess: bool = False
    """Whether to ask, after all ratings, which response of each pair was written to match the gold standard: did blinding hold?"""
    target_minutes: tuple[float, float] | None = None
    """From and to how many minutes a rater should need; left out: 0.8 to 1.3 times what its texts and questions take."""
    seed: int = Field(default=0, ge=0)
    """Same seed, same orders."""
    language: str = Field(default="en", pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    """The language of the texts, for screen readers."""
    thanks: _Prose = "Thank you for taking part."
    """What raters read at the end."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("pair", (pair.id for pair in self.pairs))
        refuse_twice("dimension", (dimension.name for dimension in self.dimensions))
        refuse_twice("question", (field for dimension in self.dimensions for field, _ in dimension.fields))
        refuse_twice("attention item", (item.id for item in self.attention))
        if self.repeats > len(self.pairs):
            raise ValueError(f"repeats {self.repeats} is above the {len(self.pairs)} pairs")
        low, high = self.target_minutes or (1, 1)
        if not 0 < low <= high:
            raise ValueError(f"target_minutes {low:g} to {high:g} is not an increasing range")
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
        path = Path(path)
        document = read_yaml(path)
        if not isinstance(document.value, dict):
            raise InputError(
                f"{path}: not a study. It begins with `title: …`; `howsure study check --schema` lists its fields."
            )
        given, pairs_in = dict(document.value), document
        if isinstance(given.get("pairs"), str):
            pairs_in = read_yaml(path.parent / given["pairs"])
            listed = pairs_in.value
            given["pairs"] = listed.get("pairs") if isinstance(listed, dict) else listed
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise InputError(_fault(error, document, pairs_in)) from None

    @classmethod
    def schema(cls) -> dict[str, Any]:  # type: ignore[override]
        """The JSON schema of a study file, for editors that complete and check."""
        made = cls.model_json_schema()
        pairs = made["properties"]["pairs"]
        made["properties"]["pairs"] = {
            "description": pairs.pop("description"),
            "anyOf": [pairs, {"type": "string", "description": "Name of a YAML file that contains the pairs."}],
        }
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all that the study holds."""
        return digest(self.model_dump(mode="json"))

    @cached_property
    def expected_minutes(self) -> float:
        """How long a rater needs: every text read once at 238 words per minute, and 5 seconds for each answer."""
        shown = [(pair.prompt, pair.target, pair.comparison) for pair in self.pairs]
        n_words = sum(_n_words(text) for texts in shown for text in texts)
        n_words += round(n_words / len(shown) * self.repeats)
        n_words += sum(map(_n_words, (self.consent, self.gold, self.instructions, *self.characteristics)))
        asked = [*self.attention, *(self.quiz.questions if self.quiz else ())]
        n_words += sum(_n_words(f"{one.question} {' '.join(one.options)}") for one in asked)
        n_answers = self.n_answers + (len(self.quiz.questions) if self.quiz else 0)
        return n_words / _WORDS_PER_MINUTE + n_answers * _SECONDS_PER_ANSWER / 60

    @property
    def n_answers(self) -> int:
        """How many answers a rater gives to pairs, repeated pairs, guesses and attention items."""
        n_fields = sum(len(dimension.fields) for dimension in self.dimensions)
        n_guesses = len(self.pairs) if self.ask_guess else 0
        return n_fields * (len(self.pairs) + self.repeats) + n_guesses + len(self.attention)

    @property
    def usual_minutes(self) -> tuple[float, float]:
        """From and to how many minutes a rater should need: as the author says, or by the length of the study."""
        if self.target_minutes is not None:
            return self.target_minutes
        low = max(1, math.floor(0.8 * self.expected_minutes))
        return low, max(low + 1, math.ceil(1.3 * self.expected_minutes))

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


def _n_words(text: str) -> int:
    return max(len(text.split()), 1)


def _fault(error: ValidationError, document: Document, pairs_in: Document) -> str:
    """The first fault in one line: file, line, field, what is wrong."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = first["loc"]
    where = document
    if pairs_in is not document and place[:1] == ("pairs",):
        where, place = pairs_in, place if isinstance(pairs_in.value, dict) else place[1:]
    field = ".".join(str(part) for part in place)
    said = first["msg"].removeprefix("Value error, ")
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{where.path}{where.line_of(place)}: {field or 'the study'}: {_REMEDY.get(first['type'], said)}.{more}"


_REMEDY = {
    "missing": "is missing; every study needs it",
    "extra_forbidden": "is not a field of a study; `howsure study check --schema` lists them",
    "string_pattern_mismatch": "is blank or not an allowed name (a dimension: up to 30 of a–z 0–9 _, a letter first; an id: up to 40 of A–Z a–z 0–9 . _ -, a letter or digit first; a language: a code such as en)",
    "string_too_short": "is empty; fill it in",
    "string_type": "must be text; put it in quotes",
}
