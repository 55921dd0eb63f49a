"""Mean score of each subject, with an interval over clusters of attempts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.evals.item_means import ALL, GROUPS, Items, Ways, default_cluster, grouping_notes, groups_of, items_of
from howsure.evals.variants import averaged_factors, by_scorer, one_scorer
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import normal_quantile
from howsure.stats.means import Bounds
from howsure.stats.mixed import fit_effects, pool
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["ALL", "GROUPS", "ModelRow", "PooledModel", "Summary", "SummaryRow", "groups_of", "pooled_means", "summary"]


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """One subject on one group of tasks."""

    subject: str
    task: str
    mean: Estimate
    n: int
    n_clusters: int
    n_items: int
    se: float | None
    design_effect: float | None
    estimand: str
    held: str = ""
    n_missing: int = 0
    lowest: float | None = None
    highest: float | None = None


@dataclass(frozen=True, kw_only=True)
class PolicyMean:
    """The mean of one subject on one group of tasks, with attempts without a score counted by one defensible policy."""

    subject: str
    task: str
    held: str
    policy: str
    mean: Estimate
    n_items: int


@dataclass(frozen=True, kw_only=True)
class Summary(Result):
    """Mean scores with intervals.

    Table ``summary``: one row per subject and group of tasks.

    =================  ==================================================================================================
    subject            the model, person or baseline
    task               the group of tasks: a domain (the eval), a family, a task, or ``all``
    mean               mean of item means, with mean_low, mean_high and mean_state
    n                  number of attempts that count
    n_clusters         number of independent clusters
    n_items            number of items
    se                 standard error of the mean
    design_effect      variance of the mean divided by the variance if all attempts were independent
    estimand           what the mean is a mean of
    held               the scorer, where the same attempts have several
    n_missing          attempts without a score
    lowest, highest    the mean if these were all wrong, or all right
    =================  ==================================================================================================

    Table ``policies``, where attempts have no score: subject, task, held, policy, mean (with _low, _high, _state) and n_items, one row per subject,
    group of tasks and defensible policy. The rows of ``summary`` are those of the main policy.

    Parameters
    ----------
    rows : tuple[SummaryRow, ...]
        One entry per subject and group of tasks.
    policies : tuple[PolicyMean, ...]
        One entry per subject, group of tasks and defensible policy, where attempts have no score.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "summary"
    rows: tuple[SummaryRow, ...]
    policies: tuple[PolicyMean, ...] = ()
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``summary``, and ``policies`` where attempts have no score."""
        rows = [
            {"subject": r.subject, "task": r.task}
            | columns_of(mean=r.mean)
            | {"n": r.n, "n_clusters": r.n_clusters, "n_items": r.n_items, "se": r.se}
            | {"design_effect": r.design_effect, "estimand": r.estimand, "held": r.held, "n_missing": r.n_missing}
            | {"lowest": r.lowest, "highest": r.highest}
            for r in self.rows
        ]
        policies = [
            {"subject": r.subject, "task": r.task, "held": r.held, "policy": r.policy}
            | columns_of(mean=r.mean)
            | {"n_items": r.n_items}
            for r in self.policies
        ]
        tables = {"summary": rows, "policies": policies}
        return {name: pl.DataFrame(one, infer_schema_length=None) for name, one in tables.items() if one}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.evals.sections import summary_section

        return [summary_section(self)]

    def charts(self) -> dict[str, Chart]:
        """One chart, ``summary``: means with intervals."""
        from howsure.evals.charts import draw_summary

        return {"summary": draw_summary(self)}


@checked
def summary(
    attempts: Attempts | Source,
    *,
    by: str | None = None,
    cluster: str | None = None,
    items: str = "sampled",
    weights: str = "evals",
    level: float = 0.95,
) -> Summary:
    """Mean score of each subject on each group of tasks: the mean of item means.

    Every item counts once, with the mean of its attempts. Over several evals (domains), every eval that all subjects tried counts
    once; the column ``estimand`` says what a row is a mean of. Where runs differ in other factors, such as the prompt, every combination of their
    values that all subjects have counts once; different scorers have rows of their own. Attempts without a score are counted in every defensible way:
    the main one drops those that may be the instrument's failure, and counts the model's own failures as wrong.

    Parameters
    ----------
    attempts : Attempts, frame or path
        One row per attempt: an `Attempts` table, a polars, pandas or pyarrow frame with its columns, or a file.
    by : {"all", "domain", "family", "task"}, optional
        One row per subject and value of this column; without it, ``domain`` where the table has domains (and a row over all of them), else ``all``.
    cluster : {"task", "family", "domain", "none"}, optional
        Attempts of one cluster are not independent: by default those of one family, where there are families, else those at one task. Tasks with
        the same content (``item_digest``) are one cluster.
    items : {"sampled", "fixed"}, default "sampled"
        ``sampled``: the items are a sample of those one could have asked, and intervals are about items like these. ``fixed``:
        intervals are about exactly these items, and come from the repeats of each item alone.
    weights : {"evals", "items"}, default "evals"
        Over several evals, every eval counts once, or every item does.
    level : float, default 0.95
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    Summary
        Rows with `Estimate` objects, and the table ``summary``.

    Raises
    ------
    OptionError
        If the attempts lack the column named by `by` or `cluster`.

    Examples
    --------
    >>> import howsure
    >>> howsure.summary("examples/evals/attempts.csv", cluster="family")  # doctest: +SKIP
    <Summary: 3 rows (subject, task, mean, mean_low, mean_high, mean_state, …)>
    """
    attempts = Attempts.of(attempts)
    rows, policies, notes = [], [], []
    cluster = default_cluster(attempts, cluster)
    options: dict[str, Any] = {
        "cluster": cluster,
        "items": items,
        "weights": weights,
        "factors": averaged_factors(attempts),
    }
    for held, part in by_scorer(attempts):
        ways = Ways(part, by, **options)
        notes += grouping_notes(part, ways.main)
        for group in ways.main:
            notes += (
                [*group.notes, *group.notes_of_clusters(level), *group.notes_of_skewness(level)]
                if group.label == ALL or by in (None, "domain")
                else []
            )
            for subject in group.subjects:
                row = replace(_row(group, subject, level), held=held)
                if n_missing := ways.n_missing_of(group, subject):
                    lowest, highest = ways.ends_of(group, subject)
                    row = replace(row, n_missing=n_missing, lowest=lowest, highest=highest)
                    policies += [
                        PolicyMean(
                            subject=subject,
                            task=row.task,
                            held=held,
                            policy=str(policy),
                            mean=one.mean_of(subject, level).estimate,
                            n_items=len(one.only(subject)),
                        )
                        for policy, one in ways.of_one(group)
                    ]
                rows.append(row)
    rows.sort(key=lambda row: (row.subject, row.task != ALL, row.task, row.held))
    settings: dict[str, Any] = {"by": by or "default", "cluster": cluster, "items": items, "weights": weights}
    settings["level"] = level
    return Summary(
        rows=tuple(rows), policies=tuple(policies), provenance=Provenance.of(attempts, notes=notes, **settings)
    )


def _row(items: Items, subject: str, level: float) -> SummaryRow:
    mean = items.mean_of(subject, level)
    own = items.only(subject)
    return SummaryRow(
        subject=subject,
        task=items.label,
        mean=mean.estimate,
        n=int(own["n_attempts"].sum()),
        n_clusters=mean.n_clusters,
        n_items=len(own),
        se=mean.se,
        design_effect=mean.design_effect,
        estimand=items.estimand,
    )


# One model of all scores: families, items, subjects × items and repeats as random effects, and evals partially pooled.


_EQUAL = "the model takes variances as equal for all subjects and evals"


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One subject on one eval: the model's mean beside the design-based one."""

    subject: str
    task: str
    mean: Estimate
    design: Estimate
    own_weight: float
    remark: str


