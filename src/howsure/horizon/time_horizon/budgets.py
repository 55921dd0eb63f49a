r"""Time horizons as a function of the budget of a run: tokens, money or time.

With a budget b, a run has succeeded where it ended with a correct answer after spending at most b. A run that ended by itself with a wrong answer fails at every larger
budget; a run that was cut at a limit c is censored: what a larger budget would have brought is unknown. So the success rate of a model at a task is a cumulative
incidence with a competing event (Aalen and Johansen 1978),

.. math:: F(b) = \sum_{b_i \le b} S(b_i^-) \frac{d_i}{r_i}, \qquad S(b) = \prod_{b_i \le b} \Big(1 - \frac{d_i + e_i}{r_i}\Big)

with d successes and e wrong answers among r runs that still go on. What remains unknown, where no run of a cell went beyond the limit, is failure at worst and success at best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.horizon.run_counts import ModelCounts, model_counts
from howsure.horizon.success_rates import check_success_rates
from howsure.horizon.time_horizon.curves import fit_curves, robust_ends, timed
from howsure.horizon.time_horizon.kernels import FITTED
from howsure.horizon.time_horizon.states import horizon
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Bools, Floats, Ints, check_level
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
        ``share_unknown`` (weight of runs whose outcome at this budget is not known because a smaller limit cut them) and ``minutes_at_best`` (the horizon if all of
        these would have succeeded; the interval reaches to its upper end).
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
    """

    name: ClassVar[str] = "horizon_by_budget"

    rows: pl.DataFrame
    spending: str
    n_runs: int
    n_cut: int
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``horizon_by_budget``: one row per model, budget and success rate."""
        return {"horizon_by_budget": self.rows}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.time_horizon.sections import budget_sections

        return budget_sections(self)

    def charts(self) -> dict[str, Chart]:
        """Horizons against budgets, by file name."""
        from howsure.horizon.time_horizon.charts import draw_budgets

        return draw_budgets(self)


def budget_horizons(
    runs: Attempts | Source,
    *,
    of: str = "tokens",
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
        One row per run, with minutes, with the column `of`, and with ``limit`` where a limit cut the run.
    of : str
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
        Intervals are those of `time_horizons`; where outcomes are unknown they reach from the lower end if all of these failed to the upper end if all succeeded.
    """
    check_level(level)
    check_success_rates(success_rates)
    if of not in SPENDINGS:
        raise OptionError.unknown("spending", of, SPENDINGS)
    attempts = Attempts.of(runs)
    if attempts.has("n"):
        raise InputError("Budgets need one row per run; these rows count several runs each.")
    if not attempts.has(of):
        raise InputError(f"The runs have no column {of!r}. Choose another budget: {', '.join(SPENDINGS)}.")
    chosen = attempts.frame.filter(pl.col("kind").is_in(list(kinds)))
    known = chosen.drop_nulls(of)
    if known.is_empty():
        raise InputError(f"No run of kind {' or '.join(kinds)} has a number in the column {of!r}.")
    counts = model_counts(Attempts(known, notes=attempts.notes), kinds=kinds, threshold=threshold)
    n_lost = len(chosen) - len(known)
    notes = [
        *counts.notes,
        *([f"{n_lost:,} of {len(chosen):,} runs do not say their {of} and are excluded."] if n_lost else []),
    ]
    cells = _Cells.of(known, counts, of, threshold)
    amounts = sorted({float(b) for b in budgets}) if len(budgets) else _round_budgets(cells)
    if any(not b > 0 for b in amounts):
        raise OptionError(f"Budget {min(amounts):g} is not above 0.")
    rows = []
    for budget in amounts:
        rate, unknown = cells.incidence(budget)
        worst, best = (
            timed(replace(counts, successes=part * counts.n), weights=weights, regularisation=regularisation, noise=minutes_noise or 0.0)
            for part in (rate, rate + unknown)
        )  # fmt: skip
        curves = fit_curves(worst), fit_curves(best)
        for m, model in enumerate(worst.counts.models):
            share = float((worst.weight[m] * (best.rates[m] - worst.rates[m])).sum())
            for q in success_rates:
                found = [
                    horizon(
                        curve.of(m), None, data.x[data.counts.n[m] > 0], q, level, int(data.counts.n[m].sum()),
                        ends=robust_ends(data, m, q, level) if curve.outcome[m] == FITTED else None,
                    )
                    for curve, data in zip(curves, (worst, best), strict=True)
                ]  # fmt: skip
                rows.append(
                    {"model": model, "budget": budget, "success_rate": q}
                    | columns_of(minutes=_widest(found[0], found[1]) if share > 1e-12 else found[0])
                    | {
                        "success": float((worst.weight[m] * worst.rates[m]).sum()),
                        "share_unknown": share,
                        "minutes_at_best": found[1].value if found[1].state == "ok" else None,
                    }
                )
    settings = {
        "of": of, "budgets": amounts, "success_rates": list(success_rates), "weights": weights, "regularisation": regularisation,
        "minutes_noise": minutes_noise, "level": level, "kinds": list(kinds), "threshold": threshold,
    }  # fmt: skip
    numbers = dict.fromkeys(("minutes", "minutes_low", "minutes_high", "minutes_at_best"), pl.Float64)
    return BudgetHorizons(
        rows=pl.DataFrame(rows, schema_overrides=numbers, infer_schema_length=None),
        spending=of,
        n_runs=len(known),
        n_cut=int(cells.is_cut.sum()),
        level=level,
        provenance=Provenance(settings, counts.digest, None, tuple(notes)),
    )


