"""What a task is: a generator of fresh instances, or a prompt of one's own; and what an instance offers."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from howsure.errors import HowsureError, InputError
from howsure.horizon.task_bank.registry import family_of
from howsure.people.questions import bare, plain_form, readings

__all__ = ["Checker", "Exact", "Instance", "NeedsJudge", "Pattern", "Task", "TaskFamily", "Verification"]


# What an answer says, and whether it is right: tolerant of form, never of content.
#
# A checker takes any text at all and gives the share that is right, 0 to 1, or None where a judge has to say. It never raises.


_LONGEST_REGEX = 500


class Checker(ABC):
    """Tells right from wrong."""

    @abstractmethod
    def __call__(self, text: str) -> float | None:
        """The score of a reply, 0 to 1, or None where a judge has to say."""

    def rights(self) -> tuple[str, ...]:
        """Every right answer of the form that is asked for; none where they cannot be listed."""
        return ()


@dataclass(frozen=True)
class NeedsJudge(Checker):
    """Somebody has to read it."""

    def __call__(self, text: str) -> None:
        """Not for a program to say."""
        return


@dataclass(frozen=True)
class Exact(Checker):
    """Right where the answer is one of ``answers``, after ``tidy`` has taken away what may differ."""

    answers: tuple[str, ...]
    tidy: Callable[[str], str] = plain_form

    def __call__(self, text: str) -> float:
        """1 or 0."""
        rights = {self.tidy(bare(answer)) for answer in self.answers}
        # the whole text, too, as a page takes it: ". ." for ".."
        return float(any(self.tidy(one) in rights for one in (text, *readings(text))))

    def rights(self) -> tuple[str, ...]:
        """The answers."""
        return self.answers


@dataclass(frozen=True)
class Pattern(Checker):
    """Right where the whole answer matches a regular expression; upper and lower case are the same.

    Matching takes time in proportion to the text, whatever the expression: polars' engine does it, which never backtracks. So it has neither
    look-around nor backreferences, and it refuses what grows beyond 10 MB when compiled.
    """

    regex: str

    def __post_init__(self) -> None:
        if len(self.regex) > _LONGEST_REGEX:
            raise InputError(f"{len(self.regex)} characters are too many. Write at most {_LONGEST_REGEX}.")
        for regex in (self.regex, self._whole):  # alone first: "a)|(b" is whole only when wrapped
            _is_match(regex, ("",))

    def __call__(self, text: str) -> float:
        """1 or 0."""
        return float(_is_match(self._whole, readings(text)))

    @property
    def _whole(self) -> str:
        return rf"(?i)\A(?:{self.regex})\z"


def _is_match(regex: str, texts: tuple[str, ...]) -> bool:
    import polars as pl

    try:
        return bool(pl.Series(texts, dtype=pl.String).str.contains(regex).any())
    except pl.exceptions.ComputeError as error:
        told = str(error).partition("\n\nThis error")[0].splitlines()[-1]
        raise InputError(
            f"{regex!r} cannot be used: {told.rpartition('error: ')[2].rstrip('.')}. Write a plainer one, or list the right answers under answer."
        ) from None


Verification = Literal["automated", "llm_judge", "expert_review"]

_PLAIN_RUBRIC = "Does the text do what the task asks, completely and correctly? 1 for yes, 0.5 for partly, 0 for no."


@dataclass(frozen=True)
class Instance:
    """What one attempt at a task is about.

    ``prompt`` says what to do and how to answer, to a person as to a model. ``answer`` is a right answer, None where there is not one to compare with.
    ``rubric`` is what a judge goes by. ``check`` gives the score of any text, 0 to 1, or None where a judge has to say; it never raises.
    """

    prompt: str
    answer: str | None
    rubric: str | None
    check: Checker

    @classmethod
    def judged(cls, prompt: str, rubric: str) -> Instance:
        """An instance that somebody has to read."""
        return cls(prompt, None, rubric, NeedsJudge())

    def accepted(self) -> tuple[str, ...]:
        """All right answers of the form that the prompt asks for, lower-cased and stripped; empty where they cannot be listed.

        A page can carry their hashes and give feedback. The score that counts is `check`'s, which may be more tolerant.
        """
        return tuple(dict.fromkeys(right.strip().lower() for right in self.check.rights()))


@dataclass(frozen=True)
class TaskFamily:
    """A kind of task within a domain: ``make(rng, difficulty)`` draws an instance, the harder the closer difficulty is to 1."""

    name: str
    description: str
    verification_type: Verification
    make: Callable[[random.Random, float], Instance]


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


class Task(BaseModel):
    """A task that people and models attempt.

    With a ``generator``, a family of its domain, every attempt gets an instance of its own, drawn at the task's ``difficulty``. A task of one's own has
    a ``prompt`` (or a ``description`` alone) that is the same at every attempt; it is checked by ``answer`` or ``regex``, judged by ``rubric``, or read by an expert.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, coerce_numbers_to_str=True)

    id: str = Field(min_length=1, max_length=200, validation_alias=AliasChoices("id", "task_id"))
    domain: str = Field(min_length=1, max_length=100)
    verification_type: Verification
    generator: str | None = None
    difficulty: float | None = Field(default=None, ge=0, le=1, description="0 easy, 1 hard.")
    family: str = Field(
        default="", max_length=200, description="Tasks that stand or fall together; the task alone by default."
    )
    description: str = Field(default="", max_length=10_000)
    prompt: str | None = Field(default=None, min_length=1, max_length=100_000)
    answer: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_listed)] = Field(
        default=(), description="A right answer, or a list of them."
    )
    regex: str | None = Field(default=None, min_length=1, description="What the whole of a right answer matches.")
    rubric: str | None = Field(default=None, min_length=1, max_length=10_000, description="What a judge goes by.")

    @field_validator("regex")
    @classmethod
    def _can_be_used(cls, regex: str | None) -> str | None:
        try:
            return regex and Pattern(regex).regex
        except HowsureError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        fault = _fault_of_generator(self) if self.generator is not None else _fault_of_own(self)
        if fault:
            raise ValueError(fault)
        if not self.family:
            object.__setattr__(self, "family", self.generator or self.id)
        return self

    @property
    def is_verifiable(self) -> bool:
        """Whether a program tells right from wrong."""
        return self.verification_type == "automated"

    def instance(self, seed: int) -> Instance:
        """The instance called `seed`: always the same for this task."""
        if self.generator is None:
            return _own(self)
        rng = random.Random(f"{self.id}\n{seed}")
        return family_of(self.domain, self.generator).make(rng, self.difficulty or 0.0)


