r"""One model of all runs: models' abilities and slopes, tasks' and families' own difficulty, and human times that were measured with error.

.. math:: \operatorname{logit} P(\text{success}_{mt}) = \alpha_m + \beta_m x_t + u_t + v_{f(t)} + e_{mt}, \qquad
          \tilde x_t \sim N(x_t, s^2)

``x`` is log₂ of the human minutes of task t and ``x̃`` what was measured; ``u`` (tasks), ``v`` (families) and ``e`` (one model at one task) are normal with
variances that the data determine, the slopes are normal around a common mean, and success can have a ceiling below 1.
The posterior is drawn by Gibbs sampling with Pólya–Gamma weights (Polson, Scott and Windle 2013): every step is a draw from a known distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from howsure.compiled import kernel
from howsure.compute import replicate
from howsure.errors import OptionError
from howsure.horizon.time_horizon.curves import SuccessCurves, Timed, fit_curves
from howsure.horizon.time_horizon.kernels import FITTED, NO_FAILURE, NO_SLOPE, NO_SUCCESS
from howsure.stats._arrays import Floats, Ints

__all__ = ["JointDraws", "draw_joint"]

_CHAIN = 125
"""Draws per chain: chains are independent, so that cores share the work and the numbers do not depend on how many there are."""
_BURN_IN = 200
_THIN = 6
_EXACT = 4  # runs of a cell from which its Pólya–Gamma weight is drawn as a gamma with the same mean and variance
_SCALE = 2.5  # of the half-t priors of standard deviations (3 degrees of freedom), in log-odds
_CEILING_PRIOR = 9.0, 1.0


@dataclass(frozen=True, eq=False)
class JointDraws:
    """Draws from the posterior: axis 0 is the draw.

    ``curves`` has each model's marginal curve over tasks (its ``spread`` is the standard deviation of what tasks add), ``task`` what
    each task and its family add to the log-odds, ``spreads`` the standard deviations of tasks, families and cells, and ``cell`` the expected success of each
    model at each task, averaged over the draws.
    """

    curves: SuccessCurves
    task: Floats
    spreads: Floats
    cell: Floats

    @property
    def middle(self) -> SuccessCurves:
        """One curve per model that stands for its draws: their median slope, and the median of where they cross one half."""
        drawn = self.curves
        slope = np.median(drawn.slope, axis=0)
        half = np.median(-drawn.intercept / drawn.slope, axis=0)
        medians = [None if part is None else np.median(part, axis=0) for part in (drawn.spread, drawn.ceiling)]
        outcome = np.where(drawn.outcome[0] == NO_SLOPE, FITTED, drawn.outcome[0])
        outcome = np.where((outcome == FITTED) & (slope >= 0), NO_SLOPE, outcome)
        return SuccessCurves(-half * slope, slope, outcome, *medians)


def draw_joint(
    data: Timed,
    n: int,
    *,
    noise: float = 0.0,
    has_ceiling: bool = False,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> JointDraws:
    """Draws of the joint model.

    Parameters
    ----------
    data : Timed
        Counts on tasks of known length; their weights are not used.
    n : int
        Number of draws.
    noise : float
        Standard deviation of the measured human times around the true ones, in doublings; 0 takes them as exact.
    has_ceiling : bool
        Each model's success at the shortest tasks may stay below 1.
    seed : int
        Of the draws.
    scheduler : str, optional
        A Dask scheduler.
    progress : callable, optional
        Called with the number of finished draws and their total.
    """
    if not 0 <= noise < math.inf:
        raise OptionError(f"noise {noise:g} is not a number of doublings from 0 up.")
    counts = data.counts
    start = fit_curves(data)
    begin = np.column_stack([np.nan_to_num(start.intercept), np.where(start.outcome == FITTED, start.slope, -0.5)])
    begin[:, 0] += begin[:, 1] * data.x.mean()  # the sampler's lengths are centred
    work = partial(
        _chain,
        counts.successes.astype(np.float64),
        counts.n.astype(np.float64),
        data.x - data.x.mean(),
        counts.family.astype(np.int64),
        begin,
        float(noise),
        has_ceiling,
    )
    a, b, ceiling, spreads, task, cell = replicate(
        work, n, seed=seed, batch=_CHAIN, scheduler=scheduler, progress=progress
    )
    outcome = np.where(b < 0, FITTED, NO_SLOPE)
    total = counts.n.sum(axis=1)
    outcome[:, counts.successes.sum(axis=1) == 0] = NO_SUCCESS
    outcome[:, counts.successes.sum(axis=1) == total] = NO_FAILURE
    curves = SuccessCurves(
        a - b * data.x.mean(),
        b,
        outcome.astype(np.int64),
        np.broadcast_to(np.sqrt((spreads**2).sum(axis=1))[:, None], b.shape).copy(),
        ceiling if has_ceiling else None,
    )
    return JointDraws(curves, task, spreads, cell.mean(axis=0))


def _chain(
    successes: Floats,
    n: Floats,
    x: Floats,
    family: Ints,
    begin: Floats,
    noise: float,
    has_ceiling: bool,  # noqa: FBT001
    rng: np.random.Generator,
    size: int,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    found: tuple[Floats, Floats, Floats, Floats, Floats, Floats] = _sample(
        successes, n, x, family, int(family.max()) + 1, begin, noise, has_ceiling, size, rng
    )
    return found


@kernel
def _sample(  # noqa: PLR0912, PLR0915  one sweep of the sampler, from top to bottom
    successes: Floats, n: Floats, measured: Floats, family: Ints, n_families: int, begin: Floats, noise: float,
    has_ceiling: bool, size: int, rng: np.random.Generator,  # noqa: FBT001
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:  # fmt: skip
    """One chain: draws of intercepts, slopes, ceilings, standard deviations, tasks' effects, and success per cell."""
    n_models, n_tasks = n.shape
    n_wide = 2 * n_models + n_families
    a, b = begin[:, 0].copy(), begin[:, 1].copy()
    u, v, e = np.zeros(n_tasks), np.zeros(n_families), np.zeros((n_models, n_tasks))
    x = measured.copy()
    x_mean, x_var = measured.mean(), max(measured.var() - noise * noise, 0.1 * measured.var() + 1e-6)
    good = successes.copy()
    ceiling = np.ones(n_models)
    mean_slope, slope_var = -0.5, 0.05
    task_var, family_var, cell_var = 1.0, 1.0, 0.5
    has_cells = False
    for m in range(n_models):
        for t in range(n_tasks):
            has_cells = has_cells or n[m, t] > 1
    if not has_cells:
        cell_var = 0.0
    helpers = np.ones(4)  # of the half-t priors
    has_families = n_families < n_tasks
    if not has_families:
        family_var = 0.0

    kept_a, kept_b = np.empty((size, n_models)), np.empty((size, n_models))
    kept_ceiling, kept_spreads = np.empty((size, n_models)), np.empty((size, 3))
    kept_tasks, kept_cells = np.empty((size, n_tasks)), np.empty((size, n_models, n_tasks))
    weight, pull = np.zeros((n_models, n_tasks)), np.zeros((n_models, n_tasks))
    for step in range(_BURN_IN + size * _THIN):
        # runs that failed only because of the ceiling, then the ceilings
        if has_ceiling:
            for m in range(n_models):
                n_reached, n_stopped = 0.0, 0.0
                for t in range(n_tasks):
                    if n[m, t] > 0:
                        p = _logistic(a[m] + b[m] * x[t] + u[t] + v[family[t]] + e[m, t])
                        failed = n[m, t] - successes[m, t]
                        share = (1 - ceiling[m]) * p / (1 - ceiling[m] * p)
                        stopped = float(rng.binomial(int(failed), min(max(share, 0.0), 1.0))) if failed >= 1 else 0.0
                        good[m, t] = successes[m, t] + stopped
                        n_reached += successes[m, t]
                        n_stopped += stopped
                ceiling[m] = rng.beta(_CEILING_PRIOR[0] + n_reached, _CEILING_PRIOR[1] + n_stopped)
        # Pólya–Gamma weights; cell effects are integrated out of the weights that the block below uses
        for m in range(n_models):
            for t in range(n_tasks):
                weight[m, t], pull[m, t] = 0.0, 0.0
                if n[m, t] > 0:
                    own = _polya_gamma(n[m, t], a[m] + b[m] * x[t] + u[t] + v[family[t]] + e[m, t], rng)
                    weight[m, t] = own / (1 + cell_var * own)
                    pull[m, t] = (good[m, t] - n[m, t] / 2) / (1 + cell_var * own)
        # abilities, slopes and families in one block, tasks eliminated from it and drawn after
        wide, right = np.zeros((n_wide, n_wide)), np.zeros(n_wide)
        cross, diagonal, task_right = np.zeros((n_wide, n_tasks)), np.empty(n_tasks), np.zeros(n_tasks)
        for t in range(n_tasks):
            diagonal[t] = 1 / task_var
            f = 2 * n_models + family[t]
            for m in range(n_models):
                w, r = weight[m, t], pull[m, t]
                if w == 0:
                    continue
                i, j = m, n_models + m
                wide[i, i] += w
                wide[i, j] += w * x[t]
                wide[j, j] += w * x[t] * x[t]
                wide[i, f] += w
                wide[j, f] += w * x[t]
                wide[f, f] += w
                right[i] += r
                right[j] += r * x[t]
                right[f] += r
                cross[i, t] += w
                cross[j, t] += w * x[t]
                cross[f, t] += w
                diagonal[t] += w
                task_right[t] += r
        for m in range(n_models):
            wide[m, m] += 0.01  # abilities: normal with standard deviation 10
            wide[n_models + m, n_models + m] += 1 / slope_var
            right[n_models + m] += mean_slope / slope_var
            wide[n_models + m, m] = wide[m, n_models + m]
        for k in range(n_families):
            f = 2 * n_models + k
            wide[f, f] += 1 / family_var if has_families else 1e12
            for i in range(2 * n_models):
                wide[f, i] = wide[i, f]
        scaled = cross / diagonal
        left = np.linalg.cholesky(wide - scaled @ cross.T)
        half = np.linalg.solve(left, right - scaled @ task_right)
        drawn = np.linalg.solve(left.T, half + rng.standard_normal(n_wide))
        a[:], b[:], v[:] = drawn[:n_models], drawn[n_models : 2 * n_models], drawn[2 * n_models :]
        given = task_right - cross.T @ drawn
        for t in range(n_tasks):
            u[t] = given[t] / diagonal[t] + rng.standard_normal() / math.sqrt(diagonal[t])
        # true human times together with the tasks' effects
        if noise > 0:
            for t in range(n_tasks):
                q_uu, q_ux, q_xx = 1 / task_var, 0.0, 1 / (noise * noise) + 1 / x_var
                r_u, r_x = 0.0, measured[t] / (noise * noise) + x_mean / x_var
                for m in range(n_models):
                    w = weight[m, t]
                    rest = pull[m, t] - w * (a[m] + v[family[t]])
                    q_uu += w
                    q_ux += w * b[m]
                    q_xx += w * b[m] * b[m]
                    r_u += rest
                    r_x += rest * b[m]
                x_given = q_xx - q_ux * q_ux / q_uu
                x[t] = (r_x - q_ux * r_u / q_uu) / x_given + rng.standard_normal() / math.sqrt(x_given)
                u[t] = (r_u - q_ux * x[t]) / q_uu + rng.standard_normal() / math.sqrt(q_uu)
            x_mean = x.mean() + rng.standard_normal() * math.sqrt(x_var / n_tasks)
            x_var = ((x - x_mean) ** 2).sum() / rng.chisquare(n_tasks)
        # one model at one task
        n_cells, squares = 0, 0.0
        if has_cells:
            for m in range(n_models):
                for t in range(n_tasks):
                    if n[m, t] > 0:
                        own = weight[m, t] / (1 - cell_var * weight[m, t])
                        rest = pull[m, t] * (1 + cell_var * own) - own * (a[m] + b[m] * x[t] + u[t] + v[family[t]])
                        q = own + 1 / cell_var
                        e[m, t] = rest / q + rng.standard_normal() / math.sqrt(q)
                        squares += e[m, t] ** 2
                        n_cells += 1
            cell_var, helpers[2] = _variance(n_cells, squares, helpers[2], _SCALE, rng)
        # variances and the mean slope
        task_var, helpers[0] = _variance(n_tasks, (u * u).sum(), helpers[0], _SCALE, rng)
        if has_families:
            family_var, helpers[1] = _variance(n_families, (v * v).sum(), helpers[1], _SCALE, rng)
        mean_slope = b.mean() + rng.standard_normal() * math.sqrt(slope_var / n_models)
        slope_var, helpers[3] = _variance(n_models, ((b - mean_slope) ** 2).sum(), helpers[3], 0.5, rng)
        slope_var = max(slope_var, 1e-6)
        if step >= _BURN_IN and (step - _BURN_IN) % _THIN == _THIN - 1:
            row = (step - _BURN_IN) // _THIN
            kept_a[row], kept_b[row], kept_ceiling[row] = a, b, ceiling
            kept_spreads[row, 0], kept_spreads[row, 1] = math.sqrt(task_var), math.sqrt(family_var)
            kept_spreads[row, 2] = math.sqrt(cell_var)
            for t in range(n_tasks):
                kept_tasks[row, t] = u[t] + v[family[t]]
                for m in range(n_models):
                    off = e[m, t] if n[m, t] > 0 else math.sqrt(cell_var) * rng.standard_normal()
                    kept_cells[row, m, t] = ceiling[m] * _logistic(a[m] + b[m] * x[t] + kept_tasks[row, t] + off)
    return kept_a, kept_b, kept_ceiling, kept_spreads, kept_tasks, kept_cells


