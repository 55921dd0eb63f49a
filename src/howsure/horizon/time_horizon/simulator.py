r"""Runs with known time horizons.

.. math:: P(\text{success}) = \sigma\bigl(\beta (\log_2 \text{minutes} - \log_2 h) + u_f + v_t\bigr), \qquad
          u_f \sim N(0, s_f^2),\ v_t \sim N(0, s_t^2)

``h`` is the model's 50 % horizon, ``u`` and ``v`` make families and tasks easier or harder than their length says, for all models alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import expit

from howsure.errors import OptionError
from howsure.horizon.run_counts import ModelCounts, count_table

__all__ = ["LASTING", "SimulatedTimeRuns", "simulate_limits", "simulate_people", "simulate_spending", "simulate_time"]


LASTING = ("neither", "failures", "successes")
"""Which runs need four times as many tokens as the others, so that a limit cuts more of them."""


@dataclass(frozen=True, eq=False)
class SimulatedTimeRuns:
    """Counts of runs, and the true values that they were drawn from.

    ``slope`` is β; ``spread`` the standard deviation of family and task effects together.
    """

    counts: ModelCounts
    horizons: Mapping[str, float]
    slope: float
    spread: float

    def truth(self, model: str, success_rate: float = 0.5) -> float:
        """The minutes at which a model does this share of all tasks of that length, easier and harder ones together."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        effects, shares = self.spread * nodes, weights / weights.sum()
        found = brentq(lambda eta: shares @ expit(eta + effects) - success_rate, -60, 60)
        return float(self.horizons[model] * 2 ** (found / self.slope))


def simulate_time(
    horizons: Mapping[str, float],
    *,
    n_families: int = 40,
    n_tasks: int | Sequence[int] = 4,
    n_runs: int = 8,
    slope: float = -0.7,
    family_sd: float = 0.6,
    task_sd: float = 0.6,
    minutes_noise: float = 0.0,
    messiness: float = 0.0,
    shortest: float = 1,
    longest: float = 960,
    seed: int = 0,
) -> SimulatedTimeRuns:
    """Runs of models with these 50 % horizons in minutes; families start between `shortest` and `longest` minutes, log-uniformly.

    Every model makes `n_runs` runs at each of `n_tasks` tasks in each family (a sequence has the number of each family); lengths within a family differ by a doubling or so. Success depends on the true
    length; the minutes that are given have an error of `minutes_noise` doublings. Where `messiness` is not 0, tasks have a column of that name, standard normal, of which a unit adds so much to the log-odds.
    """
    if slope >= 0 or min(n_families, int(np.min(n_tasks)), n_runs) < 1 or not horizons:
        raise OptionError("Give a slope below 0, a model, and at least 1 family, task and run.")
    rng = np.random.default_rng(seed)
    family = np.repeat(np.arange(n_families), n_tasks)
    ends = math.log2(shortest), math.log2(longest)
    x = rng.uniform(*ends, n_families)[family] + rng.normal(0, 1, len(family))
    effect = rng.normal(0, family_sd, n_families)[family] + rng.normal(0, task_sd, len(family))
    messy = rng.normal(0, 1, len(family)).round(2) if messiness else np.zeros(len(family))
    effect = effect + messiness * messy
    true = np.exp2(x).round(3).clip(0.01)
    given = true * np.exp2(rng.normal(0, minutes_noise, len(family))) if minutes_noise else true
    tasks = pl.DataFrame({"family": family, "minutes": given}).with_row_index("number")
    tasks = tasks.select(
        pl.format("family-{}/task-{}", "family", "number").alias("task"), pl.format("family-{}", "family"), "minutes"
    )
    drawn = []
    for model, minutes in horizons.items():
        p = expit(slope * (np.log2(true) - math.log2(minutes)) + effect)
        counts = {"successes": rng.binomial(n_runs, p), "n": np.full(len(p), n_runs)}
        drawn.append(tasks.with_columns(model=pl.lit(model), **{name: pl.Series(c) for name, c in counts.items()}))
    found = count_table(pl.concat(drawn))
    if messiness:
        own = pl.DataFrame({"task": tasks["task"], "messiness": messy})
        found = replace(found, tasks=found.tasks.join(own, on="task", how="left", maintain_order="left"))
    return SimulatedTimeRuns(found, dict(horizons), slope, math.hypot(family_sd, task_sd, messiness))


