"""Every command and snippet in the README, the docs, the notebooks and the help runs, and what they show is what commands print."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path

import polars as pl
import pytest
import typer
import yaml
from polars.testing import assert_frame_equal

from howsure.cli.app import app
from howsure.evals.simulator import simulate
from howsure.tables import Attempts
from servers import prepared_process, readers_world
from servers.inspect_process import inspect
from servers.openai_server import ChatServer

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
ASKING = ("openai/", "openai-api/", "openai-http/")  # models that a test server stands for
FEW = {"--replicates": 20, "--simulations": 2, "--samples": 2}  # or the fewest that the verb takes
COMMAND = re.compile(r"^\s*([A-Z_]+=\S+ )*(\.venv/bin/)?(howsure|inspect|make|pip|python|git|docker|curl|uv) \S")


def asks(text):
    return any(model in text for model in ASKING)


def fences(page):
    """Language and text of each block of a page."""
    return re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.S | re.M)


def blocks(language, pages=PAGES):
    for page in pages:
        if page not in TUTORIALS:
            for number, text in enumerate([text for kind, text in fences(page) if kind == language], 1):
                # tests/tour makes the demo, and a map of it
                marks = [pytest.mark.evidence] if "howsure demo" in text else [pytest.mark.heavy] if asks(text) else []
                yield pytest.param(page, text, id=f"{page.stem}-{number}", marks=marks)


@pytest.fixture
def desk(tmp_path):
    """An empty folder with our examples in it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.fixture
def run(desk):
    """Runs the commands of a block of shell, or a block of Python, in that folder, and gives what it printed.

    Models are asked of a server on loopback; people's answers, surveys and downloads come from `readers_world`. Where nobody reads what
    commands print (`is_read` false), they draw few replicates, and no charts unless a report is made of them later (`is_drawn`).
    """

    def of(language, text, page=None, *, is_read=True, is_drawn=False):
        if not is_read and language == "bash":
            is_drawn = is_drawn or "howsure report" in text
            text = "\n".join(shortened(line, {} if is_drawn else {"--formats": "''"}) for line in commands(text))
        if not asks(text):
            return ran(language, text, page, dict(os.environ))
        if not all(map(importlib.util.find_spec, ("inspect_ai", "openai"))):
            pytest.skip("models are asked with Inspect and openai")
        with ChatServer(readers_world.obliging) as server:
            address = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "INSPECT_TELEMETRY": ""}
            return ran(language, text.replace("ADDRESS/v1", server.base_url), page, os.environ | address)

    def ran(language, text, page, env):
        if language == "python":
            return done(prepared_process.run(["-c", text], cwd=desk, env=env, inspect=asks(text)))
        return "".join(obeyed(line, page, env) for line in commands(text))

    def obeyed(line, page, env):
        """What one line of shell prints."""
        words = shlex.split(line, comments=True)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            env = env | {name: value}
        program, *rest = words
        if program == "make":  # what it would do: the tests themselves are run by it
            return done(subprocess.run(["make", "-n", *rest], cwd=ROOT, capture_output=True, text=True))
        if program == "pip":
            assert shlex.join(rest[1:]) in (ROOT / "Makefile").read_text(), f"{line}: not what `make` installs"
            return ""
        if program == "python":  # a server that needs wheels of 100 MB: tests/track/test_small_model.py runs it
            assert (ROOT / rest[0]).is_file()
            return ""
        if program == "inspect":
            return done(inspect(*rest, cwd=desk, env=env))
        assert Path(program).name == "howsure", f"nothing here runs {line!r}"
        if rest[0] == "serve" and not {"--export", "--backup", "--help"} & set(rest):
            return served(rest, env)
        with readers_world.epochs_tables(desk) as address:
            bring(desk, rest, page)
            more = ["--url", address] if "--download" in rest else []
            env |= {"XDG_CACHE_HOME": str(desk / "cache")} if more else {}
            called = ["-m", "howsure", *rest, *more]
            return done(prepared_process.run(called, cwd=desk, env=env, inspect=asks(line)))

    def served(words, env):
        """The links; the first one opens, the open link with an id."""
        outer = words.index("--url") if "--url" in words else len(words)  # a name that leads nowhere from here
        line = [sys.executable, "-m", "howsure", *words[:outer], *words[outer + 2 :], "--port", "0"]
        with subprocess.Popen(line, cwd=desk, stdout=subprocess.PIPE, text=True, env=env) as process:
            try:
                printed = ""
                while "admin" not in printed:
                    printed += (heard := process.stdout.readline())
                    assert heard, f"{line} ended: {printed}"
                link = re.search(r"http://127\.0\.0\.1:\d+/(r|join)/\S+", printed)[0]
                assert b"<html" in fetched(f"{link}?PROLIFIC_PID=somebody")
            finally:
                process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        return printed

    return of


