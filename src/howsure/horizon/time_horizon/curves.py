r"""Success as a logistic curve over log₂ minutes, one per model: the fit, its replicates, and where a curve crosses a success rate.

.. math:: P(\text{success}) = \sigma(\alpha + \beta \log_2 \text{minutes}), \qquad
          \log_2 h_q = \frac{\operatorname{logit} q - \alpha}{\beta}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from howsure.compute import replicate
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, State
from howsure.horizon.run_counts import ModelCounts
from howsure.horizon.time_horizon.kernels import (
    ABSENT,
    FITTED,
    N_KNOTS,
    NO_FAILURE,
    NO_SLOPE,
    NO_SUCCESS,
    SEPARATED,
    WEIBULL_SCALE,
    fit,
    fit_spline,
    fit_weibull,
    flattening,
    refit,
    spline_crossing,
    spline_height,
    spline_penalty,
)
from howsure.stats._arrays import Bools, Floats, Ints, t_quantile
from howsure.stats.replicates import hierarchical_weights, replicate_interval

__all__ = [
    "CURVES",
    "FAILED",
    "FARTHEST",
    "FEWEST_FAMILIES",
    "FEW_FAMILIES",
    "OUTCOMES",
    "RESAMPLES",
    "WEIGHTS",
    "FamilyErrors",
    "SuccessCurves",
    "Timed",
    "curve_minutes",
    "curve_success",
    "draw_curves",
    "family_errors",
    "family_horizon",
    "fewest_families",
    "fit_curves",
    "horizon",
    "in_minutes",
    "outcome_bounds",
    "over_families",
    "timed",
    "with_ends",
]

WEIGHTS = ("invsqrt", "equal", "task")
"""What counts alike: ``invsqrt`` a family of tasks counts as the root of its size, and its tasks alike; ``equal`` each run; ``task`` each task."""

CURVES = ("logistic", "weibull", "spline")
"""``logistic``: σ(α + β log₂ minutes); ``weibull``: exp(−(minutes/scale)^shape), a hazard of failure that changes with the length; ``spline``: log-odds that never rise, of any shape."""

FARTHEST = 1000
"""Doublings of a minute up to which a crossing is a number: floats end soon after."""

RESAMPLES = ("families", "hierarchy")
"""What replicates draw anew: ``families`` with all that belongs to them; ``hierarchy`` families, tasks in them, and runs of those, as METR does."""

FEWEST_FAMILIES = 4
"""Effective families that an interval needs."""

FEW_FAMILIES = 12
"""Effective families below which a note says that few determine a curve."""

_STEP = 1e-6  # of a numerical derivative
_GRID, _GRID_STEPS = 80, 30  # of the distribution of true lengths


_NODES, _MASSES = hermegauss(61)
_NORMAL = _NODES, _MASSES / _MASSES.sum()
"""Where and with what weights an average over a standard normal is taken."""


@dataclass(frozen=True, eq=False)
class Timed:
    """Counts on tasks of known length, with weights: what curves are fitted to.

    ``x`` is log₂ minutes of each task; ``weight`` that of all a model's runs at a task, adding up to 1 for each model; ``noise`` the standard
    deviation of each task's measured minutes around the true ones, in doublings (None: exact). ``cut`` is the weight of runs whose outcome is not known because a limit cut
    them (`counts.unknown`): with ``unknown_as`` failure it is part of `weight` and counts as failure, with ``unknown_as`` random it is no part of it, as if those runs succeeded as often as the others
    at tasks of that length.
    """

    counts: ModelCounts
    x: Floats
    weight: Floats
    regularisation: float
    noise: Floats | None = None
    cut: Floats | None = None
    unknown_as: str = "failure"

    @cached_property
    def lengths(self) -> Floats:
        """The expected true log₂ minutes of each task, given the measured ones (regression calibration)."""
        return self.x if self.noise is None else _true_lengths(self.x, self.noise)[0]

    @cached_property
    def unknown(self) -> Floats:
        """The variance of the true log₂ minutes around `lengths`, averaged over each model's runs."""
        if self.noise is None:
            return np.zeros(len(self.weight))
        return np.asarray(self.weight @ _true_lengths(self.x, self.noise)[1])

    @cached_property
    def rates(self) -> Floats:
        """Share of successes of each model at each task, among runs that `weight` includes; 0 where it never tried."""
        share = self.counts.successes / np.maximum(self.counts.n, 1)
        if self.counts.unknown is None or self.unknown_as == "failure":
            return share
        return np.asarray(share / np.maximum(1 - self.counts.unknown, 1e-12)).clip(0, 1)


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