def _fault_of_generator(task: Task) -> str:
    try:
        made = family_of(task.domain, task.generator or "")
    except HowsureError as error:
        return str(error)
    if task.difficulty is None:
        return "a generator needs a difficulty from 0 to 1"
    if task.verification_type != made.verification_type:
        return f"verification_type of generator {made.name!r} is {made.verification_type}"
    own = [name for name in ("prompt", "answer", "regex", "rubric") if getattr(task, name)]
    return f"a generator makes its own {own[0]}; take one of the two away" if own else ""


def _fault_of_own(task: Task) -> str:
    if not (task.prompt or task.description):
        return "neither prompt nor description says what to do; write one, or name a generator"
    if task.is_verifiable and bool(task.answer) == bool(task.regex):
        return "verification_type automated needs either an answer or a regex; or choose llm_judge or expert_review"
    if task.regex and not task.is_verifiable:
        return f"a regex is not used with verification_type {task.verification_type}; choose automated"
    return ""


def _own(task: Task) -> Instance:
    prompt = task.prompt or task.description
    answer = task.answer[0] if task.answer else None
    if task.regex:
        return Instance(prompt, answer, task.rubric, Pattern(task.regex))
    if task.is_verifiable:
        return Instance(prompt, answer, task.rubric, Exact(task.answer))
    return Instance(prompt, answer, task.rubric or _PLAIN_RUBRIC, NeedsJudge())
