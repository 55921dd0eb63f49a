"""Which items people should label, how many, and the mean label of all items from these labels and the judges' ratings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats, t_quantile
from howsure.stats.label_sampling import (
    LEAST_PROBABILITY,
    Items,
    LabelBudget,
    budget_for,
    draw_labels,
    inclusion_probabilities,
    judged_mean,
    strata_of,
)
from howsure.stats.means import mean
from howsure.study.agreement import clusters_used, read_ratings
from howsure.study.scoring.fidelity import is_pair
from howsure.tables import Column, Ratings, Table

if TYPE_CHECKING:
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["SAMPLINGS", "DrawnLabels", "LabelEstimates", "LabelPlan", "estimate", "labels"]

Sampling = Literal["uniform", "stratified", "active"]
SAMPLINGS: tuple[Sampling, ...] = ("uniform", "stratified", "active")
_WORTH_IT = 0.95  # relative variance from which unequal probabilities are worth their trouble
_SHRUNK = 4.0  # items that a stratum's spread borrows from all of them


class DrawnLabels(Table):
    """Which items were drawn for labelling, and with which probability: what `labels` writes as ``labels.csv``."""

    columns = (
        Column("item", "the item", required=True),
        Column("probability", "probability with which it was drawn", "number", required=True, low=0, high=1),
        Column("stratum", "its stratum, where a fixed number was drawn in each"),
        Column("is_drawn", "whether people should label it", choices=("yes", "no")),
    )
    key = ("item",)
    told_by = ("item", "probability")


@dataclass(frozen=True, kw_only=True)
class LabelPlan(Result):
    """Which items to label, and what precision to expect.

    Table ``labels``: one row per item (item, stratum, probability, is_drawn, judged). Table ``samplings``: one row per way to sample
    (sampling, n_labels, half_width, relative_variance, is_used): the expected half width of the interval, and the variance relative to uniform
    sampling of the same number of labels.

    Parameters
    ----------
    drawn : pl.DataFrame
        Table ``labels``.
    samplings : pl.DataFrame
        Table ``samplings``.
    sampling : str
        The way that was used.
    budget : LabelBudget, optional
        The cheapest numbers of labels and judged items, where a precision and costs were given.
    half_width : float, optional
        The precision that was asked for.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "label_plan"
    drawn: pl.DataFrame
    samplings: pl.DataFrame
    sampling: str
    budget: LabelBudget | None
    half_width: float | None
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``labels`` and ``samplings``."""
        return {"labels": self.drawn, "samplings": self.samplings}

    @property
    def sentences(self) -> list[str]:
        """The plan in words."""
        n = int((self.drawn["is_drawn"] == "yes").sum())
        row = self.samplings.filter(pl.col("sampling") == self.sampling).row(0, named=True)
        told = [
            f"Label the {n:,} of {len(self.drawn):,} items with is_drawn = yes ({self.sampling} sampling); expect an interval of ± {row['half_width']:.3g}."
        ]
        if self.budget:
            told.append(_budget_words(self.budget, self.half_width or math.nan))
        return told

    def as_dict(self) -> dict[str, Any]:
        """The tables, the way of sampling and the budget."""
        budget = (
            None if self.budget is None else vars(self.budget) | {"is_judge_worth_it": self.budget.is_judge_worth_it}
        )
        return super().as_dict() | {"sampling": self.sampling, "budget": budget, "half_width": self.half_width}


def _budget_words(budget: LabelBudget, half_width: float) -> str:
    alone = f"{budget.n_labels_alone:,} labels without a judge (cost {budget.cost_alone:,.4g})"
    if not budget.is_judge_worth_it:
        return f"For ± {half_width:g}, {alone} are cheaper than any mix with this judge: it agrees too little with people for its price."
    return f"For ± {half_width:g}, {budget.n_labels:,} labels and {budget.n_judged:,} judged items cost least ({budget.cost:,.4g}); {alone} would do the same."


def labels(
    judge: Ratings | Source,
    *,
    n_labels: int | None = None,
    half_width: float | None = None,
    pilot: Ratings | Source | None = None,
    sampling: Sampling | None = None,
    n_strata: int = 4,
    dimension: str | None = None,
    cost_label: float = 1.0,
    cost_judge: float = 0.0,
    seed: int = 0,
    level: float = 0.95,
) -> LabelPlan:
    """Choose the items that people should label, so that few labels and the judges' ratings give the mean label of all items.

    The expected error of a judge's rating decides: items on which it is expected to be large are drawn more often, none with a probability
    below 0.05. What is expected is learned from a pilot: the spread of (label − prediction) in each stratum of the judge's ratings, shrunk towards
    the overall spread. Without a pilot it is the disagreement of the judges, where there are several, and else the same for all items.

    Parameters
    ----------
    judge : Ratings, frame or path
        The judges' ratings of all items.
    n_labels : int, optional
        How many items people will label. Give this or `half_width`.
    half_width : float, optional
        The precision: half the width of the interval of the mean label. Needs a pilot.
    pilot : Ratings, frame or path, optional
        Labels of some items by people, drawn at random.
    sampling : {"uniform", "stratified", "active"}, optional
        ``stratified``: a fixed number in each stratum of the (mean) judge's ratings, in proportion to size × expected error. ``active``: each item with
        a probability in proportion to its expected error. By default the one with the smallest expected error,
        and ``uniform`` where that saves less than 5 % of the variance.
    n_strata : int
        Number of strata, fewer where ratings are equal.
    dimension : str, optional
        Which dimension, where there are several.
    cost_label, cost_judge : float
        What one label and one rating of the judge cost.
    seed : int
        The same seed draws the same items.
    level : float
        Coverage of the interval, between 0 and 1.

    Returns
    -------
    LabelPlan
        The items with their probabilities, and the expected precision of each way to sample.
    """
    if sampling is not None and sampling not in SAMPLINGS:
        raise OptionError.unknown("sampling", sampling, SAMPLINGS)
    if (n_labels is None) == (half_width is None):
        raise OptionError("Give either the number of labels or the half width of the interval.")
    judged, items, judges, ratings = _judged(judge, dimension)
    center = judged.mean(axis=1)
    strata = strata_of(center, n_strata)
    notes: list[str] = []
    known = None if pilot is None else _labels_of(pilot, items, dimension)
    errors, spread, correlation = _expected_errors(judged, strata, known, notes)
    budget = None
    if half_width is not None:
        if correlation is None:
            raise OptionError("half_width needs a pilot: without labels their variance is not known.")
        costs = {"cost_label": cost_label, "cost_judge": cost_judge}
        budget = budget_for(half_width, sd=spread, correlation=correlation, n_items=len(items), level=level, **costs)
        n_labels = budget.n_labels if budget.is_judge_worth_it else min(budget.n_labels_alone, len(items))
    assert n_labels is not None
    n_labels = _possible_number(n_labels, n_items=len(items), n_judges=judged.shape[1], notes=notes)
    shares = {
        "uniform": np.full(len(items), n_labels / len(items)),
        "stratified": _by_stratum(errors, strata, n_labels),
        "active": inclusion_probabilities(errors, n_labels),
    }
    explained = float(np.var(center, ddof=1)) * _slope(center, known) ** 2 if known is not None else 0.0
    half = {
        name: t_quantile(level, max(n_labels - 2, 1))
        * math.sqrt(explained / len(items) + float((errors**2 / share).sum()) / len(items) ** 2)
        for name, share in shares.items()
    }
    best = min(SAMPLINGS, key=lambda name: half[name])
    chosen = sampling or (best if (half[best] / half["uniform"]) ** 2 < _WORTH_IT else "uniform")
    is_drawn, used = draw_labels(
        shares[chosen],
        strata=strata if chosen == "stratified" else None,
        n_labels=n_labels,
        seed=seed,
    )
    frame = pl.DataFrame(
        {
            "item": items,
            "stratum": [f"{one + 1}" for one in strata] if chosen == "stratified" else ["all"] * len(items),
            "probability": used,
            "is_drawn": ["yes" if one else "no" for one in is_drawn],
            "judged": center,
        }
    )
    table = pl.DataFrame(
        {
            "sampling": list(SAMPLINGS),
            "n_labels": [n_labels] * len(SAMPLINGS),
            "half_width": [half[name] for name in SAMPLINGS],
            "relative_variance": [(half[name] / half["uniform"]) ** 2 for name in SAMPLINGS],
            "is_used": ["yes" if name == chosen else "no" for name in SAMPLINGS],
        }
    )
    provenance = Provenance.of(
        ratings,
        seed=seed,
        notes=notes,
        judges=judges,
        n_labels=n_labels,
        half_width=half_width,
        sampling=chosen,
        n_strata=n_strata,
        dimension=dimension,
        cost_label=cost_label,
        cost_judge=cost_judge,
        level=level,
    )
    return LabelPlan(
        drawn=frame, samplings=table, sampling=chosen, budget=budget, half_width=half_width, provenance=provenance
    )


def _possible_number(n_labels: int, *, n_items: int, n_judges: int, notes: list[str]) -> int:
    """At least as many labels as the probabilities and the judges' slopes need, and at most one per item."""
    least = max(4 + n_judges, math.ceil(LEAST_PROBABILITY * n_items))
    if n_labels < least:
        notes.append(
            f"{least} labels are planned instead of {n_labels}: each item is labelled with probability 0.05 or more, and the judges' slopes need labels too."
        )
    return min(max(n_labels, least), n_items)


