"""Defensible choices of an analysis: what could have been done otherwise, and why. Instruments declare them, claims are checked under all of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from howsure.errors import OptionError

__all__ = ["AnalysisChoice", "AnalysisOption", "Choices", "OptionExclusion", "Specification"]

Specification = Mapping[str, str]
"""One analysis: the option taken for each choice, by the choice's name."""

_MOST_COMBINATIONS = 1_000_000


@dataclass(frozen=True)
class AnalysisOption:
    """One way to make a choice, the reason for it, and where it is argued or used. ``is_added``: by the user, not by the instrument."""

    value: str
    reason: str
    reference: str = ""
    is_added: bool = False


@dataclass(frozen=True)
class AnalysisChoice:
    """A choice with its options, the default first.

    ``known`` names all options that the instrument can compute, also those that are not taken unless the user adds them; where a
    choice is a number, ``is_number`` allows any number from 0 up. With ``must_agree`` a verdict stands only if every option gives it.
    """

    name: str
    question: str
    options: tuple[AnalysisOption, ...]
    known: tuple[str, ...] = ()
    is_number: bool = False
    must_agree: bool = False

    @property
    def default(self) -> str:
        """The option of the default analysis."""
        return self.options[0].value

    @property
    def values(self) -> tuple[str, ...]:
        """The options, the default first."""
        return tuple(option.value for option in self.options)


@dataclass(frozen=True)
class OptionExclusion:
    """Two options that exclude each other, and the reason."""

    first: tuple[str, str]
    second: tuple[str, str]
    reason: str


@dataclass(frozen=True)
class Choices:
    """All choices of one kind of analysis, the combinations that exclude each other, and what the user changed (with the reasons given)."""

    choices: tuple[AnalysisChoice, ...]
    exclusions: tuple[OptionExclusion, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def default(self) -> dict[str, str]:
        """The default analysis."""
        return {choice.name: choice.default for choice in self.choices}

    def named(self, name: str) -> AnalysisChoice:
        """One choice."""
        for choice in self.choices:
            if choice.name == name:
                return choice
        raise OptionError.unknown("choice", name, [choice.name for choice in self.choices])

    def changed(self, name: str, *, add: str | None = None, remove: str | None = None, reason: str = "") -> Choices:
        """With an option more or less; the reason is recorded.

        Parameters
        ----------
        name : str
            The choice.
        add : str, optional
            An option that the instrument knows, or a number where the choice is one.
        remove : str, optional
            An option; where it is the default, the next one becomes the default.
        reason : str
            Why; it may not be empty.
        """
        choice = self.named(name)
        if (add is None) == (remove is None) or not reason.strip():
            raise OptionError(f"A change of {name!r} says either add or remove, and gives a reason.")
        if add is not None:
            if add in choice.values:
                raise OptionError(f"{name} has the option {add!r} already.")
            if not (choice.is_number and _is_number(add)) and add not in choice.known:
                known = sorted({*choice.known, *choice.values})
                raise OptionError.unknown(f"option of {name}", add, [*known, *["any number"] * choice.is_number])
            options = (*choice.options, AnalysisOption(add, reason, is_added=True))
        else:
            if remove not in choice.values:
                raise OptionError.unknown(f"option of {name}", str(remove), choice.values)
            options = tuple(option for option in choice.options if option.value != remove)
            if not options:
                raise OptionError(f"{remove!r} is the only option of {name}; nothing would be left.")
        told = f"{name}: {'added' if add is not None else 'removed'} {add or remove} ({reason.strip()})"
        parts = tuple(replace(one, options=options) if one.name == name else one for one in self.choices)
        return replace(self, choices=parts, changes=(*self.changes, told))

    def is_allowed(self, specification: Specification) -> bool:
        """Whether no exclusion forbids it."""
        return not any(
            specification.get(one.first[0]) == one.first[1] and specification.get(one.second[0]) == one.second[1]
            for one in self.exclusions
        )

    @property
    def n_combinations(self) -> int:
        """The number of combinations, excluded ones included."""
        return int(np.prod([len(choice.options) for choice in self.choices], dtype=np.int64)) if self.choices else 1

    def specifications(self, most: int, *, seed: int = 0) -> list[dict[str, str]]:
        """All allowed combinations, the default first; or, of more than `most`, a sample.

        The sample has the default, every change of one option, then changes of two, and then combinations drawn at random.
        """
        if self.n_combinations > _MOST_COMBINATIONS:
            raise OptionError(f"{self.n_combinations:,} combinations of options are too many. Remove some options.")
        names = [choice.name for choice in self.choices]
        every = [
            dict(zip(names, values, strict=True))
            for values in itertools.product(*(choice.values for choice in self.choices))
        ]
        every = [one for one in every if self.is_allowed(one)]
        if len(every) <= most:
            return every
        default = self.default
        n_changed = np.array([sum(one[name] != default[name] for name in names) for one in every])
        shuffled = np.random.default_rng(seed).permutation(len(every))
        order = sorted(range(len(every)), key=lambda i: (min(int(n_changed[i]), 3), int(shuffled[i])))
        return [every[i] for i in order[:most]]

    def table(self) -> pl.DataFrame:
        """One row per option: choice, option, is_default, question, reason, reference, is_added."""
        rows = [
            {
                "choice": choice.name,
                "option": option.value,
                "is_default": option.value == choice.default,
                "question": choice.question,
                "reason": option.reason,
                "reference": option.reference,
                "is_added": option.is_added,
            }
            for choice in self.choices
            for option in choice.options
        ]
        kinds = dict.fromkeys(("choice", "option", "question", "reason", "reference"), pl.String)
        return pl.DataFrame(rows, schema={**kinds, "is_default": pl.Boolean, "is_added": pl.Boolean}).select(
            "choice", "option", "is_default", "question", "reason", "reference", "is_added"
        )


def _is_number(text: str) -> bool:
    try:
        return 0 <= float(text) < float("inf")
    except ValueError:
        return False
