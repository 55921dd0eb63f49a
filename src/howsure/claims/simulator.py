"""Simulated runs in which one choice of the analysis matters, and how often the check finds that out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from scipy.special import expit

from howsure.arguments import checked
from howsure.claims.checking import choices_of
from howsure.claims.claim_files import Claim, ClaimFile
from howsure.claims.multiverse import assess
from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.stats.means import wilson
from howsure.tables import Attempts

__all__ = ["CAUSES", "ClaimErrors", "claim_errors", "simulate_runs"]

CAUSES = ("limits", "human_times", "weights")
"""The choice that matters in the simulated runs."""

_HORIZON = 60.0
_SLOPE = -0.8
_TURNING = {
    "limits": Claim(kind="horizon", model="model", at_least=35),
    "human_times": Claim(kind="horizon", model="model", at_least=38),
    "weights": Claim(kind="horizon", model="model", at_most=650),
}
_GOALS = {
    "the cause is named first": 0.9,
    "the union of intervals contains the true value": 0.95,
    "a claim that is true in all specifications holds in all": 0.9,
    "where specifications disagree on a claim, it is said to turn on the cause": 0.9,
}
_WITHOUT = ({"choice": "curve", "remove": "weibull"}, {"choice": "minutes_noise", "remove": "1"})


@dataclass(frozen=True, kw_only=True)
class ErrorRate:
    """How often one thing was found in the simulated data sets."""

    cause: str
    what: str
    share: Estimate
    goal: float
    n_simulations: int


@dataclass(frozen=True, kw_only=True, eq=False)
class ClaimErrors(Result):
    """How often the verdicts are right in simulated data.

    Table ``claim_errors``: one row per cause and question, with the share of the simulated data sets and its 95 % interval.

    Parameters
    ----------
    rows : tuple[ErrorRate, ...]
        One entry per cause and question.
    provenance : Provenance
        Settings, seed, version and notes.
    """

    name: ClassVar[str] = "claim_errors"

    rows: tuple[ErrorRate, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``claim_errors``."""
        rows = [
            {"cause": r.cause, "what": r.what}
            | columns_of(share=r.share)
            | {"goal": r.goal, "n_simulations": r.n_simulations}
            for r in self.rows
        ]
        return {"claim_errors": pl.DataFrame(rows, infer_schema_length=None)}


def simulate_runs(
    cause: str | None, *, n_families: int = 24, n_tasks: int = 4, n_runs: int = 6, seed: int = 0
) -> Attempts:
    """Runs of one model with a 50 % horizon of 60 minutes, in which one choice of the analysis matters.

    Parameters
    ----------
    cause : str or None
        ``limits``: 60 % of the runs at tasks above 15 minutes were cut at a limit and scored 0, whatever they would have become. ``human_times``: stated times that were not measured are
        five times too short. ``weights``: a family of many tasks is much easier than its length says. None: no choice matters.
    n_families : int
        Families of tasks.
    n_tasks : int
        Tasks per family.
    n_runs : int
        Runs per task.
    seed : int
        The same seed gives the same runs.
    """
    if cause is not None and cause not in CAUSES:
        raise OptionError.unknown("cause", cause, CAUSES)
    rng = np.random.default_rng(seed)
    family = np.repeat(np.arange(n_families), n_tasks)
    if cause == "weights":
        family = np.concatenate([family, np.full(10 * n_tasks, n_families)])
    x = np.log2(rng.uniform(1, 2, len(family))) + rng.uniform(0, 10, n_families + 1)[family]
    eta = (
        _SLOPE * (x - math.log2(_HORIZON))
        + rng.normal(0, 0.3, n_families + 1)[family]
        + rng.normal(0, 0.3, len(family))
    )
    if cause == "weights":
        x = np.where(family == n_families, 6.5 + 2 * rng.random(len(family)), x)
        eta = np.where(family == n_families, 3.0, eta)
    is_measured = rng.random(len(family)) < 0.5
    stated = np.exp2(x)
    if cause == "human_times":
        stated = np.where(is_measured, stated, stated / 5)
    task = np.repeat(np.arange(len(family)), n_runs)
    score = (rng.random(len(task)) < expit(eta)[task]).astype(np.float64)
    is_cut = rng.random(len(task)) < 0.15
    if cause == "limits":
        is_cut = (x[task] > math.log2(15)) & (rng.random(len(task)) < 0.6)
        score = np.where(is_cut, 0.0, score)
    return Attempts(
        pl.DataFrame(
            {
                "subject": ["model"] * len(task),
                "task": [f"family-{family[t]}/task-{t}" for t in task],
                "family": [f"family-{family[t]}" for t in task],
                "minutes": stated[task].round(4),
                "score": score,
                "limit": pl.Series([("tokens" if one else None) for one in is_cut], dtype=pl.String),
                "human_source": ["baseline" if is_measured[t] else "estimate" for t in task],
            }
        )
    )


@checked
def claim_errors(
    n_simulations: int = 200,
    *,
    n_replicates: int = 100,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> ClaimErrors:
    """How often the cause is named first, the union of intervals contains the true value, and the verdicts are right.

    Parameters
    ----------
    n_simulations : int, default 200
        Simulated data sets per cause.
    n_replicates : int, default 100
        Bootstrap replicates per specification.
    seed : int, default 0
        The same seed gives the same numbers.
    progress : callable, optional
        Called with the number of finished data sets and of all.
    """
    easy = Claim(kind="horizon", model="model", at_least=1)
    changes = tuple({**one, "reason": "the simulated runs have no such effect"} for one in _WITHOUT)
    rows, done = [], 0
    for cause in CAUSES:
        turning = _TURNING[cause]
        hits: dict[str, list[bool]] = {what: [] for what in _GOALS}
        for number in range(n_simulations):
            runs = simulate_runs(cause, seed=seed + 1000 * number + CAUSES.index(cause))
            ((_, instrument),) = choices_of(ClaimFile((turning,), changes), runs)
            specifications = instrument.choices.specifications(500)
            fits = instrument.fit(specifications, level=0.95, n_replicates=n_replicates, seed=seed)
            first, second = (
                assess(one, instrument.choices, specifications, fits, level=0.95) for one in (easy, turning)
            )
            answers = (
                first.moved_most[0].choice == cause,
                any(one.estimate.covers(_HORIZON) for one in first.specifications),
                first.verdict == "holds in all",
                second.turns_on == cause if second.turns_on else None,
            )
            for what, is_right in zip(_GOALS, answers, strict=True):
                if is_right is not None:
                    hits[what].append(is_right)
            done += 1
            if progress:
                progress(done, n_simulations * len(CAUSES))
        rows += [
            ErrorRate(
                cause=cause,
                what=what,
                share=wilson(sum(hits[what]), len(hits[what])),
                goal=goal,
                n_simulations=len(hits[what]),
            )
            for what, goal in _GOALS.items()
        ]
    return ClaimErrors(
        rows=tuple(rows),
        provenance=Provenance({"n_simulations": n_simulations, "n_replicates": n_replicates}, seed=seed),
    )
