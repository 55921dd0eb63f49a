"""Inspect AI's eval logs: every scored sample of every epoch is an attempt.

The rows come from the samples, never from the log's own reduced metrics, and are read without Inspect.
"""

from __future__ import annotations

import filecmp
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.sources._reading import files_below, leave_out, read_each, saw, uncollected, unread
from howsure.sources.inspect_format import Log, Settings, is_log, read_log, whole_contents, with_absent
from howsure.sources.inspect_samples import COUNTED_EVALS, Options, SampleTable, ScoreColumn, UnknownDirectionError
from howsure.tables import Attempts, Scores

if TYPE_CHECKING:
    from howsure.sources import Progress

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "Inspect AI eval logs (.eval and .json), single files or folders"
OPTIONS = frozenset({"scorer", "family", "strict", "better"})
LAYOUTS = {"a log": frozenset({"version", "status", "eval", "plan", "results", "stats", "samples"})}

_SHOWN = 4  # places named one by one in a note; the rest are counted
_STATED = {"model": pl.String, "benchmark": pl.String, "score": pl.Float64, "se": pl.Float64, "n_items": pl.Int64}
_MAY_BE_EMPTY = (
    "outcome",
    "reason",
    "scorer",
    "family",
    "seconds",
    "item_digest",
    "tokens",
    "cost",
    "limit",
    "error",
    "minutes",
)


def recognise(path: Path) -> str | None:
    """Why this is an Inspect log or a folder that holds one, or None."""
    if path.is_file():
        return "it is an Inspect log" if is_log(path) else None
    first = next((file for file in files_below(path) if is_log(file)), None) if path.is_dir() else None
    return f"it contains Inspect logs ({first.relative_to(path)})" if first else None


@uncollected()
def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    scorer: str | None = None,
    family: str | None = None,
    strict: bool = False,
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
    Samples without a score are attempts as well, and so are those that the header of an unfinished log announces and that are not in it.
    ``divide_by`` brings numbers to 0–1 and leaves C, I, P, N and true or false alone.
    Where no log has samples, as when only headers were kept, the means that they state become scores.
    Other files of a folder, and logs that are damaged or lack the scorer, are skipped and named in the notes; ``strict`` stops at
    such a log.
    """
    files, others = _files(paths)
    options = Options(scorer=scorer, family=family, divide_by=divide_by, better=better)

    def load(path: Path) -> SampleTable:
        return SampleTable(with_absent(read_log(path, family=family)), options)

    tables, skipped = read_each(files, load, strict=strict, progress=progress)
    notes = _Notes()
    saw(sum(table.n_samples for table in tables))
    runs = _newest(sorted(tables, key=_age), notes)
    logs = [table.log for table in runs]
    domains = _domains(logs)
    if not any(table.n_samples for table in runs):
        return _stated(logs, domains, [*skipped, *others], notes)
    numbered_anew, changed = _numbered_anew(runs, domains, notes)
    frames = []
    faults: list[OptionError | InputError] = []
    for table, domain in zip(runs, domains, strict=True):
        is_anew, own = domain in numbered_anew, changed.get(domain, frozenset())
        rows = _Rows(table, domain, notes, options, is_by_content=is_anew, changed=own)
        try:
            frames.append(rows.frame())
        except (OptionError, UnknownDirectionError) as error:
            if strict:
                raise
            faults.append(error)
            is_option = isinstance(error, OptionError)
            why = "without this scorer" if is_option else "whose scores go beyond 0–1"
            how = "--strict stops instead" if is_option else "include with --higher-is-better or --lower-is-better"
            notes.count(f"{{n}} log{{s}} {why} {{were}} excluded ({how})", rows.label)
            leave_out(f"of a log {why}", table.n_samples)
    if faults and not frames:
        raise faults[0]
    frame = pl.concat(frames, how="diagonal_relaxed")
    _tell_repeats(logs, domains, notes)
    if frame["score"].count() == 0:
        said = [pl.col(name) for name in ("reason", "error", "limit") if name in frame.columns]
        told = frame.select(pl.coalesce(*said).drop_nulls().mode().first()).item() if said else None
        most = f" (most often: {told})" if told else ""
        raise InputError(f"{paths[0]}: no sample has a score{most}. {' '.join([*skipped, *others, *notes.told()])}")
    return Attempts(_numbered(frame, notes), notes=[*skipped, *others, *notes.told()])


def _stated(logs: Sequence[Log], domains: Sequence[str], told: Sequence[str], notes: _Notes) -> Scores:
    """The mean of each log's first scorer that has one, for logs of which only the header was kept."""
    rows = []
    for log, domain in zip(logs, domains, strict=True):
        found = next((one for one in (log.results.scores if log.results else []) if one.mean is not None), None)
        if found is None or not 0 <= (found.mean or 0) <= 1:
            notes.count("{n} log{s} without samples and without a mean between 0 and 1 {were} excluded", log.label)
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
            raise InputError(f"{path}: contains no Inspect log (an .eval file, or a .json file that Inspect wrote).")
        found |= {file.resolve(): file for file in logs}
        others |= {file.resolve(): str(file.relative_to(path)) for file in below if file not in logs}
    named = [name for file, name in others.items() if file not in found]
    return list(found.values()), unread(named, "no Inspect log")


