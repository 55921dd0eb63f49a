r"""One model of all novices and all tasks: tasks differ, learners differ, and each estimate borrows from the others.

.. math:: \operatorname{logit} P(y_{ltn} = 1) = \beta_t \cdot z_{ltn} + s_n + \theta_l + u_{lt}, \qquad
          \beta_t \sim N(\mu, \Sigma), \quad s_n \sim N(0, \sigma_s^2), \quad \theta_l \sim N(0, \tau^2), \quad u_{lt} \sim N(0, \omega^2)

for learner l at task t on attempt n. The features z begin with 1 (the task's level); others are log n, or what the learner did at the task so far. The
steps s_n are common to all tasks (s_1 = 0), so the shape of learning is free. θ and u are integrated out over a grid of 31 points from −6 to 6, Σ is diagonal, and
all spreads are estimated (empirical Bayes, by EM with squared extrapolation).

Whoever leaves a task after mastery, or discouraged by failures, leaves because of answers that are in the data. Then the likelihood of the given answers is
still the right one (Rubin 1976), while the share of successes among those who stayed is not novices' success. `Completion` uses that: an answer that was not given counts
as its expectation, given all answers of the learner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from howsure.compiled import kernel
from howsure.errors import OptionError
from howsure.horizon.learning_curves.novice_counts import NoviceCounts
from howsure.stats._arrays import Bools, Floats, Ints

__all__ = ["FEATURES", "Completion", "LearningModel", "complete_novices", "fit_learning_model", "predict_in_order"]

FEATURES = ("level", "log_attempt", "attempt", "successes", "failures", "log_successes", "log_failures", "recent")
"""What a task's coefficients may multiply: 1, log n, n − 1, the successes and the failures so far, log(1 + each of them), the recent share of successes − ½."""

FEWEST_STAY = 0.05
"""Answers are predicted up to the last attempt that at least this share of the courses has."""

_GRID = np.linspace(-6.0, 6.0, 31)
_ODDS = np.exp(_GRID)
_DECAY = 0.7  # of the weight of an answer with each later one, in the recent share of successes
_MOST_PASSES = 300
_TOLERANCE = 5e-4
_LONGEST = 16.0  # extrapolation, in steps of EM
_LEAST_SPREAD = 0.02  # below it learners, or courses, are all the same
_USUAL = 0.3  # one imaginary task and step lie so far from the others: in small studies a spread of exactly 0 is often the most likely one
_REFITS = 2  # passes of a replicate from the estimate


@dataclass(frozen=True, eq=False)
class LearningModel:
    """A fitted model.

    ``coefficients`` have a row per task and a column per feature; ``steps`` are s_n, the last of which also serves later attempts. ``means`` and ``spreads`` are μ
    and √Σ, ``spread_of_steps`` σ_s, ``spread_of_learners`` τ, ``spread_of_courses`` ω; 0 means that the model has no such effect.
    """

    features: tuple[str, ...]
    coefficients: Floats
    steps: Floats
    means: Floats
    spreads: Floats
    spread_of_steps: float
    spread_of_learners: float
    spread_of_courses: float
    log_likelihood: float
    n_passes: int

    def log_odds(self, features: Floats, task: Ints, attempt: Ints) -> Floats:
        """Of a typical learner, from features (answers, features) at tasks and attempts (both from 0)."""
        own = np.einsum("ak,ak->a", features, self.coefficients[task])
        return np.asarray(own + self.steps[np.minimum(attempt, len(self.steps) - 1)])


