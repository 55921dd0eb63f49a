"""A folder of 5,000 Inspect logs: the first reading, and a second one of unchanged files (under 2 s of CPU).

The logs are copies of one small run under other task ids. Wall-clock time is also printed, but depends on what else the machine does.
"""

from __future__ import annotations

import os
import tempfile
import time
import zipfile
from pathlib import Path

from benchmarks.inspect_reading import _multiplied, _run
from howsure import sources

LOGS = 5_000
SAMPLES = 10


def measure() -> dict[str, float]:
    """CPU seconds of the first and the second reading, with the same rows."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        try:
            logs = _logs(Path(folder))
            first, n, _ = _timed(logs)
            second, again, seconds = _timed(logs)
        finally:
            if before is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = before
    assert n == again
    return {
        "logs": LOGS,
        "samples": n,
        "first_seconds": first,
        "second_seconds": second,
        "ratio": first / second,
        "second_wall_seconds": seconds,
    }


def _timed(folder: Path) -> tuple[float, int, float]:
    began, clock = time.process_time(), time.perf_counter()
    n = len(sources.read(folder))
    return time.process_time() - began, n, time.perf_counter() - clock


def _logs(folder: Path) -> Path:
    small = _multiplied(_run(folder), folder / "small.eval", batch=10, n=SAMPLES)
    home = folder / "logs"
    home.mkdir()
    with zipfile.ZipFile(small) as log:
        members = {info: log.read(info) for info in log.infolist()}
    task_id = _task_id(members)
    then = time.time() - 60
    for number in range(LOGS):
        path = home / f"{number:05}.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            for info, data in members.items():
                named = (
                    data.replace(task_id, b"%022d" % number)
                    if info.filename in ("header.json", "_journal/start.json")
                    else data
                )
                out.writestr(info.filename, named)
        os.utime(path, (then, then))
    return home


def _task_id(members: dict[zipfile.ZipInfo, bytes]) -> bytes:
    import json

    header = next(data for info, data in members.items() if info.filename == "header.json")
    return str(json.loads(header)["eval"]["task_id"]).encode()
