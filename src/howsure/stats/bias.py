"""Biases of a judge: the position in which a response is shown, and its length."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from howsure.estimates import Estimate
from howsure.stats import replicates
from howsure.stats._arrays import Floats, Ints, aligned, check_level, codes, t_quantile
from howsure.stats.components import certain
from howsure.stats.means import Bounds, paired_difference, share

__all__ = ["LengthBias", "PositionBias", "bias_effects", "length_bias", "position_bias"]

_FEWEST_POINTS = 4


@dataclass(frozen=True)
class PositionBias:
    """What the slot does to a verdict.

    ``shift`` is how much higher the same thing is rated in slot 1 than in slot 2. ``consistency`` is the share of items whose verdict is
    the same in both orders, and ``slot_one``, of the items whose favourite changed with the order, the share that went with slot 1.
    """

    shift: Estimate
    consistency: Estimate
    slot_one: Estimate
    n_items: int


def position_bias(
    first: ArrayLike,
    second: ArrayLike,
    *,
    neutral: float | None = None,
    bounds: Bounds = None,
    clusters: Any = None,
    level: float = 0.95,
) -> PositionBias:
    r"""How far verdicts follow the slot, from judging every item in both orders.

    .. math:: \text{shift} = \overline{x^{(1)} - x^{(2)}}

    ``first`` x⁽¹⁾ are ratings of the thing in question when it stands in slot 1, ``second`` x⁽²⁾ when it stands in slot 2, of the same items.
    Where ratings weigh two responses against each other, ``neutral`` is the rating of a tie: then a verdict is the favourite, and
    favourites that change with the order are counted by the slot they follow. Without it a verdict is the rating itself. A judge that
    is merely unsure is inconsistent too, but has neither a shift nor a favourite slot. The shift has a t interval over items, cut at
    what ``bounds`` of the ratings allow; the shares have exact ones. With ``clusters`` (one label per item) all three are over clusters.
    """
    first, second = aligned(first=first, second=second)
    code = None if clusters is None else codes(clusters, "clusters")
    shift = paired_difference(first, second, code, level=level, bounds=bounds).estimate
    if neutral is None:
        no_favourite = Estimate.without("undefined", "asked of one response: no favourite", level=level)
        same = share(np.isclose(first, second), code, is_exact=True, level=level)
        return PositionBias(shift, same, no_favourite, len(first))
    one, two = np.sign(first - neutral), np.sign(second - neutral)
    is_changed = one * two < 0
    slot_one = (
        share(one[is_changed] > 0, None if code is None else code[is_changed], is_exact=True, level=level)
        if is_changed.any()
        else Estimate.without("undefined", "no favourite changed with the order", level=level)
    )
    return PositionBias(shift, share(one == two, code, is_exact=True, level=level), slot_one, len(first))


@dataclass(frozen=True)
class LengthBias:
    """What length does to ratings, in units of the rating for each doubling of length.

    ``judge`` and ``people`` are how much more the judge and people give to what is twice as long; ``excess`` is the difference: what
    the judge gives to length beyond what people find in it.
    """

    judge: Estimate
    people: Estimate
    excess: Estimate
    n_items: int


def length_bias(
    judge: ArrayLike, people: ArrayLike, doublings: ArrayLike, *, clusters: Any = None, level: float = 0.95
) -> LengthBias:
    r"""How much more the judge rewards length than people do.

    .. math:: f_i - \bar y_i = a + \beta x_i + e_i

    ``judge`` f and ``people`` ȳ (their mean) are ratings of the same items on the same scale; ``doublings`` x is log₂ of the length, or, where two
    responses are weighed, of the ratio of their lengths. The excess β is the difference of the judge's slope and people's, on the same items.
    Longer may be better, and people then prefer it too: only what goes beyond them is bias. Since people's noise stands
    on the left side it does not bias β, as it would if the judge were regressed on people and length. A judge that uses a
    narrower part of the scale than people has smaller slopes throughout, of length too.

    The interval is t on n − 2 degrees of freedom with the standard error of MacKinnon and White (1985), HC3, which allows for
    items of unequal noise. With ``clusters`` (one label per item) it is a jackknife over clusters, t on their number − 1 degrees of freedom.
    """
    check_level(level)
    judge, people, x = aligned(judge=judge, people=people, doublings=doublings)
    code = None if clusters is None else codes(clusters, "clusters")
    by_judge, by_people, excess = (_slope(x, y, code, level) for y in (judge, people, judge - people))
    return LengthBias(by_judge, by_people, excess, len(x))


def _slope(x: Floats, y: Floats, code: Ints | None, level: float) -> Estimate:
    n = len(x)
    if n < _FEWEST_POINTS:
        return Estimate.without("too_few", f"{n} items; {_FEWEST_POINTS} are needed", level=level)
    if np.ptp(x) == 0:
        return Estimate.without("undefined", "all lengths are the same", level=level)
    if code is not None:
        return _slope_over_clusters(x, y, code, level)
    x, y = x - x.mean(), y - y.mean()
    spread = float(x @ x)
    slope = float(x @ y) / spread
    leverage = 1 / n + x**2 / spread
    if (leverage > 1 - 1e-9).any():
        return certain(slope, "it hangs on one item, so nothing tells how sure it is", level)
    errors = (y - slope * x) / (1 - leverage)
    se = math.sqrt(float((x**2) @ (errors**2))) / spread
    if se < 1e-12 * (1 + abs(slope)):
        return certain(slope, "every item lies on the line, so nothing tells how rarely one would not", level)
    far = t_quantile(level, n - 2) * se
    return Estimate(slope, slope - far, slope + far, level)


def _slope_over_clusters(x: Floats, y: Floats, code: Ints, level: float) -> Estimate:
    def slope(x: Floats, y: Floats) -> float:
        away = x - x.mean()
        return float(away @ y) / float(away @ away) if np.ptp(x) else math.nan

    left_out = [slope(np.delete(x, part), np.delete(y, part)) for part in replicates.groups(len(x), code)]
    return replicates.estimate(slope(x, y), left_out, level)


def bias_effects(
    excess: ArrayLike, covariates: Mapping[str, ArrayLike], *, clusters: Any = None, level: float = 0.95
) -> dict[str, Estimate]:
    r"""What several properties of an answer do to a judge's rating beyond what they do to people's, all in one model.

    .. math:: f_i - \bar y_i = a + \sum_j \beta_j x_{ij} + e_i

    Each effect is at equal values of the others: a judge that likes long answers does not seem to like lists because these are long. Intervals are a jackknife
    over clusters (or over entries), t on their number − 1 degrees of freedom.

    Parameters
    ----------
    excess : array
        Judge's rating minus people's mean rating, one per answer (or per answer and order).
    covariates : mapping of name → array
        Properties, such as slot (½ and −½), log₂ of the length, 1 for the judge's own family.
    clusters : sequence, optional
        One label per entry: entries that belong together, such as both orders of one item.
    level : float
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    dict
        Effect by name; ``undefined`` for a property that never varies or follows from the others.
    """
    check_level(level)
    names = list(covariates)
    arrays = aligned(excess=excess, **{f"covariate {name}": covariates[name] for name in names})
    y, columns = arrays[0], np.column_stack(arrays[1:]) if names else np.zeros((len(arrays[0]), 0))
    code = np.arange(len(y)) if clusters is None else codes(clusters, "clusters")
    n_units = int(code.max()) + 1 if len(y) else 0
    if n_units < len(names) + 4:
        reason = f"{n_units} items; {len(names) + 4} are needed"
        return dict.fromkeys(names, Estimate.without("too_few", reason, level=level))
    kept: list[int] = []
    for at in range(len(names)):
        tried = np.column_stack([np.ones(len(y)), columns[:, [*kept, at]]])
        if np.linalg.matrix_rank(tried) == len(kept) + 2:
            kept.append(at)
    design = np.column_stack([np.ones(len(y)), columns[:, kept]])

    def slopes(rows: Ints | None) -> Floats:
        x, of = (design, y) if rows is None else (np.delete(design, rows, axis=0), np.delete(y, rows))
        found, _, rank, _ = np.linalg.lstsq(x, of, rcond=None)
        return np.asarray(found[1:]) if rank == x.shape[1] else np.full(len(kept), math.nan)

    whole = slopes(None)
    left = np.array([slopes(part) for part in replicates.groups(len(y), code)])
    effects = {
        names[at]: replicates.estimate(float(whole[place]), left[:, place], level) for place, at in enumerate(kept)
    }
    undefined = Estimate.without("undefined", "it never varies, or follows from the others", level=level)
    return {name: effects.get(name, undefined) for name in names}
