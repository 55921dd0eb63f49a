"""What a page shows a person, as data: screens in the order in which they are shown.

::

    Page ─ screens ─┬─ Consent     a text to agree to
                    ├─ Reading     texts to read, which may stay at hand afterwards
                    ├─ Quiz        questions with feedback and a pass mark
                    ├─ Item        up to twelve texts side by side, and questions about them (or questions alone)
                    └─ Game        values shown one at a time, an answer typed to each

The questions on them are in `people.questions`. Whatever must differ between people (the order of items, which text comes first) is
settled when their pages are made: each rater has a `Page` of their own. Names of screens are opaque (`blinding.opaque_id`); what they
stand for is kept elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from howsure.people.blinding import conceal, hide, new_salt
from howsure.people.questions import (
    Answer,
    Line,
    PageContent,
    Prose,
    Question,
    QuestionName,
    SpansQuestion,
    refuse_twice,
)

__all__ = [
    "ATTRIBUTES",
    "GAVE_UP",
    "TAGS",
    "Consent",
    "Element",
    "GameScreen",
    "Item",
    "OpaqueId",
    "Page",
    "Passage",
    "QuizScreen",
    "ReadingScreen",
    "Screen",
    "Step",
    "Turn",
]

OpaqueId = Annotated[str, Field(pattern=r"^[a-z2-7]{16}$")]
Hidden = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


TAGS = (
    *("p", "br", "hr", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "s", "sub", "sup", "img"),
    *("table", "thead", "tbody", "tr", "th", "td"),
    *("math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "msub", "msup"),
    *("msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mpadded", "mphantom"),
)
"""What a formatted text may consist of; ``assets/dom.js`` has the same list."""

ATTRIBUTES = (
    *("alt", "src", "class", "start", "display", "stretchy", "fence", "form", "accent", "linethickness"),
    *("mathvariant", "columnalign", "displaystyle", "width", "height", "lspace", "rspace", "minsize", "maxsize"),
)
_PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+\Z")


class Element(PageContent):
    """One element of a formatted text; `markup.rendered` makes them, and the page builds them one by one, never from HTML.

    Parameters
    ----------
    tag : str
        Its kind, from a fixed list: paragraphs, lists, code, tables, pictures, formulas.
    attributes : dict[str, str]
        Attributes, from a fixed list; a picture carries its data.
    children : tuple[str | Element, ...]
        Texts and elements in it.
    """

    tag: Literal[TAGS]  # type: ignore[valid-type]
    attributes: dict[Literal[ATTRIBUTES], str] = Field(default_factory=dict)  # type: ignore[valid-type]
    children: tuple[str | Element, ...] = ()

    @model_validator(mode="after")
    def _offline(self) -> Self:
        if "src" in self.attributes and not _PICTURE.match(self.attributes["src"]):
            raise ValueError("a picture must carry its data: png, jpeg, gif or webp in base64")
        return self


class Turn(PageContent):
    """One turn of a conversation.

    Parameters
    ----------
    who : Line
        Who speaks.
    text : Prose
        What is said.
    rich : tuple[str | Element, ...]
        The same with its formatting; empty: shown as written.
    """

    who: Line
    text: Prose
    rich: tuple[str | Element, ...] = ()


class Passage(PageContent):
    """A text under a label, shown as written, with formatting, or as a conversation.

    Parameters
    ----------
    label : Line
        The label.
    text : Prose
        The text.
    rich : tuple[str | Element, ...]
        The same with its formatting; empty: shown as written.
    turns : tuple[Turn, ...]
        A conversation, in place of a text.
    """

    label: Line
    text: Prose = ""
    rich: tuple[str | Element, ...] = ()
    turns: tuple[Turn, ...] = Field(default=(), max_length=500)

    @property
    def words(self) -> str:
        """Everything there is to read."""
        return "\n".join((self.text, *(f"{turn.who}: {turn.text}" for turn in self.turns))).strip()


class _Screen(PageContent):
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
    is_one_way : bool
        Whether earlier screens are closed once this one is shown, because it reveals something.
    """

    kind: Literal["reading"] = "reading"
    passages: tuple[Passage, ...] = ()
    at_hand: bool = False
    is_one_way: bool = False


