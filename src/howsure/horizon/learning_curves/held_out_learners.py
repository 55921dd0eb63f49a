"""How well models of learning predict the answers of learners whom they have not seen, on identical folds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.compiled import kernel
from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.horizon.learning_curves.learning_model import fit_learning_model, predict_in_order
from howsure.horizon.learning_curves.novice_counts import NoviceCounts, novice_counts
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats, Ints, check_level
from howsure.stats.means import clustered_mean
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["BASELINE", "PREDICTORS", "HeldOutLearners", "crossvalidate_learners"]

_N_STEPS = 20
_ALONE: Mapping[str, Any] = {"n_steps": 1, "has_learners": False, "has_courses": False}
_WITH_LEARNER: Mapping[str, Any] = {"n_steps": 1, "has_courses": False}

PREDICTORS: Mapping[str, Mapping[str, Any]] = {
    "constant": {"features": ("level",), **_ALONE},
    "AFM": {"features": ("level", "attempt"), **_WITH_LEARNER},
    "PFA": {"features": ("level", "successes", "failures"), **_ALONE},
    "PFA + learner": {"features": ("level", "successes", "failures"), **_WITH_LEARNER},
    "BKT": {},
    "no learning": {"features": ("level",), "n_steps": 1},
    "log n": {"features": ("level", "log_attempt"), "n_steps": 1},
    "steps": {"features": ("level",), "n_steps": _N_STEPS},
    "log n + steps": {"features": ("level", "log_attempt"), "n_steps": _N_STEPS},
    "adaptive": {"features": ("level", "log_attempt", "log_successes", "log_failures", "recent"), "n_steps": _N_STEPS},
}
"""``constant``: each task's success rate. AFM: additive factors model (tasks, practice, learner). PFA: performance factors analysis (tasks, successes and
failures so far). BKT: Bayesian knowledge tracing, by task. The others are `fit_learning_model` with learner and course effects: four curves, and one that
adapts to the learner's answers."""

BASELINE = "PFA + learner"
_LEAST = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutLearners(Result):
    """Held-out log-loss of models of learning.

    Parameters
    ----------
    scores : polars.DataFrame
        One row per predictor: predictor, log_loss per answer with its interval over learners, difference to PFA with a learner effect with its interval,
        and the calibration slope (1 is right, below 1 too extreme).
    n_answers, n_learners, n_tasks : int
        What was predicted.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "learners"

    scores: pl.DataFrame
    n_answers: int
    n_learners: int
    n_tasks: int
    provenance: Provenance

    @property
    def best(self) -> str:
        """The predictor with the smallest held-out log-loss."""
        return str(self.scores.sort("log_loss")["predictor"][0])

    @property
    def best_curve(self) -> str | None:
        """The curve (no learning, log n, steps, or both) with the smallest held-out log-loss: the choice of family; None where none was asked for."""
        names = ("no learning", "log n", "steps", "log n + steps")
        curves = self.scores.filter(pl.col("predictor").is_in(names)).sort("log_loss")["predictor"]
        return str(curves[0]) if len(curves) else None

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``learners``: one row per predictor."""
        return {"learners": self.scores}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.learning_curves.sections import learners_sections

        return learners_sections(self)

    def charts(self) -> dict[str, Chart]:
        """Log-loss of each predictor with its interval."""
        from howsure.horizon.learning_curves.charts import draw_learners

        return {"learners": draw_learners(self)}


