"""The bridges from the command line."""

import json
from pathlib import Path

import numpy as np
import polars as pl

ROOT = Path(__file__).parents[2]


def judged(folder, seed=0):
    """Verdicts of a judge that passes too much, labels of some, and novices who learn the same task."""
    rng = np.random.default_rng(seed)
    good = rng.random(300) < 0.5
    verdict = np.where(rng.random(300) < np.where(good, 0.95, 0.4), 1.0, 0.0)
    runs = {"subject": "m", "kind": "model", "task": "t", "attempt": np.arange(1, 301), "score": verdict}
    pl.DataFrame(runs).write_csv(folder / "verdicts.csv")
    labels = {"rater": "r", "item": [f"m/t/{i + 1}" for i in range(100)], "dimension": "success"}
    pl.DataFrame(labels | {"value": good[:100].astype(float)}).write_csv(folder / "labels.csv")
    chance = np.array([0.2, 0.4, 0.5, 0.6, 0.7])
    answers = [(f"p{i}", k + 1, float(rng.random() < p)) for i in range(100) for k, p in enumerate(chance)]
    people = pl.DataFrame(answers, schema=["subject", "attempt", "score"], orient="row")
    people.with_columns(kind=pl.lit("human"), task=pl.lit("t")).write_csv(folder / "novices.csv")


def test_verdicts_are_corrected_and_give_a_horizon(tmp_path, command):
    judged(tmp_path)
    told = command(
        *("bridge", "judged", "verdicts.csv", "--labels", "labels.csv", "--novices", "novices.csv"),
        *("--replicates", 100, "-o", "out", "--json"),
        cwd=tmp_path,
    )
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert found["corrected"][0]["corrected_low"] < 0.5 < found["corrected"][0]["corrected_high"]
    assert found["corrected"][0]["judged_low"] > 0.55
    assert found["judged_horizons"][0]["from_judge"] > 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"corrected.csv", "corrected.png", "attempts.csv", "judged_horizons.csv", "corrected_report.html"}


def two_scales(folder):
    """A fit and time horizons of the same models, as the instruments save them."""
    capability = np.linspace(-2, 2, 8)
    fit = {
        "model": [f"m{i}" for i in range(8)],
        "capability": capability,
        "low": capability - 1,
        "high": capability + 1,
    }
    (folder / "fit").mkdir()
    (folder / "time").mkdir()
    pl.DataFrame(fit | {"state": "ok"}).write_csv(folder / "fit/models.csv")
    minutes = 2 ** (capability + 0.2 * np.sin(np.arange(8)))
    rows = {
        "model": fit["model"],
        "success_rate": 0.5,
        "minutes": minutes,
        "minutes_low": minutes / 2,
        "minutes_high": minutes * 2,
    }
    pl.DataFrame(rows | {"minutes_state": "ok"}).write_csv(folder / "time/time_horizons.csv")


def test_scales_are_joined(tmp_path, command):
    two_scales(tmp_path)
    told = command("bridge", "map", "fit", "time", "-o", "out", "--json", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    link = json.loads(told.stdout)["scales"][0]
    assert link["slope_low"] < 1 < link["slope_high"]
    assert (tmp_path / "out/capability_minutes.png").exists()


def test_what_does_not_fit_is_told_in_one_line(tmp_path, command):
    told = command("bridge", "map", tmp_path, tmp_path)
    assert told.returncode == 2
    assert told.stderr == f"howsure: {tmp_path}: contains no scale. Name a folder or file of models.csv, placed.csv, time_horizons.csv, horizons.csv.\n"  # fmt: skip
