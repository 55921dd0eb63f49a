"""Rates from an automatic judge's verdicts, corrected by its errors that a few labels of people show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, Ints, normal_quantile
from howsure.stats.means import mean, wilson

__all__ = [
    "JudgeDraws",
    "corrected_rate",
    "draw_judge_errors",
    "errors_differ",
    "fit_judge_errors",
    "impute_counts",
    "independent_trials",
    "success_given_verdict",
]


def independent_trials(is_hit: ArrayLike, clusters: Any = None) -> tuple[float, float]:
    """Hits and trials as `corrected_rate` takes them: as many independent trials as would give the standard error over clusters.

    Parameters
    ----------
    is_hit : array of bool
        One entry per trial.
    clusters : array, optional
        One label per trial: trials that belong together. Where all trials agree, nothing shows how alike those of a cluster are, and each
        cluster counts as one trial.
    """
    hits = np.asarray(is_hit, dtype=np.bool_)
    n = float(len(hits))
    if not n:
        return 0.0, 0.0
    if clusters is not None:
        found = mean(hits.astype(np.float64), clusters)
        n = float(found.n_clusters) if hits.all() or not hits.any() else n / max(found.design_effect or 1.0, 1.0)
    return float(hits.mean()) * n, n


def corrected_rate(
    positives: tuple[float, float],
    sensitivity: tuple[float, float],
    specificity: tuple[float, float],
    *,
    level: float = 0.95,
) -> Estimate:
    r"""The true rate of positives behind a judge's, whose errors were measured on items with known labels (Rogan and Gladen 1978).

    .. math:: \hat\theta = \frac{p + q_0 - 1}{q_0 + q_1 - 1}

    Each argument is (how many, of how many): ``positives`` p what the judge calls positive, ``sensitivity`` q₁ what it calls so of the
    true positives, ``specificity`` q₀ what it calls negative of the true negatives. The interval of Lang and Reiczigel (2014) adds
    z²/2 successes and failures to p and one of each to q₀ and q₁, and shifts the centre; it counts the uncertainty of all three. A
    rate beyond 0 or 1 is cut there, and ``reason`` says so. A judge no better than chance defines none, nor does one whose rate
    its measured errors cannot explain.
    """
    known = [wilson(*pair, level) for pair in (positives, sensitivity, specificity)]
    if any(share.value is None for share in known):
        reason = "no item to tell the judge's rate, its sensitivity or its specificity from"
        return Estimate.without("too_few", reason, level=level)
    p, hit, spare = (pair[0] / pair[1] for pair in (positives, sensitivity, specificity))
    if hit + spare <= 1:
        reason = f"sensitivity {hit:.2f} and specificity {spare:.2f} are no better than chance"
        return Estimate.without("undefined", reason, level=level)
    raw = (p + spare - 1) / (hit + spare - 1)
    low, high = _lang_reiczigel(positives, sensitivity, specificity, normal_quantile(level))
    if high < 0 or low > 1:
        reason = f"the judge's rate {p:.3g} does not fit its measured errors: labels and items differ in kind"
        return Estimate.without("undefined", reason, level=level)
    value = min(max(raw, 0.0), 1.0)
    reason = "" if value == raw else f"the judge's errors alone explain more: {raw:.3g} is cut at {value:g}"
    return Estimate(value, min(max(low, 0.0), value), max(min(high, 1.0), value), level, reason=reason)


def _lang_reiczigel(
    positives: tuple[float, float], sensitivity: tuple[float, float], specificity: tuple[float, float], quantile: float
) -> tuple[float, float]:
    p, p_variance = _smoothed(*positives, quantile**2 / 2)
    hit, hit_variance = _smoothed(*sensitivity, 1.0)
    spare, spare_variance = _smoothed(*specificity, 1.0)
    better = hit + spare - 1
    if better <= 0:
        return 0.0, 1.0
    centre = (p + spare - 1) / better
    shift = 2 * quantile**2 * (centre * hit_variance - (1 - centre) * spare_variance)
    far = quantile * math.sqrt(p_variance + (1 - centre) ** 2 * spare_variance + centre**2 * hit_variance) / better
    return centre + shift - far, centre + shift + far


def _smoothed(successes: float, n: float, extra: float) -> tuple[float, float]:
    """A share with ``extra`` successes and failures added, and its variance."""
    size = n + 2 * extra
    share = (successes + extra) / size
    return share, share * (1 - share) / size


# How a judge errs, from labels of some of its verdicts: the same for every subject or not, and the true outcomes behind the verdicts.


_PRIOR = 0.5  # pseudo-counts of either outcome: Jeffreys
_SWEEPS = 100  # chains are stationary after about 40, also with 5 % labelled
_APART = 20  # sweeps between two draws of one chain
_MOST_STEPS, _STILL = 1000, 1e-6  # of the EM algorithm: steps, and the change of a rate from which on it stands still
_PERMUTATIONS = 4999
_LEAST = 1e-3  # sensitivity + specificity − 1 of a judge no better than chance
_NODES = (np.arange(64) + 0.5) / 64  # possible success rates of one task


@dataclass(frozen=True, eq=False)
class JudgeDraws:
    """Draws from the posterior of a judge's errors and of each subject's success rate.

    ``sensitivity`` and ``specificity`` have shape (draws,), ``rates`` (draws, subjects).
    """

    sensitivity: Floats
    specificity: Floats
    rates: Floats


def errors_differ(labelled: Ints, *, seed: int = 0) -> float | None:
    """The p value of the hypothesis that the judge's sensitivity and specificity are the same for all subjects.

    Pearson's statistics of the tables (subject × verdict) among labelled successes and among labelled failures are added; the p value comes
    from random tables with the same margins (Monte Carlo version of Fisher's exact test), so small counts do no harm.

    Parameters
    ----------
    labelled : array, shape (subjects, 2, 2)
        Counts by label (0, 1) and verdict (0, 1).
    seed : int
        Of the random tables.

    Returns
    -------
    float or None
        None where no two subjects share a label, so that nothing can be compared.
    """
    rng = np.random.default_rng(seed)
    observed, drawn, is_known = 0.0, np.zeros(_PERMUTATIONS), False
    for label in (0, 1):
        table = labelled[labelled[:, label].sum(axis=1) > 0, label]
        n, passed = table.sum(axis=1), int(table[:, 1].sum())
        if len(table) < 2 or passed in (0, n.sum()):
            continue
        is_known = True
        expected = n * passed / n.sum()
        variance = expected * (1 - passed / n.sum())
        observed += float(((table[:, 1] - expected) ** 2 / variance).sum())
        tables = rng.multivariate_hypergeometric(n, passed, _PERMUTATIONS, method="marginals")
        drawn += ((tables - expected) ** 2 / variance).sum(axis=1)
    if not is_known:
        return None
    return float((1 + (drawn >= observed * (1 - 1e-9)).sum()) / (1 + _PERMUTATIONS))


def draw_judge_errors(
    labelled: Ints,
    unlabelled: Ints,
    n: int,
    rng: np.random.Generator,
    *,
    rate_effects: Floats | float = 1.0,
    error_effects: tuple[float, float] = (1.0, 1.0),
    per_chain: int = 1,
) -> JudgeDraws:
    r"""Draws of sensitivity, specificity and every subject's success rate, given labels and verdicts.

    .. math:: P(y=1 \mid v=1, m) = \frac{\pi_m q_1}{\pi_m q_1 + (1-\pi_m)(1-q_0)}, \qquad
              P(y=1 \mid v=0, m) = \frac{\pi_m (1-q_1)}{\pi_m (1-q_1) + (1-\pi_m) q_0}

    Sensitivity :math:`q_1` and specificity :math:`q_0` are the same for all subjects; the rate :math:`\pi_m` is the subject's own. Data
    augmentation (Tanner and Wong 1987): outcomes of unlabelled attempts are drawn by these formulas, the three parameters from their Beta
    posteriors (Jeffreys priors) given all outcomes, and so on. Every draw is the end of a chain of its own, and so independent of the others, or one of
    ``per_chain`` that nearly are.

    Parameters
    ----------
    labelled : array, shape (subjects, 2, 2)
        Counts by label and verdict.
    unlabelled : array, shape (subjects, 2)
        Counts by verdict.
    n : int
        How many draws.
    rng : numpy.random.Generator
        Source of randomness.
    rate_effects : array, shape (subjects,)
        Design effects of the subjects' attempts, at least 1: their number counts divided by this, where attempts at one task resemble each other.
    error_effects : (float, float)
        The same of the verdicts on labelled failures and on labelled successes.
    per_chain : int
        Draws that one chain gives, which takes less time; a divisor of ``n``.
    """
    # where trials are not independent, as many count as would be worth as much
    known = labelled.sum(axis=0) / np.asarray(error_effects)[:, None]
    effective = np.rint(unlabelled / np.reshape(rate_effects, (-1, 1))).astype(np.int64)
    n_passed, n_failed = effective[:, 1], effective[:, 0]
    good, bad = labelled[:, 1].sum(axis=1) / rate_effects, labelled[:, 0].sum(axis=1) / rate_effects
    n_chains, kept = n // per_chain, []
    sensitivity = rng.beta(known[1, 1] + _PRIOR, known[1, 0] + _PRIOR, n_chains)
    specificity = rng.beta(known[0, 0] + _PRIOR, known[0, 1] + _PRIOR, n_chains)
    rates = _explained_rates(
        labelled[:, :, 1].sum(axis=1) + unlabelled[:, 1],
        labelled.sum(axis=(1, 2)) + unlabelled.sum(axis=1),
        sensitivity[:, None],
        specificity[:, None],
    )
    for left in reversed(range(_SWEEPS + _APART * (per_chain - 1))):
        if_passed, if_failed = success_given_verdict(rates, sensitivity[:, None], specificity[:, None])
        right, missed = rng.binomial(n_passed, if_passed), rng.binomial(n_failed, if_failed)
        hits, misses = known[1, 1] + right.sum(axis=1), known[1, 0] + missed.sum(axis=1)
        alarms, rejections = known[0, 1] + (n_passed - right).sum(axis=1), known[0, 0] + (n_failed - missed).sum(axis=1)
        sensitivity = rng.beta(hits + _PRIOR, misses + _PRIOR)
        specificity = rng.beta(rejections + _PRIOR, alarms + _PRIOR)
        successes = good + right + missed
        failures = bad + (n_passed - right) + (n_failed - missed)
        rates = rng.beta(successes + _PRIOR, failures + _PRIOR)
        if left % _APART == 0 and left < _APART * per_chain:
            kept.append((sensitivity, specificity, rates))
    return JudgeDraws(*(np.concatenate(part) for part in zip(*kept, strict=True)))


def fit_judge_errors(labelled: Floats, unlabelled: Floats) -> JudgeDraws:
    r"""Sensitivity, specificity and every subject's success rate by the EM algorithm, for many weighted tables at once.

    The model is that of `draw_judge_errors`; instead of drawing outcomes, it takes their expectations. Half a trial of either outcome is added
    to each rate, as there.

    Parameters
    ----------
    labelled : array, shape (replicates, subjects, 2, 2)
        Weights by label and verdict.
    unlabelled : array, shape (replicates, subjects, 2)
        Weights by verdict.

    Returns
    -------
    JudgeDraws
        One entry per replicate.
    """
    known = labelled.sum(axis=1)
    n_passed, n_failed = unlabelled[..., 1], unlabelled[..., 0]
    good, n = labelled[..., 1, :].sum(axis=-1), labelled.sum(axis=(-2, -1)) + unlabelled.sum(axis=-1)
    passed = labelled[..., 1].sum(axis=-1) + n_passed
    sensitivity = (known[:, 1, 1] + _PRIOR) / (known[:, 1].sum(axis=-1) + 2 * _PRIOR)
    specificity = (known[:, 0, 0] + _PRIOR) / (known[:, 0].sum(axis=-1) + 2 * _PRIOR)
    rates = _explained_rates(passed, n, sensitivity[:, None], specificity[:, None])
    for _ in range(_MOST_STEPS):
        before = rates
        if_passed, if_failed = success_given_verdict(rates, sensitivity[:, None], specificity[:, None])
        right, missed = n_passed * if_passed, n_failed * if_failed
        hits, misses = known[:, 1, 1] + right.sum(axis=1), known[:, 1, 0] + missed.sum(axis=1)
        alarms = known[:, 0, 1] + (n_passed - right).sum(axis=1)
        rejections = known[:, 0, 0] + (n_failed - missed).sum(axis=1)
        sensitivity = (hits + _PRIOR) / (hits + misses + 2 * _PRIOR)
        specificity = (rejections + _PRIOR) / (rejections + alarms + 2 * _PRIOR)
        rates = (good + right + missed + _PRIOR) / (n + 2 * _PRIOR)
        if np.abs(rates - before).max() < _STILL:
            break
    return JudgeDraws(sensitivity, specificity, rates)


def _explained_rates(passed: Floats | Ints, n: Floats | Ints, sensitivity: Floats, specificity: Floats) -> Floats:
    """Success rates at which the judge passes as many as it did (Rogan and Gladen); where few are labelled, a start from the labels alone would be far off."""
    room = _PRIOR / (n + 2 * _PRIOR)
    share = (passed + _PRIOR) / (n + 2 * _PRIOR)
    rates = (share + specificity - 1) / np.maximum(sensitivity + specificity - 1, _LEAST)
    return np.asarray(np.clip(rates, room, 1 - room))


def impute_counts(
    labelled: Ints, unlabelled: Ints, rate: float, sensitivity: float, specificity: float, rng: np.random.Generator
) -> Ints:
    r"""Successes of one subject at each task, with those of unlabelled attempts drawn.

    A task has a success rate of its own around the subject's rate :math:`\pi`: :math:`p_t \sim Beta(\kappa\pi, \kappa(1-\pi))`, with
    :math:`\kappa` from the variance of verdicts between tasks. Drawn from the rate of the subject alone, tasks would be
    too much alike, and a bootstrap over tasks too sure.

    Parameters
    ----------
    labelled, unlabelled : arrays, shapes (tasks, 2, 2) and (tasks, 2)
        Counts by label and verdict, and by verdict.
    rate, sensitivity, specificity : float
        One draw of `draw_judge_errors`.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (tasks,)
    """
    p = _draw_task_rates(labelled, unlabelled, rate, sensitivity, specificity, rng)
    if_passed, if_failed = success_given_verdict(p, sensitivity, specificity)
    drawn = rng.binomial(unlabelled[:, 1], if_passed) + rng.binomial(unlabelled[:, 0], if_failed)
    return np.asarray(labelled[:, 1].sum(axis=1) + drawn)


def success_given_verdict(
    rate: Floats, sensitivity: float | Floats, specificity: float | Floats
) -> tuple[Floats, Floats]:
    """P(success | passed) and P(success | failed) by Bayes' theorem, for subjects or tasks with these success rates."""
    tiny = np.finfo(float).tiny
    passed, failed = rate * sensitivity, rate * (1 - sensitivity)
    return (
        np.asarray(passed / np.maximum(passed + (1 - rate) * (1 - specificity), tiny)),
        np.asarray(failed / np.maximum(failed + (1 - rate) * specificity, tiny)),
    )


def _draw_task_rates(
    labelled: Ints, unlabelled: Ints, rate: float, sensitivity: float, specificity: float, rng: np.random.Generator
) -> Floats:
    """One success rate per task, from its posterior on a grid; the subject's own where tasks do not differ."""
    between = _variance_between(labelled.sum(axis=1) + unlabelled) / max(sensitivity + specificity - 1, _LEAST) ** 2
    n_tasks, coin = len(labelled), rate * (1 - rate)
    if not between or not coin:
        return np.full(n_tasks, rate)
    size = max(coin / between - 1, _PRIOR)
    log_p, log_q = np.log(_NODES), np.log1p(-_NODES)
    passed = np.log(_NODES * sensitivity + (1 - _NODES) * (1 - specificity))
    failed = np.log(_NODES * (1 - sensitivity) + (1 - _NODES) * specificity)
    good, bad = size * rate - 1 + labelled[:, 1].sum(axis=1), size * (1 - rate) - 1 + labelled[:, 0].sum(axis=1)
    logs = np.outer(good, log_p) + np.outer(bad, log_q) + unlabelled[:, [1]] * passed + unlabelled[:, [0]] * failed
    steps = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
    place = (steps < rng.random((n_tasks, 1)) * steps[:, -1:]).sum(axis=1)
    return np.asarray(_NODES[place] + (rng.random(n_tasks) - 0.5) / len(_NODES))


def _variance_between(verdicts: Ints) -> float:
    """The variance of tasks' verdict rates beyond what the number of their attempts explains (one-way analysis of variance); 0 where not known."""
    n, passed = verdicts.sum(axis=1), verdicts[:, 1]
    n_tasks, total = len(n), int(n.sum())
    if n_tasks < 2 or total <= n_tasks:
        return 0.0
    share, mean = passed / n, passed.sum() / total
    within = float((n * share * (1 - share)).sum()) / (total - n_tasks)
    among = float((n * (share - mean) ** 2).sum()) / (n_tasks - 1)
    typical = (total - float((n**2).sum()) / total) / (n_tasks - 1)
    return max(0.0, (among - within) / typical)
