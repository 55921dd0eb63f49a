"""The capability scale: many models on many benchmarks, and the cast placed on it by its games of Track the Stat."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from howsure import sources
from howsure.bridges.placing import place_attempts, scores_of
from howsure.charts.export import to_spec
from howsure.charts.page import title_and_caption
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.results.blocks import ChartBlock, Section, TableBlock, Text
from howsure.stitch.forecasting.frontier_forecast import forecast
from howsure.stitch.scale import Scale, fit
from howsure.stitch.sections import forecast_section, scale_section
from howsure.tables import Attempts, Scores
from howsure.tour.games import Games
from howsure.tour.stops import KnownEstimate, TourSettings, TourStatistic, TourStop
from howsure.tour.world import BENCHMARK, World

__all__ = ["epoch_part", "place_part", "read_epoch", "stitch_part"]

_STITCH = "Stitch"
_CAPABILITY = TourStatistic("Capability", "units of the scale")
_PLACED = TourStatistic("Capability from the game alone", "units of the scale")


def stitch_part(world: World, settings: TourSettings) -> tuple[TourStop, Scale]:
    """Many models on twenty benchmarks, and the scale that later models are placed on."""
    scale = _fitted(world.scores, settings)
    capability = dict(world.models.select("model", "capability").iter_rows())
    truth = scale.link({name: capability[name] for name in scale.models["model"]})
    known = tuple(KnownEstimate(_CAPABILITY, name, scale.capability(name), value) for name, value in truth.items())
    about = (
        f"{len(truth)} models have scores on some of 20 benchmarks. Simulated are each model's capability, each benchmark's difficulty, slope and noise; errors within a family of models correlate. "
        "The true values have the same mean and standard deviation as the estimates (mean–sigma linking)."
    )

    title, made = "Benchmarks are linked on one scale", scale.provenance
    sections = partial(_sections, scale)
    return TourStop(_STITCH, "stitch", title, about, known, made, sections, scale.save), scale


def place_part(world: World, games: Games, scale: Scale, settings: TourSettings) -> TourStop:
    """The cast's games become scores, and the scores a place on the scale."""
    attempts = _dated(games, world)
    scores = scores_of(attempts)
    placed = place_attempts(scale, attempts, seed=settings.seed)
    rows = {row["model"]: row for row in placed.models.to_dicts()}
    capability = dict(world.models.select("model", "capability").iter_rows())
    truth = scale.link(capability | {one.name: one.capability for one in world.cast})
    known = tuple(
        KnownEstimate(_PLACED, one.name, _estimate(rows[one.name], scale.level), truth[one.name])
        for one in reversed(world.cast)
    )
    about = (
        f"Track the Stat is one of the benchmarks, {BENCHMARK}. The six models of the tour have no other scores: their games are converted to scores with standard errors, and from these they are placed on the finished scale. "
        "The interval includes the errors of the games, the benchmark's noise and the uncertainty of its curve."
    )

    def save(folder: Path) -> list[Path]:
        return [scores.write(folder / "scores.csv"), *placed.save(folder)]

    def sections() -> list[Section]:
        cells = [[r["model"], r["score"], r["se"], r["n_items"]] for r in scores.frame.to_dicts()]
        table = TableBlock(
            ["Model", "Score", "Standard error", "Games"], cells, "The games as scores: the share of correct turns."
        )
        return [Section("The games as scores", [Text("\n\n".join(scores.notes)), table])]

    return TourStop(_STITCH, "place", "Track the Stat on the scale", about, known, scale.provenance, sections, save)


def read_epoch(path: Path) -> Scores:
    """Epoch's tables."""
    found = sources.read([str(path)])
    if not isinstance(found, Scores):
        raise InputError(
            f"{path}: contains {type(found).__name__.lower()}, not Epoch's scores. Name its folder or zip."
        )
    return found


def epoch_part(scores: Scores, settings: TourSettings) -> TourStop:
    """Epoch's real tables instead: a scale and a forecast, and no truth to hold them against."""
    scale = _fitted(scores, settings, min_benchmarks=4)
    about = f"Epoch AI's published scores (CC BY 4.0): {scale.quality.n_observations:,} of {scale.quality.n_models:,} models on {scale.quality.n_benchmarks:,} benchmarks. Their true values are unknown, so these intervals are not counted."

    def sections() -> list[Section]:
        ahead = forecast(scale, level=settings.level, seed=settings.seed)
        return [*_sections(scale), forecast_section(ahead)]

    title, made = "Epoch's benchmarks are linked on one scale", scale.provenance
    return TourStop(_STITCH, "stitch", title, about, (), made, sections, scale.save)


def _sections(scale: Scale) -> list[Section]:
    """The scale's, without the charts that draw every single score, which would be half of the page."""
    section = scale_section(scale)
    kept = [block for block in section.blocks if not (isinstance(block, ChartBlock) and _draws_scores(block))]
    return [replace(section, blocks=kept)]


def _draws_scores(block: ChartBlock) -> bool:
    return " scores. " in title_and_caption(to_spec(block.chart))[1]


def _fitted(scores: Scores, settings: TourSettings, min_benchmarks: int = 1) -> Scale:
    return fit(
        scores,
        min_benchmarks=min_benchmarks,
        n_replicates=settings.n_bootstrap,
        level=settings.level,
        seed=settings.seed,
    )


def _dated(games: Games, world: World) -> Attempts:
    """The games with the models' releases, which tell what to expect of a model."""
    released = pl.DataFrame({"subject": [a.name for a in world.cast], "date": [a.released for a in world.cast]})
    attempts = games.samples.attempts()
    return Attempts(attempts.frame.join(released, on="subject", how="left"), notes=attempts.notes)


def _estimate(row: dict[str, float], level: float) -> Estimate:
    return Estimate(row["capability"], row["capability_low"], row["capability_high"], level)
