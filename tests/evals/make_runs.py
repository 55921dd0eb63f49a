"""Has Inspect make the real logs of `test_real_runs.py`: python make_runs.py FOLDER. No real model is asked.

A program of its own, because Inspect leaves streams unclosed, which our tests take for errors.
"""

import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, includes, mean, scorer
from inspect_ai.solver import generate, solver, system_message

N = 40


def answer(messages, *_):
    """Right on easy questions; on more of them when told to think."""
    number = int(messages[-1].text.split()[-1].rstrip("?"))
    skill = 0.7 if any("step by step" in message.text for message in messages) else 0.45
    is_right = (number * 37 % N) / N < skill
    output = ModelOutput.from_content("mockllm/model", str(number % 2 if is_right else 1 - number % 2))
    output.usage = ModelUsage(input_tokens=9, output_tokens=1, total_tokens=10)
    return output


def samples():
    return [Sample(id=f"s{i}", input=f"What is the parity of {i}?", target=str(i % 2)) for i in range(N)]


@task
def parity(prompt="plain"):
    told = {"plain": "Answer.", "cot": "Think step by step."}[prompt]
    return Task(MemoryDataset(samples()), solver=[system_message(told), generate()], scorer=includes())


@task
def numbered(order=0):
    """Ids are given after shuffling."""
    data = MemoryDataset([Sample(input=one.input, target=one.target) for one in samples()])
    data.shuffle(seed=order)
    ided = [Sample(id=i + 1, input=one.input, target=one.target) for i, one in enumerate(data)]
    return Task(MemoryDataset(ided, shuffled=True), solver=generate(), scorer=includes())


@scorer(metrics=[mean()])
def closeness():
    async def score(state, target):
        return Score(value=0.9 if target.text in state.output.completion else 0.2)

    return score


@scorer(metrics=[accuracy()])
def strict():
    async def score(state, target):
        return Score(value="C" if target.text in state.output.completion else "I")

    return score


@task
def graded():
    return Task(MemoryDataset(samples()), solver=generate(), scorer=closeness())


@task
def marked():
    return Task(MemoryDataset(samples()), solver=generate(), scorer=strict())


@solver
def stumble():
    async def solve(state, generate):
        if int(state.sample_id[1:]) % 8 == 0:
            raise RuntimeError("the tool is broken")
        return await generate(state)

    return solve


@task
def flaky():
    return Task(MemoryDataset(samples()), solver=stumble(), scorer=includes())


@task
def limited():
    return Task(MemoryDataset(samples()), solver=generate(), scorer=includes(), message_limit=1)


def run(folder, name, **options):
    model = get_model("mockllm/model", custom_outputs=answer)
    run_eval(f"{__file__}@{name}", model=model, display="none", log_dir=str(folder), **options)


def make(folder):
    for prompt in ("plain", "cot"):
        run(folder / "prompts", "parity", task_args={"prompt": prompt})
        run(folder / prompt, "parity", task_args={"prompt": prompt})
    for order in (1, 2):
        run(folder / f"shuffled{order}", "numbered", task_args={"order": order})
    for name in ("graded", "marked"):
        run(folder / "set", name)
        run(folder / "set2", name)
    run(folder / "flaky", "flaky", fail_on_error=False)
    run(folder / "flaky2", "flaky", fail_on_error=False)
    run(folder / "limited", "limited")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
