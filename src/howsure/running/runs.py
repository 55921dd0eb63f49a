"""Runs of models through Inspect: how a model is asked, which logs and kept replies are a run's, what a reply cost, and why one failed.

Inspect is an optional package and is imported only when something is asked.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zipfile import BadZipFile

from howsure.errors import InputError, OptionError, need
from howsure.safe_io import lock_file
from howsure.sources.inspect_format import Log, is_log, read_log

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.model import CachePolicy, Model, ModelOutput, ModelUsage

__all__ = [
    "MANNER",
    "Asking",
    "BudgetSpentError",
    "Failure",
    "GarbledReplyError",
    "Gate",
    "GivenUpError",
    "InspectRun",
    "Prices",
    "RunBudget",
    "Tokens",
    "digest",
    "error_counts",
    "failure_of",
    "is_too_long",
    "keep_reply",
    "locked",
    "plain_errors",
    "read_logs",
]

_MARK = "howsure_run"
_AGAIN = re.compile(r"RetryError\(.*raised (\w+)>\)")
_REQUEST = re.compile(
    r"^ModelGenerateError\(.*(?:\\n|\n){2}(?=\S)", re.DOTALL
)  # the whole conversation stands before the reason
_GIVEN_UP = re.compile(r"^(?:GivenUp|BudgetSpent|GarbledReply)Error\((?=['\"])(.*)\)$", re.DOTALL)
# how servers say that a conversation does not fit: OpenAI, vLLM, llama.cpp, SGLang, TGI, Anthropic, Bedrock, Gemini, xAI, Moonshot, Cohere, DashScope
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context (?:length|size|window)|maximum prompt length|input_too_large"
    r"|(?:prompt|input|inputs|conversation|messages) (?:is|are) too (?:long|large)|input length|reduce the length of the (?:messages|prompt|input)"
    r"|input token(?:s| count)\b.*\bexceed|exceed\w* (?:the )?(?:model|maximum number of) token|too many tokens|`inputs` tokens \+",
    re.IGNORECASE | re.DOTALL,
)
MANNER = ("max_retries", "timeout", "attempt_timeout", "max_connections")  # generation settings that change no reply
_TOKENIZER = "openaipublic"  # in the address that tiktoken fetches its words from
_MOST_GIVEN_UP = 20  # questions in a row: as many as are open at a time
_FIRST_GIVEN_UP = 3  # questions, where a server that is there has answered none
_GARBLED = 3  # times that a question is asked again whose reply is no JSON

Failure = Literal["length", "null", "refusal"]
"""Why a whole reply is none to judge.

``length`` it was cut off; ``null`` it holds no text; ``refusal`` the model or a filter declined.
"""


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens, in any currency.

    Parameters
    ----------
    reading : float
        Price of input tokens.
    writing : float
        Price of output tokens.
    cached : float | None
        Price of input tokens that the provider has from an earlier request; None: no discount.
    """

    reading: float
    writing: float
    cached: float | None = None

    def cost(self, fresh: float, cached: float, written: float) -> float:
        """What so many tokens cost: input that is new, input from the provider's cache, and output."""
        discount = self.reading if self.cached is None else self.cached
        return (fresh * self.reading + cached * discount + written * self.writing) / 1e6


@dataclass
class RunBudget:
    """What a run may spend, over all its resumptions; `Gate` asks nothing more once it is spent.

    Replies that are on their way when it is spent still come in, so that it can be exceeded by as many replies as are open at a time.
    """

    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None
    tokens: int = 0
    cost: float = 0.0
    n_uncounted: int = 0

    def add(self, usage: Any) -> None:
        """Count a reply, or what an earlier part of the run used, as Inspect tells it; None where the server counted no tokens."""
        if usage is None:
            self.n_uncounted += 1
            return
        cached = usage.input_tokens_cache_read or 0
        fresh = usage.input_tokens + (usage.input_tokens_cache_write or 0)
        self.tokens += fresh + cached + usage.output_tokens
        if self.prices:
            self.cost += self.prices.cost(fresh, cached, usage.output_tokens)

    def check(self) -> None:
        """Raise `BudgetSpentError` when it is spent, or when nobody knows what is spent."""
        if self.n_uncounted and (self.max_tokens is not None or self.max_cost is not None):
            raise BudgetSpentError(
                "not asked: the server does not count the tokens of its replies, so a limit of tokens or cost cannot be kept. Leave the limit out"
            )
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            raise BudgetSpentError(f"not asked: {self.tokens:,} of {self.max_tokens:,} tokens are spent")
        if self.max_cost is not None and self.cost >= self.max_cost:
            raise BudgetSpentError(f"not asked: {self.cost:,.2f} of {self.max_cost:,.2f} are spent")


