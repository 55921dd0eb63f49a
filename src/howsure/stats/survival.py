"""Survival analysis: how long something lasts when some of it was still going on at the last look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, State
from howsure.stats._arrays import Bools, Floats, Ints, aligned, check_level, finite, normal_quantile, t_quantile
from howsure.stats.means import mean, score_bounds
from howsure.stats.permutation import TestResult

__all__ = [
    "FrailtyFit",
    "SurvivalCurve",
    "bounded_mean",
    "fit_frailty",
    "incidence_values",
    "kaplan_meier",
    "likely_hazards",
    "log_rank",
    "restricted_mean",
    "restricted_values",
]

_LARGEST_EXPONENT = 300.0  # of a cumulative hazard; nothing survives it, and the square of larger ones is no float
_PRIORS = np.array([0.0, 1.0, 1.5**-2])  # 1 / variance of the normal priors of a hazard's (a, log k, θ)


@dataclass(frozen=True)
class SurvivalCurve:
    """The share that lasts beyond each time, with its interval there: a step at each of ``times``, flat in between.

    ``at_risk`` counts those that lasted to the time or beyond, ``events`` those that ended at it.
    """

    times: Floats
    survival: Floats
    low: Floats
    high: Floats
    at_risk: Ints
    events: Ints
    level: float

    @property
    def n(self) -> int:
        """How many were observed."""
        return int(self.at_risk[0])

    def at(self, time: float) -> Estimate:
        """The share that lasts beyond ``time``; after the last observation at most the share there."""
        if time < 0:
            raise OptionError(f"time {time} is before the beginning. Give a time from 0.")
        step = int(np.searchsorted(self.times, time, side="right")) - 1
        if step < 0:
            return Estimate(1.0, _score(1.0, self.n, normal_quantile(self.level))[0], 1.0, self.level)
        value, low, high = self.survival[step], self.low[step], self.high[step]
        if time > self.times[-1] and value > 0:
            return Estimate(
                value, 0.0, high, self.level, "below_range", f"nobody was observed beyond {self.times[-1]:g}"
            )
        return Estimate(value, low, high, self.level)

    def median(self) -> Estimate:
        """The time that half do not outlast: the first at which the curve is at most ½.

        The interval contains the times whose own interval contains ½ (Brookmeyer and Crowley 1982).
        """
        last, is_sure_of_start = float(self.times[-1]), (self.at(0).low or 0.0) > 0.5
        value, high = _first_at_most_half(self.times, self.survival), _first_at_most_half(self.times, self.high)
        low = _first_at_most_half(self.times, self.low) if is_sure_of_start else 0.0
        if value is None:
            reason = f"more than half lasted to the last observation at {last:g}"
            low_state: State = "above_range" if low is None else "ok"
            low = last if low is None else low
            return Estimate(last, low, None, self.level, "above_range", reason, low_state, "above_range")
        return Estimate(value, low, high, self.level, high_state="above_range" if high is None else "ok")


def kaplan_meier(times: ArrayLike, observed: ArrayLike, *, level: float = 0.95) -> SurvivalCurve:
    r"""The share that lasts beyond each time, where ``observed`` is false for those still going on at theirs.

    .. math:: S(t) = \prod_{t_i \le t} \Big(1 - \frac{d_i}{r_i}\Big)

    with d ends among r at risk; whoever is censored at a time is still at risk at it. The interval at each time is Wilson's with the
    effective size (1 − S) / (S Σ d/(r(r − d))) from Greenwood's variance (Rothman 1978): it holds near its level for ten
    observations and is not empty where S is 1 or 0, as log and log-log intervals are.
    """
    check_level(level)
    times, observed = _checked(times, observed)
    steps, at_risk, events = _risk_table(times, observed)
    survival = np.cumprod(1 - events / at_risk, dtype=np.float64)
    n_effective = _effective(survival, at_risk, events)
    low, high = score_bounds(survival, n_effective, normal_quantile(level))
    return SurvivalCurve(steps, survival, low, high, at_risk, events, level)


def restricted_mean(
    times: ArrayLike, observed: ArrayLike, limit: float, clusters: Any = None, *, level: float = 0.95
) -> Estimate:
    r"""The mean time up to ``limit``: the area under the survival curve.

    .. math:: \int_0^L S, \qquad se^2 = \frac{n}{n-1} \sum_{t_i \le L} \frac{d_i}{r_i (r_i - d_i)} \Big(\int_{t_i}^L S\Big)^2

    Parameters
    ----------
    times, observed : array
        As in `kaplan_meier`.
    limit : float
        L, above 0.
    clusters : labels, optional
        Observations that belong together; without it each stands alone.
    level : float
        Coverage of the interval.

    Returns
    -------
    Estimate
        With the interval of `bounded_mean`, which equals that of a mean between 0 and ``limit`` where nothing is censored before.
        Observation that ends earlier leaves only a lower end (state ``above_range``).
    """
    if limit <= 0:
        raise OptionError(f"limit {limit} leaves no time. Give one above 0.")
    curve = kaplan_meier(times, observed, level=level)
    last = float(curve.times[-1])
    if limit > last and curve.survival[-1] > 0:
        part = bounded_mean(restricted_values(times, observed, last), clusters, last, level=level)
        reason = f"observation ends at {last:g}, before {limit:g}"
        return Estimate(part.value, part.low, None, level, "above_range", reason, high_state="above_range")
    return bounded_mean(restricted_values(times, observed, limit), clusters, limit, level=level)


def restricted_values(
    times: ArrayLike,
    observed: ArrayLike,
    limit: float,
    transform: Callable[[Floats], Floats] = lambda times: times,
    *,
    tail: float = 0.0,
) -> Floats:
    r"""What each observation adds to the mean of min(T, ``limit``) under censoring: pseudo-values whose mean is the area under the curve.

    .. math:: v_i = \theta - n \sum_u A(u) \frac{dN_i(u) - Y_i(u)\, d_u/r_u}{r_u - d_u}, \qquad A(u) = \int_u^L g'(s) S(s)\,ds

    (the infinitesimal jackknife of the Kaplan–Meier estimate θ of E g(min(T, L))). Where nothing is censored before ``limit``, v is g(min(T, L)) itself, so that
    whatever is done with a mean of independent or clustered observations can be done with v. Beyond the last observation the curve is
    taken to stay as it is. ``transform`` is g, by default the time itself. ``tail`` is what g gains beyond ``limit``, on average, in those that last to it.
    """
    times, observed = _checked(times, observed)
    steps, at_risk, events = _risk_table(times, observed)
    is_before = steps < limit
    edges = transform(np.concatenate([[0.0], np.where(is_before, steps, limit), [limit]]))
    survival = np.concatenate([[1.0], np.cumprod(1 - np.where(is_before, events, 0) / at_risk)])
    pieces = np.diff(edges) * survival
    pieces[-1] += survival[-1] * tail
    after = pieces[::-1].cumsum()[::-1][1:]
    total = float(edges[0] + pieces.sum())
    return total - len(times) * _excesses(np.where(is_before, after, 0.0), times, observed)


def incidence_values(times: ArrayLike, observed: ArrayLike, is_cause: ArrayLike) -> Floats:
    """What each observation adds to the share that ends by one cause under censoring: pseudo-values whose mean is Aalen and Johansen's estimate.

    ``is_cause`` marks observed ends by the cause. Where nothing is censored, the values are ``is_cause`` itself.
    """
    times, observed = _checked(times, observed)
    cause = np.asarray(is_cause, dtype=np.bool_) & observed
    steps, at_risk, events = _risk_table(times, observed)
    place = np.searchsorted(steps, times)
    before = np.concatenate([[1.0], np.cumprod(1 - events / at_risk)[:-1]])
    hazard = np.bincount(place[cause], minlength=len(steps)) / at_risk
    later = (before * hazard)[::-1].cumsum()[::-1] - before * hazard
    share = float((before * hazard).sum())
    direct = (before / at_risk)[place] * cause - (before * hazard / at_risk).cumsum()[place]
    return np.asarray(share + len(times) * (direct - _excesses(later, times, observed)))


def bounded_mean(values: ArrayLike, clusters: Any, limit: float, *, level: float = 0.95) -> Estimate:
    """The mean of pseudo-values (`restricted_values`) between 0 and ``limit``, with a score interval over clusters.

    As `howsure.stats.means.mean` within bounds, which it is where all values lie between them; but single pseudo-values may lie outside.
    """
    values = finite(values, "values")
    if (values >= 0).all() and (values <= limit).all():
        return mean(values, clusters, level=level, bounds=(0.0, limit)).estimate
    found = mean(values, clusters, level=level, bounds=None)
    value = found.estimate.value
    if value is None or found.df is None:
        return found.estimate
    share = min(max(value / limit, 0.0), 1.0)
    if not (found.se and 0 < share < 1):
        return mean(np.clip(values, 0.0, limit), clusters, level=level, bounds=(0.0, limit)).estimate
    low, high = _score(share, share * (1 - share) / (found.se / limit) ** 2, t_quantile(level, found.df))
    return Estimate(share * limit, low * limit, high * limit, level)


@dataclass(frozen=True)
class FrailtyFit:
    r"""A hazard that is a power of the time, times a factor in which observations differ: gamma distributed with mean 1 and variance θ.

    .. math:: S(t) = \big(1 + \theta \Lambda(t)\big)^{-1/\theta}, \qquad \Lambda(t) = e^a (t / u)^k

    Without differences (θ = 0) it is Weibull's, :math:`S = e^{-\Lambda}`. With them those that last are those with a low hazard, and the hazard of all falls with the time
    though that of each may be constant or rise. ``log_scale`` is a, ``log_shape`` log k, ``variance`` θ and ``unit`` u; each may be an array, for several hazards at once.
    ``covariance`` is that of (a, log k, θ); where θ is 0, which is the end of its range, as if θ were known.
    """

    log_scale: Any
    log_shape: Any
    variance: Any
    unit: float
    covariance: Floats

    def cumulative(self, times: ArrayLike) -> tuple[Floats, Floats]:
        """−log S at times from 0, and its derivatives by (a, log k, θ) along a last axis; with arrays of parameters, one row per hazard."""
        times = np.asarray(times, dtype=np.float64) / self.unit
        logs = np.log(times, out=np.zeros(len(times)), where=times > 0)
        scale, shape, variance = (
            np.asarray(one, dtype=np.float64)[..., None] for one in (self.log_scale, self.log_shape, self.variance)
        )
        shape = np.exp(shape)
        own = np.where(times > 0, np.exp(np.minimum(scale + shape * logs, _LARGEST_EXPONENT)), 0.0)
        spread = variance * own
        is_small = spread < 1e-4  # where the formula is a difference of nearly equal numbers, its first terms
        divisor = np.where(is_small, 1.0, variance)
        total = np.where(is_small, own * (1 - spread / 2), np.log1p(spread) / divisor)
        by_scale = own / (1 + spread)
        by_variance = np.where(is_small, own**2 * (2 * spread / 3 - 0.5), (by_scale - total) / divisor)
        return total, np.stack([by_scale, shape * logs * by_scale, by_variance], axis=-1)

    def moved(self, log_scale: Any, log_shape: Any, variance: Any) -> FrailtyFit:
        """Hazards with other parameters."""
        return replace(self, log_scale=log_scale, log_shape=log_shape, variance=variance)


def fit_frailty(at_risk: ArrayLike, events: ArrayLike) -> FrailtyFit:
    r"""The hazard of events in the periods 1, 2, …, each a binomial with the probability :math:`1 - S(t) / S(t-1)`.

    Maximum likelihood by Fisher's scoring, with normal priors around 0 on log k (standard deviation 1) and on θ (1.5, from 0 up): a few events that happen to lie close together
    would otherwise give any shape, and a few that last long any variance. There must be an event.
    """
    if not np.sum(events) > 0:
        raise InputError("events: none. A hazard needs at least one.")
    table = _merged(at_risk, events)
    found = FrailtyFit(0.0, 0.0, 0.0, float(np.sum(at_risk) / np.sum(events)), np.eye(3))
    for _ in range(200):
        score, information = _scores(found, *table)
        parameters = np.array([found.log_scale, found.log_shape, found.variance])
        is_free = np.array([True, True, found.variance > 0 or score[2] > 0])
        step = np.zeros(3)
        step[is_free] = np.linalg.solve(information[np.ix_(is_free, is_free)], score[is_free])
        step /= max(1.0, np.abs(step).max())  # far from the maximum a whole step may leave the range of floats
        after = parameters + step
        after[2] = max(after[2], 0.0)
        found = found.moved(*after.tolist())
        if np.abs(after - parameters).max() < 1e-9:
            break
    covariance = np.zeros((3, 3))
    covariance[np.ix_(is_free, is_free)] = np.linalg.inv(information[np.ix_(is_free, is_free)])
    return replace(found, covariance=covariance)


def likely_hazards(fit: FrailtyFit, at_risk: ArrayLike, events: ArrayLike, drop: float) -> FrailtyFit:
    """Hazards around the region whose log-likelihood (with the priors of `fit_frailty`) is at most ``drop`` below the largest, as one `FrailtyFit` with arrays.

    The smallest and the largest value of anything in the region are its profile likelihood interval, which needs no symmetry and no second derivative: with half of a χ²
    quantile as ``drop`` it has that level. The region is searched on a grid of (log k, θ) that grows until it contains it; at each point a goes as far as the likelihood allows.
    """
    table = _merged(at_risk, events)
    _, information = _scores(fit, *table)
    reach = np.sqrt(2 * drop * np.diag(np.linalg.inv(information)))
    shapes, variances = (
        np.array([middle - 1.2 * far, middle + 1.2 * far])
        for middle, far in zip((fit.log_shape, fit.variance), reach[1:], strict=True)
    )
    best = float(_log_likelihood(fit, *table)[0])
    for _ in range(8):
        variances[0] = max(variances[0], 0.0)
        grid = np.meshgrid(
            np.linspace(shapes[0], shapes[1], 17), np.linspace(variances[0], variances[1], 13), indexing="ij"
        )
        around = fit.moved(np.full(17 * 13, fit.log_scale), *(part.ravel() for part in grid))
        for _ in range(20):
            score, information = _scores(around, *table)
            step = np.clip(score[:, 0] / information[:, 0, 0], -1, 1)
            around = replace(around, log_scale=around.log_scale + step)
            if np.abs(step).max() < 1e-3:
                break
        left = _log_likelihood(around, *table) - best + drop
        is_inside = (left >= 0).reshape(17, 13)
        over = (
            [is_inside[0].any(), is_inside[-1].any()],
            [is_inside[:, 0].any() and variances[0] > 0, is_inside[:, -1].any()],
        )
        for ends, (is_low, is_high) in zip((shapes, variances), over, strict=True):
            ends[:] = ends + np.multiply([-0.5, 0.5], [is_low, is_high]) * np.ptp(ends)
        if not np.any(over):
            break
    far = np.sqrt(2 * left[left >= 0] / information[left >= 0, 0, 0])
    inside = [part[left >= 0] for part in (around.log_scale, around.log_shape, around.variance)]
    scales = np.concatenate([[fit.log_scale], inside[0] - far, inside[0] + far])
    return fit.moved(
        scales,
        *(
            np.concatenate([[own], part, part])
            for own, part in zip((fit.log_shape, fit.variance), inside[1:], strict=True)
        ),
    )


def _merged(at_risk: ArrayLike, events: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Ends of periods from 0 on, those at risk and events; periods in a row with the same at risk and without an event are one."""
    at_risk, events = np.asarray(at_risk, dtype=np.float64), np.asarray(events, dtype=np.float64)
    is_end = (events > 0) | np.append(events[1:] > 0, True) | np.append(np.diff(at_risk) != 0, True)
    ends = np.flatnonzero(is_end & (at_risk > 0))
    return np.append(0.0, ends + 1.0), at_risk[ends], events[ends]


