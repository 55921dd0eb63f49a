"""How often the intervals of a scale contain the true value, by simulation: why `errors` is the default, and where an assumption that fails breaks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.compute import replicate
from howsure.errors import OptionError
from howsure.results import Provenance, Result
from howsure.stats._arrays import check_level
from howsure.stats.replicates import probability_greater, replicate_interval
from howsure.stitch.cleaning import prepare_scores
from howsure.stitch.model.problem import (
    AnchorBenchmark,
    Constraint,
    Floats,
    Ints,
    Problem,
    align,
    hold_reference,
    linked,
    most_used,
)
from howsure.stitch.model.replicates import Preset, Resample, draw_replicates, half_disagreement, preset_called
from howsure.stitch.model.residuals import fit_residuals
from howsure.stitch.prediction import intervals_of
from howsure.stitch.simulator import DEPARTURES, SimulatedScores, simulate
from howsure.stitch.summaries import rank_columns

__all__ = ["NONE", "PAIRS", "QUANTITIES", "CapabilityCoverage", "coverage"]

NONE = "none"
"""What the column ``departure`` says where all assumptions hold."""
PAIRS = ("any two models", "two models within 0.5", "two models of a family")
QUANTITIES = ("capabilities", "the 30 best", "the 30 worst", *PAIRS, "ranks")
"""What the refits give intervals for. The best and the worst are so by their true capabilities; in a table of fewer than 90 models they are a third each."""
_BINS = (0.5, 0.7, 0.9, 0.99)
_P_GREATER = tuple(f"P(A > B) from {low:g} to {high:g}" for low, high in pairwise(_BINS))
_PREDICTIONS = "held-out scores"
_MOST_PAIRS = 3000
_HELD_OUT = 0.1
_ENDS = 30


@dataclass(frozen=True, eq=False, kw_only=True)
class CapabilityCoverage(Result):
    """Coverage of the intervals of a scale, in simulations.

    Parameters
    ----------
    rows : pl.DataFrame
        departure (from the assumptions), resample, of (`QUANTITIES`, held-out scores in their prediction intervals, and probabilities in bins), level, coverage (should equal ``level``), monte_carlo_se
        and mean_width (in units of the scale, ranks or scores). For a bin of P(A > B), ``level`` is the mean probability and ``coverage`` the share of pairs in which A is better.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "capability_coverage"

    rows: pl.DataFrame
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One row per departure, way of redrawing and quantity."""
        return {"coverage": self.rows}


@checked
def coverage(
    n_simulations: int = 100,
    *,
    resamples: Sequence[Resample] = ("errors",),
    departures: Sequence[str] = (NONE,),
    preset: str = "default",
    like: Problem | None = None,
    n_replicates: int = 400,
    level: float = 0.9,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CapabilityCoverage:
    """Coverage of the intervals of each way of resampling, in simulated data sets, also where an assumption does not hold.

    The true capabilities are moved and stretched to the mean and the standard deviation of the estimates, as those of refits are (mean–sigma linking).

    Parameters
    ----------
    n_simulations : int
        Simulated data sets for each departure.
    resamples : sequence of str
        Ways of redrawing (`howsure.stitch.model.replicates`).
    departures : sequence of str
        Assumptions that do not hold (`howsure.stitch.simulator.DEPARTURES`), or "none".
    preset : str
        What is fitted (`howsure.stitch.model.replicates`).
    like : Problem, optional
        Dates, families and missing scores of a real table (`howsure.stitch.prepare_scores`).
    n_replicates : int
        Refits of each data set.
    level : float
        Nominal coverage, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    scheduler : str, optional
        Address of a Dask scheduler.
    progress : callable, optional
        Is called with the number of data sets done and their total.
    """
    check_level(level)
    if n_simulations < 2:
        raise OptionError(
            f"n_simulations is {n_simulations}; give at least 2. With 100 the Monte Carlo standard error is about 0.004."
        )
    for name in departures:
        if name not in (NONE, *DEPARTURES):
            raise OptionError.unknown("departure from the model", name, (NONE, *DEPARTURES))
    rows: list[dict[str, Any]] = []
    for place, departure in enumerate(departures):

        def tell(done: int, total: int, before: int = place * n_simulations) -> None:
            if progress:
                progress(before + done, n_simulations * len(departures))

        work = partial(_try_simulations, tuple(resamples), departure, preset, like, n_replicates, level)
        drawn = replicate(
            work, n_simulations, seed=seed, batch=1, scheduler=scheduler, progress=tell, what="simulations"
        )
        quantities = (*QUANTITIES, *_P_GREATER)
        tried: list[tuple[str, str, Floats]] = [(resample, of, drawn[:, r, k]) for (r, resample), (k, of) in product(enumerate(resamples), enumerate(quantities))]  # fmt: skip
        tried.append(("", _PREDICTIONS, drawn[:, 0, -1]))
        rows += [_row(departure, *one, level) for one in tried]
    settings = {"n_simulations": n_simulations, "n_replicates": n_replicates, "preset": preset, "level": level}
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return CapabilityCoverage(rows=frame, provenance=Provenance(settings, seed=seed))


def _try_simulations(
    resamples: tuple[Resample, ...], departure: str, preset: str, like: Problem | None, n_replicates: int, level: float,
    rng: np.random.Generator, size: int,
) -> Floats:  # fmt: skip
    """Nominal level, coverage and mean width: (data sets, ways of redrawing, quantities and last the predictions, 3)."""
    chosen, n = preset_called(preset), len(QUANTITIES) + len(_P_GREATER) + 1
    out = np.full((size, len(resamples), n, 3), np.nan)
    for w in range(size):
        world = simulate(like=like, departure=None if departure == NONE else departure, seed=int(rng.integers(2**31)))
        problem = prepare_scores(world.scores, min_benchmarks=1)
        anchored = AnchorBenchmark(most_used(problem))
        solution = chosen.solve(problem, anchored, 1)
        constraint = hold_reference(anchored, solution.theta, solution.layout, range(len(problem.models)))
        estimate = align(constraint, solution.theta, solution.layout).capability
        truth = _truth(world, problem, estimate)
        pairs = _pairs(problem, truth, rng)
        wider = half_disagreement(solution) ** 0.5 if "errors" in resamples else 1.0
        for r, resample in enumerate(resamples):
            drawn = draw_replicates(
                solution,
                constraint,
                n_replicates,
                resample=resample,
                error_factor=wider if resample == "errors" else 1.0,
                seed=int(rng.integers(2**31)),
                workers=1,
            ).capability
            out[w, r, :-1] = _tried(drawn, estimate, truth, pairs, level)
        out[w, :, -1] = _predicted(problem, chosen, anchored, level, rng)
    return out


def _truth(world: SimulatedScores, problem: Problem, estimate: Floats) -> Floats:
    """True capabilities in the problem's order and in the unit of the estimate."""
    capability = dict(zip(world.models["model"], world.models["capability"], strict=True))
    values = np.array([capability[name] for name in problem.models], np.float64)
    return linked(values, values, estimate)


