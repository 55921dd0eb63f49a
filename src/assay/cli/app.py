"""The root command. Verbs are found by name and imported when called, so that `assay --help` is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from assay._version import __version__
from assay.cli.lazy import Panels, lazy_app

__all__ = ["PANELS", "app"]

PANELS: Panels = {
    "Any eval": {
        "convert": ("assay.cli.convert", "Turn eval logs of any harness into one of Assay's tables."),
        "summary": ("assay.cli.evals", "Mean score of each model, with clustered intervals."),
        "compare": ("assay.cli.evals", "Differences between models, paired by sample, with tests."),
        "power": ("assay.cli.evals", "How many items and repeats a difference needs to be seen."),
    },
    "Instruments": {
        "stitch": ("assay.cli.stitch", "Many benchmarks on one capability scale, and where it is going."),
        "horizon": ("assay.cli.horizon", "How many attempts would a novice need? How many minutes an expert?"),
        "study": ("assay.cli.study", "Do people agree, and does an automatic judge agree with them?"),
        "track": ("assay.cli.track", "For how many turns can a solver keep a statistic in its head?"),
    },
    "Together": {
        "bridge": ("assay.cli.bridge", "From one instrument to another: games, attempts, verdicts, scales."),
        "report": ("assay.cli.report", "Saved results of any instruments, in one page."),
    },
    "The tool itself": {
        "serve": ("assay.cli.serve", "Give each person a secret link to their page, and keep the answers."),
        "demo": ("assay.cli.demo", "The tour: a simulated world with a known truth, in one report."),
        "coverage": ("assay.cli.coverage", "Measure how often each kind of interval covers the truth."),
    },
}

_EXAMPLES = (
    ("assay demo -o demo", "the tour, in a minute"),
    ("assay summary logs/ -o out", "a folder of Inspect logs, with charts"),
    ("assay compare logs/ --a NEW --b OLD", "is the new model better?"),
    ("assay power --effect 0.05", "items needed to see five points"),
    ("assay convert runs.csv runs.parquet", "any file, checked"),
)


_LINE = "Assay measures what AI can do, and says how sure one can be."

app = lazy_app(PANELS, _LINE, _EXAMPLES, add_completion=True)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback(help=_LINE)
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
