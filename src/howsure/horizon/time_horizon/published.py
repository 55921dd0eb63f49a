"""Time horizons with release dates: from a fit, from a table, or as METR publishes them."""

from __future__ import annotations

import datetime
import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.arguments import as_date, checked
from howsure.errors import InputError
from howsure.horizon.run_counts import check_success_rates
from howsure.horizon.time_horizon.horizons import TimeHorizons
from howsure.outside_text import json_text
from howsure.results.base import plain
from howsure.safe_io import read_bytes
from howsure.stats._arrays import Floats, normal_quantile
from howsure.tables.frames import Part, parts_of
from howsure.yaml_files import read_yaml

if TYPE_CHECKING:
    from howsure.tables.frames import One

__all__ = ["DatedHorizons", "dated_horizons", "from_intervals", "read_releases"]

_RELEASED = ("released", "release_date", "date")
_ENDS = {"low": "minutes_low", "high": "minutes_high", "state": "minutes_state"}
_NUMBERS = ("minutes", "minutes_low", "minutes_high", "success_rate")
_PUBLISHED_LEVEL = 0.95
_CORRELATED_DOUBLINGS = 5.0
_N_DRAWN = 4000
_FRAME = "the frame"


@dataclass(frozen=True, eq=False)
class DatedHorizons:
    """Horizons of models whose release is known, the oldest first: model, released, minutes, minutes_low, minutes_high.

    ``drawn`` has log₂ minutes of each replicate (axis 0) and model (axis 1), and no row where nothing is known of the horizons' errors; ``edges`` log₂ minutes
    of the shortest and longest task of each model, ±∞ where they are not known. ``success_rate`` lies between 0 and 1; ``df`` is the number of families that replicates
    resample, less 1.
    """

    frame: pl.DataFrame
    drawn: Floats
    edges: Floats
    success_rate: float
    df: float = math.inf
    digest: str = ""
    seed: int | None = None
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@checked
def dated_horizons(
    source: TimeHorizons | One,
    releases: Mapping[str, str | datetime.date] | One | None = None,
    *,
    success_rate: float = 0.5,
) -> DatedHorizons:
    """Horizons at one success rate with release dates.

    Parameters
    ----------
    source : TimeHorizons, frame or path
        A result of `time_horizons` or the folder it was saved to, a table (model, minutes and, if known, minutes_low, minutes_high,
        success_rate, released), or METR's YAML file.
    releases : mapping, frame or path, optional
        Release dates by model, where the source has none; see `read_releases`.
    success_rate : float
        Between 0 and 1.
    """
    check_success_rates((success_rate,))
    dates = {} if releases is None else read_releases(releases)
    if isinstance(source, TimeHorizons):
        return _of_fit(source, dates, success_rate)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.is_dir():
            return _of_fit(TimeHorizons.load(path), dates, success_rate)
        is_yaml = path.suffix.lower() in (".yaml", ".yml")
        rows = _read_yaml(path, success_rate) if is_yaml else _read_table(path, success_rate)
        where, content = str(path), read_bytes(path)
    else:
        rows = _read_table(source, success_rate)
        where, content = _FRAME, json_text(plain(rows)).encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    frame, notes = _dated(rows, dates, where)
    bare = np.empty((0, len(frame)))
    return from_intervals(DatedHorizons(frame, bare, bare, success_rate, math.inf, digest, None, tuple(notes)))


def from_intervals(horizons: DatedHorizons) -> DatedHorizons:
    """The same horizons with errors from their intervals alone, as for published horizons."""
    drawn, told = _drawn_from_intervals(horizons.frame)
    edges = np.tile([-np.inf, np.inf], (len(horizons.frame), 1))
    return replace(horizons, drawn=drawn, edges=edges, df=math.inf, notes=(*horizons.notes, told))


