"""From refits to words: what the slope of the frontier and the order of the models depend on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from howsure.estimates import Estimate
from howsure.stats.replicates import replicate_interval
from howsure.stitch.sensitivity.crossvalidation import ALL_SPLITS

__all__ = ["FACTORS", "Factor", "factors_of", "told"]

FACTORS = {
    "noise": "errors of the scores",
    "drop": "the choice of benchmarks",
    "benchmark": "any single benchmark",
    "organisation": "any single organisation",
    "anchor": "the choice of the anchor",
    "duplicates": "the rule for duplicates",
    "prior": "the strength of the priors",
    "model": "the model of the scores",
}
"""What is varied. The first is the measure for the others: what the scores' own errors leave open."""

_Ends: TypeAlias = tuple[float | None, float | None]
_DRAWN = ("noise", "drop")  # many refits of one kind: the middle of them counts, elsewhere every single one
_SAME = 1e-3  # relative width of a range that is a point
_TOO_FAR = ("× 0.01", "× 0.03", "× 30", "× 100")  # on the path, but no choice that anybody would defend


@dataclass(frozen=True)
class Factor:
    """One thing that was varied, over ``n`` refits.

    Between which values the frontier's slope came out, in each refit's own unit and ``linked`` to the unit of the fit as it is; which refit moved it
    most; the lowest rank correlation with the fit as it is; in what share of the refits the leader stayed first. For what was drawn at random
    the ends are those of the interval, else the extremes. ``is_beyond`` says that the linked slope leaves the interval of the
    scores' own errors. ``n_undefined`` refits had no scale at all.
    """

    kind: str
    n: int
    slope_min: float | None
    slope_max: float | None
    linked_min: float | None
    linked_max: float | None
    most: str | None
    rank_correlation: float | None
    leader_kept: float | None
    is_beyond: bool | None = None
    n_undefined: int = 0

    @property
    def title(self) -> str:
        """What was varied, in words."""
        return FACTORS[self.kind]


def factors_of(variants: pl.DataFrame, slope: Estimate, leader: str, level: float) -> tuple[Factor, ...]:
    """One row for each thing that was varied at all."""
    near = variants.filter(~((pl.col("kind") == "prior") & pl.col("label").is_in(_TOO_FAR)))
    found = []
    noise: _Ends = (None, None)
    for kind in FACTORS:
        part = near.filter(pl.col("kind") == kind)
        if len(part):
            factor = _factor(kind, part, slope, leader, level, noise)
            noise = (factor.linked_min, factor.linked_max) if kind == "noise" else noise
            found.append(factor)
    return tuple(found)


def told(
    slope: Estimate,
    factors: Sequence[Factor],
    variants: pl.DataFrame,
    validation: pl.DataFrame,
    leader: str,
    settings: Mapping[str, Any],
) -> tuple[str, ...]:
    """The findings in words, the conclusion first."""
    by_kind = {factor.kind: factor for factor in factors}
    sentences = [
        *_told_slope(slope, by_kind),
        *_told_drop(by_kind, variants, leader, settings),
        _told_order(factors),
        _told_validation(validation, settings["method"]),
    ]
    return tuple(sentence for sentence in sentences if sentence)


def _factor(kind: str, part: pl.DataFrame, slope: Estimate, leader: str, level: float, noise: _Ends) -> Factor:
    edge = (1 - level) / 2 if kind in _DRAWN else 0.0
    # where nothing is drawn, the choice that was made is one of those that could be
    also = None if kind in _DRAWN else slope.value
    own, linked = (_spanned(part[name], level if kind in _DRAWN else None, also) for name in ("slope", "linked_slope"))
    whole = part.drop_nulls("rank_correlation")
    farthest = part.drop_nulls("linked_slope").sort((pl.col("linked_slope") - (slope.value or 0.0)).abs())
    return Factor(
        kind,
        len(part),
        own[0],
        own[1],
        linked[0],
        linked[1],
        None if kind in _DRAWN or farthest.is_empty() else farthest["label"][-1],
        whole["rank_correlation"].quantile(edge, "linear"),
        float((whole["leader"] == leader).sum()) / len(whole) if len(whole) else None,
        _is_beyond(linked, noise),
        len(part) - len(whole),
    )


def _spanned(values: pl.Series, level: float | None, also: float | None) -> _Ends:
    """The interval of drawn refits at ``level``, those without a slope counting as failed; of all others the extremes."""
    if level is not None:
        found = replicate_interval(values.cast(pl.Float64).fill_null(np.nan).to_numpy(), level)
        low, high = float(found.low), float(found.high)
        return (low, high) if math.isfinite(low) and math.isfinite(high) else (None, None)
    known = [*values.drop_nulls(), *([] if also is None else [also])]
    return (min(known), max(known)) if len(values.drop_nulls()) else (None, None)


def _is_beyond(linked: _Ends, noise: _Ends) -> bool | None:
    (low, high), (least, most) = linked, noise
    if low is None or high is None or least is None or most is None:
        return None
    return low < least or high > most


