"""Answers of any type analysed by what they are: ratings, categories, comparisons, rankings and spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from scipy.special import stdtr

from howsure.compute import one_blas_thread
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.stats import replicates
from howsure.stats._arrays import Floats
from howsure.stats.components import crossed_mean
from howsure.stats.correlation import kendall_between_rows
from howsure.stats.latent_classes import dawid_skene
from howsure.stats.means import clustered_mean
from howsure.stats.multiplicity import holm
from howsure.stats.ordinal import fit_ordinal
from howsure.stats.paired_comparisons import Strengths, bradley_terry, plackett_luce
from howsure.stats.reliability import (
    Scale,
    agreement_on_categories,
    choose_coefficient,
    reliability_table,
)
from howsure.stats.spans import Span, span_agreement
from howsure.stats.system_differences import system_differences
from howsure.study.agreement import clusters_used, coded, matrix_of, read_ratings
from howsure.study.packet.design import AGAIN
from howsure.study.scoring.exclusions import Rules, broken_rules
from howsure.study.scoring.fidelity import Raters, few_raters, is_pair, rater_effects_of
from howsure.study.verdict import coefficient_words
from howsure.tables import Column, Ratings, Table, Votes
from howsure.tables.frames import parts_of

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.study.item_studies import ItemStudy
    from howsure.tables.frames import Source

__all__ = ["ANSWERS", "AnswerAnalysis", "Rankings", "Spans", "analyze_answers", "mean_rating", "read_answers"]

Answers = Literal["protocol", "ratings", "categories", "comparisons", "rankings", "spans"]
ANSWERS: tuple[Answers, ...] = ("protocol", "ratings", "categories", "comparisons", "rankings", "spans")

_MOST_ORDERED = 11  # different values up to which numbers are also ordered categories


class Rankings(Table):
    """Systems ranked by raters: one row per rater, item and system; rank 1 is the best, equal ranks are ties."""

    columns = (
        Column("rater", "the rater", required=True),
        Column("item", "what the systems answered", required=True),
        Column("system", "the system", required=True),
        Column("rank", "1 is the best; empty: shown and not ranked", "number", low=1),
        Column("dimension", "which question"),
    )
    key = ("rater", "item", "system")
    told_by = ("rater", "item")

    def _key(self) -> tuple[str, ...]:
        return (*self.key, "dimension") if self.has("dimension") else self.key


class Spans(Table):
    """Parts of texts that raters marked: one row per span; a rater who read an item and marked nothing has a row without start and end."""

    columns = (
        Column("rater", "the rater", required=True),
        Column("item", "the text", required=True),
        Column("label", "what was marked"),
        Column("start", "first character, 0 is the first of the text", "whole", low=0),
        Column("end", "the character after the last", "whole", low=1),
        Column("length", "number of characters of the text", "whole", low=1),
        Column("dimension", "which question"),
    )
    told_by = ("rater", "item")


@dataclass(frozen=True, kw_only=True)
class AnswerAnalysis(Result):
    """Answers of one type: systems compared, agreement, raters, and true labels.

    Table ``systems``: one row per dimension, system and category (value with its interval: mean rating, share of the category, or strength in log odds). Table ``differences``: one row per
    pair of systems and method (difference with its interval, p, p_holm). Table ``agreement``: one row per coefficient; ``is_reported`` says which fits scale and
    design. Table ``raters``: severity (how much lower a rater rates than the mean of all, on the latent scale of the ordinal model) or accuracy (probability of
    giving the true category). Table ``exclusions``: one row per rule that a rater broke (rater, rule, measured, limit, reason). Table ``labels``: the probable true category of each item. Table ``confusion``: what each rater gives where a category is true. A
    table without rows is left out.

    Parameters
    ----------
    answers : str
        The type: ratings, categories, comparisons, rankings or spans.
    rows : Mapping[str, pl.DataFrame]
        The tables.
    reasons : Mapping[str, str]
        Dimension → which coefficient of agreement to report, and why.
    sentences : tuple of str
        The result in words.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "answers"
    answers: str
    rows: Mapping[str, pl.DataFrame]
    reasons: Mapping[str, str]
    sentences: tuple[str, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``agreement``, ``systems``, ``differences``, ``raters``, ``labels``, ``confusion`` and ``exclusions``, where they have rows."""
        return dict(self.rows)

    def extreme_raters(self, n_each: int) -> pl.DataFrame:
        """Rows of the table ``raters``: all, or of more than twice ``n_each`` raters those with the lowest and the highest values of each dimension, in their order.

        Parameters
        ----------
        n_each : int
            How many raters from each end.
        """
        rows = self.tables["raters"]
        if rows["rater"].n_unique() <= 2 * n_each:
            return rows
        ordered = [
            part.drop_nulls("value").sort("value", maintain_order=True) for part in rows.partition_by("dimension")
        ]
        return pl.concat([part for one in ordered for part in (one.head(n_each), one.tail(n_each))])

    def as_dict(self) -> dict[str, Any]:
        """The tables, which coefficients to report and why, and the sentences."""
        more = {"answers": self.answers, "reasons": dict(self.reasons), "sentences": list(self.sentences)}
        return super().as_dict() | more

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.study.sections import answer_sections

        return answer_sections(self)

    def charts(self) -> dict[str, Chart]:
        """The charts that the data allow, by file name."""
        from howsure.study.charts import draw_answers

        return draw_answers(self)


def read_answers(source: Any, dimension: str | None = None) -> tuple[Answers | None, Table]:
    """A table of answers of any type, and its type; None for ratings that are numbers without systems.

    Parameters
    ----------
    source : table, frame or path
        Votes (voter, item, a, b, outcome), rankings (rater, item, system, rank), spans (rater, item, start, end) or ratings.
    dimension : str, optional
        The dimension that is wanted, as in `read_ratings`.
    """
    known: dict[type[Table], Answers] = {Votes: "comparisons", Rankings: "rankings", Spans: "spans"}
    for kind, name in known.items():
        if isinstance(source, kind):
            return name, source
    if not isinstance(source, Ratings):
        if isinstance(source, str | Path) and Path(source).is_file():
            from howsure import sources

            if sources.recognise(Path(source)).source == "arena_votes":
                return "comparisons", sources.read(source, wanted="votes")
        parts = parts_of(source)
        names = {name.strip().lower() for name in parts[0].rows.collect_schema().names()} if parts else set()
        if {"a", "b", "outcome"} <= names:
            return "comparisons", Votes.of(source)
        if {"rater", "item", "system", "rank"} <= names:
            return "rankings", Rankings(source)
        if {"rater", "item", "start", "end"} <= names:
            return "spans", Spans(source)
    ratings = read_ratings(source, categories=True, dimension=dimension)
    if ratings.is_categorical:
        return "categories", ratings
    return ("ratings" if ratings.has("system") else None), ratings


@dataclass
class _Found:
    """Rows of the tables, as they are found."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, table: str, **row: Any) -> None:
        self.rows.setdefault(table, []).append(row)

    def agreement(self, dimension: str, coefficients: Mapping[str, Estimate], report: str, sentence: str) -> None:
        self.reasons[dimension] = sentence
        for name, one in coefficients.items():
            is_reported = "yes" if name == report else "no"
            self.add("agreement", dimension=dimension, coefficient=name, **columns_of(value=one), is_reported=is_reported, reason=one.reason or None)  # fmt: skip
        self.sentences.append(f"{dimension}: {coefficient_words(report)} is {coefficients[report]}.")

    def tables(self) -> dict[str, pl.DataFrame]:
        order = ("agreement", "systems", "differences", "raters", "labels", "confusion", "exclusions")
        return {
            name: pl.DataFrame(self.rows[name], infer_schema_length=None, schema_overrides=_numbers(self.rows[name][0]))
            for name in order
            if name in self.rows
        }


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    texts = ("_state", "reason", "category", "system")
    return {name: pl.String for name in row if name.endswith(texts)} | {
        name: pl.Float64
        for name in row
        if name.endswith(("_low", "_high")) or f"{name}_low" in row or name in ("p", "p_holm")
    }


def analyze_answers(
    source: Any,
    *,
    answers: Answers | None = None,
    dimension: str | None = None,
    rater_effects: str | None = None,
    scale: Scale | None = None,
    raters: Raters | Source | None = None,
    study: ItemStudy | None = None,
    rules: Rules | None = None,
    all_raters: bool = False,
    level: float = 0.95,
    notes: Sequence[str] = (),
) -> AnswerAnalysis:
    """Analyse answers by their type.

    ratings
        Means of systems and of the whole, over items and raters; differences between systems at the same items and raters, and by a cumulative logit
        model with random effects of raters, items and their combinations with systems; raters' severity; ICC or ordinal alpha. Where a column
        ``cluster`` groups items, every interval uses it.
    categories
        Shares; differences of shares between systems; nominal agreement; Dawid and Skene's true labels and raters' confusion.
    comparisons, rankings
        Bradley–Terry–Davidson with ties and position, Plackett–Luce; clustered by rater.
    spans
        Agreement by overlap, matched spans, and beyond chance.

    All p values of differences are also given after Holm's correction, over the pairs of one dimension (and all categories).

    Parameters
    ----------
    source : table, frame or path
        The answers, see `read_answers`.
    answers : str, optional
        Their type, where it is not the one that the columns show: ``categories`` for numbers that are codes.
    dimension : str, optional
        Only this one, where there are several.
    rater_effects : {"sampled", "fixed", "unidentified"}, optional
        Who the raters are; by default sampled where raters share items, else unidentified.
    scale : {"nominal", "ordinal", "interval"}, optional
        What ratings are, for the choice of the coefficient of agreement; by default nominal for categories and interval for numbers.
    raters : Raters, frame or path, optional
        One row per rater: minutes, and the shares of questions answered, of attention items right and of the quiz right. Who broke a rule is excluded.
    study : ItemStudy, optional
        Gives the time that the study takes and the pass mark of its quiz; see `howsure.study.scoring.exclusions.broken_rules`.
    rules : Rules, optional
        When a rater is excluded.
    all_raters : bool
        Exclude nobody.
    level : float
        Coverage of the intervals, between 0 and 1.
    notes : sequence of str
        What is already known about the input; the result repeats it.
    """
    kind, table = read_answers(source, dimension)
    chosen = answers or kind or "ratings"
    if chosen not in ANSWERS[1:]:
        raise OptionError.unknown("type of answers", chosen, ANSWERS[1:])
    needed: dict[str, type[Table]] = {"comparisons": Votes, "rankings": Rankings, "spans": Spans}
    if not isinstance(table, needed.get(chosen, Ratings)):
        raise OptionError(f"The table contains {kind or 'ratings'}, not {chosen}.")
    found = _Found(notes=[*notes])
    frames = _by_dimension(table, dimension, found)
    known = None if raters is None else Raters.of(raters)
    if not all_raters:
        frames = _without_excluded(frames, chosen, known, study, rules, found)
    # matrices of raters × raters are too small for several threads, which on a busy machine take ten times the CPU
    with one_blas_thread:
        for name, frame in frames.items():
            if chosen == "comparisons":
                _comparisons(frame, name, level, found)
            elif chosen == "rankings":
                _rankings(frame, name, level, found)
            elif chosen == "spans":
                _spans(frame, name, level, found)
            else:
                _ratings(
                    frame,
                    name,
                    is_category=chosen == "categories",
                    rater_effects=rater_effects,
                    scale=scale,
                    level=level,
                    found=found,
                )
    _tell_differences(found, chosen)
    provenance = Provenance.of(
        table,
        notes=found.notes,
        answers=chosen,
        dimension=dimension,
        rater_effects=rater_effects,
        scale=scale,
        level=level,
        all_raters=all_raters,
    )
    return AnswerAnalysis(
        answers=chosen,
        rows=found.tables(),
        reasons=found.reasons,
        sentences=tuple(found.sentences),
        provenance=provenance,
    )


def _by_dimension(table: Table, wanted: str | None, found: _Found) -> dict[str, pl.DataFrame]:
    """First answers to items, by dimension."""
    is_again = pl.col("item").str.ends_with(AGAIN)
    if "is_repeat" in table.frame.columns:
        is_again |= pl.col("is_repeat").cast(pl.String).str.to_lowercase().is_in(["true", "1"])
    frame = table.frame.filter(~is_again)
    if n_again := len(table.frame) - len(frame):
        found.notes.append(f"{n_again} answers to items that were shown again are excluded: they are not other items.")
    if "dimension" not in frame.columns:
        frame = frame.with_columns(pl.lit("preference" if isinstance(table, Votes) else "answer").alias("dimension"))
    if isinstance(table, Ratings):
        frame = frame.filter(is_pair(), ~pl.col("dimension").is_in(["attention", "comments"]))
    there = frame["dimension"].unique(maintain_order=True).to_list()
    if wanted is not None and wanted not in there:
        raise OptionError.unknown("dimension", wanted, there)
    return {str(name): frame.filter(pl.col("dimension") == name) for name in there if wanted is None or name == wanted}


def _without_excluded(
    frames: dict[str, pl.DataFrame],
    answers: str,
    raters: Raters | None,
    study: ItemStudy | None,
    rules: Rules | None,
    found: _Found,
) -> dict[str, pl.DataFrame]:
    """The answers of raters who broke no rule; who did, and why, is counted."""
    who = "voter" if answers == "comparisons" else "rater"
    given = []
    for frame in frames.values():
        if answers == "rankings":  # an answer is the order of the places on the screen
            slot = pl.col("slot") if "slot" in frame.columns else pl.lit(None, pl.String)
            order = slot.sort_by("rank", "slot" if "slot" in frame.columns else "rank").cast(pl.String)
            answer = order.str.join(">", ignore_nulls=False).alias("answer")
            given.append(frame.group_by("rater", "item", "dimension").agg(answer).drop("item"))
            continue
        column = {"comparisons": "outcome", "spans": None}.get(answers, "value")
        answer = pl.lit(None, pl.String) if column is None else pl.col(column).cast(pl.String)
        given.append(frame.select(pl.col(who).alias("rater"), "dimension", answer.alias("answer")))
    said = pl.concat(given)
    broken = broken_rules(said, raters, study, rules)
    if not broken:
        return frames
    out = {one.rater for one in broken}
    counts = {rule: len({one.rater for one in broken if one.rule == rule}) for rule in dict.fromkeys(one.rule for one in broken)}  # fmt: skip
    n_all, told = said["rater"].n_unique(), ", ".join(f"{rule} {n}" for rule, n in counts.items())
    if len(out) == n_all:
        raise InputError(
            f"All {n_all} raters broke a rule ({told}), so no answers remain. Look at the raters, or analyse all of them (all_raters)."
        )
    for one in broken:
        found.add("exclusions", **vars(one))
    found.sentences.append(f"{len(out)} of {n_all} raters are excluded by rule ({told}).")
    kept = {name: frame.filter(~pl.col(who).is_in(list(out))) for name, frame in frames.items()}
    return {name: frame for name, frame in kept.items() if len(frame)}


# ratings and categories


def _ratings(
    frame: pl.DataFrame,
    name: str,
    *,
    is_category: bool,
    rater_effects: str | None,
    scale: Scale | None,
    level: float,
    found: _Found,
) -> None:
    (table,), names = coded(Ratings(frame))
    of_item, notes = clusters_used(None, table)
    found.notes += [f"{name}: {note}" for note in notes]
    frame, is_category = table.frame, is_category or bool(names)
    values = frame["value"].to_numpy().astype(np.float64)
    categories = [(names[int(code)] if names else f"{code:g}", code) for code in np.unique(values)]
    matrix, items, raters = matrix_of(frame)
    used = rater_effects or rater_effects_of(matrix)
    chosen: Scale = scale or ("nominal" if is_category else "interval")
    commonest = float(np.unique(values, return_counts=True)[1].max() / len(values))
    choice = choose_coefficient(chosen, used, commonest=commonest)  # type: ignore[arg-type]
    clusters = None if of_item is None else [of_item[item] for item in items]
    if len(raters) > 1:
        compute = agreement_on_categories if chosen == "nominal" else reliability_table
        found.agreement(name, compute(matrix, clusters=clusters, level=level), choice.name, choice.sentence)
    systems = frame["system"].unique().sort().to_list() if "system" in frame.columns else [None]
    bounds = (float(values.min()), float(values.max())) if len(categories) > 1 else None
    is_grouped = False
    for system in systems:
        mine = frame if system is None else frame.filter(pl.col("system") == system)
        part, its_items, _ = matrix_of(mine)
        of_part = None if of_item is None else [of_item[item] for item in its_items]
        is_grouped |= of_part is not None and len(set(of_part)) < len(of_part)
        for category, code in categories if is_category else [(None, 0.0)]:
            cells = np.where(np.isnan(part), np.nan, part == code) if is_category else part
            value = mean_rating(cells, of_part, level, (0.0, 1.0) if is_category else bounds)
            found.add("systems", dimension=name, system=system or "all", category=category, statistic="share" if is_category else "mean", **columns_of(value=value), n_ratings=len(mine), n_items=len(part), reason=value.reason or None)  # fmt: skip
    if note := few_raters(len(raters)):
        found.notes.append(f"{name}: {note}")
    if is_grouped:
        found.notes.append(f"{name}: in means and shares every cluster of items counts once for each of its raters.")
    if is_category:
        _true_labels(matrix, items, raters, {code: category for category, code in categories}, name, level, found)
    if len(systems) > 1:
        _compare_systems(frame, categories if is_category else None, name, level, found)
    if not is_category and len(raters) > 1:
        _ordered(frame, name, level, found)


def mean_rating(
    cells: Floats, clusters: Sequence[str] | None, level: float, bounds: tuple[float, float] | None
) -> Estimate:
    """The mean over items (or clusters of items) and raters that both stand for others; over items alone where only one rater is there.

    Where too few ratings link raters with each other for that (such as one rating per item), it is the wider of two: over items, and over raters with
    all of their ratings.

    Parameters
    ----------
    cells : array, items × raters
        Ratings, NaN for gaps; no row or column is empty.
    clusters : sequence, optional
        Which items belong together, one label per item.
    level : float
        Coverage, between 0 and 1.
    bounds : tuple, optional
        The ends of the scale.
    """
    if clusters is not None and len(set(clusters)) < len(clusters):
        labels = np.array(clusters)
        is_given = ~np.isnan(cells)
        parts = [labels == label for label in dict.fromkeys(clusters)]
        counts = np.array([is_given[part].sum(axis=0) for part in parts])
        totals = np.array([np.nansum(cells[part], axis=0) for part in parts])
        cells = np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0)
    has_raters = cells.shape[1] > 1
    if has_raters and len(cells) > 1:
        found = crossed_mean(cells, level=level, bounds=bounds).estimate
        if found.low is not None:
            return found
    counts, totals = (~np.isnan(cells)).astype(np.float64), np.nan_to_num(cells)
    both = [
        clustered_mean(totals.sum(axis=axis), counts.sum(axis=axis), level=level, bounds=bounds).estimate
        for axis in ((1, 0) if has_raters else (1,))
    ]
    return max(both, key=lambda one: -1.0 if one.width is None else one.width)


