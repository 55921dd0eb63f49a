"""Inspect AI's eval logs: every scored sample of every epoch is an attempt.

The rows come from the samples, never from the log's own reduced metrics, and are read without Inspect.
"""

from __future__ import annotations

import filecmp
import functools
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.sources._account import leave_out, saw
from howsure.sources._reading import files_below, read_each, uncollected, unread
from howsure.sources.inspect_format import Log, Sample, Settings, complete_contents, is_log, read_log
from howsure.tables import Attempts, Scores
from howsure.tables.metrics import is_higher_better, is_share

if TYPE_CHECKING:
    from howsure.sources import Progress

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "Inspect AI eval logs (.eval and .json), single files or folders"
OPTIONS = frozenset({"scorer", "family", "strict", "errors", "better"})
LAYOUTS = {"a log": frozenset({"version", "status", "eval", "plan", "results", "stats", "samples"})}

_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_FOLDED_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_COUNTED = {("track_the_stat", "max_length"): "length"}
"""Evals and scorers whose scores count something, and the field of the samples' metadata with the highest count there can be."""
_CANCELLED = ("CancelledError(", "Cancelled(")
_NUMBER = (int, float)
_SHOWN = 4  # places named one by one in a note; the rest are counted
_STATED = {"model": pl.String, "benchmark": pl.String, "score": pl.Float64, "se": pl.Float64, "n_items": pl.Int64}
_ROW = {
    "task": pl.String,
    "sample": pl.String,
    "epoch": pl.Int64,
    "score": pl.Float64,
    "family": pl.String,
    "seconds": pl.Float64,
    "item_digest": pl.String,
    "tokens": pl.Float64,
    "cost": pl.Float64,
    "limit": pl.String,
    "error": pl.String,
    "minutes": pl.Float64,
}
_MINUTES = dict.fromkeys(("human_minutes", "expert_minutes", "minutes")).keys()


def recognise(path: Path) -> str | None:
    """Why this is an Inspect log or a folder that holds one, or None."""
    if path.is_file():
        return "it is an Inspect log" if is_log(path) else None
    first = next((file for file in files_below(path) if is_log(file)), None) if path.is_dir() else None
    return f"it holds Inspect logs ({first.relative_to(path)})" if first else None


@uncollected()
def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    scorer: str | None = None,
    family: str | None = None,
    strict: bool = False,
    errors: str | None = None,
    better: str | None = None,
) -> Attempts | Scores:
    """The samples of all logs as attempts of the model at ``<eval>/<sample id>``, one for each epoch.

    Where logs of one eval have different questions under one id, as they do when samples are numbered after shuffling, a task
    is named by a hash of its content instead. ``item_digest`` is that hash: equal for the same item in another configuration.
    An item whose content changed between runs is not paired. What a run was configured with becomes further columns.

    ``scorer`` is the name of a scorer, or ``name.key`` where its values are dictionaries; ``eval=name`` chooses for one eval (several
    with commas); ``all`` reads each scorer as an eval of its own. Without it the first scorer of each eval counts, and each key of
    its values where they are dictionaries. ``better`` (higher, lower) is the direction of scores outside 0–1, which are taken as they are,
    where the scorer's name does not say it.
    ``family`` names a field of the samples' metadata that groups similar samples, as in Inspect's ``stderr(cluster=…)``.
    ``minutes`` comes from the metadata field human_minutes, expert_minutes or minutes, where samples have one.
    ``errors`` says what becomes of samples that ended in an error without a score: ``drop``, as Inspect does, or ``wrong``.
    ``divide_by`` brings numbers to 0–1 and leaves C, I, P, N and true or false alone.
    Where no log has samples, as when only headers were kept, the means that they state become scores.
    Other files of a folder, and logs that are damaged or lack the scorer, are skipped and named in the notes; ``strict`` stops at
    such a log.
    """
    if errors not in (None, "drop", "wrong"):
        raise OptionError.unknown("policy for errors", str(errors), ("drop", "wrong"))
    files, others = _files(paths)
    load = functools.partial(read_log, family=family)
    logs, skipped = read_each(files, load, strict=strict, progress=progress)
    notes = _Notes()
    saw(sum(len(log.samples or []) for log in logs))
    runs = _newest(sorted(logs, key=_age), notes)
    domains = _domains(runs)
    if not any(log.samples for log in runs):
        return _stated(runs, domains, [*skipped, *others], notes)
    numbered_anew, changed = _numbered_anew(runs, domains, notes)
    readings = [
        _Reading(
            log,
            domain,
            notes,
            is_by_content=domain in numbered_anew,
            changed=changed.get(domain, frozenset()),
            errors=errors,
            better=better,
        )
        for log, domain in zip(runs, domains, strict=True)
    ]
    frame = pl.concat(_frames(readings, scorer, family, divide_by, notes, strict=strict), how="diagonal_relaxed")
    _tell_repeats(runs, domains, notes)
    if frame.is_empty():
        raise InputError(f"{paths[0]}: no sample has a score. {' '.join([*skipped, *others, *notes.told()])}")
    numbered = _numbered(frame, notes)
    return Attempts(numbered, notes=[*skipped, *others, *notes.told()])


