"""Novices who learn and models that do not, drawn with a known truth.

`simulate` draws the data set of NAME, with models of known ability or models that behave exactly like novices on a given attempt.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri

from howsure.arguments import checked
from howsure.errors import OptionError
from howsure.horizon.attempt_horizon.estimator import SharedTasks, verification_by_domain
from howsure.horizon.learning_curves.novice_counts import NoviceCounts
from howsure.results import Provenance, Result, plain
from howsure.stats._arrays import Bools, Floats, Ints
from howsure.tables import Attempts

__all__ = ["ABILITIES", "SUITES", "SimulatedRuns", "Suite", "draw_suite", "simulate", "suite_of"]

ABILITIES: Mapping[str, float] = {"baseline-weak": 0.45, "baseline-medium": 0.6, "baseline-strong": 0.75}
"""Three models, by ability on the scale of the tasks' difficulty."""

SUITES: Mapping[str, tuple[float, float]] = {"mixed": (0.0, 1.0), "easy": (0.0, 0.6), "hard": (0.4, 1.0)}
"""Kinds of suites, by the range of their tasks' difficulty."""

_DOMAINS = ("logic_puzzle", "code_completion", "pattern_recognition", "creative_writing", "communication_tasks")
_FAMILY = 5  # tasks of one domain that resemble each other
_FIRST_RELEASE, _BETWEEN_RELEASES = datetime.date(2024, 1, 15), datetime.timedelta(days=180)


