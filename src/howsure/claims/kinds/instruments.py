"""What every kind of claim gives: its choices, and a function from specifications to fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from howsure.claims.claim_files import Claim
from howsure.claims.multiverse import Fits, TippingPoint
from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.results.choices import Choices, Specification
from howsure.stats._arrays import Floats

__all__ = ["FitSettings", "Instrument", "check_models", "decisive", "values_of"]


@dataclass(frozen=True)
class FitSettings:
    """How specifications are fitted: coverage, replicates, seed, a Dask scheduler, who is told of progress, and a folder that keeps
    slow fits for the next try.
    """

    level: float
    n_replicates: int
    seed: int
    scheduler: str | None = None
    progress: Callable[[int, int], None] | None = None
    keep: Path | None = None

    def tell(self, done: int, total: int) -> None:
        """Say how much is done."""
        if self.progress:
            self.progress(done, total)


Compute: TypeAlias = Callable[[Sequence[Specification], FitSettings], Fits]
"""One claim's quantity under each of several specifications, the default first."""


@dataclass(frozen=True)
class Instrument:
    """What one claim needs: its choices, and a function from specifications to fits. ``most_replicates`` are enough where refits are slow.

    ``identity`` gives equal values for specifications that come to the same analysis of the same data: these count once.
    """

    choices: Choices
    compute: Compute
    most_replicates: int | None = None
    identity: Callable[[Specification], object] | None = None

    def specifications(self, most: int, *, seed: int = 0) -> list[dict[str, str]]:
        """The specifications, each analysis once; see `Choices.specifications`."""
        every = self.choices.specifications(most, seed=seed)
        if self.identity is None:
            return every
        first: dict[object, dict[str, str]] = {}
        for one in every:
            first.setdefault(self.identity(one), one)
        return list(first.values())

    def fit(
        self,
        specifications: Sequence[Specification],
        *,
        level: float,
        n_replicates: int,
        seed: int,
        scheduler: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        keep: Path | None = None,
    ) -> Fits:
        """The claim's quantity under each specification, over draws that all of them share."""
        n = min(n_replicates, self.most_replicates or n_replicates)
        return self.compute(specifications, FitSettings(level, n, seed, scheduler, progress, keep))


def check_models(claim: Claim, names: Sequence[str], what: str = "model") -> None:
    """Refuse a name that is not among those of the data."""
    for name in claim.models:
        if name not in names:
            raise OptionError.unknown(what, name, names)


def values_of(estimates: Sequence[Estimate]) -> Floats:
    """Their values, NaN where there is none."""
    return np.array([np.nan if one.value is None else one.value for one in estimates])


def decisive(what: str, named: Sequence[str], n: int, *, holds: bool) -> TippingPoint:
    """The models, raters or benchmarks without any one of which the default estimate would cross the threshold.

    Parameters
    ----------
    what : str
        What one of them is.
    named : sequence of str
        Those that decide.
    n : int
        How many there are.
    holds : bool
        Whether the claim holds with all of them.
    """
    verb = "fails" if holds else "would hold"
    sentence = (
        f"The claim {verb} without the {what} {', or without '.join(named)}."
        if named
        else f"No single {what} of {n} decides it: without each of them the estimate stays on the same side."
    )
    return TippingPoint(f"decisive {what}s", float(len(named)), sentence)
