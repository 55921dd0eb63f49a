"""What models' attempts at tasks came to, one row per attempt; and as the tables that horizons start from."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from howsure.errors import InputError
from howsure.tables import Attempts

__all__ = ["FAILURES", "REPLIES", "UNFINISHED", "practice_of", "scored", "to_name"]

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
