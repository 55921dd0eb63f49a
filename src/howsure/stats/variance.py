"""The variance of scores, split into a part between items and a part between repeats of the same item."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike
from scipy.special import fdtri

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, aligned, check_level

__all__ = ["VarianceSplit", "split"]


@dataclass(frozen=True)
class VarianceSplit:
    """The variance of one score at a random item, split.

    ``between`` items, ``within`` them from repeat to repeat, ``total`` their sum; None where nothing tells them apart.
    ``share_between`` is the intraclass correlation. ``is_truncated`` says that items differed less than repeats alone would
    make them: the estimate of ``between`` fell below 0 and was set to 0.
    """

    between: float | None
    within: float | None
    total: float | None
    share_between: Estimate
    is_truncated: bool
    n_items: int
    n: int

    def se_if_epochs(self, k: int) -> float | None:
        """Standard error of the mean over these items if each were tried ``k`` times."""
        if k < 1:
            raise OptionError(f"{k} epochs are none. Give at least 1.")
        if self.between is None or self.within is None:
            return None
        return math.sqrt((self.between + self.within / k) / self.n_items)


def split(n: ArrayLike, total: ArrayLike, squares: ArrayLike, *, level: float = 0.95) -> VarianceSplit:
    r"""Between and within items, from the number, the sum and the sum of squares of each item's scores.

    .. math:: \sigma^2_{within} = MSW, \qquad \sigma^2_{between} = \frac{MSB - MSW}{n_0}, \qquad
              n_0 = \frac{N - \sum_i n_i^2 / N}{k - 1}

    One-way analysis of variance for unequal numbers of repeats (Searle, Casella and McCulloch 1992, section 3.6). The interval
    of the share comes from the F distribution with n₀ for the number of repeats: exact for equal repeats of normal
    scores, approximate otherwise.
    """
    check_level(level)
    n, total, squares = aligned(n=n, total=total, squares=squares)
    if (n < 1).any():
        raise InputError("n: an item without a score. Leave it out.")
    n_items, n_scores = len(n), int(n.sum())
    if n_items < 2 or n_scores == n_items:
        reason = f"{n_items} items, {n_scores} scores; 2 items and a repeat tell them apart"
        return VarianceSplit(
            None, None, None, Estimate.without("too_few", reason, level=level), False, n_items, n_scores
        )
    ms_between, ms_within = _mean_squares(n, total, squares)
    repeats = (n_scores - (n**2).sum() / n_scores) / (n_items - 1)
    raw = float((ms_between - ms_within) / repeats)
    between = max(raw, 0.0)
    share = _share(ms_between, ms_within, repeats, n_items - 1, n_scores - n_items, level)
    return VarianceSplit(between, ms_within, between + ms_within, share, raw < 0, n_items, n_scores)


def _mean_squares(n: Floats, total: Floats, squares: Floats) -> tuple[float, float]:
    """Variation of item means around the grand mean and of scores around item means, by degree of freedom."""
    means, grand = total / n, total.sum() / n.sum()
    between = (n * (means - grand) ** 2).sum() / (len(n) - 1)
    around = squares - total * means
    if (around < -1e-9 * (1 + squares)).any():
        raise InputError("squares: less than total²/n somewhere, which no scores give. Give sums of squared scores.")
    # what rounding leaves of equal scores is no variance
    spread = around[around > 1e-12 * squares].sum()
    return float(between), float(spread / (n.sum() - len(n)))


def _share(between: float, within: float, repeats: float, df_between: int, df_within: int, level: float) -> Estimate:
    if not within:
        state = "scores never vary" if not between else "repeats never differ, so nothing tells how rarely they would"
        value = 1.0 if between else None
        return Estimate.without("undefined", state, value=value, level=level)
    ratio, tail = between / within, (1 - level) / 2
    value = _correlation(ratio, repeats)
    low = _correlation(ratio / fdtri(df_between, df_within, 1 - tail), repeats)
    high = _correlation(ratio / fdtri(df_between, df_within, tail), repeats)
    return Estimate(value, low, high, level)


def _correlation(ratio: float, repeats: float) -> float:
    """Intraclass correlation at a ratio of mean squares, from 0."""
    return float(max((ratio - 1) / (ratio + repeats - 1), 0.0))
