"""`howsure stitch explore`, `fit`, `score`, `next`, `traits`, `simulate` and `coverage`: the scale itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import Inputs, Level, Output, Printing, Reading, Scheduler, Seed, folder_to_write, verb
from howsure.cli.output import Console, finish, progress_bar
from howsure.errors import OptionError
from howsure.estimates import Estimate, chance

if TYPE_CHECKING:
    from howsure.results import Result
    from howsure.stitch.scale import Scale

__all__ = [
    "SHOWN",
    "Fit",
    "Fitting",
    "app",
    "best_of",
    "capability_of",
    "ends_of",
    "figure",
    "first_of",
    "folds_named",
    "load_scale",
    "save_result",
    "share_of",
    "stated_score",
]

app = typer.Typer(rich_markup_mode=None)


# What the verbs of `howsure stitch` share: options, reading, writing.


SHOWN = 15
"""Rows of a long table that a terminal shows."""

Fit = Annotated[
    Path, typer.Argument(metavar="FIT", help="The folder that `howsure stitch fit -o` wrote.", show_default=False)
]


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Fitting", **{"show_default": False, **more})


@dataclass(frozen=True)
class Fitting:
    """What is fitted."""

    preset: Annotated[str, _option("Preset: default, paper, seed or eci.", show_default=True)] = "default"
    anchor: Annotated[
        str | None,
        _option("The benchmark that fixes the scale (identification constraint). [default: the one most models have]"),
    ] = None
    anchor_difficulty: Annotated[float, _option("Difficulty of the anchor on the scale.", show_default=True)] = 0.0
    anchor_slope: Annotated[float, _option("The anchor's slope, which fixes the unit.", show_default=True)] = 1.0
    anchor_models: Annotated[str | None, _option('Instead: two models with their values, as in "A=130,B=150".')] = None
    reference: Annotated[
        str | None,
        _option(
            "What fixes the unit in refits: all (mean and spread of all models), none (the anchor), a file of models, or an earlier FIT. [default: the preset's]"
        ),
    ] = None
    min_benchmarks: Annotated[int, _option("Exclude models on fewer benchmarks.", min=1, show_default=True)] = 4
    since: Annotated[str | None, _option("Exclude older models, as in 2023-01-31.")] = None
    duplicates: Annotated[
        str | None, _option("Several scores of one model on one benchmark: mean, max or min. [default: the preset's]")
    ] = None
    exclude: Annotated[
        list[str] | None,
        _option("Exclude: a model, a benchmark, MODEL@BENCHMARK, or all that a file names; may be repeated."),
    ] = None
    include: Annotated[list[str] | None, _option("Keep only these models and benchmarks; may be repeated.")] = None
    floors: Annotated[Path | None, _option("File with the columns benchmark, floor and, if known, ceiling.")] = None
    keep_overlaps: Annotated[
        bool | None,
        _option(
            "Count a score on a part of a benchmark (column part_of) also where the model has one on the whole. [default: the preset's]"
        ),
    ] = None
    ridge: Annotated[float | None, _option("Strength of the penalty of paper and eci. [default: 0.1]")] = None
    dimensions: Annotated[int, _option("1 or 2.", min=1, max=2, show_default=True)] = 1

    @property
    def options(self) -> dict[str, Any]:
        """The same for the fit."""
        told = {
            name: value for name, value in vars(self).items() if name not in ("anchor_models", "exclude", "include")
        }
        models = None if self.anchor_models is None else _values(self.anchor_models)
        return told | {"anchor_models": models, "exclude": self.exclude or (), "include": self.include or ()}


def load_scale(folder: Path) -> Scale:
    """The scale that a fit wrote."""
    from howsure.stitch.scale import Scale

    return Scale.load(folder)


def save_result(result: Result, output: Output) -> None:
    """JSON for programs, and the result's files where a folder was named."""
    output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))


def first_of(n: int) -> str:
    """What to say of a table that was cut."""
    return f"The first {SHOWN} of {n:,}." if n > SHOWN else ""


def capability_of(row: Mapping[str, Any], level: float, name: str = "capability") -> Estimate:
    """A row's capability, or another parameter, with its interval."""
    from howsure.stitch.summaries import estimate_of

    return estimate_of(row, level, name)


def best_of(row: Mapping[str, Any]) -> str | None:
    """The probability that a row's model is the best, or that its refits define none."""
    return "undefined" if row["interval_state"] == "undefined" else chance(row["p_best"])


def figure(number: float | None, digits: int) -> str | None:
    """A number for a table; 0 has no sign."""
    return None if number is None else f"{number:z.{digits}f}"


