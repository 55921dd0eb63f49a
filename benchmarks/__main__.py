"""Run benchmarks by name, each with its own words, or all that need no words (`make bench`).

    python -m benchmarks --help                  the list, with the words that each takes
    python -m benchmarks reading startup         two of them
    python -m benchmarks comparison main         one with a word

A benchmark is a module here with `measure(…)`, which returns statistics by name, or with `main(…)`, which prints.
"""

from __future__ import annotations

import ast
import importlib
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A module of this folder, known from its source alone: importing all of them takes seconds."""

    name: str
    about: str  # the first line of its docstring
    function: str  # main, or else measure
    needed: list[str]
    optional: list[str]
    takes_more: str | None  # the name of its last words, any number of them

    @classmethod
    def of(cls, path: Path) -> Benchmark:
        """What the source says."""
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        function = functions.get("main") or functions["measure"]
        known = function.args
        n_needed = len(known.args) - len(known.defaults)
        texts = [
            (number < n_needed, one.arg.upper())
            for number, one in enumerate(known.args)
            if one.annotation and ast.unparse(one.annotation).startswith("str")
        ]
        return cls(
            name=path.stem,
            about=(ast.get_docstring(tree) or "").splitlines()[0],
            function=function.name,
            needed=[word for is_needed, word in texts if is_needed],
            optional=[word for is_needed, word in texts if not is_needed],
            takes_more=known.vararg.arg.upper() if known.vararg else None,
        )

    @property
    def line(self) -> str:
        """Its name and its words, in brackets where it does without."""
        more = [f"[{self.takes_more}…]"] if self.takes_more else []
        return " ".join([self.name, *self.needed, *(f"[{word}]" for word in self.optional), *more])

    def run(self, words: list[str]) -> None:
        """Print what it measures."""
        most = len(self.needed) + len(self.optional)
        if len(words) < len(self.needed) or (len(words) > most and not self.takes_more):
            raise SystemExit(f"python -m benchmarks {self.line}: {self.about}")
        print(f"\n{self.name}: {self.about}", flush=True)
        measured = getattr(importlib.import_module(f"benchmarks.{self.name}"), self.function)(*words)
        for statistic, value in (measured or {}).items():
            print(f"  {statistic:<44} {value:>14,.4g}", flush=True)


def main() -> None:
    """Run the named benchmarks, or all that need no words."""
    known = {path.stem: Benchmark.of(path) for path in sorted(Path(__file__).parent.glob("[!_]*.py"))}
    words = sys.argv[1:]
    if words and words[0] in ("-h", "--help"):
        print(f"{(__doc__ or '').strip()}\n")
        for benchmark in known.values():
            print(f"  {benchmark.line:<32} {benchmark.about}")
        return
    chosen: list[tuple[Benchmark, list[str]]] = []
    for word in words:
        if word in known:
            chosen.append((known[word], []))
        elif chosen:
            chosen[-1][1].append(word)
        else:
            raise SystemExit(f"No benchmark called {word!r}. Choose from: {', '.join(known)}.")
    for benchmark, given in chosen or [(one, []) for one in known.values() if not one.needed]:
        benchmark.run(given)


if __name__ == "__main__":
    main()
