"""One game with a model: numbers are shown one at a time, and the first wrong or malformed reply ends it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from anyio import get_cancelled_exc_class
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    cache_path,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError, token_limit

from howsure.running import MANNER, Gate, GivenUpError, digest
from howsure.running.replies import KeptReplies
from howsure.track.game.prompts import state_message, turn_message
from howsure.track.game.rules import Referee
from howsure.track.game.sequence import Setting
from howsure.track.running.records import Record, without_reasoning

__all__ = ["Role", "play_game"]

Role = Literal["user", "assistant"]


@solver
def play_game(
    *, is_explicit: bool = False, state_role: Role = "user", player_seed: int = 0, cache: bool = False
) -> Solver:
    """Play the sample's sequence; how it went is in the sample's metadata, also when something breaks it off.

    The sample's metadata say what is played: ``variant``, ``seed``, and all that makes a `Setting`. With ``is_explicit`` the state is shown with
    the newest number, as part of the user's message or as a message of the assistant's, and is not kept in the conversation.
    """

    gate = Gate()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        told = state.metadata
        setting = Setting(**{field.name: told[field.name] for field in fields(Setting)})
        record = Record(Referee(told["variant"], setting.length), setting)
        state.messages = [_opening(state, player_seed)]
        kept = KeptReplies(_file(state, [is_explicit, state_role, player_seed])) if cache else None
        ask = _Asking(get_model(), kept, record, gate)
        history = list(state.messages)  # what the model reads; the log's messages have all that was said
        try:
            for number, line in zip(setting.numbers(told["seed"]), setting.lines(told["seed"]), strict=True):
                record.show(number)
                shown = _message(ChatMessageUser, turn_message(number, line), record, number=number)
                with_state = _with_state(shown, record, state_role) if is_explicit else [shown]
                state.output = await ask([*history, *with_state])
                said = [choice.message for choice in state.output.choices[:1]]
                state.messages.extend([shown, *said])
                history.extend([shown, *(said if setting.keeps_reasoning else map(without_reasoning, said))])
                if not record.judge(state.output):
                    break
        except LimitExceededError as error:
            record.failure = f"{error.type}_limit"
            raise
        except get_cancelled_exc_class():  # a limit of time, or whoever runs the eval
            record.failure = "time_limit"
            raise
        finally:
            told |= record.as_dict()
            if kept:
                kept.close()
        return state

    return solve


class _Asking:
    """Puts a conversation to the model, and notes what was charged and what was interrupted."""

    def __init__(self, model: Model, kept: KeptReplies | None, record: Record, gate: Gate) -> None:
        self._model, self._kept, self._record, self._gate = model, kept, record, gate
        # by themselves, some providers would drop it
        self._options: dict[str, Any] = (
            {"config": GenerateConfig(reasoning_history="all")} if record.setting.keeps_reasoning else {}
        )

    async def __call__(self, messages: list[ChatMessage]) -> ModelOutput:
        newest = messages if len(messages) == 2 else messages[-2:]
        output = self._kept.next("\n".join(one.text for one in newest)) if self._kept else None
        if output is not None:
            self._record.count(output, is_charged=False)
        else:
            output = await self._asked(messages)
        for choice in output.choices[:1]:
            choice.message.metadata = self._record.mark
        return output

    async def _asked(self, messages: list[ChatMessage]) -> ModelOutput:
        try:
            with token_limit(None) as charged:  # sees only what was asked now, not what came from Inspect's cache
                output = await self._gate.ask(lambda: self._model.generate(messages, **self._options))
        except GivenUpError:
            self._record.failure = "api"
            raise
        self._record.count(output, is_charged=charged.usage > 0)
        if self._kept:
            self._kept.keep(output)
        return output


def _file(state: TaskState, settings: list[Any]) -> Path:
    """Where the replies of a game are kept: beside Inspect's cache, by all that can change a reply."""
    model = get_model()
    config = model.config.model_dump(exclude_none=True, exclude=set(MANNER))
    shelf = digest([str(model), model.api.base_url, config, state.metadata, settings])
    return cache_path() / "games" / f"{shelf}-{state.sample_id}-{state.epoch}.jsonl"


def _opening(state: TaskState, player_seed: int) -> ChatMessage:
    """The instructions; with them, what a player needs to draw as it would without Inspect."""
    again = [state.epoch] if state.epoch > 1 else []
    seeds = [player_seed, state.metadata["seed"], *again]
    told = {"variant": state.metadata["variant"], "player_seed": seeds}
    return ChatMessageSystem(content=state.input_text, metadata=told)


def _with_state(shown: ChatMessageUser, record: Record, role: Role) -> list[ChatMessage]:
    told = state_message(record.referee.statistic)
    if role == "assistant":
        return [shown, _message(ChatMessageAssistant, told, record)]
    # one message, because many chat templates refuse two of the user's in a row
    return [_message(ChatMessageUser, f"{shown.text}\n\n{told}", record, **(shown.metadata or {}))]


def _message(kind: Any, text: str, record: Record, **more: Any) -> Any:
    """A message that no other is equal to: Inspect's log compares equal ones again and again, in every turn."""
    return kind(content=text, metadata=record.mark | more)
