"""May the candidate replace the base? Ship, block or cannot tell, from paired items of one eval or a suite."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, stated
from howsure.evals.item_means import MOST_MISSING, Items, default_cluster, items_of
from howsure.evals.variants import (
    Spec,
    aligned,
    averaged_factors,
    levels_of,
    numbered,
    one_scorer,
    only,
    varying_factors,
    with_absent,
)
from howsure.results import Provenance, Result, columns_of, plain
from howsure.safe_io import lock_file
from howsure.stats.multiplicity import holm
from howsure.stats.noninferiority import Flips, Smoothed
from howsure.stats.permutation import mcnemar
from howsure.stats.power import PairedDesign, items_needed
from howsure.tables import Attempts
from howsure.tables.outcomes import OWN_FAILURES, Policy

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = [
    "EXIT_CODES",
    "GateDecision",
    "GateHistory",
    "GatePolicy",
    "GateRow",
    "GateSuite",
    "HistoryRow",
    "Verdict",
    "append_history",
    "gate",
    "read_history",
    "read_suite",
]

Verdict = Literal["ship", "block", "cannot tell"]
EXIT_CODES: Mapping[Verdict, int] = {"ship": 0, "block": 1, "cannot tell": 3}

_BASE, _CANDIDATE = "base", "candidate"
_MISSING = dict.fromkeys(("eval", "side", "task", "outcome", "reason"), pl.String)
_POWER = 0.8  # with which more data shall decide
_MOST_REPEATS = 100


@dataclass(frozen=True, kw_only=True)
class GateRow:
    """The verdict on one eval.

    ``difference`` is candidate − base (base − candidate where lower is better); its ends are the two one-sided limits at the gate's level.
    ``p_ship`` is the p-value of the hypothesis that the candidate is worse by the margin or more, ``p_block`` of the hypothesis that it is not
    worse. ``more_items`` and ``more_repeats`` are what would decide with a probability of 80 %, ``tokens`` and ``cost`` what the cheaper of the
    two would use.
    """

    eval: str
    verdict: Verdict
    margin: float
    base: Estimate
    candidate: Estimate
    difference: Estimate
    p_ship: float | None = None
    p_block: float | None = None
    p_block_adjusted: float | None = None
    n_items: int = 0
    n_clusters: int = 0
    n_gains: int = 0
    n_losses: int = 0
    n_unshared: int = 0
    method: str = ""
    reason: str = ""
    n_missing_base: int = 0
    n_missing_candidate: int = 0
    lowest: float | None = None
    highest: float | None = None
    tipping: str = ""
    more_items: int | None = None
    more_repeats: int | None = None
    tokens: float | None = None
    cost: float | None = None

    @property
    def advice(self) -> str:
        """What would decide, in words; nothing where the verdict is clear."""
        if self.verdict == "cannot tell" and (again := self.n_missing_base + self.n_missing_candidate) and self.reason:
            return f"run {'this item' if again == 1 else f'these {again:,} items'} again"
        ways = [f"{self.more_items:,} more item{'s' * (self.more_items > 1)}"] if self.more_items else []
        ways += [f"{n:,} more repeat{'s' * (n > 1)} of each item"] if (n := self.more_repeats) else []
        if self.verdict != "cannot tell" or not ways:
            return ""
        used = [f"{_short(self.tokens)} tokens"] if self.tokens else []
        used += [f"${self.cost:,.2f}"] if self.cost else []
        return f"{', or '.join(ways)}{'; about ' + ' and '.join(used) if used else ''}"


@dataclass(frozen=True, kw_only=True)
class GatePolicy:
    """The verdict on one eval, with attempts without a score counted by one defensible policy."""

    eval: str
    policy: str
    verdict: Verdict
    base: Estimate
    candidate: Estimate
    difference: Estimate
    n_items: int


@dataclass(frozen=True, kw_only=True)
class GateDecision(Result):
    """Whether a candidate may replace the base.

    Table ``gate``: one row per eval: eval, verdict, margin, base, candidate and difference (each with _low, _high and _state), p_ship, p_block,
    p_block_adjusted, n_items, n_clusters, n_gains, n_losses, n_unshared, method, reason, n_missing_base, n_missing_candidate, lowest, highest, tipping,
    more_items, more_repeats, tokens, cost; see `GateRow`. Table ``policies``, where attempts have no score: one row per eval and defensible policy: eval,
    policy, verdict, base, candidate, difference, n_items. Table ``missing``: eval, side, task, outcome, reason: the attempts without a score.

    Parameters
    ----------
    verdict : Verdict
        The verdict over all evals.
    rows : tuple[GateRow, ...]
        One entry per eval.
    policies : tuple[GatePolicy, ...]
        One entry per eval and defensible policy, where attempts have no score.
    missing : polars.DataFrame
        The attempts without a score.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "gate"
    verdict: Verdict
    rows: tuple[GateRow, ...]
    policies: tuple[GatePolicy, ...] = ()
    missing: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_MISSING))
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``gate``, and ``policies`` and ``missing`` where attempts have no score."""
        rest: tuple[str, ...] = (
            "p_ship",
            "p_block",
            "p_block_adjusted",
            "n_items",
            "n_clusters",
            "n_gains",
            "n_losses",
            "n_unshared",
        )
        rest = (*rest, "method", "reason", "n_missing_base", "n_missing_candidate", "lowest", "highest", "tipping")
        rest = (*rest, "more_items", "more_repeats", "tokens", "cost")
        rows = [
            {"eval": row.eval, "verdict": row.verdict, "margin": row.margin}
            | columns_of(base=row.base, candidate=row.candidate, difference=row.difference)
            | {name: getattr(row, name) for name in rest}
            for row in self.rows
        ]
        tables = {"gate": pl.DataFrame(rows, infer_schema_length=None)}
        if len(self.missing):
            policies = [
                {"eval": row.eval, "policy": row.policy, "verdict": row.verdict}
                | columns_of(base=row.base, candidate=row.candidate, difference=row.difference)
                | {"n_items": row.n_items}
                for row in self.policies
            ]
            tables |= {"policies": pl.DataFrame(policies, infer_schema_length=None), "missing": self.missing}
        return tables

    @property
    def exit_code(self) -> int:
        """0 for ship, 1 for block, 3 for cannot tell."""
        return EXIT_CODES[self.verdict]

    @property
    def sentence(self) -> str:
        """The verdict and its reason in one sentence."""
        n = len(self.rows)
        if self.verdict == "ship":
            what = "the candidate is" if n == 1 else f"on all {n} evals the candidate is"
            return f"Ship: {what} not worse than the base by the margin or more."
        if self.verdict == "block":
            blocked = [row.eval for row in self.rows if row.verdict == "block"]
            on = "" if n == 1 else f" on {', '.join(blocked[:4])}{' …' if len(blocked) > 4 else ''}"
            return f"Block: the candidate is worse than the base{on}."
        unclear = [row for row in self.rows if row.verdict == "cannot tell"]
        on = "" if n == 1 else f" on {len(unclear)} of {n} evals"
        first = next((row.advice for row in unclear if row.advice), "")
        more = f" What would decide{'' if len(unclear) == 1 else f' {unclear[0].eval}'}: {first}." if first else ""
        reason = next((row.reason for row in unclear if row.reason), "")
        why = (
            f"{reason[0].upper()}{reason[1:]}."
            if reason
            else "The data neither exclude a drop of the margin nor show a drop."
        )
        return f"Cannot tell{on}: {why[0].lower()}{why[1:]}{more}"

    def as_dict(self) -> dict[str, Any]:
        """The table and the provenance, and the verdict."""
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "sentence": self.sentence,
            **plain(super().as_dict()),
        }

    def markdown(self) -> str:
        """The verdict as Markdown, for a pull request or a job's summary."""
        marks = {"ship": "✅ ship", "block": "⛔ block", "cannot tell": "⚠️ cannot tell"}
        level = self.provenance.settings["level"]
        head = "| eval | verdict | base | candidate | difference (limits) | margin | items | better / worse | what would decide |"
        lines = [
            f"### {marks[self.verdict]}",
            "",
            _safe(self.sentence),
            "",
            head,
            "|---|---|--:|--:|--:|--:|--:|--:|---|",
        ]
        for row in self.rows:
            means = [
                _safe(str(one.value if one.value is None else f"{one.value:.3f}")) for one in (row.base, row.candidate)
            ]
            cells = [
                _safe(row.eval),
                marks[row.verdict],
                *means,
                _safe(row.difference.against(-row.margin)),
                f"{row.margin:g}",
            ]
            cells += [f"{row.n_items:,}", f"{row.n_gains:,} / {row.n_losses:,}", _safe(row.advice or row.reason)]
            lines.append(f"| {' | '.join(cells)} |")
        told = (
            f"Limits are one-sided, {level:.0%} each. Ship: the lower limit is above −margin, on every eval. Block: not ship, and the upper limit is "
            "below 0 (Holm-corrected over evals), on one eval. Otherwise the data cannot tell."
        )
        missing = [
            f"{_safe(row.eval)}: {row.n_missing_base:,} attempts of the base and {row.n_missing_candidate:,} of the candidate have no score; {_safe(row.tipping)}"
            for row in self.rows
            if row.n_missing_base or row.n_missing_candidate
        ]
        lines += ["", *(f"{line.removesuffix('; ')}." for line in missing)]
        notes = "".join(f"- {_safe(note)}\n" for note in self.provenance.notes)
        folded = f"\n<details><summary>Notes</summary>\n\n{notes}\n</details>\n" if notes else ""
        return "\n".join([*lines, "", f"<sub>{told} Howsure {self.provenance.version}.</sub>", folded])

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.evals.sections import gate_section

        return [gate_section(self)]

    def charts(self) -> dict[str, Chart]:
        """One chart, ``gate``: differences with their limits."""
        from howsure.evals.charts import draw_gate

        return {"gate": draw_gate(self)}