def timed(
    counts: ModelCounts,
    *,
    weights: str = "invsqrt",
    regularisation: float = 1e-5,
    noise: ArrayLike = 0.0,
    unknown_as: str = "failure",
) -> Timed:
    """The counts on tasks whose minutes are known, weighted; `noise` is one standard deviation in doublings or one per task."""
    if weights not in WEIGHTS:
        raise OptionError.unknown("weights", weights, WEIGHTS)
    if not 0 <= regularisation < math.inf:
        raise OptionError(f"regularisation {regularisation:g} is not a number from 0 up; 1e-5 is next to none.")
    known = ~np.isnan(counts.minutes)
    if not known.any():
        raise InputError("No task has minutes, what an expert needs for it. Add the column minutes to the runs.")
    kept = counts if known.all() else counts.of_tasks(known)
    spread = np.broadcast_to(np.asarray(noise, dtype=np.float64), known.shape)[known]
    if not (np.isfinite(spread) & (spread >= 0)).all():
        raise OptionError(f"noise {np.min(spread):g} is not a number of doublings from 0 up.")
    found = Timed(
        kept,
        np.log2(kept.minutes),
        _weight(kept, weights),
        float(regularisation),
        spread.copy() if spread.any() else None,
    )
    if kept.unknown is None:
        return found
    weight, cut = found.weight, found.weight * kept.unknown
    if unknown_as == "random":
        total = np.maximum((weight - cut).sum(axis=1, keepdims=True), 1e-12)
        weight, cut = np.maximum(weight - cut, 0) / total, cut / total
    return replace(found, weight=weight, cut=cut, unknown_as=unknown_as)


def fit_curves(data: Timed, x: Floats | None = None) -> SuccessCurves:
    """A curve for each model; `x` gives tasks another length.

    Where the minutes are measured with error, the curve is that over true minutes: tasks have their expected lengths, and the slope is made
    steeper by what averaging over the rest of the error flattened it.
    """
    return _sharpened(_fit_all(data, data.lengths if x is None else x), data.unknown)


