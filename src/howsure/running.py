"""Runs of models through Inspect: how a model is asked, which logs and kept replies are a run's, what a reply cost, and why one failed.

The same for every instrument. Inspect is an optional package and is imported only when something is asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zipfile import BadZipFile

from howsure.errors import InputError, OptionError, need
from howsure.sources.inspect_format import Log, is_log, read_log

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.model import CachePolicy, Model, ModelOutput, ModelUsage

__all__ = [
    "Asking",
    "Failure",
    "InspectRun",
    "Tokens",
    "error_counts",
    "failure_of",
    "keep_reply",
    "plain_errors",
    "read_logs",
]

_MARK = "howsure_run"
_AGAIN = re.compile(r"RetryError\(.*raised (\w+)>\)")

Failure = Literal["length", "null", "refusal"]
"""Why a whole reply is none to judge.

``length`` it was cut off; ``null`` it holds no text; ``refusal`` the model or a filter declined.
"""


@dataclass(frozen=True)
class Asking:
    """How a model is asked.

    ``model`` is ``provider/name``, as Inspect spells it; ``config`` are Inspect's generation settings (``temperature``, ``max_tokens``,
    ``reasoning_effort``, …), ``model_args`` the provider's own. A server that fails is asked again up to ``max_retries`` times, or when it is silent for
    ``attempt_timeout`` seconds. ``max_samples`` questions are open at a time. ``display`` is Inspect's.
    """

    model: str
    base_url: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    max_samples: int = 20
    max_retries: int = 8
    attempt_timeout: int = 300
    display: str = "none"

    def __post_init__(self) -> None:
        need("inspect_ai", "run", "Asking a model")
        from inspect_ai.model import GenerateConfig

        for name in self.config:  # Inspect would overlook a misspelt one
            if name not in GenerateConfig.model_fields:
                raise OptionError.unknown("generation setting", name, GenerateConfig.model_fields)

    @property
    def identity(self) -> dict[str, Any]:
        """What can change a reply, as Inspect's ``eval`` takes it."""
        asked = {"model": self.model, "model_base_url": self.base_url, "model_args": dict(self.model_args)}
        return asked | dict(self.config)

    @property
    def manner(self) -> dict[str, Any]:
        """What cannot, as ``eval`` takes it."""
        return {name: getattr(self, name) for name in ("max_samples", "max_retries", "attempt_timeout", "display")}

    def made(self) -> Model:
        """The model, for a role beside the one that is evaluated."""
        from inspect_ai.model import GenerateConfig, get_model

        config = GenerateConfig(**self.config, max_retries=self.max_retries, attempt_timeout=self.attempt_timeout)
        with plain_errors():
            return get_model(self.model, config=config, base_url=self.base_url, **self.model_args)


@dataclass(frozen=True)
class InspectRun:
    """A run in a folder, which the same settings find again: ``mark`` tells its logs, ``shelf`` the replies that are kept.

    Logs are in ``logs``, replies in ``cache``. Runs of one model asked in one way share a shelf, and none of them asks for a reply that is there.
    """

    out: Path
    mark: str
    shelf: str

    @classmethod
    def of(cls, out: str | os.PathLike[str], asking: Asking, settings: Any) -> InspectRun:
        """The run in which a model is asked in this way, under these other settings."""
        return cls(Path(out), _digest([asking.identity, settings]), _digest(asking.identity))

    @property
    def folder(self) -> Path:
        """Where the logs are."""
        return self.out / "logs"

    @property
    def replies(self) -> Path:
        """Where replies are kept."""
        return self.out / "cache" / self.shelf

    def logs(self) -> list[Log]:
        """Its logs with the summaries of their samples, from old to new."""
        from inspect_ai.log import read_eval_log

        found = []
        for path in self.folder.glob("*.eval"):
            try:
                spec = read_eval_log(str(path), header_only=True).eval
            except (BadZipFile, ValueError, LookupError, OSError) as error:
                raise InputError(
                    f"{path}: is damaged ({error}). Move it away; the run goes on from its other logs and the replies that were kept."
                ) from None
            if (spec.metadata or {}).get(_MARK) == self.mark:
                found.append(read_log(path, None))
        # Inspect's time is in seconds, and a run may be taken up within one
        return sorted(found, key=lambda log: (log.created, log.path.stat().st_mtime, str(log.path)))

    def evaluate(self, task: Task, asking: Asking, **options: Any) -> None:
        """Run a task of Inspect; one sample's failure does not stop the others, and a reply that is kept is not asked for again.

        ``options`` are more of Inspect's ``eval``.
        """
        from inspect_ai import eval as run_eval

        whole: dict[str, Any] = asking.identity | self._manner(asking) | {"metadata": {_MARK: self.mark}} | options
        with self._keeping_replies(), plain_errors():
            run_eval(task, **whole)

    def retry(self, log: Path, asking: Asking, **options: Any) -> None:
        """Go on with a log of the run as Inspect does: finished samples are taken over; ``options`` are more of ``eval_retry``."""
        from inspect_ai import eval_retry

        with self._keeping_replies(), plain_errors():
            eval_retry(str(log), **self._manner(asking), **options)

    def forget_replies(self) -> None:
        """Clear the shelf; for a run that shares it with none."""
        shutil.rmtree(self.replies, ignore_errors=True)
        with suppress(OSError):  # other runs keep theirs there
            self.replies.parent.rmdir()

    def _manner(self, asking: Asking) -> dict[str, Any]:
        return asking.manner | {"log_dir": str(self.folder), "fail_on_error": False}

    @contextmanager
    def _keeping_replies(self) -> Iterator[None]:
        """Inspect's cache lies beside the logs, so that no other run is answered from it."""
        name = "INSPECT_CACHE_DIR"
        before = os.environ.get(name)
        os.environ[name] = str(self.replies.resolve())
        try:
            yield
        finally:
            os.environ.pop(name)
            if before is not None:
                os.environ[name] = before


