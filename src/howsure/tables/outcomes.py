"""What became of attempts that have no score, and what they count as.

A policy is one rule per outcome: ``wrong`` (the worst score) or ``drop`` (not counted). Several policies are defensible where nobody can say
whose failure it was; a conclusion stands only if all of them support it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from howsure.errors import OptionError

__all__ = ["MISSING", "OUTCOMES", "OWN_FAILURES", "RULES", "Count", "Policy", "counted_text", "defensible"]

OUTCOMES = ("scored", "errored", "refused", "unscored", "limit", "absent")
"""What can become of an attempt: it has a score; an error ended it; the model refused; the scorer or judge gave no score; a limit ended it; it is not there,
although another model has the item."""
MISSING = OUTCOMES[1:]
OWN_FAILURES = ("refused", "limit")
"""Outcomes that are the model's own failures: they count as wrong. All others may be failures of the instrument, or nobody knows."""
RULES = ("wrong", "drop")


@dataclass(frozen=True)
class Policy:
    """One rule per outcome without a score; an outcome that is not named is dropped. In bounds, the rule may also be ``right``."""

    rules: Mapping[str, str] = field(default_factory=dict)

    def of(self, outcome: str) -> str:
        """``wrong``, ``drop`` or ``right``."""
        return self.rules.get(outcome, "drop")

    def extreme(self, rule: str) -> Policy:
        """The policy with another rule for all outcomes that may be somebody else's failure: for bounds.

        Parameters
        ----------
        rule : {"wrong", "right"}
            What they count as.
        """
        return Policy({name: "wrong" if name in OWN_FAILURES else rule for name in MISSING})

    def __str__(self) -> str:
        return ", ".join(f"{outcome}={rule}" for outcome, rule in self.rules.items())


@dataclass(frozen=True)
class Count:
    """What the user decided about attempts without a score; outcomes without a rule have every defensible one.

    Parameters
    ----------
    rules : mapping
        Outcome → ``wrong`` or ``drop``.
    missing_score : float, optional
        What ``wrong`` counts as where scores have no worst value.
    """

    rules: Mapping[str, str] = field(default_factory=dict)
    missing_score: float | None = None

    @classmethod
    def of(
        cls,
        count: str | Mapping[str, str] | None,
        missing_score: float | None = None,
        *,
        harness: Mapping[str, str] = {},
    ) -> Count:
        """What ``count`` says: ``"errored=wrong,unscored=drop"``, a mapping, or ``"harness"`` for what the harness itself does.

        Parameters
        ----------
        count : str or mapping, optional
            Outcome → rule.
        missing_score : float, optional
            See `Count`.
        harness : mapping
            What the harness counts as wrong; it drops the rest.
        """
        if count == "harness":
            return cls(dict.fromkeys(MISSING, "drop") | dict(harness), missing_score)
        if isinstance(count, str):
            parts = [part.partition("=") for part in count.split(",") if part.strip()]
            count = {outcome.strip(): rule.strip() for outcome, _, rule in parts}
        for outcome, rule in (count or {}).items():
            if outcome not in MISSING:
                raise OptionError.unknown("outcome to count", outcome, (*MISSING, "harness"))
            if rule not in RULES:
                raise OptionError.unknown(f"rule for {outcome}", rule, RULES)
        return cls(dict(count or {}), missing_score)


def defensible(there: Iterable[str], fixed: Mapping[str, str]) -> list[Policy]:
    """All defensible policies for the outcomes that are there, the main one first.

    A rule that the user fixed is the only one. The model's own failures count as wrong; other outcomes are dropped (in the main policy), and
    count as wrong (in others).

    Parameters
    ----------
    there : iterable of str
        Outcomes without a score that occur.
    fixed : mapping
        Outcome → the rule that the user chose.
    """
    names = [outcome for outcome in MISSING if outcome in set(there)]
    rules = [
        (fixed[name],) if name in fixed else ("wrong",) if name in OWN_FAILURES else ("drop", "wrong") for name in names
    ]
    return [Policy(dict(zip(names, chosen, strict=True))) for chosen in itertools.product(*rules)]


def counted_text(counts: Mapping[str, int]) -> str:
    """Counts by outcome in words, such as "7 errored, 2 unscored"."""
    return ", ".join(
        f"{counts[outcome]:,} {_WORDS.get(outcome, outcome)}" for outcome in MISSING if counts.get(outcome)
    )


_WORDS = {"limit": "ended by a limit"}
