"""`howsure stitch`: explore, fit, score, next, forecast, progress, map, robustness, check, simulate, coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Output, Reading, Seed, verb
from howsure.cli.output import Console, progress_bar
from howsure.cli.stitch_analyses import check, forecast, map_horizons, progress, robustness
from howsure.cli.stitch_common import (
    SHOWN,
    Cluster,
    Fit,
    Fitting,
    best_of,
    capability_of,
    figure,
    first_of,
    load_scale,
    write_table,
)
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.results import Provenance
    from howsure.stitch.scale import Scale

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    rich_markup_mode=None,
    no_args_is_help=True,
    help="How able is each model, how hard each benchmark, on one scale, and where is it going?",
)


@app.command()
@verb
def explore(inputs: Inputs, reading: Reading, output: Output) -> None:
    """What a table of scores holds, before anything is fitted.

    Counts, coverage, overlap of benchmarks, release dates, duplicates, and whether one scale can hold it.

    Writes coverage_models.csv, coverage_benchmarks.csv, coverage_least.csv, overlap.csv, months.csv, duplicates.csv, parts.csv, explore.json and the charts.

    \b
    howsure stitch explore scores.csv -o explored
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
    finish(found, output, "explore", "What the table holds", "stitch.explore_section")


@app.command()
@verb
def fit(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    fitting: Fitting,
    bootstrap: Annotated[int, typer.Option(min=0, help="Refits that make the intervals; 0 for none.")] = 1000,
    resample: Annotated[
        str | None,
        typer.Option(
            help="How refits redraw: errors, families, rows, bayesian, models or benchmarks. [default: the preset's]",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            help="Models to compare with each other in pairs.csv; repeat it. [default: neighbours in rank]",
            show_default=False,
        ),
    ] = None,
    level: Level = 0.9,
    seed: Seed = 0,
    cluster: Cluster = None,
) -> None:
    """Models and benchmarks on one scale, with intervals.

    Writes models.csv, benchmarks.csv, pairs.csv, scores.csv (the scores that count), fit.json, replicates.parquet, the charts and a report. The other verbs take
    that folder as FIT.

    \b
    howsure stitch fit scores.csv -o fit
    howsure stitch fit epoch/ --preset paper --anchor Winogrande -o fit
    howsure stitch fit scores.csv --anchor-models "A=130,B=150" --exclude "A@MMLU"
    """
    from howsure.stitch.scale import fit as fit_scale

    scores = reading.scores(inputs, output.console)
    drawing: dict[str, Any] = {
        "bootstrap": bootstrap,
        "resample": resample,
        "level": level,
        "seed": seed,
        "cluster": cluster,
    }
    with progress_bar("refitting", output.console) as progress:
        scale = fit_scale(scores, **fitting.options, **drawing, progress=progress)
    output.console.notes(note for note in scale.provenance.notes if note not in scores.notes)
    _tell_scale(scale, output.console)
    finish(_Fitted(scale, pairs), output, "fit", "The capability scale", "stitch.scale_section", scale)


