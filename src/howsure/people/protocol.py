"""What a page shows a person, as data: screens in the order in which they are shown.

::

    Page ─ screens ─┬─ Consent     a text to agree to
                    ├─ Reading     texts to read, which may stay at hand afterwards
                    ├─ Quiz        questions with feedback and a pass mark
                    ├─ Item        up to twelve texts side by side, and questions about them (or questions alone)
                    └─ Game        values shown one at a time, an answer typed to each

    questions: Scale, Slider, Choice, Labels, Ranking, Spans, Number, Text

Whatever must differ between people (the order of items, which text comes first) is settled when their pages are made: each
rater has a `Page` of their own. Names of screens are opaque (`blinding.opaque_id`); what they stand for is kept elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from howsure.people.blinding import conceal, hide, is_blank, new_salt, normal_number
from howsure.people.typed import bare, plain_form, plain_forms

__all__ = [
    "ChoiceQuestion",
    "Consent",
    "Element",
    "GameScreen",
    "Item",
    "LabelsQuestion",
    "NumberQuestion",
    "OpaqueId",
    "Option",
    "Page",
    "Passage",
    "Question",
    "QuestionName",
    "QuizScreen",
    "RankingQuestion",
    "ReadingScreen",
    "ScaleQuestion",
    "Screen",
    "SliderQuestion",
    "SpansQuestion",
    "Step",
    "TextQuestion",
    "Turn",
    "refuse_twice",
]

OpaqueId = Annotated[str, Field(pattern=r"^[a-z2-7]{16}$")]
QuestionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Hidden = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Answer = int | str | tuple[str, ...]
"""What a page records for one question: a number, a text or the value of an option, or several of them."""
Line = Annotated[str, Field(min_length=1, max_length=1_000)]
Prose = Annotated[str, Field(max_length=1_000_000)]


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
_SPAN = re.compile(r"([0-9]{1,7})-([0-9]{1,7}):([a-z][a-z0-9_]{0,39})")


class _Content(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Element(_Content):
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
    attributes: dict[Literal[ATTRIBUTES], str] = {}  # type: ignore[valid-type]
    children: tuple[str | Element, ...] = ()

    @model_validator(mode="after")
    def _offline(self) -> Self:
        if "src" in self.attributes and not _PICTURE.match(self.attributes["src"]):
            raise ValueError("a picture must carry its data: png, jpeg, gif or webp in base64")
        return self


class Turn(_Content):
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


class Passage(_Content):
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

    def normal(self, answer: Answer) -> str:
        """The form in which a right answer is hidden."""
        return str(answer)

    def forms(self, answer: Answer) -> tuple[str, ...]:
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
    differs_from : QuestionName | None
        An earlier question of the same screen that must have another answer (the worst is not the best).
    """

    kind: Literal["choice"] = "choice"
    options: tuple[Option, ...] = Field(min_length=2, max_length=60)
    differs_from: QuestionName | None = None

    @model_validator(mode="after")
    def _differ(self) -> Self:
        refuse_twice("option", (option.value for option in self.options))
        return self

    def accepts(self, answer: object) -> bool:
        """The value of an option."""
        return isinstance(answer, str) and answer in {option.value for option in self.options}


class SliderQuestion(_Question):
    """A whole number set on a line between two labels; it has no value until it is moved.

    Parameters
    ----------
    kind : Literal['slider']
        Always ``slider``.
    low : int
        The left end.
    high : int
        The right end.
    left : Line
        Label of the left end.
    right : Line
        Label of the right end.
    """

    kind: Literal["slider"] = "slider"
    low: int = 0
    high: int = 100
    left: Line
    right: Line

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low {self.low} is not below high {self.high}")
        return self

    def accepts(self, answer: object) -> bool:
        """A whole number between both ends."""
        return type(answer) is int and self.low <= answer <= self.high


