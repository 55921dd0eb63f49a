r"""Where a curve of the model's success over the tasks' difficulty for novices crosses the level: like a time horizon, in attempts.

.. math:: p_t = \sigma(a + b \log_2 N_t), \qquad n^*_q = 2^{(\operatorname{logit} q - a)/b}

N_t is the attempt on which half of the novices succeed at task t, read off its rising curve. Where they start above one half N_t lies below 1, and where
they never reach it, above the last attempt: then log₂ N_t is integrated over what a normal distribution of the tasks' difficulties, fitted to all
of them, leaves on that side. Every task counts alike, however often the model tried it. A slope b that is not negative has no horizon, and one
beyond the hardest task is only known to lie there.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, logit, logsumexp

from howsure.compiled import kernel
from howsure.horizon.attempt_horizon.definitions import Drawn, Model
from howsure.horizon.attempt_horizon.definitions.matching import made_up_to, reach, rise
from howsure.stats._arrays import Floats, Ints

__all__ = ["UNDEFINED", "difficulties", "horizons", "last_attempt", "log_likelihood", "spread_likelihood"]

UNDEFINED = "success does not fall with the attempts that novices need, or fewer than 3 tasks need more than one and not more than all"

TARGET = 0.5
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)
_REACH = 4.0  # standard deviations that the integral covers
_FEWEST = 3  # tasks with a difficulty between the first and the last attempt
_PRECISION = 0.01  # of a normal prior on b: separated tasks have no finite slope
_MOST_STEPS = 60
_LONGEST_STEP = 10.0  # in a and b together: log-odds of 10 are certainty


def horizons(drawn: Drawn, model: Model, levels: Floats) -> Floats:
    """The horizon in attempts, (replicates, levels)."""
    tried = model.n > 0
    places, last = difficulties(drawn.successes[:, tried], drawn.trials[:, tried])
    lines = _fit_all(
        places, last, np.ascontiguousarray(drawn.weights[:, tried]), model.successes[tried], model.n[tried]
    )
    intercept, slope = lines.T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        n = np.exp2((logit(levels) - intercept[:, None]) / slope[:, None])
    n[~(slope < 0)] = np.nan
    n[n < 1] = -np.inf
    n[n > np.exp2(_hardest(places, last))[:, None]] = np.inf
    return np.asarray(n)


def last_attempt(drawn: Drawn, model: Model) -> float:
    """N_t of the hardest task that the model tried, or the last attempt where novices never half do it: beyond, a line is a guess."""
    tried = model.n > 0
    return float(np.exp2(_hardest(*difficulties(drawn.successes[:1, tried], drawn.trials[:1, tried]))[0]))


def difficulties(successes: Floats, trials: Floats) -> tuple[Floats, Floats]:
    """log₂ N_t in each replicate, (replicates, tasks), ±∞ beyond the first or last attempt, and log₂ of each task's last attempt."""
    last = made_up_to(trials[0])
    return _places(np.ascontiguousarray(successes), np.ascontiguousarray(trials), last), np.log2(last)


def log_likelihood(line: Floats, places: Floats, last: Floats, weights: Floats, won: Floats, n: Floats) -> float:
    """What a fit of a and b makes as large as it can; in numpy, for one replicate."""
    mean, sd = _spread(places, last, weights)
    total = -_PRECISION / 2 * line[1] ** 2
    for t in range(len(places)):
        x, log_mass = _plain_nodes(places[t], last[t], mean, sd)
        eta = line[0] + line[1] * x
        total += weights[t] / n[t] * logsumexp(log_mass + won[t] * eta - n[t] * np.logaddexp(0, eta))
    return float(total)


def spread_likelihood(mean: float, sd: float, places: Floats, last: Floats, weights: Floats) -> float:
    """What the fit of the difficulties' distribution makes as large as it can; in numpy."""
    inside = np.isfinite(places)
    edges = np.where(places < 0, (0 - mean) / sd, (mean - last) / sd)
    density = -(((np.where(inside, places, 0) - mean) / sd) ** 2) / 2 - np.log(sd)
    return float(weights @ np.where(inside, density, log_ndtr(edges)))


def _hardest(places: Floats, last: Floats) -> Floats:
    return np.asarray(np.minimum(places, last).clip(0).max(axis=1))


@kernel
def _places(successes: Floats, trials: Floats, last: Ints) -> Floats:
    places = np.empty(successes.shape[:2])
    for replicate in range(successes.shape[0]):
        for t in range(successes.shape[1]):
            seen = trials[replicate, t, : last[t]]
            curve = rise(successes[replicate, t, : last[t]] / seen, seen)
            n = reach(curve, TARGET)
            places[replicate, t] = math.log2(n) if math.isfinite(n) else n
    return places


