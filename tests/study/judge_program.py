"""Lets models judge through Inspect for the tests, as a program of its own: Inspect leaves streams unclosed, which our tests take for errors."""

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
    """The program, at work on these jobs."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = subprocess.Popen([sys.executable, __file__], text=True, env=ENVIRONMENT, **pipes)
    program.stdin.write(json.dumps(jobs) + "\n")
    program.stdin.flush()
    return program


def main():
    sys.path.insert(0, str(TESTS))
    from assay.errors import AssayError
    from assay.study.inspect.run import run_judge
    from study.judging import small_study
    from track.inspect_program import ASKED, guard

    guard()
    for job in json.loads(sys.stdin.readline()):
        ASKED.clear()
        try:
            done = run_judge(small_study(job.pop("n_pairs")), **job)
        except AssayError as error:
            told = {"error": f"{type(error).__name__}: {error}"}
        else:
            replies = [(one.item, one.target_slot, dict(one.values), one.failure) for one in done.replies]
            told = {"status": done.status, "exit_code": done.exit_code, "replies": replies}
            told |= {"errors": done.errors, "logs": [str(log) for log in done.logs]}
        sys.stdout.write(json.dumps(told | {"addresses": ASKED}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