def _expected_errors(
    judged: Floats, strata: Any, known: Floats | None, notes: list[str]
) -> tuple[Floats, float, float | None]:
    """How far the prediction of each item is expected to be off, the spread of labels, and their correlation with the judge."""
    n_strata = int(strata.max()) + 1
    if known is None:
        if judged.shape[1] > 1:
            notes.append(
                "Without a pilot, the expected error of an item is taken to be the judges' disagreement on it."
            )
            apart = judged.std(axis=1, ddof=1)
            return np.sqrt((apart**2 + (apart**2).mean()) / 2), float(judged.std()), None
        notes.append(
            "Without a pilot and with one judge, it is not known on which items it errs: all items are drawn with the same probability."
        )
        return np.full(len(judged), float(judged.std(ddof=1)) or 1.0), float(judged.std()), None
    is_known = ~np.isnan(known)
    if is_known.sum() < 10:
        raise InputError(f"The pilot labels {is_known.sum()} of the items that the judges rated; 10 are needed.")
    center = judged.mean(axis=1)
    slope = _slope(center, known)
    rest = known - slope * center
    rest = rest - np.nanmean(rest)
    overall = float(np.nanvar(rest))
    errors = np.empty(n_strata)
    for one in range(n_strata):
        own = rest[is_known & (strata == one)]
        errors[one] = (float((own**2).sum()) + _SHRUNK * overall) / (len(own) + _SHRUNK)
    y, f = known[is_known], center[is_known]
    correlation = float(np.corrcoef(y, f)[0, 1]) if y.std() and f.std() else 0.0
    return np.sqrt(errors)[strata], float(y.std(ddof=1)) or 1e-9, float(np.clip(correlation, -0.999, 0.999))