@dataclass(frozen=True)
class GateSuite:
    """The evals that a candidate must pass: margins by eval, and the margin of the others where all evals are judged."""

    margins: Mapping[str, float]
    margin: float | None = None


@checked
def gate(
    attempts: Attempts | Source,
    other: Attempts | Source | None = None,
    *,
    base: Spec | None = None,
    candidate: Spec | None = None,
    margin: float = 0.02,
    suite: GateSuite | str | Path | None = None,
    subset: bool = False,
    level: float = 0.95,
    cluster: str | None = None,
) -> GateDecision:
    """Ship, block or cannot tell: may the candidate replace the base?

    Each eval is judged on the items that both tried. Ship: the lower limit of the one-sided interval of candidate − base is above −margin. Block:
    not ship, and the upper limit is below 0. Otherwise the data cannot tell. The whole is shipped if every eval is (each at the full
    level: an intersection–union test), and blocked if one is, with p-values corrected by Holm.

    Attempts without a score, and items of the base that the candidate lacks, are counted in every defensible way: a verdict stands only if all of them
    give it. Where less than 90 % of the base's items have a score on both sides nothing ships, unless the candidate was meant to run on a ``subset``.

    Single right-or-wrong answers (or repeats that never differ) have score limits, exact ones where few answers changed (`Flips`); graded
    scores, repeats and clusters have a t limit corrected for skewness, with half a cluster added at either end of the scale (`Smoothed`).

    Parameters
    ----------
    attempts : Attempts, frame or path
        Attempts of the base; or of both, if there is no other input. Evals are told apart by ``domain``.
    other : Attempts, frame or path, optional
        Attempts of the candidate.
    base, candidate : str or mapping, optional
        Which attempts are the base's and the candidate's, by the value of any factor: ``"old"`` or ``"model=x,prompt=cot"``.
    margin : float, default 0.02
        The largest drop that is acceptable, in units of the score.
    suite : GateSuite or path, optional
        Which evals are judged, with margins of their own; without it, all evals of the base. See `read_suite`.
    subset : bool, default False
        Whether the candidate was meant to run on fewer items than the base: items that it lacks do not count.
    level : float, default 0.95
        Of each one-sided limit.
    cluster : {"task", "family", "none"}, optional
        Items of one cluster are not independent: by default those of one family, where there are families, else each task is its own.

    Returns
    -------
    GateDecision
        With ``verdict``, ``exit_code``, the table ``gate`` and ``markdown()``.

    Raises
    ------
    InputError
        If a side has several models, if both are the same run, or if the two share no eval or no item.
    OptionError
        If the margin or level is out of its range.
    """
    if not margin > 0 or not math.isfinite(margin):
        raise OptionError(f"margin {margin:g} is not above 0. It is the largest drop that is acceptable, such as 0.02.")
    if not 0.5 < level < 1:
        raise OptionError(f"level {level:g} is not between 0.5 and 1.")
    sides = _sides(attempts, other, base, candidate)
    for name, side in sides.items():
        _refuse_several(name, side)
    both, notes = _joined(sides, is_subset=subset)
    known = read_suite(suite) if isinstance(suite, str | Path) else suite
    evals = {name: _evals(side) for name, side in sides.items()}
    names = list(known.margins) if known and known.margins else evals[_BASE]
    if known is None and not set(evals[_BASE]) & set(evals[_CANDIDATE]):
        shown = [
            ", ".join(name or "an eval without a name" for name in evals[side][:4]) for side in (_BASE, _CANDIDATE)
        ]
        raise InputError(f"Base and candidate share no eval. The base has {shown[0]}; the candidate has {shown[1]}.")
    for only_there in sorted((set(evals[_CANDIDATE]) | set(evals[_BASE])) - set(names)):
        notes.append(
            f"{only_there or 'The eval without a name'} is not judged: {'not in the suite' if known else 'the base was not tried on it'}."
        )
    margins = {name: margin if known is None else known.margins.get(name, known.margin or margin) for name in names}
    for name, own in margins.items():
        _refuse_boundless(name, own, both)
    judged = _Judged(
        both, names, margins, level, default_cluster(both, cluster), averaged_factors(both, by=("subject",))
    )
    under = [(policy, judged.rows(policy)) for policy in both.policies]
    rows = [judged.agreed(index, under, is_subset=subset) for index in range(len(names))]
    if all(row.reason == _APART for row in rows):
        raise InputError(
            "Base and candidate have no item in common, so they cannot be compared. Are their items named alike?"
        )
    for name, row in zip(names, rows, strict=True):
        if row.n_items and row.n_unshared:
            notes.append(f"{row.eval}: {row.n_unshared:,} items do not count, because one side alone has a result.")
        if row.n_items and judged.is_free(name) and row.method:
            notes.append(
                f"{row.eval}: the scores have no bounds. The limits assume that a mean is nearly normal, which fails where few items have extreme scores."
            )
        notes += judged.missingness(name)
    notes += judged.notes
    verdicts = [row.verdict for row in rows]
    verdict: Verdict = "block" if "block" in verdicts else "ship" if set(verdicts) == {"ship"} else "cannot tell"
    settings: dict[str, Any] = {
        "margin": margin,
        "level": level,
        "cluster": judged.cluster,
        "suite": bool(known),
        "subset": subset,
    }
    policies = tuple(
        GatePolicy(
            eval=row.eval,
            policy=str(policy),
            verdict=row.verdict,
            base=row.base,
            candidate=row.candidate,
            difference=row.difference,
            n_items=row.n_items,
        )
        for policy, one in under
        for row in one
    )
    return GateDecision(
        verdict=verdict,
        rows=tuple(rows),
        policies=policies if both.missing else (),
        missing=judged.missing,
        provenance=Provenance.of(both, notes=notes, **settings),
    )


