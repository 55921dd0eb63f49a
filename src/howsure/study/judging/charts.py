"""Charts of a judge against people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from howsure.charts import Caption, Field, Reference, estimate_rows, interval_plot
from howsure.charts.drawing import Chart, layered
from howsure.charts.encodings import by_group, position, roles, tooltips
from howsure.charts.theme import LIGHT, captioned
from howsure.estimates import Estimate

if TYPE_CHECKING:
    from howsure.study.judging.attacks import JudgeAttacks
    from howsure.study.judging.bench import JudgeBench
    from howsure.study.judging.comparison import JudgeComparison
    from howsure.study.judging.validation import Validation

__all__ = ["draw_agreement", "draw_attacks", "draw_bench", "draw_bias", "draw_calibration", "judge_charts"]

_DIMENSION = Field("label", "Dimension")
_SIDE = 400  # of a square plot, in pixels


def judge_charts(validation: Validation) -> dict[str, Chart]:
    """All charts of all judges by file name; with several judges the name ends with the judge's number."""
    drawn = {}
    for number, judge in enumerate(validation.judges, 1):
        end = f"-{number}" if len(validation.judges) > 1 else ""
        drawn[f"agreement{end}"] = draw_agreement(validation, judge)
        if not validation.is_categorical:
            drawn[f"bias{end}"] = draw_bias(validation, judge)
        curve = draw_calibration(validation, judge)
        drawn |= {f"calibration{end}": curve} if curve else {}
    return drawn


def draw_bench(bench: JudgeBench) -> dict[str, Chart]:
    """Each judge's agreement minus that of a rater, and each judge's biases."""
    frame, level = bench.to_frame("bench"), bench.provenance.settings["level"]
    several = frame["dimension"].n_unique() > 1
    units = {
        "pearson": "Pearson's r",
        "spearman": "Spearman's ρ",
        "kendall": "Kendall's τ",
        "match": "share of matches",
    }
    drawn = {
        "bench": interval_plot(
            _of_table(frame, "judge", "minus_people", "dimension" if several else None),
            title="Which judge agrees with people as much as people agree with each other?",
            caption=Caption(
                _most(frame),
                f"items × {len(bench.raters)} people",
                level,
                "jackknife over items",
                "Each rater in turn is excluded; judge and rater are compared with the others",
            ),
            label=Field("label", "Judge"),
            value=Field("value", "Judge − rater", units[bench.kind]),
            group=Field("group", "Dimension") if several else None,
            reference=Reference(0.0, "as a rater"),
        )
    }
    if "effects" in bench.tables:
        effects = bench.to_frame("effects").filter(pl.col("value").is_not_null())
        if len(effects):
            first = effects.filter(pl.col("dimension") == effects["dimension"][0])
            drawn["effects"] = interval_plot(
                _of_table(first, "effect", "value", "judge"),
                title="Effects on each judge's rating that differ from people's",
                caption=Caption(
                    _most(frame),
                    "items",
                    level,
                    "jackknife over items",
                    f"Dimension {first['dimension'][0]}; all effects in one model",
                ),
                label=Field("label", "Effect"),
                value=Field("value", "Change of the rating", "units of the rating"),
                group=Field("group", "Judge"),
                reference=Reference(0.0, "no effect"),
                is_sorted=False,
            )
    return drawn


def draw_attacks(attacks: JudgeAttacks) -> Chart:
    """How far each attack moves each judge."""
    frame = attacks.rows
    first = frame.filter(pl.col("dimension") == frame["dimension"][0])
    return interval_plot(
        _of_table(first, "attack", "shift", "judge" if first["judge"].n_unique() > 1 else None),
        title="How far attacks move judges",
        caption=Caption(
            _most(first),
            "answers",
            attacks.provenance.settings["level"],
            "t over answers",
            f"Dimension {first['dimension'][0]}; rating under attack minus rating of the clean answer",
        ),
        label=Field("label", "Attack"),
        value=Field("value", "Shift", "units of the rating"),
        group=Field("group", "Judge") if first["judge"].n_unique() > 1 else None,
        reference=Reference(0.0, "not moved"),
        is_sorted=False,
    )


def _most(frame: pl.DataFrame) -> int:
    return int(max(frame["n_items"].to_list()))


def _of_table(frame: pl.DataFrame, label: str, value: str, group: str | None) -> pl.DataFrame:
    """Rows for a chart, from columns VALUE, VALUE_low, VALUE_high and VALUE_state."""
    told = [
        (row[label], Estimate(row[value], row[f"{value}_low"], row[f"{value}_high"], state=row[f"{value}_state"]))
        for row in frame.iter_rows(named=True)
    ]
    rows = estimate_rows(told)
    return rows.with_columns(group=pl.Series(frame[group].to_list(), dtype=pl.String)) if group else rows