_budget: ContextVar[RunBudget | None] = ContextVar("budget", default=None)


@dataclass(frozen=True)
class Asking:
    """How a model is asked.

    ``model`` is ``provider/name``, as Inspect spells it; ``config`` are Inspect's generation settings (``temperature``, ``max_tokens``,
    ``reasoning_effort``, …), ``model_args`` the provider's own. A server that fails, or is silent for ``attempt_timeout`` seconds, is asked again up to
    ``max_retries`` times (after 3, 6, 12, … seconds), and given up after ``timeout`` seconds; in ``config`` these win. ``max_samples`` questions are open at
    a time. ``display`` is Inspect's. The run ends, and can be continued, once it has spent ``max_tokens_total`` tokens or ``max_cost``, which needs ``prices``.
    """

    model: str
    base_url: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    max_samples: int = 20
    max_retries: int = 5
    attempt_timeout: int = 300
    timeout: int = 900
    display: str = "none"
    max_tokens_total: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        if self.max_cost is not None and self.prices is None:
            raise OptionError("A limit of cost needs prices: give the prices of a million input and output tokens.")
        need("inspect_ai", "run", "Asking a model")
        from inspect_ai.model import GenerateConfig
        from pydantic import ValidationError

        for name in self.config:  # Inspect would overlook a misspelt one
            if name not in GenerateConfig.model_fields:
                raise OptionError.unknown("generation setting", name, GenerateConfig.model_fields)
        try:
            GenerateConfig.model_validate(dict(self.config))
        except ValidationError as error:
            first = error.errors()[0]
            raise OptionError(
                f"Generation setting {first['loc'][0]}: {first['msg']}; not {first['input']!r}."
            ) from None

    @property
    def identity(self) -> dict[str, Any]:
        """What can change a reply, as Inspect's ``eval`` takes it."""
        asked = {"model": self.model, "model_base_url": self.base_url, "model_args": dict(self.model_args)}
        return asked | {name: value for name, value in self.config.items() if name not in MANNER}

    @property
    def manner(self) -> dict[str, Any]:
        """What cannot, as ``eval`` takes it."""
        return {"max_samples": self.max_samples, "display": self.display} | self._patience

    @property
    def _patience(self) -> dict[str, Any]:
        """How long a server is waited for: what the user set, and our defaults for the rest."""
        ours = {name: getattr(self, name) for name in ("max_retries", "attempt_timeout", "timeout")}
        return ours | {name: value for name, value in self.config.items() if name in MANNER}

    def made(self) -> Model:
        """The model, for a role beside the one that is evaluated."""
        from inspect_ai.model import GenerateConfig, get_model

        config = GenerateConfig(**{**self.config, **self._patience})
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
        return cls(Path(out), digest([asking.identity, settings]), digest(asking.identity))

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
                    f"{path}: is damaged ({error}). Move it away; the run continues from its other logs and the kept replies."
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
        with self._alone(), self._keeping_replies(), _counting_here(), self._spending(asking), plain_errors():
            run_eval(task, **whole)

    def retry(self, log: Path, asking: Asking, **options: Any) -> None:
        """Go on with a log of the run as Inspect does: finished samples are taken over; ``options`` are more of ``eval_retry``."""
        from inspect_ai import eval_retry

        with self._alone(), self._keeping_replies(), _counting_here(), self._spending(asking), plain_errors():
            eval_retry(str(log), **self._manner(asking), **options)

    def forget_replies(self) -> None:
        """Clear the shelf; for a run that shares it with none."""
        shutil.rmtree(self.replies, ignore_errors=True)
        with suppress(OSError):  # other runs keep theirs there
            self.replies.parent.rmdir()

    def _manner(self, asking: Asking) -> dict[str, Any]:
        return asking.manner | {"log_dir": str(self.folder), "fail_on_error": False}

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two processes that continue one run would ask everything twice."""
        with locked(self.folder, f".{self.mark}.lock", waits=False) as is_ours:
            if not is_ours:
                raise InputError(
                    f"{self.out}: this run is under way in another process. Wait for it, or choose another folder."
                )
            yield

    @contextmanager
    def _spending(self, asking: Asking) -> Iterator[None]:
        """What is left of the budget after the run's earlier logs."""
        from inspect_ai.log import read_eval_log

        budget = RunBudget(asking.max_tokens_total, asking.max_cost, asking.prices)
        if asking.max_tokens_total is not None or asking.max_cost is not None:
            for log in self.logs():
                for usage in read_eval_log(str(log.path), header_only=True).stats.model_usage.values():
                    budget.add(usage)
        token = _budget.set(budget)
        try:
            yield
        finally:
            _budget.reset(token)

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