def _prompts(frame: pl.DataFrame) -> pl.Series:
    """What several systems answered: the cluster, or the item itself where an item has no cluster or two."""
    has_cluster = (
        "cluster" in frame.columns
        and not frame["cluster"].null_count()
        and frame.select("item", "cluster").n_unique() == frame["item"].n_unique()
    )
    return frame["cluster" if has_cluster else "item"]


def _compare_systems(
    frame: pl.DataFrame, categories: Sequence[tuple[str, float]] | None, name: str, level: float, found: _Found
) -> None:
    values, system = frame["value"].to_numpy().astype(np.float64), frame["system"].to_list()
    rows = []
    wanted: Sequence[tuple[str | None, float]] = categories or [(None, 0.0)]
    for category, code in wanted:
        cells = values if category is None else (values == code).astype(np.float64)
        apart = system_differences(cells, system, _prompts(frame).to_list(), frame["rater"].to_list(), level=level)
        rows += [(category, row) for row in apart]
    known = [row.p for _, row in rows if row.p is not None]
    adjusted = iter(holm(known))
    for category, row in rows:
        p_holm = None if row.p is None else float(next(adjusted))
        found.add("differences", dimension=name, a=row.a, b=row.b, category=category, statistic="difference of means" if category is None else "difference of shares", **columns_of(difference=row.difference), p=row.p, p_holm=p_holm, reason=row.difference.reason or None)  # fmt: skip


