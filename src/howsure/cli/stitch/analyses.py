"""What is asked of a finished scale, or of its scores: `howsure stitch predict, forecast, lag, progress, map, robustness, validate, check`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import Inputs, Level, Output, Reading, Scheduler, Seed, verb
from howsure.cli.output import Console, finish, progress_bar
from howsure.cli.stitch.scale import (
    Fit,
    Fitting,
    capability_of,
    ends_of,
    figure,
    folds_named,
    load_scale,
    share_of,
    stated_score,
)
from howsure.errors import OptionError
from howsure.estimates import Estimate, chance, stated

if TYPE_CHECKING:
    import polars as pl

    from howsure.stitch.forecasting.backtest import BreakTest

MOST_PREDICTED = 60
"""Rows of predictions that a terminal shows."""

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure stitch predict fit cobalt-4.0 --benchmark bench-02")
@verb
def predict(
    folder: Fit,
    output: Output,
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Models of the scale.", show_default=False)],
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "-b", "--benchmark", help="Benchmark: one of the scale; may be repeated. [default: all]", show_default=False
        ),
    ] = None,
) -> None:
    """Expected scores of a model, on benchmarks with and without a score.

    The expected score has a confidence interval; a score that would be observed has a prediction interval, which adds the noise of one score. Related scores
    are used: of the same family, organisation and time, and of the model on other benchmarks. Writes predictions.csv and predictions.json.
    """
    scale = load_scale(folder)
    found = scale.predict(models, benchmark)
    rows = [
        (r["model"], r["benchmark"], stated_score(r, scale.level), ends_of(r["prediction_low"], r["prediction_high"]), figure(r["observed"], 3))
        for r in found.scores.head(MOST_PREDICTED).rows(named=True)
    ]  # fmt: skip
    columns = (
        "model",
        "benchmark",
        f"expected score [{scale.level:.0%}]",
        f"one observed score, {scale.level:.0%}",
        "fitted score",
    )
    n = len(found.scores)
    cut = f"The first {MOST_PREDICTED} of {n:,}." if n > MOST_PREDICTED else ""
    output.console.table("Predicted scores", columns, rows, cut)
    finish(found, output, "predict", "Predicted scores")


@app.command(epilog="Example: howsure stitch validate examples/stitch/scores.csv --folds 3")
@verb
def validate(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    fitting: Fitting,
    folds: Annotated[str, typer.Option(help="Number of folds, or a file with model, benchmark, fold.")] = "10",
    known: Annotated[
        str, typer.Option(help="Scores that new and later models keep: one or more numbers, with commas.")
    ] = "1,3,5",
    level: Level = 0.9,
    seed: Seed = 0,
) -> None:
    """How well `predict` predicts scores that it has not seen.

    Random scores, new models and later models are held out. Compared with the curves alone and with the preset paper; coverage of the prediction intervals.
    Writes heldout_errors.csv, heldout_coverage.csv and heldout.json.
    """
    from howsure.stitch.sensitivity.heldout import validate as hold_out

    scores = reading.scores(inputs, output.console)
    names = ("preset", "min_benchmarks", "since", "duplicates", "include", "exclude", "floors", "keep_overlaps")
    options = {name: value for name, value in fitting.options.items() if name in names}
    with progress_bar("fitting", output.console) as progress:
        found = hold_out(
            scores,
            folds=folds_named(folds),
            n_known=_whole_numbers(known),
            level=level,
            seed=seed,
            progress=progress,
            **options,
        )
    output.console.notes(note for note in found.provenance.notes if note not in scores.notes)
    rows = [
        (_held(r), r["method"], _stated(r, "rmse", level), _stated(r, "ratio", level) if r["ratio"] != 1 else None)
        for r in found.errors.rows(named=True)
    ]
    columns = ("held out", "method", f"root mean square error [{level:.0%}]", "divided by that of paper")
    caption = "Later: released after 50, 65 and 80 % of the models. All three: geometric mean of the ratios."
    output.console.table("Errors of predicted scores", columns, rows, caption)
    covered = [(_held(r), r["expected"], _covered(r), figure(r["mean_width"], 3), r["n"]) for r in found.coverage.rows(named=True)]  # fmt: skip
    titles = ("held out", "expected score", f"coverage [{level:.0%}]", "mean width", "scores")
    output.console.table(f"Coverage of the {level:.0%} prediction intervals", titles, covered)
    finish(found, output, "validate", "Held-out scores")


@app.command(epilog="Example: howsure stitch forecast fit --cutoff-date 2025-05-01")
@verb
def forecast(
    folder: Fit,
    output: Output,
    top_n_models: Annotated[
        int, typer.Option(min=1, help="The frontier: models among this many best at their release.")
    ] = 1,
    forecast_years: Annotated[float, typer.Option(min=0.01, help="Years to forecast beyond the last model.")] = 3,
    cutoff_date: Annotated[
        str, typer.Option(help="Validate with a refit on the scores from before this day.")
    ] = "2024-07-01",
    reach: Annotated[
        float, typer.Option("--saturation", help="A benchmark is saturated when a model reaches this score.")
    ] = 0.5,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Forecast of the frontier, with its uncertainty.

    The highest capability so far never falls; its interval includes the uncertainty of the capabilities. The validation compares earlier forecasts with
    what happened, for each number of months ahead, next to a line and "no change".

    Writes forecast.csv, frontier.csv, saturation.csv, validation_horizons.csv and further validation tables, forecast.json and the charts.
    """
    import polars as pl

    from howsure.stitch.forecasting.frontier_forecast import forecast as look_ahead

    scale = load_scale(folder)
    with progress_bar("validating", output.console) as progress:
        found = look_ahead(
            scale,
            top_n=top_n_models,
            years=forecast_years,
            cutoff=cutoff_date,
            reach=reach,
            level=level,
            seed=seed,
            progress=progress,
        )
    console = output.console
    console.notes(
        note for note in (*found.provenance.notes, *found.backtest.notes) if note not in scale.provenance.notes
    )
    console.say(
        f"The frontier rises by {found.trend.slope()} per year (R² {found.trend.line.r2:.3f} over {found.trend.line.n} models; plain least squares: {found.trend.slope(is_plain=True)})."
    )
    console.say(_told_break(found.break_test))
    ahead = found.path.filter("is_forecast")
    near = pl.concat([ahead.head(3), ahead[5::6]]).unique("date", maintain_order=True)
    rows = [
        (row["date"], None if row["frontier"] is None else found.at(row["date"]), chance(row["p_no_change"]), found.at(row["date"], "confidence"))
        for row in near.rows(named=True)
    ]  # fmt: skip
    columns = ("date", f"best model by then [{level:.0%}]", "P(no better one)", f"line [{level:.0%}]")
    best = float(found.models["capability"].max())  # type: ignore[arg-type]
    console.table("Forecast", columns, rows, f"Today's best model is at {best:.2f}.")
    _tell_backtest(found.backtest.horizons.rows(named=True), level, console)
    reached = [
        (s.benchmark, f"{s.best_score:.2f}", _when(s.year), chance(s.p_reached), s.first_model)
        for s in found.saturation
    ]
    observed = "Where a model has the score, the date is the release of the first one. Elsewhere a model that was not tested there may already reach it (P); the date is when the first new model does if none does already."
    console.table(
        f"When a model scores {reach:.0%}",
        ("benchmark", "best score", f"date [{level:.0%}]", "P(untested)", "first model with the score"),
        reached,
        observed,
    )
    finish(found, output, "forecast", "Forecast of the frontier")


