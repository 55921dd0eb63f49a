"""simulate, attempts and size through the real entry point."""

import json

import polars as pl
import pytest

SMALL = ("--n-tasks", "20", "--learners", "8", "--attempts", "5", "--runs", "4")


@pytest.fixture(scope="module")
def runs(tmp_path_factory, command):
    folder = tmp_path_factory.mktemp("runs")
    told = command("horizon", "simulate", "-o", folder, "--novice-attempt", "1.5", "--novice-attempt", "3", *SMALL)
    assert told.returncode == 0, told.stderr
    assert "like-attempt-1.5" in told.stdout
    return folder / "runs.jsonl"


def test_attempts_prints_and_writes_everything(tmp_path, command, runs):
    told = command("horizon", "attempts", runs, "--replicates", "60", "--definition", "matching,irt", "-o", tmp_path)
    assert told.returncode == 0, told.stderr
    assert "like-attempt-3" in told.stdout
    assert "P(A > B)" in told.stdout
    frame = pl.read_csv(tmp_path / "horizons.csv")
    assert frame.columns[:9] == [
        *(
            "model",
            "definition",
            "success_rate",
            "horizon",
            "horizon_low",
            "horizon_high",
            "horizon_state",
            "n_tasks",
            "success",
        )
    ]
    assert set(frame["definition"]) == {"matching", "irt"}
    for name in ("horizons.json", "domains.csv", "pairs.csv", "tasks.csv", "attempts_report.html"):
        assert (tmp_path / name).stat().st_size > 0
    for name in ("crossing", "horizons", "curve_sample", "against_first", "by_difficulty", "difficulty", "censoring"):
        assert (tmp_path / f"{name}.png").exists()


def test_attempts_as_json_is_json_alone(command, runs):
    told = command("horizon", "attempts", runs, "--replicates", "20", "--success-rates", "0.5", "--json")
    found = json.loads(told.stdout)
    assert [row["model"] for row in found["horizons"]] == ["like-attempt-3", "like-attempt-1.5"]
    assert found["provenance"]["seed"] == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--definition", "guessing"), "No definition called 'guessing'"),
        (("--success-rates", "fifty"), "write numbers with commas"),
        (("--success-rates", "50"), "not between 0 and 1"),
    ],
)
def test_mistakes_are_told_in_one_line(command, runs, options, says):
    told = command("horizon", "attempts", runs, *options)
    assert told.returncode == 2
    assert says in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1


def test_runs_without_people_say_what_is_missing(tmp_path, command, runs):
    path = tmp_path / "models.jsonl"
    pl.read_ndjson(runs).filter(pl.col("learner_type") == "ai_zero_shot").write_ndjson(path)
    told = command("horizon", "attempts", path)
    assert told.returncode == 2
    assert "no attempt of a person" in told.stderr


def test_simulate_needs_a_folder_and_attempts_from_one(command, tmp_path):
    told = command("horizon", "simulate")
    assert (told.returncode, "add -o DIR" in told.stderr) == (2, True)
    told = command("horizon", "simulate", "-o", tmp_path, "--novice-attempt", "0.5")
    assert (told.returncode, "begins at 1" in told.stderr) == (2, True)


def test_size_prints_the_cheapest_design(tmp_path, command):
    told = command(
        *("horizon", "size", "--learners", "10,40", "--tasks", "20", "--runs", "5", "--simulations", "20"),
        *("--width", "0.8", "-o", tmp_path),
    )
    assert told.returncode == 0, told.stderr
    assert "learners, each at 20 of 20 tasks" in told.stdout
    assert {path.name for path in tmp_path.iterdir()} >= {
        *("size.csv", "size.json", "size.png", "size_report.html", "size_report.sections.json")
    }
