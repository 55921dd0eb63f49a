"""How often the intervals of a rating study contain the true value, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

import numpy as np
import polars as pl
from scipy.special import expit, ndtr

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result
from howsure.stats._arrays import Floats, Ints
from howsure.stats.coverage import Case, CoverageRow, coverage_table
from howsure.stats.judges import compare_judges, equal_terms
from howsure.stats.label_sampling import draw_labels, inclusion_probabilities, judged_mean, strata_of
from howsure.stats.latent_classes import dawid_skene, simulate_labels
from howsure.stats.ordinal import fit_ordinal, simulate_ordinal
from howsure.stats.paired_comparisons import bradley_terry, plackett_luce, simulate_comparisons, simulate_rankings
from howsure.stats.reliability import intraclass
from howsure.stats.sequences import drift_alarm, mean_sequence, simulate_runs
from howsure.stats.spans import simulate_spans, span_agreement
from howsure.stats.system_differences import system_differences
from howsure.study.answer_types import mean_rating
from howsure.study.planning.design import RatingDesign

__all__ = ["CASES", "StudyCoverage", "coverage", "draw_judged", "simulate_prompts"]


@dataclass(frozen=True, kw_only=True)
class StudyCoverage(Result):
    """Coverage of the intervals of rating studies.

    Table ``study_coverage``: method, design, level, coverage (share of simulated data sets whose interval contains the true value), monte_carlo_se, mean_width.

    Parameters
    ----------
    rows : tuple[CoverageRow, ...]
        One entry per method and design.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "study_coverage"
    rows: tuple[CoverageRow, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``study_coverage``."""
        return {"study_coverage": pl.DataFrame([vars(row) for row in self.rows], infer_schema_length=None)}


def coverage(
    *,
    containing: str | None = None,
    n_simulations: int = 400,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> StudyCoverage:
    """How often the intervals of rating studies contain the true value, also where an assumption fails.

    Parameters
    ----------
    containing : str, optional
        Only rows whose method or design contains this text.
    n_simulations : int, default 400
        Simulated data sets per row; 400 leave a standard error of about 0.011.
    level : float, default 0.95
        Intended coverage, between 0 and 1.
    seed : int, default 0
        The same seed gives the same numbers.
    progress : callable, optional
        Called with the number of finished simulations and of all.
    """
    cases = [case for case in CASES if containing is None or containing.lower() in f"{case[0]} {case[1]}".lower()]
    if not cases:
        raise OptionError(
            f"No row contains {containing!r}. The methods are: {', '.join(dict.fromkeys(one[0] for one in CASES))}."
        )
    rows = coverage_table(n_simulations, seed, progress, level=level, cases=cases)
    provenance = Provenance({"containing": containing, "n_simulations": n_simulations, "level": level}, seed=seed)
    return StudyCoverage(rows=tuple(rows), provenance=provenance)


# labels and judges


def draw_judged(
    rng: np.random.Generator, n: int, *, is_binary: bool = False, n_judges: int = 1, n_clusters: int = 0
) -> tuple[Floats, Floats, Floats, float]:
    """Labels and judges' ratings of n items, their clusters, and the true mean label.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the random numbers.
    n : int
        Items.
    is_binary : bool
        Right or wrong (30 % right, judges with sensitivity 0.8 and specificity 0.85) instead of ratings from 1 to 5 by judges that are 0.5 too high and err more on good items.
    n_judges : int
        Judges.
    n_clusters : int
        Clusters that share half of the variance; 0 for independent items.
    """
    cluster = np.arange(n) if not n_clusters else np.arange(n) % n_clusters
    shared = rng.normal(0, 1, n_clusters if n_clusters else n)[cluster]
    quality = shared if not n_clusters else np.sqrt(0.5) * (shared + rng.normal(0, 1, n))
    if is_binary:
        label = (quality > 0.5244).astype(np.float64)
        judged = [np.where(label == 1, rng.random(n) < 0.8, rng.random(n) < 0.15) for _ in range(n_judges)]
        return label, np.column_stack(judged).astype(np.float64), cluster.astype(np.float64), 0.3
    label = np.clip(np.round(3 + quality + rng.normal(0, 0.6, n)), 1, 5)
    noise = 0.3 + 0.7 * (quality > 0)
    judged = [np.clip(np.round(3.5 + 0.8 * quality + noise * rng.normal(0, 1, n)), 1, 5) for _ in range(n_judges)]
    return label, np.column_stack(judged), cluster.astype(np.float64), 3.0


def _judged(
    rng: np.random.Generator,
    level: float,
    *,
    n: int,
    n_labels: int,
    how: str = "uniform",
    is_binary: bool = False,
    n_judges: int = 1,
    n_clusters: int = 0,
) -> tuple[Estimate, float]:
    label, judged, cluster, truth = draw_judged(rng, n, is_binary=is_binary, n_judges=n_judges, n_clusters=n_clusters)
    seed = int(rng.integers(2**31))
    strata = strata_of(judged[:, 0]) if how == "stratified" else None
    probabilities = None
    if how == "active":
        errors = 0.4 + 0.6 * (judged[:, 0] > np.median(judged[:, 0]))
        is_drawn, probabilities = draw_labels(inclusion_probabilities(errors, n_labels), n_labels=n_labels, seed=seed)
    elif n_clusters:
        # whole clusters are labelled
        chosen = rng.permutation(n_clusters)[: round(n_labels * n_clusters / n)]
        is_drawn = np.isin(cluster, chosen)
    else:
        is_drawn, _ = draw_labels(np.full(n, n_labels / n), strata=strata, n_labels=n_labels, seed=seed)
    found_mean = judged_mean(
        np.where(is_drawn, label, np.nan),
        judged,
        probabilities=probabilities,
        strata=strata,
        clusters=cluster if n_clusters else None,
        level=level,
    )
    return found_mean.estimate, truth


def _long_tail(rng: np.random.Generator, level: float) -> tuple[Estimate, float]:
    """Labels such as costs or minutes: few items make most of the mean."""
    quality = rng.normal(0, 1, 300)
    is_drawn, _ = draw_labels(np.full(300, 0.1), n_labels=30, seed=int(rng.integers(2**31)))
    labels = np.where(is_drawn, np.exp(1.2 * quality), np.nan)
    return judged_mean(labels, quality + rng.normal(0, 0.6, 300), level=level).estimate, float(np.exp(0.72))


def _rare(rng: np.random.Generator, level: float) -> tuple[Estimate, float]:
    """One item in 20 has the label 1, and who chose the probabilities knew nothing of the judge's errors."""
    label = (rng.random(300) < 0.05).astype(np.float64)
    judged = np.where(label == 1, rng.random(300) < 0.8, rng.random(300) < 0.15).astype(np.float64)
    wanted = inclusion_probabilities(rng.exponential(1, 300) + 0.01, 30)
    is_drawn, probabilities = draw_labels(wanted, n_labels=30, seed=int(rng.integers(2**31)))
    found = judged_mean(np.where(is_drawn, label, np.nan), judged, probabilities=probabilities, level=level)
    return found.estimate, 0.05


@cache
def _true_agreement_difference() -> float:
    rng = np.random.default_rng(12345)
    people, judges = _raters_and_judges(rng, 40_000)
    whole = people.sum(axis=1)
    found = [
        np.mean([np.corrcoef(judges[:, j], whole - people[:, r])[0, 1] for r in range(people.shape[1])]) for j in (0, 1)
    ]
    return float(found[0] - found[1])


def _raters_and_judges(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    quality = rng.normal(3, 1, n)
    people = np.clip(np.round(quality[:, None] + rng.normal(0, 0.8, (n, 4))), 1, 5)
    shared = rng.normal(0, 0.4, n)  # judges err alike
    judges = np.column_stack([quality + shared + rng.normal(0, sd, n) for sd in (0.4, 0.8)])
    return people, np.clip(np.round(judges), 1, 5)


def _judge_pair(rng: np.random.Generator, level: float, *, n: int) -> tuple[Estimate, float]:
    people, judges = _raters_and_judges(rng, n)
    return compare_judges(judges, people, level=level)[1][0].difference, _true_agreement_difference()


def _no_false_alarm(
    rng: np.random.Generator, level: float, *, noise: float, shared: float = 0.0
) -> tuple[Estimate, float]:
    """An interval that contains 0 unless an alarm was raised in 20 runs without a change; ``shared`` is noise that all items of a run have in common."""
    seed = int(rng.integers(2**31))
    runs = simulate_runs(noise=noise, seed=seed)
    if shared:
        runs = np.clip(np.round(runs + rng.normal(0, 0.3, runs.shape) + rng.normal(0, shared, (len(runs), 1))), 1, 5)
    found = drift_alarm(runs, level=level, seed=seed)
    return (Estimate(0.0, -1.0, 1.0, level) if found.alarm_at is None else Estimate(1.0, 0.5, 1.5, level)), 0.0


# systems, raters and categories

_STEPS = np.array([-1.8, -0.6, 0.6, 1.8])


def _mean_rating(
    rng: np.random.Generator,
    level: float,
    *,
    n: int,
    raters: int,
    item_sd: float = 1.0,
    rater_sd: float = 0.5,
    shift: float = 0.0,
    missing: float = 0.0,
    is_nested: bool = False,
    n_clusters: int = 0,
) -> tuple[Estimate, float]:
    """Ratings from 1 to 5 by raters with severities; ``shift`` piles them up at the top, ``is_nested`` has one rating per item."""
    cluster = np.arange(n) % n_clusters if n_clusters else np.arange(n)
    item = rng.normal(0, 1, n)
    if n_clusters:
        item = np.sqrt(0.6) * rng.normal(0, 1, n_clusters)[cluster] + np.sqrt(0.4) * item
    felt = shift + item_sd * item[:, None] + rater_sd * rng.normal(0, 1, raters) + rng.normal(0, 1, (n, raters))
    cells = np.searchsorted(_STEPS, felt) + 1.0
    cells[rng.random((n, raters)) < missing] = np.nan
    if is_nested:
        cells[np.arange(n)[:, None] % raters != np.arange(raters)] = np.nan
    is_there = ~np.isnan(cells)
    rows, columns = is_there.any(axis=1), is_there.any(axis=0)
    bounds = (float(np.nanmin(cells)), float(np.nanmax(cells)))
    labels = [str(one) for one in cluster[rows]] if n_clusters else None
    truth = 1 + float(ndtr((shift - _STEPS) / np.sqrt(item_sd**2 + rater_sd**2 + 1)).sum())
    return mean_rating(cells[rows][:, columns], labels, level, bounds if bounds[0] < bounds[1] else None), truth


def simulate_prompts(rng: np.random.Generator) -> tuple[Floats, Floats, Ints, float]:
    """A judge and four raters of 20 prompts × 5 responses, whose errors responses to one prompt share: their ratings, the prompts, and the true judge − people."""
    prompt, raters = np.repeat(np.arange(20), 5), 4
    quality = 0.7 * rng.normal(size=20)[prompt] + 0.7 * rng.normal(size=100)
    judge = quality + 0.6 * rng.normal(size=20)[prompt] + 0.4 * rng.normal(size=100)
    errors = 0.5 * rng.normal(size=(20, raters))[prompt] + 0.4 * rng.normal(size=(100, raters))
    others = 0.98 + 0.41 / (raters - 1)  # variance of the mean of the raters but one
    truth = 0.98 / np.sqrt(1.5 * others) - 0.98 / np.sqrt(1.39 * others)
    return judge, quality[:, None] + errors, prompt, float(truth)


def _judge_minus_people(rng: np.random.Generator, level: float, *, is_clustered: bool = True) -> tuple[Estimate, float]:
    judge, people, prompt, truth = simulate_prompts(rng)
    return equal_terms(judge, people, clusters=prompt if is_clustered else None, level=level).difference, truth


def _agreement(rng: np.random.Generator, level: float, *, tail: float = np.inf) -> tuple[Estimate, float]:
    """ICC(2,1) of 20 items × 5 raters; a finite ``tail`` (degrees of freedom of t) puts a few items, raters and ratings far off."""
    drawn = [rng.normal(size=size) for size in ((20, 1), (1, 5), (20, 5))]
    if np.isfinite(tail):
        drawn = [rng.standard_t(tail, one.shape) / np.sqrt(tail / (tail - 2)) for one in drawn]
    return intraclass(drawn[0] + 0.5 * drawn[1] + drawn[2], level=level)["icc_2_1"], 1 / 2.25


def _systems(rng: np.random.Generator, level: float, *, n: int, raters: int, per_item: int) -> tuple[Estimate, float]:
    """Two systems' answers to n items, each item rated by some of the raters; both sides vary."""
    seen = np.argsort(rng.random((n, raters)), axis=1) < per_item
    item, rater = np.nonzero(seen)
    shifts = (
        rng.normal(0, 1, n),
        rng.normal(0, 0.7, raters),
        rng.normal(0, 0.5, (n, 2)),
        rng.normal(0, 0.3, (raters, 2)),
    )
    values = [0.5 * s + shifts[0][item] + shifts[1][rater] + shifts[2][item, s] + shifts[3][rater, s] + rng.normal(0, 0.8, len(item)) for s in (0, 1)]  # fmt: skip
    names = ["a"] * len(item) + ["b"] * len(item)
    found = system_differences(np.concatenate(values), names, [*item, *item], [*rater, *rater], level=level)
    return found[0].difference, -0.5


def _ordered(
    rng: np.random.Generator, level: float, *, n: int, raters: int, missing: float = 0.0, severity: bool = False
) -> tuple[Estimate, float]:
    drawn = simulate_ordinal(n_items=n, n_raters=raters, missing=missing, seed=int(rng.integers(2**31)))
    pairs = [f"{r}/{g}" for r, g in zip(drawn["rater"], drawn["group"], strict=True)]
    random = {"rater": drawn["rater"], "answer": drawn["answer"], "item": drawn["item"], "rater × group": pairs}
    fit = fit_ordinal(drawn["value"], random, group=drawn["group"], each="rater", level=level)
    if isinstance(fit, str):
        return Estimate.without("undefined", fit, level=level), 0.0
    if severity:
        label, one = fit.effects[0]
        return one, float(drawn["rater_effects"][int(label)] - drawn["rater_effects"].mean())
    return fit.contrasts[0].difference, -1.0


_EFFECTS, _CUTS = np.array([0.0, 1.0]), np.linspace(-2, 2.5, 4)
_TOPICS = 5  # that the items of a study fall into


def _severities(rng: np.random.Generator, n: int, tail: float) -> Floats:
    """With a finite ``tail`` (degrees of freedom of t) a few raters are far more severe or lenient than all others."""
    return 0.8 * (rng.normal(size=n) if np.isinf(tail) else rng.standard_t(tail, n) / np.sqrt(tail / (tail - 2)))


@cache
def _true_means(tail: float) -> Floats:
    """The mean rating of each system, over all items and raters that there could be."""
    rng = np.random.default_rng(12345)
    others = rng.normal(0, np.sqrt(1 + 0.5**2 + 0.3**2), 200_000) + _severities(rng, 200_000, tail)
    return np.asarray(1 + expit(_EFFECTS[:, None, None] + others - _CUTS[:, None]).sum(axis=1).mean(axis=1))


@cache
def _blocks() -> list[list[int]]:
    return RatingDesign(50, 8, 12).blocks()


def _dealt(
    rng: np.random.Generator,
    level: float,
    *,
    of: str,
    tail: float = np.inf,
    do_severe_leave: bool = False,
    has_topics: bool = False,
    is_topic_known: bool = False,
) -> tuple[Estimate, float]:
    """Two systems' answers to 25 items, dealt in blocks: 8 ratings per answer, 12 per rater. 15 % of the raters leave, anywhere on their way.

    ``of``: the mean of a system, the difference of means, or the difference or a rater's leniency in the ordinal model. ``do_severe_leave`` has the 15 % most severe
    leave; ``has_topics`` lets each system be better at some topics than at others.
    """
    dealt = rng.permutation(50)
    leniency = _severities(rng, len(_blocks()), tail)
    leaves = leniency < np.quantile(leniency, 0.15) if do_severe_leave else rng.random(len(leniency)) < 0.15
    kept = [block[: rng.integers(1, len(block))] if left else block for block, left in zip(_blocks(), leaves, strict=True)]  # fmt: skip
    rater = np.repeat(np.arange(len(kept)), [len(block) for block in kept])
    item, system = np.divmod(dealt[np.concatenate(kept)], 2)
    topic = item % _TOPICS
    answers = rng.normal(0, 0.5, (_TOPICS, 2))[topic, system] if has_topics else rng.normal(0, 0.5, (25, 2))[item, system]  # fmt: skip
    taste = rng.normal(0, 0.3, (len(kept), 2))[rater, system]
    felt = _EFFECTS[system] + rng.normal(size=25)[item] + answers + leniency[rater] + taste + rng.logistic(size=len(item))  # fmt: skip
    value = np.searchsorted(_CUTS, felt) + 1.0
    prompt = topic if is_topic_known else item
    if of == "mean":
        cells = np.full((25, len(kept)), np.nan)
        is_first = system == 0
        cells[item[is_first], rater[is_first]] = value[is_first]
        cells = cells[~np.isnan(cells).all(axis=1)][:, ~np.isnan(cells).all(axis=0)]
        return mean_rating(cells, None, level, (1.0, 5.0)), float(_true_means(tail)[0])
    if of == "difference":
        found = system_differences(value, system.tolist(), prompt.tolist(), rater.tolist(), level=level)
        return found[0].difference, float(-np.diff(_true_means(tail))[0])
    random = {"rater": rater, "answer": 2 * prompt + system, "item": prompt, "rater × group": 2 * rater + system}
    listed = {name: codes.tolist() for name, codes in random.items()}
    fit = fit_ordinal(value, listed, group=system.tolist(), each="rater", level=level)
    if isinstance(fit, str):
        return Estimate.without("undefined", fit, level=level), 0.0
    if of == "severity":
        return fit.effects[0][1], float(leniency[0] - leniency.mean())
    return fit.contrasts[0].difference, -1.0


def _classes(
    rng: np.random.Generator, level: float, *, n: int, missing: float = 0.0, hard: float = 0.0, is_share: bool = False
) -> tuple[Estimate, float]:
    labels, _ = simulate_labels(n_items=n, missing=missing, hard_items=hard, seed=int(rng.integers(2**31)))
    fit = dawid_skene(labels, level=level)
    if isinstance(fit, str):
        return Estimate.without("undefined", fit, level=level), 0.0
    if is_share:
        return fit.shares[0], 0.5
    return fit.accuracy[1], (1 - hard) * 0.8 + hard / 3


@cache
def _true_overlap() -> float:
    return float(span_agreement(*simulate_spans(n_items=6000, seed=54321)).overlap)


def _marked(rng: np.random.Generator, level: float, *, n: int) -> tuple[Estimate, float]:
    spans, lengths = simulate_spans(n_items=n, seed=int(rng.integers(2**31)))
    return span_agreement(spans, lengths, level=level).overlap, _true_overlap()


_STRENGTHS = np.array([0.6, 0.1, -0.2, -0.5])


def _votes(
    rng: np.random.Generator, level: float, *, n: int, voters: int, is_clustered: bool = True
) -> tuple[Estimate, float]:
    drawn = simulate_comparisons(_STRENGTHS, n, rng, tie=-0.5, position=0.3, n_voters=voters, voter_sd=0.4)
    a, b = ([str(one) for one in side] for side in (drawn.a, drawn.b))
    fit = bradley_terry(a, b, drawn.outcome, clusters=drawn.voter if is_clustered else None, position=True, level=level)
    return fit.difference("0", "3"), 1.1


@cache
def _true_on_items() -> float:
    """The difference in the population, which is smaller than that of one voter on one item."""
    rng = np.random.default_rng(12345)
    drawn = simulate_comparisons(_STRENGTHS, 200_000, rng, tie=-0.5, position=0.3, n_voters=50_000, voter_sd=0.4, n_items=50_000, item_sd=0.5)  # fmt: skip
    a, b = ([str(one) for one in side] for side in (drawn.a, drawn.b))
    return float(bradley_terry(a, b, drawn.outcome, position=True).difference("0", "3"))


def _votes_on_items(rng: np.random.Generator, level: float, *, is_crossed: bool = True) -> tuple[Estimate, float]:
    """600 votes of 30 voters on 8 items; voters and items both have strengths of their own."""
    drawn = simulate_comparisons(_STRENGTHS, 600, rng, tie=-0.5, position=0.3, n_voters=30, voter_sd=0.4, n_items=8, item_sd=0.5)  # fmt: skip
    a, b = ([str(one) for one in side] for side in (drawn.a, drawn.b))
    items = drawn.item if is_crossed else None
    fit = bradley_terry(a, b, drawn.outcome, clusters=drawn.voter, crossed=items, position=True, level=level)
    return fit.difference("0", "3"), _true_on_items()


def _ranked(rng: np.random.Generator, level: float, *, n: int) -> tuple[Estimate, float]:
    ranks = simulate_rankings(_STRENGTHS, n, rng)
    fit = plackett_luce(ranks, names=["0", "1", "2", "3"], clusters=np.arange(n), level=level)
    return fit.difference("0", "3"), 1.1


def _stopped(rng: np.random.Generator, level: float, *, kind: str, effect: float) -> tuple[Estimate, float]:
    """A study that is looked at after each of 80 raters and stops when the middle (or 0) is excluded; the interval at the stop."""
    n = 80
    if kind == "share":
        values, bounds, truth, at = rng.binomial(5, effect, n) / 5, (0.0, 1.0), effect, 0.5
    else:
        low = -4.0 if kind == "difference" else 1.0
        bounds, at = (low, low + (8.0 if kind == "difference" else 4.0)), 0.0 if kind == "difference" else 3.0
        values = np.clip(rng.normal(effect, 0.7, n), *bounds)
        truth = effect
    found = mean_sequence(values, n_planned=n, level=level, bounds=bounds)
    is_out = (found.low > at) | (found.high < at)
    stop = int(is_out.argmax()) if is_out.any() else n - 1
    value = min(max(float(found.value[stop]), float(found.low[stop])), float(found.high[stop]))
    return Estimate(value, float(found.low[stop]), float(found.high[stop]), level), truth


CASES: list[Case] = [
    ("mean label, uniform", "20 of 300 labelled, ratings", partial(_judged, n=300, n_labels=20)),
    ("mean label, uniform", "20 of 300 labelled, 0/1", partial(_judged, n=300, n_labels=20, is_binary=True)),
    ("mean label, stratified", "24 of 300 labelled, ratings", partial(_judged, n=300, n_labels=24, how="stratified")),
    ("mean label, active", "30 of 300 labelled, ratings", partial(_judged, n=300, n_labels=30, how="active")),
    (
        "mean label, active",
        "60 of 300 labelled, 0/1",
        partial(_judged, n=300, n_labels=60, how="active", is_binary=True),
    ),
    ("mean label, active", "30 of 300 labelled, 5 % are 1", _rare),
    ("mean label, uniform: fails", "30 of 300 labelled, long tail", _long_tail),
    ("mean label, 3 judges", "30 of 300 labelled, ratings", partial(_judged, n=300, n_labels=30, n_judges=3)),
    ("mean label, clusters", "15 of 60 clusters of 5", partial(_judged, n=300, n_labels=75, n_clusters=60)),
    ("difference of two judges", "40 items, 4 raters", partial(_judge_pair, n=40)),
    ("no false alarm of drift", "30 anchors, 20 runs", partial(_no_false_alarm, noise=0.5)),
    (
        "no false alarm of drift: fails",
        "the same, noise 0.2 shared by a run",
        partial(_no_false_alarm, noise=0.5, shared=0.2),
    ),
    (
        "mean rating",
        "12 items × 2 raters who differ much",
        partial(_mean_rating, n=12, raters=2, item_sd=0.5, rater_sd=1.0),
    ),
    ("mean rating", "5 items × 7 raters", partial(_mean_rating, n=5, raters=7)),
    ("mean rating", "5 items × 7 raters who do not differ", partial(_mean_rating, n=5, raters=7, rater_sd=0.0)),
    ("mean rating", "5 items × 7 raters, most at the top", partial(_mean_rating, n=5, raters=7, shift=2.2)),
    ("mean rating", "50 items × 2 raters", partial(_mean_rating, n=50, raters=2)),
    ("mean rating", "50 items × 2 raters who do not differ", partial(_mean_rating, n=50, raters=2, rater_sd=0.0)),
    ("mean rating", "50 items × 3 raters", partial(_mean_rating, n=50, raters=3)),
    (
        "mean rating",
        "12 items × 5 raters who differ much",
        partial(_mean_rating, n=12, raters=5, item_sd=0.5, rater_sd=1.0),
    ),
    ("mean rating", "50 items × 8 raters, most at the top", partial(_mean_rating, n=50, raters=8, shift=2.2)),
    ("mean rating", "24 items × 8 raters, 40 % missing", partial(_mean_rating, n=24, raters=8, missing=0.4)),
    ("mean rating", "24 items in 6 clusters × 5 raters", partial(_mean_rating, n=24, raters=5, n_clusters=6)),
    (
        "mean rating",
        "50 items, 5 raters, 1 rating per item",
        partial(_mean_rating, n=50, raters=5, rater_sd=1.0, is_nested=True),
    ),
    ("mean rating", "blocks, 15 % of raters leave", partial(_dealt, of="mean")),
    ("mean rating", "blocks, some raters far off", partial(_dealt, of="mean", tail=3)),
    ("mean rating", "blocks, the most severe leave", partial(_dealt, of="mean", do_severe_leave=True)),
    ("judge − people", "20 prompts × 5 responses", _judge_minus_people),
    (
        "judge − people, prompts ignored: avoid",
        "20 prompts × 5 responses",
        partial(_judge_minus_people, is_clustered=False),
    ),
    ("ICC(2,1)", "20 items × 5 raters", _agreement),
    ("ICC(2,1): fails", "20 items × 5 raters, some far off", partial(_agreement, tail=4)),
    ("difference of systems", "10 items × 5 raters", partial(_systems, n=10, raters=5, per_item=5)),
    ("difference of systems", "30 items, 8 raters, 3 per item", partial(_systems, n=30, raters=8, per_item=3)),
    ("difference of systems", "blocks, 15 % of raters leave", partial(_dealt, of="difference")),
    ("difference of systems", "blocks, some raters far off", partial(_dealt, of="difference", tail=3)),
    ("difference of systems", "blocks, the most severe leave", partial(_dealt, of="difference", do_severe_leave=True)),
    (
        "difference of systems",
        "blocks, systems differ by topic",
        partial(_dealt, of="difference", has_topics=True, is_topic_known=True),
    ),
    (
        "difference, topics not named: avoid",
        "blocks, systems differ by topic",
        partial(_dealt, of="difference", has_topics=True),
    ),
    ("ordinal model, systems", "10 items × 5 raters", partial(_ordered, n=10, raters=5)),
    ("ordinal model, systems", "20 items × 6 raters, 30 % missing", partial(_ordered, n=20, raters=6, missing=0.3)),
    ("ordinal model, systems", "blocks, 15 % of raters leave", partial(_dealt, of="ordinal")),
    ("ordinal model, systems", "blocks, some raters far off", partial(_dealt, of="ordinal", tail=3)),
    ("ordinal model, systems", "blocks, the most severe leave", partial(_dealt, of="ordinal", do_severe_leave=True)),
    (
        "ordinal model, systems",
        "blocks, systems differ by topic",
        partial(_dealt, of="ordinal", has_topics=True, is_topic_known=True),
    ),
    ("ordinal model, severity", "blocks, 15 % of raters leave", partial(_dealt, of="severity")),
    ("ordinal model, severity", "20 items × 6 raters", partial(_ordered, n=20, raters=6, severity=True)),
    ("Dawid–Skene, accuracy", "60 items × 4 raters", partial(_classes, n=60)),
    ("Dawid–Skene, accuracy", "100 items, 30 % missing", partial(_classes, n=100, missing=0.3)),
    ("Dawid–Skene, share", "60 items × 4 raters", partial(_classes, n=60, is_share=True)),
    ("Dawid–Skene, accuracy: fails", "100 items, 20 % too hard for all", partial(_classes, n=100, hard=0.2)),
    ("overlap of spans", "30 texts, 3 raters", partial(_marked, n=30)),
    ("Bradley–Terry–Davidson", "240 votes of 12 voters", partial(_votes, n=240, voters=12)),
    ("Bradley–Terry–Davidson", "600 votes of 30 voters on 8 items", _votes_on_items),
    ("votes over voters alone: avoid", "600 votes of 30 voters on 8 items", partial(_votes_on_items, is_crossed=False)),
    ("votes as independent: avoid", "600 votes of 12 voters", partial(_votes, n=600, voters=12, is_clustered=False)),
    ("Plackett–Luce", "40 rankings of 4", partial(_ranked, n=40)),
    ("live mean, at the stop", "80 raters, true 3.2, threshold 3", partial(_stopped, kind="mean", effect=3.2)),
    ("live difference, at the stop", "80 raters, true 0", partial(_stopped, kind="difference", effect=0.0)),
    ("live share, at the stop", "80 raters, true 0.6, threshold 0.5", partial(_stopped, kind="share", effect=0.6)),
]
