"""A study's ratings → what they show: quality, fidelity, agreement, the model beside people, and a verdict on each criterion."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of, plain
from howsure.stats._arrays import Floats
from howsure.stats.correlation import coefficient
from howsure.stats.means import mean
from howsure.stats.reliability import Scale
from howsure.study.agreement import RATER_EFFECTS
from howsure.study.answer_types import ANSWERS, AnswerAnalysis, Answers, analyze_answers, read_answers
from howsure.study.inputs import check_type, raters_beside
from howsure.study.item_studies import ItemStudy, study_of
from howsure.study.protocol import DEFAULT_DIMENSIONS, Study
from howsure.study.scoring.exclusions import CheckedRater, Quality, Rules, check_raters
from howsure.study.scoring.fidelity import (
    PFI,
    ModelScores,
    RaterEffects,
    Raters,
    Scored,
    ScoredDimension,
    few_raters,
    is_pair,
    pair_data_of,
    rater_effects_of,
    row_means,
    score,
)
from howsure.study.scoring.findings import EXPECTED, Findings, Order, ScoringSettings, find, without_raters
from howsure.study.verdict import CRITERIA, Criteria, Judgement, Verdict, criteria_of, judge_all, overall, sentence_of
from howsure.tables import Ratings, Table

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

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


@dataclass(frozen=True, kw_only=True)
class Analysis(Result):
    """Results of a rating study.

    The table ``statistics`` has one row per statistic: statistic, value, value_low, value_high, value_state, reason, then the same for all raters (value_all, …). ``pairs`` has one row per pair: item, domain, n_raters, pfi with its interval, the other scores, model, combined. ``raters`` has one row per rater: what was checked, which rules were broken, and the comparison with the other raters. ``exclusions`` has one row per broken rule: rater, rule, measured, limit, reason.

    If the rules exclude every rater, the statistics are states and every judgement is ``no verdict``.

    Parameters
    ----------
    findings : Findings
        Statistics of the included raters.
    everyone : Findings
        The same statistics of all raters.
    quality : Quality
        Checks of each rater, and the rules.
    parts : tuple[ScoredDimension, ...]
        The dimensions of the index.
    raters : tuple[RaterRow, ...]
        One entry per rater.
    judgements : tuple[Judgement, ...]
        The criteria compared with ``findings``.
    judgements_everyone : tuple[Judgement, ...]
        The criteria compared with ``everyone``.
    sentence : str
        The result in words, for a paper.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "analysis"
    findings: Findings
    everyone: Findings
    quality: Quality
    parts: tuple[ScoredDimension, ...]
    raters: tuple[RaterRow, ...]
    judgements: tuple[Judgement, ...]
    judgements_everyone: tuple[Judgement, ...]
    sentence: str
    provenance: Provenance

    @property
    def verdict(self) -> Verdict:
        """On all criteria together."""
        return overall(self.judgements)

    @property
    def has_exclusions(self) -> bool:
        """Whether some raters are excluded, so that the statistics of all raters differ."""
        return self.findings.raters != self.everyone.raters

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``statistics``, ``pairs``, ``raters`` and ``exclusions``."""
        rows = {
            "statistics": [self._statistic(name, one) for name, one in self.findings.statistics.items()],
            "pairs": [
                {"item": row.item, "domain": row.domain, "n_raters": row.n_raters}
                | columns_of(pfi=row.pfi)
                | {**row.means, "model": row.model, "combined": row.combined}
                for row in self.findings.pairs
            ],
            "raters": [
                _checked(checked)
                | {PFI: row.pfi}
                | columns_of(severity=row.severity)
                | {"agreement": row.agreement, "guess": row.guess}
                for checked, row in zip(self.quality.raters, self.raters, strict=True)
            ],
        }
        frames = {name: pl.DataFrame(inner, infer_schema_length=None) for name, inner in rows.items()}
        return {**frames, "exclusions": self.quality.exclusions_frame()}

    def _statistic(self, name: str, one: Estimate) -> dict[str, Any]:
        of_all = self.everyone.statistics.get(name, _UNKNOWN)
        return (
            {"statistic": name}
            | columns_of(value=one)
            | {"reason": one.reason}
            | columns_of(value_all=of_all)
            | {"reason_all": of_all.reason}
        )

    def as_dict(self) -> dict[str, Any]:
        """The tables, the verdict on each criterion, the tests, the sentence and the numbers of raters and pairs."""
        more: dict[str, Any] = plain(
            {
                "verdict": {one.criterion.name: one.verdict for one in self.judgements},
                "verdict_all": {one.criterion.name: one.verdict for one in self.judgements_everyone},
                "overall": self.verdict,
                "criteria": [
                    {
                        **vars(one.criterion),
                        "estimate": one.estimate,
                        "verdict": one.verdict,
                        "p": one.p,
                        "reason": one.reason,
                    }
                    for one in self.judgements
                ],
                "tests": _tests(self.findings),
                "sentence": self.sentence,
                "n_raters": len(self.findings.raters),
                "n_raters_all": len(self.everyone.raters),
                "n_pairs": len(self.findings.pairs),
            }
        )
        return super().as_dict() | more

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.study.sections import study_sections

        return study_sections(self)

    def charts(self) -> dict[str, Chart]:
        """The charts that the data allow, by file name."""
        from howsure.study.charts import draw_analysis

        return draw_analysis(self)


_UNKNOWN = Estimate.without("undefined", "not known of these raters")


def _checked(rater: CheckedRater) -> dict[str, Any]:
    """What is known of one rater, as columns."""
    known = asdict(rater)
    broken, flags = known.pop("exclusions"), known.pop("flags")
    rules = "; ".join(one["rule"] for one in broken)
    return {**known, "is_excluded": rater.is_excluded, "rules": rules, "flags": "; ".join(flags)}


def analyze(
    ratings: Table | Source,
    *,
    answers: Answers | None = None,
    dimension: str | None = None,
    scale: Scale | None = None,
    raters: Raters | Source | None = None,
    study: Study | ItemStudy | str | os.PathLike[str] | None = None,
    model_scores: ModelScores | Source | None = None,
    criteria: Criteria = CRITERIA,
    domain_order: Order | str = EXPECTED,
    rater_effects: RaterEffects | None = None,
    rules: Rules | None = None,
    all_raters: bool = False,
    level: float = 0.95,
    seed: int = 0,
) -> Analysis | AnswerAnalysis:
    """What a table of answers shows: ``analyze("ratings.csv", study="study.yaml").save("out")``.

    Ratings of the protocol (with a study, with model scores, or with its dimensions) are scored by the persona fidelity index and compared with the criteria. All
    other answers are analysed by their type; see `howsure.study.answer_types.analyze_answers`.

    Parameters
    ----------
    ratings : table, frame or path
        Ratings (one row per rater, item and dimension; numbers or categories), votes (voter, item, a, b, outcome), rankings (rater, item, system, rank) or
        spans (rater, item, start, end).
    answers : {"protocol", "ratings", "categories", "comparisons", "rankings", "spans"}, optional
        The type of the answers; recognised by default.
    dimension : str, optional
        Only this dimension; not for the protocol.
    scale : {"nominal", "ordinal", "interval"}, optional
        What ratings are, for the choice of the coefficient of agreement; not for the protocol.
    raters : Raters, frame or path, optional
        One row per rater: minutes, shares of questions answered, of the quiz and of attention items right. By default ``raters.csv`` in the folder of the ratings, if these are a
        path and the file is there; a note names it.
    study : Study, ItemStudy or path, optional
        Names scales, domains and model scores; of a study of any other type, the time that it takes and the pass mark.
    model_scores : ModelScores, frame or path, optional
        The model's score of each pair, and its domain; overrides those of the study.
    criteria : sequence of Criterion or str, or path
        What the statistics must reach: lines such as ``"pfi >= 0.75"``, or a YAML file of them. With an empty list no criterion is checked.
    domain_order : Order or str
        Domains from the highest expected fidelity to the lowest, such as ``"TECH > ANAL > PHIL = SELF > NARR"``.
    rater_effects : {"sampled", "fixed", "unidentified"}, optional
        Who the raters are; by default a sample of possible raters where raters share pairs, else unidentified.
    rules : Rules, optional
        When a rater is excluded. Every statistic of the protocol is also given for all raters.
    all_raters : bool
        Exclude nobody; not for the protocol.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        Seed of the permutation tests.

    Returns
    -------
    Analysis or AnswerAnalysis
        Of the protocol: statistics, pairs, raters, exclusions, and a verdict on each criterion. Of other answers: systems, differences, agreement, raters.
    """
    if answers is not None and answers not in ANSWERS:
        raise OptionError.unknown("type of answers", answers, ANSWERS)
    study = None if study is None else study_of(study)
    criteria = criteria_of(criteria, may_be_none=True)
    check_type("domain_order", domain_order, (str, Order), "an Order or a text such as 'TECH > ANAL > NARR'")
    check_type("rules", rules, (Rules, type(None)), "Rules or None")
    beside = raters_beside(ratings) if raters is None else None
    found_notes = [f"Information about raters is read from {beside}, beside the ratings."] if beside else []
    raters = beside if raters is None else raters
    kind, table = read_answers(ratings, dimension)
    items = study if isinstance(study, ItemStudy) else None
    study = study if isinstance(study, Study) else None
    has_protocol = study is not None or model_scores is not None or _has_protocol(table)
    if (answers or ("protocol" if kind is None and has_protocol else kind or "ratings")) != "protocol":
        return analyze_answers(
            table,
            answers=answers,
            dimension=dimension,
            rater_effects=rater_effects,
            scale=scale,
            raters=raters,
            study=items,
            rules=rules,
            all_raters=all_raters,
            level=level,
            notes=found_notes,
        )
    if not isinstance(table, Ratings):
        raise OptionError(f"The table contains {kind}, not ratings of the protocol.")
    ratings = table.numeric()
    raters = None if raters is None else Raters.of(raters)
    model_scores = None if model_scores is None else ModelScores.of(model_scores)
    order = Order.parse(domain_order) if isinstance(domain_order, str) else domain_order
    if rater_effects is not None and rater_effects not in RATER_EFFECTS:
        raise OptionError.unknown("rater effects", rater_effects, RATER_EFFECTS)
    scored = score(ratings, study)
    quality = check_raters(ratings, raters, study, rules)
    known = pair_data_of(scored.pairs, study, model_scores)
    settings = ScoringSettings(rater_effects or _rater_effects(scored), order, level, seed)
    minutes = {one.rater: one.minutes for one in quality.raters}
    guesses = _guesses(ratings)
    kept = [rater for rater in quality.kept if rater in scored.raters]
    notes = [*found_notes, *scored.notes, *known.notes, *_notes(quality, kept)]
    if settings.rater_effects == "sampled" and (note := few_raters(len(kept))):
        notes.append(note)
    everyone = find(scored, guesses, minutes, known, settings)
    if not kept:
        findings = without_raters(everyone)
    elif len(kept) == len(scored.raters):
        findings = everyone
    else:
        findings = find(scored.of(kept), guesses and guesses.of(kept), minutes, known, settings)
    judgements = judge_all(findings.statistics, criteria, has_raters=bool(kept), p_values=findings.p_values)
    read = {"raters": raters, "study": study, "model_scores": model_scores}
    provenance = Provenance.of(
        ratings,
        seed=seed,
        notes=notes,
        level=level,
        rater_effects=settings.rater_effects,
        domain_order=str(order),
        rules=asdict(quality.rules),
        criteria=[f"{one.name}: {one}" for one in criteria],
        **{name: one.digest[:16] for name, one in read.items() if one is not None},
    )
    rows = tuple(_rater(scored, guesses, one.rater, kept, level) for one in quality.raters)
    sentence = sentence_of(findings, judgements, n_all=len(quality.raters))
    return Analysis(
        findings=findings,
        everyone=everyone,
        quality=quality,
        parts=scored.parts,
        raters=rows,
        judgements=judgements,
        judgements_everyone=judge_all(everyone.statistics, criteria, has_raters=bool(kept), p_values=everyone.p_values),
        sentence=sentence,
        provenance=provenance,
    )


def _has_protocol(table: Table) -> bool:
    """Whether some dimension is one of the default protocol's, or is about the target or the comparison response."""
    known = {name for one in DEFAULT_DIMENSIONS for name in (one.name, *one.rated)}
    ends = (":target", ":comparison", ":preferred")
    names: list[Any] = table.frame["dimension"].unique().to_list() if "dimension" in table.frame.columns else []
    return any(name in known or str(name).endswith(ends) for name in names)


