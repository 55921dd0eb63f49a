"""Bias and coverage of `howsure stitch votes` where the true strengths are known, and its rate of false tiers.

Six models, ties, an advantage of the first answer, an effect of length where models' answers differ in length, and voters who like models to different degrees and vote unequally often. Where voters differ, a
strength is the log odds over all voters, which are nearer to 0 than those of each voter: the true values are those of 400,000 votes. Intervals are 95 %. False tiers: data sets of six equal models in which more than
one tier appears.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from howsure.stitch import votes
from howsure.stitch.model.problem import Floats

CASES = ((800, 40, 0.5), (800, 12, 0.5), (3000, 100, 0.0))
"""Votes, voters, the standard deviation of a voter's own strengths."""
NAMES = tuple("pqrstu")
STRENGTHS = np.array([0.6, 0.45, 0.2, 0.0, -0.4, -0.85])
LENGTHS = np.array([0.5, -0.2, 0.3, 0.0, -0.3, -0.3])


def measure(n_simulations: int = 60) -> dict[str, float]:
    """Largest bias, coverage of strengths, of differences between neighbours and of ranks, each with its Monte Carlo standard error, and false tiers."""
    found: dict[str, float] = {}
    for n_votes, n_voters, spread in CASES:
        label = f"{n_votes} votes of {n_voters} voters (spread {spread})"
        many = votes(simulated(400_000, 4000, spread, seed=1), covariates=["length"], cluster="none").models
        true = dict(many.select("model", "strength").iter_rows())
        rank = dict(many.select("model", "rank").iter_rows())
        rows = [_compared(simulated(n_votes, n_voters, spread, seed=2 + k), true, rank) for k in range(n_simulations)]
        off = np.array([row.pop("off") for row in rows])
        found[f"{label}, largest bias"] = float(np.abs(off.mean(axis=0)).max())
        found[f"{label}, standard error of a bias"] = float(off.std(axis=0).max() / n_simulations**0.5)
        for name in rows[0]:
            values = np.array([row[name] for row in rows], dtype=np.float64)
            found[f"{label}, {name}"] = float(values.mean())
            found[f"{label}, {name}, standard error"] = float(values.std() / n_simulations**0.5)
        alike = [simulated(n_votes, n_voters, spread, seed=10_000 + k, is_alike=True) for k in range(n_simulations)]
        n_tiers = np.array([votes(one).models["tier"].n_unique() for one in alike])
        found[f"{label}, false tiers"] = float((n_tiers > 1).mean())
    return found


def simulated(n_votes: int, n_voters: int, spread: float, *, seed: int, is_alike: bool = False) -> pl.DataFrame:
    """Votes as a table; all models are equal if ``is_alike``."""
    rng, factor = np.random.default_rng(seed), 0.0 if is_alike else 1.0
    own = factor * STRENGTHS + rng.normal(0, spread, (n_voters, 6))
    voter = rng.choice(n_voters, n_votes, p=rng.dirichlet(np.full(n_voters, 2.0)))
    a = rng.integers(0, 6, n_votes)
    b = (a + rng.integers(1, 6, n_votes)) % 6
    length_a, length_b = (factor * LENGTHS[one] + rng.standard_normal(n_votes) for one in (a, b))
    eta = own[voter, a] - own[voter, b] + 0.15 + 0.5 * (length_a - length_b)
    weights = np.stack([np.exp(eta / 2), np.exp(-eta / 2), np.full(n_votes, 0.6)], axis=1)
    outcome = (rng.random(n_votes)[:, None] > (weights / weights.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    names = np.array(NAMES)
    return pl.DataFrame(
        {
            "voter": [f"voter {k}" for k in voter],
            "item": [f"item {k}" for k in range(n_votes)],
            "a": names[a],
            "b": names[b],
            "outcome": np.array(["a", "b", "tie"])[outcome],
            "length_a": length_a,
            "length_b": length_b,
        }
    )


def _compared(table: pl.DataFrame, true: dict[str, float], rank: dict[str, int]) -> dict[str, float | Floats]:
    """Errors of the strengths, and the shares of intervals that contain the true value."""
    found = votes(table, covariates=["length"])
    models = found.models.sort("model").rows(named=True)
    pairs = found.pairs.rows(named=True)
    differences = [true[row["a"]] - true[row["b"]] for row in pairs]
    return {
        "off": np.array([row["strength"] - true[row["model"]] for row in models]),
        "strengths": np.mean([row["strength_low"] <= true[row["model"]] <= row["strength_high"] for row in models]),
        "differences": np.mean(
            [
                row["difference_low"] <= own <= row["difference_high"]
                for row, own in zip(pairs, differences, strict=True)
            ]
        ),
        "ranks": np.mean([row["rank_low"] <= rank[row["model"]] <= row["rank_high"] for row in models]),
    }
