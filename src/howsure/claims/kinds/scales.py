"""Claims of capability, on one scale of many benchmarks: who is more capable, and when a benchmark is saturated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from howsure._version import __version__
from howsure.claims.claim_files import Claim
from howsure.claims.inputs import ClaimData
from howsure.claims.kinds.instruments import FitSettings, Instrument, check_models, decisive, values_of
from howsure.claims.multiverse import Fits, TippingPoint
from howsure.errors import HowsureError, InputError, OptionError, interruption_notes
from howsure.estimates import Estimate
from howsure.results.choices import Specification
from howsure.results.storage import ENDING, write_value
from howsure.stats._arrays import Floats
from howsure.stats.replicates import replicate_differences, replicate_interval
from howsure.stitch.scale import Scale, fit
from howsure.stitch.specifications import Keep, saturation_under, scale_choices, scales_under
from howsure.tables import Scores

__all__ = ["instrument"]

_MOST_REPLICATES = 100
_MOST_BENCHMARKS = 60
_FIRST_YEAR = 1970  # that years are counted from


def instrument(claim: Claim, scores: Scores, data: ClaimData) -> Instrument:
    """The choices of a capability scale, and how a difference of capabilities is computed under them."""
    if claim.benchmark:
        names = scores.frame["benchmark"].unique().sort().to_list()
        if claim.benchmark not in names:
            raise OptionError.unknown("benchmark", claim.benchmark, names)
        return Instrument(scale_choices(scores), partial(_saturation_fits, claim, scores), _MOST_REPLICATES)
    check_models(claim, scores.frame["model"].unique().sort().to_list())
    return Instrument(scale_choices(scores), partial(_fits, claim, scores), _MOST_REPLICATES)


def _fits(
    claim: Claim,
    scores: Scores,
    specifications: Sequence[Specification],
    settings: FitSettings,
) -> Fits:
    found = _scales(scores, specifications, settings)
    estimates, columns = zip(
        *(_difference(claim, scale, settings.n_replicates, settings.level) for scale in found), strict=True
    )
    default = found[0]
    assert isinstance(default, Scale)
    n_common = min(map(len, columns))  # an interruption may have cut the replicates of one specification
    return Fits(
        values=values_of(estimates),
        draws=np.column_stack([column[:n_common] for column in columns]),
        estimates=estimates,
        units=[scale if isinstance(scale, str) else _unit(scale) for scale in found],
        is_ratio=False,
        tipping=_tipping(claim, scores, default, estimates[0]),
        notes=default.provenance.notes,
        quantity=f"capability of {claim.model} minus that of {claim.than}",
        settle=_SETTLE,
    )


def _scales(scores: Scores, specifications: Sequence[Specification], settings: FitSettings) -> list[Scale | str]:
    """The scale under each specification, or why it has none."""
    return scales_under(
        scores,
        specifications,
        n_replicates=settings.n_replicates,
        level=settings.level,
        seed=settings.seed,
        scheduler=settings.scheduler,
        progress=settings.progress,
        keep=_keeping(settings.keep, scores),
    )


def _keeping(folder: Path | None, scores: Scores) -> Keep | None:
    """Scales from a folder that keeps those of an earlier try, which was interrupted; new ones are added, unless their replicates were cut."""
    if folder is None:
        return None

    def keep(settings: dict[str, Any], fit_it: Callable[[], Scale]) -> Scale:
        told = json.dumps([__version__, scores.digest, settings], sort_keys=True)
        path = folder / f"{hashlib.sha256(told.encode()).hexdigest()[:24]}{ENDING}"
        if path.is_file():
            with suppress(InputError):  # cut off by a full disk
                return Scale.load(path)
        scale = fit_it()
        if not interruption_notes():
            write_value(scale, path)
        return scale

    return keep


def _saturation_fits(
    claim: Claim, scores: Scores, specifications: Sequence[Specification], settings: FitSettings
) -> Fits:
    found = _scales(scores, specifications, settings)
    estimates, firsts = list[Estimate](), list[str]()
    for scale in found:
        one = saturation_under(scale, claim.benchmark, claim.reach, level=settings.level, seed=settings.seed)
        if isinstance(one, Estimate):
            estimates.append(one)
        elif one.first_model:
            year = _FIRST_YEAR + (one.year.value or 0.0)
            estimates.append(Estimate(year, year, year, settings.level, reason="observed"))
            firsts.append(f"{one.first_model} reached {claim.reach:g} on {claim.benchmark} on {one.first_date}.")
        else:
            estimates.append(one.year if one.year.value is None else one.year.map(_calendar))
    default = found[0]
    assert isinstance(default, Scale)
    return Fits(
        values=values_of(estimates),
        draws=np.empty((0, len(estimates))),
        estimates=estimates,
        units=["models around the trend"] * len(estimates),
        is_ratio=False,
        tipping=[TippingPoint("observed", None, text) for text in dict.fromkeys(firsts)],
        notes=default.provenance.notes,
        quantity=f"year in which a model reaches {claim.reach:g} on {claim.benchmark}",
        settle={
            **_SETTLE,
            "data": "Wait for newer models, or measure those on the frontier on this benchmark.",
        },
    )


def _calendar(years: float) -> float:
    return years + _FIRST_YEAR


_SETTLE = {
    "priors": "Add scores of both models: with more benchmarks the penalty matters less.",
    "dimensions": "Say which is meant: one capability, or a trait. `howsure stitch traits` shows how many the scores support.",
    "floors": "Find out the score of guessing on each benchmark.",
    "duplicates": "Find out under which settings the scores of the same model differ.",
    "superseded": "Measure both models on the newer versions.",
    "min_benchmarks": "Measure the models that have few scores on more benchmarks.",
    "data": "Measure both models on benchmarks near their capability: `howsure stitch next` names them.",
}


def _unit(scale: Scale) -> str:
    """What is redrawn: two scales with the same scores and the same rule have common draws."""
    problem = scale.problem
    return f"{scale.provenance.settings['resample']} of {len(problem.score)} scores of {len(problem.models)} models"


def _difference(claim: Claim, scale: Scale | str, n_replicates: int, level: float) -> tuple[Estimate, Floats]:
    """The difference as the table ``pairs`` of `howsure.stitch.fit` has it, and in each replicate."""
    nothing = np.full(n_replicates, np.nan)
    if isinstance(scale, str):
        return Estimate.without("undefined", scale, level=level), nothing
    gone = [name for name in claim.models if name not in scale.problem.models]
    if gone:
        return Estimate.without("too_few", f"{gone[0]} has too few benchmarks", level=level), nothing
    a, b = (scale.problem.model_at(name) for name in claim.models)
    value = float(scale.estimate.capability[a] - scale.estimate.capability[b])
    if scale.replicates is None:
        return Estimate(value, level=level), nothing
    drawn = replicate_differences(scale.replicates.capability[:, a], scale.replicates.capability[:, b])
    return replicate_interval(drawn, level).estimate(value, level=level), drawn


def _tipping(claim: Claim, scores: Scores, default: Scale, estimate: Estimate) -> list[TippingPoint]:
    """Single benchmarks without which the default estimate would cross the threshold."""
    benchmarks = default.problem.benchmarks
    if estimate.value is None or len(benchmarks) > _MOST_BENCHMARKS:
        return []
    holds = claim.holds_at(estimate.value)
    named = []
    for name in benchmarks:
        try:
            without = fit(scores, exclude=[name], reference=default, n_replicates=0)
            a, b = (without.problem.model_at(one) for one in claim.models)
        except HowsureError:
            continue
        if claim.holds_at(float(without.estimate.capability[a] - without.estimate.capability[b])) != holds:
            named.append(name)
    return [decisive("benchmark", named, len(benchmarks), holds=holds)]
