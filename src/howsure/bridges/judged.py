"""A judge's verdicts, some of them labelled by people: what the true rates are, and horizons that carry the judge's doubt."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.estimates import Estimate, State
from howsure.frames import write_frame
from howsure.horizon.attempts import attempt_horizons
from howsure.results import Provenance, columns_of, plain, write_json
from howsure.stats._arrays import Floats, check_level, normal_quantile, t_quantile
from howsure.stats.corrections import corrected_rate, powered_mean
from howsure.stats.means import mean
from howsure.tables import Attempts, Ratings

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Corrected", "CorrectedRow", "JudgedHorizon", "JudgedHorizons", "correct", "judged_horizons"]

_PASS = 0.5
_PRIOR = 0.5  # of each kind, before anything is seen: Jeffreys
_FEWEST = 3
_MANY = 1e6  # degrees of freedom from which t is normal


@dataclass(frozen=True)
class CorrectedRow:
    """One model's rate of success: as the judge has it, and corrected by people's labels in two ways.

    ``powered`` (PPI++) uses the model's own labels; ``corrected`` (Rogan and Gladen) takes the judge to err alike on every model.
    """

    model: str
    judged: Estimate
    powered: Estimate
    corrected: Estimate
    n: int
    n_labelled: int


@dataclass(frozen=True, eq=False)
class Corrected:
    """Corrected rates of all models, and the attempts with people's labels beside the judge's verdicts.

    ``frame`` has the judged attempts with ``label`` (null where no person looked).
    """

    rows: tuple[CorrectedRow, ...]
    frame: pl.DataFrame
    provenance: Provenance

    @cached_property
    def agreement(self) -> dict[bool, tuple[float, float]]:
        """By the judge's verdict: how many of the labelled attempts people call a success, of how many."""
        known = self.frame.drop_nulls("label")
        verdict, label = known["score"].to_numpy() >= _PASS, known["label"].to_numpy()
        return {
            passed: (float(label[verdict == passed].sum()), float((verdict == passed).sum()))
            for passed in (False, True)
        }

    def attempts(self) -> Attempts:
        """The attempts with each score replaced by the label, or by the chance of success that labels give such a verdict."""
        chance = {passed: good / n for passed, (good, n) in self.agreement.items()}
        return self._scored(np.where(self._passed, chance[True], chance[False]))

    def draws(self, n: int, seed: int = 0) -> Iterator[Attempts]:
        """Attempts as they may have been: unlabelled outcomes drawn, each time with other chances of the judge being right."""
        for child in np.random.default_rng(seed).spawn(n):
            chance = {
                passed: child.beta(good + _PRIOR, n - good + _PRIOR) for passed, (good, n) in self.agreement.items()
            }
            p = np.where(self._passed, chance[True], chance[False])
            yield self._scored((child.random(len(p)) < p).astype(np.float64))

    def to_frame(self) -> pl.DataFrame:
        """One row a model: model, n, n_labelled, and value, low, high, state of judged, powered and corrected."""
        rows = [
            {"model": row.model, "n": row.n, "n_labelled": row.n_labelled}
            | columns_of(judged=row.judged, powered=row.powered, corrected=row.corrected)
            for row in self.rows
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def as_dict(self) -> dict[str, Any]:
        """The whole result as plain JSON."""
        return {"rows": plain(self.rows), "provenance": plain(self.provenance)}

    def charts(self) -> dict[str, alt.LayerChart]:
        """Rates as judged and corrected, by file name."""
        from howsure.bridges.charts import draw_corrected

        return {"corrected": draw_corrected(self)}

    def save(self, folder: Path) -> list[Path]:
        """Write corrected.csv, corrected.json and attempts.csv."""
        return [
            write_frame(self.to_frame(), folder / "corrected.csv"),
            write_json(self.as_dict(), folder / "corrected.json"),
            self.attempts().write(folder / "attempts.csv"),
        ]

    @cached_property
    def _passed(self) -> Any:
        return self.frame["score"].to_numpy() >= _PASS

    def _scored(self, unlabelled: Floats) -> Attempts:
        score = pl.col("label").fill_null(pl.Series("chance", unlabelled))
        return Attempts(self.frame.with_columns(score.alias("score")).drop("label"))


def correct(attempts: Attempts, labels: Ratings, *, level: float = 0.95) -> Corrected:
    """Correct a judge's verdicts on models' attempts by what people said of some of them.

    ``labels`` rate items called ``subject/task/attempt`` between 0 and 1; of several people the mean counts. Which attempts are labelled must not
    depend on the verdicts.
    """
    check_level(level)
    judged = attempts.frame.filter(pl.col("kind") == "model")
    known = _labels(labels)
    keyed = judged.with_columns(pl.format("{}/{}/{}", "subject", "task", "attempt").alias("item"))
    frame = keyed.join(known, on="item", how="left", maintain_order="left").drop("item")
    strangers = known.join(keyed, on="item", how="anti")
    if len(strangers):
        raise InputError(
            f"{len(strangers):,} labelled items are no attempt here, the first {strangers['item'][0]!r}. "
            "Items are called subject/task/attempt."
        )
    _refuse_too_few(frame.drop_nulls("label"))
    rows = tuple(
        _row(str(name), part, frame, level) for (name,), part in frame.group_by("subject", maintain_order=True)
    )
    made = Provenance.of(attempts, level=level, labels=labels.digest, n_labelled=len(known), notes=labels.notes)
    return Corrected(rows, frame, made)


@dataclass(frozen=True)
class JudgedHorizon:
    """A model's horizon with the judge's doubt in the interval.

    ``as_judged`` is what the verdicts alone would give; ``from_judge`` is the share of the variance that the judge's errors bring.
    """

    model: str
    horizon: Estimate
    as_judged: Estimate
    from_judge: float | None


@dataclass(frozen=True)
class JudgedHorizons:
    """Horizons of all models, and what made them."""

    rows: tuple[JudgedHorizon, ...]
    provenance: Provenance

    def to_frame(self) -> pl.DataFrame:
        """One row a model: model, horizon, low, high, state, the same as judged, and the share of the variance from the judge."""
        rows = [
            {"model": row.model, "from_judge": row.from_judge}
            | columns_of(horizon=row.horizon, as_judged=row.as_judged)
            for row in self.rows
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def as_dict(self) -> dict[str, Any]:
        """The whole result as plain JSON."""
        return {"rows": plain(self.rows), "provenance": plain(self.provenance)}

    def charts(self) -> dict[str, Any]:
        """None: the table is short."""
        return {}

    def save(self, folder: Path) -> list[Path]:
        """Write judged_horizons.csv and judged_horizons.json."""
        return [
            write_frame(self.to_frame(), folder / "judged_horizons.csv"),
            write_json(self.as_dict(), folder / "judged_horizons.json"),
        ]


def judged_horizons(
    corrected: Corrected, novices: Attempts, *, n_draws: int = 20, level: float = 0.95, seed: int = 0, **options: Any
) -> JudgedHorizons:
    r"""N-attempt horizons from judged attempts, with the judge's uncertainty carried along.

    The outcomes that no person saw are drawn ``n_draws`` times, each time with other error rates of the judge; horizons of the draws are
    pooled on the log scale after Rubin (1987): :math:`T = W + (1 + 1/m) B`, the mean variance within draws and the variance between them.
    """
    people = novices.lazy.filter(pl.col("kind") == "human")
    asked = {"level": level, "seed": seed, **options}

    def horizons(models: Attempts) -> Mapping[str, Estimate]:
        together = Attempts(pl.concat([people, models.lazy], how="diagonal_relaxed"))
        return {name: row.horizon for name, row in attempt_horizons(together, **asked).headline().items()}

    as_judged = horizons(Attempts(corrected.frame.drop("label")))
    drawn = [horizons(attempts) for attempts in corrected.draws(n_draws, seed)]
    pooled = {name: _pooled([one[name] for one in drawn], level) for name in as_judged}
    rows = tuple(JudgedHorizon(name, pooled[name][0], found, pooled[name][1]) for name, found in as_judged.items())
    told = {"n_draws": n_draws, **corrected.provenance.settings, **asked}
    return JudgedHorizons(rows, Provenance(told, corrected.provenance.digest, seed, corrected.provenance.notes))


def _labels(labels: Ratings) -> pl.DataFrame:
    known = labels.lazy.group_by("item", maintain_order=True).agg(pl.col("value").mean().alias("label")).collect()
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
            f"{len(known):,} labelled attempts, {passed:,} of which the judge passed: {_FEWEST} of either verdict are needed to know how it errs."
        )


def _row(model: str, own: pl.DataFrame, everyone: pl.DataFrame, level: float) -> CorrectedRow:
    seen, unseen = own.drop_nulls("label"), own.filter(pl.col("label").is_null())
    known = everyone.drop_nulls("label")
    good, passed = known["label"].to_numpy() >= _PASS, known["score"].to_numpy() >= _PASS
    verdicts = own["score"].to_numpy() >= _PASS
    return CorrectedRow(
        model,
        mean(own["score"].to_numpy(), level=level).estimate,
        powered_mean(seen["label"], seen["score"], unseen["score"], level=level).estimate,
        corrected_rate(
            (float(verdicts.sum()), float(len(verdicts))),
            (float((passed & good).sum()), float(good.sum())),
            (float((~passed & ~good).sum()), float((~good).sum())),
            level=level,
        ),
        len(own),
        len(seen),
    )


def _pooled(drawn: Sequence[Estimate], level: float) -> tuple[Estimate, float | None]:
    """One estimate for those of all draws, and the share of its variance that lies between draws."""
    unknown: list[State] = [one.state for one in drawn if one.state != "ok"]
    if unknown:
        (state, _), *_ = Counter(unknown).most_common()
        reason = f"{len(unknown)} of {len(drawn)} draws of the judge's errors give no horizon"
        return Estimate.without(state, reason, level=level), None
    logs = np.log([one.value for one in drawn])  # type: ignore[arg-type]
    between = (1 + 1 / len(logs)) * float(logs.var(ddof=1))
    within = float(np.mean([_log_variance(one) for one in drawn]))
    df = (len(logs) - 1) * (1 + within / between) ** 2 if between else math.inf
    far = (t_quantile(level, df) if df < _MANY else normal_quantile(level)) * math.sqrt(within + between)
    value = math.exp(float(logs.mean()))
    # where an end of some draw lies beyond what was observed, so does that of all
    low = next((one for one in drawn if one.low_state != "ok"), None)
    high = next((one for one in drawn if one.high_state != "ok"), None)
    pooled = Estimate(
        value,
        low.low if low else value * math.exp(-far),
        high.high if high else value * math.exp(far),
        level,
        low_state=low.low_state if low else "ok",
        high_state=high.high_state if high else "ok",
    )
    return pooled, between / (within + between) if within + between else None


def _log_variance(found: Estimate) -> float:
    """The variance of a log horizon that its interval tells; from the half that is not open, where one is."""
    assert found.value is not None
    ends = [(found.low, found.low_state), (found.high, found.high_state)]
    halves = [abs(math.log(end / found.value)) for end, state in ends if end and state == "ok"]
    return float(np.mean(np.square(halves))) / normal_quantile(found.level) ** 2 if halves else 0.0
