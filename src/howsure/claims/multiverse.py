"""A claim under every specification: supported, contradicted or open in each; what moves the result; what the verdict is.

Per specification a claim is **supported** if its whole interval lies beyond the threshold, **contradicted** if it lies on the other side, and **open** if the
interval includes the threshold or there is none. Shares of specifications are not probabilities: the specifications are not equally plausible.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from howsure.claims.claim_files import Claim
from howsure.estimates import Estimate
from howsure.results.choices import Choices, Specification
from howsure.stats._arrays import Floats
from howsure.stats.replicates import replicate_differences, replicate_interval

__all__ = ["Fits", "OptionEffect", "OptionInteraction", "SpecificationResult", "TippingPoint", "Verdict", "assess"]

MOST = 0.8
"""The share of specifications that must support a claim which holds in most."""

_MOST_INTERACTIONS = 12
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Fits:
    """One claim's quantity under each specification.

    ``values`` and ``draws`` (replicates × specifications) are on the scale on which differences are taken: log₂ where ``is_ratio``. ``units`` names what is
    resampled: differences between specifications with the same unit are paired. ``estimates`` are on the scale of the claim. ``settle`` says per choice,
    and for ``data``, what would decide a claim that turns on it.
    """

    values: Floats
    draws: Floats
    estimates: Sequence[Estimate]
    units: Sequence[str]
    is_ratio: bool
    tipping: Sequence[TippingPoint] = ()
    notes: Sequence[str] = ()
    quantity: str = ""
    settle: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TippingPoint:
    """What would have to be wrong with the data for the default estimate to cross the threshold, as a sentence and a number."""

    what: str
    value: float | None
    sentence: str


@dataclass(frozen=True)
class SpecificationResult:
    """One specification: its options, the estimate, and what it says about the claim."""

    number: int
    options: Mapping[str, str]
    estimate: Estimate
    status: str
    share_of_replicates: float | None


@dataclass(frozen=True)
class OptionEffect:
    """How far an option moves the result from the choice's default: the median over all specifications that differ in nothing else.

    A factor where the quantity is a ratio, else a difference. ``alone`` is the effect with everything else at its default. ``n_pairs`` counts the pairs of specifications; ``share_supported`` is the share of the
    specifications with this option that support the claim.
    """

    choice: str
    option: str
    effect: Estimate
    alone: Estimate
    n_pairs: int
    share_supported: float
    share_supported_default: float


@dataclass(frozen=True)
class OptionInteraction:
    """How much more (or less) two options move the result together than one after the other."""

    choice_a: str
    option_a: str
    choice_b: str
    option_b: str
    effect: Estimate
    n_pairs: int


@dataclass(frozen=True)
class Verdict:
    """A claim with all that was found about it."""

    claim: Claim
    verdict: str
    sentence: str
    turns_on: str
    default: Estimate
    low: float | None
    high: float | None
    share_supported: float
    share_contradicted: float
    share_open: float
    share_of_replicates: float | None
    n_specifications: int
    n_possible: int
    n_replicates: int
    quantity: str
    is_ratio: bool
    choices: Choices
    specifications: tuple[SpecificationResult, ...]
    effects: tuple[OptionEffect, ...]
    interactions: tuple[OptionInteraction, ...]
    tipping: tuple[TippingPoint, ...]
    settle: tuple[str, ...]
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = field(default=())

    @property
    def moved_most(self) -> tuple[OptionEffect, ...]:
        """For each choice its strongest option, the choice that moves the result most first."""
        strongest: dict[str, OptionEffect] = {}
        for one in self.effects:  # sorted by size
            strongest.setdefault(one.choice, one)
        return tuple(strongest.values())


def assess(
    claim: Claim, choices: Choices, specifications: Sequence[Specification], fits: Fits, *, level: float
) -> Verdict:
    """What all specifications together say about a claim.

    Parameters
    ----------
    claim : Claim
        The claim.
    choices : Choices
        The choices that the specifications come from.
    specifications : sequence of mapping
        The default first.
    fits : Fits
        The claim's quantity under each of them.
    level : float
        Coverage of the intervals.
    """
    status = [_status(claim, estimate) for estimate in fits.estimates]
    shares = {kind: status.count(kind) / len(status) for kind in ("supported", "contradicted", "open")}
    holds = _holds(claim, fits)
    rows = tuple(
        SpecificationResult(n, dict(one), estimate, state, _mean(holds[:, n - 1]))
        for n, (one, estimate, state) in enumerate(zip(specifications, fits.estimates, status, strict=True), 1)
    )
    effects = _effects(choices, specifications, fits, status, level)
    interactions = _interactions(choices, specifications, fits, level)
    verdict = _verdict(status)
    turns_on = _turns_on(claim, choices, specifications, fits, status) if len(set(status)) > 1 else ""
    for choice in choices.choices:
        if choice.must_agree and not _is_agreed(choice.name, specifications, status):
            verdict, turns_on = "cannot tell", choice.name
    values = [one.value for one in fits.estimates if one.value is not None and one.state == "ok"]
    return Verdict(
        claim=claim,
        verdict=verdict,
        sentence=_sentence(verdict, turns_on, status),
        turns_on=turns_on,
        default=fits.estimates[0],
        low=min(values, default=None),
        high=max(values, default=None),
        share_supported=shares["supported"],
        share_contradicted=shares["contradicted"],
        share_open=shares["open"],
        share_of_replicates=_mean(holds),
        n_specifications=len(rows),
        n_possible=choices.n_combinations,
        n_replicates=len(fits.draws),
        quantity=fits.quantity,
        is_ratio=fits.is_ratio,
        choices=choices,
        specifications=rows,
        effects=effects,
        interactions=interactions,
        tipping=tuple(fits.tipping),
        settle=_settle(fits, verdict, turns_on, status),
        notes=tuple(fits.notes),
        changes=choices.changes,
    )


def _status(claim: Claim, estimate: Estimate) -> str:
    """Supported, contradicted or open; an end that is beyond the observed range on the right side is beyond the threshold as well."""
    low = estimate.low if estimate.low_state == "ok" else None
    high = estimate.high if estimate.high_state == "ok" else None
    if estimate.state != "ok" or estimate.value is None:
        return "open"
    is_equal_enough = not claim.is_strict
    threshold = claim.threshold
    is_above = low is not None and (low > threshold or (low == threshold and is_equal_enough and claim.is_at_least))
    is_below = high is not None and (
        high < threshold or (high == threshold and is_equal_enough and not claim.is_at_least)
    )
    beyond, against = (is_above, is_below) if claim.is_at_least else (is_below, is_above)
    return "supported" if beyond else "contradicted" if against else "open"


def _holds(claim: Claim, fits: Fits) -> Floats:
    """Whether the claim holds in each replicate: 1 or 0, and ½ where the replicate failed."""
    with np.errstate(invalid="ignore", over="ignore"):
        holds = claim.holds_at(np.exp2(fits.draws) if fits.is_ratio else fits.draws)
    return np.where(np.isnan(fits.draws), 0.5, holds.astype(np.float64))


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None


def _verdict(status: Sequence[str]) -> str:
    if all(one == "supported" for one in status):
        return "holds in all"
    is_most = status.count(status[0]) >= MOST * len(status)
    if status[0] == "supported" and is_most:
        return "holds in most"
    return "does not hold" if status[0] == "contradicted" and is_most else "cannot tell"


def _is_agreed(name: str, specifications: Sequence[Specification], status: Sequence[str]) -> bool:
    """Whether each option of a choice gives the same verdict, holds or does not hold."""
    by_option: dict[str, list[str]] = {}
    for one, state in zip(specifications, status, strict=True):
        by_option.setdefault(one[name], []).append(state)
    return len({_verdict(own).removesuffix(" in all").removesuffix(" in most") for own in by_option.values()}) == 1


def _sentence(verdict: str, turns_on: str, status: Sequence[str]) -> str:
    n, total = status.count("supported"), len(status)
    count = f"{n:,} of {total:,} specifications support it, {status.count('contradicted'):,} contradict it, {status.count('open'):,} leave it open"
    turns = f" The result turns on {turns_on}." if turns_on else ""
    told = {
        kind: f"{verb} it, but not every analysis that has to"
        for kind, verb in (("supported", "supports"), ("contradicted", "contradicts"))
    }
    told["open"] = "leaves it open"
    return {
        "holds in all": f"Holds in all {total:,} specifications.",
        "holds in most": f"Holds in the default and in most specifications ({count}).{turns}",
        "does not hold": f"Does not hold: the default analysis contradicts it ({count}).{turns}",
        "cannot tell": f"Cannot tell: the default analysis {told[status[0]]} ({count}).{turns}",
    }[verdict]  # fmt: skip


def _settle(fits: Fits, verdict: str, turns_on: str, status: Sequence[str]) -> tuple[str, ...]:
    """What would decide it: the choice that it turns on, and more data where the default's interval includes the threshold."""
    if verdict == "holds in all":
        return ()
    wanted = [*([turns_on] if turns_on else []), *(["data"] if status[0] == "open" else [])]
    return tuple(fits.settle[name] for name in wanted if name in fits.settle)