@contextmanager
def _counting_here() -> Iterator[None]:
    """Inspect's mock model counts tokens with a tokenizer that it fetches from the network; here it counts four characters as one."""
    from inspect_ai.model import get_model

    async def count(_: Any, text: str) -> int:
        return max(1, len(text) // 4)

    mock: Any = type(get_model("mockllm/model", memoize=False).api)
    before = vars(mock).get("count_text_tokens")
    mock.count_text_tokens = count
    try:
        yield
    finally:
        del mock.count_text_tokens
        if before is not None:
            mock.count_text_tokens = before


class GivenUpError(Exception):
    """A question that was not answered, or not asked, because of the server; the text says why."""


class BudgetSpentError(GivenUpError):
    """A question that was not asked because the run has spent what it may."""


class GarbledReplyError(Exception):
    """A reply with the status of success and a body that is none."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.provider_message = said


class Gate:
    """Stands between a run and a server, so that one that refuses or is gone is not asked hundreds of times.

    Until the server has answered once, one question is asked, and if that fails the next two together: each has the patience of `Asking`. Nothing more is asked in this run after the key was refused (401, 403), after the first
    question found nobody, after the server failed at the first three (one may be the fault of its conversation, and the others would never be asked), or after twenty
    in a row were given up. A reply that is no JSON, or has no choices, is the server's failure, and the question is asked again.
    A server that says that the conversation is too long has answered: the reply's ``stop_reason`` is then ``model_length``, whatever the provider makes of it.
    """

    def __init__(self) -> None:
        self._has_answered = False
        self._n_given_up = 0
        self._closed: str | None = None
        self._n_open = 0
        self._turn: Any = None

    async def ask(
        self,
        question: Callable[[], Awaitable[ModelOutput]],
        afresh: Callable[[], Awaitable[ModelOutput]] | None = None,
    ) -> ModelOutput:
        """The answer to a question; raises `GivenUpError` with the server's reason.

        ``afresh`` asks the same past Inspect's cache, which keeps a reply without choices too, and would repeat it for ever.
        """
        import anyio

        if self._has_answered or self._closed:
            return await self._asked(question, afresh or question)
        self._turn = self._turn or anyio.Condition()
        async with self._turn:
            while not (self._has_answered or self._closed) and self._n_given_up + self._n_open >= (
                _FIRST_GIVEN_UP if self._n_given_up else 1
            ):
                await self._turn.wait()
            self._n_open += 1
        try:
            return await self._asked(question, afresh or question)
        finally:
            self._n_open -= 1
            with anyio.CancelScope(shield=True):
                async with self._turn:
                    self._turn.notify_all()

    async def _asked(
        self, question: Callable[[], Awaitable[ModelOutput]], afresh: Callable[[], Awaitable[ModelOutput]]
    ) -> ModelOutput:
        import anyio
        from inspect_ai.model import ModelOutput
        from inspect_ai.util import LimitExceededError, token_limit

        budget = _budget.get()
        for again in range(_GARBLED + 1):
            if self._closed:
                raise GivenUpError(f"not asked: {self._closed}")
            if budget:
                budget.check()
            try:
                with token_limit(None) as charged:  # sees only what was asked now, not what came from Inspect's cache
                    output = await (afresh if again else question)()
                if output.empty:
                    if budget and output.usage and charged.usage:
                        budget.add(output.usage)
                    raise GarbledReplyError("the reply has no choices")
            except LimitExceededError:  # set by whoever runs the eval: the server did not fail
                raise
            except Exception as error:
                if _is_garbled(error) and again < _GARBLED:
                    await anyio.sleep(0.2 * 4**again)
                    continue
                if not is_too_long(getattr(error, "status_code", None), _reason(error)):
                    self._failed(error)
                    raise GivenUpError(_reason(error)) from error
                output = ModelOutput.from_content("", _reason(error), "model_length")
            for choice in output.choices:
                if isinstance(choice.message.content, str):
                    choice.message.content = _storable(choice.message.content)
            output.completion = _storable(output.completion)
            self._has_answered, self._n_given_up = True, 0
            is_refused = output.stop_reason in ("model_length", "content_filter")  # before anything was written
            if budget and (charged.usage if output.usage else not is_refused):
                budget.add(output.usage)
            return output
        raise AssertionError("the last time is answered or given up")

    def _failed(self, error: Exception) -> None:
        self._n_given_up += 1
        is_there = getattr(_last(error), "status_code", None) is not None
        if getattr(error, "status_code", None) in (401, 403) and not self._has_answered:
            self._closed = f"the server refused the key ({_reason(error)})"
        elif self._n_given_up >= (_MOST_GIVEN_UP if self._has_answered else _FIRST_GIVEN_UP if is_there else 1):
            self._closed = f"the server kept failing ({_reason(error)})"


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


@contextmanager
def locked(folder: Path | None, name: str = ".lock", *, waits: bool = True) -> Iterator[bool]:
    """Whoever reads a folder's files, adds to them and writes them back does it alone; others wait, or learn that it is not theirs. Without a folder nothing is locked.

    The lock is the operating system's, on a hidden file: it ends with the process that has it.
    """
    if folder is None:
        yield True
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = (folder / name).open("a")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another output.") from None
    with stream:
        yield lock_file(stream, waits=waits)


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
    bare = (_unquoted(_REQUEST.sub("", text)) for text in messages if not text.startswith("Cancelled"))
    told = [next(iter(text.strip().splitlines()), "an error without a message") for text in bare]
    return dict(Counter(_AGAIN.sub(r"\1, also when asked again", line)[:300] for line in told).most_common())


def _unquoted(text: str) -> str:
    """An error of ours as it was worded; Inspect's log has it as Python writes it."""
    found = _GIVEN_UP.match(text)
    try:
        return str(ast.literal_eval(found[1])) if found else text
    except (SyntaxError, ValueError):
        return text


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
    except (OSError, sqlite3.OperationalError) as error:  # a full disk, above all; Inspect's realtime log is a database
        file, reason = (getattr(error, name, None) for name in ("filename", "strerror"))
        where = f"{file}: " if file else ""
        raise InputError(
            f"{where}the run's logs or replies cannot be written ({reason or error}). The same command continues."
        ) from None


def is_too_long(status: int | None, said: str) -> bool:
    """Whether a server refused a request because the conversation does not fit into the model's context window, in the words of the common servers."""
    return status == 413 or (status in (400, 422) and _TOO_LONG.search(said) is not None)


def _storable(text: str) -> str:
    """A reply without halves of characters, which JSON may contain and no file or request can."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _is_garbled(error: BaseException | None) -> bool:
    """Whether a reply had the status of success and a body that is none."""
    kinds = {
        "JSONDecodeError",
        "UnicodeDecodeError",
        "APIResponseValidationError",
        "ValidationError",
        "GarbledReplyError",
    }
    return error is not None and (type(error).__name__ in kinds or _is_garbled(error.__cause__))


def _reason(error: Exception) -> str:
    """What a server said, without the request that Inspect puts before it."""
    if (last := _last(error)) is not error and (said := getattr(last, "provider_message", None)):
        return f"{said}, also when asked again"
    told = getattr(error, "provider_message", None) or repr(error)
    if _TOKENIZER in told:
        return (
            "Inspect counts this model's tokens with a tokenizer that it fetches from the network, which cannot be reached. "
            "Use a model whose server counts them, or run the mock model with howsure instead of inspect"
        )
    return next(iter(error_counts([told])), told)


def _last(error: Exception) -> BaseException:
    """What the last attempt ended with, where a question was asked again."""
    last = error.last_attempt.exception() if hasattr(error, "last_attempt") else None
    return last or error


def _files(paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f"{path}: no such file or folder.")
        below = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file() and is_log(one))
        if not below:
            raise InputError(f"{path}: contains no Inspect log (an .eval file, or a .json file that Inspect wrote).")
        found |= dict.fromkeys(one.resolve() for one in below)
    return list(found)


def _of_task(path: Path, task: str) -> Log:
    log = read_log(path, None)
    if log.eval.task.rpartition("/")[2] != task:
        raise InputError(f"{path}: is a log of {log.eval.task!r}, not of {task!r}. Remove it.")
    return log


def _is_refusal(output: ModelOutput) -> bool:
    content = output.message.content
    return not isinstance(content, str) and any(getattr(part, "refusal", None) for part in content)


def digest(settings: Any) -> str:
    """Short, and the same for the same settings; an object that is no JSON is told by its kind."""
    text = json.dumps(settings, sort_keys=True, default=lambda value: type(value).__qualname__)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
