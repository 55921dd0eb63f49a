"""Scores of several subjects on the same items, as a model of crossed and nested random effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, Ints, check_level, codes

__all__ = ["Effects", "Pooled", "fit_effects", "pool"]

_N_DRAWS = 4000


@dataclass(frozen=True)
class Effects:
    """Variances of random effects, and the share of each in the variance of one attempt within an eval.

    Parameters
    ----------
    variances : dict
        ``family``, ``item`` (shared by all subjects), ``subject × item`` and ``repeat``; those that the data cannot separate from
        another are missing, and part of the one that follows them.
    shares : dict
        The same as `Estimate` with an interval.
    notes : tuple of str
        What could not be separated.
    """

    variances: dict[str, float]
    shares: dict[str, Estimate]
    notes: tuple[str, ...] = ()

    def sampling_variance(self, families: Ints, n: Floats) -> float:
        """Variance of one subject's mean over the items of an eval, with these families and numbers of attempts."""
        size = len(families)
        of_family = float((np.bincount(families) ** 2).sum()) / size**2
        of_item = self.variances.get("item", 0.0) + self.variances.get("subject × item", 0.0)
        repeats = self.variances.get("repeat", 0.0) * float(np.mean(1 / n))
        return self.variances.get("family", 0.0) * of_family + (of_item + repeats) / size


def fit_effects(  # noqa: PLR0915 - one table of mean squares, read from top to bottom
    means: Floats, n: Floats, spread: Floats, families: Any, evals: Any, *, level: float = 0.95, seed: int = 0
) -> Effects:
    r"""Variances of families, items, subjects × items and repeats, from the sums of each subject and item.

    .. math:: y_{sik} = \mu_{s,e(i)} + f_{g(i)} + a_i + (sa)_{si} + \varepsilon_{sik}

    The mean squares of a nested analysis of variance (Henderson 1953), pooled over evals, are set equal to their expectations.
    A variance below 0 is set to 0. Intervals of shares come from draws MS · df/χ²; the degrees of freedom fall with the kurtosis of
    what the mean square is made of. One pass over the table: its cost is linear in the number of cells.

    Parameters
    ----------
    means, n, spread : array, shape (subjects, items)
        Mean, number and sum of squared deviations of the attempts.
    families, evals : array of labels
        One per item; families of different evals are different families.
    level : float, default 0.95
        Coverage of the intervals.
    seed : int, default 0
        For the draws.
    """
    check_level(level)
    n_subjects, n_items = means.shape
    evaluation = codes(evals, "evals")
    family = np.unique(np.stack([evaluation, codes(families, "families")]), axis=1, return_inverse=True)[1].ravel()
    n_evals, n_families = int(evaluation.max()) + 1, int(family.max()) + 1
    if n_items - n_evals < 2:
        raise InputError(f"{n_items} items that all subjects tried in {n_evals} evals are too few for variances.")
    in_eval = np.bincount(evaluation)
    centred = means - np.stack([np.bincount(evaluation, row) / in_eval for row in means])[:, evaluation]
    item = centred.mean(axis=0)
    in_family = np.bincount(family)
    of_family = np.bincount(family, item) / in_family
    inverse = float(np.mean(1 / n))
    squares: dict[str, tuple[Floats, float]] = {
        "item": (np.sqrt(n_subjects) * (item - of_family[family]), n_items - n_families)
    }
    has_families = n_families < n_items and n_families > n_evals
    if not has_families:
        squares["item"] = (np.sqrt(n_subjects) * item, n_items - n_evals)
    else:
        squares["family"] = (np.sqrt(n_subjects * in_family) * of_family, n_families - n_evals)
    if n_subjects > 1:
        squares["subject × item"] = ((centred - item).ravel(), (n_subjects - 1) * (n_items - n_evals))
    if (df := float((n - 1).sum())) > 0:
        squares["repeat"] = (np.sqrt(spread).ravel(), df)
    per_family = (n_items - float((in_family**2 / in_eval[_eval_of(family, evaluation)]).sum())) / max(
        n_families - n_evals, 1
    )

    def solved(ms: dict[str, Any]) -> dict[str, Any]:
        """Variances from mean squares, each cleared of those below it."""
        repeat = ms.get("repeat", 0.0)
        below = ms.get("subject × item", inverse * repeat)
        found = {"item": (ms["item"] - below) / n_subjects}
        if "family" in ms:
            found["family"] = (ms["family"] - ms["item"]) / (n_subjects * per_family)
        if "subject × item" in ms:
            found["subject × item"] = ms["subject × item"] - inverse * repeat
        if "repeat" in ms:
            found["repeat"] = repeat
        return {name: np.maximum(value, 0.0) for name, value in found.items()}

    rng = np.random.default_rng(seed)
    point, drawn = {}, {}
    for name, (parts, df) in squares.items():
        point[name] = float((parts**2).sum()) / df
        drawn[name] = point[name] * (freedom := _freedom(parts, df)) / rng.chisquare(freedom, _N_DRAWS)
    variances, draws = solved(point), solved(drawn)
    total, totals = sum(variances.values()), sum(draws.values())
    tails = [(1 - level) / 2, (1 + level) / 2]
    shares = {}
    for name in sorted(variances, key=["family", "item", "subject × item", "repeat"].index):
        if not total:
            shares[name] = Estimate.without("undefined", "no score varies", level=level)
            continue
        value = float(variances[name] / total)
        low, high = np.quantile(draws[name] / np.maximum(totals, 1e-300), tails)
        shares[name] = Estimate(value, min(float(low), value), max(float(high), value), level)
    notes = []
    if n_subjects == 1:
        notes.append("With one subject, items and subject × item cannot be separated: both are in item.")
    if "repeat" not in squares:
        notes.append("Without repeats, the variance between repeats cannot be separated: it is in the term before.")
    return Effects({name: float(value) for name, value in variances.items()}, shares, tuple(notes))


