"""The root command. Verbs are found by name and imported when called, so that `assay --help` is quick."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from assay._version import __version__

__all__ = ["PANELS", "app"]

PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "Any eval": {
        "convert": ("assay.cli.convert", "Turn eval logs of any harness into one of Assay's tables."),
        "summary": ("assay.cli.evals", "Mean score of each model, with clustered intervals."),
        "compare": ("assay.cli.evals", "Differences between models, paired by sample, with tests."),
        "power": ("assay.cli.evals", "How many items and repeats a difference needs to be seen."),
    },
    "Instruments": {
        "stitch": ("assay.cli.stitch", "Many benchmarks on one capability scale, and where it is going."),
        "study": ("assay.cli.study", "Do people agree? (so far: reliability of a table of ratings)"),
        "track": ("assay.cli.track", "For how many turns can a solver keep a statistic in its head?"),
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


class _LazyGroup(TyperGroup):
    """Knows its verbs by name and one line; imports the module of a verb only when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for verbs in PANELS.values() for name in verbs]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for verbs in PANELS.values():
            if cmd_name in verbs:
                loaded = typer.main.get_command(importlib.import_module(verbs[cmd_name][0]).app)
                return getattr(loaded, "commands", {}).get(cmd_name, loaded)
        return None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for panel, verbs in PANELS.items():
            with formatter.section(panel):
                formatter.write_dl([(name, line) for name, (_, line) in verbs.items()])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Examples"):
            formatter.write_dl(_EXAMPLES, col_max=60)


app = typer.Typer(
    cls=_LazyGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Assay measures what AI can do, and says how sure one can be."""