class _Options(_Question):
    options: tuple[Option, ...] = Field(min_length=1, max_length=60)

    @model_validator(mode="after")
    def _differ(self) -> Self:
        refuse_twice("option", (option.value for option in self.options))
        return self

    def _places(self, answer: object) -> list[int] | None:
        """Where the answer's values stand among the options; None for what is no list of them, or names one twice."""
        known = {option.value: place for place, option in enumerate(self.options)}
        if not isinstance(answer, tuple | list) or not all(isinstance(one, str) and one in known for one in answer):
            return None
        return [known[one] for one in answer] if len({*answer}) == len(answer) else None


class LabelsQuestion(_Options):
    """A list of options, any number of which may apply; the answer lists them in the order of the options.

    Parameters
    ----------
    kind : Literal['labels']
        Always ``labels``.
    options : tuple[Option, ...]
        The options.
    at_least : int
        How many must be chosen; with 0 the page has a box for none.
    at_most : int | None
        How many may be chosen.
    """

    kind: Literal["labels"] = "labels"
    at_least: int = Field(default=0, ge=0)
    at_most: int | None = Field(default=None, ge=1)

    def accepts(self, answer: object) -> bool:
        """Values of options, each once, in their order."""
        places = self._places(answer)
        if places is None or places != sorted(places):
            return False
        return self.at_least <= len(places) <= (self.at_most or len(self.options))


class RankingQuestion(_Options):
    """Options to be put in order, the best first.

    Parameters
    ----------
    kind : Literal['ranking']
        Always ``ranking``.
    options : tuple[Option, ...]
        The options.
    top : int | None
        How many are ranked; all when left out.
    """

    kind: Literal["ranking"] = "ranking"
    options: tuple[Option, ...] = Field(min_length=2, max_length=20)
    top: int | None = Field(default=None, ge=1)

    def accepts(self, answer: object) -> bool:
        """So many values of options, each once, in any order."""
        places = self._places(answer)
        return places is not None and len(places) == min(self.top or len(self.options), len(self.options))


class SpansQuestion(_Options):
    """Parts of a text to be marked, each with one of the options; the answer lists ``start-end:value``, in characters from 0.

    Parameters
    ----------
    kind : Literal['spans']
        Always ``spans``.
    options : tuple[Option, ...]
        The kinds of parts.
    passage : int
        Which passage of the screen is marked, counted from 0.
    length : int
        Number of characters of that passage.
    """

    kind: Literal["spans"] = "spans"
    options: tuple[Option, ...] = Field(min_length=1, max_length=9)
    passage: int = Field(default=0, ge=0)
    length: int = Field(ge=1)

    def accepts(self, answer: object) -> bool:
        """Parts that lie in the text, in order, none twice."""
        if not isinstance(answer, tuple | list) or len(answer) > 500:
            return False
        found = [match for one in answer if isinstance(one, str) and (match := _SPAN.fullmatch(one))]
        places = [(int(match[1]), int(match[2]), match[3]) for match in found]
        known = {option.value for option in self.options}
        is_inside = all(0 <= start < end <= self.length and value in known for start, end, value in places)
        return len(found) == len(answer) and is_inside and all(one < other for one, other in pairwise(places))


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

    def normal(self, answer: Answer) -> str:
        """The text without regard to case and spaces, a number in its shortest form."""
        return plain_form(bare(str(answer)))

    def forms(self, answer: Answer) -> tuple[str, ...]:
        """The whole text, and what it may be read as: without quotes, a full stop, "The answer is" and the like."""
        return plain_forms(str(answer))


Question = Annotated[
    ScaleQuestion
    | SliderQuestion
    | ChoiceQuestion
    | LabelsQuestion
    | RankingQuestion
    | SpansQuestion
    | NumberQuestion
    | TextQuestion,
    Field(discriminator="kind"),
]


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
    admits: dict[QuestionName, tuple[str, ...]] = {}

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
    settings: dict[QuestionName, str | int] = {}
    words: dict[QuestionName, str | dict[str, str]] = {}

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


def refuse_twice(what: str, names: Iterable[str]) -> None:
    """Raise a ValueError when a name appears twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name!r} appears twice")
        seen.add(name)
