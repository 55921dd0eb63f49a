"""The front door: what is in some logs, which differences they support, which stay open, and what to be careful about."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.estimates import Estimate, stated
from howsure.evals.comparison import Comparison, Difference, compare
from howsure.evals.item_means import ALL, default_cluster
from howsure.evals.planning import items_to_decide
from howsure.evals.summaries import Summary, summary
from howsure.evals.variants import levels_of, named, numbered, varying_factors
from howsure.results import Provenance, Result, columns_of
from howsure.tables import Attempts
from howsure.tables.outcomes import MISSING, OUTCOMES, counted_text

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Block, Section
    from howsure.tables.frames import Source

__all__ = ["AutomaticClaim", "EvalContent", "LogOverview", "LogWarning", "claims_of", "overview"]

_SATURATED, _TOO_HARD = 0.9, 0.1  # of the highest mean's interval: the end that must be beyond
_JUDGES = re.compile(r"model_graded|judge|grader|graded_by|rubric|llm", re.IGNORECASE)
_OF_MODELS = {"organisation", "organization", "provider", "vendor", "released", "version", "model_name", "base_url"}
_MOST_LEVELS = 50
_MOST_NAMES = 6
_MOST_CLAIMS = 20  # in a chart
_FARTHEST = 20  # times the items: with more, two models are as good as equal here
_KINDS = {"model": "model", "human": "human subject", "baseline": "baseline"}
_MANY = 6  # models: from here on pairs are summed up


@dataclass(frozen=True, kw_only=True)
class AutomaticClaim:
    """ "a is better than b", tested with all other pairs together.

    ``verdict`` is ``supported`` where the corrected p-value is below 1 − level, else ``not decided``; ``not tested`` where there is no test.
    ``items_needed`` is the number of items like these that would support it, if the true difference is as observed. ``turns_on`` names the way to count
    attempts without a score under which it is not supported, where it would be without them; ``n_missing`` is the number of these attempts.
    """

    a: str
    b: str
    task: str
    held: str
    verdict: str
    difference: Estimate
    p_adjusted: float | None
    test: str
    n_items: int
    items_needed: Estimate
    turns_on: str = ""
    n_missing: int = 0

    @property
    def where(self) -> str:
        """On which tasks, and at which configuration, where that must be said."""
        told = [f"on {self.task}"] if self.task != ALL else []
        return " ".join([*told, *([f"with {self.held}"] if self.held else [])])

    @property
    def sentence(self) -> str:
        """The claim, its verdict and the evidence."""
        where = f" {self.where}" if self.where else ""
        if self.verdict == "not tested":
            return f"{self.a} and {self.b}{where}: not tested ({self.difference.reason or 'no test'})."
        evidence = f"{self.difference}, {stated('p', self.p_adjusted or 0.0)}"
        if self.verdict == "supported":
            return f"{self.a} is better than {self.b}{where}: {evidence}."
        return f"Whether {self.a} is better than {self.b}{where}: {evidence}."

    @property
    def to_decide(self) -> str:
        """What would decide an open claim."""
        if self.verdict == "supported":
            return ""
        if self.turns_on:
            return f"run the {self.n_missing:,} attempts without a score again: with {self.turns_on} the claim is not supported"
        if self.items_needed.value is None:
            return f"items needed: {self.items_needed}"
        return f"about {self.items_needed.value:,.0f} items like these (now {self.n_items:,}), if the true difference is as observed"


@dataclass(frozen=True, kw_only=True)
class EvalContent:
    """What one subject did on one eval: the number of attempts, and how many of them had which outcome. Cost and tokens are sums; None where the logs have none."""

    subject: str
    kind: str
    eval: str
    n: int
    n_items: int
    mean: Estimate
    n_scored: int
    n_errored: int
    n_refused: int
    n_unscored: int
    n_limit: int
    n_absent: int
    cost: float | None
    tokens: float | None


@dataclass(frozen=True, kw_only=True)
class LogWarning:
    """Something that may change what the numbers mean, and what to do about it."""

    kind: str
    text: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class LogOverview(Result):
    """What some logs contain and what may be claimed from them.

    Table ``overview``: one row per claim "a is better than b".

    =================  ==================================================================================================
    a, b               the two models, or the two values of another factor; a has the better mean
    task               the eval, or ``all``
    held               other factors that vary, and the value that both have
    verdict            supported, not decided, or not tested
    difference         mean of a minus mean of b, with its own interval and state
    p_adjusted         p-value of no difference, Holm-corrected for all claims
    test               the test that gave it
    n_items            number of items that both tried
    items_needed       items like these that would decide it, if the true difference is as observed, with interval and state
    turns_on           the way to count attempts without a score under which it is not supported, where it would be without them
    n_missing          attempts of the two without a score, and items that one of them lacks
    =================  ==================================================================================================

    Table ``contents``, one row per model and eval: subject, kind (model, human or baseline), eval, n (attempts), n_items, mean (with interval and state), n_scored,
    n_errored, n_refused, n_unscored, n_limit, n_absent, cost, tokens. Table ``warnings``: kind, text, advice; the most serious first.

    Parameters
    ----------
    claims : tuple[AutomaticClaim, ...]
        One entry per pair, the smallest p-value first.
    contents : tuple[EvalContent, ...]
        One entry per model and eval.
    warnings : tuple[LogWarning, ...]
        The most serious first.
    means : Summary
        Means of all models.
    comparison : Comparison, optional
        All differences; None where there is nothing to compare.
    n_items : int
        Number of items that any model tried.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "overview"
    claims: tuple[AutomaticClaim, ...]
    contents: tuple[EvalContent, ...]
    warnings: tuple[LogWarning, ...]
    means: Summary
    comparison: Comparison | None
    n_items: int
    provenance: Provenance

    @property
    def supported(self) -> list[AutomaticClaim]:
        """The claims that the data support, the smallest p-value first."""
        return [claim for claim in self.claims if claim.verdict == "supported"]

    @property
    def undecided(self) -> list[AutomaticClaim]:
        """The claims that the data do not decide, or that could not be tested; those about the best models first."""
        place = {name: number for number, name in enumerate(self._ranked())}
        return sorted(
            (claim for claim in self.claims if claim.verdict != "supported"), key=lambda c: place[c.a] + place[c.b]
        )

    @property
    def first_two(self) -> AutomaticClaim | None:
        """The claim about the two that are better than most; None where there is none."""
        best = self._ranked()[:2]
        return next((claim for claim in self.claims if {claim.a, claim.b} == set(best)), None)

    @property
    def standings(self) -> list[str]:
        """Where pairs are too many to read: how many others each of the three with the most wins is better than."""
        ranked = self._ranked()
        if len(ranked) < _MANY or any(claim.held or claim.task != ALL for claim in self.claims):
            return []
        told = []
        for name in ranked[:3]:
            pairs = [claim for claim in self.claims if name in (claim.a, claim.b)]
            n_better = sum(claim.verdict == "supported" and claim.a == name for claim in pairs)
            rest = [claim.b if claim.a == name else claim.a for claim in pairs if claim.verdict != "supported"]
            rest.sort(key=ranked.index)
            more = f" and {len(rest) - 3:,} more" if len(rest) > 3 else ""
            is_open = f"; not decided against {', '.join(rest[:3])}{more}" if rest else ""
            following = ranked[ranked.index(name) + 1]
            ahead = next((c for c in pairs if c.verdict == "supported" and (c.a, c.b) == (name, following)), None)
            by = f", of which {following} is next ({ahead.difference})" if ahead else ""
            told.append(f"{name} is better than {n_better:,} of the {len(pairs):,} others{by}{is_open}.")
        return told

    @property
    def shown_claims(self) -> list[AutomaticClaim]:
        """The claims for a chart: all, or where there are too many to read, those about the one with the most wins."""
        known = [claim for claim in self.claims if claim.difference.value is not None]
        if not self.standings or len(known) <= _MOST_CLAIMS:
            return known[:_MOST_CLAIMS]
        place = {name: number for number, name in enumerate(self._ranked())}
        about = [claim for claim in known if min(place[claim.a], place[claim.b]) == 0]
        return sorted(about, key=lambda c: place[c.a] + place[c.b])[:_MOST_CLAIMS]

    @property
    def holdings(self) -> str:
        """What is in the logs, in plain sentences."""
        subjects = {row.subject: row.kind for row in self.contents}
        by_kind = {word: [name for name, kind in subjects.items() if kind == own] for own, word in _KINDS.items()}
        evals = list(dict.fromkeys(row.eval for row in self.contents if row.eval != ALL))
        n, n_tries = sum(row.n for row in self.contents), sum(row.n_items for row in self.contents)
        repeats = n / n_tries
        told = [
            *(_counted(names, word) for word, names in by_kind.items() if names),
            *([_counted(evals, "eval")] if evals else []),
            f"{self.n_items:,} item{'' if self.n_items == 1 else 's'}",
            f"{n:,} attempt{'' if n == 1 else 's'} ({f'{repeats:,.0f}' if repeats >= 100 else f'{repeats:.3g}'} per item and model)",
        ]
        counts = {outcome: sum(getattr(row, f"n_{outcome}") for row in self.contents) for outcome in MISSING}
        n_missing = sum(counts.values())
        also = [
            f"{n_missing:,} of them have no score ({counted_text(counts)})" if n_missing else "All of them have a score"
        ]
        for what, before in (("cost", "$"), ("tokens", "")):
            known = [getattr(row, what) for row in self.contents if getattr(row, what) is not None]
            if known:
                also.append(f"{what}: {before}{sum(known):,.{2 if before else 0}f}")
        return f"{', '.join(told)}. {'; '.join(also)}."

    @property
    def mean_lines(self) -> list[str]:
        """The mean of each model on each eval, as a sentence."""
        told = []
        for row in self.means.rows:
            where = "" if row.task == ALL else f" on {row.task}"
            is_bare = row.mean.value is not None and row.mean.low is None
            mean = f"{row.mean.value:.3g} (no interval: {row.mean.reason or 'too few items'})" if is_bare else row.mean
            told.append(f"{row.subject}{where}: mean {mean}.")
        return told

    @property
    def tested(self) -> str:
        """How many claims are supported, and what is corrected for their number."""
        level = self.provenance.settings["level"]
        n = len(self.claims)
        return f"{len(self.supported):,} of {n:,} claim{'' if n == 1 else 's'}; p values are corrected for all of them (Holm, {1 - level:.0%}), intervals are not"

    @property
    def caveat(self) -> str:
        """The most serious warning, or what the intervals assume."""
        if self.warnings:
            return self.warnings[0].text
        cluster = self.provenance.settings["cluster"]
        return f"The intervals are about items like these; items of different clusters ({cluster}) are taken as independent."

    @property
    def next_step(self) -> str:
        """What to do next: collect what would decide the closest open claim, or settle the most serious warning."""
        open_claims = [claim for claim in self.undecided if claim.items_needed.value is not None]
        if turning := [claim for claim in self.undecided if claim.turns_on]:
            return f"To decide between {turning[0].a} and {turning[0].b}: {turning[0].to_decide}."
        if open_claims:
            first = open_claims[0]
            within = [c for c in open_claims if (c.items_needed.value or 0.0) <= _FARTHEST * c.n_items]
            if first not in within[:1]:
                told = (
                    f"{first.a} and {first.b} are too close to decide between them on this eval: {first.to_decide}. "
                    "Choose by cost, or on harder items."
                )
                return (
                    f"{told} To decide between {within[0].a} and {within[0].b}: {within[0].to_decide}."
                    if within
                    else told
                )
            return f"To decide between {first.a} and {first.b}: {first.to_decide}."
        if self.warnings:
            return self.warnings[0].advice
        if not self.claims:
            return "Add the logs of another model: howsure overview OLD NEW."
        if self.undecided:
            first = self.undecided[0]
            return f"{first.a} and {first.b} are not decided, and the number of items that would decide is not known from these data: {first.items_needed.reason}."
        return "Every pair is decided: no more items are needed to order these models on this eval."

    def _ranked(self) -> list[str]:
        """All sides of claims, those who win most often first."""
        wins: dict[str, int] = {}
        for claim in self.claims:
            wins[claim.a] = wins.get(claim.a, 0) + 1
            wins.setdefault(claim.b, 0)
        return sorted(wins, key=lambda name: -wins[name])

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables ``overview``, ``contents`` and ``warnings``."""
        claims = [
            {"a": c.a, "b": c.b, "task": c.task, "held": c.held, "verdict": c.verdict}
            | columns_of(difference=c.difference)
            | {"p_adjusted": c.p_adjusted, "test": c.test, "n_items": c.n_items}
            | columns_of(items_needed=c.items_needed)
            | {"turns_on": c.turns_on, "n_missing": c.n_missing}
            for c in self.claims
        ]
        contents = [
            {"subject": row.subject, "kind": row.kind, "eval": row.eval, "n": row.n, "n_items": row.n_items}
            | columns_of(mean=row.mean)
            | {f"n_{outcome}": getattr(row, f"n_{outcome}") for outcome in OUTCOMES}
            | {"cost": row.cost, "tokens": row.tokens}
            for row in self.contents
        ]
        schema = {"a": pl.String, "b": pl.String, "task": pl.String, "held": pl.String, "verdict": pl.String}
        empty = pl.DataFrame(schema=schema)
        warned = [vars(one) for one in self.warnings]
        return {
            "overview": pl.DataFrame(claims, infer_schema_length=None) if claims else empty,
            "contents": pl.DataFrame(contents, infer_schema_length=None),
            "warnings": pl.DataFrame(warned, schema={"kind": pl.String, "text": pl.String, "advice": pl.String}),
        }

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.evals.sections import overview_sections

        return overview_sections(self)

    def opening(self) -> list[Block]:
        """What is in the logs, in one paragraph."""
        from howsure.results.blocks import Text

        return [Text(self.holdings)]

    def charts(self) -> dict[str, Chart]:
        """``overview``, where there are claims: their differences; ``summary``: the means of all models."""
        from howsure.evals.charts import draw_claims

        claims = {"overview": draw_claims(self)} if self.claims else {}
        return claims | {"summary": self.means.chart()}


@checked
def overview(
    attempts: Attempts | Source,
    *,
    by: str | None = None,
    cluster: str | None = None,
    level: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> LogOverview:
    """Contents of these attempts, differences that they support, differences that they do not decide, and warnings.

    Every pair of models gives one claim "a is better than b", where a has the better mean. All of them are tested with `compare`
    and corrected together (Holm), so the probability that any supported claim is wrong is at most 1 − ``level``. Where there is one model,
    the values of the factor that varies are compared. Attempts without a score are counted in every defensible way: a claim is supported only if it
    is so in all of them. Items needed are counted with `howsure.stats.power` at the level that Holm's first
    step asks of the open claims.

    Parameters
    ----------
    attempts : Attempts, frame or path
        One row per attempt: an `Attempts` table, a polars, pandas or pyarrow frame with its columns, or a file or folder.
    by : {"all", "domain"}, optional
        One claim per pair over all evals, or one per pair and eval. Without it, ``all`` where there are evals that all models tried.
    cluster : {"task", "family", "domain", "none"}, optional
        Items of one cluster are not independent: by default those of one family, where there are families, else each task is its own.
    level : float, default 0.95
        Coverage of the intervals; 1 − level is the probability of any wrong claim.
    power : float, default 0.8
        Probability with which ``items_needed`` items decide a claim.
    seed : int, default 0
        For the random sign flips of the tests. The same seed gives the same numbers.
    progress : callable, optional
        Called with the number of finished pairs and of all pairs.

    Returns
    -------
    LogOverview
        Tables ``overview`` (the claims), ``contents`` and ``warnings``.

    Raises
    ------
    InputError
        If the input has no attempts.
    OptionError
        If the attempts lack the column named by `by` or `cluster`.

    Examples
    --------
    >>> import howsure
    >>> howsure.overview("examples/evals/attempts.csv", cluster="family").supported[0].a  # doctest: +SKIP
    """
    attempts = Attempts.of(attempts)
    cluster = default_cluster(attempts, cluster)
    means = summary(attempts, by="domain" if attempts.has("domain") else ALL, cluster=cluster, level=level)
    contents = _contents(attempts, means)
    factors, notes = varying_factors(attempts), []
    comparison, alone = None, list[LogWarning]()
    if factors:
        options = {"cluster": cluster, "level": level, "seed": seed, "progress": progress}
        try:
            comparison = _compared(attempts, factors, by, **options)
            notes = list(comparison.provenance.notes[len(attempts.notes) :])
        except InputError as error:  # what is in the logs is told all the same
            if by is not None:
                raise
            advice = "Let two models try the same eval, or name logs that share one: howsure overview OLD NEW."
            alone.append(LogWarning(kind="nothing to compare", text=str(error), advice=advice))
    notes += [note for note in means.provenance.notes if note not in (*notes, *attempts.notes)]
    claims = claims_of(comparison, level, power)
    warnings = [
        *alone,
        *_missing(attempts, claims),
        *_mixed(attempts, factors, comparison),
        *_cut(attempts, claims, factors, by, cluster=cluster, level=level, seed=seed),
        *_judged(attempts),
        *_saturated(means),
        *_paired(attempts, notes),
    ]
    settings = {"by": by or "default", "cluster": cluster, "level": level, "power": power}
    item = (pl.col("domain").fill_null("(none)") + "\x1f" if attempts.has("domain") else pl.lit("")) + pl.col("task")
    if attempts.has("item_digest"):  # one item may have several names
        item = pl.coalesce("item_digest", item)
    return LogOverview(
        claims=claims,
        contents=contents,
        warnings=tuple(warnings),
        means=means,
        comparison=comparison,
        n_items=attempts.lazy.select(item.n_unique()).collect(engine="streaming").item(),
        provenance=Provenance.of(attempts, seed=seed, notes=notes, **settings),
    )


def _contents(attempts: Attempts, means: Summary) -> tuple[EvalContent, ...]:
    """One row per model and eval, with the means of the summary."""

    n = pl.col("n").fill_null(1) if attempts.has("n") else pl.lit(1)

    def number(outcome: str) -> pl.Expr:
        is_it = pl.col("outcome") == outcome if attempts.has("outcome") else pl.lit(outcome == "scored")
        return pl.when(is_it & pl.col("subject").is_not_null()).then(n).otherwise(0).sum()

    def total(name: str) -> pl.Expr:
        known = pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum())
        return known if attempts.has(name) else pl.lit(None, pl.Float64)

    of_eval = pl.col("domain").fill_null("(none)") if attempts.has("domain") else pl.lit(ALL)
    used = (
        attempts.lazy.with_columns(of_eval.alias("#eval"))
        .group_by("subject", "#eval")
        .agg(
            pl.col("kind").first(),
            *(number(outcome).alias(f"n_{outcome}") for outcome in OUTCOMES),
            total("cost").alias("cost"),
            total("tokens").alias("tokens"),
        )
        .collect(engine="streaming")
    )
    by_place = {(row["subject"], row["#eval"]): row for row in used.iter_rows(named=True)}
    rows = []
    for row in means.rows:
        if found := by_place.get((row.subject, row.task)):
            counted = {
                name: found[name] for name in ("kind", *(f"n_{outcome}" for outcome in OUTCOMES), "cost", "tokens")
            }
            n_made = sum(counted[f"n_{outcome}"] for outcome in OUTCOMES)
            rows.append(
                EvalContent(subject=row.subject, eval=row.task, n=n_made, n_items=row.n_items, mean=row.mean, **counted)
            )
    return tuple(rows)


def _compared(attempts: Attempts, factors: Sequence[str], by: str | None, **options: object) -> Comparison:
    """All pairs of models, or of the values of the one factor that varies."""
    factor = "subject" if "subject" in factors else factors[0]

    def pairs(group: str) -> Comparison:
        columns = [named(factor), *([group] if group != ALL else [])]
        return compare(attempts, by=columns, **options)  # type: ignore[arg-type]

    found = pairs(by or ALL)
    has_none = all(pair.difference.value is None for pair in found.pairs)
    return pairs("domain") if by is None and has_none and attempts.has("domain") else found


def claims_of(comparison: Comparison | None, level: float, power: float = 0.8) -> tuple[AutomaticClaim, ...]:
    """Each difference as a claim about the better one, the smallest p-value first.

    Parameters
    ----------
    comparison : Comparison, optional
        What `compare` returned; no claims without it.
    level : float
        1 − level is the probability of any wrong claim.
    power : float, default 0.8
        Probability with which ``items_needed`` items decide a claim.
    """
    if comparison is None:
        return ()
    n_open = sum(not _is_supported(pair, level) for pair in comparison.pairs)
    claims = []
    for pair in comparison.pairs:
        is_lower_better = pair.estimand.endswith("(lower is better)")
        is_swapped = pair.difference.value is not None and (pair.difference.value < 0) != is_lower_better
        difference = -pair.difference if is_swapped else pair.difference
        a, b = (pair.b, pair.a) if is_swapped else (pair.a, pair.b)
        verdict = "supported" if _is_supported(pair, level) else "not decided" if pair.p is not None else "not tested"
        variance = (pair.se or 0.0) ** 2 * pair.n_items
        needed = items_to_decide(difference, variance, n_open=n_open, level=level, power=power)
        turned = (
            [
                one.policy
                for one in comparison.policies
                if (one.a, one.b, one.task, one.held) == (pair.a, pair.b, pair.task, pair.held)
            ]
            if pair.n_missing
            else []
        )
        turned = [policy for policy in turned if _turns(comparison, pair, policy, level)]
        if difference.state == "ok" and not pair.n_items:
            reason = "without common items the variance of their difference is not known"
            needed = Estimate.without("undefined", reason, level=level)
        claims.append(
            AutomaticClaim(
                a=a,
                b=b,
                task=pair.task,
                held=pair.held,
                verdict=verdict,
                difference=difference,
                p_adjusted=pair.p_adjusted,
                test=pair.test,
                n_items=pair.n_items,
                items_needed=needed,
                turns_on=turned[0] if turned and verdict != "supported" else "",
                n_missing=pair.n_missing,
            )
        )
    return tuple(sorted(claims, key=lambda c: (c.p_adjusted is None, c.p_adjusted, -abs(c.difference.value or 0))))


def _turns(comparison: Comparison, pair: Difference, policy: str, level: float) -> bool:
    """Whether a difference that is significant under the main policy is not so under another."""
    if pair.p is None or pair.p >= 1 - level:
        return False
    place = (pair.a, pair.b, pair.task, pair.held, policy)
    found = next(one for one in comparison.policies if (one.a, one.b, one.task, one.held, one.policy) == place)
    is_same = (found.difference.value or 0.0) * (pair.difference.value or 0.0) > 0
    return found.p is None or found.p >= 1 - level or not is_same


def _is_supported(pair: Difference, level: float) -> bool:
    return pair.p_adjusted is not None and pair.p_adjusted < 1 - level


def _missing(attempts: Attempts, claims: Sequence[AutomaticClaim]) -> list[LogWarning]:
    """Attempts without a score, by model, and which claims turn on what they count as."""
    if not attempts.missing:
        return []
    told = []
    for subject, counts in attempts.outcomes.items():
        n, of = sum(counts.get(outcome, 0) for outcome in MISSING), sum(counts.values())
        told += [f"{subject} {n:,} of {of:,} ({counted_text(counts)})"] if n else []
    more = f" and {len(told) - _MOST_NAMES} more models" if len(told) > _MOST_NAMES else ""
    text = f"Attempts without a score: {'; '.join(told[:_MOST_NAMES])}{more}."
    turning = [claim for claim in claims if claim.turns_on]
    if turning:
        shown = "; ".join(f"{claim.a} and {claim.b} ({claim.turns_on})" for claim in turning[:3])
        text += f" What they count as decides {len(turning)} of {len(claims)} claims: {shown}."
    elif claims:
        text += " No claim depends on what they count as."
    advice = "Run them again, or decide what they count as: count, such as errored=wrong,unscored=drop."
    return [LogWarning(kind="missing outcomes", text=text, advice=advice)]


def _mixed(attempts: Attempts, factors: Sequence[str], comparison: Comparison | None) -> list[LogWarning]:
    """Configurations that differ between the models, so that a difference may come from them; and those that vary within models."""
    there = [*attempts.config, *(["scorer"] if attempts.has("scorer") else [])]
    candidates = [name for name in there if name not in {"log", *_OF_MODELS, *factors}]
    schema = attempts.lazy.collect_schema()
    candidates = [name for name in candidates if not schema[name].is_nested()]
    apart = []
    if candidates:
        frame = attempts.lazy.select("subject", *candidates).unique().collect(engine="streaming")
        for name in candidates:
            values = frame.select("subject", name).unique()
            is_constant = values.height == values["subject"].n_unique()
            if is_constant and 2 <= values[name].n_unique() <= _MOST_LEVELS:
                apart.append(f"{name} ({', '.join(levels_of(attempts, name))})")
    found = []
    if apart:
        text = f"The models were run with different {' and '.join(apart[:3])}: a difference between them may come from that."
        advice = "Run the models with the same configuration, or say that the comparison includes it."
        found.append(LogWarning(kind="mixed configurations", text=text, advice=advice))
    others = [
        name for name in factors if named(name) != (comparison.provenance.settings["factor"] if comparison else "")
    ]
    if others and comparison is not None:
        told = " and ".join(f"{named(name)} ({', '.join(levels_of(attempts, name))})" for name in others)
        how = (
            "compared at equal values"
            if others == ["scorer"]
            else "every combination that both models have counts once, and conclusions are about exactly these"
        )
        advice = f"Look at it by itself: howsure compare LOGS --by {named(others[0])}."
        found.append(LogWarning(kind="mixed configurations", text=f"Runs differ in {told}: {how}.", advice=advice))
    return found


def _cut(
    attempts: Attempts, claims: Sequence[AutomaticClaim], factors: Sequence[str], by: str | None, **options: object
) -> list[LogWarning]:
    """Attempts that ended at a limit or in an error and count with the score they have, and which claims change without them."""
    found = []
    for column, kind, how in (
        ("limit", "limit-cut runs", "ended at a limit"),
        ("error", "errors", "ended in an error"),
    ):
        if not attempts.has(column):
            continue
        is_cut = pl.col(column).is_not_null() & pl.col("score").is_not_null()
        shares = (
            attempts.lazy.group_by("subject")
            .agg(is_cut.sum().alias("n"), is_cut.mean().alias("share"), pl.len().alias("of"))
            .sort("share", "subject", descending=[True, False])
            .collect(engine="streaming")
        )
        n, of = int(shares["n"].sum()), int(shares["of"].sum())
        if not n:
            continue
        most, least = shares.row(0, named=True), shares.row(-1, named=True)
        spread = f", from {least['share']:.0%} ({least['subject']}) to {most['share']:.0%} ({most['subject']})"
        text = f"{n:,} of {of:,} attempts ({n / of:.0%}) {how}{spread if len(shares) > 1 else ''}; they count with the score they have."
        text += _without(attempts, is_cut, claims, factors, by, **options)
        advice = (
            f"Look at these runs, and decide whether they are failures: howsure explore LOGS shows them by {column}."
        )
        found.append(LogWarning(kind=kind, text=text, advice=advice))
    return found


def _without(
    attempts: Attempts,
    is_cut: pl.Expr,
    claims: Sequence[AutomaticClaim],
    factors: Sequence[str],
    by: str | None,
    **options: object,
) -> str:
    """A sentence on the claims that have another verdict when these attempts are excluded."""
    if not claims:
        return ""
    try:
        rows = attempts.lazy.filter(~is_cut).drop("attempt")
        level = options["level"]
        assert isinstance(level, float)
        again = claims_of(_compared(attempts.derive(numbered(rows)), factors, by, **options), level)
    except InputError:
        return " Without them there is nothing to compare."
    verdicts = {(c.a, c.b, c.task, c.held): c.verdict for c in again}
    changed = [c for c in claims if verdicts.get((c.a, c.b, c.task, c.held), "reversed") != c.verdict]
    if not changed:
        return " Without them every verdict is the same."
    shown = "; ".join(f"{c.a} and {c.b}" for c in changed[:3])
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return f" Without them {len(changed)} of {len(claims)} verdicts change: {shown}{more}."


def _judged(attempts: Attempts) -> list[LogWarning]:
    """Scores that a model gave, as the name of the scorer says."""
    if not attempts.has("scorer"):
        return []
    names = attempts.lazy.select(pl.col("scorer").unique().sort()).collect()["scorer"].drop_nulls().to_list()
    judges = [name for name in names if _JUDGES.search(name)]
    if not judges:
        return []
    text = f"Scores come from an automatic judge ({', '.join(judges[:3])}), and these logs do not say how often it is right."
    advice = "Let people label a sample of the answers and correct for the judge's errors: howsure bridge judged."
    return [LogWarning(kind="unvalidated judge", text=text, advice=advice)]


def _saturated(means: Summary) -> list[LogWarning]:
    """Evals on which the highest mean leaves no room, or that hardly anybody solves."""
    found = []
    for task in dict.fromkeys(row.task for row in means.rows):
        rows = [row for row in means.rows if row.task == task and row.mean.value is not None]
        if (task == ALL and len({row.task for row in means.rows}) > 1) or not rows:
            continue
        best = max(rows, key=lambda row: row.mean.value or 0.0)
        is_share = all(0 <= (row.mean.value or 0.0) <= 1 for row in rows) and "lower" not in best.estimand
        what = "This eval" if task == ALL else task
        if is_share and best.mean.low is not None and best.mean.low > _SATURATED:
            text = f"{what} is saturated: the highest mean is {best.mean} ({best.subject}), so better models cannot be distinguished by it."
            advice = "Use harder items: howsure items LOGS lists the items that still separate models."
            found.append(LogWarning(kind="saturated", text=text, advice=advice))
        elif is_share and best.mean.high is not None and best.mean.high < _TOO_HARD:
            text = f"{what} is too hard for these models: the highest mean is {best.mean} ({best.subject})."
            advice = "Add easier items: differences between low success rates need many items."
            found.append(LogWarning(kind="too hard", text=text, advice=advice))
    return found


def _paired(attempts: Attempts, notes: Sequence[str]) -> list[LogWarning]:
    """How items were paired, where their names could not be used; and items that not all models tried."""
    advice = "Give samples fixed ids before shuffling, or keep pairing by content."
    shuffled = [note for note in (*attempts.notes, *notes) if "by content" in note]
    found = [LogWarning(kind="shuffled", text=note, advice=advice) for note in dict.fromkeys(shuffled)]
    unshared = [note for note in notes if note not in shuffled and ("excluded" in note or "same items" in note)]
    advice = "Let all models try the same items."
    return found + [LogWarning(kind="items", text=note, advice=advice) for note in dict.fromkeys(unshared)]


def _counted(names: Sequence[str], what: str) -> str:
    shown = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
    return f"{len(names):,} {what}{'s' if len(names) != 1 else ''} ({shown})"
