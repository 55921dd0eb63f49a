"""Evals drawn from real item banks, whose success rates per model and item are nearly known: do the intervals hold there?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.results import Provenance, Result
from howsure.stats._arrays import Floats, Ints, check_level
from howsure.stats.fixed_items import fixed_bounds, fixed_difference_bounds
from howsure.stats.means import difference_bounds, mean_bounds
from howsure.stats.power import PairedDesign, items_needed
from howsure.stats.sequences import first_exclusion

__all__ = [
    "Bank",
    "BankCoverage",
    "BankCoverageRow",
    "SequenceCheck",
    "SequenceCheckRow",
    "bank_coverage",
    "banks_of",
    "coverage_on_banks",
    "sequences_on_banks",
]

SIZES = (30, 100)
REPEATS = (1, 2, 5)
_INSIDE = (0.05, 0.95)
_MOST_PAIRS = 200
_LONGER = 1.65  # longest sequential eval over the fixed one: gives the same power
_RATIOS = (1.0, 1.5, 2.0)
_LEAST_DIFFERENCE = 0.05
_COLUMNS = ("model", "example_id", "count", "correct")


@dataclass(frozen=True)
class Bank:
    """Success rates of models (rows) at items (columns), each from many repeats."""

    name: str
    models: tuple[str, ...]
    rates: Floats

    @property
    def means(self) -> Floats:
        """The true mean of each model."""
        return np.asarray(self.rates.mean(axis=1))

    @property
    def is_inside(self) -> np.ndarray:
        """Whether a model's true mean is between 0.05 and 0.95."""
        return (self.means >= _INSIDE[0]) & (self.means <= _INSIDE[1])

    def pairs(self, rng: np.random.Generator, n: int = _MOST_PAIRS) -> tuple[Ints, Ints]:
        """At most `n` random pairs of models."""
        a, b = np.triu_indices(len(self.models), 1)
        drawn = rng.permutation(len(a))[:n]
        return a[drawn], b[drawn]


@dataclass(frozen=True, kw_only=True)
class BankCoverageRow:
    """What one kind of interval does for one group of models of one bank in one design."""

    bank: str
    quantity: str
    items: str
    success: str
    n_items: int
    n_repeats: int
    n_subjects: int
    level: float
    coverage: float
    monte_carlo_se: float
    mean_width: float


@dataclass(frozen=True, kw_only=True)
class BankCoverage(Result):
    """Coverage of intervals in evals drawn from real item banks.

    Table ``coverage_real``: one row per bank, quantity, kind of items, group of models and design.

    =================  ==================================================================================================
    bank               name of the item bank
    quantity           mean or (paired) difference
    items              sampled or fixed
    success            true means of the models: 0.05–0.95 (both models of a pair), or outside
    n_items            items per eval
    n_repeats          attempts per item
    n_subjects         models or pairs that the row averages over
    level              intended coverage
    coverage           share of evals whose interval contains the true value
    monte_carlo_se     standard error of that share
    mean_width         mean width of the intervals
    =================  ==================================================================================================

    Parameters
    ----------
    rows : tuple[BankCoverageRow, ...]
        One entry per bank, quantity, kind of items, group of models and design.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "coverage_real"
    rows: tuple[BankCoverageRow, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``coverage_real``."""
        return {"coverage_real": pl.DataFrame([vars(row) for row in self.rows], infer_schema_length=None)}