@dataclass(frozen=True, eq=False)
class FamilyErrors:
    r"""How sure one model's curve is, from what happens to it without each family of tasks: what intervals of horizons are made of.

    .. math:: V = \frac{F - 1}{F} \sum_f (\theta_{(f)} - \theta)(\theta_{(f)} - \theta)^T, \qquad
              F_\text{eff} = \frac{(\sum_f s_f)^2}{\sum_f s_f^2}, \qquad s_f = \operatorname{tr}(I^{-1} I_f)

    ``line`` is θ, intercept and slope; ``covariance`` is V, the jackknife over families, in which each family is left out and the curve is moved by one Newton step (the linearised cluster
    jackknife of MacKinnon, Nielsen and Webb 2023: a whole refit may be separated, and its slope then says nothing). ``n_effective`` is F_eff: with I the information, s is a family's
    share of it, so F_eff is the number of families of equal weight that would determine the curve as well. ``lost`` has, for each family without which no curve falls (no success, no
    failure or no falling slope), the share of successes among the other runs. ``unknown`` is the variance of the true lengths around those that were fitted.
    """

    line: Floats
    covariance: Floats
    n_effective: float
    lost: Floats
    curve: str
    unknown: float
    signs: tuple[Floats, Bools, Ints] | None = None

    @property
    def has_interval(self) -> bool:
        """Whether enough families determine the curve. Where tasks are separated, signs are counted instead."""
        return self.signs is not None or self.n_effective >= FEWEST_FAMILIES

    def ends(self, success_rate: float, level: float) -> tuple[float, float]:
        r"""The ends of an interval for the horizon, in log₂ minutes: the lengths at which success may equal the success rate.

        A length x is in the interval where a t test with F_eff − 1 degrees of freedom does not reject that the curve crosses the success rate there. Its ends are the roots of a
        quadratic (Fieller 1954), so the interval is skewed as the horizon is, and open where the slope may be 0. If the curve without one of the families lies below the
        success rate at every length, the lower end is open, and if it lies above, the upper end. Where short tasks always succeed and long ones never, no curve differs from the data, and the
        test is that of signs: a horizon below a length is rejected where the next k families all succeeded, with :math:`q^k \le (1 - level)/2`, and one above it where k
        failed, with :math:`(1 - q)^k \le (1 - level)/2`.

        Parameters
        ----------
        success_rate : float
            Between 0 and 1.
        level : float
            Coverage, between 0 and 1.

        Returns
        -------
        low, high : float
            −inf and inf where an end is open; NaN where too few families determine the curve.
        """
        if self.signs is not None:
            return _sign_ends(*self.signs, success_rate, level)
        if not self.has_interval:
            return math.nan, math.nan
        intercept, slope = self.line
        goal, aside = float(logit(success_rate)), 0.0
        if self.curve == "weibull":
            goal = math.log(-math.log(success_rate))
        elif self.unknown:
            # success at length x is q where α + β x = logit(q) · √(1 − β² v / 2.89), which moves with β too
            steep, nearby = (flattening(one, self.unknown) for one in (slope, slope * (1 + _STEP)))
            goal, aside = goal * steep, goal * (nearby - steep) / (slope * _STEP)
        gap, t = intercept + slope * aside - goal, t_quantile(level, self.n_effective - 1)
        (v00, v01), (_, v11) = t**2 * self.covariance
        square, half, rest = slope**2 - v11, slope * gap - v01, gap**2 - v00
        root = half**2 - square * rest
        low, high = -math.inf, math.inf
        if root >= 0:
            first, last = sorted((-half + sign * math.sqrt(root)) / square + aside for sign in (-1, 1))
            # where the slope may be 0, only the lengths between the roots are excluded, as too short or as too long
            is_open = square <= 0
            is_above = last < (goal - intercept) / slope
            low = last if is_open and is_above else -math.inf if is_open else first
            high = math.inf if is_open and is_above else first if is_open else last
        is_below = self.lost <= success_rate
        return -math.inf if is_below.any() else low, math.inf if (~is_below).any() else high


def family_errors(data: Timed, model: int, curve: str = "logistic") -> FamilyErrors | None:
    """How sure the curve of one model is; None where no curve falls.

    Parameters
    ----------
    data : Timed
        What the curve is fitted to.
    model : int
        Its row.
    curve : str
        ``logistic`` or ``weibull``.
    """
    x, good, bad, line, outcome = _parts(data, model)
    penalty = np.diag([0, data.regularisation])
    if outcome == FITTED and curve == "weibull":
        alpha, beta, outcome = fit_weibull(x, good, bad, len(x), data.regularisation, *line)
        line = alpha, beta
        penalty = penalty * WEIBULL_SCALE**2
    if outcome != FITTED:
        return None
    theta, weight, rates = np.array(line), good + bad, good / (good + bad)
    tried = (data.counts.n[model] > 0) & (data.weight[model] > 0)
    _, family = np.unique(data.counts.family[tried], return_inverse=True)
    member = np.eye(int(family.max()) + 1)[family]
    design = np.column_stack([np.ones(len(x)), x])
    eta = design @ theta
    if curve == "weibull":
        hazard = np.exp(np.clip(eta, -30, 3.5))
        odds = np.exp(-hazard) / np.maximum(-np.expm1(-hazard), 1e-15)
        pull, bend = hazard * (bad * odds - good), weight * hazard**2 * odds
    else:
        p = expit(eta)
        pull, bend = good - weight * p, weight * p * (1 - p)
    information = np.einsum("tf,t,ti,tj->fij", member, bend, design, design)
    scores, share = member.T @ (design * pull[:, None]), member.T @ weight
    parts = np.einsum("ij,fji->f", np.linalg.pinv(information.sum(axis=0) + penalty), information)
    signs = (x, rates == 1, family) if _is_separated(x, rates) else None
    # the weights of the other families are scaled up to 1, which the penalty feels
    without = information.sum(axis=0) - information + (1 - share)[:, None, None] * penalty
    moved = np.linalg.pinv(without, hermitian=True) @ (share[:, None] * (penalty @ theta) - scores)[:, :, None]
    n = np.ones((1, len(x)), dtype=np.int64)
    _, _, states = refit(
        1 - member.T, x, rates[None], n, weight[None], theta[None], data.regularisation, False, np.random.default_rng(0)
    )
    is_lost = np.isin(states[:, 0], (NO_SUCCESS, NO_FAILURE, NO_SLOPE))
    rest = (good.sum() - member.T @ good) / np.maximum(1 - share, 1e-300)
    return FamilyErrors(
        line=theta,
        covariance=(1 - 1 / len(share)) * np.einsum("fik,fjk->ij", moved, moved),
        n_effective=float(parts.sum() ** 2 / (parts**2).sum()),
        lost=rest[is_lost],
        curve=curve,
        unknown=0.0 if curve == "weibull" else float(data.unknown[model]),
        signs=signs,
    )


