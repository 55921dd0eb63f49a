"""Inspect's log files: what is read of them, under Inspect's names, and how.

An ``.eval`` file is a zip archive: a header, a summary of a few hundred bytes for each sample, and the whole samples. Only
header and summaries are read, and whole samples where a summary cannot tell: which samples were invalidated, which
scores were edited, and metadata that the summary cuts short. A ``.json`` file holds everything in one document.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from itertools import chain, product
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from msgspec import DecodeError, Meta, Struct, convert, field
from msgspec.json import Decoder

from howsure.errors import InputError, need
from howsure.outside_text import with_whole_letters
from howsure.safe_io import Archive, count_json_values, read_bytes
from howsure.sources._reading import head, json_outline

__all__ = [
    "Content",
    "Log",
    "Sample",
    "Score",
    "Settings",
    "is_log",
    "is_nothing",
    "read_log",
    "whole_contents",
    "with_absent",
]

Settings: TypeAlias = dict[tuple[str, str], str]
"""Values as text, by where they were set and by name."""

_KNOWN_VERSIONS = frozenset({2})
_MOST_EXPECTED = 1_000_000  # samples that a header may announce
_MOST_FOR_INSPECT = 5_000_000  # values, each of which may take 300 bytes there
_FIRST_VERSION = re.compile(rb'\s*\{\s*"version"\s*:\s*(\d{1,9})\b')
_LOG_KEYS = frozenset(
    {"version", "status", "eval", "plan", "results", "stats", "error", "invalidated", "log_updates", "samples"}
    | {"reductions", "location", "etag", "tags", "metadata", "eval_set_id"}
)
_EVAL_KEYS = frozenset({"task", "task_id", "run_id", "created", "dataset", "model"})
_HEADER, _START, _SUMMARIES, _JOURNAL = "header.json", "_journal/start.json", "summaries.json", "_journal/summaries/"
# how a summary writes texts that it cuts short and parts that it leaves out, as JSON
_TRUNCATED = "(content truncated)"
_CUT = re.compile(r'\.\.\.\\n\(content truncated\)|"\((?:Image|Audio|Video|Data|Document|Reasoning|Tool_use)\)"')
_PROMPTS = frozenset({"system_message", "prompt_template", "user_message", "chain_of_thought"})
_encoded = json.JSONEncoder(sort_keys=True).encode
_quoted = json.encoder.encode_basestring_ascii
_TOLD_IN_FULL = re.compile(rb'"invalidation"\s*:\s*\{|"history"\s*:\s*\[\s*\{')


Whole: TypeAlias = Annotated[int, Meta(ge=-(2**53), le=2**53)]
"""A number that tables can hold."""


class _ScoreMetadata(Struct, gc=False):
    unscored_reason: Any = None


class Score(Struct, gc=False):
    """What a scorer gave, and the edits since."""

    value: Any = None
    history: list[Any] = []
    reason: Any = None
    explanation: Any = None
    metadata: _ScoreMetadata | None = None

    @property
    def why(self) -> str | None:
        """Why it is no usual score, in a word of the scorer's; older logs say it among the metadata."""
        said = self.reason or (self.metadata.unscored_reason if self.metadata else None)
        return str(said) if said else None


class _Choice(Struct, gc=False):
    stop_reason: Any = None


class _Output(Struct, gc=False):
    choices: list[_Choice] = []


class _Usage(Struct, gc=False):
    """What a model's replies took, as far as it is there."""

    total_tokens: int | float | None = None
    total_cost: int | float | None = None


class Content(Struct, gc=False):
    """What a sample asks: a hash of input, target and choices together.

    ``is_cut`` says that it was made from a summary that does not hold all of it.
    """

    item: str
    is_cut: bool


