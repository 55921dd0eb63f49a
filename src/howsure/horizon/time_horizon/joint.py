r"""One model of all runs: models' abilities and slopes, tasks' and families' own difficulty, and human times that were measured with error.

.. math:: \operatorname{logit} P(\text{success}_{mt}) = \alpha_m + \beta_m x_t + \gamma_{d(t)} + \delta z_t + u_t + v_{f(t)} + e_{mt}, \qquad
          \tilde x_t \sim N(x_t, s_t^2)

``x`` is log₂ of the human minutes of task t and ``x̃`` what was measured; ``γ`` (domains, where tasks have them), ``δ`` (covariates z of tasks, where asked for), ``u`` (tasks), ``v`` (families) and ``e`` (one model at one task) are normal with
variances that the data determine, the slopes are normal around a common mean, and success can have a ceiling below 1.
The posterior is drawn by Gibbs sampling with Pólya–Gamma weights (Polson, Scott and Windle 2013): every step is a draw from a known distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from howsure.compiled import kernel
from howsure.compute import replicate
from howsure.horizon.time_horizon.curves import SuccessCurves, Timed, fit_curves
from howsure.horizon.time_horizon.kernels import FITTED, NO_FAILURE, NO_SLOPE, NO_SUCCESS
from howsure.stats._arrays import Floats, Ints

__all__ = ["JointDraws", "draw_joint", "middle_curves"]

_CHAIN = 250
"""Draws per chain: chains are independent, so that cores share the work and the numbers do not depend on how many there are."""
_BURN_IN = 200
_THIN = 5
_EXACT = 4  # runs of a cell from which its Pólya–Gamma weight is drawn as a gamma with the same mean and variance
_SCALE = 2.5  # of the half-t priors of standard deviations (3 degrees of freedom), and of domains, in log-odds
_CEILING_PRIOR = 9.0, 1.0


@dataclass(frozen=True, eq=False)
class JointDraws:
    """Draws from the posterior: axis 0 is the draw.

    ``curves`` has each model's marginal curve over tasks (its ``spread`` is the standard deviation of what tasks add), ``task`` what
    each task and its family add to the log-odds, ``spreads`` the standard deviations of tasks, families and cells, ``domain`` what each of ``domains`` adds, and
    ``cell`` the expected success of each model at each task, averaged over the draws. ``covariate`` is what one unit of each of ``covariates`` adds to the log-odds, and
    ``varied`` the variance that they make among the tasks of each domain.
    """

    curves: SuccessCurves
    task: Floats
    spreads: Floats
    cell: Floats
    domain: Floats
    domains: tuple[str, ...] = ()
    covariate: Floats | None = None
    covariates: tuple[str, ...] = ()
    varied: Floats | None = None

    @property
    def middle(self) -> SuccessCurves:
        """One curve per model that stands for its draws: their median slope, and the median of where they cross one half."""
        return middle_curves(self.curves)

    def of_domain(self, domain: str) -> SuccessCurves:
        """The marginal curves over the tasks of one domain."""
        k = self.domains.index(domain)
        variance = (self.spreads**2).sum(axis=1) + (0 if self.varied is None else self.varied[:, k])
        spread = np.broadcast_to(np.sqrt(variance)[:, None], self.curves.slope.shape)
        return replace(self.curves, intercept=self.curves.intercept + self.domain[:, k, None], spread=spread.copy())


def middle_curves(drawn: SuccessCurves) -> SuccessCurves:
    """One curve per model that stands for its draws."""
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
    has_ceiling: bool = False,
    covariates: Sequence[str] = (),
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> JointDraws:
    """Draws of the joint model.

    Parameters
    ----------
    data : Timed
        Counts on tasks of known length, which may be measured with error; their weights are not used.
    n : int
        Number of draws.
    has_ceiling : bool
        Each model's success at the shortest tasks may stay below 1.
    covariates : sequence of str
        Columns of the tasks, numbers, each with an effect on the log-odds that all models share.
    seed : int
        Of the draws.
    scheduler : str, optional
        A Dask scheduler.
    progress : callable, optional
        Called with the number of finished draws and their total.
    """
    counts = data.counts
    start = fit_curves(data)
    begin = np.column_stack([np.nan_to_num(start.intercept), np.where(start.outcome == FITTED, start.slope, -0.5)])
    begin[:, 0] += begin[:, 1] * data.x.mean()  # the sampler's lengths are centred
    domains, member = _domains(data)
    values = np.column_stack([np.zeros((len(data.x), 0)), *(data.counts.tasks[name].to_numpy() for name in covariates)])
    scale = values.std(axis=0)
    values = (values - values.mean(axis=0)) / scale
    work = partial(
        _chain,
        counts.successes.astype(np.float64),
        counts.n.astype(np.float64),
        data.x - data.x.mean(),
        np.zeros(len(data.x)) if data.noise is None else data.noise,
        np.column_stack([member - member.mean(axis=0), values]),
        counts.family.astype(np.int64),
        begin,
        has_ceiling,
    )
    a, b, ceiling, spreads, task, cell, effects = replicate(
        work, n, seed=seed, batch=_CHAIN, scheduler=scheduler, progress=progress
    )
    domain, effect = effects[:, : len(domains)], effects[:, len(domains) :]
    outcome = np.where(b < 0, FITTED, NO_SLOPE)
    total = counts.n.sum(axis=1)
    outcome[:, counts.successes.sum(axis=1) == 0] = NO_SUCCESS
    outcome[:, counts.successes.sum(axis=1) == total] = NO_FAILURE
    added = domain - domain @ member.mean(axis=0)[:, None] if len(domains) else domain
    per_task = effect @ values.T  # what covariates add, around their means
    spread = np.sqrt((spreads**2).sum(axis=1) + (added @ member.T + per_task).var(axis=1))
    if covariates and len(domains):
        shares = member / member.sum(axis=0)
        own = per_task @ shares
        added, varied = added + own, per_task**2 @ shares - own**2
    curves = SuccessCurves(
        a - b * data.x.mean(),
        b,
        outcome.astype(np.int64),
        np.broadcast_to(spread[:, None], b.shape).copy(),
        ceiling if has_ceiling else None,
    )
    found = JointDraws(curves, task, spreads, cell.mean(axis=0), added, domains)
    if not covariates:
        return found
    is_split = len(domains) > 0
    return replace(
        found,
        covariate=effect / scale,
        covariates=tuple(covariates),
        varied=np.maximum(varied, 0) if is_split else None,
    )


def _domains(data: Timed) -> tuple[tuple[str, ...], Floats]:
    """The domains of the tasks, and which task is in which, where there are at least two and no task is without."""
    named = data.counts.tasks["domain"]
    domains = tuple(sorted(named.drop_nulls().unique()))
    if len(domains) < 2 or named.null_count():
        return (), np.zeros((len(named), 0))
    return domains, np.column_stack([(named == one).to_numpy() for one in domains]).astype(np.float64)


_Draws = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats]


def _chain(
    successes: Floats,
    n: Floats,
    x: Floats,
    noise: Floats,
    domain: Floats,
    family: Ints,
    begin: Floats,
    has_ceiling: bool,  # noqa: FBT001
    rng: np.random.Generator,
    size: int,
) -> _Draws:
    found: _Draws = _sample(
        successes,
        n,
        x,
        noise,
        np.ascontiguousarray(domain),
        family,
        int(family.max()) + 1,
        begin,
        has_ceiling,
        size,
        rng,
    )
    return found


class _Runs(NamedTuple):
    """What was observed; a model that never tried a task has n = 0 there."""

    successes: Floats
    n: Floats
    measured: Floats
    noise: Floats
    domain: Floats
    family: Ints


class _Effects(NamedTuple):
    """What is drawn, as arrays that the steps of a sweep change in place.

    ``a``, ``b`` and ``ceiling`` belong to models, ``g`` to domains, ``u`` and ``x`` to tasks, ``v`` to families, ``e`` to one model at one task. ``added`` is what a task's domain, its family and itself add.
    """

    a: Floats
    b: Floats
    ceiling: Floats
    g: Floats
    u: Floats
    x: Floats
    v: Floats
    e: Floats
    added: Floats


class _Weights(NamedTuple):
    """Pólya–Gamma weights, and what pulls the log-odds to the data, both with the effects of cells integrated out; ``good`` are runs that did not fail but for the ceiling."""

    weight: Floats
    pull: Floats
    good: Floats


@kernel
def _sample(
    successes: Floats, n: Floats, measured: Floats, noise: Floats, domain: Floats, family: Ints, n_families: int, begin: Floats,
    has_ceiling: bool, size: int, rng: np.random.Generator,  # noqa: FBT001
) -> _Draws:  # fmt: skip
    """One chain: draws of intercepts, slopes, ceilings, standard deviations, tasks' effects, success per cell, and domains' effects."""
    n_models, n_tasks = n.shape
    n_domains = domain.shape[1]
    runs = _Runs(successes, n, measured, noise, domain, family)
    effects = _Effects(
        begin[:, 0].copy(), begin[:, 1].copy(), np.ones(n_models), np.zeros(n_domains), np.zeros(n_tasks), measured.copy(), np.zeros(n_families),
        np.zeros((n_models, n_tasks)), np.zeros(n_tasks),
    )  # fmt: skip
    weights = _Weights(np.zeros((n_models, n_tasks)), np.zeros((n_models, n_tasks)), successes.copy())
    has_times = (noise**2).mean() > 0
    x_mean, x_var = measured.mean(), max(measured.var() - (noise**2).mean(), 0.1 * measured.var() + 1e-6)
    mean_slope, slope_var = -0.5, 0.05
    has_cells, has_families = bool((n > 1).any()), n_families < n_tasks
    task_var, family_var, cell_var = 1.0, 1.0 if has_families else 0.0, 0.5 if has_cells else 0.0
    helpers = np.ones(4)  # of the half-t priors

    kept_a, kept_b, kept_g = np.empty((size, n_models)), np.empty((size, n_models)), np.empty((size, n_domains))
    kept_ceiling, kept_spreads = np.empty((size, n_models)), np.empty((size, 3))
    kept_tasks, kept_cells = np.empty((size, n_tasks)), np.empty((size, n_models, n_tasks))
    for step in range(_BURN_IN + size * _THIN):
        _add_up(runs, effects)
        if has_ceiling:
            _draw_ceilings(runs, effects, weights, rng)
        _draw_weights(runs, effects, weights, cell_var, rng)
        _draw_block(runs, effects, weights, mean_slope, slope_var, task_var, family_var, rng)
        if has_times:
            _draw_times(runs, effects, weights, task_var, x_mean, x_var, rng)
            x_mean = effects.x.mean() + rng.standard_normal() * math.sqrt(x_var / n_tasks)
            x_var = ((effects.x - x_mean) ** 2).sum() / rng.chisquare(n_tasks)
        _add_up(runs, effects)
        if has_cells:
            n_cells, squares = _draw_cells(runs, effects, weights, cell_var, rng)
            cell_var, helpers[2] = _variance(n_cells, squares, helpers[2], _SCALE, rng)
        task_var, helpers[0] = _variance(n_tasks, (effects.u * effects.u).sum(), helpers[0], _SCALE, rng)
        if has_families:
            family_var, helpers[1] = _variance(n_families, (effects.v * effects.v).sum(), helpers[1], _SCALE, rng)
        mean_slope = effects.b.mean() + rng.standard_normal() * math.sqrt(slope_var / n_models)
        slope_var, helpers[3] = _variance(n_models, ((effects.b - mean_slope) ** 2).sum(), helpers[3], 0.5, rng)
        slope_var = max(slope_var, 1e-6)
        if step >= _BURN_IN and (step - _BURN_IN) % _THIN == _THIN - 1:
            row = (step - _BURN_IN) // _THIN
            kept_a[row], kept_b[row], kept_g[row] = effects.a, effects.b, effects.g
            kept_ceiling[row] = effects.ceiling
            kept_spreads[row, 0], kept_spreads[row, 1] = math.sqrt(task_var), math.sqrt(family_var)
            kept_spreads[row, 2] = math.sqrt(cell_var)
            _keep_cells(runs, effects, cell_var, kept_tasks[row], kept_cells[row], rng)
    return kept_a, kept_b, kept_ceiling, kept_spreads, kept_tasks, kept_cells, kept_g


@kernel
def _add_up(runs: _Runs, effects: _Effects) -> None:
    """What a task's domain, its family and itself add to the log-odds of every model."""
    for t in range(len(effects.u)):
        effects.added[t] = effects.u[t] + effects.v[runs.family[t]]
        for k in range(len(effects.g)):
            effects.added[t] += runs.domain[t, k] * effects.g[k]


