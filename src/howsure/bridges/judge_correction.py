"""A judge's verdicts, some of them labelled by people: the true rates, and horizons that include the judge's errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howsure.arguments import checked
from howsure.compute import replicate
from howsure.errors import InputError
from howsure.estimates import Estimate, chance
from howsure.horizon.attempt_horizon.estimator import HorizonEstimator, HorizonReplicates, SharedTasks, shared_tasks
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats, Ints, check_level
from howsure.stats.corrections import (
    corrected_rate,
    draw_judge_errors,
    errors_differ,
    impute_counts,
    independent_trials,
    success_given_verdict,
)
from howsure.stats.label_sampling import judged_mean, powered_scores
from howsure.stats.means import mean
from howsure.tables import Attempts, Ratings

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = [
    "Corrected",
    "CorrectedRow",
    "JudgedHorizon",
    "JudgedHorizons",
    "correct",
    "correct_verdicts",
    "judged_horizons",
]

_PASS = 0.5
_FEWEST = 3
_NUMBER = pl.col("attempt").rank("ordinal").over("subject", "task").cast(pl.Int64)  # without those that do not count
_ALIKE = 0.05  # a smaller p value says that the judge's errors differ between models
_N_CHANCES = 400  # draws that make P(success | verdict) of the corrected attempts
_N_RATES, _PER_CHAIN = 2000, 8  # draws whose quantiles are the intervals of corrected rates
_HALF = np.array([0.5])


@dataclass(frozen=True)
class CorrectedRow:
    """One model's rate of success: as the judge has it, and corrected by people's labels in two ways.

    ``powered`` (PPI++) uses the model's own labels; ``corrected`` (Rogan and Gladen's model) takes the judge to err alike on every model.
    """

    model: str
    judged: Estimate
    powered: Estimate
    corrected: Estimate
    n: int
    n_labelled: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Corrected(Result):
    """Success rates of all models, corrected for the errors of an automatic judge.

    Parameters
    ----------
    rows : tuple[CorrectedRow, ...]
        One entry per model: success rate as judged and as corrected.
    frame : pl.DataFrame
        The judged attempts with the column ``label`` (null where no person rated the attempt).
    p_alike : float | None
        p value of the hypothesis that the judge's sensitivity and specificity are the same for all models; None with one model.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    horizons : JudgedHorizons | None
        Horizons in attempts, if novices were given to `correct_verdicts`.
    """

    name = "corrected"

    rows: tuple[CorrectedRow, ...]
    frame: pl.DataFrame
    p_alike: float | None
    provenance: Provenance
    horizons: JudgedHorizons | None = None

    @property
    def errors_differ(self) -> bool:
        """Whether the judge's sensitivity or specificity differs between models (5 % level)."""
        return self.p_alike is not None and self.p_alike < _ALIKE

    @property
    def method(self) -> str:
        """What horizons are corrected by: ``bayes`` (errors common to all models) or ``ppi`` (each model's own labels)."""
        return "ppi" if self.errors_differ else "bayes"

    def attempts(self) -> Attempts:
        """The attempts with each score replaced by the label, or by P(success | verdict, model) where there is none.

        Sensitivity and specificity are those over all models, or the model's own where they differ.
        """
        models = self.frame["subject"].unique(maintain_order=True).to_list()
        labelled, unlabelled = _counts(self.frame, [(model, None) for model in models])
        groups = [[row] for row in range(len(models))] if self.errors_differ else [list(range(len(models)))]
        expected = np.empty((len(models), 2))
        for rows in groups:
            drawn = draw_judge_errors(labelled[rows], unlabelled[rows], _N_CHANCES, np.random.default_rng(0))
            passed, failed = success_given_verdict(drawn.rates, drawn.sensitivity[:, None], drawn.specificity[:, None])
            expected[rows] = np.stack([failed.mean(axis=0), passed.mean(axis=0)], axis=1)
        model = self.frame["subject"].replace_strict(models, range(len(models)), return_dtype=pl.Int64).to_numpy()
        verdict = (self.frame["score"].to_numpy() >= _PASS).astype(np.int64)
        score = pl.col("label").fill_null(pl.Series("expected", expected[model, verdict]))
        return Attempts(self.frame.with_columns(score.alias("score"), _NUMBER).drop("label"))

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``corrected`` (one row per model), ``attempts`` (see `attempts`) and, where there are horizons, ``judged_horizons``."""
        rows = [
            {"model": row.model, "n": row.n, "n_labelled": row.n_labelled}
            | columns_of(judged=row.judged, powered=row.powered, corrected=row.corrected)
            for row in self.rows
        ]
        return {
            "corrected": pl.DataFrame(rows, infer_schema_length=None),
            "attempts": self.attempts().frame,
            **(self.horizons.tables if self.horizons else {}),
        }

    def as_dict(self) -> dict[str, Any]:
        """The tables, without the single attempts, the test of equal errors, and the provenance as plain JSON values."""
        tables = {name: value for name, value in super().as_dict().items() if name != "attempts"}
        return tables | {"p_alike": self.p_alike, "method": self.method}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.bridges.sections import corrected_sections

        return corrected_sections(self)

    def charts(self) -> dict[str, Chart]:
        """Success rates as judged and corrected, by file name."""
        from howsure.bridges.charts import draw_corrected

        return {"corrected": draw_corrected(self)}


@checked
def correct_verdicts(
    verdicts: Source | Attempts,
    labels: Source | Ratings,
    *,
    novices: Source | Attempts | None = None,
    n_replicates: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Corrected:
    """Success rates corrected for a judge's errors and, with novices, N-attempt horizons whose intervals include those errors.

    Parameters
    ----------
    verdicts : Attempts, polars or pandas DataFrame
        Models' attempts, scored by the judge.
    labels : Ratings, polars or pandas DataFrame
        What people said of some of them; see `correct`.
    novices : Attempts, polars or pandas DataFrame, optional
        Attempts of people at the same tasks. With them the result has ``horizons``.
    n_replicates : int
        Number of bootstrap replicates of the horizons.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        Seed of the replicates.
    progress : callable, optional
        Called with the number of replicates that are done and their total.

    Returns
    -------
    Corrected
        Its tables are ``corrected``, ``attempts`` and, with novices, ``judged_horizons``.
    """
    corrected = correct(Attempts.of(verdicts), Ratings.of(labels), level=level)
    if novices is None:
        return corrected
    learners = Attempts.of(novices)
    horizons = judged_horizons(
        corrected, learners, n_replicates=n_replicates, level=level, seed=seed, progress=progress
    )
    return replace(corrected, horizons=horizons)


@checked
def correct(attempts: Attempts, labels: Ratings, *, level: float = 0.95, cluster: str | None = "task") -> Corrected:
    """Correct a judge's verdicts on models' attempts by people's labels of some of them.

    Parameters
    ----------
    attempts : Attempts
        Models' attempts, scored by the judge.
    labels : Ratings
        Ratings between 0 and 1 of items called ``subject/task/attempt``; of several people the mean counts. Which attempts are labelled
        must not depend on the verdicts.
    level : float
        Coverage of the intervals, between 0 and 1.
    cluster : str, optional
        The column of attempts that resemble each other; None takes attempts as independent.

    Raises
    ------
    InputError
        If a labelled item is no attempt here, or fewer than 3 attempts of either verdict are labelled.
    """
    check_level(level)
    judged = attempts.frame.filter(pl.col("kind") == "model")
    known = _labels(labels)
    item = pl.format("{}/{}/{}", "subject", "task", "attempt").alias("item")
    strangers = known.join(judged.with_columns(item), on="item", how="anti")
    if len(strangers):
        raise InputError(
            f"{len(strangers):,} labelled items match no attempt in this table, the first is {strangers['item'][0]!r}. "
            "Write items as subject/task/attempt."
        )
    attempts = attempts.counted  # the judge gave the others no verdict
    judged = attempts.frame.filter(pl.col("kind") == "model")
    frame = judged.with_columns(item).join(known, on="item", how="left", maintain_order="left").drop("item")
    _refuse_too_few(frame.drop_nulls("label"))
    parts = {str(name): part for (name,), part in frame.group_by("subject", maintain_order=True)}
    counts = _counts(frame, [(model, None) for model in parts])
    common = _common_errors(list(parts.values()), frame.drop_nulls("label"), counts, level, cluster)
    rows = tuple(
        _row(model, part, rate, level, cluster) for (model, part), rate in zip(parts.items(), common, strict=True)
    )
    p_alike = errors_differ(counts[0])
    notes = (*labels.notes, *_notes(frame, p_alike))
    made = Provenance.of(attempts, level=level, labels=labels.digest, n_labelled=len(known), notes=notes)
    return Corrected(rows=rows, frame=frame, p_alike=p_alike, provenance=made)


@dataclass(frozen=True)
class JudgedHorizon:
    """A model's horizon with the judge's errors in the interval.

    ``as_judged`` is what the verdicts alone would give; ``from_judge`` is the share of the variance that more labels would remove (None with PPI++,
    or where replicates leave the range).
    """

    model: str
    horizon: Estimate
    as_judged: Estimate
    from_judge: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class JudgedHorizons(Result):
    """N-attempt horizons of all models, with the judge's errors in the intervals.

    Parameters
    ----------
    rows : tuple[JudgedHorizon, ...]
        One entry per model.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name = "judged_horizons"

    rows: tuple[JudgedHorizon, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``judged_horizons``, one row per model: the horizon, the horizon from the verdicts alone, and the share of the variance from the judge."""
        rows = [
            {"model": row.model, "from_judge": row.from_judge}
            | columns_of(horizon=row.horizon, as_judged=row.as_judged)
            for row in self.rows
        ]
        return {"judged_horizons": pl.DataFrame(rows, infer_schema_length=None)}


@checked
def judged_horizons(
    corrected: Corrected,
    novices: Attempts,
    *,
    n_replicates: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    last: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> JudgedHorizons:
    r"""N-attempt horizons (matching) from judged attempts, with the judge's errors in the interval.

    Where the judge errs alike on all models, every replicate draws its sensitivity and specificity and each model's success rate anew, then the
    outcomes that no person saw by P(success | verdict, model, task), then novices and tasks as `attempt_horizons` does. Where its errors
    differ between models (``corrected.p_alike`` below 0.05), each model's success is estimated by PPI++ from its own labels with the
    horizon's weights (every task the same), and the bootstrap goes over tasks with their labels and verdicts.

    Parameters
    ----------
    corrected : Corrected
        The verdicts and labels.
    novices : Attempts
        Attempts of people at the same tasks.
    n_replicates : int
        Number of bootstrap replicates.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        Seed of the replicates.
    last : int, optional
        Novices' attempts after this one are excluded.
    progress : callable, optional
        Called with the number of replicates that are done and their total.
    """
    check_level(level)
    people = novices.lazy.filter(pl.col("kind") == "human")
    verdicts = corrected.frame.with_columns((pl.col("score") >= _PASS).cast(pl.Float64), _NUMBER).drop("label")
    both = Attempts(pl.concat([people, verdicts.lazy()], how="diagonal_relaxed"))
    together = novices.derive(both.lazy, *both.notes)
    shared = shared_tasks(together, last=last)
    as_judged = _own_horizons(_estimator(shared, shared.successes), n_replicates, level, seed)
    if corrected.errors_differ:
        found = _powered(corrected, shared, n_replicates, level, seed)
        shares: list[float | None] = [None] * len(shared.models)
    else:
        found, shares = _imputed(corrected, shared, n_replicates, level, seed, progress)
    rows = tuple(map(JudgedHorizon, shared.models, found, as_judged, shares))
    order = sorted(rows, key=lambda row: -(row.horizon.value or 0))
    settings = {**corrected.provenance.settings, "n_replicates": n_replicates, "level": level, "last": last}
    settings |= {"method": corrected.method, "novices": novices.digest}
    notes = tuple(dict.fromkeys((*corrected.provenance.notes, *shared.notes)))
    provenance = Provenance(settings, corrected.provenance.digest, seed, notes)
    return JudgedHorizons(rows=tuple(order), provenance=provenance)


def _estimator(shared: SharedTasks, successes: Floats, n: Floats | None = None) -> HorizonEstimator:
    counts = replace(shared, successes=successes, n=shared.n if n is None else n, squares=None)
    return HorizonEstimator(counts, ("matching",), _HALF)


def _own_horizons(estimator: HorizonEstimator, n: int, level: float, seed: int) -> list[Estimate]:
    drawn = estimator.replicates(n, seed=seed)
    return [estimator.horizon(drawn, row, 0, 0, level) for row in range(len(estimator.counts.models))]


def _imputed(
    corrected: Corrected,
    shared: SharedTasks,
    n: int,
    level: float,
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[Estimate], list[float | None]]:
    """Horizons with outcomes resampled in every replicate, and the share of their variance that the judge brings."""
    tasks = shared.tasks["task"].to_list()
    cells = [_counts(corrected.frame, [(model, task) for task in tasks]) for model in shared.models]
    # attempts at tasks that novices did not try tell about the judge, but not about the model's rate on the others
    rest = corrected.frame.filter(~pl.col("task").is_in(tasks))
    elsewhere = _counts(rest, [(model, None) for model in shared.models])
    labelled = np.concatenate([np.stack([one[0].sum(axis=0) for one in cells]), elsewhere[0]])
    unlabelled = np.concatenate([np.stack([one[1].sum(axis=0) for one in cells]), elsewhere[1]])

    def work(rng: np.random.Generator, size: int) -> tuple[Floats, ...]:
        judge = draw_judge_errors(labelled, unlabelled, size, rng)
        drawn = []
        for one in range(size):
            errors = float(judge.sensitivity[one]), float(judge.specificity[one])
            outcomes = [impute_counts(*cell, judge.rates[one, m], *errors, rng) for m, cell in enumerate(cells)]
            estimator = _estimator(shared, np.stack(outcomes).astype(np.float64))
            drawn.append((estimator.counts.successes, estimator.horizons, *estimator.draw(rng, 1)))
        successes, points, *sampled = zip(*drawn, strict=True)
        return np.stack(successes), np.stack(points), *(np.concatenate(part) for part in sampled)

    successes, points, *sampled = replicate(work, n, seed=seed, progress=progress)
    drawn = HorizonReplicates(*sampled)
    estimator = _estimator(shared, successes.mean(axis=0))
    models = range(len(shared.models))
    found = [estimator.horizon(drawn, row, 0, 0, level) for row in models]
    return found, [_share_of_variance(points[:, row, 0, 0], drawn.horizons[:, row, 0, 0]) for row in models]


def _share_of_variance(part: Floats, whole: Floats) -> float | None:
    """The variance of `part` over that of `whole` on the log scale, from the middle 68 %; None where that leaves the range."""
    ends = [np.quantile(draws, [0.16, 0.84], method="nearest") for draws in (part, whole) if not np.isnan(draws).any()]
    if len(ends) < 2 or not np.isfinite(ends).all() or ends[1][0] == ends[1][1]:
        return None
    inner, outer = (float(np.log(high / low)) for low, high in ends)
    return min((inner / outer) ** 2, 1.0)


def _powered(corrected: Corrected, shared: SharedTasks, n: int, level: float, seed: int) -> list[Estimate]:
    """Horizons from PPI++ of each model, every task with the same weight; a model with few labels has none."""
    tasks = shared.tasks["task"].to_list()
    successes, counts, few = shared.successes.copy(), shared.n.copy(), dict[int, str]()
    for row, model in enumerate(shared.models):
        own = corrected.frame.filter(pl.col("subject") == model, pl.col("task").is_in(tasks))
        labels, verdicts = _binary(own["label"]), _binary(own["score"])
        if (known := int((~np.isnan(labels)).sum())) < _FEWEST:
            few[row] = (
                f"{known} labelled attempts of this model; {_FEWEST} are needed, as the judge's errors differ between models"
            )
            continue
        column = own["task"].replace_strict(tasks, range(len(tasks)), return_dtype=pl.Int64).to_numpy()
        weights = 1 / np.bincount(column, minlength=len(tasks))[column]
        scores = powered_scores(labels, verdicts, weights)
        successes[row] = np.bincount(column, scores, len(tasks))
        if len(tasks) == 1:  # the bootstrap draws runs as 0 or 1: as many as would leave the mean as unsure as it is
            successes[row], counts[row] = _as_runs(scores)
    estimator = _estimator(shared, successes, counts)
    found = _own_horizons(estimator, n, level, seed)
    return [Estimate.without("too_few", few[row], level=level) if row in few else one for row, one in enumerate(found)]


def _as_runs(scores: Floats) -> tuple[float, float]:
    """Successes and runs of a binomial with the mean and the standard error of these scores."""
    share, variance = float(np.clip(scores.mean(), 0, 1)), float(scores.var(ddof=1)) / len(scores)
    n = share * (1 - share) / variance if variance else float(len(scores))
    n = max(round(n), 2)
    return share * n, n


def _counts(frame: pl.DataFrame, cells: list[tuple[str, str | None]]) -> tuple[Ints, Ints]:
    """Labelled attempts by label and verdict, and unlabelled ones by verdict, for each (model, task); a task of None is any."""
    keys = ["subject"] if cells[0][1] is None else ["subject", "task"]
    place = {cell[: len(keys)]: row for row, cell in enumerate(cells)}
    labelled, unlabelled = np.zeros((len(cells), 2, 2), np.int64), np.zeros((len(cells), 2), np.int64)
    shaped = frame.select(*keys, verdict=pl.col("score") >= _PASS, is_good=pl.col("label") >= _PASS)
    for *key, verdict, is_good, n in shaped.group_by(*keys, "verdict", "is_good").len().iter_rows():
        if (row := place.get(tuple(key))) is None:
            continue
        if is_good is None:
            unlabelled[row, int(verdict)] = n
        else:
            labelled[row, int(is_good), int(verdict)] = n
    return labelled, unlabelled


def _binary(values: pl.Series) -> Floats:
    """1 from 0.5 on, 0 below, NaN for null."""
    return (values >= _PASS).cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _notes(frame: pl.DataFrame, p_alike: float | None) -> list[str]:
    told = []
    for column, what in (("score", "verdicts"), ("label", "labels")):
        between = int(((frame[column] > 0) & (frame[column] < 1)).sum())
        if between:
            told.append(
                f"{between:,} {what} are between 0 and 1; from {_PASS} on they count as a success, in Rogan–Gladen and in horizons."
            )
    if p_alike is None:
        return told
    if p_alike < _ALIKE:
        said = "differ between models, so Rogan–Gladen, which takes them as equal, is biased; horizons use PPI++ of each model"
    else:
        said = "do not differ significantly between models; horizons use those of all models together"
    return [*told, f"The judge's sensitivity and specificity {said} (permutation test, p {_p(p_alike)})."]


def _p(value: float) -> str:
    text = chance(value) or ""
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"


def _labels(labels: Ratings) -> pl.DataFrame:
    known = (
        labels.numeric().lazy.group_by("item", maintain_order=True).agg(pl.col("value").mean().alias("label")).collect()
    )
    outside = known.filter(~pl.col("label").is_between(0, 1))
    if len(outside):
        raise InputError(
            f"{outside['item'][0]}: labelled {outside['label'][0]:g}, but a label of success lies between 0 and 1."
        )
    return known


def _refuse_too_few(known: pl.DataFrame) -> None:
    passed = int((known["score"] >= _PASS).sum())
    if passed < _FEWEST or len(known) - passed < _FEWEST:
        raise InputError(
            f"{len(known):,} labelled attempts, {passed:,} of which the judge passed: {_FEWEST} of each verdict are needed to estimate its errors."
        )


def _common_errors(
    parts: Sequence[pl.DataFrame], known: pl.DataFrame, counts: tuple[Ints, Ints], level: float, cluster: str | None
) -> list[Estimate]:
    """Each model's success rate if the judge errs alike on all: quantiles of its posterior, drawn jointly with sensitivity and specificity.

    A labelled attempt tells about its model's rate and about the judge at once. The formula of Rogan and Gladen with independent intervals of its three shares counts that twice,
    and forgets what the labels say about the rate itself; it serves here to tell which models have no rate.
    """
    good, passed = known["label"].to_numpy() >= _PASS, known["score"].to_numpy() >= _PASS
    of_good = independent_trials(passed[good], _clusters(known.filter(good), cluster))
    of_bad = independent_trials(~passed[~good], _clusters(known.filter(~good), cluster))
    verdicts = [independent_trials(own["score"].to_numpy() >= _PASS, _clusters(own, cluster)) for own in parts]
    plain = [corrected_rate(one, of_good, of_bad, level=level) for one in verdicts]
    if not good.any() or good.all():
        return plain
    drawn = draw_judge_errors(
        *counts,
        _N_RATES,
        np.random.default_rng(0),
        rate_effects=np.array([len(own) / n for own, (_, n) in zip(parts, verdicts, strict=True)]),
        error_effects=((~good).sum() / of_bad[1], good.sum() / of_good[1]),
        per_chain=_PER_CHAIN,
    ).rates
    tail = (1 - level) / 2
    middle, low, high = np.quantile(drawn, [0.5, tail, 1 - tail], axis=0)
    return [
        Estimate(float(middle[row]), float(low[row]), float(high[row]), level) if one.state == "ok" else one
        for row, one in enumerate(plain)
    ]


def _clusters(frame: pl.DataFrame, cluster: str | None) -> NDArray[Any] | None:
    """What attempts belong to; attempts at one task resemble each other, and one task alone stands for itself."""
    return frame[cluster].to_numpy() if cluster and frame[cluster].n_unique() > 1 else None


def _row(model: str, own: pl.DataFrame, corrected: Estimate, level: float, cluster: str | None) -> CorrectedRow:
    tasks = _clusters(own, cluster)
    powered = judged_mean(own["label"].to_numpy(), own["score"].to_numpy(), clusters=tasks, level=level)
    judged = mean(own["score"].to_numpy(), tasks, level=level).estimate
    return CorrectedRow(model, judged, powered.estimate, corrected, len(own), powered.n_labelled)
