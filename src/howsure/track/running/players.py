"""Players as models of Inspect, so that a log says who played: ``--model howsure/oracle``; and a simulated model that reasons, ``--model howsure-reasoning/20``."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections import OrderedDict

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo
from inspect_ai.util import input_screen

from howsure.errors import OptionError
from howsure.track.game.players import player
from howsure.track.game.rules import Player
from howsure.track.game.statistics import Step
from howsure.track.running.costs import count_tokens
from howsure.track.terminal import QUIT, typed

__all__ = ["PERSON", "PROVIDER", "REASONING_PROVIDER", "FreeAPI", "HumanAPI", "PlayerAPI", "ReasoningAPI"]


# Models of Inspect that cost no tokens, and say so: players and people.


class FreeAPI(ModelAPI):
    """Somebody who answers a conversation without a server."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect has it
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - Inspect's name
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """What is said to the last message."""
        output = ModelOutput.from_message(ChatMessageAssistant(content=self.said(input), source="generate"))
        # without usage Inspect counts tokens itself, and fetches a tokenizer for it
        output.usage = ModelUsage()
        return output

    @abstractmethod
    def said(self, messages: list[ChatMessage]) -> str:
        """The reply to a conversation."""


PROVIDER = "howsure"
REASONING_PROVIDER = "howsure-reasoning"
_SLIPPING = "noisy-0.02"  # who answers for a simulated model that reasons
_SEATS = 256  # games remembered at a time; more are played at once only on purpose


@modelapi(name=PROVIDER)
class PlayerAPI(FreeAPI):
    """One of the players that need no model, under its own name: oracle, random, largest, window-20, noisy-0.05.

    It is told the numbers by the messages' metadata. Where a conversation is not the one it knows, one turn on, it plays
    the game anew from the start: a resumed game goes on as it began.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect has it
    ) -> None:
        super().__init__(model_name, base_url, api_key, config)
        player(model_name, "median")  # says now if there is no such player
        # by the opening message: how many messages the game had, and who plays it
        self._seats: OrderedDict[str | None, tuple[int, Player]] = OrderedDict()

    def said(self, messages: list[ChatMessage]) -> str:
        """What the player says to the last number."""
        opening = messages[0].metadata or {}
        if "player_seed" not in opening:
            raise OptionError(f"{PROVIDER}/{self.model_name} plays track_the_stat only. Choose another model.")
        told, playing = self._seats.pop(messages[0].id, (0, None))
        newest = messages[-2:]  # the turn, and before it the last reply, or after it the state
        if playing is None or told + 2 != len(messages):
            playing, newest = player(self.model_name, opening["variant"], seed=opening["player_seed"]), messages
        shown = [one.metadata for one in newest if one.metadata]
        said = [playing.reply(one["step"]) for one in shown if "step" in one][-1:]
        said += [playing.reply(step) for one in shown for step in one.get("steps", ())]  # all turns at once
        self._seats[messages[0].id] = len(messages), playing
        if len(self._seats) > _SEATS:
            self._seats.popitem(last=False)
        return "\n".join(said)


@modelapi(name=REASONING_PROVIDER)
class ReasoningAPI(FreeAPI):
    """A simulated model that reasons: before each answer it writes down the last K turns, and knows no more than these; besides, it errs by chance in 2 % of turns.

    Where the conversation contains its earlier reasoning, it goes on from what is written there, and errs by chance only.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect has it
    ) -> None:
        super().__init__(model_name, base_url, api_key, config)
        if not (model_name.isascii() and model_name.isdigit() and int(model_name)):
            raise OptionError(
                f"{REASONING_PROVIDER}/{model_name}: after the stroke comes the number of turns that it reasons about, for example {REASONING_PROVIDER}/20."
            )
        self._size = int(model_name)

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - Inspect's name
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """The last turns as reasoning, the answer, and the tokens of both."""
        output = await super().generate(input, tools, tool_choice, config)
        notes = "So far: " + "; ".join(map(str, _steps(input)[-self._size :])) + "."
        output.message.content = [ContentReasoning(reasoning=notes), ContentText(text=output.message.text)]
        n_reasoned = count_tokens(notes)
        n_written = n_reasoned + count_tokens(output.message.text)
        output.usage = ModelUsage(output_tokens=n_written, total_tokens=n_written, reasoning_tokens=n_reasoned)
        return output

    def said(self, messages: list[ChatMessage]) -> str:
        """The answer to the last turn."""
        opening, steps = messages[0].metadata or {}, _steps(messages)
        if "player_seed" not in opening or not steps:
            raise OptionError(f"{REASONING_PROVIDER}/{self.model_name} plays track_the_stat only, turn by turn.")
        reads_notes = any(isinstance(part, ContentReasoning) for one in messages for part in one.content)
        seed = [*opening["player_seed"], self._size, len(steps)]
        playing = player(_SLIPPING, opening["variant"], seed=seed)
        return [playing.reply(step) for step in (steps if reads_notes else steps[-self._size :])][-1]


def _steps(messages: list[ChatMessage]) -> list[Step]:
    return [one.metadata["step"] for one in messages if one.metadata and "step" in one.metadata]


# A person as a model of Inspect, so that a log says who played: ``--model human/jo``.


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
