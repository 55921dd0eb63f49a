"""The score of a reply: by the task's own check, by a judge with the task's rubric, or none where an expert has to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from inspect_ai.model import get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from howsure.horizon.failure_modes import failure_mode
from howsure.horizon.task_bank import Instance, Task
from howsure.horizon.task_bank.rubric import ask_judge, combined, read_score
from howsure.running import Gate, Tokens, failure_of, keep_reply

__all__ = ["JUDGE", "answer_parts", "task_score"]


JUDGE = "judge"
_LONGEST = 300  # of a reply, in characters; the whole one is in the log's messages


@scorer(metrics=[mean(), stderr(cluster="task")])
def task_score(tasks: Sequence[Task], *, is_judged: bool = False, cache: bool = False) -> Scorer:
    """0 to 1. A reply that is none, or that nobody judged, has no score; why is in the sample's metadata."""
    by_id, gate = {task.id: task for task in tasks}, Gate() if is_judged else None

    async def score(state: TaskState, target: Target) -> Score:
        verdict = await _verdict(state, by_id[state.metadata["task"]], gate, cache=cache)
        state.metadata["failure"] = verdict.failure
        if "course" not in state.metadata:
            state.metadata |= answer_parts(
                by_id[state.metadata["task"]].instance(state.metadata["seed"]), state.output.completion
            )
        said: dict[str, Any] = {"answer": state.output.completion[-_LONGEST:], "explanation": verdict.words}
        if verdict.value is None:
            return Score.unscored(reason=verdict.failure, **said)
        return Score(value=verdict.value, **said)

    return score


def answer_parts(instance: Instance, text: str) -> dict[str, str | None]:
    """The end of a reply, and what is wrong with it; short, so that a log's summary keeps them."""
    return {"mode": failure_mode(instance, text), "answer": text[-_LONGEST:]}


@dataclass(frozen=True)
class _Verdict:
    """A score, or the reason why there is none, and what was said to it."""

    value: float | None = None
    failure: str | None = None
    words: str | None = None


async def _verdict(state: TaskState, task: Task, gate: Gate | None, *, cache: bool) -> _Verdict:
    if state.metadata["failure"]:
        return _Verdict(failure=state.metadata["failure"])
    instance = task.instance(state.metadata["seed"])
    value = instance.check(state.output.completion)
    failure = failure_of(state.output, has_answer=bool(value))
    if failure:
        return _Verdict(failure=failure)
    if value is not None:
        return _Verdict(value)
    if task.verification_type == "expert_review":
        return _Verdict(failure="expert", words=instance.rubric)
    return await _judged(state, instance, gate, cache=cache) if gate else _Verdict(failure="unjudged")


async def _judged(state: TaskState, instance: Instance, gate: Gate, *, cache: bool) -> _Verdict:
    asked = ask_judge(instance, state.output.completion)
    policy = keep_reply(state.sample_id, JUDGE) if cache else False
    judge = get_model(role=JUDGE, required=True)
    output = await gate.ask(lambda: judge.generate(asked, cache=policy), lambda: judge.generate(asked))
    if output.usage:
        state.metadata |= {f"judge_{name}_tokens": n for name, n in asdict(Tokens.of(output.usage)).items()}
    value = read_score(output.completion)
    failure = failure_of(output, has_answer=value is not None) or ("format" if value is None else None)
    if failure:
        return _Verdict(failure=f"judge_{failure}", words=output.completion)
    return _Verdict(combined(instance, state.output.completion, value or 0.0), words=output.completion)