def fetched(link):
    """The page at a link, which is printed a moment before the server listens."""
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(link, timeout=60) as page:
                return page.read()
        except urllib.error.URLError:
            assert time.monotonic() < deadline, f"nothing answers at {link}"
            time.sleep(0.05)


def done(told):
    assert told.returncode == 0, f"{told.args}: {told.stderr or told.stdout}"
    return told.stdout


def bring(desk, words, page):
    """What a reader has when this command's turn comes, if it is not there yet."""
    if words[1:2] != ["collect"]:
        return
    takes, answers = desk / words[2], desk / "answers"
    if words[0] == "study":
        if "--mapping" in words and "--study" in words:
            mapping = next(text for kind, text in fences(page) if kind == "yaml")
            (desk / "mapping.yaml").write_text(mapping)
            readers_world.fill_survey(yaml.safe_load(mapping), desk / "export.csv")
        elif "--mapping" in words:
            readers_world.fill_form(desk / "form/form-1.csv", desk / "export.csv")
        elif not takes.exists():
            readers_world.fill_study(desk / "packet", takes)
    elif not answers.exists():
        readers_world.fill_pages(takes, answers)


def commands(text):
    return [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.split("#")[0].strip()]


def shortened(line, more):
    """The same command with few replicates and games, and with ``more`` options where it takes them and does not state them."""
    verb = max((verb for verb in verbs() if f"howsure {verb} " in f"{line} "), key=len, default=None)
    options = {name: option for option in verbs()[verb].params for name in option.opts} if verb else {}
    stated = set(shlex.split(line, comments=True))
    few = {name: max(n, options[name].min or 0) for name, n in FEW.items() if name in options}
    for name, value in (few | more).items():
        if name in options and not {name, "-n"} & stated and "--help" not in stated:
            line = f"{line.split(' #')[0]} {name} {value}"
    return re.sub(
        rf"({'|'.join(FEW)}) (\d+)", lambda found: f"{found[1]} {min(int(found[2]), few.get(found[1], 0))}", line
    )


def promises(text):
    """What a snippet says it prints: ``print(…)  # this``."""
    return re.findall(r"^.*print\(.*\)\s+# (.+)$", text, re.M)


def bare(text):
    return " ".join(text.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_stands_in_a_block_that_is_run(page):
    """A block of another language shows what a command prints, if its first line says which: ``$ howsure …``."""
    for language, text in fences(page):
        if language in ("bash", "python"):
            continue
        for line in text.splitlines():
            assert not COMMAND.match(line), f"{page.name}: no test runs {line!r}; make it a block of bash"
            assert not re.match(r"\s*(from|import) howsure", line), f"{page.name}: make {line!r} a block of python"


@pytest.mark.parametrize(("page", "text"), list(blocks("bash")))
def test_commands_run(page, text, run):
    run("bash", text, page, is_read=False)


@pytest.mark.evidence
@pytest.mark.parametrize(("page", "text"), list(blocks("bash")))
def test_commands_run_in_full(page, text, run):
    """With all their replicates and charts."""
    run("bash", text, page)


@pytest.mark.parametrize(("page", "text"), list(blocks("python")))
def test_snippets_run(page, text, run):
    printed = run("python", text, page)
    for promised in promises(text):
        assert promised in printed


SHOWN = [one for one in blocks("text") if one.values[1].startswith("$ ")]
LONG = [one for one in SHOWN if "--simulations" in one.values[1].splitlines()[0]]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("page", "text"),
    [pytest.param(*one.values, id=one.id, marks=pytest.mark.evidence if one in LONG else ()) for one in SHOWN],
)
def test_shown_output_is_what_the_command_prints(page, text, run):
    line, _, shown = text.partition("\n")
    printed = bare(run("bash", line.removeprefix("$ "), page))
    for one in shown.splitlines():
        assert bare(one) in printed


