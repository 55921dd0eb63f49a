"""`howsure track` as a user types it."""

import json
import subprocess
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

from howsure.cli.track import app
from howsure.track.samples import load_samples
from servers import prepared_process


@pytest.fixture(scope="module")
def track():
    """Runs `howsure track` in a process of its own."""

    def run(*arguments):
        line = ["-c", "from howsure.cli.track import app; app()", *arguments]
        return prepared_process.run(line, inspect="--model" in arguments)

    return run


def test_players_run_and_other_players_games_are_kept(track, tmp_path):
    told = track("run", "--player", "oracle", "--variant", "mode", "--samples", "8", "-o", tmp_path)
    assert told.returncode == 0, told.stderr
    assert "oracle" in told.stdout
    assert "wrote" in told.stderr
    told = track(
        "run", "--player", "largest", "--player", "oracle", "--variant", "mode", "--samples", "5", "-o", tmp_path, "-q"
    )
    assert told.stderr == ""
    table = pl.read_csv(tmp_path / "track.csv")
    assert table.select("model", "n").sort("model").rows() == [("largest", 5), ("oracle", 5)]
    told = track("run", "--player", "window-20", "--samples", "4", "--length", "30", "--high", "10", "-o", tmp_path)
    frame = load_samples(tmp_path / "samples.csv").frame
    assert frame.select("model", "variant", "setting", "length").n_unique() == 3


def test_json_is_all_there_is_on_standard_output(track):
    told = track("run", "--player", "random", "--samples", "5", "--json")
    (row,) = json.loads(told.stdout)["track"]
    assert (row["model"], row["n"]) == ("random", 5)
    assert row["avg_max_length_low"] < row["avg_max_length"] < row["avg_max_length_high"]


def test_a_report_of_a_folder(track, tmp_path):
    track("run", "--player", "random", "--player", "largest", "--samples", "6", "-o", tmp_path / "runs")
    told = track("report", tmp_path / "runs", "-o", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    there = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "track.csv",
        "samples.csv",
        "attempts.csv",
        "report.html",
        "averages-median.png",
        "survival-median.png",
    } <= there


def test_an_estimate_asks_nothing_and_counts(track, tmp_path):
    prices = ("--input-price", "2", "--output-price", "8")
    told = track("estimate", "--variant", "mode", "--turns", "20", *prices, "--json", "-o", tmp_path)
    rows = json.loads(told.stdout)["estimate"]
    assert [(row["solver"], row["turns"]) for row in rows] == [("direct", 20), ("explicit", 20)]
    assert rows[0]["cost"] == pytest.approx((2 * rows[0]["input_tokens"] + 8 * rows[0]["output_tokens"]) / 1e6)
    assert (tmp_path / "estimate.csv").exists()
    assert "cost" not in track("estimate", "--length", "20").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run"], "No player is named. Give a model (--model PROVIDER/MODEL) or a player (--player oracle)."),
        (["run", "--player", "orcale"], "Did you mean 'oracle'?"),
        (["run", "--player", "oracle", "--variant", "mean"], "No variant called 'mean'"),
        (["run", "--player", "oracle", "--solver", "explicit"], "--solver is for models"),
        (["run", "--player", "oracle", "--low", "7", "--high", "7"], "Give 0 ≤ low < high"),
        (["run", "--model", "a/b"], "add -o DIR"),
        (["run", "--model", "a/b", "-o", "x", "--config", "temperature"], "write it as name=value"),
        (["report", "nowhere"], "nowhere: no such file or folder."),
        (["estimate", "--input-price", "3"], "are used together"),
        (["estimate", "--turns", "400"], "not between 0 and the length 300"),
    ],
)
def test_what_a_user_can_mend_is_told_in_one_line(arguments, told):
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 2
    assert told in found.stderr
    assert found.stderr.count("\n") == 1
    assert found.stdout == ""


def test_runs_at_the_same_time_keep_each_others_games(tmp_path):
    players = ["oracle", "random", "largest", "window-3"]
    code = "from howsure.cli.track import app; app()"
    line = [sys.executable, "-c", code, "run", "--length", "5", "--samples", "4", "-q", "-o", str(tmp_path)]
    programs = [subprocess.Popen([*line, "--player", name], stdout=subprocess.DEVNULL) for name in players]
    assert [program.wait() for program in programs] == [0] * 4
    assert set(load_samples(tmp_path / "samples.csv").frame["model"]) == set(players)
    assert set(pl.read_csv(tmp_path / "track.csv")["model"]) == set(players)


def test_a_full_disk_is_told_in_one_line(tmp_path):
    """A limit on the size of files stands for it."""
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)); from howsure.cli.track import app; app()"
    line = ["-c", code, "run", "--player", "oracle", "--length", "5", "--samples", "100"]
    found = prepared_process.run([*line, "-q", "-o", tmp_path])
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert "cannot be written (File too large). Make room" in found.stderr
