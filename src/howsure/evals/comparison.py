"""Differences between models, prompts or any other cells of attempts, paired by item; interactions of crossed factors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, stated
from howsure.evals.item_means import ALL, GROUPS, Items, Ways, default_cluster, items_of
from howsure.evals.pairs import TestedPair, share_of, tested_pairs, two_sided
from howsure.evals.variants import Spec, Variants, aligned, named, variants_of
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats, cluster_sums, t_quantile
from howsure.stats.means import mean, paired_difference
from howsure.stats.multiplicity import benjamini_hochberg, holm
from howsure.stats.permutation import permutation, sign_flip
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.evals.variants import Variants
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = [
    "CORRECTIONS",
    "USED",
    "Comparison",
    "CostRow",
    "Difference",
    "Interaction",
    "compare",
    "cost_rows",
    "ratio",
]


# What attempts cost and how long they took, beside what they scored.


USED = ("cost", "seconds", "tokens")
"""What an attempt can use up: columns of Attempts."""


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """Score and what an attempt used, per compared cell.

    ``score``, ``cost``, ``seconds`` and ``tokens`` are means of item means; ``cost_per_success`` is the mean cost of an attempt divided by the
    mean score; ``is_efficient`` says that no other cell scores at least as high at a lower or equal cost.
    """

    name: str
    held: str
    score: Estimate
    cost: Estimate
    seconds: Estimate
    tokens: Estimate
    cost_per_success: Estimate
    is_efficient: bool = False

    def as_row(self) -> dict[str, Any]:
        """As a row of a table."""
        estimates = {name: getattr(self, name) for name in ("score", *USED, "cost_per_success")}
        return {"name": self.name, "held": self.held} | columns_of(**estimates) | {"is_efficient": self.is_efficient}


def cost_rows(variants: Variants, *, cluster: str | None = None, level: float = 0.95) -> tuple[CostRow, ...]:
    """Score, cost, time and tokens of each cell; nothing where the attempts have none of them.

    Parameters
    ----------
    variants : Variants
        The cells.
    cluster : {"task", "family", "domain", "none"}
        Items of one cluster are not independent.
    level : float
        Coverage of the intervals.
    """
    attempts = variants.attempts
    there = [name for name in USED if attempts.has(name)]
    if not there:
        return ()
    domain = pl.col("domain").fill_null("(none)") if attempts.has("domain") else pl.lit("")
    used = attempts.lazy.with_columns(domain.alias("eval")).group_by("subject", "eval", "task")
    means = used.agg(*(pl.col(name).mean() for name in there)).collect(engine="streaming")
    (items,) = items_of(attempts, ALL, cluster=cluster, factors=variants.averaged)
    frame = items.frame.join(means, on=["subject", "eval", "task"], how="left")
    rows = []
    for cell in sorted(variants.names):
        own = frame.filter(pl.col("subject") == cell)
        if own.is_empty():
            continue
        found: dict[str, Any] = {
            name: _mean_used(own, name, level) if name in there else _unknown(name, level) for name in USED
        }
        per_success = _unknown("cost", level)
        if "cost" in there and not own["cost"].null_count():
            per_success = ratio(own["cost"].to_numpy(), own["mean"].to_numpy(), own["cluster"].to_numpy(), level)
        score = items.mean_of(cell, level).estimate
        rows.append(
            CostRow(
                name=variants.names[cell], held=variants.held[cell], score=score, cost_per_success=per_success, **found
            )
        )
    return tuple(_marked(rows))


def ratio(above: Floats, below: Floats, clusters: Any, level: float) -> Estimate:
    r"""The ratio R of two means over clusters, with an interval on the log scale.

    .. math:: se(\log R) = \frac{1}{n\,\bar y\,R}\sqrt{\tfrac{G}{G-1}\sum_c \Big(\sum_{i\in c}(x_i - R y_i)\Big)^2}

    Parameters
    ----------
    above, below : array
        One entry per item.
    clusters : sequence
        One label per item.
    level : float
        Coverage of the interval.
    """
    if not below.sum() > 0:
        return Estimate.without("unbounded", "no success, so the cost of one has no upper limit", level=level)
    value = float(above.sum() / below.sum())
    pulls, _ = cluster_sums(above - value * below, clusters)
    if len(pulls) < 2 or value == 0:
        return Estimate.without("too_few", "1 cluster; an interval needs 2", value=value, level=level)
    se = np.sqrt(len(pulls) / (len(pulls) - 1) * (pulls**2).sum()) / above.sum()
    reach = float(np.exp(t_quantile(level, len(pulls) - 1) * se))
    if not np.isfinite(reach) or not np.isfinite(value * reach):
        return Estimate(value, 0.0, None, level, high_state="unbounded")
    return Estimate(value, value / reach, value * reach, level)


def _mean_used(own: pl.DataFrame, name: str, level: float) -> Estimate:
    known = own.drop_nulls(name)
    if known.is_empty():
        return _unknown(name, level)
    clusters, evals = known["cluster"].to_numpy(), known["eval"].to_numpy()
    return mean(known[name].to_numpy(), clusters, strata=evals, level=level, bounds=None).estimate


def _unknown(name: str, level: float) -> Estimate:
    return Estimate.without("undefined", f"the attempts have no {name}", level=level)


def _marked(rows: list[CostRow]) -> list[CostRow]:
    """The rows, marked where no other is as good and as cheap."""
    from dataclasses import replace

    def is_beaten(row: CostRow, other: CostRow) -> bool:
        pairs = (row.score.value, other.score.value, row.cost.value, other.cost.value)
        if row is other or None in pairs or row.held != other.held:
            return False
        score, other_score, cost, other_cost = (float(x) for x in pairs if x is not None)
        return other_score >= score and other_cost <= cost and (other_score, other_cost) != (score, cost)

    return [
        replace(row, is_efficient=row.cost.value is not None and not any(is_beaten(row, other) for other in rows))
        for row in rows
    ]


Tested = TypeVar("Tested", "Difference", "Interaction")

_MOST_TOLD = 3  # pairs named in a note
CORRECTIONS = {"holm": holm, "bh": benjamini_hochberg}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How much higher the mean score of a is than that of b on one group of tasks.

    ``p_a_greater`` is the probability that the true difference is above 0. ``within_item_share`` is the share of the squared
    standard error that comes from variation between repeats of an item, which more repeats would remove; the rest comes from
    variation between items. ``estimand`` says what the difference is a mean of; ``se`` is the standard error of a paired difference.

    Where attempts have no score, all numbers are those of the main policy, except for ``p_policies``: the largest p-value under any defensible policy
    (1 where two of them give the difference opposite signs), from which ``p_adjusted`` is made. ``n_missing`` counts attempts without a score, and
    items that one side lacks; ``lowest`` and ``highest`` are the difference if all of them were wrong for one side and right for the other.
    """

    a: str
    b: str
    task: str
    difference: Estimate
    p: float | None
    p_adjusted: float | None = None
    test: str
    p_a_greater: float | None
    n_items: int
    n_clusters: int
    n_unshared: int
    within_item_share: Estimate
    estimand: str
    held: str = ""
    se: float | None = None
    n_missing: int = 0
    p_policies: float | None = None
    lowest: float | None = None
    highest: float | None = None


