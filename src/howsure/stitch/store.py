"""A scale as files, and back."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.frames import parts_of, write_frame
from howsure.results import Provenance, plain, write_json
from howsure.safe_io import read_bytes
from howsure.stitch.cleaning import clean
from howsure.stitch.solver.gauge import Aligned
from howsure.stitch.solver.layout import Floats
from howsure.stitch.solver.noise import Noise
from howsure.stitch.solver.problem import Problem
from howsure.stitch.solver.replicates import Replicates
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.stitch.scale import Scale

__all__ = ["load", "save"]

_KINDS = ("capability", "difficulty", "slope", "trait", "loading")
_TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("model", "benchmark", "state", "interval_state", "family", "organisation"), pl.String),
    **dict.fromkeys(("n_benchmarks", "n_models", "rank"), pl.Int64),
    "date": pl.Date,
}
_FILES = ("fit.json", "models.csv", "benchmarks.csv", "scores.csv")


def save(scale: Scale, folder: Path) -> list[Path]:
    """Write the scale; floats are written so that they are read back as they were."""
    written = [
        write_frame(scale.models, folder / "models.csv"),
        write_frame(scale.benchmarks, folder / "benchmarks.csv"),
        write_frame(scale.pairs(), folder / "pairs.csv"),
        write_frame(scale.problem.to_frame(), folder / "scores.csv"),
        write_json(_told(scale), folder / "fit.json"),
    ]
    replicates = folder / "replicates.parquet"
    if scale.replicates is not None:
        return [*written, write_frame(_replicate_frame(scale.problem, scale.replicates), replicates)]
    replicates.unlink(missing_ok=True)
    return written


def load(folder: Path) -> Scale:
    """The scale that `save` wrote to this folder."""
    from howsure.stitch.scale import CapabilityPrior, Facts, Scale

    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder}: no saved scale, since {missing[0]} is not there. Name the folder that a fit was written to."
        )
    told = _read_json(folder / "fit.json")
    problem = clean(Scores(folder / "scores.csv"))
    models, benchmarks = _read_csv(folder / "models.csv"), _read_csv(folder / "benchmarks.csv")
    try:
        noise, prior, day = told["noise"], told["prior"], told["prior"]["mean_date"]
        return Scale(
            models,
            benchmarks,
            Facts(**{field.name: told[field.name] for field in fields(Facts)}),
            problem,
            _estimate(problem, models, benchmarks),
            Noise(np.array(noise["variance"]), np.array(noise["degrees"]), noise["shape"], noise["correlation"]),
            CapabilityPrior(**{**prior, "mean_date": date.fromisoformat(day) if day else None}),
            told["is_by_noise"],
            told["level"],
            _read_replicates(folder / "replicates.parquet", problem),
            Provenance(told["settings"], told["digest"], told["seed"], tuple(told["notes"]), told["version"]),
        )
    except (KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{folder}: not a whole saved scale ({error}). Make the fit again.") from None


def _told(scale: Scale) -> dict[str, Any]:
    drawn, made = scale.replicates, scale.provenance
    return {
        **plain(scale.facts),
        "level": scale.level,
        "n_replicates": 0 if drawn is None else len(drawn),
        "n_failed": 0 if drawn is None else drawn.n_failed,
        "settings": made.settings,
        "seed": made.seed,
        "digest": made.digest,
        "version": made.version,
        "notes": made.notes,
        "noise": scale.noise,
        "prior": scale.prior,
        "is_by_noise": scale.is_by_noise,
    }


def _replicate_frame(problem: Problem, drawn: Replicates) -> pl.DataFrame:
    """One row a replicate, one column a parameter, called kind/name."""
    parts = [(kind, values) for kind in _KINDS if (values := getattr(drawn, kind)) is not None]
    return pl.DataFrame(
        {
            f"{kind}/{name}": values[:, index]
            for kind, values in parts
            for index, name in enumerate(_names(problem, kind))
        }
    )


def _names(problem: Problem, kind: str) -> tuple[str, ...]:
    return problem.models if kind in ("capability", "trait") else problem.benchmarks


def _read_json(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(read_bytes(path))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}). Make the fit again.") from None
    return told if isinstance(told, dict) else {}


def _read_csv(path: Path) -> pl.DataFrame:
    frame = parts_of(path)[0].parsed().rows.collect()
    kinds = {name: _TYPES.get(name, pl.Float64) for name in frame.columns}
    try:
        return frame.with_columns(
            pl.col(name).str.to_date() if kind is pl.Date else pl.col(name).cast(kind) for name, kind in kinds.items()
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{path}: not as a fit writes it ({str(error).splitlines()[0]}). Make the fit again."
        ) from None


def _estimate(problem: Problem, models: pl.DataFrame, benchmarks: pl.DataFrame) -> Aligned:
    """The numbers of the two tables, in the problem's order."""
    by_name = models.sort("model"), benchmarks.sort("benchmark")
    if tuple(by_name[0]["model"]) != problem.models or tuple(by_name[1]["benchmark"]) != problem.benchmarks:
        raise KeyError("the tables name other models or benchmarks than the scores")
    found = [next((t[kind].to_numpy() for t in by_name if kind in t.columns), None) for kind in _KINDS]
    return Aligned(*found)  # type: ignore[arg-type]


def _read_replicates(path: Path, problem: Problem) -> Replicates | None:
    if not path.is_file():
        return None
    frame = pl.read_parquet(path)
    parts: list[Floats] = [
        np.ascontiguousarray(frame.select(f"{kind}/{name}" for name in _names(problem, kind)).to_numpy())
        for kind in _KINDS
        if f"{kind}/{_names(problem, kind)[0]}" in frame.columns
    ]
    return Replicates.of(parts)