def _turns_on(
    claim: Claim, choices: Choices, specifications: Sequence[Specification], fits: Fits, status: Sequence[str]
) -> str:
    """The choice whose options differ most in where their intervals lie, of those whose options differ in what they say.

    Statuses alone are too coarse where most specifications leave the claim open: there, every choice differs by a few of them. A choice that
    only widens the interval counts as well.
    """
    code = {"supported": 1.0, "open": 0.0, "contradicted": -1.0}
    places = [_place(claim, one, state, fits) for one, state in zip(fits.estimates, status, strict=True)]

    def spread(name: str, values: Sequence[float]) -> float:
        by_option: dict[str, list[float]] = {}
        for one, value in zip(specifications, values, strict=True):
            by_option.setdefault(one[name], []).append(value)
        means = [sum(own) / len(own) for own in by_option.values()]
        return max(means) - min(means)

    states = [code[state] for state in status]
    spreads = {one.name: spread(one.name, places) for one in choices.choices if spread(one.name, states) > _ROUNDING}
    return max(spreads, key=lambda name: spreads[name], default="")


def _place(claim: Claim, estimate: Estimate, status: str, fits: Fits) -> float:
    """Where the interval lies: 1 beyond the threshold, −1 against it; across it, how far the estimate is from the threshold, as a share of the way to the interval's end."""
    if status != "open":
        return 1.0 if status == "supported" else -1.0
    is_above = estimate.value is not None and estimate.value > claim.threshold
    end = estimate.low if is_above else estimate.high
    if None in (estimate.value, end) or (estimate.low_state if is_above else estimate.high_state) != "ok":
        return 0.0
    points = np.array([estimate.value, end, claim.threshold], dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        value, far, threshold = np.log2(points) if fits.is_ratio else points
        share = abs(value - threshold) / abs(value - far)
    share = min(float(share), 1.0) if np.isfinite(share) else 0.0
    return share if is_above == claim.is_at_least else -share


def _share(name: str, value: str, specifications: Sequence[Specification], status: Sequence[str], kind: str) -> float:
    own = [state == kind for one, state in zip(specifications, status, strict=True) if one[name] == value]
    return sum(own) / len(own) if own else 0.0


def _effects(
    choices: Choices, specifications: Sequence[Specification], fits: Fits, status: Sequence[str], level: float
) -> tuple[OptionEffect, ...]:
    place = {_key(one): i for i, one in enumerate(specifications)}
    found = []
    for choice in choices.choices:
        for option in choice.values[1:]:
            pairs = [
                (place[other], i)
                for i, one in enumerate(specifications)
                if one[choice.name] == option and (other := _key({**one, choice.name: choice.default})) in place
            ]
            effect = _contrast(fits, [(i, j) for j, i in pairs], level)
            alone = _contrast(fits, [(i, j) for j, i in pairs if j == 0], level)
            shares = [_share(choice.name, one, specifications, status, "supported") for one in (option, choice.default)]
            found.append(OptionEffect(choice.name, option, effect, alone, len(pairs), *shares))
    return tuple(sorted(found, key=lambda one: -_size(one.effect, fits.is_ratio)))


def _interactions(
    choices: Choices, specifications: Sequence[Specification], fits: Fits, level: float
) -> tuple[OptionInteraction, ...]:
    """Pairs of options whose joint effect has an interval without 'none', the largest first."""
    place = {_key(one): i for i, one in enumerate(specifications)}
    found = []
    for a, b in itertools.combinations(choices.choices, 2):
        for x, y in itertools.product(a.values[1:], b.values[1:]):
            quads = []
            for i, one in enumerate(specifications):
                if one[a.name] != x or one[b.name] != y:
                    continue
                others = [
                    place.get(_key({**one, **change}))
                    for change in ({b.name: b.default}, {a.name: a.default}, {a.name: a.default, b.name: b.default})
                ]
                if None not in others:
                    quads.append((i, *others))
            effect = _contrast(fits, quads, level)
            none = 1.0 if fits.is_ratio else 0.0
            if effect.low is not None and effect.high is not None and not effect.low <= none <= effect.high:
                found.append(OptionInteraction(a.name, x, b.name, y, effect, len(quads)))
    return tuple(sorted(found, key=lambda one: -_size(one.effect, fits.is_ratio))[:_MOST_INTERACTIONS])


def _contrast(fits: Fits, groups: Sequence[Sequence[Any]], level: float) -> Estimate:
    """The median over groups of v₁ − v₂ (pairs) or v₁ − v₂ − v₃ + v₄ (fours), with its interval over the common replicates."""

    def contrast(values: Floats, group: Sequence[int]) -> Floats:
        first = replicate_differences(values[..., group[0]], values[..., group[1]])
        if len(group) == 2:
            return first
        return replicate_differences(first, replicate_differences(values[..., group[2]], values[..., group[3]]))

    back = math.exp2 if fits.is_ratio else float
    usable = [group for group in groups if np.isfinite(contrast(fits.values, group))]
    if not usable:
        return Estimate.without(
            "undefined", "no two specifications that differ in nothing else have a number", level=level
        )
    middle = float(np.median([contrast(fits.values, group) for group in usable]))
    middle = 0.0 if abs(middle) < _ROUNDING else middle
    if any(len({fits.units[i] for i in group}) > 1 for group in usable):
        return Estimate(back(middle), level=level, reason="another unit is resampled, so the difference is not paired")
    if not len(fits.draws):
        return Estimate(back(middle), level=level, reason="no replicates")
    drawn = np.stack([contrast(fits.draws, group) for group in usable], axis=1)
    interval = replicate_interval(_row_medians(drawn), level)
    return interval.estimate(middle, level=level).map(back)


def _row_medians(values: Floats) -> Floats:
    """The median of each row's usable numbers; NaN where there is none. ±inf counts as very large or small."""
    is_known = ~np.isnan(values)
    n = is_known.sum(axis=1)
    ordered = np.sort(values, axis=1)  # NaN last
    rows = np.arange(len(values))
    last = values.shape[1] - 1
    low = ordered[rows, np.clip((n - 1) // 2, 0, last)]
    high = ordered[rows, np.clip(n // 2, 0, last)]
    with np.errstate(invalid="ignore"):
        return np.where(n > 0, np.where(low == high, low, (low + high) / 2), np.nan)


def _size(effect: Estimate, is_ratio: bool) -> float:  # noqa: FBT001
    if effect.value is None:
        return -1.0
    return abs(math.log2(effect.value)) if is_ratio and effect.value > 0 else abs(effect.value)


def _key(specification: Specification) -> tuple[tuple[str, str], ...]:
    return tuple(specification.items())
