"""`howsure bridge`: from one instrument to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import Inputs, Level, Output, Reading, Seed, verb
from howsure.cli.output import finish, progress_bar

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    rich_markup_mode=None,
    no_args_is_help=True,
    help="From one instrument to another: games, attempts, verdicts, scales.",
)

Cluster = Annotated[
    str,
    typer.Option(help="Clusters: attempts with the same value are not independent (task, family, domain, or none)."),
]
Benchmark = Annotated[
    str | None,
    typer.Option(help="Benchmark: the name that it gets. [default: the attempts' domains]", show_default=False),
]


@app.command(epilog="Example: howsure bridge track runs people -o out")
@verb
def track(
    inputs: Annotated[
        list[Path],
        typer.Argument(help="Inspect logs, samples.csv files, or folders that contain them.", show_default=False),
    ],
    output: Output,
    min_turns: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Success is at least this many correct turns. [default: the score is the share of correct turns]",
            show_default=False,
        ),
    ] = None,
    definition: Annotated[
        str, typer.Option(help="matching, regression or irt; several with commas; all.")
    ] = "matching",
    replicates: Annotated[int, typer.Option(min=0, help="Replicates: bootstrap samples for the intervals.")] = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Games of Track the Stat → how many games a novice needs to do as well as each model.

    Writes attempts.csv (the games as attempts at learning), horizons.csv, horizons.json, the charts and a report.
    """
    from howsure.bridges.games import learning_attempts, track_horizons
    from howsure.horizon.attempt_horizon.definitions import DEFINITIONS
    from howsure.track.running.logs import read_samples

    samples = read_samples(inputs)
    with progress_bar("resampling", output.console) as progress:
        found = track_horizons(
            samples,
            min_turns=min_turns,
            definitions=DEFINITIONS if definition == "all" else definition.split(","),
            n_replicates=replicates,
            level=level,
            seed=seed,
            progress=progress,
        )
    output.console.notes(found.provenance.notes)
    rows = [(r.model, r.definition, f"{100 * r.success_rate:g} %", r.horizon, r.success) for r in found.rows]
    output.console.table(
        "Games a novice would need", ("model", "definition", "at", f"games [{level:.0%}]", "model's score"), rows
    )
    attempts = learning_attempts(samples, min_turns=min_turns)
    more = [attempts.write(output.out / "attempts.csv")] if output.out else []
    finish(found, output, "track_horizon", "Games a novice would need", more)


@app.command(epilog="Example: howsure bridge scores examples/evals/attempts.csv -o out")
@verb
def scores(
    inputs: Inputs, reading: Reading, output: Output, benchmark: Benchmark = None, cluster: Cluster = "task"
) -> None:
    """Attempts at evals → scores with standard errors, ready for `howsure stitch`.

    Writes scores.csv.
    """
    from howsure.bridges.placing import scores_of

    found = scores_of(reading.attempts(inputs, output.console), benchmark=benchmark, cluster=cluster)
    rows = [
        (r["model"], r["benchmark"], _share(r["score"]), _share(r.get("se")), r["n_items"])
        for r in found.frame.to_dicts()
    ]
    output.console.table("Scores", ("model", "benchmark", "score", "se", "items"), rows)
    output.console.json(found.frame.to_dicts())
    if output.out:
        output.console.wrote([found.write(output.out / "scores.csv")])


@app.command(epilog="Example: howsure bridge place fit attempts.csv --benchmark bench-02 -o out")
@verb
def place(
    fit: Annotated[Path, typer.Argument(metavar="FIT", help="A folder of `howsure stitch fit`.", show_default=False)],
    inputs: Inputs,
    reading: Reading,
    output: Output,
    benchmark: Benchmark = None,
    cluster: Cluster = "task",
    seed: Seed = 0,
) -> None:
    """Attempts at evals → a place on a finished capability scale, in one command.

    Writes placed.csv and placed.json.
    """
    from howsure.bridges.placing import place_attempts
    from howsure.cli.stitch.scale import capability_of, load_scale, save_result

    scale = load_scale(fit)
    found = place_attempts(
        scale, reading.attempts(inputs, output.console), benchmark=benchmark, cluster=cluster, seed=seed
    )
    rows = [(r["model"], capability_of(r, scale.level), r["n_benchmarks"]) for r in found.models.to_dicts()]
    output.console.table("On the scale", ("model", f"capability [{scale.level:.0%}]", "benchmarks"), rows)
    save_result(found, output)


