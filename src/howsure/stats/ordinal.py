"""Ordered categories rated by raters: a cumulative logit model with random effects of raters, items and their combinations with systems.

The simulator stands beside the estimator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import stdtr

from howsure.compiled import kernel
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, Ints, check_level, codes, finite, t_quantile

__all__ = ["OrdinalContrast", "OrdinalFit", "fit_ordinal", "simulate_ordinal"]

_LEAST_SD, _MOST_SD = 0.02, 8.0
_SEPARATED_SD = 0.9 * _MOST_SD  # the likelihood still rises at the end of the search
_MOST_CATEGORIES = 20
_MOST_LEVELS = 400  # of all random effects but the largest: their block is dense


@dataclass(frozen=True)
class OrdinalContrast:
    """The difference of two groups on the latent (log odds) scale: above 0, the first has the higher ratings.

    Parameters
    ----------
    a, b : str
        The groups.
    difference : Estimate
        Log of the odds ratio of a higher rating, a against b.
    p : float
        Two-sided p value of no difference.
    df : float
        Degrees of freedom of its t distribution.
    """

    a: str
    b: str
    difference: Estimate
    p: float
    df: float


@dataclass(frozen=True)
class OrdinalFit:
    """A fitted cumulative logit model.

    Parameters
    ----------
    thresholds : tuple of float
        Where one category ends and the next begins, on the latent scale.
    sds : Mapping[str, float]
        Standard deviation of each random effect on the latent scale; the residual's is π/√3 = 1.81.
    effects : tuple of (level, Estimate)
        How far each level of the random effect ``each`` is from the mean of its levels; above 0, higher ratings. For raters that is leniency,
        the opposite of severity.
    contrasts : tuple of OrdinalContrast
        All pairs of groups.
    n : int
        Number of ratings.
    n_categories : int
        Number of categories.
    """

    thresholds: tuple[float, ...]
    sds: Mapping[str, float]
    effects: tuple[tuple[str, Estimate], ...]
    contrasts: tuple[OrdinalContrast, ...]
    n: int
    n_categories: int


def fit_ordinal(  # noqa: PLR0912 - checks, fit, contrasts and effects, from top to bottom
    values: ArrayLike,
    random: Mapping[str, Sequence[Any]],
    *,
    group: Sequence[Any] | None = None,
    each: str | None = None,
    level: float = 0.95,
) -> OrdinalFit | str:
    r"""Fit ordered ratings by raters, items and groups; or say in a sentence why that is not possible.

    .. math:: P(Y \le k) = \operatorname{logit}^{-1}\Big(\theta_k - \beta_{group} - \sum_f b_{f, level}\Big), \qquad b_f \sim N(0, \tau_f^2)

    The model uses only the order of the categories: no distance between them is assumed. The standard deviations τ maximise the Laplace approximation of the likelihood
    that is integrated over all other parameters (restricted likelihood), so that they are not too small in small studies. The interval
    of a contrast of groups is t with Satterthwaite's degrees of freedom: the share of each random effect in the variance of the contrast, and its
    number of levels.

    Parameters
    ----------
    values : array
        One number per rating; only the order matters.
    random : mapping of name → labels
        One label per rating for each random effect, such as rater and item.
    group : sequence, optional
        One label per rating: what is compared, such as systems.
    each : str, optional
        The random effect whose levels are told one by one, such as the rater: how much higher each rates than the mean of all raters.
    level : float
        Coverage of the intervals, between 0 and 1.

    References
    ----------
    McCullagh (1980), *Regression models for ordinal data*; Christensen, *Cumulative link models for ordinal regression with the R package ordinal*.
    """
    check_level(level)
    numbers = finite(values, "values")
    steps, y = np.unique(numbers, return_inverse=True)
    if len(steps) < 2:
        return "all ratings are equal"
    if len(steps) > _MOST_CATEGORIES:
        return f"{len(steps)} different values are measurements, not ordered categories"
    names, factors = [], []
    for name, labels in random.items():
        code = codes(list(labels), name)
        if len(code) != len(y):
            raise InputError(
                f"Lengths differ: {len(y):,} ratings, {len(code):,} labels of {name}. Give one per rating."
            )
        if 2 <= code.max() + 1 < len(y):
            names.append(name)
            factors.append(code)
    if not factors:
        return "neither raters nor items repeat"
    # the levels of the largest effect are eliminated: no rating belongs to two of them
    order = np.argsort([int(code.max()) for code in factors], kind="stable")
    names, factors = [names[one] for one in order], [factors[one] for one in order]
    n_dense = sum(int(code.max()) + 1 for code in factors[:-1])
    if n_dense > _MOST_LEVELS:
        return f"{n_dense:,} levels of random effects beside {names[-1]}; up to {_MOST_LEVELS} are fitted"
    groups = None if group is None else codes(list(group), "group")
    labels_of_group = [] if group is None or groups is None else _levels(group, groups)
    model = _Model.of(y, len(steps), factors, groups)
    sds = model.best_sds()
    if sds is None:
        return "the model did not converge"
    if max(sds) > _SEPARATED_SD:
        return f"too few ratings: those of one {names[int(np.argmax(sds))]} are almost all alike, so that the size of its random effect has no finite estimate"
    state = model.mode(sds)
    if state is None:
        return "the model did not converge"
    n_fixed = model.n_thresholds + model.n_groups
    inverse: Floats = np.asarray(np.linalg.inv(state.reduced()), dtype=np.float64)[:n_fixed, :n_fixed]
    parts = _parts(model, sds, state, n_fixed) if labels_of_group else []
    n_rest = max(len(y) - len(state.values), 10)
    contrasts = []
    for one in range(len(labels_of_group)):
        for other in range(one + 1, len(labels_of_group)):
            way = np.zeros(n_fixed)
            for place, sign in ((one, 1.0), (other, -1.0)):
                if place:
                    way[model.n_thresholds + place - 1] += sign
            value, variance = float(way @ state.values[:n_fixed]), float(way @ inverse @ way)
            df = _freedom(parts, way, variance, model.n_groups, n_rest)
            se = math.sqrt(variance)
            reach = t_quantile(level, df) * se
            p = float(2 * stdtr(df, -abs(value) / se))
            difference = Estimate(value, value - reach, value + reach, level)
            contrasts.append(OrdinalContrast(labels_of_group[one], labels_of_group[other], difference, p, df))
    thresholds = tuple(float(one) for one in state.values[: model.n_thresholds])
    told: tuple[tuple[str, Estimate], ...] = ()
    if each is not None and each in names:
        place = names.index(each)
        effects = _deviations(model, sds, place, level)
        told = tuple(zip(_levels(list(random[each]), factors[place]), effects, strict=True)) if effects else ()
    return OrdinalFit(thresholds, dict(zip(names, sds, strict=True)), told, tuple(contrasts), len(y), len(steps))


def _deviations(model: _Model, sds: Sequence[float], place: int, level: float) -> list[Estimate]:
    """How far each level of one random effect is from the mean of all its levels, without shrinkage towards it."""
    wide = [_MOST_SD if one == place else sd for one, sd in enumerate(sds)]
    found = model.mode(wide)
    if found is None:
        return []
    start, size = model.starts[place], model.sizes[place]
    inverse = found.inverse(start, size)
    ways = np.eye(size) - 1 / size
    values = ways @ found.values[start : start + size]
    spread = np.sqrt(np.einsum("ij,jk,ik->i", ways, inverse, ways))
    far = t_quantile(level, max(len(model.y) / size - 1, 1))
    return [
        Estimate(value, value - far * se, value + far * se, level) for value, se in zip(values, spread, strict=True)
    ]


def _levels(labels: Sequence[Any], code: Ints) -> list[str]:
    first = np.unique(code, return_index=True)[1]
    return [str(labels[place]) for place in first]


@dataclass(frozen=True)
class _Mode:
    """The most probable values of all parameters, and the curvature there: dense for all but the last effect, whose own block is diagonal."""

    values: Floats
    dense: Floats
    across: Floats
    diagonal: Floats
    height: float

    def reduced(self, dense: Floats | None = None, diagonal: Floats | None = None) -> Floats:
        """The curvature of the dense part, with the last effect integrated out."""
        block, own = self.dense if dense is None else dense, self.diagonal if diagonal is None else diagonal
        return np.asarray(block - self.across.T @ (self.across / own[:, None]))

    def log_determinant(self) -> float:
        """Of the whole curvature; NaN where it is not positive."""
        sign, size = np.linalg.slogdet(self.reduced())
        return float(size + np.log(self.diagonal).sum()) if sign > 0 and (self.diagonal > 0).all() else math.nan

    def inverse(self, start: int, size: int) -> Floats:
        """The block of the inverse of the whole curvature that belongs to these parameters."""
        n = len(self.dense)
        inner = np.linalg.inv(self.reduced())
        if start < n:
            return np.asarray(inner[start : start + size, start : start + size])
        scaled = self.across / self.diagonal[:, None]
        return np.asarray(np.diag(1 / self.diagonal) + scaled @ inner @ scaled.T)

    def variances(self, start: int, size: int) -> Floats:
        """The diagonal of `inverse`."""
        n = len(self.dense)
        inner = np.linalg.inv(self.reduced())
        if start < n:
            return np.asarray(np.diag(inner)[start : start + size])
        scaled = self.across / self.diagonal[:, None]
        return np.asarray(1 / self.diagonal + ((scaled @ inner) * scaled).sum(axis=1))


@dataclass
class _Model:
    """The likelihood of all ratings; parameters are thresholds, groups (the first is 0), then the levels of each factor."""

    y: Ints
    n_thresholds: int
    n_groups: int
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    columns: Ints
    last: Floats

    @classmethod
    def of(cls, y: Ints, n_categories: int, factors: Sequence[Ints], groups: Ints | None) -> _Model:
        n_thresholds = n_categories - 1
        n_groups = int(groups.max()) if groups is not None else 0
        sizes = tuple(int(code.max()) + 1 for code in factors)
        starts = tuple(int(one) for one in n_thresholds + n_groups + np.cumsum([0, *sizes[:-1]]))
        # which parameters are taken off the threshold of each rating; −1 is none
        columns = [start + code for start, code in zip(starts, factors, strict=True)]
        if groups is not None:
            columns.append(np.where(groups > 0, n_thresholds + groups - 1, -1))
        shares = np.cumsum(np.bincount(y, minlength=n_categories))[:-1] / len(y)
        begin = np.zeros(starts[-1] + sizes[-1])
        begin[:n_thresholds] = np.log(shares / (1 - shares))
        return cls(y, n_thresholds, n_groups, starts, sizes, np.column_stack(columns), begin)

    def mode(self, sds: Sequence[float]) -> _Mode | None:
        """The mode for these standard deviations, from the last one on."""
        prior = np.full(len(self.last), 1e-9)
        for start, size, sd in zip(self.starts, self.sizes, sds, strict=True):
            prior[start : start + size] = 1 / sd**2
        values, dense, across, diagonal, height, is_found = _climb(
            self.y, self.columns, self.n_thresholds, self.starts[-1], prior, self.last
        )
        if not is_found:
            return None
        self.last = values
        return _Mode(values, dense, across, diagonal, height)

    def marginal(self, sds: Sequence[float]) -> float:
        """Laplace's approximation of the log likelihood, integrated over everything but the standard deviations."""
        found = self.mode(sds)
        if found is None:
            return -math.inf
        size = found.log_determinant()
        scale = sum(n * math.log(sd) for n, sd in zip(self.sizes, sds, strict=True))
        return -math.inf if math.isnan(size) else found.height - scale - 0.5 * size

    def best_sds(self) -> list[float] | None:
        """The standard deviations with the largest marginal likelihood."""
        low, high = math.log(_LEAST_SD), math.log(_MOST_SD)

        def loss(logs: Floats) -> float:
            clipped = np.clip(logs, low, high)
            beyond = float(np.abs(logs - clipped).sum())
            found = self.marginal(np.exp(clipped).tolist())
            return 1e10 if found == -math.inf else -found + beyond

        begin = np.full(len(self.sizes), math.log(0.7))
        found = minimize(
            loss,
            begin,
            method="Nelder-Mead",
            options={"xatol": 0.02, "fatol": 1e-3, "maxfev": 60 * len(begin), "initial_simplex": _simplex(begin)},
        )
        return None if found.fun >= 1e10 else np.exp(np.clip(found.x, low, high)).tolist()


