"""2,000 bootstrap replicates of a numba kernel on all cores, against a plain loop and against a pool of processes.

``speedup`` is the loop's time over ours and nears the number of ``cores``; ``against_processes`` is the pool's time over ours, with
its processes already started; ``overhead`` is our CPU time in one thread over the loop's, and should be 1.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from benchmarks.reading import best_of
from howsure.compute import replicate

REPLICATES, ROWS, BATCH, ROUNDS = 2_000, 20_000, 64, 8
_SIZES = [min(BATCH, REPLICATES - start) for start in range(0, REPLICATES, BATCH)]


def measure() -> dict[str, float]:
    """Each way's shortest of several rounds; the ways take turns, so that a busy moment meets them all."""
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        ways: dict[str, Callable[[], Any]] = {
            "loop": lambda: [_draw_batch(batch) for batch in enumerate(_SIZES)],
            "threads": lambda: replicate(_draw, REPLICATES, seed=0, batch=BATCH),
            "processes": lambda: list(pool.map(_draw_batch, enumerate(_SIZES))),
        }
        rounds = [{name: best_of(way, times=1) for name, way in ways.items()} for _ in range(ROUNDS)]
    alone = _cpu_seconds(lambda: replicate(_draw, REPLICATES, seed=0, batch=BATCH, workers=1))
    seconds = {name: min(one[name] for one in rounds) for name in ways}
    return {
        "cores": cores,
        "howsure_seconds": seconds["threads"],
        "speedup": seconds["loop"] / seconds["threads"],
        "against_processes": seconds["processes"] / seconds["threads"],
        "overhead": alone / _cpu_seconds(ways["loop"]),
    }


def _cpu_seconds(way: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        way()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _draw_batch(batch: tuple[int, int]) -> NDArray[np.float64]:
    index, size = batch
    return _draw(np.random.default_rng(index), size)


def _draw(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    means: NDArray[np.float64] = _resampled_means(_SCORES, rng.integers(0, 2**63, size=size, dtype=np.uint64))
    return means


@nb.njit(nogil=True)
def _resampled_means(scores: Any, states: Any) -> Any:
    means = np.empty(len(states))
    for replicate_index in range(len(states)):
        state = states[replicate_index] | np.uint64(1)
        total = 0.0
        for _ in range(len(scores)):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            total += scores[state % np.uint64(len(scores))]
        means[replicate_index] = total / len(scores)
    return means


_SCORES = np.random.default_rng(1).random(ROWS)