def _slope(center: Floats, known: Floats | None) -> float:
    if known is None:
        return 0.0
    is_known = ~np.isnan(known)
    f, y = center[is_known], known[is_known]
    return float(np.cov(y, f)[0, 1] / f.var(ddof=1)) if len(f) > 2 and f.std() else 0.0


def _by_stratum(errors: Floats, strata: Any, n_labels: int) -> Floats:
    """Neyman's allocation: labels in proportion to a stratum's size × error, at least 2 and at least the smallest probability."""
    share = inclusion_probabilities(errors, n_labels)
    sizes = np.bincount(strata)
    least = np.minimum(2, sizes)
    counts = np.clip(np.round(np.bincount(strata, share)), least, sizes)
    return np.asarray((counts / sizes)[strata], dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class LabelEstimates(Result):
    """The mean label, or the share of each category, of all items, from few labels and the judges' ratings.

    Table ``estimates``: one row per dimension, system and category (dimension, system, category, mean, mean_low, mean_high, mean_state, labels_alone
    with its interval, judges_alone with its interval, labels_saved, n_labelled, n_items, reason).

    Parameters
    ----------
    rows : pl.DataFrame
        Table ``estimates``.
    judges : tuple of str
        The judges.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "label_estimates"
    rows: pl.DataFrame
    judges: tuple[str, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``estimates``."""
        return {"estimates": self.rows}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.study.judging.sections import label_sections

        return label_sections(self)


def estimate(
    labels: Ratings | Source,
    judge: Ratings | Source,
    *,
    drawn: DrawnLabels | Source | None = None,
    dimension: str | None = None,
    cluster: str | None = None,
    items: Items = "sampled",
    level: float = 0.95,
) -> LabelEstimates:
    """The mean label of all items that the judges rated, of which people labelled some; of categories, the share of each.

    Several judges are mixed by their best linear weights. Where the ratings have a column ``system``, there is one estimate per system.

    Parameters
    ----------
    labels : Ratings, frame or path
        People's ratings of some of the items; several raters of an item are averaged.
    judge : Ratings, frame or path, or several
        The judges' ratings of all items.
    drawn : DrawnLabels, frame or path, optional
        ``labels.csv`` of `howsure.study.labels`: the probabilities with which items were drawn. Without it every item had the same.
    dimension : str, optional
        Only this dimension; all that both have by default.
    cluster : str, optional
        Column of the judge's ratings that groups items, such as the prompt; by default their own column ``cluster``.
    items : {"sampled", "fixed"}
        Whether the items are a sample of possible items, or the only ones of interest.
    level : float
        Coverage of the intervals, between 0 and 1.

    Raises
    ------
    InputError
        If people labelled more items than the judges rated: then the two tables are swapped, or the judge adds nothing.
    """
    ratings, people = read_ratings(judge, categories=True), read_ratings(labels, categories=True)
    if ratings.is_categorical != people.is_categorical:
        raise InputError("Judges and people must both give numbers, or both give categories.")
    plan = None if drawn is None else DrawnLabels.of(drawn)
    judged, said = (table.frame.filter(is_pair()) for table in (ratings, people))
    if dimension is not None and dimension not in set(judged["dimension"]):
        raise OptionError.unknown("dimension", dimension, sorted(set(judged["dimension"])))
    shared = [dimension] if dimension else sorted({*judged["dimension"]} & {*said["dimension"]})
    if not shared:
        raise InputError("Judges and people share no dimension. Use the same names.")
    n_judged, n_labelled = (
        side.filter(pl.col("dimension").is_in(shared))["item"].n_unique() for side in (judged, said)
    )
    if n_labelled > n_judged:
        raise InputError(
            f"The labels cover {n_labelled} items, and the judges' ratings cover {n_judged}: people label some of the items that the judges rated. Give the labels first and the judges' ratings second."
        )
    judges = tuple(judged["rater"].unique().sort())
    of_item, notes = clusters_used(cluster, ratings)
    rows: list[dict[str, Any]] = []
    for name in shared:
        of_name = judged.filter(pl.col("dimension") == name)
        known = said.filter(pl.col("dimension") == name)
        systems = of_name["system"].unique().sort().to_list() if "system" in of_name.columns else [None]
        for system in systems:
            mine = of_name if system is None else of_name.filter(pl.col("system") == system)
            for category, one, other in _numbers(mine, known, is_text=ratings.is_categorical):
                rows.append(
                    {"dimension": name, "system": system, "category": category}
                    | _estimated(one, other, judges, plan, of_item, items, level, notes)
                )
    schema: dict[str, Any] = {"dimension": pl.String, "system": pl.String, "category": pl.String}
    provenance = Provenance.of(
        ratings,
        notes=(*people.notes, *notes),
        labels=people.digest,
        drawn=plan and plan.digest,
        dimension=dimension,
        cluster=cluster or ("cluster" if of_item else None),
        items=items,
        level=level,
    )
    frame = pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)
    return LabelEstimates(rows=frame, judges=judges, provenance=provenance)


