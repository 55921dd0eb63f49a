"""EleutherAI's lm-evaluation-harness: aggregates (``results_<date>.json``) and samples (``samples_<task>_<date>.jsonl``).

Aggregates become Scores, samples become Attempts. The harness calls a value "metric,filter", such as
"exact_match,strict-match", and writes every sample once for each filter.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.sources import Progress
from howsure.sources._lm_eval_results import (
    Choice,
    Results,
    is_higher_better,
    is_results,
    load_results,
    read_scores,
    unsanitised,
)
from howsure.sources._reading import files_below, keys, leave_out, number_attempts, read_each, saw, unread
from howsure.tables import Attempts, Scores
from howsure.tables.frames import Part, parts_of

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "lm-evaluation-harness: results_*.json as scores, samples_*.jsonl as attempts, or a folder of either"
OPTIONS = frozenset({"metric", "filter", "table", "strict"})

LAYOUTS = {
    "results": frozenset({"results", "configs", "versions", "n-shot"}),
    "samples": frozenset({"doc_id", "doc", "target", "arguments", "resps"}),
}

_STAMP = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
_SAMPLES_NAME = re.compile(rf"samples_(?P<eval>.+?)(?:_(?P<stamp>{_STAMP}))?\.jsonl(?:\.gz)?")
_NOT_METRICS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash"}
)


def recognise(path: Path) -> str | None:
    """Results by what is in them, samples by their name and first line, a folder by one of either in it."""
    if path.is_dir():
        found = next((file for file in files_below(path) if recognise(file)), None)
        return f"it contains {found.name}" if found else None
    if is_results(path):
        return 'it holds results named "metric,filter"'
    if _SAMPLES_NAME.fullmatch(path.name) and "doc_id" in keys(path):
        return "it is named samples_<task>_<date> and its lines have doc_id"
    return None


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    metric: str | None = None,
    filter: str | None = None,  # noqa: A002 - the harness's own word
    table: str | None = None,
    strict: bool = False,
) -> Scores | Attempts:
    """Aggregates as Scores or samples as Attempts; `table` says which where both are given.

    `metric` and `filter` narrow what is read. Without them every aggregate is a benchmark of its own, and of each eval's
    samples the first metric and filter are taken. Damaged files are skipped and named in the notes, unless ``strict``.
    """
    files, others = _files(paths)
    if not files:
        raise InputError(f"{paths[0]}: contains neither results_*.json nor samples_*.jsonl of lm-evaluation-harness.")
    results = [file for file in files if file.name.endswith((".json", ".json.gz"))]
    samples = [file for file in files if file not in results]
    wanted = _wanted(table, results, samples)
    chosen = Choice(metric, filter, divide_by)
    loaded = functools.cache(load_results)  # many samples lie beside one results file
    if wanted == "scores":
        runs, skipped = read_each(results, load_results, strict=strict, progress=progress)
        return read_scores(runs, chosen, notes=[*skipped, *others, *unread([s.name for s in samples], "samples")])
    opened, skipped = read_each(samples, lambda path: _open_samples(path, loaded), strict=strict, progress=progress)
    aggregates, more = read_each(results, loaded, strict=strict, progress=None) if results else ([], [])
    return _read_attempts(opened, chosen, notes=[*skipped, *others, *more, *_unused(aggregates, opened)])


def _files(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Results and samples, and a note on the other files of the folders."""
    files, others = [], []
    for path in paths:
        if path.is_dir():
            below = list(files_below(path))
            ours = [file for file in below if recognise(file)]
            files += ours
            others += [str(file.relative_to(path)) for file in below if file not in ours]
        else:
            files.append(path)
    return files, unread(others, "neither results nor samples of lm-evaluation-harness")


