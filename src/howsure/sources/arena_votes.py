"""LMArena-style votes: two models answer one prompt, and a voter says which answer is better."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from howsure.errors import InputError
from howsure.sources import Progress
from howsure.sources._reading import keys, leave_out, read_each, saw
from howsure.tables import Votes
from howsure.tables.frames import format_of, parts_of
from howsure.tables.known_words import ALIASES

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "LMArena-style votes (parquet, jsonl or csv with model_a, model_b and winner)"
OPTIONS = frozenset({"strict"})
LAYOUTS = {
    "votes": frozenset({"model_a", "model_b", "winner"}),
    "votes in three columns": frozenset({"model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie"}),
}

_OUTCOMES = {
    **dict.fromkeys(("model_a", "a", "left", "model a"), "a"),
    **dict.fromkeys(("model_b", "b", "right", "model b"), "b"),
    **dict.fromkeys(("tie", "draw", "equal"), "tie"),
    **dict.fromkeys(("tie (bothbad)", "both_bad", "bothbad", "both bad", "tie_bothbad"), "both_bad"),
}
_VOTER = ("judge", "evaluation_session_id", "judge_hash", "user_id", "voter", *ALIASES[Votes]["voter"])
_ITEM = ("question_id", "id", "conversation_id", "item", *ALIASES[Votes]["item"])
_TIME = ("tstamp", "timestamp", "date")
_COVARIATES = ("language", "turn", "evaluation_order", "is_code", "anony")


def recognise(path: Path) -> str | None:
    """By the columns for the two models and the winner."""
    there = set(keys(path)) if path.is_file() and format_of(path) else set()
    return (
        "it has model_a, model_b and a winner, as LMArena's votes do"
        if any(needed <= there for needed in LAYOUTS.values())
        else None
    )


def read(
    paths: Sequence[Path], *, divide_by: float = 1, progress: Progress | None = None, strict: bool = False
) -> Votes:
    """One row per vote; votes without a known winner, or of a model against itself, are left out and counted."""
    frames, skipped = read_each(paths, _votes, strict=strict, progress=progress)
    rows = pl.concat(frames, how="diagonal_relaxed")
    saw(len(rows))
    notes = [*skipped]
    reason = (
        pl.when(pl.col("a").is_null() | pl.col("b").is_null())
        .then(pl.lit("no model"))
        .when(pl.col("outcome").is_null())
        .then(pl.lit("the winner is not one of model_a, model_b, tie and both bad"))
        .when(pl.col("a") == pl.col("b"))
        .then(pl.lit("a model against itself"))
    )
    judged = rows.with_columns(reason.alias("#why"))
    for why, n in judged.filter(pl.col("#why").is_not_null()).group_by("#why").len().sort("#why").rows():
        leave_out(why, n)
        notes.append(f"{n:,} votes excluded: {why}.")
    kept = judged.filter(pl.col("#why").is_null()).drop("#why")
    if kept.is_empty():
        raise InputError(f"{paths[0]}: no vote can be used. {' '.join(notes)}")
    if kept["voter"].null_count():
        notes.append(f"{kept['voter'].null_count():,} votes name no voter; each is taken as a voter of its own.")
        kept = kept.with_columns(pl.col("voter").fill_null(pl.format("voter of {}", pl.int_range(pl.len()) + 1)))
    if kept["item"].null_count():
        kept = kept.with_columns(pl.col("item").fill_null(pl.format("vote {}", pl.int_range(pl.len()) + 1)))
    return Votes(kept, notes=notes)


def _votes(path: Path) -> pl.DataFrame:
    names = dict.fromkeys(
        (
            *_VOTER,
            *_ITEM,
            *_TIME,
            *_COVARIATES,
            "model_a",
            "model_b",
            "winner",
            "winner_model_a",
            "winner_model_b",
            "winner_tie",
        )
    )
    (part,) = parts_of(path)
    there = part.rows.collect_schema().names()
    rows = part.collect(part.rows.select(name for name in names if name in there))
    if missing := [name for name in ("model_a", "model_b") if name not in there]:
        raise InputError(f"{path}: no column {' nor '.join(missing)}, as votes have.")

    def first(known: Sequence[str]) -> pl.Expr:
        name = next((name for name in known if name in there), None)
        return _text(name) if name else pl.lit(None, pl.String)

    return rows.select(
        first(_VOTER).alias("voter"),
        first(_ITEM).alias("item"),
        _text("model_a").alias("a"),
        _text("model_b").alias("b"),
        _outcome(rows, path).alias("outcome"),
        *_date(rows),
        *(pl.col(name).cast(pl.String, strict=False) for name in _COVARIATES if name in there),
        pl.lit(path.name).alias("source"),
    )


def _text(name: str) -> pl.Expr:
    value = pl.col(name).cast(pl.String, strict=False).str.strip_chars()
    return pl.when(value != "").then(value)


def _outcome(rows: pl.DataFrame, path: Path) -> pl.Expr:
    if "winner" in rows.columns:
        winner = _text("winner")
        word = winner.str.to_lowercase().replace_strict(_OUTCOMES, default=None, return_dtype=pl.String)
        named = pl.when(winner == _text("model_a")).then(pl.lit("a")).when(winner == _text("model_b")).then(pl.lit("b"))
        return pl.coalesce(named, word)
    if "winner_model_a" not in rows.columns:
        raise InputError(f"{path}: no column winner, as votes have.")
    won = {name: _text(f"winner_{name}").is_in(["1", "true", "1.0", "True"]) for name in ("model_a", "model_b", "tie")}
    return (
        pl.when(won["model_a"])
        .then(pl.lit("a"))
        .when(won["model_b"])
        .then(pl.lit("b"))
        .when(won["tie"])
        .then(pl.lit("tie"))
    )


def _date(rows: pl.DataFrame) -> list[pl.Expr]:
    """The day, of a time in seconds since 1970 or of a date."""
    name = next((name for name in _TIME if name in rows.columns), None)
    if name is None:
        return []
    if rows[name].dtype.is_temporal():
        return [pl.col(name).cast(pl.Date).alias("date")]
    seconds = pl.col(name).cast(pl.Float64, strict=False)
    sound = pl.when(seconds.is_between(0, 4e9)).then(seconds)
    day = pl.from_epoch((sound * 1000).cast(pl.Int64), "ms").dt.date()
    written = (
        pl.col(name)
        .cast(pl.String, strict=False)
        .str.extract(r"^(\d{4}-\d{2}-\d{2})")
        .str.to_date("%Y-%m-%d", strict=False)
    )
    return [pl.coalesce(day, written).alias("date")]