@dataclass(frozen=True, kw_only=True)
class PolicyDifference:
    """One difference, with attempts without a score counted by one defensible policy."""

    a: str
    b: str
    task: str
    held: str
    policy: str
    difference: Estimate
    p: float | None
    n_items: int


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """How much the difference between two values of one factor depends on another: (a1 − a2 at b1) − (a1 − a2 at b2)."""

    factor: str
    a1: str
    a2: str
    moderator: str
    b1: str
    b2: str
    held: str
    interaction: Estimate
    p: float | None
    p_adjusted: float | None = None
    n_items: int
    n_clusters: int


@dataclass(frozen=True, kw_only=True)
class Comparison(Result):
    """Differences of pairs of subjects.

    Table ``compare``: one row per pair and group of tasks.

    =====================  ==============================================================================================
    a, b                   the two subjects
    task                   the group of tasks: a domain (the eval), a family, a task, or ``all``
    difference             mean of a minus mean of b, with difference_low, difference_high and difference_state
    p, p_policies          p-value of no difference, and the largest one under any defensible way to count attempts without a score
    p_adjusted             p_policies, corrected for the number of pairs
    test                   the test that gave it
    p_a_greater            probability that the true difference is above 0
    n_items                number of items that both tried
    n_clusters             number of independent clusters
    n_unshared             number of items that only one of them tried
    within_item_share      share of the squared standard error from repeats of an item, with its interval and state
    estimand               what the difference is a mean of
    held                   a factor that is held equal (the scorer), and the value that both have
    n_missing              attempts without a score and items that one side lacks
    lowest, highest        the difference if these were all wrong for one side and right for the other
    =====================  ==============================================================================================

    Table ``policies``, where attempts have no score: a, b, task, held, policy, difference (with _low, _high and _state), p and n_items, one row per pair and policy. Table ``interactions``, where factors are crossed: factor, a1, a2, moderator, b1, b2, held, interaction (with _low, _high and _state), p,
    p_adjusted, n_items and n_clusters. Table ``costs``, where the attempts have costs, tokens or seconds: see `howsure.evals.comparison.CostRow`.

    Parameters
    ----------
    pairs : tuple[Difference, ...]
        One entry per pair and group of tasks.
    policies : tuple[PolicyDifference, ...]
        One entry per pair and defensible policy, where attempts have no score.
    interactions : tuple[Interaction, ...]
        One entry per two factors and two values of each.
    costs : tuple[CostRow, ...]
        One entry per compared cell, where the attempts have costs, tokens or seconds.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "compare"
    pairs: tuple[Difference, ...]
    policies: tuple[PolicyDifference, ...] = ()
    interactions: tuple[Interaction, ...] = ()
    costs: tuple[CostRow, ...] = ()
    provenance: Provenance

    @property
    def statement(self) -> str:
        """What a difference of this comparison is, in one sentence."""
        settings = self.provenance.settings
        held = {pair.held for pair in self.pairs if pair.held}
        both = (
            " Both have the same " + ", ".join(part.partition("=")[0] for part in next(iter(held)).split(", ")) + "."
            if held
            else ""
        )
        evals = {pair.estimand for pair in self.pairs}
        is_fixed = settings.get("items") == "fixed"
        over = "" if is_fixed else ", over items that could have been asked (these are a sample)"
        return (
            f"Estimand: {settings.get('factor', 'model')} A minus {settings.get('factor', 'model')} B in {' or '.join(sorted(evals))}"
            f"{over}.{both}"
        )

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``compare``."""
        rows = [
            {"a": d.a, "b": d.b, "task": d.task}
            | columns_of(difference=d.difference)
            | {
                "p": d.p,
                "p_policies": d.p_policies,
                "p_adjusted": d.p_adjusted,
                "test": d.test,
                "p_a_greater": d.p_a_greater,
            }
            | {"n_items": d.n_items, "n_clusters": d.n_clusters, "n_unshared": d.n_unshared}
            | columns_of(within_item_share=d.within_item_share)
            | {
                "estimand": d.estimand,
                "held": d.held,
                "n_missing": d.n_missing,
                "lowest": d.lowest,
                "highest": d.highest,
            }
            for d in self.pairs
        ]
        policies = [
            {"a": d.a, "b": d.b, "task": d.task, "held": d.held, "policy": d.policy}
            | columns_of(difference=d.difference)
            | {"p": d.p, "n_items": d.n_items}
            for d in self.policies
        ]
        crossed = [
            {name: getattr(i, name) for name in ("factor", "a1", "a2", "moderator", "b1", "b2", "held")}
            | columns_of(interaction=i.interaction)
            | {"p": i.p, "p_adjusted": i.p_adjusted, "n_items": i.n_items, "n_clusters": i.n_clusters}
            for i in self.interactions
        ]
        tables = {
            "compare": rows,
            "policies": policies,
            "interactions": crossed,
            "costs": [row.as_row() for row in self.costs],
        }
        return {name: pl.DataFrame(one, infer_schema_length=None) for name, one in tables.items() if one}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.evals.sections import comparison_section

        return [comparison_section(self)]

    def charts(self) -> dict[str, Chart]:
        """``compare``: differences with intervals; ``pareto``, where the attempts have costs: score and cost."""
        from howsure.evals.charts import draw_comparison, draw_pareto

        pareto = {"pareto": draw_pareto(self)} if any(row.cost.value is not None for row in self.costs) else {}
        return {"compare": draw_comparison(self)} | pareto