class Sample(Struct, gc=False):
    """A sample, or its summary, which lacks ``invalidation`` and ``history``.

    ``content`` is made from ``input``, ``target`` and ``choices``, which are then dropped. ``is_absent`` says that the log expects the sample, but
    does not have it.
    """

    id: Whole | str
    epoch: Whole
    scores: dict[str, Score] | None = None
    metadata: dict[str, Any] | None = None
    error: Any = None
    invalidation: Any = None
    total_time: float | None = None
    model_usage: dict[str, _Usage] | None = None
    limit: Any = None
    input: Any = None
    target: Any = None
    choices: Any = None
    output: _Output | None = None
    content: Content | None = field(default=None, name="#content")  # no field of the log
    is_absent: bool = field(default=False, name="#absent")

    @property
    def lacks_reason(self) -> bool:
        """Whether some score is not there, and nothing says why."""
        return not self.scores or any(is_nothing(one.value) and not one.why for one in self.scores.values())

    @property
    def stop_reason(self) -> str | None:
        """Why the model's reply ended, where it is known."""
        choices = self.output.choices if self.output else []
        return str(choices[0].stop_reason) if choices and choices[0].stop_reason else None


class _Ending(Struct, gc=False):
    output: _Output | None = None


class _Step(Struct, gc=False):
    solver: str
    params: dict[str, Any] = {}
    params_passed: dict[str, Any] | None = None


class _Plan(Struct, gc=False):
    steps: list[_Step] = []
    config: dict[str, Any] = {}


class _Dataset(Struct, gc=False):
    name: str | None = None
    shuffled: bool | None = None
    sample_ids: Any = None


class _Spec(Struct, gc=False):
    task: str
    model: str
    created: datetime
    task_id: str = ""
    task_version: Whole | str = 0
    task_args: dict[str, Any] = {}
    dataset: _Dataset = field(default_factory=_Dataset)
    model_args: dict[str, Any] = {}
    model_generate_config: dict[str, Any] = {}
    config: Any = None
    metadata: Any = None


class _JustEval(Struct, gc=False):
    eval: _Spec


class _JustVersion(Struct, gc=False):
    version: Whole = 2


class _Result(Struct, gc=False):
    scorer: str | None = None
    name: Any = None
    reducer: Any = None
    metrics: Any = None

    @property
    def mean(self) -> float | None:
        """The mean or accuracy that the log states, if it states one."""
        return self._metric("accuracy", "mean")

    @property
    def standard_error(self) -> float | None:
        """The standard error that the log states, if it states one."""
        return self._metric("stderr")

    def _metric(self, *names: str) -> float | None:
        for name in names:
            metric = self.metrics.get(name) if isinstance(self.metrics, dict) else None
            value = metric.get("value") if isinstance(metric, dict) else None
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                return float(value)
        return None


class _Results(Struct, gc=False):
    scores: list[_Result] = []
    completed_samples: Any = None


class Log(Struct, gc=False):
    """One run of an eval, with its samples in the order of epochs."""

    eval: _Spec
    status: str = "started"
    plan: _Plan = field(default_factory=_Plan)
    results: _Results | None = None
    invalidated: bool = False
    samples: list[Sample] | None = None
    path: Path = field(default_factory=Path, name="#path")

    @property
    def created(self) -> datetime:
        """When the run began, in UTC."""
        written = self.eval.created
        return written.astimezone(UTC) if written.tzinfo else written.replace(tzinfo=UTC)

    @property
    def label(self) -> str:
        """The eval and the model."""
        return f"{self.eval.task} on {self.eval.model}"

    @property
    def n_epochs(self) -> int:
        """How often each sample is tried."""
        epochs = self.eval.config.get("epochs") if isinstance(self.eval.config, dict) else None
        return epochs if isinstance(epochs, int) and epochs > 0 else 1

    @property
    def n_items(self) -> int | None:
        """How many items were finished, as the header tells."""
        n = self.results.completed_samples if self.results else None
        return n // self.n_epochs or None if isinstance(n, int) and n > 0 else None

    @property
    def board(self) -> str | None:
        """The board of Track the Stat that was played, as `howsure track` calls it; None for other evals."""
        told = self.eval.metadata.get("howsure_board") if isinstance(self.eval.metadata, dict) else None
        return told if isinstance(told, str) else None

    def task_settings(self) -> Settings:
        """What makes two evals of one name different tasks."""
        spec, steps = self.eval, self.plan.steps
        settings = {("task", name): value for name, value in spec.task_args.items()}
        settings |= {("", "version"): spec.task_version, ("", "dataset"): spec.dataset.name}
        settings["", "solver"] = " + ".join(step.solver for step in steps)
        for number, step in enumerate(steps):
            passed = step.params if step.params_passed is None else step.params_passed
            settings |= {(f"step {number}", f"{step.solver}.{name}"): value for name, value in passed.items()}
        return {key: _written(value) for key, value in settings.items()}

    def configuration(self) -> dict[str, str]:
        """Settings that may explain a difference between runs: arguments, generation, solver, prompt."""
        told = {name: _written(value) for name, value in self.model_arguments().items()}
        told |= {name: _written(value) for name, value in self.eval.task_args.items()}
        told["solver"] = " + ".join(step.solver for step in self.plan.steps)
        for step in self.plan.steps:
            passed = step.params if step.params_passed is None else step.params_passed
            for name, value in passed.items():
                is_prompt = step.solver.rpartition("/")[2] in _PROMPTS and name == "template"
                told["prompt" if is_prompt else f"{step.solver}.{name}"] = _written(value)
        return {name: value for name, value in told.items() if value not in ("", "null", "{}", "[]")}

    def model_arguments(self) -> dict[str, Any]:
        """Arguments of the model and of its generation."""
        return {**self.eval.model_args, **self.eval.model_generate_config, **self.plan.config}

    def model_settings(self) -> Settings:
        """What makes two runs of one model different."""
        return {("model", name): _written(value) for name, value in self.model_arguments().items()}