def fit_learning_model(
    counts: NoviceCounts,
    *,
    features: Sequence[str] = ("level", "log_attempt"),
    n_steps: int | None = None,
    has_learners: bool = True,
    has_courses: bool = True,
    most_passes: int = _MOST_PASSES,
) -> LearningModel:
    """The model of what novices did.

    Parameters
    ----------
    counts : NoviceCounts
        What novices did.
    features : sequence of str
        Of `FEATURES`, ``level`` first.
    n_steps : int, optional
        Steps s_n common to all tasks; 1: none; by default one per attempt.
    has_learners, has_courses : bool
        Whether learners differ at all tasks, and beyond that at single tasks.
    most_passes : int
        Through the data.
    """
    data = _Answers.of(counts, features)
    n_steps = data.n_attempts if n_steps is None else n_steps
    model = _start(data, tuple(features), n_steps, has_learners=has_learners, has_courses=has_courses)
    for done in range(2, most_passes + 1, 2):
        once, _ = _improved(data, model)
        twice, value = _improved(data, once)
        start, first, second = _vector(model), _vector(once), _vector(twice)
        if np.abs(second - first).max() < _TOLERANCE or done + 2 > most_passes:
            break
        # squared extrapolation (Varadhan and Roland 2008): EM alone takes hundreds of passes
        step, bend = first - start, second - 2 * first + start
        length = min(max(math.sqrt(float(step @ step) / max(float(bend @ bend), 1e-300)), 1.0), _LONGEST)
        model = _from_vector(twice, start + 2 * length * step + length**2 * bend)
    return replace(twice, n_passes=done, log_likelihood=value)


@dataclass(frozen=True, eq=False)
class Completion:
    """Courses that ended early or have gaps, completed with the answers that the model expects, up to attempt ``last``.

    ``counts`` are the novices as they answered.
    """

    counts: NoviceCounts
    model: LearningModel
    last: int

    @cached_property
    def table(self) -> NoviceCounts:
        """The novices with ``last`` answers in every course; a predicted answer counts as its expectation."""
        ones = np.ones(len(self.counts.learners)), np.ones(len(self.counts.tasks))
        scores = self._filled(_Likelihoods.of(self._data, self.model), *ones)
        n_courses = len(self.counts.length)
        successes = np.add.reduceat(scores, self.counts.start[:-1])
        trials = np.repeat(self.counts.n_learners[:, None].astype(np.float64), self.last, axis=1)
        return replace(
            self.counts,
            successes=successes,
            trials=trials,
            length=np.full(n_courses, self.last),
            offset=np.arange(n_courses) * self.last,
            scores=scores.ravel(),
            attempt=np.tile(np.arange(self.last), n_courses),
        )

    @property
    def share_predicted(self) -> float:
        """The share of the table's answers that are predicted."""
        return float(1 - (self.counts.attempt < self.last).sum() / (len(self.counts.length) * self.last))

    def of_tasks(self, chosen: Bools) -> Completion:
        """The same on some of the tasks."""
        part = replace(self.model, coefficients=self.model.coefficients[chosen])
        return Completion(self.counts.of_tasks(chosen), part, self.last)

    def refit(self, learner_weights: Floats, task_weights: Floats) -> _Likelihoods:
        """The model of novices and tasks that count as often as the weights say, with its likelihoods; the spreads stay."""
        model = self.model
        for _ in range(_REFITS):
            model, _ = _improved(self._data, model, learner_weights, task_weights)
        return _Likelihoods.of(self._data, model)

    def weighted(
        self, refits: Sequence[_Likelihoods], learner_weights: Floats, task_weights: Floats
    ) -> tuple[Floats, Floats]:
        """Completed successes and trials, (replicates, tasks, attempts), as each replicate's `refit` and weights (replicates, …) have them."""
        shape = (len(refits), len(self.counts.tasks), self.last)
        successes, trials = np.empty(shape), np.empty(shape)
        starts, learner = self.counts.start[:-1], self.counts.learner
        for place, one in enumerate(refits):
            scores = self._filled(one, learner_weights[place], task_weights[place])
            weights = learner_weights[place, learner]
            successes[place] = np.add.reduceat(weights[:, None] * scores, starts)
            trials[place] = np.add.reduceat(weights, starts)[:, None]
        return successes, trials

    @cached_property
    def _data(self) -> _Answers:
        return _Answers.of(self.counts, self.model.features)

    def _filled(self, refit: _Likelihoods, learner_weights: Floats, task_weights: Floats) -> Floats:
        """Scores, given or expected, (courses, attempts)."""
        model, (posterior, _) = refit.model, refit.posteriors(self._data, learner_weights, task_weights)
        attempts = np.arange(self.last)
        ones = {"level": np.ones(self.last), "log_attempt": np.log1p(attempts)}
        features = np.stack([ones[name] for name in model.features])
        data = self._data
        # the steps of attempts that nobody made are unknown: they lie between their neighbours
        known = np.unique(np.minimum(data.attempt, len(model.steps) - 1))
        at = np.minimum(attempts, len(model.steps) - 1)
        eta = model.coefficients @ features + np.interp(np.log1p(at), np.log1p(known), model.steps[known])
        return _fill(
            np.exp(np.clip(eta, -30, 30)), posterior, data.scores, data.attempt, data.offset, data.length, data.task
        )