def _growth(fit: FrailtyFit, times: Floats) -> tuple[Floats, Floats]:
    """What −log S gains from one time to the next, and its derivatives."""
    total, slopes = fit.cumulative(times)
    return np.clip(np.diff(total), 1e-12, _LARGEST_EXPONENT), np.diff(slopes, axis=-2)


def _scores(fit: FrailtyFit, times: Floats, at_risk: Floats, events: Floats) -> tuple[Floats, Floats]:
    """Score and information of (a, log k, θ) with their priors, one per hazard."""
    growth, slopes = _growth(fit, times)
    odds = 1 / np.expm1(growth)
    score = ((events * (1 + odds) - at_risk)[..., None, :] @ slopes)[..., 0, :]
    pull = _PRIORS * np.stack([fit.log_scale, fit.log_shape, fit.variance], axis=-1)
    information = np.swapaxes(slopes, -1, -2) @ (slopes * (at_risk * odds)[..., None])
    return score - pull, information + np.diag(_PRIORS)


def _log_likelihood(fit: FrailtyFit, times: Floats, at_risk: Floats, events: Floats) -> Floats:
    growth, _ = _growth(fit, times)
    data = (events * np.log(-np.expm1(-growth)) - (at_risk - events) * growth).sum(axis=-1)
    return np.atleast_1d(
        data - np.square(np.stack([fit.log_scale, fit.log_shape, fit.variance], axis=-1)) @ _PRIORS / 2
    )