def is_nothing(value: Any) -> bool:
    """Whether a value stands for no score: Inspect writes NaN, or null in older logs, where a scorer cannot judge a sample or metadata are missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def is_log(path: Path) -> bool:
    """Whether the file's name, or what a ``.json`` file holds, is that of a log, in whichever order its keys stand."""
    if path.suffix != ".json":
        return path.suffix == ".eval"
    start = head(path)
    there = json_outline(start)
    if "eval" in there:
        return len(_EVAL_KEYS & set(there["eval"])) > 1
    # "eval" may stand behind samples that are longer than the head
    if not there or not _LOG_KEYS.issuperset(there) or path.stat().st_size <= len(start.encode()):
        return False
    try:
        _parsed(_JustEval, read_bytes(path), str(path))
    except InputError:
        return False
    return True


def read_log(path: Path, family: str | None) -> Log:
    """A log with its samples, whose metadata are sure to hold the field `family` if the log has it."""
    log = _from_archive(path, family) if path.suffix == ".eval" else _from_json(path)
    if log is None:
        log = _from_inspect(path)
    log.path = path
    try:
        log.created  # noqa: B018
    except OverflowError:
        raise InputError(f"{path}: the date {log.eval.created} is out of range. Make or fetch the log again.") from None
    log.samples = sorted(log.samples or [], key=attrgetter("epoch"))
    for sample in log.samples:
        _identify(sample)
    return log


def with_absent(log: Log) -> Log:
    """The log with the samples that it expects, but does not have, because its run did not end; as it is where it has no sample at all."""
    ids = log.eval.dataset.sample_ids
    if log.status == "success" or not log.samples or not isinstance(ids, list):
        return log
    ids = [one for one in ids if isinstance(one, int | str)]
    if len(ids) * log.n_epochs > _MOST_EXPECTED:
        return log
    there = {(str(sample.id), sample.epoch) for sample in log.samples}
    known = {str(sample.id): sample for sample in log.samples}  # the same sample in another epoch
    for epoch, ident in product(range(1, log.n_epochs + 1), ids):
        if (str(ident), epoch) not in there:
            sample = Sample(id=ident, epoch=epoch, is_absent=True)
            if other := known.get(str(ident)):
                sample.content, sample.metadata = other.content, other.metadata
            log.samples.append(sample)
    log.samples.sort(key=attrgetter("epoch"))
    return log


def whole_contents(path: Path, samples: Iterable[tuple[str, int]]) -> list[str | None]:
    """The hashes of what samples ask, by id and epoch, from an archive's whole samples, since their summaries cut the content short; None for a
    sample that is not in it."""
    with Archive(path) as archive:
        found: list[str | None] = []
        for name, epoch in samples:
            member = f"samples/{name}_epoch_{epoch}.json"
            if member not in archive:
                found.append(None)
                continue
            whole: Sample = _parsed(Sample, archive.read(member), f"{path}: {member}")
            _identify(whole)
            found.append(whole.content.item if whole.content else None)
    return found


