"""How often the gate is wrong, measured on item banks whose success rates are nearly known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtri

from howsure.errors import InputError
from howsure.results import Provenance, Result
from howsure.stats._arrays import Floats
from howsure.stats.noninferiority import Flips, Smoothed
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["DESIGNS", "GateCoverage", "GateCoverageRow", "gate_coverage", "simulated_bank"]

DESIGNS = ((30, 1), (30, 5), (100, 1), (100, 5), (300, 1), (300, 5))
"""Items and repeats."""
_BLOCK = 2_000  # pairs simulated at a time


@dataclass(frozen=True, kw_only=True)
class GateCoverageRow:
    """What the gate says in one design.

    ``false_ship``: share shipped at a true drop equal to the margin. ``false_block``: share blocked where base and candidate are the same model
    (A/A). ``true_ship`` and ``cannot_tell``: shares in the same A/A pairs. ``planned_drop``: mean of the drops that a plan with 80 % power gives for the
    pairs, at least the margin; ``true_block``: share blocked at that drop. ``monte_carlo_se``: standard error of a share of 5 %.
    """

    bank: str
    n_items: int
    n_repeats: int
    margin: float
    n_simulations: int
    false_ship: float
    false_block: float
    true_ship: float
    cannot_tell: float
    planned_drop: float
    true_block: float
    monte_carlo_se: float


@dataclass(frozen=True, kw_only=True)
class GateCoverage(Result):
    """How often the gate ships, blocks and cannot tell where the truth is known; table ``gate_coverage``: see `GateCoverageRow`.

    Parameters
    ----------
    rows : tuple[GateCoverageRow, ...]
        One entry per bank, margin and design.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "gate_coverage"
    rows: tuple[GateCoverageRow, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``gate_coverage``."""
        return {"gate_coverage": pl.DataFrame([vars(row) for row in self.rows], infer_schema_length=None)}


def gate_coverage(
    banks: Sequence[Attempts | Source] | Mapping[str, Floats] | None = None,
    *,
    margins: Sequence[float] = (0.02, 0.05),
    designs: Sequence[tuple[int, int]] = DESIGNS,
    n_simulations: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> GateCoverage:
    """How often the gate ships, blocks and cannot tell, over pairs of models drawn from item banks.

    A bank has the success rate of many models on each item, from so many attempts that it is nearly known. A pair is a base drawn from the
    bank and a candidate between the base and a weaker model, whose success rates are mixed so that the mean drop over the bank is exact.
    Items are drawn from the bank with replacement, and answers from the rates.

    Parameters
    ----------
    banks : sequence of attempts, or mapping from name to array, optional
        Attempts with counts (``n``, ``n_success``), or arrays of rates, shape (models, items). Without it, a simulated bank.
    margins : sequence of float
        Margins of the gate.
    designs : sequence of (items, repeats)
        Designs of the evals.
    n_simulations : int, default 10,000
        Pairs per row and question.
    level : float, default 0.95
        Of the one-sided limits.
    seed : int, default 0
        The same seed gives the same numbers.
    progress : callable, optional
        Called with the number of finished rows and of all rows.

    Returns
    -------
    GateCoverage
        With the table ``gate_coverage``.
    """
    rates = _rates(banks)
    cells = [(name, rate, design, margin) for name, rate in rates.items() for design in designs for margin in margins]
    rows = []
    for done, (name, rate, (n_items, n_repeats), margin) in enumerate(cells, 1):
        rng = np.random.default_rng([seed, done])
        world = _World(rate, n_items, n_repeats, level, rng)
        at_margin = world.verdicts(n_simulations, margin, world.drops_of(margin))
        same = world.verdicts(n_simulations, margin, world.no_drop)
        worse = world.verdicts(n_simulations, margin, world.planned_at(margin))
        rows.append(
            GateCoverageRow(
                bank=name,
                n_items=n_items,
                n_repeats=n_repeats,
                margin=margin,
                n_simulations=n_simulations,
                false_ship=at_margin["ship"],
                false_block=same["block"],
                true_ship=same["ship"],
                cannot_tell=same["cannot tell"],
                planned_drop=worse["drop"],
                true_block=worse["block"],
                monte_carlo_se=float(np.sqrt((1 - level) * level / n_simulations)),
            )
        )
        if progress:
            progress(done, len(cells))
    settings: dict[str, Any] = {"n_simulations": n_simulations, "level": level, "margins": list(margins)}
    return GateCoverage(rows=tuple(rows), provenance=Provenance(settings, seed=seed))


def simulated_bank(n_models: int = 40, n_items: int = 150, seed: int = 0) -> Floats:
    """Success rates of models of different ability on items of different difficulty, shape (models, items).

    Parameters
    ----------
    n_models, n_items : int
        The size of the bank.
    seed : int
        The same seed gives the same rates.
    """
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.2, (n_models, 1)) - rng.normal(0, 2, n_items) + rng.normal(0, 0.7, (n_models, n_items))
    return np.asarray(1 / (1 + np.exp(-logits)))


class _World:
    """Pairs of models of one bank in one design."""

    def __init__(self, rates: Floats, n_items: int, n_repeats: int, level: float, rng: np.random.Generator) -> None:
        self.rates, self.n, self.k, self.level, self.rng = (
            rates[np.argsort(rates.mean(1))],
            n_items,
            n_repeats,
            level,
            rng,
        )
        self.means = self.rates.mean(1)

    def verdicts(
        self, n_simulations: int, margin: float, pairs: Callable[[int], tuple[Floats, Floats]]
    ) -> dict[str, float]:
        """Shares of verdicts over pairs of rates (base, candidate)."""
        ship = block = drop = 0.0
        for start in range(0, n_simulations, _BLOCK):
            size = min(_BLOCK, n_simulations - start)
            base, candidate = pairs(size)
            items = self.rng.integers(0, base.shape[1], (size, self.n))
            scores = [self.rng.binomial(self.k, np.take_along_axis(one, items, 1)) for one in (candidate, base)]
            difference = (scores[0] - scores[1]) / self.k
            is_shipped, is_worse = self._limits(difference, margin, scores)
            ship += is_shipped.sum()
            block += (is_worse & ~is_shipped).sum()
            drop += float((base - candidate).mean(1).sum())
        shares = {"ship": ship / n_simulations, "block": block / n_simulations, "drop": drop / n_simulations}
        return shares | {"cannot tell": (n_simulations - ship - block) / n_simulations}

    def _limits(self, difference: Floats, margin: float, scores: Sequence[Any]) -> tuple[Any, Any]:
        """Whether the lower limit is above −margin, and whether the upper one is below 0, as `gate` has them."""
        alpha = 1 - self.level
        smooth = Smoothed.of(difference, np.ones(self.n))
        is_shipped, is_worse = smooth.low(self.level) > -margin, smooth.high(self.level) < 0
        is_plain = np.all([((one == 0) | (one == self.k)).all(1) for one in scores], axis=0)
        if is_plain.any():
            flips = Flips.of((difference[is_plain] > 0).sum(1), (difference[is_plain] < 0).sum(1), self.n)
            is_shipped[is_plain] = flips.p_below(-margin) < alpha
            is_worse[is_plain] = flips.swapped().p_below(0.0) < alpha
        return is_shipped, is_worse

    def drops_of(self, drop: float) -> Callable[[int], tuple[Floats, Floats]]:
        """Pairs whose candidate is worse by exactly `drop`."""

        def draw(size: int) -> tuple[Floats, Floats]:
            n_weaker = np.searchsorted(self.means, self.means - drop, side="right")  # models are sorted by their mean
            base = self.rng.choice(np.flatnonzero(n_weaker), size)
            weaker = self.rng.integers(0, n_weaker[base])
            share = drop / (self.means[base] - self.means[weaker])
            return self.rates[base], _mixed(self.rates[base], self.rates[weaker], share)

        return draw

    def no_drop(self, size: int) -> tuple[Floats, Floats]:
        """A model and itself."""
        base = self.rates[self.rng.integers(0, len(self.rates), size)]
        return base, base

    def planned_at(self, margin: float) -> Callable[[int], tuple[Floats, Floats]]:
        """Pairs whose candidate is worse by the drop that a plan with 80 % power gives, and at least by the margin.

        Models that cannot drop so far are not drawn.
        """
        reach = float(ndtri(self.level) + ndtri(0.8))
        # exact limits need half a flip more
        more = 0.5 / self.n if self.k == 1 else 0.0

        def draw(size: int) -> tuple[Floats, Floats]:
            bases: list[Floats] = []
            candidates: list[Floats] = []
            while len(bases) < size:
                picked = self.rng.integers(0, len(self.rates), (2, 2 * size))
                base, weaker = self.rates[picked.max(0)], self.rates[picked.min(0)]
                full = base.mean(1) - weaker.mean(1)
                base, weaker, full = base[full > margin], weaker[full > margin], full[full > margin]
                if not len(full):
                    raise InputError(f"No two models of the bank differ by more than the margin {margin:g}.")
                share = np.full(len(base), 0.3)
                for _ in range(6):  # the variance depends on the drop that it determines
                    candidate = _mixed(base, weaker, share)
                    between = (candidate - base).var(1)
                    within = (base * (1 - base)).mean(1) + (candidate * (1 - candidate)).mean(1)
                    # half an item at either end of the scale is part of the gate's variance
                    se = np.sqrt((between + within / self.k + 1 / self.n) / self.n)
                    share = np.clip(np.maximum(reach * se * (self.n + 1) / self.n + more, margin) / full, 0, 1)
                is_possible = share < 1
                bases += list(base[is_possible])
                candidates += list(_mixed(base, weaker, share)[is_possible])
                if not is_possible.any():
                    raise InputError(
                        f"No two models of the bank differ enough for a significant difference with {self.n} items."
                    )
            return np.array(bases[:size]), np.array(candidates[:size])

        return draw


def _mixed(base: Floats, weaker: Floats, share: Floats) -> Floats:
    return np.clip(base + share[:, None] * (weaker - base), 0.0, 1.0)


def _rates(banks: Sequence[Attempts | Source] | Mapping[str, Floats] | None) -> dict[str, Floats]:
    """Name → rates; models that lack an item of a bank are left out."""
    if banks is None:
        return {"simulated": simulated_bank()}
    if isinstance(banks, Mapping):
        return {name: np.asarray(rate, dtype=np.float64) for name, rate in banks.items()}
    found: dict[str, Floats] = {}
    for one in banks:
        attempts = Attempts.of(one)
        domain = pl.col("domain") if attempts.has("domain") else pl.lit("bank")
        means = (
            attempts.lazy.with_columns(domain.alias("#bank"))
            .group_by("#bank", "subject", "task")
            .agg(attempts.sums()["mean"].alias("mean"))
        )
        for (name,), part in (
            means.collect(engine="streaming").sort("#bank", "subject", "task").group_by("#bank", maintain_order=True)
        ):
            wide = part.pivot("task", index="subject", values="mean").drop_nulls().sort("subject")
            if len(wide) < 2 or wide.width < 3:
                raise InputError(f"{name}: a bank needs at least 2 models that tried the same 2 items.")
            found[str(name)] = wide.drop("subject").to_numpy()
    return found
