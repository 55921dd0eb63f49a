"""Where on the scale benchmarks are missing, which new benchmark would say most about the frontier, and which scores to collect next."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
from scipy.special import expit

from howsure.arguments import checked
from howsure.errors import OptionError
from howsure.results import Provenance, Result
from howsure.stats._arrays import Floats
from howsure.stats.replicates import replicate_interval
from howsure.stitch.model.problem import Aligned
from howsure.stitch.placing import information_at, information_frame
from howsure.stitch.prediction import predict
from howsure.stitch.scale import Scale

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section

__all__ = ["BenchmarkGaps", "gaps"]

_STEPS = 61
_GAP = 1.5  # times the median standard error: where a model is measured so much worse, benchmarks are missing
_ITEMS = 200  # of a new benchmark
_TELLING = (0.1, 0.9)  # expected shares at which a score tells models apart


@dataclass(frozen=True, eq=False, kw_only=True)
class BenchmarkGaps(Result):
    """How well the benchmarks measure models of each capability, and what to add.

    Parameters
    ----------
    precision : pl.DataFrame
        capability, sd (standard error of a model with that capability and a score on every benchmark) with interval, n_telling (benchmarks on which it is expected between 10 and 90 % of the way
        from floor to ceiling), n_models (within half a step), best_benchmark, is_gap.
    new_benchmarks : pl.DataFrame
        difficulty of a new benchmark with the median slope and noise, gain (by which share the standard error that the best models have now would fall) with interval, the largest first.
    priorities : pl.DataFrame
        Scores that the best models lack: model, benchmark, expected, sd_now, sd_after, the largest gain first.
    frontier : float
        Mean capability of the best models.
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, digest of the input, version and notes.
    """

    name: ClassVar[str] = "gaps"

    precision: pl.DataFrame
    new_benchmarks: pl.DataFrame
    priorities: pl.DataFrame
    frontier: float
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Precision along the scale (main), new benchmarks, and scores to collect."""
        return {"gaps": self.precision, "new_benchmarks": self.new_benchmarks, "priorities": self.priorities}

    def ranges(self) -> list[tuple[float, float]]:
        """Stretches of the scale in which benchmarks are missing."""
        found: list[tuple[float, float]] = []
        last = None
        for capability, is_gap in self.precision.select("capability", "is_gap").rows():
            if is_gap and last is None:
                last = capability
            if not is_gap and last is not None:
                found.append((last, capability))
                last = None
        return [*found, (last, self.precision["capability"][-1])] if last is not None else found

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import gap_section

        return [gap_section(self)]

    def charts(self) -> dict[str, Chart]:
        """Precision along the scale, with the benchmarks' difficulties."""
        from howsure.stitch.charts import draw_gaps

        return {"gaps": draw_gaps(self)}


