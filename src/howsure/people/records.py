"""What a page records, as data: drafts on the way, and the result at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from howsure.errors import InputError
from howsure.people.build import BuiltPage, explain
from howsure.people.questions import Answer, ChoiceQuestion, Question, QuestionName
from howsure.people.screens import Consent, GameScreen, Item, OpaqueId, Page, QuizScreen, Screen
from howsure.people.strict_json import canonical, digest, parse

__all__ = [
    "Answer",
    "ConsentRecord",
    "Draft",
    "FinishedAnswers",
    "GameRecord",
    "ItemRecord",
    "QuizRecord",
    "ReadingRecord",
    "StepRecord",
    "is_screened_out",
    "read_draft",
    "read_result",
]

Milliseconds = Annotated[int, Field(ge=0)]
_Answers = dict[QuestionName, Answer]
_Instant = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Visit(_Record):
    ms: Milliseconds
    visits: int = Field(ge=0)


class ConsentRecord(_Visit):
    """Whether the person agreed."""

    kind: Literal["consent"]
    agreed: bool


class ReadingRecord(_Visit):
    """How long a text was looked at."""

    kind: Literal["reading"]


class ItemRecord(_Visit):
    """Answers by question, and how often each was changed after it had been left."""

    kind: Literal["item"]
    answers: _Answers
    revisions: dict[QuestionName, int]


class QuizRecord(_Visit):
    """The answers as they stand, and those of each try."""

    kind: Literal["quiz"]
    answers: _Answers
    tries: tuple[_Answers, ...] = Field(max_length=10)


class StepRecord(_Record):
    """One answer of a game and how long it took."""

    answer: Answer
    ms: Milliseconds


class GameRecord(_Visit):
    """The answers of a game, and how long the step in hand has been open."""

    kind: Literal["game"]
    begun: bool
    open_ms: Milliseconds
    steps: tuple[StepRecord, ...] = Field(max_length=2_000)


Record = Annotated[ConsentRecord | ReadingRecord | ItemRecord | QuizRecord | GameRecord, Field(discriminator="kind")]


class _Progress(_Record):
    page: _Digest
    rater: str = Field(max_length=60)
    started: _Instant
    reloads: int = Field(ge=0)
    screens: dict[OpaqueId, Record] = Field(max_length=500)


class Draft(_Progress):
    """Answers on the way; the one with more `saves` is the later one."""

    at: int = Field(ge=0)
    saves: int = Field(ge=0)


class FinishedAnswers(_Progress):
    """A complete set of answers, with a digest of its content.

    Parameters
    ----------
    format : Literal['howsure-result/1']
        Version of the format.
    page
        Digest of the page.
    rater : str
        Who answered.
    started
        When the page was opened first.
    finished : _Instant
        When the answers were finished.
    reloads
        How often the page was reloaded.
    screens
        Screen id → what was recorded there.
    digest : _Digest
        SHA-256 of everything else.
    """

    format: Literal["howsure-result/1"]
    rater: str = Field(min_length=1, max_length=60)
    finished: _Instant
    digest: _Digest


_Kind = TypeVar("_Kind", bound=_Progress)


def read_draft(data: bytes, page: BuiltPage, rater: str) -> Draft:
    """A draft of this rater's answers to this page, or an `InputError` that says why it is none."""
    draft = _validated(Draft, parse(data))
    if draft.page != page.digest or draft.rater != rater:
        raise InputError("these answers belong to another page or person")
    screens = {screen.id: screen for screen in page.page.screens}
    for name, record in draft.screens.items():
        if name not in screens or screens[name].kind != record.kind:
            raise InputError(f"the page has no such screen as {name}")
    for screen in page.page.screens:
        given = draft.screens.get(screen.id)
        if isinstance(screen, Consent) and not (isinstance(given, ConsentRecord) and given.agreed):
            raise InputError("consent was not given, so nothing is kept")
    return draft