def _wanted(table: str | None, results: Sequence[Path], samples: Sequence[Path]) -> str:
    there = {"scores": results, "attempts": samples}
    if table is not None and table not in there:
        raise OptionError.unknown("table of lm-eval output", table, there)
    if table and not there[table]:
        kind = "results_*.json" if table == "scores" else "samples_*.jsonl"
        raise InputError(f"{(results or samples)[0].parent}: no {kind} to make {table} from; omit --table.")
    return table or ("attempts" if samples else "scores")


def _unused(runs: Sequence[Results], opened: Sequence[_Samples]) -> list[str]:
    """What is said of aggregates that lie beside samples: they are the same results, but for evals without samples."""
    values = [value for run in runs for value in run.values()]
    saw(len(values))
    leave_out("scores, where attempts are read (--table scores reads them)", len(values))
    sampled = {samples.eval_name for samples in opened}
    without = list(dict.fromkeys(value.task for value in values if value.task not in sampled))
    if not without:
        return []
    names = ", ".join(without[:5]) + (f" and {len(without) - 5:,} more" if len(without) > 5 else "")
    return [f"Results without samples are not read: {names}; --table scores reads results instead."]


@dataclass(frozen=True)
class _Samples:
    """One samples file, without its texts."""

    path: Path
    eval_name: str
    model: str
    day: str | None
    frame: pl.DataFrame
    metrics: list[str]
    filters: list[str]
    direction: dict[str, bool | None]

    def usable(self, divide_by: float) -> list[str]:
        """The metrics whose numbers are scores: shares of which higher is better, then numbers of any size of which lower is better."""
        if not self.metrics:
            return []
        number = {name: _as_number(pl.col(name)) for name in self.metrics}
        is_fit = {
            name: one.is_finite() if self.direction[name] is False else one.is_between(0, divide_by)
            for name, one in number.items()
        }
        checks = [(one.is_not_null().any() & is_fit[name].all()).alias(name) for name, one in number.items()]
        found = self.frame.select(checks).row(0, named=True)
        return sorted((name for name in found if found[name]), key=lambda name: self.direction[name] is False)


def _open_samples(path: Path, load: Callable[[Path], Results]) -> _Samples:
    named = _SAMPLES_NAME.fullmatch(path.name)
    if not named:
        raise InputError(
            f"{path}: the eval's name is not known. Call the file samples_<task>_<date>.jsonl, as the harness does."
        )
    (part,) = parts_of(path)
    there = part.rows.collect_schema().names()
    if "doc_id" not in there:
        raise InputError(f"{path}: its lines have no doc_id, as samples of lm-evaluation-harness do.")
    beside = _results_beside(path, named["stamp"])
    run = load(beside) if beside else None
    direction = {name: is_higher_better(name, run, named["eval"]) for name in _metrics(part, there)}
    metrics = list(direction)
    known = [name for name in ("doc_id", "doc_hash", "filter") if name in there]
    frame = part.collect(part.rows.select(*known, *metrics).with_row_index("#row"))
    filters = frame["filter"].drop_nulls().unique(maintain_order=True).to_list() if "filter" in there else []
    model = run.model if run else unsanitised(path.parent.resolve().name)
    day = named["stamp"] and named["stamp"][:10]
    return _Samples(path, named["eval"], model, day, frame, metrics, filters, direction)


def _results_beside(path: Path, stamp: str | None) -> Path | None:
    """The aggregates that were written with these samples: they know the model's exact name."""
    return next((file for file in path.parent.glob(f"*_{stamp}.json") if is_results(file)), None) if stamp else None


def _metrics(part: Part, there: Sequence[str]) -> list[str]:
    """What a line says its metrics are; older lines do not, and then every key that is no part of a sample is one."""
    if "metrics" in there:
        first = part.collect(part.rows.select("metrics").head(1))["metrics"][0]
        return [name for name in re.findall(r'"([^"]+)"', first or "") if name in there]
    return [name for name in there if name not in _NOT_METRICS]