@kernel
def _logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


@kernel
def _variance(n: int, squares: float, helper: float, scale: float, rng: np.random.Generator) -> tuple[float, float]:
    """A variance given n effects, under a half-t prior of its root with 3 degrees of freedom; and the prior's helper."""
    drawn = (squares / 2 + 3 / helper) / rng.standard_gamma((n + 3) / 2)
    return drawn, (3 / drawn + 1 / scale**2) / rng.standard_gamma(2.0)


@kernel
def _polya_gamma(n: float, tilt: float, rng: np.random.Generator) -> float:
    """PG(n, tilt): exactly for few runs, as a gamma of the same mean and variance for more."""
    tilt = abs(tilt)
    if n >= _EXACT:
        if tilt < 1e-3:
            mean, variance = n / 4, n / 24
        else:
            mean = n / (2 * tilt) * math.tanh(tilt / 2)
            short = math.exp(-tilt)
            variance = n / (2 * tilt**3) * (1 - short * short - 2 * tilt * short) / (1 + short) ** 2
        return rng.standard_gamma(mean * mean / variance) * variance / mean
    total = 0.0
    for _ in range(int(n)):
        total += _polya_gamma_1(tilt, rng)
    return total


@kernel
def _polya_gamma_1(tilt: float, rng: np.random.Generator) -> float:
    """PG(1, tilt) by Devroye's method of alternating series."""
    z, cut = tilt / 2, 0.64
    rate = math.pi**2 / 8 + z * z / 2
    right = math.pi / (2 * rate) * math.exp(-rate * cut)
    root = 1 / math.sqrt(cut)
    left = 2 * math.exp(-z) * (_phi(root * (cut * z - 1)) + math.exp(2 * z) * _phi(-root * (cut * z + 1)))
    while True:
        x = cut + rng.standard_exponential() / rate if rng.random() < right / (right + left) else _cut_wald(z, cut, rng)
        term = _coefficient(0, x, cut)
        y, total, k = rng.random() * term, term, 0
        while True:
            k += 1
            if k % 2 == 1:
                total -= _coefficient(k, x, cut)
                if y <= total:
                    return x / 4
            else:
                total += _coefficient(k, x, cut)
                if y > total:
                    break


@kernel
def _coefficient(k: int, x: float, cut: float) -> float:
    half = k + 0.5
    if x > cut:
        return math.pi * half * math.exp(-half * half * math.pi**2 * x / 2)
    return float((2 / (math.pi * x)) ** 1.5 * math.pi * half * math.exp(-2 * half * half / x))


@kernel
def _cut_wald(z: float, cut: float, rng: np.random.Generator) -> float:
    """An inverse Gaussian with mean 1/z and shape 1, below `cut`."""
    if z < 1 / cut:
        while True:
            one, other = rng.standard_exponential(), rng.standard_exponential()
            while one * one > 2 * other / cut:
                one, other = rng.standard_exponential(), rng.standard_exponential()
            x = cut / (1 + cut * one) ** 2
            if rng.random() < math.exp(-z * z * x / 2):
                return x
    while True:
        x = rng.wald(1 / z, 1.0)
        if x < cut:
            return x


@kernel
def _phi(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))
