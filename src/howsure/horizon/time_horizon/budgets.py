r"""Time horizons as a function of the budget of a run: tokens, money or time.

With a budget b, a run has succeeded where it ended with a correct answer after spending at most b. A run that ended by itself with a wrong answer fails at every larger
budget; a run that was cut at a limit c is censored: what a larger budget would have brought is unknown. So the success rate of a model at a task is a cumulative
incidence with a competing event (Aalen and Johansen 1978),

.. math:: F(b) = \sum_{b_i \le b} S(b_i^-) \frac{d_i}{r_i}, \qquad S(b) = \prod_{b_i \le b} \Big(1 - \frac{d_i + e_i}{r_i}\Big)

with d successes and e wrong answers among r runs that still go on. What remains unknown, where no run of a cell went beyond the limit, may be failure or success: intervals include both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.horizon.run_counts import SpendingCells, check_success_rates, model_counts
from howsure.horizon.time_horizon.curves import family_errors, family_horizon, fit_curves, timed
from howsure.horizon.time_horizon.horizons import family_notes, joint_horizons, lacks_families
from howsure.results import Provenance, Result, columns_of, end_states
from howsure.stats._arrays import check_level
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["SPENDINGS", "BudgetHorizons", "budget_horizons"]

SPENDINGS = ("tokens", "cost", "seconds")
"""What a budget is measured in: columns of the attempts."""
_N_BUDGETS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class BudgetHorizons(Result):
    """Time horizons of models by budget.

    Parameters
    ----------
    rows : pl.DataFrame
        One row per model, budget and success rate: the horizon in minutes with its interval, ``success`` (weighted cumulative incidence),
        ``share_unknown`` (weight of runs whose outcome at this budget is not known because a smaller limit cut them) and ``minutes_at_best`` (the
        longest horizon that any of their outcomes would give; the interval includes all of them), and ``effective_families`` (`time_horizons`).
    spending : str
        What the budget is measured in: ``tokens``, ``cost`` (dollars) or ``seconds``.
    n_runs : int
        Number of runs.
    n_cut : int
        Number of runs that were cut at a limit.
    level : float
        Coverage of the intervals.
    provenance : Provenance
        Settings, digest of the input, version and notes.
    beside : pl.DataFrame | None
        Horizons of the joint model where fewer than 4 effective families determine a curve, at budgets at which all outcomes are known; None where there are none.
    """

    name: ClassVar[str] = "horizon_by_budget"

    rows: pl.DataFrame
    spending: str
    n_runs: int
    n_cut: int
    level: float
    provenance: Provenance
    beside: pl.DataFrame | None = None

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``horizon_by_budget``: one row per model, budget and success rate; ``joint_horizons``, where there are any, those of the joint model."""
        return {"horizon_by_budget": self.rows} | ({} if self.beside is None else {"joint_horizons": self.beside})

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.time_horizon.sections import budget_sections

        return budget_sections(self)

    def charts(self) -> dict[str, Chart]:
        """Horizons against budgets, by file name."""
        from howsure.horizon.time_horizon.charts import draw_budgets

        return draw_budgets(self)