def banks_of(folder: str | Path) -> list[Bank]:
    """The item banks in a folder of csv files with the columns model, example_id, count and correct.

    Items that not all models of a bank tried are left out.
    """
    paths = sorted(Path(folder).glob("*.csv")) if Path(folder).is_dir() else [Path(folder)]
    if not paths or not paths[0].exists():
        raise InputError(
            f"{folder}: there is no csv file. Give a folder of item banks with the columns {', '.join(_COLUMNS)}."
        )
    banks = []
    for path in paths:
        table = pl.read_csv(path)
        if missing := [name for name in _COLUMNS if name not in table.columns]:
            raise InputError(f"{path}: there is no column {missing[0]!r}. An item bank has {', '.join(_COLUMNS)}.")
        rates = (
            table.filter(pl.col("count") > 0)
            .group_by("model", "example_id")
            .agg((pl.col("correct").sum() / pl.col("count").sum()).alias("rate"))
        )
        wide = (
            rates.pivot(on="model", index="example_id", values="rate", sort_columns=True)
            .sort("example_id")
            .drop_nulls()
        )
        models = tuple(wide.columns[1:])
        if len(wide) < 2 or len(models) < 2:
            raise InputError(f"{path}: {len(models)} models share {len(wide)} items; a bank needs 2 of each.")
        banks.append(Bank(path.stem, models, wide.select(models).to_numpy().T))
    return banks


