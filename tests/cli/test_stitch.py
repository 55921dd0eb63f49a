"""`howsure stitch` from the command line: the published fit, every verb, and bad input in one line."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from howsure.cli.stitch import app
from howsure.stitch.scale import Scale
from howsure.tables import Scores

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "../shared"
EXAMPLES = ROOT / "examples/stitch"
VERBS = (
    "explore",
    "fit",
    "score",
    "next",
    "predict",
    "forecast",
    "progress",
    "map",
    "robustness",
    "validate",
    "check",
    "simulate",
    "coverage",
)


def shared(name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"no real data at {path}")
    return path


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def told(*arguments):
    """Standard output of a command that must succeed."""
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def refused(*arguments):
    """The one line that a command which must fail says."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0].removeprefix("howsure: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of the example, with everything that it writes."""
    out = tmp_path_factory.mktemp("fit")
    told("fit", EXAMPLES / "scores.csv", "--replicates", 60, "--seed", 1, "-o", out)
    return out


# the published fit


def test_the_published_fit_comes_out_of_the_command(tmp_path):
    data, reference = shared("data/epoch-2025-11"), shared("reference/stitch_paper")
    told(
        "fit",
        data,
        "--preset",
        "paper",
        "--anchor",
        "Winogrande",
        "--replicates",
        0,
        "-o",
        tmp_path,
        "--formats",
        "",
        "-q",
    )
    facts = json.loads((tmp_path / "fit.json").read_text())
    assert (facts["n_observations"], facts["n_models"], facts["n_benchmarks"]) == (1324, 179, 38)
    assert facts["cost"] == pytest.approx(3.447379952726, abs=1e-8)
    assert facts["converged"]
    for name, key, columns in (
        ("models", "model", {"capability": 1e-5}),
        ("benchmarks", "benchmark", {"difficulty": 1e-4, "slope": 1e-4}),
    ):
        ours, theirs = (pl.read_csv(place / f"{name}.csv") for place in (tmp_path, reference))
        both = theirs.with_columns(pl.col(key).str.strip_chars()).join(ours, on=key, suffix="_ours")
        assert len(both) == len(theirs) == len(ours)
        for column, tolerance in columns.items():
            assert (both[column] - both[f"{column}_ours"]).abs().max() < tolerance


# what a fit writes


def test_a_fit_writes_tables_figures_replicates_charts_and_a_report(folder):
    there = {path.name for path in folder.iterdir()}
    tables = {"models.csv", "benchmarks.csv", "pairs.csv", "scores.csv", "reference.csv", "fit.json", "fit.result.zip"}
    charts = {f"{name}.png" for name in ("ranking", "capabilities", "difficulties", "curves", "residuals")}
    assert there == tables | charts | {"fit_report.html", "fit_report.sections.json"}
    models = pl.read_csv(folder / "models.csv")
    wanted = [
        "model",
        "capability",
        "capability_low",
        "capability_high",
        "capability_state",
        "n_benchmarks",
        "rank",
        "rank_low",
        "rank_high",
        "rank_state",
        "p_best",
        "date",
    ]
    assert models.columns[: len(wanted)] == wanted
    assert models["rank"].to_list() == list(range(1, 37))
    benchmarks = pl.read_csv(folder / "benchmarks.csv")
    wanted = [
        "benchmark",
        "difficulty",
        "difficulty_low",
        "difficulty_high",
        "difficulty_state",
        "slope",
        "slope_low",
        "slope_high",
        "slope_state",
        "n_models",
        "rmse",
    ]
    assert benchmarks.columns[: len(wanted)] == wanted
    assert pl.read_csv(folder / "pairs.csv").columns == [
        "a", "b", "difference", "difference_low", "difference_high", "difference_state", "p_a_greater",
    ]  # fmt: skip
    facts = json.loads((folder / "fit.json").read_text())
    assert {
        "cost",
        "rmse",
        "mae",
        "r2",
        "gradient_norm",
        "iterations",
        "converged",
        "provenance",
    } <= set(facts)
    made = facts["provenance"]
    assert (made["seed"], facts["n_replicates"], made["digest"]) == (1, 60, Scores(EXAMPLES / "scores.csv").digest)


def test_people_read_models_and_benchmarks():
    text = told("fit", EXAMPLES / "scores.csv", "--replicates", 30)
    assert "210 scores of 36 models on 12 benchmarks" in text
    assert "capability [90%]" in text
    assert "The first 15 of 36. Preset default, anchored at bench-12; all models fix the unit in refits." in " ".join(
        text.split()
    )


def test_programs_read_json():
    result = run(
        "fit", EXAMPLES / "scores.csv", "--replicates", 0, "--json", "--anchor", "bench-04", "--anchor-difficulty", 2
    )
    fitted = json.loads(result.stdout)
    assert fitted["n_models"] == len(fitted["models"]) == 36
    anchor = next(row for row in fitted["benchmarks"] if row["benchmark"] == "bench-04")
    assert (anchor["difficulty"], anchor["slope"]) == (pytest.approx(2), pytest.approx(1))
    assert fitted["models"][0]["capability_low"] is None


def test_two_models_may_fix_the_scale():
    text = run(
        "fit", EXAMPLES / "scores.csv", "--replicates", 0, "--json", "--anchor-models", "ember-10.2=150,cobalt-6.0=130"
    ).stdout
    capability = {row["model"]: row["capability"] for row in json.loads(text)["models"]}
    assert (capability["ember-10.2"], capability["cobalt-6.0"]) == (pytest.approx(150), pytest.approx(130))


def test_chosen_models_are_compared_with_each_other():
    chosen = ("ember-10.2", "cobalt-4.1", "dune-3.0")
    named = [part for name in chosen for part in ("--compare", name)]
    pairs = json.loads(run("fit", EXAMPLES / "scores.csv", "--replicates", 30, "--json", *named).stdout)["pairs"]
    assert len(pairs) == 3
    assert {pair["a"] for pair in pairs} | {pair["b"] for pair in pairs} == set(chosen)
    assert all(pair["difference_low"] < pair["difference"] < pair["difference_high"] for pair in pairs)
    assert "No model" in refused("fit", EXAMPLES / "scores.csv", "--replicates", 0, "--json", "--compare", "nobody")


def test_choices_of_scores_reach_the_fit(tmp_path):
    floors = tmp_path / "floors.csv"
    floors.write_text("benchmark,floor\nbench-01,0.1\n")
    options = [
        "--exclude",
        "bench-02",
        "--exclude",
        "dune-3.0@bench-01",
        "--since",
        "2024-01-01",
        "--min-benchmarks",
        "5",
    ]
    options += [
        "--duplicates",
        "max",
        "--floors",
        floors,
        "--resample",
        "families",
        "--level",
        "0.8",
        "--replicates",
        "30",
    ]
    fitted = json.loads(run("fit", EXAMPLES / "scores.csv", "--json", *options).stdout)
    settings = fitted["provenance"]["settings"]
    assert (settings["min_benchmarks"], settings["duplicates"], settings["resample"]) == (5, "max", "families")
    assert settings["level"] == 0.8
    assert "bench-02" not in {row["benchmark"] for row in fitted["benchmarks"]}
    assert min(row["date"] for row in fitted["models"]) >= "2024-01-01"
    assert next(row["floor"] for row in fitted["benchmarks"] if row["benchmark"] == "bench-01") == 0.1


def test_two_dimensions():
    fitted = json.loads(run("fit", EXAMPLES / "scores.csv", "--replicates", 0, "--json", "--dimensions", 2).stdout)
    assert all("trait" in row for row in fitted["models"])
    assert "knows 1 dimension" in refused("fit", EXAMPLES / "scores.csv", "--preset", "paper", "--dimensions", 2)


def test_a_seed_gives_the_same_numbers(folder):
    again = json.loads(run("fit", EXAMPLES / "scores.csv", "--replicates", 60, "--seed", 1, "--json").stdout)
    other = json.loads(run("fit", EXAMPLES / "scores.csv", "--replicates", 60, "--seed", 2, "--json").stdout)
    low = pl.read_csv(folder / "models.csv")["capability_low"].to_list()
    assert [row["capability_low"] for row in again["models"]] == low
    assert [row["capability_low"] for row in other["models"]] != low


# what is asked of a fit


def test_a_new_model_is_placed_with_its_interval(folder, tmp_path):
    text = told("score", folder, EXAMPLES / "new.csv", "-o", tmp_path)
    assert "granite-1.0" in text
    placed = pl.read_csv(tmp_path / "placed.csv").row(0, named=True)
    assert placed["capability_low"] < placed["capability"] < placed["capability_high"]
    assert placed["n_benchmarks"] == 4
    assert (
        json.loads(run("score", folder, EXAMPLES / "new.csv", "--json").stdout)["placed"][0]["model"] == "granite-1.0"
    )


def test_the_next_benchmark_is_one_the_model_lacks(folder):
    shown = told("next", folder, "--model", "cobalt-4.0", "-n", 2)
    found = json.loads(run("next", folder, "--model", "cobalt-4.0", "--json").stdout)["next"]
    has = Scale.load(folder).problem.to_frame().filter(pl.col("model") == "cobalt-4.0")["benchmark"]
    assert not {row["benchmark"] for row in found} & set(has)
    assert found[0]["benchmark"] in shown
    assert found[0]["sd_after"] < found[0]["sd_now"]
    assert "Did you mean 'cobalt-4.0'?" in refused("next", folder, "--model", "cobalt-40")


def test_forecast(folder, tmp_path):
    text = told(
        *("forecast", folder, "--cutoff-date", "2025-09-01", "--forecast-years", 1, "--saturation", 0.8),
        *("-o", tmp_path, "--formats", "html"),
    )
    assert "The frontier rises by " in text
    assert "When a model scores 80%" in text
    there = {path.name for path in tmp_path.iterdir()}
    assert {
        "forecast.csv",
        "frontier.csv",
        "saturation.csv",
        "forecast.json",
        "forecast_report.html",
    } <= there
    assert "is not a date" in refused("forecast", folder, "--cutoff-date", "soon")


def test_progress(folder, tmp_path):
    told_by_scores = told("progress", folder, "-o", tmp_path, "--formats", "html")
    assert "orders of magnitude of compute saved per year" in told_by_scores
    assert {"progress.csv", "progress.json", "progress_report.html"} <= {p.name for p in tmp_path.iterdir()}
    compute = tmp_path / "compute.csv"
    Scale.load(folder).models.select("model", "compute").head(12).write_csv(compute)
    assert "12 models with a date and known compute" in told("progress", folder, "--compute", compute)
    assert "11 models" in told("progress", folder, "--compute", compute, "--exclude", "ember-10.2")


def test_map(folder, tmp_path):
    text = told("map", folder, EXAMPLES / "horizons.csv", "-o", tmp_path)
    assert "Time horizons of 12 models by capability" in text
    assert {"horizon_map.csv", "horizon_map.json", "horizon_map.png", "map_report.html"} <= {
        p.name for p in tmp_path.iterdir()
    }


def test_check(folder, tmp_path):
    text = told("check", folder, "-n", 5, "--seed", 3, "-o", tmp_path, "--formats", "html")
    assert "Is this the order that you would expect?" in text
    assert "standard deviations from their expected values" in text
    assert {"check.csv", "check_scores.csv", "check_report.html"} <= {p.name for p in tmp_path.iterdir()}
    assert len(pl.read_csv(tmp_path / "check.csv")) == 5


def test_the_check_of_models_with_long_names_is_a_table(tmp_path):
    """Neighbours beside each model made it wider than any terminal: it became a list of a hundred lines."""
    rows = pl.read_csv(EXAMPLES / "scores.csv").with_columns(pl.col("model") + "-20250101-preview-thinking-high")
    rows.write_csv(tmp_path / "scores.csv")
    told("fit", tmp_path / "scores.csv", "--replicates", 2, "-o", tmp_path / "fit", "--formats", "html")
    lines = told("check", tmp_path / "fit", "-n", 4).splitlines()
    assert sum("preview-thinking-high" in line and " of " in line and "[" in line for line in lines) == 4


def test_an_update_without_news_has_no_table(folder):
    text = told("update", folder, EXAMPLES / "scores.csv", "--replicates", 0)
    assert "No capability changed" in text
    assert "The largest changes" not in text


def test_robustness(tmp_path):
    text = told(
        "robustness",
        EXAMPLES / "scores.csv",
        "-n",
        10,
        "--folds",
        2,
        "--share",
        0.4,
        "-o",
        tmp_path,
        "--formats",
        "html",
    )
    assert "What the conclusion is sensitive to" in text
    assert "Without 40% of the benchmarks, drawn 10 times" in text
    assert "Held-out error of the models of the scores" in text
    there = {path.name for path in tmp_path.iterdir()}
    assert {"robustness_factors.csv", "robustness.json", "robustness_report.html"} <= there


def test_predict(folder, tmp_path):
    names = pl.read_csv(folder / "models.csv")["model"][:2].to_list()
    text = told("predict", folder, *names, "-b", "bench-02", "--benchmark", "bench-05", "-o", tmp_path)
    assert "Predicted scores" in text
    rows = pl.read_csv(tmp_path / "predictions.csv")
    assert rows["model"].to_list() == [names[0], names[0], names[1], names[1]]
    assert set(rows["benchmark"]) == {"bench-02", "bench-05"}
    again = Scale.load(folder).predict(names, ["bench-02", "bench-05"]).scores
    assert again["expected"].to_list() == pytest.approx(rows["expected"].to_list())
    assert "No model in this fit called 'nobody'" in refused("predict", folder, "nobody")


def test_validate(tmp_path):
    text = told("validate", EXAMPLES / "scores.csv", "--folds", 3, "--known", 2, "-o", tmp_path)
    assert "Errors of predicted scores" in text
    assert "Coverage of the 90% prediction intervals" in text
    errors = pl.read_csv(tmp_path / "heldout_errors.csv")
    splits = ["random holes", "new models", "later models", "all three"]
    assert errors["split"].unique(maintain_order=True).to_list() == splits
    assert errors["n_known"].unique(maintain_order=True).to_list() == [None, 2]


def test_a_file_of_folds_is_used_by_robustness(tmp_path):
    """The option was read and then ignored."""
    rows = pl.read_csv(EXAMPLES / "scores.csv").select("model", "benchmark").with_row_index("fold")
    path = tmp_path / "folds.csv"
    rows.head(5).write_csv(path)
    assert "scores have no fold" in refused("robustness", EXAMPLES / "scores.csv", "-n", 2, "--folds", path)


def test_explore(tmp_path):
    text = told("explore", EXAMPLES / "scores.csv", "-o", tmp_path)
    assert "210 scores of 36 models on 12 benchmarks" in text
    assert "they can be put on one scale" in text
    assert {"overlap.csv", "overlap.png", "months.png", "coverage.png", "explore_report.html"} <= {
        p.name for p in tmp_path.iterdir()
    }


def test_explore_names_the_parts_of_a_table_that_falls_apart(tmp_path):
    rows = [(f"{side}{m}", f"{side}-bench-{b}", 0.5) for side in "xy" for m in range(3) for b in range(4)]
    text = told("explore", written(tmp_path, rows))
    assert "The table has 2 unlinked groups" in text
    assert "y0 on x-bench-0" in text


def test_the_example_is_what_the_simulator_draws(tmp_path):
    told("simulate", "--models", 36, "--benchmarks", 12, "--density", 0.45, "--seed", 4, "-o", tmp_path)
    drawn, bundled = (pl.read_csv(folder / "scores.csv") for folder in (tmp_path, EXAMPLES))
    assert_frame_equal(drawn, bundled, rel_tol=1e-9, abs_tol=0)  # the last digits differ between CPUs
    assert len(pl.read_csv(tmp_path / "true_models.csv")) == 36
    assert len(pl.read_csv(tmp_path / "true_benchmarks.csv")) == 12


def test_a_world_may_have_the_gaps_of_a_table(tmp_path):
    told("simulate", "--like", EXAMPLES / "scores.csv", "--seed", 2, "-o", tmp_path)
    pairs = [
        Scores(place / "scores.csv").frame.select("model", "benchmark").sort("model", "benchmark")
        for place in (tmp_path, EXAMPLES)
    ]
    assert pairs[0].equals(pairs[1])


def test_coverage(tmp_path):
    text = told("coverage", "-n", 2, "--resample", "errors", "--replicates", 20, "-o", tmp_path)
    assert "Coverage: all assumptions hold" in text
    assert set(pl.read_csv(tmp_path / "coverage.csv")["resample"]) == {"errors", ""}  # predictions redraw nothing
    assert "No resampling called 'boots'" in refused("coverage", "-n", 2, "--resample", "boots")


# bad input


def written(folder, rows, columns=("model", "benchmark", "score"), name="scores.csv"):
    path = folder / name
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def grid(n_models=8, n_benchmarks=6):
    """Scores that rise with the model and fall with the benchmark, not quite smoothly."""
    return [
        (f"m{m}", f"b{b}", round(1 / (1 + 2.7 ** ((b - m) / 2)) + 0.02 * ((3 * m + 5 * b) % 4 - 1.5), 4))
        for m in range(n_models)
        for b in range(n_benchmarks)
    ]


BAD = {
    "one benchmark": ([r for r in grid() if r[1] == "b1"], ["--min-benchmarks", "1"], "Only one benchmark is left (b1)"),
    "one benchmark, plainly": ([r for r in grid() if r[1] == "b1"], [], "No model is on 4 benchmarks; the most is 1"),
    "disconnected": (grid() + [(f"{m}x", f"{b}x", s) for m, b, s in grid()], [], "fall into 2 groups that no model links"),
    "three rows": (grid()[:3], [], "No model is on 4 benchmarks"),
    "three rows, plainly": (grid()[:3], ["--min-benchmarks", "1"], "Too little is left for a scale: 3 scores"),
    "anchor": (grid(), ["--anchor", "B 3"], "No benchmark to anchor the scale called 'B 3'. Did you mean 'b3'?"),
    "anchor models": (grid(), ["--anchor-models", "m1=130,m77=150"], "No model to anchor the scale called 'm77'"),
    "one anchor model": (grid(), ["--anchor-models", "m1=130"], "two fix a scale"),
    "anchor models, garbled": (grid(), ["--anchor-models", "m1"], 'write it as "A=130,B=150"'),
    "both anchors": (grid(), ["--anchor", "b1", "--anchor-models", "m1=1,m5=2"], "give one of them"),
    "preset": (grid(), ["--preset", "papers"], "No preset called 'papers'. Did you mean 'paper'?"),
    "duplicates": (grid(), ["--duplicates", "median"], "No policy for duplicates called 'median'"),
    "resample": (grid(), ["--resample", "boot"], "No resampling called 'boot'"),
    "since": (grid(), ["--since", "2024"], "is not a date"),
    "excluded": (grid(), ["--exclude", "m1@b77"], "No model, benchmark or model@benchmark called 'm1@b77'"),
    "floors": (grid(), ["--floors", "nowhere.csv"], "nowhere.csv: no such file"),
    "nothing left": (grid(), ["--since", "2024-01-01"], "have no date"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_in_one_line(case, tmp_path):
    rows, options, words = BAD[case]
    assert words in refused("fit", written(tmp_path, rows), "--replicates", "20", *options)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([*grid(), ("m9", "b1", "NaN")], "1 blank excluded"),
        ([(m, b, f"{100 * s:.1f}") for m, b, s in grid()], "percent"),
    ],
)
def test_missing_scores_and_percentages_are_said(rows, words, tmp_path, command):
    told = command("stitch", "fit", written(tmp_path, rows), "--replicates", "20")
    assert told.returncode == 0, told.stderr
    assert words in told.stderr


def test_dates_that_contradict_each_other_are_refused(tmp_path):
    rows = [(*row, "2024-01-01") for row in grid()] + [("m3", "b0", 0.4, "2024-06-01")]
    path = written(tmp_path, rows, ("model", "benchmark", "score", "date"))
    assert "m3 has two different values of date: 2024-01-01 (b0) and 2024-06-01 (b0)" in refused("fit", path)
    assert "m3 has two different values of date" in refused("robustness", path)


def test_models_beyond_all_benchmarks_and_flat_benchmarks_are_states(tmp_path):
    edges = [(name, f"b{b}", score) for name, score in (("top", 1.0), ("bottom", 0.0)) for b in range(6)]
    flat = [(f"m{m}", "flat", 0.5) for m in range(8)]
    text = run("fit", written(tmp_path, [*grid(), *edges, *flat]), "--replicates", "40", "--json", "-q").stdout
    fitted = json.loads(text)
    models = {row["model"]: row for row in fitted["models"]}
    assert (models["top"]["capability_state"], models["top"]["capability_high"]) == ("above_range", None)
    assert (models["bottom"]["capability_state"], models["bottom"]["capability_low"]) == ("below_range", None)
    assert models["top"]["capability_low"] < models["top"]["capability"]
    assert next(row["difficulty_state"] for row in fitted["benchmarks"] if row["benchmark"] == "flat") == "undefined"


def test_attempts_are_not_scores():
    line = refused("fit", ROOT / "examples/evals/attempts.csv")
    assert "contains attempts; this command needs scores" in line


def test_a_folder_without_a_fit_is_told(tmp_path):
    for verb in ("next", "check", "forecast", "progress"):
        options = ["--model", "x"] if verb == "next" else []
        assert "expected one file fit.result.zip" in refused(verb, tmp_path, *options)


def test_new_scores_on_unknown_benchmarks_are_told(folder, tmp_path):
    assert "is on the scale" in refused("score", folder, written(tmp_path, [("new", "elsewhere", 0.5)]))


def test_the_group_lists_all_verbs():
    text = told("--help")
    assert all(f"  {verb} " in text for verb in VERBS)
    assert "..." not in text.split("The scale:")[1], "a first line is too long to be shown whole"
