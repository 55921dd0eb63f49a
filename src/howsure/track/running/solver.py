"""One game with a model, turn by turn or in one prompt; what a reply may contain and what the model is shown depend on the setting and the solver."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
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

from howsure.running import MANNER, BudgetSpentError, Gate, GivenUpError, digest
from howsure.running.replies import KeptReplies
from howsure.track.game.prompts import all_turns, bracketed, state_message, turn_message
from howsure.track.game.rules import Referee
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import Step
from howsure.track.running.records import Record, without_reasoning

__all__ = ["Role", "play_game", "replies_file"]

Role = Literal["user", "assistant"]
_STOP = "\nMessage:"  # where a base model goes on with the transcript by itself


@solver
def play_game(
    *,
    is_explicit: bool = False,
    state_role: Role = "user",
    is_completion: bool = False,
    player_seed: int = 0,
    cache: bool = False,
) -> Solver:
    """Play the sample's sequence; how it went is in the sample's metadata, also when something breaks it off.

    The sample's metadata say what is played: ``variant``, ``seed``, and all that makes a `Setting`. With ``is_explicit`` the state is shown with
    the newest update, as part of the user's message or as a message of the assistant's, and is not kept in the conversation. With ``is_completion`` the model gets
    the conversation as one text that it continues, as base models do.
    """
    gate = Gate()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        told = state.metadata
        setting = Setting(**{field.name: told[field.name] for field in fields(Setting)})
        record = Record(Referee(told["variant"], setting.length), setting)
        state.messages = [_opening(state, player_seed)]
        kept = (
            KeptReplies(replies_file(state, [is_explicit, state_role, is_completion, player_seed])) if cache else None
        )
        ask = _Asking(get_model(), kept, record, gate, is_completion=is_completion)
        try:
            if setting.mode == "one-shot":
                await _play_at_once(state, record, ask)
            else:
                await _play_turns(state, record, ask, state_role if is_explicit else None)
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


async def _play_turns(state: TaskState, record: Record, ask: _Asking, state_role: Role | None) -> None:
    """Turn after turn, to the first error or, where the setting says so, to the end."""
    told, setting, kind = state.metadata, record.setting, type(record.referee.statistic)
    steps, lines = setting.steps(told["variant"], told["seed"]), setting.lines(told["variant"], told["seed"])
    replacing = np.random.default_rng([told["seed"], 2])
    history = list(state.messages)  # what the model reads; the log's messages have all that was said
    for step, line in zip(steps, lines, strict=True):
        record.show(step)
        shown = _message(ChatMessageUser, turn_message(kind, step, line), record, step=step)
        with_state = _with_state(shown, record, state_role) if state_role else [shown]
        state.output = await ask([*history, *with_state])
        said = [choice.message for choice in state.output.choices[:1]]
        state.messages.extend([shown, *said])
        kept = said if setting.keeps_reasoning else [without_reasoning(one) for one in said]
        if setting.replaced and replacing.random() < setting.replaced:
            wrong = bracketed(kind, record.referee.truth + int(replacing.integers(1, 10)))
            kept = [_message(ChatMessageAssistant, wrong, record, is_replaced=True)]
        history.extend([shown, *kept])
        if not record.judge(state.output, takes_first=True if ask.is_completion else None):
            break


async def _play_at_once(state: TaskState, record: Record, ask: _Asking) -> None:
    """All turns in one prompt, all answers in one reply."""
    told, setting, kind = state.metadata, record.setting, type(record.referee.statistic)
    steps: list[Step] = setting.steps(told["variant"], told["seed"])
    text = all_turns(kind, steps, setting.lines(told["variant"], told["seed"]))
    shown = ChatMessageUser(content=text, metadata={"steps": steps})
    state.messages.append(shown)
    state.output = await ask(list(state.messages))
    state.messages.extend(choice.message for choice in state.output.choices[:1])
    record.judge_all(state.output, steps)


class _Asking:
    """Puts a conversation to the model, and notes what was charged and what was interrupted."""

    def __init__(
        self, model: Model, kept: KeptReplies | None, record: Record, gate: Gate, *, is_completion: bool
    ) -> None:
        self._model, self._kept, self._record, self._gate = model, kept, record, gate
        self.is_completion = is_completion
        config: dict[str, Any] = {}
        if record.setting.keeps_reasoning:  # by themselves, some providers would drop it
            config["reasoning_history"] = "all"
        if is_completion:
            config["stop_seqs"] = [_STOP]
        self._options: dict[str, Any] = {"config": GenerateConfig(**config)} if config else {}

    async def __call__(self, messages: list[ChatMessage]) -> ModelOutput:
        output = self._kept.next("\n".join(one.text for one in messages[-2:])) if self._kept else None
        if output is not None:
            self._record.count(output, is_charged=False)
        else:
            output = await self._asked([_transcript(messages)] if self.is_completion else messages)
        for choice in output.choices[:1]:
            choice.message.metadata = self._record.mark
        return output

    async def _asked(self, messages: list[ChatMessage]) -> ModelOutput:
        try:
            with token_limit(None) as charged:  # sees only what was asked now, not what came from Inspect's cache
                output = await self._gate.ask(lambda: self._model.generate(messages, **self._options))
        except GivenUpError as error:
            self._record.failure = "budget" if isinstance(error, BudgetSpentError) else "api"
            raise
        self._record.count(output, is_charged=charged.usage > 0)
        if self._kept:
            self._kept.keep(output)
        return output


def replies_file(state: TaskState, settings: list[Any]) -> Path:
    """Where the replies of a sample are kept: beside Inspect's cache, by all that can change a reply."""
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


def _transcript(messages: list[ChatMessage]) -> ChatMessage:
    """The conversation as one text, up to where the next answer begins."""
    words = {"user": "Message:", "assistant": "You:", "system": ""}
    told = [f"{words[one.role]} {one.text.partition(_STOP)[0].strip()}".strip() for one in messages]
    return ChatMessageUser(content="\n".join([told[0], "", *told[1:], "You:"]))


def _with_state(shown: ChatMessageUser, record: Record, role: Role) -> list[ChatMessage]:
    told = state_message(record.referee.statistic)
    if role == "assistant":
        return [shown, _message(ChatMessageAssistant, told, record)]
    # one message, because many chat templates refuse two of the user's in a row
    return [_message(ChatMessageUser, f"{shown.text}\n\n{told}", record, **(shown.metadata or {}))]


def _message(kind: Any, text: str, record: Record, **more: Any) -> Any:
    """A message that no other is equal to: Inspect's log compares equal ones again and again, in every turn."""
    return kind(content=text, metadata=record.mark | more)