def _stated(logs: Sequence[Log], domains: Sequence[str], told: Sequence[str], notes: _Notes) -> Scores:
    """The mean of each log's first scorer that has one, for logs of which only the header was kept."""
    rows = []
    for log, domain in zip(logs, domains, strict=True):
        found = next((one for one in (log.results.scores if log.results else []) if one.mean is not None), None)
        if found is None or not 0 <= (found.mean or 0) <= 1:
            notes.count("{n} log{s} without samples and without a mean between 0 and 1 {were} left out", log.label)
            leave_out("of a log without samples and without a mean", 1)
            continue
        rows.append((log.eval.model, domain, found.mean, found.standard_error, log.n_items))
    saw(len(logs))
    if not rows:
        where = logs[0].path if logs else "the logs"
        raise InputError(f"{where}: no sample has a score. {' '.join([*told, *notes.told()])}")
    frame = pl.DataFrame(rows, schema=_STATED, orient="row")
    said = f"{len(rows):,} log{'s' if len(rows) > 1 else ''} without samples: the means that they state are read as scores."
    return Scores(frame, notes=[*told, said, *notes.told()])


def _files(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The logs, each once, and a note on the other files of the folders."""
    found: dict[Path, Path] = {}
    others: dict[Path, str] = {}
    for path in paths:
        below = list(files_below(path)) if path.is_dir() else [path]  # which may have been removed meanwhile
        logs = [file for file in below if file == path or is_log(file)]
        if not logs:
            raise InputError(f"{path}: holds no Inspect log (an .eval file, or a .json file that Inspect wrote).")
        found |= {file.resolve(): file for file in logs}
        others |= {file.resolve(): str(file.relative_to(path)) for file in below if file not in logs}
    named = [name for file, name in others.items() if file not in found]
    return list(found.values()), unread(named, "no Inspect log")


def _frames(
    readings: Sequence[_Reading],
    scorer: str | None,
    family: str | None,
    divide_by: float,
    notes: _Notes,
    *,
    strict: bool,
) -> list[pl.DataFrame]:
    """The rows of each log; one without the scorer that was asked for is noted, unless none has it or ``strict``."""
    frames: list[pl.DataFrame] = []
    faults: list[OptionError | InputError] = []
    for reading in readings:
        try:
            frames.append(reading.frame(scorer, family, divide_by))
        except (OptionError, _UnknownDirectionError) as error:
            if strict:
                raise
            faults.append(error)
            why = "without this scorer" if isinstance(error, OptionError) else "whose scores go beyond 0–1"
            how = (
                "--strict stops instead"
                if isinstance(error, OptionError)
                else "include with --higher-is-better or --lower-is-better"
            )
            notes.count(f"{{n}} log{{s}} {why} {{were}} left out ({how})", reading.label)
            leave_out(f"of a log {why}", reading.n_samples)
    if faults and not frames:
        raise faults[0]
    return frames


def _age(log: Log) -> tuple[datetime, float, str]:
    """Orders logs from old to new; of copies with one creation time, the one that was written last is the newest."""
    written = 0.0
    with suppress(OSError):  # removed meanwhile
        written = log.path.stat().st_mtime
    return log.created, written, str(log.path)


class _UnknownDirectionError(InputError):
    """Scores of any size, of which nothing says whether higher ones are better."""


class _Notes:
    """What happened to how many samples or logs, and where."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def count(self, what: str, where: str, n: int = 1) -> None:
        """`what` holds ``{n}`` for the number, and ``{s}`` and ``{were}``, which agree with it."""
        self._counts[what][where] += n

    def told(self) -> list[str]:
        return [self._sentence(what, places) for what, places in self._counts.items()]

    def _sentence(self, what: str, places: Counter[str]) -> str:
        total = places.total()
        shown = [place + (f" ({n:,})" if len(places) > 1 else "") for place, n in places.most_common(_SHOWN)]
        rest = f" and {len(places) - _SHOWN:,} more" if len(places) > _SHOWN else ""
        told = what.format(n=f"{total:,}", s="" if total == 1 else "s", were="was" if total == 1 else "were")
        return f"{told}: {', '.join(shown)}{rest}."


def _newest(logs: Sequence[Log], notes: _Notes) -> list[Log]:
    """Of logs with one task id, which are tries at one run, the newest."""
    newest: dict[str, Log] = {}
    for log in logs:
        run = log.eval.task_id or str(log.path)
        if run in newest:
            is_copy = False
            with suppress(OSError):  # removed meanwhile
                is_copy = filecmp.cmp(newest[run].path, log.path, shallow=False)
            why = "an identical copy" if is_copy else "a newer log of the same run"
            notes.count(f"{{n}} log{{s}} {{were}} left out because {why} is there", log.label)
            leave_out(f"of a run of which {why} is there", len(newest[run].samples or []))
        newest.pop(run, None)  # to keep the order
        newest[run] = log
    return list(newest.values())


def _domains(logs: Sequence[Log]) -> list[str]:
    """For each log the eval's name, with the settings in which it differs from others of that name; another seed is the same eval.

    A board of Track the Stat has the name that `howsure track` gives it.
    """
    by_task: defaultdict[str, list[Settings]] = defaultdict(list)
    for log in logs:
        by_task[log.eval.task].append(log.task_settings())
    differing = {
        task: [one for one in _differing(settings) if not re.search(r"(^|[._])seed$", one[1])]
        for task, settings in by_task.items()
    }
    return [log.board or _named(log.eval.task, log.task_settings(), differing[log.eval.task]) for log in logs]


def _numbered_anew(
    logs: Sequence[Log], domains: Sequence[str], notes: _Notes
) -> tuple[set[str], dict[str, frozenset[str]]]:
    """The evals in whose logs sample ids stand for different items, so that ids cannot pair them; in others, the items that changed."""
    by_domain: defaultdict[str, list[Log]] = defaultdict(list)
    for log, domain in zip(logs, domains, strict=True):
        by_domain[domain].append(log)
    found, changed = set(), {}
    for domain, runs in by_domain.items():
        is_shuffled = any(log.eval.dataset.shuffled for log in runs)
        if is_shuffled:
            for log in runs:
                complete_contents(log)
        conflicts, n_ids = _conflicts(runs)
        if conflicts and (is_shuffled or len(conflicts) > n_ids / 2):
            found.add(domain)
            notes.count("{n} log{s} {were} paired by content because sample ids differ between runs", domain, len(runs))
        elif conflicts:
            changed[domain] = frozenset(conflicts)
            notes.count(
                "{n} item{s} {were} not paired because the content changed between runs", domain, len(conflicts)
            )
    return found, changed


def _conflicts(logs: Sequence[Log]) -> tuple[set[str], int]:
    """The sample ids whose content is not the same in all logs, and the number of ids."""
    item_by_id: dict[str, str] = {}
    conflicts = set()
    for log in logs:
        for sample in log.samples or []:
            if sample.content and not sample.content.is_cut:
                name = str(sample.id)
                if item_by_id.setdefault(name, sample.content.item) != sample.content.item:
                    conflicts.add(name)
    return conflicts, len(item_by_id)


def _differing(settings: Sequence[Settings]) -> list[tuple[str, str]]:
    keys = dict.fromkeys(key for one in settings for key in one)
    return [key for key in keys if len({one.get(key) for one in settings}) > 1]


def _named(task: str, settings: Settings, differing: Sequence[tuple[str, str]]) -> str:
    told = ", ".join(f"{key[1]}={settings[key]}" for key in differing if key in settings)
    return f"{task} ({told})" if told else task


def _tell_repeats(logs: Sequence[Log], domains: Sequence[str], notes: _Notes) -> None:
    repeats: defaultdict[tuple[str, str], list[Log]] = defaultdict(list)
    for log, domain in zip(logs, domains, strict=True):
        repeats[log.eval.model, domain].append(log)
    for (model, domain), runs in repeats.items():
        if len(runs) > 1:
            settings = ", ".join(name for _, name in _differing([run.model_settings() for run in runs]))
            where = f"{domain} on {model}" + (f", though they differ in {settings}" if settings else "")
            notes.count("{n} repeated run{s} {were} taken as further attempts", where, len(runs) - 1)


class _Reading:
    """One log, on its way to rows."""

    def __init__(
        self,
        log: Log,
        domain: str,
        notes: _Notes,
        *,
        is_by_content: bool,
        changed: frozenset[str] = frozenset(),
        errors: str | None = None,
        better: str | None = None,
    ) -> None:
        self.errors, self._better, self._changed = errors, better, changed
        self._log, self._domain, self._notes, self._is_by_content = log, domain, notes, is_by_content
        self._samples = log.samples or []
        contents = [sample.content.item for sample in self._samples if sample.content]
        if len(set(contents)) == len(contents):
            self._n_ids, n_items = dict.fromkeys(contents, 1), len(contents)
        else:
            items = {(str(sample.id), sample.content.item) for sample in self._samples if sample.content}
            self._n_ids, n_items = Counter(item for _, item in items), len(items)
        # where all samples have one prompt, what they ask lies elsewhere, such as in their files
        self._is_told_apart = len(self._n_ids) > 1 or n_items < 3
        self.label = f"{domain} on {log.eval.model}"
        self.n_samples = len(self._samples)

    def frame(self, scorer: str | None, family: str | None, divide_by: float) -> pl.DataFrame:
        """The samples that count, once for each score that is read."""
        chosen = self._choose(scorer)
        if self._log.status != "success":
            where = f"{self._log.label}, {self._log.status}"
            self._notes.count("{n} log{s} did not end in success, and the complete samples count", where)
        if not self._samples:
            self._notes.count("{n} log{s} without samples {were} left out", self._log.label)
        saw((len(chosen) - 1) * self.n_samples)
        frames = []
        for name, (one, key) in chosen.items():
            domain = self._domain if len(chosen) == 1 else f"{self._domain} [{name}]"
            try:
                frames.append(self._scored(one, key, domain, family, divide_by))
            except InputError as error:
                if len(chosen) == 1:
                    raise
                leave_out("of a scorer without numbers", self._n_open)
                self._notes.count("{n} scorer{s} {were} left out", f"{name} ({error})")
        if not frames:
            raise InputError(f"{self._log.path}: no scorer gives numbers.")
        return pl.concat(frames, how="diagonal_relaxed")

    def _scored(self, scorer: str, key: str | None, domain: str, family: str | None, divide_by: float) -> pl.DataFrame:
        """The samples under one scorer."""
        self._n_open = self.n_samples  # samples whose fate is not yet in the account
        given = [
            _given(sample.scores[scorer].value, key) if sample.scores and scorer in sample.scores else None
            for sample in self._samples
        ]
        scale = self._scale(scorer, key, given, divide_by)
        values = [
            value
            if type(value) is str
            and sample.scores
            and not (sample.error or sample.invalidation or sample.scores[scorer].history)
            else self._value(sample, value, scorer)
            for sample, value in zip(self._samples, given, strict=True)
        ]
        samples = [sample for sample, value in zip(self._samples, values, strict=True) if value is not None]
        self._n_open = len(samples)
        highest = self._highest(samples, scorer, divide_by)
        is_free = "scale" in scale
        scores = [
            _WORDS[value]
            if type(value) is str and value in _WORDS
            else self._number(sample, value, most, is_free=is_free)
            for sample, value, most in zip(
                samples, (value for value in values if value is not None), highest, strict=True
            )
        ]
        ids = [_visible(sample.id) if type(sample.id) is str else str(sample.id) for sample in samples]
        items = [self._item(sample) for sample in samples]
        names = ids
        if self._is_by_content or self._changed:
            names = [
                item if item and (self._is_by_content or str(sample.id) in self._changed) else name
                for sample, item, name in zip(samples, items, ids, strict=True)
            ]
        spent = [self._spent(sample) for sample in samples]
        has_none = _MINUTES.isdisjoint
        columns: dict[str, list[Any]] = {
            "task": [f"{domain}/{name}" for name in names],
            "sample": ids,
            "epoch": [sample.epoch for sample in samples],
            "score": scores,
            "family": [self._family(sample, family) for sample in samples] if family else [None] * len(samples),
            "seconds": [sample.total_time for sample in samples],
            "item_digest": items,
            "tokens": [tokens for tokens, _ in spent],
            "cost": [cost for _, cost in spent],
            "limit": [_limit(sample.limit) if sample.limit else None for sample in samples],
            "error": [_error(sample.error) if sample.error else None for sample in samples],
            "minutes": [
                None if not sample.metadata or has_none(sample.metadata) else _minutes(sample.metadata)
                for sample in samples
            ],
        }
        frame = pl.DataFrame(columns, schema=_ROW)
        if divide_by == 1 and self.errors != "wrong":
            self._tell_other_mean(scorer, key, frame)
        frame = frame.with_columns(
            subject=pl.lit(self._log.eval.model),
            kind=pl.lit("model"),
            domain=pl.lit(domain),
            date=pl.lit(self._log.created.date()),
            log=pl.lit(self._log.path.name),
            source=pl.lit(self._log.path.name),
            scorer=pl.lit(scorer if key is None else f"{scorer}.{key}"),
        )
        known = {column.name for column in Attempts.columns}
        config = {f"arg_{k}" if k in known else k: text for k, text in self._log.configuration().items()}
        return frame.with_columns(pl.lit(text).alias(k) for k, text in (config | scale).items())

    def _tell_other_mean(self, scorer: str, key: str | None, rows: pl.DataFrame) -> None:
        """Say where the log itself states another mean, as it does when its reducer takes the best of several epochs."""
        results = [one for one in self._log.results.scores if one.scorer == scorer] if self._log.results else []
        if key is not None:
            results = [one for one in results if one.name == key]
        stated = [(one.mean, one.reducer) for one in results if one.mean is not None]
        if not stated or rows.is_empty() or self._log.eval.task.rpartition("/")[2] in {task for task, _ in _COUNTED}:
            return
        by_item = rows.group_by("task").agg(pl.col("score").mean())["score"]
        mean = math.fsum(by_item) / len(by_item)
        if any(abs(mean - theirs) <= 1e-9 * max(1.0, abs(mean)) for theirs, _ in stated):
            return
        theirs, reducer = stated[0]
        by = f" with the reducer {reducer}" if isinstance(reducer, str) else ""
        self._notes.count(
            "The mean that Inspect states in {n} log{s} is not the one here, which is over all scored samples and epochs",
            f"{self.label} ({theirs:.4g}{by}; here {mean:.4g})",
        )

    def _scale(self, scorer: str, key: str | None, values: Sequence[Any], divide_by: float) -> dict[str, str]:
        """The columns scale and better, where scores are not shares of which higher ones are better."""
        name = scorer if key is None else f"{scorer}.{key}"
        is_higher = is_higher_better(name) if self._better is None else self._better == "higher"
        told = {"better": "lower"} if is_higher is False else {}
        numbers = [v for v in values if isinstance(v, _NUMBER) and not isinstance(v, bool) and abs(v) < 2**53]
        is_counted = self._log.eval.task.rpartition("/")[2] in {task for task, _ in _COUNTED}
        if divide_by != 1 or is_counted or not numbers or (min(numbers) >= 0 and max(numbers) <= 1):
            if told and self._better is None:
                self._notes.count(
                    "{n} log{s} of which lower scores are better (--higher-is-better says otherwise)",
                    f"{self._log.eval.task} with {name}",
                )
            return told
        if self._better is None and (is_higher is None or is_share(name)):
            among = zip(self._samples, values, strict=True)
            sample, value = next((s, v) for s, v in among if isinstance(v, _NUMBER) and not 0 <= v <= 1)
            raise _UnknownDirectionError(
                f"{self._log.path}: sample {sample.id!r} (epoch {sample.epoch}): score {value:g} is not between 0 and 1 ({name} goes from "
                f"{min(numbers):g} to {max(numbers):g}). Pass --percent, --divide-by with the highest score, or, to analyse the numbers as "
                "they are, --higher-is-better or --lower-is-better."
            )
        direction = "lower" if is_higher is False else "higher"
        self._notes.count(
            f"{{n}} log{{s}} with scores as they are ({direction} is better)", f"{self._log.eval.task} with {name}"
        )
        return {**told, "scale": "free"}

    def _spent(self, sample: Sample) -> tuple[float | None, float | None]:
        """Tokens and cost."""
        usage = sample.model_usage
        if not usage:
            return None, None
        if own := usage.get(self._log.eval.model):
            return own.total_tokens, own.total_cost
        return _sum(one.total_tokens for one in usage.values()), _sum(one.total_cost for one in usage.values())

    def _item(self, sample: Sample) -> str | None:
        """What identifies the item: its content, and its id where content does not tell the log's samples apart."""
        content = sample.content
        if content is None:
            return None
        is_repeat = self._n_ids[content.item] > 1
        if self._is_by_content and (is_repeat or content.is_cut):
            self._count("{n} sample{s} {were} taken as repeats of a sample with the same content")
            return content.item
        if content.is_cut or (is_repeat and not self._is_told_apart):
            return f"{content.item}-{sample.id}"
        return content.item

    def _choose(self, wanted: str | None) -> dict[str, tuple[str, str | None]]:
        """The scorers, and the keys of their values, to use, by the name that the result has."""
        by_scorer = self._keys_by_scorer()
        choices = {
            name if key is None else f"{name}.{key}": (name, key) for name in by_scorer for key in by_scorer[name]
        }
        if not choices:
            return {"": ("", None)}
        if wanted == "all":
            return choices
        wanted = self._own_choice(wanted)
        chosen = wanted or next(iter(by_scorer))
        several = {name: one for name, one in choices.items() if one[0] == chosen and name != chosen}
        if chosen not in choices and not several:
            raise OptionError.unknown(f"scorer in {self._log.path}", chosen, choices)
        if not wanted and len(by_scorer) > 1:
            told = f"{self._log.eval.task} with {chosen} (of {', '.join(choices)})"
            self._notes.count("{n} log{s} with several scorers {were} read with the first; choose with --scorer", told)
        return {chosen: choices[chosen]} if chosen in choices else several

    def _own_choice(self, wanted: str | None) -> str | None:
        """Which scorer was asked for in this eval: ``eval=scorer`` for some evals, or one name for all."""
        if not wanted or "=" not in wanted:
            return wanted
        pairs = dict(part.partition("=")[::2] for part in wanted.split(","))
        names = (self._log.eval.task, self._log.eval.task.rpartition("/")[2], self._domain)
        return next((pairs[name] for name in names if name in pairs), None)

    def _keys_by_scorer(self) -> dict[str, dict[str | None, None]]:
        """Each scorer in the log's order, with the keys of its values; None is the key of a plain value."""
        ordered = [one.scorer for one in self._log.results.scores] if self._log.results else []
        found: dict[str, dict[str | None, None]] = {name: {} for name in ordered if name}
        for sample in self._samples:
            for name, score in (sample.scores or {}).items():
                keys = found.setdefault(name, {})
                if isinstance(score.value, dict):
                    keys.update(dict.fromkeys(score.value))
                elif None not in keys and not _is_nothing(score.value):
                    keys[None] = None
        return {name: keys for name, keys in found.items() if keys}

    def _value(self, sample: Sample, value: Any, scorer: str) -> Any:
        """What the scorer gave, if the sample counts; why it does not is noted."""
        if sample.invalidation:
            leave_out("invalidated")
            return self._count("{n} sample{s} {were} invalidated and left out")
        if sample.error:
            if _message(sample.error).startswith(_CANCELLED):
                leave_out("cancelled")
                return self._count("{n} sample{s} {were} cancelled and left out")
            if _is_nothing(value) and self.errors == "wrong":
                self._count("{n} sample{s} errored and {were} counted as wrong (--errors drop leaves them out)")
                return 0.0
            if _is_nothing(value):
                leave_out("ended in an error (--errors wrong counts them as wrong)")
                return self._count("{n} sample{s} errored and {were} left out")
            self._count("{n} sample{s} errored but {were} scored, which counts as it does in Inspect")
        elif _is_nothing(value):
            leave_out("no score")
            return self._count("{n} sample{s} {were} unscored and left out")
        if sample.scores and scorer in sample.scores and sample.scores[scorer].history:
            self._count("{n} sample{s} {were} edited, and the edited score counts")
        return value

    def _count(self, what: str) -> None:
        self._notes.count(what, self.label)

    def _highest(self, samples: Sequence[Sample], scorer: str, divide_by: float) -> list[float]:
        """What each score is divided by: as asked for, or else the highest count that the sample allows."""
        most = [divide_by] * len(samples)
        counted = _COUNTED.get((self._log.eval.task.rpartition("/")[2], scorer.rpartition("/")[2]))
        if counted is None or divide_by != 1:
            return most
        for place, sample in enumerate(samples):
            highest = (sample.metadata or {}).get(counted)
            if isinstance(highest, int) and highest >= 1:
                self._count("{n} score{s} of Track the Stat {were} read as the share of correct turns")
                most[place] = float(highest)
        return most

    def _number(self, sample: Sample, value: Any, divide_by: float, *, is_free: bool) -> float:
        """As Inspect's ``value_to_float``, but what that takes as 0 with a warning is refused."""
        if isinstance(value, bool):
            return float(value)
        word = _WORDS.get(value, _FOLDED_WORDS.get(value.lower())) if isinstance(value, str) else None
        if word is not None:
            return word
        number = _float(value) if isinstance(value, str) else value
        if not isinstance(number, int | float):
            reason = "is not one number, nor C, I, P or N. Choose another scorer with --scorer"
        elif isinstance(number, float) and not math.isfinite(number):
            reason = "is not a finite number. Correct the scorer, or choose another with --scorer"
        elif not is_free and not 0 <= number <= divide_by:
            reason = f"is not between 0 and {divide_by:g}. Pass --percent, or --divide-by with the highest score"
        else:
            return number / divide_by
        where = f"{self._log.path}: sample {sample.id!r} (epoch {sample.epoch})"
        raise InputError(f"{where}: score {json.dumps(value)[:60]} {reason}.")

    def _family(self, sample: Sample, name: str) -> str:
        metadata = sample.metadata or {}
        value = metadata.get(name)
        text = " ".join(str(value).split())
        if not text or _is_nothing(value) or isinstance(value, list | dict):
            raise InputError(
                f"{self._log.path}: sample {sample.id!r} has no text or number {name!r} in its metadata to use as family. "
                f"Its fields: {', '.join(metadata) or 'none'}."
            )
        return text


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum of the numbers, if there are any."""
    numbers = [one for one in values if one is not None]
    return sum(numbers) if numbers else None


def _given(value: Any, key: str | None) -> Any:
    """What a scorer gave, or the part of it under a key."""
    return value if key is None else value.get(key) if isinstance(value, dict) else None


def _minutes(metadata: dict[str, Any]) -> float | None:
    """What an expert needs for the task, where the sample's metadata say it."""
    for name in _MINUTES:
        value = metadata.get(name)
        number = _float(value) if isinstance(value, str) else value
        if isinstance(number, _NUMBER) and not isinstance(number, bool) and 0 < number < math.inf:
            return float(number)
    return None


def _is_nothing(value: Any) -> bool:
    """Inspect writes NaN, or null in older logs, where a scorer cannot judge a sample or metadata are missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _limit(limit: Any) -> str | None:
    """The limit that ended a sample."""
    kind = limit.get("type") if isinstance(limit, dict) else limit
    return str(kind) if kind else None


def _error(error: Any) -> str | None:
    """What an error says, in one short line."""
    return " ".join(_message(error).split())[:200] or None


def _message(error: Any) -> str:
    return str(error.get("message", "")) if isinstance(error, dict) else str(error or "")


def _float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _visible(text: str) -> str:
    """An id, in quotes where it ends in space, which a table refuses."""
    return text if text == text.rstrip() else repr(text)


def _numbered(frame: pl.DataFrame, notes: _Notes) -> pl.DataFrame:
    """The rows with attempts 1, 2, … in the order of runs and epochs."""
    attempt = pl.int_range(1, pl.len() + 1).over("subject", "task")
    gaps = frame.group_by("subject", "domain", "task", "source").agg(is_gappy=pl.col("epoch").max() > pl.len())
    places = gaps.filter("is_gappy").group_by("subject", "domain").len().sort("subject", "domain")
    for subject, domain, n in places.rows():
        notes.count(
            "The attempts at {n} task{s} were renumbered because epochs are missing", f"{domain} on {subject}", n
        )
    numbered = frame.with_columns(attempt=attempt)
    return numbered.drop(
        name
        for name in ("family", "seconds", "item_digest", "tokens", "cost", "limit", "error", "minutes")
        if numbered[name].null_count() == len(numbered)
    )
