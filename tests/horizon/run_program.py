"""Lets models attempt tasks through Inspect: a job holds the arguments of `run_tasks`, with the file of the suite as ``tasks``."""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as a program it knows its own folder alone
from servers import inspect_process

run, start = (partial(one, __file__) for one in (inspect_process.run, inspect_process.start))


def do(job):
    from howsure.horizon.asking.task_runs import run_tasks
    from howsure.horizon.task_bank import read_tasks

    if says := job.pop(
        "says", None
    ):  # Inspect's mock model says this to everything, at the cost of 7 tokens read and 3 written
        job["model_args"] = {"custom_outputs": mock(says)}
    done = run_tasks(read_tasks(job.pop("tasks")), **job)
    told = done.as_dict() | {"exit_code": done.exit_code, "paths": [str(log) for log in done.logs]}
    return told | {"replies": done.replies.to_dicts(), "review": done.review.to_dicts()}


def mock(says):
    from inspect_ai.model import ModelOutput, ModelUsage

    def answer(*_):
        output = ModelOutput.from_content("mockllm", says)
        output.usage = ModelUsage(input_tokens=7, output_tokens=3, total_tokens=10)
        return output

    return answer


if __name__ == "__main__":
    inspect_process.work(do)