class SimulatedTask(Protocol):
    """What is asked of a task to simulate it."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def domain(self) -> str:
        """The field it belongs to."""

    @property
    def family(self) -> str:
        """Which tasks it resembles."""

    @property
    def verification_type(self) -> str:
        """How answers are verified."""

    @property
    def difficulty(self) -> float | None:
        """From 0 to 1."""


@dataclass(frozen=True, eq=False)
class Suite:
    r"""Tasks whose learning curves are known.

    .. math:: P_t(n) = A_t - (A_t - P_{1t})\, e^{-\lambda_t (n - 1)}

    ``first`` P₁ is the share of novices who succeed on the first attempt, ``asymptote`` A after endless practice, ``rate`` λ per
    attempt. ``difficulty`` runs from 0 to 1, and novices' success falls with it. ``tasks`` has a row a task: task, family,
    domain, verification.
    """

    tasks: pl.DataFrame
    difficulty: Floats
    first: Floats
    asymptote: Floats
    rate: Floats

    @property
    def frame(self) -> pl.DataFrame:
        """The tasks with their difficulty and the three numbers of their curve."""
        planted = ("difficulty", "first", "asymptote", "rate")
        return self.tasks.with_columns(pl.Series(name, getattr(self, name)) for name in planted)

    def success(self, attempt: float) -> Floats:
        """The share of novices who succeed at each task on an attempt from 1 up, whole or between two."""
        return np.asarray(self.asymptote - (self.asymptote - self.first) * np.exp(-self.rate * (attempt - 1)))

    def horizon(self, success: Floats) -> float:
        """The attempt on which novices succeed as often as a model with this `success`, one a task: −∞ before the first, ∞ for never."""
        wanted = success.mean()
        if wanted < self.first.mean():
            return -np.inf
        if wanted >= self.asymptote.mean():
            return np.inf
        return float(brentq(lambda n: self.success(n).mean() - wanted, 1, 1e9))


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulatedRuns(Result):
    """A simulated data set with its true values.

    Parameters
    ----------
    suite : Suite
        The tasks and their true learning curves.
    models : tuple of str
        The models' names.
    practice : array, shape (tasks, learners, attempts)
        Which attempts of novices succeed.
    tried : array, shape (tasks, learners)
        How many attempts each learner made at each task; 0 where the task was not dealt to the learner.
    runs : array, shape (models, tasks, runs)
        Which runs of models succeed.
    chances : array, shape (models, tasks)
        The models' true probabilities of success.
    provenance : Provenance
        Settings, seed, version and notes.
    """

    name: ClassVar[str] = "truth"

    suite: Suite
    models: tuple[str, ...]
    practice: Bools
    tried: Ints
    runs: Bools
    chances: Floats
    provenance: Provenance

    @cached_property
    def truth(self) -> dict[str, float]:
        """Each model's horizon on this suite, in expectation over learners and runs."""
        return {model: self.suite.horizon(row) for model, row in zip(self.models, self.chances, strict=True)}

    @cached_property
    def released(self) -> dict[str, datetime.date]:
        """An invented release for each model: one after the other, half a year apart."""
        return {model: _FIRST_RELEASE + place * _BETWEEN_RELEASES for place, model in enumerate(self.models)}

    @cached_property
    def counts(self) -> SharedTasks:
        """The counts that horizons are estimated from."""
        n_runs = np.full(self.chances.shape, float(self.runs.shape[2]))
        novices = _novice_counts(self.suite.tasks["task"].to_list(), self.practice, self.tried)
        all_tasks = SharedTasks(
            self.suite.tasks, novices, self.models, self.runs.sum(axis=2).astype(np.float64), n_runs, self.released
        )
        is_dealt = self.tried.sum(axis=1) > 0
        return all_tasks if is_dealt.all() else all_tasks.of_tasks(is_dealt)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per run in NAME's layout, novices first."""
        return pl.concat([_practice_rows(self), _model_rows(self)])

    @cached_property
    def attempts(self) -> Attempts:
        """The runs as an attempts table."""
        is_person = pl.col("learner_type") == "human_novice"
        start = pl.col("started_at")
        rows = self.frame.select(
            pl.when(is_person).then("learner_id").otherwise("alias").alias("subject"),
            pl.when(is_person).then(pl.lit("human")).otherwise(pl.lit("model")).alias("kind"),
            pl.col("task_id").alias("task"),
            pl.col("attempt_number").alias("attempt"),
            pl.col("score_binarized").alias("score"),
            pl.col("task_family").alias("family"),
            pl.col("task_domain").alias("domain"),
            pl.when(start > 0).then(pl.from_epoch(start, "ms").dt.date()).alias("date"),
            pl.col("run_id").alias("source"),
        )
        return Attempts(rows)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``truth`` (one row per model: its true horizon and success) and ``suite`` (the true curve of each task)."""
        models = {
            "model": self.models,
            "horizon": [n if np.isfinite(n) else None for n in self.truth.values()],
            "success": self.chances.mean(axis=1),
        }
        return {
            "truth": pl.DataFrame(models, schema={"model": pl.String, "horizon": pl.Float64, "success": pl.Float64}),
            "suite": self.suite.frame,
        }

    def as_dict(self) -> dict[str, Any]:
        """The true horizon and success of each model, by name, and the provenance."""
        truth = self.tables["truth"]
        by_model = {column: dict(zip(self.models, truth[column], strict=True)) for column in ("horizon", "success")}
        return {**plain(by_model), "provenance": plain(self.provenance)}

    def more_files(self) -> dict[str, pl.DataFrame | None]:
        """The runs."""
        return {"runs.jsonl": self.frame}


@checked
def simulate(
    suite: Suite | None = None,
    *,
    abilities: Mapping[str, float] = ABILITIES,
    true_horizons: Mapping[str, float] | None = None,
    steepness: float = 6.0,
    n_learners: int = 50,
    n_attempts: int = 10,
    n_runs: int = 20,
    sameness: float = 0.85,
    tasks_per_learner: int | None = None,
    mastery: int | None = None,
    seed: int = 0,
) -> SimulatedRuns:
    r"""Novices' attempts and models' runs at the tasks of a suite (by default 100 of mixed difficulty).

    .. math:: P(\text{model succeeds}) = \sigma(k\,(\text{ability} - \text{difficulty}_t)), \qquad
              P(\text{learner } l \text{ succeeds}) = \Phi\!\Big(\frac{\Phi^{-1}(P_t(n)) + \sqrt{1-s}\, z_l}{\sqrt s}\Big)

    A learner has the same advantage z ~ N(0, 1) at all tasks; s is ``sameness``, 1 if all learners are the same. Over
    learners the success is P_t(n) exactly. Models with ``true_horizons`` behave like a novice on that attempt, whatever the tasks.

    Parameters
    ----------
    suite : Suite | None
        The tasks with their true curves; by default 100 of mixed difficulty.
    abilities : Mapping[str, float]
        Model → ability.
    true_horizons : Mapping[str, float] | None
        Model → attempt number; the model behaves like a novice on that attempt, so that this number is its true horizon. Replaces ``abilities``.
    steepness : float
        The factor k.
    n_learners : int
        Number of novices.
    n_attempts : int
        Attempts per novice and task.
    n_runs : int
        Runs per model and task.
    sameness : float
        Similarity s of the learners; 1: all the same.
    tasks_per_learner : int | None
        Tasks that each learner attempts, dealt so that all tasks have about as many learners; None: all.
    mastery : int | None
        A learner leaves a task after this many successes in a row; None: nobody leaves early.
    seed : int
        Seed of the random numbers.
    """
    _check(n_learners=n_learners, n_attempts=n_attempts, n_runs=n_runs)
    _check(**{name: n for name, n in (("tasks_per_learner", tasks_per_learner), ("mastery", mastery)) if n is not None})
    suite = suite or draw_suite(seed=seed)
    rng = np.random.default_rng([seed, 1])
    talent = np.sqrt(1 - sameness) * rng.standard_normal(n_learners)
    typical = ndtri(np.stack([suite.success(attempt) for attempt in range(1, n_attempts + 1)], axis=1))
    practice = rng.random((len(typical), n_learners, n_attempts)) < ndtr(
        (typical[:, None, :] + talent[None, :, None]) / np.sqrt(sameness)
    )
    if true_horizons:
        chances = np.stack([suite.success(attempt) for attempt in true_horizons.values()])
    else:
        chances = expit(steepness * (np.array(list(abilities.values()))[:, None] - suite.difficulty))
    runs = rng.random((*chances.shape, n_runs)) < chances[:, :, None]
    settings: dict[str, Any] = {
        "n_learners": n_learners,
        "n_attempts": n_attempts,
        "n_runs": n_runs,
        "sameness": sameness,
    }
    dealt = _deal(len(typical), n_learners, tasks_per_learner, np.random.default_rng([seed, 2]))
    tried = np.where(dealt, _until_mastery(practice, mastery), 0)
    settings |= {"tasks_per_learner": tasks_per_learner, "mastery": mastery}
    settings |= (
        {"true_horizons": dict(true_horizons)}
        if true_horizons
        else {"abilities": dict(abilities), "steepness": steepness}
    )
    return SimulatedRuns(
        suite=suite,
        models=tuple(true_horizons or abilities),
        practice=practice,
        tried=tried,
        runs=runs,
        chances=chances,
        provenance=Provenance(settings, seed=seed),
    )


def draw_suite(n_tasks: int = 100, *, kind: str = "mixed", seed: int = 0) -> Suite:
    """Tasks in NAME's five domains, in families of five whose difficulties resemble each other."""
    if kind not in SUITES:
        raise OptionError.unknown("suite", kind, SUITES)
    _check(n_tasks=n_tasks)
    rng = np.random.default_rng([seed, 0])
    place = np.arange(n_tasks)
    domain = np.array(_DOMAINS)[place * len(_DOMAINS) // n_tasks]
    low, high = SUITES[kind]
    nearness = (rng.random(n_tasks) + rng.random(n_tasks // _FAMILY + 1)[place // _FAMILY]) / 2
    rows = {
        "task": [f"{name}/task_{number:04}" for name, number in zip(domain, place, strict=True)],
        "family": [f"{name}/{number // _FAMILY}" for name, number in zip(domain, place, strict=True)],
        "domain": domain,
        "difficulty": low + (high - low) * nearness,
    }
    return _with_curves(pl.DataFrame(rows).with_columns(verification_by_domain()), rng)


def suite_of(tasks: Iterable[SimulatedTask], *, seed: int = 0) -> Suite:
    """Learning curves for tasks that exist, drawn by their difficulty; by chance where that is not told."""
    rng = np.random.default_rng([seed, 0])
    names = ("task", "family", "domain", "verification", "difficulty")
    rows = [(task.id, task.family, task.domain, task.verification_type, task.difficulty) for task in tasks]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return _with_curves(frame.with_columns(pl.col("difficulty").fill_null(pl.Series(rng.random(len(frame))))), rng)


def _with_curves(tasks: pl.DataFrame, rng: np.random.Generator) -> Suite:
    """Hard tasks start lower and end lower; how fast they are learnt is another matter."""
    tasks = tasks.sort("task")
    difficulty = tasks["difficulty"].to_numpy()
    ease, rate = 1 - difficulty, rng.uniform(0.2, 0.6, len(tasks))
    return Suite(tasks.drop("difficulty"), difficulty, 0.05 + 0.6 * ease, 0.7 + 0.28 * ease, rate)


def _check(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise OptionError(f"{name} is {count}; give at least 1.")


def _deal(n_tasks: int, n_learners: int, per_learner: int | None, rng: np.random.Generator) -> Bools:
    """Which tasks each learner gets, (tasks, learners): those that the fewest learners have had so far, ties broken by lot."""
    if per_learner is None or per_learner >= n_tasks:
        return np.ones((n_tasks, n_learners), dtype=np.bool_)
    dealt, n_had = np.zeros((n_tasks, n_learners), dtype=np.bool_), np.zeros(n_tasks)
    for learner in range(n_learners):
        chosen = np.lexsort((rng.random(n_tasks), n_had))[:per_learner]
        dealt[chosen, learner] = True
        n_had[chosen] += 1
    return dealt


def _until_mastery(practice: Bools, mastery: int | None) -> Ints:
    """How many attempts a learner makes at a task, (tasks, learners)."""
    n_attempts = practice.shape[2]
    if mastery is None:
        return np.full(practice.shape[:2], n_attempts)
    in_a_row, left = np.zeros(practice.shape[:2], dtype=np.int64), np.full(practice.shape[:2], n_attempts)
    for attempt in range(n_attempts):
        in_a_row = np.where(practice[:, :, attempt], in_a_row + 1, 0)
        left = np.where((in_a_row >= mastery) & (left == n_attempts), attempt + 1, left)
    return left


def _novice_counts(tasks: list[str], practice: Bools, tried: Ints) -> NoviceCounts:
    """A task that nobody tried stays, without answers."""
    _, n_learners, n_attempts = practice.shape
    is_made = np.arange(n_attempts) < tried[:, :, None]
    task, learner = np.nonzero(tried)
    length = tried[task, learner]
    return NoviceCounts(
        tasks=tuple(tasks),
        learners=tuple(_novice(number) for number in range(n_learners)),
        successes=(practice & is_made).sum(axis=1).astype(np.float64),
        trials=is_made.sum(axis=1).astype(np.float64),
        start=np.concatenate([[0], np.cumsum((tried > 0).sum(axis=1))]),
        learner=learner,
        length=length,
        offset=np.cumsum(length) - length,
        scores=practice[is_made].astype(np.float64),
        attempt=np.nonzero(is_made)[2],
    )


def _novice(number: int) -> str:
    return f"novice_{number + 1:04}"


def _practice_rows(world: SimulatedRuns) -> pl.DataFrame:
    is_made = np.arange(world.practice.shape[2]) < world.tried[:, :, None]
    task, learner, attempt = np.nonzero(is_made)
    learners = pl.Series(world.counts.novices.learners)[learner]
    people = pl.DataFrame({"alias": "human_novice", "learner_id": learners, "learner_type": "human_novice"})
    return _laid_out(
        world, people.with_columns(pl.lit(0, pl.Int64).alias("started_at")), task, attempt, world.practice[is_made]
    )


def _model_rows(world: SimulatedRuns) -> pl.DataFrame:
    model, task, attempt = (index.ravel() for index in np.indices(world.runs.shape))
    names = pl.Series(world.models)[model]
    start = pl.Series(list(world.released.values())).dt.epoch("ms")[model]
    models = pl.DataFrame({"alias": names, "learner_id": names, "learner_type": "ai_zero_shot", "started_at": start})
    return _laid_out(world, models, task, attempt, world.runs)


def _laid_out(world: SimulatedRuns, who: pl.DataFrame, task: Any, attempt: Any, won: Bools) -> pl.DataFrame:
    """Rows in NAME's layout: who they are of, what happened, and what is known of the task."""
    suite = world.suite
    planted = {
        "first_attempt_success_rate": suite.first,
        "learning_rate_lambda": suite.rate,
        "asymptote": suite.asymptote,
        "difficulty": suite.difficulty,
    }
    about = suite.tasks.select(
        pl.col("task").alias("task_id"),
        pl.col("family").alias("task_family"),
        pl.col("domain").alias("task_domain"),
        pl.col("verification").alias("verification_type"),
        *(pl.Series(name, values) for name, values in planted.items()),
    )
    rows = who.hstack(about[task]).with_columns(
        pl.Series("attempt_number", attempt + 1), pl.Series("score_binarized", won.ravel().astype(np.int64))
    )
    number = pl.col("attempt_number").cast(pl.String).str.zfill(2)
    run = pl.format("{}_attempt_{}_{}", "learner_id", number, pl.col("task_id").str.replace("/", "_"))
    first = ("task_id", "run_id", "alias", "score_binarized", "attempt_number", "learner_type")
    return rows.with_columns(run.alias("run_id")).select(*first, pl.exclude(*first))