def _ordered(frame: pl.DataFrame, name: str, level: float, found: _Found) -> None:
    """The cumulative logit model, where values are few and ordered."""
    n_values = frame["value"].n_unique()
    if not 2 <= n_values <= _MOST_ORDERED:
        found.notes.append(
            f"{name}: {n_values} different values; the model of ordered categories is for 2 to {_MOST_ORDERED}."
        )
        return
    random: dict[str, list[Any]] = {"rater": frame["rater"].to_list(), "item": frame["item"].to_list()}
    prompts = _prompts(frame).to_list()
    if 1 < len(set(prompts)) < len(set(random["item"])):
        random["cluster"] = prompts
    group = None
    if "system" in frame.columns and frame["system"].n_unique() > 1:
        group = frame["system"].to_list()
        random["rater × system"] = [f"{rater} × {system}" for rater, system in zip(random["rater"], group, strict=True)]
    fit = fit_ordinal(frame["value"], random, group=group, each="rater", level=level)
    # among so many raters their tastes for systems average out; without clusters a comparison at the same prompts would be lost
    for extra in ("rater × system", "cluster"):
        if isinstance(fit, str) and "levels of random effects" in fit and extra in random:
            found.notes.append(f"{name}: the ordinal model is fitted without random effects of {extra} ({fit}).")
            del random[extra]
            fit = fit_ordinal(frame["value"], random, group=group, each="rater", level=level)
    if isinstance(fit, str):
        found.notes.append(f"{name}: no model of ordered categories ({fit}).")
        return
    adjusted = holm([one.p for one in fit.contrasts])
    for one, p_holm in zip(fit.contrasts, adjusted, strict=True):
        found.add("differences", dimension=name, a=one.a, b=one.b, category=None, statistic="log odds ratio (ordinal model)", **columns_of(difference=one.difference), p=one.p, p_holm=float(p_holm), reason=None)  # fmt: skip
    counts = dict(frame["rater"].value_counts().iter_rows())
    for rater, leniency in fit.effects:
        found.add("raters", dimension=name, rater=rater, statistic="severity (log odds)", **columns_of(value=-leniency), n_ratings=counts[rater])  # fmt: skip
    told = ", ".join(f"{what} {sd:.2f}" for what, sd in fit.sds.items())
    found.notes.append(f"{name}: ordinal model, standard deviations on the latent scale: {told}; residual 1.81.")


