"""What models' attempts at tasks came to, one row per attempt; and as the tables that horizons start from."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from howsure.errors import InputError
from howsure.horizon.task_bank import Instance, Task
from howsure.running import read_logs
from howsure.sources.inspect_format import Log, Sample
from howsure.tables import Attempts

__all__ = [
    "FAILURES",
    "REPLIES",
    "TASK",
    "UNFINISHED",
    "attempts_from_logs",
    "course_part",
    "latest_samples",
    "practice_of",
    "replies_from_logs",
    "scored",
    "to_name",
    "worked_examples",
]

FAILURES = {
    "api": "the server failed, or the question was not asked yet",
    "length": "the reply was cut off before an answer",
    "null": "the reply is empty",
    "refusal": "the model or a filter declined",
    "limit": "a limit that was set in Inspect",
    "judge_format": "the judge's reply does not end in the requested form",
    "judge_length": "the judge's reply was cut off",
    "judge_null": "the judge's reply is empty",
    "judge_refusal": "the judge or a filter declined",
    "unjudged": "no judge was named",
    "expert": "an expert must score it",
}
"""Why an attempt has no score: only ``api`` is asked again."""

UNFINISHED = "api"

_TOKENS = [f"{who}{what}_tokens" for who in ("", "judge_") for what in ("input", "output", "reasoning")]
REPLIES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("model", "task", "family", "domain", "verification_type"), pl.String),
    **dict.fromkeys(("attempt", "seed", "shots", "earlier_attempts"), pl.Int64),
    "score": pl.Float64,
    "failure": pl.String,
    "seconds": pl.Float64,
    **dict.fromkeys(_TOKENS, pl.Int64),
    **dict.fromkeys(("mode", "answer"), pl.String),
}
"""The columns of a table of replies; ``earlier_attempts`` counts those that the model saw with feedback, ``mode`` says what is wrong (`howsure.horizon.failure_modes`), and ``answer`` is the end of the reply."""

_PRACTISED = {
    "examples": re.compile(r"(.+?) \((\d+)-shot\)"),
    "attempts with feedback": re.compile(r"(.+?) \(after (\d+) attempts?\)"),
}
"""What a model saw before it was asked, and how its name tells so: the model, and how many."""


def scored(replies: pl.DataFrame, *, notes: Sequence[str] = ()) -> Attempts:
    """The attempts that have a score, each task's numbered 1, 2, …; a model that was shown examples, or that has had feedback, is a subject of its own."""
    seen = pl.col("earlier_attempts")
    plural = pl.when(seen == 1).then(pl.lit("attempt")).otherwise(pl.lit("attempts"))
    named = (
        pl.when(seen > 0)
        .then(pl.format("{} (after {} {})", "model", seen, plural))
        .when(pl.col("shots") > 0)
        .then(pl.format("{} ({}-shot)", "model", "shots"))
        .otherwise("model")
    )
    rows = replies.filter(pl.col("score").is_not_null()).with_columns(subject=named)
    if rows.is_empty():
        raise InputError("No attempt has a score. Look at the failures, or read the replies with: inspect view")
    order = pl.int_range(1, pl.len() + 1).over("subject", "task").alias("attempt")
    about = ("task", "family", "domain", "verification_type", "score", "seconds", "mode", "answer")
    return Attempts(rows.select("subject", pl.lit("model").alias("kind"), *about, order), notes=notes)


def practice_of(subject: str) -> tuple[str, str, int]:
    """The model, what it saw before it was asked (nothing for a model alone), and how many.

    >>> practice_of("m (4-shot)"), practice_of("m (after 1 attempt)"), practice_of("m")
    (('m', 'examples', 4), ('m', 'attempts with feedback', 1), ('m', '', 0))
    """
    for kind, form in _PRACTISED.items():
        if found := form.fullmatch(subject):
            return found[1], kind, int(found[2])
    return subject, "", 0


def to_name(attempts: Attempts) -> pl.DataFrame:
    """Attempts in NAME's layout, one row per run; a score from 0.5 up is a success.

    NAME has one word for models; that one was shown examples is in its name.
    """
    is_person = pl.col("kind") == "human"
    number = pl.col("attempt").cast(pl.String).str.zfill(2)
    run = pl.format("{}_attempt_{}_{}", "subject", number, pl.col("task").str.replace_all("/", "_"))
    return attempts.frame.select(
        pl.col("task").alias("task_id"),
        run.alias("run_id"),
        pl.when(is_person).then(pl.lit("human_novice")).otherwise("subject").alias("alias"),
        (pl.col("score") >= 0.5).cast(pl.Int64).alias("score_binarized"),
        pl.col("attempt").alias("attempt_number"),
        pl.when(is_person).then(pl.lit("human_novice")).otherwise(pl.lit("ai_zero_shot")).alias("learner_type"),
        pl.col("subject").alias("learner_id"),
        pl.col("family").alias("task_family"),
        pl.col("domain").alias("task_domain"),
        "verification_type",
        pl.col("score").alias("score_cont"),
        *(["seconds"] if attempts.has("seconds") else []),
    )


