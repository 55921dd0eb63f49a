"""`howsure convert --check`, `--to` and `howsure formats` through the real entry point."""

import json
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests/sources/files"


def test_check_prints_an_account_that_sums_and_writes_nothing(tmp_path, command):
    shutil.copy(FILES / "deepeval_test_run.json", tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    told = command("convert", "--check", tmp_path)
    assert told.returncode == 0, told.stderr
    assert "10 read = 10 used + 0 excluded" in told.stdout
    assert "- 1 file was not read (not recognised): notes.txt." in told.stdout
    held = json.loads(command("convert", "--check", tmp_path, "--json").stdout)
    assert (held["rows_read"], held["rows_used"], held["rows_unexplained"]) == (10, 10, 0)
    assert {one["source"] for one in held["files"]} == {"deepeval", None}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deepeval_test_run.json", "notes.txt"]


def test_attempts_are_written_as_every_eval_ever_and_read_again(tmp_path, command):
    told = command("convert", FILES / "deepeval_test_run.json", tmp_path / "eee", "--to", "every-eval-ever")
    assert told.returncode == 0, told.stderr
    assert len(list((tmp_path / "eee").rglob("*.json*"))) == 2
    again = command("convert", tmp_path / "eee", tmp_path / "back.csv", "--no-cache")
    assert "<Attempts: 10 rows, 1 subjects, 10 tasks>" in again.stdout
    wrong = command("convert", FILES / "deepeval_test_run.json", tmp_path / "x", "--to", "helm")
    assert wrong.returncode == 2
    assert "No format to write called 'helm'" in wrong.stderr


def test_formats_lists_every_source(command):
    told = command("formats", "--json")
    assert {"inspect_logs", "promptfoo", "helm", "files"} <= json.loads(told.stdout).keys()