def simulate_spending(world: SimulatedTimeRuns, *, limit: float = math.inf, seed: int = 0) -> pl.DataFrame:
    """The runs of `world`, one row each, with what each spent: a run needs about 2,000 tokens per minute of the task, within a factor of two or so.

    A run that does not succeed gives up by itself half of the time, at a random share of what it would have needed; the others go on for ever and
    end at their `limit`, which differs between runs by a factor of two to either side.
    """
    rng = np.random.default_rng(seed)
    rows = world.counts.to_frame().with_columns(run=pl.int_ranges(0, "n")).explode("run")
    succeeds = (rows["run"] < rows["successes"]).to_numpy()
    needed = 2000 * rows["minutes"].to_numpy() * np.exp2(rng.normal(0, 1, len(rows)))
    gives_up = rng.random(len(rows)) < 0.5
    end = np.where(succeeds, needed, np.where(gives_up, needed * rng.random(len(rows)), np.inf))
    own_limit = limit * np.exp2(rng.uniform(-1, 1, len(rows)))
    is_cut = end > own_limit
    return rows.select(
        pl.col("model").alias("subject"), "task", "family", "minutes",
        pl.Series("score", (succeeds & ~is_cut).astype(float)),
        pl.Series("tokens", np.minimum(end, np.minimum(own_limit, 1e12)).round()),
        pl.Series("limit", ["token" if cut else None for cut in is_cut], dtype=pl.String),
    )  # fmt: skip


def simulate_limits(
    world: SimulatedTimeRuns, *, share_cut: float = 0.3, lasting: str = "neither", seed: int = 0
) -> pl.DataFrame:
    """The runs of `world`, one row each, of which a limit of tokens cut a share; whether a cut run would have succeeded is known to the simulation alone.

    A run ends by itself after about 2,000 tokens per minute of the task, within a factor of two or so. Its limit is in proportion to the task's minutes and differs between runs by a factor of two to either side.
    With ``lasting`` neither, the limit says nothing about success; with failures or successes, these need four times as many tokens.
    """
    if lasting not in LASTING:
        raise OptionError.unknown("lasting outcome", lasting, LASTING)
    rng = np.random.default_rng(seed)
    rows = world.counts.to_frame().with_columns(run=pl.int_ranges(0, "n")).explode("run")
    succeeds = (rows["run"] < rows["successes"]).to_numpy()
    needed = np.exp2(rng.normal(0, 1, len(rows)))
    needed[{"neither": np.zeros(len(rows), bool), "failures": ~succeeds, "successes": succeeds}[lasting]] *= 4
    own = np.exp2(rng.uniform(-1, 1, len(rows)))
    limit = own * np.quantile(needed / own, 1 - share_cut)
    is_cut, minutes = needed > limit, rows["minutes"].to_numpy()
    return rows.select(
        pl.col("model").alias("subject"), "task", "family", "minutes",
        pl.Series("score", (succeeds & ~is_cut).astype(float)),
        pl.Series("tokens", (2000 * minutes * np.minimum(needed, limit)).round()),
        pl.Series("limit", ["token" if cut else None for cut in is_cut], dtype=pl.String),
    )  # fmt: skip


def simulate_people(
    tasks: pl.DataFrame,
    *,
    n_people: int = 6,
    n_tasks_each: int = 12,
    spread: float = 1.0,
    patience: float = 240,
    seed: int = 0,
) -> pl.DataFrame:
    """Timed attempts of people at tasks (task, minutes): lognormal times around the minutes; after about `patience` minutes a person gives up."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(n_people):
        for place in sorted(rng.choice(len(tasks), min(n_tasks_each, len(tasks)), replace=False)):
            needed = tasks["minutes"][int(place)] * 2 ** rng.normal(0, spread)
            given = patience * 2 ** rng.uniform(-1, 1)
            rows.append(
                {
                    "subject": f"person-{person + 1}",
                    "kind": "human",
                    "task": tasks["task"][int(place)],
                    "score": float(needed <= given),
                }
                | {"seconds": round(60 * min(needed, given), 1)}
            )
    return pl.DataFrame(rows)