def share_of(number: float | None) -> str | None:
    """A share in per cent."""
    return None if number is None else f"{number:.0%}"


def stated_score(row: Mapping[str, Any], level: float) -> Estimate:
    """An expected score with its interval, or why there is none."""
    if row["expected"] is None:
        return Estimate.without("undefined", "its scores do not rise with capability", level=level)
    return Estimate(row["expected"], row["expected_low"], row["expected_high"], level, row["expected_state"])


def ends_of(low: float | None, high: float | None) -> str | None:
    """Both ends of an interval of scores."""
    return None if low is None or high is None else f"{low:.2f} to {high:.2f}"


def _values(text: str) -> dict[str, float]:
    """Two models with their values, as in A=130,B=150."""
    pairs = [entry.rpartition("=") for entry in text.split(",")]
    try:
        return {name.strip(): float(value) for name, _, value in pairs if name.strip() or _raise()}
    except ValueError:
        raise OptionError(f'--anchor-models {text}: write it as "A=130,B=150", two models with their values.') from None


def _raise() -> bool:
    raise ValueError


def folds_named(folds: str) -> int | str:
    """A number of folds, or the file that has them."""
    return int(folds) if folds.isdigit() else folds


@app.command(epilog="Example: howsure stitch explore examples/stitch/scores.csv")
@verb
def explore(inputs: Inputs, reading: Reading, output: Output) -> None:
    """What a table of scores contains, before anything is fitted.

    Counts, coverage, overlap of benchmarks, release dates, duplicates, and whether all can be linked on one scale.

    Writes coverage_models.csv, coverage_benchmarks.csv, coverage_least.csv, overlap.csv, months.csv, duplicates.csv, parts.csv, explore.json and the charts.
    """
    from howsure.stitch.exploration import explore as look

    scores = reading.scores(inputs, output.console)
    found = look(scores)
    seen, console = found.overview, output.console
    console.say(
        f"{seen.n_scores:,} scores of {seen.n_models:,} models on {seen.n_benchmarks:,} benchmarks; {seen.coverage:.0%} of all pairs have one, "
        f"{seen.n_several:,} have several. Models from {seen.first_date or 'no date'} to {seen.last_date or 'no date'}; {seen.n_undated:,} have no date.\n"
    )
    shown = found.benchmarks.head(SHOWN).rows(named=True)
    rows = [
        (r["benchmark"], r["n_models"], r["n_scores"], f"{r['min']:.2f}", f"{r['mean']:.2f}", f"{r['max']:.2f}")
        for r in shown
    ]
    console.table(
        "Most covered benchmarks",
        ("benchmark", "models", "scores", "min", "mean", "max"),
        rows,
        first_of(len(found.benchmarks)),
    )
    shown = found.models.head(SHOWN).rows(named=True)
    models = [(r["model"], r["n_benchmarks"], r["n_scores"], r["date"], r["organisation"]) for r in shown]
    console.table(
        "Most covered models",
        ("model", "benchmarks", "scores", "released", "organisation"),
        models,
        first_of(len(found.models)),
    )
    shown = found.duplicates.head(5).rows(named=True)
    several = [(r["model"], r["benchmark"], r["n_scores"], f"{r['min']:.3f}", f"{r['max']:.3f}") for r in shown]
    if several:
        console.table("Widest duplicates", ("model", "benchmark", "scores", "min", "max"), several)
    _tell_parts(found.parts.rows(named=True), console)
    finish(found, output, "explore", "What the table contains")