@checked
def compare(
    attempts: Attempts | Source,
    a: Spec | None = None,
    b: Spec | None = None,
    *,
    by: str | Sequence[str] | None = ALL,
    cluster: str | None = None,
    items: str = "sampled",
    weights: str = "evals",
    correction: str = "holm",
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Differences between models, or between the values of any other column, paired by item.

    Every item that both tried counts once, with the mean of its attempts; over several evals, every eval that all compared
    cells tried counts once. So a difference equals that of two means of `summary` where both tried the same items.
    Where two cells share fewer than two items, their means are compared unpaired, and ``test`` says so. Attempts without a score are counted
    in every defensible way: a difference is significant only if it is so in all of them.

    Parameters
    ----------
    attempts : Attempts, frame or path
        One row per attempt: an `Attempts` table, a polars, pandas or pyarrow frame with its columns, or a file.
    a, b : str or mapping, optional
        The two sides: a value of the factor, or ``"model=x,prompt=cot"``, or ``{"model": "x", "prompt": "cot"}``. With one of them: its
        differences to all others. Without: all pairs.
    by : str or sequence of str, default "all"
        Columns, also separated by commas. Those that describe runs (model, prompt, temperature, …) are compared; with two of them, each is
        compared at every value of the other, and the interactions are estimated. One of ``all``, ``domain``, ``family`` and ``task`` may be
        among them: one comparison per value. Without a factor, models are compared, or the one factor that varies. Other factors that vary are averaged
        over: each combination of their values that both have counts once, and the difference is about exactly these values. Scorers are held equal.
    cluster : {"task", "family", "domain", "none"}, optional
        Items of one cluster are not independent: by default those of one family, where there are families, else each task is its own. Tasks with the same content (``item_digest``) are one cluster.
    items : {"sampled", "fixed"}, default "sampled"
        ``sampled``: intervals are about items like these. ``fixed``: about exactly these items, from the repeats of each item
        alone; p is then by the distribution of the interval.
    weights : {"evals", "items"}, default "evals"
        Over several evals, every eval counts once, or every item does.
    correction : {"holm", "bh"}, default "holm"
        Correction of the p-values of all pairs together: Holm, or Benjamini–Hochberg.
    level : float, default 0.95
        Coverage of the intervals, between 0 and 1.
    seed : int, default 0
        For the random sign flips or permutations of the test. The same seed gives the same numbers.
    progress : callable, optional
        Called with the number of finished pairs and of all pairs.

    Returns
    -------
    Comparison
        Pairs with `Estimate` objects, and the table ``compare``.

    Raises
    ------
    InputError
        If there are not two cells with attempts to compare.
    OptionError
        If a value, column or correction does not exist, or if several factors vary and none is named.

    Examples
    --------
    >>> import howsure
    >>> howsure.compare("examples/evals/attempts.csv", "amber-2", "amber-1").pairs[0].difference  # doctest: +SKIP
    """
    attempts = Attempts.of(attempts)
    if correction not in CORRECTIONS:
        raise OptionError.unknown("correction", correction, CORRECTIONS)
    columns = [] if by is None else [name.strip() for name in (by.split(",") if isinstance(by, str) else by)]
    groups = [name for name in columns if name in GROUPS]
    if len(groups) > 1:
        raise OptionError(f"{' and '.join(groups)} both divide the items. Name one of them.")
    group = groups[0] if groups else None if by is None else ALL
    variants = variants_of(attempts, a, b, by=[name for name in columns if name not in GROUPS])
    cluster = default_cluster(attempts, cluster)
    options: dict[str, Any] = {"cluster": cluster, "items": items, "weights": weights, "factors": variants.averaged}
    notes, found, policies = list(variants.notes), [], []
    blocks = [
        (pairs, *aligned(_only(variants.attempts, sorted({cell for pair in pairs for cell in pair}))))
        for _, pairs in variants.blocks()
    ]
    wanted = 0
    for pairs, part, told in blocks:
        cells = sorted({cell for pair in pairs for cell in pair})
        ways = Ways(part, group, subjects=cells, **options)
        notes += told + [note for one in ways.main if one.label == ALL or group == "domain" for note in one.notes]
        for one in ways.main:
            own = [pair for pair in pairs if one.label == ALL or set(pair) <= set(one.subjects)]
            for (first, second), main in zip(own, _differences(one, own, level, seed), strict=True):
                pair, under = _under_policies(ways, one, main, level, seed)
                if (
                    pair.n_items
                    and len(one.evals) > 1
                    and (apart := sorted(set(one.evals) - set(one.paired(first, second)["eval"])))
                ):
                    notes.append(
                        f"{variants.names[first]} − {variants.names[second]}: {', '.join(apart[:4])}{' …' if len(apart) > 4 else ''} "
                        f"{'is' if len(apart) == 1 else 'are'} excluded, because the two have no common item there."
                    )
                named_pair: dict[str, Any] = {
                    "a": variants.names[first],
                    "b": variants.names[second],
                    "held": variants.held[first],
                }
                found.append(replace(pair, **named_pair))
                policies += [replace(row, **named_pair) for row in under]
                wanted += 1
                if progress:
                    progress(wanted, max(wanted, sum(len(pairs) for pairs, *_ in blocks)))
    if not found:
        raise InputError(f"No {group} was tried by two of the subjects, so there is nothing to compare.")
    notes += _disagreements(found, level) + _turning(found, level)
    crossed = _interactions(variants, cluster, level, seed) if len(variants.by) > 1 and a is None and b is None else []
    settings: dict[str, Any] = {
        "by": by if isinstance(by, str) else ",".join(columns) or "default",
        "factor": variants.factor,
    }
    settings |= {"cluster": cluster, "items": items, "weights": weights, "correction": correction, "level": level}
    return Comparison(
        pairs=_adjusted(found, correction),
        policies=tuple(policies),
        interactions=_adjusted(crossed, correction),
        costs=cost_rows(variants, cluster=cluster, level=level),
        provenance=Provenance.of(attempts, seed=seed, notes=notes, **settings),
    )


def _under_policies(
    ways: Ways, items: Items, pair: Difference, level: float, seed: int
) -> tuple[Difference, list[PolicyDifference]]:
    """A difference by the main policy, with its largest p-value under all policies; and the difference under each, where something is missing."""
    a, b = pair.a, pair.b
    n_missing = ways.n_missing(items, a, b)
    if not n_missing:
        return replace(pair, p_policies=pair.p), []
    under = [(str(policy), _differences(one, [(a, b)], level, seed)[0]) for policy, one in ways.of(items, a, b)]
    p = _largest_p([one for _, one in under])
    if ways.is_open(items, a, b):
        p = 1.0
    lowest, highest = ways.bounds(items, a, b)
    rows = [
        PolicyDifference(
            a=a, b=b, task=pair.task, held="", policy=policy, difference=one.difference, p=one.p, n_items=one.n_items
        )
        for policy, one in under
    ]
    return replace(pair, p_policies=p, n_missing=n_missing, lowest=lowest, highest=highest), rows


def _largest_p(pairs: Sequence[Difference]) -> float | None:
    """The p-value of a difference that every policy has to show: 1 where two policies give it opposite signs."""
    p = [pair.p for pair in pairs]
    signs = {np.sign(pair.difference.value or 0.0) for pair in pairs}
    return None if None in p else 1.0 if {1.0, -1.0} <= signs else max(one for one in p if one is not None)


def _turning(found: Sequence[Difference], level: float) -> list[str]:
    """Differences that are significant by the main policy, and not by another one."""
    turned = [
        f"{pair.a} − {pair.b}"
        for pair in found
        if pair.p is not None and pair.p < 1 - level and (pair.p_policies is None or pair.p_policies >= 1 - level)
    ]
    if not turned:
        return []
    more = f" and {len(turned) - _MOST_TOLD} more" if len(turned) > _MOST_TOLD else ""
    return [
        f"What attempts without a score count as decides: {', '.join(turned[:_MOST_TOLD])}{more} would be significant without them, and not under every defensible policy. "
        "Run these attempts again, or decide what they count as with count."
    ]


def _disagreements(found: Sequence[Difference], level: float) -> list[str]:
    """Pairs whose interval and test, which are different methods, say different things about 0."""
    apart = []
    for pair in found:
        low, high = pair.difference.low, pair.difference.high
        if (
            pair.p is not None
            and low is not None
            and high is not None
            and (low > 0 or high < 0) != (pair.p < 1 - level)
        ):
            apart.append(f"{pair.a} − {pair.b} ({pair.difference}, {stated('p', pair.p)} by {pair.test})")
    if not apart:
        return []
    more = f" and {len(apart) - _MOST_TOLD} more" if len(apart) > _MOST_TOLD else ""
    return [
        f"Interval and test disagree about 0: {', '.join(apart[:_MOST_TOLD])}{more}. They are different methods, and with few items or few flips they may differ near "
        "the threshold. What is called significant follows the test."
    ]


def _only(attempts: Attempts, cells: Sequence[str]) -> Attempts:
    """The attempts of some cells; the table itself where it has no others."""
    there = attempts.lazy.select(pl.col("subject").unique()).collect(engine="streaming")["subject"]
    if set(there) == set(cells):
        return attempts
    return attempts.derive(attempts.lazy.filter(pl.col("subject").is_in(list(cells))))


def _interactions(variants: Variants, cluster: str, level: float, seed: int) -> list[Interaction]:
    """For each two factors and two values of each, over the items that all four cells tried."""
    part, _ = aligned(variants.attempts)
    (items,) = items_of(part, ALL, cluster=cluster, subjects=sorted(variants.values), factors=variants.averaged)
    wide = items.frame.pivot("subject", index=["eval", "task", "cluster"], values="mean").sort("eval", "task")
    cell_of = {tuple(sorted(values.items())): cell for cell, values in variants.values.items()}
    levels = {name: sorted({values[name] for values in variants.values.values()}) for name in variants.by}
    found = []
    for factor, moderator in itertools.combinations(variants.by, 2):
        fixed = {
            tuple(sorted((n, v) for n, v in values.items() if n not in (factor, moderator)))
            for values in variants.values.values()
        }
        for rest in sorted(fixed):
            for (a1, a2), (b1, b2) in itertools.product(
                itertools.combinations(levels[factor], 2), itertools.combinations(levels[moderator], 2)
            ):
                keys = [
                    tuple(sorted([*rest, (factor, x), (moderator, y)]))
                    for x, y in ((a1, b1), (a2, b1), (a1, b2), (a2, b2))
                ]
                if not all(key in cell_of for key in keys):
                    continue
                cells = [cell_of[key] for key in keys]
                shared = wide.drop_nulls(cells)
                first, second, third, fourth = (shared[cell].to_numpy() for cell in cells)
                clusters = shared["cluster"].to_numpy()
                bounds = None if part.is_free else (-1.0, 1.0)
                mean = paired_difference(
                    first - second,
                    third - fourth,
                    clusters,
                    strata=shared["eval"].to_numpy(),
                    level=level,
                    bounds=bounds,
                )
                is_single = shared["eval"].n_unique() == 1
                p = (
                    sign_flip(first - second - third + fourth, clusters).p
                    if is_single and len(shared) > 1
                    else two_sided(mean.p_positive)
                )
                found.append(
                    Interaction(
                        factor=named(factor), a1=a1, a2=a2, moderator=named(moderator), b1=b1, b2=b2,
                        held=", ".join(f"{named(n)}={v}" for n, v in rest), interaction=mean.estimate, p=p,
                        n_items=len(shared), n_clusters=mean.n_clusters,
                    )
                )  # fmt: skip
    return found


def _differences(items: Items, pairs: Sequence[tuple[str, str]], level: float, seed: int) -> list[Difference]:
    """The difference of each pair, paired by item where they share some."""
    tested = tested_pairs(items, pairs, level)
    return [
        _paired(items, pair, tested[place], level) if place in tested else _unpaired(items, *pair, level, seed)
        for place, pair in enumerate(pairs)
    ]


def _paired(items: Items, pair: tuple[str, str], found: TestedPair, level: float) -> Difference:
    return Difference(
        a=pair[0],
        b=pair[1],
        task=items.label,
        difference=found.mean.estimate,
        p=found.p,
        test=found.test,
        p_a_greater=found.mean.p_positive,
        n_items=found.n_items,
        n_clusters=found.mean.n_clusters,
        n_unshared=found.n_unshared,
        within_item_share=share_of(items, found, level),
        estimand=items.estimand_of(found.n_evals),
        se=found.mean.se,
    )


def _unpaired(items: Items, a: str, b: str, level: float, seed: int) -> Difference:
    x, y = (items.only(subject)["mean"].to_numpy() for subject in (a, b))
    pair = Difference(
        a=a,
        b=b,
        task=items.label,
        difference=Estimate.without(
            "undefined", f"no eval was tried by all {len(items.subjects)} subjects; name two to compare", level=level
        ),
        p=None,
        test="none",
        p_a_greater=None,
        n_items=0,
        n_clusters=0,
        n_unshared=len(x) + len(y),
        within_item_share=Estimate.without("undefined", "they share fewer than two items", level=level),
        estimand=items.estimand,
    )
    if not len(x) or not len(y):
        return pair
    mean = items.unpaired_of(a, b, level)
    greater = mean.p_positive
    if len(items.evals) == 1 and mean.n_clusters == len(x) + len(y):
        p, test = permutation(x, y, seed=seed).p if mean.se is not None else None, "permutation, unpaired"
        if p is not None and p < _RESOLVED:
            p, test = two_sided(greater), "t, unpaired"
    else:  # items of one cluster cannot change sides alone, nor can items that count unequally
        p, test = two_sided(greater), "t, unpaired"
    return replace(pair, difference=mean.estimate, p=p, test=test, p_a_greater=greater, n_clusters=mean.n_clusters)


_RESOLVED = 0.005  # 10,000 random splits give no smaller p-value that a correction for many comparisons could use


def _adjusted(found: Sequence[Tested], correction: str) -> tuple[Tested, ...]:
    largest = (pair.p_policies if isinstance(pair, Difference) else pair.p for pair in found)
    p_by_index = {index: p for index, p in enumerate(largest) if p is not None}
    if p_by_index:
        adjusted = CORRECTIONS[correction](list(p_by_index.values()))
        p_by_index = dict(zip(p_by_index, adjusted.tolist(), strict=True))
    return tuple(replace(pair, p_adjusted=p_by_index.get(index)) for index, pair in enumerate(found))
