"""A fitted problem as the solver left it, and the published objective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from howsure.stitch.model.anchors import AnchorBenchmark, Constraint
from howsure.stitch.model.curvature import spread
from howsure.stitch.model.kernels import fit as minimise
from howsure.stitch.model.layout import Fitted, Floats, Layout, Prior, Rows
from howsure.stitch.model.noise import ScoreNoise, estimate_noise
from howsure.stitch.model.problem import Problem

__all__ = ["MOST_ITERATIONS", "RIDGE", "TOLERANCE", "Solution", "solve_ridge"]

RIDGE = 0.1
TOLERANCE = 1e-9
MOST_ITERATIONS = 500
_FARTHEST = 10.0  # capabilities and difficulties
_SLOPES = (0.1, 10.0)


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimum and all that made it.

    ``prior_sd`` is how unsure each prior mean is, 0 for a mere penalty. ``is_by_noise`` says that a score's weight is the inverse of its
    variance; otherwise all weigh the same on the way from floor to ceiling.
    """

    problem: Problem
    rows: Rows
    weights: Floats
    prior: Prior
    fitted: Fitted
    noise: ScoreNoise
    prior_sd: Floats
    is_by_noise: bool
    learned: Mapping[str, float] = field(default_factory=dict)

    @property
    def theta(self) -> Floats:
        """The parameters, in the solver's own constraint."""
        return self.fitted.theta

    @property
    def layout(self) -> Layout:
        """Where each kind of parameter lies."""
        return self.rows.layout


def solve_ridge(
    problem: Problem,
    constraint: Constraint,
    *,
    ridge: float = RIDGE,
    variances: Floats | None = None,
    equal_slopes: bool = False,
    start: Floats | None = None,
) -> Solution:
    r"""Least squares with one ridge over all parameters: the objective of "A Rosetta Stone for AI Benchmarks".

    .. math:: \tfrac12 \sum_i (\hat y_i - y_i)^2 + \frac{\lambda}{2 n} \Bigl(\sum C^2 + \sum D^2 + \sum a^2\Bigr)

    over the n free parameters, C and D within ±10, slopes within 0.1 to 10. The anchor's slope is fixed; its difficulty is not, since
    the ridge pins the location, and the scale is moved afterwards. With ``equal_slopes`` all slopes are 1 (Rasch); with ``variances`` of the
    scores their errors are weighted.
    """
    rows = problem.rows()
    prior = _ridge_prior(rows.layout, constraint, ridge, equal_slopes=equal_slopes)
    weights = 1 / rows.span[rows.benchmark] ** 2 if variances is None else variances.mean() / variances
    begin = np.zeros(rows.layout.size) if start is None else start
    fitted = minimise(rows, weights, begin, prior, TOLERANCE, MOST_ITERATIONS)
    around = spread(rows, weights, fitted.theta, prior)
    noise = estimate_noise(problem, rows, fitted.theta, weights, around)
    return Solution(
        problem,
        rows,
        weights,
        prior,
        fitted,
        noise,
        np.zeros(rows.layout.size),
        variances is not None,
        {"ridge": ridge},
    )


def _ridge_prior(at: Layout, constraint: Constraint, ridge: float, *, equal_slopes: bool) -> Prior:
    low, high = np.full(at.size, -_FARTHEST), np.full(at.size, _FARTHEST)
    low[at.log_slope], high[at.log_slope] = np.log(_SLOPES)
    if equal_slopes:
        low[at.log_slope] = high[at.log_slope] = 0.0
    elif isinstance(constraint, AnchorBenchmark):
        anchor = np.arange(at.size)[at.log_slope][constraint.benchmark]
        low[anchor] = high[anchor] = np.log(constraint.slope)
    is_free = low < high
    return Prior(np.zeros(at.size), np.where(is_free, ridge / is_free.sum(), 0.0), low, high, True)