def read_suite(path: str | Path) -> GateSuite:
    """The suite in a YAML file.

    ::

        margin: 0.02          # for all evals without one of their own
        evals:
          gsm8k:
          arc: {margin: 0.03}

    Parameters
    ----------
    path : str or path
        The file. Without ``evals``, all evals of the base are judged.
    """
    from howsure.yaml_files import read_yaml

    document = read_yaml(Path(path))
    content = document.value
    if not isinstance(content, dict) or set(content) - {"margin", "evals"}:
        raise InputError(f"{path}: a suite has the keys margin and evals.")
    listed = content.get("evals") or {}
    listed = dict.fromkeys(listed) if isinstance(listed, list) else listed
    if not isinstance(listed, dict):
        raise InputError(
            f"{path}{document.line_of(['evals'])}: evals is a list of names, or a mapping from names to margins."
        )

    def checked(value: Any, place: Sequence[str]) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise InputError(f"{path}{document.line_of(place)}: margin {value!r} is not a number above 0.")
        return float(value)

    general = checked(content["margin"], ["margin"]) if content.get("margin") is not None else None
    margins = {}
    for name, options in listed.items():
        given = options.get("margin") if isinstance(options, dict) else options
        if isinstance(options, dict) and set(options) - {"margin"}:
            raise InputError(f"{path}{document.line_of(['evals', name])}: an eval has only the key margin.")
        margins[str(name)] = checked(given, ["evals", name]) if given is not None else general or 0.02
    return GateSuite(margins, general)


