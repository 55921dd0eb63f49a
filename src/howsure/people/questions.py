"""The questions that a page can ask, each with the answers that it accepts.

::

    Scale, Slider     a step on a scale
    Choice, Labels    one option of a list, or several
    Ranking           all options, in order
    Spans             marked parts of a text
    Number, Text      typed
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from howsure.people.blinding import SPACES, is_blank, normal_number, normal_text

__all__ = [
    "Answer",
    "ChoiceQuestion",
    "LabelsQuestion",
    "Line",
    "NumberQuestion",
    "Option",
    "PageContent",
    "Prose",
    "Question",
    "QuestionName",
    "RankingQuestion",
    "ScaleQuestion",
    "SliderQuestion",
    "SpansQuestion",
    "TextQuestion",
    "bare",
    "plain_form",
    "plain_forms",
    "readings",
    "refuse_twice",
]

QuestionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Answer = int | str | tuple[str, ...]
"""What a page records for one question: a number, a text or the value of an option, or several of them."""
Line = Annotated[str, Field(min_length=1, max_length=1_000)]
Prose = Annotated[str, Field(max_length=1_000_000)]
_SPAN = re.compile(r"([0-9]{1,7})-([0-9]{1,7}):([a-z][a-z0-9_]{0,39})")


class PageContent(BaseModel):
    """A part of a page: fixed when it is made, and nothing in it that is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Question(PageContent):
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


class Option(PageContent):
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


def refuse_twice(what: str, names: Iterable[str]) -> None:
    """Raise a ValueError when a name appears twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name!r} appears twice")
        seen.add(name)


# What a typed answer says: tolerant of form, never of content.
#
# ``assets/answers.js`` does the same, letter for letter, so a page calls right what is scored as right. Classes of characters are
# spelt out because a browser's and Python's differ.


_LONGEST_REPLY = 10_000
_ANY = re.IGNORECASE | re.ASCII
_MARK = re.compile(r"\banswer\b[ *_`]{0,4}(?:is[ *_`]{0,4})?:[ *_`]{0,4}", _ANY)
_TAG = re.compile(r"<answer>(.*?)</answer>", _ANY | re.DOTALL)
_SUBJECT = (
    r"(?:(?:so|thus|hence|therefore|then)[ ,:]+)?(?:(?:the|my) +)?(?:(?:final|correct|right|missing|next) +)?"
    r"(?:answer|result|blank|piece|expression|value|number|term|letter|letters|digits|order)"
)
_SAID = re.compile(rf"{_SUBJECT} +(?:is|are|should be|must be|would be)[ :]+(.+)", _ANY | re.DOTALL)
_NAMED = re.compile(
    rf"(?:{_SUBJECT} *:|it +(?:should|must|has to) +be[ :])(.+)"
    r"|(.+?) (?:belongs|goes|fits|should go|must go) +(?:in|into) +the +(?:blank|gap)",
    _ANY | re.DOTALL,
)
_BREAK = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_FENCE = re.compile(rf"[{SPACES}]*(?:```|~~~)[A-Za-z0-9_+-]*[{SPACES}]*")
_COMMAND = re.compile(r"\\(?:boxed|text|mathrm|mathbf|texttt)\{(.*)\}", re.DOTALL)
_EDGES = re.compile(
    f"^[{SPACES}]+|(?<![{SPACES}])[{SPACES}]+$"
)  # a long gap is looked at once, not from each of its spaces
_WRAPPING = "\"'`*_$“”‘’«»"
_LEFT, _RIGHT = re.compile(f"^[{SPACES}{_WRAPPING}]+"), re.compile(f"(?<![{SPACES}{_WRAPPING}])[{SPACES}{_WRAPPING}]+$")
_DOTS = re.compile(rf"\.[{SPACES}]*\.$")  # no full stop
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")


def readings(text: str) -> tuple[str, ...]:
    r"""The ways to read the final answer off a reply, the likelier first.

    What stands between tags ``<answer>`` counts; without them what follows the last ``Answer:``, the rest of its line or all that is left; without one the whole
    reply, or its last line. "The answer is" and the like may stand before it, "belongs in the blank" after it. Tags that differ name no answer, nor does a last line
    such as "It should be 42" where an earlier one names another.

    >>> readings("Answer: 3? No.\n**Answer:** 42.")
    ('42',)
    >>> readings("So it must be\n42")
    ('So it must be\n42', '42')
    >>> readings("The blank should be `x`.")
    ('The blank should be `x', 'x')
    >>> readings("<answer>x</answer>, I think."), readings("<answer>x</answer> or <answer>y</answer>")
    (('x',), ())
    """
    text = text[-_LONGEST_REPLY:]
    tagged, parts = _TAG.findall(text), _MARK.split(_TAG.sub(r"\1", text))
    lines, is_marked = _lines(parts[-1]), len(parts) > 1
    if tagged:
        named = {*map(bare, tagged), *map(bare, lines[:is_marked])}
        lines = _lines(tagged[0]) if len(named) == 1 else []
    if not lines:
        return ()
    left = "\n".join(lines)
    found = [bare(one) for one in ((left,) if tagged else (lines[0], left) if is_marked else (left, lines[-1]))]
    said = _matched(_SAID, found)
    if len({one for form in (_SAID, _NAMED) for one in _matched(form, map(bare, lines))}) <= 1:
        said += _matched(_NAMED, found)
    return tuple(dict.fromkeys(one for one in (*found, *said) if one))


def _lines(text: str) -> list[str]:
    """Those that are neither empty nor the edge of a block of code."""
    return [line for line in _BREAK.split(text) if not _FENCE.fullmatch(line) and _EDGES.sub("", line)]


def _matched(form: re.Pattern[str], texts: Iterable[str]) -> list[str]:
    """What is left of texts that have this form."""
    return [bare(match[match.lastindex or 0]) for text in texts if (match := form.fullmatch(text))]


def bare(text: str) -> str:
    """Without quotes, emphasis, a box, the full stop of a sentence, and halves of letters that cannot be encoded; unless nothing else is there."""
    whole = _EDGES.sub("", text.encode("utf-8", "replace").decode())
    inner = _unwrapped(whole)
    while command := _COMMAND.fullmatch(inner):
        inner = _unwrapped(command[1])
    return inner or whole


def plain_form(text: str) -> str:
    """An answer as it is compared: without regard to case and spaces, numbers in their shortest form.

    >>> plain_form(" New York "), plain_form("1,250.50"), plain_form("−07")
    ('newyork', '1250.5', '-7')
    """
    one = _EDGES.sub("", text).replace("{,}", ",").replace("\\,", "")
    return normal_number(one.replace(",", "") if _THOUSANDS.fullmatch(one) else one, 15) or normal_text(text)


def plain_forms(text: str) -> tuple[str, ...]:
    """Every form in which a typed text is compared with a right answer."""
    return tuple(dict.fromkeys((normal_text(text), *map(plain_form, readings(text)))))


def _unwrapped(text: str) -> str:
    inner = _RIGHT.sub("", _LEFT.sub("", text))
    return inner if _DOTS.search(inner) else _RIGHT.sub("", inner.removesuffix("."))
