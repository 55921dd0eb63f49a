"""Horizons by budget: cumulative incidence by hand, what is unknown, a true value, Inspect logs in one command."""

import json

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.horizon import budget_horizons, time_horizons
from howsure.horizon.time_horizon.simulator import simulate_spending, simulate_time
from howsure.tables import Attempts


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
    large = simulate_spending(simulate_time(models, n_families=3000, n_runs=4, seed=99, **settings), seed=99)
    budget = 60_000.0
    truth = dict(budget_horizons(large, budgets=(budget,)).rows.select("model", "minutes").rows())
    held = []
    for seed in range(40):
        world = simulate_time(models, n_families=30, n_runs=4, seed=seed, **settings)
        found = budget_horizons(simulate_spending(world, limit=90_000, seed=seed), budgets=(budget,)).rows
        held += [
            (r["minutes_low"] or 0) <= truth[r["model"]] <= (r["minutes_high"] or np.inf) for r in found.rows(named=True)
        ]
    assert np.mean(held) > 0.88


def test_what_cannot_be_read_is_named():
    some = runs([("a", 10, 1, None)])
    with pytest.raises(OptionError, match="No spending called 'dollars'"):
        budget_horizons(some, of="dollars")
    with pytest.raises(InputError, match="no column 'cost'"):
        budget_horizons(some, of="cost")
    with pytest.raises(OptionError, match="Budget -1 is not above 0"):
        budget_horizons(some, budgets=(-1,))
    counts = Attempts(
        pl.DataFrame({"subject": ["m"], "task": ["a"], "n": [4], "n_success": [2], "tokens": [5.0], "minutes": [1.0]})
    )
    with pytest.raises(InputError, match="one row per run"):
        budget_horizons(counts)


def test_inspect_logs_with_minutes_in_their_metadata_in_one_command(command, tmp_path):
    """Real Inspect logs: the samples say human_minutes, and a token limit cuts some of them."""
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate

    minutes = [0.5, 1, 2, 4, 8, 16, 32, 64]
    samples = [
        Sample(input=f"task {k}", target="yes", id=f"t{k}", metadata={"human_minutes": m, "family": f"f{k}"})
        for k, m in enumerate(minutes)
    ]

    def answers():
        for k in range(len(minutes)):
            out = ModelOutput.from_content("mockllm/model", "yes" if k in (0, 1, 2, 3, 5) else "no")
            out.usage = type(out.usage)(input_tokens=10, output_tokens=100 * (k + 1), total_tokens=10 + 100 * (k + 1)) if out.usage else None  # fmt: skip
            yield out

    model = get_model("mockllm/model", custom_outputs=answers())
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match())
    log = eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", max_samples=1)[0]
    assert log.status == "success"
    told = command("horizon", "time", tmp_path / "logs", "--replicates", 0, "--family", "family", "--json", "-q")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["time_horizons"][0]["n_tasks"] == 8
    told = command("horizon", "budget", tmp_path / "logs", "--of", "seconds", "--family", "family", "--json", "-q")
    assert told.returncode == 0, told.stderr
    rows = json.loads(told.stdout)["horizon_by_budget"]
    assert rows[-1]["minutes"] > 1
