"""Attempts in parquet, checked and reduced to counts: time and peak memory of fresh processes (10⁸ rows under 2 GB, aim 1 GB).

Once all files together (`Attempts.counts`), and file by file (`howsure convert --counts`), for 10⁶, 10⁷ and 10⁸ rows; then on a local
Dask cluster of two worker processes with one thread each.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

SIZES, FILES = (1_000_000, 10_000_000, 100_000_000), 20
_AT_ONCE = """
from howsure.tables import Attempts
counts = Attempts(sys.argv[1]).counts("subject", "task")
"""
_BY_FILE = """
from howsure.sources.counting import count_attempts
counts = count_attempts(sys.argv[1], scheduler=sys.argv[2] if len(sys.argv) > 2 else None).frame
"""
_CHILD = """
import json, resource, sys, time
start = time.perf_counter()
{work}
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({{"rows": int(counts["n"].sum()), "groups": len(counts), "CPU s": used.ru_utime + used.ru_stime, "s": time.perf_counter() - start,
                  "peak GB": used.ru_maxrss / 2**20}}))
"""


def measure() -> dict[str, float]:
    """Seconds and peak memory for each size, at once, file by file, and on two workers."""
    figures: dict[str, float] = {}
    for rows in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(FILES):
                _file(number, rows // FILES).write_parquet(Path(folder) / f"part-{number:02}.parquet")
            pattern = f"{folder}/*.parquet"
            _put(figures, f"{rows:,} rows, at once", _run(_AT_ONCE, pattern))
            _put(figures, f"{rows:,} rows, file by file", _run(_BY_FILE, pattern))
            _put(figures, f"{rows:,} rows, two workers", _on_workers(pattern))
    return figures


def _put(figures: dict[str, float], label: str, found: dict[str, float]) -> None:
    figures |= {f"{label}: {name}": value for name, value in found.items() if name != "rows"}
    assert found["rows"] == int(label.partition(" ")[0].replace(",", ""))


def _run(work: str, *arguments: str) -> dict[str, float]:
    child = subprocess.run(
        [sys.executable, "-c", _CHILD.format(work=work), *arguments], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(child.stdout.splitlines()[-1])
    return found


def _on_workers(pattern: str) -> dict[str, float]:
    dask: Any = importlib.import_module("distributed")
    os.environ["POLARS_MAX_THREADS"] = "1"
    try:
        with (
            dask.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            dask.Client(cluster) as client,
        ):
            found = _run(_BY_FILE, pattern, cluster.scheduler_address)
            peaks = client.run(_peak).values()
    finally:
        del os.environ["POLARS_MAX_THREADS"]
    return {**found, "peak GB of a worker": max(peaks)}


def _peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


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