@checked
def gaps(scale: Scale | str | os.PathLike[str], *, n_models: int = 10) -> BenchmarkGaps:
    r"""Where benchmarks are missing, and which to add.

    .. math:: \mathrm{sd}(c) = \Big(\sum_b \frac{(s_b\, a_b\, p_b (1 - p_b))^2}{\mathrm{Var}(y_b)}\Big)^{-1/2}

    is the standard error of a model of capability c that has a score on every benchmark: p is the expected share of the way from floor to ceiling, s the distance from floor to ceiling and
    a the slope. A gap is where it exceeds 1.5 times its median over the scale's models. A new benchmark has the median slope and noise of the others, 200 items and no floor.

    Parameters
    ----------
    scale : Scale or path
        A finished scale.
    n_models : int
        How many of the best models count as the frontier.
    """
    scale = Scale.loaded(scale)
    if not 1 <= n_models <= len(scale.models):
        raise OptionError(f"n_models is {n_models}; choose from 1 to {len(scale.models)}, the number of models.")
    of, capability = scale.estimate, scale.estimate.capability
    best = scale.models["model"].head(n_models).to_list()
    frontier = float(scale.models["capability"].head(n_models).mean())  # type: ignore[arg-type]
    step = float(np.ptp(capability)) / (_STEPS - 10)
    grid = np.linspace(capability.min() - step, capability.max() + 10 * step, _STEPS)
    information, share = _information(scale, of, grid)
    sd = information.sum(axis=1) ** -0.5
    drawn = scale.usable_replicates
    rows = (
        []
        if drawn is None
        else [_information(scale, drawn.row(r), grid)[0].sum(axis=1) ** -0.5 for r in range(len(drawn))]
    )
    interval = replicate_interval(np.array(rows).reshape(-1, len(grid)), scale.level)
    usual = float(np.median(_information(scale, of, capability)[0].sum(axis=1) ** -0.5))
    width = grid[1] - grid[0]
    precision = pl.DataFrame(
        {
            "capability": grid,
            "sd": sd,
            "sd_low": interval.low,
            "sd_high": interval.high,
            "n_telling": ((share > _TELLING[0]) & (share < _TELLING[1])).sum(axis=1),
            "n_models": [int((np.abs(capability - one) <= width / 2).sum()) for one in grid],
            "best_benchmark": [scale.problem.benchmarks[i] for i in information.argmax(axis=1)],
            "is_gap": sd > _GAP * usual,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    priorities = _priorities(scale, best)
    told = {"n_models": n_models, "usual_sd": usual, "scale": scale.provenance.settings}
    return BenchmarkGaps(
        precision=precision,
        new_benchmarks=_new(scale, frontier, grid, priorities),
        priorities=priorities,
        frontier=frontier,
        level=scale.level,
        provenance=Provenance(told, scale.provenance.digest, None, scale.provenance.notes),
    )


def _information(scale: Scale, of: Aligned, at: Floats) -> tuple[Floats, Floats]:
    """What a score on each benchmark says about a model of each capability, and its expected share: (n, n_benchmarks)."""
    share = expit(of.slope * (at[:, None] - of.difficulty))
    return np.maximum(information_at(scale, of, share), 1e-12), share


def _new(scale: Scale, frontier: float, grid: Floats, priorities: pl.DataFrame) -> pl.DataFrame:
    """How much a new benchmark of each difficulty would narrow the standard error that the best models have now."""
    now = (
        float(np.median(priorities.unique("model", maintain_order=True)["sd_now"].to_numpy())) ** -2
        if len(priorities)
        else 1e-12
    )
    usual = int(np.argsort(scale.noise.variance, kind="stable")[len(scale.noise.variance) // 2])

    def gain(of: Aligned) -> Floats:
        slope = float(np.median(of.slope))
        share = expit(slope * (frontier - grid))
        noise = scale.noise.of(share, np.full(len(grid), usual), share * (1 - share) / _ITEMS)
        added = (slope * share * (1 - share)) ** 2 / noise
        return np.asarray(1 - np.sqrt(now / (now + added)))

    drawn = scale.usable_replicates
    rows = [] if drawn is None else [gain(drawn.row(r)) for r in range(len(drawn))]
    interval = replicate_interval(np.array(rows).reshape(-1, len(grid)), scale.level)
    frame = pl.DataFrame(
        {"difficulty": grid, "gain": gain(scale.estimate), "gain_low": interval.low, "gain_high": interval.high}
    )
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None)).sort("gain", descending=True)


def _priorities(scale: Scale, models: list[str]) -> pl.DataFrame:
    """Scores that the best models lack, the largest reduction of a standard error first."""
    parts = [
        information_frame(scale, name).select(pl.lit(name).alias("model"), "benchmark", "sd_now", "sd_after")
        for name in models
    ]
    expected = predict(scale, models).scores.select("model", "benchmark", "expected")
    lacking = pl.concat(parts, how="vertical_relaxed").join(expected, on=["model", "benchmark"], maintain_order="left")
    return lacking.select("model", "benchmark", "expected", "sd_now", "sd_after").sort(
        pl.col("sd_after") - pl.col("sd_now"), "model", "benchmark"
    )
