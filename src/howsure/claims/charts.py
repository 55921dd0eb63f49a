"""Specification curves: every specification's estimate with its interval, in order, and how far each option moves the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from howsure.charts import Caption, Field, Reference, interval_plot, points_with_trend
from howsure.charts.drawing import Chart

if TYPE_CHECKING:
    from howsure.claims.checking import ClaimCheck
    from howsure.claims.multiverse import Verdict

__all__ = ["draw_claims", "draw_effects", "draw_specifications"]

_FARTHEST = 16.0  # times beyond the largest and smallest estimate that ends of intervals are drawn
_MOST_POINTS = 1000
_WIDEST = 512.0  # factors beyond it are drawn here
_OWN = "by the instrument's own method"
_STATUSES = ("supported", "open", "contradicted")
_COMMON = "bootstrap draws that all specifications share"


def draw_claims(found: ClaimCheck) -> dict[str, Chart]:
    """Every chart, by file name."""
    drawn: dict[str, Chart] = {}
    for number, verdict in enumerate(found.verdicts, 1):
        ending = "" if len(found.verdicts) == 1 else f"_{number}"
        if verdict.low is not None:
            drawn[f"specification_curve{ending}"] = draw_specifications(verdict, found.level)
        if any(one.effect.value is not None for one in verdict.effects):
            drawn[f"effects{ending}"] = draw_effects(verdict, found.level)
    return drawn


def draw_specifications(verdict: Verdict, level: float) -> Chart:
    """All specifications with a number, ordered by it, coloured by what they say about the claim."""
    known = [one for one in verdict.specifications if one.estimate.value is not None and one.estimate.state == "ok"]
    known = sorted(known, key=lambda one: one.estimate.value or 0.0)[:: max(1, len(known) // _MOST_POINTS)]
    low, high = verdict.low or 0.0, verdict.high or 0.0

    def end(value: float | None, limit: float) -> float:
        if not verdict.is_ratio:
            return limit if value is None else value
        near, far = low / _FARTHEST, high * _FARTHEST
        return min(max(limit if value is None else value, near), far)

    ends = (low / _FARTHEST, high * _FARTHEST) if verdict.is_ratio else (low, high)
    rows = [
        {
            "place": place,
            "value": one.estimate.value,
            "low": end(one.estimate.low, ends[0]),
            "high": end(one.estimate.high, ends[1]),
            "label": ", ".join(f"{name}={value}" for name, value in one.options.items()),
            "group": one.status if one.number > 1 else f"the default ({one.status})",
        }
        for place, one in enumerate(known, 1)
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("place").cast(pl.Float64))
    frame = frame.sort(pl.col("group").replace_strict(_STATUSES, range(3), default=3), "place")
    n_hidden = verdict.n_specifications - len(known)
    drawn = frame["low"].is_in([ends[0]]) | frame["high"].is_in([ends[1]])
    n_cut = int(drawn.sum()) if verdict.is_ratio else 0
    is_tested = all(one.estimate.low == one.estimate.high for one in known)  # a count or a share that tests gave
    return points_with_trend(
        frame,
        title=str(verdict.claim).rstrip("."),
        caption=Caption(
            len(known),
            "specifications",
            None if is_tested else level,
            "shares and ranks come from tests" if is_tested else _OWN,
            f"Dashed: the threshold, {verdict.claim.threshold:g}"
            + (f"; {n_cut:,} of the intervals extend beyond the chart" if n_cut else "")
            + (f"; {n_hidden:,} without a number are not drawn" if n_hidden else ""),
        ),
        x=Field("place", "Specification", "in order of the estimate"),
        y=Field("value", *_quantity(verdict), scale="log2" if verdict.is_ratio else "linear"),
        label=Field("label", "Options"),
        group=Field("group", "What it says about the claim", groups=_STATUSES),
        reference=Reference(verdict.claim.threshold),
    )


def draw_effects(verdict: Verdict, level: float) -> Chart:
    """How far each option moves the result from its choice's default."""
    rows = [
        {
            "label": f"{one.choice}: {one.option}",
            "value": one.effect.value,
            "low": _within(verdict, one.effect.low, one.effect.value),
            "high": _within(verdict, one.effect.high, one.effect.value),
            "text": str(one.effect),
        }
        for one in verdict.effects
        if one.effect.value is not None
    ]
    kinds = dict.fromkeys(("value", "low", "high"), pl.Float64)
    has_intervals = any(one.effect.low is not None for one in verdict.effects)
    return interval_plot(
        pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None),
        title="How much does each option change the result?",
        caption=Caption(
            verdict.n_specifications,
            "specifications",
            level if has_intervals else None,
            _COMMON if has_intervals else "there are no common replicates",
            "Dots: median over specifications that differ only in this option"
            + (f"; intervals are drawn up to a factor of {_WIDEST:g}" if verdict.is_ratio else ""),
        ),
        label=Field("label", "Option, instead of the default"),
        value=Field(
            "value",
            "Change of the result",
            "factor" if verdict.is_ratio else _quantity(verdict)[1],
            scale="log2" if verdict.is_ratio else "linear",
        ),
        reference=Reference(1.0 if verdict.is_ratio else 0.0, "no change"),
        is_sorted=False,
    )


def _within(verdict: Verdict, end: float | None, value: float) -> float:
    """An end of an interval, not farther than the chart should reach; the value itself where there is none."""
    end = value if end is None else end
    return min(max(end, 1 / _WIDEST), _WIDEST) if verdict.is_ratio else end


def _quantity(verdict: Verdict) -> tuple[str, str]:
    """Title and unit of the claim's quantity."""
    claim = verdict.claim
    if claim.kind == "horizon":
        return ("Horizon", "minutes") if claim.than is None else ("Ratio of horizons", "factor")
    if claim.kind == "rank":
        return ("Tier", "number") if claim.tier else ("Rank", "place")
    if claim.kind == "agreement":
        return ("Raters whom the judge may replace", "share") if claim.model else ("Agreement", "coefficient")
    if claim.benchmark:
        return "Saturated", "year"
    if claim.kind == "turns":
        return "Correct answers" if claim.than is None else "Difference of correct answers", "turns"
    return {
        "level": ("Mean score", "0–1"),
        "corrected rate": ("Corrected success rate", "share"),
        "difference": ("Difference of means", "score"),
        "trend": ("Doubling time", "days"),
        "scale": ("Difference of capabilities", "units of the scale"),
    }[claim.kind]
