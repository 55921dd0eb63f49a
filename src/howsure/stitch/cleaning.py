"""From a table of scores to the ones that are fitted; whatever is excluded is counted in the notes."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from howsure.arguments import as_date, checked
from howsure.errors import InputError, OptionError
from howsure.stitch.model.fits import LEAST_SD
from howsure.stitch.model.problem import Problem, family_of
from howsure.tables import Scores
from howsure.tables.frames import parts_of
from howsure.tables.spellings import fold_name

__all__ = ["DUPLICATES", "Duplicates", "Floors", "listed", "named_in", "prepare_all_scores", "prepare_scores"]

Duplicates = Literal["mean", "max", "min"]
DUPLICATES: tuple[Duplicates, ...] = ("mean", "max", "min")
Floors: TypeAlias = Mapping[str, float] | str | os.PathLike[str]

_LONG_BEFORE = 183  # days between the first version of a model and the next that call for a second look
_OF_A_MODEL = ("date", "family", "organisation", "compute", "distilled")
_OF_A_BENCHMARK = ("benchmark_date", "floor", "ceiling", "superseded_by", "part_of")
_PAIR = ("model", "benchmark")
_SHOWN = 6  # names in a note
_LISTS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
_EARLIEST = datetime.date(1950, 1, 1)
_TYPES = {"text": pl.String, "number": pl.Float64, "whole": pl.Int64, "date": pl.Date}


@checked
def prepare_scores(
    scores: Scores,
    *,
    min_benchmarks: int = 4,
    since: str | datetime.date | None = None,
    duplicates: Duplicates = "mean",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    floors: Floors | None = None,
    by_family: bool = False,
    keep_overlaps: bool = False,
) -> Problem:
    """The scores to fit. Too few scores, and groups that no model links, are refused.

    Parameters
    ----------
    scores : Scores
        The table.
    min_benchmarks : int
        Exclude models on fewer benchmarks.
    since : str | datetime.date | None
        Exclude models that are older or have no date.
    duplicates : Duplicates
        Several scores of one model on one benchmark become their mean, max or min.
    include : Sequence[str]
        Keep only these models and benchmarks.
    exclude : Sequence[str]
        Exclude these models, benchmarks, or single scores (``model@benchmark``); `named_in` reads them from files.
    floors : Floors | None
        Score of guessing by benchmark, or a file with the columns benchmark, floor and, if known, ceiling; replaces the table's own.
    by_family : bool
        Whether the versions of a family are one model, with the date of the first.
    keep_overlaps : bool
        Whether a score on a part of a benchmark (column part_of) counts where the model also has one on the whole.
    """
    notes = list(scores.notes)
    frame = _chosen(_known(scores, floors, notes), include, exclude, notes)
    best = _best(frame, "family" if by_family else "model")
    if by_family:
        frame = _merged(frame, notes)
    frame = _without_overlaps(frame, notes, keep=keep_overlaps)
    frame = _covered(frame, min_benchmarks, notes)
    if since:
        frame = _recent(frame, as_date(since, "since"), notes)
    problem = Problem.of(_single(frame, duplicates, notes), notes, best)
    problem.refuse_too_little()
    return problem


def prepare_all_scores(scores: Scores, *, duplicates: Duplicates = "mean", keep_overlaps: bool = False) -> Problem:
    """One score per model–benchmark pair, without the minimum-coverage checks."""
    notes = list(scores.notes)
    frame = _without_overlaps(_known(scores, None, notes), notes, keep=keep_overlaps)
    return Problem.of(_single(frame, duplicates, notes), notes)


def named_in(entries: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The names among ``entries``, with each file replaced by the names in it.

    A file is an entry that exists as one and ends in .txt, .csv, .tsv, .jsonl or .parquet. A .txt file has one name per line, and ``#`` starts a comment; the
    others have the columns model, benchmark or both: both in one row name a single score.
    """
    names: list[str] = []
    for entry in entries:
        path = Path(entry)
        if path.suffix.lower() not in _LISTS or not path.is_file():
            names.append(str(entry))
        elif path.suffix.lower() == ".txt":
            lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8-sig").splitlines())
            names += [line for line in lines if line]
        else:
            rows = parts_of(path)[0].parsed().rows.collect()
            if not (there := [name for name in _PAIR if name in rows.columns]):
                raise InputError(f"{path}: no column 'model' or 'benchmark'. A list of names has one of them, or both.")
            pairs = rows.select(pl.col(there).cast(pl.String).str.strip_chars()).rows()
            names += ["@".join(part for part in pair if part) for pair in pairs if any(pair)]
    return tuple(names)


