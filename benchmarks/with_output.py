"""What writing files costs: CPU time of a verb with -o divided by the same verb without, in one run.

python -m benchmarks.with_output            this tree
python -m benchmarks.with_output REVISION   this tree and a revision of it, side by side
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
REPEATS = 3
VERBS = {
    "summary": "summary examples/evals/attempts.csv",
    "stitch fit": "stitch fit examples/stitch/scores.csv",
    "horizon attempts": "horizon attempts {data}/runs.jsonl",
    "study analyze": "study analyze examples/study/ratings.csv",
}


def main(*revisions: str) -> None:
    """Print one line per verb and tree."""
    with tempfile.TemporaryDirectory() as place, trees(revisions, Path(place)) as known:
        data = Path(place) / "data"
        cpu_seconds(ROOT, f"horizon simulate --seed 1 -o {data}")
        print(f"{'verb':18} {'tree':10} {'without -o':>10} {'with -o':>10} {'ratio':>6} {'files':>6}")
        for verb, line in VERBS.items():
            for name, tree in known.items():
                words, out = line.format(data=data), Path(place) / f"{verb} {name}".replace(" ", "_")
                cpu_seconds(tree, f"{words} -o {out}")  # compiles, and fills the caches
                pairs = [(cpu_seconds(tree, words), cpu_seconds(tree, f"{words} -o {out}")) for _ in range(REPEATS)]
                without, with_files = (min(times) for times in zip(*pairs, strict=True))
                n_files = sum(path.is_file() for path in out.rglob("*"))
                ratio = with_files / without
                print(f"{verb:18} {name:10} {without:8.2f} s {with_files:8.2f} s {ratio:6.2f} {n_files:6}", flush=True)


@contextmanager
def trees(revisions: tuple[str, ...], place: Path) -> Iterator[dict[str, Path]]:
    """The folders of this tree and of revisions of it, by name."""
    known = {}
    for revision in revisions:
        known[revision] = place / revision
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "-q", "--detach", known[revision], revision], check=True)
    try:
        yield known | {"this tree": ROOT}
    finally:
        for folder in known.values():
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", folder], check=True)


def cpu_seconds(tree: Path, words: str) -> float:
    """CPU time of one command, with all its threads and child processes."""
    before = os.times()
    line = [sys.executable, "-m", "howsure", *words.split(), "--quiet"]
    # modules are compiled once, as for a user, whatever the surroundings say
    env = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(line, cwd=tree, env=env, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    main(*sys.argv[1:])
