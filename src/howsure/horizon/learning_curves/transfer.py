r"""Which practice carries over to which task: one model of learners, tasks and skills.

.. math:: \operatorname{logit} P = \beta_t + \gamma_{s(t)} \log_2 n + \theta_l + \sum_r \tau_{r \to s(t)} \log_2(1 + m_{lr}), \qquad \theta_l \sim N(0, \sigma^2)

for learner l on attempt n at task t, who has made m attempts at *other* tasks of skill r before. γ is what a doubling of practice at the task itself brings, τ what a doubling of practice at skill r
brings. A task may need several skills; then it is a target of its own, and practice at each of its parts is counted: that shows whether skills compose.

Learner effects are eliminated from Newton's steps and their spread is estimated (EM); intervals come from a jackknife over learners.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import expit

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats, Ints, check_level, t_quantile
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.tables.frames import Source

__all__ = ["SkillTransfer", "measure_transfer"]

FEWEST_LEARNERS = 5
"""Learners with, and learners without, earlier practice that an effect needs."""

_SPLIT = re.compile(r"\s*[+;]\s*")
_TASK_SD = 3.0  # of tasks' levels around their mean: wide, so that a task that nobody solves stays finite
_EFFECT_SD = 2.0  # of practice effects: wide
_MOST_STEPS, _PASSES = 30, 12


@dataclass(frozen=True, kw_only=True, eq=False)
class SkillTransfer(Result):
    """Effects of earlier practice.

    Parameters
    ----------
    effects : polars.DataFrame
        One row per skill practised (``practised``) and skills of the task (``task_skill``): the estimate effect (log-odds of success per doubling of the attempts made at other tasks of that skill),
        the estimate share_carried (effect divided by that of a doubling of practice at the task itself), n_learners with such practice before, and reason.
    own : polars.DataFrame
        One row per skill of tasks: the estimate own_effect, of a doubling of the attempts at the task itself, and n_tasks.
    spread_of_learners : float
        Standard deviation of learners' effects, in log-odds.
    level : float
        Coverage of the intervals.
    provenance : Provenance
        Settings, digest of the input, version and notes.
    """

    name: ClassVar[str] = "transfer"

    effects: pl.DataFrame
    own: pl.DataFrame
    spread_of_learners: float
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``transfer`` (one row per pair of skills) and ``own_practice`` (one row per skill)."""
        return {"transfer": self.effects, "own_practice": self.own}

    def charts(self) -> dict[str, Chart]:
        """The effect of each skill's practice on each skill's tasks."""
        from howsure.charts import Caption, Field, heat_map

        rows = self.effects.drop_nulls("effect")
        if rows.is_empty():
            return {}
        chart = heat_map(
            rows,
            title="Which practice carries over to which tasks",
            caption=Caption(
                int(self.provenance.settings["n_learners"]), "learners", self.level, "jackknife over learners"
            ),
            x=Field("practised", "Practised before"),
            y=Field("task_skill", "Task"),
            value=Field("effect", "Effect", "log-odds"),
            low="effect_low",
            high="effect_high",
            midpoint=0,
        )
        return {"transfer": chart}


