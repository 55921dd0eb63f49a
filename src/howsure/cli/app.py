"""The root command. A verb's module is imported when the verb is called, so that `howsure --help` is fast."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from howsure._version import __version__

__all__ = ["PANELS", "Panels", "app", "lazy_app"]


# Groups of verbs that are imported when called, so that `--help` is fast.


Panels = Mapping[str, Mapping[str, tuple[str, str]]]
"""Title of a panel → name of a verb → its module and a one-line summary."""


def lazy_app(
    panels: Panels,
    line: str,
    examples: Sequence[tuple[str, str]] = (),
    *,
    add_completion: bool = False,
    for_paths: str | None = None,
) -> typer.Typer:
    """A command with one module per verb; each module has an `app` that contains the verb.

    Where the first word is no verb and exists as a file or folder, the verb `for_paths` is called.
    """

    class Group(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return [name for verbs in panels.values() for name in verbs]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            for verbs in panels.values():
                if cmd_name in verbs:
                    module_app = importlib.import_module(verbs[cmd_name][0]).app
                    module_app.rich_markup_mode, module_app._add_completion = None, False  # one style of help
                    loaded = typer.main.get_command(module_app)
                    for one in getattr(loaded, "commands", {"": loaded}).values():
                        one.epilog = f"\b\n{one.epilog}"  # an example is one line, to be copied
                    return getattr(loaded, "commands", {}).get(cmd_name, loaded)
            return None

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            if for_paths and args and args[0] not in self.list_commands(ctx):
                if Path(args[0]).exists():
                    args = [for_paths, *args]
                elif set(args[0]) & set("/\\."):
                    ctx.fail(f"There is no file or folder '{args[0]}', and no command of that name.")
            self.commands = dict.fromkeys(self.list_commands(ctx))  # type: ignore[assignment] # suggested after a typo
            return super().resolve_command(ctx, args)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            for panel, verbs in panels.items():
                with formatter.section(panel):
                    formatter.write_dl([(name, summary) for name, (_, summary) in verbs.items()])

        def format_epilog(self, ctx: Any, formatter: Any) -> None:
            if examples:
                with formatter.section("Examples"):
                    formatter.write_dl(examples, col_max=60)

    app = typer.Typer(
        cls=Group,
        rich_markup_mode=None,
        no_args_is_help=True,
        add_completion=add_completion,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(help=line)(lambda: None)
    return app


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
        "gate": ("howsure.cli.evals.decisions", "Ship, block or cannot tell: may a new version replace the old one?"),
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
