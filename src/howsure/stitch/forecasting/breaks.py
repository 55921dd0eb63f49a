"""Whether the frontier's line breaks, or only looks as if it did."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import partial

import numpy as np

from howsure.compute import replicate
from howsure.estimates import Estimate, State
from howsure.stats._arrays import Bools, Floats, Ints, t_quantile
from howsure.stats.trends import is_frontier
from howsure.stitch.forecasting.frontier import DAYS_A_YEAR
from howsure.stitch.forecasting.shapes import FEWEST_POINTS, best_break

__all__ = ["BreakTest", "find_break"]


@dataclass(frozen=True)
class BreakTest:
    """The best place for a break, and how often chance alone makes one as clear.

    ``p`` is the share of simulated data sets without any break whose statistic is at least as large, the real one counted with them. Called a break
    below 0.05, the test has a false positive in 5 % of them. The slopes are capability per year, as if the date had been
    known beforehand, and their intervals are too narrow for that.
    """

    date: datetime.date | None
    statistic: float | None
    p: float | None
    before: Estimate
    after: Estimate
    n_simulations: int
    state: State = "ok"
    reason: str = ""


def find_break(
    days: Ints, capability: Floats, *, top_n: int = 1, level: float = 0.95, n_simulations: int = 999, seed: int = 0
) -> BreakTest:
    """Test one break in the frontier's trend against simulated data sets in which all models scatter around one straight line.

    In each of them every model keeps its date, and the residuals of all models around their line are dealt out anew; then the frontier
    is picked and the best break sought as in the real one. So the false alarms that come from picking the break's place, from few
    points and from the frontier's being a running maximum are counted in.
    """
    x, y = _sorted(days, capability, is_frontier(days, capability, top_n))
    found = best_break(x, y)
    if found is None:
        reason = f"{len(x)} frontier models; a break needs {FEWEST_POINTS}, three on either side"
        nothing = Estimate.without("too_few", reason, level=level)
        return BreakTest(None, None, None, nothing, nothing, 0, "too_few", reason)
    knot, statistic = found
    drawn = replicate(partial(_statistics, days, capability, top_n), n_simulations, seed=seed, batch=100)
    p = (1 + int((drawn >= statistic).sum())) / (1 + len(drawn))
    before, after = _slopes(x, y, x[knot], level)
    day = datetime.date(1970, 1, 1) + datetime.timedelta(days=round(x[knot] * DAYS_A_YEAR))
    return BreakTest(day, statistic, p, before, after, len(drawn))


def _sorted(days: Ints, capability: Floats, chosen: Bools) -> tuple[Floats, Floats]:
    order = np.argsort(days[chosen], kind="stable")
    return (days[chosen] / DAYS_A_YEAR)[order], capability[chosen][order]


def _statistics(days: Ints, capability: Floats, top_n: int, rng: np.random.Generator, size: int) -> Floats:
    """The statistic in data sets without a break; 0 where the frontier is too short for one."""
    x = days / DAYS_A_YEAR
    expected = np.polynomial.Polynomial.fit(x, capability, 1)(x)
    simulated = expected + rng.permuted(np.tile(capability - expected, (size, 1)), axis=1)
    chosen = is_frontier(days, simulated, top_n)
    found = [best_break(*_sorted(days, each, one)) for each, one in zip(simulated, chosen, strict=True)]
    return np.array([0.0 if one is None else one[1] for one in found])


def _slopes(x: Floats, y: Floats, knot: float, level: float) -> tuple[Estimate, Estimate]:
    """Capability per year on either side of the knot, with t intervals."""
    design = np.column_stack([np.ones(len(x)), np.minimum(0.0, x - knot), np.maximum(0.0, x - knot)])
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    residual = y - design @ coefficients
    variance = residual @ residual / (len(x) - 3) * np.diag(np.linalg.inv(design.T @ design))
    reach = t_quantile(level, len(x) - 3) * np.sqrt(variance)
    before, after = (
        Estimate(value, value - far, value + far, level) for value, far in zip(coefficients[1:], reach[1:], strict=True)
    )
    return before, after
