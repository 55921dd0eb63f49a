"""Agreement of raters who mark spans of a text: by overlap of characters, and by matched spans."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats import replicates
from howsure.stats._arrays import Floats, check_level

__all__ = ["Span", "SpanAgreement", "simulate_spans", "span_agreement"]

Span = tuple[int, int, str]
"""Start (first character is 0), end (after the last character) and label."""


@dataclass(frozen=True)
class SpanAgreement:
    """How well raters agree on spans.

    Parameters
    ----------
    overlap : Estimate
        Dice's coefficient over characters: 2 · characters that two raters gave the same label / characters that either labelled, both counted.
    matches : Estimate
        F1 of spans: two spans match when they have the same label and overlap by at least half of their union.
    alpha : Estimate
        Krippendorff's alpha of characters, for each label labelled or not: agreement beyond chance.
    by_pair : tuple of (rater, rater, float)
        Dice's coefficient of each pair of raters who share an item with a span.
    n_items : int
        Items that two raters read.
    n_spans : int
        Spans of these.
    """

    overlap: Estimate
    matches: Estimate
    alpha: Estimate
    by_pair: tuple[tuple[str, str, float], ...]
    n_items: int
    n_spans: int


def span_agreement(
    spans: Mapping[str, Mapping[str, Sequence[Span]]], lengths: Mapping[str, int] | None = None, *, level: float = 0.95
) -> SpanAgreement:
    """Agreement on spans, with intervals from a jackknife over items.

    Parameters
    ----------
    spans : mapping of item → rater → spans
        Every rater who read an item, with an empty list where nothing was marked.
    lengths : mapping of item → number of characters, optional
        For alpha, which depends on how much text was left unmarked; by default a text ends with its last span.
    level : float
        Coverage of the intervals, between 0 and 1.
    """
    check_level(level)
    shared = {item: by_rater for item, by_rater in spans.items() if len(by_rater) > 1}
    raters = sorted({rater for by_rater in shared.values() for rater in by_rater})
    place = {rater: at for at, rater in enumerate(raters)}
    labels = sorted({label for by in shared.values() for marked in by.values() for _, _, label in marked})
    n_spans = sum(len(marked) for by in shared.values() for marked in by.values())
    if len(shared) < 2 or not n_spans:
        reason = f"{len(shared)} items that two raters read, {n_spans} spans; 2 and 1 are needed"
        nothing = Estimate.without("too_few", reason, level=level)
        return SpanAgreement(nothing, nothing, nothing, (), len(shared), n_spans)
    # of each item: shared and all characters, matched and all spans, disagreeing pairs, marked and all values
    parts = np.zeros((len(shared), 7))
    pairs = np.zeros((len(raters), len(raters), 2))
    for at, (item, by_rater) in enumerate(shared.items()):
        size = max([1, *(end for marked in by_rater.values() for _, end, _ in marked)])
        if lengths is not None and item in lengths:
            if lengths[item] < size:
                raise InputError(f"Item {item!r} has {lengths[item]} characters, but a span ends at {size}.")
            size = lengths[item]
        masks = {rater: _mask(marked, labels, size, item) for rater, marked in by_rater.items()}
        for one, other in combinations(sorted(by_rater), 2):
            both, total = 2 * int((masks[one] & masks[other]).sum()), int(masks[one].sum() + masks[other].sum())
            parts[at, :2] += both, total
            pairs[place[one], place[other]] += both, total
            parts[at, 2:4] += 2 * _matched(by_rater[one], by_rater[other]), len(by_rater[one]) + len(by_rater[other])
        m = len(by_rater)
        marks = np.sum(list(masks.values()), axis=0)
        parts[at, 4] = 2 * float((marks * (m - marks)).sum()) / (m - 1)
        parts[at, 5:] = float(marks.sum()), float(m * marks.size)
    groups = replicates.groups(len(parts))
    left = np.array([_coefficients(np.delete(parts, part, axis=0).sum(axis=0)) for part in groups])
    overlap, matches, alpha = (
        replicates.estimate(value, left[:, column], level, least=least, most=1.0)
        if not math.isnan(value)
        else Estimate.without("undefined", "nothing was marked, or everything", level=level)
        for column, (value, least) in enumerate(zip(_coefficients(parts.sum(axis=0)), (0.0, 0.0, -1.0), strict=True))
    )
    by_pair = tuple(
        (raters[one], raters[other], float(pairs[one, other, 0] / pairs[one, other, 1]))
        for one, other in combinations(range(len(raters)), 2)
        if pairs[one, other, 1]
    )
    return SpanAgreement(overlap, matches, alpha, by_pair, len(shared), n_spans)


def _coefficients(sums: Floats) -> tuple[float, float, float]:
    both, total, matched, n_spans, apart, marked, n = (float(one) for one in sums)
    expected = 2 * marked * (n - marked) / (n - 1) if n > 1 else 0.0
    return (
        both / total if total else math.nan,
        matched / n_spans if n_spans else math.nan,
        1 - apart / expected if expected else math.nan,
    )


def _mask(marked: Sequence[Span], labels: Sequence[str], size: int, item: str) -> np.ndarray:
    mask = np.zeros((len(labels), size), dtype=np.bool_)
    for start, end, label in marked:
        if not 0 <= start < end:
            raise InputError(
                f"Item {item!r}: a span from {start} to {end} has no characters. Ends are after the last one."
            )
        mask[labels.index(label), start:end] = True
    return mask


def _matched(one: Sequence[Span], other: Sequence[Span]) -> int:
    """Spans that have a partner; each is used once, best overlap first."""
    found = []
    for at, (start, end, label) in enumerate(one):
        for to, (begin, stop, name) in enumerate(other):
            both = min(end, stop) - max(start, begin)
            union = max(end, stop) - min(start, begin)
            if label == name and both > 0 and both / union >= 0.5:
                found.append((both / union, at, to))
    used: tuple[set[int], set[int]] = set(), set()
    for _, at, to in sorted(found, reverse=True):
        if at not in used[0] and to not in used[1]:
            used[0].add(at)
            used[1].add(to)
    return len(used[0])


def simulate_spans(
    *, n_items: int = 30, n_raters: int = 3, found: float = 0.8, jitter: float = 2.0, false: float = 0.2, seed: int = 0
) -> tuple[dict[str, dict[str, list[Span]]], dict[str, int]]:
    """Spans that raters mark around true ones, and the lengths of the texts.

    Parameters
    ----------
    n_items, n_raters : int
        How many of each.
    found : float
        Probability that a rater marks a true span.
    jitter : float
        Standard deviation of each end, in characters.
    false : float
        Expected number of spans per item that a rater marks without reason.
    seed : int
        The same seed gives the same spans.
    """
    rng = np.random.default_rng(seed)
    spans: dict[str, dict[str, list[Span]]] = {}
    lengths = {}
    for item in range(n_items):
        size = int(rng.integers(150, 300))
        true = [(start, start + int(rng.integers(8, 30))) for start in rng.integers(5, size - 40, rng.integers(0, 4))]
        by_rater = {}
        for rater in range(n_raters):
            marked = [
                (start + round(rng.normal(0, jitter)), end + round(rng.normal(0, jitter)))
                for start, end in true
                if rng.random() < found
            ]
            marked += [(at, at + 10) for at in rng.integers(0, size - 12, rng.poisson(false))]
            by_rater[f"rater {rater + 1}"] = [
                (max(0, int(start)), min(size, max(int(end), int(start) + 1, 1)), "error") for start, end in marked
            ]
        spans[f"text {item + 1}"] = by_rater
        lengths[f"text {item + 1}"] = size
    return spans, lengths