# Scalars throughout: numba takes seconds to compile what numpy would say in a line of small arrays.


@kernel
def _fit_all(places: Floats, last: Floats, weights: Floats, won: Floats, n: Floats) -> Floats:
    """The line of each replicate, (replicates, 2): a is infinite where the model always succeeds, or never."""
    lines = np.full((len(places), 2), np.nan)
    x, mass = np.zeros((len(won), len(_NODES))), np.zeros((len(won), len(_NODES)))
    for r in range(len(places)):
        share, total, n_inside = 0.0, 0.0, 0
        for t in range(len(won)):
            share += weights[r, t] * won[t] / n[t]
            total += weights[r, t]
            n_inside += weights[r, t] > 0 and math.isfinite(places[r, t])
        if share == 0.0 or share > (1 - 1e-12) * total:
            lines[r, 0], lines[r, 1] = (math.inf if share > 0 else -math.inf), -1.0
        elif n_inside >= _FEWEST:
            mean, sd = _spread(places[r], last, weights[r])
            _lay_nodes(places[r], last, mean, sd, x, mass)
            lines[r, 0], lines[r, 1] = _fit(x, mass, weights[r], won, n)
    return lines


@kernel
def _fit(x: Floats, mass: Floats, weights: Floats, won: Floats, n: Floats) -> tuple[float, float]:
    """The line by Newton's method on the likelihood, integrated over the difficulties that are only known to lie beyond an end."""
    a, b, size = 0.0, 0.0, 1.0
    value, up, along = _step(a, b, x, mass, weights, won, n)
    for _ in range(_MOST_STEPS):
        reached, next_up, next_along = _step(a + size * up, b + size * along, x, mass, weights, won, n)
        if reached < value - 1e-10 * abs(value):
            size /= 2
            continue
        a, b = a + size * up, b + size * along
        value, up, along, size = reached, next_up, next_along, 1.0
        if abs(up) + abs(along) < 1e-9:
            break
    return a, b


@kernel
def _step(
    a: float, b: float, x: Floats, mass: Floats, weights: Floats, won: Floats, n: Floats
) -> tuple[float, float, float]:
    """The value at a line and a step upwards: Newton's, or where the likelihood is not concave, that of the expected complete curvature."""
    value, by_a, by_b = -_PRECISION / 2 * b * b, 0.0, -_PRECISION * b
    aa, ab, bb, full_aa, full_ab, full_bb = 0.0, 0.0, _PRECISION, 0.0, 0.0, _PRECISION
    for t in range(len(x)):
        w = weights[t] / n[t]
        if w == 0.0:
            continue
        log_likelihood, g0, g1, h0, h1, h2, s0, s1, s2 = _of_task(a, b, x[t], mass[t], won[t], n[t])
        value += w * log_likelihood
        by_a += w * g0
        by_b += w * g1
        full_aa += w * h0
        full_ab += w * h1
        full_bb += w * h2
        aa += w * (h0 - s0 + g0 * g0)
        ab += w * (h1 - s1 + g0 * g1)
        bb += w * (h2 - s2 + g1 * g1)
    if not (aa > 0 and aa * bb - ab * ab > 1e-12 * aa * bb):
        aa, ab, bb = full_aa, full_ab, full_bb
    determinant = aa * bb - ab * ab
    if not determinant > 0.0:
        return (
            -math.inf,
            0.0,
            0.0,
        )  # every success is all but certain or impossible: the step that led here was too long
    up, along = (bb * by_a - ab * by_b) / determinant, (aa * by_b - ab * by_a) / determinant
    shorter = min(
        1.0, _LONGEST_STEP / (abs(up) + abs(along) + 1e-300)
    )  # curvature next to 0 asks for a step of any length
    return value, shorter * up, shorter * along


