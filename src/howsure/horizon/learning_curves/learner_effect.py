"""How much alike the answers of one learner are, beyond what the task and the attempt explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure.horizon.learning_curves.novice_counts import NoviceCounts
from howsure.stats._arrays import Floats

__all__ = ["LearnerEffect"]

_LEAST_VARIANCE = 1e-3  # where hardly anybody fails, one failure would outweigh all else


@dataclass(frozen=True, eq=False)
class LearnerEffect:
    r"""The mean correlation of two answers of one learner to one task (an intraclass correlation), ready to be reweighted.

    .. math:: \rho = \frac{\sum_c \big[(\sum_i r_i)^2 - \sum_i r_i^2\big] / \sum_c n_c (n_c - 1)}{\sum_c \sum_i r_i^2 / \sum_c n_c},
              \qquad r_i = \frac{y_i - P(n_i)}{\sqrt{P(n_i)(1 - P(n_i))}}

    over courses c, each one learner's n_c answers to a task. 0 means that learners do not differ; the design effect of a learner's n answers is 1 + (n − 1)ρ.
    """

    counts: NoviceCounts
    products: Floats
    pairs: Floats
    squares: Floats

    @classmethod
    def of(cls, counts: NoviceCounts, curves: Floats) -> LearnerEffect:
        """From the curves' values, (tasks, attempts)."""
        row = np.repeat(np.arange(len(counts.length)), counts.length)
        attempt = np.arange(len(counts.scores)) - counts.offset[row]
        expected = curves[counts.task[row], attempt]
        residual = (counts.scores - expected) / np.sqrt(np.maximum(expected * (1 - expected), _LEAST_VARIANCE))
        total, squares = (
            np.bincount(row, values, len(counts.length)).astype(np.float64) for values in (residual, residual**2)
        )
        return cls(counts, total**2 - squares, counts.length * (counts.length - 1.0), squares)

    def correlations(self, weights: Floats) -> tuple[Floats, Floats]:
        """ρ of each task, (replicates, tasks), and over all tasks; NaN where no learner answered twice."""
        by_course = weights[:, self.counts.learner]
        parts = (self.products, self.pairs, self.squares, self.counts.length.astype(np.float64))
        sums = [np.add.reduceat(by_course * part, self.counts.start[:-1], axis=1) for part in parts]
        return _ratio(*sums), _ratio(*(part.sum(axis=1) for part in sums))


def _ratio(products: Floats, pairs: Floats, squares: Floats, answers: Floats) -> Floats:
    with np.errstate(all="ignore"):
        found = products * answers / (pairs * squares)
    return np.where((pairs > 0) & (squares > 0), found, np.nan)
