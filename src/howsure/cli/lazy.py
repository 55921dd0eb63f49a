"""Groups of verbs that are imported when called, so that `--help` is fast."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["Panels", "lazy_app"]

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
