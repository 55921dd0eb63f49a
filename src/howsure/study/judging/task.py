"""A study as a task of Inspect: ``inspect eval …/study/judging/task.py@judge_pairs -T study=study.yaml --model …``."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from howsure.running import Gate, failure_of
from howsure.study.judging.runs import ask, asked, oriented, read_reply, sample_id
from howsure.study.protocol import Dimension, Study

__all__ = ["judge_pairs", "rate_pair", "ratings"]


@task
def judge_pairs(study: str | Study, only: Collection[str] | None = None, repeats: int = 1) -> Task:
    """A model rates the blinded pairs of a study, each in both slot orders.

    Args:
        study: The file of the study.
        only: Which samples, such as ``p1/1`` (pair p1 with its target in slot 1); all of them when left out.
        repeats: How often each question is asked; the second time is called ``p1/1/2``.
    """
    read = study if isinstance(study, Study) else Study.read(study)
    orders = [(pair, slot, repeat) for repeat in range(1, repeats + 1) for pair in read.pairs for slot in (1, 2)]
    samples = [
        Sample(
            id=sample_id(pair.id, slot, repeat),
            input=ask(read, pair, slot),
            metadata={"pair": pair.id, "target_slot": slot, "repeat": repeat},
        )
        for pair, slot, repeat in orders
        if only is None or sample_id(pair.id, slot, repeat) in only
    ]
    return Task(
        dataset=MemoryDataset(samples, name=read.title),
        solver=rate_pair(read.dimensions),
        scorer=ratings(read.dimensions),
        fail_on_error=False,  # a server's failure on one pair is no reason to stop the others
    )


@solver
def rate_pair(dimensions: Sequence[Dimension]) -> Solver:
    """Ask once, and read the reply; what it chose, or why it gave no rating, is in the sample's metadata."""

    gate = Gate()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        # not `generate`, which fails on a reply without choices
        state.output = await gate.ask(lambda: get_model().generate(state.messages))
        state.messages.extend(choice.message for choice in state.output.choices[:1])
        chosen = read_reply(state.output.completion, dimensions)
        failure = failure_of(state.output, has_answer=chosen is not None) or ("format" if chosen is None else None)
        state.metadata["failure"] = failure
        if chosen is not None and failure is None:
            state.metadata |= {f"chose {key}": place for key, place in chosen.items()}
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def ratings(dimensions: Sequence[Dimension]) -> Scorer:
    """One rating a dimension, turned so that it is about the target. A reply without rating has no score."""
    questions = asked(dimensions)

    async def score(state: TaskState, target: Target) -> Score:
        told, slot = state.metadata, state.metadata["target_slot"]
        said: dict[str, Any] = {"answer": state.output.completion[-300:], "metadata": {"failure": told["failure"]}}
        if told["failure"]:
            nothing: dict[str, Any] = {question.rated(slot): math.nan for question in questions}
            return Score(value=nothing, explanation=f"no rating: {told['failure']}", **said)
        chosen = {question.key: told[f"chose {question.key}"] for question in questions}
        values: dict[str, Any] = dict(oriented(chosen, dimensions, slot))
        return Score(value=values, explanation=f"the target is Response {slot}", **said)

    return score