def _known(scores: Scores, floors: Floors | None, notes: list[str]) -> pl.DataFrame:
    """The table with all columns, one value a model or benchmark, and a family for every model."""
    frame = _possible(_with_items(_whole(scores.frame), notes), notes)
    for key in _PAIR:
        notes += _alike(frame[key], key)
    for key, columns in (("model", _OF_A_MODEL), ("benchmark", _OF_A_BENCHMARK)):
        frame = _agreed(frame, key, columns)
    frame = _with_floors(frame, floors, notes)
    return frame.with_columns(pl.col("family").fill_null(pl.col("model").map_elements(family_of, pl.String)))


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    """All columns of `Scores`, and the effective number of items of a fitted table, empty where the table has none."""
    kinds = {column.name: _TYPES[column.kind] for column in Scores.columns} | {"n_effective": pl.Float64}
    whole = frame.with_columns(
        pl.lit(None, kind).alias(name) for name, kind in kinds.items() if name not in frame.columns
    )
    return whole.select(*kinds).with_columns(pl.col("n_effective").cast(pl.Float64, strict=False))


def _with_items(frame: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    r"""The table with ``n_effective``, the number of independent items that gives a score its standard error.

    From the standard error it is :math:`s (1 - s) / se^2`, at least 1 / se near 0 and 1. A standard error of 0 says nothing: it was rounded away, or
    belongs to a score of 0 or 1. There the column n_items counts, then the median of the benchmark's other scores. Scores on a benchmark that are all either 0 or 1 are single items.
    """
    score, se = pl.col("score"), pl.when(pl.col("se") > 0).then(pl.col("se"))
    stated = pl.max_horizontal(score * (1 - score) / se**2, 1 / se, pl.lit(1.0))
    own = pl.coalesce("n_effective", pl.when(se.is_not_null()).then(stated), pl.col("n_items").cast(pl.Float64))
    frame = frame.with_columns(own.alias("n_effective"), se.alias("se"), (pl.col("se") == 0).alias("#zero"))
    usual = pl.col("n_effective").median().over("benchmark")
    recovered = frame.filter(pl.col("n_effective").is_null(), usual.is_not_null())
    if len(recovered):
        shown = frame.filter(pl.col("benchmark").is_in(recovered["benchmark"].unique().to_list()))
        medians = shown.group_by("benchmark").agg(pl.col("n_effective").median()).sort("benchmark").rows()
        notes.append(
            f"{len(recovered):,} scores state no standard error, or one of 0; the benchmark's other scores give their number of "
            f"items: {listed([f'{name} about {n:,.0f}' for name, n in medians])}."
        )
    frame = _with_single_items(frame.with_columns(pl.col("n_effective").fill_null(usual)), notes)
    is_end = pl.col("#zero").fill_null(False) | score.is_in([0.0, 1.0])
    unknown = frame.filter(pl.col("n_effective").is_null(), is_end)
    if len(unknown):
        names = unknown["benchmark"].unique().sort().to_list()
        notes.append(
            f"{len(unknown):,} scores are 0 or 1, or state a standard error of 0, where the number of items is unknown ({listed(names)}); "
            f"their standard deviation is taken as at least {LEAST_SD:g}. Add the column n_items."
        )
    return frame.drop("#zero")


def _with_single_items(frame: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Zeros and ones as scores of one item: a mean of more items would lie between them for some model.

    On a benchmark where all scores are the same that cannot be seen, unless the whole table holds nothing else.
    """
    is_binary = (pl.col("score").is_in([0.0, 1.0]) & pl.col("n_effective").is_null()).all()
    is_both = is_binary.over("benchmark") & (pl.col("score").n_unique().over("benchmark") > 1)
    is_single = is_both | (is_binary & is_both.any())
    single = frame.filter(is_single)["benchmark"]
    if len(single):
        named = listed(single.unique().sort().to_list())
        notes.append(
            f"{len(single):,} scores are taken as scores of one item, since all on their benchmark are 0 or 1: {named}."
        )
    return frame.with_columns(pl.when(is_single).then(1.0).otherwise("n_effective").alias("n_effective"))


def listed(names: Sequence[str]) -> str:
    """Names in a note: the first few, and how many there are."""
    return ", ".join(names[:_SHOWN]) + (f", … ({len(names)} in all)" if len(names) > _SHOWN else "")


def _possible(frame: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """The table without dates that cannot be: before 1950, or more than a year ahead of today."""
    latest = datetime.datetime.now(tz=datetime.UTC).date() + datetime.timedelta(days=366)
    for name, key in (("date", "model"), ("benchmark_date", "benchmark")):
        is_wrong = ~pl.col(name).is_between(_EARLIEST, latest)
        wrong = frame.filter(is_wrong).select(key, name).unique(maintain_order=True).rows()
        if wrong:
            told = listed([f"{who} ({day})" for who, day in wrong])
            notes.append(f"Dates before {_EARLIEST.year} or more than a year ahead are taken as unknown: {told}.")
            frame = frame.with_columns(pl.when(~is_wrong).then(pl.col(name)))
    return frame


def _alike(names: pl.Series, key: str) -> list[str]:
    """A note on names that differ in nothing but case, spaces and punctuation: they count as several."""
    by_fold: dict[str, list[str]] = {}
    for name in names.unique().sort():
        by_fold.setdefault(fold_name(name), []).append(name)
    groups = [" and ".join(one) for one in by_fold.values() if len(one) > 1]
    told = f"Names that differ only in case, spaces or punctuation count as different {key}s: {listed(groups)}."
    return [told] if groups else []


def _agreed(frame: pl.DataFrame, key: str, columns: Sequence[str]) -> pl.DataFrame:
    """The columns with the one value that each model or benchmark has; two values are refused."""
    known = pl.col(*columns).drop_nulls().unique(maintain_order=True)
    values = frame.group_by(key, maintain_order=True).agg(known)
    for column in columns:
        disputed = values.filter(pl.col(column).list.len() > 1).select(key, column)
        if len(disputed):
            name, (first, second, *_) = disputed.row(0)
            other = "benchmark" if key == "model" else "model"
            where = [frame.filter(pl.col(key) == name, pl.col(column) == value)[other][0] for value in (first, second)]
            rest = f" The same holds for {len(disputed) - 1} more." if len(disputed) > 1 else ""
            raise InputError(
                f"{name} has two different values of {column}: {first} ({where[0]}) and {second} ({where[1]}). Give each {key} one.{rest}"
            )
    one = values.select(key, pl.col(*columns).list.first())
    return frame.drop(columns).join(one, on=key, how="left", maintain_order="left")


def _with_floors(frame: pl.DataFrame, floors: Floors | None, notes: list[str]) -> pl.DataFrame:
    if floors is not None:
        known = _floor_table(floors)
        absent = sorted(set(known["benchmark"]) - set(frame["benchmark"]))
        notes += [f"Floors of benchmarks that have no scores here: {', '.join(absent)}."] if absent else []
        frame = frame.join(known, on="benchmark", how="left", maintain_order="left", suffix="_given")
        frame = frame.with_columns(pl.coalesce(f"{name}_given", name).alias(name) for name in ("floor", "ceiling"))
    crossed = frame.filter(pl.col("floor").fill_null(0) >= pl.col("ceiling").fill_null(1))
    if len(crossed):
        low, high, name = crossed.select(pl.col("floor").fill_null(0), pl.col("ceiling").fill_null(1), "benchmark").row(
            0
        )
        raise InputError(f"{name}: floor {low:g} is not below ceiling {high:g}. Correct one of them.")
    return frame


def _floor_table(floors: Floors) -> pl.DataFrame:
    """Floors and ceilings as a checked frame; a file is read as scores are, so that its faults are named by line."""
    if isinstance(floors, Mapping):
        rows = pl.DataFrame({"benchmark": list(floors), "floor": list(floors.values())})
    else:
        rows = parts_of(Path(floors))[0].parsed().rows.collect()
        if missing := {"benchmark", "floor"} - set(rows.columns):
            raise InputError(
                f"{floors}: no column {min(missing)!r}. A file of floors has benchmark, floor and, if known, ceiling."
            )
    checked = Scores(rows, fill={"model": "guessing", "score": 0.0}).frame
    if (checked["benchmark"].is_duplicated()).any():
        raise InputError(
            f"{checked.filter(pl.col('benchmark').is_duplicated())['benchmark'][0]} has two floors. Keep one."
        )
    ceiling = pl.col("ceiling") if "ceiling" in checked.columns else pl.lit(None, pl.Float64).alias("ceiling")
    return checked.select("benchmark", "floor", ceiling)


def _chosen(frame: pl.DataFrame, include: Sequence[str], exclude: Sequence[str], notes: list[str]) -> pl.DataFrame:
    if not (include or exclude):
        return frame
    kept, left_out = _named(frame, include), _named(frame, exclude)
    is_in = pl.lit(True) if not include else kept.pair
    if kept.models or kept.benchmarks:
        is_in |= (kept.model if kept.models else pl.lit(True)) & (kept.benchmark if kept.benchmarks else pl.lit(True))
    left = frame.filter(is_in & ~(left_out.model | left_out.benchmark | left_out.pair))
    notes.append(f"{len(frame) - len(left):,} of {len(frame):,} scores were excluded as asked (include, exclude).")
    return left


@dataclass(frozen=True)
class _Named:
    """What a list of models, benchmarks and single scores names."""

    models: list[str]
    benchmarks: list[str]
    pairs: list[tuple[str, str]]

    @property
    def model(self) -> pl.Expr:
        return pl.col("model").is_in(self.models)

    @property
    def benchmark(self) -> pl.Expr:
        return pl.col("benchmark").is_in(self.benchmarks)

    @property
    def pair(self) -> pl.Expr:
        each = [(pl.col("model") == model) & (pl.col("benchmark") == benchmark) for model, benchmark in self.pairs]
        return pl.any_horizontal(pl.lit(False), *each)


def _named(frame: pl.DataFrame, entries: Sequence[str]) -> _Named:
    models, benchmarks = (set(frame[name].unique()) for name in _PAIR)
    rest = [entry for entry in entries if entry not in models | benchmarks]
    return _Named(
        [entry for entry in entries if entry in models],
        [entry for entry in entries if entry in benchmarks],
        [_pair(entry, models, benchmarks) for entry in rest],
    )


def _pair(entry: str, models: set[str], benchmarks: set[str]) -> tuple[str, str]:
    """A single score; names themselves may hold an @."""
    for at, character in enumerate(entry):
        model, benchmark = entry[:at], entry[at + 1 :]
        if character == "@" and model in models and benchmark in benchmarks:
            return model, benchmark
    raise OptionError.unknown("model, benchmark or model@benchmark", entry, sorted(models | benchmarks))


def _best(frame: pl.DataFrame, fitted_as: str) -> pl.DataFrame:
    """The highest score of each model version on each benchmark, as `Problem` has it."""
    own = [pl.col(fitted_as).alias("fitted_as"), pl.col("score"), pl.col("date")]
    rows = frame.select("benchmark", "model", *own).sort("benchmark", "model", "score", descending=[False, False, True])
    return rows.unique(["benchmark", "model"], keep="first", maintain_order=True)


def _merged(frame: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """The versions of a family as one model; organisation and compute are the first version's."""
    n_versions = frame["model"].n_unique()
    dates = frame.drop_nulls("date").group_by("family").agg(pl.col("date").unique().sort().head(2)).sort("family")
    early = [
        f"{name} ({two[0]}, the next {two[1]})"
        for name, two in dates.rows()
        if len(two) > 1 and (two[1] - two[0]).days > _LONG_BEFORE
    ]
    if early:
        notes.append(
            f"A model has the date of its first version; where that is more than half a year before the others, check it: {listed(early)}."
        )
    frame = frame.with_columns(
        pl.col("family").alias("model"),
        pl.col("date").min().over("family"),
        pl.col("distilled").max().over("family"),
        pl.col("organisation", "compute").sort_by("date", "model", nulls_last=True).first().over("family"),
    )
    notes.append(f"{n_versions:,} model versions were taken as {frame['model'].n_unique():,} families.")
    return frame


def _without_overlaps(frame: pl.DataFrame, notes: list[str], *, keep: bool) -> pl.DataFrame:
    """Of a model with scores on a benchmark and on a part of it, those on the whole, unless both are kept."""
    frame = frame.with_columns(part_of=pl.when(pl.col("part_of") != pl.col("benchmark")).then("part_of"))
    whole = dict(frame.select("benchmark", "part_of").drop_nulls().unique(maintain_order=True).rows())
    for part, of in whole.items():
        if part < of and whole.get(of) == part:
            raise InputError(f"{part} and {of} are each named as a part of the other (column part_of). Correct one.")
    has_whole = frame.select("model", part_of="benchmark").unique()
    twice = frame.join(has_whole, on=["model", "part_of"], how="semi")
    if not len(twice):
        return frame
    pairs = twice.group_by("benchmark", "part_of", maintain_order=True).len().rows()
    told = listed([f"{part} beside {of} ({n})" for part, of, n in pairs])
    if keep:
        notes.append(f"{len(twice):,} scores count twice, since their models also have one on the whole: {told}.")
        return frame
    notes.append(
        f"{len(twice):,} scores were excluded, since their models also have one on the whole: {told}. "
        "--keep-overlaps (keep_overlaps=True in Python) counts both."
    )
    return frame.join(has_whole, on=["model", "part_of"], how="anti", maintain_order="left")


def _covered(frame: pl.DataFrame, least: int, notes: list[str]) -> pl.DataFrame:
    if least < 1:
        raise OptionError(f"min_benchmarks is {least}; it must be at least 1.")
    n_benchmarks = pl.col("benchmark").n_unique().over("model")
    left = frame.filter(n_benchmarks >= least)
    if not len(left):
        most = frame.select(n_benchmarks.max()).item() if len(frame) else 0
        raise InputError(f"No model is on {least} benchmarks; the most is {most}. Lower min_benchmarks, or add scores.")
    if dropped := frame["model"].n_unique() - left["model"].n_unique():
        notes.append(f"{dropped:,} models were excluded: on fewer than {least} benchmarks.")
    return left


def _recent(frame: pl.DataFrame, since: datetime.date, notes: list[str]) -> pl.DataFrame:
    left = frame.filter(pl.col("date") >= since)
    undated = frame.filter(pl.col("date").is_null())["model"].n_unique()
    if not len(left):
        raise InputError(
            f"No model is dated {since} or later ({undated:,} have no date). Choose an earlier day for since."
        )
    older = frame["model"].n_unique() - left["model"].n_unique() - undated
    notes += [f"{older:,} models were excluded: before {since}."] if older else []
    notes += [f"{undated:,} models were excluded: no date, and since is set."] if undated else []
    return left


def _single(frame: pl.DataFrame, policy: Duplicates, notes: list[str]) -> pl.DataFrame:
    """One score per pair; a mean's standard error is that of a mean, if all have one."""
    if policy not in DUPLICATES:
        raise OptionError.unknown("policy for duplicates", policy, DUPLICATES)
    score, se, n = pl.col("score"), pl.col("se"), pl.col("n_effective")
    if policy == "mean":
        merged = [
            score.mean(),
            pl.when(se.null_count() == 0).then((se**2).sum().sqrt() / pl.len()).alias("se"),
            pl.when(n.null_count() == 0).then(pl.len() ** 2 / (1 / n).sum()).alias("n_effective"),
        ]
    else:
        best = score.arg_max() if policy == "max" else score.arg_min()
        merged = [column.get(best) for column in (score, se, n)]
    spread = (score.max() - score.min()).alias("#spread")
    rest = [pl.col(name).first() for name in frame.columns if name not in (*_PAIR, "score", "se", "n_effective")]
    left = frame.group_by(_PAIR, maintain_order=True).agg(*merged, *rest, spread, pl.len().alias("#n"))
    several = left.filter(pl.col("#n") > 1).sort("#spread", descending=True)
    if len(several):
        widest = several.row(0, named=True)
        notes.append(
            f"{len(several):,} pairs had several scores, of which the {policy} counts; the widest spread is "
            f"{widest['#spread']:.2g} ({widest['model']} on {widest['benchmark']})."
        )
    return left.drop("#spread", "#n")
