"""Sections on the capability scale: the table, the fit, where it goes, what it depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.estimates import Estimate, chance, stated
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock, Text
from howsure.results.leading import with_lead
from howsure.stitch.forecasting.frontier import dates_of
from howsure.stitch.summaries import estimate_of

if TYPE_CHECKING:
    from howsure.stitch.baskets import DomainIndices
    from howsure.stitch.benchmark_gaps import BenchmarkGaps
    from howsure.stitch.exploration import Exploration
    from howsure.stitch.forecasting.frontier_forecast import Forecast
    from howsure.stitch.forecasting.horizon_map import HorizonMap
    from howsure.stitch.forecasting.lags import Lags
    from howsure.stitch.forecasting.scaling import Progress
    from howsure.stitch.growth_rates import GrowthRates
    from howsure.stitch.preferences import VoteRanking
    from howsure.stitch.scale import Scale
    from howsure.stitch.sensitivity.analysis import Robustness
    from howsure.stitch.sensitivity.inspection import ScaleCheck
    from howsure.stitch.sensitivity.second_trait import SecondTrait
    from howsure.stitch.updating import ScaleUpdate

__all__ = [
    "check_section",
    "domain_section",
    "explore_section",
    "forecast_section",
    "gap_section",
    "growth_section",
    "horizon_section",
    "lag_section",
    "progress_section",
    "robustness_section",
    "scale_section",
    "traits_section",
    "update_section",
    "votes_section",
]

_MOST_ROWS = 300  # more than this a reader takes from the file

Truth = Mapping[str, float]
"""The true (simulated) value of each model, on the scale of the fit."""


def explore_section(found: Exploration) -> Section:
    """What the table holds."""
    seen = found.overview
    whole = (
        "Scores link all of them, so they can be put on one scale."
        if seen.n_parts == 1
        else f"They form {seen.n_parts} groups that are not linked by a model."
    )
    text = (
        f"{seen.n_scores:,} scores of {seen.n_models:,} models on {seen.n_benchmarks:,} benchmarks. {seen.coverage:.0%} of all pairs have a score and "
        f"{seen.n_several:,} have several. {whole}"
    )
    blocks: list[Block] = [Text(text), *map(ChartBlock, found.charts().values())]
    blocks += [
        _table(found.benchmarks, "Benchmarks, the most covered first."),
        _table(found.models, "Models, the most covered first."),
    ]
    if seen.n_parts > 1:
        blocks.append(_table(found.parts, "Groups that no score links, and a score that would link them."))
    return Section("What does the table contain?", blocks)


def scale_section(scale: Scale, truth: Truth | None = None) -> Section:
    """The fit; with `truth`, beside the true (simulated) capabilities."""
    quality, told = scale.quality, scale.provenance.settings
    best = scale.models.row(0, named=True)
    sure = "" if best["p_best"] is None else f"; {stated('P(best)', best['p_best'])}"
    text = (
        f"{quality.n_observations:,} scores of {quality.n_models:,} models on {quality.n_benchmarks:,} benchmarks lie within {quality.rmse:.3f} (root mean square) of the curves. "
        f"{best['model']} has the highest capability, {estimate_of(best, scale.level)}{sure}."
    )
    method = (
        "score ≈ floor + (ceiling − floor) · σ(slope · (capability − difficulty)).\n\n"
        f"Preset {told['preset']}. The unit of the scale is arbitrary: {_constraint(told)}. Intervals at {scale.level:.0%} come from {told['n_replicates']:,} bootstrap refits ({told['resample']}); they include the errors of the scores, not abilities that the benchmarks do not measure."
    )
    charts = [ChartBlock(chart) for chart in scale.charts().values()]
    tables = [_models(scale, truth), _benchmarks(scale)]
    downloads = [
        Download("models.csv", csv_text(scale.models)),
        Download("benchmarks.csv", csv_text(scale.benchmarks)),
    ]
    blocks: list[Block] = [Text(text), *charts, *tables, Method(method), *downloads]
    rows = [(row["model"], estimate_of(row, scale.level)) for row in scale.models.rows(named=True)]
    section = Section("How capable is each model, how hard is each benchmark?", blocks)
    return with_lead(
        section, "Capability", rows, p_greater=partial(_p_greater, scale), advantage=partial(_ahead, scale)
    )


def _p_greater(scale: Scale, a: str, b: str) -> float | None:
    """The probability that A is more capable than B, over the refits."""
    pair = scale.pairs([a, b]).row(0, named=True)
    p: float | None = pair["p_a_greater"]
    return p if pair["a"] == a or p is None else 1 - p


def _ahead(scale: Scale, a: str, b: str) -> str | None:
    """By how much A is more capable than B."""
    pair = scale.pairs([a, b]).row(0, named=True)
    found = estimate_of(pair, scale.level, "difference")
    return None if found.low is None else f"Difference: {found if pair['a'] == a else -found}"


def forecast_section(found: Forecast) -> Section:
    """Where the frontier is going."""
    trend, level = found.trend, found.trend.level
    last = found.path["date"][-1]
    text = (
        f"The best models' capability rises by {trend.slope()} per year (R² {trend.line.r2:.2f} over {trend.line.n} models). "
        f"On {last} the line is at {found.at(last, 'confidence')}{_told_frontier(found)}."
    )
    method = (
        "The frontier is the highest capability so far, and never falls. It is drawn month by month from today's best: the best new model of each month is a line with a slowly changing slope, a deviation that lasts, and scatter, "
        "fitted to the best new models of all past months; shapes are averaged by their likelihood. The grey line goes through the models that were among the best on the day of their release. All bands include the "
        "uncertainty of the capabilities themselves, through the refits of the scale. The validation refits the scale on scores from before each cut-off, puts it in today's unit, "
        "and compares with the later models. Saturation is the first score of a model; where there is none, frontier and curve are drawn together and weighted by the likelihood that the tested models fell short. P(untested) is the probability that a model without a score there already reaches it; dates are those if none does. The break test simulates data without a break in two ways, by dealing out the residuals around a line and by reordering the steps from record to record, and gives the larger p; its false-positive rate is at most 5 % for both."
    )
    rows: list[list[Cell]] = [
        [one.benchmark, one.best_score, one.needed, *_dates(one.year), one.year.reason or one.year.state, chance(one.p_reached), one.first_model]
        for one in found.saturation
    ]  # fmt: skip
    columns = ["Benchmark", "Best score", "Capability needed", "Date", "Earliest", "Latest", "State", "P(untested)", "First model with the score"]  # fmt: skip
    blocks: list[Block] = [Text(text), *map(ChartBlock, found.charts().values())]
    if len(found.backtest.horizons):
        blocks.append(
            _table(found.backtest.horizons, "Forecasts from earlier scores, compared with the frontier later.")
        )
    reach = found.provenance.settings["reach"]
    blocks.append(TableBlock(columns, rows, f"When a model scores {reach:.0%} on each benchmark, at {level:.0%}."))
    download = Download("forecast.csv", csv_text(found.path))
    told = f"The best models' capability rises by {trend.slope()} per year."
    return Section("Forecast: where is the frontier going?", [*blocks, Method(method), download], found=[told])


def _told_frontier(found: Forecast) -> str:
    rows = found.path.drop_nulls("frontier")
    if not len(rows):
        return ""
    return f", and the best model by then at {found.at(rows['date'][-1])}; in {rows['date'][0]:%B %Y} no model is better than today's best with probability {rows['p_no_change'][0]:.2f}"


def progress_section(found: Progress) -> Section:
    """Scaling and algorithms."""
    from howsure.stitch.forecasting.scaling import QUANTITIES

    rows: list[list[Cell]] = [[QUANTITIES[rate.quantity], rate.method, rate.estimate] for rate in found.rates]
    text = (
        f"At the same compute, capability rises by {found.rate('per_year')} per year; ten times the compute add {found.rate('per_oom')}. "
        f"Better algorithms save {found.rate('oom_per_year')} orders of magnitude of compute per year ({len(found.models)} models, R² {found.r2:.2f})."
    )
    method = "capability = a + k · log10(compute) + g · years + error, by least squares; the intervals include the correlation within families and the uncertainty of the capabilities. The two-stage estimate takes k from within families, with its own uncertainty, and g from the residuals. Ratios have Fieller's intervals."
    charts = [ChartBlock(chart) for chart in found.charts().values()]
    table = TableBlock(["Quantity", "Method", "Estimate"], rows, "Effects of compute and time.")
    return Section(
        "How much of the progress comes from compute, and how much from algorithms?",
        [Text(text), *charts, table, Method(method)],
    )


def lag_section(found: Lags) -> Section:
    """How many months groups are behind one another."""
    leader = found.groups["group"][0]
    rows: list[list[Cell]] = []
    for row in found.lags.rows(named=True):
        months, latest = (found.estimate(row, name) for name in ("months", "latest"))
        rows.append([row["group"], row["behind"], months, latest, chance(row["p_behind"])])
    of_leader = found.lags.filter(behind=leader).drop_nulls("months").rows(named=True)
    told = [f"{row['group']} is {found.estimate(row)} months behind {leader}" for row in of_leader[:3]]
    method = (
        "The lag at a capability is the time between the first model of either group that had it. It is averaged over the capabilities that both groups reached, so it is the area between the two "
        "frontiers. Intervals come from the refits of the scale; which models were published is taken as given."
    )
    columns = ["Group", "Behind", "Months (mean)", "Months (latest)", "P(behind)"]
    blocks: list[Block] = [Text("; ".join(told) + "." if told else "No two groups overlap.")]
    blocks += [
        *map(ChartBlock, found.charts().values()),
        TableBlock(columns, rows, f"Lags with {found.level:.0%} intervals; negative: ahead."),
        Method(method),
    ]
    return Section("How many months is one group behind another?", blocks)


def domain_section(found: DomainIndices) -> Section:
    """Capabilities by domain."""
    rows: list[list[Cell]] = [
        [row["domain"], row["rank"], row["model"], estimate_of(row, found.level), row["overall"], row["n_benchmarks"]]
        for row in found.models.head(_MOST_ROWS).rows(named=True)
    ]
    columns = ["Domain", "Rank", "Model", "Capability in the domain", "Overall", "Benchmarks"]
    method = (
        "The benchmarks' difficulties and slopes stay as they are on the whole scale; only the capabilities are fitted again, to the scores of each domain. All domains are in the unit of the scale. "
        "Models with few scores in a domain are shrunk towards the expected capability at their release date."
    )
    blocks: list[Block] = [
        Text(found.sentence),
        *map(ChartBlock, found.charts().values()),
    ]
    tables = [
        TableBlock(columns, rows, f"Models by domain, with {found.level:.0%} intervals."),
        _table(found.baskets, "Benchmarks of each domain."),
    ]
    return Section("How capable are models in each domain?", [*blocks, *tables, Method(method)])


def update_section(found: ScaleUpdate) -> Section:
    """What moved, and why."""
    counts = found.counts
    text = (
        f"{counts.n_new_scores:,} scores are new, {counts.n_changed_scores:,} changed and {counts.n_removed_scores:,} are gone; {counts.n_new_models:,} models and {counts.n_new_benchmarks:,} benchmarks are new. "
        f"{int(found.models['is_outside'].sum()):,} of {len(found.models.drop_nulls('change')):,} old capabilities are outside the new {found.scale.level:.0%} interval."
    )
    names = ("model", "before", "capability", "change", "by_own_scores", "by_curves", "rank_before", "rank", "reason")
    method = "'By own scores' is the effect of the model's new, changed and removed scores with the old curves. The rest is the effect of the curves: the estimates of benchmarks changed because of the scores of other models."
    tables = [
        _table(found.models, "Models, the largest change first.", names),
        _table(found.benchmarks, "Benchmarks, the largest change first."),
        _table(found.scores, "New, changed and removed scores."),
    ]
    return Section(
        "What changed, and why?", [Text(text), *map(ChartBlock, found.charts().values()), *tables, Method(method)]
    )


def votes_section(found: VoteRanking) -> Section:
    """Models by votes."""
    rows: list[list[Cell]] = [
        [row["rank"], None if row["rank_low"] is None else f"{row['rank_low']:.0f}–{row['rank_high']:.0f}", row["tier"], row["model"], _strength(row, found.level), row["n_votes"], row["win_rate"], chance(row["p_best"])]
        for row in found.models.head(_MOST_ROWS).rows(named=True)
    ]  # fmt: skip
    columns = [
        "Rank",
        f"Rank, {found.level:.0%} interval",
        "Tier",
        "Model",
        "Strength (log odds)",
        "Votes",
        "Share of wins",
        "P(best)",
    ]
    effects: list[list[Cell]] = [
        [
            row["effect"],
            Estimate.without("undefined", row["reason"])
            if row["value"] is None
            else Estimate(row["value"], row["value_low"], row["value_high"], found.level),
        ]
        for row in found.effects.rows(named=True)
    ]
    method = (
        "Bradley–Terry with ties (Davidson): P(A) : P(B) : P(tie) = exp(η/2) : exp(−η/2) : ν, with η the difference of the strengths plus the advantage of A and the covariates. "
        "Intervals allow for dependence between the votes of one voter. A tier begins with the first model that is significantly worse than the head of the tier before, over all pairs. "
        "Fragility drops the most influential votes and refits."
    )
    blocks: list[Block] = [Text(found.fragility.sentence), *map(ChartBlock, found.charts().values())]
    blocks.append(TableBlock(columns, rows, "Models by votes."))
    blocks += [TableBlock(["Effect", "Log odds"], effects, "Position, ties and covariates.")] if effects else []
    blocks += [_table(found.joint.models, "Capabilities from benchmarks and votes together.")] if found.joint else []
    return Section("Which models do voters prefer?", [*blocks, Method(method)])


def _strength(row: Mapping[str, Any], level: float) -> Estimate:
    if row["strength"] is None:
        return Estimate.without(row["strength_state"], "it always won, always lost, or is not linked", level=level)
    return Estimate(row["strength"], row["strength_low"], row["strength_high"], level)


def gap_section(found: BenchmarkGaps) -> Section:
    """Where benchmarks are missing, and which to add."""
    ranges = ", ".join(f"{low:.2f} to {high:.2f}" for low, high in found.ranges())
    best = found.new_benchmarks.row(0, named=True)
    gain = Estimate(best["gain"], best["gain_low"], best["gain_high"], found.level).map(lambda share: 100 * share)
    text = (
        (
            f"Benchmarks are missing at capabilities {ranges}. "
            if ranges
            else "No range of capability is measured much less precisely than usual. "
        )
        + f"A new benchmark would give most information about the best models (mean capability {found.frontier:.2f}) at difficulty {best['difficulty']:.2f}: it would reduce their standard error by {gain} %."
    )
    tables = [
        _table(found.priorities, "Missing scores of the best models, the most informative first."),
        _table(found.precision, "Precision along the scale."),
    ]
    return Section("Which benchmarks are missing?", [Text(text), *map(ChartBlock, found.charts().values()), *tables])


def growth_section(found: GrowthRates) -> Section:
    """Growth rates under different rules."""
    return Section(
        "How fast does the frontier grow?",
        [
            Text("\n\n".join(found.sentences)),
            _table(found.rates, "Growth of the frontier under different rules."),
            Method(found.method),
        ],
    )


def horizon_section(found: HorizonMap) -> Section:
    """Time horizons by capability."""
    text = (
        f"One unit of capability doubles the time horizon {found.doublings} times ({found.line.n} models, R² {found.line.r2:.2f}). "
        f"In families that the line has not seen it explains {found.held_out_r2} of the variance."
    )
    charts = [ChartBlock(chart) for chart in found.charts().values()]
    table = _table(
        found.points, "Models with a published horizon, in minutes; held_out is the line without the model's family."
    )
    return Section("What does capability say about time horizons?", [Text(text), *charts, table])


def robustness_section(found: Robustness) -> Section:
    """What the conclusions depend on."""
    columns = [
        "Varied",
        "Refits",
        "Slope from",
        "to",
        "In one unit from",
        "to ",
        "Most",
        "Lowest rank correlation",
        "Leader stays",
    ]
    rows: list[list[Cell]] = [
        [one.title, one.n, one.slope_min, one.slope_max, one.linked_min, one.linked_max, one.most, one.rank_correlation, one.leader_kept]
        for one in found.factors
    ]  # fmt: skip
    told = found.provenance.settings
    method = (
        f"Each refit starts from the original fit. Benchmarks are dropped at random ({told['share']:.0%} of them, {told['n_replicates']:,} times), then one benchmark, one organisation at a time is excluded, and the "
        "anchor, the rule for duplicates, the strength of the priors and the model of the scores are changed. A refit has its own unit; “in one unit” it is rescaled so that the models have the same mean and standard deviation as in the original fit (mean–sigma linking). Each effect is compared with that of the errors of the scores alone.\n\n"
        "Held-out error: all models of the scores learn from the same parts of the table. Random holes: single scores are held out. New models: whole families keep three scores per model. Later models: models released after the first 50, 65 and 80 % keep three scores. Intervals are a cluster bootstrap over families and their models."
    )
    factors = TableBlock(
        columns, rows, "The frontier's slope per year and the order of the models, under other choices."
    )
    blocks: list[Block] = [Text("\n\n".join(found.summary)), *map(ChartBlock, found.charts().values()), factors]
    return Section(
        "What are the conclusions sensitive to?",
        [*blocks, _validation(found), Method(method), Download("refits.csv", csv_text(found.variants))],
    )


def check_section(found: ScaleCheck) -> Section:
    """A sample for the reader to judge, and the machine's surprises."""
    columns = [
        "Rank",
        "Model",
        "Capability",
        "Better one",
        "Shared",
        "Scores more on",
        "Worse one",
        "Shared ",
        "Scores more on ",
    ]
    names = ("above", "shared_above", "more_than_above", "below", "shared_below", "more_than_below")
    rows: list[list[Cell]] = [
        [row["rank"], row["model"], estimate_of(row, found.level), *(row[name] for name in names)]
        for row in found.sample.rows(named=True)
    ]
    sample = TableBlock(
        columns,
        rows,
        "Random models and their neighbours in rank, and the number of shared benchmarks on which they score higher.",
    )
    raw = _table(found.scores, "Raw scores of the models and of their neighbours, with the expected scores.")
    words = Text("\n\n".join(found.surprises.words(5)))
    groups = _table(
        found.surprises.groups.head(20),
        "Differential functioning: difference between the scores of an organisation on a benchmark and their prediction from all other scores, and its change per year of release. The 20 least likely; q is the false-discovery rate.",
    )
    order = _table(found.surprises.benchmarks, "Do scores rise with the capability that the models' other scores show?")
    blocks: list[Block] = [*map(ChartBlock, found.charts().values()), sample, words, groups, order, raw]
    return Section("Do the results look plausible?", blocks)


