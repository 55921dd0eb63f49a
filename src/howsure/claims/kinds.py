"""How each kind of claim is computed: its choices, its quantity under every specification, and its tipping points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from howsure.claims.claim_files import Claim
from howsure.claims.multiverse import Fits, TippingPoint
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.evals.item_means import Items, item_weights
from howsure.evals.leaderboards import leaderboard
from howsure.evals.specifications import (
    ClusterDraws,
    attempts_under,
    difference_under,
    eval_choices,
    items_under,
    mean_under,
    only_domain,
)
from howsure.horizon.time_horizon.specifications import (
    HorizonCells,
    draw_horizons,
    fit_horizons,
    horizon_cells,
    plan_of,
    time_choices,
)
from howsure.results.choices import Choices, Specification
from howsure.stats._arrays import Floats
from howsure.stats.replicates import replicate_differences, replicate_interval
from howsure.tables import Attempts

__all__ = ["Instrument", "instrument_of"]

_MOST_FLIPS = 400
_RANK_REPLICATES = 500

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Instrument:
    """What one claim needs: its choices, and a function from specifications to fits."""

    choices: Choices
    fit: Callable[..., Fits]
    n_rows: int


def instrument_of(claim: Claim, attempts: Attempts) -> Instrument:
    """The choices that these attempts allow for a claim, and how it is computed under them.

    Parameters
    ----------
    claim : Claim
        The claim.
    attempts : Attempts
        The data.
    """
    names = attempts.lazy.select(pl.col("subject").unique().sort()).collect(engine="streaming")["subject"].to_list()
    for name in claim.models:
        if name not in names:
            raise OptionError.unknown("model", name, names)
    if claim.kind == "horizon":
        if not attempts.has("minutes"):
            raise InputError(f"{claim} The attempts have no column minutes, what an expert needs for each task.")
        cells = horizon_cells(attempts, claim.models)

        def fit_horizon(specifications: Sequence[Specification], **options: object) -> Fits:
            return _horizon_fits(claim, cells, specifications, **options)  # type: ignore[arg-type]

        return Instrument(time_choices(cells), fit_horizon, int(cells.runs.sum()))
    own = only_domain(attempts, claim.on)

    def fit_evals(specifications: Sequence[Specification], **options: object) -> Fits:
        return _eval_fits(claim, own, specifications, **options)  # type: ignore[arg-type]

    return Instrument(eval_choices(own, kind=claim.kind), fit_evals, len(own))


def _horizon_fits(
    claim: Claim,
    cells: HorizonCells,
    specifications: Sequence[Specification],
    *,
    level: float,
    n_replicates: int,
    seed: int,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Fits:
    rate = claim.success_rate
    points = fit_horizons(cells, specifications, rate)
    drawn = draw_horizons(
        cells, specifications, rate, n_replicates=n_replicates, seed=seed, scheduler=scheduler, progress=progress
    )
    if claim.than is None:
        values, draws = points[:, 0], drawn[:, :, 0]
    else:
        values = replicate_differences(points[:, 0], points[:, 1])
        draws = replicate_differences(drawn[:, :, 0], drawn[:, :, 1])
    interval = replicate_interval(draws, level)
    estimates = [
        interval.estimate(float(value), place, level=level).map(math.exp2)
        if np.isfinite(value)
        else _without_horizon(float(value), level)
        for place, value in enumerate(values)
    ]
    quantity = f"{100 * rate:g} % horizon of {claim.model}, in minutes"
    if claim.than is not None:
        quantity = f"{100 * rate:g} % horizon of {claim.model} divided by that of {claim.than}"
    return Fits(
        values=values,
        draws=draws,
        estimates=estimates,
        units=["families, tasks and runs"] * len(values),
        is_ratio=True,
        tipping=_horizon_tipping(claim, cells, specifications[0], values[0]),
        notes=cells.notes,
        quantity=quantity,
        settle=_horizon_settle(cells),
    )


def _without_horizon(value: float, level: float) -> Estimate:
    why = "success does not fall with the length of tasks, or there is no run" if math.isnan(value) else (
        "no failure" if value > 0 else "no success"
    )  # fmt: skip
    return Estimate.without("undefined", why, level=level)


def _horizon_tipping(
    claim: Claim, cells: HorizonCells, specification: Specification, value: float
) -> list[TippingPoint]:
    """Errors in the human times and in the scores that would move the default estimate to the threshold."""
    if not np.isfinite(value):
        return []
    margin = value - math.log2(claim.threshold)
    holds = margin >= 0 if claim.is_at_least else margin <= 0
    verb = "fails" if holds else "would hold"
    found = []
    if claim.than is None:
        side = "long" if margin > 0 else "short"
        factor = 2 ** abs(margin)
        found.append(
            TippingPoint("human times", factor, f"The claim {verb} if all human times are too {side} by {factor:.2g}×.")
        )
    flips, total, kind = _fewest_flips(claim, cells, specification, margin)
    wrong = "invalid" if kind == "successes" else "wrongly scored"
    if flips is None:
        sentence = f"No {_MOST_FLIPS} {kind} of {claim.model}, of {total:,}, change the result if {wrong}."
    else:
        few = "1 of the" if flips == 1 else f"{flips:,} of the"
        sentence = f"The claim {verb} if {few} {total:,} {kind} of {claim.model} were {wrong}, where they matter most."
    found.append(TippingPoint(f"{wrong} {kind}", None if flips is None else float(flips), sentence))
    return found


def _fewest_flips(
    claim: Claim, cells: HorizonCells, specification: Specification, margin: float
) -> tuple[int | None, int, str]:
    """Flip, one by one, the run that moves the horizon farthest towards the threshold; the number needed, of how many, and of what."""
    plan = plan_of(cells, specification)
    own = cells.runs[:1].copy()
    from_good = margin > 0  # successes must become failures, or the other way round
    kinds = [c for c in range(8) if plan.kept[c] and (c % 2 == 1) == from_good]
    total = int(own[0][plan.used][:, kinds].sum())
    one = replace(plan, weight=plan.weight[:1], start=plan.start[:1], unknown=plan.unknown[:1])
    goal = 0.0
    base = None
    for n in range(1, _MOST_FLIPS + 1):
        left = own[0][:, kinds].sum(axis=1) * plan.used
        tasks = np.flatnonzero(left)
        if not len(tasks):
            return None, total, "successes" if from_good else "failures"
        tried = np.repeat(own[None], len(tasks), axis=0)
        for row, task in enumerate(tasks):
            c = next(c for c in kinds if own[0, task, c])
            tried[row, 0, task, c] -= 1
            tried[row, 0, task, c - 1 if from_good else c + 1] += 1
        copies = np.ones((len(tasks), len(cells.x)))
        moved = one.refit(copies, tried, claim.success_rate)[:, 0]
        if base is None:
            base = fit_horizons(cells, [specification], claim.success_rate)[0, 0]
        moved = np.where(np.isnan(moved), base, moved)
        best = int(np.argmin(moved) if from_good else np.argmax(moved))
        own = tried[best]
        change = moved[best] - base
        if (margin + change <= goal) if from_good else (margin + change >= goal):
            return n, total, "successes" if from_good else "failures"
    return None, total, "successes" if from_good else "failures"


def _horizon_settle(cells: HorizonCells) -> dict[str, str]:
    n_cut = int(cells.runs[:, :, 2:4].sum() + cells.runs[:, :, 6:8].sum())
    unmeasured = ~cells.is_measured & (cells.runs.sum(axis=(0, 2)) > 0)
    weight = cells.runs.sum(axis=(0, 2)) * unmeasured
    first = [cells.counts.tasks["task"][int(i)] for i in np.argsort(-weight, kind="stable")[:3] if weight[i]]
    return {
        "limits": f"Repeat the {n_cut:,} runs that were cut at a limit with a larger budget, or label a sample of them: would they have succeeded?",
        "human_times": f"Measure human times for the {int(unmeasured.sum())} tasks without a baseline, first {', '.join(first)}.",
        "minutes_noise": "Time several people at each task: repeated baselines show how large the error of human times is.",
        "curve": "Add tasks near and beyond the horizon: they decide which curve fits.",
        "weights": "Add tasks in other families: with more families the weights matter less.",
        "regularisation": "Add tasks of other lengths: with more data the penalty on the slope matters less.",
        "errors": "Repeat the runs that an error ended.",
        "public_tasks": "Add tasks that are not public.",
        "data": f"Add families of tasks: {int(cells.counts.family.max()) + 1} families make most of the interval's width.",
    }


def _eval_fits(
    claim: Claim,
    attempts: Attempts,
    specifications: Sequence[Specification],
    *,
    level: float,
    n_replicates: int,
    seed: int,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Fits:
    del scheduler  # means are cheap
    draws = ClusterDraws(n_replicates, seed)
    estimates, columns, units, values = [], [], [], []
    tipping: list[TippingPoint] = []
    for done, specification in enumerate(specifications, 1):
        if claim.kind == "rank":
            estimate, drawn = _rank(claim, attempts, specification, draws, level, seed)
        else:
            items = items_under(attempts, specification, None if claim.than is None else claim.models)
            if claim.than is None:
                found, drawn = mean_under(items, claim.model, draws, level)
            else:
                found, drawn = difference_under(items, claim.model, claim.than, draws, level)
            estimate = found.estimate
            if done == 1:
                tipping = _eval_tipping(claim, items, estimate)
        estimates.append(estimate)
        columns.append(drawn)
        values.append(np.nan if estimate.value is None else estimate.value)
        is_fixed = specification.get("items") == "fixed"
        units.append("attempts within items" if is_fixed else specification.get("cluster", "task"))
        if progress:
            progress(done, len(specifications))
    what = {
        "level": f"mean score of {claim.model}",
        "rank": f"tier of {claim.model}" if claim.tier else f"rank of {claim.model}",
    }
    return Fits(
        values=np.array(values),
        draws=np.column_stack(columns),
        estimates=estimates,
        units=units,
        is_ratio=False,
        tipping=tipping,
        notes=attempts.notes,
        quantity=what.get(claim.kind, f"mean score of {claim.model} minus that of {claim.than}"),
        settle=_EVAL_SETTLE,
    )


_EVAL_SETTLE = {
    "errors": "Repeat the attempts that an error ended.",
    "limits": "Repeat the attempts that were cut at a limit with a larger budget, or label a sample of them.",
    "flagged": "Label the flagged attempts: are they valid?",
    "cluster": "Add items from other families: with one item per family the cluster does not matter.",
    "items": "Say which is meant: exactly these items (fixed), or items like these (sampled).",
    "weights": "Say which is meant: every eval counts once, or every item.",
    "data": "Add items: `howsure power` says how many.",
}


def _rank(
    claim: Claim, attempts: Attempts, specification: Specification, draws: ClusterDraws, level: float, seed: int
) -> tuple[Estimate, Floats]:
    """Rank (or tier) of the model with the simultaneous interval of `howsure.leaderboard`, and the rank in each replicate."""
    kept = attempts_under(attempts, specification)
    board = leaderboard(
        kept, cluster=specification.get("cluster", "task"), level=level, n_replicates=_RANK_REPLICATES, seed=seed
    )
    place = next(one for one in board.places if one.subject == claim.model)
    items = items_under(attempts, specification)
    means = np.column_stack([mean_under(items, name, draws, level)[1] for name in items.subjects])
    own = items.subjects.index(claim.model)
    ranks = 1.0 + (means > means[:, [own]]).sum(axis=1)
    if claim.tier:
        # tier 1: no model is significantly better
        return Estimate(float(place.tier), float(place.tier), float(place.tier), level), ranks
    return place.rank, ranks


def _eval_tipping(claim: Claim, items: Items, estimate: Estimate) -> list[TippingPoint]:
    """Invalid successes, and errors of a judge, that would move the default estimate to the threshold."""
    if estimate.value is None:
        return []
    margin = estimate.value - claim.threshold
    holds = margin > 0 if claim.is_strict else (margin >= 0 if claim.is_at_least else margin <= 0)
    verb = "fails" if holds else "would hold"
    own = items.only(claim.model) if claim.than is None else items.paired(claim.model, claim.than)
    if not own["is_binary"].all():
        return []
    good = np.round(own["mean"].to_numpy() * own["n"].to_numpy()).astype(np.int64)
    bad = own["n"].to_numpy() - good
    from_good = margin > 0
    there, kind = (good, "successes") if from_good else (bad, "failures")
    each = np.repeat(item_weights(own, items.weights) / own["n"].to_numpy(), there)
    moved = np.cumsum(np.sort(each)[::-1])
    needed = int(np.searchsorted(moved, abs(margin) - 1e-12)) + 1
    total, wrong = len(each), "invalid" if from_good else "wrongly scored"
    if needed > total:
        sentence = f"Not even all {total:,} {kind} of {claim.model} change the result if {wrong}."
        found = [TippingPoint(f"{wrong} {kind}", None, sentence)]
    else:
        sentence = f"The claim {verb} if {needed:,} of the {total:,} {kind} of {claim.model} were {wrong}."
        found = [TippingPoint(f"{wrong} {kind}", float(needed), sentence)]
    if claim.kind == "level" and claim.is_at_least and holds and estimate.value < 1 and claim.threshold < 1:
        specificity = (1 - estimate.value) / (1 - claim.threshold)
        found.append(
            TippingPoint(
                "specificity of the judge",
                specificity,
                f"The claim fails if the scorer's specificity is below {specificity:.2f} (it takes wrong answers as right in more than {1 - specificity:.0%}), "
                "with a sensitivity of 1.",
            )
        )
    return found