@dataclass(frozen=True, kw_only=True)
class PooledModel(Result):
    """Means from one model of all scores, beside the design-based means, and where the variance comes from.

    Table ``model``: subject, task, mean (with _low, _high, _state) of the model, design (with _low, _high, _state), own_weight (share of
    the eval's own mean in the model's mean) and remark (why the two differ). Table ``variance_shares``: source, share (with _low, _high,
    _state) and variance.

    Parameters
    ----------
    rows : tuple[ModelRow, ...]
        One entry per subject and eval, and per subject over all evals.
    shares : dict
        Source of variance → its share in the variance of one attempt within an eval.
    variances : dict
        Source of variance → its variance.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "model"
    rows: tuple[ModelRow, ...]
    shares: dict[str, Estimate]
    variances: dict[str, float]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``model`` and ``variance_shares``."""
        rows = [
            {"subject": r.subject, "task": r.task}
            | columns_of(mean=r.mean)
            | columns_of(design=r.design)
            | {"own_weight": r.own_weight, "remark": r.remark}
            for r in self.rows
        ]
        shares = [
            {"source": name} | columns_of(share=share) | {"variance": self.variances[name]}
            for name, share in self.shares.items()
        ]
        return {
            "model": pl.DataFrame(rows, infer_schema_length=None),
            "variance_shares": pl.DataFrame(shares, infer_schema_length=None),
        }