@pytest.mark.parametrize(("page", "text"), LONG)
def test_long_output_has_the_rows_that_are_shown(page, text, run):
    """What stands before the numbers, from few simulations."""
    line, _, shown = text.partition("\n")
    printed = bare(run("bash", line.removeprefix("$ "), page, is_read=False))
    rows = re.findall(r"^ *(.+?) {2,}\d\.\d", shown, re.M)
    assert len(rows) > 1
    assert [row for row in rows if bare(row) not in printed] == []


@pytest.mark.heavy
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_from_top_to_bottom(page, run):
    """Its blocks follow one another in one folder; a block of output shows lines that the block above it printed.

    Commands after the last of these draw few replicates.
    """
    printed = ""
    parts = re.findall(r"```(bash|python|output)\n(.*?)```", page.read_text(), re.S)
    last = max(place for place, (language, _) in enumerate(parts) if language == "output")
    for place, (language, text) in enumerate(parts):
        if language != "output":
            printed = run(language, text, page, is_read=place < last, is_drawn=True)
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


@pytest.fixture(scope="module")
def pictures():
    pytest.importorskip("docutils", reason="no docutils: pip install sphinx")
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "_ext/pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.evidence
def test_the_gallery_is_drawn(pictures):
    for _, command, name in pictures.GALLERY:
        assert "<svg" in pictures.drawn_by(command, name)


def test_the_picture_of_the_readme_is_what_the_command_draws(pictures):
    """The same texts; `python docs/_ext/pictures.py` draws it again."""
    _, command, name = pictures.GALLERY[0]
    assert command.removesuffix(" -o out") in (ROOT / "README.md").read_text()
    texts = [re.findall(r">([^<>]+)</text>", pictures.drawn_by(command, name))]
    texts += [re.findall(r">([^<>]+)</text>", (DOCS / f"assets/{name}-{s}.svg").read_text()) for s in ("light", "dark")]
    assert len(texts[0]) > 10
    assert texts[0] == texts[1] == texts[2]


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
    assert_frame_equal(world.attempts.frame, Attempts(ROOT / "examples/evals/attempts.csv").frame, rel_tol=1e-9)


def test_documented_columns_are_the_tables_columns():
    from howsure.tables import TABLES

    text = (DOCS / "tables.md").read_text()
    for name, table in TABLES.items():
        section = text.split(f"## {name.capitalize()}")[1].split("\n## ")[0]
        rows = re.findall(r"^\| (`[^|]+`) \| (yes)? ?\|", section, re.M)
        listed = [(name, needed) for names, needed in rows for name in re.findall(r"`(\w+)`", names)]
        assert listed == [
            (column.name, "yes" if column.required and not column.by_default else "") for column in table.columns
        ]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documentation as pages, built as `make docs` does but without drawing the gallery and the tour or listing functions in the sidebar; a warning is an error."""
    pytest.importorskip("sphinx", reason="no sphinx: pip install sphinx myst-parser numpydoc furo latex2mathml")
    folder = tmp_path_factory.mktemp("site")
    line = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "-D", "pictures_drawn=0"]
    line += ["-D", "toc_object_entries=0", "docs", str(folder)]  # a copy on every page
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


# Verbs whose examples read what the examples before them wrote, in one folder.
CHAINS = {
    "stitch": [
        *("stitch explore", "stitch fit", "stitch score", "stitch next", "stitch predict", "stitch forecast"),
        *(
            "stitch lag",
            "stitch progress",
            "stitch validate",
            "stitch traits",
            "stitch growth",
            "stitch domains",
            "stitch gaps",
        ),
        *("stitch votes", "stitch update", "stitch all"),
        *("stitch map", "stitch robustness", "stitch check", "stitch simulate", "stitch coverage"),
        *("bridge place", "bridge map"),
    ],
    "horizon": [
        *("horizon tasks", "horizon run", "horizon page", "horizon collect", "horizon simulate", "horizon curves"),
        *(
            "horizon learners",
            "horizon attempts",
            "horizon size",
            "horizon time",
            "horizon trend",
            "horizon compare",
            "report",
        ),
    ],
    "study": [
        *("study plan", "study select", "study check", "study build", "study simulate", "study collect"),
        *("study analyze", "study judge", "study validate", "study reliability", "serve"),
    ],
    "claims": ["claims check", "claims verify"],
    "track": ["track estimate", "track run", "track report", "track page", "track collect", "bridge track"],
}
ELSEWHERE = {
    "demo": "tests/tour",
    "watch": "tests/evals/test_stopping.py",
    "track human": "tests/track/test_terminal.py",
    "horizon review": "tests/horizon/test_novice_pages.py",
}


@cache
def verbs(command=None, words=()):
    """The commands under `howsure` by what one types."""
    command = command or typer.main.get_command(app)
    if not hasattr(command, "list_commands"):
        return {" ".join(words): command}
    inner = (verbs(command.get_command(None, name), (*words, name)) for name in command.list_commands(None))
    return {name: one for group in inner for name, one in group.items()}


def example(verb):
    """The example at the end of a verb's help."""
    line = (verbs()[verb].epilog or "").removeprefix("\b\n")
    assert line.startswith(f"Example: howsure {verb}"), f"the help of `howsure {verb}` ends with no example"
    return line.removeprefix("Example: ")


