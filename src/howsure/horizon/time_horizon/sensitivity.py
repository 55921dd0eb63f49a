"""What time horizons are sensitive to: the expert minutes, baselines that were cut off, the regularisation, the weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import ClassVar

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.horizon.run_counts import UNKNOWN_AS, ModelCounts
from howsure.horizon.time_horizon.curves import CURVES, WEIGHTS, SuccessCurves, Timed, curve_minutes, fit_curves, timed
from howsure.horizon.time_horizon.joint import draw_joint
from howsure.horizon.time_horizon.kernels import ABSENT
from howsure.results import Provenance, Result
from howsure.stats._arrays import Bools, Floats
from howsure.stats.replicates import replicate_differences

__all__ = ["FACTORS", "Sensitivity", "Variation", "vary"]

FACTORS = {
    "limits": "runs that were cut at a limit count otherwise",
    "errors": "runs that an error ended count otherwise",
    "flags": "runs that were flagged count otherwise",
    "regularisation": "another penalty on the slope",
    "weights": "other weights of runs",
    "model": "another model of success",
    "curve": "another curve: Weibull, with a hazard of failure per minute, or a monotone spline of the log-odds",
    "noise": "another error of the human times; standard deviation in doublings",
    "censored": "minutes that are a lower bound, multiplied by a factor",
}
"""What is varied, and how its settings read."""

REGULARISATIONS = (0.0, 1e-5, 1e-3, 1e-2, 1e-1)
NOISES = (0.0, 0.5, 1.0)
"""Errors of human times, in doublings, under which horizons are shown where the error is not known."""
_TIMES = (1.5, 2.0, 4.0)
_DRAWS = 125  # of the joint model under each other setting
_LONGEST = 0.9  # the share of tasks that are shorter than those taken as censored


@dataclass(frozen=True)
class Variation:
    """A model's horizon under another setting, as a multiple of the horizon that is reported; None where either horizon is none."""

    model: str
    success_rate: float
    factor: str
    setting: str
    ratio: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Sensitivity(Result):
    """Every variation, and which tasks were taken as censored."""

    name: ClassVar[str] = "sensitivity"

    rows: tuple[Variation, ...]
    censored: tuple[str, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``sensitivity``: one row per model, success rate, factor and setting, the horizon as a multiple of the reported one."""
        kinds = dict.fromkeys(("model", "factor", "setting"), pl.String) | dict.fromkeys(
            ("success_rate", "ratio"), pl.Float64
        )
        order = [field.name for field in fields(Variation)]
        rows = [vars(row) for row in self.rows]
        return {"sensitivity": pl.DataFrame(rows, schema={name: kinds[name] for name in order})}

    def widest(self, factor: str, success_rate: float) -> Variation | None:
        """The variation of a factor that moves any model's horizon farthest."""
        known = [
            row
            for row in self.rows
            if (row.factor, row.success_rate) == (factor, success_rate) and row.ratio is not None
        ]
        return max(known, key=lambda row: abs(np.log(row.ratio or 1)), default=None)


def vary(
    data: Timed,
    success_rates: Sequence[float],
    *,
    weights: str,
    noise: float = 0.0,
    censored: Sequence[str] = (),
    others: Mapping[tuple[str, str], ModelCounts] | None = None,
) -> Sensitivity:
    """Refit under other settings, one at a time.

    ``noise`` is the error of the human times that the reported horizons take into account; others are tried. ``censored`` tasks are made longer; by
    default the longest tenth. ``others`` are the counts where some runs count otherwise, by factor and setting.
    """
    base = fit_curves(data)
    is_censored = _censored(data, censored)
    noises = [("noise", f"{spread:g}", fit_curves(with_noise(data, spread))) for spread in NOISES if spread != noise]
    changed = [*_settings(data, weights), *noises, *_longer(data, is_censored)]
    changed += [
        (
            factor,
            setting,
            _in_order(
                data,
                timed(
                    counts, weights=weights, regularisation=data.regularisation, noise=noise,
                    unknown_as=UNKNOWN_AS.get(setting, "failure"),
                ),
            ),
        )
        for (factor, setting), counts in (others or {}).items()
    ]  # fmt: skip
    rows = [
        Variation(model, one, factor, setting, _times(ratio))
        for factor, setting, curves in changed
        for one in success_rates
        for model, ratio in zip(data.counts.models, _ratio(curves, base, one), strict=True)
    ]
    rows += [
        Variation(model, one, "curve", curve, _times(ratio))
        for curve in CURVES[1:]
        for one in success_rates
        for model, ratio in zip(
            data.counts.models,
            replicate_differences(curve_minutes(data, curve, one), base.log2_minutes(one)),
            strict=True,
        )
    ]
    order = {factor: place for place, factor in enumerate(FACTORS)}
    names = data.counts.tasks["task"].filter(pl.Series(is_censored))
    settings = {"weights": weights, "regularisation": data.regularisation, "noise": noise}
    return Sensitivity(
        rows=tuple(sorted(rows, key=lambda row: order[row.factor])),
        censored=tuple(names),
        provenance=Provenance(settings, data.counts.digest),
    )


def vary_joint(
    data: Timed,
    base: SuccessCurves,
    success_rates: Sequence[float],
    *,
    noise: float | None,
    has_ceiling: bool,
    covariates: Sequence[str] = (),
    seed: int = 0,
) -> Sensitivity:
    """The joint model's horizons with other errors of the human times and with the logistic model, beside those that are reported."""
    joint = partial(draw_joint, n=_DRAWS, covariates=covariates, seed=seed)
    changed = [
        ("noise", f"{spread:g}", joint(with_noise(data, spread), has_ceiling=has_ceiling).middle)
        for spread in NOISES
        if spread != (noise or 0.0)
    ]
    changed += [
        (
            "model",
            "ceiling of 1" if has_ceiling else "with a ceiling",
            joint(data, has_ceiling=not has_ceiling).middle,
        )
    ]
    if covariates:
        changed += [("model", "no covariates", joint(data, has_ceiling=has_ceiling, covariates=()).middle)]
    changed += [("model", "logistic", fit_curves(data))]
    rows = [
        Variation(model, one, factor, setting, _times(ratio))
        for factor, setting, curves in changed
        for one in success_rates
        for model, ratio in zip(data.counts.models, _ratio(curves, base, one), strict=True)
    ]
    settings = {"model": "joint", "minutes_noise": noise, "has_ceiling": has_ceiling}
    return Sensitivity(rows=tuple(rows), censored=(), provenance=Provenance(settings, data.counts.digest, seed))


def with_noise(data: Timed, spread: float) -> Timed:
    """The same data, with human times that have this error."""
    return replace(data, noise=np.full(len(data.x), spread) if spread else None)


_Changed = tuple[str, str, SuccessCurves]


def _in_order(data: Timed, other: Timed) -> SuccessCurves:
    """The curves fitted to other counts, for the models of `data`; one without any run there has none."""
    curves, names = fit_curves(other), other.counts.models
    places = [names.index(name) if name in names else None for name in data.counts.models]
    chosen = [0 if place is None else place for place in places]
    absent = np.array([place is None for place in places])
    outcome = np.where(absent, ABSENT, curves.outcome[chosen])
    return SuccessCurves(curves.intercept[chosen], curves.slope[chosen], outcome)


def _settings(data: Timed, weights: str) -> Iterator[_Changed]:
    for penalty in REGULARISATIONS:
        if penalty != data.regularisation:
            yield "regularisation", f"{penalty:g}", fit_curves(replace(data, regularisation=penalty))
    for other in WEIGHTS:
        if other != weights:
            changed = timed(data.counts, weights=other, regularisation=data.regularisation, unknown_as=data.unknown_as)
            yield "weights", other, fit_curves(changed)


def _longer(data: Timed, is_censored: Bools) -> Iterator[_Changed]:
    for times in _TIMES:
        yield "censored", f"×{times:g}", fit_curves(data, data.lengths + np.log2(times) * is_censored)


def _censored(data: Timed, tasks: Sequence[str]) -> Bools:
    there = data.counts.tasks["task"]
    for task in tasks:
        if task not in there:
            raise OptionError.unknown("task", task, there.to_list())
    longest = data.x > np.quantile(data.x, _LONGEST)
    return np.asarray(there.is_in(list(tasks)).to_numpy() if tasks else longest)


def _ratio(curves: SuccessCurves, base: SuccessCurves, success_rate: float) -> Floats:
    """log₂ of the horizons' ratio; not finite where either horizon is none."""
    return replicate_differences(curves.log2_minutes(success_rate), base.log2_minutes(success_rate))


def _times(log2_ratio: float) -> float | None:
    return float(2.0**log2_ratio) if np.isfinite(log2_ratio) else None