def traits_section(found: SecondTrait) -> Section:
    """What a second dimension is, and whether it pays."""
    method = (
        "score ≈ floor + (ceiling − floor) · σ(slope · (capability − difficulty) + loading · trait). The rotation is that of principal axes: the traits are uncorrelated over models, the columns of loadings orthogonal over benchmarks, and the benchmark with the largest second loading loads positively. "
        "Intervals come from a parametric bootstrap with new errors; refits are rotated in the same way. Congruence is Tucker's coefficient of the second loadings with those of all models; values from 0.85 are called similar."
    )
    errors = _table(found.validation, "Held-out errors with one and with two dimensions; differences are from predict.")
    tables = [
        _table(found.benchmarks, "Loadings of the benchmarks, the largest on the second trait first."),
        _table(found.models, "Traits of the models, in standard deviations."),
        errors,
        _table(found.invariance, "Are the loadings the same without each organisation, and over time?"),
    ]
    charts = map(ChartBlock, found.charts().values())
    blocks: list[Block] = [Text("\n\n".join(found.words())), *charts, *tables, Method(method)]
    return Section("Is there a second dimension?", blocks)


def _models(scale: Scale, truth: Truth | None) -> TableBlock:
    ahead = {row["a"]: row["p_a_greater"] for row in scale.pairs().rows(named=True)}
    rows = [
        _model(row | {"p_greater": ahead.get(row["model"])}, scale.level, truth)
        for row in scale.models.head(_MOST_ROWS).rows(named=True)
    ]
    told = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    cut = f" The first {_MOST_ROWS} of {len(scale.models):,}." if len(scale.models) > _MOST_ROWS else ""
    ranks = f" Capabilities and ranks have {scale.level:.0%} intervals. P(best) is the share of refits in which the model ranks first."
    return TableBlock(
        told, [[row[name] for name in told] for row in rows], f"Models, the highest capability first.{cut}{ranks}"
    )


