"""What an analysis looks like: agreement, pairs, people against the model, domains, raters, time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.charts import Caption, Field, Reference, captioned, estimate_rows, interval_plot, line_with_band
from howsure.charts.drawing import Chart, layered, nominal
from howsure.charts.encodings import NAMES, ON_TOP, by_group, position, roles, tooltips
from howsure.charts.kinds import points_with_trend
from howsure.charts.theme import LIGHT, PALETTE, ROW
from howsure.study.verdict import coefficient_words, in_words

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.estimates import Estimate
    from howsure.study.analysis import Analysis
    from howsure.study.answer_types import AnswerAnalysis
    from howsure.study.planning.plans import DesignRow, StudyPlan

__all__ = [
    "draw_agreement",
    "draw_analysis",
    "draw_answers",
    "draw_correlations",
    "draw_designs",
    "draw_domains",
    "draw_human_model",
    "draw_pairs",
    "draw_power",
    "draw_severity",
    "draw_timing",
]

_MOST = 40  # more rows nobody reads in one picture
_DRAWN = ("cronbach_alpha", "krippendorff_interval", "gwet_ac2_quadratic")
_UNIT = (-0.02, 1.02)
_ONE_AXIS = 3.0  # dimensions share an axis when their ends differ by less than this factor


def draw_analysis(analysis: Analysis) -> dict[str, Chart]:
    """Every chart that the data allow, by file name."""
    drawn = {"agreement": draw_agreement(analysis)} if analysis.findings.reliability else {}
    drawn["severity"] = draw_severity(analysis)
    if any(row.pfi.value is not None for row in analysis.findings.pairs):
        drawn["pairs"] = draw_pairs(analysis)
    if analysis.findings.model:
        drawn |= {"human_model": draw_human_model(analysis), "correlations": draw_correlations(analysis)}
    if analysis.findings.domains.rows:
        drawn["domains"] = draw_domains(analysis)
    if any(one.minutes is not None for one in analysis.quality.raters):
        drawn["timing"] = draw_timing(analysis)
    return drawn


def draw_answers(found: AnswerAnalysis) -> dict[str, Chart]:
    """Systems and raters of answers by type, with intervals, by file name."""
    drawn = {}
    tables, level = found.tables, found.provenance.settings["level"]
    methods = {
        "ratings": "over items and raters",
        "categories": "over items and raters; of true labels, a jackknife over items",
        "comparisons": "Bradley–Terry–Davidson model",
        "rankings": "Plackett–Luce model",
    }
    systems = tables.get("systems", pl.DataFrame({"statistic": []}, schema={"statistic": pl.String}))
    statistic = systems["statistic"][0] if len(systems) else ""
    shown = systems.filter(pl.col("statistic") == statistic)
    for number, rows in enumerate(_by_scale(shown) if len(shown) else [], 1):
        by_system = rows["system"].n_unique() > 1
        label = pl.col("system") if by_system or rows["category"].null_count() else pl.col("category")
        group = _second(rows, "category" if by_system else "dimension") or _second(rows, "dimension")
        drawn["systems" if number == 1 else f"systems_{number}"] = interval_plot(
            _plain_rows(rows, label, group),
            title=f"{statistic.capitalize()} of each {'system' if by_system else 'category' if rows['category'].drop_nulls().len() else 'dimension'}"
            + (
                ""
                if rows["dimension"].n_unique() > 1 or shown["dimension"].n_unique() == 1
                else f": {rows['dimension'][0]}"
            ),
            caption=Caption(max(rows["n_ratings"].to_list()), "ratings at most", level, methods[found.answers]),
            label=Field("label", "System" if by_system else "Category"),
            value=_value_field(statistic),
            group=Field("group", group.capitalize()) if group else None,
        )
    if "raters" in tables and found.answers != "spans":
        rows = tables["raters"]
        n, statistic = rows["rater"].n_unique(), rows["statistic"][0]
        ends, first = found.extreme_raters(_MOST // 2), rows["dimension"][0]
        rows = rows.filter(pl.col("rater").is_in(ends.filter(dimension=first)["rater"].implode()))
        group = _second(rows, "dimension")
        drawn["raters"] = interval_plot(
            _plain_rows(rows, pl.col("rater"), group),
            title="Rater bias (severity)" if statistic.startswith("severity") else "Accuracy of each rater",
            caption=Caption(
                n,
                "raters",
                level,
                "ordinal model"
                if statistic.startswith("severity")
                else "Dawid and Skene's model, jackknife over items",
                "" if n <= _MOST else f"The {_MOST // 2} lowest and {_MOST // 2} highest of {n:,} raters by {first}.",
            ),
            label=Field("label", "Rater"),
            value=_value_field(statistic),
            group=Field("group", "Dimension") if group else None,
            reference=Reference(0, "mean of all raters") if statistic.startswith("severity") else None,
        )
    return drawn


def _by_scale(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Rows of dimensions that fit on one axis: a slider to 100 would press ratings from 1 to 5 together."""
    sizes = rows.group_by("dimension", maintain_order=True).agg(
        pl.max_horizontal(pl.col("value_high", "value").abs()).max().alias("size")
    )
    groups: list[tuple[float, list[str]]] = []
    for dimension, size in sizes.iter_rows():
        place = next((one for one in groups if one[0] / _ONE_AXIS <= (size or 0) <= one[0] * _ONE_AXIS), None)
        if place:
            place[1].append(dimension)
        else:
            groups.append((size or 0.0, [dimension]))
    return [rows.filter(pl.col("dimension").is_in(names)) for _, names in groups]


