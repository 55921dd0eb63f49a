"""What fixes the scale: capability has no unit of its own, so two numbers are free to choose.

Adding a constant to all capabilities and difficulties, or stretching both and dividing the slopes, leaves every expected
score as it was. A constraint makes the choice, in the estimate and in each replicate alike.

An anchor benchmark is itself an estimate: its error moves all models together and stretches the scale, and shrinkage makes the fitted unit too small. The mean and the standard deviation of
many models are nearly free of both (mean–sigma linking), so that capabilities far from the anchor have intervals that cover as stated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from howsure.errors import OptionError
from howsure.stitch.model.problem import Floats, Layout, Problem

__all__ = [
    "Aligned",
    "AnchorBenchmark",
    "AnchorModels",
    "Constraint",
    "ReferenceModels",
    "align",
    "choose_constraint",
    "hold_reference",
    "linked",
    "most_used",
]

_LEAST_RELIABILITY = 0.5


@dataclass(frozen=True, eq=False)
class Aligned:
    """Parameters on the reported scale; leading axes are replicates. In one dimension traits and loadings are None."""

    capability: Floats
    difficulty: Floats
    slope: Floats
    trait: Floats | None = None
    loading: Floats | None = None

    def shares(self, of: Aligned, m: int) -> Floats:
        """How far from floor to ceiling model m, as it is in `of`, comes on each of these curves."""
        eta = self.slope * (of.capability[..., m, None] - self.difficulty)
        if self.loading is not None and of.trait is not None:
            eta = eta + self.loading * of.trait[..., m, None]
        share: Floats = expit(eta)
        return share


@dataclass(frozen=True)
class AnchorBenchmark:
    """The scale on which one benchmark has a given difficulty and slope."""

    benchmark: int
    difficulty: float = 0.0
    slope: float = 1.0

    def stretch(self, theta: Floats, at: Layout) -> tuple[Floats, Floats]:
        """What is subtracted and multiplied before `difficulty` is added."""
        slope = np.exp(theta[..., at.log_slope][..., self.benchmark])
        return theta[..., at.difficulty][..., self.benchmark], slope / self.slope

    @property
    def origin(self) -> float:
        """The reported value of what is subtracted."""
        return self.difficulty


@dataclass(frozen=True)
class AnchorModels:
    """The scale on which two models have given capabilities."""

    low: int
    high: int
    low_value: float
    high_value: float

    def stretch(self, theta: Floats, at: Layout) -> tuple[Floats, Floats]:
        """The same; where the models do not come out in their order there is no such scale, and all is NaN."""
        capability = theta[..., at.capability]
        apart = capability[..., self.high] - capability[..., self.low]
        with np.errstate(divide="ignore"):
            factor = np.where(apart > 0, (self.high_value - self.low_value) / apart, np.nan)
        return capability[..., self.low], factor

    @property
    def origin(self) -> float:
        """The reported value of what is subtracted."""
        return self.low_value


@dataclass(frozen=True)
class ReferenceModels:
    """The scale on which some models have a given mean and standard deviation of their capabilities."""

    models: tuple[int, ...]
    mean: float
    sd: float

    def stretch(self, theta: Floats, at: Layout) -> tuple[Floats, Floats]:
        """The same; where the models are all equally capable there is no such scale, and all is NaN."""
        capability = theta[..., at.capability][..., list(self.models)]
        spread = capability.std(axis=-1)
        with np.errstate(divide="ignore"):
            factor = np.where(spread > 0, self.sd / spread, np.nan)
        return capability.mean(axis=-1), factor

    def reliability(self, theta: Floats, estimate: Floats, at: Layout) -> Floats:
        """Squared correlation of these models' capabilities in refits with those in the estimate, at least a half: few models tell it badly."""
        refit, own = (one[..., at.capability][..., list(self.models)] for one in (theta, estimate))
        refit, own = refit - refit.mean(axis=-1, keepdims=True), own - own.mean()
        with np.errstate(divide="ignore", invalid="ignore"):
            r = (refit @ own) / np.sqrt((refit**2).sum(axis=-1) * (own @ own))
        found: Floats = np.maximum(np.maximum(r, 0.0) ** 2, _LEAST_RELIABILITY)
        return found

    @property
    def origin(self) -> float:
        """The reported value of what is subtracted."""
        return self.mean


Constraint: TypeAlias = AnchorBenchmark | AnchorModels | ReferenceModels