@kernel
def _of_task(
    a: float, b: float, x: Floats, mass: Floats, won: float, n: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """A task's log-likelihood, and over its possible difficulties the means of slope (2), curvature (3) and squared slope (3)."""
    top = -math.inf
    for j in range(len(x)):
        if mass[j] > 0:
            top = max(top, _log_chance(a + b * x[j], won, n))
    total, g0, g1, h0, h1, h2, s0, s1, s2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(len(x)):
        if mass[j] == 0.0:
            continue
        eta = a + b * x[j]
        share = mass[j] * math.exp(_log_chance(eta, won, n) - top)
        shrunk = math.exp(-abs(eta))
        p = (1.0 if eta >= 0 else shrunk) / (1.0 + shrunk)
        miss, curve = won - n * p, n * p * (1 - p)
        total += share
        g0 += share * miss
        g1 += share * miss * x[j]
        h0 += share * curve
        h1 += share * curve * x[j]
        h2 += share * curve * x[j] * x[j]
        s0 += share * miss * miss
        s1 += share * miss * miss * x[j]
        s2 += share * (miss * x[j]) ** 2
    value = top + math.log(total)
    return value, g0 / total, g1 / total, h0 / total, h1 / total, h2 / total, s0 / total, s1 / total, s2 / total


@kernel
def _log_chance(eta: float, won: float, n: float) -> float:
    return won * eta - n * (max(eta, 0.0) + math.log1p(math.exp(-abs(eta))))


@kernel
def _lay_nodes(places: Floats, last: Floats, mean: float, sd: float, x: Floats, mass: Floats) -> None:
    """Write where each task's difficulty may lie, and with what mass; one place where it is known."""
    for t in range(len(places)):
        mass[t, :] = 0.0
        if math.isfinite(places[t]):
            x[t, 0], mass[t, 0] = places[t], 1.0
            continue
        if places[t] < 0:
            low, high = min(mean, 0.0) - _REACH * sd, 0.0
        else:
            low, high = last[t], max(mean, last[t]) + _REACH * sd
        nearest = min(max(mean, low), high)
        total = 0.0
        for j in range(len(_NODES)):
            x[t, j] = low + (high - low) * (_NODES[j] + 1) / 2
            far = ((x[t, j] - mean) ** 2 - (nearest - mean) ** 2) / (2 * sd * sd)
            mass[t, j] = _NODE_WEIGHTS[j] * math.exp(-far)
            total += mass[t, j]
        for j in range(len(_NODES)):
            mass[t, j] /= total


def _plain_nodes(place: float, last: float, mean: float, sd: float) -> tuple[Floats, Floats]:
    """The same for one task in numpy, finely and with logarithms of the mass."""
    if np.isfinite(place):
        return np.array([place]), np.zeros(1)
    ends = (min(mean, 0.0) - _REACH * sd, 0.0) if place < 0 else (last, max(mean, last) + _REACH * sd)
    x = np.linspace(*ends, 4001)
    logs = -(((x - mean) / sd) ** 2) / 2
    logs[[0, -1]] -= math.log(2)
    return x, logs - logsumexp(logs)


@kernel
def _spread(places: Floats, last: Floats, weights: Floats) -> tuple[float, float]:
    """Mean and standard deviation of the normal distribution of difficulties, by maximum likelihood.

    In δ = mean/sd and η = 1/sd the likelihood is concave (Olsen 1978), so Newton's method with halved steps finds it.
    """
    delta, eta, size = 0.5, 0.7, 1.0
    value, up, along = _spread_step(delta, eta, places, last, weights)
    for _ in range(_MOST_STEPS):
        if eta + size * along <= 0:
            size /= 2
            continue
        reached, next_up, next_along = _spread_step(delta + size * up, eta + size * along, places, last, weights)
        if reached < value - 1e-10 * abs(value):
            size /= 2
            continue
        delta, eta = delta + size * up, eta + size * along
        value, up, along, size = reached, next_up, next_along, 1.0
        if abs(up) + abs(along) < 1e-8:
            break
    return delta / eta, min(max(1 / eta, 0.05), 20.0)


@kernel
def _spread_step(delta: float, eta: float, places: Floats, last: Floats, weights: Floats) -> tuple[float, float, float]:
    """The value at δ and η, and Newton's step."""
    value, by_delta, by_eta, dd, de, ee = 0.0, 0.0, 0.0, 1e-6, 0.0, 1e-6
    for t in range(len(places)):
        w = weights[t]
        if math.isfinite(places[t]):
            at, z = places[t], eta * places[t] - delta
            value += w * (math.log(eta) - z * z / 2)
            slope, curve = z, 1.0
            by_eta += w / eta
            ee += w / eta**2
        else:
            side, at = (1.0, 0.0) if places[t] < 0 else (-1.0, last[t])
            z = side * (eta * at - delta)
            log_mass, ratio = _log_ndtr(z)
            value += w * log_mass
            slope, curve = -side * ratio, ratio * (z + ratio)
        by_delta += w * slope
        by_eta -= w * slope * at
        dd += w * curve
        de -= w * curve * at
        ee += w * curve * at * at
    determinant = dd * ee - de * de
    return value, (ee * by_delta - de * by_eta) / determinant, (dd * by_eta - de * by_delta) / determinant


@kernel
def _log_ndtr(z: float) -> tuple[float, float]:
    """Logarithm of Φ(z), and φ(z)/Φ(z); far below zero by their asymptotic series."""
    if z > -25.0:
        mass = math.erfc(-z / math.sqrt(2.0)) / 2
        return math.log(mass), math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / mass
    ratio = -z + 1 / -z
    return -z * z / 2 - math.log(math.sqrt(2 * math.pi) * ratio), ratio