def complete_novices(counts: NoviceCounts) -> Completion | None:
    """Predict what learners would have answered who left early or left an attempt out; None where no answer is missing, or too few stayed to tell."""
    share = np.array([(counts.last >= attempt).mean() for attempt in counts.attempts])
    last = int((share >= FEWEST_STAY).sum())
    if last < 2 or counts.trials[:, :last].sum() == len(counts.length) * last:
        return None
    return Completion(counts, fit_learning_model(counts), last)


def predict_in_order(model: LearningModel, counts: NoviceCounts) -> Floats:
    """P(success) of each answer, given the learner's earlier answers at the task and all answers at the learner's earlier tasks, in the order of ``counts.scores``.

    The learners may be others than those of the fit. A learner's tasks are taken in the order in which ``counts`` has them.
    """
    data = _Answers.of(counts, model.features)
    odds = _odds(data, model)
    prior, mixing = _prior(model.spread_of_learners), _mixing(model.spread_of_courses)
    return _predict(odds, data.scores, data.offset, data.length, data.by_learner, data.first, prior, mixing)


@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers by course, with their features; courses of learner l are ``by_learner[first[l]:first[l + 1]]``, and ``row`` is an answer's course."""

    features: Floats
    attempt: Ints
    row: Ints
    scores: Floats
    offset: Ints
    length: Ints
    task: Ints
    by_learner: Ints
    first: Ints
    n_tasks: int
    n_attempts: int

    @classmethod
    def of(cls, counts: NoviceCounts, features: Sequence[str]) -> _Answers:
        for name in features:
            if name not in FEATURES:
                raise OptionError.unknown("feature", name, FEATURES)
        made, successes, recent = _history(counts.length, counts.offset, counts.scores)
        failures = made - successes
        columns = {
            "level": np.ones(len(made)),
            "log_attempt": np.log1p(counts.attempt),
            "attempt": counts.attempt.astype(np.float64),
            "successes": successes,
            "failures": failures,
            "log_successes": np.log1p(successes),
            "log_failures": np.log1p(failures),
            "recent": recent,
        }
        order = np.argsort(counts.learner, kind="stable")
        return cls(
            features=np.ascontiguousarray(np.stack([columns[name] for name in features], axis=1)),
            attempt=counts.attempt,
            row=np.repeat(np.arange(len(counts.length)), counts.length),
            scores=counts.scores,
            offset=counts.offset,
            length=counts.length,
            task=counts.task,
            by_learner=order,
            first=np.searchsorted(counts.learner[order], np.arange(len(counts.learners) + 1)),
            n_tasks=len(counts.tasks),
            n_attempts=int(counts.attempt.max()) + 1,
        )


def _start(
    data: _Answers, features: tuple[str, ...], n_steps: int, *, has_learners: bool, has_courses: bool
) -> LearningModel:
    share = float(np.clip(data.scores.mean(), 0.02, 0.98))
    means = np.array([math.log(share / (1 - share)), *[0.0] * (len(features) - 1)])
    return LearningModel(
        features=features,
        coefficients=np.tile(means, (data.n_tasks, 1)),
        steps=np.zeros(n_steps),
        means=means,
        spreads=np.array([1.0, *[_USUAL] * (len(features) - 1)]),
        spread_of_steps=_USUAL if n_steps > 1 else 0.0,
        spread_of_learners=0.8 if has_learners else 0.0,
        spread_of_courses=0.4 if has_courses else 0.0,
        log_likelihood=-math.inf,
        n_passes=0,
    )