class Item(_Screen):
    """Up to twelve texts side by side in blinded order, and questions about them; without texts, questions only.

    Parameters
    ----------
    kind : Literal['item']
        Always ``item``.
    is_one_way : bool
        Whether earlier screens are closed once this one is shown, because it reveals something.
    prompt : Prose
        Text above the passages.
    context : tuple[Passage, ...]
        Texts above the passages in full width, such as a conversation that the passages continue.
    passages : tuple[Passage, ...]
        The texts.
    questions : tuple[Question, ...]
        The questions.
    admits : dict[QuestionName, tuple[str, ...]]
        A screening: question → the answers with which a person may go on. Any other answer ends the page.
    """

    kind: Literal["item"] = "item"
    is_one_way: bool = False
    """Whether earlier screens can no longer be opened once this one is shown: it may tell what answers to them must not know."""
    prompt: Prose = ""
    context: tuple[Passage, ...] = Field(default=(), max_length=4)
    passages: tuple[Passage, ...] = Field(default=(), max_length=12)
    questions: tuple[Question, ...] = Field(min_length=1, max_length=100)
    admits: dict[QuestionName, tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fit(self) -> Self:
        refuse_twice("question", (question.name for question in self.questions))
        for question in self.questions:
            if isinstance(question, SpansQuestion) and (
                question.passage >= len(self.passages) or len(self.passages[question.passage].text) != question.length
            ):
                raise ValueError(f"question {question.name!r} marks a passage that is not there")
        if strangers := set(self.admits) - {one.name for one in self.questions if one.kind == "choice"}:
            raise ValueError(f"only a choice can screen; {min(strangers)!r} is none")
        return self

    def admits_with(self, answers: Mapping[str, Answer]) -> bool:
        """Whether someone with these answers may go on."""
        return all(answers.get(name) in admitted for name, admitted in self.admits.items())


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

    def is_right(self, name: str, answer: Answer) -> bool:
        """Whether an answer is among the hidden ones."""
        question = next(question for question in self.questions if question.name == name)
        return _is_among(self.salt, name, question, answer, self.rights[name])


class Step(PageContent):
    """One value of a game.

    Parameters
    ----------
    show : Prose
        The value.
    rights : tuple[Hidden, ...]
        Hidden correct answers; empty: not marked.
    answer : Question | None
        The question at this step, if it differs from the game's.
    correction : str
        The right answer, concealed, which is told after a wrong one; empty: it is not told.
    """

    show: Prose
    rights: tuple[Hidden, ...] = ()
    answer: Question | None = None
    correction: str = ""


GAVE_UP = "(gave up)"
"""The answer that the button for giving up enters (the same in assets/game.js)."""


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
    gives_up : bool
        Whether the person may give up, which ends the game with the answer `GAVE_UP`.
    """

    kind: Literal["game"] = "game"
    steps: tuple[Step, ...] = Field(min_length=1, max_length=2_000)
    answer: Question
    salt: str
    stop: Literal["wrong", "right", "end"] = "end"
    tells: bool = False
    unit: Line = "Number"
    fixed_width: bool = False
    gives_up: bool = False

    @classmethod
    def hiding(
        cls,
        steps: Iterable[tuple[str, Sequence[str | int]] | tuple[str, Sequence[str | int], Question]],
        *,
        answer: Question,
        salt: str | None = None,
        corrections: Sequence[str] = (),
        **given: Any,
    ) -> GameScreen:
        """A game from what is shown and the right answers, which end up hidden: ``Game.hiding([("17", ["17"]), …], …)``.

        A third part gives a step a question of its own. ``corrections`` are the right answers as they are told after a wrong one, one per step.
        """
        salt = salt or new_salt()
        made = []
        for number, (show, rights, *own) in enumerate(steps):
            question = own[0] if own else None
            correction = conceal(salt, number, corrections[number]) if corrections else ""
            hidden = _hidden(salt, number, question or answer, rights)
            made.append(Step(show=show, rights=hidden, answer=question, correction=correction))
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

    def is_right(self, number: int, answer: Answer) -> bool | None:
        """Whether an answer to a step is among the hidden ones; None for a step that is not marked."""
        rights = self.steps[number].rights
        return _is_among(self.salt, number, self.question(number), answer, rights) if rights else None

    def is_over(self, answers: Sequence[Answer]) -> bool:
        """Whether the game ends after these answers."""
        if self.gives_up and answers and answers[-1] == GAVE_UP:
            return True
        if not answers or len(answers) >= len(self.steps):
            return bool(answers)
        was_right = self.is_right(len(answers) - 1, answers[-1])
        return (self.stop == "wrong" and was_right is False) or (self.stop == "right" and was_right is True)


Screen = Annotated[Consent | ReadingScreen | Item | QuizScreen | GameScreen, Field(discriminator="kind")]


class Page(PageContent):
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
        Text at the end; empty: as the page's language has it.
    sending : Prose
        How to send the answers back; empty: as the page's language has it.
    commitment : str
        Digest of a sealed key, which proves later that the key was fixed before anyone answered.
    settings : dict[QuestionName, str | int]
        Public settings that the instrument needs for scoring.
    words : dict[QuestionName, str | dict[str, str]]
        Words of the page that differ from those of its language, such as a translation that is not bundled.
    """

    instrument: QuestionName
    title: Line
    screens: tuple[Screen, ...] = Field(min_length=1, max_length=500)
    rater: str = Field(default="", pattern=r"^[A-Za-z0-9_-]{0,40}$")
    language: str = Field(default="en", pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    thanks: Prose = ""
    sending: Prose = ""
    commitment: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    settings: dict[QuestionName, str | int] = Field(default_factory=dict)
    words: dict[QuestionName, str | dict[str, str]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _differ(self) -> Self:
        refuse_twice("screen", (screen.id for screen in self.screens))
        return self


def _hidden(salt: str, part: str | int, question: Question, rights: Sequence[str | int]) -> tuple[str, ...]:
    for right in rights:
        if not question.accepts(right):
            raise ValueError(f"{right!r} cannot be given as an answer to {question.name!r}")
    return tuple(hide(salt, part, question.normal(right)) for right in rights)


def _is_among(salt: str, part: str | int, question: Question, answer: Answer, rights: Sequence[str]) -> bool:
    return any(hide(salt, part, form) in rights for form in question.forms(answer))
