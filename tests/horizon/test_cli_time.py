"""`howsure horizon time`, `trend` and `compare` as a user runs them, on the example; their files, charts and pages."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from howsure.charts import to_spec
from howsure.errors import InputError
from howsure.horizon.run_counts import count_table
from howsure.horizon.time_horizon.comparison import compare_horizons
from howsure.horizon.time_horizon.doubling import fit_horizon_trend
from howsure.horizon.time_horizon.horizons import TimeHorizons, time_horizons
from howsure.horizon.time_horizon.published import dated_horizons, read_releases
from howsure.horizon.time_horizon.simulator import simulate_time
from servers.report_page import unfold

EXAMPLES = Path(__file__).parents[2] / "examples/horizon"
COUNTS, RELEASES = EXAMPLES / "time_counts.csv", EXAMPLES / "releases.csv"
PLANTED = {"basalt-1": 2.0, "amber-1": 8.0, "amber-2": 30.0, "basalt-2": 75.0}


@pytest.fixture(scope="module")
def folder(command, tmp_path_factory):
    """What the first verb wrote."""
    out = tmp_path_factory.mktemp("time")
    told = command("horizon", "time", COUNTS, "--replicates", 200, "-o", out)
    assert told.returncode == 0, told.stderr
    assert "basalt-2" in told.stdout
    assert "regularisation" in told.stdout
    return out


def test_the_example_is_what_the_simulator_draws():
    world = simulate_time(PLANTED, n_families=24, n_tasks=3, n_runs=6, seed=11).counts
    drawn = world.to_frame().select("model", "task", "family", "minutes", "successes", "n")
    read = pl.read_csv(COUNTS).rename({"subject": "model", "n_successes": "successes", "n_runs": "n"})
    assert_frame_equal(read.sort("model", "task"), drawn.sort("model", "task"), rel_tol=1e-9)


def test_time_writes_tables_charts_and_a_page(folder):
    names = {path.name for path in folder.iterdir()}
    charts = {f"{chart}.png" for chart in _CHARTS}
    tables = {"time_horizons.csv", "time_horizons.json", "task_counts.csv", "sensitivity.csv", "replicates.parquet"}
    assert names >= charts | tables | {"time_report.html"}
    frame = pl.read_csv(folder / "time_horizons.csv")
    for model, minutes in PLANTED.items():
        row = frame.filter(model=model, success_rate=0.5).row(0, named=True)
        assert row["minutes_low"] < minutes < row["minutes_high"]


_CHARTS = ("time_horizons", "success_by_length", "replicates", "sensitivity")


def test_runs_and_counts_give_the_same(command, folder, tmp_path):
    counts = pl.read_csv(COUNTS)
    runs = counts.with_columns(run=pl.int_ranges(0, "n_runs")).explode("run")
    runs = runs.select(
        pl.col("subject").alias("alias"),
        pl.col("task").alias("task_id"),
        pl.col("family").alias("task_family"),
        pl.col("minutes").alias("human_minutes"),
        (pl.col("run") < pl.col("n_successes")).cast(pl.Int8).alias("score_binarized"),
    )
    runs.sample(fraction=1, shuffle=True, seed=0).write_ndjson(tmp_path / "runs.jsonl")
    told = command("horizon", "time", tmp_path / "runs.jsonl", "--replicates", 200, "--json")
    assert told.returncode == 0, told.stderr
    assert (
        json.loads(told.stdout)["time_horizons"]
        == json.loads((folder / "time_horizons.json").read_text())["time_horizons"]
    )


def test_compare_reads_what_time_wrote(command, folder, tmp_path):
    told = command("horizon", "compare", folder, "basalt-2", "amber-1", "-o", tmp_path)
    assert told.returncode == 0, told.stderr
    assert "P(basalt-2 longer)" in told.stdout
    found = json.loads((tmp_path / "horizon_compare.json").read_text())
    assert found["compare"][0]["ratio_low"] > 1
    assert {path.name for path in tmp_path.iterdir()} >= {"compare.csv", "compare_p50.png", "compare_report.html"}


def test_trend_reads_what_time_wrote(command, folder, tmp_path):
    told = command("horizon", "trend", folder, "--releases", RELEASES, "-o", tmp_path)
    assert told.returncode == 0, told.stderr
    assert "doubles in" in told.stdout
    found = json.loads((tmp_path / "trend.json").read_text())["doubling_days"]
    assert 60 < found["low"] < found["value"] < 300
    assert {path.name for path in tmp_path.iterdir()} >= {
        "trend.csv",
        "trend_line.csv",
        "trend.png",
        "trend_report.html",
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("time", EXAMPLES / "releases.csv"), "no column"),
        (("time", COUNTS, "--success-rates", "half"), "--success-rates half: write numbers with commas"),
        (("time", COUNTS, "--weights", "all"), "No weights called 'all'"),
        (("compare", EXAMPLES, "a", "b"), "expected one file time_horizons.result.zip"),
        (("trend", COUNTS), "no column 'model'"),
        (("trend", COUNTS, "--since", "spring"), "--since spring: not a date"),
    ],
)
def test_mistakes_are_told_in_one_line(command, arguments, says):
    told = command("horizon", *arguments)
    assert told.returncode == 2
    assert says in told.stderr
    assert len([line for line in told.stderr.splitlines() if not line.startswith("note:")]) == 1


def test_tasks_that_were_cut_off_come_from_a_file(command, tmp_path):
    (tmp_path / "censored.txt").write_text("family-0/task-0\n\nfamily-1/task-3\n")
    told = command("horizon", "time", COUNTS, "--replicates", 0, "--censored", tmp_path / "censored.txt")
    assert told.returncode == 0, told.stderr
    assert "minutes of 2 tasks" in told.stdout


def test_charts_tell_n_and_level(folder):
    found = TimeHorizons.load(folder)
    trend = fit_horizon_trend(dated_horizons(found, read_releases(RELEASES)))
    drawn = {**found.charts(), **trend.charts(), **compare_horizons(found, "amber-2", "amber-1").charts()}
    assert set(drawn) == {*_CHARTS, "trend", "compare_p50", "compare_p80"}
    for name, chart in drawn.items():
        caption = " ".join(to_spec(chart)["title"]["subtitle"])
        assert "n = " in caption
        assert ("95 % interval" in caption) == (name != "sensitivity")


def test_charts_of_models_without_horizon():
    rows = [{"model": "a", "task": f"t{i}", "minutes": 2.0**i, "successes": 0, "n": 3} for i in range(4)]
    found = time_horizons(count_table(pl.DataFrame(rows)), n_replicates=20)
    (chart,) = found.charts().values()
    assert to_spec(chart)
    plain = time_horizons(
        count_table(pl.DataFrame([row | {"successes": 3 - i % 4} for i, row in enumerate(rows)])), n_replicates=0
    )
    drawn = {name: " ".join(to_spec(chart)["title"]["subtitle"]) for name, chart in plain.charts().items()}
    assert all("jackknife over families of tasks" in drawn[name] for name in ("success_by_length", "time_horizons"))


def test_the_page_opens_without_trouble(folder, browser_page, axe, tmp_path):
    page = browser_page(shutil.copy(folder / "time_report.html", tmp_path) and tmp_path / "time_report.html")
    unfold(page)
    assert page.locator("figure.chart").count() == len(_CHARTS)
    assert page.get_by_role("heading", name="What are the horizons sensitive to?").is_visible()
    assert axe(page) == []


def test_people_can_be_fitted_beside_models(command, tmp_path):
    rows = [
        {
            "alias": who,
            "task_id": f"t{i}",
            "human_minutes": 2.0**i,
            "score_binarized": int(i < 3 + who.startswith("h") or i == 5),
        }
        for who in ("human", "o9")
        for i in range(7)
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = {}
    for kinds in ("model", "human", "human,model"):
        told = command("horizon", "time", path, "--kinds", kinds, "--replicates", 0, "--json", "-q")
        found[kinds] = json.loads(told.stdout)["time_horizons"]
    assert {row["model"] for row in found["model"]} == {"o9"}
    assert {row["model"] for row in found["human"]} == {"human"}
    assert found["human,model"] == found["human"] + found["model"]


def test_a_frame_is_read_as_its_file_is():
    path = COUNTS.with_name("horizons.csv")
    of_file = fit_horizon_trend(path).doubling
    frame = pl.read_csv(path, try_parse_dates=True)
    assert fit_horizon_trend(frame).doubling == fit_horizon_trend(frame.to_pandas()).doubling == of_file
    with pytest.raises(InputError, match="the frame: no column 'minutes'"):
        fit_horizon_trend(frame.drop("minutes"))