def coverage_on_banks(
    folder: str | Path,
    *,
    n_simulations: int = 600,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> BankCoverage:
    """Coverage of means and paired differences, for sampled and for fixed items, in evals drawn from real item banks.

    Every model, and every one of at most 200 random pairs of models per bank, gets evals of its own: items drawn with
    replacement, and each item tried as often as the design says. For sampled items the true value is the mean over the bank, for
    fixed items that over the drawn items.

    Parameters
    ----------
    folder : str or Path
        A folder of csv files, or one file, with the columns model, example_id, count (repeats) and correct.
    n_simulations : int, default 600
        Evals per model or pair and design.
    level : float, default 0.95
        Intended coverage, between 0 and 1.
    seed : int, default 0
        The same seed gives the same numbers.
    progress : callable, optional
        Called with the number of finished designs and of all designs.

    Returns
    -------
    BankCoverage
        With the table ``coverage_real``.
    """
    return bank_coverage(banks_of(folder), n_simulations=n_simulations, level=level, seed=seed, progress=progress)


def bank_coverage(
    banks: Sequence[Bank],
    *,
    n_simulations: int,
    level: float,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> BankCoverage:
    """`coverage_on_banks`, of banks that are already read."""
    check_level(level)
    if n_simulations < 1:
        raise OptionError(f"{n_simulations} simulations show nothing. Give at least 1.")
    rows: list[BankCoverageRow] = []
    designs = [(bank, n, k) for bank in banks for n in SIZES for k in REPEATS]
    for done, (bank, n_items, n_repeats) in enumerate(designs, 1):
        rng = np.random.default_rng([seed, done])
        a, b = bank.pairs(rng)
        quantities = (
            ("mean", _means, bank.is_inside, (np.arange(len(bank.models)),)),
            ("difference", _differences, bank.is_inside[a] & bank.is_inside[b], (a, b)),
        )
        for quantity, draw, is_inside, subjects in quantities:
            hits = {kind: np.zeros((2, len(is_inside), n_simulations)) for kind in ("sampled", "fixed")}
            for simulation in range(n_simulations):
                for kind, (low, high), truth in draw(rng, bank, subjects, n_items, n_repeats, level):
                    hits[kind][0, :, simulation] = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
                    hits[kind][1, :, simulation] = high - low
            for kind, (covered, width) in hits.items():
                for success, group in (("0.05–0.95", is_inside), ("outside", ~is_inside)):
                    if group.any():
                        share = float(covered[group].mean())
                        error = float(np.sqrt(share * (1 - share) / covered[group].size))
                        rows.append(
                            BankCoverageRow(
                                bank=bank.name,
                                quantity=quantity,
                                items=kind,
                                success=success,
                                n_items=n_items,
                                n_repeats=n_repeats,
                                n_subjects=int(group.sum()),
                                level=level,
                                coverage=share,
                                monte_carlo_se=error,
                                mean_width=float(width[group].mean()),
                            )
                        )
        if progress:
            progress(done, len(designs))
    provenance = Provenance(
        {"banks": [bank.name for bank in banks], "n_simulations": n_simulations, "level": level}, seed=seed
    )
    return BankCoverage(rows=tuple(rows), provenance=provenance)


_Drawn = Iterator[tuple[str, tuple[Floats, Floats], Floats]]


def _means(
    rng: np.random.Generator, bank: Bank, subjects: tuple[Ints, ...], n_items: int, n_repeats: int, level: float
) -> _Drawn:
    (a,) = subjects
    items = rng.integers(bank.rates.shape[1], size=(len(a), n_items))
    rates = bank.rates[a[:, None], items]
    scores = rng.binomial(n_repeats, rates) / n_repeats
    sampled = mean_bounds(scores, level)
    yield "sampled", sampled, bank.means[a]
    fixed = sampled if n_repeats == 1 else fixed_bounds(*_sums(scores, n_repeats), level)
    yield "fixed", fixed, rates.mean(axis=1)


def _differences(
    rng: np.random.Generator, bank: Bank, subjects: tuple[Ints, ...], n_items: int, n_repeats: int, level: float
) -> _Drawn:
    a, b = subjects
    items = rng.integers(bank.rates.shape[1], size=(len(a), n_items))
    rates = bank.rates[a[:, None], items], bank.rates[b[:, None], items]
    x, y = (rng.binomial(n_repeats, side) / n_repeats for side in rates)
    sampled = difference_bounds(x, y, level)
    yield "sampled", sampled, bank.means[a] - bank.means[b]
    fixed = sampled if n_repeats == 1 else fixed_difference_bounds(_sums(x, n_repeats), _sums(y, n_repeats), level)
    yield "fixed", fixed, rates[0].mean(axis=1) - rates[1].mean(axis=1)


def _sums(scores: Floats, n_repeats: int) -> tuple[Floats, Floats, Floats]:
    """Mean, number and sum of squared deviations of right-or-wrong repeats."""
    return scores, np.full(scores.shape, float(n_repeats)), n_repeats * scores * (1 - scores)


@dataclass(frozen=True, kw_only=True)
class SequenceCheckRow:
    """Sequential comparisons of real models whose true difference is `ratio` times the planned one."""

    bank: str
    ratio: float
    n_pairs: int
    n_items_fixed: float
    power_fixed: float
    power: float
    median_share: float
    median_saving: float
    error: float
    monte_carlo_se: float


@dataclass(frozen=True, kw_only=True)
class SequenceCheck(Result):
    """Confidence sequences that are looked at after every item, in comparisons of real models.

    Table ``sequences``: one row per bank and ratio of the true to the planned difference.

    =================  ==================================================================================================
    bank               name of the item bank
    ratio              true difference over the difference that the eval was planned for
    n_pairs            pairs of models
    n_items_fixed      median number of items of the eval of fixed size with 80 % power at the planned difference
    power_fixed        share of fixed evals whose paired t interval excludes 0
    power              share of sequential evals, at most 1.65 times as long, that exclude 0
    median_share       median number of items used by a sequential eval, over that of the fixed one
    median_saving      1 − median_share
    error              share of sequential evals that ever exclude the true difference
    monte_carlo_se     standard error of ``error``
    =================  ==================================================================================================

    Parameters
    ----------
    rows : tuple[SequenceCheckRow, ...]
        One entry per row of the table.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "sequences"
    rows: tuple[SequenceCheckRow, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``sequences``."""
        return {"sequences": pl.DataFrame([vars(row) for row in self.rows], infer_schema_length=None)}


def sequences_on_banks(
    folder: str | Path,
    *,
    n_simulations: int = 100,
    n_pairs: int = 40,
    n_repeats: int = 1,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> SequenceCheck:
    """How often confidence sequences err under continuous looks, and how many samples they save, on real item banks.

    Each pair of models (success rates from 0.05 to 0.95, true difference from 0.05) is compared by an eval of fixed size, with 80 %
    power at the planned difference, and by sequential evals that are looked at after each item and may last 1.65 times as long.

    Parameters
    ----------
    folder : str or Path
        A folder of csv files, or one file, with the columns model, example_id, count (repeats) and correct.
    n_simulations : int, default 100
        Evals per pair and ratio.
    n_pairs : int, default 40
        Pairs per bank, at most.
    n_repeats : int, default 1
        Attempts per item and model.
    level : float, default 0.95
        Coverage of the sequence at all looks together.
    seed : int, default 0
        The same seed gives the same numbers.
    progress : callable, optional
        Called with the number of finished rows and of all rows.

    Returns
    -------
    SequenceCheck
        With the table ``sequences``.
    """
    check_level(level)
    if min(n_simulations, n_pairs, n_repeats) < 1:
        raise OptionError("n_simulations, n_pairs and n_repeats begin at 1.")
    banks = banks_of(folder)
    rows: list[SequenceCheckRow] = []
    for bank in banks:
        rng = np.random.default_rng([seed, len(rows)])
        a, b = bank.pairs(rng, n=len(bank.models) ** 2)
        is_apart = np.abs(bank.means[a] - bank.means[b]) >= _LEAST_DIFFERENCE
        chosen = np.flatnonzero(bank.is_inside[a] & bank.is_inside[b] & is_apart)[:n_pairs]
        for ratio in _RATIOS:
            drawn = [
                _compared(rng, bank.rates[a[pair]], bank.rates[b[pair]], ratio, n_simulations, n_repeats, level)
                for pair in chosen
            ]
            if not drawn:
                continue
            fixed, power_fixed, power, share, error = np.array(drawn).T
            wrong = float(error.mean())
            rows.append(
                SequenceCheckRow(
                    bank=bank.name,
                    ratio=ratio,
                    n_pairs=len(chosen),
                    n_items_fixed=float(np.median(fixed)),
                    power_fixed=float(power_fixed.mean()),
                    power=float(power.mean()),
                    median_share=float(np.median(share)),
                    median_saving=1 - float(np.median(share)),
                    error=wrong,
                    monte_carlo_se=float(np.sqrt(max(wrong * (1 - wrong), 1e-4) / (len(chosen) * n_simulations))),
                )
            )
            if progress:
                progress(len(rows), len(banks) * len(_RATIOS))
    settings = {"banks": [bank.name for bank in banks], "n_simulations": n_simulations, "n_pairs": n_pairs}
    settings |= {"n_repeats": n_repeats, "level": level}
    return SequenceCheck(rows=tuple(rows), provenance=Provenance(settings, seed=seed))


def _compared(
    rng: np.random.Generator, a: Floats, b: Floats, ratio: float, n_evals: int, n_repeats: int, level: float
) -> tuple[float, float, float, float, float]:
    """Fixed size, its power, the sequential power, the median share of the fixed size used, and the error."""
    truth = float((a - b).mean())
    within_a, within_b = (float((side * (1 - side)).mean()) for side in (a, b))
    design = PairedDesign(float((a - b).var()), within_a, within_b, n_repeats, n_repeats)
    n_fixed = items_needed(abs(truth) / ratio, design, level=level)
    n_longest = int(np.ceil(_LONGER * n_fixed))
    items = rng.integers(len(a), size=(n_evals, n_longest))
    x, y = (rng.binomial(n_repeats, side[items]) / n_repeats for side in (a, b))
    low, high = difference_bounds(x[:, :n_fixed], y[:, :n_fixed], level)
    units = (x - y + 1) / 2
    stopped = first_exclusion(units, np.full(n_evals, 0.5), n_planned=n_longest, level=level)
    erred = first_exclusion(units, np.full(n_evals, (truth + 1) / 2), n_planned=n_longest, level=level)
    used = np.minimum(stopped, n_longest)
    power_fixed = float(np.mean((low > 0) | (high < 0)))
    is_wrong = erred <= n_longest
    return (
        n_fixed,
        power_fixed,
        float(np.mean(stopped <= n_longest)),
        float(np.median(used)) / n_fixed,
        float(is_wrong.mean()),
    )
