"""Predictions and labels, or answers and what was expected: where both are there and no score is, the score is whether they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from howsure.errors import InputError
from howsure.tables import Attempts, Ratings
from howsure.tables.frames import Part
from howsure.tables.known_words import (
    ALIASES,
    ASKED,
    MODEL,
    PREDICTIONS,
    RATERS,
    REFERENCES,
    SCORE,
    SUCCESSES,
    WEAK,
    WORDS,
)
from howsure.tables.untidy import Requested, listed, melted, plain_name

__all__ = ["with_agreement"]

_MOST_CLASSES = 50  # labels of which a column per model may consist
_LONGEST = 60  # characters of an answer that can be compared as it is


def with_agreement(part: Part, asked: Requested) -> Part:
    """The rows with a score: 1 where a prediction is what was expected, in any case of letters, or the same number.

    Columns of predictions may be one, or one per model beside the labels. Where texts would have to be interpreted, the user is asked.

    Parameters
    ----------
    part : Part
        The rows.
    asked : Requested
        What the user said.
    """
    names = [name for name in part.rows.collect_schema().names() if name not in asked.rename.values()]
    plain = {plain_name(name) for name in names} | {*asked.rename, *asked.fill}
    if plain & {*SCORE, *SUCCESSES, "score", "n_success", "rater", *RATERS, "value", "rating", "model_a", "winner"}:
        return part
    said, expected = (
        sorted((n for n in names if plain_name(n) in known), key=lambda n: known.index(plain_name(n)))
        for known in (PREDICTIONS, REFERENCES)
    )
    label = next(
        (name for name in expected if plain_name(name) != "answer" or len(said) > 1), None
    )  # an answer is either
    if label is None:
        return part
    answers = [name for name in said if name != label]
    if answers:
        return _scored(part, asked, answers[0], label)
    columns = [] if plain & {*MODEL, "subject"} else _columns_of_models(part, names, label)
    if not columns:
        return part
    labels = {*part.collect(part.rows.select(_text(label).unique()))[label].drop_nulls()}
    if labels <= {*WORDS, "0", "1", "0.0", "1.0"}:
        raise InputError(
            f"{asked.at}{', '.join(columns[:3])} may be answers to compare with {label}, or scores. Remove {label} if they are scores; else give one "
            f"row per answer, with the columns model, prediction and {label}."
        )
    says = f"columns {listed(columns)} → model, with their values as prediction"
    return _scored(melted(part, columns, "model", "prediction", says, keeps_words=True), asked, "prediction", label)


def _columns_of_models(part: Part, names: Sequence[str], label: str) -> list[str]:
    """The columns most of whose values are labels."""
    known = {
        *ASKED,
        *WEAK["task"],
        *(alias for own in (*ALIASES[Attempts].values(), *ALIASES[Ratings].values()) for alias in own),
    }
    known |= {column.name for column in Attempts.columns}
    free = [name for name in names if name != label and plain_name(name) not in known]
    labels = part.collect(part.rows.select(_text(label).unique()))[label].drop_nulls()
    if not free or not 1 < len(labels) <= _MOST_CLASSES:
        return []
    shares = part.collect(
        part.rows.select(_text(name).is_in(labels.implode()).mean().alias(name) for name in free)
    ).row(0)
    return [name for name, share in zip(free, shares, strict=True) if share is not None and share > 0.5]


def _scored(part: Part, asked: Requested, said: str, label: str) -> Part:
    """The rows with whether two columns agree as score, instead of them."""
    texts = part.collect(part.rows.select(_text(said).alias("said"), _text(label).alias("label")))
    is_list = bool(texts.select(pl.col("label").str.starts_with("[").all()).item())
    try:
        labels = pl.col("label").str.json_decode(pl.List(pl.String)) if is_list else pl.concat_list("label")
        texts = texts.with_columns(pl.when(pl.col("label").is_not_null()).then(labels).alias("labels"))
    except pl.exceptions.PolarsError:
        raise InputError(
            f"{asked.at}{label} is not read: a value in it is no JSON list of texts. Write one, or give a column score."
        ) from None
    number = pl.col("said").cast(pl.Float64, strict=False)
    numbers = pl.col("labels").list.eval(pl.element().cast(pl.Float64, strict=False))
    is_number = (numbers.list.contains(number) & number.is_not_null()).fill_null(value=False)
    is_there = pl.col("said").is_not_null() & pl.col("labels").is_not_null()
    is_same = pl.when(is_there).then(pl.col("labels").list.contains(pl.col("said")) | is_number)
    known = texts["labels"].explode().drop_nulls().unique()
    word = {
        name: pl.concat_str(pl.lit(" "), pl.col(name).str.replace_all(r"[^\pL\pN]+", " "), pl.lit(" "))
        for name in ("said", "label")
    }
    is_part = word["said"].str.contains(word["label"], literal=True) | word["label"].str.contains(
        word["said"], literal=True
    )
    is_open = (
        ~is_same & (is_part | (pl.col("said").str.len_chars() > _LONGEST)) & ~pl.col("said").is_in(known.implode())
    )
    facts = texts.with_columns(is_same.alias("is_same"), is_open.fill_null(value=False).alias("is_open"))
    odd = facts.filter("is_open").head(1)
    if odd.is_empty() and not facts["is_same"].any():
        odd = facts.drop_nulls(["said", "label"]).head(1)
    if len(odd):
        raise InputError(
            f"{asked.at}{said} and {label} are answers and what was expected, but texts alone do not say whether they agree "
            f"({odd['said'][0][:40]!r} beside {odd['label'][0][:40]!r}). Add a column score: 1 where the answer is right, else 0."
        )
    rows = part.rows.with_columns(facts["is_same"].cast(pl.Float64).alias("score")).drop(said, label)
    says = (
        *part.says,
        f"score = whether {said} is {label} ({facts['is_same'].sum():,} of {facts['is_same'].count():,})",
    )
    return replace(part, rows=rows, is_parsed=True, says=says)


def _text(name: str) -> pl.Expr:
    """Small letters without blanks around them; nothing where nothing is written."""
    text = pl.col(name).cast(pl.String).str.strip_chars().str.to_lowercase().str.replace_all(r"\s+", " ")
    return pl.when(text != "").then(text).alias(name)