@dataclass(frozen=True)
class Tokens:
    """Tokens of replies: ``input`` is all that was read, from a provider's cache too; ``reasoning`` is a part of ``output``."""

    input: int = 0
    output: int = 0
    reasoning: int = 0

    @classmethod
    def of(cls, usage: ModelUsage) -> Tokens:
        """Those of one reply."""
        read = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        return cls(read, usage.output_tokens, usage.reasoning_tokens or 0)

    def __add__(self, other: Tokens) -> Tokens:
        """Those of both."""
        return Tokens(self.input + other.input, self.output + other.output, self.reasoning + other.reasoning)


def read_logs(paths: Sequence[str | os.PathLike[str]], task: str) -> list[Log]:
    """The logs of a task in these files and folders, from old to new; read without Inspect."""
    logs = [_of_task(path, task) for path in _files(paths)]
    return sorted(logs, key=lambda log: (log.created, str(log.path)))


def keep_reply(sample: int | str | None, role: str = "model") -> CachePolicy:
    """How Inspect keeps a reply: every sample has its own, though others ask the same."""
    from inspect_ai.model import CachePolicy

    return CachePolicy(expiry=None, scopes={"sample": str(sample), "role": role})


def failure_of(output: ModelOutput, *, has_answer: bool) -> Failure | None:
    """Why a reply is none to judge, or None where it is one; one that was cut off after its answer still counts."""
    if output.empty:
        return "null"
    # of these two the text is the server's, not the model's
    if output.stop_reason == "model_length":
        return "length"
    if output.stop_reason == "content_filter" or _is_refusal(output):
        return "refusal"
    if has_answer:
        return None
    if output.stop_reason == "max_tokens":
        return "length"
    # Inspect makes no difference between an empty text and none
    return None if output.completion.strip() else "null"


def error_counts(messages: Iterable[str]) -> dict[str, int]:
    """What servers failed with, in short; not that somebody stopped the run, who knows it."""
    told = [text.strip().splitlines()[0] for text in messages if not text.startswith("Cancelled")]
    return dict(Counter(_AGAIN.sub(r"\1, also when asked again", line)[:200] for line in told).most_common())


@contextmanager
def plain_errors() -> Iterator[None]:
    """What is wrong with a model's name, its key or its package, in one line."""
    from inspect_ai._util.error import PrerequisiteError
    from rich.text import Text

    try:
        yield
    except PrerequisiteError as error:
        raise OptionError(" ".join(Text.from_markup(str(error.message)).plain.split())) from None
    except ValueError as error:
        raise OptionError(" ".join(str(error).split())) from None


def _files(paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f"{path}: no such file or folder.")
        below = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file() and is_log(one))
        if not below:
            raise InputError(f"{path}: holds no Inspect log (an .eval file, or a .json file that Inspect wrote).")
        found |= dict.fromkeys(one.resolve() for one in below)
    return list(found)


def _of_task(path: Path, task: str) -> Log:
    log = read_log(path, None)
    if log.eval.task.rpartition("/")[2] != task:
        raise InputError(f"{path}: is a log of {log.eval.task!r}, not of {task!r}. Leave it out.")
    return log


def _is_refusal(output: ModelOutput) -> bool:
    content = output.message.content
    return not isinstance(content, str) and any(getattr(part, "refusal", None) for part in content)


def _digest(settings: Any) -> str:
    """Short, and the same for the same settings; an object that is no JSON is told by its kind."""
    text = json.dumps(settings, sort_keys=True, default=lambda value: type(value).__qualname__)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
