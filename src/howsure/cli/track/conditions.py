"""What is played: options that the verbs share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from howsure.track.game.sequence import Setting

__all__ = ["Conditions", "NSamples", "Solvers", "Variant", "Variants"]

_CHOICES = "median, mode, recall, inversions or spread"

Variant = Annotated[str, typer.Option(help=f"{_CHOICES}.")]
Variants = Annotated[list[str], typer.Option("--variant", help=f"{_CHOICES}; may be repeated.")]
Solvers = Annotated[
    list[str], typer.Option("--solver", help="direct, or explicit (the state is shown); may be repeated.")
]
NSamples = Annotated[int, typer.Option("--samples", min=1, help="Sequences to play, from number 0 on.")]


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Conditions", **more)


@dataclass(frozen=True)
class Conditions:
    """What is shown."""

    length: Annotated[int, _option("Numbers per sequence.")] = 300
    low: Annotated[int, _option("The smallest number.")] = 0
    high: Annotated[int, _option("One more than the largest number.")] = 100
    distractors: Annotated[float, _option("Probability of an irrelevant line before each number, 0 to 1.")] = 0.0
    brief: Annotated[
        bool, _option("Forbid everything but the answer, so that the state cannot be kept in writing.", "--brief")
    ] = False

    @property
    def setting(self) -> Setting:
        """The same for the game."""
        from howsure.track.game.sequence import Setting

        return Setting(self.length, self.low, self.high, self.distractors, self.brief)
