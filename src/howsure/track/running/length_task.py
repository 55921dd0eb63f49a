"""The search for the length at which half of the last answers are correct, as a task of Inspect: one sample is one search."""

from __future__ import annotations

from typing import Any

import numpy as np
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from howsure.running import Gate, failure_of
from howsure.running.replies import KeptReplies
from howsure.track.adaptive import TOO_LONG, LengthPosterior, chance_level
from howsure.track.game.prompts import all_turns, instructions, is_right, parse, split_reasoning
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import statistic
from howsure.track.running.task import replies_file

__all__ = ["search_length", "track_length"]

_CALLS = 1000  # sequences of one search, of which none is another's


@task
def track_length(
    variant: str = "median",
    searches: int = 4,
    calls: int = 10,
    longest: int = 300,
    seed: int = 0,
    at: list[int] | int | None = None,
    cache: bool = False,  # noqa: FBT001, FBT002 - Inspect passes -T options by name
) -> Task:
    """At which length are half of the last answers correct?

    Args:
        variant: What is tracked: median, mode, boxes, …
        searches: Number of independent searches.
        calls: Calls per search.
        longest: The longest sequence, in turns.
        seed: For the lengths, and for players that draw.
        at: Lengths that are asked in turn, instead of a search.
        cache: Keep replies beside Inspect's cache, so that an interrupted search goes on where it was.
    """
    told: dict[str, Any] = {"variant": variant, "calls": calls, "longest": longest, "player_seed": seed}
    told |= {"at": [at] if isinstance(at, int) else list(at)} if at else {}
    text = instructions(variant, Setting(mode="one-shot"), asks_for_last=True)
    samples = [Sample(id=number, input=text, metadata=told | {"run": number}) for number in range(searches)]
    return Task(
        dataset=MemoryDataset(samples, name=f"length of {variant}"),
        solver=search_length(cache=cache),
        scorer=share_right(),
        fail_on_error=False,
    )


@solver
def search_length(*, cache: bool = False) -> Solver:
    """Ask for sequences of lengths that depend on what was correct before; the calls are in the sample's metadata."""
    gate = Gate()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        told = state.metadata
        variant, run = told["variant"], told["run"]
        kind, rng = statistic(variant), np.random.default_rng([told["player_seed"], run])
        posterior = LengthPosterior(chance_level(variant), told["longest"])
        kept = KeptReplies(replies_file(state, [])) if cache else None
        outcomes: list[str] = []
        try:
            for call in range(told["calls"]):
                at, place = told.get("at"), run * _CALLS + call
                setting = Setting(length=at[call % len(at)] if at else posterior.next_length(rng))
                steps = setting.steps(variant, place)
                text = all_turns(kind, steps, setting.lines(variant, place))
                opening = ChatMessageSystem(
                    content=state.input_text, metadata={"variant": variant, "player_seed": [told["player_seed"], place]}
                )
                asked: list[ChatMessage] = [opening, ChatMessageUser(content=text, metadata={"steps": steps})]
                output = kept.next(text) if kept else None
                if output is None:
                    output = await gate.ask(lambda asked=asked: get_model().generate(asked))  # type: ignore[misc]
                    if kept:
                        kept.keep(output)
                state.output = output
                state.messages = [*asked, *(choice.message for choice in output.choices[:1])]
                truth = kind()
                for step in steps:
                    truth.take(step)
                if output.stop_reason == "model_length":  # not the model's error: such lengths cannot be asked
                    posterior.longest = max(min(posterior.longest, setting.length - 1), 1)
                    outcomes.append(f"{setting.length}:{TOO_LONG}")
                    continue
                answer = parse(split_reasoning(output.completion)[1], variant)
                is_correct = (
                    answer is not None and not failure_of(output, has_answer=True) and is_right(answer, truth.answer())
                )
                posterior.add(setting.length, is_right=is_correct)
                outcomes.append(f"{setting.length}:{int(is_correct)}")
        finally:
            told["trials"] = " ".join(outcomes)
            if kept:
                kept.close()
        return state

    return solve


@scorer(metrics=[mean()])
def share_right() -> Scorer:
    """The share of correct last answers: near one half, since the lengths are chosen so."""

    async def score(state: TaskState, target: Target) -> Score:
        outcomes = [one.endswith("1") for one in state.metadata["trials"].split() if not one.endswith(TOO_LONG)]
        if not outcomes:
            return Score.unscored(reason="context", answer=state.metadata["trials"])
        return Score(value=float(np.mean(outcomes)), answer=state.metadata["trials"])

    return score