@checked
def budget_horizons(
    runs: Attempts | Source,
    *,
    unit: str = "tokens",
    budgets: Sequence[float] = (),
    success_rates: Sequence[float] = (0.5,),
    weights: str = "invsqrt",
    regularisation: float = 1e-5,
    minutes_noise: float | None = None,
    level: float = 0.95,
    kinds: Sequence[str] = ("model",),
    threshold: float | None = None,
) -> BudgetHorizons:
    """The length of tasks at which each model's success within a budget falls to each of `success_rates`.

    Parameters
    ----------
    runs : Attempts or frame
        One row per run, with minutes, with the column `unit`, and with ``limit`` where a limit cut the run.
    unit : str
        ``tokens``, ``cost`` (dollars) or ``seconds``.
    budgets : sequence of float
        Amounts per run; by default eight round numbers from what the cheapest successes cost up to the most that a run spent.
    success_rates : sequence of float
        Shares between 0 and 1.
    weights, regularisation : str, float
        As in `time_horizons`.
    minutes_noise : float, optional
        Error of the human times, in doublings.
    level : float
        Coverage of the intervals.
    kinds : sequence of str
        Subjects of these kinds are included.
    threshold : float, optional
        The smallest score that is a success.

    Returns
    -------
    BudgetHorizons
        Intervals are those of `time_horizons`; where outcomes are unknown they include every outcome that these could have had, as with ``limits`` bounds there.
    """
    check_level(level)
    check_success_rates(success_rates)
    if unit not in SPENDINGS:
        raise OptionError.unknown("unit", unit, SPENDINGS)
    attempts = Attempts.of(runs).counted
    if attempts.has("n"):
        raise InputError("Budgets need one row per run; these rows count several runs each.")
    if not attempts.has(unit):
        raise InputError(f"The runs have no column {unit!r}. Choose another budget: {', '.join(SPENDINGS)}.")
    chosen = attempts.frame.filter(pl.col("kind").is_in(list(kinds)))
    known = chosen.drop_nulls(unit)
    if known.is_empty():
        raise InputError(f"No run of kind {' or '.join(kinds)} has a number in the column {unit!r}.")
    counts = model_counts(attempts.derive(known.lazy()), kinds=kinds, threshold=threshold)
    n_lost = len(chosen) - len(known)
    notes = [
        *counts.notes,
        *([f"{n_lost:,} of {len(chosen):,} runs do not say their {unit} and are excluded."] if n_lost else []),
    ]
    success = (pl.col("score") == 1) if threshold is None else pl.col("score") >= threshold
    cells = SpendingCells.of(known, counts, unit, success)
    amounts = sorted({float(b) for b in budgets}) if len(budgets) else _round_budgets(cells)
    if any(not b > 0 for b in amounts):
        raise OptionError(f"Budget {min(amounts):g} is not above 0.")
    rows, joint, n_effective = [], [], dict[str, float]()
    for budget in amounts:
        rate, unknown = cells.incidence(budget)
        data = timed(
            replace(counts, successes=rate * counts.n, unknown=unknown), weights=weights, regularisation=regularisation, noise=minutes_noise or 0.0
        )  # fmt: skip
        curves = fit_curves(data)
        assert data.cut is not None
        for m, model in enumerate(data.counts.models):
            errors = family_errors(data, m)
            n = None if errors is None or errors.signs is not None else errors.n_effective
            if n is not None:
                n_effective[f"{model} at {budget:g}"] = n
            for q in success_rates:
                found, _, most = family_horizon(data, curves.of(m), m, q, level, errors)
                rows.append(
                    {"model": model, "budget": budget, "success_rate": q}
                    | columns_of(minutes=found)
                    | end_states(minutes=found)
                    | {
                        "success": float((data.weight[m] * data.rates[m]).sum()),
                        "share_unknown": float(data.cut[m].sum()),
                        "minutes_at_best": most,
                        "effective_families": n,
                    }
                )
        few = [
            m for m, name in enumerate(data.counts.models) if lacks_families(n_effective.get(f"{name} at {budget:g}"))
        ]
        if few and not data.cut.any():
            beside = joint_horizons(data, few, success_rates, level, seed=0)
            joint.append(beside.insert_column(1, pl.lit(budget).alias("budget")))
    settings = {
        "unit": unit, "budgets": amounts, "success_rates": list(success_rates), "weights": weights, "regularisation": regularisation,
        "minutes_noise": minutes_noise, "level": level, "kinds": list(kinds), "threshold": threshold,
    }  # fmt: skip
    numbers = dict.fromkeys(
        ("minutes", "minutes_low", "minutes_high", "minutes_at_best", "effective_families"), pl.Float64
    )
    notes += family_notes(n_effective, has_joint=bool(joint))
    return BudgetHorizons(
        rows=pl.DataFrame(rows, schema_overrides=numbers, infer_schema_length=None),
        spending=unit,
        n_runs=len(known),
        n_cut=int(cells.is_cut.sum()),
        level=level,
        provenance=Provenance(settings, counts.digest, None, tuple(notes)),
        beside=pl.concat(joint) if joint else None,
    )


def _round_budgets(cells: SpendingCells) -> list[float]:
    """Round numbers from what the cheapest successes cost to the most that a run spent, evenly on a log scale."""
    paid = cells.spent[(cells.spent > 0) & cells.is_success]
    low = float(np.quantile(paid, 0.05)) if len(paid) else float(cells.spent[cells.spent > 0].min(initial=1.0))
    steps = np.geomspace(low, max(float(cells.spent.max()), low), _N_BUDGETS)
    return sorted({float(f"{step:.1g}") for step in steps})
