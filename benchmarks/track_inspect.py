"""A turn of Track the Stat in Inspect, with a perfect player: at most 7.5 ms of CPU and 700 MB, where an eval written without care takes 2 to 3 times that.

20 games of 300 turns. ``bare`` is the game without Inspect; ``careless`` is the same eval as one would write it first: messages that are
equal to one another, and Inspect's logging in real time. Each way runs in a process of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from howsure.track.running.playing import run_players

SAMPLES, TURNS = 20, 300


def measure() -> dict[str, float]:
    """Milliseconds of CPU a turn, and the largest memory in MB."""
    bare, careful, careless = (_in_a_process(way) for way in _WAYS)
    return {
        "bare_ms": bare["ms"],
        "inspect_ms": careful["ms"],
        "inspect_mb": careful["mb"],
        "careless_ms": careless["ms"],
        "careless_mb": careless["mb"],
        "ratio": careless["ms"] / careful["ms"],
    }


def _bare(folder: str, n_samples: int) -> None:
    run_players(["oracle"], ["median"], n_samples=n_samples)


def _careful(folder: str, n_samples: int) -> None:
    from howsure.track.running.playing import run_model

    run_model("howsure/oracle", out=folder, n_samples=n_samples)


def _careless(folder: str, n_samples: int) -> None:
    from inspect_ai import eval as run_eval

    from howsure.track.running.registry import track_the_stat
    from howsure.track.running.task import Record

    Record.mark = {}  # type: ignore[method-assign, assignment]
    run_eval(track_the_stat(samples=n_samples), model="howsure/oracle", display="none", log_dir=folder, max_samples=20)


_WAYS: dict[str, Callable[[str, int], None]] = {"bare": _bare, "careful": _careful, "careless": _careless}


def _in_a_process(way: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-m", __name__, way], check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def _main() -> None:
    play = _WAYS[sys.argv[1]]
    with tempfile.TemporaryDirectory() as folder:
        play(f"{folder}/first", 1)  # imports are no part of a turn
        start = time.process_time()
        play(f"{folder}/timed", SAMPLES)
        seconds = time.process_time() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"ms": 1000 * seconds / (SAMPLES * TURNS), "mb": megabytes}))


if __name__ == "__main__":
    _main()
