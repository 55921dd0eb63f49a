"""How many items and repeats a comparison of two models needs, from assumptions or from a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.evals.item_means import ALL, items_of
from howsure.evals.pairs import batch_of, noises
from howsure.evals.variants import averaged_factors, one_scorer
from howsure.results import Provenance, Result, plain
from howsure.stats.means import paired_difference
from howsure.stats.power import PairedDesign, Pilot, items_needed, minimum_detectable_effect
from howsure.stats.power import power as power_of
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["PowerPlan", "PowerRow", "items_to_decide", "measure_pilot", "power"]

EPOCHS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, kw_only=True)
class PowerRow:
    """What a comparison with this number of attempts per item needs, and what it shows with the items at hand."""

    attempts_per_item: int
    items_needed: int
    attempts_needed: int
    tokens_needed: float | None = None
    cost_needed: float | None = None
    detectable: float | None
    power: float | None


@dataclass(frozen=True, kw_only=True)
class PowerPlan(Result):
    """What a comparison of two models on the same items can show.

    Table ``power``: one row per number of attempts per item.

    =================  ==================================================================================================
    attempts_per_item  attempts of each model at each item
    items_needed       smallest number of items with the target power
    attempts_needed    attempts of both models together with that number of items
    tokens_needed      tokens of those attempts, where the tokens of an attempt are known
    cost_needed        what they cost, in dollars, where that is known
    detectable         smallest true difference that ``n_items`` detect with the target power
    power              probability that ``n_items`` detect a true difference of ``effect``
    =================  ==================================================================================================

    Parameters
    ----------
    design : PairedDesign | Pilot
        Assumed variances, or those estimated from a pilot.
    effect : float
        True difference to detect.
    target_power : float
        Required probability to detect it.
    level : float
        Coverage of the intervals, between 0 and 1.
    n_items : int | None
        Number of items that is available, if given.
    rows : tuple[PowerRow, ...]
        One entry per number of attempts per item.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "power"
    design: PairedDesign | Pilot
    effect: float
    target_power: float
    level: float
    n_items: int | None
    rows: tuple[PowerRow, ...]
    provenance: Provenance

    @property
    def assumptions(self) -> list[str]:
        """Everything that the plan assumes, in sentences."""
        sentences = [
            f"Both models try every item equally often; a two-sided paired t test of item means at {1 - self.level:.2g}.",
            f"The true difference is {self.effect:g}.",
        ]
        design = self.design
        if isinstance(design, Pilot):
            point = design.point
            sentences += [
                f"Variance between items of the difference: {design.between(self.level)}; within items: "
                f"{point.within_a:.3g} (A) and {point.within_b:.3g} (B); within-item share of one attempt's variance: "
                f"{design.share_within(self.level)}.",
                "These are estimates from the pilot, and "
                + (
                    "the power is averaged over their uncertainty; "
                    if design.assurance is None
                    else f"the plan reaches its power with {design.assurance:.0%} confidence given their uncertainty; "
                )
                + "the next items are like those of the pilot.",
            ]
        else:
            sentences.append(
                f"Variance between items of the difference: {design.between:.3g}; within items: {design.within_a:.3g} (A) "
                f"and {design.within_b:.3g} (B), taken as exact."
            )
            names = {"accuracy": "accuracy of the weaker model", "correlation": "correlation of the models over items"}
            names |= {"share_between": "share of the variance between items"}
            given = self.provenance.settings
            if names.keys() <= given.keys():
                sentences.append(
                    f"They follow from {', '.join(f'{text} {given[name]:g}' for name, text in names.items())}."
                )
        if design.cluster_size > 1:
            sentences.append(
                f"Items come in clusters of {design.cluster_size:.3g} whose differences correlate by "
                f"{design.cluster_correlation:.2g}, taken as exact."
            )
        return sentences

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``power``."""
        return {"power": pl.DataFrame([vars(row) for row in self.rows], infer_schema_length=None)}

    def curve(self) -> pl.DataFrame:
        """Power as a function of the number of items, per number of attempts per item: attempts_per_item, items, power."""
        most = max(2 * max(row.items_needed for row in self.rows), self.n_items or 0)
        items = np.unique(np.geomspace(5, max(most, 50), 60).round().astype(int))
        return pl.DataFrame(
            [
                {
                    "attempts_per_item": row.attempts_per_item,
                    "items": int(n),
                    "power": self._power(row.attempts_per_item, int(n)),
                }
                for row in self.rows
                for n in items
            ]
        )

    def as_dict(self) -> dict[str, Any]:
        """The table and the provenance, and what the plan assumes."""
        given = {name: getattr(self, name) for name in ("effect", "target_power", "level", "n_items", "design")}
        return {**super().as_dict(), **plain(given), "assumptions": self.assumptions}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.evals.sections import power_section

        return [power_section(self)]

    def charts(self) -> dict[str, Chart]:
        """One chart, ``power``: power as a function of the number of items."""
        from howsure.evals.charts import draw_power

        return {"power": draw_power(self)}

    def _power(self, attempts_per_item: int, n_items: int) -> float:
        return power_of(self.effect, n_items, _repeated(self.design, attempts_per_item), level=self.level)


@checked
def power(
    pilot: Attempts | Source | Pilot | PairedDesign | None = None,
    *,
    effect: float = 0.05,
    n_items: int | None = None,
    power: float = 0.8,
    level: float = 0.95,
    accuracy: float = 0.7,
    correlation: float = 0.5,
    share_between: float = 0.5,
    a: str | None = None,
    b: str | None = None,
    cluster: str | None = None,
    assurance: float | None = 0.9,
    tokens_per_item: float | None = None,
    price: float | None = None,
) -> PowerPlan:
    """Items needed to detect a true difference of `effect` between two models, for several numbers of attempts per item.

    Both models try the same items. The variances come from a pilot with repeats, and then the plan reaches its power with
    the confidence `assurance`, given the uncertainty of the pilot; or they follow from two accuracies, ``accuracy`` and
    ``accuracy + effect``.

    Parameters
    ----------
    pilot : Attempts, frame or path, optional
        Attempts of two subjects with repeats; or its variances, from `measure_pilot` or as a `PairedDesign`.
    effect : float, default 0.05
        The smallest true difference that matters, as a share 0–1.
    n_items : int, optional
        Items at hand; the table then says what they can show.
    power : float, default 0.8
        Probability with which the difference shall be detected.
    level : float, default 0.95
        The test is two-sided at 1 − `level`.
    accuracy : float, default 0.7
        Without a pilot: the accuracy of the weaker model.
    correlation : float, default 0.5
        Without a pilot: the correlation over items of the two models' success probabilities.
    share_between : float, default 0.5
        Without a pilot: the share of a score's variance that lies between items rather than between repeats.
    a, b : str, optional
        With a pilot of more than two subjects: the two to compare.
    cluster : {"task", "family", "domain", "none"}, optional
        With a pilot: items of one cluster are not independent; by default those of one family, where there are families.
    assurance : float, optional, default 0.9
        With a pilot: the confidence with which the plan reaches its power. None: the power is averaged over the uncertainty of the
        pilot's variances.
    tokens_per_item : float, optional
        Tokens of one attempt of one model at one item; without it, the mean of the pilot's column ``tokens``.
    price : float, optional
        Dollars per million tokens; without it, the mean of the pilot's column ``cost``.

    Returns
    -------
    PowerPlan
        With the table ``power``, and its ``assumptions`` in sentences.

    Raises
    ------
    InputError
        If the pilot has no repeats, or fewer than two items that both tried.
    OptionError
        If a number is out of its range.

    Examples
    --------
    >>> import howsure
    >>> howsure.power(effect=0.05, n_items=200).rows[0].items_needed
    939

    References
    ----------
    Miller (2024), *Adding error bars to evals*.
    """
    settings: dict[str, Any] = {"effect": effect, "power": power, "level": level, "n_items": n_items}
    if assurance is not None and not 0.5 <= assurance < 1:
        raise OptionError(f"assurance {assurance:g} is not between 0.5 and 1. Write 0.9 for 90 %.")
    if min(tokens_per_item or 0, price or 0) < 0:
        raise OptionError("tokens_per_item and price begin at 0.")
    tokens, cost = tokens_per_item, None
    if pilot is None:
        better = accuracy + effect
        if not 0 < better < 1:
            raise OptionError(f"accuracy {accuracy:g} plus effect {effect:g} is not between 0 and 1.")
        design: PairedDesign | Pilot = PairedDesign.of_accuracies(
            better, accuracy, correlation=correlation, share_between=share_between
        )
        settings |= {"accuracy": accuracy, "correlation": correlation, "share_between": share_between}
        provenance = Provenance(settings)
    elif isinstance(pilot, PairedDesign):
        design, provenance = pilot, Provenance(settings)
    elif isinstance(pilot, Pilot):
        design, provenance = _assured(pilot, assurance), Provenance(settings | {"assurance": assurance})
    else:
        attempts = Attempts.of(pilot)
        design = _assured(measure_pilot(attempts, a, b, cluster=cluster), assurance)
        provenance = Provenance.of(attempts, **settings, a=a, b=b, cluster=cluster, assurance=assurance)
        if tokens is None:
            tokens = _mean_of(attempts, "tokens", a, b)
        cost = _mean_of(attempts, "cost", a, b) if price is None else None
    if price is not None and tokens is not None:
        cost = tokens * price / 1e6
    rows = tuple(_row(effect, _repeated(design, k), k, n_items, power, level) for k in EPOCHS)
    rows = tuple(
        replace(
            row,
            tokens_needed=None if tokens is None else tokens * row.attempts_needed,
            cost_needed=None if cost is None else cost * row.attempts_needed,
        )
        for row in rows
    )
    return PowerPlan(
        design=design,
        effect=effect,
        target_power=power,
        level=level,
        n_items=n_items,
        rows=rows,
        provenance=provenance,
    )


def measure_pilot(
    attempts: Attempts | Source, a: str | None = None, b: str | None = None, *, cluster: str | None = None
) -> Pilot:
    """The variances of a difference between two subjects, estimated from a pilot with repeats.

    The items of all evals in the pilot that both subjects tried count as items of one eval.

    Parameters
    ----------
    attempts : Attempts, frame or path
        One row per attempt.
    a, b : str, optional
        The two subjects; needed where the pilot has more.
    cluster : {"task", "family", "domain", "none"}, optional
        Items of one cluster are not independent; by default those of one family, where there are families.
    """
    attempts = Attempts.of(attempts)
    subjects = attempts.lazy.select(pl.col("subject").unique().sort()).collect()["subject"].to_list()
    first, second = _two(subjects, a, b)
    one_scorer(attempts)
    (items,) = items_of(attempts, ALL, cluster=cluster, subjects=[first, second], factors=averaged_factors(attempts))
    batch = batch_of(items.paired(first, second))
    if batch.n_items < 2:
        raise InputError(f"{first} and {second} share {batch.n_items} tasks; a pilot needs at least 2.")
    (noise,) = noises(items, batch)
    if noise is None:
        raise InputError(
            "No task was tried more than once, so variation between repeats cannot be separated from variation between tasks. Add "
            "attempts per item to the pilot."
        )
    x, y = (side[:, 0] for side in batch.mean)
    clustered = paired_difference(x, y, batch.clusters, bounds=items.bounds)
    total = float(np.var(x - y, ddof=1))
    size = batch.n_items / max(1, clustered.n_clusters)
    inflation = (clustered.se or 0.0) ** 2 * batch.n_items / total if total else 1.0
    return Pilot(
        total=total,
        within_a=noise.within_a,
        within_b=noise.within_b,
        # a variance that a few items carry is known worse than their number says
        df_total=max(min(clustered.n_clusters - 1, clustered.df or 1), 1),
        df_a=noise.df_a,
        df_b=noise.df_b,
        inverse_a=float(np.mean(1 / batch.n[0])),
        inverse_b=float(np.mean(1 / batch.n[1])),
        cluster_size=size,
        cluster_correlation=min(max((inflation - 1) / (size - 1), 0.0), 1.0) if size > 1 else 0.0,
    )


def items_to_decide(
    difference: Estimate, variance: float, *, n_open: int = 1, level: float = 0.95, power: float = 0.8
) -> Estimate:
    """Items that detect a paired difference, if the true one is as observed, and at the two ends of its interval.

    Parameters
    ----------
    difference : Estimate
        The observed difference; where its interval contains 0, the number of items has no upper limit.
    variance : float
        Variance of the difference per item: the squared standard error times the number of items.
    n_open : int, default 1
        How many differences are not decided yet, this one among them: by Holm's procedure the next one is tested at 1 − `level` divided by
        this number.
    level : float, default 0.95
        The tests are two-sided, together at 1 − `level`.
    power : float, default 0.8
        Probability with which the difference is detected.
    """
    level = 1 - (1 - level) / max(n_open, 1)
    if not difference.value or not variance:
        reason = "no difference was observed" if not difference.value else "the difference does not vary between items"
        if difference.value is None or difference.state != "ok":
            reason = difference.reason or "the two were not compared"
        return Estimate.without("undefined", reason, level=difference.level)
    design = PairedDesign(variance, 0.0, 0.0)

    def needed(effect: float | None) -> int | None:
        try:
            return items_needed(effect, design, power=power, level=level) if effect else None
        except OptionError:
            return None

    low, high = difference.low or 0.0, difference.high or 0.0
    near = min(abs(low), abs(high)) if low * high > 0 else None
    value, least, most = needed(difference.value), needed(max(abs(low), abs(high))), needed(near)
    if value is None:
        return Estimate.without("unbounded", "the observed difference is too small", level=difference.level)
    least = least and min(least, value)
    return Estimate(value, least, most, level=difference.level, high_state="unbounded" if most is None else "ok")


def _row(
    effect: float, design: PairedDesign | Pilot, attempts_per_item: int, n_items: int | None, power: float, level: float
) -> PowerRow:
    needed = items_needed(effect, design, power=power, level=level)
    detectable = reached = None
    if n_items is not None:
        detectable = minimum_detectable_effect(n_items, design, power=power, level=level)
        reached = power_of(effect, n_items, design, level=level)
    return PowerRow(
        attempts_per_item=attempts_per_item,
        items_needed=needed,
        attempts_needed=2 * needed * attempts_per_item,
        detectable=detectable,
        power=reached,
    )


def _assured(pilot: Pilot, assurance: float | None) -> Pilot:
    return pilot if assurance is None else replace(pilot, assurance=assurance, n_draws=10_000)


def _mean_of(attempts: Attempts, column: str, a: str | None, b: str | None) -> float | None:
    """Mean per attempt of the two compared subjects; None where the pilot does not say."""
    if not attempts.has(column):
        return None
    rows = attempts.lazy
    if a is not None and b is not None:
        rows = rows.filter(pl.col("subject").is_in([a, b]))
    found = rows.select(pl.col(column).mean()).collect().item()
    return None if found is None else float(found)


def _repeated(design: PairedDesign | Pilot, attempts_per_item: int) -> PairedDesign | Pilot:
    return replace(design, epochs_a=attempts_per_item, epochs_b=attempts_per_item)


def _two(subjects: Sequence[str], a: str | None, b: str | None) -> tuple[str, str]:
    for name in (a, b):
        if name is not None and name not in subjects:
            raise OptionError.unknown("subject", name, subjects)
    if a and b and a != b:
        return a, b
    if not a and not b and len(subjects) == 2:
        return subjects[0], subjects[1]
    raise OptionError(
        f"The pilot has {len(subjects)} subjects. Name two of them as a and b: {', '.join(subjects[:8])}."
    )
