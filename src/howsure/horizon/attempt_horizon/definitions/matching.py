r"""The attempt on which novices succeed as often as the model, on the same tasks: the headline.

.. math:: n^* = \min\Big\{ n \ge 1 : \sum_t w_t P_t(n) \ge \sum_t w_t\, f_q(p_t) \Big\}, \qquad
          f_q(p) = \frac{p}{p + \frac{q}{1-q}(1-p)}

P_t(n) is novices' success at task t on attempt n, p_t the model's. Their means over tasks are compared; the novices' is made to rise
with n (isotonic regression) and read between attempts by log n. Nothing is assumed about curves or difficulties.

At q = 50 % f is the identity, and "level" has no part in it. At another level the model's odds at every task are divided by q/(1 − q): n* is
then the attempt on which novices succeed half the time at tasks where the model succeeds with chance q. That is the irt definition's
level, without its curve.
"""

from __future__ import annotations

import math

import numpy as np

from howsure.compiled import kernel
from howsure.horizon.attempt_horizon.definitions import Drawn, Model
from howsure.stats._arrays import Floats, Ints

__all__ = [
    "UNDEFINED",
    "handicapped",
    "horizons",
    "last_attempt",
    "made_up_to",
    "pooled_curves",
    "reach",
    "reach_plainly",
    "rise",
]

UNDEFINED = "the model and novices share no task"


def horizons(drawn: Drawn, model: Model, levels: Floats) -> Floats:
    """The horizon in attempts, (replicates, levels)."""
    tried = model.n > 0
    success = handicapped(model.successes[tried], model.n[tried], levels)
    weights = np.ascontiguousarray(drawn.weights[:, tried])
    with np.errstate(invalid="ignore"):
        heights = weights @ success.T / weights.sum(axis=1)[:, None]
    return np.asarray(_reach_all(*pooled_curves(drawn, model, last_attempt(drawn, model)), heights))


def pooled_curves(drawn: Drawn, model: Model, last: int) -> tuple[Floats, Floats]:
    """Novices' success on each attempt up to `last` over the tasks that the model tried, and how many answers it depends on, (replicates, attempts).

    NaN where a replicate has no answer.
    """
    tried = model.n > 0
    won, trials = drawn.successes[:, tried, :last], drawn.trials[:, tried, :last]
    weights = drawn.weights[:, tried]
    with np.errstate(invalid="ignore"):  # a replicate may hold none of the tasks
        curves = np.einsum("rt,rtn->rn", weights, won / trials) / weights.sum(axis=1)[:, None]
    return curves, np.einsum("rt,rtn->rn", weights, trials)


def last_attempt(drawn: Drawn, model: Model) -> int:
    """The last attempt up to which somebody made each on every task that the model tried."""
    return int(made_up_to(drawn.trials[0, model.n > 0]).min())


def made_up_to(trials: Floats) -> Ints:
    """The last attempt of each task before the first that nobody made."""
    return np.asarray((trials > 0).cumprod(axis=-1).sum(axis=-1))


def handicapped(successes: Floats, n: Floats, levels: Floats) -> Floats:
    """f_q of each task's success, (levels, tasks), without most of the bias that f's bend gives to a few runs.

    The jackknife over runs removes it: k·f(s/k) − (k − 1)·(mean of f with one run left out).
    """
    odds = (levels / (1 - levels))[:, None]

    def bent(p: Floats) -> Floats:
        return np.asarray(p / (p + odds * (1 - p)))

    share, rest = successes / n, np.maximum(n - 1, 1)
    without_success, without_failure = np.maximum(successes - 1, 0) / rest, np.minimum(successes / rest, 1)
    left_out = share * bent(without_success) + (1 - share) * bent(without_failure)
    corrected = np.where(n > 1, n * bent(share) - (n - 1) * left_out, bent(share))
    return np.where(odds == 1, share, np.clip(corrected, 0, 1))


@kernel
def _reach_all(curves: Floats, answers: Floats, heights: Floats) -> Floats:
    found = np.full(heights.shape, np.nan)
    for replicate in range(len(heights)):
        if np.isnan(heights[replicate, 0]):
            continue  # none of the tasks was drawn
        curve = rise(curves[replicate], answers[replicate])
        for level in range(heights.shape[1]):
            found[replicate, level] = reach(curve, heights[replicate, level])
    return found


def _reach_all_plainly(curves: Floats, answers: Floats, heights: Floats) -> Floats:
    """The same with scipy's isotonic regression."""
    from scipy.optimize import isotonic_regression

    rising = [isotonic_regression(curve, weights=weight).x for curve, weight in zip(curves, answers, strict=True)]
    return np.array([[reach_plainly(curve, h) for h in row] for curve, row in zip(rising, heights, strict=True)])


# Curves that never fall, and where they reach a height; shared by the definitions.


_ROUNDING = 1e-12  # means that differ by less are equal: they were added up in another order


@kernel
def rise(values: Floats, weights: Floats) -> Floats:
    """The closest curve that never falls, by weighted least squares: neighbours that fall are pooled (Ayer et al. 1955)."""
    n = len(values)
    mean, weight, size = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    n_blocks = 0
    for k in range(n):
        mean[n_blocks], weight[n_blocks], size[n_blocks] = values[k], weights[k], 1
        n_blocks += 1
        while n_blocks > 1 and mean[n_blocks - 2] >= mean[n_blocks - 1]:
            low, high = n_blocks - 2, n_blocks - 1
            total = weight[low] + weight[high]
            mean[low] = (weight[low] * mean[low] + weight[high] * mean[high]) / total
            weight[low] = total
            size[low] += size[high]
            n_blocks -= 1
    risen = np.empty(n)
    k = 0
    for block in range(n_blocks):
        risen[k : k + size[block]] = mean[block]
        k += size[block]
    return risen


@kernel
def reach(curve: Floats, height: float) -> float:
    """The first attempt on which a rising curve reaches a height, between attempts by log n: −∞ if it starts above, ∞ if it ends below."""
    if not height >= curve[0] - _ROUNDING:
        return -math.inf
    for k in range(len(curve)):
        if curve[k] >= height - _ROUNDING:
            if k == 0:
                return 1.0
            share = min((height - curve[k - 1]) / (curve[k] - curve[k - 1]), 1.0)
            return float(k * ((k + 1) / k) ** share)
    return math.inf


def reach_plainly(curve: Floats, height: float) -> float:
    """The same in numpy."""
    is_reached = curve >= height - _ROUNDING
    if height < curve[0] - _ROUNDING or not is_reached.any():
        return -math.inf if height < curve[0] else math.inf
    first = int(np.argmax(is_reached))
    return float(np.exp(np.interp(height, curve[first - 1 : first + 1], np.log([first, first + 1])))) if first else 1.0
