"""A model plays through Inspect: started once, and resumed until every game is played."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

from assay.errors import InputError, OptionError, need
from assay.track.inspect.logs import samples_from_logs
from assay.track.run import SAMPLES
from assay.track.samples import Samples
from assay.track.sequence import Setting

__all__ = ["ModelRun", "run_model"]

_MARK = "assay_run"
_AGAIN = re.compile(r"RetryError\(.*raised (\w+)>\)")
_UNFINISHED = ("api", "error", "cancelled")


@dataclass(frozen=True)
class ModelRun:
    """What a run has come to: its games, its logs from old to new, and the errors that broke games off, with their number.

    ``status`` is ``incomplete`` while games are missing or failed with an error: the same call goes on from there.
    """

    status: Literal["complete", "incomplete"]
    samples: Samples
    logs: tuple[Path, ...]
    n_missing: int
    errors: Mapping[str, int]

    @property
    def exit_code(self) -> int:
        """0 when every game was played, else 1. Inspect's own is 0 also when every sample errored."""
        return 0 if self.status == "complete" else 1


def run_model(
    model: str,
    *,
    out: str | os.PathLike[str],
    variant: str = "median",
    solver: str = "direct",
    setting: Setting | None = None,
    n_samples: int = SAMPLES,
    seed: int = 0,
    state_role: str = "user",
    epochs: int = 1,
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    max_samples: int = 20,
    max_retries: int = 8,
    attempt_timeout: int = 300,
    display: str = "none",
) -> ModelRun:
    """Let `model` (``provider/name``, as Inspect spells it) play, or go on with the run of these settings in the folder `out`.

    Nothing is asked twice: finished games are taken from the log, and half-played ones are played again from the replies
    that were kept. A server that fails is asked again up to ``max_retries`` times, or when it is silent for ``attempt_timeout`` seconds; then its
    game is given up and the others go on. ``max_samples`` games are played at a time (a person's one after the other), and memory grows with it. ``config`` are Inspect's
    generation settings (``temperature``, ``max_tokens``, ``reasoning_effort``, …), ``model_args`` the provider's own.
    """
    need("inspect_ai", "run", "Asking a model")
    task_args = {"variant": variant, "solver": solver, "samples": n_samples, "state_role": state_role, "seed": seed}
    task_args |= asdict(setting or Setting())
    asked = {"model": model, "model_base_url": base_url, "model_args": dict(model_args or {}), "epochs": epochs}
    asked |= _checked(config or {})
    run = _Run(Path(out), _digest([task_args, asked]), n_samples * epochs)
    before = run.report()
    if before and before.status == "complete":
        return before
    # games of players cost nothing to play again, so what protects paid replies is left out
    is_paid = not model.startswith("assay/")
    if model.startswith("human/"):  # who plays one game at a time and has the screen to himself
        max_samples, display = 1, "none"
    limits = {"max_samples": max_samples, "max_retries": max_retries, "attempt_timeout": attempt_timeout}
    manner = {"display": display, "log_dir": str(run.folder), "log_realtime": is_paid, "fail_on_error": False}
    with run.keeping_replies():
        if before:
            _resume(before.logs[-1], limits | manner)
        else:
            _start(task_args | {"cache": is_paid}, asked | limits | manner | {"metadata": {_MARK: run.mark}})
    return run.finish()


@dataclass(frozen=True)
class _Run:
    """The run with this mark in a folder."""

    out: Path
    mark: str
    n_games: int

    @property
    def folder(self) -> Path:
        return self.out / "logs"

    @property
    def cache(self) -> Path:
        return self.out / "cache" / self.mark

    def report(self) -> ModelRun | None:
        """How it stands, or None when nothing was played."""
        from inspect_ai.log import read_eval_log_sample_summaries

        logs = self._logs()
        summaries = [read_eval_log_sample_summaries(str(log)) for log in logs]
        if not any(summaries):
            return None
        samples = samples_from_logs(logs)
        unfinished = int(samples.frame["failure"].is_in(_UNFINISHED).sum())
        missing = self.n_games - len(samples.frame)
        errors = _errors(one.error for one in summaries[-1] if one.error)
        return ModelRun("incomplete" if unfinished or missing else "complete", samples, logs, missing, errors)

    def finish(self) -> ModelRun:
        """How it stands; the kept replies of a complete run are not needed any more."""
        run = self.report()
        if run is None:
            raise InputError(f"{self.folder}: no game was played. Look into the log there with: inspect view")
        if run.status == "complete":
            shutil.rmtree(self.cache, ignore_errors=True)
            with suppress(OSError):  # other runs keep theirs there
                self.cache.parent.rmdir()
        return run

    @contextmanager
    def keeping_replies(self) -> Iterator[None]:
        """Inspect's cache lies beside the logs, so that no other run is answered from it."""
        name = "INSPECT_CACHE_DIR"
        before = os.environ.get(name)
        os.environ[name] = str(self.cache.resolve())
        try:
            yield
        finally:
            os.environ.pop(name)
            if before is not None:
                os.environ[name] = before

    def _logs(self) -> tuple[Path, ...]:
        """The run's logs, from old to new."""
        from inspect_ai.log import read_eval_log

        found = []
        for path in self.folder.glob("*.eval"):
            try:
                spec = read_eval_log(str(path), header_only=True).eval
            except (BadZipFile, ValueError, LookupError, OSError) as error:
                raise InputError(f"{path}: is damaged ({error}). Move it away; replies so far are kept.") from None
            if (spec.metadata or {}).get(_MARK) == self.mark:
                found.append((spec.created, path.stat().st_mtime, path))
        return tuple(path for *_, path in sorted(found))


def _checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, refused where Inspect would overlook a misspelt one."""
    from inspect_ai.model import GenerateConfig

    for name in config:
        if name not in GenerateConfig.model_fields:
            raise OptionError.unknown("generation setting", name, GenerateConfig.model_fields)
    return dict(config)


def _start(task_args: dict[str, Any], options: dict[str, Any]) -> None:
    from inspect_ai import eval as run_eval

    from assay.track.inspect.registry import track_the_stat

    task = track_the_stat(**task_args)
    with _plain_errors():
        run_eval(task, **options)


def _resume(log: Path, options: dict[str, Any]) -> None:
    from inspect_ai import eval_retry

    import assay.track.inspect.registry  # noqa: F401 - where Inspect finds the task that the log names

    with _plain_errors():
        eval_retry(str(log), **options)


def _errors(messages: Iterable[str]) -> dict[str, int]:
    """What broke games off, in short; not that somebody stopped the run, who knows it."""
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