@checked
def measure_transfer(
    attempts: Attempts | Source, *, skill: str = "domain", order: str = "position", level: float = 0.95
) -> SkillTransfer:
    """Which practice carries over to which tasks, with intervals.

    The order in which learners meet tasks must not depend on how well they do; `howsure horizon page --learners` deals tasks out at random.

    Parameters
    ----------
    attempts : Attempts or frame
        Attempts of people (kind ``human``) at tasks of several skills.
    skill : str
        The column with a task's skill, or several joined by + or ;.
    order : str
        The column that says when a learner made the attempt: a number, date or time. Attempts at one task keep the order of their numbers.
    level : float
        Coverage of the intervals.
    """
    check_level(level)
    table = Attempts.of(attempts).counted
    for name in (skill, order):
        if not table.has(name):
            raise OptionError.unknown("column in these attempts", name, table.lazy.collect_schema().names())
    rows = table.lazy.filter(pl.col("kind") == "human").select("subject", "task", "attempt", "score", skill, order)
    frame = rows.collect().drop_nulls([skill, order]).sort("subject", order, "task", "attempt", maintain_order=True)
    if frame["subject"].n_unique() < 2 * FEWEST_LEARNERS:
        raise InputError(
            f"{frame['subject'].n_unique()} learners have a skill and an order; transfer needs at least {2 * FEWEST_LEARNERS}."
        )
    data = _Practice.of(frame, skill)
    fit = _fit(data)
    quantile = t_quantile(level, data.n_learners - 1)
    own = {name: _estimate(fit, len(data.tasks) + k, quantile, level) for k, name in enumerate(data.targets)}
    effects = []
    for column, (practised, target) in enumerate(data.pairs, len(data.tasks) + len(data.targets)):
        place = len(data.tasks) + data.targets.index(target)
        n_with, n_without = data.counts[practised, target]
        about: dict[str, Any] = {"practised": practised, "task_skill": target, "n_learners": n_with}
        if min(n_with, n_without) < FEWEST_LEARNERS:
            lacking = "without" if n_without < FEWEST_LEARNERS else "with"
            reason = f"{min(n_with, n_without)} learners {lacking} such practice; an effect needs {FEWEST_LEARNERS}"
            nothing = Estimate.without("too_few", reason, level=level)
            effects.append(about | columns_of(effect=nothing, share_carried=nothing) | {"reason": reason})
            continue
        carried = _ratio(fit, column, place, quantile, level)
        estimates = columns_of(effect=_estimate(fit, column, quantile, level), share_carried=carried)
        effects.append(about | estimates | {"reason": carried.reason or ""})
    n_tasks = {name: sum(target == name for target in data.target_of_task.values()) for name in data.targets}
    settings = {"skill": skill, "order": order, "level": level, "n_learners": data.n_learners}
    return SkillTransfer(
        effects=pl.DataFrame(effects, infer_schema_length=None),
        own=pl.DataFrame(
            [{"task_skill": name, "n_tasks": n_tasks[name]} | columns_of(own_effect=one) for name, one in own.items()]
        ),
        spread_of_learners=fit.spread,
        level=level,
        provenance=Provenance(settings, table.digest, notes=table.notes),
    )


@dataclass(frozen=True, eq=False)
class _Practice:
    """Answers with their features: a column per task, per target (log₂ n) and per pair of a practised skill and a target (log₂(1 + m))."""

    features: Floats
    scores: Floats
    learner: Ints
    n_learners: int
    tasks: list[str]
    targets: list[str]
    target_of_task: dict[str, str]
    pairs: list[tuple[str, str]]
    counts: dict[tuple[str, str], tuple[int, int]]

    @classmethod
    def of(cls, frame: pl.DataFrame, skill: str) -> _Practice:
        tasks = frame["task"].unique().sort().to_list()
        skills_of = {
            task: tuple(sorted(set(_SPLIT.split(str(told)))))
            for task, told in frame.select("task", skill).unique("task", maintain_order=True).iter_rows()
        }
        target_of = {task: " + ".join(skills_of[task]) for task in tasks}
        targets = sorted(set(target_of.values()))
        singles = sorted({one for skills in skills_of.values() for one in skills})
        pairs = [(one, target) for target in targets for one in singles]
        place = {one: k for k, one in enumerate(singles)}
        names, inverse = np.unique(frame["subject"].to_numpy(), return_inverse=True)
        learner = inverse.astype(np.int64)
        task_of = frame["task"].to_list()
        has = np.array([[one in skills_of[task] for one in singles] for task in tasks], dtype=np.float64)
        has = has[np.searchsorted(tasks, task_of)]
        # a row also stands for the attempts that are missing before it
        number = frame["attempt"].to_numpy()
        before = frame.select(pl.col("attempt").shift(1, fill_value=0).over("subject", "task")).to_series().to_numpy()
        done = has * (number - before)[:, None]
        made = np.cumsum(done, axis=0) - done
        first = np.searchsorted(learner, np.arange(len(names)))  # rows are in the order of learners
        practice = made - made[first][learner] - has * before[:, None]
        is_task = np.array(task_of)[:, None] == np.array(tasks)[None, :]
        target = np.array([target_of[task] for task in task_of])
        is_target = target[:, None] == np.array(targets)[None, :]
        features = [is_task.astype(np.float64), is_target * np.log2(number)[:, None]]
        features += [
            (is_target[:, [targets.index(goal)]] * np.log2(1 + practice[:, [place[one]]])) for one, goal in pairs
        ]
        counts = {}
        for one, goal in pairs:
            has = practice[:, place[one]] > 0
            here = target == goal
            counts[one, goal] = len(np.unique(learner[here & has])), len(np.unique(learner[here & ~has]))
        return cls(
            np.hstack(features),
            frame["score"].to_numpy(),
            learner,
            len(names),
            tasks,
            targets,
            target_of,
            pairs,
            counts,
        )