def _true_labels(
    matrix: Floats,
    items: list[str],
    raters: list[str],
    names: Mapping[float, str],
    name: str,
    level: float,
    found: _Found,
) -> None:
    fit = dawid_skene(matrix, level=level)
    if isinstance(fit, str):
        found.notes.append(f"{name}: no model of true labels ({fit}); labels are those of most raters.")
        for item, row in zip(items, matrix, strict=True):
            given, counts = np.unique(row[~np.isnan(row)], return_counts=True)
            found.add("labels", dimension=name, item=item, label=names[float(given[counts.argmax()])], probability=None, n_raters=int(counts.sum()))  # fmt: skip
        return
    labels = [names[code] for code in fit.categories]
    for item, row, said in zip(items, fit.posterior, matrix, strict=True):
        at = int(row.argmax())
        found.add("labels", dimension=name, item=item, label=labels[at], probability=float(row[at]), n_raters=int((~np.isnan(said)).sum()))  # fmt: skip
    for place, rater in enumerate(raters):
        n = int((~np.isnan(matrix[:, place])).sum())
        found.add("raters", dimension=name, rater=rater, statistic="accuracy", **columns_of(value=fit.accuracy[place]), n_ratings=n)  # fmt: skip
        for true, row in zip(labels, fit.confusion[place], strict=True):
            for said_label, probability in zip(labels, row, strict=True):
                found.add("confusion", dimension=name, rater=rater, true=true, given=said_label, probability=float(probability))  # fmt: skip
    for label, one in zip(labels, fit.shares, strict=True):
        found.add("systems", dimension=name, system="all", category=label, statistic="share of true labels (Dawid and Skene)", **columns_of(value=one), n_ratings=int((~np.isnan(matrix)).sum()), n_items=len(items), reason=one.reason or None)  # fmt: skip