def read_releases(releases: Mapping[str, str | datetime.date] | One) -> dict[str, datetime.date]:
    """Release dates by model: from dates or texts such as 2024-12-05, from a table with the columns model and released, or from METR's YAML file of release dates."""
    if isinstance(releases, Mapping):
        return {model: as_date(day, f"releases[{model!r}]") for model, day in releases.items()}
    path = releases if isinstance(releases, str | os.PathLike) else "releases"
    if Path(path).suffix.lower() in (".yaml", ".yml"):
        document = read_yaml(Path(path))
        held = document.value
        place = ["date"] if isinstance(held, dict) and "date" in held else []
        listed = held["date"] if place else held
        if not isinstance(listed, dict) or not listed:
            raise InputError(f"{path}: not release dates by model. Write lines such as o1: 2024-12-05 below date:.")
        found = {}
        for model, text in listed.items():
            try:
                found[str(model)] = datetime.date.fromisoformat(str(text)[:10])
            except ValueError:
                line = document.line_of([*place, model])
                raise InputError(f"{path}{line}: {model}: {text} is not a date. Write 2024-12-05.") from None
        return found
    part, frame = _table(releases)
    column = next((name for name in _RELEASED if name in frame.columns), None)
    if column is None or "model" not in frame.columns:
        raise InputError(f"{path}: no columns model and released. Give one row per model, dates as 2025-01-31.")
    return {model: day for model, day in zip(frame["model"], _dates(part, frame, column), strict=True) if day}


def _of_fit(found: TimeHorizons, releases: Mapping[str, datetime.date], success_rate: float) -> DatedHorizons:
    estimates = [found.minutes(model, success_rate) for model in found.models]
    rows = [
        {"model": model, "minutes": e.value if e.state == "ok" else None}
        | {"minutes_low": e.low if e.low_state == "ok" else None}
        | {"minutes_high": e.high if e.high_state == "ok" else None}
        for model, e in zip(found.models, estimates, strict=True)
    ]
    frame, notes = _dated(rows, releases, "the runs")
    places = [found.models.index(model) for model in frame["model"]]
    drawn = np.empty((0, len(places))) if found.drawn is None else found.drawn.log2_minutes(success_rate)[:, places]
    tried, x = found.data.counts.n[places] > 0, found.data.x
    edges = np.array([[x[one].min(), x[one].max()] for one in tried])
    made = found.provenance
    return DatedHorizons(
        frame, drawn, edges, success_rate, found.df(), made.digest, made.seed, (*made.notes, *notes), made.settings
    )


