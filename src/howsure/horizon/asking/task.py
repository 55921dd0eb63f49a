"""A suite as a task of Inspect: ``inspect eval howsure/name_tasks -T suite=tasks.yaml -T judge=PROVIDER/MODEL --model …``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from inspect_ai import Task as InspectTask
from inspect_ai import task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, Model, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from howsure.horizon.asking.replies import TASK, worked_examples
from howsure.horizon.asking.scorer import JUDGE, answer_parts, task_score
from howsure.horizon.task_bank import Task, read_tasks
from howsure.horizon.task_bank.suite import instance_seed, sample_id
from howsure.running import Gate, Tokens, failure_of, keep_reply

__all__ = ["attempt_course", "attempt_task", "make_task", "name_tasks"]

RIGHT, WRONG = "That is right.", "That is wrong."
"""What is told after an answer, as on novices' pages."""


@task
def name_tasks(
    suite: str,
    attempts: int = 20,
    shots: int = 0,
    judge: str | None = None,
    domain: str | None = None,
    seed: int = 0,
    cache: bool = False,  # noqa: FBT001, FBT002 - Inspect passes -T options by name
) -> InspectTask:
    """How often does a model succeed at tasks that novices learn?

    Args:
        suite: The YAML file of the tasks.
        attempts: How often each task is asked, each time as a fresh instance.
        shots: How many worked examples are shown before.
        judge: The model that judges by rubric what no program can check.
        domain: Only the tasks of this domain.
        seed: Other seeds give other instances.
        cache: Keep replies in Inspect's cache, so that an interrupted run goes on where it was.
    """
    tasks = [one for one in read_tasks(suite) if domain in (None, one.domain)]
    return make_task(tasks, attempts=attempts, shots=shots, judge=judge, seed=seed, cache=cache)


def make_task(
    tasks: Sequence[Task],
    *,
    attempts: int,
    shots: int | Sequence[int] = 0,
    feedback: bool = False,
    shows_answers: bool = False,
    judge: str | Model | None = None,
    seed: int = 0,
    cache: bool = False,
    only: Collection[str] | None = None,
    told: dict[str, Any] | None = None,
) -> InspectTask:
    """The same from tasks in hand; ``only`` names the samples to run, ``told`` is added to each one's metadata."""
    counts = (shots,) if isinstance(shots, int) else shots
    numbers = [1] if feedback else range(1, attempts + 1)
    course = {"course": attempts} if feedback else {}
    samples = [
        _sample(one, attempt, instance_seed(seed, attempt), tasks, count, course | (told or {}))
        for one in tasks
        for count in counts
        for attempt in numbers
        if only is None or sample_id(one.id, instance_seed(seed, attempt), count) in only
    ]
    return InspectTask(
        name=TASK,
        dataset=MemoryDataset(samples, name=f"{len(tasks)} tasks"),
        solver=attempt_course(tasks, shows_answers=shows_answers, cache=cache)
        if feedback
        else attempt_task(cache=cache),
        scorer=task_score(tasks, is_judged=judge is not None, cache=cache),
        model_roles={JUDGE: judge} if judge is not None else None,
        fail_on_error=False,  # a server's failure at one attempt is no reason to stop the others
    )


@solver
def attempt_task(*, cache: bool = False) -> Solver:
    """Ask once. What the reply cost is in the sample's metadata."""

    gate = Gate()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.metadata["failure"] = "limit"  # what stops it here without an error is one of Inspect's limits
        # not `generate`, which fails on a reply without choices
        policy = keep_reply(state.sample_id) if cache else False
        state.output = await gate.ask(
            lambda: get_model().generate(state.messages, cache=policy), lambda: get_model().generate(state.messages)
        )
        state.messages.extend(choice.message for choice in state.output.choices[:1])
        state.metadata["failure"] = None
        if state.output.usage:
            used = asdict(Tokens.of(state.output.usage))
            state.metadata |= {f"{name}_tokens": n for name, n in used.items()}
        return state

    return solve


@solver
def attempt_course(tasks: Sequence[Task], *, shows_answers: bool = False, cache: bool = False) -> Solver:
    """Ask for fresh instances one after the other, and tell after each answer whether it was right, and if asked what was right, as novices are told."""

    by_id, gate = {task.id: task for task in tasks}, Gate()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task, told = by_id[state.metadata["task"]], state.metadata
        told["failure"] = "limit"
        verdict = ""
        for attempt in range(1, told["course"] + 1):
            instance = task.instance(told["seed"] + attempt - 1)
            if attempt > 1:
                state.messages.append(ChatMessageUser(content=f"{verdict}\n\n{instance.prompt}"))
            policy = keep_reply(f"{state.sample_id}@{attempt}") if cache else False
            messages = list(state.messages)
            state.output = await gate.ask(
                partial(get_model().generate, messages, cache=policy), partial(get_model().generate, messages)
            )
            state.messages.extend(choice.message for choice in state.output.choices[:1])
            value = instance.check(state.output.completion)
            failure = failure_of(state.output, has_answer=bool(value))
            part: dict[str, Any] = {**answer_parts(instance, state.output.completion)}
            part |= {"score": None if failure else value, "failure": failure, "seed": told["seed"] + attempt - 1}
            if state.output.usage:
                part |= {f"{name}_tokens": n for name, n in asdict(Tokens.of(state.output.usage)).items()}
            told |= {f"{name}@{attempt}": one for name, one in part.items()}
            verdict = RIGHT if value else WRONG
            if shows_answers and not value and task.generator:
                verdict += f" The right answer: {instance.answer}"
        told["failure"] = None
        return state

    return solve


def _sample(asked: Task, attempt: int, seed: int, suite: Sequence[Task], shots: int, told: dict[str, Any]) -> Sample:
    instance = asked.instance(seed)
    messages: list[ChatMessage] = []
    for example in worked_examples(asked, suite, seed, shots):
        messages += [ChatMessageUser(content=example.prompt), ChatMessageAssistant(content=example.answer or "")]
    about = {name: getattr(asked, name) for name in ("family", "domain", "verification_type")}
    return Sample(
        id=sample_id(asked.id, seed, shots),
        input=[*messages, ChatMessageUser(content=instance.prompt)],
        target=instance.answer or "",
        metadata={"task": asked.id, **about, "attempt": attempt, "seed": seed, "shots": shots, **told},
    )