# comparisons and rankings


def _comparisons(frame: pl.DataFrame, name: str, level: float, found: _Found) -> None:
    both_bad = int((frame["outcome"] == "both_bad").sum())
    if both_bad:
        found.notes.append(f"{both_bad} votes that call both bad are counted as ties.")
    outcome = frame["outcome"].replace("both_bad", "tie").to_list()
    clusters, crossed, unit = _voters(frame, "voter")
    orders = {(a, b) for a, b in frame.select("a", "b").iter_rows()}
    is_turned = any((b, a) in orders for a, b in orders)
    sides = frame["a"].to_list(), frame["b"].to_list()
    fit = bradley_terry(*sides, outcome, clusters=clusters, crossed=crossed, position=is_turned, level=level)
    found.notes.append(f"Intervals of strengths are for {unit}.")
    counts = pl.concat([frame["a"], frame["b"]]).value_counts()
    _strengths(fit, dict(counts.iter_rows()), name, level, found)
    for effect, one in fit.effects.items():
        words = {"position": "advantage of being shown first (log odds)", "tie": "log of Davidson's ν (ties)"}
        found.add("systems", dimension=name, system="all", category=None, statistic=words.get(effect, effect), **columns_of(value=one), n_ratings=len(frame), n_items=frame["item"].n_unique(), reason=one.reason or None)  # fmt: skip
    first = pl.min_horizontal("a", "b")
    code = pl.when(pl.col("outcome").is_in(["tie", "both_bad"])).then(0.0).when((pl.col("outcome") == "a") == (pl.col("a") == first)).then(1.0).otherwise(-1.0)  # fmt: skip
    units = frame.with_columns(pl.format("{}: {} / {}", "item", first, pl.max_horizontal("a", "b")).alias("item"), code.alias("value"), pl.col("voter").alias("rater"))  # fmt: skip
    units = units.unique(["rater", "item"], keep="first", maintain_order=True)
    matrix, *_ = matrix_of(units)
    if ((~np.isnan(matrix)).sum(axis=1) > 1).sum() > 1:
        choice = choose_coefficient("nominal", "sampled", commonest=float((units["value"] == 0).mean() or 0))  # type: ignore[arg-type]
        found.agreement(name, agreement_on_categories(matrix, level=level), choice.name, choice.sentence)
    else:
        found.notes.append("No two voters compared the same answers to the same item, so their agreement is unknown.")