def _sides(
    attempts: Attempts | Source, other: Attempts | Source | None, base: Spec | None, candidate: Spec | None
) -> dict[str, Attempts]:
    """The attempts of both sides, from one input or from two."""
    if other is None:
        if base is None or candidate is None:
            raise OptionError(
                "With one input, base and candidate say which of its attempts are which, such as base 'old' and candidate 'new'."
            )
        there = Attempts.of(attempts)
        sides = {_BASE: only(there, base), _CANDIDATE: only(there, candidate)}
    else:
        is_same = attempts is other
        if isinstance(attempts, str | os.PathLike) and isinstance(other, str | os.PathLike):
            is_same = Path(attempts).resolve() == Path(other).resolve()
        if is_same and (base is None or candidate is None):
            raise InputError(
                "Base and candidate are the same input. Name two, or say which of its attempts are which with base and candidate."
            )
        both = {_BASE: (Attempts.of(attempts), base), _CANDIDATE: (Attempts.of(other), candidate)}
        sides = {name: side if spec is None else only(side, spec) for name, (side, spec) in both.items()}
    if base is not None and base == candidate and (other is None or attempts is other):
        raise OptionError(f"base and candidate are both {base!r}. Name two that differ.")
    runs = [_runs(side) for side in sides.values()]
    if same := sorted(runs[0] & runs[1]):
        raise InputError(f"Base and candidate are the same run ({same[0]}): a gate would compare it with itself.")
    return sides


def _runs(side: Attempts) -> set[str]:
    """The runs that the attempts are from, as far as logs name them."""
    if not side.has("log", "subject"):
        return set()
    columns = ["log", "subject", *averaged_factors(side)]
    rows = side.lazy.select(
        pl.concat_str([pl.col(name).cast(pl.String) for name in columns], separator=" ", ignore_nulls=True)
    )
    return set(rows.unique().collect(engine="streaming").to_series().to_list()) - {None}


def _refuse_several(name: str, side: Attempts) -> None:
    one_scorer(side)
    if "subject" in varying_factors(side):
        told = ", ".join(levels_of(side, "subject"))
        raise InputError(
            f"The {name} has several models ({told}). A gate compares two; choose one with {name}, such as {name} '{levels_of(side, 'subject')[0]}'."
        )


def _joined(sides: Mapping[str, Attempts], *, is_subset: bool) -> tuple[Attempts, list[str]]:
    """Both sides as one table, with a row for each attempt that is absent on one side, and notes on how items were paired."""
    first, second = sides.values()
    if first.count != second.count:
        raise OptionError(
            "The base and the candidate count attempts without a score in different ways. Read them with the same count."
        )
    rows = [side.lazy.drop("attempt").with_columns(pl.lit(name).alias("subject")) for name, side in sides.items()]
    notes = [f"{name}: {note}" for name, side in sides.items() for note in side.notes]
    made = first.derive(numbered(pl.concat(rows, how="diagonal_relaxed")))
    made.notes = tuple(dict.fromkeys(notes))
    made, told = aligned(made)
    made = with_absent(made, [_BASE, _CANDIDATE], averaged_factors(made))
    if is_subset:
        made.count = replace(made.count, rules={**made.count.rules, "absent": "drop"})
    return made, told


def _evals(side: Attempts) -> list[str]:
    if not side.has("domain"):
        return [""]
    return (
        side.lazy.select(pl.col("domain").fill_null("(none)").unique().sort())
        .collect(engine="streaming")["domain"]
        .to_list()
    )


_APART = "base and candidate have no common item"
_LEAST_COVERED = 0.9  # of the base's items: with fewer on both sides, nothing ships