def fewest_families(counts: ModelCounts, models: Sequence[str] = ()) -> int:
    """The number of families that any model tried, or of the named models the one that tried fewest."""
    rows = [counts.n[counts.index(name)] for name in models] or [counts.n.sum(axis=0)]
    return min(len(np.unique(counts.family[n > 0])) for n in rows)


def _is_separated(x: Floats, rates: Floats) -> bool:
    """Whether all tasks up to some length always succeed, and all others never."""
    is_sure = np.isin(rates, (0.0, 1.0)).all()
    return bool(is_sure and x[rates == 1].max(initial=-np.inf) < x[rates == 0].min(initial=np.inf))


def _sign_ends(x: Floats, is_success: Bools, family: Ints, success_rate: float, level: float) -> tuple[float, float]:
    """The longest length from which on enough families succeeded, and the shortest up to which enough failed; infinite where there are too few."""
    tail = (1 - level) / 2
    ends = []
    for chosen, share, sign in ((is_success, success_rate, 1), (~is_success, 1 - success_rate, -1)):
        last = np.full(int(family.max()) + 1, -np.inf)
        np.maximum.at(last, family[chosen], sign * x[chosen])
        needed = math.ceil(math.log(tail) / math.log(share))
        ends.append(sign * float(np.sort(last)[-needed]) if needed <= len(last) else -sign * math.inf)
    return ends[0], ends[1]


def outcome_bounds(data: Timed, model: int, success_rate: float) -> tuple[tuple[float, Timed], tuple[float, Timed]]:
    r"""The shortest and the longest horizon that outcomes of one model's censored runs would give: log₂ minutes, and the data with these outcomes.

    Where `data.unknown_as` is failure, these runs may have failed or succeeded; where it is random, they may have failed or succeeded as often as the others. The horizon changes with the success rate of
    task t in the direction of :math:`c_0 + c_1 x_t`, where c does not depend on t. So it is longest, or shortest, where all censored runs at tasks below some length have the one
    outcome and all others the other: every such length is tried.

    Parameters
    ----------
    data : Timed
        With `cut`, the weight of unknown outcomes of each cell.
    model : int
        Its row.
    success_rate : float
        Between 0 and 1.

    Returns
    -------
    shortest, longest : tuple
        log₂ minutes with the data; −inf where success may lie below the success rate at every length, inf where it may lie above it.
    """
    assert data.cut is not None
    is_free, cut = data.unknown_as == "failure", data.cut[model]
    good = data.weight[model] * data.rates[model]
    bad = data.weight[model] - good - is_free * cut
    in_order = np.argsort(data.lengths, kind="stable")
    in_order = in_order[cut[in_order] > 0]
    found: list[tuple[float, Timed]] = []
    for first, last in ((1.0, 0.0), (0.0, 1.0)):
        for k in range(len(in_order) + 1):
            fails = np.zeros(len(cut))
            fails[in_order[:k]], fails[in_order[k:]] = first, last
            successes = good + is_free * (1 - fails) * cut
            whole = np.maximum(successes + bad + fails * cut, 0)
            changed = _with_outcomes(data, model, successes, whole)
            own = SuccessCurves(*(np.asarray(part) for part in _fit(changed, data.lengths, 0)))
            crossing = float(_sharpened(own, data.unknown[model]).log2_minutes(success_rate))
            if math.isnan(crossing):  # a curve that does not fall: success is above or below the rate at every length
                crossing = math.inf if successes.sum() > success_rate * whole.sum() else -math.inf
            found.append((crossing, changed))
    return min(found, key=lambda one: one[0]), max(found, key=lambda one: one[0])