def _pairs(problem: Problem, truth: Floats, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    """Of each kind at most some thousands, drawn at random."""
    first, second = np.triu_indices(len(truth), 1)
    is_near = np.abs(truth[first] - truth[second]) < 0.5
    kinds = [np.ones(len(first), dtype=bool), is_near, problem.family[first] == problem.family[second]]
    chosen = [rng.permutation(np.flatnonzero(kind))[:_MOST_PAIRS] for kind in kinds]
    return [(first[some], second[some]) for some in chosen]


def _tried(
    drawn: Floats, estimate: Floats, truth: Floats, pairs: list[tuple[Ints, Ints]], level: float
) -> list[tuple[float, float, float]]:
    """Each quantity's nominal level, coverage and mean width."""
    order, n_ends = np.argsort(-truth, kind="stable"), min(_ENDS, len(truth) // 3)
    found = [_covered(drawn[:, some], truth[some], level) for some in (order, order[:n_ends], order[len(order) - n_ends :])]  # fmt: skip
    found += [_covered(drawn[:, a] - drawn[:, b], truth[a] - truth[b], level) for a, b in pairs]
    ranks = rank_columns(estimate, drawn, level)
    true_rank = np.argsort(order, kind="stable") + 1
    is_in = (ranks["rank_low"] <= true_rank) & (true_rank <= ranks["rank_high"])
    found.append((level, float(is_in.mean()), float(np.mean(ranks["rank_high"] - ranks["rank_low"]))))
    a, b = pairs[0]
    p = probability_greater(drawn[:, a], drawn[:, b])
    is_greater, p = np.where(p < 0.5, truth[a] < truth[b], truth[a] > truth[b]), np.maximum(p, 1 - p)
    for low, high in pairwise(_BINS):
        here = (p >= low) & (p < high)
        found.append((float(p[here].mean()), float(is_greater[here].mean()), np.nan) if here.any() else (np.nan,) * 3)
    return found


def _covered(drawn: Floats, true: Floats, level: float) -> tuple[float, float, float]:
    if not len(true):
        return level, np.nan, np.nan
    found = replicate_interval(drawn, level)
    covers = np.where(found.state == "ok", (found.low <= true) & (true <= found.high), np.nan)
    width = (found.high - found.low)[np.isfinite(found.low) & np.isfinite(found.high)]
    return level, float(np.nanmean(covers)), float(width.mean())


def _predicted(
    problem: Problem, chosen: Preset, anchored: Constraint, level: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """A tenth of the scores, predicted from the others."""
    is_out = rng.random(problem.n_observations) < _HELD_OUT
    known, new = problem.keep(~is_out), problem.keep(is_out)
    found = fit_residuals(chosen.solve(known, anchored, 1)).predict(new.model, new.benchmark, new.n_effective)
    *_, low, high = intervals_of(found, level)
    return level, float(((low <= new.score) & (new.score <= high)).mean()), float((high - low).mean())


def _row(departure: str, resample: str, of: str, tried: Floats, level: float) -> dict[str, Any]:
    told = tried[np.isfinite(tried[:, 1])]
    if len(told) < 2:
        return {"departure": departure, "resample": resample, "of": of, "level": level, "coverage": None, "monte_carlo_se": None, "mean_width": None}  # fmt: skip
    width = told[:, 2].mean()
    return {
        "departure": departure,
        "resample": resample,
        "of": of,
        "level": float(told[:, 0].mean()),
        "coverage": float(told[:, 1].mean()),
        "monte_carlo_se": float(told[:, 1].std(ddof=1) / np.sqrt(len(told))),
        "mean_width": float(width) if np.isfinite(width) else None,
    }
