"""A model rates a study through Inspect: started once, and asked again for what is missing."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

from assay.errors import InputError, OptionError, need
from assay.sources._inspect_format import Log, Sample, read_log
from assay.study.judge import Reply
from assay.study.protocol import Study
from assay.study.questions import ask, sample_id

__all__ = ["JudgeRun", "run_judge"]

_MARK = "assay_run"
_AGAIN = re.compile(r"RetryError\(.*raised (\w+)>\)")


@dataclass(frozen=True)
class JudgeRun:
    """What a run has come to: its replies, its logs from old to new, and the errors of servers, with their number.

    ``status`` is ``incomplete`` while a server's failure left something unasked: the same call goes on from there.
    """

    status: Literal["complete", "incomplete"]
    replies: tuple[Reply, ...]
    logs: tuple[Path, ...]
    errors: Mapping[str, int]

    @property
    def exit_code(self) -> int:
        """0 when every reply came, else 1. Inspect's own is 0 also when every sample errored."""
        return 0 if self.status == "complete" else 1


def run_judge(
    study: Study,
    model: str,
    *,
    out: str | os.PathLike[str],
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    max_samples: int = 20,
    max_retries: int = 8,
    attempt_timeout: int = 300,
    display: str = "none",
) -> JudgeRun:
    """Let `model` (``provider/name``, as Inspect spells it) rate every pair in both orders, or go on with that run in the folder `out`.

    Nothing is asked twice: replies that came are taken from the logs, also from those of a run that was killed. A server that fails is
    asked again up to ``max_retries`` times, or when it is silent for ``attempt_timeout`` seconds; then that question is given up for now and the
    others go on. A reply without a rating in it is the model's own failure, and is not asked again. ``config`` are Inspect's generation
    settings (``temperature``, ``max_tokens``, ``reasoning_effort``, …), ``model_args`` the provider's own.
    """
    need("inspect_ai", "run", "Asking a model")
    asked = {"model": model, "model_base_url": base_url, "model_args": dict(model_args or {}), **_checked(config or {})}
    run = _Run(Path(out) / "logs", study, _digest([[_texts(study)], asked]))
    missing = run.report().missing
    if missing:
        limits = {"max_samples": max_samples, "max_retries": max_retries, "attempt_timeout": attempt_timeout}
        manner = {"display": display, "log_dir": str(run.folder), "log_buffer": 1, "fail_on_error": False}
        _evaluate(study, missing, {**asked, **limits, **manner, "metadata": {_MARK: run.mark}})
    return run.report().as_run()


@dataclass(frozen=True)
class _Report:
    replies: tuple[Reply, ...]
    missing: frozenset[str]
    logs: tuple[Path, ...]
    errors: Mapping[str, int]

    def as_run(self) -> JudgeRun:
        return JudgeRun("incomplete" if self.missing else "complete", self.replies, self.logs, self.errors)


@dataclass(frozen=True)
class _Run:
    """The run with this mark in a folder of logs."""

    folder: Path
    study: Study
    mark: str

    def report(self) -> _Report:
        """How it stands: of each question the first whole reply counts, and else the last failure."""
        logs = self._logs()
        latest: dict[tuple[str, int], Sample] = {}
        for log in logs:
            for sample in log.samples or []:
                told = sample.metadata or {}
                key = told["pair"], told["target_slot"]
                if key not in latest or latest[key].error:
                    latest[key] = sample
        orders = [(pair.id, slot) for pair in self.study.pairs for slot in (1, 2)]
        replies = tuple(_reply(pair, slot, latest.get((pair, slot))) for pair, slot in orders)
        missing = frozenset(sample_id(one.item, one.target_slot) for one in replies if one.failure == "api")
        errors = _errors(str(one.error) for one in latest.values() if one.error)
        return _Report(replies, missing, tuple(log.path for log in logs), errors)

    def _logs(self) -> list[Log]:
        """The run's logs, from old to new."""
        from inspect_ai.log import read_eval_log

        found = []
        for path in self.folder.glob("*.eval"):
            try:
                spec = read_eval_log(str(path), header_only=True).eval
            except (BadZipFile, ValueError, LookupError, OSError) as error:
                raise InputError(
                    f"{path}: is damaged ({error}). Move it away, and what it holds is asked anew."
                ) from None
            if (spec.metadata or {}).get(_MARK) == self.mark:
                found.append(read_log(path, None))
        return sorted(found, key=lambda log: (log.created, str(log.path)))


def _reply(pair: str, slot: int, sample: Sample | None) -> Reply:
    """What a sample says; one that never came, or with an error, is the server's failure."""
    if sample is None or sample.error or not sample.scores:
        return Reply(pair, slot, {}, "api")
    failure = (sample.metadata or {}).get("failure")
    (score,) = sample.scores.values()
    return Reply(pair, slot, {} if failure else dict(score.value), failure)


def _evaluate(study: Study, missing: frozenset[str], options: dict[str, Any]) -> None:
    from inspect_ai import eval as run_eval

    from assay.study.inspect.task import judge_pairs

    task = judge_pairs(study, sorted(missing))
    with _plain_errors():
        run_eval(task, **options)


def _texts(study: Study) -> list[str]:
    """All that a model is asked: what else a study holds may change without a new run."""
    return [ask(study, pair, slot) for pair in study.pairs for slot in (1, 2)]


def _checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, refused where Inspect would overlook a misspelt one."""
    from inspect_ai.model import GenerateConfig

    for name in config:
        if name not in GenerateConfig.model_fields:
            raise OptionError.unknown("generation setting", name, GenerateConfig.model_fields)
    return dict(config)


def _errors(messages: Iterable[str]) -> dict[str, int]:
    """What servers failed with, in short; not that somebody stopped the run, who knows it."""
    told = [text.strip().splitlines()[0] for text in messages if not text.startswith("Cancelled")]
    return dict(Counter(_AGAIN.sub(r"\1, also when asked again", line)[:200] for line in told).most_common())


@contextmanager
def _plain_errors() -> Iterator[None]:
    """What is wrong with a model's name, its key or its package, in one line."""
    from inspect_ai._util.error import PrerequisiteError
    from rich.text import Text

    try:
        yield
    except PrerequisiteError as error:
        raise OptionError(" ".join(Text.from_markup(str(error.message)).plain.split())) from None
    except ValueError as error:
        raise OptionError(" ".join(str(error).split())) from None


def _digest(settings: Any) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
