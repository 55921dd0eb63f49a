r"""Novices and the model on one scale of difficulty, for unequal designs.

.. math:: \operatorname{logit} P_t(n) = \gamma \ln n - d_t, \qquad \operatorname{logit} p_t = \theta - d_t, \qquad
          n^*_q = e^{(\theta - \operatorname{logit} q)/\gamma}

γ is how fast novices learn, d_t the difficulty of task t, θ the model's ability. n* at 50 % is the attempt on which a novice does what the model
does, at every task; at level q it is the attempt on which novices succeed half the time at tasks where the model succeeds with chance q.
One curve serves all tasks, so a task that only novices tried, or that few tried often, still informs it; where that curve is
wrong, so is n*. There is none where novices do not learn (γ ≤ 0).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logit

from howsure.compiled import kernel
from howsure.horizon.attempt_horizon.definitions import Drawn, Model
from howsure.stats._arrays import Floats

__all__ = ["UNDEFINED", "abilities", "horizons", "last_attempt", "log_likelihood"]

UNDEFINED = "novices do not get better with practice"

_PRECISION = 0.01  # of normal priors around 0 on d and θ: a task or a model without failure has no finite one
_MOST_STEPS = 50


def horizons(drawn: Drawn, model: Model, levels: Floats) -> Floats:
    """The horizon in attempts, (replicates, levels)."""
    theta, gamma = abilities(drawn, model).T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        n = np.exp((theta[:, None] - logit(levels)) / gamma[:, None])
    n[gamma <= 0] = np.nan
    n[n < 1] = -np.inf
    n[n > last_attempt(drawn, model)] = np.inf
    return np.asarray(n)


def last_attempt(drawn: Drawn, model: Model) -> int:
    """The last attempt that somebody made on any task."""
    return int(np.flatnonzero((drawn.trials[0] > 0).any(axis=0)).max()) + 1


def abilities(drawn: Drawn, model: Model) -> Floats:
    """θ and γ of each replicate, (replicates, 2)."""
    return np.asarray(_fit_all(*(np.ascontiguousarray(part, np.float64) for part in (*drawn, *model))))


def log_likelihood(drawn: Drawn, model: Model, replicate: int, theta: float, gamma: float, difficulty: Floats) -> float:
    """What a fit makes as large as it can, with the priors; in numpy."""

    def fit(won: Floats, n: Floats, eta: Floats) -> Floats:
        return np.asarray(won * eta - n * np.logaddexp(0, eta))

    log_n = np.log(np.arange(1, drawn.trials.shape[2] + 1))
    people = fit(drawn.successes[replicate], drawn.trials[replicate], gamma * log_n - difficulty[:, None]).sum(axis=1)
    runs = fit(model.successes, model.n, theta - difficulty)
    prior = _PRECISION / 2 * (theta**2 + (difficulty**2).sum())
    return float(drawn.weights[replicate] @ (people + runs) - prior)


@kernel
def _fit_all(successes: Floats, trials: Floats, weights: Floats, won: Floats, n: Floats) -> Floats:
    fitted = np.empty((len(weights), 2))
    theta, gamma, difficulty = 0.0, 0.5, np.zeros(len(won))
    for replicate in range(len(weights)):
        theta, gamma = _fit(
            successes[replicate], trials[replicate], weights[replicate], won, n, theta, gamma, difficulty
        )
        fitted[replicate, 0], fitted[replicate, 1] = theta, gamma
    return fitted


@kernel
def _fit(
    successes: Floats, trials: Floats, weights: Floats, won: Floats, n: Floats, theta: float, gamma: float, d: Floats
) -> tuple[float, float]:
    """Newton's steps, halved where they overshoot; leaves the difficulties in `d`."""
    move, next_move, trial = np.empty(len(d)), np.empty(len(d)), np.empty(len(d))
    value, up, faster = _step(successes, trials, weights, won, n, theta, gamma, d, move)
    size = 1.0
    for _ in range(_MOST_STEPS):
        for t in range(len(d)):
            trial[t] = d[t] + size * move[t]
        at = theta + size * up, gamma + size * faster
        reached, next_up, next_faster = _step(successes, trials, weights, won, n, at[0], at[1], trial, next_move)
        if reached < value - 1e-10 * abs(value):
            size /= 2
            continue
        theta, gamma, value, up, faster, size = at[0], at[1], reached, next_up, next_faster, 1.0
        for t in range(len(d)):
            d[t], move[t] = trial[t], next_move[t]
        if abs(up) + abs(faster) < 1e-9:
            break
    return theta, gamma


