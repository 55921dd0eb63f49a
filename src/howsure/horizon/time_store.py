"""Time horizons as files, and back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.frames import parts_of
from howsure.horizon.runs import count_table
from howsure.horizon.time_curves import Curves, fit_curves, timed
from howsure.horizon.time_horizon import TimeHorizons, assemble
from howsure.horizon.time_states import OUTCOMES
from howsure.results import Provenance
from howsure.safe_io import read_bytes

__all__ = ["load"]

_FILES = ("time_horizons.json", "task_counts.csv")


def load(folder: Path) -> TimeHorizons:
    """What `TimeHorizons.save` wrote: curves are fitted anew from the counts, replicates are read."""
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder}: no saved time horizons, since {missing[0]} is not there. Name the folder that `howsure horizon time -o` wrote."
        )
    try:
        told = json.loads(read_bytes(folder / _FILES[0]))["provenance"]
        made = Provenance(told["settings"], told["digest"], told["seed"], tuple(told["notes"]), told["version"])
        (part,) = parts_of(folder / _FILES[1])
        settings = made.settings
        data = timed(
            count_table(part.parsed().rows.collect()),
            weights=settings["weights"],
            regularisation=settings["regularisation"],
        )
        drawn = _replicates(folder / "replicates.parquet", data.counts.models)
        return assemble(data, fit_curves(data), drawn, made)
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        told_error = str(error).strip().partition("\n")[0]
        raise InputError(f"{folder}: not whole time horizons ({told_error}). Write them again.") from None


def _replicates(path: Path, models: tuple[str, ...]) -> Curves | None:
    if not path.is_file():
        return None
    frame = pl.read_parquet(path)
    if tuple(frame["model"][: len(models)]) != models:
        raise ValueError("replicates.parquet names other models")
    code = {name: kind for kind, name in OUTCOMES.items()}
    outcome = frame["outcome"].replace_strict(code, return_dtype=pl.Int64).to_numpy()
    columns = [frame[name].fill_null(np.nan).to_numpy() for name in ("intercept", "slope")]
    intercept, slope, states = (column.reshape(-1, len(models)) for column in (*columns, outcome))
    return Curves(intercept, slope, states)