@kernel
def _height(y: Ints, columns: Ints, n_thresholds: int, prior: Floats, values: Floats) -> float:
    """Log likelihood and log prior."""
    total: float = -0.5 * (prior * values * values).sum()
    for row in range(len(y)):
        taken = 0.0
        for column in columns[row]:
            if column >= 0:
                taken += values[column]
        above = 50.0 if y[row] == n_thresholds else values[y[row]] - taken
        below = -50.0 if y[row] == 0 else values[y[row] - 1] - taken
        if above <= below:
            return -np.inf
        # where both are large, the difference is taken from the other end
        p = (
            1 / (1 + np.exp(-above)) - 1 / (1 + np.exp(-below))
            if below < 0
            else 1 / (1 + np.exp(below)) - 1 / (1 + np.exp(above))
        )
        if p <= 1e-300:
            return -np.inf
        total += np.log(p)
    return total


@kernel
def _climb(  # noqa: PLR0912, PLR0915 - one loop over ratings, compiled as a whole
    y: Ints, columns: Ints, n_thresholds: int, n_dense: int, prior: Floats, begin: Floats
) -> tuple[Floats, Floats, Floats, Floats, float, bool]:
    """Newton's method; the log likelihood is concave. Values, the three blocks of the curvature, height, and whether the mode was reached."""
    n_columns, n_last = columns.shape[1], len(begin) - n_dense
    values = begin.copy()
    dense, across, diagonal = np.zeros((n_dense, n_dense)), np.zeros((n_last, n_dense)), np.zeros(n_last)
    places, weights = np.zeros(n_columns + 2, np.int64), np.zeros((2, n_columns + 2))
    best = _height(y, columns, n_thresholds, prior, values)
    for _ in range(60):
        gradient = -prior * values
        dense[:] = 0.0
        across[:] = 0.0
        for place in range(n_dense):
            dense[place, place] = prior[place]
        diagonal[:] = prior[n_dense:]
        for row in range(len(y)):
            taken, n = 0.0, 0
            for column in columns[row]:
                if column >= 0:
                    taken += values[column]
                    places[n], weights[0, n], weights[1, n] = column, -1.0, -1.0
                    n += 1
            k = y[row]
            top, bottom = 1.0, 0.0
            if k < n_thresholds:
                top = 1 / (1 + np.exp(taken - values[k]))
                places[n], weights[0, n], weights[1, n] = k, 1.0, 0.0
                n += 1
            if k > 0:
                bottom = 1 / (1 + np.exp(taken - values[k - 1]))
                places[n], weights[0, n], weights[1, n] = k - 1, 0.0, 1.0
                n += 1
            p = max(top - bottom, 1e-300)
            first = top * (1 - top) / p if k < n_thresholds else 0.0
            second = bottom * (1 - bottom) / p if k > 0 else 0.0
            upper = first * first - first * (1 - 2 * top)
            lower = second * second + second * (1 - 2 * bottom)
            both = -first * second
            for one in range(n):
                a, c = weights[0, one], weights[1, one]
                at = places[one]
                gradient[at] += a * first - c * second
                for other in range(n):
                    b, d = weights[0, other], weights[1, other]
                    to, added = places[other], upper * a * b + lower * c * d + both * (a * d + c * b)
                    if at < n_dense and to < n_dense:
                        dense[at, to] += added
                    elif at >= n_dense and to < n_dense:
                        across[at - n_dense, to] += added
                    elif at >= n_dense and to >= n_dense:
                        diagonal[at - n_dense] += added
        scaled = across / diagonal.reshape(-1, 1)
        step = np.empty(len(values))
        step[:n_dense] = np.linalg.solve(dense - across.T @ scaled, gradient[:n_dense] - scaled.T @ gradient[n_dense:])
        step[n_dense:] = gradient[n_dense:] / diagonal - scaled @ step[:n_dense]
        gain = (gradient * step).sum()
        if not np.isfinite(gain) or gain < 0:
            return values, dense, across, diagonal, best, False
        size = 1.0
        height = _height(y, columns, n_thresholds, prior, values + step)
        while height < best - 1e-10 and size > 1e-6:
            size /= 2
            height = _height(y, columns, n_thresholds, prior, values + size * step)
        values = values + size * step
        best = height
        if gain < 1e-7:
            return values, dense, across, diagonal, best, True
    return values, dense, across, diagonal, best, False


