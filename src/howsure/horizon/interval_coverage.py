"""How often the intervals of horizons contain the true value, by simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.horizon.attempt_horizon.interval_coverage import draw_attempt_horizons
from howsure.horizon.time_horizon.interval_coverage import (
    draw_comparisons,
    draw_domains,
    draw_limits,
    draw_time_horizons,
    draw_trends,
)
from howsure.results import Provenance, Result
from howsure.stats._arrays import check_level

__all__ = ["HORIZONS", "HorizonCoverage", "coverage"]

Simulation = Callable[[Mapping[str, Any], float, int], dict[str, list[tuple[Estimate, float]]]]
"""One simulated data set: (design, level, seed) → for each quantity the estimates with their true values."""

HORIZONS: dict[str, tuple[Simulation, Sequence[Mapping[str, Any]]]] = {
    "time": draw_time_horizons,
    "compare": draw_comparisons,
    "limits": draw_limits,
    "trend": draw_trends,
    "domains": draw_domains,
    "attempts": draw_attempt_horizons,
}
"""What is measured, by name: a function that simulates one data set of a design, and the designs. Another kind of horizon is one more entry."""


@dataclass(frozen=True, eq=False, kw_only=True)
class HorizonCoverage(Result):
    """Coverage of the intervals of horizons, in simulations.

    Parameters
    ----------
    rows : pl.DataFrame
        quantity, design, n_simulations, level, coverage (should equal ``level``), monte_carlo_se, median_error (estimate divided by true value, in doublings: the
        bias), median_width (in doublings) and share_open (intervals with an open end).
    provenance : Provenance
        Settings, seed, version and notes.
    """

    name: ClassVar[str] = "horizon_coverage"

    rows: pl.DataFrame
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``horizon_coverage``: one row per quantity and design."""
        return {"horizon_coverage": self.rows}


def coverage(
    of: str = "time",
    *,
    containing: str | None = None,
    n_simulations: int = 200,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> HorizonCoverage:
    """How often intervals of horizons contain the true value, in simulated data sets.

    Parameters
    ----------
    of : str
        A key of `HORIZONS`: ``time``, ``compare`` (ratios of two time horizons), ``limits`` (runs cut at a limit, as each of `ENDINGS`), ``trend`` (doubling times), ``domains`` (growth by domain and its differences), ``attempts``.
    containing : str, optional
        Only designs whose description contains this text, such as ``"model joint, families 25"``.
    n_simulations : int
        Simulated data sets per design; several models in one data set share its tasks.
    level : float
        Nominal coverage, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    progress : callable, optional
        Called with the number of data sets done and their total.

    Returns
    -------
    HorizonCoverage
        Its Monte Carlo standard errors count data sets, not intervals. Data sets that the analysis refuses, such as a frontier with models of two dates, have no interval; a note counts them.

    Examples
    --------
    >>> found = coverage("compare", n_simulations=2)
    >>> found.rows["level"].unique().to_list()
    [0.95]
    """
    check_level(level)
    if of not in HORIZONS:
        raise OptionError.unknown("horizon to simulate", of, HORIZONS)
    if n_simulations < 2:
        raise OptionError(f"n_simulations is {n_simulations}; give at least 2.")
    simulate, every = HORIZONS[of]
    designs = [design for design in every if (containing or "") in _description(design)]
    if not designs:
        raise OptionError(f"No design contains {containing!r}. The designs are: {'; '.join(map(_description, every))}.")
    rows, done, refused = [], 0, []
    for design in designs:
        drawn: dict[str, list[list[tuple[Estimate, float]]]] = {}
        for k in range(n_simulations):
            try:
                for quantity, pairs in simulate(design, level, seed + k).items():
                    drawn.setdefault(quantity, []).append(pairs)
            except InputError as error:
                refused.append(str(error))
            done += 1
            if progress:
                progress(done, n_simulations * len(designs))
        rows += [_row(quantity, design, level, sets) for quantity, sets in drawn.items()]
    settings = {"of": of, "containing": containing, "n_simulations": n_simulations, "level": level}
    notes = [f"{len(refused)} of {done:,} data sets were refused, as in: {refused[0]}"] if refused else []
    return HorizonCoverage(
        rows=pl.DataFrame(rows, infer_schema_length=None),
        provenance=Provenance(settings, seed=seed, notes=tuple(notes)),
    )


def _row(
    quantity: str, design: Mapping[str, Any], level: float, sets: Sequence[Sequence[tuple[Estimate, float]]]
) -> dict[str, Any]:
    held = np.array([np.mean([one.covers(truth) for one, truth in pairs]) for pairs in sets if pairs])
    found = [one for pairs in sets for one, _ in pairs]
    widths = [np.log2(one.high / one.low) for one in found if one.low and one.high and one.low > 0]
    # beyond the range an estimate errs by an unknown amount to that side, which a median can take
    beyond = {"above_range": np.inf, "unbounded": np.inf, "below_range": -np.inf}
    errors = [
        np.log2(one.value / truth)
        if one.state == "ok" and one.value and one.value > 0
        else beyond.get(one.state, np.nan)
        for pairs in sets
        for one, truth in pairs
    ]
    bias = float(np.nanmedian(errors)) if not np.isnan(errors).all() else np.nan
    return {
        "quantity": quantity,
        "design": _description(design),
        "n_simulations": len(held),
        "level": level,
        "coverage": float(held.mean()),
        "monte_carlo_se": float(held.std(ddof=1) / np.sqrt(len(held))) if len(held) > 1 else None,
        "median_error": bias if np.isfinite(bias) else None,
        "median_width": float(np.median(widths)) if widths else None,
        "share_open": float(np.mean([one.low is None or one.high is None for one in found])),
    }


def _description(design: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.removeprefix('n_').replace('_', ' ')} {value}" for name, value in design.items())
