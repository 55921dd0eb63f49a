"""A study's ratings → what they show: quality, fidelity, agreement, the model beside people, and a verdict on each criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.frames import write_frame
from howsure.results import Provenance, plain, write_json
from howsure.stats._arrays import Floats
from howsure.stats.correlation import coefficient
from howsure.stats.means import mean
from howsure.study.domains import EXPECTED, Order
from howsure.study.facts import known_facts
from howsure.study.fidelity import PFI, Part, Scored, is_pair, score
from howsure.study.findings import Findings, Settings, find, without_raters
from howsure.study.pooling import Design, design_of, row_means
from howsure.study.quality import Quality, Rules, check_raters
from howsure.study.reliability import DESIGNS
from howsure.study.verdict import CRITERIA, Criterion, Judgement, Verdict, judge_all, overall
from howsure.study.wording import sentence_of

if TYPE_CHECKING:
    import altair

    from howsure.study.facts import ModelScores, Raters
    from howsure.study.protocol import Study
    from howsure.tables import Ratings

__all__ = ["Analysis", "RaterRow", "analyze"]


@dataclass(frozen=True)
class RaterRow:
    """How one rater compares with the others: mean PFI, severity (their PFI minus the others', pair by pair), agreement (correlation
    with the others' mean), and the share of right guesses."""

    rater: str
    pfi: float | None
    severity: Estimate
    agreement: float | None
    guess: float | None


@dataclass(frozen=True)
class Analysis:
    """What a study shows.

    ``findings`` are of the raters who broke no rule, ``everyone`` the same figures of all raters; ``judgements`` compare the
    criteria with ``findings``, ``judgements_everyone`` with the others. Where the rules leave no rater, the figures are states and
    every judgement is ``no verdict``. ``sentence`` is what a paper may say.
    """

    findings: Findings
    everyone: Findings
    quality: Quality
    parts: tuple[Part, ...]
    raters: tuple[RaterRow, ...]
    judgements: tuple[Judgement, ...]
    judgements_everyone: tuple[Judgement, ...]
    sentence: str
    provenance: Provenance

    @property
    def verdict(self) -> Verdict:
        """On all criteria together."""
        return overall(self.judgements)

    def to_frame(self) -> pl.DataFrame:
        """One row a figure: name, value, low, high, state, reason, then the same of all raters (value_all, …)."""
        rows = [
            {"name": name, **_cells(one), **_cells(self.everyone.figures.get(name), "_all")}
            for name, one in self.findings.figures.items()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def pairs_frame(self) -> pl.DataFrame:
        """One row a pair: item, domain, n_raters, pfi with its interval, the other scores, model, combined."""
        rows = [
            {"item": row.item, "domain": row.domain, "n_raters": row.n_raters}
            | {PFI: row.pfi.value, "low": row.pfi.low, "high": row.pfi.high, "state": row.pfi.state}
            | {**row.means, "model": row.model, "combined": row.combined}
            for row in self.findings.pairs
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def raters_frame(self) -> pl.DataFrame:
        """One row a rater: what was checked, which rules were broken, and how they compare with the others."""
        rows = []
        for checked, row in zip(self.quality.raters, self.raters, strict=True):
            facts = asdict(checked)
            broken, flags = facts.pop("exclusions"), facts.pop("flags")
            facts |= {"is_excluded": checked.is_excluded, "rules": "; ".join(one["rule"] for one in broken)}
            severity = {"severity": row.severity.value, "low": row.severity.low, "high": row.severity.high}
            own = {PFI: row.pfi, **severity, "agreement": row.agreement, "guess": row.guess}
            rows.append(facts | {"flags": "; ".join(flags)} | own)
        return pl.DataFrame(rows, infer_schema_length=None)

    def as_dict(self) -> dict[str, Any]:
        """One entry a figure, for the raters who count and for all; the verdict on each criterion; exclusions; what made it."""
        told = {
            "figures": _entries(self.findings),
            "figures_all_raters": _entries(self.everyone),
            "verdict": {one.criterion.name: one.verdict for one in self.judgements},
            "verdict_all_raters": {one.criterion.name: one.verdict for one in self.judgements_everyone},
            "overall": self.verdict,
            "criteria": [
                {**vars(one.criterion), **one.estimate.as_dict(), "verdict": one.verdict, "why": one.reason}
                for one in self.judgements
            ],
            "tests": _tests(self.findings),
            "sentence": self.sentence,
            "exclusions": self.quality.exclusions,
            "n_raters": len(self.findings.raters),
            "n_raters_all": len(self.everyone.raters),
            "n_pairs": len(self.findings.pairs),
            "provenance": self.provenance,
        }
        made: dict[str, Any] = plain(told)
        return made

    def charts(self) -> dict[str, altair.LayerChart]:
        """Those that the data allow, by file name."""
        from howsure.study.charts import draw_analysis

        return draw_analysis(self)

    def save(self, folder: Path) -> list[Path]:
        """Write analysis.json, pairs.csv, raters.csv and exclusions.csv."""
        return [
            write_json(self.as_dict(), folder / "analysis.json"),
            write_frame(self.pairs_frame(), folder / "pairs.csv"),
            write_frame(self.raters_frame(), folder / "raters.csv"),
            write_frame(self.quality.exclusions_frame(), folder / "exclusions.csv"),
        ]


def analyze(
    ratings: Ratings,
    *,
    raters: Raters | None = None,
    study: Study | None = None,
    model_scores: ModelScores | None = None,
    criteria: Sequence[Criterion] = CRITERIA,
    order: Order = EXPECTED,
    design: Design | None = None,
    rules: Rules | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Analysis:
    """What a table of ratings shows: ``analyze(Ratings("ratings.csv")).save(Path("out"))``.

    ``raters`` is the table beside the ratings; ``study`` names scales, domains and model scores, ``model_scores`` gives the last two
    alone. ``order`` is the order of domains to expect. ``design`` says who the raters are (sampled, fixed, unidentified); without it,
    raters who share pairs are taken as a sample of possible ones. ``rules`` say whose answers are excluded; every figure is also there
    for all raters.
    """
    if design is not None and design not in DESIGNS:
        raise OptionError.unknown("design", design, DESIGNS)
    scored = score(ratings, study)
    quality = check_raters(ratings, raters, study, rules)
    facts = known_facts(scored.pairs, study, model_scores)
    settings = Settings(design or _design(scored), order, level, seed)
    minutes = {one.rater: one.minutes for one in quality.raters}
    guesses = _guesses(ratings)
    kept = [rater for rater in quality.kept if rater in scored.raters]
    notes = [*scored.notes, *facts.notes, *_notes(quality, kept)]
    everyone = find(scored, guesses, minutes, facts, settings)
    if not kept:
        findings = without_raters(everyone)
    elif len(kept) == len(scored.raters):
        findings = everyone
    else:
        findings = find(scored.of(kept), guesses and guesses.of(kept), minutes, facts, settings)
    judgements = judge_all(findings.figures, criteria, has_raters=bool(kept))
    read = {"raters": raters, "study": study, "model_scores": model_scores}
    made = Provenance.of(
        ratings,
        seed=seed,
        notes=notes,
        level=level,
        design=settings.design,
        order=str(order),
        rules=asdict(quality.rules),
        criteria=[f"{one.name}: {one}" for one in criteria],
        **{name: one.digest[:16] for name, one in read.items() if one is not None},
    )
    rows = tuple(_rater(scored, guesses, one.rater, kept, level) for one in quality.raters)
    sentence = sentence_of(findings, judgements, n_all=len(quality.raters))
    return Analysis(
        findings,
        everyone,
        quality,
        scored.parts,
        rows,
        judgements,
        judge_all(everyone.figures, criteria, has_raters=bool(kept)),
        sentence,
        made,
    )


def _design(scored: Scored) -> Design:
    return design_of(scored.matrix(PFI if PFI in scored.figures else scored.figures[0]))


def _guesses(ratings: Ratings) -> Scored | None:
    rows = ratings.frame.filter(is_pair(), pl.col("dimension") == "guess")
    return Scored(rows.select("rater", "item", guess="value"), ()) if len(rows) else None


def _notes(quality: Quality, kept: list[str]) -> list[str]:
    if not kept:
        return ["Every rater was excluded by rule, so there is no verdict; exclusions.csv says why."]
    n_out = len(quality.raters) - len(kept)
    return [f"{n_out} of {len(quality.raters)} raters are excluded by rule; exclusions.csv says why."] if n_out else []


def _rater(scored: Scored, guesses: Scored | None, rater: str, kept: list[str], level: float) -> RaterRow:
    """One rater against the others who count; against all others where nobody does."""
    told = None
    if guesses is not None and rater in guesses.raters:
        told = _plain(guesses.frame.filter(pl.col("rater") == rater)["guess"].mean())
    if rater not in scored.raters or PFI not in scored.figures:
        nothing = Estimate.without("too_few", "no pair with all parts of the index", level=level)
        return RaterRow(rater, None, nothing, None, told)
    table, names = scored.matrix(PFI), scored.raters
    is_other = [name != rater and (name in kept or not kept) for name in names]
    own, others = table[:, names.index(rater)], row_means(table[:, is_other])
    is_both = ~np.isnan(own + others)
    severity = mean(own[is_both] - others[is_both], level=level, bounds=None).estimate
    return RaterRow(rater, _mean(own), severity, _plain(coefficient(own[is_both], others[is_both])), told)


def _mean(values: Floats) -> float | None:
    return _plain(row_means(values[None, :])[0])


def _plain(number: Any) -> float | None:
    """A number, or None for what is none."""
    return None if number is None or np.isnan(number) else float(number)


def _cells(estimate: Estimate | None, end: str = "") -> dict[str, Any]:
    if estimate is None:
        estimate = Estimate.without("undefined", "not known of these raters")
    told = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {
        f"{name}{end}": value for name, value in {**told, "state": estimate.state, "reason": estimate.reason}.items()
    }


def _entries(findings: Findings) -> list[dict[str, Any]]:
    return [{"name": name, **one.as_dict()} for name, one in findings.figures.items()]


def _tests(findings: Findings) -> Mapping[str, Any]:
    """The p-values that go with figures."""
    model, domains = findings.model, findings.domains
    correlations = {name: {"p": one.p, "n": one.n} for name, one in model.correlations.items()} if model else {}
    orders = {"domain_order_by_pair": domains.by_pair, "domain_order_by_rater": domains.by_rater}
    more = {"critical_r": model.critical, "noise_ceiling_from": model.ceiling_from} if model else {}
    return {**correlations, **{name: one for name, one in orders.items() if one}, **more}