@app.command()
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

    The benchmarks stay as they are; the interval includes that they are estimates. Their names are matched without regard to case, spaces and punctuation.
    Writes placed.csv.

    \b
    howsure stitch score fit new.csv
    """
    from howsure.stitch.placing import match_benchmarks

    scale = load_scale(folder)
    read = reading.scores(inputs, output.console)
    scores = match_benchmarks(scale, read)
    output.console.notes(note for note in scores.notes if note not in read.notes)
    placed = scale.place(scores, seed=seed)
    rows = [(row["model"], capability_of(row, scale.level), row["n_benchmarks"]) for row in placed.rows(named=True)]
    output.console.table("On the scale", ("model", f"capability [{scale.level:.0%}]", "benchmarks"), rows)
    output.console.json(placed.to_dicts())
    write_table(placed, output, "placed")


@app.command("next")
@verb
def next_benchmark(
    folder: Fit,
    output: Output,
    model: Annotated[str, typer.Option(help="The model to learn more about.", show_default=False)],
    n: Annotated[int, typer.Option("-n", min=1, help="Benchmarks to show.")] = 10,
) -> None:
    """Which benchmark would tell most about a model.

    What a score there would add to what its scores tell already. Writes next.csv.

    \b
    howsure stitch next fit --model gpt-5
    """
    scale = load_scale(folder)
    found = scale.next_benchmark(model)
    rows = [
        (
            row["benchmark"],
            figure(row["n_items"], 0),
            f"{row['expected']:.2f}",
            f"{row['sd_now']:.3f}",
            f"{row['sd_after']:.3f}",
        )
        for row in found.head(n).rows(named=True)
    ]
    caption = f"{model} is at {scale.capability(model)}. Uncertainty: standard deviation of its capability, the benchmarks being known."
    columns = ("benchmark", "items", "expected score", "uncertainty now", "after")
    output.console.table("To be run next", columns, rows, caption)
    output.console.json(found.to_dicts())
    write_table(found, output, "next")


app.command()(forecast)
app.command()(progress)
app.command("map")(map_horizons)
app.command()(robustness)
app.command()(check)


@app.command()
@verb
def simulate(
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Folder for the scores and the truth behind them.", show_default=False)
    ],
    reading: Reading,
    models: Annotated[int, typer.Option(min=4, help="How many.")] = 80,
    benchmarks: Annotated[int, typer.Option(min=2, help="How many.")] = 24,
    years: Annotated[float, typer.Option(min=0.1, help="Over which models are released.")] = 3.0,
    density: Annotated[float, typer.Option(min=0.01, max=1, help="Share of all pairs that have a score.")] = 0.4,
    like: Annotated[
        list[str] | None,
        typer.Option(help="Take dates, families and missing scores from a real table.", show_default=False),
    ] = None,
    seed: Seed = 0,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes.")] = False,
) -> None:
    """A planted world, with the truth behind its scores.

    Models that get better over time, on benchmarks whose difficulty is known.

    Writes scores.csv, and the truth as true_models.csv and true_benchmarks.csv.

    \b
    howsure stitch simulate -o world
    howsure stitch simulate --like epoch/ -o world
    """
    from howsure.frames import write_frame
    from howsure.stitch.cleaning import pose
    from howsure.stitch.simulate import simulate as draw

    console = Console(is_quiet=quiet)
    table = pose(reading.scores(like, console)) if like else None
    world = draw(n_models=models, n_benchmarks=benchmarks, years=years, density=density, like=table, seed=seed)
    written = [
        world.scores.write(out / "scores.csv"),
        write_frame(world.models, out / "true_models.csv"),
        write_frame(world.benchmarks, out / "true_benchmarks.csv"),
    ]
    console.say(f"{written[0]}: {world.scores!r}")
    console.wrote(written)


@app.command()
@verb
def coverage(
    output: Output,
    reading: Reading,
    worlds: Annotated[int, typer.Option("-n", "--worlds", min=2, help="Simulated worlds.")] = 100,
    like: Annotated[
        list[str] | None,
        typer.Option(help="Take dates, families and missing scores from a real table.", show_default=False),
    ] = None,
    resample: Annotated[
        list[str] | None, typer.Option(help="A way to redraw; may be repeated. [default: all]", show_default=False)
    ] = None,
    preset: Annotated[str, typer.Option(help="howsure, paper or eci.")] = "howsure",
    bootstrap: Annotated[int, typer.Option(min=20, help="Refits in each world.")] = 400,
    level: Level = 0.9,
    seed: Seed = 0,
    cluster: Cluster = None,
) -> None:
    """How often the intervals hold the truth, by simulation.

    Of differences between two models, in worlds whose truth is known. Writes coverage.csv.

    \b
    howsure stitch coverage --like epoch/ -n 100 --resample errors
    """
    import polars as pl

    from howsure.stitch.cleaning import pose
    from howsure.stitch.coverage import coverage_table
    from howsure.stitch.solver.replicates import RESAMPLES

    for name in resample or []:
        if name not in RESAMPLES:
            raise OptionError.unknown("resampling", name, RESAMPLES)
    table = pose(reading.scores(like, output.console)) if like else None
    options: dict[str, Any] = {"resamples": resample or RESAMPLES, "preset": preset, "bootstrap": bootstrap}
    options |= {"level": level, "seed": seed, "cluster": cluster}
    with progress_bar("simulating", output.console) as progress:
        found = coverage_table(worlds, **options, like=table, progress=progress)
    rows = [(r.resample, r.pairs, f"{r.coverage:.3f} ± {r.monte_carlo_se:.3f}", f"{r.mean_width:.3f}") for r in found]
    caption = f"{worlds:,} worlds, {bootstrap:,} refits in each, seed {seed}; ± is the simulation's own standard error."
    output.console.table(
        f"Coverage of {level:.0%} intervals for differences", ("redrawn", "of", "coverage", "mean width"), rows, caption
    )
    output.console.json({"rows": found, "worlds": worlds, "seed": seed})
    write_table(pl.DataFrame([vars(row) for row in found]), output, "coverage")


@dataclass(frozen=True)
class _Fitted:
    """A scale as the other results are: JSON, charts and files."""

    scale: Scale
    pairs: list[str] | None

    @property
    def provenance(self) -> Provenance:
        return self.scale.provenance

    def as_dict(self) -> dict[str, Any]:
        scale = self.scale
        tables = {"models": scale.models, "benchmarks": scale.benchmarks, "pairs": scale.pairs(self.pairs)}
        return {**vars(scale.facts), **{k: t.to_dicts() for k, t in tables.items()}, "provenance": scale.provenance}

    def charts(self) -> Mapping[str, Any]:
        from howsure.stitch.charts.scale import draw_scale

        return draw_scale(self.scale)

    def save(self, folder: Path) -> list[Path]:
        from howsure.frames import write_frame

        written = self.scale.save(folder)
        if self.pairs:
            write_frame(self.scale.pairs(self.pairs), folder / "pairs.csv")
        return written


def _tell_scale(scale: Scale, console: Console) -> None:
    facts, told = scale.facts, scale.provenance.settings
    ended = "" if facts.converged else " The solver did not converge: take no number here for granted."
    console.say(
        f"{facts.n_observations:,} scores of {facts.n_models:,} models on {facts.n_benchmarks:,} benchmarks; rmse {facts.rmse:.4f}, mae {facts.mae:.4f}, "
        f"R² {facts.r2:.4f}, cost {facts.cost:.9f} after {facts.iterations} steps (gradient {facts.gradient_norm:.1e}).{ended}\n"
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
    unit = f"anchored at {told['anchor']}" if "anchor" in told else f"anchored at {' and '.join(told['anchor_models'])}"
    console.table("Models", columns, models, f"{first_of(len(scale.models))} Preset {told['preset']}, {unit}.".strip())
    rows = [
        (row["benchmark"], capability_of(row, scale.level, "difficulty"), capability_of(row, scale.level, "slope"), row["n_models"], f"{row['rmse']:.3f}", _state(row))
        for row in scale.benchmarks.reverse().head(SHOWN).rows(named=True)
    ]  # fmt: skip
    hardest = ("benchmark", f"difficulty [{scale.level:.0%}]", "slope", "models", "rmse", "state")
    console.table("Hardest benchmarks", hardest, rows, first_of(len(scale.benchmarks)))


def _ranks(row: Mapping[str, Any]) -> str | None:
    return None if row["rank_low"] is None else f"{row['rank_low']:.0f}–{row['rank_high']:.0f}"


def _state(row: Mapping[str, Any]) -> str:
    return "" if row["state"] == "ok" else str(row["state"]).replace("_", " ")


def _tell_parts(parts: list[dict[str, Any]], console: Console) -> None:
    if len(parts) == 1:
        console.say("All models and benchmarks hang together: one scale can hold them.")
        return
    rows = [
        (p["n_models"], p["n_benchmarks"], _short(p["models"]), _short(p["benchmarks"]), p["would_join"])
        for p in parts[:SHOWN]
    ]
    columns = ("models", "benchmarks", "which models", "which benchmarks", "a score that would join it")
    console.table(f"The table falls into {len(parts)} parts", columns, rows, "One scale needs one part.")


def _short(names: str, most: int = 60) -> str:
    return names if len(names) <= most else names[: most - 1] + "…"