def _value_field(statistic: str) -> Field:
    """The axis of a statistic, with its unit."""
    name, _, unit = statistic.removesuffix(")").partition(" (")
    units = {"mean": "rating", "share": "0–1", "accuracy": "0–1"}
    return Field(
        "value", name.capitalize(), unit or units[name], domain=_UNIT if name in ("share", "accuracy") else None
    )


def _second(rows: pl.DataFrame, column: str) -> str | None:
    return column if rows[column].drop_nulls().n_unique() > 1 else None


def _plain_rows(rows: pl.DataFrame, label: pl.Expr, group: str | None) -> pl.DataFrame:
    """Rows of a table with value, value_low, value_high and value_state, as a chart takes them."""
    told = [
        (name, _estimate_of(row))
        for name, row in zip(rows.select(label).to_series(), rows.iter_rows(named=True), strict=True)
    ]
    drawn = estimate_rows(told)
    return drawn.with_columns(group=pl.Series(rows[group].to_list(), dtype=pl.String)) if group else drawn


def _estimate_of(row: dict[str, Any]) -> Estimate:
    from howsure.estimates import Estimate

    return Estimate(row["value"], row["value_low"], row["value_high"], state=row["value_state"])


def draw_agreement(analysis: Analysis) -> Chart:
    """How well raters agree on the index and on each dimension, by four coefficients."""
    found = analysis.findings
    told = [
        (name, coefficient_words(key), one.coefficients[key])
        for name, one in found.reliability.items()
        for key in dict.fromkeys((one.report, *_DRAWN))
    ]
    rows = _grouped((name, words, estimate) for name, words, estimate in told)
    # below −1 a coefficient says no more than "not at all"
    shown = rows.with_columns(low=pl.when(pl.col("low") >= -1).then("low"), value=pl.col("value").clip(-1))
    alpha = [one.criterion for one in analysis.judgements if one.criterion.statistic.endswith("cronbach_alpha")]
    first = next(iter(found.reliability.values()))
    return interval_plot(
        shown,
        title="How much do raters agree?",
        caption=Caption(
            first.n_items,
            f"pairs × {len(found.raters)} raters",
            found.settings.level,
            "from the F distribution for ICC and Cronbach's alpha, jackknife over pairs for the others",
            "1 is perfect agreement, 0 is the agreement of random ratings",
        ),
        label=Field("label", "Dimension"),
        value=Field("value", "Coefficient", "−1 to 1", domain=(-1.03, 1.03)),
        group=Field("group", "Coefficient"),
        reference=Reference(alpha[0].threshold, f"criterion {alpha[0].threshold:g}") if alpha else None,
        is_sorted=False,
    )


def draw_pairs(analysis: Analysis) -> Chart:
    """The index of each pair."""
    found = analysis.findings
    rows = estimate_rows((row.item, row.pfi) for row in found.pairs[:_MOST])
    return interval_plot(
        rows,
        title="Fidelity of each pair",
        caption=Caption(
            len(found.raters),
            "raters",
            found.settings.level,
            "over raters, for just this pair",
            _cut(len(found.pairs), "pairs"),
        ),
        label=Field("label", "Pair"),
        value=Field("value", "PFI", "0–1", domain=_UNIT),
        reference=Reference(0.5, "neutral"),
    )


