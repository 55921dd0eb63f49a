"""Groups of verbs that are found by name and imported when called, so that `--help` is quick."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["Panels", "lazy_app"]

Panels = Mapping[str, Mapping[str, tuple[str, str]]]
"""Title of a panel → name of a verb → its module and its one line."""


def lazy_app(
    panels: Panels, line: str, examples: Sequence[tuple[str, str]] = (), *, add_completion: bool = False
) -> typer.Typer:
    """A command whose verbs live in modules of their own; each module has an `app` that holds the verb."""

    class Group(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return [name for verbs in panels.values() for name in verbs]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            for verbs in panels.values():
                if cmd_name in verbs:
                    loaded = typer.main.get_command(importlib.import_module(verbs[cmd_name][0]).app)
                    return getattr(loaded, "commands", {}).get(cmd_name, loaded)
            return None

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            for panel, verbs in panels.items():
                with formatter.section(panel):
                    formatter.write_dl([(name, told) for name, (_, told) in verbs.items()])

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