def _drawn_from_intervals(frame: pl.DataFrame) -> tuple[Floats, str]:
    """Replicates of log₂ minutes as published intervals have them, and a note on how.

    Each side of an interval is a normal deviation of its own size. Models share tasks, so their errors are correlated, the more the closer their horizons:
    exp(−d/5) for d doublings, near what replicates of simulated and of METR's runs have.
    """
    y, low, high = (np.log2(frame[name].to_numpy()) for name in _NUMBERS[:3])
    sides = np.array([y - low, high - y]) / normal_quantile(_PUBLISHED_LEVEL)
    sides[~(sides > 0)] = np.nan  # no end, or one on the wrong side
    if np.isnan(sides).all():
        alone = "These horizons have no intervals: the interval of the trend includes only the scatter around the line and is too narrow."
        return np.empty((0, len(frame))), alone
    told = f"The published intervals, taken as {_PUBLISHED_LEVEL:.0%} intervals, enter the interval of the trend."
    is_open = np.isnan(sides)
    if is_open.any():
        names = ", ".join(frame["model"].filter(pl.Series(is_open.any(axis=0))))
        told += f" Without a lower or an upper end: {names}; the widest of the others is taken."
        sides = np.where(is_open, np.nanmax(sides), sides)
    correlation = np.exp(-np.abs(y[:, None] - y) / _CORRELATED_DOUBLINGS)
    values, vectors = np.linalg.eigh(correlation)
    z = np.random.default_rng(0).standard_normal((_N_DRAWN, len(y))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    return y + np.where(z < 0, sides[0], sides[1]) * z, told


def _dated(
    rows: Sequence[Mapping[str, Any]], releases: Mapping[str, datetime.date], where: str
) -> tuple[pl.DataFrame, list[str]]:
    """Rows with a horizon and a date, and what was excluded."""
    kinds = {"model": pl.String, "released": pl.Date, **dict.fromkeys(_NUMBERS[:3], pl.Float64)}
    frame = pl.DataFrame([{"released": releases.get(row["model"]), **row} for row in rows], schema=kinds)
    known = frame.filter(pl.col("minutes").is_not_null() & (pl.col("minutes") > 0))
    dated = known.drop_nulls("released").sort("released", "model")
    if not len(dated):
        raise InputError(
            f"No model of {where} has both a horizon and a release date. Give the dates with --releases, a table of model and released."
        )
    without = [name for name in known["model"] if name not in set(dated["model"])]
    none = [name for name in frame["model"] if name not in set(known["model"])]
    notes = [f"Excluded, no release date: {', '.join(without)}."] if without else []
    return dated, notes + ([f"Excluded, no horizon: {', '.join(none)}."] if none else [])


def _read_table(source: One, success_rate: float) -> list[dict[str, Any]]:
    part, frame = _table(source)
    path = source if isinstance(source, str | os.PathLike) else _FRAME
    missing = [name for name in ("model", "minutes") if name not in frame.columns]
    if missing:
        raise InputError(
            f"{path}: no column {missing[0]!r}. Give model, minutes and, if known, minutes_low, minutes_high, success_rate, released."
        )
    frame = frame.rename({old: new for old, new in _ENDS.items() if old in frame.columns and new not in frame.columns})
    numbers = [
        pl.col(name).cast(pl.String).replace("", None).cast(pl.Float64) for name in _NUMBERS if name in frame.columns
    ]
    try:
        typed = frame.with_columns(numbers)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{path}: {str(error).partition(chr(10))[0]}. Write numbers with digits and a point."
        ) from None
    if "success_rate" in typed.columns:
        rates = typed["success_rate"].drop_nulls().unique().sort().to_list()
        check_success_rates(rates)
        typed = typed.filter((pl.col("success_rate") - success_rate).abs() < 1e-9)
        if not len(typed):
            raise InputError(f"{path}: no horizon at success rate {success_rate:g}; there is {rates}.")
    for name in _NUMBERS[:3]:
        state = f"{name}_state"
        if name in typed.columns and state in typed.columns:
            typed = typed.with_columns(pl.when(pl.col(state) == "ok").then(name).alias(name))
    column = next((name for name in _RELEASED if name in typed.columns), None)
    told = typed.select("model", *(name for name in _NUMBERS[:3] if name in typed.columns)).to_dicts()
    days = _dates(part, typed, column) if column else []
    return [row | ({"released": day} if day else {}) for row, day in zip(told, days or [None] * len(told), strict=True)]


def _table(source: One) -> tuple[Part, pl.DataFrame]:
    parts = parts_of(source)
    if len(parts) != 1:
        where = source if isinstance(source, str | os.PathLike) else "The table"
        raise InputError(f"{where}: {len(parts)} files. Name one.")
    part = parts[0].parsed()
    return part, part.collect(part.rows)


def _dates(part: Part, frame: pl.DataFrame, column: str) -> list[datetime.date | None]:
    given = frame[column].cast(pl.String).replace("", None)
    days = given.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    wrong = (given.is_not_null() & days.is_null()).arg_true()
    if len(wrong):
        raise InputError(f"{part.where(wrong[0])}: {column} {given[wrong[0]]} is not a date. Write 2025-01-31.")
    return days.to_list()


def _read_yaml(path: Path, success_rate: float) -> list[dict[str, Any]]:
    """METR's file: results by model, each with a release date and p50 and p80 with their intervals."""
    told = read_yaml(path).value
    results = told.get("results") if isinstance(told, dict) else None
    if not isinstance(results, dict) or not results:
        raise InputError(f"{path}: no results by model, as METR's published horizons have. Give a table instead.")
    return [
        _published(path, str(model), one, f"p{100 * success_rate:g}_horizon_length") for model, one in results.items()
    ]


def _published(path: Path, model: str, one: Any, name: str) -> dict[str, Any]:
    try:
        found, day = one["metrics"][name], one["release_date"]
        numbers = {
            ours: None if found.get(theirs) is None else float(found[theirs])
            for ours, theirs in zip(_NUMBERS[:3], ("estimate", "ci_low", "ci_high"), strict=True)
        }
        return {"model": model, "released": datetime.date.fromisoformat(str(day)), **numbers}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: {model} has no {name} with release_date ({error}). Correct or remove it.") from None