def _widest(worst: Estimate, best: Estimate) -> Estimate:
    """The estimate if all unknown outcomes are failures, with an interval that reaches to what all successes would allow."""
    is_open = best.state != "ok" or best.high is None
    return replace(
        worst,
        high=None if is_open else best.high,
        high_state="unbounded" if is_open else best.high_state,
        reason="; ".join(filter(None, (worst.reason, "some outcomes at this budget are unknown"))),
    )


@dataclass(frozen=True, eq=False)
class _Cells:
    """Runs in the order of model, task and what they spent."""

    shape: tuple[int, int]
    model: Ints
    task: Ints
    spent: Floats
    is_success: Bools
    is_cut: Bools

    @classmethod
    def of(cls, rows: pl.DataFrame, counts: ModelCounts, of: str, threshold: float | None) -> _Cells:
        is_cut = pl.col("limit").is_not_null() if "limit" in rows.columns else pl.lit(False)
        success = (pl.col("score") == 1) if threshold is None else pl.col("score") >= threshold
        frame = rows.select(
            pl.col("subject").cast(pl.Enum(counts.models)).to_physical().cast(pl.Int64).alias("model"),
            pl.col("task").cast(pl.Enum(counts.tasks["task"])).to_physical().cast(pl.Int64).alias("task"),
            pl.col(of).cast(pl.Float64).alias("spent"),
            success.alias("is_success"),
            is_cut.alias("is_cut"),
        ).with_columns(is_cut=pl.col("is_cut") & ~pl.col("is_success"))
        # of runs that spent the same, those that ended by themselves come first
        frame = frame.sort("model", "task", "spent", "is_cut")
        return cls(
            counts.n.shape, *(frame[name].to_numpy() for name in ("model", "task", "spent", "is_success", "is_cut"))
        )

    def incidence(self, budget: float) -> tuple[Floats, Floats]:
        """Cumulative incidence of success within a budget, and the share whose outcome there is unknown, of each model at each task.

        The weight of a run that was cut before the budget goes in equal parts to the runs of its cell that spent more (Efron 1967): what results is the
        estimate of Aalen and Johansen. If there are none, it is unknown.
        """
        rate, unknown = np.zeros(self.shape), np.zeros(self.shape)
        cell = self.model * self.shape[1] + self.task
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(cell)], strict=True):
            m, t, n = int(self.model[start]), int(self.task[start]), end - start
            weight = 1 / n
            for k in range(start, end):
                if self.spent[k] > budget or (self.is_cut[k] and self.spent[k] == budget):
                    break
                if self.is_cut[k]:
                    later = end - k - 1
                    if later:
                        weight += weight / later
                    else:
                        unknown[m, t] += weight
                elif self.is_success[k]:
                    rate[m, t] += weight
        return rate, unknown


def _round_budgets(cells: _Cells) -> list[float]:
    """Round numbers from what the cheapest successes cost to the most that a run spent, evenly on a log scale."""
    paid = cells.spent[(cells.spent > 0) & cells.is_success]
    low = float(np.quantile(paid, 0.05)) if len(paid) else float(cells.spent[cells.spent > 0].min(initial=1.0))
    steps = np.geomspace(low, max(float(cells.spent.max()), low), _N_BUDGETS)
    return sorted({float(f"{step:.1g}") for step in steps})
