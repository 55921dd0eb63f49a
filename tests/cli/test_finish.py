"""How verbs end: which files are written, what is checked before the work, and what happens without the charts extra."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import howsure
from howsure.horizon.task_bank import make_tasks, write_tasks

ATTEMPTS = "examples/evals/attempts.csv"
TABLES = ("summary.csv", "summary.json", "summary.result.zip")
HIDDEN = """
import sys
class Hide:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("altair", "vl_convert"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide)
"""


def names(folder):
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def without_charts():
    """Run code where the packages of the charts extra are not installed."""

    def run(code):
        return subprocess.run([sys.executable, "-c", HIDDEN + code], capture_output=True, text=True, check=False)

    return run


def test_the_report_and_pictures_are_written_by_default(command, tmp_path):
    told = command("summary", ATTEMPTS, "-o", tmp_path / "out")
    report = {"summary_report.html", "summary_report.sections.json"}
    assert names(tmp_path / "out") == {*TABLES, *report, "summary.png"}
    assert "replaced" not in told.stderr
    assert "summary_report.sections.json" in told.stderr
    told = command("summary", ATTEMPTS, "-o", tmp_path / "out", "--formats", "svg")
    assert "(replaced: summary.csv, summary.json, summary.result.zip, summary_report.sections.json)" in told.stderr
    assert "note: removed: summary.png, summary_report.html, from an earlier run" in told.stderr
    assert names(tmp_path / "out") == {*TABLES, "summary.svg", "summary_report.sections.json"}
    told = command("summary", ATTEMPTS, "-o", tmp_path / "out", "--formats", "svg")
    assert "(all of them replaced older files)" in told.stderr


def test_only_unchanged_files_of_the_same_verb_are_removed(command, tmp_path):
    command("summary", ATTEMPTS, "-o", tmp_path)
    command("leaderboard", ATTEMPTS, "-o", tmp_path)
    before = names(tmp_path)
    (tmp_path / "summary.png").write_text("mine, under the old name")
    (tmp_path / "notes.svg").write_text("mine")
    told = command("summary", ATTEMPTS, "-o", tmp_path, "--formats", "")
    assert "note: removed: summary_report.html, from an earlier run" in told.stderr
    assert names(tmp_path) == before - {"summary_report.html"} | {"notes.svg"}


def test_what_a_verb_writes_beside_its_result_is_removed_with_it(command, tmp_path):
    command("summary", ATTEMPTS, "-o", tmp_path, "--mixed-model", "--formats", "")
    assert "variance_shares.csv" in names(tmp_path)
    command("summary", ATTEMPTS, "-o", tmp_path, "--formats", "")
    assert names(tmp_path) == {*TABLES, "summary_report.sections.json"}


def test_a_record_cannot_name_files_outside_the_folder(command, tmp_path):
    folder, outside = tmp_path / "out", tmp_path / "mine.txt"
    outside.write_text("mine")
    command("summary", ATTEMPTS, "-o", folder, "--formats", "")
    record = folder / "summary_report.sections.json"
    told = json.loads(record.read_text())
    digest = hashlib.sha256(outside.read_bytes()).hexdigest()
    told["files"] |= {"../mine.txt": digest, str(outside): digest}
    record.write_text(json.dumps(told))
    assert "removed" not in command("summary", ATTEMPTS, "-o", folder, "--formats", "").stderr
    assert outside.exists()


def test_a_record_removes_nothing_behind_a_link_or_of_another_result(command, tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    (elsewhere / "mine.txt").write_text("mine")
    command("summary", ATTEMPTS, "-o", folder, "--formats", "html")
    (folder / "sub").symlink_to(elsewhere)
    (folder / "shared.png").write_text("shared")
    record = folder / "summary_report.sections.json"
    told = json.loads(record.read_text())
    digests = {
        name: hashlib.sha256(text.encode()).hexdigest()
        for name, text in (("sub/mine.txt", "mine"), ("shared.png", "shared"))
    }
    told["files"] |= digests | {"x" * 5000: "0"}
    record.write_text(json.dumps(told))
    (folder / "other_report.sections.json").write_text(json.dumps({"kind": "Other", "files": digests}))
    again = command("summary", ATTEMPTS, "-o", folder, "--formats", "html")
    assert again.returncode == 0, again.stderr
    assert (elsewhere / "mine.txt").exists()
    assert (folder / "shared.png").exists()


def test_an_input_is_never_replaced(command, tmp_path):
    given = tmp_path / "summary.csv"
    given.write_bytes(Path(ATTEMPTS).read_bytes())
    told = command("summary", given, "-o", tmp_path)
    assert told.returncode == 2
    assert "is an input of this command and would be replaced; choose another folder" in told.stderr
    assert given.read_bytes() == Path(ATTEMPTS).read_bytes()


def test_the_report_shows_what_the_last_run_computed(command, tmp_path):
    def page():
        told = command("report", tmp_path / "out", "-o", tmp_path / "page.html")
        assert told.returncode == 0, told.stderr
        return (tmp_path / "page.html").read_text()

    command("summary", ATTEMPTS, "-o", tmp_path / "out", "--cluster", "task")
    assert "cluster task" in page()
    command("summary", ATTEMPTS, "-o", tmp_path / "out", "--formats", "svg")
    assert "cluster family" in page()
    assert "cluster task" not in page()
    howsure.summary(howsure.read(ATTEMPTS), cluster="domain").save(tmp_path / "out")
    assert "cluster domain" in page()
    assert "cluster family" not in page()


@pytest.mark.parametrize(
    ("out", "more", "expected"),
    [
        ("file", (), "file is a file, not a folder"),
        ("file/below", (), "file is a file, not a folder"),
        ("out", ("--formats", "pgn"), "No format called 'pgn'. Did you mean 'png'?"),
    ],
)
def test_the_output_is_checked_before_the_work(command, tmp_path, out, more, expected):
    (tmp_path / "file").write_text("mine")
    told = command("summary", tmp_path / "missing.csv", "-o", tmp_path / out, *more)
    assert (told.returncode, told.stdout) == (2, "")
    assert expected in told.stderr
    assert len(told.stderr.splitlines()) == 1
    assert names(tmp_path) == {"file"}


CLAIMS = "examples/claims/claims.yaml"
ONE_FILE = {  # verb → the usual name of its one file
    ("claims", "plan", CLAIMS): "plan.json",
    ("explore", ATTEMPTS): "explorer.html",
    ("horizon", "page", "tasks.yaml", "--tasks", "1"): "novice.html",
    ("horizon", "tasks", "--n", "5"): "tasks.yaml",
    ("report", "saved"): "report.html",
    ("track", "page", "--games", "1"): "play.html",
}


@pytest.mark.parametrize("place", ["file/below", "/proc/none"])
@pytest.mark.parametrize(
    "words",
    [
        *ONE_FILE,
        ("demo",),
        ("horizon", "page", "tasks.yaml", "--learners", "2"),
        ("stitch", "simulate"),
        ("summary", "missing.csv"),
        ("track", "human"),
    ],
    ids=" ".join,
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(command, tmp_path, words, place):
    if place.startswith("/proc") and not Path("/proc").is_dir():
        pytest.skip("no /proc")
    (tmp_path / "file").write_text("mine")
    out = tmp_path / place / ONE_FILE.get(words, "")
    told = command(*words, "-o", out)
    assert (told.returncode, told.stdout) == (2, "")
    (line,) = told.stderr.splitlines()
    assert line.startswith(f"howsure: -o {out}: ")


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        ("file/below.csv", "file is a file, not a folder"),
        ("folder", "is a folder. Name a file in it, such as"),
        ("out.doc", "unknown ending"),
    ],
)
def test_convert_checks_its_output_before_it_reads(command, tmp_path, out, expected):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    told = command("convert", tmp_path / "missing.csv", tmp_path / out)
    assert (told.returncode, told.stdout) == (2, "")
    (line,) = told.stderr.splitlines()
    assert expected in line
    assert "missing" not in line


def test_convert_names_its_output_last(command, tmp_path):
    told = command("convert", ATTEMPTS, tmp_path / "a.csv", "-o", tmp_path / "out")
    assert told.returncode == 2
    assert "omit -o" in told.stderr
    assert names(tmp_path) == set()


@pytest.mark.parametrize(("words", "name"), ONE_FILE.items(), ids=ONE_FILE.values())
@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_means_a_file_of_the_usual_name_in_it(command, tmp_path, words, name, exists):
    howsure.summary(howsure.read(ATTEMPTS)).save(tmp_path / "saved")
    write_tasks(make_tasks(5), tmp_path / "tasks.yaml")
    words = [str(tmp_path / word) if word in ("saved", "tasks.yaml") else word for word in words]
    out = tmp_path / "folder"
    if exists:
        out.mkdir()
    told = command(*words, "-o", out, "--json")
    assert told.returncode == 0, told.stderr
    assert name in names(out)
    assert str(out / name) in json.loads(told.stdout)["written"]


@pytest.mark.parametrize(("verb", "name"), [(("formats",), "formats.json"), (("names", ATTEMPTS), "names.yaml")])
def test_every_verb_that_takes_a_folder_writes_there(command, tmp_path, verb, name):
    assert command(*verb, "-o", tmp_path).returncode == 0
    assert names(tmp_path) == {name}


def test_simulated_scores_are_printed_as_json(command, tmp_path):
    told = command("stitch", "simulate", "--models", "6", "--benchmarks", "4", "-o", tmp_path, "--json")
    found = json.loads(told.stdout)
    assert len(found["true_models"]) == 6
    assert set(map(Path, found["written"])) == set(tmp_path.iterdir())


def test_without_the_charts_extra_everything_else_is_written(without_charts, tmp_path):
    words = ["howsure", "summary", ATTEMPTS, "-o", str(tmp_path)]
    told = without_charts(f"sys.argv = {words!r}\nfrom howsure.cli import main\nmain()")
    assert told.returncode == 0, told.stderr
    assert "Mean score" in told.stdout
    assert "pip install 'howsure[charts]'" in told.stderr
    assert "summary_report.html" in names(tmp_path)
    assert not any(name.endswith((".png", ".svg")) for name in names(tmp_path))
    page = (tmp_path / "summary_report.html").read_text()
    assert "not drawn: pip install" in page
    assert "vegaEmbed" not in page


@pytest.mark.parametrize("ending", ["png", "svg", "html"])
def test_without_the_charts_extra_a_chart_says_the_install_line(without_charts, tmp_path, ending):
    told = without_charts(
        f"import howsure\ntry:\n    howsure.summary({ATTEMPTS!r}).chart().save({str(tmp_path / f'a.{ending}')!r})\n"
        "except howsure.HowsureError as error:\n    print(error)"
    )
    assert told.stdout.strip().endswith("pip install 'howsure[charts]'"), told.stderr
    assert list(tmp_path.iterdir()) == []
