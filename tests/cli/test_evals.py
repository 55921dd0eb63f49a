"""summary, compare, power, convert, coverage and demo through the real entry point."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from servers.terminal import Terminal

ROOT = Path(__file__).parents[2]
ATTEMPTS = ROOT / "examples/evals/attempts.csv"
METR = ROOT / "../shared/data/metr/runs_2025-01-28.jsonl"


@pytest.fixture
def as_json(command):
    def run(*arguments):
        told = command(*arguments, "--json")
        assert told.returncode == 0, told.stderr
        return json.loads(told.stdout)

    return run


@pytest.mark.skipif(not METR.exists(), reason="METR's runs are not beside the project")
def test_families_make_the_intervals_of_real_runs_wider(as_json):
    wide = as_json("summary", METR, "--cluster", "family")["summary"]
    narrow = {row["subject"]: row for row in as_json("summary", METR, "--cluster", "none")["summary"]}
    assert len(wide) == 11
    for row in wide:
        alone = narrow[row["subject"]]
        assert row["mean"] == pytest.approx(alone["mean"])
        assert row["mean_high"] - row["mean_low"] > 0.99 * (alone["mean_high"] - alone["mean_low"])


@pytest.mark.skipif(not METR.exists(), reason="METR's runs are not beside the project")
def test_python_says_the_same_in_three_lines(as_json):
    import howsure

    attempts = howsure.read(METR)
    frame = howsure.summary(attempts, cluster="family").to_frame()
    told = pl.DataFrame(as_json("summary", METR, "--cluster", "family")["summary"])
    assert frame["mean_low"].to_list() == pytest.approx(told["mean_low"].to_list())


@pytest.mark.parametrize(
    ("verb", "more", "table"),
    [("summary", [], "summary"), ("compare", [], "compare"), ("power", ["--a", "amber-1", "--b", "amber-2"], "power")],
)
def test_a_folder_gets_tables_figures_and_charts(verb, more, table, tmp_path, command):
    told = command(verb, ATTEMPTS, *more, "-o", tmp_path / "out", "--quiet")
    assert told.returncode == 0, told.stderr
    assert told.stderr == ""
    names = {path.name for path in (tmp_path / "out").iterdir()}
    report = {f"{table}_report.html", f"{table}_report.sections.json"}
    assert names == {f"{table}.{ending}" for ending in ("csv", "json", "png", "result.zip")} | report
    json.loads((tmp_path / "out" / f"{table}.json").read_text())
    assert len(pl.read_csv(tmp_path / "out" / f"{table}.csv")) > 1


def test_convert_says_what_it_recognised_and_why(tmp_path, command):
    told = command("convert", ATTEMPTS, tmp_path / "kept.parquet")
    assert "files, because it is a csv file" in told.stderr
    assert "<Attempts: 288 rows, 3 subjects, 48 tasks>" in told.stdout
    assert len(pl.read_parquet(tmp_path / "kept.parquet")) == 288


def test_convert_leaves_nothing_behind_when_the_input_is_wrong(tmp_path, command):
    bad = tmp_path / "bad.csv"
    bad.write_text(ATTEMPTS.read_text().replace(",1.0,", ",62,", 1))
    told = command("convert", bad, tmp_path / "kept.parquet")
    assert told.returncode == 2
    assert told.stderr.splitlines()[-1].startswith(f"howsure: {bad} line 2: score 62 is not between 0 and 1")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["summary", ATTEMPTS, "--cluster", "famly"], "No cluster called 'famly'. Did you mean 'family'?"),
        (["compare", ATTEMPTS, "--a", "amber-3"], "No subject called 'amber-3'. Did you mean"),
        (["summary", ATTEMPTS, "--map", "score"], "--map score: write it as column=value"),
        (["summary", ATTEMPTS, "--scorer", "match"], "--scorer does not apply to input of the format files"),
        (["summary", ATTEMPTS, "--percent", "--divide-by", "10"], "pass one of them"),
        (["power", "--effect", "0.5"], "accuracy 0.7 plus effect 0.5 is not between 0 and 1"),
        (["convert", ATTEMPTS], "howsure convert IN OUT"),
        (["convert", ATTEMPTS, "kept.xlsx"], "kept.xlsx: unknown ending"),
    ],
)
def test_what_a_user_can_mend_is_one_line_and_exit_code_2(arguments, told, tmp_path, command):
    found = command(*arguments, cwd=tmp_path)
    assert found.returncode == 2
    assert told in found.stderr
    assert "Traceback" not in found.stderr
    assert list(tmp_path.iterdir()) == []


def test_coverage_is_the_same_for_a_seed(as_json):
    first, second = (as_json("coverage", "-n", "20", "--seed", "3")["coverage"] for _ in range(2))
    assert first == second
    assert len(first) > 20


def test_ctrl_c_stops_at_once_and_says_what_is_written():
    terminal = Terminal(sys.executable, "-m", "howsure", "coverage", "-n", "200000")
    terminal.until("simulating")
    terminal.process.send_signal(signal.SIGINT)
    told = terminal.until("No other table, chart or report was written.")
    assert "howsure: The command was stopped" in told
    assert terminal.end() == 130


def test_the_shell_completes_verbs():
    asked = {"_HOWSURE_COMPLETE": "complete_bash", "COMP_WORDS": "howsure su", "COMP_CWORD": "1"}
    told = subprocess.run(
        [Path(sys.executable).with_name("howsure")], env=os.environ | asked, capture_output=True, text=True
    )
    assert told.stdout.split() == ["summary"]


def test_unpaired_differences_are_not_said_to_be_over_shared_items(tmp_path, command):
    path = tmp_path / "disjoint.csv"
    rows = [f"{name},model,{name}{i},1,{i % 2}" for name in ("a", "b") for i in range(4)]
    path.write_text("\n".join(["subject,kind,task,attempt,score", *rows]) + "\n")
    told = command("compare", path)
    assert "own items (unpaired)" in told.stdout
    assert "both tried" not in told.stdout
    assert "not tried by both subjects" in told.stderr
