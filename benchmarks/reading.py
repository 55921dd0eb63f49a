"""500,000 JSON lines into checked Attempts, against pandas.read_json(lines=True), which checks nothing (at least 5×)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howsure.tables import Attempts

LINES = 500_000


def measure() -> dict[str, float]:
    import pandas

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.jsonl"
        _attempts(LINES).write_ndjson(path)
        ours = best_of(lambda: Attempts(path).frame)
        theirs = best_of(lambda: pandas.read_json(path, lines=True))
    return {"howsure_seconds": ours, "pandas_seconds": theirs, "ratio": theirs / ours}


def best_of(work: Callable[[], Any], times: int = 3) -> float:
    """The shortest of a few runs, in seconds."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _attempts(n: int) -> pl.DataFrame:
    index = np.arange(n)
    columns = {
        "subject": np.char.add("model-", (index % 7).astype(str)),
        "kind": np.full(n, "model"),
        "task": np.char.add("task-", (index // 70).astype(str)),
        "attempt": index // 7 % 10 + 1,
        "score": np.random.default_rng(0).random(n),
        "family": np.char.add("family-", (index // 70 % 20).astype(str)),
    }
    return pl.DataFrame(columns)
