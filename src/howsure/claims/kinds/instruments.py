"""What every kind of claim gives: its choices, and a function from specifications to fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from howsure.claims.claim_files import Claim
from howsure.claims.multiverse import Fits
from howsure.errors import OptionError
from howsure.results.choices import Choices, Specification

__all__ = ["ClaimFitting", "Instrument", "Progress", "check_models"]

Progress = Callable[[int, int], None]


class ClaimFitting(Protocol):
    """One claim's quantity under each of several specifications, the default first."""

    def __call__(
        self,
        specifications: Sequence[Specification],
        *,
        level: float,
        n_replicates: int,
        seed: int,
        scheduler: str | None = None,
        progress: Progress | None = None,
    ) -> Fits:
        """The fits, over draws that all specifications share."""


@dataclass(frozen=True)
class Instrument:
    """What one claim needs: its choices, and a function from specifications to fits. ``most_replicates`` are enough where refits are slow."""

    choices: Choices
    fit: ClaimFitting
    most_replicates: int | None = None


def check_models(claim: Claim, names: Sequence[str], what: str = "model") -> None:
    """Refuse a name that is not among those of the data."""
    for name in claim.models:
        if name not in names:
            raise OptionError.unknown(what, name, names)