class _Judged:
    """Base and candidate on all evals, judged under one policy after the other."""

    def __init__(
        self,
        both: Attempts,
        names: Sequence[str],
        margins: Mapping[str, float],
        level: float,
        cluster: str,
        factors: Sequence[str],
    ) -> None:
        self._both = both.derive(both.lazy.with_row_index("#row").collect(engine="streaming").lazy())
        self._names, self._margins, self._level = names, margins, level
        self.cluster, self._factors = cluster, factors
        self.notes: list[str] = []
        self._groups: dict[str, Items] = {}

    @cached_property
    def missing(self) -> pl.DataFrame:
        """The attempts without a score."""
        if not self._both.missing:
            return pl.DataFrame(schema=_MISSING)
        domain = pl.col("domain").fill_null("(none)") if self._both.has("domain") else pl.lit("all")
        rows = self._both.lazy.filter(pl.col("score").is_null())
        picked = rows.select(domain.alias("eval"), pl.col("subject").alias("side"), "task", "outcome", "reason")
        return picked.collect(engine="streaming").sort("eval", "side", "task")

    def _items(self, attempts: Attempts, policy: Policy) -> dict[str, Items]:
        by = "domain" if attempts.has("domain") else "all"
        groups = items_of(attempts, by, cluster=self.cluster, factors=self._factors, policy=policy)
        found = {items.label: items for items in groups}
        return {
            name: found[name] if name in found else next(iter(found.values()))
            for name in self._names
            if name in found or (not name and len(found) == 1)
        }

    def rows(self, policy: Policy, filled: Attempts | None = None) -> list[GateRow]:
        """The verdict on each eval under one policy, or with the missing scores filled in."""
        attempts = filled or self._both
        groups = self._items(attempts, policy)
        if not self._groups:
            self._groups = groups
            self.notes = [
                note for items in groups.values() for note in items.notes if items.factors and "combination" in note
            ]
        rows = [_judge(name, groups.get(name), attempts, self._margins[name], self._level) for name in self._names]
        return _corrected(rows, self._level)

    def is_free(self, name: str) -> bool:
        """Whether the scores of an eval are of any size."""
        return name in self._groups and self._groups[name].bounds is None

    def agreed(self, index: int, under: Sequence[tuple[Policy, Sequence[GateRow]]], *, is_subset: bool) -> GateRow:
        """The row of the main policy, with the verdict that all policies give."""
        row, name = under[0][1][index], self._names[index]
        if not row.n_items:
            return row
        own = self.missing.filter(pl.col("eval") == (name or "all"))
        n_base, n_candidate = (int((own["side"] == side).sum()) for side in (_BASE, _CANDIDATE))
        row = replace(row, n_missing_base=n_base, n_missing_candidate=n_candidate)
        by_verdict: dict[Verdict, list[str]] = {}
        for policy, rows in under:
            by_verdict.setdefault(rows[index].verdict, []).append(str(policy))
        if len(by_verdict) > 1:
            ways = "; ".join(
                f"{verdict} with {' or with '.join(policies[:2])}" for verdict, policies in by_verdict.items()
            )
            row = replace(
                row,
                verdict="cannot tell",
                reason=f"the verdict depends on what attempts without a score count as: {ways}",
            )
        items = self._groups[name]
        n_of_base = len(items.tried.filter(pl.col("subject") == _BASE))
        if row.verdict == "ship" and not is_subset and row.n_items < _LEAST_COVERED * n_of_base:
            row = replace(
                row,
                verdict="cannot tell",
                reason=f"only {row.n_items:,} of the base's {n_of_base:,} items have a score on both sides",
            )
        n_missing = n_base + n_candidate
        if row.verdict == "ship" and items.fill is None and n_missing > MOST_MISSING * (n_missing + 2 * row.n_items):
            shift = (row.difference.low or 0.0) + row.margin
            share = n_missing / (n_missing + 2 * row.n_items)
            row = replace(
                row,
                verdict="cannot tell",
                reason=f"{share:.1%} of the attempts have no score, and scores have no worst value. The verdict turns if the missing scores are worse than the others by "
                f"{shift / share:.3g} on average; give missing_score",
            )
        if n_missing and items.fill is not None:
            row = self._with_bounds(row, index)
        return row

    def _with_bounds(self, row: GateRow, index: int) -> GateRow:
        """The difference at both ends of what the missing answers could have been, and how many of them turn the verdict of the main policy."""
        name = self._names[index]
        candidates = self._both.lazy.filter(pl.col("score").is_null() & ~pl.col("outcome").is_in(OWN_FAILURES))
        if self._both.has("domain"):
            candidates = candidates.filter(pl.col("domain").fill_null("(none)") == name)
        # the most harmful first: the candidate's where the base did well, then the base's
        scores = self._both.lazy.group_by("subject", "task").agg(pl.col("score").mean().alias("#other"))
        scores = scores.with_columns(pl.col("subject").replace({_BASE: _CANDIDATE, _CANDIDATE: _BASE}))
        order = candidates.join(scores, on=["subject", "task"], how="left").sort(
            pl.col("subject") == _BASE,
            pl.col("#other"),
            "#row",
            descending=[False, not self._groups[name].is_lower_better, False],
            nulls_last=True,
        )
        harmful = order.select("#row", "subject").collect(engine="streaming")
        n = len(harmful)
        if not n:
            return row

        def judged(n_harmful: int) -> GateRow:
            is_harmful = pl.col("#row").is_in(harmful["#row"].head(n_harmful).implode())
            rule = (
                pl.when(is_harmful == (pl.col("subject") == _CANDIDATE))
                .then(pl.lit("wrong"))
                .otherwise(pl.lit("right"))
            )
            filled = self._both.decided(
                pl.when(pl.col("outcome").is_in(OWN_FAILURES)).then(pl.lit("wrong")).otherwise(rule)
            )
            return self.rows(Policy(), filled)[index]

        ends = [judged(n), judged(0)]
        row = replace(row, lowest=ends[0].difference.value, highest=ends[1].difference.value)
        verdict = ends[1].verdict
        if ends[0].verdict == verdict:
            return replace(row, tipping=f"{verdict}, whatever the {n:,} missing answers were")
        low, high = 0, n  # the verdict at `low` is that of the best case, at `high` it is not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if judged(middle).verdict == verdict else (low, middle)
        were = "wrong" if (harmful["subject"] == _CANDIDATE).all() else "wrong for the candidate or right for the base"
        return replace(row, tipping=f"{verdict} unless at least {high:,} of the {n:,} missing answers were {were}")

    def missingness(self, name: str) -> list[str]:
        """Whether one side lacks more scores than the other: an exact McNemar test over items."""
        own = self.missing.filter(pl.col("eval") == (name or "all"))
        sides = [set(own.filter(pl.col("side") == side)["task"]) for side in (_BASE, _CANDIDATE)]
        if not own.height:
            return []
        only_base, only_candidate = len(sides[0] - sides[1]), len(sides[1] - sides[0])
        p = mcnemar(only_candidate, only_base).p
        if p is None or p >= 1 - self._level:
            return []
        more = "candidate" if only_candidate > only_base else "base"
        return [
            f"{name or 'all'}: the {more} lacks scores more often ({only_candidate:,} items only of the candidate, {only_base:,} only of the base; {stated('p', p)}, McNemar)."
        ]