def _age(table: SampleTable) -> tuple[datetime, float, str]:
    """Orders logs from old to new; of copies with one creation time, the one that was written last is the newest."""
    written = 0.0
    with suppress(OSError):  # removed meanwhile
        written = table.log.path.stat().st_mtime
    return table.log.created, written, str(table.log.path)


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


def _newest(tables: Sequence[SampleTable], notes: _Notes) -> list[SampleTable]:
    """Of logs with one task id, which are tries at one run, the newest."""
    newest: dict[str, SampleTable] = {}
    for table in tables:
        log = table.log
        run = log.eval.task_id or str(log.path)
        if run in newest:
            is_copy = False
            with suppress(OSError):  # removed meanwhile
                is_copy = filecmp.cmp(newest[run].log.path, log.path, shallow=False)
            why = "an identical copy" if is_copy else "a newer log of the same run"
            notes.count(f"{{n}} log{{s}} {{were}} excluded because {why} is there", newest[run].log.label)
            leave_out(f"of a run of which {why} is there", newest[run].n_samples)
        newest.pop(run, None)  # to keep the order
        newest[run] = table
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
    tables: Sequence[SampleTable], domains: Sequence[str], notes: _Notes
) -> tuple[set[str], dict[str, frozenset[str]]]:
    """The evals in whose logs sample ids stand for different items, so that ids cannot pair them; in others, the items that changed."""
    by_domain: defaultdict[str, list[SampleTable]] = defaultdict(list)
    for table, domain in zip(tables, domains, strict=True):
        by_domain[domain].append(table)
    found, changed = set(), {}
    for domain, runs in by_domain.items():
        is_shuffled = any(table.log.eval.dataset.shuffled for table in runs)
        if is_shuffled:
            for table in runs:
                _complete_items(table)
        columns = ("id", "item", "is_cut")
        told = pl.concat([pl.DataFrame([table.samples[name] for name in columns]) for table in runs])
        by_id = told.filter(~pl.col("is_cut")).drop_nulls("item").group_by("id").agg(n=pl.col("item").n_unique())
        conflicts = by_id.filter(pl.col("n") > 1)["id"].to_list()
        if conflicts and (is_shuffled or len(conflicts) > len(by_id) / 2):
            found.add(domain)
            notes.count("{n} log{s} {were} paired by content because sample ids differ between runs", domain, len(runs))
        elif conflicts:
            changed[domain] = frozenset(conflicts)
            notes.count(
                "{n} item{s} {were} not paired because the content changed between runs", domain, len(conflicts)
            )
    return found, changed


