r"""Replicates of novices and tasks in which every source of chance counts once.

Families, tasks and learners are drawn with replacement, and a task brings all its runs and answers along. Drawing again inside what has been drawn
(families, then their tasks, then those tasks' runs) counts the chance of the inner levels twice, since the outer ones vary by it already;
and learners who tried many tasks make all of them easier or harder at once. So the weights are

.. math:: u_t = \big(1 + c_F (W_{f(t)} - 1)\big)\, W_t, \qquad v_l = 1 + c_L (V_l - 1)

with W, V how often a family, task, learner is drawn, and c the share that its level adds of its own: with the influence of a task h_t on the gap
between novices and the model, and of a learner's answers at a task on novices' mean success, g_{tl} as the sample has it (against the mean of the task's
n_t learners) and g̃_{tl} = g_{tl} n_t/(n_t − 1) (against the mean of the other learners: with few learners per task the sample's mean follows each of them),

.. math:: c_F^2 = \frac{V_F - V_T}{V_F + V_T}, \quad V_F = \sum_f \Big(\sum_{t \in f} h_t\Big)^2, \; V_T = \sum_t h_t^2; \qquad
          c_L^2 = \frac{\tilde V_L - \tilde V_C}{V_L + V_C}, \quad V_L = \sum_l \Big(\sum_t g_{tl}\Big)^2, \; V_C = \sum_{tl} g_{tl}^2

and 0 where that is negative. Both are averaged around the attempt that matches the model: between two attempts a learner's answers to both count, and the
chance of single answers shrinks against what makes learners differ. To first order the variance of the replicates is V_T + (V_F − V_T) + (Ṽ_L − Ṽ_C), the
variance that is clustered by families and by learners at once (Cameron, Gelbach and Miller 2011).

The replicates' quantiles are taken further out than 2.5 % and 97.5 %, at Φ(−t √((ν+1)/ν)), as a t interval would be (Hesterberg 2015, "expanded
percentiles"); ν are the degrees of freedom that few families, tasks or learners leave (Satterthwaite), where the error of Ṽ_L − Ṽ_C is that of Ṽ_L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from howsure.horizon.learning_curves.novice_counts import NoviceCounts
from howsure.stats._arrays import Floats, Ints
from howsure.stats.bootstrap import hierarchical_weights
from howsure.stats.replicates import expanded_level

__all__ = [
    "VarianceSource",
    "draw_families_and_tasks",
    "from_families",
    "from_learners",
    "share_inside",
]

_ROUNDING = 1e-12  # where every learner tried one task, learners and courses are the same, added up in another order


@dataclass(frozen=True)
class VarianceSource:
    """What families or learners add to the variance of a mean beyond what their members bring (``own``), and how far their weights are spread for
    it (``share``, the c above); ``alone`` is what the members bring.
    """

    own: float
    alone: float
    share: float
    n: int


def from_families(gap: Floats, family: Ints) -> VarianceSource:
    """What families add, from the gap between novices and the model at each task; what tasks bring is ``alone``."""
    influence = (gap - gap.mean()) / len(gap)
    together, alone = _variances(influence, family)
    own = max(0.0, together - alone)
    return VarianceSource(own, alone, math.sqrt(own / (together + alone)) if own else 0.0, len(np.unique(family)))


def from_learners(novices: NoviceCounts, at: Floats) -> VarianceSource:
    """What learners add to novices' mean success: nothing where each tried one task, much where some are better at everything.

    ``at`` weighs the attempts (…, attempts): an attempt, or two with the mean between; over several rows the variances are averaged.
    """
    rows = np.atleast_2d(at)
    together, alone, fair_together, fair_alone = (
        float(np.einsum("pa,ab,pb->", rows, form, rows)) / len(rows) for form in novices.residual_products
    )
    own = fair_together - fair_alone
    own = own if own > _ROUNDING * fair_alone else 0.0
    share = min(1.0, math.sqrt(own / (together + alone))) if own else 0.0
    return VarianceSource(own, fair_alone, share, len(np.unique(novices.learner)))


def draw_families_and_tasks(n: int, family: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """How often the family of each task is drawn, and each task, (n, tasks) both."""
    return hierarchical_weights([family], n, rng), hierarchical_weights([np.arange(len(family))], n, rng)


def share_inside(families: VarianceSource, learners: VarianceSource, n_tasks: int, level: float) -> float:
    """The share of replicates that an interval of this level holds."""
    total = families.alone + families.own + learners.own
    if not total or n_tasks < 2:
        return level
    # what learners add is a difference, and as unsure as the larger part of it, not as what is left
    of_learners = learners.own + learners.alone if learners.own else 0.0
    parts = ((families.alone, n_tasks), (families.own, families.n), (of_learners, learners.n))
    df = total**2 / sum(own**2 / max(n - 1, 1) for own, n in parts)
    return expanded_level(level, df)


def _variances(influence: Floats, group: Ints) -> tuple[float, float]:
    """Of a sum whose members vary together within groups, and of one whose members vary alone."""
    return float((np.bincount(group, influence) ** 2).sum()), float((influence**2).sum())