@kernel
def _step(
    successes: Floats,
    trials: Floats,
    weights: Floats,
    won: Floats,
    n: Floats,
    theta: float,
    gamma: float,
    d: Floats,
    move: Floats,
) -> tuple[float, float, float]:
    """The value here and Newton's step in θ and γ; that in the difficulties is written to `move`.

    Each difficulty meets only θ and γ, so it is eliminated, and two equations remain.
    """
    value, by_theta, by_gamma = -_PRECISION / 2 * theta**2, -_PRECISION * theta, 0.0
    tt, tg, gg = _PRECISION, 0.0, 1e-9
    parts = np.empty((len(d), 4))
    for t in range(len(d)):
        task = _of_task(successes[t], trials[t], won[t], n[t], theta, gamma, d[t])
        w = weights[t]
        value += w * task[0] - _PRECISION / 2 * d[t] ** 2
        slope, own = -w * (task[1] + task[2]) - _PRECISION * d[t], w * (task[4] + task[5]) + _PRECISION
        with_theta, with_gamma = -w * task[4], -w * task[6]
        parts[t, 0], parts[t, 1], parts[t, 2], parts[t, 3] = slope, own, with_theta, with_gamma
        by_theta += w * task[1] - with_theta * slope / own
        by_gamma += w * task[3] - with_gamma * slope / own
        tt += w * task[4] - with_theta**2 / own
        tg -= with_theta * with_gamma / own
        gg += w * task[7] - with_gamma**2 / own
    determinant = tt * gg - tg * tg
    up, faster = (gg * by_theta - tg * by_gamma) / determinant, (tt * by_gamma - tg * by_theta) / determinant
    for t in range(len(d)):
        move[t] = (parts[t, 0] - parts[t, 2] * up - parts[t, 3] * faster) / parts[t, 1]
    return value, up, faster


@kernel
def _of_task(
    successes: Floats, trials: Floats, won: float, n: float, theta: float, gamma: float, d: float
) -> tuple[float, float, float, float, float, float, float, float]:
    """A task's log-likelihood, residuals of model and novices, the latter also by log n, and their curvatures, the latter also by log n and its square."""
    fitted, p = _softplus(theta - d)
    value, of_model, bend_model = won * (theta - d) - n * fitted, won - n * p, n * p * (1 - p)
    residual, by_gamma, bend, bend_x, bend_xx = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(trials)):
        if trials[k] == 0.0:
            continue
        x = math.log(k + 1.0)
        fitted, p = _softplus(gamma * x - d)
        value += successes[k] * (gamma * x - d) - trials[k] * fitted
        miss, curve = successes[k] - trials[k] * p, trials[k] * p * (1 - p)
        residual += miss
        by_gamma += miss * x
        bend += curve
        bend_x += curve * x
        bend_xx += curve * x * x
    return value, of_model, residual, by_gamma, bend_model, bend, bend_x, bend_xx


@kernel
def _softplus(eta: float) -> tuple[float, float]:
    """log(1 + e^η) and σ(η), from one exponential."""
    shrunk = math.exp(-abs(eta))
    return max(eta, 0.0) + math.log1p(shrunk), (1.0 if eta >= 0 else shrunk) / (1.0 + shrunk)
