r"""Success as a logistic curve over log₂ minutes, one per model: the fit, its replicates, and where a curve crosses a success rate.

.. math:: P(\text{success}) = \sigma(\alpha + \beta \log_2 \text{minutes}), \qquad
          \log_2 h_q = \frac{\operatorname{logit} q - \alpha}{\beta}
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, logit

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


_NODES, _MASSES = hermegauss(61)
_NORMAL = _NODES, _MASSES / _MASSES.sum()
"""Where and with what weights an average over a standard normal is taken."""


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
    """Intercepts, slopes and outcomes of fits (see `time_kernels`): the last axis is the model, one before it the replicate.

    ``spread`` is the standard deviation of what single tasks add to the log-odds, over which the curve is an average, and ``ceiling`` the
    success that it approaches at short tasks; None stands for 0 and for 1.
    """

    intercept: Floats
    slope: Floats
    outcome: Ints
    spread: Floats | None = None
    ceiling: Floats | None = None

    @property
    def typical(self) -> SuccessCurves:
        """The curves at a task of typical difficulty, instead of the average over tasks."""
        return replace(self, spread=None)

    def success(self, x: Floats) -> Floats:
        """Success at log₂ minutes `x`: a last axis beside those of the curves."""
        eta = self.intercept[..., None] + self.slope[..., None] * x
        p = expit(eta) if self.spread is None else averaged_logistic(eta, self.spread[..., None])
        return np.asarray(p if self.ceiling is None else p * self.ceiling[..., None])

    def log2_minutes(self, success_rate: float) -> Floats:
        """Where the curves cross a success rate between 0 and 1: −∞ without success, ∞ without failure, NaN where no curve falls.

        A crossing beyond what floats can hold in minutes (an all but flat curve) lies beyond the range as well, and so does a success rate
        above the ceiling.
        """
        rate = success_rate if self.ceiling is None else success_rate / self.ceiling
        with np.errstate(invalid="ignore", divide="ignore"):
            crossing = (averaged_logit(rate, self.spread) - self.intercept) / self.slope
        crossing = np.where(np.abs(crossing) > FARTHEST, np.copysign(np.inf, crossing), crossing)
        crossing = np.where(self.outcome == FITTED, crossing, np.nan)
        crossing = np.where(self.outcome == NO_SUCCESS, -np.inf, crossing)
        return np.where(self.outcome == NO_FAILURE, np.inf, crossing)

    def of(self, model: int) -> SuccessCurves:
        """One model's."""
        parts = (self.intercept, self.slope, self.outcome, self.spread, self.ceiling)
        return SuccessCurves(*(None if part is None else part[..., model] for part in parts))  # type: ignore[arg-type]


def averaged_logistic(eta: Floats, spread: Floats | float) -> Floats:
    """The mean of σ(η + spread · z) over standard normal z."""
    at, weight = _NORMAL
    return np.asarray(expit(np.asarray(eta)[..., None] + np.asarray(spread)[..., None] * at) @ weight)


def averaged_logit(rate: Floats | float, spread: Floats | None) -> Floats:
    """The log-odds η at which `averaged_logistic` is `rate`: ∞ for a rate of 1 or more."""
    eta = logit(np.minimum(rate, 1.0))
    if spread is None:
        return np.asarray(eta)
    eta = eta * np.sqrt(1 + spread**2 / 2.89)  # a probit's answer, from which Newton needs few steps
    at, weight = _NORMAL
    for _ in range(50):
        p = expit(eta[..., None] + spread[..., None] * at)
        with np.errstate(invalid="ignore", divide="ignore"):
            step = np.where(np.isfinite(eta), (p @ weight - rate) / (p * (1 - p) @ weight), 0.0)
        eta = eta - np.clip(step, -2, 2)
        if np.abs(step).max(initial=0) < 1e-12:
            break
    return np.asarray(eta)


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
