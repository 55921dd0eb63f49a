"""Runs models through Inspect for the tests: ``run(jobs)`` starts this file as a program.

A program of its own, because Inspect leaves streams unclosed, which our tests take for errors. A job holds the arguments of `run_model`; what it came to
is a dictionary. No address beyond this machine can be reached: whoever tries is named in the result's ``addresses``.
"""

import json
import os
import socket
import subprocess
import sys

ENVIRONMENT = os.environ | {"TEST_API_KEY": "none", "INSPECT_TELEMETRY": ""}
ASKED = []


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


def inspect(*arguments, env=ENVIRONMENT, **options):
    """Inspect's own command."""
    line = [sys.executable, "-m", "inspect_ai", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, env=env, timeout=300, check=False, **options)


def main():
    guard()
    from assay.errors import AssayError
    from assay.track.inspect.run import run_model
    from assay.track.sequence import Setting

    for job in json.loads(sys.stdin.readline()):
        setting = Setting(**job.pop("setting", {}))
        ASKED.clear()
        try:
            done = run_model(**job, setting=setting)
        except AssayError as error:
            told = {"error": f"{type(error).__name__}: {error}"}
        else:
            told = {"status": done.status, "exit_code": done.exit_code, "n_missing": done.n_missing}
            told |= {"errors": done.errors, "logs": [str(log) for log in done.logs]}
        sys.stdout.write(json.dumps(told | {"addresses": ASKED}) + "\n")
        sys.stdout.flush()


def guard():
    """Note and refuse every name that is looked up, unless it is this machine's."""
    real = socket.getaddrinfo

    def looked_up(host, *rest, **more):
        if host not in ("127.0.0.1", "localhost", None):
            ASKED.append(str(host))
            raise OSError(f"no network in tests: {host}")
        return real(host, *rest, **more)

    socket.getaddrinfo = looked_up


if __name__ == "__main__":
    main()