def _complete_items(table: SampleTable) -> None:
    """Take the hashes from the whole samples of a log where their summaries cut the content short."""
    is_cut = table.samples["is_cut"]
    if not is_cut.any() or table.log.path.suffix != ".eval":  # a JSON file holds whole samples
        return
    cut = table.samples.filter(is_cut).select("id", "epoch").rows()
    items = table.samples["item"].to_list()
    for place, item in zip(is_cut.arg_true(), whole_contents(table.log.path, cut), strict=True):
        items[place] = item
    whole = pl.Series("item", items, pl.String)
    samples = table.samples.with_columns(whole, is_cut=pl.lit(value=False))
    known = pl.col("item").drop_nulls().first().over("id")  # of absent samples, what they ask in another epoch
    table.samples = samples.with_columns(pl.col("item").fill_null(known))


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


class _Rows:
    """One log, on its way to rows."""

    def __init__(
        self,
        table: SampleTable,
        domain: str,
        notes: _Notes,
        options: Options,
        *,
        is_by_content: bool,
        changed: frozenset[str],
    ) -> None:
        self._table, self._log, self._domain = table, table.log, domain
        self._notes, self._options = notes, options
        self._is_by_content, self._changed = is_by_content, changed
        self.label = f"{domain} on {table.log.eval.model}"

    def frame(self) -> pl.DataFrame:
        """The samples that count, once for each score that is read."""
        table, notes = self._table, self._notes
        if table.fault:
            raise table.fault
        if table.several:
            notes.count(
                "{n} log{s} with several scorers {were} read with the first; choose with --scorer", table.several
            )
        if self._log.status != "success":
            where = f"{self._log.label}, {self._log.status}"
            notes.count("{n} log{s} did not end in success, and the complete samples count", where)
        if not table.n_samples:
            notes.count("{n} log{s} without samples {were} excluded", self._log.label)
        saw((len(table.scores) - 1) * table.n_samples)
        samples = self._named()
        frames = []
        for name, column in table.scores.items():
            leave_out("invalidated", column.n_invalid)
            for told, where in column.logs:
                notes.count(told, where)
            for told, n in column.counts.items():
                notes.count(told, self.label, n)
            if column.fault is None:
                domain = self._domain if len(table.scores) == 1 else f"{self._domain} [{name}]"
                frames.append(self._scored(samples, column, domain))
            elif len(table.scores) == 1:
                raise column.fault
            else:
                leave_out("of a scorer without numbers", table.n_samples - column.n_invalid)
                notes.count("{n} scorer{s} {were} excluded", f"{name} ({column.fault})")
        if not frames:
            raise InputError(f"{self._log.path}: no scorer gives numbers.")
        return pl.concat(frames, how="diagonal_relaxed")

    def _named(self) -> pl.LazyFrame:
        """The samples with what identifies the item: its content, and its id where content does not tell the log's samples apart."""
        samples = self._table.samples
        items = samples["item"].drop_nulls()
        is_repeat, is_told_apart = pl.lit(value=False), True
        if items.n_unique() < len(items):  # else every item is there once
            pairs = samples.select("id", "item").drop_nulls().unique()
            n_ids = pairs.group_by("item").len()
            is_repeat = pl.col("item").is_in(n_ids.filter(pl.col("len") > 1)["item"].implode())
            # where all samples have one prompt, what they ask lies elsewhere, such as in their files
            is_told_apart = len(n_ids) > 1 or len(pairs) < 3
        item, is_vague = pl.col("item"), pl.col("is_cut") | is_repeat
        sample = pl.col("sample" if "sample" in samples.columns else "id")
        if self._is_by_content:
            digest, name = item, pl.coalesce(item, sample)
        else:
            is_joined = pl.col("is_cut") | (is_repeat & (not is_told_apart))
            digest = pl.when(is_joined).then(item + "-" + pl.col("id")).otherwise(item)
            is_changed = pl.col("id").is_in([*self._changed]) & item.is_not_null()
            name = pl.when(is_changed).then(digest).otherwise(sample) if self._changed else sample
        is_vague = is_vague & item.is_not_null()
        made = {"sample": sample, "item_digest": digest, "#name": name, "#is_vague": is_vague}
        return samples.lazy().with_columns(**made).drop("id", "item", "is_cut")

    def _scored(self, samples: pl.LazyFrame, column: ScoreColumn, domain: str) -> pl.DataFrame:
        """The samples that count under one score."""
        assert column.scores is not None  # as there is no fault
        log = self._log
        told = {
            "subject": log.eval.model,
            "kind": "model",
            "domain": domain,
            "date": log.created.date(),
            "log": log.path.name,
            "source": log.path.name,
            "scorer": column.label or None,
        }
        known = {one.name for one in Attempts.columns}
        config = {f"arg_{k}" if k in known else k: text for k, text in log.configuration().items()}
        frame = (
            samples.with_columns(
                column.scores,
                (pl.lit(f"{domain}/") + pl.col("#name")).alias("task"),
                *(pl.lit(value).alias(name) for name, value in told.items()),
                *([] if column.endings is None else column.endings.get_columns()),
            )
            .with_columns(pl.lit(text).alias(k) for k, text in (config | column.scale).items())
            .collect()
        )
        if column.endings is not None:
            frame = self._kept(frame.filter(frame.drop_in_place("is_kept")))
        is_vague, names = frame.drop_in_place("#is_vague"), frame.drop_in_place("#name")
        if self._is_by_content and (n := int(is_vague.sum())):
            self._notes.count("{n} sample{s} {were} taken as repeats of a sample with the same content", self.label, n)
        if self._options.divide_by == 1:
            is_scored = frame["score"].is_not_null()
            self._tell_other_mean(column, names.filter(is_scored), frame["score"].drop_nulls())
        return frame

    def _kept(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The samples without those that are absent and of which nobody knows what they ask, where items are told apart by that."""
        is_told_apart = pl.lit(self._is_by_content) | pl.col("sample").is_in([*self._changed])
        is_lost = ((pl.col("outcome") == "absent") & pl.col("item_digest").is_null() & is_told_apart).fill_null(False)
        if n := int(frame.select(is_lost.sum()).item()):
            leave_out("absent, and nothing says what it asks", n)
            self._notes.count("{n} sample{s} {were} expected but absent, and nothing says what they ask", self.label, n)
        return frame.filter(~is_lost)

    def _tell_other_mean(self, column: ScoreColumn, names: pl.Series, scores: pl.Series) -> None:
        """Say where the log itself states another mean, as it does when its reducer takes the best of several epochs."""
        results = [one for one in self._log.results.scores if one.scorer == column.scorer] if self._log.results else []
        if column.key is not None:
            results = [one for one in results if one.name == column.key]
        stated = [(one.mean, one.reducer) for one in results if one.mean is not None]
        if not stated or scores.is_empty() or self._log.eval.task.rpartition("/")[2] in COUNTED_EVALS:
            return
        by_item = scores
        if names.n_unique() < len(names):
            by_item = pl.DataFrame([names, scores]).group_by("#name").agg(pl.col("score").mean())["score"]
        mean = math.fsum(by_item) / len(by_item)
        if any(abs(mean - theirs) <= 1e-9 * max(1.0, abs(mean)) for theirs, _ in stated):
            return
        theirs, reducer = stated[0]
        by = f" with the reducer {reducer}" if isinstance(reducer, str) else ""
        self._notes.count(
            "The mean that Inspect states in {n} log{s} is not the one here, which is over all scored samples and epochs",
            f"{self.label} ({theirs:.4g}{by}; here {mean:.4g})",
        )


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
        name for name in _MAY_BE_EMPTY if name in numbered.columns and numbered[name].null_count() == len(numbered)
    )
