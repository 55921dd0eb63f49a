"""Fidelity by domain, and whether domains come in the order that was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats
from howsure.stats.correlation import correlation
from howsure.stats.crossed import crossed_difference, crossed_mean
from howsure.stats.means import mean, paired_difference
from howsure.stats.order import OrderTest, jonckheere, page
from howsure.study.scoring.fidelity import PFI, Scored
from howsure.study.scoring.pooling import row_means

__all__ = ["EXPECTED", "DomainRow", "Domains", "Order", "profile"]


@dataclass(frozen=True)
class Order:
    """Domains from the highest expected fidelity to the lowest; those in one group are expected alike.

    >>> Order.parse("TECH > ANAL > PHIL = SELF > NARR").rank("SELF")
    1
    """

    groups: tuple[tuple[str, ...], ...]

    @classmethod
    def parse(cls, text: str) -> Order:
        """From ``A > B = C > D``; ``B/C`` says the same as ``B = C``."""
        groups = [[name.strip() for name in part.replace("/", "=").split("=")] for part in text.split(">")]
        names = [name for group in groups for name in group]
        if len(groups) < 2 or not all(names) or len(set(names)) < len(names):
            raise OptionError(f'order {text!r}: write it as "TECH > ANAL > PHIL = SELF > NARR", each domain once.')
        return cls(tuple(tuple(group) for group in groups))

    def rank(self, domain: str) -> int | None:
        """0 for the lowest group, then 1, …; None for a domain that has no place."""
        places = {name: place for place, group in enumerate(reversed(self.groups)) for name in group}
        return places.get(domain)

    def __str__(self) -> str:
        return " > ".join(" = ".join(group) for group in self.groups)


EXPECTED = Order((("TECH",), ("ANAL",), ("PHIL", "SELF"), ("NARR",)))


@dataclass(frozen=True)
class DomainRow:
    """One domain: human fidelity, and the mean of the model's scores if there are any."""

    domain: str
    n_pairs: int
    human: Estimate
    model: float | None


@dataclass(frozen=True)
class Domains:
    """All domains in the expected order, and the tests of it.

    ``difference`` is first − last domain for other pairs and raters, ``difference_here`` the same for just these pairs.
    ``order`` is Kendall's correlation of pairs' fidelity with the expected rank of their domain; ``by_pair`` tests it with pairs as
    units, ``by_rater`` whether raters agree on the order of these pairs. None where there is nothing to test.
    """

    rows: tuple[DomainRow, ...]
    ends: tuple[str, str] | None
    difference: Estimate
    difference_here: Estimate
    order: Estimate
    by_pair: OrderTest | None
    by_rater: OrderTest | None


def profile(
    scored: Scored,
    domains: Mapping[str, str],
    scores: Mapping[str, float],
    *,
    order: Order = EXPECTED,
    level: float = 0.95,
    seed: int = 0,
) -> Domains:
    """The mean PFI of each domain, with the order tested.

    A domain's interval speaks of other pairs of it where it has two or more; of just its pair, as ``reason`` says, where it has one.
    """
    pairs_of: dict[str, list[str]] = {}
    for pair in scored.pairs:
        if pair in domains:
            pairs_of.setdefault(domains[pair], []).append(pair)
    ranked = sorted(pairs_of, key=lambda name: (-_place(order, name), name))
    rows = tuple(_row(scored, name, pairs_of[name], scores, level) for name in ranked)
    placed = [name for name in ranked if order.rank(name) is not None]
    if len({order.rank(name) for name in placed}) < 2:
        nothing = Estimate.without("undefined", _why_no_order(ranked, order), level=level)
        return Domains(rows, None, nothing, nothing, nothing, None, None)
    ends = placed[0], placed[-1]
    first, last = (scored.matrix(PFI, pairs_of[name]) for name in ends)
    here, by_pair, by_rater = _tests(scored, {name: pairs_of[name] for name in placed}, order, level, seed)
    return Domains(rows, ends, _difference(first, last, ends, level), _difference_here(first, last, level), here, by_pair, by_rater)  # fmt: skip


def _place(order: Order, name: str) -> int:
    rank = order.rank(name)
    return -1 if rank is None else rank


def _why_no_order(names: Sequence[str], order: Order) -> str:
    if not names:
        return "no domains are known; name them in the study or in a column domain of the model scores"
    return (
        f"of the expected order {order} the pairs have too few domains ({', '.join(names)}); give the order to expect"
    )


def _row(scored: Scored, name: str, pairs: list[str], scores: Mapping[str, float], level: float) -> DomainRow:
    table = scored.matrix(PFI, pairs)
    known = [scores[pair] for pair in pairs if pair in scores]
    if len(pairs) > 1:
        human = crossed_mean(table, level=level).estimate
    else:
        human = mean(table[~np.isnan(table)], level=level).estimate
        human = replace(human, reason=human.reason or "1 pair: the interval is for this pair, not for its domain")
    return DomainRow(name, len(pairs), human, float(np.mean(known)) if known else None)


def _difference(first: Floats, last: Floats, ends: tuple[str, str], level: float) -> Estimate:
    found = crossed_difference(first, last, level=level).estimate
    if found.state != "too_few" or min(len(first), len(last)) > 1:
        return found
    reason = f"pairs: {len(first)} of {ends[0]}, {len(last)} of {ends[1]}; with one pair, the domain and the pair cannot be separated; give each domain at least 2"
    return replace(found, reason=reason)


def _difference_here(first: Floats, last: Floats, level: float) -> Estimate:
    """Over raters alone: what they would say of these very pairs."""
    by_rater = [row_means(table.T) for table in (first, last)]
    is_both = ~np.isnan(by_rater[0] + by_rater[1])
    return paired_difference(by_rater[0][is_both], by_rater[1][is_both], level=level).estimate


def _tests(
    scored: Scored, pairs_of: Mapping[str, list[str]], order: Order, level: float, seed: int
) -> tuple[Estimate, OrderTest, OrderTest | None]:
    pairs = [pair for group in pairs_of.values() for pair in group]
    domain_of = {pair: name for name, group in pairs_of.items() for pair in group}
    means = row_means(scored.matrix(PFI, pairs))
    ranks = np.array([_place(order, domain_of[pair]) for pair in pairs], dtype=np.float64)
    is_known = ~np.isnan(means)
    means, ranks = means[is_known], ranks[is_known]
    by_domain = np.array([row_means(scored.matrix(PFI, group).T) for group in pairs_of.values()])
    is_full = ~np.isnan(by_domain).any(axis=0)
    expected = [_place(order, name) for name in pairs_of]
    by_rater = page(by_domain, expected) if is_full.any() and len(pairs_of) <= 8 else None
    return correlation(ranks, means, "kendall", level=level).estimate, jonckheere(means, ranks, seed=seed), by_rater