def test_every_verbs_help_ends_with_an_example():
    assert {*ELSEWHERE, *(verb for chain in CHAINS.values() for verb in chain)} <= set(verbs())
    for verb in verbs():
        example(verb)


def test_examples_in_help_stand_on_one_line(command):
    assert command("horizon", "time", "--help").stdout.splitlines()[-1].strip() == f"Example: {example('horizon time')}"


@cache
def on_pages():
    """The commands in blocks of the README and the docs, each of which is run above."""
    texts = [text for page in PAGES for language, text in fences(page) if language == "bash"]
    return {shlex.join(shlex.split(line, comments=True)) for text in texts for line in commands(text)}


def is_on_a_page(line, later=()):
    """Whether the same command is run as part of a page, and writes nothing that commands after it read."""
    words = shlex.split(line)
    written = words[words.index("-o") + 1] if "-o" in words else None
    return shlex.join(words) in on_pages() and not any(written in shlex.split(one) for one in later)


@pytest.mark.parametrize(
    "verb",
    [
        verb
        for verb in sorted(set(verbs()) - set(ELSEWHERE) - {v for chain in CHAINS.values() for v in chain})
        if not is_on_a_page(example(verb))
    ],
)
def test_the_example_in_the_help_runs(verb, run):
    run("bash", example(verb), is_read=False)


@pytest.mark.heavy
@pytest.mark.parametrize("chain", CHAINS)
def test_the_examples_in_the_help_run_one_after_the_other(chain, run, desk):
    for place, verb in enumerate(CHAINS[chain]):
        if is_on_a_page(example(verb), [example(later) for later in CHAINS[chain][place + 1 :]]):
            continue
        if verb == "bridge place":
            done = pl.DataFrame(
                {
                    "subject": "new",
                    "kind": "model",
                    "task": [f"task-{i}" for i in range(20)],
                    "attempt": 1,
                    "score": [1, 0] * 10,
                }
            )
            done.write_csv(desk / "attempts.csv")
        if verb == "bridge map":
            minutes = pl.read_csv(desk / "examples/stitch/horizons.csv").with_columns(
                success_rate=0.5,
                minutes_low=pl.col("minutes") / 2,
                minutes_high=pl.col("minutes") * 2,
                minutes_state=pl.lit("ok"),
            )
            (desk / "time").mkdir()
            minutes.write_csv(desk / "time/time_horizons.csv")
        if verb == "bridge track":  # games of a baseline, as if they were a model's
            games = pl.read_csv(desk / "runs/samples.csv", infer_schema=False).with_columns(kind=pl.lit("model"))
            games.write_csv(desk / "runs/samples.csv")
        run("bash", example(verb), is_read=False, is_drawn="report" in CHAINS[chain])


def test_programs_find_every_page_command_and_schema(tmp_path):
    pytest.importorskip("sphinx", reason="no sphinx: pip install sphinx")
    where = importlib.util.spec_from_file_location("for_programs", DOCS / "_ext/for_programs.py")
    module = importlib.util.module_from_spec(where)
    where.loader.exec_module(module)
    module.write_for_programs(tmp_path)
    told = (tmp_path / "llms.txt").read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)", told)
    assert {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} <= set(links)
    assert all((tmp_path / link).exists() for link in links)
    assert "- `howsure overview`: " in told