def _with_outcomes(data: Timed, model: int, successes: Floats, whole: Floats) -> Timed:
    """The data of one model alone, with these weights of successes and of all runs."""
    counts, tried = data.counts, data.counts.n[model] > 0
    share = np.where(whole > 0, successes / np.maximum(whole, 1e-300), 0)
    own = replace(
        counts,
        models=counts.models[model : model + 1],
        successes=(share * tried)[None],
        n=np.where(whole > 0, tried, 0)[None],
        unknown=None,
    )
    return Timed(own, data.x, (whole / max(whole.sum(), 1e-300))[None], data.regularisation, data.noise)


def curve_minutes(data: Timed, curve: str, success_rate: float) -> Floats:
    """log₂ minutes at which each model's curve of another family crosses a success rate; states as in `SuccessCurves.log2_minutes`.

    ``weibull``: P = exp(−(minutes/scale)^shape); ``spline``: log-odds that fall along a monotone spline, which has no crossing beyond the tasks' lengths.
    """
    crossings = []
    for model in range(len(data.counts.models)):
        places, good, bad, start, outcome = _parts(data, model)
        crossing, state = math.nan, outcome
        if outcome == FITTED and curve == "weibull":
            alpha, beta, state = fit_weibull(places, good, bad, len(good), data.regularisation, *start)
            crossing = (math.log(-math.log(success_rate)) - alpha) / beta if state == FITTED else math.nan
        elif outcome == FITTED:
            crossing, state = spline_crossing(*_fit_spline(places, good, bad, start), success_rate)
        crossings.append({NO_SUCCESS: -math.inf, NO_FAILURE: math.inf}.get(state, crossing))
    return np.array(crossings)


def curve_success(data: Timed, curve: str, x: Floats) -> Floats:
    """Success of each model at log₂ minutes `x` by a curve of another family (`curve_minutes`); NaN without a falling curve."""
    found = np.full((len(data.counts.models), len(x)), np.nan)
    for model, own in enumerate(found):
        places, good, bad, start, outcome = _parts(data, model)
        if outcome != FITTED:
            continue
        if curve == "spline":
            theta, low, step = _fit_spline(places, good, bad, start)
            own[:] = expit([spline_height(theta, one, low, step) for one in x])
            continue
        alpha, beta, state = fit_weibull(places, good, bad, len(good), data.regularisation, *start)
        if state == FITTED:
            own[:] = np.exp(-np.exp(np.minimum(alpha + beta * x, 50)))
    return found


def _parts(data: Timed, model: int) -> tuple[Floats, Floats, Floats, tuple[float, float], int]:
    """Lengths and weights of successes and failures of one model's tasks, and its logistic curve, from which other curves start."""
    intercept, slope, outcome = _fit(data, data.lengths, model)
    tried = (data.counts.n[model] > 0) & (data.weight[model] > 0)
    good = data.weight[model, tried] * data.rates[model, tried]
    return data.lengths[tried], good, data.weight[model, tried] - good, (intercept, slope), outcome


def _fit_spline(places: Floats, good: Floats, bad: Floats, start: tuple[float, float]) -> tuple[Floats, float, float]:
    low = float(places.min())
    step = (float(places.max()) - low) / (N_KNOTS - 1)
    penalty = spline_penalty(good + bad, len(good))
    theta, _ = fit_spline(places, good, bad, len(good), low, step, penalty, *start)
    return theta, low, step


