"""The root command. A verb's module is imported when the verb is called, so that `howsure --help` is fast."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure._version import __version__
from howsure.cli.lazy import Panels, lazy_app

__all__ = ["PANELS", "app"]

PANELS: Panels = {
    "Evals": {
        "overview": (
            "howsure.cli.evals.decisions",
            "What is in the logs, what they support, and what they do not decide.",
        ),
        "convert": ("howsure.cli.convert", "Convert the logs of an eval harness to one checked table."),
        "formats": ("howsure.cli.convert", "What Howsure reads: the formats of other tools."),
        "names": ("howsure.cli.evals.decisions", "Names of models and benchmarks that may be the same, with reasons."),
        "summary": ("howsure.cli.evals.means", "Mean score of each model, with intervals over clusters."),
        "compare": ("howsure.cli.evals.means", "Differences between models, prompts or any runs, paired by item."),
        "gate": ("howsure.cli.evals.decisions", "Ship, block or cannot tell: may a candidate replace the base?"),
        "explore": ("howsure.cli.evals.decisions", "One offline page: a map of models by items, flips, filters, cost."),
        "items": (
            "howsure.cli.evals.decisions",
            "Every item: success by model, flips, suspected wrong keys, saturation.",
        ),
        "leaderboard": ("howsure.cli.evals.means", "Tiers and rank intervals of many models, instead of ranks."),
        "watch": (
            "howsure.cli.evals.decisions",
            "Running evals: intervals that may be looked at as often as you like.",
        ),
        "power": ("howsure.cli.evals.means", "How many items and repeats are needed to detect a difference."),
    },
    "Instruments": {
        "stitch": ("howsure.cli.stitch", "How capable is each model and how hard is each benchmark, on one scale?"),
        "horizon": ("howsure.cli.horizon", "How many attempts would a novice need? How many minutes an expert?"),
        "study": ("howsure.cli.study", "Do people agree, and does an automatic judge agree with them?"),
        "track": ("howsure.cli.track", "For how many turns can a model or a person track a running statistic?"),
    },
    "Together": {
        "claims": ("howsure.cli.claims", "Does a claim hold under every defensible analysis? Certificates."),
        "bridge": ("howsure.cli.bridge", "From one instrument to another: games, attempts, verdicts, scales."),
        "report": ("howsure.cli.report", "Saved results of any instruments, in one page."),
    },
    "The tool itself": {
        "serve": ("howsure.cli.serve", "Give each person a secret link to their page, and keep the answers."),
        "demo": ("howsure.cli.demo", "A tour on simulated data with known true values, in one report."),
        "doctor": ("howsure.cli.doctor", "Check versions, encoding, disk, caches, extras, browser and cluster."),
        "coverage": ("howsure.cli.coverage", "Measure how often each kind of interval contains the true value."),
    },
}

_EXAMPLES = (
    ("howsure demo -o demo", "the tour, in a minute"),
    ("howsure logs/", "what these logs support: the same as howsure overview logs/"),
    ("howsure summary logs/ -o out", "a folder of Inspect logs, with charts"),
    ("howsure compare logs/ --a NEW --b OLD", "is the new model better?"),
    ("howsure power --effect 0.05", "items needed to detect a difference of 0.05"),
    ("howsure convert runs.csv runs.parquet", "any file, checked"),
)


_LINE = "What may you claim from the results of AI evaluations, and how sure can you be?"

app = lazy_app(PANELS, _LINE, _EXAMPLES, add_completion=True, for_paths="overview")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"howsure {__version__}")
        raise typer.Exit


@app.callback(help=_LINE)
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
