"""How a verb asks a model through Inspect: its options, the folder that it needs, and what is said of servers that failed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from howsure.cli.options import Output
from howsure.cli.output import print_error
from howsure.errors import OptionError, need

if TYPE_CHECKING:
    from howsure.running import Prices

__all__ = ["AskingOptions", "asking_option", "prices_of", "tell_errors"]


def asking_option(text: str, *names: str, **more: Any) -> Any:
    """An option on how a model is asked."""
    return typer.Option(*names, help=text, rich_help_panel="Asking a model", **more)


@dataclass(frozen=True)
class AskingOptions:
    """How a model is asked; a verb that has more to say on it adds its own."""

    base_url: Annotated[str | None, asking_option("Address of the model's server.", show_default=False)] = None
    max_samples: Annotated[int, asking_option("Samples at a time: questions.", min=1)] = 20
    config: Annotated[
        list[str] | None, asking_option("Inspect's generation settings, e.g. temperature=0.", show_default=False)
    ] = None

    max_tokens_total: Annotated[
        int | None,
        asking_option(
            "End the run when it has used this number of tokens; the same command with a larger number continues it.",
            min=1,
            show_default=False,
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        asking_option("End the run when it has cost this amount; needs the prices.", min=0, show_default=False),
    ] = None
    input_price: Annotated[
        float | None, asking_option("Price per million input tokens.", min=0, show_default=False)
    ] = None
    output_price: Annotated[
        float | None, asking_option("Price per million output tokens.", min=0, show_default=False)
    ] = None
    cached_price: Annotated[
        float | None,
        asking_option("Price per million cached input tokens, if it is lower.", min=0, show_default=False),
    ] = None

    @property
    def prices(self) -> Prices | None:
        """The prices, if they were given."""
        return prices_of(self.input_price, self.output_price, self.cached_price)

    def into(self, output: Output) -> dict[str, Any]:
        """The same for a run in the folder that was named, which it cannot do without."""
        need("inspect_ai", "run", "Asking a model")
        if not output.out:
            raise OptionError("A model's run needs a folder for its logs: add -o DIR.")
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        told["config"] = dict(_setting(text) for text in self.config or [])
        told |= {"prices": self.prices}
        for name in ("input_price", "output_price", "cached_price"):
            del told[name]
        return told | {"out": output.out, "display": _display(output)}


def prices_of(reading: float | None, writing: float | None, cached: float | None) -> Prices | None:
    """Prices from the options of a verb."""
    from howsure.running import Prices

    if (reading is None) != (writing is None):
        raise OptionError("--input-price and --output-price are used together; give both or neither.")
    return None if reading is None or writing is None else Prices(reading, writing, cached)


class Run(Protocol):
    """What every run through Inspect comes to."""

    @property
    def errors(self) -> Mapping[str, int]:
        """Those of servers, with their number."""

    @property
    def exit_code(self) -> int:
        """1 while something is left to be asked."""


def tell_errors(run: Run, output: Output, unfinished: str) -> None:
    """What servers failed with; and where something is left, also to who asked for no notes, that it is ``unfinished`` and how to go on."""
    told = [f"{count} × {line}" for line, count in run.errors.items()]
    output.console.notes(told)
    if run.exit_code:
        reason = f" First message of a server: {told[0]}." if told and output.quiet else ""
        print_error(f"{unfinished} The same command continues with the rest.{reason}")


def _display(output: Output) -> str:
    if output.quiet or output.json:
        return "none"
    return "rich" if sys.stdout.isatty() else "plain"


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise OptionError(f"--config {text}: write it as name=value, for example --config temperature=0.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