@kernel
def _draw_ceilings(runs: _Runs, effects: _Effects, weights: _Weights, rng: np.random.Generator) -> None:
    """Which runs failed only because of the ceiling, then the ceilings."""
    a, b, x, added, e = effects.a, effects.b, effects.x, effects.added, effects.e
    n_models, n_tasks = runs.n.shape
    for m in range(n_models):
        n_reached, n_stopped, ceiling = 0.0, 0.0, effects.ceiling[m]
        for t in range(n_tasks):
            if runs.n[m, t] > 0:
                p = _logistic(a[m] + b[m] * x[t] + added[t] + e[m, t])
                failed = runs.n[m, t] - runs.successes[m, t]
                share = (1 - ceiling) * p / max(1 - ceiling * p, 1e-300)  # both are 1 where the curve is steep
                stopped = float(rng.binomial(int(failed), min(max(share, 0.0), 1.0))) if failed >= 1 else 0.0
                weights.good[m, t] = runs.successes[m, t] + stopped
                n_reached += runs.successes[m, t]
                n_stopped += stopped
        effects.ceiling[m] = rng.beta(_CEILING_PRIOR[0] + n_reached, _CEILING_PRIOR[1] + n_stopped)


@kernel
def _draw_weights(runs: _Runs, effects: _Effects, weights: _Weights, cell_var: float, rng: np.random.Generator) -> None:
    """Pólya–Gamma weights; cell effects are integrated out of the weights that `_draw_block` uses."""
    a, b, x, added, e = effects.a, effects.b, effects.x, effects.added, effects.e
    n_models, n_tasks = runs.n.shape
    for m in range(n_models):
        for t in range(n_tasks):
            if runs.n[m, t] > 0:
                own = _polya_gamma(runs.n[m, t], a[m] + b[m] * x[t] + added[t] + e[m, t], rng)
                weights.weight[m, t] = own / (1 + cell_var * own)
                weights.pull[m, t] = (weights.good[m, t] - runs.n[m, t] / 2) / (1 + cell_var * own)