@app.command(epilog="Example: howsure stitch fit examples/stitch/scores.csv --replicates 50 -o fit")
@verb
def fit(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    fitting: Fitting,
    replicates: Annotated[
        int, typer.Option(min=0, help="Replicates: bootstrap refits for the intervals; 0 for no intervals.")
    ] = 1000,
    resample: Annotated[
        str | None,
        typer.Option(
            help="What is resampled: errors, families, rows, bayesian, models or benchmarks. [default: the preset's]",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            help="Models to compare with each other in pairs.csv; may be repeated. [default: neighbours in rank]",
            show_default=False,
        ),
    ] = None,
    level: Level = 0.9,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """Models and benchmarks linked on one scale, with intervals.

    Writes models.csv, benchmarks.csv, pairs.csv, scores.csv (the scores that were fitted), fit.json, fit.result.zip, the charts and a report. The other verbs take
    that folder as FIT.
    """
    from howsure.stitch.scale import fit as fit_scale

    scores = reading.scores(inputs, output.console)
    drawing: dict[str, Any] = {
        "n_replicates": replicates,
        "resample": resample,
        "level": level,
        "seed": seed,
        "scheduler": scheduler,
    }
    with progress_bar("refitting", output.console) as progress:
        scale = fit_scale(scores, **fitting.options, **drawing, progress=progress)
    output.console.notes(note for note in scale.provenance.notes if note not in scores.notes)
    _tell_scale(scale, output.console)
    compared = replace(scale, compared=tuple(pairs) if pairs else None)
    finish(compared, output, "fit", "The capability scale")


@app.command(epilog="Example: howsure stitch score fit examples/stitch/new.csv")
@verb
def score(
    folder: Fit,
    inputs: Annotated[
        list[str], typer.Argument(metavar="NEW_SCORES", help="Scores of new models.", show_default=False)
    ],
    reading: Reading,
    output: Output,
    seed: Seed = 0,
) -> None:
    """Place new models on a finished scale.

    The parameters of the benchmarks do not change; the interval includes their uncertainty. Their names are matched without regard to case, spaces and punctuation.
    Scores to expect on the other benchmarks are predicted. Writes placed.csv, placed_predictions.csv and placed.json.
    """
    scale = load_scale(folder)
    scores = reading.scores(inputs, output.console)
    placed = scale.score(scores, seed=seed)
    output.console.notes(note for note in placed.provenance.notes if note not in scores.notes)
    rows = [
        (row["model"], capability_of(row, scale.level), row["n_benchmarks"]) for row in placed.models.rows(named=True)
    ]
    output.console.table("On the scale", ("model", f"capability [{scale.level:.0%}]", "benchmarks"), rows)
    others = [
        (r["model"], r["benchmark"], stated_score(r, scale.level), ends_of(r["prediction_low"], r["prediction_high"]))
        for r in placed.predictions.head(SHOWN).rows(named=True)
    ]
    columns = ("model", "benchmark", f"expected score [{scale.level:.0%}]", f"one observed score, {scale.level:.0%}")
    output.console.table("On the benchmarks that they lack", columns, others, first_of(len(placed.predictions)))
    save_result(placed, output)


@app.command("next", epilog="Example: howsure stitch next fit --model ember-10.2")
@verb
def next_benchmark(
    folder: Fit,
    output: Output,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model: the one to learn more about. [default: a new one without scores]", show_default=False
        ),
    ] = None,
    rows: Annotated[int, typer.Option("-n", "--rows", min=1, help="Rows to show: benchmarks.")] = 10,
    choose: Annotated[int, typer.Option(min=1, help="Benchmarks in the set to run together.")] = 5,
) -> None:
    """Which benchmarks to run next.

    How much a score on each benchmark would narrow the estimate of the model's capability, and which few benchmarks together predict its other scores best.
    Writes next.csv, next_together.csv and next.json.
    """
    scale = load_scale(folder)
    found = scale.next_benchmark(model, n=choose)
    shown = [
        (
            row["benchmark"],
            figure(row["n_items"], 0),
            f"{row['expected']:.2f}",
            figure(row["sd_now"], 3),
            f"{row['sd_after']:.3f}",
        )
        for row in found.benchmarks.head(rows).rows(named=True)
    ]
    who = "A new model" if model is None else f"{model} is at {scale.capability(model)}"
    caption = f"{who}. Uncertainty: standard deviation of its capability, given the benchmarks' parameters."
    columns = ("benchmark", "items", "expected score", "uncertainty now", "after")
    output.console.table("Most informative benchmarks", columns, shown, caption)
    steps = [
        (
            r["step"],
            r["benchmark"],
            f"{r['expected']:.2f}",
            r["n_others"],
            figure(r["error_now"], 3),
            figure(r["error"], 3),
        )
        for r in found.together.rows(named=True)
    ]
    titles = ("step", "benchmark", "expected score", "others", "error now", "after")
    caption = "Error: root mean square standard deviation of the expected scores on the others, without and with the scores so far."
    output.console.table(f"{len(steps)} benchmarks that say most about the others", titles, steps, caption)
    save_result(found, output)