@app.command(
    epilog="Example: howsure bridge judged examples/judged/verdicts.csv --labels examples/judged/labels.csv -o out"
)
@verb
def judged(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    labels: Annotated[
        Path, typer.Option(help="Ratings by people of items called subject/task/attempt.", show_default=False)
    ],
    novices: Annotated[
        Path | None,
        typer.Option(help="Attempts of novices, for horizons that include the judge's errors.", show_default=False),
    ] = None,
    replicates: Annotated[
        int, typer.Option(min=2, help="Replicates: bootstrap samples for the intervals of horizons.")
    ] = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """A judge's verdicts, some labelled by people → corrected rates, and attempts for the horizon.

    Writes corrected.csv, corrected.json, attempts.csv, a report and, with novices, judged_horizons.csv.
    """
    from howsure.bridges.judge_correction import correct_verdicts

    verdicts = reading.attempts(inputs, output.console)
    with progress_bar("resampling", output.console) as progress:
        found = correct_verdicts(
            verdicts, labels, novices=novices, n_replicates=replicates, level=level, seed=seed, progress=progress
        )
    horizons = found.horizons
    notes = [*found.provenance.notes, *(horizons.provenance.notes if horizons else ())]
    output.console.notes([note for note in dict.fromkeys(notes) if note not in verdicts.notes])
    rows = [(r.model, r.judged, r.powered, r.corrected, r.n, r.n_labelled) for r in found.rows]
    names = ("model", f"judged [{level:.0%}]", "PPI++", "Rogan–Gladen", "attempts", "labelled")
    output.console.table("Success rates, as judged and corrected", names, rows)
    if horizons:
        shown = [(r.model, r.horizon, r.as_judged, _share(r.from_judge)) for r in horizons.rows]
        heads = ("model", f"attempts [{level:.0%}]", "as judged", "share of the variance from the judge")
        output.console.table("Attempts a novice would need", heads, shown)
    finish(found, output, "corrected", "Success rates corrected for a judge's errors")


@app.command("map", epilog="Example: howsure bridge map fit time -o out")
@verb
def map_(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS",
            help="Folders of `stitch fit`, `bridge place`, `horizon time` and `horizon attempts`.",
            show_default=False,
        ),
    ],
    output: Output,
    success_rate: Annotated[
        float, typer.Option(min=0, max=1, help="The success rate of the horizons, between 0 and 1.")
    ] = 0.5,
    level: Level = 0.95,
    names: Annotated[
        Path | None,
        typer.Option(
            help="File that says which names mean the same, as `howsure names --save` writes it.", show_default=False
        ),
    ] = None,
) -> None:
    """Capability, time horizon and N-attempt horizon: how well each predicts the others.

    Writes scales.csv, scale_models.csv, scales.json, the charts and a report.
    """
    from howsure.bridges.scales import SCALES, map_scales

    found = map_scales(inputs, success_rate=success_rate, level=level, names=names)
    output.console.notes(found.provenance.notes)
    rows = [(SCALES[k.x][0], SCALES[k.y][0], k.slope, k.correlation, len(k.points)) for k in found.links]
    caption = "Slope: doublings of a horizon, or units of capability, per doubling or unit of the first scale."
    output.console.table(
        "How the scales correlate", ("from", "to", f"slope [{level:.0%}]", "r", "models"), rows, caption
    )
    finish(found, output, "map", "How the scales correlate")


def _share(number: float | None) -> str | None:
    return None if number is None else f"{number:.3f}"
