"""Has Inspect make the real logs of `test_inspect_logs.py`: python make_inspect_logs.py FOLDER.

A program of its own, because Inspect leaves streams unclosed, which our tests take for errors. No real model is asked.
"""

import os
import sys
from pathlib import Path

import numpy as np
from inspect_ai import Task, eval_retry, task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import ProvenanceData, edit_score, invalidate_samples, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, ScoreEdit, accuracy, includes, match, mean, scorer, stderr
from inspect_ai.solver import solver

ME = ProvenanceData(author="tester", reason="because")


def make(folder):
    """One folder for each log."""
    arith = run(folder / "arith", "arith", epochs=3)
    run(folder / "json", "arith", epochs=3, log_format="json")
    run(folder / "minus", "arith", epochs=2, task_args={"variant": "minus"})
    run(folder / "graded", "graded", epochs=2)
    os.environ["STUMBLE"] = "1"
    run(folder / "flaky", "flaky", epochs=2, fail_on_error=False)
    failed = run(folder / "retried", "flaky", max_samples=1)
    write_eval_log(edited(failed, "unsure", "s0", [1]), failed)
    run(folder / "troubled", "troubled", epochs=2, fail_on_error=False)
    run(folder / "troubled_json", "troubled", epochs=2, fail_on_error=False, log_format="json")
    del os.environ["STUMBLE"]
    eval_retry(failed, display="none", log_dir=str(folder / "retried"))
    log = edited(arith, "includes", "s3", [1, 2])
    write_eval_log(log, str(folder / "edited.eval"))
    write_eval_log(log, str(folder / "edited.json"))
    write_eval_log(invalidate_samples(log, [log.samples[0].uuid], ME), str(folder / "invalidated.eval"))

    for number, skill in enumerate((0.7, 0.8), 1):
        log = run(folder / "shuffled", "numbered", model=careful(skill, number), task_args={"order": number})
        write_eval_log(renamed(log, f"test/{number}"), log)


def renamed(path, model):
    """The log as if another model had made it, in the default configuration."""
    log = read_eval_log(path)
    log.eval.model, log.eval.task_args = model, {}
    return log


def careful(skill, seed):
    """Knows the answer to easy questions, so that two models resemble each other on each question."""
    rng = np.random.default_rng(seed)

    def answer(messages, *_):
        n = int(messages[-1].text.split()[-3])
        is_right = (n * 37 % 50 + rng.integers(5)) / 55 < skill
        return said(n % 2 if is_right else 1 - n % 2)

    return answer


def run(folder, name, model=None, **options):
    model = get_model("mockllm/model", custom_outputs=model or answers())
    return run_eval(f"{__file__}@{name}", model=model, display="none", log_dir=str(folder), **options)[0].location


def answers():
    rng = np.random.default_rng(5)
    while True:
        yield said(rng.integers(2))


def said(number):
    """With its usage, which Inspect would otherwise count with a tokenizer from the network."""
    output = ModelOutput.from_content("mockllm/model", str(number))
    output.usage = ModelUsage(input_tokens=9, output_tokens=1, total_tokens=10)
    return output


def edited(path, scorer_name, sample_id, epochs):
    log = read_eval_log(path)
    for epoch in epochs:
        edit_score(log, sample_id, scorer_name, ScoreEdit(value="P", provenance=ME), log.status == "success", epoch)
    return log


def questions(n):
    long = "a long story " * 100  # beyond what a sample's summary keeps
    return [
        Sample(
            id=f"s{i}",
            input=f"What is {i} modulo 2?",
            target=str(i % 2),
            metadata={"group": f"g{i % 4}", "story": f"{long} {i % 3}", "number": i % 2},
        )
        for i in range(n)
    ]


@task
def arith(variant: str = "plus"):
    return Task(dataset=questions(12), scorer=includes(), metrics=[accuracy(), stderr(), stderr(cluster="group")])


@task
def numbered(order: int = 0):
    """Samples without ids of their own: Inspect numbers them after they were shuffled."""
    preface = "Read this first. " * 400  # longer than what a sample's summary keeps
    plain = [Sample(input=preface + one.input, target=one.target, metadata=one.metadata) for one in questions(50)]
    data = MemoryDataset(plain)
    data.shuffle(seed=order)
    return Task(dataset=data, scorer=includes())


@task
def graded():
    return Task(dataset=questions(6), solver=[say("0")], scorer=[match(location="any"), grades(), points(), parts()])


@task
def flaky():
    return Task(dataset=questions(6), solver=[stumble()], scorer=unsure())


@task
def troubled():
    """Each sample ends in another way, s1 in one of two epochs only."""
    return Task(dataset=questions(9), solver=[stumble(), trouble()], scorer=endings(), message_limit=6)


@solver
def trouble():
    async def solve(state, generate):
        if state.sample_id == "s4":
            state.output = ModelOutput.from_content("mockllm/model", "", stop_reason="content_filter")
        while state.sample_id == "s5":
            state = await generate(state)
            state.messages.append(state.messages[0])
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def endings():
    async def score(state, target):
        said = {
            "s2": Score.unscored(reason="grader_failed", explanation="The grade\n was not found."),
            "s3": Score.unscored(reason="refusal"),
            "s4": Score.unscored(),
            "s5": Score.unscored(),
        }
        if state.sample_id == "s6":
            raise RuntimeError("400: content_filter of the provider")
        return said.get(state.sample_id) or Score(value="C" if state.sample_id in ("s0", "s1") else "I")

    return score


@solver
def say(text):
    async def solve(state, generate):
        state.output = ModelOutput.from_content("mockllm/model", text)
        return state

    return solve


@solver
def stumble():
    """Errors on one sample as long as a variable of the environment says so."""

    async def solve(state, generate):
        if state.sample_id == "s1" and state.epoch == 1 and "STUMBLE" in os.environ:
            raise RuntimeError("stumbled")
        state.output = ModelOutput.from_content("mockllm/model", "0")
        return state

    return solve


@scorer(metrics={"truth": [mean()], "style": [mean()]})
def grades():
    async def score(state, target):
        return Score(value={"truth": 1 if target.text == "0" else 0, "style": 0.25})

    return score


@scorer(metrics=[mean()])
def points():
    async def score(state, target):
        return Score(value=10 * int(target.text) + state.epoch)

    return score


@scorer(metrics=[])
def parts():
    async def score(state, target):
        return Score(value=[1, 0])

    return score


@scorer(metrics=[accuracy()])
def unsure():
    async def score(state, target):
        return Score.unscored(reason="grader_failed") if state.sample_id == "s2" else Score(value="C")

    return score


if __name__ == "__main__":
    make(Path(sys.argv[1]))
