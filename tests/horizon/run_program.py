"""Lets models attempt tasks through Inspect for the tests, as a program of its own: Inspect leaves streams unclosed, which our tests take for errors."""

import json
import os
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = os.environ | {"TEST_API_KEY": "none", "INSPECT_TELEMETRY": ""}
TESTS = Path(__file__).parents[1]


def run(*jobs):
    """What each job came to."""
    program = start(*jobs)
    out, errors = program.communicate(timeout=300)
    results = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert len(results) == len(jobs), errors
    return results


def start(*jobs):
    """The program, at work on these jobs: the arguments of `run_tasks`, with the file of the suite as ``tasks``."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = subprocess.Popen([sys.executable, __file__], text=True, env=ENVIRONMENT, **pipes)
    program.stdin.write(json.dumps(jobs, default=str) + "\n")
    program.stdin.flush()
    return program


def main():
    sys.path.insert(0, str(TESTS))
    from assay.errors import AssayError
    from assay.horizon.inspect.run import run_tasks
    from assay.horizon.tasks import read_tasks
    from track.inspect_program import ASKED, guard

    guard()
    for job in json.loads(sys.stdin.readline()):
        ASKED.clear()
        says = job.pop("says", None)
        if says:  # Inspect's mock model says this to everything, at the cost of 7 tokens read and 3 written
            job["model_args"] = {"custom_outputs": mock(says)}
        try:
            done = run_tasks(read_tasks(job.pop("tasks")), **job)
        except AssayError as error:
            told = {"error": f"{type(error).__name__}: {error}"}
        else:
            told = done.as_dict() | {"exit_code": done.exit_code, "paths": [str(log) for log in done.logs]}
            told |= {"replies": done.replies.to_dicts(), "review": done.review.to_dicts()}
        sys.stdout.write(json.dumps(told | {"addresses": ASKED}) + "\n")
        sys.stdout.flush()


def mock(says):
    from inspect_ai.model import ModelOutput, ModelUsage

    def answer(*_):
        output = ModelOutput.from_content("mockllm", says)
        output.usage = ModelUsage(input_tokens=7, output_tokens=3, total_tokens=10)
        return output

    return answer


if __name__ == "__main__":
    main()