def _judge(name: str, items: Items | None, both: Attempts, margin: float, level: float) -> GateRow:
    """The verdict on one eval, before the correction for the number of evals."""
    label, two_sided = name or "all", round(2 * level - 1, 12)
    missing = Estimate.without("undefined", "no attempt", level=two_sided)

    def unclear(reason: str, **more: Any) -> GateRow:
        filled = {
            "base": missing,
            "candidate": missing,
            "difference": Estimate.without("undefined", reason, level=two_sided),
        }
        return GateRow(eval=label, verdict="cannot tell", margin=margin, reason=reason, **(filled | more))

    there = [] if items is None else [side for side in (_BASE, _CANDIDATE) if len(items.only(side))]
    if items is None or len(there) < 2:
        lacking = "neither side" if not there else "only the base" if there == [_BASE] else "only the candidate"
        return unclear(f"{lacking} has attempts at this eval")
    shared = items.paired(_CANDIDATE, _BASE)
    if shared.is_empty():
        is_apart = items.tried.group_by("eval", "task").len()["len"].max() == 1
        return unclear(_APART if is_apart else "no item has a score on both sides")
    means = {side: items.mean_of_pair(shared, end, 0.95) for side, end in ((_CANDIDATE, ""), (_BASE, "_b"))}
    unshared = len(items.tried.select("eval", "task").unique()) - len(shared)
    counted: dict[str, Any] = {**means, "n_items": len(shared), "n_unshared": unshared}
    scales = _scales(both, name)
    if len(scales) > 1:
        return unclear("the scores of base and candidate have different scales or directions", **counted)
    difference = shared["mean"].to_numpy() - shared["mean_b"].to_numpy()
    if scales and "lower" in scales[0]:
        difference = -difference
    gains, losses = int((difference > 1e-12).sum()), int((difference < -1e-12).sum())
    clusters = shared["cluster"].to_numpy()
    totals = (
        [float(difference[clusters == one].sum()) for one in np.unique(clusters)]
        if len(np.unique(clusters)) < len(clusters)
        else difference
    )
    counts = np.unique(clusters, return_counts=True)[1] if len(totals) < len(clusters) else np.ones(len(clusters))
    counted |= {"n_clusters": len(counts), "n_gains": gains, "n_losses": losses}
    value = float(difference.mean())
    if len(counts) < 2:
        return unclear("there is only one cluster of common items; an interval needs 2", **counted)
    is_single = items.bounds is not None and len(counts) == len(difference) and bool(shared["is_binary"].all())
    is_repeated_alike = not shared["spread"].sum() and not shared["spread_b"].sum()
    if is_single and is_repeated_alike and np.isin(difference, (-1.0, 0.0, 1.0)).all():
        flips = Flips.of(gains, losses, len(difference))
        low, high = float(flips.low(level)), float(flips.high(level))
        p_ship, p_block = float(flips.p_below(-margin)), float(flips.swapped().p_below(0.0))
        method = "score" if gains + losses >= 10 else "score and exact"
    else:
        smooth = Smoothed.of(np.asarray(totals), counts, None if items.bounds is None else 1.0)
        if not smooth.se:
            return unclear("all items differ by the same amount, and scores have no bounds", **counted)
        low, high = float(smooth.low(level)), float(smooth.high(level))
        p_ship, p_block = float(smooth.p_below(-margin)), float(smooth.p_above(0.0))
        method = "t, smoothed and corrected for skewness"
    if items.bounds is not None:
        low, high = max(low, -1.0), min(high, 1.0)
    estimate = Estimate(value, min(low, value), max(high, value), two_sided)
    verdict: Verdict = "ship" if low > -margin else "cannot tell"
    row = GateRow(
        eval=label, verdict=verdict, margin=margin, difference=estimate, p_ship=p_ship, p_block=p_block, method=method, **counted
    )  # fmt: skip
    return row if verdict == "ship" else replace(row, **_what_would_decide(row, shared, both, name, level))