def _told_slope(slope: Estimate, by_kind: Mapping[str, Factor]) -> list[str]:
    """What the slope depends on: what moves it beyond the errors of the scores, less than those, and not at all."""
    if slope.value is None:
        return [f"The frontier has no slope ({slope.reason}); only the order of the models is judged."]
    digits = _digits(slope.value)
    judged = [factor for factor in by_kind.values() if factor.is_beyond is not None]
    judged.sort(key=lambda f: -_reach(f, slope.value or 0.0))
    moving = [_how(f, digits) for f in judged if f.is_beyond]
    steady = [_how(f, digits) for f in judged if not f.is_beyond and not _is_point(f)]
    idle = [f.title for f in judged if not f.is_beyond and _is_point(f)]
    left = (
        f"; in one unit, with only errors of the scores, the interval is {_ends(by_kind['noise'], digits)}"
        if judged
        else ""
    )
    return [
        f"The frontier rises by {slope} per year{left}.",
        f"Beyond that it depends on {_listed(moving)}." if moving else "",
        f"It changes less than that with {_listed(steady)}." if steady else "",
        f"It does not depend on {_listed(idle)} at all." if idle else "",
    ]


def _reach(factor: Factor, value: float) -> float:
    return max(abs((end or value) - value) for end in (factor.linked_min, factor.linked_max))


def _is_point(factor: Factor) -> bool:
    low, high = factor.linked_min or 0.0, factor.linked_max or 0.0
    return high - low < _SAME * abs(high)


def _how(factor: Factor, digits: int) -> str:
    most = {"prior": f"; most at {factor.most}", "duplicates": f"; most with the {factor.most}"}
    named = most.get(factor.kind, f"; most: {factor.most}" if factor.most else "")
    return f"{factor.title} ({_ends(factor, digits)}{named})"


def _ends(factor: Factor, digits: int) -> str:
    return f"{factor.linked_min:.{digits}f} to {factor.linked_max:.{digits}f}"


def _digits(value: float) -> int:
    """Decimals that show a number of this size to three digits."""
    return max(0, 2 - math.floor(math.log10(abs(value)))) if value else 2


def _told_drop(
    by_kind: Mapping[str, Factor], variants: pl.DataFrame, leader: str, settings: Mapping[str, Any]
) -> list[str]:
    factor, part = by_kind["drop"], variants.filter(pl.col("kind") == "drop").drop_nulls("rank_correlation")
    if part.is_empty():
        return ["No refit without some benchmarks had a scale: the scores fall into groups that no model links."]
    drawn = f"Without {settings['share']:.0%} of the benchmarks, drawn {factor.n:,} times, "
    sentences = []
    if factor.slope_min is not None and factor.slope_max is not None:
        middle = Estimate(float(np.median(part["slope"].to_numpy())), factor.slope_min, factor.slope_max)
        sentences.append(
            f"{drawn}the slope is {middle} ({settings['level']:.0%} of the refits).{_told_unit(factor, settings)}"
        )
        drawn = "In these refits "
    kept, correlation = np.mean(part["top_kept"].to_numpy()), np.median(part["rank_correlation"].to_numpy())
    sentences.append(
        f"{drawn}{leader} stays first in {factor.leader_kept:.0%}, {kept:.0%} of the best stay among the best, and the "
        f"rank correlation with the whole table is {correlation:.3f} at the median."
    )
    if factor.n_undefined:
        sentences.append(
            f"{factor.n_undefined} of these refits had no scale, since their scores fall into groups that no model links."
        )
    return sentences


def _told_unit(factor: Factor, settings: Mapping[str, Any]) -> str:
    anchor = settings["fit"].get("anchor")
    if anchor is None or factor.linked_min is None or factor.linked_max is None:
        return ""
    own, linked = (factor.slope_max or 0.0) - (factor.slope_min or 0.0), factor.linked_max - factor.linked_min
    if linked > own * 2 / 3:
        return ""
    return (
        f" With the unit fixed by the models instead of {anchor} it is {_ends(factor, _digits(factor.linked_max))}: "
        f"{1 - linked / own:.0%} of that spread comes only from the unit, which depends on one benchmark."
    )


def _told_order(factors: Sequence[Factor]) -> str:
    judged = [f for f in factors if f.rank_correlation is not None and f.kind != "noise"]
    if not judged:
        return ""
    worst = min(judged, key=lambda f: f.rank_correlation or 1.0)
    leaders = [f for f in judged if f.kind != "drop" and (f.leader_kept or 0) < 1]
    unseated = f" Another model is first in some refits with {_listed([f.title for f in leaders])}." if leaders else ""
    return f"The order of the models depends most on {worst.title}: rank correlation {worst.rank_correlation:.3f} at the lowest.{unseated}"


def _told_validation(validation: pl.DataFrame, used: str) -> str:
    """Which model of the scores predicts best what it has not seen, split by split."""
    told = []
    for split in validation["split"].unique(maintain_order=True):
        if split == ALL_SPLITS:
            continue
        part = validation.filter(pl.col("split") == split)
        best, own = part.row(0, named=True), part.row(by_predicate=pl.col("method") == used, named=True)
        if best["method"] == used:
            told.append(f"{split} {own['rmse']:.4f}, the smallest error of all")
            continue
        difference = Estimate(-best["difference"], -best["difference_high"], -best["difference_low"])
        doubt = "" if best["difference_high"] < 0 else ", not significantly"
        told.append(f"{split} {own['rmse']:.4f}; {best['method']} is better by {difference}{doubt}")
    return f"Root mean square error of the model in use ({used}) on held-out scores. {'. '.join(one[:1].upper() + one[1:] for one in told)}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
