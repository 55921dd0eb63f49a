"""The eval as a task of Inspect: ``inspect eval howsure/track_the_stat -T variant=mode --model …``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

import polars as pl
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from howsure.errors import OptionError
from howsure.track.game.prompts import instructions
from howsure.track.game.sequence import HIGH, LENGTH, LOW, Mode, Setting
from howsure.track.game.statistics import usual_name
from howsure.track.running.scorer import logged_max_length
from howsure.track.running.solver import play_game
from howsure.track.samples import COMPLETION, COT, EXPLICIT, SOLVERS, board_name

__all__ = ["track_the_stat"]


@task
def track_the_stat(
    variant: str = "median",
    solver: str = "direct",
    samples: int = 250,
    length: int = LENGTH,
    low: int = LOW,
    high: int = HIGH,
    distractors: float = 0.0,
    is_brief: bool = False,  # noqa: FBT001, FBT002 - Inspect passes -T options by name
    keeps_reasoning: bool = False,  # noqa: FBT001, FBT002
    takes_first: bool = False,  # noqa: FBT001, FBT002
    updates: int = 1,
    interference: float = 0.0,
    mode: Mode = "turns",
    replaced: float = 0.0,
    is_original: bool = False,  # noqa: FBT001, FBT002
    state_role: Literal["user", "assistant"] = "user",
    seed: int = 0,
    cache: bool = False,  # noqa: FBT001, FBT002
) -> Task:
    """For how many turns can a model keep a running statistic in its head?

    Args:
        variant: What is tracked: median, mode, boxes, boxes-12, …
        solver: ``direct``; ``explicit``, where the state is shown after each update; ``cot``, where the model is told to reason in its reply; ``completion`` for base
            models, which continue the conversation as one text. ``explicit+cot`` and ``explicit+completion`` are both.
        samples: How many sequences are played, from number 0 on.
        length: How many turns a game has.
        low: The smallest number.
        high: One more than the largest number.
        distractors: The chance of an irrelevant line before a turn.
        is_brief: Forbid all but the answer: a reply with notes interrupts the game. Reasoning before the reply is counted, not forbidden.
        keeps_reasoning: Leave the reasoning of earlier turns in the conversation, where the model can read it again.
        takes_first: The first answer in brackets counts, not the last.
        updates: Numbers, or other updates, per turn.
        interference: The chance of an update of another game before a turn, which must be ignored.
        mode: ``turns`` to the first error, ``one-shot`` for all turns in one prompt, or ``continue`` after errors.
        replaced: In the mode ``continue``, the chance that an answer is replaced by a wrong one in the conversation.
        is_original: The instructions have the order of the eval's first implementation.
        state_role: Who says the explicit state. ``assistant`` adds a message that many servers take for the start of the reply.
        seed: For players that draw; sequences do not depend on it.
        cache: Keep replies beside Inspect's cache, so that an interrupted run goes on where it was. A later run of the same model
            would be given the same replies, unless ``INSPECT_CACHE_DIR`` names another folder.
    """
    if samples < 1:
        raise OptionError(f"{samples} samples are too few. Give at least 1.")
    if solver not in SOLVERS:
        raise OptionError.unknown("solver", solver, SOLVERS)
    if state_role not in ("user", "assistant"):
        raise OptionError.unknown("state_role", state_role, ("user", "assistant"))
    setting = Setting(
        length=length,
        low=low,
        high=high,
        distractors=distractors,
        is_brief=is_brief,
        keeps_reasoning=keeps_reasoning,
        takes_first=takes_first,
        updates=updates,
        interference=interference,
        mode=mode,
        replaced=replaced,
        is_original=is_original,
    )
    is_explicit, is_cot, is_completion = (word in solver.split("+") for word in (EXPLICIT, COT, COMPLETION))
    if mode == "one-shot" and (is_explicit or is_completion):
        raise OptionError(f"In one prompt there is no state to show after each update. Leave the solver {solver} out.")
    if is_cot and is_brief:
        raise OptionError("Brief replies forbid reasoning in the reply, and cot asks for it. Choose one of the two.")
    label = f"{solver} (assistant)" if is_explicit and state_role == "assistant" else solver
    told = {"variant": usual_name(variant), "solver": label, "setting": setting.label, **asdict(setting)}
    prompt = instructions(variant, setting, asks_for_reasoning=is_cot)
    board = pl.DataFrame({name: [told[name]] for name in ("variant", "setting", "solver", "length")})
    games = [Sample(id=number, input=prompt, metadata={**told, "seed": number}) for number in range(samples)]
    return Task(
        dataset=MemoryDataset(games, name=f"{variant} {setting.label}"),
        solver=play_game(
            is_explicit=is_explicit,
            state_role=state_role,
            is_completion=is_completion,
            player_seed=seed,
            cache=cache,
        ),
        scorer=logged_max_length(),
        fail_on_error=False,  # a server's failure in one game is no reason to stop the others
        metadata={"howsure_board": board.select(board_name()).item()},  # what readers of the log call it
    )