@dataclass(frozen=True)
class Pooled:
    """Means of subjects (rows) on evals (columns), partially pooled.

    Parameters
    ----------
    means, se : array
        Pooled means and their standard errors.
    weight : array
        Share of an eval's own mean in the pooled one; the rest comes from the subject's other evals.
    interaction : float
        Variance of subject × eval.
    """

    means: Floats
    se: Floats
    weight: Floats
    interaction: float


def pool(means: Floats, variances: Floats) -> Pooled:
    r"""Best linear predictions of the means of subjects on evals, from their means and sampling variances.

    .. math:: \mu_{se} = \theta_s + b_e + \delta_{se}, \qquad
              \hat\mu_{se} = B \bar y_{se} + (1 - B)(\hat\theta_s + \hat b_e), \quad B = \frac{\tau^2}{\tau^2 + v_{se}}

    τ² is the variance of δ: what the residual mean square of the subjects × evals table exceeds the mean sampling variance by.
    The standard error includes that of the fit. It needs 2 subjects and 3 evals; with fewer, nothing is pooled.

    Parameters
    ----------
    means, variances : array, shape (subjects, evals)
        Mean of each subject on each eval, and its sampling variance.
    """
    n_subjects, n_evals = means.shape
    if n_subjects < 2 or n_evals < 3:
        return Pooled(means, np.sqrt(variances), np.ones_like(means), float("nan"))
    fitted = means.mean(1, keepdims=True) + means.mean(0, keepdims=True) - means.mean()
    df = (n_subjects - 1) * (n_evals - 1)
    interaction = max(float(((means - fitted) ** 2).sum()) / df - float(variances.mean()), 0.0)
    weight = interaction / (interaction + variances)
    lever = (n_subjects + n_evals - 1) / (n_subjects * n_evals)
    # τ² is an estimate, so the pull is a little weaker (Morris 1983)
    pulled = (1 - weight) * (df - 2) / df if df > 2 else np.zeros_like(weight)
    pooled = means - pulled * (means - fitted)
    se = np.sqrt(variances * (1 - pulled * (1 - lever)) + pulled**2 * (means - fitted) ** 2 * 2 / max(df - 2, 1))
    return Pooled(pooled, se, 1 - pulled, interaction)


def _eval_of(family: Ints, evaluation: Ints) -> Ints:
    first = np.zeros(int(family.max()) + 1, np.int64)
    first[family] = evaluation
    return first


def _freedom(parts: Floats, df: float) -> float:
    """Degrees of freedom of a mean square, fewer where a few parts carry it."""
    squares = parts**2
    total = float(squares.sum())
    if not total:
        return df
    kurtosis = len(squares) * float((squares**2).sum()) / total**2
    return max(min(df, 2 * df / max(kurtosis - 1, 1e-9) + 2), 1.0)