def _rankings(frame: pl.DataFrame, name: str, level: float, found: _Found) -> None:
    wide = frame.with_columns(pl.col("rank").fill_null(float("inf"))).pivot(
        on="system", index=["rater", "item"], values="rank", maintain_order=True
    )
    systems = [one for one in wide.columns if one not in ("rater", "item")]
    ranks = wide.select(systems).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    clusters, crossed, unit = _voters(wide, "rater")
    fit = plackett_luce(ranks, names=systems, clusters=clusters, crossed=crossed, level=level)
    found.notes.append(f"Intervals of strengths are for {unit}.")
    _strengths(fit, dict(frame["system"].value_counts().iter_rows()), name, level, found)
    ordered = np.where(np.isinf(ranks), len(systems) + 1.0, ranks)
    taus = [kendall_between_rows(ordered[(wide["item"] == item).to_numpy()]) for item in wide["item"].unique(maintain_order=True)]  # fmt: skip
    totals = np.array([(np.nansum(one), (~np.isnan(one)).sum()) for one in taus if not np.isnan(one).all()])
    if not len(totals):
        found.notes.append("No two raters ranked the same item, so their agreement is unknown.")
        return
    left = [
        float(rest[0] / rest[1])
        for part in replicates.groups(len(totals))
        if (rest := np.delete(totals, part, axis=0).sum(axis=0))[1]
    ]
    value = float(totals[:, 0].sum() / totals[:, 1].sum())
    tau = replicates.estimate(value, left, level, least=-1.0, most=1.0)
    sentence = "Report the mean Kendall's τ between raters of the same item: ranks have an order and no distances."
    found.agreement(name, {"kendall_tau": tau}, "kendall_tau", sentence)


