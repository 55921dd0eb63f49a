"""Evals whose items succeed at given rates, run by Inspect in a process of its own; see `tests/servers/inspect_process.py`."""

import sys
from pathlib import Path

import numpy as np
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver

sys.path.insert(0, str(Path(__file__).parents[1]))
from howsure.evals import StopWhenKnown
from servers.inspect_process import work


@solver
def nothing(broken=()):  # asking the mock model would look up a tokeniser on the network
    async def solve(state, generate):
        if state.input_text in broken:
            raise RuntimeError("the tool is broken")
        return state

    return solve


@scorer(metrics=[accuracy()])
def known(right, odd):
    async def score(state, target):
        item = int(state.input_text.split()[-1])
        if state.input_text in odd:
            return Score(value=odd[state.input_text])
        return Score(value="C" if right[item][state.epoch - 1] else "I")

    return score


def do(job):
    rng = np.random.default_rng(job.get("seed", 0))
    epochs = job.get("epochs", 1)
    right = (rng.random((job["n"], epochs)) < job["rate"]).tolist()
    ids = [None] * job["n"] if job.get("is_numbered") else range(job["n"])  # Inspect numbers samples without an id
    dataset = MemoryDataset(
        [Sample(input=f"item {i}", target="x", id=name) for i, name in enumerate(ids)], name="known"
    )
    dataset.shuffle(seed=job.get("order", 1))
    second = dataset[1].input
    stopping = StopWhenKnown(**job["stop"]) if "stop" in job else None
    task = Task(
        dataset=dataset,
        solver=nothing([second] if job.get("is_broken") else []),
        scorer=known(right, {second: float(job["odd"])} if "odd" in job else {}),
        name="known",
        epochs=epochs,
        early_stopping=stopping,
        fail_on_error=False,
    )
    *_, log = inspect_eval(
        task,
        model=job.get("model", "mockllm/a"),
        max_tasks=1,
        log_dir=job["folder"],
        display="none",
        max_samples=4,
        log_buffer=1,
    )
    stopped = log.results.early_stopping if log.results else None
    found = {"status": log.status, "location": log.location, "error": log.error and log.error.message}
    if stopped:
        found |= {"told": stopped.metadata, "stops": [stop.model_dump() for stop in stopped.early_stops]}
    return found


if __name__ == "__main__":
    work(do)