def _simplex(begin: Floats) -> Floats:
    return np.vstack([begin, *(begin + 0.6 * row for row in np.eye(len(begin)))])


def _parts(model: _Model, sds: Sequence[float], mode: _Mode, n_fixed: int) -> list[tuple[Floats, float]]:
    """For each random effect the covariance of the fixed parameters at a τ² that is a tenth larger, and how many of its levels the data tell."""
    found, n = [], len(mode.dense)
    for start, size, sd in zip(model.starts, model.sizes, sds, strict=True):
        dense, diagonal = mode.dense.copy(), mode.diagonal.copy()
        if start < n:
            at = np.arange(start, start + size)
            dense[at, at] += (1 / 1.1 - 1) / sd**2
        else:
            diagonal += (1 / 1.1 - 1) / sd**2
        grown = np.linalg.inv(mode.reduced(dense, diagonal))[:n_fixed, :n_fixed]
        found.append((np.asarray(grown), float(np.clip(1 - mode.variances(start, size) / sd**2, 0, 1).sum())))
    return found


def _freedom(
    parts: Sequence[tuple[Floats, float]], way: Floats, variance: float, n_groups: int, n_rest: float
) -> float:
    """Satterthwaite's degrees of freedom of a contrast: a variance is known by as many levels as the data tell, less the groups among them."""
    terms, rest = 0.0, 1.0
    for grown, known in parts:
        # the derivative of the contrast's variance by τ², times τ², is the share of this random effect
        share = min(max((float(way @ grown @ way) - variance) / 0.1 / variance, 0.0), 1.0)
        terms += share**2 / max(known - n_groups, 1.0)
        rest -= share
    return max(1 / (terms + max(rest, 0.0) ** 2 / n_rest), 1.0)


