"""How verbs end: which files are written, what is checked before the work, and what happens without the charts extra."""

import subprocess
import sys

import pytest

ATTEMPTS = "examples/evals/attempts.csv"
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
    tables = {"summary.csv", "summary.json", "summary.result.zip"}
    report = {"summary_report.html", "summary_report.sections.json"}
    assert names(tmp_path / "out") == {*tables, *report, "summary.png"}
    assert "replaced" not in told.stderr
    told = command("summary", ATTEMPTS, "-o", tmp_path / "out", "--formats", "svg")
    assert "(replaced: summary.csv, summary.json, summary.result.zip)" in told.stderr
    assert "summary.svg" in names(tmp_path / "out")
    told = command("summary", ATTEMPTS, "-o", tmp_path / "out", "--formats", "svg")
    assert "(all of them replaced older files)" in told.stderr


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
