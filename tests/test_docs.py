"""Every command and snippet in the README and the docs runs, and the tables in them are what commands print."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.evals.simulate import simulate
from assay.tables import Attempts

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language):
    for page in PAGES:
        for number, text in enumerate(re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S), 1):
            yield pytest.param(text, id=f"{page.stem}-{number}")


@pytest.fixture
def desk(tmp_path):
    """An empty folder with our examples in it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("text", list(blocks("bash")))
def test_commands_run(text, desk, command):
    commands = [line for line in text.splitlines() if line.startswith("assay ")]
    if not commands:
        pytest.skip("set-up commands; the tests themselves are run by them")
    for line in commands:
        told = command(*shlex.split(line)[1:], cwd=desk)
        assert told.returncode == 0, told.stderr


@pytest.mark.parametrize("text", list(blocks("python")))
def test_snippets_run(text, desk):
    told = subprocess.run([sys.executable, "-c", text], cwd=desk, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    for line, promised in re.findall(r"^(.*print\(.*\))\s+# (.+)$", text, re.M):
        assert promised in told.stdout, f"{line} no longer prints {promised}"


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_example_is_what_the_simulator_draws(tmp_path):
    abilities = {"amber-1": -0.4, "amber-2": 0.5, "basalt-1": 0.3}
    world = simulate(abilities=abilities, n_families=8, n_tasks=3, n_attempts=2, seed=7)
    assert world.attempts.frame.equals(Attempts(ROOT / "examples/evals/attempts.csv").frame)


def test_documented_columns_are_the_tables_columns():
    from assay.tables import TABLES

    text = (ROOT / "docs/tables.md").read_text()
    for name, table in TABLES.items():
        section = text.split(f"## {name.capitalize()}")[1].split("\n## ")[0]
        listed = re.findall(r"^\| `(\w+)` \| (yes)? ?\|", section, re.M)
        assert listed == [(column.name, "yes" if column.required else "") for column in table.columns]


@pytest.mark.heavy
def test_the_coverage_table_is_what_the_command_prints(command):
    page = (ROOT / "docs/coverage.md").read_text()
    shown = re.search(r"```text\n\$ (assay coverage[^\n]*)\n(.*?)```", page, re.S)
    told = command(*shlex.split(shown[1])[1:])
    assert [line.rstrip() for line in told.stdout.splitlines()] == [line.rstrip() for line in shown[2].splitlines()]
