"""`python -m benchmarks`: every module can be listed and run by name, or says which words it needs."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))


@pytest.fixture
def run(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
        importlib.import_module("benchmarks.__main__").main()

    return call


def test_help_lists_every_benchmark_with_its_words(run, capsys):
    run("--help")
    lines = capsys.readouterr().out.splitlines()
    listed = {line.split()[0]: line for line in lines if line.startswith("  ") and line[2] != " "}
    assert sorted(listed) == NAMES
    assert "BEFORE [AFTER]" in listed["comparison"]
    assert "[REVISIONS…]" in listed["locality"]


@pytest.mark.parametrize("words", [["comparison"], ["startup", "one", "word"], ["nothing-of-the-kind"]])
def test_wrong_words_end_in_one_line(run, words):
    with pytest.raises(SystemExit, match=r"^[^\n]+$"):
        run(*words)


def test_words_belong_to_the_name_before_them(run, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT))
    startup, locality = (importlib.import_module(f"benchmarks.{name}") for name in ("startup", "locality"))
    monkeypatch.setattr(startup, "measure", lambda: {"CPU seconds": 0.25})
    monkeypatch.setattr(locality, "main", lambda *revisions: {" ".join(revisions): 1})
    run("startup", "locality", "v1", "v2")
    shown = capsys.readouterr().out
    assert "CPU seconds" in shown
    assert "0.25" in shown
    assert "v1 v2" in shown
