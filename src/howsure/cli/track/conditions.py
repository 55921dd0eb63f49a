"""What is played: options that the verbs share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.track.game.sequence import Setting

__all__ = ["Conditions", "NSamples", "Solvers", "Variant", "Variants"]

_CHOICES = "median, mode, inversions, spread, lookback, permutation, boxes, sums, automaton, repl or ledger; with a size, as in boxes-12"

Variant = Annotated[str, typer.Option(help=f"{_CHOICES}.")]
Variants = Annotated[list[str], typer.Option("--variant", help=f"{_CHOICES}; may be repeated.")]
Solvers = Annotated[
    list[str],
    typer.Option(
        "--solver",
        help="direct, explicit (the state is shown), cot (reasons in the reply), completion (base models), explicit+cot, explicit+completion; may be repeated.",
    ),
]
NSamples = Annotated[int, typer.Option("--samples", min=1, help="Sequences to play, from number 0 on.")]


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Conditions", **more)


@dataclass(frozen=True)
class Conditions:
    """What is shown."""

    length: Annotated[int, _option("Turns per game.")] = 300
    low: Annotated[int, _option("The smallest number.")] = 0
    high: Annotated[int, _option("One more than the largest number.")] = 100
    distractors: Annotated[float, _option("Probability of an irrelevant line before each number, 0 to 1.")] = 0.0
    updates: Annotated[int, _option("Numbers, or other updates, per turn.")] = 1
    interference: Annotated[
        float, _option("Probability that a turn also shows an update of another game, to be ignored, 0 to 1.")
    ] = 0.0
    mode: Annotated[
        str,
        _option("turns (to the first error), one-shot (all turns in one prompt), or continue (after errors too)."),
    ] = "turns"
    replaced: Annotated[
        float,
        _option("With --mode continue: probability that an answer is replaced by a wrong one in the conversation."),
    ] = 0.0
    prompt: Annotated[
        str, _option("Order of the instructions: howsure, or original-like (as in the eval's first implementation).")
    ] = "howsure"
    brief: Annotated[
        bool,
        _option(
            "Forbid notes in replies, so that the state cannot be kept in writing. Hidden reasoning is counted, not forbidden.",
            "--brief",
        ),
    ] = False
    keep_reasoning: Annotated[
        bool,
        _option(
            "Leave a model's reasoning of earlier turns in the conversation; without it, that reasoning is dropped.",
            "--keep-reasoning",
        ),
    ] = False
    first_answer: Annotated[bool, _option("The first answer in a reply counts, not the last.", "--first-answer")] = (
        False
    )

    @property
    def setting(self) -> Setting:
        """The same for the game."""
        from howsure.track.game.sequence import Setting

        if self.prompt not in ("howsure", "original-like"):
            raise OptionError.unknown("prompt", self.prompt, ("howsure", "original-like"))
        return Setting(
            length=self.length,
            low=self.low,
            high=self.high,
            distractors=self.distractors,
            is_brief=self.brief,
            keeps_reasoning=self.keep_reasoning,
            takes_first=self.first_answer,
            updates=self.updates,
            interference=self.interference,
            mode=self.mode,  # type: ignore[arg-type]
            replaced=self.replaced,
            is_original=self.prompt == "original-like",
        )
