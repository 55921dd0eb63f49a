"""Means and differences of evals under many specifications, over common draws of clusters."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.evals.item_means import ALL, CLUSTERS, Items, item_weights, items_of
from howsure.evals.pairs import difference_of
from howsure.evals.variants import aligned, averaged_factors, by_scorer, numbered, with_absent
from howsure.results.choices import AnalysisChoice, AnalysisOption, Choices, Specification
from howsure.stats._arrays import Floats
from howsure.stats.means import Mean
from howsure.tables import Attempts
from howsure.tables.outcomes import OWN_FAILURES, Policy

__all__ = [
    "ClusterDraws",
    "attempts_of",
    "attempts_under",
    "data_of",
    "difference_under",
    "eval_choices",
    "items_under",
    "mean_under",
    "only_domain",
]


@dataclass(frozen=True, eq=False)
class ClusterDraws:
    """Weights of clusters in each replicate, the same for every specification: independent exponential ones (Rubin's Bayesian bootstrap).

    Parameters
    ----------
    n_replicates : int
        The number of replicates.
    seed : int
        The same seed gives the same weights; those of a cluster depend on its name alone.
    """

    n_replicates: int
    seed: int
    _drawn: dict[str, Floats] = field(default_factory=dict, repr=False)

    def weights(self, clusters: Sequence[str]) -> Floats:
        """One row per replicate, one column per cluster."""
        for name in set(clusters) - self._drawn.keys():
            key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big")
            self._drawn[name] = np.random.default_rng([self.seed, key]).standard_exponential(self.n_replicates)
        return np.column_stack([self._drawn[name] for name in clusters])

    def means(self, frame: pl.DataFrame, values: Floats, weights: str) -> Floats:
        """The mean of item values in each replicate: weighted items within each eval, evals (or items) counting once."""
        share = self.weights(frame["cluster"].to_list()) * item_weights(frame, weights)
        if weights == "items":
            return np.asarray((share @ values) / share.sum(axis=1))
        evals, strata = np.unique(frame["eval"].to_numpy(), return_inverse=True)
        member = np.eye(len(evals))[strata]
        return np.asarray((((share * values) @ member) / (share @ member)).mean(axis=1))


def attempts_of(attempts: Attempts, kind: str, models: Sequence[str]) -> Attempts:
    """The attempts that a claim is about; for a difference, with a row for each item that only one of the two has.

    Parameters
    ----------
    attempts : Attempts
        All attempts.
    kind : str
        ``level``, ``difference`` or ``rank``.
    models : sequence of str
        The models of the claim.
    """
    if kind == "rank":
        return attempts
    own = attempts.derive(
        attempts.lazy.filter(pl.col("subject").is_in(list(models))).collect(engine="streaming").lazy()
    )
    if kind == "level":
        return own
    paired = aligned(own)[0]
    return with_absent(paired, models, averaged_factors(paired))


def eval_choices(attempts: Attempts, *, kind: str = "level") -> Choices:
    """The defensible choices of a mean, a difference or a rank that these attempts allow, each with its reasons.

    Parameters
    ----------
    attempts : Attempts
        The attempts of the claim, from `attempts_of`; a choice that would change nothing is not offered.
    kind : str
        ``level``, ``difference`` or ``rank``; ranks are not computed for fixed items or for other weights of evals.
    """
    o = AnalysisOption
    there = attempts.lazy.collect_schema().names()
    has = {name: name in there for name in ("family", "domain", "error", "limit", "flag")}
    counts = attempts.lazy.select(
        pl.len().alias("n"),
        *((pl.col(name).is_not_null() & pl.col("score").is_not_null()).sum().alias(name) for name in ("error", "limit", "flag") if has[name]),
        *([pl.col("domain").n_unique().alias("domain")] if has["domain"] else []),
        *([pl.struct("task", "family").n_unique().alias("tasks"), pl.col("family").n_unique().alias("family")] if has["family"] else []),
        (pl.struct("subject", "task").n_unique() < pl.len()).alias("repeats"),
    ).collect(engine="streaming").row(0, named=True)  # fmt: skip
    offered = []
    clusters = [o("task", "items are independent")]
    if has["family"] and 1 < counts["family"] < counts["tasks"]:
        family = o("family", "items of one family share a source or a text", "Miller 2024, arXiv:2411.00640")
        clusters = [family, *clusters]  # the default of howsure summary first
    if len(clusters) > 1:
        offered.append(AnalysisChoice("cluster", "Which items are not independent?", tuple(clusters), CLUSTERS[:3]))
    if kind != "rank" and counts["repeats"]:
        offered.append(
            AnalysisChoice(
                "items",
                "What is the claim about?",
                (
                    o("sampled", "items like these (generalized accuracy)", "NIST AI 800-3"),
                    o("fixed", "exactly these items (benchmark accuracy)", "NIST AI 800-3"),
                ),
            )
        )
    if kind != "rank" and counts.get("domain", 1) > 1:
        offered.append(
            AnalysisChoice(
                "weights",
                "Over several evals, what counts once?",
                (
                    o("evals", "every eval is one view of the ability"),
                    o("items", "every item is one piece of evidence"),
                ),
            )
        )
    n = counts["n"]
    policies = attempts.policies
    if attempts.missing and (len(policies) > 1 or kind == "rank"):
        n_missing = sum(sum(own.values()) - own.get("scored", 0) for own in attempts.outcomes.values())
        options = tuple(o(str(policy), _why(policy), "howsure: missing outcomes") for policy in policies)
        question = f"What do attempts without a score count as ({n_missing:,} of {n:,})?"
        offered.append(AnalysisChoice("count", question, options, must_agree=True))
    scorers = [held.partition("=")[2] for held, _ in by_scorer(attempts) if held]
    if scorers:
        options = tuple(o(one, f"the score that {one} gives") for one in scorers)
        offered.append(AnalysisChoice("scorer", "Whose score counts?", options))
    if counts.get("error"):
        offered.append(
            AnalysisChoice(
                "errors",
                f"What do attempts count as that an error ended, but that have a score ({counts['error']:,} of {n:,})?",
                (o("scored", "as the log scored them"), o("drop", "the infrastructure failed, not the model")),
            )
        )
    if counts.get("limit"):
        offered.append(
            AnalysisChoice(
                "limits",
                f"What do attempts count as that were cut at a limit ({counts['limit']:,} of {n:,})?",
                (o("scored", "who does not finish within the budget does not succeed"), o("drop", "the limit, not the ability, may have ended the attempt")),
            )
        )  # fmt: skip
    if counts.get("flag"):
        offered.append(
            AnalysisChoice(
                "flagged",
                f"Are attempts included that a reviewer or scanner flagged ({counts['flag']:,} of {n:,})?",
                (o("included", "a flag is not proof"), o("drop", "flagged attempts may be invalid")),
            )
        )
    return Choices(tuple(offered))


def _why(policy: Policy) -> str:
    """The reason for a policy, in words."""
    reasons = {
        (True, "wrong"): "the model's own failure",
        (False, "wrong"): "who gives no answer that counts does not succeed",
        (False, "drop"): "the instrument may have failed, not the model",
        (True, "drop"): "decided by the user",
    }
    return "; ".join(f"{name}: {reasons[name in OWN_FAILURES, rule]}" for name, rule in policy.rules.items())


def only_domain(attempts: Attempts, on: str | None) -> Attempts:
    """The attempts at one eval (domain); all without a name."""
    if on is None:
        return attempts
    if not attempts.has("domain"):
        raise OptionError(f"These attempts have no column 'domain', so there is no eval called {on!r}.")
    names = attempts.lazy.select(pl.col("domain").unique().sort()).collect()["domain"].drop_nulls().to_list()
    if on not in names:
        raise OptionError.unknown("eval", on, names)
    return attempts.derive(numbered(attempts.lazy.filter(pl.col("domain") == on)))


def attempts_under(attempts: Attempts, specification: Specification) -> Attempts:
    """The attempts that a specification includes, with the scores that it gives them."""
    rows = attempts.lazy
    if scorer := specification.get("scorer"):
        rows = rows.filter(pl.col("scorer") == scorer)
    for choice, column in (("errors", "error"), ("limits", "limit"), ("flagged", "flag")):
        if specification.get(choice) == "drop":
            rows = rows.filter(pl.col(column).is_null() | pl.col("score").is_null())
    kept = attempts.derive(numbered(rows))
    return kept.counting(specification["count"], attempts.count.missing_score) if "count" in specification else kept


def data_of(attempts: Attempts, specification: Specification) -> tuple[object, ...]:
    """What distinguishes a specification from others: its data as they count, and its other options.

    Parameters
    ----------
    attempts : Attempts
        The attempts of the claim.
    specification : mapping
        The options by choice.
    """
    kept = attempts_under(attempts, specification)
    columns = [name for name in ("subject", "domain", "task", "score", "n", "n_success") if kept.has(name)]
    rows = (
        kept.counted.lazy.select(pl.struct(columns).hash(1).sort().implode().hash(2), pl.len())
        .collect(engine="streaming")
        .row(0)
    )
    rest = sorted((name, value) for name, value in specification.items() if name not in _OF_DATA)
    return (*rows, *rest)


_OF_DATA = ("count", "scorer", "errors", "limits", "flagged")


def items_under(attempts: Attempts, specification: Specification, subjects: Sequence[str] | None = None) -> Items:
    """The item means of a specification; with `subjects`, of these alone.

    Parameters
    ----------
    attempts : Attempts
        All attempts.
    specification : mapping
        The options by choice.
    subjects : sequence of str, optional
        The models that are compared.
    """
    kept = attempts_under(attempts, specification)
    (items,) = items_of(
        kept,
        ALL,
        cluster=specification.get("cluster", "task"),
        subjects=subjects,
        items=specification.get("items", "sampled"),
        weights=specification.get("weights", "evals"),
        factors=averaged_factors(kept),
    )
    return items


def mean_under(items: Items, model: str, draws: ClusterDraws, level: float) -> tuple[Mean, Floats]:
    """A model's mean as `howsure.summary` gives it, and in each replicate."""
    found = items.mean_of(model, level)
    return found, _draws(items, items.only(model), "mean", found, draws)


def difference_under(items: Items, a: str, b: str, draws: ClusterDraws, level: float) -> tuple[Mean, Floats]:
    """The difference of two means as `howsure.compare` gives it, and in each replicate."""
    shared = items.paired(a, b)
    found = difference_of(items, shared, level)
    return found, _draws(items, shared.with_columns(pl.col("mean") - pl.col("mean_b")), "mean", found, draws)


def _draws(items: Items, frame: pl.DataFrame, column: str, found: Mean, draws: ClusterDraws) -> Floats:
    if frame.is_empty() or found.estimate.value is None:
        return np.full(draws.n_replicates, np.nan)
    if items.items == "fixed":  # attempts vary within items: another unit, drawn from the standard error
        z = np.random.default_rng([draws.seed, 1]).standard_normal(draws.n_replicates)
        return np.asarray(found.estimate.value + (found.se or 0.0) * z)
    return draws.means(frame, frame[column].to_numpy(), items.weights)
