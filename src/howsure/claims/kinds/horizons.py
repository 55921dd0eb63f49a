"""Claims of time horizons: their length, whose is longer, and how fast they double."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from howsure.claims.claim_files import Claim
from howsure.claims.inputs import ClaimData
from howsure.claims.kinds.instruments import FitSettings, Instrument, check_models, decisive, values_of
from howsure.claims.multiverse import Fits, TippingPoint
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.horizon.time_horizon.doubling import fit_horizon_trend
from howsure.horizon.time_horizon.published import DatedHorizons
from howsure.horizon.time_horizon.specifications import (
    HorizonCells,
    dated_under,
    draw_horizons,
    fit_horizons,
    horizon_cells,
    horizon_estimates,
    plan_of,
    ratio_estimates,
    time_choices,
    trend_choices,
    trend_draws,
)
from howsure.results.choices import Specification
from howsure.stats.replicates import replicate_differences
from howsure.tables import Attempts

__all__ = ["instrument"]

_MOST_FLIPS = 400
_FEWEST_MODELS = 3
_SCATTER = "Trends: replicates resample families of tasks; the intervals of doubling times also have the scatter of models around the trend, so the share of replicates is nearer to 0 or 1."
_MOST_REPLICATES = 200  # of a trend, which refits all models


def instrument(claim: Claim, attempts: Attempts, data: ClaimData) -> Instrument:
    """The choices of a time horizon or of its trend, and how it is computed under them."""
    names = attempts.lazy.select(pl.col("subject").unique().sort()).collect(engine="streaming")["subject"].to_list()
    check_models(claim, names)
    if not attempts.has("minutes"):
        raise InputError(f"{claim} The attempts have no column minutes, what an expert needs for each task.")
    if claim.kind == "trend":
        return _trend(claim, attempts, data)
    cells = horizon_cells(attempts, claim.models)
    return Instrument(time_choices(cells), partial(_fits, claim, cells))


def _fits(
    claim: Claim,
    cells: HorizonCells,
    specifications: Sequence[Specification],
    settings: FitSettings,
) -> Fits:
    rate = claim.success_rate
    points = fit_horizons(cells, specifications, rate)
    drawn = draw_horizons(
        cells,
        specifications,
        rate,
        n_replicates=settings.n_replicates,
        seed=settings.seed,
        scheduler=settings.scheduler,
        progress=settings.progress,
    )
    if claim.than is None:
        values, draws = points[:, 0], drawn[:, :, 0]
        estimates = horizon_estimates(cells, specifications, rate, points, drawn, settings.level)[0]
        quantity = f"{100 * rate:g} % horizon of {claim.model}, in minutes"
    else:
        values = replicate_differences(points[:, 0], points[:, 1])
        draws = replicate_differences(drawn[:, :, 0], drawn[:, :, 1])
        estimates = ratio_estimates(cells, specifications, points, drawn, settings.level)
        quantity = f"{100 * rate:g} % horizon of {claim.model} divided by that of {claim.than}"
    return Fits(
        values=values,
        draws=draws,
        estimates=estimates,
        units=["families"] * len(values),
        is_ratio=True,
        tipping=_horizon_tipping(claim, cells, specifications[0], values[0]),
        notes=cells.notes,
        quantity=quantity,
        settle=_horizon_settle(cells),
    )


def _trend(claim: Claim, attempts: Attempts, data: ClaimData) -> Instrument:
    """The choices of a trend of horizons, and how its doubling time is computed under them."""
    releases = dict(data.releases)
    if attempts.has("released"):
        own = attempts.lazy.select(
            "subject", pl.col("released").cast(pl.String).str.slice(0, 10).str.to_date(strict=False)
        )
        releases |= dict(own.drop_nulls().unique("subject", keep="first", maintain_order=True).collect().iter_rows())
    names = (
        attempts.lazy.filter(pl.col("kind") == "model").select(pl.col("subject").unique().sort()).collect()["subject"]
    )
    dated = [name for name in names if name in releases]
    if len(dated) < _FEWEST_MODELS:
        raise InputError(
            f"{claim} {len(dated)} models have runs and a release date; a trend needs {_FEWEST_MODELS}. Give a file of model and released as another input."
        )
    cells = horizon_cells(attempts, dated)
    choices = trend_choices(cells, releases, claim.success_rate)
    return Instrument(choices, partial(_trend_fits, claim, cells, releases), _MOST_REPLICATES)


def _trend_fits(
    claim: Claim,
    cells: HorizonCells,
    releases: Mapping[str, datetime.date],
    specifications: Sequence[Specification],
    settings: FitSettings,
) -> Fits:
    rate = claim.success_rate
    curves = list({tuple(bare.items()): bare for one in specifications if (bare := _bare(one))}.values())
    place = {tuple(one.items()): number for number, one in enumerate(curves)}
    points = fit_horizons(cells, curves, rate)
    drawn = draw_horizons(
        cells,
        curves,
        rate,
        n_replicates=settings.n_replicates,
        seed=settings.seed,
        scheduler=settings.scheduler,
        progress=settings.progress,
    )
    estimates, columns, tipping = [], [], list[TippingPoint]()
    for specification in specifications:
        number = place[tuple(_bare(specification).items())]
        dated = dated_under(cells, releases, specification, points[number], drawn[:, number], rate)
        since = _since(specification)
        estimates.append(_doubling(dated, since, settings.level))
        columns.append(trend_draws(dated, since, settings.n_replicates))
        if len(estimates) == 1:
            tipping = _trend_tipping(claim, dated, since, estimates[0], settings.level)
    days = values_of(estimates)
    return Fits(
        values=np.log2(days),
        draws=np.column_stack(columns),
        estimates=estimates,
        units=["families"] * len(estimates),
        is_ratio=True,
        tipping=tipping,
        notes=(*cells.notes, _SCATTER),
        quantity=f"doubling time of the {100 * rate:g} % horizon of the frontier, in days",
        settle={
            **_horizon_settle(cells),
            "since": "Say which is meant: the trend over all years, or the recent one. `howsure horizon forecast` compares them.",
            "data": "Add models with other release dates, and families of tasks near their horizons.",
        },
    )


def _bare(specification: Specification) -> dict[str, str]:
    """The choices of horizons, without those of the line."""
    return {name: value for name, value in specification.items() if name != "since"}


def _since(specification: Specification) -> datetime.date | None:
    told = specification.get("since", "all")
    return None if told == "all" else datetime.date.fromisoformat(told)


def _doubling(dated: DatedHorizons | str, since: datetime.date | None, level: float) -> Estimate:
    """The doubling time in days, as `fit_horizon_trend` reports it."""
    if isinstance(dated, str):
        return Estimate.without("too_few", dated, level=level)
    try:
        return fit_horizon_trend(dated, since=since, level=level).doubling
    except InputError as error:
        return Estimate.without("too_few", str(error), level=level)


def _trend_tipping(
    claim: Claim, dated: DatedHorizons | str, since: datetime.date | None, estimate: Estimate, level: float
) -> list[TippingPoint]:
    """Single models without which the default doubling time would cross the threshold."""
    if estimate.value is None or isinstance(dated, str):
        return []
    holds, named = claim.holds_at(estimate.value), []
    for model in dated.frame["model"]:
        kept = (dated.frame["model"] != model).to_numpy()
        rest = replace(dated, frame=dated.frame.filter(kept), drawn=dated.drawn[:0, kept], edges=dated.edges[kept])
        moved = _doubling(rest, since, level).value
        if moved is not None and claim.holds_at(moved) != holds:
            named.append(f"{model} ({moved:,.0f} days)")
    return [decisive("model", named, len(dated.frame), holds=holds)]


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
        "data": f"Add families of tasks: with {int(cells.counts.family.max()) + 1} of them the interval is this wide.",
    }
