"""True categories behind raters who err: the model of Dawid and Skene, with each rater's confusion matrix, and its simulator."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats import replicates
from howsure.stats._arrays import Floats, check_level
from howsure.stats.components import rated, ratings

__all__ = ["TrueCategories", "dawid_skene", "simulate_labels"]

_MOST_ROUNDS = 500
_GROUPS = 50  # items are left out in this many parts


@dataclass(frozen=True)
class TrueCategories:
    """The probable true category of each item, how common each is, and how often each rater is right.

    Parameters
    ----------
    categories : tuple of float
        The codes, in the order of the rows and columns below.
    posterior : array, items × categories
        Probability of each category being the true one of each item.
    shares : tuple of Estimate
        Share of each category among true ones.
    accuracy : tuple of Estimate
        Probability that each rater gives the true category.
    confusion : array, raters × categories × categories
        Probability that a rater gives category l (column) where k (row) is true.
    """

    categories: tuple[float, ...]
    posterior: Floats
    shares: tuple[Estimate, ...]
    accuracy: tuple[Estimate, ...]
    confusion: Floats


def dawid_skene(matrix: ArrayLike, *, level: float = 0.95) -> TrueCategories | str:
    r"""Fit true categories and raters' confusion matrices together; or say in a sentence why that is not possible.

    .. math:: P(\text{labels of item } i) = \sum_k \pi_k \prod_r c^{(r)}_{k, x_{ir}}

    Raters are taken as independent given the true category. The fit maximises the likelihood by EM, from the shares of votes on, with
    one label in all added to each row of a confusion matrix, of which half on the diagonal, so that a category that a rater never met has no effect. Intervals are a
    jackknife over items on the log odds scale. Three raters at least are needed: with two, one cannot say who is wrong.

    Parameters
    ----------
    matrix : array, items × raters
        Codes of categories, NaN where nobody rated.
    level : float
        Coverage of the intervals, between 0 and 1.

    References
    ----------
    Dawid and Skene (1979), *Maximum likelihood estimation of observer error-rates using the EM algorithm*.
    """
    check_level(level)
    whole = ratings(matrix)
    table, is_there = rated(whole)
    if len(table) < len(whole) or table.shape[1] < whole.shape[1]:
        raise InputError("A row or column without any label. Remove it.")
    n, k = table.shape
    several = int((is_there.sum(axis=1) > 1).sum())
    if k < 3 or several < 10:
        return f"{k} raters, {several} items with 2 labels or more; 3 and 10 are needed"
    categories, codes = np.unique(table[is_there], return_inverse=True)
    q = len(categories)
    if q < 2:
        return "one category, so nothing can be confused"
    if q > n:
        return f"{q} categories for {n} items are too many"
    votes = np.zeros((n, k, q))
    rows, columns = np.nonzero(is_there)
    votes[rows, columns, codes] = 1.0
    posterior, shares, confusion = _fit(votes, np.ones(n), None)
    parts = replicates.groups(n, at_most=_GROUPS)
    left_out = []
    for part in parts:
        kept = np.ones(n)
        kept[part] = 0.0
        _, of_part, errors = _fit(votes, kept, posterior)
        left_out.append(np.concatenate([_log_odds(of_part), _log_odds(_accuracy(of_part, errors))]))
    found = np.concatenate([_log_odds(shares), _log_odds(_accuracy(shares, confusion))])
    drawn = np.array(left_out)
    estimates = [replicates.estimate(float(value), drawn[:, at], level).map(_share) for at, value in enumerate(found)]
    return TrueCategories(
        tuple(float(one) for one in categories), posterior, tuple(estimates[:q]), tuple(estimates[q:]), confusion
    )


def _fit(votes: Floats, weights: Floats, begin: Floats | None) -> tuple[Floats, Floats, Floats]:
    """EM: posterior of each item, shares of the categories, confusion of each rater."""
    n, k, q = votes.shape
    added = (np.eye(q) + 1 / q) / 2
    posterior = votes.sum(axis=1) / votes.sum(axis=(1, 2))[:, None] if begin is None else begin
    flat = votes.reshape(n, k * q)
    before = -math.inf
    shares = confusion = np.zeros(0)
    for _ in range(_MOST_ROUNDS):
        weighted = posterior * weights[:, None]
        shares = (weighted.sum(axis=0) + 1 / q) / (weights.sum() + 1)
        counts = (weighted.T @ flat).reshape(q, k, q).transpose(1, 0, 2) + added
        confusion = counts / counts.sum(axis=2, keepdims=True)
        logs = np.log(shares) + flat @ np.log(confusion).transpose(0, 2, 1).reshape(k * q, q)
        top = logs.max(axis=1, keepdims=True)
        odds = np.exp(logs - top)
        total = odds.sum(axis=1, keepdims=True)
        posterior = odds / total
        height = float(weights @ (np.log(total) + top)[:, 0])
        if height - before < 1e-7 * max(1.0, abs(height)):
            break
        before = height
    return posterior, shares, confusion


def _accuracy(shares: Floats, confusion: Floats) -> Floats:
    return np.asarray(np.einsum("k,rkk->r", shares, confusion))


def _log_odds(share: Floats) -> Floats:
    safe = np.clip(share, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(safe / (1 - safe)))


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def simulate_labels(
    *,
    n_items: int = 60,
    shares: tuple[float, ...] = (0.5, 0.3, 0.2),
    accuracies: tuple[float, ...] = (0.9, 0.8, 0.7, 0.6),
    missing: float = 0.0,
    hard_items: float = 0.0,
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Labels of items by raters of known accuracy, and the true categories.

    Parameters
    ----------
    n_items : int
        How many items.
    shares : tuple of float
        Share of each category.
    accuracies : tuple of float
        Probability that each rater gives the true category; other categories are equally probable.
    missing : float
        Share of labels that are missing at random.
    hard_items : float
        Share of items on which every rater guesses at random: there the model's assumption of independence fails.
    seed : int
        The same seed gives the same labels.
    """
    rng = np.random.default_rng(seed)
    q, k = len(shares), len(accuracies)
    true = rng.choice(q, n_items, p=shares)
    wrong = (true[:, None] + rng.integers(1, q, (n_items, k))) % q
    labels = np.where(rng.random((n_items, k)) < np.asarray(accuracies), true[:, None], wrong).astype(np.float64)
    is_hard = rng.random(n_items) < hard_items
    labels[is_hard] = rng.integers(0, q, (int(is_hard.sum()), k))
    labels[rng.random((n_items, k)) < missing] = np.nan
    empty = np.isnan(labels).all(axis=1)
    labels[empty, 0] = true[empty]
    return labels, true.astype(np.float64)