def simulate_ordinal(
    *,
    n_items: int = 20,
    n_raters: int = 6,
    group_effects: Sequence[float] = (0.0, 1.0),
    n_categories: int = 5,
    sds: Mapping[str, float] | None = None,
    missing: float = 0.0,
    seed: int = 0,
) -> dict[str, Any]:
    """Ratings of every group's answer to every item by every rater, with known effects.

    Parameters
    ----------
    n_items, n_raters : int
        How many of each.
    group_effects : sequence of float
        True latent effect of each group (system).
    n_categories : int
        Number of ordered categories.
    sds : mapping, optional
        Standard deviations of ``item``, ``answer`` (item × group), ``rater`` and ``rater × group``.
    missing : float
        Share of ratings that are missing at random.
    seed : int
        The same seed gives the same ratings.

    Returns
    -------
    dict
        ``value``, ``item``, ``answer``, ``rater``, ``group`` (one entry per rating) and the true effects of raters, ``rater_effects``.
    """
    spread = {"item": 1.0, "answer": 0.5, "rater": 0.8, "rater × group": 0.3} | dict(sds or {})
    rng = np.random.default_rng(seed)
    n_groups = len(group_effects)
    item, group, rater = (one.ravel() for one in np.indices((n_items, n_groups, n_raters)))
    leniency = rng.normal(0, spread["rater"], n_raters)
    latent = (
        np.asarray(group_effects)[group]
        + rng.normal(0, spread["item"], n_items)[item]
        + rng.normal(0, spread["answer"], (n_items, n_groups))[item, group]
        + leniency[rater]
        + rng.normal(0, spread["rater × group"], (n_raters, n_groups))[rater, group]
        + rng.logistic(size=len(item))
    )
    cuts = np.linspace(-2, 2.5, n_categories - 1)
    value = np.searchsorted(cuts, latent) + 1.0
    is_kept = rng.random(len(value)) >= missing
    found = {"value": value, "item": item, "answer": item * n_groups + group, "rater": rater, "group": group}
    return {name: one[is_kept] for name, one in found.items()} | {"rater_effects": leniency}
