"""Models whose attempts a judge rates, people who label some of them, and novices who learn the same tasks: with known truth."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from howsure.stats._arrays import Floats
from howsure.tables import Attempts, Ratings

__all__ = ["NOVICES", "JudgedSimulation", "true_horizon"]

NOVICES: Floats = np.array([0.05, 0.25, 0.42, 0.55, 0.66, 0.75, 0.82, 0.88, 0.92, 0.95])
"""Novices' success on attempt 1, 2, …, in expectation over tasks."""
_TASKS_TRIED = 6  # by each novice


def true_horizon(rate: float) -> float:
    """The attempt on which novices succeed as often, interpolated in log n."""
    return float(np.exp(np.interp(rate, NOVICES, np.log(np.arange(1, len(NOVICES) + 1)))))


@dataclass(frozen=True, kw_only=True)
class JudgedSimulation:
    """Models whose attempts a judge rates, people who label some of them, and novices who learn the same tasks.

    ``errors`` gives sensitivity and specificity on single models, where they differ from those on all others; ``task_spread`` is how far
    the success rates of tasks lie from their mean.
    """

    rates: dict[str, float] = field(default_factory=lambda: {"able": 0.8, "fair": 0.5, "weak": 0.2})
    sensitivity: float = 0.85
    specificity: float = 0.85
    labelled: float = 0.15
    n_tasks: int = 30
    n_attempts: int = 12
    n_novices: int = 100
    task_spread: float = 0.1
    errors: dict[str, tuple[float, float]] = field(default_factory=dict)

    def draw(self, seed: int) -> tuple[Attempts, Ratings, Attempts]:
        """Verdicts, labels and novices' attempts."""
        rng = np.random.default_rng(seed)
        shift = rng.uniform(-1, 1, self.n_tasks) * self.task_spread
        verdicts, labels = [], []
        for model, rate in self.rates.items():
            sensitivity, specificity = self.errors.get(model, (self.sensitivity, self.specificity))
            shape = self.n_tasks, self.n_attempts
            is_good = rng.random(shape) < self._at(rate, shift)[:, None]
            is_passed = rng.random(shape) < np.where(is_good, sensitivity, 1 - specificity)
            is_seen = rng.random(shape) < self.labelled
            for (task, one), verdict in np.ndenumerate(is_passed):
                verdicts.append((model, "model", f"task-{task}", one + 1, float(verdict)))
                if is_seen[task, one]:
                    labels.append((f"{model}/task-{task}/{one + 1}", float(is_good[task, one])))
        people = []
        for who in range(self.n_novices):
            for task in rng.choice(self.n_tasks, min(_TASKS_TRIED, self.n_tasks), replace=False):
                right = rng.random(len(NOVICES)) < self._at(NOVICES, shift[task])
                people += [(f"novice-{who}", "human", f"task-{task}", n + 1, float(r)) for n, r in enumerate(right)]
        columns = ["subject", "kind", "task", "attempt", "score"]
        said = pl.DataFrame(labels, schema=["item", "value"], orient="row")
        return (
            Attempts(pl.DataFrame(verdicts, schema=columns, orient="row")),
            Ratings(said.with_columns(rater=pl.lit("person"), dimension=pl.lit("success"))),
            Attempts(pl.DataFrame(people, schema=columns, orient="row")),
        )

    def _at(self, rate: float | Floats, shift: float | Floats) -> Floats:
        """Success on tasks that lie this far from the mean: less far where the rate is near 0 or 1."""
        room = np.minimum(rate, 1 - np.asarray(rate)) / self.task_spread if self.task_spread else 1.0
        return np.asarray(rate + shift * np.minimum(room, 1))
