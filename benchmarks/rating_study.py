"""`study analyze` of 500 raters who rated 12 of 50 responses each, against 100 raters: linear growth is a ratio of 5 (at most 7).

The same of 500 raters who rated all 50. Four dimensions, three systems, answers of the bundled Likert study.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import polars as pl

from howsure import study
from howsure.study.answer_types import AnswerAnalysis

RESPONSES, SYSTEMS = 50, 3


def measure() -> dict[str, float]:
    """CPU seconds, so that a busy machine does not count."""
    study.analyze(_ratings(10, 12), answers="ratings")  # compiles and imports
    few, many, full = (_seconds(_analysed(n, per)) for n, per in ((100, 12), (500, 12), (500, RESPONSES)))
    return {
        "cpu_seconds_100_raters_12_of_50": few,
        "cpu_seconds_500_raters_12_of_50": many,
        "cpu_seconds_500_raters_50_of_50": full,
        "ratio_of_500_to_100_raters": many / few,
    }


def _analysed(n_raters: int, per_rater: int) -> Callable[[], AnswerAnalysis | object]:
    frame = _ratings(n_raters, per_rater)
    return lambda: study.analyze(frame, answers="ratings")


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _ratings(n_raters: int, per_rater: int) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    seen = np.argsort(rng.random((n_raters, RESPONSES)), axis=1)[:, :per_rater].ravel()
    rater = np.repeat(np.arange(n_raters), per_rater)
    item, system = seen // SYSTEMS, seen % SYSTEMS
    felt = rng.normal(size=RESPONSES)[item] + 0.3 * system - rng.normal(0, 0.7, n_raters)[rater]
    noisy = [felt + rng.logistic(size=len(felt)) for _ in range(4)]
    steps = np.array([-2.4, -1.2, 0, 1.4])
    values = {
        "faithful": np.searchsorted(steps, noisy[0]) + 1,
        "complete": np.searchsorted(steps, noisy[1]) + 1,
        "overall": np.clip(50 + 12 * noisy[2], 0, 100).round(),
        "invented": noisy[3] < 0,
    }
    who = {"rater": [f"r{n}" for n in rater], "item": [f"i{n}" for n in item], "system": [f"s{n}" for n in system]}
    return pl.concat(
        pl.DataFrame(who | {"dimension": [name] * len(rater), "value": value.astype(np.float64)})
        for name, value in values.items()
    )
