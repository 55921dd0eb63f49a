"""Inspect in a process of its own for the tests: it leaves streams unclosed, which our tests take for errors.

A program is a file that ends in ``work(do)``; ``run(file, *jobs)`` starts it and gives what each job came to. No address beyond this machine can
be reached: whoever tries is named in the result's ``addresses``.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections import ChainMap

from servers import prepared_process

ENVIRONMENT = ChainMap({"TEST_API_KEY": "none", "INSPECT_TELEMETRY": ""}, os.environ)
"""Always that of the test that is running: each has its own home."""


def run(file, *jobs):
    """What each job came to."""
    asked = json.dumps(jobs, default=str) + "\n"
    # outside of the repository, of whose state Inspect would ask git before each run
    told = prepared_process.run(
        [file], inspect=True, cwd=tempfile.gettempdir(), env=ENVIRONMENT, input=asked, timeout=300
    )
    results = [json.loads(line) for line in told.stdout.splitlines() if line.startswith("{")]
    assert len(results) == len(jobs), told.stderr
    return results


def start(file, *jobs):
    """The program, at work on these jobs, to be killed by a test."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = subprocess.Popen([sys.executable, file], text=True, env=ENVIRONMENT, **pipes)
    program.stdin.write(json.dumps(jobs, default=str) + "\n")
    program.stdin.flush()
    return program


def inspect(*arguments, env=ENVIRONMENT, **options):
    """Inspect's own command."""
    return prepared_process.run(["-m", "inspect_ai", *arguments], inspect=True, env=env, timeout=300, **options)


def work(do):
    """In the program: do each job that comes in, and tell what it came to."""
    asked = []
    guard(asked)
    from howsure.errors import HowsureError

    for job in json.loads(sys.stdin.readline()):
        asked.clear()
        try:
            told = do(job)
        except HowsureError as error:
            told = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(told | {"addresses": asked}) + "\n")
        sys.stdout.flush()


def guard(asked):
    """Note and refuse every name that is looked up, unless it is this machine's."""
    real = socket.getaddrinfo

    def looked_up(host, *rest, **more):
        if host not in ("127.0.0.1", "localhost", None):
            asked.append(str(host))
            raise OSError(f"no network in tests: {host}")
        return real(host, *rest, **more)

    socket.getaddrinfo = looked_up