def _identify(sample: Sample) -> None:
    """Put a hash in the place of what the sample asks."""
    asked, target = sample.input, sample.target
    if type(asked) is str and type(target) is str and not sample.choices:  # as below, but ten times as fast
        sample.content = _hashed(f"[{_quoted(asked)}, {_quoted(target)}, null]")
    elif asked is not None:
        sample.content = _content(asked, target, sample.choices)
    sample.input = sample.target = sample.choices = None


def _content(asked: Any, target: Any, choices: Any) -> Content:
    """A hash of an item. Choices count in any order, and a target that names one of them by letter as its text."""
    question = asked if type(asked) is str else _question(asked)
    if isinstance(choices, list) and choices:
        choice_by_letter = {chr(ord("A") + number): choice for number, choice in enumerate(choices[:26])}
        targets = target or [] if target is None or isinstance(target, list) else [target]
        target = sorted(str(choice_by_letter.get(str(one), one)) for one in targets)
        choices = sorted(map(str, choices))
    return _hashed(_encoded([question, target, choices or None]))


def _hashed(item: str) -> Content:
    is_cut = (_TRUNCATED in item or '"(' in item) and _CUT.search(item) is not None
    return Content(hashlib.blake2b(item.encode(), digest_size=8).hexdigest(), is_cut)


def _question(asked: Any) -> Any:
    """The input without what differs from run to run, such as the ids of its messages."""
    if not isinstance(asked, list):
        return asked
    messages = [(one.get("role"), one.get("content")) if isinstance(one, dict) else one for one in asked]
    return messages[0][1] if len(messages) == 1 and messages[0][0] == "user" else messages


def _written(value: Any) -> str:
    """A setting as text; a long one is cut, and stays different from others by a hash."""
    text = " ".join((value if isinstance(value, str) else json.dumps(value)).split())
    return text if len(text) <= 40 else f"{text[:24]}…{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _from_archive(path: Path, family: str | None) -> Log | None:
    with Archive(path) as archive:
        name = next((name for name in (_HEADER, _START) if name in archive), None)
        if name is None:
            raise InputError(f"{path}: not an Inspect log: it has neither {_HEADER} nor {_START}.")
        header = archive.read_json(name)
        if not _is_known(header, f"{path}: {name}"):
            return None
        log: Log = _parsed(Log, header, f"{path}: {name}")
        is_suspect = log.invalidated or _may_be_edited(archive)
        samples = _latest(_summaries(archive))
        without_summary = [
            name
            for name in archive.names
            if name not in samples and name.startswith("samples/") and name.endswith(".json")
        ]
        if is_suspect or family is not None:
            for name, summary in samples.items():
                samples[name] = _told(summary, archive, family, is_suspect=is_suspect)
        _add_endings(archive, samples)
        others: list[Sample] = [_parsed(Sample, archive.read_json(name), f"{path}: {name}") for name in without_summary]
        if others:
            samples = samples | _latest(others) | samples  # the summaries count, and come first
        log.samples = list(samples.values())
        return log


def _add_endings(archive: Archive, samples: dict[str, Sample]) -> None:
    """How the model's replies ended where a sample has no score and its summary does not say why."""
    without = {name: one for name, one in samples.items() if not one.error and not one.limit and one.lacks_reason}
    if len(without) < len(samples):  # else nothing was scored
        for name, sample in without.items():
            if name in archive:
                sample.output = _parsed(_Ending, archive.read_json(name), f"{archive.path}: {name}").output


def _latest(samples: Iterable[Sample]) -> dict[str, Sample]:
    """The samples, each once, by the archive's member that holds it: one that was run anew is written again, and the last writing counts."""
    return {f"samples/{sample.id}_epoch_{sample.epoch}.json": sample for sample in samples}


def _member(sample: Sample) -> str:
    return f"samples/{sample.id}_epoch_{sample.epoch}.json"


def _from_json(path: Path) -> Log | None:
    data = read_bytes(path)
    log: Log | None = _parsed(Log, data, str(path)) if _is_known(data, str(path)) else None
    if log:
        log.samples = list(_latest(log.samples or []).values())
    return log


