"""Lets models play through Inspect: a job holds the arguments of `run_model`."""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as a program it knows its own folder alone
from servers import inspect_process

run, start = (partial(one, __file__) for one in (inspect_process.run, inspect_process.start))


def do(job):
    from howsure.track.game.sequence import Setting
    from howsure.track.running.playing import run_model

    setting = Setting(**job.pop("setting", {}))
    done = run_model(**job, setting=setting)
    told = {"status": done.status, "exit_code": done.exit_code, "n_missing": done.n_missing}
    return told | {"errors": done.errors, "logs": [str(log) for log in done.logs]}


if __name__ == "__main__":
    inspect_process.work(do)