@dataclass(frozen=True, eq=False)
class _Fit:
    coefficients: Floats
    covariance: Floats
    spread: float


def _fit(data: _Practice) -> _Fit:
    x, y, who = data.features, data.scores, data.learner
    n_tasks, n_fixed = len(data.tasks), x.shape[1]
    precision = np.r_[np.full(n_tasks, _TASK_SD**-2), np.full(n_fixed - n_tasks, _EFFECT_SD**-2)]
    share = float(np.clip(y.mean(), 0.02, 0.98))
    centre = np.r_[np.full(n_tasks, math.log(share / (1 - share))), np.zeros(n_fixed - n_tasks)]
    beta, theta, spread = centre.copy(), np.zeros(data.n_learners), 0.8
    for _ in range(_PASSES):
        for _ in range(_MOST_STEPS):
            p = expit(x @ beta + theta[who])
            w = p * (1 - p)
            cross = np.stack([np.bincount(who, w * column, data.n_learners) for column in x.T])
            diagonal = np.bincount(who, w, data.n_learners) + spread**-2
            slope = x.T @ (y - p) - precision * (beta - centre)
            of_learners = np.bincount(who, y - p, data.n_learners) - theta / spread**2
            # each learner's effect meets only the fixed part, so it is eliminated
            left = (x * w[:, None]).T @ x + np.diag(precision) - (cross / diagonal) @ cross.T
            step = np.linalg.solve(left, slope - (cross / diagonal) @ of_learners)
            move = (of_learners - cross.T @ step) / diagonal
            beta, theta = beta + np.clip(step, -2, 2), theta + np.clip(move, -2, 2)
            if max(np.abs(step).max(), np.abs(move).max()) < 1e-6:
                break
        wider = math.sqrt(float(np.mean(theta**2 + 1 / diagonal)))
        if abs(wider - spread) < 1e-3:
            break
        spread = max(wider, 0.05)
    return _Fit(beta, _jackknife(x, y - p, w, who, left, np.asarray(diagonal)), spread)


def _jackknife(x: Floats, residual: Floats, w: Floats, who: Ints, left: Floats, diagonal: Floats) -> Floats:
    """The covariance of the fixed part when learners are left out one by one, each by one step of Newton's."""
    moved = []
    for learner, own in enumerate(np.split(np.arange(len(who)), np.flatnonzero(np.diff(who)) + 1)):
        cross = x[own].T @ w[own]
        information = (x[own] * w[own][:, None]).T @ x[own] - np.outer(cross, cross) / diagonal[learner]
        moved.append(np.linalg.solve(left - information, x[own].T @ residual[own]))
    apart = np.stack(moved) - np.mean(moved, axis=0)
    return np.asarray((len(moved) - 1) / len(moved) * apart.T @ apart)


def _estimate(fit: _Fit, column: int, quantile: float, level: float) -> Estimate:
    value, far = float(fit.coefficients[column]), quantile * math.sqrt(max(fit.covariance[column, column], 0.0))
    return Estimate(value, value - far, value + far, level)


def _ratio(fit: _Fit, top: int, bottom: int, quantile: float, level: float) -> Estimate:
    """One effect divided by another, with Fieller's interval; undefined where the divisor may be 0."""
    a, b = float(fit.coefficients[top]), float(fit.coefficients[bottom])
    v = fit.covariance
    square = b**2 - quantile**2 * v[bottom, bottom]
    if square <= 0 or b <= 0:
        return Estimate.without(
            "undefined", "practice at the task itself has no clear effect to compare with", level=level
        )
    middle = a * b - quantile**2 * v[top, bottom]
    far = math.sqrt(max(middle**2 - square * (a**2 - quantile**2 * v[top, top]), 0.0))
    return Estimate(a / b, (middle - far) / square, (middle + far) / square, level)