@app.command(epilog="Example: howsure stitch traits examples/stitch/scores.csv --replicates 20 --folds 3")
@verb
def traits(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    fitting: Fitting,
    replicates: Annotated[int, typer.Option(min=2, help="Replicates: bootstrap refits for the intervals.")] = 200,
    folds: Annotated[str, typer.Option(help="Number of folds, or a file with model, benchmark, fold.")] = "10",
    level: Level = 0.9,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """Is there a second dimension, and does it improve predictions?

    Loadings and traits of a fit in two dimensions with intervals, a proposed name, held-out errors of one and of two dimensions, and whether the second trait is the same over organisations and time.
    Writes traits_benchmarks.csv, traits_models.csv, traits_validation.csv, traits_invariance.csv, traits.json, the charts and a report.
    """
    from howsure.stitch.sensitivity.second_trait import traits as look

    scores = reading.scores(inputs, output.console)
    options = {name: value for name, value in fitting.options.items() if name != "dimensions"}
    drawing: dict[str, Any] = {"n_replicates": replicates, "folds": folds_named(folds), "level": level, "seed": seed}
    with progress_bar("cross-validating", output.console) as progress:
        found = look(scores, **options, **drawing, scheduler=scheduler, progress=progress)
    output.console.notes(note for note in found.provenance.notes if note not in scores.notes)
    rows = [
        (r["benchmark"], *(Estimate(r[name], r[f"{name}_low"], r[f"{name}_high"], level) for name in ("first", "second")), r["n_models"])
        for r in found.benchmarks.rows(named=True)
    ]  # fmt: skip
    columns = ("benchmark", f"first trait [{level:.0%}]", f"second trait [{level:.0%}]", "models")
    caption = "Principal axes: traits uncorrelated over models, loadings orthogonal over benchmarks."
    output.console.table("Loadings, in logits per standard deviation of the trait", columns, rows, caption)
    for sentence in found.words():
        output.console.say(f"{sentence}\n")
    finish(found, output, "traits", "A second dimension")


@app.command(epilog="Example: howsure stitch simulate --models 36 --benchmarks 12 -o simulated")
@verb
def simulate(
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="Output: a folder for the scores and the true values behind them.", show_default=False
        ),
    ],
    reading: Reading,
    printing: Printing,
    models: Annotated[int, typer.Option(min=4, help="Number of models.")] = 80,
    benchmarks: Annotated[int, typer.Option(min=2, help="Number of benchmarks.")] = 24,
    years: Annotated[float, typer.Option(min=0.1, help="Years over which models are released.")] = 3.0,
    density: Annotated[float, typer.Option(min=0.01, max=1, help="Share of all pairs that have a score.")] = 0.4,
    like: Annotated[
        list[str] | None,
        typer.Option(help="Take dates, families and missing scores from a real table.", show_default=False),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Simulated scores, with the true values behind them.

    Models that get better over time, on benchmarks whose difficulty is known.

    Writes scores.csv, the true values as true_models.csv and true_benchmarks.csv, and simulated_scores.json.
    """
    from howsure.stitch.cleaning import prepare_scores
    from howsure.stitch.simulator import simulate as draw

    console = printing.console
    folder_to_write(out)
    table = prepare_scores(reading.scores(like, console)) if like else None
    found = draw(n_models=models, n_benchmarks=benchmarks, years=years, density=density, like=table, seed=seed)
    written = found.save(out)
    console.say(f"{written[0]}: {found.scores!r}")
    console.json(found.as_dict() | {"written": written})
    console.wrote(written)


@app.command(epilog="Example: howsure stitch coverage --simulations 2 --replicates 20 --departure contamination")
@verb
def coverage(
    output: Output,
    reading: Reading,
    simulations: Annotated[int, typer.Option("-n", "--simulations", min=2, help="Simulated data sets.")] = 100,
    like: Annotated[
        list[str] | None,
        typer.Option(help="Take dates, families and missing scores from a real table.", show_default=False),
    ] = None,
    departure: Annotated[
        list[str] | None,
        typer.Option(
            help="An assumption that does not hold: second dimension, asymmetric curves, contamination, heavy tails, unknown floors, organisations alike (correlated scores), unpublished scores, or all; may be repeated.",
            show_default=False,
        ),
    ] = None,
    resample: Annotated[
        list[str] | None,
        typer.Option(help="What is resampled, or all; may be repeated. [default: errors]", show_default=False),
    ] = None,
    preset: Annotated[str, typer.Option(help="Preset: default, paper, seed or eci.")] = "default",
    replicates: Annotated[int, typer.Option(min=20, help="Replicates: bootstrap refits of each data set.")] = 400,
    level: Level = 0.9,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """How often the intervals contain the true value, by simulation.

    For capabilities, differences, ranks and held-out scores; also whether P(A > B) is calibrated, and what happens if an assumption does not hold.
    Writes coverage.csv and capability_coverage.json.
    """
    from howsure.stitch.cleaning import prepare_scores
    from howsure.stitch.interval_coverage import NONE
    from howsure.stitch.interval_coverage import coverage as measure
    from howsure.stitch.model.replicates import RESAMPLES
    from howsure.stitch.simulator import DEPARTURES

    for name in resample or []:
        if name not in (*RESAMPLES, "all"):
            raise OptionError.unknown("resampling", name, (*RESAMPLES, "all"))
    table = prepare_scores(reading.scores(like, output.console)) if like else None
    departures = [NONE, *DEPARTURES] if "all" in (departure or []) else departure or [NONE]
    options: dict[str, Any] = {"resamples": RESAMPLES if "all" in (resample or []) else resample or ("errors",)}
    options |= {"preset": preset, "n_replicates": replicates, "departures": departures}
    options |= {"level": level, "seed": seed, "scheduler": scheduler}
    with progress_bar("simulating", output.console) as progress:
        found = measure(simulations, **options, like=table, progress=progress)
    for name in departures:
        rows = [
            (r["resample"], r["of"], f"{r['level']:.3f}", _with_error(r), figure(r["mean_width"], 3))
            for r in found.rows.rows(named=True)
            if r["departure"] == name
        ]
        about = "all assumptions hold" if name == NONE else f"{name} ({DEPARTURES[name]})"
        caption = f"{simulations:,} simulated data sets, {replicates:,} refits of each, seed {seed}; ± is the Monte Carlo standard error."
        columns = ("resampled", "of", "nominal", "coverage", "mean width")
        output.console.table(f"Coverage: {about}", columns, rows, caption)
    save_result(found, output)


def _with_error(row: Mapping[str, Any]) -> str | None:
    return None if row["coverage"] is None else f"{row['coverage']:.3f} ± {row['monte_carlo_se']:.3f}"


def _tell_scale(scale: Scale, console: Console) -> None:
    quality, settings = scale.quality, scale.provenance.settings
    ended = "" if quality.converged else " The solver did not converge: do not rely on these numbers."
    console.say(
        f"{quality.n_observations:,} scores of {quality.n_models:,} models on {quality.n_benchmarks:,} benchmarks; rmse {quality.rmse:.4f}, mae {quality.mae:.4f}, "
        f"R² {quality.r2:.4f}, cost {quality.cost:.9f} after {quality.iterations} steps (gradient {quality.gradient_norm:.1e}).{ended}\n"
    )
    models = [
        (
            row["rank"],
            row["model"],
            capability_of(row, scale.level),
            _ranks(row),
            best_of(row),
            row["n_benchmarks"],
            row["date"],
        )
        for row in scale.models.head(SHOWN).rows(named=True)
    ]
    columns = (
        "rank",
        "model",
        f"capability [{scale.level:.0%}]",
        f"rank [{scale.level:.0%}]",
        "P(best)",
        "benchmarks",
        "released",
    )
    unit = (
        f"anchored at {settings['anchor']}"
        if "anchor" in settings
        else f"anchored at {' and '.join(settings['anchor_models'])}"
    )
    if (reference := settings["reference"]) != "none":
        who = "all models" if reference == "all" else f"{len(reference)} models"
        unit += f"; {who} fix the unit in refits"
    console.table(
        "Models", columns, models, f"{first_of(len(scale.models))} Preset {settings['preset']}, {unit}.".strip()
    )
    rows = [
        (row["benchmark"], capability_of(row, scale.level, "difficulty"), capability_of(row, scale.level, "slope"), row["n_models"], f"{row['rmse']:.3f}", _state(row))
        for row in scale.benchmarks.reverse().head(SHOWN).rows(named=True)
    ]  # fmt: skip
    hardest = ("benchmark", f"difficulty [{scale.level:.0%}]", "slope", "models", "rmse", "state")
    console.table("Hardest benchmarks", hardest, rows, first_of(len(scale.benchmarks)))


def _ranks(row: Mapping[str, Any]) -> str | None:
    return None if row["rank_low"] is None else f"{row['rank_low']:.0f}–{row['rank_high']:.0f}"


def _state(row: Mapping[str, Any]) -> str:
    states = (row["difficulty_state"], row["slope_state"])
    return next((state.replace("_", " ") for state in states if state != "ok"), "")


def _tell_parts(parts: list[dict[str, Any]], console: Console) -> None:
    if len(parts) == 1:
        console.say("Scores link all models and benchmarks: they can be put on one scale.")
        return
    rows = [
        (p["n_models"], p["n_benchmarks"], _short(p["models"]), _short(p["benchmarks"]), p["would_join"])
        for p in parts[:SHOWN]
    ]
    columns = ("models", "benchmarks", "which models", "which benchmarks", "a score that would link it")
    console.table(f"The table has {len(parts)} unlinked groups", columns, rows, "One scale needs one linked group.")


def _short(names: str, most: int = 60) -> str:
    return names if len(names) <= most else names[: most - 1] + "…"
