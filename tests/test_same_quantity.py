"""Every quantity that two places show, and that both show the same number.

A row of `PAIRS` is a quantity: what it is, and a function that returns what the two places say, as numbers by name. A new place that shows a
known quantity gets a row here.
"""

import csv
import datetime
import functools
import io
import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import howsure
from howsure.bridges import learning_attempts, map_scales, scores_of, track_horizons
from howsure.cli.app import app
from howsure.horizon import attempt_horizons, compare_horizons, fit_horizon_trend, time_horizons
from howsure.horizon.simulator import draw_suite
from howsure.horizon.simulator import simulate as simulate_novices
from howsure.stitch import explore, fit, forecast, map_horizons, score
from howsure.stitch.forecasting.frontier import Dated
from howsure.study import analyze, reliability, validate
from howsure.study.scoring.fidelity import score as score_fidelity
from howsure.tables import Scores
from howsure.track import measure
from howsure.track.samples import GameSample, Samples

ROOT = Path(__file__).parents[1] / "examples"
ATTEMPTS, SCORES, COUNTS = ROOT / "evals/attempts.csv", ROOT / "stitch/scores.csv", ROOT / "horizon/time_counts.csv"
RATINGS, RATERS, STUDY = (ROOT / f"study/{name}" for name in ("ratings.csv", "raters.csv", "study.yaml"))

PAIRS = {}


def same(quantity, tolerance=1e-9):
    """Register a quantity with the function that returns what two places say of it, and the relative difference that they may have."""

    def keep(function):
        PAIRS[quantity] = function, tolerance
        return function

    return keep


def numbers(frame, key, *columns):
    """The numbers of a table by the names in its key columns."""
    keys = [key] if isinstance(key, str) else key
    return {(*(row[k] for k in keys), column): row[column] for row in frame.iter_rows(named=True) for column in columns}


def ends(estimate):
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "state": estimate.state}


