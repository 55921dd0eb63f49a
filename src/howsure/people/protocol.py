"""What a page shows a person, as data: screens in the order in which they are shown.

::

    Page ─ screens ─┬─ Consent     a text to agree to
                    ├─ Reading     texts to read, which may stay at hand afterwards
                    ├─ Quiz        questions with feedback and a pass mark
                    ├─ Item        up to four texts side by side, and questions about them (or questions alone)
                    └─ Game        values shown one at a time, an answer typed to each

    questions: Scale, Choice, Number, Text

Whatever must differ between people (the order of items, which text comes first) is settled when their pages are made: each
rater has a `Page` of their own. Names of screens are opaque (`blinding.opaque_id`); what they stand for is kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from howsure.people.blinding import hide, is_blank, new_salt, normal_number
from howsure.people.typed import bare, plain_form, plain_forms

__all__ = [
    "ChoiceQuestion",
    "Consent",
    "GameScreen",
    "Item",
    "NumberQuestion",
    "OpaqueId",
    "Option",
    "Page",
    "Passage",
    "Question",
    "QuestionName",
    "QuizScreen",
    "ReadingScreen",
    "ScaleQuestion",
    "Screen",
    "Step",
    "TextQuestion",
    "refuse_twice",
]

OpaqueId = Annotated[str, Field(pattern=r"^[a-z2-7]{16}$")]
QuestionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Hidden = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Line = Annotated[str, Field(min_length=1, max_length=1_000)]
Prose = Annotated[str, Field(max_length=1_000_000)]


class _Content(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Passage(_Content):
    """A text under a label, shown as written, without markup.

    Parameters
    ----------
    label : Line
        The label.
    text : Prose
        The text.
    """

    label: Line
    text: Prose


class _Question(_Content):
    """A question.

    Parameters
    ----------
    name : QuestionName
        Name of the answer in the results.
    text : Line
        The question.
    required : bool
        Whether it must be answered.
    """

    name: QuestionName
    text: Line
    required: bool = True

    def accepts(self, answer: object) -> bool:
        """Whether a page could have recorded this answer."""
        raise NotImplementedError

    def normal(self, answer: str | int) -> str:
        """The form in which a right answer is hidden."""
        return str(answer)

    def forms(self, answer: str | int) -> tuple[str, ...]:
        """The forms in which an answer is compared with a hidden one."""
        return (self.normal(answer),)


class ScaleQuestion(_Question):
    """A rating scale with one label per step.

    Parameters
    ----------
    kind : Literal['scale']
        Always ``scale``.
    low : int
        Value of the first step; each next step is one more.
    labels : tuple[Line, ...]
        The labels.
    """

    kind: Literal["scale"] = "scale"
    low: int = -2
    labels: tuple[Line, ...] = Field(min_length=2, max_length=11)

    def accepts(self, answer: object) -> bool:
        """A whole number from `low` upwards."""
        return type(answer) is int and 0 <= answer - self.low < len(self.labels)


class Option(_Content):
    """One option of a choice.

    Parameters
    ----------
    value : QuestionName
        The value that is recorded.
    label : Line
        The text that is shown.
    """

    value: QuestionName
    label: Line


class ChoiceQuestion(_Question):
    """A question with a list of options, one of which is chosen.

    Parameters
    ----------
    kind : Literal['choice']
        Always ``choice``.
    options : tuple[Option, ...]
        The options.
    """

    kind: Literal["choice"] = "choice"
    options: tuple[Option, ...] = Field(min_length=2, max_length=20)

    @model_validator(mode="after")
    def _differ(self) -> Self:
        refuse_twice("option", (option.value for option in self.options))
        return self

    def accepts(self, answer: object) -> bool:
        """The value of an option."""
        return answer in {option.value for option in self.options}


class NumberQuestion(_Question):
    """A typed number, recorded as text in its shortest form.

    Parameters
    ----------
    kind : Literal['number']
        Always ``number``.
    low : int | None
        Smallest number allowed.
    high : int | None
        Largest number allowed.
    decimals : int
        Decimal places allowed.
    unit : str
        Unit shown after the field.
    """

    kind: Literal["number"] = "number"
    low: int | None = None
    high: int | None = None
    decimals: int = Field(default=0, ge=0, le=6)
    unit: str = Field(default="", max_length=40)

    def accepts(self, answer: object) -> bool:
        """A number in its shortest form, within the bounds."""
        if not isinstance(answer, str) or normal_number(answer, self.decimals) != answer:
            return False
        value = float(answer)
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)


class TextQuestion(_Question):
    """A typed text, on one line or several.

    Parameters
    ----------
    kind : Literal['text']
        Always ``text``.
    required : bool
        Whether it must be answered.
    lines : int
        Height of the field, in lines.
    max_chars : int
        Longest text allowed.
    """

    kind: Literal["text"] = "text"
    required: bool = False
    lines: int = Field(default=1, ge=1, le=30)
    max_chars: int = Field(default=5_000, ge=1, le=20_000)

    def accepts(self, answer: object) -> bool:
        """Any text that is not blank and not too long."""
        # the browser counts UTF-16 units, never fewer than the characters counted here
        return isinstance(answer, str) and not is_blank(answer) and len(answer) <= self.max_chars

    def normal(self, answer: str | int) -> str:
        """The text without regard to case and spaces, a number in its shortest form."""
        return plain_form(bare(str(answer)))

    def forms(self, answer: str | int) -> tuple[str, ...]:
        """The whole text, and what it may be read as: without quotes, a full stop, "The answer is" and the like."""
        return plain_forms(str(answer))


Question = Annotated[ScaleQuestion | ChoiceQuestion | NumberQuestion | TextQuestion, Field(discriminator="kind")]


class _Screen(_Content):
    """A screen.

    Parameters
    ----------
    id : OpaqueId
        Name of the screen, unique on the page.
    title : Line
        Heading.
    text : Prose
        Text below the heading.
    """

    id: OpaqueId
    title: Line
    text: Prose = ""


class Consent(_Screen):
    """A text that a person must agree to first.

    Parameters
    ----------
    kind : Literal['consent']
        Always ``consent``.
    agree : Line
        The sentence beside the box.
    """

    kind: Literal["consent"] = "consent"
    agree: Line = "I have read this and agree to take part."


class ReadingScreen(_Screen):
    """Texts to read.

    Parameters
    ----------
    kind : Literal['reading']
        Always ``reading``.
    passages : tuple[Passage, ...]
        The texts.
    at_hand : bool
        Whether the texts can be opened again on later screens.
    """

    kind: Literal["reading"] = "reading"
    passages: tuple[Passage, ...] = ()
    at_hand: bool = False


class Item(_Screen):
    """Up to four texts side by side in blinded order, and questions about them; without texts, questions only.

    Parameters
    ----------
    kind : Literal['item']
        Always ``item``.
    is_one_way : bool
        Whether earlier screens are closed once this one is shown, because it reveals something.
    prompt : Prose
        Text above the passages.
    passages : tuple[Passage, ...]
        The texts.
    questions : tuple[Question, ...]
        The questions.
    """

    kind: Literal["item"] = "item"
    is_one_way: bool = False
    """Whether earlier screens can no longer be opened once this one is shown: it may tell what answers to them must not know."""
    prompt: Prose = ""
    passages: tuple[Passage, ...] = Field(default=(), max_length=4)
    questions: tuple[Question, ...] = Field(min_length=1, max_length=40)

    @model_validator(mode="after")
    def _differ(self) -> Self:
        refuse_twice("question", (question.name for question in self.questions))
        return self


class QuizScreen(_Screen):
    """Questions that are marked at once. After `tries` tries the page continues, whatever the mark; exclusion is decided later.

    Parameters
    ----------
    kind : Literal['quiz']
        Always ``quiz``.
    questions : tuple[Question, ...]
        The questions.
    rights : dict[QuestionName, tuple[Hidden, ...]]
        Question name → hidden correct answers.
    salt : str
        Random text that protects the hidden answers.
    pass_mark : int
        Number of correct answers that passes.
    tries : int
        Number of tries.
    """

    kind: Literal["quiz"] = "quiz"
    questions: tuple[Question, ...] = Field(min_length=1, max_length=40)
    rights: dict[QuestionName, tuple[Hidden, ...]]
    salt: str
    pass_mark: int = Field(ge=1)
    tries: int = Field(default=2, ge=1, le=10)

    @classmethod
    def hiding(
        cls,
        rights: Mapping[str, Sequence[str | int]],
        *,
        questions: Sequence[Question],
        salt: str | None = None,
        **given: Any,
    ) -> QuizScreen:
        """A quiz from the right answers, which end up hidden: ``Quiz.hiding({"q1": ["b"]}, questions=[…], …)``."""
        salt = salt or new_salt()
        asked = {question.name: question for question in questions}
        hidden = {name: _hidden(salt, name, asked[name], answers) for name, answers in rights.items()}
        return cls(questions=tuple(questions), rights=hidden, salt=salt, **given)

    @model_validator(mode="after")
    def _fit(self) -> Self:
        names = [question.name for question in self.questions]
        refuse_twice("question", names)
        if set(self.rights) != set(names):
            raise ValueError(f"a quiz needs right answers for just its questions ({', '.join(names)})")
        if self.pass_mark > len(names):
            raise ValueError(f"pass mark {self.pass_mark} is above the {len(names)} questions")
        return self

    def is_right(self, name: str, answer: str | int) -> bool:
        """Whether an answer is among the hidden ones."""
        question = next(question for question in self.questions if question.name == name)
        return _is_among(self.salt, name, question, answer, self.rights[name])


class Step(_Content):
    """One value of a game.

    Parameters
    ----------
    show : Prose
        The value.
    rights : tuple[Hidden, ...]
        Hidden correct answers; empty: not marked.
    answer : Question | None
        The question at this step, if it differs from the game's.
    """

    show: Prose
    rights: tuple[Hidden, ...] = ()
    answer: Question | None = None


class GameScreen(_Screen):
    """Values shown one at a time, with one answer to each; earlier values cannot be seen again.

    Parameters
    ----------
    kind : Literal['game']
        Always ``game``.
    steps : tuple[Step, ...]
        The values.
    answer : Question
        The question asked at each step.
    salt : str
        Random text that protects the hidden answers.
    stop : Literal['wrong', 'right', 'end']
        When the game ends before its last step: at the first ``wrong`` answer, at the first ``right`` one, or never (``end``).
    tells : bool
        Whether each answer is marked right or wrong at once.
    unit : Line
        Name of a step, such as number or attempt.
    fixed_width : bool
        Whether to show values in a fixed-width font, for grids and programs.
    """

    kind: Literal["game"] = "game"
    steps: tuple[Step, ...] = Field(min_length=1, max_length=2_000)
    answer: Question
    salt: str
    stop: Literal["wrong", "right", "end"] = "end"
    tells: bool = False
    unit: Line = "Number"
    fixed_width: bool = False

    @classmethod
    def hiding(
        cls,
        steps: Iterable[tuple[str, Sequence[str | int]] | tuple[str, Sequence[str | int], Question]],
        *,
        answer: Question,
        salt: str | None = None,
        **given: Any,
    ) -> GameScreen:
        """A game from what is shown and the right answers, which end up hidden: ``Game.hiding([("17", ["17"]), …], …)``.

        A third part gives a step a question of its own.
        """
        salt = salt or new_salt()
        made = []
        for number, (show, rights, *own) in enumerate(steps):
            question = own[0] if own else None
            made.append(Step(show=show, rights=_hidden(salt, number, question or answer, rights), answer=question))
        return cls(steps=tuple(made), answer=answer, salt=salt, **given)

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.stop == "wrong" and not all(step.rights for step in self.steps):
            raise ValueError("a game that stops at a wrong answer needs right answers for every step")
        if not all(question.required for question in (self.answer, *(s.answer for s in self.steps if s.answer))):
            raise ValueError("every step of a game takes an answer; set required on its question")
        return self

    def question(self, number: int) -> Question:
        """What is asked at a step, counted from 0."""
        return self.steps[number].answer or self.answer

    def is_right(self, number: int, answer: str | int) -> bool | None:
        """Whether an answer to a step is among the hidden ones; None for a step that is not marked."""
        rights = self.steps[number].rights
        return _is_among(self.salt, number, self.question(number), answer, rights) if rights else None

    def is_over(self, answers: Sequence[str | int]) -> bool:
        """Whether the game ends after these answers."""
        if not answers or len(answers) >= len(self.steps):
            return bool(answers)
        was_right = self.is_right(len(answers) - 1, answers[-1])
        return (self.stop == "wrong" and was_right is False) or (self.stop == "right" and was_right is True)


Screen = Annotated[Consent | ReadingScreen | Item | QuizScreen | GameScreen, Field(discriminator="kind")]


class Page(_Content):
    """Everything that one page shows.

    Parameters
    ----------
    instrument : QuestionName
        The instrument that reads the answers.
    title : Line
        Title of the page.
    screens : tuple[Screen, ...]
        The screens in order.
    rater : str
        The person for whom the page was made; empty: the page asks for a name.
    language : str
        Language code of the texts.
    thanks : Prose
        Text at the end.
    sending : Prose
        How to send the answers back.
    commitment : str
        Digest of a sealed key, which proves later that the key was fixed before anyone answered.
    settings : dict[QuestionName, str | int]
        Public settings that the instrument needs for scoring.
    """

    instrument: QuestionName
    title: Line
    screens: tuple[Screen, ...] = Field(min_length=1, max_length=500)
    rater: str = Field(default="", pattern=r"^[A-Za-z0-9_-]{0,40}$")
    language: str = Field(default="en", pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    thanks: Prose = "Thank you for taking part."
    sending: Prose = "Download the file with your answers and send it to the person who gave you this page."
    commitment: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    settings: dict[QuestionName, str | int] = {}

    @model_validator(mode="after")
    def _differ(self) -> Self:
        refuse_twice("screen", (screen.id for screen in self.screens))
        return self


def _hidden(salt: str, part: str | int, question: Question, rights: Sequence[str | int]) -> tuple[str, ...]:
    for right in rights:
        if not question.accepts(right):
            raise ValueError(f"{right!r} cannot be given as an answer to {question.name!r}")
    return tuple(hide(salt, part, question.normal(right)) for right in rights)


def _is_among(salt: str, part: str | int, question: Question, answer: str | int, rights: Sequence[str]) -> bool:
    return any(hide(salt, part, form) in rights for form in question.forms(answer))


def refuse_twice(what: str, names: Iterable[str]) -> None:
    """Raise a ValueError when a name appears twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name!r} appears twice")
        seen.add(name)