def _rater_effects(scored: Scored) -> RaterEffects:
    return rater_effects_of(scored.matrix(PFI if PFI in scored.statistics else scored.statistics[0]))


def _guesses(ratings: Ratings) -> Scored | None:
    rows = ratings.frame.filter(is_pair(), pl.col("dimension") == "guess")
    return Scored(rows.select("rater", "item", guess="value"), ()) if len(rows) else None


def _notes(quality: Quality, kept: list[str]) -> list[str]:
    if not kept:
        return ["Every rater was excluded by rule, so there is no verdict; exclusions.csv says why."]
    n_out = len(quality.raters) - len(kept)
    return [f"{n_out} of {len(quality.raters)} raters are excluded by rule; exclusions.csv says why."] if n_out else []


def _rater(scored: Scored, guesses: Scored | None, rater: str, kept: list[str], level: float) -> RaterRow:
    """One rater against the others who are included; against all others where nobody does."""
    told = None
    if guesses is not None and rater in guesses.raters:
        told = _plain(guesses.frame.filter(pl.col("rater") == rater)["guess"].mean())
    if rater not in scored.raters or PFI not in scored.statistics:
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


def _tests(findings: Findings) -> Mapping[str, Any]:
    """The p-values that go with statistics."""
    model, domains = findings.model, findings.domains
    correlations = {name: {"p": one.p, "n": one.n} for name, one in model.correlations.items()} if model else {}
    orders = {"domain_order_by_pair": domains.by_pair, "domain_order_by_rater": domains.by_rater}
    more = {"critical_r": model.critical, "noise_ceiling_from": model.ceiling_from} if model else {}
    return {**correlations, **{name: one for name, one in orders.items() if one}, **more}
