"""100 million attempts in parquet, checked and reduced to counts: peak memory of a fresh process (under 2 GB, aim 1 GB)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

ROWS, FILES = 100_000_000, 20
_CHILD = """
import json, resource, sys
from howsure.tables import Attempts
attempts = Attempts(sys.argv[1])
counts = attempts.counts("subject", "task")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"rows": int(counts["n"].sum()), "groups": len(counts), "peak_gb": peak / 2**20}))
"""


def measure() -> dict[str, float]:
    import json

    with tempfile.TemporaryDirectory() as folder:
        for number in range(FILES):
            _file(number, ROWS // FILES).write_parquet(Path(folder) / f"part-{number:02}.parquet")
        start = time.perf_counter()
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, f"{folder}/*.parquet"], capture_output=True, text=True, check=True
        )
        return {**json.loads(child.stdout), "seconds": time.perf_counter() - start}


def _file(number: int, n: int) -> pl.DataFrame:
    """One subject a file, 50 attempts at each task."""
    index = np.arange(n, dtype=np.int32)
    score = (np.random.default_rng(number).random(n) < 0.4).astype(np.float64)
    columns = {"task": index // 50, "attempt": index % 50 + 1, "score": score}
    return pl.DataFrame(columns).with_columns(
        pl.lit(f"model-{number}").alias("subject"),
        pl.lit("model").alias("kind"),
        pl.format("task-{}", "task").alias("task"),
    )