# Logs of Inspect into a table of replies, one row per attempt; read from the samples' summaries and without Inspect.


TASK = "name_tasks"
"""What Inspect calls the task."""

Key = tuple[str, str, str]
"""A run, the model, and the sample."""


def attempts_from_logs(paths: Sequence[str | os.PathLike[str]]) -> Attempts:
    """The scored attempts of models in these logs, or folders of logs: task, family, domain, attempt, score, seconds."""
    return scored(replies_from_logs(read_logs(paths, TASK)))


def replies_from_logs(logs: Iterable[Log]) -> pl.DataFrame:
    """What every attempt in the logs came to, in the order of models, tasks and attempts."""
    rows = [row for (_, model, _), (_, sample) in latest_samples(logs).items() for row in _rows(model, sample)]
    return pl.DataFrame(rows, schema=REPLIES).sort(
        "model", "shots", "earlier_attempts", "task", "attempt", maintain_order=True
    )


def latest_samples(logs: Iterable[Log]) -> dict[Key, tuple[Log, Sample]]:
    """Of each attempt the first try without an error, and else the last, in logs from old to new.

    Logs of one run are tries at the same attempts: those that say so, and those that Inspect's own retry wrote.
    """
    latest: dict[Key, tuple[Log, Sample]] = {}
    for log in logs:
        for sample in log.samples or []:
            if sample.invalidation:
                continue
            run = (sample.metadata or {}).get("run") or log.eval.task_id or str(log.path)
            key = run, log.eval.model, f"{sample.id}\n{sample.epoch}"
            if key not in latest or latest[key][1].error:
                latest[key] = log, sample
    return latest


def _rows(model: str, sample: Sample) -> list[dict[str, Any]]:
    """The attempt of a sample, or all attempts of a course with feedback."""
    told = sample.metadata or {}
    row = {name: told.get(name) for name in REPLIES} | {"model": model, "seconds": sample.total_time}
    if told.get("course"):
        courses = (told | course_part(told, attempt) for attempt in range(1, told["course"] + 1))
        return [row | {name: one.get(name) for name in REPLIES if name not in ("model", "seconds")} for one in courses]
    if sample.error:
        return [row | {"failure": UNFINISHED}]
    if told.get("failure"):
        return [row]
    (score,) = (sample.scores or {}).values()
    return [row | {"score": float(score.value)}]


def course_part(told: Mapping[str, Any], attempt: int) -> dict[str, Any]:
    """What a sample's metadata say of one attempt of a course; they hold numbers and short texts alone, so that summaries keep them."""
    ending = f"@{attempt}"
    found = {name.removesuffix(ending): value for name, value in told.items() if name.endswith(ending)}
    missing = {} if found else {"failure": UNFINISHED}
    return found | missing | {"attempt": attempt, "earlier_attempts": attempt - 1}


# Worked examples to show before a task: fresh instances with their answers, never the one that is asked.


_MOST_DRAWS = 20  # for each example; families of tasks are far larger than that


def worked_examples(task: Task, suite: Sequence[Task], seed: int, n: int) -> list[Instance]:
    """At most `n` examples for the instance of a task that is called `seed`, others for every seed.

    They come from the task's own generator. A task that stays the same is shown others of its domain that do; none where nothing has an answer to show.
    """
    asked = task.instance(seed).prompt
    drawn = _fresh(task, seed, n) if task.generator else _others(task, suite, seed)
    by_prompt = {one.prompt: one for one in drawn if one.answer is not None and one.prompt != asked}
    return list(by_prompt.values())[:n]


def _fresh(task: Task, seed: int, n: int) -> Iterator[Instance]:
    """Instances with negative names, which nobody is asked."""
    first = 1 + seed * _MOST_DRAWS * n
    return (task.instance(-number) for number in range(first, first + _MOST_DRAWS * n))


def _others(task: Task, suite: Sequence[Task], seed: int) -> Iterator[Instance]:
    others = [one for one in suite if one.domain == task.domain and one.generator is None]
    random.Random(f"{task.id}\n{seed}").shuffle(others)
    return (one.instance(seed) for one in others)