def _model(row: Mapping[str, Any], level: float, truth: Truth | None) -> dict[str, Cell]:
    found = estimate_of(row, level)
    value = None if truth is None else truth.get(row["model"])
    return {
        "Rank": row["rank"],
        "Model": row["model"],
        "Capability": found,
        f"Rank, {level:.0%} interval": row["rank_low"] and f"{row['rank_low']:.0f}–{row['rank_high']:.0f}",
        "P(best)": chance(row["p_best"]),
        "P(better than the next)": chance(row["p_greater"]),
        "Benchmarks": row["n_benchmarks"],
        "Released": row["date"],
        "True (simulated) value": value,
        "Covered": None if value is None else "yes" if found.covers(value) else "no",
    }


def _benchmarks(scale: Scale) -> TableBlock:
    hardest = scale.benchmarks.reverse().head(_MOST_ROWS).rows(named=True)
    names = {"difficulty_state": "State of the difficulty", "slope_state": "State of the slope"}
    told = {name: title for name, title in names.items() if any(row[name] != "ok" for row in hardest)}
    rows: list[list[Cell]] = [
        [
            row["benchmark"],
            estimate_of(row, scale.level, "difficulty"),
            estimate_of(row, scale.level, "slope"),
            row["n_models"],
            row["rmse"],
            *(row[name].replace("_", " ") for name in told),
        ]
        for row in hardest
    ]
    columns = ["Benchmark", "Difficulty", "Slope", "Models", "RMSE", *told.values()]
    return TableBlock(columns, rows, "Benchmarks, the hardest first.")