def _read_attempts(files: Sequence[_Samples], chosen: Choice, *, notes: Sequence[str]) -> Attempts:
    chosen.refuse_unknown(
        (name for samples in files for name in samples.metrics), (name for samples in files for name in samples.filters)
    )
    parts, told = [], [*notes]
    for samples in files:
        part, more = _samples_part(samples, chosen)
        parts += [part] if part else []
        told += more
    if not parts:
        raise InputError(
            f"{files[0].path}: no metric with values from 0 to 1. Check --metric, --filter and --divide-by."
        )
    numbered = number_attempts(parts)
    again = sum(int(part.rows.select((pl.col("attempt") > 1).sum()).collect().item()) for part in numbered)
    if again:
        told.append(f"{again:,} samples repeat a document of the same model and eval, and are its further attempts.")
    return Attempts(numbered, divide_by=chosen.divide_by, notes=list(dict.fromkeys(told)))


def _samples_part(samples: _Samples, chosen: Choice) -> tuple[Part | None, list[str]]:
    frame, told = _one_filter(samples, chosen.filter)
    saw(len(samples.frame))
    leave_out("through another filter, or a document's further line", len(samples.frame) - len(frame))
    metric = chosen.metric or next(iter(samples.usable(chosen.divide_by)), None)
    if frame.is_empty() or metric not in samples.metrics:
        leave_out("no metric to read", len(frame))
        return None, [f"{samples.path}: excluded, as it has no {chosen.metric or 'metric from 0 to 1'} to read."]
    if others := [name for name in samples.metrics if name != metric and not chosen.metric]:
        told.append(f"{samples.eval_name}: scored by {metric}; --metric chooses among {', '.join(others)}.")
    scale: dict[str, str] = {}
    if samples.direction[metric] is False:
        number = _as_number(frame[metric])
        is_free = chosen.divide_by == 1 and not number.is_between(0, 1).fill_null(value=True).all()
        scale = {"better": "lower"} | ({"scale": "free"} if is_free else {})
        told.append(f"{samples.eval_name}: lower {metric} is better{', read as it is' if is_free else ''}.")
    if samples.direction[metric] is None:
        told.append(f"{samples.eval_name}: {metric} is read as higher is better, which neither file nor name says.")
    # the harness writes NaN where a metric has no value
    score = pl.when(pl.col(metric).str.to_lowercase() != "nan").then(pl.col(metric))
    document = "doc_hash" if "doc_hash" in frame.columns else "doc_id"
    rows = frame.select(
        pl.lit(samples.model).alias("subject"),
        pl.lit("model").alias("kind"),
        (pl.lit(samples.eval_name + "/") + pl.col(document)).alias("task"),
        score.alias("score"),
        pl.when(score.is_null()).then(pl.lit(f"no {metric}")).alias("reason"),
        pl.lit(samples.eval_name).alias("domain"),
        *([pl.col("doc_hash").alias("item_digest")] if document == "doc_hash" else []),
        *([pl.lit(samples.day).alias("date")] if samples.day else []),
        *(pl.lit(value).alias(name) for name, value in scale.items()),
        pl.lit(samples.path.name).alias("source"),
    )
    return Part(rows.lazy(), samples.path, "jsonl", frame["#row"]), told


def _one_filter(samples: _Samples, wanted: str | None) -> tuple[pl.DataFrame, list[str]]:
    """The lines of one filter; older files do not name it, and repeat a sample's doc_id instead."""
    frame, filters = samples.frame, samples.filters
    if filters:
        chosen = wanted or filters[0]
        told = f"{samples.eval_name}: read through filter {chosen}; --filter chooses among {', '.join(filters)}."
        return frame.filter(pl.col("filter") == chosen), [] if wanted or len(filters) == 1 else [told]
    first = frame.unique("doc_id", keep="first", maintain_order=True)
    if len(first) == len(frame):
        return frame, []
    return first, [f"{samples.path}: does not name its filters; the first line of each document is read."]


_Text = TypeVar("_Text", pl.Expr, pl.Series)


def _as_number(text: _Text) -> _Text:
    return text.str.to_lowercase().replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False).fill_nan(None)