def draw_human_model(analysis: Analysis) -> Chart:
    """Mean human fidelity against the model's score, pair by pair."""
    found, model = analysis.findings, analysis.findings.model
    assert model is not None
    both = [row for row in found.pairs if row.model is not None and row.pfi.value is not None]
    rows = estimate_rows((row.item, row.pfi) for row in both).with_columns(
        model=pl.Series([row.model for row in both], dtype=pl.Float64),
        domain=pl.Series([row.domain or "" for row in both], dtype=pl.String),
    )
    pearson = model.correlations["pearson"].estimate
    return points_with_trend(
        rows,
        title="People and the model",
        caption=Caption(
            len(both),
            "pairs",
            found.settings.level,
            "over raters, for just this pair",
            f"Pearson's r {pearson}; noise ceiling of r {model.ceiling}",
        ),
        x=Field("model", "Model's score", "0–1"),
        y=Field("value", "Human PFI", "0–1"),
        label=Field("label", "Pair"),
        group=Field("domain", "Domain") if 1 < len({row.domain for row in both}) <= len(PALETTE) else None,
        named=[row.item for row in both] if len(both) <= 12 else [],
    )


def draw_correlations(analysis: Analysis) -> Chart:
    """Each correlation of people with the model, beside the ceiling that noise in the ratings sets."""
    model = analysis.findings.model
    assert model is not None
    told = {kind.capitalize(): one.estimate for kind, one in model.correlations.items()}
    told |= {"Pearson, disattenuated": model.disattenuated, "Noise ceiling": model.ceiling}
    at = model.ceiling.value
    return interval_plot(
        estimate_rows(told),
        title="Do people and the model agree?",
        caption=Caption(
            model.n_pairs,
            "pairs",
            analysis.findings.settings.level,
            "on Fisher's z scale; for the ceiling from the F distribution",
            f"The ceiling is √{coefficient_words(model.ceiling_from)}: the correlation expected of a perfect score",
        ),
        label=Field("label", "Measure"),
        value=Field("value", "Correlation", "−1 to 1", domain=(-1.03, 1.03)),
        reference=None if at is None else Reference(at, f"ceiling {at:.2f}"),
        is_sorted=False,
    )


def draw_domains(analysis: Analysis) -> Chart:
    """Human fidelity of each domain in the expected order, beside the model's scores."""
    found = analysis.findings
    rows = estimate_rows((row.domain, row.human) for row in found.domains.rows)
    rows = rows.with_columns(group=pl.lit("people"))
    model = [
        {"label": row.domain, "value": row.model, "state": "ok", "text": f"{row.model:.2f}", "group": "model"}
        for row in found.domains.rows
        if row.model is not None
    ]
    drawn = pl.concat([rows, pl.DataFrame(model, schema={n: rows.schema[n] for n in model[0]})], how="diagonal") if model else rows  # fmt: skip
    is_single = any(row.n_pairs == 1 for row in found.domains.rows)
    return interval_plot(
        drawn,
        title="Fidelity by domain",
        caption=Caption(
            sum(row.n_pairs for row in found.domains.rows),
            "pairs",
            found.settings.level,
            "over raters, for just this pair, where a domain has one pair" if is_single else "over pairs and raters",
            f"Expected: {found.settings.order}" if found.domains.ends else "",
        ),
        label=Field("label", "Domain"),
        value=Field("value", "PFI", "0–1", domain=_UNIT),
        group=Field("group", "Judged by") if model else None,
        is_sorted=False,
    )


def draw_severity(analysis: Analysis) -> Chart:
    """How much lower or higher each rater rates than the others."""
    is_out = {one.rater: one.is_excluded for one in analysis.quality.raters}
    shown = sorted(analysis.raters, key=lambda row: row.severity.value or 0.0)[:_MOST]
    rows = _grouped((row.rater, "excluded" if is_out[row.rater] else "included", row.severity) for row in shown)
    return interval_plot(
        rows.sort("group", maintain_order=True),
        title="Rater bias (severity)",
        caption=Caption(
            len(analysis.raters),
            "raters",
            analysis.findings.settings.level,
            "over pairs",
            f"Each rater minus the mean of the other included raters, averaged over pairs; below 0 is severe. {_cut(len(analysis.raters), 'raters')}".strip(),
        ),
        label=Field("label", "Rater"),
        value=Field("value", "PFI minus the others'", "0–1 scale"),
        group=Field("group", "Rater is") if any(is_out.values()) else None,
        reference=Reference(0, "same as the others"),
    )