def _voters(frame: pl.DataFrame, column: str) -> tuple[list[str] | None, list[str] | None, str]:
    """By what comparisons are clustered (those of one voter, those of one item), and the words for it."""
    both = [(f"other {column}s", column), ("other items", "item")]
    # one of them cannot speak of others, and where each has one comparison it is the comparison
    used = [(words, frame[name].to_list()) for words, name in both if 1 < frame[name].n_unique() < len(frame)]
    if not used:
        return None, None, "comparisons, taken as independent"
    labels = [one for _, one in used]
    return labels[0], labels[1] if len(labels) > 1 else None, " and ".join(words for words, _ in used)


def _strengths(fit: Strengths, counts: Mapping[str, int], name: str, level: float, found: _Found) -> None:
    """Strengths, their differences, and Holm's correction."""
    for system in fit.names:
        one = fit.strength(system)
        found.add("systems", dimension=name, system=system, category=None, statistic="strength (log odds)", **columns_of(value=one), n_ratings=counts.get(system), n_items=None, reason=one.reason or None)  # fmt: skip
    rows = []
    for a, b in combinations(fit.names, 2):
        one = fit.difference(a, b)
        p = None
        if one.value is not None and one.width:
            i, j = fit.names.index(a), fit.names.index(b)
            c = fit.covariance
            se = float(np.sqrt(c[i, i] + c[j, j] - 2 * c[i, j]))
            p = float(2 * stdtr(min(fit.df, 1e9), -abs(one.value) / se)) if se else None
        rows.append((a, b, one, p))
    adjusted = iter(holm([p for *_, p in rows if p is not None]))
    for a, b, one, p in rows:
        p_holm = None if p is None else float(next(adjusted))
        found.add("differences", dimension=name, a=a, b=b, category=None, statistic="log odds of preference", **columns_of(difference=one), p=p, p_holm=p_holm, reason=one.reason or None)  # fmt: skip


