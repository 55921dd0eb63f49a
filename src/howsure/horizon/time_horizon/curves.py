r"""Success as a logistic curve over log₂ minutes, one per model: the fit, its replicates, and where a curve crosses a success rate.

.. math:: P(\text{success}) = \sigma(\alpha + \beta \log_2 \text{minutes}), \qquad
          \log_2 h_q = \frac{\operatorname{logit} q - \alpha}{\beta}
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from howsure.compute import replicate
from howsure.errors import InputError, OptionError
from howsure.horizon.run_counts import ModelCounts
from howsure.horizon.time_horizon.kernels import FITTED, NO_FAILURE, NO_SUCCESS, fit, refit
from howsure.stats._arrays import Floats, Ints, check_level
from howsure.stats.bootstrap import hierarchical_weights
from howsure.stats.replicates import expanded_level

__all__ = [
    "FARTHEST",
    "RESAMPLES",
    "WEIGHTS",
    "SuccessCurves",
    "Timed",
    "draw_curves",
    "fit_curves",
    "middle_of",
    "timed",
]

WEIGHTS = ("invsqrt", "equal", "task")
"""What counts alike: ``invsqrt`` a family of tasks counts as the root of its size, and its tasks alike; ``equal`` each run; ``task`` each task."""

FARTHEST = 1000
"""Doublings of a minute up to which a crossing is a number: floats end soon after."""

RESAMPLES = ("hierarchy", "families")
"""What replicates draw anew: ``hierarchy`` families, tasks in them, and runs of those; ``families`` alone, with all that belongs to them."""


@dataclass(frozen=True, eq=False)
class Timed:
    """Counts on tasks of known length, with weights: what curves are fitted to.

    ``x`` is log₂ minutes of each task; ``weight`` that of all a model's runs at a task, adding up to 1 for each model.
    """

    counts: ModelCounts
    x: Floats
    weight: Floats
    regularisation: float

    @cached_property
    def rates(self) -> Floats:
        """Share of successes of each model at each task; 0 where it never tried."""
        return self.counts.successes / np.maximum(self.counts.n, 1)


@dataclass(frozen=True, eq=False)
class SuccessCurves:
    """Intercepts, slopes and outcomes of fits (see `time_kernels`): the last axis is the model, one before it the replicate."""

    intercept: Floats
    slope: Floats
    outcome: Ints

    def log2_minutes(self, success_rate: float) -> Floats:
        """Where the curves cross a success rate between 0 and 1: −∞ without success, ∞ without failure, NaN where no curve falls.

        A crossing beyond what floats can hold in minutes (an all but flat curve) lies beyond the range as well.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            crossing = (math.log(success_rate / (1 - success_rate)) - self.intercept) / self.slope
        crossing = np.where(np.abs(crossing) > FARTHEST, np.copysign(np.inf, crossing), crossing)
        crossing = np.where(self.outcome == FITTED, crossing, np.nan)
        crossing = np.where(self.outcome == NO_SUCCESS, -np.inf, crossing)
        return np.where(self.outcome == NO_FAILURE, np.inf, crossing)

    def of(self, model: int) -> SuccessCurves:
        """One model's."""
        return SuccessCurves(self.intercept[..., model], self.slope[..., model], self.outcome[..., model])


def timed(counts: ModelCounts, *, weights: str = "invsqrt", regularisation: float = 1e-5) -> Timed:
    """The counts on tasks whose minutes are known, weighted."""
    if weights not in WEIGHTS:
        raise OptionError.unknown("weights", weights, WEIGHTS)
    if not 0 <= regularisation < math.inf:
        raise OptionError(f"regularisation {regularisation:g} is not a number from 0 up; 1e-5 is next to none.")
    known = ~np.isnan(counts.minutes)
    if not known.any():
        raise InputError("No task has minutes, what an expert needs for it. Add the column minutes to the runs.")
    kept = counts if known.all() else counts.of_tasks(known)
    return Timed(kept, np.log2(kept.minutes), _weight(kept, weights), float(regularisation))


def fit_curves(data: Timed, x: Floats | None = None) -> SuccessCurves:
    """A curve for each model; `x` gives tasks another length."""
    x = data.x if x is None else x
    found = [_fit(data, x, model) for model in range(len(data.counts.models))]
    intercept, slope, outcome = zip(*found, strict=True)
    return SuccessCurves(np.array(intercept), np.array(slope), np.array(outcome, dtype=np.int64))


def draw_curves(
    data: Timed,
    base: SuccessCurves,
    n: int,
    *,
    resample: str = "hierarchy",
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SuccessCurves:
    """The curves of `n` replicates, in which `resample` says what is resampled.

    Models share a replicate's tasks, so that differences between models are paired. `base` is where each refit starts.
    ``hierarchy`` counts the chance of tasks and runs twice, since families vary by it already: its intervals are rather too wide. Those of
    ``families`` are right where there are many.
    """
    if resample not in RESAMPLES:
        raise OptionError.unknown("resampling", resample, RESAMPLES)
    start = np.nan_to_num(np.column_stack([base.intercept, base.slope]))
    work = partial(_draw, data, start, resample == "hierarchy")
    return SuccessCurves(*replicate(work, n, seed=seed, scheduler=scheduler, progress=progress))


def middle_of(level: float, resample: str, n_families: int) -> float:
    """The share of replicates that an interval of this level holds.

    With ``families`` alone more than `level`, as a t interval is wider than a normal one (Hesterberg 2015, "expanded percentiles").
    """
    check_level(level)
    if resample == "hierarchy" or n_families < 2:
        return level
    return expanded_level(level, n_families - 1)


def _weight(counts: ModelCounts, weights: str) -> Floats:
    tried = (counts.n > 0).astype(np.float64)
    if weights == "equal":
        tried = counts.n.astype(np.float64)
    if weights == "invsqrt":
        member = np.eye(counts.family.max() + 1)[counts.family]
        tried /= np.sqrt(np.maximum(tried @ member @ member.T, 1))
    return np.asarray(tried / tried.sum(axis=1, keepdims=True))


def _fit(data: Timed, x: Floats, model: int) -> tuple[float, float, int]:
    tried = data.counts.n[model] > 0
    weight, rate = data.weight[model, tried], data.rates[model, tried]
    good = weight * rate
    found: tuple[float, float, int] = fit(x[tried], good, weight - good, len(good), data.regularisation, 0.0, 0.0)
    return found


def _draw(
    data: Timed,
    start: Floats,
    is_whole: bool,  # noqa: FBT001
    rng: np.random.Generator,
    size: int,
) -> tuple[Floats, Floats, Ints]:
    counts = data.counts
    levels = [counts.family, np.arange(len(data.x))] if is_whole else [counts.family]
    drawn = hierarchical_weights(levels, size, rng)
    found: tuple[Floats, Floats, Ints] = refit(
        drawn,
        data.x,
        counts.successes.astype(np.int64),
        counts.n,
        data.weight,
        start,
        data.regularisation,
        is_whole,
        rng,
    )
    return found
