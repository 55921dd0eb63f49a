"""Which numbers does a change move? Every verb that computes something, before and after, compared to a relative 1e-9.

    python -m benchmarks.comparison REVISION      this tree against a revision of it
    python -m benchmarks.comparison FOLDER_A FOLDER_B    two folders that `freeze` wrote

Prints one line per verb: how many numbers agree, and where the first ones differ.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TOLERANCE = 1e-9
_ATTEMPTS, _SCORES, _COUNTS = (
    "examples/evals/attempts.csv",
    "examples/stitch/scores.csv",
    "examples/horizon/time_counts.csv",
)

# Each line of words is one run; `{out}` holds the folders of the runs above it, by their names.
RUNS = {
    "summary": f"summary {_ATTEMPTS} --cluster family",
    "summary_by_task": f"summary {_ATTEMPTS} --by task",
    "compare": f"compare {_ATTEMPTS} --seed 1",
    "power": "power --effect 0.05",
    "power_pilot": f"power {_ATTEMPTS} --effect 0.05 --a amber-1 --b amber-2",
    "coverage": "coverage -n 20 --seed 1",
    "stitch_explore": f"stitch explore {_SCORES}",
    "stitch_fit": f"stitch fit {_SCORES} --seed 1",
    "stitch_fit_paper": f"stitch fit {_SCORES} --preset paper --seed 1",
    "stitch_score": "stitch score {out}/stitch_fit examples/stitch/new.csv",
    "stitch_next": "stitch next {out}/stitch_fit --model amber-2.0",
    "stitch_forecast": "stitch forecast {out}/stitch_fit --seed 1",
    "stitch_progress": "stitch progress {out}/stitch_fit",
    "stitch_map": "stitch map {out}/stitch_fit examples/stitch/horizons.csv",
    "stitch_robustness": f"stitch robustness {_SCORES} --seed 1",
    "stitch_check": "stitch check {out}/stitch_fit",
    "stitch_simulate": "stitch simulate --seed 1",
    "horizon_simulate": "horizon simulate --seed 1",
    "horizon_curves": "horizon curves {out}/horizon_simulate/runs.jsonl --seed 1",
    "horizon_attempts": "horizon attempts {out}/horizon_simulate/runs.jsonl --seed 1",
    "horizon_size": "horizon size --seed 1",
    "horizon_time": f"horizon time {_COUNTS} --seed 1",
    "horizon_trend": "horizon trend {out}/horizon_time --releases examples/horizon/releases.csv",
    "horizon_compare": "horizon compare {out}/horizon_time amber-1 amber-2",
    "study_plan": "study plan --seed 1",
    "study_simulate": "study simulate --seed 1",
    "study_reliability": "study reliability examples/study/ratings.csv --dimension voice",
    "track_run": "track run --player window-5 --samples 20 --seed 1",
    "track_report": "track report {out}/track_run",
    "bridge_scores": f"bridge scores {_ATTEMPTS}",
}


# Only tables are compared: without the package that draws charts, verbs write everything else.
_WITHOUT_CHARTS = "import sys; sys.modules['vl_convert'] = None; from howsure.cli import main; sys.exit(main())"


def freeze(tree: Path, out: Path) -> dict[str, str]:
    """Run every line with the package of `tree`; the runs that failed, with what they said."""
    failed: dict[str, str] = {}
    env = {**os.environ, "PYTHONPATH": str(tree / "src")}

    def run(name: str) -> None:
        words = [word.format(out=out) for word in RUNS[name].split()]
        line = [sys.executable, "-c", _WITHOUT_CHARTS, *words, "-o", str(out / name), "--quiet"]
        done = subprocess.run(line, cwd=tree, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            failed[name] = (done.stderr.strip().splitlines() or ["no message"])[-1]

    with ThreadPoolExecutor(2) as pool:  # a run that reads another one comes after it
        list(pool.map(run, [name for name, line in RUNS.items() if "{out}" not in line]))
        list(pool.map(run, [name for name, line in RUNS.items() if "{out}" in line]))
    return failed


def compare(before: Path, after: Path) -> Iterator[tuple[str, int, int, list[str]]]:
    """Per run: its name, how many values agree, how many differ, and where."""
    for name in RUNS:
        old, new = (dict(_values(folder / name)) for folder in (before, after))
        places = [place for place in {**old, **new} if not _agree(old.get(place), new.get(place))]
        told = [f"{place}: {old.get(place)} → {new.get(place)}" for place in places]
        yield name, len({**old, **new}) - len(places), len(places), told


def _values(folder: Path) -> Iterator[tuple[str, Any]]:
    """Every value of every csv and JSON file, by where it stands."""
    import polars as pl

    for path in sorted(folder.rglob("*")):
        if path.suffix == ".csv":
            frame = pl.read_csv(path, infer_schema_length=None)
            for column in frame.columns:
                yield from ((f"{path.name}[{column}][{i}]", value) for i, value in enumerate(frame[column]))
        elif path.suffix == ".json" and ".sections" not in path.name:
            yield from _leaves(json.loads(path.read_text()), path.name)


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _leaves(inner, f"{place}[{i}]")
    else:
        yield place, value


def _agree(old: Any, new: Any) -> bool:
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=1e-300) or (math.isnan(old) and math.isnan(new))
    return bool(old == new)


def main(before: str, after: str = "") -> None:
    """Compare this tree with a revision, or two frozen folders."""
    with tempfile.TemporaryDirectory() as place:
        folders = [Path(before), Path(after)]
        failed: dict[str, str] = {}
        if not after:
            old, folders = Path(place) / "tree", [Path(place) / "before", Path(place) / "after"]
            subprocess.run(["git", "-C", ROOT, "worktree", "add", "-q", "--detach", old, before], check=True)
            try:
                failed = {f"before: {name}": told for name, told in freeze(old, folders[0]).items()}
                failed |= {f"after: {name}": told for name, told in freeze(ROOT, folders[1]).items()}
            finally:
                subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", old], check=True)
        for name, told in failed.items():
            print(f"failed  {name}: {told}")
        for name, same, other, places in compare(*folders):
            print(
                f"{name:20} {same:6,} agree {other:6,} differ" + "".join(f"\n    {line[:150]}" for line in places[:5])
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
