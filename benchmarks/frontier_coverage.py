"""The share of 95 % intervals of `howsure stitch forecast` that contain the true frontier, by kind of simulated progress and horizon."""

from __future__ import annotations

from howsure.stitch.forecasting.frontier import frontier_coverage

__all__ = ["measure"]


def measure(n_simulations: int = 200) -> dict[str, float]:
    """Coverage, share of the width that would suffice, and mean absolute error for each kind and horizon, beside the error of "no change"."""
    found: dict[str, float] = {}
    for row in frontier_coverage(n_simulations).rows(named=True):
        name = f"{row['kind']}, {row['ahead']}"
        found |= {f"{name}, coverage": row["coverage"], f"{name}, share of the width needed": row["width_needed"]}
        found[f"{name}, error"] = row["mae"]
        found[f"{name}, error of no change"] = row["mae_no_change"]
    return found
