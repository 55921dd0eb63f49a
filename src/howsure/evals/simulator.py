"""Simulated attempts: models of known ability on tasks that come in families, with repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from howsure.tables import Attempts

__all__ = ["SimulatedEval", "simulate"]

ABILITIES: Mapping[str, float] = {"amber-1": -0.6, "amber-2": 0.4, "basalt-1": 0.1, "cobalt-1": 1.2}
DOMAINS = ("arithmetic", "reading")


@dataclass(frozen=True)
class SimulatedEval:
    """Simulated attempts, and the true value of each subject's mean score over the population of such tasks."""

    attempts: Attempts
    truth: Mapping[str, float]


def simulate(
    *,
    abilities: Mapping[str, float] = ABILITIES,
    n_families: int = 30,
    n_tasks: int = 5,
    n_attempts: int = 3,
    family_sd: float = 0.8,
    task_sd: float = 1.0,
    seed: int = 0,
) -> SimulatedEval:
    r"""Attempts drawn from a logistic model with effects of families and tasks.

    .. math:: P(\text{success}) = \sigma(\text{ability} - f_{\text{family}} - d_{\text{task}}),
              \quad f \sim N(0, s_f^2), \; d \sim N(0, s_t^2)

    Parameters
    ----------
    abilities : mapping
        Subject → ability in logits.
    n_families, n_tasks, n_attempts : int
        Families per domain (there are two), tasks per family, attempts per subject and task.
    family_sd, task_sd : float
        Standard deviations :math:`s_f` and :math:`s_t`, in logits.
    seed : int
        The same seed gives the same attempts.
    """
    rng = np.random.default_rng(seed)
    n_all = len(DOMAINS) * n_families * n_tasks
    family = np.repeat(np.arange(len(DOMAINS) * n_families), n_tasks)
    difficulty = rng.normal(0, family_sd, len(DOMAINS) * n_families)[family] + rng.normal(0, task_sd, n_all)
    skill = np.array(list(abilities.values()))
    chance = 1 / (1 + np.exp(difficulty[None, :, None] - skill[:, None, None]))
    won = rng.random((len(skill), n_all, n_attempts)) < chance
    sd = float(np.hypot(family_sd, task_sd))
    return SimulatedEval(
        _attempts(list(abilities), family, n_families, won), {s: _mean(a, sd) for s, a in abilities.items()}
    )


def _attempts(subjects: list[str], family: np.ndarray, n_families: int, won: np.ndarray) -> Attempts:
    subject, task, attempt = (index.ravel() for index in np.indices(won.shape))
    domain = np.array(DOMAINS)[family // n_families]
    families = np.char.add(np.char.add(domain, "-"), (family % n_families + 1).astype(str))
    tasks = np.char.add(np.char.add(families, "/"), np.arange(len(family)).astype(str))
    columns = {
        "subject": np.array(subjects)[subject],
        "kind": np.full(subject.size, "model"),
        "task": tasks[task],
        "attempt": attempt + 1,
        "score": won.ravel().astype(float),
        "family": families[task],
        "domain": domain[task],
    }
    return Attempts(pl.DataFrame(columns))


def _mean(ability: float, sd: float) -> float:
    """Expected success over the population of tasks, by Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return float(np.sum(weights / (1 + np.exp(sd * nodes - ability))) / np.sum(weights))
