"""`howsure --help` against a bare interpreter, in seconds of CPU (at most + 0.15, aim + 0.08)."""

from __future__ import annotations

import resource
import subprocess
import sys


def measure() -> dict[str, float]:
    bare = _cpu(sys.executable, "-c", "pass")
    helped = _cpu(sys.executable, "-m", "howsure", "--help")
    return {"bare_seconds": bare, "help_seconds": helped, "extra_seconds": helped - bare}


def _cpu(*command: str) -> float:
    return min(_once(command) for _ in range(9))


def _once(command: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