def _from_inspect(path: Path) -> Log:
    """A log of a version that is not known here, by Inspect's own reader."""
    need("inspect_ai", "run", f"{path}: reading this version of Inspect's logs")
    _refuse_too_large_for_inspect(path)
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(str(path))
    except (ValueError, LookupError, TypeError, AssertionError, OSError) as error:
        told = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: the installed Inspect cannot read it ({told[:200]}). Update Inspect.") from None
    read: Log = _parsed(Log, log.model_dump_json().encode(), str(path))
    return read


def _refuse_too_large_for_inspect(path: Path) -> None:
    """Inspect's reader has no bounds: a log goes there only after all of it was unpacked and counted here."""
    if path.suffix == ".eval":
        with Archive(path) as archive:
            n_values = sum(count_json_values(archive.read_json(name)) for name in archive.names)
    else:
        n_values = count_json_values(read_bytes(path))
    if n_values > _MOST_FOR_INSPECT:
        raise InputError(
            f"{path}: is of a version that is not known here, and with {n_values:,} values too large to be read by Inspect safely. Update Howsure."
        )


def _is_known(data: bytes, where: str) -> bool:
    """Whether the version is one that is read here; a log without one is of the current version, as in Inspect."""
    first = _FIRST_VERSION.match(data)
    version = int(first[1]) if first else _parsed(_JustVersion, data, where).version
    return version in _KNOWN_VERSIONS


def _may_be_edited(archive: Archive) -> bool:
    """Whether the log was written anew after its run, as it must be for a score to be edited.

    Neither header nor summaries tell. But a run writes its start first and then the summaries in batches as samples
    complete, where Inspect's ``write_eval_log`` makes one batch of all, and a retry puts what it takes over before its start.
    """
    names = archive.names
    batches = (name for name in names if name.startswith(_JOURNAL))
    return names[0] != _START or next(batches, None) is None or next(batches, None) is None


def _summaries(archive: Archive) -> Iterable[Sample]:
    """Of a finished log in one member, of an unfinished one in the journal's numbered batches."""
    names = [_SUMMARIES]
    if _SUMMARIES not in archive:
        batches = {
            int(digits[1]): name
            for name in archive.names
            if (digits := re.fullmatch(rf"{_JOURNAL}(\d{{1,9}})\.json", name))
        }
        names = [batches[number] for number in sorted(batches)]
    parts = (_parsed(list[Sample], archive.read_json(name), f"{archive.path}: {name}") for name in names)
    return chain.from_iterable(parts)


def _told(summary: Sample, archive: Archive, family: str | None, *, is_suspect: bool) -> Sample:
    """The summary, or the whole sample where the summary leaves something untold that is needed."""
    lacks_family = family is not None and _is_cut_short((summary.metadata or {}).get(family))
    if not (is_suspect or lacks_family):
        return summary
    member = _member(summary)
    if not (lacks_family or _TOLD_IN_FULL.search(archive.read(member))):
        return summary
    sample: Sample = _parsed(Sample, archive.read_json(member), f"{archive.path}: {member}")
    return sample


def _is_cut_short(value: Any) -> bool:
    is_cut = isinstance(value, str) and (value.endswith("...") or value.startswith("Key removed from summary"))
    return value is None or is_cut


def _parsed(kind: Any, data: bytes, where: str) -> Any:
    """A JSON text as `kind`; what `kind` does not name is passed over without making objects of it."""
    with suppress(DecodeError, ValueError, RecursionError):
        return _decoder(kind).decode(data)
    # NaN, halves of letters and numbers as text are read as well, at a third of the speed
    from pydantic_core import from_json

    try:
        try:
            told = from_json(data)
        except ValueError:
            told = from_json(with_whole_letters(data))
        return convert(told, kind, strict=False)
    except DecodeError as error:
        fault = str(error)
    except (ValueError, RecursionError) as error:
        fault = f"Invalid JSON: {error}"
    raise InputError(f"{where}: not what Inspect writes ({fault}). Make or fetch the log again.")


@cache
def _decoder(kind: Any) -> Decoder[Any]:
    return Decoder(kind)