def _improved(
    data: _Answers, model: LearningModel, learner_weights: Floats | None = None, task_weights: Floats | None = None
) -> tuple[LearningModel, float]:
    """The model after a step of EM, and the log-likelihood before it; with weights the spreads stay."""
    is_refit = learner_weights is not None
    of_learners = np.ones(len(data.first) - 1) if learner_weights is None else learner_weights
    of_tasks = np.ones(data.n_tasks) if task_weights is None else task_weights
    likelihoods = _Likelihoods.of(data, model)
    odds = likelihoods.odds
    posterior, (value, learners, courses) = likelihoods.posteriors(data, of_learners, of_tasks)
    step = np.minimum(data.attempt, len(model.steps) - 1)
    weights = of_learners[_learner_of(data)] * of_tasks[data.task]
    slope, curvature, lost, step_slope, step_curvature, cross = _gather(
        odds,
        posterior,
        weights,
        data.features,
        step,
        data.scores,
        data.offset,
        data.length,
        data.task,
        data.n_tasks,
        len(model.steps),
    )
    # Newton's step for all tasks at once: each task's coefficients meet only the steps, so they are eliminated
    precision = 1 / model.spreads**2
    inverse = np.linalg.inv(curvature + np.diag(precision))
    move = np.einsum("tij,tj->ti", inverse, slope - precision * (model.coefficients - model.means))
    steps, spread_of_steps = model.steps, model.spread_of_steps
    if spread_of_steps:
        by = step_slope - steps / spread_of_steps**2 - np.einsum("tis,ti->s", cross, move)
        left = np.diag(step_curvature + spread_of_steps**-2) - np.einsum("tis,tij,tjr->sr", cross, inverse, cross)
        of_steps = np.linalg.inv(left[1:, 1:])
        step_move = np.concatenate([[0.0], of_steps @ by[1:]])
        move -= np.einsum("tij,tjs,s->ti", inverse, cross, step_move)
        steps = steps + step_move
        squares = (steps**2).sum() + np.trace(of_steps)
        spread_of_steps = math.sqrt((squares + _USUAL**2) / len(steps))
    coefficients = np.clip(model.coefficients + np.clip(move, -2, 2), -15, 15)
    if is_refit:
        return replace(model, coefficients=coefficients, steps=steps), value
    means = coefficients.mean(axis=0)
    unsure = np.linalg.inv(
        curvature - lost + np.diag(precision)
    )  # what is not known of learners leaves tasks less sure
    squares = ((coefficients - means) ** 2 + np.einsum("tii->ti", unsure)).sum(axis=0)
    return replace(
        model,
        coefficients=coefficients,
        steps=steps,
        means=means,
        spreads=np.sqrt((squares + _USUAL**2) / (len(coefficients) + 1)),
        spread_of_steps=spread_of_steps,
        spread_of_learners=math.sqrt(learners) if model.spread_of_learners else 0.0,
        spread_of_courses=math.sqrt(courses) if model.spread_of_courses else 0.0,
    ), value


def _vector(model: LearningModel) -> Floats:
    spreads = [*model.spreads, model.spread_of_steps, model.spread_of_learners, model.spread_of_courses]
    return np.concatenate(
        [model.coefficients.ravel(), model.steps, model.means, np.log(np.maximum(spreads, _LEAST_SPREAD / 4))]
    )


def _from_vector(model: LearningModel, vector: Floats) -> LearningModel:
    """A model as the vector has it; effects that the model lacks stay away."""
    n_features = len(model.features)
    ends = np.cumsum([model.coefficients.size, len(model.steps), n_features])
    coefficients, steps, means, logs = np.split(vector, ends)
    spreads = np.exp(np.clip(logs, math.log(_LEAST_SPREAD / 4), math.log(5.0)))
    of_steps, of_learners, of_courses = (float(one) for one in spreads[n_features:])
    return replace(
        model,
        coefficients=np.clip(coefficients, -15, 15).reshape(model.coefficients.shape),
        steps=steps,
        means=means,
        spreads=spreads[:n_features],
        spread_of_steps=of_steps if model.spread_of_steps else 0.0,
        spread_of_learners=of_learners if model.spread_of_learners else 0.0,
        spread_of_courses=of_courses if model.spread_of_courses else 0.0,
    )