def draw_timing(analysis: Analysis) -> Chart:
    """Minutes of each rater, over the span that was planned."""
    known = [one for one in analysis.quality.raters if one.minutes is not None][:_MOST]
    rows = pl.DataFrame(
        {
            "label": [one.rater for one in known],
            "minutes": [one.minutes for one in known],
            "group": ["excluded" if one.is_excluded else "included" for one in known],
        }
    ).sort("minutes", descending=True)
    target = analysis.quality.rules.target_minutes
    most = max([*rows["minutes"], *(target or ())])
    field = Field("minutes", "Time taken", "minutes", domain=(0, 1.05 * most if most else 1.0))
    drawn = roles(rows, label="label", x=field, group="group")
    groups = Field("group", "Rater is") if drawn["group"].n_unique() > 1 else None
    x = position("x", drawn, "x", field)
    names = nominal(
        "label",
        title="Rater",
        sort=drawn["label"].to_list(),
        axis={"grid": True, "gridDash": [1, 3], **NAMES, **ON_TOP},
    )
    tips = tooltips(drawn, label=Field("label", "Rater"), x=field)
    dots = Chart(drawn).mark("point", size=90, stroke=LIGHT["paper"], strokeWidth=1)
    chart = layered(
        [
            *([_span(*target, x)] if target else []),
            dots.encode(x=x, y=names, tooltip=tips, **by_group(drawn, groups, "shape")),
        ],
        height=max(len(drawn), 2) * ROW,
    )
    mean = in_words(analysis.findings.statistics["minutes"])
    method = f"mean of the included raters {mean}, {analysis.findings.settings.level:.0%} interval"
    shaded = f"Shaded: the target of {target[0]:g} to {target[1]:g} minutes. " if target else ""
    note = f"{shaded}{_cut(len(analysis.quality.raters), 'raters')}".strip()
    return captioned(
        chart, title="How long did raters take?", caption=Caption(len(drawn), "raters", None, method, note)
    )


def _span(low: float, high: float, x: dict[str, Any]) -> Chart:
    span: Chart = Chart(pl.DataFrame({"x": [float(low)], "end": [float(high)]})).mark("rect", opacity=0.18)
    return span.encode(x=x, x2={"field": "end"}, color={"value": LIGHT["edge"]})


def _grouped(told: Iterable[tuple[str, str, Estimate]]) -> pl.DataFrame:
    rows = list(told)
    groups = pl.Series([group for _, group, _ in rows], dtype=pl.String)
    return estimate_rows((label, estimate) for label, _, estimate in rows).with_columns(group=groups)


def _cut(n: int, what: str) -> str:
    return f"The first {_MOST} of {n} {what}" if n > _MOST else ""


# What plans look like.


def draw_designs(plan: StudyPlan) -> Chart:
    """How often each design meets all criteria, if all is as assumed and when the model's scores are unrelated to fidelity."""
    n = plan.provenance.settings["simulations"]
    rows = [(_name(row, plan), world, chance) for row in plan.rows for world, chance in plan.chances_of(row).items()]
    frame = estimate_rows((name, chance) for name, _, chance in rows)
    return interval_plot(
        frame.with_columns(group=pl.Series([world for _, world, _ in rows])),
        title="Chance that a study meets all criteria at once",
        caption=Caption(
            n,
            "simulated studies a dot",
            plan.level,
            "of the simulation",
            f"Designs are pairs × raters, with the minutes of one rater. Recommended: {plan.recommended}",
        ),
        label=Field("label", "Design"),
        value=Field("value", "Share of studies", "0–1", domain=(0, 1)),
        group=Field("group", "When"),
        reference=Reference(plan.wanted_power, f"{plan.wanted_power:.0%}"),
        is_sorted=False,
    )


def draw_power(plan: StudyPlan) -> Chart:
    """The chance that a correlation reaches its threshold over the number of pairs, one line per true correlation."""
    from howsure.study.planning.plans import TRUE_R

    curve = plan.curve().with_columns(pl.format("true r {}", "true_r").alias("truth"))
    most = int(curve["pairs"].to_numpy().max())
    raters = plan.asked.design.raters
    return line_with_band(
        curve,
        title=f"Chance that r reaches {plan.least_r:g} and differs from 0, with {raters} raters",
        caption=Caption(
            most,
            "pairs at the most",
            None,
            "exact for normal scores",
            f"One rater's reliability is taken as {plan.assumptions.icc:g}; noise makes a true r of {TRUE_R[0]:g} look like {TRUE_R[0] * plan.asked.ceiling:.2f}",
        ),
        x=Field("pairs", "Pairs", "number", scale="log10", domain=(3, most), ticks=_ticks(most)),
        y=Field("power", "Power", "0–1", domain=(0, 1)),
        low=None,
        high=None,
        group=Field("truth", "Model and people"),
        reference=Reference(plan.wanted_power, f"{plan.wanted_power:.0%}"),
    )


def _name(row: DesignRow, plan: StudyPlan) -> str:
    mark = "asked for: " if row.design == plan.asked.design else ""
    return f"{mark}{row.design}, {row.minutes:.0f} min"


def _ticks(most: int) -> dict[float, str]:
    return {float(n): str(n) for n in (3, 5, 7, 10, 15, 20, 30, 50, 80, 120, 200) if n <= most}
