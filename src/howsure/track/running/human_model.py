"""A person as a model of Inspect, so that a log says who played: ``--model human/jo``."""

from __future__ import annotations

import sys

from inspect_ai.model import ChatMessage, modelapi
from inspect_ai.util import input_screen

from howsure.errors import OptionError
from howsure.track.running.free_model import FreeAPI
from howsure.track.terminal import QUIT, typed

__all__ = ["PERSON", "HumanAPI"]

PERSON = "human"
_WIPE = "\x1b[2J\x1b[3J\x1b[H"  # the screen and what could be scrolled back to


@modelapi(name=PERSON)
class HumanAPI(FreeAPI):
    """Whoever sits at the terminal: sees the newest number alone, and types the answer without brackets."""

    def max_connections(self) -> int:
        """One game at a time."""
        return 1

    def said(self, messages: list[ChatMessage]) -> str:
        """What the person types to the last number, in brackets."""
        variant = (messages[0].metadata or {}).get("variant")
        if variant is None:
            raise OptionError(f"{PERSON}/{self.model_name} plays track_the_stat only. Choose another model.")
        instructions = messages[0].text if len(messages) == 2 else ""
        word = variant.partition("-")[0]
        return f"[{word}: {_ask(instructions, messages[-1].text, word):g}]"


def _ask(instructions: str, shown: str, variant: str) -> float:
    """The number that was typed, asked for until there is one."""
    trouble = ""
    while True:
        above = [f"{text}\n\n" for text in (instructions, shown, trouble) if text]
        with input_screen(record_event=False):
            _show(_WIPE, *above, f"{variant.capitalize()} ({QUIT} to stop): ")
            text = input()
            _show(_WIPE)
        if text.strip().lower() == QUIT:
            raise KeyboardInterrupt("stopped")
        answer = typed(text)
        if answer is not None:
            return answer
        trouble = f"{text.strip()[:40]!r} is not a number. Type digits, such as 7 or 40.5."


def _show(*texts: str) -> None:
    """Onto the terminal itself: Inspect takes what is printed into its own display, or drops it."""
    screen = sys.__stdout__
    if screen is not None:
        screen.write("".join(texts))
        screen.flush()
