"""Lets models judge through Inspect: a job holds the arguments of `run_judge`, with ``n_pairs`` for the study."""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as a program it knows its own folder alone
from servers import inspect_process

run, start = (partial(one, __file__) for one in (inspect_process.run, inspect_process.start))


def do(job):
    from howsure.study.judging.runs import run_judge
    from study.judging import small_study

    done = run_judge(small_study(job.pop("n_pairs")), **job)
    replies = [(one.item, one.target_slot, dict(one.values), one.failure) for one in done.replies]
    told = {"status": done.status, "exit_code": done.exit_code, "replies": replies}
    return told | {"errors": done.errors, "logs": [str(log) for log in done.logs]}


if __name__ == "__main__":
    inspect_process.work(do)
