"""Capability, time horizon and N-attempt horizon: how far each tells the others, on the models they share."""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.outside_text import unguarded
from howsure.results import Provenance, Result, columns_of
from howsure.results.storage import ENDING
from howsure.stats._arrays import Floats, Ints, check_level, codes
from howsure.stats.correlation import correlation
from howsure.stats.trends import Line, clustered_slope, fit_line
from howsure.stitch.model.problem import family_of
from howsure.stitch.scale import Scale
from howsure.tables.frames import parts_of
from howsure.tables.spellings import merge_models, told_apart

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Rows

__all__ = ["SCALES", "Link", "ScaleMap", "map_scales", "read_scale", "read_scales"]

SCALES: Mapping[str, tuple[str, str]] = {
    "capability": ("Capability", "units of the scale"),
    "minutes": ("Time horizon", "expert minutes"),
    "attempts": ("N-attempt horizon", "novice attempts"),
}
"""What can be joined, with title and unit: capability as it is, horizons as logarithms."""

_FEWEST = 4


@dataclass(frozen=True, eq=False)
class Link:
    """How ``y`` goes with ``x`` over the models that have both: a line (in log₂ of horizons), a correlation and the points.

    ``slope`` says how far y rises with one unit of x (doublings for horizons, units for capability); its interval includes that versions of a family
    resemble each other and that capabilities are estimates, and that of ``correlation`` the former, as those of `howsure.stitch.forecasting.horizon_map`.
    """

    x: str
    y: str
    line: Line | None
    slope: Estimate
    correlation: Estimate
    points: pl.DataFrame

    def predict(self, value: float, level: float = 0.95) -> Estimate:
        """What a model with this x has of y, with the interval for one new model."""
        if self.line is None:
            return self.correlation
        at = _to(self.x, value)
        low, high = self.line.prediction(at, level)
        return Estimate(float(self.line.predict(at)), float(low), float(high), level).map(
            lambda number: _from(self.y, number)
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScaleMap(Result):
    """How capability, time horizon and attempt horizon predict each other.

    Parameters
    ----------
    links : tuple[Link, ...]
        One entry per ordered pair of scales.
    models : pl.DataFrame
        One row per model, with its values on all scales.
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name = "scales"

    links: tuple[Link, ...]
    models: pl.DataFrame
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``scales`` (one row per pair: x, y, n, slope, correlation, r2) and ``scale_models`` (one row per model)."""
        rows = [
            {"x": link.x, "y": link.y, "n": len(link.points)}
            | columns_of(slope=link.slope, correlation=link.correlation)
            | {"r2": link.line.r2 if link.line else None}
            for link in self.links
        ]
        return {"scales": pl.DataFrame(rows, infer_schema_length=None), "scale_models": self.models}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.bridges.sections import map_section

        return [map_section(self)]

    def charts(self) -> dict[str, Chart]:
        """One chart per pair, by file name."""
        from howsure.bridges.charts import draw_link

        return {
            f"{link.x}_{link.y}": draw_link(link, self.level)
            for link in self.links
            if link.line and list(SCALES).index(link.x) < list(SCALES).index(link.y)
        }


@checked
def map_scales(
    scales: Mapping[str, Rows] | Sequence[str | os.PathLike[str]],
    *,
    success_rate: float = 0.5,
    level: float = 0.95,
    names: str | os.PathLike[str] | None = None,
) -> ScaleMap:
    """Join scales by the models' names, and regress each on each.

    Horizons are taken as log₂. The error of x is not corrected for: a noisy x makes the line flatter, never steeper.

    Parameters
    ----------
    scales : mapping of str to polars or pandas DataFrame, or sequence of paths
        ``capability``, ``minutes`` and ``attempts`` (at least two of them), each a frame with the columns model, value and, if known,
        low, high, family, and draws (the value in each replicate, as a list); or folders of results, read by `read_scales`.
    success_rate : float
        Horizons at this success rate are taken from folders, between 0 and 1.
    level : float
        Coverage of the intervals, between 0 and 1.
    names : str or path, optional
        A file that says which names are the same model, as ``howsure names --save`` writes it. A note tells of others that may be.

    Raises
    ------
    InputError
        If fewer than 4 models are on two scales, or if the file of names makes one model of two on one scale.
    """
    if isinstance(scales, Mapping):
        frames = {name: parts_of(frame)[0].rows.collect() for name, frame in scales.items()}
    else:
        frames = read_scales(scales, success_rate)
    if names:
        frames = {name: merge_models(frame, names, name) for name, frame in frames.items()}
    return _map(frames, level)


def _map(scales: Mapping[str, pl.DataFrame], level: float) -> ScaleMap:
    check_level(level)
    for name in scales:
        if name not in SCALES:
            raise OptionError.unknown("scale", name, SCALES)
    if len(scales) < 2:
        raise OptionError("One scale cannot be compared with itself. Give two or three.")
    joined = _joined(scales)
    links = tuple(_link(x, y, joined, scales, level) for x, y in itertools.permutations(scales, 2))
    if all(link.line is None for link in links):
        counts = ", ".join(f"{len(link.points)} on {link.x} and {link.y}" for link in links[:1])
        raise InputError(
            f"Too few models are on two scales ({counts}; {_FEWEST} are needed). Their names must be the same. "
            f"{' '.join(_told_apart(scales))}".rstrip()
        )
    notes = [f"{len(frame):,} models have a {SCALES[name][0].lower()}." for name, frame in scales.items()]
    notes += _told_apart(scales)
    provenance = Provenance({"level": level, "scales": list(scales)}, notes=tuple(notes))
    return ScaleMap(links=links, models=joined, level=level, provenance=provenance)


def _told_apart(scales: Mapping[str, pl.DataFrame]) -> list[str]:
    """A note on models that may be the same under two names."""
    return told_apart({"models": Counter(model for frame in scales.values() for model in frame["model"])})


def read_scale(path: str | os.PathLike[str], success_rate: float = 0.5) -> tuple[str, pl.DataFrame]:
    """A scale from what an instrument saved: its name, and a frame with model, value and, where known, low, high, family and draws.

    Parameters
    ----------
    path : str or path
        models.csv of a fit, placed.csv, time_horizons.csv or horizons.csv, or the folder that has one of them.
    success_rate : float
        Horizons at this success rate are taken, of several definitions the first. Models out of range have no value and are excluded.
    """
    given = Path(path)
    names = {
        "models.csv": "capability",
        "placed.csv": "capability",
        "time_horizons.csv": "minutes",
        "horizons.csv": "attempts",
    }
    found = [given] if given.is_file() else [given / name for name in names if (given / name).is_file()]
    if not found or found[0].name not in names:
        raise InputError(f"{path}: contains no scale. Name a folder or file of {', '.join(names)}.")
    kind = names[found[0].name]
    frame = unguarded(pl.scan_csv(found[0], infer_schema_length=None)).collect()
    column = {"capability": "capability", "minutes": "minutes", "attempts": "horizon"}[kind]
    if column not in frame.columns:
        raise InputError(f"{found[0]}: has no column {column!r}, so it is not what Howsure wrote. Name its folder.")
    frame = frame.rename({f"{column}_{end}": end for end in ("low", "high", "state")}, strict=False)
    if "success_rate" in frame.columns:
        rates = frame["success_rate"].unique().sort().to_list()
        frame = frame.filter((pl.col("success_rate") - success_rate).abs() < 1e-9)
        if rates and frame.is_empty():
            there = ", ".join(f"{rate:g}" for rate in rates)
            raise InputError(f"{found[0]}: has no horizons at success rate {success_rate:g}, but at {there}.")
        frame = frame.unique("model", keep="first", maintain_order=True)
    if "state" in frame.columns:
        frame = frame.filter(pl.col("state") == "ok")
    ends = [name for name in ("low", "high") if name in frame.columns]
    family = [name for name in ("family",) if kind == "capability" and name in frame.columns]
    chosen = frame.select("model", pl.col(column).alias("value"), *ends, *family).drop_nulls("value")
    drawn = _draws(found[0].parent) if found[0].name == "models.csv" else None
    return kind, chosen if drawn is None else chosen.join(drawn, on="model", how="left", maintain_order="left")


def read_scales(paths: Sequence[str | os.PathLike[str]], success_rate: float = 0.5) -> dict[str, pl.DataFrame]:
    """The scales in these folders or files, by name; several of one scale (a fit, and models placed on it) are joined.

    Parameters
    ----------
    paths : sequence of paths
        What `read_scale` reads.
    success_rate : float
        Horizons at this success rate are taken, between 0 and 1.

    Raises
    ------
    InputError
        If a model is in two of them on the same scale.
    """
    scales: dict[str, pl.DataFrame] = {}
    for path in paths:
        kind, frame = read_scale(path, success_rate)
        known = scales.get(kind, frame.clear())
        both = known.join(frame, on="model", how="semi")["model"]
        if len(both):
            raise InputError(f"{path}: {both[0]} is on the scale {kind!r} already. Name one folder for each model.")
        scales[kind] = pl.concat([known, frame], how="diagonal_relaxed")
    return scales


def _joined(scales: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    joined = pl.DataFrame({"model": []}, schema={"model": pl.String})
    for name, frame in scales.items():
        own = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
        known = frame.select("model", *(pl.col(old).alias(new) for old, new in own.items() if old in frame.columns))
        missing = [pl.lit(None, pl.Float64).alias(new) for new in own.values() if new not in known.columns]
        joined = joined.join(
            known.with_columns(missing), on="model", how="full", coalesce=True, maintain_order="left_right"
        )
    return joined


def _draws(folder: Path) -> pl.DataFrame | None:
    """The capabilities of a saved fit in each usable replicate: model, draws; None where it has none."""
    if not list(folder.glob(f"{Scale.name}{ENDING}")):
        return None
    scale = Scale.load(folder)
    if scale.usable_replicates is None:
        return None
    drawn = np.where(
        np.isnan(scale.usable_replicates.capability), scale.estimate.capability, scale.usable_replicates.capability
    )
    return pl.DataFrame({"model": scale.problem.models, "draws": drawn.T.tolist()})


def _stacked(name: str, scale: pl.DataFrame, models: Sequence[str], values: Floats) -> Floats | None:
    """Replicates of these models' values, one row each; a model without any stays at its value."""
    if "draws" not in scale.columns:
        return None
    known = {model: draws for model, draws in scale.select("model", "draws").iter_rows() if draws is not None}
    n = min((len(known[model]) for model in models if model in known), default=0)
    columns = [
        [_to(name, one) for one in known[model][:n]] if model in known else [value] * n
        for model, value in zip(models, values, strict=True)
    ]
    return np.array(columns, dtype=np.float64).T if n else None


def _families(scales: Mapping[str, pl.DataFrame], models: Sequence[str]) -> Ints:
    """Each model's family: as a scale names it, else by its name."""
    named = {
        model: family
        for scale in scales.values()
        if "family" in scale.columns
        for model, family in scale.select("model", "family").drop_nulls().iter_rows()
    }
    return codes([named.get(model) or family_of(model) for model in models], "family")


def _link(x: str, y: str, joined: pl.DataFrame, scales: Mapping[str, pl.DataFrame], level: float) -> Link:
    columns = [pl.col(x).alias("x"), *(pl.col(f"{y}{end}").alias(f"y{end}") for end in ("", "_low", "_high"))]
    points = joined.select("model", *columns).drop_nulls(["x", "y"])
    across, up = (np.array([_to(name, value) for value in points[axis]]) for name, axis in ((x, "x"), (y, "y")))
    if len(points) < _FEWEST or np.ptp(across) == 0:
        reason = f"{len(points)} models on both; {_FEWEST} with different values are needed"
        none = Estimate.without("too_few", reason, level=level)
        return Link(x, y, None, none, none, points)
    models = points["model"].to_list()
    drawn = {
        axis: _stacked(name, scales[name], models, values) for axis, name, values in (("x", x, across), ("y", y, up))
    }
    family = _families(scales, models)
    slope = clustered_slope(across, up, family, level=level, drawn_x=drawn["x"], drawn_y=drawn["y"])
    line = fit_line(across, up, level=level)
    return Link(x, y, line, slope, correlation(across, up, clusters=family, level=level).estimate, points)


def _to(scale: str, value: float) -> float:
    return value if scale == "capability" else math.log2(value)


def _from(scale: str, value: float) -> float:
    return value if scale == "capability" else 2.0**value