@checked
def crossvalidate_learners(
    attempts: Attempts | Source,
    *,
    folds: int = 5,
    predictors: Sequence[str] = tuple(PREDICTORS),
    last: int | None = None,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> HeldOutLearners:
    """Held-out log-loss of models of learning: constant, AFM, PFA, BKT, and the learning model of this package.

    Learners are divided into folds; each model is fitted to the learners of the other folds, and predicts each answer of a held-out learner from that learner's earlier
    answers at the task. Models with a learner effect update it by the learner's answers at the tasks before, in the order of the tasks' names, since the
    table has no clock; all get the same information.

    Parameters
    ----------
    attempts : Attempts or frame
        Attempts of people (kind ``human``), numbered.
    folds : int
        Number of folds.
    predictors : sequence of str
        Keys of `PREDICTORS`; PFA + learner, the baseline, is always there.
    last : int, optional
        Attempts after this one are excluded.
    level : float
        Coverage of the intervals.
    seed : int
        Of the folds.
    progress : callable, optional
        Called with the number of finished fits and their total.

    Returns
    -------
    HeldOutLearners
        Log-loss per answer in nats; smaller is better.

    Examples
    --------
    >>> from howsure.horizon import simulate
    >>> world = simulate(n_learners=6, n_attempts=4, n_runs=1)
    >>> crossvalidate_learners(world.attempts, folds=2, predictors=["constant"]).n_learners
    6
    """
    attempts = Attempts.of(attempts)
    check_level(level)
    for name in predictors:
        if name not in PREDICTORS:
            raise OptionError.unknown("predictor", name, PREDICTORS)
    counts = novice_counts(attempts, last=last)
    if not 2 <= folds <= len(counts.learners):
        raise OptionError(f"folds {folds} is not between 2 and the number of learners, {len(counts.learners)}.")
    names = [name for name in PREDICTORS if name in {*predictors, BASELINE}]
    fold = np.random.default_rng(seed).permutation(np.arange(len(counts.learners)) % folds)
    answer_fold = np.repeat(fold[counts.learner], counts.length)
    predicted = {name: np.empty(len(counts.scores)) for name in names}
    for k in range(folds):
        train, test = counts.of_learners(fold != k), counts.of_learners(fold == k)
        for place, name in enumerate(names):
            predicted[name][answer_fold == k] = _predict(name, train, test)
            if progress:
                progress(k * len(names) + place + 1, folds * len(names))
    settings: dict[str, Any] = {"folds": folds, "predictors": names, "last": last, "level": level}
    return HeldOutLearners(
        scores=_scores(counts, predicted, level),
        n_answers=len(counts.scores),
        n_learners=len(counts.learners),
        n_tasks=len(counts.tasks),
        provenance=Provenance.of(attempts, seed=seed, **settings),
    )


def _predict(name: str, train: NoviceCounts, test: NoviceCounts) -> Floats:
    if name == "BKT":
        return _trace(_fit_tracing(train), test.scores, test.attempt, test.offset, test.length, test.task)
    return predict_in_order(fit_learning_model(train, **PREDICTORS[name]), test)


def _scores(counts: NoviceCounts, predicted: Mapping[str, Floats], level: float) -> pl.DataFrame:
    learner = np.repeat(counts.learner, counts.length)
    n = np.bincount(learner)

    def by_learner(values: Floats) -> Floats:
        return np.bincount(learner, values).astype(np.float64)

    losses = {}
    for name, p in predicted.items():
        chance = np.clip(p, _LEAST, 1 - _LEAST)
        losses[name] = -(counts.scores * np.log(chance) + (1 - counts.scores) * np.log1p(-chance))
    rows = []
    for name, loss in losses.items():
        found = clustered_mean(by_learner(loss), n, squares=by_learner(loss**2), level=level, bounds=None)
        gap = loss - losses[BASELINE]
        difference = (
            Estimate.without("undefined", "the baseline itself", level=level)
            if name == BASELINE
            else clustered_mean(by_learner(gap), n, squares=by_learner(gap**2), level=level, bounds=None).estimate
        )
        columns = columns_of(log_loss=found.estimate) | columns_of(difference=difference)
        rows.append({"predictor": name, **columns, "calibration_slope": _slope(predicted[name], counts.scores)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _slope(p: Floats, scores: Floats) -> float:
    """Of the logistic regression of the answers on the predicted log-odds."""
    x = np.log(np.clip(p, _LEAST, 1 - _LEAST) / np.clip(1 - p, _LEAST, 1 - _LEAST))
    a, b = 0.0, 1.0
    for _ in range(25):
        fitted = 1 / (1 + np.exp(-(a + b * x)))
        miss, bend = scores - fitted, fitted * (1 - fitted)
        hessian = np.array([[bend.sum(), bend @ x], [bend @ x, bend @ x**2]]) + 1e-9 * np.eye(2)
        step = np.linalg.solve(hessian, [miss.sum(), miss @ x])
        a, b = a + step[0], b + step[1]
        if np.abs(step).max() < 1e-8:
            break
    return float(b)


def _fit_tracing(counts: NoviceCounts) -> Floats:
    """P(known at first), P(learnt per attempt), P(guess), P(slip) of each task, (tasks, 4), by EM; tasks are drawn towards what all of them together show."""
    usual = np.array([0.4, 0.2, 0.25, 0.1])
    everywhere = np.zeros(len(counts.length), dtype=np.int64)
    parts = (counts.scores, counts.attempt, counts.offset, counts.length)
    for _ in range(60):
        usual = _tracing_step(usual[None], *parts, everywhere, usual, 1e-3)[0]
    fitted = np.tile(usual, (len(counts.tasks), 1))
    for _ in range(60):
        fitted = _tracing_step(fitted, *parts, counts.task, usual, 10.0)
    return fitted


@kernel
def _tracing_step(
    fitted: Floats, scores: Floats, attempt: Ints, offset: Ints, length: Ints, task: Ints, usual: Floats, pull: float
) -> Floats:
    """A step of EM, with ``pull`` imaginary cases as usual for each probability. What is learnt on a missing attempt is learnt before the next answer."""
    n_tasks = len(fitted)
    hits, cases = np.empty((n_tasks, 4)), np.full((n_tasks, 4), pull)
    for t in range(n_tasks):
        for k in range(4):
            hits[t, k] = pull * usual[k]
    forward = np.empty(int(length.max()))
    backward = np.empty((int(length.max()), 2))
    for course in range(len(length)):
        t, n, start = task[course], length[course], offset[course]
        first, learn, guess, slip = fitted[t]
        known = 1 - (1 - first) * (1 - learn) ** attempt[start]
        for k in range(n):  # forward[k] = P(known | answers up to k)
            y = scores[start + k]
            yes, no = _emit(y, 1 - slip), _emit(y, guess)
            forward[k] = known * yes / (known * yes + (1 - known) * no)
            if k + 1 < n:
                known = 1 - (1 - forward[k]) * (1 - learn) ** (attempt[start + k + 1] - attempt[start + k])
        backward[n - 1, 0] = backward[n - 1, 1] = 1.0
        for k in range(n - 2, -1, -1):
            y = scores[start + k + 1]
            yes, no = _emit(y, 1 - slip) * backward[k + 1, 1], _emit(y, guess) * backward[k + 1, 0]
            stays = (1 - learn) ** (attempt[start + k + 1] - attempt[start + k])
            backward[k, 1], backward[k, 0] = yes, (1 - stays) * yes + stays * no
            top = max(backward[k, 0], backward[k, 1])
            backward[k, 0] /= top
            backward[k, 1] /= top
        for k in range(n):
            y = scores[start + k]
            yes, no = forward[k] * backward[k, 1], (1 - forward[k]) * backward[k, 0]
            knows = yes / (yes + no)
            if k == 0 and attempt[start] == 0:
                hits[t, 0] += knows
                cases[t, 0] += 1
            hits[t, 2] += (1 - knows) * y
            cases[t, 2] += 1 - knows
            hits[t, 3] += knows * (1 - y)
            cases[t, 3] += knows
            if k + 1 < n:
                z = scores[start + k + 1]
                between = attempt[start + k + 1] - attempt[start + k]
                never = (1 - learn) ** between
                stays = never * _emit(z, guess) * backward[k + 1, 0]
                learns = (1 - never) * _emit(z, 1 - slip) * backward[k + 1, 1]
                learnt = learns / (stays + learns)
                # attempts up to the one on which it is learnt: 1 where none is missing
                needed = (1 - (1 + between * learn) * never) / (learn * (1 - never))
                hits[t, 1] += (1 - knows) * learnt
                cases[t, 1] += (1 - knows) * (learnt * needed + (1 - learnt) * between)
    stepped: Floats = np.minimum(np.maximum(hits / cases, 1e-3), 1 - 1e-3)
    return stepped


@kernel
def _trace(fitted: Floats, scores: Floats, attempt: Ints, offset: Ints, length: Ints, task: Ints) -> Floats:
    predicted = np.empty(len(scores))
    for course in range(len(length)):
        known, learn, guess, slip = fitted[task[course]]
        done = 0
        for k in range(offset[course], offset[course] + length[course]):
            known = 1 - (1 - known) * (1 - learn) ** (attempt[k] - done)
            done = attempt[k]
            predicted[k] = known * (1 - slip) + (1 - known) * guess
            yes, no = known * _emit(scores[k], 1 - slip), (1 - known) * _emit(scores[k], guess)
            known = yes / (yes + no)
    return predicted


@kernel
def _emit(y: float, p: float) -> float:
    """The likelihood of an answer, which may be a share of a success."""
    return math.exp(y * math.log(p) + (1 - y) * math.log(1 - p))
