"""Differences between systems whose answers to the same items were rated by the same raters, with gaps: for other items and other raters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats import replicates
from howsure.stats._arrays import Floats, Ints, check_level, codes, finite, t_quantile
from howsure.stats.multiplicity import holm

__all__ = ["SystemDifference", "system_differences"]


@dataclass(frozen=True)
class SystemDifference:
    """The difference of two systems' mean ratings, at the same items and raters.

    Parameters
    ----------
    a, b : str
        The systems.
    difference : Estimate
        a − b.
    p : float, optional
        Two-sided p value of no difference; None where there is none.
    p_holm : float, optional
        The same after Holm's correction for all pairs.
    """

    a: str
    b: str
    difference: Estimate
    p: float | None
    p_holm: float | None


def system_differences(
    values: ArrayLike,
    systems: Sequence[Any],
    items: Sequence[Any],
    raters: Sequence[Any],
    *,
    level: float = 0.95,
) -> list[SystemDifference]:
    r"""All differences between systems, adjusted for which items and which raters each had.

    .. math:: x_{sir} = \mu_s + a_i + b_r + e_{sir}

    by least squares, so that a system is not favoured by easy items or lenient raters, also where every rater saw a part. The variance is that
    of other items and other raters: :math:`V = V_{items} + V_{raters} - V_{ratings}`, each of the three by a jackknife that leaves out one item, one
    rater or one rating at a time, and at least the larger of the first two (Cameron, Gelbach and Miller 2011). t with Satterthwaite's degrees of freedom.

    Parameters
    ----------
    values : array
        One rating per entry, or 1 and 0 for whether a category was given.
    systems, items, raters : sequence
        Of each rating. An item is what several systems answered, such as a prompt.
    level : float
        Coverage of the intervals, between 0 and 1.
    """
    check_level(level)
    x = finite(values, "values")
    named = [str(one) for one in systems]
    names = sorted(set(named))
    place = {name: at for at, name in enumerate(names)}
    system = np.array([place[name] for name in named], dtype=np.int64)
    item, rater = codes(list(items), "items"), codes(list(raters), "raters")
    if not len(x) == len(system) == len(item) == len(rater):
        raise InputError("Lengths differ. Give a system, an item and a rater for every rating.")
    n_items, n_raters = int(item.max()) + 1, int(rater.max()) + 1
    # items that only one system answered compare nothing: without any shared item they cannot be told from systems
    per_item = len(np.unique(system * n_items + item)) / n_items
    blocks = item if per_item > 1 else np.zeros(len(x), dtype=np.int64)
    model = _LeastSquares.of(x, system, blocks, rater, len(names))
    whole = model.effects()
    found: list[SystemDifference] = []
    if whole is None:
        reason = "no chain of shared items or raters links these systems"
        nothing = Estimate.without("undefined", reason, level=level)
        return [SystemDifference(a, b, nothing, None, None) for a, b in combinations(names, 2)]
    by_item, by_rater = (
        np.array([model.without(part) for part in replicates.groups(len(x), code)]) for code in (item, rater)
    )
    influence = model.influence()
    for a, b in combinations(range(len(names)), 2):
        value = float(whole[a] - whole[b])
        parts = [table[:, a] - table[:, b] for table in (by_item, by_rater)]
        if any(np.isnan(part).any() or len(part) < 2 for part in parts):
            reason = f"{n_items} items and {n_raters} raters: without one of them the systems are not linked"
            nothing = Estimate.without("too_few", reason, value=value, level=level)
            found.append(SystemDifference(names[a], names[b], nothing, None, None))
            continue
        of_items, of_raters = ((len(part) - 1) / len(part) * float(((part - part.mean()) ** 2).sum()) for part in parts)
        of_ratings = float(((influence[:, a] - influence[:, b]) ** 2).sum())
        variance = max(of_items + of_raters - of_ratings, of_items, of_raters)
        if variance < 1e-20:
            reason = "all ratings of the systems differ by the same amount"
            nothing = Estimate.without("undefined", reason, value=value, level=level)
            found.append(SystemDifference(names[a], names[b], nothing, None, None))
            continue
        shares = of_items**2 / (len(parts[0]) - 1) + of_raters**2 / (len(parts[1]) - 1)
        df = max((of_items + of_raters) ** 2 / shares, 1.0)
        se = math.sqrt(variance)
        reach = t_quantile(level, df) * se
        p = float(2 * stdtr(df, -abs(value) / se))
        found.append(SystemDifference(names[a], names[b], Estimate(value, value - reach, value + reach, level), p, p))
    known = [row for row in found if row.p is not None]
    adjusted = iter(holm([row.p for row in known if row.p is not None]))
    return [
        row if row.p is None else SystemDifference(row.a, row.b, row.difference, row.p, float(next(adjusted)))
        for row in found
    ]


@dataclass(frozen=True)
class _LeastSquares:
    """Ratings on systems, items and raters. The larger of the latter two is eliminated by taking off its means; the other has a column per level."""

    both: Floats  # a row per rating: systems, the levels of the smaller side but the first, and the rating itself
    taken: Ints  # level of the larger side
    n_systems: int
    squares: Floats  # both'both
    sums: Floats  # of both, a row per level of the larger side
    counts: Floats  # ratings of each level of the larger side

    @classmethod
    def of(cls, x: Floats, system: Ints, item: Ints, rater: Ints, n_systems: int) -> _LeastSquares:
        taken, kept = (item, rater) if item.max() >= rater.max() else (rater, item)
        levels = np.eye(int(kept.max()) + 1)[kept][:, 1:]
        # a constant taken off all ratings moves no difference, and keeps products of large ratings from rounding
        both = np.column_stack([np.eye(n_systems)[system], levels, x - x.mean()])
        return cls(both, taken, n_systems, both.T @ both, *_totals(both, taken, int(taken.max()) + 1))

    def effects(self) -> Floats | None:
        """The systems' effects; None where their differences are not determined."""
        return self._solved(self.squares - self.sums.T @ (self.sums / self.counts[:, None]))

    def without(self, rows: Ints) -> Floats:
        """The same without some ratings; NaN where they are not determined."""
        nothing = np.full(self.n_systems, math.nan)
        gone = self.both[rows]
        squares = self.squares - gone.T @ gone
        if (np.diag(squares)[: self.n_systems] < 0.5).any():  # the number of ratings of each system
            return nothing
        sums, counts = _totals(gone, self.taken[rows], len(self.counts))
        sums, counts = self.sums - sums, self.counts - counts
        sums[counts == 0] = 0.0
        found = self._solved(squares - sums.T @ (sums / np.maximum(counts, 1.0)[:, None]))
        return nothing if found is None else found

    def influence(self) -> Floats:
        """What leaving out each rating would change (first order, by leverage)."""
        away = self.both - (self.sums / self.counts[:, None])[self.taken]
        inner, target = away[:, :-1], away[:, -1]
        # the systems add up to 1: a direction that rounding must not make look determined
        inverse = np.linalg.pinv(inner.T @ inner, rcond=1e-9, hermitian=True)
        rest = target - inner @ (inverse @ (inner.T @ target))
        own = 1 / self.counts[self.taken]
        leverage = np.clip(((inner @ inverse) * inner).sum(axis=1) + own, 0, 1 - 1e-6)
        return np.asarray((inner @ inverse)[:, : self.n_systems] * (rest / (1 - leverage))[:, None])

    def _solved(self, products: Floats) -> Floats | None:
        """From the products of all columns, the rating's last, about the means of the larger side's levels."""
        values, vectors = np.linalg.eigh(products[:-1, :-1])
        is_null = values < 1e-9 * max(float(values[-1]), 1e-300)
        # differences between systems may be determined though something else is not
        null = vectors[: self.n_systems, is_null]
        if np.abs(null - null.mean(axis=0)).max(initial=0) > 1e-6:
            return None
        kept = vectors[:, ~is_null]
        return np.asarray((kept @ ((kept.T @ products[:-1, -1]) / values[~is_null]))[: self.n_systems])


def _totals(rows: Floats, level: Ints, n_levels: int) -> tuple[Floats, Floats]:
    """Sums of rows by their level, and how many each level has."""
    sums = np.zeros((n_levels, rows.shape[1]))
    np.add.at(sums, level, rows)
    return sums, np.bincount(level, minlength=n_levels).astype(np.float64)