def log_rank(*groups: tuple[ArrayLike, ArrayLike]) -> TestResult:
    """Whether groups last equally long: observed against expected ends in each, summed over times (Mantel 1966).

    Each group is its ``(times, observed)``. ``statistic`` is χ² with one degree of freedom less than groups, ``n`` all observations.
    """
    if len(groups) < 2:
        raise OptionError(
            f"{len(groups)} groups leave nothing to compare. Give at least 2 pairs of times and observed."
        )
    pairs = [_checked(*group) for group in groups]
    steps = np.unique(np.concatenate([times[observed] for times, observed in pairs]))
    at_risk = np.array([len(times) - _count_below(times, steps) for times, _ in pairs])
    ended = [times[observed] for times, observed in pairs]
    events = np.array([_count_below(times, steps, "right") - _count_below(times, steps) for times in ended])
    excess, covariance = _excess(at_risk, events)
    statistic = float(excess[1:] @ np.linalg.pinv(covariance[1:, 1:]) @ excess[1:])
    n = sum(len(times) for times, _ in pairs)
    return TestResult(float(chdtrc(len(groups) - 1, statistic)), statistic, n, f"log-rank, {len(groups)} groups")


def _checked(times: ArrayLike, observed: ArrayLike) -> tuple[Floats, Bools]:
    times, seen = aligned(times=times, observed=observed)
    if not len(times):
        raise InputError("times: none. Give at least one observation.")
    if (times < 0).any():
        raise InputError(f"times: {times.min():g} at position {times.argmin()} is before 0. Count from the beginning.")
    if not np.isin(seen, (0, 1)).all():
        raise InputError("observed: not only true and false. Give true for an end, false for one still going on.")
    return times, seen.astype(np.bool_)