def draw_agreement(validation: Validation, judge: str) -> Chart:
    """How well judge and people agree with the raters who are left, dimension by dimension."""
    rows = validation.of(judge)
    measure = rows[0].terms.kind
    sides = {"the judge": "judge_with_others", "the excluded rater": "people_with_others"}
    told = _rows(rows, {side: [row.statistics[name] for row in rows] for side, name in sides.items()})
    unit = "share of the other raters who agree" if measure == "match" else f"{measure.capitalize()} correlation"
    return interval_plot(
        told,
        title=f"{judge}: does the judge agree with people as much as people agree with each other?",
        caption=_caption(
            rows,
            validation,
            f"jackknife over {_units(validation)}",
            "Each rater in turn is excluded; that rater and the judge are both compared with the other raters",
        ),
        label=_DIMENSION,
        value=Field("value", "Agreement with the other raters", unit),
        group=Field("group", "Who"),
        is_sorted=False,
    )


def draw_bias(validation: Validation, judge: str) -> Chart:
    """How far the judge lies above people, and what slot and length do to it, in parts of the scale."""
    rows = validation.of(judge)
    causes = {
        "judge − people": "judge_too_high",
        "slot 1 − slot 2": "position_shift",
        "twice the length: judge − people": "length_excess",
    }
    known = {
        cause: [_in_widths(row, name) for row in rows]
        for cause, name in causes.items()
        if any(row.statistics[name].value is not None for row in rows)
    }
    return interval_plot(
        _rows(rows, known),
        title=f"{judge}: bias",
        caption=_caption(
            rows, validation, f"t over {_units(validation)}", "1 is the whole width of the dimension's scale"
        ),
        label=_DIMENSION,
        value=Field("value", "Change of the rating", "of the scale's width"),
        group=Field("group", "Cause"),
        reference=Reference(0.0, "no bias"),
        is_sorted=False,
    )


def draw_calibration(validation: Validation, judge: str) -> Chart | None:
    """People's mean rating at each rating of the judge; None where too few items make a curve."""
    rows = validation.to_frame("calibration").filter(pl.col("judge") == judge)
    if rows.is_empty():
        return None
    return captioned(
        _curve(rows),
        title=f"{judge}: calibration of the judge's ratings",
        caption=_caption(
            validation.of(judge),
            validation,
            f"score interval over {_units(validation)}",
            "On the line people's mean equals the judge's rating",
        ),
        mark="Bars",
    )


def _curve(rows: pl.DataFrame) -> Chart:
    x = Field("predicted", "The judge's rating", "0–1 of the scale", domain=(-0.02, 1.02))
    y = Field("people", "People's mean rating", "0–1 of the scale", domain=(-0.02, 1.02))
    group = Field("dimension", "Dimension")
    drawn = roles(rows, x=x, value=y, low="people_low", high="people_high", group=group)
    up, across = position("y", drawn, "value", y), position("x", drawn, "x", x, grid=False)
    base = Chart(drawn).encode(x=across, y=up, tooltip=tooltips(drawn, group=group, x=x, told=y))
    line = Chart(pl.DataFrame({"x": [0.0, 1.0], "value": [0.0, 1.0]}))
    diagonal = line.mark("line", strokeDash=[4, 3], strokeWidth=1.25, color=LIGHT["edge"])
    layers = [
        diagonal.encode(x=across, y=up),
        base.mark("rule", strokeWidth=1.5, opacity=0.55).encode(
            y=up | {"field": "low"}, y2={"field": "high"}, **by_group(drawn, group)
        ),
        base.mark("line", strokeWidth=1.25, opacity=0.6).encode(**by_group(drawn, group)),
        base.mark("point", stroke=LIGHT["paper"], strokeWidth=0.8).encode(**by_group(drawn, group, "shape")),
    ]
    return layered(layers, width=_SIDE, height=_SIDE)


def _rows(rows: Sequence[JudgeComparison], by_group: dict[str, list[Estimate]]) -> pl.DataFrame:
    parts = [
        estimate_rows(zip((row.dimension for row in rows), estimates, strict=True)).with_columns(group=pl.lit(group))
        for group, estimates in by_group.items()
    ]
    told = pl.concat(parts)
    # where a dimension has something to show, what it has not needs no row
    has_value = pl.col("value").is_not_null()
    return told.filter(has_value | ~has_value.any().over("label"))


def _in_widths(row: JudgeComparison, name: str) -> Estimate:
    low, high = row.scale
    return row.statistics[name].map(lambda number: number / (high - low))


def _units(validation: Validation) -> str:
    return "clusters of items" if validation.provenance.settings.get("cluster") else "items"


def _caption(rows: Sequence[JudgeComparison], validation: Validation, method: str, note: str) -> Caption:
    counts = {row.n_items for row in rows}
    return Caption(max(counts), "items" if len(counts) == 1 else "items at most", validation.level, method, note)