@app.command(epilog="Example: howsure stitch lag fit --by organisation")
@verb
def lag(
    folder: Fit,
    output: Output,
    by: Annotated[str, typer.Option(help="Groups: organisation, family, or a column of --groups.")] = "organisation",
    groups: Annotated[
        Path | None,
        typer.Option(help="File with a column of models or organisations, and the column --by.", show_default=False),
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(
            help='Join groups, as in "open=Open weights*"; may be repeated. Others are excluded.', show_default=False
        ),
    ] = None,
    level: Level = 0.95,
) -> None:
    """By how many months one group of models is behind another.

    The time between the first models of two groups that had the same capability, averaged over the capabilities that both reached. Writes lags.csv, lag_groups.csv,
    lag_frontiers.csv, lag.json, the charts and a report.
    """
    from howsure.stitch.forecasting.lags import lag as compare

    scale = load_scale(folder)
    joined: dict[str, list[str]] = {}
    for entry in join or ():
        name, is_given, patterns = entry.partition("=")
        if not is_given or not name.strip() or not patterns.strip():
            raise OptionError(f'--join {entry}: write it as "open=Open weights*,Public*".')
        joined.setdefault(name.strip(), []).extend(one.strip() for one in patterns.split(","))
    found = compare(scale, groups, by=by, join=joined or None, level=level)
    output.console.notes(note for note in found.provenance.notes if note not in scale.provenance.notes)
    leader = found.groups["group"][0]
    rows = [
        (r["group"], found.estimate(r), found.estimate(r, "latest"), chance(r["p_behind"]))
        for r in found.lags.filter(behind=leader).rows(named=True)
    ]
    best = {row["group"]: (row["best_model"], row["n_models"]) for row in found.groups.rows(named=True)}
    cells = [(group, *numbers, *best[group]) for group, *numbers in rows]
    columns = ("group", f"months behind [{level:.0%}]", f"latest [{level:.0%}]", "P(behind)", "best model", "models")
    caption = f"Latest: at the capability of the group's best model. {leader} has the best model, {best[leader][0]}. Other pairs: lags.csv."
    output.console.table(f"Months behind {leader}", columns, cells, caption)
    finish(found, output, "lag", "Lags between groups")