def _learner_of(data: _Answers) -> Ints:
    """Each course's learner."""
    learner = np.empty(len(data.length), dtype=np.int64)
    learner[data.by_learner] = np.repeat(np.arange(len(data.first) - 1), np.diff(data.first))
    return learner


def _odds(data: _Answers, model: LearningModel) -> Floats:
    """Of each answer's success for a typical learner."""
    return np.asarray(np.exp(np.clip(model.log_odds(data.features, data.task[data.row], data.attempt), -30, 30)))


def _prior(spread: float) -> Floats:
    """P(θ) on the grid."""
    mass = np.exp(-((_GRID / max(spread, _LEAST_SPREAD)) ** 2) / 2)
    return np.asarray(mass / mass.sum())


def _mixing(spread: float) -> Floats:
    """P(θ + u | θ) on the grid, (θ, θ + u)."""
    mass = np.exp(-(((_GRID[None, :] - _GRID[:, None]) / max(spread, _LEAST_SPREAD)) ** 2) / 2)
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Likelihoods:
    """What a model says of the data, whatever learners and tasks weigh: odds of each answer, and by course the likelihood of its answers at each node of θ + u relative to the
    largest, that integrated over u at each node of θ, and the logarithm of the largest.
    """

    model: LearningModel
    odds: Floats
    at_node: Floats
    by_theta: Floats
    top: Floats

    @classmethod
    def of(cls, data: _Answers, model: LearningModel) -> _Likelihoods:
        odds = _odds(data, model)
        constant = np.bincount(data.row, data.scores * np.log(odds), len(data.length)).astype(np.float64)
        prior, mixing = _prior(model.spread_of_learners), _mixing(model.spread_of_courses)
        at_node, by_theta, top = _likelihoods(odds, data.scores, data.offset, data.length, prior, mixing)
        return cls(model, odds, at_node, by_theta, constant + top)

    def posteriors(
        self, data: _Answers, learner_weights: Floats, task_weights: Floats
    ) -> tuple[Floats, tuple[float, float, float]]:
        """P(θ + u | all answers of the learner) of each course, and log-likelihood with the mean squares of θ and of u."""
        posterior = np.zeros((len(data.length), len(_GRID)))
        sums = _integrate(
            self.at_node,
            self.by_theta,
            self.top,
            data.task,
            data.by_learner,
            data.first,
            _prior(self.model.spread_of_learners),
            _mixing(self.model.spread_of_courses),
            learner_weights,
            task_weights,
            posterior,
        )
        return posterior, sums