def align(constraint: Constraint, theta: Floats, at: Layout, *, refit_of: Floats | None = None) -> Aligned:
    """The parameters of one θ, or of many, on the constraint's scale.

    ``refit_of`` is the estimate of which they are refits. Errors spread the capabilities of a refit more than those of the estimate, and those of the estimate more than the true ones. One standard
    deviation for all would therefore draw the refits towards the mean while the true values lie further out than the estimate; the squared correlation of refit and estimate says by how much.
    """
    shift, factor = constraint.stretch(theta, at)
    if refit_of is not None and isinstance(constraint, ReferenceModels):
        factor = factor / constraint.reliability(theta, refit_of, at)
    shift, factor = np.asarray(shift)[..., None], np.asarray(factor)[..., None]
    return Aligned(
        constraint.origin + (theta[..., at.capability] - shift) * factor,
        constraint.origin + (theta[..., at.difficulty] - shift) * factor,
        np.exp(theta[..., at.log_slope]) / factor,
        *((theta[..., at.trait], theta[..., at.loading]) if at.n_dimensions == 2 else ()),
    )


def hold_reference(constraint: Constraint, theta: Floats, at: Layout, models: Sequence[int]) -> ReferenceModels:
    """The scale of another constraint in the estimate ``theta``, held by the mean and spread of these models in all refits."""
    capability = align(constraint, theta, at).capability[list(models)]
    return ReferenceModels(tuple(models), float(capability.mean()), float(capability.std()))


def linked(values: Floats, theirs: Floats, ours: Floats) -> Floats:
    """Values in another unit: moved and stretched as ``theirs`` must be to have the mean and the standard deviation of ``ours`` (mean–sigma linking); leading axes are replicates."""
    centre, spread = theirs.mean(axis=-1, keepdims=True), theirs.std(axis=-1, keepdims=True)
    moved: Floats = ours.mean() + (values - centre) * (ours.std() / spread)
    return moved


def choose_constraint(
    problem: Problem,
    anchor: str | None,
    anchor_difficulty: float,
    anchor_slope: float,
    anchor_models: Mapping[str, float] | None,
) -> Constraint:
    """The constraint that was asked for; without any, the benchmark that most models have."""
    if anchor_models is not None:
        if anchor is not None:
            raise OptionError("anchor and anchor_models both fix the scale; give one of them.")
        return _by_models(problem, anchor_models)
    if anchor_slope <= 0:
        raise OptionError(f"anchor_slope is {anchor_slope:g}; a slope is above 0.")
    index = most_used(problem) if anchor is None else _anchor_at(problem, anchor)
    return AnchorBenchmark(index, anchor_difficulty, anchor_slope)


def most_used(problem: Problem) -> int:
    """The benchmark that most models have, of those on which models differ, and rather none that orders them in reverse of the others."""
    at, n = problem.benchmark, len(problem.benchmarks)
    low, high = np.full((2, n), np.inf) * [[1.0], [-1.0]]
    np.minimum.at(low, at, problem.score)
    np.maximum.at(high, at, problem.score)
    used = np.where(low < high, problem.n_by_benchmark, 0)
    above_mean = problem.score - (np.bincount(at, problem.score, n) / problem.n_by_benchmark)[at]
    own = above_mean / np.where(low < high, high - low, 1.0)[at]
    others = np.bincount(problem.model, own)[problem.model] - own
    in_order = np.where(np.bincount(at, own * others, n) >= 0, used, 0)
    return int((in_order if in_order.any() else used).argmax())


def _anchor_at(problem: Problem, anchor: str) -> int:
    if anchor not in problem.benchmarks:
        raise OptionError.unknown("benchmark to anchor the scale", anchor, problem.benchmarks)
    index = problem.benchmarks.index(anchor)
    scores = problem.score[problem.benchmark == index]
    if len(np.unique(scores)) < 2:
        raise OptionError(
            f"{anchor} cannot anchor the scale, since its {len(scores)} scores are all {scores[0]:g}; choose another benchmark."
        )
    return index


def _by_models(problem: Problem, anchor_models: Mapping[str, float]) -> AnchorModels:
    if len(anchor_models) != 2:
        raise OptionError(f"anchor_models names {len(anchor_models)} models; two fix a scale.")
    for name in anchor_models:
        if name not in problem.models:
            raise OptionError.unknown("model to anchor the scale", name, problem.models)
    (low, low_value), (high, high_value) = sorted(anchor_models.items(), key=lambda item: item[1])
    if low_value == high_value:
        raise OptionError(f"anchor_models gives {low} and {high} the same value {low_value:g}; give two.")
    return AnchorModels(problem.models.index(low), problem.models.index(high), low_value, high_value)