@kernel
def _draw_block(
    runs: _Runs,
    effects: _Effects,
    weights: _Weights,
    mean_slope: float,
    slope_var: float,
    task_var: float,
    family_var: float,
    rng: np.random.Generator,
) -> None:
    """Abilities, slopes and domains in one block; tasks, then families, are eliminated from it and drawn after."""
    n_models, n_tasks = runs.n.shape
    n_families, n_wide = len(effects.v), 2 * n_models + len(effects.g)
    wide, right, cross, by_task, task_right, family_cross, by_family, family_right = _equations(
        runs, effects, weights, task_var
    )
    for i in range(n_wide):
        wide[i, i] += 0.01 if i < n_models else 1 / slope_var if i < 2 * n_models else 1 / _SCALE**2
        if n_models <= i < 2 * n_models:
            right[i] += mean_slope / slope_var
        for j in range(i):
            wide[i, j] = wide[j, i]
    scaled = cross / by_task
    wide -= scaled @ cross.T
    right -= scaled @ task_right
    if n_families < n_tasks:
        by_family += 1 / family_var
        scaled = family_cross / by_family
        wide -= scaled @ family_cross.T
        right -= scaled @ family_right
    low = np.linalg.cholesky(wide)
    drawn = np.linalg.solve(low.T, np.linalg.solve(low, right) + rng.standard_normal(n_wide))
    effects.a[:], effects.b[:], effects.g[:] = drawn[:n_models], drawn[n_models : 2 * n_models], drawn[2 * n_models :]
    if n_families < n_tasks:
        given = family_right - family_cross.T @ drawn
        for k in range(n_families):
            effects.v[k] = given[k] / by_family[k] + rng.standard_normal() / math.sqrt(by_family[k])
    given = task_right - cross.T @ drawn
    for t in range(n_tasks):
        rest = given[t] - (by_task[t] - 1 / task_var) * effects.v[runs.family[t]]
        effects.u[t] = rest / by_task[t] + rng.standard_normal() / math.sqrt(by_task[t])