def _numbers(
    judged: pl.DataFrame, known: pl.DataFrame, *, is_text: bool
) -> list[tuple[str | None, pl.DataFrame, pl.DataFrame]]:
    """Both tables as numbers: as they are, or for each category whether it was chosen."""
    if not is_text:
        return [(None, judged, known)]
    categories = sorted({*judged["value"], *known["value"]})
    is_chosen = [(pl.col("value") == one).cast(pl.Float64).alias("value") for one in categories]
    return [
        (name, judged.with_columns(chosen), known.with_columns(chosen))
        for name, chosen in zip(categories, is_chosen, strict=True)
    ]


def _estimated(
    judged: pl.DataFrame,
    known: pl.DataFrame,
    judges: Sequence[str],
    plan: DrawnLabels | None,
    of_item: Mapping[str, str] | None,
    items: Items,
    level: float,
    notes: list[str],
) -> dict[str, Any]:
    wide = judged.pivot(on="rater", index="item", values="value").select("item", *judges)
    whole = wide.drop_nulls()
    if len(whole) < len(wide):
        notes.append(f"{len(wide) - len(whole)} items are excluded, because not every judge rated them.")
    given = known.group_by("item").agg(pl.col("value").mean().alias("#label"))
    outside = given.join(whole, on="item", how="anti")
    if len(outside) and "system" not in judged.columns:
        notes.append(f"{len(outside)} labelled items are excluded, because the judges did not rate them.")
    table = whole.join(given, on="item", how="left", maintain_order="left")
    probabilities = strata = None
    if plan is not None:
        table = table.join(plan.frame, on="item", how="left", maintain_order="left")
        if table["probability"].null_count():
            raise InputError(f"{table['probability'].null_count()} judged items are not in the table of drawn labels.")
        if plan.has("stratum") and table["stratum"].n_unique() > 1:
            strata = table["stratum"].fill_null("").to_list()
        probabilities = None if strata else table["probability"].to_numpy()
        if plan.has("is_drawn"):
            extra = table.filter(pl.col("is_drawn") == "no", pl.col("#label").is_not_null())
            if len(extra):
                notes.append(
                    f"{len(extra)} labels of items that were not drawn are excluded: their probability is not known."
                )
            label = pl.when(pl.col("is_drawn") == "yes").then(pl.col("#label"))
            table = table.with_columns(label.alias("#label"))
            lacking = len(table.filter(pl.col("is_drawn") == "yes", pl.col("#label").is_null()))
            if lacking:
                notes.append(f"{lacking} drawn items have no label; the estimate takes them as missing at random.")
                if probabilities is not None:
                    probabilities = probabilities * (1 - lacking / max(1, int((table["is_drawn"] == "yes").sum())))
    clusters = None if of_item is None else [of_item[item] for item in table["item"]]
    if clusters is not None and len(set(clusters)) == len(clusters):
        clusters = None
    y = table["#label"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    f = table.select(judges).to_numpy().astype(np.float64)
    # a judge that never varies tells nothing
    found = judged_mean(
        y,
        f[:, f.std(axis=0) > 0],
        probabilities=probabilities,
        strata=strata,
        clusters=clusters,
        items=items,
        level=level,
    )
    plain = (
        mean(f.mean(axis=1), clusters, level=level, bounds=None).estimate
        if len(f) > 1
        else Estimate.without("too_few", "1 item", level=level)
    )
    return {
        **columns_of(mean=found.estimate, labels_alone=found.labels_alone, judges_alone=plain),
        "labels_saved": found.labels_saved,
        "n_labelled": found.n_labelled,
        "n_items": found.n_items,
        "reason": found.estimate.reason or None,
    }


def _judged(judge: Ratings | Source, dimension: str | None) -> tuple[Floats, list[str], list[str], Ratings]:
    """The judges' ratings of the items that all of them rated, as numbers, items × judges."""
    ratings = read_ratings(judge)
    frame = ratings.frame.filter(is_pair())
    there = frame["dimension"].unique().sort().to_list()
    if dimension is None and len(there) > 1:
        raise OptionError(f"There are {len(there)} dimensions. Choose one with --dimension: {', '.join(there[:8])}.")
    if dimension is not None and dimension not in there:
        raise OptionError.unknown("dimension", dimension, there)
    frame = frame.filter(pl.col("dimension") == (dimension or there[0]))
    wide = frame.pivot(on="rater", index="item", values="value", maintain_order=True).drop_nulls()
    judges = [name for name in wide.columns if name != "item"]
    if len(wide) < 10:
        raise InputError(f"{len(wide)} items were rated by all judges; 10 are needed.")
    return wide.select(judges).to_numpy().astype(np.float64), wide["item"].to_list(), judges, ratings


def _labels_of(pilot: Ratings | Source, items: list[str], dimension: str | None) -> Floats:
    frame = read_ratings(pilot).frame.filter(is_pair())
    if dimension is not None:
        frame = frame.filter(pl.col("dimension") == dimension)
    by_item = dict(frame.group_by("item").agg(pl.col("value").mean()).iter_rows())
    return np.array([by_item.get(item, math.nan) for item in items], dtype=np.float64)
