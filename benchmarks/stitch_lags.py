"""Bias and coverage of the lags of `howsure stitch lag` where the true capabilities are known.

Two groups release models at random over three years. Capabilities scatter by 0.45 around a line of 0.8 per year; the second line is ahead by the lag. Only estimates of the capabilities are known, with a standard error, and refits scatter around these as
much again. Both groups' best models are therefore in part lucky ones, the more so the more models a group has. Intervals are 95 %; ``latest`` is the lag at the weaker group's best model.
"""

from __future__ import annotations

import numpy as np

from howsure.stats.replicates import replicate_interval
from howsure.stitch.forecasting.lags import mean_lag
from howsure.stitch.model.problem import Floats, Ints

CASES = ((20, 20, 6, 0.12), (10, 40, 6, 0.12), (10, 40, 0, 0.12), (20, 20, 6, 0.25), (10, 40, 6, 0.25))
"""Models of either group, the lag in months, the standard error of a capability."""
REPLICATES = 120


def measure(n_simulations: int = 150) -> dict[str, float]:
    """Bias in months and coverage for each case, each with its Monte Carlo standard error."""
    found: dict[str, float] = {}
    for n_a, n_b, lag, error in CASES:
        rows = [_simulated(n_a, n_b, lag, error, number) for number in range(n_simulations)]
        off, covered = (np.array([row[part] for row in rows if row is not None]) for part in (0, 1))
        for k, name in enumerate(("mean", "latest")):
            label = f"{n_a} and {n_b} models, lag {lag}, error {error}, {name}"
            found |= {f"{label}, bias": float(off[:, k].mean()), f"{label}, coverage": float(covered[:, k].mean())}
            found[f"{label}, standard error of the bias"] = float(off[:, k].std() / len(off) ** 0.5)
            found[f"{label}, standard error of the coverage"] = float(covered[:, k].std() / len(off) ** 0.5)
    return found


def _simulated(n_a: int, n_b: int, lag: int, error: float, number: int) -> tuple[Floats, Floats] | None:
    """Errors of the mean and the latest lag, and whether their intervals contain the true ones; None where no capability was reached by both."""
    rng = np.random.default_rng([n_a, n_b, lag * 10, int(error * 100), number])

    def released(n: int, months: int) -> tuple[Ints, Floats]:
        years = np.sort(rng.uniform(0, 3, n))
        return (18_000 + 365.25 * years).astype(np.int64), 0.8 * (years - months / 12) + 0.45 * rng.standard_normal(n)

    (days_a, true_a), (days_b, true_b) = released(n_a, lag), released(n_b, 0)
    seen_a, seen_b = (true + error * rng.standard_normal(len(true)) for true in (true_a, true_b))
    true, estimate = (np.array(mean_lag((days_a, a), (days_b, b))[:2]) for a, b in ((true_a, true_b), (seen_a, seen_b)))
    drawn = [
        mean_lag(
            (days_a, seen_a + error * rng.standard_normal(n_a)), (days_b, seen_b + error * rng.standard_normal(n_b))
        )[:2]
        for _ in range(REPLICATES)
    ]
    if np.isnan(true).any() or np.isnan(estimate).any():
        return None
    interval = replicate_interval(np.array(drawn), 0.95)
    return estimate - true, np.asarray((interval.low <= true) & (true <= interval.high), dtype=np.float64)