@app.command(epilog="Example: howsure stitch progress fit")
@verb
def progress(
    folder: Fit,
    output: Output,
    compute: Annotated[
        Path | None,
        typer.Option(
            help="File with the columns model and compute (FLOP). [default: the scores' own]", show_default=False
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Exclude: a model; may be repeated.", show_default=False),
    ] = None,
    keep_distilled: Annotated[
        bool, typer.Option("--keep-distilled", help="Include models that the scores mark as distilled.")
    ] = False,
    level: Level = 0.95,
) -> None:
    """How much of the progress comes from compute, and how much from better algorithms.

    Writes progress.csv, compute_needed.csv, fixed_compute.csv and more tables, progress.json and the charts.
    """
    from howsure.stitch.forecasting.scaling import QUANTITIES
    from howsure.stitch.forecasting.scaling import progress as separate

    scale = load_scale(folder)
    found = separate(scale, compute, exclude=exclude or (), keep_distilled=keep_distilled, level=level)
    output.console.notes(note for note in found.provenance.notes if note not in scale.provenance.notes)
    rows = [(QUANTITIES[rate.quantity], rate.method, rate.estimate) for rate in found.rates]
    caption = f"{len(found.models)} models with a date and known compute; compute and date explain {found.r2:.0%} of their capabilities' variance."
    output.console.table("Scaling and algorithms", ("", "method", f"estimate [{level:.0%}]"), rows, caption)
    finish(found, output, "progress", "Scaling and algorithms")


@app.command("map", epilog="Example: howsure stitch map fit examples/stitch/horizons.csv")
@verb
def map_horizons(
    folder: Fit,
    horizons: Annotated[
        Path, typer.Argument(metavar="HORIZONS", help="File with the columns model and minutes.", show_default=False)
    ],
    output: Output,
    level: Level = 0.95,
    seed: Seed = 0,
    names: Annotated[
        Path | None,
        typer.Option(
            help="File that says which names mean the same, as `howsure names --save` writes it.", show_default=False
        ),
    ] = None,
) -> None:
    """Time horizons by capability.

    A regression of published horizons on capability, and how well it predicts held-out families.

    Writes horizon_map.csv (a horizon for every model of the scale), horizon_points.csv, horizon_map.json and the chart.
    """
    from howsure.stitch.forecasting.horizon_map import map_horizons as regress

    scale = load_scale(folder)
    found = regress(scale, horizons, level=level, seed=seed, names=names)
    output.console.notes(note for note in found.provenance.notes if note not in scale.provenance.notes)
    rows = [
        ("ln minutes for one unit of capability", found.slope),
        ("doublings for one unit of capability", found.doublings),
        ("correlation of ln minutes and capability", found.correlation),
        ("R²", figure(found.line.r2, 3)),
        ("R² in families held out", found.held_out_r2),
    ]
    output.console.table(f"Time horizons of {found.line.n} models by capability", ("", f"estimate [{level:.0%}]"), rows)
    best = [
        (
            row["model"],
            Estimate(row["minutes"], row["minutes_low"], row["minutes_high"], level),
            figure(row["published"], 1),
        )
        for row in found.models.head(10).rows(named=True)
    ]
    output.console.table("The most capable models", ("model", "minutes, by the map", "published"), best)
    finish(found, output, "map", "Time horizons by capability")


@app.command(epilog="Example: howsure stitch robustness examples/stitch/scores.csv --replicates 50")
@verb
def robustness(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    fitting: Fitting,
    replicates: Annotated[
        int, typer.Option("-n", "--replicates", min=2, help="Replicates: refits without some of the benchmarks.")
    ] = 100,
    share: Annotated[
        float, typer.Option(min=0.01, max=0.95, help="Share of the benchmarks that each of them drops.")
    ] = 0.3,
    folds: Annotated[str, typer.Option(help="Number of folds, or a file with model, benchmark, fold.")] = "10",
    level: Level = 0.9,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """What the frontier's slope and the ranking are sensitive to.

    Drops benchmarks at random, excludes each benchmark and each organisation, changes the anchor, the rule for duplicates and the strength of the priors, and
    cross-validates other models of the scores. Writes robustness_factors.csv, robustness_refits.csv,
    robustness_ranks.csv, robustness_models.csv, robustness.json, the charts and a report.
    """
    from howsure.stitch.sensitivity.analysis import robustness as vary

    scores = reading.scores(inputs, output.console)
    with progress_bar("varying", output.console) as progress:
        found = vary(
            scores,
            n_replicates=replicates,
            share=share,
            folds=folds_named(folds),
            level=level,
            seed=seed,
            scheduler=scheduler,
            progress=progress,
            **fitting.options,
        )
    output.console.notes(note for note in found.provenance.notes if note not in scores.notes)
    rows = [
        (f.title, f.n, _range(f.slope_min, f.slope_max), _range(f.linked_min, f.linked_max), f.most, figure(f.rank_correlation, 3), share_of(f.leader_kept))
        for f in found.factors
    ]  # fmt: skip
    columns = ("varied", "refits", "slope", "in one unit", "most", "rank correlation", "leader stays")
    caption = f"Slope of the frontier per year; as fitted: {found.slope}. Drawn at random: {level:.0%} of the refits, else all. Rank correlation: the lowest."
    output.console.table("What the conclusion is sensitive to", columns, rows, caption)
    _tell_validation(found.validation, found.provenance.settings["method"], level, output.console)
    for sentence in found.summary:
        output.console.say(f"{sentence}\n")
    finish(found, output, "robustness", "What the conclusions are sensitive to")


@app.command(epilog="Example: howsure stitch check fit --models 20 --seed 1")
@verb
def check(
    folder: Fit,
    output: Output,
    models: Annotated[int, typer.Option("-n", "--models", min=1, help="Number of models: those to draw.")] = 20,
    seed: Seed = 0,
) -> None:
    """Random models whose order you can check, and scores that do not fit.

    Compares single scores, organisations and dates on a benchmark with predictions from all other scores (contamination, differential functioning), and lists benchmarks that order models differently.
    Writes check.csv, check_scores.csv (the raw scores of the models and their neighbours), check_residuals.csv,
    check_supports.csv, check_groups.csv, check_benchmarks.csv, check.json, the charts and a report.
    """
    from howsure.stitch.sensitivity.inspection import check as draw

    scale = load_scale(folder)
    found = draw(scale, n_models=models, seed=seed)
    rows = [
        (
            row["rank"],
            row["model"],
            capability_of(row, scale.level),
            row["date"],
            _beside(row, "above"),
            _beside(row, "below"),
        )
        for row in found.sample.rows(named=True)
    ]
    columns = ("rank", "model", f"capability [{scale.level:.0%}]", "released", "above", "below")
    caption = "Above, below: on how many of the benchmarks that both have it scores more than the next better and the next worse model (named in check.csv)."
    output.console.table("Is this the order that you would expect?", columns, rows, caption)
    output.console.say("Unexpected scores:")
    for sentence in found.surprises.words(5):
        output.console.say(f"  {sentence}")
    finish(found, output, "check", "Check of the scale")


def _held(row: Mapping[str, Any]) -> str:
    return row["split"] if row["n_known"] is None else f"{row['split']}, {row['n_known']} known"


def _stated(row: Mapping[str, Any], name: str, level: float) -> Estimate | None:
    return None if row[name] is None else Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"], level)


def _whole_numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(one) for one in text.split(","))
    except ValueError:
        raise OptionError(f"--known {text}: write whole numbers with commas, as in 1,3,5.") from None


def _tell_backtest(rows: list[dict[str, Any]], level: float, console: Console) -> None:
    if not rows:
        return
    cells = [
        (r["ahead"], r["method"], r["n_cutoffs"], Estimate(r["mae"], r["mae_low"], r["mae_high"]), figure(r["bias"], 2), _covered(r), figure(r["mean_width"], 2))
        for r in rows
    ]  # fmt: skip
    columns = ("ahead", "forecast", "cut-offs", "mean absolute error", "bias", f"covered by {level:.0%}", "width")
    console.table("Earlier forecasts of the frontier, compared with later data", columns, cells)


def _tell_validation(frame: pl.DataFrame, used: str, level: float, console: Console) -> None:
    import polars as pl

    from howsure.stitch.sensitivity.crossvalidation import ALL_SPLITS

    splits = frame["split"].unique(maintain_order=True).to_list()
    by_pair = {(row["split"], row["method"]): row for row in frame.rows(named=True)}
    methods = frame.filter(pl.col("split") == splits[-1])["method"].to_list()
    errors = [
        (name, *(figure(by_pair[split, name]["rmse" if split != ALL_SPLITS else "ratio"], 4) for split in splits))
        for name in methods
    ]
    columns = ("model of the scores", *(split if split != ALL_SPLITS else "divided by paper" for split in splits))
    caption = "New and later models keep 3 scores each. Divided by the error of paper: geometric mean over the splits."
    console.table("Held-out error of the models of the scores (root mean square)", columns, errors, caption)
    there = [split for split in splits if split != ALL_SPLITS]
    differences = [(name, *(_difference(by_pair[split, name]) for split in there)) for name in methods if name != used]
    caption = f"In use: {used}. Negative is better."
    console.table(f"Difference from the model in use [{level:.0%}]", ("model of the scores", *there), differences, caption)  # fmt: skip


def _difference(row: Mapping[str, Any]) -> str:
    value, low, high = (f"{row[f'difference{end}']:+.3f}".replace("0.", ".") for end in ("", "_low", "_high"))
    return f"{value} [{low}, {high}]"  # without leading zeros three of them fit beside each other


def _covered(row: Mapping[str, Any]) -> Estimate | None:
    value, low, high = (row[f"coverage{end}"] for end in ("", "_low", "_high"))
    return None if value is None else Estimate(value, low, high)


def _told_break(found: BreakTest) -> str:
    if found.p is None:
        return f"No test for a break: {found.reason}."
    sure = "" if found.p < 0.05 else ", which is not significant at 5 %"
    by = {"scatter": "models scatter around a line", "records": "records are a random walk"}[found.process or "records"]
    return f"The most likely break is at {found.date}: {found.before} per year before, {found.after} after; {stated('p', found.p)} if {by} without a break{sure}."


def _when(year: Estimate) -> str:
    """A date given in years from 1970, with its interval."""
    if year.value is None:
        return str(year)
    value = _day(year.value, year.state)
    low, high = (_day(end, state) for end, state in ((year.low, year.low_state), (year.high, year.high_state)))
    is_beyond = value == low == high or low is high is None
    return f"{value}" if is_beyond else f"{value} [{low or '−∞'}, {high or '∞'}]"


def _day(year: float | None, state: str) -> str | None:
    import datetime

    if year is None:
        return None
    day = datetime.date(1970, 1, 1) + datetime.timedelta(days=round(year * 365.25))
    return {"above_range": "after ", "below_range": "before "}.get(state, "") + day.isoformat()


def _beside(row: Mapping[str, Any], side: str) -> str | None:
    return f"{row[f'more_than_{side}']} of {row[f'shared_{side}']}" if row[side] else None


def _range(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"{low:.3f} to {high:.3f}"
