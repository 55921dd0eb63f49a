"""The eval as a task of Inspect: ``inspect eval howsure/track_the_stat -T variant=mode --model …``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from howsure.errors import OptionError
from howsure.track.game.prompts import instructions
from howsure.track.game.sequence import HIGH, LENGTH, LOW, Setting
from howsure.track.running.scorer import logged_max_length
from howsure.track.running.solver import play_game

__all__ = ["track_the_stat"]


@task
def track_the_stat(
    variant: str = "median",
    solver: Literal["direct", "explicit"] = "direct",
    samples: int = 250,
    length: int = LENGTH,
    low: int = LOW,
    high: int = HIGH,
    distractors: float = 0.0,
    is_brief: bool = False,  # noqa: FBT001, FBT002 - Inspect passes -T options by name
    keeps_reasoning: bool = False,  # noqa: FBT001, FBT002
    takes_first: bool = False,  # noqa: FBT001, FBT002
    state_role: Literal["user", "assistant"] = "user",
    seed: int = 0,
    cache: bool = False,  # noqa: FBT001, FBT002
) -> Task:
    """For how many turns can a model keep a running statistic in its head?

    Args:
        variant: What is tracked: median, mode, …
        solver: ``direct``, or ``explicit``, where the state is shown after each number.
        samples: How many sequences are played, from number 0 on.
        length: How many numbers a sequence has.
        low: The smallest number.
        high: One more than the largest number.
        distractors: The chance of an irrelevant line before a number.
        is_brief: Forbid all but the answer: a reply with notes interrupts the game. Reasoning before the reply is counted, not forbidden.
        keeps_reasoning: Leave the reasoning of earlier turns in the conversation, where the model can read it again.
        takes_first: The first answer in brackets counts, not the last.
        state_role: Who says the explicit state. ``assistant`` adds a message that many servers take for the start of the reply.
        seed: For players that draw; sequences do not depend on it.
        cache: Keep replies in Inspect's cache, so that an interrupted run goes on where it was. A later run of the same model
            would be given the same replies, unless ``INSPECT_CACHE_DIR`` names another folder.
    """
    if samples < 1:
        raise OptionError(f"{samples} samples are too few. Give at least 1.")
    if solver not in ("direct", "explicit"):
        raise OptionError.unknown("solver", solver, ("direct", "explicit"))
    if state_role not in ("user", "assistant"):
        raise OptionError.unknown("state_role", state_role, ("user", "assistant"))
    setting = Setting(length, low, high, distractors, is_brief, keeps_reasoning, takes_first)
    told = {"variant": variant, "solver": _label(solver, state_role), "setting": setting.label, **asdict(setting)}
    prompt = instructions(variant, setting)
    games = [Sample(id=number, input=prompt, metadata={**told, "seed": number}) for number in range(samples)]
    return Task(
        dataset=MemoryDataset(games, name=f"{variant} {setting.label}"),
        solver=play_game(is_explicit=solver == "explicit", state_role=state_role, player_seed=seed, cache=cache),
        scorer=logged_max_length(),
        fail_on_error=False,  # a server's failure in one game is no reason to stop the others
    )


def _label(solver: str, state_role: str) -> str:
    return "explicit (assistant)" if (solver, state_role) == ("explicit", "assistant") else solver
