"""What time horizons are sensitive to: the expert minutes, baselines that were cut off, the regularisation, the weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.horizon.time_horizon.curves import WEIGHTS, SuccessCurves, Timed, fit_curves, timed
from howsure.horizon.time_horizon.joint import draw_joint
from howsure.results import Provenance, Result
from howsure.stats._arrays import Bools, Floats
from howsure.stats.replicates import replicate_differences, replicate_interval

__all__ = ["FACTORS", "Sensitivity", "Variation", "vary"]

FACTORS = {
    "regularisation": "another penalty on the slope",
    "weights": "other weights of runs",
    "model": "another model of success",
    "noise": "random noise in the expert minutes; standard deviation in doublings",
    "censored": "minutes that are a lower bound, multiplied by a factor",
}
"""What is varied, and how its settings read."""

REGULARISATIONS = (0.0, 1e-5, 1e-3, 1e-2, 1e-1)
_NOISES = (0.25, 0.5, 1.0)
_TIMES = (1.5, 2.0, 4.0)
_DRAWS = 200
_LONGEST = 0.9  # the share of tasks that are shorter than those taken as censored


@dataclass(frozen=True)
class Variation:
    """A model's horizon under another setting, as a multiple of the horizon that is reported.

    ``ratio_low`` and ``ratio_high`` contain the middle of the redrawn minutes, for noise alone. All are None where either horizon is none.
    """

    model: str
    success_rate: float
    factor: str
    setting: str
    ratio: float | None
    ratio_low: float | None = None
    ratio_high: float | None = None


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
        kinds = dict.fromkeys(("ratio", "ratio_low", "ratio_high"), pl.Float64)
        rows = [vars(row) for row in self.rows]
        return {"sensitivity": pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)}

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
    censored: Sequence[str] = (),
    level: float = 0.95,
    seed: int = 0,
) -> Sensitivity:
    """Refit under other settings, one at a time.

    Noise multiplies each task's minutes by 2^(s·z), z standard normal, the same for all models. That adds to the noise which the minutes
    have already, so the change shows the direction and size of what theirs did. ``censored`` tasks are made longer; by default the longest tenth.
    """
    base = fit_curves(data)
    is_censored = _censored(data, censored)
    changed = [*_settings(data, weights), *_longer(data, is_censored)]
    rows = [
        Variation(model, one, factor, setting, _times(ratio))
        for factor, setting, curves in changed
        for one in success_rates
        for model, ratio in zip(data.counts.models, _ratio(curves, base, one), strict=True)
    ]
    rng = np.random.default_rng(seed)
    rows += [row for spread in _NOISES for row in _noisy(data, base, success_rates, spread, level, rng)]
    order = {factor: place for place, factor in enumerate(FACTORS)}
    names = data.counts.tasks["task"].filter(pl.Series(is_censored))
    settings = {"weights": weights, "regularisation": data.regularisation, "level": level}
    return Sensitivity(
        rows=tuple(sorted(rows, key=lambda row: order[row.factor])),
        censored=tuple(names),
        provenance=Provenance(settings, data.counts.digest, seed),
    )


def vary_joint(
    data: Timed,
    base: SuccessCurves,
    success_rates: Sequence[float],
    *,
    noise: float | None,
    has_ceiling: bool,
    seed: int = 0,
) -> Sensitivity:
    """The joint model's horizons with other errors of the human times and with the logistic model, beside those that are reported."""
    joint = partial(draw_joint, data, 2 * _DRAWS, seed=seed)
    changed = [
        ("noise", f"{spread:g}", joint(noise=spread, has_ceiling=has_ceiling).middle)
        for spread in (0.0, 0.5, 1.0)
        if spread != (noise or 0.0)
    ]
    changed += [
        (
            "model",
            "ceiling of 1" if has_ceiling else "with a ceiling",
            joint(noise=noise or 0.0, has_ceiling=not has_ceiling).middle,
        )
    ]
    changed += [("model", "logistic", fit_curves(data))]
    rows = [
        Variation(model, one, factor, setting, _times(ratio))
        for factor, setting, curves in changed
        for one in success_rates
        for model, ratio in zip(data.counts.models, _ratio(curves, base, one), strict=True)
    ]
    settings = {"model": "joint", "minutes_noise": noise, "has_ceiling": has_ceiling}
    return Sensitivity(rows=tuple(rows), censored=(), provenance=Provenance(settings, data.counts.digest, seed))


_Changed = tuple[str, str, SuccessCurves]


def _settings(data: Timed, weights: str) -> Iterator[_Changed]:
    for penalty in REGULARISATIONS:
        if penalty != data.regularisation:
            yield "regularisation", f"{penalty:g}", fit_curves(replace(data, regularisation=penalty))
    for other in WEIGHTS:
        if other != weights:
            changed = timed(data.counts, weights=other, regularisation=data.regularisation)
            yield "weights", other, fit_curves(changed)


def _longer(data: Timed, is_censored: Bools) -> Iterator[_Changed]:
    for times in _TIMES:
        yield "censored", f"×{times:g}", fit_curves(data, data.x + np.log2(times) * is_censored)


def _censored(data: Timed, tasks: Sequence[str]) -> Bools:
    there = data.counts.tasks["task"]
    for task in tasks:
        if task not in there:
            raise OptionError.unknown("task", task, there.to_list())
    longest = data.x > np.quantile(data.x, _LONGEST)
    return np.asarray(there.is_in(list(tasks)).to_numpy() if tasks else longest)


def _noisy(
    data: Timed,
    base: SuccessCurves,
    success_rates: Sequence[float],
    spread: float,
    level: float,
    rng: np.random.Generator,
) -> Iterator[Variation]:
    noise = spread * rng.standard_normal((_DRAWS, len(data.x)))
    fits = [fit_curves(data, data.x + shift) for shift in noise]
    for one in success_rates:
        drawn = np.array([_ratio(curves, base, one) for curves in fits])
        for m, model in enumerate(data.counts.models):
            found, known = replicate_interval(drawn[:, m], level), drawn[~np.isnan(drawn[:, m]), m]
            middle = float(np.quantile(known, 0.5, method="inverted_cdf")) if found.state == "ok" else np.nan
            ends = _times(float(found.low)), _times(float(found.high))
            yield Variation(model, one, "noise", f"{spread:g}", _times(middle), *ends)


def _ratio(curves: SuccessCurves, base: SuccessCurves, success_rate: float) -> Floats:
    """log₂ of the horizons' ratio; not finite where either horizon is none."""
    return replicate_differences(curves.log2_minutes(success_rate), base.log2_minutes(success_rate))


def _times(log2_ratio: float) -> float | None:
    return float(2.0**log2_ratio) if np.isfinite(log2_ratio) else None