@kernel
def _equations(
    runs: _Runs, effects: _Effects, weights: _Weights, task_var: float
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
    """The normal equations of the block without its priors: of abilities, slopes and domains, their rows for tasks and for families, and the weights of these."""
    domain, family, x = runs.domain, runs.family, effects.x
    n_models, n_tasks = runs.n.shape
    n_domains, n_families = len(effects.g), len(effects.v)
    n_wide = 2 * n_models + n_domains
    wide, right = np.zeros((n_wide, n_wide)), np.zeros(n_wide)
    cross, by_task = np.zeros((n_wide, n_tasks)), np.full(n_tasks, 1 / task_var)
    family_cross, by_family = np.zeros((n_wide, n_families)), np.zeros(n_families)
    task_right, family_right = np.zeros(n_tasks), np.zeros(n_families)
    for t in range(n_tasks):
        total = 0.0
        for m in range(n_models):
            w, r, j = weights.weight[m, t], weights.pull[m, t], n_models + m
            total += w
            task_right[t] += r
            wide[m, m] += w
            wide[m, j] += w * x[t]
            wide[j, j] += w * x[t] * x[t]
            right[m] += r
            right[j] += r * x[t]
            cross[m, t] = w
            cross[j, t] = w * x[t]
            for k in range(n_domains):
                wide[m, 2 * n_models + k] += w * domain[t, k]
                wide[j, 2 * n_models + k] += w * x[t] * domain[t, k]
        for k in range(n_domains):
            i = 2 * n_models + k
            right[i] += task_right[t] * domain[t, k]
            cross[i, t] = total * domain[t, k]
            for other in range(k, n_domains):
                wide[i, 2 * n_models + other] += total * domain[t, k] * domain[t, other]
        by_task[t] += total
        left = 1 / (task_var * by_task[t])  # of a task's weight, after its own effect took the rest
        f = family[t]
        by_family[f] += total * left
        family_right[f] += task_right[t] * left
        for i in range(n_wide):
            family_cross[i, f] += cross[i, t] * left
    return wide, right, cross, by_task, task_right, family_cross, by_family, family_right


@kernel
def _draw_times(
    runs: _Runs,
    effects: _Effects,
    weights: _Weights,
    task_var: float,
    x_mean: float,
    x_var: float,
    rng: np.random.Generator,
) -> None:
    """True human times, each together with its task's effect."""
    noise, a, b, u, x = runs.noise, effects.a, effects.b, effects.u, effects.x
    for t in range(len(x)):
        if noise[t] == 0:
            continue
        q_uu, q_ux, q_xx = 1 / task_var, 0.0, 1 / noise[t] ** 2 + 1 / x_var
        r_u, r_x = 0.0, runs.measured[t] / noise[t] ** 2 + x_mean / x_var
        fixed = effects.v[runs.family[t]]
        for k in range(len(effects.g)):
            fixed += runs.domain[t, k] * effects.g[k]
        for m in range(len(a)):
            w = weights.weight[m, t]
            rest = weights.pull[m, t] - w * (a[m] + fixed)
            q_uu += w
            q_ux += w * b[m]
            q_xx += w * b[m] * b[m]
            r_u += rest
            r_x += rest * b[m]
        x_given = q_xx - q_ux * q_ux / q_uu
        x[t] = (r_x - q_ux * r_u / q_uu) / x_given + rng.standard_normal() / math.sqrt(x_given)
        u[t] = (r_u - q_ux * x[t]) / q_uu + rng.standard_normal() / math.sqrt(q_uu)


@kernel
def _draw_cells(
    runs: _Runs, effects: _Effects, weights: _Weights, cell_var: float, rng: np.random.Generator
) -> tuple[int, float]:
    """The effects of one model at one task; their number and the sum of their squares."""
    a, b, x, added = effects.a, effects.b, effects.x, effects.added
    n_models, n_tasks = runs.n.shape
    n_cells, squares = 0, 0.0
    for m in range(n_models):
        for t in range(n_tasks):
            if runs.n[m, t] > 0:
                own = weights.weight[m, t] / (1 - cell_var * weights.weight[m, t])
                rest = weights.pull[m, t] * (1 + cell_var * own) - own * (a[m] + b[m] * x[t] + added[t])
                q = own + 1 / cell_var
                effects.e[m, t] = rest / q + rng.standard_normal() / math.sqrt(q)
                squares += effects.e[m, t] ** 2
                n_cells += 1
    return n_cells, squares


@kernel
def _keep_cells(
    runs: _Runs, effects: _Effects, cell_var: float, tasks: Floats, cells: Floats, rng: np.random.Generator
) -> None:
    """Write what this sweep says of each task, and of each model's success at it; a cell without runs gets an effect from its distribution."""
    a, b, x, added = effects.a, effects.b, effects.x, effects.added
    n_models, n_tasks = runs.n.shape
    for t in range(n_tasks):
        tasks[t] = effects.u[t] + effects.v[runs.family[t]]
        for m in range(n_models):
            off = effects.e[m, t] if runs.n[m, t] > 0 else math.sqrt(cell_var) * rng.standard_normal()
            cells[m, t] = effects.ceiling[m] * _logistic(a[m] + b[m] * x[t] + added[t] + off)


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