@kernel
def _history(length: Ints, offset: Ints, scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Of each answer: the answers before it, the successes among them, and the recent share of these − ½, in which one half success comes first."""
    made, successes, recent = np.empty(len(scores)), np.empty(len(scores)), np.empty(len(scores))
    for course in range(len(length)):
        won, late, weight = 0.0, 0.5, 1.0
        for k in range(length[course]):
            at = offset[course] + k
            made[at], successes[at], recent[at] = k, won, late / weight - 0.5
            won += scores[at]
            late, weight = _DECAY * late + scores[at], _DECAY * weight + 1.0
    return made, successes, recent


@kernel
def _near(mixing: Floats) -> int:
    """How many nodes beside θ the sum θ + u may be at."""
    n_nodes, near = len(mixing), 0
    while near + 1 < n_nodes and mixing[n_nodes // 2, min(n_nodes // 2 + near + 1, n_nodes - 1)] > 1e-9:
        near += 1
    return near


@kernel
def _likely(prior: Floats) -> tuple[int, int]:
    """The nodes that a learner may be at: the first, and the one after the last."""
    first, last = 0, len(prior)
    while prior[first] < 1e-12:
        first += 1
    while prior[last - 1] < 1e-12:
        last -= 1
    return first, last


@kernel
def _likelihoods(
    odds: Floats, scores: Floats, offset: Ints, length: Ints, prior: Floats, mixing: Floats
) -> tuple[Floats, Floats, Floats]:
    """See `_Likelihoods`; nodes that no learner may be at stay 0."""
    n_nodes, near = len(prior), _near(mixing)
    low, high = _likely(prior)
    at_node, by_theta, top = np.zeros((len(length), n_nodes)), np.zeros((len(length), n_nodes)), np.empty(len(length))
    for course in range(len(length)):
        start, stop = max(low - near, 0), min(high + near, n_nodes)
        top[course] = _of_course(odds, scores, offset[course], length[course], at_node[course], start, stop)
        for j in range(low, high):
            mixed = 0.0
            for i in range(max(j - near, 0), min(j + near + 1, n_nodes)):
                mixed += mixing[j, i] * at_node[course, i]
            by_theta[course, j] = mixed + 1e-300
    return at_node, by_theta, top


@kernel
def _integrate(
    at_node: Floats,
    by_theta: Floats,
    top: Floats,
    task: Ints,
    by_learner: Ints,
    first: Ints,
    prior: Floats,
    mixing: Floats,
    learner_weights: Floats,
    task_weights: Floats,
    posterior: Floats,
) -> tuple[float, float, float]:
    """Write the posterior of each course; a task's weight is a power of its likelihood, a learner's a factor."""
    n_nodes, near = len(prior), _near(mixing)
    low, high = _likely(prior)
    mass = np.zeros(n_nodes)
    total, of_learners, of_courses, n_learners, n_courses = 0.0, 0.0, 0.0, 0.0, 0.0
    for learner in range(len(first) - 1):
        weight = learner_weights[learner]
        value, largest = 0.0, -math.inf
        for j in range(low, high):
            mass[j] = math.log(prior[j])
        for course in by_learner[first[learner] : first[learner + 1]]:
            power = task_weights[task[course]]
            if power == 0.0:
                continue
            value += power * top[course]
            for j in range(low, high):
                mass[j] += power * math.log(by_theta[course, j])
        for j in range(low, high):
            largest = max(largest, mass[j])
        whole, square = 0.0, 0.0
        for j in range(low, high):
            mass[j] = math.exp(mass[j] - largest)
            whole += mass[j]
        for j in range(low, high):
            mass[j] /= whole
            square += mass[j] * _GRID[j] ** 2
        total += weight * (value + largest + math.log(whole))
        of_learners += weight * square
        n_learners += weight
        for course in by_learner[first[learner] : first[learner + 1]]:
            apart = 0.0
            for j in range(low, high):
                if mass[j] < 1e-9:
                    continue
                share = mass[j] / by_theta[course, j]
                for i in range(max(j - near, 0), min(j + near + 1, n_nodes)):
                    part = share * mixing[j, i] * at_node[course, i]
                    posterior[course, i] += part
                    apart += part * (_GRID[i] - _GRID[j]) ** 2
            w = weight * task_weights[task[course]]
            of_courses += w * apart
            n_courses += w
    return total, of_learners / max(n_learners, 1e-300), of_courses / max(n_courses, 1e-300)


@kernel
def _of_course(
    odds: Floats, scores: Floats, start: int, length: int, likelihood: Floats, first: int, last: int
) -> float:
    """Write a course's likelihood at the nodes from `first` up to `last` relative to the largest, and return the logarithm of that; the typical learner's log-odds of the successes are left out."""
    won, top = 0.0, -math.inf
    for k in range(start, start + length):
        won += scores[k]
    for i in range(first, last):
        product, logs = 1.0, 0.0
        for k in range(start, start + length):
            product *= 1.0 + odds[k] * _ODDS[i]
            if product > 1e200:
                logs += math.log(product)
                product = 1.0
        likelihood[i] = won * _GRID[i] - logs - math.log(product)
        top = max(top, likelihood[i])
    for i in range(first, last):
        likelihood[i] = math.exp(likelihood[i] - top)
    return top


@kernel
def _gather(
    odds: Floats,
    posterior: Floats,
    weights: Floats,
    features: Floats,
    step: Ints,
    scores: Floats,
    offset: Ints,
    length: Ints,
    task: Ints,
    n_tasks: int,
    n_steps: int,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """Slopes and curvatures of the expected log-likelihood by tasks' coefficients and by steps, what the unknown learners take from the tasks' curvature, and their cross terms."""
    n_features = features.shape[1]
    slope, curvature = np.zeros((n_tasks, n_features)), np.zeros((n_tasks, n_features, n_features))
    lost, cross = np.zeros((n_tasks, n_features, n_features)), np.zeros((n_tasks, n_features, n_steps))
    step_slope, step_curvature = np.zeros(n_steps), np.zeros(n_steps)
    expected, at_node = np.empty(n_features), np.empty((len(_ODDS), n_features))
    for course in range(len(length)):
        t, w = task[course], weights[course]
        if w == 0.0:
            continue
        expected[:] = 0.0
        at_node[:] = 0.0
        for k in range(offset[course], offset[course] + length[course]):
            mean, variance = 0.0, 0.0
            for i in range(len(_ODDS)):
                if posterior[course, i] > 1e-7:
                    x = odds[k] * _ODDS[i]
                    p = x / (1.0 + x)
                    mean += posterior[course, i] * p
                    variance += posterior[course, i] * p * (1 - p)
                    for a in range(n_features):
                        at_node[i, a] += p * features[k, a]
            miss, bend, s = w * (scores[k] - mean), w * variance, step[k]
            step_slope[s] += miss
            step_curvature[s] += bend
            for a in range(n_features):
                expected[a] += mean * features[k, a]
                slope[t, a] += miss * features[k, a]
                cross[t, a, s] += bend * features[k, a]
                for b in range(n_features):
                    curvature[t, a, b] += bend * features[k, a] * features[k, b]
        for i in range(len(_ODDS)):
            if posterior[course, i] > 1e-7:
                for a in range(n_features):
                    for b in range(n_features):
                        apart = (at_node[i, a] - expected[a]) * (at_node[i, b] - expected[b])
                        lost[t, a, b] += w * posterior[course, i] * apart
    return slope, curvature, lost, step_slope, step_curvature, cross


@kernel
def _fill(
    odds: Floats, posterior: Floats, scores: Floats, attempt: Ints, offset: Ints, length: Ints, task: Ints
) -> Floats:
    """Scores of each course up to the last attempt, (courses, attempts): given, or expected from the odds (tasks, attempts)."""
    last = odds.shape[1]
    filled = np.full((len(length), last), -1.0)
    for course in range(len(length)):
        for k in range(offset[course], offset[course] + length[course]):
            if attempt[k] < last:
                filled[course, attempt[k]] = scores[k]
        for n in range(last):
            if filled[course, n] >= 0.0:
                continue
            filled[course, n] = 0.0
            for i in range(len(_ODDS)):
                if posterior[course, i] > 1e-7:
                    x = odds[task[course], n] * _ODDS[i]
                    filled[course, n] += posterior[course, i] * x / (1.0 + x)
    return filled


@kernel
def _predict(
    odds: Floats,
    scores: Floats,
    offset: Ints,
    length: Ints,
    by_learner: Ints,
    first: Ints,
    prior: Floats,
    mixing: Floats,
) -> Floats:
    predicted, likelihood = np.empty(len(scores)), np.empty(len(prior))
    theta, here = np.empty(len(prior)), np.empty(len(prior))
    for learner in range(len(first) - 1):
        theta[:] = prior
        for course in by_learner[first[learner] : first[learner + 1]]:
            for i in range(len(prior)):
                here[i] = 0.0
                for j in range(len(prior)):
                    here[i] += theta[j] * mixing[j, i]
            for k in range(offset[course], offset[course] + length[course]):
                p, whole = 0.0, 0.0
                for i in range(len(prior)):
                    x = odds[k] * _ODDS[i]
                    p += here[i] * x / (1.0 + x)
                predicted[k] = p
                for i in range(len(prior)):
                    x = odds[k] * _ODDS[i]
                    here[i] *= math.exp(scores[k] * math.log(x)) / (1.0 + x)
                    whole += here[i]
                for i in range(len(prior)):
                    here[i] /= whole
            _of_course(odds, scores, offset[course], length[course], likelihood, 0, len(prior))
            whole = 0.0
            for j in range(len(prior)):
                mixed = 0.0
                for i in range(len(prior)):
                    mixed += mixing[j, i] * likelihood[i]
                theta[j] *= mixed
                whole += theta[j]
            for j in range(len(prior)):
                theta[j] /= whole
    return predicted
