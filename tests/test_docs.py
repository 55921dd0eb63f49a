"""Every command and snippet in the README, the docs and the notebooks runs, and what they show is what commands print."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from howsure.evals.simulate import simulate
from howsure.tables import Attempts

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))


def blocks(language):
    for page in PAGES:
        if page not in TUTORIALS:
            for number, text in enumerate(re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S), 1):
                yield pytest.param(text, id=f"{page.stem}-{number}")


@pytest.fixture
def desk(tmp_path):
    """An empty folder with our examples in it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.fixture
def run(desk, command):
    """Runs the commands of a block of shell, or a block of Python, in that folder, and gives what it printed."""

    def of(language, text):
        if language == "python":
            lines = [subprocess.run([sys.executable, "-c", text], cwd=desk, capture_output=True, text=True)]
        else:
            lines = [command(*shlex.split(line)[1:], cwd=desk) for line in commands(text)]
        for told in lines:
            assert told.returncode == 0, f"{told.args}: {told.stderr}"
        return "".join(told.stdout for told in lines)

    return of


def commands(text):
    lines = text.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("howsure ")]


def promises(text):
    """What a snippet says it prints: ``print(…)  # this``."""
    return re.findall(r"^.*print\(.*\)\s+# (.+)$", text, re.M)


def bare(text):
    return " ".join(text.split())


@pytest.mark.parametrize("text", list(blocks("bash")))
def test_commands_run(text, run):
    if not commands(text):
        pytest.skip("set-up commands; the tests themselves are run by them")
    run("bash", text)


@pytest.mark.parametrize("text", list(blocks("python")))
def test_snippets_run(text, run):
    printed = run("python", text)
    for promised in promises(text):
        assert promised in printed


@pytest.mark.heavy
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_from_top_to_bottom(page, run):
    """Its blocks follow one another in one folder; a block of output shows lines that the block above it printed."""
    printed = ""
    for language, text in re.findall(r"```(bash|python|output)\n(.*?)```", page.read_text(), re.S):
        if language != "output":
            printed = run(language, text)
        shown = text.splitlines() if language == "output" else promises(text)
        printed_lines = [bare(line) for line in printed.splitlines()]
        for line in shown:
            assert any(bare(line) in one for one in printed_lines), f"{line!r} is not in\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.heavy
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(notebook, run):
    cells = json.loads(notebook.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    printed = run("python", "\n".join(code))
    for promised in promises("\n".join(code)):
        assert promised in printed


def test_there_is_a_clean_notebook_for_every_instrument():
    assert [path.stem for path in NOTEBOOKS] == ["evals", "horizon", "stitch", "study", "track"]
    for path in NOTEBOOKS:
        read = json.loads(path.read_text())
        assert read["nbformat"] == 4
        assert len({cell["id"] for cell in read["cells"]}) == len(read["cells"])
        assert all(not cell["outputs"] for cell in read["cells"] if cell["cell_type"] == "code"), "clear the outputs"


def test_the_example_is_what_the_simulator_draws(tmp_path):
    abilities = {"amber-1": -0.4, "amber-2": 0.5, "basalt-1": 0.3}
    world = simulate(abilities=abilities, n_families=8, n_tasks=3, n_attempts=2, seed=7)
    assert world.attempts.frame.equals(Attempts(ROOT / "examples/evals/attempts.csv").frame)


def test_documented_columns_are_the_tables_columns():
    from howsure.tables import TABLES

    text = (DOCS / "tables.md").read_text()
    for name, table in TABLES.items():
        section = text.split(f"## {name.capitalize()}")[1].split("\n## ")[0]
        listed = re.findall(r"^\| `(\w+)` \| (yes)? ?\|", section, re.M)
        assert listed == [(column.name, "yes" if column.required else "") for column in table.columns]


@pytest.mark.heavy
def test_the_coverage_table_is_what_the_command_prints(command):
    page = (DOCS / "coverage.md").read_text()
    shown = re.search(r"```text\n\$ (howsure coverage[^\n]*)\n(.*?)```", page, re.S)
    told = command(*shlex.split(shown[1])[1:])
    assert [line.rstrip() for line in told.stdout.splitlines()] == [line.rstrip() for line in shown[2].splitlines()]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documentation as pages, built as `make docs` does; a warning is an error."""
    pytest.importorskip("sphinx", reason="no sphinx: pip install sphinx myst-parser numpydoc furo latex2mathml")
    folder = tmp_path_factory.mktemp("site")
    line = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "docs", str(folder)]
    told = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stderr == ""
    return folder


@pytest.mark.heavy
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["index", "study-analyze", "api"])
def test_pages_open_without_a_network(name, width, site, browser_page):
    page = browser_page(site / f"{name}.html", width=width)
    assert page.locator("h1").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.heavy
def test_formulas_are_mathml_also_in_docstrings(site):
    analyze, api = ((site / f"{name}.html").read_text() for name in ("study-analyze", "api"))
    assert '<div class="formula"><math' in analyze
    assert '<div class="formula"><math' in api
    for page in site.rglob("*.html"):
        assert not re.search(r"\.\. math::|:math:", page.read_text()), page.name


@pytest.mark.heavy
def test_the_search_works_from_a_folder(site, browser_page):
    page = browser_page(site / "index.html")
    page.locator(".sidebar-search").fill("krippendorff")
    page.locator(".sidebar-search").press("Enter")
    found = page.locator("ul.search a")
    found.first.wait_for(state="attached")
    page.locator("ul.search a[href^='study']").first.wait_for(state="attached")
