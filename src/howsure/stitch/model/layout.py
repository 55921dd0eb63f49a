"""How scores and parameters lie in arrays, as the kernels read them.

All parameters are one vector θ: first each model's (capability, trait), then each benchmark's (difficulty, log slope, loading).
Trait and loading are there in two dimensions only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Fitted", "Floats", "Ints", "Layout", "Prior", "Rows"]

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


class Rows(NamedTuple):
    """The scores, sorted by model and then benchmark; one row per pair."""

    start: Ints  # the rows of model m are start[m] … start[m + 1]
    benchmark: Ints
    score: Floats
    floor: Floats  # per benchmark
    span: Floats  # per benchmark, ceiling minus floor
    dimensions: tuple[int, ...]  # (0,) or (0, 1): a tuple, so that the compiler knows how many and unrolls

    @property
    def layout(self) -> Layout:
        """Where each kind of parameter lies."""
        return Layout(len(self.start) - 1, len(self.floor), len(self.dimensions))

    @property
    def model(self) -> Ints:
        """Each row's model."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


class Prior(NamedTuple):
    """What is known beforehand of every parameter: a normal prior and a box; ``low == high`` fixes a parameter."""

    mean: Floats
    precision: Floats
    low: Floats
    high: Floats
    on_slope: bool  # the slopes' penalty is on the slope itself, not on its logarithm


class Fitted(NamedTuple):
    """Where the solver stopped."""

    theta: Floats
    cost: float
    gradient_norm: float  # largest component that is free to move
    iterations: int
    converged: bool


@dataclass(frozen=True)
class Layout:
    """Slices of θ, or of the last axis of many θ."""

    n_models: int
    n_benchmarks: int
    n_dimensions: int

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return self._benchmarks + self.n_benchmarks * (self.n_dimensions + 1)

    @property
    def capability(self) -> slice:
        """C, one a model."""
        return slice(0, self._benchmarks, self.n_dimensions)

    @property
    def trait(self) -> slice:
        """T, one a model, in two dimensions."""
        return slice(1, self._benchmarks, self.n_dimensions)

    @property
    def difficulty(self) -> slice:
        """D, one a benchmark."""
        return slice(self._benchmarks, None, self.n_dimensions + 1)

    @property
    def log_slope(self) -> slice:
        """Logarithm of a, one a benchmark."""
        return slice(self._benchmarks + 1, None, self.n_dimensions + 1)

    @property
    def loading(self) -> slice:
        """How much a benchmark asks of the trait, in two dimensions."""
        return slice(self._benchmarks + 2, None, self.n_dimensions + 1)

    @property
    def _benchmarks(self) -> int:
        return self.n_models * self.n_dimensions
