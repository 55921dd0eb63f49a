"""What the verbs of `howsure stitch` share: options, reading, writing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import Output
from howsure.errors import OptionError
from howsure.estimates import Estimate, chance

if TYPE_CHECKING:
    from howsure.results import Result
    from howsure.stitch.scale import Scale

__all__ = [
    "SHOWN",
    "Fit",
    "Fitting",
    "best_of",
    "capability_of",
    "ends_of",
    "figure",
    "first_of",
    "load_scale",
    "save_result",
    "share_of",
    "stated_score",
]

SHOWN = 15
"""Rows of a long table that a terminal shows."""

Fit = Annotated[
    Path, typer.Argument(metavar="FIT", help="The folder that `howsure stitch fit -o` wrote.", show_default=False)
]


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Fitting", **{"show_default": False, **more})


@dataclass(frozen=True)
class Fitting:
    """What is fitted."""

    preset: Annotated[str, _option("Preset: default, paper, seed or eci.", show_default=True)] = "default"
    anchor: Annotated[
        str | None,
        _option("The benchmark that fixes the scale (identification constraint). [default: the one most models have]"),
    ] = None
    anchor_difficulty: Annotated[float, _option("Difficulty of the anchor on the scale.", show_default=True)] = 0.0
    anchor_slope: Annotated[float, _option("The anchor's slope, which fixes the unit.", show_default=True)] = 1.0
    anchor_models: Annotated[str | None, _option('Instead: two models with their values, as in "A=130,B=150".')] = None
    reference: Annotated[
        str | None,
        _option(
            "What fixes the unit in refits: all (mean and spread of all models), none (the anchor), a file of models, or an earlier FIT. [default: the preset's]"
        ),
    ] = None
    min_benchmarks: Annotated[int, _option("Exclude models on fewer benchmarks.", min=1, show_default=True)] = 4
    since: Annotated[str | None, _option("Exclude older models, as in 2023-01-31.")] = None
    duplicates: Annotated[
        str | None, _option("Several scores of one model on one benchmark: mean, max or min. [default: the preset's]")
    ] = None
    exclude: Annotated[
        list[str] | None,
        _option("Exclude: a model, a benchmark, MODEL@BENCHMARK, or all that a file names; may be repeated."),
    ] = None
    include: Annotated[list[str] | None, _option("Keep only these models and benchmarks; may be repeated.")] = None
    floors: Annotated[Path | None, _option("File with the columns benchmark, floor and, if known, ceiling.")] = None
    keep_overlaps: Annotated[
        bool | None,
        _option(
            "Count a score on a part of a benchmark (column part_of) also where the model has one on the whole. [default: the preset's]"
        ),
    ] = None
    ridge: Annotated[float | None, _option("Strength of the penalty of paper and eci. [default: 0.1]")] = None
    dimensions: Annotated[int, _option("1 or 2.", min=1, max=2, show_default=True)] = 1

    @property
    def options(self) -> dict[str, Any]:
        """The same for the fit."""
        told = {
            name: value for name, value in vars(self).items() if name not in ("anchor_models", "exclude", "include")
        }
        models = None if self.anchor_models is None else _values(self.anchor_models)
        return told | {"anchor_models": models, "exclude": self.exclude or (), "include": self.include or ()}


def load_scale(folder: Path) -> Scale:
    """The scale that a fit wrote."""
    from howsure.stitch.scale import Scale

    return Scale.load(folder)


def save_result(result: Result, output: Output) -> None:
    """JSON for programs, and the result's files where a folder was named."""
    output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))


def first_of(n: int) -> str:
    """What to say of a table that was cut."""
    return f"The first {SHOWN} of {n:,}." if n > SHOWN else ""


def capability_of(row: Mapping[str, Any], level: float, name: str = "capability") -> Estimate:
    """A row's capability, or another parameter, with its interval."""
    from howsure.stitch.summaries import estimate_of

    return estimate_of(row, level, name)


def best_of(row: Mapping[str, Any]) -> str | None:
    """The probability that a row's model is the best, or that its refits define none."""
    return "undefined" if row["interval_state"] == "undefined" else chance(row["p_best"])


def figure(number: float | None, digits: int) -> str | None:
    """A number for a table; 0 has no sign."""
    return None if number is None else f"{number:z.{digits}f}"


def share_of(number: float | None) -> str | None:
    """A share in per cent."""
    return None if number is None else f"{number:.0%}"


def stated_score(row: Mapping[str, Any], level: float) -> Estimate:
    """An expected score with its interval, or why there is none."""
    if row["expected"] is None:
        return Estimate.without("undefined", "its scores do not rise with capability", level=level)
    return Estimate(row["expected"], row["expected_low"], row["expected_high"], level, row["expected_state"])


def ends_of(low: float | None, high: float | None) -> str | None:
    """Both ends of an interval of scores."""
    return None if low is None or high is None else f"{low:.2f} to {high:.2f}"


def _values(text: str) -> dict[str, float]:
    """Two models with their values, as in A=130,B=150."""
    pairs = [entry.rpartition("=") for entry in text.split(",")]
    try:
        return {name.strip(): float(value) for name, _, value in pairs if name.strip() or _raise()}
    except ValueError:
        raise OptionError(f'--anchor-models {text}: write it as "A=130,B=150", two models with their values.') from None


def _raise() -> bool:
    raise ValueError