def _true_lengths(x: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of each true length given the measured one.

    The distribution of true lengths is estimated on a grid by expectation–maximisation from an even start, stopped early so that it stays smooth.
    """
    grid = np.linspace(x.min() - noise.max(), x.max() + noise.max(), _GRID)
    away = (x[:, None] - grid) / np.maximum(noise, 1e-6)[:, None]
    likely = np.exp(-(away**2 - (away**2).min(axis=1, keepdims=True)) / 2)
    share = np.full(_GRID, 1 / _GRID)
    for _ in range(_GRID_STEPS):
        given = likely * share
        given /= given.sum(axis=1, keepdims=True)
        share = given.mean(axis=0)
    mean = given @ grid
    is_exact = noise == 0
    return np.where(is_exact, x, mean), np.where(is_exact, 0, given @ grid**2 - mean**2)


def _sharpened(curves: SuccessCurves, unknown: Floats) -> SuccessCurves:
    if not unknown.any():
        return curves
    times = 1 / flattening(curves.slope, unknown)
    return replace(curves, intercept=curves.intercept * times, slope=curves.slope * times)


def _fit_all(data: Timed, x: Floats) -> SuccessCurves:
    found = [_fit(data, x, model) for model in range(len(data.counts.models))]
    intercept, slope, outcome = zip(*found, strict=True)
    return SuccessCurves(np.array(intercept), np.array(slope), np.array(outcome, dtype=np.int64))


def draw_curves(
    data: Timed,
    base: SuccessCurves,
    n: int,
    *,
    resample: str = "families",
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SuccessCurves:
    """The curves of `n` replicates, in which `resample` says what is resampled.

    Models share a replicate's tasks, so that differences between models are paired. `base` is where each refit starts.
    ``hierarchy`` counts the sampling error of tasks and runs twice, since families vary by it already: its percentiles are too wide.
    """
    if resample not in RESAMPLES:
        raise OptionError.unknown("resampling", resample, RESAMPLES)
    start = np.nan_to_num(np.column_stack([base.intercept, base.slope]))
    work = partial(_draw, data, start, resample == "hierarchy")
    drawn = SuccessCurves(*replicate(work, n, seed=seed, scheduler=scheduler, progress=progress))
    return _sharpened(drawn, data.unknown)


def _weight(counts: ModelCounts, weights: str) -> Floats:
    tried = (counts.n > 0).astype(np.float64)
    if weights == "equal":
        tried = counts.n.astype(np.float64)
    if weights == "invsqrt":
        member = np.eye(counts.family.max() + 1)[counts.family]
        tried /= np.sqrt(np.maximum(tried @ member @ member.T, 1))
    return np.asarray(tried / tried.sum(axis=1, keepdims=True))


def _fit(data: Timed, x: Floats, model: int) -> tuple[float, float, int]:
    tried = (data.counts.n[model] > 0) & (data.weight[model] > 0)
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
        data.lengths,
        data.rates * counts.n,
        counts.n,
        data.weight,
        start,
        data.regularisation,
        is_whole,
        rng,
    )
    return found


# Where a curve crosses a success rate, as an estimate: its interval, and the states of the value and of both ends.


OUTCOMES = {
    FITTED: "fitted",
    NO_SUCCESS: "no success",
    NO_FAILURE: "no failure",
    NO_SLOPE: "no slope",
    SEPARATED: "separated",
    ABSENT: "no runs",
}
"""What a fit can end in, by name."""

FAILED = tuple(OUTCOMES[kind] for kind in (NO_SLOPE, SEPARATED, ABSENT))
"""Outcomes of a replicate that could lie anywhere."""

_WHY: dict[int, tuple[State, str]] = {
    NO_SUCCESS: ("below_range", "no success in {:,} runs"),
    NO_FAILURE: ("above_range", "no failure in {:,} runs"),
    NO_SLOPE: ("undefined", "success does not fall with the length of tasks"),
    SEPARATED: ("undefined", "short tasks always succeed and long ones never; a regularisation above 0 gives a curve"),
}


def horizon(
    own: SuccessCurves,
    drawn: SuccessCurves | None,
    x: Floats,
    success_rate: float,
    level: float,
    n_runs: int,
    middle: float | None = None,
    errors: FamilyErrors | None = None,
) -> Estimate:
    """One model's horizon at a success rate between 0 and 1.

    ``x`` has log₂ minutes of its tasks; ``errors`` give its interval (`FamilyErrors.ends`), otherwise the replicates do and ``middle`` is the share of
    them that the interval contains, by default ``level``. Without success or without failure the value is the shortest or the longest task. A crossing beyond
    them is marked as extrapolated. Replicates without success or without failure lie below or above the range; those without a falling curve, and those
    that hold none of the model's runs, failed (see `stats.replicates`).
    """
    edges = float(2 ** x.min()), float(2 ** x.max())
    if own.outcome != FITTED:
        state, why = _WHY[int(own.outcome)]
        edge = {"below_range": edges[0], "above_range": edges[1]}.get(state)
        return Estimate.without(state, why.format(n_runs), value=edge, level=level)
    crossing = float(own.log2_minutes(success_rate))
    if np.isinf(crossing):
        return Estimate.without("unbounded", "the curve is almost flat", level=level)
    value = 2.0**crossing
    if errors is not None:
        return over_families(Estimate(value, level=level, reason=_beyond(value, edges)), errors, success_rate)
    # without replicates the interval is that of none: too few
    draws = np.empty(0) if drawn is None else drawn.log2_minutes(success_rate)
    found = replicate_interval(draws, middle or level)
    estimate = found.estimate(crossing, level=level, reason=_beyond(value, edges)).map(math.exp2)
    return replace(
        estimate,
        low=edges[0] if estimate.low_state == "below_range" and edges[0] < value else estimate.low,
        high=edges[1] if estimate.high_state == "above_range" and edges[1] > value else estimate.high,
    )


def over_families(found: Estimate, errors: FamilyErrors, success_rate: float) -> Estimate:
    """A horizon with the interval that its model's families give."""
    if not errors.has_interval:
        why = f"{errors.n_effective:.3g} effective families; an interval needs {FEWEST_FAMILIES}"
        reason = "; ".join(filter(None, (found.reason, why)))
        return replace(found, reason=reason, low_state="too_few", high_state="too_few")
    return with_ends(found, *errors.ends(success_rate, found.level))


def in_minutes(log2_minutes: Floats) -> Floats:
    """Minutes of their logarithms; NaN where there is none, or where floats end."""
    return np.asarray(np.exp2(np.where(np.abs(log2_minutes) <= FARTHEST, log2_minutes, np.nan)))


def with_ends(found: Estimate, low: float, high: float) -> Estimate:
    """An estimate with these ends in log₂ minutes; one that is infinite or beyond floats is open."""
    ends: list[tuple[float | None, State]] = [
        (2.0**end, "ok") if abs(end) <= FARTHEST else (None, "unbounded") for end in (low, high)
    ]
    (low_end, low_state), (high_end, high_state) = ends
    return replace(found, low=low_end, high=high_end, low_state=low_state, high_state=high_state)


def family_horizon(
    data: Timed, own: SuccessCurves, model: int, success_rate: float, level: float, errors: FamilyErrors | None
) -> tuple[Estimate, float | None, float | None]:
    """One model's horizon with its interval over families; and the shortest and longest horizon that outcomes of its censored runs allow, without sampling error.

    With censored runs the interval reaches from the lower end at the outcomes that make the horizon shortest to the upper end at those that make it longest (`outcome_bounds`); an end
    is open if too few families determine the curve with these outcomes.
    """
    n_runs = data.counts.n[model]
    found = horizon(own, None, data.x[n_runs > 0], success_rate, level, int(n_runs.sum()), errors=errors)
    if data.cut is None or not data.cut[model].any():
        return found, found.value, found.value
    bounds = outcome_bounds(data, model, success_rate)
    least, most = (2.0**crossing if math.isfinite(crossing) else None for crossing, _ in bounds)
    if found.state in ("below_range", "above_range") and bounds[0][0] != bounds[1][0]:
        why = f"{found.reason}, but the outcomes of runs that were cut are unknown"
        return Estimate.without("undefined", why, level=level), least, most
    if found.state != "ok" or "too_few" in (found.low_state, found.high_state):
        return found, least, most
    of_bounds = [family_errors(changed, 0) if math.isfinite(crossing) else None for crossing, changed in bounds]
    low, high = (
        one.ends(success_rate, level)[k] if one is not None and one.has_interval else (-math.inf, math.inf)[k]
        for k, one in enumerate(of_bounds)
    )
    low = min(low, -math.inf if found.low is None else math.log2(found.low))
    high = max(high, math.inf if found.high is None else math.log2(found.high))
    reason = "; ".join(filter(None, (found.reason, "some outcomes are unknown")))
    return with_ends(replace(found, reason=reason), low, high), least, most


def _beyond(value: float, edges: tuple[float, float]) -> str:
    if edges[0] <= value <= edges[1]:
        return ""
    kind, edge = ("shortest", edges[0]) if value < edges[0] else ("longest", edges[1])
    return f"extrapolated: the {kind} task takes {edge:.4g} min"
