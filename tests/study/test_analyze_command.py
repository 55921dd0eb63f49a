"""`howsure study analyze` as a user calls it, and the report it writes, in a real browser."""

import json

import polars as pl
import pytest

from howsure.study.simulator import Crowd, simulate
from servers.report_page import bring_alive


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A simulated study as `howsure study collect` leaves it: two of nine raters are no raters."""
    folder = tmp_path_factory.mktemp("desk")
    simulate(crowd=Crowd(n_raters=9, bots=1, straight_liners=1), seed=3).save(folder)
    return folder


@pytest.fixture(scope="module")
def analysed(desk, command):
    """The folder after one analysis, and what the command said."""
    told = command("study", "analyze", "ratings.csv", "--model-scores", "model_scores.csv", "-o", "out", cwd=desk)
    assert told.returncode == 0, told.stderr
    return desk / "out", told


def test_it_prints_the_verdict_and_writes_the_tables(analysed):
    folder, told = analysed
    assert "inconclusive" in told.stdout
    assert "runs from 0 to 0.89; neutral is 0.44" in told.stdout
    assert "2 of 9 raters are excluded by rule" in told.stderr
    for name in ("analysis.json", "pairs.csv", "raters.csv", "exclusions.csv", "analyze_report.html"):
        assert (folder / name).stat().st_size
    for name in ("agreement", "pairs", "human_model", "correlations", "domains", "severity", "timing"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert set(pl.read_csv(folder / "exclusions.csv")["rater"]) == {"r08", "r09"}


def test_json_alone_on_standard_output(desk, command, tmp_path):
    criteria = tmp_path / "criteria.yaml"
    criteria.write_text("- name: voice\n  statistic: voice\n  threshold: 0.2\n")
    told = command("study", "analyze", desk / "ratings.csv", "--criteria", criteria, "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["verdict"] == {"voice": "pass"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-o", "."], "would overwrite raters.csv"),
        (["--domain-order", "TECH"], 'write it as "TECH > ANAL'),
        (["--rater-effects", "crossed"], "No rater effects called 'crossed'"),
        (["--criteria", "none.yaml"], "none.yaml"),
        (["--rater-table", "ratings.csv"], "rater 'r01' is there"),
        (["--model-scores", "raters.csv"], "no column 'item'"),
    ],
)
def test_mistakes_are_one_line(desk, command, options, says):
    told = command("study", "analyze", "ratings.csv", *options, cwd=desk)
    assert (told.returncode, told.stdout) == (2, "")
    assert says in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1


def test_the_report_stands_in_a_browser(analysed, browser_page, axe):
    page = browser_page(analysed[0] / "analyze_report.html", width=1280)
    assert len(bring_alive(page)) == 7
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"document.documentElement.scrollWidth <= {width}")
    assert "do not decide the claim" in page.locator("main").inner_text()
    assert axe(page) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("subject,task,score\n", "there is no row below the header."),
        ("a,b,c\n1,2,3\n\n4,x,5\n", "line 4: value x is not a number (b on 2)"),
        ("item,b,c\nq1,,3\nq2,1,5\nq3,1,bad\n", "line 4: value bad is not a number (c on q3)"),
        ("subject,task,score\na,1,0.5\na,2,1\nb,1,1\n", "line 2: value a is not a number (subject on 1)"),
    ],
)
def test_what_is_wrong_in_a_table_by_rater_is_told_in_one_line_with_file_and_line(command, tmp_path, text, expected):
    path = tmp_path / "wide.csv"
    path.write_text(text)
    told = command("study", "analyze", path)
    assert (told.returncode, told.stdout) == (2, "")
    (line,) = told.stderr.splitlines()
    between = " " if expected.startswith("line") else ": "
    assert line.startswith(f"howsure: {path}{between}{expected}")