def read_result(data: bytes, pages: Mapping[str, BuiltPage]) -> FinishedAnswers:
    """A complete and untampered result of one of these pages (by digest), or an `InputError` that says why it is none."""
    body = parse(data)
    result = _validated(FinishedAnswers, body)
    if body.pop("digest") != digest(body):
        raise InputError("its digest does not match its content: it was cut off or changed. Ask for it again")
    if result.page not in pages:
        raise InputError(f"it answers another page ({result.page[:8]}…) than those given")
    if not result.rater.strip():
        raise InputError("it does not say who answered")
    page = pages[result.page].page
    if page.rater and result.rater != page.rater:
        raise InputError(f"it comes from {result.rater!r}, but the page was made for {page.rater!r}")
    if strangers := set(result.screens) - {screen.id for screen in page.screens}:
        raise InputError(f"the page has no such screen as {min(strangers)}")
    refused = _refusing(page, result)
    for screen in page.screens:
        _check(screen, result.screens.get(screen.id))
        if screen is refused:
            break
    else:
        return result
    kept = page.screens[: page.screens.index(refused) + 1]
    if len(result.screens) > len(kept):
        raise InputError(f"screen {refused.id} ended the page, but later screens are answered")
    return result


def is_screened_out(page: Page, result: FinishedAnswers) -> bool:
    """Whether the page ended with a screening that this person did not pass."""
    return _refusing(page, result) is not None


def _refusing(page: Page, result: FinishedAnswers) -> Item | None:
    """The screening that ended the page."""
    for screen in page.screens:
        record = result.screens.get(screen.id)
        if isinstance(screen, Item) and isinstance(record, ItemRecord) and not screen.admits_with(record.answers):
            return screen
    return None


def _validated(kind: type[_Kind], value: Any) -> _Kind:
    try:
        return kind.model_validate_json(canonical(value))
    except ValidationError as error:
        raise InputError(f"not what a page of Howsure records ({explain(error)})") from None


def _check(screen: Screen, record: Record | None) -> None:
    """Refuse what the page could not have recorded, or would not have let pass."""
    if record is None or record.kind != screen.kind:
        raise InputError(f"screen {screen.id} ({screen.title!r}) is not answered")
    if isinstance(screen, Consent) and isinstance(record, ConsentRecord) and not record.agreed:
        raise InputError(f"screen {screen.id}: consent was not given")
    if isinstance(screen, Item) and isinstance(record, ItemRecord):
        _check_answers(screen, record.answers)
    if isinstance(screen, QuizScreen) and isinstance(record, QuizRecord):
        _check_tries(screen, record)
    if isinstance(screen, GameScreen) and isinstance(record, GameRecord):
        _check_game(screen, record)


def _check_answers(screen: Item | QuizScreen, answers: _Answers) -> None:
    asked: dict[str, Question] = {question.name: question for question in screen.questions}
    if strangers := set(answers) - set(asked):
        raise InputError(f"screen {screen.id} has no question {min(strangers)!r}")
    for name, question in asked.items():
        if name not in answers and question.required:
            raise InputError(f"screen {screen.id}: {name!r} is not answered")
        if name in answers and not question.accepts(answers[name]):
            raise InputError(f"screen {screen.id}: {name!r} cannot be answered with {str(answers[name])[:40]!r}")
        other = question.differs_from if isinstance(question, ChoiceQuestion) else None
        if other and name in answers and answers[name] == answers.get(other):
            raise InputError(f"screen {screen.id}: {name!r} has the same answer as {other!r}")


def _check_tries(screen: QuizScreen, record: QuizRecord) -> None:
    if not 1 <= len(record.tries) <= screen.tries:
        raise InputError(f"screen {screen.id}: {len(record.tries)} tries, where 1 to {screen.tries} are possible")
    for answers in record.tries:
        _check_answers(screen, answers)


def _check_game(screen: GameScreen, record: GameRecord) -> None:
    answers = [step.answer for step in record.steps]
    if len(answers) > len(screen.steps):
        raise InputError(f"screen {screen.id}: {len(answers)} answers to {len(screen.steps)} steps")
    for number, answer in enumerate(answers):
        if not screen.question(number).accepts(answer):
            raise InputError(f"screen {screen.id} step {number + 1}: {str(answer)[:40]!r} cannot be given as an answer")
        if screen.is_over(answers[: number + 1]) is not (number == len(answers) - 1):
            raise InputError(f"screen {screen.id}: the game goes on after its end, or ends before it")
    if not answers:
        raise InputError(f"screen {screen.id}: the game was not played")