def _risk_table(times: Floats, observed: Bools) -> tuple[Floats, Ints, Ints]:
    """Distinct times, how many reach each and how many end at it."""
    steps, step, leaving = np.unique(times, return_inverse=True, return_counts=True)
    at_risk = leaving[::-1].cumsum()[::-1]
    return steps, at_risk, np.bincount(step[observed], minlength=len(steps))


def _excesses(weights: Floats, times: Floats, observed: Bools) -> Floats:
    """Σ_u w(u) (dN_i(u) − Y_i(u) d_u/r_u) / (r_u − d_u) of each observation; a step at which all end has no weight."""
    steps, at_risk, events = _risk_table(times, observed)
    left = at_risk - events
    scaled = np.divide(weights, left, out=np.zeros(len(steps)), where=left > 0)
    place = np.searchsorted(steps, times)
    return np.asarray(scaled[place] * observed - (scaled * events / at_risk).cumsum()[place])


def _effective(survival: Floats, at_risk: Ints, events: Ints) -> Floats:
    """How many trials would give the same variance; those at risk before the first end, the last known after all have ended."""
    hazard = _greenwood(at_risk, events).cumsum()
    is_inside = (survival > 0) & (survival < 1)
    size = at_risk.astype(np.float64)
    size[is_inside] = (1 - survival[is_inside]) / (survival[is_inside] * hazard[is_inside])
    gone = int((survival > 0).sum())
    if gone < len(size):
        size[gone:] = size[gone - 1] if gone and is_inside[gone - 1] else size[gone]
    return size


