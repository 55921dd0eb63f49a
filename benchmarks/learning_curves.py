"""1000 × 100 learning-curve refits with learner resampling against a scipy curve_fit loop (at least 150×).

Both start from 50 learners × 10 attempts at 100 tasks in memory, draw learners and fit the exponential curve. The loop, as a script has it, indexes the
drawn learners with numpy, takes means and fits them by least squares in a box. A few of its replicates are measured and scaled up. Seconds on the clock.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from howsure.compute import replicate
from howsure.horizon.learning_curves.curves import fit_batch
from howsure.horizon.learning_curves.novice_counts import NoviceCounts
from howsure.horizon.simulator import simulate

Floats = NDArray[np.float64]

REPLICATES, MEASURED, ROUNDS = 1000, 2, 3


def measure() -> dict[str, float]:
    """Both ways take turns, so that a busy moment meets both; their mean curves must agree."""
    world = simulate(seed=0)
    counts, scores = world.counts.novices, world.practice.astype(np.float64)
    ours = _refit(counts)
    theirs = _loop(scores, 0)
    gap = float(np.median(np.abs(_curves(ours[0]) - theirs)))
    if gap > 0.05:
        raise AssertionError(f"the two ways differ by {gap:.3f} in the median")
    rounds = [(_seconds(partial(_refit, counts)), _seconds(partial(_measured, scores))) for _ in range(ROUNDS)]
    seconds, loop = (min(one) for one in zip(*rounds, strict=True))
    loop *= REPLICATES / MEASURED
    return {
        "howsure_seconds": seconds,
        "microseconds_a_refit": seconds / (REPLICATES * len(counts.tasks)) * 1e6,
        "curve_fit_loop_seconds_scaled": loop,
        "ratio_to_curve_fit": loop / seconds,
    }


def _refit(counts: NoviceCounts) -> Floats:
    return replicate(partial(_draw, counts), REPLICATES, seed=0)


def _draw(counts: NoviceCounts, rng: np.random.Generator, size: int) -> Floats:
    return fit_batch("exponential", *counts.weighted(counts.draw_learners(size, rng)))


def _curves(parameters: Floats) -> Floats:
    first, asymptote, rate = (parameters[:, i, None] for i in range(3))
    return np.asarray(asymptote - (asymptote - first) * np.exp(-rate * np.arange(10)))


def _measured(scores: Floats) -> None:
    for seed in range(MEASURED):
        _loop(scores, seed)


def _loop(scores: Floats, seed: int) -> Floats:
    """One replicate as a script has it: draw learners, take means, fit each task."""
    from scipy.optimize import curve_fit

    rng = np.random.default_rng(seed)
    attempts = np.arange(1.0, scores.shape[2] + 1)
    drawn = rng.integers(0, scores.shape[1], scores.shape[1])
    curves = np.empty((len(scores), len(attempts)))
    for task in range(len(scores)):
        share = scores[task, drawn].mean(axis=0)
        start = (float(np.clip(share[0], 0.01, 0.99)), 0.5, 0.3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, _ = curve_fit(_exponential, attempts, share, p0=start, bounds=([0, 0, 0.01], [1, 1, 2]), maxfev=5000)
        curves[task] = _exponential(attempts, *found)
    return curves


def _exponential(n: Floats, base: float, gain: float, rate: float) -> Floats:
    return np.asarray(base + gain * (1 - np.exp(-rate * n)))


def _seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start
