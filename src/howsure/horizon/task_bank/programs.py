"""A short Python function: what it returns in words, how it is written, and calls that tell it from others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from howsure.horizon.task_bank.evaluator import Budget, Halted, Outcome, Program

__all__ = ["ReferenceProgram", "first_difference", "passes"]


@dataclass(frozen=True)
class ReferenceProgram:
    """A right program: the function's ``name``, what it ``returns``, its ``source``, and ``calls`` to compare it by."""

    name: str
    returns: str
    source: str
    calls: tuple[tuple[Any, ...], ...]

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What it gives to each call, and how many steps that takes."""
        program = Program(self.source)
        return tuple(program.call(self.name, *call) for call in self.calls)

    @property
    def results(self) -> tuple[Any, ...]:
        """What it gives to each call."""
        return tuple(outcome.value for outcome in self.outcomes)

    @cached_property
    def budget(self) -> Budget:
        """What another program may use that does the same: three times as many steps, and some to spare."""
        return Budget(steps=3 * max(outcome.steps for outcome in self.outcomes) + 300)

    def shown(self, number: int) -> str:
        """One of the calls, as one writes it."""
        return f"{self.name}({', '.join(map(repr, self.calls[number]))})"


def passes(source: str, sample: ReferenceProgram) -> bool:
    """Whether another program does the same as a sample on all its calls."""
    return first_difference(source, sample) is None


def first_difference(source: str, sample: ReferenceProgram) -> tuple[int, Any] | None:
    """The number of the first call on which a program differs, and what it gives there (`Halted` if nothing); None where it never does."""
    try:
        program = Program(source)
    except Halted as halted:
        return 0, halted
    for number, (call, result) in enumerate(zip(sample.calls, sample.results, strict=True)):
        try:
            value = program.call(sample.name, *call, budget=sample.budget).value
        except Halted as halted:
            return number, halted
        if value != result or type(value) is not type(result):
            return number, value
    return None