def printed(*words):
    """What a verb prints with --json, in this process."""
    done = CliRunner().invoke(app, [*map(str, words), "--json", "--quiet"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@functools.cache
def attempts():
    return howsure.read(ATTEMPTS)


@functools.cache
def scale():
    return fit(howsure.read(SCORES), n_replicates=40)


@functools.cache
def minutes():
    return time_horizons(howsure.read(COUNTS), n_replicates=40)


@functools.cache
def analysis():
    return analyze(RATINGS, raters=RATERS, study=STUDY)


@functools.cache
def games():
    """Five people who learn, and a model, on one board."""
    rng, rows = np.random.default_rng(5), []
    for person in ("jo", "sam", "kim", "lee", "ann"):
        rows += [game(person, "human", attempt, int(rng.integers(2, 6) + 2 * attempt)) for attempt in range(1, 6)]
    rows += [game("amber-1", "model", attempt, int(rng.integers(6, 14))) for attempt in range(1, 11)]
    return Samples.from_games(rows)


def game(who, kind, attempt, turns):
    return GameSample(who, "median", attempt, turns, 60, "other", kind=kind, attempt=attempt)


# ---- evals


@same("differences of means: compare and summary")
def _():
    means = {(row.subject, row.task): row.mean.value for row in howsure.summary(attempts()).rows}
    rows = howsure.compare(attempts(), seed=1).pairs
    shown = {(row.a, row.b, row.task): row.difference.value for row in rows if row.n_unshared == 0}
    assert shown
    return shown, {(a, b, task): means[a, task] - means[b, task] for a, b, task in shown}


@same("means: summary and bridge scores")
def _():
    group = "domain"
    scores = scores_of(attempts()).frame
    means = howsure.summary(attempts(), by=group, cluster="task").to_frame()
    known = numbers(scores, ["model", "benchmark"], "score", "se")
    renamed = means.rename({"subject": "model", "task": "benchmark", "mean": "score"})
    return known, {
        key: one for key, one in numbers(renamed, ["model", "benchmark"], "score", "se").items() if key in known
    }


@same("summary: verb and Python")
def _():
    verb = pl.DataFrame(printed("summary", ATTEMPTS)["summary"], infer_schema_length=None)
    columns = "mean", "mean_low", "mean_high", "mean_state", "n", "se"
    python = howsure.summary(attempts()).to_frame()
    return tuple(numbers(frame, ["subject", "task"], *columns) for frame in (verb, python))


@same("compare: verb and Python")
def _():
    verb = pl.DataFrame(printed("compare", ATTEMPTS, "--seed", 1)["compare"], infer_schema_length=None)
    columns = "difference", "difference_low", "difference_high", "p", "p_adjusted", "p_a_greater"
    python = howsure.compare(attempts(), seed=1).to_frame()
    return tuple(numbers(frame, ["a", "b", "task"], *columns) for frame in (verb, python))


# ---- stitch


# the fit moves capabilities, benchmarks and noise together, placing moves the capability alone
@same("capabilities: stitch fit and stitch score of the same models", tolerance=0.005)
def _():
    rows = howsure.read(SCORES).frame
    names = scale().models.filter(capability_state="ok")["model"].to_list()[:5]
    placed = score(scale(), Scores(rows.filter(pl.col("model").is_in(names)))).to_frame()
    return tuple(
        numbers(f.filter(pl.col("model").is_in(names)), "model", "capability") for f in (scale().models, placed)
    )


@same("capabilities: stitch fit, verb and Python")
def _():
    verb = pl.DataFrame(printed("stitch", "fit", SCORES, "--replicates", 40)["models"], infer_schema_length=None)
    columns = "capability", "capability_low", "capability_high", "rank", "p_best"
    return tuple(numbers(frame, "model", *columns) for frame in (verb, scale().models))


@same("P(A > B) and P(best): pairs and models of stitch fit")
def _():
    first, second = scale().models["model"][:2].to_list()
    pairs = scale().pairs([second, first])
    drawn = scale().usable_replicates.capability
    a, b = (drawn[:, scale().problem.model_at(name)] for name in (first, second))
    return {"p": pairs["p_a_greater"][0]}, {"p": float((np.sign(a - b) + 1).mean() / 2)}


@same("slope and correlation: stitch map and bridge map")
def _():
    rows = scale().models.head(14).with_row_index("place")
    told = rows.select("model", minutes=2.0 ** (pl.col("capability") + 0.3 * (pl.col("place") % 3)))
    one = map_horizons(scale(), dict(told.iter_rows()), n_replicates=20)
    drawn = scale().usable_replicates.capability
    draws = pl.DataFrame({"model": scale().problem.models, "draws": drawn.T.tolist()})
    capability = scale().models.select("model", "family", value="capability").join(draws, on="model")
    two = map_scales({"capability": capability, "minutes": told.rename({"minutes": "value"})}).links[0]
    first, second = (
        (ends(slope), ends(r)) for slope, r in ((one.doublings, one.correlation), (two.slope, two.correlation))
    )
    return dict(enumerate(first)), dict(enumerate(second))


@same("models and benchmarks: stitch explore and the table of scores")
def _():
    found = explore(howsure.read(SCORES))
    counts = {"models": len(found.models), "benchmarks": len(found.benchmarks)}
    raw = howsure.read(SCORES).frame
    return counts, {"models": raw["model"].n_unique(), "benchmarks": raw["benchmark"].n_unique()}


@same("slope of the frontier: forecast and the chart of capabilities")
def _():
    shown = Dated.of(scale()).trend(level=scale().level)
    return ends(forecast(scale(), n_simulations=9, level=scale().level).trend.slope()), ends(shown.slope())


# ---- horizon


@same("time horizons: horizon time and horizon compare")
def _():
    a, b = minutes().to_frame()["model"].unique(maintain_order=True)[:2]
    table = minutes().to_frame()
    shown = {row.success_rate: (row.a, row.b) for row in compare_horizons(minutes(), a, b).rows}
    compared = {(rate, name): one.value for rate, pair in shown.items() for name, one in zip((a, b), pair, strict=True)}
    known = {(row["success_rate"], row["model"]): row["minutes"] for row in table.iter_rows(named=True)}
    return compared, {key: known[key] for key in compared}


@same("time horizons: horizon time and the setting of sensitivity that is in use")
def _():
    used = f"{minutes().provenance.settings['regularisation']:g}"
    rows = [row for row in minutes().sensitivity.rows if (row.factor, row.setting) == ("regularisation", used)]
    other = time_horizons(howsure.read(COUNTS), n_replicates=0, weights="task")
    weighted = [row for row in minutes().sensitivity.rows if (row.factor, row.setting) == ("weights", "task")]
    assert rows or weighted
    known = numbers(minutes().to_frame(), ["model", "success_rate"], "minutes")
    again = numbers(other.to_frame(), ["model", "success_rate"], "minutes")
    one = {(row.model, row.success_rate): row.ratio for row in (*rows, *weighted) if row.ratio is not None}
    at = {key: (*key, "minutes") for key in one}
    return one, {key: again[at[key]] / known[at[key]] if weighted else 1.0 for key in one}


@same("time horizons: horizon time and horizon trend")
def _():
    table = minutes().to_frame().filter(success_rate=0.5)
    releases = {model: datetime.date(2022 + i, 1, 1) for i, model in enumerate(table.sort("minutes")["model"])}
    trend = fit_horizon_trend(minutes(), releases).models
    return numbers(trend, "model", "minutes"), numbers(table, "model", "minutes")


@same("time horizons: verb and Python")
def _():
    told = printed("horizon", "time", COUNTS, "--replicates", 40)["time_horizons"]
    columns = "minutes", "minutes_low", "minutes_high", "minutes_state"
    verb = pl.DataFrame(told, infer_schema_length=None)
    return tuple(numbers(frame, ["model", "success_rate"], *columns) for frame in (verb, minutes().to_frame()))


@same("success: horizon attempts and summary")
def _():
    runs = simulate_novices(draw_suite(6, seed=1), n_learners=8, n_attempts=4, n_runs=3, seed=1).attempts
    shown = {row.model: row.success.value for row in attempt_horizons(runs, n_replicates=20).rows}
    frame = runs.frame.with_columns(pl.lit("all").alias("domain"))
    means = howsure.summary(howsure.Attempts(frame), by="domain").rows
    return shown, {row.subject: row.mean.value for row in means if row.subject in shown}


@same("horizons in games: bridge track and horizon attempts of its attempts")
def _():
    options = {"n_replicates": 20, "seed": 3}
    columns = "horizon", "horizon_low", "horizon_high", "horizon_state", "success"
    one, two = track_horizons(games(), **options), attempt_horizons(learning_attempts(games()), **options)
    return tuple(numbers(found.to_frame(), ["model", "definition", "success_rate"], *columns) for found in (one, two))


@same("average turns: track report and bridge track")
def _():
    shown = {row["model"]: row["avg_max_length"] for row in measure(games()).to_frame().iter_rows(named=True)}
    success = {row.model: row.success.value for row in track_horizons(games(), n_replicates=20).rows}
    return {name: shown[name] for name in success}, {name: 60 * share for name, share in success.items()}


# ---- study


@same("agreement: study analyze and study reliability of the included raters")
def _():
    found = analysis().findings
    ratings = howsure.read(RATINGS, table="ratings").frame
    kept = howsure.Ratings(ratings.filter(pl.col("rater").is_in(found.raters), pl.col("dimension") == "voice"))
    one = {
        name: ends(estimate)
        for name, estimate in reliability(kept, rater_effects=found.settings.rater_effects).coefficients.items()
    }
    return one, {name: ends(found.statistics[f"voice.{name}"]) for name in one}


@same("noise ceiling: study analyze and study validate")
def _():
    found = analysis().findings
    table = score_fidelity(howsure.read(RATINGS, table="ratings")).of(list(found.raters))
    judge = table.frame.group_by("item").agg(pl.col("pfi").mean().alias("value"))
    people = table.frame.select("rater", "item", pl.lit("pfi").alias("dimension"), value="pfi")
    scored = [pair.item for pair in found.pairs if pair.model is not None]
    mine = judge.select(rater=pl.lit("toy"), item="item", dimension=pl.lit("pfi"), value="value")
    keep = pl.col("item").is_in(scored)
    rows = validate(
        howsure.Ratings(people.filter(keep)),
        howsure.Ratings(mine.filter(keep)),
        rater_effects=found.settings.rater_effects,
    )
    (row,) = rows.rows
    return ends(found.statistics["noise_ceiling"]), ends(row.statistics["noise_ceiling"])


@same("mean fidelity: statistics and the verdict's criteria")
def _():
    shown = analysis().as_dict()
    known = {row["statistic"]: row["value"] for row in shown["statistics"]}
    judged = {one.criterion.statistic: one.estimate.value for one in analysis().judgements}
    return judged, {name: known[name] for name in judged}


# ---- files


@pytest.mark.parametrize(
    "make",
    [
        lambda: howsure.summary(attempts()),
        lambda: howsure.compare(attempts(), seed=1),
        scale,
        minutes,
        analysis,
        lambda: measure(games()),
    ],
    ids=["summary", "compare", "stitch fit", "horizon time", "study analyze", "track report"],
)
def test_csv_and_json_show_the_same(make, tmp_path):
    result = make()
    result.save(tmp_path)
    shown, n = result.as_dict(), 0
    for name in result.tables:
        path = tmp_path / f"{name}.csv"
        if name not in shown or not path.exists():
            continue
        written = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
        assert len(written) == len(shown[name])
        for line, row in zip(written, shown[name], strict=True):
            for column, value in row.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    assert float(line[column]) == pytest.approx(value, rel=1e-9)
                    n += 1
                elif value is None:
                    assert line[column] == ""
    assert n


@pytest.mark.parametrize("quantity", PAIRS)
def test_two_places_show_the_same(quantity):
    function, tolerance = PAIRS[quantity]
    one, two = (flat(place) for place in function())
    assert one
    assert one.keys() == two.keys()
    for name, value in one.items():
        if isinstance(value, float) and isinstance(two[name], int | float):
            assert math.isclose(value, two[name], rel_tol=tolerance, abs_tol=1e-12), (name, value, two[name])
        else:
            assert value == two[name], name


def flat(shown):
    """Nested names as one level."""
    found = {}
    for name, value in shown.items():
        found |= (
            {(name, *inner): one for inner, one in flat(value).items()} if isinstance(value, dict) else {(name,): value}
        )
    return found


def test_python_reads_the_files_that_the_command_reads(command):
    """Logs of another tool and folders of them, not only tables."""
    logs = Path(__file__).parents[1] / "../shared/data/formats/inspect"
    if not logs.is_dir():
        pytest.skip("no ../shared/data/formats/inspect")
    told = json.loads(command("summary", logs, "--json", "-q").stdout)
    found = howsure.summary(logs).tables["summary"]
    assert [row["mean"] for row in told["summary"]] == pytest.approx(found["mean"].to_list(), rel=1e-9)
    assert howsure.items(logs).to_frame().height > 0
    with pytest.raises(howsure.HowsureError, match="votes are needed here"):
        howsure.Votes.of(logs)
