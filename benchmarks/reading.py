"""500,000 JSON lines into checked Attempts, against pandas.read_json(lines=True), which checks nothing (at least 5×).

Then the summary of a file of 0.9 GB with prompts and answers, as jsonl and as csv, in fresh processes: CPU seconds and peak memory.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howsure.tables import Attempts

LINES = 500_000
BYTES = 900 * 10**6
_CHILD = """
import json, resource, sys
import howsure
howsure.summary(sys.argv[1])
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 2**10]))
"""


def measure() -> dict[str, float]:
    import pandas

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.jsonl"
        _attempts(LINES).write_ndjson(path)
        ours = best_of(lambda: Attempts(path).frame)
        theirs = best_of(lambda: pandas.read_json(path, lines=True))
        figures: dict[str, float] = {}
        for ending in ("jsonl", "csv"):
            answers = _answers(Path(folder) / f"answers.{ending}")
            child = subprocess.run(
                [sys.executable, "-c", _CHILD, str(answers)], check=True, capture_output=True, text=True
            )
            seconds, peak = json.loads(child.stdout)
            size = answers.stat().st_size / 2**20
            figures |= {f"{ending}_mb": size, f"{ending}_cpu_seconds": seconds, f"{ending}_peak_mb": peak}
            answers.unlink()
    return {"howsure_seconds": ours, "pandas_seconds": theirs, "ratio": theirs / ours, **figures}


def best_of(work: Callable[[], Any], times: int = 3) -> float:
    """The shortest of a few runs, in seconds."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _answers(path: Path) -> Path:
    """Eight answers of each model to each question, with their texts."""
    texts = ["".join(letters) for letters in np.random.default_rng(0).choice(list("abcdefgh "), (400, 800))]
    size = number = 0
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        if path.suffix == ".csv":
            rows.writerow(["model", "sample_id", "epoch", "score", "prompt", "response"])
        while size < BYTES:
            question, model, epoch = number // 48, number // 8 % 6, number % 8 + 1
            row = {
                "model": f"model-{model}",
                "sample_id": f"q{question}",
                "epoch": epoch,
                "score": hash((number, 7)) % 2,
            }
            texts_of_it = {"prompt": texts[question % 400], "response": texts[(question * 7 + epoch) % 400][:700]}
            if path.suffix == ".csv":
                size += rows.writerow((row | texts_of_it).values())
            else:
                size += file.write(json.dumps(row | texts_of_it) + "\n")
            number += 1
    return path


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
