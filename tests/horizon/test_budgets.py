"""Horizons by budget: cumulative incidence by hand, what is unknown, a true value, Inspect logs in one command."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.horizon import budget_horizons, time_horizons
from howsure.horizon.run_counts import join_tasks
from howsure.horizon.time_horizon.simulator import simulate_spending, simulate_time
from howsure.tables import Attempts
from servers import prepared_process


def runs(rows, minutes=None):
    """One model; rows of (task, tokens, score, limit)."""
    frame = pl.DataFrame(rows, schema=["task", "tokens", "score", "limit"], orient="row")
    lengths = minutes or {"a": 1.0, "b": 8.0, "c": 64.0}
    return Attempts(
        frame.with_columns(
            pl.lit("m").alias("subject"),
            pl.col("task").replace_strict(lengths, return_dtype=pl.Float64).alias("minutes"),
            pl.col("score").cast(pl.Float64),
            pl.col("tokens").cast(pl.Float64),
        )
    )


def success(found):
    return dict(zip(found.rows["budget"], found.rows["success"], strict=True))


def test_a_wrong_answer_fails_at_every_larger_budget_and_a_cut_run_is_censored():
    """Task a: success at 10; cut at 20; success at 30; wrong at 40. By Aalen and Johansen F(10) = 1/4, F(30) = 1/4 + 3/4 · 1/2 · …"""
    one = [("a", 10, 1, None), ("a", 20, 0, "token"), ("a", 30, 1, None), ("a", 40, 0, None)]
    found = budget_horizons(runs(one), budgets=(5, 10, 20, 25, 30, 100), weights="task")
    # after the cut run leaves, two runs share its weight: each counts 1/4 + 1/8
    assert success(found) == pytest.approx({5: 0, 10: 0.25, 20: 0.25, 25: 0.25, 30: 0.625, 100: 0.625})
    assert found.rows["share_unknown"].to_list() == pytest.approx([0] * 6)
    assert (found.n_runs, found.n_cut) == (4, 1)


def test_what_no_run_went_beyond_is_unknown():
    found = budget_horizons(runs([("a", 10, 1, None), ("a", 20, 0, "token")]), budgets=(20, 21), weights="task")
    assert found.rows["share_unknown"].to_list() == pytest.approx([0, 0.5])
    assert success(found) == pytest.approx({20: 0.5, 21: 0.5})


def test_without_cut_runs_and_with_all_the_money_it_is_the_horizon():
    world = simulate_time({"one": 10.0, "two": 60.0}, n_families=20, seed=1)
    spent = simulate_spending(world, seed=1)
    found = budget_horizons(spent, budgets=(1e13,))
    reported = time_horizons(world.counts, n_replicates=0)
    for row in found.rows.rows(named=True):
        estimate = reported.minutes(row["model"])
        assert (row["minutes"], row["minutes_low"], row["minutes_high"]) == pytest.approx(
            (estimate.value, estimate.low, estimate.high)
        )


def test_larger_budgets_never_give_shorter_horizons_and_bounds_contain_the_estimate():
    spent = simulate_spending(simulate_time({"one": 10.0, "two": 60.0}, n_families=20, seed=1), limit=1e5, seed=2)
    found = budget_horizons(spent).rows
    for _, rows in found.group_by("model"):
        at = rows.sort("budget").filter(pl.col("minutes_state") == "ok")
        assert (at["success"].diff().drop_nulls() >= 0).all()
        assert (at["minutes_at_best"].fill_null(np.inf) >= at["minutes"] - 1e-9).all()
    assert found["share_unknown"].max() > 0.1


def test_intervals_contain_the_true_horizon_at_a_budget():
    """Limits that differ between runs hide some outcomes; the truth is the horizon of the same tasks without limits, on many more of them."""
    models = {"one": 8.0, "two": 40.0}
    settings = {"n_tasks": 2, "family_sd": 0.5, "task_sd": 0.5}
    large = simulate_spending(simulate_time(models, n_families=1500, n_runs=4, seed=99, **settings), seed=99)
    budget = 60_000.0
    truth = dict(budget_horizons(large, budgets=(budget,)).rows.select("model", "minutes").rows())
    held = []
    for seed in range(15):
        world = simulate_time(models, n_families=30, n_runs=4, seed=seed, **settings)
        found = budget_horizons(simulate_spending(world, limit=90_000, seed=seed), budgets=(budget,)).rows
        held += [
            (r["minutes_low"] or 0) <= truth[r["model"]] <= (r["minutes_high"] or np.inf)
            for r in found.rows(named=True)
        ]
    assert np.mean(held) > 0.85


def test_what_cannot_be_read_is_named():
    some = runs([("a", 10, 1, None)])
    with pytest.raises(OptionError, match="No unit called 'dollars'"):
        budget_horizons(some, unit="dollars")
    with pytest.raises(InputError, match="no column 'cost'"):
        budget_horizons(some, unit="cost")
    with pytest.raises(OptionError, match="Budget -1 is not above 0"):
        budget_horizons(some, budgets=(-1,))
    counts = Attempts(
        pl.DataFrame({"subject": ["m"], "task": ["a"], "n": [4], "n_success": [2], "tokens": [5.0], "minutes": [1.0]})
    )
    with pytest.raises(InputError, match="one row per run"):
        budget_horizons(counts)


def test_inspect_logs_with_minutes_in_their_metadata_in_one_command(command, tmp_path):
    """A real Inspect log: the samples say human_minutes, and a token limit cuts those that need most."""
    maker = Path(__file__).parent / "make_timed_logs.py"
    made = prepared_process.run([maker, tmp_path / "logs"], inspect=True)
    assert made.returncode == 0, made.stderr
    told = command("horizon", "budget", tmp_path / "logs", "--family", "family", "--json", "-q")
    assert told.returncode == 0, told.stderr
    rows = json.loads(told.stdout)["horizon_by_budget"]
    assert rows[0]["success"] < rows[-1]["success"]
    assert rows[-1]["minutes"] > 1
    told = command("horizon", "time", tmp_path / "logs", "--replicates", 0, "--family", "family", "--json", "-q")
    found = json.loads(told.stdout)
    assert found["time_horizons"][0]["n_tasks"] == 8
    assert "limits" in {row["factor"] for row in found["sensitivity"]}


def test_lengths_from_a_table_of_tasks(command, tmp_path):
    """The names in a log have the eval's name before the task's; a table that names tasks alone fits them too."""
    rows = [f"m,timed/t{k},{int(k < 3)},{100 * k + 50}" for k in range(6)]
    (tmp_path / "runs.csv").write_text("\n".join(["subject,task,score,tokens", *rows]))
    table = ["task,human_minutes,family", *(f"t{k},{2**k},f{k}" for k in range(5)), "t9,3,f9"]
    (tmp_path / "tasks.csv").write_text("\n".join(table))
    told = command(
        "horizon", "budget", tmp_path / "runs.csv", "--task-table", tmp_path / "tasks.csv", "--budgets", "1000"
    )
    assert told.returncode == 0, told.stderr
    assert "5 of 6 tasks have a row; 1 rows name no task of the runs" in told.stderr
    (tmp_path / "tasks.csv").write_text("task,human_minutes\nx,1\n")
    told = command("horizon", "time", tmp_path / "runs.csv", "--task-table", tmp_path / "tasks.csv")
    assert told.returncode == 2
    assert "none of its tasks is in the runs" in told.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "task,mins\na,5\n",
            "no column minutes; it has task, mins. Rename the one that has the minutes that an expert needs",
        ),
        ("task,mins,family\na,5,f\n", "no column minutes; it has task, mins, family"),
        ("name,minutes\na,5\n", "no column task; it has name, minutes. Rename the one that names the task"),
        ("task,expert_minutes\na,5\nb,x\n", "task b has expert_minutes 'x'. Write a number above 0"),
    ],
)
def test_a_table_of_tasks_that_lacks_a_column_is_told_which(text, says):
    """ "No columns task and minutes" was said of a table with a column task, or the missing minutes were blamed on the runs."""
    table = pl.read_csv(text.encode())
    bare = Attempts(runs([("a", 10, 1, None), ("b", 10, 1, None)]).frame.drop("minutes"))
    with pytest.raises(InputError, match=re.escape(says)):
        join_tasks(bare, table, "tasks.csv")
    with_minutes = join_tasks(runs([("a", 10, 1, None)]), pl.read_csv(b"task_id,topic\na,f\n"))
    assert with_minutes.frame.select("minutes", "family").rows() == [(1.0, "f")]
