"""How many items and repeats a difference needs to be seen, planned from assumptions or from a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.evals.items import ALL, items_of
from howsure.frames import write_frame
from howsure.results import Provenance, plain, write_json
from howsure.stats.means import paired_difference
from howsure.stats.power import Comparison, Pilot, items_needed, minimum_detectable_effect
from howsure.stats.power import power as power_of
from howsure.tables import Attempts

if TYPE_CHECKING:
    import altair

__all__ = ["Plan", "PlanRow", "pilot", "plan"]

EPOCHS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class PlanRow:
    """What a number of repeats asks for, and what it shows with the items at hand."""

    epochs: int
    items_needed: int
    attempts_needed: int
    detectable: float | None
    power: float | None


@dataclass(frozen=True)
class Plan:
    """What an eval of two models can show.

    ``detectable`` is the smallest true difference that the items at hand find with the wanted power; ``power`` is the
    chance that they find a true difference of ``effect``.
    """

    comparison: Comparison | Pilot
    effect: float
    wanted_power: float
    level: float
    n_items: int | None
    rows: tuple[PlanRow, ...]
    provenance: Provenance

    @property
    def assumptions(self) -> list[str]:
        """All that the plan takes as given, in sentences."""
        told = [
            f"Both models try every item equally often; a two-sided paired t test of item means at {1 - self.level:.2g}.",
            f"The true difference is {self.effect:g}.",
        ]
        variances = self.comparison
        if isinstance(variances, Pilot):
            point = variances.comparison
            told += [
                f"Variance between items of the difference: {variances.between(self.level)}; within items: "
                f"{point.within_a:.3g} (A) and {point.within_b:.3g} (B); within-item share of one attempt's variance: "
                f"{variances.share_within(self.level)}.",
                "These are estimates of the pilot, and power is averaged over their uncertainty; the next items are like "
                "the pilot's.",
            ]
        else:
            told.append(
                f"Variance between items of the difference: {variances.between:.3g}; within items: {variances.within_a:.3g} (A) "
                f"and {variances.within_b:.3g} (B), taken as exact."
            )
            names = {"accuracy": "accuracy of the weaker model", "correlation": "correlation of the models over items"}
            names |= {"share_between": "share of the variance between items"}
            given = self.provenance.settings
            told += (
                [f"They follow from {', '.join(f'{text} {given[name]:g}' for name, text in names.items())}."]
                if names.keys() <= given.keys()
                else []
            )
        if variances.cluster_size > 1:
            told.append(
                f"Items come in clusters of {variances.cluster_size:.3g} whose differences correlate by "
                f"{variances.cluster_correlation:.2g}, taken as exact."
            )
        return told

    def to_frame(self) -> pl.DataFrame:
        """One row a number of repeats: epochs, items_needed, attempts_needed, detectable, power."""
        return pl.DataFrame([vars(row) for row in self.rows])

    def curve(self) -> pl.DataFrame:
        """Power over the number of items, for each number of repeats: epochs, items, power."""
        most = max(2 * max(row.items_needed for row in self.rows), self.n_items or 0)
        items = np.unique(np.geomspace(5, max(most, 50), 60).round().astype(int))
        return pl.DataFrame(
            [
                {"epochs": row.epochs, "items": int(n), "power": self._power(row.epochs, int(n))}
                for row in self.rows
                for n in items
            ]
        )

    def as_dict(self) -> dict[str, Any]:
        """The whole plan as plain JSON."""
        return plain(self) | {"rows": self.to_frame().to_dicts(), "assumptions": self.assumptions}  # type: ignore[no-any-return]

    def chart(self) -> altair.LayerChart:
        """Power over the number of items."""
        from howsure.evals.charts import draw_plan

        return draw_plan(self)

    def charts(self) -> dict[str, altair.LayerChart]:
        """The same by its file name."""
        return {"power": self.chart()}

    def save(self, folder: Path) -> list[Path]:
        """Write power.csv and power.json."""
        return [write_frame(self.to_frame(), folder / "power.csv"), write_json(self.as_dict(), folder / "power.json")]

    def _power(self, epochs: int, n_items: int) -> float:
        return power_of(self.effect, n_items, _with_epochs(self.comparison, epochs), level=self.level)


def plan(
    effect: float,
    *,
    comparison: Comparison | Pilot | None = None,
    accuracy: float = 0.7,
    correlation: float = 0.5,
    share_between: float = 0.5,
    n_items: int | None = None,
    power: float = 0.8,
    level: float = 0.95,
    provenance: Provenance | None = None,
) -> Plan:
    """Items needed for a true difference of `effect`, for several numbers of repeats.

    The variances come from `comparison` (with those of a `pilot`, power is averaged over their uncertainty) or are those of two accuracies, ``accuracy`` and ``accuracy + effect``,
    whose chances over items correlate by ``correlation``, with ``share_between`` of the variance between items.
    """
    if comparison is None:
        better = accuracy + effect
        if not 0 < better < 1:
            raise OptionError(f"accuracy {accuracy:g} plus effect {effect:g} is not between 0 and 1.")
        comparison = Comparison.of_accuracies(better, accuracy, correlation=correlation, share_between=share_between)
    rows = tuple(_row(effect, _with_epochs(comparison, k), k, n_items, power, level) for k in EPOCHS)
    settings = {"accuracy": accuracy, "correlation": correlation, "share_between": share_between}
    made = provenance or Provenance(settings)
    return Plan(comparison, effect, power, level, n_items, rows, made)


def pilot(attempts: Attempts, a: str | None = None, b: str | None = None, *, cluster: str = "task") -> Pilot:
    """Where the variance of a difference comes from, measured on a pilot of two subjects with repeats.

    The items of all evals in the pilot that both subjects tried count as items of one eval.
    """
    subjects = attempts.lazy.select(pl.col("subject").unique().sort()).collect()["subject"].to_list()
    first, second = _two(subjects, a, b)
    (items,) = items_of(attempts, ALL, cluster=cluster, subjects=[first, second])
    shared = items.paired(first, second)
    if len(shared) < 2:
        raise InputError(f"{first} and {second} share {len(shared)} tasks; a pilot needs at least 2.")
    noise = items.noise(shared)
    if noise is None:
        raise InputError(
            "No task was tried more than once, so repeats and tasks cannot be told apart. Add epochs to the pilot."
        )
    x, y = shared["mean"].to_numpy(), shared["mean_b"].to_numpy()
    clustered = paired_difference(x, y, shared["cluster"].to_numpy())
    total = float(np.var(x - y, ddof=1))
    size = len(shared) / max(1, clustered.n_clusters)
    inflation = (clustered.se or 0.0) ** 2 * len(shared) / total if total else 1.0
    return Pilot(
        total=total,
        within_a=noise.within_a,
        within_b=noise.within_b,
        df_total=max(clustered.n_clusters - 1, 1),
        df_a=noise.df_a,
        df_b=noise.df_b,
        inverse_a=float(np.mean(1 / shared["n"].to_numpy())),
        inverse_b=float(np.mean(1 / shared["n_b"].to_numpy())),
        cluster_size=size,
        cluster_correlation=min(max((inflation - 1) / (size - 1), 0.0), 1.0) if size > 1 else 0.0,
    )


def _row(
    effect: float, comparison: Comparison | Pilot, epochs: int, n_items: int | None, power: float, level: float
) -> PlanRow:
    needed = items_needed(effect, comparison, power=power, level=level)
    if n_items is None:
        return PlanRow(epochs, needed, 2 * needed * epochs, None, None)
    detectable = minimum_detectable_effect(n_items, comparison, power=power, level=level)
    return PlanRow(epochs, needed, 2 * needed * epochs, detectable, power_of(effect, n_items, comparison, level=level))


def _with_epochs(comparison: Comparison | Pilot, epochs: int) -> Comparison | Pilot:
    return replace(comparison, epochs_a=epochs, epochs_b=epochs)


def _two(subjects: Sequence[str], a: str | None, b: str | None) -> tuple[str, str]:
    for name in (a, b):
        if name is not None and name not in subjects:
            raise OptionError.unknown("subject", name, subjects)
    if a and b and a != b:
        return a, b
    if not a and not b and len(subjects) == 2:
        return subjects[0], subjects[1]
    raise OptionError(
        f"The pilot holds {len(subjects)} subjects. Name two with --a and --b: {', '.join(subjects[:8])}."
    )
