"""What capability says about time horizons: how long the tasks are that a model can do."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, plain
from howsure.stats._arrays import Floats, Ints, check_level, codes
from howsure.stats.correlation import correlation
from howsure.stats.replicates import hierarchical_weights, replicate_interval
from howsure.stats.trends import Line, clustered_slope, fit_line
from howsure.stitch.scale import Scale
from howsure.tables.frames import Part, parts_of
from howsure.tables.spellings import merge_models, propose, told_apart

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["HorizonMap", "held_out_r2", "map_horizons", "read_horizons"]

_SPELLINGS = {
    "model": ("model", "Model version", "subject"),
    "minutes": ("minutes", "Time horizon", "horizon"),
    "minutes_low": ("minutes_low", "low", "CI_low"),
    "minutes_high": ("minutes_high", "high", "CI_high"),
}
_FEWEST = 5
_FEWEST_FAMILIES = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class HorizonMap(Result):
    """Time horizons as a function of capability: ln(minutes) = a + b·capability.

    Parameters
    ----------
    line : Line
        Ordinary least squares.
    slope : Estimate
        The slope b; its interval includes the correlation within families and the errors of the capabilities.
    correlation : Estimate
        Correlation of ln(minutes) and capability, with an interval over families.
    held_out_r2 : Estimate
        Share of variance explained in families that were not used for the fit; below 0 where the line is worse than the mean.
    points : pl.DataFrame
        Models with a published horizon.
    models : pl.DataFrame
        Predicted horizons of all models.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "horizon_map"

    line: Line
    slope: Estimate
    correlation: Estimate
    held_out_r2: Estimate
    points: pl.DataFrame
    models: pl.DataFrame
    provenance: Provenance

    @property
    def doublings(self) -> Estimate:
        """How often the horizon doubles for one unit of capability."""
        return self.slope.map(lambda b: b / math.log(2))

    def minutes(self, capability: float) -> Estimate:
        """The horizon of a model with this capability, with the interval for one new model."""
        low, high = self.line.prediction(capability, self.slope.level)
        value = float(self.line.predict(capability))
        return Estimate(value, float(low), float(high), self.slope.level).map(math.exp)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The horizon of every model of the scale by the line (main), and the models with a published horizon."""
        return {"horizon_map": self.models, "horizon_points": self.points}

    def as_dict(self) -> dict[str, Any]:
        """The slope, the correlation and how well the line predicts, the tables and the provenance as plain JSON."""
        return {
            "n_models": self.line.n,
            "ln_minutes_per_capability": plain(self.slope),
            "ln_minutes_per_capability_ols": plain(self.line.slope),
            "doublings_per_capability": plain(self.doublings),
            "correlation": plain(self.correlation),
            "r2": self.line.r2,
            "held_out_r2": plain(self.held_out_r2),
            **super().as_dict(),
        }

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import horizon_section

        return [horizon_section(self)]

    def charts(self) -> dict[str, Chart]:
        """Published horizons over capability, by file name."""
        from howsure.stitch.forecasting.charts import draw_horizon_map

        return {"horizon_map": draw_horizon_map(self)}


@checked
def map_horizons(
    scale: Scale | str | os.PathLike[str],
    horizons: Source | Mapping[str, float],
    *,
    level: float = 0.95,
    n_replicates: int = 1000,
    seed: int = 0,
    names: str | os.PathLike[str] | None = None,
) -> HorizonMap:
    """Regress published time horizons on capability, and say how well that predicts held-out families.

    Parameters
    ----------
    scale : Scale or path
        A finished scale.
    horizons : mapping, frame or path
        Columns model and minutes (or Epoch's Model version and Time horizon) and, if known, minutes_low and minutes_high.
    level : float
        Coverage of the intervals, between 0 and 1.
    n_replicates : int
        Resamples of families, each with a replicate's capabilities, that make the interval of the held-out R².
    seed : int
        The same seed gives the same numbers.
    names : str or path, optional
        A file that says which names are the same model, as ``howsure names --save`` writes it. A note tells of others that may be.
    """
    scale = Scale.loaded(scale)
    check_level(level)
    table, on_scale = read_horizons(horizons), pl.DataFrame({"model": scale.problem.models})
    on_scale = on_scale.with_columns(on_scale=pl.col("model"), place=pl.int_range(len(on_scale)))
    if names:
        table, on_scale = merge_models(table, names, "the horizons"), merge_models(on_scale, names, "the scale")
    rows = table.join(on_scale, on="model", maintain_order="left").with_columns(model=pl.col("on_scale"))
    apart = _told_apart(table.join(on_scale, on="model", how="anti")["model"].to_list(), scale.problem.models)
    at = rows["place"].to_numpy().astype(np.int64)
    family = codes([scale.problem.families[i] for i in at], "family") if len(at) else at
    if len(at) < _FEWEST or len(set(family.tolist())) < _FEWEST_FAMILIES:
        raise InputError(
            f"{len(at)} of {len(table)} models with a time horizon are on the scale; a map needs {_FEWEST}, of {_FEWEST_FAMILIES} families. "
            f"Their names must be those of the scores. {' '.join(apart)}".rstrip()
        )
    x, y = scale.estimate.capability[at], np.log(rows["minutes"].to_numpy())
    replicates = scale.usable_replicates
    drawn = np.empty((0, len(at))) if replicates is None else replicates.capability[:, at]
    drawn = np.where(np.isnan(drawn), x, drawn)
    line = fit_line(x, y, level=level)
    notes = (*scale.provenance.notes, *_notes(scale, len(table), len(at)), *apart)
    settings = {"level": level, "n_replicates": n_replicates, "scale": scale.provenance.settings}
    return HorizonMap(
        line=line,
        slope=clustered_slope(x, y, family, level=level, drawn_x=drawn),
        correlation=correlation(x, y, clusters=family, level=level).estimate,
        held_out_r2=_held_out(x, y, family, drawn, level, n_replicates, seed),
        points=_points(scale, rows, line, x, y, family),
        models=_predictions(scale, rows, line, level),
        provenance=Provenance(settings, scale.provenance.digest, seed, notes),
    )


def read_horizons(horizons: Source | Mapping[str, float]) -> pl.DataFrame:
    """Checked horizons: model, minutes, minutes_low, minutes_high (null where none is given). Rows without minutes are excluded."""
    if isinstance(horizons, Mapping):
        horizons = pl.DataFrame({"model": list(horizons), "minutes": list(horizons.values())})
    part = parts_of(horizons)[0].parsed()
    frame = part.collect(part.rows)
    found = {ours: next((name for name in names if name in frame.columns), None) for ours, names in _SPELLINGS.items()}
    for needed in ("model", "minutes"):
        if found[needed] is None:
            where = f"{part.path}: " if part.path else ""
            raise InputError(f"{where}no column {needed!r} in {', '.join(frame.columns)}. Rename the column.")
    columns = [
        (pl.col(theirs) if theirs else pl.lit(None))
        .cast(pl.String if ours == "model" else pl.Float64, strict=False)
        .alias(ours)
        for ours, theirs in found.items()
    ]
    named = frame.select(columns)
    _refuse_wrong(part, frame[str(found["minutes"])], named)
    return named.drop_nulls(["model", "minutes"])


def held_out_r2(x: Floats, y: Floats, family: Ints, weights: Floats | None = None) -> Floats:
    r"""The share of the variance of y that lines fitted without a point's family explain.

    .. math:: 1 - \frac{\sum w_i (y_i - \hat y_{-f(i)}(x_i))^2}{\sum w_i (y_i - \bar y_{-f(i)})^2}

    ``x`` and ``weights`` may have leading axes. NaN where a family is all there is.
    """
    w = np.ones_like(x) if weights is None else weights
    is_member = (family[:, None] == np.arange(family.max() + 1)).astype(np.float64)

    def others(values: Floats) -> Floats:
        """For each point the sum over the points of other families."""
        total = values.sum(axis=-1, keepdims=True) - values @ is_member
        return np.asarray(total[..., family])

    with np.errstate(divide="ignore", invalid="ignore"):
        n = others(w)
        x_mean, y_mean = others(w * x) / n, others(w * y) / n
        spread = others(w * x * x) / n - x_mean**2
        slope = np.where(spread > 1e-12, (others(w * x * y) / n - x_mean * y_mean) / spread, np.nan)
        missed = (w * (y - y_mean - slope * (x - x_mean)) ** 2).sum(axis=-1)
        return np.asarray(1 - missed / (w * (y - y_mean) ** 2).sum(axis=-1))


def _held_out(
    x: Floats, y: Floats, family: Ints, drawn: Floats, level: float, n_replicates: int, seed: int
) -> Estimate:
    value = float(held_out_r2(x, y, family))
    rng = np.random.default_rng(seed)
    weights = hierarchical_weights([family], n_replicates, rng)
    capability = np.resize(drawn, weights.shape) if len(drawn) else np.broadcast_to(x, weights.shape)
    found = held_out_r2(capability, y, family, weights)
    if not math.isfinite(value):
        return Estimate.without("too_few", "there are too few families for a jackknife", level=level)
    return replicate_interval(np.where(np.isfinite(found), found, np.nan), level).estimate(value, level=level)


def _points(scale: Scale, rows: pl.DataFrame, line: Line, x: Floats, y: Floats, family: Ints) -> pl.DataFrame:
    held = [fit_line(x[family != f], y[family != f]).predict(x[i]) for i, f in enumerate(family)]
    return rows.select(
        "model",
        pl.Series("family", [scale.problem.families[scale.problem.model_at(name)] for name in rows["model"]]),
        pl.Series("capability", x),
        "minutes",
        "minutes_low",
        "minutes_high",
        pl.Series("fitted", np.exp(line.predict(x))),
        pl.Series("held_out", np.exp(np.array(held, dtype=np.float64))),
    ).sort("capability")


def _predictions(scale: Scale, rows: pl.DataFrame, line: Line, level: float) -> pl.DataFrame:
    capability = scale.estimate.capability
    low, high = line.prediction(capability, level)
    ends = {"minutes": line.predict(capability), "minutes_low": low, "minutes_high": high}
    frame = pl.DataFrame(
        {"model": scale.problem.models, "capability": capability} | {k: np.exp(v) for k, v in ends.items()}
    )
    published = rows.select("model", pl.col("minutes").alias("published"))
    return frame.join(published, on="model", how="left").sort("capability", "model", descending=[True, False])


def _refuse_wrong(part: Part, written: pl.Series, named: pl.DataFrame) -> None:
    """A horizon is a number above 0, and a model has one."""
    wrong = (written.is_not_null() & named["minutes"].is_null()) | ~(named["minutes"] > 0).fill_null(True)
    if written.dtype == pl.String:
        wrong &= written != ""
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise InputError(
            f"{part.where(row)}: a time horizon of {written[row]} ({named['model'][row]}). Give minutes above 0, or leave it empty."
        )
    twice = named.drop_nulls(["model", "minutes"]).filter(pl.col("model").is_duplicated())
    if len(twice):
        raise InputError(f"{part.path or 'The horizons'}: {twice['model'][0]} has two rows. Keep one row per model.")


def _told_apart(absent: Sequence[str], on_scale: Sequence[str]) -> list[str]:
    """A note on horizons of models that may be on the scale under another name."""
    merges = [
        one
        for one in propose({"models": Counter([*absent, *on_scale])})
        if (one.name in absent) != (one.into in absent)
    ]
    return told_apart({"models": Counter(name for one in merges for name in (one.name, one.into))})


def _notes(scale: Scale, n_given: int, n_used: int) -> list[str]:
    absent = n_given - n_used
    notes = [f"{absent} of {n_given} models with a time horizon are not on the scale."] if absent else []
    if scale.without_replicates:
        notes.append(f"Intervals do not include the uncertainty of the capabilities: {scale.without_replicates}.")
    return notes
