"""An Inspect log of 10,000 samples into checked Attempts, against Inspect's own ``samples_df`` (goal: 20× in CPU seconds).

The log is one that Inspect wrote, multiplied: 100 samples of a real run with a mock model, repeated under new ids and
laid out as a run lays them out, in batches of ten. ``rewritten_seconds`` is the same log written anew in one batch,
as after an edit, so that Howsure has to look for edited scores in the whole samples. ``many_seconds`` is 20 such logs, 200,000
samples, read by Howsure. ``peak_mb`` is the most memory that fresh processes take to read one log and all of them. All times are CPU seconds.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from howsure.safe_io import Archive
from howsure.sources import inspect_logs

SAMPLES = 10_000
LOGS = 20
_TURNS = 2
_CHILD = """
import resource, sys
from pathlib import Path
from howsure.sources import inspect_logs
inspect_logs.read([Path(one) for one in sys.argv[1:]])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
_RUN = 100  # samples in the run that is multiplied


def measure() -> dict[str, float]:
    """Seconds for each reader, the fastest of a few, and how many times as fast Howsure is."""
    from inspect_ai.analysis import samples_df

    with tempfile.TemporaryDirectory() as folder:
        run = _run(Path(folder))
        log = _multiplied(run, Path(folder, "run.eval"), batch=10)
        rewritten = _multiplied(run, Path(folder, "rewritten.eval"), batch=SAMPLES)
        unfinished = _multiplied(run, Path(folder, "unfinished.eval"), batch=10, has_header=False)
        many = [_as_another_run(run, unfinished, number) for number in range(LOGS)]
        # by turns, so that what else the machine does burdens all of them
        ours = ours_rewritten = ours_many = inspect = math.inf
        for _ in range(_TURNS):
            ours = min(ours, _cpu(lambda: inspect_logs.read([log]), 3))
            inspect = min(inspect, _cpu(lambda: samples_df(str(log), quiet=True), 1))
            ours_many = min(ours_many, _cpu(lambda: inspect_logs.read(many), 1))
            ours_rewritten = min(ours_rewritten, _cpu(lambda: inspect_logs.read([rewritten]), 1))
        peaks = [_peak(paths) for paths in (many[:1], many)]
    return {
        "samples": SAMPLES,
        "howsure_seconds": ours,
        "inspect_seconds": inspect,
        "ratio": inspect / ours,
        "rewritten_seconds": ours_rewritten,
        "many_samples": LOGS * SAMPLES,
        "many_seconds": ours_many,
        "many_ratio": inspect * LOGS / ours_many,
        "peak_mb_of_one": peaks[0],
        "peak_mb_of_many": peaks[1],
    }


def _peak(paths: list[Path]) -> float:
    """The most memory in MB that a fresh process takes to read these logs."""
    child = subprocess.run([sys.executable, "-c", _CHILD, *map(str, paths)], capture_output=True, text=True, check=True)
    return float(child.stdout)


def _cpu(work: Callable[[], Any], times: int) -> float:
    """The least CPU seconds of a few runs."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _as_another_run(run: Path, unfinished: Path, number: int) -> Path:
    """A copy of the log under another task id: a run writes its header last."""
    with Archive(run) as log:
        header = log.read("header.json")
    task_id = json.loads(header)["eval"]["task_id"].encode()
    path = unfinished.with_name(f"{number}.eval")
    shutil.copy(unfinished, path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", header.replace(task_id, b"%022d" % number))
    return path


def _run(folder: Path) -> Path:
    """A real log of a small run."""
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import includes

    def answers() -> Iterator[ModelOutput]:
        for number in range(_RUN):
            output = ModelOutput.from_content("mockllm/model", f"The answer is {number % 3}.")
            output.usage = ModelUsage(input_tokens=20, output_tokens=6, total_tokens=26)
            yield output

    questions = [
        Sample(input=f"What is {number} modulo 2?", target=str(number % 2), metadata={"group": f"g{number % 9}"})
        for number in range(_RUN)
    ]
    task = Task(dataset=MemoryDataset(questions), scorer=includes(), name="modulo")
    model = get_model("mockllm/model", custom_outputs=answers())
    return Path(eval(task, model=model, display="none", log_dir=str(folder))[0].location)


def _multiplied(run: Path, path: Path, *, batch: int, n: int = SAMPLES, has_header: bool = True) -> Path:
    """The log of `run` with as many samples as we want, written in batches."""
    with Archive(run) as log, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        summaries = json.loads(log.read("summaries.json"))
        samples = {one["id"]: json.loads(log.read(f"samples/{one['id']}_epoch_1.json")) for one in summaries}
        out.writestr("_journal/start.json", log.read("_journal/start.json"))
        told = []
        for first in range(0, n, batch):
            ids = range(first, min(first + batch, n))
            told.append([_renamed(summaries[number % _RUN], number) for number in ids])
            for number in ids:
                whole = _renamed(samples[summaries[number % _RUN]["id"]], number)
                out.writestr(f"samples/{number}_epoch_1.json", _dumped(whole))
            out.writestr(f"_journal/summaries/{len(told)}.json", _dumped(told[-1]))
        out.writestr("summaries.json", _dumped([one for several in told for one in several]))
        if has_header:
            out.writestr("header.json", log.read("header.json"))
    return path


def _renamed(sample: dict[str, Any], number: int) -> dict[str, Any]:
    return {**sample, "id": number, "uuid": f"{sample['uuid']}-{number}"}


def _dumped(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
