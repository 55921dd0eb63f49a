"""How far the way through the code is: files, code lines and functions, and what three verbs enter.

    python -m benchmarks.locality            this tree
    python -m benchmarks.locality REVISION   a revision of it (3bc5526: before the layout by stage), then this tree

Code lines are lines that hold a token other than a comment or a docstring. Functions entered are those of the package that run on
bundled data, import time excluded.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.with_output import ROOT, VERBS, cpu_seconds, trees

# Counts the functions of the package that are called, in all threads. Module and class bodies are no functions, and what a module
# calls while it is imported (decorators, tables of constants) is not part of the way through the code.
_WATCH = """
import inspect, json, sys, threading
package, target, *words = sys.argv[1:]
seen = set()
def is_import(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(package):
            return True
        frame = frame.f_back
    return False
def watch(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(package):
        place = code.co_filename, code.co_qualname
        if place not in seen and not is_import(frame):
            seen.add(place)
sys.argv = ["howsure", *words]
from howsure.cli import main
threading.setprofile(watch)
sys.setprofile(watch)
try:
    main()
except SystemExit as end:
    sys.setprofile(None)
    if end.code:
        raise
finally:
    sys.setprofile(None)
    with open(target, "w") as file:
        json.dump(sorted(seen), file)
"""


def main(*revisions: str) -> None:
    """Print a table per tree."""
    with tempfile.TemporaryDirectory() as place, trees(revisions, Path(place)) as known:
        data = Path(place) / "data"
        cpu_seconds(ROOT, f"horizon simulate --seed 1 -o {data}")
        for name, tree in known.items():
            n_files, lines, functions = size(tree / "src/howsure")
            print(f"{name}: {n_files:,} files, {lines:,} code lines, {functions:,} functions", flush=True)
            for verb in ("stitch fit", "horizon attempts", "study analyze"):
                entered = watched(tree, VERBS[verb].format(data=data), Path(place) / "entered.json")
                files = {Path(file).relative_to(tree / "src/howsure").as_posix() for file, _ in entered}
                of = Counter(stage(file, verb.split()[0]) for file in files)
                told = ", ".join(f"{of[name]} {name}" for name in STAGES)
                print(f"  {verb:18} {len(entered):4} functions in {len(files):3} files: {told}", flush=True)


STAGES = ("of the verb itself", "of statistics", "that read tables of any format", "of the house, as for every verb")


def stage(file: str, instrument: str) -> str:
    """Which part of the way a file stands for: what the verb computes, or what all verbs share."""
    rooms = file.removesuffix(".py").split("/")
    own, statistics, reading, house = STAGES
    if rooms[0] == instrument or (rooms[0] == "cli" and rooms[1].startswith(instrument)):
        return own
    return statistics if rooms[0] == "stats" else reading if rooms[0] in ("sources", "tables") else house


def size(package: Path) -> tuple[int, int, int]:
    """Files, code lines and functions of a package."""
    sources = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]
    parsed = [ast.parse(source) for source in sources]
    n_functions = sum(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for tree in parsed for node in ast.walk(tree)
    )
    return len(sources), sum(map(_code_lines, sources, parsed)), n_functions


def _code_lines(source: str, tree: ast.Module) -> int:
    docs = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docs |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(
        number not in docs and bool(line.strip()) and not line.lstrip().startswith("#") for number, line in lines
    )


def watched(tree: Path, words: str, target: Path) -> list[list[str]]:
    """The functions of the package that a command enters: file and name."""
    package = str(tree / "src/howsure")
    line = [sys.executable, "-c", _WATCH, package, str(target), *words.split(), "--quiet"]
    env = {**os.environ, "PYTHONPATH": str(tree / "src")}
    subprocess.run(line, cwd=tree, env=env, check=True, stdout=subprocess.DEVNULL)
    found: list[list[str]] = json.loads(target.read_text())
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