def _corrected(rows: Sequence[GateRow], level: float) -> list[GateRow]:
    """Blocks, with Holm's correction over all evals that have a p-value."""
    tested = [index for index, row in enumerate(rows) if row.p_block is not None]
    adjusted = dict(zip(tested, holm([rows[i].p_block or 0.0 for i in tested]).tolist(), strict=True)) if tested else {}
    found = []
    for index, row in enumerate(rows):
        p = adjusted.get(index)
        is_blocked = row.verdict != "ship" and p is not None and p < 1 - level
        found.append(replace(row, p_block_adjusted=p, verdict="block" if is_blocked else row.verdict))
    return found


def _what_would_decide(row: GateRow, shared: pl.DataFrame, both: Attempts, name: str, level: float) -> dict[str, Any]:
    """More items, or more repeats, that would decide with a probability of 80 %.

    If the candidate is truly as good as the base they would ship it; where the estimate is below −margin, they would block it if that is the
    true difference.
    """
    value = row.difference.value or 0.0
    effect = -value if value < -row.margin else row.margin
    pairs = shared["mean"].to_numpy() - shared["mean_b"].to_numpy()
    n = len(shared)
    repeats = [shared["n"].to_numpy(), shared["n_b"].to_numpy()]
    dfs = [int((k - 1).sum()) for k in repeats]
    spreads = [float(shared["spread"].sum()), float(shared["spread_b"].sum())]
    total = max(float(pairs.var(ddof=1)), 1 / n)  # without a flip, one is expected at most
    size, k = n / row.n_clusters, max(1, round(float(np.mean(repeats))))
    if row.n_clusters < n:  # what clusters add to the variance of a mean
        sums = (
            shared.select(pl.col("cluster"), d=pl.Series(pairs - pairs.mean()))
            .group_by("cluster")
            .agg(pl.col("d").sum())["d"]
            .to_numpy()
        )
        total = max(total, float((sums**2).sum()) / n)
    within = [s / df if df else 0.0 for s, df in zip(spreads, dfs, strict=True)]
    noise = sum(w * float(np.mean(1 / k)) for w, k in zip(within, repeats, strict=True))
    two_sided = round(2 * level - 1, 12)
    # with fewer clusters, losses as rare as the margin may all be unseen
    is_bounded = not (shared["is_free"].any() or shared["is_free_b"].any())
    least = math.ceil(size * math.log(1 - level) / math.log1p(-effect)) if is_bounded and effect < 1 else 2

    def needed(times: int) -> int:
        variance = max(total - noise, 0.0) + sum(within) / times if all(dfs) else total
        design = PairedDesign(variance, 0.0, 0.0, cluster_size=size)
        return max(items_needed(effect, design, power=_POWER, level=two_sided), least)

    more_items = max(needed(k) - n, 1)
    more_repeats = None
    if all(dfs):
        more_repeats = next((more for more in range(1, _MOST_REPEATS) if needed(k + more) <= n), None)
    attempts = [2 * k * more_items] + ([2 * n * more_repeats] if more_repeats else [])
    domain = pl.col("domain").fill_null("(none)") == name if both.has("domain") else pl.lit(True)
    there = [column for column in ("tokens", "cost") if both.has(column)]
    means = (
        both.lazy.filter(domain).select(pl.col(c).mean() for c in there).collect(engine="streaming").to_dicts()[0]
        if there
        else {}
    )
    used = {c: mean * min(attempts) for c, mean in means.items() if mean is not None}
    return {"more_items": more_items, "more_repeats": more_repeats, **used}


def _refuse_boundless(name: str, margin: float, both: Attempts) -> None:
    """A margin of 1 or more on a scale from 0 to 1 excludes nothing, so that every candidate would ship."""
    if margin >= 1 and not any("free" in scale for scale in _scales(both, name)):
        raise OptionError(
            f"margin {margin:g} is not below 1{f' ({name})' if name else ''}. Scores are between 0 and 1, so every candidate would "
            f"ship; write {margin / 100:g} for {margin:g} percentage points."
        )


def _scales(both: Attempts, name: str) -> list[tuple[str, str]]:
    """The scales and directions that the sides have on one eval; one entry where they agree."""
    columns = [column for column in ("scale", "better") if both.has(column)]
    if not columns:
        return []
    domain = pl.col("domain").fill_null("(none)") == name if both.has("domain") else pl.lit(True)
    filled = [
        pl.col(column).fill_null(default)
        for column, default in (("scale", "0-1"), ("better", "higher"))
        if column in columns
    ]
    return both.lazy.filter(domain).select(filled).unique().collect(engine="streaming").rows()


def _short(number: float | None) -> str:
    if not number:
        return "0"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.2g} {unit}" if number < 10 * size else f"{number / size:,.0f} {unit}"
    return f"{number:.0f}"