def _validation(found: Robustness) -> TableBlock:
    level, used = (found.provenance.settings[name] for name in ("level", "method"))
    rows: list[list[Cell]] = [
        [
            row["split"],
            row["method"],
            _cell(row, "rmse", level),
            None if row["method"] == used else _cell(row, "difference", level),
            _cell(row, "ratio", level),
        ]
        for row in found.validation.rows(named=True)
    ]
    columns = ["Held out", "Model of the scores", "Error", "Difference from the model in use", "Divided by paper's"]
    caption = f"Root mean square error on scores that were held out; negative differences from {used}, which is in use, are better. All three: the geometric mean of the ratios."
    return TableBlock(columns, rows, caption)


def _cell(row: Mapping[str, Any], name: str, level: float) -> Estimate | None:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    return None if value is None else Estimate(value, low, high, level)


def _dates(year: Estimate) -> list[Cell]:
    """Value, low and high of a date in years from 1970."""
    numbers = [float("nan") if end is None else end for end in (year.value, year.low, year.high)]
    return list(dates_of(numbers))


def _constraint(told: Mapping[str, Any]) -> str:
    """What fixes the unit, in the estimate and in refits."""
    if "anchor" in told:
        put = f"{told['anchor']} is put at difficulty {told['anchor_difficulty']:g} and slope {told['anchor_slope']:g}"
    else:
        put = " and ".join(f"{model} is put at {value:g}" for model, value in told["anchor_models"].items())
    if (reference := told.get("reference", "none")) == "none":
        return put
    who = "all models" if reference == "all" else f"{len(reference)} reference models"
    return f"{put} in the estimate, and in refits {who} keep the mean {told['reference_mean']:.3f} and the standard deviation {told['reference_sd']:.3f} of their capabilities (mean–sigma linking)"


def _table(frame: pl.DataFrame, caption: str, columns: Sequence[str] | None = None) -> TableBlock:
    shown = frame.select(columns or frame.columns).head(_MOST_ROWS)
    cut = f" The first {_MOST_ROWS} of {len(frame):,}." if len(frame) > _MOST_ROWS else ""
    titles = {name: name.replace("_", " ") for name in shown.columns}
    return TableBlock.of(shown, f"{caption}{cut}", titles)