def _spans(frame: pl.DataFrame, name: str, level: float, found: _Found) -> None:
    spans: dict[str, dict[str, list[Span]]] = {}
    label = frame["label"].fill_null("marked").to_list() if "label" in frame.columns else ["marked"] * len(frame)
    for (item, rater, start, end), what in zip(
        frame.select("item", "rater", "start", "end").iter_rows(), label, strict=True
    ):
        marked = spans.setdefault(item, {}).setdefault(rater, [])
        if (start is None) != (end is None):
            raise InputError(f"Item {item!r}, rater {rater!r}: a span needs start and end, or neither.")
        if start is not None:
            marked.append((int(start), int(end), what))
    lengths = None
    if "length" in frame.columns and not frame["length"].null_count():
        lengths = {
            item: int(size)
            for item, size in frame.select("item", "length")
            .unique("item", keep="first", maintain_order=True)
            .iter_rows()
        }
    else:
        found.notes.append(
            "Lengths of the texts are not given: alpha takes each text to end with its last span, and is then too small."
        )
    got = span_agreement(spans, lengths, level=level)
    sentence = "Report the overlap of characters (Dice's coefficient), and alpha for agreement beyond chance: spans have no fixed units, so raters are compared character by character."
    found.agreement(name, {"span_overlap": got.overlap, "span_matches": got.matches, "span_alpha": got.alpha}, "span_overlap", sentence)  # fmt: skip
    for one, other, value in got.by_pair:
        found.add("raters", dimension=name, rater=f"{one} / {other}", statistic="overlap (Dice)", **columns_of(value=Estimate(value)), n_ratings=got.n_items)  # fmt: skip


def _tell_differences(found: _Found, answers: str) -> None:
    """Which differences are significant after Holm's correction, in words."""
    for (name, statistic), rows in _grouped(found.rows.get("differences", [])):
        known = [row for row in rows if row["p_holm"] is not None]
        if not known:
            continue
        sure = [row for row in known if row["p_holm"] < 0.05]
        told = f"{name}: {len(sure)} of {len(known)} differences between systems are statistically significant (Holm-corrected, 5 %; {statistic})."
        best = max(sure, key=lambda row: abs(row["difference"]), default=None)
        if best:
            high, low = (best["a"], best["b"]) if best["difference"] > 0 else (best["b"], best["a"])
            of = f" for {best['category']}" if best["category"] else ""
            told += f" The largest: {high} above {low}{of}."
        found.sentences.append(told)


def _grouped(rows: Iterable[dict[str, Any]]) -> list[tuple[tuple[str, str], list[dict[str, Any]]]]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["dimension"], row["statistic"]), []).append(row)
    return list(groups.items())