def _safe(text: str) -> str:
    """Text of others in a cell of a Markdown table."""
    from howsure.outside_text import one_line

    shown = one_line(text)
    for sign in "\\`*_[]<>|#~@!":
        shown = (
            shown.replace(sign, f"\\{sign}")
            if sign not in "<>@"
            else shown.replace(sign, {"<": "&lt;", ">": "&gt;", "@": "&#64;"}[sign])
        )
    return shown


# The verdicts of a gate over time: a file that only grows, whose lines are chained by digests, and the trend of an eval over commits.


_FIRST = "0" * 64


@dataclass(frozen=True, kw_only=True)
class HistoryRow:
    """One eval in one run of the gate."""

    position: int
    time: str
    commit: str
    eval: str
    verdict: str
    margin: float
    candidate: Estimate
    difference: Estimate


@dataclass(frozen=True, kw_only=True)
class GateHistory(Result):
    """The verdicts of a gate over time.

    Table ``history``: one row per run and eval: position (1, 2, …), time, commit, eval, verdict, margin, candidate (its mean score) and difference
    (candidate − base), each with _low, _high and _state.

    Parameters
    ----------
    rows : tuple[HistoryRow, ...]
        One entry per run and eval.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "history"
    rows: tuple[HistoryRow, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``history``."""
        told = ("position", "time", "commit", "eval", "verdict", "margin")
        rows = [
            {name: getattr(row, name) for name in told} | columns_of(candidate=row.candidate, difference=row.difference)
            for row in self.rows
        ]
        return {"history": pl.DataFrame(rows, infer_schema_length=None)}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.evals.sections import history_section

        return [history_section(self)]

    def charts(self) -> dict[str, Chart]:
        """One chart, ``trend``: the candidate's mean score over commits."""
        from howsure.evals.charts import draw_trend

        return {"trend": draw_trend(self)}


def append_history(
    path: str | os.PathLike[str], gate: GateDecision, *, commit: str = "", time: str | None = None
) -> str:
    """Add a gate's verdict to a history file, after checking the chain, and give the digest of the new line.

    Each line is a JSON object with the digest of the line before it and its own: SHA-256 of the line without its digest. A changed, removed or
    reordered line breaks the chain. Two processes that append at the same time wait for each other.

    Parameters
    ----------
    path : str or path
        The file; it is made if it does not exist.
    gate : GateDecision
        What is kept: the verdict, and per eval the verdict, the margin, the candidate's mean and the difference.
    commit : str
        Which version of the candidate was judged.
    time : str, optional
        ISO time; now, in UTC, without it.
    """
    where = Path(path)
    where.parent.mkdir(parents=True, exist_ok=True)
    with where.open("a+b") as file:
        lock_file(file)
        file.seek(0)
        content = file.read()
        records = _checked(content, where)
        record: dict[str, Any] = {
            "time": time or datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
            "commit": commit,
            "verdict": gate.verdict,
            "evals": [
                {
                    "eval": row.eval,
                    "verdict": row.verdict,
                    "margin": row.margin,
                    "candidate": row.candidate.as_dict(),
                    "difference": row.difference.as_dict(),
                }
                for row in gate.rows
            ],
            "input": gate.provenance.digest,
            "previous": records[-1]["digest"] if records else _FIRST,
        }
        record["digest"] = _digest(record)
        file.write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return str(record["digest"])


def read_history(path: str | os.PathLike[str]) -> GateHistory:
    """The verdicts in a history file, after a check that its chain is complete.

    Parameters
    ----------
    path : str or path
        The file that `append_history` writes.

    Raises
    ------
    InputError
        If a line was changed, removed or reordered; the message names the first such line.
    """
    where = Path(path)
    if not where.is_file():
        raise InputError(f"{where}: no such file.")
    records = _checked(where.read_bytes(), where)
    if not records:
        raise InputError(f"{where}: the history is empty.")
    rows = [
        HistoryRow(
            position=position,
            time=record["time"],
            commit=record["commit"],
            eval=one["eval"],
            verdict=one["verdict"],
            margin=one["margin"],
            candidate=Estimate(**one["candidate"]),
            difference=Estimate(**one["difference"]),
        )
        for position, record in enumerate(records, 1)
        for one in record["evals"]
    ]
    return GateHistory(
        rows=tuple(rows), provenance=Provenance({"runs": len(records)}, digest=records[-1]["digest"][:16])
    )


def _checked(content: bytes, where: Path) -> list[dict[str, Any]]:
    """The records of a file, each linked to the one before."""
    records: list[dict[str, Any]] = []
    if content and not content.endswith(b"\n"):
        raise InputError(f"{where}: the last line is not complete. Remove it, or restore the file.")
    for number, line in enumerate(content.splitlines(), 1):
        try:
            record = json.loads(line)
            is_whole = record["digest"] == _digest(record)
            follows = record["previous"] == (records[-1]["digest"] if records else _FIRST)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(f"{where} line {number}: is not a line of a gate's history.") from None
        if not is_whole:
            raise InputError(f"{where} line {number}: was changed after it was written: its digest does not fit.")
        if not follows:
            raise InputError(
                f"{where} line {number}: does not follow the line before it: a line was removed, added or moved."
            )
        records.append(record)
    return records


def _digest(record: dict[str, Any]) -> str:
    rest = {key: value for key, value in record.items() if key != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