def _greenwood(at_risk: Ints, events: Ints) -> Floats:
    """Terms d / (r(r − d)) of Greenwood's sum; 0 where all end, since nothing lasts beyond."""
    left = at_risk - events
    return np.divide(events, at_risk * left, out=np.zeros(len(events)), where=left > 0)


def _score(share: float, n: float, quantile: float) -> tuple[float, float]:
    low, high = score_bounds(share, n, quantile)
    return float(low), float(high)


def _first_at_most_half(times: Floats, curve: Floats) -> float | None:
    below = curve <= 0.5 + 1e-12
    return float(times[np.argmax(below)]) if below.any() else None


def _count_below(times: Floats, steps: Floats, side: Literal["left", "right"] = "left") -> Ints:
    """How many times lie before each step (with ``right``, at it too)."""
    return np.searchsorted(np.sort(times), steps, side)


def _excess(at_risk: Ints, events: Ints) -> tuple[Floats, Floats]:
    """Ends beyond the expected in each group, and their covariance under equal hazards."""
    all_at_risk, all_events = at_risk.sum(axis=0), events.sum(axis=0)
    share = at_risk / all_at_risk
    excess = (events - all_events * share).sum(axis=1)
    scale = all_events * (all_at_risk - all_events) / np.maximum(all_at_risk - 1, 1)
    return excess, np.diag((scale * share).sum(axis=1)) - (scale * share) @ share.T