def pooled_means(
    attempts: Attempts | Source,
    *,
    cluster: str | None = None,
    weights: str = "evals",
    level: float = 0.95,
    seed: int = 0,
) -> PooledModel:
    """Means of subjects on evals from one model of all scores (partial pooling), beside the design-based means.

    The model has families, items, subjects × items and repeats as random effects within evals, with the same variances for all
    subjects and evals, and draws a subject's mean on an eval towards what its other evals and the other subjects suggest. It uses
    the items that all subjects tried. The design-based interval of `summary` assumes less and stays the check: ``remark`` says where
    the two differ and why.

    Parameters
    ----------
    attempts : Attempts, frame or path
        One row per attempt.
    cluster : {"task", "family", "domain", "none"}, optional
        For the design-based intervals; see `summary`.
    weights : {"evals", "items"}, default "evals"
        Over several evals, what counts once.
    level : float, default 0.95
        Coverage of the intervals.
    seed : int, default 0
        For the draws behind the intervals of variance shares.

    Returns
    -------
    PooledModel
        With the tables ``model`` and ``variance_shares``.

    Raises
    ------
    InputError
        If fewer than three items were tried by all subjects.
    """
    attempts = Attempts.of(attempts)
    one_scorer(attempts)
    cluster, factors = default_cluster(attempts, cluster), averaged_factors(attempts)
    (everything,) = items_of(attempts, ALL, cluster=cluster, weights=weights, factors=factors)
    subjects = everything.subjects
    frame = everything.frame.with_columns(pl.col("family").fill_null(pl.col("task")))
    shared = frame.filter(pl.len().over("eval", "task") == len(subjects)).sort("eval", "task", "subject")
    if (n_items := len(shared) // max(len(subjects), 1)) < 3:
        raise InputError(f"{n_items} items were tried by all {len(subjects)} subjects; the model needs 3.")
    means, n, spread = (
        shared[name].cast(pl.Float64).to_numpy().reshape(n_items, -1).T for name in ("mean", "n", "spread")
    )
    items = shared.unique(["eval", "task"], keep="first", maintain_order=True)
    family, evals = items["family"].to_numpy(), items["eval"].to_numpy()
    effects = fit_effects(means, n, spread, family, evals, level=level, seed=seed)
    names = list(dict.fromkeys(evals))
    own, variance = np.empty((len(subjects), len(names))), np.empty((len(subjects), len(names)))
    for column, name in enumerate(names):
        is_in = evals == name
        code = np.unique(family[is_in], return_inverse=True)[1]
        own[:, column] = means[:, is_in].mean(axis=1)
        variance[:, column] = [effects.sampling_variance(code, row) for row in n[:, is_in]]
    pooled = pool(own, variance)
    designs = (
        {group.label: group for group in items_of(attempts, "domain", cluster=cluster, factors=factors)}
        if len(names) > 1
        else {}
    )
    share = np.array([(evals == name).mean() if weights == "items" else 1 / len(names) for name in names])
    has_more = cluster in ("task", "none") and effects.variances.get("family", 0.0) > 0
    reason = "the model includes the variance between families, as --cluster family would" if has_more else _EQUAL
    rows, bounds = [], everything.bounds
    for position, subject in enumerate(subjects):
        overall = float(own[position] @ share), float(np.sqrt(share**2 @ variance[position]))
        rows.append(
            _pooled_row(subject, ALL, *overall, everything.mean_of(subject, level).estimate, 1.0, level, reason, bounds)
        )
        for column, name in enumerate(names if len(names) > 1 else []):
            found = float(pooled.means[position, column]), float(pooled.se[position, column])
            design = designs[name].mean_of(subject, level).estimate
            rows.append(
                _pooled_row(
                    subject, name, *found, design, float(pooled.weight[position, column]), level, reason, bounds
                )
            )
    left_out = everything.frame.select("eval", "task").n_unique() - n_items
    notes = [*everything.notes, *effects.notes]
    if left_out:
        notes.append(f"The model excludes {left_out:,} items that not all subjects tried.")
    if len(names) < 3 or len(subjects) < 2:
        notes.append("With fewer than 3 evals or 2 subjects, means are not pooled over evals.")
    settings = {"cluster": cluster, "weights": weights, "level": level}
    provenance = Provenance.of(attempts, seed=seed, notes=notes, **settings)
    return PooledModel(rows=tuple(rows), shares=effects.shares, variances=effects.variances, provenance=provenance)


def _pooled_row(
    subject: str,
    task: str,
    value: float,
    se: float,
    design: Estimate,
    own_weight: float,
    level: float,
    reason: str,
    bounds: Bounds,
) -> ModelRow:
    reach, (lowest, highest) = normal_quantile(level) * se, bounds or (-np.inf, np.inf)
    value = min(max(value, lowest), highest)
    mean = Estimate(value, max(value - reach, lowest), min(value + reach, highest), level)
    remarks = []
    if design.width and mean.width:
        if own_weight < 0.9 and abs(value - (design.value or 0.0)) > design.width / 8:
            remarks.append(f"pooled: {1 - own_weight:.0%} of the mean comes from the other evals")
        ratio = mean.width / design.width
        if not 0.8 <= ratio <= 1.25:
            which = "narrower" if ratio < 1 else "wider"
            remarks.append(f"interval {which} than the design-based one: {reason if ratio > 1 else _EQUAL}")
    return ModelRow(
        subject=subject, task=task, mean=mean, design=design, own_weight=own_weight, remark="; ".join(remarks)
    )
